/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../../base/panics.h"

#include "base/rand.h"
#include "lnd/ksock/ksock_wire.h"

/* A and B of the worked examples: 10.0.0.1@tcp and 10.0.0.2@tcp. */
#define NID_A                                                            \
	{                                                                \
		.ln_type = M0_LNET_TYPE_TCP, .ln_addr = { 10, 0, 0, 1 }, \
	}
#define NID_B                                                            \
	{                                                                \
		.ln_type = M0_LNET_TYPE_TCP, .ln_addr = { 10, 0, 0, 2 }, \
	}
/* 2001:db8::5@tcp1. */
#define NID_6                                                                  \
	{                                                                      \
		.ln_size = M0_LNET_NID_SIZE_IPV6, .ln_type = M0_LNET_TYPE_TCP, \
		.ln_num = 1, .ln_addr = { 0x20, 1, 0x0d, 0xb8, [15] = 5 },     \
	}

static const struct m0_lnet_nid nid_a = NID_A;
static const struct m0_lnet_nid nid_b = NID_B;
static const struct m0_lnet_nid nid_6 = NID_6;

/** A HELLO and its bytes. */
struct hello_case {
	struct m0_sock_hello hl_hello;
	size_t               hl_nr;
	uint8_t              hl_bytes[M0_SOCK_HELLO_BYTES_MAX];
};

/* clang-format off */
/** A.1 of the protocol. */
static const uint8_t request_v1[16] = {
	0x00, 0x71, 0xce, 0xac, 0x01, 0x00, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
};
static const uint8_t request_v2[28] = {
	0x00, 0x71, 0xce, 0xac, 0x02, 0x00, 0x00, 0x00,
	0x0c, 0x02, 0x00, 0x01, 0x20, 0x01, 0x0d, 0xb8, [27] = 5,
};
static const uint8_t refusal[16] = {
	0x00, 0x71, 0xce, 0xac, 0x01, 0x00, 0x00, 0x00,
};

static const struct hello_case hellos[] = {
	{ /* A.2: A to B. */
		{ .sh_version = M0_SOCK_V3, .sh_src_nid = NID_A,
		  .sh_dst_nid = NID_B, .sh_src_pid = 12345,
		  .sh_src_incarnation = UINT64_C(0x1122334455667788),
		  .sh_ctype = M0_SOCK_CONTROL },
		56,
		{ 0x63, 0x69, 0x72, 0x45, 0x03, 0x00, 0x00, 0x00,
		  0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00 } },
	{ /* A.3: B accepts. */
		{ .sh_version = M0_SOCK_V3, .sh_src_nid = NID_B,
		  .sh_dst_nid = NID_A, .sh_src_pid = 12345,
		  .sh_src_incarnation = UINT64_C(0x99aabbccddeeff00),
		  .sh_ctype = M0_SOCK_CONTROL },
		56,
		{ 0x63, 0x69, 0x72, 0x45, 0x03, 0x00, 0x00, 0x00,
		  0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00 } },
	{ /* A.4: B refuses. */
		{ .sh_version = M0_SOCK_V3, .sh_src_nid = NID_B,
		  .sh_dst_nid = NID_A, .sh_src_pid = 12345,
		  .sh_src_incarnation = UINT64_C(0x99aabbccddeeff00),
		  .sh_ctype = M0_SOCK_NONE },
		56,
		{ 0x63, 0x69, 0x72, 0x45, 0x03, 0x00, 0x00, 0x00,
		  0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00 } },
	{ /* V2: only the version differs. */
		{ .sh_version = M0_SOCK_V2, .sh_src_nid = NID_A,
		  .sh_dst_nid = NID_B, .sh_src_pid = 0x01020304,
		  .sh_dst_pid = 0x05060708,
		  .sh_src_incarnation = 1, .sh_dst_incarnation = 2,
		  .sh_ctype = 9, .sh_ips_nr = 16 },
		56,
		{ 0x63, 0x69, 0x72, 0x45, 0x02, 0x00, 0x00, 0x00,
		  0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,
		  0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x09, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00 } },
	{ /* V4: large NIDs. */
		{ .sh_version = M0_SOCK_V4, .sh_src_nid = NID_6,
		  .sh_dst_nid = NID_A, .sh_src_pid = 12345,
		  .sh_src_incarnation = UINT64_C(0x1122334455667788),
		  .sh_ctype = M0_SOCK_BULK_OUT },
		80,
		{ 0x63, 0x69, 0x72, 0x45, 0x04, 0x00, 0x00, 0x00,
		  0x0c, 0x02, 0x00, 0x01, 0x20, 0x01, 0x0d, 0xb8,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x00, 0x00, 0x00, 0x05,
		  0x00, 0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x01,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x00, 0x00, 0x00, 0x00,
		  0x39, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00 } },
	{ /* V1: an LNet header of old, without destination. */
		{ .sh_version = M0_SOCK_V1, .sh_src_nid = NID_A,
		  .sh_dst_nid = { .ln_size = 0xff, .ln_type = 0xff,
				  .ln_num = 0xffff },
		  .sh_src_pid = 12345,
		  .sh_src_incarnation = UINT64_C(0x1122334455667788),
		  .sh_ctype = M0_SOCK_CONTROL, .sh_ips_nr = 2 },
		72,
		{ 0xed, 0x0d, 0xbc, 0xee, 0x01, 0x00, 0x00, 0x00,
		  0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		  0x00, 0x00, 0x00, 0x00, 0x39, 0x30, 0x00, 0x00,
		  0x04, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,
		  0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		  0x01, 0x00, 0x00, 0x00 } },
};
/* clang-format on */

