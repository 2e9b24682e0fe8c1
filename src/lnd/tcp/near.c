/* SPDX-License-Identifier: Apache-2.0 OR MIT */
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
	SEGS_MAX = M0_TCP_OUT_SEGS_MAX
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
	if (near->nea_waits != 0 &&
	    m0_pipe_has(&near->nea_pipe, near->nea_waits)) {
		near->nea_waits = 0;
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
			 near->nea_waits;

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

void m0_tcp__nears_recall(struct m0_tcp_io *io)
{
	struct m0_list_link *link;

	io->tci_gone = m0_os_regions_gone();
	m0_list_for_each(&io->tci_nears, link)
		m0_tcp__near_lend_look(near_of(link)->nea_stream);
}

static ssize_t broke(struct m0_tcp_stream *stream, const char *what)
{
	char addr[M0_TCP_TEXT_BYTES];

	m0_log(M0_LOG_WARN,
	       "tcp: the pipe from %s on this host: %s: its connection is "
	       "closed",
	       m0_tcp__addr_text(&stream->tcs_near->nea_to, addr), what);
	return -EPROTO;
}

void m0_tcp__near_event(struct m0_tcp_stream *stream, unsigned events)
{
	struct m0_near *near = stream->tcs_near;
	const char     *flaw;

	if (m0_tcp__near_words_in(stream, &flaw) != 0 ||
	    (events & M0_LOOP_END) != 0)
		near->nea_ended = true;
	if (flaw != NULL && !near->nea_is_flawed) {
		near->nea_is_flawed = true;
		(void)broke(stream, flaw);
	}
	/* The peer wakes a sleeper once for each sleep. */
	if (near->nea_sleeps)
		near_sleep(near);
	near_look(stream);
}

/* -- in -------------------------------------------------------------------- */

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

/* Copies what the peer has there now: the offer may have been withdrawn. */
static ssize_t region_in(struct m0_tcp_stream *stream, const struct iovec *iov,
			 unsigned nr, const uint8_t *from, size_t has)
{
	size_t   left = min64u(has, M0_NEAR_COPY_BYTES);
	ssize_t  got = 0;
	unsigned i;

	if (from == NULL)
		return broke(stream, "an offer that lies in none of its "
				     "regions");
	for (i = 0; i < nr && left > 0; ++i) {
		size_t part = min64u(left, iov[i].iov_len);

		memcpy(iov[i].iov_base, from + got, part);
		got += (ssize_t)part;
		left -= part;
	}
	return got;
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
	struct m0_stream_counts *counts = stream->tcs_stream.stm_counts;
	struct m0_pipe          *pipe = &stream->tcs_near->nea_pipe;
	uint32_t                 region;
	uint64_t                 place;
	ssize_t                  got;

	m0_pipe_offer_get(pipe, &region, &place);
	if (region != 0)
		got = region_in(stream, iov, nr,
				m0_tcp__near_map_at(stream, region, place, has),
				has);
	else
		got = space_in(stream, iov, nr, place, has);
	if (got <= 0 || (region == 0 && !is_alive(stream)) ||
	    m0_pipe_offer_took(pipe, (size_t)got) != 0)
		return offer_lost(stream, got);
	*(region == 0 ? &counts->stc_offer_bytes : &counts->stc_region_bytes) +=
		(uint64_t)got;
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
	if (M0_UNLIKELY(stream->tcs_near->nea_is_flawed))
		return -EPROTO;
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

/* @return pieces at the head that are offered together in the address space; 0: what
 * comes first is not. */
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

static bool is_lent(struct m0_tcp_stream *stream, const struct iovec *piece,
		    uint32_t *ret_region, uint64_t *ret_place)
{
	return piece->iov_len >= M0_NEAR_REGION_BYTES &&
	       piece->iov_len <= M0_PIPE_OFFER_BYTES_MAX &&
	       m0_tcp__near_is_lent(stream, piece->iov_base, piece->iov_len,
				    ret_region, ret_place);
}

/* Bytes that were put since the last offer have left when this one is taken. */
static int piece_offer(struct m0_near *near, const struct iovec *piece,
		       uint32_t region, uint64_t place, size_t put)
{
	unsigned last;
	int      rc = m0_pipe_offer_put(&near->nea_pipe, region, place,
					(uint32_t)piece->iov_len);

	if (rc != 0)
		return rc;
	M0_ASSERT(near->nea_holds_nr < M0_PIPE_OFFERS_MAX);
	last = (near->nea_hold_first + near->nea_holds_nr++) %
	       M0_PIPE_OFFERS_MAX;
	near->nea_holds[last] = near->nea_tail + put + piece->iov_len;
	near->nea_tail = 0;
	return 0;
}

/**
 * Puts pieces into the ring, and offers others.
 * @param ret_put  bytes that were put since the last offer.
 * @return bytes that are on their way.
 */
static ssize_t pieces_move(struct m0_tcp_stream *stream,
			   const struct iovec *iov, unsigned nr,
			   size_t *ret_put)
{
	struct m0_near *near = stream->tcs_near;
	ssize_t         all = 0;
	uint32_t        region = 0;
	uint64_t        place;
	unsigned        run = 0;
	unsigned        i;

	*ret_put = 0;
	for (i = 0; i < nr; ++i) {
		const struct iovec *piece = &iov[i];
		ssize_t             part = (ssize_t)piece->iov_len;
		bool lent = is_lent(stream, piece, &region, &place);

		if (!lent && run == 0)
			run = offered_nr(near, piece, nr - i);
		if (lent || run > 0) {
			int rc = piece_offer(near, piece, lent ? region : 0,
					     lent ? place
						  : (uintptr_t)piece->iov_base,
					     *ret_put);

			run -= run > 0;
			if (rc == -EAGAIN) {
				near->nea_waits |= M0_PIPE_TAKEN;
				break;
			}
			if (rc != 0)
				return rc;
			*ret_put = 0;
		} else {
			part = m0_pipe_put(&near->nea_pipe, piece->iov_base,
					   piece->iov_len);
			if (part < 0)
				return part;
			*ret_put += (size_t)part;
		}
		all += part;
		if ((size_t)part < piece->iov_len) {
			near->nea_waits |= M0_PIPE_SPACE;
			break;
		}
	}
	return all;
}

/* Notes the failure. The next pass reads what has come, and reports the end. */
static bool out_failed(struct m0_tcp_stream *stream, ssize_t rc)
{
	stream->tcs_out_rc = (int)rc;
	if (!m0_list_link_is_in(&stream->tcs_ready))
		m0_list_add_tail(&stream->tcs_io->tci_ready,
				 &stream->tcs_ready);
	return false;
}

/* Takes off what the peer has taken, and all that was put behind the last offer if no
 * offer is left. */
static size_t holds_take(struct m0_near *near, unsigned left)
{
	size_t nr = 0;

	for (; near->nea_holds_nr > left; --near->nea_holds_nr) {
		nr += near->nea_holds[near->nea_hold_first];
		near->nea_hold_first = (near->nea_hold_first + 1) %
				       M0_PIPE_OFFERS_MAX;
	}
	if (left == 0) {
		nr += near->nea_tail;
		near->nea_tail = 0;
	}
	near->nea_passed -= nr;
	return nr;
}

/* False: the stream is gone, or has failed. */
static bool offers_end(struct m0_tcp_stream *stream)
{
	struct m0_near *near = stream->tcs_near;
	size_t          nr;
	int             rc;

	if (near->nea_holds_nr == 0)
		return true;
	rc = m0_pipe_offers_nr(&near->nea_pipe);
	if (rc < 0)
		return out_failed(stream, rc);
	nr = holds_take(near, (unsigned)rc);
	near->nea_waits = rc > 0 ? M0_PIPE_TAKEN : 0;
	return nr == 0 || (up(stream)->stu_out_left(user(stream), nr) >= 0 &&
			   stream->tcs_io->tci_current == stream);
}

/* Bytes are on their way, of which `put` lie in the ring behind the last offer. False: the
 * stream is gone. */
static bool moved(struct m0_tcp_stream *stream, size_t nr, size_t put)
{
	struct m0_near *near = stream->tcs_near;

	if (nr == 0)
		return true;
	if (near->nea_holds_nr == 0)
		return up(stream)->stu_out_left(user(stream), nr) >= 0 &&
		       stream->tcs_io->tci_current == stream;
	near->nea_tail += put;
	near->nea_passed += nr;
	near->nea_waits |= M0_PIPE_TAKEN;
	up(stream)->stu_out_passed(user(stream), nr);
	return true;
}

static bool out_once(struct m0_tcp_stream *stream, size_t *left)
{
	struct m0_near *near = stream->tcs_near;
	struct iovec    iov[SEGS_MAX];
	ssize_t         nr;
	size_t          put;
	unsigned        segs;

	if (!offers_end(stream))
		return false;
	segs = up(stream)->stu_out_what(user(stream), iov, SEGS_MAX);
	if (segs == 0 || stream->tcs_io->tci_current != stream)
		return false;
	nr = pieces_move(stream, iov, segs, &put);
	if (nr < 0)
		return out_failed(stream, nr);
	m0_pipe_commit(&near->nea_pipe);
	*left -= min64u(*left, (size_t)nr);
	return moved(stream, (size_t)nr, put) && nr > 0 &&
	       (near->nea_waits & M0_PIPE_SPACE) == 0;
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

	return nr < 0 ? 0 : max64u((uint64_t)nr, near->nea_passed);
}
