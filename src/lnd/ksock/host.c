/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Addresses that have connected to us: none of them may have so many
 * connections that no others get one. All of a network may share the first half
 * of an IPv6 address, so the whole of it counts.
 */
#include "lnd/ksock/sock_internal.h"

unsigned m0_sock__share(const struct m0_sock *sock)
{
	unsigned nr = sock->sk_cfg.soc_conns_max / M0_SOCK__SHARES_NR;

	M0_PRE_EX(m0_sock__invariant(sock));
	return nr > M0_SOCK__SHARE_MIN ? nr : (unsigned)M0_SOCK__SHARE_MIN;
}

static struct m0_sock__host *host_find(const struct m0_sock      *sock,
				       const struct m0_host_addr *addr)
{
	struct m0_hash_link *link = m0_hash_find(
		&sock->sk_hosts, addr->sa_bytes, addr->sa_bytes_nr);

	M0_PRE_EX(m0_sock__invariant(sock));
	return link == NULL
		       ? NULL
		       : container_of(link, struct m0_sock__host, sho_hash);
}

static struct m0_sock__host *host_new(struct m0_sock            *sock,
				      const struct m0_host_addr *addr)
{
	struct m0_sock__host *host;

	M0_PRE_EX(m0_sock__invariant(sock));
	M0_ALLOC_PTR(host);
	if (host == NULL)
		return NULL;
	host->sho_addr = *addr;
	if (m0_hash_add(&sock->sk_hosts, &host->sho_hash,
			host->sho_addr.sa_bytes,
			host->sho_addr.sa_bytes_nr) == 0)
		return host;
	m0_free(host);
	return NULL;
}

bool m0_sock__host_is_full(struct m0_sock            *sock,
			   const struct m0_host_addr *addr)
{
	struct m0_sock__host *host = host_find(sock, addr);
	char                  text[M0_SOCK__ADDRSTR_BYTES];

	M0_PRE_EX(m0_sock__invariant(sock));
	if (host == NULL || host->sho_conns_nr < m0_sock__share(sock))
		return false;
	M0_SOCK__SAY(sock, M0_LOG_WARN,
		     "sock: connection from %s refused: this address has made "
		     "%u already, the most that one may have",
		     m0_sock__addr_print(addr, text), host->sho_conns_nr);
	return true;
}

int m0_sock__host_get(struct m0_sock_conn *conn)
{
	struct m0_sock       *sock = conn->cn_sock;
	struct m0_sock__host *host = host_find(sock, &conn->cn_remote);

	if (host == NULL)
		host = host_new(sock, &conn->cn_remote);
	if (host == NULL)
		return -ENOMEM;
	++host->sho_conns_nr;
	conn->cn_host = host;
	return 0;
}

void m0_sock__host_put(struct m0_sock_conn *conn)
{
	struct m0_sock__host *host = conn->cn_host;

	conn->cn_host = NULL;
	if (host == NULL || --host->sho_conns_nr > 0)
		return;
	m0_hash_del(&conn->cn_sock->sk_hosts, &host->sho_hash);
	m0_free(host);
}
