/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Threads that wait for their turn to begin a transaction of the durable store. */
#include "m0/rpc_store_lmdb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char                dir[64];
static struct m0_rpc_store store;

static int up(void **state)
{
	struct m0_rpc_store_lmdb_cfg cfg;

	(void)state;
	snprintf(dir, sizeof dir, "turn_test.XXXXXX");
	assert_non_null(mkdtemp(dir));
	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = 64 << 20;
	cfg.rlc_sync = M0_RPC_STORE_SYNC_NEVER;
	return m0_rpc_store_lmdb_open(&store, dir, &cfg);
}

static int down(void **state)
{
	char command[128];

	(void)state;
	m0_rpc_store_lmdb_close(&store);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

/** One that waits for its turn to begin a transaction. */
struct waiter {
	struct m0_thread     wtr_thread;
	struct m0_semaphore *wtr_done;
	bool                 wtr_wakes;
};

static struct m0_cond     *turn_cond;
static struct m0_semaphore woken;
static struct m0_semaphore woken_goes_on;
static _Thread_local bool  wakes;

void __real_m0_cond_wait(struct m0_cond *cond);
void __wrap_m0_cond_wait(struct m0_cond *cond);

/** As conditions may, it wakes a thread that asked for it, for nothing. */
void __wrap_m0_cond_wait(struct m0_cond *cond)
{
	if (!wakes) {
		__real_m0_cond_wait(cond);
		return;
	}
	wakes = false;
	turn_cond = cond;
	m0_mutex_unlock(cond->c_mutex);
	m0_semaphore_up(&woken);
	m0_semaphore_down(&woken_goes_on);
	m0_mutex_lock(cond->c_mutex);
}

static void wait_turn(struct waiter *waiter)
{
	struct m0_rpc_tx tx;

	wakes = waiter->wtr_wakes;
	if (store.rst_ops->rso_begin(&store, &tx) == 0)
		store.rst_ops->rso_abort(&tx);
	m0_semaphore_up(waiter->wtr_done);
}

static void waiters_wait(uint32_t nr)
{
	while (__atomic_load_n(&turn_cond->c_waiters_nr, __ATOMIC_SEQ_CST) < nr)
		(void)sched_yield();
	/* Until it is asleep; that is not seen. */
	(void)m0_nanosleep(5 * M0_TIME_ONE_MSEC, NULL);
}

/* The one whose turn it is hears of it, though another sleeps before it. */
static void turn_reaches_its_waiter(void **state)
{
	struct m0_semaphore done;
	struct m0_rpc_tx    tx;
	struct waiter waiter[2] = { { .wtr_done = &done, .wtr_wakes = true },
				    { .wtr_done = &done } };
	unsigned      i;

	(void)state;
	(void)m0_semaphore_init(&done, 0);
	(void)m0_semaphore_init(&woken, 0);
	(void)m0_semaphore_init(&woken_goes_on, 0);
	assert_int_equal(store.rst_ops->rso_begin(&store, &tx), 0);
	for (i = 0; i < ARRAY_SIZE(waiter); ++i) {
		assert_int_equal(M0_THREAD_INIT(&waiter[i].wtr_thread,
						struct waiter *, NULL,
						wait_turn, &waiter[i], "wait"),
				 0);
		if (i == 0)
			m0_semaphore_down(&woken);
		else
			waiters_wait(1);
	}
	m0_semaphore_up(&woken_goes_on);
	waiters_wait(2);
	store.rst_ops->rso_abort(&tx);
	for (i = 0; i < ARRAY_SIZE(waiter); ++i) {
		/* In vain there is nothing that could be ended. */
		if (!m0_semaphore_timeddown(&done, m0_time_from_now(20, 0)))
			abort();
	}
	for (i = 0; i < ARRAY_SIZE(waiter); ++i) {
		(void)m0_thread_join(&waiter[i].wtr_thread);
		m0_thread_fini(&waiter[i].wtr_thread);
	}
	m0_semaphore_fini(&done);
	m0_semaphore_fini(&woken);
	m0_semaphore_fini(&woken_goes_on);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(turn_reaches_its_waiter, up,
						down),
	};

	return cmocka_run_group_tests_name("store/turn", tests, NULL, NULL);
}
