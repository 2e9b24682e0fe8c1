/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Passes. A thread that polls makes one pass after the other: then the stream that
 * was read last is tried without asking epoll whether it has something, which
 * saves a call for each message. A pass that follows a question to epoll (by
 * rtro_ready, a sleeper, or another source), or another pass of the same step
 * (rtr_looked), does not ask again. Now and then epoll is asked in any case.
 *
 * The thread may wait for another stream than the last. Unless the last one has proved
 * to be the only busy one, a pass asks epoll after some tries for nothing, and again
 * whenever their number has doubled: so input of another stream waits at most twice as
 * long as it had to.
 */
#include <sys/resource.h>

#include "lnd/tcp/lane.h"
#include "lnd/tcp/near_internal.h"

enum {
	/** Passes for one call of epoll_wait() while streams other than the last
	 * one have work; and if they have none. */
	ASK_PASSES = M0_TCP_PASS_READ,
	ASK_PASSES_ALONE = 8 * ASK_PASSES,
	/** Passes in a row in which the last stream was tried for nothing. */
	MISSES_MAX = 64,
	/** Reads of the last stream before epoll need not watch it, and nothing
	 * is expected of others. */
	HITS_MIN = 64,
	/** As ASK_PASSES if all streams have pipes, which are polled in memory. */
	ASK_PASSES_NEAR = 1024,
	/** Tries for nothing before epoll is asked for others, till then. */
	ASK_MISSES = 4
};

static bool callers_wait(const struct m0_tcp_io *io)
{
	M0_PRE_EX(m0_tcp__io_invariant(io));
	return io->tci_pause_until == 0 && !m0_list_is_empty(&io->tci_callers);
}

/* For a pass. */
static bool has_input(const struct m0_tcp_io *io)
{
	M0_PRE_EX(m0_tcp__io_invariant(io));
	return !m0_list_is_empty(&io->tci_ready) ||
	       !m0_list_is_empty(&io->tci_ended) || callers_wait(io);
}

/* For a pass, or the flush that follows it. */
static bool has_work(const struct m0_tcp_io *io)
{
	M0_PRE_EX(m0_tcp__io_invariant(io));
	return has_input(io) || !m0_list_is_empty(&io->tci_out);
}

/* Where it fails, the next read of the stream fails the same way. */
static void all_seen_take(struct m0_tcp_io *io)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_tcp__io_invariant(io));
	while ((link = m0_list_first(&io->tci_seen)) != NULL)
		(void)m0_tcp__seen_take(
			m0_list_entry(link, struct m0_tcp_stream, tcs_seen));
}

static struct m0_tcp_io *io_of(struct m0_reactor_source *src)
{
	return container_of(src, struct m0_tcp_io, tci_source);
}

static void tcp_look(struct m0_reactor_source *src)
{
	struct m0_tcp_io *io = io_of(src);

	all_seen_take(io);
	io->tci_others = false;
	io->tci_passes_nr = 0;
}

/*
 * Returns the stream that was read last, if it is to be read without an event of
 * epoll; or NULL.
 */
static struct m0_tcp_stream *hot_try(struct m0_tcp_io *io)
{
	struct m0_tcp_stream *hot = io->tci_hot;

	M0_PRE_EX(m0_tcp__io_invariant(io));
	if (hot == NULL)
		return NULL;
	if (hot->tcs_in_paused) {
		m0_tcp__stream_watch(hot);
		return NULL;
	}
	if (++io->tci_misses_nr > MISSES_MAX) {
		m0_tcp__hot_leave(io);
		return NULL;
	}
	/* Another stream may have input. */
	if (M0_UNLIKELY(io->tci_misses_nr >= ASK_MISSES) &&
	    io->tci_hits_nr < HITS_MIN && m0_is_po2(io->tci_misses_nr))
		return NULL;
	if (io->tci_hits_nr >= HITS_MIN && !hot->tcs_unwatched &&
	    !hot->tcs_out_full && !io->tci_reactor->lre_is_polled)
		m0_tcp__hot_unwatch(io);
	return hot;
}

/* Lets epoll watch the last stream, for a thread that does not try it. */
static void hot_watch(struct m0_tcp_io *io)
{
	M0_PRE_EX(m0_tcp__io_invariant(io));
	if (io->tci_hot != NULL)
		m0_tcp__stream_watch(io->tci_hot);
}

/* The last stream, if epoll does not watch it, is to be tried in this pass. */
static void hot_add(struct m0_tcp_io *io)
{
	M0_PRE_EX(m0_tcp__io_invariant(io));
	if (io->tci_hot != NULL && io->tci_hot->tcs_unwatched)
		m0_tcp__stream_in_add(io->tci_hot);
}

