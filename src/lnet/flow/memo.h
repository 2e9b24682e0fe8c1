/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Memos of the results of selections.
 *
 * A memo has the paths that are equal by all criteria which only a change of the
 * topology changes. It holds for one generation of the topology, and up to a time.
 * Credits, queued bytes and turns change with every message without a notification
 * of the memo. It keeps the candidates that are idle in the order of their turns, and
 * looks at the first: if that was used since, it goes to its new place; if it is
 * busy, it is put aside until it is idle. The first one that is neither is the best,
 * since an idle candidate is better than a busy one, and turns only grow. If all are
 * busy, each is looked at.
 */
#ifndef M0_SRC_LNET_FLOW_MEMO_H
#define M0_SRC_LNET_FLOW_MEMO_H

#include "lnet/lnet_internal.h"

enum {
	/** Memos of each kind. A memo that finds its place taken takes it. */
	M0_LNET__MEMOS_NR = 32,
	/** Different sets of NIs that one memo may have. */
	M0_LNET__MEMO_SETS_MAX = 8
};

/** A candidate; it uses a part of ent_path. */
struct m0_lnet__entry {
	struct m0_lnet__entry *ent_next;
	/** Load and turn, where they change; a constant if no criterion looks at
	 * them. */
	const uint64_t *ent_queued;
	const int      *ent_credits;
	const uint64_t *ent_used[2];
	/** The turn when the entry was put in its place. */
	uint64_t ent_turn[2];
	/** Credits while it is idle. */
	int                  ent_credits_max;
	struct m0_lnet__path ent_path;
	/** The NIs that reach pth_lpni. */
	struct m0_lnet__ring *ent_nis;
};

/** Candidates of which one is chosen. */
struct m0_lnet__ring {
	/** The last by turn of those that are idle, as far as is known; the first
	 * follows it. NULL: none is. */
	struct m0_lnet__entry *rgn_last;
	/** Busy ones, as far as is known. */
	struct m0_lnet__entry *rgn_busy;
	/** All, in the order in which a search finds them. */
	struct m0_lnet__entry *rgn_all;
	unsigned               rgn_nr;
	/** Credits of one that is idle. Those that never have so many are in no
	 * list: an idle one is better. */
	int rgn_credits;
};

/** The selections that a memo is of. */
struct m0_lnet__memo_key {
	/** To a peer, or (NULL) to NIDs of a net and a size. */
	const struct m0_lnet_peer *mky_peer;
	uint64_t                   mky_net;
	/** From one NI, or (NULL) from any. */
	const struct m0_lnet_ni *mky_ni;
	/** To the NID of this peer NI alone, as rules prefer interfaces or
	 * gateways for it; NULL: to all other NIDs of the net. */
	const struct m0_lnet_lpni *mky_dest;
};

struct m0_lnet__memo {
	struct m0_lnet__memo_key mem_key;
	uint64_t                 mem_generation;
	/** The end of the memo; 0: it is not made. A selection has then asked
	 * for it once, and it may pay to make it, unless there is no room. */
	m0_time_t mem_until;
	bool      mem_has_no_room;
	/** NIDs of a peer behind routers, of which one is chosen first. The way
	 * to it is in the memo of its net. */
	struct m0_lnet__ring mem_dests;
	/** Next hops: pth_lpni and, on a route, pth_route. */
	struct m0_lnet__ring   mem_hops;
	struct m0_lnet__ring   mem_sets[M0_LNET__MEMO_SETS_MAX];
	unsigned               mem_sets_nr;
	struct m0_lnet__entry *mem_entries;
	unsigned               mem_entries_nr;
	unsigned               mem_entries_max;
};

struct m0_lnet__memos {
	struct m0_lnet__memo mms_peers[M0_LNET__MEMOS_NR];
	struct m0_lnet__memo mms_nets[M0_LNET__MEMOS_NR];
	/** Pairs of a next hop and an NI, while a memo is made. */
	struct m0_lnet__path *mms_pairs;
	unsigned              mms_pairs_max;
};

/** @retval -ENOMEM */
int  m0_lnet__memos_init(struct m0_lnet_engine *eng);
void m0_lnet__memos_fini(struct m0_lnet_engine *eng);

/** Ends the memos: what they have found may be no more so. */
static inline void m0_lnet__paths_changed(struct m0_lnet_engine *eng)
{
	++eng->le_cache.lch_changes_nr;
}

/** Returns the time until when a peer NI is down because it was lost; 0: it was
 * not. */
m0_time_t m0_lnet__lpni_lost_until(const struct m0_lnet_lpni *lpni);

