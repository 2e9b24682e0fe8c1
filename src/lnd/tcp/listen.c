/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "lnd/tcp/near_internal.h"

enum {
	BACKLOG = 1024,
	/* Dead peers are found as Lustre's nodes find them. */
	KEEP_IDLE_S = 30,
	KEEP_INTERVAL_S = 5,
	KEEP_PROBES = 5
};

#define PAUSE_MIN_NS (10 * M0_TIME_ONE_MSEC)
#define PAUSE_MAX_NS (1 * M0_TIME_ONE_SECOND)

struct option {
	int tco_level;
	int tco_name;
	int tco_val;
};

static int option_set(int fd, int level, int name, const void *val,
		      size_t bytes)
{
	return setsockopt(fd, level, name, val, (socklen_t)bytes) == 0 ? 0
								       : -errno;
}

static int options_always(int fd)
{
	static const struct option options[] = {
		{ SOL_SOCKET, SO_REUSEADDR, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEP_PROBES },
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		/* No port of the few waits in TIME_WAIT: see end.c. */
		{ IPPROTO_TCP, TCP_LINGER2, -1 },
	};
	size_t i;
	int    rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(options); ++i)
		rc = option_set(fd, options[i].tco_level, options[i].tco_name,
				&options[i].tco_val, sizeof options[i].tco_val);
	return rc;
}

/*
 * Traffic within the host meets no congestion; reno, which every kernel has, does
 * the least about it.
 */
void m0_tcp__near_set(const struct m0_streams_cfg *cfg, int fd,
		      const struct m0_host_addr *remote)
{
	static const char name[] = "reno";

	if (cfg->sic_congestion[0] == 0 && m0_tcp__addr_is_near(remote))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
				 sizeof name - 1);
}

bool m0_tcp__has_bbr(int fd)
{
	static const char bbr[] = "bbr";
	char              name[16] = "";
	socklen_t         len = sizeof name;

	return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) == 0 &&
	       strncmp(name, bbr, sizeof bbr - 1) == 0;
}

static int options_wanted(int fd, const struct m0_streams_cfg *cfg)
{
	size_t len = strnlen(cfg->sic_congestion, sizeof cfg->sic_congestion);
	int    rc = 0;

	if (cfg->sic_sndbuf_bytes != 0)
		rc = option_set(fd, SOL_SOCKET, SO_SNDBUF,
				&cfg->sic_sndbuf_bytes, sizeof(int));
	if (rc == 0 && cfg->sic_rcvbuf_bytes != 0)
		rc = option_set(fd, SOL_SOCKET, SO_RCVBUF,
				&cfg->sic_rcvbuf_bytes, sizeof(int));
	if (rc == 0 && len != 0)
		rc = option_set(fd, IPPROTO_TCP, TCP_CONGESTION,
				cfg->sic_congestion, len);
	return rc;
}

int m0_tcp__socket(const struct m0_streams_cfg *cfg,
		   const struct m0_host_addr   *addr)
{
	bool is_ip6 = addr->sa_bytes_nr == 16;
	int  one = 1;
	int  fd = socket(is_ip6 ? AF_INET6 : AF_INET,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = options_always(fd);
	if (rc == 0 && is_ip6)
		rc = option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one,
				sizeof one);
	if (rc == 0)
		rc = options_wanted(fd, cfg);
	if (rc != 0)
		(void)close(fd);
	return rc != 0 ? rc : fd;
}

void m0_tcp__listener_event(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_tcp_listener *listener =
		container_of(fd, struct m0_tcp_listener, tcl_fd);

	(void)events;
	if (!m0_list_link_is_in(&listener->tcl_callers))
		m0_list_add_tail(&listener->tcl_io->tci_callers,
				 &listener->tcl_callers);
}

static int socket_listen(int fd, struct m0_host_addr *addr)
{
	struct sockaddr_storage sa;
	socklen_t               len = m0_host_addr_to(addr, &sa);

	if (bind(fd, (struct sockaddr *)&sa, len) != 0 ||
	    listen(fd, BACKLOG) != 0)
		return -errno;
	/* Return the port that the system chose. */
	return addr->sa_port == 0 ? m0_tcp__addr_bound(fd, addr) : 0;
}

