/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Discovery of peers. Before the first request to a peer, it is asked for its
 * NIDs (ping), and gets those of this node (push) if it wants them. A peer has
 * one discovery at a time, and the node a limited number; the others queue.
 * Discoveries that nothing here waits for (a push has arrived, or the own
 * information is to be pushed) queue behind those that something waits for,
 * because strangers can start as many as there may be peers.
 *
 * A message waits for a discovery no longer than its own deadline, and fails
 * with the discovery. If a peer does not answer, or answers with garbage, the
 * messages that wait then fail; afterwards messages are sent to it without
 * waiting, as to a peer that is not Multi-Rail, and it is asked again from time
 * to time while there is traffic. A peer that cannot be reached is asked again
 * with the next message.
 */
#include "lnet/flow/select.h"
#include "lnet/route/route.h"
#include "lnet/talk/discovery.h"

enum {
	/** Limit on discoveries that run, without the slow ones: a peer that
	 * does not answer must not delay the others. */
	RUNNING_MAX = 64,
};
/** A discovery is slow after this time. */
#define SLOW_NS M0_TIME_ONE_SECOND
/** Pause after a peer has not answered, or has answered with garbage. */
#define PAUSE_NS (60 * M0_TIME_ONE_SECOND)

int m0_lnet__info_decode(struct m0_lnet_engine *eng, const void *bytes,
			 size_t nr, struct m0_lnet_ping_info *info)
{
	struct m0_lnet_discovery *all = all_of(eng);

	*info = (struct m0_lnet_ping_info){
		.lpi_nis = all->dy_nis,
		.lpi_nis_max = ARRAY_SIZE(all->dy_nis),
	};
	return m0_lnet__ping_decode(info, bytes, nr);
}

/* -- how a discovery goes -------------------------------------------------- */

static void disc_go(struct m0_lnet_disc *di);

static void disc_run_next(struct m0_lnet_engine *eng)
{
	struct m0_lnet_discovery *all = all_of(eng);
	struct m0_list_link      *link;
	struct m0_lnet_disc      *di;

	if (all == NULL || all->dy_running_nr >= RUNNING_MAX)
		return;
	link = m0_list_first(&all->dy_queue);
	if (link == NULL)
		link = m0_list_first(&all->dy_later);
	if (link == NULL)
		return;
	di = container_of(link, struct m0_lnet_disc, di_link);
	m0_list_del(&di->di_link);
	di->di_state = M0_LNET_DISC_SOON;
	m0_lnet__timer_arm(eng, &di->di_timer, M0_TIME_IMMEDIATELY);
}

static void disc_uncount(struct m0_lnet_disc *di)
{
	M0_ASSERT(!di->di_is_counted ||
		  all_of(di->di_engine)->dy_running_nr > 0);
	if (di->di_is_counted)
		--all_of(di->di_engine)->dy_running_nr;
	di->di_is_counted = false;
}

/** Stops the discovery: nothing of it runs or is queued. */
static void disc_idle(struct m0_lnet_disc *di)
{
	struct m0_lnet_engine *eng = di->di_engine;

	disc_uncount(di);
	m0_list_del(&di->di_link);
	m0_lnet__timer_cancel(eng, &di->di_timer);
	m0_lnet__ask_drop(di->di_ask);
	di->di_ask = NULL;
	M0_ASSERT(!m0_list_link_is_in(&di->di_link) && di->di_ask == NULL);
	di->di_state = M0_LNET_DISC_IDLE;
	di->di_peer->lpe_state &= ~(uint32_t)M0_LNET_PEER_DISCOVERING;
	disc_run_next(eng);
}

/** Continues or fails the messages that wait. The peer may be freed by that. */
static void waiting_end(struct m0_lnet_peer *peer, int status)
{
	struct m0_list       now;
	struct m0_list_link *link;

	m0_list_init(&now);
	m0_list_splice_tail(&now, &peer->lpe_waiting);
	while ((link = m0_list_first(&now)) != NULL)
		m0_lnet__send_resume(container_of(link, struct m0_lnet_msg,
						  msg_tx.mtx_link),
				     status);
}

static void discovery_probe(const struct m0_lnet_disc *di, const char *what,
			    int status)
{
	const struct m0_list_link *first =
		m0_list_first(&di->di_peer->lpe_lpnis);

	if (first != NULL)
		m0_probe_lnet_discovery(container_of(first, struct m0_lnet_lpni,
						     lpn_link)
						->lpn_text,
					what, status);
}

