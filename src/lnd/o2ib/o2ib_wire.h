/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Wire formats of Lustre's driver for InfiniBand and RoCE: connection request,
 * its answers, and the messages of a connection. Each has one encoder and one
 * decoder. We always send little-endian; the magic shows the byte order of a
 * peer. LNet's header inside a message is left to the engine, and cookies are
 * copied: neither depends on the byte order.
 *
 * A decoder checks every field. It returns a negative errno and says in `why`
 * which field it refused, and with which value.
 */
#ifndef M0_SRC_LND_O2IB_WIRE_H
#define M0_SRC_LND_O2IB_WIRE_H

#include "m0/lnet_nid.h"

#define M0_O2IB_MAGIC UINT32_C(0x0be91b91)
/** The general magic of LNet, which a rejection may bear. */
#define M0_O2IB_MAGIC_LNET UINT32_C(0x45726963)

enum {
	/** The one version we speak. */
	M0_O2IB_VERSION = 0x12,
	/** Spoken before 2010; known only in rejections. */
	M0_O2IB_VERSION_OLD = 0x11,

	M0_O2IB_HDR_BYTES = 48,
	/** A connection request, and its acceptance. */
	M0_O2IB_CONN_BYTES = 56,
	M0_O2IB_REJECT_BYTES = 24,
	/** A rejection of version M0_O2IB_VERSION_OLD has no parameters. */
	M0_O2IB_REJECT_OLD_BYTES = 16,
	M0_O2IB_LNET_HDR_BYTES = 72,
	/** An IMMEDIATE without payload. */
	M0_O2IB_IMMEDIATE_BYTES = 120,
	M0_O2IB_PUT_REQ_BYTES = 128,
	/** A PUT_ACK and a GET_REQ without fragments. */
	M0_O2IB_PUT_ACK_BYTES = 72,
	M0_O2IB_GET_REQ_BYTES = 136,
	M0_O2IB_FRAG_BYTES = 12,
	/** PUT_NAK, PUT_DONE, GET_DONE. */
	M0_O2IB_DONE_BYTES = 60,
	/** Receive buffers hold this, whatever was negotiated. */
	M0_O2IB_MSG_BYTES_MAX = 4096,
	/** The largest message that is not an IMMEDIATE, with one fragment: no
	 * connection can do with less. */
	M0_O2IB_MSG_BYTES_MIN = 148,
	M0_O2IB_PAYLOAD_BYTES_MAX = M0_O2IB_MSG_BYTES_MAX -
				    M0_O2IB_IMMEDIATE_BYTES,

	/** Fragments of a descriptor that we accept, and that we send. A kernel
	 * that writes to 257 has no room for the message that follows. */
	M0_O2IB_FRAGS_MAX = 257,
	M0_O2IB_FRAGS_SENT_MAX = 256,
	/** Room for the text of m0_o2ib_why, NUL included. */
	M0_O2IB_WHY_BYTES = 96
};

enum m0_o2ib_type {
	M0_O2IB_CONNREQ = 0xc0,
	M0_O2IB_CONNACK = 0xc1,
	M0_O2IB_NOOP = 0xd0,
	M0_O2IB_IMMEDIATE = 0xd1,
	M0_O2IB_PUT_REQ = 0xd2,
	M0_O2IB_PUT_NAK = 0xd3,
	M0_O2IB_PUT_ACK = 0xd4,
	M0_O2IB_PUT_DONE = 0xd5,
	M0_O2IB_GET_REQ = 0xd6,
	M0_O2IB_GET_DONE = 0xd7
};
/** "PUT_REQ" and so on; "?" for another number. */
const char *m0_o2ib__type_name(uint8_t type);

