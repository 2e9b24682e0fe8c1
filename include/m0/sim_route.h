/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Topologies of LNet in the simulator: hosts on LNet networks, and routers that join
 * these networks. The hosts are those of m0/sim_net.h, so all its faults apply to
 * them, to routers, too.
 *
 * The test adds every host and every router, then starts the routers, then opens its
 * own nodes. Routes are derived: a host has a route to each network that it is not
 * on, by each router of its own networks that leads there, with the number of hops.
 *
 *     m0_sim_net_init(&sim, &cfg);
 *     a = m0_sim_host_add_nids("a", "10.0.0.1@tcp");
 *     b = m0_sim_host_add_nids("b", "10.1.0.1@tcp1");
 *     r = m0_sim_router_add("r", "10.0.0.9@tcp 10.1.0.9@tcp1", 0);
 *     m0_sim_routers_up(NULL);
 *     m0_sim_host_use(a);
 *     m0_lnet_cfg_default(&lnet_cfg);
 *     m0_sim_host_lnet_cfg(a, &lnet_cfg);
 *     m0_lnet_open(&lnet, &lnet_cfg, why);
 *     ...
 *     m0_sim_router_crash(r);
 *     ...
 *     m0_sim_router_restart(r);
 *     ...
 *     m0_sim_routers_down();
 *     m0_sim_net_fini();
 *
 * Only the test's own thread calls these functions. A mistake in the description (no
 * NID, no room) fails the case, as m0_sim_fail() does.
 */
#ifndef M0_SIM_ROUTE_H
#define M0_SIM_ROUTE_H

#include "m0/lnet.h"
#include "m0/lnet_cfg.h"
#include "m0/sim_net.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Most networks of a topology. */
	M0_SIM_NETS_MAX = 32
};

/**
 * Adds a host by the NIDs that its node is to have, at most 8, separated by blanks:
 * "10.0.0.1@tcp 10.1.0.1@tcp1". The host has their addresses.
 * @param name  kept by pointer.
 */
struct m0_sim_host *m0_sim_host_add_nids(const char *name, const char *nids);
/**
 * Adds a router, a host that forwards between all its networks. The simulator opens
 * its node.
 * @param priority  of the routes by this router: hosts prefer the routers of the
 *                  least number that are up.
 */
struct m0_sim_host *m0_sim_router_add(const char *name, const char *nids,
				      uint32_t priority);
/**
 * Adds to `cfg` the networks of a host that m0_sim_host_add_nids() or
 * m0_sim_router_add() has returned, its routes, and for a router that it forwards.
 * What `cfg` has already stays. Derived routes do not pass by the host's own networks
 * a second time. Call it when all routers have been added; it does not matter which
 * of them are up. The case fails if there are more than M0_LNET_CFG_ROUTES_MAX.
 */
void m0_sim_host_lnet_cfg(const struct m0_sim_host *host,
			  struct m0_lnet_cfg       *cfg);

/**
 * Opens the nodes of all routers. Call it before the nodes that use them are
 * opened: a node checks its gateways when it is opened.
 * @param cfg  of every router, without networks and routes; kept by value, also for
 *             m0_sim_router_restart(). NULL: m0_lnet_cfg_default().
 */
void m0_sim_routers_up(const struct m0_lnet_cfg *cfg);
/**
 * Closes the nodes of all routers that are up, as a program does that exits. Call it
 * before m0_sim_net_fini(), and after the other nodes have been closed, or these will
 * lose their routes.
 */
void m0_sim_routers_down(void);
/**
 * The router loses power, see m0_sim_host_crash(). Messages that it had received are
 * lost, and nobody is notified: other nodes use it until a message to it fails or it
 * has not answered a check, at the latest lgc_check_ms + lgc_ping_ms later. Virtual
 * time may pass until the call returns.
 * Pre: the router is up.
 */
void m0_sim_router_crash(struct m0_sim_host *router);
/** Ends the router's program, see m0_sim_host_kill(): its connections are reset, so
 * its peers notice at once. Otherwise as m0_sim_router_crash(). */
void m0_sim_router_kill(struct m0_sim_host *router);
/**
 * Starts a router again that was crashed or killed. Other nodes use it again when it
 * has answered their next check, at the latest lgc_check_ms + lgc_ping_ms later.
 * Pre: the router is down.
 */
void m0_sim_router_restart(struct m0_sim_host *router);
/** Returns the node of a router, for m0_lnet_routing_get() and the like; NULL while
 * the router is down. */
struct m0_lnet *m0_sim_router_lnet(const struct m0_sim_host *router);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_ROUTE_H */
