/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Whole nodes with routers between them, in virtual time: bytes of every size pass, a
 * router dies under load and returns, a router that is switched off loses nothing,
 * routers in a line with both directions full never stop.
 */
#include <stdlib.h>

#include "lnet/node.h"
#include "m0/lnet_fault.h"
#include "m0/lnet_route.h"

enum {
	BITS = 7,
	MIB = 1 << 20,
	OPS_NR = 64
};

static struct m0_sim  sim;
static struct node    nodes[4];
static unsigned       nodes_nr;
static struct node_op ops[2 * OPS_NR];

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_jitter_ns = 10 * 1000,
	.ssc_piece_bytes_max = 9000,
};

/** Configuration of the node that is added next. */
static const char *routes;
static bool        is_router;
static unsigned    buffers;
static unsigned    credits;
static bool        check_first;
static bool        is_inline;
static bool        is_quick;
static bool        cuts;

static void tune(struct m0_lnet_cfg *cfg)
{
	char why[M0_LNET_WHY_BYTES] = "";

	assert_int_equal(m0_lnet_cfg_routes(cfg, routes, why), 0);
	cfg->lc_routing.lgc_on = is_router;
	cfg->lc_routing.lgc_cut_through = cuts;
	cfg->lc_routing.lgc_check_ms = 10000;
	cfg->lc_routing.lgc_ping_ms = 5000;
	cfg->lc_routing.lgc_check_first = check_first;
	cfg->lc_inline = is_inline;
	if (is_quick) {
		cfg->lc_discovery = false;
		cfg->lc_timeout_ms = 2000;
	}
	if (credits != 0 && is_router)
		cfg->lc_peer_credits = credits;
	if (buffers != 0) {
		cfg->lc_routing.lgc_buffers[1] = buffers;
		cfg->lc_routing.lgc_buffers[2] = buffers;
	}
}

static void node_add(const char *name, const char *nets, const char *addrs,
		     uint16_t num, uint16_t num2, bool router, const char *text)
{
	const uint16_t nums[] = { num, num2 };

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
	buffers = 0;
	credits = 0;
	check_first = false;
	is_inline = false;
	is_quick = false;
	cuts = false;
}

static void down(void)
{
	unsigned i;

	for (i = 0; i < nodes_nr; ++i)
		node_fini(&nodes[i]);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/** Nodes 0 and 1 are the ends, on tcp and tcp1; 2 and 3 routers between them. */
static void diamond_up(bool cut)
{
	up();
	cuts = cut;
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp1 10.0.0.2@tcp:0 10.0.0.3@tcp:1");
	node_add("s", "tcp1(10.1.0.1)", "10.1.0.1", 1, 0, false,
		 "tcp 10.1.0.[2-3]@tcp1");
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "");
	node_add("q", "tcp(10.0.0.3),tcp1(10.1.0.3)", "10.0.0.3 10.1.0.3", 0, 1,
		 true, "");
	m0_sim_run_ms(&sim, 12000);
}

static struct m0_lnet_routing_info routing_of(const struct node *node)
{
	struct m0_lnet_routing_info info;

	assert_int_equal(m0_lnet_routing_get(node->n_lnet, &info), 0);
	return info;
}

static uint64_t forwarded(const struct node *node)
{
	return routing_of(node).lgi_forwarded_nr;
}

static void no_buffer_is_in_use(const struct node *node)
{
	struct m0_lnet_routing_info info;
	unsigned                    i;

	assert_int_equal(m0_lnet_routing_get(node->n_lnet, &info), 0);
	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		assert_int_equal(info.lgi_pools[i].lbi_used_nr, 0);
}

