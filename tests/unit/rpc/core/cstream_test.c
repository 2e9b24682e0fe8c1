/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The client's half: numbers, window, resends, skips, acks, restarts. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rpc/core/cstream.h"
#include "sim/sched/heap.h"

enum {
	WINDOW = 3,
	ITEMS = 8,
	RESEND = 100,
	RESEND_MAX = 350,
	SKIP = 40,
	ACK = 1000
};

static const struct m0_rpc_cstream_cfg cfg = {
	.scc_window_max = WINDOW,
	.scc_resend_max_ns = RESEND_MAX,
	.scc_skip_ns = SKIP,
	.scc_ack_ns = ACK,
};

struct story {
	struct m0_rpc_cstream st_stream;
	struct m0_rpc_citem   st_item[ITEMS];
	m0_time_t             st_now;
};

static void begin(struct story *st, bool established)
{
	unsigned i;

	M0_SET0(st);
	st->st_now = 1;
	assert_int_equal(m0_rpc_cstream_init(&st->st_stream, &cfg), 0);
	for (i = 0; i < ITEMS; ++i) {
		m0_rpc_citem_init(&st->st_item[i]);
		st->st_item[i].rci_resend_ns = RESEND;
		st->st_item[i].rci_sent_max = ~0ULL;
	}
	if (established)
		assert_int_equal(m0_rpc_cstream_resume(&st->st_stream, 0,
						       WINDOW, st->st_now),
				 0);
}

static void end(struct story *st)
{
	while (m0_rpc_cstream_pop(&st->st_stream) != NULL)
		;
	m0_rpc_cstream_fini(&st->st_stream);
}

/** The next thing to be done is this, about that item (-1: none). */
static void expect(struct story *st, enum m0_rpc_ctodo todo, int item)
{
	struct m0_rpc_citem *got;

	assert_int_equal(m0_rpc_cstream_step(&st->st_stream, st->st_now, &got),
			 todo);
	if (item >= 0)
		assert_ptr_equal(got, &st->st_item[item]);
	else
		assert_null(got);
}

static void post(struct story *st, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; ++i)
		m0_rpc_cstream_post(&st->st_stream, &st->st_item[i],
				    st->st_now);
}

static struct m0_rpc_cmark take(struct story *st, unsigned item)
{
	struct m0_rpc_cmark mark;

	m0_rpc_cstream_take(&st->st_stream, &st->st_item[item], st->st_now,
			    &mark);
	assert_false(mark.rck_skip);
	return mark;
}

static struct m0_rpc_cmark control(struct story *st)
{
	struct m0_rpc_cmark mark;

	m0_rpc_cstream_control(&st->st_stream, st->st_now, &mark);
	return mark;
}

/** Posts, forms and sends the first `nr` items, as numbers 1 to nr. */
static void sent(struct story *st, unsigned nr)
{
	unsigned i;

	post(st, nr);
	for (i = 0; i < nr; ++i)
		expect(st, M0_RPC_CT_FORM, (int)i);
	for (i = 0; i < nr; ++i)
		assert_int_equal(take(st, i).rck_xid, i + 1);
	expect(st, M0_RPC_CT_NONE, -1);
}

static enum m0_rpc_creply replied(struct story *st, uint64_t xid, int item)
{
	struct m0_rpc_citem *got;
	enum m0_rpc_creply   ret;

	ret = m0_rpc_cstream_replied(&st->st_stream, xid, st->st_now, &got);
	assert_ptr_equal(got, item < 0 ? NULL : &st->st_item[item]);
	return ret;
}

/* Items get their numbers as they leave, so those that leave first have the
 * lower ones; the window holds back the rest until a reply has come for the
 * lowest. */
