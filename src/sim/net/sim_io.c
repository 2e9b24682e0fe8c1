/* SPDX-License-Identifier: Apache-2.0 */
/* The table m0_sock_io_ops over the streams of the simulated network. */
#include <stdlib.h>

#include "sim/net/sim_net_internal.h"
#include "lnd/ksock/sock.h"

enum {
	/** What one pass does for one connection, and for one listener. */
	TURNS_MAX = 16,
	ACCEPTS_MAX = 16,
	IOV_NR = 64,
	AHEAD_MAX = 64 * 1024,
	/** TCP's keep-alive, as on the sockets of a real node. */
	KEEP_NR = 5
};
#define KEEP_IDLE_NS (30 * M0_TIME_ONE_SECOND)
#define KEEP_GAP_NS  (5 * M0_TIME_ONE_SECOND)

static struct sim_io *io_of(struct m0_sock_io *io)
{
	return container_of(io, struct sim_io, sno_io);
}

static void io_wake(struct sim_io *io)
{
	if (io->sno_strand != NULL)
		m0_strand_wake(io->sno_strand);
	if (io->sno_fd_is_open)
		m0_os_fd_signal(&io->sno_fd);
}

/* -- queues ---------------------------------------------------------------- */

static void ready_add(struct sim_end *end)
{
	struct sim_io *io = end->sie_io;

	if (end->sie_is_ready)
		return;
	end->sie_is_ready = true;
	TAILQ_INSERT_TAIL(&io->sno_ready, end, sie_ready_link);
	++io->sno_ready_nr;
}

static void ready_del(struct sim_end *end)
{
	if (!end->sie_is_ready)
		return;
	end->sie_is_ready = false;
	TAILQ_REMOVE(&end->sie_io->sno_ready, end, sie_ready_link);
	--end->sie_io->sno_ready_nr;
}

static void out_add(struct sim_end *end)
{
	if (end->sie_is_out)
		return;
	end->sie_is_out = true;
	TAILQ_INSERT_TAIL(&end->sie_io->sno_outs, end, sie_out_link);
}

static void out_del(struct sim_end *end)
{
	if (!end->sie_is_out)
		return;
	end->sie_is_out = false;
	TAILQ_REMOVE(&end->sie_io->sno_outs, end, sie_out_link);
}

/* The node lets go of an end, with a reset or as lnd/tcp does it. */
static void end_forget(struct sim_end *end, bool reset)
{
	struct sim_io *io = end->sie_io;

	ready_del(end);
	out_del(end);
	if (io->sno_serving == end)
		io->sno_serving = NULL;
	--io->sno_ends_nr;
	if (!reset)
		m0_sim_stream_discard(m0_sim__stream(end), end->sie_nr);
	m0_sim__end_leave(end, reset);
}

static void end_broken(struct sim_end *end, int status)
{
	struct m0_sock_conn *conn = end->sie_conn;

	end_forget(end, false);
	m0_sock_broken(conn, status);
}

static void end_adopt(struct sim_end *end, struct sim_io *io)
{
	end->sie_owner = SIM_OWNER_NODE;
	end->sie_io = io;
	++io->sno_ends_nr;
	m0_sim_stream_keepalive(m0_sim__stream(end), end->sie_nr, KEEP_IDLE_NS,
				KEEP_GAP_NS, KEEP_NR);
}

void m0_sim__node_notice(struct sim_end *end)
{
	if (end->sie_is_blocked) {
		end->sie_is_blocked = false;
		out_add(end);
	}
	ready_add(end);
	io_wake(end->sie_io);
}

void m0_sim__node_backlog(struct sim_listener *listener)
{
	io_wake(listener->sil_io);
}

/* -- reading --------------------------------------------------------------- */

/* Is the end still the node's, after a call up? */
static bool end_lives(const struct sim_io *io, const struct sim_end *end,
		      ssize_t rc)
{
	if (io->sno_serving != end)
		return false;
	M0_ASSERT_INFO(rc >= 0, "a connection was ended, and not hung up");
	return true;
}

