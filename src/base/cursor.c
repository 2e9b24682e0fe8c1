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
