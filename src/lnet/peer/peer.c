/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Peer NIs by NID, and the peers that they belong to.
 *
 * A NID that a message leaves for, or arrives from, gets a peer of its own.
 * Discovery joins the peers that are one node. The tables are bounded: the
 * least recently used peer makes room, if it is idle.
 */
#include "lnet/flow/memo.h"
#include "lnet/lnet_internal.h"

enum {
	/** Limit on the NIDs of a peer, and on the NIDs of all peers for each
	 * peer that is allowed. */
	LPNIS_OF_PEER_MAX = 64,
	LPNIS_PER_PEER_NR = 4,
	/** Number of peers that an eviction examines. */
	EVICT_LOOKS_MAX = 32
};
/** A peer with several NIDs is tried by a lost NID again after this time. */
#define LOST_NS (60 * M0_TIME_ONE_SECOND)

static struct m0_lnet_lpni *lpni_of_link(const struct m0_list_link *link)
{
	return container_of(link, struct m0_lnet_lpni, lpn_link);
}

static bool is_configured(const struct m0_lnet_peer *peer)
{
	return (peer->lpe_state & M0_LNET_PEER_CONFIGURED) != 0;
}

bool m0_lnet__peer_is_gateway(const struct m0_lnet_peer *peer)
{
	const struct m0_lnet_lpni *lpni;

	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		if (lpni->lpn_is_gateway)
			return true;
	return false;
}

bool m0_lnet__lpni_is_down(const struct m0_lnet_engine *eng,
			   const struct m0_lnet_lpni   *lpni)
{
	return lpni->lpn_reported_down ||
	       eng->le_now < m0_lnet__lpni_lost_until(lpni);
}

m0_time_t m0_lnet__lpni_lost_until(const struct m0_lnet_lpni *lpni)
{
	return lpni->lpn_lost_at == 0 ? 0
				      : m0_time_add(lpni->lpn_lost_at, LOST_NS);
}

/* -- life ------------------------------------------------------------------ */

static struct m0_lnet_peer *peer_new(struct m0_lnet_engine    *eng,
				     const struct m0_lnet_nid *primary)
{
	struct m0_lnet_peer *peer;

	M0_PRE(!m0_lnet_nid_is_any(primary));
	M0_ALLOC_PTR(peer);
	if (peer == NULL)
		return NULL;
	peer->lpe_primary = *primary;
	m0_list_init(&peer->lpe_lpnis);
	m0_list_init(&peer->lpe_waiting);
	m0_list_link_init(&peer->lpe_link);
	m0_list_add_tail(&eng->le_peers, &peer->lpe_link);
	++eng->le_peers_nr;
	return peer;
}

/**
 * Frees a peer without NIDs. Messages that wait for it continue by the peers
 * that have its NIDs now.
 */
static void peer_free(struct m0_lnet_engine *eng, struct m0_lnet_peer *peer)
{
	M0_PRE(eng->le_peers_nr > 0);
	M0_PRE(m0_list_is_empty(&peer->lpe_lpnis));
	m0_list_del(&peer->lpe_link);
	--eng->le_peers_nr;
	eng->le_hooks->lhk_peer_forget(eng, peer);
	M0_ASSERT(m0_list_is_empty(&peer->lpe_waiting));
	m0_free(peer);
}

/** Credits of a peer NI: those of the NIs on its network. */
static unsigned peer_credits(const struct m0_lnet_engine *eng,
			     const struct m0_lnet_nid    *nid)
{
	const struct m0_lnet_engine_cfg *cfg = &eng->le_cfg;
	const struct m0_lnet_ni         *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (ni != eng->le_lo && m0_lnet_nid_net(&ni->lni_lnd.ldn_nid) ==
						m0_lnet_nid_net(nid))
			return ni->lni_lnd.ldn_peer_credits;
	return min_check(cfg->lec_peer_credits, cfg->lec_credits);
}

