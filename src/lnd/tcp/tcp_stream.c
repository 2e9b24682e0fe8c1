/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Input and output of a stream. epoll watches sockets edge-triggered: a read that
 * returns less than was asked for has emptied the socket, and the next byte raises
 * an event; so no call only finds that there is nothing. The same holds for a write
 * that is not taken whole.
 *
 * A call up may hang up this stream, or others. The function that makes one keeps the
 * stream in tci_current, and has lost it if it is not there afterwards.
 */
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lnd/tcp/near_internal.h"
#include "stream/segs.h"

enum {
	LITTLES_MAX = 4,
	JOIN_BYTES = 32 << 10,
	JOIN_MEAN_BYTES = 512
};

static const struct m0_streams_up *up(const struct m0_tcp_stream *stream)
{
	return stream->tcs_io->tci_streams.sts_up;
}

static void *user(const struct m0_tcp_stream *stream)
{
	return stream->tcs_stream.stm_user;
}

static inline void full_set(struct m0_tcp_stream *stream, bool full)
{
	unsigned *nr = &stream->tcs_io->tci_full_nr;

	*nr = *nr - stream->tcs_out_full + full;
	stream->tcs_out_full = full;
	if (!full)
		return;
	m0_tcp__stream_watch(stream);
	if (!m0_tcp__is_out_lent(stream))
		m0_tcp__lane_unmask(stream, M0_LOOP_OUT);
}

void m0_tcp__full_set(struct m0_tcp_stream *stream, bool full)
{
	full_set(stream, full);
}

void m0_tcp__stream_out_add(struct m0_tcp_stream *stream)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (!stream->tcs_out_full && !stream->tcs_dials &&
	    (stream->tcs_near == NULL ||
	     (stream->tcs_near->nea_waits & M0_PIPE_SPACE) == 0) &&
	    !m0_list_link_is_in(&stream->tcs_out))
		m0_list_add_tail(&stream->tcs_io->tci_out, &stream->tcs_out);
}

void m0_tcp__stream_in_add(struct m0_tcp_stream *stream)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (!stream->tcs_in_paused && !m0_list_link_is_in(&stream->tcs_ready))
		m0_list_add_tail(&stream->tcs_io->tci_ready,
				 &stream->tcs_ready);
}

/*
 * Ends the output. The peer may have sent the reason before it closed: the next pass
 * reads that first, if the connection wants it, and then reports the end.
 */
void m0_tcp__out_failed(struct m0_tcp_stream *stream, int rc)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	stream->tcs_out_rc = rc;
	full_set(stream, true);
	stream->tcs_ends |= M0_TCP_ENDS;
	if (!m0_list_link_is_in(&stream->tcs_ready))
		m0_list_add_tail(&stream->tcs_io->tci_ready,
				 &stream->tcs_ready);
}

/*
 * Stops watching the stream: the kernel spends time of the sender on each event for
 * epoll, and a node that tries the stream anyway does not need events.
 */
void m0_tcp__hot_unwatch(struct m0_tcp_io *io)
{
	m0_loop_del(m0_tcp__loop(io), &io->tci_hot->tcs_fd);
	io->tci_hot->tcs_unwatched = true;
}

void m0_tcp__stream_watch(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;
	int               rc;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (M0_LIKELY(!stream->tcs_unwatched))
		return;
	stream->tcs_unwatched = false;
	stream->tcs_lent.tle_masked = 0;
	stream->tcs_ends &= (uint8_t)~M0_TCP_ENDS_UNWATCHED;
	io->tci_hits_nr = 0;
	/* The loop reports input that is there already, too. */
	rc = m0_loop_add(m0_tcp__loop(io), &stream->tcs_fd);
	if (rc != 0)
		m0_tcp__out_failed(stream, rc);
}

void m0_tcp__hot_leave(struct m0_tcp_io *io)
{
	if (io->tci_hot != NULL)
		m0_tcp__stream_watch(io->tci_hot);
	io->tci_hot = NULL;
	io->tci_hits_nr = 0;
}

