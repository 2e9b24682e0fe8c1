/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Worlds of several LNet networks: the routers between them, and their faults. */
#include "swarm.h"

#include "m0/lnet_route.h"

enum {
	CHECK_MS = 1000,
	PING_MS = 1000
};

static const char *const router_names[SW_ROUTERS] = { "r0", "r1", "r2" };

/* Nodes are on the first network and the last one. */
static const struct {
	const char *shp_words;
	unsigned    shp_nets_nr;
	unsigned    shp_routers_nr;
	struct {
		unsigned rtr_nets[2];
		uint32_t rtr_priority;
	} shp_routers[SW_ROUTERS];
} shapes[] = {
	{ "one router", 2, 1, { { { 0, 1 }, 0 } } },
	{ "two routers", 2, 2, { { { 0, 1 }, 0 }, { { 0, 1 }, 0 } } },
	{ "two routers, one preferred",
	  2,
	  2,
	  { { { 0, 1 }, 0 }, { { 0, 1 }, 1 } } },
	{ "a chain of two routers",
	  3,
	  2,
	  { { { 0, 1 }, 0 }, { { 1, 2 }, 0 } } },
	{ "a chain, its first router twice",
	  3,
	  3,
	  { { { 0, 1 }, 0 }, { { 0, 1 }, 1 }, { { 1, 2 }, 0 } } },
};

/* One seed in sixteen, by the seed itself: the other worlds are as they were. */
void sw_routers_draw(void)
{
	if (m0_sim_seed(sw.w_sim) % 16 != 4)
		return;
	sw.w_shape = (unsigned)sw_rand(ARRAY_SIZE(shapes));
	sw.w_routers_nr = shapes[sw.w_shape].shp_routers_nr;
	m0_sim_options(sw.w_sim, "%u networks: %s",
		       shapes[sw.w_shape].shp_nets_nr,
		       shapes[sw.w_shape].shp_words);
}

/* An end network without nodes would be down: routers report what is silent. */
unsigned sw_routed_net(unsigned nr)
{
	bool first = nr == 0 || (nr > 1 && sw_one_in(2));

	return first ? 0 : shapes[sw.w_shape].shp_nets_nr - 1;
}

static struct m0_sim_host *router_add(unsigned i)
{
	const unsigned *nets = shapes[sw.w_shape].shp_routers[i].rtr_nets;
	char            nids[80];

	(void)snprintf(nids, sizeof nids, "10.%u.0.%u@tcp%u 10.%u.0.%u@tcp%u",
		       nets[0], 100 + i, nets[0], nets[1], 100 + i, nets[1]);
	return m0_sim_router_add(
		router_names[i], nids,
		shapes[sw.w_shape].shp_routers[i].rtr_priority);
}

void sw_routing_tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_routing.lgc_check_ms = CHECK_MS;
	cfg->lc_routing.lgc_ping_ms = PING_MS;
}

void sw_routers_up(void)
{
	static struct m0_lnet_cfg cfg;
	unsigned                  i;

	if (sw.w_routers_nr == 0)
		return;
	for (i = 0; i < sw.w_routers_nr; ++i)
		sw.w_router[i] = router_add(i);
	m0_lnet_cfg_default(&cfg);
	sw_lnet_tune(&cfg);
	sw_routing_tune(&cfg);
	/* At least one for each direction. */
	if (sw_one_in(2))
		for (i = 0; i < M0_LNET_POOLS_NR; ++i)
			cfg.lc_routing.lgc_buffers[i] = 2 +
							(unsigned)sw_rand(16);
	m0_sim_routers_up(&cfg);
}

void sw_routers_down(void)
{
	if (sw.w_routers_nr > 0)
		m0_sim_routers_down();
}

/* -- faults ---------------------------------------------------------------- */

