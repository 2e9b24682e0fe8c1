/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <pthread.h>
#include <sched.h>

#include "os/os.h"

static int               seen;
static struct m0_thread *seen_self;
static char              seen_name[32];

static void note(int *value)
{
	seen = *value;
	seen_self = m0_thread_self();
	(void)pthread_getname_np(pthread_self(), seen_name, sizeof seen_name);
}

/* A thread's argument and name are what the caller passes. It knows itself. */
static void thread_runs_function_with_argument(void **state)
{
	struct m0_thread thread;
	int              value = 7;

	(void)state;
	assert_int_equal(M0_THREAD_INIT(&thread, int *, NULL, note, &value,
					"worker-%d-of-many", 12),
			 0);
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	assert_int_equal(seen, 7);
	assert_ptr_equal(seen_self, &thread);
	assert_string_equal(thread.t_name, "worker-12-of-many");
	assert_string_equal(seen_name, "worker-12-of-ma");
	/* A name is no format. */
	assert_int_equal(M0_THREAD_INIT(&thread, int *, NULL, note, &value,
					"%s", "50%%s"),
			 0);
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	assert_string_equal(seen_name, "50%%s");
}

static int init_seen;

static int init_ok(int value)
{
	__atomic_store_n(&init_seen, value, __ATOMIC_RELAXED);
	return 0;
}

static int init_fails(int value)
{
	return -value;
}

static void set_seen(int value)
{
	seen = value;
}

/* init has run when M0_THREAD_INIT returns. */
static void thread_init_runs_before_return(void **state)
{
	struct m0_thread thread;

	(void)state;
	assert_int_equal(
		M0_THREAD_INIT(&thread, int, init_ok, set_seen, 5, "init"), 0);
	assert_int_equal(__atomic_load_n(&init_seen, __ATOMIC_RELAXED), 5);
	assert_panics(m0_thread_fini(&thread));
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	assert_int_equal(seen, 5);
}

/* A failing init: its error, no thread, no call of the function. */
static void thread_failing_init_is_reported(void **state)
{
	struct m0_thread thread;

	(void)state;
	seen = 0;
	assert_int_equal(M0_THREAD_INIT(&thread, int, init_fails, set_seen, EIO,
					"fails"),
			 -EIO);
	assert_int_equal(seen, 0);
	m0_thread_fini(&thread);
	assert_panics(m0_thread_join(&thread));
}

/* Also a thread that the library did not start has an identity. */
static void thread_foreign_has_self(void **state)
{
	(void)state;
	assert_non_null(m0_thread_self());
	assert_ptr_equal(m0_thread_self(), m0_thread_self());
	assert_true(m0_thread_self()->t_tid > 0);
}

/* Confinement is to the set given; an empty or absent one is an error. */
static void thread_confine_restricts(void **state)
{
	struct m0_bitmap map;
	cpu_set_t        before;
	cpu_set_t        after;
	size_t           cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	while (!CPU_ISSET(cpu, &before))
		++cpu;
	assert_int_equal(m0_bitmap_init(&map, CPU_SETSIZE), 0);
	assert_int_equal(m0_thread_confine(m0_thread_self(), &map), -EINVAL);
	m0_bitmap_set(&map, CPU_SETSIZE - 1, true);
	assert_int_equal(m0_thread_confine(m0_thread_self(), &map), -EINVAL);
	m0_bitmap_set(&map, cpu, true);
	assert_int_equal(m0_thread_confine(m0_thread_self(), &map), 0);
	assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
	assert_int_equal(CPU_COUNT(&after), 1);
	assert_true(CPU_ISSET(cpu, &after));
	assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
	m0_bitmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_runs_function_with_argument),
		cmocka_unit_test(thread_init_runs_before_return),
		cmocka_unit_test(thread_failing_init_is_reported),
		cmocka_unit_test(thread_foreign_has_self),
		cmocka_unit_test(thread_confine_restricts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