/* -- connection request ---------------------------------------------------- */

/* Small NIDs are asked for in version 1, large ones in version 2. */
static void request_is_as_written(void **state)
{
	struct m0_sock_request req = { .sr_nid = nid_b };
	uint8_t                buf[M0_SOCK_REQUEST_BYTES_MAX];

	(void)state;
	assert_int_equal(m0_sock__request_encode(&req, buf), sizeof request_v1);
	assert_memory_equal(buf, request_v1, sizeof request_v1);
	req.sr_nid = nid_6;
	assert_int_equal(m0_sock__request_encode(&req, buf), sizeof request_v2);
	assert_memory_equal(buf, request_v2, sizeof request_v2);
	assert_int_equal(m0_sock__request_bytes(request_v1), 16);
	assert_int_equal(m0_sock__request_decode(&req, request_v1), 0);
	assert_true(m0_lnet_nid_eq(&req.sr_nid, &nid_b));
	assert_int_equal(m0_sock__request_bytes(request_v2), 28);
	assert_int_equal(m0_sock__request_decode(&req, request_v2), 0);
	assert_true(m0_lnet_nid_eq(&req.sr_nid, &nid_6));
}

/** Reverses the bytes of a field. */
static void flip(uint8_t *bytes, size_t nr)
{
	uint8_t byte;
	size_t  i;

	for (i = 0; i < nr / 2; ++i) {
		byte = bytes[i];
		bytes[i] = bytes[nr - 1 - i];
		bytes[nr - 1 - i] = byte;
	}
}

/* The other byte order: numbers turn, large NIDs do not. */
static void request_swapped_is_decoded(void **state)
{
	struct m0_sock_request req;
	uint8_t                bytes[sizeof request_v2];

	(void)state;
	memcpy(bytes, request_v1, sizeof request_v1);
	flip(bytes, 4);
	flip(bytes + 4, 4);
	flip(bytes + 8, 8);
	assert_int_equal(m0_sock__request_bytes(bytes), 16);
	assert_int_equal(m0_sock__request_decode(&req, bytes), 0);
	assert_true(m0_lnet_nid_eq(&req.sr_nid, &nid_b));
	memcpy(bytes, request_v2, sizeof request_v2);
	flip(bytes, 4);
	flip(bytes + 4, 4);
	assert_int_equal(m0_sock__request_bytes(bytes), 28);
	assert_int_equal(m0_sock__request_decode(&req, bytes), 0);
	assert_true(m0_lnet_nid_eq(&req.sr_nid, &nid_6));
}

