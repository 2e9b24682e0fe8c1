/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One source port serves connections to different peers (SO_REUSEADDR): which pair is
 * taken shows when connecting.
 */
#include <unistd.h>

#include "lnd/tcp/near_internal.h"

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

struct dial {
	struct m0_tcp_io          *tcd_io;
	const struct m0_host_addr *tcd_from;
	const struct m0_host_addr *tcd_to;
	/** The socket, and what it was bound to. */
	int                 tcd_fd;
	struct m0_host_addr tcd_local;
};

static void dial_close(struct dial *dial)
{
	if (dial->tcd_fd >= 0)
		(void)close(dial->tcd_fd);
	dial->tcd_fd = -1;
}

static int dial_socket(struct dial *dial)
{
	const struct m0_streams_cfg *cfg = &dial->tcd_io->tci_cfg;
	int                          fd = m0_tcp__socket(cfg, dial->tcd_from);

	if (fd >= 0)
		m0_tcp__near_set(cfg, fd, dial->tcd_to);
	return fd;
}

static int dial_bind(struct dial *dial, uint16_t port)
{
	struct sockaddr_storage sa;
	socklen_t               len;
	int                     one = 1;

	if (dial->tcd_fd < 0)
		dial->tcd_fd = dial_socket(dial);
	if (dial->tcd_fd < 0)
		return dial->tcd_fd;
	/* A port that is any is chosen when the other end is known. */
	if (port == 0)
		(void)setsockopt(dial->tcd_fd, 0, IP_BIND_ADDRESS_NO_PORT, &one,
				 sizeof one);
	dial->tcd_local = *dial->tcd_from;
	dial->tcd_local.sa_port = port;
	len = m0_host_addr_to(&dial->tcd_local, &sa);
	return bind(dial->tcd_fd, (struct sockaddr *)&sa, len) == 0 ? 0
								    : -errno;
}

static int dial_connect(struct dial *dial)
{
	struct sockaddr_storage sa;
	socklen_t               len = m0_host_addr_to(dial->tcd_to, &sa);
	int                     rc;

	do {
		rc = connect(dial->tcd_fd, (struct sockaddr *)&sa, len) == 0
			     ? 0
			     : -errno;
	} while (rc == -EINTR);
	return M0_IN(rc, (-EINPROGRESS, -EALREADY)) ? 0 : rc;
}

/* @retval -EADDRINUSE  try the next one. */
static int dial_port(void *arg, uint16_t port)
{
	struct dial *dial = arg;
	int          rc = dial_bind(dial, port);

	if (rc != 0)
		return rc;
	rc = dial_connect(dial);
	if (rc != 0)
		dial_close(dial);
	return rc == -EADDRNOTAVAIL ? -EADDRINUSE : rc;
}

static int dial_any(struct dial *dial, uint16_t port_min, uint16_t port_max)
{
	return m0_host_ports_try(&dial->tcd_io->tci_ports, port_min, port_max,
				 dial->tcd_to->sa_port, dial_port, dial);
}

int m0_tcp__dial(struct m0_streams *streams, void *user,
		 const struct m0_host_addr *from, uint16_t port_min,
		 uint16_t port_max, const struct m0_host_addr *to,
		 struct m0_stream **ret, char *why)
{
	struct m0_tcp_io     *tcp = m0_tcp__io(streams);
	struct m0_tcp_stream *stream;
	struct dial           dial = {
			  .tcd_io = tcp, .tcd_from = from, .tcd_to = to, .tcd_fd = -1
	};
	int rc;

	M0_PRE(port_min <= port_max);
	stream = tcp->tci_cfg.sic_same_host
			 ? m0_tcp__near_dial(tcp, from, port_min, port_max, to)
			 : NULL;
	if (stream != NULL) {
		stream->tcs_stream.stm_user = user;
		*ret = &stream->tcs_stream;
		return 0;
	}
	rc = dial_any(&dial, port_min, port_max);
	stream = rc == 0 ? m0_tcp__stream_new(tcp, dial.tcd_fd, true) : NULL;
	if (rc == 0 && stream == NULL)
		rc = -ENOMEM;
	if (rc != 0) {
		dial_close(&dial);
		m0_tcp__why_dial(why, &tcp->tci_cfg, from, port_min, port_max,
				 to, rc);
		return rc;
	}
	stream->tcs_stream.stm_user = user;
	stream->tcs_local = dial.tcd_local;
	stream->tcs_stream.stm_fell_back = tcp->tci_cfg.sic_same_host &&
					   m0_tcp__addr_is_near(to);
	*ret = &stream->tcs_stream;
	return 0;
}

int m0_tcp__dial_instead(struct m0_tcp_stream *stream,
			 const struct m0_near *near)
{
	struct dial dial = { .tcd_io = stream->tcs_io,
			     .tcd_from = &stream->tcs_local,
			     .tcd_to = &near->nea_to,
			     .tcd_fd = -1 };
	int         rc;

	stream->tcs_local.sa_port = 0;
	rc = dial_any(&dial, near->nea_port_min, near->nea_port_max);

	if (rc == 0 && m0_tcp__stream_fd_set(stream, dial.tcd_fd) != 0)
		rc = -ENOMEM;
	if (rc != 0) {
		dial_close(&dial);
		return rc;
	}
	stream->tcs_local = dial.tcd_local;
	stream->tcs_stream.stm_fell_back = true;
	return 0;
}

static int dial_error(int fd)
{
	int       rc = 0;
	socklen_t len = sizeof rc;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &len) == 0 ? -rc
								    : -errno;
}

bool m0_tcp__dial_end(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;
	int               fd = stream->tcs_fd.lof_fd;
	int               rc = dial_error(fd);
	bool              is_there;

	if (stream->tcs_near != NULL)
		return m0_tcp__near_greeted(stream);
	stream->tcs_dials = false;
	if (rc == 0 && (stream->tcs_local.sa_port == 0 ||
			m0_host_addr_is_any(&stream->tcs_local)))
		rc = m0_tcp__addr_bound(fd, &stream->tcs_local);
	if (rc != 0) {
		m0_tcp__stream_broken(stream, rc);
		return false;
	}
	stream->tcs_has_bbr = m0_tcp__has_bbr(fd);
	m0_tcp__stream_out_add(stream);
	io->tci_current = stream;
	io->tci_streams.sts_up->stu_dialled(stream->tcs_stream.stm_user,
					    &stream->tcs_local);
	is_there = io->tci_current == stream;
	io->tci_current = NULL;
	return is_there;
}
