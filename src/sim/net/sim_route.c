/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Topologies of LNet: the routes that follow from them, and the nodes of routers. */
#include <stdio.h>
#include <stdlib.h>

#include "m0/sim_route.h"
#include "sim/net/sim_net_internal.h"

/** Networks of the topology; a set of them is a mask. */
struct nets {
	uint32_t nts_net[M0_SIM_NETS_MAX];
	unsigned nts_nr;
};

/* -- description ----------------------------------------------------------- */

static void nids_add(struct m0_sim_host *host, const char *nids)
{
	struct m0_lnet_nid *nid;
	char                text[512];
	char               *at = text;
	char               *word;

	(void)snprintf(text, sizeof text, "%s", nids);
	while ((word = strsep(&at, " ")) != NULL) {
		if (*word == 0)
			continue;
		nid = &host->smh_nids[host->smh_nids_nr];
		if (host->smh_nids_nr == SIM_ADDRS_MAX ||
		    m0_lnet_nid_parse(nid, word) != 0 || m0_lnet_nid_is_lo(nid))
			m0_sim_fail(m0_sim__net()->sin_sim, "%s: no NID: %s",
				    host->smh_name, word);
		++host->smh_nids_nr;
	}
}

/** Writes the addresses of NIDs, separated by blanks. */
static void addrs_of(const char *nids, char *addrs, size_t size)
{
	bool   in_net = false;
	size_t nr = 0;

	for (; *nids != 0 && nr + 1 < size; ++nids) {
		if (*nids == '@')
			in_net = true;
		if (*nids == ' ')
			in_net = false;
		if (!in_net)
			addrs[nr++] = *nids;
	}
	addrs[nr] = 0;
}

struct m0_sim_host *m0_sim_host_add_nids(const char *name, const char *nids)
{
	struct m0_sim_host *host;
	char                addrs[256];

	addrs_of(nids, addrs, sizeof addrs);
	host = m0_sim_host_add(name, addrs);
	nids_add(host, nids);
	return host;
}

struct m0_sim_host *m0_sim_router_add(const char *name, const char *nids,
				      uint32_t priority)
{
	struct m0_sim_host *host = m0_sim_host_add_nids(name, nids);

	host->smh_is_router = true;
	host->smh_priority = priority;
	return host;
}

/* -- routes ---------------------------------------------------------------- */

/** Returns the bit of a network, which is added to those known. */
static uint32_t net_bit(struct nets *nets, uint32_t net)
{
	unsigned i;

	for (i = 0; i < nets->nts_nr; ++i)
		if (nets->nts_net[i] == net)
			return 1U << i;
	if (nets->nts_nr == M0_SIM_NETS_MAX)
		m0_sim_fail(m0_sim__net()->sin_sim, "more than %d networks",
			    M0_SIM_NETS_MAX);
	nets->nts_net[nets->nts_nr] = net;
	return 1U << nets->nts_nr++;
}

static uint32_t nets_of(struct nets *nets, const struct m0_sim_host *host)
{
	uint32_t mask = 0;
	unsigned i;

	for (i = 0; i < host->smh_nids_nr; ++i)
		mask |= net_bit(nets, m0_lnet_nid_net(&host->smh_nids[i]));
	return mask;
}

/** Returns the networks that any router reaches from those of `from`, in one hop. */
static uint32_t nets_beyond(struct nets *nets, uint32_t from)
{
	const struct sim_net *net = m0_sim__net();
	uint32_t              mask = from;
	uint32_t              joined;
	unsigned              i;

	for (i = 0; i < net->sin_hosts_nr; ++i) {
		if (!net->sin_hosts[i]->smh_is_router)
			continue;
		joined = nets_of(nets, net->sin_hosts[i]);
		if (joined & from)
			mask |= joined;
	}
	return mask;
}

static void route_add(struct m0_lnet_cfg *cfg, const struct m0_sim_host *router,
		      const struct m0_lnet_nid *gateway, uint32_t net,
		      uint32_t hops)
{
	struct m0_lnet_routing_cfg *routing = &cfg->lc_routing;

	if (routing->lgc_routes_nr == M0_LNET_CFG_ROUTES_MAX)
		m0_sim_fail(m0_sim__net()->sin_sim, "more than %d routes",
			    M0_LNET_CFG_ROUTES_MAX);
	routing->lgc_routes[routing->lgc_routes_nr++] =
		(struct m0_lnet_route_attr){ .lra_net = net,
					     .lra_hops = hops,
					     .lra_priority =
						     router->smh_priority,
					     .lra_gateway = *gateway };
}

/** Adds the routes by a router that has this NID on a network of the host: to each
 * network that it reaches without those in `own`, with the least hops. */
static void routes_by(struct nets *nets, struct m0_lnet_cfg *cfg,
		      const struct m0_sim_host *router,
		      const struct m0_lnet_nid *gateway, uint32_t own)
{
	uint32_t now = nets_of(nets, router) & ~own;
	uint32_t seen = 0;
	uint32_t hops;
	unsigned i;

	for (hops = 1; now != seen; ++hops) {
		for (i = 0; i < nets->nts_nr; ++i)
			if (now & ~seen & 1U << i)
				route_add(cfg, router, gateway,
					  nets->nts_net[i], hops);
		seen = now;
		now = nets_beyond(nets, seen) & ~own;
	}
}

