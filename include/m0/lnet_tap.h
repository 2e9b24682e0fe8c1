/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Taps: a call for each message that a node sends, receives or forwards, on whatever
 * driver. `colibri capture` is made of one.
 *
 * A message that leaves is shown when it is handed to the driver, or a fault rule drops it,
 * a message that arrives when all of its payload is there, or when it was dropped. Not shown
 * are: one that violates the protocol, whose connection is closed, and the log has the
 * reason; one for another node while this one is no router; one that waits to be sent, for
 * credits or a route, and ends before it leaves.
 *
 * While a node has a tap, it takes the path of a node with fault rules: each message is
 * looked at by itself, and a router neither splices nor cuts through. A node without taps
 * pays nothing.
 */
#ifndef M0_LNET_TAP_H
#define M0_LNET_TAP_H

#include "m0/lnet_fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A message that passes. Pointers are valid during the call. */
struct m0_lnet_tap_msg {
	/** Interface of this node, and the peer or router at the other end. */
	struct m0_lnet_nid ltv_local;
	struct m0_lnet_nid ltv_hop;
	/** Source and destination in the header. */
	struct m0_lnet_nid ltv_src;
	struct m0_lnet_nid ltv_dst;
	/** One of enum m0_lnet_fault_msgs. */
	unsigned ltv_type;
	/** Portal of a PUT or GET. */
	uint32_t ltv_portal;
	bool     ltv_leaves;
	/** The header as bytes: 72, or 96 with large NIDs. Of a message that leaves it is
	 * 72 if its NIDs fit, whatever form the connection uses. */
	const void *ltv_head;
	size_t      ltv_head_bytes;
	/** Bytes of the payload, as the header has it. */
	m0_bcount_t ltv_payload_bytes;
	/** Memory of the first bytes of it; fewer than the payload has if the rest is
	 * discarded, or is not here. */
	const struct m0_bufvec *ltv_vec;
	m0_bcount_t             ltv_vec_offset;
	m0_bcount_t             ltv_vec_bytes;
	/** Why the node drops the message; NULL: it does not. */
	const char *ltv_why;
	/** Not 0 if the payload of a message that arrives is not complete. */
	int ltv_status;
};

enum {
	/** Most taps of a node. */
	M0_LNET_TAPS_MAX = 8
};

struct m0_lnet_tap {
	/**
	 * Set by the caller. It is called on the node's thread, with no lock of the node
	 * held; it may not block, nor call the node.
	 */
	void (*ltp_message)(struct m0_lnet_tap           *tap,
			    const struct m0_lnet_tap_msg *msg);
	/** The node's; NULL before m0_lnet_tap_add(). */
	void               *ltp_control;
	struct m0_list_link ltp_link;
};

/**
 * Shows messages to `tap`, which stays until m0_lnet_tap_del().
 * @retval -EOPNOTSUPP  the process is attached: the node is another process.
 * @retval -ENOSPC      the node has M0_LNET_TAPS_MAX taps.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_tap_add(struct m0_lnet *lnet, struct m0_lnet_tap *tap);
/**
 * Returns when no call of `tap` runs or will come; it needs no memory, and does not fail.
 * Before m0_lnet_close(), which would wait for it.
 * @retval -ENOENT  it was not added, or is removed already.
 */
M0_EXTERN int m0_lnet_tap_del(struct m0_lnet *lnet, struct m0_lnet_tap *tap);
/**
 * Copies the first bytes of the payload.
 * @return bytes copied: at most `max`, and at most ltv_vec_bytes.
 */
M0_EXTERN size_t m0_lnet_tap_copy(const struct m0_lnet_tap_msg *msg, void *buf,
				  size_t max);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_TAP_H */
