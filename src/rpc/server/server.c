/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Peers as clients: who they are, their sessions, and the handshakes by which
 * both come to be. All of it is idempotent: what is asked twice is found made.
 *
 * A client is one incarnation of a uuid, with an epoch that only it has: packets
 * of another are not of this life. When a younger incarnation comes the older
 * one is gone; what it still has being executed is let go when that ends.
 */
#include "rpc/rpc_internal.h"
#include "rpc/core/record.h"

enum {
	/** Smallest packets that a machine is made for. */
	PACKET_MAX_MIN = 1024
};

/* -------------------------------------------------------------- sessions -- */

static void ssession_free(struct m0_rpc__ssession *s)
{
	struct m0_rpc__client *client = s->rsw_client;
	uint32_t               i;

	for (i = 0; s->rsw_streams != NULL && i < s->rsw_streams_nr; ++i)
		m0_rpc__sstream_free(s, i + 1);
	m0_rpc__cost(client,
		     -(int64_t)m0_rpc__ssession_bytes(s->rsw_streams_nr));
	client->rct_sessions_gone_nr -= s->rsw_gone;
	m0_free(s->rsw_streams);
	m0_free(s);
	m0_rpc__client_release(client);
}

void m0_rpc__ssession_release(struct m0_rpc__ssession *s)
{
	M0_PRE(s->rsw_refs > 0);
	if (--s->rsw_refs == 0 && s->rsw_gone)
		ssession_free(s);
}

/* Not found any more; goes when nothing of it is being executed. */
void m0_rpc__ssession_drop(struct m0_rpc__ssession *s)
{
	struct m0_rpc__client *client = s->rsw_client;

	if (client->rct_session_last == s)
		client->rct_session_last = NULL;
	m0_list_del(&s->rsw_link);
	--client->rct_sessions_nr;
	++client->rct_sessions_gone_nr;
	__atomic_store_n(&s->rsw_gone, true, __ATOMIC_RELAXED);
	m0_rpc__watch_ssession_removed(s);
	if (s->rsw_refs == 0)
		ssession_free(s);
}

static struct m0_rpc__ssession *ssession_new(struct m0_rpc__client *client,
					     uint64_t id, uint64_t conn,
					     uint32_t streams, uint32_t window)
{
	struct m0_rpc__ssession *s;

	M0_ALLOC_PTR(s);
	if (s == NULL)
		return NULL;
	M0_ALLOC_ARR(s->rsw_streams, streams);
	s->rsw_client = client;
	s->rsw_id = id;
	s->rsw_conn = conn;
	s->rsw_streams_nr = streams;
	s->rsw_window = window;
	m0_list_link_init(&s->rsw_link);
	m0_rpc__cost(client, (int64_t)m0_rpc__ssession_bytes(streams));
	++client->rct_refs;
	if (s->rsw_streams == NULL) {
		ssession_free(s);
		return NULL;
	}
	m0_list_add(&client->rct_sessions, &s->rsw_link);
	++client->rct_sessions_nr;
	m0_rpc__watch_ssession(s);
	return s;
}

/* Those that have gone are memory as long as something of them is executed: a
 * peer that makes and ends them has as many of these at most. */
static bool is_full(uint32_t nr, uint32_t gone_nr, uint32_t max)
{
	return nr >= max || (uint64_t)nr + gone_nr >= 2 * (uint64_t)max;
}

static bool has_sessions(const struct m0_rpc__client *client)
{
	return is_full(client->rct_sessions_nr, client->rct_sessions_gone_nr,
		       client->rct_machine->rml_cfg.rc_sessions_max);
}

struct m0_rpc__ssession *m0_rpc__ssession_find(struct m0_rpc__client *client,
					       uint64_t               id)
{
	struct m0_rpc__ssession *s = client->rct_session_last;

	if (s != NULL && s->rsw_id == id)
		return s;
	m0_list_for_each_entry(&client->rct_sessions, s,
			       struct m0_rpc__ssession, rsw_link) {
		if (s->rsw_id == id) {
			client->rct_session_last = s;
			return s;
		}
	}
	return NULL;
}

/* --------------------------------------------------------------- clients -- */

