/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The life of the selftest at a node: buffers for requests, the runner, the inbox.
 * The runner ends requests whose last MD has ended or whose time is over, so that
 * nothing is ended on the stack of the function that began it.
 */
#include <string.h>

#include "selftest/st_internal.h"

enum {
	RPC_TIMEOUT_MS = 64000,
	SESSION_TIMEOUT = 100,
	RPCS_MAX = 4096,
	MEMORY_MAX = 64 << 20,
	/** Requests that are ended in one run. */
	RUN_MAX = 1024
};

/** A group of calls whose maker waits. */
struct m0_st_batch_of_calls {
	struct m0_semaphore sbc_sem;
	uint64_t            sbc_timeout_ms;
};

void m0_st_cfg_default(struct m0_st_cfg *cfg)
{
	M0_SET0(cfg);
	cfg->scf_serves = true;
	cfg->scf_session_timeout = SESSION_TIMEOUT;
	cfg->scf_rpc_timeout_ms = RPC_TIMEOUT_MS;
	cfg->scf_memory_max = MEMORY_MAX;
	cfg->scf_rpcs_max = RPCS_MAX;
}

void m0_st__wake(struct m0_st *st, m0_time_t deadline)
{
	if (deadline >= st->slf_wake_at)
		return;
	st->slf_wake_at = deadline;
	m0_lnet_runner_wake(st->slf_lnet, &st->slf_runner);
}

/* -- memory ---------------------------------------------------------------- */

uint8_t *m0_st__buf_get(struct m0_st *st)
{
	struct m0_list_link *link = m0_list_first(&st->slf_bufs);
	uint8_t             *buf;

	if (link != NULL) {
		m0_list_del(link);
		return (uint8_t *)link;
	}
	if (st->slf_bufs_bytes + M0_ST_BULK_MAX > st->slf_cfg.scf_memory_max)
		return NULL;
	buf = m0_alloc_aligned(M0_ST_BULK_MAX, ST_PAGE_SHIFT);
	if (buf != NULL)
		st->slf_bufs_bytes += M0_ST_BULK_MAX;
	return buf;
}

void m0_st__buf_put(struct m0_st *st, uint8_t *buf)
{
	struct m0_list_link *link = (void *)buf;

	m0_list_link_init(link);
	m0_list_add(&st->slf_bufs, link);
}

/** The buffers that nobody uses, when no session does. */
static void bufs_free(struct m0_st *st)
{
	struct m0_list_link *link;
	unsigned             i;

	while ((link = m0_list_first(&st->slf_bufs)) != NULL) {
		m0_list_del(link);
		m0_free_aligned(link, M0_ST_BULK_MAX, ST_PAGE_SHIFT);
		st->slf_bufs_bytes -= M0_ST_BULK_MAX;
	}
	if (st->slf_served_nr > 0)
		return;
	for (i = 0; i < ARRAY_SIZE(st->slf_sources); ++i) {
		m0_free_aligned(st->slf_sources[i], M0_ST_BULK_MAX,
				ST_PAGE_SHIFT);
		st->slf_sources[i] = NULL;
	}
}

uint8_t *m0_st__source(struct m0_st *st, enum m0_st_check check)
{
	uint8_t **source = &st->slf_sources[check];

	if (*source != NULL)
		return *source;
	*source = m0_alloc_aligned(M0_ST_BULK_MAX, ST_PAGE_SHIFT);
	if (*source != NULL) {
		memset(*source, 0, M0_ST_BULK_MAX);
		m0_st_pattern_fill(*source, M0_ST_BULK_MAX, 0, check,
				   M0_ST_PATTERN);
	}
	return *source;
}

/* -- buffers for requests -------------------------------------------------- */

