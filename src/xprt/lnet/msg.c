/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages. A receive buffer is an MD on an entry for the machine's messages,
 * so that data goes straight to its place; the entries of a machine are asked
 * in the order in which the buffers were added, and one whose rest is too small
 * for a message passes it on.
 *
 * hdr_data of a message says who sends: its machine's number, above it the
 * portal. The NID is in the header.
 */
#include "xprt/lnet/xlnet_internal.h"

enum {
	SENDER_PORTAL_SHIFT = 16,
	SENDER_TMID_MASK = 0xffff
};

/* ----------------------------------------------------------------- send -- */

static bool send_is_acked(const struct m0_net_kit_buf *kb)
{
	uint64_t *word =
		m0_net_kit_dom_word(m0_net_kit_machine_dom(kb->nkb_machine));

	return __atomic_load_n(word, __ATOMIC_RELAXED) != 0;
}

static int send_begin(struct m0_net_kit_buf *kb, struct xlnet_buf *xb)
{
	struct xlnet_machine  *xm = xlnet_machine(kb->nkb_machine);
	bool                   acked = send_is_acked(kb);
	struct m0_lnet_md_attr attr = { .mda_vec = &kb->nkb_buffer->nb_buffer,
					.mda_vec_offset =
						kb->nkb_buffer->nb_offset,
					.mda_length = kb->nkb_send_nr,
					.mda_threshold = acked ? 2 : 1,
					.mda_auto_unlink = true };
	struct m0_lnet_op      op;
	int                    rc;

	if (kb->nkb_send_nr > M0_NET_LNET_MESSAGE_MAX)
		return -EMSGSIZE;
	rc = m0_xlnet__addr_unpack(m0_net_kit_ep_addr(kb->nkb_ep),
				   &xb->xb_peer);
	if (rc != 0)
		return rc;
	m0_xlnet__op(xm, &xb->xb_peer, xlnet_msg_bits(xb->xb_peer.xa_tmid),
		     &op);
	op.lo_hdr_data = (uint64_t)xm->xm_addr.xa_portal
				 << SENDER_PORTAL_SHIFT |
			 xm->xm_addr.xa_tmid;
	op.lo_ack = acked;
	return m0_xlnet__bind(xm, &attr, &op, false, &xb->xb_md);
}

static void buf_begin(struct m0_net_kit_buf *kb, struct xlnet_buf *xb,
		      enum xlnet_kind kind)
{
	xb->xb_md.xd_kind = kind;
	xb->xb_md.xd_machine = kb->nkb_machine;
	xb->xb_md.xd_kb = kb;
	xb->xb_status = 0;
	xb->xb_ends = false;
}

void m0_xlnet__send(struct m0_net_kit_buf *kb)
{
	struct xlnet_buf *xb = xlnet_buf(kb);
	int               rc;

	buf_begin(kb, xb, XLNET_SEND);
	rc = send_begin(kb, xb);
	if (rc == 0)
		return;
	xb->xb_md.xd_kind = XLNET_NONE;
	m0_net_kit_done(kb, rc, 0);
}

void m0_xlnet__send_event(struct xlnet_buf *xb, const struct m0_lnet_event *ev)
{
	if (ev->ev_status != 0 && xb->xb_status == 0)
		xb->xb_status = ev->ev_status;
	if (ev->ev_unlinked) {
		xb->xb_md.xd_kind = XLNET_NONE;
		/* A cancel may have come too late. */
		if (ev->ev_status == 0 && ev->ev_type != M0_LNET_EV_UNLINK)
			m0_net_kit_succeeded(xb->xb_md.xd_kb, 0);
		else
			m0_net_kit_done(xb->xb_md.xd_kb,
					xb->xb_status ?: -ECANCELED, 0);
	} else if (ev->ev_status != 0) {
		m0_xlnet__end(xb, ev->ev_status);
	}
}

/* -------------------------------------------------------------- receive -- */

int m0_xlnet__recv(struct m0_net_kit_buf *kb)
{
	struct xlnet_machine     *xm = xlnet_machine(kb->nkb_machine);
	struct xlnet_buf         *xb = xlnet_buf(kb);
	m0_bcount_t               used = m0_net_kit_recv_used(kb);
	uint32_t                  max = m0_net_kit_recv_max(kb);
	struct m0_lnet_process_id id = { .lp_nid = m0_lnet_nid_any,
					 .lp_pid = M0_LNET_PID_ANY };
	struct m0_lnet_md_attr    attr = {
		   .mda_vec = &kb->nkb_buffer->nb_buffer,
		   .mda_vec_offset = used,
		   .mda_length = kb->nkb_size - used,
		   .mda_threshold = (int32_t)max,
		   .mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_IF_FITS,
		   .mda_auto_unlink = true,
	};

	if (max > 1 || used > 0) {
		attr.mda_options |= M0_LNET_MD_MIN_ROOM;
		attr.mda_max_size = kb->nkb_buffer->nb_min_receive_size;
	}
	buf_begin(kb, xb, XLNET_RECV);
	xb->xb_next = used;
	return m0_xlnet__attach(xm, &id, xlnet_msg_bits(xm->xm_addr.xa_tmid), 0,
				&attr, &xb->xb_md);
}

void m0_xlnet__recv_cancel(struct m0_net_kit_buf *kb)
{
	m0_xlnet__end(xlnet_buf(kb), -ECANCELED);
}

int m0_xlnet__sender(const struct m0_lnet_event *ev,
		     struct m0_net_kit_addr     *ret)
{
	struct xlnet_addr addr = {
		.xa_nid = ev->ev_source.lp_nid,
		.xa_portal = (uint32_t)(ev->ev_hdr_data >> SENDER_PORTAL_SHIFT),
		.xa_tmid = (uint32_t)(ev->ev_hdr_data & SENDER_TMID_MASK),
	};

	if (ev->ev_hdr_data >> 32 != 0 || ev->ev_mlength == 0 ||
	    addr.xa_portal == M0_LNET_PORTAL_RESERVED ||
	    addr.xa_portal >= XLNET_PORTALS_NR ||
	    addr.xa_tmid > M0_NET_LNET_TMID_MAX)
		return -EPROTO;
	m0_xlnet__addr_pack(&addr, ret);
	return 0;
}

void m0_xlnet__recv_event(struct xlnet_buf *xb, const struct m0_lnet_event *ev)
{
	struct m0_net_kit_buf *kb = xb->xb_md.xd_kb;
	struct m0_net_kit_addr from;
	int32_t                status = ev->ev_status;

	if (ev->ev_type == M0_LNET_EV_PUT) {
		if (status == 0)
			status = m0_xlnet__sender(ev, &from);
		m0_net_kit_recv_placed(kb, &from, xb->xb_next + ev->ev_offset,
				       ev->ev_mlength, status);
	}
	if (!ev->ev_unlinked)
		return;
	xb->xb_md.xd_kind = XLNET_NONE;
	if (ev->ev_type == M0_LNET_EV_PUT)
		/* A lost message is no reason to lose the buffer as well. */
		status = status == 0 ? 0 : -EAGAIN;
	else if (status == 0)
		status = -ECANCELED;
	m0_net_kit_recv_ended(kb, status);
}
