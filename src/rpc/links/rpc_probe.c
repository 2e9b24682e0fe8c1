/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Which links are good for something. What happens to links happens in the tick
 * of their connection, a timer; only that one is up again is known at once.
 *
 * A link that is up and has something outstanding is pinged after half of
 * rc_link_idle_ns of silence, and dies after all of it. A dead one is probed by
 * an establish, which changes nothing at a server that knows the client and says
 * which server it is and in which life.
 */
#include "rpc/rpc_internal.h"

static m0_time_t idle_ns(const struct m0_rpc__link *link)
{
	return link->lnk_conn->rcx_machine->rml_cfg.rc_link_idle_ns;
}

static m0_time_t now_of(const struct m0_rpc__link *link)
{
	return link->lnk_conn->rcx_machine->rml_now;
}

static m0_time_t wait_max(const struct m0_rpc__link *link)
{
	return max64u(idle_ns(link),
		      link->lnk_conn->rcx_machine->rml_cfg.rc_resend_max_ns);
}

/* ------------------------------------------------------------ questions -- */

void m0_rpc__probes_end(struct m0_rpc__machine *m)
{
	struct m0_rpc__conn *conn;
	struct m0_rpc__link *link;

	M0_PRE(m0_rpc__is_here(m));
	m0_list_for_each_entry(&m->rml_conns.rcn_list, conn,
			       struct m0_rpc__conn, rcx_link)
		m0_list_for_each_entry(&conn->rcx_links, link,
				       struct m0_rpc__link, lnk_link)
			m0_rpc__probe_end(link);
}

static void ask(struct m0_rpc__link *link, struct m0_rpc__note *note,
		m0_time_t wait_ns)
{
	struct m0_rpc__conn *conn = link->lnk_conn;

	M0_PRE(link->lnk_note == NULL);
	M0_PRE(link->lnk_target != NULL);
	note->rno_arg = link;
	note->rno_link = link;
	link->lnk_note = note;
	m0_rpc__note_ask(note, conn, conn->rcx_machine->rml_conns.rcn_session0,
			 m0_time_add(now_of(link), wait_ns));
}

static void pinged(struct m0_rpc__note *note, int rc, const void *body,
		   m0_bcount_t nr)
{
	struct m0_rpc__link *link = note->rno_arg;

	(void)body;
	(void)nr;
	if (link->lnk_note == note)
		link->lnk_note = NULL;
	if (rc == 0)
		link->lnk_info.lki_heard = now_of(link);
}

static void ping(struct m0_rpc__link *link)
{
	struct m0_rpc__note *note;

	if (link->lnk_note != NULL)
		return;
	note = m0_rpc__note_new(link->lnk_conn->rcx_machine, M0_RPC_OP_PING,
				M0_RPC_WIRE_BODY_MAX);
	if (note == NULL)
		return;
	note->rno_nr =
		(uint32_t)m0_rpc__number_put(note->rno_body, now_of(link));
	note->rno_done = pinged;
	ask(link, note, idle_ns(link));
}

static void link_up(struct m0_rpc__link *link)
{
	struct m0_rpc__conn *conn = link->lnk_conn;
	struct m0_rpc__link *other;

	M0_PRE(link->lnk_target != NULL);
	M0_PRE(m0_rpc__link_invariant(link));
	link->lnk_info.lki_state = M0_RPC_LINK_UP;
	link->lnk_up_at = now_of(link);
	link->lnk_since = now_of(link);
	link->lnk_failed = false;
	if (!m0_rpc__link_is_up(conn->rcx_main))
		m0_rpc__main_set(link);
	else
		m0_rpc__ways_note(conn);
	/* Items on dead links, and on this one, have not been answered. */
	m0_list_for_each_entry(&conn->rcx_links, other, struct m0_rpc__link,
			       lnk_link)
		if (!m0_rpc__link_is_up(other) || other == link)
			m0_rpc__link_empty(other);
	m0_rpc__links_watch(conn, now_of(link));
}