static void stream_event(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_tcp_stream *stream =
		container_of(fd, struct m0_tcp_stream, tcs_fd);

	if (stream->tcs_near != NULL && !stream->tcs_dials) {
		m0_tcp__near_event(stream, events);
		return;
	}
	if (stream != stream->tcs_io->tci_hot)
		stream->tcs_io->tci_others = true;
	if (events & M0_LOOP_END)
		stream->tcs_ends |= M0_TCP_ENDS;
	if ((events & M0_LOOP_OUT) && stream->tcs_out_full &&
	    stream->tcs_out_rc == 0 && !m0_tcp__is_out_lent(stream)) {
		full_set(stream, false);
		m0_tcp__stream_out_add(stream);
	}
	if (stream->tcs_dials || (events & (M0_LOOP_IN | M0_LOOP_END)))
		m0_tcp__stream_in_add(stream);
}

struct m0_tcp_stream *m0_tcp__stream_new(struct m0_tcp_io *io, int fd,
					 bool dials)
{
	struct m0_tcp_stream *stream;

	M0_ALLOC_PTR(stream);
	if (stream == NULL)
		return NULL;
	stream->tcs_fd.lof_fd = fd;
	stream->tcs_fd.lof_handler = stream_event;
	stream->tcs_io = io;
	stream->tcs_stream.stm_counts = &io->tci_streams.sts_counts;
	stream->tcs_dials = dials;
	m0_list_link_init(&stream->tcs_ready);
	m0_list_link_init(&stream->tcs_out);
	m0_list_link_init(&stream->tcs_seen);
	m0_list_link_init(&stream->tcs_all);
	if (m0_loop_add(m0_tcp__loop(io), &stream->tcs_fd) != 0) {
		m0_free(stream);
		return NULL;
	}
	m0_list_add_tail(&io->tci_all, &stream->tcs_all);
	++io->tci_all_nr;
	return stream;
}

/* -- bytes that wait --------------------------------------------------------- */

enum {
	/** Least memory for bytes that wait. */
	KEPT_BYTES_MIN = 4096
};

/* Memory for bytes that wait: that of the last which waited, if it is enough. */
static bool kept_make(struct m0_tcp_stream *stream, size_t nr)
{
	struct m0_tcp_io *io = stream->tcs_io;
	size_t            max = KEPT_BYTES_MIN;

	M0_PRE(stream->tcs_kept == NULL);
	if (io->tci_spare != NULL && io->tci_spare_bytes >= nr) {
		stream->tcs_kept = io->tci_spare;
		stream->tcs_kept_max = io->tci_spare_bytes;
		io->tci_spare = NULL;
		return true;
	}
	while (max < nr)
		max *= 2;
	stream->tcs_kept = m0_alloc(max);
	stream->tcs_kept_max = max;
	return stream->tcs_kept != NULL;
}

/* The larger one of it and the spare is the spare. */
static void kept_free(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;

	if (stream->tcs_kept == NULL)
		return;
	if (io->tci_spare == NULL ||
	    io->tci_spare_bytes < stream->tcs_kept_max) {
		m0_free(io->tci_spare);
		io->tci_spare = stream->tcs_kept;
		io->tci_spare_bytes = stream->tcs_kept_max;
	} else {
		m0_free(stream->tcs_kept);
	}
	stream->tcs_kept = NULL;
}

void m0_tcp__stream_free(struct m0_tcp_stream *stream, bool reset)
{
	struct m0_tcp_io *io = stream->tcs_io;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	m0_tcp__lane_recall(stream);
	if (io->tci_current == stream)
		io->tci_current = NULL;
	if (io->tci_hot == stream)
		io->tci_hot = NULL;
	full_set(stream, false);
	m0_loop_del(m0_tcp__loop(io), &stream->tcs_fd);
	if (stream->tcs_near != NULL)
		(void)close(stream->tcs_fd.lof_fd);
	else
		m0_tcp__fd_end(stream->tcs_fd.lof_fd, reset);
	m0_list_del(&stream->tcs_ready);
	m0_list_del(&stream->tcs_out);
	m0_list_del(&stream->tcs_seen);
	m0_list_del(&stream->tcs_all);
	--io->tci_all_nr;
	m0_tcp__near_free(stream, reset);
	kept_free(stream);
	m0_free(stream);
}

void m0_tcp__stream_broken(struct m0_tcp_stream *stream, int status)
{
	const struct m0_streams_up *up = stream->tcs_io->tci_streams.sts_up;
	void                       *user = stream->tcs_stream.stm_user;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	m0_tcp__stream_free(stream, false);
	/* The peer's reset came after its end of the stream. */
	up->stu_broken(user, status == -EPIPE ? -ECONNRESET : status);
}

