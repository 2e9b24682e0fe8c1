/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri perf`: what its options say, and the two things it can do. */
#ifndef M0_TOOLS_PERF_ARGS_H
#define M0_TOOLS_PERF_ARGS_H

#include "m0/xlnet.h"

#include "perf.h"
#include "../net/place.h"

/** Options that do not fit all that perf can do: bits of pa_given. */
enum perf_given {
	PERF_GIVEN_TEST,
	PERF_GIVEN_SIZE,
	PERF_GIVEN_DEPTH,
	PERF_GIVEN_TIME,
	PERF_GIVEN_MODE,
	PERF_GIVEN_WORKERS,
	PERF_GIVEN_THREADS,
	PERF_GIVEN_PEER_NET,
	PERF_GIVEN_ONCE,
	PERF_GIVEN_EP,
	PERF_GIVEN_TIMEOUT,
	PERF_GIVEN_REATTACH,
	PERF_GIVEN_REPORT,
	PERF_GIVEN_BASELINE,
	PERF_GIVEN_SAVE_BASELINE,
	PERF_GIVEN_NR
};

struct perf_args {
	const char *pa_program;
	/** NULL: by what is to be done. */
	const char *pa_transport;
	/** Bits, by enum perf_test. */
	unsigned pa_tests;
	/** None: each test's own. */
	uint64_t pa_sizes[PERF_SIZES_MAX];
	size_t   pa_sizes_nr;
	uint64_t pa_depth;
	/** A number; how large it may be, the transport says. */
	const char       *pa_workers;
	uint64_t          pa_threads;
	struct perf_setup pa_setup;
	bool              pa_json;
	/** File of the page with plots; NULL: none. */
	const char *pa_report;
	/** Files of earlier rates; NULL: none. */
	const char *pa_baseline;
	const char *pa_save_baseline;
	/** Per cent. */
	uint64_t pa_tolerance;
	/** Serve others; one of them. */
	bool pa_listen;
	bool pa_once;
	/** The server that B is at; NULL: B is in this process. */
	const char *pa_server;
	/** Our own address; NULL: any. */
	const char       *pa_ep;
	uint64_t          pa_timeout_ms;
	struct tool_fail *pa_fail;
	/** The node of A, or of both; and that of B, if it has its own. */
	struct lnet_opts  pa_opts;
	struct lnet_opts  pa_peer_opts;
	const char       *pa_peer_net;
	struct tool_place pa_places[PERF_SIDES_NR];
	char              pa_addrs[PERF_SIDES_NR][M0_NET_LNET_XEP_ADDR_LEN];
	unsigned          pa_given;
	/** Descriptor of stop_init(). */
	int pa_stop_fd;
};

/**
 * Do the options fit what is to be done, and each other? Chooses the transport.
 * @return 0, or an exit code, with pa_fail set.
 */
int perf_what_check(struct perf_args *args);
/** Opens the nodes that are needed; the same. */
int  perf_places_open(struct perf_args *args);
void perf_places_close(struct perf_args *args);
/** Measures all rows; the places are open. */
void perf_rows_run(struct perf_args *args);
/** Writes a page about rows. @return 0, or the exit code. */
int perf_report_write(const char *path, const struct perf_row *rows, size_t nr,
		      struct tool_fail *fail);
/* -- perf_baseline.c: each returns 0, or the exit code. */

/** Reads the baseline before the rows are measured. */
int perf_baseline_open(struct perf_args *args);
/** @param tree  NULL: print lines. */
int perf_baseline_check(struct perf_args *args, const struct perf_row *rows,
			size_t nr, struct json_t *tree);
int perf_baseline_save(struct perf_args *args, const struct perf_row *rows,
		       size_t nr);

/** Serves clients; the place is open. */
void perf_listen_run(struct perf_args *args);

/** "NID:12345:portal:*" beside `addr`. */
const char *perf_addr_beside(char        ret[M0_NET_LNET_XEP_ADDR_LEN],
			     const char *addr);

#endif /* M0_TOOLS_PERF_ARGS_H */
