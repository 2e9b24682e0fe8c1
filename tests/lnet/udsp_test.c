/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Rules of selection on whole nodes in virtual time. Seed 004: "Client sets A and B
 * are all configured on the same LNet network [...]. The servers are on a different
 * LNet network [...] it is more efficient to route traffic from Client set A over
 * Router set A and Client set B over Router set B."
 */
#include <stdlib.h>

#include "lnet/node.h"
#include "m0/lnet_route.h"
#include "m0/lnet_udsp.h"

enum {
	BITS = 7,
	KIB = 1 << 10,
	PUTS_NR = 8,
	/** Nodes: a client of each set, a server, two routers of each set. */
	CLIENT_A = 0,
	CLIENT_B,
	SERVER,
	ROUTER_A1,
	ROUTER_A2,
	ROUTER_B1,
	ROUTER_B2,
	NODES_NR
};

static struct m0_sim      sim;
static struct node        nodes[NODES_NR];
static unsigned           nodes_nr;
static struct node_window window;
static char               why[M0_LNET_WHY_BYTES];

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_piece_bytes_max = 9000,
};

/** Configuration of the node that is added next. */
static const char *routes;
static bool        is_router;

static void tune(struct m0_lnet_cfg *cfg)
{
	assert_int_equal(m0_lnet_cfg_routes(cfg, routes, why), 0);
	cfg->lc_routing.lgc_on = is_router;
	cfg->lc_routing.lgc_check_ms = 10000;
	cfg->lc_routing.lgc_ping_ms = 5000;
}

static void node_add(const char *name, const char *nets, const char *addrs,
		     uint16_t num, bool router, const char *text)
{
	const uint16_t nums[] = { num, 1 };

	routes = text;
	is_router = router;
	node_init_nids(&nodes[nodes_nr++], &sim, name, nets, addrs, nums, tune);
}

static void up(void)
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	nodes_nr = 0;
}

