/* SPDX-License-Identifier: Apache-2.0 */
/**
 * `colibri perf`: what its files share.
 *
 * A row is one measurement: two machines, A and B, each in a domain of its own,
 * run one test with one size for a while. Everything that a test does, it does
 * in callbacks; who runs these (the library's threads, or threads here that
 * deliver) is the mode's affair. So a test is the same in all modes.
 */
#ifndef M0_TOOLS_PERF_H
#define M0_TOOLS_PERF_H

#include "m0/hist.h"
#include "node.h"

enum perf_mode {
	PERF_ASYNC,
	PERF_SYNC,
	PERF_INLINE,
	PERF_MODES_NR
};

enum perf_test {
	PERF_LATENCY,
	PERF_RATE,
	PERF_PUT,
	PERF_GET,
	PERF_TESTS_NR
};

enum {
	PERF_A,
	PERF_B,
	PERF_SIDES_NR,
	PERF_DEPTH_MAX = 1024,
	PERF_SIZES_MAX = 16
};

extern const char *const perf_mode_names[PERF_MODES_NR];
extern const char *const perf_test_names[PERF_TESTS_NR];

/** How the machines are set up; the same for all rows. */
struct perf_setup {
	const struct tool_xprt *pu_xprt;
	enum perf_mode          pu_mode;
	double                  pu_seconds;
	/** 0: the test's default. */
	uint32_t pu_depth;
	/** Threads of each machine. */
	uint32_t pu_workers;
	/** Inline mode: threads that poll; 1 polls both machines. */
	uint32_t  pu_threads;
	bool      pu_spin_set;
	m0_time_t pu_spin_ns;
	/** A processor for each machine; none if 0. */
	size_t   pu_cpus_nr;
	uint64_t pu_cpus[PERF_SIDES_NR];
	/** Addresses that the machines shall have; NULL: any. */
	const char *pu_addrs[PERF_SIDES_NR];
};

struct perf_row {
	enum perf_test prw_test;
	uint64_t       prw_size;
	uint32_t       prw_depth;
	/** Operations, first to last one, and their times. */
	uint64_t       prw_ops;
	m0_time_t      prw_ns;
	struct m0_hist prw_lat;
	/** Processor time of the whole process for each operation. */
	double prw_cpu_ns;
};

/** The default of --depth. */
uint32_t perf_depth_default(enum perf_test test);
/** Bytes that both machines' buffers of a row take. */
uint64_t perf_memory(enum perf_test test, uint64_t size, uint32_t depth);
/**
 * Runs a row; prw_test, prw_size and prw_depth are set.
 * @return 0, or an exit code, with `fail` set.
 */
int perf_row_run(const struct perf_setup *setup, struct perf_row *row,
		 struct tool_fail *fail);

void perf_table_head(const struct perf_setup *setup);
void perf_table_row(const struct perf_row *row);
struct json_t;
void perf_json_head(struct json_t *tree, const struct perf_setup *setup);
void perf_json_row(struct json_t *array, const struct perf_row *row);

/* ------------------------------------------- perf_run.c to perf_test.c -- */

struct perf_run;
struct perf_side;

/** A message buffer to send from. */
struct perf_out {
	struct m0_net_buffer po_nb;
	struct perf_side    *po_side;
	struct perf_out     *po_next;
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
	uint64_t  pe_recv_nr;
	uint64_t  pe_queued_nr;
	m0_time_t pe_sent;
};

enum perf_phase {
	PHASE_WARM,
	PHASE_MEASURE,
	PHASE_STOP
};

struct perf_run {
	const struct perf_setup *pn_setup;
	struct perf_row         *pn_row;
	struct perf_side         pn_sides[PERF_SIDES_NR];
	/** enum perf_phase; written by main, read by callbacks. */
	int pn_phase;
	/** Of the callbacks that record: A's. */
	bool pn_measuring;
	/** Set when two operations lie apart in time; main looks at it. */
	bool             pn_enough;
	m0_time_t        pn_first;
	m0_time_t        pn_last;
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

/** Allocates and registers a test's buffers, and queues those that receive. */
int perf_test_init(struct perf_run *run);
/** Makes the first step, from which all others follow. */
void perf_test_start(struct perf_run *run);
/** Pre: the machines are stopped. */
void perf_test_fini(struct perf_run *run);

#endif /* M0_TOOLS_PERF_H */