/** Returns a number that grows when memos end. */
static inline uint64_t m0_lnet__memo_generation(
	const struct m0_lnet_engine *eng)
{
	return eng->le_generation + eng->le_cache.lch_changes_nr;
}

/** Returns the place of the memo of these selections, whatever is there. */
static inline struct m0_lnet__memo *m0_lnet__memo_at(
	const struct m0_lnet_engine *eng, const struct m0_lnet__memo_key *key)
{
	struct m0_lnet__memos *all = eng->le_cache.lch_memos;
	uintptr_t              at = ((uintptr_t)key->mky_peer >> 6) +
		       ((uintptr_t)key->mky_ni >> 7) +
		       ((uintptr_t)key->mky_dest >> 6) + key->mky_net;

	return &(key->mky_peer != NULL ? all->mms_peers
				       : all->mms_nets)[at % M0_LNET__MEMOS_NR];
}

/** Returns true if the memo is of these selections, and nothing has changed. */
static inline bool m0_lnet__memo_is_of(const struct m0_lnet__memo     *memo,
				       const struct m0_lnet_engine    *eng,
				       const struct m0_lnet__memo_key *key)
{
	return memo->mem_generation == m0_lnet__memo_generation(eng) &&
	       memo->mem_key.mky_peer == key->mky_peer &&
	       memo->mem_key.mky_net == key->mky_net &&
	       memo->mem_key.mky_ni == key->mky_ni &&
	       memo->mem_key.mky_dest == key->mky_dest;
}

static inline bool m0_lnet__memo_is_made(const struct m0_lnet__memo  *memo,
					 const struct m0_lnet_engine *eng)
{
	return eng->le_now < memo->mem_until;
}

/** Empties a memo, and gives it room. @return false: no memory. */
bool m0_lnet__memo_clear(struct m0_lnet__memo *memo, unsigned entries_max);
/** Adds a candidate to the end of mem_entries, without load and turn. */
struct m0_lnet__entry *m0_lnet__memo_add(struct m0_lnet__memo       *memo,
					 const struct m0_lnet__path *path);
/** Makes room for one pair more. @return false: no memory. */
bool m0_lnet__memos_grow(struct m0_lnet__memos *all, unsigned nr);
/** Makes a ring of the entries from `first` to the end of mem_entries. */
void m0_lnet__ring_init(struct m0_lnet__ring       *ring,
			const struct m0_lnet__memo *memo,
			struct m0_lnet__entry      *first);

/** No bytes wait for a peer NI that has credits. */
static inline bool m0_lnet__entry_is_idle(const struct m0_lnet__ring  *ring,
					  const struct m0_lnet__entry *entry)
{
	return *entry->ent_credits == ring->rgn_credits;
}

/** @param both  the ring has a second turn. */
static inline __attribute__((__always_inline__)) bool m0_lnet__entry_was_used(
	const struct m0_lnet__entry *entry, bool both)
{
	return entry->ent_turn[0] != *entry->ent_used[0] ||
	       (both && entry->ent_turn[1] != *entry->ent_used[1]);
}

/** Returns the best of a ring with candidates that are put aside, or that is not in
 * order. */
struct m0_lnet__entry *m0_lnet__ring_sort(struct m0_lnet__ring *ring);

/** Returns the best of a ring that is not empty. @param both  see above. */
static inline __attribute__((__always_inline__)) struct m0_lnet__entry *
m0_lnet__ring_best(struct m0_lnet__ring *ring, bool both)
{
	struct m0_lnet__entry *last = ring->rgn_last;
	struct m0_lnet__entry *entry;

	M0_PRE_EX(ring->rgn_nr > 0);
	if (M0_UNLIKELY(ring->rgn_busy != NULL))
		return m0_lnet__ring_sort(ring);
	/* If none is put aside, the ring has one. */
	M0_ASSERT_EX(last != NULL);
	for (entry = last->ent_next; m0_lnet__entry_was_used(entry, both);
	     entry = entry->ent_next) {
		if (M0_UNLIKELY(*entry->ent_used[0] <= last->ent_turn[0]))
			return m0_lnet__ring_sort(ring);
		/* The one that was used is the last one now. */
		entry->ent_turn[0] = *entry->ent_used[0];
		if (both)
			entry->ent_turn[1] = *entry->ent_used[1];
		ring->rgn_last = last = entry;
	}
	return M0_LIKELY(m0_lnet__entry_is_idle(ring, entry))
		       ? entry
		       : m0_lnet__ring_sort(ring);
}

#endif /* M0_SRC_LNET_FLOW_MEMO_H */
