/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Scheduler, clock and waits of the simulator. */
#include <signal.h>

#include "unit/sim/worker.h"

enum {
	TEXT_MAX = 64 * 1024,
	SEED = 7
};

static char text[TEXT_MAX];

static void up(struct m0_sim_timer *timer)
{
	m0_semaphore_up(timer->simt_data);
}

/* -- time ------------------------------------------------------------------ */

/* Nothing to do, no time passes: a simulated hour is free. */
static void clock_idle_jumps_to_deadline(void **state)
{
	struct m0_sim sim;
	m0_time_t     before;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	assert_int_equal(m0_time_now(), 1000 * M0_TIME_ONE_SECOND);
	before = m0_time_now();
	m0_nanosleep(m0_time(3600, 0), NULL);
	assert_int_equal(m0_time_now(), before + m0_time(3600, 0));
	m0_sim_fini(&sim);
}

/* A busy program gets older, also without any deadline. */
static void clock_steps_cost_time(void **state)
{
	struct m0_sim sim;
	struct worker w;
	m0_time_t     before;
	int           i;

	(void)state;
	m0_sim_init(&sim, SEED);
	worker_start(&w, "w", NULL, NULL);
	before = m0_sim_now(&sim);
	for (i = 0; i < 100; ++i) {
		m0_strand_wake(&w.w_strand);
		m0_sim_step(&sim);
	}
	assert_true(m0_sim_now(&sim) > before);
	worker_stop(&w);
	m0_sim_fini(&sim);
}

/* An application that only looks at the clock sees its time-out come. */
static void clock_polled_moves(void **state)
{
	struct m0_sim sim;
	m0_time_t     deadline;
	unsigned      nr = 0;

	(void)state;
	m0_sim_init(&sim, SEED);
	for (deadline = m0_time_from_now(0, 100000); m0_time_now() < deadline;)
		++nr;
	assert_true(nr > 10);
	m0_sim_fini(&sim);
}

/* Inside a step the clock stands still: a pass happens at one time. */
static m0_time_t clock_stands(struct worker *w, m0_time_t now)
{
	(void)w;
	assert_int_equal(m0_time_now(), now);
	assert_int_equal(m0_time_now(), now);
	assert_int_equal(m0_time_cached(), now);
	return M0_TIME_NEVER;
}

static void clock_in_step_stands_still(void **state)
{
	struct m0_sim sim;
	struct worker w;

	(void)state;
	m0_sim_init(&sim, SEED);
	worker_start(&w, "w", clock_stands, NULL);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(worker_steps(&w), 1);
	worker_stop(&w);
	m0_sim_fini(&sim);
}

/* -- waits ----------------------------------------------------------------- */

/* A wait runs the program until what it waits for has come. */
static void wait_timer_ups_semaphore_taken(void **state)
{
	struct m0_semaphore sem;
	struct m0_sim_timer timer = { .simt_data = &sem };
	struct m0_sim       sim;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_semaphore_init(&sem, 0);
	m0_sim_timer_arm(&sim, &timer, m0_time_from_now(5, 0), up);
	m0_semaphore_down(&sem);
	assert_int_equal(m0_sim_elapsed_ns(&sim), m0_time(5, 0));
	m0_semaphore_fini(&sem);
	m0_sim_fini(&sim);
}

/* A deadline that comes first ends the wait, at that point exactly. */
static void wait_deadline_first_returns_false(void **state)
{
	struct m0_semaphore sem;
	struct m0_sim_timer timer = { .simt_data = &sem };
	struct m0_sim       sim;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_semaphore_init(&sem, 0);
	m0_sim_timer_arm(&sim, &timer, m0_time_from_now(5, 0), up);
	assert_false(m0_semaphore_timeddown(&sem, m0_time_from_now(2, 0)));
	assert_int_equal(m0_sim_elapsed_ns(&sim), m0_time(2, 0));
	m0_semaphore_down(&sem);
	m0_sim_fini(&sim);
}

static m0_time_t chan_broadcast(struct worker *w, m0_time_t now)
{
	m0_chan_broadcast_lock(w->w_arg);
	return now + M0_TIME_ONE_MSEC;
}

/* Waits on a channel end here, too. */
static void wait_chan_signalled_by_strand(void **state)
{
	struct m0_mutex lock = M0_MUTEX_SINIT(&lock);
	struct m0_chan  chan;
	struct m0_clink clink;
	struct m0_sim   sim;
	struct worker   w;

	(void)state;
	m0_sim_init(&sim, SEED);
	m0_chan_init(&chan, &lock);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&chan, &clink);
	worker_start(&w, "w", chan_broadcast, &chan);
	m0_chan_wait(&clink);
	m0_chan_wait(&clink);
	assert_true(worker_steps(&w) >= 2);
	worker_stop(&w);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	m0_chan_fini_lock(&chan);
	m0_sim_fini(&sim);
}

