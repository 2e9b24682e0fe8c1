/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "base/cursor.h"
#include "golden/roce.h"

enum {
	PCAP_MAGIC = 0xa1b2c3d4,
	PCAP_HEAD_BYTES = 24,
	ETHER_ADDRS_BYTES = 12,
	ETHER_IP4 = 0x0800,
	IP_UDP = 17,
	UDP_PORT = 4791,
	UDP_BYTES = 8,
	/** Base transport header, datagram header, checksum of a packet. */
	BTH_BYTES = 12,
	DETH_BYTES = 8,
	ICRC_BYTES = 4,

	MAD_ATTR_AT = 16,
	MAD_REQ_AT = 164,
	MAD_REQ_BYTES = 56,
	RDMA_CM_BYTES = 36,
	MAD_REP_AT = 60,
	MAD_REP_BYTES = 196,
	MAD_REJ_AT = 108,
	MAD_REJ_BYTES = 148
};

/** Takes the packet of InfiniBand from a datagram. */
static void packet_add(struct roce *roce, uint8_t from, struct m0_cursor udp,
		       size_t nr)
{
	struct roce_packet *packet = &roce->ro_packets[roce->ro_packets_nr];
	uint8_t             opcode = m0_cursor_get_u8(&udp);
	uint8_t             pad = m0_cursor_get_u8(&udp) >> 4 & 3;
	size_t              heads = BTH_BYTES +
		       (opcode == ROCE_UD_SEND_ONLY ? DETH_BYTES : 0);

	(void)m0_cursor_skip(&udp, heads - 2);
	if (nr < heads + pad + ICRC_BYTES ||
	    roce->ro_packets_nr == ROCE_PACKETS_MAX)
		return;
	nr -= heads + pad + ICRC_BYTES;
	*packet = (struct roce_packet){ .rop_from = from,
					.rop_opcode = opcode,
					.rop_bytes = m0_cursor_skip(&udp, nr),
					.rop_nr = nr };
	if (m0_cursor_is_ok(&udp))
		++roce->ro_packets_nr;
}

/** Takes a frame of Ethernet, if RoCE is in it. */
static void frame_take(struct roce *roce, struct m0_cursor frame)
{
	uint8_t  version;
	uint8_t  protocol;
	uint8_t  from;
	uint16_t port;
	uint16_t bytes;

	(void)m0_cursor_skip(&frame, ETHER_ADDRS_BYTES);
	if (m0_cursor_get_be16(&frame) != ETHER_IP4)
		return;
	version = m0_cursor_get_u8(&frame);
	(void)m0_cursor_skip(&frame, 8);
	protocol = m0_cursor_get_u8(&frame);
	(void)m0_cursor_skip(&frame, 5);
	from = m0_cursor_get_u8(&frame);
	(void)m0_cursor_skip(&frame, 4);
	(void)m0_cursor_get_be16(&frame);
	port = m0_cursor_get_be16(&frame);
	bytes = m0_cursor_get_be16(&frame);
	(void)m0_cursor_get_be16(&frame);
	if (version == 0x45 && protocol == IP_UDP && port == UDP_PORT &&
	    bytes >= UDP_BYTES)
		packet_add(roce, from, frame, bytes - (size_t)UDP_BYTES);
}

static int packets_take(struct roce *roce, size_t nr)
{
	struct m0_cursor cur;
	struct m0_cursor frame;
	uint32_t         bytes;

	m0_cursor_init(&cur, roce->ro_file, nr);
	if (m0_cursor_get_le32(&cur) != PCAP_MAGIC)
		return -EPROTO;
	(void)m0_cursor_skip(&cur, PCAP_HEAD_BYTES - 4);
	while (m0_cursor_left(&cur) > 0) {
		(void)m0_cursor_get_le64(&cur);
		bytes = m0_cursor_get_le32(&cur);
		(void)m0_cursor_get_le32(&cur);
		m0_cursor_init_const(&frame, m0_cursor_skip(&cur, bytes),
				     bytes);
		if (!m0_cursor_is_ok(&cur))
			return -EPROTO;
		frame_take(roce, frame);
	}
	return 0;
}

int roce_load(struct roce *roce, const char *dir, const char *name)
{
	char   path[4096];
	FILE  *file;
	size_t nr;

	(void)snprintf(path, sizeof path, "%s/o2ib/%s.pcap", dir, name);
	file = fopen(path, "rb");
	if (file == NULL)
		return -errno;
	nr = fread(roce->ro_file, 1, sizeof roce->ro_file, file);
	(void)fclose(file);
	roce->ro_packets_nr = 0;
	return nr == sizeof roce->ro_file ? -EPROTO : packets_take(roce, nr);
}

const uint8_t *roce_private(const struct roce_packet *packet, uint16_t attr,
			    size_t *ret_nr)
{
	struct m0_cursor cur;
	size_t           at = attr == ROCE_CM_REQ   ? MAD_REQ_AT + RDMA_CM_BYTES
			      : attr == ROCE_CM_REP ? MAD_REP_AT
						    : MAD_REJ_AT;

	if (packet->rop_opcode != ROCE_UD_SEND_ONLY)
		return NULL;
	m0_cursor_init_const(&cur, packet->rop_bytes, packet->rop_nr);
	(void)m0_cursor_skip(&cur, MAD_ATTR_AT);
	if (m0_cursor_get_be16(&cur) != attr)
		return NULL;
	*ret_nr = attr == ROCE_CM_REQ   ? MAD_REQ_BYTES
		  : attr == ROCE_CM_REP ? MAD_REP_BYTES
					: MAD_REJ_BYTES;
	m0_cursor_init_const(&cur, packet->rop_bytes, packet->rop_nr);
	(void)m0_cursor_skip(&cur, at);
	return m0_cursor_skip(&cur, *ret_nr);
}
