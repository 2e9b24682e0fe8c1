/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The process' part: its one thread, the listener, what was posted, and time.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xprt/sunrpc/sunrpc_internal.h"

enum {
	BACKLOG = 128,
	/** Taken in before others have their turn. */
	ACCEPTS_NR = 64,
	/** When there was no descriptor left. */
	ACCEPT_AGAIN_MS = 100
};

struct sr_node               m0_sunrpc__node = { .sn_lock = M0_MUTEX_SINIT(
							 &m0_sunrpc__node.sn_lock),
						 .sn_listener = { .lof_fd = -1 } };
static struct sr_node *const node = &m0_sunrpc__node;

void m0_sunrpc__node_wake(void)
{
	m0_strand_wake(&node->sn_strand);
}

/* -------------------------------------------------------------- listener -- */

/* The first address that is up and not this host's alone. */
static uint32_t host_default(void)
{
	struct ifaddrs *all;
	struct ifaddrs *ifa;
	uint32_t        host = 0;

	if (getifaddrs(&all) != 0)
		return INADDR_LOOPBACK;
	for (ifa = all; ifa != NULL && host == 0; ifa = ifa->ifa_next) {
		if (ifa->ifa_addr == NULL ||
		    ifa->ifa_addr->sa_family != AF_INET ||
		    (ifa->ifa_flags & IFF_LOOPBACK) ||
		    !(ifa->ifa_flags & IFF_UP))
			continue;
		host = ntohl(((struct sockaddr_in *)(void *)ifa->ifa_addr)
				     ->sin_addr.s_addr);
	}
	freeifaddrs(all);
	return host == 0 ? INADDR_LOOPBACK : host;
}

static int listener_open(struct sr_ep *ep)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)ep->se_port),
				    .sin_addr.s_addr = htonl(ep->se_host) };
	socklen_t          len = sizeof addr;
	int                one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	node->sn_listener.lof_fd = fd;
	if (bind(fd, (struct sockaddr *)&addr, len) != 0 ||
	    listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		rc = -errno;
	if (rc == 0)
		rc = m0_loop_add(&node->sn_loop, &node->sn_listener);
	if (rc != 0) {
		(void)close(fd);
		node->sn_listener.lof_fd = -1;
	}
	ep->se_port = ntohs(addr.sin_port);
	return rc;
}

int m0_sunrpc__node_listen(struct sr_ep *ep)
{
	int rc;

	if (node->sn_is_bound) {
		if ((ep->se_host != 0 && ep->se_host != node->sn_own.se_host) ||
		    (ep->se_port != 0 && ep->se_port != node->sn_own.se_port))
			return -EADDRNOTAVAIL;
		ep->se_host = node->sn_own.se_host;
		ep->se_port = node->sn_own.se_port;
		return 0;
	}
	if (ep->se_host == 0)
		ep->se_host = host_default();
	rc = listener_open(ep);
	if (rc != 0)
		return rc;
	node->sn_own = *ep;
	node->sn_is_bound = true;
	return 0;
}

/*
 * Close the listener at once, so that the address is free. If the loop reports an
 * event of it meanwhile, the handler finds it closed.
 */
void m0_sunrpc__node_unlisten(void)
{
	(void)close(node->sn_listener.lof_fd);
	node->sn_listener.lof_fd = -1;
	node->sn_is_bound = false;
	++node->sn_epoch;
	m0_sunrpc__node_wake();
}

/* --------------------------------------------------------------- rpcbind -- */

static bool rpcbind_is_asked_for(void)
{
	const char *asked = m0_os_env("M0_SUNRPC_RPCBIND");

	return asked != NULL && strcmp(asked, "1") == 0;
}

/* The lock is held during the call. Port 0: nothing is registered. */
static struct m0_mutex rpcbind_lock = M0_MUTEX_SINIT(&rpcbind_lock);
static struct sr_ep    rpcbind_registered;

static void rpcbind_register(const struct sr_ep *own)
{
	if (own->se_port == 0)
		m0_sunrpc__rpcbind_unset();
	else if (!m0_sunrpc__rpcbind_set(own->se_host, own->se_port))
		m0_log(M0_LOG_WARN, "sunrpc: rpcbind does not take the "
				    "registration; going on without");
	rpcbind_registered = *own;
}

