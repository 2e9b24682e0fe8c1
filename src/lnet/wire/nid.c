/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/lnet_nid.h"

#include "base/cursor.h"

enum {
	ADDR4_BYTES = 4
};

const struct m0_lnet_nid m0_lnet_nid_any = {
	.ln_size = 0xff,
	.ln_type = M0_LNET_TYPE_ANY,
	.ln_num = 0xffff,
	.ln_addr = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		     0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
};

const struct m0_lnet_nid m0_lnet_nid_lo = { .ln_type = M0_LNET_TYPE_LO };

/** Returns size, type and number in the order of comparison. */
static uint32_t nid_head(const struct m0_lnet_nid *nid)
{
	return (uint32_t)nid->ln_size << 24 | (uint32_t)nid->ln_type << 16 |
	       nid->ln_num;
}

bool m0_lnet_nid_is_any(const struct m0_lnet_nid *nid)
{
	return nid->ln_type == M0_LNET_TYPE_ANY;
}

bool m0_lnet_nid_is_lo(const struct m0_lnet_nid *nid)
{
	return nid->ln_type == M0_LNET_TYPE_LO;
}

bool m0_lnet_nid_is_nid4(const struct m0_lnet_nid *nid)
{
	return nid->ln_size == 0 && !m0_lnet_nid_is_any(nid);
}

/*
 * Inline in the whole library and without memcmp, because each message calls it
 * several times. The first 8 bytes contain all of an IPv4 address.
 */
inline bool m0_lnet_nid_eq(const struct m0_lnet_nid *left,
			   const struct m0_lnet_nid *right)
{
	uint64_t l[2];
	uint64_t r[2];
	uint32_t lend;
	uint32_t rend;

	M0_BASSERT(sizeof *left == sizeof l + sizeof lend);
	__builtin_memcpy(l, left, sizeof l);
	__builtin_memcpy(r, right, sizeof r);
	/* The other members of ANY have no meaning. */
	if (l[0] != r[0])
		return m0_lnet_nid_is_any(left) && m0_lnet_nid_is_any(right);
	__builtin_memcpy(&lend, (const char *)left + sizeof l, sizeof lend);
	__builtin_memcpy(&rend, (const char *)right + sizeof r, sizeof rend);
	return ((l[1] ^ r[1]) | (lend ^ rend)) == 0 || m0_lnet_nid_is_any(left);
}

int m0_lnet_nid_cmp(const struct m0_lnet_nid *left,
		    const struct m0_lnet_nid *right)
{
	uint32_t lhead = nid_head(left);
	uint32_t rhead = nid_head(right);

	if (lhead != rhead)
		return lhead < rhead ? -1 : 1;
	return memcmp(left->ln_addr, right->ln_addr, sizeof left->ln_addr);
}

uint32_t m0_lnet_nid_hash(const struct m0_lnet_nid *nid)
{
	uint64_t part[2];
	uint64_t hash;

	memcpy(part, nid->ln_addr, sizeof part);
	hash = (part[0] ^ nid_head(nid)) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 32 ^ part[1]) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(hash >> 32);
}

uint32_t m0_lnet_nid_net(const struct m0_lnet_nid *nid)
{
	if (m0_lnet_nid_is_any(nid))
		return M0_LNET_NET_ANY;
	return m0_lnet_net(nid->ln_type, nid->ln_num);
}

/** Stores an address of 4 bytes. */
static void addr4_set(struct m0_lnet_nid *nid, uint32_t addr)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, nid->ln_addr, ADDR4_BYTES);
	m0_cursor_put_be32(&cur, addr);
	memset(&nid->ln_addr[ADDR4_BYTES], 0,
	       sizeof nid->ln_addr - ADDR4_BYTES);
}

