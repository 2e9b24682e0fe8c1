/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The last-resort end of a service that was asked to end. Its clock is turned
 * forward, so that the test does not wait for it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../tools/object/serve.h"

enum {
	/** Ends a service that does not end: the test fails. */
	PATIENCE_S = 20
};

/** The bound in the manual. */
#define BOUND_NS (10 * M0_TIME_ONE_SECOND)

static char path[64];
/* Whether the service waits for ever for its last operation. */
static bool is_stuck;
/* The stuck service has reached that wait. */
static struct m0_semaphore stuck;

void __real_serve_ops_wait(struct server *sv);
void __wrap_serve_ops_wait(struct server *sv);
bool __real_m0_semaphore_timeddown(struct m0_semaphore *semaphore,
				   m0_time_t            deadline);
bool __wrap_m0_semaphore_timeddown(struct m0_semaphore *semaphore,
				   m0_time_t            deadline);

void __wrap_serve_ops_wait(struct server *sv)
{
	m0_semaphore_up(&stuck);
	while (is_stuck)
		(void)pause();
	__real_serve_ops_wait(sv);
}

/* A deadline within the bound has passed as soon as the service is stuck; another
 * one never passes. */
bool __wrap_m0_semaphore_timeddown(struct m0_semaphore *semaphore,
				   m0_time_t            deadline)
{
	if (!is_stuck || deadline > m0_time_add(m0_time_now(), BOUND_NS))
		return __real_m0_semaphore_timeddown(semaphore, M0_TIME_NEVER);
	m0_semaphore_down(&stuck);
	return false;
}

static int up(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "serve_end.XXXXXX");
	assert_non_null(mkdtemp(path));
	return 0;
}

static int down(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", path);
	return system(command);
}

/* Does not return. */
static void service_run(int fd)
{
	char *argv[] = { "colibri serve", "--transport", "sunrpc",
			 "--json",        path,          NULL };
	int   rc;

	(void)alarm(PATIENCE_S);
	if (dup2(fd, STDOUT_FILENO) != STDOUT_FILENO)
		_exit(99);
	(void)close(fd);
	(void)m0_semaphore_init(&stuck, 0);
	rc = serve_main(ARRAY_SIZE(argv) - 1, argv);
	(void)fflush(stdout);
	_exit(rc);
}

/* Starts a service, sends SIGTERM to it, and reads what it prints.
 * @return how it ended, as waitpid() says. */
static int service_ends(char *ret_text, size_t size)
{
	int    fds[2];
	int    status;
	size_t nr = 0;
	bool   told = false;
	pid_t  child;

	assert_int_equal(pipe(fds), 0);
	(void)fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(fds[0]);
		service_run(fds[1]);
	}
	(void)close(fds[1]);
	for (;;) {
		ssize_t part = read(fds[0], ret_text + nr, size - 1 - nr);

		assert_true(part >= 0);
		nr += (size_t)part;
		ret_text[nr] = '\0';
		if (part == 0)
			break;
		/* The service accepts requests once its first line is whole. */
		if (!told && strchr(ret_text, '\n') != NULL) {
			assert_non_null(strstr(ret_text, "\"serving\""));
			assert_int_equal(kill(child, SIGTERM), 0);
			told = true;
		}
	}
	(void)close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(told);
	return status;
}

/* The process ends within the bound although an operation never does, and it
 * says what it did, once. */
static void check_end(bool with_stuck)
{
	char  text[2048];
	char *last;
	int   status;

	is_stuck = with_stuck;
	status = service_ends(text, sizeof text);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), TOOL_OK);
	last = strstr(text, "\"ended\"");
	assert_non_null(last);
	assert_null(strstr(last + 1, "\"ended\""));
}

static void stuck_service_ends(void **state)
{
	(void)state;
	check_end(true);
}

/* The thread that would end the process is dismissed: it waits for ever here. */
static void service_that_ends_by_itself(void **state)
{
	(void)state;
	check_end(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stuck_service_ends, up, down),
		cmocka_unit_test_setup_teardown(service_that_ends_by_itself, up,
						down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
