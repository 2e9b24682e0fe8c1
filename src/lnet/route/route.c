/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "lnet/flow/memo.h"
#include "lnet/route/route.h"

/** Without checks, a loop is forgotten after this time. */
#define LOOP_NS (60 * M0_TIME_ONE_SECOND)
/** The log has at most one line for each route in this time. */
#define REPORT_NS M0_TIME_ONE_SECOND

/* -- finding --------------------------------------------------------------- */

struct m0_lnet_far *m0_lnet__far_find(const struct m0_lnet_engine *eng,
				      uint32_t                     net)
{
	struct m0_hash_link *link =
		m0_hash_find(&m0_lnet__routes(eng)->lrs_fars, &net, sizeof net);

	return link == NULL ? NULL
			    : container_of(link, struct m0_lnet_far, far_hash);
}

static struct m0_lnet_gateway *gateway_find(const struct m0_lnet_engine *eng,
					    const struct m0_lnet_nid    *nid)
{
	struct m0_lnet_gateway *gw;

	m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_gateways, gw,
			       struct m0_lnet_gateway, gw_link)
		if (m0_lnet_nid_eq(&gw->gw_lpni->lpn_nid, nid))
			return gw;
	return NULL;
}

/** Returns the route to the network by the peer that has this NID; NULL: none. */
static struct m0_lnet_route *route_find(const struct m0_lnet_engine *eng,
					uint32_t                     net,
					const struct m0_lnet_nid    *gateway)
{
	const struct m0_lnet_far *far = m0_lnet__far_find(eng, net);
	struct m0_lnet_route     *route;

	if (far == NULL)
		return NULL;
	m0_list_for_each_entry(&far->far_routes, route, struct m0_lnet_route,
			       lrt_of_far)
		if (m0_lnet__peer_same(eng, &route->lrt_attr.lra_gateway,
				       gateway))
			return route;
	return NULL;
}

bool m0_lnet__far_is_by(const struct m0_lnet_engine *eng, uint32_t net,
			const struct m0_lnet_peer *peer)
{
	const struct m0_lnet_far   *far = m0_lnet__far_find(eng, net);
	const struct m0_lnet_route *route;

	if (far == NULL)
		return false;
	m0_list_for_each_entry(&far->far_routes, route, struct m0_lnet_route,
			       lrt_of_far)
		if (route->lrt_gateway->gw_lpni->lpn_peer == peer)
			return true;
	return false;
}

/* -- up and down ----------------------------------------------------------- */

/** Returns the newest time at which a message came from the peer itself. */
static m0_time_t peer_alive_at(const struct m0_lnet_peer *peer)
{
	const struct m0_lnet_lpni *lpni;
	m0_time_t                  at = 0;

	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		at = max64u(at, lpni->lpn_alive_at);
	return at;
}

/** Looks for an interface of this node that is on a network of the peer. */
static enum m0_lnet_route_why near_why(const struct m0_lnet_engine *eng,
				       const struct m0_lnet_peer   *peer)
{
	enum m0_lnet_route_why     why = M0_LNET_ROUTE_NO_NI;
	const struct m0_lnet_lpni *lpni;
	const struct m0_lnet_ni   *ni;

	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni,
				       lni_link) {
			if (!m0_lnet__ni_is_usable(ni) || !ni->lni_lnd.ldn_up ||
			    !m0_lnet__ni_fits(ni, &lpni->lpn_nid))
				continue;
			if (!lpni->lpn_reported_down)
				return M0_LNET_ROUTE_UP;
			why = M0_LNET_ROUTE_NEAR_DOWN;
		}
	return why;
}

bool m0_lnet__route_is_multi_hop(const struct m0_lnet_route *route)
{
	return route->lrt_attr.lra_hops > 1 ||
	       (route->lrt_attr.lra_hops == 0 &&
		route->lrt_far_state == M0_LNET_FAR_ABSENT);
}

