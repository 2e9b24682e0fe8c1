/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The table of a simulated host, and byte streams over the streams of the
 * simulated network.
 */
#include <stdlib.h>

#include "sim/net/sim_net_internal.h"
#include "stream/segs.h"

enum {
	/** Limits of one pass for one connection, and for one listener. */
	TURNS_MAX = 16,
	ACCEPTS_MAX = 16,
	IOV_NR = 64,
	AHEAD_MAX = 64 * 1024,
	/** TCP's keep-alive, as on the sockets of a real node. */
	KEEP_NR = 5
};
#define KEEP_IDLE_NS (30 * M0_TIME_ONE_SECOND)
#define KEEP_GAP_NS  (5 * M0_TIME_ONE_SECOND)

static struct sim_io *io_of(struct m0_streams *streams)
{
	return container_of(streams, struct sim_io, sno_streams);
}

static const struct m0_streams_up *up(const struct sim_end *end)
{
	return end->sie_io->sno_streams.sts_up;
}

static void *user(const struct sim_end *end)
{
	return end->sie_stream.stm_user;
}

static void io_wake(struct sim_io *io)
{
	m0_sim__reactor_wake(io->sno_reactor);
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

/* Detach an end from its node: with a reset, or the way lnd/tcp closes. */
static void end_forget(struct sim_end *end, bool reset)
{
	struct sim_io *io = end->sie_io;

	m0_sim__lane_drop(end);
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
	const struct m0_streams_up *calls = up(end);
	void                       *whom = user(end);

	end_forget(end, false);
	calls->stu_broken(whom, status);
}

static void end_adopt(struct sim_end *end, struct sim_io *io)
{
	end->sie_owner = SIM_OWNER_NODE;
	end->sie_io = io;
	end->sie_stream.stm_counts = &io->sno_streams.sts_counts;
	++io->sno_ends_nr;
	m0_sim_stream_keepalive(m0_sim__stream(end), end->sie_nr, KEEP_IDLE_NS,
				KEEP_GAP_NS, KEEP_NR);
}

void m0_sim__node_notice(struct sim_end *end)
{
	m0_sim__lane_notice(end);
	if (end->sie_is_blocked && end->sie_job[1] == NULL) {
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

/* -- time ------------------------------------------------------------------ */

static bool is_busy(const struct sim_io *io)
{
	return io->sno_busy_until > m0_sim_now(m0_sim__net()->sin_sim);
}

static void busy_fire(struct m0_sim_timer *timer)
{
	io_wake(timer->simt_data);
}

/* The node's strand has moved so many bytes, and does nothing else meanwhile. */
static void busy_add(struct sim_io *io, size_t bytes)
{
	struct m0_sim *sim = m0_sim__net()->sin_sim;
	m0_time_t      ns = m0_sim__copy_ns(bytes);

	if (ns == 0)
		return;
	io->sno_busy_until =
		m0_time_add(max64u(io->sno_busy_until, m0_sim_now(sim)), ns);
	m0_sim_timer_arm(sim, &io->sno_busy_timer, io->sno_busy_until,
			 busy_fire);
}

/* -- reading --------------------------------------------------------------- */

/* Return true if the end still belongs to the node after a callback. */
static bool end_lives(const struct sim_io *io, const struct sim_end *end,
		      ssize_t rc)
{
	if (io->sno_serving != end)
		return false;
	M0_ASSERT_INFO(rc >= 0, "a connection was ended, and not hung up");
	return true;
}

/* Pass on to the driver the bytes that were read ahead. */
static bool held_give(struct sim_io *io, struct sim_end *end)
{
	ssize_t taken;

	taken = up(end)->stu_in_bytes(
		user(end), end->sie_held + end->sie_held_at, end->sie_held_nr);
	if (!end_lives(io, end, taken))
		return false;
	end->sie_held_at += (size_t)taken;
	end->sie_held_nr -= (size_t)taken;
	if (end->sie_held_nr > 0)
		end->sie_is_paused = true;
	return end->sie_held_nr == 0;
}

ssize_t m0_sim__end_readv(struct sim_end *end, const struct iovec *iov,
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
			NULL, 1, M0_STREAM_AGAIN_BYTES_MAX + AHEAD_MAX);
}

/* Bytes that went to the wrong place go before those read behind them. */
static void held_again(struct sim_end *end, const struct iovec *iov, size_t nr)
{
	M0_ASSERT(nr <= M0_STREAM_AGAIN_BYTES_MAX);
	held_make(end);
	end->sie_held_at = 0;
	end->sie_held_nr += nr;
	m0_stream_segs_gather(iov, nr, end->sie_held, end->sie_held_nr);
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

/* Pass bytes to the driver; return false when this end has nothing to do. */
static bool end_read(struct sim_io *io, struct sim_end *end)
{
	struct iovec iov[IOV_NR];
	size_t       ahead = 0;
	unsigned     nr;
	ssize_t      rc;

	if (end->sie_held_nr > 0 && !held_give(io, end))
		return false;
	nr = up(end)->stu_in_where(user(end), iov, IOV_NR, &ahead);
	M0_ASSERT(nr <= IOV_NR);
	if (nr == 0) {
		end->sie_is_paused = true;
		return false;
	}
	M0_ASSERT_INFO(m0_stream_segs_bytes(iov, nr) > 0,
		       "a place for no bytes");
	if (m0_sim__lane_takes(io, m0_stream_segs_bytes(iov, nr)) &&
	    up(end)->stu_in_lend != NULL && up(end)->stu_in_lend(user(end))) {
		end->sie_is_paused = true;
		m0_sim__lane_give(end, false, iov, nr);
		return false;
	}
	rc = m0_sim__end_readv(end, iov, nr);
	if (rc == -EAGAIN)
		return false;
	if (rc <= 0) {
		end_broken(end, (int)rc);
		return false;
	}
	if ((size_t)rc == m0_stream_segs_bytes(iov, nr) && ahead > 0)
		ahead_read(end, ahead);
	++end->sie_stream.stm_counts->stc_reads_nr;
	busy_add(io, (size_t)rc + end->sie_held_nr);
	rc = up(end)->stu_in_arrived(user(end), (size_t)rc);
	if (!end_lives(io, end, rc))
		return false;
	if (rc > 0)
		held_again(end, iov, (size_t)rc);
	return true;
}

/*
 * Notify the driver of the result of the dial; return false if the end is gone.
 */
static bool dial_report(struct sim_io *io, struct sim_end *end)
{
	if (end->sie_dial_rc != 0) {
		end_broken(end, end->sie_dial_rc);
		return false;
	}
	end->sie_is_notified = true;
	up(end)->stu_dialled(user(end), &end->sie_addr);
	return end_lives(io, end, 0);
}

static void end_serve(struct sim_io *io, struct sim_end *end)
{
	const struct m0_sim_stream *stream = m0_sim__stream(end);
	unsigned                    nr;

	io->sno_serving = end;
	if (!end->sie_is_dialled ||
	    (!end->sie_is_notified && !dial_report(io, end)))
		goto out;
	if (stream->sst_reset[end->sie_nr] && end->sie_is_paused &&
	    end->sie_job[0] == NULL) {
		end_broken(end, stream->sst_reset_status[end->sie_nr]);
		goto out;
	}
	for (nr = 0; nr < TURNS_MAX && !is_busy(io); ++nr)
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
	const struct m0_streams *streams = &io->sno_streams;
	struct sim_end          *end;
	void                    *whom;
	unsigned                 nr;

	for (nr = 0; nr < ACCEPTS_MAX; ++nr) {
		end = TAILQ_FIRST(&listener->sil_backlog);
		if (end == NULL)
			return;
		TAILQ_REMOVE(&listener->sil_backlog, end, sie_backlog_link);
		--listener->sil_backlog_nr;
		end_adopt(end, io);
		whom = streams->sts_up->stu_accepted(
			streams->sts_owner, listener->sil_listener,
			&end->sie_addr, &end->sie_wire->siw_end[0].sie_addr,
			&end->sie_stream);
		if (whom == NULL) {
			end_forget(end, false);
			continue;
		}
		end->sie_stream.stm_user = whom;
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

static bool has_work(const struct sim_io *io)
{
	return !is_busy(io) &&
	       (!TAILQ_EMPTY(&io->sno_ready) || !TAILQ_EMPTY(&io->sno_back) ||
		!backlog_is_empty(io));
}

static struct sim_io *io_of_source(struct m0_reactor_source *src)
{
	return container_of(src, struct sim_io, sno_source);
}

static void watches_look(struct sim_io *io)
{
	struct m0_stream_watch *watch;
	bool                    was_up;

	m0_list_for_each_entry(&io->sno_watches, watch, struct m0_stream_watch,
			       swa_link) {
		was_up = watch->swa_is_up;
		watch->swa_is_up = m0_sim__link_is_up(&watch->swa_addr);
		if (watch->swa_is_up != was_up)
			io->sno_streams.sts_up->stu_watched(
				io->sno_streams.sts_owner, watch);
	}
}

/* A lane has read. */
static void in_back(struct sim_io *io, struct sim_end *end,
		    const struct sim_back *back)
{
	int rc;

	end->sie_is_paused = false;
	if (back->sba_moved > 0) {
		rc = up(end)->stu_in_arrived(user(end), back->sba_moved);
		if (!end_lives(io, end, rc))
			return;
		M0_ASSERT(rc == 0);
	}
	if (back->sba_rc <= 0)
		end_broken(end, (int)back->sba_rc);
	else
		ready_add(end);
}

/* A lane has written. What it has left, the stream may take by now. */
static void out_back(struct sim_io *io, struct sim_end *end,
		     const struct sim_back *back)
{
	up(end)->stu_out_lend(user(end), false);
	end->sie_is_blocked = false;
	if (back->sba_moved > 0 &&
	    !end_lives(io, end,
		       up(end)->stu_out_left(user(end), back->sba_moved)))
		return;
	if (back->sba_rc < 0)
		end_broken(end, (int)back->sba_rc);
	else
		out_add(end);
}

static void lanes_back(struct sim_io *io)
{
	struct sim_back back;
	struct sim_end *end;

	while ((end = m0_sim__lane_back(io, &back)) != NULL) {
		io->sno_serving = end;
		if (back.sba_is_out)
			out_back(io, end, &back);
		else
			in_back(io, end, &back);
		io->sno_serving = NULL;
	}
}

static bool sim_pass(struct m0_reactor_source *src, m0_time_t now)
{
	struct sim_io       *io = io_of_source(src);
	struct sim_listener *listener;
	struct sim_end      *end;
	unsigned             nr;

	(void)now;
	if (is_busy(io))
		return false;
	watches_look(io);
	lanes_back(io);
	TAILQ_FOREACH(listener, &m0_sim__net()->sin_listeners, sil_link)
		if (listener->sil_io == io)
			listener_accept(io, listener);
	for (nr = io->sno_ready_nr; nr > 0 && !is_busy(io); --nr) {
		end = TAILQ_FIRST(&io->sno_ready);
		if (end == NULL)
			break;
		ready_del(end);
		end_serve(io, end);
	}
	return has_work(io);
}

/* The lane has it; the end counts as blocked until it comes back. */
static bool out_lend(struct sim_io *io, struct sim_end *end,
		     const struct iovec *iov, unsigned nr, size_t bytes)
{
	if (!m0_sim__lane_takes(io, bytes) || up(end)->stu_out_lend == NULL)
		return false;
	up(end)->stu_out_lend(user(end), true);
	/* A call up may have announced more meanwhile. */
	out_del(end);
	end->sie_is_blocked = true;
	m0_sim__lane_give(end, true, iov, nr);
	return true;
}

static void end_write(struct sim_io *io, struct sim_end *end)
{
	struct iovec iov[IOV_NR];
	unsigned     nr;
	ssize_t      rc;
	size_t       bytes;

	io->sno_serving = end;
	for (;;) {
		nr = up(end)->stu_out_what(user(end), iov, IOV_NR);
		M0_ASSERT(nr <= IOV_NR);
		if (nr == 0)
			break;
		bytes = m0_stream_segs_bytes(iov, nr);
		M0_ASSERT_INFO(bytes > 0, "nothing is to be written");
		if (out_lend(io, end, iov, nr, bytes))
			break;
		rc = m0_sim_stream_write(m0_sim__stream(end), end->sie_nr, iov,
					 nr);
		if (rc < 0) {
			io->sno_reactor->sra_has_called = true;
			end_broken(end, (int)rc);
			break;
		}
		++end->sie_stream.stm_counts->stc_writes_nr;
		busy_add(io, (size_t)rc);
		end->sie_is_blocked = (size_t)rc < bytes;
		if (rc == 0 ||
		    !end_lives(io, end,
			       up(end)->stu_out_left(user(end), (size_t)rc)) ||
		    end->sie_is_blocked)
			break;
	}
	io->sno_serving = NULL;
}

static void sim_flush(struct m0_reactor_source *src)
{
	struct sim_io  *io = io_of_source(src);
	struct sim_ends later = TAILQ_HEAD_INITIALIZER(later);
	struct sim_end *end;

	while (!is_busy(io) && (end = TAILQ_FIRST(&io->sno_outs)) != NULL) {
		out_del(end);
		if (end->sie_is_notified) {
			end_write(io, end);
		} else {
			end->sie_is_out = true;
			TAILQ_INSERT_TAIL(&later, end, sie_out_link);
		}
	}
	TAILQ_CONCAT(&io->sno_outs, &later, sie_out_link);
}

static bool sim_has_work(const struct m0_reactor_source *src)
{
	return has_work(container_of(src, const struct sim_io, sno_source));
}

static const struct m0_reactor_source_ops source_ops = {
	.rtso_pass = sim_pass,
	.rtso_flush = sim_flush,
	.rtso_has_work = sim_has_work,
};

/* -- life ------------------------------------------------------------------ */

static const struct m0_streams_ops streams_ops;

static int sim_create(struct m0_streams **ret, struct m0_reactor *reactor,
		      const struct m0_streams_cfg *cfg)
{
	struct sim_net *net = m0_sim__net();
	struct sim_io  *io = m0_sim__realloc(NULL, 1, sizeof *io);

	*io = (struct sim_io){ .sno_streams.sts_ops = &streams_ops,
			       .sno_streams.sts_reactor = reactor,
			       .sno_source.rts_ops = &source_ops,
			       .sno_reactor = m0_sim__reactor_of(reactor),
			       .sno_host = net->sin_host_used };
	TAILQ_INIT(&io->sno_ready);
	TAILQ_INIT(&io->sno_outs);
	io->sno_busy_timer.simt_data = io;
	m0_sim__lanes_start(io, cfg == NULL ? 0 : cfg->sic_lanes_nr);
	m0_list_init(&io->sno_watches);
	m0_list_link_init(&io->sno_link);
	m0_list_add_tail(&net->sin_ios, &io->sno_link);
	m0_reactor_add(reactor, &io->sno_source);
	++net->sin_ios_nr;
	if (io->sno_host != NULL)
		++io->sno_host->smh_ios_nr;
	*ret = &io->sno_streams;
	return 0;
}

static void sim_destroy(struct m0_streams *base)
{
	struct sim_net *net = m0_sim__net();
	struct sim_io  *io = io_of(base);

	if (io->sno_ends_nr + io->sno_listeners_nr > 0)
		m0_sim_fail(net->sin_sim,
			    "an io ends with %u streams and %u listeners",
			    io->sno_ends_nr, io->sno_listeners_nr);
	m0_sim__lanes_stop(io);
	m0_sim_timer_cancel(net->sin_sim, &io->sno_busy_timer);
	m0_reactor_del(&io->sno_source);
	m0_list_del(&io->sno_link);
	--net->sin_ios_nr;
	if (io->sno_host != NULL)
		--io->sno_host->smh_ios_nr;
	free(io);
}

static unsigned host_ifaces(const struct m0_sim_host *host,
			    struct m0_host_iface *ifaces, unsigned max,
			    unsigned nr)
{
	const struct m0_host_addr *addr;
	unsigned                   i;

	for (i = 0; i < host->smh_addrs_nr; ++i, ++nr) {
		addr = &host->smh_addrs[i];
		if (nr >= max)
			continue;
		ifaces[nr] = (struct m0_host_iface){
			.sif_addr = *addr,
			.sif_is_up = !host->smh_iface_down[i],
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

static int sim_ifaces(struct m0_reactor *reactor, struct m0_host_iface *ifaces,
		      unsigned max)
{
	struct sim_net *net = m0_sim__net();
	unsigned        nr = 0;
	unsigned        i;

	(void)reactor;
	if (net->sin_host_used != NULL)
		return (int)host_ifaces(net->sin_host_used, ifaces, max, 0);
	for (i = 0; i < net->sin_hosts_nr; ++i)
		nr = host_ifaces(net->sin_hosts[i], ifaces, max, nr);
	return (int)nr;
}

/* -- for the driver -------------------------------------------------------- */

static int sim_listen(struct m0_streams *base, struct m0_stream_listener *at,
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
	at->slr_priv = listener;
	return 0;
}

static void sim_unlisten(struct m0_streams *base, struct m0_stream_listener *at)
{
	struct sim_listener *listener = at->slr_priv;

	M0_PRE(listener->sil_io == io_of(base));
	m0_sim__listener_del(listener);
	--listener->sil_io->sno_listeners_nr;
	free(listener);
	at->slr_priv = NULL;
}

static int sim_dial(struct m0_streams *base, void *whom,
		    const struct m0_host_addr *from, uint16_t port_min,
		    uint16_t port_max, const struct m0_host_addr *to,
		    struct m0_stream **ret, char *why)
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
	end->sie_stream.stm_user = whom;
	*ret = &end->sie_stream;
	return 0;
}

static struct sim_end *end_of(struct m0_streams *base, struct m0_stream *stream)
{
	struct sim_end *end = container_of(stream, struct sim_end, sie_stream);

	M0_PRE(end->sie_owner == SIM_OWNER_NODE);
	M0_PRE(end->sie_io == io_of(base));
	return end;
}

static void sim_out(struct m0_streams *base, struct m0_stream *stream)
{
	struct sim_end *end = end_of(base, stream);

	if (!end->sie_is_blocked)
		out_add(end);
}

static void sim_in(struct m0_streams *base, struct m0_stream *stream)
{
	struct sim_end *end = end_of(base, stream);

	if (end->sie_job[0] != NULL)
		return;
	end->sie_is_paused = false;
	ready_add(end);
	io_wake(end->sie_io);
}

static void sim_in_recall(struct m0_streams *base, struct m0_stream *stream)
{
	m0_sim__lane_recall(end_of(base, stream));
}

static void sim_hangup(struct m0_streams *base, struct m0_stream *stream,
		       bool reset)
{
	end_forget(end_of(base, stream), reset);
}

static size_t sim_unsent(struct m0_streams *base, struct m0_stream *stream)
{
	struct sim_end *end = end_of(base, stream);

	return m0_sim_stream_unsent(m0_sim__stream(end), end->sie_nr);
}

static void sim_watch(struct m0_streams *base, struct m0_stream_watch *watch)
{
	watch->swa_is_up = m0_sim__link_is_up(&watch->swa_addr);
	m0_list_add_tail(&io_of(base)->sno_watches, &watch->swa_link);
}

static void sim_unwatch(struct m0_streams *base, struct m0_stream_watch *watch)
{
	(void)base;
	m0_list_del(&watch->swa_link);
}

static const struct m0_streams_ops streams_ops = {
	.sto_destroy = sim_destroy,
	.sto_listen = sim_listen,
	.sto_unlisten = sim_unlisten,
	.sto_dial = sim_dial,
	.sto_out = sim_out,
	.sto_in = sim_in,
	.sto_hangup = sim_hangup,
	.sto_unsent = sim_unsent,
	.sto_watch = sim_watch,
	.sto_unwatch = sim_unwatch,
	.sto_in_recall = sim_in_recall,
};

const struct m0_host_ops m0_sim_host_ops = {
	.hso_reactor_create = m0_sim__reactor_create,
	.hso_streams_create = sim_create,
	.hso_ifaces = sim_ifaces,
};
