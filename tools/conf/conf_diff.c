/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>

#include "conf_diff.h"

struct differ {
	struct conf_plan        *dfr_plan;
	const struct conf_model *dfr_running;
	const struct conf_model *dfr_want;
	const struct conf_model *dfr_prev;
	struct conf_fail        *dfr_fail;
	/** Networks that there are in the end. */
	uint32_t dfr_nets[2 * M0_LNET_CFG_NETS_MAX];
	unsigned dfr_nets_nr;
};

struct conf_change *conf_plan_add(struct conf_plan     *plan,
				  enum conf_change_kind kind, bool add,
				  const struct conf_place *place)
{
	struct conf_change *all = plan->cpn_changes;
	unsigned            nr = plan->cpn_nr;

	if ((nr & (nr - 1)) == 0) {
		all = realloc(all, (nr == 0 ? 1 : 2 * nr) * sizeof *all);
		if (all == NULL)
			return NULL;
		plan->cpn_changes = all;
	}
	++plan->cpn_nr;
	M0_SET0(&all[nr]);
	all[nr].ccg_kind = kind;
	all[nr].ccg_add = add;
	if (place != NULL)
		all[nr].ccg_place = *place;
	return &all[nr];
}

static struct conf_change *change_add(struct differ        *dfr,
				      enum conf_change_kind kind, bool add,
				      const struct conf_place *place)
{
	return conf_plan_add(dfr->dfr_plan, kind, add, place);
}

void conf_plan_fini(struct conf_plan *plan)
{
	unsigned i;

	for (i = 0; i < plan->cpn_nr; ++i) {
		free(plan->cpn_changes[i].ccg_net);
		free(plan->cpn_changes[i].ccg_nids);
		free(plan->cpn_changes[i].ccg_udsp);
	}
	free(plan->cpn_changes);
	M0_SET0(plan);
}

void conf_change_invert(struct conf_change       *ret,
			const struct conf_change *change)
{
	*ret = *change;
	ret->ccg_add = !change->ccg_add;
	ret->ccg_old = change->ccg_new;
	ret->ccg_new = change->ccg_old;
}

/* May what stands in a section be removed? */
static bool removes(const struct differ *dfr, unsigned sections)
{
	return dfr->dfr_prev != NULL &&
	       (dfr->dfr_prev != dfr->dfr_running ||
		(dfr->dfr_want->cmo_sections & sections) != 0);
}

/* ------------------------------------------------------------------ networks */

bool conf_ni_is(const struct conf_ni *want, const struct conf_ni *ni)
{
	if (want->cni_net != ni->cni_net)
		return false;
	if (want->cni_addr[0] != '\0' && ni->cni_addr[0] != '\0')
		return strcmp(want->cni_addr, ni->cni_addr) == 0;
	if (want->cni_iface[0] == '\0')
		return true;
	return strcmp(want->cni_iface, ni->cni_iface) == 0 ||
	       strcmp(want->cni_iface, ni->cni_addr) == 0;
}

/* Does an interface of the model name this one of the node? */
static bool has_ni(const struct conf_model *model, const struct conf_ni *ni)
{
	unsigned i;

	for (i = 0; i < model->cmo_nis_nr; ++i) {
		if (conf_ni_is(&model->cmo_nis[i], ni))
			return true;
	}
	return false;
}

static bool node_has_ni(const struct differ *dfr, const struct conf_ni *want)
{
	unsigned i;

	for (i = 0; i < dfr->dfr_running->cmo_nis_nr; ++i) {
		if (conf_ni_is(want, &dfr->dfr_running->cmo_nis[i]))
			return true;
	}
	return false;
}

