/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../base/panics.h"

#include "base/rand.h"
#include "m0/lnet_nid.h"

/** 10.0.0.1@tcp2. */
static const struct m0_lnet_nid nid_ip4 = {
	.ln_type = M0_LNET_TYPE_TCP,
	.ln_num = 2,
	.ln_addr = { 10, 0, 0, 1 },
};
/** 2001:db8::1@tcp258. */
static const struct m0_lnet_nid nid_ip6 = {
	.ln_size = M0_LNET_NID_SIZE_IPV6,
	.ln_type = M0_LNET_TYPE_TCP,
	.ln_num = 0x0102,
	.ln_addr = { 0x20, 1, 0x0d, 0xb8, [15] = 1 },
};

/* 64-bit NIDs are the numbers that section 1.2 of the protocol gives. */
static void nid4_of_known_nids_is_as_written(void **state)
{
	struct m0_lnet_nid nid;

	(void)state;
	assert_true(m0_lnet_nid_to4(&m0_lnet_nid_lo) ==
		    UINT64_C(0x0009000000000000));
	assert_true(m0_lnet_nid_to4(&nid_ip4) == UINT64_C(0x000200020a000001));
	assert_true(m0_lnet_nid_to4(&m0_lnet_nid_any) == M0_LNET_NID4_ANY);
	assert_int_equal(m0_lnet_nid_from4(&nid, UINT64_C(0x000200020a000001)),
			 0);
	assert_true(m0_lnet_nid_eq(&nid, &nid_ip4));
	assert_int_equal(m0_lnet_nid_from4(&nid, M0_LNET_NID4_ANY), 0);
	assert_true(m0_lnet_nid_is_any(&nid));
	assert_true(m0_lnet_nid_eq(&nid, &m0_lnet_nid_any));
}

/* Every number with a type of one byte is a NID, and back. */
static void nid4_of_any_type_survives(void **state)
{
	uint64_t           seed = 1;
	uint64_t           number;
	struct m0_lnet_nid nid;
	unsigned           i;

	(void)state;
	for (i = 0; i < 10000; ++i) {
		number = m0_rnd(UINT64_C(0x00ff000000000000), &seed);
		assert_int_equal(m0_lnet_nid_from4(&nid, number), 0);
		assert_true(m0_lnet_nid_is_nid4(&nid));
		assert_true(m0_lnet_nid_to4(&nid) == number);
		assert_int_equal(m0_lnet_nid_net(&nid), number >> 32);
	}
}

/* Numbers that are no NID leave it alone. */
static void nid4_beyond_types_is_refused(void **state)
{
	struct m0_lnet_nid nid = nid_ip4;

	(void)state;
	assert_int_equal(m0_lnet_nid_from4(&nid, UINT64_C(1) << 56), -EINVAL);
	assert_int_equal(m0_lnet_nid_from4(&nid, M0_LNET_NID4_ANY - 1),
			 -EINVAL);
	/* Would read as ANY. */
	assert_int_equal(m0_lnet_nid_from4(&nid, UINT64_C(0x00ff000000000001)),
			 -EINVAL);
	assert_true(m0_lnet_nid_eq(&nid, &nid_ip4));
}

/* An IPv6 NID as a number would be another NID. */
static void nid4_of_large_nid_panics(void **state)
{
	(void)state;
	assert_false(m0_lnet_nid_is_nid4(&nid_ip6));
	assert_panics((void)m0_lnet_nid_to4(&nid_ip6));
}

