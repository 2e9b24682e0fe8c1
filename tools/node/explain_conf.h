/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Explanation of a path for a node that does not run. */
#ifndef M0_TOOLS_EXPLAIN_CONF_H
#define M0_TOOLS_EXPLAIN_CONF_H

#include "ctl.h"

enum {
	EXPLAIN_ADDRS_MAX = 32
};

/** Addresses of devices, "eth0=10.0.0.1". */
struct explain_addrs {
	const char *exa_texts[EXPLAIN_ADDRS_MAX];
	unsigned    exa_nr;
};

/**
 * Makes a node of a configuration file in the simulator, which has no network, and
 * prints what it says of a path.
 * @param req    a request CTL_EXPLAIN.
 * @param addrs  of devices; others get assumed ones, of 192.0.2.0/24.
 * @return the exit code.
 */
int explain_conf(const char *path, const struct ctl_request *req,
		 const struct explain_addrs *addrs, struct tool_fail *fail);

#endif /* M0_TOOLS_EXPLAIN_CONF_H */