static void items_beyond_window_wait_for_lowest_reply(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	post(&st, 5);
	expect(&st, M0_RPC_CT_FORM, 0);
	expect(&st, M0_RPC_CT_FORM, 1);
	assert_int_equal(take(&st, 1).rck_xid, 1);
	expect(&st, M0_RPC_CT_FORM, 2);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(take(&st, 0).rck_xid, 2);
	assert_int_equal(take(&st, 2).rck_xid, 3);
	assert_int_equal(replied(&st, 2, 0), M0_RPC_CR_ITEM);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(replied(&st, 1, 1), M0_RPC_CR_ITEM);
	expect(&st, M0_RPC_CT_FORM, 3);
	expect(&st, M0_RPC_CT_FORM, 4);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(take(&st, 3).rck_ack, 3);
	end(&st);
}

/* Nothing leaves before the server has granted a window, however small. */
static void items_wait_for_establish(void **state)
{
	struct story st;

	(void)state;
	begin(&st, false);
	post(&st, 2);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_true(m0_rpc_cstream_due(&st.st_stream) == M0_TIME_NEVER);
	assert_int_equal(m0_rpc_cstream_resume(&st.st_stream, 0, 0, 1),
			 -EPROTO);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(m0_rpc_cstream_resume(&st.st_stream, 0, 1, 1), 0);
	expect(&st, M0_RPC_CT_FORM, 0);
	expect(&st, M0_RPC_CT_NONE, -1);
	end(&st);
}

/* Resends come after the interval, twice that, and so on up to the bound, and
 * say that they are resends; an item in the formation is not sent twice. */
static void resend_backs_off_to_its_bound(void **state)
{
	static const m0_time_t waits[] = { RESEND, 2 * RESEND, RESEND_MAX,
					   RESEND_MAX };
	struct story           st;
	unsigned               i;

	(void)state;
	begin(&st, true);
	sent(&st, 1);
	for (i = 0; i < ARRAY_SIZE(waits); ++i) {
		st.st_now += waits[i] - 1;
		expect(&st, M0_RPC_CT_NONE, -1);
		assert_int_equal(m0_rpc_cstream_due(&st.st_stream),
				 st.st_now + 1);
		st.st_now++;
		expect(&st, M0_RPC_CT_RESEND, 0);
		expect(&st, M0_RPC_CT_NONE, -1);
		assert_true(m0_rpc_cstream_due(&st.st_stream) == M0_TIME_NEVER);
		assert_true(take(&st, 0).rck_dup);
	}
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	end(&st);
}

/* An item that was sent as often as it may be is given up when the last wait
 * is over; its number is filled. */
static void item_sent_max_times_is_given_up(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	st.st_item[0].rci_sent_max = 2;
	sent(&st, 1);
	st.st_now += RESEND;
	expect(&st, M0_RPC_CT_RESEND, 0);
	(void)take(&st, 0);
	st.st_now += 2 * RESEND;
	expect(&st, M0_RPC_CT_GIVE_UP, 0);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_true(control(&st).rck_skip);
	assert_false(m0_rpc_cstream_is_idle(&st.st_stream));
	assert_int_equal(replied(&st, 1, -1), M0_RPC_CR_SKIP);
	assert_true(m0_rpc_cstream_is_idle(&st.st_stream));
	end(&st);
}

/* An item that never left is dropped without a trace, and makes room. */
static void drop_of_unsent_leaves_no_number(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	post(&st, 5);
	expect(&st, M0_RPC_CT_FORM, 0);
	expect(&st, M0_RPC_CT_FORM, 1);
	expect(&st, M0_RPC_CT_FORM, 2);
	assert_int_equal(m0_rpc_cstream_drop(&st.st_stream, &st.st_item[0], 1),
			 M0_RPC_CD_UNSENT);
	assert_int_equal(m0_rpc_cstream_drop(&st.st_stream, &st.st_item[3], 1),
			 M0_RPC_CD_UNSENT);
	expect(&st, M0_RPC_CT_FORM, 4);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(take(&st, 1).rck_xid, 1);
	assert_int_equal(take(&st, 2).rck_xid, 2);
	assert_int_equal(take(&st, 4).rck_xid, 3);
	end(&st);
}

/* The number of an item that has left is filled: a SKIP of its number leaves at once and again until
 * the server answers; the ack stays below it so long. */
