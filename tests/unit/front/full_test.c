/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* More entries than the queues of the ring have room for, in both directions. */
#include "unit/base/panics.h"

#include "front/front_internal.h"
#include "m0/lnet_tap.h"

enum {
	PORTAL = 9,
	/** More than all rounds of a step take. */
	ENTRIES_NR = 20000,
	MSGS_NR = 1000
};

static struct m0_lnet   *lnet;
static struct m0_lnet_eq eq;
static unsigned          types_nr[M0_LNET_EV_UNLINK + 1];

static void count(struct m0_lnet_eq *queue, const struct m0_lnet_event *ev)
{
	(void)queue;
	assert_int_equal(ev->ev_status, 0);
	++types_nr[ev->ev_type];
}

static void node_open(unsigned mes_max, unsigned mds_max)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	cfg.lc_mes_max = mes_max;
	cfg.lc_mds_max = mds_max;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), 0);
	m0_lnet_eq_init(&eq, lnet, count, 0);
	memset(types_nr, 0, sizeof types_nr);
}

static void node_close(void)
{
	m0_lnet_close(lnet);
	m0_lnet_eq_fini(&eq);
}

static int me_try(unsigned flags, uint64_t bits, struct m0_lnet_handle *handle)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = bits,
		.mea_flags = flags,
	};

	return m0_lnet_me_attach(lnet, &me, handle);
}

static struct m0_lnet_handle me_attach(unsigned flags, uint64_t bits)
{
	struct m0_lnet_handle handle;

	assert_int_equal(me_try(flags, bits, &handle), 0);
	return handle;
}

static void put(bool ack)
{
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = 1,
		.lo_ack = ack,
	};
	struct m0_lnet_md_attr md = { .mda_threshold = ack ? 2 : 1,
				      .mda_auto_unlink = true,
				      .mda_eq = &eq };
	struct m0_lnet_handle  handle;

	assert_int_equal(m0_lnet_bind_put(lnet, &md, &op, &handle), 0);
}

/* An MD has ended and the application has had its last event, but an entry that
 * unlinks it waits for room: its number is not used again before. */
static void number_waits_for_its_entries(void **state)
{
	struct m0_lnet_md_attr attr = { .mda_threshold = 1,
					.mda_auto_unlink = true,
					.mda_eq = &eq };
	struct m0_lnet_op      op = {
		     .lo_self = m0_lnet_nid_any,
		     .lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		     .lo_portal = PORTAL,
	};
	struct m0_lnet_handle md;
	struct m0_lnet_handle next;
	unsigned              i;
	unsigned              tries_nr = 0;
	int                   rc;

	(void)state;
	node_open(ENTRIES_NR, 1);
	assert_int_equal(m0_lnet_bind_put(lnet, &attr, &op, &md), 0);
	for (i = 0; i < ENTRIES_NR; ++i)
		(void)me_attach(0, i + 100);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), 0);
	while (types_nr[M0_LNET_EV_SEND] == 0)
		(void)m0_lnet_progress(lnet);
	while ((rc = m0_lnet_md_bind(lnet, &attr, &next)) == -ENOSPC) {
		++tries_nr;
		(void)m0_lnet_progress(lnet);
	}
	assert_int_equal(rc, 0);
	assert_int_not_equal(tries_nr, 0);
	assert_int_equal(next.lh_slot, md.lh_slot);
	assert_int_equal(m0_lnet_md_unlink(lnet, next), 0);
	while (types_nr[M0_LNET_EV_UNLINK] == 0)
		(void)m0_lnet_progress(lnet);
	node_close();
	assert_int_equal(types_nr[M0_LNET_EV_UNLINK], 1);
}

/* Likewise an ME, which ends with its MD. */
static void number_of_me_waits_for_its_entries(void **state)
{
	struct m0_lnet_md_attr attr = { .mda_threshold = 1,
					.mda_options = M0_LNET_MD_OP_PUT,
					.mda_auto_unlink = true,
					.mda_eq = &eq };
	struct m0_lnet_handle  me;
	struct m0_lnet_handle  other;
	unsigned               i;
	unsigned               tries_nr = 0;
	int                    rc;

	(void)state;
	node_open(1, ENTRIES_NR + 2);
	me = me_attach(M0_LNET_ME_UNLINK, 1);
	assert_int_equal(m0_lnet_md_attach(lnet, me, &attr, &other), 0);
	put(false);
	attr.mda_eq = NULL;
	attr.mda_options = 0;
	for (i = 0; i < ENTRIES_NR; ++i)
		assert_int_equal(m0_lnet_md_bind(lnet, &attr, &other), 0);
	assert_int_equal(m0_lnet_me_unlink(lnet, me), 0);
	while (types_nr[M0_LNET_EV_PUT] == 0)
		(void)m0_lnet_progress(lnet);
	while ((rc = me_try(0, 1, &other)) == -ENOSPC) {
		++tries_nr;
		(void)m0_lnet_progress(lnet);
	}
	assert_int_equal(rc, 0);
	assert_int_not_equal(tries_nr, 0);
	node_close();
}

