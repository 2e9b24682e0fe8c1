/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The raw monotonic clock, which the kernel offers to any module. It is not adjusted,
 * and so drifts from CLOCK_MONOTONIC of user space, with which it is never compared.
 */
#include <linux/ktime.h>

#include "os/os_internal.h"

m0_time_t m0_os__now(void)
{
	struct timespec64 ts;

	ktime_get_raw_ts64(&ts);
	return M0_MKTIME((uint64_t)ts.tv_sec, (uint64_t)ts.tv_nsec);
}

uint64_t m0_os__wall(void)
{
	struct timespec64 ts;

	ktime_get_real_ts64(&ts);
	return M0_MKTIME((uint64_t)ts.tv_sec, (uint64_t)ts.tv_nsec);
}
