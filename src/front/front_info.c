/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Information about the node and its peers.
 */
#include "front/front_internal.h"

int m0_lnet_get_id(struct m0_lnet *lnet, unsigned i,
		   struct m0_lnet_process_id *id)
{
	int rc = -ENOENT;

	m0_front__lock(lnet);
	if (i < lnet->fro_nids.fns_nr) {
		id->lp_nid = lnet->fro_nids.fns_nid[i];
		id->lp_pid = M0_LNET_PID_LUSTRE;
		rc = 0;
	}
	m0_mutex_unlock(&lnet->fro_lock);
	return rc;
}

/* A NID behind a router: the node knows its routes. */
static int dist_far(struct m0_lnet *lnet, const struct m0_lnet_nid *dst,
		    struct m0_lnet_nid *src, uint32_t *order)
{
	struct m0_front_control *fcl;
	int rc = m0_front__control_take(lnet, M0_RING_DIST, &fcl);

	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_dist.rdi_dst = *dst;
	rc = m0_front__control_do(lnet, fcl);
	if (rc >= 0 && src != NULL)
		*src = fcl->fcl_record->rqc_dist.rdi_src;
	if (rc >= 0 && order != NULL)
		*order = fcl->fcl_record->rqc_dist.rdi_order;
	m0_front__control_put(lnet, fcl);
	return rc;
}

/* Finds the distance of a NID that is the node's own, or on one of its networks.
 * @retval -ENOENT  it is neither. */
static int dist_near(struct m0_lnet *lnet, const struct m0_lnet_nid *dst,
		     struct m0_lnet_nid *src, uint32_t *order)
{
	bool     own = m0_front__nid_is_ours(lnet, dst);
	unsigned i;

	for (i = 0; i < lnet->fro_nids.fns_nr; ++i) {
		const struct m0_lnet_nid *nid = &lnet->fro_nids.fns_nid[i];

		if (own ? !m0_lnet_nid_eq(nid, dst)
			: m0_lnet_nid_net(nid) != m0_lnet_nid_net(dst) ||
				    nid->ln_size != dst->ln_size)
			continue;
		if (src != NULL)
			*src = *nid;
		if (order != NULL)
			*order = own ? (i == 0 ? 0 : 1) : i;
		return own ? 0 : 1;
	}
	return -ENOENT;
}

/* The engine, which is the strand's, is asked about NIDs that are not near only. */
int m0_lnet_dist(struct m0_lnet *lnet, const struct m0_lnet_nid *dst,
		 struct m0_lnet_nid *src, uint32_t *order)
{
	int rc;

	if (m0_lnet_nid_is_any(dst))
		return -EHOSTUNREACH;
	m0_front__lock(lnet);
	rc = dist_near(lnet, dst, src, order);
	m0_mutex_unlock(&lnet->fro_lock);
	return rc == -ENOENT ? dist_far(lnet, dst, src, order) : rc;
}

/* ---------------------------------------------------------------- probes -- */

int m0_front__probe_check(struct m0_lnet *lnet, int kind,
			  const struct m0_lnet_nid *nid,
			  const struct m0_lnet_nid *self)
{
	bool ours;

	m0_front__lock(lnet);
	ours = m0_lnet_nid_is_any(self) || m0_front__nid_is_ours(lnet, self);
	m0_mutex_unlock(&lnet->fro_lock);
	return m0_lnet_nid_is_any(nid) || !ours ||
			       (unsigned)kind > M0_LNET_DISCOVER
		       ? -EINVAL
		       : 0;
}

