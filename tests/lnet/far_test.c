/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Nodes that routers part, on topologies of m0/sim_route.h: routers that do not do what
 * they say, ways there and back that differ, clients to whom nobody can connect, IPv6,
 * and a router that is switched off while it is full.
 */
#include <stdlib.h>

#include "lnet/node.h"
#include "m0/lnet_fault.h"
#include "m0/lnet_route.h"

enum {
	BITS = 7,
	OPS_NR = 64,
	KIB = 1 << 10,
	MIB = 1 << 20,
	CHECK_MS = 10000,
	PING_MS = 5000,
	UP_MS = 12000,
	/** By when an operation without an answer has ended. */
	END_MS = 160000
};

static struct m0_sim       sim;
static struct m0_sim_host *hosts[2];
static struct m0_sim_host *routers[2];
static struct node         a;
static struct node         b;
static struct node_op      ops[OPS_NR];
static struct node_window  windows[2];

/** Nodes that are opened next are so. */
static bool a_is_deaf;
static bool drops_asym;
static bool avoids_asym;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 200 * 1000,
	.ssc_piece_bytes_max = 9000,
};

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_routing.lgc_check_ms = CHECK_MS;
	cfg->lc_routing.lgc_ping_ms = PING_MS;
	cfg->lc_routing.lgc_avoid_asym = avoids_asym;
}

static void tune_a(struct m0_lnet_cfg *cfg)
{
	tune(cfg);
	/* A discovery would be dropped before the messages. */
	cfg->lc_discovery = !drops_asym;
	if (a_is_deaf)
		cfg->lc_accept = M0_LNET_ACCEPT_NONE;
}

static void tune_b(struct m0_lnet_cfg *cfg)
{
	tune(cfg);
	cfg->lc_routing.lgc_drop_asym = drops_asym;
}

static void up(const char *nid_a, const char *nid_b)
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	hosts[0] = m0_sim_host_add_nids("a", nid_a);
	hosts[1] = m0_sim_host_add_nids("b", nid_b);
	routers[1] = NULL;
}

static void nodes_up(const char *nid_a, const char *nid_b)
{
	static struct m0_lnet_cfg cfg;

	m0_lnet_cfg_default(&cfg);
	tune(&cfg);
	m0_sim_routers_up(&cfg);
	node_init_host(&a, &sim, "a", hosts[0], nid_a, tune_a);
	node_init_host(&b, &sim, "b", hosts[1], nid_b, tune_b);
	node_window_init(&windows[0], &a, BITS, MIB, -1);
	node_window_init(&windows[1], &b, BITS, MIB, -1);
	m0_sim_run_ms(&sim, UP_MS);
}

/** a is on tcp, b on tcp1, and one or two routers of the same rank join these. */
static void between_up(unsigned routers_nr)
{
	up("10.0.0.1@tcp", "10.1.0.1@tcp1");
	routers[0] = m0_sim_router_add("r", "10.0.0.2@tcp 10.1.0.2@tcp1", 0);
	if (routers_nr > 1)
		routers[1] =
			m0_sim_router_add("q", "10.0.0.3@tcp 10.1.0.3@tcp1", 0);
	nodes_up("10.0.0.1@tcp", "10.1.0.1@tcp1");
}

static struct m0_lnet *lnet_of(unsigned i)
{
	return m0_sim_router_lnet(routers[i]);
}

static struct m0_lnet_routing_info routing_of(unsigned i)
{
	struct m0_lnet_routing_info info;

	assert_int_equal(m0_lnet_routing_get(lnet_of(i), &info), 0);
	return info;
}

static unsigned used_nr(unsigned i)
{
	struct m0_lnet_routing_info info = routing_of(i);

	return info.lgi_pools[M0_LNET_POOL_TINY].lbi_used_nr +
	       info.lgi_pools[M0_LNET_POOL_SMALL].lbi_used_nr +
	       info.lgi_pools[M0_LNET_POOL_LARGE].lbi_used_nr;
}

static uint64_t forwarded(unsigned i)
{
	return routing_of(i).lgi_forwarded_nr;
}

