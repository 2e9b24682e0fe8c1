/* SPDX-License-Identifier: Apache-2.0 OR MIT */
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

/** Returns true if nothing has come from the NID ever, or for longer than the limit:
 * the node gives up its recovery. */
static bool is_given_up(const struct m0_lnet_engine *eng,
			const struct m0_lnet_lpni   *lpni)
{
	m0_time_t limit = eng->le_cfg.lec_health.lhe_limit_ns;

	return lpni->lpn_alive_at == 0 ||
	       (limit != 0 &&
		m0_time_add(lpni->lpn_alive_at, limit) <= eng->le_now);
}

static void lpni_ask(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni)
{
	const struct m0_lnet_ni *ni = m0_lnet__ni_for(eng, &lpni->lpn_nid);

	if (ni == NULL || lpni->lpn_try != NULL)
		return;
	lpni->lpn_try = m0_lnet__ask_ping(eng, &lpni->lpn_nid,
					  &ni->lni_lnd.ldn_nid,
					  M0_LNET_PING_SINK_BYTES,
					  m0_time_add(eng->le_now, PING_NS),
					  asked, lpni);
	/* An ask ends later, never on this stack. */
	if (lpni->lpn_try != NULL)
		m0_lnet__lpni_hold(eng, lpni);
}

static void lpni_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		      m0_time_t now)
{
	struct m0_lnet_lpni *lpni =
		container_of(timer, struct m0_lnet_lpni, lpn_try_timer);

	M0_PRE(lpni->lpn_health < M0_LNET_HEALTH_MAX);
	if (is_given_up(eng, lpni))
		return;
	m0_lnet__timer_arm(eng, timer,
			   m0_time_add(now,
				       pause_of(eng, ++lpni->lpn_tries_nr)));
	lpni_ask(eng, lpni);
}

static void ni_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		    m0_time_t now)
{
	struct m0_lnet_ni *ni =
		container_of(timer, struct m0_lnet_ni, lni_try_timer);
	bool is_up = m0_lnet__ni_is_usable(ni) && ni->lni_lnd.ldn_up;

	M0_PRE(ni->lni_health < M0_LNET_HEALTH_MAX);
	ni->lni_tries_nr = is_up ? 0 : ni->lni_tries_nr + 1;
	m0_lnet__timer_arm(eng, timer,
			   m0_time_add(now, pause_of(eng, ni->lni_tries_nr)));
	if (is_up)
		m0_lnet__health_ni_raise(ni);
}

/** Arms the timer of a first try, if none is armed. */
static void try_later(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		      void (*fire)(struct m0_lnet_engine *eng,
				   struct m0_lnet_timer *timer, m0_time_t now))
{
	/* Zeroed memory is a timer that was never armed. */
	if (all_of(eng)->dy_stopped ||
	    (timer->ltm_fire != NULL && m0_timer_is_armed(&timer->ltm_timer)))
		return;
	timer->ltm_fire = fire;
	m0_lnet__timer_arm(eng, timer,
			   m0_time_add(eng->le_now, pause_of(eng, 0)));
}

void m0_lnet__recovery_ni(struct m0_lnet_ni *ni)
{
	M0_PRE(ni->lni_health < M0_LNET_HEALTH_MAX);
	try_later(ni->lni_engine, &ni->lni_try_timer, ni_fire);
}

void m0_lnet__recovery_lpni(struct m0_lnet_engine *eng,
			    struct m0_lnet_lpni   *lpni)
{
	M0_PRE(lpni->lpn_health < M0_LNET_HEALTH_MAX);
	try_later(eng, &lpni->lpn_try_timer, lpni_fire);
}

void m0_lnet__recovery_stop(struct m0_lnet_engine *eng)
{
	struct m0_hash_link *at;
	struct m0_lnet_lpni *lpni;
	struct m0_lnet_ni   *ni;

	M0_PRE(all_of(eng)->dy_stopped);
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		m0_lnet__timer_cancel(eng, &ni->lni_try_timer);
	for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
	     at = m0_hash_next(at)) {
		lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
		m0_lnet__timer_cancel(eng, &lpni->lpn_try_timer);
		if (lpni->lpn_try == NULL)
			continue;
		m0_lnet__ask_drop(lpni->lpn_try);
		lpni->lpn_try = NULL;
		m0_lnet__lpni_put(eng, lpni);
	}
}
