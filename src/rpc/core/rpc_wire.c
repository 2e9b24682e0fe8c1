/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cursor.h"
#include "rpc/core/rpc_wire.h"

enum {
	KINDS = M0_RPC_WIRE_REQUEST | M0_RPC_WIRE_REPLY | M0_RPC_WIRE_ONEWAY,
	FLAGS = KINDS | M0_RPC_WIRE_DUP | M0_RPC_WIRE_CANCEL |
		M0_RPC_WIRE_SKIP | M0_RPC_WIRE_ACK,
	/** Common prefix of packets of all versions. */
	PREFIX_BYTES = 16,
	/** Where the sum is, and where what it covers begins. */
	SUM_AT = 4,
	SUM_FROM = 8,
	/** Most negative status. */
	ERRNO_MAX = 4095
};

/* ------------------------------------------------------------- encoder -- */

/** In line where a packet is put together: there the fields are in registers. */
inline __attribute__((always_inline)) void m0_rpc__wire_item_put(
	void *at, const struct m0_rpc_wire_item *item)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, at, M0_RPC_WIRE_ITEM_BYTES);
	m0_cursor_put_le32(&cur, item->rwi_opcode);
	m0_cursor_put_le16(&cur, item->rwi_flags);
	m0_cursor_put_u8(&cur, item->rwi_prio);
	m0_cursor_put_u8(&cur, 0);
	m0_cursor_put_le32(&cur, item->rwi_size);
	m0_cursor_put_le32(&cur, item->rwi_stream);
	m0_cursor_put_le64(&cur, item->rwi_session);
	m0_cursor_put_le64(&cur, item->rwi_xid);
	m0_cursor_put_le64(&cur, item->rwi_ack);
	m0_cursor_put_le32(&cur, item->rwi_remaining_ms);
	m0_cursor_put_le32(&cur, (uint32_t)item->rwi_status);
}

size_t m0_rpc__wire_pad_put(void *at, m0_bcount_t nr)
{
	size_t pad = (size_t)(m0_rpc__wire_padded(nr) - nr);

	if (pad > 0)
		memset(at, 0, pad);
	return pad;
}

/** Into memory of a length that is a constant: nothing is asked of each number. */
static inline __attribute__((always_inline)) void prefix_put(
	struct m0_cursor *cur, uint16_t version, uint32_t bytes)
{
	m0_cursor_put_le32(cur, M0_RPC_WIRE_MAGIC);
	m0_cursor_put_le32(cur, 0);
	m0_cursor_put_le16(cur, version);
	m0_cursor_put_le16(cur, 0);
	m0_cursor_put_le32(cur, bytes);
}

static void sum_put(void *packet, uint32_t crc)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, (uint8_t *)packet + SUM_AT, sizeof crc);
	m0_cursor_put_le32(&cur, crc);
}

uint32_t m0_rpc__wire_seal(const struct m0_rpc_wire_packet *packet,
			   const struct m0_rpc_wire_seg *seg, unsigned seg_nr,
			   const struct m0_rpc_wire_sum *sum)
{
	uint8_t         *head = seg[0].rwg_base;
	struct m0_cursor cur;
	size_t           bytes = 0;
	uint32_t         crc;
	unsigned         i;

	for (i = 0; i < seg_nr; ++i)
		bytes += seg[i].rwg_nr;
	M0_PRE(seg[0].rwg_nr >= M0_RPC_WIRE_PACKET_BYTES);
	M0_PRE(bytes <= M0_RPC_WIRE_PACKET_MAX);
	M0_PRE(bytes % M0_RPC_WIRE_ALIGN == 0 && packet->rwp_items_nr > 0);
	m0_cursor_init(&cur, head, M0_RPC_WIRE_PACKET_BYTES);
	prefix_put(&cur, M0_RPC_WIRE_VERSION, (uint32_t)bytes);
	m0_cursor_put_le32(&cur, packet->rwp_items_nr);
	m0_cursor_put_le32(&cur, packet->rwp_epoch);
	m0_cursor_put_le64(&cur, packet->rwp_life);
	m0_cursor_put_le64(&cur, packet->rwp_sender.u_hi);
	m0_cursor_put_le64(&cur, packet->rwp_sender.u_lo);
	m0_cursor_put_le64(&cur, packet->rwp_incarnation);
	crc = sum->rws_add(0, head + SUM_FROM, seg[0].rwg_nr - SUM_FROM);
	for (i = 1; i < seg_nr; ++i)
		crc = sum->rws_add(crc, seg[i].rwg_base, seg[i].rwg_nr);
	sum_put(head, crc);
	return (uint32_t)bytes;
}