/** No message is left, and all credits are back. */
static void node_is_at_rest(struct m0_lnet *lnet)
{
	struct m0_lnet_info *info;
	unsigned             i;
	unsigned             k;

	assert_int_equal(m0_lnet_info_get(lnet, &info), 0);
	assert_int_equal(info->li_stats.ls_msgs_alloc, 0);
	assert_int_equal(info->li_stats.ls_rst_alloc, 0);
	for (i = 0; i < info->li_nis_nr; ++i)
		assert_int_equal(info->li_nis[i].nii_credits_free,
				 info->li_nis[i].nii_credits);
	for (i = 0; i < info->li_peers_nr; ++i)
		for (k = 0; k < info->li_peers[i].pei_nis_nr; ++k)
			assert_int_equal(
				info->li_peers[i].pei_nis[k].pni_credits_free,
				info->li_peers[i].pei_nis[k].pni_credits_max);
	m0_lnet_info_free(info);
}

/** Everything has ended, and every counter of what is under way is 0. */
static void down(void)
{
	unsigned i;

	for (i = 0; i < 2; ++i)
		node_window_unlink(&windows[i]);
	m0_sim_run_ms(&sim, 2000);
	for (i = 0; i < 2; ++i)
		node_window_fini(&windows[i]);
	node_is_at_rest(a.n_lnet);
	node_is_at_rest(b.n_lnet);
	for (i = 0; i < 2 && routers[i] != NULL; ++i) {
		node_is_at_rest(lnet_of(i));
		assert_int_equal(used_nr(i), 0);
	}
	node_fini(&a);
	node_fini(&b);
	m0_sim_routers_down();
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

static int op_end(struct node_op *op)
{
	int rc;

	node_op_wait(op, END_MS);
	rc = node_op_result(op);
	node_op_fini(op);
	return rc;
}

/** PUTs and GETs of `bytes`, at once. @return how many succeeded. */
static unsigned talk(struct node *from, struct node *to, unsigned nr,
		     size_t bytes)
{
	unsigned done = 0;
	unsigned i;

	for (i = 0; i < nr; ++i)
		if (i % 2 == 0)
			node_put(&ops[i], from, &to->n_nid, BITS, 0, bytes, 1,
				 true);
		else
			node_get(&ops[i], from, &to->n_nid, BITS, 0, bytes);
	for (i = 0; i < nr; ++i)
		done += op_end(&ops[i]) == 0;
	return done;
}

static enum m0_lnet_route_why why_of(const struct node *node, unsigned i)
{
	struct m0_lnet_route_info infos[4];

	assert_in_range(m0_lnet_route_get(node->n_lnet, infos, 4), i + 1, 4);
	return infos[i].lri_why;
}

/* -- routers that do not do what they say ---------------------------------- */

/** The router drops messages between the networks, every `rate`-th: it answers pings
 * all the same. */
static void router_drops(unsigned i, uint64_t rate)
{
	struct m0_lnet_fault_attr hole;

	m0_lnet_fault_attr_init(&hole, M0_LNET_FAULT_DROP);
	hole.lfa_src = a.n_nid;
	hole.lfa_dst = b.n_nid;
	hole.lfa_rate = rate;
	assert_int_equal(m0_lnet_fault_add(lnet_of(i), &hole, NULL), 0);
	hole.lfa_src = b.n_nid;
	hole.lfa_dst = a.n_nid;
	assert_int_equal(m0_lnet_fault_add(lnet_of(i), &hole, NULL), 0);
}

/** Nothing tells the node of it: its messages end by their deadline, each once. */
static void only_gateway_answers_pings_and_does_not_forward(void **state)
{
	(void)state;
	between_up(1);
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	router_drops(0, 1);
	assert_int_equal(talk(&a, &b, OPS_NR, 100), 0);
	assert_int_equal(why_of(&a, 0), M0_LNET_ROUTE_UP);
	m0_lnet_fault_del(lnet_of(0), M0_LNET_FAULT_ANY, NULL, NULL);
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	down();
}

/** Answers that do not come cost the gateway its health, so the other one is
 * preferred, until this one answers a ping. */
static void other_gateway_is_preferred_to_one_that_does_not_forward(
	void **state)
{
	uint64_t before;

	(void)state;
	between_up(2);
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	router_drops(0, 1);
	/* The gateways take turns. */
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR / 2);
	before = forwarded(0);
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	assert_int_equal(forwarded(0), before);
	/* The gateway is given a chance again. */
	m0_lnet_fault_del(lnet_of(0), M0_LNET_FAULT_ANY, NULL, NULL);
	m0_sim_run_ms(&sim, CHECK_MS + PING_MS);
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	assert_true(forwarded(0) > before);
	down();
}

