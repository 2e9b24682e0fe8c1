/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Sessions of this machine as a client.
 *
 * A session is *up* when the server has it. When the connection is established
 * again it is suspended - what it has in the formation is taken back - and asks
 * the server to resume it; if the server has forgotten it takes a number never
 * used before and begins anew.
 */
#include "rpc/rpc_internal.h"

enum {
	STREAMS_DEF = 8,
	WINDOW_DEF = 16
};

static void session_ask(struct m0_rpc__session *s);

static void pause_end(struct m0_rpc__session *s)
{
	m0_timerq_cancel(&s->rsx_machine->rml_timers.rtm_pauses,
			 &s->rsx_pause.rpa_timer);
}

/* A new one has an end also while its connection is not there. */
static void end_arm(struct m0_rpc__session *s)
{
	if (!s->rsx_was_up && s->rsx_note == NULL)
		m0_timerq_arm(&s->rsx_machine->rml_timers.rtm_pauses,
			      &s->rsx_pause.rpa_timer, s->rsx_expires);
}

static void pause_over(struct m0_rpc__pause *pause)
{
	struct m0_rpc__session *s =
		container_of(pause, struct m0_rpc__session, rsx_pause);

	if (!s->rsx_was_up && s->rsx_machine->rml_now >= s->rsx_expires)
		m0_rpc__session_fail(s, -ETIMEDOUT);
	else if (s->rsx_conn->rcx_again)
		end_arm(s);
	else
		session_ask(s);
}

static void changed_notify(struct m0_rpc__notice *notice, uint32_t state)
{
	struct m0_rpc_session *session =
		container_of(notice, struct m0_rpc__session, rsx_notice)
			->rsx_session;

	session->s_changed(session, (enum m0_rpc_session_state)state);
}

static void changed_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	m0_rpc__notice_run(m,
			   container_of(call, struct m0_rpc__notice, nti_call),
			   changed_notify);
}

/* A watch sees it go, once. */
static void watch_removed(struct m0_rpc__session *s)
{
	if (s->rsx_seen)
		m0_rpc__watch_session_removed(s->rsx_machine, s->rsx_session);
	s->rsx_seen = false;
}

/* Queues a call of s_changed. Changes between BUSY and IDLE cause none. */
static void state_notify(struct m0_rpc__session   *s,
			 enum m0_rpc_session_state state)
{
	if (s->rsx_session->s_changed != NULL)
		m0_rpc__notice_add(s->rsx_machine, &s->rsx_notice, state,
				   changed_run);
}

static void state_set(struct m0_rpc__session   *s,
		      enum m0_rpc_session_state state)
{
	M0_PRE_EX(m0_rpc__is_here(s->rsx_machine));
	__atomic_store_n(&s->rsx_session->s_state, (uint32_t)state,
			 __ATOMIC_RELEASE);
	if (state != M0_RPC_SESSION_IDLE)
		watch_removed(s);
	m0_rpc__changed(s->rsx_machine);
}

struct m0_rpc__session *m0_rpc__session_find(const struct m0_rpc__machine *m,
					     uint64_t                      id)
{
	struct m0_rpc__session *last = m->rml_conns.rcn_session_last;
	struct m0_hash_link    *link;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__conns_invariant(&m->rml_conns));
	if (id == 0)
		return m->rml_conns.rcn_session0;
	if (last != NULL && last->rsx_id == id)
		return last;
	link = m0_hash_find(&m->rml_conns.rcn_sessions, &id, sizeof id);
	if (link == NULL)
		return NULL;
	last = container_of(link, struct m0_rpc__session, rsx_hash);
	((struct m0_rpc__machine *)(uintptr_t)m)->rml_conns.rcn_session_last =
		last;
	return last;
}

/* ---------------------------------------------------------------- life -- */

void m0_rpc__conns_init(struct m0_rpc__conns *conns)
{
	m0_hash_init(&conns->rcn_sessions);
	m0_list_init(&conns->rcn_list);
	m0_list_init(&conns->rcn_streams);
}

void m0_rpc__conns_fini(struct m0_rpc__conns *conns)
{
	m0_list_fini(&conns->rcn_streams);
	m0_list_fini(&conns->rcn_list);
	m0_hash_fini(&conns->rcn_sessions);
}

