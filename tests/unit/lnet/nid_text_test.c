/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rand.h"
#include "m0/lnet_nid.h"

/** A text, and the NID it means. */
struct text_case {
	const char        *tx_text;
	struct m0_lnet_nid tx_nid;
	/** How it is printed, if not as written. */
	const char *tx_printed;
};

#define NID(type, num, ...)                                                    \
	{                                                                      \
		.ln_type = (type), .ln_num = (num), .ln_addr = { __VA_ARGS__ } \
	}
#define NID6(type, num, ...)                                         \
	{                                                            \
		.ln_size = M0_LNET_NID_SIZE_IPV6, .ln_type = (type), \
		.ln_num = (num), .ln_addr = {                        \
			__VA_ARGS__                                  \
		}                                                    \
	}

/* clang-format off */
static const struct text_case good[] = {
	{ "10.0.0.1@tcp", NID(M0_LNET_TYPE_TCP, 0, 10, 0, 0, 1), NULL },
	{ "10.0.0.1@tcp2", NID(M0_LNET_TYPE_TCP, 2, 10, 0, 0, 1), NULL },
	{ "255.255.255.255@tcp65535",
	  NID(M0_LNET_TYPE_TCP, 65535, 255, 255, 255, 255), NULL },
	/* No net: tcp. */
	{ "192.168.1.2", NID(M0_LNET_TYPE_TCP, 0, 192, 168, 1, 2),
	  "192.168.1.2@tcp" },
	{ "fd77::2", NID6(M0_LNET_TYPE_TCP, 0, 0xfd, 0x77, [15] = 2),
	  "fd77::2@tcp" },
	{ "1.2.3.4@tcp0", NID(M0_LNET_TYPE_TCP, 0, 1, 2, 3, 4),
	  "1.2.3.4@tcp" },
	{ "2001:db8::1@tcp1",
	  NID6(M0_LNET_TYPE_TCP, 1, 0x20, 1, 0x0d, 0xb8, [15] = 1), NULL },
	{ "::@tcp", NID6(M0_LNET_TYPE_TCP, 0, 0), NULL },
	{ "::ffff:1.2.3.4@tcp",
	  NID6(M0_LNET_TYPE_TCP, 0, [10] = 0xff, [11] = 0xff, [12] = 1,
	       [13] = 2, [14] = 3, [15] = 4), NULL },
	{ "10.1.2.3@o2ib", NID(M0_LNET_TYPE_O2IB, 0, 10, 1, 2, 3), NULL },
	/* The 2 of o2ib is none of its number. */
	{ "10.1.2.3@o2ib2", NID(M0_LNET_TYPE_O2IB, 2, 10, 1, 2, 3), NULL },
	{ "fe80::1@o2ib", NID6(M0_LNET_TYPE_O2IB, 0, 0xfe, 0x80, [15] = 1),
	  NULL },
	{ "10.1.2.3@efa1", NID(M0_LNET_TYPE_EFA, 1, 10, 1, 2, 3), NULL },
	{ "1::2@efa", NID6(M0_LNET_TYPE_EFA, 0, 0, 1, [15] = 2), NULL },
	{ "10.1.2.3@gip7", NID(M0_LNET_TYPE_GIP, 7, 10, 1, 2, 3), NULL },
	{ "5@gni3", NID(M0_LNET_TYPE_GNI, 3, 0, 0, 0, 5), NULL },
	{ "0x1F@gni", NID(M0_LNET_TYPE_GNI, 0, 0, 0, 0, 31), "31@gni" },
	{ "0xaf@gni", NID(M0_LNET_TYPE_GNI, 0, 0, 0, 0, 175), "175@gni" },
	{ "4294967295@kfi",
	  NID(M0_LNET_TYPE_KFI, 0, 255, 255, 255, 255), NULL },
	{ "258@ptlf", NID(M0_LNET_TYPE_PTLF, 0, 0, 0, 1, 2), NULL },
	{ "17@bxi3f9", NID(M0_LNET_TYPE_BXI3F, 9, 0, 0, 0, 17), NULL },
	{ "0@lo", NID(M0_LNET_TYPE_LO, 0, 0), NULL },
	/* Any address of lo is 0. */
	{ "anything at all@lo", NID(M0_LNET_TYPE_LO, 0, 0), "0@lo" },
};
/* clang-format on */