/** One message of five is lost on its way: each that is lost ends by itself. */
static void gateway_that_drops_some_ends_those_alone(void **state)
{
	unsigned done;

	(void)state;
	between_up(1);
	/* The nodes know each other. */
	assert_int_equal(talk(&a, &b, 2, 8), 2);
	router_drops(0, 5);
	done = talk(&a, &b, OPS_NR, 5000);
	/* One of five requests is lost, and one of five answers. */
	assert_in_range(done, OPS_NR / 2, OPS_NR * 3 / 4);
	down();
}

/* -- ways there and back --------------------------------------------------- */

static void route_del(struct node *node, uint32_t net, const char *gateway)
{
	struct m0_lnet_nid nid;

	assert_int_equal(m0_lnet_nid_parse(&nid, gateway), 0);
	assert_int_equal(m0_lnet_route_del(node->n_lnet, net, &nid), 1);
}

/** a sends by r, and b by q. */
static void asymmetric_up(void)
{
	between_up(2);
	route_del(&a, M0_LNET_NET_ANY, "10.0.0.3@tcp");
	route_del(&b, M0_LNET_NET_ANY, "10.1.0.2@tcp1");
}

/** Each end uses its own route, and an answer returns by the router that the request
 * came by, even if there is no route by that. */
static void ways_there_and_back_may_differ(void **state)
{
	uint64_t before[2];

	(void)state;
	asymmetric_up();
	before[0] = forwarded(0);
	before[1] = forwarded(1);
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	/* Some more are of discoveries. */
	assert_in_range(forwarded(0) - before[0], 2 * OPS_NR, 2 * OPS_NR + 8);
	assert_in_range(forwarded(1) - before[1], 0, 8);
	before[0] = forwarded(0);
	before[1] = forwarded(1);
	assert_int_equal(talk(&b, &a, OPS_NR, 100), OPS_NR);
	assert_in_range(forwarded(0) - before[0], 0, 8);
	assert_in_range(forwarded(1) - before[1], 2 * OPS_NR, 2 * OPS_NR + 8);
	down();
}

static void message_without_a_way_back_by_its_router_is_dropped(void **state)
{
	(void)state;
	drops_asym = true;
	asymmetric_up();
	assert_int_equal(talk(&a, &b, 8, 100), 0);
	assert_true(node_stats(&b).ls_drop_count >= 8);
	drops_asym = false;
	down();
}

/** The interface of a router on the far network has no link. */
static void far_side_down(bool avoids)
{
	avoids_asym = avoids;
	between_up(2);
	m0_sim_link_up("10.1.0.2", false);
	m0_sim_run_ms(&sim, 100);
	assert_int_equal(why_of(&a, 0),
			 avoids ? M0_LNET_ROUTE_FAR_DOWN : M0_LNET_ROUTE_UP);
	assert_int_equal(why_of(&a, 1), M0_LNET_ROUTE_UP);
	if (avoids)
		assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	m0_sim_link_up("10.1.0.2", true);
	m0_sim_run_ms(&sim, 100);
	assert_int_equal(why_of(&a, 0), M0_LNET_ROUTE_UP);
	avoids_asym = false;
	down();
}

static void router_without_its_far_side_is_avoided(void **state)
{
	(void)state;
	far_side_down(true);
}

static void router_without_its_far_side_is_used_if_so_configured(void **state)
{
	(void)state;
	far_side_down(false);
}

/* -- who can connect, and by what ------------------------------------------ */

/** a is behind NAT or a firewall: all of it uses the connections that it makes. */
static void client_to_whom_nobody_connects_is_served(void **state)
{
	(void)state;
	a_is_deaf = true;
	between_up(1);
	assert_int_equal(talk(&a, &b, 16, MIB), 16);
	/* The server begins: bulk to the client and from it. */
	assert_int_equal(talk(&b, &a, 16, MIB), 16);
	assert_int_equal(node_ping(&b, &a.n_nid, 5000), 0);
	a_is_deaf = false;
	down();
}

static void ipv6_networks_are_joined_beside_ipv4(void **state)
{
	struct m0_lnet_nid nids[2];

	(void)state;
	up("10.0.0.1@tcp fd00::1@tcp2", "10.1.0.1@tcp1 fd01::1@tcp3");
	routers[0] = m0_sim_router_add("r",
				       "10.0.0.2@tcp 10.1.0.2@tcp1 "
				       "fd00::2@tcp2 fd01::2@tcp3",
				       0);
	nodes_up("10.0.0.1@tcp", "10.1.0.1@tcp1");
	/* There are routes between networks of both kinds, too, which no message
	 * passes. */
	assert_int_equal(talk(&a, &b, 8, MIB), 8);
	assert_int_equal(m0_lnet_nid_parse(&nids[0], "fd00::1@tcp2"), 0);
	assert_int_equal(m0_lnet_nid_parse(&nids[1], "fd01::1@tcp3"), 0);
	a.n_nid = nids[0];
	b.n_nid = nids[1];
	assert_int_equal(talk(&a, &b, 8, MIB), 8);
	assert_int_equal(talk(&b, &a, 8, MIB), 8);
	down();
}

