/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes. Whoever polls makes one pass after the other: then the stream that
 * was read last is tried without asking epoll whether it has something, which
 * saves a call for each message. Whoever asks before a pass (sio_ready), or
 * sleeps, has had epoll's answer, and who makes several passes in a step says so
 * (si_looked): these do not look again. Now and then epoll is asked in any case.
 *
 * Who waits may wait for another stream than the last. While the last one is not
 * known to be the only one, epoll is asked after some tries for nothing, and
 * again whenever they are twice as many: so what came on another is found when
 * its wait is twice as long as it had to be, at most.
 */
#include <sys/resource.h>

#include "lnd/tcp/tcp_internal.h"

enum {
	/** Passes for one question to epoll while there is other work, or it
	 * is to tell of others than the last stream; and if not. */
	ASK_PASSES = M0_TCP_PASS_READ,
	ASK_PASSES_ALONE = 8 * ASK_PASSES,
	/** Passes in a row in which the last stream was tried for nothing. */
	MISSES_MAX = 64,
	/** Reads of the last stream before epoll need not watch it, and nothing
	 * is expected of others. */
	HITS_MIN = 64,
	/** Tries for nothing before epoll is asked for others, till then. */
	ASK_MISSES = 4
};

static int  tcp_create(struct m0_sock_io          **ret,
		       const struct m0_sock_io_cfg *cfg);
static void tcp_destroy(struct m0_sock_io *io);

static bool callers_wait(const struct m0_tcp_io *io)
{
	return io->tci_pause_until == 0 && !m0_list_is_empty(&io->tci_callers);
}

/* For a pass. */
static bool has_input(const struct m0_tcp_io *io)
{
	return !m0_list_is_empty(&io->tci_ready) || callers_wait(io) ||
	       io->tci_was_roused;
}

/* For a pass, or the flush that follows it. */
static bool has_work(const struct m0_tcp_io *io)
{
	return has_input(io) || !m0_list_is_empty(&io->tci_out);
}

/* Where it fails, the next read of the stream fails the same way. */
static void all_seen_take(struct m0_tcp_io *io)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&io->tci_seen)) != NULL)
		(void)m0_tcp__seen_take(
			m0_list_entry(link, struct m0_tcp_stream, tcs_seen));
}

static unsigned ask(struct m0_tcp_io *io, m0_time_t deadline)
{
	unsigned found;

	all_seen_take(io);
	io->tci_others = false;
	io->tci_passes_nr = 0;
	found = m0_loop_wait(&io->tci_loop, deadline);
	if (found & M0_LOOP_ROUSED)
		io->tci_was_roused = true;
	return found;
}

/*
 * The stream that was read last, if it is to be tried without being told that
 * it has something; or NULL.
 */
static struct m0_tcp_stream *hot_try(struct m0_tcp_io *io)
{
	struct m0_tcp_stream *hot = io->tci_hot;

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
	/* It may be the wrong one to try. */
	if (M0_UNLIKELY(io->tci_misses_nr >= ASK_MISSES) &&
	    io->tci_hits_nr < HITS_MIN && m0_is_po2(io->tci_misses_nr))
		return NULL;
	if (io->tci_hits_nr >= HITS_MIN && !hot->tcs_unwatched &&
	    !hot->tcs_out_full && !io->tci_is_polled)
		m0_tcp__hot_unwatch(io);
	return hot;
}

/* Somebody is to hear of the last stream who does not try it. */
static void hot_watch(struct m0_tcp_io *io)
{
	if (io->tci_hot != NULL)
		m0_tcp__stream_watch(io->tci_hot);
}

/*
 * Finds work if none is known, and nobody has looked just now.
 * @return a stream to be tried, if that is all; or NULL.
 */
static struct m0_tcp_stream *look(struct m0_tcp_io *io)
{
	bool     has_looked = io->tci_io.si_looked || io->tci_was_asked;
	bool     others = io->tci_others || io->tci_full_nr > 0;
	unsigned passes_max = others ? ASK_PASSES : ASK_PASSES_ALONE;
	struct m0_tcp_stream *hot;