static struct m0_lnet_lpni *lpni_new(struct m0_lnet_engine    *eng,
				     struct m0_lnet_peer      *peer,
				     const struct m0_lnet_nid *nid)
{
	struct m0_lnet_lpni *lpni;

	M0_PRE(peer != NULL && !m0_lnet_nid_is_any(nid));
	/* The bytes of the NID are the key of the table. */
	M0_BASSERT(sizeof(struct m0_lnet_nid) == M0_LNET_NID_BYTES);
	M0_ALLOC_PTR(lpni);
	if (lpni == NULL)
		return NULL;
	lpni->lpn_nid = *nid;
	lpni->lpn_nid4 = m0_lnet__nid4(nid);
	(void)m0_lnet_nid_print(nid, lpni->lpn_text, sizeof lpni->lpn_text);
	lpni->lpn_credits_max = peer_credits(eng, nid);
	lpni->lpn_credits = (int)lpni->lpn_credits_max;
	lpni->lpn_credits_low = lpni->lpn_credits;
	lpni->lpn_health = M0_LNET_HEALTH_MAX;
	m0_list_init(&lpni->lpn_queue);
	m0_list_link_init(&lpni->lpn_link);
	if (m0_hash_add(&eng->le_lpnis, &lpni->lpn_hash, &lpni->lpn_nid,
			sizeof lpni->lpn_nid) != 0) {
		m0_free(lpni);
		return NULL;
	}
	lpni->lpn_peer = peer;
	m0_list_add_tail(&peer->lpe_lpnis, &lpni->lpn_link);
	m0_lnet__policy_lpni_new(eng, lpni);
	M0_POST(m0_lnet__lpni_invariant(lpni));
	return lpni;
}

static void lpni_free(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	M0_PRE(lpni->lpn_refs_nr == 0);
	M0_ASSERT(m0_list_is_empty(&lpni->lpn_queue));
	M0_ASSERT(lpni->lpn_answers_nr == 0 && lpni->lpn_queued_bytes == 0);
	M0_ASSERT(lpni->lpn_credits == (int)lpni->lpn_credits_max);
	M0_ASSERT(lpni->lpn_try == NULL);
	m0_lnet__timer_cancel(eng, &lpni->lpn_try_timer);
	if (lpni->lpn_health < M0_LNET_HEALTH_MAX)
		--eng->le_sick.lsk_nr;
	m0_lnet__topology_changed(eng);
	m0_lnet__policy_lpni_gone(lpni);
	m0_list_del(&lpni->lpn_link);
	m0_hash_del(&eng->le_lpnis, &lpni->lpn_hash);
	m0_free(lpni);
}

static void peer_destroy(struct m0_lnet_engine *eng, struct m0_lnet_peer *peer)
{
	struct m0_list_link *link;

	M0_PRE(m0_list_is_empty(&peer->lpe_waiting));
	while ((link = m0_list_first(&peer->lpe_lpnis)) != NULL)
		lpni_free(eng, lpni_of_link(link));
	peer_free(eng, peer);
}

/* -- bounds ---------------------------------------------------------------- */

static bool peer_is_idle(const struct m0_lnet_peer *peer)
{
	struct m0_lnet_lpni *lpni;

	if (!m0_list_is_empty(&peer->lpe_waiting) || is_configured(peer) ||
	    (peer->lpe_state & M0_LNET_PEER_DISCOVERING) != 0)
		return false;
	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		if (lpni->lpn_refs_nr > 0)
			return false;
	return true;
}

/** Moves the peer to the end of the order of eviction. */
static void peer_touch(struct m0_lnet_engine *eng, struct m0_lnet_peer *peer)
{
	if (!m0_list_link_is_last(&peer->lpe_link, &eng->le_peers))
		m0_list_move_tail(&eng->le_peers, &peer->lpe_link);
}