static int inlet_attach(struct st_inlet *inlet)
{
	struct st_service     *service = inlet->slt_service;
	struct m0_st          *st = service->svc_st;
	struct m0_lnet_md_attr md = {
		.mda_vec = &inlet->slt_vec,
		.mda_length = inlet->slt_bytes,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_max_size = M0_ST_MSG_BYTES,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_MAX_SIZE,
		.mda_auto_unlink = true,
		.mda_eq = &st->slf_eq,
		.mda_user = inlet,
	};
	int rc = m0_lnet_md_attach(st->slf_lnet, service->svc_me, &md,
				   &inlet->slt_md);

	if (rc == 0) {
		inlet->slt_live = true;
		++st->slf_inlets_live_nr;
	}
	return rc;
}

static void inlet_event(struct st_inlet *inlet, const struct m0_lnet_event *ev)
{
	struct m0_st *st = inlet->slt_service->svc_st;

	if (ev->ev_type == M0_LNET_EV_PUT && ev->ev_status == 0)
		m0_st__serve(inlet->slt_service, ev,
			     inlet->slt_room + ev->ev_offset);
	if (!ev->ev_unlinked)
		return;
	inlet->slt_live = false;
	--st->slf_inlets_live_nr;
	/* All its messages have been taken. */
	if (st->slf_closing || m0_lnet_is_ended(st->slf_lnet)) {
		m0_st__wake(st, M0_TIME_IMMEDIATELY);
	} else if (ev->ev_status != 0 || inlet_attach(inlet) != 0) {
		st->slf_inlets_missing = true;
		m0_st__wake(st, m0_time_add(m0_time_cached(), ST_PAUSE));
	}
}

/** Attaches buffers that are missing. @return when to call it again. */
static m0_time_t inlets_attach(struct m0_st *st, m0_time_t now)
{
	struct st_service *service;
	struct st_inlet   *inlet;
	bool               missing = false;

	if (!st->slf_inlets_missing || st->slf_closing)
		return M0_TIME_NEVER;
	for (service = st->slf_services;
	     service < st->slf_services + ST_SERVICES_NR; ++service)
		for (inlet = service->svc_inlets;
		     inlet < service->svc_inlets + ST_REQUEST_BUFS; ++inlet)
			if (!inlet->slt_live && inlet_attach(inlet) != 0)
				missing = true;
	st->slf_inlets_missing = missing;
	return missing ? m0_time_add(now, ST_PAUSE) : M0_TIME_NEVER;
}

static void st_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *event)
{
	enum st_use *use = event->ev_md_user;

	(void)eq;
	if (*use == ST_USE_REQUESTS)
		inlet_event(container_of(use, struct st_inlet, slt_use), event);
	else
		m0_st__rpc_event(container_of(use, struct st_part, spt_use),
				 event);
}

static int service_start(struct st_service *service, struct m0_st *st,
			 uint32_t type)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = m0_st_type_portal(type),
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = m0_st_type_service(type),
		.mea_flags = M0_LNET_ME_QUEUE,
	};
	struct st_inlet *inlet;
	int              rc;

	service->svc_st = st;
	service->svc_type = type;
	rc = m0_lnet_me_attach(st->slf_lnet, &me, &service->svc_me);
	for (inlet = service->svc_inlets;
	     rc == 0 && inlet < service->svc_inlets + ST_REQUEST_BUFS;
	     ++inlet) {
		inlet->slt_use = ST_USE_REQUESTS;
		inlet->slt_service = service;
		inlet->slt_addr = inlet->slt_room;
		inlet->slt_bytes = sizeof inlet->slt_room;
		inlet->slt_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(
			&inlet->slt_addr, &inlet->slt_bytes);
		rc = inlet_attach(inlet);
	}
	return rc;
}

static int services_start(struct m0_st *st)
{
	static const uint32_t types[ST_SERVICES_NR] = {
		M0_ST_MKSN, M0_ST_RMSN,  M0_ST_BATCH, M0_ST_STAT,
		M0_ST_TEST, M0_ST_DEBUG, M0_ST_BRW,   M0_ST_PING,
	};
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(types); ++i)
		rc = service_start(&st->slf_services[i], st, types[i]);
	if (rc == 0)
		rc = m0_lnet_lazy_set(st->slf_lnet, M0_ST_PORTAL_TEST, true);
	if (rc == 0)
		rc = m0_lnet_lazy_set(st->slf_lnet, M0_ST_PORTAL_FRAMEWORK,
				      true);
	return rc;
}

