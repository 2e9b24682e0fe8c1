/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The server's half of an update stream: order, duplicates, kept replies. A
 * state machine without I/O; its owner calls it from one thread.
 *
 * What may become of a number is one table, m0_rpc_srules (sstream.c), which
 * the model in tests/model/rpc_slot.pml and the history checker mirror. In
 * short: a number is executed when all before it are finished, once; the reply
 * is kept until the client has acknowledged it; what comes before its turn is
 * held; what lies beyond the window is refused. One number of a stream is
 * executed at a time.
 *
 * A number is *finished* when its reply is kept, or acknowledged. The client
 * says in every item below which number it knows all outcomes (ack): nothing
 * below is ever executed. A number that was skipped, or whose transaction the
 * store has failed, leaves nothing in the store; a server that comes back
 * without it learns from the ack, or from the reply being missing between ones
 * that are there, that it was finished without having been executed.
 *
 * Use. After every accept, ack and executed, call m0_rpc_sstream_next() until
 * it says NONE. EXECUTE: run the handler; when its transaction has ended, or it
 * has answered without one, m0_rpc_sstream_executed(), and send the reply.
 * A request that has expired by its turn is executed by an error reply.
 *
 * Memory: at most a window of bodies or replies for each stream, and what the
 * budgets allow, which streams share.
 */
#ifndef M0_SRC_RPC_CORE_SSTREAM_H
#define M0_SRC_RPC_CORE_SSTREAM_H

#include "m0/base.h"

struct m0_rpc_sstream;

/** Budget of kept replies, of one client or (rsb_parent) of all. */
struct m0_rpc_sbudget {
	struct m0_rpc_sbudget *rsb_parent;
	/** Bytes of replies kept, and when no more is begun: what is being
	 * executed then still adds its reply. */
	m0_bcount_t rsb_bytes;
	m0_bcount_t rsb_bytes_max;
	/** The parent's do not matter while this budget has fewer. */
	m0_bcount_t rsb_bytes_min;
	/** Requests held before their turn. */
	uint64_t rsb_held;
	uint64_t rsb_held_max;
};

/** How the owner gets back what the stream has kept. */
struct m0_rpc_sstream_ops {
	void (*sso_body_drop)(struct m0_rpc_sstream *stream, void *body);
	void (*sso_reply_drop)(struct m0_rpc_sstream *stream, void *reply);
};

/** States of a number. */
enum m0_rpc_sstate {
	/** At the window's end or behind it. */
	M0_RPC_SS_BEYOND = 0,
	/** Nothing came; not its turn. */
	M0_RPC_SS_AHEAD,
	/** Nothing came; it is the next. */
	M0_RPC_SS_TURN,
	/** Came before its turn: the request; a skip. */
	M0_RPC_SS_HELD,
	M0_RPC_SS_HELD_SKIP,
	/** Being executed; and so though its outcome is acknowledged, after a
	 * restart that has lost that it failed. */
	M0_RPC_SS_RUNNING,
	M0_RPC_SS_RUNNING_ACKED,
	/** Finished; the reply is kept. */
	M0_RPC_SS_KEPT,
	/** Acknowledged. */
	M0_RPC_SS_GONE,
	M0_RPC_SS_NR
};

enum m0_rpc_sinput {
	M0_RPC_SI_REQUEST = 0,
	/** The client has given it up and wants it filled. */
	M0_RPC_SI_SKIP,
	/** All before it are finished. */
	M0_RPC_SI_TURN,
	/** Executed: committed, or failed and changed nothing. */
	M0_RPC_SI_DONE,
	M0_RPC_SI_ACK,
	M0_RPC_SI_NR
};

enum m0_rpc_saction {
	M0_RPC_SA_NONE = 0,
	/** Execute rsa_xid: rsa_body is the owner's (again). */
	M0_RPC_SA_EXECUTE,
	/** The body is the stream's until its turn. */
	M0_RPC_SA_HOLD,
	/** rsa_xid is filled, not executed: answer it with rsa_rc. */
	M0_RPC_SA_SKIPPED,
	/** Answer with rsa_reply, which stays the stream's; if NULL with rsa_rc
	 * and no body. */
	M0_RPC_SA_REPLAY,
	/** A duplicate of what is held, executed or acknowledged: drop it. */
	M0_RPC_SA_IGNORE,
	/** No memory for it now: drop it, the client sends it again. */
	M0_RPC_SA_BUSY,
	/** Answer with the error rsa_rc: -EOVERFLOW beyond the window, -EPROTO
	 * a number or ack that cannot be. Nothing has changed. */
	M0_RPC_SA_REFUSE,
	/** Inside the table: the body or the reply goes. */
	M0_RPC_SA_DROP,
	/** Inside the table: the reply is kept. */
	M0_RPC_SA_KEEP,
	/** Inside the table: it cannot be. */
	M0_RPC_SA_NEVER,
	M0_RPC_SA_NR
};

