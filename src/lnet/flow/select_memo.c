/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Making memos of selections from searches, and selections by memos. */
#include "lnet/flow/search.h"
#include "lnet/route/route.h"

/** Returns the key of a memo: the part of a NID that m0_lnet__ni_fits() and
 * m0_lnet__far_find() look at. */
static uint64_t net_of(const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_net(nid) | (uint64_t)(nid->ln_size + 1) << 32;
}

/** Returns the key of a selection to one NID. @param dest  its peer NI, or NULL. */
static inline struct m0_lnet__memo_key key_of_nid(
	const struct m0_lnet_nid *nid, const struct m0_lnet_ni *ni,
	const struct m0_lnet_lpni *dest)
{
	bool prefers = dest != NULL && dest->lpn_policy.lpp_prefer != NULL;

	return (struct m0_lnet__memo_key){
		.mky_net = net_of(nid),
		.mky_ni = ni,
		.mky_dest = prefers ? dest : NULL,
	};
}

/** Finds the set of NIs of pairs [from, to), or makes it. NULL: no room. */
static struct m0_lnet__ring *set_of(struct m0_lnet__search *search,
				    unsigned from, unsigned to)
{
	struct m0_lnet__memo       *memo = search->sea_memo;
	const struct m0_lnet__path *pairs =
		&search->sea_eng->le_cache.lch_memos->mms_pairs[from];
	struct m0_lnet__entry *first = &memo->mem_entries[memo->mem_entries_nr];
	struct m0_lnet__entry *entry;
	struct m0_lnet__ring  *set;
	unsigned               nr = to - from;
	unsigned               i = 0;

	M0_PRE(from < to && to <= search->sea_pairs_nr);
	for (set = memo->mem_sets; set < &memo->mem_sets[memo->mem_sets_nr];
	     ++set) {
		for (i = 0; i < min_check(nr, set->rgn_nr); ++i)
			if (set->rgn_all[i].ent_path.pth_ni != pairs[i].pth_ni)
				break;
		if (i == nr && i == set->rgn_nr)
			return set;
	}
	if (memo->mem_sets_nr == ARRAY_SIZE(memo->mem_sets))
		return NULL;
	for (i = 0; i < nr; ++i) {
		entry = m0_lnet__memo_add(memo, &pairs[i]);
		m0_lnet__entry_bind(entry, search->sea_chain, M0_LNET__PART_NI);
	}
	m0_lnet__ring_init(set, memo, first);
	++memo->mem_sets_nr;
	return set;
}

/** Returns the number of the first pair of another next hop. */
static unsigned hop_end(const struct m0_lnet__search *search, unsigned from)
{
	const struct m0_lnet__path *pairs =
		search->sea_eng->le_cache.lch_memos->mms_pairs;
	unsigned to = from + 1;

	M0_PRE(from < search->sea_pairs_nr);
	while (to < search->sea_pairs_nr &&
	       pairs[to].pth_lpni == pairs[from].pth_lpni &&
	       pairs[to].pth_route == pairs[from].pth_route)
		++to;
	return to;
}

/** Makes next hops and sets of NIs from the pairs. @return false: no room. */
static bool hops_make(struct m0_lnet__search *search)
{
	struct m0_lnet__memo       *memo = search->sea_memo;
	const struct m0_lnet__path *pairs =
		search->sea_eng->le_cache.lch_memos->mms_pairs;
	struct m0_lnet__entry *hop;
	unsigned               at;

	if (search->sea_failed ||
	    !m0_lnet__memo_clear(memo, 2 * search->sea_pairs_nr))
		return false;
	for (at = 0; at < search->sea_pairs_nr; at = hop_end(search, at)) {
		hop = m0_lnet__memo_add(memo, &pairs[at]);
		m0_lnet__entry_bind(hop, search->sea_chain, M0_LNET__PART_HOP);
	}
	m0_lnet__ring_init(&memo->mem_hops, memo, memo->mem_entries);
	hop = memo->mem_entries;
	for (at = 0; at < search->sea_pairs_nr; at = hop_end(search, at)) {
		hop->ent_nis = set_of(search, at, hop_end(search, at));
		if (hop->ent_nis == NULL)
			return false;
		++hop;
	}
	return true;
}

