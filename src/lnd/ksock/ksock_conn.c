/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Life of a connection, and its time-outs. */
#include "lnd/ksock/sock_internal.h"

/* -- what is late ---------------------------------------------------------- */

/**
 * The stream has taken bytes, none of them lately, that the peer does not
 * acknowledge.
 */
static bool is_mute(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;
	size_t          unsent =
		sock->sk_ops->sto_unsent(sock->sk_streams, conn->cn_stream);

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (unsent == 0 || unsent != conn->cn_queue.qu_unsent ||
	    conn->cn_queue.qu_since > conn->cn_queue.qu_unsent_since) {
		conn->cn_queue.qu_unsent = unsent;
		conn->cn_queue.qu_unsent_since = sock->sk_reactor->rtr_now;
		return false;
	}
	return sock->sk_reactor->rtr_now >=
	       m0_time_add(conn->cn_queue.qu_unsent_since,
			   m0_sock__conn_cfg(conn)->son_timeout_ns);
}

/** Next point at which an open connection may be late; 0: it is. */
static m0_time_t open_deadline(struct m0_sock_conn *conn)
{
	m0_time_t timeout = m0_sock__conn_cfg(conn)->son_timeout_ns;
	m0_time_t now = conn->cn_sock->sk_reactor->rtr_now;
	m0_time_t next = M0_TIME_NEVER;
	m0_time_t late;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (m0_sock__in_is_partial(conn)) {
		late = m0_time_add(conn->cn_pace.pac_since, timeout);
		if (late <= now)
			return 0;
		next = late;
	}
	if (M0_UNLIKELY(conn->cn_queue.qu_by != 0)) {
		if (conn->cn_queue.qu_by <= now)
			return 0;
		next = min64u(next, conn->cn_queue.qu_by);
	}
	if (M0_UNLIKELY(m0_sock__out_is_starved(conn)))
		/* The next bytes are late, not the peer. */
		return min64u(next, m0_sock__out_expire(conn));
	if (!m0_list_is_empty(&conn->cn_queue.qu_list)) {
		late = m0_time_add(m0_sock__out_since(conn), timeout);
		if (late <= now)
			return 0;
		next = min64u(next, late);
		return min64u(next, m0_sock__out_expire(conn));
	}
	if (is_mute(conn))
		return 0;
	if (conn->cn_queue.qu_unsent > 0)
		next = min64u(next, m0_time_add(conn->cn_queue.qu_unsent_since,
						timeout));
	return next;
}

void m0_sock__conn_alarm(struct m0_sock_conn *conn)
{
	m0_time_t next = open_deadline(conn);

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (next == 0) {
		M0_SOCK__SAY(conn->cn_sock, M0_LOG_WARN,
			     "sock: a peer makes no progress: its connections "
			     "are closed");
		(void)m0_sock__conn_fail(conn, -ETIMEDOUT);
		return;
	}
	m0_sock__alarm_set(conn->cn_sock, &conn->cn_alarm, next);
}

/** Has the refused peer got our answer, or had its time? */
static void refused_look(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (sock->sk_reactor->rtr_now >= conn->cn_deadline) {
		(void)m0_sock__conn_fail(conn, -ETIMEDOUT);
		return;
	}
	if (m0_list_is_empty(&conn->cn_queue.qu_list) &&
	    sock->sk_ops->sto_unsent(sock->sk_streams, conn->cn_stream) == 0) {
		m0_sock__conn_kill(conn, -ECONNREFUSED);
		return;
	}
	m0_sock__alarm_set(
		sock, &conn->cn_alarm,
		min64u(conn->cn_deadline,
		       sock->sk_reactor->rtr_now + M0_SOCK__LINGER_NS));
}

