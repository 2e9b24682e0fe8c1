/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Requests with bulk, for the suite: both sides of them. A server that serves
 * them at once or holds them, a client that knows which bytes are right.
 */
#ifndef M0_TESTS_RPC_RT_BULK_H
#define M0_TESTS_RPC_RT_BULK_H

#include "m0/rpc_bulk.h"
#include "rt.h"

enum {
	RT_DESCS_MAX = 16,
	RT_BODY_MAX = 8192,
	RT_HELD_MAX = 64,
	KIB = 1 << 10,
	MIB = 1 << 20
};

/** Side of the client: a request and the memory it names. */
struct rt_deal {
	struct m0_rpc_bulk          dl_rb;
	struct rt_item             *dl_item;
	uint64_t                    dl_key;
	bool                        dl_is_put;
	m0_bcount_t                 dl_nr;
	uint8_t                    *dl_mem;
	struct m0_net_buf_desc_data dl_desc[RT_DESCS_MAX];
	int                         dl_descs_nr;
	int                         dl_done;
	/** The bytes were right when the answer came. */
	bool    dl_is_right;
	uint8_t dl_body[RT_BODY_MAX];
};

struct rt_bulk {
	/** The handler keeps its items here, for rt_bulk_serve(). */
	int                 rtb_holds;
	int                 rtb_held_nr;
	struct m0_rpc_item *rtb_held[RT_HELD_MAX];
	/** The server is done with as many, and answers them later, by
	 * rt_bulk_answer(). */
	int                 rtb_keeps;
	int                 rtb_kept_nr;
	struct m0_rpc_item *rtb_kept[RT_HELD_MAX];
	/** Offers are of their requests: m0_rpc_bulk_store_for(). */
	bool rtb_for;
	/** Requests are in so many streams, by turns; 0: in none. */
	uint32_t rtb_streams;
};
extern struct rt_bulk rt_bulk;

/** Registers the type; before the first deal of a case. */
void rt_bulk_begin(void);
/** Memory is offered; nothing is posted yet. */
struct rt_deal *rt_deal_new(struct rt_client *c, m0_bcount_t nr, bool is_put,
			    uint64_t key);
/** Both ends of it, as they must be; an error withdraws what was offered. */
void rt_deal_ends(struct rt_deal *d, int rc);
/** After the machines have stopped. */
void rt_deals_free(void);
/** Begins on a request that was held. */
void rt_bulk_serve(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
/** Answers what was kept. */
void rt_bulk_answer(void);

#endif /* M0_TESTS_RPC_RT_BULK_H */
