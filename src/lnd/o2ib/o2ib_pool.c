/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Records that are used again, and registered memory of our own. */
#include "lnd/o2ib/o2ib_internal.h"

enum {
	PAGE_SHIFT = 12,
	SLAB_BYTES = M0_O2IB__SLAB_BUFS * M0_O2IB_MSG_BYTES_MAX
};

void *m0_o2ib__recycle(struct m0_list *list, size_t offset, size_t bytes)
{
	struct m0_list_link *link = m0_list_first(list);

	M0_PRE(bytes > offset);
	if (link == NULL)
		return m0_alloc(bytes);
	m0_list_del(link);
	return (char *)link - offset;
}

struct m0_o2ib__msg *m0_o2ib__msg_get(struct m0_o2ib__drv *drv, uint8_t type)
{
	struct m0_o2ib__msg *msg = m0_o2ib__recycle(
		&drv->odr_free_msgs, offsetof(struct m0_o2ib__msg, oms_link),
		sizeof *msg);

	if (msg == NULL)
		return NULL;
	*msg = (struct m0_o2ib__msg){ .oms_type = type,
				      .oms_deadline = M0_TIME_NEVER };
	m0_list_link_init(&msg->oms_link);
	return msg;
}

void m0_o2ib__msg_put(struct m0_o2ib__drv *drv, struct m0_o2ib__msg *msg)
{
	M0_PRE(msg->oms_sbuf == NULL);
	M0_PRE(!m0_list_link_is_in(&msg->oms_link));
	m0_list_add(&drv->odr_free_msgs, &msg->oms_link);
}

struct m0_o2ib__rx *m0_o2ib__rx_get(struct m0_o2ib__ni *ni)
{
	struct m0_o2ib__rx *rx = m0_o2ib__recycle(
		&ni->oni_drv->odr_free_rxs,
		offsetof(struct m0_o2ib__rx, orx_link), sizeof *rx);

	if (rx == NULL)
		return NULL;
	/* The rest is as m0_o2ib__rx_put() left it, or set by the engine. */
	rx->orx_ni = ni;
	rx->orx_rx.lr_pid = M0_LNET_PID_LUSTRE;
	rx->orx_rx.lr_pipe = NULL;
	rx->orx_rx.lr_reports = false;
	M0_SET0(&rx->orx_rx.lr_words);
	m0_list_link_init(&rx->orx_link);
	return rx;
}

void m0_o2ib__rx_put(struct m0_o2ib__rx *rx)
{
	M0_PRE(rx->orx_rbuf == NULL && rx->orx_xfer == NULL);
	M0_PRE(!rx->orx_is_kept);
	m0_list_add(&rx->orx_ni->oni_drv->odr_free_rxs, &rx->orx_link);
}

/* -- memory to send from ----------------------------------------------------- */

static void slab_free(struct m0_o2ib__ni *ni, struct m0_o2ib__slab *slab)
{
	const struct m0_o2ib_dev_ops *ops = ni->oni_drv->odr_ops;

	ops->odo_unmap(&ni->oni_port, &slab->osl_map);
	ops->odo_mem_del(ni->oni_drv->odr_dev, &slab->osl_mem);
	m0_free_aligned(slab->osl_mem.ome_addr, SLAB_BYTES, PAGE_SHIFT);
	m0_free(slab);
}

static void slab_bufs_add(struct m0_o2ib__ni *ni, struct m0_o2ib__slab *slab,
			  uint32_t lkey)
{
	unsigned i;

	for (i = 0; i < M0_O2IB__SLAB_BUFS; ++i) {
		struct m0_o2ib__sbuf *sbuf = &slab->osl_bufs[i];

		sbuf->osb_addr = (uint8_t *)slab->osl_mem.ome_addr +
				 (size_t)i * M0_O2IB_MSG_BYTES_MAX;
		sbuf->osb_lkey = lkey;
		m0_list_link_init(&sbuf->osb_link);
		m0_list_add_tail(&ni->oni_sbufs, &sbuf->osb_link);
	}
	m0_list_link_init(&slab->osl_link);
	m0_list_add(&ni->oni_slabs, &slab->osl_link);
}

static int slab_register(struct m0_o2ib__ni *ni, struct m0_o2ib__slab *slab)
{
	struct m0_o2ib__drv *drv = ni->oni_drv;
	struct m0_o2ib_seg   seg = { .osg_addr = slab->osl_mem.ome_addr,
				     .osg_bytes = SLAB_BYTES };
	int                  rc;

	rc = drv->odr_ops->odo_mem_add(drv->odr_dev, &slab->osl_mem);
	if (rc != 0)
		return rc;
	rc = drv->odr_ops->odo_map(&ni->oni_port, &seg, 1, M0_O2IB_MAP_SOURCE,
				   &slab->osl_map);
	if (rc != 0)
		drv->odr_ops->odo_mem_del(drv->odr_dev, &slab->osl_mem);
	else
		slab_bufs_add(ni, slab, seg.osg_lkey);
	return rc;
}

static void slab_make(struct m0_o2ib__ni *ni)
{
	struct m0_o2ib__slab *slab;
	void                 *addr;

	M0_ALLOC_PTR(slab);
	if (slab == NULL)
		return;
	addr = m0_alloc_aligned(SLAB_BYTES, PAGE_SHIFT);
	slab->osl_mem = (struct m0_o2ib_mem){ .ome_addr = addr,
					      .ome_bytes = SLAB_BYTES };
	if (addr == NULL || slab_register(ni, slab) != 0) {
		m0_free_aligned(addr, SLAB_BYTES, PAGE_SHIFT);
		m0_free(slab);
	}
}

