/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <sched.h>

#include "os/os.h"

/* The count goes up and down; nothing is taken from 0. */
static void semaphore_counts(void **state)
{
	struct m0_semaphore sem;

	(void)state;
	assert_int_equal(m0_semaphore_init(&sem, 1), 0);
	assert_true(m0_semaphore_trydown(&sem));
	assert_false(m0_semaphore_trydown(&sem));
	m0_semaphore_up(&sem);
	m0_semaphore_up(&sem);
	assert_int_equal(m0_semaphore_value(&sem), 2);
	m0_semaphore_down(&sem);
	assert_true(m0_semaphore_timeddown(&sem, M0_TIME_IMMEDIATELY));
	assert_false(m0_semaphore_timeddown(&sem, M0_TIME_IMMEDIATELY));
	m0_semaphore_fini(&sem);
}

/* A wait that nobody ends lasts to the deadline and no shorter. */
static void semaphore_timeddown_ends_at_deadline(void **state)
{
	struct m0_semaphore sem;
	m0_time_t           deadline = m0_time_from_now(0, 2000000);

	(void)state;
	(void)m0_semaphore_init(&sem, 0);
	assert_false(m0_semaphore_timeddown(&sem, deadline));
	assert_true(m0_time_now() >= deadline);
	assert_int_equal(m0_semaphore_value(&sem), 0);
	m0_semaphore_fini(&sem);
}

enum {
#ifdef __KERNEL__
	/* An emulated machine is slow, and processes do all of it. */
	ROUNDS_NR = 500
#else
	ROUNDS_NR = 5000
#endif
};

static struct m0_semaphore *handed;

static void raiser(int rounds)
{
	struct m0_semaphore *sem;

	while (rounds > 0) {
		sem = __atomic_exchange_n(&handed, NULL, __ATOMIC_ACQ_REL);
		if (sem != NULL) {
			m0_semaphore_up(sem);
			--rounds;
		} else {
			(void)sched_yield();
		}
	}
}

/*
 * The waiter frees the semaphore as soon as it is let go: the up must not look
 * at it again (the address sanitizer would see it).
 */
static void semaphore_may_end_with_its_wait(void **state)
{
	struct m0_thread thread;
	int              i;

	(void)state;
	assert_int_equal(M0_THREAD_INIT(&thread, int, NULL, raiser, ROUNDS_NR,
					"raiser"),
			 0);
	for (i = 0; i < ROUNDS_NR; ++i) {
		struct m0_semaphore *sem;

		M0_ALLOC_PTR(sem);
		assert_non_null(sem);
		(void)m0_semaphore_init(sem, 0);
		__atomic_store_n(&handed, sem, __ATOMIC_RELEASE);
		m0_semaphore_down(sem);
		m0_semaphore_fini(sem);
		m0_free(sem);
	}
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
}

static struct m0_semaphore shared;
static int                 shared_taken;

static void taker(int rounds)
{
	while (rounds-- > 0) {
		m0_semaphore_down(&shared);
		__atomic_add_fetch(&shared_taken, 1, __ATOMIC_RELAXED);
	}
}

/* Several waiters: as many are let go as there were ups. */
static void semaphore_many_waiters_all_go(void **state)
{
	struct m0_thread thread[3];
	int              i;

	(void)state;
	(void)m0_semaphore_init(&shared, 0);
	for (i = 0; i < 3; ++i)
		assert_int_equal(M0_THREAD_INIT(&thread[i], int, NULL, taker,
						ROUNDS_NR, "taker-%d", i),
				 0);
	for (i = 0; i < 3 * ROUNDS_NR; ++i)
		m0_semaphore_up(&shared);
	for (i = 0; i < 3; ++i) {
		assert_int_equal(m0_thread_join(&thread[i]), 0);
		m0_thread_fini(&thread[i]);
	}
	assert_int_equal(shared_taken, 3 * ROUNDS_NR);
	assert_int_equal(m0_semaphore_value(&shared), 0);
	m0_semaphore_fini(&shared);
}

static int wait_nr;
static int post_nr;

static bool fake_wait(struct m0_semaphore *sem, m0_time_t deadline)
{
	++wait_nr;
	if (deadline != M0_TIME_NEVER)
		return false;
	/* As the simulator: the world runs until somebody ups. */
	m0_semaphore_up(sem);
	return m0_semaphore_trydown(sem);
}

static void fake_post(struct m0_semaphore *sem)
{
	(void)sem;
	++post_nr;
}

/* Waits that block, and they only, end in the table. */
static void semaphore_blocking_ends_in_table(void **state)
{
	struct m0_os_ops    ops = m0_os_real;
	struct m0_semaphore sem;

	(void)state;
	ops.oo_wait = fake_wait;
	ops.oo_post = fake_post;
	m0_os_set(&ops);
	(void)m0_semaphore_init(&sem, 1);
	m0_semaphore_down(&sem);
	assert_int_equal(wait_nr, 0);
	m0_semaphore_up(&sem);
	assert_int_equal(post_nr, 0);
	m0_semaphore_down(&sem);
	assert_false(m0_semaphore_timeddown(&sem, 5));
	m0_semaphore_down(&sem);
	assert_int_equal(wait_nr, 2);
	assert_int_equal(post_nr, 1);
	m0_os_set(NULL);
	m0_semaphore_fini(&sem);
}

static m0_time_t down_step(struct m0_strand *strand, m0_time_t now)
{
	static struct m0_semaphore sem = { .s_state = 1 };

	(void)strand;
	(void)now;
	assert_panics(m0_semaphore_down(&sem));
	return M0_TIME_NEVER;
}

/*
 * A mutex of the application's may be held meanwhile; on a strand a wait is caught,
 * even if the count is there.
 */
static void semaphore_down_is_for_threads_of_applications(void **state)
{
	static const struct m0_strand_ops ops = { .so_step = down_step };
	struct m0_strand                  strand;
	struct m0_mutex                   mutex = M0_MUTEX_SINIT(&mutex);
	struct m0_semaphore               sem;

	(void)state;
	(void)m0_semaphore_init(&sem, 1);
	m0_mutex_lock(&mutex);
	m0_semaphore_down(&sem);
	assert_false(m0_semaphore_timeddown(&sem, m0_time_from_now(0, 1000)));
	m0_strand_init(&strand, &ops, "down");
	(void)m0_strand_step(&strand, m0_time_now());
	m0_strand_fini(&strand);
	m0_mutex_unlock(&mutex);
	m0_semaphore_fini(&sem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(semaphore_counts),
		cmocka_unit_test(semaphore_timeddown_ends_at_deadline),
		cmocka_unit_test(semaphore_may_end_with_its_wait),
		cmocka_unit_test(semaphore_many_waiters_all_go),
		cmocka_unit_test(semaphore_blocking_ends_in_table),
		cmocka_unit_test(semaphore_down_is_for_threads_of_applications),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
