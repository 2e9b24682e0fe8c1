/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include "os/os.h"
#include "os/pass.h"

static m0_time_t clock_now = 1000;
static m0_time_t slept_until;

static m0_time_t fake_now(void)
{
	return clock_now;
}

static void fake_sleep(m0_time_t deadline)
{
	slept_until = deadline;
	clock_now = max64u(clock_now, deadline);
}

static struct m0_os_ops fake_ops;

static int setup(void **state)
{
	(void)state;
	fake_ops = m0_os_real;
	fake_ops.oo_now = fake_now;
	fake_ops.oo_sleep = fake_sleep;
	clock_now = 1000;
	m0_os_set(&fake_ops);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	m0_os_set(NULL);
	return 0;
}

/* Sums and differences stay at the ends instead of going round. */
static void time_arithmetic_saturates(void **state)
{
	(void)state;
	assert_true(m0_time_add(1, 2) == 3);
	assert_true(m0_time_add(M0_TIME_NEVER, 5) == M0_TIME_NEVER);
	assert_true(m0_time_add(5, M0_TIME_NEVER) == M0_TIME_NEVER);
	assert_true(m0_time_add(M0_TIME_NEVER - 1, 5) == M0_TIME_NEVER);
	assert_true(m0_time_sub(5, 3) == 2);
	assert_true(m0_time_sub(3, 5) == 0);
	assert_true(m0_time_sub(M0_TIME_NEVER, 5) == M0_TIME_NEVER);
}

/* Making a length and taking it apart. */
static void time_parts_round_trip(void **state)
{
	m0_time_t time = m0_time(3, 250);

	(void)state;
	assert_true(time == M0_MKTIME(3, 250));
	assert_int_equal(m0_time_seconds(time), 3);
	assert_int_equal(m0_time_nanoseconds(time), 250);
	assert_true(m0_time(1, 1500000000) == m0_time(2, 500000000));
	assert_true(m0_time(2, -1) == 1999999999);
	assert_true(m0_time(UINT64_MAX, 0) == M0_TIME_NEVER);
}

/* Points relative to now. */
static void time_now_follows_table(void **state)
{
	(void)state;
	assert_true(m0_time_now() == 1000);
	assert_true(m0_time_from_now(1, 5) == 1000001005);
	assert_true(m0_time_from_now(UINT64_MAX, 0) == M0_TIME_NEVER);
	assert_true(m0_time_is_in_past(999));
	assert_true(m0_time_is_in_past(M0_TIME_IMMEDIATELY));
	assert_false(m0_time_is_in_past(1000));
	assert_false(m0_time_is_in_past(M0_TIME_NEVER));
}

/* A sleep is a length for the caller and a point for the table. */
static void nanosleep_asks_table_for_point(void **state)
{
	m0_time_t rem = 7;

	(void)state;
	assert_int_equal(m0_nanosleep(500, &rem), 0);
	assert_true(rem == 0 && slept_until == 1500 && clock_now == 1500);
	m0_time_sleep(1600);
	assert_true(slept_until == 1600);
	assert_int_equal(m0_nanosleep(1, NULL), 0);
}

/* m0_nanosleep() accepts a caller that holds a mutex of its own. */
static void nanosleep_under_lock_sleeps(void **state)
{
	struct m0_mutex mutex = M0_MUTEX_SINIT(&mutex);

	(void)state;
	m0_mutex_lock(&mutex);
	assert_int_equal(m0_nanosleep(1, NULL), 0);
	m0_mutex_unlock(&mutex);
}

/* Inside a pass time stands still; outside it does not. */
static void cached_time_is_that_of_pass(void **state)
{
	(void)state;
	assert_true(m0_time_cached() == 1000);
	assert_false(m0_time_pass_is_on());
	m0_time_pass_begin(1000);
	clock_now = 2000;
	assert_true(m0_time_cached() == 1000);
	m0_time_pass_begin(2000);
	clock_now = 3000;
	assert_true(m0_time_cached() == 2000);
	m0_time_pass_end();
	assert_true(m0_time_cached() == 1000);
	assert_true(m0_time_now() == 3000);
	m0_time_pass_end();
	assert_true(m0_time_cached() == 3000);
	assert_panics(m0_time_pass_end());
}

/* Deeper than the record: the last recorded clock, and back out rightly. */
static void cached_time_survives_deep_nesting(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2 * M0_PASS_DEPTH_MAX; ++i)
		m0_time_pass_begin((m0_time_t)i);
	assert_true(m0_time_cached() == M0_PASS_DEPTH_MAX - 1);
	while (--i >= 3)
		m0_time_pass_end();
	assert_true(m0_time_cached() == 2);
	while (i-- >= 0)
		m0_time_pass_end();
	assert_false(m0_time_pass_is_on());
}

/* The real clock: goes on, and sleeps never end early. */
static void real_clock_moves_and_sleeps_enough(void **state)
{
	m0_time_t before = m0_time_now();
	m0_time_t deadline = m0_time_add(before, 2 * M0_TIME_ONE_MSEC);

	(void)state;
	m0_time_sleep(deadline);
	assert_true(m0_time_now() >= deadline);
	m0_time_sleep(before);
	/* After 2020. */
	assert_true(m0_os_wall_ns() > 1577836800 * M0_TIME_ONE_SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_arithmetic_saturates),
		cmocka_unit_test(time_parts_round_trip),
		cmocka_unit_test_setup_teardown(time_now_follows_table, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nanosleep_asks_table_for_point,
						setup, teardown),
		cmocka_unit_test_setup_teardown(nanosleep_under_lock_sleeps,
						setup, teardown),
		cmocka_unit_test_setup_teardown(cached_time_is_that_of_pass,
						setup, teardown),
		cmocka_unit_test(cached_time_survives_deep_nesting),
		cmocka_unit_test(real_clock_moves_and_sleeps_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