static void drop_of_sent_is_filled_until_answered(void **state)
{
	struct m0_rpc_cmark mark;
	struct story        st;

	(void)state;
	begin(&st, true);
	sent(&st, 2);
	assert_int_equal(m0_rpc_cstream_drop(&st.st_stream, &st.st_item[0],
					     st.st_now),
			 M0_RPC_CD_SENT);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	expect(&st, M0_RPC_CT_NONE, -1);
	mark = control(&st);
	assert_true(mark.rck_skip);
	assert_false(mark.rck_dup);
	assert_int_equal(mark.rck_xid, 1);
	assert_int_equal(mark.rck_ack, 1);
	assert_int_equal(replied(&st, 2, 1), M0_RPC_CR_ITEM);
	st.st_now += SKIP;
	expect(&st, M0_RPC_CT_CONTROL, -1);
	mark = control(&st);
	assert_true(mark.rck_skip && mark.rck_dup);
	assert_int_equal(mark.rck_ack, 1);
	assert_int_equal(replied(&st, 1, -1), M0_RPC_CR_SKIP);
	assert_int_equal(replied(&st, 1, -1), M0_RPC_CR_STRAY);
	st.st_now += ACK;
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_int_equal(control(&st).rck_ack, 3);
	end(&st);
}

/* Several are filled one after the other; a reply that overtakes the SKIP
 * makes it needless, and the item that was to carry it carries the ack. */
static void drops_are_filled_one_by_one(void **state)
{
	struct m0_rpc_cmark mark;
	struct story        st;
	unsigned            i;

	(void)state;
	begin(&st, true);
	sent(&st, 3);
	for (i = 0; i < 3; ++i)
		(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[i],
					  st.st_now);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_int_equal(control(&st).rck_xid, 1);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_int_equal(control(&st).rck_xid, 2);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_int_equal(replied(&st, 3, -1), M0_RPC_CR_SKIP);
	assert_int_equal(replied(&st, 1, -1), M0_RPC_CR_SKIP);
	mark = control(&st);
	assert_false(mark.rck_skip);
	assert_int_equal(mark.rck_xid, 0);
	assert_int_equal(mark.rck_ack, 2);
	end(&st);
}

/* An ack rides on the next request; if none comes it goes alone, a few times
 * with longer and longer waits, and then no more. */
static void ack_goes_alone_when_idle(void **state)
{
	struct story st;
	unsigned     i;

	(void)state;
	begin(&st, true);
	sent(&st, 1);
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	for (i = 0; i < M0_RPC_CSTREAM_ACKS; ++i) {
		st.st_now += ((m0_time_t)ACK << i) - 1;
		expect(&st, M0_RPC_CT_NONE, -1);
		st.st_now++;
		expect(&st, M0_RPC_CT_CONTROL, -1);
		assert_int_equal(control(&st).rck_ack, 2);
	}

	st.st_now += 100 * ACK;
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_true(m0_rpc_cstream_due(&st.st_stream) == M0_TIME_NEVER);
	end(&st);
}

static void ack_rides_on_a_request(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	sent(&st, 1);
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	m0_rpc_cstream_post(&st.st_stream, &st.st_item[1], st.st_now);
	expect(&st, M0_RPC_CT_FORM, 1);
	assert_int_equal(take(&st, 1).rck_ack, 2);
	assert_int_equal(m0_rpc_cstream_due(&st.st_stream), st.st_now + RESEND);
	st.st_now += ACK;
	expect(&st, M0_RPC_CT_RESEND, 1);
	expect(&st, M0_RPC_CT_NONE, -1);
	end(&st);
}

/* Replies that nobody waits for, of numbers that were never sent, too. */
static void reply_unexpected_is_stray(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	sent(&st, 2);
	assert_int_equal(replied(&st, 0, -1), M0_RPC_CR_STRAY);
	assert_int_equal(replied(&st, 3, -1), M0_RPC_CR_STRAY);
	assert_int_equal(replied(&st, 1 + WINDOW, -1), M0_RPC_CR_STRAY);
	assert_int_equal(replied(&st, UINT64_MAX, -1), M0_RPC_CR_STRAY);
	assert_int_equal(replied(&st, 2, 1), M0_RPC_CR_ITEM);
	assert_int_equal(replied(&st, 2, -1), M0_RPC_CR_STRAY);
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	assert_int_equal(replied(&st, 1, -1), M0_RPC_CR_STRAY);
	end(&st);
}

