/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Links of connections: which item goes over which, and what becomes of those
 * of a link that dies or goes.
 *
 * An item that is outstanding on a link (ril_on) is counted there, from when it
 * is put into a formation until its end. Of a stream, what is cached is in one
 * formation, so the stream changes links only when nothing of it is.
 */
#include "rpc/rpc_internal.h"

/* ----------------------------------------------------------- accounting -- */

/* It goes there, and is outstanding there from now on. */
static inline void link_on(struct m0_rpc__link *link, struct m0_rpc_item *item,
			   m0_bcount_t bytes)
{
	struct m0_rpc__item     *il = m0_rpc__il(item);
	struct m0_rpc_link_info *info = &link->lnk_info;

	m0_rpc__link_left(item);
	il->ril_target = link->lnk_target;
	il->ril_on = link;
	il->ril_on_bytes = bytes;
	info->lki_bytes += bytes;
	++info->lki_put_nr;
	info->lki_put_bytes += bytes;
	info->lki_resent_nr += item->ri_nr_sent > 0;
	++info->lki_items_nr;
}

void m0_rpc__link_off(struct m0_rpc_item *item)
{
	struct m0_rpc__item     *il = m0_rpc__il(item);
	struct m0_rpc_link_info *info = &il->ril_on->lnk_info;

	--info->lki_items_nr;
	info->lki_bytes -= il->ril_on_bytes;
	il->ril_on = NULL;
}

/* --------------------------------------------------------------- choice -- */

/* The one that is up and has least to do; `but` only if there is no other. */
static struct m0_rpc__link *choose(const struct m0_rpc__conn *conn,
				   const struct m0_rpc__link *but)
{
	struct m0_rpc__link *best = NULL;
	struct m0_rpc__link *link;

	if (M0_LIKELY(conn->rcx_links_nr == 1))
		return conn->rcx_main;
	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link) {
		if (!m0_rpc__link_is_up(link) || link == but)
			continue;
		if (best == NULL ||
		    link->lnk_info.lki_bytes < best->lnk_info.lki_bytes)
			best = link;
	}
	return best ?: conn->rcx_main;
}

/* A change costs the server's patience: only for a packet less to wait for. */
static struct m0_rpc__link *stream_link(const struct m0_rpc_item *item)
{
	const struct m0_rpc__item *il = m0_rpc__il(item);
	struct m0_rpc__conn       *conn = il->ril_conn;
	struct m0_rpc__stream     *stream =
		&il->ril_session->rsx_streams[item->ri_stream - 1];
	struct m0_rpc__link *now = stream->rsy_link;
	struct m0_rpc__link *best;

	if (conn->rcx_links_nr == 1)
		return stream->rsy_link = conn->rcx_main;
	if (now != NULL && !m0_list_is_empty(&stream->rsy_frm.fst_items))
		return now;
	best = choose(conn, item->ri_nr_sent > 0 ? il->ril_on : NULL);
	if (now == NULL || !m0_rpc__link_is_up(now) ||
	    (item->ri_nr_sent > 0 && now == il->ril_on) ||
	    now->lnk_info.lki_bytes >
		    best->lnk_info.lki_bytes +
			    conn->rcx_machine->rml_sender.rsn_msg_size)
		stream->rsy_link = best;
	return stream->rsy_link;
}

/* Apart: mostly there is no choice. */
static __attribute__((noinline)) void route_any(struct m0_rpc_item *item)
{
	struct m0_rpc__item    *il = m0_rpc__il(item);
	struct m0_rpc__conn    *conn = il->ril_conn;
	struct m0_rpc__machine *m = conn->rcx_machine;
	struct m0_rpc__link    *link = conn->rcx_main;

	if (m0_rpc__is_note(item)) {
		struct m0_rpc__link *only = m0_rpc__note_of(item)->rno_link;

		if (only != NULL) {
			il->ril_target = only->lnk_target;
			return;
		}
	} else if (item->ri_stream != 0) {
		link = stream_link(item);
	} else {
		link = choose(conn, item->ri_nr_sent > 0 ? il->ril_on : NULL);
	}
	link_on(link, item, item->ri_size + m0_rpc__bulks_bytes(m, item));
	if (link->lnk_info.lki_items_nr > 1 || conn->rcx_links_nr == 1)
		return;
	link->lnk_since = m->rml_now;
	m0_rpc__links_watch(conn, m0_time_add(m->rml_now,
					      m->rml_cfg.rc_link_idle_ns / 2));
}

