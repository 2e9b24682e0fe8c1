/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages that have ended, which the next step reports. */
#include "lnd/ksock/sock_internal.h"

enum m0_lnd_health m0_sock__health(int status)
{
	switch (status) {
	case 0:
		return M0_LND_OK;
	case -ETIMEDOUT:
		return M0_LND_NETWORK_TIMEOUT;
	case -ENETDOWN:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ECONNREFUSED:
	case -ECONNRESET:
		return M0_LND_REMOTE_DROPPED;
	case -ECANCELED:
		return M0_LND_LOCAL_INTERRUPT;
	case -ECONNABORTED:
		return M0_LND_LOCAL_ABORTED;
	default:
		return M0_LND_LOCAL_ERROR;
	}
}

/*
 * Class of a message of which nothing was written, so that no time-out may have
 * hidden its arrival: another path may take it.
 */
static enum m0_lnd_health unsent_health(int status)
{
	switch (status) {
	case -ETIMEDOUT:
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -EPIPE:
		return M0_LND_REMOTE_DROPPED;
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
	case -EMFILE:
	case -ENFILE:
	case -ENOBUFS:
		return M0_LND_LOCAL_DROPPED;
	default:
		return m0_sock__health(status);
	}
}

void m0_sock__tx_end(struct m0_lnd_tx *tx, int status,
		     enum m0_lnd_health health)
{
	struct m0_sock__ni *ni = tx->ltx_priv[0];

	tx->ltx_priv[1] = NULL;
	tx->ltx_word[0] = (uint64_t)(int64_t)status;
	tx->ltx_word[1] = health;
	m0_list_add_tail(&ni->sni_sock->sk_ended, &tx->ltx_link);
	m0_sock__rouse(ni->sni_sock);
}

void m0_sock__tx_end_all(struct m0_list *list, int status)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(list)) != NULL) {
		m0_list_del(link);
		m0_sock__tx_end(m0_sock__tx_of(link), status,
				unsent_health(status));
	}
}

void m0_sock__tx_report(struct m0_sock *sock)
{
	struct m0_list       list;
	struct m0_list_link *link;

	m0_list_init(&list);
	m0_list_splice_tail(&list, &sock->sk_ended);
	while ((link = m0_list_first(&list)) != NULL) {
		struct m0_lnd_tx   *tx = m0_sock__tx_of(link);
		struct m0_sock__ni *ni = tx->ltx_priv[0];

		m0_list_del(link);
		sock->sk_spoke = true;
		ni->sni_ni->ldn_ops->lu_tx_done(
			tx, (int)(int64_t)tx->ltx_word[0],
			(enum m0_lnd_health)tx->ltx_word[1]);
	}
}
