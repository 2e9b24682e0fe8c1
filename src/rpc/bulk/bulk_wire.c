/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Descriptors of bulk in bodies of items: the only bytes of a body that the
 * layer knows. One that names several ways has a transport's for each. */
#include "base/cursor.h"
#include "rpc/bulk/bulk.h"

enum {
	/** In a body: bytes in use, length of the descriptor, 0; all aligned. */
	DESC_HEADER = 16,
	DESC_ALIGN = 8,
	/** "M0W" and the version; a transport's begins otherwise. */
	WAYS_MAGIC = 0x0157304d,
	/** Magic, number of ways. */
	WAYS_HEADER = 8
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

/* The bytes that a descriptor leaves unused are 0. */
static bool is_padded(const uint8_t *data, m0_bcount_t len)
{
	static const uint8_t zeroes[DESC_ALIGN];

	return memcmp(data + len, zeroes, aligned(len) - len) == 0;
}

int64_t m0_rpc_bulk_desc_get(const void *bytes, m0_bcount_t nr,
			     struct m0_net_buf_desc_data *ret_desc)
{
	struct m0_cursor cur;
	const uint8_t   *data;
	m0_bcount_t      len;
	uint32_t         zero;

	m0_cursor_init_const(&cur, bytes, nr);
	ret_desc->bdd_used = m0_cursor_get_le64(&cur);
	len = ret_desc->bdd_desc.nbd_len = m0_cursor_get_le32(&cur);
	zero = m0_cursor_get_le32(&cur);
	data = ret_desc->bdd_desc.nbd_data = m0_cursor_skip(&cur, aligned(len));
	if (!m0_cursor_is_ok(&cur) || zero != 0 || len == 0 ||
	    !is_padded(data, len)) {
		M0_SET0(ret_desc);
		return -EPROTO;
	}
	return (int64_t)m0_cursor_pos(&cur);
}

/* ------------------------------------------------------------- of ways -- */

/* A way is written as a descriptor is, with its address for the bytes in use. */
static struct m0_net_buf_desc_data way_data(const struct m0_rpc__bulk_way *way)
{
	return (struct m0_net_buf_desc_data){ .bdd_desc = way->bwy_desc,
					      .bdd_used = way->bwy_at };
}

int m0_rpc__bulk_desc_join(const struct m0_rpc__bulk_way *ways, uint32_t nr,
			   struct m0_net_buf_desc *ret)
{
	struct m0_net_buf_desc_data way;
	m0_bcount_t                 size = WAYS_HEADER;
	struct m0_cursor            cur;
	uint8_t                    *bytes;
	uint32_t                    i;

	M0_PRE(nr > 1 && nr <= M0_RPC_BULK_WAYS_MAX);
	for (i = 0; i < nr; ++i) {
		way = way_data(&ways[i]);
		size += m0_rpc_bulk_desc_size(&way);
	}
	bytes = m0_alloc(size);
	if (bytes == NULL)
		return -ENOMEM;
	m0_cursor_init(&cur, bytes, size);
	m0_cursor_put_le32(&cur, WAYS_MAGIC);
	m0_cursor_put_le32(&cur, nr);
	for (i = 0; i < nr; ++i) {
		way = way_data(&ways[i]);
		(void)m0_cursor_skip(&cur,
				     m0_rpc_bulk_desc_put(cur.cu_at, &way));
	}
	ret->nbd_len = (uint32_t)size;
	ret->nbd_data = bytes;
	return 0;
}

static bool way_get(struct m0_cursor *cur, m0_bcount_t max,
		    struct m0_rpc__bulk_way *ret)
{
	struct m0_net_buf_desc_data way;
	int64_t                     nr;

	nr = m0_rpc_bulk_desc_get(cur->cu_at, m0_cursor_left(cur), &way);
	if (nr < 0 || way.bdd_desc.nbd_len > max)
		return false;
	(void)m0_cursor_skip(cur, (size_t)nr);
	ret->bwy_at = way.bdd_used;
	ret->bwy_desc = way.bdd_desc;
	return true;
}

int m0_rpc__bulk_desc_part(const struct m0_net_buf_desc *desc, m0_bcount_t max,
			   struct m0_rpc__bulk_way *ret)
{
	struct m0_cursor cur;
	uint32_t         magic;
	uint32_t         nr;
	uint32_t         i;

	M0_PRE(ret != NULL);
	m0_cursor_init_const(&cur, desc->nbd_data, desc->nbd_len);
	magic = m0_cursor_get_le32(&cur);
	if (!m0_cursor_is_ok(&cur) || magic != WAYS_MAGIC)
		return 0;
	nr = m0_cursor_get_le32(&cur);
	if (!m0_cursor_is_ok(&cur) || nr == 0 || nr > M0_RPC_BULK_WAYS_MAX)
		return -EPROTO;
	for (i = 0; i < nr; ++i)
		if (!way_get(&cur, max, &ret[i]))
			return -EPROTO;
	return m0_cursor_left(&cur) == 0 ? (int)nr : -EPROTO;
}
