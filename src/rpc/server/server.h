/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The server's side of the room: peers as clients, their sessions and streams,
 * their requests from packet to reply. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_SERVER_H
#define M0_SRC_RPC_SERVER_H

/* -------------------------------------------------------------- server.c -- */

enum m0_rpc__handshake_kind {
	M0_RPC__HANDSHAKE_CLIENT,
	M0_RPC__HANDSHAKE_CREATE,
	M0_RPC__HANDSHAKE_RESUME,
	M0_RPC__HANDSHAKE_DROP,
	M0_RPC__HANDSHAKE_LEAVE
};

/** Stream of a peer's session. */
struct m0_rpc__sstream {
	struct m0_rpc_sstream    rsq_core;
	struct m0_rpc__ssession *rsq_session;
	uint32_t                 rsq_nr;
	/** Request being executed; NULL. */
	struct m0_rpc_item *rsq_item;
	/** m0_rpc__sstream_run() is active. */
	bool rsq_runs;
};

struct m0_rpc__ssession {
	struct m0_rpc__client *rsw_client;
	struct m0_list_link    rsw_link;
	uint64_t               rsw_id;
	uint64_t               rsw_conn;
	uint32_t               rsw_streams_nr;
	uint32_t               rsw_window;
	/** Requests of streams being executed, jobs. */
	uint32_t rsw_refs;
	bool     rsw_gone;
	/** The store has it. */
	bool rsw_kept;
	/** As watches see it. */
	struct m0_rpc_session rsw_session;
	/** rsw_streams_nr; NULL: no item of it was accepted yet. */
	struct m0_rpc__sstream **rsw_streams;
};

/** A peer that has connected: one incarnation of it. */
struct m0_rpc__client {
	struct m0_rpc__machine *rct_machine;
	struct m0_uint128       rct_uuid;
	uint64_t                rct_incarnation;
	uint64_t                rct_life;
	struct m0_hash_link     rct_hash;
	struct m0_timer         rct_timer;
	/** Target from which the last packet came. The client holds a reference. */
	struct m0_rpc__target *rct_target;
	/** Target before that one: a client may alternate. */
	struct m0_rpc__target *rct_other;
	m0_time_t              rct_received;
	/** Bytes of a packet that it takes. Atomic. */
	m0_bcount_t rct_packet_max;
	/** By rsw_link. */
	struct m0_list           rct_sessions;
	struct m0_rpc__ssession *rct_session_last;
	uint32_t                 rct_sessions_nr;
	/** Not found any more, and something of them is being executed. */
	uint32_t rct_sessions_gone_nr;
	/** Highest number ever made. */
	uint64_t              rct_session_max;
	struct m0_rpc_dups    rct_dups;
	struct m0_rpc_sbudget rct_budget;
	/** Its own, and of its sessions and streams; in rml_server.rsv_clients_bytes. */
	m0_bcount_t rct_bytes;
	/** Bytes of requests that wait for their turn; in rml_server.rsv_holds_bytes. */
	m0_bcount_t rct_holds_bytes;
	/** One-way items that are with pools. */
	uint32_t rct_oneways_nr;
	/** Sessions, requests being executed, one-way items with pools. */
	uint32_t rct_refs;
	bool     rct_gone;
	/** As watches see it. */
	struct m0_rpc_conn rct_conn;
};

/** The machine as a server. */
struct m0_rpc__server {
	/** Peers by uuid; the one found last. */
	struct m0_hash         rsv_clients;
	struct m0_rpc__client *rsv_client_last;
	uint32_t               rsv_clients_nr;
	/** Forgotten peers of which something is being executed. */
	uint32_t rsv_clients_gone_nr;
	/** Bytes of peers, their sessions and streams. */
	m0_bcount_t rsv_clients_bytes;
	/** Bytes of requests that wait for their turn in streams. */
	m0_bcount_t           rsv_holds_bytes;
	struct m0_rpc_sbudget rsv_budget;
	/** NULL: the store does not outlive the machine. */
	struct m0_rpc__sweep *rsv_sweep;
	/** Requests being executed, and jobs of the store: stop waits for
	 * them. */
	uint32_t rsv_executing_nr;
	/** Handshakes that are with the store. */
	uint32_t rsv_handshakes_nr;
	/** Items that pools have not handed back. */
	uint32_t rsv_handed_nr;
};

static inline bool m0_rpc__server_invariant(const struct m0_rpc__server *server)
{
	return _0C(server->rsv_handshakes_nr <= server->rsv_executing_nr) &&
	       _0C(server->rsv_handshakes_nr <= M0_RPC__HANDSHAKES_MAX) &&
	       _0C((server->rsv_clients_nr == 0) ==
		   (m0_hash_first(&server->rsv_clients) == NULL)) &&
	       _0C(ergo(server->rsv_client_last != NULL,
			server->rsv_clients_nr > 0));
}