static struct m0_rpc__session *session_new(struct m0_rpc__machine *m)
{
	struct m0_rpc__session *s;

	M0_ALLOC_PTR(s);
	if (s == NULL)
		return NULL;
	s->rsx_machine = m;
	m0_rpc__pause_init(&s->rsx_pause, pause_over);
	m0_list_link_init(&s->rsx_link);
	m0_list_init(&s->rsx_items);
	return s;
}

int m0_rpc__session0_init(struct m0_rpc__machine *m)
{
	uint32_t first[2];

	M0_PRE(m->rml_conns.rcn_session0 == NULL);
	m->rml_conns.rcn_session0 = session_new(m);
	if (m->rml_conns.rcn_session0 == NULL)
		return -ENOMEM;
	/* Not 1: what comes late for an older life of this machine, at the
	 * same address, must fit nothing of this one's. */
	m0_os_random(first, sizeof first);
	m->rml_conns.rcn_session_seq = first[0];
	m->rml_conns.rcn_session0->rsx_xid = first[1];
	m->rml_conns.rcn_session0->rsx_is_up = true;
	return 0;
}

void m0_rpc__session0_fini(struct m0_rpc__machine *m)
{
	M0_PRE(m0_hash_first(&m->rml_conns.rcn_sessions) == NULL);
	if (m->rml_conns.rcn_session0 == NULL)
		return;
	m0_list_fini(&m->rml_conns.rcn_session0->rsx_items);
	m0_free(m->rml_conns.rcn_session0->rsx_table);
	m0_free(m->rml_conns.rcn_session0);
}

static void link_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc__session *s = arg;

	(void)m;
	m0_list_add_tail(&s->rsx_conn->rcx_sessions, &s->rsx_link);
}

int m0_rpc_session_init(struct m0_rpc_session *session,
			struct m0_rpc_conn    *conn)
{
	struct m0_rpc__session *s;

	M0_PRE(conn->c_lib != NULL);
	M0_PRE(conn->c_flags & M0_RPC_CONN_SENDER_END);
	s = session_new(conn->c_rpc_machine->rm_lib);
	if (s == NULL)
		return -ENOMEM;
	M0_SET0(session);
	session->s_streams_nr = STREAMS_DEF;
	session->s_window = WINDOW_DEF;
	session->s_conn = conn;
	session->s_lib = s;
	session->s_state = M0_RPC_SESSION_INITIALISED;
	s->rsx_session = session;
	s->rsx_conn = conn->c_lib;
	m0_rpc__do(s->rsx_machine, link_do, s);
	return 0;
}

/* Its number is nobody's any more. */
static void number_drop(struct m0_rpc__session *s)
{
	struct m0_rpc__machine *m = s->rsx_machine;

	M0_PRE(m0_rpc__is_here(m));
	if (s->rsx_id == 0)
		return;
	m0_hash_del(&m->rml_conns.rcn_sessions, &s->rsx_hash);
	if (m->rml_conns.rcn_session_last == s)
		m->rml_conns.rcn_session_last = NULL;
	s->rsx_id = 0;
}

static int number_take(struct m0_rpc__session *s)
{
	struct m0_rpc__machine *m = s->rsx_machine;
	int                     rc;

	M0_PRE(m0_rpc__session_invariant(s));
	number_drop(s);
	s->rsx_id = ++m->rml_conns.rcn_session_seq;
	rc = m0_hash_add(&m->rml_conns.rcn_sessions, &s->rsx_hash, &s->rsx_id,
			 sizeof s->rsx_id);
	if (rc != 0)
		s->rsx_id = 0;
	__atomic_store_n(&s->rsx_session->s_session_id, s->rsx_id,
			 __ATOMIC_RELAXED);
	return rc;
}

static void unlink_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc__session *s = arg;

	M0_PRE(m0_list_is_empty(&s->rsx_items));
	(void)m;
	watch_removed(s);
	pause_end(s);
	number_drop(s);
	m0_rpc__streams_fini(s);
	m0_list_del(&s->rsx_link);
}

static bool is_let_go(void *arg)
{
	const struct m0_rpc_session *session = arg;

	return __atomic_load_n(&session->s_hold_cnt, __ATOMIC_ACQUIRE) == 0;
}