/* A head that is no request gets either the version we speak or no answer. */
static void request_head_decides_answer(void **state)
{
	static const struct {
		uint8_t head[8];
		int     want;
	} heads[] = {
		{ { 0x00, 0x71, 0xce, 0xac, 3 }, -EPROTONOSUPPORT },
		{ { 0x00, 0x71, 0xce, 0xac, 0 }, -EPROTONOSUPPORT },
		{ { 0x00, 0x71, 0xce, 0xac, 1, 1 }, -EPROTONOSUPPORT },
		/* Swapped magic, version as it is: 0x01000000. */
		{ { 0xac, 0xce, 0x71, 0x00, 1 }, -EPROTONOSUPPORT },
		{ { 0x63, 0x69, 0x72, 0x45, 3 }, -EPROTONOSUPPORT },
		{ { 0x45, 0x72, 0x69, 0x63, 0, 0, 0, 3 }, -EPROTONOSUPPORT },
		{ { 0xed, 0x0d, 0xbc, 0xee, 1 }, -EPROTO },
		{ { 'G', 'E', 'T', ' ', '/', ' ', 'H', 'T' }, -EPROTO },
		{ { 0 }, -EPROTO },
	};
	struct m0_sock_request req;
	size_t                 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(heads); ++i) {
		assert_int_equal(m0_sock__request_bytes(heads[i].head),
				 heads[i].want);
		assert_int_equal(m0_sock__request_decode(&req, heads[i].head),
				 -EPROTO);
	}
}

/* A NID that cannot be is nobody here. */
static void request_of_impossible_nid_is_refused(void **state)
{
	struct m0_sock_request req;
	uint8_t                bytes[sizeof request_v2];

	(void)state;
	memcpy(bytes, request_v1, sizeof request_v1);
	bytes[15] = 1;
	assert_int_equal(m0_sock__request_decode(&req, bytes), -EPROTO);
	memcpy(bytes, request_v2, sizeof request_v2);
	bytes[8] = 13;
	assert_int_equal(m0_sock__request_decode(&req, bytes), -EPROTO);
}

/* The answer to another version is ours, for nobody. */
static void request_refusal_is_as_written(void **state)
{
	uint8_t buf[M0_SOCK_REQUEST_V1_BYTES];

	(void)state;
	assert_int_equal(m0_sock__request_refuse(buf), sizeof refusal);
	assert_memory_equal(buf, refusal, sizeof refusal);
}

/* -- HELLO ----------------------------------------------------------------- */

static void assert_hello_eq(const struct m0_sock_hello *left,
			    const struct m0_sock_hello *right)
{
	assert_int_equal(left->sh_version, right->sh_version);
	assert_true(m0_lnet_nid_eq(&left->sh_src_nid, &right->sh_src_nid));
	assert_true(m0_lnet_nid_eq(&left->sh_dst_nid, &right->sh_dst_nid));
	assert_int_equal(left->sh_src_pid, right->sh_src_pid);
	assert_int_equal(left->sh_dst_pid, right->sh_dst_pid);
	assert_true(left->sh_src_incarnation == right->sh_src_incarnation);
	assert_true(left->sh_dst_incarnation == right->sh_dst_incarnation);
	assert_int_equal(left->sh_ctype, right->sh_ctype);
	assert_int_equal(left->sh_ips_nr, right->sh_ips_nr);
	assert_int_equal(left->sh_swapped, right->sh_swapped);
}

