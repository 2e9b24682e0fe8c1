/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Records that handshakes leave in a store that outlives its machine, and what they cost
 * while it is slow or refuses.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc.h"

enum {
	/** Handshakes that may wait for the store. */
	BOUND = 1024,
	CONNS_NR = BOUND + 100,
	CLIENTS_NR = 4,
	SESSIONS_NR = 3
};

#define NONE M0_UINT128(0, 0)

static struct m0_net_domain    dom[2];
static struct m0_rpc_machine   server;
static struct m0_rpc_machine   clients[CLIENTS_NR];
static struct m0_rpc_store     real;
static struct m0_rpc_store     store;
static struct m0_rpc_store_ops ops;
static struct m0_rpc_conn      conns[CONNS_NR];

/* As long as it holds, what it is asked waits. */
static bool                      holds;
static struct m0_mutex           lock;
static struct m0_rpc_store_job  *held;
static struct m0_rpc_store_job **held_end;
static uint32_t                  held_nr;

static void exec_or_hold(struct m0_rpc_store *st, struct m0_rpc_store_job *job)
{
	m0_mutex_lock(&lock);
	if (holds) {
		job->sj_next = NULL;
		*held_end = job;
		held_end = &job->sj_next;
		++held_nr;
	} else {
		real.rst_ops->rso_exec(st, job);
	}
	m0_mutex_unlock(&lock);
}

/* Has it no room? */
static bool is_full;

static int put_or_refuse(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			 struct m0_rpc_slice value)
{
	return __atomic_load_n(&is_full, __ATOMIC_SEQ_CST)
		       ? -ENOSPC
		       : real.rst_ops->rso_put(tx, key, value);
}

static void hold(void)
{
	m0_mutex_lock(&lock);
	held = NULL;
	held_end = &held;
	held_nr = 0;
	holds = true;
	m0_mutex_unlock(&lock);
}

static uint32_t how_many_are_held(void)
{
	uint32_t nr;

	m0_mutex_lock(&lock);
	nr = held_nr;
	m0_mutex_unlock(&lock);
	return nr;
}

/* @param on  what it is asked from now on waits, too. */
static void release_held(bool on)
{
	struct m0_rpc_store_job *job;

	m0_mutex_lock(&lock);
	while ((job = held) != NULL) {
		held = job->sj_next;
		real.rst_ops->rso_exec(&store, job);
	}
	held_end = &held;
	held_nr = 0;
	holds = on;
	m0_mutex_unlock(&lock);
}

static void release(void)
{
	release_held(false);
}

static void server_up_at(const char *addr, uint32_t clients_max,
			 uint32_t sessions_max)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_store = &store;
	cfg.rc_clients_max = clients_max;
	cfg.rc_sessions_max = sessions_max;
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], &cfg, addr, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
}

static void server_up(uint32_t clients_max, uint32_t sessions_max)
{
	server_up_at(NULL, clients_max, sessions_max);
}

/* At its address, with its store. */
static void server_again(uint32_t clients_max, uint32_t sessions_max)
{
	char addr[100];

	snprintf(addr, sizeof addr, "%s", m0_rpc_machine_addr(&server));
	m0_rpc_machine_fini(&server);
	server_up_at(addr, clients_max, sessions_max);
}

/* Uuid of the clients that are made next. */
static uint64_t resend_ns = 10 * M0_TIME_ONE_MSEC;

