/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Selection of a path: an NI of this node, and a NID that this NI reaches, of the
 * peer or, if no NI reaches the peer, of a gateway on a route to it.
 *
 * Selection is a function of the tables of NIs, peers and routes; it changes
 * nothing but memos of earlier selections (memo.h), which change no result. Paths
 * are compared by a chain of criteria (criteria.c), of which the first that decides
 * counts. It looks at the NIs, at the NIDs of one peer, and at the routes to their
 * networks, and at nothing else, however many peers and routes there are.
 */
#include "lnet/flow/search.h"
#include "lnet/route/route.h"

/* -- search ---------------------------------------------------------------- */

/** Notes a path among those that are equal so far. */
static __attribute__((__cold__, __noinline__)) void pair_offer(
	struct m0_lnet__search *search, const struct m0_lnet__path *path)
{
	struct m0_lnet__memos *all = search->sea_eng->le_cache.lch_memos;
	int                    rc = 0;

	M0_PRE(search->sea_memo != NULL && path->pth_ni != NULL);
	if (search->sea_pairs_nr > 0)
		rc = m0_lnet__fixed_cmp(search->sea_eng, search->sea_chain,
					path, &all->mms_pairs[0]);
	if (rc < 0 || search->sea_failed)
		return;
	if (rc > 0)
		search->sea_pairs_nr = 0;
	if (m0_lnet__memos_grow(all, search->sea_pairs_nr))
		all->mms_pairs[search->sea_pairs_nr++] = *path;
	else
		search->sea_failed = true;
}

/** A memo ends when time changes what is known of a peer NI, or a message does. */
static void lpni_watch(struct m0_lnet__search *search,
		       struct m0_lnet_lpni    *lpni)
{
	m0_time_t until = m0_lnet__lpni_lost_until(lpni);

	if (M0_LIKELY(search->sea_memo == NULL) ||
	    until <= search->sea_eng->le_now)
		return;
	lpni->lpn_is_awaited = true;
	search->sea_until = min64u(search->sea_until, until);
}

static void route_watch(struct m0_lnet__search *search,
			struct m0_lnet_route   *route)
{
	struct m0_lnet_lpni *lpni;

	if (M0_LIKELY(search->sea_memo == NULL))
		return;
	search->sea_until =
		min64u(search->sea_until,
		       m0_lnet__route_watch(search->sea_eng, route));
	m0_list_for_each_entry(
		&route->lrt_gateway->gw_lpni->lpn_peer->lpe_lpnis, lpni,
		struct m0_lnet_lpni, lpn_link)
		lpni_watch(search, lpni);
}

/** Notes a path. @return its place in the list. */
static unsigned trial_add(struct m0_lnet__trials     *trials,
			  const struct m0_lnet__path *path)
{
	if (trials->tls_nr < trials->tls_max)
		trials->tls_trials[trials->tls_nr] =
			(struct m0_lnet__trial){ .trl_path = *path };
	return trials->tls_nr++;
}

static void trial_lose(struct m0_lnet__trials *trials, unsigned at,
		       const struct m0_lnet__criterion *by,
		       const struct m0_lnet__path      *to)
{
	struct m0_lnet__trial *trial;

	if (at >= trials->tls_max)
		return;
	trial = &trials->tls_trials[at];
	trial->trl_lost_by = by->cri_words;
	trial->trl_merit = m0_lnet__merit_of(by);
	trial->trl_lost_to = *to;
	trial->trl_is_tie = by->cri_compare == NULL;
}

static __attribute__((__cold__, __noinline__)) void trial_note(
	struct m0_lnet__search *search, const struct m0_lnet__path *path,
	const struct m0_lnet__criterion *by, bool won)
{
	struct m0_lnet__trials *trials = search->sea_want->wnt_trials;
	unsigned                at = trial_add(trials, path);

	M0_PRE((by == NULL) == (search->sea_best.pth_ni == NULL));
	if (by != NULL)
		trial_lose(trials, won ? search->sea_best_at : at, by,
			   won ? path : &search->sea_best);
	if (won)
		search->sea_best_at = at;
}