/* The old and the new state of a network. */
struct net_diff {
	uint32_t                 ndf_net;
	const struct conf_place *ndf_place;
	/** All interfaces that the node has, those that go, those that stay, and
	 * those that come. */
	struct m0_lnet_net_cfg ndf_had;
	struct m0_lnet_net_cfg ndf_gone;
	struct m0_lnet_net_cfg ndf_kept;
	struct m0_lnet_net_cfg ndf_new;
	/** New interfaces, and some of them without a name. */
	unsigned ndf_new_nr;
	uint32_t ndf_old_tuns[CONF_TUNS_NR];
	uint32_t ndf_new_tuns[CONF_TUNS_NR];
};

static void running_sort(struct differ *dfr, struct net_diff *net)
{
	const struct conf_model *running = dfr->dfr_running;
	bool                     named = (dfr->dfr_want->cmo_sections &
                      (1U << CONF_NET | 1U << CONF_IP2NETS)) != 0;
	unsigned                 i;

	for (i = 0; i < running->cmo_nis_nr; ++i) {
		const struct conf_ni *ni = &running->cmo_nis[i];
		bool                  gone = named && dfr->dfr_prev != NULL &&
			    has_ni(dfr->dfr_prev, ni) &&
			    !has_ni(dfr->dfr_want, ni);

		if (ni->cni_net != net->ndf_net)
			continue;
		memcpy(net->ndf_old_tuns, ni->cni_tuns,
		       sizeof net->ndf_old_tuns);
		conf_iface_put(&net->ndf_had, ni);
		conf_iface_put(gone ? &net->ndf_gone : &net->ndf_kept, ni);
	}
	memcpy(net->ndf_new_tuns, net->ndf_old_tuns, sizeof net->ndf_new_tuns);
}

static void want_sort(struct differ *dfr, struct net_diff *net)
{
	unsigned i;
	int      j;

	for (i = 0; i < dfr->dfr_want->cmo_nis_nr; ++i) {
		const struct conf_ni *ni = &dfr->dfr_want->cmo_nis[i];

		if (ni->cni_net != net->ndf_net)
			continue;
		net->ndf_place = &ni->cni_place;
		for (j = 0; j < CONF_TUNS_NR; ++j) {
			if (ni->cni_tuns[j] != 0)
				net->ndf_new_tuns[j] = ni->cni_tuns[j];
		}
		if (node_has_ni(dfr, ni))
			continue;
		++net->ndf_new_nr;
		conf_iface_put(&net->ndf_new, ni);
	}
}

static int net_change(struct differ *dfr, bool add,
		      const struct m0_lnet_net_cfg *ifaces,
		      const uint32_t *tuns, const struct net_diff *net)
{
	struct conf_change *change =
		change_add(dfr, CONF_CHANGE_NET, add, net->ndf_place);

	if (change == NULL)
		return -ENOMEM;
	change->ccg_net = malloc(sizeof *change->ccg_net);
	if (change->ccg_net == NULL)
		return -ENOMEM;
	*change->ccg_net = *ifaces;
	change->ccg_net->lnc_net = net->ndf_net;
	if (tuns != NULL)
		conf_tuns_put(change->ccg_net, tuns);
	return 0;
}

static int too_many(struct differ *dfr, const struct net_diff *net)
{
	return conf_fail_set(dfr->dfr_fail, net->ndf_place,
			     "the node would have more than %d networks, or "
			     "more than %d interfaces on one",
			     (int)M0_LNET_CFG_NETS_MAX,
			     (int)M0_LNET_CFG_IFACES_MAX);
}

/* Tunables change when the whole network goes and comes again. */
static int net_anew(struct differ *dfr, struct net_diff *net)
{
	struct m0_lnet_net_cfg all = net->ndf_kept;
	unsigned               i;

	for (i = 0; i < net->ndf_new.lnc_ifaces_nr; ++i) {
		if (all.lnc_ifaces_nr == M0_LNET_CFG_IFACES_MAX)
			return too_many(dfr, net);
		memcpy(all.lnc_ifaces[all.lnc_ifaces_nr++],
		       net->ndf_new.lnc_ifaces[i], M0_LNET_CFG_NAME_BYTES);
	}
	return net_change(dfr, false, &net->ndf_had, net->ndf_old_tuns, net)
		       ?: net_change(dfr, true, &all, net->ndf_new_tuns, net);
}

