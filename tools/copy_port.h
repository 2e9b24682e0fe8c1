/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What both roles of a copy have: a machine, buffers that messages arrive in,
 * buffers that they leave from, one lock, the first failure.
 *
 * A port owns a thread (the role's), which does the file's side of the work;
 * the machine's callbacks do the network's.
 */
#ifndef M0_TOOLS_COPY_PORT_H
#define M0_TOOLS_COPY_PORT_H

#include "copy_wire.h"
#include "node.h"

struct copy_port;

/** A buffer that a message leaves from. */
struct copy_out {
	struct m0_net_buffer co_nb;
	struct copy_port    *co_port;
	struct copy_out     *co_next;
};

struct copy_port {
	struct tool_node cp_node;
	/** Protects the role, too. Taken by callbacks. */
	struct m0_mutex cp_lock;
	/** Broadcast whenever something under the lock has changed. */
	struct m0_cond cp_cond;
	/** First failure; the role's thread and main look for it. */
	struct tool_fail      cp_fail;
	int                   cp_rc;
	struct m0_net_buffer *cp_in;
	struct copy_out      *cp_out;
	struct copy_out      *cp_out_free;
	uint32_t              cp_msgs_nr;
	struct m0_thread      cp_thread;
	bool                  cp_thread_started;
	/** The role's thread is at its end. */
	bool cp_done;
	/** eventfd, written to at that time; -1: none. */
	int cp_done_fd;
	/**
	 * A message from `from`, called without the lock; `msg` is valid during
	 * the call. The descriptor, if any, is the callee's from now on.
	 */
	void (*cp_msg)(struct copy_port *port, struct m0_net_end_point *from,
		       const struct copy_msg *msg);
};

/**
 * Opens and starts the machine, with room for `msgs_nr` messages each way.
 * On failure cp_fail is set, and the port may be closed.
 * @return 0, or an exit code.
 */
int copy_port_open(struct copy_port *port, const char *name,
		   const struct tool_xprt *xprt, uint32_t msgs_nr, int done_fd);
/** Starts the role's thread. */
int copy_port_run(struct copy_port *port, void (*func)(struct copy_port *));
/** The last call of the role's thread: tells who waits at cp_done_fd. */
void copy_port_finish(struct copy_port *port);
/** Waits for the role's thread, then stops the machine. */
void copy_port_stop(struct copy_port *port);
/** Pre: stopped; the role's buffers are no longer registered. */
void copy_port_close(struct copy_port *port);

/**
 * Sends a message, waiting for a free buffer. From the role's thread, without
 * the lock.
 */
int copy_port_send(struct copy_port *port, struct m0_net_end_point *to,
		   const struct copy_msg *msg);

/**
 * Notes the first failure and wakes the role's thread. With the lock held,
 * or without: `_lock` takes it.
 */
void copy_port_fail(struct copy_port *port, int rc, const char *fmt, ...)
	M0_PRINTF(3, 4);
void copy_port_fail_lock(struct copy_port *port, int rc, const char *fmt, ...)
	M0_PRINTF(3, 4);
/** The first failure's error number, 0 for none. Takes the lock. */
int copy_port_rc(struct copy_port *port);

#endif /* M0_TOOLS_COPY_PORT_H */
