/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnd/tcp/fake_sock.h"

#include <netinet/in.h>

/* Addresses of both kinds survive the way to the system's form and back. */
static void addr_goes_there_and_back(void **state)
{
	static const char *const texts[] = { "10.1.2.3", "255.255.255.255",
					     "2001:db8::5", "::1" };
	char                     buf[M0_TCP_TEXT_BYTES];
	struct sockaddr_storage  sa;
	struct m0_host_addr      addr;
	struct m0_host_addr      back;
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); ++i) {
		addr = fake_addr(texts[i], 988);
		assert_int_equal(m0_host_addr_to(&addr, &sa),
				 addr.sa_bytes_nr == 4
					 ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6));
		assert_true(m0_host_addr_from((struct sockaddr *)&sa, &back));
		assert_memory_equal(&addr, &back, sizeof addr);
		assert_string_equal(m0_tcp__addr_text(&back, buf), texts[i]);
	}
}

/* Other families are no addresses of ours. */
static void addr_of_other_family_is_refused(void **state)
{
	struct sockaddr     sa = { .sa_family = AF_UNIX };
	struct m0_host_addr addr;

	(void)state;
	assert_false(m0_host_addr_from(&sa, &addr));
}

static void addr_any_is_known(void **state)
{
	struct m0_host_addr any = fake_addr("0.0.0.0", 5);
	struct m0_host_addr any6 = fake_addr("::", 5);
	struct m0_host_addr one = fake_addr("0.0.0.1", 0);
	struct m0_host_addr one6 = fake_addr("::1", 0);

	(void)state;
	assert_true(m0_host_addr_is_any(&any));
	assert_true(m0_host_addr_is_any(&any6));
	assert_false(m0_host_addr_is_any(&one));
	assert_false(m0_host_addr_is_any(&one6));
}

static bool is_near(const char *text)
{
	struct m0_host_addr addr = fake_addr(text, 988);

	return m0_tcp__addr_is_near(&addr);
}

/* An address of this host is near, be it of loopback or of another device; those
 * for examples (RFC 5737, 3849) are nobody's. */
static void addr_of_this_host_is_near(void **state)
{
	static struct m0_host_iface ifaces[256];
	int                         nr = m0_tcp__ifaces(ifaces, 256);
	int                         i;

	(void)state;
	assert_true(is_near("127.0.0.1"));
	assert_true(is_near("127.3.2.1"));
	assert_true(is_near("::1"));
	assert_false(is_near("192.0.2.1"));
	assert_false(is_near("2001:db8::1"));
	assert_false(is_near("fe80::1"));
	for (i = 0; i < nr; ++i) {
		if (ifaces[i].sif_is_up && !ifaces[i].sif_is_link_local)
			assert_true(m0_tcp__addr_is_near(&ifaces[i].sif_addr));
	}
}

/* The loopback device is listed, as what it is; no room is no harm. */
static void addr_ifaces_lists_loopback(void **state)
{
	static struct m0_host_iface ifaces[256];
	struct m0_host_addr         lo = fake_addr("127.0.0.1", 0);
	int                         nr = m0_tcp__ifaces(ifaces, 256);
	int                         i;

	(void)state;
	assert_in_range(nr, 1, 256);
	for (i = 0; i < nr; ++i) {
		if (memcmp(&ifaces[i].sif_addr, &lo, sizeof lo) == 0)
			break;
	}
	assert_true(i < nr);
	assert_string_equal(ifaces[i].sif_name, "lo");
	assert_true(ifaces[i].sif_is_up && ifaces[i].sif_is_loopback);
	assert_false(ifaces[i].sif_is_link_local);
	assert_int_not_equal(ifaces[i].sif_index, 0);
	M0_SET_ARR0(ifaces);
	assert_int_equal(m0_tcp__ifaces(ifaces, 1), nr);
	assert_int_equal(ifaces[1].sif_name[0], 0);
	assert_int_equal(m0_tcp__ifaces(NULL, 0), nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addr_goes_there_and_back),
		cmocka_unit_test(addr_of_other_family_is_refused),
		cmocka_unit_test(addr_any_is_known),
		cmocka_unit_test(addr_of_this_host_is_near),
		cmocka_unit_test(addr_ifaces_lists_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
