/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Wire formats of LNet on every network: the header in its two forms, and the
 * ping information. Each has its only encoder and decoder here.
 */
#ifndef M0_SRC_LNET_WIRE_H
#define M0_SRC_LNET_WIRE_H

#include "m0/lnet_nid.h"

enum m0_lnet_msg_type {
	M0_LNET_ACK = 0,
	M0_LNET_PUT = 1,
	M0_LNET_GET = 2,
	M0_LNET_REPLY = 3
};

enum {
	/** Header with 64-bit NIDs, and with large ones. */
	M0_LNET_HDR_BYTES = 72,
	M0_LNET_HDR_LARGE_BYTES = 96,
	/** Most payload of one message. */
	M0_LNET_PAYLOAD_MAX = 1 << 20
};

/**
 * Handle by which an ACK or REPLY finds its MD; opaque to the node that returns
 * it.
 */
struct m0_lnet_wmd {
	uint8_t wm_bytes[16];
};

/** All ones: no ACK is requested. */
extern const struct m0_lnet_wmd m0_lnet__wmd_none;
bool m0_lnet__wmd_is_none(const struct m0_lnet_wmd *wmd);

/** A header. Members that a type does not carry are 0. */
struct m0_lnet_hdr {
	struct m0_lnet_nid lhd_dest_nid;
	struct m0_lnet_nid lhd_src_nid;
	uint32_t           lhd_dest_pid;
	uint32_t           lhd_src_pid;
	/** enum m0_lnet_msg_type. */
	uint32_t lhd_type;
	uint32_t lhd_payload_bytes;
	/** PUT, GET: the handle for the ACK or REPLY. ACK, REPLY: the handle of
	 * the request. */
	struct m0_lnet_wmd lhd_wmd;
	/** ACK, PUT, GET. */
	uint64_t lhd_match_bits;
	/** PUT. */
	uint64_t lhd_hdr_data;
	/** PUT, GET. */
	uint32_t lhd_portal;
	uint32_t lhd_offset;
	/** GET: bytes requested. ACK: bytes taken. */
	uint32_t lhd_length;
};

/**
 * Encodes a header.
 * @param large  use 96 bytes; else 72, and both NIDs must be nid4 or ANY.
 * @return bytes written; 0: a NID does not fit the small form.
 */
size_t m0_lnet__hdr_encode(const struct m0_lnet_hdr *hdr, bool large,
			   uint8_t buf[M0_LNET_HDR_LARGE_BYTES]);
/**
 * Decodes a header, and checks its form only; the engine checks its meaning.
 * @retval -EPROTO  unknown type, or an impossible NID. `hdr` is undefined.
 */
int m0_lnet__hdr_decode(struct m0_lnet_hdr *hdr, bool large, const void *bytes)
	__attribute__((nonnull));
/**
 * Returns true if a header of 72 bytes is for and from these NIDs. ANY equals
 * none.
 */
bool m0_lnet__hdr_is_between(const void *bytes, uint64_t dest4, uint64_t src4);
/** Decodes a header of 72 bytes, except its NIDs. */
int m0_lnet__hdr_decode_rest(struct m0_lnet_hdr *hdr, const void *bytes)
	__attribute__((nonnull));

/* -- ping information ------------------------------------------------------ */

enum m0_lnet_feature {
	M0_LNET_FEAT_BASE = 0x01,
	M0_LNET_FEAT_NI_STATUS = 0x02,
	M0_LNET_FEAT_RTE_DISABLED = 0x04,
	M0_LNET_FEAT_MULTI_RAIL = 0x08,
	M0_LNET_FEAT_DISCOVERY = 0x10,
	M0_LNET_FEAT_LARGE_ADDR = 0x20,
	M0_LNET_FEAT_PRIMARY_LARGE = 0x40,
	M0_LNET_FEAT_METADATA = 0x80,
	/** A Colibri node. Nodes of Lustre ignore bits that they do not know. */
	M0_LNET_FEAT_COLIBRI = 0x40000000
};

enum {
	M0_LNET_PING_HEADER_BYTES = 16,
	M0_LNET_PING_ENTRY_BYTES = 16,
	/** Smallest buffer with which a ping is sent, or a push is taken. */
	M0_LNET_PING_SINK_BYTES = 272,
	/** Information with more entries, or more bytes, is malformed. */
	M0_LNET_PING_NIS_MAX = 4096,
	M0_LNET_PING_BYTES_MAX = 1 << 17
};
#define M0_LNET_STATUS_UP   UINT32_C(0x15aac0de)
#define M0_LNET_STATUS_DOWN UINT32_C(0xdeadface)

struct m0_lnet_ping_ni {
	struct m0_lnet_nid lpg_nid;
	bool               lpg_up;
};

/** Ping information of a node. `0@lo` is not in lpi_nis. */
struct m0_lnet_ping_info {
	uint32_t lpi_features;
	uint32_t lpi_pid;
	uint32_t lpi_seq;
	/**
	 * Primary first (also when it is a large one); the caller's array, of
	 * lpi_nis_max elements for a decoder.
	 */
	struct m0_lnet_ping_ni *lpi_nis;
	unsigned                lpi_nis_max;
	/** Number of NIs; a decoder stores the first lpi_nis_max. */
	unsigned lpi_nis_nr;
	/** Decoder: bytes of the whole information, without metadata. */
	size_t lpi_bytes;
	/** Decoder: there were fewer than lpi_bytes. The NIs are the ones that
	 * were present; a large primary NI may be missing. */
	bool lpi_truncated;
};

/** Returns the number of bytes that the encoder writes. */
size_t m0_lnet__ping_size(const struct m0_lnet_ping_info *info);
/**
 * Encodes as many bytes as fit; a reader asks again with more space. Entries of
 * 64-bit NIDs come first, then large ones. Feature bits 0x20 and 0x40 are set
 * as the NIDs need them, and 0x80 never. Pre: no NID is ANY.
 * @return bytes written.
 */
size_t m0_lnet__ping_encode(const struct m0_lnet_ping_info *info, void *buf,
			    size_t max);
/**
 * Decodes either byte order. `nr` may be less than the whole, see
 * lpi_truncated. Metadata and entries with unknown NIDs are skipped.
 * @retval -EPROTO  no ping information: wrong magic, no NI_STATUS, `0@lo` is
 *                  not first, too few bytes for these, or more entries or bytes
 *                  than allowed. `info` is undefined.
 */
int m0_lnet__ping_decode(struct m0_lnet_ping_info *info, const void *bytes,
			 size_t nr);

#endif /* M0_SRC_LNET_WIRE_H */
