/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "copy_wire.h"
#include "../base/le.h"

enum {
	/** Error numbers fit this on every platform that we know. */
	STATUS_MIN = -4095,
	MODE_MAX = 0777
};

static const char magic[4] = { 'C', 'B', 'C', 'P' };

int copy_msg_encode(const struct copy_msg *msg, void *bytes, size_t size)
{
	bool        block = msg->cm_type == COPY_BLOCK;
	uint8_t    *at = bytes;
	uint32_t    tail = block ? msg->cm_desc.nbd_len : msg->cm_text_nr;
	const void *from = msg->cm_text;

	if (block)
		from = msg->cm_desc.nbd_data;
	if (size < COPY_MSG_HEAD_BYTES || tail > size - COPY_MSG_HEAD_BYTES)
		return -EMSGSIZE;
	memset(at, 0, COPY_MSG_HEAD_BYTES);
	memcpy(at, magic, sizeof magic);
	at[4] = COPY_VERSION;
	at[5] = (uint8_t)msg->cm_type;
	le_put32(at + 8, msg->cm_id);
	le_put32(at + 12, (uint32_t)msg->cm_status);
	le_put32(at + 16, msg->cm_mode);
	le_put32(at + 20, msg->cm_flags);
	le_put64(at + 24, msg->cm_offset);
	le_put64(at + 32, msg->cm_length);
	memcpy(at + 40, msg->cm_sum, HASH_BYTES);
	le_put32(at + 56, tail);
	le_put64(at + 64, msg->cm_conv);
	le_put32(at + 72, msg->cm_block);
	le_put32(at + 76, msg->cm_inflight);
	if (tail > 0)
		memcpy(at + COPY_MSG_HEAD_BYTES, from, tail);
	return (int)(COPY_MSG_HEAD_BYTES + tail);
}

/* OPEN and its reply, if that is a success, have sizes of the block and the window. */
static bool window_is_sane(const struct copy_msg *msg)
{
	bool sized = msg->cm_type == COPY_OPEN ||
		     (msg->cm_type == COPY_OPEN_REPLY && msg->cm_status == 0);

	return msg->cm_inflight <= COPY_INFLIGHT_MAX &&
	       equi(sized, msg->cm_block > 0) &&
	       equi(sized, msg->cm_inflight > 0);
}

static bool tail_is_sane(const struct copy_msg *msg)
{
	bool text = msg->cm_type == COPY_OPEN ||
		    msg->cm_type == COPY_OPEN_REPLY ||
		    msg->cm_type == COPY_END_REPLY;

	return equi(msg->cm_type == COPY_BLOCK, msg->cm_desc.nbd_len > 0) &&
	       ergo(!text, msg->cm_text_nr == 0) &&
	       msg->cm_text_nr <= COPY_TEXT_MAX;
}

static bool flags_are_sane(const struct copy_msg *msg)
{
	uint32_t known = msg->cm_type == COPY_ALIVE ? COPY_FLAG_BUSY
						    : COPY_FLAG_VERIFIED;

	return (msg->cm_flags & ~known) == 0;
}

/* Checks the fields of a message by its type. */
static bool msg_is_sane(const struct copy_msg *msg)
{
	return msg->cm_type >= COPY_BLOCK && msg->cm_type <= COPY_BYE &&
	       msg->cm_status <= 0 && msg->cm_status >= STATUS_MIN &&
	       msg->cm_mode <= MODE_MAX && flags_are_sane(msg) &&
	       msg->cm_offset <= INT64_MAX &&
	       msg->cm_length <= INT64_MAX - msg->cm_offset &&
	       ergo(msg->cm_type == COPY_BLOCK, msg->cm_length > 0) &&
	       window_is_sane(msg) && tail_is_sane(msg);
}

static void msg_fields(struct copy_msg *msg, uint8_t *at)
{
	uint32_t tail = le_get32(at + 56);

	msg->cm_type = (enum copy_msg_type)at[5];
	msg->cm_id = le_get32(at + 8);
	msg->cm_status = (int32_t)le_get32(at + 12);
	msg->cm_mode = le_get32(at + 16);
	msg->cm_flags = le_get32(at + 20);
	msg->cm_offset = le_get64(at + 24);
	msg->cm_length = le_get64(at + 32);
	memcpy(msg->cm_sum, at + 40, HASH_BYTES);
	msg->cm_conv = le_get64(at + 64);
	msg->cm_block = le_get32(at + 72);
	msg->cm_inflight = le_get32(at + 76);
	if (msg->cm_type == COPY_BLOCK) {
		msg->cm_desc.nbd_len = tail;
		msg->cm_desc.nbd_data = at + COPY_MSG_HEAD_BYTES;
	} else {
		msg->cm_text_nr = tail;
		msg->cm_text = (const char *)at + COPY_MSG_HEAD_BYTES;
	}
}

int copy_msg_decode(struct copy_msg *ret_msg, void *bytes, size_t nr)
{
	uint8_t        *at = bytes;
	struct copy_msg msg = { .cm_id = 0 };

	if (nr < COPY_MSG_VERSION_BYTES || memcmp(at, magic, sizeof magic) != 0)
		return -EBADMSG;
	if (at[4] != COPY_VERSION) {
		ret_msg->cm_type = (enum copy_msg_type)at[5];
		ret_msg->cm_id = at[4];
		return -EPROTONOSUPPORT;
	}
	if (nr < COPY_MSG_HEAD_BYTES || at[6] != 0 || at[7] != 0 ||
	    le_get32(at + 60) != 0 ||
	    le_get32(at + 56) != nr - COPY_MSG_HEAD_BYTES)
		return -EBADMSG;
	msg_fields(&msg, at);
	if (!msg_is_sane(&msg))
		return -EBADMSG;
	*ret_msg = msg;
	return 0;
}
