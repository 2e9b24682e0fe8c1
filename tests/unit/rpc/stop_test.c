/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The end of a machine: when it has waited for all that was begun, its transfer
 * machine goes on to deliver until it has stopped as well.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "rpc/rpc_internal.h"

enum {
	NOTE = 100,
	NOTES_NR = 40
};

static struct m0_net_domain  dom[2];
static struct m0_rpc_machine server;
static struct m0_rpc_machine client;
static struct m0_rpc_conn    conn;
static struct m0_rpc_raw     notes[NOTES_NR];
static int                   begun_nr;

static void note_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	(void)item;
	(void)__atomic_add_fetch(&begun_nr, 1, __ATOMIC_ACQ_REL);
}

static struct m0_rpc_item_type_ops ops;
static struct m0_rpc_item_type     type = { .rit_opcode = NOTE,
					    .rit_ops = &ops,
					    .rit_name = "note",
					    .rit_flags = M0_RPC_ITEM_TYPE_ONEWAY };

static int up(void **state)
{
	(void)state;
	begun_nr = 0;
	ops = m0_rpc_raw_ops;
	ops.rito_deliver = note_deliver;
	assert_int_equal(m0_rpc_item_type_register(&type), 0);
	assert_int_equal(m0_net_domain_init(&dom[0], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_net_domain_init(&dom[1], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], NULL,
					     "127.0.0.1:7110", NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	assert_int_equal(m0_rpc_machine_init(&client, &dom[1], NULL,
					     "127.0.0.1:7111", NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	assert_int_equal(m0_rpc_conn_create(&conn, M0_UINT128(0, 0),
					    m0_rpc_machine_addr(&server),
					    &client, 8, M0_TIME_NEVER),
			 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	/* Nobody answers any more. */
	(void)m0_rpc_conn_destroy(&conn,
				  m0_time_from_now(0, 20 * M0_TIME_ONE_MSEC));
	m0_rpc_machine_fini(&client);
	m0_rpc_machine_fini(&server);
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_item_type_deregister(&type);
	return 0;
}

static void notes_send(void)
{
	const uint64_t states = 1 << M0_RPC_ITEM_SENT | 1 << M0_RPC_ITEM_FAILED;
	int            i;

	for (i = 0; i < NOTES_NR; ++i) {
		m0_rpc_raw_init(&notes[i], &type, "note", 4, NULL);
		assert_int_equal(
			m0_rpc_oneway_item_post(&conn, &notes[i].rr_item), 0);
	}
	for (i = 0; i < NOTES_NR; ++i) {
		assert_int_equal(m0_rpc_item_timedwait(&notes[i].rr_item,
						       states, M0_TIME_NEVER),
				 0);
		m0_rpc_item_put(&notes[i].rr_item);
	}
}

static int dropped_nr(void)
{
	struct m0_rpc_stats stats;

	m0_rpc_machine_get_stats(&server, &stats, false);
	return (int)stats.rs_nr_dropped_items;
}

static int begun(void)
{
	return __atomic_load_n(&begun_nr, __ATOMIC_ACQUIRE);
}

static void stop_main(struct m0_rpc_machine *machine)
{
	m0_rpc_machine_stop(machine, false);
}

/* Requests that arrive when all is quiet are counted and not begun. A thread
 * that wakes the machine keeps it there for as long as that takes. */
static void quiet_machine_begins_nothing(void **state)
{
	struct m0_rpc__machine *m = server.rm_lib;
	struct m0_thread        th = {};

	(void)state;
	(void)__atomic_add_fetch(&m->rml_inbox.rib_wakers_nr, 1,
				 __ATOMIC_SEQ_CST);
	assert_int_equal(M0_THREAD_INIT(&th, struct m0_rpc_machine *, NULL,
					stop_main, &server, "stop"),
			 0);
	while (__atomic_load_n(&m->rml_phase, __ATOMIC_ACQUIRE) !=
	       M0_RPC__QUIET)
		(void)sched_yield();
	notes_send();
	while (dropped_nr() + begun() < NOTES_NR)
		(void)sched_yield();
	(void)__atomic_sub_fetch(&m->rml_inbox.rib_wakers_nr, 1,
				 __ATOMIC_RELEASE);
	assert_int_equal(m0_thread_join(&th), 0);
	m0_thread_fini(&th);
	assert_int_equal(begun(), 0);
}

static void executing_add(struct m0_rpc__machine *m, void *arg)
{
	m->rml_server.rsv_executing_nr += *(const uint32_t *)arg;
}

static const struct m0_rpc_store_ops *store_ops;
static struct m0_rpc_store_ops        counting_ops;
static int                            steps_nr;

static void step_count(struct m0_rpc_store *store)
{
	(void)__atomic_add_fetch(&steps_nr, 1, __ATOMIC_ACQ_REL);
	store_ops->rso_step(store);
}

/* Each step of the machine makes one of its store. */
static void steps_count(struct m0_rpc__machine *m, void *arg)
{
	(void)arg;
	store_ops = m->rml_jobs.rjb_store->rst_ops;
	counting_ops = *store_ops;
	counting_ops.rso_step = step_count;
	m->rml_jobs.rjb_store->rst_ops = &counting_ops;
}

/* In how many of so many looks, 5 ms apart, there have been steps since the last. */
static int steps_seen(int looks)
{
	int was = __atomic_load_n(&steps_nr, __ATOMIC_ACQUIRE);
	int nr = 0;
	int now;

	while (looks-- > 0) {
		assert_int_equal(m0_nanosleep(5 * M0_TIME_ONE_MSEC, NULL), 0);
		now = __atomic_load_n(&steps_nr, __ATOMIC_ACQUIRE);
		nr += now != was;
		was = now;
	}
	return nr;
}

/* When the drain's time is over it sleeps until a handler answers. */
static void drained_machine_waits_for_handlers_asleep(void **state)
{
	struct m0_rpc__machine *m = server.rm_lib;
	struct m0_thread        th = {};
	uint32_t                one = 1;

	(void)state;
	m->rml_cfg.rc_drain_ns = M0_TIME_ONE_MSEC;
	m0_rpc__do(m, steps_count, NULL);
	m0_rpc__do(m, executing_add, &one);
	assert_int_equal(M0_THREAD_INIT(&th, struct m0_rpc_machine *, NULL,
					stop_main, &server, "stop"),
			 0);
	while (__atomic_load_n(&m->rml_phase, __ATOMIC_ACQUIRE) !=
	       M0_RPC__DRAINS)
		(void)sched_yield();
	/* The time of the drain is over. */
	assert_int_equal(m0_nanosleep(20 * M0_TIME_ONE_MSEC, NULL), 0);
	assert_in_range(steps_seen(20), 0, 5);
	one = (uint32_t)-1;
	m0_rpc__do(m, executing_add, &one);
	assert_int_equal(m0_thread_join(&th), 0);
	m0_thread_fini(&th);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(quiet_machine_begins_nothing,
						up, down),
		cmocka_unit_test_setup_teardown(
			drained_machine_waits_for_handlers_asleep, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
