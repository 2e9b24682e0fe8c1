/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Life of an attached front, and its step.
 */
#include "front/pump_internal.h"

enum {
	/** Passes of a step, before other threads get the processor. */
	PASSES_MAX = 8,
	/** Time between two looks for the death of the server, by a thread that polls. */
	LOOK_NS = 10 * 1000 * 1000,
	/** Alignment of a table. */
	TABLE_ALIGN = 16
};

/* ------------------------------------------------------------------ step -- */

static bool server_is_gone(const struct m0_pump *pump)
{
	return __atomic_load_n(&pump->pmp_is_gone, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&pump->pmp_side->shs_words->shw_state.shl_word,
			       __ATOMIC_ACQUIRE) >= M0_SHARED_CLOSED;
}

/* Posts what the server has put. What it put before it ended is taken first. */
static bool up(struct m0_pump *pump)
{
	bool gone = m0_pump__is_open(pump) && server_is_gone(pump);
	bool any = false;

	if (m0_pump__is_open(pump)) {
		m0_pump__direct_before(pump);
		any = m0_pump__up(pump);
		any |= m0_pump__direct_after(pump);
	}
	if (gone && m0_pump__is_open(pump) &&
	    m0_shared_ready(pump->pmp_side, NULL) <= 0)
		m0_pump__end(pump);
	if (!m0_pump__is_open(pump) && pump->pmp_has_ends)
		any |= m0_pump__ends_post(pump);
	return any;
}

/* Wakes m0_lnet_close() when all events are delivered. */
static void close_look(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;

	M0_PRE_EX(lnet->fro_pump == pump);
	if (pump->pmp_is_notified || m0_pump__is_open(pump) ||
	    !M0_FRONT_GET(lnet->fro_embed.emb_is_closing) ||
	    pump->pmp_has_ends || !m0_ring_is_empty(&lnet->fro_up) ||
	    !m0_ring_is_empty(&pump->pmp_down))
		return;
	m0_front__notified_end(lnet);
	pump->pmp_is_notified = true;
	m0_semaphore_up(&lnet->fro_embed.emb_closed_sem);
}

static m0_time_t passes(struct m0_pump *pump, m0_time_t now)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	m0_time_t       next = M0_TIME_NEVER;
	bool            any = true;
	unsigned        i;

	M0_PRE_EX(m0_front__invariant(lnet));
	m0_mutex_lock(&pump->pmp_lock);
	if (lnet->fro_embed.emb_pushes) {
		(void)m0_pump__down(pump);
		m0_mutex_unlock(&pump->pmp_lock);
		return M0_TIME_IMMEDIATELY;
	}
	m0_pump__direct_look(pump, now);
	for (i = 0; any && i < PASSES_MAX; ++i) {
		any = up(pump);
		/* In each pass: the server drops messages beyond those that it
		 * knows to be taken. */
		if (m0_pump__is_open(pump))
			m0_pump__eqs_copy(pump);
		m0_mutex_unlock(&pump->pmp_lock);
		if (M0_UNLIKELY(m0_pump__nids_are_due(pump)))
			next = m0_pump__nids_ask(pump, now);
		if (m0_front__deliver(lnet))
			lnet->fro_embed.emb_did = true;
		m0_front__notified_end(lnet);
		(void)m0_front__runners_run(lnet, now);
		m0_mutex_lock(&pump->pmp_lock);
		any |= m0_pump__down(pump);
	}
	close_look(pump);
	next = min64u(next, m0_pump__direct_next(pump));
	m0_mutex_unlock(&pump->pmp_lock);
	if (!any && !pump->pmp_is_notified)
		next = min64u(next, m0_pump__again(pump, now));
	return any ? now : min64u(lnet->fro_run_at, next);
}

static void pump_post(struct m0_pump *pump)
{
	bool is_left = true;

	M0_PRE(pump->pmp_side != NULL);
	m0_mutex_lock(&pump->pmp_lock);
	if (m0_pump__is_open(pump)) {
		(void)m0_pump__down(pump);
		is_left = !m0_ring_is_empty(&pump->pmp_down) ||
			  m0_pump__direct_posted(pump) ||
			  !m0_pump__is_open(pump);
	}
	m0_mutex_unlock(&pump->pmp_lock);
	if (is_left) {
		M0_FRONT_SET(pump->pmp_lnet->fro_ring->rng_down.rqu_bell, 1);
		m0_front__wake(pump->pmp_lnet);
	}
}

