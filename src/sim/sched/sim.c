/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Life of a simulation and its scheduler.
 *
 * A turn is one thing done: the step of a strand that may run, or the first
 * timer that is due. Which, is drawn among all of them. If there is none, the
 * clock jumps to the earliest of: a strand's deadline or late wake, a timer, an
 * armed descriptor, the end of the wait that drives the run.
 */
#include <pthread.h>
#include <stdlib.h>

#include "sim/sched/sim_internal.h"

struct m0_sim_core *m0_sim__live;

const struct m0_sim_cfg m0_sim_cfg_wild = {
	.simc_step_ns_max = 20 * 1000,
	.simc_now_ns_max = 100,
	.simc_late_ns_max = 300 * 1000,
	.simc_slow_pct = 10,
	.simc_spin_pct = 50,
	.simc_turns_max = 5 * 1000 * 1000,
	.simc_lines_max = 200,
};

const struct m0_sim_cfg m0_sim_cfg_calm = {
	.simc_fifo = true,
	.simc_turns_max = 5 * 1000 * 1000,
	.simc_lines_max = 200,
};

void *m0_sim__realloc(void *data, size_t nr, size_t size)
{
	data = reallocarray(data, nr, size);
	M0_ASSERT(data != NULL);
	return data;
}

void *m0_sim__grow(void *data, size_t nr, size_t *max, size_t size)
{
	if (nr < *max)
		return data;
	*max = 2 * nr + 16;
	return m0_sim__realloc(data, *max, size);
}

struct m0_sim_core *m0_sim__core(void)
{
	struct m0_sim_core *core = m0_sim__live;

	M0_ASSERT_INFO(core != NULL, "no simulation runs");
	M0_ASSERT_INFO(core->simk_thread == (uintptr_t)pthread_self(),
		       "a simulation has one thread only");
	return core;
}

void m0_sim__may_wait(const struct m0_sim_core *core)
{
	M0_ASSERT_INFO(!core->simk_in_turn,
		       "a wait inside a step, a timer or a delivery");
}

m0_time_t m0_sim__draw(struct m0_sim_core *core, m0_time_t max)
{
	return max == 0 ? 0 : m0_rand_in(&core->simk_sched_rand, 0, max);
}

/* -- scheduler ----------------------------------------------------------- */

static bool strand_is_spinning(const struct m0_sim_core *core,
			       const struct sim_strand  *entry)
{
	return core->simk_now < entry->sims_spin_until;
}

static bool strand_has_work(const struct sim_strand *entry)
{
	const struct m0_strand *strand = entry->sims_strand;

	return strand != NULL && strand->st_ops->so_ready != NULL &&
	       strand->st_ops->so_ready(strand);
}

static m0_time_t program_next(const struct sim_strand *entry)
{
	unsigned locked_nr = m0_sim__live->simk_locked_nr;

	/* One that holds locks itself goes on. */
	return locked_nr > entry->sims_locked_nr
		       ? M0_TIME_NEVER
		       : entry->sims_program->spo_next(entry);
}

/* Time at which the strand runs if nobody wakes it earlier. One that yields does not run
 * meanwhile. */
static m0_time_t strand_next(const struct sim_strand *entry)
{
	if (entry->sims_in_step)
		return M0_TIME_NEVER;
	if (entry->sims_program != NULL)
		return program_next(entry);
	return entry->sims_woken
		       ? min64u(entry->sims_wake_at, entry->sims_deadline)
		       : entry->sims_deadline;
}

static bool strand_may_run(const struct m0_sim_core *core,
			   const struct sim_strand  *entry)
{
	return strand_next(entry) <= core->simk_now ||
	       (strand_is_spinning(core, entry) && !entry->sims_in_step &&
		strand_has_work(entry));
}

/* The strand has found work before it slept. */
static void strand_owe_step(struct m0_sim_core *core, struct sim_strand *entry)
{
	if (!entry->sims_woken) {
		entry->sims_woken = true;
		entry->sims_wake_at = core->simk_now;
		entry->sims_order = ++core->simk_order;
	}
}

/* Do the last check of spinning strands before they sleep, as a thread does. */
static void strands_fall_asleep(struct m0_sim_core *core, m0_time_t to)
{
	struct sim_strand *entry;
	size_t             i;

	for (i = 0; i < core->simk_strands_nr; ++i) {
		entry = core->simk_strands[i];
		if (strand_is_spinning(core, entry) &&
		    entry->sims_spin_until <= to && !entry->sims_woken &&
		    !entry->sims_in_step && strand_has_work(entry))
			strand_owe_step(core, entry);
	}
}

