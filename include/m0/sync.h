/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Locks and threads. Channels are in m0/chan.h, included at the end.
 *
 * Functions that block (semaphores, conditions, channel waits, sleeps) are for
 * the application's threads: they assert that the calling thread runs no strand
 * of the library. A thread may block while it holds mutexes of the application,
 * but not mutexes of the library such as ntm_mutex. A callback that the wait
 * depends on must not take a mutex that the waiting thread holds.
 */
#ifndef M0_SYNC_H
#define M0_SYNC_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Mutex -------------------------------------------------------------------- */

/** State of the library for each thread, which locks read without a call. */
struct m0_sync_tls {
	/**
	 * Mutexes and read-write locks that the thread holds. The address of
	 * this structure identifies the thread.
	 */
	uint32_t sy_held_nr;
};
#ifdef __KERNEL__
struct m0_sync_tls *m0_sync__here(void);
#else
M0_EXTERN __thread struct m0_sync_tls m0_sync_tls
	__attribute__((tls_model("initial-exec")));

/** Returns the state of this thread. */
static inline __attribute__((__always_inline__)) struct m0_sync_tls *
m0_sync__here(void)
{
	return &m0_sync_tls;
}
#endif

/**
 * A mutex: a waiting thread spins a little, then sleeps. Not recursive. Zeroed
 * memory is an unlocked mutex.
 */
struct m0_mutex {
	/** 0: free, 1: held, 2: held and a thread may be sleeping. */
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
/* Declare the lock to the sanitizer, so that it checks lock orders. */
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
	       m0_sync__here();
}

/** True if the calling thread does not hold the mutex. */
static inline bool m0_mutex_is_not_locked(const struct m0_mutex *mutex)
{
	return !m0_mutex_is_locked(mutex);
}

/** Finalises a mutex. Pre: no thread holds the mutex. */
static inline void m0_mutex_fini(struct m0_mutex *mutex)
{
	M0_PRE(__atomic_load_n(&mutex->mx_word, __ATOMIC_RELAXED) == 0);
	M0_SYNC_TSAN_DO(__tsan_mutex_destroy(mutex, 0));
}

/** Returns the number of locks that the calling thread holds. */
static inline uint32_t m0_mutex_held_nr(void)
{
	return m0_sync__here()->sy_held_nr;
}

/* Always inline, also where the compiler's limits would stop it. */
static inline __attribute__((always_inline)) void m0_mutex_lock(
	struct m0_mutex *mutex)
{
	struct m0_sync_tls *here = m0_sync__here();
	uint32_t            word = 0;

	M0_SYNC_TSAN_DO(__tsan_mutex_pre_lock(mutex, 0));
	if (M0_UNLIKELY(!__atomic_compare_exchange_n(&mutex->mx_word, &word, 1,
						     false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED)))
		m0_mutex_lock_slow(mutex);
	M0_SYNC_TSAN_DO(__tsan_mutex_post_lock(mutex, 0, 0));
	__atomic_store_n(&mutex->mx_owner, here, __ATOMIC_RELAXED);
	++here->sy_held_nr;
}

/**
 * Takes the mutex if it is free.
 * @retval 0
 * @retval -EBUSY
 */
static inline int m0_mutex_trylock(struct m0_mutex *mutex)
{
	struct m0_sync_tls *here = m0_sync__here();
	uint32_t            word = 0;

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
	__atomic_store_n(&mutex->mx_owner, here, __ATOMIC_RELAXED);
	++here->sy_held_nr;
	return 0;
}

/** Releases the mutex. Pre: the calling thread holds it. */
static inline void m0_mutex_unlock(struct m0_mutex *mutex)
{
	struct m0_sync_tls *here = m0_sync__here();

	M0_PRE(__atomic_load_n(&mutex->mx_owner, __ATOMIC_RELAXED) == here);
	--here->sy_held_nr;
	__atomic_store_n(&mutex->mx_owner, (struct m0_sync_tls *)NULL,
			 __ATOMIC_RELAXED);
	M0_SYNC_TSAN_DO(__tsan_mutex_pre_unlock(mutex, 0));
#ifndef __KERNEL__ /* A tick of the kernel's clock is too late to wake. */
	/* A thread that goes to sleep between the load and the store gets no
	 * wake-up, but it wakes by itself (see m0_mutex_lock_slow()). A locked
	 * instruction in each release would prevent this, at a higher cost than
	 * the rare delay. */
	if (M0_LIKELY(__atomic_load_n(&mutex->mx_word, __ATOMIC_RELAXED) == 1))
		__atomic_store_n(&mutex->mx_word, 0, __ATOMIC_RELEASE);
	else
#endif
		m0_mutex_unlock_slow(mutex);
	M0_SYNC_TSAN_DO(__tsan_mutex_post_unlock(mutex, 0));
}

