/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The world of a seed: its nodes, its faults, its end. See swarm.h. */
#include "swarm.h"

enum {
	SEEDS_NR = 600,
	STEPS_MAX = 1000,
	PUMP_NS = 500 * 1000
};

struct sw_world sw;
struct sw_sums  sw_sums;

static const char *const fault_names[SW_FAULTS_NR] = {
	"cut",       "one-way",      "reset",          "slow-reader",
	"half-open", "crash",        "kill",           "jitter",
	"late",      "skew",         "stop",           "unreachable",
	"rule-drop", "rule-delay",   "rule-duplicate", "rule-cut",
	"partition", "rule-corrupt", "rule-rail",
};

uint64_t sw_rand(uint64_t bound)
{
	return m0_sim_rand(sw.w_sim, bound);
}

bool sw_one_in(unsigned nr)
{
	return sw_rand(nr) == 0;
}

struct sw_node *sw_any(void)
{
	return &sw.w_node[sw_rand(sw.w_nodes_nr)];
}

struct sw_node *sw_any_up(void)
{
	unsigned first = (unsigned)sw_rand(sw.w_nodes_nr);
	unsigned i;

	for (i = 0; i < sw.w_nodes_nr; ++i) {
		struct sw_node *node = &sw.w_node[(first + i) % sw.w_nodes_nr];

		if (node->n_up)
			return node;
	}
	return NULL;
}

/* -- waits --------------------------------------------------------------------- */

void sw_pump(void)
{
	unsigned i;

	for (i = 0; i < sw.w_nodes_nr; ++i) {
		struct sw_node *node = &sw.w_node[i];

		if (node->n_sync && !node->n_stopped && node->n_lnet != NULL &&
		    m0_net_buffer_event_pending(&node->n_tm))
			m0_net_buffer_event_deliver_all(&node->n_tm);
	}
}

struct until {
	bool (*u_cond)(void *arg);
	void *u_arg;
};

static bool until(void *arg)
{
	const struct until *u = arg;

	return u->u_cond(u->u_arg);
}

bool sw_wait_ms(bool (*cond)(void *arg), void *arg, uint64_t ms)
{
	m0_time_t    end = m0_sim_now(sw.w_sim) + ms * M0_TIME_ONE_MSEC;
	struct until u = { cond, arg };
	m0_time_t    now;
	bool         polls = false;
	unsigned     i;

	for (i = 0; i < sw.w_nodes_nr; ++i)
		polls = polls || sw.w_node[i].n_sync;
	for (;;) {
		sw_pump();
		if (cond(arg))
			return true;
		now = m0_sim_now(sw.w_sim);
		if (now >= end)
			return false;
		(void)m0_sim_run_until(sw.w_sim, until, &u,
				       polls ? min64u(PUMP_NS, end - now)
					     : end - now);
	}
}

