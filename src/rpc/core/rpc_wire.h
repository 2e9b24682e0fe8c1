/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Layout of a packet of the RPC layer, with the only encoder and decoder.
 * Numbers are little-endian. Everything begins at a multiple of 8 bytes from
 * the packet's beginning and is padded with zeroes to the next.
 *
 * Prefix, 16 bytes, the same in every version:
 *
 *	 0  u32  magic         "m0rp"
 *	 4  u32  sum           CRC-32C of all that follows, to the end
 *	 8  u16  version       1; 0: a refusal
 *	10  u16  flags         none is known: 0
 *	12  u32  bytes         of the packet, this prefix included
 *
 * Version 0, 24 bytes, says "I do not speak the version that you sent":
 *
 *	16  u16  lowest        version that the sender speaks
 *	18  u16  highest
 *	20  u32  0
 *
 * Version 1, 56 bytes, then the items, one behind the other to the end:
 *
 *	16  u32  items         1 or more
 *	20  u32  epoch         of the sender's configuration, as its
 *	                       application has set it; 0: none (version 0.1 of
 *	                       the library sends 0 and refuses other values)
 *	24  u64  life          of the sender as a client, as the server has named
 *	                       it in CONN_ESTABLISH_REPLY; else 0
 *	32  u64  sender, high  the machine's rc_uuid
 *	40  u64  sender, low
 *	48  u64  incarnation   the machine's rc_incarnation
 *
 * Item, 48 bytes, then its body, padded:
 *
 *	 0  u32  opcode        not 0
 *	 4  u16  flags         enum m0_rpc_wire_flags, exactly one kind
 *	 6  u8   priority      enum m0_rpc_item_priority
 *	 7  u8   0
 *	 8  u32  size          bytes of the body
 *	12  u32  stream        1...; 0: none
 *	16  u64  session       numbered by the client
 *	24  u64  xid           1... in each stream, and in the session's others
 *	32  u64  ack           requests below this are answered, their answers
 *	                       have come: forget them
 *	40  u32  remaining     milliseconds until it is of no use; 0: no end
 *	44  i32  status        replies: 0 or a negative errno; else 0
 *
 * Bodies of the library's own items (opcodes below 64); those not named have
 * none. Session, stream and xid are the item's.
 *
 *   CONN_ESTABLISH          0 u64 service high, 8 u64 low, 16 u64 connection,
 *                           24 u32 largest packet the sender takes, 28 u32 0
 *   CONN_ESTABLISH_REPLY    0 u64 server's incarnation, 8 u64 life that the
 *                           client's packets are to carry, 16 u32 largest
 *                           packet it takes, 20 u32 flags (1: the store is
 *                           durable)
 *   CONN_TERMINATE          0 u64 connection
 *   SESSION_ESTABLISH       0 u64 connection, 8 u32 streams, 12 u32 window,
 *                           16 u32 flags (1: it was established before),
 *                           20 u32 n (0, or streams), then n times
 *                           u64 xid, the lowest without an answer
 *   SESSION_ESTABLISH_REPLY 0 u32 streams, 4 u32 window, 8 u32 flags
 *                           (1: unknown here: begun anew), 12 u32 n = streams,
 *                           then n times u64 xid, executed last; 0: none
 *   PING, PING_REPLY        0 u64 cookie
 */
#ifndef M0_SRC_RPC_CORE_WIRE_H
#define M0_SRC_RPC_CORE_WIRE_H

#include "m0/rpc.h"

enum {
	M0_RPC_WIRE_MAGIC = 0x7072306d,
	M0_RPC_WIRE_VERSION = 1,
	M0_RPC_WIRE_ALIGN = 8,
	M0_RPC_WIRE_PREFIX_BYTES = 16,
	M0_RPC_WIRE_REFUSAL_BYTES = 24,
	/** Header of a packet, and of an item. */
	M0_RPC_WIRE_PACKET_BYTES = 56,
	M0_RPC_WIRE_ITEM_BYTES = 48,
	/** No packet is larger: lengths can be added up without care. */
	M0_RPC_WIRE_PACKET_MAX = 1 << 30,
	/** Streams that a handshake can name. */
	M0_RPC_WIRE_STREAMS_MAX = 1024,
	/** Largest body below. */
	M0_RPC_WIRE_BODY_MAX = 24 + 8 * M0_RPC_WIRE_STREAMS_MAX
};

