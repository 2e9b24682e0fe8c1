/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Wire formats of Lustre's socket driver around LNet messages: connection
 * request, HELLO, the frame before each message, its checksum. Each has one
 * encoder and decoder. We always send little-endian; the magic shows the byte
 * order of a peer.
 */
#ifndef M0_SRC_LND_SOCK_WIRE_H
#define M0_SRC_LND_SOCK_WIRE_H

#include "m0/lnet_nid.h"

#define M0_SOCK_MAGIC_ACCEPTOR UINT32_C(0xacce7100)
#define M0_SOCK_MAGIC_HELLO    UINT32_C(0x45726963)
#define M0_SOCK_MAGIC_V1       UINT32_C(0xeebc0ded)

enum {
	M0_SOCK_REQUEST_V1_BYTES = 16,
	M0_SOCK_REQUEST_V2_BYTES = 28,
	M0_SOCK_REQUEST_BYTES_MAX = 28,
	/** Magic and version, which determine the size of a request or HELLO. */
	M0_SOCK_MAGIC_BYTES = 4,
	M0_SOCK_HEAD_BYTES = 8,
	M0_SOCK_HELLO_V1_BYTES = 72,
	M0_SOCK_HELLO_V3_BYTES = 56,
	M0_SOCK_HELLO_V4_BYTES = 80,
	M0_SOCK_HELLO_BYTES_MAX = 80,
	/** Obsolete addresses after a HELLO of V1 to V3. */
	M0_SOCK_HELLO_IPS_MAX = 16,
	M0_SOCK_FRAME_BYTES = 24
};

/** Versions of the protocol, as in HELLO. */
enum {
	M0_SOCK_V1 = 1,
	M0_SOCK_V2 = 2,
	M0_SOCK_V3 = 3,
	M0_SOCK_V4 = 4
};

/** Purpose of a connection, as its owner sees it. */
enum m0_sock_ctype {
	M0_SOCK_ANY = 0,
	M0_SOCK_CONTROL = 1,
	M0_SOCK_BULK_IN = 2,
	M0_SOCK_BULK_OUT = 3,
	/** Not a type: "not now". */
	M0_SOCK_NONE = 0xffffffff
};
/** Returns the type of the same connection as the other side sees it. */
uint32_t m0_sock__ctype_invert(uint32_t ctype);

/** Connection request, to the acceptor. */
struct m0_sock_request {
	/** The NID of ours that the peer wants to reach. */
	struct m0_lnet_nid sr_nid;
};
/** @return bytes put: V1, or V2 if the NID is large. */
size_t m0_sock__request_encode(const struct m0_sock_request *req,
			       uint8_t buf[M0_SOCK_REQUEST_BYTES_MAX]);
/**
 * Do the first M0_SOCK_MAGIC_BYTES begin a connection request?
 * @retval 0                they do.
 * @retval -EPROTONOSUPPORT the general LNet magic: a peer that asks for our
 *                          version. Answer with m0_sock__request_refuse(), then
 *                          close.
 * @retval -EPROTO          another protocol: close, in silence.
 */
int m0_sock__request_magic(const void *magic);
/**
 * Bytes of a request whose first M0_SOCK_HEAD_BYTES are given.
 * @retval -EPROTO          no request.
 * @retval -EPROTONOSUPPORT another version, or the general LNet magic.
 */
int m0_sock__request_bytes(const void *head);
/** Pre: all bytes are there. @retval -EPROTO  a NID that cannot be. */
int m0_sock__request_decode(struct m0_sock_request *req, const void *bytes);
/** Encodes the acceptor's answer to an unknown version. @return 16. */
size_t m0_sock__request_refuse(uint8_t buf[M0_SOCK_REQUEST_V1_BYTES])
	__attribute__((nonnull));

struct m0_sock_hello {
	uint32_t           sh_version;
	struct m0_lnet_nid sh_src_nid;
	struct m0_lnet_nid sh_dst_nid;
	uint32_t           sh_src_pid;
	uint32_t           sh_dst_pid;
	uint64_t           sh_src_incarnation;
	uint64_t           sh_dst_incarnation;
	/** Sender's view; any value as it came. */
	uint32_t sh_ctype;
	/** Addresses that follow, 4 bytes each; never in V4. */
	uint32_t sh_ips_nr;
	/** Decoder: the peer's numbers are in the other byte order. */
	bool sh_swapped;
};
/**
 * Encodes a HELLO of sh_version, V1 to V4; sh_ips_nr is encoded as it is,
 * addresses are not.
 * @return bytes; 0 if a NID is too large for the version.
 */
size_t m0_sock__hello_encode(const struct m0_sock_hello *hello,
			     uint8_t buf[M0_SOCK_HELLO_BYTES_MAX]);
/**
 * Bytes of a HELLO (without addresses) whose first M0_SOCK_HEAD_BYTES are
 * given.
 * @retval -EPROTO           another magic: close, in silence. Where an answer is
 *                           awaited and m0_sock__request_bytes() likes it, an
 *                           acceptor has refused our request's version.
 * @retval -EPROTONOSUPPORT  unknown version: answer HELLO with M0_SOCK_NONE.
 */
int m0_sock__hello_bytes(const void *head);
/**
 * Decodes a HELLO. Pre: all bytes are there. It decodes V1, too, so that a log can
 * name the peer that was refused. An impossible destination becomes ANY (as in V1,
 * which has none): only the source counts. The caller checks whether the source is
 * ANY or another than expected.
 * @retval -EPROTO  a source that cannot be; more addresses than may be.
 */
int m0_sock__hello_decode(struct m0_sock_hello *hello, const void *bytes);
/** Is one of the addresses 0, which the protocol forbids? Pre: all are there. */
bool m0_sock__hello_ips_bad(const void *ips, uint32_t ips_nr);

/** Before each message of V2 to V4. */
enum m0_sock_frame_type {
	M0_SOCK_FRAME_NOOP = 0xc0,
	M0_SOCK_FRAME_LNET = 0xc1
};
struct m0_sock_frame {
	uint32_t sfr_type;
	uint32_t sfr_csum;
	/** [0]: acknowledge this. [1]: this is acknowledged. NOOP: see 3.10. */
	uint64_t sfr_cookie[2];
};
void m0_sock__frame_encode(const struct m0_sock_frame *frame,
			   uint8_t buf[M0_SOCK_FRAME_BYTES]);
/** @retval -EPROTO  unknown type. */
int m0_sock__frame_decode(struct m0_sock_frame *frame, bool swapped,
			  const uint8_t buf[M0_SOCK_FRAME_BYTES])
	__attribute__((nonnull));

/**
 * Decodes the acknowledgement in the cookies of a frame: a range, or up to two
 * cookies, or nothing. ranges[i][0]..ranges[i][1] is inclusive and may be as
 * wide as the peer likes, so it must not be walked through. A keepalive
 * acknowledges nothing.
 * @return how many ranges, 0 to 2.
 * @retval -EPROTO cookie 1, that of a keepalive, in another place.
 */
int m0_sock__frame_acks(const struct m0_sock_frame *frame,
			uint64_t                    ranges[2][2]);

#define M0_SOCK_CSUM_INIT UINT32_C(0xffffffff)
/** CRC-32 without the final inversion, continued. */
uint32_t m0_sock__csum(uint32_t csum, const void *bytes, size_t nr);

#endif /* M0_SRC_LND_SOCK_WIRE_H */
