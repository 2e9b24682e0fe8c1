/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A stream of bytes of the simulator, as TCP makes them: two ends, in each
 * direction bytes in order, none lost while the stream lives.
 *
 * Bytes that are written leave at the rate of the direction, travel latency
 * plus jitter, and come in pieces drawn from the seed. What was written and not
 * yet read by the other end is held within a window, so a writer is stopped by
 * a slow reader. A direction can fall silent: bytes vanish on the way without a
 * notice to anybody, and come after all (as TCP sends them again) if it is
 * mended before somebody gives up.
 *
 * Each direction is named by the end that writes. All calls from anywhere, also
 * from a step, a timer or a notice.
 */
#ifndef M0_SIM_STREAM_H
#define M0_SIM_STREAM_H

#include <sys/uio.h>

#include "m0/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_sim_stream;
struct m0_sim_piece;

struct m0_sim_stream_cfg {
	/** Bytes a second; 0: no limit. */
	uint64_t  ssc_rate_bytes;
	m0_time_t ssc_latency_ns;
	/** Added to the latency of each piece, uniform from 0; order stays. */
	m0_time_t ssc_jitter_ns;
	/** Written and not yet read; 0: 256 KiB. */
	size_t ssc_window_bytes;
	/** Pieces are of 1 to so many bytes, drawn; 0: of 64 KiB, not drawn. */
	size_t ssc_piece_bytes_max;
};

/** One direction. Private. */
struct m0_sim_stream_dir {
	bool ssd_silent;
	/** End of file was written. */
	bool ssd_shut;
	/** The reader has all of it, or it was reset. */
	bool ssd_eof;
	/** A write was cut short: tell the writer when there is room. */
	bool ssd_wants_room;
	/** Bytes so far: written, arrived, read; and what of the last two the
	 * writer knows. */
	uint64_t ssd_written;
	uint64_t ssd_arrived;
	uint64_t ssd_taken;
	uint64_t ssd_known_arrived;
	uint64_t ssd_known_taken;
	/** When the last piece has left, and the latest arrival. */
	m0_time_t            ssd_free_at;
	m0_time_t            ssd_arrival;
	struct m0_sim_piece *ssd_way;
	struct m0_sim_piece *ssd_way_last;
	struct m0_sim_piece *ssd_come;
	struct m0_sim_piece *ssd_come_last;
	/** Slow reader: bytes a second (0: not slow), when he reads again. */
	uint64_t            ssd_slow_bytes;
	m0_time_t           ssd_slow_until;
	struct m0_sim_timer ssd_arrive_timer;
	struct m0_sim_timer ssd_ack_timer;
	struct m0_sim_timer ssd_slow_timer;
	/** Signs of life that the writer asks for; idle 0: none. */
	m0_time_t             ssd_alive_idle_ns;
	m0_time_t             ssd_alive_gap_ns;
	unsigned              ssd_alive_nr;
	unsigned              ssd_alive_asked_nr;
	m0_time_t             ssd_heard_at;
	struct m0_sim_timer   ssd_alive_timer;
	struct m0_sim_stream *ssd_stream;
};

struct m0_sim_stream {
	struct m0_sim           *sst_sim;
	const char              *sst_name;
	struct m0_sim_stream_cfg sst_cfg;
	struct m0_sim_rand       sst_rand;
	struct m0_sim_stream_dir sst_dir[2];
	/** Nobody is there any more: what comes is answered with a reset. */
	bool sst_gone[2];
	/** The end has been told that the stream was reset, and how. */
	bool sst_reset[2];
	int  sst_reset_status[2];
	/** m0_sim_stream_ignore_reset(). */
	bool sst_ignores_reset[2];
	/**
	 * Something has changed for `end`: there is something to read, or room
	 * to write again. Runs as a timer does. May be called for nothing.
	 */
	void (*sst_notice)(struct m0_sim_stream *stream, int end);
	/** Optional: bytes as they are written, for records. */
	void (*sst_record)(struct m0_sim_stream *stream, int end,
			   const void *bytes, size_t nr);
	/** The owner's. */
	void *sst_data;
};

/** @param name  for the narration; kept by pointer. */
void m0_sim_stream_init(struct m0_sim_stream *stream, struct m0_sim *sim,
			const char *name, const struct m0_sim_stream_cfg *cfg,
			void (*notice)(struct m0_sim_stream *stream, int end));
/** Drops what is on its way. */
void m0_sim_stream_fini(struct m0_sim_stream *stream);

/**
 * Writes what fits, in order of the segments.
 * @return bytes taken; fewer than there are, also 0: the window is full, a
 *         notice comes when there is room.
 * @retval -ECONNRESET  by the other end. @retval -EPIPE  after shut or close.
 */
ssize_t m0_sim_stream_write(struct m0_sim_stream *stream, int end,
			    const struct iovec *iov, unsigned iov_nr);
/**
 * Reads what has come.
 * @retval 0            end of file. @retval -EAGAIN  nothing now.
 * @retval -ECONNRESET  by the other end, all that came before being read.
 * @retval -ETIMEDOUT   by m0_sim_stream_keepalive().
 */
ssize_t m0_sim_stream_read(struct m0_sim_stream *stream, int end, void *buf,
			   size_t nr);
/** Would a read return something other than -EAGAIN? */
bool m0_sim_stream_is_readable(const struct m0_sim_stream *stream, int end);
/** Bytes that can be written now. */
size_t m0_sim_stream_room(const struct m0_sim_stream *stream, int end);
/** Written, and not known to have arrived. */
size_t m0_sim_stream_unsent(const struct m0_sim_stream *stream, int end);

/** `end` writes no more: end of file comes after its bytes. Idempotent. */
void m0_sim_stream_shut(struct m0_sim_stream *stream, int end);
/**
 * `end` leaves, as close() does: end of file after its bytes, or a reset if it
 * leaves bytes unread; what comes later is answered with a reset.
 */
void m0_sim_stream_close(struct m0_sim_stream *stream, int end);
/** Drops what has come and was not read, so that a close is not a reset. */
void m0_sim_stream_discard(struct m0_sim_stream *stream, int end);
/** `end` leaves with a reset; what has not left it is lost. Idempotent. */
void m0_sim_stream_reset(struct m0_sim_stream *stream, int end);
/** Resets the stream at both ends at once, as an unlucky firewall does. */
void m0_sim_stream_cut(struct m0_sim_stream *stream);
/** What `end` writes vanishes on its way, or comes again, all of it. */
void m0_sim_stream_silence(struct m0_sim_stream *stream, int end, bool silent);
/**
 * `end` asks for a sign of life when it has heard nothing for `idle_ns`, and
 * then each `gap_ns`; `nr` without an answer and the stream is reset for it,
 * with -ETIMEDOUT; TCP's keep-alive.
 */
void m0_sim_stream_keepalive(struct m0_sim_stream *stream, int end,
			     m0_time_t idle_ns, m0_time_t gap_ns, unsigned nr);
/**
 * `end` does not notice a reset while it reads, as a Lustre node does not: a
 * read finds nothing (or the end of file that came before the reset), and the
 * next write fails.
 */
void m0_sim_stream_ignore_reset(struct m0_sim_stream *stream, int end,
				bool ignores);
/** `end` reads at most so many bytes a second from now on; 0: no limit. */
void m0_sim_stream_slow(struct m0_sim_stream *stream, int end,
			uint64_t bytes_per_s);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_STREAM_H */
