/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../base/panics.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/rand.h"
#include "lnet/wire/wire.h"

enum {
	NIS = 8,
	FEATURES = M0_LNET_FEAT_NI_STATUS | M0_LNET_FEAT_RTE_DISABLED |
		   M0_LNET_FEAT_MULTI_RAIL | M0_LNET_FEAT_DISCOVERY
};

static const struct m0_lnet_nid nid_a = { .ln_type = M0_LNET_TYPE_TCP,
					  .ln_addr = { 10, 0, 0, 1 } };
static const struct m0_lnet_nid nid_b = { .ln_type = M0_LNET_TYPE_TCP,
					  .ln_addr = { 10, 0, 0, 2 } };
/** fd77::3@tcp. */
static const struct m0_lnet_nid nid_6 = {
	.ln_size = M0_LNET_NID_SIZE_IPV6,
	.ln_type = M0_LNET_TYPE_TCP,
	.ln_addr = { 0xfd, 0x77, [15] = 3 },
};

/** A.6 of the protocol: B is up, its sequence number is 7. */
static const uint8_t example[48] = {
	0x67, 0x6e, 0x69, 0x70, 0x1e, 0x00, 0x00, 0x00, 0x39, 0x30, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00,
	0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x0a,
	0x00, 0x00, 0x02, 0x00, 0xde, 0xc0, 0xaa, 0x15, 0x00, 0x00, 0x00, 0x00,
};

/** Makes `info` one of `nr` NIs. */
static void info_init(struct m0_lnet_ping_info *info,
		      struct m0_lnet_ping_ni *nis, unsigned nr)
{
	*info = (struct m0_lnet_ping_info){ .lpi_features = FEATURES,
					    .lpi_pid = M0_LNET_PID_LUSTRE,
					    .lpi_seq = 7,
					    .lpi_nis = nis,
					    .lpi_nis_max = NIS,
					    .lpi_nis_nr = nr };
}

/** Puts an entry or the like at the end of `bytes`. */
static size_t put64(uint8_t *bytes, size_t at, uint64_t number)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, bytes + at, sizeof number);
	m0_cursor_put_le64(&cur, number);
	return at + sizeof number;
}

/* The worked example, both ways. */
static void ping_example_is_as_written(void **state)
{
	struct m0_lnet_ping_ni   nis[NIS] = { { nid_b, true } };
	struct m0_lnet_ping_info info;
	uint8_t                  buf[64];

	(void)state;
	info_init(&info, nis, 1);
	assert_int_equal(m0_lnet__ping_size(&info), sizeof example);
	assert_int_equal(m0_lnet__ping_encode(&info, buf, sizeof buf),
			 sizeof example);
	assert_memory_equal(buf, example, sizeof example);
	memset(nis, 0, sizeof nis);
	info_init(&info, nis, 99);
	info.lpi_seq = 0;
	assert_int_equal(m0_lnet__ping_decode(&info, example, sizeof example),
			 0);
	assert_int_equal(info.lpi_features, 0x1e);
	assert_int_equal(info.lpi_pid, 12345);
	assert_int_equal(info.lpi_seq, 7);
	assert_int_equal(info.lpi_nis_nr, 1);
	assert_true(m0_lnet_nid_eq(&nis[0].lpg_nid, &nid_b));
	assert_true(nis[0].lpg_up);
	assert_int_equal(info.lpi_bytes, sizeof example);
	assert_false(info.lpi_truncated);
}

