/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Where a timer is follows from its tick and the queue's: write both as numbers
 * of base 64; the highest digit in which they differ names the wheel, the
 * timer's digit there the slot. So slots of a wheel at or below the queue's
 * digit are empty, and a timer's place stays right until the queue's tick
 * comes to its slot; then the slot is dealt out anew.
 */
#include "base/timerq.h"

enum {
	TICK_MASK = (1 << M0_TIMERQ_TICK_SHIFT) - 1,
	SLOT_MASK = M0_TIMERQ_SLOTS_NR - 1,
	/* Bits of a tick that the wheels know. */
	WHEELS_BITS = M0_TIMERQ_WHEEL_BITS * M0_TIMERQ_WHEELS_NR
};

/* First tick that is not before `time`. */
static uint64_t tick_up(m0_time_t time)
{
	return (time >> M0_TIMERQ_TICK_SHIFT) + ((time & TICK_MASK) != 0);
}

static unsigned wheel_shift(unsigned wheel)
{
	return wheel * M0_TIMERQ_WHEEL_BITS;
}

/* The digit of `tick` that names a slot of `wheel`. */
static unsigned digit(uint64_t tick, unsigned wheel)
{
	return (unsigned)(tick >> wheel_shift(wheel)) & SLOT_MASK;
}

void m0_timerq_init(struct m0_timerq *queue, m0_time_t now)
{
	unsigned wheel;
	unsigned slot;

	M0_SET0(queue);
	queue->tq_now = now >> M0_TIMERQ_TICK_SHIFT;
	for (wheel = 0; wheel < M0_TIMERQ_WHEELS_NR; ++wheel) {
		for (slot = 0; slot < M0_TIMERQ_SLOTS_NR; ++slot)
			m0_list_init(&queue->tq_slot[wheel][slot]);
	}
	m0_list_init(&queue->tq_far);
	m0_list_init(&queue->tq_due);
}

void m0_timerq_fini(struct m0_timerq *queue)
{
	M0_PRE(queue->tq_nr == 0);
}

void m0_timer_init(struct m0_timer *timer)
{
	m0_list_link_init(&timer->ti_link);
	timer->ti_deadline = M0_TIME_NEVER;
}

void m0_timer_fini(struct m0_timer *timer)
{
	M0_PRE(!m0_timer_is_armed(timer));
}

/* Put the timer, which expires at `tick`, into the list it belongs to now. */
static __attribute__((__noinline__)) void timer_place(struct m0_timerq *queue,
						      struct m0_timer  *timer,
						      uint64_t          tick)
{
	uint64_t diff = tick ^ queue->tq_now;
	unsigned wheel;
	unsigned slot;

	if (tick <= queue->tq_now) {
		m0_list_add_tail(&queue->tq_due, &timer->ti_link);
	} else if (diff >> WHEELS_BITS != 0) {
		m0_list_add_tail(&queue->tq_far, &timer->ti_link);
	} else {
		wheel = (63 - (unsigned)__builtin_clzll(diff)) /
			M0_TIMERQ_WHEEL_BITS;
		slot = digit(tick, wheel);
		queue->tq_busy[wheel] |= 1ULL << slot;
		queue->tq_last_tick = tick;
		queue->tq_last = &queue->tq_slot[wheel][slot];
		m0_list_add_tail(queue->tq_last, &timer->ti_link);
	}
}

/* Takes the timer out; the list it leaves may be a slot that is now empty. */
static void timer_displace(struct m0_timerq *queue, struct m0_timer *timer)
{
	struct m0_list_link *next = timer->ti_link.ll_next;
	uintptr_t            first = (uintptr_t)&queue->tq_slot[0][0];
	uintptr_t idx = ((uintptr_t)next - first) / sizeof(struct m0_list);

	m0_list_del(&timer->ti_link);
	/* Alone with the head of the list: that is what `next` was. */
	if (next->ll_next == next &&
	    idx < M0_TIMERQ_WHEELS_NR * M0_TIMERQ_SLOTS_NR)
		queue->tq_busy[idx / M0_TIMERQ_SLOTS_NR] &=
			~(1ULL << idx % M0_TIMERQ_SLOTS_NR);
}

/* Out of line, as timer_place(): arming a timer that is not armed needs no frame. */
static __attribute__((__noinline__)) void timer_move(struct m0_timerq *queue,
						     struct m0_timer  *timer,
						     m0_time_t         deadline)
{
	m0_timerq_cancel(queue, timer);
	m0_timerq_arm(queue, timer, deadline);
}

