/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Sessions of a machine as a client, and their streams. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_SESSION_H
#define M0_SRC_RPC_SESSION_H

/* --------------------------------------------------- session.c, stream.c -- */

/** The client's half of an update stream, and what moves it. */
struct m0_rpc__stream {
	struct m0_rpc_cstream    rsy_core;
	struct m0_rpc_frm_stream rsy_frm;
	struct m0_timer          rsy_timer;
	struct m0_list_link      rsy_ready_link;
	struct m0_rpc__session  *rsy_session;
	/** Its word that waits; it was taken back, or there was no memory. */
	struct m0_rpc__note *rsy_note;
	bool                 rsy_owes;
	uint64_t             rsy_order;
	uint32_t             rsy_nr;
	/** Where what is cached of it is; or was last. */
	struct m0_rpc__link *rsy_link;
};

struct m0_rpc__session {
	/** NULL: that of handshakes. */
	struct m0_rpc_session  *rsx_session;
	struct m0_rpc__machine *rsx_machine;
	struct m0_rpc__conn    *rsx_conn;
	uint64_t                rsx_id;
	struct m0_hash_link     rsx_hash;
	struct m0_list_link     rsx_link;
	/** Posted items, by ril_link. */
	struct m0_list rsx_items;
	/** Requests outside streams: the last number, and the table by
	 * number. */
	uint64_t             rsx_xid;
	struct m0_rpc_item **rsx_table;
	uint32_t             rsx_table_nr;
	uint32_t             rsx_items_nr;
	/** Streams, once it was established. */
	struct m0_rpc__stream *rsx_streams;
	uint32_t               rsx_streams_nr;
	uint32_t               rsx_window;
	bool                   rsx_is_up;
	/** Is to be made anew: numbers begin again. */
	bool                 rsx_resets;
	bool                 rsx_was_up;
	struct m0_rpc__note *rsx_note;
	/** The pause before that handshake, or the deadline of a session that
	 * does not ask yet. */
	struct m0_rpc__pause rsx_pause;
	m0_time_t            rsx_expires;
	struct m0_rpc__call  rsx_call;
	/** s_changed. A watch has seen it added. */
	struct m0_rpc__notice rsx_notice;
	bool                  rsx_seen;
};

static inline bool m0_rpc__session_invariant(const struct m0_rpc__session *s)
{
	return _0C(s->rsx_machine != NULL) &&
	       _0C((s->rsx_session == NULL) == (s->rsx_conn == NULL)) &&
	       _0C((s->rsx_table == NULL) == (s->rsx_table_nr == 0)) &&
	       _0C((s->rsx_table_nr & (s->rsx_table_nr - 1)) == 0) &&
	       _0C(ergo(s->rsx_items_nr > 0, s->rsx_table != NULL)) &&
	       _0C(ergo(s->rsx_streams_nr > 0, s->rsx_streams != NULL));
}

static inline bool m0_rpc__stream_invariant(const struct m0_rpc__stream *stream)
{
	return _0C(stream->rsy_session != NULL) &&
	       _0C(stream->rsy_session->rsx_streams + (stream->rsy_nr - 1) ==
		   stream) &&
	       _0C(ergo(stream->rsy_note != NULL, !stream->rsy_owes));
}

/** The machine aborts. */
void m0_rpc__conn_abort(struct m0_rpc__conn *conn);

void m0_rpc__streams_run(struct m0_rpc__machine *m);
void m0_rpc__stream_timer(struct m0_rpc__machine *m, struct m0_timer *timer);
/** Its one header-only item has to go. */
void m0_rpc__stream_control(struct m0_rpc__stream *stream);
int  m0_rpc__streams_make(struct m0_rpc__session *session, uint32_t nr,
			  uint32_t window);
void m0_rpc__streams_fini(struct m0_rpc__session *session);
/** Nothing leaves until it is up again. */
void m0_rpc__session_suspend(struct m0_rpc__session *session);
/** The connection is there again: asks for the session. */
void m0_rpc__session_again(struct m0_rpc__session *session);
void m0_rpc__session_fail(struct m0_rpc__session *session, int rc);
void m0_rpc__session_end_items(struct m0_rpc__session *session, int rc);
struct m0_rpc__session *m0_rpc__session_find(const struct m0_rpc__machine *m,
					     uint64_t                      id);
int                     m0_rpc__session0_init(struct m0_rpc__machine *m);
void                    m0_rpc__session0_fini(struct m0_rpc__machine *m);

/** One that was taken out of the formation (`was_cached`) or out of a packet
 * that has not left: will its stream say RESEND of it? Not if it has said so
 * already, while the packet was on its way. */
static inline bool m0_rpc__stream_resends(const struct m0_rpc_item *item,
					  bool                      was_cached)
{
	return item->ri_stream != 0 && !was_cached &&
	       !(m0_rpc__il(item)->ril_flags & M0_RPC__IF_AGAIN);
}

#endif /* M0_SRC_RPC_SESSION_H */
