/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Peers: which connection a message takes, and when to make another. */
#include "lnd/o2ib/o2ib_internal.h"

static struct m0_o2ib__peer *peer_of(struct m0_hash_link *link)
{
	return link == NULL
		       ? NULL
		       : container_of(link, struct m0_o2ib__peer, ope_hash);
}

struct m0_o2ib__peer *m0_o2ib__peer_find(struct m0_o2ib__ni *ni, uint64_t nid4)
{
	return peer_of(m0_hash_find(&ni->oni_peers, &nid4, sizeof nid4));
}

struct m0_o2ib__peer *m0_o2ib__peer_get(struct m0_o2ib__ni *ni, uint64_t nid4)
{
	struct m0_o2ib__peer *peer = m0_o2ib__peer_find(ni, nid4);
	int                   rc;

	if (M0_LIKELY(peer != NULL))
		return peer;
	M0_PRE(nid4 != ni->oni_self.ibs_nid4);
	M0_ALLOC_PTR(peer);
	if (peer == NULL)
		return NULL;
	rc = m0_lnet_nid_from4(&peer->ope_nid, nid4);
	M0_ASSERT(rc == 0);
	m0_o2ib__peer_init(&peer->ope_wire, &ni->oni_self, nid4);
	peer->ope_ni = ni;
	m0_list_init(&peer->ope_conns);
	m0_list_init(&peer->ope_waiting);
	if (m0_hash_add(&ni->oni_peers, &peer->ope_hash,
			&peer->ope_wire.ibo_nid4,
			sizeof peer->ope_wire.ibo_nid4) != 0) {
		m0_free(peer);
		return NULL;
	}
	return peer;
}

static struct m0_o2ib__conn *conn_up(const struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__conn *conn;

	m0_list_for_each_entry(&peer->ope_conns, conn, struct m0_o2ib__conn,
			       ocn_link)
		if (conn->ocn_state == M0_O2IB__UP)
			return conn;
	return NULL;
}

/** A connection that the peer asked for will be there soon. */
static bool is_coming(const struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__conn *conn;

	m0_list_for_each_entry(&peer->ope_conns, conn, struct m0_o2ib__conn,
			       ocn_link)
		if (conn->ocn_state == M0_O2IB__ACCEPTING)
			return true;
	return false;
}

bool m0_o2ib__is_reached(const struct m0_o2ib__peer *peer)
{
	return conn_up(peer) != NULL || is_coming(peer);
}

/** The connection that a message takes: each in turn. */
static struct m0_o2ib__conn *conn_take(struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__conn *conn = conn_up(peer);

	if (conn != NULL && peer->ope_conns_nr > 1)
		m0_list_move_tail(&peer->ope_conns, &conn->ocn_link);
	return conn;
}

/** Connections that are up, or will be. */
static unsigned conns_nr(const struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__conn *conn;
	unsigned              nr = 0;

	m0_list_for_each_entry(&peer->ope_conns, conn, struct m0_o2ib__conn,
			       ocn_link)
		nr += conn->ocn_state != M0_O2IB__BREAKING;
	return nr;
}

/** Asks for a connection beside those that are up, whose depth and stamp it has learnt: one after
 * the other, so that a peer with other limits refuses but the first. */
static void more_try(struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__ni *ni = peer->ope_ni;
	int                 rc;

	M0_PRE(conn_up(peer) != NULL);
	if (conns_nr(peer) >= ni->oni_cfg.obn_conns_per_peer ||
	    peer->ope_asking != NULL || ni->oni_is_stopping ||
	    m0_o2ib__now(ni->oni_drv) <
		    max64u(peer->ope_more_at, peer->ope_retry_at))
		return;
	rc = m0_o2ib__conn_begin(peer);
	if (rc != 0)
		m0_o2ib__peer_asked(peer, false, 0, rc);
}

void m0_o2ib__peer_try(struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__ni   *ni = peer->ope_ni;
	struct m0_o2ib__conn *conn = conn_up(peer);
	int                   rc;

	/* Messages that another connection has returned take this one. */
	if (conn != NULL && !m0_list_is_empty(&peer->ope_waiting)) {
		m0_o2ib__peer_up(peer, conn);
		return;
	}
	if (conn != NULL) {
		if (peer->ope_is_sent_to)
			more_try(peer);
		return;
	}
	if (m0_list_is_empty(&peer->ope_waiting) || peer->ope_asking != NULL ||
	    ni->oni_is_stopping || is_coming(peer))
		return;
	if (m0_o2ib__now(ni->oni_drv) < peer->ope_retry_at) {
		m0_o2ib__scan_by(ni, peer->ope_retry_at);
		return;
	}
	rc = m0_o2ib__conn_begin(peer);
	if (rc != 0)
		m0_o2ib__peer_asked(peer, false, 0, rc);
}

void m0_o2ib__peer_send(struct m0_o2ib__peer *peer, struct m0_o2ib__msg *msg)
{
	struct m0_o2ib__conn *conn = conn_take(peer);

	msg->oms_peer = peer;
	peer->ope_is_sent_to = true;
	if (M0_LIKELY(conn != NULL)) {
		m0_o2ib__msg_queue(conn, msg);
		if (M0_UNLIKELY(peer->ope_ni->oni_cfg.obn_conns_per_peer > 1))
			more_try(peer);
		return;
	}
	msg->oms_place = M0_O2IB__WAITING;
	m0_list_add_tail(&peer->ope_waiting, &msg->oms_link);
	m0_o2ib__rouse(peer->ope_ni->oni_drv);
	m0_o2ib__peer_try(peer);
}

