/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection of a path: an NI of this node, and a NID that this NI reaches, of the
 * peer or, if no NI reaches the peer, of a gateway on a route to it.
 *
 * Selection is a function of the tables of NIs, peers and routes; it changes
 * nothing. Paths are compared by a chain of criteria, of which the first that
 * decides counts. It looks at the NIs, at the NIDs of one peer, and at the routes
 * to their networks, and at nothing else, however many peers and routes there are.
 */
#include "lnet/flow/select.h"
#include "lnet/route/route.h"

/** Returns > 0 if `left` is better, < 0 if `right` is; 0: another criterion
 * decides. */
typedef int (*compare_t)(const struct m0_lnet_engine *eng,
			 const struct m0_lnet__path  *left,
			 const struct m0_lnet__path  *right);

struct criterion {
	compare_t cri_compare;
	/** Why the other path has lost. */
	const char *cri_words;
};

/** A selection in progress. */
struct search {
	const struct m0_lnet_engine *sea_eng;
	const struct m0_lnet__want  *sea_want;
	const struct criterion      *sea_chain;
	struct m0_lnet__path         sea_best;
	/** Index of the best path in wnt_trials. */
	unsigned sea_best_at;
};

/* -- criteria -------------------------------------------------------------- */

/** The lesser one is better. */
static int less_cmp(uint64_t left, uint64_t right)
{
	return (left < right) - (left > right);
}

static int ni_up(const struct m0_lnet_engine *eng,
		 const struct m0_lnet__path  *left,
		 const struct m0_lnet__path  *right)
{
	(void)eng;
	return left->pth_ni->lni_lnd.ldn_up - right->pth_ni->lni_lnd.ldn_up;
}

static int ni_health(const struct m0_lnet_engine *eng,
		     const struct m0_lnet__path  *left,
		     const struct m0_lnet__path  *right)
{
	(void)eng;
	return (int)left->pth_ni->lni_health - (int)right->pth_ni->lni_health;
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

static int peer_health(const struct m0_lnet_engine *eng,
		       const struct m0_lnet__path  *left,
		       const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_lpni == right->pth_lpni)
		return 0;
	return (int)left->pth_lpni->lpn_health -
	       (int)right->pth_lpni->lpn_health;
}

static int peer_queued(const struct m0_lnet_engine *eng,
		       const struct m0_lnet__path  *left,
		       const struct m0_lnet__path  *right)
{
	(void)eng;
	return less_cmp(left->pth_lpni->lpn_queued_bytes,
			right->pth_lpni->lpn_queued_bytes);
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
static int peer_turn(const struct m0_lnet_engine *eng,
		     const struct m0_lnet__path  *left,
		     const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_lpni == right->pth_lpni)
		return 0;
	return less_cmp(left->pth_lpni->lpn_used_nr,
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
	return less_cmp(left->pth_ni->lni_used_nr, right->pth_ni->lni_used_nr);
}

static int dest_up(const struct m0_lnet_engine *eng,
		   const struct m0_lnet__path  *left,
		   const struct m0_lnet__path  *right)
{
	if (left->pth_dest == right->pth_dest)
		return 0;
	return m0_lnet__lpni_is_down(eng, right->pth_dest) -
	       m0_lnet__lpni_is_down(eng, left->pth_dest);
}

static int dest_health(const struct m0_lnet_engine *eng,
		       const struct m0_lnet__path  *left,
		       const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_dest == right->pth_dest)
		return 0;
	return (int)left->pth_dest->lpn_health -
	       (int)right->pth_dest->lpn_health;
}

static int dest_turn(const struct m0_lnet_engine *eng,
		     const struct m0_lnet__path  *left,
		     const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_dest == right->pth_dest)
		return 0;
	return less_cmp(left->pth_dest->lpn_used_nr,
			right->pth_dest->lpn_used_nr);
}

static int dest_order(const struct m0_lnet_engine *eng,
		      const struct m0_lnet__path  *left,
		      const struct m0_lnet__path  *right)
{
	(void)eng;
	return left->pth_dest == right->pth_dest ? 0 : -1;
}

static int route_priority(const struct m0_lnet_engine *eng,
			  const struct m0_lnet__path  *left,
			  const struct m0_lnet__path  *right)
{
	(void)eng;
	return less_cmp(left->pth_route->lrt_attr.lra_priority,
			right->pth_route->lrt_attr.lra_priority);
}