struct m0_o2ib__sbuf *m0_o2ib__sbuf_get(struct m0_o2ib__ni *ni)
{
	struct m0_list_link *link;

	if (m0_list_is_empty(&ni->oni_sbufs))
		slab_make(ni);
	link = m0_list_first(&ni->oni_sbufs);
	if (link == NULL)
		return NULL;
	m0_list_del(link);
	return m0_list_entry(link, struct m0_o2ib__sbuf, osb_link);
}

void m0_o2ib__sbuf_put(struct m0_o2ib__ni *ni, struct m0_o2ib__sbuf *sbuf)
{
	if (sbuf != NULL)
		m0_list_add(&ni->oni_sbufs, &sbuf->osb_link);
}

/* -- memory to copy through -------------------------------------------------- */

static struct m0_o2ib__bounce *bounce_make(struct m0_o2ib__ni *ni)
{
	struct m0_o2ib__drv    *drv = ni->oni_drv;
	struct m0_o2ib__bounce *bounce;

	M0_ALLOC_PTR(bounce);
	if (bounce == NULL)
		return NULL;
	bounce->obb_mem.ome_addr =
		m0_alloc_aligned(M0_O2IB__BOUNCE_BYTES, PAGE_SHIFT);
	bounce->obb_mem.ome_bytes = M0_O2IB__BOUNCE_BYTES;
	if (bounce->obb_mem.ome_addr == NULL ||
	    drv->odr_ops->odo_mem_add(drv->odr_dev, &bounce->obb_mem) != 0) {
		m0_free_aligned(bounce->obb_mem.ome_addr, M0_O2IB__BOUNCE_BYTES,
				PAGE_SHIFT);
		m0_free(bounce);
		return NULL;
	}
	m0_list_link_init(&bounce->obb_link);
	ni->oni_bounce_bytes += M0_O2IB__BOUNCE_BYTES;
	return bounce;
}

struct m0_o2ib__bounce *m0_o2ib__bounce_get(struct m0_o2ib__ni *ni,
					    bool                is_sink)
{
	uint64_t                max = ni->oni_cfg.obn_bounce_bytes;
	struct m0_list_link    *link = m0_list_first(&ni->oni_bounces);
	struct m0_o2ib__bounce *bounce = NULL;

	if (!is_sink && ni->oni_bounce_source_bytes + M0_O2IB__BOUNCE_BYTES >
				max64u(max / 2, M0_O2IB__BOUNCE_BYTES))
		return NULL;
	if (link != NULL) {
		m0_list_del(link);
		bounce = m0_list_entry(link, struct m0_o2ib__bounce, obb_link);
	} else if (ni->oni_bounce_bytes < max) {
		bounce = bounce_make(ni);
	}
	if (bounce != NULL && !is_sink)
		ni->oni_bounce_source_bytes += M0_O2IB__BOUNCE_BYTES;
	return bounce;
}

void m0_o2ib__bounce_put(struct m0_o2ib__ni *ni, struct m0_o2ib__bounce *bounce,
			 bool is_sink)
{
	M0_PRE(is_sink || ni->oni_bounce_source_bytes > 0);
	if (!is_sink)
		ni->oni_bounce_source_bytes -= M0_O2IB__BOUNCE_BYTES;
	m0_list_add(&ni->oni_bounces, &bounce->obb_link);
	m0_o2ib__rouse(ni->oni_drv);
}

static void bounce_free(struct m0_o2ib__ni *ni, struct m0_o2ib__bounce *bounce)
{
	ni->oni_drv->odr_ops->odo_mem_del(ni->oni_drv->odr_dev,
					  &bounce->obb_mem);
	m0_free_aligned(bounce->obb_mem.ome_addr, M0_O2IB__BOUNCE_BYTES,
			PAGE_SHIFT);
	m0_free(bounce);
}

void m0_o2ib__memory_free(struct m0_o2ib__ni *ni)
{
	struct m0_list_link *link;

	M0_PRE(ni->oni_xfers_nr == 0 && m0_list_is_empty(&ni->oni_hungry[0]) &&
	       m0_list_is_empty(&ni->oni_hungry[1]));
	while ((link = m0_list_first(&ni->oni_sbufs)) != NULL)
		m0_list_del(link);
	while ((link = m0_list_first(&ni->oni_slabs)) != NULL) {
		m0_list_del(link);
		slab_free(ni,
			  m0_list_entry(link, struct m0_o2ib__slab, osl_link));
	}
	while ((link = m0_list_first(&ni->oni_bounces)) != NULL) {
		m0_list_del(link);
		bounce_free(ni, m0_list_entry(link, struct m0_o2ib__bounce,
					      obb_link));
	}
}

static void records_free(struct m0_list *list, size_t offset)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(list)) != NULL) {
		m0_list_del(link);
		m0_free((char *)link - offset);
	}
}

void m0_o2ib__pools_free(struct m0_o2ib__drv *drv)
{
	records_free(&drv->odr_free_msgs,
		     offsetof(struct m0_o2ib__msg, oms_link));
	records_free(&drv->odr_free_xfers,
		     offsetof(struct m0_o2ib__xfer, oxf_link));
	records_free(&drv->odr_free_rxs,
		     offsetof(struct m0_o2ib__rx, orx_link));
}
