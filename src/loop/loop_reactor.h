/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The reactor of a real node: its sources watch their descriptors in one loop.
 */
#ifndef M0_SRC_LOOP_LOOP_REACTOR_H
#define M0_SRC_LOOP_LOOP_REACTOR_H

#include "base/exports.h"
#include "loop/loop.h"
#include "reactor/reactor.h"

struct m0_loop_reactor {
	struct m0_reactor lre_reactor;
	struct m0_loop    lre_loop;
	/** An application polls the descriptor: it must show work that is left over. */
	bool lre_is_polled;
	/** Counts how often the loop was asked for input. */
	unsigned lre_asks_nr;
	/** The node's; NULL: not set. */
	struct m0_strand *lre_strand;
};

static inline struct m0_loop_reactor *m0_loop_reactor_of(
	struct m0_reactor *reactor)
{
	return container_of(reactor, struct m0_loop_reactor, lre_reactor);
}

/** @retval <0  of m0_loop_init. */
int m0_loop_reactor_create(struct m0_reactor **ret);
/**
 * Asks the loop for input of all sources.
 * @return of m0_loop_wait.
 */
M0_SHARED unsigned m0_loop_reactor_ask(struct m0_loop_reactor *lre,
				       m0_time_t               deadline);
/** For a source that has flushed: work that it has left must show in the
 * descriptor. */
static inline void m0_loop_reactor_show(struct m0_loop_reactor *lre,
					bool                    has_work)
{
	if (M0_UNLIKELY(lre->lre_is_polled) && has_work)
		m0_loop_rouse(&lre->lre_loop);
}

#endif /* M0_SRC_LOOP_LOOP_REACTOR_H */
