/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rules of selection and their ranges: text, matching, and the encoded form. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rand.h"
#include "lnet/policy/range.h"

static char why[M0_LNET_WHY_BYTES];

static struct m0_lnet_nid_range range_of(const char *text)
{
	struct m0_lnet_nid_range range;
	int rc = m0_lnet_nid_range_parse(&range, text, why);

	if (rc != 0)
		print_error("%s\n", why);
	assert_int_equal(rc, 0);
	return range;
}

/** Returns true if the range has the NID, and so its bits. */
static bool range_has(const struct m0_lnet_nid_range *range,
		      const struct m0_lnet_nid       *nid)
{
	struct m0_lnet__range_bits bits;
	bool                       in = m0_lnet_nid_range_has(range, nid);

	m0_lnet__range_bits(range, &bits);
	assert_int_equal(m0_lnet__range_bits_have(range, &bits, nid), in);
	return in;
}

static bool has(const char *range, const char *text)
{
	struct m0_lnet_nid_range found = range_of(range);
	struct m0_lnet_nid       nid;
	struct m0_lnet__bounds   bounds;
	uint32_t                 word;
	bool                     in;
	unsigned                 i;

	assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
	in = range_has(&found, &nid);
	/* A NID of the range is in its bounds. */
	m0_lnet__range_bounds(&found, &bounds);
	word = (uint32_t)nid.ln_addr[0] << 24 | (uint32_t)nid.ln_addr[1] << 16 |
	       (uint32_t)nid.ln_addr[2] << 8 | nid.ln_addr[3];
	if (in) {
		assert_in_range(nid.ln_num, bounds.lbo_num_lo,
				bounds.lbo_num_hi);
		for (i = 0; i < 32; i += 8)
			assert_in_range(word >> i & 0xff,
					bounds.lbo_addr_lo >> i & 0xff,
					bounds.lbo_addr_hi >> i & 0xff);
	}
	return in;
}

/** A text, and how it is printed if not as written. */
struct text_case {
	const char *txt_text;
	const char *txt_printed;
};

static const struct text_case good[] = {
	{ "tcp", NULL },
	{ "tcp0", "tcp" },
	{ "tcp5", NULL },
	{ "tcp0x10", "tcp16" },
	{ "tcp65535", NULL },
	{ "o2ib1", NULL },
	{ "tcp[1-3]", NULL },
	{ "tcp[1-9/2,20]", NULL },
	{ "tcp*", "tcp[0-65535]" },
	{ "tcp[0]", "tcp" },
	{ "*@tcp", NULL },
	{ "*@tcp[1-2]", NULL },
	{ "*.*.*.*@tcp", "[0-255].[0-255].[0-255].[0-255]@tcp" },
	{ "192.168.77.[3-4]@tcp", NULL },
	{ "10.1.1.*@tcp", "10.1.1.[0-255]@tcp" },
	{ "10.0.[1-5/2].*@tcp2", "10.0.[1-5/2].[0-255]@tcp2" },
	/* A list of single values, which the kernel's tool misprints. */
	{ "10.0.0.[1,3,5]@tcp", NULL },
	{ "10.0.0.[ 1 , 3-5 ]@tcp", "10.0.0.[1,3-5]@tcp" },
	{ "10.0.0.[5]@tcp", "10.0.0.5@tcp" },
	{ "10.0.0.[5-5]@tcp", "10.0.0.5@tcp" },
	{ "10.1.0.0/16@tcp", "10.1.[0-255].[0-255]@tcp" },
	{ "10.1.2.3/20@tcp", "10.1.[0-15].[0-255]@tcp" },
	{ "10.1.2.3/32@tcp", "10.1.2.3@tcp" },
	{ "2001:db8::/32@tcp", NULL },
	{ "2001:db8::1@tcp1", "2001:db8::1/128@tcp1" },
	{ "2001:db8::1/33@o2ib", "2001:db8::/33@o2ib" },
	{ "5@gni", NULL },
	{ "0x1f@kfi", "31@kfi" },
	{ "[1,5-8]@kfi3", NULL },
	{ "*@gni", NULL },
	{ "[0-4294967295]@gni", "*@gni" },
};

