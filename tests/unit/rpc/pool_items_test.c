/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Items that wait for a thread of a pool, and the machine that has handed them
 * there: what need not begin does not, there is a bound, and stop waits.
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
#include "m0/sync.h"

enum {
	ASK = 100,
	NOTE = 101,
	NOTES_NR = 40,
	NOTES_MAX = 8
};

static struct m0_net_domain  dom[2];
static struct m0_rpc_machine server;
static struct m0_rpc_machine client;
static struct m0_rpc_conn    conn;
static struct m0_rpc_session session;
static struct m0_rpc_pool   *pool;
static struct m0_rpc_raw     notes[NOTES_NR];
static struct m0_semaphore   go;
static int                   begun_nr;
static int                   stopped;

static void note_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	(void)item;
	(void)__atomic_add_fetch(&begun_nr, 1, __ATOMIC_ACQ_REL);
	m0_semaphore_down(&go);
}

static void ask_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	note_deliver(machine, item);
	m0_rpc_reply_rc(item, 0);
}

/* Answers, and goes on with what it was asked. */
static void ask_deliver_early(struct m0_rpc_machine *machine,
			      struct m0_rpc_item    *item)
{
	m0_rpc_reply_rc(item, 0);
	note_deliver(machine, item);
}

static struct m0_rpc_item_type_ops ask_ops;
static struct m0_rpc_item_type_ops note_ops;
static struct m0_rpc_item_type     ask = {
	    .rit_opcode = ASK,
	    .rit_ops = &ask_ops,
	    .rit_name = "ask",
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
};
static struct m0_rpc_item_type note = {
	.rit_opcode = NOTE,
	.rit_ops = &note_ops,
	.rit_name = "note",
	.rit_flags = M0_RPC_ITEM_TYPE_ONEWAY,
};

static void types_up(void)
{
	assert_int_equal(m0_rpc_pool_create(&pool, 1, "pool"), 0);
	ask_ops = m0_rpc_raw_ops;
	ask_ops.rito_deliver = ask_deliver;
	note_ops = m0_rpc_raw_ops;
	note_ops.rito_deliver = note_deliver;
	ask.rit_pool = pool;
	note.rit_pool = pool;
	assert_int_equal(m0_rpc_item_type_register(&ask), 0);
	assert_int_equal(m0_rpc_item_type_register(&note), 0);
}