void m0_rpc__server_init(struct m0_rpc__server   *server,
			 const struct m0_rpc_cfg *cfg)
{
	m0_hash_init(&server->rsv_clients);
	server->rsv_budget.rsb_bytes_max = cfg->rc_replies_bytes_max;
	server->rsv_budget.rsb_held_max = UINT64_MAX;
}

void m0_rpc__server_fini(struct m0_rpc__server *server)
{
	m0_hash_fini(&server->rsv_clients);
}

static void client_free(struct m0_rpc__client *client)
{
	struct m0_rpc__machine *m = client->rct_machine;

	if (client->rct_target != NULL)
		m0_rpc__target_put(client->rct_target);
	if (client->rct_other != NULL)
		m0_rpc__target_put(client->rct_other);
	m0_timerq_cancel(&m->rml_timers.rtm_clients, &client->rct_timer);
	m0_timer_fini(&client->rct_timer);
	m0_rpc_dups_fini(&client->rct_dups);
	m0_list_fini(&client->rct_sessions);
	m->rml_server.rsv_clients_gone_nr -= client->rct_gone;
	m0_rpc__cost(client, -(int64_t)sizeof *client);
	m0_free(client);
}

void m0_rpc__client_release(struct m0_rpc__client *client)
{
	M0_PRE(client->rct_refs > 0);
	if (--client->rct_refs == 0 && client->rct_gone)
		client_free(client);
}

/* Forgotten: its sessions go, as far as they can. */
static void client_drop(struct m0_rpc__client *client)
{
	struct m0_rpc__machine *m = client->rct_machine;
	struct m0_list_link    *link;

	if (m->rml_server.rsv_client_last == client)
		m->rml_server.rsv_client_last = NULL;
	m0_hash_del(&m->rml_server.rsv_clients, &client->rct_hash);
	--m->rml_server.rsv_clients_nr;
	m0_timerq_cancel(&m->rml_timers.rtm_clients, &client->rct_timer);
	++client->rct_refs;
	while ((link = m0_list_first(&client->rct_sessions)) != NULL)
		m0_rpc__ssession_drop(
			container_of(link, struct m0_rpc__ssession, rsw_link));
	client->rct_gone = true;
	++m->rml_server.rsv_clients_gone_nr;
	m0_rpc__watch_client_removed(client);
	m0_rpc__client_release(client);
}

/* What it takes: no machine takes less, and handshakes always fit. */
static void packet_max_note(struct m0_rpc__client     *client,
			    const struct m0_rpc__came *came)
{
	__atomic_store_n(&client->rct_packet_max,
			 max64u(came->rca_packet_max, PACKET_MAX_MIN),
			 __ATOMIC_RELAXED);
}

static struct m0_rpc__client *client_new(struct m0_rpc__machine *m,
					 struct m0_rpc__came    *came)
{
	const struct m0_rpc_wire_packet *packet = &came->rca_packet;
	struct m0_rpc__client           *client;

	M0_ALLOC_PTR(client);
	if (client == NULL)
		return NULL;
	if (m0_rpc_dups_init(&client->rct_dups, m->rml_cfg.rc_executing_max) !=
	    0) {
		m0_free(client);
		return NULL;
	}
	client->rct_machine = m;
	m0_rpc__cost(client, sizeof *client);
	client->rct_uuid = packet->rwp_sender;
	client->rct_incarnation = packet->rwp_incarnation;
	do {
		m0_os_random(&client->rct_life, sizeof client->rct_life);
	} while (client->rct_life == 0);
	m0_timer_init(&client->rct_timer);
	m0_list_init(&client->rct_sessions);
	client->rct_budget.rsb_parent = &m->rml_server.rsv_budget;
	client->rct_budget.rsb_bytes_max =
		min64u(m->rml_cfg.rc_replies_bytes_max,
		       m->rml_cfg.rc_client_bytes_max);
	client->rct_budget.rsb_bytes_min = M0_RPC__CLIENT_BYTES_MIN;
	client->rct_budget.rsb_held_max = m->rml_cfg.rc_executing_max;
	if (m0_hash_add(&m->rml_server.rsv_clients, &client->rct_hash,
			&client->rct_uuid, sizeof client->rct_uuid) != 0) {
		client_free(client);
		return NULL;
	}
	++m->rml_server.rsv_clients_nr;
	client->rct_heard = m->rml_now;
	m0_timerq_arm(&m->rml_timers.rtm_clients, &client->rct_timer,
		      m0_time_add(m->rml_now, m->rml_cfg.rc_client_idle_ns));
	packet_max_note(client, came);
	m0_rpc__client_heard(client, came);
	m0_rpc__watch_client(client);
	return client;
}