/** Compares a path with the best one so far. */
static void path_try(struct m0_lnet__search     *search,
		     const struct m0_lnet__path *path)
{
	const struct m0_lnet__criterion *by = NULL;
	int                              rc = 1;

	++search->sea_tried_nr;
	if (M0_UNLIKELY(search->sea_memo != NULL)) {
		pair_offer(search, path);
		return;
	}
	if (search->sea_best.pth_ni != NULL)
		by = m0_lnet__decide(search->sea_eng, search->sea_chain, path,
				     &search->sea_best, &rc);
	if (M0_UNLIKELY(search->sea_want->wnt_trials != NULL))
		trial_note(search, path, by, rc > 0);
	if (rc > 0)
		search->sea_best = *path;
}

/** Tries each NI that reaches the NID of the next hop; sets pth_ni. */
static void nis_try(struct m0_lnet__search *search, struct m0_lnet__path *path,
		    const struct m0_lnet_nid *nid)
{
	const struct m0_lnet_ni *want = search->sea_want->wnt_ni;

	m0_list_for_each_entry(&search->sea_eng->le_nis, path->pth_ni,
			       struct m0_lnet_ni, lni_link)
		if ((want == NULL || path->pth_ni == want) &&
		    m0_lnet__ni_is_usable(path->pth_ni) &&
		    m0_lnet__ni_fits(path->pth_ni, nid))
			path_try(search, path);
}

/** Tries the NIDs of the gateway that have addresses of so many bytes: one, unless it
 * is Multi-Rail. */
static void route_try(struct m0_lnet__search *search,
		      struct m0_lnet_route *route, struct m0_lnet_lpni *dest,
		      uint8_t size)
{
	struct m0_lnet_lpni *own = route->lrt_gateway->gw_lpni;
	struct m0_lnet_peer *peer = own->lpn_peer;
	struct m0_lnet__path path = { .pth_route = route, .pth_dest = dest };

	route_watch(search, route);
	if (peer == search->sea_want->wnt_not_by ||
	    (search->sea_want->wnt_by != NULL &&
	     !m0_lnet__peer_same(search->sea_eng, search->sea_want->wnt_by,
				 &own->lpn_nid)) ||
	    !m0_lnet__route_is_usable(search->sea_eng, route))
		return;
	m0_list_for_each_entry(&peer->lpe_lpnis, path.pth_lpni,
			       struct m0_lnet_lpni, lpn_link)
		if (path.pth_lpni->lpn_nid.ln_size == size &&
		    (path.pth_lpni == own || m0_lnet__peer_is_multi_rail(peer)))
			nis_try(search, &path, &path.pth_lpni->lpn_nid);
}

static void routes_try(struct m0_lnet__search   *search,
		       const struct m0_lnet_far *far, struct m0_lnet_lpni *dest,
		       uint8_t size)
{
	struct m0_lnet_route *route;

	m0_list_for_each_entry(&far->far_routes, route, struct m0_lnet_route,
			       lrt_of_far)
		route_try(search, route, dest, size);
}

/* A message has the NID of the interface that it leaves by as its source, and a header
 * with a NID of IPv6 does not pass a network of IPv4. So the next hop has an address of
 * the kind of the destination's. To IPv4 it may be of IPv6 if no other is there: a
 * router has messages of others. */
void m0_lnet__far_try(struct m0_lnet__search   *search,
		      const struct m0_lnet_nid *nid, struct m0_lnet_lpni *dest)
{
	const struct m0_lnet_far *far =
		m0_lnet__far_find(search->sea_eng, m0_lnet_nid_net(nid));
	unsigned before = search->sea_tried_nr;

	if (far == NULL)
		return;
	routes_try(search, far, dest, nid->ln_size);
	if (search->sea_tried_nr == before && nid->ln_size == 0)
		routes_try(search, far, dest, M0_LNET_NID_SIZE_IPV6);
}

