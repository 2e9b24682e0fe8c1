/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include "os/os.h"

enum {
	ITEMS_NR = 3000,
	CAPACITY = 4
};

static struct m0_mutex mutex;
static struct m0_cond  not_empty;
static struct m0_cond  not_full;
static int             queued;
static int             taken;

static void producer(int items)
{
	while (items-- > 0) {
		m0_mutex_lock(&mutex);
		while (queued == CAPACITY)
			m0_cond_wait(&not_full);
		++queued;
		m0_cond_signal(&not_empty);
		m0_mutex_unlock(&mutex);
	}
}

static void consumer(int items)
{
	while (items-- > 0) {
		m0_mutex_lock(&mutex);
		while (queued == 0)
			m0_cond_wait(&not_empty);
		--queued;
		++taken;
		m0_cond_broadcast(&not_full);
		m0_mutex_unlock(&mutex);
	}
}

static int setup(void **state)
{
	(void)state;
	m0_mutex_init(&mutex);
	m0_cond_init(&not_empty, &mutex);
	m0_cond_init(&not_full, &mutex);
	queued = 0;
	taken = 0;
	return 0;
}

/* Producers and consumers over a short queue: no signal is lost. */
static void cond_bounded_queue_drains(void **state)
{
	struct m0_thread thread[4];
	int              i;

	(void)state;
	for (i = 0; i < 4; ++i)
		assert_int_equal(M0_THREAD_INIT(&thread[i], int, NULL,
						i % 2 ? producer : consumer,
						ITEMS_NR, "cond-%d", i),
				 0);
	for (i = 0; i < 4; ++i) {
		assert_int_equal(m0_thread_join(&thread[i]), 0);
		m0_thread_fini(&thread[i]);
	}
	assert_int_equal(taken, 2 * ITEMS_NR);
	assert_int_equal(queued, 0);
	m0_cond_fini(&not_empty);
	m0_cond_fini(&not_full);
}

/* Nobody signals: the wait ends at its deadline and holds the mutex again. */
static void cond_timedwait_ends_at_deadline(void **state)
{
	m0_time_t deadline = m0_time_from_now(0, 1000000);

	(void)state;
	m0_mutex_lock(&mutex);
	while (m0_cond_timedwait(&not_empty, deadline))
		;
	assert_true(m0_time_now() >= deadline);
	assert_true(m0_mutex_is_locked(&mutex));
	m0_mutex_unlock(&mutex);
	assert_panics(m0_cond_wait(&not_empty));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(cond_bounded_queue_drains, setup),
		cmocka_unit_test_setup(cond_timedwait_ends_at_deadline, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