static uint32_t hops_of(const struct m0_lnet__path *path)
{
	uint32_t hops = path->pth_route->lrt_attr.lra_hops;

	return hops == 0 ? 1 : hops;
}

static int route_hops(const struct m0_lnet_engine *eng,
		      const struct m0_lnet__path  *left,
		      const struct m0_lnet__path  *right)
{
	(void)eng;
	return less_cmp(hops_of(left), hops_of(right));
}

static int route_turn(const struct m0_lnet_engine *eng,
		      const struct m0_lnet__path  *left,
		      const struct m0_lnet__path  *right)
{
	(void)eng;
	return less_cmp(left->pth_route->lrt_used_nr,
			right->pth_route->lrt_used_nr);
}

/* -- criteria of rules, see m0/lnet_udsp.h --------------------------------- */

static int peer_net_priority(const struct m0_lnet_engine *eng,
			     const struct m0_lnet__path  *left,
			     const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_lpni == right->pth_lpni)
		return 0;
	return less_cmp(left->pth_lpni->lpn_policy.lpp_net_priority,
			right->pth_lpni->lpn_policy.lpp_net_priority);
}

static int peer_priority(const struct m0_lnet_engine *eng,
			 const struct m0_lnet__path  *left,
			 const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_lpni == right->pth_lpni)
		return 0;
	return less_cmp(left->pth_lpni->lpn_policy.lpp_priority,
			right->pth_lpni->lpn_policy.lpp_priority);
}

static int ni_priority(const struct m0_lnet_engine *eng,
		       const struct m0_lnet__path  *left,
		       const struct m0_lnet__path  *right)
{
	(void)eng;
	return less_cmp(left->pth_ni->lni_policy.nip_priority,
			right->pth_ni->lni_policy.nip_priority);
}

static bool ni_is_preferred(const struct m0_lnet__path *path)
{
	/* A path to one NID has it as its destination. */
	const struct m0_lnet_lpni *lpni =
		path->pth_lpni != NULL ? path->pth_lpni : path->pth_dest;

	return lpni != NULL && m0_lnet__prefers_ni(&lpni->lpn_policy,
						   &path->pth_ni->lni_policy);
}

static int ni_preferred(const struct m0_lnet_engine *eng,
			const struct m0_lnet__path  *left,
			const struct m0_lnet__path  *right)
{
	(void)eng;
	return ni_is_preferred(left) - ni_is_preferred(right);
}

static int dest_priority(const struct m0_lnet_engine *eng,
			 const struct m0_lnet__path  *left,
			 const struct m0_lnet__path  *right)
{
	const struct m0_lnet__lpni_policy *one;
	const struct m0_lnet__lpni_policy *other;
	int                                rc;

	(void)eng;
	if (left->pth_dest == right->pth_dest)
		return 0;
	one = &left->pth_dest->lpn_policy;
	other = &right->pth_dest->lpn_policy;
	rc = less_cmp(one->lpp_net_priority, other->lpp_net_priority);
	return rc != 0 ? rc : less_cmp(one->lpp_priority, other->lpp_priority);
}

static bool gateway_is_preferred(const struct m0_lnet__path *path)
{
	return path->pth_dest != NULL &&
	       m0_lnet__prefers_gateway(&path->pth_dest->lpn_policy,
					path->pth_route->lrt_gateway->gw_slot);
}

static int gateway_preferred(const struct m0_lnet_engine *eng,
			     const struct m0_lnet__path  *left,
			     const struct m0_lnet__path  *right)
{
	(void)eng;
	if (left->pth_route == right->pth_route)
		return 0;
	return gateway_is_preferred(left) - gateway_is_preferred(right);
}

#define NI_UP                                  \
	{                                      \
		ni_up, "the interface is down" \
	}
#define NI_HEALTH                                          \
	{                                                  \
		ni_health, "the interface is less healthy" \
	}
#define NI_CREDITS                                            \
	{                                                     \
		ni_credits, "the interface has fewer credits" \
	}
#define NI_TURN                                                 \
	{                                                       \
		ni_turn, "the interface was used more recently" \
	}
#define PEER_UP                            \
	{                                  \
		peer_up, "the NID is down" \
	}
#define PEER_HEALTH                                    \
	{                                              \
		peer_health, "the NID is less healthy" \
	}
