/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Streams of bytes of the simulator.
 *
 * A direction is a queue of pieces: those on their way, by time of arrival,
 * then those that have come and are not read. End of file and reset are pieces,
 * too, so they keep their place. What the writer knows of the reader travels
 * back with the other direction's latency, and not at all while that is silent.
 */
#include <stdlib.h>

#include "sim/sched/sim_internal.h"
#include "m0/sim_stream.h"

enum {
	WINDOW_BYTES = 256 * 1024,
	PIECE_BYTES = 64 * 1024,
	/** Bytes that a slow reader takes at once. */
	SLOW_BYTES = 1024
};

enum piece_kind {
	PIECE_BYTES_OF,
	PIECE_EOF,
	PIECE_RESET
};

struct m0_sim_piece {
	struct m0_sim_piece *sip_next;
	enum piece_kind      sip_kind;
	m0_time_t            sip_left_at;
	m0_time_t            sip_arrival;
	size_t               sip_nr;
	/** Already read. */
	size_t  sip_done;
	uint8_t sip_bytes[];
};

static void arrive_fire(struct m0_sim_timer *timer);
static void ack_fire(struct m0_sim_timer *timer);

static void stream_trace(const struct m0_sim_stream *stream, int end,
			 const char *what)
{
	m0_sim__trace(stream->sst_sim->sim_core, stream->sst_name, "stream",
		      "%d > %d %s", end, 1 - end, what);
}

static void dir_init(struct m0_sim_stream *stream, int end)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[end];

	dir->ssd_stream = stream;
	dir->ssd_arrive_timer.simt_data = dir;
	dir->ssd_ack_timer.simt_data = dir;
	dir->ssd_slow_timer.simt_data = dir;
	dir->ssd_alive_timer.simt_data = dir;
}

void m0_sim_stream_init(struct m0_sim_stream *stream, struct m0_sim *sim,
			const char *name, const struct m0_sim_stream_cfg *cfg,
			void (*notice)(struct m0_sim_stream *stream, int end))
{
	M0_PRE(notice != NULL);
	M0_SET0(stream);
	stream->sst_sim = sim;
	stream->sst_name = name;
	stream->sst_notice = notice;
	stream->sst_cfg = *cfg;
	if (cfg->ssc_window_bytes == 0)
		stream->sst_cfg.ssc_window_bytes = WINDOW_BYTES;
	m0_sim__rand_init(sim->sim_core, &stream->sst_rand);
	dir_init(stream, 0);
	dir_init(stream, 1);
}

static int dir_end(const struct m0_sim_stream_dir *dir)
{
	return dir == &dir->ssd_stream->sst_dir[0] ? 0 : 1;
}

static struct m0_sim_stream_dir *dir_back(struct m0_sim_stream_dir *dir)
{
	return &dir->ssd_stream->sst_dir[1 - dir_end(dir)];
}

static struct m0_sim *dir_sim(const struct m0_sim_stream_dir *dir)
{
	return dir->ssd_stream->sst_sim;
}

static m0_time_t dir_now(const struct m0_sim_stream_dir *dir)
{
	return m0_sim_now(dir_sim(dir));
}

static void notice(struct m0_sim_stream *stream, int end)
{
	if (!stream->sst_gone[end])
		stream->sst_notice(stream, end);
}

/* -- pieces -------------------------------------------------------------- */

static void pieces_drop(struct m0_sim_piece **first, struct m0_sim_piece **last)
{
	struct m0_sim_piece *piece;

	while ((piece = *first) != NULL) {
		*first = piece->sip_next;
		free(piece);
	}
	*last = NULL;
}

static void piece_add(struct m0_sim_piece **first, struct m0_sim_piece **last,
		      struct m0_sim_piece *piece)
{
	piece->sip_next = NULL;
	if (*first == NULL)
		*first = piece;
	else
		(*last)->sip_next = piece;
	*last = piece;
}

