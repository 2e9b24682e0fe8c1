/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Life of an attachment, and the runner that takes what the process has put.
 */
#include "serve/serve_internal.h"

enum {
	/** Operations of a process that a pass carries out, before it is the turn of
	 * others; if a message waits for them, as many as the queue may have. */
	PASS_MAX = 64,
	/** Time for which messages wait for MDs that a process holds. Until it answers no
	 * other one does. */
	RECALL_NS = 20 * 1000 * 1000,
	RECALLS_ROW_MAX = 3
};

const struct m0_serve_cfg m0_serve_cfg_default = {
	.svg_shared = { .shc_down_nr = 256,
			.shc_up_nr = 2048,
			.shc_reserved_nr = 1536,
			.shc_incoming_nr = 512,
			.shc_portals_nr = 64,
			.shc_mes_max = 4096,
			.shc_mds_max = 4096,
			.shc_ops_max = 4096,
			.shc_eqs_max = 64,
			.shc_regions_max = 256,
			.shc_controls_nr = 16,
			.shc_control_bytes = 2112 },
	.svg_bytes_max = UINT64_C(1) << 30,
	.svg_right = M0_SHARED_RIGHT_PROBE,
	.svg_spin_ns = 50 * M0_TIME_ONE_USEC,
	.svg_portals = { { { 0, UINT32_MAX } }, 1 },
	.svg_tmids = { { { 0, UINT32_MAX } }, 1 },
};

/* ---------------------------------------------------------------- runner -- */

/* Carries out the next operation. @return 1; 0: there is none; -EPROTO, -ENOMEM */
static int request_take(struct m0_serve *srv)
{
	struct m0_shared_side *side = &srv->srv_side;
	int nr = m0_shared_request_get(side, &srv->srv_req, &srv->srv_why);
	int rc;

	if (nr <= 0)
		return nr;
	rc = m0_shared_owe(side, m0_shared_events_nr(&srv->srv_req),
			   &srv->srv_why);
	if (rc != 0)
		return rc;
	rc = m0_serve__do(srv);
	m0_shared_release(side, (uint32_t)nr, 0);
	return rc != 0 ? rc : 1;
}

static void ending_begin(struct m0_serve *srv)
{
	srv->srv_state = M0_SERVE_ENDING;
	__atomic_store_n(&srv->srv_side.shs_words->shw_state.shl_word,
			 M0_SHARED_DRAINING, __ATOMIC_RELEASE);
	m0_serve__unlink_all(srv);
	m0_serve__copies_cut(srv);
}

/* Notifies the owner, once, when all that the server held has ended. */
static void ending_look(struct m0_serve *srv)
{
	if (srv->srv_state != M0_SERVE_ENDING || srv->srv_mds_nr > 0)
		return;
	m0_serve__tms_end(srv);
	srv->srv_state = M0_SERVE_ENDED;
	__atomic_store_n(&srv->srv_side.shs_words->shw_state.shl_word,
			 M0_SHARED_CLOSED, __ATOMIC_RELEASE);
	m0_serve__copies_end(srv);
	srv->srv_side.shs_host->shh_wake(srv->srv_side.shs_host_arg);
	srv->srv_ops->svo_ended(srv);
}

/* Nothing is there to take. @return when to look again. */
static m0_time_t idle(struct m0_serve *srv, m0_time_t now)
{
	if (now < m0_time_add(srv->srv_busy_at, srv->srv_cfg.svg_spin_ns)) {
		m0_shared_bell(&srv->srv_side);
		return now;
	}
	return m0_shared_sleep_begin(&srv->srv_side, M0_SHARED_ENTRIES)
		       ? M0_TIME_NEVER
		       : now;
}

/* A process that sleeps for an event does not look at the word, so it is woken. */
static void nids_look(struct m0_serve *srv)
{
	struct m0_shared_side *side = &srv->srv_side;
	uint32_t               version = m0_front_nids_version(srv->srv_lnet);

	if (M0_LIKELY(version == srv->srv_nids_version))
		return;
	srv->srv_nids_version = version;
	__atomic_store_n(&side->shs_words->shw_state.shl_incoming, version,
			 __ATOMIC_RELEASE);
	side->shs_host->shh_wake(side->shs_host_arg);
}

static bool ends(const struct m0_serve *srv)
{
	return __atomic_load_n(&srv->srv_ends, __ATOMIC_ACQUIRE);
}

static m0_time_t open_run(struct m0_serve *srv, m0_time_t now)
{
	unsigned nr;
	unsigned max = PASS_MAX;
	int      rc = m0_serve__eqs_taken(srv);

	m0_shared_sleep_end(&srv->srv_side);
	nids_look(srv);
	/* No more than the whole queue was there when the message came. */
	if (srv->srv_is_awaited)
		max = max_check(max, srv->srv_side.shs_cfg.shc_down_nr);
	srv->srv_is_awaited = false;
	for (nr = 0; rc >= 0 && nr < max && !ends(srv); ++nr) {
		if (srv->srv_why.shy_field != NULL)
			rc = -EPROTO;
		else
			rc = request_take(srv);
		if (rc <= 0)
			break;
	}
	if (rc < 0)
		__atomic_store_n(&srv->srv_ends, true, __ATOMIC_RELEASE);
	if (ends(srv))
		return now;
	if (nr > 0)
		srv->srv_busy_at = now;
	if (nr == max) {
		m0_shared_bell(&srv->srv_side);
		return now;
	}
	return idle(srv, now);
}