static const char *const bad[] = {
	"",
	"@",
	"@tcp",
	"10.0.0.1@",
	"10.0.0@tcp",
	"10.0.0.1.2@tcp",
	"10.0.0.256@tcp",
	"10.0.0.1 @tcp",
	" 10.0.0.1@tcp",
	"10.0.0.1@tcp ",
	"10.0.0.1@ tcp",
	"10.0.0.1@TCP",
	"10.0.0.1@tcpx",
	"10.0.0.1@tcp-1",
	"10.0.0.1@tcp+1",
	"10.0.0.1@tcp0x1",
	"10.0.0.1@tcp1x",
	/* Would run into the type. */
	"10.0.0.1@tcp65536",
	"10.0.0.1@tcp4294967296",
	"10.0.0.1@tcp18446744073709551617",
	"10.0.0.1@tcp99999999999999999999",
	"10.0.0.1@tcp@tcp",
	"10.0.0.1@@tcp",
	"0@lo1",
	"0@lo0",
	"@lo",
	"0@l",
	/* No names: who resolves them is the application. */
	"localhost@tcp",
	"node1",
	"node1@tcp",
	"*",
	"*@tcp",
	"<?>",
	"10.0.0.*@tcp",
	"10.0.0.[1-2]@tcp",
	"10.0.0.0/8@tcp",
	"-1@gni",
	"+1@gni",
	"0x@gni",
	"x1@gni",
	"1f@gni",
	"4294967296@gni",
	"0x100000000@gni",
	"1.2.3.4@gni",
	"5@tcp",
	"5@gip",
	"1::2@gip",
	"1::2@gni",
	"1::2::3@tcp",
	"12345::1@tcp",
	"fe80::1%eth0@tcp",
	"10.0.0.1@elan",
	"10.0.0.1@<17:0>",
	"10.0.0.1@17",
	"10.0.0.1@o2i",
	"0010.0.0.1@tcp",
	/* Longer than any. */
	"00000000000000000000000000000000000000000000000000000000000000001@gni",
};

/* Each text is parsed to a NID, and printed in its normal form. */
static void nid_text_is_parsed_and_printed(void **state)
{
	char               text[M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_nid nid;
	size_t             i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); ++i) {
		nid = m0_lnet_nid_any;
		assert_int_equal(m0_lnet_nid_parse(&nid, good[i].tx_text), 0);
		assert_true(m0_lnet_nid_eq(&nid, &good[i].tx_nid));
		assert_memory_equal(nid.ln_addr, good[i].tx_nid.ln_addr,
				    sizeof nid.ln_addr);
		assert_ptr_equal(m0_lnet_nid_print(&nid, text, sizeof text),
				 text);
		assert_string_equal(text, good[i].tx_printed != NULL
						  ? good[i].tx_printed
						  : good[i].tx_text);
	}
}

/* A text that is not exactly a NID is refused, and nothing is changed. */
static void nid_text_that_is_none_is_refused(void **state)
{
	struct m0_lnet_nid nid = m0_lnet_nid_lo;
	size_t             i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); ++i) {
		if (m0_lnet_nid_parse(&nid, bad[i]) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
		assert_true(m0_lnet_nid_eq(&nid, &m0_lnet_nid_lo));
	}
}

