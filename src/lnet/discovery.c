/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery: before the first request to a peer it is asked for its NIDs (ping),
 * and told ours (push), if it is one to be told. One at a time for each peer,
 * and so many at a time for the node; the others queue.
 *
 * Messages wait for it no longer than their own time, and fail with it. A peer
 * that does not answer, or makes no sense, fails those that waited when that
 * was found; from then on it is spoken to without waiting, as one that is not
 * Multi-Rail, and asked again now and then while there is traffic. A peer that
 * cannot be reached is asked again with the next message.
 */
#include "lnet/ask.h"

enum {
	/** At a time, not counting those that take long already: whoever does
	 * not answer is not to keep others waiting. */
	RUNNING_MAX = 64,
	/** Room for a ping's answer, as `lnetctl ping` gives. */
	PING_BYTES = 3960
};
/** Long. */
#define SLOW_NS M0_TIME_ONE_SECOND
/** How soon a peer that answered with nonsense or not at all is asked again. */
#define PAUSE_NS (60 * M0_TIME_ONE_SECOND)

enum disc_state {
	DISC_IDLE,
	/** Begins when its timer fires. */
	DISC_SOON,
	DISC_QUEUED,
	DISC_RUNNING
};

/** The discovery of a peer; it stays as long as the peer does. */
struct disc {
	struct m0_lnet_engine *di_engine;
	struct m0_lnet_peer   *di_peer;
	enum disc_state        di_state;
	/** In dy_running_nr. */
	bool di_is_counted;
	/** What is to be done first, and is being done. */
	bool                 di_is_push;
	struct m0_lnet_nid   di_nid;
	struct m0_lnet_nid   di_self;
	struct m0_lnet_ask  *di_ask;
	struct m0_lnet_timer di_timer;
	/** In the queue. */
	struct m0_list_link di_link;
	/** Of our information, being pushed. */
	uint32_t di_seq;
	/** Room for its answer; it was too little once. */
	size_t di_bytes;
	bool   di_grown;
	/** NIDs of it that were asked in vain. */
	unsigned di_tried_nr;
	/** Being pushed to, it is to be asked as well. */
	bool di_reping;
	/** Spoken to without waiting; asked again after that. */
	bool           di_mute;
	m0_time_t      di_pause_until;
	struct m0_list di_probes;
};

/** A probe under way. */
struct probing {
	struct m0_lnet_probe *po_probe;
	struct m0_list_link   po_link;
	struct m0_lnet_timer  po_timer;
	struct m0_lnet_ask   *po_ask;
};

struct discovery {
	unsigned       dy_running_nr;
	struct m0_list dy_queue;
	/** Probes that ask for themselves. */
	struct m0_list dy_pings;
	bool           dy_stopped;
	/** Where answers are decoded. */
	struct m0_lnet_ping_ni dy_nis[M0_LNET_PROBE_NIDS_MAX];
};

static struct discovery *all_of(const struct m0_lnet_engine *eng)
{
	return eng->le_discovery;
}

static bool is_up_to_date(const struct m0_lnet_peer *peer)
{
	return (peer->lpe_state & M0_LNET_PEER_NIDS_UPTODATE) != 0;
}

static int info_decode(struct m0_lnet_engine *eng, const void *bytes, size_t nr,
		       struct m0_lnet_ping_info *info)
{
	struct discovery *all = all_of(eng);

	*info = (struct m0_lnet_ping_info){
		.lpi_nis = all->dy_nis,
		.lpi_nis_max = ARRAY_SIZE(all->dy_nis),
	};
	return m0_lnet__ping_decode(info, bytes, nr);
}

/* -- probes ---------------------------------------------------------------- */

static void probe_end(struct m0_lnet_engine *eng, struct probing *po,
		      int status)
{
	struct m0_lnet_probe *probe = po->po_probe;

	m0_list_del(&po->po_link);
	m0_lnet__timer_cancel(eng, &po->po_timer);
	m0_lnet__ask_drop(po->po_ask);
	m0_free(po);
	probe->pr_priv = NULL;
	probe->pr_status = status;
	probe->pr_took_ns = m0_time_sub(eng->le_now, probe->pr_since);
	eng->le_cfg.lec_home_ops->ho_probe_done(eng, probe);
}

