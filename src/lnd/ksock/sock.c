/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The instance, its interfaces, its steps. */

#include "lnd/ksock/sock_internal.h"
#include "base/options.h"

void m0_sock_cfg_default(struct m0_sock_cfg *cfg)
{
	*cfg = (struct m0_sock_cfg){
		.soc_port = 988,
		.soc_accept = M0_SOCK_ACCEPT_SECURE,
		.soc_src_port_max = M0_SOCK__PORT_PRIVILEGED_MAX,
		.soc_src_port_min = 512,
		.soc_pid = M0_LNET_PID_LUSTRE,
		.soc_net = { .son_conns_per_peer = 1,
			     .son_timeout_ns = 50 * M0_TIME_ONE_SECOND,
			     .son_keepalive_ns = 30 * M0_TIME_ONE_SECOND,
			     .son_reconnect_min_ns = M0_TIME_ONE_SECOND,
			     .son_reconnect_max_ns = 60 * M0_TIME_ONE_SECOND },
		.soc_min_bulk = 1024,
		.soc_accept_timeout_ns = 5 * M0_TIME_ONE_SECOND,
		.soc_conns_max = 16384,
		.soc_accepting_max = 256,
		.soc_acks_max = 256,
		.soc_failed_max = 8192
	};
}

static struct m0_sock__ni *ni_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_sock__ni, sni_link);
}

struct m0_sock *m0_sock_of_lnd(struct m0_lnd *lnd)
{
	return container_of(lnd, struct m0_sock, sk_lnd);
}

/* -- listeners ------------------------------------------------------------- */

static bool addr_eq(const struct m0_host_addr *a, const struct m0_host_addr *b)
{
	return a->sa_bytes_nr == b->sa_bytes_nr && a->sa_port == b->sa_port &&
	       memcmp(a->sa_bytes, b->sa_bytes, a->sa_bytes_nr) == 0;
}

static struct m0_sock__listener *listener_find(struct m0_sock            *sock,
					       const struct m0_host_addr *addr)
{
	struct m0_sock__listener *listener;

	M0_PRE_EX(m0_sock__invariant(sock));
	m0_list_for_each_entry(&sock->sk_listeners, listener,
			       struct m0_sock__listener, lsn_link)
		if (addr_eq(&listener->lsn_listener.slr_addr, addr))
			return listener;
	return NULL;
}

static int listener_get(struct m0_sock *sock, const struct m0_host_addr *addr,
			char *why, struct m0_sock__listener **ret)
{
	struct m0_sock__listener *listener = listener_find(sock, addr);
	int                       rc;

	M0_PRE_EX(m0_sock__invariant(sock));
	*ret = listener;
	if (listener != NULL) {
		++listener->lsn_users_nr;
		return 0;
	}
	M0_ALLOC_PTR(listener);
	if (listener == NULL)
		return -ENOMEM;
	listener->lsn_listener.slr_addr = *addr;
	listener->lsn_users_nr = 1;
	m0_list_link_init(&listener->lsn_link);
	rc = sock->sk_ops->sto_listen(sock->sk_streams, &listener->lsn_listener,
				      why);
	if (rc != 0) {
		m0_free(listener);
		return rc;
	}
	m0_list_add_tail(&sock->sk_listeners, &listener->lsn_link);
	*ret = listener;
	return 0;
}

static void listener_put(struct m0_sock           *sock,
			 struct m0_sock__listener *listener)
{
	M0_PRE_EX(m0_sock__invariant(sock));
	if (listener == NULL || --listener->lsn_users_nr > 0)
		return;
	sock->sk_ops->sto_unlisten(sock->sk_streams, &listener->lsn_listener);
	m0_list_del(&listener->lsn_link);
	m0_free(listener);
}

/* -- interfaces ------------------------------------------------------------ */

