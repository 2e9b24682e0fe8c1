/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Environments, and with them the contract of a strand (os/os.h): every case
 * runs with real threads and in the simulator, over some seeds, and must not
 * notice.
 */
#include "lib/env.h"
#include "unit/sim/worker.h"

enum {
	SEED = 1,
	SIM_SEEDS_NR = 30,
	TEXT_MAX = 64 * 1024
};

static char text[TEXT_MAX];

/* Threads once, the simulator once a seed. */
static void both(void (*fn)(struct env *env))
{
	struct env env;
	uint64_t   seed;

	env_init(&env, ENV_THREADS, SEED);
	fn(&env);
	env_fini(&env);
	for (seed = SEED; seed < SEED + SIM_SEEDS_NR; ++seed) {
		env_init(&env, ENV_SIM, seed);
		fn(&env);
		env_fini(&env);
	}
}

struct count {
	const struct worker *c_w;
	uint64_t             c_nr;
};

static bool has_steps(void *arg)
{
	const struct count *c = arg;

	return worker_steps(c->c_w) >= c->c_nr;
}

static void wait_steps(struct env *env, const struct worker *w, uint64_t nr)
{
	struct count c = { .c_w = w, .c_nr = nr };

	if (!env_wait(env, has_steps, &c, M0_TIME_ONE_SECOND))
		env_fail(env, "%" PRIu64 " steps, wanted %" PRIu64,
			 worker_steps(w), nr);
}

/* -- strands ----------------------------------------------------------------- */

static void start_stop(struct env *env)
{
	struct worker w;
	uint64_t      nr;

	worker_init(&w, "w", NULL, NULL);
	m0_strand_wake(&w.w_strand);
	env_yield(env);
	assert_int_equal(worker_steps(&w), 0);
	assert_int_equal(m0_strand_start(&w.w_strand, NULL), 0);
	wait_steps(env, &w, 1);
	m0_strand_stop(&w.w_strand);
	nr = worker_steps(&w);
	m0_strand_wake(&w.w_strand);
	env_run_ns(env, M0_TIME_ONE_MSEC);
	assert_int_equal(worker_steps(&w), nr);
	m0_strand_fini(&w.w_strand);
}

/* One step soon after start; before start and after stop none. */
static void strand_started_steps_once(void **state)
{
	(void)state;
	both(start_stop);
}

static void wakes(struct env *env)
{
	struct worker w;
	uint64_t      nr;
	int           i;

	worker_start(&w, "w", NULL, NULL);
	wait_steps(env, &w, 1);
	for (i = 0; i < 100; ++i) {
		nr = worker_steps(&w);
		m0_strand_wake(&w.w_strand);
		env_yield(env);
		wait_steps(env, &w, nr + 1);
	}
	worker_stop(&w);
	/* No more than asked for: the start, and one for each wake. */
	assert_in_range(worker_steps(&w), 1, 101);
	assert_int_equal(w.w_overlaps_nr, 0);
	assert_int_equal(w.w_strand.st_steps_nr, worker_steps(&w));
}

/* Each wake is followed by a step. */
static void strand_woken_steps_again(void **state)
{
	(void)state;
	both(wakes);
}

static void merged(struct env *env)
{
	struct worker w;
	uint64_t      nr;
	int           i;

	worker_start(&w, "w", NULL, NULL);
	wait_steps(env, &w, 1);
	nr = worker_steps(&w);
	for (i = 0; i < 100; ++i)
		m0_strand_wake(&w.w_strand);
	wait_steps(env, &w, nr + 1);
	worker_stop(&w);
	assert_in_range(worker_steps(&w) - nr, 1, 100);
}

/* Several wakes may be served by one step, never by none. */
static void strand_many_wakes_may_merge(void **state)
{
	(void)state;
	both(merged);
}

static m0_time_t wake_self(struct worker *w, m0_time_t now)
{
	unsigned *left = w->w_arg;

	(void)now;
	assert_ptr_equal(m0_strand_current(), &w->w_strand);
	if (*left > 0) {
		--*left;
		m0_strand_wake(&w->w_strand);
	}
	return M0_TIME_NEVER;
}

static void wake_in_step(struct env *env)
{
	struct worker w;
	unsigned      left = 50;

	worker_start(&w, "w", wake_self, &left);
	wait_steps(env, &w, 51);
	env_run_ns(env, M0_TIME_ONE_MSEC);
	worker_stop(&w);
	assert_int_equal(worker_steps(&w), 51);
	assert_int_equal(w.w_overlaps_nr, 0);
	assert_null(m0_strand_current());
}

/* A wake during a step causes another one, after it. */
static void strand_woken_in_step_steps_again(void **state)
{
	(void)state;
	both(wake_in_step);
}

static m0_time_t tick(struct worker *w, m0_time_t now)
{
	m0_time_t *due = w->w_arg;

	/* Checked by the test's thread: this one must not fail. */
	if (now < *due)
		__atomic_add_fetch(&w->w_overlaps_nr, 1, __ATOMIC_SEQ_CST);
	*due = now + 200 * M0_TIME_ONE_USEC;
	return *due;
}

static void ticks(struct env *env)
{
	struct worker w;
	m0_time_t     due = 0;
	m0_time_t     before = env_now(env);

	worker_start(&w, "w", tick, &due);
	wait_steps(env, &w, 10);
	worker_stop(&w);
	assert_int_equal(w.w_overlaps_nr, 0);
	assert_true(env_now(env) >= before + 9 * 200 * M0_TIME_ONE_USEC);
}