static void sizes_pass(bool cut)
{
	static const size_t sizes[] = { 0, 1, 4096, 4097, 100000, MIB };
	struct node_window  window;
	unsigned            i;

	diamond_up(cut);
	node_window_init(&window, &nodes[1], BITS, MIB, -1);
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		node_put(&ops[0], &nodes[0], &nodes[1].n_nid, BITS, 0, sizes[i],
			 (uint8_t)i, true);
		node_op_wait(&ops[0], 10000);
		assert_int_equal(node_op_result(&ops[0]), 0);
		assert_true(
			node_bytes_are(window.nw_bytes, sizes[i], (uint8_t)i));
		node_op_fini(&ops[0]);
		node_get(&ops[0], &nodes[0], &nodes[1].n_nid, BITS, 0,
			 sizes[i]);
		node_op_wait(&ops[0], 10000);
		assert_int_equal(node_op_result(&ops[0]), 0);
		node_op_fini(&ops[0]);
	}
	assert_int_equal(
		m0_lnet_dist(nodes[0].n_lnet, &nodes[1].n_nid, NULL, NULL), 2);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	no_buffer_is_in_use(&nodes[2]);
	assert_true((routing_of(&nodes[2]).lgi_cuts_nr > 0) == cut);
	assert_int_equal(routing_of(&nodes[2]).lgi_cuts_broken_nr, 0);
	down();
}

static void every_size_passes(void **state)
{
	(void)state;
	sizes_pass(false);
}

static void every_size_passes_with_cut_through(void **state)
{
	(void)state;
	sizes_pass(true);
}

/* -- messages that break within -------------------------------------------- */

/** A client, a server and a router with cut-through between them; and a client in
 * reserve. The window of the server has had one message. */
static void line_up(struct node_window *window)
{
	struct m0_sim_stream_cfg slow = wire;

	up();
	slow.ssc_rate_bytes = 50 * MIB;
	m0_sim_net_cfg_set(&slow);
	cuts = true;
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp1 10.0.0.2@tcp");
	node_add("s", "tcp1(10.1.0.1)", "10.1.0.1", 1, 0, false,
		 "tcp 10.1.0.2@tcp1");
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "");
	node_add("d", "tcp(10.0.0.3)", "10.0.0.3", 0, 0, false,
		 "tcp1 10.0.0.2@tcp");
	m0_sim_run_ms(&sim, 12000);
	node_window_init(window, &nodes[1], BITS, MIB, -1);
	node_put(&ops[0], &nodes[0], &nodes[1].n_nid, BITS, 0, 5000, 1, true);
	node_op_wait(&ops[0], 10000);
	assert_int_equal(node_op_result(&ops[0]), 0);
	node_op_fini(&ops[0]);
}

/** Sends 1 MiB, until the router has begun to send it on. */
static void put_half(void)
{
	uint64_t before = routing_of(&nodes[2]).lgi_cuts_nr;

	node_put(&ops[0], &nodes[0], &nodes[1].n_nid, BITS, 0, MIB, 2, true);
	while (routing_of(&nodes[2]).lgi_cuts_nr == before) {
		assert_false(node_op_is_over(&ops[0]));
		assert_true(m0_sim_step(&sim));
	}
}

/** The other client's message arrives. */
static void other_put(const struct node_window *window)
{
	node_put(&ops[1], &nodes[3], &nodes[1].n_nid, BITS, 0, MIB, 3, true);
	node_op_wait(&ops[1], 10000);
	assert_int_equal(node_op_result(&ops[1]), 0);
	assert_true(node_bytes_are(window->nw_bytes, MIB, 3));
	node_op_fini(&ops[1]);
}

static void sender_dies_within_a_message(void **state)
{
	struct node_window window;

	(void)state;
	line_up(&window);
	put_half();
	node_die(&nodes[0]);
	m0_sim_run_ms(&sim, 6000);
	assert_int_equal(routing_of(&nodes[2]).lgi_cuts_broken_nr, 1);
	no_buffer_is_in_use(&nodes[2]);
	/* The server was told, and has its other connections. */
	assert_int_equal(window.nw_failed_nr, 1);
	other_put(&window);
	m0_sim_host_cut(nodes[0].n_host, false);
	node_open(&nodes[0]);
	node_op_fini(&ops[0]);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	down();
}

static void next_hop_dies_within_a_message(void **state)
{
	struct node_window window;

	(void)state;
	line_up(&window);
	put_half();
	node_die(&nodes[1]);
	m0_sim_run_ms(&sim, 120000);
	no_buffer_is_in_use(&nodes[2]);
	assert_int_equal(routing_of(&nodes[2]).lgi_cuts_broken_nr, 0);
	m0_sim_run_ms(&sim, 160000);
	assert_true(node_op_result(&ops[0]) < 0);
	node_op_fini(&ops[0]);
	m0_sim_host_cut(nodes[1].n_host, false);
	node_open(&nodes[1]);
	node_window_fini(&window);
	down();
}

