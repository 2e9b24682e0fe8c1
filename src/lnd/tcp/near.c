/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways of a stream with a pipe. Streams that are awake are looked at in each
 * pass, without a system call. Before this node sleeps, it says so in each pipe; the
 * Unix socket then carries the wake-up, as a byte, and the end.
 *
 * An offer is made of a piece at the head of what is to leave, when nothing else is on
 * its way: all before it was reported to the user, so the message to which it belongs
 * has begun and cannot be taken back before the offer is taken or the stream ends.
 */
#include <poll.h>
#include <unistd.h>

#include "lnd/tcp/near_internal.h"

enum {
	SEGS_MAX = M0_TCP_OUT_SEGS_MAX,
	BELLS_BYTES = 256,
	BELLS_READS = 4
};

static const struct m0_streams_up *up(const struct m0_tcp_stream *stream)
{
	return stream->tcs_io->tci_streams.sts_up;
}

static void *user(const struct m0_tcp_stream *stream)
{
	return stream->tcs_stream.stm_user;
}

/* -- wake-ups -------------------------------------------------------------- */

void m0_tcp__near_bell(struct m0_tcp_stream *stream)
{
	if (!m0_pipe_bell(&stream->tcs_near->nea_pipe))
		return;
	++stream->tcs_stream.stm_counts->stc_writes_nr;
	/* If there is no space, wake-ups enough are on their way. */
	(void)send(stream->tcs_fd.lof_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool m0_tcp__near_has_input(const struct m0_tcp_stream *stream)
{
	return stream->tcs_near->nea_ended ||
	       m0_pipe_has(&stream->tcs_near->nea_pipe, M0_PIPE_INPUT);
}

static void near_look(struct m0_tcp_stream *stream)
{
	struct m0_near *near = stream->tcs_near;

	if (!stream->tcs_in_paused && m0_tcp__near_has_input(stream))
		m0_tcp__stream_in_add(stream);
	if (near->nea_out_waits &&
	    m0_pipe_has(&near->nea_pipe, M0_PIPE_SPACE)) {
		near->nea_out_waits = false;
		m0_tcp__stream_out_add(stream);
	}
}

static struct m0_near *near_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_near, nea_link);
}

void m0_tcp__nears_look(struct m0_tcp_io *io)
{
	unsigned             left = M0_NEAR_LOOKS_MAX;
	struct m0_list_link *link;

	if (M0_LIKELY(io->tci_nears_nr <= left)) {
		m0_list_for_each(&io->tci_nears, link)
			near_look(near_of(link)->nea_stream);
		return;
	}
	for (; left > 0; --left) {
		link = m0_list_first(&io->tci_nears);
		m0_list_move_tail(&io->tci_nears, link);
		near_look(near_of(link)->nea_stream);
	}
}

static void near_sleep(struct m0_near *near)
{
	unsigned wants = (near->nea_stream->tcs_in_paused ? 0 : M0_PIPE_INPUT) |
			 (near->nea_out_waits ? M0_PIPE_SPACE : 0);

	near->nea_sleeps = wants != 0 && m0_pipe_sleep(&near->nea_pipe, wants);
	if (wants != 0 && !near->nea_sleeps)
		near_look(near->nea_stream);
}

void m0_tcp__nears_sleep(struct m0_tcp_io *io)
{
	struct m0_list_link *link;

	m0_list_for_each(&io->tci_nears, link)
		near_sleep(near_of(link));
	io->tci_nears_sleep = true;
}

void m0_tcp__nears_wake(struct m0_tcp_io *io)
{
	struct m0_list_link *link;

	m0_list_for_each(&io->tci_nears, link) {
		struct m0_near *near = near_of(link);

		if (near->nea_sleeps)
			m0_pipe_wake(&near->nea_pipe);
		near->nea_sleeps = false;
	}
	io->tci_nears_sleep = false;
}

void m0_tcp__near_told(struct m0_tcp_stream *stream, unsigned events)
{
	struct m0_near *near = stream->tcs_near;
	char            bells[BELLS_BYTES];
	ssize_t         nr = sizeof bells;
	int             i;

	for (i = 0; i < BELLS_READS && nr == (ssize_t)sizeof bells; ++i)
		nr = recv(stream->tcs_fd.lof_fd, bells, sizeof bells,
			  MSG_DONTWAIT);
	++stream->tcs_stream.stm_counts->stc_reads_nr;
	if (nr == 0 || (nr < 0 && !M0_IN(errno, (EAGAIN, EINTR))) ||
	    (events & M0_LOOP_END) != 0)
		near->nea_ended = true;
	/* The peer wakes a sleeper once for each sleep. */
	if (near->nea_sleeps)
		near_sleep(near);
	near_look(stream);
}

