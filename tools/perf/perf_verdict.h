/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The bound of a row that was measured with B in another process.
 *
 * First perf runs the test with one operation in flight for a while (the
 * probe). Then:
 *  - host: threads of a side waited for a processor for at least 0.1 of the
 *    time: other processes use the processors, or there are too few, and the
 *    figures are not those of an idle host;
 *  - cpu: the process of a side took at least 0.85 of a processor;
 *  - window: with `depth` in flight an operation takes less than 1.5 times what
 *    it takes alone, so that more operations in flight would move more. The time
 *    of an operation is depth / rate (Little's law) in both measurements;
 *  - wire: none of these. The wire is all between the two processes: the
 *    network, its cards, work of the kernels that no process is charged for, the
 *    bounds of the transport and of TCP on bytes in flight;
 *  - unknown: wire or cpu, but threads that spin always look busy.
 */
#ifndef M0_TOOLS_PERF_VERDICT_H
#define M0_TOOLS_PERF_VERDICT_H

#include "perf.h"

enum perf_bound {
	PERF_BOUND_WIRE,
	PERF_BOUND_CPU,
	PERF_BOUND_WINDOW,
	PERF_BOUND_UNKNOWN,
	PERF_BOUND_HOST,
	PERF_BOUNDS_NR
};

extern const char *const perf_bound_names[PERF_BOUNDS_NR];

struct perf_verdict {
	enum perf_bound pv_bound;
	/** The probe's operations a second; 0: the row itself has one. */
	double pv_probe_rate;
	/** How many times the probe's rate the row has; 1: no probe. */
	double pv_gain;
	/** One plain sentence. */
	char pv_why[320];
};

/** Did threads of a side wait for a processor so long that it matters? */
bool perf_host_is_busy(const struct perf_row *row);
/** Operations a second. */
double perf_rate(const struct perf_row *row);
/**
 * @param probe   NULL if the row's depth is 1.
 * @param spins  processor time is not that of work alone.
 */
void perf_verdict_make(const struct perf_row *row, const struct perf_row *probe,
		       bool spins, struct perf_verdict *ret);

#endif /* M0_TOOLS_PERF_VERDICT_H */
