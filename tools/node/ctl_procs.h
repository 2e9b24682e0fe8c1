/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The processes that are attached to a device of the kernel module. */
#ifndef M0_TOOLS_CTL_PROCS_H
#define M0_TOOLS_CTL_PROCS_H

#include <stdio.h>

#include "ctl.h"

/** CTL_PROCESS_SHOW of the node at the device. @return the exit code. */
int ctl_procs_show(const char *path, const struct ctl_request *req, FILE *out,
		   struct tool_fail *fail);

#endif /* M0_TOOLS_CTL_PROCS_H */
