/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A front that attaches again (lc_reattach_ns). When everything that was outstanding has
 * ended and its events are delivered, the host looks for a daemon now and then. Once it
 * has one, the front registers its memory and claims its numbers again, one request at a
 * time, and asks for the NIDs. Only then it accepts operations again. A failure meanwhile
 * ends the attachment once more.
 */
#include "front/pump_internal.h"
#include "m0/log.h"

enum {
	/** Time between two looks for a daemon, at first, and at most. */
	LOOK_NS_MIN = 5 * 1000 * 1000,
	LOOK_NS_MAX = 500 * 1000 * 1000,
	/** An attachment that has lasted so long begins anew with the least time. */
	LASTED_NS = 1000 * 1000 * 1000,
	/** Time between two looks at the answer of a daemon. */
	ANSWER_NS = 1000 * 1000
};

/* --------------------------------------------------------- begin and end -- */

bool m0_pump__comes_again(const struct m0_pump *pump)
{
	return pump->pmp_lnet->fro_cfg.lc_reattach_ns > 0 &&
	       pump->pmp_host->puh_again != NULL &&
	       !M0_FRONT_GET(pump->pmp_again.pag_gives_up) &&
	       !M0_FRONT_GET(pump->pmp_lnet->fro_embed.emb_is_closing);
}

static void give_up(struct m0_pump *pump, const char *why)
{
	M0_PRE(!pump->pmp_again.pag_gives_up && why != NULL);
	M0_FRONT_SET(pump->pmp_again.pag_gives_up, true);
	m0_log(M0_LOG_ERROR,
	       "the process does not attach to a node any more: %s", why);
}

/* The side is that of a new attachment. Nothing is on it. */
static void renew_begin(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	void           *arg = pump->pmp_arg;
	uint32_t        nr;

	m0_mutex_lock(&pump->pmp_lock);
	M0_ASSERT(pump->pmp_others_nr == 0 && !pump->pmp_has_extra);
	m0_mutex_lock(&lnet->fro_lock);
	pump->pmp_side = pump->pmp_host->puh_swap(&arg);
	/* Threads read it. */
	if (arg != pump->pmp_arg)
		pump->pmp_arg = arg;
	++lnet->fro_embed.emb_epoch;
	lnet->fro_embed.emb_renews = true;
	m0_mutex_unlock(&lnet->fro_lock);
	for (nr = 0; nr < pump->pmp_eqs_end; ++nr)
		pump->pmp_eqs[nr].peq_gen = 0;
	pump->pmp_waits_room = false;
	pump->pmp_again.pag_nr = 0;
	pump->pmp_again.pag_rc = 0;
	pump->pmp_nids.pnq_seen = m0_pump__nids_word(pump);
	pump->pmp_nids.pnq_at = 0;
	__atomic_store_n(&pump->pmp_is_gone, false, __ATOMIC_RELEASE);
	M0_FRONT_SET(pump->pmp_again.pag_renews, M0_PUMP_RENEWS_MEMORY);
	__atomic_store_n(&pump->pmp_state, M0_PUMP_OPEN, __ATOMIC_RELEASE);
	m0_mutex_unlock(&pump->pmp_lock);
}

/* Returns true if everything has ended and all events are delivered. The step has run
 * the runners since. */
static bool is_over(const struct m0_pump *pump)
{
	return !m0_pump__is_open(pump) && !pump->pmp_has_ends &&
	       m0_ring_is_empty(&pump->pmp_lnet->fro_up) &&
	       m0_ring_is_empty(&pump->pmp_down);
}