static struct m0_host_addr ni_addr(const struct m0_sock__ni *ni)
{
	const struct m0_lnet_nid *nid = &ni->sni_ni->ldn_nid;
	struct m0_host_addr       addr = {
		      .sa_bytes_nr = nid->ln_size == M0_LNET_NID_SIZE_IPV6 ? 16 : 4,
		      .sa_port = ni->sni_sock->sk_cfg.soc_port,
	};

	memcpy(addr.sa_bytes, nid->ln_addr, addr.sa_bytes_nr);
	return addr;
}

static int ni_listen(struct m0_sock__ni *ni, char *why)
{
	struct m0_sock           *sock = ni->sni_sock;
	const struct m0_lnet_nid *nid = &ni->sni_ni->ldn_nid;
	struct m0_host_addr       addr = ni_addr(ni);
	char                      text[M0_LNET_NIDSTR_SIZE];

	if (sock->sk_cfg.soc_accept != M0_SOCK_ACCEPT_NONE)
		return listener_get(sock, &addr, why, &ni->sni_listener);
	m0_log(M0_LOG_NOTICE,
	       "sock: %s has no listener: peers cannot connect to it; they "
	       "answer on connections that we make, and cannot be the first "
	       "to send",
	       m0_lnet_nid_print(nid, text, sizeof text));
	return 0;
}

/*
 * Peers would take one for the other, started anew, again and again. Said, not
 * refused: it may be of another network that has the same addresses.
 */
static void ni_taken_say(const struct m0_sock__ni *ni)
{
	const struct m0_host_ops *host = m0_host_ops_get();
	char                      nid[M0_LNET_NIDSTR_SIZE];
	char                      why[M0_LND_WHY_BYTES];

	if (host == NULL || host->hso_nid_taken == NULL)
		return;
	(void)m0_lnet_nid_print(&ni->sni_ni->ldn_nid, nid, sizeof nid);
	if (host->hso_nid_taken(nid, why))
		m0_log(M0_LOG_WARN, "sock: %s", why);
}

static void ni_watch(struct m0_sock__ni *ni)
{
	const struct m0_streams_ops *ops = ni->sni_sock->sk_ops;
	struct m0_stream_watch      *watch = &ni->sni_watch;

	watch->swa_addr = ni_addr(ni);
	watch->swa_is_up = true;
	m0_list_link_init(&watch->swa_link);
	if (ops->sto_watch != NULL)
		ops->sto_watch(ni->sni_sock->sk_streams, watch);
	ni->sni_ni->ldn_up = watch->swa_is_up;
}

static void ni_unwatch(struct m0_sock__ni *ni)
{
	const struct m0_streams_ops *ops = ni->sni_sock->sk_ops;

	if (ops->sto_unwatch != NULL)
		ops->sto_unwatch(ni->sni_sock->sk_streams, &ni->sni_watch);
}

static void sock_watched(void *owner, struct m0_stream_watch *watch)
{
	struct m0_sock   *sock = owner;
	struct m0_lnd_ni *lnd_ni =
		container_of(watch, struct m0_sock__ni, sni_watch)->sni_ni;
	char nid[M0_LNET_NIDSTR_SIZE];

	M0_PRE_EX(m0_sock__invariant(sock));
	m0_log(watch->swa_is_up ? M0_LOG_NOTICE : M0_LOG_WARN,
	       "sock: the link of %s is %s",
	       m0_lnet_nid_print(&lnd_ni->ldn_nid, nid, sizeof nid),
	       watch->swa_is_up ? "up"
				: "down: its device is down, has no carrier, "
				  "or has lost the address");
	lnd_ni->ldn_up = watch->swa_is_up;
	sock->sk_reactor->rtr_called = true;
	lnd_ni->ldn_ops->lu_ni_status(lnd_ni);
}