#define PEER_QUEUED                                            \
	{                                                      \
		peer_queued, "more bytes wait for the gateway" \
	}
#define PEER_CREDITS                                      \
	{                                                 \
		peer_credits, "the NID has fewer credits" \
	}
#define PEER_TURN                                           \
	{                                                   \
		peer_turn, "the NID was used more recently" \
	}
#define PEER_ORDER                                         \
	{                                                  \
		peer_order, "another NID stands before it" \
	}
#define DEST_UP                                        \
	{                                              \
		dest_up, "the destination NID is down" \
	}
#define DEST_HEALTH                                                \
	{                                                          \
		dest_health, "the destination NID is less healthy" \
	}
#define DEST_TURN                                                       \
	{                                                               \
		dest_turn, "the destination NID was used more recently" \
	}
#define DEST_ORDER                                                     \
	{                                                              \
		dest_order, "another destination NID stands before it" \
	}
#define ROUTE_PRIORITY                                               \
	{                                                            \
		route_priority, "the priority of the route is worse" \
	}
#define ROUTE_HOPS                                    \
	{                                             \
		route_hops, "the route has more hops" \
	}
#define ROUTE_TURN                                             \
	{                                                      \
		route_turn, "the route was used more recently" \
	}
#define PEER_NET_PRIORITY                                                           \
	{                                                                           \
		peer_net_priority,                                                  \
			"a rule gives the network of another NID a better priority" \
	}
#define PEER_PRIORITY                                                       \
	{                                                                   \
		peer_priority, "a rule gives another NID a better priority" \
	}
#define NI_PRIORITY                                                                       \
	{                                                                                 \
		ni_priority,                                                              \
			"a rule gives another interface or its network a better priority" \
	}
#define NI_PREFERRED                                                         \
	{                                                                    \
		ni_preferred, "a rule prefers another interface for the NID" \
	}
#define DEST_PRIORITY                                                            \
	{                                                                        \
		dest_priority,                                                   \
			"a rule gives another destination NID a better priority" \
	}
#define GATEWAY_PREFERRED                                                    \
	{                                                                    \
		gateway_preferred,                                           \
			"a rule prefers another gateway for the destination" \
	}
#define END                                              \
	{                                                \
		NULL, "another path was found before it" \
	}

static const struct criterion to_send[] = {
	NI_UP,     PEER_UP,    PEER_HEALTH, NI_HEALTH, PEER_CREDITS,
	PEER_TURN, PEER_ORDER, NI_CREDITS,  NI_TURN,   END
};
/** A peer is asked by its first NID, unless that is down. */
static const struct criterion to_ask[] = { PEER_UP, PEER_HEALTH, PEER_ORDER,
					   NI_UP,   NI_HEALTH,   NI_CREDITS,
					   NI_TURN, END };
#define BY_ROUTE                                                              \
	ROUTE_PRIORITY, ROUTE_HOPS, NI_UP, PEER_UP, PEER_HEALTH, NI_HEALTH,   \
		PEER_QUEUED, PEER_CREDITS, ROUTE_TURN, PEER_TURN, PEER_ORDER, \
		NI_CREDITS, NI_TURN, END
/* First the destination, then the way there. */
static const struct criterion to_send_far[] = { DEST_UP, DEST_HEALTH, DEST_TURN,
						DEST_ORDER, BY_ROUTE };
static const struct criterion to_ask_far[] = { DEST_UP, DEST_HEALTH, DEST_ORDER,
					       BY_ROUTE };

/* With rules. */
static const struct criterion to_send_ruled[] = {
	NI_UP,        PEER_UP,     PEER_HEALTH,   PEER_NET_PRIORITY,
	NI_HEALTH,    NI_PRIORITY, PEER_PRIORITY, NI_PREFERRED,
	PEER_CREDITS, PEER_TURN,   PEER_ORDER,    NI_CREDITS,
	NI_TURN,      END
};
static const struct criterion to_ask_ruled[] = {
	PEER_UP,     PEER_HEALTH,  PEER_ORDER, NI_UP,   NI_HEALTH,
	NI_PRIORITY, NI_PREFERRED, NI_CREDITS, NI_TURN, END
};
#define BY_ROUTE_RULED                                                  \
	GATEWAY_PREFERRED, ROUTE_PRIORITY, ROUTE_HOPS, NI_UP, PEER_UP,  \
		PEER_HEALTH, PEER_NET_PRIORITY, NI_HEALTH, NI_PRIORITY, \
		PEER_PRIORITY, NI_PREFERRED, PEER_QUEUED, PEER_CREDITS, \
		ROUTE_TURN, PEER_TURN, PEER_ORDER, NI_CREDITS, NI_TURN, END