void m0_rpc__route(struct m0_rpc_item *item)
{
	const struct m0_rpc__conn *conn = m0_rpc__il(item)->ril_conn;

	if (M0_LIKELY(conn->rcx_links_nr == 1 && item->ri_stream == 0 &&
		      !m0_rpc__is_note(item) &&
		      !m0_rpc__bulks_are(&conn->rcx_machine->rml_bulks)))
		link_on(conn->rcx_main, item, item->ri_size);
	else
		route_any(item);
}

struct m0_rpc__link *m0_rpc__link_of(const struct m0_rpc__conn     *conn,
				     const struct m0_net_end_point *ep)
{
	struct m0_rpc__link *link;

	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link)
		if (link->lnk_target != NULL &&
		    link->lnk_target->trg_key.trk_ep == ep)
			return link;
	return NULL;
}

/* ---------------------------------------------------------- destinations -- */

void m0_rpc__target_limits(struct m0_rpc__target *target)
{
	struct m0_rpc_frm_constraints limits = target->trg_limits;
	struct m0_rpc__link          *link;

	if (!m0_list_is_empty(&target->trg_links))
		limits.fc_max_nr_packets_enqed = 1;
	limits.fc_max_packet_size =
		target->trg_machine->rml_sender.rsn_msg_size;
	if (target->trg_packet_max != 0)
		limits.fc_max_packet_size = min64u(limits.fc_max_packet_size,
						   target->trg_packet_max);
	m0_list_for_each_entry(&target->trg_links, link, struct m0_rpc__link,
			       lnk_target_link) {
		limits.fc_max_nr_packets_enqed =
			max64u(limits.fc_max_nr_packets_enqed,
			       link->lnk_conn->rcx_conn->c_max_rpcs_in_flight);
		limits.fc_max_packet_size =
			min64u(limits.fc_max_packet_size,
			       m0_rpc__packet_max(link->lnk_conn));
	}
	limits.fc_max_nr_bytes_accumulated = limits.fc_max_packet_size;
	target->trg_limits = limits;
	m0_rpc__frm_network_limits(
		target->trg_machine->rml_sender.rsn_frms.fs_network,
		target->trg_key.trk_ep->nep_addr, &limits);
	m0_rpc__frm_constraints_set(&target->trg_frm, &limits);
}

bool m0_rpc__link_is_ours(const struct m0_rpc__link *link)
{
	return link->lnk_target == NULL ||
	       m0_rpc__rail_is(link->lnk_conn->rcx_machine,
			       link->lnk_target->trg_key.trk_ep->nep_tm);
}

int m0_rpc__link_take(struct m0_rpc__link *link)
{
	struct m0_rpc__conn            *conn = link->lnk_conn;
	const struct m0_rpc_frm_policy *policy = conn->rcx_conn->c_policy;
	struct m0_rpc__machine         *m = conn->rcx_machine;
	int                             rc;

	if (link->lnk_target != NULL)
		return m0_rpc__link_is_ours(link) ? 0 : m0_rpc__link_turn(link);
	rc = m0_rpc__target_find(m, m0_rpc__rail_tm(m, link->lnk_from),
				 link->lnk_info.lki_addr,
				 policy != NULL ? policy : m->rml_cfg.rc_policy,
				 &link->lnk_target);
	if (rc != 0)
		return rc;
	m0_list_add_tail(&link->lnk_target->trg_links, &link->lnk_target_link);
	m0_rpc__target_limits(link->lnk_target);
	return 0;
}

void m0_rpc__link_leave(struct m0_rpc__link *link)
{
	struct m0_rpc__target *target = link->lnk_target;

	if (target == NULL)
		return;
	m0_list_del(&link->lnk_target_link);
	link->lnk_target = NULL;
	if (link->lnk_conn->rcx_main == link)
		link->lnk_conn->rcx_target = NULL;
	m0_rpc__target_limits(target);
	m0_rpc__target_put(target);
}