/** The field that a decoder or a check of a connection refused. */
enum m0_o2ib_field {
	M0_O2IB_FIELD_NONE,
	/** Fewer bytes than the message says it has, or than its type needs. */
	M0_O2IB_FIELD_LENGTH,
	M0_O2IB_FIELD_MAGIC,
	M0_O2IB_FIELD_VERSION,
	M0_O2IB_FIELD_TYPE,
	M0_O2IB_FIELD_CREDITS,
	M0_O2IB_FIELD_CHECKSUM,
	M0_O2IB_FIELD_SRC_NID,
	M0_O2IB_FIELD_SRC_STAMP,
	M0_O2IB_FIELD_DST_NID,
	M0_O2IB_FIELD_DST_STAMP,
	M0_O2IB_FIELD_QUEUE_DEPTH,
	M0_O2IB_FIELD_FRAGS_MAX,
	M0_O2IB_FIELD_MSG_BYTES,
	M0_O2IB_FIELD_FRAGS_NR,
	M0_O2IB_FIELD_FRAG_LENGTH,
	M0_O2IB_FIELD_FRAG_ADDR,
	M0_O2IB_FIELD_STATUS
};
struct m0_o2ib_why {
	enum m0_o2ib_field ibw_field;
	/** Names the field, its value, and what is accepted. */
	char ibw_text[M0_O2IB_WHY_BYTES];
};
/** Fills in `why`. @return -EPROTO. */
int m0_o2ib__refuse(struct m0_o2ib_why *why, enum m0_o2ib_field field,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** Begins every message but a rejection. */
struct m0_o2ib_hdr {
	/** enum m0_o2ib_type. */
	uint8_t ibh_type;
	/** Credits that the sender returns. */
	uint8_t ibh_credits;
	/** Decoder: the peer's numbers are in the other byte order. */
	bool ibh_swapped;
	/** Decoder: the checksum of an IMMEDIATE with payload is wrong, as some
	 * kernels send it. Count it and keep the connection. */
	bool ibh_sum_bad;
	/** Decoder: bytes of the message; encoders calculate it. */
	uint32_t ibh_nob;
	/** NIDs as 64-bit numbers, see m0_lnet_nid_from4(). */
	uint64_t ibh_src_nid4;
	uint64_t ibh_src_stamp;
	uint64_t ibh_dst_nid4;
	/** 0 in a connection request: unknown. */
	uint64_t ibh_dst_stamp;
};
/**
 * Decodes the header of a message of which `nr` bytes arrived. What follows
 * m0_o2ib_hdr::ibh_nob is padding.
 * @retval -EPROTONOSUPPORT  another version, or LNet's general magic.
 * @retval -EPROTO           malformed; the message has at least the bytes that
 *                           its type needs if it is not.
 */
int m0_o2ib__hdr_decode(struct m0_o2ib_hdr *hdr, const void *bytes, size_t nr,
			struct m0_o2ib_why *why);
/** Bytes of a header that say who speaks to whom. */
enum {
	M0_O2IB_IDS_AT = 16,
	M0_O2IB_IDS_BYTES = M0_O2IB_HDR_BYTES - M0_O2IB_IDS_AT
};
/** Puts these bytes, as a peer with our byte order has them. */
void m0_o2ib__ids_put(const struct m0_o2ib_hdr *hdr,
		      uint8_t                   ids[M0_O2IB_IDS_BYTES]);
/**
 * Decodes the header of most messages, in few steps: the byte order and the version
 * are ours, there is no checksum, and the ids are these.
 * @return false: not such a header, or a bad one: m0_o2ib__hdr_decode() tells. hdr
 *         is undefined.
 */
bool m0_o2ib__hdr_decode_known(struct m0_o2ib_hdr *hdr, const void *bytes,
			       size_t nr, const uint8_t ids[M0_O2IB_IDS_BYTES]);
/** Encodes a NOOP, which is a header alone. @return bytes. */
size_t m0_o2ib__noop_encode(const struct m0_o2ib_hdr *hdr, void *buf,
			    size_t buf_bytes);

/*
 * The encoders below take a header with ibh_type set, and `buf` with room for
 * the message; they return its bytes. The decoders take the header that
 * m0_o2ib__hdr_decode() decoded from the same bytes.
 */

/** Parameters of a connection; in a rejection the limits of its sender. */
struct m0_o2ib_params {
	uint16_t ibp_queue_depth;
	uint16_t ibp_frags_max;
	uint32_t ibp_msg_bytes_max;
};
size_t m0_o2ib__conn_encode(const struct m0_o2ib_hdr    *hdr,
			    const struct m0_o2ib_params *params, void *buf,
			    size_t buf_bytes);
/** CONNREQ or CONNACK. @retval -EPROTO  a parameter that cannot be. */
int m0_o2ib__conn_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			 struct m0_o2ib_params *params,
			 struct m0_o2ib_why    *why);

/** Why a connection was rejected. */
enum m0_o2ib_reason {
	M0_O2IB_CONN_RACE = 1,
	M0_O2IB_NO_RESOURCES = 2,
	M0_O2IB_FATAL = 3,
	M0_O2IB_CONN_UNCOMPAT = 4,
	M0_O2IB_CONN_STALE = 5,
	M0_O2IB_RDMA_FRAGS = 6,
	M0_O2IB_MSG_QUEUE_SIZE = 7,
	M0_O2IB_INVALID_SRV_ID = 8,
	M0_O2IB_EARLY = 9
};
struct m0_o2ib_reject {
	/** Decoder: bears the general magic of LNet. */
	bool    ibr_general;
	bool    ibr_swapped;
	uint8_t ibr_reason;
	/** The version that the rejecter speaks, any number. */
	uint16_t ibr_version;
	/** The rejecter's stamp; 0 if it does not know its network. */
	uint64_t ibr_stamp;
	/** All 0 if the rejecter does not know its network, or is old. */
	struct m0_o2ib_params ibr_limits;
};
/** @return M0_O2IB_REJECT_BYTES. */
size_t m0_o2ib__reject_encode(const struct m0_o2ib_reject *reject,
			      uint8_t buf[M0_O2IB_REJECT_BYTES]);
/** Any reason is accepted: that of a later release means "give up". */
int m0_o2ib__reject_decode(struct m0_o2ib_reject *reject, const void *bytes,
			   size_t nr, struct m0_o2ib_why *why);