/* Read-write lock ---------------------------------------------------------- */

/**
 * A lock for many readers or one writer. A waiting writer keeps new readers
 * out.
 */
struct m0_rwlock {
	/** Number of readers, or UINT32_MAX for a writer. */
	uint32_t rw_word;
	uint32_t rw_writers_nr;
	/** The futex of sleeping threads; it counts releases. */
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

/** A condition variable, which belongs to one mutex. */
struct m0_cond {
	struct m0_mutex *c_mutex;
	uint32_t         c_seq;
	uint32_t         c_waiters_nr;
};

M0_EXTERN void m0_cond_init(struct m0_cond *cond, struct m0_mutex *mutex);
/** Finalises a condition variable. Pre: no thread waits. */
M0_EXTERN void m0_cond_fini(struct m0_cond *cond);
/**
 * Releases the mutex, waits, and takes the mutex again. It may return without a
 * signal.
 */
M0_EXTERN void m0_cond_wait(struct m0_cond *cond);
/**
 * Waits until `deadline` at most. Returns false if it passed before a signal.
 */
M0_EXTERN bool m0_cond_timedwait(struct m0_cond *cond, m0_time_t deadline);
M0_EXTERN void m0_cond_signal(struct m0_cond *cond);
M0_EXTERN void m0_cond_broadcast(struct m0_cond *cond);

/* Semaphore ---------------------------------------------------------------- */

/**
 * A counter that threads wait for. Low half: the count; high half: number of
 * waiters.
 */
struct m0_semaphore {
	uint64_t s_state;
};

/** Initialises a semaphore. @return 0. */
M0_EXTERN int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned value);
/** Finalises a semaphore. Pre: no thread waits. */
M0_EXTERN void m0_semaphore_fini(struct m0_semaphore *semaphore);
/**
 * Adds 1. Any thread may call it. The waiter may finalise the semaphore at
 * once.
 */
M0_EXTERN void m0_semaphore_up(struct m0_semaphore *semaphore);
/** Waits until the count is not 0, and takes 1. */
M0_EXTERN void m0_semaphore_down(struct m0_semaphore *semaphore);
/** Takes 1 if the count is not 0, otherwise returns false. Never blocks. */
M0_EXTERN bool m0_semaphore_trydown(struct m0_semaphore *semaphore);
/**
 * As m0_semaphore_down(), but waits until `deadline` at most: returns false if
 * the count was 0 all the time.
 */
M0_EXTERN bool m0_semaphore_timeddown(struct m0_semaphore *semaphore,
				      m0_time_t            deadline);
/** Returns the count, which may have changed already. */
M0_EXTERN unsigned m0_semaphore_value(const struct m0_semaphore *semaphore);

/* Thread ------------------------------------------------------------------- */

enum {
	M0_THREAD_NAME_LEN = 31,
};

enum m0_thread_state {
	TS_PARKED,
	TS_RUNNING,
};

/** A function with one argument of any `TYPE`, cast to this type. */
typedef void (*m0_thread_any_t)(void);

struct m0_thread {
	enum m0_thread_state t_state;
	/** The C library's thread, as an integer. */
	uintptr_t t_handle;
	int (*t_init)(void *arg);
	void (*t_func)(void *arg);
	void *t_arg;
	int   t_init_rc;
	/** Futex, 1 when t_init has returned. */
	uint32_t t_ready;
	/** The kernel's id of the thread. */
	int  t_tid;
	char t_name[M0_THREAD_NAME_LEN + 1];
};

/** See M0_THREAD_INIT. */
M0_EXTERN int m0_thread_init(struct m0_thread *thread, m0_thread_any_t init,
			     m0_thread_any_t func, void *arg, const char *name,
			     ...) M0_PRINTF(5, 6);

/**
 * Starts a thread that calls `init(arg)` and, if that returned 0, `func(arg)`.
 * The call returns when init has returned. It returns 0, or the error of init,
 * or -EAGAIN or -ENOMEM if the system cannot start a thread. After an error
 * there is no thread.
 *
 * @param TYPE  type of the argument of both functions, pointer or integer.
 * @param init  `int (*)(TYPE)`; NULL: no init.
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
/** Finalises a thread. Pre: the thread is joined, or never started. */
M0_EXTERN void m0_thread_fini(struct m0_thread *thread);
/** Returns the calling thread, also if the library did not start it. */
M0_EXTERN struct m0_thread *m0_thread_self(void);
/**
 * Confines the thread to the processors of the set.
 * @retval -EINVAL  the set names no processor of this host.
 */
M0_EXTERN int m0_thread_confine(struct m0_thread       *thread,
				const struct m0_bitmap *processors);

/* State machine group ------------------------------------------------------ */

/** The lock that the state machines of a group share. */
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
