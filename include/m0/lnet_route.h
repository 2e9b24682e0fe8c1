/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Routes of a node to networks that it is not on, and the node as a router between
 * its own networks. Terms and errors are those of `lnetctl route` and `lnetctl
 * routing`.
 *
 * A route is a remote network and a gateway: a NID, on a network of this node, of a
 * router that forwards to the remote network. A message to a NID of the remote
 * network goes to the gateway, with its header unchanged. The node checks each
 * gateway by a ping and a push when the route is added, and then in each interval
 * (lgc_check_ms); it uses a route while that is up.
 *
 * Calls that change something take effect between two messages. All calls block
 * until the node's thread has executed them, except in callbacks of that node.
 */
#ifndef M0_LNET_ROUTE_H
#define M0_LNET_ROUTE_H

#include "m0/lnet.h"
#include "m0/lnet_cfg.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Why a route is not used; lri_why. */
enum m0_lnet_route_why {
	/** The route is up. */
	M0_LNET_ROUTE_UP,
	/** The gateway has not been checked yet, and lgc_check_first is
	 * set. */
	M0_LNET_ROUTE_UNCHECKED,
	/** No interface of this node that is up is on the gateway's network. */
	M0_LNET_ROUTE_NO_NI,
	/** The driver has lost the gateway, or could not connect to it. */
	M0_LNET_ROUTE_LOST,
	/** The gateway has not answered the last check. */
	M0_LNET_ROUTE_SILENT,
	/** The gateway does not forward: its routing is off. */
	M0_LNET_ROUTE_NOT_ROUTING,
	/** The gateway reports its interface on this side down. */
	M0_LNET_ROUTE_NEAR_DOWN,
	/** The route is single-hop, and the gateway reports no interface on the
	 * remote network that is up (lgc_avoid_asym). */
	M0_LNET_ROUTE_FAR_DOWN,
	/** A message to the remote network has come back to this node. */
	M0_LNET_ROUTE_LOOP,
	M0_LNET_ROUTE_WHYS_NR
};

/** A route. */
struct m0_lnet_route_info {
	struct m0_lnet_route_attr lri_attr;
	enum m0_lnet_route_why    lri_why;
	/** The errno of M0_LNET_ROUTE_LOST and M0_LNET_ROUTE_SILENT; else 0. */
	int lri_status;
	/** The route reaches the network by more than one router: lra_hops says
	 * so, or the gateway has no interface on it. */
	bool lri_multi_hop;
	/** How long the route has been up, or down. */
	uint64_t lri_since_ms;
	/** Time since the gateway last answered a check; UINT64_MAX: never. */
	uint64_t lri_answered_ms;
	/** Messages of this node, and forwarded ones, that left by the route. */
	uint64_t lri_sent_nr;
};

/** Index of a pool of router buffers. */
enum m0_lnet_pool {
	/** For messages without payload. */
	M0_LNET_POOL_TINY,
	/** Up to 4,096 bytes. */
	M0_LNET_POOL_SMALL,
	/** Up to 1 MiB. */
	M0_LNET_POOL_LARGE,
	M0_LNET_POOLS_NR
};

struct m0_lnet_pool_info {
	/** Bytes of payload that a buffer takes. */
	uint32_t lbi_bytes;
	/** Most buffers; those that are allocated, and of those in use. */
	uint32_t lbi_max;
	uint32_t lbi_nr;
	uint32_t lbi_used_nr;
	/** Buffers that may be taken now, and the least of that so far. */
	uint32_t lbi_credits;
	uint32_t lbi_credits_low;
};

enum m0_lnet_routing_state {
	M0_LNET_ROUTING_OFF,
	M0_LNET_ROUTING_ON,
	/** Routing was switched off: peers have been notified, what still comes is
	 * forwarded for a short time, and what is here leaves. */
	M0_LNET_ROUTING_STOPPING
};