static void down(void)
{
	unsigned i;

	for (i = 0; i < nodes_nr; ++i)
		node_fini(&nodes[i]);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

static void sets_up(void)
{
	static const char to_server[] = "tcp1 10.0.0.[11-12,21-22]@tcp";

	up();
	node_add("a", "tcp(10.0.0.1)", "10.0.0.1", 0, false, to_server);
	node_add("b", "tcp(10.0.0.2)", "10.0.0.2", 0, false, to_server);
	node_add("s", "tcp1(10.1.0.1)", "10.1.0.1", 1, false,
		 "tcp 10.1.0.[11-12,21-22]@tcp1");
	node_add("a1", "tcp(10.0.0.11),tcp1(10.1.0.11)", "10.0.0.11 10.1.0.11",
		 0, true, "");
	node_add("a2", "tcp(10.0.0.12),tcp1(10.1.0.12)", "10.0.0.12 10.1.0.12",
		 0, true, "");
	node_add("b1", "tcp(10.0.0.21),tcp1(10.1.0.21)", "10.0.0.21 10.1.0.21",
		 0, true, "");
	node_add("b2", "tcp(10.0.0.22),tcp1(10.1.0.22)", "10.0.0.22 10.1.0.22",
		 0, true, "");
	m0_sim_run_ms(&sim, 12000);
	node_window_init(&window, &nodes[SERVER], BITS, 64 * KIB, -1);
}

static void sets_down(void)
{
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	down();
}

/** Adds a rule to a node; NULLs: not given. */
static int rule_try(unsigned i, const char *src, const char *dst,
		    const char *rte, const char *priority, const char *idx)
{
	const struct m0_lnet_udsp_text text = { src, dst, rte, priority, idx };
	struct m0_lnet_udsp            udsp;
	int rc = m0_lnet_udsp_parse(&udsp, &text, why);

	return rc == 0 ? m0_lnet_udsp_add(nodes[i].n_lnet, &udsp, why) : rc;
}

static void rule(unsigned i, const char *dst, const char *rte, const char *idx)
{
	assert_int_equal(rule_try(i, NULL, dst, rte, NULL, idx), 0);
}

static uint64_t forwarded(unsigned i)
{
	struct m0_lnet_routing_info info;

	assert_int_equal(m0_lnet_routing_get(nodes[i].n_lnet, &info), 0);
	return info.lgi_forwarded_nr;
}

static void put(unsigned client)
{
	struct node_op op;

	node_put(&op, &nodes[client], &nodes[SERVER].n_nid, BITS, 0, KIB, 1,
		 true);
	node_op_wait(&op, 160000);
	assert_int_equal(node_op_result(&op), 0);
	node_op_fini(&op);
}

/** A client sends to the server. @return how many of the messages went by the two
 * routers that begin with this one. */
static unsigned by_set(unsigned client, unsigned router)
{
	struct m0_lnet_route_info before[4];
	struct m0_lnet_route_info after[4];
	unsigned                  at = router - ROUTER_A1;
	unsigned                  i;

	/* The discovery of the server is over when the first one is. */
	put(client);
	assert_int_equal(m0_lnet_route_get(nodes[client].n_lnet, before, 4), 4);
	for (i = 0; i < PUTS_NR; ++i)
		put(client);
	assert_int_equal(m0_lnet_route_get(nodes[client].n_lnet, after, 4), 4);
	return (unsigned)(after[at].lri_sent_nr - before[at].lri_sent_nr +
			  after[at + 1].lri_sent_nr -
			  before[at + 1].lri_sent_nr);
}

static void router_die(unsigned i)
{
	node_die(&nodes[i]);
	m0_sim_run_ms(&sim, 20000);
}

static void router_return(unsigned i)
{
	m0_sim_host_cut(nodes[i].n_host, false);
	node_open(&nodes[i]);
	m0_sim_run_ms(&sim, 75000);
}

static void each_set_of_clients_prefers_its_routers(void **state)
{
	(void)state;
	sets_up();
	assert_int_equal(by_set(CLIENT_A, ROUTER_A1), PUTS_NR / 2);
	rule(CLIENT_A, "10.1.0.*@tcp1", "10.0.0.[11-12]@tcp", NULL);
	rule(CLIENT_B, "10.1.0.*@tcp1", "10.0.0.[21-22]@tcp", NULL);
	assert_int_equal(by_set(CLIENT_A, ROUTER_A1), PUTS_NR);
	assert_int_equal(by_set(CLIENT_B, ROUTER_B1), PUTS_NR);
	assert_true(forwarded(ROUTER_A1) > 0 && forwarded(ROUTER_A2) > 0);
	/* One router of the set is enough. */
	router_die(ROUTER_A1);
	assert_int_equal(by_set(CLIENT_A, ROUTER_A1), PUTS_NR);
	/* Without any, the other set is better than none. */
	router_die(ROUTER_A2);
	assert_int_equal(by_set(CLIENT_A, ROUTER_B1), PUTS_NR);
	assert_int_equal(by_set(CLIENT_B, ROUTER_B1), PUTS_NR);
	router_return(ROUTER_A2);
	assert_int_equal(by_set(CLIENT_A, ROUTER_A1), PUTS_NR);
	router_return(ROUTER_A1);
	assert_int_equal(by_set(CLIENT_A, ROUTER_A1), PUTS_NR);
	assert_int_equal(m0_lnet_udsp_del(nodes[CLIENT_A].n_lnet, 0), 1);
	assert_int_equal(by_set(CLIENT_A, ROUTER_A1), PUTS_NR / 2);
	sets_down();
}

/* A rule that is there before its route, and before the peer. */
static void rule_waits_for_what_it_names(void **state)
{
	struct m0_lnet_route_attr attr = {};

	(void)state;
	sets_up();
	rule(CLIENT_A, "tcp1", "10.0.0.12@tcp", NULL);
	assert_int_equal(by_set(CLIENT_A, ROUTER_A1), PUTS_NR);
	assert_int_equal(m0_lnet_nid_parse(&attr.lra_gateway, "10.0.0.12@tcp"),
			 0);
	assert_int_equal(m0_lnet_net_parse(&attr.lra_net, "tcp1"), 0);
	assert_int_equal(m0_lnet_route_del(nodes[CLIENT_A].n_lnet, attr.lra_net,
					   &attr.lra_gateway),
			 1);
	m0_sim_run_ms(&sim, 100);
	assert_int_equal(m0_lnet_route_add(nodes[CLIENT_A].n_lnet, &attr, why),
			 0);
	m0_sim_run_ms(&sim, 1000);
	/* The route is the last of four now. */
	assert_int_equal(by_set(CLIENT_A, ROUTER_B1), PUTS_NR);
	sets_down();
}

/* -- the list, by the public functions ------------------------------------- */

static void one_up(void)
{
	up();
	node_add("a", "tcp(10.0.0.1)", "10.0.0.1", 0, false, "");
	m0_sim_run_ms(&sim, 100);
}

static void rule_that_is_refused_says_why(void **state)
{
	struct m0_lnet_udsp udsp = { .lud_idx = -2 };

	(void)state;
	one_up();
	assert_int_equal(rule_try(0, "tcp", NULL, NULL, "1", NULL), 0);
	assert_int_equal(rule_try(0, "tcp", NULL, NULL, "1", NULL), -EALREADY);
	assert_non_null(strstr(why, "there is a rule with these ranges"));
	assert_int_equal(rule_try(0, NULL, NULL, "1.1.1.1@tcp", NULL, NULL),
			 -EINVAL);
	assert_non_null(strstr(why, "rte is given without dst"));
	assert_int_equal(m0_lnet_udsp_add(nodes[0].n_lnet, &udsp, why),
			 -EINVAL);
	assert_non_null(strstr(why, "idx is -2"));
	assert_int_equal(m0_lnet_udsp_del(nodes[0].n_lnet, 1), -ENOENT);
	assert_int_equal(m0_lnet_udsp_get(nodes[0].n_lnet, 0, NULL, 0), 1);
	down();
}

static void long_list_is_read_in_parts(void **state)
{
	enum {
		NR = 300
	};
	struct m0_lnet_udsp *rules = calloc(NR + 1, sizeof *rules);
	char                 text[64];
	unsigned             i;

	(void)state;
	one_up();
	assert_int_equal(m0_lnet_udsp_get(nodes[0].n_lnet, 0, rules, NR), 0);
	for (i = 0; i < NR; ++i) {
		(void)snprintf(text, sizeof text, "10.1.%u.%u@tcp", i / 200,
			       i % 200);
		assert_int_equal(rule_try(0, NULL, text, NULL, "1", NULL), 0);
	}
	assert_int_equal(m0_lnet_udsp_get(nodes[0].n_lnet, 0, rules, NR + 1),
			 NR);
	for (i = 0; i < NR; ++i) {
		assert_int_equal(rules[i].lud_idx, i);
		(void)snprintf(text, sizeof text, "10.1.%u.%u@tcp", i / 200,
			       i % 200);
		assert_string_equal(m0_lnet_nid_range_print(&rules[i].lud_dst,
							    why, sizeof why),
				    text);
	}
	assert_int_equal(m0_lnet_udsp_get(nodes[0].n_lnet, NR - 1, rules, 5),
			 NR);
	assert_int_equal(rules[0].lud_idx, NR - 1);
	assert_int_equal(m0_lnet_udsp_get(nodes[0].n_lnet, NR, rules, 5), NR);
	assert_int_equal(m0_lnet_udsp_del(nodes[0].n_lnet, M0_LNET_UDSP_LAST),
			 NR);
	free(rules);
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_set_of_clients_prefers_its_routers),
		cmocka_unit_test(rule_waits_for_what_it_names),
		cmocka_unit_test(rule_that_is_refused_says_why),
		cmocka_unit_test(long_list_is_read_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
