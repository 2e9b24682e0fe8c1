/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Peers: their open connections, and which of them a message takes. */
#include "lnd/ksock/sock_internal.h"

/* -- which connection ------------------------------------------------------ */

enum fit {
	FIT_NO,
	FIT_MAYBE,
	FIT_YES
};

/** May a message go on a connection of this type, as we see it? */
static enum fit type_fits(uint32_t version, uint32_t ctype, bool bulk)
{
	bool old = version < M0_SOCK_V3;

	switch (ctype) {
	case M0_SOCK_ANY:
		return old ? FIT_YES : FIT_NO;
	case M0_SOCK_CONTROL:
		return bulk ? FIT_MAYBE : FIT_YES;
	case M0_SOCK_BULK_OUT:
		return bulk ? FIT_YES : FIT_MAYBE;
	default:
		return old ? FIT_MAYBE : FIT_NO;
	}
}

static size_t backlog(const struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;

	return (size_t)conn->cn_queue.qu_bytes +
	       sock->sk_ops->sto_unsent(sock->sk_streams, conn->cn_stream);
}

/** The one with less to send, or that was used longer ago. */
static struct m0_sock_conn *idler(struct m0_sock_conn *best,
				  struct m0_sock_conn *conn)
{
	size_t ours;
	size_t its;

	if (best == NULL)
		return conn;
	its = backlog(best);
	ours = backlog(conn);
	if (ours != its)
		return ours < its ? conn : best;
	return conn->cn_used < best->cn_used ? conn : best;
}

/** Returns the least loaded of the connections that fit. */
static struct m0_sock_conn *idlest(struct m0_sock__peer *peer, bool bulk,
				   enum fit fit)
{
	struct m0_sock_conn *best = NULL;
	struct m0_sock_conn *conn;
	uint32_t             type;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	for (type = 0; type < M0_SOCK__TYPES_NR; ++type) {
		if (type_fits(peer->sp_version, type, bulk) != fit)
			continue;
		m0_list_for_each_entry(&peer->sp_conns[type], conn,
				       struct m0_sock_conn, cn_link)
			best = idler(best, conn);
	}
	return best;
}

/** One that fits so; sets how many there are. */
static struct m0_sock_conn *some_of(struct m0_sock__peer *peer, bool bulk,
				    enum fit fit, unsigned *ret_nr)
{
	struct m0_list_link *link = NULL;
	uint32_t             type;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	*ret_nr = 0;
	for (type = 0; type < M0_SOCK__TYPES_NR; ++type) {
		if (peer->sp_nr[type] == 0 ||
		    type_fits(peer->sp_version, type, bulk) != fit)
			continue;
		*ret_nr += peer->sp_nr[type];
		link = m0_list_first(&peer->sp_conns[type]);
	}
	return link == NULL ? NULL
			    : container_of(link, struct m0_sock_conn, cn_link);
}

/** Finds out what is bulk, and for which size there is no choice. */
static void routes_set(struct m0_sock__peer *peer)
{
	m0_bcount_t min = peer->sp_ni->sni_sock->sk_cfg.soc_min_bulk;
	m0_bcount_t head = M0_SOCK_FRAME_BYTES +
			   (peer->sp_version == M0_SOCK_V4
				    ? M0_SOCK__HDR_LARGE_BYTES
				    : M0_SOCK__HDR_SMALL_BYTES);
	unsigned bulk;
	unsigned nr;

	peer->sp_bulk_bytes = min - min64u(min, head);
	for (bulk = 0; bulk < 2; ++bulk) {
		peer->sp_route[bulk] = some_of(peer, bulk != 0, FIT_YES, &nr);
		if (nr == 0)
			peer->sp_route[bulk] =
				some_of(peer, bulk != 0, FIT_MAYBE, &nr);
		if (nr > 1)
			peer->sp_route[bulk] = NULL;
	}
}

/** One of many, or none. */
static __attribute__((__noinline__)) struct m0_sock_conn *route_choose(
	struct m0_sock__peer *peer, bool bulk)
{
	struct m0_sock_conn *conn;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (peer->sp_open_nr == 0)
		return NULL;
	conn = idlest(peer, bulk, FIT_YES);
	return conn != NULL ? conn : idlest(peer, bulk, FIT_MAYBE);
}