static uint32_t way_add(struct m0_rpc__conn *conn, uint32_t nr,
			const struct m0_rpc__target *target)
{
	const struct m0_net_end_point *ep = target->trg_key.trk_ep;

	conn->rcx_ways[nr] =
		(struct m0_rpc__way){ ep->nep_tm, m0_rpc__at(ep->nep_addr) };
	return nr + 1;
}

/* Those that are up, or are not. */
static uint32_t ways_add(struct m0_rpc__conn *conn, uint32_t nr, bool up)
{
	const struct m0_rpc__link *link;

	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link)
		if (nr < M0_RPC_LINKS_MAX && link->lnk_target != NULL &&
		    link != conn->rcx_main && m0_rpc__link_is_up(link) == up)
			nr = way_add(conn, nr, link->lnk_target);
	return nr;
}

void m0_rpc__ways_note(struct m0_rpc__conn *conn)
{
	uint32_t nr = 0;

	m0_mutex_lock(&conn->rcx_ways_lock);
	if (conn->rcx_target != NULL)
		nr = way_add(conn, nr, conn->rcx_target);
	nr = ways_add(conn, nr, true);
	nr = ways_add(conn, nr, false);
	__atomic_store_n(&conn->rcx_ways_nr, nr, __ATOMIC_RELAXED);
	m0_mutex_unlock(&conn->rcx_ways_lock);
}

static void main_is(struct m0_rpc__conn *conn, struct m0_rpc__link *link)
{
	struct m0_rpc__target *target = link->lnk_target;

	conn->rcx_main = link;
	conn->rcx_target = target;
	__atomic_store_n(&conn->rcx_tm,
			 target != NULL ? target->trg_key.trk_ep->nep_tm : NULL,
			 __ATOMIC_RELAXED);
	m0_rpc__ways_note(conn);
}

int m0_rpc__main_take(struct m0_rpc__conn *conn)
{
	int rc = m0_rpc__link_take(conn->rcx_main);

	main_is(conn, conn->rcx_main);
	return rc;
}

void m0_rpc__main_set(struct m0_rpc__link *link)
{
	M0_PRE(link->lnk_target != NULL);
	main_is(link->lnk_conn, link);
}

void m0_rpc__links_failed(struct m0_rpc__target *target, int rc)
{
	struct m0_rpc__link *link;

	/* Of a packet, not of the way. */
	if (M0_IN(rc, (0, -ECANCELED, -ENOBUFS, -ENODATA, -EMSGSIZE, -ENOMEM)))
		return;
	m0_list_for_each_entry(&target->trg_links, link, struct m0_rpc__link,
			       lnk_target_link) {
		if (link->lnk_conn->rcx_links_nr == 1)
			continue;
		link->lnk_failed = true;
		m0_rpc__links_watch(link->lnk_conn,
				    link->lnk_conn->rcx_machine->rml_now);
	}
}

/* --------------------------------------------------------------- moving -- */

