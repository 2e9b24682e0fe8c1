/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Waiting for a word, over the kernel's queues for variables: a waker uses the word's
 * address alone.
 */
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "kern/os/kern_sleep.h"
#include "os/os_internal.h"

static bool is_past(m0_time_t deadline)
{
	return deadline != M0_TIME_NEVER && m0_os__now() >= deadline;
}

bool m0_os__futex_wait(uint32_t *word, uint32_t value, m0_time_t deadline)
{
	struct wait_queue_head     *queue = __var_waitqueue(word);
	struct wait_bit_queue_entry entry;

	might_sleep();
	init_wait_var_entry(&entry, word, 0);
	/* Idle: the load and the detector of hung tasks leave it out. */
	(void)prepare_to_wait_event(queue, &entry.wq_entry, TASK_IDLE);
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
		kern_sleep_until(deadline);
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
