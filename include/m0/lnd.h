/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For authors of LNet drivers (LNDs): how the engine and a driver speak.
 *
 * A driver serves the interfaces (NIs) of one type of network. It moves whole
 * LNet messages: a header, which the engine encodes and decodes, and a payload,
 * for which the engine names the memory. The driver knows how to frame them, how
 * to reach a peer and when a peer is lost.
 *
 * Everything here runs on one strand, that of the node, with no lock held. Down
 * calls (m0_lnd_ops) never call up on the same stack; a driver calls up
 * (m0_lnd_up_ops) only from its ldo_step, or when the room below it (sockets,
 * links of the simulator) brings it something. Up calls may call down.
 */
#ifndef M0_LND_H
#define M0_LND_H

#include "m0/base.h"
#include "m0/lnet_nid.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_lnd_ni;

enum {
	M0_LND_HDR_BYTES_MAX = 96,
	/** A header with a driver's framing before it. */
	M0_LND_HEAD_BYTES_MAX = 128,
	/** Segments of one payload. */
	M0_LND_SEGS_MAX = 256
};

/**
 * How a message ended, for whoever chooses paths by their health. The driver
 * tells the class with the errno.
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
 * `lpy_vec` stays valid until the message is done.
 */
struct m0_lnd_payload {
	const struct m0_bufvec *lpy_vec;
	m0_bcount_t             lpy_offset;
	m0_bcount_t             lpy_bytes;
};

/**
 * A message to be sent; embedded in the engine's. The driver owns it from
 * ldo_xmit to lu_tx_done.
 */
struct m0_lnd_tx {
	/** The driver's, to queue by. */
	struct m0_list_link ltx_link;
	/** The next hop: a peer on the NI's network, and its pid. */
	struct m0_lnet_nid    ltx_nid;
	uint32_t              ltx_pid;
	struct m0_lnd_payload ltx_payload;
	/** Fails with -ETIMEDOUT if it has not begun to leave by then. */
	m0_time_t ltx_deadline;
	/** It answers a message that has come: whom it is for is what that
	 * says, so it may be anybody. */
	bool ltx_is_answer;
	/** The driver's: what it needs for a message, framing included. Not
	 * set before ldo_xmit, which gets a message again that is sent again.
	 */
	void    *ltx_priv[2];
	uint64_t ltx_word[2];
	uint8_t  ltx_head[M0_LND_HEAD_BYTES_MAX];
};

/**
 * A message that comes in; embedded in whatever of the driver reads it. The
 * engine's from a successful lu_rx_begin to lu_rx_done.
 */
struct m0_lnd_rx {
	/** Driver: who sent it, as the connection knows him. */
	struct m0_lnet_nid lr_nid;
	uint32_t           lr_pid;
	/** Engine: where the first bytes of the payload go; lpy_vec may be NULL
	 * with 0 bytes. */
	struct m0_lnd_payload lr_payload;
	/** Engine: bytes after them, to be read and thrown away. */
	m0_bcount_t lr_discard_bytes;
	/** Engine: set at any time: throw away all that is still to come. */
	bool lr_cancelled;
	/** The engine's. */
	void *lr_priv;
	/** The engine's: 0 when a header is offered for the first time, and
	 * kept as it is while that is put off. */
	uint64_t lr_mark;
	/** The engine's, of lazy portals; likewise. */
	uint64_t lr_lazy;
	/** The engine's, of fault rules; likewise. */
	uint64_t  lr_faults;
	m0_time_t lr_held_until;
};

/** What an interface is, and what a driver keeps count of. */
struct m0_lnd_ni {
	/** Engine: identity and limits. */
	struct m0_lnet_nid ldn_nid;
	/** Name of the device, "" if unknown. */
	char ldn_device[16];
	/** Same on all connections of this start of the node. */
	uint64_t ldn_incarnation;
	unsigned ldn_peer_credits;
	unsigned ldn_credits;
	/** Driver: the interface works. Its changes go up with lu_ni_status. */
	bool                        ldn_up;
	void                       *ldn_priv;
	struct m0_lnd              *ldn_lnd;
	const struct m0_lnd_up_ops *ldn_ops;
	/** The engine's. */
	void *ldn_engine;
};