/* Out of formation or packet; IF_MOVES: to be put on another. */
static void item_out(struct m0_rpc__link *link, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);
	bool                 cached = m0_rpc__frm_item_is_cached(&il->ril_frm);
	bool                 leaving = il->ril_packet != NULL;
	bool is_request = item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REQUEST;

	if (il->ril_on != link ||
	    (il->ril_flags & (M0_RPC__IF_ENDS | M0_RPC__IF_ENDED)))
		return;
	if (!is_request && !cached) {
		/* Once at most: it ends with its packet. */
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
	/* It may arrive all the same. */
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

static void link_clear(struct m0_rpc__link *link)
{
	struct m0_rpc__conn    *conn = link->lnk_conn;
	struct m0_rpc__session *session;

	items_out(link, &conn->rcx_machine->rml_conns.rcn_session0->rsx_items);
	items_out(link, &conn->rcx_items);
	m0_list_for_each_entry(&conn->rcx_sessions, session,
			       struct m0_rpc__session, rsx_link) {
		items_out(link, &session->rsx_items);
		words_out(link, session);
	}
}

static void link_refill(struct m0_rpc__conn *conn)
{
	struct m0_rpc__session *session;

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
	link_clear(link);
	link_refill(link->lnk_conn);
}

int m0_rpc__link_turn(struct m0_rpc__link *link)
{
	struct m0_rpc__conn *conn = link->lnk_conn;
	int                  rc;

	if (link->lnk_target == NULL)
		return m0_rpc__link_take(link);
	if (link->lnk_target->trg_key.trk_ep->nep_tm ==
	    m0_rpc__rail_tm(conn->rcx_machine, link->lnk_from))
		return 0;
	m0_rpc__probe_end(link);
	link_clear(link);
	m0_rpc__link_leave(link);
	rc = m0_rpc__link_take(link);
	if (conn->rcx_main == link)
		main_is(conn, link);
	link_refill(conn);
	return rc;
}

/* -------------------------------------------------------------- the map -- */

static struct m0_rpc__link *link_new(struct m0_rpc__conn *conn,
				     const char          *addr)
{
	struct m0_rpc__link *link;

	M0_ALLOC_PTR(link);
	if (link == NULL)
		return NULL;
	link->lnk_conn = conn;
	link->lnk_from = conn->rcx_links_seq++;
	link->lnk_wait_ns = conn->rcx_machine->rml_cfg.rc_link_idle_ns;
	strcpy(link->lnk_info.lki_addr, addr);
	m0_list_link_init(&link->lnk_link);
	m0_list_link_init(&link->lnk_target_link);
	m0_list_add_tail(&conn->rcx_links, &link->lnk_link);
	++conn->rcx_links_nr;
	if (conn->rcx_main == NULL)
		conn->rcx_main = link;
	return link;
}

/* Pre: nothing is on it. */
static void link_free(struct m0_rpc__link *link)
{
	M0_PRE(link->lnk_info.lki_items_nr == 0);
	m0_rpc__probe_end(link);
	m0_rpc__link_leave(link);
	m0_list_del(&link->lnk_link);
	--link->lnk_conn->rcx_links_nr;
	m0_free(link);
}

int m0_rpc__links_make(struct m0_rpc__conn        *conn,
		       const struct m0_rpc__addrs *addrs)
{
	uint32_t i;

	for (i = 0; i < addrs->rad_nr; ++i)
		if (link_new(conn, addrs->rad_text[i]) == NULL)
			return -ENOMEM;
	return 0;
}

void m0_rpc__links_free(struct m0_rpc__conn *conn)
{
	struct m0_list_link *at;

	m0_timerq_cancel(&conn->rcx_machine->rml_timers.rtm_pauses,
			 &conn->rcx_tick.rpa_timer);
	while ((at = m0_list_first(&conn->rcx_links)) != NULL)
		link_free(container_of(at, struct m0_rpc__link, lnk_link));
}

void m0_rpc__links_up(struct m0_rpc__conn *conn)
{
	struct m0_rpc__machine *m = conn->rcx_machine;
	struct m0_rpc__link    *link;

	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link) {
		link->lnk_info.lki_state = link == conn->rcx_main
						   ? M0_RPC_LINK_UP
						   : M0_RPC_LINK_DOWN;
		link->lnk_up_at = m->rml_now;
		link->lnk_failed = false;
		link->lnk_probe_at = m->rml_now;
		link->lnk_wait_ns = m->rml_cfg.rc_link_idle_ns;
	}
	conn->rcx_main->lnk_info.lki_heard = m->rml_now;
	if (conn->rcx_links_nr > 1)
		m0_rpc__links_watch(conn, m->rml_now);
}

/* Which of the two is the better one to speak over? */
static struct m0_rpc__link *better(struct m0_rpc__link *a,
				   struct m0_rpc__link *b)
{
	if (a == NULL)
		return b;
	return m0_rpc__link_is_up(b) && !m0_rpc__link_is_up(a) ? b : a;
}

/* What the map does not have any more goes; returns the best that stays. */
static struct m0_rpc__link *links_mark(struct m0_rpc__conn        *conn,
				       const struct m0_rpc__addrs *addrs)
{
	struct m0_rpc__link *stays = NULL;
	struct m0_rpc__link *link;

	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link) {
		link->lnk_goes =
			!m0_rpc__addrs_have(addrs, link->lnk_info.lki_addr);
		if (!link->lnk_goes)
			stays = better(stays, link);
	}
	return stays;
}

