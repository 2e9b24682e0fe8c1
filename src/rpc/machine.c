/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Life of a machine, its configuration, and its step. */
#include <limits.h>

#include "rpc/rpc_internal.h"
#include "m0/log.h"
#include "m0/net_xprt.h"

enum {
	MSG_SIZE_MIN = 1024,
	/** Rounds of a step. */
	ROUNDS_NR = 4,
	/** Posters notified in a step: what they post leaves while others wait, so
	 * that both sides work at the same time. */
	NOTIFIES_MAX = 32
};

/* ------------------------------------------------------- configuration -- */

void m0_rpc_cfg_init(struct m0_rpc_cfg *cfg)
{
	*cfg = (struct m0_rpc_cfg){
		.rc_resend_ns = M0_TIME_ONE_SECOND,
		.rc_resend_max_ns = 8 * M0_TIME_ONE_SECOND,
		.rc_timeout_ns = 60 * M0_TIME_ONE_SECOND,
		.rc_slack_ns = M0_TIME_ONE_SECOND,
		.rc_drain_ns = 10 * M0_TIME_ONE_SECOND,
		.rc_client_idle_ns = 600 * M0_TIME_ONE_SECOND,
		.rc_client_keep_ns = 86400 * M0_TIME_ONE_SECOND,
		.rc_clients_max = 1024,
		.rc_sessions_max = 64,
		.rc_streams_max = 64,
		.rc_window_max = 64,
		.rc_executing_max = 4096,
		.rc_cached_max = 1000000,
		.rc_replies_bytes_max = 64 << 20,
		.rc_client_bytes_max = 16 << 20,
		.rc_clients_bytes_max = 512 << 20,
		.rc_policy = &m0_rpc_frm_fifo,
		.rc_network = &m0_rpc_frm_line,
		.rc_spin_ns = M0_TIME_NEVER,
		.rc_link_idle_ns = 500 * M0_TIME_ONE_MSEC,
	};
}

/* Return the name of the first field that is out of bounds; NULL: all are
 * right. */
static const char *cfg_bad(const struct m0_rpc_cfg *cfg)
{
	const m0_time_t day = 86400 * M0_TIME_ONE_SECOND;

	if (cfg->rc_resend_ns == 0 || cfg->rc_resend_ns > day)
		return "rc_resend_ns";
	if (cfg->rc_resend_max_ns < cfg->rc_resend_ns ||
	    cfg->rc_resend_max_ns > day)
		return "rc_resend_max_ns";
	if (cfg->rc_timeout_ns == 0 || cfg->rc_timeout_ns > 365 * day)
		return "rc_timeout_ns";
	if (cfg->rc_slack_ns < M0_TIME_ONE_MSEC || cfg->rc_slack_ns > day)
		return "rc_slack_ns";
	if (cfg->rc_drain_ns > day)
		return "rc_drain_ns";
	if (cfg->rc_link_idle_ns < M0_TIME_ONE_MSEC ||
	    cfg->rc_link_idle_ns > day)
		return "rc_link_idle_ns";
	if (cfg->rc_client_idle_ns == 0)
		return "rc_client_idle_ns";
	if (cfg->rc_client_keep_ns == 0)
		return "rc_client_keep_ns";
	if (cfg->rc_sessions_max == 0)
		return "rc_sessions_max";
	if (cfg->rc_streams_max == 0 ||
	    cfg->rc_streams_max > M0_RPC_WIRE_STREAMS_MAX)
		return "rc_streams_max";
	if (cfg->rc_window_max == 0 || cfg->rc_window_max > 65536)
		return "rc_window_max";
	if (cfg->rc_executing_max == 0 || cfg->rc_executing_max > 1 << 24)
		return "rc_executing_max";
	if (cfg->rc_cached_max == 0)
		return "rc_cached_max";
	if (cfg->rc_client_bytes_max < M0_RPC__CLIENT_BYTES_MIN)
		return "rc_client_bytes_max";
	if (cfg->rc_clients_bytes_max < cfg->rc_client_bytes_max)
		return "rc_clients_bytes_max";
	return NULL;
}