/* Inherits the driver's values where the network has no options of its own. */
static int ni_tune(struct m0_sock__ni *ni, char *why)
{
	const struct m0_sock_net_cfg *all = &ni->sni_sock->sk_cfg.soc_net;
	int                           rc;

	M0_BASSERT((int)M0_OPTIONS_WHY_BYTES <= (int)M0_LND_WHY_BYTES);
	ni->sni_cfg = *all;
	rc = m0_sock_options(&ni->sni_cfg, ni->sni_ni->ldn_options, why);
	if (all->son_conns_per_peer == 0)
		ni->sni_cfg.son_conns_per_peer = 0;
	return rc == -ENOENT ? -EINVAL : rc;
}

static int sock_ni_start(struct m0_lnd *lnd, struct m0_lnd_ni *lnd_ni,
			 char *ret_why)
{
	struct m0_sock     *sock = m0_sock_of_lnd(lnd);
	struct m0_sock__ni *ni;
	int                 rc;

	ret_why[0] = '\0';
	M0_ALLOC_PTR(ni);
	if (ni == NULL)
		return -ENOMEM;
	ni->sni_sock = sock;
	ni->sni_ni = lnd_ni;
	rc = ni_tune(ni, ret_why);
	if (rc == 0)
		rc = ni_listen(ni, ret_why);
	if (rc != 0) {
		m0_free(ni);
		return rc;
	}
	ni_taken_say(ni);
	m0_hash_init(&ni->sni_peers);
	m0_list_link_init(&ni->sni_link);
	m0_list_add_tail(&sock->sk_nis, &ni->sni_link);
	lnd_ni->ldn_priv = ni;
	lnd_ni->ldn_lnd = lnd;
	lnd_ni->ldn_timeout_ns = ni->sni_cfg.son_timeout_ns;
	ni_watch(ni);
	/* The checksum of a message leaves before its payload. */
	lnd_ni->ldn_grows = !sock->sk_cfg.soc_csum;
	lnd_ni->ldn_splices = lnd_ni->ldn_grows &&
			      sock->sk_ops->sto_pipe_new != NULL;
	return 0;
}

static void sock_ni_stop(struct m0_lnd_ni *lnd_ni)
{
	struct m0_sock__ni *ni = lnd_ni->ldn_priv;

	M0_PRE(!ni->sni_stopping);
	ni->sni_stopping = true;
	listener_put(ni->sni_sock, ni->sni_listener);
	ni->sni_listener = NULL;
	ni_unwatch(ni);
	ni->sni_sock->sk_orders = true;
	m0_sock__rouse(ni->sni_sock);
}

static struct m0_sock__peer *peer_of(struct m0_hash_link *link)
{
	return link == NULL ? NULL
			    : container_of(link, struct m0_sock__peer, sp_hash);
}

static void accepting_kill(struct m0_sock__ni *ni)
{
	struct m0_sock_conn *conn;
	struct m0_sock_conn *next;

	M0_PRE_EX(m0_sock__ni_invariant(ni));
	m0_list_for_each_entry_safe(&ni->sni_sock->sk_accepting, conn, next,
				    struct m0_sock_conn, cn_link)
		if (conn->cn_ni == ni)
			m0_sock__conn_kill(conn, -ENETDOWN);
}

/** Ends all that an interface has; it is free of it after this step. */
static void ni_end(struct m0_sock__ni *ni)
{
	struct m0_hash_link *link;
	struct m0_hash_link *next;

	M0_PRE_EX(m0_sock__ni_invariant(ni));
	ni->sni_ended = true;
	accepting_kill(ni);
	for (link = m0_hash_first(&ni->sni_peers); link != NULL; link = next) {
		struct m0_sock__peer *peer = peer_of(link);

		next = m0_hash_next(link);
		if (peer->sp_dial != NULL)
			m0_sock__conn_kill(peer->sp_dial, -ENETDOWN);
		m0_sock__tx_end_all(&peer->sp_waiting, -ECANCELED);
		m0_sock__peer_reset(peer, -ENETDOWN);
		m0_sock__peer_free(peer);
	}
}

