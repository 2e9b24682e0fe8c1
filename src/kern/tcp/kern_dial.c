/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How connections begin at this end, and how all of them end.
 *
 * One source port serves connections to different peers: which pair is taken shows when
 * connecting.
 *
 * A Lustre node does not notice the reset of an idle connection, but the end of a
 * stream at once. So FIN leaves first, behind what was written; then unread bytes are
 * discarded, since the kernel resets a connection that is closed with any.
 * TCP_LINGER2 = -1 has the kernel forget the connection when the peer has acknowledged
 * the FIN.
 *
 * A socket of the kernel does not keep its namespace, so that the kernel stops its timers
 * when it is released: what was lost would not be sent again. So one that ends counts for
 * its namespace until it is over. TCP_USER_TIMEOUT is the time without any progress, and a
 * peer may acknowledge byte after byte, so the node looks after it, too. In a namespace that
 * ends it cannot count, and is kept until the peer has acknowledged the end.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include <net/tcp_states.h>

#include "kern/tcp/kern_tcp.h"

enum {
	/* Dead peers are found as Lustre's nodes find them. */
	KEEP_IDLE_S = 30,
	KEEP_INTERVAL_S = 5,
	KEEP_PROBES = 5,
	/** Calls that discard unread bytes; each takes all there are. */
	DISCARDS_MAX = 16,
	DISCARD_BYTES = 1 << 30,
	/** The kernel sends what was written for so long after the end. */
	LAST_BYTES_MS = 5000
};

static int option_set(struct socket *sock, int level, int name, const void *val,
		      unsigned bytes)
{
	sockptr_t ptr = KERNEL_SOCKPTR((void *)(uintptr_t)val);

	return level == SOL_SOCKET
		       ? sock_setsockopt(sock, level, name, ptr, bytes)
		       : sock->ops->setsockopt(sock, level, name, ptr, bytes);
}

static int option_int(struct socket *sock, int level, int name, int val)
{
	return option_set(sock, level, name, &val, sizeof val);
}

static int options_always(struct socket *sock)
{
	static const struct {
		int level;
		int name;
		int val;
	} options[] = {
		{ SOL_SOCKET, SO_REUSEADDR, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ SOL_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ SOL_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S },
		{ SOL_TCP, TCP_KEEPCNT, KEEP_PROBES },
		{ SOL_TCP, TCP_NODELAY, 1 },
		{ SOL_TCP, TCP_LINGER2, -1 },
	};
	size_t i;
	int    rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(options); ++i)
		rc = option_int(sock, options[i].level, options[i].name,
				options[i].val);
	return rc;
}

static int options_wanted(struct socket *sock, const struct m0_streams_cfg *cfg)
{
	size_t len = strnlen(cfg->sic_congestion, sizeof cfg->sic_congestion);
	int    rc = 0;

	if (cfg->sic_sndbuf_bytes != 0)
		rc = option_int(sock, SOL_SOCKET, SO_SNDBUF,
				(int)cfg->sic_sndbuf_bytes);
	if (rc == 0 && cfg->sic_rcvbuf_bytes != 0)
		rc = option_int(sock, SOL_SOCKET, SO_RCVBUF,
				(int)cfg->sic_rcvbuf_bytes);
	if (rc == 0 && len != 0)
		rc = option_set(sock, SOL_TCP, TCP_CONGESTION,
				cfg->sic_congestion, (unsigned)len);
	return rc;
}

int kern_socket(const struct kern_tcp *tcp, const struct m0_host_addr *addr,
		struct socket **ret)
{
	bool           is_ip6 = addr->sa_bytes_nr == 16;
	struct socket *sock;
	int            rc;

	rc = sock_create_kern(tcp->knt_reactor->knr_net,
			      is_ip6 ? AF_INET6 : AF_INET, SOCK_STREAM,
			      IPPROTO_TCP, &sock);
	if (rc != 0)
		return rc;
	/* Reclaim of memory may wait for what this node sends. */
	sock->sk->sk_allocation = GFP_NOFS;
	rc = options_always(sock);
	if (rc == 0 && is_ip6)
		rc = option_int(sock, SOL_IPV6, IPV6_V6ONLY, 1);
	if (rc == 0)
		rc = options_wanted(sock, &tcp->knt_cfg);
	if (rc != 0)
		sock_release(sock);
	else
		*ret = sock;
	return rc;
}

/* MSG_TRUNC: the kernel discards them without a copy. */
static void unread_discard(struct socket *sock)
{
	int nr = 1;
	int i;

	for (i = 0; i < DISCARDS_MAX && nr > 0; ++i) {
		struct msghdr msg = { 0 };
		struct kvec   none = { .iov_base = NULL,
				       .iov_len = DISCARD_BYTES };

		nr = kernel_recvmsg(sock, &msg, &none, 1, DISCARD_BYTES,
				    MSG_TRUNC | MSG_DONTWAIT);
	}
}

/* The kernel undoes it when it frees the socket. False: the namespace ends. */
static bool net_keep(struct sock *sk)
{
	struct net *net = sock_net(sk);

	if (maybe_get_net(net) == NULL)
		return false;
	lock_sock(sk);
	M0_ASSERT(!sk->sk_net_refcnt);
	sk->sk_net_refcnt = 1;
	netns_tracker_alloc(net, &sk->ns_tracker, GFP_NOFS);
	sock_inuse_add(net, 1);
	release_sock(sk);
	return true;
}