/** Encodes, decodes, and checks that the NIs are the same, in `order`. */
static void check_order(struct m0_lnet_ping_ni *nis, unsigned nr,
			uint32_t features, const unsigned *order)
{
	struct m0_lnet_ping_ni   found[NIS];
	struct m0_lnet_ping_info info;
	uint8_t                  buf[512];
	size_t                   size;
	unsigned                 i;

	info_init(&info, nis, nr);
	/* The caller cannot choose the features that describe the layout. */
	info.lpi_features ^= M0_LNET_FEAT_LARGE_ADDR |
			     M0_LNET_FEAT_PRIMARY_LARGE | M0_LNET_FEAT_METADATA;
	size = m0_lnet__ping_encode(&info, buf, sizeof buf);
	assert_int_equal(size, m0_lnet__ping_size(&info));
	info_init(&info, found, 0);
	assert_int_equal(m0_lnet__ping_decode(&info, buf, size), 0);
	assert_int_equal(info.lpi_features, features);
	assert_int_equal(info.lpi_nis_nr, nr);
	assert_int_equal(info.lpi_bytes, size);
	assert_false(info.lpi_truncated);
	for (i = 0; i < nr; ++i) {
		assert_true(m0_lnet_nid_eq(&found[i].lpg_nid,
					   &nis[order[i]].lpg_nid));
		assert_true(found[i].lpg_up == nis[order[i]].lpg_up);
	}
}

/* The primary stays first; the others follow by size. */
static void ping_order_keeps_primary_first(void **state)
{
	struct m0_lnet_ping_ni small[] = { { nid_a, true },
					   { nid_6, false },
					   { nid_b, false } };
	struct m0_lnet_ping_ni large[] = { { nid_6, true },
					   { nid_a, false },
					   { nid_6, false },
					   { nid_b, true } };
	struct m0_lnet_ping_ni plain[] = { { nid_b, false }, { nid_a, true } };

	(void)state;
	large[2].lpg_nid.ln_num = 4;
	check_order(plain, 2, 0x1e, (const unsigned[]){ 0, 1 });
	check_order(plain, 0, 0x1e, NULL);
	check_order(small, 3, 0x3e, (const unsigned[]){ 0, 2, 1 });
	check_order(large, 4, 0x7e, (const unsigned[]){ 0, 1, 3, 2 });
	check_order(large, 1, 0x7e, (const unsigned[]){ 0 });
}

/* Large entries are of 24 bytes behind the others, the total is in lo's. */
static void ping_large_entries_are_as_written(void **state)
{
	static const uint8_t   want[24] = { 0xde, 0xc0, 0xaa, 0x15, 12,      2,
					    0,    0,    0xfd, 0x77, [23] = 3 };
	struct m0_lnet_ping_ni nis[] = { { nid_b, true }, { nid_6, true } };
	struct m0_lnet_ping_info info;
	uint8_t                  buf[72];

	(void)state;
	info_init(&info, nis, 2);
	assert_int_equal(m0_lnet__ping_encode(&info, buf, sizeof buf), 72);
	assert_int_equal(buf[4], 0x3e);
	assert_int_equal(buf[12], 2);
	assert_int_equal(buf[28], 72);
	assert_memory_equal(buf + 32, example + 32, 16);
	assert_memory_equal(buf + 48, want, sizeof want);
}

/* However little room, what is put is the beginning of the whole. */
static void ping_encode_puts_what_fits(void **state)
{
	struct m0_lnet_ping_ni   nis[] = { { nid_6, true }, { nid_b, true } };
	struct m0_lnet_ping_info info;
	uint8_t                  whole[72];
	uint8_t                  buf[sizeof whole + 1];
	size_t                   max;

	(void)state;
	info_init(&info, nis, 2);
	assert_int_equal(m0_lnet__ping_encode(&info, whole, sizeof whole),
			 sizeof whole);
	for (max = 0; max <= sizeof whole; ++max) {
		memset(buf, 0x55, sizeof buf);
		assert_int_equal(m0_lnet__ping_encode(&info, buf, max), max);
		assert_memory_equal(buf, whole, max);
		assert_int_equal(buf[max], 0x55);
	}
}

