/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "perf_verdict.h"

/* Share of a processor; and factor by which an operation may take longer
 * among others. */
#define BUSY_LEAST   0.85
#define QUEUED_LEAST 1.5
/** Share of the time of a row that threads waited for a processor. */
#define WAITED_LEAST 0.1
/** A gain that is a loss, and not by chance. */
#define LOSS_MOST 0.9

const char *const perf_bound_names[PERF_BOUNDS_NR] = {
	[PERF_BOUND_WIRE] = "wire",     [PERF_BOUND_CPU] = "cpu",
	[PERF_BOUND_WINDOW] = "window", [PERF_BOUND_UNKNOWN] = "unknown",
	[PERF_BOUND_HOST] = "host",
};

double perf_rate(const struct perf_row *row)
{
	return row->prw_ns == 0
		       ? 0
		       : (double)row->prw_ops * 1e9 / (double)row->prw_ns;
}

bool perf_host_is_busy(const struct perf_row *row)
{
	return row->prw_waited[PERF_A] >= WAITED_LEAST ||
	       row->prw_waited[PERF_B] >= WAITED_LEAST;
}

static enum perf_bound bound_of(const struct perf_row *row, double gain,
				bool spins)
{
	if (perf_host_is_busy(row))
		return PERF_BOUND_HOST;
	if (!spins && (row->prw_busy[PERF_A] >= BUSY_LEAST ||
		       row->prw_busy[PERF_B] >= BUSY_LEAST))
		return PERF_BOUND_CPU;
	/* depth / rate < 1.5 * (1 / probe's rate) */
	if ((double)row->prw_depth < QUEUED_LEAST * gain)
		return PERF_BOUND_WINDOW;
	return spins ? PERF_BOUND_UNKNOWN : PERF_BOUND_WIRE;
}

static void why_cpu(const struct perf_row *row, struct perf_verdict *ret)
{
	double a = row->prw_busy[PERF_A];
	double b = row->prw_busy[PERF_B];
	bool   both = a >= BUSY_LEAST && b >= BUSY_LEAST;

	snprintf(
		ret->pv_why, sizeof ret->pv_why,
		"the processor: the %s busy (client %.2f, server %.2f of one); "
		"more in flight will not help",
		both              ? "processes of both sides are"
		: a >= BUSY_LEAST ? "client's process is"
				  : "server's process is",
		a, b);
}

static void why_window(const struct perf_row *row, bool spins,
		       struct perf_verdict *ret)
{
	char busy[64] = "";

	if (!spins)
		snprintf(busy, sizeof busy,
			 ", processors have time (client %.2f, server %.2f of "
			 "one)",
			 row->prw_busy[PERF_A], row->prw_busy[PERF_B]);
	if (row->prw_test == PERF_LATENCY)
		snprintf(ret->pv_why, sizeof ret->pv_why,
			 "the way to and fro: one message at a time, as it is "
			 "meant; its time counts, not its rate");
	else if (row->prw_depth == 1)
		snprintf(ret->pv_why, sizeof ret->pv_why,
			 "the window: one at a time%s; raise --depth", busy);
	else
		snprintf(ret->pv_why, sizeof ret->pv_why,
			 "the window: %u in flight give %.1f times the rate of "
			 "one%s; raise --depth",
			 row->prw_depth, ret->pv_gain, busy);
}

static void why_wire(const struct perf_row *row, struct perf_verdict *ret)
{
	snprintf(ret->pv_why, sizeof ret->pv_why,
		 "the wire: %u in flight give but %.1f times the rate of one, "
		 "and processors have time (client %.2f, server %.2f of one); "
		 "%s",
		 row->prw_depth, ret->pv_gain, row->prw_busy[PERF_A],
		 row->prw_busy[PERF_B],
		 ret->pv_gain < LOSS_MOST ? "fewer in flight move more"
					  : "more in flight will help little");
}

void perf_verdict_make(const struct perf_row *row, const struct perf_row *probe,
		       bool spins, struct perf_verdict *ret)
{
	double alone = probe != NULL ? perf_rate(probe) : 0;

	ret->pv_probe_rate = alone;
	ret->pv_gain = alone > 0 ? perf_rate(row) / alone : 1;
	ret->pv_bound = bound_of(row, ret->pv_gain, spins);
	switch (ret->pv_bound) {
	case PERF_BOUND_HOST:
		snprintf(ret->pv_why, sizeof ret->pv_why,
			 "host busy: threads that were ready waited for a "
			 "processor (client %.2f, server %.2f of the time); "
			 "measure while nothing else runs there, or with fewer "
			 "threads",
			 row->prw_waited[PERF_A], row->prw_waited[PERF_B]);
		break;
	case PERF_BOUND_CPU:
		why_cpu(row, ret);
		break;
	case PERF_BOUND_WINDOW:
		why_window(row, spins, ret);
		break;
	case PERF_BOUND_WIRE:
		why_wire(row, ret);
		break;
	default:
		snprintf(ret->pv_why, sizeof ret->pv_why,
			 "the wire or a processor: %u in flight give but %.1f "
			 "times the rate of one; threads that spin always look "
			 "busy, so measure with --spin 0 on both sides",
			 row->prw_depth, ret->pv_gain);
	}
}