static int cfg_take(struct m0_rpc__machine *m, const struct m0_rpc_cfg *cfg,
		    m0_bcount_t msg_size)
{
	const struct m0_net_xprt_ops *ops = m->rml_dom->nd_xprt->nx_ops;
	m0_bcount_t max = min64u(m->rml_dom->nd_get_max_buffer_size,
				 m->rml_dom->nd_get_max_buffer_segment_size);
	const char *bad;

	if (cfg != NULL)
		m->rml_cfg = *cfg;
	else
		m0_rpc_cfg_init(&m->rml_cfg);
	if (ops->xo_rpc_max_msg_size != NULL)
		max = min64u(max, ops->xo_rpc_max_msg_size(m->rml_dom, 0));
	max = min64u(max, M0_RPC_WIRE_PACKET_MAX);
	m->rml_sender.rsn_msg_size =
		msg_size != 0 ? msg_size
			      : min64u(M0_RPC_DEF_MAX_RPC_MSG_SIZE, max);
	bad = cfg_bad(&m->rml_cfg);
	if (bad == NULL && (m->rml_sender.rsn_msg_size < MSG_SIZE_MIN ||
			    m->rml_sender.rsn_msg_size > max))
		bad = "msg_size";
	if (bad != NULL) {
		m0_log(M0_LOG_ERROR, "rpc: %s is out of bounds", bad);
		return -EINVAL;
	}
	m->rml_sender.rsn_msg_size &= ~(m0_bcount_t)(M0_RPC_WIRE_ALIGN - 1);
	if (m->rml_cfg.rc_policy == NULL)
		m->rml_cfg.rc_policy = &m0_rpc_frm_fifo;
	if (m->rml_cfg.rc_bulk_cutoff == 0)
		m->rml_cfg.rc_bulk_cutoff = m->rml_sender.rsn_msg_size / 2;
	while (m->rml_cfg.rc_uuid.u_hi == 0 && m->rml_cfg.rc_uuid.u_lo == 0)
		m0_os_random(&m->rml_cfg.rc_uuid, sizeof m->rml_cfg.rc_uuid);
	if (m->rml_cfg.rc_incarnation == 0)
		m->rml_cfg.rc_incarnation = m0_os_wall_ns();
	return 0;
}

/* ---------------------------------------------------------------- step -- */

static void timers_run(struct m0_rpc__machine *m)
{
	struct m0_timer *t;

	M0_PRE_EX(m0_rpc__is_here(m));
	while (m->rml_timers.rtm_items.tq_nr > 0 &&
	       (t = m0_timerq_expire(&m->rml_timers.rtm_items, m->rml_now)) !=
		       NULL)
		m0_rpc__item_timer(m, t);
	while (m->rml_timers.rtm_streams.tq_nr > 0 &&
	       (t = m0_timerq_expire(&m->rml_timers.rtm_streams, m->rml_now)) !=
		       NULL)
		m0_rpc__stream_timer(m, t);
	m0_rpc__pauses_run(m);
	while (m->rml_timers.rtm_clients.tq_nr > 0 &&
	       (t = m0_timerq_expire(&m->rml_timers.rtm_clients, m->rml_now)) !=
		       NULL)
		m0_rpc__client_timer(m, t);
}

static m0_time_t queue_next(const struct m0_timerq *queue)
{
	return queue->tq_nr > 0 ? m0_timerq_next(queue) : M0_TIME_NEVER;
}

/* Calls, posters to be notified, streams that have something to send. */
static bool has_work(const struct m0_rpc__machine *m)
{
	return m0_rpc__calls_wait(m) ||
	       !m0_list_is_empty(&m->rml_ends.ren_list) ||
	       !m0_list_is_empty(&m->rml_conns.rcn_streams);
}