static void range_is_read_and_printed(void **state)
{
	struct m0_lnet_nid_range range;
	struct m0_lnet_nid_range again;
	char                     said[M0_LNET_NID_RANGE_BYTES];
	unsigned                 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); ++i) {
		range = range_of(good[i].txt_text);
		assert_null(m0_lnet__range_malformed(&range));
		m0_lnet_nid_range_print(&range, said, sizeof said);
		assert_string_equal(said, good[i].txt_printed != NULL
						  ? good[i].txt_printed
						  : good[i].txt_text);
		again = range_of(said);
		assert_memory_equal(&again, &range, sizeof range);
	}
}

/** A text that is no range: the place and the words of the message. */
struct bad_case {
	const char *bad_text;
	unsigned    bad_at;
	const char *bad_words;
};

static const struct bad_case bad[] = {
	{ "", 1, "`ADDR@NET` or `NET` is expected" },
	{ "eth0", 1, "type of network is unknown" },
	{ "10.0.0.1", 1, "type of network is unknown" },
	{ "10.0.0.1@", 10, "type of network is unknown" },
	{ "1@lo", 3, "rules do not apply to lo" },
	{ "lo", 1, "rules do not apply to lo" },
	{ "1.2.3.4@tcp@tcp", 12, "more than one `@`" },
	{ "tcp65536", 4, "above 65535" },
	{ "tcp1x", 5, "more text" },
	{ "tcp*[1]", 5, "more text" },
	{ "tcp[1-2", 8, "`,` or `]`" },
	{ "tcp[]", 5, "a number is expected" },
	{ "tcp1-3", 5, "in brackets" },
	{ "@tcp", 1, "a number is expected" },
	{ "1.2.3@tcp", 6, "`.` is expected" },
	{ "1.2.3.4.5@tcp", 8, "more text" },
	{ "1.2.3.256@tcp", 7, "above 255" },
	{ "1.2.3.04@tcp", 7, "leading zero" },
	{ "1.2.3.0x4@tcp", 8, "more text" },
	{ "1.2.3.1-4@tcp", 8, "in brackets" },
	{ "1.2.3.[4-1]@tcp", 8, "ends before it begins" },
	{ "1.2.3.[1-4/0]@tcp", 8, "the stride is 0" },
	{ "1.2.3.[1/2]@tcp", 9, "stride is accepted after LO-HI" },
	{ "1.2.3.[1,]@tcp", 10, "a number is expected" },
	{ "1.2.3.[,1]@tcp", 8, "a number is expected" },
	{ "1.2.3.[1-]@tcp", 10, "a number is expected" },
	{ "1.2.3.[1-4/]@tcp", 12, "a number is expected" },
	{ "1.2.3.[1-4 /2]@tcp", 12, "`,` or `]`" },
	{ " 1.2.3.4@tcp", 1, "a number is expected" },
	{ "1.2.3.4 @tcp", 8, "more text" },
	{ "10.0.0.0/0@tcp", 10, "not 1 to 32" },
	{ "10.0.0.0/33@tcp", 10, "not 1 to 32" },
	{ "10.0.0.0/@tcp", 10, "a number is expected" },
	{ "10.0.0/8@tcp", 1, "not an IPv4 or IPv6 address" },
	{ "2001:db8::/129@tcp", 12, "not 1 to 128" },
	{ "2001:db8::/0@tcp", 12, "not 1 to 128" },
	{ "2001:db8::/8x@tcp", 12, "not 1 to 128" },
	{ "2001:db8::/300@tcp", 12, "above 255" },
	{ "2001:zz::@tcp", 1, "not an IPv4 or IPv6 address" },
	{ "::1@gip", 1, "no IPv6 addresses" },
	{ "1.2.3.4@gni", 2, "more text" },
	{ "4294967296@gni", 1, "above 4294967295" },
	{ "*.1@gni", 2, "more text" },
	{ "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,"
	  "26,27,28,29,30,31,32,33]@gni",
	  91, "there are more than 32 ranges" },
};

