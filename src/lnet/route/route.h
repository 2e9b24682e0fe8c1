/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Routes to networks that this node is not on, and their gateways.
 *
 * A route is up or down by what is known of its gateway: the checks of
 * talk/checker.c, what the gateway reports of itself, and the driver. Nothing is
 * stored that a message would have to update: m0_lnet__route_why() looks at the
 * records of the gateway's peer NIs.
 */
#ifndef M0_SRC_LNET_ROUTE_H
#define M0_SRC_LNET_ROUTE_H

#include "lnet/lnet_internal.h"

/** The report of a gateway about its interfaces on a remote network. */
enum m0_lnet_far_state {
	M0_LNET_FAR_UNKNOWN,
	/** The gateway has none, so that another router follows. */
	M0_LNET_FAR_ABSENT,
	M0_LNET_FAR_UP,
	M0_LNET_FAR_DOWN
};

/** A NID of a router, on a network of this node. */
struct m0_lnet_gateway {
	/** Holds a reference. */
	struct m0_lnet_lpni *gw_lpni;
	struct m0_list_link  gw_link;
	/** Routes, by lrt_of_gateway. */
	struct m0_list gw_routes;
	/** Time of the last failure, by a check or of the driver, and why; 0:
	 * none since the last check that was answered. A message that has
	 * arrived since proves the gateway alive, too. */
	m0_time_t gw_failed_at;
	int       gw_status;
	/** The failure was one of the driver. */
	bool gw_is_lost;
	/** Time of the last check that was answered; 0: none. */
	m0_time_t gw_answered_at;
	/** A check has ended. */
	bool gw_is_checked;
	/** Time of the next check. */
	m0_time_t gw_check_at;
	/** For policies.c: its number, and the primary NID of its peer as last
	 * seen. */
	uint16_t           gw_slot;
	struct m0_lnet_nid gw_primary;
};

/** A remote network. */
struct m0_lnet_far {
	/** Key in lrs_fars. */
	uint32_t            far_net;
	struct m0_hash_link far_hash;
	/** Routes, by lrt_of_far. */
	struct m0_list far_routes;
	unsigned       far_routes_nr;
};

struct m0_lnet_route {
	struct m0_lnet_route_attr lrt_attr;
	struct m0_lnet_gateway   *lrt_gateway;
	struct m0_lnet_far       *lrt_far;
	struct m0_list_link       lrt_of_gateway;
	struct m0_list_link       lrt_of_far;
	/** In lrs_routes. */
	struct m0_list_link lrt_link;
	/** Higher than those of all routes that were added before. */
	uint64_t               lrt_order;
	enum m0_lnet_far_state lrt_far_state;
	/** The route was a loop, and is not used until then or the next check of
	 * its gateway. 0: no. */
	m0_time_t lrt_loop_until;
	/** Whether the route was last seen up, and since when that is so. */
	bool      lrt_was_up;
	m0_time_t lrt_since;
	/** The state that was last logged, and when the log may have another
	 * line about the route. */
	enum m0_lnet_route_why lrt_reported;
	m0_time_t              lrt_report_at;
	/** Number of messages, and the number at the last use, which orders
	 * routes that are equal. */
	uint64_t lrt_sent_nr;
	uint64_t lrt_used_nr;
	/** Destination of the last of them, of which a router asks by a
	 * multi-hop route whether it leads back; ANY: none. */
	struct m0_lnet_nid lrt_last;
	/** The request by which checker.c asks that, a struct m0_lnet_ask; NULL:
	 * none is on its way. */
	void *lrt_ask;
};

/** All routes of a node. */
struct m0_lnet_routes {
	/** Remote networks, by number. */
	struct m0_hash lrs_fars;
	struct m0_list lrs_routes;
	unsigned       lrs_nr;
	/** Order of the newest route; 0: there was none yet. */
	uint64_t       lrs_order;
	struct m0_list lrs_gateways;
	uint64_t       lrs_used_nr;
	/** Time when an unreachable destination may be logged again. */
	m0_time_t lrs_log_at;
	/** Fires when the log may have a line that was too early. */
	struct m0_lnet_timer lrs_report_timer;
	/** Fires when the next gateway is to be checked, by checker.c. */
	struct m0_lnet_timer lrs_timer;
};

static inline struct m0_lnet_routes *m0_lnet__routes(
	const struct m0_lnet_engine *eng)
{
	return eng->le_routes;
}

int  m0_lnet__routes_init(struct m0_lnet_engine *eng);
void m0_lnet__routes_fini(struct m0_lnet_engine *eng);
/** Finds the routes to a network; NULL: there are none. */
struct m0_lnet_far *m0_lnet__far_find(const struct m0_lnet_engine *eng,
				      uint32_t                     net);
/** Returns why the route is not used; M0_LNET_ROUTE_UP: it is. */
enum m0_lnet_route_why m0_lnet__route_why(const struct m0_lnet_engine *eng,
					  const struct m0_lnet_route  *route);
/** Returns true if another router follows the gateway, as far as is known. */
bool m0_lnet__route_is_multi_hop(const struct m0_lnet_route *route);
/** Returns true if messages may take the route. */
bool m0_lnet__route_is_usable(const struct m0_lnet_engine *eng,
			      const struct m0_lnet_route  *route);
/** Marks the peer NIs by which a message will change whether the route is used.
 * @return the time when that changes by itself. */
m0_time_t m0_lnet__route_watch(const struct m0_lnet_engine *eng,
			       struct m0_lnet_route        *route);
/** Returns true if one of the routes to the network goes by this peer. */
bool m0_lnet__far_is_by(const struct m0_lnet_engine *eng, uint32_t net,
			const struct m0_lnet_peer *peer);
/** Learns from the information of a peer, which may be a gateway. */
void m0_lnet__routes_learn(struct m0_lnet_engine          *eng,
			   const struct m0_lnet_peer      *peer,
			   const struct m0_lnet_ping_info *info);
/** Notes the outcome of a discovery of a peer, which may be a gateway. */
void m0_lnet__routes_checked(struct m0_lnet_engine     *eng,
			     const struct m0_lnet_peer *peer, int status);
/** Notes that the driver has lost a NID, which may be a gateway's. */
void m0_lnet__routes_lost(struct m0_lnet_engine     *eng,
			  const struct m0_lnet_lpni *lpni, int status);
/** A message of this node to the network has come back, which left by this NID of
 * a gateway: takes its route down for a while. */
void m0_lnet__route_loops(struct m0_lnet_engine *eng, uint32_t net,
			  const struct m0_lnet_nid *gateway);
/** Logs the routes that have gone up or down. */
void m0_lnet__routes_report(struct m0_lnet_engine *eng);
/** Words about why no route to the network is up, for messages. */
void m0_lnet__far_why(const struct m0_lnet_engine *eng, uint32_t net, char *buf,
		      size_t size);

#endif /* M0_SRC_LNET_ROUTE_H */
