/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * To a receiver of `colibri copy`: noise, damaged messages, copies that are begun
 * and left, blocks that nobody offers.
 */
#include "../../tools/copy/copy_wire.h"
#include "hostile.h"

static bool leads(void *bytes, size_t nr, char ret[HOSTILE_ADDR_MAX])
{
	struct copy_msg msg;

	if (copy_msg_decode(&msg, bytes, nr) != 0 ||
	    msg.cm_type != COPY_OPEN_REPLY || msg.cm_status != 0)
		return false;
	memcpy(ret, msg.cm_text, msg.cm_text_nr);
	ret[msg.cm_text_nr] = '\0';
	return true;
}

static int make(uint8_t *bytes, size_t size, const char *own, uint64_t *seed)
{
	static uint8_t    noise[64];
	static const char names[] = "name\0base";
	uint64_t          conv = m0_rnd(4, seed) == 0 ? 7 : m0_rnd64(seed) | 1;
	struct copy_msg   msg = { .cm_id = (uint32_t)m0_rnd(300, seed) };

	(void)own;
	msg.cm_type = (enum copy_msg_type)(1 + m0_rnd(COPY_BYE, seed));
	msg.cm_conv = m0_rnd(2, seed) == 0 ? 7 : conv;
	msg.cm_offset = m0_rnd(3, seed) == 0 ? 0 : m0_rnd64(seed) >> 1;
	msg.cm_length = 1 + m0_rnd(1 << 20, seed);
	if (msg.cm_type == COPY_BLOCK) {
		msg.cm_offset = 0;
		msg.cm_desc.nbd_data = noise;
		msg.cm_desc.nbd_len = (uint32_t)(1 + m0_rnd(64, seed));
		noise[m0_rnd(64, seed)] = (uint8_t)m0_rnd64(seed);
	}
	if (msg.cm_type == COPY_OPEN) {
		msg.cm_offset = 0;
		msg.cm_block = UINT32_MAX >> m0_rnd(32, seed);
		msg.cm_inflight = (uint32_t)(1 + m0_rnd(256, seed));
		msg.cm_text = names;
		msg.cm_text_nr = (uint32_t)m0_rnd(sizeof names, seed);
	}
	return copy_msg_encode(&msg, bytes, size);
}

const struct hostile hostile = {
	.hst_msg_bytes = COPY_MSG_HEAD_BYTES + COPY_TEXT_MAX,
	.hst_make = make,
	.hst_leads = leads,
};
