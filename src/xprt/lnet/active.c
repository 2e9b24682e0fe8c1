/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The active side of bulk: PUTs or GETs of at most 1 MiB, a few of them at a time,
 * all from one bound MD. What the other side has taken is known from an ACK, what
 * it has sent from the REPLY; the buffer ends with the last of them, or with the
 * confirmation, see passive.c.
 *
 * A piece takes any path to a Multi-Rail peer. One that was lost with its path is
 * moved again: the MD ends, and another one follows with those pieces, at most
 * XLNET_AGAIN_MAX times. Any other failure ends the buffer, and with it the rest.
 */
#include "xprt/lnet/xlnet_internal.h"

enum {
	/** Number of the confirmation, above those of the pieces. */
	PIECE_END = 31
};

static uint32_t transfers_nr;

/* hdr_data of each of its PUTs. */
static uint64_t put_words(const struct xlnet_buf *xb)
{
	uint32_t total = (uint32_t)xb->xb_total;

	return (uint64_t)xb->xb_transfer << 32 |
	       (xb->xb_confirms ? total | XLNET_WILL_CONFIRM : total);
}

/* Where a piece ends; the one after it begins there. */
static m0_bcount_t piece_limit(const struct xlnet_buf *xb, unsigned nr)
{
	return min64u(xb->xb_total,
		      xb->xb_first + (m0_bcount_t)nr * XLNET_PIECE);
}

static m0_bcount_t piece_offset(const struct xlnet_buf *xb, unsigned nr)
{
	return nr == 0 ? 0 : piece_limit(xb, nr - 1);
}

/* The confirmation is an empty piece at the end. */
static m0_bcount_t piece_bytes(const struct xlnet_buf *xb, unsigned nr)
{
	return piece_limit(xb, nr) - piece_offset(xb, nr);
}

/* Can another operation begin? */
static bool is_due(const struct xlnet_buf *xb)
{
	return xb->xb_todo != 0 ||
	       (xb->xb_end_due && xb->xb_moving == 0 && xb->xb_again == 0);
}

static void piece_next(struct xlnet_buf *xb, struct m0_lnet_op *op)
{
	struct m0_net_kit_buf *kb = xb->xb_md.xd_kb;
	unsigned               nr = PIECE_END;

	M0_PRE_EX(is_due(xb));
	M0_PRE_EX(xb->xb_moving_nr < XLNET_WINDOW);
	if (xb->xb_todo != 0)
		nr = (unsigned)__builtin_ctz(xb->xb_todo);
	else
		xb->xb_end_due = false;
	xb->xb_todo &= ~(UINT32_C(1) << nr);
	xb->xb_moving |= UINT32_C(1) << nr;
	++xb->xb_moving_nr;
	m0_xlnet__op(xlnet_machine(kb->nkb_machine), &xb->xb_peer, xb->xb_bits,
		     op);
	op->lo_spread = true;
	/* 0 for the confirmation: the rest of the MD, which is empty. */
	op->lo_bytes = piece_bytes(xb, nr);
	op->lo_md_offset = piece_offset(xb, nr);
	op->lo_offset = (uint32_t)op->lo_md_offset;
	op->lo_user = (void *)(uintptr_t)nr;
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
	while (!xb->xb_ends && is_due(xb) && xb->xb_moving_nr < XLNET_WINDOW) {
		rc = piece_begin(xb);
		if (rc != 0)
			m0_xlnet__end(xb, rc);
	}
}

/* Binds an MD for the pieces that are to be moved, and begins. */
static int pieces_bind(struct xlnet_buf *xb)
{
	struct m0_net_kit_buf *kb = xb->xb_md.xd_kb;
	struct m0_lnet_md_attr attr = { .mda_vec = &kb->nkb_buffer->nb_buffer,
					.mda_length = xb->xb_total,
					.mda_threshold = xb->xb_end_due ? 2 : 0,
					.mda_auto_unlink = true };
	struct m0_lnet_op      op;
	uint32_t               rest;
	int                    rc;

	for (rest = xb->xb_todo; rest != 0; rest &= rest - 1)
		attr.mda_threshold += 2;
	if (!xb->xb_is_get)
		attr.mda_vec_offset = kb->nkb_buffer->nb_offset;
	piece_next(xb, &op);
	rc = m0_xlnet__bind(xlnet_machine(kb->nkb_machine), &attr, &op,
			    xb->xb_is_get, &xb->xb_md);
	if (rc == 0)
		pieces_begin(xb);
	return rc;
}

/* Cuts the transfer into pieces. */
static void pieces_cut(struct xlnet_buf *xb)
{
	unsigned nr = 1;

	xb->xb_first = XLNET_PIECE;
	/* At these offsets the passive side does not count. */
	if (xb->xb_is_get && xb->xb_confirms)
		xb->xb_first = (uint32_t)min64u(XLNET_PIECE, xb->xb_total) / 2;
	while (piece_limit(xb, nr - 1) < xb->xb_total)
		++nr;
	M0_POST(nr < PIECE_END);
	xb->xb_todo = (UINT32_C(1) << nr) - 1;
	xb->xb_end_due = xb->xb_confirms;
}

