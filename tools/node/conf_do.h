/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Serve `colibri config`, for a node of this process or one that it is attached to. */
#ifndef M0_TOOLS_CONF_DO_H
#define M0_TOOLS_CONF_DO_H

#include "../conf/conf_diff.h"
#include "ctl.h"

/**
 * Makes the node what `want` says.
 * @param ret  the changes that were made. The caller frees them.
 * @return the exit code; of a failure: nothing is changed.
 */
int conf_do_change(struct m0_lnet *lnet, const char *path,
		   const struct conf_model *want, const struct conf_model *prev,
		   bool replace, struct conf_plan *ret, struct tool_fail *fail);
/** CTL_CONFIG_EXPORT. @param start  the configuration of the node at its start. */
int conf_do_export(struct m0_lnet *lnet, const struct m0_lnet_cfg *start,
		   const struct ctl_request *req, FILE *out, FILE *err);
/** CTL_CONFIG_IMPORT, which prints the changes. @param ret  as for conf_do_change(). */
int conf_do_import(struct m0_lnet *lnet, const struct ctl_request *req,
		   struct conf_plan *ret, FILE *out, FILE *err);

#endif /* M0_TOOLS_CONF_DO_H */
