/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Posting of requests, one-way items, and the library's own questions. */
#include "rpc/rpc_internal.h"

/* ---------------------------------------------------------------- post -- */

static m0_time_t resend_first(const struct m0_rpc__machine *m,
			      const struct m0_rpc_item     *item)
{
	return item->ri_resend_interval != 0 ? item->ri_resend_interval
					     : m->rml_cfg.rc_resend_ns;
}

static void stream_form(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item   *il = m0_rpc__il(item);
	struct m0_rpc__stream *stream =
		&il->ril_session->rsx_streams[item->ri_stream - 1];

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(item->ri_stream <= il->ril_session->rsx_streams_nr);
	m0_rpc_citem_init(&il->ril_citem);
	il->ril_citem.rci_resend_ns = resend_first(m, item);
	il->ril_citem.rci_sent_max = max64u(item->ri_nr_sent_max, 1);
	il->ril_citem.rci_owner = item;
	il->ril_flags |= M0_RPC__IF_IN_STREAM;
	m0_timerq_arm(&m->rml_timers.rtm_items, &il->ril_timer,
		      item->ri_expires);
	m0_rpc_cstream_post(&stream->rsy_core, &il->ril_citem, m->rml_now);
	m0_rpc__stream_ready(stream);
}

static void plain_form(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item    *il = m0_rpc__il(item);
	struct m0_rpc__session *s = il->ril_session;
	int                     rc;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(item->ri_stream == 0);
	il->ril_resend_ns = resend_first(m, item);
	rc = m0_rpc__xid_add(s, item);
	if (rc != 0) {
		m0_rpc__item_end(item, rc, NULL);
		return;
	}
	m0_timerq_arm(&m->rml_timers.rtm_items, &il->ril_timer,
		      min64u(item->ri_expires,
			     m0_time_add(m->rml_now, il->ril_resend_ns)));
	if (!s->rsx_is_up && !m0_rpc__is_note(item)) {
		il->ril_flags |= M0_RPC__IF_PARKED;
		return;
	}
	m0_rpc__item_again(m, item);
}

void m0_rpc__post_form(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(m0_rpc__item_invariant(item));
	M0_PRE_EX(m0_rpc__session_invariant(il->ril_session));
	if (item->ri_expires == 0)
		item->ri_expires =
			m0_time_add(m->rml_now, m->rml_cfg.rc_timeout_ns);
	m0_list_add_tail(&il->ril_session->rsx_items, &il->ril_link);
	if (m->rml_aborts)
		m0_rpc__item_end(item, -ESHUTDOWN, NULL);
	else if (item->ri_stream != 0)
		stream_form(m, item);
	else
		plain_form(m, item);
}

static bool session_takes(const struct m0_rpc_session *session)
{
	uint32_t state = __atomic_load_n(&session->s_state, __ATOMIC_ACQUIRE);

	return state == M0_RPC_SESSION_IDLE || state == M0_RPC_SESSION_BUSY;
}

static void post_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__item *il =
		container_of(call, struct m0_rpc__item, ril_call);
	struct m0_rpc_item    *item = m0_rpc__item_of(il);
	struct m0_rpc_session *session = item->ri_session;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(il->ril_flags & M0_RPC__IF_CACHED);
	bool cancelled =
		__atomic_load_n(&session->s_cancelled, __ATOMIC_ACQUIRE);

	if (!session_takes(session) || cancelled) {
		m0_list_add_tail(&il->ril_session->rsx_items, &il->ril_link);
		m0_rpc__item_end(item, cancelled ? -ECANCELED : -ENOTCONN,
				 NULL);
		return;
	}
	__atomic_store_n(&session->s_state, M0_RPC_SESSION_BUSY,
			 __ATOMIC_RELEASE);
	m0_rpc__post_form(m, item);
}

static int fail(struct m0_rpc_item *item, int rc)
{
	M0_PRE(rc < 0);
	item->ri_error = rc;
	m0_rpc__state_set(item, M0_RPC_ITEM_FAILED);
	return rc;
}

/* Counts an item; false: there are too many. The machine's thread has a count of its
 * own and reads that of other threads late, so there may be one item too many. */
static inline bool cached_take(struct m0_rpc__machine *m)
{
	uint32_t max = m->rml_cfg.rc_cached_max;

	if (m0_rpc__is_here(m)) {
		if (m0_rpc__cached_nr(m) >= max)
			return false;
		m0_rpc__cached_add(m, 1);
		return true;
	}
	(void)__atomic_fetch_add(&m->rml_inbox.rib_cached_nr, 1,
				 __ATOMIC_RELAXED);
	if (m0_rpc__cached_nr(m) <= max)
		return true;
	__atomic_sub_fetch(&m->rml_inbox.rib_cached_nr, 1, __ATOMIC_RELAXED);
	return false;
}

