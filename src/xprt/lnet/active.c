/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The active side of bulk: PUTs or GETs of at most 1 MiB at rising offsets, a
 * few of them at a time, all from one bound MD. What the other side has taken
 * is known from an ACK, what it has sent from the REPLY; the buffer ends with
 * the last of them. The first failure ends it, and with it the rest.
 */
#include "xprt/lnet/xlnet_internal.h"

static uint32_t transfers_nr;

/* hdr_data of each of its PUTs. */
static uint64_t put_words(const struct xlnet_buf *xb)
{
	return (uint64_t)xb->xb_transfer << 32 | (uint32_t)xb->xb_total;
}

static void piece_next(struct xlnet_buf *xb, struct m0_lnet_op *op)
{
	struct m0_net_kit_buf *kb = xb->xb_md.xd_kb;

	M0_PRE_EX(xb->xb_next <= xb->xb_total);
	M0_PRE_EX(xb->xb_moving_nr < XLNET_WINDOW);
	m0_xlnet__op(xlnet_machine(kb->nkb_machine), &xb->xb_peer, xb->xb_bits,
		     op);
	op->lo_bytes = min64u(xb->xb_total - xb->xb_next, XLNET_PIECE);
	op->lo_md_offset = xb->xb_next;
	op->lo_offset = (uint32_t)xb->xb_next;
	op->lo_user = (void *)(uintptr_t)op->lo_bytes;
	xb->xb_next += op->lo_bytes;
	++xb->xb_moving_nr;
	if (!xb->xb_is_get) {
		op->lo_hdr_data = put_words(xb);
		op->lo_ack = true;
	}
}

static int piece_begin(struct xlnet_buf *xb)
{
	struct m0_lnet   *lnet = m0_xlnet__lnet(xb->xb_md.xd_kb);
	struct m0_lnet_op op;

	piece_next(xb, &op);
	return xb->xb_is_get ? m0_lnet_get(lnet, xb->xb_md.xd_md, &op)
			     : m0_lnet_put(lnet, xb->xb_md.xd_md, &op);
}

static void pieces_begin(struct xlnet_buf *xb)
{
	int rc;

	M0_PRE_EX(xlnet_is_locked(xb->xb_md.xd_machine));
	while (!xb->xb_ends && xb->xb_next < xb->xb_total &&
	       xb->xb_moving_nr < XLNET_WINDOW) {
		rc = piece_begin(xb);
		if (rc != 0)
			m0_xlnet__end(xb, rc);
	}
}

static int bulk_begin(struct m0_net_kit_buf *kb, struct xlnet_buf *xb,
		      const struct m0_net_kit_desc *desc)
{
	struct m0_lnet_md_attr attr = { .mda_vec = &kb->nkb_buffer->nb_buffer,
					.mda_auto_unlink = true };
	struct m0_lnet_op      op;
	m0_bcount_t            pieces;
	int                    rc;

	M0_PRE_EX(xlnet_is_locked(kb->nkb_machine));
	if (m0_xlnet__addr_unpack(&desc->nks_passive, &xb->xb_peer) != 0 ||
	    xb->xb_peer.xa_tmid > M0_NET_LNET_TMID_MAX)
		return -EINVAL;
	xb->xb_bits = m0_xlnet__bits(desc);
	xb->xb_is_get = desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_SEND;
	xb->xb_total = xb->xb_is_get ? desc->nks_size : kb->nkb_send_nr;
	xb->xb_transfer =
		__atomic_add_fetch(&transfers_nr, 1, __ATOMIC_RELAXED);
	/* The passive buffer stays queued, and hears nothing of it. */
	if (xb->xb_total > (xb->xb_is_get ? kb->nkb_size : desc->nks_size))
		return -EFBIG;
	pieces = (xb->xb_total + XLNET_PIECE - 1) / XLNET_PIECE;
	attr.mda_threshold = (int32_t)(2 * pieces);
	attr.mda_length = xb->xb_total;
	if (!xb->xb_is_get)
		attr.mda_vec_offset = kb->nkb_buffer->nb_offset;
	piece_next(xb, &op);
	rc = m0_xlnet__bind(xlnet_machine(kb->nkb_machine), &attr, &op,
			    xb->xb_is_get, &xb->xb_md);
	if (rc == 0)
		pieces_begin(xb);
	return rc;
}

void m0_xlnet__bulk(struct m0_net_kit_buf        *kb,
		    const struct m0_net_kit_desc *desc)
{
	struct m0_net_transfer_mc *tm = m0_net_kit_machine_tm(kb->nkb_machine);
	struct xlnet_buf          *xb = xlnet_buf(kb);
	int                        rc = -ECANCELED;

	m0_mutex_lock(&tm->ntm_mutex);
	xb->xb_md.xd_machine = kb->nkb_machine;
	xb->xb_md.xd_kb = kb;
	xb->xb_status = 0;
	xb->xb_ends = false;
	xb->xb_next = 0;
	xb->xb_moved = 0;
	xb->xb_moving_nr = 0;
	if (xb->xb_cancelled != m0_net_kit_buf_id(kb)) {
		xb->xb_md.xd_kind = XLNET_ACTIVE;
		rc = bulk_begin(kb, xb, desc);
	}
	if (rc != 0) {
		xb->xb_md.xd_kind = XLNET_NONE;
		m0_net_kit_done(kb, rc, 0);
	}
	m0_mutex_unlock(&tm->ntm_mutex);
}

/* A piece has been moved, or not. */
static void piece_end(struct xlnet_buf *xb, const struct m0_lnet_event *ev)
{
	m0_bcount_t wanted = (m0_bcount_t)(uintptr_t)ev->ev_op_user;

	M0_PRE_EX(xlnet_is_locked(xb->xb_md.xd_machine));
	M0_PRE(xb->xb_moving_nr > 0);
	--xb->xb_moving_nr;
	if (ev->ev_status != 0)
		m0_xlnet__end(xb, ev->ev_status);
	else if (ev->ev_mlength != wanted)
		m0_xlnet__end(xb, -EIO);
	else
		xb->xb_moved += wanted;
}

void m0_xlnet__active_event(struct xlnet_buf           *xb,
			    const struct m0_lnet_event *ev)
{
	struct m0_net_kit_buf *kb = xb->xb_md.xd_kb;

	M0_PRE_EX(xlnet_is_locked(xb->xb_md.xd_machine));
	M0_PRE_EX(xb->xb_md.xd_kind == XLNET_ACTIVE);
	if (ev->ev_type == M0_LNET_EV_ACK || ev->ev_type == M0_LNET_EV_REPLY)
		piece_end(xb, ev);
	else if (ev->ev_status != 0)
		m0_xlnet__end(xb, ev->ev_status);
	if (!ev->ev_unlinked) {
		pieces_begin(xb);
		return;
	}
	xb->xb_md.xd_kind = XLNET_NONE;
	/* A cancel may have come too late. */
	if (xb->xb_moved == xb->xb_total)
		m0_net_kit_succeeded(kb, xb->xb_total);
	else
		m0_net_kit_done(kb, xb->xb_status ?: -ECANCELED, 0);
}