/* After the server's restart all that is open is sent again at once and in
 * order, with the waits of the beginning; and the ack, which it may have
 * lost. While it is away nothing leaves. */
static void resume_sends_again_at_once(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	sent(&st, 3);
	st.st_now += RESEND;
	expect(&st, M0_RPC_CT_RESEND, 0);
	(void)take(&st, 0);
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[2], st.st_now);
	m0_rpc_cstream_suspend(&st.st_stream);
	st.st_now += 10 * ACK;
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_true(m0_rpc_cstream_due(&st.st_stream) == M0_TIME_NEVER);
	assert_int_equal(
		m0_rpc_cstream_resume(&st.st_stream, 2, WINDOW, st.st_now), 0);
	expect(&st, M0_RPC_CT_RESEND, 1);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_int_equal(take(&st, 1).rck_xid, 2);
	assert_int_equal(control(&st).rck_xid, 3);
	assert_int_equal(m0_rpc_cstream_due(&st.st_stream), st.st_now + SKIP);
	st.st_now += SKIP;
	expect(&st, M0_RPC_CT_CONTROL, -1);
	end(&st);
}

/* The way of some is gone: they are sent again now, the others when they are
 * due, and what may be sent no more waits for its end. */
static void hasten_sends_again_at_once(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	st.st_item[2].rci_sent_max = 1;
	sent(&st, 3);
	m0_rpc_cstream_hasten(&st.st_stream, &st.st_item[1], st.st_now);
	m0_rpc_cstream_hasten(&st.st_stream, &st.st_item[2], st.st_now);
	m0_rpc_cstream_hasten(&st.st_stream, &st.st_item[3], st.st_now);
	expect(&st, M0_RPC_CT_RESEND, 1);
	m0_rpc_cstream_hasten(&st.st_stream, &st.st_item[1], st.st_now);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_true(take(&st, 1).rck_dup);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(m0_rpc_cstream_due(&st.st_stream), st.st_now + RESEND);
	st.st_now += RESEND;
	expect(&st, M0_RPC_CT_RESEND, 0);
	expect(&st, M0_RPC_CT_RESEND, 1);
	expect(&st, M0_RPC_CT_GIVE_UP, 2);
	end(&st);
}

/* An item that has ended, however, may be posted again; a slot that was used
 * begins anew: what it carries next was never sent before. */
static void item_ended_may_be_posted_again(void **state)
{
	struct story st;
	unsigned     i;

	(void)state;
	begin(&st, true);
	sent(&st, 1);
	for (i = 0; i < 3 * WINDOW; ++i) {
		st.st_now += RESEND;
		expect(&st, M0_RPC_CT_RESEND, 0);
		(void)take(&st, 0);
		if (i % 3 == 0) {
			(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[0],
						  st.st_now);
			assert_int_equal(replied(&st, i + 1, -1),
					 M0_RPC_CR_SKIP);
		} else {
			assert_int_equal(replied(&st, i + 1, 0),
					 M0_RPC_CR_ITEM);
		}
		m0_rpc_cstream_post(&st.st_stream, &st.st_item[0], st.st_now);
		assert_int_equal(st.st_item[0].rci_xid, 0);
		expect(&st, M0_RPC_CT_FORM, 0);
		(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[0],
					  st.st_now);
		m0_rpc_cstream_post(&st.st_stream, &st.st_item[0], st.st_now);
		expect(&st, M0_RPC_CT_FORM, 0);
		assert_false(take(&st, 0).rck_dup);
		assert_int_equal(st.st_item[0].rci_xid, i + 2);
	}
	end(&st);
}

