/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** A row of a client elsewhere: side B of it, at the server. */
#ifndef M0_TOOLS_PERF_GUEST_H
#define M0_TOOLS_PERF_GUEST_H

#include "perf_run.h"
#include "perf_wire.h"

struct perf_guest {
	/** NULL: there is no row. */
	struct perf_run *pgu_run;
	struct perf_row  pgu_row;
	/** The client's name of it. */
	uint32_t pgu_nr;
};

/**
 * Begins the row that `msg` asks for, with A's machine at `addr`, which is on
 * the node of `from`. Ends the one before. @return 0, or -errno, with `fail` set.
 */
int perf_guest_begin(struct perf_guest *guest, const struct perf_setup *setup,
		     const struct perf_msg *msg, const char *addr,
		     const char *from, struct tool_fail *fail);
/** Address of B's machine. */
const char *perf_guest_addr(const struct perf_guest *guest);
void        perf_guest_end(struct perf_guest *guest);

#endif /* M0_TOOLS_PERF_GUEST_H */