static int up(void **state)
{
	struct m0_rpc_cfg cfg;

	(void)state;
	begun_nr = 0;
	stopped = 0;
	m0_semaphore_init(&go, 0);
	types_up();
	m0_rpc_cfg_init(&cfg);
	cfg.rc_executing_max = NOTES_MAX;
	assert_int_equal(m0_net_domain_init(&dom[0], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_net_domain_init(&dom[1], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	assert_int_equal(m0_rpc_machine_init(&client, &dom[1], NULL, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	assert_int_equal(m0_rpc_conn_create(&conn, M0_UINT128(0, 0),
					    m0_rpc_machine_addr(&server),
					    &client, 8, M0_TIME_NEVER),
			 0);
	assert_int_equal(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
			 0);
	return 0;
}

static int down(void **state)
{
	/* Nobody may answer any more. */
	m0_time_t until = m0_time_from_now(0, 20 * M0_TIME_ONE_MSEC);

	(void)state;
	(void)m0_rpc_session_destroy(&session, until);
	(void)m0_rpc_conn_destroy(&conn, until);
	m0_rpc_machine_fini(&client);
	m0_rpc_machine_fini(&server);
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_item_type_deregister(&note);
	m0_rpc_item_type_deregister(&ask);
	m0_rpc_pool_destroy(pool);
	m0_semaphore_fini(&go);
	return 0;
}

static void go_on(int nr)
{
	while (nr-- > 0)
		m0_semaphore_up(&go);
}

static int begun(void)
{
	return __atomic_load_n(&begun_nr, __ATOMIC_ACQUIRE);
}

static void begun_wait(int nr)
{
	while (begun() < nr)
		(void)sched_yield();
}

static struct m0_rpc_stats stats(void)
{
	struct m0_rpc_stats ret;

	m0_rpc_machine_get_stats(&server, &ret, false);
	return ret;
}

static void notes_send(int nr)
{
	int i;

	for (i = 0; i < nr; ++i) {
		m0_rpc_raw_init(&notes[i], &note, "note", 4, NULL);
		assert_int_equal(
			m0_rpc_oneway_item_post(&conn, &notes[i].rr_item), 0);
	}
	for (i = 0; i < nr; ++i) {
		assert_int_equal(
			m0_rpc_item_timedwait(&notes[i].rr_item,
					      1 << M0_RPC_ITEM_SENT |
						      1 << M0_RPC_ITEM_FAILED,
					      M0_TIME_NEVER),
			0);
		m0_rpc_item_put(&notes[i].rr_item);
	}
}

static void ask_post(struct m0_rpc_raw *raw, m0_time_t expires)
{
	m0_rpc_raw_init(raw, &ask, "ask", 3, NULL);
	raw->rr_item.ri_session = &session;
	raw->rr_item.ri_expires = expires;
	assert_int_equal(m0_rpc_post(&raw->rr_item), 0);
}

static int ask_end(struct m0_rpc_raw *raw)
{
	int rc = m0_rpc_item_wait_for_reply(&raw->rr_item, M0_TIME_NEVER);

	m0_rpc_item_put(&raw->rr_item);
	return rc;
}

static void stop_main(struct m0_rpc_machine *machine)
{
	m0_rpc_machine_stop(machine, true);
	__atomic_store_n(&stopped, 1, __ATOMIC_RELEASE);
}

/* Handlers are in the pool, `nr` to come: it is not over before they are. */
static void stop_waits(int nr)
{
	struct m0_thread th = {};
	m0_time_t        until;

	assert_int_equal(M0_THREAD_INIT(&th, struct m0_rpc_machine *, NULL,
					stop_main, &server, "stop"),
			 0);
	until = m0_time_from_now(0, 50 * M0_TIME_ONE_MSEC);
	while (m0_time_now() < until)
		(void)sched_yield();
	assert_int_equal(__atomic_load_n(&stopped, __ATOMIC_ACQUIRE), 0);
	go_on(nr);
	assert_int_equal(m0_thread_join(&th), 0);
	m0_thread_fini(&th);
	assert_int_equal(begun(), nr);
}

static void stop_waits_for_one_way_items(void **state)
{
	(void)state;
	notes_send(3);
	begun_wait(1);
	/* All are there: what comes after a stop is dropped. */
	while (stats().rs_nr_rcvd_items < 5)
		(void)sched_yield();
	stop_waits(3);
}

static void stop_waits_for_handlers_that_have_answered(void **state)
{
	struct m0_rpc_raw raw;

	(void)state;
	ask_ops.rito_deliver = ask_deliver_early;
	ask_post(&raw, 0);
	assert_int_equal(ask_end(&raw), 0);
	begun_wait(1);
	stop_waits(1);
}

/* Notices are answered by nobody: what is beyond the bound is dropped. */
static void one_way_items_are_bounded(void **state)
{
	(void)state;
	notes_send(NOTES_NR);
	while (stats().rs_nr_rcvd_items < NOTES_NR + 2)
		(void)sched_yield();
	assert_int_equal(stats().rs_nr_dropped_items, NOTES_NR - NOTES_MAX);
	go_on(NOTES_MAX);
	begun_wait(NOTES_MAX);
	/* There is room again: those that are back are before this question. */
	(void)stats();
	go_on(1);
	notes_send(1);
	begun_wait(NOTES_MAX + 1);
}

static void cancelled_is_not_begun(void **state)
{
	struct m0_rpc_raw raw[2];

	(void)state;
	ask_post(&raw[0], 0);
	begun_wait(1);
	ask_post(&raw[1], 0);
	while (stats().rs_executing < 2)
		(void)sched_yield();
	m0_rpc_item_cancel(&raw[1].rr_item);
	assert_int_equal(ask_end(&raw[1]), -ECANCELED);
	/* Two handshakes, two requests, and the word of the cancel. */
	while (stats().rs_nr_rcvd_items < 5)
		(void)sched_yield();
	go_on(2);
	assert_int_equal(ask_end(&raw[0]), 0);
	while (stats().rs_executing > 0)
		(void)sched_yield();
	assert_int_equal(begun(), 1);
	while (stats().rs_nr_cancelled_items < 1)
		(void)sched_yield();
}

static void expired_is_not_begun(void **state)
{
	struct m0_rpc_raw raw[2];
	m0_time_t         until;

	(void)state;
	ask_post(&raw[0], 0);
	begun_wait(1);
	ask_post(&raw[1], m0_time_from_now(0, 20 * M0_TIME_ONE_MSEC));
	while (stats().rs_executing < 2)
		(void)sched_yield();
	assert_int_equal(ask_end(&raw[1]), -ETIMEDOUT);
	until = m0_time_from_now(0, 30 * M0_TIME_ONE_MSEC);
	while (m0_time_now() < until)
		(void)sched_yield();
	go_on(2);
	assert_int_equal(ask_end(&raw[0]), 0);
	while (stats().rs_executing > 0)
		(void)sched_yield();
	assert_int_equal(begun(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stop_waits_for_one_way_items,
						up, down),
		cmocka_unit_test_setup_teardown(
			stop_waits_for_handlers_that_have_answered, up, down),
		cmocka_unit_test_setup_teardown(one_way_items_are_bounded, up,
						down),
		cmocka_unit_test_setup_teardown(cancelled_is_not_begun, up,
						down),
		cmocka_unit_test_setup_teardown(expired_is_not_begun, up, down),
	};

	if (m0_net_init() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
