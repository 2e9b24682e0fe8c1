/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../../base/panics.h"

#include "lnd/o2ib/o2ib_credit.h"

enum {
	DEPTH = 8
};

static struct m0_o2ib_credits cr;
static struct m0_o2ib_why     why;

static int setup(void **state)
{
	(void)state;
	m0_o2ib__credits_init(&cr, DEPTH);
	memset(&why, 0, sizeof why);
	return 0;
}

/** The peer sends a message that returns credits. */
static int receive(uint8_t type, uint8_t returned)
{
	struct m0_o2ib_hdr hdr = { .ibh_type = type, .ibh_credits = returned };

	return m0_o2ib__credits_receive(&cr, &hdr, &why);
}

/** Takes a message of the peer and posts its buffer anew. */
static void take(uint8_t type, uint8_t returned, bool acked)
{
	assert_int_equal(receive(type, returned), 0);
	m0_o2ib__credits_repost(&cr, type, acked);
}

static uint8_t give(uint8_t type)
{
	assert_true(m0_o2ib__credits_may_send(&cr, type));
	return m0_o2ib__credits_send(&cr, type);
}

/* Buffers for messages, for answers, and for two NOOPs. */
static void buffers_are_twice_depth_and_two(void **state)
{
	(void)state;
	assert_int_equal(m0_o2ib__credits_bufs(&cr), 18);
	m0_o2ib__credits_init(&cr, 255);
	assert_int_equal(m0_o2ib__credits_bufs(&cr), 512);
	assert_panics((m0_o2ib__credits_init(&cr, 0), 0));
	assert_panics((m0_o2ib__credits_init(&cr, 256), 0));
}

/* A kernel may panic at a message without a credit: we never send it. */
static void message_without_credit_panics(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < DEPTH; ++i)
		(void)give(M0_O2IB_IMMEDIATE);
	assert_false(m0_o2ib__credits_may_send(&cr, M0_O2IB_IMMEDIATE));
	assert_false(m0_o2ib__credits_may_send(&cr, M0_O2IB_PUT_REQ));
	assert_false(m0_o2ib__credits_may_send(&cr, M0_O2IB_GET_REQ));
	assert_panics(m0_o2ib__credits_send(&cr, M0_O2IB_IMMEDIATE));
	/* Messages that take no credit may go. */
	(void)give(M0_O2IB_PUT_ACK);
	(void)give(M0_O2IB_PUT_NAK);
	(void)give(M0_O2IB_PUT_DONE);
	(void)give(M0_O2IB_GET_DONE);
	assert_int_equal(receive(M0_O2IB_NOOP, 1), 0);
	(void)give(M0_O2IB_IMMEDIATE);
	assert_false(m0_o2ib__credits_may_send(&cr, M0_O2IB_IMMEDIATE));
}

/* A request needs a slot for its answer; the slot is free again when the buffer
 * of the answer has been posted anew. */
static void request_waits_for_a_slot(void **state)
{
	static const uint8_t answers[] = { M0_O2IB_PUT_ACK, M0_O2IB_PUT_NAK,
					   M0_O2IB_GET_DONE };
	size_t               i;

	(void)state;
	assert_panics(m0_o2ib__credits_send(&cr, M0_O2IB_PUT_REQ));
	for (i = 0; i < DEPTH; ++i) {
		assert_true(m0_o2ib__credits_reserve(&cr));
		(void)give(M0_O2IB_PUT_REQ);
	}
	assert_false(m0_o2ib__credits_reserve(&cr));
	for (i = 0; i < ARRAY_SIZE(answers); ++i) {
		assert_int_equal(receive(answers[i], 0), 0);
		assert_false(m0_o2ib__credits_reserve(&cr));
		m0_o2ib__credits_repost(&cr, answers[i], false);
		assert_true(m0_o2ib__credits_reserve(&cr));
	}
	assert_int_equal(cr.ibc_outstanding, 0);
}

/* The type says which count grows when a buffer is posted anew. */
static void repost_returns_by_type(void **state)
{
	(void)state;
	take(M0_O2IB_IMMEDIATE, 0, false);
	assert_int_equal(cr.ibc_outstanding, 1);
	take(M0_O2IB_GET_REQ, 0, false);
	assert_int_equal(cr.ibc_outstanding, 2);
	/* Answered by PUT_NAK. */
	take(M0_O2IB_PUT_REQ, 0, false);
	assert_int_equal(cr.ibc_outstanding, 3);
	take(M0_O2IB_NOOP, 0, false);
	assert_int_equal(cr.ibc_outstanding, 3);
	/* Answered by PUT_ACK: the credit comes with the PUT_DONE. */
	take(M0_O2IB_PUT_REQ, 0, true);
	assert_int_equal(cr.ibc_outstanding, 3);
	assert_int_equal(give(M0_O2IB_PUT_ACK), 3);
	assert_int_equal(cr.ibc_outstanding, 0);
	take(M0_O2IB_PUT_DONE, 0, false);
	assert_int_equal(give(M0_O2IB_IMMEDIATE), 1);
	assert_int_equal(cr.ibc_theirs, DEPTH);
}

