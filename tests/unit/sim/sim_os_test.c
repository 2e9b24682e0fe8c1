/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The simulator's part of os: descriptors, random bytes, sleep. */
#include <poll.h>

#include "unit/sim/worker.h"

enum {
	SEED = 11
};

static struct m0_sim sim;

static int setup(void **state)
{
	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	m0_sim_fini(&sim);
	return 0;
}

static bool is_readable(const struct m0_os_fd *fd)
{
	struct pollfd pollfd = { .fd = fd->of_fd, .events = POLLIN };
	bool          polled = poll(&pollfd, 1, 0) == 1;

	assert_int_equal(polled, m0_os_fd_is_readable(fd));
	return polled;
}

/* Signals and clears are seen by poll(), as with a real one. */
static void fd_signal_makes_readable(void **state)
{
	struct m0_os_fd fd;

	(void)state;
	assert_int_equal(m0_os_fd_open(&fd), 0);
	assert_false(is_readable(&fd));
	m0_os_fd_signal(&fd);
	m0_os_fd_signal(&fd);
	assert_true(is_readable(&fd));
	m0_os_fd_clear(&fd);
	assert_false(is_readable(&fd));
	m0_os_fd_close(&fd);
	assert_int_equal(fd.of_fd, -1);
}

/* The deadline is one of virtual time, and moves the clock if need be. */
static void fd_deadline_makes_readable(void **state)
{
	struct m0_os_fd fd;

	(void)state;
	assert_int_equal(m0_os_fd_open(&fd), 0);
	m0_os_fd_arm(&fd, m0_time_from_now(0, 5000000));
	m0_sim_run_ms(&sim, 4);
	assert_false(is_readable(&fd));
	assert_true(m0_sim_step(&sim));
	assert_int_equal(m0_sim_elapsed_ns(&sim), 5 * M0_TIME_ONE_MSEC);
	assert_true(is_readable(&fd));
	m0_os_fd_clear(&fd);
	assert_false(is_readable(&fd));
	assert_false(m0_sim_step(&sim));
	m0_os_fd_close(&fd);
}

/* A deadline in the past: at once. Moved or dropped: not for the old one. */
static void fd_rearmed_follows_last(void **state)
{
	struct m0_os_fd fd;

	(void)state;
	assert_int_equal(m0_os_fd_open(&fd), 0);
	m0_os_fd_arm(&fd, m0_time_now());
	assert_true(is_readable(&fd));
	m0_os_fd_arm(&fd, m0_time_from_now(1, 0));
	assert_false(is_readable(&fd));
	m0_os_fd_arm(&fd, m0_time_from_now(2, 0));
	m0_sim_run_ms(&sim, 1500);
	assert_false(is_readable(&fd));
	m0_os_fd_arm(&fd, M0_TIME_NEVER);
	m0_sim_run_ms(&sim, 1500);
	assert_false(is_readable(&fd));
	m0_os_fd_close(&fd);
}

/* Closing one leaves the others as they are. */
static void fd_close_leaves_others(void **state)
{
	struct m0_os_fd fd[3];
	int             i;

	(void)state;
	for (i = 0; i < 3; ++i) {
		assert_int_equal(m0_os_fd_open(&fd[i]), 0);
		m0_os_fd_arm(&fd[i], m0_time_from_now((uint64_t)i + 1, 0));
	}
	m0_os_fd_close(&fd[0]);
	m0_sim_run_ms(&sim, 2500);
	assert_true(is_readable(&fd[1]));
	assert_false(is_readable(&fd[2]));
	m0_os_fd_close(&fd[1]);
	m0_sim_run_ms(&sim, 1000);
	assert_true(is_readable(&fd[2]));
	m0_os_fd_close(&fd[2]);
}

