/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Pings and discoveries of the application. A ping sends its own request; a
 * discovery joins that of its peer. Each probe has its own deadline.
 */
#include "lnet/flow/select.h"
#include "lnet/talk/discovery.h"

enum {
	/** Space for the answer to a ping, as `lnetctl ping` has it. */
	PING_BYTES = 3960
};

/* -- ends ---------------------------------------------------------------- */

static void probe_end(struct m0_lnet_engine *eng, struct m0_lnet_probing *po,
		      int status)
{
	struct m0_lnet_probe *probe = po->lpo_probe;

	M0_PRE(status <= 0 && probe->pr_priv == po);
	m0_list_del(&po->lpo_link);
	m0_lnet__timer_cancel(eng, &po->lpo_timer);
	m0_lnet__ask_drop(po->lpo_ask);
	m0_free(po);
	probe->pr_priv = NULL;
	probe->pr_status = status;
	probe->pr_took_ns = m0_time_sub(eng->le_now, probe->pr_since);
	eng->le_cfg.lec_owner_ops->ho_probe_done(eng->le_cfg.lec_owner, probe);
}

static void probe_nid(struct m0_lnet_probe     *probe,
		      const struct m0_lnet_nid *nid, bool up)
{
	if (probe->pr_nids_nr == M0_LNET_PROBE_NIDS_MAX)
		return;
	probe->pr_nids[probe->pr_nids_nr] = *nid;
	probe->pr_nids_up[probe->pr_nids_nr++] = up;
}

static void probe_fill_info(struct m0_lnet_engine          *eng,
			    struct m0_lnet_probe           *probe,
			    const struct m0_lnet_ping_info *info)
{
	const struct m0_lnet_lpni *lpni;
	unsigned                   i;

	probe->pr_nids_nr = 0;
	for (i = 0; i < info->lpi_nis_nr && i < info->lpi_nis_max; ++i)
		probe_nid(probe, &info->lpi_nis[i].lpg_nid,
			  info->lpi_nis[i].lpg_up);
	probe->pr_primary = probe->pr_nids_nr > 0 ? probe->pr_nids[0]
						  : probe->pr_nid;
	probe->pr_pid = info->lpi_pid;
	probe->pr_features = info->lpi_features;
	/* As the record of the peer says: false until it is discovered. */
	lpni = m0_lnet__lpni_find(eng, &probe->pr_nid);
	probe->pr_multi_rail = lpni != NULL && (lpni->lpn_peer->lpe_state &
						M0_LNET_PEER_MULTI_RAIL) != 0;
}

static void probe_fill_peer(struct m0_lnet_probe      *probe,
			    const struct m0_lnet_peer *peer)
{
	struct m0_lnet_lpni *lpni;
	unsigned             i;

	probe->pr_nids_nr = 0;
	for (i = 0; i < 2; ++i)
		m0_list_for_each_entry(&peer->lpe_lpnis, lpni,
				       struct m0_lnet_lpni, lpn_link)
			if (m0_lnet_nid_eq(&lpni->lpn_nid,
					   &peer->lpe_primary) == (i == 0))
				probe_nid(probe, &lpni->lpn_nid,
					  !lpni->lpn_known_down);
	probe->pr_primary = peer->lpe_primary;
	probe->pr_pid = M0_LNET_PID_LUSTRE;
	probe->pr_features = peer->lpe_features;
	probe->pr_multi_rail = (peer->lpe_state & M0_LNET_PEER_MULTI_RAIL) != 0;
}

/**
 * Ends a probe of a discovery that was done before, or that something else
 * started.
 */
static void probe_end_peer(struct m0_lnet_engine  *eng,
			   struct m0_lnet_probing *po, int status)
{
	struct m0_lnet_lpni *lpni;

