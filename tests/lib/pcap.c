/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "lib/pcap.h"

enum {
	MAGIC_US = (int)0xa1b2c3d4,
	MAGIC_NS = (int)0xa1b23c4d,
	LINK_ETHERNET = 1,
	LINK_RAW = 101,
	LINK_COOKED = 113,
	LINK_COOKED2 = 276,
	ETHER_IP4 = 0x0800,
	ETHER_IP6 = 0x86dd,
	IP_TCP = 6,
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_ACK = 0x10,
	FILE_BYTES_MAX = 64 << 20
};

/** Bytes that came before others that precede them. */
struct early {
	struct early  *ea_next;
	uint32_t       ea_seq;
	const uint8_t *ea_bytes;
	size_t         ea_nr;
	bool           ea_fin;
};

/** Reassembly of one direction. */
struct pcap_way {
	uint32_t      pw_seq;
	bool          pw_begun;
	bool          pw_ended;
	struct early *pw_early;
};

/** One packet of TCP. */
struct packet {
	struct pcap_end pk_from;
	struct pcap_end pk_to;
	uint32_t        pk_seq;
	uint8_t         pk_flags;
	const uint8_t  *pk_bytes;
	size_t          pk_nr;
	m0_time_t       pk_time_ns;
};

static void *enlarged(void *array, size_t nr, size_t size)
{
	void *more = realloc(array, nr * size);

	M0_ASSERT(more != NULL);
	return more;
}

/* -- connections ----------------------------------------------------------- */

static struct pcap_event *event_add(struct pcap_stream *stream,
				    enum pcap_kind kind, enum pcap_side from,
				    m0_time_t time_ns)
{
	struct pcap_event *event;

	stream->ps_events = enlarged(stream->ps_events,
				     stream->ps_events_nr + 1, sizeof *event);
	event = &stream->ps_events[stream->ps_events_nr++];
	*event = (struct pcap_event){ .pv_kind = kind,
				      .pv_from = from,
				      .pv_time_ns = time_ns };
	return event;
}

static void bytes_add(struct pcap_stream *stream, enum pcap_side from,
		      m0_time_t time_ns, const uint8_t *bytes, size_t nr)
{
	struct pcap_bytes *said = &stream->ps_said[from];
	struct pcap_event *event;

	if (nr == 0)
		return;
	event = event_add(stream, PCAP_BYTES, from, time_ns);
	event->pv_at = said->pcb_nr;
	event->pv_nr = nr;
	said->pcb_bytes = enlarged(said->pcb_bytes, said->pcb_nr + nr, 1);
	memcpy(said->pcb_bytes + said->pcb_nr, bytes, nr);
	said->pcb_nr += nr;
}

/** Takes what is in order now; false if it comes too early. */
static bool way_take(struct pcap_stream *stream, enum pcap_side from,
		     m0_time_t time_ns, const struct early *part)
{
	struct pcap_way *way = stream->ps_way[from];
	uint32_t         behind = way->pw_seq - part->ea_seq;

	if (behind > UINT32_MAX / 2)
		return false;
	if (part->ea_nr >= behind) {
		bytes_add(stream, from, time_ns, part->ea_bytes + behind,
			  part->ea_nr - behind);
		way->pw_seq = part->ea_seq + (uint32_t)part->ea_nr;
		if (part->ea_fin && !way->pw_ended) {
			way->pw_ended = true;
			++way->pw_seq;
			(void)event_add(stream, PCAP_FIN, from, time_ns);
		}
	}
	return true;
}

/** Takes early parts until none is in order. */
static void way_catch_up(struct pcap_stream *stream, enum pcap_side from,
			 m0_time_t time_ns)
{
	struct early **at = &stream->ps_way[from]->pw_early;
	struct early  *part;

	while ((part = *at) != NULL) {
		if (!way_take(stream, from, time_ns, part)) {
			at = &part->ea_next;
			continue;
		}
		*at = part->ea_next;
		free(part);
		at = &stream->ps_way[from]->pw_early;
	}
}

static void stream_take(struct pcap_stream *stream, enum pcap_side from,
			const struct packet *packet)
{
	struct pcap_way *way = stream->ps_way[from];
	struct early     part = { .ea_seq = packet->pk_seq,
				  .ea_bytes = packet->pk_bytes,
				  .ea_nr = packet->pk_nr,
				  .ea_fin = packet->pk_flags & TCP_FIN };
	struct early    *kept;

	if (!way->pw_begun) {
		way->pw_seq = packet->pk_seq;
		way->pw_begun = true;
	}
	if ((packet->pk_flags & TCP_RST) != 0) {
		(void)event_add(stream, PCAP_RESET, from, packet->pk_time_ns);
		return;
	}
	if (way_take(stream, from, packet->pk_time_ns, &part)) {
		way_catch_up(stream, from, packet->pk_time_ns);
		return;
	}
	kept = enlarged(NULL, 1, sizeof *kept);
	*kept = part;
	kept->ea_next = way->pw_early;
	way->pw_early = kept;
}

