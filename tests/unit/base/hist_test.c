/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include <stdlib.h>

#include "m0/hist.h"
#include "base/rand.h"

static struct m0_hist hist;
static struct m0_hist other;

static int setup(void **state)
{
	(void)state;
	m0_hist_init(&hist);
	m0_hist_init(&other);
	return 0;
}

/* Nothing recorded: every question has the answer 0. */
static void hist_empty_is_all_zero(void **state)
{
	(void)state;
	assert_int_equal(m0_hist_nr(&hist), 0);
	assert_int_equal(m0_hist_min(&hist), 0);
	assert_int_equal(m0_hist_max(&hist), 0);
	assert_int_equal(m0_hist_mean(&hist), 0);
	assert_int_equal(m0_hist_percentile(&hist, 5000), 0);
}

/* Small values are exact. */
static void hist_small_values_are_exact(void **state)
{
	uint64_t value;

	(void)state;
	for (value = 0; value < 50; ++value)
		m0_hist_record(&hist, value);
	assert_int_equal(m0_hist_percentile(&hist, 10000), 49);
	assert_int_equal(m0_hist_percentile(&hist, 5000), 24);
	assert_int_equal(m0_hist_percentile(&hist, 0), 0);
	assert_int_equal(m0_hist_mean(&hist), 24);
}

/* One value of any size is told within 1/32, and min and max exactly. */
static void hist_error_is_bounded(void **state)
{
	struct m0_rand rand;
	int            i;

	(void)state;
	m0_rand_init(&rand, 3);
	for (i = 0; i < 20000; ++i) {
		uint64_t value = m0_rand_next(&rand) >>
				 m0_rand_in(&rand, 20, 63);
		uint64_t told;

		/* A greater one keeps the answer from being clipped. */
		m0_hist_init(&hist);
		m0_hist_record(&hist, value);
		m0_hist_record(&hist, 1ULL << 44);
		told = m0_hist_percentile(&hist, 5000);
		assert_true(told >= value);
		assert_true(told - value <= value / 32);
		assert_true(m0_hist_min(&hist) == value);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Percentiles of many values against the sorted values. */
static void hist_percentiles_agree_with_sorted(void **state)
{
	enum {
		NR = 12345
	};
	static uint64_t       values[NR];
	static const unsigned want[] = { 1, 100, 5000, 9000, 9990, 10000 };
	struct m0_rand        rand;
	size_t                i;

	(void)state;
	m0_rand_init(&rand, 11);
	for (i = 0; i < NR; ++i) {
		values[i] = m0_rand_below(&rand, 1 << 20);
		m0_hist_record(&hist, values[i]);
	}
	qsort(values, NR, sizeof values[0], compare);
	for (i = 0; i < ARRAY_SIZE(want); ++i) {
		size_t   rank = (NR * (size_t)want[i] + 9999) / 10000;
		uint64_t exact = values[rank - 1];
		uint64_t told = m0_hist_percentile(&hist, want[i]);

		assert_true(told >= exact && told - exact <= exact / 32);
	}
}

/* A merge is what recording all into one would have been. */
static void hist_merge_adds(void **state)
{
	struct m0_hist *all = malloc(sizeof *all);
	struct m0_rand  rand;
	int             i;

	(void)state;
	assert_non_null(all);
	m0_hist_init(all);
	m0_rand_init(&rand, 5);
	for (i = 0; i < 1000; ++i) {
		uint64_t value = m0_rand_below(&rand, 1 << 30);

		m0_hist_record(i % 2 ? &hist : &other, value);
		m0_hist_record(all, value);
	}
	m0_hist_merge(&hist, &other);
	assert_memory_equal(&hist, all, sizeof hist);
	free(all);
}

/* A merge keeps the least and the greatest value of both sides. */
static void hist_merge_keeps_extremes(void **state)
{
	(void)state;
	m0_hist_record(&hist, 700);
	m0_hist_record(&other, 3);
	m0_hist_record(&other, 90000);
	m0_hist_merge(&hist, &other);
	assert_int_equal(m0_hist_min(&hist), 3);
	assert_int_equal(m0_hist_max(&hist), 90000);
	m0_hist_merge(&other, &hist);
	assert_int_equal(m0_hist_min(&other), 3);
	assert_int_equal(m0_hist_max(&other), 90000);
}

/* No percentile is beyond what was recorded. */
static void hist_percentile_is_within_extremes(void **state)
{
	(void)state;
	m0_hist_record(&hist, 1000001);
	assert_int_equal(m0_hist_percentile(&hist, 0), 1000001);
	assert_int_equal(m0_hist_percentile(&hist, 5000), 1000001);
	assert_int_equal(m0_hist_percentile(&hist, 10000), 1000001);
}

/* Values beyond the range count in the last bucket; the maximum is exact. */
static void hist_huge_values_saturate(void **state)
{
	(void)state;
	m0_hist_record(&hist, 5);
	m0_hist_record(&hist, UINT64_MAX / 2);
	m0_hist_record(&hist, 1ULL << 44);
	assert_int_equal(m0_hist_nr(&hist), 3);
	assert_true(m0_hist_percentile(&hist, 10000) == UINT64_MAX / 2);
	assert_int_equal(m0_hist_percentile(&hist, 3333), 5);
	assert_panics(m0_hist_percentile(&hist, 10001));
}

/* A rank counts what is below, exactly at the ends of buckets. */
static void hist_rank_counts_what_is_below(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(m0_hist_rank(&hist, UINT64_MAX), 0);
	for (value = 0; value < 1000; ++value)
		m0_hist_record(&hist, value);
	assert_int_equal(m0_hist_rank(&hist, 0), 1);
	assert_int_equal(m0_hist_rank(&hist, 63), 64);
	assert_int_equal(m0_hist_rank(&hist, 255), 256);
	assert_in_range(m0_hist_rank(&hist, 500), 501, 501 + 501 / 32);
	assert_int_equal(m0_hist_rank(&hist, UINT64_MAX), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(hist_empty_is_all_zero, setup),
		cmocka_unit_test_setup(hist_small_values_are_exact, setup),
		cmocka_unit_test_setup(hist_error_is_bounded, setup),
		cmocka_unit_test_setup(hist_percentiles_agree_with_sorted,
				       setup),
		cmocka_unit_test_setup(hist_merge_adds, setup),
		cmocka_unit_test_setup(hist_merge_keeps_extremes, setup),
		cmocka_unit_test_setup(hist_percentile_is_within_extremes,
				       setup),
		cmocka_unit_test_setup(hist_huge_values_saturate, setup),
		cmocka_unit_test_setup(hist_rank_counts_what_is_below, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