static void probe_nid(struct m0_lnet_probe *probe,
		      const struct m0_lnet_nid *nid, bool up)
{
	if (probe->pr_nids_nr == M0_LNET_PROBE_NIDS_MAX)
		return;
	probe->pr_nids[probe->pr_nids_nr] = *nid;
	probe->pr_nids_up[probe->pr_nids_nr++] = up;
}

static void probe_fill_info(struct m0_lnet_probe           *probe,
			    const struct m0_lnet_ping_info *info)
{
	unsigned i;

	probe->pr_nids_nr = 0;
	for (i = 0; i < info->lpi_nis_nr && i < info->lpi_nis_max; ++i)
		probe_nid(probe, &info->lpi_nis[i].lpn_nid,
			  info->lpi_nis[i].lpn_up);
	probe->pr_primary =
		probe->pr_nids_nr > 0 ? probe->pr_nids[0] : probe->pr_nid;
	probe->pr_pid = info->lpi_pid;
	probe->pr_features = info->lpi_features;
	probe->pr_multi_rail =
		(info->lpi_features & M0_LNET_FEAT_MULTI_RAIL) != 0;
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
	probe->pr_multi_rail =
		(peer->lpe_state & M0_LNET_PEER_MULTI_RAIL) != 0;
}

/** A discovery that others began, or that was done before, is told of too. */
static void probe_end_peer(struct m0_lnet_engine *eng, struct probing *po,
			   int status)
{
	struct m0_lnet_lpni *lpni;

	lpni = m0_lnet__lpni_find(eng, &po->po_probe->pr_nid);
	if (status == 0 && lpni != NULL)
		probe_fill_peer(po->po_probe, lpni->lpn_peer);
	probe_end(eng, po, status);
}

static void probes_end(struct m0_lnet_engine *eng, struct m0_list *list,
		       int status)
{
	struct m0_list       now;
	struct m0_list_link *link;

	m0_list_init(&now);
	m0_list_splice_tail(&now, list);
	while ((link = m0_list_first(&now)) != NULL)
		probe_end_peer(eng, container_of(link, struct probing, po_link),
			       status);
}

/* -- how a discovery goes -------------------------------------------------- */

static void disc_go(struct disc *di);
static void probe_join(struct m0_lnet_engine *eng, struct probing *po);

static void disc_run_next(struct m0_lnet_engine *eng)
{
	struct discovery    *all = all_of(eng);
	struct m0_list_link *link;
	struct disc         *di;

	if (all == NULL || all->dy_running_nr >= RUNNING_MAX)
		return;
	link = m0_list_first(&all->dy_queue);
	if (link == NULL)
		return;
	di = container_of(link, struct disc, di_link);
	m0_list_del(&di->di_link);
	di->di_state = DISC_SOON;
	m0_lnet__timer_arm(eng, &di->di_timer, M0_TIME_IMMEDIATELY);
}

static void disc_uncount(struct disc *di)
{
	if (di->di_is_counted)
		--all_of(di->di_engine)->dy_running_nr;
	di->di_is_counted = false;
}

/** Nothing of it runs or waits to run. */
static void disc_idle(struct disc *di)
{
	struct m0_lnet_engine *eng = di->di_engine;

	disc_uncount(di);
	m0_list_del(&di->di_link);
	m0_lnet__timer_cancel(eng, &di->di_timer);
	m0_lnet__ask_drop(di->di_ask);
	di->di_ask = NULL;
	di->di_state = DISC_IDLE;
	di->di_peer->lpe_state &= ~(uint32_t)M0_LNET_PEER_DISCOVERING;
	disc_run_next(eng);
}

