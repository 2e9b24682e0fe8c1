/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Connections that this side opens: the peer, the time, and the time of a
 * retry. */
#include "lnd/ksock/sock_internal.h"

/** Which connection to make next: CONTROL, then the bulk ones in turn. */
static uint32_t next_type(const struct m0_sock__peer *peer)
{
	unsigned nr = peer->sp_ni->sni_cfg.son_conns_per_peer;
	unsigned in = peer->sp_nr[M0_SOCK_BULK_IN];
	unsigned out = peer->sp_nr[M0_SOCK_BULK_OUT];

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (peer->sp_nr[M0_SOCK_CONTROL] == 0)
		return M0_SOCK_CONTROL;
	if (in <= out && in < nr)
		return M0_SOCK_BULK_IN;
	return out < nr ? M0_SOCK_BULK_OUT : M0_SOCK_NONE;
}

static bool has_all_types(const struct m0_sock__peer *peer)
{
	M0_PRE_EX(m0_sock__peer_invariant(peer));
	return peer->sp_nr[M0_SOCK_CONTROL] > 0 &&
	       peer->sp_nr[M0_SOCK_BULK_IN] > 0 &&
	       peer->sp_nr[M0_SOCK_BULK_OUT] > 0;
}

static void addr_of_nid(struct m0_host_addr      *addr,
			const struct m0_lnet_nid *nid, uint16_t port)
{
	M0_SET0(addr);
	addr->sa_bytes_nr = nid->ln_size == M0_LNET_NID_SIZE_IPV6 ? 16 : 4;
	memcpy(addr->sa_bytes, nid->ln_addr, addr->sa_bytes_nr);
	addr->sa_port = port;
}

/**
 * Would this be the connection that crashes a Lustre node? One over IPv6 from
 * a port that is not privileged.
 */
static bool is_dangerous(const struct m0_sock_cfg  *cfg,
			 const struct m0_host_addr *to)
{
	return to->sa_bytes_nr == 16 && !cfg->soc_peers_colibri &&
	       (cfg->soc_src_port_max == 0 ||
		cfg->soc_src_port_max > M0_SOCK__PORT_PRIVILEGED_MAX);
}

static void said_why(struct m0_sock__peer *peer, int rc, const char *why)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	M0_SOCK__SAY(peer->sp_ni->sni_sock, M0_LOG_WARN,
		     "sock: cannot connect to %s (%s)%s%s",
		     m0_lnet_nid_print(&peer->sp_nid, nid, sizeof nid),
		     m0_errname(rc), why[0] == '\0' ? "" : ": ", why);
}

/** The connection as such. */
static int dial_begin(struct m0_sock__peer *peer, struct m0_sock_conn *conn,
		      char *why)
{
	struct m0_sock           *sock = conn->cn_sock;
	const struct m0_sock_cfg *cfg = &sock->sk_cfg;
	struct m0_stream         *stream;
	int                       rc;
	static const char         danger[] =
		"over IPv6 a connection from a port above 1023 would crash a "
		"Lustre node with accept=all; set the source ports to 1023 or "
		"less, or declare that all peers are Colibri nodes";

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	addr_of_nid(&conn->cn_local, &peer->sp_ni->sni_ni->ldn_nid, 0);
	addr_of_nid(&conn->cn_remote, &peer->sp_nid, cfg->soc_port);
	if (conn->cn_local.sa_bytes_nr != conn->cn_remote.sa_bytes_nr)
		return -EAFNOSUPPORT;
	if (is_dangerous(cfg, &conn->cn_remote)) {
		memcpy(why, danger, sizeof danger);
		return -EPERM;
	}
	rc = sock->sk_ops->sto_dial(sock->sk_streams, conn, &conn->cn_local,
				    cfg->soc_src_port_min,
				    cfg->soc_src_port_max, &conn->cn_remote,
				    &stream, why);
	if (rc != 0)
		return rc;
	conn->cn_stream = stream;
	stream->stm_counts = &conn->cn_ni->sni_calls;
	return 0;
}

