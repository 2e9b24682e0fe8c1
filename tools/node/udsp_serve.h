/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The node's side of `colibri udsp`. */
#ifndef M0_TOOLS_UDSP_SERVE_H
#define M0_TOOLS_UDSP_SERVE_H

#include <stdio.h>

#include "ctl.h"
#include "../base/jout.h"

/** Serves a request of this command. @return the exit code. */
int udsp_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
	       FILE *err);
/** Adds the keys of a rule to an object. */
void udsp_rule_print(struct json_t *item, const struct m0_lnet_udsp *udsp);

#endif /* M0_TOOLS_UDSP_SERVE_H */