/** Those that waited go on, or fail. The peer may be gone after it. */
static void waiting_end(struct m0_lnet_peer *peer, int status)
{
	struct m0_list       now;
	struct m0_list_link *link;

	m0_list_init(&now);
	m0_list_splice_tail(&now, &peer->lpe_waiting);
	while ((link = m0_list_first(&now)) != NULL)
		m0_lnet__send_resume(
			container_of(link, struct m0_lnet_msg, msg_link),
			status);
}

static void disc_begin(struct disc *di, const struct m0_lnet_nid *nid,
		       const struct m0_lnet_nid *self, bool push)
{
	struct m0_lnet_engine *eng = di->di_engine;

	if (all_of(eng)->dy_stopped)
		return;
	if (di->di_state != DISC_IDLE) {
		if (di->di_state != DISC_RUNNING)
			di->di_is_push = di->di_is_push && push;
		return;
	}
	di->di_nid = *nid;
	di->di_self = *self;
	di->di_is_push = push;
	di->di_grown = false;
	di->di_reping = false;
	di->di_tried_nr = 0;
	di->di_state = DISC_SOON;
	di->di_peer->lpe_state |= M0_LNET_PEER_DISCOVERING;
	m0_lnet__timer_arm(eng, &di->di_timer, M0_TIME_IMMEDIATELY);
}

static void disc_end(struct disc *di, int status)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_lnet_peer   *peer = di->di_peer;

	disc_idle(di);
	if (status == 0) {
		peer->lpe_state |= M0_LNET_PEER_DISCOVERED |
				   M0_LNET_PEER_NIDS_UPTODATE;
		di->di_mute = false;
	} else {
		peer->lpe_state &= ~(uint32_t)M0_LNET_PEER_NIDS_UPTODATE;
		if (M0_IN(status, (-ETIMEDOUT, -EPROTO))) {
			di->di_mute = true;
			di->di_pause_until =
				m0_time_add(eng->le_now, PAUSE_NS);
		}
	}
	probes_end(eng, &di->di_probes, status);
	waiting_end(peer, status);
}

/** It has asked an NID that is not its peer's: what waits goes its way. */
static void disc_astray(struct disc *di)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_list         probes;
	struct m0_list_link   *link;

	m0_list_init(&probes);
	m0_list_splice_tail(&probes, &di->di_probes);
	disc_idle(di);
	waiting_end(di->di_peer, 0);
	while ((link = m0_list_first(&probes)) != NULL) {
		m0_list_del(link);
		probe_join(eng, container_of(link, struct probing, po_link));
	}
}

/** Has it what we tell now? And is it one to be told? */
static bool wants_push(const struct m0_lnet_engine *eng,
		       const struct m0_lnet_peer   *peer)
{
	return eng->le_cfg.lec_discovery &&
	       (peer->lpe_state & M0_LNET_PEER_MULTI_RAIL) != 0 &&
	       peer->lpe_seq_told != eng->le_seq;
}

static void disc_push_or_end(struct disc *di)
{
	if (di->di_reping) {
		di->di_reping = false;
		di->di_is_push = false;
		disc_go(di);
		return;
	}
	if (!wants_push(di->di_engine, di->di_peer)) {
		disc_end(di, 0);
		return;
	}
	di->di_is_push = true;
	disc_go(di);
}

static void pushed(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask)
{
	struct disc *di = ask->as_user;

	(void)eng;
	di->di_ask = NULL;
	if (ask->as_status != 0) {
		disc_end(di, ask->as_status);
		return;
	}
	di->di_peer->lpe_seq_told = di->di_seq;
	disc_push_or_end(di);
}

/** Its NIDs are known now. */
static int info_take(struct disc *di, const struct m0_lnet_ping_info *info)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_lnet_lpni   *lpni = m0_lnet__lpni_find(eng, &di->di_nid);
	struct probing        *po;
	int                    rc;

	/* It is another peer's by now, and what is learned may end this one. */
	if (lpni == NULL || lpni->lpn_peer != di->di_peer)
		return -ESTALE;
	rc = m0_lnet__peer_learn(eng, lpni, info);
	m0_list_for_each_entry(&di->di_probes, po, struct probing, po_link)
		probe_fill_info(po->po_probe, info);
	return rc;
}

