/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Items that are posted here: states, references, ends.
 *
 * An item ends in two parts: m0_rpc__item_end() removes it from all structures, and
 * the end of the step notifies its poster. If a packet on its way refers to its
 * memory, the first part waits for that packet.
 */
#include "rpc/rpc_internal.h"

void m0_rpc_item_init(struct m0_rpc_item            *item,
		      const struct m0_rpc_item_type *type)
{
	M0_PRE_EX(item != NULL && type != NULL);
	M0_PRE_EX(type->rit_ops != NULL);
	/* The poster's; in pieces short enough for a few moves. */
	memset(item, 0, offsetof(struct m0_rpc_item, ri_nr_sent_max));
	item->ri_prio = M0_RPC_ITEM_PRIO_MID;
	item->ri_nr_sent_max = ~(uint64_t)0;
	memset((char *)item + offsetof(struct m0_rpc_item, ri_key), 0,
	       offsetof(struct m0_rpc_item, ri_type) -
		       offsetof(struct m0_rpc_item, ri_key));
	item->ri_type = type;
	memset((char *)item + offsetof(struct m0_rpc_item, ri_error), 0,
	       offsetof(struct m0_rpc_item, ri_state) -
		       offsetof(struct m0_rpc_item, ri_error));
	item->ri_state = M0_RPC_ITEM_INITIALISED;
	/* All else of the library's is set when it is posted, or comes. */
	m0_rpc__il(item)->ril_rbuf = 0;
	m0_list_link_init(&m0_rpc__il(item)->ril_link);
}

void m0_rpc_item_fini(struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE(M0_IN(item->ri_state, (M0_RPC_ITEM_INITIALISED, M0_RPC_ITEM_SENT,
				      M0_RPC_ITEM_REPLIED, M0_RPC_ITEM_FAILED,
				      M0_RPC_ITEM_ACCEPTED)));
	if (item->ri_reply != NULL)
		m0_rpc_item_put(item->ri_reply);
	if (il->ril_rbuf != 0)
		m0_rpc__rbuf_put(item->ri_rmachine->rm_lib, il->ril_rbuf);
	item->ri_reply = NULL;
	il->ril_rbuf = 0;
	item->ri_state = M0_RPC_ITEM_UNINITIALISED;
}

void m0_rpc_item_get(struct m0_rpc_item *item)
{
	M0_PRE_EX(item->ri_type != NULL);
	item->ri_type->rit_ops->rito_item_get(item);
}

void m0_rpc_item_put(struct m0_rpc_item *item)
{
	M0_PRE_EX(item->ri_type != NULL);
	item->ri_type->rit_ops->rito_item_put(item);
}

enum m0_rpc_item_state m0_rpc_item_state(const struct m0_rpc_item *item)
{
	return (enum m0_rpc_item_state)__atomic_load_n(&item->ri_state,
						       __ATOMIC_ACQUIRE);
}

const char *m0_rpc_item_state_name(enum m0_rpc_item_state state)
{
	static const char *const names[M0_RPC_ITEM_STATE_NR] = {
		[M0_RPC_ITEM_UNINITIALISED] = "UNINITIALISED",
		[M0_RPC_ITEM_INITIALISED] = "INITIALISED",
		[M0_RPC_ITEM_ENQUEUED] = "ENQUEUED",
		[M0_RPC_ITEM_URGENT] = "URGENT",
		[M0_RPC_ITEM_SENDING] = "SENDING",
		[M0_RPC_ITEM_SENT] = "SENT",
		[M0_RPC_ITEM_WAITING_FOR_REPLY] = "WAITING_FOR_REPLY",
		[M0_RPC_ITEM_REPLIED] = "REPLIED",
		[M0_RPC_ITEM_FAILED] = "FAILED",
		[M0_RPC_ITEM_ACCEPTED] = "ACCEPTED",
	};

	return (uint32_t)state < M0_RPC_ITEM_STATE_NR ? names[state] : "?";
}

int m0_rpc_item_error(const struct m0_rpc_item *item)
{
	if (item->ri_error != 0 || item->ri_reply == NULL)
		return item->ri_error;
	return item->ri_reply->ri_error;
}

/* ---------------------------------------------------------- preparation -- */

