/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <sched.h>

#include "os/os.h"

static struct m0_rwlock lock;
static uint64_t         first;
static uint64_t         second;

enum {
	THREADS_NR = 4,
	ROUNDS_NR = 5000
};

static int torn_nr;

static void worker(int id)
{
	int i;

	for (i = 0; i < ROUNDS_NR; ++i) {
		if (i % THREADS_NR == id) {
			m0_rwlock_write_lock(&lock);
			++first;
			++second;
			m0_rwlock_write_unlock(&lock);
		} else {
			m0_rwlock_read_lock(&lock);
			if (first != second)
				__atomic_add_fetch(&torn_nr, 1,
						   __ATOMIC_RELAXED);
			m0_rwlock_read_unlock(&lock);
		}
	}
}

/* Readers never see half of a write, and no write is lost. */
static void rwlock_readers_see_whole_writes(void **state)
{
	struct m0_thread thread[THREADS_NR];
	int              i;

	(void)state;
	m0_rwlock_init(&lock);
	for (i = 0; i < THREADS_NR; ++i)
		assert_int_equal(M0_THREAD_INIT(&thread[i], int, NULL, worker,
						i, "rw-%d", i),
				 0);
	for (i = 0; i < THREADS_NR; ++i) {
		assert_int_equal(m0_thread_join(&thread[i]), 0);
		m0_thread_fini(&thread[i]);
	}
	assert_int_equal(torn_nr, 0);
	assert_int_equal(first, ROUNDS_NR);
	m0_rwlock_fini(&lock);
}

/* Readers share; held locks are counted; wrong unlocks are caught. */
static void rwlock_counts_and_checks(void **state)
{
	(void)state;
	m0_rwlock_init(&lock);
	m0_rwlock_read_lock(&lock);
	m0_rwlock_read_lock(&lock);
	assert_int_equal(m0_mutex_held_nr(), 2);
	assert_panics(m0_rwlock_fini(&lock));
	m0_rwlock_read_unlock(&lock);
	m0_rwlock_read_unlock(&lock);
	m0_rwlock_write_lock(&lock);
	m0_rwlock_write_unlock(&lock);
	assert_int_equal(m0_mutex_held_nr(), 0);
	m0_rwlock_fini(&lock);
	assert_panics(m0_rwlock_write_unlock(&lock));
	m0_rwlock_init(&lock);
	assert_panics(m0_rwlock_read_unlock(&lock));
}

static uint32_t entered_nr;
static uint32_t writer_entered;
static uint32_t reader_entered;

static uint32_t look(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void entered(uint32_t *ret)
{
	__atomic_store_n(ret,
			 __atomic_add_fetch(&entered_nr, 1, __ATOMIC_SEQ_CST),
			 __ATOMIC_SEQ_CST);
}

static void write_once(int unused)
{
	(void)unused;
	m0_rwlock_write_lock(&lock);
	entered(&writer_entered);
	m0_rwlock_write_unlock(&lock);
}

static void read_once(int unused)
{
	(void)unused;
	m0_rwlock_read_lock(&lock);
	entered(&reader_entered);
	m0_rwlock_read_unlock(&lock);
}

/* A reader that comes while a writer waits does not overtake the writer. */
static void rwlock_waiting_writer_keeps_readers_out(void **state)
{
	struct m0_thread writer;
	struct m0_thread reader;

	(void)state;
	m0_rwlock_init(&lock);
	m0_rwlock_read_lock(&lock);
	assert_int_equal(
		M0_THREAD_INIT(&writer, int, NULL, write_once, 0, "writer"), 0);
	while (look(&lock.rw_sleepers_nr) < 1)
		sched_yield();
	assert_int_equal(
		M0_THREAD_INIT(&reader, int, NULL, read_once, 0, "reader"), 0);
	/* Wait until the reader sleeps, too, or has entered. */
	while (look(&lock.rw_sleepers_nr) < 2 && look(&reader_entered) == 0)
		sched_yield();
	assert_int_equal(look(&reader_entered), 0);
	m0_rwlock_read_unlock(&lock);
	assert_int_equal(m0_thread_join(&writer), 0);
	assert_int_equal(m0_thread_join(&reader), 0);
	m0_thread_fini(&writer);
	m0_thread_fini(&reader);
	assert_int_equal(writer_entered, 1);
	assert_int_equal(reader_entered, 2);
	m0_rwlock_fini(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rwlock_readers_see_whole_writes),
		cmocka_unit_test(rwlock_waiting_writer_keeps_readers_out),
		cmocka_unit_test(rwlock_counts_and_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
