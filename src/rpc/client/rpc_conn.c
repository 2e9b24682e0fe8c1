/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Connections of this machine as a client. A
 * connection that is ACTIVE and learns that the server does not know it any more
 * establishes itself again, and then its sessions, while items wait.
 */
#include "rpc/rpc_internal.h"

static void conn_ask(struct m0_rpc__conn *conn);

static void pause_end(struct m0_rpc__conn *conn)
{
	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	m0_timerq_cancel(&conn->rcx_machine->rml_timers.rtm_pauses,
			 &conn->rcx_pause.rpa_timer);
}

static void pause_over(struct m0_rpc__pause *pause)
{
	conn_ask(container_of(pause, struct m0_rpc__conn, rcx_pause));
}

static void changed_notify(struct m0_rpc__notice *notice, uint32_t state)
{
	struct m0_rpc_conn *conn =
		container_of(notice, struct m0_rpc__conn, rcx_notice)->rcx_conn;

	conn->c_changed(conn, (enum m0_rpc_conn_state)state);
}

static void changed_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	M0_PRE(m0_rpc__is_here(m));
	m0_rpc__notice_run(m,
			   container_of(call, struct m0_rpc__notice, nti_call),
			   changed_notify);
}

/* A watch sees it go, once. */
static void watch_removed(struct m0_rpc__conn *conn)
{
	if (conn->rcx_seen)
		m0_rpc__watch_conn_removed(conn->rcx_machine, conn->rcx_conn);
	conn->rcx_seen = false;
}

void m0_rpc__conn_state_set(struct m0_rpc__conn   *conn,
			    enum m0_rpc_conn_state state)
{
	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	if (conn->rcx_conn->c_changed != NULL)
		m0_rpc__notice_add(conn->rcx_machine, &conn->rcx_notice, state,
				   changed_run);
	__atomic_store_n(&conn->rcx_conn->c_state, (uint32_t)state,
			 __ATOMIC_RELEASE);
	if (state != M0_RPC_CONN_ACTIVE)
		watch_removed(conn);
	m0_rpc__changed(conn->rcx_machine);
}

/* ---------------------------------------------------------------- life -- */

struct birth {
	struct m0_rpc__conn        *bth_conn;
	const struct m0_rpc__addrs *bth_addrs;
	int                         bth_rc;
};

static void conn_link(struct m0_rpc__machine *m, void *arg)
{
	struct birth        *birth = arg;
	struct m0_rpc__conn *conn = birth->bth_conn;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(birth->bth_addrs->rad_nr > 0);
	birth->bth_rc = m0_rpc__links_make(conn, birth->bth_addrs);
	if (birth->bth_rc != 0) {
		m0_rpc__links_free(conn);
		return;
	}
	conn->rcx_nr = ++m->rml_conns.rcn_conn_seq;
	m0_list_add_tail(&m->rml_conns.rcn_list, &conn->rcx_link);
}

static void lib_free(struct m0_rpc__conn *lib)
{
	M0_PRE(lib->rcx_hold_nr == 0);
	M0_PRE(lib->rcx_links_nr == 0);
	m0_list_fini(&lib->rcx_links);
	m0_mutex_fini(&lib->rcx_ways_lock);
	m0_list_fini(&lib->rcx_sessions);
	m0_list_fini(&lib->rcx_items);
	m0_list_fini(&lib->rcx_sources);
	m0_free(lib);
}