static bool is_notified(void *arg)
{
	const struct m0_rpc_session *session = arg;

	return is_let_go(arg) &&
	       m0_rpc__notice_is_done(&session->s_lib->rsx_notice);
}

void m0_rpc_session_fini(struct m0_rpc_session *session)
{
	struct m0_rpc__session *s = session->s_lib;

	M0_PRE(s != NULL && s->rsx_session == session);
	M0_PRE(M0_IN(session->s_state,
		     (M0_RPC_SESSION_INITIALISED, M0_RPC_SESSION_FAILED,
		      M0_RPC_SESSION_TERMINATED)));
	if (!is_notified(session))
		(void)m0_rpc__wait(s->rsx_machine, is_notified, session,
				   M0_TIME_NEVER);
	m0_rpc__do(s->rsx_machine, unlink_do, s);
	m0_list_fini(&s->rsx_items);
	m0_free(s->rsx_streams);
	m0_free(s->rsx_table);
	m0_free(s);
	session->s_lib = NULL;
	session->s_state = M0_RPC_SESSION_UNINITIALISED;
}

void m0_rpc__session_fail(struct m0_rpc__session *s, int rc)
{
	uint32_t state = m0_rpc__session_state(s->rsx_session);

	M0_PRE(m0_rpc__session_invariant(s));
	if (M0_IN(state,
		  (M0_RPC_SESSION_INITIALISED, M0_RPC_SESSION_FAILED,
		   M0_RPC_SESSION_TERMINATED, M0_RPC_SESSION_TERMINATING)))
		return;
	pause_end(s);
	s->rsx_is_up = false;
	s->rsx_session->s_rc = rc;
	if (s->rsx_note != NULL) {
		m0_rpc__note_drop(s->rsx_note);
		s->rsx_note = NULL;
	}
	state_notify(s, M0_RPC_SESSION_FAILED);
	state_set(s, M0_RPC_SESSION_FAILED);
	m0_rpc__session_end_items(s, rc);
}

/* ------------------------------------------------------------ establish -- */

/* Items of no stream, and those of streams that were in the formation. */
static void items_unpark(struct m0_rpc__session *s)
{
	struct m0_rpc__machine *m = s->rsx_machine;
	struct m0_list_link    *link;
	struct m0_list_link    *next;

	M0_PRE(s->rsx_is_up);
	m0_list_for_each_safe(&s->rsx_items, link, next) {
		struct m0_rpc__item *il =
			container_of(link, struct m0_rpc__item, ril_link);

		if (!(il->ril_flags & M0_RPC__IF_PARKED) ||
		    (il->ril_flags & M0_RPC__IF_ENDS))
			continue;
		m0_rpc__item_again(m, m0_rpc__item_of(il));
	}
}

static int streams_up(struct m0_rpc__session          *s,
		      const struct m0_rpc_session_rep *rep)
{
	struct m0_rpc__stream *stream;
	uint32_t               i;
	int                    rc = 0;

	for (i = 0; i < s->rsx_streams_nr && rc == 0; ++i) {
		stream = &s->rsx_streams[i];
		rc = s->rsx_resets && s->rsx_was_up
			     ? m0_rpc_cstream_reset(&stream->rsy_core,
						    rep->rsr_window,
						    s->rsx_machine->rml_now)
			     : m0_rpc_cstream_resume(&stream->rsy_core,
						     rep->rsr_xid[i],
						     rep->rsr_window,
						     s->rsx_machine->rml_now);
		if (rc == 0)
			m0_rpc__stream_ready(stream);
	}
	return rc;
}

static void session_refused(struct m0_rpc__session *s, int rc)
{
	M0_PRE(s->rsx_note == NULL);
	if (!s->rsx_was_up || !m0_rpc__asks_again(s->rsx_machine, rc))
		m0_rpc__session_fail(s, rc);
	else
		m0_rpc__pause_must(s->rsx_machine, &s->rsx_pause);
}

