/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The driver, its interfaces, its steps. */
#include <stdio.h>

#include "lnd/o2ib/o2ib_internal.h"
#include "base/options.h"

void m0_o2ib_cfg_default(struct m0_o2ib_cfg *cfg)
{
	*cfg = (struct m0_o2ib_cfg){
		.obc_listens = true,
		.obc_conns_max = 16384,
		.obc_accepting_max = 256,
		.obc_net = { .obn_service = M0_O2IB_PORT,
			     .obn_timeout_ns = 50 * M0_TIME_ONE_SECOND,
			     .obn_keepalive_ns = 100 * M0_TIME_ONE_SECOND,
			     .obn_resolve_ns = 5 * M0_TIME_ONE_SECOND,
			     .obn_connect_ns = 12 * M0_TIME_ONE_SECOND,
			     .obn_reconnect_min_ns = M0_TIME_ONE_SECOND,
			     .obn_reconnect_max_ns = 60 * M0_TIME_ONE_SECOND,
			     .obn_cancel_grace_ns = M0_TIME_ONE_SECOND,
			     .obn_retry_nr = 5,
			     .obn_rnr_retry_nr = 7,
			     .obn_rnr_timer = 12,
			     .obn_tos = M0_O2IB_TOS_SYSTEM,
			     .obn_conns_per_peer = 1,
			     .obn_bounce_bytes = 16 << 20 }
	};
}

/* -- interfaces ------------------------------------------------------------------ */

/** Inherits the driver's values where the network has no options of its own. */
static int ni_tune(struct m0_o2ib__ni *ni, char *why)
{
	int rc;

	M0_BASSERT((int)M0_OPTIONS_WHY_BYTES <= (int)M0_LND_WHY_BYTES);
	ni->oni_cfg = ni->oni_drv->odr_cfg.obc_net;
	rc = m0_o2ib_options(&ni->oni_cfg, ni->oni_ni->ldn_options, why);
	return rc == -ENOENT ? -EINVAL : rc;
}

static int ni_port_open(struct m0_o2ib__ni *ni, char *why)
{
	struct m0_o2ib__drv      *drv = ni->oni_drv;
	const struct m0_lnet_nid *nid = &ni->oni_ni->ldn_nid;
	unsigned                  depth = ni->oni_ni->ldn_peer_credits;
	int                       rc;

	if (!m0_lnet_nid_is_nid4(nid)) {
		snprintf(why, M0_LND_WHY_BYTES,
			 "net o2ib has IPv4 addresses only");
		return -EAFNOSUPPORT;
	}
	ni->oni_port.ort_addr = (struct m0_host_addr){
		.sa_bytes_nr = 4, .sa_port = (uint16_t)ni->oni_cfg.obn_service
	};
	memcpy(ni->oni_port.ort_addr.sa_bytes, nid->ln_addr, 4);
	ni->oni_port.ort_listens = drv->odr_cfg.obc_listens;
	ni->oni_port.ort_user = ni;
	rc = drv->odr_ops->odo_port_open(drv->odr_dev, &ni->oni_port, why);
	if (rc != 0)
		return rc;
	if (ni->oni_cfg.obn_peer_credits != 0)
		depth = ni->oni_cfg.obn_peer_credits;
	depth = min_check(depth, (unsigned)M0_O2IB_DEPTH_MAX);
	depth = min_check(depth, (unsigned)ni->oni_port.ort_depth_max);
	ni->oni_self = (struct m0_o2ib_self){
		.ibs_nid4 = m0_lnet_nid_to4(nid),
		.ibs_stamp = max64u(ni->oni_ni->ldn_incarnation, 1),
		.ibs_depth_max = (uint16_t)(depth > 0 ? depth : 1)
	};
	return 0;
}