int m0_rpc_conn_init(struct m0_rpc_conn *conn, struct m0_uint128 service,
		     const char *addr, struct m0_rpc_machine *machine,
		     uint64_t max_rpcs_in_flight)
{
	struct m0_rpc__addrs addrs;
	struct m0_rpc__conn *lib;
	struct birth         birth = { .bth_addrs = &addrs };
	int                  rc;

	M0_PRE(conn != NULL && machine->rm_lib != NULL);
	rc = m0_rpc__addrs_find(machine->rm_lib, service, addr, &addrs);
	if (rc != 0)
		return rc;
	M0_ALLOC_PTR(lib);
	if (lib == NULL)
		return -ENOMEM;
	lib->rcx_machine = machine->rm_lib;
	lib->rcx_conn = conn;
	while (service.u_hi == 0 && service.u_lo == 0)
		m0_os_random(&service, sizeof service);
	m0_rpc__pause_init(&lib->rcx_pause, pause_over);
	m0_list_link_init(&lib->rcx_link);
	m0_rpc__pause_init(&lib->rcx_tick, m0_rpc__links_tick);
	m0_list_init(&lib->rcx_links);
	m0_mutex_init(&lib->rcx_ways_lock);
	m0_list_init(&lib->rcx_sessions);
	m0_list_init(&lib->rcx_items);
	m0_list_init(&lib->rcx_sources);
	lib->rcx_packet_max = lib->rcx_machine->rml_sender.rsn_msg_size;
	M0_SET0(conn);
	conn->c_flags = M0_RPC_CONN_SENDER_END;
	conn->c_uuid = lib->rcx_machine->rml_cfg.rc_uuid;
	conn->c_incarnation = lib->rcx_machine->rml_cfg.rc_incarnation;
	conn->c_service = service;
	conn->c_rpc_machine = machine;
	conn->c_max_rpcs_in_flight =
		max_rpcs_in_flight != 0 ? max_rpcs_in_flight : 8;
	conn->c_state = M0_RPC_CONN_INITIALISED;
	conn->c_lib = lib;
	birth.bth_conn = lib;
	m0_rpc__do(lib->rcx_machine, conn_link, &birth);
	if (birth.bth_rc != 0) {
		lib_free(lib);
		M0_SET0(conn);
	}
	return birth.bth_rc;
}

static void conn_unlink(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc__conn *conn = arg;

	M0_PRE(m0_rpc__conn_invariant(conn));
	M0_PRE(m0_list_is_empty(&conn->rcx_sessions));
	(void)m;
	watch_removed(conn);
	pause_end(conn);
	m0_rpc__sources_end(conn);
	m0_rpc__links_free(conn);
	m0_list_del(&conn->rcx_link);
}

static void conn_end_do(struct m0_rpc__machine *m, void *arg)
{
	(void)m;
	m0_rpc__conn_end_items(arg, -ECANCELED);
}

static bool is_let_go(void *arg)
{
	struct m0_rpc__conn *conn = arg;

	return __atomic_load_n(&conn->rcx_hold_nr, __ATOMIC_ACQUIRE) == 0 &&
	       m0_rpc__notice_is_done(&conn->rcx_notice);
}

void m0_rpc_conn_fini(struct m0_rpc_conn *conn)
{
	struct m0_rpc__conn *lib = conn->c_lib;

	M0_PRE(lib != NULL && lib->rcx_conn == conn);
	M0_PRE(M0_IN(conn->c_state,
		     (M0_RPC_CONN_INITIALISED, M0_RPC_CONN_FAILED,
		      M0_RPC_CONN_TERMINATED)));
	m0_rpc__do(lib->rcx_machine, conn_end_do, lib);
	if (!is_let_go(lib))
		(void)m0_rpc__wait(lib->rcx_machine, is_let_go, lib,
				   M0_TIME_NEVER);
	m0_rpc__do(lib->rcx_machine, conn_unlink, lib);
	lib_free(lib);
	conn->c_lib = NULL;
	conn->c_state = M0_RPC_CONN_UNINITIALISED;
}

/* ----------------------------------------------------------- establish -- */

void m0_rpc__conn_fail(struct m0_rpc__conn *conn, int rc)
{
	struct m0_rpc__session *session;
	struct m0_list_link    *link;
	struct m0_list_link    *next;

	M0_PRE(m0_rpc__conn_invariant(conn));
	/* A connection in another state ends by itself, or has ended. */
	if (!M0_IN(m0_rpc__conn_state(conn->rcx_conn),
		   (M0_RPC_CONN_CONNECTING, M0_RPC_CONN_ACTIVE)))
		return;
	if (conn->rcx_note != NULL) {
		m0_rpc__note_drop(conn->rcx_note);
		conn->rcx_note = NULL;
	}
	pause_end(conn);
	conn->rcx_again = false;
	conn->rcx_conn->c_rc = rc;
	m0_list_for_each_safe(&conn->rcx_sessions, link, next) {
		session = container_of(link, struct m0_rpc__session, rsx_link);
		m0_rpc__session_fail(session, rc);
	}
	m0_rpc__conn_end_items(conn, rc);
	m0_rpc__conn_state_set(conn, M0_RPC_CONN_FAILED);
}