void m0_sim__advance(struct m0_sim_core *core, m0_time_t to)
{
	if (to <= core->simk_now)
		return;
	strands_fall_asleep(core, to);
	core->simk_now = to;
	m0_sim__fd_expire(core);
}

/* Earliest event that needs nothing but time. */
static m0_time_t sim_next(const struct m0_sim_core *core)
{
	const struct m0_sim_timer *timer = m0_sim__timer_first(core);
	m0_time_t                  next = m0_sim__fd_next(core);
	size_t                     i;

	if (timer != NULL)
		next = min64u(next, timer->simt_deadline);
	for (i = 0; i < core->simk_strands_nr; ++i)
		next = min64u(next, strand_next(core->simk_strands[i]));
	return next;
}

/* Time the strand looks for work before it sleeps. */
static m0_time_t strand_spin(struct m0_sim_core     *core,
			     const struct m0_strand *strand)
{
	unsigned pct = core->simk_cfg.simc_spin_pct;

	if (pct == 0 || strand->st_ops->so_ready == NULL ||
	    m0_rand_below(&core->simk_sched_rand, 100) >= pct)
		return 0;
	return m0_sim__draw(core, strand->st_spin_ns);
}

static void strand_run(struct m0_sim_core *core, struct sim_strand *entry)
{
	struct m0_strand *strand = entry->sims_strand;
	m0_time_t         deadline;

	if (!entry->sims_woken && m0_strand_sleeps(strand))
		m0_sim__strand_roused(strand);
	entry->sims_woken = false;
	entry->sims_in_step = true;
	m0_sim__trace(core, entry->sims_name, "sched", "step");
	deadline = m0_strand_step(strand, core->simk_now);
	++entry->sims_steps_nr;
	entry->sims_in_step = false;
	entry->sims_order = ++core->simk_order;
	entry->sims_deadline = m0_time_add(
		deadline, m0_sim__draw(core, entry->sims_late_ns_max));
	entry->sims_spin_until = core->simk_now + strand_spin(core, strand);
	if (strand_has_work(entry))
		strand_owe_step(core, entry);
}

/* A program waits as the test does, so this is no step. */
static void program_run(struct m0_sim_core *core, struct sim_strand *entry)
{
	entry->sims_in_step = true;
	core->simk_in_turn = false;
	m0_sim__trace(core, entry->sims_name, "sched", "runs");
	entry->sims_program->spo_turn(core, entry);
	++entry->sims_steps_nr;
	entry->sims_order = ++core->simk_order;
	core->simk_in_turn = true;
	entry->sims_in_step = false;
}

static void timer_run(struct m0_sim_core *core, struct m0_sim_timer *timer)
{
	M0_ASSERT(timer != NULL);
	m0_sim__timer_del(core, timer);
	timer->simt_fire(timer);
}

/* Chooses the strand that runs next; NULL: the first timer. */
static struct sim_strand *sim_choose(struct m0_sim_core *core, size_t ready_nr,
				     const struct m0_sim_timer *timer)
{
	struct sim_strand **ready = core->simk_ready;
	size_t              best = 0;
	size_t              i;

	if (!core->simk_cfg.simc_fifo)
		return ready[m0_rand_below(&core->simk_sched_rand, ready_nr)];
	if (timer != NULL)
		return NULL;
	for (i = 1; i < ready_nr; ++i)
		if (ready[i]->sims_order < ready[best]->sims_order)
			best = i;
	return ready[best];
}

/*
 * Do one thing that needs no move of the clock; return false if there is none.
 */
