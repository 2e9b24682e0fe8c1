/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The handshake of a connection. The dialler sends a connection request and a HELLO,
 * and reads a HELLO. The acceptor reads both, and answers, refuses or sends nothing,
 * as the protocol's rules require.
 */
#include <stdio.h>

#include "lnd/ksock/sock_internal.h"

/* -- messages that we send ------------------------------------------------- */

/** Our own version on an interface, if nothing is known of the peer. */
static uint32_t own_version(const struct m0_sock__ni *ni)
{
	return m0_lnet_nid_is_nid4(&ni->sni_ni->ldn_nid) ? M0_SOCK_V3
							 : M0_SOCK_V4;
}

/** Appends a HELLO to the connection's own bytes. False: its version has no such NID. */
static bool hello_put(struct m0_sock_conn *conn, uint32_t version,
		      const struct m0_lnet_nid *to, uint32_t ctype)
{
	const struct m0_lnd_ni *ni = conn->cn_ni->sni_ni;
	struct m0_sock_hello    hello = {
		   .sh_version = version,
		   .sh_src_nid = ni->ldn_nid,
		   .sh_dst_nid = *to,
		   .sh_src_pid = conn->cn_sock->sk_cfg.soc_pid,
		   .sh_src_incarnation = ni->ldn_incarnation,
		   .sh_ctype = ctype
	};
	size_t nr = m0_sock__hello_encode(
		&hello, conn->cn_own.ow_buf + conn->cn_own.ow_bytes);

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_own.ow_bytes += (unsigned)nr;
	return nr > 0;
}

void m0_sock__hello_ask(struct m0_sock_conn *conn)
{
	struct m0_sock__peer  *peer = conn->cn_peer;
	struct m0_sock_request req = { .sr_nid = peer->sp_nid };

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_state = M0_SOCK__ASKING;
	conn->cn_version = peer->sp_version != 0 ? peer->sp_version
						 : own_version(peer->sp_ni);
	conn->cn_own.ow_bytes =
		(unsigned)m0_sock__request_encode(&req, conn->cn_own.ow_buf);
	conn->cn_in = M0_SOCK__IN_HELLO_HEAD;
	conn->cn_want = M0_SOCK_HEAD_BYTES;
	if (!hello_put(conn, conn->cn_version, &peer->sp_nid, conn->cn_ctype)) {
		(void)m0_sock__conn_fail(conn, -EAFNOSUPPORT);
		return;
	}
	m0_sock__out_own(conn);
}

/** The words in cn_own.ow_buf are the last; the connection ends when they left. */
static int refuse(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_ni != NULL)
		++conn->cn_ni->sni_info.ldi_refused_nr;
	conn->cn_state = M0_SOCK__REFUSED;
	conn->cn_in = M0_SOCK__IN_SINK;
	m0_sock__out_own(conn);
	m0_sock__alarm_set(
		sock, &conn->cn_alarm,
		min64u(conn->cn_deadline,
		       sock->sk_reactor->rtr_now + M0_SOCK__LINGER_NS));
	return 0;
}

static int refuse_hello(struct m0_sock_conn *conn, uint32_t version,
			const struct m0_lnet_nid *to)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (!hello_put(conn, version, to, M0_SOCK_NONE))
		return m0_sock__conn_fail(conn, -EPROTO);
	return refuse(conn);
}

/* -- for the log ----------------------------------------------------------- */

static int wrong(struct m0_sock_conn *conn, int rc, const char *what)
{
	char addr[M0_SOCK__ADDRSTR_BYTES];

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	M0_SOCK__SAY(conn->cn_sock, M0_LOG_WARN, "sock: %s %s: %s",
		     conn->cn_active ? "connecting to" : "connection from",
		     m0_sock__addr_print(&conn->cn_remote, addr), what);
	return m0_sock__conn_fail(conn, rc);
}

static int wrong_nid(struct m0_sock_conn *conn, int rc, const char *what,
		     const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];
	char line[256];

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	m0_lnet_nid_print(nid, text, sizeof text);
	snprintf(line, sizeof line, "%s: %s", what, text);
	return wrong(conn, rc, line);
}

