/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Handshakes of peers, by which clients and their sessions come to be. All of it
 * is idempotent: what is asked twice is found made.
 */
#include "rpc/rpc_internal.h"
#include "rpc/core/record.h"

/* ------------------------------------------------------------ handshakes -- */

static void answer(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		   enum m0_rpc_wire_op op, int rc)
{
	m0_rpc__refuse(m, m0_rpc__came_target(m, came), &came->rca_item,
		       rc == 0 ? op : M0_RPC_OP_REFUSED, rc);
}

static void handshake_done(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			   enum m0_rpc__handshake_kind kind, int rc);

static bool client_is_too_many(struct m0_rpc__machine          *m,
			       const struct m0_rpc_wire_packet *packet)
{
	return m0_rpc__client_lookup(m, &packet->rwp_sender) == NULL &&
	       m0_rpc__is_full(m->rml_server.rsv_clients_nr,
			       m->rml_server.rsv_clients_gone_nr,
			       m->rml_cfg.rc_clients_max);
}

/* Admit the client: make it, or find it made. */
static int client_admit(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			struct m0_rpc__client **ret)
{
	const struct m0_rpc_wire_packet *packet = &came->rca_packet;
	struct m0_rpc__client           *client =
		m0_rpc__client_lookup(m, &packet->rwp_sender);

	M0_PRE(m0_rpc__is_here(m));
	if (client != NULL && packet->rwp_incarnation < client->rct_incarnation)
		return -ESTALE;
	if (client != NULL &&
	    packet->rwp_incarnation > client->rct_incarnation) {
		m0_rpc__client_drop(client);
		client = NULL;
	}
	if (client == NULL && m->rml_cfg.rc_clients_max == 0)
		return -ECONNREFUSED;
	if (client == NULL && m0_rpc__is_full(m->rml_server.rsv_clients_nr,
					      m->rml_server.rsv_clients_gone_nr,
					      m->rml_cfg.rc_clients_max))
		return -ENOSPC;
	if (client == NULL && !m0_rpc__may_cost(m, NULL, sizeof *client))
		return -EDQUOT;
	if (client == NULL)
		client = m0_rpc__client_new(m, came);
	*ret = client;
	return client == NULL ? -ENOMEM : 0;
}

/* A client that gets no answer asks again. */
static void refuse(struct m0_rpc__machine *m, struct m0_rpc__came *came, int rc)
{
	if (rc == -EAGAIN)
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	else
		answer(m, came, M0_RPC_OP_REFUSED, rc);
}

/* The store has no objection to the client. */
static void client_established(struct m0_rpc__machine *m,
			       struct m0_rpc__came    *came)
{
	struct m0_rpc_conn_rep rep;
	struct m0_rpc__client *client = NULL;
	struct m0_rpc__note   *note = NULL;
	int                    rc = client_admit(m, came, &client);

	M0_PRE(m0_rpc__is_here(m));
	if (rc != 0) {
		/* The client was admitted when the store was asked. */
		if (!m->rml_jobs.rjb_store_is_own)
			(void)m0_rpc__handshake(m, came,
						M0_RPC__HANDSHAKE_LEAVE, NULL,
						NULL, handshake_done);
		answer(m, came, M0_RPC_OP_REFUSED, rc);
		return;
	}
	client->rct_received = m->rml_now;
	note = m0_rpc__notice_new(m0_rpc__came_target(m, came),
				  M0_RPC_OP_CONN_ESTABLISH_REPLY,
				  M0_RPC_WIRE_BODY_MAX);
	m0_rpc__packet_max_note(client, came);
	if (note == NULL)
		return;
	m0_rpc__packet_max_set(client, came->rca_target);
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
		rc = m0_rpc__handshake(m, came, M0_RPC__HANDSHAKE_CLIENT, NULL,
				       NULL, handshake_done);
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

