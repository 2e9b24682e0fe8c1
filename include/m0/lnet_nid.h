/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Names of LNet nodes and networks: NID (an address on a network), net, and
 * process id; as values, as text, and as the 64-bit number that older nodes
 * use.
 *
 * Text is `ADDR@NET`: `10.0.0.1@tcp`, `2001:db8::1@tcp2`, `0@lo`, `5@gni3`. The
 * number of a network is omitted if it is 0; without `@` the network is tcp.
 */
#ifndef M0_LNET_NID_H
#define M0_LNET_NID_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Types of networks. NIDs of other types are printed with the number
	 * of the type. */
	M0_LNET_TYPE_TCP = 2,
	M0_LNET_TYPE_O2IB = 5,
	M0_LNET_TYPE_LO = 9,
	M0_LNET_TYPE_GNI = 13,
	M0_LNET_TYPE_GIP = 14,
	M0_LNET_TYPE_PTLF = 15,
	M0_LNET_TYPE_KFI = 16,
	M0_LNET_TYPE_EFA = 18,
	M0_LNET_TYPE_BXI3F = 19,
	/** ln_type of M0_LNET_NID_ANY. */
	M0_LNET_TYPE_ANY = 0xff,

	/** ln_size of IPv6 addresses; addresses of 4 bytes have 0. */
	M0_LNET_NID_SIZE_IPV6 = 12,
	M0_LNET_NID_ADDR_BYTES = 16,
	/** Bytes of an encoded NID. */
	M0_LNET_NID_BYTES = 20,
	/** Buffer for the text of any NID, net or process id, with the NUL. */
	M0_LNET_NIDSTR_SIZE = 64
};

#define M0_LNET_NET_ANY  UINT32_C(0xffffffff)
#define M0_LNET_NID4_ANY UINT64_C(0xffffffffffffffff)
#define M0_LNET_PID_ANY  UINT32_C(0xffffffff)
/** The process id of every kernel node, and of nodes of this library. */
#define M0_LNET_PID_LUSTRE UINT32_C(12345)

/**
 * A NID. Compare it with m0_lnet_nid_eq, not memcmp: later versions may add
 * padding. The bytes of the address that its size does not cover are zero.
 */
struct m0_lnet_nid {
	/** Bytes of the address beyond 4, as on the wire. */
	uint8_t  ln_size;
	uint8_t  ln_type;
	uint16_t ln_num;
	/** In network order. Numeric addresses: 4 bytes, highest first. */
	uint8_t ln_addr[M0_LNET_NID_ADDR_BYTES];
};

struct m0_lnet_process_id {
	struct m0_lnet_nid lp_nid;
	uint32_t           lp_pid;
};

/** Wildcard: matches every node. */
M0_EXTERN const struct m0_lnet_nid m0_lnet_nid_any;
/** `0@lo`: this node, without a network. */
M0_EXTERN const struct m0_lnet_nid m0_lnet_nid_lo;

M0_EXTERN bool m0_lnet_nid_eq(const struct m0_lnet_nid *left,
			      const struct m0_lnet_nid *right);
/**
 * Compares the 20 bytes of the wire format. When two connections between two
 * nodes cross, the one of the higher NID stays.
 * @return <0, 0, >0.
 */
M0_EXTERN int  m0_lnet_nid_cmp(const struct m0_lnet_nid *left,
			       const struct m0_lnet_nid *right);
M0_EXTERN bool m0_lnet_nid_is_any(const struct m0_lnet_nid *nid);
/** True if the NID is on network lo. */
M0_EXTERN bool m0_lnet_nid_is_lo(const struct m0_lnet_nid *nid);
/** True if a 64-bit number can represent the NID. */
M0_EXTERN bool m0_lnet_nid_is_nid4(const struct m0_lnet_nid *nid);
/** Hash for tables. */
M0_EXTERN uint32_t m0_lnet_nid_hash(const struct m0_lnet_nid *nid);

/** type << 16 | number; M0_LNET_NET_ANY for m0_lnet_nid_any. */
M0_EXTERN uint32_t     m0_lnet_nid_net(const struct m0_lnet_nid *nid);
static inline uint32_t m0_lnet_net(uint8_t type, uint16_t num)
{
	return (uint32_t)type << 16 | num;
}
static inline uint8_t m0_lnet_net_type(uint32_t net)
{
	return (uint8_t)(net >> 16);
}
static inline uint16_t m0_lnet_net_num(uint32_t net)
{
	return (uint16_t)net;
}

/**
 * Converts a 64-bit number to a NID.
 * @retval -EINVAL  the bits 63..56 are not 0, or the type is 255 (unless all 64
 *                  bits are 1: ANY). `nid` is unchanged.
 */
M0_EXTERN int m0_lnet_nid_from4(struct m0_lnet_nid *nid, uint64_t nid4);
/** Converts a NID to a 64-bit number. Pre: m0_lnet_nid_is_nid4, or ANY. */
M0_EXTERN uint64_t m0_lnet_nid_to4(const struct m0_lnet_nid *nid);
/** Encodes a NID in 20 bytes, which are the same on every host. */
M0_EXTERN void m0_lnet_nid_encode(const struct m0_lnet_nid *nid,
				  uint8_t bytes[M0_LNET_NID_BYTES])
	__attribute__((nonnull));
/**
 * Decodes a NID.
 * @retval -EPROTO  larger than a NID can be, or bytes that its size does not
 *                  cover are not 0. `nid` is unchanged.
 */
M0_EXTERN int m0_lnet_nid_decode(struct m0_lnet_nid *nid,
				 const uint8_t       bytes[M0_LNET_NID_BYTES])
	__attribute__((nonnull));
/** Makes a NID of network `net` from an IP address in network order, 4 or 16
 * bytes. */
M0_EXTERN void m0_lnet_nid_from_ip(struct m0_lnet_nid *nid, uint32_t net,
				   const void *addr, size_t addr_bytes);

/**
 * Text of a NID, cut to `size` with a NUL. Unknown types as `a000001@<17:0>`,
 * ANY as `<?>`.
 * @return buf.
 */
M0_EXTERN char *m0_lnet_nid_print(const struct m0_lnet_nid *nid, char *buf,
				  size_t size);
/** Text of a net: `tcp`, `tcp2`, `<17:3>`. @return buf. */
M0_EXTERN char *m0_lnet_net_print(uint32_t net, char *buf, size_t size);
/** `12345-10.0.0.1@tcp`, `U17-...` for a flagged pid. @return buf. */
M0_EXTERN char *m0_lnet_id_print(const struct m0_lnet_process_id *id, char *buf,
				 size_t size);
/**
 * Parses a NID.
 * @retval -EINVAL  not a NID; `nid` is unchanged. Network numbers above 65535,
 *                  host names and `*` are errors, too.
 */
M0_EXTERN int m0_lnet_nid_parse(struct m0_lnet_nid *nid, const char *text);
/** m0_lnet_nid_parse() that also accepts `*` and `<?>` as ANY. */
M0_EXTERN int m0_lnet_nid_parse_any(struct m0_lnet_nid *nid, const char *text);
/**
 * Parses a net, `tcp` to `tcp65535`.
 * @retval -EINVAL  not a known net.
 */
M0_EXTERN int m0_lnet_net_parse(uint32_t *net, const char *text);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_NID_H */