/* -- in -------------------------------------------------------------------- */

/* False: the stream is gone. */
static bool keep(struct m0_tcp_stream *stream, const uint8_t *bytes, size_t nr)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (!kept_make(stream, nr)) {
		m0_tcp__stream_broken(stream, -ENOMEM);
		return false;
	}
	memcpy(stream->tcs_kept, bytes, nr);
	stream->tcs_kept_at = 0;
	stream->tcs_kept_nr = nr;
	return true;
}

/*
 * The connection has said that it wants nothing for now. If it has changed its
 * mind meanwhile, the stream is ready again.
 */
static void in_pause(struct m0_tcp_stream *stream)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (!m0_list_link_is_in(&stream->tcs_ready))
		stream->tcs_in_paused = true;
}

/* Gives bytes that were read ahead. True: the connection wants more. */
static bool staged_give(struct m0_tcp_stream *stream, const uint8_t *bytes,
			size_t nr)
{
	struct m0_tcp_io *io = stream->tcs_io;
	ssize_t taken = up(stream)->stu_in_bytes(user(stream), bytes, nr);

	if (taken < 0 || io->tci_current != stream)
		return false;
	M0_ASSERT((size_t)taken <= nr);
	if ((size_t)taken == nr)
		return true;
	if (keep(stream, bytes + taken, nr - (size_t)taken))
		in_pause(stream);
	return false;
}

/* Gives what was kept. True: the connection wants more. */
static bool kept_give(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;
	size_t            nr = stream->tcs_kept_nr - stream->tcs_kept_at;
	ssize_t           taken;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	taken = up(stream)->stu_in_bytes(
		user(stream), stream->tcs_kept + stream->tcs_kept_at, nr);
	if (taken < 0 || io->tci_current != stream)
		return false;
	M0_ASSERT((size_t)taken <= nr);
	stream->tcs_kept_at += (size_t)taken;
	if ((size_t)taken < nr) {
		in_pause(stream);
		return false;
	}
	kept_free(stream);
	return true;
}

/* The plan of one system call that reads. */
struct in_plan {
	struct iovec pl_iov[M0_TCP_IN_SEGS_MAX + 1];
	unsigned     pl_nr;
	/** Bytes that go where the connection said; behind them, ahead. */
	size_t pl_direct;
	size_t pl_all;
};

/* False: the connection wants nothing now, or a lane reads it. */
static bool in_plan(struct m0_tcp_stream *stream, struct in_plan *plan)
{
	size_t ahead = 0;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	plan->pl_nr = up(stream)->stu_in_where(user(stream), plan->pl_iov,
					       M0_TCP_IN_SEGS_MAX, &ahead);
	if (plan->pl_nr == 0) {
		in_pause(stream);
		return false;
	}
	plan->pl_direct = m0_stream_segs_bytes(plan->pl_iov, plan->pl_nr);
	plan->pl_all = plan->pl_direct;
	if (plan->pl_direct >= M0_STREAM_SMALL_BYTES &&
	    stream->tcs_io->tci_crew.tcw_lanes != NULL &&
	    stream->tcs_stream.stm_in_pipe == NULL) {
		if (m0_tcp__lane_in(stream, plan->pl_iov, &plan->pl_nr,
				    &plan->pl_direct))
			return false;
		if (plan->pl_direct < plan->pl_all)
			ahead = 0;
		plan->pl_all = plan->pl_direct;
	}
	/* As many segments as there are places: more may follow. */
	if (ahead == 0 || plan->pl_nr == M0_TCP_IN_SEGS_MAX)
		return true;
	plan->pl_all = m0_stream_segs_ahead(plan->pl_iov, &plan->pl_nr,
					    &plan->pl_direct, ahead,
					    stream->tcs_io->tci_staging,
					    M0_TCP_STAGING_BYTES);
	return true;
}

/*
 * The read that empties a socket has the system acknowledge at once, and waits
 * until that has left, unless we write here, too: then what we write does it.
 * If we do not (a peer's answers come on one stream, what they answer goes on
 * another), little that comes is only looked at. It is taken before the next
 * look, when what it asks for is on its way.
 */
static bool only_looks(const struct m0_tcp_stream *stream,
		       const struct in_plan       *plan)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	return stream->tcs_little_nr == LITTLES_MAX && plan->pl_direct == 0 &&
	       plan->pl_nr == 1 && !stream->tcs_ends;
}