static struct m0_rpc__client *client_lookup(struct m0_rpc__machine  *m,
					    const struct m0_uint128 *uuid)
{
	struct m0_rpc__client *last = m->rml_server.rsv_client_last;
	struct m0_hash_link   *link;

	if (last != NULL && m0_uint128_eq(&last->rct_uuid, uuid))
		return last;
	link = m0_hash_find(&m->rml_server.rsv_clients, uuid, sizeof *uuid);
	if (link == NULL)
		return NULL;
	m->rml_server.rsv_client_last =
		container_of(link, struct m0_rpc__client, rct_hash);
	return m->rml_server.rsv_client_last;
}

bool m0_rpc__client_lives(const struct m0_rpc__machine *m,
			  const struct m0_uint128      *uuid)
{
	return m0_hash_find(&m->rml_server.rsv_clients, uuid, sizeof *uuid) !=
	       NULL;
}

int m0_rpc__client_find(struct m0_rpc__machine          *m,
			const struct m0_rpc_wire_packet *packet,
			struct m0_rpc__client          **ret)
{
	struct m0_rpc__client *client = client_lookup(m, &packet->rwp_sender);

	if (client == NULL)
		return -ENOTCONN;
	if (packet->rwp_incarnation < client->rct_incarnation)
		return -ESTALE;
	if (packet->rwp_incarnation > client->rct_incarnation ||
	    packet->rwp_life != client->rct_life)
		return -ENOTCONN;
	client->rct_heard = m->rml_now;
	*ret = client;
	return 0;
}

/* What goes there fits into its receive buffers. */
static void packet_max_set(const struct m0_rpc__client *client,
			   struct m0_rpc__target       *target)
{
	if (target->trg_packet_max == client->rct_packet_max)
		return;
	target->trg_packet_max = client->rct_packet_max;
	m0_rpc__target_limits(target);
}

void m0_rpc__client_heard(struct m0_rpc__client *client,
			  struct m0_rpc__came   *came)
{
	struct m0_rpc__target *target = client->rct_target;
	struct m0_rpc__target *other = client->rct_other;

	if (M0_LIKELY(target != NULL &&
		      target->trg_key.trk_ep == came->rca_ep)) {
		if (came->rca_target == NULL) {
			m0_rpc__target_ref(target);
			came->rca_target = target;
		}
		return;
	}
	if (other != NULL && other->trg_key.trk_ep == came->rca_ep) {
		client->rct_target = other;
		client->rct_other = target;
		m0_rpc__client_heard(client, came);
		return;
	}
	if (m0_rpc__came_target(client->rct_machine, came) == NULL)
		return;
	m0_rpc__target_ref(came->rca_target);
	packet_max_set(client, came->rca_target);
	client->rct_target = came->rca_target;
	client->rct_other = target;
	if (other != NULL)
		m0_rpc__target_put(other);
}

void m0_rpc__client_timer(struct m0_rpc__machine *m, struct m0_timer *timer)
{
	struct m0_rpc__client *client =
		container_of(timer, struct m0_rpc__client, rct_timer);
	m0_time_t at =
		m0_time_add(client->rct_heard, m->rml_cfg.rc_client_idle_ns);

	if (at <= m->rml_now && client->rct_dups.rdp_nr == 0)
		client_drop(client);
	else
		m0_timerq_arm(&m->rml_timers.rtm_clients, timer,
			      max64u(at, m->rml_now + M0_TIME_ONE_SECOND));
}

void m0_rpc__clients_fini(struct m0_rpc__machine *m, void *unused)
{
	struct m0_hash_link *link;

	(void)unused;
	while ((link = m0_hash_first(&m->rml_server.rsv_clients)) != NULL)
		client_drop(
			container_of(link, struct m0_rpc__client, rct_hash));
}