/* -- in -------------------------------------------------------------------- */

static ssize_t broke(struct m0_tcp_stream *stream, const char *what)
{
	char addr[M0_TCP_TEXT_BYTES];

	m0_log(M0_LOG_WARN,
	       "tcp: the pipe from %s on this host: %s: its connection is "
	       "closed",
	       m0_tcp__addr_text(&stream->tcs_near->nea_to, addr), what);
	return -EPROTO;
}

static ssize_t flawed(struct m0_tcp_stream *stream)
{
	char why[M0_PIPE_WHY_BYTES];

	return broke(stream, m0_pipe_why(&stream->tcs_near->nea_pipe, why));
}

static ssize_t ring_in(struct m0_tcp_stream *stream, const struct iovec *iov,
		       unsigned nr)
{
	struct m0_pipe *pipe = &stream->tcs_near->nea_pipe;
	size_t          has;
	size_t          at = 0;
	ssize_t         got = 0;
	unsigned        i = 0;

	while (i < nr && m0_pipe_next(pipe, &has) == M0_PIPE_BYTES) {
		has = min64u(has, iov[i].iov_len - at);
		m0_pipe_get(pipe, (uint8_t *)iov[i].iov_base + at, has);
		got += (ssize_t)has;
		at += has;
		if (at < iov[i].iov_len)
			continue;
		at = 0;
		++i;
	}
	stream->tcs_stream.stm_counts->stc_ring_bytes += (uint64_t)got;
	return got;
}

/* Another process may have the number of one that has ended. */
static bool is_alive(const struct m0_tcp_stream *stream)
{
	struct pollfd fd = { .fd = stream->tcs_fd.lof_fd, .events = POLLRDHUP };

	return poll(&fd, 1, 0) == 0;
}