void m0_lnet__disc_begin(struct m0_lnet_disc *di, const struct m0_lnet_nid *nid,
			 const struct m0_lnet_nid *self, bool push)
{
	struct m0_lnet_engine *eng = di->di_engine;

	M0_PRE(!m0_lnet_nid_is_any(nid));
	if (all_of(eng)->dy_stopped)
		return;
	if (di->di_state != M0_LNET_DISC_IDLE) {
		if (di->di_state != M0_LNET_DISC_RUNNING)
			di->di_is_push = di->di_is_push && push;
		return;
	}
	di->di_nid = *nid;
	di->di_self = *self;
	di->di_is_push = push;
	di->di_grown = false;
	di->di_reping = false;
	di->di_tried_nr = 0;
	di->di_state = M0_LNET_DISC_SOON;
	di->di_peer->lpe_state |= M0_LNET_PEER_DISCOVERING;
	discovery_probe(di, push ? "push" : "ping", 0);
	m0_lnet__timer_arm(eng, &di->di_timer, M0_TIME_IMMEDIATELY);
}

/**
 * Returns true if a request to the NID says whether the peer is there. One to a
 * gateway that takes a route tests another gateway.
 */
static bool is_worth_asking(const struct m0_lnet_disc *di,
			    const struct m0_lnet_nid  *nid)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_lnet__path   path =
		m0_lnet__select(eng, &(struct m0_lnet__want){ .wnt_nid = nid });

	return path.pth_ni != NULL && (path.pth_route == NULL ||
				       !m0_lnet__peer_is_gateway(di->di_peer));
}

static void disc_end(struct m0_lnet_disc *di, int status)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_lnet_peer   *peer = di->di_peer;

	M0_PRE(status <= 0 && di->di_state == M0_LNET_DISC_RUNNING);
	discovery_probe(di, "done", status);
	disc_idle(di);
	if (is_worth_asking(di, &di->di_nid))
		m0_lnet__routes_checked(eng, peer, status);
	if (status == 0) {
		peer->lpe_state |= M0_LNET_PEER_DISCOVERED |
				   M0_LNET_PEER_NIDS_UPTODATE;
		di->di_mute = false;
	} else {
		m0_lnet__peer_outdate(eng, peer);
		if (M0_IN(status, (-ETIMEDOUT, -EPROTO))) {
			di->di_mute = true;
			di->di_pause_until = m0_time_add(eng->le_now, PAUSE_NS);
		}
	}
	m0_lnet__probes_end(eng, &di->di_probes, status);
	waiting_end(peer, status);
}

/**
 * Ends a discovery whose NID belongs to another peer now; its messages and
 * probes continue there.
 */
static void disc_astray(struct m0_lnet_disc *di)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_list         probes;

	m0_list_init(&probes);
	m0_list_splice_tail(&probes, &di->di_probes);
	disc_idle(di);
	waiting_end(di->di_peer, 0);
	m0_lnet__probes_join(eng, &probes);
}

/**
 * Returns true if the peer wants pushes, and has not seen the current
 * information.
 */
static bool wants_push(const struct m0_lnet_engine *eng,
		       const struct m0_lnet_peer   *peer)
{
	return eng->le_cfg.lec_discovery &&
	       (peer->lpe_state & M0_LNET_PEER_MULTI_RAIL) != 0 &&
	       peer->lpe_seq_pushed != eng->le_seq;
}

static void disc_push_or_end(struct m0_lnet_disc *di)
{
	M0_PRE(di->di_state == M0_LNET_DISC_RUNNING && di->di_ask == NULL);
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
	struct m0_lnet_disc *di = ask->as_user;

	M0_PRE(di->di_ask == ask);
	di->di_ask = NULL;
	if (ask->as_status != 0) {
		disc_end(di, ask->as_status);
		return;
	}
	di->di_peer->lpe_seq_pushed = di->di_seq;
	if (di->di_seq == eng->le_seq)
		di->di_peer->lpe_knows_nids = true;
	disc_push_or_end(di);
}

/** Learns the NIDs of the peer. */
static int info_take(struct m0_lnet_disc            *di,
		     const struct m0_lnet_ping_info *info)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_lnet_lpni   *lpni = m0_lnet__lpni_find(eng, &di->di_nid);
	int                    rc;

	/* Learning for another peer might end this one. */
	if (lpni == NULL || lpni->lpn_peer != di->di_peer)
		return -ESTALE;
	m0_lnet__probes_learn(eng, &di->di_probes, info);
	rc = m0_lnet__peer_learn(eng, lpni, info);
	if (rc == 0)
		m0_lnet__routes_learn(eng, di->di_peer, info);
	return rc;
}