static inline bool m0_rpc__ssession_invariant(const struct m0_rpc__ssession *s)
{
	return _0C(s->rsw_client != NULL) && _0C(s->rsw_id != 0) &&
	       _0C(s->rsw_streams_nr > 0 &&
		   s->rsw_streams_nr <= M0_RPC_WIRE_STREAMS_MAX) &&
	       _0C(s->rsw_window > 0) && _0C(s->rsw_streams != NULL) &&
	       _0C(s->rsw_gone != m0_list_link_is_in(&s->rsw_link));
}

static inline bool m0_rpc__sstream_invariant(
	const struct m0_rpc__sstream *stream)
{
	return _0C(stream->rsq_session != NULL) &&
	       _0C(stream->rsq_nr > 0 &&
		   stream->rsq_nr <= stream->rsq_session->rsw_streams_nr) &&
	       _0C(stream->rsq_session->rsw_streams[stream->rsq_nr - 1] ==
		   stream);
}

void m0_rpc__server_init(struct m0_rpc__server   *server,
			 const struct m0_rpc_cfg *cfg);
void m0_rpc__server_fini(struct m0_rpc__server *server);

/** Sends further replies to the address from which this packet came. */
void m0_rpc__client_received(struct m0_rpc__client *client,
			     struct m0_rpc__came   *came);
/** The client that sent it, if what it says of itself is right now.
 * @retval -ENOTCONN  to be established. @retval -ESTALE  fenced. */
int m0_rpc__client_find(struct m0_rpc__machine          *m,
			const struct m0_rpc_wire_packet *packet,
			struct m0_rpc__client          **ret);
/** In whatever incarnation; NULL: it is not known. */
struct m0_rpc__client *m0_rpc__client_lookup(struct m0_rpc__machine  *m,
					     const struct m0_uint128 *uuid);
/** Makes the client that a packet is from. NULL: no memory. */
struct m0_rpc__client *m0_rpc__client_new(struct m0_rpc__machine *m,
					  struct m0_rpc__came    *came);
/** Forgets a client: its sessions go, as far as they can. */
void m0_rpc__client_drop(struct m0_rpc__client *client);
/** Notes how large packets the client takes; makes a destination keep to it. */
void m0_rpc__packet_max_note(struct m0_rpc__client     *client,
			     const struct m0_rpc__came *came);
void m0_rpc__packet_max_set(const struct m0_rpc__client *client,
			    struct m0_rpc__target       *target);
/** Returns true if there are `max` already, or twice as many with those that have
 * gone and of which something is being executed. */
bool m0_rpc__is_full(uint32_t nr, uint32_t gone_nr, uint32_t max);
/** Returns true if a client has as many sessions as it may. */
bool m0_rpc__client_is_full(const struct m0_rpc__client *client);
/** NULL: no memory. */
struct m0_rpc__ssession *m0_rpc__ssession_new(struct m0_rpc__client *client,
					      uint64_t id, uint64_t conn,
					      uint32_t streams,
					      uint32_t window);
/** A request is not to be executed: puts the library's reference. */
void m0_rpc__request_drop(struct m0_rpc_item *item);
/** Ends the wait of a request for its turn. */
void m0_rpc__held_end(struct m0_rpc__item *il);
/** Returns true if any incarnation of the client is known. */
bool                     m0_rpc__client_lives(const struct m0_rpc__machine *m,
					      const struct m0_uint128      *uuid);
struct m0_rpc__ssession *m0_rpc__ssession_find(struct m0_rpc__client *client,
					       uint64_t               id);
void                     m0_rpc__client_release(struct m0_rpc__client *client);
void m0_rpc__ssession_release(struct m0_rpc__ssession *session);
/** Not found any more; it goes when nothing of it is being executed. */
void m0_rpc__ssession_drop(struct m0_rpc__ssession *session);
void m0_rpc__client_timer(struct m0_rpc__machine *m, struct m0_timer *timer);
/** A handshake came: opcodes below 64. */
void m0_rpc__came_handshake(struct m0_rpc__machine *m,
			    struct m0_rpc__came    *came);
/** Drop all clients; called through m0_rpc__do(). */
void m0_rpc__clients_fini(struct m0_rpc__machine *m, void *unused);

/** Make a session that the store knows; NULL in *ret: it is there already. */
int m0_rpc__session_restore(struct m0_rpc__machine          *m,
			    const struct m0_rpc__came       *came,
			    const struct m0_rpc_session_est *est,
			    uint32_t streams, uint32_t window,
			    struct m0_rpc__ssession **ret);

