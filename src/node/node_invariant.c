/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Invariants of a node and of its structures, between calls. */
#include "node/node_internal.h"

bool m0_node__me_invariant(const struct m0_node_me *nme)
{
	return nme->nme_me.me_attr.mea_portal != M0_LNET_PORTAL_RESERVED &&
	       nme->nme_me.me_handle.lh_gen != 0;
}

bool m0_node__md_invariant(const struct m0_node_md *nmd)
{
	return nmd->nmd_md.md_handle.lh_gen != 0 &&
	       nmd->nmd_md.md_done == NULL &&
	       nmd->nmd_md.md_attr.mda_threshold >= M0_LNET_MD_THRESHOLD_INF;
}

bool m0_node__op_invariant(const struct m0_node_op *nop)
{
	const struct m0_node_msg *nms = &nop->nop_msg;

	return nms->nms_kind == M0_NODE_MSG_OP &&
	       nms->nms_msg.msg_event[0] != NULL &&
	       nms->nms_msg.msg_event[1] != NULL && !nop->nop_done.rgp_waits;
}

bool m0_node__incoming_invariant(const struct m0_node_incoming *nin)
{
	return nin->nin_msg.nms_kind == M0_NODE_MSG_INCOMING &&
	       nin->nin_msg.nms_msg.msg_event[1] == &nin->nin_response &&
	       ergo(nin->nin_event.rgp_waits, nin->nin_is_posted);
}

bool m0_node__invariant(const struct m0_node *node)
{
	return node->nod_ring != NULL && node->nod_cfg != NULL &&
	       node->nod_lnds_nr <= M0_NODE_LNDS_MAX &&
	       node->nod_incoming_nr <= node->nod_cfg->lc_msgs_max &&
	       node->nod_nids_nr <= ARRAY_SIZE(node->nod_nids) &&
	       ergo(node->nod_state > M0_NODE_OPEN, node->nod_end_by > 0);
}