/* ------------------------------------------------------------ handshakes -- */

static void answer(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		   enum m0_rpc_wire_op op, int rc)
{
	m0_rpc__refuse(m, m0_rpc__came_target(m, came), &came->rca_item,
		       rc == 0 ? op : M0_RPC_OP_REFUSED, rc);
}

static bool client_is_too_many(struct m0_rpc__machine          *m,
			       const struct m0_rpc_wire_packet *packet)
{
	return client_lookup(m, &packet->rwp_sender) == NULL &&
	       is_full(m->rml_server.rsv_clients_nr,
		       m->rml_server.rsv_clients_gone_nr,
		       m->rml_cfg.rc_clients_max);
}

/* Who asks may: he is made, or has been. */
static int client_admit(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			struct m0_rpc__client **ret)
{
	const struct m0_rpc_wire_packet *packet = &came->rca_packet;
	struct m0_rpc__client *client = client_lookup(m, &packet->rwp_sender);

	if (client != NULL && packet->rwp_incarnation < client->rct_incarnation)
		return -ESTALE;
	if (client != NULL &&
	    packet->rwp_incarnation > client->rct_incarnation) {
		client_drop(client);
		client = NULL;
	}
	if (client == NULL && m->rml_cfg.rc_clients_max == 0)
		return -ECONNREFUSED;
	if (client == NULL && is_full(m->rml_server.rsv_clients_nr,
				      m->rml_server.rsv_clients_gone_nr,
				      m->rml_cfg.rc_clients_max))
		return -ENOSPC;
	if (client == NULL && !m0_rpc__may_cost(m, NULL, sizeof *client))
		return -EDQUOT;
	if (client == NULL)
		client = client_new(m, came);
	*ret = client;
	return client == NULL ? -ENOMEM : 0;
}

/* Who is not answered asks again. */
static void refuse(struct m0_rpc__machine *m, struct m0_rpc__came *came, int rc)
{
	if (rc == -EAGAIN)
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	else
		answer(m, came, M0_RPC_OP_REFUSED, rc);
}

/* He may be, as far as the store knows. */
static void client_established(struct m0_rpc__machine *m,
			       struct m0_rpc__came    *came)
{
	struct m0_rpc_conn_rep rep;
	struct m0_rpc__client *client = NULL;
	struct m0_rpc__note   *note = NULL;
	int                    rc = client_admit(m, came, &client);

	if (rc != 0) {
		/* There was room when the store was asked. */
		if (!m->rml_jobs.rjb_store_is_own)
			(void)m0_rpc__shake(m, came, M0_RPC__SHAKE_LEAVE, NULL,
					    NULL);
		answer(m, came, M0_RPC_OP_REFUSED, rc);
		return;
	}
	client->rct_heard = m->rml_now;
	note = m0_rpc__notice_new(m0_rpc__came_target(m, came),
				  M0_RPC_OP_CONN_ESTABLISH_REPLY,
				  M0_RPC_WIRE_BODY_MAX);
	packet_max_note(client, came);
	if (note == NULL)
		return;
	packet_max_set(client, came->rca_target);
	rep.rcr_incarnation = m->rml_cfg.rc_incarnation;
	rep.rcr_life = client->rct_life;
	rep.rcr_packet_max = (uint32_t)m->rml_sender.rsn_msg_size;
	rep.rcr_durable = m->rml_jobs.rjb_store->rst_ops->rso_durable;
	note->rno_nr = (uint32_t)m0_rpc__conn_rep_put(note->rno_body, &rep);
	m0_rpc__note_reply(note, came->rca_target, &came->rca_item, 0);
}

static void conn_establish(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	struct m0_rpc_conn_est est;
	int                    rc = m0_rpc__conn_est_get(&est, came->rca_body,
							 came->rca_item.rwi_size);

	if (rc == 0)
		came->rca_packet_max = est.rce_packet_max;
	if (rc == 0 && m->rml_cfg.rc_clients_max == 0)
		rc = -ECONNREFUSED;
	if (rc == 0 && client_is_too_many(m, &came->rca_packet))
		rc = -ENOSPC;
	if (rc == 0 && !m->rml_jobs.rjb_store_is_own)
		rc = m0_rpc__shake(m, came, M0_RPC__SHAKE_CLIENT, NULL, NULL);
	else if (rc == 0)
		client_established(m, came);
	if (rc != 0)
		refuse(m, came, rc);
}