/** Tries the next NID of the peer after one that was not reached; each once. */
static bool disc_try_next(struct m0_lnet_disc *di)
{
	struct m0_list      *all = &di->di_peer->lpe_lpnis;
	struct m0_lnet_lpni *lpni =
		m0_lnet__lpni_find(di->di_engine, &di->di_nid);
	struct m0_list_link *link;

	M0_PRE(di->di_ask == NULL);
	if (lpni == NULL || lpni->lpn_peer != di->di_peer)
		return false;
	do {
		if (++di->di_tried_nr >= m0_list_length(all))
			return false;
		link = m0_list_next(all, &lpni->lpn_link);
		if (link == NULL)
			link = m0_list_first(all);
		lpni = container_of(link, struct m0_lnet_lpni, lpn_link);
	} while (!is_worth_asking(di, &lpni->lpn_nid));
	di->di_nid = lpni->lpn_nid;
	di->di_self = m0_lnet_nid_any;
	disc_go(di);
	return true;
}

/**
 * Returns true if the NID was not reached, so that another one may be. A
 * request that had all its time was received and not answered: the driver gives
 * up earlier, and may report that as a time-out, too.
 */
static bool is_unreached(const struct m0_lnet_ask *ask)
{
	int rc = ask->as_status;

	if (rc == -ETIMEDOUT)
		return ask->as_engine->le_now < ask->as_deadline;
	return rc != 0 && rc != -ESHUTDOWN;
}

static void answered(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask)
{
	struct m0_lnet_disc     *di = ask->as_user;
	struct m0_lnet_ping_info info;
	int                      rc = ask->as_status;

	M0_PRE(di->di_ask == ask);
	di->di_ask = NULL;
	if (is_unreached(ask) && disc_try_next(di))
		return;
	if (rc == 0)
		rc = m0_lnet__info_decode(eng, ask->as_addr, ask->as_got,
					  &info);
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

static void disc_go(struct m0_lnet_disc *di)
{
	struct m0_lnet_engine *eng = di->di_engine;
	struct m0_lnet_ni     *ni = m0_lnet__ni_for(eng, &di->di_nid);
	struct m0_lnet_nid     self = di->di_self;
	m0_time_t patience = eng->le_cfg.lec_transaction_timeout_ns;
	m0_time_t deadline;

	M0_PRE(di->di_state == M0_LNET_DISC_RUNNING && di->di_ask == NULL);
	if (eng->le_cfg.lec_route.lrc_ping_ns != 0 &&
	    m0_lnet__peer_is_gateway(di->di_peer))
		patience = min64u(patience, eng->le_cfg.lec_route.lrc_ping_ns);
	deadline = m0_time_add(eng->le_now, patience);
	/* With a source the request goes to this NID, not to any NID of the
	 * peer. */
	if (m0_lnet_nid_is_any(&self) && ni != NULL)
		self = ni->lni_lnd.ldn_nid;
	di->di_from = self;
	m0_lnet__probes_ask(&di->di_probes, &self);
	di->di_seq = eng->le_seq;
	di->di_ask = di->di_is_push ? m0_lnet__ask_push(eng, &di->di_nid, &self,
							deadline, pushed, di)
				    : m0_lnet__ask_ping(eng, &di->di_nid, &self,
							di->di_bytes, deadline,
							answered, di);
	if (di->di_ask == NULL)
		disc_end(di, -ENOMEM);
}

static bool is_waited_for(const struct m0_lnet_disc *di)
{
	return !m0_list_is_empty(&di->di_peer->lpe_waiting) ||
	       !m0_list_is_empty(&di->di_probes);
}

void m0_lnet__disc_await(struct m0_lnet_disc *di)
{
	if (di->di_state != M0_LNET_DISC_QUEUED || !di->di_is_later)
		return;
	M0_ASSERT(m0_list_link_is_in(&di->di_link));
	di->di_is_later = false;
	m0_list_move_tail(&all_of(di->di_engine)->dy_queue, &di->di_link);
}

static void disc_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		      m0_time_t now)
{
	struct m0_lnet_disc *di =
		container_of(timer, struct m0_lnet_disc, di_timer);
	struct m0_lnet_discovery *all = all_of(eng);

	if (di->di_state == M0_LNET_DISC_RUNNING) {
		disc_uncount(di);
		disc_run_next(eng);
		return;
	}
	M0_ASSERT(di->di_state == M0_LNET_DISC_SOON);
	if (all->dy_running_nr >= RUNNING_MAX) {
		di->di_state = M0_LNET_DISC_QUEUED;
		di->di_is_later = !is_waited_for(di);
		m0_list_add_tail(di->di_is_later ? &all->dy_later
						 : &all->dy_queue,
				 &di->di_link);
		return;
	}
	++all->dy_running_nr;
	di->di_is_counted = true;
	di->di_state = M0_LNET_DISC_RUNNING;
	m0_lnet__timer_arm(eng, timer, m0_time_add(now, SLOW_NS));
	if (di->di_is_push)
		disc_push_or_end(di);
	else
		disc_go(di);
}