static bool sim_turn(struct m0_sim_core *core)
{
	struct m0_sim_timer *timer = m0_sim__timer_first(core);
	struct sim_strand   *entry;
	size_t               nr = 0;
	size_t               i;

	for (i = 0; i < core->simk_strands_nr; ++i)
		if (strand_may_run(core, core->simk_strands[i]))
			core->simk_ready[nr++] = core->simk_strands[i];
	if (timer != NULL && timer->simt_deadline > core->simk_now)
		timer = NULL;
	if (timer != NULL)
		core->simk_ready[nr++] = NULL;
	if (nr == 0)
		return false;
	M0_ASSERT(!core->simk_in_turn);
	++core->simk_turns_nr;
	entry = sim_choose(core, nr, timer);
	core->simk_in_turn = true;
	if (entry == NULL)
		timer_run(core, timer);
	else if (entry->sims_program != NULL)
		program_run(core, entry);
	else
		strand_run(core, entry);
	core->simk_in_turn = false;
	m0_sim__advance(core,
			core->simk_now +
				m0_sim__draw(core,
					     core->simk_cfg.simc_step_ns_max));
	return true;
}

/* A turn, or a jump of the clock, at most to `deadline`; false: neither. */
bool m0_sim__move(struct m0_sim_core *core, m0_time_t deadline)
{
	m0_time_t next;

	if (sim_turn(core))
		return true;
	next = min64u(sim_next(core), deadline);
	if (next == M0_TIME_NEVER)
		return false;
	m0_sim__advance(core, next);
	return true;
}

static void sim_strands_print(const struct m0_sim_core *core)
{
	const struct sim_strand *entry;
	size_t                   i;

	for (i = 0; i < core->simk_strands_nr; ++i) {
		entry = core->simk_strands[i];
		fprintf(stderr, "  strand %s: %" PRIu64 " steps%s\n",
			entry->sims_name, entry->sims_steps_nr,
			entry->sims_woken        ? ", woken"
			: strand_has_work(entry) ? ", asleep with work: "
						   "a wake was lost"
						 : ", asleep");
	}
}

static void sim_is_stuck(struct m0_sim_core *core)
{
	sim_strands_print(core);
	m0_sim__die(core, "deadlock: a wait that nothing can end");
}

static void sim_is_alive(struct m0_sim_core *core, uint64_t turns_nr)
{
	if (turns_nr < core->simk_cfg.simc_turns_max)
		return;
	sim_strands_print(core);
	m0_sim__die(core, "livelock: no end after %" PRIu64 " turns", turns_nr);
}

bool m0_sim__run(struct m0_sim_core *core, bool (*pred)(void *arg), void *arg,
		 m0_time_t deadline)
{
	unsigned locked_nr = m0_mutex_held_nr() > 0;
	uint64_t nr;
	bool     done;

	m0_sim__may_wait(core);
	M0_ASSERT_INFO(core->simk_program == NULL, "a program runs others");
	core->simk_locked_nr += locked_nr;
	for (nr = 0; !(done = pred(arg)) && core->simk_now < deadline; ++nr) {
		sim_is_alive(core, nr);
		if (!m0_sim__move(core, deadline))
			sim_is_stuck(core);
	}
	core->simk_locked_nr -= locked_nr;
	return done;
}

/* -- running ------------------------------------------------------------- */

static struct m0_sim_core *sim_core(const struct m0_sim *sim)
{
	struct m0_sim_core *core = m0_sim__core();

	M0_PRE(sim->sim_core == core);
	return core;
}

bool m0_sim_step(struct m0_sim *sim)
{
	struct m0_sim_core *core = sim_core(sim);
	m0_time_t           next;

	m0_sim__may_wait(core);
	if (sim_turn(core))
		return true;
	next = sim_next(core);
	if (next == M0_TIME_NEVER)
		return false;
	m0_sim__advance(core, next);
	/* An expired descriptor is an event, although no strand runs for it. */
	(void)sim_turn(core);
	return true;
}

bool m0_sim_run_until(struct m0_sim *sim, bool (*pred)(void *arg), void *arg,
		      m0_time_t limit_ns)
{
	struct m0_sim_core *core = sim_core(sim);

	return m0_sim__run(core, pred, arg,
			   m0_time_add(core->simk_now, limit_ns));
}

static bool pred_never(void *arg)
{
	(void)arg;
	return false;
}

void m0_sim_run_ms(struct m0_sim *sim, uint64_t ms)
{
	(void)m0_sim_run_until(sim, pred_never, NULL, ms * M0_TIME_ONE_MSEC);
}

void m0_sim_settle(struct m0_sim *sim)
{
	struct m0_sim_core *core = sim_core(sim);
	uint64_t            nr = 0;

	m0_sim__may_wait(core);
	do
		sim_is_alive(core, nr++);
	while (sim_turn(core));
}