static void services_stop(struct m0_st *st)
{
	unsigned i;

	(void)m0_lnet_lazy_set(st->slf_lnet, M0_ST_PORTAL_TEST, false);
	(void)m0_lnet_lazy_set(st->slf_lnet, M0_ST_PORTAL_FRAMEWORK, false);
	for (i = 0; i < ST_SERVICES_NR; ++i)
		if (!m0_lnet_handle_is_none(st->slf_services[i].svc_me))
			(void)m0_lnet_me_unlink(st->slf_lnet,
						st->slf_services[i].svc_me);
}

/* -- calls of a console ---------------------------------------------------- */

static void call_finish(struct m0_st_call *call, int rc)
{
	call->scl_rc = rc;
	m0_semaphore_up(&call->scl_of->sbc_sem);
}

static void call_done(struct st_rpc *rpc)
{
	struct m0_st_call *call = rpc->sqr_owner;
	int                rc = rpc->sqr_rc;

	call->scl_reply = rpc->sqr_rep;
	call->scl_ns = m0_time_sub(m0_time_cached(), rpc->sqr_begin);
	m0_st__rpc_free(rpc);
	call_finish(call, rc);
}

static void call_start(struct m0_st *st, struct m0_st_call *call)
{
	uint64_t       ms = call->scl_of->sbc_timeout_ms;
	struct st_rpc *rpc = NULL;

	if (!st->slf_closing)
		rpc = m0_st__rpc_alloc(
			st, true, ms > 0 ? ms : st->slf_cfg.scf_rpc_timeout_ms);
	if (rpc == NULL) {
		call_finish(call, st->slf_closing ? -ESHUTDOWN : -ENOMEM);
		return;
	}
	rpc->sqr_peer = call->scl_dest;
	rpc->sqr_msg = call->scl_request;
	rpc->sqr_done = call_done;
	rpc->sqr_owner = call;
	m0_st__rpc_call(rpc, call->scl_bulk, call->scl_bulk_bytes, true);
}

void m0_st_calls(struct m0_st *st, struct m0_st_call *calls, unsigned nr,
		 uint64_t timeout_ms)
{
	struct m0_st_batch_of_calls of = { .sbc_timeout_ms = timeout_ms };
	unsigned                    i;

	m0_semaphore_init(&of.sbc_sem, 0);
	m0_mutex_lock(&st->slf_lock);
	for (i = 0; i < nr; ++i) {
		calls[i].scl_of = &of;
		m0_list_link_init(&calls[i].scl_link);
		m0_list_add_tail(&st->slf_posted, &calls[i].scl_link);
	}
	m0_mutex_unlock(&st->slf_lock);
	m0_lnet_runner_wake(st->slf_lnet, &st->slf_runner);
	for (i = 0; i < nr; ++i)
		m0_semaphore_down(&of.sbc_sem);
	m0_semaphore_fini(&of.sbc_sem);
}

/* -- the runner ------------------------------------------------------------ */

static void state_fill(struct m0_st *st, struct m0_st_state *ret)
{
	const struct st_session   *session = st->slf_session;
	const struct m0_list_link *link;

	M0_SET0(ret);
	m0_st__stats_fill(st, &ret->sls_stats);
	ret->sls_refused_nr = st->slf_refused_nr;
	ret->sls_rpcs_nr = st->slf_served_nr + st->slf_calling_nr;
	ret->sls_memory = st->slf_bufs_bytes + st->slf_tests_bytes;
	if (session == NULL)
		return;
	ret->sls_has_session = true;
	ret->sls_sid = session->sse_sid;
	ret->sls_feats = session->sse_feats;
	memcpy(ret->sls_name, session->sse_name, sizeof ret->sls_name);
	ret->sls_batches_nr = session->sse_batches_nr;
	ret->sls_tests_nr = session->sse_tests_nr;
	for (link = m0_list_first(&session->sse_batches); link != NULL;
	     link = m0_list_next(&session->sse_batches, link))
		ret->sls_active_nr +=
			container_of(link, struct st_batch, sbh_link)
				->sbh_active_nr;
}