static int o2ib_ni_start(struct m0_lnd *lnd, struct m0_lnd_ni *lnd_ni,
			 char *why)
{
	struct m0_o2ib__drv *drv = m0_o2ib__drv_of(lnd);
	struct m0_o2ib__ni  *ni;
	int                  rc;

	why[0] = '\0';
	M0_ALLOC_PTR(ni);
	if (ni == NULL)
		return -ENOMEM;
	ni->oni_drv = drv;
	ni->oni_ni = lnd_ni;
	ni->oni_scan_at = M0_TIME_NEVER;
	m0_hash_init(&ni->oni_peers);
	m0_list_init(&ni->oni_slabs);
	m0_list_init(&ni->oni_sbufs);
	m0_list_init(&ni->oni_bounces);
	m0_list_init(&ni->oni_hungry[false]);
	m0_list_init(&ni->oni_hungry[true]);
	rc = ni_tune(ni, why);
	if (rc == 0)
		rc = ni_port_open(ni, why);
	if (rc != 0) {
		m0_free(ni);
		return rc;
	}
	m0_list_link_init(&ni->oni_link);
	m0_list_add_tail(&drv->odr_nis, &ni->oni_link);
	lnd_ni->ldn_priv = ni;
	lnd_ni->ldn_lnd = lnd;
	lnd_ni->ldn_timeout_ns = ni->oni_cfg.obn_timeout_ns;
	lnd_ni->ldn_up = ni->oni_port.ort_is_up;
	lnd_ni->ldn_grows = false;
	lnd_ni->ldn_splices = false;
	return 0;
}

static void o2ib_ni_stop(struct m0_lnd_ni *lnd_ni)
{
	struct m0_o2ib__ni *ni = lnd_ni->ldn_priv;

	M0_PRE(!ni->oni_is_stopping);
	ni->oni_is_stopping = true;
	ni->oni_drv->odr_ops->odo_port_deaf(ni->oni_drv->odr_dev,
					    &ni->oni_port);
	m0_o2ib__rouse(ni->oni_drv);
}

static void hungry_fail(struct m0_o2ib__ni *ni)
{
	struct m0_o2ib__xfer *xfer;
	struct m0_o2ib__xfer *after;

	m0_list_for_each_entry_safe(&ni->oni_hungry[false], xfer, after,
				    struct m0_o2ib__xfer, oxf_link)
		if (xfer->oxf_conn == NULL)
			m0_o2ib__source_fail(xfer, -ENETDOWN);
}

/** Ends all that an interface has. */
static void ni_end(struct m0_o2ib__ni *ni)
{
	struct m0_hash_link *link;
	struct m0_hash_link *after;

	for (link = m0_hash_first(&ni->oni_peers); link != NULL; link = after) {
		struct m0_o2ib__peer *peer =
			container_of(link, struct m0_o2ib__peer, ope_hash);

		after = m0_hash_next(link);
		m0_o2ib__peer_drop(peer, -ENETDOWN);
		m0_o2ib__peer_fail(peer, -ENETDOWN, M0_LND_LOCAL_INTERRUPT);
		m0_o2ib__peer_check(peer);
	}
	hungry_fail(ni);
}

/** @return false: something of it is left. */
static bool ni_gone(struct m0_o2ib__ni *ni)
{
	struct m0_o2ib__drv *drv = ni->oni_drv;
	struct m0_lnd_ni    *lnd_ni = ni->oni_ni;

	if (ni->oni_conns_nr > 0 || ni->oni_kept_nr > 0 ||
	    ni->oni_xfers_nr > 0 || m0_hash_nr(&ni->oni_peers) > 0 ||
	    !m0_list_is_empty(&drv->odr_ended))
		return false;
	m0_o2ib__memory_free(ni);
	drv->odr_ops->odo_port_close(drv->odr_dev, &ni->oni_port);
	m0_hash_fini(&ni->oni_peers);
	m0_list_del(&ni->oni_link);
	m0_free(ni);
	lnd_ni->ldn_priv = NULL;
	lnd_ni->ldn_up = false;
	drv->odr_spoke = true;
	lnd_ni->ldn_ops->lu_ni_stopped(lnd_ni);
	return true;
}

static void o2ib_peer_drop(struct m0_lnd_ni         *lnd_ni,
			   const struct m0_lnet_nid *nid)
{
	struct m0_o2ib__ni  *ni = lnd_ni->ldn_priv;
	struct m0_hash_link *link;

	for (link = m0_hash_first(&ni->oni_peers); link != NULL;
	     link = m0_hash_next(link)) {
		struct m0_o2ib__peer *peer =
			container_of(link, struct m0_o2ib__peer, ope_hash);

		if (nid == NULL || m0_lnet_nid_eq(&peer->ope_nid, nid))
			m0_o2ib__peer_drop(peer, -ECONNABORTED);
	}
}