static bool end_eq(const struct pcap_end *left, const struct pcap_end *right)
{
	return left->pe_port == right->pe_port &&
	       left->pe_addr_bytes == right->pe_addr_bytes &&
	       memcmp(left->pe_addr, right->pe_addr, left->pe_addr_bytes) == 0;
}

/** The latest connection between these two; NULL if there is none. */
static struct pcap_stream *stream_find(struct pcap         *pcap,
				       const struct packet *packet,
				       enum pcap_side      *ret_from)
{
	struct pcap_stream *stream;
	size_t              i;
	int                 from;

	for (i = pcap->pc_streams_nr; i-- > 0;) {
		stream = &pcap->pc_streams[i];
		for (from = 0; from < 2; ++from) {
			if (!end_eq(&stream->ps_end[from], &packet->pk_from) ||
			    !end_eq(&stream->ps_end[1 - from], &packet->pk_to))
				continue;
			*ret_from = (enum pcap_side)from;
			return stream;
		}
	}
	return NULL;
}

static void stream_add(struct pcap *pcap, const struct packet *packet)
{
	struct pcap_stream *stream;
	int                 side;

	pcap->pc_streams = enlarged(pcap->pc_streams, pcap->pc_streams_nr + 1,
				    sizeof *stream);
	stream = &pcap->pc_streams[pcap->pc_streams_nr++];
	*stream = (struct pcap_stream){ .ps_end = { packet->pk_from,
						    packet->pk_to } };
	for (side = 0; side < 2; ++side) {
		stream->ps_way[side] =
			enlarged(NULL, 1, sizeof *stream->ps_way[side]);
		*stream->ps_way[side] = (struct pcap_way){};
	}
	stream->ps_way[PCAP_INITIATOR]->pw_begun = true;
	stream->ps_way[PCAP_INITIATOR]->pw_seq = packet->pk_seq + 1;
}

