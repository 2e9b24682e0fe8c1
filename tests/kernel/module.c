// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A module that runs unit tests when it is loaded, and says what they found. Loading
 * fails if a test does, so that insmod's status is the verdict.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "kern/os/kern_os.h"
#include "kern/os/kern_tls.h"
#include "kern/tcp/kern_tcp.h"
#include <cmocka.h>
#include <setjmp.h>
#include <programs.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Unit tests of Colibri");

static const char *program_name;
/* The thread that runs the tests, and where it goes when one fails. */
static struct task_struct *test_task;
static jmp_buf             test_env;
static unsigned            passed_nr;
static unsigned            failed_nr;
static unsigned            skipped_nr;

enum {
	TEST_FAILED = 1,
	TEST_SKIPPED = 2
};

/* A test's __builtin_popcountll(), where the processor may have no instruction. */
int __popcountdi2(long word);
int __popcountdi2(long word)
{
	return (int)hweight64((u64)word);
}

void kernel_test_fail(const char *file, int line, const char *fmt, ...)
{
	struct va_format text;
	va_list          args;

	va_start(args, fmt);
	text.fmt = fmt;
	text.va = &args;
	printk(KERN_ERR "colibri: %s:%d: %pV\n", file, line, &text);
	va_end(args);
	/* The jump leads back on the stack of this thread alone. */
	BUG_ON(current != test_task);
	longjmp(test_env, TEST_FAILED);
}

void kernel_test_skip(void)
{
	longjmp(test_env, TEST_SKIPPED);
}

void kernel_test_int(unsigned long long a, unsigned long long b, bool equal,
		     const char *file, int line)
{
	if ((a == b) != equal)
		kernel_test_fail(file, line, "%lld (0x%llx) %s %lld (0x%llx)",
				 a, a, equal ? "!=" : "==", b, b);
}

void kernel_test_range(unsigned long long v, unsigned long long lo,
		       unsigned long long hi, const char *file, int line)
{
	if (v < lo || v > hi)
		kernel_test_fail(file, line, "%llu is not within %llu to %llu",
				 v, lo, hi);
}

static void test_abort(void)
{
	kernel_test_fail("-", 0, "an assertion of the library");
}

static void test_log(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	if (level <= M0_LOG_ERROR)
		printk(KERN_INFO "colibri: %s\n", text);
}

static struct m0_base_hooks test_hooks;

/* Returns what the fixture returns; TEST_FAILED: it has jumped. */
static int fixture_run(cmocka_fixture fixture, void **state)
{
	if (fixture == NULL)
		return 0;
	return setjmp(test_env) != 0 ? TEST_FAILED : fixture(state);
}

static int test_body_run(const struct CMUnitTest *test, void **state)
{
	int rc = setjmp(test_env);

	if (rc == 0)
		test->test_func(state);
	return rc;
}

static int test_run(const struct CMUnitTest *test, void **state)
{
	int rc = fixture_run(test->setup_func, state);

	if (rc != 0)
		return TEST_FAILED;
	rc = test_body_run(test, state);
	/* A jump may have left steps, and locks that were held. */
	if (rc != 0)
		m0_strand_forget();
	return fixture_run(test->teardown_func, state) != 0 ? TEST_FAILED : rc;
}

static void result_count(const char *name, int result)
{
	switch (result) {
	case 0:
		++passed_nr;
		break;
	case TEST_SKIPPED:
		++skipped_nr;
		break;
	default:
		++failed_nr;
		printk(KERN_ERR "colibri: %s: %s failed\n", program_name, name);
	}
}

int kernel_tests_run(const struct CMUnitTest *tests, size_t nr,
		     cmocka_fixture setup, cmocka_fixture teardown)
{
	void    *group = NULL;
	unsigned failed = failed_nr;
	size_t   i;

	if (fixture_run(setup, &group) != 0) {
		result_count("set-up", TEST_FAILED);
		return 1;
	}
	for (i = 0; i < nr; ++i) {
		void *state = tests[i].initial_state != NULL
				      ? tests[i].initial_state
				      : group;

		result_count(tests[i].name, test_run(&tests[i], &state));
		cond_resched();
	}
	if (fixture_run(teardown, &group) != 0)
		result_count("tear-down", TEST_FAILED);
	return failed_nr != failed;
}

static void programs_run(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(programs); ++i) {
		unsigned long begin = jiffies;

		program_name = programs[i].name;
		m0_base_hooks_set(&test_hooks);
		m0_host_ops_set(&kern_host_ops);
		m0_panic_hook_set(NULL);
		m0_log_set(NULL, NULL);
		m0_log_level_set(M0_LOG_WARN);
		m0_alloc_hook_set(NULL);
		programs[i].run();
		printk(KERN_INFO "colibri: %s: %u ms\n", program_name,
		       jiffies_to_msecs(jiffies - begin));
	}
}

static int __init tests_start(void)
{
	int rc;

	test_hooks = kern_hooks;
	test_hooks.bh_abort = test_abort;
	test_hooks.bh_log = test_log;
	m0_base_hooks_set(&test_hooks);
	test_task = current;
	rc = kern_enter();
	if (rc != 0)
		return rc;
	programs_run();
	kern_leave();
	printk(KERN_ERR
	       "colibri: %u passed, %u failed, %u skipped in %zu programs\n",
	       passed_nr, failed_nr, skipped_nr, ARRAY_SIZE(programs));
	return failed_nr == 0 && passed_nr > 0 ? 0 : -EIO;
}

static void __exit tests_end(void)
{
}

module_init(tests_start);
module_exit(tests_end);
