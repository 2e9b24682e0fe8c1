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

enum {
	/** Messages apart from those of blocks. */
	COPY_MSGS_SPARE = 8
};
/** How long the last words of a copy are waited for, ns. */
#define COPY_BYE_NS M0_TIME_ONE_SECOND

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
	 * The number of the copy. Messages of others, and what is no message,
	 * are counted and left alone if the peer is another process.
	 */
	uint64_t cp_conv;
	uint64_t cp_strays_nr;
	/**
	 * How long the peer may be silent, ns, and when it was heard last. 0:
	 * for ever, for it is in this process. Locked.
	 */
	m0_time_t cp_timeout_ns;
	m0_time_t cp_heard;
	m0_time_t cp_told_alive;
	/** Address of a peer in another process; NULL: it is in this one. */
	const char *cp_to;
	/** Failing to send is no failure of the port. */
	bool cp_is_door;
	/**
	 * A message of another version than ours; NULL: it does not matter.
	 * Called without the lock.
	 */
	void (*cp_alien)(struct copy_port *port, struct m0_net_end_point *from,
			 const struct copy_msg *msg);
	/**
	 * A message from `from`, called without the lock; `msg` is valid during
	 * the call. The descriptor, if any, is the callee's from now on.
	 * @return  was it of this copy?
	 */
	bool (*cp_msg)(struct copy_port *port, struct m0_net_end_point *from,
		       const struct copy_msg *msg);
};

/**
 * Opens and starts the machine at `addr` (NULL: any), with room for `msgs_nr` messages each way.
 * On failure cp_fail is set, and the port may be closed.
 * @return 0, or an exit code.
 */
int copy_port_open(struct copy_port *port, const char *name,
		   const struct tool_xprt *xprt, const char *addr,
		   uint32_t msgs_nr, int done_fd);
/** Starts the role's thread. */
int copy_port_run(struct copy_port *port, void (*func)(struct copy_port *));
/** The last call of the role's thread: tells who waits at cp_done_fd. */
void copy_port_finish(struct copy_port *port);
/** Waits for the role's thread, then stops the machine. */
void copy_port_stop(struct copy_port *port);
/** Pre: stopped; the role's buffers are no longer registered. */
void copy_port_close(struct copy_port *port);

/**
 * Sends a message with the number of the copy, waiting for a free buffer (no
 * longer than the peer may be silent). Without the lock.
 */
int copy_port_send(struct copy_port *port, struct m0_net_end_point *to,
		   const struct copy_msg *msg);
/** An answer to a stranger: failing to send it is his affair. Never waits. */
void copy_port_reply(struct copy_port *port, struct m0_net_end_point *to,
		     const struct copy_msg *msg);
/**
 * Says that we are there, if it is time to, and something else is not being
 * said anyway. Never waits. Without the lock.
 */
void copy_port_alive(struct copy_port *port, struct m0_net_end_point *to);
/** How often that is to be called, ns. */
m0_time_t copy_port_alive_ns(const struct copy_port *port);
/** Waits until all messages have left, or `ns` are over. */
void copy_port_drain(struct copy_port *port, m0_time_t ns);
/**
 * Waits for the condition. If the peer has been silent for too long the port
 * fails with -ETIMEDOUT. With the lock.
 */
void copy_port_wait(struct copy_port *port);

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
