/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the engine itself asks of a node: a ping (GET) or a push (PUT with ACK),
 * and one answer, in bounded time.
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
	bool                   as_is_push;
	struct m0_lnet_timer   as_timer;
	m0_time_t              as_deadline;
	/** The MD is the engine's. */
	bool as_is_bound;
	/** as_done was called, or is not to be. */
	bool as_told;
	/** It is to be sent once more if its connection is dead; it was. */
	bool as_may_resend;
	bool as_is_resent;
	/** Of the SEND. */
	int as_failure;
	/** 0: the first as_got bytes at as_addr are a ping's answer. */
	int    as_status;
	size_t as_got;
	void (*as_done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask);
	void *as_user;
};

/**
 * Asks `nid` for what it tells of itself.
 * @param self   from this NID of ours, or ANY.
 * @param bytes  room for the answer.
 * @param done   called once, never within this call, until `deadline` at the
 *               latest; the ask ends with it, and its memory too.
 * @return NULL: no memory.
 */
struct m0_lnet_ask *m0_lnet__ask_ping(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, size_t bytes, m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user);
/** Tells `nid` what we tell of ourselves now. */
struct m0_lnet_ask *m0_lnet__ask_push(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user);
/** Ends it now: `done` is called with this status. */
void m0_lnet__ask_fail(struct m0_lnet_ask *ask, int status);
/** Forgets it: `done` is not called. NULL is allowed. */
void m0_lnet__ask_drop(struct m0_lnet_ask *ask);

#endif /* M0_SRC_LNET_ASK_H */