struct m0_lnet_disc *m0_lnet__disc_get(struct m0_lnet_engine *eng,
				       struct m0_lnet_peer   *peer)
{
	struct m0_lnet_disc *di = peer->lpe_discovery;

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
	m0_timer_init(&di->di_timer.ltm_timer);
	di->di_timer.ltm_fire = disc_fire;
	peer->lpe_discovery = di;
	return di;
}

/* -- what begins one ------------------------------------------------------- */

/**
 * Returns the NID of a peer that most likely answers; NULL: none is reached.
 */
static const struct m0_lnet_lpni *peer_best(const struct m0_lnet_engine *eng,
					    const struct m0_lnet_peer   *peer)
{
	struct m0_lnet__path path = m0_lnet__select(
		eng,
		&(struct m0_lnet__want){ .wnt_peer = peer, .wnt_ask = true });

	return path.pth_route == NULL ? path.pth_lpni : path.pth_dest;
}

bool m0_lnet__discovery_needed(struct m0_lnet_engine    *eng,
			       struct m0_lnet_peer      *peer,
			       const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_lpni *lpni = msg->msg_tx.mtx_lpni;
	const struct m0_lnet_lpni *best;
	struct m0_lnet_disc       *di;

	if (M0_LIKELY(m0_lnet__peer_is_up_to_date(peer)) ||
	    !eng->le_cfg.lec_discovery || msg->msg_tx.mtx_is_answer ||
	    all_of(eng)->dy_stopped ||
	    msg->msg_hdr.lhd_portal == M0_LNET_PORTAL_RESERVED)
		return false;
	di = m0_lnet__disc_get(eng, peer);
	if (di == NULL)
		return false;
	best = peer_best(eng, peer);
	if (best == NULL)
		return false;
	if (m0_lnet__lpni_is_down(eng, lpni) ||
	    m0_lnet__ni_for(eng, &lpni->lpn_nid) == NULL)
		lpni = best;
	if (!di->di_mute || eng->le_now >= di->di_pause_until)
		m0_lnet__disc_begin(di, &lpni->lpn_nid, &m0_lnet_nid_any,
				    false);
	if (di->di_mute)
		return false;
	m0_lnet__disc_await(di);
	return true;
}

void m0_lnet__discovery_renew(struct m0_lnet_engine *eng)
{
	const struct m0_lnet_lpni *lpni;
	struct m0_lnet_peer       *peer;
	struct m0_lnet_disc       *di;

	if (eng->le_discovery == NULL || eng->le_shutdown)
		return;
	m0_list_for_each_entry(&eng->le_peers, peer, struct m0_lnet_peer,
			       lpe_link) {
		di = peer->lpe_discovery;
		if (di == NULL || !m0_lnet__peer_is_up_to_date(peer) ||
		    !wants_push(eng, peer))
			continue;
		lpni = peer_best(eng, peer);
		if (lpni != NULL)
			m0_lnet__disc_begin(di, &lpni->lpn_nid,
					    &m0_lnet_nid_any, true);
	}
}

/** Asks a peer whose push was incomplete. */
static void push_ask_back(struct m0_lnet_engine     *eng,
			  const struct m0_lnet_lpni *lpni, size_t bytes)
{
	struct m0_lnet_disc *di = m0_lnet__disc_get(eng, lpni->lpn_peer);

	if (di == NULL || (di->di_mute && eng->le_now < di->di_pause_until))
		return;
	if (di->di_state != M0_LNET_DISC_RUNNING)
		di->di_bytes = max_check(di->di_bytes, bytes);
	m0_lnet__disc_begin(di, &lpni->lpn_nid, &m0_lnet_nid_any, false);
	di->di_reping = di->di_state == M0_LNET_DISC_RUNNING && di->di_is_push;
}

