/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../../tools/copy/copy_wire.h"

static uint8_t desc_bytes[] = { 0xde, 0xad, 0xbe, 0xef, 0x01 };

static struct copy_msg block_msg(void)
{
	struct copy_msg msg = {
		.cm_type = COPY_BLOCK,
		.cm_id = 0x01020304,
		.cm_offset = 0x1122334455667788,
		.cm_length = 4096,
		.cm_desc = { .nbd_len = sizeof desc_bytes,
			     .nbd_data = desc_bytes },
	};

	memset(msg.cm_sum, 0x5a, HASH_BYTES);
	return msg;
}

/* Decoding inverts encoding, field by field. */
static void message_encoded_decodes_equal(void **state)
{
	struct copy_msg msg = block_msg();
	struct copy_msg got;
	uint8_t         bytes[128];
	int             nr = copy_msg_encode(&msg, bytes, sizeof bytes);

	(void)state;
	assert_int_equal(nr, COPY_MSG_HEAD_BYTES + sizeof desc_bytes);
	assert_int_equal(copy_msg_decode(&got, bytes, (size_t)nr), 0);
	assert_int_equal(got.cm_type, COPY_BLOCK);
	assert_int_equal(got.cm_id, msg.cm_id);
	assert_int_equal(got.cm_offset, msg.cm_offset);
	assert_int_equal(got.cm_length, msg.cm_length);
	assert_memory_equal(got.cm_sum, msg.cm_sum, HASH_BYTES);
	assert_int_equal(got.cm_desc.nbd_len, sizeof desc_bytes);
	assert_memory_equal(got.cm_desc.nbd_data, desc_bytes,
			    sizeof desc_bytes);
}

/* The form is the same on every machine. */
static void message_form_is_little_endian(void **state)
{
	struct copy_msg msg = block_msg();
	uint8_t         bytes[128];

	(void)state;
	assert_true(copy_msg_encode(&msg, bytes, sizeof bytes) > 0);
	assert_memory_equal(bytes, "CBCP\3\1\0\0\4\3\2\1", 12);
	assert_int_equal(bytes[24], 0x88);
	assert_int_equal(bytes[31], 0x11);
}

/* A message that does not fit its buffer is refused, not cut. */
static void message_too_large_is_not_encoded(void **state)
{
	struct copy_msg msg = block_msg();
	uint8_t         bytes[COPY_MSG_HEAD_BYTES + sizeof desc_bytes - 1];

	(void)state;
	assert_int_equal(copy_msg_encode(&msg, bytes, sizeof bytes), -EMSGSIZE);
	assert_int_equal(copy_msg_encode(&msg, bytes, 10), -EMSGSIZE);
}

/* No length but the right one: neither less nor more is read. */
static void message_of_another_length_is_refused(void **state)
{
	struct copy_msg msg = block_msg();
	struct copy_msg got;
	uint8_t         bytes[128] = { 0 };
	size_t          nr = (size_t)copy_msg_encode(&msg, bytes, sizeof bytes);
	size_t          i;

	(void)state;
	for (i = 0; i < sizeof bytes; ++i) {
		if (i != nr)
			assert_int_equal(copy_msg_decode(&got, bytes, i),
					 -EBADMSG);
	}
}

struct damage {
	size_t  da_at;
	uint8_t da_value;
	int     da_rc;
};

/* Each field has bounds, and what lies outside is refused. */
static void message_damaged_is_refused(void **state)
{
	static const struct damage damages[] = {
		{ 0, 'X', -EBADMSG },
		{ 4, 2, -EPROTONOSUPPORT }, /* version */
		{ 4, 4, -EPROTONOSUPPORT },
		{ 5, 0, -EBADMSG }, /* type */
		{ 5, COPY_BYE + 1, -EBADMSG },
		{ 5, COPY_OPEN, -EBADMSG },  /* OPEN has a block */
		{ 5, COPY_ALIVE, -EBADMSG }, /* ALIVE has no text */
		{ 72, 1, -EBADMSG },         /* BLOCK has no window */
		{ 77, 2, -EBADMSG },         /* more than 256 */
		{ 5, COPY_END, -EBADMSG },   /* END has no descriptor */
		{ 6, 1, -EBADMSG },          /* reserved */
		{ 12, 1, -EBADMSG },         /* status above 0 */
		{ 13, 0x80, -EBADMSG },
		{ 15, 0x80, -EBADMSG }, /* status below -4095 */
		{ 17, 2, -EBADMSG },    /* set-ID bits */
		{ 20, 2, -EBADMSG },    /* flags */
		{ 31, 0x80, -EBADMSG }, /* offset above 2^63 */
		{ 39, 0x7f, -EBADMSG }, /* offset + length above that */
		{ 33, 0, -EBADMSG },    /* no length */
		{ 56, 4, -EBADMSG },    /* length of the descriptor */
		{ 59, 0xff, -EBADMSG },
		{ 60, 1, -EBADMSG },
	};
	struct copy_msg msg = block_msg();
	struct copy_msg got;
	uint8_t         bytes[128];
	size_t          nr;
	size_t          i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(damages); ++i) {
		nr = (size_t)copy_msg_encode(&msg, bytes, sizeof bytes);
		bytes[damages[i].da_at] = damages[i].da_value;
		assert_int_equal(copy_msg_decode(&got, bytes, nr),
				 damages[i].da_rc);
	}
}