	io->tci_was_asked = false;
	++io->tci_passes_nr;
	if (!has_looked)
		all_seen_take(io);
	if (M0_UNLIKELY(io->tci_is_polled))
		hot_watch(io);
	if (has_looked)
		return NULL;
	if (io->tci_passes_nr < passes_max) {
		if (has_input(io))
			return NULL;
		hot = hot_try(io);
		if (hot != NULL)
			return hot;
	}
	(void)ask(io, M0_TIME_IMMEDIATELY);
	if (io->tci_hot != NULL && io->tci_hot->tcs_unwatched)
		m0_tcp__stream_in_add(io->tci_hot);
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

static bool tcp_pass(struct m0_sock_io *sio, m0_time_t now)
{
	struct m0_tcp_io     *io = m0_tcp__io(sio);
	struct m0_tcp_stream *hot;
	bool                  was_roused;

	if (sio->si_sock != NULL)
		m0_sock_now_set(sio->si_sock, now);
	io->tci_now = now;
	hot = look(io);
	was_roused = io->tci_was_roused;
	io->tci_was_roused = false;
	if (hot != NULL)
		stream_turn(hot);
	if (!m0_list_is_empty(&io->tci_callers))
		m0_tcp__accept(io);
	if (hot == NULL)
		in_turn(io);
	return was_roused || has_input(io);
}

/* What is left over must show in the descriptor. */
static void show(struct m0_tcp_io *io)
{
	if (io->tci_is_polled && has_work(io))
		m0_loop_rouse(&io->tci_loop);
}

static void out_turn(struct m0_tcp_io *io)
{
	struct m0_list        turn;
	struct m0_list_link  *link;
	struct m0_tcp_stream *stream;

	m0_list_init(&turn);
	m0_list_splice_tail(&turn, &io->tci_out);
	while ((link = m0_list_first(&turn)) != NULL) {
		stream = m0_list_entry(link, struct m0_tcp_stream, tcs_out);
		m0_list_del(link);
		if (m0_tcp__stream_out(stream))
			m0_tcp__stream_out_add(stream);
	}
}

static void tcp_flush(struct m0_sock_io *sio)
{
	struct m0_tcp_io *io = m0_tcp__io(sio);

	if (!m0_list_is_empty(&io->tci_out))
		out_turn(io);
	show(io);
}

static m0_time_t deadline_of(const struct m0_tcp_io *io, m0_time_t deadline)
{
	return io->tci_pause_until == 0 ? deadline
					: min64u(deadline, io->tci_pause_until);
}

static void tcp_sleep(struct m0_sock_io *sio, m0_time_t deadline)
{
	struct m0_tcp_io *io = m0_tcp__io(sio);
	unsigned          found;

	hot_watch(io);
	deadline = deadline_of(io, deadline);
	/* What epoll finds may be done already, or be room to write. */
	while (!has_work(io)) {
		found = ask(io, deadline);
		if (found == 0 && m0_time_now() >= deadline)
			break;
	}
	io->tci_was_asked = true;
}

static void tcp_rouse(struct m0_sock_io *io)
{
	m0_loop_rouse(&m0_tcp__io(io)->tci_loop);
}

static bool tcp_ready(struct m0_sock_io *sio)
{
	struct m0_tcp_io *io = m0_tcp__io(sio);

	if (!has_work(io)) {
		hot_watch(io);
		(void)ask(io, M0_TIME_IMMEDIATELY);
		io->tci_was_asked = true;
	}
	return has_work(io);
}

static int tcp_fd(struct m0_sock_io *sio)
{
	return m0_loop_pollable(&m0_tcp__io(sio)->tci_loop);
}

static void tcp_arm(struct m0_sock_io *sio, m0_time_t deadline)
{
	struct m0_tcp_io *io = m0_tcp__io(sio);
	int               rc;

	io->tci_is_polled = true;
	hot_watch(io);
	rc = m0_loop_arm(&io->tci_loop, deadline_of(io, deadline));
	/* No timer to be had: readable at once is early, not late. */
	if (rc != 0)
		m0_loop_rouse(&io->tci_loop);
	show(io);
}

static void tcp_strand_set(struct m0_sock_io *io, struct m0_strand *strand)
{
	(void)io;
	(void)strand;
}

static void tcp_out(struct m0_sock_io *io, void *stream)
{
	(void)io;
	m0_tcp__stream_out_add(stream);
}

static void tcp_in(struct m0_sock_io *io, void *ref)
{
	struct m0_tcp_stream *stream = ref;

	(void)io;
	stream->tcs_in_paused = false;
	if (!stream->tcs_dials)
		m0_tcp__stream_in_add(stream);
}

static void tcp_hangup(struct m0_sock_io *io, void *stream, bool reset)
{
	(void)io;
	m0_tcp__stream_free(stream, reset);
}

const struct m0_sock_io_ops m0_tcp__io_ops = {
	.sio_create = tcp_create,
	.sio_destroy = tcp_destroy,
	.sio_ifaces = m0_tcp__ifaces,
	.sio_pass = tcp_pass,
	.sio_flush = tcp_flush,
	.sio_sleep = tcp_sleep,
	.sio_rouse = tcp_rouse,
	.sio_ready = tcp_ready,
	.sio_fd = tcp_fd,
	.sio_arm = tcp_arm,
	.sio_strand_set = tcp_strand_set,
	.sio_nid_taken = m0_tcp__kernel_has_nid,
	.sio_listen = m0_tcp__listen,
	.sio_unlisten = m0_tcp__unlisten,
	.sio_dial = m0_tcp__dial,
	.sio_out = tcp_out,
	.sio_in = tcp_in,
	.sio_hangup = tcp_hangup,
	.sio_unsent = m0_tcp__unsent,
};

/*
 * Of the files that this process may have open now, a quarter is for others.
 * Were all of them sockets of ours, nobody could be accepted any more, and who
 * has made too many could not be told from who has not.
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

static int tcp_create(struct m0_sock_io **ret, const struct m0_sock_io_cfg *cfg)
{
	struct m0_tcp_io *io;
	int               rc;

	M0_ALLOC_PTR(io);
	if (io == NULL)
		return -ENOMEM;
	rc = m0_loop_init(&io->tci_loop);
	if (rc != 0) {
		m0_free(io);
		return rc;
	}
	io->tci_io.si_ops = &m0_tcp__io_ops;
	io->tci_io.si_streams_max = streams_max();
	io->tci_cfg = *cfg;
	m0_list_init(&io->tci_ready);
	m0_list_init(&io->tci_out);
	m0_list_init(&io->tci_seen);
	m0_list_init(&io->tci_streams);
	m0_list_init(&io->tci_listeners);
	m0_list_init(&io->tci_callers);
	*ret = &io->tci_io;
	return 0;
}

static void tcp_destroy(struct m0_sock_io *sio)
{
	struct m0_tcp_io    *io = m0_tcp__io(sio);
	struct m0_list_link *link;

	while ((link = m0_list_first(&io->tci_streams)) != NULL)
		m0_tcp__stream_free(m0_list_entry(link, struct m0_tcp_stream,
						  tcs_all),
				    false);
	while ((link = m0_list_first(&io->tci_listeners)) != NULL)
		m0_tcp__unlisten(sio,
				 m0_list_entry(link, struct m0_tcp_listener,
					       tcl_all)
					 ->tcl_listener);
	m0_loop_fini(&io->tci_loop);
	m0_free(io);
}

/* Unless somebody sets another one, nodes speak by sockets. */
__attribute__((constructor)) static void tcp_install(void)
{
	m0_sock_io_set(&m0_tcp__io_ops);
}
