/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "selftest/st_pattern.h"

static struct m0_st_msg msg;
static uint8_t          bytes[M0_ST_MSG_BYTES];

static void msg_of(uint32_t type)
{
	M0_SET0(&msg);
	msg.smg_version = M0_ST_VERSION;
	msg.smg_type = type;
	msg.smg_feats = M0_ST_FEAT_LEN;
	m0_st_encode(&msg, bytes);
}

static void decode_refuses_what_is_malformed(void **state)
{
	(void)state;
	msg_of(M0_ST_PING);
	assert_int_equal(m0_st_decode(&msg, bytes, sizeof bytes), 0);
	assert_int_equal(m0_st_decode(&msg, bytes, sizeof bytes - 1),
			 -EMSGSIZE);
	assert_int_equal(m0_st_decode(&msg, bytes, 0), -EMSGSIZE);
	bytes[8] = M0_ST_TYPES_NR;
	assert_int_equal(m0_st_decode(&msg, bytes, sizeof bytes), -EPROTO);
	msg_of(M0_ST_PING);
	bytes[0] ^= 1;
	assert_int_equal(m0_st_decode(&msg, bytes, sizeof bytes), -EPROTO);
	msg_of(M0_ST_MKSN);
	memset(bytes + 24 + 28, 'a', M0_ST_NAME_BYTES);
	assert_int_equal(m0_st_decode(&msg, bytes, sizeof bytes), -EPROTO);
	bytes[24 + 28 + M0_ST_NAME_BYTES - 1] = '\0';
	assert_int_equal(m0_st_decode(&msg, bytes, sizeof bytes), 0);
	assert_int_equal(strlen(msg.smg_name), M0_ST_NAME_BYTES - 1);
	/* A version that is wrong gets an answer. */
	msg_of(M0_ST_PING);
	bytes[4] = 2;
	assert_int_equal(m0_st_decode(&msg, bytes, sizeof bytes), 0);
	assert_int_equal(msg.smg_version, 2);
}

static struct m0_st_test brw(uint32_t rw, uint32_t check, uint32_t nr)
{
	return (struct m0_st_test){
		.tsr_service = M0_ST_SRV_BRW,
		.tsr_loop = 1,
		.tsr_concurrency = 1,
		.tsr_rw = rw,
		.tsr_check = check,
		.tsr_bytes = nr,
	};
}

static void test_is_checked_field_by_field(void **state)
{
	struct m0_st_test test = brw(M0_ST_READ, M0_ST_CHECK_NONE, 4096);

	(void)state;
	assert_int_equal(m0_st_test_check(&test, 0), 0);
	test.tsr_concurrency = M0_ST_CONCURRENCY_MAX;
	assert_int_equal(m0_st_test_check(&test, 0), 0);
	++test.tsr_concurrency;
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test.tsr_concurrency = 0;
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test = brw(M0_ST_READ, M0_ST_CHECK_NONE, 4096);
	test.tsr_loop = 0;
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test = brw(M0_ST_READ, M0_ST_CHECK_NONE, 4096);
	test.tsr_service = 13;
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test.tsr_service = M0_ST_SRV_PING;
	assert_int_equal(m0_st_test_check(&test, 0), 0);
	test = brw(0, M0_ST_CHECK_NONE, 4096);
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test = brw(3, M0_ST_CHECK_NONE, 4096);
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test = brw(M0_ST_WRITE, 0, 4096);
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test = brw(M0_ST_WRITE, 5, 4096);
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	test = brw(M0_ST_WRITE, M0_ST_CHECK_DISCARD, M0_ST_BULK_MAX);
	assert_int_equal(m0_st_test_check(&test, 0), 0);
	++test.tsr_bytes;
	assert_int_equal(m0_st_test_check(&test, M0_ST_FEAT_LEN), EINVAL);
	test = brw(M0_ST_WRITE, M0_ST_CHECK_FULL, 4097);
	assert_int_equal(m0_st_test_check(&test, 0), EINVAL);
	assert_int_equal(m0_st_test_check(&test, M0_ST_FEAT_LEN), 0);
	test.tsr_offset = M0_ST_PAGE_BYTES;
	assert_int_equal(m0_st_test_check(&test, M0_ST_FEAT_LEN), EINVAL);
	test = brw(M0_ST_WRITE, M0_ST_CHECK_FULL, 0);
	assert_int_equal(m0_st_test_check(&test, M0_ST_FEAT_LEN), EINVAL);
}

