/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * For authors of LNet drivers (LNDs): the interface between the engine and a
 * driver.
 *
 * A driver serves the interfaces (NIs) of one type of network. It moves whole
 * LNet messages: a header, which the engine encodes and decodes, and a payload,
 * in memory that the engine chooses. The driver frames them, connects to peers,
 * and detects that a peer is lost.
 *
 * Everything here runs on one strand, that of the node, with no lock held. Down
 * calls (m0_lnd_ops) never call up on the same stack. A driver calls up
 * (m0_lnd_up_ops) only from its ldo_step, or when the layer below it (sockets,
 * links of the simulator) delivers something. Up calls may call down.
 */
#ifndef M0_LND_H
#define M0_LND_H

#include "m0/base.h"
#include "m0/lnet_nid.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_lnd_ni;
struct m0_lnd_pipe;
struct m0_lnd_rx;

enum {
	M0_LND_HDR_BYTES_MAX = 96,
	/** A header preceded by the framing of a driver. */
	M0_LND_HEAD_BYTES_MAX = 128,
	/** Most segments of one payload. */
	M0_LND_SEGS_MAX = 256,
	M0_LND_RX_WORDS = 4
};

/**
 * How a message completed, to choose paths by their health. The driver reports
 * this class together with the errno.
 */
enum m0_lnd_health {
	M0_LND_OK,
	M0_LND_LOCAL_INTERRUPT,
	M0_LND_LOCAL_DROPPED,
	M0_LND_LOCAL_ABORTED,
	M0_LND_LOCAL_NO_ROUTE,
	M0_LND_LOCAL_ERROR,
	M0_LND_LOCAL_TIMEOUT,
	M0_LND_REMOTE_ERROR,
	M0_LND_REMOTE_DROPPED,
	M0_LND_REMOTE_TIMEOUT,
	M0_LND_NETWORK_TIMEOUT
};

/**
 * Memory of a payload: bytes [lpy_offset, lpy_offset + lpy_bytes) of a vector.
 * `lpy_vec` stays valid until the message has completed.
 */
struct m0_lnd_payload {
	const struct m0_bufvec *lpy_vec;
	m0_bcount_t             lpy_offset;
	m0_bcount_t             lpy_bytes;
	/** Region that the buffers of the vector are offsets of; 0: the whole
	 * address space of the process, so the buffers are addresses. */
	uint32_t lpy_region;
};

struct m0_lnd_pipe_ops {
	/**
	 * Moves what is in the pipe to its place in the memory of the payload.
	 * All of the payload is memory from then on (lnp_bytes is 0), and
	 * nothing more is put into the pipe.
	 * @retval <0  those bytes are lost.
	 */
	int (*lpx_flush)(struct m0_lnd_pipe          *pipe,
			 const struct m0_lnd_payload *payload);
	/** Frees the pipe, and discards what is in it. */
	void (*lpx_free)(struct m0_lnd_pipe *pipe);
};

/**
 * A pipe of the system, through which a part of a payload passes from one
 * connection to another without being copied to the memory of the payload. The
 * driver embeds it in its own object; it is valid until lpx_free, also without
 * the driver.
 */
struct m0_lnd_pipe {
	const struct m0_lnd_pipe_ops *lnp_ops;
	/** Bytes [lnp_at, lnp_at + lnp_bytes) of the payload were put into the
	 * pipe; the others are in memory. */
	m0_bcount_t lnp_at;
	m0_bcount_t lnp_bytes;
	/** The first of these bytes, which have left the pipe. */
	m0_bcount_t lnp_gone;
	/** Nothing more is put into the pipe. */
	bool lnp_closed;
};

/**
 * A message that comes in, embedded in the driver's object that reads it. The
 * engine owns it from a successful lu_rx_begin to lu_rx_done.
 */