/* Looks for a daemon. @return when to do that again */
static m0_time_t look(struct m0_pump *pump, m0_time_t now)
{
	int rc;

	if (pump->pmp_again.pag_until == 0) {
		if (now >= m0_time_add(pump->pmp_again.pag_begun_at, LASTED_NS))
			pump->pmp_again.pag_ns = LOOK_NS_MIN;
		pump->pmp_again.pag_until = m0_time_add(
			now, pump->pmp_lnet->fro_cfg.lc_reattach_ns);
	}
	if (pump->pmp_again.pag_at == 0)
		pump->pmp_again.pag_at =
			m0_time_add(now, pump->pmp_again.pag_ns);
	if (now < pump->pmp_again.pag_at)
		return pump->pmp_again.pag_at;
	rc = pump->pmp_host->puh_again(pump->pmp_arg, now);
	if (rc == 0) {
		pump->pmp_again.pag_begun_at = now;
		renew_begin(pump);
		return now;
	}
	if (rc == -EPROTO)
		give_up(pump, "its daemon is another one");
	else if (now >= pump->pmp_again.pag_until)
		give_up(pump,
			"no daemon has come in the time of lc_reattach_ns");
	if (pump->pmp_again.pag_gives_up)
		return M0_TIME_NEVER;
	if (rc == -EINPROGRESS) {
		pump->pmp_again.pag_at = m0_time_add(now, ANSWER_NS);
	} else {
		pump->pmp_again.pag_at =
			m0_time_add(now, pump->pmp_again.pag_ns);
		pump->pmp_again.pag_ns =
			min64u(2 * pump->pmp_again.pag_ns, LOOK_NS_MAX);
	}
	return pump->pmp_again.pag_at;
}

/* ---------------------------------------------------------------- renewal -- */

static bool has_room(struct m0_pump *pump)
{
	bool ok;

	m0_mutex_lock(&pump->pmp_lock);
	ok = m0_shared_reserve(pump->pmp_side, 1, NULL) == 0;
	m0_mutex_unlock(&pump->pmp_lock);
	return ok;
}

/* Gives the next region. @return 0: there was none; 1; a negative errno */
static int memory_renew(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	void           *addr;
	uint64_t        bytes;
	uint32_t        nr;
	int             rc;

	if (!has_room(pump))
		return 1;
	nr = m0_front__mem_next(lnet, &addr, &bytes);
	if (nr == 0)
		return 0;
	/* Without locks: it waits for the daemon. */
	rc = m0_pump__takes(pump) != M0_FRONT_TAKES_NAMES
		     ? m0_pump__region_share(pump, nr, addr, bytes)
		     : 0;
	/* Another thread has given it. */
	if (rc != 0 && rc != -EEXIST)
		return m0_front__mem_refused(lnet, nr, rc) ?: 1;
	m0_mutex_lock(&pump->pmp_lock);
	if (m0_pump__is_open(pump) &&
	    m0_shared_reserve(pump->pmp_side, 1, NULL) == 0)
		m0_pump__region_do(pump, true, nr, bytes);
	m0_mutex_unlock(&pump->pmp_lock);
	return 1;
}

static int numbers_renew(struct m0_pump *pump)
{
	struct m0_front_tm *tm;
	int                 rc;

	if (!has_room(pump))
		return 1;
	rc = m0_front__tm_again(pump->pmp_lnet, &tm);
	if (rc <= 0)
		return rc;
	m0_mutex_lock(&pump->pmp_lock);
	m0_pump__tm_do(pump, tm);
	m0_mutex_unlock(&pump->pmp_lock);
	return 1;
}

/* Asked for without end until there are some: the server counts anew. */
static int nids_renew(struct m0_pump *pump, m0_time_t now, m0_time_t *next)
{
	if (pump->pmp_nids.pnq_asks)
		return 1;
	if (pump->pmp_again.pag_nr == 0 || pump->pmp_nids.pnq_again) {
		pump->pmp_again.pag_nr = 1;
		*next = m0_pump__nids_ask(pump, now);
		return 1;
	}
	return 0;
}

/* Portals that were lazy. */
static int lazy_renew(struct m0_pump *pump)
{
	uint32_t max = pump->pmp_lnet->fro_cfg.lc_portals_nr;
	bool     ok = true;

	m0_mutex_lock(&pump->pmp_lock);
	while (ok && pump->pmp_again.pag_nr < max) {
		if (pump->pmp_lazy[pump->pmp_again.pag_nr] &&
		    m0_pump__is_open(pump))
			ok = m0_pump__lazy_send(pump, pump->pmp_again.pag_nr,
						M0_SHARED_LAZY_WANTED) == 0;
		pump->pmp_again.pag_nr += ok;
	}
	m0_mutex_unlock(&pump->pmp_lock);
	return !ok;
}