enum m0_rpc_wire_flags {
	/* Kinds: exactly one. */
	M0_RPC_WIRE_REQUEST = 1,
	M0_RPC_WIRE_REPLY = 2,
	M0_RPC_WIRE_ONEWAY = 4,
	/** A request that was sent before. */
	M0_RPC_WIRE_DUP = 8,
	/** The request with this number is not wanted any more. No reply. */
	M0_RPC_WIRE_CANCEL = 16,
	/** This number of the stream is used up without a request. */
	M0_RPC_WIRE_SKIP = 32,
	/** Nothing but its ack. */
	M0_RPC_WIRE_ACK = 64
};

/** The library's own item types. */
enum m0_rpc_wire_op {
	M0_RPC_OP_CONN_ESTABLISH = 1,
	M0_RPC_OP_CONN_ESTABLISH_REPLY = 2,
	M0_RPC_OP_CONN_TERMINATE = 3,
	M0_RPC_OP_CONN_TERMINATE_REPLY = 4,
	M0_RPC_OP_SESSION_ESTABLISH = 5,
	M0_RPC_OP_SESSION_ESTABLISH_REPLY = 6,
	M0_RPC_OP_SESSION_TERMINATE = 7,
	M0_RPC_OP_SESSION_TERMINATE_REPLY = 8,
	/** One-way, CANCEL. */
	M0_RPC_OP_CANCEL = 9,
	/** One-way, ACK. */
	M0_RPC_OP_ACK = 10,
	/** Request, SKIP, of a stream. */
	M0_RPC_OP_SKIP = 11,
	/** A reply that is a status and nothing else. */
	M0_RPC_OP_STATUS = 12,
	M0_RPC_OP_PING = 13,
	M0_RPC_OP_PING_REPLY = 14,
	/** A reply of the library's own: a status that says why the request
	 * was not executed; STATUS is a handler's. */
	M0_RPC_OP_REFUSED = 15,
	/** First that is not the library's. */
	M0_RPC_OP_USER = 64
};

/** CRC-32C of `nr` more bytes, as m0_os_crc32c(). */
struct m0_rpc_wire_sum {
	uint32_t (*rws_add)(uint32_t crc, const void *bytes, size_t nr);
};

/** Header of a packet. */
struct m0_rpc_wire_packet {
	/** Decoder: also when it is not ours. */
	uint16_t rwp_version;
	/** Refusals: what the peer speaks. */
	uint16_t          rwp_lowest;
	uint16_t          rwp_highest;
	uint32_t          rwp_items_nr;
	uint32_t          rwp_bytes;
	uint32_t          rwp_epoch;
	uint64_t          rwp_life;
	struct m0_uint128 rwp_sender;
	uint64_t          rwp_incarnation;
};

/** Header of an item. */
struct m0_rpc_wire_item {
	uint32_t rwi_opcode;
	uint16_t rwi_flags;
	uint8_t  rwi_prio;
	/** Bytes of the body, without padding. */
	uint32_t rwi_size;
	uint32_t rwi_stream;
	uint64_t rwi_session;
	uint64_t rwi_xid;
	uint64_t rwi_ack;
	uint32_t rwi_remaining_ms;
	int32_t  rwi_status;
};

/** A piece of a packet. */
struct m0_rpc_wire_seg {
	void  *rwg_base;
	size_t rwg_nr;
};

/** Bytes of a body with its padding. */
static inline m0_bcount_t m0_rpc__wire_padded(m0_bcount_t nr)
{
	return (nr + M0_RPC_WIRE_ALIGN - 1) &
	       ~(m0_bcount_t)(M0_RPC_WIRE_ALIGN - 1);
}

/** Bytes that an item with a body of `nr` bytes takes in a packet. */
static inline m0_bcount_t m0_rpc__wire_item_size(m0_bcount_t nr)
{
	return M0_RPC_WIRE_ITEM_BYTES + m0_rpc__wire_padded(nr);
}

/**
 * Puts the header of an item at `at`, 48 bytes. The caller puts the body behind
 * it and m0_rpc__wire_pad_put() behind that.
 */
void m0_rpc__wire_item_put(void *at, const struct m0_rpc_wire_item *item);
/** Puts the padding, 0 to 7 bytes, behind a body of `nr` bytes.
 * @return how many. */
size_t m0_rpc__wire_pad_put(void *at, m0_bcount_t nr);
/**
 * Completes a packet of our version: puts its header into the first 56 bytes of
 * the first piece, with the length of all pieces and the sum over them. Pre:
 * rwp_items_nr items stand behind the header; every length fits.
 * @return bytes of the packet.
 */
