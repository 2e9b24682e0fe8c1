/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Queue statistics of machines, as a table and as JSON. */
#ifndef M0_TOOLS_STATS_H
#define M0_TOOLS_STATS_H

#include <stdio.h>

#include "m0/net.h"

struct json_t;

/** All queues of one machine. */
struct tool_stats {
	const char          *tst_machine;
	struct m0_net_qstats tst_queues[M0_NET_QT_NR];
};

/** "msg-recv" and so on. */
const char *tool_queue_name(unsigned qtype);
/** The queues that were used, a line each, under a head line. */
void tool_stats_print(FILE *file, const struct tool_stats *stats, unsigned nr);
/**
 * Appends the statistics with all of their counters, as elements of an array.
 */
void tool_stats_json(struct json_t *array, const struct tool_stats *stats,
		     unsigned nr);

#endif /* M0_TOOLS_STATS_H */