	lpni = m0_lnet__lpni_find(eng, &po->lpo_probe->pr_nid);
	if (status == 0 && lpni != NULL) {
		probe_fill_peer(po->lpo_probe, lpni->lpn_peer);
		/* Such a peer gets neither a ping nor a push; lnetctl fails, too. */
		if ((lpni->lpn_peer->lpe_state & M0_LNET_PEER_NO_DISCOVERY) !=
		    0)
			status = -EOPNOTSUPP;
	}
	probe_end(eng, po, status);
}

void m0_lnet__probes_end(struct m0_lnet_engine *eng, struct m0_list *list,
			 int status)
{
	struct m0_list       now;
	struct m0_list_link *link;

	m0_list_init(&now);
	m0_list_splice_tail(&now, list);
	while ((link = m0_list_first(&now)) != NULL)
		probe_end_peer(eng,
			       container_of(link, struct m0_lnet_probing,
					    lpo_link),
			       status);
}

/* -- beginnings ------------------------------------------------- */

static void probe_pinged(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask)
{
	struct m0_lnet_probing  *po = ask->as_user;
	struct m0_lnet_ping_info info;
	int                      rc = ask->as_status;

	M0_PRE(po->lpo_ask == ask);
	po->lpo_ask = NULL;
	if (rc == 0)
		rc = m0_lnet__info_decode(eng, ask->as_addr, ask->as_got,
					  &info);
	if (rc == 0)
		probe_fill_info(eng, po->lpo_probe, &info);
	probe_end(eng, po, rc);
}

static void probe_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		       m0_time_t now)
{
	struct m0_lnet_probing *po =
		container_of(timer, struct m0_lnet_probing, lpo_timer);

	(void)now;
	probe_end(eng, po, -ETIMEDOUT);
}

/**
 * Sends a request of its own: the probe is about this NID, and nothing is
 * recorded.
 */
static void probe_ping(struct m0_lnet_engine *eng, struct m0_lnet_probing *po,
		       m0_time_t deadline)
{
	struct m0_lnet_probe    *probe = po->lpo_probe;
	const struct m0_lnet_ni *ni = m0_lnet__ni_for(eng, &probe->pr_nid);
	struct m0_lnet_nid       self = probe->pr_self;

	M0_PRE(po->lpo_ask == NULL);
	if (m0_lnet_nid_is_any(&self) && ni != NULL &&
	    m0_lnet__ni_find(eng, &probe->pr_nid) == NULL)
		self = ni->lni_lnd.ldn_nid;
	if (ni != NULL)
		probe->pr_source = self;
	m0_list_add_tail(&all_of(eng)->dy_pings, &po->lpo_link);
	po->lpo_ask = m0_lnet__ask_ping(eng, &probe->pr_nid, &self, PING_BYTES,
					deadline, probe_pinged, po);
	if (po->lpo_ask == NULL)
		probe_end(eng, po, -ENOMEM);
	else
		po->lpo_ask->as_may_resend = true;
}

/** Joins the discovery of the peer, or starts it. */
static void probe_join(struct m0_lnet_engine *eng, struct m0_lnet_probing *po)
{
	struct m0_lnet_probe *probe = po->lpo_probe;
	struct m0_lnet_lpni  *lpni = NULL;
	struct m0_lnet_disc  *di = NULL;

	M0_PRE(!m0_list_link_is_in(&po->lpo_link));
	if (m0_lnet__ni_for(eng, &probe->pr_nid) == NULL) {
		probe_end(eng, po, -EHOSTUNREACH);
		return;
	}
	lpni = m0_lnet__lpni_get(eng, &probe->pr_nid);
	if (lpni != NULL) {
		m0_lnet__lpni_put(eng, lpni);
		di = m0_lnet__disc_get(eng, lpni->lpn_peer);
	}
	if (di == NULL) {
		probe_end(eng, po, -ENOBUFS);
	} else if (m0_lnet__peer_is_up_to_date(lpni->lpn_peer) &&
		   !probe->pr_force) {
		probe_end_peer(eng, po, 0);
	} else {
		m0_list_add_tail(&di->di_probes, &po->lpo_link);
		if (di->di_state == M0_LNET_DISC_RUNNING)
			probe->pr_source = di->di_from;
		m0_lnet__disc_begin(di, &probe->pr_nid, &probe->pr_self, false);
		m0_lnet__disc_await(di);
		di->di_reping |= probe->pr_force && di->di_is_push &&
				 di->di_state == M0_LNET_DISC_RUNNING;
	}
}