/** The NID was not reached: the next one of the peer, all round once. */
static bool disc_try_next(struct disc *di)
{
	struct m0_list      *all = &di->di_peer->lpe_lpnis;
	struct m0_lnet_lpni *lpni =
		m0_lnet__lpni_find(di->di_engine, &di->di_nid);
	struct m0_list_link *link;

	if (lpni == NULL || lpni->lpn_peer != di->di_peer)
		return false;
	do {
		if (++di->di_tried_nr >= m0_list_length(all))
			return false;
		link = m0_list_next(all, &lpni->lpn_link);
		if (link == NULL)
			link = m0_list_first(all);
		lpni = container_of(link, struct m0_lnet_lpni, lpn_link);
	} while (m0_lnet__ni_for(di->di_engine, &lpni->lpn_nid) == NULL);
	di->di_nid = lpni->lpn_nid;
	di->di_self = m0_lnet_nid_any;
	disc_go(di);
	return true;
}

static void answered(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask)
{
	struct disc             *di = ask->as_user;
	struct m0_lnet_ping_info info;
	int                      rc = ask->as_status;

	di->di_ask = NULL;
	if (!M0_IN(rc, (0, -ETIMEDOUT, -ESHUTDOWN)) && disc_try_next(di))
		return;
	if (rc == 0)
		rc = info_decode(eng, ask->as_addr, ask->as_got, &info);
	if (rc == 0 && info.lpi_truncated) {
		rc = -EPROTO;
		if (!di->di_grown) {
			di->di_grown = true;
			di->di_bytes = max_check(di->di_bytes, info.lpi_bytes);
			disc_go(di);
			return;
		}
	}
	if (rc == 0)
		rc = info_take(di, &info);
	if (rc == 0)
		disc_push_or_end(di);
	else if (rc == -ESTALE)
		disc_astray(di);
	else
		disc_end(di, rc);
}

static void disc_go(struct disc *di)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_lnet_ni     *ni = m0_lnet__ni_for(eng, &di->di_nid);
	struct m0_lnet_nid     self = di->di_self;
	m0_time_t              deadline =
		m0_time_add(eng->le_now,
			    eng->le_cfg.lec_transaction_timeout_ns);

	/* To this NID, not just to any of the peer's: so the source is said. */
	if (m0_lnet_nid_is_any(&self) && ni != NULL)
		self = ni->lni_lnd.ln_nid;
	di->di_seq = eng->le_seq;
	di->di_ask = di->di_is_push
			     ? m0_lnet__ask_push(eng, &di->di_nid, &self,
						 deadline, pushed, di)
			     : m0_lnet__ask_ping(eng, &di->di_nid, &self,
						 di->di_bytes, deadline,
						 answered, di);
	if (di->di_ask == NULL)
		disc_end(di, -ENOMEM);
}

static void disc_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		      m0_time_t now)
{
	struct disc      *di = container_of(timer, struct disc, di_timer);
	struct discovery *all = all_of(eng);

	if (di->di_state == DISC_RUNNING) {
		disc_uncount(di);
		disc_run_next(eng);
		return;
	}
	if (all->dy_running_nr >= RUNNING_MAX) {
		di->di_state = DISC_QUEUED;
		m0_list_add_tail(&all->dy_queue, &di->di_link);
		return;
	}
	++all->dy_running_nr;
	di->di_is_counted = true;
	di->di_state = DISC_RUNNING;
	m0_lnet__timer_arm(eng, timer, m0_time_add(now, SLOW_NS));
	if (di->di_is_push)
		disc_push_or_end(di);
	else
		disc_go(di);
}

static struct disc *disc_get(struct m0_lnet_engine *eng,
			     struct m0_lnet_peer   *peer)
{
	struct disc *di = peer->lpe_discovery;

	if (di != NULL)
		return di;
	M0_ALLOC_PTR(di);
	if (di == NULL)
		return NULL;
	di->di_engine = eng;
	di->di_peer = peer;
	di->di_bytes = M0_LNET_PING_SINK_BYTES;
	m0_list_init(&di->di_probes);
	m0_list_link_init(&di->di_link);
	m0_timer_init(&di->di_timer.lt_timer);
	di->di_timer.lt_fire = disc_fire;
	peer->lpe_discovery = di;
	return di;
}