/* -- routers that go ------------------------------------------------------- */

/** @return how many of the puts were acknowledged. */
static unsigned puts_run(unsigned nr)
{
	unsigned done = 0;
	unsigned i;

	for (i = 0; i < nr; ++i)
		node_put(&ops[i], &nodes[0], &nodes[1].n_nid, BITS, 0, 5000, 1,
			 true);
	for (i = 0; i < nr; ++i) {
		node_op_wait(&ops[i], 160000);
		done += node_op_result(&ops[i]) == 0;
		node_op_fini(&ops[i]);
	}
	return done;
}

static void router_dies_and_returns(void **state)
{
	struct node_window window;
	uint64_t           by_second;

	(void)state;
	diamond_up(false);
	node_window_init(&window, &nodes[1], BITS, MIB, -1);
	assert_int_equal(puts_run(OPS_NR), OPS_NR);
	assert_true(forwarded(&nodes[2]) >= OPS_NR);
	node_die(&nodes[2]);
	/* At the latest a check and its time-out later the route is down. */
	m0_sim_run_ms(&sim, 20000);
	by_second = forwarded(&nodes[3]);
	assert_int_equal(puts_run(OPS_NR), OPS_NR);
	assert_true(forwarded(&nodes[3]) >= by_second + OPS_NR);
	m0_sim_host_cut(nodes[2].n_host, false);
	node_open(&nodes[2]);
	m0_sim_run_ms(&sim, 75000);
	assert_int_equal(puts_run(OPS_NR), OPS_NR);
	assert_true(forwarded(&nodes[2]) >= OPS_NR);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	down();
}

static void router_switched_off_loses_nothing(void **state)
{
	struct node_window          window;
	struct m0_lnet_routing_info info;
	unsigned                    i;

	(void)state;
	diamond_up(false);
	node_window_init(&window, &nodes[1], BITS, MIB, -1);
	for (i = 0; i < OPS_NR; ++i)
		node_put(&ops[i], &nodes[0], &nodes[1].n_nid, BITS, 0, MIB / 4,
			 1, true);
	assert_int_equal(m0_lnet_routing_set(nodes[2].n_lnet, false), 0);
	for (i = 0; i < OPS_NR; ++i) {
		node_op_wait(&ops[i], 160000);
		assert_int_equal(node_op_result(&ops[i]), 0);
		node_op_fini(&ops[i]);
	}
	m0_sim_run_ms(&sim, 12000);
	assert_int_equal(m0_lnet_routing_get(nodes[2].n_lnet, &info), 0);
	assert_int_equal(info.lgi_state, M0_LNET_ROUTING_OFF);
	assert_int_equal(info.lgi_bytes, 0);
	assert_int_equal(puts_run(8), 8);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	down();
}

/* With one router buffer for the client, each message waits for the one before it,
 * and comes as soon as that has left, whenever the node looks again. */
static void message_that_waits_comes_once_a_buffer_is_free(void **state)
{
	struct node_window window;
	uint64_t           before;
	unsigned           i;

	(void)state;
	up();
	credits = 1;
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp1 10.0.0.2@tcp");
	node_add("s", "tcp1(10.1.0.1)", "10.1.0.1", 1, 0, false,
		 "tcp 10.1.0.2@tcp1");
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "");
	m0_sim_run_ms(&sim, 12000);
	node_window_init(&window, &nodes[1], BITS, MIB, -1);
	before = forwarded(&nodes[2]);
	/* No answer comes by the router, which would wake it. */
	for (i = 0; i < OPS_NR; ++i)
		node_put(&ops[i], &nodes[0], &nodes[1].n_nid, BITS, 0, 8, 1,
			 false);
	m0_sim_run_ms(&sim, 200);
	assert_true(forwarded(&nodes[2]) - before >= OPS_NR);
	for (i = 0; i < OPS_NR; ++i) {
		assert_int_equal(node_op_result(&ops[i]), 0);
		node_op_fini(&ops[i]);
	}
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	no_buffer_is_in_use(&nodes[2]);
	down();
}

