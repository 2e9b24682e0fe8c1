/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "os/os_internal.h"

/* Enough for a short critical section on another processor to end. */
enum {
	SPINS_MAX = 100,
	SLEEP_MAX_NS = 1000000
};

__thread struct m0_sync_tls m0_sync_tls;

static bool word_is(struct m0_mutex *mutex, uint32_t value)
{
	return __atomic_load_n(&mutex->mx_word, __ATOMIC_RELAXED) == value;
}

static bool mutex_spin(struct m0_mutex *mutex)
{
	unsigned i;

	if (m0_os_cpus_nr() == 1)
		return false;
	/* Do not spin if other threads sleep already: the holder is slow. */
	for (i = 0; i < SPINS_MAX && !word_is(mutex, 2); ++i) {
		uint32_t word = 0;

		if (word_is(mutex, 0) &&
		    __atomic_compare_exchange_n(&mutex->mx_word, &word, 1,
						false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		m0_os__pause();
	}
	return false;
}

void m0_mutex_lock_slow(struct m0_mutex *mutex)
{
	M0_PRE(m0_mutex_is_not_locked(mutex));
	if (mutex_spin(mutex))
		return;
	/*
	 * A thread that has slept cannot know whether others sleep, so it
	 * leaves a 2. A release that saw the 1 before may overwrite the 2, if
	 * the release takes longer than this thread needs to fall asleep: hence
	 * the limit of the sleep.
	 */
	while (__atomic_exchange_n(&mutex->mx_word, 2, __ATOMIC_ACQUIRE) != 0)
		(void)m0_os__futex_wait(&mutex->mx_word, 2,
					m0_time_add(m0_os__now(),
						    SLEEP_MAX_NS));
}

void m0_mutex_unlock_slow(struct m0_mutex *mutex)
{
	(void)__atomic_exchange_n(&mutex->mx_word, 0, __ATOMIC_RELEASE);
	/* The mutex is free and may be finalised already: use only its
	 * address. */
	m0_os__futex_wake(&mutex->mx_word, 1);
}
