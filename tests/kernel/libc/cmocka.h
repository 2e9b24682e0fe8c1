/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The part of cmocka that unit tests of pure rooms use, inside the kernel. */
#ifndef COLIBRI_KERNEL_CMOCKA_H
#define COLIBRI_KERNEL_CMOCKA_H

#include <linux/kernel.h>
#include <linux/string.h>

typedef int (*cmocka_fixture)(void **state);

struct CMUnitTest {
	const char *name;
	void (*test_func)(void **state);
	cmocka_fixture setup_func;
	cmocka_fixture teardown_func;
	void          *initial_state;
};

#define cmocka_unit_test(f)             \
	{                               \
#f, f, NULL, NULL, NULL \
	}
#define cmocka_unit_test_setup(f, setup) \
	{                                \
#f, f, setup, NULL, NULL \
	}
#define cmocka_unit_test_teardown(f, teardown) \
	{                                      \
#f, f, NULL, teardown, NULL    \
	}
#define cmocka_unit_test_setup_teardown(f, setup, teardown) \
	{                                                   \
#f, f, setup, teardown, NULL                \
	}
#define cmocka_unit_test_prestate(f, state) \
	{                                   \
#f, f, NULL, NULL, state    \
	}
#define cmocka_unit_test_prestate_setup_teardown(f, setup, teardown, state) \
	{                                                                   \
#f, f, setup, teardown, state                               \
	}

int kernel_tests_run(const struct CMUnitTest *tests, size_t nr,
		     cmocka_fixture setup, cmocka_fixture teardown);
#define cmocka_run_group_tests(tests, setup, teardown) \
	kernel_tests_run(tests, ARRAY_SIZE(tests), setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
	cmocka_run_group_tests(tests, setup, teardown)

void kernel_test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void kernel_test_skip(void) __attribute__((noreturn));
void kernel_test_int(unsigned long long a, unsigned long long b, bool equal,
		     const char *file, int line);
void kernel_test_range(unsigned long long v, unsigned long long lo,
		       unsigned long long hi, const char *file, int line);

#define fail_msg(...)      kernel_test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail()             fail_msg("failed")
#define skip()             kernel_test_skip()
#define print_message(...) ((void)printk(KERN_INFO __VA_ARGS__))
#define print_error(...)   ((void)printk(KERN_ERR __VA_ARGS__))

#define kernel_assert(cond, ...)               \
	do {                                   \
		if (!(cond))                   \
			fail_msg(__VA_ARGS__); \
	} while (0)

#define assert_true(c)     kernel_assert((c), "%s", #c)
#define assert_false(c)    kernel_assert(!(c), "!(%s)", #c)
#define assert_null(p)     kernel_assert((p) == NULL, "%s is not NULL", #p)
#define assert_non_null(p) kernel_assert((p) != NULL, "%s is NULL", #p)
/* The widths of both need not be the same. */
#define kernel_wide(x) ((unsigned long long)(x))
#define assert_int_equal(a, b)                                          \
	kernel_test_int(kernel_wide(a), kernel_wide(b), true, __FILE__, \
			__LINE__)
#define assert_int_not_equal(a, b)                                       \
	kernel_test_int(kernel_wide(a), kernel_wide(b), false, __FILE__, \
			__LINE__)
#define assert_in_range(v, lo, hi)                                          \
	kernel_test_range(kernel_wide(v), kernel_wide(lo), kernel_wide(hi), \
			  __FILE__, __LINE__)
#define assert_not_in_range(v, lo, hi)                               \
	kernel_assert(kernel_wide(v) < kernel_wide(lo) ||            \
			      kernel_wide(v) > kernel_wide(hi),      \
		      "%llu is within %llu to %llu", kernel_wide(v), \
		      kernel_wide(lo), kernel_wide(hi))
#define assert_ptr_equal(a, b)                                                \
	kernel_assert((const void *)(a) == (const void *)(b), "%s != %s", #a, \
		      #b)
#define assert_ptr_not_equal(a, b)                                            \
	kernel_assert((const void *)(a) != (const void *)(b), "%s == %s", #a, \
		      #b)
#define assert_string_equal(a, b)                                      \
	do {                                                           \
		const char *kernel_a = (a);                            \
		const char *kernel_b = (b);                            \
		kernel_assert(strcmp(kernel_a, kernel_b) == 0,         \
			      "\"%s\" != \"%s\"", kernel_a, kernel_b); \
	} while (0)
#define assert_string_not_equal(a, b) \
	kernel_assert(strcmp((a), (b)) != 0, "%s == %s", #a, #b)
#define assert_memory_equal(a, b, nr) \
	kernel_assert(memcmp((a), (b), (nr)) == 0, "%s differs from %s", #a, #b)
#define assert_memory_not_equal(a, b, nr) \
	kernel_assert(memcmp((a), (b), (nr)) != 0, "%s equals %s", #a, #b)

#endif