static const struct criterion to_send_far_ruled[] = {
	DEST_UP,   DEST_HEALTH, DEST_PRIORITY,
	DEST_TURN, DEST_ORDER,  BY_ROUTE_RULED
};
static const struct criterion to_ask_far_ruled[] = { DEST_UP, DEST_HEALTH,
						     DEST_ORDER,
						     BY_ROUTE_RULED };

/* Without what changes with each message. */
#define STILL                                                      \
	NI_UP, PEER_UP, PEER_HEALTH, PEER_NET_PRIORITY, NI_HEALTH, \
		NI_PRIORITY, PEER_PRIORITY, NI_PREFERRED, END
static const struct criterion to_send_still[] = { STILL };
static const struct criterion to_send_far_still[] = {
	DEST_UP,        DEST_HEALTH, DEST_PRIORITY, GATEWAY_PREFERRED,
	ROUTE_PRIORITY, ROUTE_HOPS,  STILL
};

static bool is_ruled(const struct m0_lnet_engine *eng)
{
	return M0_UNLIKELY(eng->le_policies->lpc_nr > 0);
}

/** Returns the chain of a search; ask, far. */
static const struct criterion *chain_of(const struct m0_lnet_engine *eng,
					bool ask, bool far)
{
	static const struct criterion *const chains[2][2][2] = {
		{ { to_send, to_send_far }, { to_ask, to_ask_far } },
		{ { to_send_ruled, to_send_far_ruled },
		  { to_ask_ruled, to_ask_far_ruled } },
	};

	return chains[is_ruled(eng)][ask][far];
}

/** Returns true if only what stays the same from one message to the next
 * counts. */
static bool is_still(const struct m0_lnet__want *want)
{
	return M0_UNLIKELY(want->wnt_trials != NULL) &&
	       want->wnt_trials->tls_is_still;
}

/** Returns the criterion that decides, and *ret: > 0 if `left` is better. */
static const struct criterion *decide(const struct m0_lnet_engine *eng,
				      const struct criterion      *chain,
				      const struct m0_lnet__path  *left,
				      const struct m0_lnet__path  *right,
				      int                         *ret)
{
	for (*ret = 0; chain->cri_compare != NULL; ++chain) {
		*ret = chain->cri_compare(eng, left, right);
		if (*ret != 0)
			break;
	}
	return chain;
}

/* -- search ---------------------------------------------------------------- */

/** Returns what a criterion of rules compares. */
static enum m0_lnet__merit merit_of(compare_t compare)
{
	static const struct {
		compare_t           compare;
		enum m0_lnet__merit merit;
	} merits[] = {
		{ peer_net_priority, M0_LNET__MERIT_HOP_NET },
		{ peer_priority, M0_LNET__MERIT_HOP },
		{ ni_priority, M0_LNET__MERIT_NI },
		{ dest_priority, M0_LNET__MERIT_DEST },
		{ ni_preferred, M0_LNET__MERIT_PREFERS_NI },
		{ gateway_preferred, M0_LNET__MERIT_PREFERS_GATEWAY },
	};
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(merits); ++i)
		if (merits[i].compare == compare)
			return merits[i].merit;
	return M0_LNET__MERIT_NONE;
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
		       const struct criterion     *by,
		       const struct m0_lnet__path *to)
{
	struct m0_lnet__trial *trial;

	if (at >= trials->tls_max)
		return;
	trial = &trials->tls_trials[at];
	trial->trl_lost_by = by->cri_words;
	trial->trl_merit = merit_of(by->cri_compare);
	trial->trl_lost_to = *to;
	trial->trl_is_tie = by->cri_compare == NULL;
}