void m0_rpc__item_prepare(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);
	m0_time_t now = m0_rpc__is_here(m) ? m->rml_now : m0_time_cached();

	M0_PRE_EX(!m0_rpc__is_here(m) || m0_rpc__machine(m->rml_machine) == m);
	M0_PRE_EX(item->ri_type != NULL);
	item->ri_reply = NULL;
	item->ri_error = 0;
	item->ri_rmachine = m->rml_machine;
	item->ri_nr_sent = 0;
	item->ri_rpc_time = now;
	item->ri_size = m0_rpc__wire_item_size(il->ril_payload);
	il->ril_target = NULL;
	il->ril_xid = 0;
	il->ril_flags = 0;
	il->ril_gate = 0;
	il->ril_packet = NULL;
	il->ril_owner = NULL;
	il->ril_session = NULL;
	il->ril_conn = NULL;
	il->ril_on = NULL;
	m0_list_link_init(&il->ril_link);
	m0_timer_init(&il->ril_timer);
	m0_rpc__frm_item_init(&il->ril_frm);
	il->ril_resend_ns = 0;
	il->ril_xid_next = NULL;
	il->ril_parts = NULL;
	m0_rpc__state_set(item, M0_RPC_ITEM_ENQUEUED);
}

/* ------------------------------------------------------------ formation -- */

/* A function of its own, because of its arrays. */
static __attribute__((__noinline__)) uint32_t gathered_segs(
	const struct m0_rpc__machine *m, const struct m0_rpc_item *item,
	uint32_t max)
{
	const struct m0_rpc_item_type_ops *ops = item->ri_type->rit_ops;
	void                              *base[M0_RPC__GATHER_MAX];
	m0_bcount_t                        nr[M0_RPC__GATHER_MAX];
	uint32_t                           pieces;

	M0_PRE(item->ri_type->rit_ops != NULL);
	/* The packet's own memory is before and behind them. */
	max = (uint32_t)min64u(max, m->rml_sender.rsn_segs_max - 1);
	if (ops->rito_gather == NULL || max < 2 || !m->rml_sender.rsn_gathers)
		return 0;
	pieces = ops->rito_gather(
		item, base, nr, (uint32_t)min64u(M0_RPC__GATHER_MAX, max - 1));
	return pieces > 0 ? pieces + 1 : 0;
}

uint32_t m0_rpc__item_segs(const struct m0_rpc__machine *m,
			   const struct m0_rpc_item *item, uint32_t max)
{
	return m0_rpc__il(item)->ril_payload < M0_RPC__GATHER_MIN
		       ? 0
		       : gathered_segs(m, item, max);
}

void m0_rpc__item_form(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item    *il = m0_rpc__il(item);
	struct m0_rpc_frm_item *fi = &il->ril_frm;
	struct m0_rpc_group    *group = item->ri_group;
	int                     rc;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(il->ril_target != NULL);
	M0_PRE_EX(m0_rpc__item_invariant(item));
	M0_PRE_EX(!m0_rpc__frm_item_is_cached(fi) && il->ril_packet == NULL);
	il->ril_flags &= ~(uint32_t)(M0_RPC__IF_AGAIN | M0_RPC__IF_PARKED);
	fi->fi_view.fv_type = item->ri_type;
	fi->fi_view.fv_key = &item->ri_key;
	fi->fi_view.fv_prio = item->ri_prio;
	fi->fi_view.fv_size = item->ri_size;
	fi->fi_segs_nr = m0_rpc__item_segs(m, item, UINT32_MAX);
	fi->fi_is_write_through = item->ri_cache & M0_RPC_ITEM_WRITE_THROUGH;
	/* An item that is sent again has waited already. */
	fi->fi_deadline = item->ri_nr_sent > 0 ? 0 : item->ri_deadline;
	fi->fi_group = group != NULL && item->ri_nr_sent == 0
			       ? m0_rpc__group_frm(group)
			       : NULL;
	rc = m0_rpc__frm_enq(&il->ril_target->trg_frm, fi, m->rml_now,
			     group != NULL ? group->rg_linger_ns : 0);
	if (rc == 0)
		m0_rpc__state_set(item, m0_rpc__frm_item_is_urgent(fi)
						? M0_RPC_ITEM_URGENT
						: M0_RPC_ITEM_ENQUEUED);
	else if (!(il->ril_flags & M0_RPC__IF_KEPT))
		m0_rpc__item_end(item, rc, NULL);
}

