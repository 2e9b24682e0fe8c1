/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims of queued buffers, step by step on an inline machine; what threads do
 * to them at the same time is tried by tests/model/buffer_queue.pml, too.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/net_kit.h"

enum {
	BYTES = 4096,
	ROUNDS = 10000
};

static struct m0_net_domain      dom;
static struct m0_net_transfer_mc tm;
static struct m0_net_buffer      buf;
static unsigned                  events_nr;
static int32_t                   last_status;
static enum m0_net_tm_state      state_now;

static void tm_event(const struct m0_net_tm_event *ev)
{
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		__atomic_store_n(&state_now, ev->nte_next_state,
				 __ATOMIC_RELEASE);
}

static void buf_event(const struct m0_net_buffer_event *ev)
{
	++events_nr;
	last_status = ev->nbe_status;
}

static const struct m0_net_tm_callbacks     tm_callbacks = { .ntc_event_cb =
								     tm_event };
static const struct m0_net_buffer_callbacks buf_callbacks = {
	.nbc_cb = { [M0_NET_QT_PASSIVE_BULK_SEND] = buf_event }
};

static enum m0_net_tm_state state_get(void)
{
	return __atomic_load_n(&state_now, __ATOMIC_ACQUIRE);
}

/* The helper of an inline machine may be the one that delivers it. */
static void state_wait(enum m0_net_tm_state want)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (state_get() != want && m0_time_now() < end)
		m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(state_get(), want);
}

static int up(void **state)
{
	(void)state;
	M0_SET0(&tm);
	M0_SET0(&buf);
	events_nr = 0;
	__atomic_store_n(&state_now, M0_NET_TM_UNDEFINED, __ATOMIC_RELEASE);
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt), 0);
	tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
	assert_int_equal(m0_net_tm_inline(&tm), 0);
	assert_int_equal(m0_net_tm_start(&tm, "127.0.0.1:4000"), 0);
	state_wait(M0_NET_TM_STARTED);
	assert_int_equal(m0_bufvec_alloc(&buf.nb_buffer, 1, BYTES), 0);
	assert_int_equal(m0_net_buffer_register(&buf, &dom), 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	m0_net_buffer_deregister(&buf, &dom);
	m0_bufvec_free(&buf.nb_buffer);
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	state_wait(M0_NET_TM_STOPPED);
	m0_net_tm_fini(&tm);
	m0_net_domain_fini(&dom);
	return 0;
}

static struct m0_net_kit_buf *added(void)
{
	buf.nb_qtype = M0_NET_QT_PASSIVE_BULK_SEND;
	buf.nb_callbacks = &buf_callbacks;
	buf.nb_length = BYTES;
	buf.nb_timeout = M0_TIME_NEVER;
	assert_int_equal(m0_net_buffer_add(&buf, &tm), 0);
	m0_net_desc_free(&buf.nb_desc);
	return m0_net_kit_buf_of(&buf);
}

/* What is cancelled in a mover's hands ends when he lets go of it. */
static void claimed_cancelled_ends_when_let_go(void **state)
{
	struct m0_net_kit_buf *kb = added();

	(void)state;
	assert_true(m0_net_kit_claim(kb));
	m0_net_buffer_del(&buf, &tm);
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(events_nr, 0);
	m0_net_kit_unclaim(kb);
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(events_nr, 1);
	assert_int_equal(last_status, -ECANCELED);
}

/* And if he does not, what he did counts. */
static void claimed_cancelled_may_succeed(void **state)
{
	struct m0_net_kit_buf *kb = added();

	(void)state;
	assert_true(m0_net_kit_claim(kb));
	m0_net_buffer_del(&buf, &tm);
	m0_net_kit_done(kb, 0, BYTES);
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(events_nr, 1);
	assert_int_equal(last_status, 0);
	/* The note was of that add. */
	kb = added();
	assert_true(m0_net_kit_claim(kb));
	m0_net_kit_unclaim(kb);
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(events_nr, 1);
	m0_net_buffer_del(&buf, &tm);
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(events_nr, 2);
}

/* A descriptor names one add, for one direction. */
static void id_names_one_add(void **state)
{
	struct m0_net_kit_buf *kb = added();
	struct m0_net_kit_buf *got = NULL;
	uint64_t               id = m0_net_kit_buf_id(kb);

	(void)state;
	assert_int_equal(m0_net_kit_claim_id(id, M0_NET_QT_PASSIVE_BULK_RECV,
					     &got),
			 -EPERM);
	assert_int_equal(
		m0_net_kit_claim_id(id, M0_NET_QT_PASSIVE_BULK_SEND, &got), 0);
	assert_ptr_equal(got, kb);
	assert_int_equal(m0_net_kit_claim_id(id, M0_NET_QT_PASSIVE_BULK_SEND,
					     &got),
			 -ENOENT);
	m0_net_kit_done(kb, 0, BYTES);
	m0_net_buffer_event_deliver_all(&tm);
	(void)added();
	assert_int_equal(m0_net_kit_claim_id(id, M0_NET_QT_PASSIVE_BULK_SEND,
					     &got),
			 -ENOENT);
	m0_net_buffer_del(&buf, &tm);
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(events_nr, 2);
}

static bool mover_quits;

static void *mover(void *arg)
{
	struct m0_net_kit_buf *kb = arg;

	while (!__atomic_load_n(&mover_quits, __ATOMIC_ACQUIRE))
		if (m0_net_kit_claim(kb))
			m0_net_kit_unclaim(kb);
	return NULL;
}

/* A mover that lets go of it may look at the note while it is added again. */
static void let_go_while_added_again(void **state)
{
	m0_time_t end = m0_time_from_now(60, 0);
	pthread_t thread;

	(void)state;
	mover_quits = false;
	assert_int_equal(pthread_create(&thread, NULL, mover,
					m0_net_kit_buf_of(&buf)),
			 0);
	for (unsigned i = 0; i < ROUNDS; ++i) {
		(void)added();
		m0_net_buffer_del(&buf, &tm);
		while (events_nr == i && m0_time_now() < end)
			m0_net_buffer_event_deliver_all(&tm);
		assert_int_equal(events_nr, i + 1);
		assert_int_equal(last_status, -ECANCELED);
	}
	__atomic_store_n(&mover_quits, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(
			claimed_cancelled_ends_when_let_go, up, down),
		cmocka_unit_test_setup_teardown(claimed_cancelled_may_succeed,
						up, down),
		cmocka_unit_test_setup_teardown(id_names_one_add, up, down),
		cmocka_unit_test_setup_teardown(let_go_while_added_again, up,
						down),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
