/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The effect of a change of the rules of selection, without the change: for each
 * peer, the paths that the selection prefers now, and those that it would prefer.
 *
 * Credits, queues and turns do not count, so that the answer is the same at any
 * time; what remains are the paths among which messages take turns. A call looks at
 * some peers, so that no message waits long for it. While it compares, it puts the
 * verdicts of the supposed rules in the place of those of the node.
 */
#include "lnet/flow/effect_nis.h"
#include "lnet/flow/select.h"
#include "lnet/route/route.h"
#include "m0/lnet_explain.h"

enum {
	/** Costs of a selection, and of each path of it. */
	SELECT_COST = 40,
	PATH_COST = 15,
	/** Peers that a call reports. */
	SHIFTS_MAX = 64,
	/** Paths for which there is memory at first. */
	PATHS_NR = 64
};

/** A peer NI, and the verdict of the rules that it does not have now. */
struct swap {
	struct m0_lnet_lpni        *esw_lpni;
	struct m0_lnet__lpni_policy esw_verdict;
};

/** A call in progress. */
struct effect {
	struct m0_lnet_engine   *eff_eng;
	struct m0_lnet__supposed eff_sps;
	struct m0_lnet_effect   *eff_ret;
	/** Paths of the selection that was last. */
	struct m0_lnet__trials eff_trials;
	/** For each of these paths: true if it is one of the preferred paths now. */
	bool *eff_now;
	/** As of m0_lnet__effect_nis(). */
	uint64_t *eff_nis;
	/** Peer NIs of which the verdict may change with the peer in hand; at
	 * most two for each path, and one. */
	struct swap *eff_swaps;
	unsigned     eff_swaps_nr;
	unsigned     eff_swaps_max;
	unsigned     eff_cost;
};

/* -- verdicts -------------------------------------------------------------- */

static void number_swap(uint64_t *one, uint64_t *other)
{
	uint64_t number = *one;

	*one = *other;
	*other = number;
}

static void verdict_swap(struct m0_lnet__lpni_policy *one,
			 struct m0_lnet__lpni_policy *other)
{
	uint32_t                net = one->lpp_net_priority;
	uint32_t                own = one->lpp_priority;
	struct m0_lnet__prefer *prefer = one->lpp_prefer;

	/* The links stay where they are. */
	one->lpp_net_priority = other->lpp_net_priority;
	one->lpp_priority = other->lpp_priority;
	one->lpp_prefer = other->lpp_prefer;
	other->lpp_net_priority = net;
	other->lpp_priority = own;
	other->lpp_prefer = prefer;
}

/** Exchanges the verdicts of the rules in force and of the supposed ones. */
static void verdicts_swap(struct effect *eff)
{
	struct m0_lnet_ni *ni;
	unsigned           i;

	for (i = 0; i < eff->eff_swaps_nr; ++i)
		verdict_swap(&eff->eff_swaps[i].esw_lpni->lpn_policy,
			     &eff->eff_swaps[i].esw_verdict);
	if (eff->eff_nis == NULL)
		return;
	i = 0;
	m0_list_for_each_entry(&eff->eff_eng->le_nis, ni, struct m0_lnet_ni,
			       lni_link)
		number_swap(&ni->lni_policy.nip_priority, &eff->eff_nis[i++]);
}

static void swaps_forget(struct effect *eff)
{
	while (eff->eff_swaps_nr > 0)
		m0_lnet__verdict_forget(
			&eff->eff_swaps[--eff->eff_swaps_nr].esw_verdict);
}

/** Finds the verdict on a peer NI after the change, unless it stays.
 * @retval -ENOMEM */