/** From the driver to the engine. */
struct m0_lnd_up_ops {
	/**
	 * Puts the header of a message that is about to leave.
	 * @param large  the 96-byte form.
	 * @return bytes put; 0: it cannot be told in the small form, so end it
	 *         with -EAFNOSUPPORT.
	 */
	size_t (*lu_tx_header)(struct m0_lnd_tx *tx, bool large,
			       uint8_t buf[M0_LND_HDR_BYTES_MAX]);
	/**
	 * The message has left (the wire has it all and, where that was asked,
	 * the peer said so), or never will. Exactly once for each ldo_xmit.
	 * @param status  0 or a negative errno.
	 */
	void (*lu_tx_done)(struct m0_lnd_tx *tx, int status,
			   enum m0_lnd_health health);
	/**
	 * A header has come.
	 * @param rx     lr_nid and lr_pid are set.
	 * @param bytes  72, or 96 if `large`; valid during the call.
	 * @retval 0        payload goes where lr_payload says, then
	 *                  lr_discard_bytes are thrown away, then lu_rx_done.
	 * @retval -EAGAIN  not now, with the same `rx`: ask again from ldo_step, soon; until then
	 *                  read nothing more of this connection.
	 * @retval -EPROTO  the peer broke the rules: close, lu_rx_done is not
	 *                  called. Why was logged and counted.
	 */
	int (*lu_rx_begin)(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
			   const void *bytes, bool large);
	/**
	 * All of it is there, or (status < 0) the rest will not come. Exactly
	 * once for each lu_rx_begin that returned 0.
	 */
	void (*lu_rx_done)(struct m0_lnd_rx *rx, int status,
			   enum m0_lnd_health health);
	/**
	 * Before a header has come: would its payload have a place already?
	 * Bytes that a driver reads along with the header may go there, to be
	 * moved if it was another message: `ret` is memory of which nothing is
	 * promised before the answer to a request of ours is there, for all of
	 * that answer. It is the driver's until lu_rx_guessed, or the next call
	 * up or return.
	 * @param rx   lr_nid is set.
	 * @param ret  lpy_bytes 0: none.
	 */
	void (*lu_rx_guess)(struct m0_lnd_ni *ni, const struct m0_lnd_rx *rx,
			    struct m0_lnd_payload *ret);
	/**
	 * It has come.
	 * @return true: it is what was guessed. The next call up is
	 *         lu_rx_begin, which then has its payload, if any of it, in
	 *         that place, is as long as that, and is not put off. False:
	 *         what was read there is to be moved before any call up.
	 */
	bool (*lu_rx_guessed)(struct m0_lnd_ni *ni, const void *bytes,
			      bool large);
	/**
	 * The last connection to a peer was lost, or could not be made.
	 * @param status  why; 0: there is another one by now, but what the peer
	 *                was to say to what had left may not come any more.
	 */
	void (*lu_peer_down)(struct m0_lnd_ni         *ni,
			     const struct m0_lnet_nid *nid, uint32_t pid,
			     int status);
	/** ldn_up has changed. */
	void (*lu_ni_status)(struct m0_lnd_ni *ni);
	/** ldo_ni_stop has finished: nothing more comes of this NI. */
	void (*lu_ni_stopped)(struct m0_lnd_ni *ni);
};

/** Counters of a driver's NI, for ldo_ni_info. */
struct m0_lnd_ni_info {
	uint64_t ldi_connections_nr;
	uint64_t ldi_accepted_nr;
	uint64_t ldi_dialled_nr;
	/** By what was wrong: bad magic or version, bad field, refused. */
	uint64_t ldi_bad_peers_nr;
	uint64_t ldi_refused_nr;
	uint64_t ldi_lost_nr;
	/** Payload bytes that went straight into, and by copy to, their place.
	 */
	uint64_t ldi_direct_bytes;
	uint64_t ldi_copied_bytes;
	/** System calls that read, and that wrote. */
	uint64_t ldi_read_calls_nr;
	uint64_t ldi_write_calls_nr;
};

struct m0_lnd_ops {
	const char *ldo_name;
	/** M0_LNET_TYPE_...: what nets it serves. */
	uint8_t ldo_type;
	/**
	 * Serves an interface from now on.
	 * @param ret_why  room for M0_LND_WHY_BYTES: on failure, what and how to
	 *                 mend it, one or more lines.
	 */
	int (*ldo_ni_start)(struct m0_lnd *lnd, struct m0_lnd_ni *ni,
			    char *ret_why);
	/**
	 * Ends every message (-ECANCELED, -ENETDOWN) and connection, refuses
	 * new ones; then lu_ni_stopped.
	 */
	void (*ldo_ni_stop)(struct m0_lnd_ni *ni);
	void (*ldo_xmit)(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx);
	/**
	 * Ends the message soon with -ECANCELED if none of it has left;
	 * otherwise it ends as it would have, within a time that the driver
	 * states, whatever the peer does.
	 */
	void (*ldo_tx_cancel)(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx);
	/**
	 * Does what is pending: expired timers, messages put off, output.
	 * Called in each pass, after ldo_xmit and after bytes were read.
	 * @return next deadline; 0: there is more to do at once.
	 */
	m0_time_t (*ldo_step)(struct m0_lnd *lnd, m0_time_t now);
	/** Closes what is open to a peer; NULL: to all. Counted as lost. */
	void (*ldo_peer_drop)(struct m0_lnd_ni         *ni,
			      const struct m0_lnet_nid *nid);
	void (*ldo_ni_info)(const struct m0_lnd_ni *ni,
			    struct m0_lnd_ni_info  *info);
	/** Frees the driver. No NI is left. */
	void (*ldo_fini)(struct m0_lnd *lnd);
};
enum {
	M0_LND_WHY_BYTES = 1024
};

/** A driver's instance: one for each node and type. Embedded in its own. */
struct m0_lnd {
	const struct m0_lnd_ops *ld_ops;
};

#ifdef __cplusplus
}
#endif

#endif /* M0_LND_H */