static void little_count(struct m0_tcp_stream *stream, size_t nr)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (nr >= M0_STREAM_SMALL_BYTES)
		stream->tcs_little_nr = 0;
	else if (stream->tcs_little_nr < LITTLES_MAX)
		++stream->tcs_little_nr;
}

static ssize_t in_call(struct m0_tcp_stream *stream, struct in_plan *plan)
{
	bool    looks = only_looks(stream, plan);
	int     fd = stream->tcs_fd.lof_fd;
	ssize_t nr;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (stream->tcs_near != NULL)
		return m0_tcp__near_in(stream, plan->pl_iov, plan->pl_nr);
	++stream->tcs_stream.stm_counts->stc_reads_nr;
	do {
		/* The call for one segment is the cheaper one. */
		nr = plan->pl_nr == 1
			     ? recv(fd, plan->pl_iov[0].iov_base,
				    plan->pl_iov[0].iov_len,
				    looks ? MSG_PEEK : 0)
			     : readv(fd, plan->pl_iov, (int)plan->pl_nr);
	} while (nr < 0 && errno == EINTR);
	if (nr <= 0)
		return nr < 0 ? -errno : 0;
	little_count(stream, (size_t)nr);
	if (looks) {
		stream->tcs_seen_nr = (size_t)nr;
		m0_list_add_tail(&stream->tcs_io->tci_seen, &stream->tcs_seen);
	}
	return nr;
}

/*
 * The next bytes go to a pipe; -EAGAIN: there are none. A full pipe takes no more of
 * a message, and the rest of it goes to memory.
 */
static ssize_t in_splice(struct m0_tcp_stream *stream, struct in_plan *plan,
			 struct m0_lnd_pipe *pipe)
{
	int     waiting = 0;
	ssize_t nr;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	++stream->tcs_stream.stm_counts->stc_reads_nr;
	nr = m0_tcp__pipe_in(pipe, stream->tcs_fd.lof_fd, plan->pl_direct);
	if (nr > 0) {
		little_count(stream, (size_t)nr);
		/* Fewer do not mean that the socket is empty. */
		plan->pl_direct = (size_t)nr;
		plan->pl_all = (size_t)nr;
	}
	if (nr != -EAGAIN || pipe->lnp_bytes == pipe->lnp_gone ||
	    ioctl(stream->tcs_fd.lof_fd, SIOCINQ, &waiting) != 0 ||
	    waiting == 0)
		return nr;
	pipe->lnp_closed = true;
	return in_call(stream, plan);
}

/* Reads as planned. */
static ssize_t in_read(struct m0_tcp_stream *stream, struct in_plan *plan)
{
	struct m0_lnd_pipe *pipe = stream->tcs_stream.stm_in_pipe;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (M0_LIKELY(pipe == NULL))
		return in_call(stream, plan);
	stream->tcs_stream.stm_in_pipe = NULL;
	return stream->tcs_near == NULL && plan->pl_direct > 0
		       ? in_splice(stream, plan, pipe)
		       : in_call(stream, plan);
}

int m0_tcp__seen_take(struct m0_tcp_stream *stream)
{
	ssize_t nr;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	m0_list_del(&stream->tcs_seen);
	++stream->tcs_stream.stm_counts->stc_reads_nr;
	do {
		nr = recv(stream->tcs_fd.lof_fd, NULL, stream->tcs_seen_nr,
			  MSG_TRUNC);
	} while (nr < 0 && errno == EINTR);
	if (nr < 0)
		return -errno;
	stream->tcs_seen_nr -= (size_t)nr;
	return stream->tcs_seen_nr == 0 ? 0 : -EPROTO;
}

/* True: the connection wants more. */
static bool in_give(struct m0_tcp_stream *stream, const struct in_plan *plan,
		    size_t nr)
{
	struct m0_tcp_io *io = stream->tcs_io;
	size_t            direct = min64u(nr, plan->pl_direct);
	int               rc = 0;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (direct > 0)
		rc = up(stream)->stu_in_arrived(user(stream), direct);
	if (rc < 0 || io->tci_current != stream)
		return false;
	if (M0_UNLIKELY(rc > 0)) {
		M0_ASSERT(direct <= M0_STREAM_AGAIN_BYTES_MAX);
		m0_stream_segs_gather(plan->pl_iov, direct, io->tci_staging,
				      nr);
		direct = 0;
	}
	return nr == direct ||
	       staged_give(stream, io->tci_staging, nr - direct);
}