/* pmp_lock is held. */
static bool has_work(const struct m0_pump *pump)
{
	if (!m0_pump__is_open(pump))
		return pump->pmp_has_ends;
	return server_is_gone(pump) ||
	       m0_shared_ready(pump->pmp_side, NULL) != 0 ||
	       m0_pump__direct_has_work(pump);
}

static bool pump_is_ready(struct m0_pump *pump)
{
	bool ready;

	m0_mutex_lock(&pump->pmp_lock);
	ready = has_work(pump);
	m0_mutex_unlock(&pump->pmp_lock);
	return ready;
}

/* The server is to ring. @return false: there is something to take already. */
static bool sleep_begin(struct m0_pump *pump)
{
	uint32_t bits = M0_SHARED_ENTRIES;
	bool     ok;

	m0_mutex_lock(&pump->pmp_lock);
	if (pump->pmp_waits_room || m0_pump__direct_waits_room(pump))
		bits |= M0_SHARED_ROOM;
	ok = m0_shared_sleep_begin(pump->pmp_side, bits);
	if (ok && !m0_pump__direct_sleep(pump)) {
		m0_shared_sleep_end(pump->pmp_side);
		ok = false;
	}
	m0_mutex_unlock(&pump->pmp_lock);
	return ok;
}

static void sleep_end(struct m0_pump *pump)
{
	m0_mutex_lock(&pump->pmp_lock);
	m0_shared_sleep_end(pump->pmp_side);
	m0_pump__direct_wake(pump);
	m0_mutex_unlock(&pump->pmp_lock);
}

static void death_look(struct m0_pump *pump)
{
	const struct m0_shared_side *side = pump->pmp_side;

	if (side->shs_host->shh_is_dead(side->shs_host_arg))
		__atomic_store_n(&pump->pmp_is_gone, true, __ATOMIC_RELEASE);
}

/* The strand that waits may be the front's own, which would look for the death. */
static void pump_turn(struct m0_pump *pump)
{
	m0_time_t now = m0_time_now();

	m0_mutex_lock(&pump->pmp_lock);
	if (now >= pump->pmp_turn_look_at && m0_pump__is_open(pump)) {
		pump->pmp_turn_look_at = m0_time_add(now, LOOK_NS);
		death_look(pump);
	}
	(void)up(pump);
	/* The second call rings for what both have put. */
	(void)m0_pump__down(pump);
	m0_mutex_unlock(&pump->pmp_lock);
}

/* A scheduler runs strands while this thread waits, and they may have to step the front,
 * or give it a thread, which then keeps fro_stepping. */
static void stepped_wait(struct m0_pump *pump, m0_time_t deadline)
{
	struct m0_lnet        *lnet = pump->pmp_lnet;
	struct m0_shared_side *side = pump->pmp_side;

	M0_PRE(M0_FRONT_GET(lnet->fro_stepping));
	M0_FRONT_SET(lnet->fro_stepping, false);
	(void)side->shs_host->shh_wait(side->shs_host_arg, deadline);
	M0_FRONT_SET(lnet->fro_stepping, true);
}

static void pump_sleep(struct m0_pump *pump, m0_time_t deadline)
{
	struct m0_shared_side       *side = pump->pmp_side;
	const struct m0_shared_host *host = side->shs_host;

	/* Nobody is there to be waited for. */
	if (!m0_pump__is_open(pump)) {
		m0_time_sleep(min64u(deadline,
				     m0_time_from_now(0, M0_TIME_ONE_MSEC)));
		return;
	}
	if (!sleep_begin(pump))
		return;
	if (!host->shh_is_dead(side->shs_host_arg) && !server_is_gone(pump)) {
		++side->shs_waits_nr;
		if (pump->pmp_host->puh_is_stepped)
			stepped_wait(pump, deadline);
		else
			(void)host->shh_wait(side->shs_host_arg, deadline);
	}
	sleep_end(pump);
	death_look(pump);
}

/*
 * A strand that is stepped sleeps between its steps. A thread that polls may never sleep, so
 * its steps look for the death of the server now and then.
 */
static m0_time_t pump_step(struct m0_pump *pump, m0_time_t now)
{
	m0_time_t next;

	if (m0_lnet_is_inline(pump->pmp_lnet)) {
		if (now >= pump->pmp_look_at && m0_pump__is_open(pump)) {
			pump->pmp_look_at = m0_time_add(now, LOOK_NS);
			death_look(pump);
		}
		return passes(pump, now);
	}
	if (!pump->pmp_host->puh_is_stepped)
		return passes(pump, now);
	sleep_end(pump);
	if (m0_pump__is_open(pump))
		death_look(pump);
	next = passes(pump, now);
	return m0_pump__is_open(pump) && next > now && !sleep_begin(pump)
		       ? now
		       : next;
}