/* Without LEN lengths are in pages, and the check comes last. */
static void params_without_len_are_in_pages(void **state)
{
	struct m0_st_msg again;

	(void)state;
	M0_SET0(&msg);
	msg.smg_type = M0_ST_TEST;
	msg.smg_test = brw(M0_ST_WRITE, M0_ST_CHECK_FULL, 3 * M0_ST_PAGE_BYTES);
	m0_st_encode(&msg, bytes);
	assert_int_equal(bytes[24 + 58], M0_ST_WRITE);
	assert_int_equal(bytes[24 + 62], 3);
	assert_int_equal(bytes[24 + 66], M0_ST_CHECK_FULL);
	assert_int_equal(m0_st_decode(&again, bytes, sizeof bytes), 0);
	assert_memory_equal(&again, &msg, sizeof msg);
	/* Pages without number do not wrap around. */
	memset(bytes + 24 + 62, 0xff, 4);
	assert_int_equal(m0_st_decode(&again, bytes, sizeof bytes), 0);
	assert_int_equal(m0_st_test_check(&again.smg_test, 0), EINVAL);
}

static void destination_any_is_refused(void **state)
{
	struct m0_lnet_process_id id = { .lp_pid = M0_LNET_PID_LUSTRE };
	struct m0_lnet_process_id again;
	uint8_t                   list[2 * M0_ST_DEST_LARGE_BYTES];
	uint32_t                  feats[] = { M0_ST_FEAT_LEN,
					      M0_ST_FEAT_LEN | M0_ST_FEAT_LARGE };
	size_t                    i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(feats); ++i) {
		memset(list, 0xff, sizeof list);
		assert_int_equal(m0_st_dest_decode(&again, list, 1, feats[i],
						   false),
				 -EPROTO);
		assert_int_equal(m0_lnet_nid_parse(&id.lp_nid, "10.0.0.1@tcp"),
				 0);
		m0_st_dest_encode(&id, list, 1, feats[i], true);
		assert_int_equal(
			m0_st_dest_decode(&again, list, 1, feats[i], true), 0);
		assert_true(m0_lnet_nid_eq(&again.lp_nid, &id.lp_nid));
		assert_int_equal(again.lp_pid, id.lp_pid);
	}
	assert_int_equal(m0_lnet_nid_parse(&id.lp_nid, "2001:db8::1@tcp"), 0);
	m0_st_dest_encode(&id, list, 0, feats[1], false);
	assert_int_equal(m0_st_dest_decode(&again, list, 0, feats[1], false),
			 0);
	assert_true(m0_lnet_nid_eq(&again.lp_nid, &id.lp_nid));
}

/* Each byte that a check covers is found if it is wrong. */
static void pattern_wrong_byte_is_found(void **state)
{
	static uint8_t data[3 * M0_ST_PAGE_BYTES];
	size_t         nr = sizeof data - 100;
	size_t         covered[M0_ST_CHECK_DISCARD + 1] = { 0 };
	unsigned       check;
	size_t         i;

	(void)state;
	for (check = M0_ST_CHECK_NONE; check <= M0_ST_CHECK_DISCARD; ++check) {
		memset(data, 0, sizeof data);
		m0_st_pattern_fill(data, nr, 96, check, M0_ST_PATTERN);
		assert_true(m0_st_pattern_is(data, nr, 96, check, false));
		for (i = 0; i < nr; ++i) {
			data[i] ^= 1;
			if (!m0_st_pattern_is(data, nr, 96, check, false))
				++covered[check];
			data[i] ^= 1;
		}
		for (i = nr; i < sizeof data; ++i)
			assert_int_equal(data[i], 0);
	}
	assert_int_equal(covered[M0_ST_CHECK_NONE], 0);
	assert_int_equal(covered[M0_ST_CHECK_DISCARD], 0);
	/* Pages of 4000, 4096 and 4092 bytes. */
	assert_int_equal(covered[M0_ST_CHECK_SIMPLE], 3 * 16);
	assert_int_equal(covered[M0_ST_CHECK_FULL], nr - 4);
	m0_st_pattern_fill(data, nr, 0, M0_ST_CHECK_FULL,
			   __builtin_bswap64(M0_ST_PATTERN));
	assert_true(m0_st_pattern_is(data, nr, 0, M0_ST_CHECK_FULL, true));
	assert_false(m0_st_pattern_is(data, nr, 0, M0_ST_CHECK_FULL, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_refuses_what_is_malformed),
		cmocka_unit_test(test_is_checked_field_by_field),
		cmocka_unit_test(params_without_len_are_in_pages),
		cmocka_unit_test(destination_any_is_refused),
		cmocka_unit_test(pattern_wrong_byte_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
