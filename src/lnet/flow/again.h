/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Which messages are sent once more after a failure, and by which path. */
#ifndef M0_SRC_LNET_FLOW_AGAIN_H
#define M0_SRC_LNET_FLOW_AGAIN_H

#include "lnet/lnet_internal.h"

/**
 * Returns true if a message that has failed may be sent again: the failure proves
 * that it did not arrive, another path may exist, and tries and time are left.
 */
bool m0_lnet__again_may(const struct m0_lnet_msg *msg,
			enum m0_lnd_health        health);
/** Finds the path for one more try, from what the operation named. @return as
 * m0_lnet__path_request(). */
int m0_lnet__again_path(struct m0_lnet_msg *msg);
/** Counts how a message ended that was sent again. */
void m0_lnet__again_count(const struct m0_lnet_msg *msg, int status);

#endif /* M0_SRC_LNET_FLOW_AGAIN_H */