static int lpni_judge(struct effect *eff, struct m0_lnet_lpni *lpni)
{
	struct swap *swap = &eff->eff_swaps[eff->eff_swaps_nr];
	unsigned     i;

	if (lpni == NULL ||
	    !m0_lnet__supposed_nid(&eff->eff_sps, &lpni->lpn_nid))
		return 0;
	for (i = 0; i < eff->eff_swaps_nr; ++i)
		if (eff->eff_swaps[i].esw_lpni == lpni)
			return 0;
	M0_ASSERT(eff->eff_swaps_nr < eff->eff_swaps_max);
	M0_SET0(swap);
	swap->esw_lpni = lpni;
	++eff->eff_swaps_nr;
	return m0_lnet__rules_apply(eff->eff_sps.sps_rules, &lpni->lpn_nid,
				    &swap->esw_verdict, &eff->eff_cost);
}

/** lpni_judge() of all peer NIs that the selection has looked at. */
static int lpnis_judge(struct effect *eff, struct m0_lnet_lpni *lpni)
{
	const struct m0_lnet__trials *trials = &eff->eff_trials;
	unsigned                      i;
	int                           rc;

	M0_PRE(eff->eff_swaps_nr == 0 && trials->tls_nr <= trials->tls_max);
	rc = lpni_judge(eff, lpni);

	for (i = 0; rc == 0 && i < trials->tls_nr; ++i) {
		rc = lpni_judge(eff, trials->tls_trials[i].trl_path.pth_lpni);
		if (rc == 0)
			rc = lpni_judge(
				eff, trials->tls_trials[i].trl_path.pth_dest);
	}
	return rc;
}

/* -- paths ----------------------------------------------------------------- */

/** Makes memory for this number of paths. @retval -ENOMEM */
static int paths_grow(struct effect *eff, unsigned nr)
{
	M0_PRE(eff->eff_swaps_nr == 0 && nr > 0);
	m0_free(eff->eff_trials.tls_trials);
	m0_free(eff->eff_swaps);
	m0_free(eff->eff_now);
	M0_ALLOC_ARR(eff->eff_trials.tls_trials, nr);
	M0_ALLOC_ARR(eff->eff_swaps, 2 * nr + 1);
	M0_ALLOC_ARR(eff->eff_now, nr);
	eff->eff_trials.tls_max = nr;
	eff->eff_swaps_max = 2 * nr + 1;
	return eff->eff_trials.tls_trials == NULL || eff->eff_swaps == NULL ||
			       eff->eff_now == NULL
		       ? -ENOMEM
		       : 0;
}

static void paths_compare(struct effect *eff, struct m0_lnet_lpni *lpni)
{
	const struct m0_lnet_peer *peer = lpni->lpn_peer;
	bool                       many = m0_lnet__peer_is_multi_rail(peer);

	eff->eff_trials.tls_nr = 0;
	(void)m0_lnet__select(eff->eff_eng,
			      &(struct m0_lnet__want){
				      .wnt_peer = many ? peer : NULL,
				      .wnt_nid = many ? NULL : &lpni->lpn_nid,
				      .wnt_lpni = many ? NULL : lpni,
				      .wnt_trials = &eff->eff_trials });
	eff->eff_cost += SELECT_COST + eff->eff_trials.tls_nr * PATH_COST;
}

/** Returns the index of the first of the preferred paths; the others follow it, and
 * are those that are equal to it. */
static unsigned paths_first(const struct m0_lnet__trials *trials)
{
	unsigned i = 0;

	M0_PRE(trials->tls_nr <= trials->tls_max);
	while (i < trials->tls_nr && trials->tls_trials[i].trl_lost_by != NULL)
		++i;
	M0_POST((i < trials->tls_nr) == (trials->tls_nr > 0));
	return i;
}

/** Returns true if the path is one of the preferred ones. */
static bool is_preferred(const struct m0_lnet__trials *trials, unsigned first,
			 unsigned i)
{
	return i == first || (i > first && trials->tls_trials[i].trl_is_tie);
}

static void nids_of(const struct m0_lnet__path *path,
		    const struct m0_lnet_lpni  *lpni,
		    struct m0_lnet_path_nids   *ret)
{
	const struct m0_lnet_lpni *hop =
		path->pth_lpni == NULL ? lpni : path->pth_lpni;
	const struct m0_lnet_lpni *dest = path->pth_route == NULL ? hop
					  : path->pth_dest == NULL
						  ? lpni
						  : path->pth_dest;

