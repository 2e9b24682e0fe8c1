/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * State of a node, as trees with lnetctl's keys. `verbose` selects the detail:
 * 0 names, 1 statistics and limits, 2 messages by type and health, 3 the state
 * of peers, 4 selection policies, and fields that lnetctl does not have. Fields
 * that Colibri does not use have the values of an idle node in lnetctl.
 */
#ifndef M0_TOOLS_LNET_SHOW_H
#define M0_TOOLS_LNET_SHOW_H

#include <stdio.h>

#include "ctl.h"

/**
 * Prints the answer to a `*.show` or `peer.list`.
 * @param cfg  of the node.
 * @return the exit code: TOOL_FAILED, with a message to `err`, if there is no
 *         such network or peer.
 */
int lnet_show(const struct ctl_request *req, const struct m0_lnet_cfg *cfg,
	      const struct m0_lnet_info *info, FILE *out, FILE *err);

#endif /* M0_TOOLS_LNET_SHOW_H */
