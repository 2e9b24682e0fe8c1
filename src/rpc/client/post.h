/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Requests and one-way items from post to reply. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_POST_H
#define M0_SRC_RPC_POST_H

/** Items of a session, connection: takes them when they are posted. */
void m0_rpc__post_form(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** An item's timer has fired. */
void m0_rpc__item_timer(struct m0_rpc__machine *m, struct m0_timer *timer);
/** The owners of requests, and of one-way items. */
extern const struct m0_rpc__owner m0_rpc__session_owner;
extern const struct m0_rpc__owner m0_rpc__conn_owner;
/** Sends a handshake request: rno_done is called once, on the machine. */
void m0_rpc__note_ask(struct m0_rpc__note *note, struct m0_rpc__conn *conn,
		      struct m0_rpc__session *session, m0_time_t expires);
/** A reply has come. */
void m0_rpc__came_reply(struct m0_rpc__machine *m, struct m0_rpc__came *came);
/** Plain items by their number. */
int m0_rpc__xid_add(struct m0_rpc__session *session, struct m0_rpc_item *item);
struct m0_rpc_item *m0_rpc__xid_find(const struct m0_rpc__session *session,
				     uint64_t                      xid);
void m0_rpc__xid_del(struct m0_rpc__session *session, struct m0_rpc_item *item);

#endif /* M0_SRC_RPC_POST_H */
