/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <stdio.h>

#include "m0/lnet.h"

static struct m0_lnet_cfg cfg;
static char               why[M0_LNET_WHY_BYTES];

static int setup(void **state)
{
	(void)state;
	m0_lnet_cfg_default(&cfg);
	strcpy(why, "?");
	return 0;
}

#define assert_why(text) assert_non_null(strstr(why, text))

/* The defaults are those of Lustre 2.17, and nothing is wrong with them. */
static void default_is_that_of_lustre(void **state)
{
	(void)state;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), 0);
	assert_int_equal(cfg.lc_port, 988);
	assert_int_equal(cfg.lc_accept, M0_LNET_ACCEPT_SECURE);
	assert_int_equal(cfg.lc_src_port_max, 1023);
	assert_int_equal(cfg.lc_src_port_min, 512);
	assert_int_equal(cfg.lc_peer_credits, 8);
	assert_int_equal(cfg.lc_credits, 256);
	assert_int_equal(cfg.lc_transaction_timeout_ms, 150000);
	assert_int_equal(cfg.lc_timeout_ms, 50000);
	assert_int_equal(cfg.lc_accept_timeout_ms, 5000);
	assert_int_equal(cfg.lc_keepalive_ms, 30000);
	assert_int_equal(cfg.lc_reconnect_min_ms, 1000);
	assert_int_equal(cfg.lc_reconnect_max_ms, 60000);
	assert_int_equal(cfg.lc_portals_nr, 64);
	assert_true(cfg.lc_discovery && !cfg.lc_peers_colibri);
	assert_int_equal(cfg.lc_nets_nr, 0);
}

/* Each wrong field is named, with what it is and what it may be. */
static void check_names_wrong_field(void **state)
{
	(void)state;
#define WRONG(field, val, text)                                           \
	do {                                                              \
		m0_lnet_cfg_default(&cfg);                                \
		cfg.field = (val);                                        \
		assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);  \
		assert_why(#field);                                       \
		assert_why(text);                                         \
		assert_int_equal(m0_lnet_cfg_check(&cfg, NULL), -EINVAL); \
	} while (0)
	WRONG(lc_port, 0, "1 to 65535");
	WRONG(lc_peer_credits, 0, "1 to");
	WRONG(lc_credits, 70000, "70000");
	WRONG(lc_accept, (enum m0_lnet_accept)3, "0 to 2");
	WRONG(lc_transaction_timeout_ms, 0, "1 to 86400000");
	WRONG(lc_timeout_ms, 1ULL << 40, "1099511627776");
	WRONG(lc_portals_nr, 0, "1 to 4096");
	WRONG(lc_msgs_max, 7, "8 to");
	WRONG(lc_mes_max, 0, "1 to");
	WRONG(lc_src_port_min, 0, "lc_src_port_max is 1023");
	WRONG(lc_src_port_min, 2000, "2000");
	WRONG(lc_reconnect_min_ms, 70000, "lc_reconnect_max_ms");
	WRONG(lc_spin_ns, 2000000000, "negative");
	WRONG(lc_nets_nr, 17, "0 to 16");
	WRONG(lc_conns_per_peer, 0, "1 to 127");
	WRONG(lc_lanes, 65, "0 to 64");
	WRONG(lc_listen.lfd_nr, M0_LNET_LISTEN_FDS_MAX + 1, "up to 16");
#undef WRONG
	m0_lnet_cfg_default(&cfg);
	memset(cfg.lc_congestion, 'x', sizeof cfg.lc_congestion);
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("lc_congestion");
	m0_lnet_cfg_default(&cfg);
	strcpy(cfg.lc_same_host_dir, "run/x");
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("lc_same_host_dir");
	memset(cfg.lc_same_host_dir, '/', sizeof cfg.lc_same_host_dir);
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("lc_same_host_dir");
}

/* Processors are a list; whether there are such is not looked at here. */
static void check_reads_processors(void **state)
{
	static const char *const wrong[] = { "0-",  "1,",   "x",
					     "3-1", "1024", "0 1" };
	size_t                   i;

	(void)state;
	strcpy(cfg.lc_cpus, "0-3,8,1023");
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), 0);
	for (i = 0; i < ARRAY_SIZE(wrong); ++i) {
		strcpy(cfg.lc_cpus, wrong[i]);
		assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
		assert_why(wrong[i]);
		assert_why("0-3,8");
	}
	m0_lnet_cfg_default(&cfg);
	strcpy(cfg.lc_lane_cpus, "x");
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("lc_lane_cpus is \"x\"");
	memset(cfg.lc_cpus, '1', sizeof cfg.lc_cpus);
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("up to 63 characters");
}

