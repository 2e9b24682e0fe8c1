/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Links of connections: which item goes over which.
 *
 * An item that is outstanding on a link (ril_on) is counted there, from when it
 * is put into a formation until its end.
 */
#include "rpc/rpc_internal.h"

/* ----------------------------------------------------------- accounting -- */

/* Count the item as outstanding on the link. */
static inline void link_on(struct m0_rpc__link *link, struct m0_rpc_item *item,
			   m0_bcount_t bytes)
{
	struct m0_rpc__item     *il = m0_rpc__il(item);
	struct m0_rpc_link_info *info = &link->lnk_info;

	M0_PRE_EX(m0_rpc__link_invariant(link));
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

/* --------------------------------------------------------------- choice -- */

/* The one that is up and has least to do; `but` only if there is no other. */
static struct m0_rpc__link *choose(const struct m0_rpc__conn *conn,
				   const struct m0_rpc__link *but)
{
	struct m0_rpc__link *best = NULL;
	struct m0_rpc__link *link;

	M0_PRE_EX(m0_rpc__conn_invariant(conn));
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

	M0_PRE_EX(m0_rpc__stream_invariant(stream));
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

/* A function of its own: mostly there is no choice. */
static __attribute__((__noinline__)) void route_any(struct m0_rpc_item *item)
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

	M0_PRE_EX(conn != NULL);
	if (M0_LIKELY(conn->rcx_links_nr == 1 && item->ri_stream == 0 &&
		      !m0_rpc__is_note(item) &&
		      !m0_rpc__bulks_are(&conn->rcx_machine->rml_bulks)))
		link_on(conn->rcx_main, item, item->ri_size);
	else
		route_any(item);
}

void m0_rpc__item_again(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(!m0_rpc__frm_item_is_cached(&m0_rpc__il(item)->ril_frm));
	m0_rpc__route(item);
	if (m0_rpc__il(item)->ril_target != NULL)
		m0_rpc__item_form(m, item);
	else
		m0_rpc__item_end(item, -ENOTCONN, NULL);
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

bool m0_rpc__link_is_ours(const struct m0_rpc__link *link)
{
	return link->lnk_target == NULL ||
	       m0_rpc__rail_is(link->lnk_conn->rcx_machine,
			       link->lnk_target->trg_key.trk_ep->nep_tm);
}

int m0_rpc__link_connect(struct m0_rpc__link *link)
{
	struct m0_rpc__conn            *conn = link->lnk_conn;
	const struct m0_rpc_frm_policy *policy = conn->rcx_conn->c_policy;
	struct m0_rpc__machine         *m = conn->rcx_machine;
	int                             rc;

	M0_PRE(link->lnk_target == NULL);
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

	M0_PRE(m0_rpc__link_invariant(link));
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

	M0_PRE(nr < M0_RPC_LINKS_MAX);
	conn->rcx_ways[nr] =
		(struct m0_rpc__way){ ep->nep_tm, m0_rpc__at(ep->nep_addr) };
	return nr + 1;
}

/* Add the ways of links that are up, or of those that are not. */
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

	M0_PRE(m0_rpc__conn_invariant(conn));
	m0_mutex_lock(&conn->rcx_ways_lock);
	if (conn->rcx_target != NULL)
		nr = way_add(conn, nr, conn->rcx_target);
	nr = ways_add(conn, nr, true);
	nr = ways_add(conn, nr, false);
	__atomic_store_n(&conn->rcx_ways_nr, nr, __ATOMIC_RELAXED);
	m0_mutex_unlock(&conn->rcx_ways_lock);
}

void m0_rpc__main_is(struct m0_rpc__conn *conn, struct m0_rpc__link *link)
{
	struct m0_rpc__target *target = link->lnk_target;

	M0_PRE(link->lnk_conn == conn);
	conn->rcx_main = link;
	conn->rcx_target = target;
	__atomic_store_n(&conn->rcx_tm,
			 target != NULL ? target->trg_key.trk_ep->nep_tm : NULL,
			 __ATOMIC_RELAXED);
	m0_rpc__ways_note(conn);
}

void m0_rpc__main_set(struct m0_rpc__link *link)
{
	M0_PRE(link->lnk_target != NULL);
	m0_rpc__main_is(link->lnk_conn, link);
}

/* -------------------------------------------------------------- the map -- */

struct m0_rpc__link *m0_rpc__link_new(struct m0_rpc__conn *conn,
				      const char          *addr)
{
	struct m0_rpc__link *link;

	M0_PRE(addr[0] != 0 && strlen(addr) < M0_RPC_ADDR_MAX);
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

void m0_rpc__probe_end(struct m0_rpc__link *link)
{
	struct m0_rpc__note   *note = link->lnk_note;
	struct m0_rpc__packet *packet;

	M0_PRE(m0_rpc__link_invariant(link));
	if (note == NULL)
		return;
	link->lnk_note = NULL;
	packet = m0_rpc__il(&note->rno_item)->ril_packet;
	if (packet != NULL)
		(void)m0_net_buffer_del(
			&packet->rpk_nb,
			link->lnk_target->trg_key.trk_ep->nep_tm);
	m0_rpc__note_drop(note);
}

/* Pre: nothing is on it. */
void m0_rpc__link_free(struct m0_rpc__link *link)
{
	M0_PRE(m0_rpc__link_invariant(link));
	M0_PRE(link->lnk_conn->rcx_links_nr > 0);
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

	M0_PRE(addrs->rad_nr > 0);
	M0_PRE(conn->rcx_links_nr == 0);
	for (i = 0; i < addrs->rad_nr; ++i)
		if (m0_rpc__link_new(conn, addrs->rad_text[i]) == NULL)
			return -ENOMEM;
	return 0;
}

void m0_rpc__links_free(struct m0_rpc__conn *conn)
{
	struct m0_list_link *at;

	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	m0_timerq_cancel(&conn->rcx_machine->rml_timers.rtm_pauses,
			 &conn->rcx_tick.rpa_timer);
	while ((at = m0_list_first(&conn->rcx_links)) != NULL)
		m0_rpc__link_free(
			container_of(at, struct m0_rpc__link, lnk_link));
}

void m0_rpc__links_up(struct m0_rpc__conn *conn)
{
	struct m0_rpc__machine *m = conn->rcx_machine;
	struct m0_rpc__link    *link;

	M0_PRE(conn->rcx_target != NULL);
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