bool m0_tcp__in_direct(struct m0_tcp_stream *stream, size_t nr)
{
	struct m0_tcp_io *io = stream->tcs_io;
	int               rc = up(stream)->stu_in_arrived(user(stream), nr);

	M0_ASSERT(rc <= 0);
	return rc == 0 && io->tci_current == stream;
}

void m0_tcp__in_ended(struct m0_tcp_stream *stream, ssize_t nr)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (nr == -EAGAIN && stream->tcs_out_rc == 0) {
		/* The next byte is reported again. */
		m0_tcp__lane_unmask(stream, M0_LOOP_IN);
		return;
	}
	stream->tcs_in_rc = stream->tcs_out_rc != 0 ? stream->tcs_out_rc
						    : (int)nr;
	m0_list_del(&stream->tcs_ready);
	m0_list_add_tail(&stream->tcs_io->tci_ended, &stream->tcs_ready);
	if (stream->tcs_io->tci_hot == stream)
		m0_tcp__hot_leave(stream->tcs_io);
}

/* The stream was read. */
static void hot_set(struct m0_tcp_io *io, struct m0_tcp_stream *stream)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (io->tci_hot != stream) {
		m0_tcp__hot_leave(io);
		io->tci_hot = stream;
	}
	++io->tci_hits_nr;
	io->tci_misses_nr = 0;
}

/* A short read has emptied a socket, unless its end is near; a pipe has a count. */
static bool may_have_more(const struct m0_tcp_stream *stream, bool is_short)
{
	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	return stream->tcs_near != NULL ? m0_tcp__near_has_input(stream)
					: !is_short || stream->tcs_ends != 0;
}

static bool stream_in(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;
	struct in_plan    plan;
	size_t  left = stream->tcs_near == NULL ? (size_t)M0_TCP_TURN_BYTES
						: M0_NEAR_TURN_BYTES;
	ssize_t nr;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (stream->tcs_in_paused ||
	    (stream->tcs_kept != NULL && !kept_give(stream)))
		return false;
	do {
		if (!in_plan(stream, &plan))
			return false;
		nr = stream->tcs_seen_nr == 0 ? 0 : m0_tcp__seen_take(stream);
		if (nr == 0)
			nr = in_read(stream, &plan);
		if (nr <= 0) {
			m0_tcp__in_ended(stream, nr);
			return false;
		}
		if (stream->tcs_near == NULL) {
			hot_set(io, stream);
			io->tci_passes_nr += M0_TCP_PASS_READ;
		}
		if (!in_give(stream, &plan, (size_t)nr) ||
		    !may_have_more(stream, (size_t)nr < plan.pl_all))
			return false;
		left -= min64u(left, (size_t)nr);
	} while (left > 0);
	return true;
}

bool m0_tcp__stream_in(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;
	bool              more;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	io->tci_current = stream;
	more = stream_in(stream);
	/* The input is paused and the output has failed: do not wait for the rest. */
	if (io->tci_current == stream && stream->tcs_in_paused &&
	    stream->tcs_out_rc != 0 && !m0_tcp__is_in_lent(stream))
		m0_tcp__stream_broken(stream, stream->tcs_out_rc);
	more = more && io->tci_current == stream;
	io->tci_current = NULL;
	return more;
}

/* -- out ------------------------------------------------------------------- */

/*
 * Many small pieces cost the system more to collect than they cost us. What was
 * read ahead has been given or kept, so its buffer is free.
 */
static unsigned pieces_join(struct m0_tcp_io *io, struct iovec *iov,
			    unsigned nr, size_t all)
{
	uint8_t *at = io->tci_staging;
	unsigned i;

	if (nr == 1 || all > JOIN_BYTES || all > nr * JOIN_MEAN_BYTES)
		return nr;
	for (i = 0; i < nr; ++i) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	iov[0].iov_base = io->tci_staging;
	iov[0].iov_len = all;
	return 1;
}

