/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Neighbours: other processes that are attached to the same server. docs/ring.md, section 15, is
 * the specification. The pump sends messages to them, and takes messages from them, by pipes
 * (ring/pipe.h), without the server; this is the table of what it needs of the system for that.
 *
 * All functions are called with a lock held, and none waits.
 */
#ifndef M0_SRC_FRONT_PUMP_NEAR_H
#define M0_SRC_FRONT_PUMP_NEAR_H

#include "ring/pipe.h"

enum {
	/** Most neighbours that a process sends to, and most that send to it. */
	M0_PUMP_OUTS_MAX = 64,
	M0_PUMP_INS_MAX = 64
};

/** The queue of a neighbour that a process wants to send to. */
struct m0_pump_hello {
	uint64_t phl_bits;
	uint32_t phl_portal;
};

/** A connection with a neighbour. */
struct m0_pump_conn {
	/** Once pnc_is_open. */
	struct m0_pipe pnc_pipe;
	bool           pnc_is_open;
	/** The neighbour has hung up, or is gone. What is in the pipe stays valid. */
	bool pnc_is_dead;
};

struct m0_pump_near_ops {
	/** The name at which neighbours find this process; 0: there can be none. */
	uint64_t (*pne_name)(void *arg);
	/** Dials a neighbour. NULL: it is not there, or of another user. */
	struct m0_pump_conn *(*pne_dial)(void *arg, uint64_t name,
					 const struct m0_pump_hello *hello);
	/** The next neighbour that has said what it wants; NULL: there is none. */
	struct m0_pump_conn *(*pne_accept)(void                 *arg,
					   struct m0_pump_hello *ret);
	/** Opens a connection that was accepted. @return 0 or a negative errno */
	int (*pne_welcome)(void *arg, struct m0_pump_conn *conn);
	/** Looks at all connections for answers, wake-ups and ends.
	 * @return true: it is to look again soon, and nothing wakes it for that. */
	bool (*pne_look)(void *arg);
	/** Wakes the neighbour. */
	void (*pne_ring)(void *arg, struct m0_pump_conn *conn);
	/** Ends the connection. @param reset  the neighbour breaks the rules. */
	void (*pne_close)(void *arg, struct m0_pump_conn *conn, bool reset);
};

#endif /* M0_SRC_FRONT_PUMP_NEAR_H */
