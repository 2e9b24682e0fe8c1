/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Streams lend to lanes (lane.h) the rest of a payload that is to be read, and bytes
 * that are to be written. The strand decides what, and a lane that has
 * finished gives it back; no callback runs on a lane.
 *
 * While a lane reads, the strand does not: the stream counts as paused, and the loop
 * does not report its input. While a lane writes, the stream counts as full, and the
 * loop does not report space. The other direction goes on, because two nodes that
 * send to each other would else wait for each other. Input is reported again once
 * the strand has found the socket empty, space when it has found it full, so most
 * payloads change nothing in the loop.
 *
 * A stream that ends takes back what a lane has (m0_tcp__lane_recall()). Lanes
 * never block in a call about a socket, so this takes one call of a lane at most,
 * and needs no shutdown(2), after which the end would not be in order (end.c).
 */
#include "lnd/tcp/lane.h"
#include "lnd/tcp/tcp_internal.h"

enum {
	/** Jobs that one pass takes back. */
	BACKS_MAX = 256
};

static const struct m0_streams_up *up(const struct m0_tcp_stream *stream)
{
	return stream->tcs_io->tci_streams.sts_up;
}

static void lanes_rouse(void *arg)
{
	m0_loop_rouse(arg);
}

static int cpus_parse(const char *text, struct m0_bitmap *map)
{
	int rc = m0_bitmap_init(map, M0_OS_CPUS_MAX);

	if (rc != 0)
		return rc;
	rc = m0_bitmap_parse(map, text);
	if (rc == 0 && !m0_os_cpus_valid(map))
		rc = -EINVAL;
	if (rc != 0)
		m0_bitmap_fini(map);
	return rc;
}

int m0_tcp__lanes_start(struct m0_tcp_io *io)
{
	const char      *text = io->tci_cfg.sic_lane_cpus;
	bool             has_set = text != NULL && text[0] != '\0';
	struct m0_bitmap map;
	int              rc = 0;

	/* The caller's. */
	io->tci_cfg.sic_lane_cpus = NULL;
	if (io->tci_cfg.sic_lanes_nr < 2)
		return 0;
	if (has_set)
		rc = cpus_parse(text, &map);
	if (rc != 0)
		return rc;
	rc = m0_lanes_create(&io->tci_crew.tcw_lanes, io->tci_cfg.sic_lanes_nr,
			     has_set ? &map : NULL, lanes_rouse,
			     m0_tcp__loop(io));
	if (has_set)
		m0_bitmap_fini(&map);
	return rc;
}

/* A strand that waits for a lane waits longer than it spins, on a processor that the
 * lane could use. */
static void calm_set(struct m0_tcp_io *io, bool calm)
{
	struct m0_strand *strand = io->tci_reactor->lre_strand;

	if (io->tci_crew.tcw_is_calm == calm || strand == NULL)
		return;
	io->tci_crew.tcw_is_calm = calm;
	if (calm)
		io->tci_crew.tcw_spin_ns = strand->st_spin_ns;
	strand->st_spin_ns = calm ? 0 : io->tci_crew.tcw_spin_ns;
}

void m0_tcp__lanes_stop(struct m0_tcp_io *io)
{
	if (io->tci_crew.tcw_lanes == NULL)
		return;
	calm_set(io, false);
	m0_lanes_destroy(io->tci_crew.tcw_lanes);
	io->tci_crew.tcw_lanes = NULL;
}

/* -- what the loop reports ------------------------------------------------- */

static int mask_apply(struct m0_tcp_stream *stream, unsigned masked)
{
	unsigned all = M0_LOOP_IN | M0_LOOP_OUT;

	stream->tcs_lent.tle_masked = masked;
	return stream->tcs_unwatched
		       ? 0
		       : m0_loop_mask(m0_tcp__loop(stream->tcs_io),
				      &stream->tcs_fd, all & ~masked);
}

static void mask(struct m0_tcp_stream *stream, unsigned event)
{
	if (!(stream->tcs_lent.tle_masked & event))
		(void)mask_apply(stream, stream->tcs_lent.tle_masked | event);
}

