/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Routes and routing: requests to the node. */
#include "front/front_internal.h"
#include "m0/lnet_route.h"

/* A request about the routes to a network by a gateway. */
static int route_take(struct m0_lnet *lnet, enum m0_ring_verb verb,
		      const struct m0_lnet_route_attr *attr,
		      struct m0_front_control        **ret)
{
	int rc = m0_front__control_take(lnet, verb, ret);

	if (rc == 0)
		(*ret)->fcl_record->rqc_route =
			(struct m0_ring_route){ .rrt_attr = *attr };
	return rc;
}

int m0_lnet_route_add(struct m0_lnet                  *lnet,
		      const struct m0_lnet_route_attr *attr, char *why)
{
	struct m0_front_control *fcl;
	char                     net[M0_LNET_NIDSTR_SIZE];
	char                     nid[M0_LNET_NIDSTR_SIZE];
	int rc = route_take(lnet, M0_RING_ROUTE_ADD, attr, &fcl);

	if (rc == 0) {
		rc = m0_front__control_do(lnet, fcl);
		m0_front__control_put(lnet, fcl);
	}
	return rc == 0 ? 0
		       : m0_node_why(why, rc,
				     "the route to %s by %s with %" PRIu32
				     " hops: %s",
				     m0_lnet_net_print(attr->lra_net, net,
						       sizeof net),
				     m0_lnet_nid_print(&attr->lra_gateway, nid,
						       sizeof nid),
				     attr->lra_hops, m0_lnet_route_flaw(rc));
}

int m0_lnet_route_del(struct m0_lnet *lnet, uint32_t net,
		      const struct m0_lnet_nid *gateway)
{
	struct m0_front_control  *fcl;
	struct m0_lnet_route_attr attr = {
		.lra_net = net,
		.lra_gateway = gateway == NULL ? m0_lnet_nid_any : *gateway,
	};
	int rc = route_take(lnet, M0_RING_ROUTE_DEL, &attr, &fcl);

	if (rc != 0)
		return rc;
	rc = m0_front__control_do(lnet, fcl);
	m0_front__control_put(lnet, fcl);
	return rc;
}

/* Routes behind the one of this order, as many as one answer may have. */
static int routes_part(struct m0_lnet *lnet, uint64_t *order,
		       struct m0_lnet_route_info *ret, unsigned max)
{
	static const struct m0_lnet_route_attr none;
	struct m0_front_control               *fcl;
	int                                    rc;

	M0_PRE(max <= M0_RING_ROUTES_MAX);
	rc = route_take(lnet, M0_RING_ROUTE_GET, &none, &fcl);
	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_route.rrt_max = max;
	fcl->fcl_record->rqc_route.rrt_after = *order;
	rc = m0_front__control_do(lnet, fcl);
	if (rc >= 0)
		*order = fcl->fcl_record->rqc_order;
	rc = m0_front__array_take(lnet, fcl, rc, ret, max * sizeof *ret);
	/* The node may be in another process. */
	return max != 0 && rc > (int)max ? -EPROTO : rc;
}

static bool is_route(const struct m0_lnet_route_info *one,
		     const struct m0_lnet_route_info *two)
{
	return one->lri_attr.lra_net == two->lri_attr.lra_net &&
	       m0_lnet_nid_eq(&one->lri_attr.lra_gateway,
			      &two->lri_attr.lra_gateway);
}

/* A route that went and came back meanwhile is there twice: the later one counts. */
static unsigned routes_unique(struct m0_lnet_route_info *ret, unsigned nr)
{
	unsigned kept_nr = 0;
	unsigned i;
	unsigned k;

	for (i = 0; i < nr; ++i) {
		for (k = 0; k < kept_nr && !is_route(&ret[k], &ret[i]); ++k)
			;
		ret[k] = ret[i];
		kept_nr += k == kept_nr;
	}
	return kept_nr;
}

/* All routes, in parts between which the node moves messages.
 * @param newest  order of the newest route when the first part begins. */
static int routes_all(struct m0_lnet *lnet, uint64_t newest,
		      struct m0_lnet_route_info *ret, unsigned max)
{
	uint64_t order = 0;
	unsigned nr = 0;
	unsigned part;
	int      rc;

	do {
		part = min_check(max - nr, (unsigned)M0_RING_ROUTES_MAX);
		rc = routes_part(lnet, &order, ret + nr, part);
		if (rc < 0)
			return rc;
		nr += (unsigned)rc;
	} while (rc == (int)part && nr < max);
	M0_POST(nr <= max);
	return (int)(order > newest ? routes_unique(ret, nr) : nr);
}

int m0_lnet_route_get(struct m0_lnet *lnet, struct m0_lnet_route_info *ret,
		      unsigned max)
{
	uint64_t newest = 0;
	int      all = routes_part(lnet, &newest, NULL, 0);
	int      nr;

	if (all <= 0 || max == 0)
		return all;
	nr = routes_all(lnet, newest, ret, max);
	/* Routes that came or went meanwhile are there or not. */
	return nr < (int)max ? nr : max_check(all, nr);
}

int m0_lnet_routes_unchecked(struct m0_lnet *lnet)
{
	struct m0_lnet_route_info *routes;
	int                        unchecked_nr = 0;
	int                        nr;
	int                        i;

	M0_ALLOC_ARR(routes, M0_LNET_ROUTES_MAX);
	if (routes == NULL)
		return -ENOMEM;
	nr = m0_lnet_route_get(lnet, routes, M0_LNET_ROUTES_MAX);
	for (i = 0; i < nr; ++i)
		unchecked_nr += routes[i].lri_why == M0_LNET_ROUTE_UNCHECKED;
	m0_free(routes);
	return nr < 0 ? nr : unchecked_nr;
}

static int routing_take(struct m0_lnet *lnet, enum m0_ring_verb verb,
			struct m0_front_control **ret)
{
	int rc = m0_front__control_take(lnet, verb, ret);

	if (rc == 0)
		M0_SET0(&(*ret)->fcl_record->rqc_routing);
	return rc;
}

int m0_lnet_routing_set(struct m0_lnet *lnet, bool on)
{
	struct m0_front_control *fcl;
	int rc = routing_take(lnet, M0_RING_ROUTING_SET, &fcl);

	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_routing.rrg_on = on;
	rc = m0_front__control_do(lnet, fcl);
	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_pools_set(struct m0_lnet *lnet,
		      const uint32_t  max[M0_LNET_POOLS_NR])
{
	struct m0_front_control *fcl;
	int rc = routing_take(lnet, M0_RING_POOLS_SET, &fcl);

	if (rc != 0)
		return rc;
	memcpy(fcl->fcl_record->rqc_routing.rrg_max, max,
	       sizeof fcl->fcl_record->rqc_routing.rrg_max);
	rc = m0_front__control_do(lnet, fcl);
	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_routing_get(struct m0_lnet *lnet, struct m0_lnet_routing_info *ret)
{
	struct m0_front_control *fcl;
	int rc = routing_take(lnet, M0_RING_ROUTING_GET, &fcl);

	M0_PRE(ret != NULL);
	if (rc != 0)
		return rc;
	rc = m0_front__control_do(lnet, fcl);
	if (rc == 0)
		*ret = fcl->fcl_record->rqc_routing.rrg_info;
	m0_front__control_put(lnet, fcl);
	return rc;
}
