/* SPDX-License-Identifier: Apache-2.0 */
/** The node's side of `colibri udsp`. */
#ifndef M0_TOOLS_UDSP_SERVE_H
#define M0_TOOLS_UDSP_SERVE_H

#include <stdio.h>

#include "ctl.h"

/** Serves a request of this command. @return the exit code. */
int udsp_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
	       FILE *err);

#endif /* M0_TOOLS_UDSP_SERVE_H */