/* Operations are accepted from here on. */
static void renew_end(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	bool            closes;
	bool            is_open;
	bool            is_owed;

	M0_PRE(pump->pmp_again.pag_renews != M0_PUMP_RENEWS_NOT);
	/* Before anybody can use it, or register it again. */
	m0_front__mems_left(lnet);
	m0_mutex_lock(&pump->pmp_lock);
	m0_mutex_lock(&lnet->fro_lock);
	/* m0_lnet_close() has found the front shut, and does not ask for the end. */
	closes = M0_FRONT_GET(lnet->fro_embed.emb_is_closing);
	is_owed = m0_front__mem_is_owed(lnet);
	is_open = !closes && m0_pump__is_open(pump) && !is_owed &&
		  !m0_front__mem_is_left(lnet);
	if (is_open) {
		lnet->fro_shut = false;
		lnet->fro_embed.emb_renews = false;
		pump->pmp_again.pag_until = 0;
		M0_FRONT_SET(pump->pmp_again.pag_renews, M0_PUMP_RENEWS_NOT);
	} else if (is_owed) {
		/* Memory that came meanwhile. */
		M0_FRONT_SET(pump->pmp_again.pag_renews, M0_PUMP_RENEWS_MEMORY);
	}
	m0_mutex_unlock(&lnet->fro_lock);
	if (closes && m0_pump__is_open(pump))
		m0_pump__end(pump);
	m0_mutex_unlock(&pump->pmp_lock);
	if (!is_open)
		return;
	m0_log(M0_LOG_INFO, "the process is attached to a node again");
	m0_front__runners_wake(lnet);
}

static int renew_do(struct m0_pump *pump, m0_time_t now, m0_time_t *next)
{
	switch (pump->pmp_again.pag_renews) {
	case M0_PUMP_RENEWS_MEMORY:
		return memory_renew(pump);
	case M0_PUMP_RENEWS_NUMBERS:
		return numbers_renew(pump);
	case M0_PUMP_RENEWS_NIDS:
		return nids_renew(pump, now, next);
	default:
		return lazy_renew(pump);
	}
}

static void renew_fail(struct m0_pump *pump, int rc)
{
	/* The new daemon has ended, too, or hangs. */
	if (!M0_IN(rc, (-ESHUTDOWN, -ETIMEDOUT)))
		give_up(pump, m0_errname(rc));
	m0_mutex_lock(&pump->pmp_lock);
	if (m0_pump__is_open(pump))
		m0_pump__end(pump);
	m0_mutex_unlock(&pump->pmp_lock);
}

static m0_time_t renew_step(struct m0_pump *pump, m0_time_t now)
{
	m0_time_t next = M0_TIME_NEVER;
	int       rc = 0;

	M0_PRE(m0_pump__is_open(pump));
	if (M0_FRONT_GET(pump->pmp_lnet->fro_embed.emb_is_closing)) {
		renew_end(pump);
		return now;
	}
	/* One request at a time. */
	if (pump->pmp_others_nr > 0)
		return next;
	if (pump->pmp_again.pag_rc == 0)
		rc = renew_do(pump, now, &next);
	if (rc > 0)
		return pump->pmp_others_nr > 0 || pump->pmp_nids.pnq_asks ? next
									  : now;
	if (rc < 0 || pump->pmp_again.pag_rc != 0) {
		renew_fail(pump, rc < 0 ? rc : pump->pmp_again.pag_rc);
		return now;
	}
	pump->pmp_again.pag_nr = 0;
	if (pump->pmp_again.pag_renews == M0_PUMP_RENEWS_LAZY)
		renew_end(pump);
	else
		M0_FRONT_SET(pump->pmp_again.pag_renews,
			     pump->pmp_again.pag_renews + 1);
	return now;
}

m0_time_t m0_pump__again(struct m0_pump *pump, m0_time_t now)
{
	if (m0_pump__is_open(pump))
		return pump->pmp_again.pag_renews == M0_PUMP_RENEWS_NOT
			       ? M0_TIME_NEVER
			       : renew_step(pump, now);
	if (!m0_pump__comes_again(pump) || !is_over(pump))
		return M0_TIME_NEVER;
	return look(pump, now);
}