/* The worked examples and one of each version, both ways. */
static void hello_examples_are_as_written(void **state)
{
	const struct hello_case *example;
	struct m0_sock_hello     hello;
	uint8_t                  buf[M0_SOCK_HELLO_BYTES_MAX];
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(hellos); ++i) {
		example = &hellos[i];
		memset(buf, 0x55, sizeof buf);
		assert_int_equal(m0_sock__hello_encode(&example->hl_hello, buf),
				 example->hl_nr);
		assert_memory_equal(buf, example->hl_bytes, example->hl_nr);
		assert_int_equal(m0_sock__hello_bytes(buf), example->hl_nr);
		memset(&hello, 0x55, sizeof hello);
		assert_int_equal(m0_sock__hello_decode(&hello, buf), 0);
		assert_hello_eq(&hello, &example->hl_hello);
	}
}

/* A peer of the other byte order is understood, its 64-bit NIDs too. */
static void hello_swapped_is_decoded(void **state)
{
	static const size_t widths_v3[] = { 4, 4, 8, 8, 4, 4, 8, 8, 4, 4, 0 };
	/* Large NIDs are bytes. */
	static const size_t  widths_v4[] = { 4, 4, 40, 4, 4, 8, 8, 4, 4, 0 };
	const size_t        *width;
	struct m0_sock_hello hello;
	struct m0_sock_hello want;
	uint8_t              bytes[M0_SOCK_HELLO_BYTES_MAX];
	size_t               at;
	size_t               i;

	(void)state;
	/* V1, the last, has one order only. */
	for (i = 0; i < ARRAY_SIZE(hellos) - 1; ++i) {
		want = hellos[i].hl_hello;
		want.sh_swapped = true;
		memcpy(bytes, hellos[i].hl_bytes, sizeof bytes);
		width = want.sh_version == M0_SOCK_V4 ? widths_v4 : widths_v3;
		for (at = 0; *width > 0; at += *width++)
			if (*width <= 8)
				flip(bytes + at, *width);
		assert_int_equal(at, hellos[i].hl_nr);
		assert_int_equal(m0_sock__hello_bytes(bytes), at);
		assert_int_equal(m0_sock__hello_decode(&hello, bytes), 0);
		assert_hello_eq(&hello, &want);
	}
}

/* A head that is no HELLO gets either a refusal or no answer. */
static void hello_head_decides_answer(void **state)
{
	static const struct {
		uint8_t head[8];
		int     want;
	} heads[] = {
		{ { 0x63, 0x69, 0x72, 0x45, 1 }, -EPROTONOSUPPORT },
		{ { 0x63, 0x69, 0x72, 0x45, 5 }, -EPROTONOSUPPORT },
		{ { 0x63, 0x69, 0x72, 0x45, 0, 0, 0, 3 }, -EPROTONOSUPPORT },
		{ { 0x45, 0x72, 0x69, 0x63, 3 }, -EPROTONOSUPPORT },
		/* V1 of another minor version, and with a swapped magic. */
		{ { 0xed, 0x0d, 0xbc, 0xee, 1, 0, 1, 0 }, -EPROTONOSUPPORT },
		{ { 0xee, 0xbc, 0x0d, 0xed, 1 }, -EPROTO },
		/* An acceptor that does not know our version says this. */
		{ { 0x00, 0x71, 0xce, 0xac, 1 }, -EPROTO },
		{ { 'S', 'S', 'H', '-', '2', '.', '0', '-' }, -EPROTO },
	};
	struct m0_sock_hello hello;
	size_t               i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(heads); ++i) {
		assert_int_equal(m0_sock__hello_bytes(heads[i].head),
				 heads[i].want);
		assert_int_equal(m0_sock__hello_decode(&hello, heads[i].head),
				 -EPROTO);
	}
}

