/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Locks and threads. Channels are in m0/chan.h, included at the end.
 *
 * What blocks (semaphores, conditions, channel waits, sleeps) is for the
 * application's threads: it is asserted that the thread runs no strand of the
 * library. A thread may block while it holds mutexes of the application, but none of
 * the library's, such as ntm_mutex; no callback that the wait depends on may take
 * one that it holds.
 */
#ifndef M0_SYNC_H
#define M0_SYNC_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Mutex -------------------------------------------------------------------- */

/** What the library keeps for each thread, where a lock finds it at once. */
struct m0_sync_tls {
	/** Mutexes and read-write locks held. Its address names the thread. */
	uint32_t sy_held_nr;
};
M0_EXTERN __thread struct m0_sync_tls m0_sync_tls
	__attribute__((tls_model("initial-exec")));

/**
 * Mutual exclusion: spins a little, then sleeps. Not recursive. Zeroed memory
 * is an unlocked mutex.
 */
struct m0_mutex {
	/** 0: free, 1: held, 2: held and perhaps somebody sleeps. */
	uint32_t mx_word;
	/** The thread that holds it; NULL: none. */
	struct m0_sync_tls *mx_owner;
};

/** Static initialiser of the mutex that `mutex` points to. */
/* clang-format off */
#define M0_MUTEX_SINIT(mutex) { .mx_word = 0, .mx_owner = NULL }
/* clang-format on */

M0_EXTERN void m0_mutex_lock_slow(struct m0_mutex *mutex);
M0_EXTERN void m0_mutex_unlock_slow(struct m0_mutex *mutex);

#if defined(__SANITIZE_THREAD__)
#define M0_SYNC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define M0_SYNC_TSAN 1
#endif
#endif
/* Tell the sanitizer that this is a lock, so that it sees lock orders. */
#ifdef M0_SYNC_TSAN
#include <sanitizer/tsan_interface.h>
#define M0_SYNC_TSAN_DO(call) call
#else
#define M0_SYNC_TSAN_DO(call) ((void)0)
#endif

static inline void m0_mutex_init(struct m0_mutex *mutex)
{
	mutex->mx_word = 0;
	mutex->mx_owner = NULL;
	M0_SYNC_TSAN_DO(__tsan_mutex_create(mutex, 0));
}

/** True if the calling thread holds the mutex. */
static inline bool m0_mutex_is_locked(const struct m0_mutex *mutex)
{
	return __atomic_load_n(&mutex->mx_owner, __ATOMIC_RELAXED) ==
	       &m0_sync_tls;
}

/** True if the calling thread does not hold the mutex. */
static inline bool m0_mutex_is_not_locked(const struct m0_mutex *mutex)
{
	return !m0_mutex_is_locked(mutex);
}

/** Pre: nobody holds the mutex. */
static inline void m0_mutex_fini(struct m0_mutex *mutex)
{
	M0_PRE(__atomic_load_n(&mutex->mx_word, __ATOMIC_RELAXED) == 0);
	M0_SYNC_TSAN_DO(__tsan_mutex_destroy(mutex, 0));
}

/** Number of locks that the calling thread holds. */
static inline uint32_t m0_mutex_held_nr(void)
{
	return m0_sync_tls.sy_held_nr;
}

/* In line, also where the compiler thinks that there is enough of it. */
static inline __attribute__((always_inline)) void m0_mutex_lock(
	struct m0_mutex *mutex)
{
	uint32_t word = 0;

	M0_SYNC_TSAN_DO(__tsan_mutex_pre_lock(mutex, 0));
	if (M0_UNLIKELY(!__atomic_compare_exchange_n(&mutex->mx_word, &word, 1,
						     false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED)))
		m0_mutex_lock_slow(mutex);
	M0_SYNC_TSAN_DO(__tsan_mutex_post_lock(mutex, 0, 0));
	__atomic_store_n(&mutex->mx_owner, &m0_sync_tls, __ATOMIC_RELAXED);
	++m0_sync_tls.sy_held_nr;
}

/**
 * Takes the mutex if it is free.
 * @retval 0
 * @retval -EBUSY
 */
