/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests outside of streams that are being executed. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rpc/core/dups.h"
#include "sim/sched/heap.h"

enum {
	MANY = 100
};

/* A duplicate is known while the first is executed, and only then; the same
 * number of another session is another request. */
static void duplicate_is_known_while_first_runs(void **state)
{
	struct m0_rpc_dups dups;
	struct m0_rpc_dup  first;
	struct m0_rpc_dup  other;
	struct m0_rpc_dup  again;

	(void)state;
	assert_int_equal(m0_rpc_dups_init(&dups, 4), 0);
	assert_int_equal(m0_rpc_dups_add(&dups, &first, 1, 7), 0);
	assert_int_equal(m0_rpc_dups_add(&dups, &again, 1, 7), -EEXIST);
	assert_int_equal(m0_rpc_dups_add(&dups, &other, 2, 7), 0);
	assert_ptr_equal(m0_rpc_dups_find(&dups, 1, 7), &first);
	assert_ptr_equal(m0_rpc_dups_find(&dups, 2, 7), &other);
	assert_null(m0_rpc_dups_find(&dups, 2, 8));
	m0_rpc_dups_del(&dups, &first);
	assert_null(m0_rpc_dups_find(&dups, 1, 7));
	assert_int_equal(m0_rpc_dups_add(&dups, &again, 1, 7), 0);
	m0_rpc_dups_del(&dups, &again);
	m0_rpc_dups_del(&dups, &other);
	m0_rpc_dups_fini(&dups);
}

/* Many in few buckets: each is found; one more than the bound is not taken,
 * a duplicate still told from it. */
static void requests_up_to_the_bound_are_found(void **state)
{
	struct m0_rpc_dups dups;
	struct m0_rpc_dup  dup[MANY];
	struct m0_rpc_dup  more;
	uint64_t           i;

	(void)state;
	assert_int_equal(m0_rpc_dups_init(&dups, MANY), 0);
	for (i = 0; i < MANY; ++i)
		assert_int_equal(m0_rpc_dups_add(&dups, &dup[i], i % 3, i * 64),
				 0);
	assert_int_equal(m0_rpc_dups_add(&dups, &more, 9, 1), -EBUSY);
	assert_int_equal(m0_rpc_dups_add(&dups, &more, 0, 0), -EEXIST);
	for (i = 0; i < MANY; i += 2)
		m0_rpc_dups_del(&dups, &dup[i]);
	for (i = 0; i < MANY; ++i)
		assert_ptr_equal(m0_rpc_dups_find(&dups, i % 3, i * 64),
				 i % 2 == 0 ? NULL : &dup[i]);
	for (i = 1; i < MANY; i += 2)
		m0_rpc_dups_del(&dups, &dup[i]);
	m0_rpc_dups_fini(&dups);
}

static int dups_live(void *arg)
{
	struct m0_rpc_dups dups;
	int                rc = m0_rpc_dups_init(&dups, 16);

	(void)arg;
	if (rc == 0)
		m0_rpc_dups_fini(&dups);
	return rc;
}

/* Without memory there is no table, and nothing is left. */
static void init_without_memory_fails_cleanly(void **state)
{
	(void)state;
	assert_int_equal(m0_heap_fail_each(dups_live, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(duplicate_is_known_while_first_runs),
		cmocka_unit_test(requests_up_to_the_bound_are_found),
		cmocka_unit_test(init_without_memory_fails_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
