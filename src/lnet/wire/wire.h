/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What LNet messages look like on every network: the header in its two forms,
 * and the ping information. The only encoder and decoder of each.
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

/** The handle by which an ACK or REPLY finds its MD: opaque to its echo. */
struct m0_lnet_wmd {
	uint8_t wm_bytes[16];
};

/** All ones: no ACK wanted. */
extern const struct m0_lnet_wmd m0_lnet__wmd_none;
bool m0_lnet__wmd_is_none(const struct m0_lnet_wmd *wmd);

/** A header; members that a type does not carry are 0. */
struct m0_lnet_hdr {
	struct m0_lnet_nid lhd_dest_nid;
	struct m0_lnet_nid lhd_src_nid;
	uint32_t           lhd_dest_pid;
	uint32_t           lhd_src_pid;
	/** enum m0_lnet_msg_type. */
	uint32_t lhd_type;
	uint32_t lhd_payload_bytes;
	/** PUT: whom to acknowledge. GET: whom to reply to. Else: to whom. */
	struct m0_lnet_wmd lhd_wmd;
	/** ACK, PUT, GET. */
	uint64_t lhd_match_bits;
	/** PUT. */
	uint64_t lhd_hdr_data;
	/** PUT, GET. */
	uint32_t lhd_portal;
	uint32_t lhd_offset;
	/** GET: bytes wanted. ACK: bytes taken. */
	uint32_t lhd_length;
};

/**
 * @param large  96 bytes; else 72, and then both NIDs are nid4 (or ANY).
 * @return bytes put into `buf`; 0 if a NID does not fit the small form.
 */
size_t m0_lnet__hdr_encode(const struct m0_lnet_hdr *hdr, bool large,
			   uint8_t buf[M0_LNET_HDR_LARGE_BYTES]);
/**
 * Checks form only; whether the message makes sense here is the engine's.
 * @retval -EPROTO  unknown type, or a NID that cannot be. `hdr` is to be
 *                  forgotten.
 */
int m0_lnet__hdr_decode(struct m0_lnet_hdr *hdr, bool large, const void *bytes)
	__attribute__((nonnull));
/**
 * Is a header of 72 bytes for the one of these NIDs, and from the other? Of
 * those that are ANY none is.
 */
bool m0_lnet__hdr_is_between(const void *bytes, uint64_t dest4, uint64_t src4);
/** All of a header of 72 bytes but its NIDs, which stay as they are. */
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
	M0_LNET_FEAT_METADATA = 0x80
};

enum {
	M0_LNET_PING_HEADER_BYTES = 16,
	M0_LNET_PING_ENTRY_BYTES = 16,
	/** The least buffer that a ping or push is asked or taken with. */
	M0_LNET_PING_SINK_BYTES = 272,
	/** More entries are not believed, nor more bytes. */
	M0_LNET_PING_NIS_MAX = 4096,
	M0_LNET_PING_BYTES_MAX = 1 << 17
};
#define M0_LNET_STATUS_UP   UINT32_C(0x15aac0de)
#define M0_LNET_STATUS_DOWN UINT32_C(0xdeadface)

struct m0_lnet_ping_ni {
	struct m0_lnet_nid lpg_nid;
	bool               lpg_up;
};

/** What a node says of itself. `0@lo` is not among lpi_nis. */
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
	/** NIs there are; a decoder stores the first lpi_nis_max. */
	unsigned lpi_nis_nr;
	/** Decoder: bytes of the whole, metadata aside. */
	size_t lpi_bytes;
	/**
	 * Decoder: fewer than lpi_bytes were given. The NIs are those that were
	 * there, and a large primary one may not be among them.
	 */
	bool lpi_truncated;
};

/** Bytes that the encoder will put. */
size_t m0_lnet__ping_size(const struct m0_lnet_ping_info *info);
/**
 * Puts as much as fits, to the byte: readers ask again with more room. Entries
 * of 64-bit NIDs first, then large ones, with the feature bits 0x20 and 0x40 as
 * the NIDs need them and 0x80 never. Pre: none is ANY. @return bytes put.
 */
size_t m0_lnet__ping_encode(const struct m0_lnet_ping_info *info, void *buf,
			    size_t max);
/**
 * Either byte order; `nr` may be fewer bytes than the whole, see lpi_truncated.
 * Metadata and entries that are no NID known here are passed over.
 * @retval -EPROTO  no ping information: magic, no NI_STATUS, no `0@lo` first,
 *                  too few bytes for these, or more entries or bytes than are
 *                  believed. `info` is to be forgotten.
 */
int m0_lnet__ping_decode(struct m0_lnet_ping_info *info, const void *bytes,
			 size_t nr);

#endif /* M0_SRC_LNET_WIRE_H */
