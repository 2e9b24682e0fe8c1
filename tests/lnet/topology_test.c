/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Topologies of m0/sim_route.h: the routes that follow from them, routers that die and
 * come back, and the simulator's trace of a message by routers.
 */
#include <stdlib.h>

#include "lnet/node.h"
#include "m0/lnet_route.h"

enum {
	BITS = 7,
	CHECK_MS = 10000,
	PING_MS = 5000,
	/** A route is down, or up again, so long after its gateway. */
	NOTICE_MS = CHECK_MS + PING_MS
};

static struct m0_sim       sim;
static struct m0_sim_host *hosts[8];
static struct node         a;
static struct node         b;
static struct node_op      op;
static struct node_window  window;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 1000 * 1000,
};

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_discovery = false;
	cfg->lc_routing.lgc_check_ms = CHECK_MS;
	cfg->lc_routing.lgc_ping_ms = PING_MS;
}

static void up(void)
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
}

static void routers_up(void)
{
	static struct m0_lnet_cfg cfg;

	m0_lnet_cfg_default(&cfg);
	tune(&cfg);
	m0_sim_routers_up(&cfg);
}

/** Opens the end nodes, on hosts 0 and 1, after the routers. */
static void ends_up(const char *nid_a, const char *nid_b)
{
	routers_up();
	node_init_host(&a, &sim, "a", hosts[0], nid_a, tune);
	node_init_host(&b, &sim, "b", hosts[1], nid_b, tune);
	node_window_init(&window, &b, BITS, 4096, -1);
	m0_sim_run_ms(&sim, NOTICE_MS);
}