/* An OPEN and its answer carry a window and a text, both bounded. */
static void message_with_text_decodes_equal(void **state)
{
	static char     text[COPY_TEXT_MAX + 1];
	struct copy_msg msg = {
		.cm_type = COPY_OPEN,
		.cm_conv = 0x8877665544332211,
		.cm_block = 1 << 20,
		.cm_inflight = COPY_INFLIGHT_MAX,
		.cm_length = 17,
		.cm_text = text,
		.cm_text_nr = COPY_TEXT_MAX,
	};
	struct copy_msg got;
	uint8_t         bytes[COPY_MSG_HEAD_BYTES + sizeof text];
	int             nr;

	(void)state;
	memset(text, 'x', sizeof text);
	nr = copy_msg_encode(&msg, bytes, sizeof bytes);
	assert_int_equal(copy_msg_decode(&got, bytes, (size_t)nr), 0);
	assert_int_equal(got.cm_conv, msg.cm_conv);
	assert_int_equal(got.cm_block, 1 << 20);
	assert_int_equal(got.cm_inflight, COPY_INFLIGHT_MAX);
	assert_int_equal(got.cm_text_nr, COPY_TEXT_MAX);
	assert_memory_equal(got.cm_text, text, COPY_TEXT_MAX);
	assert_int_equal(got.cm_desc.nbd_len, 0);
	++msg.cm_text_nr;
	nr = copy_msg_encode(&msg, bytes, sizeof bytes);
	assert_int_equal(copy_msg_decode(&got, bytes, (size_t)nr), -EBADMSG);
}

/* Only ALIVE tells that its side is at work; that is all that it tells. */
static void message_alive_has_one_flag(void **state)
{
	struct copy_msg msg = { .cm_type = COPY_ALIVE,
				.cm_flags = COPY_FLAG_BUSY };
	struct copy_msg got;
	uint8_t         bytes[128];
	int             nr = copy_msg_encode(&msg, bytes, sizeof bytes);

	(void)state;
	assert_int_equal(copy_msg_decode(&got, bytes, (size_t)nr), 0);
	assert_int_equal(got.cm_flags, COPY_FLAG_BUSY);
	bytes[20] = COPY_FLAG_VERIFIED;
	assert_int_equal(copy_msg_decode(&got, bytes, (size_t)nr), -EBADMSG);
	bytes[20] = COPY_FLAG_BUSY;
	bytes[5] = COPY_BYE;
	assert_int_equal(copy_msg_decode(&got, bytes, (size_t)nr), -EBADMSG);
}

/* The decoder reports the version and type of a message of another version. */
static void message_of_another_version_is_told(void **state)
{
	uint8_t         bytes[] = { 'C', 'B', 'C', 'P', 9, COPY_OPEN };
	struct copy_msg got = { .cm_conv = 0 };

	(void)state;
	assert_int_equal(copy_msg_decode(&got, bytes, sizeof bytes),
			 -EPROTONOSUPPORT);
	assert_int_equal(got.cm_id, 9);
	assert_int_equal(got.cm_type, COPY_OPEN);
}

/* For any bytes decoding ends, and accepted fields are within their bounds. */
static void message_of_random_bytes_is_in_bounds(void **state)
{
	struct copy_msg msg = block_msg();
	struct copy_msg got;
	uint8_t         bytes[128];
	uint64_t        seed = 42;
	unsigned        turn;

	(void)state;
	for (turn = 0; turn < 100000; ++turn) {
		size_t nr = (size_t)copy_msg_encode(&msg, bytes, sizeof bytes);
		size_t i;

		for (i = m0_rnd(4, &seed) + 1; i > 0; --i)
			bytes[m0_rnd(nr, &seed)] = (uint8_t)m0_rnd64(&seed);
		if (copy_msg_decode(&got, bytes, nr) != 0)
			continue;
		assert_true(got.cm_length <= INT64_MAX - got.cm_offset);
		assert_int_equal(got.cm_desc.nbd_len + got.cm_text_nr,
				 sizeof desc_bytes);
		assert_ptr_equal(got.cm_type == COPY_BLOCK
					 ? (char *)got.cm_desc.nbd_data
					 : got.cm_text,
				 bytes + COPY_MSG_HEAD_BYTES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_encoded_decodes_equal),
		cmocka_unit_test(message_form_is_little_endian),
		cmocka_unit_test(message_too_large_is_not_encoded),
		cmocka_unit_test(message_of_another_length_is_refused),
		cmocka_unit_test(message_damaged_is_refused),
		cmocka_unit_test(message_with_text_decodes_equal),
		cmocka_unit_test(message_alive_has_one_flag),
		cmocka_unit_test(message_of_another_version_is_told),
		cmocka_unit_test(message_of_random_bytes_is_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