/* -- what begins one ------------------------------------------------------- */

/** The NID of a peer that is most likely to answer. */
static const struct m0_lnet_lpni *peer_best(const struct m0_lnet_engine *eng,
					    const struct m0_lnet_peer   *peer)
{
	struct m0_lnet_lpni *best = NULL;
	struct m0_lnet_lpni *lpni;

	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		if (m0_lnet__ni_for(eng, &lpni->lpn_nid) != NULL &&
		    (best == NULL ||
		     (best->lpn_known_down && !lpni->lpn_known_down)))
			best = lpni;
	return best;
}

bool m0_lnet__discovery_needed(struct m0_lnet_engine    *eng,
			       struct m0_lnet_peer      *peer,
			       const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_lpni *lpni = msg->msg_lpni;
	const struct m0_lnet_lpni *best;
	struct disc               *di;

	if (M0_LIKELY(is_up_to_date(peer)) || !eng->le_cfg.lec_discovery ||
	    msg->msg_is_response || all_of(eng)->dy_stopped ||
	    msg->msg_hdr.lh_portal == M0_LNET_PORTAL_RESERVED)
		return false;
	di = disc_get(eng, peer);
	if (di == NULL)
		return false;
	best = peer_best(eng, peer);
	if (best == NULL)
		return false;
	if (lpni->lpn_known_down || m0_lnet__ni_for(eng, &lpni->lpn_nid) == NULL)
		lpni = best;
	if (!di->di_mute || eng->le_now >= di->di_pause_until)
		disc_begin(di, &lpni->lpn_nid, &m0_lnet_nid_any, false);
	return !di->di_mute;
}

void m0_lnet__discovery_renew(struct m0_lnet_engine *eng)
{
	const struct m0_lnet_lpni *lpni;
	struct m0_lnet_peer       *peer;
	struct disc               *di;

	if (eng->le_discovery == NULL || eng->le_shutdown)
		return;
	m0_list_for_each_entry(&eng->le_peers, peer, struct m0_lnet_peer,
			       lpe_link) {
		di = peer->lpe_discovery;
		if (di == NULL || !is_up_to_date(peer) ||
		    !wants_push(eng, peer))
			continue;
		lpni = peer_best(eng, peer);
		if (lpni != NULL)
			disc_begin(di, &lpni->lpn_nid, &m0_lnet_nid_any, true);
	}
}

/** A ping is to say what a push did not. */
static void push_ask_back(struct m0_lnet_engine     *eng,
			  const struct m0_lnet_lpni *lpni, size_t bytes)
{
	struct disc *di = disc_get(eng, lpni->lpn_peer);

	if (di == NULL || (di->di_mute && eng->le_now < di->di_pause_until))
		return;
	if (di->di_state != DISC_RUNNING)
		di->di_bytes = max_check(di->di_bytes, bytes);
	disc_begin(di, &lpni->lpn_nid, &m0_lnet_nid_any, false);
	di->di_reping = di->di_state == DISC_RUNNING && di->di_is_push;
}

void m0_lnet__discovery_pushed(struct m0_lnet_engine    *eng,
			       const struct m0_lnet_nid *from,
			       const void *bytes, size_t nr)
{
	struct m0_lnet_lpni     *lpni = m0_lnet__lpni_find(eng, from);
	struct m0_lnet_ping_info info;
	struct m0_lnet_peer     *peer;
	struct disc             *di;

	/* Who came through a router and is not known stays unknown. */
	if (lpni == NULL || all_of(eng)->dy_stopped)
		return;
	if (info_decode(eng, bytes, nr, &info) != 0) {
		push_ask_back(eng, lpni, 0);
		return;
	}
	if ((info.lpi_features & M0_LNET_FEAT_MULTI_RAIL) == 0)
		return;
	if (info.lpi_truncated) {
		push_ask_back(eng, lpni, info.lpi_bytes);
		return;
	}
	if (m0_lnet__peer_learn(eng, lpni, &info) != 0)
		return;
	peer = lpni->lpn_peer;
	di = disc_get(eng, peer);
	if (di == NULL || !eng->le_cfg.lec_discovery)
		return;
	di->di_mute = false;
	if (wants_push(eng, peer))
		disc_begin(di, from, &m0_lnet_nid_any, true);
	else if (di->di_state == DISC_IDLE)
		peer->lpe_state |= M0_LNET_PEER_DISCOVERED |
				   M0_LNET_PEER_NIDS_UPTODATE;
}

