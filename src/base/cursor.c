/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cursor.h"

void m0_cursor_init(struct m0_cursor *cur, void *bytes, size_t nr)
{
	cur->cu_start = bytes;
	cur->cu_at = bytes;
	/* NULL + 0 is not for C to add. */
	cur->cu_end = nr == 0 ? cur->cu_at : cur->cu_at + nr;
	cur->cu_bad = false;
}

void m0_cursor_init_const(struct m0_cursor *cur, const void *bytes, size_t nr)
{
	m0_cursor_init(cur, (void *)(uintptr_t)bytes, nr);
}

void *m0_cursor_skip(struct m0_cursor *cur, size_t nr)
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

static uint64_t get_le(struct m0_cursor *cur, size_t nr)
{
	const uint8_t *at = m0_cursor_skip(cur, nr);
	uint64_t       val = 0;

	if (at != NULL) {
		while (nr-- > 0)
			val = val << 8 | at[nr];
	}
	return val;
}

static uint64_t get_be(struct m0_cursor *cur, size_t nr)
{
	const uint8_t *at = m0_cursor_skip(cur, nr);
	uint64_t       val = 0;

	if (at != NULL) {
		while (nr-- > 0)
			val = val << 8 | *at++;
	}
	return val;
}

static void put_le(struct m0_cursor *cur, uint64_t val, size_t nr)
{
	uint8_t *at = m0_cursor_skip(cur, nr);

	if (at != NULL) {
		for (; nr > 0; --nr, val >>= 8)
			*at++ = (uint8_t)val;
	}
}

static void put_be(struct m0_cursor *cur, uint64_t val, size_t nr)
{
	uint8_t *at = m0_cursor_skip(cur, nr);

	if (at != NULL) {
		for (; nr > 0; val >>= 8)
			at[--nr] = (uint8_t)val;
	}
}

uint8_t m0_cursor_get_u8(struct m0_cursor *cur)
{
	return (uint8_t)get_le(cur, 1);
}

uint16_t m0_cursor_get_le16(struct m0_cursor *cur)
{
	return (uint16_t)get_le(cur, 2);
}

uint32_t m0_cursor_get_le32(struct m0_cursor *cur)
{
	return (uint32_t)get_le(cur, 4);
}

uint64_t m0_cursor_get_le64(struct m0_cursor *cur)
{
	return get_le(cur, 8);
}

uint16_t m0_cursor_get_be16(struct m0_cursor *cur)
{
	return (uint16_t)get_be(cur, 2);
}

uint32_t m0_cursor_get_be32(struct m0_cursor *cur)
{
	return (uint32_t)get_be(cur, 4);
}

uint64_t m0_cursor_get_be64(struct m0_cursor *cur)
{
	return get_be(cur, 8);
}

void m0_cursor_get_bytes(struct m0_cursor *cur, void *ret_bytes, size_t nr)
{
	const void *at = m0_cursor_skip(cur, nr);

	if (nr == 0)
		return;
	if (at != NULL)
		memcpy(ret_bytes, at, nr);
	else
		memset(ret_bytes, 0, nr);
}

void m0_cursor_put_u8(struct m0_cursor *cur, uint8_t val)
{
	put_le(cur, val, 1);
}

void m0_cursor_put_le16(struct m0_cursor *cur, uint16_t val)
{
	put_le(cur, val, 2);
}

void m0_cursor_put_le32(struct m0_cursor *cur, uint32_t val)
{
	put_le(cur, val, 4);
}

void m0_cursor_put_le64(struct m0_cursor *cur, uint64_t val)
{
	put_le(cur, val, 8);
}

void m0_cursor_put_be16(struct m0_cursor *cur, uint16_t val)
{
	put_be(cur, val, 2);
}

void m0_cursor_put_be32(struct m0_cursor *cur, uint32_t val)
{
	put_be(cur, val, 4);
}

void m0_cursor_put_be64(struct m0_cursor *cur, uint64_t val)
{
	put_be(cur, val, 8);
}

void m0_cursor_put_bytes(struct m0_cursor *cur, const void *bytes, size_t nr)
{
	void *at = m0_cursor_skip(cur, nr);

	if (at != NULL && nr > 0)
		memcpy(at, bytes, nr);
}

static size_t pad_of(uint32_t nr)
{
	return m0_cursor_xdr_size(nr) - nr;
}

const void *m0_cursor_get_opaque(struct m0_cursor *cur, uint32_t max,
				 uint32_t *ret_nr)
{
	uint32_t       nr = m0_cursor_get_be32(cur);
	const uint8_t *at;
	const uint8_t *pad;
	size_t         i;

	*ret_nr = 0;
	if (nr > max)
		m0_cursor_fail(cur);
	at = m0_cursor_skip(cur, nr);
	pad = m0_cursor_skip(cur, pad_of(nr));
	if (pad == NULL)
		return NULL;
	for (i = 0; i < pad_of(nr); ++i) {
		if (pad[i] != 0) {
			m0_cursor_fail(cur);
			return NULL;
		}
	}
	*ret_nr = nr;
	return at;
}

/* All or nothing: half of an opaque is of no use to a reader. */
void m0_cursor_put_opaque(struct m0_cursor *cur, const void *bytes, uint32_t nr)
{
	uint8_t *pad;

	if (m0_cursor_left(cur) < sizeof nr + m0_cursor_xdr_size(nr)) {
		m0_cursor_fail(cur);
		return;
	}
	m0_cursor_put_be32(cur, nr);
	m0_cursor_put_bytes(cur, bytes, nr);
	pad = m0_cursor_skip(cur, pad_of(nr));
	memset(pad, 0, pad_of(nr));
}
