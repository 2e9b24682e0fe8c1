/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include "os/os.h"

/* Somebody's own table is in force until it is taken away. */
static void os_set_replaces_table(void **state)
{
	struct m0_os_ops mine = m0_os_real;

	(void)state;
	assert_ptr_equal(m0_os_get(), &m0_os_real);
	m0_os_set(&mine);
	assert_ptr_equal(m0_os_get(), &mine);
	m0_os_set(NULL);
	assert_ptr_equal(m0_os_get(), &m0_os_real);
}

/* No call of the table needs a check for NULL. */
static void os_real_table_is_complete(void **state)
{
	void *const *slot = (void *const *)&m0_os_real;
	size_t       i;

	(void)state;
	for (i = 0; i < sizeof m0_os_real / sizeof *slot; ++i)
		assert_non_null(slot[i]);
}

/* The base room has its memory before main(). */
static void os_hooks_are_installed(void **state)
{
	void *data = m0_alloc(1);

	(void)state;
	assert_non_null(data);
	m0_free(data);
	assert_true(m0_os_cpus_nr() >= 1);
}

/* A set is good if it names a processor of the machine, mine or not. */
static void os_cpus_valid_looks_at_machine(void **state)
{
	struct m0_bitmap map;

	(void)state;
	assert_int_equal(m0_bitmap_init(&map, 4096), 0);
	assert_false(m0_os_cpus_valid(&map));
	m0_bitmap_set(&map, 4095, true);
	assert_false(m0_os_cpus_valid(&map));
	m0_bitmap_set(&map, 0, true);
	assert_true(m0_os_cpus_valid(&map));
	m0_bitmap_fini(&map);
}

enum {
	LEAVING_NR = 100000
};

static uint32_t            busy_nr;
static uint32_t            leaving;
static struct m0_semaphore entered;

static void leave_late(int unused)
{
	(void)unused;
	m0_semaphore_up(&entered);
	/* Longer than spins are; no time is waited for. */
	while (__atomic_add_fetch(&leaving, 1, __ATOMIC_RELAXED) < LEAVING_NR)
		;
	__atomic_sub_fetch(&busy_nr, 1, __ATOMIC_RELEASE);
}

/* The wait returns when the last thread has left, not before. */
static void os_zero_wait_ends_with_the_last(void **state)
{
	struct m0_thread thread[3] = {};
	unsigned         i;

	(void)state;
	m0_os_zero_wait(&busy_nr);
	m0_semaphore_init(&entered, 0);
	busy_nr = ARRAY_SIZE(thread);
	for (i = 0; i < ARRAY_SIZE(thread); ++i)
		assert_int_equal(M0_THREAD_INIT(&thread[i], int, NULL,
						&leave_late, 0, "leave"),
				 0);
	m0_semaphore_down(&entered);
	m0_os_zero_wait(&busy_nr);
	assert_int_equal(busy_nr, 0);
	assert_true(leaving >= LEAVING_NR);
	for (i = 0; i < ARRAY_SIZE(thread); ++i) {
		m0_thread_join(&thread[i]);
		m0_thread_fini(&thread[i]);
	}
	m0_semaphore_fini(&entered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(os_set_replaces_table),
		cmocka_unit_test(os_real_table_is_complete),
		cmocka_unit_test(os_hooks_are_installed),
		cmocka_unit_test(os_cpus_valid_looks_at_machine),
		cmocka_unit_test(os_zero_wait_ends_with_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