static void pump_rouse(struct m0_pump *pump)
{
	if (pump->pmp_host->puh_rouse != NULL)
		pump->pmp_host->puh_rouse(pump->pmp_arg);
}

/* --------------------------------------------------------- a descriptor -- */

static int pump_fd(struct m0_pump *pump)
{
	return pump->pmp_host->puh_fd == NULL
		       ? -ENOSYS
		       : pump->pmp_host->puh_fd(pump->pmp_arg);
}

static void pump_disarm(struct m0_pump *pump)
{
	sleep_end(pump);
	pump->pmp_host->puh_fd_arm(pump->pmp_arg, M0_TIME_NEVER);
	if (m0_pump__is_open(pump))
		death_look(pump);
}

/* The server rings when it puts something, or ends. */
static void pump_arm(struct m0_pump *pump, m0_time_t next)
{
	M0_PRE(pump->pmp_host->puh_fd_arm != NULL);
	pump->pmp_host->puh_fd_arm(pump->pmp_arg, next);
	if (pump_is_ready(pump) ||
	    (m0_pump__is_open(pump) && !sleep_begin(pump)))
		pump_rouse(pump);
}

void m0_pump_end(struct m0_lnet *lnet)
{
	__atomic_store_n(&lnet->fro_pump->pmp_is_gone, true, __ATOMIC_RELEASE);
	m0_front__wake(lnet);
}

/* A strand that spins has set its sleep word, and would not see a death. */
void m0_pump_wake(struct m0_lnet *lnet)
{
	M0_PRE(lnet->fro_pump != NULL &&
	       lnet->fro_pump->pmp_host->puh_is_stepped);
	if (m0_lnet_is_inline(lnet))
		m0_front__wake(lnet);
	else
		m0_strand_wake(&lnet->fro_embed.emb_strand);
}

void m0_pump_turn(struct m0_lnet *lnet)
{
	pump_turn(lnet->fro_pump);
}

bool m0_pump_is_ended(const struct m0_lnet *lnet)
{
	return __atomic_load_n(&lnet->fro_pump->pmp_state, __ATOMIC_ACQUIRE) !=
		       M0_PUMP_OPEN ||
	       M0_FRONT_GET(lnet->fro_pump->pmp_again.pag_renews) !=
		       M0_PUMP_RENEWS_NOT;
}

bool m0_lnet_is_ended(const struct m0_lnet *lnet)
{
	return lnet->fro_pump != NULL && m0_pump_is_ended(lnet);
}

int m0_pump_nids_get(struct m0_lnet *lnet)
{
	return m0_front__nids_renew(lnet);
}

/* ------------------------------------------------------------------ life -- */

static void pump_free(struct m0_pump *pump)
{
	m0_pump__direct_free(pump);
	m0_free(pump->pmp_tables);
	m0_mutex_fini(&pump->pmp_lock);
	m0_free(pump);
}

/* Numbers of the front are those of the area. */
static void slots_bound(struct m0_front_slots *slots, uint32_t max,
			uint32_t *budget, uint32_t events_nr)
{
	slots->fss_max = min_check(slots->fss_max, max);
	slots->fss_budget = budget;
	slots->fss_events_nr = events_nr;
}

/*
 * The slots have the reserved events of what has a slot, so an operation that was
 * accepted finds them.
 */
static void bounds_set(struct m0_pump *pump)
{
	const struct m0_shared_cfg *cfg = &pump->pmp_side->shs_cfg;
	struct m0_lnet             *lnet = pump->pmp_lnet;
	uint32_t                   *budget = &pump->pmp_budget;

	*budget = cfg->shc_reserved_nr - M0_PUMP_OTHERS_NR;
	slots_bound(&lnet->fro_mes, cfg->shc_mes_max, budget, 1);
	slots_bound(&lnet->fro_mds, cfg->shc_mds_max, budget, 1);
	slots_bound(&lnet->fro_ops, cfg->shc_ops_max, budget,
		    M0_PUMP_OP_EVENTS_NR);
	slots_bound(&lnet->fro_controls, cfg->shc_controls_nr, budget, 1);
	slots_bound(&lnet->fro_eq_slots, cfg->shc_eqs_max, NULL, 0);
}

/* The place of a table in the memory of all. */
static void *table_at(uintptr_t *at, size_t nr, size_t bytes)
{
	uintptr_t ret = *at;

	*at += (nr * bytes + TABLE_ALIGN - 1) / TABLE_ALIGN * TABLE_ALIGN;
	return (void *)ret;
}