void sw_must_ms(bool (*cond)(void *arg), void *arg, uint64_t ms,
		const char *what)
{
	SW_TRUE(sw_wait_ms(cond, arg, ms), "did not happen in %lu ms: %s",
		(unsigned long)ms, what);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void sw_run_ms(uint64_t ms)
{
	(void)sw_wait_ms(never, NULL, ms);
}

/* -- nodes --------------------------------------------------------------------- */

static void rule_add(struct sw_node *node, enum m0_lnet_fault_kind kind,
		     uint64_t rate)
{
	struct m0_lnet_fault_attr attr;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_fault_attr_init(&attr, kind);
	attr.lfa_rate = rate;
	attr.lfa_seed = 1 + sw_rand(1000);
	if (kind == M0_LNET_FAULT_DELAY) {
		attr.lfa_latency_ms = 1 + sw_rand(400);
		sw.w_delay_ns_max = 400 * M0_TIME_ONE_MSEC;
	}
	/* Packets have a sum, other data has none but ours. */
	if (kind == M0_LNET_FAULT_CORRUPT) {
		attr.lfa_msgs = M0_LNET_FAULT_PUT;
		attr.lfa_portals = 1ULL << SW_RPC_PORTAL;
	}
	SW_TRUE(m0_lnet_fault_add(node->n_lnet, &attr, why) == 0, "%s", why);
}

static void rules_add(struct sw_node *node)
{
	if (sw.w_is_healed || sw_one_in(3))
		return;
	if (sw.w_faults & SW_RULE_DROP)
		rule_add(node, M0_LNET_FAULT_DROP, 10 + sw_rand(100));
	if (sw.w_faults & SW_RULE_DELAY)
		rule_add(node, M0_LNET_FAULT_DELAY, 5 + sw_rand(100));
	if (sw.w_faults & SW_RULE_DUPLICATE)
		rule_add(node, M0_LNET_FAULT_DUPLICATE, 5 + sw_rand(100));
	if (sw.w_faults & SW_RULE_CUT)
		rule_add(node, M0_LNET_FAULT_CUT, 20 + sw_rand(200));
	if (sw.w_faults & SW_RULE_CORRUPT)
		rule_add(node, M0_LNET_FAULT_CORRUPT, 5 + sw_rand(100));
}

/* Its rule is told from the others by the network. */
static struct m0_lnet_nid rail_net(void)
{
	struct m0_lnet_nid nid;

	SW_TRUE(m0_lnet_nid_parse_any(&nid, "255.255.255.255@tcp1") == 0,
		"a network");
	return nid;
}

static void rail_dies(struct sw_node *node)
{
	struct m0_lnet_fault_attr attr;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_DROP);
	attr.lfa_src = rail_net();
	attr.lfa_all = true;
	SW_TRUE(m0_lnet_fault_add(node->n_lnet, &attr, why) == 0, "%s", why);
}

static void rail_lives(struct sw_node *node)
{
	struct m0_lnet_nid net = rail_net();

	if (node->n_up && sw.w_faults & SW_RULE_RAIL)
		(void)m0_lnet_fault_del(node->n_lnet, M0_LNET_FAULT_DROP, &net,
					NULL);
}

void sw_lnet_tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_transaction_timeout_ms = sw.w_timeout_ms;
	cfg->lc_timeout_ms = sw.w_timeout_ms;
	cfg->lc_accept_timeout_ms = sw.w_timeout_ms;
	cfg->lc_reconnect_min_ms = 50;
	cfg->lc_reconnect_max_ms = 500;
	cfg->lc_peer_credits = (unsigned)(1 + sw_rand(8));
	cfg->lc_conns_per_peer = (unsigned)(1 + sw_rand(2));
}

static void nets_set(const struct sw_node *node, struct m0_lnet_cfg *cfg)
{
	char why[M0_LNET_WHY_BYTES];
	char text[64];

	if (sw.w_routers_nr > 0) {
		m0_sim_host_lnet_cfg(node->n_host, cfg);
		sw_routing_tune(cfg);
		return;
	}
	(void)snprintf(text, sizeof text,
		       sw.w_gets_name   ? "o2ib(%s) get_req=1"
		       : sw.w_is_o2ib   ? "o2ib(%s)"
		       : sw.w_has_rails ? "tcp(%s),tcp1(%s)"
					: "tcp(%s)",
		       node->n_ip, node->n_rail_ip);
	SW_TRUE(m0_lnet_cfg_networks(cfg, text, why) == 0, "%s", why);
}

static void node_up(struct sw_node *node)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_sim_host_use(node->n_host);
	m0_lnet_cfg_default(&cfg);
	nets_set(node, &cfg);
	sw_lnet_tune(&cfg);
	cfg.lc_lanes = sw.w_lanes_nr;
	cfg.lc_discovery = !sw_one_in(4);
	cfg.lc_peers_colibri = sw.w_is_ip6 && sw_one_in(2);
	SW_TRUE(m0_lnet_open(&node->n_lnet, &cfg, why) == 0, "%s: %s",
		node->n_name, why);
	rules_add(node);
	SW_TRUE(m0_net_lnet_use(node->n_lnet) == 0, "use");
	SW_TRUE(m0_net_domain_init(&node->n_dom, &m0_net_lnet_xprt) == 0,
		"a domain");
	m0_net_lnet_send_acked(&node->n_dom, sw_one_in(2));
	node->n_sync = sw_one_in(4);
	sw_net_up(node);
	sw_rpc_up(node);
	m0_sim_host_use(NULL);
	node->n_up = true;
	++node->n_lives;
	++sw_sums.s_lives_nr;
}