static int net_diff(struct differ *dfr, uint32_t number)
{
	struct net_diff net = { .ndf_net = number };
	bool            had;
	bool            stays;
	bool            retuned;

	running_sort(dfr, &net);
	want_sort(dfr, &net);
	had = net.ndf_had.lnc_ifaces_nr > 0;
	stays = net.ndf_kept.lnc_ifaces_nr > 0;
	retuned = memcmp(net.ndf_old_tuns, net.ndf_new_tuns,
			 sizeof net.ndf_old_tuns) != 0;
	if (stays || net.ndf_new_nr > 0) {
		if (dfr->dfr_nets_nr == M0_LNET_CFG_NETS_MAX)
			return too_many(dfr, &net);
		dfr->dfr_nets[dfr->dfr_nets_nr++] = number;
	}
	if (had && (retuned || (!stays && net.ndf_new_nr > 0)))
		return net_anew(dfr, &net);
	if (net.ndf_kept.lnc_ifaces_nr + net.ndf_new_nr >
	    M0_LNET_CFG_IFACES_MAX)
		return too_many(dfr, &net);
	if (net.ndf_gone.lnc_ifaces_nr > 0 &&
	    net_change(dfr, false, &net.ndf_gone,
		       stays ? NULL : net.ndf_old_tuns, &net) != 0)
		return -ENOMEM;
	return net.ndf_new_nr == 0
		       ? 0
		       : net_change(dfr, true, &net.ndf_new,
				    stays ? NULL : net.ndf_new_tuns, &net);
}

static bool is_seen(const struct conf_model *model, unsigned nr, uint32_t net)
{
	unsigned i;

	for (i = 0; i < nr; ++i) {
		if (model->cmo_nis[i].cni_net == net)
			return true;
	}
	return false;
}

static int nets_diff(struct differ *dfr)
{
	const struct conf_model *running = dfr->dfr_running;
	const struct conf_model *want = dfr->dfr_want;
	unsigned                 i;
	int                      rc = 0;

	for (i = 0; rc == 0 && i < running->cmo_nis_nr; ++i) {
		uint32_t net = running->cmo_nis[i].cni_net;

		if (!is_seen(running, i, net))
			rc = net_diff(dfr, net);
	}
	for (i = 0; rc == 0 && i < want->cmo_nis_nr; ++i) {
		uint32_t net = want->cmo_nis[i].cni_net;

		if (!is_seen(want, i, net) &&
		    !is_seen(running, running->cmo_nis_nr, net))
			rc = net_diff(dfr, net);
	}
	return rc;
}

static bool is_own_net(const struct differ *dfr, uint32_t net)
{
	unsigned i;

	for (i = 0; i < dfr->dfr_nets_nr; ++i) {
		if (dfr->dfr_nets[i] == net)
			return true;
	}
	return false;
}

/* -------------------------------------------------------------------- routes */

static const struct conf_route *route_find(const struct conf_model *model,
					   const struct conf_route *route)
{
	unsigned i;

	for (i = 0; i < model->cmo_routes_nr; ++i) {
		const struct m0_lnet_route_attr *attr =
			&model->cmo_routes[i].crt_attr;

		if (attr->lra_net == route->crt_attr.lra_net &&
		    m0_lnet_nid_eq(&attr->lra_gateway,
				   &route->crt_attr.lra_gateway))
			return &model->cmo_routes[i];
	}
	return NULL;
}

static int route_change(struct differ *dfr, bool add,
			const struct conf_route *route,
			const struct conf_place *place)
{
	struct conf_change *change =
		change_add(dfr, CONF_CHANGE_ROUTE, add, place);

	if (change == NULL)
		return -ENOMEM;
	change->ccg_route = route->crt_attr;
	return 0;
}

