/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the files of this room: the streams of stream/stream.h as TCP
 * sockets.
 *
 *   tcp.c         the table and the passes
 *   tcp_stream.c  input and output of a stream
 *   tcp_dial.c    streams that are dialled
 *   listen.c      streams that are accepted
 *   end.c         the end of streams
 *   near*.c       streams between nodes of one host, without TCP
 *   lane.c        threads that move payloads
 *   tcp_lane.c    payloads that streams give to these threads
 *   tcp_link.c    the state of devices
 *   tcp_addr.c    addresses
 *   why.c         messages for users whose configuration does not work
 */
#ifndef M0_SRC_LND_TCP_TCP_INTERNAL_H
#define M0_SRC_LND_TCP_TCP_INTERNAL_H

#include <sys/socket.h>

#include "m0/lnd.h"
#include "loop/loop_reactor.h"
#include "os/os.h"
#include "reactor/host_addr.h"
#include "stream/stream.h"

enum {
	/** Read ahead at most, of all connections: one after the other. */
	M0_TCP_STAGING_BYTES = 64 << 10,
	/** Segments of one system call. */
	M0_TCP_IN_SEGS_MAX = 64,
	M0_TCP_OUT_SEGS_MAX = 256,
	/** As many passes as one that reads counts for. */
	M0_TCP_PASS_READ = 8,
	/** Bytes that one stream may move in a pass before others have a turn.
	 */
	M0_TCP_TURN_BYTES = 1 << 20,
	/** Most bytes of one call that writes to a connection with bbr. BBR
	 * counts segments, and underestimates a path whose full segments leave
	 * as fast as the call makes them. Then it holds segments back, and
	 * those that its timer releases do not leave before the call ends. The
	 * short segment that ends a call corrects the estimate, and a shorter
	 * call ends the wait. Other algorithms only lose by a second call.
	 */
	M0_TCP_CALL_BYTES = 640 << 10,
	M0_TCP_ACCEPTS_MAX = 16,
	/** Least rest of a payload for a lane. */
	M0_TCP_LANE_BYTES = 32 << 10,
	/** Where the last payload was for a lane, the strand reads no more than this
	 * along with the header of the next. */
	M0_TCP_LANE_HEAD_BYTES = 2048
};

/** Why a short read does not prove that a socket is empty. */
enum m0_tcp_ends {
	/** Its end, or an error, is near. */
	M0_TCP_ENDS = 1,
	/** The loop does not report input. */
	M0_TCP_ENDS_UNWATCHED = 2
};

struct m0_lanes;
struct m0_lane_job;

/** Threads that move payloads. */
struct m0_tcp_crew {
	/** NULL: none. */
	struct m0_lanes *tcw_lanes;
	/** The spin of the strand while they have nothing. */
	m0_time_t tcw_spin_ns;
	bool      tcw_is_calm;
};

/** Parts of a stream that lanes have. */
struct m0_tcp_lent {
	/** Jobs that read and that write; NULL: none. */
	struct m0_lane_job *tle_in;
	struct m0_lane_job *tle_out;
	/** The lane that had the last one. */
	unsigned tle_lane;
	/** Events of enum m0_loop_event that the loop does not report. */
	unsigned tle_masked;
	/** The payload before was for a lane. */
	bool tle_expects;
};

/** A descriptor from which a pass takes something: connections of peers, or
 * changes of devices. */
struct m0_tcp_listener {
	struct m0_loop_fd          tcl_fd;
	struct m0_tcp_io          *tcl_io;
	struct m0_stream_listener *tcl_listener;
	/** Takes one; removes it from tci_callers when nothing is left. */
	void (*tcl_take)(struct m0_tcp_listener *listener);
	/** A socket of sic_listen_fds: connections that nobody has accepted are for
	 * the next one who takes it. */
	bool tcl_is_handed;
	/** The Unix socket beside it, for nodes of this host; NULL: none. */
	struct m0_tcp_listener *tcl_near;
	struct m0_list_link     tcl_all;
	struct m0_list_link     tcl_callers;
};

