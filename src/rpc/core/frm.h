/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Formation: the cache of items for a destination, and which of them leave
 * together, when. m0/rpc_frm.h has the rules; pure: time comes with the calls.
 *
 * Classes. An item is *held* (its group is open), *waits*, or is *urgent*; in
 * each it has a priority. Of a stream only the first item stands to be taken,
 * in the highest class that any item of the stream has: what is urgent pulls
 * those before it along.
 *
 * Starvation. A packet passes an item over if it takes one that came later.
 * What M0_RPC_FRM_PASSED_MAX packets have passed over goes first in the next
 * packet, oldest first, whatever its class; the others of this kind that there
 * is no room for in the packet after that, and so on. A group is held no longer
 * then. So at most that many packets pass an item over.
 *
 * An item that is next but does not fit into what is left of a packet is
 * stepped over, M0_RPC_FRM_LOOK_MAX of them at most.
 *
 * Cost of an item, from enq to packet: constant in the mean with the fifo
 * policy, O(log n) with one that sorts.
 *
 * A set is the formations of one machine; one thread at a time in each.
 */
#ifndef M0_SRC_RPC_CORE_FRM_H
#define M0_SRC_RPC_CORE_FRM_H

#include "base/timerq.h"
#include "rpc/core/order.h"
#include "m0/rpc.h"

enum {
	M0_RPC_FRM_LOOK_MAX = 16,
	/** No network policy may go below: handshakes and gathered bodies fit. */
	M0_RPC_FRM_LEAST_BYTES = 1024,
	M0_RPC_FRM_LEAST_SEGMENTS = 16,
	/** Held, waiting, urgent; each of every priority. */
	M0_RPC_FRM_CLASS_NR = 3 * M0_RPC_ITEM_PRIO_NR
};

struct m0_rpc_frm;
struct m0_rpc_frm_packet;

/**
 * A stream as formation sees it, embedded in its owner's object; its items are
 * in one formation at a time.
 */
struct m0_rpc_frm_stream {
	/** Cached items by fi_order. */
	struct m0_list fst_items;
	/** How many are in each class. */
	uint32_t fst_nr[M0_RPC_FRM_CLASS_NR];
	/** Its first item, which stands in f_class; NULL: none is cached. */
	struct m0_rpc_frm_item *fst_head;
};

/** A group as formation sees it: its items that wait for its end, or may have to,
 * in any formation. */
struct m0_rpc_frm_group {
	struct m0_list fg_items;
	/** Items are held until then. M0_TIME_NEVER before the first enq,
	 * which sets it. */
	m0_time_t fg_until;
	bool      fg_is_closed;
};

/** Part of an item. The first half is set by the owner before enq. */
struct m0_rpc_frm_item {
	/** fv_size is what it takes in a packet, header and padding included;
	 * type and key only interest policies, the key may be NULL if the
	 * policy has no fp_cmp. */
	struct m0_rpc_frm_view fi_view;
	/** Pieces of memory that it adds to a packet; 0: it is written into
	 * the packet's own. */
	uint32_t fi_segs_nr;
	bool     fi_is_write_through;
	/** As ri_deadline. */
	m0_time_t fi_deadline;
	/** NULL: of none. */
	struct m0_rpc_frm_stream *fi_stream;
	/** In the stream; smaller ones leave first. Unique. */
	uint64_t fi_order;
	/** NULL: of none. Must live as long as the item is cached. */
	struct m0_rpc_frm_group *fi_group;

	/* Formation's. */

	/** NULL: not cached. */
	struct m0_rpc_frm *fi_frm;
	/** When it came. Of a stream: not after the one behind it. */
	uint64_t fi_seq;
	/** Its own class, that without the priority, and the one of f_class in
	 * which it stands; NULL: not the first of its stream. */
	uint8_t fi_class;
	uint8_t fi_kind;
	/** The item could not leave at once: fi_group_link and fi_timer are in
	 * use. */
	bool                 fi_waits;
	struct m0_order     *fi_slot;
	struct m0_order_node fi_node;
	/** In f_age, later in fpk_items. */
	struct m0_list_link fi_link;
	/** Set if it is of a stream. */
	struct m0_list_link fi_stream_link;
	struct m0_list_link fi_group_link;
	/** Until deadline or end of hold. */
	struct m0_timer fi_timer;
};

