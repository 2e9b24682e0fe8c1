/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/flow/memo.h"

enum {
	ENTRIES_MIN = 16
};

/* -- rings ----------------------------------------------------------------- */

/** Returns true if the turn of `left` is earlier. Entries of one ring stand in one
 * array, in the order of the search. */
static bool is_earlier(const struct m0_lnet__entry *left,
		       const struct m0_lnet__entry *right)
{
	if (left->ent_turn[0] != right->ent_turn[0])
		return left->ent_turn[0] < right->ent_turn[0];
	if (left->ent_turn[1] != right->ent_turn[1])
		return left->ent_turn[1] < right->ent_turn[1];
	return left < right;
}

/** Puts an entry in its place. If it is busy, the next look at it puts it aside. */
static void ring_put(struct m0_lnet__ring *ring, struct m0_lnet__entry *entry)
{
	struct m0_lnet__entry *at = ring->rgn_last;

	M0_PRE_EX(entry->ent_credits_max == ring->rgn_credits);
	entry->ent_turn[0] = *entry->ent_used[0];
	entry->ent_turn[1] = *entry->ent_used[1];
	if (at == NULL) {
		entry->ent_next = entry;
		ring->rgn_last = entry;
		return;
	}
	if (is_earlier(at, entry))
		ring->rgn_last = entry;
	else
		while (is_earlier(at->ent_next, entry))
			at = at->ent_next;
	entry->ent_next = at->ent_next;
	at->ent_next = entry;
}

/** Puts those that are idle again in their places. */
static void ring_return(struct m0_lnet__ring *ring)
{
	struct m0_lnet__entry **at = &ring->rgn_busy;
	struct m0_lnet__entry  *entry;

	while ((entry = *at) != NULL) {
		if (!m0_lnet__entry_is_idle(ring, entry)) {
			at = &entry->ent_next;
			continue;
		}
		*at = entry->ent_next;
		ring_put(ring, entry);
	}
}

/** Puts the first one, whose turn has changed, in its place; or it is busy: puts
 * it aside. */
static void ring_move(struct m0_lnet__ring *ring)
{
	struct m0_lnet__entry *last = ring->rgn_last;
	struct m0_lnet__entry *entry = last->ent_next;

	M0_PRE_EX(entry->ent_next != NULL);
	if (entry == last)
		ring->rgn_last = NULL;
	else
		last->ent_next = entry->ent_next;
	if (m0_lnet__entry_is_idle(ring, entry)) {
		ring_put(ring, entry);
	} else {
		entry->ent_next = ring->rgn_busy;
		ring->rgn_busy = entry;
	}
}

/** Compares two candidates, the left one of which stands first in the search. */
static bool is_better(const struct m0_lnet__entry *left,
		      const struct m0_lnet__entry *right)
{
	if (*left->ent_queued != *right->ent_queued)
		return *left->ent_queued < *right->ent_queued;
	if (*left->ent_credits != *right->ent_credits)
		return *left->ent_credits > *right->ent_credits;
	if (*left->ent_used[0] != *right->ent_used[0])
		return *left->ent_used[0] < *right->ent_used[0];
	return *left->ent_used[1] <= *right->ent_used[1];
}

/** Compares all. */
static struct m0_lnet__entry *ring_search(const struct m0_lnet__ring *ring)
{
	struct m0_lnet__entry *best = ring->rgn_all;
	unsigned               i;

	M0_PRE(ring->rgn_nr > 0);
	for (i = 1; i < ring->rgn_nr; ++i)
		if (!is_better(best, &ring->rgn_all[i]))
			best = &ring->rgn_all[i];
	return best;
}

struct m0_lnet__entry *m0_lnet__ring_sort(struct m0_lnet__ring *ring)
{
	struct m0_lnet__entry *first;

	M0_PRE(ring->rgn_nr > 0);
	M0_PRE_EX(ring->rgn_last != NULL || ring->rgn_busy != NULL);
	ring_return(ring);
	while (ring->rgn_last != NULL) {
		first = ring->rgn_last->ent_next;
		if (!m0_lnet__entry_was_used(first, true) &&
		    m0_lnet__entry_is_idle(ring, first))
			return first;
		ring_move(ring);
	}
	return ring_search(ring);
}

