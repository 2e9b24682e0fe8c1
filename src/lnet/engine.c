/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The engine as a whole: creation, shutdown, steps. */
#include "lnet/flow/again.h"
#include "lnet/flow/forward.h"
#include "lnet/flow/memo.h"

static const struct m0_lnet__hooks hooks = {
	.lhk_sent = m0_lnet__sent,
	.lhk_wait_end = m0_lnet__wait_end,
	.lhk_abort = m0_lnet__op_abort,
	.lhk_hop_lost = m0_lnet__hop_lost,
	.lhk_rail_down = m0_lnet__rail_down,
	.lhk_discovery_needed = m0_lnet__discovery_needed,
	.lhk_peer_lost = m0_lnet__discovery_lost,
	.lhk_peer_forget = m0_lnet__discovery_forget,
	.lhk_gateway_new = m0_lnet__gateway_new,
	.lhk_route_gone = m0_lnet__route_gone,
	.lhk_gateway_lost = m0_lnet__gateway_lost,
	.lhk_ni_sick = m0_lnet__recovery_ni,
	.lhk_lpni_sick = m0_lnet__recovery_lpni,
	.lhk_nis_publish = m0_lnet__nis_publish,
	.lhk_pinged = m0_lnet__routing_pinged,
	.lhk_push_room = m0_lnet__ping_sink_cut,
	.lhk_pushed = m0_lnet__discovery_pushed,
};

static int parts_init(struct m0_lnet_engine *eng)
{
	int rc;

	rc = m0_hash_keep(&eng->le_waiting);
	if (rc != 0)
		return rc;
	rc = m0_lnet__memos_init(eng);
	if (rc != 0)
		goto hash;
	rc = m0_lnet__portals_init(eng);
	if (rc != 0)
		goto memos;
	rc = m0_lnet__policies_init(eng);
	if (rc != 0)
		goto portals;
	rc = m0_lnet__peers_init(eng);
	if (rc != 0)
		goto policies;
	rc = m0_lnet__routes_init(eng);
	if (rc != 0)
		goto peers;
	rc = m0_lnet__router_init(eng);
	if (rc != 0)
		goto routes;
	rc = m0_lnet__ping_init(eng);
	if (rc != 0)
		goto router;
	rc = m0_lnet__discovery_init(eng);
	if (rc == 0)
		return 0;
	m0_lnet__ping_fini(eng);
router:
	m0_lnet__router_fini(eng);
routes:
	m0_lnet__routes_fini(eng);
peers:
	m0_lnet__peers_fini(eng);
policies:
	m0_lnet__policies_fini(eng);
portals:
	m0_lnet__portals_fini(eng);
memos:
	m0_lnet__memos_fini(eng);
hash:
	m0_hash_fini(&eng->le_waiting);
	return rc;
}

int m0_lnet_engine_create(struct m0_lnet_engine          **ret,
			  const struct m0_lnet_engine_cfg *cfg, m0_time_t now)
{
	struct m0_lnet_engine *eng;
	int                    rc;

	M0_PRE(cfg->lec_portals_nr > 0 && cfg->lec_peers_max > 0);
	M0_PRE(cfg->lec_owner_ops != NULL);
	M0_ALLOC_PTR(eng);
	if (eng == NULL)
		return -ENOMEM;
	eng->le_cfg = *cfg;
	eng->le_hooks = &hooks;
	eng->le_now = now;
	eng->le_cookie_next = 1;
	eng->le_timers_at = M0_TIME_NEVER;
	m0_timerq_init(&eng->le_timers, now);
	m0_list_init(&eng->le_nis);
	m0_hash_init(&eng->le_lpnis);
	m0_list_init(&eng->le_peers);
	m0_hash_init(&eng->le_waiting);
	m0_list_init(&eng->le_mes);
	m0_list_init(&eng->le_mds);
	m0_list_init(&eng->le_deferred);
	m0_list_init(&eng->le_sick.lsk_again);
	m0_list_init(&eng->le_sick.lsk_spread);
	m0_list_init(&eng->le_delayed);
	m0_list_init(&eng->le_dropped);
	eng->le_held_at = M0_TIME_NEVER;
	rc = parts_init(eng);
	if (rc != 0) {
		m0_free(eng);
		return rc;
	}
	M0_POST(m0_lnet__engine_invariant(eng));
	*ret = eng;
	return 0;
}

void m0_lnet_engine_destroy(struct m0_lnet_engine *eng)
{
	M0_PRE(m0_lnet__engine_invariant(eng));
	M0_PRE(m0_lnet_engine_is_quiet(eng));
	M0_PRE(m0_list_is_empty(&eng->le_nis));
	m0_lnet__faults_off(eng);
	m0_lnet__discovery_fini(eng);
	m0_lnet__ping_fini(eng);
	m0_lnet__router_fini(eng);
	m0_lnet__routes_fini(eng);
	m0_lnet__peers_fini(eng);
	m0_lnet__policies_fini(eng);
	m0_lnet__portals_fini(eng);
	m0_lnet__memos_fini(eng);
	M0_ASSERT(m0_list_is_empty(&eng->le_deferred));
	M0_ASSERT(m0_list_is_empty(&eng->le_sick.lsk_again));
	M0_ASSERT(m0_list_is_empty(&eng->le_sick.lsk_spread));
	M0_ASSERT(eng->le_sick.lsk_nr == 0);
	M0_ASSERT(m0_hash_nr(&eng->le_waiting) == 0);
	m0_hash_fini(&eng->le_waiting);
	m0_timerq_fini(&eng->le_timers);
	m0_free(eng);
}

void m0_lnet_engine_shutdown(struct m0_lnet_engine *eng, m0_time_t now)
{
	struct m0_list       todo;
	struct m0_list_link *link;

	M0_PRE(m0_lnet__engine_invariant(eng));
	if (eng->le_shutdown)
		return;
	eng->le_now = now;
	eng->le_shutdown = true;
	m0_lnet__discovery_stop(eng);
	m0_lnet__checker_stop(eng);
	m0_lnet__recovery_stop(eng);
	m0_lnet__routing_stop(eng);
	while ((link = m0_list_first(&eng->le_mes)) != NULL)
		m0_lnet_engine_me_unlink(
			eng, m0_list_entry(link, struct m0_lnet_me, me_all));
	/* MDs with messages at the driver stay in le_mds. */
	m0_list_init(&todo);
	m0_list_splice_tail(&todo, &eng->le_mds);
	while ((link = m0_list_first(&todo)) != NULL) {
		m0_list_move_tail(&eng->le_mds, link);
		m0_lnet_engine_md_unlink(
			eng, m0_list_entry(link, struct m0_lnet_md, md_link));
	}
	M0_POST(m0_list_is_empty(&eng->le_mes));
}

bool m0_lnet_engine_is_quiet(const struct m0_lnet_engine *eng)
{
	return eng->le_busy_nr == 0;
}

/* -------------------------------------------------------------------- time -- */

void m0_lnet_engine_time(struct m0_lnet_engine *eng, m0_time_t now)
{
	eng->le_now = now;
}

m0_time_t m0_lnet_engine_step(struct m0_lnet_engine *eng, m0_time_t now)
{
	M0_PRE_EX(m0_lnet__tables_invariant(eng));
	eng->le_now = now;
	if (M0_UNLIKELY(now >= eng->le_timers_at))
		m0_lnet__timers_expire(eng, now);
	m0_lnet__send_step(eng);
	M0_POST_EX(m0_lnet__tables_invariant(eng));
	return m0_list_is_empty(&eng->le_deferred) ? eng->le_timers_at : now;
}