/*
 * Finds work if none is known, and nobody has looked just now.
 * @return a stream to be tried, if that is all; or NULL.
 */
static struct m0_tcp_stream *look(struct m0_tcp_io *io)
{
	struct m0_loop_reactor *lre = io->tci_reactor;
	bool                    was_asked = io->tci_asks_nr != lre->lre_asks_nr;
	bool has_looked = lre->lre_reactor.rtr_looked || was_asked;
	bool others = io->tci_others || io->tci_full_nr > 0;
	bool are_near = io->tci_all_nr > 0 &&
			io->tci_nears_nr == io->tci_all_nr;
	unsigned              passes_max = are_near ? ASK_PASSES_NEAR
					   : others ? ASK_PASSES
						    : ASK_PASSES_ALONE;
	struct m0_tcp_stream *hot;

	M0_PRE_EX(m0_tcp__io_invariant(io));
	io->tci_asks_nr = lre->lre_asks_nr;
	++io->tci_passes_nr;
	if (!has_looked)
		all_seen_take(io);
	if (M0_UNLIKELY(lre->lre_is_polled))
		hot_watch(io);
	/* Another source has asked in its pass: epoll did not watch the last. */
	if (M0_UNLIKELY(was_asked))
		hot_add(io);
	if (has_looked)
		return NULL;
	if (io->tci_passes_nr < passes_max) {
		if (has_input(io))
			return NULL;
		hot = are_near ? NULL : hot_try(io);
		if (hot != NULL || are_near)
			return hot;
	}
	(void)m0_loop_reactor_ask(lre, M0_TIME_IMMEDIATELY);
	io->tci_asks_nr = lre->lre_asks_nr;
	hot_add(io);
	return NULL;
}

static void stream_turn(struct m0_tcp_stream *stream)
{
	if (m0_tcp__stream_in(stream))
		m0_tcp__stream_in_add(stream);
}

static void in_turn(struct m0_tcp_io *io)
{
	struct m0_list        turn;
	struct m0_list_link  *link;
	struct m0_tcp_stream *stream;

	M0_PRE_EX(m0_tcp__io_invariant(io));
	m0_list_init(&turn);
	m0_list_splice_tail(&turn, &io->tci_ready);
	while ((link = m0_list_first(&turn)) != NULL) {
		stream = m0_list_entry(link, struct m0_tcp_stream, tcs_ready);
		m0_list_del(link);
		if (stream->tcs_dials && !m0_tcp__dial_end(stream))
			continue;
		stream_turn(stream);
	}
}

/*
 * Reports the streams that have ended. A peer that ends closes all its streams, and the
 * end of one has the connection give up the others; what came on those before is read
 * first.
 */
static void ended_report(struct m0_tcp_io *io)
{
	struct m0_list        ended;
	struct m0_list_link  *link;
	struct m0_tcp_stream *stream;

	M0_PRE_EX(m0_tcp__io_invariant(io));
	m0_list_init(&ended);
	m0_list_splice_tail(&ended, &io->tci_ended);
	(void)m0_loop_reactor_ask(io->tci_reactor, M0_TIME_IMMEDIATELY);
	io->tci_asks_nr = io->tci_reactor->lre_asks_nr;
	hot_add(io);
	in_turn(io);
	while ((link = m0_list_first(&ended)) != NULL) {
		stream = m0_list_entry(link, struct m0_tcp_stream, tcs_ready);
		m0_tcp__stream_broken(stream, stream->tcs_in_rc);
	}
}

static bool tcp_pass(struct m0_reactor_source *src, m0_time_t now)
{
	struct m0_tcp_io     *io = io_of(src);
	struct m0_tcp_stream *hot;

	io->tci_now = now;
	if (M0_UNLIKELY(io->tci_nears_sleep))
		m0_tcp__nears_wake(io);
	m0_tcp__nears_look(io);
	if (M0_UNLIKELY(io->tci_gone != m0_os_regions_gone()))
		m0_tcp__nears_recall(io);
	hot = look(io);
	if (hot != NULL)
		stream_turn(hot);
	if (!m0_list_is_empty(&io->tci_callers))
		m0_tcp__accept(io);
	if (hot == NULL)
		in_turn(io);
	if (M0_UNLIKELY(!m0_list_is_empty(&io->tci_ended)))
		ended_report(io);
	if (M0_UNLIKELY(io->tci_greeting_nr > 0))
		m0_tcp__nears_expire(io);
	return has_input(io);
}