/* ---------------------------------------------------------------- cost.c -- */

/** A client costs so many bytes more, or (negative) less. */
void m0_rpc__cost(struct m0_rpc__client *client, int64_t nr);
/** May all, and this client (NULL: a new one), cost so much more? */
bool        m0_rpc__may_cost(const struct m0_rpc__machine *m,
			     const struct m0_rpc__client *client, m0_bcount_t nr);
m0_bcount_t m0_rpc__ssession_bytes(uint32_t streams);
/** A stream of the session, made if it was not.
 * @retval -EDQUOT  the client, or all, cost as much as may be. @retval -ENOMEM */
int  m0_rpc__sstream_get(struct m0_rpc__ssession *session, uint32_t nr,
			 struct m0_rpc__sstream **ret);
void m0_rpc__sstream_free(struct m0_rpc__ssession *session, uint32_t nr);
/** Returns true if packets that were copied, since all receive buffers were in use,
 * take as much as clients may. */
bool m0_rpc__copies_are_full(const struct m0_rpc__machine *m);
/** Returns true if a request of so many bytes may wait for its turn in a stream. If
 * not, the server drops it, and the client resends it. */
bool m0_rpc__may_hold(const struct m0_rpc__machine *m,
		      const struct m0_rpc__client *client, m0_bcount_t nr);
/** Charges the client for a request that waits; 0: it waits no more. */
void m0_rpc__hold(struct m0_rpc__item *il, uint32_t nr);
/** As many answers wait there, in number or bytes, as may; or for all, and more
 * than a few there. Those of streams are counted elsewhere. */
bool m0_rpc__is_crowded(const struct m0_rpc__machine *m,
			const struct m0_rpc__target  *target);

/* -------------------------------------------------------------- expire.c -- */

/** Sweeps of the records of clients. @retval -ENOMEM */
int  m0_rpc__sweep_init(struct m0_rpc__machine *m);
void m0_rpc__sweep_fini(struct m0_rpc__machine *m);
/** The store has refused something for lack of room. */
void m0_rpc__sweep_need(struct m0_rpc__machine *m);

/* ------------------------------------------------------------- restore.c -- */

/** The store is done with a handshake: answers it. rca_body is NULL, the rest is
 * as it came. */
typedef void (*m0_rpc__handshake_done_t)(struct m0_rpc__machine     *m,
					 struct m0_rpc__came        *came,
					 enum m0_rpc__handshake_kind kind,
					 int                         rc);
/**
 * Does in the store what a handshake is about; then `done` is called. Only if the
 * store outlives the machine. @retval -ENOMEM
 * @retval -EAGAIN  too many wait for it: to be dropped, and asked again.
 */
int m0_rpc__handshake(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		      enum m0_rpc__handshake_kind      kind,
		      const struct m0_rpc_session_est *est,
		      const struct m0_rpc__ssession   *session,
		      m0_rpc__handshake_done_t         done);

/* --------------------------------------------------------------- serve.c -- */

/** A request or one-way item came. */
void m0_rpc__came_request(struct m0_rpc__machine *m, struct m0_rpc__came *came);
/** Run what a stream has to do: execute, answer. */
void m0_rpc__sstream_run(struct m0_rpc__machine *m,
			 struct m0_rpc__sstream *stream);

/* --------------------------------------------------------------- reply.c -- */

/** A request that has no answer yet came again: where from is where to. */
void m0_rpc__request_moved(struct m0_rpc__machine *m, struct m0_rpc_item *item,
			   struct m0_rpc__came *came);
/** Sends a kept one to a request that came again, or (it was sent again and was
 * faster) for the first time. */
void m0_rpc__reply_replay(struct m0_rpc__machine *m, struct m0_rpc_item *reply,
			  struct m0_rpc__came *came);
/** Sends a reply, new or kept, to a request with these numbers. */
void m0_rpc__reply_send(struct m0_rpc__machine *m, struct m0_rpc_item *reply,
			struct m0_rpc__target *target);
/**
 * A request has its reply, whose reference goes along, or (NULL) is answered
 * with a status: sends it, keeps it if it is of a stream.
 */
void m0_rpc__request_finish(struct m0_rpc__machine *m,
			    struct m0_rpc_item     *request,
			    struct m0_rpc_item *reply, int rc);
/** Finish a request after the store has its answer, if the store outlives the
 * machine. */
void m0_rpc__request_answered(struct m0_rpc__machine *m,
			      struct m0_rpc_item     *request,
			      struct m0_rpc_item     *reply);
/** Finish with a request: put the library's reference. */
void m0_rpc__request_done(struct m0_rpc__machine *m,
			  struct m0_rpc_item     *request);

#endif /* M0_SRC_RPC_SERVER_H */
