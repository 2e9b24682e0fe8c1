/* SPDX-License-Identifier: Apache-2.0 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(os_set_replaces_table),
		cmocka_unit_test(os_real_table_is_complete),
		cmocka_unit_test(os_hooks_are_installed),
		cmocka_unit_test(os_cpus_valid_looks_at_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