void m0_rpc__conn_abort(struct m0_rpc__conn *conn)
{
	struct m0_rpc__session *session;
	struct m0_list_link    *link;
	struct m0_list_link    *next;

	M0_PRE(conn->rcx_machine->rml_aborts);
	if (m0_timer_is_armed(&conn->rcx_pause.rpa_timer))
		m0_rpc__conn_fail(conn, -ESHUTDOWN);
	m0_list_for_each_safe(&conn->rcx_sessions, link, next) {
		session = container_of(link, struct m0_rpc__session, rsx_link);
		if (m0_timer_is_armed(&session->rsx_pause.rpa_timer))
			m0_rpc__session_fail(session, -ESHUTDOWN);
	}
}

static int answer_take(struct m0_rpc__conn *conn, const void *body,
		       m0_bcount_t nr)
{
	struct m0_rpc_conn_rep rep;
	int                    rc = m0_rpc__conn_rep_get(&rep, body, nr);

	M0_PRE(conn->rcx_target != NULL);
	if (rc != 0)
		return rc;
	if (rep.rcr_packet_max <
	    M0_RPC_WIRE_PACKET_BYTES + M0_RPC_WIRE_ITEM_BYTES)
		return -EPROTO;
	__atomic_store_n(&conn->rcx_packet_max,
			 min64u(conn->rcx_machine->rml_sender.rsn_msg_size,
				rep.rcr_packet_max),
			 __ATOMIC_RELAXED);
	conn->rcx_conn->c_server_incarnation = rep.rcr_incarnation;
	conn->rcx_target->trg_life = rep.rcr_life;
	m0_rpc__target_limits(conn->rcx_target);
	return 0;
}

bool m0_rpc__asks_again(const struct m0_rpc__machine *m, int rc)
{
	M0_PRE(rc < 0);
	return m->rml_cfg.rc_asks_again && !m->rml_aborts &&
	       !M0_IN(rc, (-ESTALE, -ESHUTDOWN, -ECANCELED));
}

static void conn_refused(struct m0_rpc__conn *conn, int rc)
{
	M0_PRE(conn->rcx_note == NULL);
	if (!conn->rcx_again || !m0_rpc__asks_again(conn->rcx_machine, rc))
		m0_rpc__conn_fail(conn, rc);
	else
		m0_rpc__pause_must(conn->rcx_machine, &conn->rcx_pause);
}

static void conn_up(struct m0_rpc__conn *conn)
{
	struct m0_rpc__session *session;
	struct m0_list_link    *link;
	struct m0_list_link    *next;

	M0_PRE(m0_rpc__conn_invariant(conn));
	M0_PRE(conn->rcx_note == NULL);
	m0_rpc__links_up(conn);
	if (!conn->rcx_again) {
		m0_rpc__conn_state_set(conn, M0_RPC_CONN_ACTIVE);
		conn->rcx_seen = true;
		m0_rpc__watch_conn(conn->rcx_machine, conn->rcx_conn);
		return;
	}
	conn->rcx_again = false;
	m0_list_for_each_safe(&conn->rcx_sessions, link, next) {
		session = container_of(link, struct m0_rpc__session, rsx_link);
		m0_rpc__session_again(session);
	}
}

static void conn_answered(struct m0_rpc__note *note, int rc, const void *body,
			  m0_bcount_t nr)
{
	struct m0_rpc__conn   *conn = note->rno_arg;
	struct m0_rpc__target *target;

	/* The connection has another note by now, or another main link. */
	if (conn->rcx_note != note)
		return;
	conn->rcx_note = NULL;
	/* Treat the answer as that of the main link, whichever that is by
	 * now. */
	target = m0_rpc__il(&note->rno_item)->ril_target;
	if (rc == 0 && target != NULL && target != conn->rcx_target)
		m0_rpc__main_set(m0_rpc__link_of(conn, target->trg_key.trk_ep));
	if (rc == 0)
		rc = answer_take(conn, body, nr);
	if (rc == 0)
		conn_up(conn);
	else if (conn->rcx_again && rc == -ETIMEDOUT &&
		 !conn->rcx_machine->rml_aborts)
		conn_ask(conn);
	else
		conn_refused(conn, rc);
}