static void lane_bytes_add(const struct sw_node *node)
{
	struct m0_lnet_info *info;
	unsigned             i;

	if (sw.w_lanes_nr == 0 || m0_lnet_info_get(node->n_lnet, &info) != 0)
		return;
	for (i = 0; i < info->li_nis_nr; ++i)
		sw_sums.s_lane_bytes += info->li_nis[i].nii_lnd.ldi_lane_bytes;
	m0_lnet_info_free(info);
}

/* Whether it was crashed before or goes as it should. */
static void node_down(struct sw_node *node, bool abort)
{
	node->n_up = false;
	lane_bytes_add(node);
	sw_rpc_down(node, abort);
	sw_net_down(node, abort);
	node->n_stopped = true;
	SW_TRUE(m0_net_domain_fini(&node->n_dom) == 0, "domain fini");
	SW_TRUE(m0_net_lnet_unuse(node->n_lnet) == 0, "unuse");
	m0_lnet_close(node->n_lnet);
	node->n_lnet = NULL;
}

static void node_back(struct sw_node *node)
{
	if (m0_sim_host_is_down(node->n_host))
		m0_sim_host_restart(node->n_host);
	node_up(node);
}

/* -- faults -------------------------------------------------------------------- */

static bool fault_is_on(enum sw_fault fault)
{
	if (!(sw.w_faults & fault))
		return false;
	++sw_sums.s_faults_nr;
	return true;
}

static void node_goes(struct sw_node *node, uint64_t ms)
{
	node_down(node, sw_one_in(2));
	node->n_back_at = m0_sim_now(sw.w_sim) + sw_rand(ms) * M0_TIME_ONE_MSEC;
}

static void do_life_fault(struct sw_node *node)
{
	if (!node->n_up)
		return;
	switch (sw_rand(3)) {
	case 0:
		if (fault_is_on(SW_CRASH)) {
			m0_sim_host_crash(node->n_host);
			++sw_sums.s_crashes_nr;
			node_goes(node, 5000);
		}
		break;
	case 1:
		if (fault_is_on(SW_KILL)) {
			m0_sim_host_kill(node->n_host);
			++sw_sums.s_crashes_nr;
			node_goes(node, 5000);
		}
		break;
	default:
		if (fault_is_on(SW_STOP))
			node_goes(node, 1000);
		break;
	}
}

/* Nobody of the one part reaches anybody of the other, until that is over. */
static void part(bool cut)
{
	unsigned side = sw.w_is_parted ? 0 : 1 + (unsigned)sw_rand(4000);
	unsigned i;
	unsigned k;

	sw.w_is_parted = cut;
	for (i = 0; i < sw.w_nodes_nr; ++i)
		for (k = 0; k < sw.w_nodes_nr; ++k)
			if (!cut || ((side >> i ^ side >> k) & 1))
				m0_sim_host_cut_way(sw.w_node[i].n_host,
						    sw.w_node[k].n_host, cut);
}

static void do_odd_fault(struct sw_node *node)
{
	if (sw_one_in(2)) {
		if (sw.w_has_rails && node->n_up && fault_is_on(SW_RULE_RAIL))
			rail_dies(node);
	} else if (sw.w_is_parted) {
		part(false);
	} else if (fault_is_on(SW_PARTITION)) {
		part(true);
	}
}