static inline int m0_mutex_trylock(struct m0_mutex *mutex)
{
	uint32_t word = 0;

	M0_SYNC_TSAN_DO(__tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock));
	if (!__atomic_compare_exchange_n(&mutex->mx_word, &word, 1, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		M0_SYNC_TSAN_DO(__tsan_mutex_post_lock(
			mutex,
			__tsan_mutex_try_lock | __tsan_mutex_try_lock_failed,
			0));
		return -EBUSY;
	}
	M0_SYNC_TSAN_DO(
		__tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock, 0));
	__atomic_store_n(&mutex->mx_owner, &m0_sync_tls, __ATOMIC_RELAXED);
	++m0_sync_tls.sy_held_nr;
	return 0;
}

/** Pre: the calling thread holds the mutex. */
static inline void m0_mutex_unlock(struct m0_mutex *mutex)
{
	M0_PRE(m0_mutex_is_locked(mutex));
	--m0_sync_tls.sy_held_nr;
	__atomic_store_n(&mutex->mx_owner, (struct m0_sync_tls *)NULL,
			 __ATOMIC_RELAXED);
	M0_SYNC_TSAN_DO(__tsan_mutex_pre_unlock(mutex, 0));
	/*
	 * A thread that goes to sleep between these two is not woken; it wakes
	 * by itself (see m0_mutex_lock_slow()). A locked instruction for each
	 * release, to make that impossible, would cost more than it ever does.
	 */
	if (M0_LIKELY(__atomic_load_n(&mutex->mx_word, __ATOMIC_RELAXED) == 1))
		__atomic_store_n(&mutex->mx_word, 0, __ATOMIC_RELEASE);
	else
		m0_mutex_unlock_slow(mutex);
	M0_SYNC_TSAN_DO(__tsan_mutex_post_unlock(mutex, 0));
}

/* Read-write lock ---------------------------------------------------------- */

/** Many readers or one writer; a waiting writer keeps new readers out. */
struct m0_rwlock {
	/** Number of readers, or the greatest number for a writer. */
	uint32_t rw_word;
	uint32_t rw_writers_nr;
	/** What sleepers sleep on: counts releases. */
	uint32_t rw_seq;
	uint32_t rw_sleepers_nr;
};

M0_EXTERN void m0_rwlock_init(struct m0_rwlock *lock);
M0_EXTERN void m0_rwlock_fini(struct m0_rwlock *lock);
M0_EXTERN void m0_rwlock_read_lock(struct m0_rwlock *lock);
M0_EXTERN void m0_rwlock_read_unlock(struct m0_rwlock *lock);
M0_EXTERN void m0_rwlock_write_lock(struct m0_rwlock *lock);
M0_EXTERN void m0_rwlock_write_unlock(struct m0_rwlock *lock);

/* Condition ---------------------------------------------------------------- */

/** Condition variable; belongs to one mutex. */
struct m0_cond {
	struct m0_mutex *c_mutex;
	uint32_t         c_seq;
	uint32_t         c_waiters_nr;
};

M0_EXTERN void m0_cond_init(struct m0_cond *cond, struct m0_mutex *mutex);
/** Pre: nobody waits. */
M0_EXTERN void m0_cond_fini(struct m0_cond *cond);
/** Releases the mutex, waits, takes it again. May return without a signal. */
M0_EXTERN void m0_cond_wait(struct m0_cond *cond);
/** False if `deadline` has passed first. */
M0_EXTERN bool m0_cond_timedwait(struct m0_cond *cond, m0_time_t deadline);
M0_EXTERN void m0_cond_signal(struct m0_cond *cond);
M0_EXTERN void m0_cond_broadcast(struct m0_cond *cond);

/* Semaphore ---------------------------------------------------------------- */

/** Counter that is waited for. Low half: the count; high half: waiters. */
struct m0_semaphore {
	uint64_t s_state;
};

/** @return 0. */
M0_EXTERN int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned value);
/** Pre: nobody waits. */
M0_EXTERN void m0_semaphore_fini(struct m0_semaphore *semaphore);
/** Adds 1. Any thread; the waiter may fini the semaphore at once. */
M0_EXTERN void m0_semaphore_up(struct m0_semaphore *semaphore);
/** Waits until the count is not 0, and takes 1. */
M0_EXTERN void m0_semaphore_down(struct m0_semaphore *semaphore);
/** Takes 1 if the count is not 0. Never blocks. */
M0_EXTERN bool m0_semaphore_trydown(struct m0_semaphore *semaphore);
/** False if `deadline` has passed and the count was 0 all the time. */
M0_EXTERN bool m0_semaphore_timeddown(struct m0_semaphore *semaphore,
				      m0_time_t            deadline);