static void packet_take(struct pcap *pcap, const struct packet *packet)
{
	enum pcap_side      from = PCAP_INITIATOR;
	struct pcap_stream *stream = stream_find(pcap, packet, &from);
	struct pcap_way    *way = stream != NULL ? stream->ps_way[from] : NULL;

	if ((packet->pk_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN) {
		/* Not again, unless it is another connection. */
		if (stream == NULL || packet->pk_seq + 1 != way->pw_seq)
			stream_add(pcap, packet);
	} else if (stream == NULL) {
		++pcap->pc_strays_nr;
	} else if ((packet->pk_flags & TCP_SYN) != 0) {
		way->pw_begun = true;
		way->pw_seq = packet->pk_seq + 1;
	} else {
		stream_take(stream, from, packet);
	}
}

/* -- packets --------------------------------------------------------------- */

/** @return the type of what follows the link's header; 0: none we know. */
static uint16_t link_get(struct m0_cursor *cur, uint32_t link)
{
	uint16_t type = 0;

	switch (link) {
	case LINK_ETHERNET:
		(void)m0_cursor_skip(cur, 12);
		return m0_cursor_get_be16(cur);
	case LINK_COOKED:
		(void)m0_cursor_skip(cur, 14);
		return m0_cursor_get_be16(cur);
	case LINK_COOKED2:
		type = m0_cursor_get_be16(cur);
		(void)m0_cursor_skip(cur, 18);
		return type;
	default:
		if (m0_cursor_left(cur) > 0)
			type = *cur->cu_at >> 4 == 4 ? ETHER_IP4 : ETHER_IP6;
		return type;
	}
}

/** Lets the cursor end after `nr` more bytes: padding may follow. */
static void cursor_cut(struct m0_cursor *cur, size_t nr)
{
	if (nr > m0_cursor_left(cur))
		m0_cursor_fail(cur);
	else
		cur->cu_end = cur->cu_at + nr;
}

static void addr_get(struct m0_cursor *cur, size_t nr, struct pcap_end *end)
{
	end->pe_addr_bytes = nr;
	m0_cursor_get_bytes(cur, end->pe_addr, nr);
}

/** @return the protocol above. */
static uint8_t ip4_get(struct m0_cursor *cur, struct packet *packet)
{
	size_t   head = (m0_cursor_get_u8(cur) & 15U) * 4U;
	uint16_t whole;
	uint8_t  proto;

	(void)m0_cursor_skip(cur, 1);
	whole = m0_cursor_get_be16(cur);
	(void)m0_cursor_skip(cur, 5);
	proto = m0_cursor_get_u8(cur);
	(void)m0_cursor_skip(cur, 2);
	addr_get(cur, 4, &packet->pk_from);
	addr_get(cur, 4, &packet->pk_to);
	if (head < 20 || whole < head)
		m0_cursor_fail(cur);
	(void)m0_cursor_skip(cur, head - 20);
	cursor_cut(cur, whole - head);
	return proto;
}

static uint8_t ip6_get(struct m0_cursor *cur, struct packet *packet)
{
	uint16_t nr;
	uint8_t  proto;

	(void)m0_cursor_skip(cur, 4);
	nr = m0_cursor_get_be16(cur);
	proto = m0_cursor_get_u8(cur);
	(void)m0_cursor_skip(cur, 1);
	addr_get(cur, 16, &packet->pk_from);
	addr_get(cur, 16, &packet->pk_to);
	cursor_cut(cur, nr);
	return proto;
}

static void tcp_get(struct m0_cursor *cur, struct packet *packet)
{
	size_t head;

	packet->pk_from.pe_port = m0_cursor_get_be16(cur);
	packet->pk_to.pe_port = m0_cursor_get_be16(cur);
	packet->pk_seq = m0_cursor_get_be32(cur);
	(void)m0_cursor_skip(cur, 4);
	head = (size_t)(m0_cursor_get_u8(cur) >> 4) * 4;
	packet->pk_flags = m0_cursor_get_u8(cur);
	(void)m0_cursor_skip(cur, head - 14);
	packet->pk_nr = m0_cursor_left(cur);
	packet->pk_bytes = m0_cursor_skip(cur, packet->pk_nr);
}

/** False: no TCP. */
static bool packet_get(struct m0_cursor *cur, uint32_t link,
		       struct packet *packet)
{
	uint8_t proto = 0;

	switch (link_get(cur, link)) {
	case ETHER_IP4:
		proto = ip4_get(cur, packet);
		break;
	case ETHER_IP6:
		proto = ip6_get(cur, packet);
		break;
	}
	if (proto == IP_TCP)
		tcp_get(cur, packet);
	return proto == IP_TCP && m0_cursor_is_ok(cur);
}

/* -- files ----------------------------------------------------------------- */

static int packets_get(struct pcap *pcap, struct m0_cursor *cur)
{
	uint32_t         magic = m0_cursor_get_le32(cur);
	m0_time_t        first_ns = 0;
	m0_time_t        time_ns;
	uint32_t         link;
	uint32_t         nr;
	uint32_t         whole;
	void            *at;
	struct m0_cursor part;
	struct packet    packet;

	(void)m0_cursor_skip(cur, 16);
	link = m0_cursor_get_le32(cur);
	if ((magic != (uint32_t)MAGIC_US && magic != (uint32_t)MAGIC_NS) ||
	    !M0_IN(link, (LINK_ETHERNET, LINK_RAW, LINK_COOKED, LINK_COOKED2)))
		return -EPROTO;
	while (m0_cursor_left(cur) > 0) {
		time_ns = m0_cursor_get_le32(cur) * UINT64_C(1000000000);
		time_ns += m0_cursor_get_le32(cur) *
			   (magic == (uint32_t)MAGIC_US ? UINT64_C(1000) : 1);
		nr = m0_cursor_get_le32(cur);
		whole = m0_cursor_get_le32(cur);
		at = m0_cursor_skip(cur, nr);
		if (at == NULL || nr < whole)
			return -EPROTO;
		if (first_ns == 0)
			first_ns = time_ns;
		m0_cursor_init_const(&part, at, nr);
		packet = (struct packet){ .pk_time_ns = time_ns - first_ns };
		if (packet_get(&part, link, &packet))
			packet_take(pcap, &packet);
	}
	return 0;
}

/** Frees what reassembly needed. */
static void ways_free(struct pcap *pcap)
{
	struct pcap_way *way;
	struct early    *part;
	size_t           i;

	for (i = 0; i < 2 * pcap->pc_streams_nr; ++i) {
		way = pcap->pc_streams[i / 2].ps_way[i % 2];
		while (way != NULL && (part = way->pw_early) != NULL) {
			pcap->pc_lost_bytes += part->ea_nr;
			way->pw_early = part->ea_next;
			free(part);
		}
		free(way);
		pcap->pc_streams[i / 2].ps_way[i % 2] = NULL;
	}
}

int pcap_load(struct pcap *pcap, const char *path)
{
	FILE            *file = fopen(path, "rb");
	struct m0_cursor cur;
	uint8_t         *bytes;
	size_t           nr;
	int              rc;

	*pcap = (struct pcap){};
	if (file == NULL)
		return -errno;
	bytes = enlarged(NULL, FILE_BYTES_MAX, 1);
	nr = fread(bytes, 1, FILE_BYTES_MAX, file);
	(void)fclose(file);
	m0_cursor_init_const(&cur, bytes, nr);
	rc = packets_get(pcap, &cur);
	ways_free(pcap);
	free(bytes);
	if (rc != 0)
		pcap_free(pcap);
	return rc;
}

void pcap_free(struct pcap *pcap)
{
	size_t i;

	for (i = 0; i < pcap->pc_streams_nr; ++i) {
		free(pcap->pc_streams[i].ps_said[PCAP_INITIATOR].pcb_bytes);
		free(pcap->pc_streams[i].ps_said[PCAP_LISTENER].pcb_bytes);
		free(pcap->pc_streams[i].ps_events);
	}
	free(pcap->pc_streams);
	*pcap = (struct pcap){};
}