static struct m0_sim_piece *piece_take(struct m0_sim_piece **first,
				       struct m0_sim_piece **last)
{
	struct m0_sim_piece *piece = *first;

	*first = piece->sip_next;
	if (*first == NULL)
		*last = NULL;
	return piece;
}

static void dir_drop(struct m0_sim_stream_dir *dir)
{
	pieces_drop(&dir->ssd_way, &dir->ssd_way_last);
	pieces_drop(&dir->ssd_come, &dir->ssd_come_last);
	m0_sim_timer_cancel(dir_sim(dir), &dir->ssd_arrive_timer);
	m0_sim_timer_cancel(dir_sim(dir), &dir->ssd_ack_timer);
	m0_sim_timer_cancel(dir_sim(dir), &dir->ssd_slow_timer);
	m0_sim_timer_cancel(dir_sim(dir), &dir->ssd_alive_timer);
}

void m0_sim_stream_fini(struct m0_sim_stream *stream)
{
	dir_drop(&stream->sst_dir[0]);
	dir_drop(&stream->sst_dir[1]);
}

static void arrive_arm(struct m0_sim_stream_dir *dir)
{
	if (dir->ssd_way != NULL && !dir->ssd_silent)
		m0_sim_timer_arm(dir_sim(dir), &dir->ssd_arrive_timer,
				 dir->ssd_way->sip_arrival, arrive_fire);
}

/* Sends a piece on its way. */
static struct m0_sim_piece *piece_go(struct m0_sim_stream_dir *dir,
				     enum piece_kind kind, size_t nr)
{
	const struct m0_sim_stream_cfg *cfg = &dir->ssd_stream->sst_cfg;
	struct m0_sim_piece            *piece;
	m0_time_t                       way = cfg->ssc_latency_ns;

	if (cfg->ssc_jitter_ns > 0)
		way += m0_sim__rand_in(&dir->ssd_stream->sst_rand, 0,
				       cfg->ssc_jitter_ns);
	dir->ssd_free_at = max64u(dir->ssd_free_at, dir_now(dir));
	if (cfg->ssc_rate_bytes > 0)
		dir->ssd_free_at += nr * M0_TIME_ONE_SECOND /
				    cfg->ssc_rate_bytes;
	dir->ssd_arrival = max64u(dir->ssd_arrival, dir->ssd_free_at + way);
	piece = m0_sim__realloc(NULL, 1, sizeof *piece + nr);
	*piece = (struct m0_sim_piece){
		.sip_kind = kind,
		.sip_left_at = dir->ssd_free_at,
		.sip_arrival = dir->ssd_arrival,
		.sip_nr = nr,
	};
	piece_add(&dir->ssd_way, &dir->ssd_way_last, piece);
	if (dir->ssd_way == piece)
		arrive_arm(dir);
	return piece;
}

/* -- what the writer knows of the reader ---------------------------------- */

static void ack_arm(struct m0_sim_stream_dir *dir)
{
	if (dir->ssd_ack_timer.simt_at == 0 && !dir_back(dir)->ssd_silent &&
	    (dir->ssd_known_arrived != dir->ssd_arrived ||
	     dir->ssd_known_taken != dir->ssd_taken))
		m0_sim_timer_arm(
			dir_sim(dir), &dir->ssd_ack_timer,
			dir_now(dir) + dir->ssd_stream->sst_cfg.ssc_latency_ns,
			ack_fire);
}

static void ack_fire(struct m0_sim_timer *timer)
{
	struct m0_sim_stream_dir *dir = timer->simt_data;

	if (dir_back(dir)->ssd_silent)
		return;
	dir->ssd_heard_at = dir_now(dir);
	dir->ssd_known_arrived = dir->ssd_arrived;
	dir->ssd_known_taken = dir->ssd_taken;
	if (dir->ssd_wants_room &&
	    m0_sim_stream_room(dir->ssd_stream, dir_end(dir)) > 0) {
		dir->ssd_wants_room = false;
		notice(dir->ssd_stream, dir_end(dir));
	}
}

