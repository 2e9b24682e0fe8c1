/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Timer queue of a strand: intrusive, O(1) to arm and to cancel.
 *
 * Time is cut into ticks of 2^19 ns (0.52 ms). A timer expires at the first
 * tick that is not before its deadline: never early, less than a tick late.
 * Five wheels of 64 slots each cover 2^30 ticks (six days) ahead; what is
 * farther waits in one more list. A timer moves down a wheel when its slot
 * begins, at most five times in its life.
 *
 * Not locked. The queue does not read the clock.
 */
#ifndef M0_SRC_BASE_TIMERQ_H
#define M0_SRC_BASE_TIMERQ_H

#include "m0/base.h"

#include "base/exports.h"

enum {
	M0_TIMERQ_TICK_SHIFT = 19,
	M0_TIMERQ_WHEEL_BITS = 6,
	M0_TIMERQ_SLOTS_NR = 1 << M0_TIMERQ_WHEEL_BITS,
	M0_TIMERQ_WHEELS_NR = 5
};

/** Embedded in whatever has a deadline. Its fields are the queue's. */
struct m0_timer {
	struct m0_list_link ti_link;
	m0_time_t           ti_deadline;
};

struct m0_timerq {
	/** Tick up to which timers have been expired. */
	uint64_t tq_now;
	/** Timers armed. */
	size_t tq_nr;
	/** Where the last one was put: mostly the next one is of its tick. */
	uint64_t        tq_last_tick;
	struct m0_list *tq_last;
	/** Bit s: slot s of the wheel is not empty. */
	uint64_t       tq_busy[M0_TIMERQ_WHEELS_NR];
	struct m0_list tq_slot[M0_TIMERQ_WHEELS_NR][M0_TIMERQ_SLOTS_NR];
	/** Beyond the wheels. */
	struct m0_list tq_far;
	/** Expired, not yet handed out; oldest deadline first. */
	struct m0_list tq_due;
};

/** @param now  a deadline before it is due at once. */
M0_SHARED void m0_timerq_init(struct m0_timerq *queue, m0_time_t now);
/** Pre: no timer is armed. */
M0_SHARED void m0_timerq_fini(struct m0_timerq *queue);

M0_SHARED void m0_timer_init(struct m0_timer *timer);
/** Pre: not armed. */
M0_SHARED void m0_timer_fini(struct m0_timer *timer);

/** True between arm and either cancel or expiry. */
static inline bool m0_timer_is_armed(const struct m0_timer *timer)
{
	return m0_list_link_is_in(&timer->ti_link);
}

/** Deadline it was armed with last. */
static inline m0_time_t m0_timer_deadline(const struct m0_timer *timer)
{
	return timer->ti_deadline;
}

/**
 * Arms the timer, or moves it if it is armed (in this queue). M0_TIME_NEVER
 * cancels. A deadline in the past is due at the next m0_timerq_expire().
 */
M0_SHARED void m0_timerq_arm(struct m0_timerq *queue, struct m0_timer *timer,
			     m0_time_t deadline);
/** Nothing happens if the timer is not armed. */
M0_SHARED void m0_timerq_cancel(struct m0_timerq *queue,
				struct m0_timer  *timer);

/**
 * When to call m0_timerq_expire() next; M0_TIME_NEVER if no timer is armed.
 * Not later than the first expiry, perhaps before it (a call then finds nothing
 * and returns the queue to precision): for a timer t ahead at most log64(t /
 * tick) times in all.
 */
M0_SHARED m0_time_t m0_timerq_next(const struct m0_timerq *queue);

/**
 * Takes one expired timer out of the queue, in the order of deadlines (to a
 * tick; in the order of arming within); NULL when there are no more. Timers
 * that the caller arms meanwhile are seen, so a loop over it must not arm into
 * the past.
 */
M0_SHARED struct m0_timer *m0_timerq_expire(struct m0_timerq *queue,
					    m0_time_t         now);

#endif /* M0_SRC_BASE_TIMERQ_H */