static void malformed_range_is_refused_with_its_place(void **state)
{
	struct m0_lnet_nid_range range;
	char                     place[32];
	unsigned                 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); ++i) {
		why[0] = '\0';
		assert_int_equal(m0_lnet_nid_range_parse(&range,
							 bad[i].bad_text, why),
				 -EINVAL);
		(void)snprintf(place, sizeof place,
			       ", character %u: ", bad[i].bad_at);
		if (strstr(why, place) == NULL ||
		    strstr(why, bad[i].bad_words) == NULL)
			print_error("%s: %s\n", bad[i].bad_text, why);
		assert_non_null(strstr(why, place));
		assert_non_null(strstr(why, bad[i].bad_words));
	}
}

static void range_has_the_nids_of_its_expressions(void **state)
{
	(void)state;
	assert_true(has("10.0.[1-5/2].*@tcp2", "10.0.3.77@tcp2"));
	assert_true(has("10.0.[1-5/2].*@tcp2", "10.0.5.0@tcp2"));
	assert_false(has("10.0.[1-5/2].*@tcp2", "10.0.2.77@tcp2"));
	assert_false(has("10.0.[1-5/2].*@tcp2", "10.0.7.77@tcp2"));
	assert_false(has("10.0.[1-5/2].*@tcp2", "10.0.3.77@tcp"));
	assert_false(has("10.0.[1-5/2].*@tcp2", "10.0.3.77@o2ib2"));
	assert_true(has("10.0.0.[1,9]@tcp[1,3-4]", "10.0.0.9@tcp4"));
	assert_false(has("10.0.0.[1,9]@tcp[1,3-4]", "10.0.0.9@tcp2"));
	assert_false(has("10.0.0.[1,9]@tcp[1,3-4]", "10.0.0.5@tcp3"));
	assert_true(has("[1,5-8]@kfi", "7@kfi"));
	assert_false(has("[1,5-8]@kfi", "4@kfi"));
	assert_true(has("[250-300]@kfi", "256@kfi"));
	assert_true(has("[250-300]@kfi", "255@kfi"));
	assert_false(has("[250-300]@kfi", "301@kfi"));
	/* Without a number the network is number 0. */
	assert_true(has("tcp", "10.0.0.1@tcp"));
	assert_false(has("tcp", "10.0.0.1@tcp1"));
	assert_true(has("tcp*", "10.0.0.1@tcp1"));
}

/** Prints a list of one to three ranges by chance, up to `max`. */
static void list_print(struct m0_rand *rand, char *buf, size_t size,
		       unsigned max)
{
	unsigned nr = (unsigned)m0_rand_below(rand, 3) + 1;
	size_t   used = (size_t)snprintf(buf, size, "[");

	for (; nr > 0; --nr) {
		unsigned lo = (unsigned)m0_rand_below(rand, max + 1);
		unsigned hi = lo + (unsigned)m0_rand_below(rand, max - lo + 1);

		used += (size_t)snprintf(buf + used, size - used, "%u-%u/%u%s",
					 lo, hi,
					 (unsigned)m0_rand_below(rand, 3) + 1,
					 nr > 1 ? "," : "]");
	}
}