static bool has_five_steps(void *arg)
{
	return worker_steps(arg) >= 5;
}

static m0_time_t every_ms(struct worker *w, m0_time_t now)
{
	(void)w;
	return now + M0_TIME_ONE_MSEC;
}

/* The condition, or the limit, whichever is first. */
static void run_until_stops_at_condition_or_limit(void **state)
{
	struct m0_sim sim;
	struct worker w;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	worker_start(&w, "w", every_ms, NULL);
	assert_false(m0_sim_run_until(&sim, has_five_steps, &w,
				      2 * M0_TIME_ONE_MSEC));
	assert_int_equal(worker_steps(&w), 2);
	assert_true(m0_sim_run_until(&sim, has_five_steps, &w, M0_TIME_NEVER));
	assert_int_equal(m0_sim_elapsed_ns(&sim), 4 * M0_TIME_ONE_MSEC);
	worker_stop(&w);
	m0_sim_fini(&sim);
}

/* m0_sim_settle() does all work of this instant and leaves deadlines alone. */
static void settle_leaves_deadlines(void **state)
{
	struct m0_sim sim;
	struct worker w;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	worker_start(&w, "w", every_ms, NULL);
	m0_sim_settle(&sim);
	assert_int_equal(worker_steps(&w), 1);
	assert_int_equal(m0_sim_elapsed_ns(&sim), 0);
	assert_true(m0_sim_step(&sim));
	assert_int_equal(worker_steps(&w), 2);
	worker_stop(&w);
	assert_false(m0_sim_step(&sim));
	m0_sim_fini(&sim);
}

/* A yield makes some turns, not always the same number, and no jump. */
static void yield_random_number_of_turns(void **state)
{
	struct m0_sim sim;
	struct worker w[4];
	bool          seen[5] = { false };
	uint64_t      before;
	size_t        i;
	size_t        j;

	(void)state;
	m0_sim_init(&sim, SEED);
	for (j = 0; j < 4; ++j)
		worker_start(&w[j], "w", NULL, NULL);
	for (i = 0; i < 200; ++i) {
		m0_sim_settle(&sim);
		for (j = 0; j < 4; ++j) {
			m0_sim_slow(&sim, &w[j].w_strand, 0);
			m0_strand_wake(&w[j].w_strand);
		}
		before = m0_sim_turns_nr(&sim);
		m0_sim_yield(&sim, 4);
		seen[m0_sim_turns_nr(&sim) - before] = true;
	}
	for (i = 0; i < 5; ++i)
		assert_true(seen[i]);
	for (j = 0; j < 4; ++j)
		worker_stop(&w[j]);
	m0_sim_fini(&sim);
}

/* -- order ------------------------------------------------------------------ */

struct order {
	char   o_text[64];
	size_t o_nr;
};

static m0_time_t note(struct worker *w, m0_time_t now)
{
	struct order *order = w->w_arg;

	(void)now;
	order->o_text[order->o_nr++] = w->w_strand.st_name[0];
	return M0_TIME_NEVER;
}

/* Three strands, started and woken in order a, b, c; who went when? */
static void order_of(uint64_t seed, const struct m0_sim_cfg *cfg,
		     struct order *ret)
{
	static const char *const names[] = { "a", "b", "c" };
	struct m0_sim            sim;
	struct worker            w[3];
	int                      i;

	memset(ret, 0, sizeof *ret);
	m0_sim_init_cfg(&sim, seed, cfg);
	for (i = 0; i < 3; ++i)
		worker_start(&w[i], names[i], note, ret);
	m0_sim_run_ms(&sim, 10);
	for (i = 2; i >= 0; --i)
		m0_strand_wake(&w[i].w_strand);
	m0_sim_run_ms(&sim, 10);
	for (i = 0; i < 3; ++i)
		worker_stop(&w[i]);
	m0_sim_fini(&sim);
}

/* A story is told in the order of its wakes. */
static void order_calm_first_come_first_served(void **state)
{
	struct order order;

	(void)state;
	order_of(SEED, &m0_sim_cfg_calm, &order);
	assert_string_equal(order.o_text, "abccba");
}