static int answer_take(struct m0_rpc__session *s, const void *body,
		       m0_bcount_t nr)
{
	struct m0_rpc_session_rep *rep;
	int                        rc;

	M0_ALLOC_PTR(rep);
	if (rep == NULL)
		return -ENOMEM;
	rc = m0_rpc__session_rep_get(rep, body, nr);
	if (rc == 0 && (rep->rsr_streams_nr == 0 || rep->rsr_window == 0))
		rc = -EPROTO;
	if (rc == 0 && s->rsx_streams == NULL)
		rc = m0_rpc__streams_make(
			s,
			(uint32_t)min64u(rep->rsr_streams_nr,
					 s->rsx_session->s_streams_nr),
			(uint32_t)min64u(rep->rsr_window,
					 s->rsx_session->s_window));
	if (rc == 0 && rep->rsr_streams_nr < s->rsx_streams_nr)
		rc = -EPROTO;
	rc = rc ?: streams_up(s, rep);
	m0_free(rep);
	return rc;
}

static void session_up(struct m0_rpc__session *s)
{
	struct m0_rpc_session *session = s->rsx_session;
	uint32_t               i;
	bool                   first = !s->rsx_was_up;

	s->rsx_is_up = true;
	s->rsx_was_up = true;
	s->rsx_resets = false;
	session->s_streams_nr = s->rsx_streams_nr;
	session->s_window = s->rsx_window;
	if (first) {
		state_notify(s, M0_RPC_SESSION_IDLE);
		state_set(s, M0_RPC_SESSION_IDLE);
		s->rsx_seen = true;
		m0_rpc__watch_session(s->rsx_machine, session);
		return;
	}
	items_unpark(s);
	for (i = 0; i < s->rsx_streams_nr; ++i)
		if (s->rsx_streams[i].rsy_owes)
			m0_rpc__stream_control(&s->rsx_streams[i]);
}

static void answered(struct m0_rpc__note *note, int rc, const void *body,
		     m0_bcount_t nr)
{
	struct m0_rpc__session *s = note->rno_arg;

	if (s->rsx_note != note)
		return;
	s->rsx_note = NULL;
	if (rc == 0) {
		rc = answer_take(s, body, nr);
		/* The server claims to have executed requests that were never
		 * sent. */
		if (rc == -ESTALE && !s->rsx_was_up)
			rc = -EPROTO;
	}
	if (rc == 0) {
		session_up(s);
	} else if (rc == -ENOENT || rc == -ESTALE) {
		/* Not known there, or not as we know it: begin anew. */
		s->rsx_resets = true;
		if (!m0_rpc__pause(s->rsx_machine, &s->rsx_pause,
				   s->rsx_was_up ? M0_TIME_NEVER
						 : s->rsx_expires))
			session_ask(s);
	} else if (rc == -ENOTCONN) {
		/* Asked again when the connection is there. */
		m0_rpc__conn_again(s->rsx_conn);
		end_arm(s);
	} else if (s->rsx_was_up && rc == -ETIMEDOUT &&
		   !s->rsx_machine->rml_aborts) {
		session_ask(s);
	} else {
		session_refused(s, rc);
	}
}

/* Makes the question, which is too large for a kernel's stack. NULL: no memory. */
static struct m0_rpc_session_est *est_make(const struct m0_rpc__session *s)
{
	struct m0_rpc_session_est *est;

	M0_ALLOC_PTR(est);
	if (est == NULL)
		return NULL;
	est->rse_conn = s->rsx_conn->rcx_nr;
	est->rse_streams_nr = s->rsx_streams != NULL
				      ? s->rsx_streams_nr
				      : s->rsx_session->s_streams_nr;
	est->rse_window = s->rsx_streams != NULL ? s->rsx_window
						 : s->rsx_session->s_window;
	est->rse_again = s->rsx_was_up && !s->rsx_resets;
	est->rse_has_xid = false;
	return est;
}

static void session_ask(struct m0_rpc__session *s)
{
	struct m0_rpc__machine    *m = s->rsx_machine;
	struct m0_rpc_session_est *est = NULL;
	struct m0_rpc__note       *note = NULL;
	int                        rc = 0;

	M0_PRE(m0_rpc__session_invariant(s));
	M0_PRE(s->rsx_note == NULL);
	pause_end(s);
	if (s->rsx_id == 0 || s->rsx_resets || !s->rsx_was_up)
		rc = number_take(s);
	if (rc == 0)
		est = est_make(s);
	if (est != NULL)
		note = m0_rpc__note_new(m, M0_RPC_OP_SESSION_ESTABLISH,
					M0_RPC_WIRE_BODY_MAX);
	if (note == NULL) {
		m0_free(est);
		session_refused(s, -ENOMEM);
		return;
	}
	note->rno_nr = (uint32_t)m0_rpc__session_est_put(note->rno_body, est);
	m0_free(est);
	note->rno_done = answered;
	note->rno_arg = s;
	s->rsx_note = note;
	m0_rpc__note_ask(note, s->rsx_conn, s,
			 s->rsx_was_up ? m0_time_add(m->rml_now,
						     m->rml_cfg.rc_timeout_ns)
				       : s->rsx_expires);
}

