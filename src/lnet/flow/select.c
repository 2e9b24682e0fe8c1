/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection of a path: an NI of this node, and a NID of the peer that this NI
 * reaches.
 *
 * Selection is a function of the tables of NIs and peers; it changes nothing.
 * Paths are compared by a chain of criteria, of which the first that decides
 * counts. Nets that this node is not on are not reached: there is no routing.
 */
#include "lnet/lnet_internal.h"

/** Returns > 0 if `left` is better, < 0 if `right` is; 0: another criterion
 * decides. */
typedef int (*criterion_t)(const struct m0_lnet_engine *eng,
			   const struct m0_lnet__path  *left,
			   const struct m0_lnet__path  *right);

static int ni_up(const struct m0_lnet_engine *eng,
		 const struct m0_lnet__path  *left,
		 const struct m0_lnet__path  *right)
{
	(void)eng;
	return left->pth_ni->lni_lnd.ldn_up - right->pth_ni->lni_lnd.ldn_up;
}

static int peer_up(const struct m0_lnet_engine *eng,
		   const struct m0_lnet__path  *left,
		   const struct m0_lnet__path  *right)
{
	if (left->pth_lpni == right->pth_lpni)
		return 0;
	return m0_lnet__lpni_is_down(eng, right->pth_lpni) -
	       m0_lnet__lpni_is_down(eng, left->pth_lpni);
}

static int peer_credits(const struct m0_lnet_engine *eng,
			const struct m0_lnet__path  *left,
			const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_lpni == right->pth_lpni)
		return 0;
	return left->pth_lpni->lpn_credits - right->pth_lpni->lpn_credits;
}

/** The one that was used less recently is better. */
static int used_cmp(uint64_t left, uint64_t right)
{
	return (left < right) - (left > right);
}

static int peer_turn(const struct m0_lnet_engine *eng,
		     const struct m0_lnet__path  *left,
		     const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_lpni == right->pth_lpni)
		return 0;
	return used_cmp(left->pth_lpni->lpn_used_nr,
			right->pth_lpni->lpn_used_nr);
}

/** `right` was found first: it stays, unless both are of one NID. */
static int peer_order(const struct m0_lnet_engine *eng,
		      const struct m0_lnet__path  *left,
		      const struct m0_lnet__path  *right)
{
	(void)eng;
	return left->pth_lpni == right->pth_lpni ? 0 : -1;
}

static int ni_credits(const struct m0_lnet_engine *eng,
		      const struct m0_lnet__path  *left,
		      const struct m0_lnet__path  *right)
{
	(void)eng;
	return left->pth_ni->lni_credits - right->pth_ni->lni_credits;
}

static int ni_turn(const struct m0_lnet_engine *eng,
		   const struct m0_lnet__path  *left,
		   const struct m0_lnet__path  *right)
{
	(void)eng;
	return used_cmp(left->pth_ni->lni_used_nr, right->pth_ni->lni_used_nr);
}

static const criterion_t to_send[] = { ni_up,     peer_up,    peer_credits,
				       peer_turn, peer_order, ni_credits,
				       ni_turn,   NULL };
/** A peer is asked by its first NID, unless that is down. */
static const criterion_t to_ask[] = { peer_up,    peer_order, ni_up,
				      ni_credits, ni_turn,    NULL };

static bool is_better(const struct m0_lnet_engine *eng,
		      const criterion_t           *chain,
		      const struct m0_lnet__path  *left,
		      const struct m0_lnet__path  *right)
{
	int rc = 0;

	for (; *chain != NULL && rc == 0; ++chain)
		rc = (*chain)(eng, left, right);
	return rc > 0;
}

/** Compares the paths to one NID with the best one so far. */
static void nid_try(const struct m0_lnet_engine *eng,
		    const struct m0_lnet__want  *want,
		    const struct m0_lnet_nid *nid, struct m0_lnet_lpni *lpni,
		    struct m0_lnet__path *best)
{
	const criterion_t   *chain = want->wnt_ask ? to_ask : to_send;
	struct m0_lnet__path path = { .pth_lpni = lpni };

	M0_PRE(lpni == NULL || lpni->lpn_peer == want->wnt_peer);
	m0_list_for_each_entry(&eng->le_nis, path.pth_ni, struct m0_lnet_ni,
			       lni_link) {
		if ((want->wnt_ni != NULL && path.pth_ni != want->wnt_ni) ||
		    !m0_lnet__ni_is_usable(path.pth_ni) ||
		    !m0_lnet__ni_fits(path.pth_ni, nid))
			continue;
		if (best->pth_ni == NULL || is_better(eng, chain, &path, best))
			*best = path;
	}
}

struct m0_lnet__path m0_lnet__select(const struct m0_lnet_engine *eng,
				     const struct m0_lnet__want  *want)
{
	struct m0_lnet__path best = { NULL, NULL };
	struct m0_lnet_lpni *lpni;

	M0_PRE((want->wnt_peer == NULL) != (want->wnt_nid == NULL));
	if (want->wnt_nid != NULL) {
		nid_try(eng, want, want->wnt_nid, NULL, &best);
		return best;
	}
	m0_list_for_each_entry(&want->wnt_peer->lpe_lpnis, lpni,
			       struct m0_lnet_lpni, lpn_link)
		nid_try(eng, want, &lpni->lpn_nid, lpni, &best);
	M0_POST((best.pth_ni == NULL) == (best.pth_lpni == NULL));
	return best;
}

struct m0_lnet_ni *m0_lnet__ni_for(const struct m0_lnet_engine *eng,
				   const struct m0_lnet_nid    *nid)
{
	return m0_lnet__select(eng, &(struct m0_lnet__want){ .wnt_nid = nid })
		.pth_ni;
}
