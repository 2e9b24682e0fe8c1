/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Taps are handed to the node on its strand, which is of this process.
 */
#include "front/front_internal.h"
#include "m0/lnet_tap.h"

static int tap_do(struct m0_lnet *lnet, enum m0_ring_verb verb,
		  struct m0_lnet_tap *tap)
{
	struct m0_front_control *fcl;
	int                      rc;

	if (m0_lnet_is_attached(lnet))
		return -EOPNOTSUPP;
	rc = m0_front__control_take(lnet, verb, &fcl);
	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_tap = tap;
	rc = m0_front__control_do(lnet, fcl);
	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_tap_add(struct m0_lnet *lnet, struct m0_lnet_tap *tap)
{
	M0_PRE(tap->ltp_message != NULL);
	return tap_do(lnet, M0_RING_TAP_ADD, tap);
}

int m0_lnet_tap_del(struct m0_lnet *lnet, struct m0_lnet_tap *tap)
{
	M0_PRE(tap->ltp_message != NULL);
	return tap_do(lnet, M0_RING_TAP_DEL, tap);
}

size_t m0_lnet_tap_copy(const struct m0_lnet_tap_msg *msg, void *buf,
			size_t max)
{
	struct m0_bufvec_cursor cur;

	max = (size_t)min64u(max, msg->ltv_vec_bytes);
	if (max == 0)
		return 0;
	m0_bufvec_cursor_init(&cur, msg->ltv_vec);
	if (m0_bufvec_cursor_move(&cur, msg->ltv_vec_offset))
		return 0;
	return (size_t)m0_bufvec_cursor_copyfrom(&cur, buf, max);
}
