/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * One side of a conversation: a transfer machine, buffers for messages that
 * arrive, buffers for messages that leave, one lock, the first failure. The
 * owner of the port defines the messages: `copy` and `perf` have their own. A
 * port may own a thread (that of the role), which does the slow work; callbacks
 * of the transfer machine do the network's.
 */
#ifndef M0_TOOLS_PORT_H
#define M0_TOOLS_PORT_H

#include "node.h"

struct tool_port;

enum {
	/** Longest message that a port may be asked to take. */
	TOOL_PORT_MSG_MAX = 2048
};

/** A buffer that a message leaves from. */
struct tool_out {
	struct m0_net_buffer tou_nb;
	struct tool_port    *tou_port;
	struct tool_out     *tou_next;
};

struct tool_port {
	struct tool_node tpo_node;
	/** Protects the role, too. Taken by callbacks. */
	struct m0_mutex tpo_lock;
	/** Broadcast whenever something under the lock has changed. */
	struct m0_cond tpo_cond;
	/** First failure; the role's thread and main look for it. */
	struct tool_fail      tpo_fail;
	int                   tpo_rc;
	struct m0_net_buffer *tpo_in;
	struct tool_out      *tpo_out;
	struct tool_out      *tpo_out_free;
	uint32_t              tpo_msgs_nr;
	struct m0_thread      tpo_thread;
	bool                  tpo_thread_started;
	/** The role's thread is at its end. */
	bool tpo_done;
	/** eventfd, written to at that time; -1: none. */
	int tpo_done_fd;
	/**
	 * The number of the conversation. Messages of others, and what is no
	 * message, are counted and left alone if the peer is another process.
	 */
	uint64_t tpo_conv;
	uint64_t tpo_strays_nr;
	/**
	 * How long the peer may be silent, ns, and when its last message came. 0:
	 * for ever, because the peer is in this process. Locked.
	 */
	m0_time_t tpo_timeout_ns;
	m0_time_t tpo_received;
	m0_time_t tpo_alive_sent;
	/**
	 * How long a peer that sends messages may make no progress, ns, and when it
	 * last made some. 0: for ever. Locked.
	 */
	m0_time_t tpo_idle_ns;
	m0_time_t tpo_moved;
	/** The role's thread waits for the peer, and does nothing else. Locked. */
	bool tpo_waits;
	/** Address of a peer in another process; NULL: it is in this one. */
	const char *tpo_to;
	/** Failing to send is no failure of the port. */
	bool tpo_is_door;
	/** Longest message, at most TOOL_PORT_MSG_MAX. */
	m0_bcount_t tpo_msg_bytes;
	/**
	 * A message from `from`, called without the lock; the bytes are the
	 * callee's during the call.
	 * @return  was it of this conversation?
	 */
	bool (*tpo_take)(struct tool_port *port, struct m0_net_end_point *from,
			 void *bytes, size_t nr);
	/** A message of a door to `to` did not leave; may be NULL. Locked. */
	void (*tpo_lost)(struct tool_port *port, struct m0_net_end_point *to,
			 int rc);
};

/**
 * Opens and starts the machine at `addr` (NULL: any), with room for `msgs_nr`
 * messages each way; tpo_take and tpo_msg_bytes are set. On failure tpo_fail is
 * set, and the port may be closed.
 * @return 0, or an exit code.
 */
int tool_port_open(struct tool_port *port, const char *name,
		   const struct tool_xprt *xprt, const char *addr,
		   uint32_t msgs_nr, int done_fd);
/** Starts the role's thread. */
int tool_port_run(struct tool_port *port, void (*func)(struct tool_port *));
/** The last call of the role's thread: wakes the thread that waits at tpo_done_fd. */
void tool_port_finish(struct tool_port *port);
/** Waits for the role's thread, then stops the machine. */
void tool_port_stop(struct tool_port *port);
/** Pre: stopped; the role's buffers are no longer registered. */
void tool_port_close(struct tool_port *port);

/**
 * Sends a message, waiting for a free buffer (no longer than the peer may be
 * silent). Without the lock.
 */
int tool_port_send(struct tool_port *port, struct m0_net_end_point *to,
		   const void *bytes, size_t nr);
/** Answers a stranger. A failure to send is not reported. Never waits. */
void tool_port_reply(struct tool_port *port, struct m0_net_end_point *to,
		     const void *bytes, size_t nr);
/**
 * Is it time to say that we are there? If so, the caller does. Without the
 * lock; one thread.
 */
bool tool_port_alive_due(struct tool_port *port);
/** How often that is to be called, ns. */
m0_time_t tool_port_alive_ns(const struct tool_port *port);
/** Notes that the peer lives: a message came, at this port or elsewhere. Without the
 * lock. */
void tool_port_received(struct tool_port *port);
/** The peer did something, or the role's thread itself. With the lock. */
void tool_port_moved(struct tool_port *port);
/** A number for a new conversation, not 0. @return 0, or -errno. */
int tool_conv_make(uint64_t *ret);
/** Waits until all messages have left, or `ns` are over. */
void tool_port_drain(struct tool_port *port, m0_time_t ns);
/**
 * Waits for the condition. If the peer has been silent for too long the port
 * fails with -ETIMEDOUT; if it sent messages, but made no progress, with -ETIME.
 * With the lock.
 */
void tool_port_wait(struct tool_port *port);

/**
 * Notes the first failure and wakes the role's thread. With the lock held,
 * or without: `_lock` takes it.
 */
void tool_port_fail(struct tool_port *port, int rc, const char *fmt, ...)
	M0_PRINTF(3, 4);
void tool_port_fail_lock(struct tool_port *port, int rc, const char *fmt, ...)
	M0_PRINTF(3, 4);
/** The first failure's error number, 0 for none. Takes the lock. */
int tool_port_rc(struct tool_port *port);

#endif /* M0_TOOLS_PORT_H */
