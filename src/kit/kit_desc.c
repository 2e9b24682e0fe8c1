/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Bytes of buffer descriptors (m0/desc.x). Room net owns their memory.
 */
#include "kit/kit.h"
#include "base/cursor.h"

enum {
	DESC_VERSION = 0x4d300001
};

/* Version, queue, identity, size, incarnation. */
enum {
	HEAD_LEN = 32,
	CRC_LEN = 4
};

static void head_put(struct m0_cursor *cur, const struct m0_net_kit_desc *desc)
{
	/* Two numbers in one: the checksum reads them as one. */
	m0_cursor_put_be64(cur, (uint64_t)DESC_VERSION << 32 | desc->nks_qtype);
	m0_cursor_put_be64(cur, desc->nks_id);
	m0_cursor_put_be64(cur, desc->nks_size);
	m0_cursor_put_be64(cur, desc->nks_incarnation);
}

static void addr_put(struct m0_cursor *cur, const struct m0_net_kit_addr *addr)
{
	m0_cursor_put_opaque(cur, addr->nka_bytes, addr->nka_len);
}

/* The checksum, and whose the bytes are from here on. */
static void desc_end(struct m0_cursor *cur, struct m0_net_buf_desc *ret)
{
	uint8_t *bytes = cur->cu_start;

	m0_cursor_put_be32(cur, m0_os_crc32c(0, bytes, m0_cursor_pos(cur)));
	M0_POST(m0_cursor_is_ok(cur));
	ret->nbd_len = (uint32_t)m0_cursor_pos(cur);
	ret->nbd_data = bytes;
}

int m0_net_kit_desc_encode(const struct m0_net_kit_desc *desc,
			   struct m0_net_buf_desc       *ret)
{
	uint8_t         *bytes = m0_net__desc_bytes_get(M0_NET_KIT_DESC_MAX);
	struct m0_cursor cur;

	if (bytes == NULL)
		return -ENOMEM;
	m0_cursor_init(&cur, bytes, M0_NET_KIT_DESC_MAX);
	head_put(&cur, desc);
	addr_put(&cur, &desc->nks_passive);
	addr_put(&cur, &desc->nks_active);
	desc_end(&cur, ret);
	return 0;
}

void kit_desc_tail_make(struct kit_desc_tail         *ret,
			const struct m0_net_kit_addr *passive)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, ret->dt_bytes, sizeof ret->dt_bytes);
	addr_put(&cur, passive);
	m0_cursor_put_be32(&cur, 0);
	M0_POST(m0_cursor_is_ok(&cur));
	ret->dt_len = (uint32_t)m0_cursor_pos(&cur);
}

int kit_desc_encode_any(const struct m0_net_kit_desc *desc,
			const struct kit_desc_tail   *tail,
			struct m0_net_buf_desc       *ret)
{
	uint8_t         *bytes = m0_net__desc_bytes_get(M0_NET_KIT_DESC_MAX);
	struct m0_cursor cur;
	uint32_t         i;

	M0_BASSERT(HEAD_LEN + sizeof tail->dt_bytes + CRC_LEN <=
		   M0_NET_KIT_DESC_MAX);
	M0_BASSERT((int)M0_NET_KIT_DESC_MAX <= (int)M0_NET__DESC_SLOT_BYTES);
	if (bytes == NULL)
		return -ENOMEM;
	m0_cursor_init(&cur, bytes, M0_NET_KIT_DESC_MAX);
	head_put(&cur, desc);
	/* Bytes copied beyond the end are for the checksum, or unused. */
	for (i = 0; i < tail->dt_len; i += KIT_DESC_TAIL_STEP)
		memcpy(bytes + HEAD_LEN + i, tail->dt_bytes + i,
		       KIT_DESC_TAIL_STEP);
	(void)m0_cursor_skip(&cur, tail->dt_len);
	desc_end(&cur, ret);
	return 0;
}

static void addr_get(struct m0_cursor *cur, struct m0_net_kit_addr *ret)
{
	const uint8_t *bytes =
		m0_cursor_get_opaque(cur, M0_NET_KIT_ADDR_MAX, &ret->nka_len);
	uint32_t i;

	/* With what fills the last word: a call would take longer. */
	for (i = 0; i < ret->nka_len; i += sizeof(uint32_t))
		memcpy(ret->nka_bytes + i, bytes + i, sizeof(uint32_t));
}

/* False: of another version. */
static bool head_get(const uint8_t *head, struct m0_net_kit_desc *ret)
{
	struct m0_cursor cur;
	uint32_t         version;

	m0_cursor_init_const(&cur, head, HEAD_LEN);
	version = m0_cursor_get_be32(&cur);
	ret->nks_qtype = m0_cursor_get_be32(&cur);
	ret->nks_id = m0_cursor_get_be64(&cur);
	ret->nks_size = m0_cursor_get_be64(&cur);
	ret->nks_incarnation = m0_cursor_get_be64(&cur);
	return version == DESC_VERSION;
}

int m0_net_kit_desc_decode(const struct m0_net_buf_desc *bytes,
			   struct m0_net_kit_desc       *ret)
{
	struct m0_cursor cur;
	const uint8_t   *head;
	uint32_t         crc;

	m0_cursor_init_const(&cur, bytes->nbd_data, bytes->nbd_len);
	head = m0_cursor_skip(&cur, HEAD_LEN);
	if (head == NULL || !head_get(head, ret))
		return -EINVAL;
	addr_get(&cur, &ret->nks_passive);
	addr_get(&cur, &ret->nks_active);
	if (!m0_cursor_is_ok(&cur))
		return -EINVAL;
	crc = m0_os_crc32c(0, bytes->nbd_data, m0_cursor_pos(&cur));
	if (m0_cursor_get_be32(&cur) != crc || !m0_cursor_is_ok(&cur) ||
	    m0_cursor_left(&cur) > 0)
		return -EINVAL;
	if (!m0_net__qt_is_passive(ret->nks_qtype) || ret->nks_size == 0 ||
	    ret->nks_passive.nka_len == 0)
		return -EINVAL;
	return 0;
}

m0_bcount_t m0_net_kit_get_max_buffer_desc_size(const struct m0_net_domain *dom)
{
	(void)dom;
	return M0_NET_KIT_DESC_MAX;
}