/* A source that cannot be is an error; nobody looks at the destination. */
static void hello_of_impossible_source_is_refused(void **state)
{
	static const size_t  src_at[] = { 15, 15, 15, 15, 8, 15 };
	static const size_t  dst_at[] = { 23, 23, 23, 23, 28 };
	struct m0_sock_hello hello;
	uint8_t              bytes[M0_SOCK_HELLO_BYTES_MAX];
	size_t               i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(src_at); ++i) {
		memcpy(bytes, hellos[i].hl_bytes, sizeof bytes);
		bytes[src_at[i]] = 13;
		assert_int_equal(m0_sock__hello_decode(&hello, bytes), -EPROTO);
	}
	for (i = 0; i < ARRAY_SIZE(dst_at); ++i) {
		memcpy(bytes, hellos[i].hl_bytes, sizeof bytes);
		bytes[dst_at[i]] = 13;
		assert_int_equal(m0_sock__hello_decode(&hello, bytes), 0);
		assert_true(m0_lnet_nid_is_any(&hello.sh_dst_nid));
	}
}

/* At most 16 addresses follow, none in V4; V1 counts them in bytes. */
static void hello_addresses_are_bounded(void **state)
{
	struct m0_sock_hello hello;
	uint8_t              bytes[M0_SOCK_HELLO_BYTES_MAX];

	(void)state;
	memcpy(bytes, hellos[0].hl_bytes, sizeof bytes);
	bytes[52] = 16;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), 0);
	assert_int_equal(hello.sh_ips_nr, 16);
	bytes[52] = 17;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), -EPROTO);
	bytes[52] = 0;
	bytes[55] = 0x40;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), -EPROTO);
	memcpy(bytes, hellos[4].hl_bytes, sizeof bytes);
	bytes[76] = 200;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), 0);
	assert_int_equal(hello.sh_ips_nr, 0);
	memcpy(bytes, hellos[5].hl_bytes, sizeof bytes);
	bytes[28] = 64;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), 0);
	assert_int_equal(hello.sh_ips_nr, 16);
	bytes[28] = 68;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), -EPROTO);
	bytes[28] = 6;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), -EPROTO);
	/* And its type is HELLO. */
	bytes[28] = 0;
	bytes[24] = 1;
	assert_int_equal(m0_sock__hello_decode(&hello, bytes), -EPROTO);
}

/* Address 0 is forbidden, in any place. */
static void hello_address_zero_is_bad(void **state)
{
	uint8_t ips[4 * 4];

	(void)state;
	memset(ips, 1, sizeof ips);
	assert_false(m0_sock__hello_ips_bad(ips, 4));
	assert_false(m0_sock__hello_ips_bad(ips, 0));
	assert_false(m0_sock__hello_ips_bad(NULL, 0));
	memset(ips + 12, 0, 4);
	assert_false(m0_sock__hello_ips_bad(ips, 3));
	assert_true(m0_sock__hello_ips_bad(ips, 4));
	ips[15] = 1;
	assert_false(m0_sock__hello_ips_bad(ips, 4));
}

/* Large NIDs are not cut to fit an old version; no version is made up. */
static void hello_that_cannot_be_said_is_not(void **state)
{
	struct m0_sock_hello hello = hellos[0].hl_hello;
	uint8_t              buf[M0_SOCK_HELLO_BYTES_MAX];

	(void)state;
	hello.sh_dst_nid = nid_6;
	assert_int_equal(m0_sock__hello_encode(&hello, buf), 0);
	hello.sh_dst_nid = nid_a;
	hello.sh_src_nid = nid_6;
	for (hello.sh_version = M0_SOCK_V1; hello.sh_version < M0_SOCK_V4;
	     ++hello.sh_version)
		assert_int_equal(m0_sock__hello_encode(&hello, buf), 0);
	assert_int_equal(m0_sock__hello_encode(&hello, buf), 80);
	hello.sh_version = 5;
	assert_panics((void)m0_sock__hello_encode(&hello, buf));
	hello.sh_version = 0;
	assert_panics((void)m0_sock__hello_encode(&hello, buf));
}