/* Cuts off what one call is not to write. */
static unsigned pieces_cut(struct iovec *iov, unsigned nr, size_t *all)
{
	size_t   left = M0_TCP_CALL_BYTES;
	unsigned i;

	if (M0_LIKELY(*all <= left))
		return nr;
	*all = left;
	for (i = 0; left > 0; ++i) {
		iov[i].iov_len = min64u(iov[i].iov_len, left);
		left -= iov[i].iov_len;
	}
	return i;
}

static ssize_t out_call(struct m0_tcp_stream *stream, struct iovec *iov,
			unsigned nr, bool more)
{
	int           flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = nr };
	int           fd = stream->tcs_fd.lof_fd;
	ssize_t       rc;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	++stream->tcs_stream.stm_counts->stc_writes_nr;
	do {
		rc = nr == 1 ? send(fd, iov->iov_base, iov->iov_len, flags)
			     : sendmsg(fd, &msg, flags);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc;
}

/* True: the stream has taken `nr` bytes of `all` or (rc < 0) failed, and may take more. */
static bool out_came(struct m0_tcp_stream *stream, ssize_t nr, bool is_full,
		     size_t *left)
{
	struct m0_tcp_io *io = stream->tcs_io;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (nr < 0 && nr != -EAGAIN) {
		m0_tcp__out_failed(stream, (int)nr);
		return false;
	}
	nr = max64(nr, 0);
	stream->tcs_little_nr = 0;
	full_set(stream, is_full);
	*left -= min64u(*left, (size_t)nr);
	return (nr == 0 ||
		(up(stream)->stu_out_left(user(stream), (size_t)nr) >= 0 &&
		 io->tci_current == stream)) &&
	       !stream->tcs_out_full;
}

/* The next bytes leave from a pipe. Fewer do not mean that the socket is full. */
static bool out_splice(struct m0_tcp_stream *stream, struct m0_lnd_pipe *pipe,
		       size_t *left)
{
	size_t  bytes = stream->tcs_stream.stm_out_nr;
	ssize_t nr;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (stream->tcs_has_bbr)
		bytes = min64u(bytes, M0_TCP_CALL_BYTES);
	++stream->tcs_stream.stm_counts->stc_writes_nr;
	nr = m0_tcp__pipe_out(pipe, stream->tcs_fd.lof_fd, bytes);
	return out_came(stream, nr, nr == -EAGAIN, left);
}

/* True: all of it was taken, so there may be more. */
static bool out_once(struct m0_tcp_stream *stream, size_t *left)
{
	struct m0_tcp_io   *io = stream->tcs_io;
	struct m0_lnd_pipe *pipe;
	struct iovec        iov[M0_TCP_OUT_SEGS_MAX];
	size_t              all;
	ssize_t             nr;
	unsigned            segs;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	segs = up(stream)->stu_out_what(user(stream), iov, ARRAY_SIZE(iov));
	if (io->tci_current != stream)
		return false;
	pipe = stream->tcs_stream.stm_out_pipe;
	stream->tcs_stream.stm_out_pipe = NULL;
	if (segs == 0)
		return pipe != NULL && out_splice(stream, pipe, left);
	all = m0_stream_segs_bytes(iov, segs);
	if (M0_UNLIKELY(all >= M0_TCP_LANE_BYTES) && pipe == NULL &&
	    m0_tcp__lane_out(stream, iov, segs, all))
		return false;
	if (stream->tcs_has_bbr)
		segs = pieces_cut(iov, segs, &all);
	segs = pieces_join(io, iov, segs, all);
	nr = out_call(stream, iov, segs, pipe != NULL);
	return out_came(stream, nr, nr < 0 || (size_t)nr < all, left);
}

bool m0_tcp__stream_out(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;
	size_t            left = M0_TCP_TURN_BYTES;
	bool              more = true;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (stream->tcs_near != NULL)
		return m0_tcp__near_out(stream);
	io->tci_current = stream;
	while (more && left > 0)
		more = out_once(stream, &left);
	io->tci_current = NULL;
	return more;
}

size_t m0_tcp__unsent(struct m0_streams *streams, struct m0_stream *stream)
{
	int nr = 0;

	(void)streams;
	if (m0_tcp__stream(stream)->tcs_near != NULL)
		return m0_tcp__near_unsent(m0_tcp__stream(stream));
	return ioctl(m0_tcp__stream(stream)->tcs_fd.lof_fd, SIOCOUTQ, &nr) == 0
		       ? (size_t)max64(nr, 0)
		       : 0;
}
