/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Requests on their way to an object service, many at a time, and one thread
 * that posts them and takes what comes back.
 *
 * A request that names memory is sent once: when it gets no answer, its memory
 * may have been fetched already, so it is offered anew and asked for again by a
 * new request; the service takes it as the same. Everything else the RPC layer
 * sends again by itself. What is not answered within the client's time-out ends
 * with -ETIMEDOUT. What the service is too busy for (-EAGAIN, -EBUSY) is asked
 * again, more and more seldom, and ends with that when it has no better answer
 * in time.
 */
#ifndef M0_TOOLS_OBJ_LANE_H
#define M0_TOOLS_OBJ_LANE_H

#include "obj_client.h"

struct obj_lanes;

struct obj_lane {
	struct obj_lanes *ol_lanes;
	/** Set by the caller; what `ol_req` points to lives until the end. */
	enum obj_op    ol_op;
	struct obj_req ol_req;
	void          *ol_owner;
	/** Bulk: a block of memory, and which way; else NULL. */
	struct m0_net_buffer *ol_nb;
	bool                  ol_gets;
	/** When it has ended: 0 or an error, and the reply, until
	 * obj_lane_put(). */
	int            ol_rc;
	struct obj_rep ol_rep;

	/* The lanes'. */
	struct m0_rpc_raw *ol_raw;
	struct m0_rpc_bulk ol_rb;
	int                ol_bulk_rc;
	uint64_t           ol_moved;
	bool               ol_bulk_on;
	uint32_t           ol_ends_left;
	uint32_t           ol_stream;
	uint32_t           ol_tries;
	int                ol_busy_rc;
	m0_time_t          ol_limit;
	m0_time_t          ol_again;
	struct obj_lane   *ol_next;
};

struct obj_lanes {
	struct obj_client     *os_client;
	struct obj_lane       *os_lane;
	uint32_t               os_nr;
	struct obj_lane       *os_free;
	struct m0_net_buffer  *os_bufs;
	struct m0_net_buffer **os_bufs_free;
	uint32_t               os_bufs_nr;
	uint32_t               os_bufs_free_nr;
	/** Lanes that have ended; the semaphore is raised once for all of
	 * them. */
	struct m0_mutex     os_lock;
	struct obj_lane    *os_done;
	struct obj_lane   **os_done_tail;
	struct m0_semaphore os_any;
	/** Ended lanes that the caller has taken at once, and gets next. */
	struct obj_lane *os_taken;
	/** To be posted in a row: when there are os_gather, or nothing has
	 * ended. */
	struct obj_lane  *os_ready;
	struct obj_lane **os_ready_tail;
	uint32_t          os_ready_nr;
	uint32_t          os_gather;
	/** To be asked again at ol_again. */
	struct obj_lane *os_later;
	uint32_t         os_busy_nr;
	/** Number of lanes in use without a block, and its limit. */
	uint32_t os_plain_nr;
	uint32_t os_plain_max;
};

int obj_lanes_init(struct obj_lanes *lanes, struct obj_client *client);
/** Pre: none is busy, or the client's session was cancelled. */
void obj_lanes_fini(struct obj_lanes *lanes);

bool obj_lane_is_there(const struct obj_lanes *lanes, bool bulk);
/** A free lane; with a block of memory if `bulk`. NULL: none now. */
struct obj_lane *obj_lane_get(struct obj_lanes *lanes, bool bulk);
void             obj_lane_put(struct obj_lane *lane);
uint8_t         *obj_lane_bytes(const struct obj_lane *lane);
/** Posts what was set. It ends, by obj_lanes_wait(). */
void obj_lane_post(struct obj_lane *lane);
/** The next that has ended; NULL: nothing has until `limit`, or the user wants
 * to stop. Pre: one is busy. */
struct obj_lane *obj_lanes_wait(struct obj_lanes *lanes, m0_time_t limit);

#endif /* M0_TOOLS_OBJ_LANE_H */