/* In and out change places; the others stay. */
static void ctype_inverted_swaps_in_and_out(void **state)
{
	(void)state;
	assert_int_equal(m0_sock__ctype_invert(M0_SOCK_ANY), M0_SOCK_ANY);
	assert_int_equal(m0_sock__ctype_invert(M0_SOCK_CONTROL),
			 M0_SOCK_CONTROL);
	assert_int_equal(m0_sock__ctype_invert(M0_SOCK_BULK_IN),
			 M0_SOCK_BULK_OUT);
	assert_int_equal(m0_sock__ctype_invert(M0_SOCK_BULK_OUT),
			 M0_SOCK_BULK_IN);
	assert_true(m0_sock__ctype_invert(M0_SOCK_NONE) == M0_SOCK_NONE);
	assert_int_equal(m0_sock__ctype_invert(9), 9);
}

/* -- frames ---------------------------------------------------------------- */

/* A.9 of the protocol, and a frame in which every field has its own bytes. */
static void frame_examples_are_as_written(void **state)
{
	/* clang-format off */
	static const struct {
		struct m0_sock_frame frame;
		uint8_t              bytes[M0_SOCK_FRAME_BYTES];
	} frames[] = {
		{ { .sfr_type = M0_SOCK_FRAME_NOOP, .sfr_cookie = { 0, 2 } },
		  { 0xc0, [16] = 2 } },
		{ { .sfr_type = M0_SOCK_FRAME_NOOP, .sfr_cookie = { 5, 9 } },
		  { 0xc0, [8] = 5, [16] = 9 } },
		{ { .sfr_type = M0_SOCK_FRAME_LNET },
		  { 0xc1 } },
		{ { .sfr_type = M0_SOCK_FRAME_LNET, .sfr_csum = 0x01020304,
		    .sfr_cookie = { UINT64_C(0x1112131415161718),
				   UINT64_C(0x2122232425262728) } },
		  { 0xc1, 0, 0, 0, 4, 3, 2, 1,
		    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
		    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21 } },
	};
	/* clang-format on */
	struct m0_sock_frame frame;
	uint8_t              buf[M0_SOCK_FRAME_BYTES];
	size_t               i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frames); ++i) {
		m0_sock__frame_encode(&frames[i].frame, buf);
		assert_memory_equal(buf, frames[i].bytes, sizeof buf);
		assert_int_equal(m0_sock__frame_decode(&frame, false, buf), 0);
		assert_memory_equal(&frame, &frames[i].frame, sizeof frame);
		flip(buf, 4);
		flip(buf + 4, 4);
		flip(buf + 8, 8);
		flip(buf + 16, 8);
		assert_int_equal(m0_sock__frame_decode(&frame, true, buf), 0);
		assert_memory_equal(&frame, &frames[i].frame, sizeof frame);
		/* In the order of the others it is none. */
		assert_int_equal(m0_sock__frame_decode(&frame, false, buf),
				 -EPROTO);
	}
}

/* Other types end a connection. */
static void frame_of_unknown_type_is_refused(void **state)
{
	struct m0_sock_frame frame;
	uint8_t              buf[M0_SOCK_FRAME_BYTES] = { 0xc2 };

	(void)state;
	assert_int_equal(m0_sock__frame_decode(&frame, false, buf), -EPROTO);
	buf[0] = 0xbf;
	assert_int_equal(m0_sock__frame_decode(&frame, false, buf), -EPROTO);
	buf[0] = 0xc0;
	buf[3] = 1;
	assert_int_equal(m0_sock__frame_decode(&frame, false, buf), -EPROTO);
}