/* Over some seeds every order of three strands turns up. */
static void order_seeds_find_every_order(void **state)
{
	char         seen[6][4] = { { 0 } };
	struct order order;
	uint64_t     seed;
	size_t       nr = 0;
	size_t       i;

	(void)state;
	for (seed = 1; seed <= 200; ++seed) {
		order_of(seed, &m0_sim_cfg_wild, &order);
		assert_int_equal(order.o_nr, 6);
		for (i = 0; i < nr; ++i)
			if (memcmp(seen[i], order.o_text, 3) == 0)
				break;
		if (i == nr) {
			assert_true(nr < 6);
			memcpy(seen[nr++], order.o_text, 3);
		}
	}
	assert_int_equal(nr, 6);
}

/* A slow strand is late, and no later than said. */
static void strand_slow_runs_late(void **state)
{
	struct m0_sim sim;
	struct worker w;
	m0_time_t     late = 0;
	m0_time_t     at;
	int           i;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	worker_start(&w, "w", NULL, NULL);
	m0_sim_settle(&sim);
	m0_sim_slow(&sim, &w.w_strand, M0_TIME_ONE_MSEC);
	for (i = 0; i < 20; ++i) {
		at = m0_sim_now(&sim);
		m0_strand_wake(&w.w_strand);
		m0_sim_run_ms(&sim, 2);
		assert_int_equal(worker_steps(&w), i + 2);
		late = max64u(late, w.w_at - at);
	}
	assert_in_range(late, 1, M0_TIME_ONE_MSEC);
	worker_stop(&w);
	m0_sim_fini(&sim);
}

/** How late a strand runs that was started where `pct` of them are slow. */
static m0_time_t late_where(unsigned pct)
{
	struct m0_sim_cfg cfg = m0_sim_cfg_calm;
	struct m0_sim     sim;
	struct worker     w;
	m0_time_t         late = 0;
	m0_time_t         at;
	int               i;

	cfg.simc_slow_pct = pct;
	cfg.simc_late_ns_max = M0_TIME_ONE_MSEC;
	m0_sim_init_cfg(&sim, SEED, &cfg);
	worker_start(&w, "w", NULL, NULL);
	m0_sim_run_ms(&sim, 2);
	for (i = 0; i < 20; ++i) {
		at = m0_sim_now(&sim);
		m0_strand_wake(&w.w_strand);
		m0_sim_run_ms(&sim, 2);
		late = max64u(late, w.w_at - at);
	}
	worker_stop(&w);
	m0_sim_fini(&sim);
	return late;
}

/* The configuration says how many strands are slow. */
static void strands_are_slow_by_chance(void **state)
{
	(void)state;
	assert_int_equal(late_where(0), 0);
	assert_in_range(late_where(100), 1, M0_TIME_ONE_MSEC);
}

/* -- bad ends --------------------------------------------------------------- */

static void deadlock(void)
{
	struct m0_semaphore sem;
	struct m0_sim       sim;
	struct worker       w;

	m0_sim_init(&sim, 4711);
	worker_start(&w, "lonely", NULL, NULL);
	m0_semaphore_init(&sem, 0);
	m0_semaphore_down(&sem);
}

/* A wait that nothing can end is not sat out: who hangs, and the seed. */
static void wait_nothing_left_is_deadlock(void **state)
{
	(void)state;
	child_aborts(deadlock, "deadlock: ", text, sizeof text);
	assert_non_null(strstr(text, "strand lonely: 1 steps, asleep\n"));
	assert_non_null(strstr(text, "lonely > step"));
	assert_non_null(strstr(text, "M0_SEED=4711 to replay"));
}

static void lose_wake(void)
{
	struct m0_semaphore sem;
	struct m0_sim       sim;
	struct worker       w;

	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	worker_init(&w, "w", NULL, NULL);
	w.w_strand.st_ops = &worker_ready_ops;
	if (m0_strand_start(&w.w_strand, NULL) != 0)
		return;
	m0_sim_settle(&sim);
	w.w_ready = 1;
	m0_semaphore_init(&sem, 0);
	m0_semaphore_down(&sem);
}

/* Work given to a sleeping strand without a wake is named as the reason. */
static void wake_forgotten_is_named(void **state)
{
	(void)state;
	child_aborts(lose_wake, "a wake was lost", text, sizeof text);
}

static m0_time_t wake_itself(struct worker *w, m0_time_t now)
{
	(void)now;
	m0_strand_wake(&w->w_strand);
	return M0_TIME_NEVER;
}