/*
 * The last caller registers the state at that time, so that threads that start
 * and stop to listen may overtake each other on their way here.
 */
void m0_sunrpc__node_rpcbind(void)
{
	struct sr_ep own = { .se_port = 0 };

	m0_mutex_lock(&rpcbind_lock);
	m0_mutex_lock(&node->sn_lock);
	if (node->sn_is_bound && rpcbind_is_asked_for())
		own = node->sn_own;
	m0_mutex_unlock(&node->sn_lock);
	if (own.se_host != rpcbind_registered.se_host ||
	    own.se_port != rpcbind_registered.se_port)
		rpcbind_register(&own);
	m0_mutex_unlock(&rpcbind_lock);
}

/* ------------------------------------------------------------- accepting -- */

/* The listener may be closed by others: under the lock it is not. */
static int accept_one(uint64_t *epoch)
{
	int fd = -1;

	m0_mutex_lock(&node->sn_lock);
	*epoch = node->sn_epoch;
	errno = EAGAIN;
	if (node->sn_listener.lof_fd >= 0)
		fd = accept4(node->sn_listener.lof_fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
	m0_mutex_unlock(&node->sn_lock);
	return fd >= 0 ? fd : -errno;
}

static void accept_all(m0_time_t now)
{
	uint64_t epoch;
	int      nr;
	int      fd = 0;

	node->sn_accept_again = M0_TIME_NEVER;
	for (nr = 0; nr < ACCEPTS_NR; ++nr) {
		fd = accept_one(&epoch);
		if (fd >= 0)
			m0_sunrpc__conn_take(fd, epoch, now);
		else if (!M0_IN(fd, (-ECONNABORTED, -EINTR, -EPROTO)))
			break;
	}
	/* The loop reports a listener once: accept again what is left. */
	if (fd >= 0)
		node->sn_accept_again = now;
	else if (fd != -EAGAIN)
		node->sn_accept_again =
			m0_time_add(now, ACCEPT_AGAIN_MS * M0_TIME_ONE_MSEC);
}

static void listener_event(struct m0_loop_fd *fd, unsigned events)
{
	(void)fd;
	(void)events;
	node->sn_accept_again = M0_TIME_IMMEDIATELY;
}

/* ------------------------------------------------------------------ step -- */

static void conns_close_stale(uint64_t epoch)
{
	struct sr_conn *conn;
	struct sr_conn *next;

	m0_list_for_each_entry_safe(&node->sn_conns_in, conn, next,
				    struct sr_conn, sc_link) {
		if (conn->sc_epoch != epoch)
			m0_sunrpc__conn_close(conn, -ECONNRESET);
	}
	/* The other ends may be ours: what is idle is made anew. */
	m0_list_for_each_entry_safe(&node->sn_conns_out, conn, next,
				    struct sr_conn, sc_link) {
		if (m0_sunrpc__conn_is_idle(conn))
			m0_sunrpc__conn_close(conn, -ECONNRESET);
	}
}

static void dom_free(struct sr_dom *sd)
{
	struct sr_conn *conn;
	struct sr_conn *next;

	m0_list_for_each_entry_safe(&node->sn_conns_out, conn, next,
				    struct sr_conn, sc_link) {
		if (conn->sc_dom == sd)
			m0_sunrpc__conn_close(conn, -ECANCELED);
	}
	m0_list_link_fini(&sd->sdm_link);
	m0_free(sd);
}

/* Takes what other threads have posted. */
static void posted_run(m0_time_t now)
{
	struct m0_list  gone;
	struct sr_dom  *sd;
	struct sr_dom  *next;
	struct sr_call *call;
	struct sr_call *after;
	uint64_t        epoch;

	m0_list_init(&gone);
	m0_mutex_lock(&node->sn_lock);
	call = node->sn_posted;
	__atomic_store_n(&node->sn_posted, (struct sr_call *)NULL,
			 __ATOMIC_RELAXED);
	node->sn_posted_last = NULL;
	epoch = node->sn_epoch;
	if (node->sn_dom_gone) {
		node->sn_dom_gone = false;
		m0_list_for_each_entry_safe(&node->sn_doms, sd, next,
					    struct sr_dom, sdm_link) {
			if (sd->sdm_gone)
				m0_list_move_tail(&gone, &sd->sdm_link);
		}
	}
	m0_mutex_unlock(&node->sn_lock);
	if (epoch != node->sn_epoch_seen) {
		node->sn_epoch_seen = epoch;
		conns_close_stale(epoch);
	}
	for (; call != NULL; call = after) {
		after = call->sca_next;
		m0_sunrpc__call_begin(call, now);
	}
	m0_list_for_each_entry_safe(&gone, sd, next, struct sr_dom, sdm_link) {
		m0_list_del(&sd->sdm_link);
		dom_free(sd);
	}
	m0_list_fini(&gone);
}

static void timers_run(m0_time_t now)
{
	struct m0_timer *timer;

	while ((timer = m0_timerq_expire(&node->sn_timerq, now)) != NULL)
		m0_sunrpc__conn_expired(
			container_of(timer, struct sr_conn, sc_timer), now);
}

static void conns_run(m0_time_t now)
{
	size_t          nr = m0_list_length(&node->sn_ready);
	struct sr_conn *conn;

	/* One that is closed may have been the next. */
	while (nr-- > 0 && !m0_list_is_empty(&node->sn_ready)) {
		conn = m0_list_entry(m0_list_first(&node->sn_ready),
				     struct sr_conn, sc_ready_link);
		m0_list_del(&conn->sc_ready_link);
		conn->sc_is_ready = false;
		m0_sunrpc__conn_turn(conn, now);
	}
}

m0_time_t m0_sunrpc__node_step(struct m0_strand *strand, m0_time_t now)
{
	(void)strand;
	if (!node->sn_looked)
		(void)m0_loop_wait(&node->sn_loop, M0_TIME_IMMEDIATELY);
	node->sn_looked = false;
	posted_run(now);
	if (node->sn_accept_again <= now)
		accept_all(now);
	timers_run(now);
	conns_run(now);
	if (!m0_list_is_empty(&node->sn_ready))
		return M0_TIME_IMMEDIATELY;
	return min64u(m0_timerq_next(&node->sn_timerq), node->sn_accept_again);
}

static bool node_ready(const struct m0_strand *strand)
{
	(void)strand;
	return __atomic_load_n(&node->sn_posted, __ATOMIC_RELAXED) != NULL;
}

static void node_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	(void)strand;
	(void)m0_loop_wait(&node->sn_loop, deadline);
	node->sn_looked = true;
}