static m0_time_t step_next(const struct m0_rpc__machine *m)
{
	m0_time_t next = m0_rpc__frm_set_next(&m->rml_sender.rsn_frms);

	M0_PRE_EX(m0_rpc__is_here(m));
	if (has_work(m))
		return M0_TIME_IMMEDIATELY;
	next = min64u(next, queue_next(&m->rml_timers.rtm_items));
	next = min64u(next, queue_next(&m->rml_timers.rtm_streams));
	next = min64u(next, queue_next(&m->rml_timers.rtm_clients));
	next = min64u(next, queue_next(&m->rml_timers.rtm_pauses));
	/* After that time the machine waits for handlers, which wake it. */
	if (m->rml_phase == M0_RPC__DRAINS && m->rml_drain_at > m->rml_now)
		next = min64u(next, m->rml_drain_at);
	return next;
}

/* Run what was posted, also by the callbacks of items that end. */
static void work_run(struct m0_rpc__machine *m, unsigned *notifies)
{
	int i;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(*notifies <= NOTIFIES_MAX);
	for (i = 0; i < ROUNDS_NR; ++i) {
		if (!m0_list_is_empty(&m->rml_ends.ren_list))
			*notifies -= m0_rpc__ended_run(m, *notifies);
		if (m0_rpc__calls_wait(m))
			m0_rpc__calls_run(m);
		if (!m0_list_is_empty(&m->rml_conns.rcn_streams))
			m0_rpc__streams_run(m);
		if ((m0_list_is_empty(&m->rml_ends.ren_list) ||
		     *notifies == 0) &&
		    !m0_rpc__calls_wait(m))
			break;
	}
}

/* All parts; the machine's thread. */
static bool machine_invariant(const struct m0_rpc__machine *m)
{
	return _0C(m->rml_machine != NULL && m->rml_machine->rm_lib == m) &&
	       _0C(M0_IN(m->rml_phase,
			 (M0_RPC__RUNS, M0_RPC__DRAINS, M0_RPC__QUIET))) &&
	       _0C(ergo(m->rml_phase != M0_RPC__RUNS, m->rml_stops)) &&
	       m0_rpc__inbox_invariant(&m->rml_inbox) &&
	       m0_rpc__ends_invariant(&m->rml_ends) &&
	       m0_rpc__conns_invariant(&m->rml_conns) &&
	       m0_rpc__sender_invariant(&m->rml_sender) &&
	       m0_rpc__receiver_invariant(&m->rml_receiver) &&
	       m0_rpc__kept_invariant(&m->rml_kept) &&
	       m0_rpc__server_invariant(&m->rml_server) &&
	       m0_rpc__jobs_invariant(&m->rml_jobs) &&
	       m0_rpc__rails_invariant(&m->rml_rails);
}

static m0_time_t step(struct m0_net_tm_rider *rider, m0_time_t now)
{
	struct m0_rpc__machine *m =
		container_of(rider, struct m0_rpc__machine, rml_rider);
	struct m0_rpc__machine *before = m0_rpc__enter(m);
	unsigned                notifies = NOTIFIES_MAX;
	m0_time_t               next;

	M0_PRE_EX(machine_invariant(m));
	m->rml_now = now;
	if (M0_UNLIKELY(m->rml_rails.rlr_nr > 0 ||
			!m0_list_is_empty(&m->rml_rails.rlr_stopping)))
		m0_rpc__rails_deliver(m);
	timers_run(m);
	if (has_work(m))
		work_run(m, &notifies);
	if (m->rml_jobs.rjb_list != NULL)
		m0_rpc__store_give(m);
	if (m->rml_jobs.rjb_store->rst_ops->rso_step != NULL) {
		m->rml_jobs.rjb_store->rst_ops->rso_step(m->rml_jobs.rjb_store);
		/* Updates that it has committed have replies. */
		if (has_work(m))
			work_run(m, &notifies);
	}
	(void)m0_rpc__frm_set_run(&m->rml_sender.rsn_frms, now);
	if (!m0_list_is_empty(&m->rml_ends.ren_list))
		(void)m0_rpc__ended_run(m, notifies);
	if (m->rml_phase == M0_RPC__DRAINS)
		m0_rpc__machine_drain(m);
	next = step_next(m);
	if (m->rml_jobs.rjb_list != NULL) {
		m0_rpc__store_give(m);
		/* A store without a thread does them in the next step. */
		if (m->rml_jobs.rjb_store->rst_ops->rso_step != NULL)
			next = M0_TIME_IMMEDIATELY;
	}
	if (m->rml_inbox.rib_changed)
		m0_rpc__waiters_wake(m);
	m0_rpc__leave(before);
	return next;
}