int m0_lnet_nid_from4(struct m0_lnet_nid *nid, uint64_t nid4)
{
	uint32_t net = (uint32_t)(nid4 >> 32);

	if (nid4 == M0_LNET_NID4_ANY) {
		*nid = m0_lnet_nid_any;
		return 0;
	}
	/* A type is a byte; 255 would mean ANY. */
	if (net >= m0_lnet_net(M0_LNET_TYPE_ANY, 0))
		return -EINVAL;
	nid->ln_size = 0;
	nid->ln_type = m0_lnet_net_type(net);
	nid->ln_num = m0_lnet_net_num(net);
	addr4_set(nid, (uint32_t)nid4);
	return 0;
}

uint64_t m0_lnet_nid_to4(const struct m0_lnet_nid *nid)
{
	const uint8_t *addr = nid->ln_addr;

	if (m0_lnet_nid_is_any(nid))
		return M0_LNET_NID4_ANY;
	M0_PRE(nid->ln_size == 0);
	return (uint64_t)m0_lnet_net(nid->ln_type, nid->ln_num) << 32 |
	       (uint32_t)addr[0] << 24 | (uint32_t)addr[1] << 16 |
	       (uint32_t)addr[2] << 8 | addr[3];
}

void m0_lnet_nid_from_ip(struct m0_lnet_nid *nid, uint32_t net,
			 const void *addr, size_t addr_bytes)
{
	M0_PRE(addr_bytes == ADDR4_BYTES ||
	       addr_bytes == M0_LNET_NID_ADDR_BYTES);
	*nid = (struct m0_lnet_nid){
		.ln_size = (uint8_t)(addr_bytes - ADDR4_BYTES),
		.ln_type = m0_lnet_net_type(net),
		.ln_num = m0_lnet_net_num(net),
	};
	memcpy(nid->ln_addr, addr, addr_bytes);
}

void m0_lnet_nid_encode(const struct m0_lnet_nid *nid,
			uint8_t                   bytes[M0_LNET_NID_BYTES])
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, bytes, M0_LNET_NID_BYTES);
	m0_cursor_put_be32(&cur, nid_head(nid));
	memcpy(m0_cursor_skip(&cur, sizeof nid->ln_addr), nid->ln_addr,
	       sizeof nid->ln_addr);
}

/** Returns true if the bytes beyond the size of the address are zero. */
static bool tail_is_zero(const uint8_t *addr, size_t size)
{
	static const uint8_t zeroes[M0_LNET_NID_ADDR_BYTES - ADDR4_BYTES];
	uint8_t              bits = 0;
	size_t               i;

	/* The two sizes in use. */
	if (size == M0_LNET_NID_SIZE_IPV6)
		return true;
	if (size == 0)
		return memcmp(addr + ADDR4_BYTES, zeroes, sizeof zeroes) == 0;
	for (i = ADDR4_BYTES + size; i < M0_LNET_NID_ADDR_BYTES; ++i)
		bits |= addr[i];
	return bits == 0;
}

int m0_lnet_nid_decode(struct m0_lnet_nid *nid,
		       const uint8_t       bytes[M0_LNET_NID_BYTES])
{
	struct m0_cursor cur;
	uint8_t          size;
	uint8_t          type;
	uint16_t         num;
	const uint8_t   *addr;

	m0_cursor_init_const(&cur, bytes, M0_LNET_NID_BYTES);
	size = m0_cursor_get_u8(&cur);
	type = m0_cursor_get_u8(&cur);
	num = m0_cursor_get_be16(&cur);
	addr = m0_cursor_skip(&cur, M0_LNET_NID_ADDR_BYTES);
	if (type == M0_LNET_TYPE_ANY) {
		*nid = m0_lnet_nid_any;
		return 0;
	}
	if (size > M0_LNET_NID_SIZE_IPV6 || !tail_is_zero(addr, size))
		return -EPROTO;
	nid->ln_size = size;
	nid->ln_type = type;
	nid->ln_num = num;
	memcpy(nid->ln_addr, addr, M0_LNET_NID_ADDR_BYTES);
	return 0;
}