static void do_net_fault(struct sw_node *node)
{
	struct sw_node *other = sw_any();

	switch (sw_rand(sw.w_is_odd ? 8 : 6)) {
	case 6:
	case 7:
		do_odd_fault(node);
		break;
	case 0:
		if (fault_is_on(SW_CUT))
			m0_sim_host_cut(node->n_host, true);
		break;
	case 1:
		if (other != node && fault_is_on(SW_ONE_WAY))
			m0_sim_host_cut_way(node->n_host, other->n_host, true);
		break;
	case 2:
		if (fault_is_on(SW_RESET))
			m0_sim_host_reset(node->n_host);
		if (sw.w_is_o2ib && sw.w_faults & SW_RESET)
			m0_sim_rdma_break(node->n_host);
		break;
	case 3:
		if (fault_is_on(SW_SLOW_READER))
			m0_sim_host_slow(node->n_host, 2000ULL << sw_rand(10));
		break;
	case 4:
		if (fault_is_on(SW_HALF_OPEN)) {
			m0_sim_host_cut(node->n_host, true);
			sw_run_ms(4 * sw.w_timeout_ms);
		}
		break;
	default:
		if (fault_is_on(SW_UNREACHABLE))
			m0_sim_host_unreachable(node->n_host, true);
		break;
	}
}

static void heal(struct sw_node *node)
{
	m0_sim_host_cut(node->n_host, false);
	m0_sim_host_slow(node->n_host, 0);
	m0_sim_host_unreachable(node->n_host, false);
	rail_lives(node);
}

static void come_back(bool all)
{
	unsigned i;

	for (i = 0; i < sw.w_nodes_nr; ++i) {
		struct sw_node *node = &sw.w_node[i];

		if (!node->n_up &&
		    (all || node->n_back_at <= m0_sim_now(sw.w_sim)))
			node_back(node);
	}
}

/* -- a run --------------------------------------------------------------------- */

static void faults_draw(void)
{
	unsigned nr = sw.w_is_odd ? SW_FAULTS_NR : SW_FAULTS_PLAIN_NR;
	char     text[256] = "";
	unsigned i;

	sw.w_faults = 0;
	for (i = 0; i < nr; ++i)
		if (sw_one_in(3))
			sw.w_faults |= 1u << i;
	/* Some peace, to see that things work at all. */
	if (sw_one_in(20))
		sw.w_faults = 0;
	for (i = 0; i < SW_FAULTS_NR; ++i)
		if (sw.w_faults & 1u << i)
			(void)snprintf(text + strlen(text),
				       sizeof text - strlen(text), " %s",
				       fault_names[i]);
	m0_sim_options(sw.w_sim,
		       "%u nodes, %u lanes, time-out %lu ms%s%s, faults:%s",
		       sw.w_nodes_nr, sw.w_lanes_nr,
		       (unsigned long)sw.w_timeout_ms,
		       sw.w_is_o2ib  ? ", o2ib"
		       : sw.w_is_ip6 ? ", IPv6"
				     : "",
		       sw.w_has_rails ? ", two networks" : "",
		       text[0] == 0 ? " none" : text);
}

static void net_make(void)
{
	struct m0_sim_stream_cfg cfg = {
		.ssc_rate_bytes = sw_one_in(2) ? 0 : 10000000ULL << sw_rand(6),
		.ssc_latency_ns = 1000ULL << sw_rand(14),
		.ssc_window_bytes = 8192ULL << sw_rand(6),
		.ssc_piece_bytes_max = 1024ULL << sw_rand(7),
	};

	if (sw.w_faults & SW_JITTER)
		cfg.ssc_jitter_ns = 100000ULL << sw_rand(8);
	m0_sim_net_init(sw.w_sim, &cfg);
	if (sw.w_is_o2ib)
		m0_sim_rdma_init(&(struct m0_sim_rdma_cfg){
			.srd_latency_ns = cfg.ssc_latency_ns,
			.srd_jitter_ns = cfg.ssc_jitter_ns,
			.srd_rate_bytes = cfg.ssc_rate_bytes,
			.srd_retry_ns = 100 * M0_TIME_ONE_MSEC,
			.srd_draws = true });
}

