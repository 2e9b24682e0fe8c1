/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Items that are posted, as their owners know them: by number, by timer, and
 * until the last has ended.
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
	M0_PRE_EX(s->rsx_table_nr > 0);
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

	M0_PRE(m0_rpc__session_invariant(s));
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

/* A function of its own: the common path needs no stack frame. */
static __attribute__((__noinline__)) int grow_and_put(struct m0_rpc__session *s,
						      struct m0_rpc_item *item)
{
	int rc = table_grow(s);

	if (rc == 0)
		xid_put(s, item);
	return rc;
}

int m0_rpc__xid_add(struct m0_rpc__session *s, struct m0_rpc_item *item)
{
	M0_PRE_EX(m0_rpc__il(item)->ril_xid == 0);
	if (M0_UNLIKELY(s->rsx_items_nr >= s->rsx_table_nr))
		return grow_and_put(s, item);
	xid_put(s, item);
	return 0;
}

struct m0_rpc_item *m0_rpc__xid_find(const struct m0_rpc__session *s,
				     uint64_t                      xid)
{
	struct m0_rpc_item *item;

	M0_PRE_EX(m0_rpc__session_invariant(s));
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

	M0_PRE_EX(il->ril_xid != 0);
	M0_PRE_EX(s->rsx_items_nr > 0);
	while (*at != item)
		at = &m0_rpc__il(*at)->ril_xid_next;
	*at = il->ril_xid_next;
	il->ril_xid = 0;
	--s->rsx_items_nr;
}

/* ------------------------------------------------------------------ timers -- */

static void resend(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(item->ri_stream == 0);
	M0_PRE_EX(m0_rpc__item_invariant(item));
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

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(!(il->ril_flags & (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS)));
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

/* ------------------------------------------------------------------ owners -- */

/* A request whose packet has left, or was lost: its timer does the rest. */
static void session_sent(struct m0_rpc__machine *m, struct m0_rpc_item *item,
			 int rc)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(il->ril_packet == NULL);
	M0_PRE_EX(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REQUEST);
	(void)rc;
	m0_rpc__state_set(item, M0_RPC_ITEM_WAITING_FOR_REPLY);
	/* Its session was suspended, or it was to be sent again meanwhile. */
	if (!il->ril_session->rsx_is_up && !m0_rpc__is_note(item))
		il->ril_flags |= M0_RPC__IF_PARKED;
	else if (il->ril_flags & M0_RPC__IF_AGAIN)
		m0_rpc__item_again(m, item);
}

static __attribute__((__noinline__)) void stream_leave(
	struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item   *il = m0_rpc__il(item);
	struct m0_rpc__stream *stream =
		&il->ril_session->rsx_streams[item->ri_stream - 1];

	M0_PRE_EX(m0_rpc__stream_invariant(stream));
	il->ril_flags &= ~(uint32_t)M0_RPC__IF_IN_STREAM;
	(void)m0_rpc_cstream_drop(&stream->rsy_core, &il->ril_citem,
				  m->rml_now);
	m0_rpc__stream_ready(stream);
}

static void session_leave(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(il->ril_session != NULL);
	if (il->ril_flags & M0_RPC__IF_IN_STREAM)
		stream_leave(m, item);
	else if (il->ril_xid != 0)
		m0_rpc__xid_del(il->ril_session, item);
}

/* Only items of the application count; the library posts notes, too. */
static bool has_items(const struct m0_rpc__session *s)
{
	struct m0_list_link *link;

	m0_list_for_each(&s->rsx_items, link)
		if (!m0_rpc__is_note(m0_rpc__item_of(
			    container_of(link, struct m0_rpc__item, ril_link))))
			return true;
	return false;
}

static void session_release(struct m0_rpc__session *s,
			    struct m0_rpc__conn    *conn)
{
	struct m0_rpc_session  *session = s->rsx_session;
	struct m0_rpc__machine *m = s->rsx_machine;
	uint32_t                posts;

	M0_PRE_EX(s != NULL && m0_rpc__session_invariant(s));
	(void)conn;
	if (session == NULL)
		return;
	/* Set the state before the count drops: the session may be gone after
	 * that. */
	if (!has_items(s) &&
	    m0_rpc__session_state(session) == M0_RPC_SESSION_BUSY)
		__atomic_store_n(&session->s_state, M0_RPC_SESSION_IDLE,
				 __ATOMIC_RELEASE);
	m0_rpc__changed(m);
	/* One item has ended, and its poster may have posted others in the
	 * callback. */
	posts = m->rml_ends.ren_notified_posts;
	m->rml_ends.ren_notified_posts = 0;
	m->rml_ends.ren_notified_session = NULL;
	if (posts != 1)
		__atomic_add_fetch(&session->s_hold_cnt, posts - 1,
				   __ATOMIC_ACQ_REL);
}

const struct m0_rpc__owner m0_rpc__session_owner = {
	.own_sent = session_sent,
	.own_leave = session_leave,
	.own_release = session_release,
};

/* A one-way item ends when its packet has left. */
static void conn_sent(struct m0_rpc__machine *m, struct m0_rpc_item *item,
		      int rc)
{
	M0_PRE(m0_rpc__il(item)->ril_session == NULL);
	(void)m;
	m0_rpc__item_end(item, rc, NULL);
}

/* One-way items have no number. */
static void conn_leave(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	M0_PRE(m0_rpc__il(item)->ril_conn != NULL);
	(void)m;
}

static void conn_release(struct m0_rpc__session *session,
			 struct m0_rpc__conn    *conn)
{
	uint32_t held =
		__atomic_fetch_sub(&conn->rcx_hold_nr, 1, __ATOMIC_ACQ_REL);

	M0_ASSERT(held > 0);
	(void)session;
}

const struct m0_rpc__owner m0_rpc__conn_owner = {
	.own_sent = conn_sent,
	.own_leave = conn_leave,
	.own_release = conn_release,
};

/* -------------------------------------------------------------------- ends -- */

/* The next one that does not end with another. */
static struct m0_list_link *whole(struct m0_rpc__session *s,
				  struct m0_list_link    *link)
{
	while (link != NULL &&
	       (container_of(link, struct m0_rpc__item, ril_link)->ril_flags &
		M0_RPC__IF_PART))
		link = m0_list_next(&s->rsx_items, link);
	return link;
}

void m0_rpc__session_end_items(struct m0_rpc__session *s, int rc)
{
	struct m0_list_link *link = whole(s, m0_list_first(&s->rsx_items));
	struct m0_list_link *next;

	M0_PRE(m0_rpc__is_here(s->rsx_machine));
	for (; link != NULL; link = next) {
		struct m0_rpc__item *il =
			container_of(link, struct m0_rpc__item, ril_link);

		next = whole(s, m0_list_next(&s->rsx_items, link));
		if (!(il->ril_flags & M0_RPC__IF_ENDS))
			m0_rpc__item_end(m0_rpc__item_of(il), rc, NULL);
	}
}

void m0_rpc__conn_end_items(struct m0_rpc__conn *conn, int rc)
{
	struct m0_rpc__item *il;
	struct m0_list_link *link;
	struct m0_list_link *next;

	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	m0_list_for_each_safe(&conn->rcx_items, link, next) {
		il = container_of(link, struct m0_rpc__item, ril_link);
		if (!(il->ril_flags & M0_RPC__IF_ENDS))
			m0_rpc__item_end(m0_rpc__item_of(il), rc, NULL);
	}
}