/* -- arrival --------------------------------------------------------------- */

/* Reset the stream as seen from `end`, and notify its owner. */
static void end_is_reset(struct m0_sim_stream *stream, int end, int status)
{
	struct m0_sim_stream_dir *out = &stream->sst_dir[end];
	struct m0_sim_stream_dir *in = &stream->sst_dir[1 - end];

	if (stream->sst_reset[end])
		return;
	stream->sst_reset[end] = true;
	stream->sst_reset_status[end] = status;
	in->ssd_eof |= !stream->sst_ignores_reset[end];
	pieces_drop(&out->ssd_way, &out->ssd_way_last);
	pieces_drop(&in->ssd_way, &in->ssd_way_last);
	m0_sim_timer_cancel(stream->sst_sim, &out->ssd_arrive_timer);
	m0_sim_timer_cancel(stream->sst_sim, &in->ssd_arrive_timer);
	stream_trace(stream, 1 - end, "reset");
	if (!stream->sst_ignores_reset[end] || out->ssd_wants_room)
		notice(stream, end);
}

/* Send a reset. Resets are not resent: a lost one stays lost. */
static void reset_go(struct m0_sim_stream_dir *dir)
{
	if (!dir->ssd_silent)
		(void)piece_go(dir, PIECE_RESET, 0);
}

static void bytes_arrive(struct m0_sim_stream_dir *dir,
			 struct m0_sim_piece      *piece)
{
	struct m0_sim_stream *stream = dir->ssd_stream;
	int                   reader = 1 - dir_end(dir);

	if (stream->sst_gone[reader]) {
		free(piece);
		reset_go(dir_back(dir));
		return;
	}
	dir->ssd_arrived += piece->sip_nr;
	piece_add(&dir->ssd_come, &dir->ssd_come_last, piece);
	ack_arm(dir);
	notice(stream, reader);
}

static void piece_arrive(struct m0_sim_stream_dir *dir)
{
	struct m0_sim_stream *stream = dir->ssd_stream;
	struct m0_sim_piece  *piece;

	piece = piece_take(&dir->ssd_way, &dir->ssd_way_last);
	dir_back(dir)->ssd_heard_at = dir_now(dir);
	switch (piece->sip_kind) {
	case PIECE_BYTES_OF:
		bytes_arrive(dir, piece);
		return;
	case PIECE_EOF:
		stream_trace(stream, dir_end(dir), "end of file");
		dir->ssd_eof = true;
		notice(stream, 1 - dir_end(dir));
		break;
	case PIECE_RESET:
		end_is_reset(stream, 1 - dir_end(dir), -ECONNRESET);
		break;
	}
	free(piece);
}

static void arrive_fire(struct m0_sim_timer *timer)
{
	struct m0_sim_stream_dir *dir = timer->simt_data;

	if (dir->ssd_silent || dir->ssd_way == NULL)
		return;
	/* One a turn; a notice may drop the stream's other pieces. */
	if (dir->ssd_way->sip_next != NULL)
		m0_sim_timer_arm(dir_sim(dir), timer,
				 dir->ssd_way->sip_next->sip_arrival,
				 arrive_fire);
	piece_arrive(dir);
}

/* -- writing --------------------------------------------------------------- */

size_t m0_sim_stream_room(const struct m0_sim_stream *stream, int end)
{
	const struct m0_sim_stream_dir *dir = &stream->sst_dir[end];
	uint64_t used = dir->ssd_written - dir->ssd_known_taken;
	size_t   window = stream->sst_cfg.ssc_window_bytes;

	return used >= window ? 0 : window - (size_t)used;
}

size_t m0_sim_stream_unsent(const struct m0_sim_stream *stream, int end)
{
	const struct m0_sim_stream_dir *dir = &stream->sst_dir[end];

	return (size_t)(dir->ssd_written - dir->ssd_known_arrived);
}