static void node_rouse(struct m0_strand *strand)
{
	(void)strand;
	m0_loop_rouse(&node->sn_loop);
}

static const struct m0_strand_ops node_ops = { .so_step = m0_sunrpc__node_step,
					       .so_ready = node_ready,
					       .so_sleep = node_sleep,
					       .so_rouse = node_rouse };

/* ------------------------------------------------------------------ life -- */

/* Serialises first and last; held while the thread begins and ends. */
static struct m0_mutex share_lock = M0_MUTEX_SINIT(&share_lock);

static void lists_init(void)
{
	m0_list_init(&node->sn_doms);
	m0_list_init(&node->sn_machine_list);
	m0_list_init(&node->sn_ready);
	m0_list_init(&node->sn_conns_in);
	m0_list_init(&node->sn_conns_out);
	m0_list_init(&node->sn_replies_free);
	m0_timerq_init(&node->sn_timerq, m0_time_now());
	m0_os_random(&node->sn_xid, sizeof node->sn_xid);
	node->sn_accept_again = M0_TIME_NEVER;
	node->sn_listener.lof_handler = listener_event;
	node->sn_looked = false;
}

static void lists_fini(void)
{
	m0_timerq_fini(&node->sn_timerq);
	m0_list_fini(&node->sn_replies_free);
	m0_list_fini(&node->sn_conns_in);
	m0_list_fini(&node->sn_conns_out);
	m0_list_fini(&node->sn_ready);
	m0_list_fini(&node->sn_machine_list);
	m0_list_fini(&node->sn_doms);
}

int m0_sunrpc__node_init(void)
{
	int rc;

	node->sn_stage = m0_alloc(SR_STAGE);
	if (node->sn_stage == NULL)
		return -ENOMEM;
	rc = m0_loop_init(&node->sn_loop);
	if (rc == 0)
		lists_init();
	else
		m0_free(node->sn_stage);
	return rc;
}

