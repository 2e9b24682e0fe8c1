/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../../tools/perf/perf_path.h"

/* The path by the bytes that arrived while 100 operations took place. */
static enum perf_path path(uint64_t size, uint64_t direct, uint64_t copied)
{
	struct perf_arrived from = { .pra_direct = 7777, .pra_copied = 5 };
	struct perf_arrived to = { .pra_direct = 7777 + direct,
				   .pra_copied = 5 + copied };

	return perf_path_of(size, 100, &from, &to);
}

/* Payloads were copied from messages, and are no larger than these. */
static void payload_in_message_is_immediate(void **state)
{
	(void)state;
	assert_int_equal(path(64, 0, 6400), PERF_PATH_IMMEDIATE);
	assert_int_equal(path(PERF_PATH_IMMEDIATE_MAX, 0, 400000),
			 PERF_PATH_IMMEDIATE);
}

/* Descriptors beside the payload do not count. */
static void payload_of_a_device_is_a_write(void **state)
{
	(void)state;
	assert_int_equal(path(65536, 6553600, 3000), PERF_PATH_WRITE);
	assert_int_equal(path(65536, 6553600 - 8 * 65536, 3000),
			 PERF_PATH_WRITE);
	assert_int_equal(path(64, 6400, 300), PERF_PATH_WRITE);
}

/* A write that went to the driver's memory first is named. */
static void payload_copied_after_a_write_is_named(void **state)
{
	(void)state;
	assert_int_equal(path(65536, 0, 6553600), PERF_PATH_COPIED);
	assert_int_equal(path(65536, 65536, 6488064), PERF_PATH_COPIED);
}

/* The payload arrived at the other process: its size decides. */
static void payload_elsewhere_goes_by_its_size(void **state)
{
	(void)state;
	assert_int_equal(path(PERF_PATH_IMMEDIATE_MAX + 1, 0, 3000),
			 PERF_PATH_WRITE);
	assert_int_equal(path(PERF_PATH_IMMEDIATE_MAX, 0, 3000),
			 PERF_PATH_IMMEDIATE);
}

/* Rows over loopback and other nets have no path. */
static void path_is_that_of_net_o2ib(void **state)
{
	struct perf_setup setup = { .pu_addrs = { NULL } };

	(void)state;
	assert_false(perf_path_has(&setup));
	setup.pu_addrs[PERF_A] = "10.0.0.1@tcp:12345:40:*";
	assert_false(perf_path_has(&setup));
	setup.pu_addrs[PERF_A] = "10.0.0.1@o2ib2:12345:40:*";
	assert_true(perf_path_has(&setup));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payload_in_message_is_immediate),
		cmocka_unit_test(payload_of_a_device_is_a_write),
		cmocka_unit_test(payload_copied_after_a_write_is_named),
		cmocka_unit_test(payload_elsewhere_goes_by_its_size),
		cmocka_unit_test(path_is_that_of_net_o2ib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