/* Sends are counted for each item alone: a slot that was used begins at 0. */
static void item_in_used_slot_has_all_its_sends(void **state)
{
	struct story st;
	uint64_t     xid;

	(void)state;
	begin(&st, true);
	st.st_item[0].rci_sent_max = 2;
	for (xid = 1; xid <= 2 * WINDOW; ++xid) {
		m0_rpc_cstream_post(&st.st_stream, &st.st_item[0], st.st_now);
		expect(&st, M0_RPC_CT_FORM, 0);
		(void)take(&st, 0);
		st.st_now += RESEND;
		expect(&st, M0_RPC_CT_RESEND, 0);
		(void)take(&st, 0);
		assert_int_equal(replied(&st, xid, 0), M0_RPC_CR_ITEM);
	}
	m0_rpc_cstream_post(&st.st_stream, &st.st_item[0], st.st_now);
	expect(&st, M0_RPC_CT_FORM, 0);
	(void)take(&st, 0);
	st.st_now += RESEND;
	expect(&st, M0_RPC_CT_RESEND, 0);
	(void)take(&st, 0);
	st.st_now += 2 * RESEND;
	expect(&st, M0_RPC_CT_GIVE_UP, 0);
	m0_rpc_cstream_post(&st.st_stream, &st.st_item[0], st.st_now);
	expect(&st, M0_RPC_CT_FORM, 0);
	end(&st);
}

/* All of them, also a number that was being filled. */
static void resume_sends_all_again_in_order(void **state)
{
	struct m0_rpc_cmark mark;
	struct story        st;

	(void)state;
	begin(&st, true);
	sent(&st, 3);
	(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[1], st.st_now);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_true(control(&st).rck_skip);
	m0_rpc_cstream_suspend(&st.st_stream);
	assert_int_equal(
		m0_rpc_cstream_resume(&st.st_stream, 0, WINDOW, st.st_now), 0);
	expect(&st, M0_RPC_CT_RESEND, 0);
	expect(&st, M0_RPC_CT_RESEND, 2);
	expect(&st, M0_RPC_CT_CONTROL, -1);
	mark = control(&st);
	assert_true(mark.rck_skip && mark.rck_dup);
	assert_int_equal(mark.rck_xid, 2);
	end(&st);
}

static void resume_when_idle_acks_anew(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	sent(&st, 1);
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	st.st_now += ACK;
	expect(&st, M0_RPC_CT_CONTROL, -1);
	(void)control(&st);
	m0_rpc_cstream_suspend(&st.st_stream);
	assert_int_equal(
		m0_rpc_cstream_resume(&st.st_stream, 1, WINDOW, st.st_now), 0);
	st.st_now += ACK;
	expect(&st, M0_RPC_CT_CONTROL, -1);
	assert_int_equal(control(&st).rck_ack, 2);
	st.st_now += 2 * ACK;
	expect(&st, M0_RPC_CT_CONTROL, -1);
	end(&st);
}

/* The stream owes the next server nothing that it owed the server that has
 * forgotten. */
static void reset_when_idle_owes_nothing(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	sent(&st, 3);
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[1], st.st_now);
	m0_rpc_cstream_suspend(&st.st_stream);
	assert_int_equal(
		m0_rpc_cstream_reset(&st.st_stream, 2 * WINDOW, st.st_now), 0);
	assert_int_equal(st.st_stream.rcs_window, WINDOW);
	expect(&st, M0_RPC_CT_STALE, 2);
	m0_rpc_cstream_post(&st.st_stream, &st.st_item[2], st.st_now);
	(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[2], st.st_now);
	assert_true(m0_rpc_cstream_is_idle(&st.st_stream));
	assert_true(m0_rpc_cstream_due(&st.st_stream) == M0_TIME_NEVER);
	st.st_now += 10 * ACK;
	expect(&st, M0_RPC_CT_NONE, -1);
	end(&st);
}

/* A server that has finished more than was ever sent is not the one. */
static void resume_beyond_what_was_sent_is_stale(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	sent(&st, 2);
	m0_rpc_cstream_suspend(&st.st_stream);
	assert_int_equal(m0_rpc_cstream_resume(&st.st_stream, 3, WINDOW, 1),
			 -ESTALE);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(m0_rpc_cstream_resume(&st.st_stream, 2, WINDOW, 1), 0);
	expect(&st, M0_RPC_CT_RESEND, 0);
	end(&st);
}