static void tm_event(const struct m0_net_tm_event *ev)
{
	struct m0_rpc_machine *machine =
		container_of(ev->nte_tm, struct m0_rpc_machine, rm_tm);
	struct m0_rpc__machine *m = machine->rm_lib;

	m0_rpc__tm_state(ev, &m->rml_state_sem, &m->rml_failed_rc);
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 tm_event };

/* --------------------------------------------------------------- start -- */

/* Do the work of a step for a machine that has ended. */
static void rest_run(struct m0_rpc__machine *m)
{
	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m0_rpc__jobs_invariant(&m->rml_jobs));
	do {
		m0_rpc__own_run(m);
		(void)m0_rpc__ended_run(m, UINT_MAX);
	} while (m->rml_inbox.rib_own_head != NULL ||
		 !m0_list_is_empty(&m->rml_ends.ren_list));
	m0_rpc__store_give(m);
}

static void parts_init(struct m0_rpc__machine *m)
{
	m0_time_t now = m0_time_now();

	m->rml_now = now;
	m0_semaphore_init(&m->rml_state_sem, 0);
	m0_rpc__inbox_init(&m->rml_inbox, rest_run);
	m0_rpc__ends_init(&m->rml_ends);
	m0_rpc__timers_init(&m->rml_timers, now);
	m0_rpc__conns_init(&m->rml_conns);
	m0_rpc__sender_init(m);
	m0_rpc__server_init(&m->rml_server, &m->rml_cfg);
	m0_rpc__map_init(&m->rml_map);
	m0_rpc__rails_init(&m->rml_rails);
	m0_rpc__bulks_init(&m->rml_bulks, &m0_rpc__bulk_ops);
	m0_rpc__counts_init(&m->rml_counts);
}

static void parts_fini(struct m0_rpc__machine *m)
{
	m0_rpc__counts_fini(&m->rml_counts);
	m0_rpc__bulks_fini(&m->rml_bulks);
	m0_rpc__map_fini(&m->rml_map);
	m0_rpc__server_fini(&m->rml_server);
	m0_rpc__sender_fini(&m->rml_sender);
	m0_rpc__conns_fini(&m->rml_conns);
	m0_rpc__timers_fini(&m->rml_timers);
	m0_rpc__ends_fini(&m->rml_ends);
	m0_rpc__inbox_fini(&m->rml_inbox);
	m0_semaphore_fini(&m->rml_state_sem);
}

static int tm_start(struct m0_rpc__machine *m, const char *ep_addr)
{
	struct m0_net_transfer_mc *tm = &m->rml_machine->rm_tm;
	int                        rc = 0;

	M0_PRE(m0_rpc__receiver_invariant(&m->rml_receiver));
	M0_PRE(m0_rpc__sender_invariant(&m->rml_sender));
	m->rml_rider.ntr_step = step;
	if (m->rml_cfg.rc_spin_ns != M0_TIME_NEVER)
		m0_net_tm_spin_set(tm, m->rml_cfg.rc_spin_ns);
	if (m->rml_cfg.rc_inline)
		rc = m0_net_tm_inline(tm);
	rc = rc ?: m0_net_tm_ride(tm, &m->rml_rider);
	m0_net_tm_colour_set(tm, m->rml_receiver.rrv_colour);
	rc = rc
		     ?: m0_net_tm_pool_attach(tm, m->rml_receiver.rrv_pool,
					      &m0_rpc__recv_callbacks,
					      m->rml_sender.rsn_msg_size,
					      M0_RPC__RECV_MSGS_MAX,
					      m->rml_receiver.rrv_queue_len);
	if (rc != 0)
		return rc;
	rc = m0_net_tm_start(tm, ep_addr);
	if (rc != 0)
		return rc;
	m0_semaphore_down(&m->rml_state_sem);
	return m->rml_failed_rc;
}