static __attribute__((__cold__, __noinline__)) void trial_note(
	struct search *search, const struct m0_lnet__path *path,
	const struct criterion *by, bool won)
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
static void path_try(struct search *search, const struct m0_lnet__path *path)
{
	const struct criterion *by = NULL;
	int                     rc = 1;

	if (search->sea_best.pth_ni != NULL)
		by = decide(search->sea_eng, search->sea_chain, path,
			    &search->sea_best, &rc);
	if (M0_UNLIKELY(search->sea_want->wnt_trials != NULL))
		trial_note(search, path, by, rc > 0);
	if (rc > 0)
		search->sea_best = *path;
}

/** Tries each NI that reaches the NID of the next hop; sets pth_ni. */
static void nis_try(struct search *search, struct m0_lnet__path *path,
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

/** Tries the NIDs of the gateway: one, unless it is Multi-Rail. */
static void route_try(struct search *search, struct m0_lnet_route *route,
		      struct m0_lnet_lpni *dest)
{
	struct m0_lnet_lpni *own = route->lrt_gateway->gw_lpni;
	struct m0_lnet_peer *peer = own->lpn_peer;
	struct m0_lnet__path path = { .pth_route = route, .pth_dest = dest };

	if (peer == search->sea_want->wnt_not_by ||
	    (search->sea_want->wnt_by != NULL &&
	     !m0_lnet__peer_same(search->sea_eng, search->sea_want->wnt_by,
				 &own->lpn_nid)) ||
	    !m0_lnet__route_is_usable(search->sea_eng, route))
		return;
	m0_list_for_each_entry(&peer->lpe_lpnis, path.pth_lpni,
			       struct m0_lnet_lpni, lpn_link)
		if (path.pth_lpni == own || m0_lnet__peer_is_multi_rail(peer))
			nis_try(search, &path, &path.pth_lpni->lpn_nid);
}

static void far_try(struct search *search, const struct m0_lnet_nid *nid,
		    struct m0_lnet_lpni *dest)
{
	struct m0_lnet_far *far =
		m0_lnet__far_find(search->sea_eng, m0_lnet_nid_net(nid));
	struct m0_lnet_route *route;

	if (far == NULL)
		return;
	m0_list_for_each_entry(&far->far_routes, route, struct m0_lnet_route,
			       lrt_of_far)
		route_try(search, route, dest);
}

struct m0_lnet__path m0_lnet__select(const struct m0_lnet_engine *eng,
				     const struct m0_lnet__want  *want)
{
	struct search search = {
		.sea_eng = eng,
		.sea_want = want,
		.sea_chain = chain_of(eng, want->wnt_ask, false),
	};
	struct m0_lnet__path path = { NULL, NULL, NULL, NULL };
	struct m0_lnet_lpni *lpni;

	M0_PRE((want->wnt_peer == NULL) != (want->wnt_nid == NULL));
	if (is_still(want))
		search.sea_chain = to_send_still;
	/* Rules speak of the NID. */
	if (want->wnt_nid != NULL && (is_ruled(eng) || is_still(want)))
		path.pth_dest =
			want->wnt_lpni != NULL
				? want->wnt_lpni
				: m0_lnet__lpni_find(eng, want->wnt_nid);
	if (want->wnt_nid != NULL)
		nis_try(&search, &path, want->wnt_nid);
	else
		m0_list_for_each_entry(&want->wnt_peer->lpe_lpnis,
				       path.pth_lpni, struct m0_lnet_lpni,
				       lpn_link)
			nis_try(&search, &path, &path.pth_lpni->lpn_nid);
	if (M0_LIKELY(search.sea_best.pth_ni != NULL) ||
	    m0_lnet__routes(eng)->lrs_nr == 0)
		return search.sea_best;
	search.sea_chain = is_still(want) ? to_send_far_still
					  : chain_of(eng, want->wnt_ask, true);
	if (want->wnt_nid != NULL)
		far_try(&search, want->wnt_nid, path.pth_dest);
	else
		m0_list_for_each_entry(&want->wnt_peer->lpe_lpnis, lpni,
				       struct m0_lnet_lpni, lpn_link)
			far_try(&search, &lpni->lpn_nid, lpni);
	M0_POST((search.sea_best.pth_ni == NULL) ==
		(search.sea_best.pth_lpni == NULL));
	return search.sea_best;
}

struct m0_lnet_ni *m0_lnet__ni_for(const struct m0_lnet_engine *eng,
				   const struct m0_lnet_nid    *nid)
{
	return m0_lnet__select(eng, &(struct m0_lnet__want){ .wnt_nid = nid })
		.pth_ni;
}
