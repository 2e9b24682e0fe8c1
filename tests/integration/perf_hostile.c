/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sends to `colibri perf --listen`: noise, damaged messages, handshakes of clients
 * that do not end, rows of all kinds that are started and abandoned, and garbage for
 * the TMs of those.
 */
#include <stdio.h>

#include "../../tools/perf/perf.h"
#include "../../tools/perf/perf_wire.h"
#include "hostile.h"

enum {
	/** Rows are begun often: none is large, but for those that may not be. */
	SIZE_BITS = 14,
	DEPTH_BITS = 5
};

static bool leads(void *bytes, size_t nr, char ret[HOSTILE_ADDR_MAX])
{
	struct perf_msg msg;

	if (perf_msg_decode(&msg, bytes, nr) != 0 ||
	    msg.psg_type != PERF_ROW_REPLY || msg.psg_status != 0)
		return false;
	memcpy(ret, msg.psg_text, msg.psg_text_nr);
	ret[msg.psg_text_nr] = '\0';
	return true;
}

/* Ours, another's, none. */
static const char *addr_make(const char *own, uint64_t *seed)
{
	static const char *const addrs[] = {
		"10.0.0.1@tcp:12345:40:1", "127.0.0.1@tcp:12345:40:4095", "x",
		"::1@tcp:12345:40:1",      "127.0.0.1@tcp:12345:40:*",
	};

	return m0_rnd(4, seed) != 0 ? own
				    : addrs[m0_rnd(ARRAY_SIZE(addrs), seed)];
}

static void row_make(struct perf_msg *msg, const char *own, uint64_t *seed)
{
	msg->psg_test = (uint32_t)m0_rnd(PERF_TESTS_NR, seed);
	msg->psg_size = 1 + m0_rnd(1ULL << m0_rnd(SIZE_BITS, seed), seed);
	msg->psg_depth =
		(uint32_t)(1 + m0_rnd(1ULL << m0_rnd(DEPTH_BITS, seed), seed));
	if (m0_rnd(10, seed) == 0) {
		msg->psg_size = (16ULL << 20) + m0_rnd(2, seed);
		msg->psg_depth = PERF_DEPTH_MAX;
	}
	msg->psg_text = addr_make(own, seed);
	msg->psg_text_nr = (uint32_t)strlen(msg->psg_text);
}

static int make(uint8_t *bytes, size_t size, const char *own, uint64_t *seed)
{
	struct perf_msg msg = {
		.psg_id = (uint32_t)m0_rnd(4, seed),
		.psg_conv = m0_rnd(8, seed) == 0 ? m0_rnd64(seed) | 1 : 7,
	};

	msg.psg_type = (enum perf_msg_type)(1 + m0_rnd(PERF_BYE, seed));
	/* Seldom: a client who has taken leave does no harm. */
	if (msg.psg_type == PERF_BYE && m0_rnd(20, seed) != 0)
		msg.psg_type = PERF_ROW;
	if (msg.psg_type >= PERF_ROW && msg.psg_type <= PERF_LOOK_REPLY)
		msg.psg_row = (uint32_t)m0_rnd(4, seed);
	if (msg.psg_type == PERF_ROW)
		row_make(&msg, own, seed);
	if (msg.psg_type == PERF_LOOK)
		msg.psg_flags = (uint32_t)m0_rnd(2, seed);
	return perf_msg_encode(&msg, bytes, size);
}

const struct hostile hostile = {
	.hst_msg_bytes = PERF_MSG_HEAD_BYTES + PERF_TEXT_MAX,
	.hst_make = make,
	.hst_leads = leads,
};