void sw_router_fault(void)
{
	struct m0_sim_host *router = sw.w_router[sw_rand(sw.w_routers_nr)];

	++sw_sums.s_faults_nr;
	if (m0_sim_router_lnet(router) == NULL) {
		m0_sim_router_restart(router);
		return;
	}
	switch (sw_rand(6)) {
	case 0:
		m0_sim_router_crash(router);
		++sw_sums.s_crashes_nr;
		break;
	case 1:
		m0_sim_router_kill(router);
		++sw_sums.s_crashes_nr;
		break;
	case 2:
		m0_sim_host_reset(router);
		break;
	case 3:
		m0_sim_host_cut(router, true);
		break;
	default:
		m0_sim_host_cut(router, false);
	}
}

static bool routes_are_up(void *arg)
{
	struct m0_lnet_route_info infos[SW_ROUTERS * SW_ROUTERS];
	unsigned                  i;
	int                       nr;

	nr = m0_lnet_route_get(arg, infos, ARRAY_SIZE(infos));
	SW_TRUE(nr > 0, "routes: %d", nr);
	for (i = 0; i < (unsigned)nr; ++i)
		if (infos[i].lri_why != M0_LNET_ROUTE_UP)
			return false;
	return true;
}

void sw_routers_heal(void)
{
	uint64_t ms = 2 * CHECK_MS + PING_MS + 2 * sw.w_timeout_ms + 500 +
		      SW_SLACK_MS;
	unsigned i;

	for (i = 0; i < sw.w_routers_nr; ++i) {
		m0_sim_host_cut(sw.w_router[i], false);
		if (m0_sim_router_lnet(sw.w_router[i]) == NULL)
			m0_sim_router_restart(sw.w_router[i]);
	}
	for (i = 0; i < sw.w_nodes_nr && sw.w_routers_nr > 0; ++i)
		sw_must_ms(routes_are_up, sw.w_node[i].n_lnet, ms,
			   "all routes of a node are up");
}

/* -- the end --------------------------------------------------------------- */

static unsigned buffers_used_nr(struct m0_lnet *lnet)
{
	struct m0_lnet_routing_info info;
	unsigned                    nr = 0;
	unsigned                    i;

	SW_TRUE(m0_lnet_routing_get(lnet, &info) == 0, "routing");
	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		nr += info.lgi_pools[i].lbi_used_nr;
	return nr;
}

void sw_routed_rest(const char *name, struct m0_lnet *lnet)
{
	m0_time_t end = m0_sim_now(sw.w_sim) +
			(CHECK_MS + PING_MS) * M0_TIME_ONE_MSEC;
	struct m0_lnet_info *info;
	unsigned             used_nr;
	bool                 busy;

	/* Not in the middle of a check: one may begin while the node is asked. */
	do {
		SW_TRUE(m0_lnet_info_get(lnet, &info) == 0, "info");
		busy = m0_sim_now(sw.w_sim) < end &&
		       info->li_stats.ls_msgs_alloc +
				       info->li_stats.ls_rst_alloc >
			       0;
		if (!busy)
			sw_rest_check(name, info);
		m0_lnet_info_free(info);
		used_nr = buffers_used_nr(lnet);
		busy = busy || (m0_sim_now(sw.w_sim) < end && used_nr > 0);
		if (busy)
			sw_run_ms(1 + sw_rand(10));
	} while (busy);
	SW_TRUE(used_nr == 0, "%s: %u router buffers are in use", name,
		used_nr);
}

void sw_routers_check(void)
{
	struct m0_lnet_routing_info info;
	struct m0_lnet             *lnet;
	unsigned                    i;

	for (i = 0; i < sw.w_routers_nr; ++i) {
		lnet = m0_sim_router_lnet(sw.w_router[i]);
		sw_routed_rest(router_names[i], lnet);
		SW_TRUE(m0_lnet_routing_get(lnet, &info) == 0, "routing");
		sw_sums.s_forwarded_nr += info.lgi_forwarded_nr;
	}
}
