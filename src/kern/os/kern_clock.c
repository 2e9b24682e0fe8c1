/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The raw monotonic clock, which the kernel offers to any module. It is not adjusted,
 * and so drifts from CLOCK_MONOTONIC of user space, with which it is never compared.
 *
 * Sleeps end by timers of high resolution: a tick of the kernel is 4 ms.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "kern/os/kern_sleep.h"
#include "os/os_internal.h"

/** Timers this near to each other end by one interrupt. */
#define SLACK_NS (50 * M0_TIME_ONE_USEC)
/** A sleep that is cut here returns without reason, as it may. */
#define SLEEP_MAX_NS (3600 * M0_TIME_ONE_SECOND)

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

void kern_sleep_until(m0_time_t deadline)
{
	m0_time_t now;
	ktime_t   left;

	if (deadline == M0_TIME_NEVER) {
		schedule();
		return;
	}
	now = m0_os__now();
	if (deadline <= now) {
		__set_current_state(TASK_RUNNING);
		return;
	}
	left = ns_to_ktime(min64u(deadline - now, SLEEP_MAX_NS));
	(void)schedule_hrtimeout_range(&left, SLACK_NS, HRTIMER_MODE_REL);
}