static void links_draw(struct sw_node *node)
{
	unsigned nr = (unsigned)sw_rand(SW_LINKS + 1);
	unsigned first = (unsigned)sw_rand(sw.w_nodes_nr);
	unsigned i;

	for (i = 0; i < sw.w_nodes_nr && node->n_links_nr < nr; ++i) {
		struct sw_node *server =
			&sw.w_node[(first + i) % sw.w_nodes_nr];

		if (server->n_serves && server != node)
			node->n_link[node->n_links_nr++].l_server = server;
	}
}

static void names_make(struct sw_node *node, unsigned i)
{
	char ips[40];
	char nid[32];
	char net[16] = "tcp";

	node->n_nr = i;
	(void)snprintf(node->n_name, sizeof node->n_name, "n%u", i);
	if (sw.w_routers_nr > 0)
		node->n_net = sw_routed_net(i);
	if (sw.w_is_ip6)
		(void)snprintf(node->n_ip, sizeof node->n_ip, "fd00::%x",
			       1 + i);
	else
		(void)snprintf(node->n_ip, sizeof node->n_ip, "10.%u.0.%u",
			       node->n_net, 1 + i);
	(void)snprintf(node->n_rail_ip, sizeof node->n_rail_ip, "10.1.0.%u",
		       1 + i);
	if (node->n_net > 0)
		(void)snprintf(net, sizeof net, "tcp%u", node->n_net);
	if (sw.w_is_o2ib)
		(void)snprintf(net, sizeof net, "o2ib");
	(void)snprintf(nid, sizeof nid, "%s@%s", node->n_ip, net);
	(void)snprintf(node->n_addr, sizeof node->n_addr, "%s:12345:40:1", nid);
	(void)snprintf(node->n_rpc_addr, sizeof node->n_rpc_addr,
		       "%s:12345:%u:2", nid,
		       sw.w_is_odd ? SW_RPC_PORTAL : SW_PORTAL);
	(void)snprintf(node->n_rail_addr, sizeof node->n_rail_addr,
		       "%s@tcp1:12345:%u:3", node->n_rail_ip, SW_RPC_PORTAL);
	(void)snprintf(ips, sizeof ips, sw.w_has_rails ? "%s %s" : "%s",
		       node->n_ip, node->n_rail_ip);
	node->n_host = sw.w_routers_nr > 0
			       ? m0_sim_host_add_nids(node->n_name, nid)
			       : m0_sim_host_add(node->n_name, ips);
}

static void node_make(unsigned i)
{
	struct sw_node *node = &sw.w_node[i];

	names_make(node, i);
	node->n_serves = sw_one_in(3) || i == 0;
	if (sw.w_faults & SW_SKEW)
		m0_sim_host_skew(node->n_host,
				 (int64_t)sw_rand(7200) *
						 (int64_t)M0_TIME_ONE_SECOND -
					 3600 * (int64_t)M0_TIME_ONE_SECOND);
	if (sw.w_faults & SW_LATE && sw_one_in(2)) {
		sw.w_late_ns_max = 20 * M0_TIME_ONE_MSEC;
		m0_sim_host_late(node->n_host, 1 + sw_rand(sw.w_late_ns_max));
	}
	if (node->n_serves)
		sw_disk_make(node);
}