/* -- messages that an acceptor receives ------------------------------------ */

static int want(struct m0_sock_conn *conn, enum m0_sock__in in, unsigned bytes)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_in = in;
	conn->cn_want = bytes;
	return 0;
}

static int refuse_request(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_own.ow_bytes =
		(unsigned)m0_sock__request_refuse(conn->cn_own.ow_buf);
	return refuse(conn);
}

static int request_magic(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	switch (m0_sock__request_magic(conn->cn_stage)) {
	case 0:
		return want(conn, M0_SOCK__IN_REQUEST_HEAD, M0_SOCK_HEAD_BYTES);
	case -EPROTONOSUPPORT:
		return refuse_request(conn);
	default:
		return wrong(conn, -EPROTO, "not a connection request of LNet");
	}
}

static int request_head(struct m0_sock_conn *conn)
{
	int nr = m0_sock__request_bytes(conn->cn_stage);

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	return nr > 0 ? want(conn, M0_SOCK__IN_REQUEST, (unsigned)nr)
		      : refuse_request(conn);
}

static int request_come(struct m0_sock_conn *conn)
{
	struct m0_sock_request req;
	struct m0_sock__ni    *ni;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (m0_sock__request_decode(&req, conn->cn_stage) != 0)
		return wrong(conn, -EPROTO, "not a NID that it wants to reach");
	ni = m0_sock__ni_find(conn->cn_sock, &req.sr_nid);
	if (ni == NULL)
		return wrong_nid(conn, -EPERM,
				 "the peer wants a NID that is not ours",
				 &req.sr_nid);
	m0_sock__conn_ni(conn, ni);
	conn->cn_staged = 0;
	return want(conn, M0_SOCK__IN_HELLO_HEAD, M0_SOCK_HEAD_BYTES);
}

/** Is a connection of ours to the same address being made? */
static bool is_race(const struct m0_sock__peer *peer,
		    const struct m0_sock_conn  *conn)
{
	const struct m0_sock_conn *ours = peer->sp_dial;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	return ours != NULL &&
	       ours->cn_remote.sa_bytes_nr == conn->cn_remote.sa_bytes_nr &&
	       memcmp(ours->cn_remote.sa_bytes, conn->cn_remote.sa_bytes,
		      conn->cn_remote.sa_bytes_nr) == 0 &&
	       m0_lnet_nid_cmp(&conn->cn_ni->sni_ni->ldn_nid, &peer->sp_nid) >
		       0;
}

/** True if what is open belongs to an earlier life of the peer. */
static bool is_reborn(const struct m0_sock__peer *peer,
		      const struct m0_sock_hello *hello)
{
	return peer->sp_open_nr > 0 &&
	       (peer->sp_version != hello->sh_version ||
		peer->sp_incarnation != hello->sh_src_incarnation);
}

static void reborn(struct m0_sock__peer *peer)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	M0_SOCK__SAY(peer->sp_ni->sni_sock, M0_LOG_NOTICE,
		     "sock: %s has started anew: its old connections are "
		     "closed",
		     m0_lnet_nid_print(&peer->sp_nid, nid, sizeof nid));
	m0_sock__peer_reset(peer, -ECONNRESET);
	peer->sp_version = 0;
}

static unsigned conns_max_of_type(const struct m0_sock__ni *ni, uint32_t ctype)
{
	unsigned nr = ni->sni_cfg.son_conns_per_peer;

	if (ctype == M0_SOCK_CONTROL)
		return 1;
	return nr > M0_SOCK__CONNS_PER_TYPE_MAX
		       ? nr
		       : (unsigned)M0_SOCK__CONNS_PER_TYPE_MAX;
}

/**
 * A peer asks for more connections of a type than it may have: it may have lost
 * those that are open here. If so, its system answers what we say on them with
 * a reset, and the next connection is accepted.
 */
