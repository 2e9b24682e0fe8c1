/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A thread that finds the lock taken sleeps on rw_seq, which every release
 * changes. A sleeper first counts itself, then reads rw_seq, then looks at the
 * lock; a releaser first frees the lock, then changes rw_seq, then looks for
 * sleepers. So either the sleeper sees the lock free or the releaser sees the
 * sleeper.
 */
#include "os/os_internal.h"

#define WRITER UINT32_MAX

void m0_rwlock_init(struct m0_rwlock *lock)
{
	M0_SET0(lock);
}

void m0_rwlock_fini(struct m0_rwlock *lock)
{
	M0_PRE(__atomic_load_n(&lock->rw_word, __ATOMIC_ACQUIRE) == 0);
	M0_PRE(__atomic_load_n(&lock->rw_sleepers_nr, __ATOMIC_ACQUIRE) == 0);
}

static bool read_try(struct m0_rwlock *lock)
{
	uint32_t word = __atomic_load_n(&lock->rw_word, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&lock->rw_writers_nr, __ATOMIC_SEQ_CST) > 0)
		return false;
	while (word != WRITER) {
		M0_ASSERT(word < WRITER - 1);
		if (__atomic_compare_exchange_n(&lock->rw_word, &word, word + 1,
						false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}

static bool write_try(struct m0_rwlock *lock)
{
	uint32_t word = 0;

	return __atomic_compare_exchange_n(&lock->rw_word, &word, WRITER, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void lock_by(struct m0_rwlock *lock, bool (*try)(struct m0_rwlock *))
{
	if (!try(lock)) {
		__atomic_add_fetch(&lock->rw_sleepers_nr, 1, __ATOMIC_SEQ_CST);
		for (;;) {
			uint32_t seq = __atomic_load_n(&lock->rw_seq,
						       __ATOMIC_SEQ_CST);

			if (try(lock))
				break;
			(void)m0_os__futex_wait(&lock->rw_seq, seq,
						M0_TIME_NEVER);
		}
		__atomic_sub_fetch(&lock->rw_sleepers_nr, 1, __ATOMIC_SEQ_CST);
	}
	++m0_sync__here()->sy_held_nr;
}

static void released(struct m0_rwlock *lock)
{
	M0_PRE(m0_sync__here()->sy_held_nr > 0);
	--m0_sync__here()->sy_held_nr;
	__atomic_add_fetch(&lock->rw_seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&lock->rw_sleepers_nr, __ATOMIC_SEQ_CST) > 0)
		m0_os__futex_wake(&lock->rw_seq, INT32_MAX);
}

void m0_rwlock_read_lock(struct m0_rwlock *lock)
{
	lock_by(lock, read_try);
}

void m0_rwlock_read_unlock(struct m0_rwlock *lock)
{
	uint32_t word = __atomic_fetch_sub(&lock->rw_word, 1, __ATOMIC_SEQ_CST);

	M0_ASSERT(!M0_IN(word, (0, WRITER)));
	released(lock);
}

void m0_rwlock_write_lock(struct m0_rwlock *lock)
{
	__atomic_add_fetch(&lock->rw_writers_nr, 1, __ATOMIC_SEQ_CST);
	lock_by(lock, write_try);
	/* From here rw_word keeps readers out. */
	__atomic_sub_fetch(&lock->rw_writers_nr, 1, __ATOMIC_SEQ_CST);
}

void m0_rwlock_write_unlock(struct m0_rwlock *lock)
{
	uint32_t word =
		__atomic_exchange_n(&lock->rw_word, 0, __ATOMIC_SEQ_CST);

	M0_ASSERT(word == WRITER);
	released(lock);
}