/** Returns a NID of the router on a network of the host; NULL: they share none. */
static const struct m0_lnet_nid *gateway_of(const struct m0_sim_host *host,
					    const struct m0_sim_host *router)
{
	unsigned i;
	unsigned k;

	for (i = 0; i < host->smh_nids_nr; ++i)
		for (k = 0; k < router->smh_nids_nr; ++k)
			if (m0_lnet_nid_net(&host->smh_nids[i]) ==
			    m0_lnet_nid_net(&router->smh_nids[k]))
				return &router->smh_nids[k];
	return NULL;
}

/** Adds the network of a NID; a further NID of it adds an interface. */
static void network_add(const struct m0_sim_host *host, struct m0_lnet_cfg *cfg,
			unsigned first)
{
	uint32_t    net = m0_lnet_nid_net(&host->smh_nids[first]);
	char        text[512];
	char        nid[M0_LNET_NIDSTR_SIZE];
	char        why[M0_LNET_WHY_BYTES] = "";
	const char *between = "(";
	size_t      nr;
	unsigned    i;

	for (i = 0; i < first; ++i)
		if (m0_lnet_nid_net(&host->smh_nids[i]) == net)
			return;
	nr = strlen(m0_lnet_net_print(net, text, sizeof text));
	for (i = first; i < host->smh_nids_nr; ++i) {
		if (m0_lnet_nid_net(&host->smh_nids[i]) != net)
			continue;
		(void)m0_lnet_nid_print(&host->smh_nids[i], nid, sizeof nid);
		nr += (size_t)snprintf(text + nr, sizeof text - nr, "%s%.*s",
				       between, (int)strcspn(nid, "@"), nid);
		between = ",";
	}
	(void)snprintf(text + nr, sizeof text - nr, ")");
	if (m0_lnet_cfg_networks(cfg, text, why) != 0)
		m0_sim_fail(m0_sim__net()->sin_sim, "%s: %s", host->smh_name,
			    why);
}

void m0_sim_host_lnet_cfg(const struct m0_sim_host *host,
			  struct m0_lnet_cfg       *cfg)
{
	const struct sim_net     *net = m0_sim__net();
	const struct m0_sim_host *router;
	const struct m0_lnet_nid *gateway;
	struct nets               nets = {};
	uint32_t                  own = nets_of(&nets, host);
	unsigned                  i;

	M0_PRE(host->smh_nids_nr > 0);
	for (i = 0; i < host->smh_nids_nr; ++i)
		network_add(host, cfg, i);
	for (i = 0; i < net->sin_hosts_nr; ++i) {
		router = net->sin_hosts[i];
		gateway = gateway_of(host, router);
		if (router->smh_is_router && router != host && gateway != NULL)
			routes_by(&nets, cfg, router, gateway, own);
	}
	cfg->lc_routing.lgc_on = cfg->lc_routing.lgc_on || host->smh_is_router;
}

/* -- routers --------------------------------------------------------------- */

static void router_open(struct m0_sim_host *router)
{
	struct sim_net     *net = m0_sim__net();
	struct m0_sim_host *used = net->sin_host_used;
	struct m0_lnet_cfg *cfg = m0_sim__realloc(NULL, 1, sizeof *cfg);
	char                why[M0_LNET_WHY_BYTES] = "";
	int                 rc;

	*cfg = *net->sin_router_cfg;
	m0_sim_host_lnet_cfg(router, cfg);
	m0_sim_host_use(router);
	rc = m0_lnet_open(&router->smh_lnet, cfg, why);
	m0_sim_host_use(used);
	free(cfg);
	if (rc != 0)
		m0_sim_fail(net->sin_sim, "router %s: %d: %s", router->smh_name,
			    rc, why);
}

static void router_close(struct m0_sim_host *router)
{
	struct m0_lnet *lnet = router->smh_lnet;

	router->smh_lnet = NULL;
	if (lnet != NULL)
		m0_lnet_close(lnet);
}

void m0_sim_routers_up(const struct m0_lnet_cfg *cfg)
{
	struct sim_net *net = m0_sim__net();
	unsigned        i;

	M0_PRE(net->sin_router_cfg == NULL);
	net->sin_router_cfg =
		m0_sim__realloc(NULL, 1, sizeof *net->sin_router_cfg);
	if (cfg != NULL)
		*net->sin_router_cfg = *cfg;
	else
		m0_lnet_cfg_default(net->sin_router_cfg);
	for (i = 0; i < net->sin_hosts_nr; ++i)
		if (net->sin_hosts[i]->smh_is_router)
			router_open(net->sin_hosts[i]);
}

void m0_sim_routers_down(void)
{
	struct sim_net *net = m0_sim__net();
	unsigned        i;

	for (i = 0; i < net->sin_hosts_nr; ++i)
		router_close(net->sin_hosts[i]);
	free(net->sin_router_cfg);
	net->sin_router_cfg = NULL;
}

void m0_sim_router_crash(struct m0_sim_host *router)
{
	M0_PRE(router->smh_lnet != NULL);
	m0_sim_host_crash(router);
	router_close(router);
}

void m0_sim_router_kill(struct m0_sim_host *router)
{
	M0_PRE(router->smh_lnet != NULL);
	m0_sim_host_kill(router);
	router_close(router);
}

void m0_sim_router_restart(struct m0_sim_host *router)
{
	M0_PRE(router->smh_is_router && router->smh_lnet == NULL);
	m0_sim_host_restart(router);
	router_open(router);
}

struct m0_lnet *m0_sim_router_lnet(const struct m0_sim_host *router)
{
	return router->smh_lnet;
}
