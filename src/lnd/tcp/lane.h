/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Lanes: threads that move the bytes of large payloads between sockets and memory.
 *
 * The strand of a node gives a job to a lane: so many segments to read from, or to
 * write to, a descriptor that does not block. The lane moves bytes, waits in a loop of
 * its own while the descriptor has none or takes none, and gives the job back when
 * everything was moved, the descriptor has failed or ended, or the job has waited
 * for M0_LANE_WAIT_NS. Until then the segments and that direction of the
 * descriptor are the lane's.
 *
 * The strand's calls are made by one thread at a time. Jobs are made at the start,
 * and none is made later, so that both queues are bounded by their number.
 */
#ifndef M0_SRC_LND_TCP_LANE_H
#define M0_SRC_LND_TCP_LANE_H

#include <sys/uio.h>

#include "loop/loop.h"
#include "os/os.h"

enum {
	M0_LANES_MAX = 64,
	/** Jobs for each lane. */
	M0_LANE_JOBS_NR = 64,
	/** Segments of a job. */
	M0_LANE_SEGS_MAX = 64,
	/** Most bytes of one system call. A strand that recalls a job may wait for
	 * one such call. */
	M0_LANE_CALL_BYTES = 1 << 20
};

/** A job that has to wait is given back after so long, so that its owner gets the
 * number of bytes that were moved. */
#define M0_LANE_WAIT_NS (20 * M0_TIME_ONE_MSEC)

struct m0_lanes;
struct m0_lane;

struct m0_lane_job {
	/** Set by the owner before m0_lanes_give(). */
	void  *ljb_user;
	int    ljb_fd;
	bool   ljb_is_out;
	size_t ljb_call_bytes;
	/** Segments [at, nr), of which the lane advances the first. */
	struct iovec ljb_iov[M0_LANE_SEGS_MAX];
	unsigned     ljb_at;
	unsigned     ljb_nr;
	/** Set by the lane: bytes moved, system calls made, and 0, a negative errno,
	 * or, with ljb_is_end, the end of the stream. */
	size_t   ljb_moved;
	unsigned ljb_calls_nr;
	int      ljb_rc;
	bool     ljb_is_end;

	/** The lanes' own. */
	struct m0_lane     *ljb_lane;
	struct m0_lane_job *ljb_next;
	struct m0_list_link ljb_link;
	struct m0_loop_fd   ljb_watch;
	bool                ljb_is_watched;
	bool                ljb_is_back;
	m0_time_t           ljb_deadline;
	/** The owner wants it back. Atomic. */
	uint32_t ljb_stop;
};

/**
 * Starts the threads.
 * @param nr     2 to M0_LANES_MAX.
 * @param cpus   processors on which they run; NULL: any.
 * @param rouse  called on a lane's thread after it has given a job back.
 * @retval -EINVAL  `cpus` names no processor of this host.
 * @retval -EAGAIN, -ENOMEM, and of m0_loop_init()
 */
int m0_lanes_create(struct m0_lanes **ret, unsigned nr,
		    const struct m0_bitmap *cpus, void (*rouse)(void *),
		    void                   *rouse_arg);
/** Ends the threads. Pre: all jobs are free. */
void m0_lanes_destroy(struct m0_lanes *lanes);

/** @return a job that is free; NULL: all are in use. */
struct m0_lane_job *m0_lanes_get(struct m0_lanes *lanes);
void m0_lanes_put(struct m0_lanes *lanes, struct m0_lane_job *job);
/** Gives the job to the lane that has the fewest, or to `hint` if that has as few.
 * @return the number of the lane. */
unsigned m0_lanes_give(struct m0_lanes *lanes, struct m0_lane_job *job,
		       unsigned hint);
/** Takes a job that was given back. @return NULL: there is none. */
struct m0_lane_job *m0_lanes_back(struct m0_lanes *lanes);
/** Has a lane given one back? */
bool m0_lanes_has_back(const struct m0_lanes *lanes);
/** Has a job that was given come back, after at most one system call of its lane.
 * m0_lanes_back() returns it. */
void m0_lanes_stop(struct m0_lanes *lanes, struct m0_lane_job *job);
/** Does so, too, but m0_lanes_back() does not return the job. */
void m0_lanes_recall(struct m0_lanes *lanes, struct m0_lane_job *job);
/** Jobs that lanes have. */
unsigned m0_lanes_away_nr(const struct m0_lanes *lanes);

#endif /* M0_SRC_LND_TCP_LANE_H */
