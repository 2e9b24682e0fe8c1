/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../base/panics.h"

#include "base/rand.h"
#include "lnet/wire/wire.h"

/* A and B of the worked examples: 10.0.0.1@tcp and 10.0.0.2@tcp. */
#define NID_A                                                           \
	{                                                               \
		.ln_type = M0_LNET_TYPE_TCP, .ln_addr = { 10, 0, 0, 1 } \
	}
#define NID_B                                                           \
	{                                                               \
		.ln_type = M0_LNET_TYPE_TCP, .ln_addr = { 10, 0, 0, 2 } \
	}
/* 2001:db8::5@tcp1. */
#define NID_6                                                                  \
	{                                                                      \
		.ln_size = M0_LNET_NID_SIZE_IPV6, .ln_type = M0_LNET_TYPE_TCP, \
		.ln_num = 1, .ln_addr = { 0x20, 1, 0x0d, 0xb8, [15] = 5 },     \
	}

/** A header and its bytes. */
struct hdr_case {
	struct m0_lnet_hdr hc_hdr;
	uint8_t            hc_bytes[M0_LNET_HDR_LARGE_BYTES];
};

#define PIDS \
	.lhd_dest_pid = M0_LNET_PID_LUSTRE, .lhd_src_pid = M0_LNET_PID_LUSTRE
#define PING_BITS (UINT64_C(1) << 63)

/* clang-format off */
/** Appendix A of the protocol, without the frames. */
static const struct hdr_case examples[] = {
	{ /* A.5: ping. */
		{ .lhd_dest_nid = NID_B, .lhd_src_nid = NID_A, PIDS,
		  .lhd_type = M0_LNET_GET,
		  .lhd_wmd = { { 0xbb, 0xaa, 0, 0, 0, 0, 0, 0, 5 } },
		  .lhd_match_bits = PING_BITS, .lhd_length = 272 },
		{ 0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x39, 0x30, 0x00, 0x00,
		  0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0xbb, 0xaa, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00 } },
	{ /* A.6: its answer. */
		{ .lhd_dest_nid = NID_A, .lhd_src_nid = NID_B, PIDS,
		  .lhd_type = M0_LNET_REPLY, .lhd_payload_bytes = 48,
		  .lhd_wmd = { { 0xbb, 0xaa, 0, 0, 0, 0, 0, 0, 5 } } },
		{ 0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x39, 0x30, 0x00, 0x00,
		  0x03, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00,
		  0xbb, 0xaa, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00 } },
	{ /* A.7: push. */
		{ .lhd_dest_nid = NID_B, .lhd_src_nid = NID_A, PIDS,
		  .lhd_type = M0_LNET_PUT, .lhd_payload_bytes = 48,
		  .lhd_wmd = { { 0xbb, 0xaa, 0, 0, 0, 0, 0, 0, 9 } },
		  .lhd_match_bits = PING_BITS },
		{ 0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x39, 0x30, 0x00, 0x00,
		  0x01, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00,
		  0xbb, 0xaa, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80 } },
	{ /* A.8: it was taken. */
		{ .lhd_dest_nid = NID_A, .lhd_src_nid = NID_B, PIDS,
		  .lhd_type = M0_LNET_ACK,
		  .lhd_wmd = { { 0xbb, 0xaa, 0, 0, 0, 0, 0, 0, 9 } },
		  .lhd_match_bits = PING_BITS, .lhd_length = 48 },
		{ 0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x39, 0x30, 0x00, 0x00,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0xbb, 0xaa, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
		  0x30, 0x00, 0x00, 0x00 } },
};

/** A large header in which every field has bytes of its own. */
static const struct hdr_case large_put = {
	{ .lhd_dest_nid = NID_6, .lhd_src_nid = NID_A,
	  .lhd_dest_pid = 0x01020304, .lhd_src_pid = 0x05060708,
	  .lhd_type = M0_LNET_PUT, .lhd_payload_bytes = 0x090a0b0c,
	  .lhd_wmd = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
			16 } },
	  .lhd_match_bits = UINT64_C(0x1112131415161718),
	  .lhd_hdr_data = UINT64_C(0x2122232425262728),
	  .lhd_portal = 0x31323334, .lhd_offset = 0x41424344 },
	{ 0x0c, 0x02, 0x00, 0x01, 0x20, 0x01, 0x0d, 0xb8,
	  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	  0x00, 0x00, 0x00, 0x05,
	  0x00, 0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x01,
	  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	  0x00, 0x00, 0x00, 0x00,
	  0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,
	  0x01, 0x00, 0x00, 0x00, 0x0c, 0x0b, 0x0a, 0x09,
	  0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
	  0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
	  0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	  0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	  0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41 }
};
/* clang-format on */

