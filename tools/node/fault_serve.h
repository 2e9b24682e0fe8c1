/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Fault rules, on the node's side. */
#ifndef M0_TOOLS_FAULT_SERVE_H
#define M0_TOOLS_FAULT_SERVE_H

#include <stdio.h>

#include "ctl.h"

/**
 * Does what a `fault.*` asks for.
 * @return the exit code; a message is in `err` if it is not 0.
 */
int fault_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
		FILE *err);

#endif /* M0_TOOLS_FAULT_SERVE_H */