static bool memo_make(const struct m0_lnet_engine    *eng,
		      const struct m0_lnet__want     *want,
		      const struct m0_lnet__memo_key *key,
		      struct m0_lnet__memo           *memo);

/** Returns the memo of the way to a NID behind routers; NULL: no room. */
static inline struct m0_lnet__memo *way_to(const struct m0_lnet_engine *eng,
					   const struct m0_lnet_lpni   *dest,
					   const struct m0_lnet_ni     *ni)
{
	const struct m0_lnet__memo_key key =
		key_of_nid(&dest->lpn_nid, ni, dest);
	const struct m0_lnet__want want = { .wnt_nid = &dest->lpn_nid,
					    .wnt_ni = ni };
	struct m0_lnet__memo      *way = m0_lnet__memo_at(eng, &key);

	if (M0_LIKELY(m0_lnet__memo_is_of(way, eng, &key) &&
		      m0_lnet__memo_is_made(way, eng)))
		return way;
	return memo_make(eng, &want, &key, way) ? way : NULL;
}

/** Makes the list of the NIDs of a peer that routers lead to. */
static bool dests_make(struct m0_lnet__search *search)
{
	const struct m0_lnet_engine *eng = search->sea_eng;
	const struct m0_lnet__want  *want = search->sea_want;
	struct m0_lnet__memo        *memo = search->sea_memo;
	struct m0_lnet__path         path = { NULL, NULL, NULL, NULL };
	const struct m0_lnet__memo  *way;
	struct m0_lnet__entry       *entry;
	unsigned                     i;

	M0_PRE(want->wnt_peer != NULL);
	if (!m0_lnet__memo_clear(
		    memo, (unsigned)m0_list_length(&want->wnt_peer->lpe_lpnis)))
		return false;
	m0_list_for_each_entry(&want->wnt_peer->lpe_lpnis, path.pth_dest,
			       struct m0_lnet_lpni, lpn_link) {
		way = way_to(eng, path.pth_dest, want->wnt_ni);
		if (way == NULL)
			return false;
		search->sea_until = min64u(search->sea_until, way->mem_until);
		if (way->mem_hops.rgn_nr == 0)
			continue;
		i = memo->mem_entries_nr;
		if (i > 0 &&
		    m0_lnet__fixed_cmp(eng, search->sea_chain, &path,
				       &memo->mem_entries[0].ent_path) < 0)
			continue;
		if (i > 0 &&
		    m0_lnet__fixed_cmp(eng, search->sea_chain, &path,
				       &memo->mem_entries[0].ent_path) > 0)
			memo->mem_entries_nr = 0;
		entry = m0_lnet__memo_add(memo, &path);
		m0_lnet__entry_bind(entry, search->sea_chain,
				    M0_LNET__PART_DEST);
	}
	m0_lnet__ring_init(&memo->mem_dests, memo, memo->mem_entries);
	return true;
}

/** Makes an empty memo of selections. */
static void memo_name(struct m0_lnet__memo           *memo,
		      const struct m0_lnet_engine    *eng,
		      const struct m0_lnet__memo_key *key)
{
	M0_PRE((key->mky_peer == NULL) == (key->mky_net != 0));
	memo->mem_key = *key;
	memo->mem_generation = m0_lnet__memo_generation(eng);
	memo->mem_until = 0;
	memo->mem_has_no_room = false;
}

/** Searches once, for this selection and those that follow. @return false: there is
 * no room. */