struct m0_tcp_io {
	struct m0_streams        tci_streams;
	struct m0_reactor_source tci_source;
	struct m0_streams_cfg    tci_cfg;
	struct m0_loop_reactor  *tci_reactor;
	/** Streams that have something to read, or whose dial has ended. */
	struct m0_list tci_ready;
	/** Streams whose reading has ended, by tcs_ready, until that is reported. */
	struct m0_list tci_ended;
	/** Streams that have something to write and may. */
	struct m0_list tci_out;
	/** All streams; all listeners. */
	struct m0_list tci_all;
	struct m0_list tci_listeners;
	/** Streams with a pipe to a node of this host; nea_link. */
	struct m0_list tci_nears;
	unsigned       tci_nears_nr;
	/** Accepted, and have not introduced themselves, the oldest first; nea_link. */
	struct m0_list tci_greeting;
	unsigned       tci_greeting_nr;
	/** This node has notified their peers that it sleeps. */
	bool tci_nears_sleep;
	/** Regions of peers that are mapped. */
	unsigned tci_maps_nr;
	/** Wakes the node when memory goes back to the system; m0_os_regions_gone() when
	 * the regions lent to peers were looked at. */
	struct m0_os_region_watch tci_watch;
	uint64_t                  tci_gone;
	/** Streams in all. */
	unsigned tci_all_nr;
	/** Streams with bytes to be taken before the next look. */
	struct m0_list tci_seen;
	/** Listeners whose sockets have connections to accept. */
	struct m0_list tci_callers;
	/** Addresses whose devices are watched, and the socket that reports
	 * changes of devices; lof_fd is -1 until the first is watched. */
	struct m0_list         tci_watches;
	struct m0_tcp_listener tci_links;
	/** The one that calls are being made up for; NULL once it is gone. */
	struct m0_tcp_stream *tci_current;
	/** The stream that was read last, to be tried first. */
	struct m0_tcp_stream *tci_hot;
	/** Passes since epoll was asked; tries of the last stream since one
	 * brought something. */
	unsigned tci_passes_nr;
	unsigned tci_misses_nr;
	/** Reads of the last stream in a row. */
	unsigned tci_hits_nr;
	/** When epoll was asked, others than the last stream had something. */
	bool tci_others;
	/** Streams that wait for room to write. */
	unsigned             tci_full_nr;
	struct m0_host_ports tci_ports;
	/** No more sockets to be had: nobody is accepted before this. */
	m0_time_t tci_pause_until;
	m0_time_t tci_pause_ns;
	m0_time_t tci_now;
	/** Value of lre_asks_nr at the last pass. */
	unsigned           tci_asks_nr;
	struct m0_tcp_crew tci_crew;
	/** Memory for bytes that wait, which no stream uses now; NULL: there is
	 * none. There is some from the start, as large as what is read ahead, so
	 * the first stream that waits allocates nothing. */
	uint8_t *tci_spare;
	size_t   tci_spare_bytes;
	/** Read ahead; before it, what went to a wrong place. */
	uint8_t tci_staging[M0_STREAM_AGAIN_BYTES_MAX + M0_TCP_STAGING_BYTES];
};

struct m0_tcp_stream {
	struct m0_loop_fd   tcs_fd;
	struct m0_stream    tcs_stream;
	struct m0_tcp_io   *tcs_io;
	struct m0_list_link tcs_all;
	/** A pipe to a node of this host (near_internal.h); the descriptor is that
	 * of a Unix socket. NULL: TCP. */
	struct m0_near     *tcs_near;
	struct m0_list_link tcs_ready;
	struct m0_list_link tcs_out;
	struct m0_list_link tcs_seen;
	/** Not connected yet. */
	bool tcs_dials;
	/** The socket has bbr, so one call writes M0_TCP_CALL_BYTES at most. */
	bool tcs_has_bbr;
	/** Bits of enum m0_tcp_ends: short reads prove nothing. */
	uint8_t tcs_ends;
	/** The connection wants no bytes until sto_in. */
	bool tcs_in_paused;
	/** Epoll does not watch it: the last stream alone. */
	bool tcs_unwatched;
	/** The kernel takes no bytes until it reports space. */
	bool tcs_out_full;
	/** Reads in a row that brought little, with nothing written since. */
	uint8_t tcs_little_nr;
	/** Bytes that were looked at and given, but lie in the socket still. */
	size_t tcs_seen_nr;
	/** Why writing has failed; what has come is read still. */
	int tcs_out_rc;
	/** Why reading has ended, on tci_ended. */
	int tcs_in_rc;
	/** Bytes the connection has not taken yet: [at, nr) of kept. */
	uint8_t *tcs_kept;
	size_t   tcs_kept_at;
	size_t   tcs_kept_nr;
	size_t   tcs_kept_max;
	/** Address to which the socket is bound. */
	struct m0_host_addr tcs_local;
	struct m0_tcp_lent  tcs_lent;
};

/** The table of the host; tests use it directly. */
extern const struct m0_host_ops m0_tcp__host_ops;
/** Has nodes use it. A program does it before main(). */
void m0_tcp__install(void);

static inline struct m0_tcp_io *m0_tcp__io(struct m0_streams *streams)
{
	return container_of(streams, struct m0_tcp_io, tci_streams);
}

static inline struct m0_tcp_stream *m0_tcp__stream(struct m0_stream *stream)
{
	return container_of(stream, struct m0_tcp_stream, tcs_stream);
}

