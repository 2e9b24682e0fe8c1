/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Invariants of the engine's objects, true between its calls. A check of one
 * object takes a bounded time; the check of all tables is for debug builds.
 */
#include "lnet/lnet_internal.h"

#define TO(state) (1U << M0_LNET_MSG_##state)

/* The states that a message reaches from any queue, and from the start. */
#define TO_LEAVE (TO(DELAYED) | TO(LEAVING) | TO(SENT))
#define TO_QUEUE (TO(PEER_QUEUE) | TO(NI_QUEUE) | TO_LEAVE)

const uint16_t m0_lnet__msg_next[M0_LNET_MSG_STATES_NR] = {
	[M0_LNET_MSG_FREE] = TO(DISCOVERING) | TO_QUEUE | TO(COMING),
	[M0_LNET_MSG_DISCOVERING] = TO_QUEUE,
	[M0_LNET_MSG_PEER_QUEUE] = TO(NI_QUEUE) | TO_LEAVE | TO(AGAIN),
	[M0_LNET_MSG_NI_QUEUE] = TO_LEAVE | TO(AGAIN),
	[M0_LNET_MSG_DELAYED] = TO(LEAVING) | TO(SENT) | TO(AGAIN),
	/* A fault rule may make a message leave twice. */
	[M0_LNET_MSG_LEAVING] = TO(LEAVING) | TO(SENT) | TO(AGAIN),
	/* A fault rule may fail a message that no driver has had. */
	[M0_LNET_MSG_SENT] = TO(SENT) | TO(AGAIN),
	[M0_LNET_MSG_AGAIN] = TO_QUEUE,
	/* The ACK of a PUT. */
	[M0_LNET_MSG_COMING] = TO_QUEUE,
};

bool m0_lnet__msg_invariant(const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_msg_op *op = &msg->msg_op;
	const struct m0_lnet_msg_tx *tx = &msg->msg_tx;

	return _0C(msg->msg_engine != NULL && msg->msg_refs_nr > 0) &&
	       _0C(msg->msg_state < M0_LNET_MSG_STATES_NR) &&
	       _0C(ergo(msg->msg_md != NULL, msg->msg_md->md_busy_nr > 0)) &&
	       _0C(ergo(op->mop_waits, msg->msg_md != NULL)) &&
	       _0C(ergo(op->mop_waits, !op->mop_answered && !op->mop_late)) &&
	       _0C(ergo(tx->mtx_has_credits && tx->mtx_ni != NULL,
			tx->mtx_lpni != NULL)) &&
	       _0C(ergo(M0_IN(msg->msg_state,
			      (M0_LNET_MSG_PEER_QUEUE, M0_LNET_MSG_NI_QUEUE)),
			tx->mtx_has_credits)) &&
	       _0C(ergo(M0_IN(msg->msg_state,
			      (M0_LNET_MSG_NI_QUEUE, M0_LNET_MSG_LEAVING)),
			tx->mtx_ni != NULL)) &&
	       _0C(ergo(msg->msg_state == M0_LNET_MSG_COMING,
			msg->msg_rx.mrx_ni != NULL));
}

bool m0_lnet__md_invariant(const struct m0_lnet_md *md)
{
	return _0C(ergo(md->md_ended, md->md_dead && md->md_busy_nr == 0)) &&
	       _0C(ergo(md->md_aborted, md->md_dead)) &&
	       _0C(ergo(md->md_busy_nr == 0, m0_list_is_empty(&md->md_msgs)));
}

bool m0_lnet__ni_invariant(const struct m0_lnet_ni *ni)
{
	return _0C(ni->lni_engine != NULL) &&
	       _0C(!m0_lnet_nid_is_any(&ni->lni_lnd.ldn_nid)) &&
	       _0C(!ni->lni_is_up || !ni->lni_stopping) &&
	       _0C(ni->lni_credits <= (int)ni->lni_lnd.ldn_credits) &&
	       _0C(ni->lni_credits_low <= ni->lni_credits) &&
	       _0C(ergo(ni->lni_msgs_nr == 0,
			m0_list_is_empty(&ni->lni_queue)));
}

