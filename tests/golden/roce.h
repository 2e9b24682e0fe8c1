/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Recorded RoCE v2: packets of InfiniBand in UDP, without their headers. */
#ifndef M0_TESTS_GOLDEN_ROCE_H
#define M0_TESTS_GOLDEN_ROCE_H

#include "m0/base.h"

enum {
	ROCE_PACKETS_MAX = 256,

	/** Opcodes of InfiniBand. */
	ROCE_RC_SEND_ONLY = 0x04,
	ROCE_RC_WRITE_FIRST = 0x06,
	ROCE_UD_SEND_ONLY = 0x64,
	/** Messages of the connection manager. */
	ROCE_CM_REQ = 0x10,
	ROCE_CM_REJ = 0x12,
	ROCE_CM_REP = 0x13
};

struct roce_packet {
	/** Last byte of the sender's IPv4 address. */
	uint8_t rop_from;
	uint8_t rop_opcode;
	/** Bytes after the transport headers that have a fixed length. */
	const uint8_t *rop_bytes;
	size_t         rop_nr;
};

struct roce {
	uint8_t            ro_file[1 << 16];
	struct roce_packet ro_packets[ROCE_PACKETS_MAX];
	size_t             ro_packets_nr;
};

/** @retval -EPROTO  not a file of this kind, or a larger one. */
int roce_load(struct roce *roce, const char *dir, const char *name);
/**
 * The private data of a message of the connection manager, without what rdma_cm
 * puts in front of it in a request.
 * @return NULL if the packet is no message of the kind.
 */
const uint8_t *roce_private(const struct roce_packet *packet, uint16_t attr,
			    size_t *ret_nr);

#endif /* M0_TESTS_GOLDEN_ROCE_H */
