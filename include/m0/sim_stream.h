/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A stream of bytes of the simulator, like a TCP connection. It has two ends;
 * in each direction it delivers bytes in order, and loses none while it lives.
 *
 * Bytes leave at the rate of the direction, travel for the latency plus jitter,
 * and arrive in pieces drawn from the seed. A window bounds the bytes written
 * and not yet read by the other end, so a slow reader stops a writer. A
 * direction can be silenced: its bytes vanish and neither end is notified. If
 * it is restored before an end times out, they arrive after all, as TCP resends
 * them.
 *
 * Each direction is identified by the end that writes. Every call is allowed
 * from anywhere, also from a step, a timer or a notice.
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
	/** Bytes per second; 0: no limit. */
	uint64_t  ssc_rate_bytes;
	m0_time_t ssc_latency_ns;
	/**
	 * Added to the latency of each piece, uniform from 0; order is kept.
	 */
	m0_time_t ssc_jitter_ns;
	/** Most bytes written and not yet read; 0: 256 KiB. */
	size_t ssc_window_bytes;
	/** Pieces have 1 to this many bytes, drawn; 0: always 64 KiB. */
	size_t ssc_piece_bytes_max;
};

/** One direction. Private. */
struct m0_sim_stream_dir {
	bool ssd_silent;
	/** The writer has written end of file. */
	bool ssd_shut;
	/** The reader has read everything, or the stream was reset. */
	bool ssd_eof;
	/** A write was incomplete: notify the writer when there is space. */
	bool ssd_wants_room;
	/** Bytes so far: written, arrived, read; and how many of the last two
	 * the writer knows of. */
	uint64_t ssd_written;
	uint64_t ssd_arrived;
	uint64_t ssd_taken;
	uint64_t ssd_known_arrived;
	uint64_t ssd_known_taken;
	/** Time at which the last piece has left, and latest arrival. */
	m0_time_t            ssd_free_at;
	m0_time_t            ssd_arrival;
	struct m0_sim_piece *ssd_way;
	struct m0_sim_piece *ssd_way_last;
	struct m0_sim_piece *ssd_come;
	struct m0_sim_piece *ssd_come_last;
	/** Slow reader: bytes per second (0: not slow), and when it reads
	 * again. */
	uint64_t            ssd_slow_bytes;
	m0_time_t           ssd_slow_until;
	struct m0_sim_timer ssd_arrive_timer;
	struct m0_sim_timer ssd_ack_timer;
	struct m0_sim_timer ssd_slow_timer;
	/** Keep-alive probes of the writer; idle 0: none. */
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
	/** The end is closed: it answers bytes that arrive with a reset. */
	bool sst_gone[2];
	/** The end knows that the stream was reset, and with which status. */
	bool sst_reset[2];
	int  sst_reset_status[2];
	/** Set by m0_sim_stream_ignore_reset(). */
	bool sst_ignores_reset[2];
	/**
	 * Something has changed for `end`: it has bytes to read, or space to
	 * write. Runs as a timer does. There may be calls without a change.
	 */
	void (*sst_notice)(struct m0_sim_stream *stream, int end);
	/**
	 * Optional: called with the bytes as they are written, to record them.
	 */
	void (*sst_record)(struct m0_sim_stream *stream, int end,
			   const void *bytes, size_t nr);
	/** For the owner. */
	void *sst_data;
};

/** @param name  for the narration; kept by pointer. */
void m0_sim_stream_init(struct m0_sim_stream *stream, struct m0_sim *sim,
			const char *name, const struct m0_sim_stream_cfg *cfg,
			void (*notice)(struct m0_sim_stream *stream, int end));
/** Finalises a stream. Drops the bytes in flight. */
void m0_sim_stream_fini(struct m0_sim_stream *stream);

/**
 * Writes as many bytes as fit, in the order of the segments.
 * @return bytes written; if there are fewer than given (also 0), the window is
 *         full, and a notice follows when there is space.
 * @retval -ECONNRESET  the other end reset the stream.
 * @retval -EPIPE       after shut or close.
 */
ssize_t m0_sim_stream_write(struct m0_sim_stream *stream, int end,
			    const struct iovec *iov, unsigned iov_nr);
/**
 * Reads bytes that have arrived.
 * @retval 0            end of file.
 * @retval -EAGAIN      nothing to read now.
 * @retval -ECONNRESET  the other end reset the stream, and all that arrived
 *                      before was read.
 * @retval -ETIMEDOUT   m0_sim_stream_keepalive() reset the stream.
 */
ssize_t m0_sim_stream_read(struct m0_sim_stream *stream, int end, void *buf,
			   size_t nr);
/** True if a read would return something other than -EAGAIN. */
bool m0_sim_stream_is_readable(const struct m0_sim_stream *stream, int end);
/** Number of bytes that `end` can write now. */
size_t m0_sim_stream_room(const struct m0_sim_stream *stream, int end);
/** Number of bytes written, and not known to have arrived. */
size_t m0_sim_stream_unsent(const struct m0_sim_stream *stream, int end);

/** `end` writes no more; end of file follows its bytes. Idempotent. */
void m0_sim_stream_shut(struct m0_sim_stream *stream, int end);
/**
 * Closes `end`, as close() does: end of file follows its bytes, or a reset if
 * it leaves bytes unread. It answers bytes that arrive later with a reset.
 */
void m0_sim_stream_close(struct m0_sim_stream *stream, int end);
/**
 * Drops bytes that arrived and were not read, so that a close does not reset.
 */
void m0_sim_stream_discard(struct m0_sim_stream *stream, int end);
/**
 * Closes `end` with a reset; bytes that have not left it are lost. Idempotent.
 */
void m0_sim_stream_reset(struct m0_sim_stream *stream, int end);
/** Resets the stream at both ends at once, as a firewall may do. */
void m0_sim_stream_cut(struct m0_sim_stream *stream);
/** Silences the direction from `end`, so that its bytes vanish in flight; or
 * restores it, and all of them arrive. */
void m0_sim_stream_silence(struct m0_sim_stream *stream, int end, bool silent);
/**
 * Sets TCP's keep-alive. `end` sends a probe when it has received nothing for
 * `idle_ns`, and then one every `gap_ns`. After `nr` probes without an answer,
 * the stream is reset for `end`, with -ETIMEDOUT.
 */
void m0_sim_stream_keepalive(struct m0_sim_stream *stream, int end,
			     m0_time_t idle_ns, m0_time_t gap_ns, unsigned nr);
/**
 * Makes `end` ignore a reset while it reads, as a Lustre node does: a read
 * finds nothing (or the end of file that came before the reset), and the next
 * write fails.
 */
void m0_sim_stream_ignore_reset(struct m0_sim_stream *stream, int end,
				bool ignores);
/** Makes `end` read at most `bytes_per_s` from now on; 0: no limit. */
void m0_sim_stream_slow(struct m0_sim_stream *stream, int end,
			uint64_t bytes_per_s);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_STREAM_H */