enum m0_lnet_route_why m0_lnet__route_why(const struct m0_lnet_engine *eng,
					  const struct m0_lnet_route  *route)
{
	const struct m0_lnet_gateway   *gw = route->lrt_gateway;
	const struct m0_lnet_peer      *peer = gw->gw_lpni->lpn_peer;
	const struct m0_lnet_route_cfg *cfg = &eng->le_cfg.lec_route;
	enum m0_lnet_route_why          why = near_why(eng, peer);

	M0_PRE_EX(gw->gw_failed_at == 0 || gw->gw_status < 0);
	if (why != M0_LNET_ROUTE_UP)
		return why;
	if (eng->le_now < route->lrt_loop_until)
		return M0_LNET_ROUTE_LOOP;
	if (gw->gw_failed_at != 0 && peer_alive_at(peer) <= gw->gw_failed_at)
		return gw->gw_is_lost ? M0_LNET_ROUTE_LOST
				      : M0_LNET_ROUTE_SILENT;
	if (!gw->gw_is_checked)
		return cfg->lrc_check_first ? M0_LNET_ROUTE_UNCHECKED
					    : M0_LNET_ROUTE_UP;
	if ((peer->lpe_features & M0_LNET_FEAT_RTE_DISABLED) != 0)
		return M0_LNET_ROUTE_NOT_ROUTING;
	if (cfg->lrc_avoid_asym && !m0_lnet__route_is_multi_hop(route) &&
	    M0_IN(route->lrt_far_state, (M0_LNET_FAR_DOWN, M0_LNET_FAR_ABSENT)))
		return M0_LNET_ROUTE_FAR_DOWN;
	return M0_LNET_ROUTE_UP;
}

m0_time_t m0_lnet__route_watch(const struct m0_lnet_engine *eng,
			       struct m0_lnet_route        *route)
{
	const struct m0_lnet_gateway *gw = route->lrt_gateway;
	struct m0_lnet_peer          *peer = gw->gw_lpni->lpn_peer;
	struct m0_lnet_lpni          *lpni;

	if (gw->gw_failed_at != 0 && peer_alive_at(peer) <= gw->gw_failed_at)
		m0_list_for_each_entry(&peer->lpe_lpnis, lpni,
				       struct m0_lnet_lpni, lpn_link)
			lpni->lpn_is_awaited = true;
	return eng->le_now < route->lrt_loop_until ? route->lrt_loop_until
						   : M0_TIME_NEVER;
}

bool m0_lnet__route_is_usable(const struct m0_lnet_engine *eng,
			      const struct m0_lnet_route  *route)
{
	enum m0_lnet_route_why why = m0_lnet__route_why(eng, route);

	return why == M0_LNET_ROUTE_UP || (eng->le_cfg.lec_route.lrc_use_down &&
					   why != M0_LNET_ROUTE_NO_NI);
}

static const char *const whys[M0_LNET_ROUTE_WHYS_NR] = {
	[M0_LNET_ROUTE_UP] = "up",
	[M0_LNET_ROUTE_UNCHECKED] = "the gateway has not been checked yet",
	[M0_LNET_ROUTE_NO_NI] =
		"no interface of this node that is up is on the network of the "
		"gateway",
	[M0_LNET_ROUTE_LOST] = "the connections to the gateway were lost",
	[M0_LNET_ROUTE_SILENT] = "the gateway has not answered the last ping",
	[M0_LNET_ROUTE_NOT_ROUTING] = "routing is off on the gateway",
	[M0_LNET_ROUTE_NEAR_DOWN] =
		"the gateway reports its interface on this side down",
	[M0_LNET_ROUTE_FAR_DOWN] =
		"the gateway reports no interface on the remote network that "
		"is up",
	[M0_LNET_ROUTE_LOOP] = "a message to the network has come back",
};

const char *m0_lnet_route_why_text(enum m0_lnet_route_why why)
{
	return (unsigned)why < ARRAY_SIZE(whys) ? whys[why] : "unknown";
}

const char *m0_lnet_route_flaw(int rc)
{
	switch (rc) {
	case -EINVAL:
		return "the network may be any but lo, the gateway a NID of "
		       "another network than it, and hops 0 to 255";
	case -EEXIST:
		return "the network is one of this node, or this gateway "
		       "leads to it already";
	case -EHOSTUNREACH:
		return "the gateway is on no network of this node, or is this "
		       "node";
	case -ENOSPC:
		return "there are 1024 routes, and may be no more";
	case -ENOMEM:
		return "no memory, or no room for another peer";
	default:
		return m0_errname(rc);
	}
}

/* -- learning -------------------------------------------------------------- */