static void out_turn(struct m0_tcp_io *io)
{
	struct m0_list        turn;
	struct m0_list_link  *link;
	struct m0_tcp_stream *stream;

	M0_PRE_EX(m0_tcp__io_invariant(io));
	m0_list_init(&turn);
	m0_list_splice_tail(&turn, &io->tci_out);
	while ((link = m0_list_first(&turn)) != NULL) {
		stream = m0_list_entry(link, struct m0_tcp_stream, tcs_out);
		m0_list_del(link);
		if (m0_tcp__stream_out(stream))
			m0_tcp__stream_out_add(stream);
	}
}

static void tcp_flush(struct m0_reactor_source *src)
{
	struct m0_tcp_io *io = io_of(src);

	if (!m0_list_is_empty(&io->tci_out))
		out_turn(io);
	if (M0_UNLIKELY(io->tci_reactor->lre_is_polled))
		m0_loop_reactor_show(io->tci_reactor, has_work(io));
}

static bool tcp_has_work(const struct m0_reactor_source *src)
{
	return has_work(container_of(src, struct m0_tcp_io, tci_source));
}

static m0_time_t tcp_wait(struct m0_reactor_source *src, m0_time_t deadline)
{
	struct m0_tcp_io *io = io_of(src);

	hot_watch(io);
	if (deadline == M0_TIME_IMMEDIATELY)
		m0_tcp__nears_look(io);
	else
		m0_tcp__nears_sleep(io);
	deadline = min64u(deadline, m0_tcp__nears_deadline(io));
	return io->tci_pause_until == 0 ? deadline
					: min64u(deadline, io->tci_pause_until);
}

static const struct m0_reactor_source_ops source_ops = {
	.rtso_pass = tcp_pass,
	.rtso_flush = tcp_flush,
	.rtso_has_work = tcp_has_work,
	.rtso_look = tcp_look,
	.rtso_wait = tcp_wait,
};

/* -- with lanes ------------------------------------------------------------ */

static bool lane_pass(struct m0_reactor_source *src, m0_time_t now)
{
	m0_tcp__lanes_back(io_of(src));
	return tcp_pass(src, now) ||
	       m0_lanes_has_back(io_of(src)->tci_crew.tcw_lanes);
}

static bool lane_has_work(const struct m0_reactor_source *src)
{
	const struct m0_tcp_io *io =
		container_of(src, struct m0_tcp_io, tci_source);

	return m0_lanes_has_back(io->tci_crew.tcw_lanes) || has_work(io);
}

/* A table of its own, so that lanes cost nodes without them nothing. */
static const struct m0_reactor_source_ops lane_source_ops = {
	.rtso_pass = lane_pass,
	.rtso_flush = tcp_flush,
	.rtso_has_work = lane_has_work,
	.rtso_look = tcp_look,
	.rtso_wait = tcp_wait,
};

static void tcp_out(struct m0_streams *streams, struct m0_stream *stream)
{
	(void)streams;
	m0_tcp__stream_out_add(m0_tcp__stream(stream));
}

static void tcp_in(struct m0_streams *streams, struct m0_stream *ref)
{
	struct m0_tcp_stream *stream = m0_tcp__stream(ref);

	(void)streams;
	if (m0_tcp__is_in_lent(stream))
		return;
	stream->tcs_in_paused = false;
	if (!stream->tcs_dials)
		m0_tcp__stream_in_add(stream);
}

static void tcp_in_recall(struct m0_streams *streams, struct m0_stream *ref)
{
	struct m0_tcp_stream *stream = m0_tcp__stream(ref);

	if (m0_tcp__is_in_lent(stream))
		m0_lanes_stop(m0_tcp__io(streams)->tci_crew.tcw_lanes,
			      stream->tcs_lent.tle_in);
}

static void tcp_hangup(struct m0_streams *streams, struct m0_stream *stream,
		       bool reset)
{
	(void)streams;
	m0_tcp__stream_free(m0_tcp__stream(stream), reset);
}

static void tcp_destroy(struct m0_streams *streams)
{
	struct m0_tcp_io    *io = m0_tcp__io(streams);
	struct m0_list_link *link;

	while ((link = m0_list_first(&io->tci_all)) != NULL)
		m0_tcp__stream_free(m0_list_entry(link, struct m0_tcp_stream,
						  tcs_all),
				    false);
	while ((link = m0_list_first(&io->tci_listeners)) != NULL)
		m0_tcp__unlisten(streams,
				 m0_list_entry(link, struct m0_tcp_listener,
					       tcl_all)
					 ->tcl_listener);
	m0_tcp__links_fini(io);
	m0_os_regions_unwatch(&io->tci_watch);
	m0_tcp__lanes_stop(io);
	m0_reactor_del(&io->tci_source);
	m0_free(io->tci_spare);
	m0_free(io);
}