/** Is the peer known only because a node introduced itself, and gets answers alone? */
static bool is_for_answers(const struct m0_sock__peer *peer)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	m0_list_for_each(&peer->sp_waiting, link)
		if (!m0_sock__tx_of(link)->ltx_is_answer)
			return false;
	return peer->sp_open_nr == 0 && !m0_list_is_empty(&peer->sp_waiting);
}

void m0_sock__dial_ended(struct m0_sock_conn *conn)
{
	conn->cn_sock->sk_answering_nr -= conn->cn_answering;
	conn->cn_answering = false;
	conn->cn_peer->sp_dial = NULL;
}

static void dial(struct m0_sock__peer *peer, uint32_t ctype)
{
	struct m0_sock      *sock = peer->sp_ni->sni_sock;
	struct m0_sock_conn *conn = m0_sock__conn_new(sock);
	char                 why[M0_LND_WHY_BYTES] = "";
	int                  rc;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	peer->sp_retrying = false;
	if (conn == NULL) {
		said_why(peer, -ENOBUFS, "too many connections");
		m0_sock__dial_failed(peer, -ENOBUFS);
		return;
	}
	m0_sock__conn_ni(conn, peer->sp_ni);
	conn->cn_state = M0_SOCK__DIALLING;
	conn->cn_active = true;
	conn->cn_ctype = ctype;
	conn->cn_peer = peer;
	peer->sp_dial = conn;
	conn->cn_answering = is_for_answers(peer);
	sock->sk_answering_nr += conn->cn_answering;
	m0_sock__alarm_set(sock, &conn->cn_alarm,
			   m0_time_add(sock->sk_reactor->rtr_now,
				       peer->sp_ni->sni_cfg.son_timeout_ns));
	rc = dial_begin(peer, conn, why);
	if (rc != 0) {
		said_why(peer, rc, why);
		(void)m0_sock__conn_fail(conn, rc);
	}
}

void m0_sock__dial_more(struct m0_sock__peer *peer)
{
	uint32_t type;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (!peer->sp_wants || peer->sp_dial != NULL ||
	    peer->sp_ni->sni_stopping ||
	    peer->sp_ni->sni_sock->sk_reactor->rtr_now < peer->sp_retry_at)
		return;
	type = next_type(peer);
	if (type == M0_SOCK_NONE) {
		peer->sp_retrying = false;
		peer->sp_wants = false;
		return;
	}
	dial(peer, type);
}

/*
 * A peer that sends a request also chooses the NID that we must answer, and may
 * name any number of hosts that do not accept. They must not use up the
 * connections of other peers.
 */
int m0_sock__dial_want(struct m0_sock__peer *peer)
{
	const struct m0_sock *sock = peer->sp_ni->sni_sock;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (peer->sp_ni->sni_stopping)
		return -ENETDOWN;
	if (peer->sp_dial != NULL || peer->sp_retrying)
		return 0;
	if (sock->sk_answering_nr >= m0_sock__share(sock) &&
	    is_for_answers(peer))
		return -EHOSTUNREACH;
	if ((peer->sp_pid & M0_SOCK__PID_USERSPACE) != 0 ||
	    peer->sp_nid.ln_type != M0_LNET_TYPE_TCP)
		return -EHOSTUNREACH;
	/* In the pause the answer is that of the last try. */
	if (sock->sk_reactor->rtr_now < peer->sp_retry_at)
		return peer->sp_failed_status != 0 ? peer->sp_failed_status
						   : -EHOSTUNREACH;
	peer->sp_wants = true;
	return 0;
}

/** A pause, and up to a quarter of it so that peers do not come in step. */
static void pause_for(struct m0_sock__peer *peer, m0_time_t pause)
{
	struct m0_sock *sock = peer->sp_ni->sni_sock;
	m0_time_t       jitter = m0_rand_below(&sock->sk_rand, pause / 4 + 1);

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	peer->sp_retry_at =
		m0_time_add(sock->sk_reactor->rtr_now, pause + jitter);
}