uint32_t m0_rpc__wire_seal(const struct m0_rpc_wire_packet *packet,
			   const struct m0_rpc_wire_seg *seg, unsigned seg_nr,
			   const struct m0_rpc_wire_sum *sum);
/** Puts a whole packet: "I do not speak your version", 24 bytes. */
void m0_rpc__wire_refusal_put(void *at, const struct m0_rpc_wire_sum *sum);

/** Where a decoder is. */
struct m0_rpc_wire_in {
	const uint8_t *rwn_at;
	const uint8_t *rwn_end;
	uint32_t       rwn_left_nr;
};

/**
 * Begins to take a packet apart that came as `nr` bytes.
 * @retval -EPROTO           no packet: magic, length, flags, counts.
 * @retval -EBADMSG          the sum is wrong.
 * @retval -EPROTONOSUPPORT  another version, rwp_version: the rest of `packet`
 *                           is 0; to be answered with a refusal.
 * @retval -EOPNOTSUPP       a refusal: rwp_lowest and rwp_highest say what the
 *                           peer speaks; never to be answered.
 */
int m0_rpc__wire_open(struct m0_rpc_wire_in     *in,
		      struct m0_rpc_wire_packet *packet, const void *bytes,
		      size_t nr, const struct m0_rpc_wire_sum *sum);
/**
 * The next item; its body stays where it is, at a multiple of 8 from the
 * packet's beginning.
 * @retval 1        here it is.
 * @retval 0        there are no more, and the packet has ended where it said.
 * @retval -EPROTO  the packet lies; what it gave before is as good as any. So
 *                  are all calls after this.
 */
int m0_rpc__wire_next(struct m0_rpc_wire_in *in, struct m0_rpc_wire_item *item,
		      const void **ret_body);

/* ------------------------------------------- bodies of the handshakes -- */

/**
 * One of each: m0_rpc__<name>_put() puts a body of at most M0_RPC_WIRE_BODY_MAX
 * bytes and returns its length; m0_rpc__<name>_get() takes exactly `nr` bytes
 * apart: -EPROTO if they are anything else.
 */

struct m0_rpc_conn_est {
	struct m0_uint128 rce_service;
	/** The client's number of the connection. */
	uint64_t rce_conn;
	/** Largest packet that it takes. */
	uint32_t rce_packet_max;
};
size_t m0_rpc__conn_est_put(void *at, const struct m0_rpc_conn_est *body);
int    m0_rpc__conn_est_get(struct m0_rpc_conn_est *body, const void *at,
			    size_t nr);

struct m0_rpc_conn_rep {
	uint64_t rcr_incarnation;
	uint64_t rcr_life;
	uint32_t rcr_packet_max;
	/** Does the server's store outlive it? */
	bool rcr_durable;
};
size_t m0_rpc__conn_rep_put(void *at, const struct m0_rpc_conn_rep *body);
int    m0_rpc__conn_rep_get(struct m0_rpc_conn_rep *body, const void *at,
			    size_t nr);

/** CONN_TERMINATE, PING, PING_REPLY: a number. */
size_t m0_rpc__number_put(void *at, uint64_t number);
int    m0_rpc__number_get(uint64_t *ret_number, const void *at, size_t nr);

struct m0_rpc_session_est {
	uint64_t rse_conn;
	uint32_t rse_streams_nr;
	uint32_t rse_window;
	/** Established before: it has used its streams. */
	bool rse_again;
	/** rse_xid has one for each stream; else it is not there. */
	bool rse_has_xid;
	/** Lowest of stream i + 1 without an answer. */
	uint64_t rse_xid[M0_RPC_WIRE_STREAMS_MAX];
};
size_t m0_rpc__session_est_put(void *at, const struct m0_rpc_session_est *body);
/** -EPROTO also for no stream or window, or more than can be named. */
int m0_rpc__session_est_get(struct m0_rpc_session_est *body, const void *at,
			    size_t nr);

struct m0_rpc_session_rep {
	uint32_t rsr_streams_nr;
	uint32_t rsr_window;
	/** The session is new here, whatever the client says. */
	bool rsr_unknown;
	/** Executed last of stream i + 1; 0: none. */
	uint64_t rsr_xid[M0_RPC_WIRE_STREAMS_MAX];
};
size_t m0_rpc__session_rep_put(void *at, const struct m0_rpc_session_rep *body);
int    m0_rpc__session_rep_get(struct m0_rpc_session_rep *body, const void *at,
			       size_t nr);

#endif /* M0_SRC_RPC_CORE_WIRE_H */