static void world_make(struct m0_sim *sim)
{
	unsigned i;

	memset(&sw, 0, sizeof sw);
	sw.w_sim = sim;
	/* So that what is made once for all is freed each time. */
	SW_TRUE(m0_net_init() == 0, "net init");
	sw.w_nodes_nr = (unsigned)(2 + (sw_one_in(4) ? sw_rand(SW_NODES - 1)
						     : sw_rand(4)));
	sw.w_timeout_ms = 500 + sw_rand(4000);
	sw.w_is_odd = m0_sim_seed(sim) & 1;
	sw.w_is_ip6 = sw.w_is_odd && sw_one_in(3);
	sw.w_has_rails = sw.w_is_odd && sw_one_in(2);
	/* By the seed itself, as routers: the other worlds are as they were. */
	sw.w_is_o2ib = m0_sim_seed(sim) % 8 == 6;
	if (m0_sim_seed(sim) % 4 == 3 || m0_sim_seed(sim) % 8 == 4)
		sw.w_lanes_nr = (unsigned)(2 + m0_sim_seed(sim) / 8 % 3);
	sw.w_gets_name = m0_sim_seed(sim) % 16 == 6;
	faults_draw();
	sw_routers_draw();
	net_make();
	for (i = 0; i < sw.w_nodes_nr; ++i)
		node_make(i);
	sw_routers_up();
	for (i = 0; i < sw.w_nodes_nr; ++i)
		links_draw(&sw.w_node[i]);
	for (i = 0; i < sw.w_nodes_nr; ++i)
		node_up(&sw.w_node[i]);
}

static void pass_time(void)
{
	static const uint64_t spans_ms[] = { 1, 10, 100, 1000, 5000 };

	sw_run_ms(sw_rand(spans_ms[sw_one_in(20) ? 4 : sw_rand(4)] + 1));
}

static void step(void)
{
	struct sw_node *node = sw_any_up();
	uint64_t        what = sw_rand(100);

	come_back(false);
	if (node == NULL || !node->n_up)
		pass_time();
	else if (what < 15)
		sw_recv(node);
	else if (what < 32)
		sw_send(node, sw_any());
	else if (what < 42)
		sw_passive(node);
	else if (what < 56)
		sw_active(node);
	else if (what < 60)
		sw_cancel();
	else if (what < 75)
		sw_post(node);
	else if (what < 77)
		sw_item_cancel();
	else if (what < 81)
		sw_rpc_tend(node);
	else if (what < 87)
		do_net_fault(node);
	else if (what < 90)
		do_life_fault(node);
	else if (what < 94)
		heal(sw_any());
	if (sw.w_routers_nr > 0 && sw_one_in(30))
		sw_router_fault();
	if (sw_one_in(3))
		pass_time();
	else
		m0_sim_yield(sw.w_sim, 5);
}

/* Faults are over: all that ends by itself ends, and all can meet. */
static void liveness(void)
{
	unsigned i;

	sw.w_is_healed = true;
	part(false);
	for (i = 0; i < sw.w_nodes_nr; ++i) {
		heal(&sw.w_node[i]);
		if (sw.w_node[i].n_up)
			(void)m0_lnet_fault_del(sw.w_node[i].n_lnet,
						M0_LNET_FAULT_ANY, NULL, NULL);
	}
	come_back(true);
	sw_routers_heal();
	m0_sim_say(sw.w_sim, "faults are over");
	sw_must_ms(sw_ops_are_over, NULL,
		   5000 + 4 * sw.w_timeout_ms + SW_SLACK_MS,
		   "all buffers with an end of their own end");
	sw_must_ms(sw_items_are_over, NULL, 22 * 1000, "all items end");
	if (sw.w_is_odd)
		sw_must_ms(sw_bulks_are_over, NULL, 2 * SW_SLACK_MS,
			   "the memory of all items is free");
	for (i = 0; i < sw.w_nodes_nr; ++i)
		sw_ops_meet(&sw.w_node[i], &sw.w_node[(i + 1) % sw.w_nodes_nr]);
	for (i = 0; i < sw.w_nodes_nr; ++i)
		sw_rpc_meet(&sw.w_node[i]);
	sw_ops_cancel_all();
	sw_must_ms(sw_ops_are_over, NULL, 2 * SW_SLACK_MS,
		   "what was cancelled ends");
}

