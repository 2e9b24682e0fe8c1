/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include "os/os.h"

static struct m0_mutex mutex;

static int setup(void **state)
{
	(void)state;
	m0_mutex_init(&mutex);
	return 0;
}

/* The holder is known; locks held are counted. */
static void mutex_knows_its_holder(void **state)
{
	struct m0_mutex other = M0_MUTEX_SINIT(&other);

	(void)state;
	assert_true(m0_mutex_is_not_locked(&mutex));
	assert_int_equal(m0_mutex_held_nr(), 0);
	m0_mutex_lock(&mutex);
	assert_true(m0_mutex_is_locked(&mutex));
	assert_true(m0_mutex_is_not_locked(&other));
	m0_mutex_lock(&other);
	assert_int_equal(m0_mutex_held_nr(), 2);
	m0_mutex_unlock(&mutex);
	assert_true(m0_mutex_is_not_locked(&mutex));
	m0_mutex_unlock(&other);
	assert_int_equal(m0_mutex_held_nr(), 0);
	m0_mutex_fini(&mutex);
}

static bool other_sees_locked;
static int  other_try_rc;

static void look(struct m0_mutex *what)
{
	other_sees_locked = m0_mutex_is_locked(what);
	other_try_rc = m0_mutex_trylock(what);
	if (other_try_rc == 0)
		m0_mutex_unlock(what);
}

static void run(void (*func)(struct m0_mutex *))
{
	struct m0_thread thread;

	assert_int_equal(M0_THREAD_INIT(&thread, struct m0_mutex *, NULL, func,
					&mutex, "other"),
			 0);
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
}

/* Locked by me is not locked by him, who cannot have it either. */
static void mutex_is_exclusive_between_threads(void **state)
{
	(void)state;
	m0_mutex_lock(&mutex);
	run(look);
	assert_false(other_sees_locked);
	assert_int_equal(other_try_rc, -EBUSY);
	m0_mutex_unlock(&mutex);
	run(look);
	assert_int_equal(other_try_rc, 0);
	assert_int_equal(m0_mutex_trylock(&mutex), 0);
	assert_int_equal(m0_mutex_trylock(&mutex), -EBUSY);
	m0_mutex_unlock(&mutex);
}

/* Calls that would hang or corrupt the mutex fail an assertion. */
static void mutex_misuse_panics(void **state)
{
	(void)state;
	assert_panics(m0_mutex_unlock(&mutex));
	m0_mutex_lock(&mutex);
	assert_panics(m0_mutex_fini(&mutex));
#ifndef M0_SYNC_TSAN
	/* Not under the sanitizer, which would have to be told of the jump. */
	assert_panics(m0_mutex_lock(&mutex));
#endif
	m0_mutex_unlock(&mutex);
}

enum {
	THREADS_NR = 4,
	ROUNDS_NR = 50000
};

static struct m0_mutex stress_mutex;
static uint64_t        stress_nr;
static uint64_t        stress_check;

static void stress(int id)
{
	int i;

	for (i = 0; i < ROUNDS_NR; ++i) {
		/* Both ways in. */
		if ((i + id) % 3 != 0 || m0_mutex_trylock(&stress_mutex) != 0)
			m0_mutex_lock(&stress_mutex);
		++stress_nr;
		stress_check += stress_nr;
		m0_mutex_unlock(&stress_mutex);
	}
}

/* No increment is lost and nobody sleeps for ever. */
static void mutex_contended_excludes(void **state)
{
	struct m0_thread thread[THREADS_NR];
	uint64_t         total = THREADS_NR * ROUNDS_NR;
	int              i;

	(void)state;
	m0_mutex_init(&stress_mutex);
	for (i = 0; i < THREADS_NR; ++i)
		assert_int_equal(M0_THREAD_INIT(&thread[i], int, NULL, stress,
						i, "stress-%d", i),
				 0);
	for (i = 0; i < THREADS_NR; ++i) {
		assert_int_equal(m0_thread_join(&thread[i]), 0);
		m0_thread_fini(&thread[i]);
	}
	assert_true(stress_nr == total);
	assert_true(stress_check == total * (total + 1) / 2);
	m0_mutex_fini(&stress_mutex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(mutex_knows_its_holder, setup),
		cmocka_unit_test_setup(mutex_is_exclusive_between_threads,
				       setup),
		cmocka_unit_test_setup(mutex_misuse_panics, setup),
		cmocka_unit_test(mutex_contended_excludes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
