/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Requests and one-way items from post to reply.
 *
 * Requests of no stream have numbers of their own in a session; a table finds
 * them by number, and one timer of each is for its resends and its end. Those of
 * streams are the stream's (rpc/core/cstream.h); their timers are for the end.
 */
#include "rpc/rpc_internal.h"

enum {
	TABLE_NR = 64
};

/* ------------------------------------------------------------- numbers -- */

static struct m0_rpc_item **xid_bucket(const struct m0_rpc__session *s,
				       uint64_t                      xid)
{
	return &s->rsx_table[xid & (s->rsx_table_nr - 1)];
}

static int table_grow(struct m0_rpc__session *s)
{
	struct m0_rpc_item **old = s->rsx_table;
	struct m0_rpc_item **bucket;
	struct m0_rpc_item  *item;
	struct m0_rpc_item  *next;
	uint32_t             old_nr = s->rsx_table_nr;
	uint32_t             nr = old_nr == 0 ? TABLE_NR : 2 * old_nr;
	uint32_t             i;

	M0_ALLOC_ARR(s->rsx_table, nr);
	if (s->rsx_table == NULL) {
		s->rsx_table = old;
		return old == NULL ? -ENOMEM : 0;
	}
	s->rsx_table_nr = nr;
	for (i = 0; i < old_nr; ++i) {
		for (item = old[i]; item != NULL; item = next) {
			next = m0_rpc__il(item)->ril_xid_next;
			bucket = xid_bucket(s, m0_rpc__il(item)->ril_xid);
			m0_rpc__il(item)->ril_xid_next = *bucket;
			*bucket = item;
		}
	}
	m0_free(old);
	return 0;
}

static inline void xid_put(struct m0_rpc__session *s, struct m0_rpc_item *item)
{
	struct m0_rpc_item **bucket;

	m0_rpc__il(item)->ril_xid = ++s->rsx_xid;
	bucket = xid_bucket(s, s->rsx_xid);
	m0_rpc__il(item)->ril_xid_next = *bucket;
	*bucket = item;
	++s->rsx_items_nr;
}

/* Apart: who finds room needs no frame. */
static __attribute__((noinline)) int grow_and_put(struct m0_rpc__session *s,
						  struct m0_rpc_item     *item)
{
	int rc = table_grow(s);

	if (rc == 0)
		xid_put(s, item);
	return rc;
}

int m0_rpc__xid_add(struct m0_rpc__session *s, struct m0_rpc_item *item)
{
	if (M0_UNLIKELY(s->rsx_items_nr >= s->rsx_table_nr))
		return grow_and_put(s, item);
	xid_put(s, item);
	return 0;
}

struct m0_rpc_item *m0_rpc__xid_find(const struct m0_rpc__session *s,
				     uint64_t                      xid)
{
	struct m0_rpc_item *item;

	if (s->rsx_table_nr == 0)
		return NULL;
	for (item = *xid_bucket(s, xid);
	     item != NULL && m0_rpc__il(item)->ril_xid != xid;
	     item = m0_rpc__il(item)->ril_xid_next)
		;
	return item;
}

void m0_rpc__xid_del(struct m0_rpc__session *s, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);
	struct m0_rpc_item **at = xid_bucket(s, il->ril_xid);

	while (*at != item)
		at = &m0_rpc__il(*at)->ril_xid_next;
	*at = il->ril_xid_next;
	il->ril_xid = 0;
	--s->rsx_items_nr;
}

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
	item->ri_error = rc;
	m0_rpc__state_set(item, M0_RPC_ITEM_FAILED);
	return rc;
}

/* Counts an item; false: there are too many. Its own thread, which counts on its
 * own, is told by others' numbers a moment late: it may be one more then. */
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

/* What post and oneway_item_post have in common. */
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
	if (m0_rpc__is_here(m) && m->rml_ends.ren_told == item)
		m->rml_ends.ren_told_again = true;
	else
		m0_rpc_item_get(item);
	return 0;
}

/* The session may not go. From a callback that it is held for anyway, what is
 * posted is counted when that has ended. */
static void session_hold(struct m0_rpc__machine *m, struct m0_rpc__session *s)
{
	if (m0_rpc__is_here(m) && m->rml_ends.ren_told_session == s)
		++m->rml_ends.ren_told_posts;
	else
		__atomic_fetch_add(&s->rsx_session->s_hold_cnt, 1,
				   __ATOMIC_SEQ_CST);
}

