/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Configurations of nodes from the environment. */
#ifndef M0_SRC_XPRT_LNET_ENV_H
#define M0_SRC_XPRT_LNET_ENV_H

#include "m0/lnet.h"

/**
 * Fills a configuration with the defaults, and with what $M0_LNET_PORT,
 * $M0_LNET_ACCEPT, $M0_LNET_TIMEOUT_MS and $M0_LNET_CPUS say (m0/xlnet.h). The
 * networks are not set. A value that is not accepted is logged and not used.
 * @param accept  without $M0_LNET_ACCEPT.
 */
void m0_xlnet__cfg_of_env(struct m0_lnet_cfg *cfg, enum m0_lnet_accept accept);
/** Sets the networks; those of an attached node, "attach" or "attach:PATH", are
 * m0_lnet_open()'s to read. */
int m0_xlnet__cfg_networks(struct m0_lnet_cfg *cfg, const char *networks,
			   char *why);

#endif /* M0_SRC_XPRT_LNET_ENV_H */