static void down(void)
{
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	node_fini(&a);
	node_fini(&b);
	m0_sim_routers_down();
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/** Sends from a to b. @return 0, or what was wrong. */
static int put(void)
{
	int rc;

	node_put(&op, &a, &b.n_nid, BITS, 0, 8, 1, true);
	node_op_wait(&op, 160000);
	rc = node_op_result(&op);
	node_op_fini(&op);
	return rc;
}

static uint64_t forwarded(const struct m0_sim_host *router)
{
	struct m0_lnet_routing_info info;

	assert_int_equal(m0_lnet_routing_get(m0_sim_router_lnet(router), &info),
			 0);
	return info.lgi_forwarded_nr;
}

/* -- routes ---------------------------------------------------------------- */

/** Compares the routes of a host with text: one `NET HOPS GATEWAY:PRIORITY` each. */
static void routes_are(const struct m0_sim_host *host, const char *text)
{
	static struct m0_lnet_cfg        cfg;
	const struct m0_lnet_route_attr *attr;
	char                             all[2048] = "";
	char                             net[M0_LNET_NIDSTR_SIZE];
	char                             nid[M0_LNET_NIDSTR_SIZE];
	size_t                           nr = 0;
	unsigned                         i;

	m0_lnet_cfg_default(&cfg);
	m0_sim_host_lnet_cfg(host, &cfg);
	for (i = 0; i < cfg.lc_routing.lgc_routes_nr; ++i) {
		attr = &cfg.lc_routing.lgc_routes[i];
		nr += (size_t)snprintf(
			all + nr, sizeof all - nr, "%s %u %s:%u\n",
			m0_lnet_net_print(attr->lra_net, net, sizeof net),
			attr->lra_hops,
			m0_lnet_nid_print(&attr->lra_gateway, nid, sizeof nid),
			attr->lra_priority);
	}
	assert_string_equal(all, text);
}

/** Two routers join tcp and tcp1, a chain leads on to tcp2 and tcp3. No route of a
 * router leads back, and none of a host passes by its own network. */
static void routes_follow_from_a_topology(void **state)
{
	(void)state;
	up();
	hosts[0] = m0_sim_host_add_nids("a", "10.0.0.1@tcp");
	hosts[1] = m0_sim_host_add_nids("b", "10.3.0.1@tcp3");
	hosts[2] = m0_sim_router_add("r", "10.0.0.2@tcp 10.1.0.2@tcp1", 0);
	hosts[3] = m0_sim_router_add("q", "10.0.0.3@tcp 10.1.0.3@tcp1", 5);
	hosts[4] = m0_sim_router_add("s", "10.1.0.4@tcp1 10.2.0.4@tcp2", 0);
	hosts[5] = m0_sim_router_add("t", "10.2.0.5@tcp2 10.3.0.5@tcp3", 0);
	hosts[6] = m0_sim_host_add_nids("c", "10.1.0.6@tcp1 10.2.0.6@tcp2");
	routes_are(hosts[0], "tcp1 1 10.0.0.2@tcp:0\n"
			     "tcp2 2 10.0.0.2@tcp:0\n"
			     "tcp3 3 10.0.0.2@tcp:0\n"
			     "tcp1 1 10.0.0.3@tcp:5\n"
			     "tcp2 2 10.0.0.3@tcp:5\n"
			     "tcp3 3 10.0.0.3@tcp:5\n");
	routes_are(hosts[1], "tcp2 1 10.3.0.5@tcp3:0\n"
			     "tcp1 2 10.3.0.5@tcp3:0\n"
			     "tcp 3 10.3.0.5@tcp3:0\n");
	routes_are(hosts[3], "tcp2 1 10.1.0.4@tcp1:0\n"
			     "tcp3 2 10.1.0.4@tcp1:0\n");
	routes_are(hosts[4], "tcp 1 10.1.0.2@tcp1:0\n"
			     "tcp 1 10.1.0.3@tcp1:5\n"
			     "tcp3 1 10.2.0.5@tcp2:0\n");
	routes_are(hosts[6], "tcp 1 10.1.0.2@tcp1:0\n"
			     "tcp 1 10.1.0.3@tcp1:5\n"
			     "tcp3 1 10.2.0.5@tcp2:0\n");
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/** A node that is on two networks by three interfaces, IPv6 among them. */
static void networks_follow_from_nids(void **state)
{
	static struct m0_lnet_cfg cfg;

	(void)state;
	up();
	hosts[0] = m0_sim_host_add_nids(
		"a", "10.0.0.1@tcp fd00::1@tcp1 10.0.0.2@tcp");
	m0_lnet_cfg_default(&cfg);
	m0_sim_host_lnet_cfg(hosts[0], &cfg);
	assert_int_equal(cfg.lc_nets_nr, 2);
	assert_int_equal(cfg.lc_nets[0].lnc_ifaces_nr, 2);
	assert_string_equal(cfg.lc_nets[0].lnc_ifaces[1], "10.0.0.2");
	assert_int_equal(cfg.lc_nets[1].lnc_net,
			 m0_lnet_net(M0_LNET_TYPE_TCP, 1));
	assert_string_equal(cfg.lc_nets[1].lnc_ifaces[0], "fd00::1");
	assert_false(cfg.lc_routing.lgc_on);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/* -- routers --------------------------------------------------------------- */

static void two_routers_add(void)
{
	up();
	hosts[0] = m0_sim_host_add_nids("a", "10.0.0.1@tcp");
	hosts[1] = m0_sim_host_add_nids("b", "10.1.0.1@tcp1");
	hosts[2] = m0_sim_router_add("r", "10.0.0.2@tcp 10.1.0.2@tcp1", 0);
	hosts[3] = m0_sim_router_add("q", "10.0.0.3@tcp 10.1.0.3@tcp1", 1);
	ends_up("10.0.0.1@tcp", "10.1.0.1@tcp1");
}

/** Messages take the router of the least priority that is up. */
static void router_crashes_and_restarts(void **state)
{
	uint64_t nr;

	(void)state;
	two_routers_add();
	nr = forwarded(hosts[3]);
	assert_int_equal(put(), 0);
	assert_int_equal(forwarded(hosts[3]), nr);
	m0_sim_router_crash(hosts[2]);
	assert_null(m0_sim_router_lnet(hosts[2]));
	m0_sim_run_ms(&sim, NOTICE_MS);
	assert_int_equal(put(), 0);
	assert_true(forwarded(hosts[3]) > nr);
	m0_sim_router_restart(hosts[2]);
	/* The back-off of a connection may come first. */
	m0_sim_run_ms(&sim, 60000 + NOTICE_MS);
	nr = forwarded(hosts[3]);
	assert_int_equal(put(), 0);
	assert_int_equal(forwarded(hosts[3]), nr);
	assert_true(forwarded(hosts[2]) > 0);
	down();
}

/** The reset tells: the next message goes by the other router. */
static void router_that_is_killed_is_noticed_at_once(void **state)
{
	struct m0_lnet_route_info infos[4];

	(void)state;
	two_routers_add();
	m0_sim_router_kill(hosts[2]);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(m0_lnet_route_get(a.n_lnet, infos, 4), 2);
	assert_int_equal(infos[0].lri_why, M0_LNET_ROUTE_LOST);
	assert_int_equal(put(), 0);
	down();
}

/* -- stories --------------------------------------------------------------- */

/** The story of a PUT and its ACK, by a chain of three routers. */
static void story_names_the_path(void **state)
{
	(void)state;
	up();
	hosts[0] = m0_sim_host_add_nids("a", "10.0.0.1@tcp");
	hosts[1] = m0_sim_host_add_nids("b", "10.3.0.2@tcp3");
	(void)m0_sim_router_add("r", "10.0.0.9@tcp 10.1.0.9@tcp1", 0);
	(void)m0_sim_router_add("q", "10.1.0.8@tcp1 10.2.0.8@tcp2", 0);
	(void)m0_sim_router_add("p", "10.2.0.7@tcp2 10.3.0.7@tcp3", 0);
	ends_up("10.0.0.1@tcp", "10.3.0.2@tcp3");
	assert_int_equal(put(), 0);
	m0_sim_watch(&sim, "lnet_route");
	m0_sim_watch(&sim, "lnet_forward");
	assert_int_equal(put(), 0);
	m0_sim_expect(
		&sim,
		"15008 ms m0-lnet.4 > PUT from 10.0.0.1@tcp to 10.3.0.2@tcp3 "
		"goes by 10.0.0.9@tcp\n"
		"15009 ms m0-lnet > 10.1.0.9@tcp1 > 10.1.0.8@tcp1: forwards "
		"PUT from 10.0.0.1@tcp to 10.3.0.2@tcp3\n"
		"15010 ms m0-lnet.2 > 10.2.0.8@tcp2 > 10.2.0.7@tcp2: forwards "
		"PUT from 10.0.0.1@tcp to 10.3.0.2@tcp3\n"
		"15011 ms m0-lnet.3 > 10.3.0.7@tcp3 > 10.3.0.2@tcp3: forwards "
		"PUT from 10.0.0.1@tcp to 10.3.0.2@tcp3\n"
		"15012 ms m0-lnet.5 > ACK from 10.3.0.2@tcp3 to 10.0.0.1@tcp "
		"goes by 10.3.0.7@tcp3\n"
		"15013 ms m0-lnet.3 > 10.2.0.7@tcp2 > 10.2.0.8@tcp2: forwards "
		"ACK from 10.3.0.2@tcp3 to 10.0.0.1@tcp\n"
		"15014 ms m0-lnet.2 > 10.1.0.8@tcp1 > 10.1.0.9@tcp1: forwards "
		"ACK from 10.3.0.2@tcp3 to 10.0.0.1@tcp\n"
		"15015 ms m0-lnet > 10.0.0.9@tcp > 10.0.0.1@tcp: forwards ACK "
		"from 10.3.0.2@tcp3 to 10.0.0.1@tcp\n");
	down();
}

/** The story of messages whose router dies. */
static void story_names_the_other_router(void **state)
{
	(void)state;
	two_routers_add();
	assert_int_equal(put(), 0);
	m0_sim_watch(&sim, "lnet_route");
	m0_sim_watch(&sim, "host");
	assert_int_equal(put(), 0);
	m0_sim_router_kill(hosts[2]);
	assert_int_equal(put(), 0);
	m0_sim_expect(
		&sim,
		"15004 ms m0-lnet.3 > PUT from 10.0.0.1@tcp to 10.1.0.1@tcp1 "
		"goes by 10.0.0.2@tcp\n"
		"15006 ms m0-lnet.4 > ACK from 10.1.0.1@tcp1 to 10.0.0.1@tcp "
		"goes by 10.1.0.2@tcp1\n"
		"15008 ms r > is killed\n"
		"15008 ms m0-lnet.3 > PUT from 10.0.0.1@tcp to 10.1.0.1@tcp1 "
		"goes by 10.0.0.3@tcp\n"
		"15010 ms m0-lnet.4 > ACK from 10.1.0.1@tcp1 to 10.0.0.1@tcp "
		"goes by 10.1.0.3@tcp1\n");
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_follow_from_a_topology),
		cmocka_unit_test(networks_follow_from_nids),
		cmocka_unit_test(router_crashes_and_restarts),
		cmocka_unit_test(router_that_is_killed_is_noticed_at_once),
		cmocka_unit_test(story_names_the_path),
		cmocka_unit_test(story_names_the_other_router),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
