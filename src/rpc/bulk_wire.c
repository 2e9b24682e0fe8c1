/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of bulk in bodies of items: the only bytes of a body that the
 * layer knows. */
#include "base/cursor.h"
#include "rpc/bulk.h"

enum {
	/** In a body: bytes in use, length of the descriptor, 0; all aligned. */
	DESC_HEADER = 16,
	DESC_ALIGN = 8
};

static m0_bcount_t aligned(m0_bcount_t nr)
{
	return (nr + DESC_ALIGN - 1) & ~(m0_bcount_t)(DESC_ALIGN - 1);
}

m0_bcount_t m0_rpc_bulk_desc_size(const struct m0_net_buf_desc_data *desc)
{
	return DESC_HEADER + aligned(desc->bdd_desc.nbd_len);
}

m0_bcount_t m0_rpc_bulk_desc_put(void                              *bytes,
				 const struct m0_net_buf_desc_data *desc)
{
	m0_bcount_t      nr = m0_rpc_bulk_desc_size(desc);
	struct m0_cursor cur;

	m0_cursor_init(&cur, bytes, nr);
	m0_cursor_put_le64(&cur, desc->bdd_used);
	m0_cursor_put_le32(&cur, desc->bdd_desc.nbd_len);
	m0_cursor_put_le32(&cur, 0);
	m0_cursor_put_bytes(&cur, desc->bdd_desc.nbd_data,
			    desc->bdd_desc.nbd_len);
	memset(cur.cu_at, 0, m0_cursor_left(&cur));
	return nr;
}

int64_t m0_rpc_bulk_desc_get(const void *bytes, m0_bcount_t nr,
			     struct m0_net_buf_desc_data *ret_desc)
{
	static const uint8_t zeroes[DESC_ALIGN];
	struct m0_cursor     cur;
	const uint8_t       *data;
	m0_bcount_t          len;
	uint32_t             zero;

	m0_cursor_init_const(&cur, bytes, nr);
	ret_desc->bdd_used = m0_cursor_get_le64(&cur);
	len = ret_desc->bdd_desc.nbd_len = m0_cursor_get_le32(&cur);
	zero = m0_cursor_get_le32(&cur);
	data = ret_desc->bdd_desc.nbd_data = m0_cursor_skip(&cur, aligned(len));
	if (!m0_cursor_is_ok(&cur) || zero != 0 || len == 0 ||
	    memcmp(data + len, zeroes, aligned(len) - len) != 0) {
		M0_SET0(ret_desc);
		return -EPROTO;
	}
	return (int64_t)m0_cursor_pos(&cur);
}
