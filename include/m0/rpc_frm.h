/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Formation: which items of the cache leave together, and when. Included by
 * m0/rpc.h, whose opening comment applies.
 *
 * There is one formation for each pair of a destination and a network (seed
 * 002, "Formation"), and it asks two policies, each a table of pure functions.
 * The *network* policy, chosen per machine (rc_network), says when a packet may
 * leave and within which limits: packets in flight, bytes, fragments. The
 * *target* policy, chosen per connection, says in which order items are taken,
 * whether two are to be merged, and where a packet is to end.
 *
 * By the default network policy, m0_rpc_frm_line, a packet is formed when fewer
 * than fc_max_nr_packets_enqed are in flight and
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

/** Limits of what leaves for one destination: all are enforced. */
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

/** What is cached for a destination, and on its way there. */
struct m0_rpc_frm_load {
	/** Items: urgent; that may wait for company; of open groups. */
	uint64_t fl_urgent_nr;
	uint64_t fl_waiting_nr;
	uint64_t fl_held_nr;
	/** Bytes of all of them. */
	m0_bcount_t fl_bytes;
	uint64_t    fl_packets_enqed;
	/** They fill a packet: by bytes, accumulated bytes or segments. */
	bool fl_is_full;
};

/** A network policy. Pure functions: no state, no calls. */
struct m0_rpc_frm_network {
	const char *fn_name;
	/**
	 * Optional: tightens the limits for a destination. `limits` comes with
	 * what transport, machine and connections allow; what is set higher
	 * than that, or too low to carry a handshake (a packet of 1 KiB, 16
	 * segments, one packet in flight), is corrected. An item that does not
	 * fit into fc_max_packet_size fails with -EMSGSIZE. Asked again when
	 * connections change.
	 */
	void (*fn_limits)(const char                    *ep_addr,
			  struct m0_rpc_frm_constraints *limits);
	/**
	 * Optional: may a packet leave now? Asked when an item that is urgent or
	 * may wait is there, or what is cached fills a packet, and fewer than
	 * fc_max_nr_packets_enqed are in flight. Items wait until true, at most
	 * until they expire. NULL: as m0_rpc_frm_line.
	 */
	bool (*fn_ready)(const struct m0_rpc_frm_constraints *limits,
			 const struct m0_rpc_frm_load        *load);
};

/** As described at the top of this file. The default. */
M0_EXTERN const struct m0_rpc_frm_network m0_rpc_frm_line;
/** Items that may wait do so on an idle line, too: until they fill a packet, or
 * one is urgent. For networks where a packet costs much. */
M0_EXTERN const struct m0_rpc_frm_network m0_rpc_frm_batch;

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