static void surplus_ask(struct m0_sock__peer *peer, uint32_t ctype)
{
	struct m0_sock_conn *conn;

	if (peer->sp_version < M0_SOCK_V3)
		return;
	m0_list_for_each_entry(&peer->sp_conns[ctype], conn,
			       struct m0_sock_conn, cn_link) {
		if (!m0_list_is_empty(&conn->cn_queue.qu_list))
			continue;
		conn->cn_own.ow_keepalive = true;
		m0_sock__out_own(conn);
	}
}

/** True if the peer has all the connections of the type that it may have. */
static bool is_surplus(const struct m0_sock_conn *conn,
		       struct m0_sock__peer      *peer)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (peer->sp_nr[conn->cn_ctype] <
	    conns_max_of_type(conn->cn_ni, conn->cn_ctype))
		return false;
	surplus_ask(peer, conn->cn_ctype);
	return true;
}

/** Returns the reason why a HELLO is invalid in every state, or NULL. */
static const char *hello_flaw(const struct m0_sock_conn  *conn,
			      const struct m0_sock_hello *hello)
{
	const struct m0_lnet_nid *ours = &conn->cn_ni->sni_ni->ldn_nid;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (hello->sh_version == M0_SOCK_V1)
		return "the peer speaks version 1 of the socket protocol, "
		       "which nodes older than Lustre 1.8 use: refused; it "
		       "needs a newer release";
	if (m0_lnet_nid_is_any(&hello->sh_src_nid) ||
	    m0_lnet_nid_net(&hello->sh_src_nid) != m0_lnet_nid_net(ours))
		return "its NID is not of this network";
	if (m0_lnet_nid_eq(&hello->sh_src_nid, ours))
		return "the peer uses our NID as its own";
	if (hello->sh_ctype > M0_SOCK_BULK_OUT &&
	    !(conn->cn_active && hello->sh_ctype == M0_SOCK_NONE))
		return "unknown type of connection";
	return NULL;
}

static int accept_open(struct m0_sock_conn *conn, struct m0_sock__peer *peer,
		       const struct m0_sock_hello *hello)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (!hello_put(conn, hello->sh_version, &peer->sp_nid, conn->cn_ctype))
		return wrong(conn, -EPROTO, "its version cannot carry our NID");
	--conn->cn_sock->sk_accepting_nr;
	m0_list_del(&conn->cn_link);
	peer->sp_incarnation = hello->sh_src_incarnation;
	m0_sock__out_own(conn);
	conn->cn_peer = peer;
	m0_sock__in_open(conn);
	m0_sock__peer_opened(peer, conn);
	return 0;
}

/** A HELLO to an acceptor is complete and possible. */
static int hello_asked(struct m0_sock_conn        *conn,
		       const struct m0_sock_hello *hello)
{
	struct m0_sock__peer *peer;
	bool                  unwanted;
	int                   rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_ctype = m0_sock__ctype_invert(hello->sh_ctype);
	peer = m0_sock__peer_get(conn->cn_ni, &hello->sh_src_nid,
				 hello->sh_src_pid);
	if (peer == NULL)
		return m0_sock__conn_fail(conn, -ENOMEM);
	unwanted = is_race(peer, conn);
	if (!unwanted && is_reborn(peer, hello)) {
		reborn(peer);
		unwanted = true;
	}
	if (unwanted || is_surplus(conn, peer))
		rc = refuse_hello(conn, conn->cn_version, &peer->sp_nid);
	else
		rc = accept_open(conn, peer, hello);
	/* The peer may have been created in vain. */
	if (peer->sp_open_nr == 0)
		m0_sock__peer_work(peer);
	return rc;
}

/* -- messages that a dialler receives -------------------------------------- */

static int answer_none(struct m0_sock_conn        *conn,
		       const struct m0_sock_hello *hello)
{
	struct m0_sock__peer *peer = conn->cn_peer;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (hello->sh_version != conn->cn_version && peer->sp_open_nr == 0)
		peer->sp_version = hello->sh_version;
	m0_sock__conn_kill(conn, -EALREADY);
	m0_sock__dial_refused(peer);
	return -EALREADY;
}