void m0_rpc__session_suspend(struct m0_rpc__session *s)
{
	struct m0_list_link *link;
	uint32_t             i;

	M0_PRE(m0_rpc__session_invariant(s));
	/* Its farewell is understood without it. */
	if (m0_rpc__session_state(s->rsx_session) == M0_RPC_SESSION_TERMINATING)
		return;
	if (s->rsx_was_up)
		pause_end(s);
	if (s->rsx_note != NULL && s->rsx_was_up) {
		m0_rpc__note_drop(s->rsx_note);
		s->rsx_note = NULL;
	}
	if (!s->rsx_is_up)
		return;
	s->rsx_is_up = false;
	for (i = 0; i < s->rsx_streams_nr; ++i) {
		struct m0_rpc__stream *stream = &s->rsx_streams[i];

		m0_rpc_cstream_suspend(&stream->rsy_core);
		if (stream->rsy_note == NULL)
			continue;
		stream->rsy_note->rno_stream = NULL;
		m0_rpc__note_drop(stream->rsy_note);
		stream->rsy_note = NULL;
		stream->rsy_owes = true;
	}
	m0_list_for_each(&s->rsx_items, link) {
		struct m0_rpc__item *il =
			container_of(link, struct m0_rpc__item, ril_link);
		struct m0_rpc_item *item = m0_rpc__item_of(il);
		bool cached = m0_rpc__frm_item_is_cached(&il->ril_frm);

		if ((il->ril_flags & (M0_RPC__IF_ENDS | M0_RPC__IF_PART)) ||
		    m0_rpc__is_note(item))
			continue;
		m0_rpc__link_left(item);
		if (!m0_rpc__item_unform(item))
			continue;
		if (!m0_rpc__stream_resends(item, cached))
			il->ril_flags |= M0_RPC__IF_PARKED;
	}
}

void m0_rpc__session_again(struct m0_rpc__session *s)
{
	M0_PRE(s->rsx_session != NULL);
	/* A late answer of the server's last life may have brought it up. */
	m0_rpc__session_suspend(s);
	if (M0_IN(m0_rpc__session_state(s->rsx_session),
		  (M0_RPC_SESSION_IDLE, M0_RPC_SESSION_BUSY)) ||
	    (m0_rpc__session_state(s->rsx_session) ==
		     M0_RPC_SESSION_ESTABLISHING &&
	     s->rsx_note == NULL))
		session_ask(s);
}

static void establish_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__session *s =
		container_of(call, struct m0_rpc__session, rsx_call);

	M0_PRE(m0_rpc__is_here(m));
	s->rsx_session->s_rc = 0;
	if (m->rml_aborts)
		m0_rpc__session_fail(s, -ESHUTDOWN);
	else if (m0_rpc__conn_state(s->rsx_conn->rcx_conn) !=
		 M0_RPC_CONN_ACTIVE)
		m0_rpc__session_fail(s, -ENOTCONN);
	else if (!s->rsx_conn->rcx_again)
		session_ask(s);
	else
		end_arm(s);
}

static m0_time_t expires_of(const struct m0_rpc__machine *m,
			    m0_time_t                     abs_timeout)
{
	return abs_timeout != M0_TIME_NEVER
		       ? abs_timeout
		       : m0_time_add(m0_time_now(), m->rml_cfg.rc_timeout_ns);
}