/* -- both directions ------------------------------------------------------- */

/* Two routers in a line with two large buffers each, of which either direction may
 * have one: both ends send as much as they may, and every message arrives. */
static void both_directions_full_never_stop(void **state)
{
	struct node_window windows[2];
	m0_time_t          begin;
	unsigned           i;

	(void)state;
	up();
	buffers = 2;
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp2 2 10.0.0.2@tcp");
	node_add("s", "tcp2(10.2.0.1)", "10.2.0.1", 2, 0, false,
		 "tcp 2 10.2.0.3@tcp2");
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "tcp2 10.1.0.3@tcp1");
	node_add("q", "tcp1(10.1.0.3),tcp2(10.2.0.3)", "10.1.0.3 10.2.0.3", 1,
		 2, true, "tcp 10.1.0.2@tcp1");
	m0_sim_run_ms(&sim, 12000);
	for (i = 0; i < 2; ++i)
		node_window_init(&windows[i], &nodes[i], BITS, MIB, -1);
	begin = m0_time_now();
	for (i = 0; i < 2 * OPS_NR; ++i)
		node_put(&ops[i], &nodes[i % 2], &nodes[1 - i % 2].n_nid, BITS,
			 0, MIB / 8, 1, true);
	for (i = 0; i < 2 * OPS_NR; ++i) {
		node_op_wait(&ops[i], 160000);
		assert_int_equal(node_op_result(&ops[i]), 0);
		node_op_fini(&ops[i]);
	}
	/* No message had to wait for a time-out. */
	assert_true(m0_time_sub(m0_time_now(), begin) <
		    10 * M0_TIME_ONE_SECOND);
	for (i = 0; i < 2; ++i)
		node_window_unlink(&windows[i]);
	m0_sim_run_ms(&sim, 1000);
	for (i = 0; i < 2; ++i) {
		node_window_fini(&windows[i]);
		no_buffer_is_in_use(&nodes[2 + i]);
	}
	down();
}

/* -- errors ---------------------------------------------------------------- */

static void route_that_is_refused_says_why(void **state)
{
	struct m0_lnet_route_attr attr = { .lra_net = m0_lnet_net(
						   M0_LNET_TYPE_TCP, 5) };
	struct m0_lnet_route_info infos[4];
	char                      why[M0_LNET_WHY_BYTES] = "";

	(void)state;
	diamond_up(false);
	assert_int_equal(m0_lnet_nid_parse(&attr.lra_gateway, "10.9.0.1@tcp9"),
			 0);
	assert_int_equal(m0_lnet_route_add(nodes[0].n_lnet, &attr, why),
			 -EHOSTUNREACH);
	assert_non_null(strstr(why, "tcp5 by 10.9.0.1@tcp9"));
	assert_non_null(strstr(why, "on no network of this node"));
	assert_int_equal(m0_lnet_route_get(nodes[0].n_lnet, infos, 4), 2);
	assert_int_equal(infos[0].lri_why, M0_LNET_ROUTE_UP);
	assert_int_equal(infos[1].lri_attr.lra_priority, 1);
	assert_int_equal(
		m0_lnet_route_del(nodes[0].n_lnet, M0_LNET_NET_ANY, NULL), 2);
	assert_int_equal(m0_lnet_route_get(nodes[0].n_lnet, infos, 4), 0);
	assert_int_equal(m0_lnet_dist(nodes[0].n_lnet, &nodes[1].n_nid, NULL,
				      NULL),
			 -EHOSTUNREACH);
	down();
}