/* A server that has forgotten: what was sent is stale, in order, dropped ones
 * need no filling; what was not sent goes on, from number 1. */
static void reset_makes_sent_items_stale(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	post(&st, 5);
	expect(&st, M0_RPC_CT_FORM, 0);
	expect(&st, M0_RPC_CT_FORM, 1);
	expect(&st, M0_RPC_CT_FORM, 2);
	(void)take(&st, 0);
	(void)take(&st, 1);
	(void)m0_rpc_cstream_drop(&st.st_stream, &st.st_item[1], st.st_now);
	m0_rpc_cstream_suspend(&st.st_stream);
	assert_int_equal(m0_rpc_cstream_reset(&st.st_stream, 0, 1), -EPROTO);
	assert_int_equal(m0_rpc_cstream_reset(&st.st_stream, WINDOW, 1), 0);
	expect(&st, M0_RPC_CT_STALE, 0);
	expect(&st, M0_RPC_CT_FORM, 3);
	expect(&st, M0_RPC_CT_FORM, 4);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(take(&st, 2).rck_xid, 1);
	assert_int_equal(take(&st, 3).rck_ack, 1);
	assert_int_equal(replied(&st, 1, 2), M0_RPC_CR_ITEM);
	end(&st);
}

/* A smaller window than before: what is too much in the formation comes out of
 * it, the last first, and leaves in its order later. */
static void reset_to_smaller_window_takes_items_back(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	post(&st, 4);
	expect(&st, M0_RPC_CT_FORM, 0);
	expect(&st, M0_RPC_CT_FORM, 1);
	expect(&st, M0_RPC_CT_FORM, 2);
	m0_rpc_cstream_suspend(&st.st_stream);
	assert_int_equal(m0_rpc_cstream_reset(&st.st_stream, 1, 1), 0);
	expect(&st, M0_RPC_CT_UNFORM, 2);
	expect(&st, M0_RPC_CT_UNFORM, 1);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_int_equal(take(&st, 0).rck_xid, 1);
	assert_int_equal(replied(&st, 1, 0), M0_RPC_CR_ITEM);
	expect(&st, M0_RPC_CT_FORM, 1);
	expect(&st, M0_RPC_CT_NONE, -1);
	end(&st);
}

/* All items come out to be ended: numbered, formed, queued, as posted. */
static void pop_gives_all_items_in_order(void **state)
{
	static const unsigned order[] = { 0, 1, 2, 3 };
	struct story          st;
	unsigned              i;

	(void)state;
	begin(&st, true);
	post(&st, 4);
	for (i = 0; i < 3; ++i)
		expect(&st, M0_RPC_CT_FORM, (int)i);
	(void)take(&st, 0);
	(void)take(&st, 1);
	for (i = 0; i < ARRAY_SIZE(order); ++i)
		assert_ptr_equal(m0_rpc_cstream_pop(&st.st_stream),
				 &st.st_item[order[i]]);
	assert_null(m0_rpc_cstream_pop(&st.st_stream));
	assert_false(m0_rpc_cstream_is_idle(&st.st_stream));
	end(&st);
}

/* Once established, a stream asks for no memory. */
static void stream_in_use_allocates_nothing(void **state)
{
	struct m0_heap heap;
	struct story   st;
	unsigned       round;
	uint64_t       before;
	unsigned       i;

	(void)state;
	m0_heap_init(&heap);
	begin(&st, true);
	before = m0_heap_allocs_nr(&heap);
	for (round = 0; round < 10; ++round) {
		post(&st, WINDOW);
		for (i = 0; i < WINDOW; ++i)
			expect(&st, M0_RPC_CT_FORM, (int)i);
		for (i = 0; i < WINDOW; ++i)
			assert_int_equal(replied(&st, take(&st, i).rck_xid,
						 (int)i),
					 M0_RPC_CR_ITEM);
	}
	assert_int_equal(m0_heap_allocs_nr(&heap), before);
	end(&st);
	assert_int_equal(m0_heap_live_nr(&heap), 0);
	m0_heap_fini(&heap);
}

