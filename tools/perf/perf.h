/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri perf`: what its files share.
 *
 * A row is one measurement: two machines, A and B, each in a domain of its own,
 * run one test with one size for a while. Everything that a test does, it does
 * in callbacks; the mode decides which threads run these (the library's, or threads
 * here that deliver). So a test is the same in all modes.
 */
#ifndef M0_TOOLS_PERF_H
#define M0_TOOLS_PERF_H

#include "m0/hist.h"
#include "../net/node.h"

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
	PERF_SIZES_MAX = 16,
	/** Parts of a row's time; some more, as a row may end late. */
	PERF_SLICES = 50,
	PERF_SLICES_NR = 64
};

/** How payloads went over net o2ib. */
enum perf_path {
	PERF_PATH_NONE,
	/** Within a message. */
	PERF_PATH_IMMEDIATE,
	/** The device wrote them to their memory. */
	PERF_PATH_WRITE,
	/** The device wrote them to memory of the driver, which copied them. */
	PERF_PATH_COPIED,
	PERF_PATHS_NR
};

extern const char *const perf_path_names[PERF_PATHS_NR];
extern const char *const perf_mode_names[PERF_MODES_NR];
extern const char *const perf_test_names[PERF_TESTS_NR];

struct perf_far;

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
	/** The nodes of this process; NULL: none. */
	struct m0_lnet *pu_lnets[PERF_SIDES_NR];
	/** The server with side B; NULL: side B is in this process. */
	struct perf_far *pu_far;
};

/** Operations in a part of the time, and the sum of their times. */
struct perf_slice {
	uint64_t psl_ops;
	uint64_t psl_ns;
};

struct perf_row {
	enum perf_test prw_test;
	uint64_t       prw_size;
	uint32_t       prw_depth;
	/** Operations, first to last one, and their times. */
	uint64_t       prw_ops;
	m0_time_t      prw_ns;
	struct m0_hist prw_lat;
	/** Over time, from the first operation. */
	struct perf_slice prw_slices[PERF_SLICES_NR];
	m0_time_t         prw_slice_ns;
	/** Processor time of both machines' processes for each operation. */
	double prw_cpu_ns;
	/**
	 * Share of one processor that the process of each side used during the
	 * measurement; 0 for B if both sides are in one process.
	 */
	double prw_busy[PERF_SIDES_NR];
	/**
	 * How long threads of that process were ready to run and waited for a
	 * processor, of the same time; above 1 if several did.
	 */
	double         prw_waited[PERF_SIDES_NR];
	enum perf_path prw_path;
};

/** The default of --depth. */
uint32_t perf_depth_default(enum perf_test test);
/** Bytes that both machines' buffers of a row take. */
uint64_t perf_memory(enum perf_test test, uint64_t size, uint32_t depth);
/** Largest memory of the buffers of a row. */
#define PERF_MEMORY_MAX (2ULL << 30)
/**
 * Runs a row; prw_test, prw_size and prw_depth are set.
 * @return 0, or an exit code, with `fail` set.
 */
int perf_row_run(const struct perf_setup *setup, struct perf_row *row,
		 struct tool_fail *fail);

void perf_table_head(const struct perf_setup *setup);
struct perf_verdict;
/** @param verdict  NULL: both machines are in this process. */
void perf_table_row(const struct perf_row     *row,
		    const struct perf_verdict *verdict);
/** Prints that the host was busy. */
void perf_table_busy(const struct perf_row *row);
/** Prints a sentence below the table that names the bound of a row. */
void perf_table_verdict(const struct perf_row     *row,
			const struct perf_verdict *verdict);
struct json_t;
void perf_json_head(struct json_t *tree, const struct perf_setup *setup);
void perf_json_row(struct json_t *array, const struct perf_row *row,
		   const struct perf_verdict *verdict);

#endif /* M0_TOOLS_PERF_H */