/** Frees the interface and notifies the engine: all that it had has ended. */
static void ni_gone(struct m0_sock__ni *ni)
{
	struct m0_lnd_ni *lnd_ni = ni->sni_ni;

	m0_list_del(&ni->sni_link);
	m0_hash_fini(&ni->sni_peers);
	m0_free(ni);
	lnd_ni->ldn_priv = NULL;
	lnd_ni->ldn_up = false;
	lnd_ni->ldn_ops->lu_ni_stopped(lnd_ni);
}

static void sock_xmit(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx)
{
	struct m0_sock__ni   *ni = lnd_ni->ldn_priv;
	struct m0_sock__peer *peer;

	m0_sock__tx_own(ni, tx);
	if (M0_UNLIKELY(ni->sni_stopping)) {
		m0_sock__tx_end(tx, -ENETDOWN, M0_LND_LOCAL_INTERRUPT);
		return;
	}
	peer = m0_sock__peer_get(ni, &tx->ltx_nid, tx->ltx_pid);
	if (M0_UNLIKELY(peer == NULL))
		m0_sock__tx_end(tx, -ENOMEM, M0_LND_LOCAL_ERROR);
	else
		m0_sock__peer_xmit(peer, tx);
}

static void sock_tx_cancel(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx)
{
	(void)lnd_ni;
	if (tx->ltx_priv[1] == NULL)
		return;
	if (tx->ltx_priv[1] == tx)
		m0_list_del(&tx->ltx_link);
	else if (!m0_sock__out_take(tx)) {
		m0_sock__out_hurry(tx);
		return;
	}
	m0_sock__tx_end(tx, -ECANCELED, M0_LND_LOCAL_INTERRUPT);
}

static void sock_rx_cancel(struct m0_lnd_ni *lnd_ni, struct m0_lnd_rx *rx)
{
	struct m0_sock_conn *conn =
		container_of(rx, struct m0_sock_conn, cn_rx);
	struct m0_sock *sock = conn->cn_sock;

	(void)lnd_ni;
	if (conn->cn_stream != NULL && sock->sk_ops->sto_in_recall != NULL)
		sock->sk_ops->sto_in_recall(sock->sk_streams, conn->cn_stream);
}

static void sock_tx_more(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx)
{
	(void)lnd_ni;
	if (tx->ltx_priv[1] != NULL && tx->ltx_priv[1] != tx)
		m0_sock__out_more(tx);
}

/* Some of the message has left: its connection ends. */
static void tx_cut(struct m0_sock__ni *ni, const struct m0_lnd_tx *tx,
		   int status)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	M0_SOCK__SAY(ni->sni_sock, M0_LOG_WARN,
		     "sock: the rest of a message that is being forwarded to "
		     "%s will not come (%s): a connection to it is closed",
		     m0_lnet_nid_print(&tx->ltx_nid, nid, sizeof nid),
		     m0_errname(status));
	m0_sock__conn_cut(tx->ltx_priv[1], status);
}

static void sock_tx_abort(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx,
			  int status)
{
	M0_PRE(status < 0);
	if (tx->ltx_priv[1] == NULL)
		return;
	if (tx->ltx_priv[1] == tx)
		m0_list_del(&tx->ltx_link);
	else if (!m0_sock__out_take(tx)) {
		tx_cut(lnd_ni->ldn_priv, tx, status);
		return;
	}
	m0_sock__tx_end(tx, status, m0_sock__health(status));
}

static void sock_peer_drop(struct m0_lnd_ni         *lnd_ni,
			   const struct m0_lnet_nid *nid)
{
	struct m0_sock__ni  *ni = lnd_ni->ldn_priv;
	struct m0_hash_link *link;

	for (link = m0_hash_first(&ni->sni_peers); link != NULL;
	     link = m0_hash_next(link)) {
		struct m0_sock__peer *peer = peer_of(link);

		if (nid != NULL && !m0_lnet_nid_eq(&peer->sp_nid, nid))
			continue;
		peer->sp_drop = true;
		m0_sock__peer_work(peer);
	}
	m0_sock__rouse(ni->sni_sock);
}

