/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Transports that the command knows, by the names that users type. */
#ifndef M0_TOOLS_XPRTS_H
#define M0_TOOLS_XPRTS_H

#include "m0/net.h"

#include "../base/cmd.h"

struct tool_xprt {
	const char               *txp_name;
	const struct m0_net_xprt *txp_xprt;
	/** Sets how many threads work for a machine; 1 <= nr <= txp_workers_max. */
	void (*txp_workers_set)(struct m0_net_transfer_mc *tm, size_t nr);
	size_t txp_workers_max;
	/** Needs a node: see place.h. */
	bool txp_node;
	/** Reaches other processes. */
	bool txp_far;
};

#define TOOL_XPRT_DEFAULT "mem"

/** NULL, and `fail` says which there are, if there is none of that name. */
const struct tool_xprt *tool_xprt_find(const char       *name,
				       struct tool_fail *fail);

#endif /* M0_TOOLS_XPRTS_H */