/* The common part of both kinds of post. */
static inline int post(struct m0_rpc__machine *m, struct m0_rpc_item *item,
		       m0_bcount_t packet_max)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	il->ril_payload = item->ri_type->rit_ops->rito_payload_size(item);
	if (m0_rpc__wire_item_size(il->ril_payload) + M0_RPC_WIRE_PACKET_BYTES >
	    packet_max)
		return -EMSGSIZE;
	if (!cached_take(m))
		return -EAGAIN;
	if (item->ri_reply != NULL)
		m0_rpc_item_put(item->ri_reply);
	m0_rpc__item_prepare(m, item);
	il->ril_flags = M0_RPC__IF_CACHED;
	if (item->ri_group != NULL)
		m0_rpc__group_posted(item->ri_group);
	/* From its own rio_replied: the reference of the post before stays. */
	if (m0_rpc__is_here(m) && m->rml_ends.ren_notified == item)
		m->rml_ends.ren_notified_again = true;
	else
		m0_rpc_item_get(item);
	return 0;
}

/* The session may not go. From a callback that it is held for anyway, what is
 * posted is counted when that has ended. */
static void session_hold(struct m0_rpc__machine *m, struct m0_rpc__session *s)
{
	M0_PRE_EX(s->rsx_session != NULL);
	if (m0_rpc__is_here(m) && m->rml_ends.ren_notified_session == s)
		++m->rml_ends.ren_notified_posts;
	else
		__atomic_fetch_add(&s->rsx_session->s_hold_cnt, 1,
				   __ATOMIC_SEQ_CST);
}

/* The push was refused. */
static int post_undo(struct m0_rpc__machine *m, struct m0_rpc_item *item,
		     int rc)
{
	M0_PRE(rc < 0);
	M0_PRE(!m0_rpc__is_here(m));
	__atomic_sub_fetch(&m->rml_inbox.rib_cached_nr, 1, __ATOMIC_RELAXED);
	if (item->ri_group != NULL)
		m0_rpc__group_ended(item->ri_group);
	(void)fail(item, rc);
	m0_rpc_item_put(item);
	return rc;
}

int m0_rpc_session_validate(const struct m0_rpc_session *session)
{
	uint32_t state = __atomic_load_n(&session->s_state, __ATOMIC_ACQUIRE);

	M0_PRE_EX(session != NULL);
	if (state == M0_RPC_SESSION_UNINITIALISED || session->s_lib == NULL)
		return -EINVAL;
	if (__atomic_load_n(&session->s_cancelled, __ATOMIC_ACQUIRE))
		return -ECANCELED;
	return state == M0_RPC_SESSION_IDLE || state == M0_RPC_SESSION_BUSY
		       ? 0
		       : -ENOTCONN;
}

int m0_rpc_post(struct m0_rpc_item *item)
{
	struct m0_rpc_session  *session = item->ri_session;
	struct m0_rpc__session *s = session->s_lib;
	struct m0_rpc__machine *m;
	int                     rc;

	M0_PRE_EX(item != NULL && session != NULL);
	M0_PRE(item->ri_state == M0_RPC_ITEM_INITIALISED ||
	       m0_rpc__item_is_final(m0_rpc_item_state(item)));
	M0_PRE(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REQUEST);
	M0_PRE(ergo(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_MUTABO,
		    item->ri_stream != 0));
	rc = m0_rpc_session_validate(session);
	if (rc != 0)
		return fail(item, rc);
	m = s->rsx_machine;
	if (__atomic_load_n(&m->rml_stops, __ATOMIC_RELAXED))
		return fail(item, -ESHUTDOWN);
	M0_PRE(item->ri_stream <= s->rsx_streams_nr);
	rc = post(m, item, m0_rpc__packet_max(s->rsx_conn));
	if (rc != 0)
		return fail(item, rc);
	m0_rpc__il(item)->ril_owner = &m0_rpc__session_owner;
	m0_rpc__il(item)->ril_session = s;
	m0_rpc__il(item)->ril_conn = s->rsx_conn;
	m0_rpc__il(item)->ril_call.rcl_run = post_run;
	session_hold(m, s);
	rc = m0_rpc__call_push(m, &m0_rpc__il(item)->ril_call);
	if (rc != 0) {
		__atomic_fetch_sub(&session->s_hold_cnt, 1, __ATOMIC_SEQ_CST);
		return post_undo(m, item, rc);
	}
	return 0;
}