/** The loop in which the descriptors are watched. */
static inline struct m0_loop *m0_tcp__loop(struct m0_tcp_io *io)
{
	return &io->tci_reactor->lre_loop;
}

static inline bool m0_tcp__io_invariant(const struct m0_tcp_io *io)
{
	return io->tci_reactor != NULL && io->tci_streams.sts_ops != NULL &&
	       (io->tci_hot == NULL || io->tci_hot->tcs_io == io) &&
	       (io->tci_current == NULL || io->tci_current->tcs_io == io);
}

static inline bool m0_tcp__stream_invariant(const struct m0_tcp_stream *stream)
{
	return stream->tcs_io != NULL && stream->tcs_fd.lof_fd >= 0 &&
	       stream->tcs_stream.stm_counts != NULL &&
	       (stream->tcs_kept == NULL ||
		stream->tcs_kept_at <= stream->tcs_kept_nr) &&
	       (!stream->tcs_unwatched || stream->tcs_io->tci_hot == stream);
}

/* -- tcp_stream.c ---------------------------------------------------------- */

/**
 * Makes a stream of a socket, and has it watched. It owns the socket then.
 * @return NULL: no memory, or epoll's limits.
 */
struct m0_tcp_stream *m0_tcp__stream_new(struct m0_tcp_io *io, int fd,
					 bool dials);
/** Resets the connection and frees the stream. */
/** @param reset  as of sto_hangup. */
void m0_tcp__stream_free(struct m0_tcp_stream *stream, bool reset);
/** Reads, and calls up. @return true if there may be more at once. */
bool m0_tcp__stream_in(struct m0_tcp_stream *stream);
/** Takes what was only looked at from its socket. @retval <0  not all of it. */
int m0_tcp__seen_take(struct m0_tcp_stream *stream);
/** Writes, and calls up. @return true if there may be more at once. */
bool m0_tcp__stream_out(struct m0_tcp_stream *stream);
/** There is something to write: it has its turn at the next flush. */
void m0_tcp__stream_out_add(struct m0_tcp_stream *stream);
/** There may be something to read: it has its turn at the next pass. */
void m0_tcp__stream_in_add(struct m0_tcp_stream *stream);
/** Epoll need not watch the last stream: it is tried in each pass. */
void m0_tcp__hot_unwatch(struct m0_tcp_io *io);
/** Watch the stream (again). If that fails, its end is near. */
void m0_tcp__stream_watch(struct m0_tcp_stream *stream);
/** There is no last stream any more. */
void m0_tcp__hot_leave(struct m0_tcp_io *io);
/** The kernel, or a lane, takes no bytes of the strand until it says so. */
void m0_tcp__full_set(struct m0_tcp_stream *stream, bool full);
/** Writing is over, for this reason. */
void m0_tcp__out_failed(struct m0_tcp_stream *stream, int rc);
/** `nr` bytes that were lent are where the connection wanted them.
 * @return false: it is gone. */
bool m0_tcp__in_direct(struct m0_tcp_stream *stream, size_t nr);
/** Nothing was read, and this is why. */
void m0_tcp__in_ended(struct m0_tcp_stream *stream, ssize_t nr);
/** Bytes that the peer has not acknowledged. */
size_t m0_tcp__unsent(struct m0_streams *streams, struct m0_stream *stream);
/** Ends the stream, and reports the end. */
void m0_tcp__stream_broken(struct m0_tcp_stream *stream, int status);

/* -- tcp_lane.c ------------------------------------------------------------ */

/** Starts the lanes of the configuration. */
int  m0_tcp__lanes_start(struct m0_tcp_io *io);
void m0_tcp__lanes_stop(struct m0_tcp_io *io);
/**
 * Lends the plan of a read to a lane.
 * @return false: the strand reads, less if it is better so.
 */
bool m0_tcp__lane_in(struct m0_tcp_stream *stream, struct iovec *iov,
		     unsigned *nr, size_t *bytes);
/** Lends the plan of a write to a lane. @return false: the strand writes. */
bool m0_tcp__lane_out(struct m0_tcp_stream *stream, const struct iovec *iov,
		      unsigned nr, size_t bytes);
/** Takes what lanes have given back, and calls up. */
void m0_tcp__lanes_back(struct m0_tcp_io *io);
/** Takes back what lanes have of a stream. */
void m0_tcp__lane_recall(struct m0_tcp_stream *stream);
/** The loop reports `events` again, of enum m0_loop_event. */
void m0_tcp__lane_unmask(struct m0_tcp_stream *stream, unsigned events);

static inline bool m0_tcp__is_in_lent(const struct m0_tcp_stream *stream)
{
	return stream->tcs_lent.tle_in != NULL;
}

