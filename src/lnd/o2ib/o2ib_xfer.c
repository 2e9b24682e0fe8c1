/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory of payloads that RDMA moves: its keys, and where it is written. */
#include "lnd/o2ib/o2ib_internal.h"

struct m0_o2ib__xfer *m0_o2ib__xfer_get(struct m0_o2ib__ni *ni)
{
	struct m0_o2ib__xfer *xfer = m0_o2ib__recycle(
		&ni->oni_drv->odr_free_xfers,
		offsetof(struct m0_o2ib__xfer, oxf_link), sizeof *xfer);

	if (xfer == NULL)
		return NULL;
	memset(xfer, 0, offsetof(struct m0_o2ib__xfer, oxf_segs));
	xfer->oxf_ni = ni;
	xfer->oxf_deadline = M0_TIME_NEVER;
	xfer->oxf_desc.ibd_frags = xfer->oxf_frags;
	xfer->oxf_desc.ibd_frags_max = M0_O2IB_FRAGS_MAX;
	m0_list_link_init(&xfer->oxf_link);
	m0_list_link_init(&xfer->oxf_offered);
	m0_list_link_init(&xfer->oxf_live);
	xfer->oxf_number = ni->oni_drv->odr_number++;
	m0_list_add_tail(&ni->oni_drv->odr_live, &xfer->oxf_live);
	++ni->oni_xfers_nr;
	return xfer;
}

void m0_o2ib__xfer_put(struct m0_o2ib__xfer *xfer)
{
	struct m0_o2ib__ni *ni = xfer->oxf_ni;

	M0_PRE(xfer->oxf_tx == NULL && xfer->oxf_rx == NULL);
	if (m0_list_link_is_in(&xfer->oxf_link))
		m0_list_del(&xfer->oxf_link);
	if (m0_list_link_is_in(&xfer->oxf_offered))
		m0_list_del(&xfer->oxf_offered);
	if (xfer->oxf_is_mapped)
		ni->oni_drv->odr_ops->odo_unmap(&ni->oni_port, &xfer->oxf_map);
	if (xfer->oxf_bounce != NULL)
		m0_o2ib__bounce_put(ni, xfer->oxf_bounce, xfer->oxf_is_sink);
	if (xfer->oxf_is_fetch) {
		M0_PRE(xfer->oxf_peer->ope_fetches_nr > 0);
		M0_PRE(ni->oni_fetches_nr > 0);
		--xfer->oxf_peer->ope_fetches_nr;
		--ni->oni_fetches_nr;
	}
	m0_list_del(&xfer->oxf_live);
	--ni->oni_xfers_nr;
	if (M0_UNLIKELY(!m0_list_is_empty(&ni->oni_drv->odr_left)))
		m0_o2ib__rouse(ni->oni_drv);
	m0_list_add(&ni->oni_drv->odr_free_xfers, &xfer->oxf_link);
}

/* -- our memory -------------------------------------------------------------- */

/** Lists the segments of a payload. @return false: there are too many. */
static bool segs_list(struct m0_o2ib__xfer *xfer)
{
	const struct m0_lnd_payload *pl = &xfer->oxf_payload;
	const struct m0_bufvec      *vec = pl->lpy_vec;
	m0_bcount_t                  skip = pl->lpy_offset;
	m0_bcount_t                  left = pl->lpy_bytes;
	unsigned                     i;

	xfer->oxf_segs_nr = 0;
	for (i = 0; left > 0; ++i) {
		m0_bcount_t all;
		m0_bcount_t nr;

		M0_ASSERT(i < vec->ov_vec.v_nr);
		all = vec->ov_vec.v_count[i];
		if (skip >= all) {
			skip -= all;
			continue;
		}
		if (xfer->oxf_segs_nr == M0_O2IB_MAP_SEGS_MAX)
			return false;
		nr = min64u(all - skip, left);
		xfer->oxf_segs[xfer->oxf_segs_nr++] = (struct m0_o2ib_seg){
			.osg_addr = (char *)vec->ov_buf[i] + skip,
			.osg_bytes = (uint32_t)nr
		};
		skip = 0;
		left -= nr;
	}
	return true;
}

static int keys_get(struct m0_o2ib__xfer *xfer)
{
	struct m0_o2ib__ni *ni = xfer->oxf_ni;
	int                 rc;

	rc = ni->oni_drv->odr_ops->odo_map(
		&ni->oni_port, xfer->oxf_segs, xfer->oxf_segs_nr,
		xfer->oxf_is_sink || xfer->oxf_is_fetch ? M0_O2IB_MAP_SINK
							: M0_O2IB_MAP_SOURCE,
		&xfer->oxf_map);
	xfer->oxf_is_mapped = rc == 0;
	return rc;
}

static void payload_copy(const struct m0_o2ib__xfer *xfer, void *addr, bool in)
{
	const struct m0_lnd_payload *pl = &xfer->oxf_payload;
	m0_bcount_t                  nr = pl->lpy_bytes;
	struct m0_bufvec             flat = M0_BUFVEC_INIT_BUF(&addr, &nr);

	if (in)
		m0_bufvec_copy_at(pl->lpy_vec, pl->lpy_offset, &flat, 0, nr);
	else
		m0_bufvec_copy_at(&flat, 0, pl->lpy_vec, pl->lpy_offset, nr);
}

int m0_o2ib__xfer_bounce(struct m0_o2ib__xfer *xfer)
{
	struct m0_o2ib__bounce *bounce =
		m0_o2ib__bounce_get(xfer->oxf_ni, xfer->oxf_is_sink);

	if (bounce == NULL)
		return -EAGAIN;
	xfer->oxf_bounce = bounce;
	xfer->oxf_segs[0] = (struct m0_o2ib_seg){
		.osg_addr = bounce->obb_mem.ome_addr,
		.osg_bytes = (uint32_t)xfer->oxf_payload.lpy_bytes
	};
	xfer->oxf_segs_nr = 1;
	if (!xfer->oxf_is_sink)
		payload_copy(xfer, bounce->obb_mem.ome_addr, false);
	return keys_get(xfer);
}