static int conn_terminate(struct m0_rpc__machine *m,
			  struct m0_rpc__client  *client,
			  struct m0_rpc__came    *came)
{
	struct m0_list_link *link;
	struct m0_list_link *next;
	uint64_t             nr;
	int                  rc = m0_rpc__number_get(&nr, came->rca_body,
						     came->rca_item.rwi_size);

	if (rc != 0)
		return rc;
	m0_list_for_each_safe(&client->rct_sessions, link, next) {
		struct m0_rpc__ssession *s =
			container_of(link, struct m0_rpc__ssession, rsw_link);

		if (s->rsw_conn == nr)
			m0_rpc__ssession_drop(s);
	}
	if (client->rct_sessions_nr > 0)
		return 0;
	/* What is asked of the store by those that went comes before it. */
	if (!m->rml_jobs.rjb_store_is_own)
		rc = m0_rpc__shake(m, came, M0_RPC__SHAKE_LEAVE, NULL, NULL);
	if (rc == -EAGAIN)
		return rc;
	/* It is made again if there is another connection. */
	client_drop(client);
	return 0;
}

static void conn_terminated(struct m0_rpc__machine *m,
			    struct m0_rpc__client  *client,
			    struct m0_rpc__came    *came)
{
	int rc = conn_terminate(m, client, came);

	if (rc == 0)
		answer(m, came, M0_RPC_OP_CONN_TERMINATE_REPLY, 0);
	else
		refuse(m, came, rc);
}

static void session_answer(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			   const struct m0_rpc__ssession *s)
{
	struct m0_rpc__note       *note = NULL;
	struct m0_rpc_session_rep *rep;
	uint32_t                   i;

	M0_ALLOC_PTR(rep);
	if (rep != NULL)
		note = m0_rpc__notice_new(m0_rpc__came_target(m, came),
					  M0_RPC_OP_SESSION_ESTABLISH_REPLY,
					  M0_RPC_WIRE_BODY_MAX);
	if (note == NULL) {
		m0_free(rep);
		return;
	}
	rep->rsr_streams_nr = s->rsw_streams_nr;
	rep->rsr_window = s->rsw_window;
	for (i = 0; i < s->rsw_streams_nr; ++i)
		rep->rsr_xid[i] =
			s->rsw_streams[i] == NULL
				? 0
				: s->rsw_streams[i]->rsq_core.rss_last;
	note->rno_nr = (uint32_t)m0_rpc__session_rep_put(note->rno_body, rep);
	m0_free(rep);
	m0_rpc__note_reply(note, came->rca_target, &came->rca_item, 0);
}

/* 0: *ret is it. */
static int session_make(struct m0_rpc__client           *client,
			const struct m0_rpc__came       *came,
			const struct m0_rpc_session_est *est,
			struct m0_rpc__ssession        **ret)
{
	const struct m0_rpc_cfg *cfg = &client->rct_machine->rml_cfg;
	uint64_t                 id = came->rca_item.rwi_session;
	uint32_t                 streams;

	*ret = m0_rpc__ssession_find(client, id);
	if (*ret != NULL)
		return 0;
	/* A number of before is not made again: it has ended. */
	if (est->rse_again || id <= client->rct_session_max)
		return -ENOENT;
	if (has_sessions(client))
		return -ENOSPC;
	streams = (uint32_t)min64u(est->rse_streams_nr, cfg->rc_streams_max);
	if (!m0_rpc__may_cost(client->rct_machine, client,
			      m0_rpc__ssession_bytes(streams)))
		return -EDQUOT;
	*ret = ssession_new(client, id, est->rse_conn, streams,
			    (uint32_t)min64u(est->rse_window,
					     cfg->rc_window_max));
	if (*ret == NULL)
		return -ENOMEM;
	client->rct_session_max = id;
	return 0;
}