/** Takes what other threads have posted. */
static void inbox_take(struct m0_st *st)
{
	struct m0_list_link *link;
	struct m0_semaphore *sem;
	struct m0_st_state   state;
	bool                 closes;

	m0_mutex_lock(&st->slf_lock);
	m0_list_splice_tail(&st->slf_calls, &st->slf_posted);
	sem = st->slf_asked_sem;
	closes = st->slf_close_asked;
	m0_mutex_unlock(&st->slf_lock);
	if (sem != NULL) {
		state_fill(st, &state);
		m0_mutex_lock(&st->slf_lock);
		*st->slf_asked = state;
		st->slf_asked = NULL;
		st->slf_asked_sem = NULL;
		m0_mutex_unlock(&st->slf_lock);
		m0_semaphore_up(sem);
	}
	if (closes && !st->slf_closing) {
		st->slf_closing = true;
		services_stop(st);
		m0_st__session_end(st);
		for (link = m0_list_first(&st->slf_rpcs); link != NULL;
		     link = m0_list_next(&st->slf_rpcs, link))
			m0_st__rpc_end(container_of(link, struct st_rpc,
						    sqr_link),
				       -ESHUTDOWN);
	}
	while ((link = m0_list_first(&st->slf_calls)) != NULL) {
		m0_list_del(link);
		call_start(st, container_of(link, struct m0_st_call, scl_link));
	}
}

static void rpcs_expire(struct m0_st *st, m0_time_t now)
{
	struct m0_list_link *link;

	for (link = m0_list_first(&st->slf_rpcs); link != NULL;
	     link = m0_list_next(&st->slf_rpcs, link)) {
		struct st_rpc *rpc =
			container_of(link, struct st_rpc, sqr_link);

		if (rpc->sqr_deadline > now)
			return;
		if (rpc->sqr_ends)
			continue;
		++st->slf_counts.sct_rpc_expired;
		rpc->sqr_is_expired = true;
		m0_st__rpc_end(rpc, -ETIMEDOUT);
	}
}

/** @return true if there are more. */
static bool rpcs_finish(struct m0_st *st)
{
	struct m0_list_link *link;
	unsigned             i;

	for (i = 0;
	     i < RUN_MAX && (link = m0_list_first(&st->slf_ended)) != NULL;
	     ++i) {
		struct st_rpc *rpc =
			container_of(link, struct st_rpc, sqr_wait_link);

		m0_list_del(link);
		if (rpc->sqr_rc != 0 && !rpc->sqr_is_expired)
			++st->slf_counts.sct_rpc_errors;
		if (rpc->sqr_is_client)
			rpc->sqr_done(rpc);
		else
			m0_st__rpc_free(rpc);
	}
	m0_st__serve_next(st);
	return !m0_list_is_empty(&st->slf_ended);
}

/** When a request is over next, if it does not end before. */
static m0_time_t rpcs_deadline(const struct m0_st *st)
{
	const struct m0_list_link *link;

	for (link = m0_list_first(&st->slf_rpcs); link != NULL;
	     link = m0_list_next(&st->slf_rpcs, link)) {
		const struct st_rpc *rpc =
			container_of(link, struct st_rpc, sqr_link);

		if (!rpc->sqr_ends)
			return rpc->sqr_deadline;
	}
	return M0_TIME_NEVER;
}

static m0_time_t session_check(struct m0_st *st, m0_time_t now)
{
	m0_time_t until;

	if (st->slf_session == NULL)
		return M0_TIME_NEVER;
	until = m0_time_add(st->slf_session->sse_heard,
			    st->slf_cfg.scf_session_timeout *
				    M0_TIME_ONE_SECOND);
	if (until > now)
		return until;
	m0_st__session_end(st);
	return M0_TIME_NEVER;
}

