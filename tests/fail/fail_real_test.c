/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Failure loops over what the simulator does not run: the library's threads, the
 * sunrpc transport, the durable store. FAIL_CALL=name runs one kind alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fail/fail.h"
#include "fail/fail_ends.h"
#include "fail/fail_real.h"
#include "m0/rpc.h"
#include "m0/rpc_store_lmdb.h"
#include "m0/sunrpc.h"

static void sunrpc(void)
{
	fail_ends_talk(&m0_net_bulk_sunrpc_xprt, FAIL_ASYNC);
}

/* Two machines of a process over ONC RPC: calls fail on either side. */
static void sunrpc_without_memory(void **state)
{
	(void)state;
	fail_real_allocs(sunrpc, "sunrpc");
}

static void sunrpc_with_failing_calls(void **state)
{
	(void)state;
	fail_real_calls(sunrpc, "sunrpc");
}

static void lnet(void)
{
	fail_ends_talk(&m0_net_lnet_xprt, FAIL_ASYNC);
}

/* Nodes with threads of their own; fail_sys_test has those without. */
static void threads_of_nodes_fail(void **state)
{
	(void)state;
	fail_real_calls(lnet, "lnet");
}

/* Nodes whose payloads threads of their own move. */
static void lanes_without_memory(void **state)
{
	(void)state;
	fail_real_nodes(2, false);
	fail_real_allocs(lnet, "lanes");
	fail_real_nodes(0, false);
}

/* Nodes that speak through shared memory. */
static void near_without_memory(void **state)
{
	(void)state;
	fail_real_nodes(0, true);
	fail_real_allocs(lnet, "same host");
	fail_real_nodes(0, false);
}

/* Processes that are attached, and their daemons. */
static void attached_without_memory(void **state)
{
	(void)state;
	fail_real_share(true);
	fail_real_allocs(lnet, "attached");
	fail_real_share(false);
}

/* -- pools ------------------------------------------------------------------- */

static int thread_init(unsigned *ran)
{
	*ran = 1;
	return 0;
}

static void thread_main(unsigned *ran)
{
	*ran = 2;
}

/* By m0_thread_init(). */
static void thread(void)
{
	struct m0_bitmap first = { 0 };
	struct m0_thread it;
	unsigned         ran = 0;

	FAIL_TRY(M0_THREAD_INIT(&it, unsigned *, thread_init, thread_main, &ran,
				"fail"));
	FAIL_TRY(m0_bitmap_init(&first, 1));
	m0_bitmap_set(&first, 0, true);
	(void)m0_thread_confine(&it, &first);
	m0_bitmap_fini(&first);
	assert_int_equal(m0_thread_join(&it), 0);
	m0_thread_fini(&it);
	assert_int_equal(ran, 2);
}

static void threads(void)
{
	struct m0_rpc_pool *pool;

	thread();

	FAIL_TRY(m0_rpc_pool_create(&pool, 3, "fail"));
	m0_rpc_pool_destroy(pool);
}

/* Handlers that block have all their threads, or there is no pool. */
static void pool_without_threads(void **state)
{
	(void)state;
	fail_real_allocs(threads, "pool");
	fail_real_calls(threads, "pool");
}

/* -- the durable store ------------------------------------------------------- */

struct job {
	struct m0_rpc_store_job jo_job;
	bool                    jo_over;
	int                     jo_rc;
};

static int job_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	static uint8_t      large[20000];
	struct m0_rpc_slice key = { "key", 3 };
	struct m0_rpc_slice none = { NULL, 0 };
	struct m0_rpc_slice got;

	(void)job;
	return m0_rpc_tx_put(tx, key,
			     (struct m0_rpc_slice){ large, sizeof large }) ?:
	       m0_rpc_tx_get(tx, key, &got) ?:
	       m0_rpc_tx_next(tx, none, &key, &got);
}

static void job_done(struct m0_rpc_store_job *job, int rc)
{
	struct job *jo = container_of(job, struct job, jo_job);

	jo->jo_rc = rc;
	__atomic_store_n(&jo->jo_over, true, __ATOMIC_RELEASE);
}

static bool job_is_over(void *arg)
{
	struct job *jo = arg;

	return __atomic_load_n(&jo->jo_over, __ATOMIC_ACQUIRE);
}

static int job(struct m0_rpc_store *store)
{
	struct job jo = { .jo_job = { .sj_run = job_run,
				      .sj_done = job_done } };

	store->rst_ops->rso_exec(store, &jo.jo_job);
	FAIL_UNTIL(job_is_over, &jo);
	return jo.jo_rc;
}

static void durable(void)
{
	struct m0_rpc_store_lmdb_stats *stats = malloc(sizeof *stats);
	struct m0_rpc_store_lmdb_cfg    cfg;
	struct m0_rpc_store             store;
	char                            dir[] = "fail_real.XXXXXX";
	char                            path[64];

	assert_non_null(mkdtemp(dir));
	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = 8 << 20;
	cfg.rlc_sync = M0_RPC_STORE_SYNC_NEVER;
	FAIL_TRY(m0_rpc_store_lmdb_open(&store, dir, &cfg));
	FAIL_TRY(job(&store));
	m0_rpc_store_lmdb_stats(&store, stats, true);
	m0_rpc_store_lmdb_close(&store);
	/* The store has its content again. */
	FAIL_TRY(m0_rpc_store_lmdb_open(&store, dir, &cfg));
	m0_rpc_store_lmdb_stats(&store, stats, false);
	assert_int_equal(stats->rls_keys_nr, 1);
	m0_rpc_store_lmdb_close(&store);
	free(stats);
	snprintf(path, sizeof path, "rm -r %s", dir);
	assert_int_equal(system(path), 0);
}

/* Opened again and again, with a transaction, by a thread of its own. */
static void store_without_memory_or_thread(void **state)
{
	(void)state;
	fail_real_allocs(durable, "store");
	fail_real_calls(durable, "store");
}

static int library_up(void **state)
{
	(void)state;
	m0_log_level_set(M0_LOG_FATAL);
	return m0_net_init();
}

static int library_down(void **state)
{
	(void)state;
	return m0_net_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sunrpc_without_memory),
		cmocka_unit_test(sunrpc_with_failing_calls),
		cmocka_unit_test(threads_of_nodes_fail),
		cmocka_unit_test(lanes_without_memory),
		cmocka_unit_test(near_without_memory),
		cmocka_unit_test(attached_without_memory),
		cmocka_unit_test(pool_without_threads),
		cmocka_unit_test(store_without_memory_or_thread),
	};

	return cmocka_run_group_tests(tests, library_up, library_down);
}
