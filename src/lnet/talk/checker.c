/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The router checker. Each gateway is discovered when its first route is added, and
 * again in each interval, whether or not this node has sent anything: by a ping, of
 * which the answer says what the gateway is and which of its interfaces are up, and
 * by a push. A router takes the pings for a sign of life of the network that they
 * come from: without them it would report its own interface there down.
 */
#include "lnet/flow/memo.h"
#include "lnet/flow/select.h"
#include "lnet/route/route.h"
#include "lnet/route/router.h"
#include "lnet/talk/discovery.h"

/** A gateway that has failed is checked again after this time, unless all are
 * checked more often. */
#define FAILED_NS (10 * M0_TIME_ONE_SECOND)

static m0_time_t check_next(const struct m0_lnet_engine  *eng,
			    const struct m0_lnet_gateway *gw)
{
	m0_time_t interval = eng->le_cfg.lec_route.lrc_check_ns;

	/* Without checks, one that has failed would stay down for ever. */
	if (interval == 0)
		interval = M0_TIME_NEVER;
	if (gw->gw_failed_at != 0)
		interval = min64u(interval, FAILED_NS);
	return interval == M0_TIME_NEVER ? interval
					 : m0_time_add(eng->le_now, interval);
}

static void loop_asked(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask)
{
	struct m0_lnet_route *route = ask->as_user;

	(void)eng;
	M0_PRE(route->lrt_ask == ask);
	route->lrt_ask = NULL;
}

/**
 * Sends a ping to the last destination of a route with several routers. If the
 * routers send it in a circle, it comes back here, which proves that: a message of
 * another node that goes in a circle proves nothing to anybody.
 */
static void loop_ask(struct m0_lnet_engine *eng, struct m0_lnet_route *route)
{
	const struct m0_lnet_nid *gateway =
		&route->lrt_gateway->gw_lpni->lpn_nid;
	const struct m0_lnet_ni *ni;

	if (m0_lnet__router(eng)->lrr_state != M0_LNET_ROUTING_ON ||
	    !m0_lnet__route_is_multi_hop(route) || route->lrt_ask != NULL ||
	    m0_lnet_nid_is_any(&route->lrt_last) ||
	    m0_lnet__route_why(eng, route) != M0_LNET_ROUTE_UP)
		return;
	ni = m0_lnet__ni_for(eng, gateway);
	if (ni == NULL)
		return;
	/* With a source the request goes to this NID, not to any NID of the
	 * peer, and so by a route. */
	route->lrt_ask = m0_lnet__ask_ping_by(
		eng, &route->lrt_last, &ni->lni_lnd.ldn_nid, gateway,
		m0_time_add(eng->le_now, FAILED_NS), loop_asked, route);
}

static void check(struct m0_lnet_engine *eng, struct m0_lnet_gateway *gw)
{
	struct m0_lnet_route *route;
	struct m0_lnet_peer  *peer = gw->gw_lpni->lpn_peer;
	struct m0_lnet_disc  *di = m0_lnet__disc_get(eng, peer);

	gw->gw_check_at = check_next(eng, gw);
	if (di == NULL)
		return;
	/* A push follows the ping, although the gateway has had it. */
	peer->lpe_seq_pushed = 0;
	m0_lnet__disc_begin(di, &gw->gw_lpni->lpn_nid, &m0_lnet_nid_any, false);
	m0_list_for_each_entry(&gw->gw_routes, route, struct m0_lnet_route,
			       lrt_of_gateway) {
		/* A loop is one still if the ping comes back. */
		if (route->lrt_loop_until != 0)
			m0_lnet__paths_changed(eng);
		route->lrt_loop_until = 0;
		loop_ask(eng, route);
	}
}

/** Arms the timer for the first check that is due. */
static void checker_arm(struct m0_lnet_engine *eng)
{
	struct m0_lnet_routes        *all = m0_lnet__routes(eng);
	m0_time_t                     next = M0_TIME_NEVER;
	const struct m0_lnet_gateway *gw;

	M0_PRE(all->lrs_timer.ltm_fire != NULL);
	m0_list_for_each_entry(&all->lrs_gateways, gw, struct m0_lnet_gateway,
			       gw_link)
		next = min64u(next, gw->gw_check_at);
	if (next != M0_TIME_NEVER)
		m0_lnet__timer_arm(eng, &all->lrs_timer, next);
}

static void checker_fire(struct m0_lnet_engine *eng,
			 struct m0_lnet_timer *timer, m0_time_t now)
{
	struct m0_lnet_routes  *all = m0_lnet__routes(eng);
	struct m0_lnet_gateway *gw;

	M0_PRE(timer == &all->lrs_timer);
	if (all_of(eng)->dy_stopped)
		return;
	m0_list_for_each_entry(&all->lrs_gateways, gw, struct m0_lnet_gateway,
			       gw_link)
		if (gw->gw_check_at <= now)
			check(eng, gw);
	/* Time alone may have changed a route. */
	m0_lnet__routes_report(eng);
	checker_arm(eng);
}

void m0_lnet__gateway_new(struct m0_lnet_engine  *eng,
			  struct m0_lnet_gateway *gw)
{
	struct m0_lnet_timer *timer = &m0_lnet__routes(eng)->lrs_timer;

	M0_PRE(gw->gw_lpni != NULL);
	if (all_of(eng)->dy_stopped)
		return;
	/* The interfaces on the network of the new route are not known yet. */
	if (gw->gw_is_checked)
		gw->gw_check_at = eng->le_now;
	timer->ltm_fire = checker_fire;
	m0_lnet__timer_arm(eng, timer, M0_TIME_IMMEDIATELY);
}

void m0_lnet__route_gone(struct m0_lnet_route *route)
{
	m0_lnet__ask_drop(route->lrt_ask);
	route->lrt_ask = NULL;
}

void m0_lnet__checker_stop(struct m0_lnet_engine *eng)
{
	struct m0_lnet_routes *all = m0_lnet__routes(eng);
	struct m0_lnet_route  *route;

	M0_PRE(all_of(eng)->dy_stopped);
	m0_lnet__timer_cancel(eng, &all->lrs_timer);
	m0_list_for_each_entry(&all->lrs_routes, route, struct m0_lnet_route,
			       lrt_link)
		m0_lnet__route_gone(route);
}

void m0_lnet__gateway_lost(struct m0_lnet_engine  *eng,
			   struct m0_lnet_gateway *gw)
{
	if (all_of(eng)->dy_stopped ||
	    m0_lnet__routes(eng)->lrs_timer.ltm_fire == NULL)
		return;
	gw->gw_check_at = min64u(gw->gw_check_at, check_next(eng, gw));
	checker_arm(eng);
}