void m0_tcp__lane_unmask(struct m0_tcp_stream *stream, unsigned events)
{
	int rc;

	if (M0_LIKELY(!(stream->tcs_lent.tle_masked & events)))
		return;
	if (events & M0_LOOP_IN)
		stream->tcs_ends &= (uint8_t)~M0_TCP_ENDS_UNWATCHED;
	rc = mask_apply(stream, stream->tcs_lent.tle_masked & ~events);
	/* Only a stream that the loop could not watch again, which ends. */
	if (rc != 0)
		m0_tcp__out_failed(stream, rc);
}

/* -- lend ------------------------------------------------------------------ */

static struct m0_lane_job *job_make(struct m0_tcp_stream *stream,
				    const struct iovec *iov, unsigned nr,
				    bool is_out)
{
	struct m0_lane_job *job =
		m0_lanes_get(stream->tcs_io->tci_crew.tcw_lanes);

	if (job == NULL)
		return NULL;
	job->ljb_user = stream;
	job->ljb_fd = stream->tcs_fd.lof_fd;
	job->ljb_is_out = is_out;
	job->ljb_nr = nr;
	memcpy(job->ljb_iov, iov, nr * sizeof *iov);
	return job;
}

static void job_give(struct m0_tcp_stream *stream, struct m0_lane_job *job)
{
	struct m0_tcp_lent *lent = &stream->tcs_lent;

	lent->tle_lane = m0_lanes_give(stream->tcs_io->tci_crew.tcw_lanes, job,
				       lent->tle_lane);
	calm_set(stream->tcs_io, true);
}

/* Cuts a read that the strand makes. */
static void head_cut(struct iovec *iov, unsigned *nr, size_t *bytes)
{
	size_t   left = M0_TCP_LANE_HEAD_BYTES;
	unsigned i;

	if (*bytes <= left)
		return;
	*bytes = left;
	for (i = 0; left > 0; ++i) {
		iov[i].iov_len = min64u(iov[i].iov_len, left);
		left -= iov[i].iov_len;
	}
	*nr = i;
}

bool m0_tcp__lane_in(struct m0_tcp_stream *stream, struct iovec *iov,
		     unsigned *nr, size_t *bytes)
{
	struct m0_tcp_lent *lent = &stream->tcs_lent;
	struct m0_lane_job *job = NULL;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (stream->tcs_near != NULL || up(stream)->stu_in_lend == NULL)
		return false;
	M0_ASSERT(!m0_tcp__is_in_lent(stream));
	if (*bytes >= M0_TCP_LANE_BYTES && stream->tcs_seen_nr == 0 &&
	    up(stream)->stu_in_lend(stream->tcs_stream.stm_user))
		job = job_make(stream, iov, *nr, false);
	else if (lent->tle_expects && *bytes >= M0_TCP_LANE_BYTES)
		head_cut(iov, nr, bytes);
	if (job == NULL) {
		lent->tle_expects = false;
		return false;
	}
	lent->tle_expects = true;
	lent->tle_in = job;
	stream->tcs_in_paused = true;
	stream->tcs_ends |= M0_TCP_ENDS_UNWATCHED;
	if (stream->tcs_io->tci_hot == stream)
		m0_tcp__hot_leave(stream->tcs_io);
	mask(stream, M0_LOOP_IN);
	job_give(stream, job);
	return true;
}

bool m0_tcp__lane_out(struct m0_tcp_stream *stream, const struct iovec *iov,
		      unsigned nr, size_t bytes)
{
	struct m0_tcp_io   *io = stream->tcs_io;
	struct m0_lane_job *job;
	size_t              rest = 0;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	if (io->tci_crew.tcw_lanes == NULL || up(stream)->stu_out_lend == NULL)
		return false;
	M0_ASSERT(!m0_tcp__is_out_lent(stream));
	nr = (unsigned)min64u(nr, M0_LANE_SEGS_MAX);
	for (unsigned i = 0; i < nr; ++i)
		rest += iov[i].iov_len;
	if (min64u(rest, bytes) < M0_TCP_LANE_BYTES)
		return false;
	job = job_make(stream, iov, nr, true);
	if (job == NULL)
		return false;
	if (stream->tcs_has_bbr)
		job->ljb_call_bytes = M0_TCP_CALL_BYTES;
	/* A call up may have announced more meanwhile. */
	m0_list_del(&stream->tcs_out);
	stream->tcs_lent.tle_out = job;
	stream->tcs_little_nr = 0;
	up(stream)->stu_out_lend(stream->tcs_stream.stm_user, true);
	m0_tcp__full_set(stream, true);
	mask(stream, M0_LOOP_OUT);
	job_give(stream, job);
	return true;
}