static bool route_is(const struct conf_route *left,
		     const struct conf_route *right)
{
	return left->crt_attr.lra_hops == right->crt_attr.lra_hops &&
	       left->crt_attr.lra_priority == right->crt_attr.lra_priority;
}

/* Is the node on the network of the gateway before the change? */
static bool is_reached(const struct differ *dfr, const struct conf_route *route)
{
	return is_seen(dfr->dfr_running, dfr->dfr_running->cmo_nis_nr,
		       m0_lnet_nid_net(&route->crt_attr.lra_gateway));
}

/*
 * Remove routes, also those that are added again with other attributes.
 * @param reached  those whose gateway's network the node has, which go before the
 *                 network. The others go after networks have come, so that an undo
 *                 adds them while the networks are there.
 */
static int routes_del(struct differ *dfr, bool reached)
{
	const struct conf_model *running = dfr->dfr_running;
	unsigned                 i;
	int                      rc = 0;

	for (i = 0; rc == 0 && i < running->cmo_routes_nr; ++i) {
		const struct conf_route *route = &running->cmo_routes[i];
		const struct conf_route *want =
			route_find(dfr->dfr_want, route);

		if (is_reached(dfr, route) != reached)
			continue;
		if (want != NULL && !route_is(route, want))
			rc = route_change(dfr, false, route, &want->crt_place);
		else if (want == NULL && removes(dfr, 1U << CONF_ROUTE) &&
			 route_find(dfr->dfr_prev, route) != NULL)
			rc = route_change(dfr, false, route, NULL);
	}
	return rc;
}

/* @return 1: it is left out; 0; -EINVAL. */
static int route_check(struct differ *dfr, const struct conf_route *route)
{
	const struct m0_lnet_route_attr *attr = &route->crt_attr;
	uint32_t near = m0_lnet_nid_net(&attr->lra_gateway);
	char     text[M0_LNET_NIDSTR_SIZE];
	char     net[M0_LNET_NIDSTR_SIZE];

	if (is_own_net(dfr, near) && !is_own_net(dfr, attr->lra_net))
		return 0;
	if (dfr->dfr_want->cmo_is_modprobe)
		return 1;
	if (is_own_net(dfr, attr->lra_net))
		return conf_fail_set(
			dfr->dfr_fail, &route->crt_place,
			"net: '%s' is not accepted; accepted: a network that "
			"the node is not on",
			m0_lnet_net_print(attr->lra_net, net, sizeof net));
	return conf_fail_set(
		dfr->dfr_fail, &route->crt_place,
		"gateway: '%s' is not accepted; accepted: a NID on "
		"a network of the node, and it is not on %s",
		m0_lnet_nid_print(&attr->lra_gateway, text, sizeof text),
		m0_lnet_net_print(near, net, sizeof net));
}

static int routes_add(struct differ *dfr)
{
	const struct conf_model *want = dfr->dfr_want;
	unsigned                 i;
	int                      rc = 0;

	for (i = 0; rc >= 0 && i < want->cmo_routes_nr; ++i) {
		const struct conf_route *route = &want->cmo_routes[i];
		const struct conf_route *old =
			route_find(dfr->dfr_running, route);

		bool same = old != NULL && route_is(route, old);

		/* The route waits for its network, which the node has left; or the
		 * node has joined the network to which it leads. */
		if (same && (!is_reached(dfr, route) ||
			     is_own_net(dfr, route->crt_attr.lra_net)))
			continue;
		rc = route_check(dfr, route);
		if (rc == 0 && !same)
			rc = route_change(dfr, true, route, &route->crt_place);
	}
	return rc < 0 ? rc : 0;
}

/* --------------------------------------------------------------------- peers */

/* Peers of a model, sorted by their primary NIDs. */
struct peers {
	const struct conf_peer **prs_peers;
	unsigned                 prs_nr;
};