static void lib_free(struct m0_rpc__machine *m)
{
	m0_rpc__raws_free(m);
	m0_rpc__notes_free(m);
	m->rml_machine->rm_lib = NULL;
	m0_free_aligned(m, sizeof *m, 6);
}

/* End the replies that are left: nothing counts them any more. */
static void targets_fini(struct m0_rpc__machine *m)
{
	struct m0_rpc__machine *before = m0_rpc__enter(m);
	struct m0_hash_link    *link;
	struct m0_rpc_frm_item *fi;
	struct m0_rpc__target  *t;

	/* All items first: one that ends here may have held another place. */
	for (link = m0_hash_first(&m->rml_sender.rsn_targets); link != NULL;
	     link = m0_hash_next(link)) {
		t = container_of(link, struct m0_rpc__target, trg_hash);
		while ((fi = m0_rpc__frm_oldest(&t->trg_frm)) != NULL)
			m0_rpc__item_end(
				m0_rpc__item_of(container_of(
					fi, struct m0_rpc__item, ril_frm)),
				-ESHUTDOWN, NULL);
	}
	(void)m0_rpc__ended_run(m, UINT_MAX);
	while ((link = m0_hash_first(&m->rml_sender.rsn_targets)) != NULL) {
		t = container_of(link, struct m0_rpc__target, trg_hash);
		M0_ASSERT(t->trg_refs == 0);
		m0_rpc__target_check(t);
	}
	m0_rpc__leave(before);
}

/* In the reverse order of init; the transfer machine does not run. */
static void lib_fini(struct m0_rpc__machine *m, bool with_tm)
{
	targets_fini(m);
	m0_rpc__packets_fini(m);
	m0_rpc__rails_fini(m);
	if (with_tm) {
		int rc = m0_net_tm_fini(&m->rml_machine->rm_tm);

		M0_ASSERT_INFO(rc == 0, "the machine's end points are in use");
	}
	m0_rpc__recv_fini(m);
	m0_rpc__session0_fini(m);
	m0_rpc__sweep_fini(m);
	m0_rpc__jobs_fini(&m->rml_jobs);
	parts_fini(m);
	lib_free(m);
}

int m0_rpc_machine_init(struct m0_rpc_machine *machine,
			struct m0_net_domain *dom, const struct m0_rpc_cfg *cfg,
			const char                *ep_addr,
			struct m0_net_buffer_pool *recv_pool, uint32_t colour,
			m0_bcount_t msg_size, uint32_t queue_len)
{
	struct m0_rpc__machine *m;
	int                     rc;

	m = m0_alloc_aligned(sizeof *m, 6);
	if (m == NULL)
		return -ENOMEM;
	M0_SET0(machine);
	machine->rm_lib = m;
	m->rml_machine = machine;
	m->rml_dom = dom;
	m->rml_receiver.rrv_colour = colour;
	m->rml_receiver.rrv_queue_len = queue_len != 0 ? queue_len
						       : M0_RPC_DEF_QUEUE_LEN;
	rc = cfg_take(m, cfg, msg_size);
	if (rc != 0) {
		lib_free(m);
		return rc;
	}
	machine->rm_min_recv_size = m->rml_sender.rsn_msg_size;
	machine->rm_bulk_cutoff = m->rml_cfg.rc_bulk_cutoff;
	m->rml_epoch = m->rml_cfg.rc_epoch;
	machine->rm_dom = dom;
	machine->rm_app_private = m->rml_cfg.rc_app_private;
	machine->rm_tm.ntm_callbacks = &tm_callbacks;
	parts_init(m);
	rc = m0_rpc__jobs_init(&m->rml_jobs, &m->rml_cfg);
	rc = rc ?: m0_rpc__session0_init(m);
	rc = rc ?: m0_rpc__sweep_init(m);
	rc = rc ?: m0_rpc__recv_init(m, recv_pool);
	if (rc == 0)
		rc = m0_net_tm_init(&machine->rm_tm, dom);
	if (rc != 0) {
		lib_fini(m, false);
		return rc;
	}
	rc = tm_start(m, ep_addr);
	if (rc != 0) {
		m0_rpc__calls_close(m);
		lib_fini(m, true);
	}
	return rc;
}

