/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of LNet nodes and networks: NID (an address on a network), net, and
 * process id; as values, as text, and as the 64-bit number older nodes use.
 *
 * Text is `ADDR@NET`: `10.0.0.1@tcp`, `2001:db8::1@tcp2`, `0@lo`, `5@gni3`. The
 * number of a network is left out when it is 0; without `@` the network is tcp.
 */
#ifndef M0_LNET_NID_H
#define M0_LNET_NID_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Types of networks. Others are carried and printed, not named. */
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

	/** ln_size of IPv6 addresses; 0 is that of all others but these two. */
	M0_LNET_NID_SIZE_IPV6 = 12,
	M0_LNET_NID_ADDR_BYTES = 16,
	/** A NID as bytes of its own. */
	M0_LNET_NID_BYTES = 20,
	/** Room for any NID, net or process id as text, with the NUL. */
	M0_LNET_NIDSTR_SIZE = 64
};

#define M0_LNET_NET_ANY  UINT32_C(0xffffffff)
#define M0_LNET_NID4_ANY UINT64_C(0xffffffffffffffff)
#define M0_LNET_PID_ANY  UINT32_C(0xffffffff)
/** The process id of every kernel node, and ours. */
#define M0_LNET_PID_LUSTRE UINT32_C(12345)

/**
 * A NID. Compared with m0_lnet_nid_eq, not memcmp: padding may come. The bytes
 * of the address that its size does not cover are zero.
 */
struct m0_lnet_nid {
	/** Bytes of the address beyond 4, as on the wire. */
	uint8_t  ln_size;
	uint8_t  ln_type;
	uint16_t ln_num;
	/** Network order. Numeric addresses: 4 bytes, highest first. */
	uint8_t ln_addr[M0_LNET_NID_ADDR_BYTES];
};

struct m0_lnet_process_id {
	struct m0_lnet_nid lp_nid;
	uint32_t           lp_pid;
};

/** Matches every node. */
M0_EXTERN const struct m0_lnet_nid m0_lnet_nid_any;
/** `0@lo`: this node, without a network. */
M0_EXTERN const struct m0_lnet_nid m0_lnet_nid_lo;

M0_EXTERN bool m0_lnet_nid_eq(const struct m0_lnet_nid *left,
			      const struct m0_lnet_nid *right);
/**
 * Order of the wire's 20 bytes, by which of two connections that cross the one
 * of the higher NID stays. @return <0, 0, >0.
 */
M0_EXTERN int  m0_lnet_nid_cmp(const struct m0_lnet_nid *left,
			       const struct m0_lnet_nid *right);
M0_EXTERN bool m0_lnet_nid_is_any(const struct m0_lnet_nid *nid);
/** Of the network lo. */
M0_EXTERN bool m0_lnet_nid_is_lo(const struct m0_lnet_nid *nid);
/** Can be told as a 64-bit number. */
M0_EXTERN bool m0_lnet_nid_is_nid4(const struct m0_lnet_nid *nid);
/** For hash tables. */
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
 * A NID from its 64-bit number.
 * @retval -EINVAL  the bits 63..56 are not 0, or the type is 255 (unless all
 *                  64 bits are 1: ANY). `nid` is unchanged.
 */
M0_EXTERN int m0_lnet_nid_from4(struct m0_lnet_nid *nid, uint64_t nid4);
/** Pre: m0_lnet_nid_is_nid4, or ANY. */
M0_EXTERN uint64_t m0_lnet_nid_to4(const struct m0_lnet_nid *nid);
/** The 20 bytes of a NID, the same on every machine. */
M0_EXTERN void m0_lnet_nid_encode(const struct m0_lnet_nid *nid,
				  uint8_t bytes[M0_LNET_NID_BYTES])
	__attribute__((nonnull));
/**
 * @retval -EPROTO  larger than a NID can be, or bytes that its size does not
 *                  cover are not 0. `nid` is unchanged.
 */
M0_EXTERN int m0_lnet_nid_decode(struct m0_lnet_nid *nid,
				 const uint8_t       bytes[M0_LNET_NID_BYTES])
	__attribute__((nonnull));
/** A NID of network `net` from an IP address in network order, 4 or 16 bytes.
 */
M0_EXTERN void m0_lnet_nid_from_ip(struct m0_lnet_nid *nid, uint32_t net,
				   const void *addr, size_t addr_bytes);

/**
 * Text of a NID, cut to `size` with a NUL. Unknown types as `a000001@<17:0>`,
 * ANY as `<?>`. @return buf.
 */
M0_EXTERN char *m0_lnet_nid_print(const struct m0_lnet_nid *nid, char *buf,
				  size_t size);
/** Text of a net: `tcp`, `tcp2`, `<17:3>`. @return buf. */
M0_EXTERN char *m0_lnet_net_print(uint32_t net, char *buf, size_t size);
/** `12345-10.0.0.1@tcp`, `U17-...` for a flagged pid. @return buf. */
M0_EXTERN char *m0_lnet_id_print(const struct m0_lnet_process_id *id, char *buf,
				 size_t size);
/**
 * @retval -EINVAL  not a NID; `nid` is unchanged. Numbers of networks above
 *                  65535 are refused, and so are host names and `*`.
 */
M0_EXTERN int m0_lnet_nid_parse(struct m0_lnet_nid *nid, const char *text);
/** The same, and `*` and `<?>` are ANY. */
M0_EXTERN int m0_lnet_nid_parse_any(struct m0_lnet_nid *nid, const char *text);
/** Text of a net, `tcp` to `tcp65535`. @retval -EINVAL  unknown. */
M0_EXTERN int m0_lnet_net_parse(uint32_t *net, const char *text);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_NID_H */