bool m0_rpc__item_take_out(struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(il->ril_packet != NULL ||
		  m0_rpc__frm_item_is_cached(&il->ril_frm));
	if (il->ril_packet == NULL) {
		m0_rpc__frm_remove(&il->ril_frm);
		return true;
	}
	if (il->ril_flags & M0_RPC__IF_GATHERED) {
		/* The packet is given up; its others are sent again. */
		(void)m0_net_buffer_del(&il->ril_packet->rpk_nb,
					il->ril_packet->rpk_nb.nb_tm);
		return false;
	}
	m0_list_del(&il->ril_frm.fi_link);
	il->ril_packet = NULL;
	return true;
}

/* ----------------------------------------------------------------- end -- */

static void ended_add(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(!(il->ril_flags & M0_RPC__IF_ENDED));
	M0_PRE_EX(il->ril_packet == NULL);
	M0_PRE_EX(!m0_rpc__frm_item_is_cached(&il->ril_frm));
	if (m0_list_link_is_in(&il->ril_link))
		m0_list_del(&il->ril_link);
	il->ril_flags |= M0_RPC__IF_ENDED;
	m0_list_add_tail(&m->rml_ends.ren_list, &il->ril_link);
}

/* Were others merged into it? Only into requests, which have a session. */
static bool has_parts(const struct m0_rpc_item *item)
{
	return m0_rpc__il(item)->ril_session != NULL &&
	       m0_rpc__il(item)->ril_parts != NULL;
}

/* Parts get their shares of the outcome. */
static __attribute__((__noinline__)) void parts_end(struct m0_rpc_item *item,
						    int                 rc)
{
	struct m0_rpc_item *part = m0_rpc__il(item)->ril_parts;
	struct m0_rpc_item *next;

	M0_PRE(item->ri_type->rit_ops->rito_split != NULL || rc != 0);
	m0_rpc__il(item)->ril_parts = NULL;
	for (; part != NULL; part = next) {
		struct m0_rpc_item *reply = NULL;
		int                 part_rc = rc;

		next = m0_rpc__il(part)->ril_parts;
		m0_rpc__il(part)->ril_parts = NULL;
		m0_rpc__il(part)->ril_flags &= ~(uint32_t)M0_RPC__IF_PART;
		if (part_rc == 0) {
			part_rc =
				item->ri_type->rit_ops->rito_split(item, part);
			reply = part->ri_reply;
			part->ri_reply = NULL;
		}
		m0_rpc__item_end(part, part_rc, reply);
	}
}

/* A part that ends before the one that carries it: its time, or a cancel. */
static __attribute__((__noinline__)) void part_leave(struct m0_rpc_item *part)
{
	const struct m0_list *items = &m0_rpc__il(part)->ril_session->rsx_items;
	struct m0_list_link  *link;

	M0_PRE(m0_rpc__il(part)->ril_session != NULL);
	m0_list_for_each(items, link) {
		struct m0_rpc__item *il =
			container_of(link, struct m0_rpc__item, ril_link);

		if (il->ril_parts != part)
			continue;
		il->ril_parts = m0_rpc__il(part)->ril_parts;
		break;
	}
	m0_rpc__il(part)->ril_parts = NULL;
	m0_rpc__il(part)->ril_flags &= ~(uint32_t)M0_RPC__IF_PART;
}

