/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Peers as clients: their identities, their sessions, and the streams of those.
 *
 * A client is one incarnation of a uuid, with a life number of its own: packets
 * with another number belong to another life. A younger incarnation replaces the
 * older one, which is freed when its last request has been executed.
 */
#include "rpc/rpc_internal.h"

enum {
	/** Smallest packets that a machine is made for. */
	PACKET_MAX_MIN = 1024
};

/* ------------------------------------------------------ requests that wait -- */

/* Ends the wait of a request for its turn. */
void m0_rpc__held_end(struct m0_rpc__item *il)
{
	M0_PRE_EX(il->ril_client != NULL || il->ril_held_bytes == 0);
	if (il->ril_held_bytes != 0)
		m0_rpc__hold(il, 0);
}

/* Not to be executed: the library's reference. */
void m0_rpc__request_drop(struct m0_rpc_item *item)
{
	struct m0_rpc__target *target = m0_rpc__il(item)->ril_target;

	M0_PRE_EX(!(m0_rpc__il(item)->ril_flags & M0_RPC__IF_EXECUTING));
	m0_rpc__held_end(m0_rpc__il(item));
	m0_rpc__il(item)->ril_target = NULL;
	if (target != NULL)
		m0_rpc__target_put(target);
	m0_rpc_item_put(item);
}

static void body_drop(struct m0_rpc_sstream *core, void *body)
{
	(void)core;
	m0_rpc__request_drop(body);
}

static void reply_drop(struct m0_rpc_sstream *core, void *reply)
{
	(void)core;
	m0_rpc__item_end(reply, 0, NULL);
}

static const struct m0_rpc_sstream_ops sstream_ops = {
	.sso_body_drop = body_drop, .sso_reply_drop = reply_drop
};

/* ----------------------------------------------------------------- streams -- */

static m0_bcount_t stream_bytes(const struct m0_rpc__ssession *s)
{
	return sizeof(struct m0_rpc__sstream) +
	       s->rsw_window * sizeof(struct m0_rpc_sslot);
}

int m0_rpc__sstream_get(struct m0_rpc__ssession *s, uint32_t nr,
			struct m0_rpc__sstream **ret)
{
	struct m0_rpc__client  *client = s->rsw_client;
	struct m0_rpc__sstream *stream = s->rsw_streams[nr - 1];
	int                     rc = 0;

	M0_PRE(m0_rpc__ssession_invariant(s));
	if (stream != NULL) {
		*ret = stream;
		return 0;
	}
	if (!m0_rpc__may_cost(client->rct_machine, client, stream_bytes(s)))
		return -EDQUOT;
	M0_ALLOC_PTR(stream);
	if (stream == NULL)
		return -ENOMEM;
	rc = m0_rpc_sstream_init(&stream->rsq_core, &sstream_ops, s->rsw_window,
				 &client->rct_budget);
	if (rc != 0) {
		m0_free(stream);
		return rc;
	}
	m0_rpc__cost(client, (int64_t)stream_bytes(s));
	stream->rsq_session = s;
	stream->rsq_nr = nr;
	s->rsw_streams[nr - 1] = stream;
	*ret = stream;
	return 0;
}

void m0_rpc__sstream_free(struct m0_rpc__ssession *s, uint32_t nr)
{
	struct m0_rpc__sstream *stream = s->rsw_streams[nr - 1];

	M0_PRE(nr > 0 && nr <= s->rsw_streams_nr);
	if (stream == NULL)
		return;
	m0_rpc_sstream_fini(&stream->rsq_core);
	m0_free(stream);
	m0_rpc__cost(s->rsw_client, -(int64_t)stream_bytes(s));
}

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

	M0_PRE(m0_rpc__ssession_invariant(s));
	M0_PRE(!s->rsw_gone);
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

