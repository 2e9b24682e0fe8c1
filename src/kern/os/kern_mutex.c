/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * In the kernel every release exchanges the word (m0/sync.h), so no wake-up is lost
 * and the sleep needs no limit.
 */
#include "os/os_internal.h"

void m0_mutex_lock_slow(struct m0_mutex *mutex)
{
	M0_PRE(m0_mutex_is_not_locked(mutex));
	/* A thread that has slept cannot know whether others sleep: it leaves a 2. */
	while (__atomic_exchange_n(&mutex->mx_word, 2, __ATOMIC_ACQUIRE) != 0)
		(void)m0_os__futex_wait(&mutex->mx_word, 2, M0_TIME_NEVER);
}

void m0_mutex_unlock_slow(struct m0_mutex *mutex)
{
	/* After the exchange the mutex may be gone: use only its address. */
	if (__atomic_exchange_n(&mutex->mx_word, 0, __ATOMIC_RELEASE) == 2)
		m0_os__futex_wake(&mutex->mx_word, 1);
}