/** A HELLO in answer to ours is complete and possible. */
static int hello_answered(struct m0_sock_conn        *conn,
			  const struct m0_sock_hello *hello)
{
	struct m0_sock__peer *peer = conn->cn_peer;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (!m0_lnet_nid_eq(&hello->sh_src_nid, &peer->sp_nid) ||
	    hello->sh_src_pid != peer->sp_pid)
		return wrong_nid(conn, -EPROTO,
				 "another answered:", &hello->sh_src_nid);
	if (hello->sh_ctype == M0_SOCK_NONE)
		return answer_none(conn, hello);
	if (m0_sock__ctype_invert(hello->sh_ctype) != conn->cn_ctype)
		return wrong(
			conn, -EPROTO,
			"the peer answered with another type of connection");
	if (is_reborn(peer, hello))
		reborn(peer);
	peer->sp_incarnation = hello->sh_src_incarnation;
	conn->cn_peer = peer;
	m0_sock__in_open(conn);
	m0_sock__peer_opened(peer, conn);
	return 0;
}

/* -- HELLO, either way ----------------------------------------------------- */

static int hello_head(struct m0_sock_conn *conn)
{
	int nr = m0_sock__hello_bytes(conn->cn_stage);

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (nr > 0)
		return want(conn, M0_SOCK__IN_HELLO, (unsigned)nr);
	if (!conn->cn_active && nr == -EPROTONOSUPPORT)
		return refuse_hello(conn, own_version(conn->cn_ni),
				    &conn->cn_ni->sni_ni->ldn_nid);
	if (conn->cn_active && m0_sock__request_bytes(conn->cn_stage) > 0)
		return wrong(conn, -EPROTONOSUPPORT,
			     "its acceptor does not know the version of our "
			     "connection request (before 2.15 a Lustre node "
			     "knows no IPv6)");
	return wrong(conn, -EPROTO, "not a HELLO that is known");
}

static int hello_complete(struct m0_sock_conn        *conn,
			  const struct m0_sock_hello *hello)
{
	const char *flaw = hello_flaw(conn, hello);

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (flaw != NULL)
		return wrong_nid(conn, -EPROTO, flaw, &hello->sh_src_nid);
	/* With the answer NONE, the version is the requested one. */
	if (hello->sh_ctype != M0_SOCK_NONE)
		conn->cn_version = hello->sh_version;
	conn->cn_swapped = hello->sh_swapped;
	return conn->cn_active ? hello_answered(conn, hello)
			       : hello_asked(conn, hello);
}

static int hello_bad(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	return wrong(conn, -EPROTO, "not a HELLO that can be");
}

static int hello_come(struct m0_sock_conn *conn)
{
	struct m0_sock_hello hello;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (m0_sock__hello_decode(&hello, conn->cn_stage) != 0)
		return hello_bad(conn);
	if (hello.sh_ips_nr == 0)
		return hello_complete(conn, &hello);
	return want(conn, M0_SOCK__IN_IPS,
		    conn->cn_want +
			    hello.sh_ips_nr * (unsigned)sizeof(uint32_t));
}

static int ips_come(struct m0_sock_conn *conn)
{
	int      bytes = m0_sock__hello_bytes(conn->cn_stage);
	unsigned nr = (conn->cn_want - (unsigned)bytes) /
		      (unsigned)sizeof(uint32_t);
	struct m0_sock_hello hello;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (m0_sock__hello_decode(&hello, conn->cn_stage) != 0)
		return hello_bad(conn);
	if (m0_sock__hello_ips_bad(conn->cn_stage + bytes, nr))
		return wrong(conn, -EPROTO, "an address of 0 in its HELLO");
	return hello_complete(conn, &hello);
}

int m0_sock__hello_staged(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	switch (conn->cn_in) {
	case M0_SOCK__IN_REQUEST_MAGIC:
		return request_magic(conn);
	case M0_SOCK__IN_REQUEST_HEAD:
		return request_head(conn);
	case M0_SOCK__IN_REQUEST:
		return request_come(conn);
	case M0_SOCK__IN_HELLO_HEAD:
		return hello_head(conn);
	case M0_SOCK__IN_HELLO:
		return hello_come(conn);
	default:
		M0_ASSERT(conn->cn_in == M0_SOCK__IN_IPS);
		return ips_come(conn);
	}
}

