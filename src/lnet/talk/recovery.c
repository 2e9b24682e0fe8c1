/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery of what is not healthy. A NID of a peer is pinged, by itself and not by
 * another NID of the peer, in intervals that double; what comes from it raises its
 * health. Of an NI the driver's report is asked instead: a ping to oneself would
 * only prove that the host has the address, which the driver knows.
 */
#include "lnet/flow/select.h"
#include "lnet/health/health.h"
#include "lnet/talk/ask.h"
#include "lnet/talk/discovery.h"

/** A recovery ping without an answer ends after this time. */
#define PING_NS (5 * M0_TIME_ONE_SECOND)

/** Returns the pause after the n-th try. */
static m0_time_t pause_of(const struct m0_lnet_engine *eng, unsigned tries_nr)
{
	m0_time_t most = eng->le_cfg.lec_health.lhe_ping_max_ns;

	return tries_nr > 20 ? most
			     : min64u(M0_TIME_ONE_SECOND << tries_nr, most);
}

static void asked(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask)
{
	struct m0_lnet_lpni *lpni = ask->as_user;

	M0_PRE(lpni->lpn_try == ask);
	lpni->lpn_try = NULL;
	m0_lnet__lpni_put(eng, lpni);
}

static void lpni_try(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	const struct m0_lnet_ni *ni = m0_lnet__ni_for(eng, &lpni->lpn_nid);

	lpni->lpn_try_at =
		m0_time_add(eng->le_now, pause_of(eng, ++lpni->lpn_tries_nr));
	if (ni == NULL || lpni->lpn_try != NULL)
		return;
	lpni->lpn_try = m0_lnet__ask_ping(eng, &lpni->lpn_nid,
					  &ni->lni_lnd.ldn_nid,
					  M0_LNET_PING_SINK_BYTES,
					  m0_time_add(eng->le_now, PING_NS),
					  asked, lpni);
	/* An ask begins later, never on this stack. */
	if (lpni->lpn_try != NULL)
		m0_lnet__lpni_hold(eng, lpni);
}

/** A NID that was never heard, or not for the limit, is given up. */
static bool is_given_up(const struct m0_lnet_engine *eng,
			const struct m0_lnet_lpni   *lpni)
{
	m0_time_t limit = eng->le_cfg.lec_health.lhe_limit_ns;

	return lpni->lpn_heard_at == 0 ||
	       (limit != 0 &&
		m0_time_add(lpni->lpn_heard_at, limit) <= eng->le_now);
}

static void ni_try(struct m0_lnet_ni *ni)
{
	struct m0_lnet_engine *eng = ni->lni_engine;

	ni->lni_try_at =
		m0_time_add(eng->le_now, pause_of(eng, ++ni->lni_tries_nr));
	if (!m0_lnet__ni_is_usable(ni) || !ni->lni_lnd.ldn_up)
		return;
	ni->lni_tries_nr = 0;
	ni->lni_try_at = m0_time_add(eng->le_now, M0_TIME_ONE_SECOND);
	m0_lnet__health_ni_raise(ni);
}

static void recovery_arm(struct m0_lnet_engine *eng)
{
	m0_time_t                  next = M0_TIME_NEVER;
	const struct m0_lnet_lpni *lpni;
	const struct m0_lnet_ni   *ni;

	m0_list_for_each_entry(&eng->le_sick.lsk_lpnis, lpni,
			       struct m0_lnet_lpni, lpn_sick_link)
		if (!is_given_up(eng, lpni))
			next = min64u(next, lpni->lpn_try_at);
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (ni->lni_health < M0_LNET_HEALTH_MAX)
			next = min64u(next, ni->lni_try_at);
	if (next != M0_TIME_NEVER)
		m0_lnet__timer_arm(eng, &eng->le_sick.lsk_timer, next);
}

static void recovery_fire(struct m0_lnet_engine *eng,
			  struct m0_lnet_timer *timer, m0_time_t now)
{
	struct m0_lnet_lpni *lpni;
	struct m0_lnet_ni   *ni;

	M0_PRE(timer == &eng->le_sick.lsk_timer);
	if (all_of(eng)->dy_stopped)
		return;
	m0_list_for_each_entry(&eng->le_sick.lsk_lpnis, lpni,
			       struct m0_lnet_lpni, lpn_sick_link)
		if (lpni->lpn_try_at <= now && !is_given_up(eng, lpni))
			lpni_try(eng, lpni);
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (ni->lni_health < M0_LNET_HEALTH_MAX &&
		    ni->lni_try_at <= now)
			ni_try(ni);
	recovery_arm(eng);
}

void m0_lnet__recovery_begin(struct m0_lnet_engine *eng)
{
	if (all_of(eng)->dy_stopped)
		return;
	eng->le_sick.lsk_timer.ltm_fire = recovery_fire;
	recovery_arm(eng);
}

void m0_lnet__recovery_stop(struct m0_lnet_engine *eng)
{
	struct m0_hash_link *at;
	struct m0_lnet_lpni *lpni;

	m0_lnet__timer_cancel(eng, &eng->le_sick.lsk_timer);
	for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
	     at = m0_hash_next(at)) {
		lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
		if (lpni->lpn_try == NULL)
			continue;
		m0_lnet__ask_drop(lpni->lpn_try);
		lpni->lpn_try = NULL;
		m0_lnet__lpni_put(eng, lpni);
	}
}