static int bulk_begin(struct m0_net_kit_buf *kb, struct xlnet_buf *xb,
		      const struct m0_net_kit_desc *desc)
{
	M0_PRE_EX(xlnet_is_locked(kb->nkb_machine));
	if (m0_xlnet__addr_unpack(&desc->nks_passive, &xb->xb_peer) != 0 ||
	    xb->xb_peer.xa_tmid > M0_NET_LNET_TMID_MAX)
		return -EINVAL;
	xb->xb_bits = m0_xlnet__bits(desc);
	xb->xb_is_get = desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_SEND;
	xb->xb_total = xb->xb_is_get ? desc->nks_size : kb->nkb_send_nr;
	xb->xb_transfer =
		__atomic_add_fetch(&transfers_nr, 1, __ATOMIC_RELAXED);
	if (xb->xb_total > (xb->xb_is_get ? kb->nkb_size : desc->nks_size))
		return -EFBIG;
	xb->xb_confirms = xlnet_desc_confirms(desc) ||
			  (desc->nks_size > XLNET_PIECE &&
			   m0_xlnet__has_rails(xlnet_machine(kb->nkb_machine)));
	pieces_cut(xb);
	return pieces_bind(xb);
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
	xb->xb_moved = 0;
	xb->xb_moving = 0;
	xb->xb_moving_nr = 0;
	xb->xb_again = 0;
	xb->xb_tries_nr = 0;
	xb->xb_rests = false;
	xb->xb_end_again = false;
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

/* An operation has ended. */
static void piece_end(struct xlnet_buf *xb, unsigned nr, int32_t status,
		      m0_bcount_t bytes)
{
	M0_PRE_EX(xlnet_is_locked(xb->xb_md.xd_machine));
	M0_PRE(xb->xb_moving_nr > 0);
	xb->xb_moving &= ~(UINT32_C(1) << nr);
	--xb->xb_moving_nr;
	if (status == -EAGAIN && xb->xb_tries_nr < XLNET_AGAIN_MAX)
		xb->xb_again |= UINT32_C(1) << nr;
	else if (status != 0)
		m0_xlnet__end(xb, status == -EAGAIN ? -EHOSTUNREACH : status);
	else if (bytes != piece_bytes(xb, nr))
		m0_xlnet__end(xb, -EIO);
	else
		xb->xb_moved += bytes;
}

/*
 * A confirmation that is sent again is not waited for: if the first had arrived, and its
 * answer was lost, nothing answers. All bytes have arrived in any case.
 */
static void piece_event(struct xlnet_buf *xb, const struct m0_lnet_event *ev)
{
	unsigned nr = (unsigned)(uintptr_t)ev->ev_op_user;

	if ((xb->xb_moving >> nr & 1) == 0)
		return;
	/* Its SEND may follow the answer, and fail if the MD is unlinked. */
	if (ev->ev_type != M0_LNET_EV_SEND || ev->ev_status != 0)
		piece_end(xb, nr, ev->ev_status, ev->ev_mlength);
	else if (nr == PIECE_END && xb->xb_end_again)
		m0_xlnet__end(xb, 0);
}

/* If only pieces are left that are to be moved again, the MD ends for that. */
static void pieces_rest(struct xlnet_buf *xb)
{
	if (xb->xb_ends || xb->xb_rests || xb->xb_again == 0 ||
	    xb->xb_todo != 0 || xb->xb_moving != 0)
		return;
	xb->xb_rests = true;
	(void)m0_lnet_md_unlink(m0_xlnet__lnet(xb->xb_md.xd_kb),
				xb->xb_md.xd_md);
}

/* The MD has ended; another one follows for what is to be moved again. */
static int pieces_again(struct xlnet_buf *xb)
{
	M0_PRE(xb->xb_todo == 0 && xb->xb_moving == 0);
	++xb->xb_tries_nr;
	xb->xb_rests = false;
	xb->xb_todo = xb->xb_again & ~(UINT32_C(1) << PIECE_END);
	if (xb->xb_todo != xb->xb_again) {
		xb->xb_end_due = true;
		xb->xb_end_again = true;
	}
	xb->xb_again = 0;
	return pieces_bind(xb);
}

void m0_xlnet__active_event(struct xlnet_buf           *xb,
			    const struct m0_lnet_event *ev)
{
	struct m0_net_kit_buf *kb = xb->xb_md.xd_kb;
	int                    rc;

	M0_PRE_EX(xlnet_is_locked(xb->xb_md.xd_machine));
	M0_PRE_EX(xb->xb_md.xd_kind == XLNET_ACTIVE);
	if (ev->ev_type != M0_LNET_EV_UNLINK)
		piece_event(xb, ev);
	else if (ev->ev_status != 0)
		m0_xlnet__end(xb, ev->ev_status);
	if (!ev->ev_unlinked) {
		pieces_begin(xb);
		pieces_rest(xb);
		return;
	}
	if (!xb->xb_ends && xb->xb_again != 0) {
		rc = pieces_again(xb);
		if (rc == 0)
			return;
		xb->xb_status = rc;
	}
	xb->xb_md.xd_kind = XLNET_NONE;
	/* A cancel may have come too late. */
	if (xb->xb_moved == xb->xb_total)
		m0_net_kit_succeeded(kb, xb->xb_total);
	else
		m0_net_kit_done(kb, xb->xb_status ?: -ECANCELED, 0);
}