static int peer_cmp(const void *left, const void *right)
{
	const struct conf_peer *const *a = left;
	const struct conf_peer *const *b = right;

	return m0_lnet_nid_cmp(&(*a)->cpe_primary, &(*b)->cpe_primary);
}

static int peers_init(struct peers *peers, const struct conf_model *model)
{
	unsigned i;

	M0_SET0(peers);
	if (model == NULL || model->cmo_peers_nr == 0)
		return 0;
	peers->prs_peers = calloc(model->cmo_peers_nr, sizeof(void *));
	if (peers->prs_peers == NULL)
		return -ENOMEM;
	for (i = 0; i < model->cmo_peers_nr; ++i) {
		if (model->cmo_peers[i].cpe_configured)
			peers->prs_peers[peers->prs_nr++] =
				&model->cmo_peers[i];
	}
	qsort(peers->prs_peers, peers->prs_nr, sizeof(void *), peer_cmp);
	return 0;
}

static const struct conf_peer *peer_find(const struct peers     *peers,
					 const struct conf_peer *peer)
{
	const struct conf_peer **found;

	if (peers->prs_nr == 0)
		return NULL;
	found = bsearch(&peer, peers->prs_peers, peers->prs_nr, sizeof(void *),
			peer_cmp);
	return found == NULL ? NULL : *found;
}

static bool peer_has(const struct conf_peer   *peer,
		     const struct m0_lnet_nid *nid)
{
	unsigned i;

	if (m0_lnet_nid_eq(&peer->cpe_primary, nid))
		return true;
	for (i = 0; i < peer->cpe_nids_nr; ++i) {
		if (m0_lnet_nid_eq(&peer->cpe_nids[i], nid))
			return true;
	}
	return false;
}

/* Is the peer this node itself, as exports of the kernel's LNet have it? */
static bool peer_is_own(const struct conf_model *model,
			const struct conf_peer  *peer)
{
	char     addr[M0_LNET_CFG_NAME_BYTES];
	unsigned i;

	conf_addr_print(&peer->cpe_primary, addr);
	for (i = 0; i < model->cmo_nis_nr; ++i) {
		if (model->cmo_nis[i].cni_net ==
			    m0_lnet_nid_net(&peer->cpe_primary) &&
		    (strcmp(model->cmo_nis[i].cni_addr, addr) == 0 ||
		     strcmp(model->cmo_nis[i].cni_iface, addr) == 0))
			return true;
	}
	return false;
}

static int peer_whole(struct differ *dfr, bool add,
		      const struct conf_peer  *peer,
		      const struct conf_place *place)
{
	size_t              size = peer->cpe_nids_nr * sizeof *peer->cpe_nids;
	struct conf_change *change =
		change_add(dfr, CONF_CHANGE_PEER, add, place);

	if (change == NULL)
		return -ENOMEM;
	change->ccg_whole = true;
	change->ccg_multi_rail = peer->cpe_multi_rail;
	change->ccg_primary = peer->cpe_primary;
	change->ccg_nids = malloc(size + 1);
	if (change->ccg_nids == NULL)
		return -ENOMEM;
	if (size > 0)
		memcpy(change->ccg_nids, peer->cpe_nids, size);
	change->ccg_nids_nr = peer->cpe_nids_nr;
	return 0;
}

/*
 * NIDs of `peer` that `other` does not have.
 * @param of  only those that it has; NULL: all.
 */