/* A poster may want no resend at all, and still has what a lost way asks for. */
static void resend_never_is_never(void **state)
{
	struct story st;

	(void)state;
	begin(&st, true);
	st.st_item[0].rci_resend_ns = M0_TIME_NEVER;
	sent(&st, 1);
	assert_true(m0_rpc_cstream_due(&st.st_stream) == M0_TIME_NEVER);
	st.st_now += 1000 * RESEND_MAX;
	expect(&st, M0_RPC_CT_NONE, -1);
	m0_rpc_cstream_hasten(&st.st_stream, &st.st_item[0], st.st_now);
	expect(&st, M0_RPC_CT_RESEND, 0);
	assert_true(take(&st, 0).rck_dup);
	expect(&st, M0_RPC_CT_NONE, -1);
	end(&st);
}

/* One follows another if nothing is between them and neither has a number. */
static void follower_is_the_next_without_a_number(void **state)
{
	struct m0_rpc_cmark  mark;
	struct story         st;
	struct m0_rpc_citem *it = st.st_item;

	(void)state;
	begin(&st, true);
	post(&st, 4);
	expect(&st, M0_RPC_CT_FORM, 0);
	expect(&st, M0_RPC_CT_FORM, 1);
	expect(&st, M0_RPC_CT_FORM, 2);
	expect(&st, M0_RPC_CT_NONE, -1);
	assert_true(m0_rpc_cstream_follows(&st.st_stream, &it[0], &it[1]));
	assert_false(m0_rpc_cstream_follows(&st.st_stream, &it[1], &it[0]));
	assert_false(m0_rpc_cstream_follows(&st.st_stream, &it[0], &it[2]));
	/* The number is beyond the window. */
	assert_false(m0_rpc_cstream_follows(&st.st_stream, &it[2], &it[3]));
	/* The part leaves without a number, and leaves none to be filled. */
	assert_int_equal(m0_rpc_cstream_drop(&st.st_stream, &it[1], st.st_now),
			 M0_RPC_CD_UNSENT);
	assert_true(m0_rpc_cstream_follows(&st.st_stream, &it[0], &it[2]));
	m0_rpc_cstream_take(&st.st_stream, &it[0], st.st_now, &mark);
	assert_true(mark.rck_xid == 1);
	assert_false(m0_rpc_cstream_follows(&st.st_stream, &it[0], &it[2]));
	expect(&st, M0_RPC_CT_FORM, 3);
	assert_true(m0_rpc_cstream_follows(&st.st_stream, &it[2], &it[3]));
	end(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follower_is_the_next_without_a_number),
		cmocka_unit_test(items_beyond_window_wait_for_lowest_reply),
		cmocka_unit_test(items_wait_for_establish),
		cmocka_unit_test(resend_backs_off_to_its_bound),
		cmocka_unit_test(resend_never_is_never),
		cmocka_unit_test(item_sent_max_times_is_given_up),
		cmocka_unit_test(drop_of_unsent_leaves_no_number),
		cmocka_unit_test(drop_of_sent_is_filled_until_answered),
		cmocka_unit_test(drops_are_filled_one_by_one),
		cmocka_unit_test(ack_goes_alone_when_idle),
		cmocka_unit_test(ack_rides_on_a_request),
		cmocka_unit_test(reply_unexpected_is_stray),
		cmocka_unit_test(item_ended_may_be_posted_again),
		cmocka_unit_test(item_in_used_slot_has_all_its_sends),
		cmocka_unit_test(resume_sends_again_at_once),
		cmocka_unit_test(hasten_sends_again_at_once),
		cmocka_unit_test(resume_sends_all_again_in_order),
		cmocka_unit_test(resume_when_idle_acks_anew),
		cmocka_unit_test(resume_beyond_what_was_sent_is_stale),
		cmocka_unit_test(reset_makes_sent_items_stale),
		cmocka_unit_test(reset_when_idle_owes_nothing),
		cmocka_unit_test(reset_to_smaller_window_takes_items_back),
		cmocka_unit_test(pop_gives_all_items_in_order),
		cmocka_unit_test(stream_in_use_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
