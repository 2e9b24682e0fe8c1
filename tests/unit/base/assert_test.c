/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A true condition does nothing and is evaluated once. */
static void assert_true_passes(void **state)
{
	int nr = 0;

	(void)state;
	M0_ASSERT(++nr == 1);
	M0_PRE(++nr == 2);
	M0_POST(++nr == 3);
	M0_ASSERT_INFO(++nr == 4, "nr is %d", nr);
	assert_int_equal(nr, 4);
}

/* A failed assertion prints its place, its kind and its condition. */
static void assert_false_tells_place_and_condition(void **state)
{
	int two = 2;

	(void)state;
	assert_panics(M0_PRE(two == 3));
	assert_non_null(strstr(panics_text, "assert_test.c:"));
	assert_non_null(strstr(panics_text, "precondition"));
	assert_non_null(strstr(panics_text, "two == 3"));
	assert_panics(M0_POST(two == 4));
	assert_non_null(strstr(panics_text, "postcondition"));
}

static bool pair_invariant(int a, int b)
{
	return _0C(a > 0) && _0C(b > a);
}

/* The conjunct that was false is named, not only the whole. */
static void assert_invariant_names_failing_conjunct(void **state)
{
	(void)state;
	M0_ASSERT(pair_invariant(1, 2));
	assert_panics(M0_ASSERT(pair_invariant(5, 4)));
	assert_non_null(strstr(panics_text, "b > a"));
	assert_null(strstr(panics_text, "a > 0"));
	/* The next failed assertion no longer prints the conjunct of the one
	 * before. */
	assert_panics(M0_ASSERT(pair_invariant(5, 4) || 1 > 2));
	assert_panics(M0_ASSERT(1 > 2));
	assert_null(strstr(panics_text, "b > a"));
}

/* Explanations are formatted. */
static void assert_info_and_impossible_are_formatted(void **state)
{
	(void)state;
	assert_panics(M0_ASSERT_INFO(1 > 2, "limit %d of %s", 7, "it"));
	assert_non_null(strstr(panics_text, "limit 7 of it"));
	/* Behind the place and the condition. */
	assert_non_null(strstr(panics_text, "assert_test.c:"));
	assert_non_null(strstr(panics_text, "1 > 2"));
	assert_panics(M0_IMPOSSIBLE("state %d", 9));
	assert_non_null(strstr(panics_text, "state 9"));
}

/* A text longer than the buffer is cut, not written past it. */
static void assert_long_text_is_cut(void **state)
{
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = 0;
	assert_panics(M0_ASSERT_INFO(1 > 2, "%s", text));
	assert_in_range(strlen(panics_text), 100, 511);
}

/* Nobody asks for a debug invariant in a release, but it must compile. */
static void invariant_ex_follows_debug_flag(void **state)
{
	int nr = 0;

	(void)state;
	M0_INVARIANT_EX(++nr == 1);
#ifdef M0_DEBUG_CHECKS
	assert_int_equal(nr, 1);
#else
	assert_int_equal(nr, 0);
#endif
}

/* Without a hook the process aborts and standard error says why. */
static void assert_false_aborts_process(void **state)
{
	char    text[512] = "";
	ssize_t nr;
	int     fd[2];
	int     status;
	pid_t   pid;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		(void)dup2(fd[1], STDERR_FILENO);
		M0_ASSERT(text[0] == 'x');
		_exit(0);
	}
	close(fd[1]);
	nr = read(fd[0], text, sizeof text - 1);
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_true(nr > 0);
	assert_non_null(strstr(text, "colibri: fatal: "));
	assert_non_null(strstr(text, "text[0] == 'x'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assert_true_passes),
		cmocka_unit_test(assert_false_tells_place_and_condition),
		cmocka_unit_test(assert_invariant_names_failing_conjunct),
		cmocka_unit_test(assert_info_and_impossible_are_formatted),
		cmocka_unit_test(assert_long_text_is_cut),
		cmocka_unit_test(invariant_ex_follows_debug_flag),
		cmocka_unit_test(assert_false_aborts_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