/* Also of network numbers that have no bits. */
static void bits_of_a_range_have_its_nids(void **state)
{
	struct m0_rand rand;
	char           part[2][64];
	char           text[256];
	unsigned       found = 0;
	unsigned       i;
	unsigned       k;

	(void)state;
	m0_rand_init(&rand, 28);
	for (i = 0; i < 2000; ++i) {
		struct m0_lnet_nid_range range;
		struct m0_lnet_nid       nid;

		list_print(&rand, part[0], sizeof part[0], 255);
		list_print(&rand, part[1], sizeof part[1], 600);
		(void)snprintf(text, sizeof text, "%s.*.%s.*@tcp%s", part[0],
			       part[0], part[1]);
		range = range_of(text);
		for (k = 0; k < 50; ++k) {
			(void)snprintf(text, sizeof text, "%u.1.%u.255@%s%u",
				       (unsigned)m0_rand_below(&rand, 255) + 1,
				       (unsigned)m0_rand_below(&rand, 256),
				       m0_rand_below(&rand, 8) == 0 ? "o2ib"
								    : "tcp",
				       (unsigned)m0_rand_below(&rand, 600));
			assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
			found += range_has(&range, &nid);
		}
	}
	assert_in_range(found, 1000, 99000);
}

/* The kernel looks at 32 bits of an IPv6 address. */
static void ipv6_is_matched_whole(void **state)
{
	(void)state;
	assert_true(has("2001:db8::/32@tcp", "2001:db8:ffff::1@tcp"));
	assert_false(has("2001:db8::/32@tcp", "2001:db9::1@tcp"));
	assert_true(has("2001:db8::1@tcp", "2001:db8::1@tcp"));
	assert_false(has("2001:db8::1@tcp", "2001:db8::2@tcp"));
	assert_false(has("2001:db8::1@tcp", "2001:db8:0:1::1@tcp"));
	assert_true(has("2001:db8::/45@tcp", "2001:db8:7::1@tcp"));
	assert_false(has("2001:db8::/45@tcp", "2001:db8:8::1@tcp"));
	/* Neither family has addresses of the other. */
	assert_false(has("32.1.13.184@tcp", "2001:db8::1@tcp"));
	assert_false(has("*.*.*.*@tcp", "2001:db8::1@tcp"));
	assert_false(has("2001:db8::/32@tcp", "32.1.13.184@tcp"));
	assert_true(has("*@tcp", "2001:db8::1@tcp"));
	assert_true(has("*@tcp", "10.0.0.1@tcp"));
	assert_true(has("tcp", "2001:db8::1@tcp"));
}

/* -- rules ----------------------------------------------------------------- */

/** A rule as text; NULLs: not given. */
static int rule_try(struct m0_lnet_udsp *udsp, const char *src, const char *dst,
		    const char *rte, const char *priority, const char *idx)
{
	const struct m0_lnet_udsp_text text = { src, dst, rte, priority, idx };

	why[0] = '\0';
	return m0_lnet_udsp_parse(udsp, &text, why);
}

static void rule_has_one_of_four_forms(void **state)
{
	struct m0_lnet_udsp udsp;

	(void)state;
	assert_int_equal(rule_try(&udsp, "tcp", NULL, NULL, "1", NULL), 0);
	assert_int_equal(udsp.lud_action, M0_LNET_UDSP_PRIORITY);
	assert_int_equal(udsp.lud_priority, 1);
	assert_int_equal(udsp.lud_idx, M0_LNET_UDSP_LAST);
	/* Without a number the priority is 0. */
	assert_int_equal(rule_try(&udsp, NULL, "1.2.3.4@tcp", NULL, NULL, "7"),
			 0);
	assert_int_equal(udsp.lud_action, M0_LNET_UDSP_PRIORITY);
	assert_int_equal(udsp.lud_priority, 0);
	assert_int_equal(udsp.lud_idx, 7);
	assert_int_equal(
		rule_try(&udsp, "1.2.3.4@tcp", "tcp", NULL, NULL, "-1"), 0);
	assert_int_equal(udsp.lud_action, M0_LNET_UDSP_PREFER);
	assert_int_equal(udsp.lud_idx, -1);
	assert_int_equal(
		rule_try(&udsp, NULL, "tcp1", "1.2.3.4@tcp", NULL, NULL), 0);
	assert_int_equal(udsp.lud_action, M0_LNET_UDSP_PREFER);
}