static size_t piece_size(struct m0_sim_stream *stream, size_t nr)
{
	size_t max = stream->sst_cfg.ssc_piece_bytes_max;

	if (max == 0)
		return min64u(nr, PIECE_BYTES);
	return min64u(nr, m0_sim__rand_in(&stream->sst_rand, 1, max));
}

static void bytes_go(struct m0_sim_stream *stream, int end,
		     const uint8_t *bytes, size_t nr)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[end];
	struct m0_sim_piece      *piece;
	size_t                    part;

	if (stream->sst_record != NULL)
		stream->sst_record(stream, end, bytes, nr);
	for (; nr > 0; nr -= part, bytes += part) {
		part = piece_size(stream, nr);
		piece = piece_go(dir, PIECE_BYTES_OF, part);
		memcpy(piece->sip_bytes, bytes, part);
		dir->ssd_written += part;
	}
}

ssize_t m0_sim_stream_write(struct m0_sim_stream *stream, int end,
			    const struct iovec *iov, unsigned iov_nr)
{
	size_t   room = m0_sim_stream_room(stream, end);
	size_t   done = 0;
	size_t   part;
	unsigned i;

	M0_PRE(end == 0 || end == 1);
	if (stream->sst_reset[end])
		return stream->sst_reset_status[end];
	if (stream->sst_dir[end].ssd_shut || stream->sst_gone[end])
		return -EPIPE;
	for (i = 0; i < iov_nr; ++i) {
		part = min64u(iov[i].iov_len, room - done);
		if (part > 0)
			bytes_go(stream, end, iov[i].iov_base, part);
		done += part;
		if (part < iov[i].iov_len) {
			stream->sst_dir[end].ssd_wants_room = true;
			break;
		}
	}
	return (ssize_t)done;
}

/* -- reading --------------------------------------------------------------- */

static void slow_fire(struct m0_sim_timer *timer)
{
	struct m0_sim_stream_dir *dir = timer->simt_data;

	notice(dir->ssd_stream, 1 - dir_end(dir));
}

static bool dir_is_slow(const struct m0_sim_stream_dir *dir)
{
	return dir->ssd_slow_bytes > 0 && dir_now(dir) < dir->ssd_slow_until;
}

static bool reset_is_read(const struct m0_sim_stream *stream, int end)
{
	return stream->sst_reset[end] && !stream->sst_ignores_reset[end];
}

bool m0_sim_stream_is_readable(const struct m0_sim_stream *stream, int end)
{
	const struct m0_sim_stream_dir *dir = &stream->sst_dir[1 - end];

	if (dir->ssd_come != NULL)
		return !dir_is_slow(dir);
	return dir->ssd_eof || reset_is_read(stream, end);
}

/* Takes bytes of the first piece that has come. */
static size_t come_take(struct m0_sim_stream_dir *dir, uint8_t *buf, size_t nr)
{
	struct m0_sim_piece *piece = dir->ssd_come;
	size_t               part;

	part = min64u(nr, piece->sip_nr - piece->sip_done);
	memcpy(buf, piece->sip_bytes + piece->sip_done, part);
	piece->sip_done += part;
	dir->ssd_taken += part;
	if (piece->sip_done == piece->sip_nr)
		free(piece_take(&dir->ssd_come, &dir->ssd_come_last));
	return part;
}

static void slow_pause(struct m0_sim_stream_dir *dir, size_t nr)
{
	if (dir->ssd_slow_bytes == 0)
		return;
	dir->ssd_slow_until = dir_now(dir) +
			      nr * M0_TIME_ONE_SECOND / dir->ssd_slow_bytes;
	m0_sim_timer_arm(dir_sim(dir), &dir->ssd_slow_timer,
			 dir->ssd_slow_until, slow_fire);
}