/* Cut anywhere: refused before the entry of lo ends, then truncated. */
static void ping_cut_says_how_much_is_missing(void **state)
{
	struct m0_lnet_ping_ni   nis[] = { { nid_a, true },
					   { nid_b, true },
					   { nid_6, true } };
	struct m0_lnet_ping_ni   found[NIS];
	struct m0_lnet_ping_info info;
	uint8_t                  whole[88];
	uint8_t                 *bytes;
	size_t                   nr;

	(void)state;
	info_init(&info, nis, 3);
	assert_int_equal(m0_lnet__ping_encode(&info, whole, sizeof whole),
			 sizeof whole);
	for (nr = 0; nr < sizeof whole; ++nr) {
		/* On the heap, where reading on is seen. */
		bytes = malloc(nr + (nr == 0));
		assert_non_null(bytes);
		memcpy(bytes, whole, nr);
		info_init(&info, found, 0);
		if (nr < 32) {
			assert_int_equal(m0_lnet__ping_decode(&info, bytes, nr),
					 -EPROTO);
		} else {
			assert_int_equal(m0_lnet__ping_decode(&info, bytes, nr),
					 0);
			assert_true(info.lpi_truncated);
			assert_int_equal(info.lpi_bytes, sizeof whole);
			assert_int_equal(info.lpi_nis_nr,
					 (nr >= 48) + (nr >= 64));
		}
		free(bytes);
	}
}

/* A node of the other byte order says the same. */
static void ping_swapped_is_decoded(void **state)
{
	uint8_t                  bytes[sizeof example];
	struct m0_lnet_ping_ni   nis[NIS];
	struct m0_lnet_ping_info info;
	size_t                   i;
	size_t                   width;
	size_t                   at;

	(void)state;
	for (at = 0; at < sizeof bytes; at += width) {
		width = at == 16 || at == 32 ? 8 : 4;
		for (i = 0; i < width; ++i)
			bytes[at + i] = example[at + width - 1 - i];
	}
	info_init(&info, nis, 0);
	assert_int_equal(m0_lnet__ping_decode(&info, bytes, sizeof bytes), 0);
	assert_int_equal(info.lpi_features, 0x1e);
	assert_int_equal(info.lpi_seq, 7);
	assert_int_equal(info.lpi_nis_nr, 1);
	assert_true(m0_lnet_nid_eq(&nis[0].lpg_nid, &nid_b));
	assert_true(nis[0].lpg_up);
}

/* Each of the rules of 5.2, broken. */
static void ping_that_is_none_is_refused(void **state)
{
	static const struct {
		size_t  at;
		uint8_t byte;
	} changes[] = {
		{ 0, 0x66 },  /* magic */
		{ 4, 0x1c },  /* no NI_STATUS */
		{ 12, 0 },    /* no entries */
		{ 13, 0x11 }, /* 4354 entries */
		{ 15, 0x80 }, /* very many */
		{ 16, 1 },    /* 1@lo */
		{ 22, 2 },    /* first is of tcp */
	};
	struct m0_lnet_ping_ni   nis[NIS];
	struct m0_lnet_ping_info info;
	uint8_t                  bytes[sizeof example];
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(changes); ++i) {
		memcpy(bytes, example, sizeof bytes);
		bytes[changes[i].at] = changes[i].byte;
		info_init(&info, nis, 0);
		assert_int_equal(m0_lnet__ping_decode(&info, bytes,
						      sizeof bytes),
				 -EPROTO);
	}
}

/* A total that is too large to be true is not asked for. */
static void ping_of_incredible_size_is_refused(void **state)
{
	struct m0_lnet_ping_ni   nis[] = { { nid_6, true } };
	struct m0_lnet_ping_info info;
	uint8_t                  bytes[56];
	struct m0_lnet_ping_ni   found[NIS];

	(void)state;
	info_init(&info, nis, 1);
	assert_int_equal(m0_lnet__ping_encode(&info, bytes, sizeof bytes), 56);
	info_init(&info, found, 0);
	bytes[30] = 2;
	assert_int_equal(m0_lnet__ping_decode(&info, bytes, sizeof bytes),
			 -EPROTO);
	bytes[30] = 1;
	assert_int_equal(m0_lnet__ping_decode(&info, bytes, sizeof bytes), 0);
	assert_true(info.lpi_truncated);
	assert_int_equal(info.lpi_bytes, 65536 + 56);
	/* A total below what the entries take is none. */
	bytes[28] = 4;
	bytes[30] = 0;
	assert_int_equal(m0_lnet__ping_decode(&info, bytes, sizeof bytes), 0);
	assert_int_equal(info.lpi_bytes, 32);
	assert_int_equal(info.lpi_nis_nr, 0);
}