struct m0_rpc__ssession *m0_rpc__ssession_new(struct m0_rpc__client *client,
					      uint64_t id, uint64_t conn,
					      uint32_t streams, uint32_t window)
{
	struct m0_rpc__ssession *s;

	M0_PRE(m0_rpc__client_invariant(client));
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

/* Removed sessions take memory while one of their requests is executed: a peer
 * that makes and ends sessions has at most as many of them. */
bool m0_rpc__is_full(uint32_t nr, uint32_t gone_nr, uint32_t max)
{
	return nr >= max || (uint64_t)nr + gone_nr >= 2 * (uint64_t)max;
}

bool m0_rpc__client_is_full(const struct m0_rpc__client *client)
{
	return m0_rpc__is_full(client->rct_sessions_nr,
			       client->rct_sessions_gone_nr,
			       client->rct_machine->rml_cfg.rc_sessions_max);
}

struct m0_rpc__ssession *m0_rpc__ssession_find(struct m0_rpc__client *client,
					       uint64_t               id)
{
	struct m0_rpc__ssession *s = client->rct_session_last;

	M0_PRE_EX(m0_rpc__client_invariant(client));
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
	M0_PRE(server->rsv_clients_nr == 0);
	M0_PRE(server->rsv_executing_nr == 0);
	m0_hash_fini(&server->rsv_clients);
}

static void client_free(struct m0_rpc__client *client)
{
	struct m0_rpc__machine *m = client->rct_machine;

	M0_PRE(client->rct_refs == 0);
	M0_PRE(client->rct_sessions_nr + client->rct_sessions_gone_nr == 0);
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
	M0_PRE_EX(m0_rpc__client_invariant(client));
	M0_PRE(client->rct_refs > 0);
	if (--client->rct_refs == 0 && client->rct_gone)
		client_free(client);
}

/* Forgotten: its sessions go, as far as they can. */
void m0_rpc__client_drop(struct m0_rpc__client *client)
{
	struct m0_rpc__machine *m = client->rct_machine;
	struct m0_list_link    *link;

	M0_PRE(!client->rct_gone);
	M0_PRE(m0_rpc__client_invariant(client));
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

/* Note the packet size of the client: no machine takes less, and handshakes
 * always fit. */
void m0_rpc__packet_max_note(struct m0_rpc__client     *client,
			     const struct m0_rpc__came *came)
{
	__atomic_store_n(&client->rct_packet_max,
			 max64u(came->rca_packet_max, PACKET_MAX_MIN),
			 __ATOMIC_RELAXED);
}

struct m0_rpc__client *m0_rpc__client_new(struct m0_rpc__machine *m,
					  struct m0_rpc__came    *came)
{
	const struct m0_rpc_wire_packet *packet = &came->rca_packet;
	struct m0_rpc__client           *client;

	M0_PRE(m0_rpc__is_here(m));
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
	client->rct_received = m->rml_now;
	m0_timerq_arm(&m->rml_timers.rtm_clients, &client->rct_timer,
		      m0_time_add(m->rml_now, m->rml_cfg.rc_client_idle_ns));
	m0_rpc__packet_max_note(client, came);
	m0_rpc__client_received(client, came);
	m0_rpc__watch_client(client);
	return client;
}

struct m0_rpc__client *m0_rpc__client_lookup(struct m0_rpc__machine  *m,
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
	struct m0_rpc__client *client =
		m0_rpc__client_lookup(m, &packet->rwp_sender);

	M0_PRE_EX(m0_rpc__is_here(m));
	if (client == NULL)
		return -ENOTCONN;
	if (packet->rwp_incarnation < client->rct_incarnation)
		return -ESTALE;
	if (packet->rwp_incarnation > client->rct_incarnation ||
	    packet->rwp_life != client->rct_life)
		return -ENOTCONN;
	client->rct_received = m->rml_now;
	*ret = client;
	return 0;
}

/* Keep packets to the client within its receive buffers. */
void m0_rpc__packet_max_set(const struct m0_rpc__client *client,
			    struct m0_rpc__target       *target)
{
	if (target->trg_packet_max == client->rct_packet_max)
		return;
	target->trg_packet_max = client->rct_packet_max;
	m0_rpc__target_limits(target);
}

void m0_rpc__client_received(struct m0_rpc__client *client,
			     struct m0_rpc__came   *came)
{
	struct m0_rpc__target *target = client->rct_target;
	struct m0_rpc__target *other = client->rct_other;

	M0_PRE_EX(m0_rpc__client_invariant(client));
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
		m0_rpc__client_received(client, came);
		return;
	}
	if (m0_rpc__came_target(client->rct_machine, came) == NULL)
		return;
	m0_rpc__target_ref(came->rca_target);
	m0_rpc__packet_max_set(client, came->rca_target);
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
		m0_time_add(client->rct_received, m->rml_cfg.rc_client_idle_ns);

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(!client->rct_gone);
	if (at <= m->rml_now && client->rct_dups.rdp_nr == 0)
		m0_rpc__client_drop(client);
	else
		m0_timerq_arm(&m->rml_timers.rtm_clients, timer,
			      max64u(at, m->rml_now + M0_TIME_ONE_SECOND));
}

void m0_rpc__clients_fini(struct m0_rpc__machine *m, void *unused)
{
	struct m0_hash_link *link;

	M0_PRE(m0_rpc__is_here(m));
	(void)unused;
	while ((link = m0_hash_first(&m->rml_server.rsv_clients)) != NULL)
		m0_rpc__client_drop(
			container_of(link, struct m0_rpc__client, rct_hash));
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

	M0_PRE(m0_rpc__is_here(m));
	*ret = NULL;
	if (rc != 0 || m0_rpc__ssession_find(client, id) != NULL)
		return rc;
	if (m0_rpc__client_is_full(client))
		return -ENOSPC;
	if (streams == 0 || streams > M0_RPC_WIRE_STREAMS_MAX || window == 0)
		return -ENOENT;
	if (!m0_rpc__may_cost(m, client, m0_rpc__ssession_bytes(streams)))
		return -EDQUOT;
	*ret = m0_rpc__ssession_new(client, id, est->rse_conn, streams, window);
	if (*ret == NULL)
		return -ENOMEM;
	(*ret)->rsw_kept = true;
	client->rct_session_max = max64u(client->rct_session_max, id);
	return 0;
}