static void sock_ni_info(const struct m0_lnd_ni *lnd_ni,
			 struct m0_lnd_ni_info  *info)
{
	const struct m0_sock__ni *ni = lnd_ni->ldn_priv;

	*info = ni->sni_info;
	info->ldi_read_calls_nr = ni->sni_calls.stc_reads_nr;
	info->ldi_write_calls_nr = ni->sni_calls.stc_writes_nr;
	info->ldi_ring_bytes = ni->sni_calls.stc_ring_bytes;
	info->ldi_offer_bytes = ni->sni_calls.stc_offer_bytes;
	info->ldi_region_bytes = ni->sni_calls.stc_region_bytes;
	info->ldi_lane_bytes = ni->sni_calls.stc_lane_bytes;
	info->ldi_conns_per_peer = ni->sni_cfg.son_conns_per_peer;
	info->ldi_timeout_ms = ni->sni_cfg.son_timeout_ns / M0_TIME_ONE_MSEC;
	info->ldi_keepalive_ms = ni->sni_cfg.son_keepalive_ns /
				 M0_TIME_ONE_MSEC;
	info->ldi_reconnect_min_ms = ni->sni_cfg.son_reconnect_min_ns /
				     M0_TIME_ONE_MSEC;
	info->ldi_reconnect_max_ms = ni->sni_cfg.son_reconnect_max_ns /
				     M0_TIME_ONE_MSEC;
}

/* -- steps ----------------------------------------------------------------- */

static void alarms_ring(struct m0_sock *sock)
{
	struct m0_timer *timer;

	M0_PRE_EX(m0_sock__invariant(sock));
	while ((timer = m0_timerq_expire(&sock->sk_timers,
					 sock->sk_reactor->rtr_now)) != NULL) {
		struct m0_sock__alarm *alarm =
			container_of(timer, struct m0_sock__alarm, al_timer);

		alarm->al_rings(alarm);
	}
}

static void orders_follow(struct m0_sock *sock)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_sock__invariant(sock));
	m0_list_for_each(&sock->sk_nis, link)
		if (ni_of(link)->sni_stopping)
			ni_end(ni_of(link));
}

/** When to offer those again that are waiting. */
static m0_time_t retry_next(const struct m0_sock *sock)
{
	struct m0_list_link *link = m0_list_first(&sock->sk_paused);
	struct m0_sock_conn *conn;

	M0_PRE_EX(m0_sock__invariant(sock));
	conn = container_of(link, struct m0_sock_conn, cn_paused);
	return m0_time_add(sock->sk_reactor->rtr_now,
			   conn->cn_retry_round == sock->sk_retry_round
				   ? M0_SOCK__RETRY_LATE_NS
				   : M0_SOCK__RETRY_SOON_NS);
}

/**
 * Offers some of those that wait to the engine again, in turn. A step for any
 * reason but that it was time to go on (of that point in time there may be
 * several) begins a new round: what happened may help any of them.
 */
static void paused_retry(struct m0_sock *sock)
{
	struct m0_list       tried;
	struct m0_list_link *link;
	unsigned             nr;

	M0_PRE_EX(m0_sock__invariant(sock));
	if (sock->sk_reactor->rtr_now >= sock->sk_retry_at)
		sock->sk_retried = sock->sk_reactor->rtr_now;
	else if (sock->sk_reactor->rtr_now != sock->sk_retried)
		++sock->sk_retry_round;
	m0_list_init(&tried);
	for (nr = 0; nr < M0_SOCK__RETRIES_MAX; ++nr) {
		struct m0_sock_conn *conn;

		link = m0_list_first(&sock->sk_paused);
		if (link == NULL)
			break;
		m0_list_del(link);
		m0_list_add_tail(&tried, link);
		conn = container_of(link, struct m0_sock_conn, cn_paused);
		conn->cn_retry_round = sock->sk_retry_round;
		m0_sock__in_retry(conn);
	}
	sock->sk_retry_at = m0_list_is_empty(&sock->sk_paused)
				    ? M0_TIME_NEVER
				    : retry_next(sock);
	m0_list_splice_tail(&sock->sk_paused, &tried);
}