/* Large entries of sizes not known here, and metadata, are passed over. */
static void ping_with_unknown_parts_is_decoded(void **state)
{
	struct m0_lnet_ping_ni   nis[NIS];
	struct m0_lnet_ping_info info;
	uint8_t                  bytes[512] = {};
	uint8_t                 *end = bytes + 32;
	size_t                   whole;

	(void)state;
	memcpy(bytes, example, 32);
	bytes[4] = 0xfe;
	bytes[12] = 1;
	/* A NID of 20 + 4 address bytes. */
	memset(end, 0x77, 4 + 8 + 20);
	end[4] = 20;
	end += 4 + 8 + 20;
	/* One of 5 address bytes, with something in its padding. */
	memcpy(end,
	       (const uint8_t[]){ 0, 0, 0, 0, 1, 200, 0, 0, 9, 9, 9, 9, 9, 1, 1,
				  1 },
	       16);
	end += 16;
	/* The one we know. */
	memcpy(end, (const uint8_t[]){ 0xde, 0xc0, 0xaa, 0x15 }, 4);
	m0_lnet_nid_encode(&nid_6, end + 4);
	end += 24;
	whole = (size_t)(end - bytes);
	bytes[28] = (uint8_t)whole;
	/* Metadata: one element. */
	memset(end, 0xfe, 4 + 40);
	end += 4 + 40;
	info_init(&info, nis, 0);
	assert_int_equal(
		m0_lnet__ping_decode(&info, bytes, (size_t)(end - bytes)), 0);
	assert_int_equal(info.lpi_bytes, whole);
	assert_false(info.lpi_truncated);
	assert_int_equal(info.lpi_nis_nr, 2);
	assert_int_equal(nis[0].lpg_nid.ln_type, 200);
	assert_int_equal(nis[0].lpg_nid.ln_size, 1);
	assert_false(nis[0].lpg_up);
	assert_true(m0_lnet_nid_eq(&nis[1].lpg_nid, &nid_6));
	assert_true(nis[1].lpg_up);
}

/* ANY, lo and numbers that are no NID are nobody to be sent to. */
static void ping_with_strange_nids_skips_them(void **state)
{
	static const uint64_t    strange[] = { M0_LNET_NID4_ANY,
					       UINT64_C(0x0009000000000000),
					       UINT64_C(0x0100000000000000) };
	struct m0_lnet_ping_ni   nis[NIS];
	struct m0_lnet_ping_info info;
	uint8_t                  bytes[48 + 48];
	size_t                   at = 32;
	size_t                   i;

	(void)state;
	memcpy(bytes, example, 32);
	bytes[12] = 5;
	for (i = 0; i < ARRAY_SIZE(strange); ++i) {
		at = put64(bytes, at, strange[i]);
		at = put64(bytes, at, M0_LNET_STATUS_UP);
	}
	memcpy(bytes + at, example + 32, 16);
	info_init(&info, nis, 0);
	assert_int_equal(m0_lnet__ping_decode(&info, bytes, sizeof bytes), 0);
	assert_int_equal(info.lpi_nis_nr, 1);
	assert_true(m0_lnet_nid_eq(&nis[0].lpg_nid, &nid_b));
}

/* Status: up is up; down, invalid and anything else is not. */
static void ping_status_other_than_up_is_down(void **state)
{
	static const uint32_t    values[] = { M0_LNET_STATUS_DOWN, 0, 1,
					      M0_LNET_STATUS_UP };
	struct m0_lnet_ping_ni   nis[NIS];
	struct m0_lnet_ping_info info;
	uint8_t                  bytes[sizeof example];
	size_t                   i;

	(void)state;
	memcpy(bytes, example, sizeof bytes);
	for (i = 0; i < ARRAY_SIZE(values); ++i) {
		(void)put64(bytes, 40, values[i]);
		info_init(&info, nis, 0);
		assert_int_equal(
			m0_lnet__ping_decode(&info, bytes, sizeof bytes), 0);
		assert_true(nis[0].lpg_up == (values[i] == M0_LNET_STATUS_UP));
	}
}

