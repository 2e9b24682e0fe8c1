/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Timers of the simulator: a binary heap by deadline, then order of arming. */
#include "sim/sched/sim_internal.h"

static bool timer_before(const struct m0_sim_timer *a,
			 const struct m0_sim_timer *b)
{
	return a->simt_deadline != b->simt_deadline
		       ? a->simt_deadline < b->simt_deadline
		       : a->simt_order < b->simt_order;
}

static void timer_put(struct m0_sim_core *core, size_t at,
		      struct m0_sim_timer *timer)
{
	core->simk_timers[at] = timer;
	timer->simt_at = at;
}

static void timer_up(struct m0_sim_core *core, struct m0_sim_timer *timer)
{
	size_t at = timer->simt_at;

	for (; at > 1 && timer_before(timer, core->simk_timers[at / 2]);
	     at /= 2)
		timer_put(core, at, core->simk_timers[at / 2]);
	timer_put(core, at, timer);
}

static void timer_down(struct m0_sim_core *core, struct m0_sim_timer *timer)
{
	size_t nr = core->simk_timers_nr;
	size_t at = timer->simt_at;
	size_t child;

	for (; (child = 2 * at) <= nr; at = child) {
		if (child < nr && timer_before(core->simk_timers[child + 1],
					       core->simk_timers[child]))
			++child;
		if (!timer_before(core->simk_timers[child], timer))
			break;
		timer_put(core, at, core->simk_timers[child]);
	}
	timer_put(core, at, timer);
}

struct m0_sim_timer *m0_sim__timer_first(const struct m0_sim_core *core)
{
	return core->simk_timers_nr > 0 ? core->simk_timers[1] : NULL;
}

void m0_sim__timer_del(struct m0_sim_core *core, struct m0_sim_timer *timer)
{
	struct m0_sim_timer *last = core->simk_timers[core->simk_timers_nr];
	size_t               at = timer->simt_at;

	M0_PRE(at > 0 && at <= core->simk_timers_nr);
	M0_PRE(core->simk_timers[at] == timer);
	--core->simk_timers_nr;
	timer->simt_at = 0;
	if (last == timer)
		return;
	timer_put(core, at, last);
	timer_up(core, last);
	timer_down(core, last);
}

void m0_sim_timer_arm(struct m0_sim *sim, struct m0_sim_timer *timer,
		      m0_time_t deadline,
		      void (*fire)(struct m0_sim_timer *timer))
{
	struct m0_sim_core *core = m0_sim__core();

	M0_PRE(sim->sim_core == core);
	M0_PRE(fire != NULL);
	if (timer->simt_at != 0)
		m0_sim__timer_del(core, timer);
	if (deadline == M0_TIME_NEVER)
		return;
	core->simk_timers = m0_sim__grow(core->simk_timers,
					 core->simk_timers_nr + 1,
					 &core->simk_timers_max,
					 sizeof core->simk_timers[0]);
	timer->simt_deadline = deadline;
	timer->simt_fire = fire;
	timer->simt_order = ++core->simk_order;
	timer_put(core, ++core->simk_timers_nr, timer);
	timer_up(core, timer);
}

void m0_sim_timer_cancel(struct m0_sim *sim, struct m0_sim_timer *timer)
{
	struct m0_sim_core *core = m0_sim__core();

	M0_PRE(sim->sim_core == core);
	if (timer->simt_at != 0)
		m0_sim__timer_del(core, timer);
}