void m0_sock__dial_forget(struct m0_sock__peer *peer)
{
	struct m0_sock *sock = peer->sp_ni->sni_sock;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	peer->sp_interval = 0;
	if (!peer->sp_retrying)
		peer->sp_retry_at = 0;
	if (!m0_list_link_is_in(&peer->sp_failed_link))
		return;
	m0_list_del(&peer->sp_failed_link);
	--sock->sk_failed_nr;
}

/*
 * A peer that sends a request chooses the NID and pid that we must answer, and
 * may name any number that do not exist. If there are too many, the one that
 * failed longest ago is forgotten, and is dialled again as soon as a message
 * needs it.
 */
static void remember(struct m0_sock__peer *peer)
{
	struct m0_sock      *sock = peer->sp_ni->sni_sock;
	struct m0_list_link *first;

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	if (m0_list_link_is_in(&peer->sp_failed_link))
		--sock->sk_failed_nr;
	m0_list_move_tail(&sock->sk_failed, &peer->sp_failed_link);
	if (++sock->sk_failed_nr <= sock->sk_cfg.soc_failed_max)
		return;
	first = m0_list_first(&sock->sk_failed);
	peer = container_of(first, struct m0_sock__peer, sp_failed_link);
	m0_sock__dial_forget(peer);
	m0_sock__peer_work(peer);
}

void m0_sock__dial_failed(struct m0_sock__peer *peer, int status)
{
	const struct m0_sock_net_cfg *cfg = &peer->sp_ni->sni_cfg;
	char                          nid[M0_LNET_NIDSTR_SIZE];

	M0_PRE_EX(m0_sock__peer_invariant(peer));
	M0_SOCK__SAY(peer->sp_ni->sni_sock, M0_LOG_INFO,
		     "sock: no connection to %s: %s",
		     m0_lnet_nid_print(&peer->sp_nid, nid, sizeof nid),
		     m0_errname(status));
	peer->sp_interval = peer->sp_interval == 0
				    ? cfg->son_reconnect_min_ns
				    : min64u(peer->sp_interval * 2,
					     cfg->son_reconnect_max_ns);
	peer->sp_failed_status = status;
	pause_for(peer, peer->sp_interval);
	remember(peer);
	peer->sp_refusals_nr = 0;
	m0_sock__tx_end_all(&peer->sp_waiting, status);
	if (peer->sp_open_nr == 0) {
		peer->sp_wants = false;
		peer->sp_version = 0;
		peer->sp_down = true;
		peer->sp_down_status = status;
	}
	m0_sock__peer_work(peer);
	m0_sock__rouse(peer->sp_ni->sni_sock);
}

/**
 * A peer that held connections to an earlier process with our NID has closed
 * them when it answered NONE, and accepts the next connection. A peer that is
 * connecting to us refuses once more, and then there is a pause.
 */
static bool is_for_old_life(const struct m0_sock__peer *peer)
{
	M0_PRE_EX(m0_sock__peer_invariant(peer));
	return peer->sp_refusals_nr == 1 && peer->sp_open_nr == 0;
}

void m0_sock__dial_refused(struct m0_sock__peer *peer)
{
	M0_PRE_EX(m0_sock__peer_invariant(peer));
	++peer->sp_ni->sni_info.ldi_refused_nr;
	if (++peer->sp_refusals_nr < M0_SOCK__REFUSALS_MAX) {
		peer->sp_retrying = true;
		pause_for(peer,
			  is_for_old_life(peer)
				  ? 0
				  : peer->sp_ni->sni_cfg.son_reconnect_min_ns);
	} else if (has_all_types(peer)) {
		peer->sp_refusals_nr = 0;
		peer->sp_wants = false;
	} else {
		m0_sock__dial_failed(peer, -EHOSTUNREACH);
		return;
	}
	m0_sock__peer_alarm(peer);
}
