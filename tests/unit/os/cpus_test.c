/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Processors of a strand: its own, hinted, none; before its life and in it. */
#include "unit/base/panics.h"

#include "lib/threads.h"
#include "os/os.h"

static m0_time_t idle_step(struct m0_strand *strand, m0_time_t now)
{
	(void)strand;
	(void)now;
	return M0_TIME_NEVER;
}

static const struct m0_strand_ops ops = { .so_step = idle_step };

static struct m0_os_cpus cpus;
static struct m0_strand  strand;
static struct m0_bitmap  last;
static struct m0_bitmap  other;

static int setup(void **state)
{
	(void)state;
	memset(&cpus, 0, sizeof cpus);
	m0_strand_init(&strand, &ops, "cpus");
	assert_int_equal(m0_bitmap_init(&last, M0_OS_CPUS_MAX), 0);
	assert_int_equal(m0_bitmap_init(&other, M0_OS_CPUS_MAX), 0);
	m0_bitmap_set(&last, (size_t)threads_cpu(), true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	m0_strand_fini(&strand);
	m0_os_cpus_fini(&cpus);
	m0_bitmap_fini(&last);
	m0_bitmap_fini(&other);
	return 0;
}

static bool is_confined(void)
{
	return threads_on("cpus", threads_cpu()) == 1;
}

/* A set moves the strand at once, and back to where it began. */
static void set_moves_the_strand(void **state)
{
	(void)state;
	if (threads_cpus_nr() == 1)
		skip();
	assert_int_equal(m0_os_cpus_start(&cpus, &strand), 0);
	assert_false(is_confined());
	assert_int_equal(m0_os_cpus_set(&cpus, false, &last), 0);
	assert_true(is_confined());
	assert_true(m0_os_cpus_is_set(&cpus));
	assert_int_equal(m0_os_cpus_set(&cpus, false, NULL), 0);
	assert_false(is_confined());
	assert_false(m0_os_cpus_is_set(&cpus));
	m0_os_cpus_stop(&cpus);
}

/* A set from before the start counts, and from one life to the next. */
static void set_outlives_the_strand(void **state)
{
	int i;

	(void)state;
	assert_int_equal(m0_os_cpus_set(&cpus, false, &last), 0);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(m0_os_cpus_start(&cpus, &strand), 0);
		assert_true(is_confined());
		m0_os_cpus_stop(&cpus);
	}
}

/* A hint counts while there is no set. */
static void hint_yields_to_the_set(void **state)
{
	size_t cpu;

	(void)state;
	if (threads_cpus_nr() == 1)
		skip();
	for (cpu = 0; cpu < M0_OS_CPUS_MAX; ++cpu)
		m0_bitmap_set(&other, cpu, (int)cpu != threads_cpu());
	assert_int_equal(m0_os_cpus_set(&cpus, true, &last), 0);
	assert_false(m0_os_cpus_is_set(&cpus));
	assert_int_equal(m0_os_cpus_start(&cpus, &strand), 0);
	assert_true(is_confined());
	assert_int_equal(m0_os_cpus_set(&cpus, false, &other), 0);
	assert_false(is_confined());
	assert_int_equal(m0_os_cpus_set(&cpus, true, &last), 0);
	assert_false(is_confined());
	assert_int_equal(m0_os_cpus_set(&cpus, false, NULL), 0);
	assert_true(is_confined());
	assert_int_equal(m0_os_cpus_set(&cpus, true, NULL), 0);
	assert_false(is_confined());
	m0_os_cpus_stop(&cpus);
}

/* Without a processor of this host it stays where it is. */
static void set_without_processor_is_refused(void **state)
{
	(void)state;
	assert_int_equal(m0_os_cpus_set(&cpus, false, &last), 0);
	assert_int_equal(m0_os_cpus_start(&cpus, &strand), 0);
	assert_int_equal(m0_os_cpus_set(&cpus, false, &other), -EINVAL);
	m0_bitmap_set(&other, M0_OS_CPUS_MAX - 1, true);
	assert_int_equal(m0_os_cpus_set(&cpus, false, &other), -EINVAL);
	assert_true(is_confined());
	m0_os_cpus_stop(&cpus);
}

static void *no_memory(size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	return NULL;
}

/* Without memory for the copy nothing changes. */
static void set_without_memory_changes_nothing(void **state)
{
	static struct m0_alloc_ops none = { .ao_alloc = no_memory };
	int                        rc;

	(void)state;
	assert_int_equal(m0_os_cpus_start(&cpus, &strand), 0);
	(void)m0_alloc_hook_set(&none);
	rc = m0_os_cpus_set(&cpus, false, &last);
	(void)m0_alloc_hook_set(NULL);
	assert_int_equal(rc, -ENOMEM);
	assert_false(m0_os_cpus_is_set(&cpus));
	assert_int_equal(m0_os_cpus_set(&cpus, false, &last), 0);
	assert_true(is_confined());
	m0_os_cpus_stop(&cpus);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(set_moves_the_strand),
		CASE(set_outlives_the_strand),
		CASE(hint_yields_to_the_set),
		CASE(set_without_processor_is_refused),
		CASE(set_without_memory_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