/* Networks that were not made by the parser are looked at as well. */
static void check_looks_at_networks(void **state)
{
	struct m0_lnet_net_cfg *net = cfg.lc_nets;

	(void)state;
	cfg.lc_nets_nr = 1;
	net->lnc_net = m0_lnet_net(M0_LNET_TYPE_GNI, 1);
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("gni1");
	net->lnc_net = m0_lnet_net(M0_LNET_TYPE_TCP, 3);
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), 0);
	net->lnc_ifaces_nr = 1;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("tcp3");
	memset(net->lnc_ifaces[0], 'e', sizeof net->lnc_ifaces[0]);
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	strcpy(net->lnc_ifaces[0], "eth0");
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), 0);
	net->lnc_ifaces_nr = 17;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("lnc_ifaces_nr");
	net->lnc_ifaces_nr = 0;
	cfg.lc_nets[1] = *net;
	cfg.lc_nets_nr = 2;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("twice");
}

static int nets(const char *text)
{
	return m0_lnet_cfg_networks(&cfg, text, why);
}

/* The shapes of the grammar. */
static void networks_shapes_are_read(void **state)
{
	(void)state;
	assert_int_equal(nets("tcp"), 0);
	assert_int_equal(cfg.lc_nets_nr, 1);
	assert_int_equal(cfg.lc_nets[0].lnc_net,
			 m0_lnet_net(M0_LNET_TYPE_TCP, 0));
	assert_int_equal(cfg.lc_nets[0].lnc_ifaces_nr, 0);
	assert_int_equal(nets(" tcp1 ( 10.0.0.1 , eth0:1 [0,1] ) [2-3] ,"
			      "lo, tcp65535(2001:db8::1)"),
			 0);
	assert_int_equal(cfg.lc_nets_nr, 3);
	assert_int_equal(cfg.lc_nets[1].lnc_net,
			 m0_lnet_net(M0_LNET_TYPE_TCP, 1));
	assert_int_equal(cfg.lc_nets[1].lnc_ifaces_nr, 2);
	assert_string_equal(cfg.lc_nets[1].lnc_ifaces[0], "10.0.0.1");
	assert_string_equal(cfg.lc_nets[1].lnc_ifaces[1], "eth0:1");
	assert_string_equal(cfg.lc_nets[2].lnc_ifaces[0], "2001:db8::1");
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), 0);
}

/* A wrong text is refused with the place of the error, and adds no network. */
static void networks_wrong_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"",          " ",        ",",        "tcp,",       "tcp,,tcp1",
		"tcp(",      "tcp()",    "tcp(eth0", "tcp(eth0,)", "tcp eth0",
		"tcp)",      "tcp(a b)", "tcp[",     "tcp[]",      "tcp[a]",
		"eth0",      "tcp65536", "gni",      "tcp,tcp",    "tcp(a)(b)",
		"tcp,tcp()", "tcp(a[0)", "10.0.0.1", "tcp@tcp",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); ++i) {
		strcpy(why, "?");
		assert_int_equal(nets(texts[i]), -EINVAL);
		assert_int_equal(cfg.lc_nets_nr, 0);
		assert_why("character");
	}
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "x", NULL), -EINVAL);
	assert_int_equal(nets("tcp(eth0"), -EINVAL);
	assert_why("character 9");
}

/* Tunables of a network: fields that all have, the rest for the driver. */
static void networks_take_tunables(void **state)
{
	const struct m0_lnet_net_cfg *net = cfg.lc_nets;

	(void)state;
	assert_int_equal(nets("tcp(10.0.0.1)[1] peer_credits=16  credits=64\t"
			      "timeout=30 peer_timeout=0100 keepalive=0 ,"
			      " tcp1 conns_per_peer=4,lo,tcp2"),
			 0);
	assert_int_equal(cfg.lc_nets_nr, 3);
	assert_int_equal(net->lnc_ifaces_nr, 1);
	assert_int_equal(net->lnc_peer_credits, 16);
	assert_int_equal(net->lnc_credits, 64);
	assert_int_equal(net->lnc_peer_timeout_s, 100);
	assert_int_equal(net->lnc_peer_buffer_credits, 0);
	assert_string_equal(net->lnc_options, "timeout=30 keepalive=0");
	++net;
	assert_int_equal(net->lnc_peer_credits, 0);
	assert_string_equal(net->lnc_options, "conns_per_peer=4");
	++net;
	assert_string_equal(net->lnc_options, "");
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), 0);
}