/* Random bytes and the wall clock are the seed's, too. */
static void random_follows_seed(void **state)
{
	uint8_t  bytes[3][32];
	uint64_t wall;
	int      i;

	(void)state;
	m0_sim_fini(&sim);
	for (i = 0; i < 3; ++i) {
		m0_sim_init(&sim, i < 2 ? SEED : SEED + 1);
		m0_os_random(bytes[i], sizeof bytes[i]);
		wall = m0_os_wall_ns();
		m0_nanosleep(M0_TIME_ONE_SECOND, NULL);
		assert_in_range(m0_os_wall_ns() - wall, M0_TIME_ONE_SECOND,
				M0_TIME_ONE_SECOND + M0_TIME_ONE_MSEC);
		m0_sim_fini(&sim);
	}
	assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
	assert_memory_not_equal(bytes[0], bytes[2], sizeof bytes[0]);
	setup(NULL);
}

/* Processors that are not there are refused, as by the real runner. */
static void start_bad_processors_refused(void **state)
{
	struct m0_bitmap cpus;
	struct worker    w;

	(void)state;
	assert_int_equal(m0_bitmap_init(&cpus, 8), 0);
	worker_init(&w, "w", NULL, NULL);
	assert_int_equal(m0_strand_start(&w.w_strand, &cpus), -EINVAL);
	m0_strand_wake(&w.w_strand);
	assert_false(m0_sim_step(&sim));
	m0_strand_fini(&w.w_strand);
	m0_bitmap_fini(&cpus);
}

/*
 * A strand that spins does not sleep and needs no wake; it falls asleep when
 * its time is over, but not over work.
 */
static void strand_spinning_needs_no_wake(void **state)
{
	struct m0_sim_cfg cfg = m0_sim_cfg_calm;
	struct worker     w;
	uint64_t          steps;
	unsigned          spun = 0;
	int               i;

	(void)state;
	m0_sim_fini(&sim);
	cfg.simc_spin_pct = 50;
	m0_sim_init_cfg(&sim, SEED, &cfg);
	worker_init(&w, "w", NULL, NULL);
	w.w_strand.st_ops = &worker_ready_ops;
	w.w_strand.st_spin_ns = 100000;
	assert_int_equal(m0_strand_start(&w.w_strand, NULL), 0);
	for (i = 0; i < 100; ++i) {
		m0_sim_settle(&sim);
		steps = worker_steps(&w);
		if (m0_strand_sleeps(&w.w_strand)) {
			m0_strand_wake(&w.w_strand);
		} else {
			++spun;
			w.w_ready = 1;
			assert_true(m0_sim_step(&sim));
			assert_int_equal(worker_steps(&w), steps + 1);
			w.w_ready = 0;
			m0_sim_run_ms(&sim, 1);
			assert_true(m0_strand_sleeps(&w.w_strand));
			m0_strand_wake(&w.w_strand);
		}
		assert_false(m0_strand_sleeps(&w.w_strand));
	}
	assert_in_range(spun, 10, 90);
	worker_stop(&w);
}

/* If the clock jumps over the spin time, a strand looks once more before it
 * sleeps. */
static void strand_falling_asleep_looks_once_more(void **state)
{
	struct m0_sim_cfg cfg = m0_sim_cfg_calm;
	struct worker     w;

	(void)state;
	m0_sim_fini(&sim);
	cfg.simc_spin_pct = 100;
	/* Time passes between the test's calls, without any turn. */
	cfg.simc_now_ns_max = 50000;
	m0_sim_init_cfg(&sim, SEED, &cfg);
	worker_init(&w, "w", NULL, NULL);
	w.w_strand.st_ops = &worker_ready_ops;
	w.w_strand.st_spin_ns = 100000;
	assert_int_equal(m0_strand_start(&w.w_strand, NULL), 0);
	m0_sim_settle(&sim);
	assert_int_equal(worker_steps(&w), 1);
	assert_false(m0_strand_sleeps(&w.w_strand));
	w.w_ready = 1;
	while (m0_time_now() < 1001 * M0_TIME_ONE_SECOND)
		if (m0_sim_elapsed_ns(&sim) > 1000000)
			break;
	w.w_ready = 0;
	m0_sim_settle(&sim);
	assert_int_equal(worker_steps(&w), 2);
	worker_stop(&w);
}

