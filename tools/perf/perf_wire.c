/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>

#include "../base/le.h"
#include "perf.h"
#include "perf_wire.h"

enum {
	/** Error numbers fit this on every platform that we know. */
	STATUS_MIN = -4095
};

static const char magic[4] = { 'C', 'B', 'P', 'F' };

/* Fields that a type may have, besides number and conversation. */
enum {
	HAS_STATUS = 1,
	HAS_ROW = 2,
	HAS_TEST = 4,
	HAS_COUNTS = 8,
	HAS_TEXT = 16,
	/** The id is mandatory. */
	NEEDS_ID = 32
};

static const struct {
	unsigned mr_has;
	uint32_t mr_flags;
} rules[] = {
	[PERF_HELLO] = { NEEDS_ID, 0 },
	[PERF_HELLO_REPLY] = { HAS_STATUS | HAS_TEXT, PERF_FLAG_SPINS },
	[PERF_ROW] = { NEEDS_ID | HAS_ROW | HAS_TEST | HAS_TEXT, 0 },
	[PERF_ROW_REPLY] = { NEEDS_ID | HAS_STATUS | HAS_ROW | HAS_TEXT, 0 },
	[PERF_LOOK] = { NEEDS_ID | HAS_ROW, PERF_FLAG_STOP },
	[PERF_LOOK_REPLY] = { HAS_STATUS | HAS_ROW | HAS_COUNTS | HAS_TEXT, 0 },
	[PERF_ALIVE] = { 0, 0 },
	[PERF_BYE] = { HAS_STATUS, 0 },
};

int perf_msg_encode(const struct perf_msg *msg, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	if (size < PERF_MSG_HEAD_BYTES ||
	    msg->psg_text_nr > size - PERF_MSG_HEAD_BYTES)
		return -EMSGSIZE;
	memset(at, 0, PERF_MSG_HEAD_BYTES);
	memcpy(at, magic, sizeof magic);
	at[4] = PERF_VERSION;
	at[5] = (uint8_t)msg->psg_type;
	le_put32(at + 8, msg->psg_id);
	le_put32(at + 12, (uint32_t)msg->psg_status);
	le_put64(at + 16, msg->psg_conv);
	le_put32(at + 24, msg->psg_row);
	le_put32(at + 28, msg->psg_test);
	le_put64(at + 32, msg->psg_size);
	le_put32(at + 40, msg->psg_depth);
	le_put32(at + 44, msg->psg_flags);
	le_put64(at + 48, msg->psg_cpu_ns);
	le_put64(at + 56, msg->psg_now_ns);
	le_put64(at + 64, msg->psg_queued_nr);
	le_put64(at + 72, msg->psg_recv_nr);
	le_put32(at + 80, msg->psg_text_nr);
	le_put64(at + 88, msg->psg_wait_ns);
	if (msg->psg_text_nr > 0)
		memcpy(at + PERF_MSG_HEAD_BYTES, msg->psg_text,
		       msg->psg_text_nr);
	return (int)(PERF_MSG_HEAD_BYTES + msg->psg_text_nr);
}

static void msg_fields(struct perf_msg *msg, const uint8_t *at)
{
	msg->psg_type = (enum perf_msg_type)at[5];
	msg->psg_id = le_get32(at + 8);
	msg->psg_status = (int32_t)le_get32(at + 12);
	msg->psg_conv = le_get64(at + 16);
	msg->psg_row = le_get32(at + 24);
	msg->psg_test = le_get32(at + 28);
	msg->psg_size = le_get64(at + 32);
	msg->psg_depth = le_get32(at + 40);
	msg->psg_flags = le_get32(at + 44);
	msg->psg_cpu_ns = le_get64(at + 48);
	msg->psg_now_ns = le_get64(at + 56);
	msg->psg_queued_nr = le_get64(at + 64);
	msg->psg_recv_nr = le_get64(at + 72);
	msg->psg_text_nr = le_get32(at + 80);
	msg->psg_wait_ns = le_get64(at + 88);
	msg->psg_text = (const char *)at + PERF_MSG_HEAD_BYTES;
}

static bool text_is_sane(const struct perf_msg *msg, bool needed)
{
	uint32_t i;

	if (msg->psg_text_nr > PERF_TEXT_MAX ||
	    (needed && msg->psg_text_nr == 0))
		return false;
	for (i = 0; i < msg->psg_text_nr; ++i) {
		if (msg->psg_text[i] < ' ' || msg->psg_text[i] > '~')
			return false;
	}
	return true;
}

static bool test_is_sane(const struct perf_msg *msg, bool has)
{
	if (!has)
		return msg->psg_test == 0 && msg->psg_size == 0 &&
		       msg->psg_depth == 0;
	return msg->psg_test < PERF_TESTS_NR && msg->psg_size > 0 &&
	       msg->psg_size <= INT64_MAX && msg->psg_depth > 0 &&
	       msg->psg_depth <= PERF_DEPTH_MAX;
}

static bool counts_are_sane(const struct perf_msg *msg, bool has)
{
	return has || (msg->psg_cpu_ns == 0 && msg->psg_now_ns == 0 &&
		       msg->psg_wait_ns == 0 && msg->psg_queued_nr == 0 &&
		       msg->psg_recv_nr == 0);
}

/* Checks the fields of a message by its type. */
static bool msg_is_sane(const struct perf_msg *msg)
{
	unsigned has;
	bool     well = msg->psg_status == 0;

	if (msg->psg_type < PERF_HELLO || msg->psg_type > PERF_BYE)
		return false;
	has = rules[msg->psg_type].mr_has;
	return msg->psg_conv != 0 && msg->psg_status <= 0 &&
	       msg->psg_status >= STATUS_MIN &&
	       ergo(has & NEEDS_ID, msg->psg_id != 0) &&
	       ergo(!(has & HAS_STATUS), well) &&
	       ergo(!(has & HAS_ROW), msg->psg_row == 0) &&
	       (msg->psg_flags & ~rules[msg->psg_type].mr_flags) == 0 &&
	       test_is_sane(msg, has & HAS_TEST) &&
	       counts_are_sane(msg, (has & HAS_COUNTS) && well) &&
	       ergo(!(has & HAS_TEXT), msg->psg_text_nr == 0) &&
	       text_is_sane(msg,
			    msg->psg_type == PERF_ROW ||
				    (msg->psg_type == PERF_ROW_REPLY && well));
}

int perf_msg_decode(struct perf_msg *ret_msg, const void *bytes, size_t nr)
{
	const uint8_t  *at = bytes;
	struct perf_msg msg;

	if (nr < 6 || memcmp(at, magic, sizeof magic) != 0)
		return -EBADMSG;
	if (at[4] != PERF_VERSION) {
		ret_msg->psg_type = (enum perf_msg_type)at[5];
		ret_msg->psg_id = at[4];
		return -EPROTONOSUPPORT;
	}
	if (nr < PERF_MSG_HEAD_BYTES || at[6] != 0 || at[7] != 0 ||
	    le_get32(at + 84) != 0 ||
	    le_get32(at + 80) != nr - PERF_MSG_HEAD_BYTES)
		return -EBADMSG;
	msg_fields(&msg, at);
	if (!msg_is_sane(&msg))
		return -EBADMSG;
	*ret_msg = msg;
	return 0;
}
