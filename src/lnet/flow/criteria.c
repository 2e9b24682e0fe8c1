/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The criteria by which paths are compared, and the chains of them.
 */
#include "lnet/flow/search.h"
#include "lnet/route/route.h"

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

static const struct m0_lnet__criterion to_send[] = {
	NI_UP,     PEER_UP,    PEER_HEALTH, NI_HEALTH, PEER_CREDITS,
	PEER_TURN, PEER_ORDER, NI_CREDITS,  NI_TURN,   END
};
/** A peer is asked by its first NID, unless that is down. */
static const struct m0_lnet__criterion to_ask[] = { PEER_UP,    PEER_HEALTH,
						    PEER_ORDER, NI_UP,
						    NI_HEALTH,  NI_CREDITS,
						    NI_TURN,    END };
#define BY_ROUTE                                                              \
	ROUTE_PRIORITY, ROUTE_HOPS, NI_UP, PEER_UP, PEER_HEALTH, NI_HEALTH,   \
		PEER_QUEUED, PEER_CREDITS, ROUTE_TURN, PEER_TURN, PEER_ORDER, \
		NI_CREDITS, NI_TURN, END
/* First the destination, then the way there. */
static const struct m0_lnet__criterion to_send_far[] = { DEST_UP, DEST_HEALTH,
							 DEST_TURN, DEST_ORDER,
							 BY_ROUTE };
static const struct m0_lnet__criterion to_ask_far[] = { DEST_UP, DEST_HEALTH,
							DEST_ORDER, BY_ROUTE };

/* With rules. */
static const struct m0_lnet__criterion to_send_ruled[] = {
	NI_UP,        PEER_UP,     PEER_HEALTH,   PEER_NET_PRIORITY,
	NI_HEALTH,    NI_PRIORITY, PEER_PRIORITY, NI_PREFERRED,
	PEER_CREDITS, PEER_TURN,   PEER_ORDER,    NI_CREDITS,
	NI_TURN,      END
};
static const struct m0_lnet__criterion to_ask_ruled[] = {
	PEER_UP,     PEER_HEALTH,  PEER_ORDER, NI_UP,   NI_HEALTH,
	NI_PRIORITY, NI_PREFERRED, NI_CREDITS, NI_TURN, END
};
#define BY_ROUTE_RULED                                                  \
	GATEWAY_PREFERRED, ROUTE_PRIORITY, ROUTE_HOPS, NI_UP, PEER_UP,  \
		PEER_HEALTH, PEER_NET_PRIORITY, NI_HEALTH, NI_PRIORITY, \
		PEER_PRIORITY, NI_PREFERRED, PEER_QUEUED, PEER_CREDITS, \
		ROUTE_TURN, PEER_TURN, PEER_ORDER, NI_CREDITS, NI_TURN, END
static const struct m0_lnet__criterion to_send_far_ruled[] = {
	DEST_UP,   DEST_HEALTH, DEST_PRIORITY,
	DEST_TURN, DEST_ORDER,  BY_ROUTE_RULED
};
static const struct m0_lnet__criterion to_ask_far_ruled[] = {
	DEST_UP, DEST_HEALTH, DEST_ORDER, BY_ROUTE_RULED
};

/* Without what changes with each message. */
#define STILL                                                      \
	NI_UP, PEER_UP, PEER_HEALTH, PEER_NET_PRIORITY, NI_HEALTH, \
		NI_PRIORITY, PEER_PRIORITY, NI_PREFERRED, END
static const struct m0_lnet__criterion to_send_still[] = { STILL };
static const struct m0_lnet__criterion to_send_far_still[] = {
	DEST_UP,        DEST_HEALTH, DEST_PRIORITY, GATEWAY_PREFERRED,
	ROUTE_PRIORITY, ROUTE_HOPS,  STILL
};

const struct m0_lnet__criterion *m0_lnet__chain_still(enum m0_lnet__chain chain)
{
	M0_PRE(chain != M0_LNET__CHAIN_HOP);
	return chain == M0_LNET__CHAIN_NEAR ? to_send_still : to_send_far_still;
}

