/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Writes the bytes of streams as a pcap file: packets with the least headers
 * that allow to put the streams together again. Checksums are 0, which readers
 * take for "not computed".
 */
#include <stdlib.h>

#include "sim/net/sim_net_internal.h"

enum {
	LINK_ETHERNET = 1,
	SNAP_BYTES = 65535,
	PART_BYTES = 60000,
	ETHER_BYTES = 14,
	TCP_BYTES = 20,
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	PROTO_TCP = 6,
	FLAG_SYN = 0x02,
	FLAG_PUSH = 0x08,
	FLAG_ACK = 0x10
};

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static void file_put(const void *bytes, size_t nr)
{
	M0_ASSERT(fwrite(bytes, 1, nr, m0_sim__net()->sin_pcap) == nr);
}

void m0_sim_net_pcap(const char *path)
{
	struct sim_net *net = m0_sim__net();
	/* Numbers in the byte order of this host; readers detect it by the
	 * magic. */
	const uint32_t magic = UINT32_C(0xa1b2c3d4);
	const uint16_t version[] = { 2, 4 };
	const uint32_t rest[] = { 0, 0, SNAP_BYTES, LINK_ETHERNET };

	M0_PRE(net->sin_pcap == NULL);
	net->sin_pcap = fopen(path, "w");
	if (net->sin_pcap == NULL)
		m0_sim_fail(net->sin_sim, "%s cannot be written", path);
	file_put(&magic, sizeof magic);
	file_put(version, sizeof version);
	file_put(rest, sizeof rest);
}

static size_t ip_put(uint8_t *at, const struct m0_host_addr *from,
		     const struct m0_host_addr *to, size_t bytes)
{
	if (from->sa_bytes_nr == 4) {
		put16(at - 2, 0x0800);
		at[0] = 0x45;
		put16(at + 2, (unsigned)(IP4_BYTES + bytes));
		at[8] = 64;
		at[9] = PROTO_TCP;
		memcpy(at + 12, from->sa_bytes, 4);
		memcpy(at + 16, to->sa_bytes, 4);
		return IP4_BYTES;
	}
	put16(at - 2, 0x86dd);
	at[0] = 0x60;
	put16(at + 4, (unsigned)bytes);
	at[6] = PROTO_TCP;
	at[7] = 64;
	memcpy(at + 8, from->sa_bytes, 16);
	memcpy(at + 24, to->sa_bytes, 16);
	return IP6_BYTES;
}

static void packet_put(struct sim_wire *wire, int end, unsigned flags,
		       const void *bytes, size_t nr)
{
	const struct m0_host_addr *from = &wire->siw_end[end].sie_addr;
	const struct m0_host_addr *to = &wire->siw_end[1 - end].sie_addr;
	uint8_t   head[ETHER_BYTES + IP6_BYTES + TCP_BYTES] = {};
	m0_time_t now = m0_sim_elapsed_ns(m0_sim__net()->sin_sim);
	size_t    at = ETHER_BYTES +
		    ip_put(head + ETHER_BYTES, from, to, TCP_BYTES + nr);
	uint32_t record[4];

	put16(head + at, from->sa_port);
	put16(head + at + 2, to->sa_port);
	put32(head + at + 4, wire->siw_seq[end]);
	if (flags & FLAG_ACK)
		put32(head + at + 8, wire->siw_seq[1 - end]);
	head[at + 12] = TCP_BYTES / 4 << 4;
	head[at + 13] = (uint8_t)flags;
	put16(head + at + 14, 65535);
	at += TCP_BYTES;
	record[0] = (uint32_t)(now / M0_TIME_ONE_SECOND);
	record[1] = (uint32_t)(now % M0_TIME_ONE_SECOND / 1000);
	record[2] = record[3] = (uint32_t)(at + nr);
	file_put(record, sizeof record);
	file_put(head, at);
	if (nr > 0)
		file_put(bytes, nr);
	wire->siw_seq[end] += (uint32_t)nr + (flags & FLAG_SYN ? 1 : 0);
}

static void bytes_record(struct m0_sim_stream *stream, int end,
			 const void *bytes, size_t nr)
{
	const uint8_t *at = bytes;
	size_t         part;

	for (; nr > 0; nr -= part, at += part) {
		part = min64u(nr, PART_BYTES);
		packet_put(stream->sst_data, end, FLAG_PUSH | FLAG_ACK, at,
			   part);
	}
}

void m0_sim__pcap_wire(struct sim_wire *wire)
{
	if (m0_sim__net()->sin_pcap == NULL)
		return;
	wire->siw_stream.sst_record = bytes_record;
	packet_put(wire, 0, FLAG_SYN, NULL, 0);
	packet_put(wire, 1, FLAG_SYN | FLAG_ACK, NULL, 0);
	packet_put(wire, 0, FLAG_ACK, NULL, 0);
}

void m0_sim__pcap_fini(struct sim_net *net)
{
	if (net->sin_pcap != NULL)
		M0_ASSERT(fclose(net->sin_pcap) == 0);
	net->sin_pcap = NULL;
}