void m0_o2ib__peer_up(struct m0_o2ib__peer *peer, struct m0_o2ib__conn *conn)
{
	struct m0_list_link *link;

	M0_PRE(conn->ocn_state == M0_O2IB__UP && conn->ocn_peer == peer);
	peer->ope_backoff_ns = 0;
	peer->ope_retry_at = 0;
	if (M0_UNLIKELY(peer->ope_ni->oni_cfg.obn_conns_per_peer > 1))
		m0_o2ib__scan_by(peer->ope_ni,
				 m0_o2ib__now(peer->ope_ni->oni_drv));
	while ((link = m0_list_first(&peer->ope_waiting)) != NULL) {
		m0_list_del(link);
		m0_o2ib__msg_queue(conn,
				   m0_list_entry(link, struct m0_o2ib__msg,
						 oms_link));
	}
}

void m0_o2ib__peer_fail(struct m0_o2ib__peer *peer, int status,
			enum m0_lnd_health health)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&peer->ope_waiting)) != NULL) {
		m0_list_del(link);
		m0_o2ib__msg_fail(m0_list_entry(link, struct m0_o2ib__msg,
						oms_link),
				  status, health);
	}
}

static void backoff(struct m0_o2ib__peer *peer)
{
	const struct m0_o2ib_net_cfg *cfg = &peer->ope_ni->oni_cfg;

	peer->ope_backoff_ns = peer->ope_backoff_ns == 0
				       ? cfg->obn_reconnect_min_ns
				       : min64u(2 * peer->ope_backoff_ns,
						cfg->obn_reconnect_max_ns);
	M0_POST(peer->ope_backoff_ns > 0 &&
		peer->ope_backoff_ns <= cfg->obn_reconnect_max_ns);
	peer->ope_retry_at = m0_time_add(m0_o2ib__now(peer->ope_ni->oni_drv),
					 peer->ope_backoff_ns);
}

static void give_up(struct m0_o2ib__peer *peer, int status)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	M0_PRE(status < 0 && peer->ope_asking == NULL);
	backoff(peer);
	m0_log(M0_LOG_NOTICE, "o2ib: there is no connection to %s: %s",
	       m0_lnet_nid_print(&peer->ope_nid, nid, sizeof nid),
	       m0_errname(status));
	m0_o2ib__peer_fail(peer, status, m0_o2ib__health(status, false));
	peer->ope_is_lost = true;
	peer->ope_lost_status = status;
}

void m0_o2ib__peer_asked(struct m0_o2ib__peer *peer, bool retry,
			 m0_time_t delay_ns, int status)
{
	struct m0_o2ib__drv *drv = peer->ope_ni->oni_drv;

	if (retry)
		peer->ope_retry_at =
			delay_ns == 0
				? 0
				: m0_time_add(m0_o2ib__now(drv), delay_ns);
	else if (!m0_o2ib__is_reached(peer))
		give_up(peer, status);
	else
		peer->ope_more_at =
			m0_time_add(m0_o2ib__now(drv),
				    peer->ope_ni->oni_cfg.obn_reconnect_max_ns);
	/* At the next step, not from within this call. */
	m0_o2ib__scan_by(peer->ope_ni, m0_o2ib__now(drv));
}

/** Is another connection up to the same incarnation of the peer? */
static bool has_another(const struct m0_o2ib__peer *peer,
			const struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__conn *other;

	m0_list_for_each_entry(&peer->ope_conns, other, struct m0_o2ib__conn,
			       ocn_link)
		if (other != conn && other->ocn_state == M0_O2IB__UP &&
		    other->ocn_stamp == conn->ocn_stamp)
			return true;
	return false;
}

void m0_o2ib__peer_broken(struct m0_o2ib__peer *peer,
			  struct m0_o2ib__conn *conn)
{
	if (conn->ocn_was_up) {
		/* Operations that wait for the peer go on by the others. */
		if (!has_another(peer, conn)) {
			peer->ope_is_lost = true;
			peer->ope_lost_status = conn->ocn_status;
		}
		/* A peer that ends connections gets new ones at the pace of messages, and
		 * no faster than this. */
		peer->ope_is_sent_to = false;
		peer->ope_more_at =
			m0_time_add(m0_o2ib__now(peer->ope_ni->oni_drv),
				    peer->ope_ni->oni_cfg.obn_reconnect_min_ns);
	}
	m0_o2ib__scan_by(peer->ope_ni, m0_o2ib__now(peer->ope_ni->oni_drv));
}

void m0_o2ib__peer_check(struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__ni *ni = peer->ope_ni;
	struct m0_lnd_ni   *lnd_ni = ni->oni_ni;

	if (peer->ope_is_lost && !ni->oni_is_stopping) {
		peer->ope_is_lost = false;
		ni->oni_drv->odr_spoke = true;
		lnd_ni->ldn_ops->lu_peer_down(
			lnd_ni, &peer->ope_nid, M0_LNET_PID_LUSTRE,
			conn_up(peer) != NULL ? 0 : peer->ope_lost_status);
	}
	if (peer->ope_conns_nr > 0 || !m0_list_is_empty(&peer->ope_waiting) ||
	    (m0_o2ib__now(ni->oni_drv) < peer->ope_retry_at &&
	     !ni->oni_is_stopping))
		return;
	m0_hash_del(&ni->oni_peers, &peer->ope_hash);
	m0_free(peer);
}

void m0_o2ib__peer_drop(struct m0_o2ib__peer *peer, int status)
{
	struct m0_o2ib__conn *conn;

	m0_list_for_each_entry(&peer->ope_conns, conn, struct m0_o2ib__conn,
			       ocn_link)
		m0_o2ib__conn_break(conn, status);
}
