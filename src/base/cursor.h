/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Byte cursor: the one way in which bytes of a peer are taken apart and bytes
 * for a peer are put together.
 *
 * Never goes past the end. The first call that would leaves the bytes alone and
 * makes the cursor bad; a bad cursor gets zeroes and puts nothing. So a decoder
 * is a straight line with one m0_cursor_is_ok() at its end.
 */
#ifndef M0_SRC_BASE_CURSOR_H
#define M0_SRC_BASE_CURSOR_H

#include "m0/base.h"

struct m0_cursor {
	uint8_t *cu_start;
	uint8_t *cu_at;
	uint8_t *cu_end;
	bool     cu_bad;
};

/** For getting and putting. */
static inline void m0_cursor_init(struct m0_cursor *cur, void *bytes, size_t nr)
{
	cur->cu_start = bytes;
	cur->cu_at = bytes;
	/* NULL + 0 is not for C to add. */
	cur->cu_end = nr == 0 ? cur->cu_at : cur->cu_at + nr;
	cur->cu_bad = false;
}

/** For getting only: nothing is put into `bytes`. */
static inline void m0_cursor_init_const(struct m0_cursor *cur,
					const void *bytes, size_t nr)
{
	m0_cursor_init(cur, (void *)(uintptr_t)bytes, nr);
}

/** False after the first call that did not fit. */
static inline bool m0_cursor_is_ok(const struct m0_cursor *cur)
{
	return !cur->cu_bad;
}

/** Bytes passed. */
static inline size_t m0_cursor_pos(const struct m0_cursor *cur)
{
	return (size_t)(cur->cu_at - cur->cu_start);
}

/** Bytes to come; 0 if the cursor is bad. */
static inline size_t m0_cursor_left(const struct m0_cursor *cur)
{
	return cur->cu_bad ? 0 : (size_t)(cur->cu_end - cur->cu_at);
}

/** Makes the cursor bad: the caller saw an invalid value. */
static inline void m0_cursor_fail(struct m0_cursor *cur)
{
	cur->cu_bad = true;
}

/** Passes `nr` bytes and returns their address; NULL if they are not there. */
static inline void *m0_cursor_skip(struct m0_cursor *cur, size_t nr)
{
	uint8_t *at = cur->cu_at;

	if (cur->cu_bad || nr > (size_t)(cur->cu_end - at)) {
		cur->cu_bad = true;
		return NULL;
	}
	if (nr > 0)
		cur->cu_at = at + nr;
	return at;
}

/*
 * m0_cursor_get_u8(), _get_le16(), _le32(), _le64(), _get_be16(), ... and the
 * same with put: numbers of that size and order. They are inline, being most
 * of what a codec does. Asked of the cursor, not of the address, which would let
 * the compiler think of an encoder that is given NULL.
 */
#define M0_CURSOR_NUMBER(name, type, order)                            \
	static inline type m0_cursor_get_##name(struct m0_cursor *cur) \
	{                                                              \
		const void *at = m0_cursor_skip(cur, sizeof(type));    \
		type        val = 0;                                   \
                                                                       \
		if (at != NULL)                                        \
			memcpy(&val, at, sizeof val);                  \
		return (type)order(val);                               \
	}                                                              \
	static inline void m0_cursor_put_##name(struct m0_cursor *cur, \
						type              val) \
	{                                                              \
		void *at = m0_cursor_skip(cur, sizeof(type));          \
                                                                       \
		val = (type)order(val);                                \
		if (!cur->cu_bad)                                      \
			memcpy(at, &val, sizeof val);                  \
	}

#define M0_CURSOR_SAME(val) (val)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define M0_CURSOR_LE(bits) M0_CURSOR_SAME
#define M0_CURSOR_BE(bits) __builtin_bswap##bits
#else
#define M0_CURSOR_LE(bits) __builtin_bswap##bits
#define M0_CURSOR_BE(bits) M0_CURSOR_SAME
#endif

M0_CURSOR_NUMBER(u8, uint8_t, M0_CURSOR_SAME)
M0_CURSOR_NUMBER(le16, uint16_t, M0_CURSOR_LE(16))
M0_CURSOR_NUMBER(le32, uint32_t, M0_CURSOR_LE(32))
M0_CURSOR_NUMBER(le64, uint64_t, M0_CURSOR_LE(64))
M0_CURSOR_NUMBER(be16, uint16_t, M0_CURSOR_BE(16))
M0_CURSOR_NUMBER(be32, uint32_t, M0_CURSOR_BE(32))
M0_CURSOR_NUMBER(be64, uint64_t, M0_CURSOR_BE(64))

/** Copies out `nr` bytes; zeroes if they are not there. */
void m0_cursor_get_bytes(struct m0_cursor *cur, void *ret_bytes, size_t nr);

void m0_cursor_put_bytes(struct m0_cursor *cur, const void *bytes, size_t nr);

/** Bytes that `nr` bytes take as XDR opaque data without the length. */
static inline size_t m0_cursor_xdr_size(size_t nr)
{
	return (nr + 3) & ~(size_t)3;
}

/**
 * XDR opaque data of variable length: length (32 bits, big endian), bytes,
 * zeroes up to a multiple of 4. Padding that is not zero is bad.
 * @param max     more is bad.
 * @param ret_nr  length; 0 if bad.
 * @return address of the bytes within the cursor's; NULL if bad.
 */
static inline const void *m0_cursor_get_opaque(struct m0_cursor *cur,
					       uint32_t max, uint32_t *ret_nr)
{
	uint32_t       nr = m0_cursor_get_be32(cur);
	const uint8_t *at;
	size_t         i;

	*ret_nr = 0;
	if (nr > max)
		m0_cursor_fail(cur);
	at = m0_cursor_skip(cur, m0_cursor_xdr_size(nr));
	if (at == NULL)
		return NULL;
	for (i = nr; i < m0_cursor_xdr_size(nr); ++i) {
		if (at[i] != 0) {
			m0_cursor_fail(cur);
			return NULL;
		}
	}
	*ret_nr = nr;
	return at;
}

/** All or nothing: half of an opaque is of no use to a reader. */
static inline void m0_cursor_put_opaque(struct m0_cursor *cur,
					const void *bytes, uint32_t nr)
{
	const uint8_t *from = bytes;
	uint8_t       *at;
	size_t         i;

	if (m0_cursor_left(cur) < sizeof nr + m0_cursor_xdr_size(nr)) {
		m0_cursor_fail(cur);
		return;
	}
	m0_cursor_put_be32(cur, nr);
	at = m0_cursor_skip(cur, m0_cursor_xdr_size(nr));
	/* Addresses are short: a call would take longer. */
	for (i = 0; i < nr; ++i)
		at[i] = from[i];
	for (; i < m0_cursor_xdr_size(nr); ++i)
		at[i] = 0;
}

#endif /* M0_SRC_BASE_CURSOR_H */