static void probed(struct m0_rpc__note *note, int rc, const void *body,
		   m0_bcount_t nr)
{
	struct m0_rpc__link   *link = note->rno_arg;
	struct m0_rpc_conn    *conn = link->lnk_conn->rcx_conn;
	struct m0_rpc_conn_rep rep;

	if (link->lnk_note != note)
		return;
	link->lnk_note = NULL;
	if (rc == 0)
		rc = m0_rpc__conn_rep_get(&rep, body, nr);
	if (rc != 0 || m0_rpc__conn_state(conn) != M0_RPC_CONN_ACTIVE ||
	    link->lnk_conn->rcx_again)
		return;
	link->lnk_info.lki_heard = now_of(link);
	if (rep.rcr_incarnation == conn->c_server_incarnation) {
		link->lnk_target->trg_life = rep.rcr_life;
		link_up(link);
	} else if (rep.rcr_incarnation > conn->c_server_incarnation &&
		   !m0_rpc__link_is_up(link->lnk_conn->rcx_main)) {
		/* Its new life: where else it is will be seen. If another link
		 * is up this is another server. */
		m0_rpc__main_set(link);
		m0_rpc__conn_again(link->lnk_conn);
	}
}

static void probe(struct m0_rpc__link *link)
{
	struct m0_rpc__conn *conn = link->lnk_conn;
	struct m0_rpc__note *note;
	bool                 again = link->lnk_note != NULL;
	m0_time_t            wait_ns = link->lnk_wait_ns;

	M0_PRE(!m0_rpc__link_is_up(link));
	m0_rpc__probe_end(link);
	link->lnk_probe_at = m0_time_add(now_of(link), wait_ns);
	link->lnk_wait_ns = min64u(2 * wait_ns, wait_max(link));
	/* Try another of our addresses. */
	if (again)
		++link->lnk_from;
	if (m0_rpc__link_turn(link) != 0)
		return;
	note = m0_rpc__note_new(conn->rcx_machine, M0_RPC_OP_CONN_ESTABLISH,
				M0_RPC_WIRE_BODY_MAX);
	if (note == NULL)
		return;
	note->rno_nr = m0_rpc__conn_est(conn, note->rno_body);
	note->rno_done = probed;
	/* The next one comes before that. */
	ask(link, note, 4 * wait_ns);
}

/* ---------------------------------------------------------------- death -- */

static struct m0_rpc__link *up_other(const struct m0_rpc__link *than)
{
	struct m0_rpc__link *link;

	m0_list_for_each_entry(&than->lnk_conn->rcx_links, link,
			       struct m0_rpc__link, lnk_link)
		if (link != than && m0_rpc__link_is_up(link))
			return link;
	return NULL;
}

static void link_die(struct m0_rpc__link *link)
{
	struct m0_rpc__conn *conn = link->lnk_conn;
	struct m0_rpc__link *other = up_other(link);

	M0_PRE(m0_rpc__link_is_up(link));
	link->lnk_info.lki_state = M0_RPC_LINK_DOWN;
	++link->lnk_info.lki_deaths_nr;
	m0_rpc__probe_end(link);
	/* One that comes and goes is not asked again and again. */
	if (m0_time_sub(now_of(link), link->lnk_up_at) > wait_max(link)) {
		link->lnk_wait_ns = idle_ns(link);
		link->lnk_probe_at = now_of(link);
	} else {
		link->lnk_probe_at =
			m0_time_add(now_of(link), link->lnk_wait_ns);
	}
	if (other != NULL && conn->rcx_main == link)
		m0_rpc__main_set(other);
	if (other != NULL)
		m0_rpc__link_empty(link);
	m0_rpc__packets_cancel(link->lnk_target);
}

void m0_rpc__links_from(struct m0_rpc__machine          *m,
			const struct m0_net_transfer_mc *tm)
{
	struct m0_rpc__conn *conn;
	struct m0_rpc__link *link;

	M0_PRE(m0_rpc__is_here(m));
	m0_list_for_each_entry(&m->rml_conns.rcn_list, conn,
			       struct m0_rpc__conn, rcx_link) {
		m0_list_for_each_entry(&conn->rcx_links, link,
				       struct m0_rpc__link, lnk_link) {
			if (link->lnk_target == NULL ||
			    link->lnk_target->trg_key.trk_ep->nep_tm != tm)
				continue;
			link->lnk_failed = true;
			m0_rpc__links_watch(conn, m->rml_now);
		}
	}
}

/* Return the next link of the connection, in a circle. */
static struct m0_rpc__link *link_after(const struct m0_rpc__link *link)
{
	struct m0_list      *links = &link->lnk_conn->rcx_links;
	struct m0_list_link *next = m0_list_next(links, &link->lnk_link);

	return container_of(next ?: m0_list_first(links), struct m0_rpc__link,
			    lnk_link);
}

