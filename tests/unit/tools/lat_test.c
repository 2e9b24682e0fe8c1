/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/base.h"

#include "../../../tools/lat.h"

/* A percentile is never below the true one, and above by at most 1/32. */
static void percentile_is_close_from_above(void **state)
{
	static const uint64_t values[] = { 0,    1,     63,        64,
					   65,   127,   128,       1000,
					   4095, 65536, 123456789, 1ULL << 40 };
	struct lat            lat;
	size_t                i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(values); ++i) {
		uint64_t got;

		lat_clear(&lat);
		lat_add(&lat, values[i]);
		lat_add(&lat, UINT64_MAX);
		got = lat_percentile(&lat, 5000);
		assert_true(got >= values[i]);
		assert_true(got - values[i] <= values[i] / 32);
	}
}

/* Ranks are counted right: of 1 .. 1000 the n-th permille is n. */
static void percentile_counts_ranks(void **state)
{
	struct lat lat;
	uint64_t   i;

	(void)state;
	lat_clear(&lat);
	for (i = 1000; i > 0; --i)
		lat_add(&lat, i);
	assert_int_equal(lat_percentile(&lat, 100), 10);
	assert_int_equal(lat_percentile(&lat, 500), 50);
	assert_in_range(lat_percentile(&lat, 5000), 500, 516);
	assert_in_range(lat_percentile(&lat, 9990), 999, 1000);
	assert_int_equal(lat_percentile(&lat, 10000), 1000);
	assert_int_equal(lat_mean(&lat), 500);
}

/* Nothing recorded gives 0 everywhere, not a division. */
static void percentile_of_nothing_is_zero(void **state)
{
	struct lat lat;

	(void)state;
	lat_clear(&lat);
	assert_int_equal(lat_percentile(&lat, 9900), 0);
	assert_int_equal(lat_mean(&lat), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentile_is_close_from_above),
		cmocka_unit_test(percentile_counts_ranks),
		cmocka_unit_test(percentile_of_nothing_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