static void conn_rings(struct m0_sock__alarm *alarm)
{
	struct m0_sock_conn *conn =
		container_of(alarm, struct m0_sock_conn, cn_alarm);

	switch (conn->cn_state) {
	case M0_SOCK__OPEN:
		m0_sock__conn_alarm(conn);
		break;
	case M0_SOCK__REFUSED:
		refused_look(conn);
		break;
	case M0_SOCK__DEAD:
		break;
	default:
		(void)m0_sock__conn_fail(conn, -ETIMEDOUT);
	}
}

/* -- life ------------------------------------------------------------------ */

struct m0_sock_conn *m0_sock__conn_new(struct m0_sock *sock)
{
	struct m0_sock_conn *conn;

	if (sock->sk_conns_nr >= sock->sk_cfg.soc_conns_max)
		return NULL;
	M0_ALLOC_PTR(conn);
	if (conn == NULL)
		return NULL;
	conn->cn_sock = sock;
	conn->cn_alarm.al_rings = conn_rings;
	m0_timer_init(&conn->cn_alarm.al_timer);
	m0_list_link_init(&conn->cn_link);
	m0_list_link_init(&conn->cn_paused);
	m0_list_link_init(&conn->cn_own.ow_link);
	m0_list_init(&conn->cn_queue.qu_list);
	++sock->sk_conns_nr;
	return conn;
}

void m0_sock__conn_ni(struct m0_sock_conn *conn, struct m0_sock__ni *ni)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	M0_PRE(conn->cn_ni == NULL);
	conn->cn_ni = ni;
	++ni->sni_conns_nr;
	if (conn->cn_stream != NULL)
		conn->cn_stream->stm_counts = &ni->sni_calls;
}

/** Takes it out of wherever it is. */
static void conn_leave(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;

	switch (conn->cn_state) {
	case M0_SOCK__DIALLING:
	case M0_SOCK__ASKING:
		m0_sock__dial_ended(conn);
		break;
	case M0_SOCK__ACCEPTING:
	case M0_SOCK__REFUSED:
		--sock->sk_accepting_nr;
		m0_list_del(&conn->cn_link);
		break;
	case M0_SOCK__OPEN:
		m0_sock__peer_lost(conn->cn_peer, conn);
		++conn->cn_ni->sni_info.ldi_lost_nr;
		--conn->cn_ni->sni_info.ldi_connections_nr;
		conn->cn_ni->sni_info.ldi_near_nr -= conn->cn_is_near;
		break;
	case M0_SOCK__DEAD:
		M0_IMPOSSIBLE("a connection ends once");
	}
}

void m0_sock__conn_kill(struct m0_sock_conn *conn, int status)
{
	struct m0_sock *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn_leave(conn);
	conn->cn_state = M0_SOCK__DEAD;
	conn->cn_status = status == 0 ? -ECONNRESET : status;
	m0_timerq_cancel(&sock->sk_timers, &conn->cn_alarm.al_timer);
	if (conn->cn_stream != NULL)
		sock->sk_ops->sto_hangup(sock->sk_streams, conn->cn_stream,
					 conn->cn_is_hostile);
	conn->cn_stream = NULL;
	m0_list_del(&conn->cn_paused);
	m0_sock__host_put(conn);
	m0_sock__out_kill(conn, conn->cn_status);
	--sock->sk_conns_nr;
	m0_list_add_tail(&sock->sk_dead, &conn->cn_link);
	m0_sock__rouse(sock);
}

/**
 * Has the peer broken the protocol, made no progress, or not introduced itself?
 * Then nothing is kept for it. Other connections of the same peer end in order,
 * and an honest one notices that.
 */
static bool is_hostile(const struct m0_sock_conn *conn, int status)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	switch (status) {
	case -EPROTO:
	case -EUSERS:
	case -ENOBUFS:
		return true;
	case -ETIMEDOUT:
		return !conn->cn_active || conn->cn_state == M0_SOCK__OPEN;
	default:
		return false;
	}
}

