/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Messages of a copy (copy_wire.h) on a port (port.h). */
#ifndef M0_TOOLS_COPY_PORT_H
#define M0_TOOLS_COPY_PORT_H

#include "copy_wire.h"
#include "../net/port.h"

enum {
	/** Messages apart from those of blocks. */
	COPY_MSGS_SPARE = 8
};
/** How long the last words of a copy are waited for, ns. */
#define COPY_BYE_NS M0_TIME_ONE_SECOND
/** Least time that a peer that is there may do nothing, ns (tpo_idle_ns). */
#define COPY_IDLE_NS (10 * M0_TIME_ONE_SECOND)

/** Callbacks by which a role handles messages. */
struct copy_ears {
	/**
	 * Called without the lock; `msg` is valid during the call. The
	 * descriptor, if any, is the callee's from now on.
	 * @return  was it of this copy?
	 */
	bool (*cea_msg)(struct tool_port *port, struct m0_net_end_point *from,
			const struct copy_msg *msg);
	/** One of another version than ours; NULL: it does not matter. */
	void (*cea_alien)(struct tool_port *port, struct m0_net_end_point *from,
			  const struct copy_msg *msg);
};

/** tool_port_open(), for messages of a copy; tpo_take and tpo_timeout_ns are set. */
int copy_open(struct tool_port *port, const char *name,
	      const struct tool_xprt *xprt, const char *addr, uint32_t msgs_nr,
	      int done_fd);
/** The work of a role's tpo_take. */
bool copy_take(const struct copy_ears *ears, struct tool_port *port,
	       struct m0_net_end_point *from, void *bytes, size_t nr);
/** tool_port_send(), with the number of the copy. */
int copy_send(struct tool_port *port, struct m0_net_end_point *to,
	      const struct copy_msg *msg);
/** tool_port_reply(), with the number of the copy. */
void copy_reply(struct tool_port *port, struct m0_net_end_point *to,
		const struct copy_msg *msg);
/**
 * Says that we are there, if it is time to; and whether we are at work on the
 * file, so that the peer has to wait. Never waits. Without the lock.
 * @return  was it time?
 */
bool copy_alive(struct tool_port *port, struct m0_net_end_point *to, bool busy);

#endif /* M0_TOOLS_COPY_PORT_H */
