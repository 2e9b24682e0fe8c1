/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../../tools/perf/perf_wire.h"

enum {
	BYTES_MAX = PERF_MSG_HEAD_BYTES + PERF_TEXT_MAX
};

static const char addr[] = "10.0.0.1@tcp:12345:40:7";

static struct perf_msg row_msg(void)
{
	return (struct perf_msg){
		.psg_type = PERF_ROW,
		.psg_id = 0x01020304,
		.psg_conv = 0x1122334455667788,
		.psg_row = 9,
		.psg_test = 2,
		.psg_size = 1 << 20,
		.psg_depth = 1024,
		.psg_text = addr,
		.psg_text_nr = sizeof addr - 1,
	};
}

static struct perf_msg look_msg(void)
{
	return (struct perf_msg){
		.psg_type = PERF_LOOK_REPLY,
		.psg_id = 3,
		.psg_conv = 7,
		.psg_row = 2,
		.psg_cpu_ns = 1ULL << 60,
		.psg_now_ns = 12345678901,
		.psg_wait_ns = 1ULL << 59,
		.psg_queued_nr = 11,
		.psg_recv_nr = 13,
	};
}

/* Decoding inverts encoding, field by field. */
static void message_encoded_decodes_equal(void **state)
{
	struct perf_msg msgs[] = { row_msg(), look_msg() };
	struct perf_msg got;
	uint8_t         bytes[BYTES_MAX];
	size_t          i;
	int             nr;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(msgs); ++i) {
		const struct perf_msg *msg = &msgs[i];

		nr = perf_msg_encode(msg, bytes, sizeof bytes);
		assert_int_equal(nr, PERF_MSG_HEAD_BYTES + msg->psg_text_nr);
		assert_int_equal(perf_msg_decode(&got, bytes, (size_t)nr), 0);
		assert_int_equal(got.psg_type, msg->psg_type);
		assert_int_equal(got.psg_id, msg->psg_id);
		assert_int_equal(got.psg_conv, msg->psg_conv);
		assert_int_equal(got.psg_row, msg->psg_row);
		assert_int_equal(got.psg_test, msg->psg_test);
		assert_int_equal(got.psg_size, msg->psg_size);
		assert_int_equal(got.psg_depth, msg->psg_depth);
		assert_int_equal(got.psg_cpu_ns, msg->psg_cpu_ns);
		assert_int_equal(got.psg_now_ns, msg->psg_now_ns);
		assert_int_equal(got.psg_wait_ns, msg->psg_wait_ns);
		assert_int_equal(got.psg_queued_nr, msg->psg_queued_nr);
		assert_int_equal(got.psg_recv_nr, msg->psg_recv_nr);
		assert_int_equal(got.psg_text_nr, msg->psg_text_nr);
		if (msg->psg_text_nr > 0)
			assert_memory_equal(got.psg_text, msg->psg_text,
					    msg->psg_text_nr);
	}
}

/* The form is the same on every machine. */
static void message_form_is_little_endian(void **state)
{
	struct perf_msg msg = row_msg();
	uint8_t         bytes[BYTES_MAX];

	(void)state;
	assert_true(perf_msg_encode(&msg, bytes, sizeof bytes) > 0);
	assert_memory_equal(bytes, "CBPF\2\3\0\0\4\3\2\1", 12);
	assert_int_equal(bytes[16], 0x88);
	assert_int_equal(bytes[23], 0x11);
}

/* A message that does not fit its buffer is refused, not cut. */
static void message_too_large_is_not_encoded(void **state)
{
	struct perf_msg msg = row_msg();
	uint8_t         bytes[PERF_MSG_HEAD_BYTES + sizeof addr - 2];

	(void)state;
	assert_int_equal(perf_msg_encode(&msg, bytes, sizeof bytes), -EMSGSIZE);
	assert_int_equal(perf_msg_encode(&msg, bytes, 10), -EMSGSIZE);
}

/* No length but the right one: neither less nor more is read. */
static void message_of_another_length_is_refused(void **state)
{
	struct perf_msg msg = row_msg();
	struct perf_msg got;
	uint8_t         bytes[BYTES_MAX] = { 0 };
	size_t          nr = (size_t)perf_msg_encode(&msg, bytes, sizeof bytes);
	size_t          i;

	(void)state;
	for (i = 0; i <= sizeof bytes; ++i) {
		uint8_t *copy = malloc(i > 0 ? i : 1);

		assert_non_null(copy);
		memcpy(copy, bytes, i);
		if (i != nr)
			assert_int_equal(perf_msg_decode(&got, copy, i),
					 -EBADMSG);
		free(copy);
	}
}

struct damage {
	size_t  da_at;
	uint8_t da_value;
	int     da_rc;
};