static m0_time_t work_twice(struct worker *w, m0_time_t now)
{
	(void)now;
	w->w_ready = worker_steps(w) < 2;
	return M0_TIME_NEVER;
}

/* A step that leaves work behind is followed by another, as with a thread. */
static void strand_with_work_does_not_sleep(void **state)
{
	struct worker w;

	(void)state;
	worker_init(&w, "w", work_twice, NULL);
	w.w_strand.st_ops = &worker_ready_ops;
	assert_int_equal(m0_strand_start(&w.w_strand, NULL), 0);
	/* Nor does it sleep before it has run for the first time. */
	assert_false(m0_strand_sleeps(&w.w_strand));
	m0_sim_settle(&sim);
	assert_int_equal(worker_steps(&w), 3);
	assert_true(m0_strand_sleeps(&w.w_strand));
	assert_int_equal(w.w_strand.st_wakeups_nr, 0);
	worker_stop(&w);
}

static m0_time_t once_more_after_a_ms(struct worker *w, m0_time_t now)
{
	return worker_steps(w) == 0 ? now + M0_TIME_ONE_MSEC : M0_TIME_NEVER;
}

/* Wakes and deadlines that end a sleep are counted; idleness costs nothing. */
static void strand_wakeups_are_counted(void **state)
{
	struct worker w;

	(void)state;
	worker_start(&w, "w", once_more_after_a_ms, NULL);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(w.w_strand.st_wakeups_nr, 1);
	m0_strand_wake(&w.w_strand);
	m0_strand_wake(&w.w_strand);
	m0_sim_run_ms(&sim, 3600 * 1000);
	assert_int_equal(w.w_strand.st_wakeups_nr, 2);
	assert_int_equal(w.w_strand.st_steps_nr, 3);
	worker_stop(&w);
}

struct door {
	struct m0_mutex d_lock;
	struct m0_cond  d_cond;
	bool            d_open;
};

static m0_time_t door_open(struct worker *w, m0_time_t now)
{
	struct door *door = w->w_arg;

	if (worker_steps(w) < 5)
		return now + M0_TIME_ONE_MSEC;
	m0_mutex_lock(&door->d_lock);
	door->d_open = true;
	m0_cond_signal(&door->d_cond);
	m0_mutex_unlock(&door->d_lock);
	return M0_TIME_NEVER;
}

/* Conditions work here, too, if by looking every millisecond. */
static void cond_waits_in_virtual_time(void **state)
{
	struct door   door = { .d_lock = M0_MUTEX_SINIT(&door.d_lock) };
	m0_time_t     deadline = m0_time_from_now(0, 1500000);
	struct worker w;

	(void)state;
	m0_cond_init(&door.d_cond, &door.d_lock);
	m0_mutex_lock(&door.d_lock);
	while (m0_cond_timedwait(&door.d_cond, deadline))
		;
	assert_int_equal(m0_time_now(), deadline);
	worker_start(&w, "w", door_open, &door);
	while (!door.d_open)
		m0_cond_wait(&door.d_cond);
	m0_mutex_unlock(&door.d_lock);
	assert_in_range(m0_time_now() - deadline, 5 * M0_TIME_ONE_MSEC,
			6 * M0_TIME_ONE_MSEC);
	worker_stop(&w);
	m0_cond_fini(&door.d_cond);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(fd_signal_makes_readable),
		CASE(fd_deadline_makes_readable),
		CASE(fd_rearmed_follows_last),
		CASE(fd_close_leaves_others),
		CASE(strand_with_work_does_not_sleep),
		CASE(strand_wakeups_are_counted),
		CASE(cond_waits_in_virtual_time),
		CASE(random_follows_seed),
		CASE(start_bad_processors_refused),
		CASE(strand_spinning_needs_no_wake),
		CASE(strand_falling_asleep_looks_once_more),
	};

	return cmocka_run_group_tests_name("sim_os", tests, NULL, NULL);
}
