/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A moment that threads seldom meet: a node has taken what was asked of it, and
 * is about to read its sockets. What a test does then is as if another thread
 * had done it at that moment.
 */
#ifndef M0_TESTS_LIB_IO_HOOK_H
#define M0_TESTS_LIB_IO_HOOK_H

#include "reactor/host_ops.h"
#include "reactor/reactor.h"

/** One node's. */
struct io_hook {
	/**
	 * Called before each read, by the thread that steps the node, while ih_armed.
	 * @param ready  something is there to be read.
	 */
	void (*ih_call)(struct io_hook *hook, bool ready);
	/** Atomic. */
	bool ih_armed;
	/** Time of the pass. */
	m0_time_t ih_now;
	/** The first source of the node's reactor. */
	struct m0_reactor_source ih_source;
	/** The tables that were put aside. */
	const struct m0_host_ops    *ih_under;
	const struct m0_reactor_ops *ih_reactor_ops;
};

/** The next node that is opened has the hook. One in a process. */
void io_hook_next(struct io_hook *hook);
/** Reads what is there, and forgets what has woken the node. From ih_call. */
void io_hook_pass(const struct io_hook *hook);
/** Is something there to be read? From ih_call. */
bool io_hook_ready(const struct io_hook *hook);
void io_hook_arm(struct io_hook *hook, bool armed);

#endif /* M0_TESTS_LIB_IO_HOOK_H */
