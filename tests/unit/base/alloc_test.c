/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include <stdlib.h>

static int  alloc_nr;
static int  free_nr;
static bool failing;

static void *counting_alloc(size_t size, unsigned shift)
{
	void *data = NULL;

	if (failing || posix_memalign(&data, (size_t)1 << shift, size) != 0)
		return NULL;
	++alloc_nr;
	return memset(data, 0, size);
}

static void counting_free(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	++free_nr;
	free(data);
}

static const struct m0_alloc_ops counting = {
	.ao_alloc = counting_alloc,
	.ao_free = counting_free,
};

/* Memory comes zeroed, as the callers of M0_ALLOC_PTR rely on. */
static void alloc_gives_zeroes(void **state)
{
	unsigned char *data;
	size_t         i;
	int            round;

	(void)state;
	for (round = 0; round < 10; ++round) {
		data = m0_alloc(1000);
		assert_non_null(data);
		for (i = 0; i < 1000; ++i)
			assert_int_equal(data[i], 0);
		memset(data, 0xff, 1000);
		m0_free(data);
	}
}

/* Any power of two up to 2 MiB is honoured. */
static void alloc_aligned_honours_shift(void **state)
{
	unsigned shift;

	(void)state;
	for (shift = 0; shift <= 21; ++shift) {
		char *data = m0_alloc_aligned(100, shift);

		assert_non_null(data);
		assert_true(m0_is_aligned((uintptr_t)data, 1ULL << shift));
		assert_int_equal(data[0] | data[99], 0);
		m0_free_aligned(data, 100, shift);
	}
}

/* Large memory comes zeroed, too, also where other memory was before. */
static void large_memory_is_zeroed(void **state)
{
	enum {
		BYTES = 300 << 10
	};
	unsigned i;

	(void)state;
	for (i = 0; i < 3; ++i) {
		char *data = m0_alloc_aligned(BYTES, 6);

		assert_non_null(data);
		assert_true(m0_is_aligned((uintptr_t)data, 64));
		assert_int_equal(data[0] | data[BYTES / 2] | data[BYTES - 1],
				 0);
		memset(data, 1, BYTES);
		m0_free_aligned(data, BYTES, 6);
	}
}

/* A size that wraps must not become a small allocation. */
static void alloc_arr_overflow_is_refused(void **state)
{
	volatile size_t huge = SIZE_MAX / 2;

	(void)state;
	assert_null(m0_alloc_arr(huge, 4));
}

/* Size 0 is an object; NULL is freed for nothing; free0 forgets. */
static void alloc_edges_are_harmless(void **state)
{
	int *ptr;

	(void)state;
	m0_free(NULL);
	m0_free_aligned(NULL, 1, 1);
	ptr = m0_alloc(0);
	assert_non_null(ptr);
	m0_free(ptr);
	M0_ALLOC_PTR(ptr);
	assert_non_null(ptr);
	m0_free0(&ptr);
	assert_null(ptr);
}

/* Tests count and fail allocations through the hook. */
static void alloc_hook_replaces_source(void **state)
{
	const struct m0_alloc_ops *before = m0_alloc_hook_set(&counting);
	int                       *arr;

	(void)state;
	assert_null(before);
	M0_ALLOC_ARR(arr, 7);
	assert_non_null(arr);
	m0_free(arr);
	assert_int_equal(alloc_nr, 1);
	assert_int_equal(free_nr, 1);
	failing = true;
	M0_ALLOC_PTR(arr);
	assert_null(arr);
	failing = false;
	assert_ptr_equal(m0_alloc_hook_set(before), &counting);
	M0_ALLOC_PTR(arr);
	m0_free(arr);
	assert_int_equal(alloc_nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alloc_gives_zeroes),
		cmocka_unit_test(alloc_aligned_honours_shift),
		cmocka_unit_test(large_memory_is_zeroed),
		cmocka_unit_test(alloc_arr_overflow_is_refused),
		cmocka_unit_test(alloc_edges_are_harmless),
		cmocka_unit_test(alloc_hook_replaces_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
