/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Information about the node and its peers.
 */
#include "home/home_internal.h"

int m0_lnet_get_id(struct m0_lnet *lnet, unsigned i,
		   struct m0_lnet_process_id *id)
{
	if (i >= lnet->hm_nids_nr)
		return -ENOENT;
	id->lp_nid = lnet->hm_nids[i];
	id->lp_pid = M0_LNET_PID_LUSTRE;
	return 0;
}

/*
 * Not asked of the engine, which is the strand's: without routes there is
 * nothing that the NIDs, which never change, do not tell.
 */
int m0_lnet_dist(struct m0_lnet *lnet, const struct m0_lnet_nid *dst,
		 struct m0_lnet_nid *src, uint32_t *order)
{
	bool     own = m0_home__nid_is_ours(lnet, dst);
	unsigned i;

	if (m0_lnet_nid_is_any(dst))
		return -EHOSTUNREACH;
	for (i = 0; i < lnet->hm_nids_nr; ++i) {
		const struct m0_lnet_nid *nid = &lnet->hm_nids[i];

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
	return -EHOSTUNREACH;
}

/* ---------------------------------------------------------------- probes -- */

int m0_lnet_probe(struct m0_lnet *lnet, struct m0_lnet_probe *probe)
{
	M0_PRE(probe->pr_done != NULL);
	if (m0_lnet_nid_is_any(&probe->pr_nid) ||
	    (!m0_lnet_nid_is_any(&probe->pr_self) &&
	     !m0_home__nid_is_ours(lnet, &probe->pr_self)) ||
	    (unsigned)probe->pr_kind > M0_LNET_DISCOVER)
		return -EINVAL;
	m0_list_link_init(&probe->pr_link);
	probe->pr_since = m0_time_cached();
	probe->pr_priv = NULL;
	m0_home__lock(lnet);
	if (lnet->hm_shut) {
		m0_mutex_unlock(&lnet->hm_lock);
		return -ESHUTDOWN;
	}
	m0_list_add_tail(&lnet->hm_probes, &probe->pr_link);
	m0_home__posted_unlock(lnet);
	return 0;
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

	M0_PRE(!m0_home__is_inside(lnet));
	(void)m0_semaphore_init(&sem, 0);
	probe->pr_done = probe_sync_done;
	probe->pr_user = &sem;
	rc = m0_lnet_probe(lnet, probe);
	if (rc == 0) {
		(void)m0_home__wait(lnet, &sem, M0_TIME_NEVER);
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

struct home_info {
	struct m0_home_call  hin_call;
	struct m0_semaphore  hin_sem;
	struct m0_lnet_info *hin_info;
	int                  hin_rc;
};

void m0_home__info_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct home_info *info =
		container_of(op, struct home_info, hin_call.ca_op);
	unsigned i;

	info->hin_rc =
		m0_lnet_engine_info(lnet->hm_node.hno_engine, &info->hin_info);
	if (info->hin_rc == 0) {
		info->hin_info->li_port = lnet->hm_cfg.lc_port;
		/* The first is the loopback. */
		for (i = 1; i < info->hin_info->li_nis_nr; ++i)
			info->hin_info->li_nis[i].nii_conns_per_peer =
				lnet->hm_cfg.lc_conns_per_peer;
	}
	m0_semaphore_up(&info->hin_sem);
}

int m0_lnet_info_get(struct m0_lnet *lnet, struct m0_lnet_info **ret)
{
	struct home_info info = { .hin_rc = 0 };

	M0_PRE(!m0_home__is_inside(lnet));
	(void)m0_semaphore_init(&info.hin_sem, 0);
	m0_home__lock(lnet);
	if (lnet->hm_shut) {
		m0_mutex_unlock(&lnet->hm_lock);
		return -ESHUTDOWN;
	}
	m0_home__call_unlock(lnet, M0_HOME_OP_INFO, &info.hin_call);
	(void)m0_home__wait(lnet, &info.hin_sem, M0_TIME_NEVER);
	m0_semaphore_fini(&info.hin_sem);
	*ret = info.hin_info;
	return info.hin_rc;
}

void m0_lnet_info_free(struct m0_lnet_info *info)
{
	m0_free(info);
}

/* -------------------------------------------------------------- counters -- */

/*
 * Counters are words that the strand writes as it goes and others look at one by
 * one: each is right, together they are of no one moment. To tell them in any
 * other way would cost each message more than all that is counted of it. The
 * thread sanitizer is not told of the look.
 */
__attribute__((no_sanitize("thread"))) static void counters_copy(
	uint64_t *dst, const volatile uint64_t *src, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; ++i)
		dst[i] = src[i];
}

void m0_lnet_stats_get(struct m0_lnet *lnet, struct m0_lnet_stats *st)
{
	const struct m0_lnet_stats *live =
		m0_lnet_engine_counters(lnet->hm_node.hno_engine);

	M0_BASSERT(sizeof *st % sizeof(uint64_t) == 0);
	counters_copy((uint64_t *)(void *)st,
		      (const volatile uint64_t *)(const volatile void *)live,
		      sizeof *st / sizeof(uint64_t));
}

void m0_home__reset_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	M0_HOME_SET(lnet->hm_reset_posted, false);
	(void)op;
	m0_lnet_engine_stats_reset(lnet->hm_node.hno_engine);
}

void m0_lnet_stats_reset(struct m0_lnet *lnet)
{
	m0_home__lock(lnet);
	if (lnet->hm_shut || M0_HOME_GET(lnet->hm_reset_posted)) {
		m0_mutex_unlock(&lnet->hm_lock);
		return;
	}
	M0_HOME_SET(lnet->hm_reset_posted, true);
	m0_home__post_unlock(lnet, M0_HOME_OP_STATS_RESET, 0, &lnet->hm_reset);
}