/* The i-th, with a name of its own if `uuid` is 0. */
static void client_up(int i, struct m0_uint128 uuid, uint64_t incarnation)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = uuid;
	cfg.rc_incarnation = incarnation;
	cfg.rc_resend_ns = resend_ns;
	/* A server that drops what it has no room for is asked ten times, over
	 * some seconds: a machine may be busy for that long. */
	cfg.rc_resend_max_ns = 100 * resend_ns;
	assert_int_equal(m0_rpc_machine_init(&clients[i], &dom[1], &cfg, NULL,
					     NULL, M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
}

static int up(void **state)
{
	(void)state;
	m0_mutex_init(&lock);
	assert_int_equal(m0_rpc_store_volatile_init(&real, 1 << 20), 0);
	ops = *real.rst_ops;
	ops.rso_exec = exec_or_hold;
	ops.rso_put = put_or_refuse;
	store = real;
	store.rst_ops = &ops;
	assert_int_equal(m0_net_domain_init(&dom[0], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_net_domain_init(&dom[1], &m0_net_bulk_mem_xprt), 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_store_volatile_fini(&real);
	m0_mutex_fini(&lock);
	return 0;
}

/* Asks and does not wait. */
static void conn_begin(struct m0_rpc_conn *conn, struct m0_rpc_machine *client)
{
	assert_int_equal(m0_rpc_conn_init(conn, NONE,
					  m0_rpc_machine_addr(&server), client,
					  8),
			 0);
	assert_int_equal(m0_rpc_conn_establish(conn, M0_TIME_NEVER), 0);
}

static bool conn_is_up(struct m0_rpc_conn *conn)
{
	(void)m0_rpc_conn_timedwait(
		conn, 1 << M0_RPC_CONN_ACTIVE | 1 << M0_RPC_CONN_FAILED,
		M0_TIME_NEVER);
	return conn->c_state == M0_RPC_CONN_ACTIVE;
}

/* A client that asks for a handshake costs memory until the store has done it:
 * the machine admits so many, and drops the others, which ask again. */
static void handshakes_that_wait_for_the_store_are_bounded(void **state)
{
	struct m0_rpc_stats stats;
	uint32_t            nr;
	int                 i;

	(void)state;
	server_up(8, 8);
	client_up(0, NONE, 0);
	hold();
	for (i = 0; i < CONNS_NR; ++i)
		conn_begin(&conns[i], &clients[0]);
	do {
		(void)sched_yield();
		m0_rpc_machine_get_stats(&server, &stats, false);
	} while (how_many_are_held() <= BOUND &&
		 stats.rs_nr_dropped_items < CONNS_NR - BOUND);
	nr = how_many_are_held();
	release();
	for (i = 0; i < CONNS_NR; ++i) {
		assert_true(conn_is_up(&conns[i]));
		assert_int_equal(m0_rpc_conn_destroy(&conns[i], M0_TIME_NEVER),
				 0);
	}
	m0_rpc_machine_fini(&clients[0]);
	m0_rpc_machine_fini(&server);
	assert_int_equal(nr, BOUND);
}

/* The i-th client's. */
static int conn_make(int i)
{
	return m0_rpc_conn_create(&conns[i], NONE, m0_rpc_machine_addr(&server),
				  &clients[i], 8, M0_TIME_NEVER);
}

static void client_leaves(int i)
{
	assert_int_equal(m0_rpc_conn_destroy(&conns[i], M0_TIME_NEVER), 0);
	m0_rpc_machine_fini(&clients[i]);
}

static int session_make(int i, struct m0_rpc_session *session)
{
	return m0_rpc_session_create(session, &conns[i], M0_TIME_NEVER);
}

/* A disk that was full for a while costs no sessions. */
static void sessions_that_the_store_refuses_are_not_there(void **state)
{
	struct m0_rpc_session sessions[SESSIONS_NR];
	int                   i;

	(void)state;
	server_up(8, SESSIONS_NR);
	client_up(0, NONE, 0);
	assert_int_equal(conn_make(0), 0);
	assert_int_equal(session_make(0, &sessions[0]), 0);
	__atomic_store_n(&is_full, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < 2 * SESSIONS_NR; ++i)
		assert_int_equal(session_make(0, &sessions[1]), -ENOSPC);
	__atomic_store_n(&is_full, false, __ATOMIC_SEQ_CST);
	for (i = 1; i < SESSIONS_NR; ++i)
		assert_int_equal(session_make(0, &sessions[i]), 0);
	for (i = 0; i < SESSIONS_NR; ++i)
		assert_int_equal(
			m0_rpc_session_destroy(&sessions[i], M0_TIME_NEVER), 0);
	client_leaves(0);
	m0_rpc_machine_fini(&server);
}

/* Keys in the store, of whom nothing but handshakes was asked. */
static int keys_nr(void)
{
	struct m0_rpc_slice key = { NULL, 0 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	int                 nr = 0;

	assert_int_equal(real.rst_ops->rso_begin(&real, &tx), 0);
	while (real.rst_ops->rso_next(&tx, key, &key, &value) == 0)
		++nr;
	real.rst_ops->rso_abort(&tx);
	return nr;
}

static void clients_that_left_leave_nothing(void **state)
{
	struct m0_rpc_session session;
	int                   i;

	(void)state;
	server_up(8, 8);
	for (i = 0; i < CLIENTS_NR; ++i) {
		client_up(i, NONE, 0);
		assert_int_equal(conn_make(i), 0);
		assert_int_equal(session_make(i, &session), 0);
		assert_int_equal(
			m0_rpc_session_destroy(&session, M0_TIME_NEVER), 0);
		client_leaves(i);
	}
	m0_rpc_machine_fini(&server);
	assert_int_equal(keys_nr(), 0);
}

/* Nor do those whose server has been started anew, and knows them from its store
 * alone. */
static void clients_that_leave_another_server_leave_nothing(void **state)
{
	struct m0_rpc_session sessions[CLIENTS_NR];
	int                   i;

	(void)state;
	server_up(8, 8);
	for (i = 0; i < CLIENTS_NR; ++i) {
		client_up(i, NONE, 0);
		assert_int_equal(conn_make(i), 0);
		assert_int_equal(session_make(i, &sessions[i]), 0);
	}
	assert_int_equal(keys_nr(), 2 * CLIENTS_NR);
	server_again(8, 8);
	for (i = 0; i < CLIENTS_NR; ++i) {
		assert_int_equal(
			m0_rpc_session_destroy(&sessions[i], M0_TIME_NEVER), 0);
		client_leaves(i);
	}
	m0_rpc_machine_fini(&server);
	assert_int_equal(keys_nr(), 0);
}

static void held_until(uint32_t nr)
{
	while (how_many_are_held() < nr)
		(void)sched_yield();
}

/* So that it looks at what its store has to do: that has no thread. */
static void server_wake(void)
{
	struct m0_rpc_conn conn;

	assert_int_equal(m0_rpc_conn_init(&conn, NONE,
					  m0_rpc_machine_addr(&clients[0]),
					  &server, 8),
			 0);
	m0_rpc_conn_fini(&conn);
}

/* The store is asked for it, and then to forget it. */
static void session_that_ends_while_it_is_resumed_is_gone(void **state)
{
	struct m0_rpc_session ends;
	struct m0_rpc_session asks;
	struct m0_rpc_session comes;

	(void)state;
	resend_ns = 100 * M0_TIME_ONE_SECOND;
	server_up(8, 1);
	client_up(0, NONE, 0);
	resend_ns = 10 * M0_TIME_ONE_MSEC;
	assert_int_equal(conn_make(0), 0);
	assert_int_equal(session_make(0, &ends), 0);
	server_again(8, 1);
	hold();
	/* By this one it learns that it is to establish all again. */
	assert_int_equal(m0_rpc_session_init(&asks, &conns[0]), 0);
	assert_int_equal(
		m0_rpc_session_establish(&asks, m0_time_from_now(1, 0)), 0);
	held_until(1);
	release_held(true);
	server_wake();
	held_until(1);
	assert_int_equal(m0_rpc_session_terminate(&ends, M0_TIME_NEVER), 0);
	held_until(2);
	release();
	server_wake();
	(void)m0_rpc_session_timedwait(&ends, 1 << M0_RPC_SESSION_TERMINATED,
				       M0_TIME_NEVER);
	m0_rpc_session_fini(&ends);
	(void)m0_rpc_session_timedwait(&asks, 1 << M0_RPC_SESSION_FAILED,
				       M0_TIME_NEVER);
	m0_rpc_session_fini(&asks);
	assert_int_equal(session_make(0, &comes), 0);
	assert_int_equal(m0_rpc_session_destroy(&comes, M0_TIME_NEVER), 0);
	client_leaves(0);
	m0_rpc_machine_fini(&server);
	assert_int_equal(keys_nr(), 0);
}

/* Neither those that came when there was no room, nor those that came when there
 * was room for one of them. */
static void clients_refused_leave_nothing(void **state)
{
	int admitted = 0;
	int i;

	(void)state;
	server_up(1, 8);
	for (i = 0; i < CLIENTS_NR; ++i)
		client_up(i, NONE, 0);
	assert_int_equal(conn_make(0), 0);
	for (i = 1; i < CLIENTS_NR; ++i)
		assert_int_equal(conn_make(i), -ENOSPC);
	assert_int_equal(keys_nr(), 1);
	assert_int_equal(m0_rpc_conn_destroy(&conns[0], M0_TIME_NEVER), 0);
	hold();
	for (i = 0; i < CLIENTS_NR; ++i) {
		conn_begin(&conns[i], &clients[i]);
		while (how_many_are_held() < (uint32_t)i + 1)
			(void)sched_yield();
	}
	release();
	for (i = 0; i < CLIENTS_NR; ++i)
		admitted += conn_is_up(&conns[i]);
	assert_int_equal(admitted, 1);
	for (i = 0; i < CLIENTS_NR; ++i)
		client_leaves(i);
	m0_rpc_machine_fini(&server);
	assert_int_equal(keys_nr(), 0);
}

/* An older one may be there still when the younger has left. */
static void client_that_came_back_keeps_the_older_out(void **state)
{
	const struct m0_uint128 uuid = M0_UINT128(5, 1);
	int                     i;

	(void)state;
	server_up(8, 8);
	for (i = 0; i < 3; ++i)
		client_up(i, uuid, i < 2 ? 10 : 11);
	assert_int_equal(conn_make(0), 0);
	assert_int_equal(conn_make(2), 0);
	client_leaves(2);
	assert_int_equal(conn_make(1), -ESTALE);
	m0_rpc_machine_fini(&clients[1]);
	client_leaves(0);
	m0_rpc_machine_fini(&server);
	assert_int_equal(keys_nr(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(clients_that_left_leave_nothing,
						up, down),
		cmocka_unit_test_setup_teardown(
			clients_that_leave_another_server_leave_nothing, up,
			down),
		cmocka_unit_test_setup_teardown(
			session_that_ends_while_it_is_resumed_is_gone, up,
			down),
		cmocka_unit_test_setup_teardown(clients_refused_leave_nothing,
						up, down),
		cmocka_unit_test_setup_teardown(
			client_that_came_back_keeps_the_older_out, up, down),
		cmocka_unit_test_setup_teardown(
			sessions_that_the_store_refuses_are_not_there, up,
			down),
		cmocka_unit_test_setup_teardown(
			handshakes_that_wait_for_the_store_are_bounded, up,
			down),
	};

	if (m0_net_init() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
