/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Addresses as text, as bytes, and as words of a descriptor.
 * [r.M0.net.xprt.lnet.end-point-address]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "xprt/lnet/xlnet_internal.h"

static void assert_canonical(const char *text, const char *canonical)
{
	struct m0_net_kit_addr addr;
	char                   back[M0_NET_KIT_ADDR_TEXT];

	if (m0_xlnet__addr_parse(text, &addr) != 0)
		fail_msg("%s", text);
	m0_xlnet__addr_print(&addr, back);
	assert_string_equal(back, canonical);
}

/* Parsing inverts printing, and each address is printed in one spelling. */
static void address_in_many_spellings_is_canonical(void **state)
{
	(void)state;
	assert_canonical("10.0.0.1@tcp:12345:31:0", "10.0.0.1@tcp:12345:31:0");
	assert_canonical("10.0.0.1@tcp0:12345:31:7", "10.0.0.1@tcp:12345:31:7");
	assert_canonical("10.0.0.1@tcp2:12345:63:4095",
			 "10.0.0.1@tcp2:12345:63:4095");
	assert_canonical("0@lo:12345:34:1", "0@lo:12345:34:1");
	/* Colons of the NID are not ours: it is read from the right. */
	assert_canonical("2001:db8:0:0::1@tcp:12345:40:3",
			 "2001:db8::1@tcp:12345:40:3");
	assert_canonical("::1@tcp:12345:1:1", "::1@tcp:12345:1:1");
}

/* Bounds of each part, and what stands around them. */
static void address_wrong_is_refused(void **state)
{
	static const char *const bad[] = {
		"10.0.0.1@tcp:12345:31",        "10.0.0.1@tcp:12346:31:1",
		"10.0.0.1@tcp:12345:0:1",       "10.0.0.1@tcp:12345:64:1",
		"10.0.0.1@tcp:12345:31:4096",   "10.0.0.1:12345:31:1",
		"10.0.0.1@tcp:12345:31:*",      "*@tcp:12345:31:1",
		"10.0.0.1@tcp:12345:31:+1",     "1@lo:12345:31:1",
		"10.0.0.1@tcp:12345:0000031:1",
	};
	struct m0_net_kit_addr addr;
	size_t                 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); ++i)
		if (m0_xlnet__addr_parse(bad[i], &addr) != -EINVAL)
			fail_msg("%s", bad[i]);
}

/* Only start may ask for any number. */
static void wanted_number_may_be_any(void **state)
{
	struct m0_net_kit_addr addr;
	struct xlnet_addr      xa;

	(void)state;
	assert_int_equal(m0_xlnet__wanted_parse("0@lo:12345:34:*", &addr), 0);
	assert_int_equal(m0_xlnet__addr_unpack(&addr, &xa), 0);
	assert_int_equal(xa.xa_tmid, XLNET_TMID_ANY);
	assert_int_equal(m0_xlnet__wanted_parse("0@lo:12345:34:**", &addr),
			 -EINVAL);
}

/* Start alone takes a portal that cannot be, and then finds that out. */
static void wanted_portal_is_for_start_to_refuse(void **state)
{
	struct m0_net_kit_addr addr;
	struct xlnet_addr      xa;

	(void)state;
	assert_int_equal(m0_xlnet__addr_parse("0@lo:12345:64:1", &addr),
			 -EINVAL);
	assert_int_equal(m0_xlnet__wanted_parse("0@lo:12345:64:1", &addr), 0);
	assert_int_equal(m0_xlnet__addr_unpack(&addr, &xa), -EINVAL);
	assert_int_equal(m0_xlnet__wanted_parse("0@lo:12345:999999:*", &addr),
			 0);
	assert_int_equal(m0_xlnet__addr_unpack(&addr, &xa), -EINVAL);
	assert_int_equal(m0_xlnet__wanted_parse("0@lo:12345:0:1", &addr),
			 -EINVAL);
	assert_int_equal(m0_xlnet__wanted_parse("0@lo:12345:x:1", &addr),
			 -EINVAL);
}