/* The 20 bytes are those of section 1.3. */
static void bytes_of_nid_are_as_written(void **state)
{
	static const uint8_t want[M0_LNET_NID_BYTES] = { 12,   2,    1,
							 2,    0x20, 1,
							 0x0d, 0xb8, [19] = 1 };
	static const uint8_t small[M0_LNET_NID_BYTES] = { 0,  2, 0, 2,
							  10, 0, 0, 1 };
	uint8_t              bytes[M0_LNET_NID_BYTES];
	struct m0_lnet_nid   nid;

	(void)state;
	m0_lnet_nid_encode(&nid_ip6, bytes);
	assert_memory_equal(bytes, want, sizeof want);
	assert_int_equal(m0_lnet_nid_decode(&nid, bytes), 0);
	assert_true(m0_lnet_nid_eq(&nid, &nid_ip6));
	m0_lnet_nid_encode(&nid_ip4, bytes);
	assert_memory_equal(bytes, small, sizeof small);
	assert_int_equal(m0_lnet_nid_decode(&nid, bytes), 0);
	assert_true(m0_lnet_nid_eq(&nid, &nid_ip4));
}

/* Type 255 is ANY, whatever else the bytes say; it is put as all ones. */
static void bytes_of_type_255_are_any(void **state)
{
	uint8_t            bytes[M0_LNET_NID_BYTES] = { 3, 0xff, 1, 2, 9, 9 };
	uint8_t            ones[M0_LNET_NID_BYTES];
	struct m0_lnet_nid nid;

	(void)state;
	assert_int_equal(m0_lnet_nid_decode(&nid, bytes), 0);
	assert_true(m0_lnet_nid_is_any(&nid));
	m0_lnet_nid_encode(&nid, bytes);
	memset(ones, 0xff, sizeof ones);
	assert_memory_equal(bytes, ones, sizeof ones);
}

/* Sizes up to 16 bytes are carried, if the rest is zero; more cannot be. */
static void bytes_beyond_size_are_refused(void **state)
{
	uint8_t            bytes[M0_LNET_NID_BYTES];
	struct m0_lnet_nid nid = nid_ip4;
	unsigned           size;
	unsigned           last;

	(void)state;
	for (size = 0; size <= 255; ++size) {
		for (last = 0; last < M0_LNET_NID_ADDR_BYTES; ++last) {
			memset(bytes, 0, sizeof bytes);
			bytes[0] = (uint8_t)size;
			bytes[1] = 200;
			bytes[4 + last] = 1;
			assert_int_equal(
				m0_lnet_nid_decode(&nid, bytes),
				size <= 12 && last < size + 4 ? 0 : -EPROTO);
		}
	}
}

/* Order is that of the bytes on the wire; 0 only for the same NID. */
static void order_of_nids_is_that_of_bytes(void **state)
{
	static const uint8_t lows[] = { 0, 1, 0xff };
	struct m0_lnet_nid   nids[81];
	uint8_t              bytes[81][M0_LNET_NID_BYTES];
	int                  want;
	int                  found;
	unsigned             i;
	unsigned             j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(nids); ++i) {
		nids[i] = (struct m0_lnet_nid){
			.ln_size = i % 3 == 0 ? 0 : 12,
			.ln_type = (uint8_t)(i / 3 % 3),
			.ln_num = (uint16_t)(lows[i / 9 % 3] << 8 | 7),
			.ln_addr = { lows[i / 27], [3] = lows[i % 2] },
		};
		m0_lnet_nid_encode(&nids[i], bytes[i]);
	}
	for (i = 0; i < ARRAY_SIZE(nids); ++i) {
		for (j = 0; j < ARRAY_SIZE(nids); ++j) {
			want = memcmp(bytes[i], bytes[j], sizeof bytes[i]);
			found = m0_lnet_nid_cmp(&nids[i], &nids[j]);
			assert_true((want < 0) == (found < 0));
			assert_true((want > 0) == (found > 0));
			assert_true(m0_lnet_nid_eq(&nids[i], &nids[j]) ==
				    (want == 0));
			if (want == 0)
				assert_int_equal(m0_lnet_nid_hash(&nids[i]),
						 m0_lnet_nid_hash(&nids[j]));
		}
	}
}

