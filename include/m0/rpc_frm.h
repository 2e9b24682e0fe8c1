/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Formation chooses which items of the cache leave together, and when. Included
 * by m0/rpc.h, whose opening comment applies.
 *
 * There is one formation for each pair of a destination and a network (seed
 * 002, "Formation"), and it asks two policies, each a table of pure functions.
 * The *network* policy, chosen per RPC machine (rc_network), says when a packet
 * may leave and within which limits: packets in flight, bytes, fragments. The
 * *target* policy, chosen per connection, says in which order items are taken,
 * whether two are to be merged, and where a packet is to end.
 *
 * By the default network policy, m0_rpc_frm_line, formation forms a packet when
 * fewer than fc_max_nr_packets_enqed are in flight and
 *  - none is in flight (so a lone item never waits for others), or
 *  - an urgent item waits: its ri_deadline is 0 or has passed, it is
 *    write-through, or its group was closed, or
 *  - the waiting items fill a packet.
 * Items of an open group wait, within its rg_linger_ns, unless they fill a
 * packet or the bound below is reached.
 *
 * Order. Urgent items leave before others, then by ri_prio, then as the policy
 * says, then in the order of posts. Items of one update stream always leave in
 * the order of posts, and an urgent one makes those before it in its stream
 * urgent, too. Starvation is bounded. A packet passes an item over if it takes
 * one that was posted later; an item that M0_RPC_FRM_PASSED_MAX packets have
 * passed over goes first in the next.
 */
/* Include this first, outside the guard: rpc.h includes its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_FRM_H
#define M0_RPC_FRM_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Packets that may pass one item over. */
	M0_RPC_FRM_PASSED_MAX = 16
};

/** Limits for one destination; formation enforces all of them. */
struct m0_rpc_frm_constraints {
	/** Packets in flight to the destination. */
	uint64_t fc_max_nr_packets_enqed;
	/** Bytes of a packet, headers included. */
	m0_bcount_t fc_max_packet_size;
	/** Disjoint pieces of memory in a packet. */
	uint64_t fc_max_nr_segments;
	/** Formation treats this many waiting bytes as a full packet. */
	m0_bcount_t fc_max_nr_bytes_accumulated;
};

/** Items cached for a destination, and packets in flight to it. */
struct m0_rpc_frm_load {
	/** Numbers of items: urgent ones; ones that may wait for others; ones
	 * of open groups. */
	uint64_t fl_urgent_nr;
	uint64_t fl_waiting_nr;
	uint64_t fl_held_nr;
	/** Bytes of all these items. */
	m0_bcount_t fl_bytes;
	uint64_t    fl_packets_enqed;
	/** The items fill a packet: by bytes, accumulated bytes or segments. */
	bool fl_is_full;
};

/** A network policy. Its functions are pure: they have no state and make no
 * calls. */
struct m0_rpc_frm_network {
	const char *fn_name;
	/**
	 * Optional: tightens the limits for a destination. `limits` initially
	 * has the limits of transport, RPC machine and connections. Formation
	 * corrects a value that is higher than that, or too low for a handshake
	 * (a packet of 1 KiB, 16 segments, one packet in flight). An item that
	 * does not fit into fc_max_packet_size fails with -EMSGSIZE. Formation
	 * calls this again when connections change.
	 */
	void (*fn_limits)(const char                    *ep_addr,
			  struct m0_rpc_frm_constraints *limits);
	/**
	 * Optional: may a packet leave now? Formation asks when an urgent item
	 * or one that may wait is cached, or the cached items fill a packet,
	 * and fewer than fc_max_nr_packets_enqed are in flight. Items wait
	 * until this returns true, at most until they expire. NULL: as
	 * m0_rpc_frm_line.
	 */
	bool (*fn_ready)(const struct m0_rpc_frm_constraints *limits,
			 const struct m0_rpc_frm_load        *load);
};

/** The policy described at the top of this file; the default. */
M0_EXTERN const struct m0_rpc_frm_network m0_rpc_frm_line;
/** As m0_rpc_frm_line, but items that may wait do so also when nothing is in
 * flight, until they fill a packet or one is urgent. For networks on which a
 * packet costs much. */
M0_EXTERN const struct m0_rpc_frm_network m0_rpc_frm_batch;

/** The part of an item that a target policy sees. */
struct m0_rpc_frm_view {
	const struct m0_rpc_item_type *fv_type;
	const struct m0_rpc_item_key  *fv_key;
	enum m0_rpc_item_priority      fv_prio;
	m0_bcount_t                    fv_size;
};

/** A target policy. Its functions are pure: they have no state and make no
 * calls. */
struct m0_rpc_frm_policy {
	const char *fp_name;
	/** Optional: <0, 0, >0 if `a` is to leave before, together with, or
	 * after `b`. Both have the same priority, and they are not of the same
	 * stream. */
	int (*fp_cmp)(const struct m0_rpc_frm_view *a,
		      const struct m0_rpc_frm_view *b);
	/** Optional: true ends the packet before `next`, which formation would
	 * take after `last`, into the same packet. Formation does not ask about
	 * urgent items. */
	bool (*fp_cut)(const struct m0_rpc_frm_view *last,
		       const struct m0_rpc_frm_view *next);
	/** Optional: may formation pass `next`, which follows `last` in order,
	 * to rito_io_coalesce? */
	bool (*fp_merge)(const struct m0_rpc_frm_view *last,
			 const struct m0_rpc_frm_view *next);
};

/** In the order of posts. The default. */
M0_EXTERN const struct m0_rpc_frm_policy m0_rpc_frm_fifo;
/** By (fid, offset). Merges contiguous items, and ends a packet where an
 * aligned MiB of an object ends. */
M0_EXTERN const struct m0_rpc_frm_policy m0_rpc_frm_data;
/** By fid. */
M0_EXTERN const struct m0_rpc_frm_policy m0_rpc_frm_metadata;

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_FRM_H */