/** Tries the paths without a router. */
void m0_lnet__near_try(struct m0_lnet__search *search)
{
	const struct m0_lnet__want *want = search->sea_want;
	struct m0_lnet__path        path = { .pth_dest = search->sea_dest };

	if (want->wnt_nid != NULL) {
		nis_try(search, &path, want->wnt_nid);
		return;
	}
	m0_list_for_each_entry(&want->wnt_peer->lpe_lpnis, path.pth_lpni,
			       struct m0_lnet_lpni, lpn_link) {
		lpni_watch(search, path.pth_lpni);
		nis_try(search, &path, &path.pth_lpni->lpn_nid);
	}
}

static const struct m0_lnet__criterion *chain_for(
	const struct m0_lnet_engine *eng, const struct m0_lnet__want *want,
	enum m0_lnet__chain chain)
{
	return m0_lnet__is_still(want)
		       ? m0_lnet__chain_still(chain)
		       : m0_lnet__chain_of(eng, chain, want->wnt_ask);
}

static __attribute__((__noinline__)) struct m0_lnet__path search_all(
	const struct m0_lnet_engine *eng, const struct m0_lnet__want *want)
{
	struct m0_lnet__search search = {
		.sea_eng = eng,
		.sea_want = want,
		.sea_chain = chain_for(eng, want, M0_LNET__CHAIN_NEAR),
		.sea_dest = m0_lnet__dest_of(eng, want),
	};
	struct m0_lnet_lpni *lpni;

	m0_lnet__near_try(&search);
	if (M0_LIKELY(search.sea_best.pth_ni != NULL) ||
	    m0_lnet__routes(eng)->lrs_nr == 0)
		return search.sea_best;
	search.sea_chain = chain_for(eng, want, M0_LNET__CHAIN_FAR);
	if (want->wnt_nid != NULL)
		m0_lnet__far_try(&search, want->wnt_nid, search.sea_dest);
	else
		m0_list_for_each_entry(&want->wnt_peer->lpe_lpnis, lpni,
				       struct m0_lnet_lpni, lpn_link)
			m0_lnet__far_try(&search, &lpni->lpn_nid, lpni);
	M0_POST((search.sea_best.pth_ni == NULL) ==
		(search.sea_best.pth_lpni == NULL));
	return search.sea_best;
}

/* -- selection ------------------------------------------------------------- */

/** Returns true if the search finds the same path: the proof of the memos, in
 * builds for debugging. */
static inline bool is_found(const struct m0_lnet_engine *eng,
			    const struct m0_lnet__want  *want,
			    const struct m0_lnet__path  *path)
{
	struct m0_lnet__path found = search_all(eng, want);

	return found.pth_ni == path->pth_ni &&
	       found.pth_lpni == path->pth_lpni &&
	       found.pth_route == path->pth_route &&
	       found.pth_dest == path->pth_dest;
}

struct m0_lnet__path m0_lnet__select(const struct m0_lnet_engine *eng,
				     const struct m0_lnet__want  *want)
{
	struct m0_lnet__path path;

	M0_PRE((want->wnt_peer == NULL) != (want->wnt_nid == NULL));
	if (M0_UNLIKELY(want->wnt_trials != NULL || want->wnt_ask ||
			want->wnt_by != NULL) ||
	    !m0_lnet__select_memo(eng, want, &path))
		return search_all(eng, want);
	M0_ASSERT_EX(is_found(eng, want, &path));
	return path;
}

struct m0_lnet_ni *m0_lnet__ni_for(const struct m0_lnet_engine *eng,
				   const struct m0_lnet_nid    *nid)
{
	return m0_lnet__select(eng, &(struct m0_lnet__want){ .wnt_nid = nid })
		.pth_ni;
}
