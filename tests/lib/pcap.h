/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Recorded traffic: the TCP connections of a pcap file, put together again, as
 * what each side said and when. For tests that replay a recorded dialogue, see
 * golden/dialogue.h.
 */
#ifndef M0_TESTS_LIB_PCAP_H
#define M0_TESTS_LIB_PCAP_H

#include "m0/base.h"

/** The two sides of a connection, as indices. */
enum pcap_side {
	/** Side that connected. */
	PCAP_INITIATOR = 0,
	PCAP_LISTENER = 1
};

enum pcap_kind {
	PCAP_BYTES,
	PCAP_FIN,
	PCAP_RESET
};

/** Something that one side said. */
struct pcap_event {
	enum pcap_kind pv_kind;
	enum pcap_side pv_from;
	/**
	 * Since the first packet of the file; of bytes, when they and all that
	 * come before them were there.
	 */
	m0_time_t pv_time_ns;
	/** Within the pcb_bytes of its side. */
	size_t pv_at;
	size_t pv_nr;
};

/** Address and port; IPv4 addresses have 4 bytes, the others 16. */
struct pcap_end {
	uint8_t  pe_addr[16];
	size_t   pe_addr_bytes;
	uint16_t pe_port;
};

/** All that one side said. */
struct pcap_bytes {
	uint8_t *pcb_bytes;
	size_t   pcb_nr;
};

/** One connection. */
struct pcap_stream {
	struct pcap_end    ps_end[2];
	struct pcap_bytes  ps_said[2];
	struct pcap_event *ps_events;
	size_t             ps_events_nr;
	/** Reassembly. */
	struct pcap_way *ps_way[2];
};

struct pcap {
	/** In the order of their SYNs. */
	struct pcap_stream *pc_streams;
	size_t              pc_streams_nr;
	/** TCP packets of no connection whose SYN is in the file. */
	size_t pc_strays_nr;
	/** Bytes that never came to be in order: something was not recorded. */
	size_t pc_lost_bytes;
};

/**
 * Reads a file of link type Ethernet, raw IP or Linux "cooked"; IPv4 and IPv6
 * without extension headers. Other packets are passed over.
 * @retval -errno   cannot be read.
 * @retval -EPROTO  is no pcap file of this byte order, of another link type, or
 *                  has packets that were cut.
 */
int  pcap_load(struct pcap *pcap, const char *path);
void pcap_free(struct pcap *pcap);

/** The bytes of an event of kind PCAP_BYTES. */
static inline const uint8_t *pcap_event_bytes(const struct pcap_stream *stream,
					      const struct pcap_event  *event)
{
	return stream->ps_said[event->pv_from].pcb_bytes + event->pv_at;
}

#endif /* M0_TESTS_LIB_PCAP_H */