/* Every shape of cookies that 3.10 knows, and those it forbids. */
static void frame_acks_are_those_of_its_cookies(void **state)
{
	static const struct {
		uint32_t type;
		uint64_t cookie[2];
		int      nr;
		uint64_t ranges[2][2];
	} frames[] = {
		{ 0xc0, { 0, 0 }, 0, {} },
		{ 0xc0, { 0, 1 }, 0, {} },
		{ 0xc0, { 0, 2 }, 1, { { 2, 2 } } },
		{ 0xc0, { 5, 9 }, 1, { { 5, 9 } } },
		{ 0xc0, { 5, 5 }, 1, { { 5, 5 } } },
		{ 0xc0, { 9, 5 }, 2, { { 9, 9 }, { 5, 5 } } },
		{ 0xc0, { 9, 0 }, 1, { { 9, 9 } } },
		{ 0xc0, { 2, UINT64_MAX }, 1, { { 2, UINT64_MAX } } },
		{ 0xc0, { 1, 0 }, -EPROTO, {} },
		{ 0xc0, { 1, 1 }, -EPROTO, {} },
		{ 0xc0, { 1, 9 }, -EPROTO, {} },
		{ 0xc0, { 9, 1 }, -EPROTO, {} },
		/* In a frame with a message the first cookie asks for an
		 * acknowledgement. */
		{ 0xc1, { 0, 0 }, 0, {} },
		{ 0xc1, { 7, 0 }, 0, {} },
		{ 0xc1, { 7, 3 }, 1, { { 3, 3 } } },
		{ 0xc1, { 3, 7 }, 1, { { 7, 7 } } },
		{ 0xc1, { 0, 1 }, -EPROTO, {} },
		{ 0xc1, { 7, 1 }, -EPROTO, {} },
	};
	struct m0_sock_frame frame = {};
	uint64_t             ranges[2][2];
	size_t               i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frames); ++i) {
		memset(ranges, 0, sizeof ranges);
		frame.sfr_type = frames[i].type;
		memcpy(frame.sfr_cookie, frames[i].cookie,
		       sizeof frame.sfr_cookie);
		assert_int_equal(m0_sock__frame_acks(&frame, ranges),
				 frames[i].nr);
		assert_memory_equal(ranges, frames[i].ranges, sizeof ranges);
	}
}

/* -- noise ----------------------------------------------------------------- */

/* Random bytes behind a good head are survived, and said again. */
static void hello_of_random_bytes_survives(void **state)
{
	uint64_t             seed = 5;
	struct m0_sock_hello hello;
	struct m0_sock_hello again;
	uint8_t              bytes[M0_SOCK_HELLO_BYTES_MAX];
	uint8_t              buf[M0_SOCK_HELLO_BYTES_MAX];
	size_t               i;
	unsigned             round;
	unsigned             taken = 0;

	(void)state;
	for (round = 0; round < 20000; ++round) {
		for (i = 8; i < sizeof bytes; ++i)
			bytes[i] = m0_rnd(3, &seed) == 0
					   ? (uint8_t)m0_rnd(256, &seed)
					   : 0;
		memcpy(bytes, hellos[round % ARRAY_SIZE(hellos)].hl_bytes, 8);
		if (m0_sock__hello_decode(&hello, bytes) != 0)
			continue;
		++taken;
		assert_int_equal(m0_sock__hello_encode(&hello, buf),
				 m0_sock__hello_bytes(bytes));
		assert_int_equal(m0_sock__hello_decode(&again, buf), 0);
		assert_hello_eq(&hello, &again);
	}
	assert_in_range(taken, 500, 19000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_is_as_written),
		cmocka_unit_test(request_swapped_is_decoded),
		cmocka_unit_test(request_head_decides_answer),
		cmocka_unit_test(request_of_impossible_nid_is_refused),
		cmocka_unit_test(request_refusal_is_as_written),
		cmocka_unit_test(hello_examples_are_as_written),
		cmocka_unit_test(hello_swapped_is_decoded),
		cmocka_unit_test(hello_head_decides_answer),
		cmocka_unit_test(hello_of_impossible_source_is_refused),
		cmocka_unit_test(hello_addresses_are_bounded),
		cmocka_unit_test(hello_address_zero_is_bad),
		cmocka_unit_test(hello_that_cannot_be_said_is_not),
		cmocka_unit_test(ctype_inverted_swaps_in_and_out),
		cmocka_unit_test(frame_examples_are_as_written),
		cmocka_unit_test(frame_of_unknown_type_is_refused),
		cmocka_unit_test(frame_acks_are_those_of_its_cookies),
		cmocka_unit_test(hello_of_random_bytes_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
