/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** A plan and its results: lst_plan.c runs it, lst_report.c says how it went. */
#ifndef M0_TOOLS_LST_PLAN_H
#define M0_TOOLS_LST_PLAN_H

#include "lst.h"

enum {
	PLAN_TESTS_MAX = 64,
	PLAN_SAMPLES_MAX = 1024
};

/** Rates of the clients of a test in a part of its time. */
struct sample {
	/** End of the part, in seconds since the first test. */
	double lsm_at;
	double lsm_mib_s;
	double lsm_msgs_s;
	/** Time that the slowest node needed to answer the console. */
	double lsm_answer_ms;
	/** Mean time of a request of the test; 0: there was none. */
	double lsm_request_ms;
	/** Requests in this part. */
	double lsm_requests;
};

struct plan_test {
	const char *lpt_name;
	const char *lpt_test;
	const char *lpt_from;
	const char *lpt_to;
	uint32_t    lpt_concurrency;
	uint32_t    lpt_clients;
	uint32_t    lpt_servers;
	double      lpt_min;
	uint32_t    lpt_bytes;
	bool        lpt_writes;
	/** Requests that are on their way at a time. */
	uint64_t       lpt_streams;
	struct sample *lpt_samples;
	unsigned       lpt_samples_nr;
	/* The result. */
	double   lpt_mib_s;
	double   lpt_msgs_s;
	uint64_t lpt_errors;
	bool     lpt_failed;
};

struct plan {
	struct lst_args   *lpl_args;
	const char        *lpl_path;
	const char        *lpl_name;
	struct conf_node  *lpl_tree;
	struct conf_node  *lpl_groups;
	uint32_t           lpl_duration;
	struct plan_test   lpl_tests[PLAN_TESTS_MAX];
	unsigned           lpl_tests_nr;
	struct lst_session lpl_session;
	struct lst_out     lpl_out;
	m0_time_t          lpl_begin;
};

/** Can a baseline be compared and written? @return 0, or the exit code. */
int lst_plan_baseline_open(struct plan *plan);
/**
 * Prints results and verdict, compares with the baseline and writes files.
 * @param rc  exit code of the run.
 * @return the exit code.
 */
int lst_plan_results(struct plan *plan, int rc);

#endif /* M0_TOOLS_LST_PLAN_H */
