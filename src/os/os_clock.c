/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <time.h>

#include "os/os_internal.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return M0_MKTIME(ts.tv_sec, ts.tv_nsec);
}

m0_time_t m0_os__now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t m0_os__wall(void)
{
	return clock_ns(CLOCK_REALTIME);
}