static void refused(const char *src, const char *dst, const char *rte,
		    const char *priority, const char *idx, const char *words)
{
	struct m0_lnet_udsp udsp;

	assert_int_equal(rule_try(&udsp, src, dst, rte, priority, idx),
			 -EINVAL);
	if (strstr(why, words) == NULL)
		print_error("%s\n", why);
	assert_non_null(strstr(why, words));
}

/* The kernel takes some of these, and then ignores them. */
static void other_forms_are_refused_with_the_reason(void **state)
{
	(void)state;
	refused(NULL, NULL, NULL, NULL, NULL, "the rule has no range");
	refused(NULL, NULL, NULL, "1", NULL, "the rule has no range");
	refused(NULL, NULL, "1.2.3.4@tcp", NULL, NULL,
		"rte is given without dst");
	refused(NULL, NULL, "1.2.3.4@tcp", "3", NULL,
		"rte is given without dst");
	refused("tcp", NULL, "1.2.3.4@tcp", NULL, NULL,
		"src and rte are given without dst");
	refused("tcp", "tcp", "1.2.3.4@tcp", NULL, NULL,
		"src and rte are in one rule");
	refused(NULL, "tcp1", "tcp", NULL, NULL, "rte is a network");
	refused("tcp", "tcp", NULL, "1", NULL,
		"priority is 1; it is accepted with src or dst alone, because dst "
		"and src");
	refused(NULL, "tcp1", "1.2.3.4@tcp", "0", NULL, "because dst and rte");
	refused("tcp", NULL, NULL, "-1", NULL,
		"priority is `-1`; accepted: 0 to 4294967294");
	refused("tcp", NULL, NULL, "4294967295", NULL, "priority is");
	refused("tcp", NULL, NULL, "", NULL, "priority is ``");
	refused("tcp", NULL, NULL, "1x", NULL, "priority is `1x`");
	refused("tcp", NULL, NULL, NULL, "-2",
		"idx is `-2`; accepted: 0 to 2147483647");
	refused("tcp", NULL, NULL, NULL, "x", "idx is `x`");
	refused("tcp", "1.2.3.300@tcp", NULL, NULL, NULL,
		"dst is `1.2.3.300@tcp`, character 7");
	refused("tcp[", NULL, NULL, NULL, NULL, "src is `tcp[`, character 5");
	refused(NULL, "tcp1", "x", NULL, NULL, "rte is `x`, character 1");
}

static void rule_of_fields_is_checked(void **state)
{
	struct m0_lnet_udsp udsp;

	(void)state;
	assert_int_equal(rule_try(&udsp, "tcp", NULL, NULL, "1", NULL), 0);
	udsp.lud_action = M0_LNET_UDSP_PREFER;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
	udsp.lud_action = 3;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
	udsp.lud_action = M0_LNET_UDSP_PRIORITY;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), 0);
	udsp.lud_idx = -2;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
	udsp.lud_idx = 0;
	udsp.lud_src.lnr_nets_nr = 200;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
	udsp.lud_src.lnr_nets_nr = 0;
	udsp.lud_src.lnr_form = M0_LNET_NID_RANGE_PARTS;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
	udsp.lud_src.lnr_form = M0_LNET_NID_RANGE_PREFIX;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
	udsp.lud_src.lnr_form = 99;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
	assert_int_equal(rule_try(&udsp, "tcp", "tcp", NULL, NULL, NULL), 0);
	udsp.lud_priority = 1;
	assert_int_equal(m0_lnet_udsp_check(&udsp, why), -EINVAL);
}

/* -- encoded form ---------------------------------------------------------- */