static bool is_over(const struct m0_st *st)
{
	return st->slf_closing && st->slf_inlets_live_nr == 0 &&
	       m0_list_is_empty(&st->slf_rpcs) && st->slf_zombies_nr == 0;
}

static m0_time_t st_run(struct m0_lnet_runner *runner, m0_time_t now)
{
	struct m0_st *st = container_of(runner, struct m0_st, slf_runner);
	m0_time_t     next;

	/* Do not wake the runner for what it looks at below. */
	st->slf_wake_at = M0_TIME_IMMEDIATELY;
	inbox_take(st);
	rpcs_expire(st, now);
	next = min_check(session_check(st, now), inlets_attach(st, now));
	next = min_check(next, m0_st__tests_resume(st, now));
	if (rpcs_finish(st))
		next = now;
	m0_st__session_reap(st);
	if (st->slf_session == NULL && st->slf_zombies_nr == 0)
		bufs_free(st);
	next = min_check(next, rpcs_deadline(st));
	if (!m0_list_is_empty(&st->slf_ended))
		next = now;
	/* Requests that ended may have paused their tests. */
	next = min_check(next, m0_st__tests_resume(st, now));
	st->slf_wake_at = next;
	if (is_over(st))
		m0_semaphore_up(&st->slf_closed);
	return next;
}

void m0_st_state_get(struct m0_st *st, struct m0_st_state *ret)
{
	struct m0_semaphore sem;

	m0_semaphore_init(&sem, 0);
	m0_mutex_lock(&st->slf_lock);
	M0_PRE(st->slf_asked == NULL);
	st->slf_asked = ret;
	st->slf_asked_sem = &sem;
	m0_mutex_unlock(&st->slf_lock);
	m0_lnet_runner_wake(st->slf_lnet, &st->slf_runner);
	m0_semaphore_down(&sem);
	m0_semaphore_fini(&sem);
}

/* -- opening and closing --------------------------------------------------- */

static void lists_init(struct m0_st *st)
{
	m0_list_init(&st->slf_rpcs);
	m0_list_init(&st->slf_ended);
	m0_list_init(&st->slf_waiting);
	m0_list_init(&st->slf_bufs);
	m0_list_init(&st->slf_zombies);
	m0_list_init(&st->slf_paused);
	m0_list_init(&st->slf_posted);
	m0_list_init(&st->slf_calls);
}

int m0_st_open(struct m0_st **ret, const struct m0_st_cfg *cfg)
{
	struct m0_st *st;
	int           rc = 0;

	if (M0_ALLOC_PTR(st) == NULL)
		return -ENOMEM;
	st->slf_cfg = *cfg;
	st->slf_lnet = cfg->scf_lnet;
	lists_init(st);
	m0_mutex_init(&st->slf_lock);
	m0_semaphore_init(&st->slf_closed, 0);
	st->slf_wake_at = M0_TIME_NEVER;
	/* As the kernel's, but in finer steps than seconds. */
	st->slf_next_id = m0_time_now() << 24;
	m0_lnet_eq_init(&st->slf_eq, st->slf_lnet, st_event, 0);
	st->slf_runner.ru_run = st_run;
	m0_lnet_runner_add(st->slf_lnet, &st->slf_runner);
	if (cfg->scf_serves)
		rc = services_start(st);
	if (rc != 0) {
		m0_st_close(st);
		return rc;
	}
	*ret = st;
	return 0;
}

void m0_st_close(struct m0_st *st)
{
	m0_mutex_lock(&st->slf_lock);
	st->slf_close_asked = true;
	m0_mutex_unlock(&st->slf_lock);
	m0_lnet_runner_wake(st->slf_lnet, &st->slf_runner);
	m0_semaphore_down(&st->slf_closed);
	m0_lnet_runner_del(st->slf_lnet, &st->slf_runner);
	m0_lnet_eq_fini(&st->slf_eq);
	bufs_free(st);
	m0_semaphore_fini(&st->slf_closed);
	m0_mutex_fini(&st->slf_lock);
	m0_free(st);
}
