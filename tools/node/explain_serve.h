/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The node's side of `colibri explain`. */
#ifndef M0_TOOLS_EXPLAIN_SERVE_H
#define M0_TOOLS_EXPLAIN_SERVE_H

#include <stdio.h>

#include "ctl.h"

enum {
	EXPLAIN_ASSUMED_MAX = 40,
	EXPLAIN_ASSUMED_BYTES = 256
};

/** Assumptions about a node that does not run, in words. */
struct explain_assumed {
	char     eas_texts[EXPLAIN_ASSUMED_MAX][EXPLAIN_ASSUMED_BYTES];
	unsigned eas_nr;
};

/** Serves a request. @param assumed  NULL: the node runs. @return the exit code: TOOL_FAILED if no path is there, too. */
int explain_serve(const struct ctl_request *req, struct m0_lnet *lnet,
		  const struct explain_assumed *assumed, FILE *out, FILE *err);

#endif /* M0_TOOLS_EXPLAIN_SERVE_H */