int m0_rpc__session_restore(struct m0_rpc__machine          *m,
			    const struct m0_rpc__came       *came,
			    const struct m0_rpc_session_est *est,
			    uint32_t streams, uint32_t window,
			    struct m0_rpc__ssession **ret)
{
	struct m0_rpc__client *client = NULL;
	uint64_t               id = came->rca_item.rwi_session;
	int rc = m0_rpc__client_find(m, &came->rca_packet, &client);

	*ret = NULL;
	if (rc != 0 || m0_rpc__ssession_find(client, id) != NULL)
		return rc;
	if (has_sessions(client))
		return -ENOSPC;
	if (streams == 0 || streams > M0_RPC_WIRE_STREAMS_MAX || window == 0)
		return -ENOENT;
	if (!m0_rpc__may_cost(m, client, m0_rpc__ssession_bytes(streams)))
		return -EDQUOT;
	*ret = ssession_new(client, id, est->rse_conn, streams, window);
	if (*ret == NULL)
		return -ENOMEM;
	(*ret)->rsw_kept = true;
	client->rct_session_max = max64u(client->rct_session_max, id);
	return 0;
}

/* One that the store refuses is not made, unless it had it before. */
static void session_created(struct m0_rpc__machine    *m,
			    const struct m0_rpc__came *came, int rc)
{
	struct m0_rpc__client   *client = NULL;
	struct m0_rpc__ssession *s;

	if (m0_rpc__client_find(m, &came->rca_packet, &client) != 0)
		return;
	s = m0_rpc__ssession_find(client, came->rca_item.rwi_session);
	if (s == NULL)
		return;
	if (rc == 0)
		s->rsw_kept = true;
	else if (!s->rsw_kept)
		m0_rpc__ssession_drop(s);
}

/* It may have been resumed while the store was asked to forget it. */
static void session_dropped(struct m0_rpc__machine *m,
			    struct m0_rpc__came    *came)
{
	struct m0_rpc__client   *client = NULL;
	struct m0_rpc__ssession *s = NULL;

	if (m0_rpc__client_find(m, &came->rca_packet, &client) == 0)
		s = m0_rpc__ssession_find(client, came->rca_item.rwi_session);
	if (s != NULL)
		m0_rpc__ssession_drop(s);
	answer(m, came, M0_RPC_OP_SESSION_TERMINATE_REPLY, 0);
}

void m0_rpc__shake_done(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			enum m0_rpc__shake_kind kind, int rc)
{
	struct m0_rpc__client   *client = NULL;
	struct m0_rpc__ssession *s = NULL;

	if (kind == M0_RPC__SHAKE_CREATE)
		session_created(m, came, rc);
	if (rc == 0 && kind == M0_RPC__SHAKE_CLIENT) {
		client_established(m, came);
		return;
	}
	if (kind == M0_RPC__SHAKE_LEAVE)
		return;
	if (kind == M0_RPC__SHAKE_DROP) {
		session_dropped(m, came);
		return;
	}
	rc = rc ?: m0_rpc__client_find(m, &came->rca_packet, &client);
	if (rc == 0) {
		s = m0_rpc__ssession_find(client, came->rca_item.rwi_session);
		rc = s == NULL ? -ENOENT : 0;
	}
	if (rc == 0)
		session_answer(m, came, s);
	else
		answer(m, came, M0_RPC_OP_REFUSED, rc);
}

static void session_establish(struct m0_rpc__machine *m,
			      struct m0_rpc__client  *client,
			      struct m0_rpc__came    *came)
{
	struct m0_rpc_session_est *est;
	struct m0_rpc__ssession   *s = NULL;
	int                        rc;

	M0_ALLOC_PTR(est);
	if (est == NULL)
		return;
	rc = m0_rpc__session_est_get(est, came->rca_body,
				     came->rca_item.rwi_size);
	if (rc == 0 && came->rca_item.rwi_session == 0)
		rc = -EPROTO;
	rc = rc ?: session_make(client, came, est, &s);
	if (!m->rml_jobs.rjb_store_is_own && rc == -ENOENT && est->rse_again)
		rc = m0_rpc__shake(m, came, M0_RPC__SHAKE_RESUME, est, NULL);
	else if (!m->rml_jobs.rjb_store_is_own && rc == 0)
		rc = m0_rpc__shake(m, came, M0_RPC__SHAKE_CREATE, est, s);
	else if (rc == 0)
		session_answer(m, came, s);
	m0_free(est);
	if (rc != 0)
		refuse(m, came, rc);
}