void m0_timerq_arm(struct m0_timerq *queue, struct m0_timer *timer,
		   m0_time_t deadline)
{
	uint64_t tick = tick_up(deadline);

	if (M0_UNLIKELY(m0_timer_is_armed(timer))) {
		timer_move(queue, timer, deadline);
		return;
	}
	timer->ti_deadline = deadline;
	if (deadline == M0_TIME_NEVER)
		return;
	++queue->tq_nr;
	/*
	 * Behind one of the same slot, if there is one. While the tick is to
	 * come, what is in its slot is there for the same turn of the wheel:
	 * from the slot's beginning to its end it is empty.
	 */
	if (M0_LIKELY(tick == queue->tq_last_tick && tick > queue->tq_now &&
		      !m0_list_is_empty(queue->tq_last)))
		m0_list_add_tail(queue->tq_last, &timer->ti_link);
	else
		timer_place(queue, timer, tick);
}

void m0_timerq_cancel(struct m0_timerq *queue, struct m0_timer *timer)
{
	if (!m0_timer_is_armed(timer))
		return;
	M0_ASSERT(queue->tq_nr > 0);
	timer_displace(queue, timer);
	--queue->tq_nr;
}

/* Tick at which the next slot begins; pre: none is due, some are armed. */
static uint64_t slot_next(const struct m0_timerq *queue, unsigned *ret_wheel)
{
	uint64_t now = queue->tq_now;
	unsigned wheel;

	for (wheel = 0; wheel < M0_TIMERQ_WHEELS_NR; ++wheel) {
		uint64_t busy = queue->tq_busy[wheel];
		unsigned above = wheel_shift(wheel + 1);

		if (busy != 0) {
			*ret_wheel = wheel;
			/* The digits above as they are, this one, zeroes. */
			return (now >> above << above) |
			       (uint64_t)__builtin_ctzll(busy)
				       << wheel_shift(wheel);
		}
	}
	*ret_wheel = M0_TIMERQ_WHEELS_NR;
	return ((now >> WHEELS_BITS) + 1) << WHEELS_BITS;
}

m0_time_t m0_timerq_next(const struct m0_timerq *queue)
{
	uint64_t tick = queue->tq_now;
	unsigned wheel;

	if (queue->tq_nr == 0)
		return M0_TIME_NEVER;
	if (m0_list_is_empty(&queue->tq_due))
		tick = slot_next(queue, &wheel);
	/* The very last tick has no time of its own. */
	return tick >> (64 - M0_TIMERQ_TICK_SHIFT) != 0
		       ? M0_TIME_NEVER - 1
		       : tick << M0_TIMERQ_TICK_SHIFT;
}

/*
 * The queue's tick has reached the beginning of a slot: distribute its timers.
 */
static void slot_deal(struct m0_timerq *queue, unsigned wheel)
{
	struct m0_list *slot = &queue->tq_far;
	struct m0_list  all;
	unsigned        idx;

	if (wheel < M0_TIMERQ_WHEELS_NR) {
		idx = digit(queue->tq_now, wheel);
		slot = &queue->tq_slot[wheel][idx];
		queue->tq_busy[wheel] &= ~(1ULL << idx);
	}
	m0_list_init(&all);
	m0_list_splice_tail(&all, slot);
	while (!m0_list_is_empty(&all)) {
		struct m0_list_link *link = m0_list_first(&all);
		struct m0_timer     *timer =
			container_of(link, struct m0_timer, ti_link);

		m0_list_del(link);
		timer_place(queue, timer, tick_up(timer->ti_deadline));
	}
}

struct m0_timer *m0_timerq_expire(struct m0_timerq *queue, m0_time_t now)
{
	uint64_t             tick = now >> M0_TIMERQ_TICK_SHIFT;
	struct m0_list_link *link;
	uint64_t             next;
	unsigned             wheel;

	while (m0_list_is_empty(&queue->tq_due) && queue->tq_nr > 0) {
		next = slot_next(queue, &wheel);
		if (next > tick)
			break;
		queue->tq_now = next;
		slot_deal(queue, wheel);
	}
	link = m0_list_first(&queue->tq_due);
	if (link == NULL) {
		/* No slot begins up to here: nothing changes its place. */
		queue->tq_now = max64u(queue->tq_now, tick);
		return NULL;
	}
	m0_list_del(link);
	--queue->tq_nr;
	return container_of(link, struct m0_timer, ti_link);
}
