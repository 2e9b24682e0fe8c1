/* SPDX-License-Identifier: Apache-2.0 */
/** The node's side of `colibri explain`. */
#ifndef M0_TOOLS_EXPLAIN_SERVE_H
#define M0_TOOLS_EXPLAIN_SERVE_H

#include <stdio.h>

#include "ctl.h"

/** Serves a request. @return the exit code: TOOL_FAILED if no path is there, too. */
int explain_serve(const struct ctl_request *req, struct m0_lnet *lnet,
		  FILE *out, FILE *err);

#endif /* M0_TOOLS_EXPLAIN_SERVE_H */
