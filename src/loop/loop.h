/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A loop of events: one epoll descriptor, ended by other threads or a deadline.
 *
 * The loop watches descriptors edge-triggered, in both directions, and registers
 * each with the kernel once. A handler that learns of input must read until
 * nothing is left (a read that returns less than it asked for has emptied the
 * descriptor), or remember that it has not. A loop belongs to one thread at a
 * time; any thread may call m0_loop_rouse().
 */
#ifndef M0_SRC_LOOP_LOOP_H
#define M0_SRC_LOOP_LOOP_H

#include "m0/base.h"

#include "base/exports.h"

/** Events of a descriptor. */
enum m0_loop_event {
	M0_LOOP_IN = 1,
	M0_LOOP_OUT = 2,
	/** No more will come, or an error is pending: read until it shows. */
	M0_LOOP_END = 4
};

/** Results of a wait. */
enum m0_loop_found {
	/** A handler was called. */
	M0_LOOP_FD = 1,
	/** Another thread has called m0_loop_rouse(). */
	M0_LOOP_ROUSED = 2
};

/** A watched descriptor; embedded in its user. */
struct m0_loop_fd {
	int lof_fd;
	/**
	 * Called from m0_loop_wait(); may add and delete, this one as well.
	 * @param events  of enum m0_loop_event.
	 */
	void (*lof_handler)(struct m0_loop_fd *fd, unsigned events);
};

enum {
	M0_LOOP_EVENTS_MAX = 64
};

struct m0_loop {
	int lop_fd;
	int lop_event;
	/** -1 until m0_loop_arm. */
	int lop_timer;
	/** Is a rouse on its way? Then another one makes no system call. */
	uint32_t  lop_roused;
	m0_time_t lop_armed;
	/** Events that one wait has found and that are not handled yet. */
	void    *lop_found[M0_LOOP_EVENTS_MAX];
	unsigned lop_found_nr;
};

/** @retval <0  of the calls that make descriptors; nothing is left open. */
M0_SHARED int m0_loop_init(struct m0_loop *loop);
/** Descriptors of others stay open. */
M0_SHARED void m0_loop_fini(struct m0_loop *loop);

/**
 * Watches `fd`, with both members set, from now on.
 * @retval -ENOMEM, -ENOSPC  the system's limits.
 */
M0_SHARED int m0_loop_add(struct m0_loop *loop, struct m0_loop_fd *fd);
/** Watches for some events only, of enum m0_loop_event; M0_LOOP_END comes with
 * M0_LOOP_IN. Errors are reported in any case. */
int m0_loop_add_for(struct m0_loop *loop, struct m0_loop_fd *fd,
		    unsigned events);
/** Watches for these events from now on, and reports those that are there. Pre:
 * the loop watches it. */
int m0_loop_mask(struct m0_loop *loop, struct m0_loop_fd *fd, unsigned events);
/** Stops watching; its handler is not called again. Before it is closed. */
M0_SHARED void m0_loop_del(struct m0_loop *loop, struct m0_loop_fd *fd);

/**
 * Waits until `deadline` at the latest (M0_TIME_IMMEDIATELY: only looks;
 * M0_TIME_NEVER) for one event, and calls the handlers of those that are there,
 * at most M0_LOOP_EVENTS_MAX. May return early with nothing, by a signal or an
 * earlier deadline that was armed.
 * @return of enum m0_loop_found.
 */
M0_SHARED unsigned m0_loop_wait(struct m0_loop *loop, m0_time_t deadline);

/** Ends a wait, or the next. Any thread; cheap when one is on its way. */
M0_SHARED void m0_loop_rouse(struct m0_loop *loop);

/**
 * For other loops: readable while a wait would find something, or after the
 * deadline that was armed. Not closed by the user.
 */
int m0_loop_pollable(const struct m0_loop *loop);
/**
 * Makes m0_loop_pollable() readable, and a wait return, from `deadline` on. An
 * earlier one that was armed before may still come, for nothing: that saves a
 * call for each deadline that moves away. M0_TIME_NEVER does nothing.
 * @retval <0  no descriptor for a timer.
 */
int m0_loop_arm(struct m0_loop *loop, m0_time_t deadline);

#endif /* M0_SRC_LOOP_LOOP_H */