void m0_rpc__item_end(struct m0_rpc_item *item, int rc,
		      struct m0_rpc_item *reply)
{
	struct m0_rpc__machine *m = item->ri_rmachine->rm_lib;
	struct m0_rpc__item    *il = m0_rpc__il(item);

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__item_invariant(item));
	M0_PRE(!(il->ril_flags & (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS)));
	item->ri_error = rc;
	item->ri_reply = reply;
	/* Replies have none. */
	if (m0_timer_is_armed(&il->ril_timer))
		m0_timerq_cancel(&m->rml_timers.rtm_items, &il->ril_timer);
	if (M0_UNLIKELY(il->ril_flags & M0_RPC__IF_PART))
		part_leave(item);
	if (M0_UNLIKELY(m0_rpc__bulks_are(&m->rml_bulks)))
		m0_rpc__bulks_ended(m, item);
	if (il->ril_owner != NULL)
		il->ril_owner->own_leave(m, item);
	m0_rpc__link_left(item);
	if (m0_rpc__item_unform(item)) {
		if (has_parts(item))
			parts_end(item, item->ri_error);
		ended_add(m, item);
	} else {
		il->ril_flags |= M0_RPC__IF_ENDS;
	}
}

void m0_rpc__reply_end(struct m0_rpc_item *reply, int rc)
{
	M0_PRE_EX(m0_rpc__item_invariant(reply));
	M0_PRE(!(m0_rpc__il(reply)->ril_flags &
		 (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS)));
	reply->ri_error = rc;
	ended_add(reply->ri_rmachine->rm_lib, reply);
}

/* Its packet has left and it was to end then. */
void m0_rpc__item_ends(struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(il->ril_flags & M0_RPC__IF_ENDS);
	M0_PRE_EX(il->ril_packet == NULL);
	il->ril_flags &= ~(uint32_t)M0_RPC__IF_ENDS;
	/* A reply that was to leave over another link: see reply.c. */
	if ((il->ril_flags & M0_RPC__IF_AGAIN) &&
	    (item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REPLY))
		m0_rpc__target_put(il->ril_target);
	if (has_parts(item))
		parts_end(item, item->ri_error);
	ended_add(item->ri_rmachine->rm_lib, item);
}

void m0_rpc__ends_init(struct m0_rpc__ends *ends)
{
	m0_list_init(&ends->ren_list);
}

void m0_rpc__ends_fini(struct m0_rpc__ends *ends)
{
	M0_PRE(ends->ren_notified == NULL);
	m0_list_fini(&ends->ren_list);
}

static void item_count(struct m0_rpc__machine   *m,
		       const struct m0_rpc_item *item)
{
	if (M0_LIKELY(item->ri_error == 0) || m0_rpc__is_note(item))
		return;
	M0_RPC__COUNT(m, rs_nr_failed_items, 1);
	if (item->ri_error == -ETIMEDOUT)
		M0_RPC__COUNT(m, rs_nr_timedout_items, 1);
}

/* Notifies the poster, and puts the reference of its post. */
static inline void poster_notify(struct m0_rpc__machine *m,
				 struct m0_rpc_item     *item,
				 struct m0_rpc__session *session,
				 enum m0_rpc_item_state  state)
{
	const struct m0_rpc_item_ops      *ops = item->ri_ops;
	const struct m0_rpc_item_type_ops *type_ops = item->ri_type->rit_ops;

	M0_PRE_EX(m0_rpc__item_is_final(state));
	M0_PRE_EX(m->rml_ends.ren_notified == NULL);
	if (item->ri_group != NULL)
		m0_rpc__group_ended(item->ri_group);
	__atomic_store_n(&m->rml_ends.ren_notifying, item, __ATOMIC_RELAXED);
	m->rml_ends.ren_notified_session = session;
	m->rml_ends.ren_notified_again = false;
	m->rml_ends.ren_notified = item;
	m0_rpc__state_set(item, state);
	if (ops != NULL && ops->rio_replied != NULL)
		ops->rio_replied(item);
	m->rml_ends.ren_notified = NULL;
	/* The item may be gone or posted again: only the reference of this post
	 * is ours. */
	if (!m->rml_ends.ren_notified_again)
		type_ops->rito_item_put(item);
	__atomic_store_n(&m->rml_ends.ren_notifying,
			 (const struct m0_rpc_item *)NULL, __ATOMIC_RELEASE);
}

static inline void item_notify(struct m0_rpc__machine *m,
			       struct m0_rpc_item     *item)
{
	struct m0_rpc__item        *il = m0_rpc__il(item);
	struct m0_rpc__session     *session = il->ril_session;
	struct m0_rpc__conn        *conn = il->ril_conn;
	const struct m0_rpc__owner *owner = il->ril_owner;
	enum m0_rpc_item_state      state = M0_RPC_ITEM_REPLIED;