static uint32_t marshal(const struct m0_lnet_udsp *udsp, uint8_t *bulk)
{
	uint32_t bytes = M0_LNET_UDSP_BYTES_MAX;

	assert_int_equal(m0_lnet_udsp_marshal(udsp, &bytes, bulk), 0);
	assert_int_equal(bytes, m0_lnet_udsp_size(udsp));
	return bytes;
}

static void marshalled_rule_is_as_the_reference_draws_it(void **state)
{
	/* clang-format off */
	static const uint32_t want[] = {
		/* 32 bytes: length, version, index, action, rest, priority. */
		156, 1, 2, 2, 124, 0, 0, 0,
		0x00435253, 0, 2, 1, 7, 7, 1,
		0x00545344, 4, 2, 0,
			1, 10, 10, 1, 1, 0, 0, 1, 1, 0, 255, 1, 1, 3, 9, 2,
		0x00455452, 0, 0, 0,
	};
	/* clang-format on */
	struct m0_lnet_udsp udsp;
	uint8_t             bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t            bytes;

	(void)state;
	if (htole32(1) != 1)
		skip();
	assert_int_equal(rule_try(&udsp, "tcp7", "10.0.*.[3-9/2]@tcp", NULL,
				  NULL, "2"),
			 0);
	bytes = marshal(&udsp, bulk);
	assert_int_equal(bytes, sizeof want);
	assert_memory_equal(bulk, want, sizeof want);
}

static void round_trip_is_the_identity(void **state)
{
	struct m0_lnet_udsp udsp;
	struct m0_lnet_udsp again;
	uint8_t             bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t            bytes;
	unsigned            i;

	(void)state;
	for (i = 0; i < 4 * ARRAY_SIZE(good); ++i) {
		const char *text = good[i / 4].txt_text;
		bool        wide = strchr(text, '@') == NULL;

		assert_int_equal(
			rule_try(&udsp, i % 4 < 2 ? text : NULL,
				 i % 4 > 0 ? text : NULL,
				 i % 4 == 3 ? wide ? "*@tcp" : text : NULL,
				 i % 4 == 1 || i % 4 == 3 ? NULL : "77", "3"),
			0);
		bytes = marshal(&udsp, bulk);
		assert_int_equal(
			m0_lnet_udsp_unmarshal(bulk, bytes, &again, why), 0);
		assert_memory_equal(&again, &udsp, sizeof udsp);
		/* The pointer of the header is ignored. */
		memset(bulk + 24, 0xff, 8);
		assert_int_equal(
			m0_lnet_udsp_unmarshal(bulk, bytes, &again, why), 0);
		assert_memory_equal(&again, &udsp, sizeof udsp);
		--bytes;
		assert_int_equal(m0_lnet_udsp_marshal(&udsp, &bytes, bulk),
				 -ENOSPC);
		assert_int_equal(bytes, m0_lnet_udsp_size(&udsp));
	}
}