static bool is_full(const struct m0_lnet_engine *eng)
{
	return eng->le_peers_nr >= eng->le_cfg.lec_peers_max ||
	       m0_hash_nr(&eng->le_lpnis) >=
		       LPNIS_PER_PEER_NR * eng->le_cfg.lec_peers_max;
}

static bool peer_evict(struct m0_lnet_engine *eng)
{
	struct m0_lnet_peer *peer;
	unsigned             i;

	for (i = 0; i < EVICT_LOOKS_MAX && i < eng->le_peers_nr; ++i) {
		peer = container_of(m0_list_first(&eng->le_peers),
				    struct m0_lnet_peer, lpe_link);
		M0_ASSERT(m0_lnet__peer_invariant(peer));
		if (peer_is_idle(peer)) {
			peer_destroy(eng, peer);
			return true;
		}
		peer_touch(eng, peer);
	}
	return false;
}

static struct m0_lnet_lpni *lpni_make(struct m0_lnet_engine    *eng,
				      const struct m0_lnet_nid *nid)
{
	struct m0_lnet_peer *peer;
	struct m0_lnet_lpni *lpni;

	if (m0_lnet__ni_find(eng, nid) != NULL || m0_lnet_nid_is_any(nid))
		return NULL;
	if (is_full(eng) && !peer_evict(eng)) {
		++eng->le_stats.ls_drop_no_room;
		return NULL;
	}
	peer = peer_new(eng, nid);
	if (peer == NULL)
		return NULL;
	lpni = lpni_new(eng, peer, nid);
	if (lpni == NULL)
		peer_free(eng, peer);
	return lpni;
}

/* -- finding --------------------------------------------------------------- */

static struct m0_lnet_lpni *lpni_search(const struct m0_lnet_engine *eng,
					const struct m0_lnet_nid    *nid)
{
	struct m0_hash_link *link =
		m0_hash_find(&eng->le_lpnis, nid, sizeof *nid);

	return link == NULL ? NULL
			    : container_of(link, struct m0_lnet_lpni, lpn_hash);
}

struct m0_lnet_lpni *m0_lnet__lpni_find(const struct m0_lnet_engine *eng,
					const struct m0_lnet_nid    *nid)
{
	struct m0_lnet_lpni *cached = m0_lnet__cache_sender(eng);

	if (cached == NULL || !m0_lnet_nid_eq(&cached->lpn_nid, nid))
		return lpni_search(eng, nid);
	M0_ASSERT_EX(cached == lpni_search(eng, nid));
	return cached;
}

struct m0_lnet_lpni *m0_lnet__lpni_get(struct m0_lnet_engine    *eng,
				       const struct m0_lnet_nid *nid)
{
	struct m0_lnet_lpni *lpni = m0_lnet__lpni_find(eng, nid);

	if (lpni == NULL)
		lpni = lpni_make(eng, nid);
	if (lpni != NULL)
		m0_lnet__lpni_hold(eng, lpni);
	return lpni;
}

void m0_lnet__lpni_hold(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	M0_PRE_EX(m0_lnet__lpni_invariant(lpni));
	++lpni->lpn_refs_nr;
	peer_touch(eng, lpni->lpn_peer);
}

void m0_lnet__lpni_put(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	(void)eng;
	M0_PRE(lpni->lpn_refs_nr > 0);
	--lpni->lpn_refs_nr;
	M0_POST_EX(lpni->lpn_answers_nr <= lpni->lpn_refs_nr);
}

struct m0_lnet_lpni *m0_lnet__hop_received(struct m0_lnet_engine    *eng,
					   const struct m0_lnet_nid *hop)
{
	struct m0_lnet_lpni *lpni = m0_lnet__cache_sender(eng);

	if (m0_lnet_nid_is_lo(hop))
		return NULL;
	if (lpni == NULL || !m0_lnet_nid_eq(&lpni->lpn_nid, hop)) {
		lpni = m0_lnet__lpni_find(eng, hop);
		if (lpni == NULL)
			lpni = lpni_make(eng, hop);
		if (lpni != NULL)
			peer_touch(eng, lpni->lpn_peer);
		m0_lnet__cache_fresh(eng)->lch_sender = lpni;
	}
	if (lpni != NULL)
		m0_lnet__lpni_received(eng, lpni);
	return lpni;
}