	M0_PRE(path->pth_ni != NULL && hop != NULL);
	ret->lpd_ni = path->pth_ni->lni_lnd.ldn_nid;
	ret->lpd_hop = hop->lpn_nid;
	ret->lpd_dest = dest->lpn_nid;
	ret->lpd_is_routed = path->pth_route != NULL;
}

/** Notes the preferred paths. */
static void paths_note(const struct m0_lnet__trials *trials,
		       const struct m0_lnet_lpni    *lpni,
		       struct m0_lnet_path_set      *ret)
{
	unsigned first = paths_first(trials);
	unsigned i;

	M0_PRE(lpni != NULL);
	ret->lps_nr = 0;
	for (i = first; i < trials->tls_nr; ++i) {
		if (!is_preferred(trials, first, i))
			continue;
		if (ret->lps_nr < ARRAY_SIZE(ret->lps_paths))
			nids_of(&trials->tls_trials[i].trl_path, lpni,
				&ret->lps_paths[ret->lps_nr]);
		++ret->lps_nr;
	}
	M0_POST((ret->lps_nr > 0) == (trials->tls_nr > 0));
}

/** Remembers which paths are preferred now. */
static void paths_mark(struct effect *eff)
{
	const struct m0_lnet__trials *trials = &eff->eff_trials;
	unsigned                      first = paths_first(trials);
	unsigned                      i;

	for (i = 0; i < trials->tls_nr; ++i)
		eff->eff_now[i] = is_preferred(trials, first, i);
}

/** Returns true if other paths are preferred than those that were marked. The
 * rules do not change what is compared, and in which order. */
static bool paths_differ(const struct effect *eff)
{
	const struct m0_lnet__trials *trials = &eff->eff_trials;
	unsigned                      first = paths_first(trials);
	unsigned                      i;

	for (i = 0; i < trials->tls_nr; ++i)
		if (eff->eff_now[i] != is_preferred(trials, first, i))
			return true;
	return false;
}

/* -- peers ----------------------------------------------------------------- */

/** Compares the paths to a peer, or to its NID if it is not Multi-Rail.
 * @retval -ENOMEM */
static int peer_compare(struct effect *eff, struct m0_lnet_lpni *lpni)
{
	struct m0_lnet_effect *ret = eff->eff_ret;
	struct m0_lnet_shift  *shift = &ret->lef_shifts[ret->lef_shifts_nr];
	unsigned               nr;
	int                    rc = 0;

	M0_PRE(ret->lef_shifts_nr < SHIFTS_MAX);
	paths_compare(eff, lpni);
	nr = eff->eff_trials.tls_nr;
	if (nr > eff->eff_trials.tls_max) {
		rc = paths_grow(eff, nr);
		if (rc != 0)
			return rc;
		paths_compare(eff, lpni);
	}
	paths_mark(eff);
	paths_note(&eff->eff_trials, lpni, &shift->lsf_now);
	rc = lpnis_judge(eff, lpni);
	if (rc == 0 && (eff->eff_swaps_nr > 0 || eff->eff_nis != NULL)) {
		verdicts_swap(eff);
		paths_compare(eff, lpni);
		M0_ASSERT(eff->eff_trials.tls_nr == nr);
		paths_note(&eff->eff_trials, lpni, &shift->lsf_then);
		verdicts_swap(eff);
		if (paths_differ(eff)) {
			shift->lsf_primary = lpni->lpn_peer->lpe_primary;
			shift->lsf_nid = lpni->lpn_nid;
			++ret->lef_shifts_nr;
		}
	}
	swaps_forget(eff);
	return rc;
}

/** Returns true if paths to this peer NI are paths of their own: those to a peer
 * that is Multi-Rail are compared once. */
static bool is_compared(const struct m0_lnet_lpni *lpni)
{
	const struct m0_lnet_peer *peer = lpni->lpn_peer;

	return !m0_lnet__peer_is_multi_rail(peer) ||
	       m0_list_first(&peer->lpe_lpnis) == &lpni->lpn_link;
}