static bool is_at(int fd, const struct m0_host_addr *addr)
{
	struct m0_host_addr bound;

	return m0_tcp__addr_bound(fd, &bound) == 0 &&
	       bound.sa_port == addr->sa_port &&
	       bound.sa_bytes_nr == addr->sa_bytes_nr &&
	       memcmp(bound.sa_bytes, addr->sa_bytes, addr->sa_bytes_nr) == 0;
}

/**
 * Takes the socket that listens already at this address, if there is one.
 * @retval -ENOENT  there is none.
 */
static int handed_take(const struct m0_streams_cfg *cfg,
		       const struct m0_host_addr   *addr)
{
	unsigned i;
	int      fd;
	int      rc;

	M0_PRE(cfg->sic_listen_fds_nr <= ARRAY_SIZE(cfg->sic_listen_fds));
	for (i = 0; i < cfg->sic_listen_fds_nr; ++i) {
		if (is_at(cfg->sic_listen_fds[i], addr))
			break;
	}
	if (i == cfg->sic_listen_fds_nr)
		return -ENOENT;
	fd = fcntl(cfg->sic_listen_fds[i], F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		rc = -errno;
	else
		/* Connections inherit them. */
		rc = options_always(fd) ?: options_wanted(fd, cfg);
	if (rc != 0 && fd >= 0)
		(void)close(fd);
	return rc != 0 ? rc : fd;
}

static int listener_open(struct m0_tcp_listener *listener)
{
	struct m0_tcp_io    *io = listener->tcl_io;
	struct m0_host_addr *addr = &listener->tcl_listener->slr_addr;
	int                  fd = handed_take(&io->tci_cfg, addr);
	int                  rc = 0;

	listener->tcl_is_handed = fd >= 0;
	if (fd == -ENOENT)
		fd = m0_tcp__socket(&io->tci_cfg, addr);
	if (fd < 0)
		return fd;
	listener->tcl_fd.lof_fd = fd;
	if (!listener->tcl_is_handed)
		rc = socket_listen(fd, addr);
	if (rc == 0)
		rc = m0_loop_add(m0_tcp__loop(io), &listener->tcl_fd);
	if (rc != 0)
		(void)close(fd);
	return rc;
}

static void accept_one(struct m0_tcp_listener *listener);

int m0_tcp__listen(struct m0_streams *io, struct m0_stream_listener *listener,
		   char *why)
{
	struct m0_tcp_listener *tcp;
	int                     rc = -ENOMEM;

	M0_ALLOC_PTR(tcp);
	if (tcp != NULL) {
		tcp->tcl_io = m0_tcp__io(io);
		tcp->tcl_listener = listener;
		tcp->tcl_fd.lof_handler = m0_tcp__listener_event;
		tcp->tcl_take = accept_one;
		m0_list_link_init(&tcp->tcl_all);
		m0_list_link_init(&tcp->tcl_callers);
		rc = listener_open(tcp);
	}
	if (rc != 0) {
		m0_tcp__why_listen(why, &m0_tcp__io(io)->tci_cfg,
				   &listener->slr_addr, rc);
		m0_free(tcp);
		return rc;
	}
	m0_list_add_tail(&tcp->tcl_io->tci_listeners, &tcp->tcl_all);
	listener->slr_priv = tcp;
	if (tcp->tcl_io->tci_cfg.sic_same_host)
		m0_tcp__near_listen(tcp);
	return 0;
}

/* close() of a listener resets the connections that were not accepted yet. */
static void callers_end(int listener_fd)
{
	int i;

	M0_PRE(listener_fd >= 0);
	for (i = 0; i < BACKLOG; ++i) {
		int fd = accept4(listener_fd, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			m0_tcp__fd_end(fd, false);
		else if (errno != ECONNABORTED)
			break;
	}
}

void m0_tcp__unlisten(struct m0_streams         *io,
		      struct m0_stream_listener *listener)
{
	struct m0_tcp_listener *tcp = listener->slr_priv;

	M0_PRE(tcp != NULL);
	m0_tcp__near_unlisten(tcp);
	m0_loop_del(m0_tcp__loop(m0_tcp__io(io)), &tcp->tcl_fd);
	if (!tcp->tcl_is_handed)
		callers_end(tcp->tcl_fd.lof_fd);
	(void)close(tcp->tcl_fd.lof_fd);
	m0_list_del(&tcp->tcl_all);
	m0_list_del(&tcp->tcl_callers);
	m0_free(tcp);
	listener->slr_priv = NULL;
}

static void caller_take(struct m0_tcp_listener *listener, int fd,
			const struct sockaddr_storage *sa)
{
	struct m0_tcp_io     *io = listener->tcl_io;
	struct m0_tcp_stream *stream;
	void                 *user;
	struct m0_host_addr   remote;

	if (!m0_host_addr_from((const struct sockaddr *)sa, &remote) ||
	    (stream = m0_tcp__stream_new(io, fd, false)) == NULL) {
		m0_tcp__fd_end(fd, false);
		return;
	}
	m0_tcp__near_set(&io->tci_cfg, fd, &remote);
	stream->tcs_has_bbr = m0_tcp__has_bbr(fd);
	stream->tcs_local = listener->tcl_listener->slr_addr;
	if (m0_host_addr_is_any(&stream->tcs_local))
		(void)m0_tcp__addr_bound(fd, &stream->tcs_local);
	io->tci_current = stream;
	user = io->tci_streams.sts_up->stu_accepted(io->tci_streams.sts_owner,
						    listener->tcl_listener,
						    &stream->tcs_local, &remote,
						    &stream->tcs_stream);
	if (io->tci_current == stream && user == NULL)
		m0_tcp__stream_free(stream, false);
	else if (io->tci_current == stream)
		stream->tcs_stream.stm_user = user;
	io->tci_current = NULL;
}

/* The machine has no more sockets for us, for now. */
void m0_tcp__accept_pause(struct m0_tcp_io *io, int rc)
{
	M0_PRE(rc > 0);
	if (io->tci_pause_ns == 0)
		m0_log(M0_LOG_WARN,
		       "tcp: cannot accept connections for now: %s%s",
		       m0_errname(rc),
		       rc == EMFILE ? ": raise the limit of open files "
				      "(ulimit -n)"
				    : "");
	io->tci_pause_ns =
		clip64u(PAUSE_MIN_NS, PAUSE_MAX_NS, io->tci_pause_ns * 2);
	io->tci_pause_until = m0_time_add(io->tci_now, io->tci_pause_ns);
}

static void accept_one(struct m0_tcp_listener *listener)
{
	struct m0_tcp_io       *io = listener->tcl_io;
	struct sockaddr_storage sa;
	socklen_t               len = sizeof sa;
	int fd = accept4(listener->tcl_fd.lof_fd, (struct sockaddr *)&sa, &len,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		io->tci_pause_ns = 0;
		caller_take(listener, fd, &sa);
	} else if (M0_IN(errno, (EMFILE, ENFILE, ENOBUFS, ENOMEM))) {
		m0_tcp__accept_pause(io, errno);
	} else if (errno == EAGAIN) {
		m0_list_del(&listener->tcl_callers);
	}
	/* Other errors are those of one caller, which is gone. */
}

void m0_tcp__accept(struct m0_tcp_io *io)
{
	struct m0_tcp_listener *listener;
	struct m0_list_link    *link;
	unsigned                left = M0_TCP_ACCEPTS_MAX;

	if (io->tci_now < io->tci_pause_until)
		return;
	io->tci_pause_until = 0;
	while (left > 0 && io->tci_pause_until == 0 &&
	       (link = m0_list_first(&io->tci_callers)) != NULL) {
		listener = m0_list_entry(link, struct m0_tcp_listener,
					 tcl_callers);
		m0_list_move_tail(&io->tci_callers, link);
		listener->tcl_take(listener);
		--left;
	}
}