void m0_rpc__wire_refusal_put(void *at, const struct m0_rpc_wire_sum *sum)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, at, M0_RPC_WIRE_REFUSAL_BYTES);
	prefix_put(&cur, 0, M0_RPC_WIRE_REFUSAL_BYTES);
	m0_cursor_put_le16(&cur, M0_RPC_WIRE_VERSION);
	m0_cursor_put_le16(&cur, M0_RPC_WIRE_VERSION);
	m0_cursor_put_le32(&cur, 0);
	sum_put(at, sum->rws_add(0, (uint8_t *)at + SUM_FROM,
				 M0_RPC_WIRE_REFUSAL_BYTES - SUM_FROM));
}

/* ------------------------------------------------------------- decoder -- */

static int refusal_get(struct m0_cursor *cur, struct m0_rpc_wire_packet *packet)
{
	packet->rwp_lowest = m0_cursor_get_le16(cur);
	packet->rwp_highest = m0_cursor_get_le16(cur);
	if (m0_cursor_get_le32(cur) != 0 || !m0_cursor_is_ok(cur) ||
	    m0_cursor_left(cur) != 0 || packet->rwp_lowest == 0 ||
	    packet->rwp_lowest > packet->rwp_highest)
		return -EPROTO;
	return -EOPNOTSUPP;
}

static int header_get(struct m0_cursor *cur, struct m0_rpc_wire_packet *packet)
{
	const size_t     nr = M0_RPC_WIRE_PACKET_BYTES - PREFIX_BYTES;
	const void      *at = m0_cursor_skip(cur, nr);
	struct m0_cursor head;

	if (at == NULL)
		return -EPROTO;
	/* All of it is there: nothing is asked of each number. */
	m0_cursor_init_const(&head, at, nr);
	packet->rwp_items_nr = m0_cursor_get_le32(&head);
	packet->rwp_epoch = m0_cursor_get_le32(&head);
	packet->rwp_life = m0_cursor_get_le64(&head);
	packet->rwp_sender.u_hi = m0_cursor_get_le64(&head);
	packet->rwp_sender.u_lo = m0_cursor_get_le64(&head);
	packet->rwp_incarnation = m0_cursor_get_le64(&head);
	if (packet->rwp_items_nr == 0 ||
	    packet->rwp_items_nr > m0_cursor_left(cur) / M0_RPC_WIRE_ITEM_BYTES)
		return -EPROTO;
	return 0;
}