/* Bytes of a descriptor may be anybody's. */
/* Lustre has the portals up to 33, and its self-test 50 to 52. */
static void default_portal_is_none_of_lustre(void **state)
{
	(void)state;
	assert_in_range(M0_NET_LNET_PORTAL, 34, 63);
	assert_not_in_range(M0_NET_LNET_PORTAL, 50, 52);
}

static void unpack_of_noise_is_refused(void **state)
{
	struct m0_net_kit_addr addr;
	struct m0_net_kit_addr good;
	struct xlnet_addr      xa;
	char                   text[M0_NET_KIT_ADDR_TEXT];

	(void)state;
	assert_int_equal(m0_xlnet__addr_parse("0@lo:12345:34:1", &good), 0);
	addr = good;
	addr.nka_len -= 1;
	assert_int_equal(m0_xlnet__addr_unpack(&addr, &xa), -EINVAL);
	addr = good;
	memset(addr.nka_bytes, 0xa5, addr.nka_len);
	assert_int_equal(m0_xlnet__addr_unpack(&addr, &xa), -EINVAL);
	m0_xlnet__addr_print(&addr, text);
	assert_string_equal(text, "");
}

/* The comparison looks at the NIDs of the two texts only. */
static void net_cmp_looks_at_nids(void **state)
{
	(void)state;
	assert_int_equal(m0_net_lnet_ep_addr_net_cmp("1.2.3.4@tcp:12345:1:1",
						     "1.2.3.4@tcp:12345:2:9"),
			 0);
	assert_true(m0_net_lnet_ep_addr_net_cmp("1.2.3.4@tcp:1",
						"1.2.3.5@tcp:1") < 0);
	assert_true(m0_net_lnet_ep_addr_net_cmp("1.2.3.4@tcp1:1",
						"1.2.3.4@tcp:1") > 0);
	assert_int_equal(m0_net_lnet_ep_addr_net_cmp("1.2.3.4@tcp", "a:b"), -1);
	assert_int_equal(m0_net_lnet_ep_addr_net_cmp("::1@tcp:12345:1:1",
						     "::1@tcp:12345:1:2"),
			 0);
}

/* -- match bits ------------------------------------------------------------ */

static struct m0_net_kit_desc desc_of(uint64_t id)
{
	struct m0_net_kit_desc desc = { .nks_id = id,
					.nks_incarnation = 0x1234567 };

	return desc;
}

/* The machine's number stays on top, and 0 below it is for messages. */
static void bits_keep_the_machine_and_are_not_a_message(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < 1000; ++i) {
		struct m0_net_kit_desc desc =
			desc_of(xlnet_msg_bits((uint32_t)i * 4) | i);
		uint64_t bits = m0_xlnet__bits(&desc);

		assert_int_equal(bits >> XLNET_TMID_SHIFT, i * 4);
		assert_true((bits & XLNET_BITS_MASK) != 0);
	}
}

/* Another life of the owner, another initiator: other bits. */
static void bits_differ_by_life_and_initiator(void **state)
{
	struct m0_net_kit_desc desc = desc_of(xlnet_msg_bits(7) | 42);
	struct m0_net_kit_desc other = desc;

	(void)state;
	other.nks_incarnation ^= 1;
	assert_true(m0_xlnet__bits(&desc) != m0_xlnet__bits(&other));
	other = desc;
	assert_int_equal(
		m0_xlnet__addr_parse("0@lo:12345:34:1", &other.nks_active), 0);
	assert_true(m0_xlnet__bits(&desc) != m0_xlnet__bits(&other));
	assert_true(m0_xlnet__bits(&desc) == m0_xlnet__bits(&desc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_in_many_spellings_is_canonical),
		cmocka_unit_test(address_wrong_is_refused),
		cmocka_unit_test(wanted_number_may_be_any),
		cmocka_unit_test(wanted_portal_is_for_start_to_refuse),
		cmocka_unit_test(default_portal_is_none_of_lustre),
		cmocka_unit_test(unpack_of_noise_is_refused),
		cmocka_unit_test(net_cmp_looks_at_nids),
		cmocka_unit_test(bits_keep_the_machine_and_are_not_a_message),
		cmocka_unit_test(bits_differ_by_life_and_initiator),
	};

	return cmocka_run_group_tests_name("xprt/lnet/addr", tests, NULL, NULL);
}
