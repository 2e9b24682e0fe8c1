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
/**
 * Returns true if an operation for this peer may take any path. Matching at the peer
 * maps each NID of this node to one of them only if the peer has them all, from its
 * discovery of this node.
 */
static inline bool m0_lnet__spreads(const struct m0_lnet_op   *op,
				    const struct m0_lnet_peer *peer)
{
	return op->lo_spread && m0_lnet__peer_is_multi_rail(peer) &&
	       peer->lpe_knows_nids;
}
/** Returns -EAGAIN instead of `status` if an operation with lo_spread has failed
 * because of its path, and another path may exist. */
int m0_lnet__again_status(const struct m0_lnet_msg *msg, int status);
/** lhk_hop_lost, of oper.c. */
void m0_lnet__hop_lost(const struct m0_lnet_ni  *ni,
		       const struct m0_lnet_nid *hop);
/** lhk_rail_down, of oper.c. */
void m0_lnet__rail_down(struct m0_lnet_engine *eng);
/** Counts how a message ended that was sent again. */
void m0_lnet__again_count(const struct m0_lnet_msg *msg, int status);

#endif /* M0_SRC_LNET_FLOW_AGAIN_H */
