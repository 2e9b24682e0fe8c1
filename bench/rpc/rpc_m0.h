/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The RPC layer between two sides: one machine on each, which is polled; side 0
 * has a session with side 1.
 */
#ifndef BENCH_RPC_M0_H
#define BENCH_RPC_M0_H

#include "../net/net_m0.h"
#include "m0/rpc_bulk.h"

enum {
	RPC_FLIGHT_MAX = 256,
	RPC_REQ_BYTES = 64,
	RPC_OP_ECHO = 100,
	RPC_OP_ECHO_REP,
	RPC_OP_BULK
};

struct rpc_side {
	struct m0_net_domain  rs_dom;
	struct m0_rpc_machine rs_machine;
	struct m0_rpc_conn    rs_conn;
	struct m0_rpc_session rs_session;
	bool                  rs_met;
};

struct rpc_m0 {
	/** Network whose nodes it uses. */
	struct net_m0 *r_net;
	/** Every item in a packet of its own. */
	bool             r_formation_off;
	struct rpc_side *r_side[2];
};

/** The machines; before the plays that use them. */
struct world_play rpc_m0_play(struct rpc_m0 *r);
/** Side 0, while side 1 serves: makes the session, the first time. */
void rpc_m0_meet(struct rpc_m0 *r);
/** Ends the program unless rc is 0. */
void rpc_m0_must(int rc, const char *what);

static inline void rpc_m0_poll(struct rpc_m0 *r, int side)
{
	m0_rpc_machine_progress(&r->r_side[side]->rs_machine);
}

/** One turn of who waits: its own machine, and the other's if nobody else
 * polls that. */
static inline void rpc_m0_turn(struct rpc_m0 *r)
{
	if (r->r_net->m_kind == WORLD_TURNS)
		rpc_m0_poll(r, 1);
	rpc_m0_poll(r, 0);
}

/** 64 B there and back, `flight` on the way. */
struct rpc_echo;
struct rpc_echo  *rpc_echo_make(struct rpc_m0 *r, unsigned flight,
				struct world_play *play);
struct bench_case rpc_echo_case(struct rpc_echo *e, const char *name);

/** A request that names memory, which side 1 fills (put) or fetches. */
struct rpc_bulk;
struct rpc_bulk  *rpc_bulk_make(struct rpc_m0 *r, size_t bytes, unsigned flight,
				bool is_put, struct world_play *play);
struct bench_case rpc_bulk_case(struct rpc_bulk *b, const char *name);

#endif /* BENCH_RPC_M0_H */