ssize_t m0_sim_stream_read(struct m0_sim_stream *stream, int end, void *buf,
			   size_t nr)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[1 - end];
	size_t                    done = 0;

	M0_PRE(end == 0 || end == 1);
	M0_PRE(nr > 0);
	if (dir->ssd_come == NULL) {
		if (reset_is_read(stream, end))
			return stream->sst_reset_status[end];
		return dir->ssd_eof ? 0 : -EAGAIN;
	}
	if (dir_is_slow(dir))
		return -EAGAIN;
	if (dir->ssd_slow_bytes > 0)
		nr = min64u(nr, SLOW_BYTES);
	while (done < nr && dir->ssd_come != NULL)
		done += come_take(dir, (uint8_t *)buf + done, nr - done);
	slow_pause(dir, done);
	ack_arm(dir);
	return (ssize_t)done;
}

/* -- ends and faults ------------------------------------------------------- */

void m0_sim_stream_shut(struct m0_sim_stream *stream, int end)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[end];

	if (dir->ssd_shut || stream->sst_gone[end] || stream->sst_reset[end])
		return;
	dir->ssd_shut = true;
	(void)piece_go(dir, PIECE_EOF, 0);
}

/* Drops what a leaving end has not sent at all. */
static void unsent_drop(struct m0_sim_stream_dir *dir)
{
	struct m0_sim_piece *keep = NULL;
	struct m0_sim_piece *last = NULL;
	struct m0_sim_piece *piece;

	while (dir->ssd_way != NULL) {
		piece = piece_take(&dir->ssd_way, &dir->ssd_way_last);
		if (piece->sip_left_at <= dir_now(dir) && !dir->ssd_silent)
			piece_add(&keep, &last, piece);
		else
			free(piece);
	}
	dir->ssd_way = keep;
	dir->ssd_way_last = last;
	dir->ssd_free_at = dir_now(dir);
	dir->ssd_arrival = last == NULL ? 0 : last->sip_arrival;
	if (keep == NULL)
		m0_sim_timer_cancel(dir_sim(dir), &dir->ssd_arrive_timer);
}

void m0_sim__stream_lose(struct m0_sim_stream *stream, int end)
{
	M0_PRE(stream->sst_dir[end].ssd_silent);
	unsent_drop(&stream->sst_dir[end]);
}

void m0_sim_stream_discard(struct m0_sim_stream *stream, int end)
{
	struct m0_sim_stream_dir *in = &stream->sst_dir[1 - end];

	pieces_drop(&in->ssd_come, &in->ssd_come_last);
	in->ssd_taken = in->ssd_arrived;
}

static void end_goes(struct m0_sim_stream *stream, int end)
{
	struct m0_sim_stream_dir *in = &stream->sst_dir[1 - end];

	stream->sst_gone[end] = true;
	m0_sim_timer_cancel(stream->sst_sim,
			    &stream->sst_dir[end].ssd_alive_timer);
	pieces_drop(&in->ssd_come, &in->ssd_come_last);
	m0_sim_timer_cancel(stream->sst_sim, &in->ssd_slow_timer);
}

void m0_sim_stream_reset(struct m0_sim_stream *stream, int end)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[end];

	if (stream->sst_gone[end])
		return;
	end_goes(stream, end);
	if (stream->sst_reset[end] || stream->sst_gone[1 - end])
		return;
	unsent_drop(dir);
	reset_go(dir);
}

void m0_sim_stream_close(struct m0_sim_stream *stream, int end)
{
	if (stream->sst_gone[end])
		return;
	if (stream->sst_dir[1 - end].ssd_come != NULL) {
		m0_sim_stream_reset(stream, end);
		return;
	}
	m0_sim_stream_shut(stream, end);
	end_goes(stream, end);
}

void m0_sim_stream_cut(struct m0_sim_stream *stream)
{
	end_is_reset(stream, 0, -ECONNRESET);
	end_is_reset(stream, 1, -ECONNRESET);
}

