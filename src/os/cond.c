/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "os/os_internal.h"

void m0_cond_init(struct m0_cond *cond, struct m0_mutex *mutex)
{
	cond->c_mutex = mutex;
	cond->c_seq = 0;
	cond->c_waiters_nr = 0;
}

void m0_cond_fini(struct m0_cond *cond)
{
	M0_PRE(__atomic_load_n(&cond->c_waiters_nr, __ATOMIC_ACQUIRE) == 0);
}

/* No table but the real one can wake a waiter: check again a little later. */
static bool cond_doze(m0_time_t deadline)
{
	m0_time_t now = m0_time_now();

	m0_time_sleep(min64u(deadline, now + M0_TIME_ONE_MSEC));
	return m0_time_now() < deadline;
}

static bool cond_sleep(struct m0_cond *cond, uint32_t seq, m0_time_t deadline)
{
	if (m0_os_get() != &m0_os_real)
		return cond_doze(deadline);
	/* A signal after the read of `seq` keeps this call from sleeping. */
	return m0_os__futex_wait(&cond->c_seq, seq, deadline);
}

bool m0_cond_timedwait(struct m0_cond *cond, m0_time_t deadline)
{
	bool     in_time;
	uint32_t seq = __atomic_load_n(&cond->c_seq, __ATOMIC_SEQ_CST);

	M0_PRE(m0_mutex_is_locked(cond->c_mutex));
	M0_PRE(m0_strand_current() == NULL);
	__atomic_add_fetch(&cond->c_waiters_nr, 1, __ATOMIC_SEQ_CST);
	m0_mutex_unlock(cond->c_mutex);
	in_time = cond_sleep(cond, seq, deadline);
	m0_mutex_lock(cond->c_mutex);
	__atomic_sub_fetch(&cond->c_waiters_nr, 1, __ATOMIC_SEQ_CST);
	return in_time;
}

void m0_cond_wait(struct m0_cond *cond)
{
	(void)m0_cond_timedwait(cond, M0_TIME_NEVER);
}

static void cond_wake(struct m0_cond *cond, uint32_t nr)
{
	__atomic_add_fetch(&cond->c_seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&cond->c_waiters_nr, __ATOMIC_SEQ_CST) > 0)
		m0_os__futex_wake(&cond->c_seq, nr);
}

void m0_cond_signal(struct m0_cond *cond)
{
	cond_wake(cond, 1);
}

void m0_cond_broadcast(struct m0_cond *cond)
{
	cond_wake(cond, INT32_MAX);
}