void sw_rest_check(const char *name, const struct m0_lnet_info *info)
{
	unsigned i;
	unsigned k;

	SW_TRUE(info->li_stats.ls_msgs_alloc == 0, "%s: %lu messages left",
		name, (unsigned long)info->li_stats.ls_msgs_alloc);
	SW_TRUE(info->li_stats.ls_rst_alloc == 0, "%s: %lu transactions left",
		name, (unsigned long)info->li_stats.ls_rst_alloc);
	for (i = 0; i < info->li_nis_nr; ++i)
		SW_TRUE(info->li_nis[i].nii_credits_free ==
				(int)info->li_nis[i].nii_credits,
			"%s: credits of an interface are not home", name);
	for (i = 0; i < info->li_peers_nr; ++i)
		for (k = 0; k < info->li_peers[i].pei_nis_nr; ++k) {
			const struct m0_lnet_peer_ni_info *ni =
				&info->li_peers[i].pei_nis[k];

			SW_TRUE(ni->pni_credits_free ==
					(int)ni->pni_credits_max,
				"%s: credits of a peer are not home", name);
		}
}

static void rest(void)
{
	struct m0_lnet_info *info;
	unsigned             i;

	for (i = 0; i < sw.w_nodes_nr; ++i) {
		sw_rpc_down(&sw.w_node[i], false);
		sw.w_node[i].n_has_rpc = false;
	}
	sw_run_ms(4 * sw.w_timeout_ms + 2000);
	for (i = 0; i < sw.w_nodes_nr; ++i) {
		if (sw.w_routers_nr > 0) {
			sw_routed_rest(sw.w_node[i].n_name,
				       sw.w_node[i].n_lnet);
			continue;
		}
		SW_TRUE(m0_lnet_info_get(sw.w_node[i].n_lnet, &info) == 0,
			"info");
		sw_rest_check(sw.w_node[i].n_name, info);
		m0_lnet_info_free(info);
	}
	sw_routers_check();
}

static void run(struct m0_sim *sim, void *arg)
{
	bool     amid;
	unsigned nr;
	unsigned i;

	(void)arg;
	world_make(sim);
	amid = sw_one_in(5);
	nr = 20 + (unsigned)sw_rand(STEPS_MAX);
	for (i = 0; i < nr; ++i)
		step();
	if (!amid) {
		liveness();
		rest();
	}
	for (i = 0; i < sw.w_nodes_nr; ++i)
		if (sw.w_node[i].n_up)
			node_down(&sw.w_node[i], sw_one_in(2));
	sw_routers_down();
	sw_ops_check();
	sw_items_check();
	sw_ops_free();
	for (i = 0; i < sw.w_nodes_nr; ++i)
		if (sw.w_node[i].n_serves)
			sw_disk_free(&sw.w_node[i]);
	if (sw.w_is_o2ib)
		m0_sim_rdma_fini();
	m0_sim_net_fini();
	SW_TRUE(m0_net_fini() == 0, "net fini");
}

static void sums_print(void)
{
	unsigned qt;

	printf("%lu lives, %lu crashes, %lu faults; %lu messages forwarded; "
	       "%lu bytes by lanes; %lu items, %lu answered; "
	       "%lu with bulk, %lu answered; %lu buffers, good and failed:",
	       (unsigned long)sw_sums.s_lives_nr,
	       (unsigned long)sw_sums.s_crashes_nr,
	       (unsigned long)sw_sums.s_faults_nr,
	       (unsigned long)sw_sums.s_forwarded_nr,
	       (unsigned long)sw_sums.s_lane_bytes,
	       (unsigned long)sw_sums.s_items_nr,
	       (unsigned long)sw_sums.s_items_good_nr,
	       (unsigned long)sw_sums.s_bulks_nr,
	       (unsigned long)sw_sums.s_bulks_good_nr,
	       (unsigned long)sw_sums.s_ops_nr);
	for (qt = 0; qt < M0_NET_QT_NR; ++qt)
		printf(" %lu/%lu", (unsigned long)sw_sums.s_good_nr[qt],
		       (unsigned long)sw_sums.s_failed_nr[qt]);
	printf("\n");
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned nr = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : SEEDS_NR;

	m0_log_level_set(M0_LOG_ERROR); /* of networks that fail */
	if (sw_types_up() != 0)
		return 1;
	m0_sim_for_each_seed(first, nr, run, NULL);
	sums_print();
	sw_types_down();
	return 0;
}