/* Resend what was not acknowledged, as TCP does. */
static void way_again(struct m0_sim_stream_dir *dir)
{
	struct m0_sim_piece *piece;
	m0_time_t            at;

	at = dir_now(dir) + dir->ssd_stream->sst_cfg.ssc_latency_ns;
	for (piece = dir->ssd_way; piece != NULL; piece = piece->sip_next)
		piece->sip_arrival = max64u(piece->sip_arrival, at);
	dir->ssd_arrival = max64u(dir->ssd_arrival, at);
	arrive_arm(dir);
}

void m0_sim_stream_silence(struct m0_sim_stream *stream, int end, bool silent)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[end];

	if (dir->ssd_silent == silent)
		return;
	dir->ssd_silent = silent;
	stream_trace(stream, end, silent ? "silent" : "mended");
	if (silent) {
		m0_sim_timer_cancel(stream->sst_sim, &dir->ssd_arrive_timer);
	} else {
		way_again(dir);
		ack_arm(dir_back(dir));
	}
}

void m0_sim_stream_ignore_reset(struct m0_sim_stream *stream, int end,
				bool ignores)
{
	stream->sst_ignores_reset[end] = ignores;
}

void m0_sim_stream_slow(struct m0_sim_stream *stream, int end,
			uint64_t bytes_per_s)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[1 - end];

	dir->ssd_slow_bytes = bytes_per_s;
	if (bytes_per_s == 0 && dir->ssd_slow_timer.simt_at != 0)
		m0_sim_timer_arm(stream->sst_sim, &dir->ssd_slow_timer,
				 dir_now(dir), slow_fire);
}

/* -- signs of life --------------------------------------------------------- */

static void alive_fire(struct m0_sim_timer *timer);

static void alive_arm(struct m0_sim_stream_dir *dir, m0_time_t at)
{
	m0_sim_timer_arm(dir_sim(dir), &dir->ssd_alive_timer, at, alive_fire);
}

/*
 * Send a keep-alive probe. In this model the probe and its answer take no time.
 */
static void alive_ask(struct m0_sim_stream_dir *dir)
{
	struct m0_sim_stream *stream = dir->ssd_stream;
	int                   end = dir_end(dir);

	if (dir->ssd_silent || dir_back(dir)->ssd_silent) {
		if (++dir->ssd_alive_asked_nr > dir->ssd_alive_nr)
			end_is_reset(stream, end, -ETIMEDOUT);
		else
			alive_arm(dir, dir_now(dir) + dir->ssd_alive_gap_ns);
		return;
	}
	if (stream->sst_gone[1 - end]) {
		end_is_reset(stream, end, -ECONNRESET);
		return;
	}
	dir->ssd_alive_asked_nr = 0;
	dir->ssd_heard_at = dir_now(dir);
	alive_arm(dir, dir->ssd_heard_at + dir->ssd_alive_idle_ns);
}

static void alive_fire(struct m0_sim_timer *timer)
{
	struct m0_sim_stream_dir *dir = timer->simt_data;
	m0_time_t at = dir->ssd_heard_at + dir->ssd_alive_idle_ns;

	if (dir->ssd_stream->sst_reset[dir_end(dir)])
		return;
	if (at > dir_now(dir)) {
		dir->ssd_alive_asked_nr = 0;
		alive_arm(dir, at);
	} else if (dir->ssd_written != dir->ssd_known_arrived) {
		/* While data is unacknowledged, TCP resends it instead of
		 * probing. */
		alive_arm(dir, dir_now(dir) + dir->ssd_alive_idle_ns);
	} else {
		alive_ask(dir);
	}
}

void m0_sim_stream_keepalive(struct m0_sim_stream *stream, int end,
			     m0_time_t idle_ns, m0_time_t gap_ns, unsigned nr)
{
	struct m0_sim_stream_dir *dir = &stream->sst_dir[end];

	dir->ssd_alive_idle_ns = idle_ns;
	dir->ssd_alive_gap_ns = gap_ns;
	dir->ssd_alive_nr = nr;
	dir->ssd_heard_at = dir_now(dir);
	alive_arm(dir, dir->ssd_heard_at + idle_ns);
}