/* -- back ------------------------------------------------------------------ */

static void in_back(struct m0_tcp_stream *stream, size_t nr, ssize_t rc)
{
	struct m0_tcp_io *io = stream->tcs_io;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	stream->tcs_in_paused = false;
	stream->tcs_little_nr = 0;
	if (nr > 0 && !m0_tcp__in_direct(stream, nr))
		return;
	if (rc <= 0) {
		m0_tcp__in_ended(stream, rc);
		return;
	}
	/* The next header may be there. */
	io->tci_passes_nr += M0_TCP_PASS_READ;
	m0_tcp__stream_in_add(stream);
}

static void out_back(struct m0_tcp_stream *stream, size_t nr, ssize_t rc,
		     bool is_all)
{
	const struct m0_streams_up *ups = up(stream);
	void                       *user = stream->tcs_stream.stm_user;

	M0_PRE_EX(m0_tcp__stream_invariant(stream));
	ups->stu_out_lend(user, false);
	/* After an error, and where the kernel takes no more, it stays full. */
	if (rc >= 0)
		m0_tcp__full_set(stream, !is_all);
	if (nr > 0 && (ups->stu_out_left(user, nr) < 0 ||
		       stream->tcs_io->tci_current != stream))
		return;
	if (rc < 0)
		m0_tcp__out_failed(stream, (int)rc);
	else if (is_all)
		m0_tcp__stream_out_add(stream);
}

static void job_back(struct m0_tcp_io *io, struct m0_lane_job *job)
{
	struct m0_tcp_stream *stream = job->ljb_user;
	size_t                nr = job->ljb_moved;
	bool                  is_out = job->ljb_is_out;
	bool                  is_all = job->ljb_at == job->ljb_nr;
	ssize_t rc = job->ljb_rc < 0 || job->ljb_is_end ? job->ljb_rc : 1;

	stream->tcs_stream.stm_counts->stc_lane_bytes += nr;
	if (is_out) {
		stream->tcs_lent.tle_out = NULL;
		stream->tcs_stream.stm_counts->stc_writes_nr +=
			job->ljb_calls_nr;
	} else {
		stream->tcs_lent.tle_in = NULL;
		stream->tcs_stream.stm_counts->stc_reads_nr +=
			job->ljb_calls_nr;
	}
	m0_lanes_put(io->tci_crew.tcw_lanes, job);
	io->tci_current = stream;
	if (is_out)
		out_back(stream, nr, rc, is_all);
	else
		in_back(stream, nr, rc);
	io->tci_current = NULL;
}

void m0_tcp__lanes_back(struct m0_tcp_io *io)
{
	struct m0_lane_job *job;
	unsigned            nr;

	/* A job that these calls up give may be back at once. */
	for (nr = 0; nr < BACKS_MAX; ++nr) {
		job = m0_lanes_back(io->tci_crew.tcw_lanes);
		if (job == NULL)
			break;
		job_back(io, job);
	}
	if (m0_lanes_away_nr(io->tci_crew.tcw_lanes) == 0)
		calm_set(io, false);
}

static void job_recall(struct m0_tcp_io *io, struct m0_lane_job **at)
{
	if (*at == NULL)
		return;
	m0_lanes_recall(io->tci_crew.tcw_lanes, *at);
	m0_lanes_put(io->tci_crew.tcw_lanes, *at);
	*at = NULL;
}

void m0_tcp__lane_recall(struct m0_tcp_stream *stream)
{
	job_recall(stream->tcs_io, &stream->tcs_lent.tle_in);
	job_recall(stream->tcs_io, &stream->tcs_lent.tle_out);
}
