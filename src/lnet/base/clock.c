/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Timers of the engine. */
#include "lnet/lnet_internal.h"

#define TICK_NS (UINT64_C(1) << M0_TIMERQ_TICK_SHIFT)

void m0_lnet__timers_expire(struct m0_lnet_engine *eng, m0_time_t now)
{
	struct m0_lnet_timer *timer;
	struct m0_timer      *due;

	M0_PRE(now >= eng->le_timers_at);
	while ((due = m0_timerq_expire(&eng->le_timers, now)) != NULL) {
		timer = container_of(due, struct m0_lnet_timer, ltm_timer);
		timer->ltm_fire(eng, timer, now);
	}
	eng->le_timers_at = m0_timerq_next(&eng->le_timers);
}

void m0_lnet__timer_arm(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
			m0_time_t deadline)
{
	M0_PRE_EX(timer->ltm_fire != NULL);
	/* Zeroed memory is a valid timer that was never armed. */
	if (timer->ltm_timer.ti_link.ll_next == NULL)
		m0_timer_init(&timer->ltm_timer);
	m0_timerq_arm(&eng->le_timers, &timer->ltm_timer, deadline);
	/* The timer expires with the first tick that is not before its
	 * deadline. */
	if (deadline != M0_TIME_NEVER)
		deadline = m0_time_add(deadline, TICK_NS - 1) & ~(TICK_NS - 1);
	eng->le_timers_at = min64u(eng->le_timers_at, deadline);
	M0_POST_EX(eng->le_timers_at <= deadline);
}

void m0_lnet__timer_cancel(struct m0_lnet_engine *eng,
			   struct m0_lnet_timer  *timer)
{
	if (timer->ltm_timer.ti_link.ll_next == NULL)
		return;
	m0_timerq_cancel(&eng->le_timers, &timer->ltm_timer);
	/* With timers left, le_timers_at may be too early: one step fires none
	 * and corrects it. */
	if (eng->le_timers.tq_nr == 0)
		eng->le_timers_at = M0_TIME_NEVER;
}