static int peer_nids(struct differ *dfr, bool add, const struct conf_peer *peer,
		     const struct conf_peer *other, const struct conf_peer *of,
		     const struct conf_place *place)
{
	struct conf_change *change = NULL;
	unsigned            i;

	for (i = 0; i < peer->cpe_nids_nr; ++i) {
		const struct m0_lnet_nid *nid = &peer->cpe_nids[i];

		if (peer_has(other, nid) || (of != NULL && !peer_has(of, nid)))
			continue;
		if (change == NULL)
			change = change_add(dfr, CONF_CHANGE_PEER, add, place);
		if (change == NULL)
			return -ENOMEM;
		if (change->ccg_nids == NULL)
			change->ccg_nids =
				calloc(peer->cpe_nids_nr, sizeof *nid);
		if (change->ccg_nids == NULL)
			return -ENOMEM;
		change->ccg_primary = peer->cpe_primary;
		change->ccg_multi_rail = peer->cpe_multi_rail;
		change->ccg_nids[change->ccg_nids_nr++] = *nid;
	}
	return 0;
}

static int peers_del(struct differ *dfr, const struct peers *want,
		     const struct peers *prev)
{
	const struct conf_model *running = dfr->dfr_running;
	bool                     all = removes(dfr, 1U << CONF_PEER);
	unsigned                 i;
	int                      rc = 0;

	for (i = 0; rc == 0 && i < running->cmo_peers_nr; ++i) {
		const struct conf_peer *peer = &running->cmo_peers[i];
		const struct conf_peer *is = peer_find(want, peer);
		const struct conf_peer *was = peer_find(prev, peer);

		if (!peer->cpe_configured)
			continue;
		if (is == NULL && was != NULL && all)
			rc = peer_whole(dfr, false, peer, NULL);
		else if (is != NULL &&
			 is->cpe_multi_rail != peer->cpe_multi_rail)
			rc = peer_whole(dfr, false, peer, &is->cpe_place);
		else if (is != NULL && was != NULL && all)
			rc = peer_nids(dfr, false, peer, is, was,
				       &is->cpe_place);
	}
	return rc;
}

static int peers_add(struct differ *dfr, const struct peers *running)
{
	const struct conf_model *want = dfr->dfr_want;
	unsigned                 i;
	int                      rc = 0;

	for (i = 0; rc == 0 && i < want->cmo_peers_nr; ++i) {
		const struct conf_peer *peer = &want->cmo_peers[i];
		const struct conf_peer *old = peer_find(running, peer);

		if (!peer->cpe_configured ||
		    peer_is_own(dfr->dfr_running, peer) ||
		    peer_is_own(want, peer))
			continue;
		if (old == NULL || old->cpe_multi_rail != peer->cpe_multi_rail)
			rc = peer_whole(dfr, true, peer, &peer->cpe_place);
		else
			rc = peer_nids(dfr, true, peer, old, NULL,
				       &peer->cpe_place);
	}
	return rc;
}

/* ---------------------------------------------------------------- parameters */

static uint64_t set_value(const struct conf_model *model, unsigned id)
{
	return model->cmo_sets[id - CONF_SETS].cst_value;
}

static uint64_t set_end(const struct differ *dfr, unsigned id)
{
	const struct conf_set *want = &dfr->dfr_want->cmo_sets[id - CONF_SETS];

	/* Half of a pool is for one peer. */
	if (want->cst_given && want->cst_value == 1 && id >= CONF_TINY)
		return 2;
	/* As the library does it. */
	if (id == CONF_RETRY_COUNT && !want->cst_given &&
	    set_end(dfr, CONF_SENSITIVITY) == 0)
		return 0;
	return want->cst_given ? want->cst_value
			       : set_value(dfr->dfr_running, id);
}

static int set_diff(struct differ *dfr, unsigned id)
{
	const struct conf_set *want = &dfr->dfr_want->cmo_sets[id - CONF_SETS];
	uint64_t               old = set_value(dfr->dfr_running, id);
	uint64_t new = set_end(dfr, id);
	struct conf_change *change;

	if (old == new)
		return 0;
	change = change_add(dfr, CONF_CHANGE_SET, true,
			    want->cst_given ? &want->cst_place : NULL);
	if (change == NULL)
		return -ENOMEM;
	change->ccg_set = id - CONF_SETS;
	change->ccg_old = old;
	change->ccg_new = new;
	return 0;
}