void m0_sim_yield(struct m0_sim *sim, unsigned turns_max)
{
	struct m0_sim_core *core = sim_core(sim);
	uint64_t            nr;

	m0_sim__may_wait(core);
	nr = m0_sim__draw(core, turns_max);
	while (nr-- > 0 && sim_turn(core))
		;
}

void m0_sim_slow(struct m0_sim *sim, struct m0_strand *strand,
		 m0_time_t late_ns_max)
{
	struct sim_strand *entry = strand->st_runner;

	M0_PRE(sim_core(sim) != NULL);
	M0_PRE(entry != NULL && entry->sims_strand == strand);
	entry->sims_late_ns_max = late_ns_max;
}

/* -- life ---------------------------------------------------------------- */

static void sim_rand_init(struct m0_sim_core *core)
{
	m0_rand_init(&core->simk_sched_rand, core->simk_seed);
	m0_rand_init(&core->simk_test_rand, ~core->simk_seed);
	m0_rand_init(&core->simk_os_rand, core->simk_seed ^ 0x6f73);
	m0_rand_init(&core->simk_link_rand, core->simk_seed ^ 0x6c696e6b);
}

void m0_sim_init_cfg(struct m0_sim *sim, uint64_t seed,
		     const struct m0_sim_cfg *cfg)
{
	struct m0_sim_core *core;

	if (m0_sim__live != NULL) {
		m0_sim__report(m0_sim__live, "abandoned by a failed case");
		m0_sim__drop(m0_sim__live);
	}
	core = m0_sim__realloc(NULL, 1, sizeof *core);
	*core = (struct m0_sim_core){
		.simk_cfg = *cfg,
		.simk_seed = seed,
		.simk_now = SIM_START_SEC * M0_TIME_ONE_SECOND,
		.simk_thread = (uintptr_t)pthread_self(),
		.simk_ready = m0_sim__realloc(NULL, 1, sizeof(void *)),
	};
	sim_rand_init(core);
	m0_sim__trace_init(core);
	sim->sim_core = core;
	m0_sim__live = core;
	m0_os_set(&m0_sim__os);
}

void m0_sim_init(struct m0_sim *sim, uint64_t seed)
{
	m0_sim_init_cfg(sim, seed, &m0_sim_cfg_wild);
}

void m0_sim__drop(struct m0_sim_core *core)
{
	size_t i;

	m0_sim__trace_fini(core);
	m0_sim__live = NULL;
	m0_os_set(NULL);
	m0_strand_forget();
	/* The threads of programs wait for ever. */
	for (i = 0; i < core->simk_strands_nr; ++i)
		if (core->simk_strands[i]->sims_program == NULL)
			free(core->simk_strands[i]);
	m0_sim__fds_drop(core);
	free(core->simk_strands);
	free(core->simk_ready);
	free(core->simk_timers);
	free(core);
}

void m0_sim_fini(struct m0_sim *sim)
{
	struct m0_sim_core *core = sim_core(sim);

	m0_sim__may_wait(core);
	if (core->simk_strands_nr > 0)
		sim_strands_print(core);
	if (core->simk_strands_nr + core->simk_fds_nr + core->simk_timers_nr)
		m0_sim_fail(sim,
			    "left behind: %zu strands, %zu descriptors, "
			    "%zu timers",
			    core->simk_strands_nr, core->simk_fds_nr,
			    core->simk_timers_nr);
	m0_sim__drop(core);
	sim->sim_core = NULL;
}

uint64_t m0_sim_seed(const struct m0_sim *sim)
{
	return sim->sim_core->simk_seed;
}

m0_time_t m0_sim_now(const struct m0_sim *sim)
{
	return sim->sim_core->simk_now;
}

m0_time_t m0_sim_elapsed_ns(const struct m0_sim *sim)
{
	return sim->sim_core->simk_now - SIM_START_SEC * M0_TIME_ONE_SECOND;
}

uint64_t m0_sim_rand(struct m0_sim *sim, uint64_t bound)
{
	return m0_rand_below(&sim->sim_core->simk_test_rand, bound);
}

unsigned m0_sim_strands_nr(const struct m0_sim *sim)
{
	return (unsigned)sim->sim_core->simk_strands_nr;
}

uint64_t m0_sim_turns_nr(const struct m0_sim *sim)
{
	return sim->sim_core->simk_turns_nr;
}