int m0_o2ib__xfer_name(struct m0_o2ib__xfer *xfer)
{
	M0_PRE(xfer->oxf_payload.lpy_bytes > 0 && !xfer->oxf_is_mapped);
	xfer->oxf_state = M0_O2IB__READY;
	return segs_list(xfer) ? keys_get(xfer) : -EMSGSIZE;
}

int m0_o2ib__xfer_map(struct m0_o2ib__xfer *xfer, unsigned frags_max)
{
	struct m0_list *hungry = &xfer->oxf_ni->oni_hungry[xfer->oxf_is_sink];
	int             rc;

	M0_PRE(xfer->oxf_payload.lpy_bytes > 0 && !xfer->oxf_is_mapped);
	xfer->oxf_state = M0_O2IB__READY;
	if (segs_list(xfer) &&
	    (!xfer->oxf_is_sink || xfer->oxf_segs_nr <= frags_max) &&
	    keys_get(xfer) == 0)
		return 0;
	if (xfer->oxf_payload.lpy_bytes > M0_O2IB__BOUNCE_BYTES)
		return -EMSGSIZE;
	rc = m0_list_is_empty(hungry) ? m0_o2ib__xfer_bounce(xfer) : -EAGAIN;
	if (rc == -EAGAIN) {
		xfer->oxf_state = M0_O2IB__NO_MEMORY;
		m0_list_add_tail(hungry, &xfer->oxf_link);
	}
	return rc;
}

void m0_o2ib__xfer_arrived(struct m0_o2ib__xfer *xfer)
{
	M0_PRE(xfer->oxf_is_sink);
	if (xfer->oxf_bounce != NULL && !xfer->oxf_rx->orx_rx.lr_cancelled) {
		payload_copy(xfer, xfer->oxf_bounce->obb_mem.ome_addr, true);
		xfer->oxf_ni->oni_info.ldi_copied_bytes +=
			xfer->oxf_payload.lpy_bytes;
	} else {
		xfer->oxf_ni->oni_info.ldi_direct_bytes +=
			xfer->oxf_payload.lpy_bytes;
	}
}

/* -- the peer's memory ------------------------------------------------------- */

int m0_o2ib__xfer_begin(struct m0_o2ib__xfer *xfer)
{
	M0_PRE(!xfer->oxf_is_sink && xfer->oxf_is_mapped);
	/* A PUT fills the peer's memory, a REPLY need not. */
	if (xfer->oxf_is_get
		    ? xfer->oxf_desc.ibd_bytes < xfer->oxf_payload.lpy_bytes
		    : xfer->oxf_desc.ibd_bytes > xfer->oxf_payload.lpy_bytes)
		return -EPROTO;
	xfer->oxf_left =
		min64u(xfer->oxf_desc.ibd_bytes, xfer->oxf_payload.lpy_bytes);
	xfer->oxf_seg = 0;
	xfer->oxf_seg_off = 0;
	xfer->oxf_frag = 0;
	xfer->oxf_frag_off = 0;
	return 0;
}

/** Moves on by `nr` bytes of the present segment and fragment. */
static void advance(struct m0_o2ib__xfer *xfer, uint32_t nr)
{
	xfer->oxf_left -= nr;
	xfer->oxf_seg_off += nr;
	xfer->oxf_frag_off += nr;
	if (xfer->oxf_seg_off == xfer->oxf_segs[xfer->oxf_seg].osg_bytes) {
		++xfer->oxf_seg;
		xfer->oxf_seg_off = 0;
	}
}

void m0_o2ib__xfer_next(struct m0_o2ib__xfer *xfer, unsigned sges_max,
			struct m0_o2ib_seg *segs, struct m0_o2ib_wr *wr)
{
	const struct m0_o2ib_frag *frag = &xfer->oxf_frags[xfer->oxf_frag];
	uint16_t                   nr = 0;

	M0_PRE(xfer->oxf_left > 0 && sges_max > 0);
	M0_PRE(xfer->oxf_frag < xfer->oxf_desc.ibd_frags_nr);
	*wr = (struct m0_o2ib_wr){ .owr_op = M0_O2IB_OP_WRITE,
				   .owr_segs = segs,
				   .owr_raddr = frag->ibf_addr +
						xfer->oxf_frag_off,
				   .owr_rkey = xfer->oxf_desc.ibd_key };
	while (nr < sges_max && xfer->oxf_left > 0 &&
	       xfer->oxf_frag_off < frag->ibf_bytes) {
		const struct m0_o2ib_seg *seg = &xfer->oxf_segs[xfer->oxf_seg];
		uint32_t                  bytes =
			(uint32_t)min64u(seg->osg_bytes - xfer->oxf_seg_off,
					 frag->ibf_bytes - xfer->oxf_frag_off);

		M0_ASSERT(xfer->oxf_seg < xfer->oxf_segs_nr);
		segs[nr++] = (struct m0_o2ib_seg){
			.osg_addr = (char *)seg->osg_addr + xfer->oxf_seg_off,
			.osg_bytes = bytes,
			.osg_lkey = seg->osg_lkey
		};
		advance(xfer, bytes);
	}
	if (xfer->oxf_frag_off == frag->ibf_bytes) {
		++xfer->oxf_frag;
		xfer->oxf_frag_off = 0;
	}
	wr->owr_segs_nr = nr;
}