static enum m0_lnet_far_state far_state(const struct m0_lnet_ping_info *info,
					uint32_t                        net)
{
	enum m0_lnet_far_state state = M0_LNET_FAR_ABSENT;
	unsigned nr = min_check(info->lpi_nis_nr, info->lpi_nis_max);
	unsigned i;

	/* The one on the network may be among those that were not kept. */
	if (info->lpi_truncated || nr < info->lpi_nis_nr)
		state = M0_LNET_FAR_UNKNOWN;

	for (i = 0; i < nr; ++i) {
		if (m0_lnet_nid_net(&info->lpi_nis[i].lpg_nid) != net)
			continue;
		if (info->lpi_nis[i].lpg_up)
			return M0_LNET_FAR_UP;
		state = M0_LNET_FAR_DOWN;
	}
	return state;
}

void m0_lnet__routes_learn(struct m0_lnet_engine          *eng,
			   const struct m0_lnet_peer      *peer,
			   const struct m0_lnet_ping_info *info)
{
	struct m0_lnet_gateway *gw;
	struct m0_lnet_route   *route;

	m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_gateways, gw,
			       struct m0_lnet_gateway, gw_link) {
		if (gw->gw_lpni->lpn_peer != peer)
			continue;
		gw->gw_is_checked = true;
		m0_lnet__paths_changed(eng);
		m0_list_for_each_entry(&gw->gw_routes, route,
				       struct m0_lnet_route, lrt_of_gateway)
			route->lrt_far_state =
				far_state(info, route->lrt_attr.lra_net);
	}
	m0_lnet__routes_report(eng);
}

void m0_lnet__routes_checked(struct m0_lnet_engine     *eng,
			     const struct m0_lnet_peer *peer, int status)
{
	struct m0_lnet_gateway *gw;

	M0_PRE(status <= 0);
	m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_gateways, gw,
			       struct m0_lnet_gateway, gw_link) {
		if (gw->gw_lpni->lpn_peer != peer)
			continue;
		gw->gw_is_checked = true;
		gw->gw_status = status;
		gw->gw_is_lost = false;
		gw->gw_failed_at = status == 0 ? 0 : eng->le_now;
		m0_lnet__paths_changed(eng);
		if (status == 0)
			gw->gw_answered_at = eng->le_now;
		else
			eng->le_hooks->lhk_gateway_lost(eng, gw);
	}
	m0_lnet__routes_report(eng);
}

/** Returns true if no NID of the peer by which this node reaches it is left. */
static bool is_lost_whole(const struct m0_lnet_engine *eng,
			  const struct m0_lnet_peer   *peer)
{
	const struct m0_lnet_lpni *lpni;
	const struct m0_lnet_ni   *ni;

	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link)
		m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni,
				       lni_link)
			if (m0_lnet__ni_is_usable(ni) &&
			    m0_lnet__ni_fits(ni, &lpni->lpn_nid) &&
			    !m0_lnet__lpni_is_down(eng, lpni))
				return false;
	return true;
}

void m0_lnet__routes_lost(struct m0_lnet_engine     *eng,
			  const struct m0_lnet_lpni *lpni, int status)
{
	struct m0_lnet_peer    *peer = lpni->lpn_peer;
	struct m0_lnet_gateway *gw;

	M0_PRE(status < 0);
	if (!m0_lnet__peer_is_gateway(peer) || !is_lost_whole(eng, peer))
		return;
	m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_gateways, gw,
			       struct m0_lnet_gateway, gw_link) {
		if (gw->gw_lpni->lpn_peer != peer)
			continue;
		gw->gw_failed_at = eng->le_now;
		gw->gw_status = status;
		gw->gw_is_lost = true;
		m0_lnet__paths_changed(eng);
		eng->le_hooks->lhk_gateway_lost(eng, gw);
	}
	m0_lnet__routes_report(eng);
}

void m0_lnet__route_loops(struct m0_lnet_engine *eng, uint32_t net,
			  const struct m0_lnet_nid *gateway)
{
	struct m0_lnet_route *route = route_find(eng, net, gateway);
	m0_time_t             check = eng->le_cfg.lec_route.lrc_check_ns;

	/* The route may have been deleted since. */
	if (route == NULL)
		return;
	route->lrt_loop_until =
		m0_time_add(eng->le_now, check != 0 ? check : LOOP_NS);
	m0_lnet__paths_changed(eng);
	m0_lnet__routes_report(eng);
}

/* -- reports --------------------------------------------------------------- */

static void report_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
			m0_time_t now)
{
	M0_PRE(timer == &m0_lnet__routes(eng)->lrs_report_timer);
	(void)now;
	m0_lnet__routes_report(eng);
}