static ssize_t space_in(struct m0_tcp_stream *stream, const struct iovec *iov,
			unsigned nr, uint64_t place, size_t has)
{
	struct iovec from = { .iov_base = (void *)(uintptr_t)place,
			      .iov_len = has };
	ssize_t      got;

	if (!stream->tcs_near->nea_can_copy)
		return broke(stream, "an offer of memory that this process "
				     "cannot read");
	++stream->tcs_stream.stm_counts->stc_reads_nr;
	do {
		got = process_vm_readv(stream->tcs_near->nea_pid, iov, nr,
				       &from, 1, 0);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/*
 * An offer could not be copied, or what was copied is not valid. A peer that has ended
 * the stream, or has died, has no such memory any more.
 */
static ssize_t offer_lost(struct m0_tcp_stream *stream, ssize_t rc)
{
	size_t has;
	int    next = m0_pipe_next(&stream->tcs_near->nea_pipe, &has);

	if (rc == -EPROTO)
		return rc;
	if (next == M0_PIPE_END || !is_alive(stream))
		return 0;
	if (next < 0)
		return next;
	return broke(stream, "an offer of memory that cannot be read");
}

static ssize_t offer_in(struct m0_tcp_stream *stream, const struct iovec *iov,
			unsigned nr, size_t has)
{
	struct m0_pipe *pipe = &stream->tcs_near->nea_pipe;
	uint32_t        region;
	uint64_t        place;
	ssize_t         got;

	m0_pipe_offer_get(pipe, &region, &place);
	if (region != 0)
		return broke(stream, "an offer in a region that it has not "
				     "passed");
	got = space_in(stream, iov, nr, place, has);
	if (got <= 0 || !is_alive(stream) ||
	    m0_pipe_offer_took(pipe, (size_t)got) != 0)
		return offer_lost(stream, got);
	stream->tcs_stream.stm_counts->stc_offer_bytes += (uint64_t)got;
	return got;
}

/* Bytes that were put before the end are there, since the end was noticed before the look. */
static ssize_t nothing_in(const struct m0_tcp_stream *stream)
{
	return stream->tcs_near->nea_ended ? 0 : -EAGAIN;
}

ssize_t m0_tcp__near_in(struct m0_tcp_stream *stream, const struct iovec *iov,
			unsigned nr)
{
	struct m0_pipe *pipe = &stream->tcs_near->nea_pipe;
	size_t          has;
	ssize_t         got = m0_pipe_next(pipe, &has);

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	switch (got) {
	case M0_PIPE_NOTHING:
		return nothing_in(stream);
	case M0_PIPE_END:
		return 0;
	case M0_PIPE_BYTES:
		got = ring_in(stream, iov, nr);
		break;
	case M0_PIPE_OFFER:
		got = offer_in(stream, iov, nr, has);
		break;
	case -EPROTO:
		return flawed(stream);
	default:
		return got;
	}
	m0_pipe_release(pipe);
	m0_tcp__near_bell(stream);
	return got;
}

/* -- out ------------------------------------------------------------------- */

/* @return pieces at the head that are offered together; 0: what comes first goes into
 * the ring. */
static unsigned offered_nr(const struct m0_near *near, const struct iovec *iov,
			   unsigned nr)
{
	size_t   all = 0;
	unsigned i;

	for (i = 0; i < nr && iov[i].iov_len >= M0_NEAR_PIECE_BYTES &&
		    iov[i].iov_len <= M0_PIPE_OFFER_BYTES_MAX;
	     ++i)
		all += iov[i].iov_len;
	return all >= M0_NEAR_OFFER_BYTES && m0_pipe_copies(&near->nea_pipe)
		       ? i
		       : 0;
}

/* Offers pieces that follow each other: no message begins in between, since a header
 * is small. */
static void pieces_offer(struct m0_near *near, const struct iovec *iov,
			 unsigned nr)
{
	unsigned i;

	nr = offered_nr(near, iov, nr);
	for (i = 0; i < nr; ++i) {
		if (m0_pipe_offer_put(&near->nea_pipe, 0,
				      (uintptr_t)iov[i].iov_base,
				      (uint32_t)iov[i].iov_len) != 0)
			break;
		near->nea_offered += iov[i].iov_len;
	}
}

/* @return bytes that have left. */
static ssize_t pieces_put(struct m0_near *near, const struct iovec *iov,
			  unsigned nr)
{
	ssize_t  all = 0;
	ssize_t  part;
	unsigned i;

	for (i = 0; i < nr && offered_nr(near, &iov[i], nr - i) == 0; ++i) {
		part = m0_pipe_put(&near->nea_pipe, iov[i].iov_base,
				   iov[i].iov_len);
		if (part < 0)
			return part;
		all += part;
		if ((size_t)part < iov[i].iov_len) {
			near->nea_out_waits = true;
			break;
		}
	}
	return all;
}

/* The next pass reads what has come, and tells the end. */
static bool out_failed(struct m0_tcp_stream *stream, ssize_t rc)
{
	stream->tcs_out_rc = (int)rc;
	stream->tcs_near->nea_out_waits = true;
	if (!m0_list_link_is_in(&stream->tcs_ready))
		m0_list_add_tail(&stream->tcs_io->tci_ready,
				 &stream->tcs_ready);
	return false;
}

/* False: the stream is gone, or waits. */
static bool offers_end(struct m0_tcp_stream *stream)
{
	struct m0_near *near = stream->tcs_near;
	size_t          nr = near->nea_offered;
	int             rc;

	if (nr == 0)
		return true;
	rc = m0_pipe_offers_nr(&near->nea_pipe);
	if (rc < 0)
		return out_failed(stream, rc);
	near->nea_out_waits = rc > 0;
	if (rc > 0)
		return false;
	near->nea_offered = 0;
	return up(stream)->stu_out_left(user(stream), nr) >= 0 &&
	       stream->tcs_io->tci_current == stream;
}

static bool out_once(struct m0_tcp_stream *stream, size_t *left)
{
	struct m0_near *near = stream->tcs_near;
	struct iovec    iov[SEGS_MAX];
	ssize_t         nr;
	unsigned        segs;

	if (!offers_end(stream))
		return false;
	segs = up(stream)->stu_out_what(user(stream), iov, SEGS_MAX);
	if (segs == 0 || stream->tcs_io->tci_current != stream)
		return false;
	pieces_offer(near, iov, segs);
	if (near->nea_offered > 0) {
		m0_pipe_commit(&near->nea_pipe);
		near->nea_out_waits = true;
		return false;
	}
	nr = pieces_put(near, iov, segs);
	if (nr < 0)
		return out_failed(stream, nr);
	m0_pipe_commit(&near->nea_pipe);
	*left -= min64u(*left, (size_t)nr);
	return (nr == 0 ||
		(up(stream)->stu_out_left(user(stream), (size_t)nr) >= 0 &&
		 stream->tcs_io->tci_current == stream)) &&
	       !near->nea_out_waits;
}

bool m0_tcp__near_out(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;
	size_t            left = M0_TCP_TURN_BYTES;
	bool              more = stream->tcs_out_rc == 0;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	io->tci_current = stream;
	while (more && left > 0)
		more = out_once(stream, &left);
	if (io->tci_current == stream)
		m0_tcp__near_bell(stream);
	io->tci_current = NULL;
	return more;
}

size_t m0_tcp__near_unsent(struct m0_tcp_stream *stream)
{
	struct m0_near *near = stream->tcs_near;
	ssize_t         nr = m0_pipe_unsent(&near->nea_pipe);

	return nr < 0 ? 0 : (size_t)nr + near->nea_offered;
}