static __attribute__((__cold__, __noinline__)) bool memo_make(
	const struct m0_lnet_engine *eng, const struct m0_lnet__want *want,
	const struct m0_lnet__memo_key *key, struct m0_lnet__memo *memo)
{
	/* A gateway that this selection does not want, others may. */
	const struct m0_lnet__want all = { .wnt_peer = want->wnt_peer,
					   .wnt_nid = want->wnt_nid,
					   .wnt_ni = want->wnt_ni };
	struct m0_lnet__search     search = {
		    .sea_eng = eng,
		    .sea_want = &all,
		    .sea_chain = m0_lnet__chain_of(eng, M0_LNET__CHAIN_NEAR, false),
		    .sea_dest = m0_lnet__dest_of(eng, want),
		    .sea_memo = memo,
		    .sea_until = M0_TIME_NEVER,
	};
	bool made;

	memo_name(memo, eng, key);
	m0_lnet__near_try(&search);
	if (search.sea_pairs_nr > 0 || m0_lnet__routes(eng)->lrs_nr == 0) {
		made = hops_make(&search);
	} else if (want->wnt_nid != NULL) {
		search.sea_chain =
			m0_lnet__chain_of(eng, M0_LNET__CHAIN_HOP, false);
		m0_lnet__far_try(&search, want->wnt_nid, search.sea_dest);
		made = hops_make(&search);
	} else {
		search.sea_chain =
			m0_lnet__chain_of(eng, M0_LNET__CHAIN_FAR, false);
		made = dests_make(&search);
	}
	memo->mem_until = made ? search.sea_until : 0;
	memo->mem_has_no_room = !made;
	M0_POST(!made || m0_lnet__memo_is_made(memo, eng));
	return made;
}

static inline struct m0_lnet__memo_key key_of(const struct m0_lnet__want *want,
					      const struct m0_lnet_lpni  *dest)
{
	return want->wnt_nid != NULL
		       ? key_of_nid(want->wnt_nid, want->wnt_ni, dest)
		       : (struct m0_lnet__memo_key){
				 .mky_peer = want->wnt_peer,
				 .mky_ni = want->wnt_ni,
			 };
}

/** Makes the memo of a selection that was asked for before. @return NULL: it was
 * not, or there is no room. */
static __attribute__((__cold__, __noinline__)) struct m0_lnet__memo *memo_new(
	const struct m0_lnet_engine *eng, const struct m0_lnet__want *want,
	const struct m0_lnet_lpni *dest, struct m0_lnet__memo *memo)
{
	const struct m0_lnet__memo_key key = key_of(want, dest);

	M0_PRE(memo == m0_lnet__memo_at(eng, &key));
	if (!m0_lnet__memo_is_of(memo, eng, &key)) {
		memo_name(memo, eng, &key);
		return NULL;
	}
	return !memo->mem_has_no_room && memo_make(eng, want, &key, memo)
		       ? memo
		       : NULL;
}

/** Returns the best of a ring, which is seldom of more than one. */
static inline __attribute__((__always_inline__)) const struct m0_lnet__entry *
best_of(struct m0_lnet__ring *ring, bool both)
{
	return M0_LIKELY(ring->rgn_nr == 1) ? ring->rgn_all
					    : m0_lnet__ring_best(ring, both);
}

bool m0_lnet__select_memo(const struct m0_lnet_engine *eng,
			  const struct m0_lnet__want  *want,
			  struct m0_lnet__path        *ret)
{
	struct m0_lnet_lpni           *dest = m0_lnet__dest_of(eng, want);
	const struct m0_lnet__memo_key key = key_of(want, dest);
	struct m0_lnet__memo          *memo = m0_lnet__memo_at(eng, &key);
	const struct m0_lnet__entry   *hop;

	if (M0_UNLIKELY(!m0_lnet__memo_is_of(memo, eng, &key) ||
			!m0_lnet__memo_is_made(memo, eng)))
		memo = memo_new(eng, want, dest, memo);
	if (memo == NULL)
		return false;
	if (memo->mem_dests.rgn_nr > 0) {
		dest = m0_lnet__ring_best(&memo->mem_dests, false)
			       ->ent_path.pth_dest;
		memo = way_to(eng, dest, want->wnt_ni);
		if (memo == NULL)
			return false;
	}
	if (memo->mem_hops.rgn_nr == 0) {
		M0_SET0(ret);
		return true;
	}
	hop = best_of(&memo->mem_hops, true);
	M0_ASSERT_EX(hop->ent_nis->rgn_nr > 0);
	ret->pth_route = hop->ent_path.pth_route;
	ret->pth_lpni = hop->ent_path.pth_lpni;
	ret->pth_dest = dest;
	ret->pth_ni = best_of(hop->ent_nis, false)->ent_path.pth_ni;
	/* Without a candidate that is not the best one, the best one stays. */
	return want->wnt_not_by == NULL || ret->pth_route == NULL ||
	       ret->pth_lpni->lpn_peer != want->wnt_not_by;
}
