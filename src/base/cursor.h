/* SPDX-License-Identifier: Apache-2.0 */
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
void m0_cursor_init(struct m0_cursor *cur, void *bytes, size_t nr);
/** For getting only: nothing is put into `bytes`. */
void m0_cursor_init_const(struct m0_cursor *cur, const void *bytes, size_t nr);

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

/** Makes the cursor bad: the caller saw a value that cannot be. */
static inline void m0_cursor_fail(struct m0_cursor *cur)
{
	cur->cu_bad = true;
}

/** Passes `nr` bytes and returns their address; NULL if they are not there. */
void *m0_cursor_skip(struct m0_cursor *cur, size_t nr);

uint8_t  m0_cursor_get_u8(struct m0_cursor *cur);
uint16_t m0_cursor_get_le16(struct m0_cursor *cur);
uint32_t m0_cursor_get_le32(struct m0_cursor *cur);
uint64_t m0_cursor_get_le64(struct m0_cursor *cur);
uint16_t m0_cursor_get_be16(struct m0_cursor *cur);
uint32_t m0_cursor_get_be32(struct m0_cursor *cur);
uint64_t m0_cursor_get_be64(struct m0_cursor *cur);
/** Copies out `nr` bytes; zeroes if they are not there. */
void m0_cursor_get_bytes(struct m0_cursor *cur, void *ret_bytes, size_t nr);

void m0_cursor_put_u8(struct m0_cursor *cur, uint8_t val);
void m0_cursor_put_le16(struct m0_cursor *cur, uint16_t val);
void m0_cursor_put_le32(struct m0_cursor *cur, uint32_t val);
void m0_cursor_put_le64(struct m0_cursor *cur, uint64_t val);
void m0_cursor_put_be16(struct m0_cursor *cur, uint16_t val);
void m0_cursor_put_be32(struct m0_cursor *cur, uint32_t val);
void m0_cursor_put_be64(struct m0_cursor *cur, uint64_t val);
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
const void *m0_cursor_get_opaque(struct m0_cursor *cur, uint32_t max,
				 uint32_t *ret_nr);
void m0_cursor_put_opaque(struct m0_cursor *cur, const void *bytes,
			  uint32_t nr);

#endif /* M0_SRC_BASE_CURSOR_H */