/* ---------------------------------------------------------------- stop -- */

static void items_abort(struct m0_rpc__machine *m)
{
	struct m0_rpc__conn    *conn;
	struct m0_rpc__session *session;

	M0_PRE(m0_rpc__is_here(m));
	m->rml_aborts = true;
	m0_list_for_each_entry(&m->rml_conns.rcn_list, conn,
			       struct m0_rpc__conn, rcx_link) {
		m0_list_for_each_entry(&conn->rcx_sessions, session,
				       struct m0_rpc__session, rsx_link)
			m0_rpc__session_end_items(session, -ESHUTDOWN);
		m0_rpc__conn_end_items(conn, -ESHUTDOWN);
		m0_rpc__conn_abort(conn);
	}
	m0_rpc__session_end_items(m->rml_conns.rcn_session0, -ESHUTDOWN);
}

static bool has_items(const struct m0_rpc__machine *m)
{
	const struct m0_rpc__conn    *conn;
	const struct m0_rpc__session *session;

	if (!m0_list_is_empty(&m->rml_conns.rcn_session0->rsx_items))
		return true;
	m0_list_for_each_entry(&m->rml_conns.rcn_list, conn,
			       struct m0_rpc__conn, rcx_link) {
		if (!m0_list_is_empty(&conn->rcx_items))
			return true;
		m0_list_for_each_entry(&conn->rcx_sessions, session,
				       struct m0_rpc__session, rsx_link)
			if (!m0_list_is_empty(&session->rsx_items) ||
			    (!session->rsx_was_up &&
			     m0_timer_is_armed(&session->rsx_pause.rpa_timer)))
				return true;
	}
	return false;
}

void m0_rpc__machine_drain(struct m0_rpc__machine *m)
{
	bool over = m->rml_aborts || m->rml_now >= m->rml_drain_at;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m->rml_phase == M0_RPC__DRAINS);
	if (over && !m->rml_aborts)
		items_abort(m);
	if (over)
		m0_rpc__packets_stop(m);
	if (has_items(m) || m->rml_server.rsv_executing_nr > 0 ||
	    m->rml_server.rsv_handed_nr > 0 || m->rml_bulks.bks_paused_nr > 0 ||
	    !m0_list_is_empty(&m->rml_ends.ren_list))
		return;
	/* Replies leave, unless there is no time. */
	if (!over && (m->rml_sender.rsn_packets_busy_nr > 0 ||
		      !m0_rpc__targets_are_idle(m)))
		return;
	__atomic_store_n(&m->rml_phase, M0_RPC__QUIET, __ATOMIC_RELEASE);
	m0_rpc__changed(m);
}

static void stop_begin(struct m0_rpc__machine *m, void *arg)
{
	const bool *now = arg;

	M0_PRE(m0_rpc__is_here(m));
	if (m->rml_phase == M0_RPC__RUNS) {
		__atomic_store_n(&m->rml_phase, M0_RPC__DRAINS,
				 __ATOMIC_RELEASE);
		m->rml_drain_at =
			m0_time_add(m->rml_now, m->rml_cfg.rc_drain_ns);
		m0_rpc__probes_end(m);
	}
	if (*now && m->rml_phase == M0_RPC__DRAINS) {
		m->rml_drain_at = m->rml_now;
		items_abort(m);
	}
}

static bool is_quiet(void *arg)
{
	struct m0_rpc__machine *m = arg;

	return __atomic_load_n(&m->rml_phase, __ATOMIC_ACQUIRE) ==
		       M0_RPC__QUIET &&
	       !m0_rpc__rails_are_changed(m);
}

