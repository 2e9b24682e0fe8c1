/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Peers that come and go while what they asked is executed: what is kept of
 * those that went has a bound.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc.h"

enum {
	ASK = 100,
	BOUND = 3,
	ROUNDS_NR = 20
};

static struct m0_net_domain  dom[2];
static struct m0_rpc_machine server;
static struct m0_rpc_machine client;
static struct m0_rpc_item   *held[ROUNDS_NR];
static int                   held_nr;

/* Answered when the test says so. */
static void ask_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	int nr = __atomic_load_n(&held_nr, __ATOMIC_RELAXED);

	(void)machine;
	m0_rpc_item_get(item);
	held[nr] = item;
	__atomic_store_n(&held_nr, nr + 1, __ATOMIC_RELEASE);
}

static struct m0_rpc_item_type_ops ops;
static struct m0_rpc_item_type     ask = {
	    .rit_opcode = ASK,
	    .rit_ops = &ops,
	    .rit_name = "ask",
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
};

static int up(void **state)
{
	struct m0_rpc_cfg cfg;

	(void)state;
	held_nr = 0;
	ops = m0_rpc_raw_ops;
	ops.rito_deliver = ask_deliver;
	m0_rpc_cfg_init(&cfg);
	cfg.rc_clients_max = BOUND;
	cfg.rc_sessions_max = BOUND;
	assert_int_equal(m0_rpc_item_type_register(&ask), 0);
	assert_int_equal(m0_net_domain_init(&dom[0], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_net_domain_init(&dom[1], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	assert_int_equal(m0_rpc_machine_init(&client, &dom[1], NULL, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	m0_rpc_machine_fini(&client);
	m0_rpc_machine_fini(&server);
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_item_type_deregister(&ask);
	return 0;
}

static uint64_t executing_nr(void)
{
	struct m0_rpc_stats stats;

	m0_rpc_machine_get_stats(&server, &stats, false);
	return stats.rs_executing;
}

/* All that is executed ends, and those that went are gone. */
static void release(void)
{
	int i = 0;

	/* One may come meanwhile. */
	do {
		for (; i < __atomic_load_n(&held_nr, __ATOMIC_ACQUIRE); ++i) {
			m0_rpc_reply_rc(held[i], 0);
			m0_rpc_item_put(held[i]);
		}
		(void)sched_yield();
	} while (executing_nr() > 0);
	held_nr = 0;
}

static int conn_make(struct m0_rpc_conn *conn)
{
	return m0_rpc_conn_create(conn, M0_UINT128(0, 0),
				  m0_rpc_machine_addr(&server), &client, 8,
				  M0_TIME_NEVER);
}

/* A session that asks something, gives it up, and ends. */
static int session_goes(struct m0_rpc_conn *conn)
{
	struct m0_rpc_session session;
	struct m0_rpc_raw     raw;
	int                   nr = held_nr;
	int rc = m0_rpc_session_create(&session, conn, M0_TIME_NEVER);

	if (rc != 0)
		return rc;
	m0_rpc_raw_init(&raw, &ask, "ask", 3, NULL);
	raw.rr_item.ri_session = &session;
	raw.rr_item.ri_stream = 1;
	assert_int_equal(m0_rpc_post(&raw.rr_item), 0);
	while (__atomic_load_n(&held_nr, __ATOMIC_ACQUIRE) == nr)
		(void)sched_yield();
	m0_rpc_item_cancel(&raw.rr_item);
	assert_int_equal(m0_rpc_item_wait_for_reply(&raw.rr_item,
						    M0_TIME_NEVER),
			 -ECANCELED);
	m0_rpc_item_put(&raw.rr_item);
	assert_int_equal(m0_rpc_session_destroy(&session, M0_TIME_NEVER), 0);
	return 0;
}

static int client_goes(void)
{
	struct m0_rpc_conn conn;
	int                rc = conn_make(&conn);

	if (rc != 0)
		return rc;
	assert_int_equal(session_goes(&conn), 0);
	assert_int_equal(m0_rpc_conn_destroy(&conn, M0_TIME_NEVER), 0);
	return 0;
}

static void sessions_that_went_are_bounded(void **state)
{
	struct m0_rpc_conn conn;
	int                rc = 0;
	int                i;

	(void)state;
	assert_int_equal(conn_make(&conn), 0);
	for (i = 0; rc == 0 && i < ROUNDS_NR; ++i)
		rc = session_goes(&conn);
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(held_nr, 2 * BOUND);
	release();
	assert_int_equal(session_goes(&conn), 0);
	release();
	assert_int_equal(m0_rpc_conn_destroy(&conn, M0_TIME_NEVER), 0);
}

static void clients_that_went_are_bounded(void **state)
{
	int rc = 0;
	int i;

	(void)state;
	for (i = 0; rc == 0 && i < ROUNDS_NR; ++i)
		rc = client_goes();
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(held_nr, 2 * BOUND);
	release();
	assert_int_equal(client_goes(), 0);
	release();
}

/* A client that moves only when it is told to. */
static struct m0_rpc_machine still;
static struct m0_rpc_conn    still_conn;
static struct m0_rpc_session still_session;

static void release_held(void)
{
	if (__atomic_load_n(&held_nr, __ATOMIC_ACQUIRE) > 0)
		release();
}

static void still_until_conn(enum m0_rpc_conn_state state)
{
	while (still_conn.c_state != state)
		m0_rpc_machine_progress(&still);
}

static void still_until_session(enum m0_rpc_session_state state)
{
	while (still_session.s_state != state)
		m0_rpc_machine_progress(&still);
}

static void still_up(void)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_inline = true;
	assert_int_equal(m0_rpc_machine_init(&still, &dom[1], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	assert_int_equal(m0_rpc_conn_init(&still_conn, M0_UINT128(0, 0),
					  m0_rpc_machine_addr(&server), &still,
					  8),
			 0);
	assert_int_equal(m0_rpc_conn_establish(&still_conn, M0_TIME_NEVER), 0);
	still_until_conn(M0_RPC_CONN_ACTIVE);
	assert_int_equal(m0_rpc_session_init(&still_session, &still_conn), 0);
	assert_int_equal(
		m0_rpc_session_establish(&still_session, M0_TIME_NEVER), 0);
	still_until_session(M0_RPC_SESSION_IDLE);
}

static void still_down(void)
{
	assert_int_equal(
		m0_rpc_session_terminate(&still_session, M0_TIME_NEVER), 0);
	still_until_session(M0_RPC_SESSION_TERMINATED);
	m0_rpc_session_fini(&still_session);
	assert_int_equal(m0_rpc_conn_terminate(&still_conn, M0_TIME_NEVER), 0);
	still_until_conn(M0_RPC_CONN_TERMINATED);
	m0_rpc_conn_fini(&still_conn);
	m0_rpc_machine_fini(&still);
}

/* A request whose time is over when its turn comes is not executed, and counted,
 * though its client has said nothing. */
static void turn_after_its_time_is_counted(void **state)
{
	struct m0_rpc_stats stats;
	struct m0_rpc_raw   raw[2];
	m0_time_t           end = m0_time_from_now(0, 400 * M0_TIME_ONE_MSEC);
	int                 i;

	(void)state;
	still_up();
	m0_rpc_machine_get_stats(&server, &stats, true);
	for (i = 0; i < 2; ++i) {
		m0_rpc_raw_init(&raw[i], &ask, "ask", 3, NULL);
		raw[i].rr_item.ri_session = &still_session;
		raw[i].rr_item.ri_stream = 1;
		if (i == 1)
			raw[i].rr_item.ri_expires = end;
		assert_int_equal(m0_rpc_post(&raw[i].rr_item), 0);
	}
	do {
		m0_rpc_machine_progress(&still);
		m0_rpc_machine_get_stats(&server, &stats, false);
	} while (stats.rs_nr_rcvd_items < 2 && m0_time_now() < end);
	(void)m0_nanosleep(m0_time_sub(m0_time_add(end, M0_TIME_ONE_MSEC),
				       min64u(m0_time_now(), end)),
			   NULL);
	/* Where the test is too slow it is the client that ends it. The first request may be
	 * executed, and held, only now. */
	do {
		release_held();
		m0_rpc_machine_get_stats(&server, &stats, false);
	} while (stats.rs_nr_rcvd_items == 2 &&
		 stats.rs_nr_expired_items == 0 &&
		 m0_time_now() < m0_time_add(end, 20 * M0_TIME_ONE_SECOND));
	if (stats.rs_nr_rcvd_items == 2)
		assert_int_equal(stats.rs_nr_expired_items, 1);
	for (i = 0; i < 2; ++i) {
		while (m0_rpc_item_state(&raw[i].rr_item) !=
			       M0_RPC_ITEM_REPLIED &&
		       m0_rpc_item_state(&raw[i].rr_item) !=
			       M0_RPC_ITEM_FAILED) {
			m0_rpc_machine_progress(&still);
			release_held();
		}
		assert_int_equal(m0_rpc_item_error(&raw[i].rr_item),
				 i == 0 ? 0 : -ETIMEDOUT);
		m0_rpc_item_put(&raw[i].rr_item);
	}
	still_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sessions_that_went_are_bounded,
						up, down),
		cmocka_unit_test_setup_teardown(clients_that_went_are_bounded,
						up, down),
		cmocka_unit_test_setup_teardown(turn_after_its_time_is_counted,
						up, down),
	};

	if (m0_net_init() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
