/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The passive side of bulk: one entry, one MD over the whole buffer, into which
 * pieces are put, or from which they are fetched, at the initiator's offsets.
 *
 * hdr_data of a PUT says how long all of them together are, and a number that
 * those of one transfer share; the buffer ends when each piece of the last
 * transfer has come. A GET has no such words: there the buffer ends when each
 * piece was fetched. One piece is all there is to buffers of at most 1 MiB,
 * whose MD therefore ends by itself.
 *
 * With several NIs a piece may be lost with its path though its sender has reported
 * it as sent, or its ACK. Therefore a transfer that may take several paths ends by a
 * confirmation, a PUT or GET of no bytes at the end of the transfer, when the
 * initiator knows that each piece has arrived. hdr_data of its PUTs has
 * XLNET_WILL_CONFIRM; its GETs begin at other offsets, so that none counts.
 * Pieces may then be moved again without harm. Who is to confirm follows from the
 * descriptor (xlnet_desc_confirms()) and, for buffers of several pieces, from the NIs
 * of the initiator.
 *
 * A PUT that announces more than there is room for moves nothing: the buffer
 * goes on to wait. An initiator of ours that finds its buffer or the passive one
 * too small does not send at all.
 */
#include "xprt/lnet/xlnet_internal.h"

static uint64_t identities_nr;

uint64_t m0_xlnet__passive_id(struct m0_net_kit_buf *kb)
{
	const struct xlnet_machine *xm = xlnet_machine(kb->nkb_machine);
	uint64_t nr = __atomic_add_fetch(&identities_nr, 1, __ATOMIC_RELAXED) &
		      (XLNET_HAS_RAILS - 1);

	if (m0_xlnet__has_rails(xm))
		nr |= XLNET_HAS_RAILS;
	return xlnet_msg_bits(xm->xm_addr.xa_tmid) | nr;
}

static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

uint64_t m0_xlnet__bits(const struct m0_net_kit_desc *desc)
{
	uint64_t h = mix(desc->nks_incarnation);
	uint64_t low;
	uint32_t i;

	for (i = 0; i < desc->nks_active.nka_len; ++i)
		h = mix(h ^ (desc->nks_active.nka_bytes[i] + i));
	low = (desc->nks_id ^ h) & XLNET_BITS_MASK;
	/* 0 is for messages. */
	return (desc->nks_id & ~XLNET_BITS_MASK) | (low == 0 ? 1 : low);
}

static bool is_one_piece(const struct m0_net_kit_buf *kb,
			 const struct xlnet_buf      *xb)
{
	return (xb->xb_is_get ? kb->nkb_send_nr : kb->nkb_size) <=
		       XLNET_PIECE &&
	       !xb->xb_confirms;
}

static int passive_attach(struct m0_net_kit_buf *kb, struct xlnet_buf *xb)
{
	struct xlnet_machine  *xm = xlnet_machine(kb->nkb_machine);
	struct m0_lnet_me_attr me = { .mea_portal = xm->xm_addr.xa_portal,
				      .mea_id = { .lp_nid = xb->xb_peer.xa_nid,
						  .lp_pid = M0_LNET_PID_ANY },
				      .mea_match_bits = xb->xb_bits,
				      .mea_flags = M0_LNET_ME_UNLINK };
	bool                   one = is_one_piece(kb, xb);
	struct m0_lnet_md_attr attr = {
		.mda_vec = &kb->nkb_buffer->nb_buffer,
		.mda_length = kb->nkb_size,
		.mda_threshold = one ? 1 : M0_LNET_MD_THRESHOLD_INF,
		.mda_options =
			M0_LNET_MD_MANAGE_REMOTE |
			(xb->xb_is_get ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT),
		.mda_auto_unlink = one,
	};

	if (xb->xb_is_get) {
		attr.mda_vec_offset = kb->nkb_buffer->nb_offset;
		attr.mda_length = kb->nkb_send_nr;
	}
	return m0_xlnet__attach(xm, &me, &attr, &xb->xb_md);
}

int m0_xlnet__passive(struct m0_net_kit_buf        *kb,
		      const struct m0_net_kit_desc *desc)
{
	struct xlnet_buf *xb = xlnet_buf(kb);
	int               rc;

	xb->xb_md.xd_kind = XLNET_PASSIVE;
	xb->xb_md.xd_machine = kb->nkb_machine;
	xb->xb_md.xd_kb = kb;
	xb->xb_status = 0;
	xb->xb_ends = false;
	xb->xb_bits = m0_xlnet__bits(desc);
	xb->xb_is_get = desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_SEND;
	xb->xb_total = xb->xb_is_get ? kb->nkb_send_nr : 0;
	xb->xb_transfer = 0;
	xb->xb_pieces = 0;
	xb->xb_confirms = xlnet_desc_confirms(desc);
	xb->xb_broken = false;
	xb->xb_all = false;
	xb->xb_peer.xa_nid = m0_lnet_nid_any;
	if (desc->nks_active.nka_len > 0)
		(void)m0_xlnet__addr_unpack(&desc->nks_active, &xb->xb_peer);
	rc = passive_attach(kb, xb);
	if (rc != 0)
		xb->xb_md.xd_kind = XLNET_NONE;
	return rc;
}

enum progress {
	/** Nothing came of it. */
	PROGRESS_NONE,
	PROGRESS_SOME,
	PROGRESS_ALL
};

