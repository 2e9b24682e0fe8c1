/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Runners of layers above, and the thread that an inline node is given. */
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "lib/threads.h"
#include "lnet/real_case.h"
#include "m0/lnet_run.h"
#include "os/os.h"

enum {
	WAKES = 2000
};

struct count {
	struct m0_lnet_runner ct_runner;
	unsigned              ct_runs_nr;
	m0_time_t             ct_next;
	m0_time_t             ct_last;
	/** Woken by each run until it was run so often. */
	unsigned ct_again_nr;
};

static unsigned runs(const struct count *count)
{
	return __atomic_load_n(&count->ct_runs_nr, __ATOMIC_ACQUIRE);
}

static m0_time_t count_run(struct m0_lnet_runner *runner, m0_time_t now)
{
	struct count *count = container_of(runner, struct count, ct_runner);
	m0_time_t     next = count->ct_next;

	count->ct_next = M0_TIME_NEVER;
	count->ct_last = now;
	if (runs(count) + 1 < count->ct_again_nr)
		m0_lnet_runner_wake(re.re_a.rn_lnet, runner);
	__atomic_fetch_add(&count->ct_runs_nr, 1, __ATOMIC_ACQ_REL);
	return next;
}

static void count_begin(struct count *count)
{
	memset(count, 0, sizeof *count);
	count->ct_next = M0_TIME_NEVER;
	count->ct_runner.ru_run = count_run;
	m0_lnet_runner_add(re.re_a.rn_lnet, &count->ct_runner);
}

static void until_runs(const struct count *count, unsigned nr)
{
	m0_time_t end = m0_time_from_now(20, 0);

	while (runs(count) < nr) {
		assert_true(m0_time_now() < end);
		real_turn(&re);
	}
}

/* A wake is a run, soon; several before it are one. */
static void runner_woken_is_run(void **state)
{
	struct count count;
	unsigned     i;

	(void)state;
	count_begin(&count);
	for (i = 1; i <= WAKES; ++i) {
		unsigned before = runs(&count);

		m0_lnet_runner_wake(re.re_a.rn_lnet, &count.ct_runner);
		until_runs(&count, before + 1);
	}
	assert_true(runs(&count) <= WAKES);
	m0_lnet_runner_del(re.re_a.rn_lnet, &count.ct_runner);
}

/* A runner woken during a run runs again after it, not within. */
static void runner_that_wakes_itself_is_run_again(void **state)
{
	struct count count;

	(void)state;
	count_begin(&count);
	count.ct_again_nr = 50;
	m0_lnet_runner_wake(re.re_a.rn_lnet, &count.ct_runner);
	until_runs(&count, 50);
	m0_lnet_runner_del(re.re_a.rn_lnet, &count.ct_runner);
	assert_int_equal(runs(&count), 50);
}

/* The time that a run returns is kept, not before and not never. */
static void runner_is_run_at_its_time(void **state)
{
	struct count count;
	m0_time_t    due = m0_time_from_now(0, 20000000);

	(void)state;
	count_begin(&count);
	count.ct_next = due;
	m0_lnet_runner_wake(re.re_a.rn_lnet, &count.ct_runner);
	until_runs(&count, 2);
	m0_lnet_runner_del(re.re_a.rn_lnet, &count.ct_runner);
	assert_true(count.ct_last >= due);
}

/* After del it is not run, though it was woken just before. */
static void runner_deleted_is_not_run(void **state)
{
	struct count count;
	unsigned     i;
	unsigned     seen;

	(void)state;
	for (i = 0; i < 200; ++i) {
		count_begin(&count);
		m0_lnet_runner_wake(re.re_a.rn_lnet, &count.ct_runner);
		if (i % 2)
			sched_yield();
		m0_lnet_runner_del(re.re_a.rn_lnet, &count.ct_runner);
		seen = runs(&count);
		real_turn(&re);
		assert_int_equal(runs(&count), seen);
	}
}