static bool has_link(const struct m0_rpc__conn *conn, const char *addr)
{
	const struct m0_rpc__link *link;

	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link)
		if (strcmp(link->lnk_info.lki_addr, addr) == 0)
			return true;
	return false;
}

static struct m0_rpc__link *links_add(struct m0_rpc__conn        *conn,
				      const struct m0_rpc__addrs *addrs)
{
	struct m0_rpc__link *first = NULL;
	struct m0_rpc__link *link;
	uint32_t             i;

	for (i = 0; i < addrs->rad_nr; ++i) {
		if (has_link(conn, addrs->rad_text[i]))
			continue;
		link = link_new(conn, addrs->rad_text[i]);
		if (link != NULL)
			link->lnk_probe_at = conn->rcx_machine->rml_now;
		first = first ?: link;
	}
	return first;
}

/* Those that go: their items first, all of them, then they. */
static void links_drop(struct m0_rpc__conn *conn)
{
	struct m0_list_link *at;
	struct m0_list_link *next;

	m0_list_for_each(&conn->rcx_links, at) {
		struct m0_rpc__link *link =
			container_of(at, struct m0_rpc__link, lnk_link);

		if (!link->lnk_goes)
			continue;
		link->lnk_info.lki_state = M0_RPC_LINK_DOWN;
		link_clear(link);
		/* Others may use it. */
		if (link->lnk_target != NULL &&
		    m0_list_first(&link->lnk_target->trg_links) ==
			    m0_list_last(&link->lnk_target->trg_links))
			m0_rpc__packets_cancel(link->lnk_target);
	}
	m0_list_for_each_safe(&conn->rcx_links, at, next) {
		struct m0_rpc__link *link =
			container_of(at, struct m0_rpc__link, lnk_link);

		if (link->lnk_goes)
			link_free(link);
	}
}

void m0_rpc__links_change(struct m0_rpc__conn        *conn,
			  const struct m0_rpc__addrs *addrs)
{
	struct m0_rpc__link *stays = links_mark(conn, addrs);
	struct m0_rpc__link *first = links_add(conn, addrs);
	bool                 was_taken = conn->rcx_target != NULL;

	if (stays == NULL && first == NULL)
		return;
	if (stays == NULL ||
	    (conn->rcx_main->lnk_goes && !m0_rpc__link_is_up(stays))) {
		/* Nothing is known of where it is now. */
		conn->rcx_main = stays ?: first;
		conn->rcx_target = NULL;
		if (was_taken)
			m0_rpc__conn_retarget(conn);
		links_drop(conn);
		if (was_taken)
			link_refill(conn);
		m0_rpc__ways_note(conn);
		m0_rpc__links_watch(conn, conn->rcx_machine->rml_now);
		return;
	}
	if (conn->rcx_main->lnk_goes)
		m0_rpc__main_set(stays);
	links_drop(conn);
	link_refill(conn);
	m0_rpc__ways_note(conn);
	m0_rpc__links_watch(conn, conn->rcx_machine->rml_now);
}

/* ---------------------------------------------------------------- info -- */

struct asking {
	struct m0_rpc__conn     *ask_conn;
	struct m0_rpc_link_info *ask_ret;
	uint32_t                 ask_max;
	uint32_t                 ask_nr;
};

static void info_do(struct m0_rpc__machine *m, void *arg)
{
	struct asking       *ask = arg;
	struct m0_rpc__link *link;

	(void)m;
	m0_list_for_each_entry(&ask->ask_conn->rcx_links, link,
			       struct m0_rpc__link, lnk_link) {
		if (ask->ask_nr < ask->ask_max)
			ask->ask_ret[ask->ask_nr] = link->lnk_info;
		++ask->ask_nr;
	}
}

uint32_t m0_rpc_conn_links(struct m0_rpc_conn      *conn,
			   struct m0_rpc_link_info *ret, uint32_t max)
{
	struct asking ask = { conn->c_lib, ret, max, 0 };

	m0_rpc__do(conn->c_rpc_machine->rm_lib, info_do, &ask);
	return ask.ask_nr;
}
