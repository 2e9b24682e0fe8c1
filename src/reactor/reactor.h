/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A reactor: the place in which a node waits for input of all its drivers.
 *
 * A driver with input and output, such as byte streams, adds a source. The node
 * makes passes over the sources, flushes them, and waits in the reactor, which
 * ends the wait when any source may have something. Room loop implements the
 * waiting over epoll, the simulator over its clock.
 *
 * One thread at a time uses a reactor, the node's strand; only rtro_rouse and
 * rtro_fd are for any thread.
 */
#ifndef M0_SRC_REACTOR_REACTOR_H
#define M0_SRC_REACTOR_REACTOR_H

#include "m0/base.h"

struct m0_reactor;
struct m0_reactor_source;
struct m0_strand;

struct m0_reactor_source_ops {
	/**
	 * Reads the input that has arrived and calls up. Bounded; what it leaves
	 * is ready at the next pass. A node that is polled makes passes without
	 * ever waiting, so a source that must ask the system for its input does
	 * it here (m0_loop_reactor_ask), unless rtr_looked.
	 * @return true if there may be more at once.
	 */
	bool (*rtso_pass)(struct m0_reactor_source *src, m0_time_t now);
	/** Writes the output that was announced. May call up (broken). */
	void (*rtso_flush)(struct m0_reactor_source *src);
	/** Returns true if a pass or a flush would find work that is known
	 * without asking the system. */
	bool (*rtso_has_work)(const struct m0_reactor_source *src);
	/** The reactor is about to ask the system for input of all sources. May
	 * be NULL. */
	void (*rtso_look)(struct m0_reactor_source *src);
	/**
	 * The reactor is about to ask on behalf of a sleeper: the source must
	 * not count on passes to notice input. May be NULL.
	 * @param deadline  M0_TIME_IMMEDIATELY: nobody sleeps yet.
	 * @return `deadline`, or an earlier one that the source needs.
	 */
	m0_time_t (*rtso_wait)(struct m0_reactor_source *src,
			       m0_time_t                 deadline);
};

/** Embedded in the object of its user. */
struct m0_reactor_source {
	const struct m0_reactor_source_ops *rts_ops;
	struct m0_reactor                  *rts_reactor;
	struct m0_reactor_source           *rts_next;
};

struct m0_reactor_ops {
	/** Frees the reactor. Pre: it has no source. */
	void (*rtro_destroy)(struct m0_reactor *reactor);
	/**
	 * Blocks until something can be read or written, rtro_rouse, or the
	 * deadline. Only for a thread that the node has for itself. NULL: nobody
	 * sleeps in this reactor.
	 */
	void (*rtro_sleep)(struct m0_reactor *reactor, m0_time_t deadline);
	/** Ends a rtro_sleep, or the next; makes rtro_fd readable. Any thread.
	 */
	void (*rtro_rouse)(struct m0_reactor *reactor);
	/** Returns true if a pass would find something. Cheap; may be wrong by
	 * "no". */
	bool (*rtro_ready)(struct m0_reactor *reactor);
	/** One descriptor for all of it, which shows something from the first
	 * rtro_arm on. Any thread, which calls rtro_rouse afterwards. */
	int (*rtro_fd)(struct m0_reactor *reactor);
	/** To be called after each step from the first one on: the descriptor
	 * polls readable for what the step has left, for input, and from the
	 * deadline on. */
	void (*rtro_arm)(struct m0_reactor *reactor, m0_time_t deadline);
	/** Sets the node's strand: the simulator wakes it when there is input. May
	 * be NULL. */
	void (*rtro_strand_set)(struct m0_reactor *reactor,
				struct m0_strand  *strand);
};

/** One for each node; embedded in the object of its implementation. */
struct m0_reactor {
	const struct m0_reactor_ops *rtr_ops;
	struct m0_reactor_source    *rtr_sources;
	/** The time of the step, for sources and drivers. Set by a pass, and by a
	 * node that calls drivers before it. */
	m0_time_t rtr_now;
	/** Set by the node: the pass follows another one of the same step, or
	 * only sends, so that it need not ask the system for input. */
	bool rtr_looked;
	/** Set by drivers, cleared by the node before their steps: a pass or a
	 * flush has called the driver, or it wants a step for another reason. */
	bool rtr_called;
	/** Set by the reactor: it has taken a rouse, so that there may be more
	 * to do. The next pass returns and clears it. */
	bool rtr_roused;
};

/** Adds a source behind the others. */
static inline void m0_reactor_add(struct m0_reactor        *reactor,
				  struct m0_reactor_source *src)
{
	struct m0_reactor_source **at = &reactor->rtr_sources;

	while (*at != NULL)
		at = &(*at)->rts_next;
	*at = src;
	src->rts_next = NULL;
	src->rts_reactor = reactor;
}

/** Pre: the reactor has it. */
static inline void m0_reactor_del(struct m0_reactor_source *src)
{
	struct m0_reactor_source **at = &src->rts_reactor->rtr_sources;

	while (*at != src) {
		M0_ASSERT(*at != NULL);
		at = &(*at)->rts_next;
	}
	*at = src->rts_next;
}

/** A pass of all sources. @return true if there may be more at once. */
static inline bool m0_reactor_pass(struct m0_reactor *reactor, m0_time_t now)
{
	struct m0_reactor_source *src;
	bool                      more = false;

	reactor->rtr_now = now;
	for (src = reactor->rtr_sources; src != NULL; src = src->rts_next)
		more |= src->rts_ops->rtso_pass(src, now);
	more |= reactor->rtr_roused;
	reactor->rtr_roused = false;
	return more;
}

static inline void m0_reactor_flush(struct m0_reactor *reactor)
{
	struct m0_reactor_source *src;

	for (src = reactor->rtr_sources; src != NULL; src = src->rts_next)
		src->rts_ops->rtso_flush(src);
}

/** Returns true if a pass or a flush has work that is known already. */
static inline bool m0_reactor_has_work(const struct m0_reactor *reactor)
{
	const struct m0_reactor_source *src;

	for (src = reactor->rtr_sources; src != NULL; src = src->rts_next)
		if (src->rts_ops->rtso_has_work(src))
			return true;
	return reactor->rtr_roused;
}

#endif /* M0_SRC_REACTOR_REACTOR_H */
