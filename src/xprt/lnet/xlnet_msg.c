/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages. A receive buffer is an MD on the entry for the machine's messages,
 * so that data goes straight to its place; they are asked in the order in which
 * the buffers were added, and one whose rest is too small for a message passes
 * it on.
 *
 * hdr_data of a message names the sender: its machine's number, above it the
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

static uint64_t hdr_data(const struct xlnet_addr *addr)
{
	return (uint64_t)addr->xa_portal << SENDER_PORTAL_SHIFT | addr->xa_tmid;
}

/* Makes the parts that are the same in all messages to an end point. */
static int ep_make(const struct xlnet_machine    *xm,
		   const struct m0_net_end_point *ep, struct xlnet_ep *xe)
{
	struct xlnet_addr addr;
	int rc = m0_xlnet__addr_unpack(m0_net_kit_ep_addr(ep), &addr);

	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	if (rc != 0)
		return rc;
	m0_xlnet__op(xm, &addr, xlnet_msg_bits(addr.xa_tmid), &xe->xe_op);
	xe->xe_op.lo_hdr_data = hdr_data(&xm->xm_addr);
	xe->xe_hdr_data = hdr_data(&addr);
	return 0;
}

static bool ep_is_made(const struct xlnet_ep *xe)
{
	return xe->xe_op.lo_portal != M0_LNET_PORTAL_RESERVED;
}

static int send_begin(struct m0_net_kit_buf *kb, struct xlnet_buf *xb)
{
	struct xlnet_machine  *xm = xlnet_machine(kb->nkb_machine);
	struct xlnet_ep       *xe = m0_net_kit_ep_pvt(kb->nkb_ep);
	bool                   acked = send_is_acked(kb);
	struct m0_lnet_md_attr attr = { .mda_vec = &kb->nkb_buffer->nb_buffer,
					.mda_vec_offset =
						kb->nkb_buffer->nb_offset,
					.mda_length = kb->nkb_send_nr,
					.mda_threshold = acked ? 2 : 1,
					.mda_auto_unlink = true };
	int                    rc = 0;

	M0_PRE_EX(xlnet_is_locked(kb->nkb_machine));
	M0_PRE_EX(kb->nkb_ep != NULL);
	if (kb->nkb_send_nr > M0_NET_LNET_MESSAGE_MAX)
		return -EMSGSIZE;
	if (M0_UNLIKELY(!ep_is_made(xe)))
		rc = ep_make(xm, kb->nkb_ep, xe);
	if (rc != 0)
		return rc;
	xe->xe_op.lo_ack = acked;
	return m0_xlnet__bind(xm, &attr, &xe->xe_op, false, &xb->xb_md);
}

static void buf_begin(struct m0_net_kit_buf *kb, struct xlnet_buf *xb,
		      enum xlnet_kind kind)
{
	M0_PRE_EX(xlnet_is_locked(kb->nkb_machine));
	M0_PRE_EX(xb->xb_md.xd_kind == XLNET_NONE);
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
	M0_PRE_EX(xlnet_is_locked(xb->xb_md.xd_machine));
	M0_PRE_EX(xb->xb_md.xd_kind == XLNET_SEND);
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
	struct xlnet_machine  *xm = xlnet_machine(kb->nkb_machine);
	struct xlnet_buf      *xb = xlnet_buf(kb);
	m0_bcount_t            used = m0_net_kit_recv_used(kb);
	uint32_t               max = m0_net_kit_recv_max(kb);
	struct m0_lnet_md_attr attr = {
		.mda_vec = &kb->nkb_buffer->nb_buffer,
		.mda_vec_offset = used,
		.mda_length = kb->nkb_size - used,
		.mda_threshold = (int32_t)max,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_IF_FITS,
		.mda_auto_unlink = true,
	};
	int rc;

	M0_PRE_EX(xlnet_is_locked(kb->nkb_machine));
	M0_PRE_EX(used < kb->nkb_size && max > 0);
	if (max > 1 || used > 0) {
		attr.mda_options |= M0_LNET_MD_MIN_ROOM;
		attr.mda_max_size = kb->nkb_buffer->nb_min_receive_size;
	}
	buf_begin(kb, xb, XLNET_RECV);
	xb->xb_next = used;
	rc = m0_xlnet__queue_add(xm, &attr, &xb->xb_md);
	if (rc != 0)
		xb->xb_md.xd_kind = XLNET_NONE;
	return rc;
}

void m0_xlnet__recv_cancel(struct m0_net_kit_buf *kb)
{
	M0_PRE_EX(xlnet_is_locked(kb->nkb_machine));
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

/*
 * The end point that a message is from, with a reference. Often it is that of
 * the message before.
 */
static int sender_ep(struct m0_net_kit_machine  *machine,
		     const struct m0_lnet_event *ev,
		     struct m0_net_end_point   **ret)
{
	struct m0_net_end_point *ep = m0_net_kit_ep_recent(machine);
	struct xlnet_ep         *xe = ep == NULL ? NULL : m0_net_kit_ep_pvt(ep);
	struct m0_net_kit_addr   from;
	int                      rc;

	M0_PRE_EX(xlnet_is_locked(machine));
	if (M0_LIKELY(xe != NULL && ep_is_made(xe) &&
		      ev->ev_hdr_data == xe->xe_hdr_data &&
		      ev->ev_mlength != 0 &&
		      m0_lnet_nid_eq(&ev->ev_source.lp_nid,
				     &xe->xe_op.lo_target.lp_nid))) {
		m0_net_kit_ep_take(ep);
		*ret = ep;
		return 0;
	}
	rc = m0_xlnet__sender(ev, &from);
	if (rc != 0)
		return rc;
	*ret = m0_net_kit_ep_get(machine, &from);
	if (*ret == NULL)
		return -ENOMEM;
	xe = m0_net_kit_ep_pvt(*ret);
	if (!ep_is_made(xe))
		(void)ep_make(xlnet_machine(machine), *ret, xe);
	return 0;
}

void m0_xlnet__recv_event(struct xlnet_buf *xb, const struct m0_lnet_event *ev)
{
	struct m0_net_kit_buf   *kb = xb->xb_md.xd_kb;
	struct m0_net_end_point *from = NULL;
	int32_t                  status = ev->ev_status;

	M0_PRE_EX(xlnet_is_locked(kb->nkb_machine));
	M0_PRE_EX(xb->xb_md.xd_kind == XLNET_RECV);
	if (ev->ev_type == M0_LNET_EV_PUT) {
		if (status == 0)
			status = sender_ep(kb->nkb_machine, ev, &from);
		m0_net_kit_recv_placed(kb, from, xb->xb_next + ev->ev_offset,
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