/* The push was refused. */
static int post_undo(struct m0_rpc__machine *m, struct m0_rpc_item *item,
		     int rc)
{
	__atomic_sub_fetch(&m->rml_inbox.rib_cached_nr, 1, __ATOMIC_RELAXED);
	if (item->ri_group != NULL)
		m0_rpc__group_ended(item->ri_group);
	(void)fail(item, rc);
	m0_rpc_item_put(item);
	return rc;
}

int m0_rpc_post(struct m0_rpc_item *item)
{
	struct m0_rpc_session  *session = item->ri_session;
	struct m0_rpc__session *s = session->s_lib;
	struct m0_rpc__machine *m;
	int                     rc;

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
	m0_rpc__il(item)->ril_conn = conn->c_lib;
	m0_rpc__il(item)->ril_call.rcl_run = oneway_run;
	__atomic_fetch_add(&conn->c_lib->rcx_hold_nr, 1, __ATOMIC_SEQ_CST);
	rc = m0_rpc__call_push(m, &m0_rpc__il(item)->ril_call);
	if (rc == 0)
		return 0;
	__atomic_fetch_sub(&conn->c_lib->rcx_hold_nr, 1, __ATOMIC_SEQ_CST);
	return post_undo(m, item, rc);
}

/* -------------------------------------------------------------- timers -- */

static void resend(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	if (item->ri_nr_sent >= item->ri_nr_sent_max) {
		m0_rpc__item_end(item, -ETIMEDOUT, NULL);
		return;
	}
	M0_RPC__COUNT(m, rs_nr_resend_attempts, 1);
	il->ril_resend_ns =
		min64u(2 * il->ril_resend_ns,
		       max64u(m->rml_cfg.rc_resend_max_ns, il->ril_resend_ns));
	m0_rpc__item_again(m, item);
}

void m0_rpc__item_timer(struct m0_rpc__machine *m, struct m0_timer *timer)
{
	struct m0_rpc__item *il =
		container_of(timer, struct m0_rpc__item, ril_timer);
	struct m0_rpc_item *item = m0_rpc__item_of(il);

	if (m->rml_now >= item->ri_expires) {
		m0_rpc__item_end(item, -ETIMEDOUT, NULL);
		return;
	}
	/* Only of no stream: what has not left, or is on its way, waits. */
	if (!m0_rpc__frm_item_is_cached(&il->ril_frm) &&
	    il->ril_packet == NULL &&
	    !(il->ril_flags & (M0_RPC__IF_PARKED | M0_RPC__IF_PART)))
		resend(m, item);
	if (!(il->ril_flags & (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS)))
		m0_timerq_arm(
			&m->rml_timers.rtm_items, timer,
			min64u(item->ri_expires,
			       m0_time_add(m->rml_now, il->ril_resend_ns)));
}

/* --------------------------------------------------------------- reply -- */

/* A status without a body. */
static struct m0_rpc_item *status_reply(struct m0_rpc__machine *m, int32_t rc)
{
	struct m0_rpc__note *note = m0_rpc__note_new(m, M0_RPC_OP_STATUS, 0);

	if (note == NULL)
		return NULL;
	note->rno_item.ri_error = rc;
	return &note->rno_item;
}

/* The item of a reply that came, or why there is none. */
static int reply_decode(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			struct m0_rpc_item **ret)
{
	const struct m0_rpc_item_type *type;
	int                            rc;

	if (came->rca_item.rwi_opcode == M0_RPC_OP_STATUS) {
		*ret = status_reply(m, came->rca_item.rwi_status);
		return *ret == NULL ? -ENOMEM : 0;
	}
	type = m0_rpc_item_type_lookup(came->rca_item.rwi_opcode);
	if (type == NULL || !(type->rit_flags & M0_RPC_ITEM_TYPE_REPLY) ||
	    type->rit_ops->rito_decode == NULL)
		return -EPROTO;
	rc = m0_rpc__came_decode(m, came, type, ret);
	if (rc == 0)
		(*ret)->ri_error = came->rca_item.rwi_status;
	return rc;
}

/* It is out of its session first, which may end by what is done then. */
static void note_answered(struct m0_rpc__note       *note,
			  const struct m0_rpc__came *came)
{
	void (*done)(struct m0_rpc__note *, int, const void *, m0_bcount_t) =
		note->rno_done;

	note->rno_done = NULL;
	m0_rpc__item_end(&note->rno_item, 0, NULL);
	if (done != NULL)
		done(note, came->rca_item.rwi_status, came->rca_body,
		     came->rca_item.rwi_size);
}