uint32_t m0_rpc__conn_est(const struct m0_rpc__conn *conn, void *body)
{
	struct m0_rpc_conn_est est = {
		.rce_service = conn->rcx_conn->c_service,
		.rce_conn = conn->rcx_nr,
		.rce_packet_max =
			(uint32_t)conn->rcx_machine->rml_sender.rsn_msg_size,
	};

	M0_PRE(conn->rcx_nr != 0);
	return (uint32_t)m0_rpc__conn_est_put(body, &est);
}

/* From now on it has to be answered over the main link, or over another. */
static void note_is(struct m0_rpc__conn *conn, struct m0_rpc__note *note)
{
	struct m0_rpc__machine *m = conn->rcx_machine;

	M0_PRE(note != NULL);
	M0_PRE(conn->rcx_note == NULL);
	conn->rcx_note = note;
	conn->rcx_note_at = m->rml_now;
	if (conn->rcx_links_nr > 1)
		m0_rpc__links_watch(conn,
				    m0_time_add(m->rml_now,
						m->rml_cfg.rc_link_idle_ns));
}

static void conn_ask(struct m0_rpc__conn *conn)
{
	struct m0_rpc__machine *m = conn->rcx_machine;
	struct m0_rpc__note    *note;
	int                     rc = 0;

	M0_PRE(m0_rpc__conn_invariant(conn));
	M0_PRE(conn->rcx_note == NULL);
	if (conn->rcx_target == NULL)
		rc = m0_rpc__main_take(conn);
	note = rc == 0 ? m0_rpc__note_new(m, M0_RPC_OP_CONN_ESTABLISH,
					  M0_RPC_WIRE_BODY_MAX)
		       : NULL;
	if (note == NULL) {
		conn_refused(conn, rc != 0 ? rc : -ENOMEM);
		return;
	}
	note->rno_nr = m0_rpc__conn_est(conn, note->rno_body);
	note->rno_done = conn_answered;
	note->rno_arg = conn;
	note_is(conn, note);
	m0_rpc__note_ask(note, conn, m->rml_conns.rcn_session0,
			 conn->rcx_again ? m0_time_add(m->rml_now,
						       m->rml_cfg.rc_timeout_ns)
					 : conn->rcx_expires);
}

void m0_rpc__conn_again(struct m0_rpc__conn *conn)
{
	struct m0_rpc__session *session;

	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	if (conn->rcx_again ||
	    m0_rpc__conn_state(conn->rcx_conn) != M0_RPC_CONN_ACTIVE)
		return;
	conn->rcx_again = true;
	m0_list_for_each_entry(&conn->rcx_sessions, session,
			       struct m0_rpc__session, rsx_link)
		m0_rpc__session_suspend(session);
	if (!m0_rpc__pause(conn->rcx_machine, &conn->rcx_pause, M0_TIME_NEVER))
		conn_ask(conn);
}

/* One-way items that wait go to the new place as they are. */
static void oneway_move(struct m0_rpc__conn *conn)
{
	struct m0_list_link *link;
	struct m0_list_link *next;

	m0_list_for_each_safe(&conn->rcx_items, link, next) {
		struct m0_rpc__item *il =
			container_of(link, struct m0_rpc__item, ril_link);

		if (!m0_rpc__frm_item_is_cached(&il->ril_frm))
			continue;
		m0_rpc__frm_remove(&il->ril_frm);
		m0_rpc__item_again(conn->rcx_machine, m0_rpc__item_of(il));
	}
}

void m0_rpc__conn_retarget(struct m0_rpc__conn *conn)
{
	struct m0_rpc__note    *note = conn->rcx_note;
	struct m0_rpc__session *session;
	int                     rc;

	M0_PRE(conn->rcx_target == NULL);
	m0_list_for_each_entry(&conn->rcx_sessions, session,
			       struct m0_rpc__session, rsx_link)
		m0_rpc__session_suspend(session);
	rc = m0_rpc__main_take(conn);
	if (rc != 0) {
		m0_rpc__conn_fail(conn, rc);
		return;
	}
	oneway_move(conn);
	/* Another place: nothing was asked there yet. */
	pause_end(conn);
	m0_rpc__pause_forget(&conn->rcx_pause);
	if (note != NULL) {
		/* A handshake on its way to the old place. */
		conn->rcx_note = NULL;
		m0_rpc__note_drop(note);
		conn_ask(conn);
	} else if (m0_rpc__conn_state(conn->rcx_conn) == M0_RPC_CONN_ACTIVE) {
		conn->rcx_again = false;
		m0_rpc__conn_again(conn);
	}
}