static const struct m0_streams_ops streams_ops = {
	.sto_destroy = tcp_destroy,
	.sto_listen = m0_tcp__listen,
	.sto_unlisten = m0_tcp__unlisten,
	.sto_dial = m0_tcp__dial,
	.sto_out = tcp_out,
	.sto_in = tcp_in,
	.sto_hangup = tcp_hangup,
	.sto_unsent = m0_tcp__unsent,
	.sto_pipe_new = m0_tcp__pipe_new,
	.sto_watch = m0_tcp__watch,
	.sto_unwatch = m0_tcp__unwatch,
	.sto_in_recall = tcp_in_recall,
};

/*
 * Leave a quarter of the files that this process may have open to others. If all
 * of them were streams, no peer could be accepted, and the node could not
 * distinguish a peer that has made too many connections from one that has not.
 */
static unsigned streams_max(void)
{
	struct rlimit files;
	rlim_t        nr;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
	    files.rlim_cur == RLIM_INFINITY)
		return 0;
	nr = files.rlim_cur - files.rlim_cur / 4;
	return (unsigned)clip64u(1, UINT32_MAX, nr);
}

static void memory_gone(struct m0_os_region_watch *watch)
{
	m0_loop_rouse(
		m0_tcp__loop(container_of(watch, struct m0_tcp_io, tci_watch)));
}

/* Memory that is allocated from now on can be lent to nodes of this host. */
static void watch_begin(struct m0_tcp_io *io)
{
	m0_list_link_init(&io->tci_watch.orw_link);
	if (!io->tci_cfg.sic_same_host)
		return;
	m0_os_regions_share(M0_OS_SHARE_READ);
	io->tci_watch.orw_gone = memory_gone;
	io->tci_gone = m0_os_regions_gone();
	m0_os_regions_watch(&io->tci_watch);
}

static int tcp_create(struct m0_streams **ret, struct m0_reactor *reactor,
		      const struct m0_streams_cfg *cfg)
{
	struct m0_tcp_io *io;
	int               rc;

	M0_ALLOC_PTR(io);
	if (io == NULL)
		return -ENOMEM;
	io->tci_reactor = m0_loop_reactor_of(reactor);
	io->tci_cfg = *cfg;
	io->tci_spare = m0_alloc(sizeof io->tci_staging);
	io->tci_spare_bytes = sizeof io->tci_staging;
	rc = io->tci_spare == NULL ? -ENOMEM : m0_tcp__lanes_start(io);
	if (rc != 0) {
		m0_free(io->tci_spare);
		m0_free(io);
		return rc;
	}
	io->tci_streams.sts_ops = &streams_ops;
	io->tci_streams.sts_reactor = reactor;
	io->tci_streams.sts_max = streams_max();
	m0_list_init(&io->tci_ready);
	m0_list_init(&io->tci_ended);
	m0_list_init(&io->tci_out);
	m0_list_init(&io->tci_seen);
	m0_list_init(&io->tci_nears);
	m0_list_init(&io->tci_greeting);
	m0_list_init(&io->tci_all);
	m0_list_init(&io->tci_listeners);
	m0_list_init(&io->tci_callers);
	m0_tcp__links_init(io);
	watch_begin(io);
	io->tci_source.rts_ops =
		io->tci_crew.tcw_lanes == NULL ? &source_ops : &lane_source_ops;
	m0_reactor_add(reactor, &io->tci_source);
	*ret = &io->tci_streams;
	return 0;
}

static int host_ifaces(struct m0_reactor *reactor, struct m0_host_iface *ifaces,
		       unsigned max)
{
	(void)reactor;
	return m0_tcp__ifaces(ifaces, max);
}

const struct m0_host_ops m0_tcp__host_ops = {
	.hso_reactor_create = m0_loop_reactor_create,
	.hso_streams_create = tcp_create,
	.hso_ifaces = host_ifaces,
	.hso_nid_taken = m0_tcp__kernel_has_nid,
};

void m0_tcp__install(void)
{
	m0_host_ops_set(&m0_tcp__host_ops);
}

/* Nodes use sockets unless a program sets another table. */
__attribute__((__constructor__)) static void tcp_start(void)
{
	m0_tcp__install();
}