void m0_lnet__routes_report(struct m0_lnet_engine *eng)
{
	m0_time_t              next = M0_TIME_NEVER;
	struct m0_lnet_route  *route;
	enum m0_lnet_route_why why;
	char                   net[M0_LNET_NIDSTR_SIZE];

	m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_routes, route,
			       struct m0_lnet_route, lrt_link) {
		why = m0_lnet__route_why(eng, route);
		if ((why == M0_LNET_ROUTE_UP) != route->lrt_was_up) {
			route->lrt_was_up = !route->lrt_was_up;
			route->lrt_since = eng->le_now;
		}
		if (why == route->lrt_reported)
			continue;
		if (eng->le_now < route->lrt_report_at) {
			next = min64u(next, route->lrt_report_at);
			continue;
		}
		route->lrt_reported = why;
		route->lrt_report_at = m0_time_add(eng->le_now, REPORT_NS);
		m0_log(why == M0_LNET_ROUTE_UP ? M0_LOG_INFO : M0_LOG_WARN,
		       "lnet: the route to %s by %s is %s%s",
		       m0_lnet_net_print(route->lrt_attr.lra_net, net,
					 sizeof net),
		       route->lrt_gateway->gw_lpni->lpn_text,
		       why == M0_LNET_ROUTE_UP ? "" : "down: ",
		       m0_lnet_route_why_text(why));
	}
	if (next != M0_TIME_NEVER)
		m0_lnet__timer_arm(eng, &m0_lnet__routes(eng)->lrs_report_timer,
				   next);
}

void m0_lnet__far_why(const struct m0_lnet_engine *eng, uint32_t net, char *buf,
		      size_t size)
{
	const struct m0_lnet_far   *far = m0_lnet__far_find(eng, net);
	const struct m0_lnet_route *route;
	enum m0_lnet_route_why      why;
	size_t                      used = 0;

	buf[0] = '\0';
	if (far == NULL)
		return;
	m0_list_for_each_entry(&far->far_routes, route, struct m0_lnet_route,
			       lrt_of_far) {
		why = m0_lnet__route_why(eng, route);
		used += (size_t)snprintf(
			buf + used, size - used,
			why == M0_LNET_ROUTE_UP
				? "%sthe route by %s is up for %" PRIu64
				  " s, but not for these NIDs"
				: "%sthe route by %s is down for %" PRIu64
				  " s: %s",
			used > 0 ? "; " : "",
			route->lrt_gateway->gw_lpni->lpn_text,
			m0_time_sub(eng->le_now, route->lrt_since) /
				M0_TIME_ONE_SECOND,
			m0_lnet_route_why_text(why));
		if (used >= size)
			return;
	}
}

static uint64_t ms_since(const struct m0_lnet_engine *eng, m0_time_t at)
{
	return at == 0 ? UINT64_MAX
		       : m0_time_sub(eng->le_now, at) / M0_TIME_ONE_MSEC;
}

static void route_draw(const struct m0_lnet_engine *eng,
		       const struct m0_lnet_route  *route,
		       struct m0_lnet_route_info   *to)
{
	const struct m0_lnet_gateway *gw = route->lrt_gateway;

	to->lri_attr = route->lrt_attr;
	to->lri_why = m0_lnet__route_why(eng, route);
	to->lri_status =
		M0_IN(to->lri_why, (M0_LNET_ROUTE_LOST, M0_LNET_ROUTE_SILENT))
			? gw->gw_status
			: 0;
	to->lri_multi_hop = m0_lnet__route_is_multi_hop(route);
	to->lri_since_ms = ms_since(eng, route->lrt_since);
	to->lri_answered_ms = ms_since(eng, gw->gw_answered_at);
	to->lri_sent_nr = route->lrt_sent_nr;
}

unsigned m0_lnet_engine_route_get(const struct m0_lnet_engine *eng,
				  uint64_t                    *order,
				  struct m0_lnet_route_info *ret, unsigned max)
{
	const struct m0_lnet_routes *routes = m0_lnet__routes(eng);
	const struct m0_lnet_route  *route;
	uint64_t                     after = *order;
	unsigned                     nr = 0;

	if (max == 0) {
		*order = routes->lrs_order;
		return routes->lrs_nr;
	}
	m0_list_for_each_entry(&routes->lrs_routes, route, struct m0_lnet_route,
			       lrt_link) {
		if (route->lrt_order <= after)
			continue;
		if (nr == max)
			break;
		M0_ASSERT(route->lrt_order > *order);
		*order = route->lrt_order;
		route_draw(eng, route, &ret[nr++]);
	}
	return nr;
}

