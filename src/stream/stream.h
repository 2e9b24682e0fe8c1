/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The contract of byte streams: listen, dial, in, out, close.
 *
 * A provider (sockets, the simulator, or a layer that encrypts the streams of
 * another provider) moves bytes straight between a stream and the memory of its
 * user. The provider asks the user where the next bytes go and reports how many
 * have arrived; it asks which bytes to write next and reports how many it has
 * taken:
 *
 *     in:   stu_in_where  -> bytes are read ->  stu_in_arrived
 *     out:  stu_out_what  -> bytes are written -> stu_out_left
 *
 * A provider whose peer copies from the memory of the user calls stu_out_passed
 * when the peer may do so, and stu_out_left when it has.
 *
 * Streams are a source of a reactor (reactor.h): the provider calls up from the
 * passes and flushes of that reactor, never from a call down. All calls are on
 * the strand of the reactor's node.
 */
#ifndef M0_SRC_STREAM_STREAM_H
#define M0_SRC_STREAM_STREAM_H

#include <sys/uio.h>

#include "reactor/host_ops.h"
#include "reactor/reactor.h"

struct m0_lnd_pipe;
struct m0_stream_listener;

/** A local address whose device the provider watches. The user's, which sets
 * swa_addr; the provider sets the rest. */
struct m0_stream_watch {
	struct m0_host_addr swa_addr;
	/** A device that is up, and whose link is, has the address. */
	bool                swa_is_up;
	struct m0_list_link swa_link;
};

enum {
	/** Most bytes that stu_in_arrived may ask the provider to move. */
	M0_STREAM_AGAIN_BYTES_MAX = (64 << 10) + 128,
	M0_STREAM_LISTEN_FDS_MAX = 16
};

struct m0_streams_cfg {
	/** "" and 0: the defaults of the system. */
	char     sic_congestion[16];
	unsigned sic_sndbuf_bytes;
	unsigned sic_rcvbuf_bytes;
	/** Streams to nodes of this host take another way than through the network,
	 * if both sides have one. */
	bool sic_same_host;
	/** Directory in which such nodes find each other; "": the namespace of the network. */
	char sic_same_host_dir[44];
	/** A node of this host that connects that way and does not introduce itself is
	 * dropped after so long; 0: never. */
	m0_time_t sic_accept_timeout_ns;
	/** Threads that move large payloads of users with stu_in_lend and
	 * stu_out_lend; 0 or 1: none, the node's strand moves all bytes. Their
	 * processors, as a list; NULL or "": any. */
	unsigned    sic_lanes_nr;
	const char *sic_lane_cpus;
	/** Sockets that listen already; they remain the caller's. */
	int      sic_listen_fds[M0_STREAM_LISTEN_FDS_MAX];
	unsigned sic_listen_fds_nr;
};

/** System calls that read, and that wrote. */
struct m0_stream_counts {
	uint64_t stc_reads_nr;
	uint64_t stc_writes_nr;
	/** Bytes that came from a node of this host through shared memory, and that
	 * were copied from where that node had them. */
	uint64_t stc_ring_bytes;
	uint64_t stc_offer_bytes;
	/** Copied from a region of that node which this process has mapped. */
	uint64_t stc_region_bytes;
	/** Bytes of either direction that lanes have moved. */
	uint64_t stc_lane_bytes;
};

/** A stream. The provider embeds it in its own object. */
struct m0_stream {
	/** Set by the provider: what the calls up are about. */
	void *stm_user;
	/** Set by the provider to sts_counts; the user may redirect it. */
	struct m0_stream_counts *stm_counts;
	/** Set by the provider before the stream is open: it does not go through
	 * the network; it does, although its peer is a node of this host. */
	bool stm_is_near;
	bool stm_fell_back;
	/** Set by the user in stu_in_where, NULL before: the provider may put
	 * the next bytes into this pipe instead, as many as the segments have.
	 * The provider counts them in lnp_bytes before stu_in_arrived. */
	struct m0_lnd_pipe *stm_in_pipe;
	/** Set by the user in stu_out_what, NULL before: after the segments,
	 * stm_out_nr (at least 1) bytes leave from this pipe. The provider
	 * writes them when there are no segments, and counts them in lnp_gone
	 * before stu_out_left. Never for a stream that is near. */
	struct m0_lnd_pipe *stm_out_pipe;
	uint64_t            stm_out_nr;
};

/** An address at which peers can connect. The user's; the provider sets
 * slr_priv. */
struct m0_stream_listener {
	struct m0_host_addr slr_addr;
	void               *slr_priv;
};

struct m0_streams;