static void assert_hdr_eq(const struct m0_lnet_hdr *left,
			  const struct m0_lnet_hdr *right)
{
	assert_true(m0_lnet_nid_eq(&left->lhd_dest_nid, &right->lhd_dest_nid));
	assert_true(m0_lnet_nid_eq(&left->lhd_src_nid, &right->lhd_src_nid));
	assert_int_equal(left->lhd_dest_pid, right->lhd_dest_pid);
	assert_int_equal(left->lhd_src_pid, right->lhd_src_pid);
	assert_int_equal(left->lhd_type, right->lhd_type);
	assert_int_equal(left->lhd_payload_bytes, right->lhd_payload_bytes);
	assert_memory_equal(&left->lhd_wmd, &right->lhd_wmd,
			    sizeof left->lhd_wmd);
	assert_true(left->lhd_match_bits == right->lhd_match_bits);
	assert_true(left->lhd_hdr_data == right->lhd_hdr_data);
	assert_int_equal(left->lhd_portal, right->lhd_portal);
	assert_int_equal(left->lhd_offset, right->lhd_offset);
	assert_int_equal(left->lhd_length, right->lhd_length);
}

static void case_check(const struct hdr_case *example, bool large)
{
	struct m0_lnet_hdr hdr;
	uint8_t            buf[M0_LNET_HDR_LARGE_BYTES];
	size_t size = large ? M0_LNET_HDR_LARGE_BYTES : M0_LNET_HDR_BYTES;

	memset(buf, 0x55, sizeof buf);
	assert_int_equal(m0_lnet__hdr_encode(&example->hc_hdr, large, buf),
			 size);
	assert_memory_equal(buf, example->hc_bytes, size);
	memset(&hdr, 0x55, sizeof hdr);
	assert_int_equal(m0_lnet__hdr_decode(&hdr, large, buf), 0);
	assert_hdr_eq(&hdr, &example->hc_hdr);
}

/* Each worked example, byte for byte, both ways. */
static void hdr_examples_are_as_written(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(examples); ++i)
		case_check(&examples[i], false);
}

/* The large form: NIDs of 20 bytes, all else as in the small one. */
static void hdr_large_is_as_written(void **state)
{
	(void)state;
	case_check(&large_put, true);
}

/* A large NID in a small header would be another NID. */
static void hdr_small_refuses_large_nid(void **state)
{
	struct m0_lnet_hdr hdr = examples[0].hc_hdr;
	struct m0_lnet_nid small = hdr.lhd_dest_nid;
	uint8_t            buf[M0_LNET_HDR_LARGE_BYTES];

	(void)state;
	hdr.lhd_dest_nid = large_put.hc_hdr.lhd_dest_nid;
	assert_int_equal(m0_lnet__hdr_encode(&hdr, false, buf), 0);
	hdr.lhd_src_nid = hdr.lhd_dest_nid;
	hdr.lhd_dest_nid = small;
	assert_int_equal(m0_lnet__hdr_encode(&hdr, false, buf), 0);
}

/* A type that no header has is our error in one direction, theirs in the other.
 */
static void hdr_of_unknown_type_is_refused(void **state)
{
	struct m0_lnet_hdr hdr = examples[0].hc_hdr;
	uint8_t            bytes[M0_LNET_HDR_BYTES];
	uint8_t            buf[M0_LNET_HDR_LARGE_BYTES];

	(void)state;
	memcpy(bytes, examples[0].hc_bytes, sizeof bytes);
	bytes[24] = 4;
	assert_int_equal(m0_lnet__hdr_decode(&hdr, false, bytes), -EPROTO);
	bytes[24] = 0;
	bytes[27] = 0x80;
	assert_int_equal(m0_lnet__hdr_decode(&hdr, false, bytes), -EPROTO);
	hdr.lhd_type = 4;
	assert_panics((void)m0_lnet__hdr_encode(&hdr, false, buf));
}

/* The NIDs of a header may be compared as they are, and all else read. */
static void hdr_between_known_nids_reads_the_same(void **state)
{
	const struct hdr_case *example = &examples[0];
	struct m0_lnet_hdr     hdr = example->hc_hdr;
	const uint64_t         dest = m0_lnet_nid_to4(&hdr.lhd_dest_nid);
	const uint64_t         src = m0_lnet_nid_to4(&hdr.lhd_src_nid);

	(void)state;
	assert_true(m0_lnet__hdr_is_between(example->hc_bytes, dest, src));
	assert_false(m0_lnet__hdr_is_between(example->hc_bytes, src, src));
	assert_false(m0_lnet__hdr_is_between(example->hc_bytes, dest, dest));
	memset(&hdr.lhd_dest_pid, 0x55,
	       sizeof hdr - offsetof(struct m0_lnet_hdr, lhd_dest_pid));
	assert_int_equal(m0_lnet__hdr_decode_rest(&hdr, example->hc_bytes), 0);
	assert_hdr_eq(&hdr, &example->hc_hdr);
}