struct m0_sock_conn *m0_sock__peer_route(struct m0_sock__peer *peer,
					 m0_bcount_t           payload_bytes)
{
	bool                 bulk = payload_bytes >= peer->sp_bulk_bytes;
	struct m0_sock_conn *conn = peer->sp_route[bulk];

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	return M0_LIKELY(conn != NULL) ? conn : route_choose(peer, bulk);
}

/* -- messages -------------------------------------------------------------- */

/**
 * Queues a message that no connection takes. The next step decides whether it fails at
 * once; a call of the engine has no current time.
 */
static void wait_for_conn(struct m0_sock__peer *peer, struct m0_lnd_tx *tx)
{
	M0_PRE_EX(m0_sock__peer_invariant(peer));
	tx->ltx_priv[1] = tx;
	m0_list_add_tail(&peer->sp_waiting, &tx->ltx_link);
	m0_sock__alarm_by(peer->sp_ni->sni_sock, &peer->sp_alarm,
			  tx->ltx_deadline);
	m0_sock__peer_work(peer);
	m0_sock__rouse(peer->sp_ni->sni_sock);
}

void m0_sock__peer_xmit(struct m0_sock__peer *peer, struct m0_lnd_tx *tx)
{
	struct m0_sock_conn *conn =
		m0_sock__peer_route(peer, tx->ltx_payload.lpy_bytes);

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (M0_UNLIKELY(conn == NULL)) {
		wait_for_conn(peer, tx);
		return;
	}
	if (M0_UNLIKELY(peer->sp_wants) && peer->sp_dial == NULL &&
	    peer->sp_ni->sni_sock->sk_reactor->rtr_now >= peer->sp_retry_at)
		m0_sock__peer_work(peer);
	m0_sock__out_add(conn, tx);
}

/** Sends the messages that waited. */
static void waiting_go(struct m0_sock__peer *peer)
{
	struct m0_list       list;
	struct m0_list_link *link;
	struct m0_sock_conn *conn;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	m0_list_init(&list);
	m0_list_splice_tail(&list, &peer->sp_waiting);
	while ((link = m0_list_first(&list)) != NULL) {
		struct m0_lnd_tx *tx = m0_sock__tx_of(link);

		m0_list_del(link);
		conn = m0_sock__peer_route(peer, tx->ltx_payload.lpy_bytes);
		if (conn == NULL)
			m0_list_add_tail(&peer->sp_waiting, link);
		else
			m0_sock__out_add(conn, tx);
	}
}

/* -- acknowledgements ------------------------------------------------------ */

void m0_sock__peer_acks_place(struct m0_sock__peer *peer)
{
	M0_PRE_EX(m0_sock__peer_invariant(peer));
	/* The channel that Lustre uses for it comes first. */
	static const uint32_t order[] = { M0_SOCK_BULK_IN, M0_SOCK_CONTROL,
					  M0_SOCK_ANY, M0_SOCK_BULK_OUT };
	unsigned              i;

	m0_list_del(&peer->sp_acks_link);
	if (peer->sp_acks.ack_nr == 0)
		return;
	for (i = 0; i < ARRAY_SIZE(order); ++i) {
		struct m0_list_link *link =
			m0_list_first(&peer->sp_conns[order[i]]);

		if (link == NULL)
			continue;
		m0_sock__out_own(
			container_of(link, struct m0_sock_conn, cn_link));
		return;
	}
}

/* -- connections come and go ----------------------------------------------- */