void m0_lnet__discovery_pushed(struct m0_lnet_engine    *eng,
			       const struct m0_lnet_nid *from,
			       const void *bytes, size_t nr)
{
	struct m0_lnet_lpni     *lpni = m0_lnet__lpni_find(eng, from);
	struct m0_lnet_ping_info info;
	struct m0_lnet_peer     *peer;
	struct m0_lnet_disc     *di;

	/* An unknown sender behind a router stays unknown. */
	if (lpni == NULL || all_of(eng)->dy_stopped)
		return;
	if (m0_lnet__info_decode(eng, bytes, nr, &info) != 0) {
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
	m0_lnet__routes_learn(eng, peer, &info);
	di = m0_lnet__disc_get(eng, peer);
	if (di == NULL || !eng->le_cfg.lec_discovery)
		return;
	di->di_mute = false;
	if (wants_push(eng, peer))
		m0_lnet__disc_begin(di, from, &m0_lnet_nid_any, true);
	else if (di->di_state == M0_LNET_DISC_IDLE)
		peer->lpe_state |= M0_LNET_PEER_DISCOVERED |
				   M0_LNET_PEER_NIDS_UPTODATE;
}

/* -- what ends all --------------------------------------------------------- */

void m0_lnet__discovery_lost(struct m0_lnet_engine     *eng,
			     const struct m0_lnet_lpni *lpni, int status)
{
	struct m0_lnet_peer *peer = lpni->lpn_peer;
	struct m0_lnet_disc *di = peer->lpe_discovery;

	/* The node may return as another one, which does not know this node. */
	peer->lpe_seq_pushed = 0;
	m0_lnet__peer_outdate(eng, peer);
	m0_lnet__probes_lost(eng, &lpni->lpn_nid, status);
	if (di != NULL && di->di_ask != NULL &&
	    m0_lnet_nid_eq(&di->di_nid, &lpni->lpn_nid))
		m0_lnet__ask_fail(di->di_ask, status);
}

void m0_lnet__discovery_forget(struct m0_lnet_engine *eng,
			       struct m0_lnet_peer   *peer)
{
	struct m0_lnet_disc *di = peer->lpe_discovery;

	M0_PRE(m0_list_is_empty(&peer->lpe_lpnis));
	(void)eng;
	if (di == NULL)
		return;
	/* The NIDs belong to another peer now. */
	disc_astray(di);
	peer->lpe_discovery = NULL;
	m0_free(di);
}

void m0_lnet__discovery_stop(struct m0_lnet_engine *eng)
{
	struct m0_lnet_discovery *all = all_of(eng);
	struct m0_list_link      *link;
	struct m0_list_link      *next;
	struct m0_lnet_peer      *peer;
	struct m0_lnet_disc      *di;

	all->dy_stopped = true;
	m0_lnet__probes_end(eng, &all->dy_pings, -ESHUTDOWN);
	m0_list_for_each_safe(&eng->le_peers, link, next) {
		peer = container_of(link, struct m0_lnet_peer, lpe_link);
		di = peer->lpe_discovery;
		if (di == NULL)
			continue;
		disc_idle(di);
		m0_lnet__probes_end(eng, &di->di_probes, -ESHUTDOWN);
		waiting_end(peer, -ESHUTDOWN);
	}
	M0_POST(m0_list_is_empty(&all->dy_pings));
}

int m0_lnet__discovery_init(struct m0_lnet_engine *eng)
{
	struct m0_lnet_discovery *all;

	M0_PRE(eng->le_discovery == NULL);
	M0_ALLOC_PTR(all);
	if (all == NULL)
		return -ENOMEM;
	m0_list_init(&all->dy_queue);
	m0_list_init(&all->dy_later);
	m0_list_init(&all->dy_pings);
	eng->le_discovery = all;
	return 0;
}

void m0_lnet__discovery_fini(struct m0_lnet_engine *eng)
{
	struct m0_lnet_discovery *all = all_of(eng);

	M0_ASSERT(all->dy_running_nr == 0);
	M0_ASSERT(m0_list_is_empty(&all->dy_pings));
	eng->le_discovery = NULL;
	m0_free(all);
}
