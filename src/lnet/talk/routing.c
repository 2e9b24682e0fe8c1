/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Routing on and off, and what a router reports of its interfaces. Peers learn by a
 * push that the node is a router, or is about to stop being one, before it stops.
 *
 * A router reports an interface down that is up, if no node of the network has pinged
 * the router for so long that there may be nobody: end nodes with a router checker
 * ping each interval.
 */
#include "lnet/flow/forward.h"
#include "lnet/talk/discovery.h"

/** How often a router looks at what time alone changes. */
#define TICK_NS (M0_TIME_ONE_SECOND / 4)
/** A router that stops forwards what comes for MIN, and until nothing was on its way
 * for QUIET, because what has left may be answered; at most for MAX. */
#define STOP_MIN_NS   (2 * M0_TIME_ONE_SECOND)
#define STOP_QUIET_NS M0_TIME_ONE_SECOND
#define STOP_MAX_NS   (10 * M0_TIME_ONE_SECOND)

void m0_lnet__nis_publish(struct m0_lnet_engine *eng)
{
	if (m0_lnet__ping_changed(eng))
		m0_lnet__discovery_renew(eng);
}

/* -- networks without a sign of life --------------------------------------- */

/** Returns the time after which a network without pings is silent; 0: never. */
static m0_time_t silence(const struct m0_lnet_engine *eng)
{
	const struct m0_lnet_route_cfg *cfg = &eng->le_cfg.lec_route;

	return cfg->lrc_check_ns == 0 ? 0
				      : cfg->lrc_check_ns + cfg->lrc_ping_ns;
}

static bool net_is_silent(const struct m0_lnet_engine *eng, uint32_t net,
			  m0_time_t limit)
{
	const struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (m0_lnet_nid_net(&ni->lni_lnd.ldn_nid) == net &&
		    eng->le_now < m0_time_add(ni->lni_pinged_at, limit))
			return false;
	return true;
}

static void nets_look(struct m0_lnet_engine *eng)
{
	m0_time_t          limit = silence(eng);
	bool               changed = false;
	struct m0_lnet_ni *ni;
	bool               silent;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		silent = limit != 0 && ni != eng->le_lo &&
			 m0_lnet__router(eng)->lrr_state !=
				 M0_LNET_ROUTING_OFF &&
			 net_is_silent(eng,
				       m0_lnet_nid_net(&ni->lni_lnd.ldn_nid),
				       limit);
		changed |= silent != ni->lni_is_silent;
		ni->lni_is_silent = silent;
	}
	if (changed)
		m0_lnet__nis_publish(eng);
}

void m0_lnet__routing_pinged(struct m0_lnet_engine *eng, struct m0_lnet_ni *ni)
{
	ni->lni_pinged_at = eng->le_now;
	if (ni->lni_is_silent)
		nets_look(eng);
}

/* -- on and off ------------------------------------------------------------ */

static void stopped(struct m0_lnet_engine *eng)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);

	router->lrr_state = M0_LNET_ROUTING_OFF;
	m0_lnet__timer_cancel(eng, &router->lrr_timer);
	m0_lnet__forwards_end(eng, -ECANCELED);
	m0_lnet__pools_trim(eng);
	nets_look(eng);
}

/** Returns true if a router that stops may end. */
static bool is_drained(struct m0_lnet_router *router, m0_time_t now)
{
	m0_time_t took = m0_time_sub(now, router->lrr_since);

	if (!m0_list_is_empty(&router->lrr_used) ||
	    router->lrr_forwarded_nr != router->lrr_seen_nr)
		router->lrr_busy_at = now;
	router->lrr_seen_nr = router->lrr_forwarded_nr;
	return took >= STOP_MAX_NS ||
	       (took >= STOP_MIN_NS &&
		m0_time_sub(now, router->lrr_busy_at) >= STOP_QUIET_NS);
}

static void router_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
			m0_time_t now)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);

	M0_PRE(router->lrr_state != M0_LNET_ROUTING_OFF);
	if (router->lrr_state == M0_LNET_ROUTING_STOPPING &&
	    is_drained(router, now)) {
		stopped(eng);
		return;
	}
	nets_look(eng);
	m0_lnet__timer_arm(eng, timer, m0_time_add(now, TICK_NS));
}

int m0_lnet_engine_routing_set(struct m0_lnet_engine *eng, bool on)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);
	struct m0_lnet_ni     *ni;

	if (eng->le_shutdown)
		return -ESHUTDOWN;
	if (on == (router->lrr_state == M0_LNET_ROUTING_ON) ||
	    (!on && router->lrr_state != M0_LNET_ROUTING_ON))
		return 0;
	router->lrr_state = on ? M0_LNET_ROUTING_ON : M0_LNET_ROUTING_STOPPING;
	router->lrr_since = eng->le_now;
	router->lrr_busy_at = eng->le_now;
	router->lrr_seen_nr = router->lrr_forwarded_nr;
	if (on)
		m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni,
				       lni_link)
			ni->lni_pinged_at = eng->le_now;
	router->lrr_timer.ltm_fire = router_fire;
	m0_lnet__timer_arm(eng, &router->lrr_timer,
			   m0_time_add(eng->le_now, TICK_NS));
	m0_lnet__nis_publish(eng);
	return 0;
}

void m0_lnet__routing_stop(struct m0_lnet_engine *eng)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);

	M0_PRE(eng->le_shutdown);
	router->lrr_state = M0_LNET_ROUTING_OFF;
	m0_lnet__timer_cancel(eng, &router->lrr_timer);
	m0_lnet__forwards_end(eng, -ESHUTDOWN);
}