/* Gives again what was read ahead. */
static bool held_give(struct sim_io *io, struct sim_end *end)
{
	ssize_t taken;

	taken = m0_sock_in_bytes(end->sie_conn,
				 end->sie_held + end->sie_held_at,
				 end->sie_held_nr);
	if (!end_lives(io, end, taken))
		return false;
	end->sie_held_at += (size_t)taken;
	end->sie_held_nr -= (size_t)taken;
	if (end->sie_held_nr > 0)
		end->sie_is_paused = true;
	return end->sie_held_nr == 0;
}

static size_t iov_bytes(const struct iovec *iov, unsigned nr)
{
	size_t   bytes = 0;
	unsigned i;

	for (i = 0; i < nr; ++i)
		bytes += iov[i].iov_len;
	return bytes;
}

/* Fills segments, as readv does. */
static ssize_t end_readv(struct sim_end *end, const struct iovec *iov,
			 unsigned nr)
{
	size_t   done = 0;
	ssize_t  rc = -EAGAIN;
	unsigned i;

	for (i = 0; i < nr; ++i) {
		if (iov[i].iov_len == 0)
			continue;
		rc = m0_sim_stream_read(m0_sim__stream(end), end->sie_nr,
					iov[i].iov_base, iov[i].iov_len);
		if (rc <= 0)
			break;
		done += (size_t)rc;
		if ((size_t)rc < iov[i].iov_len)
			break;
	}
	return done > 0 ? (ssize_t)done : rc;
}

static void held_make(struct sim_end *end)
{
	if (end->sie_held == NULL)
		end->sie_held = m0_sim__realloc(
			NULL, 1, M0_SOCK_AGAIN_BYTES_MAX + AHEAD_MAX);
}

/* What went to the wrong place joins what was read behind it. */
static void held_again(struct sim_end *end, const struct iovec *iov, size_t nr)
{
	uint8_t *to;
	size_t   part;

	M0_ASSERT(nr <= M0_SOCK_AGAIN_BYTES_MAX);
	held_make(end);
	to = end->sie_held;
	memmove(to + nr, to, end->sie_held_nr);
	end->sie_held_at = 0;
	end->sie_held_nr += nr;
	for (; nr > 0; ++iov) {
		part = min64u(nr, iov->iov_len);
		memcpy(to, iov->iov_base, part);
		to += part;
		nr -= part;
	}
}

/* Reads ahead up to `max` bytes, at times fewer. */
static void ahead_read(struct sim_end *end, size_t max)
{
	ssize_t rc;

	max = min64u(max, AHEAD_MAX);
	if (m0_rand_below(&m0_sim__net()->sin_rand, 4) == 0)
		max = m0_rand_in(&m0_sim__net()->sin_rand, 1, max);
	held_make(end);
	rc = m0_sim_stream_read(m0_sim__stream(end), end->sie_nr, end->sie_held,
				max);
	end->sie_held_at = 0;
	end->sie_held_nr = rc > 0 ? (size_t)rc : 0;
}

/* Brings the driver something; false: enough. */
static bool end_read(struct sim_io *io, struct sim_end *end)
{
	struct iovec iov[IOV_NR];
	size_t       ahead = 0;
	unsigned     nr;
	ssize_t      rc;

	if (end->sie_held_nr > 0 && !held_give(io, end))
		return false;
	nr = m0_sock_in_where(end->sie_conn, iov, IOV_NR, &ahead);
	M0_ASSERT(nr <= IOV_NR);
	if (nr == 0) {
		end->sie_is_paused = true;
		return false;
	}
	M0_ASSERT_INFO(iov_bytes(iov, nr) > 0, "a place for no bytes");
	rc = end_readv(end, iov, nr);
	if (rc == -EAGAIN)
		return false;
	if (rc <= 0) {
		end_broken(end, (int)rc);
		return false;
	}
	if ((size_t)rc == iov_bytes(iov, nr) && ahead > 0)
		ahead_read(end, ahead);
	m0_sock_calls_count(end->sie_conn, 1, 0);
	rc = m0_sock_in_arrived(end->sie_conn, (size_t)rc);
	if (!end_lives(io, end, rc))
		return false;
	if (rc > 0)
		held_again(end, iov, (size_t)rc);
	return true;
}

/* Tells how the dial ended; false: it is over. */
static bool dial_tell(struct sim_io *io, struct sim_end *end)
{
	if (end->sie_dial_rc != 0) {
		end_broken(end, end->sie_dial_rc);
		return false;
	}
	end->sie_is_told = true;
	m0_sock_dialled(end->sie_conn, &end->sie_addr);
	return end_lives(io, end, 0);
}