static m0_time_t run(struct m0_lnet_runner *runner, m0_time_t now)
{
	struct m0_serve *srv =
		container_of(runner, struct m0_serve, srv_runner);

	m0_serve__copies_begin(srv);
	if (srv->srv_state == M0_SERVE_OPEN && ends(srv))
		ending_begin(srv);
	if (srv->srv_state == M0_SERVE_OPEN)
		return open_run(srv, now);
	/* The node begins a probe of the last moment in its next step. */
	if (m0_serve__probes_cancel(srv))
		return now;
	/* The end of the last request wakes the runner. */
	if (srv->srv_slow_nr == 0)
		ending_look(srv);
	return M0_TIME_NEVER;
}

/* Entries that the process has put before a message came count for that message. */
static bool is_behind(struct m0_lnet_runner *runner)
{
	struct m0_serve *srv =
		container_of(runner, struct m0_serve, srv_runner);

	if (srv->srv_state != M0_SERVE_OPEN ||
	    m0_shared_ready(&srv->srv_side, NULL) == 0)
		return false;
	srv->srv_is_awaited = true;
	return true;
}

/* Has the process given back what it was asked for last? */
static bool recall_is_answered(const struct m0_serve *srv)
{
	const struct m0_shared_words *words = srv->srv_side.shs_words;

	return __atomic_load_n(&words->shw_client_holds.shl_incoming,
			       __ATOMIC_SEQ_CST) == srv->srv_recalls.vrl_nr;
}

/* Asks the process for the MDs that it holds. @return false: it holds none. */
static bool recall(struct m0_serve *srv)
{
	struct m0_shared_words *words = srv->srv_side.shs_words;

	if (__atomic_load_n(&words->shw_client_holds.shl_held,
			    __ATOMIC_SEQ_CST) == 0)
		return false;
	__atomic_store_n(&words->shw_state.shl_held, ++srv->srv_recalls.vrl_nr,
			 __ATOMIC_SEQ_CST);
	srv->srv_side.shs_host->shh_wake(srv->srv_side.shs_host_arg);
	return true;
}

/* Is there anything that the process gives back now? It puts that before it says that it holds
 * less. */
static bool gives_back(struct m0_serve *srv)
{
	return recall(srv) || is_behind(&srv->srv_runner);
}

/*
 * The process puts what it gives back before it answers. Others of a connection may wait behind
 * the message, so a row of recalls ends after RECALL_NS, whatever the process puts meanwhile;
 * there are a few in a row, since it may hold further MDs while the message fits in none. A
 * process that owes an answer is not asked again.
 */
static bool is_to_come(struct m0_serve *srv, m0_time_t now)
{
	struct m0_serve_recalls *row = &srv->srv_recalls;
	bool                     is_answered = recall_is_answered(srv);
	bool                     waits;

	if (row->vrl_row == 0) {
		row->vrl_at = now;
		waits = is_answered && gives_back(srv);
		row->vrl_row = waits;
		return waits;
	}
	waits = now < m0_time_add(row->vrl_at, RECALL_NS);
	if (waits && is_answered && !is_behind(&srv->srv_runner)) {
		waits = row->vrl_row < RECALLS_ROW_MAX && gives_back(srv);
		++row->vrl_row;
	}
	if (!waits)
		row->vrl_row = 0;
	return waits;
}

static bool is_held(struct m0_lnet_runner *runner, uint32_t portal,
		    uint64_t bits)
{
	struct m0_serve *srv =
		container_of(runner, struct m0_serve, srv_runner);

	if (srv->srv_state != M0_SERVE_OPEN ||
	    !m0_serve__tm_is_named(srv, portal, bits) ||
	    !is_to_come(srv, m0_time_now()))
		return false;
	srv->srv_is_awaited = true;
	return true;
}

void m0_serve_wake(struct m0_serve *srv)
{
	m0_lnet_runner_wake(srv->srv_lnet, &srv->srv_runner);
}

void m0_serve_end(struct m0_serve *srv)
{
	__atomic_store_n(&srv->srv_ends, true, __ATOMIC_RELEASE);
	m0_serve_wake(srv);
}

/* ------------------------------------------------------------------ life -- */