/* The two signs for ANY are taken only by who asks for it. */
static void any_text_is_parsed_by_parse_any_only(void **state)
{
	static const char *const signs[] = { "*", "<?>" };
	struct m0_lnet_nid       nid;
	char                     text[M0_LNET_NIDSTR_SIZE];
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(signs); ++i) {
		nid = m0_lnet_nid_lo;
		assert_int_equal(m0_lnet_nid_parse(&nid, signs[i]), -EINVAL);
		assert_int_equal(m0_lnet_nid_parse_any(&nid, signs[i]), 0);
		assert_true(m0_lnet_nid_is_any(&nid));
	}
	assert_string_equal(m0_lnet_nid_print(&nid, text, sizeof text), "<?>");
	assert_int_equal(m0_lnet_nid_parse_any(&nid, "1.2.3.4@tcp"), 0);
	assert_false(m0_lnet_nid_is_any(&nid));
	assert_int_equal(m0_lnet_nid_parse_any(&nid, "*@tcp"), -EINVAL);
}

/* Types without a name are carried: they are shown as numbers. */
static void nid_of_unknown_type_is_printed_in_numbers(void **state)
{
	static const struct text_case cases[] = {
		{ "a000001@<17:0>", NID(17, 0, 10, 0, 0, 1), NULL },
		{ "0@<0:0>", NID(0, 0, 0), NULL },
		{ "20010db8:0:0:1@<200:65535>",
		  NID6(200, 65535, 0x20, 1, 0x0d, 0xb8, [15] = 1), NULL },
		/* A known type whose address is not as it should be. */
		{ "0:0:0:5@gni", NID6(M0_LNET_TYPE_GNI, 0, [15] = 5), NULL },
		{ "1020304:5000000@tcp",
		  { .ln_size = 1,
		    .ln_type = M0_LNET_TYPE_TCP,
		    .ln_addr = { 1, 2, 3, 4, 5 } },
		  NULL },
	};
	char   text[M0_LNET_NIDSTR_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); ++i)
		assert_string_equal(m0_lnet_nid_print(&cases[i].tx_nid, text,
						      sizeof text),
				    cases[i].tx_text);
}

/* The longest texts have room in M0_LNET_NIDSTR_SIZE. */
static void nid_text_longest_has_room(void **state)
{
	struct m0_lnet_process_id id = {
		.lp_nid = NID6(M0_LNET_TYPE_O2IB, 65535),
		.lp_pid = M0_LNET_PID_ANY,
	};
	char text[128];

	(void)state;
	memset(id.lp_nid.ln_addr, 0xff, sizeof id.lp_nid.ln_addr);
	assert_true(strlen(m0_lnet_id_print(&id, text, sizeof text)) <
		    M0_LNET_NIDSTR_SIZE);
	id.lp_nid.ln_type = 254;
	assert_true(strlen(m0_lnet_id_print(&id, text, sizeof text)) <
		    M0_LNET_NIDSTR_SIZE);
}

/* The text ends within a buffer of any size. */
static void nid_text_is_cut_to_room(void **state)
{
	char   text[M0_LNET_NIDSTR_SIZE + 1];
	char   whole[M0_LNET_NIDSTR_SIZE];
	size_t size;

	(void)state;
	(void)m0_lnet_nid_print(&good[6].tx_nid, whole, sizeof whole);
	for (size = 1; size <= M0_LNET_NIDSTR_SIZE; ++size) {
		memset(text, 'x', sizeof text);
		(void)m0_lnet_nid_print(&good[6].tx_nid, text, size);
		assert_int_equal(strlen(text),
				 min_check(strlen(whole), size - 1));
		assert_memory_equal(text, whole, strlen(text));
		assert_int_equal(text[size], 'x');
	}
}