/* ------------------------------------------------------------- one-way -- */

static void oneway_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__item *il =
		container_of(call, struct m0_rpc__item, ril_call);
	struct m0_rpc_item  *item = m0_rpc__item_of(il);
	struct m0_rpc__conn *conn = il->ril_conn;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__conn_invariant(conn));
	if (item->ri_expires == 0)
		item->ri_expires =
			m0_time_add(m->rml_now, m->rml_cfg.rc_timeout_ns);
	m0_list_add_tail(&conn->rcx_items, &il->ril_link);
	if (m->rml_aborts ||
	    m0_rpc__conn_state(conn->rcx_conn) != M0_RPC_CONN_ACTIVE) {
		m0_rpc__item_end(item, m->rml_aborts ? -ESHUTDOWN : -ENOTCONN,
				 NULL);
		return;
	}
	m0_timerq_arm(&m->rml_timers.rtm_items, &il->ril_timer,
		      item->ri_expires);
	m0_rpc__item_again(m, item);
}

int m0_rpc_oneway_item_post(struct m0_rpc_conn *conn, struct m0_rpc_item *item)
{
	struct m0_rpc__machine *m = conn->c_rpc_machine->rm_lib;
	int                     rc;

	M0_PRE(conn->c_lib != NULL);
	M0_PRE(item->ri_state == M0_RPC_ITEM_INITIALISED ||
	       m0_rpc__item_is_final(m0_rpc_item_state(item)));
	M0_PRE(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_ONEWAY);
	if (__atomic_load_n(&m->rml_stops, __ATOMIC_RELAXED))
		return fail(item, -ESHUTDOWN);
	if (__atomic_load_n(&conn->c_state, __ATOMIC_ACQUIRE) !=
	    M0_RPC_CONN_ACTIVE)
		return fail(item, -ENOTCONN);
	rc = post(m, item, m0_rpc__packet_max(conn->c_lib));
	if (rc != 0)
		return fail(item, rc);
	m0_rpc__il(item)->ril_owner = &m0_rpc__conn_owner;
	m0_rpc__il(item)->ril_conn = conn->c_lib;
	m0_rpc__il(item)->ril_call.rcl_run = oneway_run;
	__atomic_fetch_add(&conn->c_lib->rcx_hold_nr, 1, __ATOMIC_SEQ_CST);
	rc = m0_rpc__call_push(m, &m0_rpc__il(item)->ril_call);
	if (rc == 0)
		return 0;
	__atomic_fetch_sub(&conn->c_lib->rcx_hold_nr, 1, __ATOMIC_SEQ_CST);
	return post_undo(m, item, rc);
}

int m0_rpc_post_sync(struct m0_rpc_item *item)
{
	int rc = m0_rpc_post(item);

	if (rc != 0)
		return rc;
	rc = m0_rpc_item_wait_for_reply(item, M0_TIME_NEVER);
	M0_ASSERT(rc != -ETIMEDOUT || item->ri_error == -ETIMEDOUT);
	return m0_rpc_item_error(item);
}

/* ------------------------------------------------------------------- notes -- */

/* A note has ended without an answer. */
static void note_replied(struct m0_rpc_item *item)
{
	struct m0_rpc__note *note = m0_rpc__note_of(item);

	M0_PRE(m0_rpc__is_note(item));
	if (note->rno_done != NULL)
		note->rno_done(note, item->ri_error, NULL, 0);
	note->rno_done = NULL;
}

static const struct m0_rpc_item_ops note_item_ops = { .rio_replied =
							      note_replied };

void m0_rpc__note_ask(struct m0_rpc__note *note, struct m0_rpc__conn *conn,
		      struct m0_rpc__session *session, m0_time_t expires)
{
	struct m0_rpc__machine *m = note->rno_machine;
	struct m0_rpc_item     *item = &note->rno_item;
	struct m0_rpc__item    *il = m0_rpc__il(item);

	M0_PRE(conn != NULL && session != NULL);
	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(note->rno_done != NULL);
	item->ri_ops = &note_item_ops;
	item->ri_expires = expires;
	il->ril_payload = note->rno_nr;
	m0_rpc__item_prepare(m, item);
	il->ril_owner = &m0_rpc__session_owner;
	il->ril_session = session;
	il->ril_conn = conn;
	m0_rpc__post_form(m, item);
}
