/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "kern/tcp/kern_tcp.h"

enum {
	BACKLOG = 1024
};

#define PAUSE_NS (100 * M0_TIME_ONE_MSEC)

static void listener_told(struct kern_sock *sock, unsigned events)
{
	struct kern_listener *listener =
		container_of(sock, struct kern_listener, knl_sock);

	(void)events;
	if (!m0_list_link_is_in(&listener->knl_callers))
		m0_list_add_tail(&listener->knl_tcp->knt_callers,
				 &listener->knl_callers);
}

static int socket_listen(struct socket *sock, struct m0_host_addr *addr)
{
	struct sockaddr_storage sa;
	int                     len = m0_host_addr_to(addr, &sa);
	int                     rc;

	rc = kernel_bind(sock, (struct sockaddr *)&sa, len);
	if (rc == 0)
		rc = kernel_listen(sock, BACKLOG);
	/* A port of the kernel's choice is told. */
	if (rc == 0 && addr->sa_port == 0)
		rc = kern_addr_bound(sock, addr);
	return rc;
}

static int listener_open(struct kern_listener *listener)
{
	struct m0_host_addr *addr = &listener->knl_listener->slr_addr;
	struct kern_sock    *sock = &listener->knl_sock;
	int rc = kern_socket(listener->knl_tcp, addr, &sock->kns_sock);

	if (rc != 0)
		return rc;
	rc = socket_listen(sock->kns_sock, addr);
	if (rc != 0) {
		sock_release(sock->kns_sock);
		return rc;
	}
	kern_sock_hook_listener(sock);
	/* Callers that came before the hook were not reported. */
	listener_told(sock, KERN_IN);
	return 0;
}

int kern_listen(struct m0_streams *streams, struct m0_stream_listener *listener,
		char *why)
{
	struct kern_tcp      *tcp = kern_tcp_of(streams);
	struct kern_listener *kern;
	char                  text[KERN_TEXT_BYTES];
	int                   rc = -ENOMEM;

	M0_ALLOC_PTR(kern);
	if (kern != NULL) {
		kern->knl_tcp = tcp;
		kern->knl_listener = listener;
		kern->knl_sock.kns_reactor = tcp->knt_reactor;
		kern->knl_sock.kns_handler = listener_told;
		m0_list_link_init(&kern->knl_all);
		m0_list_link_init(&kern->knl_callers);
		rc = listener_open(kern);
	}
	if (rc != 0) {
		(void)snprintf(
			why, M0_LND_WHY_BYTES,
			"cannot listen at %s port %u: %s%s",
			kern_addr_text(&listener->slr_addr, text),
			listener->slr_addr.sa_port, m0_errname(rc),
			rc == -EADDRINUSE
				? "; another node has the port: stop it, or "
				  "give another one by the parameter port"
				: "");
		m0_free(kern);
		return rc;
	}
	m0_list_add_tail(&tcp->knt_listeners, &kern->knl_all);
	listener->slr_priv = kern;
	return 0;
}

/* Until it is hooked, an accepted socket has the listener's callback. */
static void inherited_drop(struct socket *sock, const struct kern_sock *from)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = from->kns_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
}

void kern_unlisten(struct m0_streams         *streams,
		   struct m0_stream_listener *listener)
{
	struct kern_listener *kern = listener->slr_priv;

	(void)streams;
	M0_PRE(kern != NULL);
	kern_sock_unhook(&kern->knl_sock);
	/* Resets the connections that were not accepted yet. */
	sock_release(kern->knl_sock.kns_sock);
	m0_list_del(&kern->knl_all);
	m0_list_del(&kern->knl_callers);
	m0_free(kern);
	listener->slr_priv = NULL;
}

static void caller_take(struct kern_listener *listener, struct socket *sock)
{
	struct kern_tcp        *tcp = listener->knl_tcp;
	struct kern_stream     *stream = NULL;
	struct sockaddr_storage sa = { 0 };
	struct m0_host_addr     remote;
	void                   *user;

	inherited_drop(sock, &listener->knl_sock);
	if (kernel_getpeername(sock, (struct sockaddr *)&sa) >= 0 &&
	    m0_host_addr_from((struct sockaddr *)&sa, &remote))
		stream = kern_stream_new(tcp, sock, false, &listener->knl_sock);
	if (stream == NULL) {
		kern_socket_reset(sock);
		return;
	}
	stream->knm_local = listener->knl_listener->slr_addr;
	if (m0_host_addr_is_any(&stream->knm_local))
		(void)kern_addr_bound(sock, &stream->knm_local);
	tcp->knt_current = stream;
	user = tcp->knt_streams.sts_up->stu_accepted(
		tcp->knt_streams.sts_owner, listener->knl_listener,
		&stream->knm_local, &remote, &stream->knm_stream);
	if (tcp->knt_current == stream && user == NULL) {
		/* Nothing is kept for callers that are refused. */
		kern_stream_free(stream, true);
	} else if (tcp->knt_current == stream) {
		stream->knm_stream.stm_user = user;
		/* Bytes that came before the hook were not reported. */
		kern_stream_in_add(stream);
	}
	tcp->knt_current = NULL;
}

static void accept_one(struct kern_listener *listener)
{
	struct kern_tcp *tcp = listener->knl_tcp;
	struct socket   *sock = NULL;
	int rc = kernel_accept(listener->knl_sock.kns_sock, &sock, O_NONBLOCK);

	if (rc == 0)
		caller_take(listener, sock);
	else if (M0_IN(rc, (-ENFILE, -EMFILE, -ENOBUFS, -ENOMEM)))
		tcp->knt_pause_until = m0_time_add(tcp->knt_now, PAUSE_NS);
	else if (rc != -ECONNABORTED)
		m0_list_del(&listener->knl_callers);
}

void kern_accept_all(struct kern_tcp *tcp)
{
	struct m0_list_link *link;
	unsigned             left = KERN_ACCEPTS_MAX;

	if (tcp->knt_now < tcp->knt_pause_until)
		return;
	tcp->knt_pause_until = 0;
	while (left > 0 && tcp->knt_pause_until == 0 &&
	       (link = m0_list_first(&tcp->knt_callers)) != NULL) {
		m0_list_move_tail(&tcp->knt_callers, link);
		accept_one(
			m0_list_entry(link, struct kern_listener, knl_callers));
		--left;
	}
}