static inline bool m0_tcp__is_out_lent(const struct m0_tcp_stream *stream)
{
	return stream->tcs_lent.tle_out != NULL;
}

/* -- tcp_dial.c, listen.c -------------------------------------------------- */

int m0_tcp__dial(struct m0_streams *streams, void *user,
		 const struct m0_host_addr *from, uint16_t port_min,
		 uint16_t port_max, const struct m0_host_addr *to,
		 struct m0_stream **ret, char *why);
/**
 * The dial of a stream has ended, one way or the other: calls up.
 * @retval false  the stream is gone.
 */
bool m0_tcp__dial_end(struct m0_tcp_stream *stream);

int  m0_tcp__listen(struct m0_streams *io, struct m0_stream_listener *listener,
		    char *why);
void m0_tcp__unlisten(struct m0_streams         *io,
		      struct m0_stream_listener *listener);
/** The system has no more files: takes nothing from listeners for a while. */
void m0_tcp__accept_pause(struct m0_tcp_io *io, int rc);
/** Handler of a listener that has something. */
void m0_tcp__listener_event(struct m0_loop_fd *fd, unsigned events);
void m0_tcp__links_init(struct m0_tcp_io *io);
void m0_tcp__links_fini(struct m0_tcp_io *io);
void m0_tcp__watch(struct m0_streams *streams, struct m0_stream_watch *watch);
void m0_tcp__unwatch(struct m0_streams *streams, struct m0_stream_watch *watch);
/** Accepts some of the waiting connections, and calls up. */
void m0_tcp__accept(struct m0_tcp_io *io);

/**
 * Makes a socket with the options that all of ours have; those of a listener
 * are inherited by what it accepts.
 * @return it, or a negative errno.
 */
int m0_tcp__socket(const struct m0_streams_cfg *cfg,
		   const struct m0_host_addr   *addr);
/**
 * Gives reno to a socket that connects, or is connected, to an address of this
 * host, unless the configuration names another congestion control. A route that
 * locks its own overrides this, before or after.
 */
void m0_tcp__near_set(const struct m0_streams_cfg *cfg, int fd,
		      const struct m0_host_addr *remote);
/** Does a socket that is connected have bbr, of whatever version? */
bool m0_tcp__has_bbr(int fd);

/* -- end.c ----------------------------------------------------------------- */

/**
 * Ends a connection and closes its socket; never blocks.
 * @param reset  as of sto_hangup.
 */
void m0_tcp__fd_end(int fd, bool reset);

/* -- tcp_pipe.c ------------------------------------------------------------ */

/** sto_pipe_new. */
struct m0_lnd_pipe *m0_tcp__pipe_new(struct m0_streams *streams,
				     uint64_t           bytes);
/** Moves up to `nr` bytes from a socket to a pipe. @return as recv, or a negative
 * errno; -EAGAIN: the socket is empty, or the pipe is full. */
ssize_t m0_tcp__pipe_in(struct m0_lnd_pipe *pipe, int fd, size_t nr);
/** Moves up to `nr` of its bytes from a pipe to a socket. @return bytes, or a
 * negative errno. */
ssize_t m0_tcp__pipe_out(struct m0_lnd_pipe *pipe, int fd, size_t nr);

/* -- tcp_addr.c ------------------------------------------------------------ */

/** Reads the address to which a socket is bound. */
int m0_tcp__addr_bound(int fd, struct m0_host_addr *ret);
/** Is it an address of this host? */
bool m0_tcp__addr_is_near(const struct m0_host_addr *addr);

enum {
	M0_TCP_TEXT_BYTES = 64
};
/** As text, without the port. @return buf. */
const char *m0_tcp__addr_text(const struct m0_host_addr *addr,
			      char buf[M0_TCP_TEXT_BYTES]);
int         m0_tcp__ifaces(struct m0_host_iface *ifaces, unsigned max);

/* -- why.c: into M0_LND_WHY_BYTES ------------------------------------------ */

/** Where the kernel's files are looked for: "", or a test's own place. */
extern const char *m0_tcp__root;
/** See hso_nid_taken. What cannot be read is not known: false. */
bool m0_tcp__kernel_has_nid(const char *nid, char *why);
/** Listening at `addr` has failed with `rc`. */
void m0_tcp__why_listen(char *why, const struct m0_streams_cfg *cfg,
			const struct m0_host_addr *addr, int rc);
/** No connection to `to` can be made from `from`. */
void m0_tcp__why_dial(char *why, const struct m0_streams_cfg *cfg,
		      const struct m0_host_addr *from, uint16_t port_min,
		      uint16_t port_max, const struct m0_host_addr *to, int rc);

#endif /* M0_SRC_LND_TCP_TCP_INTERNAL_H */