static void acks_place(struct m0_sock *sock)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_sock__invariant(sock));
	while ((link = m0_list_first(&sock->sk_acks)) != NULL)
		m0_sock__peer_acks_place(
			container_of(link, struct m0_sock__peer, sp_acks_link));
}

static void dead_bury(struct m0_sock *sock)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_sock__invariant(sock));
	while ((link = m0_list_first(&sock->sk_dead)) != NULL)
		m0_sock__conn_free(
			container_of(link, struct m0_sock_conn, cn_link));
}

static void peers_report(struct m0_sock *sock)
{
	struct m0_list       list;
	struct m0_list_link *link;

	M0_PRE_EX(m0_sock__invariant(sock));
	m0_list_init(&list);
	m0_list_splice_tail(&list, &sock->sk_peers);
	while ((link = m0_list_first(&list)) != NULL)
		m0_sock__peer_report(
			container_of(link, struct m0_sock__peer, sp_link));
}

/** Interfaces that were stopped, if nothing of them is left. */
static void nis_report(struct m0_sock *sock)
{
	struct m0_list_link *link;
	struct m0_list_link *next;

	M0_PRE_EX(m0_sock__invariant(sock));
	if (!m0_list_is_empty(&sock->sk_ended))
		return;
	sock->sk_orders = false;
	m0_list_for_each_safe(&sock->sk_nis, link, next) {
		struct m0_sock__ni *ni = ni_of(link);

		if (!ni->sni_stopping)
			continue;
		if (!ni->sni_ended) {
			/* The stream was stopped during this step. */
			sock->sk_orders = true;
			continue;
		}
		M0_ASSERT(ni->sni_conns_nr == 0);
		sock->sk_spoke = true;
		ni_gone(ni);
	}
}

static void pending_do(struct m0_sock *sock)
{
	M0_PRE_EX(m0_sock__invariant(sock));
	sock->sk_pending = false;
	if (sock->sk_orders)
		orders_follow(sock);
	paused_retry(sock);
	acks_place(sock);
	dead_bury(sock);
	m0_sock__tx_report(sock);
	peers_report(sock);
	if (sock->sk_orders)
		nis_report(sock);
}

static m0_time_t sock_step(struct m0_lnd *lnd, m0_time_t now)
{
	struct m0_sock *sock = m0_sock_of_lnd(lnd);

	M0_PRE(sock->sk_reactor->rtr_now == now);
	if (M0_LIKELY(!sock->sk_pending && now < sock->sk_next &&
		      m0_list_is_empty(&sock->sk_paused)))
		return sock->sk_next;
	sock->sk_roused = true;
	sock->sk_spoke = false;
	if (now >= sock->sk_next) {
		alarms_ring(sock);
		sock->sk_next = m0_timerq_next(&sock->sk_timers);
	}
	pending_do(sock);
	sock->sk_roused = false;
	if (sock->sk_spoke || sock->sk_pending)
		return 0;
	return min64u(sock->sk_next, sock->sk_retry_at);
}

/* -- life ------------------------------------------------------------------ */

static struct m0_lnd_pipe *sock_pipe_new(struct m0_lnd *lnd, m0_bcount_t bytes)
{
	struct m0_sock *sock = m0_sock_of_lnd(lnd);

	return sock->sk_ops->sto_pipe_new(sock->sk_streams, bytes);
}

