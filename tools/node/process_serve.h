/* SPDX-License-Identifier: Apache-2.0 */
/** Answer to `colibri process show`. */
#ifndef M0_TOOLS_PROCESS_SERVE_H
#define M0_TOOLS_PROCESS_SERVE_H

#include <stdio.h>

#include "ctl.h"
#include "m0/lnet_daemon.h"

/** @param daemon  NULL: nobody may attach. @return the exit code. */
int process_serve(const struct ctl_request *req, struct m0_lnet_daemon *daemon,
		  FILE *out, FILE *err);

#endif /* M0_TOOLS_PROCESS_SERVE_H */