static void end_serve(struct sim_io *io, struct sim_end *end)
{
	const struct m0_sim_stream *stream = m0_sim__stream(end);
	unsigned                    nr;

	io->sno_serving = end;
	if (!end->sie_is_dialled || (!end->sie_is_told && !dial_tell(io, end)))
		goto out;
	if (stream->sst_reset[end->sie_nr] && end->sie_is_paused) {
		end_broken(end, stream->sst_reset_status[end->sie_nr]);
		goto out;
	}
	for (nr = 0; nr < TURNS_MAX; ++nr)
		if (end->sie_is_paused || !end_read(io, end))
			break;
	if (io->sno_serving == end && !end->sie_is_paused &&
	    (end->sie_held_nr > 0 ||
	     m0_sim_stream_is_readable(stream, end->sie_nr)))
		ready_add(end);
out:
	io->sno_serving = NULL;
}

/* -- passes ---------------------------------------------------------------- */

static void listener_accept(struct sim_io *io, struct sim_listener *listener)
{
	struct sim_end      *end;
	struct m0_sock_conn *conn;
	unsigned             nr;

	for (nr = 0; nr < ACCEPTS_MAX; ++nr) {
		end = TAILQ_FIRST(&listener->sil_backlog);
		if (end == NULL)
			return;
		TAILQ_REMOVE(&listener->sil_backlog, end, sie_backlog_link);
		--listener->sil_backlog_nr;
		end_adopt(end, io);
		conn = m0_sock_accepted(io->sno_io.si_sock,
					listener->sil_listener, &end->sie_addr,
					&end->sie_wire->siw_end[0].sie_addr,
					end);
		if (conn == NULL) {
			end_forget(end, false);
			continue;
		}
		end->sie_conn = conn;
		ready_add(end);
	}
}

static bool backlog_is_empty(const struct sim_io *io)
{
	const struct sim_listener *listener;

	TAILQ_FOREACH(listener, &m0_sim__net()->sin_listeners, sil_link)
	if (listener->sil_io == io && listener->sil_backlog_nr > 0)
		return false;
	return true;
}

static bool sim_pass(struct m0_sock_io *base, m0_time_t now)
{
	struct sim_io       *io = io_of(base);
	struct sim_listener *listener;
	struct sim_end      *end;
	unsigned             nr;

	if (base->si_sock == NULL)
		return false;
	if (io->sno_fd_is_open)
		m0_os_fd_clear(&io->sno_fd);
	io->sno_has_told = false;
	m0_sock_now_set(base->si_sock, now);
	TAILQ_FOREACH(listener, &m0_sim__net()->sin_listeners, sil_link)
	if (listener->sil_io == io)
		listener_accept(io, listener);
	for (nr = io->sno_ready_nr; nr > 0; --nr) {
		end = TAILQ_FIRST(&io->sno_ready);
		if (end == NULL)
			break;
		ready_del(end);
		end_serve(io, end);
	}
	return !TAILQ_EMPTY(&io->sno_ready) || !backlog_is_empty(io);
}

static void end_write(struct sim_io *io, struct sim_end *end)
{
	struct iovec iov[IOV_NR];
	unsigned     nr;
	ssize_t      rc;
	size_t       bytes;

	io->sno_serving = end;
	for (;;) {
		nr = m0_sock_out_what(end->sie_conn, iov, IOV_NR);
		M0_ASSERT(nr <= IOV_NR);
		if (nr == 0)
			break;
		bytes = iov_bytes(iov, nr);
		M0_ASSERT_INFO(bytes > 0, "nothing is to be written");
		rc = m0_sim_stream_write(m0_sim__stream(end), end->sie_nr, iov,
					 nr);
		if (rc < 0) {
			io->sno_has_told = true;
			end_broken(end, (int)rc);
			break;
		}
		m0_sock_calls_count(end->sie_conn, 0, 1);
		end->sie_is_blocked = (size_t)rc < bytes;
		if (rc == 0 ||
		    !end_lives(io, end,
			       m0_sock_out_left(end->sie_conn, (size_t)rc)) ||
		    end->sie_is_blocked)
			break;
	}
	io->sno_serving = NULL;
}

