/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/loop.h"

static struct m0_loop loop;

/* A descriptor that counts what it is told. */
struct told {
	struct m0_loop_fd  to_fd;
	int                to_nr;
	unsigned           to_events;
	struct m0_loop_fd *to_victim;
};

static void told_handler(struct m0_loop_fd *fd, unsigned events)
{
	struct told *told = container_of(fd, struct told, to_fd);

	++told->to_nr;
	told->to_events |= events;
	if (told->to_victim != NULL)
		m0_loop_del(&loop, told->to_victim);
}

static void notified_add(struct told *told, int fd)
{
	M0_SET0(told);
	told->to_fd.lof_fd = fd;
	told->to_fd.lof_handler = told_handler;
	assert_int_equal(m0_loop_add(&loop, &told->to_fd), 0);
}

static void pair_make(int pair[2])
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
}

static void pair_close(const int pair[2])
{
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(close(pair[1]), 0);
}

static bool is_readable(void)
{
	struct pollfd poll_fd = { .fd = m0_loop_pollable(&loop),
				  .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static unsigned look(void)
{
	return m0_loop_wait(&loop, M0_TIME_IMMEDIATELY);
}

/* The loop reports each event once: both directions, and the end. */
static void loop_events_are_told_once(void **state)
{
	struct told told;
	int         pair[2];

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	pair_make(pair);
	notified_add(&told, pair[0]);
	assert_int_equal(look(), M0_LOOP_FD);
	assert_int_equal(told.to_events, M0_LOOP_OUT);
	assert_int_equal(look(), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(look(), M0_LOOP_FD);
	assert_int_equal(told.to_events, M0_LOOP_OUT | M0_LOOP_IN);
	/* Not read, and told no more. */
	assert_int_equal(look(), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(look(), M0_LOOP_FD);
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	assert_int_equal(look(), M0_LOOP_FD);
	assert_true(told.to_events & M0_LOOP_END);
	assert_int_equal(told.to_nr, 4);
	m0_loop_del(&loop, &told.to_fd);
	m0_loop_fini(&loop);
	pair_close(pair);
}

/* A handler may delete a descriptor that is ready, or its own. */
static void loop_del_in_handler_silences(void **state)
{
	struct told told[2];
	int         pair[2][2];
	int         i;

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	for (i = 0; i < 2; ++i) {
		pair_make(pair[i]);
		notified_add(&told[i], pair[i][0]);
	}
	told[0].to_victim = &told[1].to_fd;
	told[1].to_victim = &told[0].to_fd;
	assert_int_equal(look(), M0_LOOP_FD);
	assert_int_equal(told[0].to_nr + told[1].to_nr, 1);
	/* The one that is left deletes itself. */
	i = told[0].to_nr == 1 ? 0 : 1;
	told[i].to_victim = &told[i].to_fd;
	assert_int_equal(write(pair[i][1], "x", 1), 1);
	assert_int_equal(look(), M0_LOOP_FD);
	assert_int_equal(write(pair[i][1], "x", 1), 1);
	assert_int_equal(look(), 0);
	m0_loop_fini(&loop);
	pair_close(pair[0]);
	pair_close(pair[1]);
}

/* A rouse ends the next wait, several end one; each new one ends another. */
static void loop_rouse_ends_next_wait(void **state)
{
	int i;

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	for (i = 0; i < 3; ++i) {
		m0_loop_rouse(&loop);
		m0_loop_rouse(&loop);
		assert_int_equal(m0_loop_wait(&loop, M0_TIME_NEVER),
				 M0_LOOP_ROUSED);
		assert_int_equal(look(), 0);
	}
	m0_loop_fini(&loop);
}

/* A second rouse costs no system call: the eventfd counts the first alone. */
static void loop_second_rouse_is_free(void **state)
{
	uint64_t nr = 0;

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	m0_loop_rouse(&loop);
	m0_loop_rouse(&loop);
	m0_loop_rouse(&loop);
	assert_int_equal(read(loop.lop_event, &nr, sizeof nr), sizeof nr);
	assert_int_equal(nr, 1);
	m0_loop_fini(&loop);
}

/* A wait lasts until its deadline, not less. */
static void loop_wait_keeps_deadline(void **state)
{
	m0_time_t deadline;

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	deadline = m0_time_from_now(0, 3000000);
	assert_int_equal(m0_loop_wait(&loop, deadline), 0);
	assert_true(m0_time_now() >= deadline);
	/* One that has passed is a look. */
	assert_int_equal(m0_loop_wait(&loop, 1), 0);
	m0_loop_fini(&loop);
}

/* The timer stays at an early deadline, which ends one wait for nothing. */
static void loop_wait_leaves_timer_at_early_deadline(void **state)
{
	m0_time_t early = m0_time_from_now(0, 100 * M0_TIME_ONE_MSEC);
	m0_time_t late = m0_time_add(early, 50 * M0_TIME_ONE_MSEC);

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	assert_int_equal(m0_loop_arm(&loop, early), 0);
	m0_loop_rouse(&loop);
	assert_int_equal(m0_loop_wait(&loop, late), M0_LOOP_ROUSED);
	assert_true(loop.lop_armed == early);
	assert_int_equal(m0_loop_wait(&loop, late), 0);
	assert_true(m0_time_now() >= early);
	assert_int_equal(m0_loop_wait(&loop, late), 0);
	assert_true(m0_time_now() >= late);
	assert_true(loop.lop_armed == M0_TIME_NEVER);
	m0_loop_fini(&loop);
}

/* For other loops: readable by an event, by a rouse, and not afterwards. */
static void loop_pollable_shows_events(void **state)
{
	struct told told;
	int         pair[2];

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	pair_make(pair);
	notified_add(&told, pair[0]);
	(void)look();
	assert_false(is_readable());
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_true(is_readable());
	(void)look();
	assert_false(is_readable());
	m0_loop_rouse(&loop);
	assert_true(is_readable());
	(void)look();
	assert_false(is_readable());
	m0_loop_fini(&loop);
	pair_close(pair);
}

/* An armed deadline shows in the descriptor, once it has come. */
static void loop_armed_deadline_shows(void **state)
{
	struct pollfd poll_fd = { .events = POLLIN };
	m0_time_t     deadline;

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	assert_int_equal(m0_loop_arm(&loop, M0_TIME_NEVER), 0);
	assert_int_equal(loop.lop_timer, -1);
	deadline = m0_time_from_now(0, 3000000);
	assert_int_equal(m0_loop_arm(&loop, m0_time_from_now(3600, 0)), 0);
	assert_int_equal(m0_loop_arm(&loop, deadline), 0);
	assert_int_equal(m0_loop_arm(&loop, M0_TIME_NEVER), 0);
	poll_fd.fd = m0_loop_pollable(&loop);
	assert_int_equal(poll(&poll_fd, 1, -1), 1);
	assert_true(m0_time_now() >= deadline);
	assert_int_equal(look(), 0);
	assert_false(is_readable());
	/* The past is now. */
	assert_int_equal(m0_loop_arm(&loop, 1), 0);
	assert_true(is_readable());
	(void)look();
	assert_int_equal(m0_loop_arm(&loop, M0_TIME_IMMEDIATELY), 0);
	assert_true(is_readable());
	(void)look();
	m0_loop_fini(&loop);
}

/* More descriptors than one look takes: all are told in the end. */
static void loop_many_are_told_in_turn(void **state)
{
	static struct told told[M0_LOOP_EVENTS_MAX * 2 + 5];
	size_t             i;
	int                looks_nr = 0;

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	for (i = 0; i < ARRAY_SIZE(told); ++i)
		notified_add(&told[i], eventfd(1, EFD_CLOEXEC));
	while (look() != 0)
		++looks_nr;
	assert_int_equal(looks_nr, 3);
	for (i = 0; i < ARRAY_SIZE(told); ++i) {
		assert_int_equal(told[i].to_nr, 1);
		assert_int_equal(close(told[i].to_fd.lof_fd), 0);
	}
	m0_loop_fini(&loop);
}

/* A descriptor that cannot be watched is refused. */
static void loop_add_of_bad_fd_fails(void **state)
{
	struct told told = { .to_fd = { .lof_fd = -1,
					.lof_handler = told_handler } };

	(void)state;
	assert_int_equal(m0_loop_init(&loop), 0);
	assert_int_equal(m0_loop_add(&loop, &told.to_fd), -EBADF);
	m0_loop_fini(&loop);
}

enum {
	ROUSES_NR = 20000
};

static int posted;

static void poster(int nr)
{
	for (; nr > 0; --nr) {
		__atomic_add_fetch(&posted, 1, __ATOMIC_SEQ_CST);
		m0_loop_rouse(&loop);
	}
}

/* Many threads rouse: what was posted before the last rouse is always seen. */
static void loop_rouse_is_never_lost(void **state)
{
	struct m0_thread thread[2];
	m0_time_t        end = m0_time_from_now(60, 0);
	size_t           i;

	(void)state;
	posted = 0;
	assert_int_equal(m0_loop_init(&loop), 0);
	for (i = 0; i < ARRAY_SIZE(thread); ++i)
		assert_int_equal(M0_THREAD_INIT(&thread[i], int, NULL, poster,
						ROUSES_NR, "poster"),
				 0);
	/* A lost one is a wait until the end. */
	while (__atomic_load_n(&posted, __ATOMIC_SEQ_CST) <
	       (int)ARRAY_SIZE(thread) * ROUSES_NR) {
		(void)m0_loop_wait(&loop, end);
		assert_true(m0_time_now() < end);
	}
	for (i = 0; i < ARRAY_SIZE(thread); ++i) {
		assert_int_equal(m0_thread_join(&thread[i]), 0);
		m0_thread_fini(&thread[i]);
	}
	m0_loop_fini(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loop_events_are_told_once),
		cmocka_unit_test(loop_del_in_handler_silences),
		cmocka_unit_test(loop_rouse_ends_next_wait),
		cmocka_unit_test(loop_second_rouse_is_free),
		cmocka_unit_test(loop_wait_keeps_deadline),
		cmocka_unit_test(loop_wait_leaves_timer_at_early_deadline),
		cmocka_unit_test(loop_pollable_shows_events),
		cmocka_unit_test(loop_armed_deadline_shows),
		cmocka_unit_test(loop_many_are_told_in_turn),
		cmocka_unit_test(loop_add_of_bad_fd_fails),
		cmocka_unit_test(loop_rouse_is_never_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