/* Is this a piece as the other side cuts them? */
static bool piece_of(const struct xlnet_buf *xb, const struct m0_lnet_event *ev,
		     uint32_t *ret_nr)
{
	if (ev->ev_offset % XLNET_PIECE != 0 || ev->ev_offset >= xb->xb_total)
		return false;
	*ret_nr = (uint32_t)(ev->ev_offset / XLNET_PIECE);
	return ev->ev_mlength ==
	       min64u(xb->xb_total - ev->ev_offset, XLNET_PIECE);
}

static bool piece_is_known(const struct xlnet_buf *xb, uint32_t nr)
{
	return (xb->xb_pieces >> nr & 1) != 0;
}

static enum progress progress(const struct xlnet_buf *xb)
{
	uint32_t last = (uint32_t)((xb->xb_total - 1) / XLNET_PIECE);

	return xb->xb_pieces == (2u << last) - 1 ? PROGRESS_ALL : PROGRESS_SOME;
}

static enum progress piece_take(struct xlnet_buf *xb, uint32_t nr)
{
	xb->xb_pieces |= 1u << nr;
	return progress(xb);
}

/* Returns true if this is the confirmation that each piece has arrived. */
static bool is_confirmation(const struct xlnet_buf     *xb,
			    const struct m0_lnet_event *ev)
{
	return ev->ev_mlength == 0 && ev->ev_offset == xb->xb_total;
}

/* A piece has come; if the network has doubled it, once more. */
static enum progress put_in(struct xlnet_buf           *xb,
			    const struct m0_lnet_event *ev)
{
	uint32_t transfer = (uint32_t)(ev->ev_hdr_data >> 32);
	uint32_t total = (uint32_t)ev->ev_hdr_data & ~XLNET_WILL_CONFIRM;
	bool     confirms = (ev->ev_hdr_data & XLNET_WILL_CONFIRM) != 0;
	uint32_t nr;

	if (total == 0 || total > xb->xb_md.xd_kb->nkb_size)
		return PROGRESS_NONE;
	if (transfer != xb->xb_transfer || total != xb->xb_total) {
		xb->xb_transfer = transfer;
		xb->xb_total = total;
		xb->xb_pieces = 0;
	}
	if (confirms && is_confirmation(xb, ev))
		return progress(xb);
	if (!piece_of(xb, ev, &nr) || piece_is_known(xb, nr))
		return PROGRESS_NONE;
	return piece_take(xb, nr) == PROGRESS_ALL && !confirms ? PROGRESS_ALL
							       : PROGRESS_SOME;
}

/* A piece was fetched: the one that begins at ev_offset. */
static enum progress get_in(struct xlnet_buf           *xb,
			    const struct m0_lnet_event *ev)
{
	uint32_t nr;

	if (is_confirmation(xb, ev))
		return PROGRESS_ALL;
	if (!piece_of(xb, ev, &nr))
		return PROGRESS_NONE;
	/* The piece belongs to a new transfer; the peer gave up the old one. */
	if (piece_is_known(xb, nr) || (xb->xb_broken && nr == 0))
		xb->xb_pieces = 0;
	if (nr == 0)
		xb->xb_broken = false;
	if (xb->xb_broken)
		return PROGRESS_NONE;
	return piece_take(xb, nr);
}

static enum progress piece_in(struct xlnet_buf           *xb,
			      const struct m0_lnet_event *ev)
{
	if (ev->ev_type != M0_LNET_EV_PUT && ev->ev_type != M0_LNET_EV_GET)
		return PROGRESS_NONE;
	if (ev->ev_status != 0) {
		xb->xb_broken = true;
		return PROGRESS_NONE;
	}
	return xb->xb_is_get ? get_in(xb, ev) : put_in(xb, ev);
}

/* The memory is ours again, and the buffer ends. */
static void passive_end(struct xlnet_buf *xb, int32_t status)
{
	struct m0_net_kit_buf *kb = xb->xb_md.xd_kb;

	xb->xb_md.xd_kind = XLNET_NONE;
	if (status == 0)
		m0_net_kit_succeeded(kb, xb->xb_total);
	else
		m0_net_kit_done(kb, status, 0);
}

/* Its MD has ended by itself, and nothing came of it. */
static void passive_again(struct xlnet_buf *xb, const struct m0_lnet_event *ev)
{
	int rc = ev->ev_status ?: -ECANCELED;

	/* Its only piece was lost: it waits for another. */
	if (ev->ev_type != M0_LNET_EV_UNLINK)
		rc = passive_attach(xb->xb_md.xd_kb, xb);
	if (rc != 0)
		passive_end(xb, rc);
}

void m0_xlnet__passive_event(struct xlnet_buf           *xb,
			     const struct m0_lnet_event *ev)
{
	/* Pieces that came before a cancel count. */
	if (!xb->xb_all && piece_in(xb, ev) == PROGRESS_ALL)
		xb->xb_all = true;
	if (!ev->ev_unlinked) {
		if (xb->xb_all)
			m0_xlnet__end(xb, 0);
	} else if (xb->xb_all) {
		passive_end(xb, 0);
	} else if (xb->xb_ends) {
		passive_end(xb, xb->xb_status);
	} else {
		passive_again(xb, ev);
	}
}