	if (item->ri_error != 0)
		state = M0_RPC_ITEM_FAILED;
	else if (!(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REQUEST))
		state = M0_RPC_ITEM_SENT;
	item->ri_rpc_time = m0_time_sub(m->rml_now, item->ri_rpc_time);
	if (il->ril_flags & M0_RPC__IF_CACHED)
		m0_rpc__cached_add(m, UINT32_MAX);
	/* A note's session may be gone. */
	if (m0_rpc__is_note(item)) {
		poster_notify(m, item, NULL, state);
		return;
	}
	if (state == M0_RPC_ITEM_REPLIED)
		m0_rpc__latency(m, item->ri_type, item->ri_rpc_time);
	item_count(m, item);
	poster_notify(m, item, session, state);
	if (owner != NULL)
		owner->own_release(session, conn);
}

void m0_rpc__item_notify(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(!(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REPLY));
	item_notify(m, item);
}

/* Replies belong to no session here, and nothing cancels them. */
static bool is_reply(const struct m0_rpc_item *item)
{
	return item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REPLY;
}

static void reply_notify(struct m0_rpc__machine *m, struct m0_rpc_item *reply)
{
	reply->ri_rpc_time = m0_time_sub(m->rml_now, reply->ri_rpc_time);
	item_count(m, reply);
	poster_notify(m, reply, NULL,
		      reply->ri_error == 0 ? M0_RPC_ITEM_SENT
					   : M0_RPC_ITEM_FAILED);
}

unsigned m0_rpc__ended_run(struct m0_rpc__machine *m, unsigned max)
{
	struct m0_list_link *link;
	struct m0_rpc__item *il;
	unsigned             nr;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__ends_invariant(&m->rml_ends));
	for (nr = 0;
	     nr < max && (link = m0_list_first(&m->rml_ends.ren_list)) != NULL;
	     ++nr) {
		il = container_of(link, struct m0_rpc__item, ril_link);
		m0_list_del(&il->ril_link);
		/* The cancel that is in the inbox comes back to it. */
		if (is_reply(m0_rpc__item_of(il)))
			reply_notify(m, m0_rpc__item_of(il));
		else if (__atomic_exchange_n(&il->ril_gate, M0_RPC__IG_ENDED,
					     __ATOMIC_ACQ_REL) ==
			 M0_RPC__IG_CANCEL)
			continue;
		else
			item_notify(m, m0_rpc__item_of(il));
		m0_rpc__changed(m);
	}
	return nr;
}

/* ---------------------------------------------------------------- wait -- */

struct wait_for {
	struct m0_rpc__machine   *wfo_machine;
	const struct m0_rpc_item *wfo_item;
	uint64_t                  wfo_states;
};

/* A final state counts once rio_replied has returned. */
static bool state_is(void *arg)
{
	const struct wait_for *w = arg;
	enum m0_rpc_item_state state = m0_rpc_item_state(w->wfo_item);

	return (w->wfo_states & UINT64_C(1) << state) &&
	       (!m0_rpc__item_is_final(state) ||
		__atomic_load_n(&w->wfo_machine->rml_ends.ren_notifying,
				__ATOMIC_ACQUIRE) != w->wfo_item);
}

int m0_rpc_item_timedwait(struct m0_rpc_item *item, uint64_t states,
			  m0_time_t abs_timeout)
{
	struct wait_for w = { .wfo_item = item, .wfo_states = states };

	if (item->ri_rmachine == NULL)
		return states & UINT64_C(1) << m0_rpc_item_state(item)
			       ? 0
			       : -ETIMEDOUT;
	w.wfo_machine = item->ri_rmachine->rm_lib;
	return m0_rpc__wait(w.wfo_machine, state_is, &w, abs_timeout);
}

int m0_rpc_item_wait_for_reply(struct m0_rpc_item *item, m0_time_t abs_timeout)
{
	int rc =
		m0_rpc_item_timedwait(item,
				      UINT64_C(1) << M0_RPC_ITEM_REPLIED |
					      UINT64_C(1) << M0_RPC_ITEM_FAILED,
				      abs_timeout);

	return rc != 0 ? rc : item->ri_error;
}