/** Calls from the provider to the user. */
struct m0_streams_up {
	/**
	 * A peer has connected to a listener.
	 * @return the user's object, for stm_user; NULL: not wanted (bounds,
	 *         source port): the provider ends the stream in order.
	 */
	void *(*stu_accepted)(void *owner, struct m0_stream_listener *listener,
			      const struct m0_host_addr *local,
			      const struct m0_host_addr *remote,
			      struct m0_stream          *stream);
	/** A dial has succeeded. */
	void (*stu_dialled)(void *user, const struct m0_host_addr *local);
	/**
	 * The stream has ended: status 0 if the peer has ended it between bytes,
	 * else a negative errno; also a dial that failed. The stream is gone:
	 * the user does not call sto_hangup for it.
	 */
	void (*stu_broken)(void *user, int status);
	/**
	 * Asks where the next bytes of the peer go.
	 * @param iov        room for `max` (at least 1) segments.
	 * @param ret_ahead  how many bytes more the provider may read along with
	 *                   them, for stu_in_bytes.
	 * @return segments set; 0: read nothing now, sto_in will be called.
	 */
	unsigned (*stu_in_where)(void *user, struct iovec *iov, unsigned max,
				 size_t *ret_ahead);
	/**
	 * `nr` bytes are where stu_in_where wanted them, and no other call was
	 * made for this stream since.
	 * @retval >0  all of them, `nr`, at most M0_STREAM_AGAIN_BYTES_MAX, are
	 *             in the wrong place: copy them away, then pass them to
	 *             stu_in_bytes.
	 * @retval <0  the user has hung up: forget the stream.
	 */
	int (*stu_in_arrived)(void *user, size_t nr);
	/**
	 * `nr` bytes have arrived and are elsewhere: the user copies them.
	 * @return bytes taken, fewer if the user must pause: pass the rest again
	 *         before anything else is read.
	 * @retval <0  as above.
	 */
	ssize_t (*stu_in_bytes)(void *user, const void *bytes, size_t nr);
	/**
	 * Asks which bytes to write next, as many as fit.
	 * @return segments set; 0: nothing.
	 */
	unsigned (*stu_out_what)(void *user, struct iovec *iov, unsigned max);
	/** The stream has taken `nr` bytes of them, those that were passed before
	 * others. @retval <0  as above. */
	int (*stu_out_left)(void *user, size_t nr);
	/**
	 * `nr` bytes of them are on their way, and their memory must not change
	 * until stu_out_left reports them too. stu_out_what continues behind them.
	 */
	void (*stu_out_passed)(void *user, size_t nr);
	/**
	 * May another thread read into the memory of the last stu_in_where, while
	 * the strand does other things? Until stu_in_arrived, stu_broken, or the
	 * return of sto_hangup, the user keeps this memory as it is, and the provider
	 * makes no other call about bytes that come. NULL: never.
	 */
	bool (*stu_in_lend)(void *user);
	/**
	 * Another thread writes the bytes of the last stu_out_what, so that
	 * the user takes none of them back until it is called with `lends` false,
	 * which stu_out_left follows at once if any have left. stu_broken and
	 * sto_hangup end it, too. NULL: the strand writes all bytes.
	 */
	void (*stu_out_lend)(void *user, bool lends);
	/** swa_is_up has changed. */
	void (*stu_watched)(void *owner, struct m0_stream_watch *watch);
};

/** Calls from the user to the provider. */
struct m0_streams_ops {
	/** Ends all streams and listeners, and frees the provider's object. */
	void (*sto_destroy)(struct m0_streams *streams);
	/**
	 * @param why  buffer of M0_LND_WHY_BYTES: on failure, what is wrong and
	 *             how to correct it: for a port that needs a privilege
	 *             CAP_NET_BIND_SERVICE, the sysctl, what accept=all on
	 *             peers would change; for one that the kernel's LNet has
	 *             taken that, and the remedies.
	 */
	int (*sto_listen)(struct m0_streams         *streams,
			  struct m0_stream_listener *listener, char *why);
	void (*sto_unlisten)(struct m0_streams         *streams,
			     struct m0_stream_listener *listener);
	/**
	 * Begins to connect from local address `from` and a port of
	 * [port_min, port_max], tried downwards (0, 0: any), to `to`.
	 * stu_dialled or stu_broken follows, from a pass.
	 * @param user    for stm_user.
	 * @param why     as above. @retval <0  no call follows.
	 */
	int (*sto_dial)(struct m0_streams *streams, void *user,
			const struct m0_host_addr *from, uint16_t port_min,
			uint16_t port_max, const struct m0_host_addr *to,
			struct m0_stream **ret, char *why);
	/** There is something to write; idempotent. */
	void (*sto_out)(struct m0_streams *streams, struct m0_stream *stream);
	/** The user takes bytes again. */
	void (*sto_in)(struct m0_streams *streams, struct m0_stream *stream);
	/**
	 * Ends and forgets the stream; no more calls up for it. The peer
	 * receives what was written and then the end of the stream; or with
	 * `reset` only a reset, and nothing is kept for it.
	 */
	void (*sto_hangup)(struct m0_streams *streams, struct m0_stream *stream,
			   bool reset);
	/** Returns how many bytes were written that the peer has not
	 * acknowledged; may be 0. */
	size_t (*sto_unsent)(struct m0_streams *streams,
			     struct m0_stream  *stream);
	/** Makes a pipe for payloads of up to `bytes` (m0/lnd.h); NULL: there is
	 * none now. sto_pipe_new NULL: the provider has no pipes. */
	struct m0_lnd_pipe *(*sto_pipe_new)(struct m0_streams *streams,
					    uint64_t           bytes);
	/**
	 * Watches the device that has an address, and sets swa_is_up; to true if the
	 * provider cannot find the device. NULL, as sto_unwatch: the provider
	 * watches none.
	 */
	void (*sto_watch)(struct m0_streams      *streams,
			  struct m0_stream_watch *watch);
	void (*sto_unwatch)(struct m0_streams      *streams,
			    struct m0_stream_watch *watch);
	/**
	 * When it returns, no other thread reads into the memory of the last
	 * stu_in_where. If one did, stu_in_arrived follows from a pass, with the
	 * bytes that have come. NULL: there are no other threads.
	 */
	void (*sto_in_recall)(struct m0_streams *streams,
			      struct m0_stream  *stream);
};

/** The streams of one user; embedded in the provider's object. */
struct m0_streams {
	const struct m0_streams_ops *sts_ops;
	struct m0_reactor           *sts_reactor;
	/** Set by the user, before it listens or dials. */
	const struct m0_streams_up *sts_up;
	/** Set by the user: for stu_accepted. */
	void *sts_owner;
	/** Most streams, by the limits of the system; 0: any number. */
	unsigned sts_max;
	/** For streams whose user does not count. */
	struct m0_stream_counts sts_counts;
};

#endif /* M0_SRC_STREAM_STREAM_H */