void m0_lnet_engine_probe(struct m0_lnet_engine *eng,
			  struct m0_lnet_probe  *probe)
{
	struct m0_lnet_discovery *all = all_of(eng);
	bool                      own = m0_lnet_nid_is_lo(&probe->pr_nid) ||
		   m0_lnet__ni_find(eng, &probe->pr_nid) != NULL;
	m0_time_t               timeout;
	m0_time_t               deadline;
	struct m0_lnet_probing *po;

	timeout = probe->pr_timeout_ms == 0
			  ? eng->le_cfg.lec_transaction_timeout_ns
			  : m0_time(probe->pr_timeout_ms / 1000,
				    (long)(probe->pr_timeout_ms % 1000) *
					    (long)M0_TIME_ONE_MSEC);
	deadline = m0_time_add(eng->le_now, timeout);
	probe->pr_since = eng->le_now;
	probe->pr_nids_nr = 0;
	probe->pr_primary = probe->pr_nid;
	probe->pr_source = m0_lnet_nid_any;
	M0_ALLOC_PTR(po);
	if (po == NULL || all->dy_stopped) {
		m0_free(po);
		probe->pr_status = all->dy_stopped ? -ESHUTDOWN : -ENOMEM;
		probe->pr_took_ns = 0;
		eng->le_cfg.lec_owner_ops->ho_probe_done(eng->le_cfg.lec_owner,
							 probe);
		return;
	}
	po->lpo_probe = probe;
	probe->pr_priv = po;
	m0_list_link_init(&po->lpo_link);
	m0_timer_init(&po->lpo_timer.ltm_timer);
	po->lpo_timer.ltm_fire = probe_fire;
	if (probe->pr_kind == M0_LNET_PING || own) {
		probe_ping(eng, po, deadline);
	} else {
		m0_lnet__timer_arm(eng, &po->lpo_timer, deadline);
		probe_join(eng, po);
	}
}

void m0_lnet_engine_probe_cancel(struct m0_lnet_engine *eng,
				 struct m0_lnet_probe  *probe)
{
	if (probe->pr_priv != NULL)
		probe_end(eng, probe->pr_priv, -ECANCELED);
}

/* -- from discovery.c ------------------------------------------------------ */

void m0_lnet__probes_join(struct m0_lnet_engine *eng, struct m0_list *list)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(list)) != NULL) {
		m0_list_del(link);
		probe_join(eng, container_of(link, struct m0_lnet_probing,
					     lpo_link));
	}
}

void m0_lnet__probes_ask(struct m0_list *list, const struct m0_lnet_nid *self)
{
	struct m0_lnet_probing *po;

	m0_list_for_each_entry(list, po, struct m0_lnet_probing, lpo_link)
		po->lpo_probe->pr_source = *self;
}

void m0_lnet__probes_learn(struct m0_lnet_engine *eng, struct m0_list *list,
			   const struct m0_lnet_ping_info *info)
{
	struct m0_lnet_probing *po;

	m0_list_for_each_entry(list, po, struct m0_lnet_probing, lpo_link)
		probe_fill_info(eng, po->lpo_probe, info);
}

void m0_lnet__probes_lost(struct m0_lnet_engine    *eng,
			  const struct m0_lnet_nid *nid, int status)
{
	struct m0_lnet_probing *po;
	struct m0_lnet_probing *next;

	m0_list_for_each_entry_safe(&all_of(eng)->dy_pings, po, next,
				    struct m0_lnet_probing, lpo_link)
		if (po->lpo_ask != NULL &&
		    m0_lnet_nid_eq(&po->lpo_probe->pr_nid, nid))
			m0_lnet__ask_fail(po->lpo_ask, status);
}