/* Replies to what is known by `item`; takes it out of its session. */
static void replied(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		    struct m0_rpc_item *item)
{
	struct m0_rpc_item *reply = NULL;
	int                 rc;

	if (item->ri_type->rit_opcode < M0_RPC_OP_USER) {
		note_answered(m0_rpc__note_of(item), came);
		return;
	}
	m0_rpc__pause_forget(&m0_rpc__il(item)->ril_conn->rcx_pause);
	m0_rpc__pause_forget(&m0_rpc__il(item)->ril_session->rsx_pause);
	rc = reply_decode(m, came, &reply);
	if (rc != 0)
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	else
		m0_rpc__state_set(reply, M0_RPC_ITEM_ACCEPTED);
	if (m0_rpc__item_answered(item))
		m0_rpc__item_end(item, rc, reply);
	else if (reply != NULL)
		m0_rpc_item_put(reply);
}

/* Handshakes have one session for all places. */
static bool is_of_place(const struct m0_rpc__session *s,
			const struct m0_rpc_item     *item,
			const struct m0_rpc__came    *came)
{
	const struct m0_rpc__target *target = m0_rpc__il(item)->ril_target;

	return s->rsx_session != NULL ||
	       (target != NULL && target->trg_key.trk_ep == came->rca_ep);
}

/* The server's library says why not. */
static void refused(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		    struct m0_rpc__session *s)
{
	struct m0_rpc_item *item = NULL;
	int32_t             rc = came->rca_item.rwi_status;

	if (rc >= 0)
		rc = -EPROTO;
	if (rc == -ENOTCONN && s->rsx_session != NULL) {
		m0_rpc__conn_again(s->rsx_conn);
		return;
	}
	if (rc == -ESTALE && s->rsx_session != NULL) {
		m0_rpc__conn_fail(s->rsx_conn, rc);
		return;
	}
	if (came->rca_item.rwi_stream == 0)
		item = m0_rpc__xid_find(s, came->rca_item.rwi_xid);
	if (item != NULL && !is_of_place(s, item, came))
		item = NULL;
	if (item == NULL) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	} else if (item->ri_type->rit_opcode < M0_RPC_OP_USER) {
		came->rca_item.rwi_status = rc;
		replied(m, came, item);
	} else {
		m0_rpc__item_end(item, rc, NULL);
	}
}

static void stream_replied(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			   struct m0_rpc__session *s)
{
	struct m0_rpc__stream *stream;
	struct m0_rpc_citem   *citem;
	uint32_t               nr = came->rca_item.rwi_stream;
	enum m0_rpc_creply     what = M0_RPC_CR_STRAY;

	if (nr <= s->rsx_streams_nr) {
		stream = &s->rsx_streams[nr - 1];
		what = m0_rpc_cstream_replied(&stream->rsy_core,
					      came->rca_item.rwi_xid,
					      m->rml_now, &citem);
		m0_rpc__stream_ready(stream);
	}
	if (what == M0_RPC_CR_STRAY) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	} else if (what == M0_RPC_CR_ITEM) {
		struct m0_rpc_item *item = citem->rci_owner;

		m0_rpc__il(item)->ril_flags &= ~(uint32_t)M0_RPC__IF_IN_STREAM;
		replied(m, came, item);
	}
}

/* What is answered by who knows nothing of it, too. */
static bool is_of_any_life(const struct m0_rpc__came *came)
{
	return M0_IN(came->rca_item.rwi_opcode,
		     (M0_RPC_OP_REFUSED, M0_RPC_OP_SESSION_TERMINATE_REPLY));
}

/* Is it from whom was asked, in his present life? Answers come late, too, and
 * may be forged. */
static bool is_from(const struct m0_rpc__session *s,
		    const struct m0_rpc__came    *came)
{
	const struct m0_rpc__conn *conn = s->rsx_conn;
	struct m0_rpc__link       *link;

	if (s->rsx_session == NULL)
		return true;
	link = m0_rpc__link_of(conn, came->rca_ep);
	if (link == NULL || (conn->rcx_conn->c_server_incarnation !=
				     came->rca_packet.rwp_incarnation &&
			     !is_of_any_life(came)))
		return false;
	link->lnk_info.lki_heard = s->rsx_machine->rml_now;
	return true;
}

void m0_rpc__came_reply(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	struct m0_rpc__session *s =
		m0_rpc__session_find(m, came->rca_item.rwi_session);
	struct m0_rpc_item *item;

	if (s == NULL || !is_from(s, came)) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		return;
	}
	if (came->rca_item.rwi_opcode == M0_RPC_OP_REFUSED) {
		refused(m, came, s);
	} else if (came->rca_item.rwi_stream != 0) {
		stream_replied(m, came, s);
	} else {
		item = m0_rpc__xid_find(s, came->rca_item.rwi_xid);
		if (item == NULL || !is_of_place(s, item, came))
			M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		else
			replied(m, came, item);
	}
}