static void sim_flush(struct m0_sock_io *base)
{
	struct sim_io  *io = io_of(base);
	struct sim_ends later = TAILQ_HEAD_INITIALIZER(later);
	struct sim_end *end;

	while ((end = TAILQ_FIRST(&io->sno_outs)) != NULL) {
		out_del(end);
		if (end->sie_is_told) {
			end_write(io, end);
		} else {
			end->sie_is_out = true;
			TAILQ_INSERT_TAIL(&later, end, sie_out_link);
		}
	}
	TAILQ_CONCAT(&io->sno_outs, &later, sie_out_link);
}

static bool sim_ready(struct m0_sock_io *base)
{
	struct sim_io *io = io_of(base);

	return io->sno_has_told || !TAILQ_EMPTY(&io->sno_ready) ||
	       !backlog_is_empty(io);
}

static void sim_rouse(struct m0_sock_io *base)
{
	io_wake(io_of(base));
}

static int sim_fd(struct m0_sock_io *base)
{
	struct sim_io *io = io_of(base);
	int            rc;

	if (!io->sno_fd_is_open) {
		rc = m0_os_fd_open(&io->sno_fd);
		if (rc != 0)
			return rc;
		io->sno_fd_is_open = true;
		m0_os_fd_signal(&io->sno_fd);
	}
	return io->sno_fd.of_fd;
}

static void sim_arm(struct m0_sock_io *base, m0_time_t deadline)
{
	struct sim_io *io = io_of(base);

	if (io->sno_fd_is_open)
		m0_os_fd_arm(&io->sno_fd, deadline);
}

static void sim_strand_set(struct m0_sock_io *base, struct m0_strand *strand)
{
	io_of(base)->sno_strand = strand;
}

/* -- life ------------------------------------------------------------------ */

static int sim_create(struct m0_sock_io **ret, const struct m0_sock_io_cfg *cfg)
{
	struct sim_net *net = m0_sim__net();
	struct sim_io  *io = m0_sim__realloc(NULL, 1, sizeof *io);

	(void)cfg;
	*io = (struct sim_io){ .sno_io.si_ops = &m0_sim_io_ops,
			       .sno_host = net->sin_host_used };
	TAILQ_INIT(&io->sno_ready);
	TAILQ_INIT(&io->sno_outs);
	++net->sin_ios_nr;
	if (io->sno_host != NULL)
		++io->sno_host->smh_ios_nr;
	*ret = &io->sno_io;
	return 0;
}

static void sim_destroy(struct m0_sock_io *base)
{
	struct sim_net *net = m0_sim__net();
	struct sim_io  *io = io_of(base);

	if (io->sno_ends_nr + io->sno_listeners_nr > 0)
		m0_sim_fail(net->sin_sim,
			    "an io ends with %u streams and %u listeners",
			    io->sno_ends_nr, io->sno_listeners_nr);
	if (io->sno_fd_is_open)
		m0_os_fd_close(&io->sno_fd);
	--net->sin_ios_nr;
	if (io->sno_host != NULL)
		--io->sno_host->smh_ios_nr;
	free(io);
}

static unsigned host_ifaces(const struct m0_sim_host *host,
			    struct m0_sock_iface *ifaces, unsigned max,
			    unsigned nr)
{
	const struct m0_sock_addr *addr;
	unsigned                   i;

	for (i = 0; i < host->smh_addrs_nr; ++i, ++nr) {
		addr = &host->smh_addrs[i];
		if (nr >= max)
			continue;
		ifaces[nr] = (struct m0_sock_iface){
			.sif_addr = *addr,
			.sif_is_up = !host->smh_iface_down,
			.sif_is_link_local = addr->sa_bytes_nr == 16 &&
					     addr->sa_bytes[0] == 0xfe &&
					     (addr->sa_bytes[1] & 0xc0) == 0x80,
			.sif_is_loopback = addr->sa_bytes_nr == 4 &&
					   addr->sa_bytes[0] == 127,
			.sif_index = i + 1,
		};
		(void)snprintf(ifaces[nr].sif_name, sizeof ifaces[nr].sif_name,
			       "sim%u", i);
	}
	return nr;
}