/* -- probes, from the home ------------------------------------------------- */

static void probe_pinged(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask)
{
	struct probing          *po = ask->as_user;
	struct m0_lnet_ping_info info;
	int                      rc = ask->as_status;

	po->po_ask = NULL;
	if (rc == 0)
		rc = info_decode(eng, ask->as_addr, ask->as_got, &info);
	if (rc == 0)
		probe_fill_info(po->po_probe, &info);
	probe_end(eng, po, rc);
}

static void probe_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		       m0_time_t now)
{
	struct probing *po = container_of(timer, struct probing, po_timer);

	(void)now;
	probe_end(eng, po, -ETIMEDOUT);
}

/** Asks itself: it is about this NID, and nothing is remembered of it. */
static void probe_ping(struct m0_lnet_engine *eng, struct probing *po,
		       m0_time_t deadline)
{
	const struct m0_lnet_probe *probe = po->po_probe;
	const struct m0_lnet_ni    *ni = m0_lnet__ni_for(eng, &probe->pr_nid);
	struct m0_lnet_nid          self = probe->pr_self;

	if (m0_lnet_nid_is_any(&self) && ni != NULL &&
	    m0_lnet__ni_find(eng, &probe->pr_nid) == NULL)
		self = ni->lni_lnd.ln_nid;
	m0_list_add_tail(&all_of(eng)->dy_pings, &po->po_link);
	po->po_ask = m0_lnet__ask_ping(eng, &probe->pr_nid, &self, PING_BYTES,
				       deadline, probe_pinged, po);
	if (po->po_ask == NULL)
		probe_end(eng, po, -ENOMEM);
}

/** Joins the discovery of its peer, or has it begin. */
static void probe_join(struct m0_lnet_engine *eng, struct probing *po)
{
	const struct m0_lnet_probe *probe = po->po_probe;
	struct m0_lnet_lpni        *lpni = NULL;
	struct disc                *di = NULL;

	if (m0_lnet__ni_for(eng, &probe->pr_nid) == NULL) {
		probe_end(eng, po, -EHOSTUNREACH);
		return;
	}
	lpni = m0_lnet__lpni_get(eng, &probe->pr_nid);
	if (lpni != NULL) {
		m0_lnet__lpni_put(eng, lpni);
		di = disc_get(eng, lpni->lpn_peer);
	}
	if (di == NULL) {
		probe_end(eng, po, -ENOBUFS);
	} else if (is_up_to_date(lpni->lpn_peer) && !probe->pr_force) {
		probe_end_peer(eng, po, 0);
	} else {
		m0_list_add_tail(&di->di_probes, &po->po_link);
		disc_begin(di, &probe->pr_nid, &probe->pr_self, false);
		di->di_reping |= probe->pr_force && di->di_is_push &&
				 di->di_state == DISC_RUNNING;
	}
}

void m0_lnet_engine_probe(struct m0_lnet_engine *eng,
			  struct m0_lnet_probe  *probe)
{
	struct discovery *all = all_of(eng);
	bool              own = m0_lnet_nid_is_lo(&probe->pr_nid) ||
		   m0_lnet__ni_find(eng, &probe->pr_nid) != NULL;
	m0_time_t       timeout;
	m0_time_t       deadline;
	struct probing *po;

