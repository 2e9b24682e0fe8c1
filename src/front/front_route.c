/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Routes and routing: requests to the node. */
#include "front/front_internal.h"
#include "m0/lnet_route.h"

enum {
	/** How often the routes are read again when one of them has gone meanwhile. */
	ROUTES_TRIES_MAX = 16
};

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

/* Routes behind `after`, as many as one answer may have. */
static int routes_part(struct m0_lnet                  *lnet,
		       const struct m0_lnet_route_attr *after,
		       struct m0_lnet_route_info *ret, unsigned max)
{
	struct m0_front_control *fcl;
	int                      rc;

	M0_PRE(max <= M0_RING_ROUTES_MAX);
	rc = route_take(lnet, M0_RING_ROUTE_GET, after, &fcl);
	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_route.rrt_max = max;
	rc = m0_front__array_do(lnet, fcl, ret, max * sizeof *ret);
	/* The node may be in another process. */
	return max != 0 && rc > (int)max ? -EPROTO : rc;
}

/* All routes, in parts between which the node moves messages.
 * @retval -ENOENT  the last route of a part went meanwhile. */
static int routes_all(struct m0_lnet *lnet, struct m0_lnet_route_info *ret,
		      unsigned max)
{
	struct m0_lnet_route_attr after = { .lra_gateway = m0_lnet_nid_any };
	unsigned                  nr = 0;
	unsigned                  part;
	int                       rc;

	do {
		part = min_check(max - nr, (unsigned)M0_RING_ROUTES_MAX);
		rc = routes_part(lnet, &after, ret + nr, part);
		if (rc < 0)
			return rc;
		nr += (unsigned)rc;
		if (rc > 0)
			after = ret[nr - 1].lri_attr;
	} while (rc == (int)part && nr < max);
	M0_POST(nr <= max);
	return (int)nr;
}

int m0_lnet_route_get(struct m0_lnet *lnet, struct m0_lnet_route_info *ret,
		      unsigned max)
{
	static const struct m0_lnet_route_attr none;
	int all = routes_part(lnet, &none, NULL, 0);
	int tries;
	int nr = -ENOENT;

	if (all <= 0 || max == 0)
		return all;
	/* Routes may go as fast as they are read. */
	for (tries = 0; nr == -ENOENT && tries < ROUTES_TRIES_MAX; ++tries)
		nr = routes_all(lnet, ret, max);
	if (nr < 0)
		return nr == -ENOENT ? -EBUSY : nr;
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
