/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Fixture of the tests of routes: networks of lnet_pair that routers join. Node i of
 * network n has NID 10.<n>.0.<i+1>@tcp<n>; the nodes `one`, `two` and those that
 * node() returns.
 */
#ifndef M0_TESTS_UNIT_LNET_ROUTED_H
#define M0_TESTS_UNIT_LNET_ROUTED_H

#include "unit/lnet/story.h"
#include "lnet/flow/select.h"
#include "lnet/route/route.h"
#include "lnet/route/router.h"

static inline struct pair_node *node(unsigned i)
{
	return &pair->pai_node[i];
}

/** Opens nodes that have no NIDs. */
static inline void routed_open(unsigned                         nr,
			       const struct m0_lnet_engine_cfg *cfg)
{
	unsigned i;

	pair = pair_open(nr, cfg);
	one = node(0);
	two = node(1);
	for (i = 0; i < sizeof bytes_out; ++i)
		bytes_out[i] = (uint8_t)(i * 7 + i / 251);
	memset(bytes_in, 0, sizeof bytes_in);
}

/** Gives node `i` its NIDs, separated by blanks. */
static inline void nids(unsigned i, const char *text)
{
	char  copy[128];
	char *rest = copy;
	char *word;

	(void)snprintf(copy, sizeof copy, "%s", text);
	while ((word = strsep(&rest, " ")) != NULL)
		(void)pair_ni(node(i), word);
}

static inline struct m0_lnet_route_attr route_attr(const char *net,
						   const char *gateway,
						   uint32_t    hops,
						   uint32_t    priority)
{
	struct m0_lnet_route_attr attr = {
		.lra_hops = hops,
		.lra_priority = priority,
		.lra_gateway = pair_nid(gateway),
	};

	assert_int_equal(m0_lnet_net_parse(&attr.lra_net, net), 0);
	return attr;
}

static inline int route_try_add(unsigned i, const char *net,
				const char *gateway, uint32_t hops,
				uint32_t priority)
{
	struct m0_lnet_route_attr attr =
		route_attr(net, gateway, hops, priority);

	return m0_lnet_engine_route_add(node(i)->pno_engine, &attr);
}

static inline void route(unsigned i, const char *net, const char *gateway)
{
	assert_int_equal(route_try_add(i, net, gateway, 0, 0), 0);
}

static inline void routing(unsigned i, bool on)
{
	assert_int_equal(m0_lnet_engine_routing_set(node(i)->pno_engine, on),
			 0);
}

/** State of the `nr`-th route of a node. */
static inline struct m0_lnet_route_info route_info(unsigned i, unsigned nr)
{
	struct m0_lnet_route_info infos[16];

	memset(infos, 0, sizeof infos);
	assert_in_range(m0_lnet_engine_route_get(node(i)->pno_engine,
						 &(uint64_t){ 0 }, infos,
						 ARRAY_SIZE(infos)),
			nr + 1, ARRAY_SIZE(infos));
	return infos[nr];
}

static inline enum m0_lnet_route_why route_why(unsigned i, unsigned nr)
{
	return route_info(i, nr).lri_why;
}

static inline struct m0_lnet_routing_info routing_info(unsigned i)
{
	struct m0_lnet_routing_info info;

	m0_lnet_engine_routing_get(node(i)->pno_engine, &info);
	return info;
}

/**
 * One router: node 0 is a client, 10.0.0.1@tcp; node 1 the router, 10.0.0.2@tcp
 * and 10.1.0.2@tcp1; node 2 a server, 10.1.0.3@tcp1. Both have a route.
 */
static inline void line_open(const struct m0_lnet_engine_cfg *cfg)
{
	routed_open(3, cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.1.0.3@tcp1");
	routing(1, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(2, "tcp", "10.1.0.2@tcp1");
	pair_settle(pair);
}

/**
 * Two routers: node 0 is a client, 10.0.0.1@tcp, node 3 a server, 10.1.0.4@tcp1; the
 * routers are nodes 1 and 2. Nobody has a route.
 */
static inline void diamond_open(const struct m0_lnet_engine_cfg *cfg)
{
	routed_open(4, cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.0.0.3@tcp 10.1.0.3@tcp1");
	nids(3, "10.1.0.4@tcp1");
	routing(1, true);
	routing(2, true);
}

/** Sends messages from the client of a diamond to its server, one by one. */
static inline void sends(unsigned nr)
{
	for (; nr > 0; --nr) {
		put_to(one, "10.1.0.4@tcp1", 8);
		pair_settle(pair);
	}
}

/** A diamond without discovery, and the routes of its client by both routers. */
static inline void diamond_route(uint32_t hops1, uint32_t priority1,
				 uint32_t hops2, uint32_t priority2)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	diamond_open(&cfg);
	assert_int_equal(
		route_try_add(0, "tcp1", "10.0.0.2@tcp", hops1, priority1), 0);
	assert_int_equal(
		route_try_add(0, "tcp1", "10.0.0.3@tcp", hops2, priority2), 0);
	pair_settle(pair);
}

/** Number of messages that a router has forwarded. */
static inline uint64_t forwarded(unsigned i)
{
	return routing_info(i).lgi_forwarded_nr;
}

#endif /* M0_TESTS_UNIT_LNET_ROUTED_H */