	timeout = probe->pr_timeout_ms == 0
			  ? eng->le_cfg.lec_transaction_timeout_ns
			  : m0_time(probe->pr_timeout_ms / 1000,
				    (long)(probe->pr_timeout_ms % 1000) *
					    (long)M0_TIME_ONE_MSEC);
	deadline = m0_time_add(eng->le_now, timeout);
	probe->pr_since = eng->le_now;
	probe->pr_nids_nr = 0;
	probe->pr_primary = probe->pr_nid;
	M0_ALLOC_PTR(po);
	if (po == NULL || all->dy_stopped) {
		m0_free(po);
		probe->pr_status = all->dy_stopped ? -ESHUTDOWN : -ENOMEM;
		probe->pr_took_ns = 0;
		eng->le_cfg.lec_home_ops->ho_probe_done(eng, probe);
		return;
	}
	po->po_probe = probe;
	probe->pr_priv = po;
	m0_list_link_init(&po->po_link);
	m0_timer_init(&po->po_timer.lt_timer);
	po->po_timer.lt_fire = probe_fire;
	if (probe->pr_kind == M0_LNET_PING || own) {
		probe_ping(eng, po, deadline);
	} else {
		m0_lnet__timer_arm(eng, &po->po_timer, deadline);
		probe_join(eng, po);
	}
}

/* -- what ends all --------------------------------------------------------- */

void m0_lnet__discovery_lost(struct m0_lnet_engine     *eng,
			     const struct m0_lnet_lpni *lpni, int status)
{
	struct m0_lnet_peer *peer = lpni->lpn_peer;
	struct disc         *di = peer->lpe_discovery;
	struct probing      *po;
	struct probing      *next;

	/* It may come back as another, which does not know us. */
	peer->lpe_seq_told = 0;
	peer->lpe_state &= ~(uint32_t)M0_LNET_PEER_NIDS_UPTODATE;
	m0_list_for_each_entry_safe(&all_of(eng)->dy_pings, po, next,
				    struct probing, po_link)
		if (po->po_ask != NULL &&
		    m0_lnet_nid_eq(&po->po_probe->pr_nid, &lpni->lpn_nid))
			m0_lnet__ask_fail(po->po_ask, status);
	if (di != NULL && di->di_ask != NULL &&
	    m0_lnet_nid_eq(&di->di_nid, &lpni->lpn_nid))
		m0_lnet__ask_fail(di->di_ask, status);
}

void m0_lnet__discovery_forget(struct m0_lnet_engine *eng,
			       struct m0_lnet_peer   *peer)
{
	struct disc *di = peer->lpe_discovery;

	(void)eng;
	if (di == NULL)
		return;
	/* Its NIDs are another peer's by now. */
	disc_astray(di);
	peer->lpe_discovery = NULL;
	m0_free(di);
}

void m0_lnet__discovery_stop(struct m0_lnet_engine *eng)
{
	struct discovery    *all = all_of(eng);
	struct m0_list_link *link;
	struct m0_list_link *next;
	struct m0_lnet_peer *peer;
	struct disc         *di;

	all->dy_stopped = true;
	probes_end(eng, &all->dy_pings, -ESHUTDOWN);
	m0_list_for_each_safe(&eng->le_peers, link, next) {
		peer = container_of(link, struct m0_lnet_peer, lpe_link);
		di = peer->lpe_discovery;
		if (di == NULL)
			continue;
		disc_idle(di);
		probes_end(eng, &di->di_probes, -ESHUTDOWN);
		waiting_end(peer, -ESHUTDOWN);
	}
}

int m0_lnet__discovery_init(struct m0_lnet_engine *eng)
{
	struct discovery *all;

	M0_ALLOC_PTR(all);
	if (all == NULL)
		return -ENOMEM;
	m0_list_init(&all->dy_queue);
	m0_list_init(&all->dy_pings);
	eng->le_discovery = all;
	return 0;
}

void m0_lnet__discovery_fini(struct m0_lnet_engine *eng)
{
	struct discovery *all = all_of(eng);

	M0_ASSERT(all->dy_running_nr == 0);
	M0_ASSERT(m0_list_is_empty(&all->dy_pings));
	eng->le_discovery = NULL;
	m0_free(all);
}
