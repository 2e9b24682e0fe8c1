/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Interfaces: adding, starting, stopping, and the calls of their drivers. */
#include "lnet/flow/again.h"
#include "lnet/flow/cut.h"

static struct m0_lnet_ni *ni_of(struct m0_lnd_ni *lnd_ni)
{
	return container_of(lnd_ni, struct m0_lnet_ni, lni_lnd);
}

/** Publishes a change of the NIs. `0@lo` is always part of the information. */
static void ni_publish(struct m0_lnet_ni *ni)
{
	if (ni != ni->lni_engine->le_lo &&
	    m0_lnet__ping_changed(ni->lni_engine))
		m0_lnet__discovery_renew(ni->lni_engine);
}

static void ni_free(struct m0_lnet_ni *ni)
{
	M0_PRE(ni->lni_stopping && !ni->lni_is_up);
	M0_ASSERT(ni->lni_msgs_nr == 0);
	M0_ASSERT(m0_list_is_empty(&ni->lni_queue));
	M0_ASSERT(ni->lni_credits == (int)ni->lni_lnd.ldn_credits);
	m0_lnet__timer_cancel(ni->lni_engine, &ni->lni_try_timer);
	if (ni->lni_health < M0_LNET_HEALTH_MAX)
		--ni->lni_engine->le_sick.lsk_nr;
	if (ni->lni_engine->le_lo == ni)
		ni->lni_engine->le_lo = NULL;
	m0_lnet__policy_ni_gone(ni->lni_engine, ni);
	m0_list_del(&ni->lni_link);
	m0_free(ni);
}

/* -- from the driver ------------------------------------------------------- */

static void lu_ni_status(struct m0_lnd_ni *lnd_ni)
{
	struct m0_lnet_ni *ni = ni_of(lnd_ni);

	M0_PRE(m0_lnet__ni_invariant(ni));
	m0_lnet__topology_changed(ni->lni_engine);
	if (m0_lnet__ni_is_usable(ni))
		ni_publish(ni);
	if (!lnd_ni->ldn_up)
		m0_lnet__rail_down(ni->lni_engine);
}

static void lu_ni_stopped(struct m0_lnd_ni *lnd_ni)
{
	struct m0_lnet_ni *ni = ni_of(lnd_ni);

	M0_PRE(ni->lni_stopping);
	ni_free(ni);
}

static const struct m0_lnd_guess_ops guess_ops = {
	.lgu_guess = m0_lnet__rx_guess,
	.lgu_guessed = m0_lnet__rx_guessed,
};

const struct m0_lnd_up_ops m0_lnet__up_ops = {
	.lu_tx_header = m0_lnet__tx_header,
	.lu_tx_done = m0_lnet__tx_done,
	.lu_rx_begin = m0_lnet__rx_begin,
	.lu_rx_more = m0_lnet__rx_more,
	.lu_rx_done = m0_lnet__rx_done,
	.lu_peer_down = m0_lnet__peer_down,
	.lu_ni_status = lu_ni_status,
	.lu_ni_stopped = lu_ni_stopped,
	.lu_guess = &guess_ops,
};

/* -- life ------------------------------------------------------------------ */

static void ni_init(struct m0_lnet_ni *ni, struct m0_lnet_engine *eng,
		    const struct m0_lnet_nid *nid, const char *device,
		    uint64_t incarnation, struct m0_lnd *lnd)
{
	const struct m0_lnet_engine_cfg *cfg = &eng->le_cfg;
	struct m0_lnd_ni                *ln = &ni->lni_lnd;

	ln->ldn_nid = *nid;
	ni->lni_nid4 = m0_lnet__nid4(nid);
	(void)m0_lnet_nid_print(nid, ni->lni_text, sizeof ni->lni_text);
	if (device != NULL)
		strncpy(ln->ldn_device, device, sizeof ln->ldn_device - 1);
	ln->ldn_incarnation = incarnation;
	if (!m0_lnet_nid_is_lo(nid)) {
		ln->ldn_credits = cfg->lec_credits;
		ln->ldn_peer_credits =
			min_check(cfg->lec_peer_credits, cfg->lec_credits);
	}
	ln->ldn_lnd = lnd;
	ln->ldn_ops = &m0_lnet__up_ops;
	ln->ldn_engine = eng;
	ni->lni_engine = eng;
	ni->lni_credits = (int)ln->ldn_credits;
	ni->lni_credits_low = ni->lni_credits;
	ni->lni_health = M0_LNET_HEALTH_MAX;
	ni->lni_pinged_at = eng->le_now;
	m0_list_init(&ni->lni_queue);
	m0_list_link_init(&ni->lni_link);
}