struct m0_lnd_rx {
	/** Set by the driver: sender, as identified by the connection. */
	struct m0_lnet_nid lr_nid;
	uint32_t           lr_pid;
	/** Set by the engine: memory for the first bytes of the payload;
	 * lpy_vec may be NULL if lpy_bytes is 0. */
	struct m0_lnd_payload lr_payload;
	/** Set by the engine: number of bytes after them, which the driver
	 * reads and discards. */
	m0_bcount_t lr_discard_bytes;
	/** Set by the engine, at any time, before ldo_rx_cancel: discard
	 * everything that is still to come. */
	bool lr_cancelled;
	/** Set by the driver after lu_rx_begin, which clears it: a peer may write to
	 * the memory of lr_payload until lu_rx_done, which follows in bounded time
	 * after lr_cancelled. The engine keeps the memory until then. */
	bool lr_offered;
	/** Set by the engine in lu_rx_begin, if the driver has ldo_rx_release:
	 * the message is a GET whose REPLY will name this object (ltx_answers).
	 * The driver keeps the object until ldo_rx_release. */
	bool lr_kept;
	/** Set by the engine in lu_rx_begin if the NI has ldn_splices; NULL
	 * before: the driver may put one contiguous part of the payload into
	 * this pipe. The engine sets it to NULL with lr_cancelled. */
	struct m0_lnd_pipe *lr_pipe;
	/** Set by the engine in lu_rx_begin; false before: the driver calls
	 * lu_rx_more while the payload arrives, if it can. */
	bool lr_reports;
	/** For the engine. */
	void *lr_priv;
	/** For the engine: 0 when the driver offers a header for the first
	 * time; the driver does not change them while lu_rx_begin puts that
	 * header off. */
	uint64_t lr_words[M0_LND_RX_WORDS];
};

/**
 * A message to send, embedded in a message of the engine. The driver owns it
 * from ldo_xmit to lu_tx_done.
 */
struct m0_lnd_tx {
	/** For the driver's queues. */
	struct m0_list_link ltx_link;
	/** The next hop: a peer on the NI's network, and its pid. */
	struct m0_lnet_nid    ltx_nid;
	uint32_t              ltx_pid;
	struct m0_lnd_payload ltx_payload;
	/** The first bytes of the payload that are there; all of them unless
	 * the NI has ldn_grows. The engine sets more of them before
	 * ldo_tx_more. */
	m0_bcount_t ltx_there;
	/** The message fails with -ETIMEDOUT if the driver has not started to
	 * send it by then. */
	m0_time_t ltx_deadline;
	/** The message answers one that came in. A peer chose its target, which
	 * may be any node. */
	bool ltx_is_answer;
	/** A GET: memory for the payload of its REPLY, valid until that has
	 * arrived or the driver has completed the GET with an error. NULL:
	 * another message. */
	const struct m0_lnd_payload *ltx_sink;
	/** A REPLY: the GET that it answers, if the driver keeps those
	 * (lr_kept). NULL: another message. */
	struct m0_lnd_rx *ltx_answers;
	/** A part of the payload is in this pipe; NULL: none is. Only for an NI
	 * with ldn_splices. */
	struct m0_lnd_pipe *ltx_pipe;
	/** For the driver: its state of the message, framing included.
	 * Undefined before ldo_xmit, also when the engine passes a message to
	 * ldo_xmit again to resend it. */
	void    *ltx_priv[2];
	uint64_t ltx_word[2];
	union {
		uint8_t ltx_head[M0_LND_HEAD_BYTES_MAX];
		/** For a driver that delivers messages within the node. */
		struct m0_lnd_rx ltx_rx;
	};
};

/** Memory that the application has registered. */
struct m0_lnd_mem {
	void  *lme_addr;
	size_t lme_bytes;
	/** The region's number, from 1, for lpy_region. */
	uint32_t lme_region;
};

