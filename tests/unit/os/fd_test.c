/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/os.h"

static struct m0_os_fd fd;

static unsigned reads_nr;

ssize_t __real_read(int from, void *buf, size_t nr);
ssize_t __wrap_read(int from, void *buf, size_t nr);

ssize_t __wrap_read(int from, void *buf, size_t nr)
{
	reads_nr += from == fd.of_event;
	return __real_read(from, buf, nr);
}

static int setup(void **state)
{
	(void)state;
	return m0_os_fd_open(&fd);
}

static int teardown(void **state)
{
	(void)state;
	m0_os_fd_close(&fd);
	assert_int_equal(fd.of_fd, -1);
	return 0;
}

static bool readable(int timeout_ms)
{
	struct pollfd pfd = { .fd = fd.of_fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

/* Signals do not add up, and one clear takes them away. */
static void fd_signal_and_clear(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3; ++i) {
		assert_false(readable(0));
		assert_false(m0_os_fd_is_readable(&fd));
		m0_os_fd_signal(&fd);
		m0_os_fd_signal(&fd);
		assert_true(readable(0));
		assert_true(m0_os_fd_is_readable(&fd));
		m0_os_fd_clear(&fd);
		m0_os_fd_clear(&fd);
	}
	assert_false(readable(0));
}

/* A clear makes a system call only if a signal has written. */
static void fd_clear_reads_what_was_written(void **state)
{
	(void)state;
	m0_os_fd_signal(&fd);
	reads_nr = 0;
	m0_os_fd_clear(&fd);
	assert_int_equal(reads_nr, 1);
	m0_os_fd_clear(&fd);
	assert_int_equal(reads_nr, 1);
}

/* Readable once the deadline has passed, not before, until cleared. */
static void fd_deadline_makes_readable(void **state)
{
	m0_time_t deadline = m0_time_from_now(0, 3000000);

	(void)state;
	m0_os_fd_arm(&fd, deadline);
	m0_os_fd_clear(&fd);
	assert_true(readable(10000));
	assert_true(m0_time_now() >= deadline);
	assert_true(m0_os_fd_is_readable(&fd));
	m0_os_fd_clear(&fd);
	assert_false(readable(0));
	assert_false(m0_os_fd_is_readable(&fd));
	assert_false(fd.of_armed);
}

/* The past is readable at once; NEVER disarms; a clear keeps the future. */
static void fd_arm_edges(void **state)
{
	m0_time_t far = m0_time_from_now(3600, 0);

	(void)state;
	m0_os_fd_arm(&fd, M0_TIME_IMMEDIATELY);
	assert_true(readable(10000));
	m0_os_fd_arm(&fd, M0_TIME_NEVER);
	assert_false(readable(0));
	m0_os_fd_arm(&fd, far);
	assert_false(readable(0));
	m0_os_fd_signal(&fd);
	m0_os_fd_clear(&fd);
	assert_true(fd.of_armed && fd.of_deadline == far);
	assert_false(readable(0));
}

static int arm_nr;

static void counting_arm(struct m0_os_fd *which, m0_time_t deadline)
{
	(void)which;
	(void)deadline;
	++arm_nr;
}

/* An unchanged deadline costs no call. */
static void fd_arm_unchanged_makes_no_call(void **state)
{
	struct m0_os_ops ops = m0_os_real;

	(void)state;
	ops.oo_fd_arm = counting_arm;
	m0_os_set(&ops);
	m0_os_fd_arm(&fd, M0_TIME_NEVER);
	assert_int_equal(arm_nr, 0);
	m0_os_fd_arm(&fd, 5);
	m0_os_fd_arm(&fd, 5);
	assert_int_equal(arm_nr, 1);
	m0_os_set(NULL);
}

enum {
	ROUNDS_NR = 20000
};

static int posted;

static void poster(int rounds)
{
	while (rounds-- > 0) {
		__atomic_add_fetch(&posted, 1, __ATOMIC_SEQ_CST);
		m0_os_fd_signal(&fd);
	}
}

/* Cleared, then looked: no post is ever left unseen by a sleeping poller. */
static void fd_signals_are_never_lost(void **state)
{
	struct m0_thread thread;
	int              seen = 0;
	int              polls = 0;

	(void)state;
	assert_int_equal(M0_THREAD_INIT(&thread, int, NULL, poster, ROUNDS_NR,
					"poster"),
			 0);
	while (seen < ROUNDS_NR) {
		assert_true(readable(60000));
		m0_os_fd_clear(&fd);
		seen = __atomic_load_n(&posted, __ATOMIC_SEQ_CST);
		++polls;
	}
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	m0_os_fd_clear(&fd);
	/* Nor does a late write keep it readable for ever. */
	assert_false(readable(0));
	assert_int_equal(fd.of_signalled, 0);
	assert_true(polls > 0);
}

/* Out of descriptors: an error, and nothing stays open. */
static void fd_open_failure_leaves_nothing_open(void **state)
{
	struct rlimit   before;
	struct rlimit   few;
	struct m0_os_fd more;
	int             next;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	/* The next free number tells how many are open. */
	assert_int_equal(m0_os_fd_open(&more), 0);
	next = more.of_event;
	m0_os_fd_close(&more);
	for (few.rlim_cur = (rlim_t)next; few.rlim_cur < (rlim_t)next + 3;
	     ++few.rlim_cur) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(m0_os_fd_open(&more), -EMFILE);
		assert_int_equal(more.of_fd, -1);
		assert_int_equal(more.of_event, -1);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(m0_os_fd_open(&more), 0);
	assert_int_equal(more.of_event, next);
	m0_os_fd_close(&more);
}

/* A process that has closed its standard input gets descriptor 0 for the event. */
static void fd_event_may_be_zero(void **state)
{
	int input = dup(STDIN_FILENO);

	(void)state;
	assert_true(input > STDERR_FILENO);
	m0_os_fd_close(&fd);
	assert_int_equal(close(STDIN_FILENO), 0);
	assert_int_equal(m0_os_fd_open(&fd), 0);
	assert_int_equal(fd.of_event, STDIN_FILENO);
	m0_os_fd_signal(&fd);
	assert_true(readable(0));
	m0_os_fd_clear(&fd);
	assert_false(readable(0));
	m0_os_fd_close(&fd);
	assert_int_equal(close(STDIN_FILENO), -1);
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(input), 0);
	assert_int_equal(m0_os_fd_open(&fd), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(fd_signal_and_clear),
		CASE(fd_clear_reads_what_was_written),
		CASE(fd_deadline_makes_readable),
		CASE(fd_arm_edges),
		CASE(fd_arm_unchanged_makes_no_call),
		CASE(fd_signals_are_never_lost),
		CASE(fd_open_failure_leaves_nothing_open),
		CASE(fd_event_may_be_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
