/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Count and waiters are one word, so that an up is one instruction and does not
 * look at the semaphore after it: the waiter it lets go may finalise it.
 */
#include "os/os_internal.h"

#define WAITER (1ULL << 32)

static uint32_t count_of(uint64_t state)
{
	return (uint32_t)state;
}

static uint32_t waiters_of(uint64_t state)
{
	return (uint32_t)(state >> 32);
}

/* The half that holds the count. */
static uint32_t *futex_of(struct m0_semaphore *semaphore)
{
	uint32_t *half = (uint32_t *)(void *)&semaphore->s_state;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	++half;
#endif
	return half;
}

int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned value)
{
	semaphore->s_state = value;
	return 0;
}

void m0_semaphore_fini(struct m0_semaphore *semaphore)
{
	uint64_t state = __atomic_load_n(&semaphore->s_state, __ATOMIC_ACQUIRE);

	M0_PRE(waiters_of(state) == 0);
}

unsigned m0_semaphore_value(const struct m0_semaphore *semaphore)
{
	return count_of(__atomic_load_n(&semaphore->s_state, __ATOMIC_ACQUIRE));
}

void m0_semaphore_up(struct m0_semaphore *semaphore)
{
	uint64_t state =
		__atomic_fetch_add(&semaphore->s_state, 1, __ATOMIC_SEQ_CST);

	M0_ASSERT(count_of(state) != UINT32_MAX);
	if (waiters_of(state) > 0)
		m0_os_get()->oo_post(semaphore);
}

bool m0_semaphore_trydown(struct m0_semaphore *semaphore)
{
	uint64_t state = __atomic_load_n(&semaphore->s_state, __ATOMIC_ACQUIRE);

	while (count_of(state) > 0) {
		if (__atomic_compare_exchange_n(
			    &semaphore->s_state, &state, state - 1, false,
			    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

void m0_os__semaphore_zero(struct m0_semaphore *semaphore)
{
	(void)__atomic_and_fetch(&semaphore->s_state, ~(uint64_t)UINT32_MAX,
				 __ATOMIC_SEQ_CST);
}

bool m0_semaphore_timeddown(struct m0_semaphore *semaphore, m0_time_t deadline)
{
	bool taken;

	m0_os__may_block();
	if (m0_semaphore_trydown(semaphore))
		return true;
	__atomic_add_fetch(&semaphore->s_state, WAITER, __ATOMIC_SEQ_CST);
	taken = m0_os_get()->oo_wait(semaphore, deadline);
	__atomic_sub_fetch(&semaphore->s_state, WAITER, __ATOMIC_SEQ_CST);
	return taken;
}

void m0_semaphore_down(struct m0_semaphore *semaphore)
{
	bool taken = m0_semaphore_timeddown(semaphore, M0_TIME_NEVER);

	M0_POST(taken);
}

bool m0_os__wait(struct m0_semaphore *semaphore, m0_time_t deadline)
{
	bool in_time = true;

	/* Once more after the deadline: an up may have come with it. */
	while (!m0_semaphore_trydown(semaphore)) {
		if (!in_time)
			return false;
		in_time = m0_os__futex_wait(futex_of(semaphore), 0, deadline);
	}
	return true;
}

void m0_os__post(struct m0_semaphore *semaphore)
{
	m0_os__futex_wake(futex_of(semaphore), 1);
}
