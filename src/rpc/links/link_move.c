/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Moving the items of a link that dies, goes, or turns to another of the
 * machine's addresses.
 *
 * The cached items of a stream are in one formation, so a stream changes links only
 * when it has no cached item.
 */
#include "rpc/rpc_internal.h"

/* Out of formation or packet; IF_MOVES: to be put on another. */
static void item_out(struct m0_rpc__link *link, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);
	bool                 cached = m0_rpc__frm_item_is_cached(&il->ril_frm);
	bool                 leaving = il->ril_packet != NULL;
	bool is_request = item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REQUEST;

	M0_PRE_EX(m0_rpc__item_invariant(item));
	if (il->ril_on != link ||
	    (il->ril_flags & (M0_RPC__IF_ENDS | M0_RPC__IF_ENDED)))
		return;
	if (!is_request && !cached) {
		/* A one-way item is sent once at most: it ends with its
		 * packet. */
		m0_rpc__link_off(item);
		return;
	}
	++link->lnk_info.lki_moved_nr;
	m0_rpc__link_off(item);
	if (item->ri_stream != 0 && !cached) {
		struct m0_rpc__stream *stream =
			&il->ril_session->rsx_streams[item->ri_stream - 1];

		m0_rpc_cstream_hasten(&stream->rsy_core, &il->ril_citem,
				      link->lnk_conn->rcx_machine->rml_now);
		m0_rpc__stream_ready(stream);
	}
	if (!m0_rpc__item_unform(item)) {
		il->ril_flags |= M0_RPC__IF_AGAIN;
		return;
	}
	/* The item may arrive all the same. */
	item->ri_nr_sent += leaving;
	il->ril_target = NULL;
	if (m0_rpc__stream_resends(item, cached))
		m0_rpc__state_set(item, M0_RPC_ITEM_WAITING_FOR_REPLY);
	else if (cached || item->ri_stream != 0 ||
		 item->ri_nr_sent < item->ri_nr_sent_max)
		il->ril_flags |= M0_RPC__IF_MOVES;
}

static void item_in(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(m0_rpc__item_invariant(item));
	if (!(il->ril_flags & M0_RPC__IF_MOVES))
		return;
	il->ril_flags &= ~(uint32_t)M0_RPC__IF_MOVES;
	if (il->ril_session != NULL && !il->ril_session->rsx_is_up &&
	    !m0_rpc__is_note(item)) {
		il->ril_flags |= M0_RPC__IF_PARKED;
		return;
	}
	m0_rpc__item_again(m, item);
}

static void items_out(struct m0_rpc__link *link, const struct m0_list *items)
{
	struct m0_list_link *at;
	struct m0_list_link *next;

	m0_list_for_each_safe(items, at, next)
		item_out(link, m0_rpc__item_of(container_of(
				       at, struct m0_rpc__item, ril_link)));
}

static void items_in(struct m0_rpc__machine *m, const struct m0_list *items)
{
	struct m0_list_link *at;
	struct m0_list_link *next;

	m0_list_for_each_safe(items, at, next)
		item_in(m, m0_rpc__item_of(container_of(at, struct m0_rpc__item,
							ril_link)));
}

/* The words of its streams, which ask nothing of anybody. */
static void words_out(struct m0_rpc__link *link, struct m0_rpc__session *s)
{
	uint32_t i;

	M0_PRE(link->lnk_conn == s->rsx_conn);
	for (i = 0; i < s->rsx_streams_nr; ++i) {
		struct m0_rpc__stream *stream = &s->rsx_streams[i];
		struct m0_rpc__note   *note = stream->rsy_note;

		if (stream->rsy_link == link)
			stream->rsy_link = NULL;
		if (note == NULL ||
		    m0_rpc__il(&note->rno_item)->ril_target != link->lnk_target)
			continue;
		note->rno_stream = NULL;
		m0_rpc__note_drop(note);
		stream->rsy_note = NULL;
		stream->rsy_owes = true;
	}
}

static void words_in(struct m0_rpc__session *s)
{
	uint32_t i;

	for (i = 0; s->rsx_is_up && i < s->rsx_streams_nr; ++i)
		if (s->rsx_streams[i].rsy_owes)
			m0_rpc__stream_control(&s->rsx_streams[i]);
}

void m0_rpc__link_clear(struct m0_rpc__link *link)
{
	struct m0_rpc__conn    *conn = link->lnk_conn;
	struct m0_rpc__session *session;

	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	items_out(link, &conn->rcx_machine->rml_conns.rcn_session0->rsx_items);
	items_out(link, &conn->rcx_items);
	m0_list_for_each_entry(&conn->rcx_sessions, session,
			       struct m0_rpc__session, rsx_link) {
		items_out(link, &session->rsx_items);
		words_out(link, session);
	}
}

void m0_rpc__link_refill(struct m0_rpc__conn *conn)
{
	struct m0_rpc__session *session;

	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	items_in(conn->rcx_machine,
		 &conn->rcx_machine->rml_conns.rcn_session0->rsx_items);
	items_in(conn->rcx_machine, &conn->rcx_items);
	m0_list_for_each_entry(&conn->rcx_sessions, session,
			       struct m0_rpc__session, rsx_link) {
		items_in(conn->rcx_machine, &session->rsx_items);
		words_in(session);
	}
}

void m0_rpc__link_empty(struct m0_rpc__link *link)
{
	M0_PRE(m0_rpc__link_invariant(link));
	m0_rpc__link_clear(link);
	m0_rpc__link_refill(link->lnk_conn);
}

int m0_rpc__link_turn(struct m0_rpc__link *link)
{
	struct m0_rpc__conn *conn = link->lnk_conn;
	int                  rc;

	M0_PRE(m0_rpc__link_invariant(link));
	if (link->lnk_target == NULL)
		return m0_rpc__link_connect(link);
	if (link->lnk_target->trg_key.trk_ep->nep_tm ==
	    m0_rpc__rail_tm(conn->rcx_machine, link->lnk_from))
		return 0;
	m0_rpc__probe_end(link);
	m0_rpc__link_clear(link);
	m0_rpc__link_leave(link);
	rc = m0_rpc__link_connect(link);
	if (conn->rcx_main == link)
		m0_rpc__main_is(conn, link);
	m0_rpc__link_refill(conn);
	return rc;
}

int m0_rpc__link_take(struct m0_rpc__link *link)
{
	M0_PRE(m0_rpc__link_invariant(link));
	if (link->lnk_target == NULL)
		return m0_rpc__link_connect(link);
	return m0_rpc__link_is_ours(link) ? 0 : m0_rpc__link_turn(link);
}

int m0_rpc__main_take(struct m0_rpc__conn *conn)
{
	int rc = m0_rpc__link_take(conn->rcx_main);

	M0_PRE(conn->rcx_main != NULL);
	m0_rpc__main_is(conn, conn->rcx_main);
	return rc;
}