/* A header that says ANY does not match a node without a NID of 64 bits. */
static void hdr_of_any_is_between_nobody(void **state)
{
	const struct hdr_case *example = &examples[0];
	const uint64_t dest = m0_lnet_nid_to4(&example->hc_hdr.lhd_dest_nid);
	const uint64_t src = m0_lnet_nid_to4(&example->hc_hdr.lhd_src_nid);
	uint8_t        bytes[M0_LNET_HDR_BYTES];

	(void)state;
	memcpy(bytes, example->hc_bytes, sizeof bytes);
	memset(bytes, 0xff, sizeof dest);
	assert_false(m0_lnet__hdr_is_between(bytes, M0_LNET_NID4_ANY, src));
	memcpy(bytes, example->hc_bytes, sizeof bytes);
	memset(bytes + sizeof dest, 0xff, sizeof src);
	assert_false(m0_lnet__hdr_is_between(bytes, dest, M0_LNET_NID4_ANY));
}

/* NIDs that cannot be, in either place and form. */
static void hdr_of_impossible_nid_is_refused(void **state)
{
	static const size_t at[2][2] = { { 7, 15 }, { 0, 20 } };
	struct m0_lnet_hdr  hdr;
	uint8_t             bytes[M0_LNET_HDR_LARGE_BYTES];
	int                 large;
	int                 i;

	(void)state;
	for (large = 0; large < 2; ++large) {
		for (i = 0; i < 2; ++i) {
			memcpy(bytes,
			       large ? large_put.hc_bytes
				     : examples[0].hc_bytes,
			       sizeof bytes);
			bytes[at[large][i]] = 13;
			assert_int_equal(m0_lnet__hdr_decode(&hdr, large,
							     bytes),
					 -EPROTO);
		}
	}
}

/* Any bytes that are decoded can be encoded again. */
static void hdr_of_random_bytes_survives(void **state)
{
	uint64_t           seed = 4;
	struct m0_lnet_hdr hdr;
	struct m0_lnet_hdr again;
	uint8_t            bytes[M0_LNET_HDR_LARGE_BYTES];
	uint8_t            buf[M0_LNET_HDR_LARGE_BYTES];
	size_t             i;
	unsigned           taken = 0;
	unsigned           round;
	bool               large;

	(void)state;
	for (round = 0; round < 10000; ++round) {
		large = round % 2;
		for (i = 0; i < sizeof bytes; ++i)
			bytes[i] = (uint8_t)m0_rnd(256, &seed);
		/* Give it a chance. */
		bytes[large ? 0 : 7] = 0;
		bytes[large ? 20 : 15] = 0;
		memset(bytes + (large ? 8 : 25), 0, large ? 12 : 3);
		memset(bytes + (large ? 28 : 25), 0, large ? 12 : 3);
		memset(bytes + (large ? 49 : 25), 0, 3);
		bytes[large ? 48 : 24] &= 7;
		if (m0_lnet__hdr_decode(&hdr, large, bytes) != 0)
			continue;
		++taken;
		assert_true(m0_lnet__hdr_encode(&hdr, large, buf) > 0);
		assert_int_equal(m0_lnet__hdr_decode(&again, large, buf), 0);
		assert_hdr_eq(&hdr, &again);
	}
	assert_in_range(taken, 3000, 7000);
}

/* "No ACK" is all ones, and nothing else. */
static void wmd_none_is_all_ones(void **state)
{
	struct m0_lnet_wmd wmd;
	size_t             i;

	(void)state;
	memset(&wmd, 0xff, sizeof wmd);
	assert_true(m0_lnet__wmd_is_none(&wmd));
	assert_memory_equal(&wmd, &m0_lnet__wmd_none, sizeof wmd);
	for (i = 0; i < sizeof wmd; ++i) {
		wmd.wm_bytes[i] ^= 0x10;
		assert_false(m0_lnet__wmd_is_none(&wmd));
		wmd.wm_bytes[i] ^= 0x10;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hdr_examples_are_as_written),
		cmocka_unit_test(hdr_large_is_as_written),
		cmocka_unit_test(hdr_small_refuses_large_nid),
		cmocka_unit_test(hdr_of_unknown_type_is_refused),
		cmocka_unit_test(hdr_between_known_nids_reads_the_same),
		cmocka_unit_test(hdr_of_any_is_between_nobody),
		cmocka_unit_test(hdr_of_impossible_nid_is_refused),
		cmocka_unit_test(hdr_of_random_bytes_survives),
		cmocka_unit_test(wmd_none_is_all_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