/* -- from the room below --------------------------------------------------- */

static bool may_come(struct m0_sock *sock, const struct m0_host_addr *remote)
{
	const struct m0_sock_cfg *cfg = &sock->sk_cfg;
	char                      addr[M0_SOCK__ADDRSTR_BYTES];

	if (cfg->soc_accept == M0_SOCK_ACCEPT_NONE)
		return false;
	if (cfg->soc_accept == M0_SOCK_ACCEPT_SECURE &&
	    remote->sa_port > M0_SOCK__PORT_PRIVILEGED_MAX) {
		M0_SOCK__SAY(sock, M0_LOG_WARN,
			     "sock: connection from %s refused: insecure port "
			     "(accept=secure wants 1023 at most, accept=all "
			     "any)",
			     m0_sock__addr_print(remote, addr));
		return false;
	}
	return !m0_sock__host_is_full(sock, remote);
}

static struct m0_sock_conn *come(struct m0_sock            *sock,
				 const struct m0_host_addr *remote)
{
	struct m0_sock_conn *conn;
	char                 addr[M0_SOCK__ADDRSTR_BYTES];

	if (!may_come(sock, remote))
		return NULL;
	conn = m0_sock__conn_new(sock);
	if (conn == NULL) {
		M0_SOCK__SAY(sock, M0_LOG_WARN,
			     "sock: connection from %s refused: no room for "
			     "more than %u",
			     m0_sock__addr_print(remote, addr),
			     sock->sk_conns_nr);
		return NULL;
	}
	conn->cn_remote = *remote;
	if (m0_sock__host_get(conn) == 0)
		return conn;
	--sock->sk_conns_nr;
	m0_free(conn);
	return NULL;
}

/**
 * Makes room for one more that has not introduced itself: the one that has had
 * longest to do so ends. Were it the newest, a stranger that renews its silent
 * connections would keep everybody out.
 */
static void room_make(struct m0_sock *sock)
{
	struct m0_list_link *oldest;

	if (sock->sk_accepting_nr < sock->sk_cfg.soc_accepting_max)
		return;
	oldest = m0_list_first(&sock->sk_accepting);
	M0_SOCK__SAY(sock, M0_LOG_WARN,
		     "sock: more than %u connections have not introduced "
		     "themselves: the oldest is closed",
		     sock->sk_cfg.soc_accepting_max);
	(void)m0_sock__conn_fail(
		container_of(oldest, struct m0_sock_conn, cn_link), -EUSERS);
}

void *m0_sock__accepted(void *owner, struct m0_stream_listener *listener,
			const struct m0_host_addr *local,
			const struct m0_host_addr *remote,
			struct m0_stream          *stream)
{
	struct m0_sock      *sock = owner;
	struct m0_sock_conn *conn = come(sock, remote);

	(void)listener;
	sock->sk_reactor->rtr_called = true;
	if (conn == NULL) {
		m0_sock__bad_count(sock, NULL);
		return NULL;
	}
	room_make(sock);
	conn->cn_stream = stream;
	conn->cn_state = M0_SOCK__ACCEPTING;
	conn->cn_local = *local;
	conn->cn_in = M0_SOCK__IN_REQUEST_MAGIC;
	conn->cn_want = M0_SOCK_MAGIC_BYTES;
	++sock->sk_accepting_nr;
	m0_list_add_tail(&sock->sk_accepting, &conn->cn_link);
	conn->cn_deadline = m0_time_add(sock->sk_reactor->rtr_now,
					sock->sk_cfg.soc_accept_timeout_ns);
	m0_sock__alarm_set(sock, &conn->cn_alarm, conn->cn_deadline);
	return conn;
}

void m0_sock__dialled(void *user, const struct m0_host_addr *local)
{
	struct m0_sock_conn *conn = user;

	M0_PRE(conn->cn_state == M0_SOCK__DIALLING);
	conn->cn_sock->sk_reactor->rtr_called = true;
	conn->cn_local = *local;
	m0_sock__hello_ask(conn);
}