int m0_sock__conn_fail(struct m0_sock_conn *conn, int status)
{
	struct m0_sock__peer *peer = conn->cn_peer;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_is_hostile = is_hostile(conn, status);
	switch (conn->cn_state) {
	case M0_SOCK__DIALLING:
	case M0_SOCK__ASKING:
		m0_sock__conn_kill(conn, status);
		m0_sock__dial_failed(peer, status);
		/* The set that it was for was lost: as in peer_reset(). */
		if (conn->cn_ctype != M0_SOCK_CONTROL && peer->sp_open_nr == 0)
			m0_sock__dial_forget(peer);
		break;
	case M0_SOCK__ACCEPTING:
		m0_sock__bad_count(conn->cn_sock, conn->cn_ni);
		m0_sock__conn_kill(conn, status);
		break;
	case M0_SOCK__REFUSED:
		m0_sock__conn_kill(conn, status);
		break;
	case M0_SOCK__OPEN:
		m0_sock__peer_reset(peer, status);
		break;
	case M0_SOCK__DEAD:
		break;
	}
	return status;
}

void m0_sock__conn_cut(struct m0_sock_conn *conn, int status)
{
	struct m0_sock__peer *peer = conn->cn_peer;
	struct m0_list        moved;
	struct m0_list_link  *link;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	M0_PRE(conn->cn_state == M0_SOCK__OPEN);
	if (peer->sp_open_nr == 1) {
		(void)m0_sock__conn_fail(conn, status);
		return;
	}
	m0_list_init(&moved);
	m0_sock__out_move(conn, &moved);
	m0_sock__conn_kill(conn, status);
	while ((link = m0_list_first(&moved)) != NULL) {
		m0_list_del(link);
		m0_sock__peer_xmit(peer, m0_sock__tx_of(link));
	}
	if (!conn->cn_active)
		return;
	/* This side made the connection, and makes another one. */
	peer->sp_wants = true;
	m0_sock__peer_work(peer);
}

void m0_sock__conn_free(struct m0_sock_conn *conn)
{
	struct m0_sock__ni *ni = conn->cn_ni;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	M0_PRE(conn->cn_state == M0_SOCK__DEAD);
	m0_list_del(&conn->cn_link);
	if (conn->cn_in_rx) {
		conn->cn_in_rx = false;
		conn->cn_sock->sk_spoke = true;
		ni->sni_ni->ldn_ops->lu_rx_done(
			&conn->cn_rx, conn->cn_status,
			m0_sock__health(conn->cn_status));
	}
	if (ni != NULL)
		--ni->sni_conns_nr;
	m0_free(conn);
}

/* -- from the room below --------------------------------------------------- */

/*
 * A peer that closes without sending anything has accepted the connection: one
 * that is not there refuses it. The close may arrive before the report that the
 * connection was made.
 */
static bool is_turned_away(const struct m0_sock_conn *conn, int status)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	return conn->cn_state == M0_SOCK__ASKING ||
	       (conn->cn_state == M0_SOCK__DIALLING && status == -ECONNRESET);
}

void m0_sock__broken(void *user, int status)
{
	struct m0_sock_conn *conn = user;
	char                 nid[M0_LNET_NIDSTR_SIZE];

	conn->cn_sock->sk_reactor->rtr_called = true;
	conn->cn_stream = NULL;
	if (is_turned_away(conn, status))
		M0_SOCK__SAY(conn->cn_sock, M0_LOG_WARN,
			     "sock: %s closed our connection before its HELLO: "
			     "it accepts other source ports only "
			     "(accept=secure: 1023 at most), or that NID is "
			     "not one of its own",
			     m0_lnet_nid_print(&conn->cn_peer->sp_nid, nid,
					       sizeof nid));
	/* A router closes the connection of a message whose rest will not come
	 * to it. If the peer has ended, its other connections end, too. */
	if (status == 0 && conn->cn_state == M0_SOCK__OPEN && conn->cn_in_rx)
		m0_sock__conn_cut(conn, -ECONNRESET);
	else
		(void)m0_sock__conn_fail(conn,
					 status == 0 ? -ECONNRESET : status);
}