/* -- adding and removing --------------------------------------------------- */

static bool net_is_local(const struct m0_lnet_engine *eng, uint32_t net)
{
	const struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (!ni->lni_stopping &&
		    m0_lnet_nid_net(&ni->lni_lnd.ldn_nid) == net)
			return true;
	return false;
}

static int attr_check(const struct m0_lnet_engine     *eng,
		      const struct m0_lnet_route_attr *attr)
{
	const struct m0_lnet_nid *gateway = &attr->lra_gateway;
	uint32_t                  near = m0_lnet_nid_net(gateway);

	if (m0_lnet_nid_is_any(gateway) || m0_lnet_nid_is_lo(gateway) ||
	    attr->lra_net == M0_LNET_NET_ANY || near == attr->lra_net ||
	    m0_lnet_net_type(attr->lra_net) == M0_LNET_TYPE_LO ||
	    attr->lra_hops > M0_LNET_HOPS_MAX)
		return -EINVAL;
	if (net_is_local(eng, attr->lra_net) ||
	    route_find(eng, attr->lra_net, gateway) != NULL)
		return -EEXIST;
	/* A node is not its own gateway. */
	if (!net_is_local(eng, near) || m0_lnet__ni_find(eng, gateway) != NULL)
		return -EHOSTUNREACH;
	return m0_lnet__routes(eng)->lrs_nr < M0_LNET_ROUTES_MAX ? 0 : -ENOSPC;
}

static void gateway_put(struct m0_lnet_engine *eng, struct m0_lnet_gateway *gw)
{
	if (!m0_list_is_empty(&gw->gw_routes))
		return;
	m0_list_del(&gw->gw_link);
	m0_lnet__policy_gateway_gone(eng, gw);
	gw->gw_lpni->lpn_is_gateway = false;
	m0_lnet__lpni_put(eng, gw->gw_lpni);
	m0_free(gw);
}

/** Finds or makes the gateway; NULL: no memory, or no room for its peer. */
static struct m0_lnet_gateway *gateway_get(struct m0_lnet_engine    *eng,
					   const struct m0_lnet_nid *nid)
{
	struct m0_lnet_gateway *gw = gateway_find(eng, nid);

	if (gw != NULL)
		return gw;
	M0_ALLOC_PTR(gw);
	if (gw == NULL)
		return NULL;
	gw->gw_lpni = m0_lnet__lpni_get(eng, nid);
	if (gw->gw_lpni == NULL) {
		m0_free(gw);
		return NULL;
	}
	gw->gw_lpni->lpn_is_gateway = true;
	m0_list_init(&gw->gw_routes);
	m0_list_link_init(&gw->gw_link);
	m0_list_add_tail(&m0_lnet__routes(eng)->lrs_gateways, &gw->gw_link);
	gw->gw_check_at = eng->le_now;
	m0_lnet__policy_gateway_new(eng, gw);
	return gw;
}

static void far_put(struct m0_lnet_engine *eng, struct m0_lnet_far *far)
{
	if (far->far_routes_nr > 0)
		return;
	m0_hash_del(&m0_lnet__routes(eng)->lrs_fars, &far->far_hash);
	m0_free(far);
}

static struct m0_lnet_far *far_get(struct m0_lnet_engine *eng, uint32_t net)
{
	struct m0_lnet_far *far = m0_lnet__far_find(eng, net);

	if (far != NULL)
		return far;
	M0_ALLOC_PTR(far);
	if (far == NULL)
		return NULL;
	far->far_net = net;
	m0_list_init(&far->far_routes);
	if (m0_hash_add(&m0_lnet__routes(eng)->lrs_fars, &far->far_hash,
			&far->far_net, sizeof far->far_net) != 0) {
		m0_free(far);
		return NULL;
	}
	return far;
}