	M0_PRE(m0_rpc__client_invariant(client));
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
	/* Jobs of sessions that were dropped come before this job. */
	if (!m->rml_jobs.rjb_store_is_own)
		rc = m0_rpc__handshake(m, came, M0_RPC__HANDSHAKE_LEAVE, NULL,
				       NULL, handshake_done);
	if (rc == -EAGAIN)
		return rc;
	/* Another connection makes the client again. */
	m0_rpc__client_drop(client);
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

	M0_PRE(m0_rpc__ssession_invariant(s));
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

	M0_PRE(m0_rpc__client_invariant(client));
	*ret = m0_rpc__ssession_find(client, id);
	if (*ret != NULL)
		return 0;
	/* A number of before is not made again: it has ended. */
	if (est->rse_again || id <= client->rct_session_max)
		return -ENOENT;
	if (m0_rpc__client_is_full(client))
		return -ENOSPC;
	streams = (uint32_t)min64u(est->rse_streams_nr, cfg->rc_streams_max);
	if (!m0_rpc__may_cost(client->rct_machine, client,
			      m0_rpc__ssession_bytes(streams)))
		return -EDQUOT;
	*ret = m0_rpc__ssession_new(client, id, est->rse_conn, streams,
				    (uint32_t)min64u(est->rse_window,
						     cfg->rc_window_max));
	if (*ret == NULL)
		return -ENOMEM;
	client->rct_session_max = id;
	return 0;
}

/* One that the store refuses is not made, unless it had it before. */
static void session_created(struct m0_rpc__machine    *m,
			    const struct m0_rpc__came *came, int rc)
{
	struct m0_rpc__client   *client = NULL;
	struct m0_rpc__ssession *s;

	M0_PRE(m0_rpc__is_here(m));
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

/* The session may have been resumed while the store was deleting it. */
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

static void handshake_done(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			   enum m0_rpc__handshake_kind kind, int rc)
{
	struct m0_rpc__client   *client = NULL;
	struct m0_rpc__ssession *s = NULL;

	M0_PRE(!m->rml_jobs.rjb_store_is_own);
	if (kind == M0_RPC__HANDSHAKE_CREATE)
		session_created(m, came, rc);
	if (rc == 0 && kind == M0_RPC__HANDSHAKE_CLIENT) {
		client_established(m, came);
		return;
	}
	if (kind == M0_RPC__HANDSHAKE_LEAVE)
		return;
	if (kind == M0_RPC__HANDSHAKE_DROP) {
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
		rc = m0_rpc__handshake(m, came, M0_RPC__HANDSHAKE_RESUME, est,
				       NULL, handshake_done);
	else if (!m->rml_jobs.rjb_store_is_own && rc == 0)
		rc = m0_rpc__handshake(m, came, M0_RPC__HANDSHAKE_CREATE, est,
				       s, handshake_done);
	else if (rc == 0)
		session_answer(m, came, s);
	m0_free(est);
	if (rc != 0)
		refuse(m, came, rc);
}

/* Delete the session, in the store as well. */
static void session_forget(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	int rc = -ENOMEM;

	if (!m->rml_jobs.rjb_store_is_own)
		rc = m0_rpc__handshake(m, came, M0_RPC__HANDSHAKE_DROP, NULL,
				       NULL, handshake_done);
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

/* Terminate the connection of a client that is not known here. The store may
 * know it from an earlier machine; if another connection of it has come
 * already, the client has not left. */
static void conn_forget(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	int rc = 0;

	if (!m->rml_jobs.rjb_store_is_own &&
	    m0_rpc__client_lookup(m, &came->rca_packet.rwp_sender) == NULL)
		rc = m0_rpc__handshake(m, came, M0_RPC__HANDSHAKE_LEAVE, NULL,
				       NULL, handshake_done);
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

/* Handle a handshake of a known client. */
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

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__server_invariant(&m->rml_server));
	/* The client may be unknown by now, or another one. */
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