/* Sets the tables. @return their end */
static uintptr_t tables_set(struct m0_pump *pump, uintptr_t at)
{
	const struct m0_lnet       *lnet = pump->pmp_lnet;
	const struct m0_shared_cfg *cfg = &pump->pmp_side->shs_cfg;

	pump->pmp_mes =
		table_at(&at, lnet->fro_mes.fss_max, sizeof pump->pmp_mes[0]);
	pump->pmp_mds =
		table_at(&at, lnet->fro_mds.fss_max, sizeof pump->pmp_mds[0]);
	pump->pmp_ops =
		table_at(&at, lnet->fro_ops.fss_max, sizeof pump->pmp_ops[0]);
	pump->pmp_eqs = table_at(&at, lnet->fro_eq_slots.fss_max,
				 sizeof pump->pmp_eqs[0]);
	pump->pmp_controls = table_at(&at, lnet->fro_controls.fss_max,
				      sizeof pump->pmp_controls[0]);
	pump->pmp_regions = table_at(&at, cfg->shc_regions_max,
				     sizeof pump->pmp_regions[0]);
	pump->pmp_lazy = table_at(&at, lnet->fro_cfg.lc_portals_nr,
				  sizeof pump->pmp_lazy[0]);
	pump->pmp_others_max = cfg->shc_reserved_nr;
	pump->pmp_others =
		table_at(&at, pump->pmp_others_max, sizeof pump->pmp_others[0]);
	return at;
}

/* One allocation: the system gives the pages of a large one when they are used, and a
 * process that does little uses few of them. */
static int tables_make(struct m0_pump *pump)
{
	M0_PRE(pump->pmp_lnet->fro_mds.fss_max > 0);
	pump->pmp_tables = m0_alloc(tables_set(pump, 0));
	if (pump->pmp_tables == NULL)
		return -ENOMEM;
	(void)tables_set(pump, (uintptr_t)pump->pmp_tables);
	return 0;
}

/* Polled queues keep their events in the records, so there may be as many as all of
 * them have room for. */
static int incomings_bound(struct m0_pump *pump)
{
	const struct m0_shared_cfg *cfg = &pump->pmp_side->shs_cfg;
	struct m0_lnet             *lnet = pump->pmp_lnet;
	uint32_t                    max;
	int                         rc;

	M0_PRE(cfg->shc_incoming_nr > 0);
	max = (uint32_t)min64u((uint64_t)cfg->shc_eqs_max *
					       cfg->shc_incoming_nr +
				       M0_RING_ENTRIES_NR,
			       M0_SHARED_OBJECTS_MAX);
	m0_ring_view_fini(&lnet->fro_incomings);
	rc = m0_ring_view_init(&lnet->fro_incomings, max);
	m0_ring_view_fini(&lnet->fro_records[M0_RING_INCOMINGS]);
	if (rc == 0)
		rc = m0_ring_view_init(&lnet->fro_records[M0_RING_INCOMINGS],
				       max);
	return rc;
}

/* Tables of numbers are as large as the daemon allows, not as large as a node's. */
static void cfg_bound(struct m0_lnet_cfg         *cfg,
		      const struct m0_shared_cfg *shared)
{
	cfg->lc_mes_max = min_check(cfg->lc_mes_max, shared->shc_mes_max);
	cfg->lc_mds_max = min_check(cfg->lc_mds_max, shared->shc_mds_max);
}

static int front_init(struct m0_pump *pump, const struct m0_lnet_nid *nids,
		      unsigned nids_nr)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	int             rc;

	cfg_bound(&lnet->fro_cfg, &pump->pmp_side->shs_cfg);
	M0_ALLOC_ARR(lnet->fro_lazy, lnet->fro_cfg.lc_portals_nr);
	if (lnet->fro_lazy == NULL)
		return -ENOMEM;
	lnet->fro_nids.fns_nr = nids_nr;
	if (nids_nr > 0)
		memcpy(lnet->fro_nids.fns_nid, nids, nids_nr * sizeof nids[0]);
	rc = m0_front__ring_make(lnet);
	if (rc == 0)
		rc = m0_front__slots_make(lnet, 0);
	if (rc == 0)
		rc = m0_front__records_init(lnet);
	if (rc == 0)
		rc = incomings_bound(pump);
	if (rc != 0)
		return rc;
	m0_ring_in_init(&pump->pmp_down, &lnet->fro_ring->rng_down);
	m0_ring_out_init(&pump->pmp_up, &lnet->fro_ring->rng_up);
	bounds_set(pump);
	rc = tables_make(pump);
	return rc == 0 ? m0_pump__direct_make(pump) : rc;
}