/* Nets by name and number, and back. */
static void net_text_is_parsed_and_printed(void **state)
{
	static const struct {
		const char *text;
		uint32_t    net;
		const char *printed;
	} nets[] = {
		{ "tcp", 0x00020000, NULL },   { "tcp0", 0x00020000, "tcp" },
		{ "tcp2", 0x00020002, NULL },  { "tcp65535", 0x0002ffff, NULL },
		{ "o2ib2", 0x00050002, NULL }, { "lo", 0x00090000, NULL },
		{ "gni", 0x000d0000, NULL },   { "gip1", 0x000e0001, NULL },
		{ "ptlf", 0x000f0000, NULL },  { "kfi10", 0x0010000a, NULL },
		{ "efa", 0x00120000, NULL },   { "bxi3f3", 0x00130003, NULL },
	};
	static const char *const wrong[] = {
		"",      "tc",   "tcp65536", "lo1", "tcp 1", "<17:3>",   "bxi3",
		"tcp1@", "elan", "tcp-1",    "TCP", "*",     "tcp00000x"
	};
	char     text[M0_LNET_NIDSTR_SIZE];
	uint32_t net = 77;
	size_t   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrong); ++i)
		assert_int_equal(m0_lnet_net_parse(&net, wrong[i]), -EINVAL);
	assert_int_equal(net, 77);
	for (i = 0; i < ARRAY_SIZE(nets); ++i) {
		assert_int_equal(m0_lnet_net_parse(&net, nets[i].text), 0);
		assert_int_equal(net, nets[i].net);
		assert_string_equal(m0_lnet_net_print(net, text, sizeof text),
				    nets[i].printed != NULL ? nets[i].printed
							    : nets[i].text);
	}
	assert_string_equal(m0_lnet_net_print(0x00110003, text, sizeof text),
			    "<17:3>");
	assert_string_equal(m0_lnet_net_print(0x01020003, text, sizeof text),
			    "<258:3>");
	assert_string_equal(
		m0_lnet_net_print(M0_LNET_NET_ANY, text, sizeof text), "<?>");
}

/* A process id shows its flag, and ANY by name. */
static void id_text_shows_flag_and_any(void **state)
{
	struct m0_lnet_process_id id = { .lp_nid = good[0].tx_nid,
					 .lp_pid = M0_LNET_PID_LUSTRE };
	char                      text[M0_LNET_NIDSTR_SIZE];

	(void)state;
	assert_string_equal(m0_lnet_id_print(&id, text, sizeof text),
			    "12345-10.0.0.1@tcp");
	id.lp_pid = UINT32_C(0x80000011);
	assert_string_equal(m0_lnet_id_print(&id, text, sizeof text),
			    "U17-10.0.0.1@tcp");
	id.lp_pid = M0_LNET_PID_ANY;
	assert_string_equal(m0_lnet_id_print(&id, text, sizeof text),
			    "LNET_PID_ANY-10.0.0.1@tcp");
}

/* Random text ends in a NID that prints to the same NID, or in -EINVAL. */
static void nid_text_at_random_never_confuses(void **state)
{
	static const char  letters[] = "0123456789abf.:@xX tcpolgnikef<>*-/";
	uint64_t           seed = 3;
	struct m0_lnet_nid nid;
	struct m0_lnet_nid again;
	char               text[80];
	char               printed[M0_LNET_NIDSTR_SIZE];
	size_t             nr;
	size_t             at;
	unsigned           i;

	(void)state;
	for (i = 0; i < 100000; ++i) {
		(void)snprintf(text, sizeof text, "%s",
			       good[m0_rnd(ARRAY_SIZE(good), &seed)].tx_text);
		nr = strlen(text);
		for (at = m0_rnd(4, &seed); at > 0; --at)
			text[m0_rnd(nr, &seed)] =
				letters[m0_rnd(sizeof letters - 1, &seed)];
		if (m0_lnet_nid_parse(&nid, text) != 0)
			continue;
		(void)m0_lnet_nid_print(&nid, printed, sizeof printed);
		assert_int_equal(m0_lnet_nid_parse(&again, printed), 0);
		assert_true(m0_lnet_nid_eq(&nid, &again));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nid_text_is_parsed_and_printed),
		cmocka_unit_test(nid_text_that_is_none_is_refused),
		cmocka_unit_test(any_text_is_parsed_by_parse_any_only),
		cmocka_unit_test(nid_of_unknown_type_is_printed_in_numbers),
		cmocka_unit_test(nid_text_longest_has_room),
		cmocka_unit_test(nid_text_is_cut_to_room),
		cmocka_unit_test(net_text_is_parsed_and_printed),
		cmocka_unit_test(id_text_shows_flag_and_any),
		cmocka_unit_test(nid_text_at_random_never_confuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