/* An inline node that is given a thread moves by itself from then on. */
static void inline_node_is_given_a_thread(void **state)
{
	struct m0_lnet *lnet = re.re_a.rn_lnet;
	struct count    count;
	m0_time_t       end = m0_time_from_now(20, 0);

	(void)state;
	count_begin(&count);
	assert_int_equal(m0_lnet_thread_start(lnet), 0);
	assert_int_equal(m0_lnet_thread_start(lnet), 0);
	assert_false(m0_lnet_is_inline(lnet));
	assert_int_equal(m0_lnet_fd(lnet), -ENOSYS);
	m0_lnet_runner_wake(lnet, &count.ct_runner);
	while (runs(&count) < 1) {
		assert_true(m0_time_now() < end);
		assert_false(m0_lnet_progress(lnet));
		sched_yield();
	}
	m0_lnet_runner_del(lnet, &count.ct_runner);
}

static struct m0_lnet *refused;

/* No thread is to be had; others go on posting meanwhile. */
static int start_refused(struct m0_strand *strand, const struct m0_bitmap *cpus)
{
	(void)strand;
	(void)cpus;
	/* A waiting thread makes progress until the node has a thread. */
	assert_true(m0_lnet_is_inline(refused));
	m0_lnet_stats_reset(refused);
	return -EAGAIN;
}

/* A node that cannot be given a thread stays inline, and has lost no wake-up. */
static void thread_refused_is_as_before(void **state)
{
	struct m0_os_ops   ops = m0_os_real;
	struct m0_lnet_cfg cfg;
	struct pollfd      pfd = { .events = POLLIN };
	char               why[M0_LNET_WHY_BYTES];

	(void)state;
	real_cfg(&cfg, 3);
	cfg.lc_inline = true;
	assert_int_equal(m0_lnet_open(&refused, &cfg, why), 0);
	pfd.fd = m0_lnet_fd(refused);
	while (poll(&pfd, 1, 0) == 1)
		(void)m0_lnet_progress(refused);
	ops.oo_strand_start = start_refused;
	m0_os_set(&ops);
	assert_int_equal(m0_lnet_thread_start(refused), -EAGAIN);
	m0_os_set(NULL);
	assert_true(m0_lnet_is_inline(refused));
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_true(m0_lnet_progress(refused));
	m0_lnet_close(refused);
}

/* The thread runs on the processors of the configuration, then of the call. */
static void node_processors_are_set(void **state)
{
	int                cpu = threads_cpu();
	struct m0_lnet_cfg cfg;
	struct m0_lnet    *lnet;
	struct m0_bitmap   map;
	char               why[M0_LNET_WHY_BYTES];

	(void)state;
	if (threads_cpus_nr() == 1)
		skip();
	real_cfg(&cfg, 1);
	strcpy(cfg.lc_cpus, "1023");
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), -EINVAL);
	assert_non_null(strstr(why, "lc_cpus is \"1023\""));
	snprintf(cfg.lc_cpus, sizeof cfg.lc_cpus, "%d", cpu);
	cfg.lc_inline = true;
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), 0);
	assert_int_equal(m0_lnet_thread_start(lnet), 0);
	assert_int_equal(threads_on("m0-lnet", cpu), 1);
	assert_int_equal(m0_bitmap_init(&map, 1024), 0);
	assert_int_equal(m0_lnet_confine(lnet, &map), -EINVAL);
	assert_int_equal(m0_lnet_confine(lnet, NULL), 0);
	assert_int_equal(threads_on("m0-lnet", cpu), 0);
	m0_bitmap_set(&map, (size_t)cpu, true);
	assert_int_equal(m0_lnet_confine(lnet, &map), 0);
	assert_int_equal(threads_on("m0-lnet", cpu), 1);
	m0_bitmap_fini(&map);
	m0_lnet_close(lnet);
}

int main(void)
{
#define CASE(name) REAL_TWO(name, real_setup, real_teardown)
	const struct CMUnitTest tests[] = {
		CASE(runner_woken_is_run),
		CASE(runner_that_wakes_itself_is_run_again),
		CASE(runner_is_run_at_its_time),
		CASE(runner_deleted_is_not_run),
		CASE(inline_node_is_given_a_thread),
		cmocka_unit_test(thread_refused_is_as_before),
		cmocka_unit_test(node_processors_are_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