/* A message that could not be posted has taken and returned nothing. */
static void message_not_posted_is_undone(void **state)
{
	struct m0_o2ib_credits before;
	uint8_t                returned;

	(void)state;
	take(M0_O2IB_IMMEDIATE, 0, false);
	assert_true(m0_o2ib__credits_reserve(&cr));
	before = cr;
	returned = give(M0_O2IB_GET_REQ);
	assert_int_equal(returned, 1);
	m0_o2ib__credits_unsend(&cr, M0_O2IB_GET_REQ, returned);
	assert_memory_equal(&cr, &before, sizeof cr);
	m0_o2ib__credits_unsend(&cr, M0_O2IB_NOOP, give(M0_O2IB_NOOP));
	assert_memory_equal(&cr, &before, sizeof cr);
}

/* At most two NOOPs are on their way. */
static void noops_are_at_most_two(void **state)
{
	(void)state;
	(void)give(M0_O2IB_NOOP);
	(void)give(M0_O2IB_NOOP);
	assert_false(m0_o2ib__credits_may_send(&cr, M0_O2IB_NOOP));
	assert_panics(m0_o2ib__credits_send(&cr, M0_O2IB_NOOP));
	m0_o2ib__credits_noop_sent(&cr);
	(void)give(M0_O2IB_NOOP);
	m0_o2ib__credits_noop_sent(&cr);
	m0_o2ib__credits_noop_sent(&cr);
	assert_panics((m0_o2ib__credits_noop_sent(&cr), 0));
}

/* A NOOP carries credits from the high water on, unless a message will. */
static void noop_is_needed_from_high_water(void **state)
{
	struct m0_o2ib_waiting waiting = { 0 };
	int                    i;

	(void)state;
	for (i = 0; i < DEPTH / 2; ++i) {
		assert_false(m0_o2ib__credits_needs_noop(&cr, &waiting));
		take(M0_O2IB_IMMEDIATE, 0, false);
	}
	assert_true(m0_o2ib__credits_needs_noop(&cr, &waiting));
	waiting.ibx_free = true;
	assert_false(m0_o2ib__credits_needs_noop(&cr, &waiting));
	waiting.ibx_free = false;
	waiting.ibx_credit = true;
	assert_false(m0_o2ib__credits_needs_noop(&cr, &waiting));
	/* A message that waits for a credit itself carries nothing. */
	cr.ibc_ours = 0;
	assert_true(m0_o2ib__credits_needs_noop(&cr, &waiting));
	assert_int_equal(give(M0_O2IB_NOOP), DEPTH / 2);
	assert_false(m0_o2ib__credits_needs_noop(&cr, &waiting));
	waiting.ibx_silent = true;
	assert_true(m0_o2ib__credits_needs_noop(&cr, &waiting));
	(void)give(M0_O2IB_NOOP);
	assert_false(m0_o2ib__credits_needs_noop(&cr, &waiting));
}

/* Two sides with one credit each still move. */
static void noop_is_needed_at_depth_one(void **state)
{
	struct m0_o2ib_waiting waiting = { .ibx_credit = true };

	(void)state;
	m0_o2ib__credits_init(&cr, 1);
	(void)give(M0_O2IB_IMMEDIATE);
	assert_false(m0_o2ib__credits_needs_noop(&cr, &waiting));
	take(M0_O2IB_IMMEDIATE, 0, false);
	assert_true(m0_o2ib__credits_needs_noop(&cr, &waiting));
	assert_int_equal(give(M0_O2IB_NOOP), 1);
}

/* A peer that breaks a rule loses its connection; nothing is asserted. */
static void peer_that_breaks_a_rule_is_refused(void **state)
{
	int i;

	(void)state;
	assert_int_equal(receive(M0_O2IB_NOOP, 1), -EPROTO);
	assert_int_equal(why.ibw_field, M0_O2IB_FIELD_CREDITS);
	assert_string_equal(why.ibw_text,
			    "NOOP: 1 credits returned, 8 of 8 here");
	for (i = 0; i < DEPTH; ++i)
		take(M0_O2IB_IMMEDIATE, 0, false);
	assert_int_equal(receive(M0_O2IB_PUT_REQ, 0), -EPROTO);
	assert_string_equal(why.ibw_text, "PUT_REQ: sent without a credit");
	assert_int_equal(receive(M0_O2IB_PUT_ACK, 0), -EPROTO);
	assert_int_equal(receive(M0_O2IB_PUT_NAK, 0), -EPROTO);
	assert_int_equal(receive(M0_O2IB_GET_DONE, 0), -EPROTO);
	assert_int_equal(receive(M0_O2IB_PUT_DONE, 0), -EPROTO);
	assert_string_equal(why.ibw_text, "PUT_DONE: answers nothing");
	/* Its credits are as many again when we have returned them. */
	assert_int_equal(give(M0_O2IB_NOOP), DEPTH);
	take(M0_O2IB_IMMEDIATE, 0, false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(buffers_are_twice_depth_and_two, setup),
		cmocka_unit_test_setup(message_without_credit_panics, setup),
		cmocka_unit_test_setup(request_waits_for_a_slot, setup),
		cmocka_unit_test_setup(repost_returns_by_type, setup),
		cmocka_unit_test_setup(message_not_posted_is_undone, setup),
		cmocka_unit_test_setup(noops_are_at_most_two, setup),
		cmocka_unit_test_setup(noop_is_needed_from_high_water, setup),
		cmocka_unit_test_setup(noop_is_needed_at_depth_one, setup),
		cmocka_unit_test_setup(peer_that_breaks_a_rule_is_refused,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
