/* SPDX-License-Identifier: Apache-2.0 */
#include <endian.h>
#include <string.h>

#include "copy_wire.h"

enum {
	VERSION = 1,
	/** Error numbers fit this on every platform that we know. */
	STATUS_MIN = -4095,
	MODE_MAX = 0777
};

static const char magic[4] = { 'C', 'B', 'C', 'P' };

static void put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof value);
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof value);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return le32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return le64toh(value);
}

int copy_msg_encode(const struct copy_msg *msg, void *bytes, size_t size)
{
	uint8_t *at = bytes;
	uint32_t desc_len = msg->cm_desc.nbd_len;

	if (size < COPY_MSG_HEAD_BYTES || desc_len > size - COPY_MSG_HEAD_BYTES)
		return -EMSGSIZE;
	memset(at, 0, COPY_MSG_HEAD_BYTES);
	memcpy(at, magic, sizeof magic);
	at[4] = VERSION;
	at[5] = (uint8_t)msg->cm_type;
	put32(at + 8, msg->cm_id);
	put32(at + 12, (uint32_t)msg->cm_status);
	put32(at + 16, msg->cm_mode);
	put32(at + 20, msg->cm_flags);
	put64(at + 24, msg->cm_offset);
	put64(at + 32, msg->cm_length);
	memcpy(at + 40, msg->cm_sum, HASH_BYTES);
	put32(at + 56, desc_len);
	if (desc_len > 0)
		memcpy(at + COPY_MSG_HEAD_BYTES, msg->cm_desc.nbd_data,
		       desc_len);
	return (int)(COPY_MSG_HEAD_BYTES + desc_len);
}

/* What the fields may be, by type. */
static bool msg_is_sane(const struct copy_msg *msg)
{
	bool block = msg->cm_type == COPY_BLOCK;

	return msg->cm_type >= COPY_BLOCK && msg->cm_type <= COPY_END_REPLY &&
	       msg->cm_status <= 0 && msg->cm_status >= STATUS_MIN &&
	       msg->cm_mode <= MODE_MAX &&
	       msg->cm_flags <= COPY_FLAG_VERIFIED &&
	       msg->cm_offset <= INT64_MAX &&
	       msg->cm_length <= INT64_MAX - msg->cm_offset &&
	       equi(block, msg->cm_desc.nbd_len > 0) &&
	       ergo(block, msg->cm_length > 0);
}

int copy_msg_decode(struct copy_msg *ret_msg, void *bytes, size_t nr)
{
	uint8_t        *at = bytes;
	struct copy_msg msg = { .cm_id = 0 };

	if (nr < COPY_MSG_HEAD_BYTES || memcmp(at, magic, sizeof magic) != 0)
		return -EBADMSG;
	if (at[4] != VERSION)
		return -EPROTONOSUPPORT;
	if (at[6] != 0 || at[7] != 0 || get32(at + 60) != 0 ||
	    get32(at + 56) != nr - COPY_MSG_HEAD_BYTES)
		return -EBADMSG;
	msg.cm_type = (enum copy_msg_type)at[5];
	msg.cm_id = get32(at + 8);
	msg.cm_status = (int32_t)get32(at + 12);
	msg.cm_mode = get32(at + 16);
	msg.cm_flags = get32(at + 20);
	msg.cm_offset = get64(at + 24);
	msg.cm_length = get64(at + 32);
	memcpy(msg.cm_sum, at + 40, HASH_BYTES);
	msg.cm_desc.nbd_len = get32(at + 56);
	if (msg.cm_desc.nbd_len > 0)
		msg.cm_desc.nbd_data = at + COPY_MSG_HEAD_BYTES;
	if (!msg_is_sane(&msg))
		return -EBADMSG;
	*ret_msg = msg;
	return 0;
}