static void sock_fini(struct m0_lnd *lnd)
{
	struct m0_sock      *sock = m0_sock_of_lnd(lnd);
	struct m0_list_link *link;

	M0_PRE(m0_list_is_empty(&sock->sk_nis));
	while ((link = m0_list_first(&sock->sk_accepting)) != NULL)
		m0_sock__conn_kill(container_of(link, struct m0_sock_conn,
						cn_link),
				   -ENETDOWN);
	dead_bury(sock);
	M0_ASSERT(sock->sk_conns_nr == 0);
	sock->sk_ops->sto_destroy(sock->sk_streams);
	m0_timerq_fini(&sock->sk_timers);
	m0_hash_fini(&sock->sk_hosts);
	m0_free(sock);
}

static const struct m0_lnd_ops sock_ops = { .ldo_name = "sock",
					    .ldo_type = M0_LNET_TYPE_TCP,
					    .ldo_ni_start = sock_ni_start,
					    .ldo_ni_stop = sock_ni_stop,
					    .ldo_xmit = sock_xmit,
					    .ldo_tx_cancel = sock_tx_cancel,
					    .ldo_tx_more = sock_tx_more,
					    .ldo_rx_cancel = sock_rx_cancel,
					    .ldo_tx_abort = sock_tx_abort,
					    .ldo_step = sock_step,
					    .ldo_peer_drop = sock_peer_drop,
					    .ldo_ni_info = sock_ni_info,
					    .ldo_pipe_new = sock_pipe_new,
					    .ldo_fini = sock_fini };

static const struct m0_streams_up streams_up = {
	.stu_accepted = m0_sock__accepted,
	.stu_dialled = m0_sock__dialled,
	.stu_broken = m0_sock__broken,
	.stu_in_where = m0_sock__in_where,
	.stu_in_arrived = m0_sock__in_arrived,
	.stu_in_bytes = m0_sock__in_bytes,
	.stu_out_what = m0_sock__out_what,
	.stu_out_left = m0_sock__out_left,
	.stu_out_passed = m0_sock__out_passed,
	.stu_in_lend = m0_sock__in_lend,
	.stu_out_lend = m0_sock__out_lend,
	.stu_watched = sock_watched,
};

int m0_sock_create(struct m0_lnd **ret, const struct m0_sock_cfg *cfg,
		   struct m0_streams *streams, uint64_t seed, m0_time_t now)
{
	struct m0_sock *sock;

	M0_ALLOC_PTR(sock);
	if (sock == NULL)
		return -ENOMEM;
	sock->sk_lnd.ld_ops = &sock_ops;
	sock->sk_cfg = *cfg;
	if (streams->sts_max != 0)
		sock->sk_cfg.soc_conns_max =
			min_check(cfg->soc_conns_max, streams->sts_max);
	sock->sk_streams = streams;
	sock->sk_ops = streams->sts_ops;
	sock->sk_reactor = streams->sts_reactor;
	sock->sk_lines_nr = M0_SOCK__LINES_MAX;
	sock->sk_lines_since = now;
	sock->sk_retry_at = M0_TIME_NEVER;
	m0_timerq_init(&sock->sk_timers, now);
	m0_rand_init(&sock->sk_rand, seed);
	m0_hash_init(&sock->sk_hosts);
	m0_list_init(&sock->sk_nis);
	m0_list_init(&sock->sk_listeners);
	m0_list_init(&sock->sk_accepting);
	m0_list_init(&sock->sk_paused);
	m0_list_init(&sock->sk_acks);
	m0_list_init(&sock->sk_ended);
	m0_list_init(&sock->sk_dead);
	m0_list_init(&sock->sk_peers);
	m0_list_init(&sock->sk_failed);
	sock->sk_hello_staged = m0_sock__hello_staged;
	streams->sts_owner = sock;
	streams->sts_up = &streams_up;
	*ret = &sock->sk_lnd;
	return 0;
}
