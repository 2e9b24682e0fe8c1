/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The buffers of a router, in three pools.
 *
 * A message that is forwarded has a buffer from its header to the end of its
 * transmission. Buffers are allocated on need and kept; without routing there are
 * none. A peer NI takes at most its router credits, and the messages to one peer at
 * most half of a pool, by whichever of its NIDs they go, and fewer than are free. So
 * one peer that never reads leaves half of the buffers to messages for other peers, a
 * second one a quarter, and so on; and two routers that forward to each other have
 * buffers for both directions. Many such peers, or senders whose next hops are not
 * known as peers, can take all buffers: then the time-outs of flow/forward.c and of the
 * driver free them.
 */
#ifndef M0_SRC_LNET_ROUTER_H
#define M0_SRC_LNET_ROUTER_H

#include "lnet/lnet_internal.h"

/** A router buffer, and the message in it. */
struct m0_lnet_fwd {
	struct m0_list_link fwd_link;
	enum m0_lnet_pool   fwd_pool;
	struct m0_lnet_msg  fwd_msg;
	/** The next hop for which it is counted; holds a reference. NULL: it is
	 * not known as a peer yet. */
	struct m0_lnet_lpni *fwd_to;
	/** A router credit of the peer that it came by is taken for it. */
	bool fwd_has_credit;
	/** The message has begun to leave before it was whole; fwd_timer ends
	 * it if the rest does not arrive. */
	bool                 fwd_is_cut;
	struct m0_lnet_timer fwd_timer;
	/** Time since when it is whole. */
	m0_time_t        fwd_out_at;
	void            *fwd_addr;
	m0_bcount_t      fwd_bytes;
	struct m0_bufvec fwd_vec;
	/** The buffer's pipe, made on need and kept; empty while the buffer is not
	 * in use. */
	struct m0_lnd_pipe *fwd_pipe;
};

struct m0_lnet_pool_state {
	struct m0_list plt_free;
	/** Number of buffers, and of those in use. */
	uint32_t plt_nr;
	uint32_t plt_used_nr;
	/** As it was set, and what the memory allows. */
	uint32_t plt_max;
	uint32_t plt_limit;
	/** The least number of buffers that could be taken so far. */
	uint32_t plt_low;
	/** Messages that have waited for a buffer come before new ones until
	 * then. */
	m0_time_t plt_waiters_until;
};

struct m0_lnet_router {
	enum m0_lnet_routing_state lrr_state;
	struct m0_lnet_pool_state  lrr_pools[M0_LNET_POOLS_NR];
	uint64_t                   lrr_bytes;
	/** Buffers in use, by fwd_link. */
	struct m0_list lrr_used;
	/** Since when the router is stopping; when something was on its way for the
	 * last time since then, and lrr_forwarded_nr at that look. */
	m0_time_t            lrr_since;
	m0_time_t            lrr_busy_at;
	uint64_t             lrr_seen_nr;
	struct m0_lnet_timer lrr_timer;
	/** Counters of m0_lnet_routing_info. */
	uint64_t lrr_forwarded_nr;
	uint64_t lrr_no_route_nr;
	uint64_t lrr_no_buffer_nr;
	uint64_t lrr_late_nr;
	uint64_t lrr_loops_nr;
	uint64_t lrr_cuts_nr;
	uint64_t lrr_cuts_broken_nr;
	uint64_t lrr_spliced_nr;
	uint64_t lrr_spliced_bytes;
	/** Buffers with a pipe, and when the next pipe may be made: there was none
	 * to be had before. */
	unsigned  lrr_pipes_nr;
	m0_time_t lrr_pipes_at;
	/** Time when router credits may be returned next, without which there
	 * are none. */
	m0_time_t lrr_return_at;
};

static inline struct m0_lnet_router *m0_lnet__router(
	const struct m0_lnet_engine *eng)
{
	return eng->le_router;
}

/** Returns how many router buffers a peer on the network of this NI may have. */
static inline unsigned m0_lnet__router_credits(const struct m0_lnet_ni *ni)
{
	return ni->lni_buffer_credits != 0 ? ni->lni_buffer_credits
					   : ni->lni_lnd.ldn_peer_credits;
}

int  m0_lnet__router_init(struct m0_lnet_engine *eng);
void m0_lnet__router_fini(struct m0_lnet_engine *eng);
/** Returns the pool of a payload. */
enum m0_lnet_pool m0_lnet__pool_for(m0_bcount_t bytes);
/**
 * Takes a buffer; NULL: none is to be had now.
 * @param waited  the message has waited for one before.
 */
struct m0_lnet_fwd *m0_lnet__fwd_get(struct m0_lnet_engine *eng,
				     enum m0_lnet_pool pool, bool waited);
void m0_lnet__fwd_put(struct m0_lnet_engine *eng, struct m0_lnet_fwd *fwd);
/** Returns the pipe of a large buffer, made by the driver of `ni` if the buffer has
 * none; NULL: there is none to be had. */
struct m0_lnd_pipe *m0_lnet__fwd_pipe(struct m0_lnet_engine  *eng,
				      struct m0_lnet_fwd     *fwd,
				      const struct m0_lnd_ni *ni);
/** Returns true if no more messages to the peer of this next hop may take a buffer
 * now: it has half of the pool, or as many buffers as are free. */
bool m0_lnet__pool_is_shared_out(const struct m0_lnet_engine *eng,
				 enum m0_lnet_pool            pool,
				 const struct m0_lnet_lpni   *to);
/** Frees the buffers that are not in use, as far as they are too many. */
void m0_lnet__pools_trim(struct m0_lnet_engine *eng);

#endif /* M0_SRC_LNET_ROUTER_H */
