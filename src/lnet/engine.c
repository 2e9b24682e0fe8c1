/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The engine as a whole: its life, its time, its counters.
 */
#include "lnet/lnet_internal.h"

#define TICK_NS (UINT64_C(1) << M0_TIMERQ_TICK_SHIFT)

static int parts_init(struct m0_lnet_engine *eng)
{
	int rc;

	rc = m0_hash_keep(&eng->le_waiting);
	if (rc != 0)
		return rc;
	rc = m0_lnet__portals_init(eng);
	if (rc != 0)
		goto hash;
	rc = m0_lnet__peers_init(eng);
	if (rc != 0)
		goto portals;
	rc = m0_lnet__ping_init(eng);
	if (rc != 0)
		goto peers;
	rc = m0_lnet__discovery_init(eng);
	if (rc == 0)
		return 0;
	m0_lnet__ping_fini(eng);
peers:
	m0_lnet__peers_fini(eng);
portals:
	m0_lnet__portals_fini(eng);
hash:
	m0_hash_fini(&eng->le_waiting);
	return rc;
}

int m0_lnet_engine_create(struct m0_lnet_engine          **ret,
			  const struct m0_lnet_engine_cfg *cfg, m0_time_t now)
{
	struct m0_lnet_engine *eng;
	int                    rc;

	M0_ALLOC_PTR(eng);
	if (eng == NULL)
		return -ENOMEM;
	eng->le_cfg = *cfg;
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
	m0_list_init(&eng->le_delayed);
	m0_list_init(&eng->le_dropped);
	eng->le_held_at = M0_TIME_NEVER;
	rc = parts_init(eng);
	if (rc != 0) {
		m0_free(eng);
		return rc;
	}
	*ret = eng;
	return 0;
}

void m0_lnet_engine_destroy(struct m0_lnet_engine *eng)
{
	M0_PRE(m0_lnet_engine_is_quiet(eng));
	M0_PRE(m0_list_is_empty(&eng->le_nis));
	m0_lnet__faults_off(eng);
	m0_lnet__discovery_fini(eng);
	m0_lnet__ping_fini(eng);
	m0_lnet__peers_fini(eng);
	m0_lnet__portals_fini(eng);
	m0_hash_fini(&eng->le_waiting);
	m0_timerq_fini(&eng->le_timers);
	m0_free(eng);
}

void *m0_lnet_engine_home(const struct m0_lnet_engine *eng)
{
	return eng->le_cfg.lec_home;
}

void m0_lnet_engine_shutdown(struct m0_lnet_engine *eng, m0_time_t now)
{
	struct m0_list       todo;
	struct m0_list_link *link;

	if (eng->le_shutdown)
		return;
	eng->le_now = now;
	eng->le_shutdown = true;
	m0_lnet__discovery_stop(eng);
	while ((link = m0_list_first(&eng->le_mes)) != NULL)
		m0_lnet_engine_me_unlink(
			eng, m0_list_entry(link, struct m0_lnet_me, me_all));
	/* Those that the driver still has stay. */
	m0_list_init(&todo);
	m0_list_splice_tail(&todo, &eng->le_mds);
	while ((link = m0_list_first(&todo)) != NULL) {
		m0_list_move_tail(&eng->le_mds, link);
		m0_lnet_engine_md_unlink(
			eng, m0_list_entry(link, struct m0_lnet_md, md_link));
	}
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

static void timers_fire(struct m0_lnet_engine *eng, m0_time_t now)
{
	struct m0_lnet_timer *timer;
	struct m0_timer      *due;

	while ((due = m0_timerq_expire(&eng->le_timers, now)) != NULL) {
		timer = container_of(due, struct m0_lnet_timer, ltm_timer);
		timer->ltm_fire(eng, timer, now);
	}
	eng->le_timers_at = m0_timerq_next(&eng->le_timers);
}

m0_time_t m0_lnet_engine_step(struct m0_lnet_engine *eng, m0_time_t now)
{
	eng->le_now = now;
	if (M0_UNLIKELY(now >= eng->le_timers_at))
		timers_fire(eng, now);
	m0_lnet__send_step(eng);
	return m0_list_is_empty(&eng->le_deferred) ? eng->le_timers_at : now;
}

void m0_lnet__timer_arm(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
			m0_time_t deadline)
{
	/* Zeroed memory will do. */
	if (timer->ltm_timer.ti_link.ll_next == NULL)
		m0_timer_init(&timer->ltm_timer);
	m0_timerq_arm(&eng->le_timers, &timer->ltm_timer, deadline);
	/* It expires with the tick that is not before its deadline. */
	if (deadline != M0_TIME_NEVER)
		deadline = m0_time_add(deadline, TICK_NS - 1) & ~(TICK_NS - 1);
	eng->le_timers_at = min64u(eng->le_timers_at, deadline);
}

void m0_lnet__timer_cancel(struct m0_lnet_engine *eng,
			   struct m0_lnet_timer  *timer)
{
	if (timer->ltm_timer.ti_link.ll_next == NULL)
		return;
	m0_timerq_cancel(&eng->le_timers, &timer->ltm_timer);
	/* Else it may be too early: a step for nothing, and then it is right. */
	if (eng->le_timers.tq_nr == 0)
		eng->le_timers_at = M0_TIME_NEVER;
}

/* ---------------------------------------------------------------- counters -- */

void m0_lnet__failure_count(struct m0_lnet_failures *lf,
			    enum m0_lnd_health       health)
{
	/* In the order of the enumeration, without OK. */
	uint64_t *const counts[] = {
		[M0_LND_LOCAL_INTERRUPT] = &lf->lf_local_interrupt,
		[M0_LND_LOCAL_DROPPED] = &lf->lf_local_dropped,
		[M0_LND_LOCAL_ABORTED] = &lf->lf_local_aborted,
		[M0_LND_LOCAL_NO_ROUTE] = &lf->lf_local_no_route,
		[M0_LND_LOCAL_ERROR] = &lf->lf_local_error,
		[M0_LND_LOCAL_TIMEOUT] = &lf->lf_local_timeout,
		[M0_LND_REMOTE_ERROR] = &lf->lf_remote_error,
		[M0_LND_REMOTE_DROPPED] = &lf->lf_remote_dropped,
		[M0_LND_REMOTE_TIMEOUT] = &lf->lf_remote_timeout,
		[M0_LND_NETWORK_TIMEOUT] = &lf->lf_network_timeout,
	};

	if (health != M0_LND_OK && health < ARRAY_SIZE(counts))
		++*counts[health];
}

void m0_lnet__traffic_count(struct m0_lnet_msg_counts *counts, uint32_t type)
{
	switch (type) {
	case M0_LNET_ACK:
		++counts->lmc_ack;
		break;
	case M0_LNET_PUT:
		++counts->lmc_put;
		break;
	case M0_LNET_GET:
		++counts->lmc_get;
		break;
	default:
		++counts->lmc_reply;
		break;
	}
}
