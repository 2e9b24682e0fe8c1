/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Functions that every file of the driver may call: alarms, the log, counters. */
#include <stdio.h>

#include "lnd/ksock/sock_internal.h"
#include "base/ip_text.h"

void m0_sock__alarm_set(struct m0_sock *sock, struct m0_sock__alarm *alarm,
			m0_time_t deadline)
{
	M0_PRE_EX(m0_sock__invariant(sock));
	/* An alarm that is late already rings at the next look, not at this
	 * one. */
	deadline = max64u(deadline, sock->sk_reactor->rtr_now + 1);
	m0_timerq_arm(&sock->sk_timers, &alarm->al_timer, deadline);
	sock->sk_next = min64u(sock->sk_next, deadline);
}

void m0_sock__rouse(struct m0_sock *sock)
{
	M0_PRE_EX(m0_sock__invariant(sock));
	sock->sk_pending = true;
	sock->sk_reactor->rtr_called = true;
	if (sock->sk_roused)
		return;
	sock->sk_roused = true;
	sock->sk_reactor->rtr_ops->rtro_rouse(sock->sk_reactor);
}

bool m0_sock__may_say(struct m0_sock *sock)
{
	uint64_t seconds = m0_time_seconds(
		m0_time_sub(sock->sk_reactor->rtr_now, sock->sk_lines_since));

	M0_PRE_EX(m0_sock__invariant(sock));
	if (seconds > 0) {
		sock->sk_lines_since = sock->sk_reactor->rtr_now;
		sock->sk_lines_nr = (unsigned)min64u(
			M0_SOCK__LINES_MAX, sock->sk_lines_nr + seconds);
	}
	if (sock->sk_lines_nr == 0)
		return false;
	--sock->sk_lines_nr;
	return true;
}

static struct m0_sock__ni *ni_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_sock__ni, sni_link);
}

struct m0_sock__ni *m0_sock__ni_find(struct m0_sock           *sock,
				     const struct m0_lnet_nid *nid)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_sock__invariant(sock));
	m0_list_for_each(&sock->sk_nis, link) {
		struct m0_sock__ni *ni = ni_of(link);

		if (!ni->sni_stopping &&
		    m0_lnet_nid_eq(&ni->sni_ni->ldn_nid, nid))
			return ni;
	}
	return NULL;
}

void m0_sock__bad_count(struct m0_sock *sock, struct m0_sock__ni *ni)
{
	struct m0_list_link *first = m0_list_first(&sock->sk_nis);

	M0_PRE_EX(m0_sock__invariant(sock));
	if (ni == NULL && first != NULL)
		ni = ni_of(first);
	if (ni != NULL)
		++ni->sni_info.ldi_bad_peers_nr;
}

char *m0_sock__addr_print(const struct m0_host_addr *addr,
			  char buf[M0_SOCK__ADDRSTR_BYTES])
{
	char ip[M0_IP_TEXT_BYTES];

	m0_ip_print(addr->sa_bytes,
		    addr->sa_bytes_nr == M0_IP6_BYTES ? M0_IP6_BYTES
						      : M0_IP4_BYTES,
		    ip, sizeof ip);
	snprintf(buf, M0_SOCK__ADDRSTR_BYTES,
		 addr->sa_bytes_nr == 16 ? "[%s]:%u" : "%s:%u", ip,
		 addr->sa_port);
	return buf;
}

struct m0_stream *m0_sock_conn_stream(const struct m0_sock_conn *conn)
{
	return conn->cn_stream;
}

bool m0_sock_conn_is_bulk(const struct m0_sock_conn *conn)
{
	return conn->cn_ctype == M0_SOCK_BULK_IN ||
	       conn->cn_ctype == M0_SOCK_BULK_OUT;
}
