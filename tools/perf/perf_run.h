/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A row while it runs: its two sides, of which one may be in another process.
 * Which side does what is in perf_kinds.c.
 */
#ifndef M0_TOOLS_PERF_RUN_H
#define M0_TOOLS_PERF_RUN_H

#include "perf.h"

struct perf_run;
struct perf_side;

/** A message buffer to send from. */
struct perf_out {
	struct m0_net_buffer po_nb;
	struct perf_side    *po_side;
	struct perf_out     *po_next;
	/** When it was sent, by our own clock. */
	m0_time_t po_start;
};

/** A bulk buffer: of A active, of B passive. */
struct perf_bulk {
	struct m0_net_buffer pb_nb;
	struct perf_side    *pb_side;
	struct perf_bulk    *pb_next;
	m0_time_t            pb_start;
};

struct perf_side {
	struct tool_node pe_node;
	struct perf_run *pe_run;
	bool             pe_is_a;
	/** Events do not have a time that is good for a message's. */
	bool pe_own_clock;
	/** Its machine is in this process. */
	bool pe_here;
	/** Held in callbacks if the machine has several threads. */
	struct m0_mutex          pe_lock;
	bool                     pe_locked;
	struct m0_net_end_point *pe_peer;
	struct m0_net_buffer    *pe_in;
	uint32_t                 pe_in_nr;
	struct perf_out         *pe_out;
	uint32_t                 pe_out_nr;
	struct perf_out         *pe_out_free;
	struct perf_bulk        *pe_bulk;
	uint32_t                 pe_bulk_nr;
	struct perf_bulk        *pe_bulk_free;
	/** A: descriptors that came before a buffer was free for them. */
	struct m0_net_buf_desc *pe_descs;
	uint32_t                pe_descs_nr;
	/** Messages to be sent when a buffer is free. */
	uint64_t pe_wanted;
	/** Messages received; messages queued to be sent. */
	uint64_t pe_recv_nr;
	uint64_t pe_queued_nr;
	/** Messages of others than the peer, which are left alone. */
	uint64_t  pe_strays_nr;
	m0_time_t pe_sent;
};

enum perf_phase {
	PHASE_WARM,
	PHASE_MEASURE,
	PHASE_STOP
};

/** Figures that a side reports while a row runs. */
struct perf_look {
	/** Processor time of its process, and the time, by its clock. */
	uint64_t pk_cpu_ns;
	/** Time that threads of its process waited for a processor. */
	uint64_t pk_wait_ns;
	uint64_t pk_now_ns;
	uint64_t pk_queued_nr;
	uint64_t pk_recv_nr;
};

struct perf_run {
	const struct perf_setup *pn_setup;
	struct perf_row         *pn_row;
	struct perf_side         pn_sides[PERF_SIDES_NR];
	/** enum perf_phase; written by main, read by callbacks. */
	int pn_phase;
	/** Side A's callbacks record. */
	bool pn_measuring;
	/** Set when two operations lie apart in time; main looks at it. */
	bool      pn_enough;
	m0_time_t pn_first;
	m0_time_t pn_last;
	/** The part of prw_slices for now, and when it ends. */
	unsigned         pn_slice;
	m0_time_t        pn_slice_end;
	struct m0_mutex  pn_lock;
	struct tool_fail pn_fail;
};

/**
 * Records one operation of A.
 * @return shall there be another?
 */
bool perf_record(struct perf_run *run, m0_time_t start, m0_time_t end);
/** Notes that an operation failed; the row ends. */
void perf_failed(struct perf_run *run, const char *what, int rc);

/** Reads the figures of a side in this process. */
void perf_look_here(const struct perf_side *side, struct perf_look *ret);
/** Has the row failed? Takes the lock. @return 0, or an exit code. */
int perf_run_fail_get(struct perf_run *run, struct tool_fail *ret);
/** From one phase to the next; a failure has gone to the last. */
void perf_phase_set(struct perf_run *run, int from, int to);

/* ---- perf_side.c */

/** Starts the machine of a side, which is here. @return 0, or -errno. */
int perf_side_start(struct perf_run *run, int nr);
/** After all: the side's end point of the other, at `addr`. */
int perf_side_meet(struct perf_side *side, const char *addr);
/** Pre: stopped. Does nothing to a side that is not here. */
void perf_side_fini(struct perf_side *side);
/** The processors that a side shall be on; none if b_nr stays 0. */
int perf_cpu_set(const struct perf_setup *setup, int nr, struct m0_bitmap *ret);

/* ---- perf_kinds.c */

/** Makes A's first step, from which all others follow. */
void perf_test_start(struct perf_run *run);
extern const struct m0_net_buffer_callbacks perf_callbacks;
/** Each bulk buffer is in use or in this list. */
void perf_bulk_put(struct perf_bulk *bulk);

/* ---- perf_bufs.c */

/** Allocates and registers a side's buffers, and queues those that receive. */
int perf_bufs_init(struct perf_side *side);
/** Pre: the machine is stopped. */
void perf_bufs_fini(struct perf_side *side);
bool perf_is_bulk(const struct perf_run *run);
enum {
	/** Length of messages that carry nothing. */
	PERF_TOKEN_BYTES = 8,
	/** The rate test has as many windows of `depth` messages under way. */
	PERF_WINDOWS = 2
};

/* ---- perf_drive.c */

/** A thread that delivers for machines that have none of the library's. */
struct perf_driver {
	struct m0_thread pd_thread;
	bool             pd_started;
	struct perf_run *pd_run;
	/** Sides first .. last. */
	int              pd_first;
	int              pd_last;
	struct m0_bitmap pd_cpus;
};

int  perf_drivers_start(struct perf_driver drivers[PERF_SIDES_NR],
			struct perf_run   *run);
void perf_drivers_join(struct perf_driver drivers[PERF_SIDES_NR]);

#endif /* M0_TOOLS_PERF_RUN_H */