int m0_rpc_session_establish(struct m0_rpc_session *session,
			     m0_time_t              abs_timeout)
{
	struct m0_rpc__session *s = session->s_lib;
	int                     rc;

	M0_PRE(s != NULL);
	M0_PRE(session->s_state == M0_RPC_SESSION_INITIALISED);
	M0_PRE(session->s_streams_nr > 0 && session->s_window > 0 &&
	       session->s_streams_nr <= M0_RPC_WIRE_STREAMS_MAX);
	if (__atomic_load_n(&s->rsx_machine->rml_stops, __ATOMIC_RELAXED))
		return -ESHUTDOWN;
	s->rsx_expires = expires_of(s->rsx_machine, abs_timeout);
	s->rsx_call.rcl_run = establish_run;
	__atomic_store_n(&session->s_state, M0_RPC_SESSION_ESTABLISHING,
			 __ATOMIC_RELEASE);
	rc = m0_rpc__call_push(s->rsx_machine, &s->rsx_call);
	if (rc != 0)
		__atomic_store_n(&session->s_state, M0_RPC_SESSION_FAILED,
				 __ATOMIC_RELEASE);
	return rc;
}

/* ----------------------------------------------------------- terminate -- */

static void ended(struct m0_rpc__session *s, int rc)
{
	s->rsx_session->s_rc = rc;
	state_notify(s, M0_RPC_SESSION_TERMINATED);
	state_set(s, M0_RPC_SESSION_TERMINATED);
}

static void terminated(struct m0_rpc__note *note, int rc, const void *body,
		       m0_bcount_t nr)
{
	struct m0_rpc__session *s = note->rno_arg;

	M0_PRE(s->rsx_note == note);
	(void)body;
	(void)nr;
	s->rsx_note = NULL;
	ended(s, rc);
}

/* Makes the note that ends the session at the server. *ret NULL: the server need not
 * be notified, or (with an error) cannot be. */
static int farewell(struct m0_rpc__machine *m, const struct m0_rpc__session *s,
		    struct m0_rpc__note **ret)
{
	*ret = NULL;
	if (s->rsx_id == 0)
		return 0;
	if (m->rml_aborts)
		return -ESHUTDOWN;
	if (m0_rpc__conn_state(s->rsx_conn->rcx_conn) != M0_RPC_CONN_ACTIVE ||
	    s->rsx_conn->rcx_target == NULL)
		return -ENOTCONN;
	*ret = m0_rpc__note_new(m, M0_RPC_OP_SESSION_TERMINATE, 0);
	return *ret == NULL ? -ENOMEM : 0;
}

static void terminate_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__session *s =
		container_of(call, struct m0_rpc__session, rsx_call);
	struct m0_rpc__note *note;
	int                  rc;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m0_rpc__session_invariant(s));
	if (s->rsx_note != NULL) {
		m0_rpc__note_drop(s->rsx_note);
		s->rsx_note = NULL;
	}
	pause_end(s);
	m0_rpc__session_end_items(s, -ECANCELED);
	rc = farewell(m, s, &note);
	if (note == NULL) {
		ended(s, rc);
		return;
	}
	note->rno_done = terminated;
	note->rno_arg = s;
	s->rsx_note = note;
	m0_rpc__note_ask(note, s->rsx_conn, s, s->rsx_expires);
}

int m0_rpc_session_terminate(struct m0_rpc_session *session,
			     m0_time_t              abs_timeout)
{
	struct m0_rpc__session *s = session->s_lib;

	M0_PRE(s != NULL);
	M0_PRE(M0_IN(m0_rpc__session_state(session),
		     (M0_RPC_SESSION_IDLE, M0_RPC_SESSION_BUSY,
		      M0_RPC_SESSION_FAILED)));
	s->rsx_expires = expires_of(s->rsx_machine, abs_timeout);
	s->rsx_call.rcl_run = terminate_run;
	__atomic_store_n(&session->s_state, M0_RPC_SESSION_TERMINATING,
			 __ATOMIC_RELEASE);
	if (m0_rpc__call_push(s->rsx_machine, &s->rsx_call) == 0)
		return 0;
	session->s_rc = -ESHUTDOWN;
	__atomic_store_n(&session->s_state, M0_RPC_SESSION_TERMINATED,
			 __ATOMIC_RELEASE);
	return -ESHUTDOWN;
}

static void cancel_do(struct m0_rpc__machine *m, void *arg)
{
	(void)m;
	m0_rpc__session_end_items(arg, -ECANCELED);
}

void m0_rpc_session_cancel(struct m0_rpc_session *session)
{
	M0_PRE(session->s_lib != NULL);
	__atomic_store_n(&session->s_cancelled, true, __ATOMIC_SEQ_CST);
	m0_rpc__do(session->s_lib->rsx_machine, cancel_do, session->s_lib);
}