static void tapped(struct m0_lnet_tap *tap, const struct m0_lnet_tap_msg *msg)
{
	(void)tap;
	(void)msg;
}

/* No control record is left, nor can one be made: a tap is removed all the same. */
static void tap_is_removed_by_a_full_node(void **state)
{
	struct m0_lnet_tap       tap = { .ltp_message = tapped };
	struct m0_lnet_tap       more = tap;
	struct m0_front_control *first = NULL;
	struct m0_front_control *fcl;

	(void)state;
	node_open(1, 1);
	assert_int_equal(m0_lnet_tap_del(lnet, &tap), -ENOENT);
	assert_int_equal(m0_lnet_tap_add(lnet, &tap), 0);
	lnet->fro_controls.fss_max = lnet->fro_controls.fss_nr;
	while (m0_front__control_take(lnet, M0_RING_INFO, &fcl) == 0) {
		fcl->fcl_owner = first;
		first = fcl;
	}
	assert_int_equal(m0_lnet_tap_add(lnet, &more), -ENOSPC);
	assert_int_equal(m0_lnet_tap_del(lnet, &tap), 0);
	assert_int_equal(m0_lnet_tap_del(lnet, &tap), -ENOENT);
	/* The record that it has kept is free now. */
	assert_int_equal(m0_lnet_tap_add(lnet, &more), 0);
	assert_int_equal(m0_lnet_tap_add(lnet, &tap), -ENOSPC);
	assert_int_equal(m0_lnet_tap_del(lnet, &more), 0);
	while (first != NULL) {
		fcl = first;
		first = fcl->fcl_owner;
		m0_front__control_put(lnet, fcl);
	}
	node_close();
}

static uint32_t is_put;

static void close_late(struct m0_front_control *fcl)
{
	m0_time_sleep(m0_time_from_now(0, 50000000));
	__atomic_store_n(&is_put, 1, __ATOMIC_SEQ_CST);
	m0_front__control_put(lnet, fcl);
}

/* A thread has an answer, and copies it, while another one closes the node. */
static void close_waits_for_who_was_answered(void **state)
{
	struct m0_front_control *fcl;
	struct m0_thread         thread = { 0 };

	(void)state;
	node_open(1, 1);
	assert_int_equal(m0_front__control_take(lnet, M0_RING_INFO, &fcl), 0);
	assert_int_equal(m0_front__control_do(lnet, fcl), 0);
	assert_int_equal(M0_THREAD_INIT(&thread, struct m0_front_control *,
					NULL, close_late, fcl, "late"),
			 0);
	node_close();
	assert_int_equal(__atomic_load_n(&is_put, __ATOMIC_SEQ_CST), 1);
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
}

/* A step leads to more events than the queue has room for: the others wait. */
static void events_wait_for_room(void **state)
{
	struct m0_lnet_md_attr attr = { .mda_threshold = MSGS_NR,
					.mda_options = M0_LNET_MD_OP_PUT,
					.mda_auto_unlink = true,
					.mda_eq = &eq };
	struct m0_lnet_handle  handle;
	unsigned               i;

	(void)state;
	node_open(1, MSGS_NR + 1);
	assert_int_equal(m0_lnet_md_attach(lnet,
					   me_attach(M0_LNET_ME_UNLINK, 1),
					   &attr, &handle),
			 0);
	for (i = 0; i < MSGS_NR; ++i)
		put(true);
	assert_true(3 * MSGS_NR > M0_RING_ENTRIES_NR);
	while (types_nr[M0_LNET_EV_ACK] < MSGS_NR)
		(void)m0_lnet_progress(lnet);
	assert_int_equal(types_nr[M0_LNET_EV_SEND], MSGS_NR);
	assert_int_equal(types_nr[M0_LNET_EV_PUT], MSGS_NR);
	node_close();
	assert_int_equal(types_nr[M0_LNET_EV_ACK], MSGS_NR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_waits_for_its_entries),
		cmocka_unit_test(number_of_me_waits_for_its_entries),
		cmocka_unit_test(events_wait_for_room),
		cmocka_unit_test(tap_is_removed_by_a_full_node),
		cmocka_unit_test(close_waits_for_who_was_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
