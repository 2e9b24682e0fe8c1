/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Waiting for a word, over the kernel's queues for variables: a waker uses the word's
 * address alone. Deadlines are kept to a tick of the kernel's clock; a wake-up is
 * immediate.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "os/os_internal.h"

/* A sleep that is cut here returns without reason, as it may. */
#define SLEEP_MAX (3600 * HZ)

static long ticks_until(m0_time_t deadline)
{
	m0_time_t now;

	if (deadline == M0_TIME_NEVER)
		return SLEEP_MAX;
	now = m0_os__now();
	if (deadline <= now)
		return 0;
	/* The tick that is under way does not count. */
	return (long)min64u(nsecs_to_jiffies64(deadline - now) + 1, SLEEP_MAX);
}

static bool is_past(m0_time_t deadline)
{
	return deadline != M0_TIME_NEVER && m0_os__now() >= deadline;
}

bool m0_os__futex_wait(uint32_t *word, uint32_t value, m0_time_t deadline)
{
	struct wait_queue_head     *queue = __var_waitqueue(word);
	struct wait_bit_queue_entry entry;
	long                        ticks = ticks_until(deadline);

	might_sleep();
	init_wait_var_entry(&entry, word, 0);
	/* Idle: the load and the detector of hung tasks leave it out. */
	(void)prepare_to_wait_event(queue, &entry.wq_entry, TASK_IDLE);
	if (ticks > 0 && __atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
		(void)schedule_timeout(ticks);
	finish_wait(queue, &entry.wq_entry);
	return !is_past(deadline);
}

void m0_os__futex_wake(uint32_t *word, uint32_t nr)
{
	(void)nr;
	/* Either the sleeper sees the new word, or this thread sees the sleeper. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	wake_up_var(word);
}