static void pump_undo(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;

	lnet->fro_pump = NULL;
	m0_strand_fini(&lnet->fro_embed.emb_strand);
	m0_front__free(lnet);
	pump_free(pump);
}

static void pump_close(struct m0_lnet *lnet)
{
	struct m0_pump *pump = lnet->fro_pump;
	bool            last;

	M0_FRONT_SET(lnet->fro_embed.emb_is_closing, true);
	m0_front_leave(lnet);
	(void)m0_front__wait(lnet, &lnet->fro_embed.emb_closed_sem,
			     M0_TIME_NEVER);
	m0_os_zero_wait(&lnet->fro_embed.emb_controls_nr);
	if (!M0_FRONT_GET(lnet->fro_inline))
		m0_os_cpus_stop(&lnet->fro_embed.emb_cpus);
	m0_strand_fini(&lnet->fro_embed.emb_strand);
	m0_mutex_lock(&lnet->fro_lock);
	m0_front__eqs_leave(lnet);
	M0_FRONT_SET(lnet->fro_dead, true);
	/* Slots of events that are still queued go back without it. */
	lnet->fro_mes.fss_budget = NULL;
	lnet->fro_mds.fss_budget = NULL;
	lnet->fro_ops.fss_budget = NULL;
	lnet->fro_controls.fss_budget = NULL;
	last = m0_list_is_empty(&lnet->fro_eqs);
	m0_mutex_unlock(&lnet->fro_lock);
	if (pump->pmp_host->puh_closed != NULL)
		pump->pmp_host->puh_closed(pump->pmp_arg);
	if (last)
		m0_front__free(lnet);
	pump_free(pump);
}

static bool pump_may_have_thread(const struct m0_pump *pump)
{
	return pump->pmp_host->puh_rouse != NULL;
}

static const struct m0_front_apart_ops pump_ops = {
	.fao_step = pump_step,
	.fao_is_ready = pump_is_ready,
	.fao_turn = pump_turn,
	.fao_post = pump_post,
	.fao_sleep = pump_sleep,
	.fao_rouse = pump_rouse,
	.fao_fd = pump_fd,
	.fao_disarm = pump_disarm,
	.fao_arm = pump_arm,
	.fao_may_have_thread = pump_may_have_thread,
	.fao_close = pump_close,
	.fao_region_take = m0_pump__region_take,
	.fao_region_put = m0_pump__region_put,
	.fao_region_share = m0_pump__region_share,
	.fao_region_of = m0_pump__region_of,
	.fao_comes_again = m0_pump__comes_again,
	.fao_takes = m0_pump__takes,
	.fao_region_do = m0_pump__region_do,
	.fao_tm_do = m0_pump__tm_do,
};

int m0_pump_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
		 struct m0_shared_side *side, const struct m0_lnet_nid *nids,
		 unsigned nids_nr, const struct m0_pump_host *host, void *arg)
{
	struct m0_pump *pump;
	struct m0_lnet *lnet;
	int             rc;

	M0_PRE(side->shs_role == M0_SHARED_CLIENT);
	M0_PRE(nids_nr <= ARRAY_SIZE(lnet->fro_nids.fns_nid));
	if (side->shs_cfg.shc_control_bytes < sizeof(struct m0_ring_control))
		return -EINVAL;
	M0_ALLOC_PTR(pump);
	lnet = m0_front__new(cfg, &m0_front__attached_ops);
	if (pump == NULL || lnet == NULL) {
		if (lnet != NULL) {
			m0_strand_fini(&lnet->fro_embed.emb_strand);
			m0_front__free(lnet);
		}
		m0_free(pump);
		return -ENOMEM;
	}
	lnet->fro_cfg.lc_portals_nr = side->shs_cfg.shc_portals_nr;
	lnet->fro_pump = pump;
	lnet->fro_embed.emb_apart = &pump_ops;
	pump->pmp_lnet = lnet;
	m0_mutex_init(&pump->pmp_lock);
	m0_list_init(&pump->pmp_tms);
	pump->pmp_side = side;
	pump->pmp_host = host;
	pump->pmp_arg = arg;
	pump->pmp_nids.pnq_seen = m0_pump__nids_word(pump);
	pump->pmp_req.srq_opcode = M0_SHARED_CLOSE;
	rc = front_init(pump, nids, nids_nr);
	if (rc == 0)
		*ret = lnet;
	else
		pump_undo(pump);
	return rc;
}
