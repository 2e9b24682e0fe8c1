/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include "os/os.h"

/* Two draws differ, and nothing beyond the length is written. */
static void random_fills_exactly_and_differs(void **state)
{
	uint8_t a[40];
	uint8_t b[40];

	(void)state;
	memset(a, 0, sizeof a);
	memset(b, 0, sizeof b);
	m0_os_random(a, 32);
	m0_os_random(b, 32);
	assert_memory_not_equal(a, b, 32);
	assert_memory_equal(a + 32, "\0\0\0\0\0\0\0\0", 8);
	m0_os_random(a, 0);
}

static void fixed_random(void *ret_bytes, size_t nr)
{
	memset(ret_bytes, 0x42, nr);
}

/* The simulator's table decides what is random. */
static void random_comes_from_installed_table(void **state)
{
	struct m0_os_ops ops = m0_os_real;
	uint8_t          bytes[3];

	(void)state;
	ops.oo_random = fixed_random;
	m0_os_set(&ops);
	m0_os_random(bytes, sizeof bytes);
	m0_os_set(NULL);
	assert_memory_equal(bytes, "\x42\x42\x42", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_fills_exactly_and_differs),
		cmocka_unit_test(random_comes_from_installed_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