void m0_sunrpc__node_fini(void)
{
	struct sr_dom  *sd;
	struct sr_dom  *next;
	struct sr_conn *conn;
	struct sr_conn *after;

	posted_run(m0_time_now());
	m0_list_for_each_entry_safe(&node->sn_doms, sd, next, struct sr_dom,
				    sdm_link) {
		m0_list_del(&sd->sdm_link);
		dom_free(sd);
	}
	m0_list_for_each_entry_safe(&node->sn_conns_in, conn, after,
				    struct sr_conn, sc_link)
		m0_sunrpc__conn_close(conn, -ECONNRESET);
	m0_sunrpc__replies_drain();
	m0_sunrpc__spares_drain();
	m0_sunrpc__calls_drain();
	lists_fini();
	m0_loop_fini(&node->sn_loop);
	m0_free(node->sn_stage);
}

/* Applies the environment, unless the program has chosen processors. */
static int cpus_of_env(void)
{
	const char      *text = m0_os_env("M0_SUNRPC_CPUS");
	struct m0_bitmap map;
	int              rc;

	if (text == NULL || *text == 0 || m0_os_cpus_is_set(&node->sn_cpus))
		return 0;
	rc = m0_bitmap_init(&map, M0_OS_CPUS_MAX);
	if (rc != 0)
		return rc;
	rc = m0_bitmap_parse(&map, text);
	if (rc == 0)
		rc = m0_os_cpus_set(&node->sn_cpus, false, &map);
	m0_bitmap_fini(&map);
	if (rc == -EINVAL)
		m0_log(M0_LOG_ERROR,
		       "sunrpc: $M0_SUNRPC_CPUS is \"%s\"; it may be a list of "
		       "processors of this host, as 0-3,8",
		       text);
	return rc;
}

int m0_net_bulk_sunrpc_confine(const struct m0_bitmap *processors)
{
	return m0_os_cpus_set(&node->sn_cpus, false, processors);
}

void m0_sunrpc__cpus_hint(void)
{
	const struct m0_bitmap  *cpus = NULL;
	const struct sr_machine *sm;
	int                      rc;

	if (node->sn_machines_nr == 1) {
		sm = container_of(m0_list_first(&node->sn_machine_list),
				  struct sr_machine, sm_link);
		cpus = m0_net_kit_machine_cpus(sm->sm_machine);
	}
	rc = m0_os_cpus_set(&node->sn_cpus, true, cpus);
	if (rc != 0)
		m0_log(M0_LOG_WARN,
		       "sunrpc: the thread cannot follow the transfer machine "
		       "to its processors: %s",
		       m0_errname(rc));
}

static int node_begin(void)
{
	int rc = m0_sunrpc__node_init();

	if (rc != 0)
		return rc;
	m0_strand_init(&node->sn_strand, &node_ops, "net-sunrpc");
	node->sn_strand.st_spin_ns = 0;
	rc = cpus_of_env();
	if (rc == 0)
		rc = m0_os_cpus_start(&node->sn_cpus, &node->sn_strand);
	if (rc != 0) {
		m0_strand_fini(&node->sn_strand);
		m0_sunrpc__node_fini();
	}
	return rc;
}

/* The thread has ended: what was its is ours. */
static void node_end(void)
{
	m0_os_cpus_stop(&node->sn_cpus);
	m0_strand_fini(&node->sn_strand);
	m0_sunrpc__node_fini();
}

int m0_sunrpc__node_share(const struct m0_net_xprt *xprt)
{
	int rc = 0;

	(void)xprt;
	m0_mutex_lock(&share_lock);
	if (node->sn_users_nr == 0)
		rc = node_begin();
	if (rc == 0)
		++node->sn_users_nr;
	m0_mutex_unlock(&share_lock);
	return rc;
}

void m0_sunrpc__node_unshare(const struct m0_net_xprt *xprt)
{
	(void)xprt;
	m0_mutex_lock(&share_lock);
	if (--node->sn_users_nr == 0)
		node_end();
	m0_mutex_unlock(&share_lock);
}
