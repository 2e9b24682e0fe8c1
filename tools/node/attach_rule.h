/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The option --attach-rule of `colibri node`. */
#ifndef M0_TOOLS_ATTACH_RULE_H
#define M0_TOOLS_ATTACH_RULE_H

#include "attach_opts.h"

/** Adds a rule to the policy, or sets ato_fail. */
void attach_rule_option(struct attach_opts *opts, const char *text);

#endif /* M0_TOOLS_ATTACH_RULE_H */
