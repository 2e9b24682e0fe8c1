/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include "base/cursor.h"
#include "base/rand.h"

/* Bytes on the wire are fixed by the name of the call, not by the machine. */
static void cursor_put_lays_bytes_in_named_order(void **state)
{
	static const uint8_t want[] = {
		0x01,                                     /* u8 */
		0x02, 0x01, 0x04, 0x03, 0x02, 0x01,       /* le16 le32 */
		8,    7,    6,    5,    4,    3,    2, 1, /* le64 */
		0x01, 0x02, 0x01, 0x02, 0x03, 0x04,       /* be16 be32 */
		1,    2,    3,    4,    5,    6,    7, 8, /* be64 */
		'a',  'b'
	};
	uint8_t          bytes[sizeof want];
	struct m0_cursor cur;

	(void)state;
	m0_cursor_init(&cur, bytes, sizeof bytes);
	m0_cursor_put_u8(&cur, 1);
	m0_cursor_put_le16(&cur, 0x0102);
	m0_cursor_put_le32(&cur, 0x01020304);
	m0_cursor_put_le64(&cur, 0x0102030405060708);
	m0_cursor_put_be16(&cur, 0x0102);
	m0_cursor_put_be32(&cur, 0x01020304);
	m0_cursor_put_be64(&cur, 0x0102030405060708);
	m0_cursor_put_bytes(&cur, "ab", 2);
	assert_true(m0_cursor_is_ok(&cur));
	assert_int_equal(m0_cursor_left(&cur), 0);
	assert_memory_equal(bytes, want, sizeof want);
}

/* Each get returns the value that the put wrote. */
static void cursor_get_inverts_put(void **state)
{
	uint8_t          bytes[29];
	uint8_t          two[2];
	struct m0_cursor cur;

	(void)state;
	m0_cursor_init(&cur, bytes, sizeof bytes);
	m0_cursor_put_u8(&cur, 0xfe);
	m0_cursor_put_le16(&cur, 0xfedc);
	m0_cursor_put_be16(&cur, 0xfedc);
	m0_cursor_put_le32(&cur, 0xfedcba98);
	m0_cursor_put_be32(&cur, 0xfedcba98);
	m0_cursor_put_le64(&cur, 0xfedcba9876543210);
	m0_cursor_put_be64(&cur, 0xfedcba9876543210);
	assert_int_equal(m0_cursor_pos(&cur), sizeof bytes);
	m0_cursor_init_const(&cur, bytes, sizeof bytes);
	assert_int_equal(m0_cursor_get_u8(&cur), 0xfe);
	assert_int_equal(m0_cursor_get_le16(&cur), 0xfedc);
	assert_int_equal(m0_cursor_get_be16(&cur), 0xfedc);
	assert_true(m0_cursor_get_le32(&cur) == 0xfedcba98);
	assert_true(m0_cursor_get_be32(&cur) == 0xfedcba98);
	assert_true(m0_cursor_get_le64(&cur) == 0xfedcba9876543210);
	m0_cursor_get_bytes(&cur, two, 2);
	assert_int_equal(two[0], 0xfe);
	assert_int_equal(two[1], 0xdc);
}

/* Past the end: zeroes, nothing written, and it sticks. */
static void cursor_past_end_is_sticky(void **state)
{
	uint8_t          bytes[6] = { 1, 2, 3, 4, 0xaa, 0xbb };
	uint8_t          out[4] = { 9, 9, 9, 9 };
	struct m0_cursor cur;

	(void)state;
	m0_cursor_init(&cur, bytes, 4);
	assert_int_equal(m0_cursor_get_u8(&cur), 1);
	assert_int_equal(m0_cursor_get_le32(&cur), 0);
	assert_false(m0_cursor_is_ok(&cur));
	assert_int_equal(m0_cursor_left(&cur), 0);
	/* One byte would fit, but the decoder has lost its place. */
	assert_int_equal(m0_cursor_get_u8(&cur), 0);
	m0_cursor_get_bytes(&cur, out, 2);
	assert_int_equal(out[0] | out[1], 0);
	assert_int_equal(out[2], 9);
	m0_cursor_put_u8(&cur, 7);
	assert_int_equal(bytes[1], 2);
	m0_cursor_init(&cur, bytes, 4);
	m0_cursor_put_le64(&cur, UINT64_MAX);
	assert_int_equal(bytes[0], 1);
	assert_int_equal(bytes[4], 0xaa);
}

/* Lengths near the top of size_t do not wrap. */
static void cursor_huge_skip_fails(void **state)
{
	uint8_t          bytes[8];
	struct m0_cursor cur;

	(void)state;
	m0_cursor_init(&cur, bytes, sizeof bytes);
	assert_non_null(m0_cursor_skip(&cur, 8));
	assert_null(m0_cursor_skip(&cur, SIZE_MAX));
	m0_cursor_init(&cur, bytes, sizeof bytes);
	assert_null(m0_cursor_skip(&cur, SIZE_MAX - 3));
	m0_cursor_init(&cur, NULL, 0);
	assert_true(m0_cursor_is_ok(&cur));
	m0_cursor_put_bytes(&cur, "", 0);
	assert_int_equal(m0_cursor_get_u8(&cur), 0);
	assert_false(m0_cursor_is_ok(&cur));
}