/* A wrong tunable is named with its network, value and what is accepted, and no
 * network of the text is added. */
static void networks_wrong_tunables_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "tcp,tcp1 peer_credits=0",
		  "network tcp1: peer_credits is \"0\"; accepted: 1 to 65535" },
		{ "tcp credits=65536",
		  "network tcp: credits is \"65536\"; accepted: 1 to 65535" },
		{ "tcp peer_timeout=1.5",
		  "network tcp: peer_timeout is \"1.5\"; accepted: 1 to 86400 "
		  "seconds" },
		{ "tcp timeout=",
		  "network tcp: timeout is \"\"; accepted: 1 to "
		  "86400 seconds" },
		{ "tcp credits=1 timeout=2 credits=1",
		  "network tcp: credits is there twice; accepted: once" },
		{ "tcp timeout=1 timeout=1",
		  "network tcp: timeout is there twice; accepted: once" },
		{ "tcp pear_credits=1",
		  "network tcp: there is no option \"pear_credits\"; accepted: "
		  "conns_per_peer, timeout, keepalive, min_reconnectms, "
		  "max_reconnectms; on every network: peer_credits, credits, "
		  "peer_timeout, peer_buffer_credits" },
		{ "tcp max_reconnectms=500",
		  "network tcp: min_reconnectms is 1000; accepted: up to "
		  "max_reconnectms, which is 500" },
		{ "tcp =1", "network tcp: \"=1\" is not an option" },
		{ "tcp credits",
		  "neither \",\" nor NAME=VALUE at character 5" },
		{ "tcp credits=1 (eth0)", "something else than \",\" at "
					  "character 15" },
		{ "lo credits=1", "lo has none at character 4" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		assert_int_equal(nets(rows[i][0]), -EINVAL);
		assert_why(rows[i][1]);
		assert_int_equal(cfg.lc_nets_nr, 0);
	}
	/* Inherited by the network: the back-off of the node. */
	cfg.lc_reconnect_min_ms = 500;
	assert_int_equal(nets("tcp max_reconnectms=500"), 0);
	cfg.lc_reconnect_min_ms = 501;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("min_reconnectms is 501");
}

/* Options have an end, in the text and in the field. */
static void tunables_have_an_end(void **state)
{
	struct m0_lnet_net_cfg *net = cfg.lc_nets;
	char                    text[1024] = "tcp";
	int                     i;

	(void)state;
	for (i = 0; i < 60; ++i)
		sprintf(text + strlen(text), " o%d=1234", i);
	assert_int_equal(nets(text), -EINVAL);
	assert_why("up to 255 characters");
	strcpy(text, "tcp credits=");
	memset(text + strlen(text), '0', 64);
	assert_int_equal(nets(text), -EINVAL);
	assert_why("too long");
	assert_int_equal(cfg.lc_nets_nr, 0);
	assert_int_equal(nets("tcp"), 0);
	memset(net->lnc_options, ' ', sizeof net->lnc_options);
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("lnc_options has no end");
	net->lnc_options[sizeof net->lnc_options - 1] = 0;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), 0);
	strcpy(net->lnc_options, "timeout=0");
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("network tcp: timeout is \"0\"; accepted: 1 to 86400");
	net->lnc_options[0] = 0;
	net->lnc_credits = 65536;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_why("network tcp: credits is 65536; accepted: 1 to 65535, or 0");
}

/* More than there is room for. */
static void networks_too_many_are_refused(void **state)
{
	static char text[5000];
	int         i;

	(void)state;
	for (i = 0; i < 17; ++i)
		sprintf(text + strlen(text), "%stcp%d", i > 0 ? "," : "", i);
	assert_int_equal(nets(text), -ENOSPC);
	assert_int_equal(cfg.lc_nets_nr, 0);
	strcpy(text, "tcp(");
	for (i = 0; i < 17; ++i)
		sprintf(text + strlen(text), "%seth%d", i > 0 ? "," : "", i);
	strcat(text, ")");
	assert_int_equal(nets(text), -ENOSPC);
	memset(text, ' ', sizeof text - 1);
	text[sizeof text - 1] = 0;
	assert_int_equal(nets(text), -EINVAL);
	assert_why("4096");
	memset(text, 0, sizeof text);
	strcpy(text, "tcp(");
	memset(text + 4, 'a', 64);
	strcat(text, ")");
	assert_int_equal(nets(text), -EINVAL);
	assert_why("too long");
}

/* -- routes ---------------------------------------------------------------- */