/* Neighbours, as a cluster has them, do not share buckets more than chance. */
static void hash_of_neighbours_spreads(void **state)
{
	unsigned           used[1024] = {};
	struct m0_lnet_nid nid = nid_ip4;
	unsigned           i;
	unsigned           most = 0;

	(void)state;
	for (i = 0; i < 1024; ++i) {
		nid.ln_addr[2] = (uint8_t)(i >> 8);
		nid.ln_addr[3] = (uint8_t)i;
		++used[m0_lnet_nid_hash(&nid) % ARRAY_SIZE(used)];
	}
	for (i = 0; i < ARRAY_SIZE(used); ++i)
		most = max_check(most, used[i]);
	assert_true(most <= 8);
}

/* Each part of a NID tells two apart. */
static void nids_differ_in_any_part(void **state)
{
	struct m0_lnet_nid nid = nid_ip6;

	(void)state;
	assert_true(m0_lnet_nid_eq(&nid, &nid_ip6));
	nid.ln_addr[15] ^= 1;
	assert_false(m0_lnet_nid_eq(&nid, &nid_ip6));
	nid = nid_ip6;
	++nid.ln_num;
	assert_false(m0_lnet_nid_eq(&nid, &nid_ip6));
	nid = nid_ip6;
	nid.ln_type = M0_LNET_TYPE_EFA;
	assert_false(m0_lnet_nid_eq(&nid, &nid_ip6));
	nid = nid_ip6;
	nid.ln_size = 0;
	assert_false(m0_lnet_nid_eq(&nid, &nid_ip6));
	assert_false(m0_lnet_nid_eq(&m0_lnet_nid_any, &nid_ip6));
	assert_false(m0_lnet_nid_eq(&nid_ip6, &m0_lnet_nid_any));
}

/* A net is type and number; that of ANY is all ones. */
static void net_of_nid_is_type_and_number(void **state)
{
	uint32_t net = m0_lnet_nid_net(&nid_ip6);

	(void)state;
	assert_int_equal(net, 0x00020102);
	assert_int_equal(m0_lnet_net_type(net), M0_LNET_TYPE_TCP);
	assert_int_equal(m0_lnet_net_num(net), 0x0102);
	assert_int_equal(m0_lnet_net(M0_LNET_TYPE_TCP, 0x0102), net);
	assert_true(m0_lnet_nid_net(&m0_lnet_nid_any) == M0_LNET_NET_ANY);
	assert_true(m0_lnet_nid_is_lo(&m0_lnet_nid_lo));
	assert_false(m0_lnet_nid_is_lo(&nid_ip4));
}

/* Addresses of both families become NIDs; nothing else is one. */
static void nid_from_ip_takes_both_families(void **state)
{
	struct m0_lnet_nid nid;

	(void)state;
	m0_lnet_nid_from_ip(&nid, m0_lnet_nid_net(&nid_ip4), nid_ip4.ln_addr,
			    4);
	assert_true(m0_lnet_nid_eq(&nid, &nid_ip4));
	m0_lnet_nid_from_ip(&nid, m0_lnet_nid_net(&nid_ip6), nid_ip6.ln_addr,
			    16);
	assert_true(m0_lnet_nid_eq(&nid, &nid_ip6));
	assert_panics(m0_lnet_nid_from_ip(&nid, 0, nid_ip6.ln_addr, 8));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nid4_of_known_nids_is_as_written),
		cmocka_unit_test(nid4_of_any_type_survives),
		cmocka_unit_test(nid4_beyond_types_is_refused),
		cmocka_unit_test(nid4_of_large_nid_panics),
		cmocka_unit_test(bytes_of_nid_are_as_written),
		cmocka_unit_test(bytes_of_type_255_are_any),
		cmocka_unit_test(bytes_beyond_size_are_refused),
		cmocka_unit_test(order_of_nids_is_that_of_bytes),
		cmocka_unit_test(hash_of_neighbours_spreads),
		cmocka_unit_test(nids_differ_in_any_part),
		cmocka_unit_test(net_of_nid_is_type_and_number),
		cmocka_unit_test(nid_from_ip_takes_both_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
