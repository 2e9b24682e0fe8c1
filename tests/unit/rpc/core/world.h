/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A client and a server of update streams, made of the two halves and little
 * else, for random schedules.
 */
#ifndef M0_TESTS_UNIT_RPC_CORE_WORLD_H
#define M0_TESTS_UNIT_RPC_CORE_WORLD_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/rand.h"
#include "rpc/core/cstream.h"
#include "rpc/core/record.h"
#include "rpc/core/sstream.h"
#include "lib/store_crash.h"

enum {
	STREAMS = 2,
	WINDOW_MAX = 6,
	OPS_MAX = 48,
	MSGS_MAX = 96,
	HELD_MAX = 5,
	MS = 1000000
};

/** How an operation has ended for who posted it. */
enum end {
	PENDING = 0,
	/** Its reply says it was done; not done. */
	DONE,
	REFUSED,
	/** Nobody was told; never sent. */
	UNKNOWN,
	UNSENT
};

struct op {
	struct m0_rpc_citem op_item;
	unsigned            op_nr;
	unsigned            op_stream;
	enum end            op_end;
	bool                op_formed;
	/** Its handler wants it undone. */
	bool op_fails;
	/** Commits that held it, in all lives. */
	unsigned op_done_nr;
};

enum kind {
	CONN,
	CONN_REP,
	SESS,
	SESS_REP,
	STALE_EPOCH,
	REQ,
	REP
};

struct msg {
	enum kind ms_kind;
	uint64_t  ms_epoch;
	uint64_t  ms_incarnation;
	uint64_t  ms_session;
	unsigned  ms_stream;
	uint64_t  ms_xid;
	uint64_t  ms_ack;
	bool      ms_skip;
	/** SESS: make it. SESS_REP: it is unknown. */
	bool     ms_flag;
	unsigned ms_op;
	int      ms_rc;
	uint32_t ms_window;
	uint64_t ms_last[STREAMS];
};

enum phase {
	CONNECTING,
	JOINING,
	ACTIVE
};

struct client {
	uint64_t              c_incarnation;
	uint64_t              c_session;
	uint64_t              c_epoch;
	bool                  c_made;
	enum phase            c_phase;
	m0_time_t             c_again;
	struct m0_rpc_cstream c_stream[STREAMS];
	/** Their control items are in the formation. */
	bool c_control[STREAMS];
};

struct world;

/** The job of an update, or of a handshake. */
struct job {
	struct m0_rpc_store_job j_job;
	struct world           *j_world;
	/** Answers of this life of server and client; others are dropped. */
	uint64_t   j_epoch;
	unsigned   j_stream;
	uint64_t   j_xid;
	unsigned   j_op;
	struct msg j_msg;
	bool       j_busy;
};

struct server {
	uint64_t              s_epoch;
	uint64_t              s_client;
	uint64_t              s_session;
	uint64_t              s_session_top;
	bool                  s_has;
	bool                  s_pending;
	struct m0_rpc_sstream s_stream[STREAMS];
	struct m0_rpc_sbudget s_budget;
};

struct world {
	struct m0_rand     w_rand;
	m0_time_t          w_now;
	bool               w_fair;
	bool               w_volatile;
	bool               w_faulty;
	uint32_t           w_window;
	uint64_t           w_epochs;
	struct client      w_client;
	struct server      w_server;
	struct store_crash w_store;
	struct op          w_op[OPS_MAX];
	unsigned           w_ops;
	struct msg         w_msg[MSGS_MAX];
	unsigned           w_msgs;
	struct job         w_job[OPS_MAX * 4];
	/** Replies and bodies that the server keeps. */
	int w_kept;
	int w_kept_max;
	/** Sum over all schedules of the cases that they have reached. */
	unsigned *w_seen;
};

/** Schedules are worth something only if they meet these. */
enum seen {
	SEEN_REPLAY,
	SEEN_HOLD,
	SEEN_IGNORE,
	SEEN_BUSY,
	SEEN_SKIPPED,
	SEEN_GIVE_UP,
	SEEN_STALE,
	SEEN_RESUME,
	SEEN_FAILED_COMMIT,
	SEEN_RESTORED,
	SEEN_FENCED,
	SEEN_ACK_ALONE,
	SEEN_DONE,
	SEEN_NR
};

static inline bool chance(struct world *w, unsigned permille)
{
	return m0_rand_chance(&w->w_rand, permille);
}

static inline unsigned below(struct world *w, unsigned max)
{
	return (unsigned)m0_rand_below(&w->w_rand, max);
}

static inline void saw(struct world *w, enum seen what)
{
	w->w_seen[what]++;
}

/** The world there is. */
extern struct world           *the_world;
extern const struct m0_uint128 client_uuid;

/** Into the network, which loses and repeats. */
void world_put(struct world *w, const struct msg *msg);

/* world_client.c */
void client_start(struct world *w);
/** Ends all that is pending. */
void client_stop(struct world *w);
void client_step(struct world *w);
void client_got(struct world *w, const struct msg *msg);
/** One item of the formation leaves: of first ones the oldest, else any. */
void client_form(struct world *w);
void client_post(struct world *w);
/** Some operation, if it is pending. */
void client_cancel(struct world *w);

/* world_server.c */
/** With what the store has. */
void server_start(struct world *w);
void server_got(struct world *w, const struct msg *msg);
/** Streams and all that they keep. */
void server_forget(struct world *w);

#endif /* M0_TESTS_UNIT_RPC_CORE_WORLD_H */
