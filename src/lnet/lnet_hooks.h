/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef M0_SRC_LNET_LNET_HOOKS_H
#define M0_SRC_LNET_LNET_HOOKS_H

#include "lnet/engine.h"

struct m0_lnet_gateway;
struct m0_lnd_rx;
struct m0_lnet_hdr;
struct m0_lnet_route;

/**
 * Calls from the lower files of the engine to the upper ones: from entries and
 * peers to operations, and from all of these to discovery. engine.c fills it.
 */
struct m0_lnet__hooks {
	/** A route has been added by this gateway, which may be new. */
	void (*lhk_gateway_new)(struct m0_lnet_engine  *eng,
				struct m0_lnet_gateway *gw);
	/** The route is about to be freed. */
	void (*lhk_route_gone)(struct m0_lnet_route *route);
	/** The gateway has failed: it is to be checked sooner. */
	void (*lhk_gateway_lost)(struct m0_lnet_engine  *eng,
				 struct m0_lnet_gateway *gw);
	/** A message that was given to m0_lnet__send has left, or never will.
	 * Exactly once, never within m0_lnet__send. */
	void (*lhk_sent)(struct m0_lnet_msg *msg, int status);
	/** The MD of the message is used up, so nothing waits for its
	 * response. Pre: msg_op.mop_waits. */
	void (*lhk_wait_end)(struct m0_lnet_msg *msg);
	/** The MD of the message is being unlinked: end what can be ended. */
	void (*lhk_abort)(struct m0_lnet_msg *msg);
	/** The driver of the NI has lost this next hop: responses to what went by it
	 * may be lost. */
	void (*lhk_hop_lost)(const struct m0_lnet_ni  *ni,
			     const struct m0_lnet_nid *hop);
	/** An NI of this node or of a peer is known to be down: responses to what
	 * went by it may be lost, though no connection has ended. */
	void (*lhk_rail_down)(struct m0_lnet_engine *eng);
	/** Returns true if a request to this peer must wait for its discovery,
	 * which it starts or joins. */
	bool (*lhk_discovery_needed)(struct m0_lnet_engine    *eng,
				     struct m0_lnet_peer      *peer,
				     const struct m0_lnet_msg *msg);
	/** The driver has lost this NID: no answer comes, and what is known of
	 * the peer may be old. */
	void (*lhk_peer_lost)(struct m0_lnet_engine     *eng,
			      const struct m0_lnet_lpni *lpni, int status);
	/** The peer is about to be freed. */
	void (*lhk_peer_forget)(struct m0_lnet_engine *eng,
				struct m0_lnet_peer   *peer);
	/** A push has come, and no buffer for pushes is free: frees one. Returns
	 * false if none could be freed. */
	bool (*lhk_push_room)(struct m0_lnet_engine *eng);
	/** The health of an NI or peer NI is below the maximum: the recovery
	 * tries it, unless it does already. */
	void (*lhk_ni_sick)(struct m0_lnet_ni *ni);
	void (*lhk_lpni_sick)(struct m0_lnet_engine *eng,
			      struct m0_lnet_lpni   *lpni);
	/** The state that this node reports of an NI has changed. */
	void (*lhk_nis_publish)(struct m0_lnet_engine *eng);
	/** A ping has come by this NI. */
	void (*lhk_pinged)(struct m0_lnet_engine *eng, struct m0_lnet_ni *ni);
	/** A push has come; `nr` bytes of it are there. */
	void (*lhk_pushed)(struct m0_lnet_engine    *eng,
			   const struct m0_lnet_nid *from, const void *bytes,
			   size_t nr);
};

/** Is an MD to come that a request may be for? See ho_is_held. portal.c. */
bool m0_lnet__is_held(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_hdr *hdr, struct m0_lnd_rx *rx);

/** The log of protocol errors. */
struct m0_lnet__drop_log {
	/** Time when an error may be logged again, and the number of errors not
	 * logged since. */
	m0_time_t lgr_at;
	uint64_t  lgr_nr;
};

#endif /* M0_SRC_LNET_LNET_HOOKS_H */