struct m0_lnet_routing_info {
	enum m0_lnet_routing_state lgi_state;
	/** Bytes of memory of the buffers, and the most that they may have. */
	uint64_t                 lgi_bytes;
	uint64_t                 lgi_bytes_max;
	struct m0_lnet_pool_info lgi_pools[M0_LNET_POOLS_NR];
	/** Messages forwarded, and dropped for these reasons. */
	uint64_t lgi_forwarded_nr;
	uint64_t lgi_no_route_nr;
	uint64_t lgi_no_buffer_nr;
	uint64_t lgi_late_nr;
	uint64_t lgi_loops_nr;
	/** lgc_cut_through, as it is now. */
	bool lgi_cut_through;
	/** Messages that began to leave before all of them was there, with
	 * lgc_cut_through, and those of them whose rest did not arrive. */
	uint64_t lgi_cuts_nr;
	uint64_t lgi_cuts_broken_nr;
	/** lgc_splice, as it is now; pipes that the router has; messages
	 * forwarded of which some bytes went through a pipe, and those bytes. */
	bool     lgi_splice;
	uint32_t lgi_pipes_nr;
	uint64_t lgi_spliced_nr;
	uint64_t lgi_spliced_bytes;
};

enum {
	/** Most routes of a node. */
	M0_LNET_ROUTES_MAX = 1024,
	/** Bounds of lra_hops. */
	M0_LNET_HOPS_MAX = 255
};

/**
 * Adds a route. The node checks the gateway at once.
 * @param why  as for m0_lnet_open: field, value, and the accepted values.
 * @retval -EINVAL        the gateway is ANY, 0@lo or on the remote network; the
 *                        network is ANY or lo; lra_hops is above 255.
 * @retval -EEXIST        the network is one of this node's own, or there is this
 *                        route already.
 * @retval -EHOSTUNREACH  the gateway is on no network of this node.
 * @retval -ENOSPC        there are M0_LNET_ROUTES_MAX routes.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_route_add(struct m0_lnet                  *lnet,
				const struct m0_lnet_route_attr *attr,
				char                            *why);
/**
 * Removes the routes to a network by a gateway.
 * @param net      M0_LNET_NET_ANY: to any network.
 * @param gateway  NULL, or ANY: by any gateway.
 * @return number of routes.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_route_del(struct m0_lnet *lnet, uint32_t net,
				const struct m0_lnet_nid *gateway);
/**
 * Copies the routes, in the order in which they were added. The node copies 64 at a
 * time, between messages; a route that comes or goes meanwhile is there or not, and
 * none is there twice.
 * @param ret  array of `max` entries; further routes are left out.
 * @return number of routes.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_route_get(struct m0_lnet            *lnet,
				struct m0_lnet_route_info *ret, unsigned max);
/**
 * Counts the routes that wait for the first check of their gateway
 * (M0_LNET_ROUTE_UNCHECKED). m0_lnet_open() waits for them; the caller of an inline
 * node makes progress until there are none.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_routes_unchecked(struct m0_lnet *lnet);
/** Returns what is wrong with a route, in words, by the error of
 * m0_lnet_route_add(); never NULL. */
M0_EXTERN const char *m0_lnet_route_flaw(int rc);
/** Returns the words for a reason; never NULL. */
M0_EXTERN const char *m0_lnet_route_why_text(enum m0_lnet_route_why why);

/**
 * Makes the node a router, or ends that. Switching on takes effect at once.
 * Switching off takes up to 10 seconds: see M0_LNET_ROUTING_STOPPING.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_routing_set(struct m0_lnet *lnet, bool on);
/**
 * Sets the most buffers of the pools; 0 leaves one as it is, and 1 means 2: half of a
 * pool is for one peer. Buffers above it that are in use go when they are free.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_pools_set(struct m0_lnet *lnet,
				const uint32_t  max[M0_LNET_POOLS_NR]);
/** @retval -ENOMEM, -ESHUTDOWN */
M0_EXTERN int m0_lnet_routing_get(struct m0_lnet              *lnet,
				  struct m0_lnet_routing_info *ret);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_ROUTE_H */
