/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/health/health.h"
#include "lnet/route/route.h"
#include "lnet/route/router.h"

const struct m0_lnet__reaction *m0_lnet__health_reaction(
	enum m0_lnd_health health)
{
	static const struct m0_lnet__reaction none;
	/* Local, remote, again. */
	static const struct m0_lnet__reaction table[] = {
		[M0_LND_LOCAL_INTERRUPT] = { true, false, true },
		[M0_LND_LOCAL_DROPPED] = { true, false, true },
		[M0_LND_LOCAL_ABORTED] = { true, false, true },
		[M0_LND_LOCAL_NO_ROUTE] = { true, false, true },
		[M0_LND_LOCAL_ERROR] = { true, false, false },
		[M0_LND_LOCAL_TIMEOUT] = { true, false, true },
		[M0_LND_REMOTE_ERROR] = { false, true, false },
		[M0_LND_REMOTE_DROPPED] = { false, true, true },
		[M0_LND_REMOTE_TIMEOUT] = { false, true, false },
		[M0_LND_NETWORK_TIMEOUT] = { true, true, false },
	};

	return (unsigned)health < ARRAY_SIZE(table) ? &table[health] : &none;
}

static unsigned sensitivity(const struct m0_lnet_engine *eng)
{
	return eng->le_cfg.lec_health.lhe_sensitivity;
}

static unsigned lowered(const struct m0_lnet_engine *eng, unsigned health)
{
	return health - min_check(health, sensitivity(eng));
}

static unsigned raised(const struct m0_lnet_engine *eng, unsigned health)
{
	return min_check(health + sensitivity(eng),
			 (unsigned)M0_LNET_HEALTH_MAX);
}

/** Counts an object that has become sick, or well. */
static void sick_count(struct m0_lnet_engine *eng, bool was_sick, bool is_sick)
{
	M0_PRE(eng->le_sick.lsk_nr > 0 || !was_sick);
	eng->le_sick.lsk_nr = eng->le_sick.lsk_nr - was_sick + is_sick;
	m0_lnet__topology_changed(eng);
}

/** Nothing is forwarded by `0@lo`, and no peer is notified of it. */
static bool is_lo(const struct m0_lnet_ni *ni)
{
	return ni == ni->lni_engine->le_lo;
}

void m0_lnet__health_ni_set(struct m0_lnet_ni *ni, unsigned health)
{
	struct m0_lnet_engine *eng = ni->lni_engine;
	bool                   was_sick = ni->lni_health < M0_LNET_HEALTH_MAX;
	bool                   was_down = ni->lni_is_sick;

	M0_PRE(health <= M0_LNET_HEALTH_MAX);
	if (health == ni->lni_health || is_lo(ni))
		return;
	ni->lni_health = health;
	if (health == 0)
		ni->lni_is_sick = true;
	else if (health == M0_LNET_HEALTH_MAX)
		ni->lni_is_sick = false;
	if (!was_sick)
		ni->lni_tries_nr = 0;
	sick_count(eng, was_sick, health < M0_LNET_HEALTH_MAX);
	if (health < M0_LNET_HEALTH_MAX)
		eng->le_hooks->lhk_ni_sick(ni);
	else
		m0_lnet__timer_cancel(eng, &ni->lni_try_timer);
	if (ni->lni_is_sick == was_down)
		return;
	m0_log(was_down ? M0_LOG_INFO : M0_LOG_WARN,
	       "lnet: the interface %s is %s", ni->lni_text,
	       was_down ? "well again"
			: "reported down: too many messages failed");
	eng->le_hooks->lhk_nis_publish(eng);
}

void m0_lnet__health_ni_raise(struct m0_lnet_ni *ni)
{
	m0_lnet__health_ni_set(ni, raised(ni->lni_engine, ni->lni_health));
}

void m0_lnet__health_lpni_set(struct m0_lnet_engine *eng,
			      struct m0_lnet_lpni *lpni, unsigned health)
{
	bool was_sick = lpni->lpn_health < M0_LNET_HEALTH_MAX;

	M0_PRE(health <= M0_LNET_HEALTH_MAX);
	if (health == lpni->lpn_health)
		return;
	lpni->lpn_health = health;
	if (!was_sick)
		lpni->lpn_tries_nr = 0;
	sick_count(eng, was_sick, health < M0_LNET_HEALTH_MAX);
	if (health < M0_LNET_HEALTH_MAX)
		eng->le_hooks->lhk_lpni_sick(eng, lpni);
	else
		m0_lnet__timer_cancel(eng, &lpni->lpn_try_timer);
}

/** Returns true if this node forwards by the peer, or for it. */
static bool is_routed(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_lpni   *lpni)
{
	return m0_lnet__router(eng)->lrr_state == M0_LNET_ROUTING_ON ||
	       m0_lnet__peer_is_gateway(lpni->lpn_peer);
}

/** A peer with one NID leaves no choice: its health would only be noise. */
static void lpni_failed(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	const struct m0_list *nids = &lpni->lpn_peer->lpe_lpnis;

	if (m0_list_link_is_last(m0_list_first(nids), nids) &&
	    !is_routed(eng, lpni))
		return;
	m0_lnet__health_lpni_set(eng, lpni, lowered(eng, lpni->lpn_health));
}

void m0_lnet__health_failed(struct m0_lnet_ni *ni, struct m0_lnet_lpni *lpni,
			    enum m0_lnd_health health)
{
	const struct m0_lnet__reaction *to = m0_lnet__health_reaction(health);
	struct m0_lnet_engine          *eng = ni->lni_engine;

	if (to->rea_local)
		m0_lnet__health_ni_set(ni, lowered(eng, ni->lni_health));
	if (to->rea_remote && lpni != NULL)
		lpni_failed(eng, lpni);
}

void m0_lnet__health_overdue(struct m0_lnet_engine    *eng,
			     const struct m0_lnet_nid *hop)
{
	struct m0_lnet_lpni *lpni = m0_lnet__lpni_find(eng, hop);

	if (lpni != NULL)
		lpni_failed(eng, lpni);
}

void m0_lnet__health_sent_slow(struct m0_lnet_ni *ni)
{
	m0_lnet__health_ni_raise(ni);
}

void m0_lnet__health_received_slow(struct m0_lnet_ni   *ni,
				   struct m0_lnet_lpni *lpni)
{
	struct m0_lnet_engine *eng = ni->lni_engine;

	m0_lnet__health_ni_raise(ni);
	if (lpni == NULL || lpni->lpn_health == M0_LNET_HEALTH_MAX)
		return;
	lpni->lpn_tries_nr = 0;
	m0_lnet__health_lpni_set(eng, lpni,
				 is_routed(eng, lpni)
					 ? (unsigned)M0_LNET_HEALTH_MAX
					 : raised(eng, lpni->lpn_health));
}
