/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Connections of a machine as a client. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_CONN_H
#define M0_SRC_RPC_CONN_H

/** The machine as a client. */
struct m0_rpc__conns {
	/** Numbers that were given last: of sessions, of connections. */
	uint64_t rcn_session_seq;
	uint64_t rcn_conn_seq;
	/** Sessions by number; the one found last. */
	struct m0_hash          rcn_sessions;
	struct m0_rpc__session *rcn_session_last;
	/** Connections by rcx_link. */
	struct m0_list rcn_list;
	/** The session of handshakes: number 0. */
	struct m0_rpc__session *rcn_session0;
	/** Streams to be stepped, by rsy_ready_link. */
	struct m0_list rcn_streams;
};

void m0_rpc__conns_init(struct m0_rpc__conns *conns);
void m0_rpc__conns_fini(struct m0_rpc__conns *conns);

struct m0_rpc__conn {
	struct m0_rpc_conn     *rcx_conn;
	struct m0_rpc__machine *rcx_machine;
	struct m0_list_link     rcx_link;
	/** By lnk_link; never empty but at its end. */
	struct m0_list rcx_links;
	uint32_t       rcx_links_nr;
	/** Number of links ever made; spreads them over the machine's
	 * addresses. */
	uint32_t rcx_links_seq;
	/** The link of handshakes, up if any link is; and its destination, NULL
	 * if nothing was asked yet. */
	struct m0_rpc__link   *rcx_main;
	struct m0_rpc__target *rcx_target;
	/** The machine's address that it is from. Atomic. */
	struct m0_net_transfer_mc *rcx_tm;
	/** Ways of all links: the main one, then those that are up. Under the
	 * lock; the number may be read without. */
	struct m0_mutex    rcx_ways_lock;
	uint32_t           rcx_ways_nr;
	struct m0_rpc__way rcx_ways[M0_RPC_LINKS_MAX];
	/** When to look after links again. */
	struct m0_rpc__pause rcx_tick;
	uint64_t             rcx_nr;
	/** By rsx_link. */
	struct m0_list rcx_sessions;
	/** One-way items, by ril_link. */
	struct m0_list rcx_items;
	/** Posted items whose posters are not yet notified. Atomic. */
	uint32_t rcx_hold_nr;
	/** By ris_link. */
	struct m0_list rcx_sources;
	/** Packets that the server takes. */
	m0_bcount_t rcx_packet_max;
	/** The connection has been ACTIVE, and asks again. */
	bool rcx_again;
	/** The handshake that is on its way; NULL. Since when over rcx_main. */
	struct m0_rpc__note *rcx_note;
	m0_time_t            rcx_note_at;
	/** The pause before that handshake. */
	struct m0_rpc__pause rcx_pause;
	m0_time_t            rcx_expires;
	struct m0_rpc__call  rcx_call;
	/** c_changed. A watch has seen it added. */
	struct m0_rpc__notice rcx_notice;
	bool                  rcx_seen;
};

static inline m0_bcount_t m0_rpc__packet_max(const struct m0_rpc__conn *conn)
{
	return __atomic_load_n(&conn->rcx_packet_max, __ATOMIC_RELAXED);
}

/** Holds between init and fini. */
static inline bool m0_rpc__conn_invariant(const struct m0_rpc__conn *conn)
{
	return _0C(conn->rcx_machine != NULL) && _0C(conn->rcx_conn != NULL) &&
	       _0C((conn->rcx_links_nr == 0) ==
		   m0_list_is_empty(&conn->rcx_links)) &&
	       _0C(ergo(conn->rcx_target != NULL,
			conn->rcx_main->lnk_target == conn->rcx_target)) &&
	       _0C(conn->rcx_ways_nr <= M0_RPC_LINKS_MAX) &&
	       _0C(conn->rcx_packet_max > 0);
}

static inline bool m0_rpc__conns_invariant(const struct m0_rpc__conns *conns)
{
	return _0C(conns->rcn_session0 != NULL) &&
	       _0C(ergo(conns->rcn_session_last != NULL,
			m0_hash_first(&conns->rcn_sessions) != NULL));
}

/** The server does not know us (any more): asks again, then for sessions. */
void m0_rpc__conn_again(struct m0_rpc__conn *conn);
/** Does a connection or a session that was there ask again after this answer? */
bool m0_rpc__asks_again(const struct m0_rpc__machine *m, int rc);
/** The connection fails: its sessions and items end. */
void m0_rpc__conn_fail(struct m0_rpc__conn *conn, int rc);
/** The map has changed, and rcx_main is to a place where nothing was asked. */
void m0_rpc__conn_retarget(struct m0_rpc__conn *conn);
/** Its one-way items. */
void m0_rpc__conn_end_items(struct m0_rpc__conn *conn, int rc);
/** The host at this end point does not speak our version. */
void m0_rpc__conns_refused(struct m0_rpc__machine  *m,
			   struct m0_net_end_point *ep);
void m0_rpc__conn_state_set(struct m0_rpc__conn   *conn,
			    enum m0_rpc_conn_state state);
/** The body of a request to establish it. */
uint32_t m0_rpc__conn_est(const struct m0_rpc__conn *conn, void *body);

#endif /* M0_SRC_RPC_CONN_H */