/** A packet, part of its owner's object. */
struct m0_rpc_frm_packet {
	/** By fi_link, in the order in which they are to be encoded. The owner
	 * may take them out. */
	struct m0_list     fpk_items;
	struct m0_rpc_frm *fpk_frm;
	uint32_t           fpk_nr;
	/** With the packet's header. */
	m0_bcount_t fpk_bytes;
	/** With the packet's own. */
	uint64_t fpk_segs_nr;
};

/**
 * Functions that formation calls, only from m0_rpc__frm_set_run(), _run(),
 * _constraints_set() and _group_close(). They must not run any;
 * fo_packet_ready and fo_refused may enq and remove, the others neither.
 */
struct m0_rpc_frm_ops {
	/** A packet to fill. NULL: there is none (buffers, memory): all stays
	 * queued, and the next run asks again. */
	struct m0_rpc_frm_packet *(*fo_packet_get)(struct m0_rpc_frm *frm);
	/** The packet is full or nothing more fits; it is never empty. The
	 * owner calls m0_rpc__frm_packet_done() when it has left or failed,
	 * possibly inside this call. */
	void (*fo_packet_ready)(struct m0_rpc_frm        *frm,
				struct m0_rpc_frm_packet *packet);
	/** Optional: rito_io_coalesce. True: `next`, which is in no cache when
	 * this has returned, has become a part of `item`, which is in none
	 * already; item's view and fi_segs_nr are up to date and not larger
	 * than both were. */
	bool (*fo_merge)(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item,
			 struct m0_rpc_frm_item *next);
	/** Optional: a packet has this much room left. An item that is not
	 * cached and of no stream; NULL: none. Asked until that, or until it
	 * gives one that does not fit (it is cached then, as urgent). */
	struct m0_rpc_frm_item *(*fo_spare)(struct m0_rpc_frm *frm,
					    m0_bcount_t bytes, uint64_t segs);
	/** Optional: it has become urgent while it is cached. */
	void (*fo_urgent)(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item);
	/** An item does not fit into any packet, as the limits are now; it is
	 * not cached any more. -EMSGSIZE. */
	void (*fo_refused)(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item,
			   int rc);
};

struct m0_rpc_frm_set {
	/** Every item in a packet of its own, as it comes. */
	bool fs_is_off;
	/** NULL, or without fn_ready: as m0_rpc_frm_line. */
	const struct m0_rpc_frm_network *fs_network;
	struct m0_timerq                 fs_timers;
	/** Formations to look at, by f_ready_link, and those that got no
	 * packet when they were looked at. */
	struct m0_list fs_ready;
	struct m0_list fs_without;
	/** Cached in all formations. */
	uint64_t fs_items_nr;
	/** Bytes of these items in packets. */
	m0_bcount_t fs_bytes;
};

struct m0_rpc_frm {
	struct m0_rpc_frm_set          *f_set;
	const struct m0_rpc_frm_ops    *f_ops;
	const struct m0_rpc_frm_policy *f_policy;
	/** To be changed by m0_rpc__frm_constraints_set() alone. */
	struct m0_rpc_frm_constraints f_constraints;
	struct m0_list_link           f_ready_link;

	/* Cached items. Counters of classes: held, waiting, urgent. */
	uint64_t        f_items_nr;
	uint64_t        f_nr[3];
	m0_bcount_t     f_bytes[3];
	uint64_t        f_segs_nr[3];
	struct m0_list  f_age;
	struct m0_order f_class[M0_RPC_FRM_CLASS_NR];

	uint64_t f_packets_enqed;
	/** Sequence number of the next item. */
	uint64_t f_seq;
	/** The latest item of each of the PASSED_MAX packets that took the
	 * latest ones, descending: what is older than the last is starved. */
	uint64_t f_passed[M0_RPC_FRM_PASSED_MAX];
};

/** @param now  as m0_timerq_init(). */
void m0_rpc__frm_set_init(struct m0_rpc_frm_set *set, m0_time_t now,
			  bool formation_off);