/** An interface (NI): its identity, limits and state. */
struct m0_lnd_ni {
	/** Set by the engine: identity and limits. */
	struct m0_lnet_nid ldn_nid;
	/** Name of the device, "" if unknown. */
	char ldn_device[16];
	/** Constant on all connections until the node restarts. */
	uint64_t ldn_incarnation;
	unsigned ldn_peer_credits;
	unsigned ldn_credits;
	/** Set by the owner before ldo_ni_start, valid as long as the driver:
	 * options of the network for the driver, "name=value name=value", which
	 * the parser of its row has accepted. NULL: none. */
	const char *ldn_options;
	/** Set by the driver: the interface works. The driver reports changes
	 * by lu_ni_status. */
	bool ldn_up;
	/** Set by the driver in ldo_ni_start: it takes a message of which only
	 * a part of the payload is there (ltx_there), and has ldo_tx_more and
	 * ldo_tx_abort. */
	bool ldn_grows;
	/** Set by the driver in ldo_ni_start: it has ldo_pipe_new, and takes
	 * lr_pipe and ltx_pipe. */
	bool ldn_splices;
	/** Set by the driver in ldo_ni_start: how long a peer may make no
	 * progress, which bounds how long a router keeps a message that is to
	 * leave by this interface. 0: the driver has no such time. */
	uint64_t                    ldn_timeout_ns;
	void                       *ldn_priv;
	struct m0_lnd              *ldn_lnd;
	const struct m0_lnd_up_ops *ldn_ops;
	/** For the engine. */
	void *ldn_engine;
};

/**
 * Calls of drivers over byte streams, which may read the payload of the next
 * message together with its header, before they know what it is.
 */
struct m0_lnd_guess_ops {
	/**
	 * Before a header has arrived: returns memory into which the driver may
	 * read the payload together with the header. If another message arrives
	 * instead, the driver moves the payload away. `ret` is memory of a
	 * request of this node whose answer is outstanding; its content is
	 * undefined until then, and it has space for the whole answer. The
	 * driver may use it until lgu_guessed, or until it makes another up
	 * call or returns.
	 * @param rx   lr_nid is set.
	 * @param ret  lpy_bytes 0: there is no such memory.
	 */
	void (*lgu_guess)(struct m0_lnd_ni *ni, const struct m0_lnd_rx *rx,
			  struct m0_lnd_payload *ret);
	/**
	 * The header has arrived.
	 * @return true: it is the message that lgu_guess expected. The driver
	 *         calls lu_rx_begin next, which accepts the message at once,
	 *         with a payload of the same length in the same memory, or
	 *         discards it. False: the driver moves the payload that it read
	 *         there before it calls up.
	 */
	bool (*lgu_guessed)(struct m0_lnd_ni *ni, const void *bytes,
			    bool large);
};

/** Calls from the driver to the engine. */
struct m0_lnd_up_ops {
	/**
	 * Encodes the header of a message that is about to leave.
	 * @param large  use the 96-byte form.
	 * @return bytes written; 0: the small form cannot represent the header;
	 *         the driver completes the message with -EAFNOSUPPORT.
	 */
	size_t (*lu_tx_header)(struct m0_lnd_tx *tx, bool large,
			       uint8_t buf[M0_LND_HDR_BYTES_MAX]);
	/**
	 * The driver has sent the message (the network has all of it and, if an
	 * acknowledgement was requested, the peer has sent it), or cannot.
	 * Exactly once for each ldo_xmit.
	 * @param status  0 or a negative errno.
	 */
	void (*lu_tx_done)(struct m0_lnd_tx *tx, int status,
			   enum m0_lnd_health health);
	/**
	 * A header has arrived.
	 * @param rx     lr_nid and lr_pid are set.
	 * @param bytes  72, or 96 if `large`; valid during the call.
	 * @retval 0        the driver reads the payload to lr_payload, discards
	 *                  the next lr_discard_bytes, and then calls
	 *                  lu_rx_done.
	 * @retval -EAGAIN  not now. The driver offers the header again from
	 *                  ldo_step, soon and with the same `rx`; until then it
	 *                  reads nothing more of this connection.
	 * @retval -EPROTO  the peer violated the protocol. The driver closes
	 *                  the connection and does not call lu_rx_done. The
	 *                  engine has logged and counted the reason.
	 */
	int (*lu_rx_begin)(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
			   const void *bytes, bool large);
	/**
	 * The first `bytes` of the payload are in their memory, and more of it
	 * is to come. Only for a message with lr_reports, each time with more
	 * bytes than before. A driver whose messages end with a check of their
	 * content does not report those that it checks.
	 */
	void (*lu_rx_more)(struct m0_lnd_rx *rx, m0_bcount_t bytes);
	/**
	 * The message is complete, or (status < 0) the rest will not come.
	 * Exactly once for each lu_rx_begin that returned 0.
	 */
	void (*lu_rx_done)(struct m0_lnd_rx *rx, int status,
			   enum m0_lnd_health health);
	/**
	 * The last connection to a peer was lost, or the driver could not make
	 * one.
	 * @param status  the reason; 0: a new connection exists already, but
	 *                the peer's responses to messages sent before may be
	 *                lost.
	 */
	void (*lu_peer_down)(struct m0_lnd_ni         *ni,
			     const struct m0_lnet_nid *nid, uint32_t pid,
			     int status);
	/** ldn_up has changed. */
	void (*lu_ni_status)(struct m0_lnd_ni *ni);
	/** ldo_ni_stop has finished: the driver makes no more calls for this
	 * NI. */
	void (*lu_ni_stopped)(struct m0_lnd_ni *ni);
	/** NULL: the engine does not guess. */
	const struct m0_lnd_guess_ops *lu_guess;
};