static int sets_check(struct differ *dfr)
{
	uint64_t               retry = set_end(dfr, CONF_RETRY_COUNT);
	uint64_t               time = set_end(dfr, CONF_TRANSACTION_TIMEOUT);
	const struct conf_set *sets = dfr->dfr_want->cmo_sets;
	const struct conf_set *at = &sets[CONF_RETRY_COUNT - CONF_SETS];

	if (!at->cst_given)
		at = &sets[CONF_TRANSACTION_TIMEOUT - CONF_SETS];
	if (!at->cst_given)
		return 0;
	if (retry >= time)
		return conf_fail_set(dfr->dfr_fail, &at->cst_place,
				     "retry_count %" PRIu64
				     " with transaction_timeout %" PRIu64
				     " is not accepted; accepted: a count less "
				     "than the time-out",
				     retry, time);
	if (retry > 0 && set_end(dfr, CONF_SENSITIVITY) == 0)
		return conf_fail_set(dfr->dfr_fail, &at->cst_place,
				     "retry_count: '%" PRIu64
				     "' is not accepted; accepted: 0, because "
				     "health_sensitivity is 0",
				     retry);
	return 0;
}

/*
 * In an order in which each value is accepted with those before it, forwards and
 * backwards: the number of retries is below the time-out, and 0 without health.
 */
static int sets_diff(struct differ *dfr)
{
	bool lower = set_end(dfr, CONF_RETRY_COUNT) <
		     set_value(dfr->dfr_running, CONF_RETRY_COUNT);
	unsigned id;
	int      rc = sets_check(dfr);

	if (rc == 0 && lower)
		rc = set_diff(dfr, CONF_RETRY_COUNT);
	for (id = CONF_SETS; rc == 0 && id < CONF_SETS_END; ++id) {
		if (id != CONF_RETRY_COUNT && id != CONF_ENABLE)
			rc = set_diff(dfr, id);
	}
	if (rc == 0 && !lower)
		rc = set_diff(dfr, CONF_RETRY_COUNT);
	return rc;
}

/* ----------------------------------------------------------------------- all */

static int udsps_diff(struct differ *dfr)
{
	return conf_udsps_diff(dfr->dfr_plan, dfr->dfr_running, dfr->dfr_want,
			       dfr->dfr_prev, removes(dfr, 1U << CONF_UDSP),
			       dfr->dfr_fail);
}

static int all_diff(struct differ *dfr, const struct peers *running,
		    const struct peers *want, const struct peers *prev)
{
	return routes_del(dfr, true) ?:
	       peers_del(dfr, want, prev) ?:
	       nets_diff(dfr) ?:
	       routes_del(dfr, false) ?:
	       sets_diff(dfr) ?:
	       udsps_diff(dfr) ?:
	       peers_add(dfr, running) ?:
	       routes_add(dfr) ?:
	       set_diff(dfr, CONF_ENABLE);
}

int conf_plan_make(struct conf_plan *plan, const struct conf_model *running,
		   const struct conf_model *want, const struct conf_model *prev,
		   struct conf_fail *fail)
{
	struct differ dfr = { plan, running, want, prev, fail, { 0 }, 0 };
	struct peers  running_peers = { NULL, 0 };
	struct peers  want_peers = { NULL, 0 };
	struct peers  prev_peers = { NULL, 0 };
	int           rc;

	M0_SET0(plan);
	rc = peers_init(&running_peers, running) ?:
	     peers_init(&want_peers, want) ?:
	     peers_init(&prev_peers, prev) ?:
	     all_diff(&dfr, &running_peers, &want_peers, &prev_peers);
	free(running_peers.prs_peers);
	free(want_peers.prs_peers);
	free(prev_peers.prs_peers);
	if (rc != 0)
		conf_plan_fini(plan);
	return rc;
}