/* Each field has bounds by type, and what lies outside is refused. */
static void message_damaged_is_refused(void **state)
{
	static const struct damage damages[] = {
		{ 0, 'X', -EBADMSG },
		{ 4, 0, -EPROTONOSUPPORT }, /* version */
		{ 4, 3, -EPROTONOSUPPORT },
		{ 5, 0, -EBADMSG }, /* type */
		{ 5, PERF_BYE + 1, -EBADMSG },
		{ 5, 255, -EBADMSG },
		{ 5, PERF_HELLO, -EBADMSG }, /* HELLO has no row */
		{ 5, PERF_LOOK, -EBADMSG },  /* LOOK has no text */
		{ 5, PERF_ALIVE, -EBADMSG },
		{ 6, 1, -EBADMSG },  /* reserved */
		{ 12, 1, -EBADMSG }, /* status */
		{ 15, 0xff, -EBADMSG },
		{ 28, 4, -EBADMSG }, /* no such test */
		{ 31, 1, -EBADMSG },
		{ 34, 0, -EBADMSG },              /* no size */
		{ 39, 0x80, -EBADMSG },           /* size above 2^63 */
		{ 41, 0, -EBADMSG },              /* no depth */
		{ 40, 1, -EBADMSG },              /* depth 1025 */
		{ 44, PERF_FLAG_STOP, -EBADMSG }, /* not of ROW */
		{ 48, 1, -EBADMSG },              /* counts are of LOOK_REPLY */
		{ 72, 1, -EBADMSG },
		{ 80, 5, -EBADMSG }, /* length of the text */
		{ 83, 0xff, -EBADMSG },
		{ 84, 1, -EBADMSG },
		{ 88, 1, -EBADMSG },
		{ 96, 0, -EBADMSG }, /* text that is not printable */
		{ 97, 0x1b, -EBADMSG },
		{ 98, 0xc3, -EBADMSG },
	};
	struct perf_msg msg = row_msg();
	struct perf_msg got;
	uint8_t         bytes[BYTES_MAX];
	size_t          nr;
	size_t          i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(damages); ++i) {
		nr = (size_t)perf_msg_encode(&msg, bytes, sizeof bytes);
		bytes[damages[i].da_at] = damages[i].da_value;
		assert_int_equal(perf_msg_decode(&got, bytes, nr),
				 damages[i].da_rc);
	}
}

/* Decodes what `msg` is encoded to. */
static int round_trip(const struct perf_msg *msg)
{
	struct perf_msg got;
	uint8_t         bytes[BYTES_MAX + 1];
	int             nr = perf_msg_encode(msg, bytes, sizeof bytes);

	return nr < 0 ? nr : perf_msg_decode(&got, bytes, (size_t)nr);
}

/* A message without a field of its type, or with one that is too long, is
 * refused. */
static void message_incomplete_is_refused(void **state)
{
	static const char long_text[PERF_TEXT_MAX + 2];
	struct perf_msg   msg = row_msg();

	(void)state;
	msg.psg_id = 0;
	assert_int_equal(round_trip(&msg), -EBADMSG);
	msg = row_msg();
	msg.psg_conv = 0;
	assert_int_equal(round_trip(&msg), -EBADMSG);
	msg = row_msg();
	msg.psg_text_nr = 0;
	assert_int_equal(round_trip(&msg), -EBADMSG);
	msg.psg_text = long_text;
	msg.psg_text_nr = PERF_TEXT_MAX + 1;
	assert_int_equal(round_trip(&msg), -EBADMSG);
	/* A reply has an address, or why there is none. */
	msg = (struct perf_msg){ .psg_type = PERF_ROW_REPLY,
				 .psg_id = 1,
				 .psg_conv = 1 };
	assert_int_equal(round_trip(&msg), -EBADMSG);
	msg.psg_status = -ENOMEM;
	assert_int_equal(round_trip(&msg), 0);
	/* Counts of a row that has failed mean nothing. */
	msg = look_msg();
	assert_int_equal(round_trip(&msg), 0);
	msg.psg_status = -EIO;
	assert_int_equal(round_trip(&msg), -EBADMSG);
}

/* The decoder sets type and version of a message of another version, and no
 * other field. */
static void message_of_another_version_is_told_apart(void **state)
{
	struct perf_msg got = { .psg_row = 77 };

	(void)state;
	assert_int_equal(perf_msg_decode(&got, "CBPF\7\1", 6),
			 -EPROTONOSUPPORT);
	assert_int_equal(got.psg_type, PERF_HELLO);
	assert_int_equal(got.psg_id, 7);
	assert_int_equal(got.psg_row, 77);
	assert_int_equal(perf_msg_decode(&got, "CBPF\7", 5), -EBADMSG);
}

/*
 * Bytes at random, and good messages with some bytes changed: never accepted
 * with a field that a user of it may not get. Of exact size in the heap, so that
 * a sanitizer sees what is read beyond.
 */
static void message_of_noise_has_sane_fields_or_none(void **state)
{
	const struct perf_msg seeds[] = { row_msg(), look_msg() };
	struct perf_msg       got;
	uint64_t              seed = 20261121;
	unsigned              turn;
	unsigned              accepted = 0;

	(void)state;
	for (turn = 0; turn < 100000; ++turn) {
		uint8_t  bytes[BYTES_MAX];
		size_t   nr = (size_t)perf_msg_encode(&seeds[turn % 2], bytes,
						      sizeof bytes);
		unsigned i = (unsigned)m0_rnd(4, &seed);
		uint8_t *copy;

		for (; i > 0; --i)
			bytes[4 + m0_rnd(nr - 4, &seed)] =
				(uint8_t)m0_rnd64(&seed);
		copy = malloc(nr);
		assert_non_null(copy);
		memcpy(copy, bytes, nr);
		if (perf_msg_decode(&got, copy, nr) == 0) {
			++accepted;
			assert_in_range(got.psg_type, PERF_HELLO, PERF_BYE);
			assert_in_range(got.psg_test, 0, 3);
			assert_in_range(got.psg_depth, 0, 1024);
			assert_in_range(-got.psg_status, 0, 4095);
			assert_int_equal(PERF_MSG_HEAD_BYTES + got.psg_text_nr,
					 nr);
		}
		free(copy);
	}
	assert_true(accepted > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_encoded_decodes_equal),
		cmocka_unit_test(message_form_is_little_endian),
		cmocka_unit_test(message_too_large_is_not_encoded),
		cmocka_unit_test(message_of_another_length_is_refused),
		cmocka_unit_test(message_damaged_is_refused),
		cmocka_unit_test(message_incomplete_is_refused),
		cmocka_unit_test(message_of_another_version_is_told_apart),
		cmocka_unit_test(message_of_noise_has_sane_fields_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