/** Counters and tunables of a driver's NI, for ldo_ni_info. */
struct m0_lnd_ni_info {
	uint64_t ldi_connections_nr;
	uint64_t ldi_accepted_nr;
	uint64_t ldi_dialled_nr;
	/** Connections that failed for a bad magic, version or field, and ones
	 * that were refused. */
	uint64_t ldi_bad_peers_nr;
	uint64_t ldi_refused_nr;
	uint64_t ldi_lost_nr;
	/** Payload bytes read directly into their memory, and copied to it. */
	uint64_t ldi_direct_bytes;
	uint64_t ldi_copied_bytes;
	/** System calls that read, and system calls that wrote. */
	uint64_t ldi_read_calls_nr;
	uint64_t ldi_write_calls_nr;
	/** Open connections to nodes of this host that do not go through the network;
	 * connections over the network that were made to such nodes although the
	 * configuration asks for the former. */
	uint64_t ldi_near_nr;
	uint64_t ldi_fell_back_nr;
	/** Bytes received from nodes of this host: through shared memory, and copied
	 * from where the sender had them. Of 0@lo: copied by attached processes;
	 * ldi_fell_back_nr are those that they have tried in vain. */
	uint64_t ldi_ring_bytes;
	uint64_t ldi_offer_bytes;
	/** Copied from a region of that node which this process has mapped. */
	uint64_t ldi_region_bytes;
	/** Bytes of payloads, sent or received, that the driver's own threads have
	 * moved. */
	uint64_t ldi_lane_bytes;
	/** Tunables in effect: connections of each bulk type to a peer, and how
	 * long a peer may make no progress. 0: the driver has no such. */
	unsigned ldi_conns_per_peer;
	uint64_t ldi_timeout_ms;
	/** More tunables: time between keep-alives, 0 for never, and the back-off
	 * after a failed connection. */
	uint64_t ldi_keepalive_ms;
	uint64_t ldi_reconnect_min_ms;
	uint64_t ldi_reconnect_max_ms;
	/** Tunables of fabrics: type of service plus 1, 0 for that of the system; the
	 * exponent of the time that the device waits for an acknowledgement, 0
	 * for that of the system; 1 if GETs name their memory; and the port of
	 * the network, on which the driver listens and to which it connects. */
	unsigned ldi_tos_plus_1;
	unsigned ldi_ack_timeout;
	unsigned ldi_get_req;
	unsigned ldi_service;
};