static void livelock(void)
{
	struct m0_sim_cfg cfg = m0_sim_cfg_calm;
	struct m0_sim     sim;
	struct worker     w;

	cfg.simc_turns_max = 1000;
	m0_sim_init_cfg(&sim, SEED, &cfg);
	worker_start(&w, "busy", wake_itself, NULL);
	m0_sim_settle(&sim);
}

/* Strands that keep each other busy for ever do not hang the test. */
static void run_without_end_is_livelock(void **state)
{
	(void)state;
	child_aborts(livelock, "livelock: ", text, sizeof text);
	assert_non_null(strstr(text, "strand busy: 1000 steps, woken"));
}

static m0_time_t wait_in_step(struct worker *w, m0_time_t now)
{
	(void)w;
	(void)now;
	m0_nanosleep(1, NULL);
	return M0_TIME_NEVER;
}

static void step_waits(void)
{
	struct m0_sim sim;
	struct worker w;

	m0_sim_init(&sim, SEED);
	worker_start(&w, "w", wait_in_step, NULL);
	m0_sim_run_ms(&sim, 1);
}

static void timer_waits_fire(struct m0_sim_timer *timer)
{
	(void)timer;
	m0_nanosleep(1, NULL);
}

static void timer_waits(void)
{
	struct m0_sim_timer timer = { .simt_at = 0 };
	struct m0_sim       sim;

	m0_sim_init(&sim, SEED);
	m0_sim_timer_arm(&sim, &timer, m0_sim_now(&sim), timer_waits_fire);
	m0_sim_run_ms(&sim, 1);
}

/* Nothing that is run by the scheduler may wait. */
static void wait_inside_turn_is_refused(void **state)
{
	(void)state;
	child_aborts(step_waits, "blocking on strand w", text, sizeof text);
	assert_non_null(strstr(text, "M0_SEED=7 to replay"));
	child_aborts(timer_waits, "a wait inside a", text, sizeof text);
}

static void leave_strand(void)
{
	struct m0_sim sim;
	struct worker w;

	m0_sim_init(&sim, SEED);
	worker_start(&w, "forgotten", NULL, NULL);
	m0_sim_fini(&sim);
}

/* The end of a simulation finds a strand that was not stopped. */
static void fini_strand_left_fails(void **state)
{
	(void)state;
	child_aborts(leave_strand, "left behind: 1 strands, 0 descr", text,
		     sizeof text);
	assert_non_null(strstr(text, "strand forgotten"));
}

static m0_time_t jump_away(struct worker *w, m0_time_t now)
{
	(void)now;
	longjmp(w->w_arg, 1);
}

/* A failed assertion leaves by a jump: the next simulation starts clean. */
static void init_after_abandoned_one_works(void **state)
{
	static struct worker lost;
	static struct m0_sim sim;
	jmp_buf              here;

	(void)state;
	if (setjmp(here) == 0) {
		m0_sim_init(&sim, SEED);
		worker_start(&lost, "lost", jump_away, here);
		m0_sim_run_ms(&sim, 1);
		fail();
	}
	assert_ptr_equal(m0_strand_current(), &lost.w_strand);
	m0_sim_init(&sim, SEED);
	assert_null(m0_strand_current());
	assert_int_equal(m0_sim_strands_nr(&sim), 0);
	m0_nanosleep(1, NULL);
	m0_sim_fini(&sim);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_idle_jumps_to_deadline),
		cmocka_unit_test(clock_steps_cost_time),
		cmocka_unit_test(clock_polled_moves),
		cmocka_unit_test(clock_in_step_stands_still),
		cmocka_unit_test(wait_timer_ups_semaphore_taken),
		cmocka_unit_test(wait_deadline_first_returns_false),
		cmocka_unit_test(wait_chan_signalled_by_strand),
		cmocka_unit_test(run_until_stops_at_condition_or_limit),
		cmocka_unit_test(settle_leaves_deadlines),
		cmocka_unit_test(yield_random_number_of_turns),
		cmocka_unit_test(order_calm_first_come_first_served),
		cmocka_unit_test(order_seeds_find_every_order),
		cmocka_unit_test(strand_slow_runs_late),
		cmocka_unit_test(strands_are_slow_by_chance),
		cmocka_unit_test(wait_nothing_left_is_deadlock),
		cmocka_unit_test(wake_forgotten_is_named),
		cmocka_unit_test(run_without_end_is_livelock),
		cmocka_unit_test(wait_inside_turn_is_refused),
		cmocka_unit_test(fini_strand_left_fails),
		cmocka_unit_test(init_after_abandoned_one_works),
	};

	return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