/* A handshake is on its way, and no link is known to be good: tries the next. */
static void main_turn(struct m0_rpc__conn *conn)
{
	struct m0_rpc__link *old = conn->rcx_main;
	struct m0_rpc__link *link = old;

	M0_PRE(conn->rcx_note != NULL);
	conn->rcx_note_at = conn->rcx_machine->rml_now;
	do {
		link = link_after(link);
	} while (link != old && m0_rpc__link_take(link) != 0);
	if (link == old)
		return;
	m0_rpc__main_set(link);
	m0_rpc__link_empty(old);
	m0_rpc__packets_cancel(old->lnk_target);
	/* Next time from another of our addresses: all links may have come to leave
	 * from one that is dead. */
	++old->lnk_from;
	(void)m0_rpc__link_turn(old);
}

static bool main_is_stuck(struct m0_rpc__conn *conn)
{
	struct m0_rpc__link *link = conn->rcx_main;
	m0_time_t            now = conn->rcx_machine->rml_now;
	m0_time_t            idle = idle_ns(link);

	if (conn->rcx_note == NULL || m0_rpc__link_is_up(link))
		return false;
	/* Each may fail at once, but not one after the other for ever. */
	if (link->lnk_failed && now >= m0_time_add(link->lnk_failed_at, idle)) {
		link->lnk_failed_at = now;
		return true;
	}
	return now >= m0_time_add(conn->rcx_note_at, idle);
}

/* ----------------------------------------------------------------- tick -- */

/* @return when it is to be looked at next. */
static m0_time_t up_tick(struct m0_rpc__link *link)
{
	m0_time_t idle = idle_ns(link);
	m0_time_t silent = max64u(link->lnk_info.lki_heard, link->lnk_since);
	bool      failed = link->lnk_failed;

	M0_PRE(m0_rpc__link_is_up(link));
	M0_PRE(m0_rpc__link_invariant(link));
	link->lnk_failed = false;
	if (!failed && link->lnk_info.lki_items_nr == 0)
		return M0_TIME_NEVER;
	if (failed || now_of(link) >= m0_time_add(silent, idle)) {
		link_die(link);
		return link->lnk_probe_at;
	}
	if (now_of(link) < m0_time_add(silent, idle / 2))
		return m0_time_add(silent, idle / 2);
	if (link->lnk_conn->rcx_machine->rml_phase == M0_RPC__RUNS)
		ping(link);
	return m0_time_add(silent, idle);
}

static m0_time_t down_tick(struct m0_rpc__link *link)
{
	struct m0_rpc__conn *conn = link->lnk_conn;

	M0_PRE(!m0_rpc__link_is_up(link));
	M0_PRE(m0_rpc__link_invariant(link));
	link->lnk_failed = false;
	if (m0_rpc__conn_state(conn->rcx_conn) != M0_RPC_CONN_ACTIVE ||
	    conn->rcx_again || conn->rcx_machine->rml_phase != M0_RPC__RUNS)
		return M0_TIME_NEVER;
	if (now_of(link) >= link->lnk_probe_at)
		probe(link);
	return link->lnk_probe_at;
}

/* The only link of a connection is not watched. If its own address was removed, it moves
 * to another one of this machine; packets keep the life that the server has reported. */
static void alone_look(struct m0_rpc__link *link)
{
	uint64_t epoch;

	M0_PRE(link->lnk_conn->rcx_links_nr == 1);
	if (m0_rpc__link_is_ours(link))
		return;
	epoch = link->lnk_target->trg_life;
	if (m0_rpc__link_turn(link) == 0 && link->lnk_target->trg_life == 0)
		link->lnk_target->trg_life = epoch;
}

void m0_rpc__links_tick(struct m0_rpc__pause *pause)
{
	struct m0_rpc__conn *conn =
		container_of(pause, struct m0_rpc__conn, rcx_tick);
	struct m0_rpc__link *link;
	m0_time_t            next = M0_TIME_NEVER;

	M0_PRE(m0_rpc__conn_invariant(conn));
	if (conn->rcx_links_nr == 1) {
		alone_look(conn->rcx_main);
		return;
	}
	if (main_is_stuck(conn))
		main_turn(conn);
	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link)
		next = min64u(next, m0_rpc__link_is_up(link) ? up_tick(link)
							     : down_tick(link));
	if (conn->rcx_note != NULL && !m0_rpc__link_is_up(conn->rcx_main))
		next = min64u(next, m0_time_add(conn->rcx_note_at,
						idle_ns(conn->rcx_main)));
	m0_rpc__ways_note(conn);
	if (next != M0_TIME_NEVER)
		m0_rpc__links_watch(conn, next);
}