struct m0_lnd_ops {
	const char *ldo_name;
	/** M0_LNET_TYPE_...: type of the nets that the driver serves. */
	uint8_t ldo_type;
	/**
	 * Serves an interface from now on.
	 * @param ret_why  buffer of M0_LND_WHY_BYTES: on failure, what is wrong
	 *                 and how to correct it, in one or more lines.
	 */
	int (*ldo_ni_start)(struct m0_lnd *lnd, struct m0_lnd_ni *ni,
			    char *ret_why);
	/**
	 * Completes every message (-ECANCELED, -ENETDOWN), ends every
	 * connection and refuses new ones; then, when the engine has released
	 * every kept GET, calls lu_ni_stopped.
	 */
	void (*ldo_ni_stop)(struct m0_lnd_ni *ni);
	void (*ldo_xmit)(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx);
	/**
	 * Completes the message soon with -ECANCELED if none of it has left.
	 * Otherwise the message completes as it would have, within a time that
	 * the driver documents, whatever the peer does.
	 */
	void (*ldo_tx_cancel)(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx);
	/**
	 * More of the payload of a message is there: ltx_there has grown, up to
	 * all of it. The driver begins no other message on a connection while it
	 * waits for the rest of one. NULL, as ldo_tx_abort: the driver does not
	 * set ldn_grows.
	 */
	void (*ldo_tx_more)(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx);
	/**
	 * The rest of the payload will not come. The driver completes the message
	 * soon with `status`. If some of it has left, the driver closes the
	 * connection, because a part of a message cannot be taken back; other
	 * messages take other connections.
	 */
	void (*ldo_tx_abort)(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx,
			     int status);
	/**
	 * Does the pending work: expired timers, messages put off, output. The
	 * engine calls it in each pass, after ldo_xmit and after bytes were
	 * read.
	 * @return next deadline; 0: there is more to do at once.
	 */
	m0_time_t (*ldo_step)(struct m0_lnd *lnd, m0_time_t now);
	/** Closes all connections to a peer; NULL: to all peers. The driver
	 * counts them as lost. */
	void (*ldo_peer_drop)(struct m0_lnd_ni         *ni,
			      const struct m0_lnet_nid *nid);
	void (*ldo_ni_info)(const struct m0_lnd_ni *ni,
			    struct m0_lnd_ni_info  *info);
	/**
	 * The application has registered memory, of which messages may move
	 * payload from now on. Once for each region; a driver that cannot
	 * register the region copies. NULL, as ldo_mem_del: the driver has no
	 * use for regions.
	 * @param mem  valid until ldo_mem_del.
	 */
	void (*ldo_mem_add)(struct m0_lnd *lnd, const struct m0_lnd_mem *mem);
	/** No message uses the memory, and the application may have returned it to
	 * the system already. Comes before messages that use what is at the same
	 * addresses later. */
	void (*ldo_mem_del)(struct m0_lnd *lnd, const struct m0_lnd_mem *mem);
	/**
	 * The REPLY to a GET with lr_kept has completed, or there will be none.
	 * Exactly once for each such GET, later than lu_rx_begin. NULL: the
	 * driver keeps no GETs.
	 */
	void (*ldo_rx_release)(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx);
	/** Makes a pipe for payloads of up to `bytes`. NULL: the system has none
	 * now. ldo_pipe_new itself may be NULL without ldn_splices. */
	struct m0_lnd_pipe *(*ldo_pipe_new)(struct m0_lnd *lnd,
					    m0_bcount_t    bytes);
	/**
	 * The engine has set lr_cancelled. When this call returns, nothing writes to
	 * the memory of the payload. The driver makes no call from it. NULL: the
	 * driver writes there only on the node's strand.
	 */
	void (*ldo_rx_cancel)(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx);
	/** Frees the driver. Pre: it has no NI. */
	void (*ldo_fini)(struct m0_lnd *lnd);
};
enum {
	M0_LND_WHY_BYTES = 768
};

/** An instance of a driver: one for each node and type. The driver embeds it in
 * its own object. */
struct m0_lnd {
	const struct m0_lnd_ops *ld_ops;
};

#ifdef __cplusplus
}
#endif

#endif /* M0_LND_H */