static void o2ib_ni_info(const struct m0_lnd_ni *lnd_ni,
			 struct m0_lnd_ni_info  *info)
{
	const struct m0_o2ib__ni        *ni = lnd_ni->ldn_priv;
	const struct m0_o2ib_net_cfg    *cfg = &ni->oni_cfg;
	const struct m0_o2ib_dev_counts *counts =
		&ni->oni_drv->odr_dev->odv_counts;

	*info = ni->oni_info;
	info->ldi_read_calls_nr = counts->odc_calls_nr;
	info->ldi_conns_per_peer = cfg->obn_conns_per_peer;
	info->ldi_timeout_ms = cfg->obn_timeout_ns / M0_TIME_ONE_MSEC;
	info->ldi_keepalive_ms = cfg->obn_keepalive_ns / M0_TIME_ONE_MSEC;
	info->ldi_reconnect_min_ms = cfg->obn_reconnect_min_ns /
				     M0_TIME_ONE_MSEC;
	info->ldi_reconnect_max_ms = cfg->obn_reconnect_max_ns /
				     M0_TIME_ONE_MSEC;
	info->ldi_tos_plus_1 =
		cfg->obn_tos == M0_O2IB_TOS_SYSTEM ? 0 : cfg->obn_tos + 1;
	info->ldi_ack_timeout = cfg->obn_ack_timeout;
	info->ldi_get_req = cfg->obn_get_req;
	info->ldi_service = cfg->obn_service;
}

/* -- memory of the application ------------------------------------------------------ */

static void o2ib_mem_add(struct m0_lnd *lnd, const struct m0_lnd_mem *mem)
{
	struct m0_o2ib__drv    *drv = m0_o2ib__drv_of(lnd);
	struct m0_o2ib__region *region;

	M0_ALLOC_PTR(region);
	if (region == NULL)
		return;
	region->oeg_lnd_mem = mem;
	region->oeg_mem = (struct m0_o2ib_mem){ .ome_addr = mem->lme_addr,
						.ome_bytes = mem->lme_bytes };
	if (drv->odr_ops->odo_mem_add(drv->odr_dev, &region->oeg_mem) != 0) {
		m0_free(region);
		return;
	}
	m0_list_link_init(&region->oeg_link);
	m0_list_add_tail(&drv->odr_regions, &region->oeg_link);
}

static void region_free(struct m0_o2ib__drv    *drv,
			struct m0_o2ib__region *region)
{
	m0_list_del(&region->oeg_link);
	drv->odr_ops->odo_mem_del(drv->odr_dev, &region->oeg_mem);
	m0_free(region);
}

/** Is all of its memory in another region, whose transfers may have its keys? Else a peer might
 * write memory that the application has back. */
static bool is_within_another(const struct m0_o2ib__drv    *drv,
			      const struct m0_o2ib__region *region)
{
	const struct m0_o2ib_mem *mem = &region->oeg_mem;
	struct m0_o2ib__region   *other;

	m0_list_for_each_entry(&drv->odr_regions, other, struct m0_o2ib__region,
			       oeg_link) {
		uintptr_t off = (uintptr_t)mem->ome_addr -
				(uintptr_t)other->oeg_mem.ome_addr;

		if (other != region && off <= other->oeg_mem.ome_bytes &&
		    mem->ome_bytes <= other->oeg_mem.ome_bytes - off)
			return true;
	}
	return false;
}

/** Nothing new has its keys. Others' transfers that have them go on. */
static void region_leave(struct m0_o2ib__drv    *drv,
			 struct m0_o2ib__region *region)
{
	if (m0_list_is_empty(&drv->odr_live) ||
	    !is_within_another(drv, region)) {
		region_free(drv, region);
		return;
	}
	region->oeg_mem.ome_is_left = true;
	region->oeg_before = drv->odr_number;
	region->oeg_lnd_mem = NULL;
	m0_list_move_tail(&drv->odr_left, &region->oeg_link);
}