void m0_sock__peer_opened(struct m0_sock__peer *peer, struct m0_sock_conn *conn)
{
	struct m0_sock        *sock = conn->cn_sock;
	struct m0_lnd_ni_info *info = &peer->sp_ni->sni_info;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	M0_PRE(conn->cn_ctype < M0_SOCK__TYPES_NR);
	conn->cn_state = M0_SOCK__OPEN;
	M0_PRE(conn->cn_peer == peer);
	m0_list_add_tail(&peer->sp_conns[conn->cn_ctype], &conn->cn_link);
	++peer->sp_nr[conn->cn_ctype];
	++peer->sp_open_nr;
	++info->ldi_connections_nr;
	conn->cn_is_near = conn->cn_stream->stm_is_near;
	info->ldi_near_nr += conn->cn_is_near;
	info->ldi_fell_back_nr += conn->cn_stream->stm_fell_back;
	if (conn->cn_active) {
		++info->ldi_dialled_nr;
		m0_sock__dial_ended(conn);
		peer->sp_refusals_nr = 0;
	} else {
		++info->ldi_accepted_nr;
	}
	peer->sp_version = conn->cn_version;
	peer->sp_received = sock->sk_reactor->rtr_now;
	m0_sock__dial_forget(peer);
	routes_set(peer);
	waiting_go(peer);
	m0_sock__dial_more(peer);
	m0_sock__peer_alarm(peer);
}

void m0_sock__peer_lost(struct m0_sock__peer *peer, struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__peer_invariant(peer));
	m0_list_del(&conn->cn_link);
	--peer->sp_nr[conn->cn_ctype];
	--peer->sp_open_nr;
	routes_set(peer);
}

void m0_sock__peer_reset(struct m0_sock__peer *peer, int status)
{
	struct m0_list_link *link;
	unsigned             type;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (peer->sp_open_nr == 0)
		return;
	for (type = 0; type < M0_SOCK__TYPES_NR; ++type)
		while ((link = m0_list_first(&peer->sp_conns[type])) != NULL)
			m0_sock__conn_kill(container_of(link,
							struct m0_sock_conn,
							cn_link),
					   status);
	m0_sock__acks_fini(&peer->sp_acks);
	m0_list_del(&peer->sp_acks_link);
	/*
	 * A bulk connection that could not be made while the peer was ending
	 * says nothing about its next life.
	 */
	m0_sock__dial_forget(peer);
	/* Connections are made anew when there is something to send. */
	if (peer->sp_dial == NULL && !peer->sp_retrying)
		peer->sp_wants = false;
	peer->sp_down = true;
	peer->sp_down_status = status == 0 ? -ECONNRESET : status;
	m0_sock__peer_work(peer);
	m0_sock__rouse(peer->sp_ni->sni_sock);
}

/* -- time ------------------------------------------------------------------ */

/** Ends what has waited too long. @return next deadline. */
static m0_time_t waiting_expire(struct m0_sock__peer *peer)
{
	m0_time_t            now = peer->sp_ni->sni_sock->sk_reactor->rtr_now;
	m0_time_t            next = M0_TIME_NEVER;
	struct m0_list_link *link;
	struct m0_list_link *after;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	m0_list_for_each_safe(&peer->sp_waiting, link, after) {
		struct m0_lnd_tx *tx = m0_sock__tx_of(link);

		if (tx->ltx_deadline > now) {
			next = min64u(next, tx->ltx_deadline);
			continue;
		}
		m0_list_del(link);
		m0_sock__tx_end(tx, -ETIMEDOUT, M0_LND_LOCAL_TIMEOUT);
	}
	return next;
}

/**
 * Returns the time at which to send a keepalive. With many peers the time is
 * rounded down, so that one wake-up serves many; a peer that receives ours need
 * not send its own, nor wake us.
 */
static m0_time_t keepalive_at(const struct m0_sock__peer *peer)
{
	struct m0_sock *sock = peer->sp_ni->sni_sock;
	m0_time_t       period = peer->sp_ni->sni_cfg.son_keepalive_ns;
	m0_time_t       at = m0_time_add(peer->sp_received, period);

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (sock->sk_conns_nr < M0_SOCK__KEEPALIVE_MANY)
		return at;
	return at - at % (period / M0_SOCK__KEEPALIVE_SLOTS);
}

