/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Formation: which items of the cache leave together, and when. Included by
 * m0/rpc.h, whose opening comment applies.
 *
 * There is one formation for each pair of a destination and a network (seed
 * 002, "Formation"), and it asks two policies. The *network* policy is a set
 * of limits, from the transport and the connection: packets in flight, bytes,
 * fragments. The *target* policy, chosen per connection, says in which order
 * items are taken, whether two are to be merged, and where a packet is to end.
 *
 * A packet is formed when fewer than fc_max_nr_packets_enqed are in flight and
 *  - none is in flight (a lone item never waits for company), or
 *  - an urgent item waits: ri_deadline 0 or passed, write-through, or its group
 *    was closed, or
 *  - what waits fills a packet.
 * Items of an open group wait, within its linger, unless they fill a packet or
 * the bound below is reached.
 *
 * Order: urgent before others, then by ri_prio, then as the policy says, then
 * as posted; of one update stream always as posted, and what is urgent pulls
 * those before it in its stream along. Starvation is bounded: a packet passes an
 * item over if it takes one that came later; what M0_RPC_FRM_PASSED_MAX packets
 * have passed over goes first in the next.
 */
/* First, and outside the guard: rpc.h puts its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_FRM_H
#define M0_RPC_FRM_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Packets that may leave before an item that was there earlier. */
	M0_RPC_FRM_PASSED_MAX = 16
};

/** The network policy: all are enforced. */
struct m0_rpc_frm_constraints {
	/** Packets in flight to the destination. */
	uint64_t fc_max_nr_packets_enqed;
	/** Bytes of a packet, headers included. */
	m0_bcount_t fc_max_packet_size;
	/** Disjoint pieces of memory in a packet. */
	uint64_t fc_max_nr_segments;
	/** Bytes that wait and are as good as a full packet. */
	m0_bcount_t fc_max_nr_bytes_accumulated;
};

/** What a target policy sees of an item. */
struct m0_rpc_frm_view {
	const struct m0_rpc_item_type *fv_type;
	const struct m0_rpc_item_key  *fv_key;
	enum m0_rpc_item_priority      fv_prio;
	m0_bcount_t                    fv_size;
};

/** A target policy. Pure functions: no state, no calls. */
struct m0_rpc_frm_policy {
	const char *fp_name;
	/** Optional: <0, 0, >0 as `a` is to leave before, beside, after `b`,
	 * which have the same priority and are not of one stream. */
	int (*fp_cmp)(const struct m0_rpc_frm_view *a,
		      const struct m0_rpc_frm_view *b);
	/** Optional: `next` would be taken after `last`, into the same packet;
	 * true: end the packet before it. Not asked about urgent items. */
	bool (*fp_cut)(const struct m0_rpc_frm_view *last,
		       const struct m0_rpc_frm_view *next);
	/** Optional: may `next`, which follows `last` in order, be given to
	 * rito_io_coalesce? */
	bool (*fp_merge)(const struct m0_rpc_frm_view *last,
			 const struct m0_rpc_frm_view *next);
};

/** As posted. The default. */
M0_EXTERN const struct m0_rpc_frm_policy m0_rpc_frm_fifo;
/** By (fid, offset); merges what is contiguous; ends packets where an aligned
 * MiB of an object ends. */
M0_EXTERN const struct m0_rpc_frm_policy m0_rpc_frm_data;
/** By fid. */
M0_EXTERN const struct m0_rpc_frm_policy m0_rpc_frm_metadata;

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_FRM_H */