/* Each node takes what concerns it, and the gateway becomes a router by it. */
static void routes_of_all_nodes_may_be_one_text(void **state)
{
	static const char         text[] = "tcp1 10.0.0.2@tcp; "
					   "tcp 10.1.0.2@tcp1; "
					   "tcp7 10.5.0.1@tcp5";
	struct m0_lnet_route_info infos[4];
	struct node_window        window;

	(void)state;
	up();
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false, text);
	node_add("s", "tcp1(10.1.0.1)", "10.1.0.1", 1, 0, false, text);
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 false, text);
	m0_sim_run_ms(&sim, 12000);
	assert_int_equal(m0_lnet_route_get(nodes[0].n_lnet, infos, 4), 1);
	assert_int_equal(m0_lnet_route_get(nodes[1].n_lnet, infos, 4), 1);
	assert_int_equal(m0_lnet_route_get(nodes[2].n_lnet, infos, 4), 0);
	node_window_init(&window, &nodes[1], BITS, MIB, -1);
	node_put(&ops[0], &nodes[0], &nodes[1].n_nid, BITS, 0, 5000, 1, true);
	node_op_wait(&ops[0], 10000);
	assert_int_equal(node_op_result(&ops[0]), 0);
	node_op_fini(&ops[0]);
	assert_true(forwarded(&nodes[2]) > 0);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	down();
}

/* Nothing was written to a router that does not accept the connection, so the
 * other one gets the message. */
static void message_whose_connection_is_not_made_takes_the_other_route(
	void **state)
{
	struct node_window window;

	(void)state;
	up();
	is_quick = true;
	node_add("s", "tcp1(10.1.0.1)", "10.1.0.1", 1, 0, false,
		 "tcp 10.1.0.[2-3]@tcp1");
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "");
	node_add("q", "tcp(10.0.0.3),tcp1(10.1.0.3)", "10.0.0.3 10.1.0.3", 0, 1,
		 true, "");
	node_window_init(&window, &nodes[0], BITS, MIB, -1);
	m0_sim_run_ms(&sim, 1000);
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp1 10.0.0.2@tcp:0 10.0.0.3@tcp:1");
	m0_sim_host_cut(nodes[1].n_host, true);
	node_put(&ops[0], &nodes[3], &nodes[0].n_nid, BITS, 0, 100, 1, true);
	node_op_wait(&ops[0], 20000);
	assert_int_equal(node_op_result(&ops[0]), 0);
	node_op_fini(&ops[0]);
	assert_int_equal(node_stats(&nodes[3]).ls_successful_resends, 1);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	down();
}

/* -- links ----------------------------------------------------------------- */

static struct m0_lnet_ni_info ni_info(const struct node *node, unsigned i)
{
	struct m0_lnet_info   *info;
	struct m0_lnet_ni_info ret;

	assert_int_equal(m0_lnet_info_get(node->n_lnet, &info), 0);
	assert_true(i < info->li_nis_nr);
	ret = info->li_nis[i];
	m0_lnet_info_free(info);
	return ret;
}

/* The interface of a router behind which the remote network is loses its link. */
static void link_that_goes_down_is_reported(void **state)
{
	struct m0_lnet_route_info infos[2];

	(void)state;
	diamond_up(false);
	assert_true(ni_info(&nodes[2], 2).nii_up);
	m0_sim_link_up("10.1.0.2", false);
	m0_sim_run_ms(&sim, 100);
	assert_false(ni_info(&nodes[2], 2).nii_link_up);
	assert_false(ni_info(&nodes[2], 2).nii_up);
	assert_true(ni_info(&nodes[2], 1).nii_up);
	assert_int_equal(m0_lnet_route_get(nodes[0].n_lnet, infos, 2), 2);
	assert_int_equal(infos[0].lri_why, M0_LNET_ROUTE_FAR_DOWN);
	assert_int_equal(infos[1].lri_why, M0_LNET_ROUTE_UP);
	m0_sim_link_up("10.1.0.2", true);
	m0_sim_run_ms(&sim, 100);
	assert_true(ni_info(&nodes[2], 2).nii_up);
	assert_int_equal(m0_lnet_route_get(nodes[0].n_lnet, infos, 2), 2);
	assert_int_equal(infos[0].lri_why, M0_LNET_ROUTE_UP);
	down();
}

/* -- check_routers_before_use ---------------------------------------------- */

static struct m0_lnet_route_info first_route(void)
{
	struct m0_lnet_route_info info;

	assert_int_equal(
		m0_lnet_route_get(nodes[nodes_nr - 1].n_lnet, &info, 1), 1);
	return info;
}