enum m0_lnet__merit m0_lnet__merit_of(const struct m0_lnet__criterion *cri)
{
	static const struct {
		m0_lnet__compare_t  compare;
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
		if (merits[i].compare == cri->cri_compare)
			return merits[i].merit;
	return M0_LNET__MERIT_NONE;
}

const struct m0_lnet__criterion *m0_lnet__decide(
	const struct m0_lnet_engine     *eng,
	const struct m0_lnet__criterion *chain,
	const struct m0_lnet__path *left, const struct m0_lnet__path *right,
	int *ret)
{
	for (*ret = 0; chain->cri_compare != NULL; ++chain) {
		*ret = chain->cri_compare(eng, left, right);
		if (*ret != 0)
			break;
	}
	return chain;
}

/* -- what changes with messages -------------------------------------------- */

/** The load or turn that a criterion compares, and where it is. */
typedef void (*bind_t)(struct m0_lnet__entry *entry);

static void bind_nothing(struct m0_lnet__entry *entry)
{
	(void)entry;
}

static void bind_turn(struct m0_lnet__entry *entry, const uint64_t *used_nr,
		      bool more)
{
	M0_PRE(used_nr != NULL);
	entry->ent_used[more ? 1 : 0] = used_nr;
}

static void bind_dest_turn(struct m0_lnet__entry *entry)
{
	M0_PRE(entry->ent_path.pth_dest != NULL);
	bind_turn(entry, &entry->ent_path.pth_dest->lpn_used_nr, false);
}

static void bind_queued(struct m0_lnet__entry *entry)
{
	M0_PRE(entry->ent_path.pth_lpni != NULL);
	entry->ent_queued = &entry->ent_path.pth_lpni->lpn_queued_bytes;
}

static void bind_peer_credits(struct m0_lnet__entry *entry)
{
	const struct m0_lnet_lpni *lpni = entry->ent_path.pth_lpni;

	if (lpni == NULL)
		return;
	entry->ent_credits = &lpni->lpn_credits;
	entry->ent_credits_max = (int)lpni->lpn_credits_max;
}

static void bind_route_turn(struct m0_lnet__entry *entry)
{
	M0_PRE(entry->ent_path.pth_route != NULL);
	bind_turn(entry, &entry->ent_path.pth_route->lrt_used_nr, false);
}

static void bind_peer_turn(struct m0_lnet__entry *entry)
{
	if (entry->ent_path.pth_lpni != NULL)
		bind_turn(entry, &entry->ent_path.pth_lpni->lpn_used_nr,
			  entry->ent_path.pth_route != NULL);
}

static void bind_ni_credits(struct m0_lnet__entry *entry)
{
	const struct m0_lnet_ni *ni = entry->ent_path.pth_ni;

	M0_PRE(ni != NULL);
	entry->ent_credits = &ni->lni_credits;
	entry->ent_credits_max = (int)ni->lni_lnd.ldn_credits;
}

static void bind_ni_turn(struct m0_lnet__entry *entry)
{
	bind_turn(entry, &entry->ent_path.pth_ni->lni_used_nr, false);
}

/** Criteria that change with messages, or with the order of the search. All others
 * change with the topology only, and stand before them in the chain of a part. */
static const struct moving {
	m0_lnet__compare_t mov_compare;
	enum m0_lnet__part mov_part;
	bind_t             mov_bind;
} movings[] = {
	{ dest_turn, M0_LNET__PART_DEST, bind_dest_turn },
	{ dest_order, M0_LNET__PART_DEST, bind_nothing },
	{ peer_queued, M0_LNET__PART_HOP, bind_queued },
	{ peer_credits, M0_LNET__PART_HOP, bind_peer_credits },
	{ route_turn, M0_LNET__PART_HOP, bind_route_turn },
	{ peer_turn, M0_LNET__PART_HOP, bind_peer_turn },
	{ peer_order, M0_LNET__PART_HOP, bind_nothing },
	{ ni_credits, M0_LNET__PART_NI, bind_ni_credits },
	{ ni_turn, M0_LNET__PART_NI, bind_ni_turn },
};

/** Returns NULL if only a change of the topology changes the criterion. */
static const struct moving *moving_of(const struct m0_lnet__criterion *cri)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(movings); ++i)
		if (movings[i].mov_compare == cri->cri_compare)
			return &movings[i];
	return NULL;
}

int m0_lnet__fixed_cmp(const struct m0_lnet_engine     *eng,
		       const struct m0_lnet__criterion *chain,
		       const struct m0_lnet__path      *left,
		       const struct m0_lnet__path      *right)
{
	int rc = 0;

	for (; rc == 0 && moving_of(chain) == NULL; ++chain)
		rc = chain->cri_compare(eng, left, right);
	return rc;
}

void m0_lnet__entry_bind(struct m0_lnet__entry           *entry,
			 const struct m0_lnet__criterion *chain,
			 enum m0_lnet__part               part)
{
	const struct moving *moving;

	for (; chain->cri_compare != NULL; ++chain) {
		moving = moving_of(chain);
		if (moving != NULL && moving->mov_part == part)
			moving->mov_bind(entry);
	}
}

/* -- chains ---------------------------------------------------------------- */

const struct m0_lnet__criterion *m0_lnet__chain_of(
	const struct m0_lnet_engine *eng, enum m0_lnet__chain chain, bool ask)
{
	static const struct m0_lnet__criterion *const chains[2][2][2] = {
		{ { to_send, to_send_far }, { to_ask, to_ask_far } },
		{ { to_send_ruled, to_send_far_ruled },
		  { to_ask_ruled, to_ask_far_ruled } },
	};
	const struct m0_lnet__criterion *ret = chains[m0_lnet__is_ruled(
		eng)][ask][chain != M0_LNET__CHAIN_NEAR];

	if (chain == M0_LNET__CHAIN_HOP)
		while ((ret++)->cri_compare != dest_order)
			;
	M0_POST(ret->cri_compare != NULL);
	return ret;
}