struct m0_lnet_lpni *m0_lnet__peer_received(struct m0_lnet_engine    *eng,
					    const struct m0_lnet_nid *nid,
					    const struct m0_lnet_nid *hop,
					    struct m0_lnet_nid       *primary)
{
	struct m0_lnet_lpni *lpni = m0_lnet__hop_received(eng, hop);
	struct m0_lnet_lpni *from;

	*primary = *nid;
	if (m0_lnet_nid_is_lo(hop))
		return NULL;
	/* A sender behind a router has a record only if recv.c made one. */
	from = m0_lnet_nid_eq(nid, hop) ? lpni : m0_lnet__lpni_find(eng, nid);
	if (from != NULL)
		*primary = from->lpn_peer->lpe_primary;
	return lpni;
}

/* -- what it asks of us ---------------------------------------------------- */

void m0_lnet__answer_begin(struct m0_lnet_msg       *msg,
			   const struct m0_lnet_nid *hop)
{
	struct m0_lnet_lpni *lpni = m0_lnet__lpni_find(msg->msg_engine, hop);

	M0_PRE_EX(msg->msg_rx.mrx_asked_by == NULL);
	msg->msg_rx.mrx_asked_by = lpni;
	if (lpni == NULL)
		return;
	++lpni->lpn_refs_nr;
	++lpni->lpn_answers_nr;
}

void m0_lnet__answer_end(struct m0_lnet_msg *msg)
{
	struct m0_lnet_lpni *lpni = msg->msg_rx.mrx_asked_by;

	msg->msg_rx.mrx_asked_by = NULL;
	if (lpni == NULL)
		return;
	M0_ASSERT(lpni->lpn_answers_nr > 0);
	--lpni->lpn_answers_nr;
	m0_lnet__lpni_put(msg->msg_engine, lpni);
}

bool m0_lnet__lpni_is_over_quota(const struct m0_lnet_engine *eng,
				 const struct m0_lnet_lpni   *lpni)
{
	/* Without answers that complete, nothing would offer the message
	 * again. */
	return lpni != NULL && lpni->lpn_answers_nr > 0 &&
	       lpni->lpn_answers_nr + eng->le_stats.ls_msgs_alloc >=
		       eng->le_cfg.lec_msgs_max;
}

bool m0_lnet__peer_same(const struct m0_lnet_engine *eng,
			const struct m0_lnet_nid    *left,
			const struct m0_lnet_nid    *right)
{
	const struct m0_lnet_lpni *a;
	const struct m0_lnet_lpni *b;

	if (m0_lnet_nid_eq(left, right))
		return true;
	a = m0_lnet__lpni_find(eng, left);
	b = m0_lnet__lpni_find(eng, right);
	return a != NULL && b != NULL && a->lpn_peer == b->lpn_peer;
}

/* -- learning -------------------------------------------------------------- */

static void lpni_move(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni,
		      struct m0_lnet_peer *to)
{
	M0_PRE(lpni->lpn_peer != to);
	m0_lnet__topology_changed(eng);
	m0_list_move_tail(&to->lpe_lpnis, &lpni->lpn_link);
	lpni->lpn_peer = to;
}

/**
 * Handles the loss of a NID by a peer: it gets another primary NID, or ends.
 */
