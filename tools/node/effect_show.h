/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The printed form of the effect of a rule. */
#ifndef M0_TOOLS_EFFECT_SHOW_H
#define M0_TOOLS_EFFECT_SHOW_H

#include "ctl.h"
#include "m0/lnet_explain.h"

/** Prints which peers would change their paths: some of them, or all as JSON. */
void effect_print(const struct ctl_request    *req,
		  const struct m0_lnet_effect *effect, FILE *out);

#endif /* M0_TOOLS_EFFECT_SHOW_H */
