/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Requests of the engine itself to another node: a ping (GET) or a push (PUT
 * with ACK), with one answer in bounded time.
 */
#ifndef M0_SRC_LNET_ASK_H
#define M0_SRC_LNET_ASK_H

#include "lnet/lnet_internal.h"

struct m0_lnet_ask {
	struct m0_lnet_engine *as_engine;
	struct m0_lnet_md      as_md;
	struct m0_bufvec       as_vec;
	void                  *as_addr;
	m0_bcount_t            as_bytes;
	struct m0_lnet_op      as_op;
	/** NID of the gateway by which the request leaves; ANY: by any. */
	struct m0_lnet_nid   as_by;
	bool                 as_is_push;
	struct m0_lnet_timer as_timer;
	m0_time_t            as_deadline;
	/** The engine has the MD. */
	bool as_is_bound;
	/** as_done was called, or must not be called. */
	bool as_completed;
	/** The request may be sent once more if its connection is dead; it was
	 * sent again. */
	bool as_may_resend;
	bool as_is_resent;
	/** Status of the SEND. */
	int as_failure;
	/** If 0, the first as_got bytes at as_addr are the answer to a ping. */
	int    as_status;
	size_t as_got;
	void (*as_done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask);
	void *as_user;
};

/**
 * Asks `nid` for its ping information.
 * @param self   NID of this node to ask from, or ANY.
 * @param bytes  space for the answer.
 * @param done   called once, never within this call, at `deadline` at the
 *               latest. The request ends with it, and its memory is freed.
 * @return NULL: no memory.
 */
struct m0_lnet_ask *m0_lnet__ask_ping(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, size_t bytes, m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user);
/** Sends a ping to a NID of another network by this gateway, and by no other. */
struct m0_lnet_ask *m0_lnet__ask_ping_by(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, const struct m0_lnet_nid *gateway,
	m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user);
/** Pushes the current information of this node to `nid`. */
struct m0_lnet_ask *m0_lnet__ask_push(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user);
/** Ends the request now; calls `done` with this status. */
void m0_lnet__ask_fail(struct m0_lnet_ask *ask, int status);
/** Ends the request without a call of `done`. `ask` may be NULL. */
void m0_lnet__ask_drop(struct m0_lnet_ask *ask);

#endif /* M0_SRC_LNET_ASK_H */