/* Opaque data of each length mod 4 comes back with its padding checked. */
static void cursor_opaque_round_trips(void **state)
{
	uint8_t          bytes[64];
	uint8_t          data[16] = "0123456789abcde";
	struct m0_cursor cur;
	uint32_t         nr;
	uint32_t         got;
	const void      *at;

	(void)state;
	for (nr = 0; nr <= 16; ++nr) {
		memset(bytes, 0xee, sizeof bytes);
		m0_cursor_init(&cur, bytes, sizeof bytes);
		m0_cursor_put_opaque(&cur, data, nr);
		assert_int_equal(m0_cursor_pos(&cur),
				 4 + m0_cursor_xdr_size(nr));
		m0_cursor_init_const(&cur, bytes, m0_cursor_pos(&cur));
		at = m0_cursor_get_opaque(&cur, 16, &got);
		assert_non_null(at);
		assert_int_equal(got, nr);
		assert_memory_equal(at, data, nr);
		assert_int_equal(m0_cursor_left(&cur), 0);
	}
}

/* Too long, cut short, dirty padding: all bad, and no length comes out. */
static void cursor_opaque_bad_is_refused(void **state)
{
	uint8_t          bytes[12] = { 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0 };
	struct m0_cursor cur;
	uint32_t         nr = 77;

	(void)state;
	m0_cursor_init(&cur, bytes, sizeof bytes);
	assert_null(m0_cursor_get_opaque(&cur, 4, &nr));
	assert_int_equal(nr, 0);
	m0_cursor_init(&cur, bytes, 11);
	assert_null(m0_cursor_get_opaque(&cur, 5, &nr));
	bytes[11] = 1;
	m0_cursor_init(&cur, bytes, sizeof bytes);
	assert_null(m0_cursor_get_opaque(&cur, 5, &nr));
	assert_false(m0_cursor_is_ok(&cur));
	assert_int_equal(nr, 0);
	/* A length that wraps when padded. */
	memset(bytes, 0xff, 4);
	m0_cursor_init(&cur, bytes, sizeof bytes);
	assert_null(m0_cursor_get_opaque(&cur, UINT32_MAX, &nr));
	/* A put of more bytes than are left writes none of them. */
	memset(bytes, 0xcc, sizeof bytes);
	m0_cursor_init(&cur, bytes, 8);
	m0_cursor_put_opaque(&cur, "12345", 5);
	assert_false(m0_cursor_is_ok(&cur));
	assert_int_equal(bytes[0], 0xcc);
}

/* Random calls on random sizes stay between the guards. */
static void cursor_random_calls_stay_in_bounds(void **state)
{
	enum {
		GUARD = 16,
		MAX = 40
	};
	uint8_t        bytes[GUARD + MAX + GUARD];
	struct m0_rand rand;
	int            round;

	(void)state;
	m0_rand_init(&rand, 7);
	for (round = 0; round < 3000; ++round) {
		size_t           size = m0_rand_below(&rand, MAX);
		struct m0_cursor cur;
		size_t           i;
		uint32_t         nr;

		memset(bytes, 0x5a, sizeof bytes);
		m0_cursor_init(&cur, bytes + GUARD, size);
		while (m0_cursor_is_ok(&cur)) {
			switch (m0_rand_below(&rand, 6)) {
			case 0:
				m0_cursor_put_u8(&cur, 1);
				break;
			case 1:
				m0_cursor_put_be64(&cur, 1);
				break;
			case 2:
				m0_cursor_put_opaque(&cur, "abcdefg", 7);
				break;
			case 3:
				(void)m0_cursor_get_opaque(&cur, 99, &nr);
				break;
			case 4:
				m0_cursor_put_le16(&cur, 1);
				break;
			default:
				(void)m0_cursor_skip(
					&cur, m0_rand_below(&rand, 9) + 1);
			}
			assert_true(m0_cursor_pos(&cur) <= size);
		}
		for (i = 0; i < GUARD; ++i)
			assert_int_equal(bytes[i], 0x5a);
		for (i = GUARD + size; i < sizeof bytes; ++i)
			assert_int_equal(bytes[i], 0x5a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cursor_put_lays_bytes_in_named_order),
		cmocka_unit_test(cursor_get_inverts_put),
		cmocka_unit_test(cursor_past_end_is_sticky),
		cmocka_unit_test(cursor_huge_skip_fails),
		cmocka_unit_test(cursor_opaque_round_trips),
		cmocka_unit_test(cursor_opaque_bad_is_refused),
		cmocka_unit_test(cursor_random_calls_stay_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
