/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "m0/mem.h"
#include "m0/sunrpc.h"
#include "m0/xlnet.h"

#include "xprts.h"

static const struct tool_xprt xprts[] = {
	{ "mem", &m0_net_bulk_mem_xprt, m0_net_bulk_mem_tm_set_num_threads,
	  M0_NET_BULK_MEM_THREADS_MAX, false, false },
	{ "lnet", &m0_net_lnet_xprt, NULL, 1, true, true },
	{ "sunrpc", &m0_net_bulk_sunrpc_xprt,
	  m0_net_bulk_sunrpc_tm_set_num_threads, M0_NET_BULK_SUNRPC_THREADS_MAX,
	  false, true },
};

const struct tool_xprt *tool_xprt_find(const char *name, struct tool_fail *fail)
{
	char   names[128] = "";
	size_t used = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(xprts); ++i) {
		if (strcmp(xprts[i].txp_name, name) == 0)
			return &xprts[i];
		used += (size_t)snprintf(names + used, sizeof names - used,
					 "%s%s", i == 0 ? "" : ", ",
					 xprts[i].txp_name);
	}
	tool_fail_set(fail, TOOL_USAGE,
		      "--transport '%s' is not known; there are: %s", name,
		      names);
	return NULL;
}