struct m0_o2ib_immediate {
	/** M0_O2IB_LNET_HDR_BYTES. */
	const uint8_t *ibm_lnet_hdr;
	/** Encoder: NULL if the caller itself puts the payload behind the first
	 * M0_O2IB_IMMEDIATE_BYTES. */
	const uint8_t *ibm_payload;
	uint32_t       ibm_payload_bytes;
};
size_t m0_o2ib__immediate_encode(const struct m0_o2ib_hdr       *hdr,
				 const struct m0_o2ib_immediate *imm, void *buf,
				 size_t buf_bytes);
/** Addresses are of `bytes`. What the header says suffices: it cannot fail. */
void m0_o2ib__immediate_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			       struct m0_o2ib_immediate *imm);

/** One piece of memory of a descriptor; an address is opaque and unaligned. */
struct m0_o2ib_frag {
	uint32_t ibf_bytes;
	uint64_t ibf_addr;
};
/** Memory that the receiver may write to. */
struct m0_o2ib_desc {
	uint32_t ibd_key;
	uint32_t ibd_frags_nr;
	/** Decoder: room of ibd_frags, set by the caller; more is malformed. */
	uint32_t             ibd_frags_max;
	struct m0_o2ib_frag *ibd_frags;
	/** Decoder: sum of the fragments' bytes. */
	uint64_t ibd_bytes;
};

/** PUT_REQ and GET_REQ; the former has no descriptor. */
struct m0_o2ib_req {
	/** M0_O2IB_LNET_HDR_BYTES. */
	const uint8_t      *ibq_lnet_hdr;
	uint64_t            ibq_cookie;
	struct m0_o2ib_desc ibq_sink;
};
size_t m0_o2ib__put_req_encode(const struct m0_o2ib_hdr *hdr,
			       const struct m0_o2ib_req *req, void *buf,
			       size_t buf_bytes);
int    m0_o2ib__put_req_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			       struct m0_o2ib_req *req, struct m0_o2ib_why *why);
size_t m0_o2ib__get_req_encode(const struct m0_o2ib_hdr *hdr,
			       const struct m0_o2ib_req *req, void *buf,
			       size_t buf_bytes);
int    m0_o2ib__get_req_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			       struct m0_o2ib_req *req, struct m0_o2ib_why *why);

struct m0_o2ib_put_ack {
	/** Copied from the PUT_REQ. */
	uint64_t ibk_src_cookie;
	/** For the PUT_DONE. */
	uint64_t            ibk_dst_cookie;
	struct m0_o2ib_desc ibk_sink;
};
size_t m0_o2ib__put_ack_encode(const struct m0_o2ib_hdr     *hdr,
			       const struct m0_o2ib_put_ack *ack, void *buf,
			       size_t buf_bytes);
int    m0_o2ib__put_ack_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			       struct m0_o2ib_put_ack *ack,
			       struct m0_o2ib_why     *why);

/** PUT_NAK, PUT_DONE, GET_DONE. */
struct m0_o2ib_done {
	uint64_t ibe_cookie;
	/** Bytes written, or a negative errno; at most 0 in a PUT_NAK. */
	int32_t ibe_status;
};
/**
 * Pre: the status is at most `sink_bytes`, the bytes of the peer's sink (0 for
 * a PUT_NAK). A kernel that reads a larger one in a GET_DONE panics.
 */
size_t m0_o2ib__done_encode(const struct m0_o2ib_hdr  *hdr,
			    const struct m0_o2ib_done *done,
			    uint64_t sink_bytes, void *buf, size_t buf_bytes);
int    m0_o2ib__done_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			    struct m0_o2ib_done *done, struct m0_o2ib_why *why);

/** A cookie in a message: the peer's bytes, not swapped. */
uint64_t m0_o2ib__cookie(const void *bytes);

/** Kind of a message of LNet, by its header. */
enum m0_o2ib_lnet {
	M0_O2IB_LNET_ACK = 0,
	M0_O2IB_LNET_PUT = 1,
	M0_O2IB_LNET_GET = 2,
	M0_O2IB_LNET_REPLY = 3
};
/** The kind that the LNet header of a message names; any number. */
enum m0_o2ib_lnet m0_o2ib__lnet_kind(const uint8_t *lnet_hdr);
/** The NIDs of the target and of the source. */
uint64_t m0_o2ib__lnet_dest(const uint8_t *lnet_hdr);
uint64_t m0_o2ib__lnet_src(const uint8_t *lnet_hdr);
/** Makes the header of the REPLY of `bytes` bytes that a GET_DONE stands for, from
 * that of the GET. */
void m0_o2ib__lnet_reply(const uint8_t get[M0_O2IB_LNET_HDR_BYTES],
			 uint32_t bytes, uint8_t ret[M0_O2IB_LNET_HDR_BYTES]);

/**
 * The checksum of bytes, before that of 0 is replaced by 1. Kernels add bytes
 * as `char`, so that the sum depends on the machine: accept both, send none.
 * @param is_signed  bytes from 0x80 on are negative.
 */
uint32_t m0_o2ib__sum(const void *bytes, size_t nr, bool is_signed);

#endif /* M0_SRC_LND_O2IB_WIRE_H */
