/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long connections stay: those of callers that have nothing to say, or say
 * it slowly.
 */
#include "unit/xprt/sunrpc/rig.h"

#include <unistd.h>

enum {
	/* The timers' ticks are shorter. */
	TICK = 2,
	TIMEOUT = M0_NET_BULK_SUNRPC_TIMEOUT_MS,
	IDLE = M0_NET_BULK_SUNRPC_SERVER_IDLE_MS
};

/* One that has been answered stays for the whole of that time, and no more. */
static void caller_idle_is_closed_in_the_end(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_null(fd);
	rig_run(0);
	rig_run(IDLE - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	assert_false(rig_is_closed(fd));
	rig_run(IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	assert_true(rig_is_closed(fd));
	/* It has done nothing wrong. */
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_stalled_nr, 0);
	(void)close(fd);
}

/* Whatever comes from it begins the time anew. */
static void caller_idle_that_calls_stays(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_null(fd);
	rig_run(IDLE / 2);
	rig_run(IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(IDLE / 2 + IDLE - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(IDLE / 2 + IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	(void)close(fd);
}

/* Nor does one stay that never said a word. */
static void caller_silent_is_closed_in_the_end(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_run(IDLE - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	(void)close(fd);
}

/* Half a record that does not go on: less time than an idle one has. */
static void record_that_stands_still_is_closed(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_write(fd, "\x80\0\1\0half", 8, 0);
	rig_run(0);
	rig_run(TIMEOUT - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(TIMEOUT + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_stalled_nr, 1);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_CASE(caller_idle_is_closed_in_the_end),
		RIG_CASE(caller_idle_that_calls_stays),
		RIG_CASE(caller_silent_is_closed_in_the_end),
		RIG_CASE(record_that_stands_still_is_closed)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