static void left_look(struct m0_o2ib__drv *drv)
{
	struct m0_list_link *link = m0_list_first(&drv->odr_live);
	uint64_t             first = drv->odr_number;

	if (link != NULL)
		first = m0_list_entry(link, struct m0_o2ib__xfer, oxf_live)
				->oxf_number;
	while ((link = m0_list_first(&drv->odr_left)) != NULL) {
		struct m0_o2ib__region *region =
			m0_list_entry(link, struct m0_o2ib__region, oeg_link);

		if (region->oeg_before > first)
			return;
		region_free(drv, region);
	}
}

static void o2ib_mem_del(struct m0_lnd *lnd, const struct m0_lnd_mem *mem)
{
	struct m0_o2ib__drv    *drv = m0_o2ib__drv_of(lnd);
	struct m0_o2ib__region *region;
	struct m0_o2ib__region *after;

	m0_list_for_each_entry_safe(&drv->odr_regions, region, after,
				    struct m0_o2ib__region, oeg_link)
		if (region->oeg_lnd_mem == mem)
			region_leave(drv, region);
	m0_list_for_each_entry_safe(&drv->odr_left, region, after,
				    struct m0_o2ib__region, oeg_link)
		if (!is_within_another(drv, region))
			region_free(drv, region);
}

/* -- steps -------------------------------------------------------------------------- */

/** Sinks that the engine has cancelled have only so long. */
static void offered_look(struct m0_o2ib__drv *drv)
{
	struct m0_o2ib__xfer *xfer;

	m0_list_for_each_entry(&drv->odr_offered, xfer, struct m0_o2ib__xfer,
			       oxf_offered) {
		struct m0_o2ib__ni *ni = xfer->oxf_ni;
		m0_time_t           by;

		if (!xfer->oxf_rx->orx_rx.lr_cancelled ||
		    xfer->oxf_is_cancelled)
			continue;
		by = m0_time_add(m0_o2ib__now(drv),
				 ni->oni_cfg.obn_cancel_grace_ns);
		xfer->oxf_is_cancelled = true;
		xfer->oxf_deadline = min64u(xfer->oxf_deadline, by);
		m0_o2ib__scan_by(ni, xfer->oxf_deadline);
	}
}

static void paused_look(struct m0_o2ib__drv *drv)
{
	struct m0_list       list;
	struct m0_list_link *link;
	unsigned             nr = 0;

	m0_list_init(&list);
	m0_list_splice_tail(&list, &drv->odr_paused);
	while (nr++ < M0_O2IB__RETRIES_MAX &&
	       (link = m0_list_first(&list)) != NULL) {
		m0_list_del(link);
		m0_o2ib__paused_retry(
			m0_list_entry(link, struct m0_o2ib__conn, ocn_pausing));
	}
	m0_list_splice_tail(&list, &drv->odr_paused);
	m0_list_splice_tail(&drv->odr_paused, &list);
}

static void dirty_flush(struct m0_o2ib__drv *drv)
{
	struct m0_list       list;
	struct m0_list_link *link;

	m0_list_init(&list);
	m0_list_splice_tail(&list, &drv->odr_dirty);
	while ((link = m0_list_first(&list)) != NULL) {
		m0_list_del(link);
		m0_o2ib__conn_flush(
			m0_list_entry(link, struct m0_o2ib__conn, ocn_dirty));
	}
}

static m0_time_t nis_look(struct m0_o2ib__drv *drv, m0_time_t now)
{
	struct m0_o2ib__ni *ni;
	m0_time_t           at = M0_TIME_NEVER;

	m0_list_for_each_entry(&drv->odr_nis, ni, struct m0_o2ib__ni,
			       oni_link) {
		if (ni->oni_scan_at <= now)
			m0_o2ib__scan(ni);
		if (ni->oni_is_stopping)
			ni_end(ni);
		m0_o2ib__xfers_feed(ni);
		at = min64u(at, ni->oni_scan_at);
	}
	return at;
}

static void nis_tell(struct m0_o2ib__drv *drv)
{
	struct m0_o2ib__ni *ni;
	struct m0_o2ib__ni *after;

	m0_list_for_each_entry_safe(&drv->odr_nis, ni, after,
				    struct m0_o2ib__ni, oni_link)
		if (ni->oni_is_stopping)
			(void)ni_gone(ni);
}