static void ipv6_nodes_talk_by_a_router(void **state)
{
	(void)state;
	up("fd00::1@tcp", "fd01::1@tcp1");
	routers[0] = m0_sim_router_add("r", "fd00::2@tcp fd01::2@tcp1", 0);
	nodes_up("fd00::1@tcp", "fd01::1@tcp1");
	assert_int_equal(talk(&a, &b, OPS_NR, 100), OPS_NR);
	assert_int_equal(talk(&b, &a, 8, MIB), 8);
	assert_true(forwarded(0) >= 2 * OPS_NR);
	down();
}

/* -- off, while it is full ------------------------------------------------- */

/** Begins PUTs to a server that reads slowly by a router, switches that off, and looks
 * at the number of its buffers in use until it is off.
 * @return how often that has fallen. */
static unsigned drain(unsigned nr)
{
	unsigned falls = 0;
	unsigned last;
	unsigned used;
	unsigned i;

	between_up(1);
	m0_sim_host_slow(hosts[1], 512 * KIB);
	for (i = 0; i < nr; ++i)
		node_put(&ops[i], &a, &b.n_nid, BITS, 0, 128 * KIB, 1, true);
	m0_sim_run_ms(&sim, 500);
	last = used_nr(0);
	assert_true(last >= 8);
	assert_int_equal(m0_lnet_routing_set(lnet_of(0), false), 0);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(why_of(&a, 0), M0_LNET_ROUTE_NOT_ROUTING);
	while (routing_of(0).lgi_state == M0_LNET_ROUTING_STOPPING) {
		used = used_nr(0);
		assert_true(used <= last);
		falls += used < last;
		last = used;
		m0_sim_run_ms(&sim, 100);
	}
	assert_int_equal(routing_of(0).lgi_state, M0_LNET_ROUTING_OFF);
	m0_sim_host_slow(hosts[1], 0);
	/* The driver ends what it has begun to send. */
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(used_nr(0), 0);
	assert_int_equal(routing_of(0).lgi_bytes, 0);
	return falls;
}

/** Each of the PUTs ends, once. @return how many succeeded. */
static unsigned drained(unsigned nr)
{
	unsigned done = 0;
	unsigned i;

	for (i = 0; i < nr; ++i)
		done += op_end(&ops[i]) == 0;
	/* The router is as before. */
	assert_int_equal(m0_lnet_routing_set(lnet_of(0), true), 0);
	m0_sim_run_ms(&sim, UP_MS);
	assert_int_equal(talk(&a, &b, 8, MIB), 8);
	down();
	return done;
}

static void router_that_is_switched_off_drains(void **state)
{
	(void)state;
	assert_true(drain(24) >= 4);
	assert_int_equal(drained(24), 24);
}

/** More than leaves in the 10 s that the router takes. */
static void router_that_is_switched_off_full_ends_the_rest(void **state)
{
	(void)state;
	(void)drain(OPS_NR);
	assert_in_range(drained(OPS_NR), 24, OPS_NR - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			only_gateway_answers_pings_and_does_not_forward),
		cmocka_unit_test(
			other_gateway_is_preferred_to_one_that_does_not_forward),
		cmocka_unit_test(gateway_that_drops_some_ends_those_alone),
		cmocka_unit_test(ways_there_and_back_may_differ),
		cmocka_unit_test(
			message_without_a_way_back_by_its_router_is_dropped),
		cmocka_unit_test(router_without_its_far_side_is_avoided),
		cmocka_unit_test(
			router_without_its_far_side_is_used_if_so_configured),
		cmocka_unit_test(client_to_whom_nobody_connects_is_served),
		cmocka_unit_test(ipv6_nodes_talk_by_a_router),
		cmocka_unit_test(ipv6_networks_are_joined_beside_ipv4),
		cmocka_unit_test(router_that_is_switched_off_drains),
		cmocka_unit_test(
			router_that_is_switched_off_full_ends_the_rest),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("lnet-far", tests, NULL, NULL);
}
