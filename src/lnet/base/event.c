/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Messages and their references, and the posting of events. */
#include "lnet/lnet_internal.h"

void m0_lnet__msg_init(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg)
{
	msg->msg_engine = eng;
	msg->msg_refs_nr = 1;
	msg->msg_state = M0_LNET_MSG_FREE;
	msg->msg_faults = 0;
	m0_list_link_init(&msg->msg_md_link);
	memset(&msg->msg_rx, 0, offsetof(struct m0_lnet_msg_rx, mrx_ni));
	memset(&msg->msg_tx, 0, offsetof(struct m0_lnet_msg_tx, mtx_link));
	memset(&msg->msg_op, 0, offsetof(struct m0_lnet_msg_op, mop_attr));
	msg->msg_tx.mtx_lnd.ltx_answers = NULL;
	msg->msg_tx.mtx_lnd.ltx_pipe = NULL;
	m0_timer_init(&msg->msg_op.mop_timer.ltm_timer);
}

struct m0_lnet_msg *m0_lnet__msg_new(struct m0_lnet_engine *eng)
{
	struct m0_lnet_msg *msg =
		eng->le_cfg.lec_owner_ops->ho_msg_get(eng->le_cfg.lec_owner);

	if (msg == NULL)
		return NULL;
	msg->msg_md = NULL;
	m0_lnet__msg_init(eng, msg);
	m0_lnet__msg_count(eng);
	return msg;
}

void m0_lnet__msg_get(struct m0_lnet_msg *msg)
{
	M0_PRE_EX(m0_lnet__msg_invariant(msg));
	++msg->msg_refs_nr;
}

void m0_lnet__msg_put(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine *eng = msg->msg_engine;

	M0_PRE(msg->msg_refs_nr > 0);
	if (--msg->msg_refs_nr > 0)
		return;
	M0_ASSERT_EX(msg->msg_md == NULL && !msg->msg_op.mop_waits &&
		     !msg->msg_tx.mtx_sending);
	M0_ASSERT_EX(eng->le_stats.ls_msgs_alloc > 0);
	--eng->le_stats.ls_msgs_alloc;
	eng->le_cfg.lec_owner_ops->ho_msg_put(eng->le_cfg.lec_owner, msg);
}

void m0_lnet__event_fill(struct m0_lnet_event     *ev,
			 const struct m0_lnet_hdr *hdr,
			 const struct m0_lnet_nid *primary,
			 const struct m0_lnet_nid *hop)
{
	ev->ev_target.lp_nid = hdr->lhd_dest_nid;
	ev->ev_target.lp_pid = hdr->lhd_dest_pid;
	ev->ev_source.lp_nid = hdr->lhd_src_nid;
	ev->ev_source.lp_pid = hdr->lhd_src_pid;
	ev->ev_initiator.lp_nid = *primary;
	ev->ev_initiator.lp_pid = hdr->lhd_src_pid;
	ev->ev_sender = *hop;
}

/* Inline: every message passes here on both sides. */
inline void m0_lnet__event_post(struct m0_lnet_engine *eng,
				struct m0_lnet_md *md, struct m0_lnet_event *ev,
				struct m0_lnet_msg *msg)
{
	M0_PRE_EX(msg == NULL || msg->msg_refs_nr > 0);
	M0_PRE_EX(ev->ev_status <= 0);
	ev->ev_md = md->md_handle;
	ev->ev_md_user = md->md_attr.mda_user;
	if (m0_lnet__md_is_own(md))
		md->md_done(eng, md, ev);
	else
		eng->le_cfg.lec_owner_ops->ho_event(eng->le_cfg.lec_owner, md,
						    ev, msg);
}