/* What is to be forgotten is, also by the store. */
static void session_forget(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	int rc = -ENOMEM;

	if (!m->rml_jobs.rjb_store_is_own)
		rc = m0_rpc__shake(m, came, M0_RPC__SHAKE_DROP, NULL, NULL);
	if (rc == -EAGAIN)
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	else if (rc != 0)
		answer(m, came, M0_RPC_OP_SESSION_TERMINATE_REPLY, 0);
}

static void session_terminate(struct m0_rpc__machine *m,
			      struct m0_rpc__client  *client,
			      struct m0_rpc__came    *came)
{
	struct m0_rpc__ssession *s =
		m0_rpc__ssession_find(client, came->rca_item.rwi_session);

	if (s != NULL)
		m0_rpc__ssession_drop(s);
	session_forget(m, came);
}

/* Of one that is not known here. The store may know it of a machine before this
 * one; if another connection of it has come already, it has not left. */
static void conn_forget(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	int rc = 0;

	if (!m->rml_jobs.rjb_store_is_own &&
	    client_lookup(m, &came->rca_packet.rwp_sender) == NULL)
		rc = m0_rpc__shake(m, came, M0_RPC__SHAKE_LEAVE, NULL, NULL);
	if (rc == -EAGAIN)
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	else
		answer(m, came, M0_RPC_OP_CONN_TERMINATE_REPLY, 0);
}

static void ping(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	struct m0_rpc__note *note;
	uint64_t             cookie;

	if (m0_rpc__number_get(&cookie, came->rca_body,
			       came->rca_item.rwi_size) != 0)
		return;
	note = m0_rpc__notice_new(m0_rpc__came_target(m, came),
				  M0_RPC_OP_PING_REPLY, M0_RPC_WIRE_BODY_MAX);
	if (note == NULL)
		return;
	note->rno_nr = (uint32_t)m0_rpc__number_put(note->rno_body, cookie);
	m0_rpc__note_reply(note, came->rca_target, &came->rca_item, 0);
}

/* Of a client that is known. */
static void client_handshake(struct m0_rpc__machine *m,
			     struct m0_rpc__client  *client,
			     struct m0_rpc__came    *came)
{
	switch (came->rca_item.rwi_opcode) {
	case M0_RPC_OP_CONN_TERMINATE:
		conn_terminated(m, client, came);
		break;
	case M0_RPC_OP_SESSION_ESTABLISH:
		session_establish(m, client, came);
		break;
	case M0_RPC_OP_SESSION_TERMINATE:
		session_terminate(m, client, came);
		break;
	default:
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	}
}

void m0_rpc__came_handshake(struct m0_rpc__machine *m,
			    struct m0_rpc__came    *came)
{
	struct m0_rpc__client *client = NULL;
	uint32_t               op = came->rca_item.rwi_opcode;
	int                    rc;

	if (M0_IN(op, (M0_RPC_OP_CANCEL, M0_RPC_OP_ACK, M0_RPC_OP_SKIP))) {
		m0_rpc__came_request(m, came);
		return;
	}
	/* It may not be known any more, or be another one. */
	came->rca_client = NULL;
	if (!(came->rca_item.rwi_flags & M0_RPC_WIRE_REQUEST)) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	} else if (op == M0_RPC_OP_CONN_ESTABLISH) {
		conn_establish(m, came);
	} else if (op == M0_RPC_OP_PING) {
		ping(m, came);
	} else {
		rc = m0_rpc__client_find(m, &came->rca_packet, &client);
		if (rc == 0)
			client_handshake(m, client, came);
		else if (op == M0_RPC_OP_CONN_TERMINATE)
			conn_forget(m, came);
		else if (op == M0_RPC_OP_SESSION_TERMINATE)
			session_forget(m, came);
		else
			answer(m, came, M0_RPC_OP_REFUSED, rc);
	}
}