void m0_lnet__ring_init(struct m0_lnet__ring       *ring,
			const struct m0_lnet__memo *memo,
			struct m0_lnet__entry      *first)
{
	/* An empty memo has no array. */
	unsigned before = memo->mem_entries_nr == 0
				  ? 0
				  : (unsigned)(first - memo->mem_entries);
	unsigned i;

	M0_PRE(before <= memo->mem_entries_nr);
	M0_SET0(ring);
	ring->rgn_all = first;
	ring->rgn_nr = memo->mem_entries_nr - before;
	for (i = 0; i < ring->rgn_nr; ++i)
		ring->rgn_credits =
			i == 0 ? first->ent_credits_max
			       : max_check(ring->rgn_credits,
					   first[i].ent_credits_max);
	for (i = 0; i < ring->rgn_nr; ++i)
		if (first[i].ent_credits_max == ring->rgn_credits)
			ring_put(ring, &first[i]);
	/* An entry of the most credits is in the list. */
	M0_POST((ring->rgn_nr == 0) == (ring->rgn_last == NULL));
}

/* -- memos ----------------------------------------------------------------- */

bool m0_lnet__memo_clear(struct m0_lnet__memo *memo, unsigned entries_max)
{
	memo->mem_entries_nr = 0;
	memo->mem_sets_nr = 0;
	M0_SET0(&memo->mem_dests);
	M0_SET0(&memo->mem_hops);
	if (entries_max <= memo->mem_entries_max)
		return true;
	m0_free(memo->mem_entries);
	entries_max = max_check(entries_max, (unsigned)ENTRIES_MIN);
	M0_ALLOC_ARR(memo->mem_entries, entries_max);
	memo->mem_entries_max = memo->mem_entries == NULL ? 0 : entries_max;
	return memo->mem_entries != NULL;
}

struct m0_lnet__entry *m0_lnet__memo_add(struct m0_lnet__memo       *memo,
					 const struct m0_lnet__path *path)
{
	/* The value of a load or turn that no criterion looks at. */
	static const uint64_t  zero;
	static const int       none;
	struct m0_lnet__entry *entry;

	M0_PRE(memo->mem_entries_nr < memo->mem_entries_max);
	entry = &memo->mem_entries[memo->mem_entries_nr++];
	*entry = (struct m0_lnet__entry){
		.ent_queued = &zero,
		.ent_credits = &none,
		.ent_used = { &zero, &zero },
		.ent_path = *path,
	};
	return entry;
}

bool m0_lnet__memos_grow(struct m0_lnet__memos *all, unsigned nr)
{
	struct m0_lnet__path *pairs;
	unsigned              max = max_check(2 * nr, (unsigned)ENTRIES_MIN);

	M0_PRE(nr <= all->mms_pairs_max);
	if (nr < all->mms_pairs_max)
		return true;
	M0_ALLOC_ARR(pairs, max);
	if (pairs == NULL)
		return false;
	if (nr > 0)
		memcpy(pairs, all->mms_pairs, nr * sizeof *pairs);
	m0_free(all->mms_pairs);
	all->mms_pairs = pairs;
	all->mms_pairs_max = max;
	return true;
}

int m0_lnet__memos_init(struct m0_lnet_engine *eng)
{
	M0_PRE(eng->le_cache.lch_memos == NULL);
	M0_ALLOC_PTR(eng->le_cache.lch_memos);
	return eng->le_cache.lch_memos == NULL ? -ENOMEM : 0;
}

void m0_lnet__memos_fini(struct m0_lnet_engine *eng)
{
	struct m0_lnet__memos *all = eng->le_cache.lch_memos;
	unsigned               i;

	M0_PRE(all != NULL);
	for (i = 0; i < M0_LNET__MEMOS_NR; ++i) {
		m0_free(all->mms_peers[i].mem_entries);
		m0_free(all->mms_nets[i].mem_entries);
	}
	m0_free(all->mms_pairs);
	m0_free(all);
	eng->le_cache.lch_memos = NULL;
}