void m0_rpc__conns_refused(struct m0_rpc__machine  *m,
			   struct m0_net_end_point *ep)
{
	struct m0_rpc__conn *conn;

	M0_PRE(m0_rpc__is_here(m));
	m0_list_for_each_entry(&m->rml_conns.rcn_list, conn,
			       struct m0_rpc__conn, rcx_link) {
		struct m0_rpc__note *note = conn->rcx_note;

		if (note == NULL || conn->rcx_target == NULL ||
		    conn->rcx_target->trg_key.trk_ep != ep)
			continue;
		/* The second one in a pass: it has been ended by the first. */
		if (!(m0_rpc__il(&note->rno_item)->ril_flags &
		      (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS)))
			m0_rpc__item_end(&note->rno_item, -EPROTONOSUPPORT,
					 NULL);
	}
}

static void establish_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__conn *conn =
		container_of(call, struct m0_rpc__conn, rcx_call);

	M0_PRE(m0_rpc__is_here(m));
	conn->rcx_conn->c_rc = 0;
	if (m->rml_aborts)
		m0_rpc__conn_fail(conn, -ESHUTDOWN);
	else
		conn_ask(conn);
}

static m0_time_t expires_of(const struct m0_rpc__machine *m,
			    m0_time_t                     abs_timeout)
{
	return abs_timeout != M0_TIME_NEVER
		       ? abs_timeout
		       : m0_time_add(m0_time_now(), m->rml_cfg.rc_timeout_ns);
}

int m0_rpc_conn_establish(struct m0_rpc_conn *conn, m0_time_t abs_timeout)
{
	struct m0_rpc__conn *lib = conn->c_lib;
	int                  rc;

	M0_PRE(lib != NULL);
	M0_PRE(conn->c_state == M0_RPC_CONN_INITIALISED);
	if (__atomic_load_n(&lib->rcx_machine->rml_stops, __ATOMIC_RELAXED))
		return -ESHUTDOWN;
	lib->rcx_expires = expires_of(lib->rcx_machine, abs_timeout);
	lib->rcx_call.rcl_run = establish_run;
	__atomic_store_n(&conn->c_state, M0_RPC_CONN_CONNECTING,
			 __ATOMIC_RELEASE);
	rc = m0_rpc__call_push(lib->rcx_machine, &lib->rcx_call);
	if (rc != 0)
		__atomic_store_n(&conn->c_state, M0_RPC_CONN_FAILED,
				 __ATOMIC_RELEASE);
	return rc;
}

/* ----------------------------------------------------------- terminate -- */

static void terminated(struct m0_rpc__note *note, int rc, const void *body,
		       m0_bcount_t nr)
{
	struct m0_rpc__conn *conn = note->rno_arg;

	M0_PRE(conn->rcx_note == note);
	(void)body;
	(void)nr;
	conn->rcx_note = NULL;
	conn->rcx_conn->c_rc = rc;
	m0_rpc__conn_state_set(conn, M0_RPC_CONN_TERMINATED);
}

/* Makes the note that ends the connection at the server. *ret NULL: the server need
 * not be notified, or (with an error) cannot be. */
static int farewell(struct m0_rpc__machine *m, const struct m0_rpc__conn *conn,
		    struct m0_rpc__note **ret)
{
	*ret = NULL;
	if (conn->rcx_target == NULL ||
	    conn->rcx_conn->c_server_incarnation == 0 ||
	    conn->rcx_conn->c_rc == -ESTALE)
		return 0;
	if (m->rml_aborts)
		return -ESHUTDOWN;
	*ret = m0_rpc__note_new(m, M0_RPC_OP_CONN_TERMINATE,
				M0_RPC_WIRE_BODY_MAX);
	return *ret == NULL ? -ENOMEM : 0;
}