/* Waits for STOPPED. In inline mode this thread delivers the last events. */
static void stopped_wait(struct m0_rpc__machine *m)
{
	if (!m->rml_cfg.rc_inline) {
		m0_semaphore_down(&m->rml_state_sem);
		return;
	}
	while (!m0_semaphore_timeddown(&m->rml_state_sem,
				       m0_time_from_now(0, 100000)))
		m0_net_buffer_event_deliver_all(&m->rml_machine->rm_tm);
}

/* A transfer machine that FAILED by itself may be in the step still. */
static void step_wait(struct m0_net_transfer_mc *tm)
{
	struct m0_clink wait;

	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));
	m0_clink_init(&wait, NULL);
	m0_mutex_lock(&tm->ntm_mutex);
	m0_clink_add(&tm->ntm_chan, &wait);
	while (tm->ntm_callback_counter > 0) {
		m0_mutex_unlock(&tm->ntm_mutex);
		m0_chan_wait(&wait);
		m0_mutex_lock(&tm->ntm_mutex);
	}
	m0_clink_del(&wait);
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_clink_fini(&wait);
}

void m0_rpc_machine_stop(struct m0_rpc_machine *machine, bool abort)
{
	struct m0_rpc__machine *m = machine->rm_lib;

	M0_PRE(m != NULL && m->rml_machine == machine);
	M0_PRE(!m0_rpc__is_here(m));
	/* A thread that changes addresses has begun before this, or does not
	 * begin. */
	m0_mutex_lock(&m->rml_rails.rlr_lock);
	__atomic_store_n(&m->rml_stops, 1, __ATOMIC_SEQ_CST);
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
	m0_rpc__do(m, stop_begin, &abort);
	(void)m0_rpc__wait(m, is_quiet, m, M0_TIME_NEVER);
	/* The threads of stores and pools may still be inside their last wake. */
	m0_rpc__wakers_wait(m);
	/* One of the threads that stop the machine goes on; for the others there is
	 * nothing left to wait for. */
	if (__atomic_exchange_n(&m->rml_stopper, 1, __ATOMIC_SEQ_CST) != 0)
		return;
	m0_rpc__rails_stop(m);
	if (m0_net_tm_stop(&machine->rm_tm, true) != 0)
		step_wait(&machine->rm_tm);
	stopped_wait(m);
	m0_rpc__calls_close(m);
}

void m0_rpc_machine_fini(struct m0_rpc_machine *machine)
{
	struct m0_rpc__machine *m = machine->rm_lib;

	M0_PRE(machine->rm_lib != NULL);
	m0_rpc_machine_stop(machine, true);
	M0_PRE(m0_list_is_empty(&m->rml_conns.rcn_list));
	m0_rpc__do(m, m0_rpc__clients_fini, NULL);
	m0_rpc__watch_end(m);
	m0_rpc__wakers_wait(m);
	lib_fini(m, true);
}

/* --------------------------------------------------------------- other -- */

void m0_rpc_machine_progress(struct m0_rpc_machine *machine)
{
	M0_PRE(machine->rm_lib->rml_cfg.rc_inline);
	m0_net_buffer_event_deliver_all(&machine->rm_tm);
}

int m0_rpc_machine_fd(struct m0_rpc_machine *machine)
{
	M0_PRE(machine->rm_lib != NULL);
	return m0_net_tm_fd(&machine->rm_tm);
}

void m0_rpc_machine_epoch_set(struct m0_rpc_machine *machine, uint32_t epoch)
{
	__atomic_store_n(&machine->rm_lib->rml_epoch, epoch, __ATOMIC_RELAXED);
}

uint32_t m0_rpc_machine_epoch(const struct m0_rpc_machine *machine)
{
	return __atomic_load_n(&machine->rm_lib->rml_epoch, __ATOMIC_RELAXED);
}

const char *m0_rpc_machine_addr(const struct m0_rpc_machine *machine)
{
	M0_PRE(machine->rm_lib != NULL);
	return machine->rm_tm.ntm_ep->nep_addr;
}
