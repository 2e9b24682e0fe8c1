/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Taps are handed to the node on its strand, which is of this process.
 */
#include "front/front_internal.h"
#include "m0/lnet_tap.h"

int m0_lnet_tap_add(struct m0_lnet *lnet, struct m0_lnet_tap *tap)
{
	struct m0_front_control *fcl;
	int                      rc;

	M0_PRE(tap->ltp_message != NULL && tap->ltp_control == NULL);
	if (m0_lnet_is_attached(lnet))
		return -EOPNOTSUPP;
	rc = m0_front__control_take(lnet, M0_RING_TAP_ADD, &fcl);
	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_tap = tap;
	rc = m0_front__control_do(lnet, fcl);
	/* The record is kept: the removal needs one, and cannot fail. */
	if (rc == 0)
		tap->ltp_control = fcl;
	else
		m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_tap_del(struct m0_lnet *lnet, struct m0_lnet_tap *tap)
{
	struct m0_front_control *fcl = tap->ltp_control;
	int                      rc;

	if (fcl == NULL)
		return -ENOENT;
	fcl->fcl_record->rqc_verb = M0_RING_TAP_DEL;
	fcl->fcl_record->rqc_tap = tap;
	rc = m0_front__control_do(lnet, fcl);
	M0_POST(rc == 0);
	tap->ltp_control = NULL;
	m0_front__control_put(lnet, fcl);
	return 0;
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