static void start_waits_for_the_check_of_each_gateway(void **state)
{
	struct m0_lnet_route_info infos[2];
	m0_time_t                 since;

	(void)state;
	up();
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "");
	check_first = true;
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp1 10.0.0.2@tcp");
	assert_int_equal(first_route().lri_why, M0_LNET_ROUTE_UP);
	/* One whose gateway is dead goes on without it. */
	since = m0_sim_now(&sim);
	node_add("d", "tcp(10.0.0.4)", "10.0.0.4", 0, 0, false,
		 "tcp1 10.0.0.[2-3]@tcp");
	assert_in_range(m0_sim_now(&sim) - since, 0, 5100 * M0_TIME_ONE_MSEC);
	assert_int_equal(m0_lnet_route_get(nodes[2].n_lnet, infos, 2), 2);
	assert_int_equal(infos[0].lri_why, M0_LNET_ROUTE_UP);
	assert_true(M0_IN(infos[1].lri_why,
			  (M0_LNET_ROUTE_SILENT, M0_LNET_ROUTE_LOST)));
	down();
}

static void start_does_not_wait_for_ever(void **state)
{
	struct m0_lnet_fault_attr deaf;
	m0_time_t                 since;

	(void)state;
	up();
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "");
	m0_lnet_fault_attr_init(&deaf, M0_LNET_FAULT_DROP);
	deaf.lfa_rate = 1;
	assert_int_equal(m0_lnet_fault_add(nodes[0].n_lnet, &deaf, NULL), 0);
	check_first = true;
	since = m0_sim_now(&sim);
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp1 10.0.0.2@tcp");
	assert_in_range(m0_sim_now(&sim) - since, 4900 * M0_TIME_ONE_MSEC,
			5100 * M0_TIME_ONE_MSEC);
	assert_int_not_equal(first_route().lri_why, M0_LNET_ROUTE_UP);
	down();
}

/* Its caller makes the progress, so to wait would be to wait for itself. */
static void start_of_an_inline_node_does_not_wait(void **state)
{
	struct m0_lnet *lnet;
	m0_time_t       since;

	(void)state;
	up();
	node_add("r", "tcp(10.0.0.2),tcp1(10.1.0.2)", "10.0.0.2 10.1.0.2", 0, 1,
		 true, "");
	check_first = true;
	is_inline = true;
	since = m0_sim_now(&sim);
	node_add("c", "tcp(10.0.0.1)", "10.0.0.1", 0, 0, false,
		 "tcp1 10.0.0.2@tcp");
	lnet = nodes[1].n_lnet;
	assert_int_equal(m0_sim_now(&sim), since);
	assert_int_equal(first_route().lri_why, M0_LNET_ROUTE_UNCHECKED);
	while (m0_lnet_routes_unchecked(lnet) > 0) {
		(void)m0_lnet_progress(lnet);
		m0_sim_run_ms(&sim, 1);
		assert_true(m0_sim_now(&sim) - since < M0_TIME_ONE_SECOND);
	}
	assert_int_equal(first_route().lri_why, M0_LNET_ROUTE_UP);
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_passes),
		cmocka_unit_test(every_size_passes_with_cut_through),
		cmocka_unit_test(sender_dies_within_a_message),
		cmocka_unit_test(next_hop_dies_within_a_message),
		cmocka_unit_test(router_dies_and_returns),
		cmocka_unit_test(router_switched_off_loses_nothing),
		cmocka_unit_test(
			message_that_waits_comes_once_a_buffer_is_free),
		cmocka_unit_test(both_directions_full_never_stop),
		cmocka_unit_test(route_that_is_refused_says_why),
		cmocka_unit_test(routes_of_all_nodes_may_be_one_text),
		cmocka_unit_test(
			message_whose_connection_is_not_made_takes_the_other_route),
		cmocka_unit_test(link_that_goes_down_is_reported),
		cmocka_unit_test(start_waits_for_the_check_of_each_gateway),
		cmocka_unit_test(start_does_not_wait_for_ever),
		cmocka_unit_test(start_of_an_inline_node_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
