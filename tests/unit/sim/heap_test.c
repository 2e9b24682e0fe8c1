/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The counting heap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sim/sched/heap.h"

/* Every allocation and free counts, whatever call it came by. */
static void heap_counts_calls(void **state)
{
	struct m0_heap heap;
	void          *a;
	void          *b;

	(void)state;
	m0_heap_init(&heap);
	assert_int_equal(m0_heap_allocs_nr(&heap), 0);
	a = m0_alloc(10);
	b = m0_alloc_aligned(100, 12);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(m0_heap_allocs_nr(&heap), 2);
	assert_int_equal(m0_heap_live_nr(&heap), 2);
	m0_free_aligned(b, 100, 12);
	m0_free(a);
	m0_free(NULL);
	assert_int_equal(m0_heap_live_nr(&heap), 0);
	assert_int_equal(m0_heap_allocs_nr(&heap), 2);
	m0_heap_fini(&heap);
	m0_free(m0_alloc(1));
	assert_int_equal(m0_heap_allocs_nr(&heap), 2);
}

/* The nth allocation fails, and no other. */
static void heap_fails_nth_once(void **state)
{
	struct m0_heap heap;
	void          *data;
	int            i;

	(void)state;
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 3);
	for (i = 1; i <= 10; ++i) {
		data = m0_alloc(1);
		assert_int_equal(data == NULL, i == 3);
		m0_free(data);
	}
	assert_int_equal(m0_heap_failed_nr(&heap), 1);
	assert_int_equal(m0_heap_live_nr(&heap), 0);
	m0_heap_fini(&heap);
}

/* Stacked heaps each see what happens in their time. */
static void heap_stacked_counts_both(void **state)
{
	struct m0_heap outer;
	struct m0_heap inner;

	(void)state;
	m0_heap_init(&outer);
	m0_free(m0_alloc(1));
	m0_heap_init(&inner);
	m0_free(m0_alloc(1));
	m0_heap_fini(&inner);
	m0_free(m0_alloc(1));
	m0_heap_fini(&outer);
	assert_int_equal(m0_heap_allocs_nr(&outer), 3);
	assert_int_equal(m0_heap_allocs_nr(&inner), 1);
}

/* m0_heap_forget() removes the heap that a failed test has left behind. */
static void heap_forgotten_counts_no_more(void **state)
{
	struct m0_heap heap;

	(void)state;
	m0_heap_init(&heap);
	m0_heap_forget();
	m0_free(m0_alloc(1));
	assert_int_equal(m0_heap_allocs_nr(&heap), 0);
}

static char   dense[4096] __attribute__((aligned(16)));
static size_t dense_used;

/* Blocks without anything between them, as those of TSan are. */
static void *dense_alloc(size_t size, unsigned shift)
{
	size_t at = m0_align(dense_used, (size_t)1 << shift);

	assert_true(at + size <= sizeof dense);
	dense_used = at + size;
	return dense + at;
}

static void dense_free(void *data, size_t size, unsigned shift)
{
	(void)data;
	(void)size;
	(void)shift;
}

/* Blocks that touch would make the segments of a write depend on the C
 * library. */
static void heap_allocations_do_not_touch(void **state)
{
	static const struct m0_alloc_ops ops = { .ao_alloc = dense_alloc,
						 .ao_free = dense_free };
	struct m0_heap                   heap;
	char                            *part[4];

	(void)state;
	(void)m0_alloc_hook_set(&ops);
	part[0] = m0_alloc(64);
	part[1] = m0_alloc(64);
	m0_heap_init(&heap);
	part[2] = m0_alloc(64);
	part[3] = m0_alloc(64);
	m0_free(part[2]);
	m0_free(part[3]);
	m0_heap_fini(&heap);
	(void)m0_alloc_hook_set(NULL);
	assert_ptr_equal(part[1], part[0] + 64);
	assert_true(part[3] > part[2] + 64);
}

/* An allocation of all address space fails under the heap, too. */
static void heap_size_of_all_fails(void **state)
{
	struct m0_heap  heap;
	volatile size_t all = SIZE_MAX;

	(void)state;
	m0_heap_init(&heap);
	assert_null(m0_alloc(all));
	assert_int_equal(m0_heap_allocs_nr(&heap), 0);
	m0_heap_fini(&heap);
}

enum {
	PARTS_NR = 5
};

/* Allocates five, and undoes what it did if one is not to be had. */
static int careful(void *arg)
{
	void *part[PARTS_NR];
	int   nr;
	int   rc = 0;

	++*(int *)arg;
	for (nr = 0; nr < PARTS_NR; ++nr) {
		part[nr] = m0_alloc(8);
		if (part[nr] == NULL) {
			rc = -ENOMEM;
			break;
		}
	}
	while (nr-- > 0)
		m0_free(part[nr]);
	return rc;
}

static void *lost;

/* Forgets the first if the second is not to be had. */
static int careless(void *arg)
{
	void *second;

	(void)arg;
	lost = m0_alloc(8);
	second = m0_alloc(8);
	if (lost == NULL || second == NULL) {
		m0_free(second);
		return -ENOMEM;
	}
	m0_free(second);
	m0_free(lost);
	return 0;
}

static int wrong_error(void *arg)
{
	void *data = m0_alloc(8);

	(void)arg;
	m0_free(data);
	return data == NULL ? -EINVAL : 0;
}

/* Each allocation is failed once, then one run without any failure. */
static void fail_each_reaches_every_allocation(void **state)
{
	int runs_nr = 0;

	(void)state;
	assert_int_equal(m0_heap_fail_each(careful, &runs_nr), PARTS_NR);
	assert_int_equal(runs_nr, PARTS_NR + 1);
}

/* Leaks and wrong errors on the way are found. */
static void fail_each_finds_leak_and_error(void **state)
{
	(void)state;
	assert_int_equal(m0_heap_fail_each(careless, NULL), -EBADF);
	m0_free(lost);
	assert_int_equal(m0_heap_fail_each(wrong_error, NULL), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(heap_counts_calls),
		cmocka_unit_test(heap_fails_nth_once),
		cmocka_unit_test(heap_stacked_counts_both),
		cmocka_unit_test(heap_forgotten_counts_no_more),
		cmocka_unit_test(heap_allocations_do_not_touch),
		cmocka_unit_test(heap_size_of_all_fails),
		cmocka_unit_test(fail_each_reaches_every_allocation),
		cmocka_unit_test(fail_each_finds_leak_and_error),
	};

	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