int m0_lnet_probe(struct m0_lnet *lnet, struct m0_lnet_probe *probe)
{
	struct m0_front_control *fcl;
	struct m0_ring_probe    *rpb;
	int                      rc;

	M0_PRE(probe->pr_done != NULL);
	rc = m0_front__probe_check(lnet, (int)probe->pr_kind, &probe->pr_nid,
				   &probe->pr_self);
	if (rc == 0)
		rc = m0_front__control_take(lnet, M0_RING_PROBE, &fcl);
	if (rc != 0)
		return rc;
	rpb = &fcl->fcl_record->rqc_probe;
	rpb->rpb_kind = probe->pr_kind;
	rpb->rpb_nid = probe->pr_nid;
	rpb->rpb_self = probe->pr_self;
	rpb->rpb_timeout_ms = probe->pr_timeout_ms;
	rpb->rpb_force = probe->pr_force;
	/* The outcome of a probe that a daemon does not begin. */
	rpb->rpb_source = m0_lnet_nid_any;
	rpb->rpb_primary = probe->pr_nid;
	rpb->rpb_multi_rail = 0;
	rpb->rpb_took_ns = 0;
	rpb->rpb_nids_nr = 0;
	fcl->fcl_probe = probe;
	rc = m0_front__control_post(lnet, fcl);
	if (rc != 0)
		m0_front__control_put(lnet, fcl);
	return rc;
}

static void probe_sync_done(struct m0_lnet_probe *probe)
{
	struct m0_semaphore *sem = probe->pr_user;

	m0_semaphore_up(sem);
}

int m0_lnet_probe_sync(struct m0_lnet *lnet, struct m0_lnet_probe *probe)
{
	struct m0_semaphore sem;
	void               *user = probe->pr_user;
	void (*done)(struct m0_lnet_probe * probe) = probe->pr_done;
	int rc;

	M0_PRE(!m0_front__is_inside(lnet));
	(void)m0_semaphore_init(&sem, 0);
	probe->pr_done = probe_sync_done;
	probe->pr_user = &sem;
	rc = m0_lnet_probe(lnet, probe);
	if (rc == 0) {
		(void)m0_front__wait(lnet, &sem, M0_TIME_NEVER);
		rc = probe->pr_status;
	} else {
		probe->pr_status = rc;
	}
	probe->pr_done = done;
	probe->pr_user = user;
	m0_semaphore_fini(&sem);
	return rc;
}

/* --------------------------------------------------------------- picture -- */

static int info_ask(struct m0_lnet *lnet, enum m0_ring_verb verb,
		    struct m0_lnet_info **ret)
{
	struct m0_front_control *fcl;
	void                    *block = NULL;
	size_t                   bytes;
	int                      rc;

	M0_PRE(!m0_front__is_inside(lnet));
	rc = m0_front__control_take(lnet, verb, &fcl);
	if (rc != 0)
		return rc;
	rc = m0_front__control_do(lnet, fcl);
	if (rc == 0)
		rc = m0_front__block_take(lnet, fcl, &block, &bytes);
	m0_front__control_put(lnet, fcl);
	if (rc != 0)
		return rc;
	/* The node may be in another process. */
	if (!m0_ring_info_check(block, bytes)) {
		m0_free(block);
		return -EPROTO;
	}
	m0_ring_info_unpack(block);
	*ret = block;
	return 0;
}

int m0_lnet_info_get(struct m0_lnet *lnet, struct m0_lnet_info **ret)
{
	return info_ask(lnet, M0_RING_INFO, ret);
}

int m0_lnet_info_head_get(struct m0_lnet *lnet, struct m0_lnet_info **ret)
{
	return info_ask(lnet, M0_RING_INFO_HEAD, ret);
}

/* Entries behind `after`, as many as one answer may have. */
static int peer_nis_part(struct m0_lnet *lnet, const struct m0_lnet_nid *after,
			 struct m0_lnet_peer_ni_row *ret, unsigned max)
{
	struct m0_front_control *fcl;
	int rc = m0_front__control_take(lnet, M0_RING_PEER_NIS_GET, &fcl);

	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_choice = (struct m0_ring_choice){
		.rch_kind = 0,
		.rch_src = *after,
		.rch_dst = m0_lnet_nid_any,
		.rch_max = max,
	};
	rc = m0_front__array_do(lnet, fcl, ret, max * sizeof *ret);
	/* The node may be in another process. */
	return max != 0 && rc > (int)max ? -EPROTO : rc;
}