static void terminate_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__conn *conn =
		container_of(call, struct m0_rpc__conn, rcx_call);
	struct m0_rpc__note *note;

	M0_PRE(m0_rpc__conn_invariant(conn));
	if (conn->rcx_note != NULL) {
		m0_rpc__note_drop(conn->rcx_note);
		conn->rcx_note = NULL;
	}
	pause_end(conn);
	m0_rpc__sources_end(conn);
	conn->rcx_conn->c_rc = farewell(m, conn, &note);
	if (note == NULL) {
		m0_rpc__conn_state_set(conn, M0_RPC_CONN_TERMINATED);
		return;
	}
	note->rno_nr =
		(uint32_t)m0_rpc__number_put(note->rno_body, conn->rcx_nr);
	note->rno_done = terminated;
	note->rno_arg = conn;
	note_is(conn, note);
	m0_rpc__note_ask(note, conn, m->rml_conns.rcn_session0,
			 conn->rcx_expires);
}

int m0_rpc_conn_terminate(struct m0_rpc_conn *conn, m0_time_t abs_timeout)
{
	struct m0_rpc__conn *lib = conn->c_lib;

	M0_PRE(conn->c_flags & M0_RPC_CONN_SENDER_END);
	M0_PRE(M0_IN(m0_rpc__conn_state(conn),
		     (M0_RPC_CONN_ACTIVE, M0_RPC_CONN_FAILED)));
	lib->rcx_expires = expires_of(lib->rcx_machine, abs_timeout);
	lib->rcx_call.rcl_run = terminate_run;
	__atomic_store_n(&conn->c_state, M0_RPC_CONN_TERMINATING,
			 __ATOMIC_RELEASE);
	if (m0_rpc__call_push(lib->rcx_machine, &lib->rcx_call) == 0)
		return 0;
	conn->c_rc = -ESHUTDOWN;
	__atomic_store_n(&conn->c_state, M0_RPC_CONN_TERMINATED,
			 __ATOMIC_RELEASE);
	return -ESHUTDOWN;
}

/* ------------------------------------------------------------ blocking -- */

struct conn_wait {
	const struct m0_rpc_conn *cwt_conn;
	uint64_t                  cwt_states;
};

static bool conn_is(void *arg)
{
	const struct conn_wait *w = arg;
	uint32_t                state =
		__atomic_load_n(&w->cwt_conn->c_state, __ATOMIC_ACQUIRE);

	return w->cwt_states & UINT64_C(1) << state;
}

int m0_rpc_conn_timedwait(struct m0_rpc_conn *conn, uint64_t states,
			  m0_time_t abs_timeout)
{
	struct conn_wait w = { conn, states };

	return m0_rpc__wait(conn->c_rpc_machine->rm_lib, conn_is, &w,
			    abs_timeout);
}

int m0_rpc_conn_establish_sync(struct m0_rpc_conn *conn, m0_time_t abs_timeout)
{
	int rc = m0_rpc_conn_establish(conn, abs_timeout);

	if (rc != 0)
		return rc;
	(void)m0_rpc_conn_timedwait(
		conn, 1 << M0_RPC_CONN_ACTIVE | 1 << M0_RPC_CONN_FAILED,
		M0_TIME_NEVER);
	return conn->c_rc;
}

int m0_rpc_conn_create(struct m0_rpc_conn *conn, struct m0_uint128 service,
		       const char *addr, struct m0_rpc_machine *machine,
		       uint64_t max_rpcs_in_flight, m0_time_t abs_timeout)
{
	int rc = m0_rpc_conn_init(conn, service, addr, machine,
				  max_rpcs_in_flight);

	if (rc != 0)
		return rc;
	rc = m0_rpc_conn_establish_sync(conn, abs_timeout);
	if (rc != 0) {
		/* If it was not begun. */
		if (conn->c_state == M0_RPC_CONN_CONNECTING)
			conn->c_state = M0_RPC_CONN_FAILED;
		m0_rpc_conn_fini(conn);
	}
	return rc;
}

int m0_rpc_conn_terminate_sync(struct m0_rpc_conn *conn, m0_time_t abs_timeout)
{
	int rc = m0_rpc_conn_terminate(conn, abs_timeout);

	if (rc != 0)
		return rc;
	(void)m0_rpc_conn_timedwait(conn, 1 << M0_RPC_CONN_TERMINATED,
				    M0_TIME_NEVER);
	return conn->c_rc;
}

int m0_rpc_conn_destroy(struct m0_rpc_conn *conn, m0_time_t abs_timeout)
{
	int rc = m0_rpc_conn_terminate_sync(conn, abs_timeout);

	m0_rpc_conn_fini(conn);
	return rc;
}
