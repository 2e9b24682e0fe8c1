/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The history checker of update streams: whole machines over a simulated
 * network. Clients append numbered records through streams while packets are
 * lost, doubled and late, links are cut, commits fail, clients and servers crash
 * and come back; then the checker compares the servers' records with the results that
 * clients received.
 *
 * A server's crash: its machine is cut off and torn down, what its store had not
 * committed is lost, and another comes up at the same address with the same
 * store. A client's: another comes up with the same uuid, a higher incarnation,
 * at the same address.
 */
#ifndef M0_TESTS_RPC_HISTORY_H
#define M0_TESTS_RPC_HISTORY_H

#include "conformance/cf.h"
#include "conformance/toy.h"
#include "lib/store_crash.h"
#include "m0/rpc.h"

enum {
	HI_SERVERS = 2,
	HI_CLIENTS = 3,
	HI_STREAMS = 3,
	HI_OPS = 5000,
	HI_APPEND = 100,
	HI_ECHO,
	HI_REPLY,
	HI_BULK,
	HI_BULK_MAX = 3000,
	HI_DESC_MAX = 600,
	HI_RESEND_MS = 20,
	HI_RESEND_MAX_MS = 80,
	HI_TIMEOUT_MS = 4000,
	HI_SLACK_MS = 100,
	/** The second address of a server is so much above its first. */
	HI_SECOND = 32,
	HI_LINK_IDLE_MS = 40,
	/** Time that late strands and the application's own pace add. */
	HI_LATE_MS = 400,
	/** Records that one request carries at most: worlds that merge. */
	HI_MERGED = 6,
	/** Bytes of one. */
	HI_RECORD = 2 * sizeof(uint64_t),
	/** Some updates are done and answered with a status. */
	HI_ODD_RC = -EDOM
};

static inline bool hi_is_odd(unsigned op)
{
	return op % 13 == 5;
}

/** A record, posted once. */
struct hi_op {
	struct m0_rpc_raw ho_raw;
	/** Its number, and what tells its place; those of what it carries. */
	uint64_t ho_body[2 * HI_MERGED];
	/** Another one carries it. */
	bool ho_merged;
	/** List that moves bulk; NULL: none, or it has ended. */
	struct hi_bulk *ho_bulk;
	bool            ho_is_bulk;
	unsigned        ho_client;
	unsigned        ho_server;
	unsigned        ho_life;
	unsigned        ho_session;
	unsigned        ho_stream;
	m0_time_t       ho_by;
	bool            ho_posted;
	/** Calls of rio_replied. */
	int       ho_ended;
	m0_time_t ho_end;
	int       ho_error;
	/** Results of items that are REPLIED. */
	int      ho_rc;
	uint64_t ho_sent;
	/** How often its handler ran, committed or not. */
	unsigned ho_runs;
	/** Its item is gone. */
	bool     ho_reaped;
	unsigned ho_found;
};

/** A server's, from start to crash. */
struct hi_life {
	struct m0_rpc_store hl_store;
	struct store_crash *hl_under;
	bool                hl_dead;
	/** Jobs given to the store below, by hj_link. */
	struct m0_list hl_jobs;
};

struct hi_server {
	struct m0_rpc_machine hs_machine;
	struct store_crash    hs_store;
	struct hi_life        hs_life;
	char                  hs_addr[CF_ADDR_MAX];
	/** Second address, in worlds with links. */
	char      hs_addr2[CF_ADDR_MAX];
	unsigned  hs_nr;
	unsigned  hs_lives;
	bool      hs_up;
	m0_time_t hs_back_at;
	/** Point of the store at which the service dies, counted down; 0:
	 * none. */
	unsigned hs_dies_at;
	/** Points that its store has come by. */
	unsigned hs_points;
	/** Appends in the volatile store, in order. */
	unsigned hs_log[4 * HI_OPS];
	unsigned hs_log_nr;
};

/** From a client to a server. */
struct hi_link {
	struct m0_rpc_conn    hk_conn;
	struct m0_rpc_session hk_session;
	bool                  hk_has_conn;
	bool                  hk_has_session;
	unsigned              hk_sessions;
};

struct hi_client {
	struct m0_rpc_machine hc_machine;
	struct hi_link        hc_link[HI_SERVERS];
	char                  hc_addr[CF_ADDR_MAX];
	unsigned              hc_nr;
	unsigned              hc_lives;
	bool                  hc_up;
	m0_time_t             hc_back_at;
};

struct hi_world {
	struct hi_server hw_server[HI_SERVERS];
	struct hi_client hw_client[HI_CLIENTS];
	unsigned         hw_servers_nr;
	unsigned         hw_clients_nr;
	struct hi_op    *hw_op;
	unsigned         hw_ops_nr;
	/** Servers keep what was committed. */
	bool hw_durable;
	/** One of each. */
	bool hw_small;
	/** Servers have two addresses, and clients use both. */
	bool hw_linked;
	/** Adjacent records of a stream are merged; where each begins. */
	bool     hw_merges;
	uint64_t hw_next[HI_CLIENTS][HI_SERVERS][HI_STREAMS + 1];
	/** The store is a thread's of its own, and takes its time. */
	bool     hw_store_thread;
	unsigned hw_fault_pct;
	/** Lives end at one of so many first points of the store; 0: not so. */
	unsigned hw_dies_max;
	/** Numbers that are cut off: bits. */
	uint64_t hw_cut;
	/** Faults are over. */
	bool hw_calm;
};
extern struct hi_world hi;

/** Bits of hw_cut. */
static inline uint64_t hi_bits(unsigned nr)
{
	return UINT64_C(1) << nr | UINT64_C(1) << (nr + HI_SECOND);
}

/* history_node.c */
void                           hi_types_up(void);
void                           hi_types_down(void);
const struct m0_rpc_item_type *hi_type(unsigned op);
void                           hi_server_up(struct hi_server *s);
void                           hi_server_crash(struct hi_server *s);
void                           hi_client_up(struct hi_client *c);
void                           hi_client_crash(struct hi_client *c);
/** Makes connections and sessions that are missing; all are there? */
bool hi_client_tend(struct hi_client *c);
/** In good order. */
void hi_client_end(struct hi_client *c);
void hi_server_end(struct hi_server *s);

/** Called in the transaction of an append. */
void hi_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx);

/* history_bulk.c */
/** Offers memory; false: it cannot be, and the item goes without. */
bool hi_bulk_offer(struct hi_op *o, unsigned op);
/** Its item has ended, or was not posted. */
void hi_bulk_end(struct hi_op *o);
bool hi_bulk_is_over(const struct hi_op *o);
void hi_bulk_free(struct hi_op *o);
void hi_bulk_check(const struct hi_op *o, unsigned nr);
void hi_bulk_deliver(struct m0_rpc_machine *machine, struct m0_rpc_item *item);

/* history.c */
bool hi_pump(void);
void hi_wait(bool (*cond)(void *arg), void *arg, const char *what);
void hi_run_ms(unsigned ms);
/** Frees items that have ended, which hold their machine's buffers. */
void hi_reap(void);
bool hi_is_one_of(uint32_t state, uint32_t states);

/* history_check.c */
void hi_appended(struct hi_server *s, unsigned op);
int  hi_append(struct hi_server *s, struct m0_rpc_tx *tx, unsigned op);
void hi_check(void);

#endif /* M0_TESTS_RPC_HISTORY_H */