int m0_lnet_peer_nis_get(struct m0_lnet *lnet, const struct m0_lnet_nid *after,
			 struct m0_lnet_peer_ni_row *ret, unsigned max)
{
	unsigned nr = 0;
	unsigned part;
	int      rc;

	M0_PRE(!m0_front__is_inside(lnet) && (ret != NULL || max == 0));
	if (max == 0)
		return peer_nis_part(lnet, &m0_lnet_nid_any, NULL, 0);
	do {
		part = min_check(max - nr, (unsigned)M0_RING_PEER_NIS_MAX);
		rc = peer_nis_part(lnet, after, ret + nr, part);
		/* The entry of `after` went meanwhile: the caller has those before. */
		if (rc == -ENOENT && nr > 0)
			break;
		if (rc < 0)
			return rc;
		nr += (unsigned)rc;
		if (rc > 0)
			after = &ret[nr - 1].pnr_ni.pni_nid;
	} while (rc == (int)part && nr < max);
	return (int)nr;
}

void m0_lnet_info_free(struct m0_lnet_info *info)
{
	m0_free(info);
}

/* -------------------------------------------------------------- counters -- */

/*
 * The strand writes counters as plain words, and this thread reads them one by one:
 * each value is right, but together they are no snapshot. A snapshot would cost each
 * message more than all its counters do. The attribute keeps the thread sanitizer from
 * reporting these reads.
 */
__attribute__((no_sanitize("thread"))) static void counters_copy(
	uint64_t *dst, const volatile uint64_t *src, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; ++i)
		dst[i] = src[i];
}

/* The counters are those of the daemon's node. If they cannot be had now, those of the last
 * time are given. */
static void stats_ask(struct m0_lnet *lnet, struct m0_lnet_stats *st)
{
	struct m0_front_control *fcl;
	void                    *block = NULL;
	size_t                   bytes = 0;
	int                      rc = -EDEADLK;

	/* The strand may want a lock that this thread holds. */
	if (m0_mutex_held_nr() == 0 && m0_strand_current() == NULL &&
	    !m0_front__is_inside(lnet))
		rc = m0_front__control_take(lnet, M0_RING_STATS_GET, &fcl);
	if (rc == 0) {
		rc = m0_front__control_do(lnet, fcl);
		if (rc == 0)
			rc = m0_front__block_take(lnet, fcl, &block, &bytes);
		m0_front__control_put(lnet, fcl);
	}
	m0_mutex_lock(&lnet->fro_lock);
	if (rc == 0 && bytes == sizeof *st)
		memcpy(&lnet->fro_embed.emb_stats, block, sizeof *st);
	*st = lnet->fro_embed.emb_stats;
	m0_mutex_unlock(&lnet->fro_lock);
	m0_free(block);
}

void m0_lnet_stats_get(struct m0_lnet *lnet, struct m0_lnet_stats *st)
{
	const struct m0_lnet_stats *live;

	M0_BASSERT(sizeof *st % sizeof(uint64_t) == 0);
	if (lnet->fro_node == NULL) {
		stats_ask(lnet, st);
		return;
	}
	live = m0_node_counters(lnet->fro_node);
	counters_copy((uint64_t *)(void *)st,
		      (const volatile uint64_t *)(const volatile void *)live,
		      sizeof *st / sizeof(uint64_t));
}

/* One that is on its way resets what is counted until then. */
void m0_lnet_stats_reset(struct m0_lnet *lnet)
{
	m0_front__lock(lnet);
	if (lnet->fro_shut || __atomic_exchange_n(&lnet->fro_ring->rng_reset, 1,
						  __ATOMIC_RELAXED))
		m0_mutex_unlock(&lnet->fro_lock);
	else
		m0_front__post_unlock(lnet, M0_RING_STATS_RESET,
				      m0_lnet_handle_none, &lnet->fro_reset);
}