/** Compares peers from this one on, and this one at any cost. */
static int peers_compare(struct effect *eff, struct m0_hash_link *link)
{
	struct m0_lnet_effect *ret = eff->eff_ret;
	struct m0_hash_link   *first = link;
	int                    rc = 0;

	for (; rc == 0 && link != NULL; link = m0_hash_next(link)) {
		struct m0_lnet_lpni *lpni =
			container_of(link, struct m0_lnet_lpni, lpn_hash);

		if (link != first && (eff->eff_cost >= M0_LNET__EFFECT_COST ||
				      ret->lef_shifts_nr == SHIFTS_MAX))
			return 0;
		if (is_compared(lpni)) {
			++ret->lef_peers_nr;
			rc = peer_compare(eff, lpni);
		}
		++eff->eff_cost;
		ret->lef_last = lpni->lpn_nid;
	}
	ret->lef_is_whole = rc == 0;
	return rc;
}

/** Finds the peer NI to begin with. @retval -ESTALE  it is not known any more. */
static int begin_find(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_effect *after,
		      struct m0_hash_link        **ret)
{
	if (after == NULL) {
		*ret = m0_hash_first(&eng->le_lpnis);
		return 0;
	}
	if (after->lef_changes_nr != eng->le_policies->lpc_changes_nr)
		return -ESTALE;
	*ret = m0_hash_find(&eng->le_lpnis, &after->lef_last,
			    sizeof after->lef_last);
	if (*ret == NULL)
		return -ESTALE;
	*ret = m0_hash_next(*ret);
	return 0;
}

static struct m0_lnet_effect *effect_new(const struct m0_lnet_engine *eng)
{
	struct m0_lnet_effect *ret =
		m0_alloc(sizeof *ret + SHIFTS_MAX * sizeof ret->lef_shifts[0]);

	if (ret != NULL)
		ret->lef_changes_nr = eng->le_policies->lpc_changes_nr;
	return ret;
}

static void effect_fini(struct effect *eff)
{
	m0_lnet__suppose_end(&eff->eff_sps);
	m0_free(eff->eff_trials.tls_trials);
	m0_free(eff->eff_now);
	m0_free(eff->eff_swaps);
	m0_free(eff->eff_ret);
}

int m0_lnet_engine_effect(struct m0_lnet_engine     *eng,
			  const struct m0_lnet_udsp *add, int32_t del,
			  const struct m0_lnet_effect *after,
			  struct m0_lnet_effect      **ret)
{
	struct effect        eff = { .eff_eng = eng,
				     .eff_trials = { .tls_is_still = true } };
	struct m0_hash_link *link;
	unsigned             rules_nr = eng->le_policies->lpc_nr;
	int                  rc = begin_find(eng, after, &link);

	M0_PRE(after == NULL || !after->lef_is_whole);

	if (rc == 0 && !m0_lnet_engine_udsp_is_settled(eng))
		rc = -EAGAIN;
	if (rc == 0)
		rc = m0_lnet__suppose(eng, add, del, &eff.eff_sps);
	if (rc == 0) {
		eff.eff_cost = 2 * eng->le_policies->lpc_nr;
		eff.eff_ret = effect_new(eng);
		rc = eff.eff_ret == NULL
			     ? -ENOMEM
			     : m0_lnet__effect_nis(
				       eng, &eff.eff_sps,
				       &(struct m0_lnet__question){ add, del },
				       &eff.eff_cost, &eff.eff_nis);
	}
	if (rc == 0)
		rc = paths_grow(&eff, PATHS_NR);
	if (rc == 0)
		rc = peers_compare(&eff, link);
	if (rc == 0) {
		*ret = eff.eff_ret;
		eff.eff_ret = NULL;
	}
	effect_fini(&eff);
	M0_POST(eng->le_policies->lpc_nr == rules_nr);
	return rc;
}