static void assert_route(unsigned i, const char *net, const char *gateway,
			 uint32_t hops, uint32_t priority)
{
	const struct m0_lnet_route_attr *attr = &cfg.lc_routing.lgc_routes[i];
	char                             text[M0_LNET_NIDSTR_SIZE];

	assert_true(i < cfg.lc_routing.lgc_routes_nr);
	assert_string_equal(m0_lnet_net_print(attr->lra_net, text, sizeof text),
			    net);
	assert_string_equal(m0_lnet_nid_print(&attr->lra_gateway, text,
					      sizeof text),
			    gateway);
	assert_int_equal(attr->lra_hops, hops);
	assert_int_equal(attr->lra_priority, priority);
}

static void routes_are_read(void **state)
{
	(void)state;
	assert_int_equal(
		m0_lnet_cfg_routes(&cfg,
				   "tcp1 10.0.0.1@tcp;\n"
				   " tcp2 3 10.0.0.1@tcp:4 10.0.0.2@tcp ;",
				   why),
		0);
	assert_int_equal(cfg.lc_routing.lgc_routes_nr, 3);
	assert_route(0, "tcp1", "10.0.0.1@tcp", 0, 0);
	assert_route(1, "tcp2", "10.0.0.1@tcp", 3, 4);
	assert_route(2, "tcp2", "10.0.0.2@tcp", 3, 0);
	assert_int_equal(m0_lnet_cfg_routes(&cfg, "", why), 0);
	assert_int_equal(cfg.lc_routing.lgc_routes_nr, 3);
}

static void routes_with_brackets_are_several(void **state)
{
	(void)state;
	assert_int_equal(m0_lnet_cfg_routes(
				 &cfg, "tcp[1,5-9/2] 10.0.[0-1].7@tcp:2", why),
			 0);
	assert_int_equal(cfg.lc_routing.lgc_routes_nr, 8);
	assert_route(0, "tcp1", "10.0.0.7@tcp", 0, 2);
	assert_route(1, "tcp1", "10.0.1.7@tcp", 0, 2);
	assert_route(2, "tcp5", "10.0.0.7@tcp", 0, 2);
	assert_route(7, "tcp9", "10.0.1.7@tcp", 0, 2);
}

static void routes_that_are_wrong_are_refused(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} wrong[] = {
		{ "tcp1", "has no gateway" },
		{ "10.0.0.1@tcp", "stands for no network" },
		{ "tcp1 0 10.0.0.1@tcp", "hops are 0" },
		{ "tcp1 256 10.0.0.1@tcp", "hops are 256" },
		{ "tcp1 1 10.0.0.1@tcp x", "is no gateway" },
		{ "tcp1 10.0.0.1@tcp:x", "priority" },
		{ "tcp1 10.0.0.1@tcp1", "on the network that it leads to" },
		{ "nosuch1 10.0.0.1@tcp", "is not a network" },
		{ "tcp1 10.0.0.300@tcp", "is not a NID" },
		{ "tcp1 10.0.0.[1@tcp", "[ without a ]" },
		{ "tcp1 10.0.0.[]@tcp", "without a number" },
		{ "tcp1 10.0.0.[9-1]@tcp", "without an end" },
		{ "tcp1 10.0.0.[1-4/2]@tcp", "does not divide" },
		{ "tcp1 10.0.0.[1x]@tcp", "are not [A-B/STEP]" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrong); ++i) {
		assert_int_equal(m0_lnet_cfg_routes(&cfg, wrong[i].text, why),
				 -EINVAL);
		assert_why(wrong[i].why);
		assert_int_equal(cfg.lc_routing.lgc_routes_nr, 0);
	}
	assert_int_equal(m0_lnet_cfg_routes(&cfg,
					    "tcp1 2.2.2.2@tcp; "
					    "tcp1 10.0.[0-9].[0-9]@tcp",
					    why),
			 -ENOSPC);
	assert_int_equal(cfg.lc_routing.lgc_routes_nr, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, NULL)
	const struct CMUnitTest tests[] = {
		CASE(default_is_that_of_lustre),
		CASE(check_names_wrong_field),
		CASE(check_reads_processors),
		CASE(check_looks_at_networks),
		CASE(networks_shapes_are_read),
		CASE(networks_wrong_text_is_refused),
		CASE(networks_take_tunables),
		CASE(networks_wrong_tunables_are_refused),
		CASE(tunables_have_an_end),
		CASE(networks_too_many_are_refused),
		CASE(routes_are_read),
		CASE(routes_with_brackets_are_several),
		CASE(routes_that_are_wrong_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