bool m0_lnet__lpni_invariant(const struct m0_lnet_lpni *lpni)
{
	return _0C(lpni->lpn_peer != NULL) &&
	       _0C(!m0_lnet_nid_is_any(&lpni->lpn_nid)) &&
	       _0C(lpni->lpn_answers_nr <= lpni->lpn_refs_nr) &&
	       _0C(lpni->lpn_credits <= (int)lpni->lpn_credits_max) &&
	       _0C(lpni->lpn_credits_low <= lpni->lpn_credits) &&
	       _0C(lpni->lpn_fwds_nr <= lpni->lpn_fwds_max) &&
	       _0C(!lpni->lpn_known_up || !lpni->lpn_known_down) &&
	       _0C(ergo(m0_list_is_empty(&lpni->lpn_queue),
			lpni->lpn_queued_bytes == 0));
}

bool m0_lnet__peer_invariant(const struct m0_lnet_peer *peer)
{
	return _0C(!m0_lnet_nid_is_any(&peer->lpe_primary)) &&
	       _0C(!m0_list_is_empty(&peer->lpe_lpnis)) &&
	       _0C(ergo((peer->lpe_state & M0_LNET_PEER_DISCOVERING) != 0 ||
				!m0_list_is_empty(&peer->lpe_waiting),
			peer->lpe_discovery != NULL));
}

bool m0_lnet__engine_invariant(const struct m0_lnet_engine *eng)
{
	const struct m0_lnet__path *path = &eng->le_cache.lch_path;

	return _0C(eng->le_hooks != NULL) && _0C(eng->le_portals != NULL) &&
	       _0C(eng->le_peers_nr <= m0_hash_nr(&eng->le_lpnis)) &&
	       _0C(m0_hash_nr(&eng->le_waiting) ==
		   eng->le_stats.ls_rst_alloc) &&
	       _0C(eng->le_gets_nr <= eng->le_stats.ls_rst_alloc) &&
	       _0C(ergo(eng->le_get != NULL, eng->le_gets_nr > 0)) &&
	       _0C((path->pth_ni == NULL) == (path->pth_lpni == NULL)) &&
	       _0C(eng->le_cache.lch_generation <= eng->le_generation) &&
	       _0C(!eng->le_drops && m0_list_is_empty(&eng->le_dropped));
}

#ifdef M0_DEBUG_CHECKS
static bool nis_invariant(const struct m0_lnet_engine *eng)
{
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (!m0_lnet__ni_invariant(ni) ||
		    !_0C(m0_list_length(&ni->lni_queue) ==
			 (size_t)(ni->lni_credits < 0 ? -ni->lni_credits : 0)))
			return false;
	return true;
}

static bool peers_invariant(const struct m0_lnet_engine *eng)
{
	struct m0_lnet_peer *peer;
	struct m0_lnet_lpni *lpni;
	size_t               nr = 0;

	m0_list_for_each_entry(&eng->le_peers, peer, struct m0_lnet_peer,
			       lpe_link) {
		if (!m0_lnet__peer_invariant(peer))
			return false;
		m0_list_for_each_entry(&peer->lpe_lpnis, lpni,
				       struct m0_lnet_lpni, lpn_link) {
			++nr;
			if (!m0_lnet__lpni_invariant(lpni) ||
			    !_0C(lpni->lpn_peer == peer) ||
			    !_0C(m0_list_length(&lpni->lpn_queue) ==
				 (size_t)(lpni->lpn_credits < 0
						  ? -lpni->lpn_credits
						  : 0)))
				return false;
		}
	}
	return _0C(nr == m0_hash_nr(&eng->le_lpnis)) &&
	       _0C(m0_list_length(&eng->le_peers) == eng->le_peers_nr);
}

bool m0_lnet__tables_invariant(const struct m0_lnet_engine *eng)
{
	struct m0_lnet_md *md;

	m0_list_for_each_entry(&eng->le_mds, md, struct m0_lnet_md, md_link)
		if (!m0_lnet__md_invariant(md) ||
		    !_0C(m0_list_length(&md->md_msgs) == md->md_busy_nr))
			return false;
	return m0_lnet__engine_invariant(eng) && nis_invariant(eng) &&
	       peers_invariant(eng);
}
#endif