struct m0_rpc_srule {
	uint8_t rsu_action;
	uint8_t rsu_next;
};

extern const struct m0_rpc_srule m0_rpc_srules[M0_RPC_SS_NR][M0_RPC_SI_NR];
/** "BEYOND", "REQUEST", "NONE"...: the words of the table's text. */
extern const char *const m0_rpc_sstate_names[M0_RPC_SS_NR];
extern const char *const m0_rpc_sinput_names[M0_RPC_SI_NR];
extern const char *const m0_rpc_saction_names[M0_RPC_SA_NR];

struct m0_rpc_sanswer {
	uint64_t rsa_xid;
	void    *rsa_body;
	void    *rsa_reply;
	int32_t  rsa_rc;
};

struct m0_rpc_sslot {
	/** A body (HELD), a reply or NULL (KEPT). */
	void       *rsl_handle;
	m0_bcount_t rsl_bytes;
	int32_t     rsl_rc;
	/** BEYOND stands for nothing. */
	uint32_t rsl_state;
};

struct m0_rpc_sstream {
	const struct m0_rpc_sstream_ops *rss_ops;
	struct m0_rpc_sbudget           *rss_budget;
	/** The owner's. */
	void    *rss_owner;
	uint32_t rss_window;
	/** All up to it are finished. */
	uint64_t rss_last;
	/** All below it are acknowledged. */
	uint64_t rss_ack;
	/** The number being executed; 0: none. */
	uint64_t             rss_running;
	struct m0_rpc_sslot *rss_slot;
};

/**
 * A stream without a past.
 * @param budget  may be NULL.
 * @retval -ENOMEM
 */
int m0_rpc_sstream_init(struct m0_rpc_sstream           *stream,
			const struct m0_rpc_sstream_ops *ops, uint32_t window,
			struct m0_rpc_sbudget *budget);
/** May an item with these numbers come first in a stream? @retval -EPROTO  never.
 * @retval -EOVERFLOW  it is beyond the window. */
int m0_rpc_sstream_first(uint32_t window, uint64_t xid, uint64_t ack);
/** Drops what it keeps. Pre: nothing is being executed. */
void m0_rpc_sstream_fini(struct m0_rpc_sstream *stream);

/**
 * An item of the stream came.
 * @param ack   its header's.
 * @param skip  its header has the skip flag.
 * @param body  what to execute, the owner's unless the action is HOLD.
 * @return EXECUTE, HOLD, SKIPPED, REPLAY, IGNORE, BUSY or REFUSE.
 */
enum m0_rpc_saction m0_rpc_sstream_accept(struct m0_rpc_sstream *stream,
					  uint64_t xid, uint64_t ack, bool skip,
					  void                  *body,
					  struct m0_rpc_sanswer *ret);
/** An ack came alone. */
void m0_rpc_sstream_ack(struct m0_rpc_sstream *stream, uint64_t ack);
/**
 * The number being executed is finished; its reply may leave.
 * @param reply  kept, the stream's from now on; NULL: only the code `rc`.
 * @param bytes  of memory that the reply takes.
 */
void m0_rpc_sstream_executed(struct m0_rpc_sstream *stream, uint64_t xid,
			     void *reply, m0_bcount_t bytes, int rc);
/** Return the next action: EXECUTE, SKIPPED or NONE. */
enum m0_rpc_saction m0_rpc_sstream_next(struct m0_rpc_sstream *stream,
					struct m0_rpc_sanswer *ret);

/** State of a number, as the table has it. For tests and watchers. */
enum m0_rpc_sstate m0_rpc_sstream_state(const struct m0_rpc_sstream *stream,
					uint64_t                     xid);

/**
 * After a restart, for each reply in the store, in any order, before anything
 * else: the reply of `xid`, recorded when `ack` was known. The reply is the
 * stream's from now on. Then m0_rpc_sstream_restored().
 * @retval -EPROTO  it cannot be from a stream with this window; the reply is
 *                  still the caller's.
 */
int m0_rpc_sstream_restore(struct m0_rpc_sstream *stream, uint64_t xid,
			   uint64_t ack, void *reply, m0_bcount_t bytes,
			   int rc);
/** Numbers that have no reply though later ones have were not executed. */
void m0_rpc_sstream_restored(struct m0_rpc_sstream *stream);

#endif /* M0_SRC_RPC_CORE_SSTREAM_H */
