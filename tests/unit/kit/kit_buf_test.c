/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Claims of queued buffers, step by step on an inline machine; what threads do
 * to them at the same time is tried by tests/model/buffer_queue.pml, too.
 */
#include <pthread.h>

#include "kit_rig.h"
#include "m0/mem.h"

enum {
	ROUNDS = 10000
};

static int up(void **state)
{
	(void)state;
	rig_up(&m0_net_bulk_mem_xprt, "127.0.0.1:4000");
	return 0;
}

static struct m0_net_kit_buf *added(void)
{
	rig_add(M0_NET_QT_PASSIVE_BULK_SEND);
	m0_net_desc_free(&rig.r_buf.nb_desc);
	return m0_net_kit_buf_of(&rig.r_buf);
}

/* A buffer cancelled while a mover has claimed it completes when the mover
 * releases it. */
static void claimed_cancelled_ends_when_let_go(void **state)
{
	struct m0_net_kit_buf *kb = added();

	(void)state;
	assert_true(m0_net_kit_claim(kb));
	m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 0);
	m0_net_kit_unclaim(kb);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
	assert_int_equal(rig.r_last_status, -ECANCELED);
}

/* And if he does not, what he did counts. */
static void claimed_cancelled_may_succeed(void **state)
{
	struct m0_net_kit_buf *kb = added();

	(void)state;
	assert_true(m0_net_kit_claim(kb));
	m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
	m0_net_kit_done(kb, 0, RIG_BYTES);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
	assert_int_equal(rig.r_last_status, 0);
	/* The note was of that add. */
	kb = added();
	assert_true(m0_net_kit_claim(kb));
	m0_net_kit_unclaim(kb);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
	m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 2);
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
	m0_net_kit_done(kb, 0, RIG_BYTES);
	rig_deliver();
	(void)added();
	assert_int_equal(m0_net_kit_claim_id(id, M0_NET_QT_PASSIVE_BULK_SEND,
					     &got),
			 -ENOENT);
	m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 2);
}

/* A cancelled active operation is not started. Added again, it is started, and
 * fails because its descriptor no longer names a buffer. */
static void active_cancelled_is_not_begun(void **state)
{
	struct m0_net_buf_desc desc;

	(void)state;
	rig_add(M0_NET_QT_PASSIVE_BULK_SEND);
	assert_int_equal(m0_net_desc_copy(&rig.r_buf.nb_desc, &desc), 0);
	m0_net_desc_free(&rig.r_buf.nb_desc);
	m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
	rig.r_buf.nb_desc = desc;
	rig_add(M0_NET_QT_ACTIVE_BULK_RECV);
	m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 2);
	assert_int_equal(rig.r_last_status, -ECANCELED);
	rig_deliver();
	rig_add(M0_NET_QT_ACTIVE_BULK_RECV);
	rig_deliver();
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 3);
	assert_int_equal(rig.r_last_status, -ENOENT);
	m0_net_desc_free(&rig.r_buf.nb_desc);
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
					m0_net_kit_buf_of(&rig.r_buf)),
			 0);
	for (unsigned i = 0; i < ROUNDS; ++i) {
		(void)added();
		m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
		while (rig.r_events_nr == i && m0_time_now() < end)
			rig_deliver();
		assert_int_equal(rig.r_events_nr, i + 1);
		assert_int_equal(rig.r_last_status, -ECANCELED);
	}
	__atomic_store_n(&mover_quits, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(
			claimed_cancelled_ends_when_let_go, up, rig_down),
		cmocka_unit_test_setup_teardown(claimed_cancelled_may_succeed,
						up, rig_down),
		cmocka_unit_test_setup_teardown(id_names_one_add, up, rig_down),
		cmocka_unit_test_setup_teardown(active_cancelled_is_not_begun,
						up, rig_down),
		cmocka_unit_test_setup_teardown(let_go_while_added_again, up,
						rig_down),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