static int tables_init(struct m0_serve *srv)
{
	const struct m0_shared_cfg *cfg = &srv->srv_cfg.svg_shared;
	int                         rc;

	rc = m0_serve__table_init(&srv->srv_mes, cfg->shc_mes_max,
				  sizeof(struct m0_serve_me));
	if (rc == 0)
		rc = m0_serve__table_init(&srv->srv_mds, cfg->shc_mds_max,
					  sizeof(struct m0_serve_md));
	if (rc == 0)
		rc = m0_serve__table_init(&srv->srv_ops_table, cfg->shc_ops_max,
					  sizeof(struct m0_serve_op));
	if (rc == 0)
		rc = m0_serve__table_init(&srv->srv_eqs, cfg->shc_eqs_max,
					  sizeof(struct m0_serve_eq));
	if (rc == 0)
		rc = m0_shared_regions_init(&srv->srv_regions,
					    cfg->shc_regions_max,
					    srv->srv_cfg.svg_bytes_max);
	if (rc != 0)
		return rc;
	M0_ALLOC_ARR(srv->srv_region_users, cfg->shc_regions_max);
	M0_ALLOC_ARR(srv->srv_relays, cfg->shc_controls_nr);
	M0_ALLOC_ARR(srv->srv_slow_gens, cfg->shc_controls_nr);
	M0_ALLOC_PTR(srv->srv_quiet);
	return srv->srv_region_users == NULL || srv->srv_relays == NULL ||
			       srv->srv_slow_gens == NULL ||
			       srv->srv_quiet == NULL
		       ? -ENOMEM
		       : 0;
}

/* Never called: the queue has no MD. */
static void all_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	(void)ev;
	M0_IMPOSSIBLE("the bound of all queues has no events");
}

static int eqs_init(struct m0_serve *srv)
{
	m0_lnet_eq_init(&srv->srv_all, srv->srv_lnet, &all_event, 0);
	m0_lnet_eq_init(&srv->srv_quiet->veq_eq, srv->srv_lnet,
			&m0_serve__event, 0);
	m0_lnet_eq_told_set(&srv->srv_quiet->veq_eq, &m0_serve__batch_end);
	srv->srv_quiet->veq_serve = srv;
	srv->srv_quiet->veq_is_made = true;
	srv->srv_quiet->veq_is_used = true;
	return m0_lnet_eq_bound_set(&srv->srv_all,
				    srv->srv_cfg.svg_shared.shc_incoming_nr,
				    NULL, NULL);
}

int m0_serve_init(struct m0_serve *srv, struct m0_lnet *lnet,
		  const struct m0_serve_cfg *cfg, void *area, uint64_t bytes,
		  const struct m0_shared_host *host, void *host_arg,
		  const struct m0_serve_ops *ops, void *owner)
{
	int rc;

	M0_SET0(srv);
	srv->srv_lnet = lnet;
	srv->srv_cfg = *cfg;
	srv->srv_ops = ops;
	srv->srv_owner = owner;
	srv->srv_runner.ru_run = run;
	srv->srv_runner.ru_is_behind = is_behind;
	srv->srv_runner.ru_is_held = is_held;
	srv->srv_req.srq_segs = srv->srv_segs;
	rc = m0_shared_make(&srv->srv_side, area, bytes, &cfg->svg_shared, host,
			    host_arg, &srv->srv_why);
	if (rc != 0)
		return rc;
	/* Before the process sees the area. */
	srv->srv_nids_version = m0_front_nids_version(lnet);
	srv->srv_side.shs_words->shw_state.shl_incoming = srv->srv_nids_version;
	rc = tables_init(srv);
	if (rc == 0)
		rc = eqs_init(srv);
	if (rc != 0)
		return rc;
	m0_lnet_runner_add(lnet, &srv->srv_runner);
	m0_serve_wake(srv);
	return 0;
}

static void eqs_fini(struct m0_serve *srv)
{
	uint32_t nr;

	for (nr = 0; nr < srv->srv_eqs.vta_max; ++nr) {
		struct m0_serve_eq *veq = m0_serve__eq(srv, nr);

		if (veq != NULL && veq->veq_is_made)
			m0_lnet_eq_fini(&veq->veq_eq);
	}
	if (srv->srv_quiet != NULL && srv->srv_quiet->veq_is_made)
		m0_lnet_eq_fini(&srv->srv_quiet->veq_eq);
	if (srv->srv_all.eq_lnet != NULL)
		m0_lnet_eq_fini(&srv->srv_all);
}

void m0_serve_fini(struct m0_serve *srv)
{
	uint32_t i;

	M0_PRE(srv->srv_mds_nr == 0);
	if (srv->srv_state == M0_SERVE_ENDED)
		m0_lnet_runner_del(srv->srv_lnet, &srv->srv_runner);
	if (srv->srv_eqs.vta_chunks != NULL)
		eqs_fini(srv);
	for (i = 0; srv->srv_relays != NULL &&
		    i < srv->srv_cfg.svg_shared.shc_controls_nr;
	     ++i)
		m0_front_relay_end(srv->srv_lnet, &srv->srv_relays[i]);
	m0_free0(&srv->srv_relays);
	m0_free0(&srv->srv_slow_gens);
	m0_free0(&srv->srv_quiet);
	m0_free0(&srv->srv_region_users);
	if (srv->srv_regions.srs_regions != NULL)
		m0_shared_regions_fini(&srv->srv_regions, &srv->srv_side);
	m0_serve__table_fini(&srv->srv_eqs);
	m0_serve__table_fini(&srv->srv_ops_table);
	m0_serve__table_fini(&srv->srv_mds);
	m0_serve__table_fini(&srv->srv_mes);
}
