/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Which addresses a configuration means, on a machine made up here. */
#include "unit/base/panics.h"

#include <arpa/inet.h>

#include "node/node_internal.h"

enum {
	UP = 1,
	LOOPBACK = 2,
	LINK_LOCAL = 4
};

static struct m0_host_iface ifaces[16];
static unsigned             ifaces_nr;
static struct m0_lnet_cfg   cfg;
static struct m0_node_iface found[4];
static unsigned             found_nr;
static char                 why[M0_LNET_WHY_BYTES];

static void iface_add(const char *name, const char *addr, int flags)
{
	struct m0_host_iface *sif = &ifaces[ifaces_nr++];
	bool                  six = strchr(addr, ':') != NULL;

	assert_true(ifaces_nr <= ARRAY_SIZE(ifaces));
	M0_SET0(sif);
	strcpy(sif->sif_name, name);
	sif->sif_addr.sa_bytes_nr = six ? 16 : 4;
	assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, addr,
				   sif->sif_addr.sa_bytes),
			 1);
	sif->sif_is_up = flags & UP;
	sif->sif_is_loopback = flags & LOOPBACK;
	sif->sif_is_link_local = flags & LINK_LOCAL;
}

static int setup(void **state)
{
	(void)state;
	ifaces_nr = 0;
	iface_add("lo", "127.0.0.1", UP | LOOPBACK);
	iface_add("eth0", "10.0.0.1", 0);
	iface_add("eth1", "fe80::1", UP | LINK_LOCAL);
	iface_add("eth2", "fe80::2", UP | LINK_LOCAL);
	iface_add("eth2", "2001:db8::2", UP);
	iface_add("eth3", "2001:db8::3", UP);
	iface_add("eth3", "10.0.3.1", UP);
	iface_add("eth3", "10.0.3.2", UP);
	m0_lnet_cfg_default(&cfg);
	return 0;
}

static int find(const char *text)
{
	cfg.lc_nets_nr = 0;
	if (text != NULL)
		assert_int_equal(m0_lnet_cfg_networks(&cfg, text, why), 0);
	strcpy(why, "?");
	return m0_node__ifaces(&cfg, ifaces, ifaces_nr, found,
			       ARRAY_SIZE(found), &found_nr, why);
}

static void found_is(unsigned i, const char *nid, const char *device)
{
	char text[M0_LNET_NIDSTR_SIZE];

	assert_true(i < found_nr);
	assert_string_equal(
		m0_lnet_nid_print(&found[i].nif_nid, text, sizeof text), nid);
	assert_string_equal(found[i].nif_device, device);
}

#define assert_why(text) assert_non_null(strstr(why, text))

/* Without a word, the first device that is up and can be known by an address.
 */
static void none_named_means_first_usable(void **state)
{
	(void)state;
	assert_int_equal(find(NULL), 0);
	assert_int_equal(found_nr, 1);
	found_is(0, "2001:db8::2@tcp", "eth2");
	assert_int_equal(find("tcp7"), 0);
	found_is(0, "2001:db8::2@tcp7", "eth2");
	ifaces[1].sif_is_up = true;
	assert_int_equal(find("tcp"), 0);
	found_is(0, "10.0.0.1@tcp", "eth0");
	ifaces_nr = 1;
	assert_int_equal(find("tcp2"), -ENODEV);
	assert_why("tcp2(127.0.0.1)");
}

/* Net o2ib is on ib0 if that can be used, as Lustre has it. */
static void none_named_means_ib0_for_o2ib(void **state)
{
	(void)state;
	iface_add("eth4", "10.0.4.1", UP);
	assert_int_equal(find("o2ib"), 0);
	found_is(0, "2001:db8::2@o2ib", "eth2");
	iface_add("ib0", "10.0.5.1", 0);
	assert_int_equal(find("o2ib"), 0);
	found_is(0, "2001:db8::2@o2ib", "eth2");
	ifaces[ifaces_nr - 1].sif_is_up = true;
	assert_int_equal(find("o2ib1"), 0);
	assert_int_equal(found_nr, 1);
	found_is(0, "10.0.5.1@o2ib1", "ib0");
	assert_int_equal(find("tcp"), 0);
	found_is(0, "2001:db8::2@tcp", "eth2");
}

/* A device is known by its first address, IPv4 before IPv6. */
static void device_means_its_first_address(void **state)
{
	(void)state;
	assert_int_equal(find("tcp(eth3,eth2),tcp1(lo)"), 0);
	assert_int_equal(found_nr, 3);
	found_is(0, "10.0.3.1@tcp", "eth3");
	found_is(1, "2001:db8::2@tcp", "eth2");
	found_is(2, "127.0.0.1@tcp1", "lo");
}

/* Addresses are found with their device; 127.0.0.0/8 is there as a whole. */
static void address_is_found_with_its_device(void **state)
{
	(void)state;
	assert_int_equal(find("tcp(10.0.3.2,2001:db8::3,127.0.0.77)"), 0);
	found_is(0, "10.0.3.2@tcp", "eth3");
	found_is(1, "2001:db8::3@tcp", "eth3");
	found_is(2, "127.0.0.77@tcp", "lo");
}

/* Impossible interfaces are refused, and the text says why. */
static void wrong_names_are_refused(void **state)
{
	(void)state;
	assert_int_equal(find("tcp(eth9)"), -ENODEV);
	assert_why("eth9");
	assert_why("lo, eth0, eth1, eth2, eth3");
	assert_int_equal(find("tcp(eth0)"), -ENETDOWN);
	assert_why("ip link set eth0 up");
	assert_int_equal(find("tcp(eth1)"), -EADDRNOTAVAIL);
	assert_why("link-local");
	assert_int_equal(find("tcp(fe80::1)"), -EINVAL);
	assert_why("fe80::1");
	assert_int_equal(find("tcp(192.168.1.1)"), -EADDRNOTAVAIL);
	assert_why("192.168.1.1");
	assert_int_equal(find("tcp(eth3,10.0.3.1)"), -EINVAL);
	assert_why("10.0.3.1@tcp");
	assert_int_equal(
		find("tcp(127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5)"),
		-ENOSPC);
}

/* One address may be on several networks. */
static void address_on_two_networks_is_two(void **state)
{
	(void)state;
	assert_int_equal(find("tcp(127.0.0.1),tcp1(127.0.0.1)"), 0);
	assert_int_equal(found_nr, 2);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, NULL)
	const struct CMUnitTest tests[] = {
		CASE(none_named_means_first_usable),
		CASE(none_named_means_ib0_for_o2ib),
		CASE(device_means_its_first_address),
		CASE(address_is_found_with_its_device),
		CASE(wrong_names_are_refused),
		CASE(address_on_two_networks_is_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