/** Pre: nothing is cached. */
void m0_rpc__frm_set_fini(struct m0_rpc_frm_set *set);
/** When to call m0_rpc__frm_set_run() next, if nothing else happens:
 * M0_TIME_NEVER if no deadline is near. See m0_timerq_next(). */
m0_time_t m0_rpc__frm_set_next(const struct m0_rpc_frm_set *set);
/**
 * Forms all packets that may be, of all formations that have had a reason.
 * @return false: some got no packet; to be called again when there is one.
 */
bool m0_rpc__frm_set_run(struct m0_rpc_frm_set *set, m0_time_t now);

/** 8 packets, 128 KiB, 256 segments, a packet's bytes accumulated. */
void m0_rpc__frm_constraints_get_defaults(
	struct m0_rpc_frm_constraints *constraints);

/** Has a network policy tighten limits, and corrects what it made of them. */
void m0_rpc__frm_network_limits(const struct m0_rpc_frm_network *network,
				const char                      *ep_addr,
				struct m0_rpc_frm_constraints   *limits);

/** @param policy  NULL: fifo. `ops` and `policy` are not copied. */
void m0_rpc__frm_init(struct m0_rpc_frm *frm, struct m0_rpc_frm_set *set,
		      const struct m0_rpc_frm_constraints *constraints,
		      const struct m0_rpc_frm_policy      *policy,
		      const struct m0_rpc_frm_ops         *ops);
/** New limits; what does not fit any more is refused (fo_refused). O(n). */
void m0_rpc__frm_constraints_set(
	struct m0_rpc_frm                   *frm,
	const struct m0_rpc_frm_constraints *constraints);
/** Pre: idle. */
void m0_rpc__frm_fini(struct m0_rpc_frm *frm);
/** Nothing is cached, nothing in flight. */
static inline bool m0_rpc__frm_is_idle(const struct m0_rpc_frm *frm)
{
	return frm->f_items_nr == 0 && frm->f_packets_enqed == 0;
}

/** Links. Once, before anything else; zeroes the owner's half. */
void               m0_rpc__frm_item_init(struct m0_rpc_frm_item *item);
static inline bool m0_rpc__frm_item_is_cached(
	const struct m0_rpc_frm_item *item)
{
	return item->fi_frm != NULL;
}

/** By its deadline or otherwise; not what pulls it along. Pre: cached. */
bool m0_rpc__frm_item_is_urgent(const struct m0_rpc_frm_item *item);

void m0_rpc__frm_stream_init(struct m0_rpc_frm_stream *stream);
/** Pre: none of its items is cached. */
void m0_rpc__frm_stream_fini(struct m0_rpc_frm_stream *stream);
void m0_rpc__frm_group_init(struct m0_rpc_frm_group *group);
/** Pre: none of its items is cached. */
void m0_rpc__frm_group_fini(struct m0_rpc_frm_group *group);
/** Makes what is held or waits urgent, and later ones of the group. */
void m0_rpc__frm_group_close(struct m0_rpc_frm_group *group);

/**
 * Puts an item into the cache. Forms nothing: that is run's.
 * @param linger  of fi_group, if this is its first item: held until now +
 *                linger.
 * @retval -EMSGSIZE  fits into no packet; not cached.
 */
int m0_rpc__frm_enq(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item,
		    m0_time_t now, m0_time_t linger);
/** Takes an item out of the cache; nothing happens if it is not in one. */
void m0_rpc__frm_remove(struct m0_rpc_frm_item *item);
/** The oldest cached item; NULL. For the end: remove until there is none. */
struct m0_rpc_frm_item *m0_rpc__frm_oldest(const struct m0_rpc_frm *frm);

/** Makes the set's next run look at it. */
void m0_rpc__frm_kick(struct m0_rpc_frm *frm);
/** Forms all packets that may be, of this formation, from what is urgent as the
 * set's last run (or the time of enq) had it. @return as _set_run(). */
bool m0_rpc__frm_run(struct m0_rpc_frm *frm);
/** One packet less in flight; the set's next run looks at it. */
void m0_rpc__frm_packet_done(struct m0_rpc_frm_packet *packet);

#endif /* M0_SRC_RPC_CORE_FRM_H */