/** Says that we are still there, if the peer has been silent for long. */
static m0_time_t keepalive(struct m0_sock__peer *peer)
{
	struct m0_sock      *sock = peer->sp_ni->sni_sock;
	struct m0_list_link *link =
		m0_list_first(&peer->sp_conns[M0_SOCK_BULK_IN]);
	m0_time_t            period = peer->sp_ni->sni_cfg.son_keepalive_ns;
	struct m0_sock_conn *conn;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (period == 0 || link == NULL || peer->sp_version < M0_SOCK_V3)
		return M0_TIME_NEVER;
	conn = container_of(link, struct m0_sock_conn, cn_link);
	/* The last one was acknowledged, so the peer was there then. */
	if (peer->sp_kept_alive > peer->sp_received &&
	    m0_list_is_empty(&conn->cn_queue.qu_list) &&
	    sock->sk_ops->sto_unsent(sock->sk_streams, conn->cn_stream) == 0)
		peer->sp_received = peer->sp_kept_alive;
	if (sock->sk_reactor->rtr_now < keepalive_at(peer))
		return keepalive_at(peer);
	if (sock->sk_reactor->rtr_now >=
	    m0_time_add(peer->sp_kept_alive, M0_SOCK__KEEPALIVE_GAP_NS)) {
		peer->sp_kept_alive = sock->sk_reactor->rtr_now;
		conn->cn_own.ow_keepalive = true;
		m0_sock__out_own(conn);
	}
	return m0_time_add(peer->sp_kept_alive, M0_SOCK__KEEPALIVE_GAP_NS);
}

/** A peer without use and without a failure to remember is freed. */
static bool peer_is_idle(const struct m0_sock__peer *peer)
{
	const struct m0_sock *sock = peer->sp_ni->sni_sock;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	return peer->sp_open_nr == 0 && peer->sp_dial == NULL &&
	       !peer->sp_retrying && !peer->sp_down &&
	       m0_list_is_empty(&peer->sp_waiting) &&
	       (peer->sp_interval == 0 || peer->sp_ni->sni_stopping ||
		sock->sk_reactor->rtr_now >=
			m0_time_add(peer->sp_retry_at,
				    peer->sp_ni->sni_cfg.son_reconnect_max_ns));
}

void m0_sock__peer_alarm(struct m0_sock__peer *peer)
{
	struct m0_sock *sock = peer->sp_ni->sni_sock;
	m0_time_t       next;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	next = min64u(waiting_expire(peer), keepalive(peer));
	if (peer->sp_retrying)
		next = min64u(next, peer->sp_retry_at);
	else if (peer->sp_interval != 0)
		next = min64u(
			next,
			m0_time_add(peer->sp_retry_at,
				    peer->sp_ni->sni_cfg.son_reconnect_max_ns));
	m0_sock__alarm_set(sock, &peer->sp_alarm, next);
	if (peer_is_idle(peer))
		m0_sock__peer_work(peer);
}

static void peer_rings(struct m0_sock__alarm *alarm)
{
	struct m0_sock__peer *peer =
		container_of(alarm, struct m0_sock__peer, sp_alarm);

	if (peer->sp_retrying)
		m0_sock__dial_more(peer);
	m0_sock__peer_alarm(peer);
}

/* -- life ------------------------------------------------------------------ */

static void key_make(uint8_t key[M0_LNET_NID_BYTES + sizeof(uint32_t)],
		     const struct m0_lnet_nid *nid, uint32_t pid)
{
	m0_lnet_nid_encode(nid, key);
	memcpy(key + M0_LNET_NID_BYTES, &pid, sizeof pid);
}

static struct m0_sock__peer *peer_new(struct m0_sock__ni       *ni,
				      const struct m0_lnet_nid *nid,
				      uint32_t                  pid)
{
	struct m0_sock__peer *peer;
	unsigned              type;

	M0_ALLOC_PTR(peer);
	if (peer == NULL)
		return NULL;
	peer->sp_nid = *nid;
	peer->sp_pid = pid;
	peer->sp_ni = ni;
	for (type = 0; type < M0_SOCK__TYPES_NR; ++type)
		m0_list_init(&peer->sp_conns[type]);
	m0_list_init(&peer->sp_waiting);
	m0_list_link_init(&peer->sp_acks_link);
	m0_list_link_init(&peer->sp_link);
	m0_list_link_init(&peer->sp_failed_link);
	m0_timer_init(&peer->sp_alarm.al_timer);
	peer->sp_alarm.al_rings = peer_rings;
	key_make(peer->sp_key, nid, pid);
	if (m0_hash_add(&ni->sni_peers, &peer->sp_hash, peer->sp_key,
			sizeof peer->sp_key) != 0)
		m0_free0(&peer);
	return peer;
}

