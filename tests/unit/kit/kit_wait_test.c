/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bulk operations that wait for an answer which finds them by identity, on an
 * inline machine of a transport whose answers are this test's.
 */
#include "kit_rig.h"

/* The test's part of nko_bulk. */
static void (*at_bulk)(struct m0_net_kit_buf *kb);
static bool waited;

/* ------------------------------------------------------------ a transport -- */

static void bulk(struct m0_net_kit_buf *kb, const struct m0_net_kit_desc *desc)
{
	(void)desc;
	if (at_bulk != NULL)
		at_bulk(kb);
	m0_mutex_lock(&rig.r_tm.ntm_mutex);
	waited = m0_net_kit_wait(
		kb, m0_time_add(m0_time_now(), 20 * M0_TIME_ONE_MSEC), -EPROTO);
	m0_mutex_unlock(&rig.r_tm.ntm_mutex);
}

static const struct m0_net_kit_ops kit_ops = {
	RIG_KIT_OPS(rig_no_send),
	.nko_start = rig_start,
	.nko_bulk = bulk,
};

static const struct rig_xprt xprt = RIG_XPRT("wait", &kit_ops);

/* --------------------------------------------------------------- a machine -- */

static void event_wait(void)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (rig.r_events_nr == 0 && m0_time_now() < end)
		rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
}

/* An active receive from somewhere, begun. */
static struct m0_net_kit_buf *begun(void)
{
	struct m0_net_kit_desc desc = { .nks_qtype =
						M0_NET_QT_PASSIVE_BULK_SEND,
					.nks_id = 1,
					.nks_size = RIG_BYTES,
					.nks_passive = { 1, { 'b' } } };

	assert_int_equal(m0_net_kit_desc_encode(&desc, &rig.r_buf.nb_desc), 0);
	rig_add(M0_NET_QT_ACTIVE_BULK_RECV);
	rig_deliver();
	m0_net_desc_free(&rig.r_buf.nb_desc);
	return m0_net_kit_buf_of(&rig.r_buf);
}

static int up(void **state)
{
	(void)state;
	at_bulk = NULL;
	rig_up(&xprt.rx_xprt, "a");
	return 0;
}

/* ------------------------------------------------------------------- cases -- */

/* The answer ends it; a second one finds nothing. */
static void waiting_answered_ends_once(void **state)
{
	struct m0_net_kit_buf *kb = begun();
	uint64_t               id = m0_net_kit_buf_id(kb);

	(void)state;
	assert_true(waited);
	assert_int_equal(
		m0_net_kit_claim_id(id, M0_NET_QT_ACTIVE_BULK_RECV, &kb), 0);
	m0_net_kit_done(kb, 0, RIG_BYTES);
	event_wait();
	assert_int_equal(rig.r_last_status, 0);
	assert_int_equal(m0_net_kit_claim_id(id, M0_NET_QT_ACTIVE_BULK_RECV,
					     &kb),
			 -ENOENT);
}

/* No answer is waited for when it is cancelled; the answer comes too late. */
static void waiting_cancelled_ends_at_once(void **state)
{
	struct m0_net_kit_buf *kb = begun();
	uint64_t               id = m0_net_kit_buf_id(kb);

	(void)state;
	m0_net_buffer_del(&rig.r_buf, &rig.r_tm);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
	assert_int_equal(rig.r_last_status, -ECANCELED);
	assert_int_equal(m0_net_kit_claim_id(id, M0_NET_QT_ACTIVE_BULK_RECV,
					     &kb),
			 -ENOENT);
}

/* Nobody answers: it ends at the transport's limit, with its status. */
static void waiting_unanswered_ends_at_the_limit(void **state)
{
	(void)state;
	begun();
	event_wait();
	assert_int_equal(rig.r_last_status, -EPROTO);
}

static void cancel(struct m0_net_kit_buf *kb)
{
	m0_net_buffer_del(kb->nkb_buffer, &rig.r_tm);
}

/* Cancelled while the transport begins it: that is when it ends. */
static void cancelled_before_waiting_ends_there(void **state)
{
	(void)state;
	at_bulk = cancel;
	begun();
	assert_false(waited);
	event_wait();
	assert_int_equal(rig.r_last_status, -ECANCELED);
}

/* Polls that need not look before something comes have a time to look at now. */
static void deadline_of_a_visit_is_seen_by_polls(void **state)
{
	struct m0_net_kit_machine *m = m0_net_kit_machine_of(&rig.r_tm);
	struct m0_net_kit_visit    visit;

	(void)state;
	rig.r_buf.nb_min_receive_size = RIG_BYTES;
	rig.r_buf.nb_max_receive_msgs = 1;
	rig_add(M0_NET_QT_MSG_RECV);
	rig_deliver();
	m0_net_kit_enter(m, &visit);
	m0_net_kit_deadline(m0_net_kit_buf_of(&rig.r_buf),
			    m0_time_from_now(0, (long)M0_TIME_ONE_MSEC),
			    -EPROTO);
	m0_net_kit_leave(m, &visit);
	event_wait();
	assert_int_equal(rig.r_last_status, -EPROTO);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waiting_answered_ends_once, up,
						rig_down),
		cmocka_unit_test_setup_teardown(waiting_cancelled_ends_at_once,
						up, rig_down),
		cmocka_unit_test_setup_teardown(
			waiting_unanswered_ends_at_the_limit, up, rig_down),
		cmocka_unit_test_setup_teardown(
			cancelled_before_waiting_ends_there, up, rig_down),
		cmocka_unit_test_setup_teardown(
			deadline_of_a_visit_is_seen_by_polls, up, rig_down),
	};

	return cmocka_run_group_tests_name("net/kit_wait", tests, NULL, NULL);
}
