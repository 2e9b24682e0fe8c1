/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Blocks of a pcapng file (draft-ietf-opsawg-pcapng), in the byte order of this machine.
 * Packets have the link type 252, "upper protocol": tags that name the dissector, then
 * what it takes. contrib/wireshark/lnet.lua is that dissector, and says what it takes.
 */
#ifndef M0_TOOLS_PCAPNG_H
#define M0_TOOLS_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture_queue.h"

enum {
	PCAPNG_SECTION = 0x0a0d0d0a,
	PCAPNG_INTERFACE = 1,
	PCAPNG_STATISTICS = 5,
	PCAPNG_PACKET = 6,
	PCAPNG_LINKTYPE = 252,
	/** The largest block that is no packet; a packet has no more beside its payload. */
	PCAPNG_SMALL_BYTES = 1024,
	/** The largest block. */
	PCAPNG_BLOCK_MAX = CAPTURE_SNAP_MAX + PCAPNG_SMALL_BYTES,
	/** Type and length, with which a block begins. */
	PCAPNG_HEAD_BYTES = 8
};

/** Blocks that are being made, one after the other. */
struct pcapng {
	char  *pcn_buf;
	size_t pcn_nr;
	size_t pcn_max;
};

/* Each adds a block. Pre: there is room, see the sizes above. */

/** @param application  that writes, at most 64 bytes. */
void pcapng_section(struct pcapng *png, const char *application);
/** The next interface: its NID, and the name of its device, or "". */
void pcapng_interface(struct pcapng *png, const char *name, const char *device,
		      uint32_t snap);
/** @param interface  number, by the order of interfaces from 0. */
void pcapng_packet(struct pcapng *png, uint32_t interface,
		   const struct capture_msg *msg);
/** Messages of an interface, and those that were lost. */
void pcapng_statistics(struct pcapng *png, uint32_t interface, uint64_t time_ns,
		       uint64_t packets_nr, uint64_t lost_nr);

/** A block that was read. */
struct pcapng_block {
	uint32_t pcb_type;
	/** Length of the block. */
	size_t pcb_bytes;
	/** Number of lost messages, if it is a statistics block. */
	uint64_t pcb_lost_nr;
};
/**
 * Reads the first block of `nr` bytes.
 * @return 1; 0: more bytes are needed.
 * @retval -EPROTO  it is no block of pcapng, or is longer than PCAPNG_BLOCK_MAX.
 */
int pcapng_read(struct pcapng_block *ret, const char *bytes, size_t nr);

#endif /* M0_TOOLS_PCAPNG_H */