/* As many NIs as may be: all are counted, those that have room are stored. */
static void ping_of_most_entries_is_counted(void **state)
{
	static uint8_t           bytes[16 + 16 * M0_LNET_PING_NIS_MAX];
	struct m0_lnet_ping_ni   nis[NIS + 1];
	struct m0_lnet_ping_info info;
	size_t                   at = 32;
	unsigned                 i;

	(void)state;
	memcpy(bytes, example, 32);
	bytes[12] = 0;
	bytes[13] = 0x10;
	for (i = 1; i < M0_LNET_PING_NIS_MAX; ++i) {
		at = put64(bytes, at, UINT64_C(0x000200000a000000) + i);
		at = put64(bytes, at, M0_LNET_STATUS_UP);
	}
	assert_int_equal(at, sizeof bytes);
	memset(nis, 0, sizeof nis);
	info_init(&info, nis, 0);
	assert_int_equal(m0_lnet__ping_decode(&info, bytes, sizeof bytes), 0);
	assert_int_equal(info.lpi_nis_nr, M0_LNET_PING_NIS_MAX - 1);
	assert_int_equal(nis[NIS - 1].lpg_nid.ln_addr[3], NIS);
	assert_int_equal(nis[NIS].lpg_nid.ln_type, 0);
	/* Without room at all. */
	info.lpi_nis = NULL;
	info.lpi_nis_max = 0;
	assert_int_equal(m0_lnet__ping_decode(&info, bytes, sizeof bytes), 0);
	assert_int_equal(info.lpi_nis_nr, M0_LNET_PING_NIS_MAX - 1);
}

/* Random bytes behind a good beginning are survived. */
static void ping_of_random_bytes_survives(void **state)
{
	uint64_t                 seed = 6;
	struct m0_lnet_ping_ni   nis[NIS];
	struct m0_lnet_ping_info info;
	uint8_t                 *bytes;
	size_t                   nr;
	size_t                   i;
	unsigned                 round;

	(void)state;
	for (round = 0; round < 20000; ++round) {
		nr = 32 + m0_rnd(200, &seed);
		bytes = malloc(nr);
		assert_non_null(bytes);
		for (i = 0; i < nr; ++i)
			bytes[i] = (uint8_t)m0_rnd(256, &seed);
		memcpy(bytes, example, 28);
		bytes[4] = (uint8_t)(2 | m0_rnd(256, &seed));
		bytes[12] = (uint8_t)(1 + m0_rnd(8, &seed));
		bytes[30] = bytes[31] = 0;
		info_init(&info, nis, 0);
		assert_int_equal(m0_lnet__ping_decode(&info, bytes, nr), 0);
		assert_true(info.lpi_nis_nr <= nr / 12);
		free(bytes);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ping_example_is_as_written),
		cmocka_unit_test(ping_order_keeps_primary_first),
		cmocka_unit_test(ping_large_entries_are_as_written),
		cmocka_unit_test(ping_encode_puts_what_fits),
		cmocka_unit_test(ping_cut_says_how_much_is_missing),
		cmocka_unit_test(ping_swapped_is_decoded),
		cmocka_unit_test(ping_that_is_none_is_refused),
		cmocka_unit_test(ping_of_incredible_size_is_refused),
		cmocka_unit_test(ping_with_unknown_parts_is_decoded),
		cmocka_unit_test(ping_with_strange_nids_skips_them),
		cmocka_unit_test(ping_status_other_than_up_is_down),
		cmocka_unit_test(ping_of_most_entries_is_counted),
		cmocka_unit_test(ping_of_random_bytes_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