/* At the deadline that the step returned, never before. */
static void strand_deadline_never_early(void **state)
{
	(void)state;
	both(ticks);
}

struct pair {
	struct worker p_w[2];
	unsigned      p_left;
};

static m0_time_t ball(struct worker *w, m0_time_t now)
{
	struct pair *pair = w->w_arg;

	(void)now;
	if (__atomic_load_n(&pair->p_left, __ATOMIC_SEQ_CST) > 0) {
		__atomic_sub_fetch(&pair->p_left, 1, __ATOMIC_SEQ_CST);
		m0_strand_wake(&pair->p_w[w == &pair->p_w[0]].w_strand);
	}
	return M0_TIME_NEVER;
}

static bool is_over(void *arg)
{
	struct pair *pair = arg;

	return __atomic_load_n(&pair->p_left, __ATOMIC_SEQ_CST) == 0;
}

static void pairs(struct env *env)
{
	struct pair pair = { .p_left = 0 };

	worker_start(&pair.p_w[0], "a", ball, &pair);
	worker_start(&pair.p_w[1], "b", ball, &pair);
	wait_steps(env, &pair.p_w[0], 1);
	wait_steps(env, &pair.p_w[1], 1);
	__atomic_store_n(&pair.p_left, 1000, __ATOMIC_SEQ_CST);
	m0_strand_wake(&pair.p_w[0].w_strand);
	assert_true(env_wait(env, is_over, &pair, M0_TIME_ONE_SECOND));
	worker_stop(&pair.p_w[0]);
	worker_stop(&pair.p_w[1]);
	assert_int_equal(pair.p_w[0].w_overlaps_nr, 0);
}

/* No wake between strands is ever lost. */
static void strand_wakes_other_never_lost(void **state)
{
	(void)state;
	both(pairs);
}

/* -- environments -------------------------------------------------------------- */

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* The limit ends a wait; in the simulator it is a minute of no time at all. */
static void wait_sim_limit_returns_false(void **state)
{
	struct env env;
	m0_time_t  before;

	(void)state;
	env_init(&env, ENV_SIM, SEED);
	before = env_now(&env);
	assert_false(env_wait(&env, never, NULL, 60 * M0_TIME_ONE_SECOND));
	assert_int_equal(env_now(&env), before + 60 * M0_TIME_ONE_SECOND);
	env_fini(&env);
}

static void turn(void *arg)
{
	++*(int *)arg;
}

static bool is_three(void *arg)
{
	return *(int *)arg == 3;
}

static void turns(struct env *env)
{
	struct worker w;
	int           nr = 0;

	worker_start(&w, "w", NULL, NULL);
	env_on_turn(env, turn, &nr);
	assert_true(env_wait(env, is_three, &nr, M0_TIME_ONE_SECOND));
	assert_int_equal(nr, 3);
	env_on_turn(env, NULL, NULL);
	worker_stop(&w);
}

/* The test's own work is done while it waits. */
static void wait_does_own_turns(void **state)
{
	(void)state;
	both(turns);
}

static m0_time_t signal_fd(struct worker *w, m0_time_t now)
{
	(void)now;
	m0_os_fd_signal(w->w_arg);
	return M0_TIME_NEVER;
}

static void fds(struct env *env)
{
	struct m0_os_fd fd;
	struct worker   w;
	m0_time_t       due;

	assert_int_equal(m0_os_fd_open(&fd), 0);
	worker_start(&w, "w", signal_fd, &fd);
	assert_true(env_wait_fd(env, fd.of_fd, M0_TIME_ONE_SECOND));
	worker_stop(&w);
	m0_os_fd_clear(&fd);
	due = env_now(env) + 2 * M0_TIME_ONE_MSEC;
	m0_os_fd_arm(&fd, due);
	assert_true(env_wait_fd(env, fd.of_fd, M0_TIME_ONE_SECOND));
	assert_true(env_now(env) >= due);
	m0_os_fd_close(&fd);
}

/* A descriptor is waited for by signal and by deadline. */
static void wait_fd_signal_and_deadline(void **state)
{
	(void)state;
	both(fds);
}

static void fail_threads(void)
{
	struct env env;

	env_init(&env, ENV_THREADS, 77);
	env_fail(&env, "something is %s", "wrong");
}

static void fail_sim(void)
{
	struct env env;

	env_init(&env, ENV_SIM, 78);
	env_fail(&env, "something is %s", "wrong");
}

/* A failure tells the seed, wherever it ran. */
static void fail_prints_seed(void **state)
{
	(void)state;
	child_aborts(fail_threads, "something is wrong", text, sizeof text);
	assert_non_null(strstr(text, "M0_SEED=77 to replay"));
	child_aborts(fail_sim, "something is wrong", text, sizeof text);
	assert_non_null(strstr(text, "M0_SEED=78 to replay"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(strand_started_steps_once),
		cmocka_unit_test(strand_woken_steps_again),
		cmocka_unit_test(strand_many_wakes_may_merge),
		cmocka_unit_test(strand_woken_in_step_steps_again),
		cmocka_unit_test(strand_deadline_never_early),
		cmocka_unit_test(strand_wakes_other_never_lost),
		cmocka_unit_test(wait_sim_limit_returns_false),
		cmocka_unit_test(wait_does_own_turns),
		cmocka_unit_test(wait_fd_signal_and_deadline),
		cmocka_unit_test(fail_prints_seed),
	};

	/* The seeds of these cases are their own. */
	(void)unsetenv("M0_SEED");
	return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