static void corrupted_rule_is_refused_with_its_offset(void **state)
{
	struct m0_lnet_udsp udsp;
	struct m0_lnet_udsp again;
	uint8_t             bulk[M0_LNET_UDSP_BYTES_MAX];
	uint8_t             bytes[M0_LNET_UDSP_BYTES_MAX];
	uint32_t            nr;
	uint32_t            i;
	struct row {
		uint32_t    row_at;
		uint8_t     row_byte;
		const char *row_words;
	} rows[] = {
		{ 0, 1, "offset 0: the length" },
		{ 4, 2, "offset 4: the version" },
		{ 12, 9, "offset 8: the action is 9" },
		{ 16, 1, "offset 16: the length" },
		{ 32, 'X', "offset 32: the tag is not SRC" },
		{ 35, '7', "offset 32: the tag is not SRC" },
		{ 41, 1, "offset 40: the type of network" },
		{ 40, 77, "offset 32: the type of network" },
		{ 44, 99, "offset 44: there are more than 32 ranges" },
		{ 48, 9, "offset 48: the range is not LO, HI, STRIDE" },
		{ 56, 0, "offset 48: the range is not LO, HI, STRIDE" },
		{ 60, 'S', "offset 60: the tag is not DST" },
		{ 63, '6', "offset 64: a prefix is one part" },
		{ 64, 5, "offset 64: an address has at most 4 parts" },
		{ 64, 3, "offset 60: the number of parts" },
		{ 76, 0, "offset 84: the range is not" },
		{ 140, 'D', "offset 140: the tag is not RTE" },
		{ 144, 1, "offset 144: a descriptor without network" },
	};

	(void)state;
	if (htole32(1) != 1)
		skip();
	assert_int_equal(rule_try(&udsp, "tcp7", "10.0.*.[3-9/2]@tcp", NULL,
				  NULL, "2"),
			 0);
	nr = marshal(&udsp, bulk);
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		memcpy(bytes, bulk, nr);
		assert_int_not_equal(bytes[rows[i].row_at], rows[i].row_byte);
		bytes[rows[i].row_at] = rows[i].row_byte;
		assert_int_equal(m0_lnet_udsp_unmarshal(bytes, nr, &again, why),
				 -EPROTO);
		if (strstr(why, rows[i].row_words) != why)
			print_error("%u: %s\n", rows[i].row_at, why);
		assert_ptr_equal(strstr(why, rows[i].row_words), why);
	}
	/* Cut, or too long. */
	for (i = 0; i < nr; ++i) {
		uint32_t rest = i - 32;

		memcpy(bytes, bulk, nr);
		memcpy(bytes, &i, sizeof i);
		memcpy(bytes + 16, &rest, sizeof rest);
		assert_int_equal(m0_lnet_udsp_unmarshal(bytes, i, &again, why),
				 -EPROTO);
		assert_ptr_equal(strstr(why, "offset "), why);
	}
	i = nr + 4;
	memcpy(bytes, &i, sizeof i);
	i -= 32;
	memcpy(bytes + 16, &i, sizeof i);
	assert_int_equal(m0_lnet_udsp_unmarshal(bytes, nr + 4, &again, why),
			 -EPROTO);
	assert_non_null(strstr(why, "the bytes go on"));
}

/* No byte that is changed makes a rule that is not one. */
static void changed_rule_is_a_rule_or_refused(void **state)
{
	struct m0_lnet_udsp udsp;
	uint8_t             bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t            nr;
	uint32_t            i;
	unsigned            bit;

	(void)state;
	assert_int_equal(rule_try(&udsp, NULL, "2001:db8::/32@tcp[1-3]",
				  "10.0.0.[1,2]@tcp", NULL, "2"),
			 0);
	nr = marshal(&udsp, bulk);
	for (i = 0; i < nr; ++i)
		for (bit = 0; bit < 8; ++bit) {
			bulk[i] ^= (uint8_t)(1U << bit);
			if (m0_lnet_udsp_unmarshal(bulk, nr, &udsp, why) == 0)
				assert_int_equal(m0_lnet_udsp_check(&udsp, why),
						 0);
			bulk[i] ^= (uint8_t)(1U << bit);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range_is_read_and_printed),
		cmocka_unit_test(malformed_range_is_refused_with_its_place),
		cmocka_unit_test(range_has_the_nids_of_its_expressions),
		cmocka_unit_test(bits_of_a_range_have_its_nids),
		cmocka_unit_test(ipv6_is_matched_whole),
		cmocka_unit_test(rule_has_one_of_four_forms),
		cmocka_unit_test(other_forms_are_refused_with_the_reason),
		cmocka_unit_test(rule_of_fields_is_checked),
		cmocka_unit_test(marshalled_rule_is_as_the_reference_draws_it),
		cmocka_unit_test(round_trip_is_the_identity),
		cmocka_unit_test(corrupted_rule_is_refused_with_its_offset),
		cmocka_unit_test(changed_rule_is_a_rule_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
