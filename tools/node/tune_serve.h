/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Changes of tunables, health and peers, on the node's side. */
#ifndef M0_TOOLS_TUNE_SERVE_H
#define M0_TOOLS_TUNE_SERVE_H

#include <stdio.h>

#include "ctl.h"

/** Serves `set`, `net.set`, `peer.add`, `peer.del`, `peer.set` and
 * `debug.recovery`. @return the exit code. */
int tune_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
	       FILE *err);
/** Brings a configuration up to the values that are in force now. */
void tune_cfg(struct m0_lnet *lnet, struct m0_lnet_cfg *cfg);

#endif /* M0_TOOLS_TUNE_SERVE_H */
