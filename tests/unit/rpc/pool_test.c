/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Pools of threads for handlers that block, without machines: what a machine
 * does when an item comes back is the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/env.h"
#include "sim/sched/heap.h"
#include "rpc/rpc_internal.h"

enum {
	ITEMS_NR = 1000
};

static struct m0_rpc_machine machine;
static struct m0_rpc_item    items[ITEMS_NR];
static uint32_t              delivered[ITEMS_NR];
static uint32_t              back_nr;
static struct m0_semaphore   met;
static struct m0_semaphore   back;

bool m0_rpc__begins(struct m0_rpc_machine *mach, struct m0_rpc_item *item)
{
	assert_ptr_equal(mach, &machine);
	assert_true(__atomic_load_n(&delivered[item - items],
				    __ATOMIC_ACQUIRE) == 0);
	return true;
}

void m0_rpc__handed_back(struct m0_rpc_machine *mach, struct m0_rpc_item *item)
{
	assert_ptr_equal(mach, &machine);
	/* After its handler, not before. */
	assert_true(__atomic_load_n(&delivered[item - items],
				    __ATOMIC_ACQUIRE) == 1);
	__atomic_add_fetch(&back_nr, 1, __ATOMIC_ACQ_REL);
	m0_semaphore_up(&back);
}

static void count(struct m0_rpc_machine *mach, struct m0_rpc_item *item)
{
	(void)mach;
	__atomic_add_fetch(&delivered[item - items], 1, __ATOMIC_ACQ_REL);
}

/* The first waits for the second: a lone thread would never end. */
static void meet(struct m0_rpc_machine *mach, struct m0_rpc_item *item)
{
	if (item == &items[0])
		m0_semaphore_down(&met);
	else
		m0_semaphore_up(&met);
	count(mach, item);
}

static const struct m0_rpc_item_type_ops count_ops = { .rito_deliver = count };
static const struct m0_rpc_item_type_ops meet_ops = { .rito_deliver = meet };
static const struct m0_rpc_item_type     count_type = { .rit_ops = &count_ops };
static const struct m0_rpc_item_type     meet_type = { .rit_ops = &meet_ops };

static int setup(void **state)
{
	(void)state;
	memset(items, 0, sizeof items);
	memset(delivered, 0, sizeof delivered);
	back_nr = 0;
	(void)m0_semaphore_init(&met, 0);
	(void)m0_semaphore_init(&back, 0);
	return 0;
}

static void hand(struct m0_rpc_pool *pool, int nr,
		 const struct m0_rpc_item_type *type)
{
	items[nr].ri_type = type;
	items[nr].ri_rmachine = &machine;
	assert_int_equal(m0_rpc__pool_hand(pool, &machine, &items[nr]), 0);
}

/* Every item is delivered once, and comes back once, with any number of
 * threads. */
static void items_many_delivered_once(void **state)
{
	static const uint32_t threads[] = { 1, 3, 16 };
	struct m0_rpc_pool   *pool;
	size_t                run;
	int                   i;

	for (run = 0; run < ARRAY_SIZE(threads); ++run) {
		(void)setup(state);
		assert_int_equal(
			m0_rpc_pool_create(&pool, threads[run], "pool"), 0);
		for (i = 0; i < ITEMS_NR; ++i)
			hand(pool, i, &count_type);
		for (i = 0; i < ITEMS_NR; ++i)
			m0_semaphore_down(&back);
		m0_rpc_pool_destroy(pool);
		for (i = 0; i < ITEMS_NR; ++i)
			assert_int_equal(delivered[i], 1);
		assert_int_equal(back_nr, ITEMS_NR);
	}
}

/* A handler that waits leaves the other threads to other items. */
static void handler_blocked_others_go_on(void **state)
{
	struct m0_rpc_pool *pool;

	(void)state;
	assert_int_equal(m0_rpc_pool_create(&pool, 2, "pool"), 0);
	hand(pool, 0, &meet_type);
	hand(pool, 1, &meet_type);
	m0_semaphore_down(&back);
	m0_semaphore_down(&back);
	m0_rpc_pool_destroy(pool);
}

/* Destroying waits for who is inside a handler. */
static void destroy_running_waits(void **state)
{
	struct m0_rpc_pool *pool;
	int                 i;

	(void)state;
	for (i = 0; i < 50; ++i) {
		(void)setup(state);
		assert_int_equal(m0_rpc_pool_create(&pool, 4, "pool"), 0);
		hand(pool, 0, &count_type);
		hand(pool, 1, &count_type);
		m0_semaphore_down(&back);
		m0_semaphore_down(&back);
		m0_rpc_pool_destroy(pool);
		assert_int_equal(back_nr, 2);
	}
}

static bool all_back(void *arg)
{
	(void)arg;
	return back_nr == ITEMS_NR;
}

/* In a simulation workers are strands: the same items, no thread. */
static void simulation_items_delivered_once(void **state)
{
	struct m0_rpc_pool *pool;
	struct env          env;
	int                 i;

	(void)state;
	env_init(&env, ENV_SIM, 7);
	assert_int_equal(m0_rpc_pool_create(&pool, 5, "pool"), 0);
	for (i = 0; i < ITEMS_NR; ++i)
		hand(pool, i, &count_type);
	assert_true(env_wait(&env, all_back, NULL, M0_TIME_ONE_SECOND));
	m0_rpc_pool_destroy(pool);
	env_fini(&env);
	for (i = 0; i < ITEMS_NR; ++i)
		assert_int_equal(delivered[i], 1);
}

static int create_run(void *arg)
{
	struct m0_rpc_pool *pool;
	int                 rc = m0_rpc_pool_create(&pool, 2, "pool");

	(void)arg;
	if (rc == 0)
		m0_rpc_pool_destroy(pool);
	return rc;
}

/* Numbers out of bounds and a heap run dry are errors that leave nothing. */
static void create_wrong_refused(void **state)
{
	struct m0_rpc_pool *pool;

	(void)state;
	assert_int_equal(m0_rpc_pool_create(&pool, 0, "pool"), -EINVAL);
	assert_int_equal(m0_rpc_pool_create(&pool, 257, "pool"), -EINVAL);
	assert_true(m0_heap_fail_each(create_run, NULL) >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(items_many_delivered_once, setup),
		cmocka_unit_test_setup(handler_blocked_others_go_on, setup),
		cmocka_unit_test_setup(destroy_running_waits, setup),
		cmocka_unit_test_setup(simulation_items_delivered_once, setup),
		cmocka_unit_test_setup(create_wrong_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