static void route_link(struct m0_lnet_engine *eng, struct m0_lnet_route *route)
{
	struct m0_lnet_routes *all = m0_lnet__routes(eng);

	m0_list_link_init(&route->lrt_of_gateway);
	m0_list_link_init(&route->lrt_of_far);
	m0_list_link_init(&route->lrt_link);
	m0_list_add_tail(&route->lrt_gateway->gw_routes,
			 &route->lrt_of_gateway);
	m0_list_add_tail(&route->lrt_far->far_routes, &route->lrt_of_far);
	++route->lrt_far->far_routes_nr;
	m0_list_add_tail(&all->lrs_routes, &route->lrt_link);
	route->lrt_order = ++all->lrs_order;
	++all->lrs_nr;
	route->lrt_since = eng->le_now;
	route->lrt_reported = m0_lnet__route_why(eng, route);
	route->lrt_was_up = route->lrt_reported == M0_LNET_ROUTE_UP;
	m0_lnet__topology_changed(eng);
}

int m0_lnet_engine_route_add(struct m0_lnet_engine           *eng,
			     const struct m0_lnet_route_attr *attr)
{
	struct m0_lnet_route *route;
	int                   rc = attr_check(eng, attr);

	if (rc != 0)
		return rc;
	M0_ALLOC_PTR(route);
	if (route == NULL)
		return -ENOMEM;
	route->lrt_attr = *attr;
	route->lrt_last = m0_lnet_nid_any;
	route->lrt_gateway = gateway_get(eng, &attr->lra_gateway);
	if (route->lrt_gateway != NULL)
		route->lrt_far = far_get(eng, attr->lra_net);
	if (route->lrt_far == NULL) {
		if (route->lrt_gateway != NULL)
			gateway_put(eng, route->lrt_gateway);
		m0_free(route);
		return -ENOMEM;
	}
	route_link(eng, route);
	eng->le_hooks->lhk_gateway_new(eng, route->lrt_gateway);
	return 0;
}

static void route_free(struct m0_lnet_engine *eng, struct m0_lnet_route *route)
{
	struct m0_lnet_routes *all = m0_lnet__routes(eng);

	M0_PRE(all->lrs_nr > 0 && route->lrt_far->far_routes_nr > 0);
	eng->le_hooks->lhk_route_gone(route);
	m0_list_del(&route->lrt_link);
	--all->lrs_nr;
	m0_list_del(&route->lrt_of_gateway);
	m0_list_del(&route->lrt_of_far);
	--route->lrt_far->far_routes_nr;
	gateway_put(eng, route->lrt_gateway);
	far_put(eng, route->lrt_far);
	m0_free(route);
	m0_lnet__topology_changed(eng);
}

unsigned m0_lnet_engine_route_del(struct m0_lnet_engine *eng, uint32_t net,
				  const struct m0_lnet_nid *gateway)
{
	struct m0_lnet_route *route;
	struct m0_lnet_route *next;
	unsigned              nr = 0;

	m0_list_for_each_entry_safe(&m0_lnet__routes(eng)->lrs_routes, route,
				    next, struct m0_lnet_route, lrt_link) {
		if ((net != M0_LNET_NET_ANY &&
		     route->lrt_attr.lra_net != net) ||
		    (!m0_lnet_nid_is_any(gateway) &&
		     !m0_lnet__peer_same(eng, &route->lrt_attr.lra_gateway,
					 gateway)))
			continue;
		route_free(eng, route);
		++nr;
	}
	return nr;
}

/* -- life ------------------------------------------------------------------ */

int m0_lnet__routes_init(struct m0_lnet_engine *eng)
{
	struct m0_lnet_routes *all;

	M0_PRE(eng->le_routes == NULL);
	M0_ALLOC_PTR(all);
	if (all == NULL)
		return -ENOMEM;
	m0_hash_init(&all->lrs_fars);
	m0_list_init(&all->lrs_routes);
	m0_list_init(&all->lrs_gateways);
	m0_timer_init(&all->lrs_report_timer.ltm_timer);
	all->lrs_report_timer.ltm_fire = report_fire;
	eng->le_routes = all;
	return 0;
}

void m0_lnet__routes_fini(struct m0_lnet_engine *eng)
{
	struct m0_lnet_routes *all = m0_lnet__routes(eng);

	(void)m0_lnet_engine_route_del(eng, M0_LNET_NET_ANY, &m0_lnet_nid_any);
	M0_ASSERT(all->lrs_nr == 0 && m0_list_is_empty(&all->lrs_gateways));
	m0_lnet__timer_cancel(eng, &all->lrs_timer);
	m0_lnet__timer_cancel(eng, &all->lrs_report_timer);
	m0_hash_fini(&all->lrs_fars);
	eng->le_routes = NULL;
	m0_free(all);
}
