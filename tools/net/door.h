/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The machine that strangers come to. Its callback puts what they say on a
 * short list and does no more; main looks at that. So a stranger costs a slot
 * of a list, and nobody waits for a callback.
 */
#ifndef M0_TOOLS_DOOR_H
#define M0_TOOLS_DOOR_H

#include "port.h"

enum {
	TOOL_ASKS_MAX = 16
};

/** A message that waits for main. */
struct tool_ask {
	struct m0_net_end_point *tak_from;
	size_t                   tak_nr;
	uint8_t                  tak_bytes[TOOL_PORT_MSG_MAX];
};

struct tool_door {
	struct tool_port tdo_port;
	/** Is that for main? Else it is a stray. Called without the lock. */
	bool (*tdo_wants)(struct tool_door *door, struct m0_net_end_point *from,
			  void *bytes, size_t nr);
	/** Under the port's lock. */
	struct tool_ask tdo_asks[TOOL_ASKS_MAX];
	uint32_t        tdo_asks_nr;
	/** eventfd: readable when something was put on the list. */
	int tdo_wake_fd;
};

/**
 * Opens the door at `addr` (NULL: any); tdo_wants, tpo_msg_bytes and
 * tpo_timeout_ns are set. @return 0, or an exit code, with `fail` set.
 */
int tool_door_open(struct tool_door *door, const struct tool_xprt *xprt,
		   const char *addr, struct tool_fail *fail);
/** Gives what has been on the list longest; the end point is the caller's. */
bool tool_door_get(struct tool_door *door, struct tool_ask *ret);
/** Waits for the last words to leave, no longer than `ns`. */
void tool_door_close(struct tool_door *door, m0_time_t ns);

#endif /* M0_TOOLS_DOOR_H */