/** Another one than the last. */
static __attribute__((__noinline__)) struct m0_sock__peer *peer_find(
	struct m0_sock__ni *ni, const struct m0_lnet_nid *nid, uint32_t pid)
{
	struct m0_sock__peer *peer;
	struct m0_hash_link  *link;
	uint8_t               key[M0_LNET_NID_BYTES + sizeof pid];

	key_make(key, nid, pid);
	link = m0_hash_find(&ni->sni_peers, key, sizeof key);
	peer = link == NULL ? peer_new(ni, nid, pid)
			    : container_of(link, struct m0_sock__peer, sp_hash);
	if (peer != NULL)
		ni->sni_recent = peer;
	return peer;
}

struct m0_sock__peer *m0_sock__peer_get(struct m0_sock__ni       *ni,
					const struct m0_lnet_nid *nid,
					uint32_t                  pid)
{
	struct m0_sock__peer *peer = ni->sni_recent;

	if (M0_LIKELY(peer != NULL && peer->sp_pid == pid &&
		      m0_lnet_nid_eq(&peer->sp_nid, nid)))
		return peer;
	return peer_find(ni, nid, pid);
}

void m0_sock__peer_free(struct m0_sock__peer *peer)
{
	struct m0_sock__ni *ni = peer->sp_ni;

	M0_PRE(peer->sp_open_nr == 0 && peer->sp_dial == NULL);
	M0_PRE(m0_list_is_empty(&peer->sp_waiting));
	if (ni->sni_recent == peer)
		ni->sni_recent = NULL;
	m0_timerq_cancel(&ni->sni_sock->sk_timers, &peer->sp_alarm.al_timer);
	m0_sock__dial_forget(peer);
	m0_sock__acks_fini(&peer->sp_acks);
	m0_list_del(&peer->sp_acks_link);
	m0_list_del(&peer->sp_link);
	m0_hash_del(&ni->sni_peers, &peer->sp_hash);
	m0_free(peer);
}

void m0_sock__peer_work(struct m0_sock__peer *peer)
{
	struct m0_sock *sock = peer->sp_ni->sni_sock;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (!m0_list_link_is_in(&peer->sp_link))
		m0_list_add_tail(&sock->sk_peers, &peer->sp_link);
	sock->sk_pending = true;
}

/** Connects for messages that wait or, if no connection is possible now, ends them. */
static void peer_dial(struct m0_sock__peer *peer)
{
	int rc;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (!m0_list_is_empty(&peer->sp_waiting)) {
		rc = m0_sock__dial_want(peer);
		if (rc != 0)
			m0_sock__tx_end_all(&peer->sp_waiting, rc);
	}
	if (!peer->sp_retrying)
		m0_sock__dial_more(peer);
}

void m0_sock__peer_report(struct m0_sock__peer *peer)
{
	struct m0_sock__ni *ni = peer->sp_ni;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (peer->sp_drop) {
		peer->sp_drop = false;
		m0_sock__peer_reset(peer, -ECONNABORTED);
	}
	m0_list_del(&peer->sp_link);
	peer_dial(peer);
	if (peer->sp_down) {
		peer->sp_down = false;
		ni->sni_sock->sk_spoke = true;
		/* A connection may have been made meanwhile. */
		ni->sni_ni->ldn_ops->lu_peer_down(
			ni->sni_ni, &peer->sp_nid, peer->sp_pid,
			peer->sp_open_nr == 0 ? peer->sp_down_status : 0);
	}
	if (peer_is_idle(peer) && !m0_list_link_is_in(&peer->sp_link))
		m0_sock__peer_free(peer);
	else
		m0_sock__peer_alarm(peer);
}