static void peer_lessened(struct m0_lnet_engine *eng, struct m0_lnet_peer *from)
{
	struct m0_list_link *first = m0_list_first(&from->lpe_lpnis);
	struct m0_lnet_lpni *lpni;

	if (first == NULL) {
		peer_free(eng, from);
		return;
	}
	m0_list_for_each_entry(&from->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		if (m0_lnet_nid_eq(&lpni->lpn_nid, &from->lpe_primary))
			return;
	from->lpe_primary = lpni_of_link(first)->lpn_nid;
	M0_POST(m0_lnet__peer_invariant(from));
}

/** Merges the peer `from` into the peer `into`. */
static void peer_merge(struct m0_lnet_engine *eng, struct m0_lnet_peer *into,
		       struct m0_lnet_peer *from)
{
	struct m0_list_link *link;

	M0_PRE(into != from);
	while ((link = m0_list_first(&from->lpe_lpnis)) != NULL)
		lpni_move(eng, lpni_of_link(link), into);
	into->lpe_seq_pushed =
		max_check(into->lpe_seq_pushed, from->lpe_seq_pushed);
	into->lpe_used_nr = max_check(into->lpe_used_nr, from->lpe_used_nr);
	if (into->lpe_ni == NULL)
		into->lpe_ni = from->lpe_ni;
	peer_free(eng, from);
}

/** Takes a NID off its peer. A NID in use becomes a peer of its own. */
static void lpni_leave(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	struct m0_lnet_peer *own;

	if (lpni->lpn_refs_nr == 0) {
		lpni_free(eng, lpni);
		return;
	}
	own = peer_new(eng, &lpni->lpn_nid);
	if (own != NULL)
		lpni_move(eng, lpni, own);
}

static bool info_lists(const struct m0_lnet_ping_info *info,
		       const struct m0_lnet_nid *nid, bool *up)
{
	unsigned nr = min_check(info->lpi_nis_nr, info->lpi_nis_max);
	unsigned i;

	for (i = 0; i < nr; ++i)
		if (m0_lnet_nid_eq(&info->lpi_nis[i].lpg_nid, nid)) {
			*up = info->lpi_nis[i].lpg_up;
			return true;
		}
	return false;
}

/** Adds a NID to a peer, unless limits or another peer's claim forbid it. */
static void nid_learn(struct m0_lnet_engine *eng, struct m0_lnet_peer *peer,
		      const struct m0_lnet_nid *nid, bool primary)
{
	struct m0_lnet_lpni *lpni;
	struct m0_lnet_peer *other;
	bool                 trusted;

	/* A peer that reports a NID of this node is mistaken. */
	if (m0_lnet__ni_find(eng, nid) != NULL)
		return;
	lpni = m0_lnet__lpni_find(eng, nid);
	if (lpni == NULL) {
		if (m0_list_length(&peer->lpe_lpnis) < LPNIS_OF_PEER_MAX &&
		    m0_hash_nr(&eng->le_lpnis) <
			    LPNIS_PER_PEER_NR * eng->le_cfg.lec_peers_max)
			(void)lpni_new(eng, peer, nid);
		return;
	}
	other = lpni->lpn_peer;
	if (other == peer || is_configured(other))
		return;
	/* Messages to the gateway would go to any peer that claims its NID. In turn
	 * a gateway takes no NID of a peer that has reported its NIDs itself. */
	trusted = is_configured(peer) || m0_lnet__peer_is_gateway(peer);
	if (m0_lnet__peer_is_gateway(other) && !trusted)
		return;
	if (primary) {
		peer_merge(eng, peer, other);
	} else if (is_configured(peer) || !m0_lnet__peer_is_multi_rail(other) ||
		   (other->lpe_state & M0_LNET_PEER_NIDS_UPTODATE) == 0) {
		lpni_move(eng, lpni, peer);
		peer_lessened(eng, other);
	}
}

/** @return true if an NI is down that was up. */
static bool statuses_learn(struct m0_lnet_peer            *peer,
			   const struct m0_lnet_ping_info *info)
{
	struct m0_lnet_lpni *lpni;
	bool                 fell = false;
	bool                 up;

	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		if (info_lists(info, &lpni->lpn_nid, &up)) {
			fell |= !up && !lpni->lpn_reported_down;
			lpni->lpn_reported_down = !up;
			lpni->lpn_known_up = up;
			lpni->lpn_known_down = !up;
		}
	return fell;
}

/** Sets the NIDs of a Multi-Rail peer to the ones that it reports. */
static void rails_learn(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni,
			const struct m0_lnet_ping_info *info)
{
	struct m0_lnet_peer *peer = lpni->lpn_peer;
	unsigned nr = min_check(info->lpi_nis_nr, info->lpi_nis_max);
	struct m0_lnet_lpni *at;
	struct m0_lnet_lpni *next;
	unsigned             i;
	bool                 up;

	for (i = 0; i < nr; ++i)
		nid_learn(eng, peer, &info->lpi_nis[i].lpg_nid, i == 0);
	if (!info->lpi_truncated && nr == info->lpi_nis_nr)
		m0_list_for_each_entry_safe(&peer->lpe_lpnis, at, next,
					    struct m0_lnet_lpni, lpn_link)
			if (at != lpni && !info_lists(info, &at->lpn_nid, &up))
				lpni_leave(eng, at);
	/* The order is that of the report, with the primary NID first. */
	for (i = nr; i > 0; --i) {
		at = m0_lnet__lpni_find(eng, &info->lpi_nis[i - 1].lpg_nid);
		if (at != NULL && at->lpn_peer == peer)
			m0_list_move(&peer->lpe_lpnis, &at->lpn_link);
	}
	peer->lpe_primary =
		lpni_of_link(m0_list_first(&peer->lpe_lpnis))->lpn_nid;
	peer->lpe_ni = NULL;
	M0_POST(m0_lnet__peer_invariant(peer));
}

/** Splits a peer: each other NID becomes a peer of its own. */
static void single_learn(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	struct m0_lnet_peer *peer = lpni->lpn_peer;
	struct m0_lnet_lpni *at;
	struct m0_lnet_lpni *next;

	m0_list_for_each_entry_safe(&peer->lpe_lpnis, at, next,
				    struct m0_lnet_lpni, lpn_link)
		if (at != lpni)
			lpni_leave(eng, at);
	peer->lpe_primary = lpni->lpn_nid;
	M0_POST(m0_lnet__peer_invariant(peer));
}

static void peer_forgets(struct m0_lnet_peer *peer)
{
	peer->lpe_seq_pushed = 0;
	peer->lpe_knows_nids = false;
}

int m0_lnet__peer_learn(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni,
			const struct m0_lnet_ping_info *info)
{
	struct m0_lnet_peer *peer = lpni->lpn_peer;
	const uint32_t rails = M0_LNET_FEAT_MULTI_RAIL | M0_LNET_FEAT_DISCOVERY;
	bool           fell;
	bool           up;

	M0_PRE(m0_lnet__peer_invariant(peer));
	peer->lpe_features = info->lpi_features;
	if (info->lpi_seq < peer->lpe_seq_received)
		/* The peer has restarted, and does not know this node any
		 * more. */
		peer_forgets(peer);
	peer->lpe_seq_received = info->lpi_seq;
	peer->lpe_state &= ~(uint32_t)(M0_LNET_PEER_NO_DISCOVERY |
				       M0_LNET_PEER_ROUTER_ENABLED);
	if ((info->lpi_features & M0_LNET_FEAT_RTE_DISABLED) == 0)
		peer->lpe_state |= M0_LNET_PEER_ROUTER_ENABLED;
	if ((info->lpi_features & M0_LNET_FEAT_DISCOVERY) == 0)
		peer->lpe_state |= M0_LNET_PEER_NO_DISCOVERY;
	if (is_configured(peer) || !eng->le_cfg.lec_discovery) {
		/* Configured peers, and all peers without discovery, keep their
		 * NIDs. */
	} else if ((info->lpi_features & rails) == rails &&
		   info_lists(info, &lpni->lpn_nid, &up)) {
		peer->lpe_state |= M0_LNET_PEER_MULTI_RAIL;
		rails_learn(eng, lpni, info);
	} else if (m0_lnet__peer_is_multi_rail(peer)) {
		peer->lpe_state &= ~(uint32_t)M0_LNET_PEER_MULTI_RAIL;
		single_learn(eng, lpni);
	}
	fell = statuses_learn(peer, info);
	m0_lnet__policy_primary_changed(eng);
	m0_lnet__paths_changed(eng);
	M0_POST(lpni->lpn_peer == peer && m0_lnet__peer_invariant(peer));
	if (fell)
		eng->le_hooks->lhk_rail_down(eng);
	return 0;
}

void m0_lnet__peer_outdate(struct m0_lnet_engine *eng,
			   struct m0_lnet_peer   *peer)
{
	peer->lpe_state &= ~(uint32_t)M0_LNET_PEER_NIDS_UPTODATE;
	m0_lnet__topology_changed(eng);
}

/* -- peers that the user configures ---------------------------------------- */

static bool nid_is_a_peers(const struct m0_lnet_engine *eng,
			   const struct m0_lnet_nid    *nid)
{
	return !m0_lnet_nid_is_any(nid) && !m0_lnet_nid_is_lo(nid) &&
	       m0_lnet__ni_find(eng, nid) == NULL;
}

/** Returns true if the NID is that of another peer that the user has configured. */
static bool nid_is_taken(const struct m0_lnet_engine *eng,
			 const struct m0_lnet_nid    *nid,
			 const struct m0_lnet_peer   *peer)
{
	const struct m0_lnet_lpni *lpni = m0_lnet__lpni_find(eng, nid);

	return lpni != NULL && lpni->lpn_peer != peer &&
	       is_configured(lpni->lpn_peer);
}

static int peer_add_check(const struct m0_lnet_engine *eng,
			  const struct m0_lnet_nid    *primary,
			  const struct m0_lnet_nid *nids, unsigned nids_nr)
{
	const struct m0_lnet_lpni *lpni = m0_lnet__lpni_find(eng, primary);
	unsigned                   i;

	if (nids_nr > M0_LNET_PEER_NIDS_MAX || !nid_is_a_peers(eng, primary))
		return -EINVAL;
	for (i = 0; i < nids_nr; ++i) {
		if (!nid_is_a_peers(eng, &nids[i]))
			return -EINVAL;
		if (nid_is_taken(eng, &nids[i],
				 lpni == NULL ? NULL : lpni->lpn_peer))
			return -EEXIST;
	}
	return lpni != NULL && is_configured(lpni->lpn_peer) &&
			       !m0_lnet_nid_eq(&lpni->lpn_peer->lpe_primary,
					       primary)
		       ? -EEXIST
		       : 0;
}

int m0_lnet_engine_peer_add(struct m0_lnet_engine    *eng,
			    const struct m0_lnet_nid *primary,
			    const struct m0_lnet_nid *nids, unsigned nids_nr,
			    bool multi_rail)
{
	int                  rc = peer_add_check(eng, primary, nids, nids_nr);
	struct m0_lnet_lpni *lpni;
	struct m0_lnet_peer *peer;
	unsigned             i;

	if (rc != 0)
		return rc;
	lpni = m0_lnet__lpni_get(eng, primary);
	if (lpni == NULL)
		return -ENOSPC;
	peer = lpni->lpn_peer;
	peer->lpe_primary = *primary;
	peer->lpe_state |= M0_LNET_PEER_CONFIGURED;
	if (multi_rail)
		peer->lpe_state |= M0_LNET_PEER_MULTI_RAIL;
	else
		peer->lpe_state &= ~(uint32_t)M0_LNET_PEER_MULTI_RAIL;
	for (i = 0; i < nids_nr; ++i)
		nid_learn(eng, peer, &nids[i], true);
	m0_list_move(&peer->lpe_lpnis, &lpni->lpn_link);
	for (i = 0; i < nids_nr; ++i) {
		const struct m0_lnet_lpni *one =
			m0_lnet__lpni_find(eng, &nids[i]);

		if (one == NULL || one->lpn_peer != peer)
			rc = -ENOSPC;
	}
	m0_lnet__lpni_put(eng, lpni);
	m0_lnet__policy_primary_changed(eng);
	m0_lnet__topology_changed(eng);
	M0_POST(m0_lnet__peer_invariant(peer));
	return rc;
}

/** Takes NIDs off a peer. All are looked at first, so that nothing is half done. */
static int nids_del(struct m0_lnet_engine *eng, struct m0_lnet_peer *peer,
		    const struct m0_lnet_nid *nids, unsigned nids_nr)
{
	const struct m0_lnet_lpni *lpni;
	unsigned                   i;

	for (i = 0; i < nids_nr; ++i) {
		if (m0_lnet_nid_eq(&nids[i], &peer->lpe_primary))
			return -EINVAL;
		lpni = m0_lnet__lpni_find(eng, &nids[i]);
		if (lpni == NULL || lpni->lpn_peer != peer)
			return -ENOENT;
		if (lpni->lpn_refs_nr > 0)
			return -EBUSY;
	}
	for (i = 0; i < nids_nr; ++i)
		/* A NID may be named twice. */
		if (m0_lnet__lpni_find(eng, &nids[i]) != NULL)
			lpni_free(eng, m0_lnet__lpni_find(eng, &nids[i]));
	return 0;
}

int m0_lnet_engine_peer_del(struct m0_lnet_engine    *eng,
			    const struct m0_lnet_nid *primary,
			    const struct m0_lnet_nid *nids, unsigned nids_nr)
{
	const struct m0_lnet_lpni *lpni = m0_lnet__lpni_find(eng, primary);
	struct m0_lnet_peer       *peer;
	uint32_t                   configured;

	if (lpni == NULL ||
	    !m0_lnet_nid_eq(&lpni->lpn_peer->lpe_primary, primary))
		return -ENOENT;
	peer = lpni->lpn_peer;
	if (nids_nr > 0)
		return nids_del(eng, peer, nids, nids_nr);
	configured = peer->lpe_state & M0_LNET_PEER_CONFIGURED;
	peer->lpe_state &= ~configured;
	if (!peer_is_idle(peer)) {
		peer->lpe_state |= configured;
		return -EBUSY;
	}
	peer_destroy(eng, peer);
	return 0;
}

/* -- all ------------------------------------------------------------------- */

void m0_lnet__peers_ni_new(struct m0_lnet_engine *eng)
{
	struct m0_lnet_peer *peer;

	m0_list_for_each_entry(&eng->le_peers, peer, struct m0_lnet_peer,
			       lpe_link)
		peer->lpe_knows_nids = false;
}

void m0_lnet__peers_ni_gone(struct m0_lnet_engine   *eng,
			    const struct m0_lnet_ni *ni)
{
	struct m0_lnet_peer *peer;

	M0_PRE(!m0_lnet__ni_is_usable(ni));
	m0_list_for_each_entry(&eng->le_peers, peer, struct m0_lnet_peer,
			       lpe_link)
		if (peer->lpe_ni == ni)
			peer->lpe_ni = NULL;
}

int m0_lnet__peers_init(struct m0_lnet_engine *eng)
{
	m0_hash_init(&eng->le_lpnis);
	m0_list_init(&eng->le_peers);
	return 0;
}

void m0_lnet__peers_fini(struct m0_lnet_engine *eng)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&eng->le_peers)) != NULL)
		peer_destroy(eng,
			     container_of(link, struct m0_lnet_peer, lpe_link));
	M0_POST(eng->le_peers_nr == 0 && m0_hash_nr(&eng->le_lpnis) == 0);
	m0_hash_fini(&eng->le_lpnis);
}
