/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Requests that need nothing but the node: one of this process, or one that it is attached to. */
#ifndef M0_TOOLS_LNET_SERVE_H
#define M0_TOOLS_LNET_SERVE_H

#include <stdio.h>

#include "ctl.h"

/**
 * Serves one: show, explain, stats reset, and those of routes, rules, parameters, networks,
 * peers and faults.
 * @param start  the configuration of the node at its start.
 * @return the exit code.
 */
int lnet_serve(const struct ctl_request *req, struct m0_lnet *lnet,
	       const struct m0_lnet_cfg *start, FILE *out, FILE *err);

#endif /* M0_TOOLS_LNET_SERVE_H */