/** The count, which may have changed already. */
M0_EXTERN unsigned m0_semaphore_value(const struct m0_semaphore *semaphore);

/* Thread ------------------------------------------------------------------- */

enum {
	M0_THREAD_NAME_LEN = 31,
};

enum m0_thread_state {
	TS_PARKED,
	TS_RUNNING,
};

/** A function called with a `TYPE` argument, seen as one called with this. */
typedef void (*m0_thread_any_t)(void);

struct m0_thread {
	enum m0_thread_state t_state;
	/** The C library's thread, as an integer. */
	uintptr_t t_handle;
	int (*t_init)(void *arg);
	void (*t_func)(void *arg);
	void *t_arg;
	int   t_init_rc;
	/** 1 when t_init has returned; a futex. */
	uint32_t t_ready;
	/** Kernel's number of the thread. */
	int  t_tid;
	char t_name[M0_THREAD_NAME_LEN + 1];
};

/** See M0_THREAD_INIT. */
M0_EXTERN int m0_thread_init(struct m0_thread *thread, m0_thread_any_t init,
			     m0_thread_any_t func, void *arg, const char *name,
			     ...) M0_PRINTF(5, 6);

/**
 * Starts a thread that calls `init(arg)` and, if that returned 0, `func(arg)`.
 * Returns when init has: 0; what init returned, if not 0, and then there is no
 * thread; -EAGAIN or -ENOMEM if there is none to be had.
 *
 * @param TYPE  type of the argument of both functions, pointer or integer.
 * @param init  `int (*)(TYPE)`; NULL: nothing to be done.
 * @param func  `void (*)(TYPE)`.
 */
/* clang-format off */
#define M0_THREAD_INIT(thread, TYPE, init, func, arg, namefmt, ...) ({     \
	int (*m0_thread_init_)(TYPE) = (init);                             \
	void (*m0_thread_func_)(TYPE) = (func);                            \
	TYPE m0_thread_arg_ = (arg);                                       \
	m0_thread_init((thread), (m0_thread_any_t)m0_thread_init_,         \
		       (m0_thread_any_t)m0_thread_func_,                   \
		       (void *)(uintptr_t)m0_thread_arg_,                  \
		       namefmt, ## __VA_ARGS__); })
/* clang-format on */

/**
 * Waits for the end of the thread.
 * @retval 0
 */
M0_EXTERN int m0_thread_join(struct m0_thread *thread);
/** Pre: joined, or never started. */
M0_EXTERN void m0_thread_fini(struct m0_thread *thread);
/** The calling thread; one that the library did not start has one, too. */
M0_EXTERN struct m0_thread *m0_thread_self(void);
/**
 * Lets the thread run on the processors of the set only.
 * @retval -EINVAL  the set names no processor of this machine.
 */
M0_EXTERN int m0_thread_confine(struct m0_thread       *thread,
				const struct m0_bitmap *processors);

/* State machine group ------------------------------------------------------ */

/** What state machines under one lock share. Here: the lock. */
struct m0_sm_group {
	struct m0_mutex s_lock;
};

static inline void m0_sm_group_init(struct m0_sm_group *group)
{
	m0_mutex_init(&group->s_lock);
}

static inline void m0_sm_group_fini(struct m0_sm_group *group)
{
	m0_mutex_fini(&group->s_lock);
}

static inline void m0_sm_group_lock(struct m0_sm_group *group)
{
	m0_mutex_lock(&group->s_lock);
}

static inline void m0_sm_group_unlock(struct m0_sm_group *group)
{
	m0_mutex_unlock(&group->s_lock);
}

static inline bool m0_sm_group_is_locked(const struct m0_sm_group *group)
{
	return m0_mutex_is_locked(&group->s_lock);
}

#ifdef __cplusplus
}
#endif

#include "m0/chan.h"

#endif /* M0_SYNC_H */