static m0_time_t o2ib_step(struct m0_lnd *lnd, m0_time_t now)
{
	struct m0_o2ib__drv *drv = m0_o2ib__drv_of(lnd);
	m0_time_t            at;

	M0_PRE(m0_o2ib__now(drv) == now);
	drv->odr_is_pending = false;
	drv->odr_spoke = false;
	/* Before anybody may free a peer. */
	m0_o2ib__dead_bury(drv);
	offered_look(drv);
	paused_look(drv);
	(void)nis_look(drv, now);
	dirty_flush(drv);
	if (M0_UNLIKELY(!m0_list_is_empty(&drv->odr_left)))
		left_look(drv);
	m0_o2ib__txs_tell(drv);
	nis_tell(drv);
	if (drv->odr_spoke || drv->odr_is_pending)
		return M0_TIME_IMMEDIATELY;
	at = nis_look(drv, now);
	if (!m0_list_is_empty(&drv->odr_paused))
		at = min64u(at, m0_time_add(now, M0_O2IB__RETRY_NS));
	return drv->odr_is_pending ? M0_TIME_IMMEDIATELY : at;
}

/* -- life ----------------------------------------------------------------------------- */

static void o2ib_fini(struct m0_lnd *lnd)
{
	struct m0_o2ib__drv *drv = m0_o2ib__drv_of(lnd);
	struct m0_list_link *link;

	M0_PRE(m0_list_is_empty(&drv->odr_nis));
	M0_PRE(m0_list_is_empty(&drv->odr_live));
	m0_list_splice_tail(&drv->odr_regions, &drv->odr_left);
	while ((link = m0_list_first(&drv->odr_regions)) != NULL)
		region_free(drv, m0_list_entry(link, struct m0_o2ib__region,
					       oeg_link));
	m0_o2ib__pools_free(drv);
	drv->odr_ops->odo_fini(drv->odr_dev);
	m0_free(drv);
}

static const struct m0_lnd_ops ops = { .ldo_name = "o2ib",
				       .ldo_type = M0_LNET_TYPE_O2IB,
				       .ldo_ni_start = o2ib_ni_start,
				       .ldo_ni_stop = o2ib_ni_stop,
				       .ldo_xmit = m0_o2ib__xmit,
				       .ldo_tx_cancel = m0_o2ib__tx_cancel,
				       .ldo_step = o2ib_step,
				       .ldo_peer_drop = o2ib_peer_drop,
				       .ldo_ni_info = o2ib_ni_info,
				       .ldo_rx_release = m0_o2ib__rx_release,
				       .ldo_fini = o2ib_fini,
				       .ldo_mem_add = o2ib_mem_add,
				       .ldo_mem_del = o2ib_mem_del };

int m0_o2ib_create(struct m0_lnd **ret, const struct m0_o2ib_cfg *cfg,
		   struct m0_o2ib_dev *dev)
{
	struct m0_o2ib__drv *drv;

	M0_ALLOC_PTR(drv);
	if (drv == NULL)
		return -ENOMEM;
	drv->odr_lnd.ld_ops = &ops;
	drv->odr_cfg = *cfg;
	drv->odr_dev = dev;
	drv->odr_ops = dev->odv_ops;
	drv->odr_reactor = dev->odv_reactor;
	m0_list_init(&drv->odr_nis);
	m0_list_init(&drv->odr_regions);
	m0_list_init(&drv->odr_left);
	m0_list_init(&drv->odr_live);
	m0_list_init(&drv->odr_dirty);
	m0_list_init(&drv->odr_paused);
	m0_list_init(&drv->odr_offered);
	m0_list_init(&drv->odr_ended);
	m0_list_init(&drv->odr_dead);
	m0_list_init(&drv->odr_free_msgs);
	m0_list_init(&drv->odr_free_xfers);
	m0_list_init(&drv->odr_free_rxs);
	dev->odv_owner = drv;
	dev->odv_up = &m0_o2ib__dev_up;
	*ret = &drv->odr_lnd;
	return 0;
}
