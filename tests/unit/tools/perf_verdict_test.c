/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../../tools/perf/perf_verdict.h"

/* Rows have a histogram in them, and are large. */
static struct perf_row row;
static struct perf_row probe;

/* A second of `rate` operations. */
static void row_set(uint32_t depth, uint64_t rate, double a, double b)
{
	row.prw_test = PERF_PUT;
	row.prw_size = 4096;
	row.prw_depth = depth;
	row.prw_ops = rate;
	row.prw_ns = M0_TIME_ONE_SECOND;
	row.prw_busy[PERF_A] = a;
	row.prw_busy[PERF_B] = b;
	probe.prw_ops = 1000;
	probe.prw_ns = M0_TIME_ONE_SECOND;
	probe.prw_depth = 1;
}

static struct perf_verdict verdict(bool spins)
{
	struct perf_verdict ret;

	perf_verdict_make(&row, row.prw_depth > 1 ? &probe : NULL, spins, &ret);
	assert_in_range(ret.pv_bound, 0, PERF_BOUNDS_NR - 1);
	assert_non_null(perf_bound_names[ret.pv_bound]);
	assert_true(ret.pv_why[0] != '\0');
	return ret;
}

/* A side at 0.85 of a processor bounds the row, whatever the rest says. */
static void row_with_a_busy_side_is_bound_by_cpu(void **state)
{
	(void)state;
	row_set(8, 8000, 0.85, 0);
	assert_int_equal(verdict(false).pv_bound, PERF_BOUND_CPU);
	assert_non_null(strstr(verdict(false).pv_why, "client's process"));
	row_set(8, 1000, 0.1, 1.2);
	assert_int_equal(verdict(false).pv_bound, PERF_BOUND_CPU);
	assert_non_null(strstr(verdict(false).pv_why, "server's process"));
	row_set(8, 1000, 0.9, 0.9);
	assert_non_null(strstr(verdict(false).pv_why, "both sides"));
	row_set(1, 1000, 0.9, 0.9);
	assert_int_equal(verdict(false).pv_bound, PERF_BOUND_CPU);
}

/* Eight give 5.4 times the rate of one: each takes 1.48 times as long. */
static void row_that_more_depth_would_speed_is_bound_by_window(void **state)
{
	(void)state;
	row_set(8, 5400, 0.84, 0.84);
	assert_int_equal(verdict(false).pv_bound, PERF_BOUND_WINDOW);
	assert_non_null(strstr(verdict(false).pv_why, "raise --depth"));
	/* Spinning does not matter: the rate rose with the depth. */
	assert_int_equal(verdict(true).pv_bound, PERF_BOUND_WINDOW);
	row_set(1, 1000, 0.1, 0.1);
	assert_int_equal(verdict(false).pv_bound, PERF_BOUND_WINDOW);
	assert_non_null(strstr(verdict(false).pv_why, "raise --depth"));
}

/* A round trip is one at a time by nature; no depth can be raised. */
static void row_of_latency_does_not_ask_for_depth(void **state)
{
	(void)state;
	row_set(1, 1000, 0.1, 0.1);
	row.prw_test = PERF_LATENCY;
	assert_int_equal(verdict(false).pv_bound, PERF_BOUND_WINDOW);
	assert_null(strstr(verdict(false).pv_why, "raise"));
}

/* Eight give 5.3 times the rate of one, and nobody is busy. */
static void row_that_is_neither_is_bound_by_wire(void **state)
{
	struct perf_verdict got;

	(void)state;
	row_set(8, 5300, 0.84, 0.2);
	got = verdict(false);
	assert_int_equal(got.pv_bound, PERF_BOUND_WIRE);
	assert_true(got.pv_probe_rate > 999 && got.pv_probe_rate < 1001);
	assert_true(got.pv_gain > 5.29 && got.pv_gain < 5.31);
	assert_non_null(strstr(got.pv_why, "more in flight will help little"));
	/* If several in flight are slower than one, the verdict advises
	 * fewer. */
	row_set(8, 400, 0.1, 0.2);
	got = verdict(false);
	assert_int_equal(got.pv_bound, PERF_BOUND_WIRE);
	assert_non_null(strstr(got.pv_why, "fewer in flight move more"));
}

/* A thread that spins looks busy: wire and processor cannot be told apart. */
static void row_of_threads_that_spin_is_not_judged_by_cpu(void **state)
{
	(void)state;
	row_set(8, 2000, 1.0, 1.0);
	assert_int_equal(verdict(true).pv_bound, PERF_BOUND_UNKNOWN);
	assert_non_null(strstr(verdict(true).pv_why, "--spin 0"));
}

/* Threads that waited for a processor come before all: the host was busy. */
static void row_of_threads_that_waited_is_of_a_busy_host(void **state)
{
	int side;

	(void)state;
	for (side = PERF_A; side <= PERF_B; ++side) {
		row_set(8, 8000, 0.9, 0.9);
		row.prw_waited[side] = 0.1;
		assert_true(perf_host_is_busy(&row));
		assert_int_equal(verdict(false).pv_bound, PERF_BOUND_HOST);
		assert_int_equal(verdict(true).pv_bound, PERF_BOUND_HOST);
		assert_non_null(strstr(verdict(false).pv_why, "host busy"));
		row.prw_waited[side] = 0.09;
		assert_false(perf_host_is_busy(&row));
		assert_int_equal(verdict(false).pv_bound, PERF_BOUND_CPU);
		row.prw_waited[side] = 0;
	}
}

/* A probe that measured nothing is no divisor. */
static void row_with_an_empty_probe_is_judged(void **state)
{
	(void)state;
	row_set(8, 2000, 0.1, 0.1);
	probe.prw_ops = 0;
	probe.prw_ns = 0;
	assert_int_equal(verdict(false).pv_bound, PERF_BOUND_WIRE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_with_a_busy_side_is_bound_by_cpu),
		cmocka_unit_test(
			row_that_more_depth_would_speed_is_bound_by_window),
		cmocka_unit_test(row_of_latency_does_not_ask_for_depth),
		cmocka_unit_test(row_that_is_neither_is_bound_by_wire),
		cmocka_unit_test(row_of_threads_that_spin_is_not_judged_by_cpu),
		cmocka_unit_test(row_of_threads_that_waited_is_of_a_busy_host),
		cmocka_unit_test(row_with_an_empty_probe_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