static int sim_ifaces(struct m0_sock_iface *ifaces, unsigned max)
{
	struct sim_net *net = m0_sim__net();
	unsigned        nr = 0;
	unsigned        i;

	if (net->sin_host_used != NULL)
		return (int)host_ifaces(net->sin_host_used, ifaces, max, 0);
	for (i = 0; i < net->sin_hosts_nr; ++i)
		nr = host_ifaces(net->sin_hosts[i], ifaces, max, nr);
	return (int)nr;
}

/* -- for the driver -------------------------------------------------------- */

static int sim_listen(struct m0_sock_io *base, struct m0_sock_listener *at,
		      char *why)
{
	struct sim_listener *listener;
	int                  rc;

	listener = m0_sim__realloc(NULL, 1, sizeof *listener);
	*listener = (struct sim_listener){ .sil_io = io_of(base),
					   .sil_listener = at };
	rc = m0_sim__listener_add(listener, &at->slr_addr);
	if (rc != 0) {
		if (why != NULL)
			(void)snprintf(why, M0_LND_WHY_BYTES,
				       "cannot listen on port %u: error %d",
				       at->slr_addr.sa_port, -rc);
		free(listener);
		return rc;
	}
	++io_of(base)->sno_listeners_nr;
	at->slr_stream = listener;
	return 0;
}

static void sim_unlisten(struct m0_sock_io *base, struct m0_sock_listener *at)
{
	struct sim_listener *listener = at->slr_stream;

	M0_PRE(listener->sil_io == io_of(base));
	m0_sim__listener_del(listener);
	--listener->sil_io->sno_listeners_nr;
	free(listener);
	at->slr_stream = NULL;
}

static int sim_dial(struct m0_sock_io *base, struct m0_sock_conn *conn,
		    const struct m0_sock_addr *from, uint16_t port_min,
		    uint16_t port_max, const struct m0_sock_addr *to,
		    void **stream, char *why)
{
	struct sim_end *end;
	int             rc;

	rc = m0_sim__dial(from, port_min, port_max, to, &end);
	if (rc != 0) {
		if (why != NULL)
			(void)snprintf(why, M0_LND_WHY_BYTES,
				       "cannot connect from ports %u to %u: "
				       "error %d",
				       port_min, port_max, -rc);
		return rc;
	}
	end_adopt(end, io_of(base));
	end->sie_conn = conn;
	*stream = end;
	return 0;
}

static struct sim_end *end_of(struct m0_sock_io *base, void *stream)
{
	struct sim_end *end = stream;

	M0_PRE(end->sie_owner == SIM_OWNER_NODE);
	M0_PRE(end->sie_io == io_of(base));
	return end;
}

static void sim_out(struct m0_sock_io *base, void *stream)
{
	struct sim_end *end = end_of(base, stream);

	if (!end->sie_is_blocked)
		out_add(end);
}

static void sim_in(struct m0_sock_io *base, void *stream)
{
	struct sim_end *end = end_of(base, stream);

	end->sie_is_paused = false;
	ready_add(end);
	io_wake(end->sie_io);
}

static void sim_hangup(struct m0_sock_io *base, void *stream, bool reset)
{
	end_forget(end_of(base, stream), reset);
}

static size_t sim_unsent(struct m0_sock_io *base, void *stream)
{
	struct sim_end *end = end_of(base, stream);

	return m0_sim_stream_unsent(m0_sim__stream(end), end->sie_nr);
}

/* Nobody sleeps in it: sio_sleep is not set. */
const struct m0_sock_io_ops m0_sim_io_ops = {
	.sio_create = sim_create,
	.sio_destroy = sim_destroy,
	.sio_ifaces = sim_ifaces,
	.sio_pass = sim_pass,
	.sio_flush = sim_flush,
	.sio_rouse = sim_rouse,
	.sio_ready = sim_ready,
	.sio_fd = sim_fd,
	.sio_arm = sim_arm,
	.sio_strand_set = sim_strand_set,
	.sio_listen = sim_listen,
	.sio_unlisten = sim_unlisten,
	.sio_dial = sim_dial,
	.sio_out = sim_out,
	.sio_in = sim_in,
	.sio_hangup = sim_hangup,
	.sio_unsent = sim_unsent,
};