void kern_socket_reset(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

struct sock *kern_socket_end(struct socket *sock)
{
	struct sock *sk = sock->sk;

	(void)option_int(sock, SOL_TCP, TCP_USER_TIMEOUT, LAST_BYTES_MS);
	(void)kernel_sock_shutdown(sock, SHUT_WR);
	unread_discard(sock);
	if (!net_keep(sk))
		return NULL;
	sock_hold(sk);
	sock_release(sock);
	return sk;
}

bool kern_orphan_is_over(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) == TCP_CLOSE;
}

bool kern_orphan_is_written(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	/* The end of the stream has a place in the sequence. */
	return READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una) <= 1;
}

/* The peer gets a reset when it sends next. tcp_abort() leaves such sockets alone. */
static void orphan_kill(struct sock *sk)
{
	lock_sock(sk);
	local_bh_disable();
	bh_lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE)
		tcp_done(sk);
	bh_unlock_sock(sk);
	local_bh_enable();
	release_sock(sk);
}

void kern_orphan_forget(struct sock *sk, bool left)
{
	if (!left && !kern_orphan_is_over(sk))
		orphan_kill(sk);
	sock_put(sk);
}

void kern_socket_forget(struct socket *sock)
{
	if (!kern_orphan_is_over(sock->sk))
		sock_no_linger(sock->sk);
	sock_release(sock);
}

/* -- dials --------------------------------------------------------------------- */

struct kern_dialling {
	struct kern_tcp           *knd_tcp;
	const struct m0_host_addr *knd_from;
	const struct m0_host_addr *knd_to;
	void                      *knd_user;
	/** The stream that the dial has made. */
	struct kern_stream *knd_stream;
};

static int stream_bind(struct kern_stream         *stream,
		       const struct kern_dialling *dial, uint16_t port)
{
	struct socket          *sock = stream->knm_sock.kns_sock;
	struct sockaddr_storage sa;
	int                     len;

	/* A port that is any is chosen when the other end is known. */
	if (port == 0)
		(void)option_int(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	stream->knm_local = *dial->knd_from;
	stream->knm_local.sa_port = port;
	len = m0_host_addr_to(&stream->knm_local, &sa);
	return kernel_bind(sock, (struct sockaddr *)&sa, len);
}

static int stream_connect(struct kern_stream         *stream,
			  const struct kern_dialling *dial)
{
	struct sockaddr_storage sa;
	int                     len = m0_host_addr_to(dial->knd_to, &sa);
	int                     rc = kernel_connect(stream->knm_sock.kns_sock,
						    (struct sockaddr *)&sa, len, O_NONBLOCK);

	return M0_IN(rc, (-EINPROGRESS, -EALREADY)) ? 0 : rc;
}

/* @retval -EADDRINUSE  try the next one. */
static int dial_port(void *arg, uint16_t port)
{
	struct kern_dialling *dial = arg;
	struct kern_stream   *stream;
	struct socket        *sock;
	int rc = kern_socket(dial->knd_tcp, dial->knd_from, &sock);

	if (rc != 0)
		return rc;
	stream = kern_stream_new(dial->knd_tcp, sock, true, NULL);
	if (stream == NULL) {
		sock_release(sock);
		return -ENOMEM;
	}
	rc = stream_bind(stream, dial, port);
	if (rc == 0)
		rc = stream_connect(stream, dial);
	if (rc == 0)
		dial->knd_stream = stream;
	else
		kern_stream_free(stream, true);
	return rc == -EADDRNOTAVAIL && port != 0 ? -EADDRINUSE : rc;
}

int kern_dial(struct m0_streams *streams, void *user,
	      const struct m0_host_addr *from, uint16_t port_min,
	      uint16_t port_max, const struct m0_host_addr *to,
	      struct m0_stream **ret, char *why)
{
	struct kern_dialling dial = { .knd_tcp = kern_tcp_of(streams),
				      .knd_from = from,
				      .knd_to = to };
	char                 text[KERN_TEXT_BYTES];
	int                  rc;

	/* Ports of listeners are left to listeners. */
	rc = m0_host_ports_try(&dial.knd_tcp->knt_ports, port_min, port_max,
			       to->sa_port, dial_port, &dial);
	if (rc != 0) {
		(void)snprintf(why, M0_LND_WHY_BYTES,
			       "cannot connect to %s port %u from ports %u to "
			       "%u: %s",
			       kern_addr_text(to, text), to->sa_port, port_min,
			       port_max, m0_errname(rc));
		return rc;
	}
	dial.knd_stream->knm_stream.stm_user = user;
	*ret = &dial.knd_stream->knm_stream;
	return 0;
}

bool kern_dial_end(struct kern_stream *stream)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	struct sock     *sk = stream->knm_sock.kns_sock->sk;
	int              rc = sock_error(sk);
	bool             is_there;

	if (rc == 0 &&
	    M0_IN(READ_ONCE(sk->sk_state), (TCP_SYN_SENT, TCP_SYN_RECV)))
		return false;
	stream->knm_dials = false;
	if (rc == 0 && READ_ONCE(sk->sk_state) == TCP_CLOSE)
		rc = -ECONNREFUSED;
	if (rc == 0 && (stream->knm_local.sa_port == 0 ||
			m0_host_addr_is_any(&stream->knm_local)))
		rc = kern_addr_bound(stream->knm_sock.kns_sock,
				     &stream->knm_local);
	if (rc != 0) {
		kern_stream_broken(stream, rc);
		return false;
	}
	kern_stream_out_add(stream);
	tcp->knt_current = stream;
	tcp->knt_streams.sts_up->stu_dialled(stream->knm_stream.stm_user,
					     &stream->knm_local);
	is_there = tcp->knt_current == stream;
	tcp->knt_current = NULL;
	return is_there;
}