int m0_lnet_engine_ni_add(struct m0_lnet_engine    *eng,
			  const struct m0_lnet_nid *nid, const char *device,
			  uint64_t incarnation, struct m0_lnd *lnd,
			  struct m0_lnd_ni **ret)
{
	struct m0_lnet_ni *ni;

	M0_PRE(!m0_lnet_nid_is_any(nid));
	if (m0_lnet__ni_find(eng, nid) != NULL)
		return -EEXIST;
	M0_ALLOC_PTR(ni);
	if (ni == NULL)
		return -ENOMEM;
	ni_init(ni, eng, nid, device, incarnation, lnd);
	m0_list_add_tail(&eng->le_nis, &ni->lni_link);
	m0_lnet__policy_ni_new(eng, ni);
	/* The NID may have been a peer's. */
	m0_lnet__topology_changed(eng);
	if (m0_lnet_nid_is_lo(nid))
		eng->le_lo = ni;
	M0_POST(m0_lnet__ni_invariant(ni) && !m0_lnet__ni_is_usable(ni));
	*ret = &ni->lni_lnd;
	return 0;
}

void m0_lnet_engine_ni_credits(struct m0_lnd_ni *lnd_ni, unsigned peer_credits,
			       unsigned credits)
{
	struct m0_lnet_ni               *ni = ni_of(lnd_ni);
	const struct m0_lnet_engine_cfg *cfg = &ni->lni_engine->le_cfg;

	M0_PRE(!ni->lni_is_up && !ni->lni_stopping);
	M0_PRE(!m0_lnet_nid_is_lo(&lnd_ni->ldn_nid));
	if (credits == 0)
		credits = cfg->lec_credits;
	if (peer_credits == 0)
		peer_credits = cfg->lec_peer_credits;
	lnd_ni->ldn_credits = credits;
	lnd_ni->ldn_peer_credits = min_check(peer_credits, credits);
	ni->lni_credits = (int)credits;
	ni->lni_credits_low = ni->lni_credits;
	M0_POST(m0_lnet__ni_invariant(ni));
}

void m0_lnet_engine_ni_buffer_credits(struct m0_lnd_ni *lnd_ni,
				      unsigned          peer_buffer_credits)
{
	ni_of(lnd_ni)->lni_buffer_credits = peer_buffer_credits;
}

void m0_lnet_engine_ni_up(struct m0_lnet_engine *eng, struct m0_lnd_ni *lnd_ni)
{
	struct m0_lnet_ni *ni = ni_of(lnd_ni);

	M0_PRE(ni->lni_engine == eng && !ni->lni_is_up && !ni->lni_stopping);
	ni->lni_is_up = true;
	m0_lnet__topology_changed(eng);
	m0_lnet__peers_ni_new(eng);
	ni_publish(ni);
}

void m0_lnet_engine_ni_del(struct m0_lnet_engine *eng, struct m0_lnd_ni *lnd_ni)
{
	struct m0_lnet_ni *ni = ni_of(lnd_ni);
	bool               started = ni->lni_is_up;

	M0_PRE(ni->lni_engine == eng);
	M0_PRE(m0_lnet__ni_invariant(ni));
	if (ni->lni_stopping)
		return;
	ni->lni_stopping = true;
	ni->lni_is_up = false;
	m0_lnet__topology_changed(eng);
	m0_lnet__peers_ni_gone(eng, ni);
	m0_lnet__send_ni_flush(ni, -ENETDOWN);
	if (started)
		ni_publish(ni);
	if (started && lnd_ni->ldn_lnd != NULL)
		lnd_ni->ldn_lnd->ld_ops->ldo_ni_stop(lnd_ni);
	else
		ni_free(ni);
}