int m0_rpc__wire_open(struct m0_rpc_wire_in     *in,
		      struct m0_rpc_wire_packet *packet, const void *bytes,
		      size_t nr, const struct m0_rpc_wire_sum *sum)
{
	struct m0_cursor cur;
	uint32_t         magic;
	uint32_t         crc;
	uint16_t         flags;
	int              rc;

	memset(packet, 0, sizeof *packet);
	memset(in, 0, sizeof *in);
	m0_cursor_init_const(&cur, bytes, nr);
	magic = m0_cursor_get_le32(&cur);
	crc = m0_cursor_get_le32(&cur);
	packet->rwp_version = m0_cursor_get_le16(&cur);
	flags = m0_cursor_get_le16(&cur);
	packet->rwp_bytes = m0_cursor_get_le32(&cur);
	if (!m0_cursor_is_ok(&cur) || magic != M0_RPC_WIRE_MAGIC ||
	    packet->rwp_bytes != nr || nr > M0_RPC_WIRE_PACKET_MAX ||
	    nr % M0_RPC_WIRE_ALIGN != 0)
		return -EPROTO;
	if (crc !=
	    sum->rws_add(0, (const uint8_t *)bytes + SUM_FROM, nr - SUM_FROM))
		return -EBADMSG;
	if (packet->rwp_version > M0_RPC_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	if (flags != 0)
		return -EPROTO;
	if (packet->rwp_version == 0)
		return refusal_get(&cur, packet);
	rc = header_get(&cur, packet);
	if (rc == 0) {
		in->rwn_at = cur.cu_at;
		in->rwn_end = cur.cu_end;
		in->rwn_left_nr = packet->rwp_items_nr;
	}
	return rc;
}

/** Is this a header that an encoder of ours would put? `prio` has the zero behind
 * it as its upper half. */
static inline bool item_is_right(const struct m0_rpc_wire_item *item,
				 uint16_t                       prio)
{
	uint16_t kind = item->rwi_flags & KINDS;

	return (item->rwi_flags & ~FLAGS) == 0 &&
	       M0_IN(kind, (M0_RPC_WIRE_REQUEST, M0_RPC_WIRE_REPLY,
			    M0_RPC_WIRE_ONEWAY)) &&
	       item->rwi_opcode != 0 && prio < M0_RPC_ITEM_PRIO_NR &&
	       (item->rwi_status == 0 ||
		(item->rwi_status < 0 && item->rwi_status >= -ERRNO_MAX &&
		 kind == M0_RPC_WIRE_REPLY));
}

/** Passes a body and its padding; NULL: not there, or padded with something. */
static inline const void *body_get(struct m0_cursor *cur, uint32_t nr)
{
	const uint8_t *body = m0_cursor_skip(cur, m0_rpc__wire_padded(nr));
	size_t         at;

	if (body == NULL)
		return NULL;
	for (at = nr; at % M0_RPC_WIRE_ALIGN != 0; ++at) {
		if (body[at] != 0)
			return NULL;
	}
	return body;
}

/** All of a header is there: its bounds are a constant, nothing is asked of
 * each number. */
static inline __attribute__((always_inline)) bool item_get(
	struct m0_rpc_wire_item *item, const void *at)
{
	struct m0_cursor cur;
	uint16_t         prio;

	m0_cursor_init_const(&cur, at, M0_RPC_WIRE_ITEM_BYTES);
	item->rwi_opcode = m0_cursor_get_le32(&cur);
	item->rwi_flags = m0_cursor_get_le16(&cur);
	prio = m0_cursor_get_le16(&cur);
	item->rwi_prio = (uint8_t)prio;
	item->rwi_size = m0_cursor_get_le32(&cur);
	item->rwi_stream = m0_cursor_get_le32(&cur);
	item->rwi_session = m0_cursor_get_le64(&cur);
	item->rwi_xid = m0_cursor_get_le64(&cur);
	item->rwi_ack = m0_cursor_get_le64(&cur);
	item->rwi_remaining_ms = m0_cursor_get_le32(&cur);
	item->rwi_status = (int32_t)m0_cursor_get_le32(&cur);
	return item_is_right(item, prio);
}

/** In line, too, where a packet is taken apart. */
inline __attribute__((always_inline)) int m0_rpc__wire_next(
	struct m0_rpc_wire_in *in, struct m0_rpc_wire_item *item,
	const void **ret_body)
{
	struct m0_cursor cur;
	const void      *at;
	const void      *body = NULL;

	if (in->rwn_left_nr == 0)
		return in->rwn_at == in->rwn_end ? 0 : -EPROTO;
	m0_cursor_init_const(&cur, in->rwn_at,
			     (size_t)(in->rwn_end - in->rwn_at));
	at = m0_cursor_skip(&cur, M0_RPC_WIRE_ITEM_BYTES);
	if (at != NULL && item_get(item, at))
		body = body_get(&cur, item->rwi_size);
	*ret_body = body;
	/* Not passed: a later call finds the same. */
	if (body == NULL)
		return -EPROTO;
	in->rwn_at = cur.cu_at;
	--in->rwn_left_nr;
	return 1;
}
