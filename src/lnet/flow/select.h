/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Selection of a path. */
#ifndef M0_SRC_LNET_SELECT_H
#define M0_SRC_LNET_SELECT_H

#include "lnet/lnet_internal.h"

/** The request for a path. */
struct m0_lnet__want {
	/** To any NID of this peer, or (NULL) to one NID. */
	const struct m0_lnet_peer *wnt_peer;
	const struct m0_lnet_nid  *wnt_nid;
	/** With wnt_nid: the record of it that rules are about; NULL: the one of
	 * the node. */
	struct m0_lnet_lpni *wnt_lpni;
	/** From this NI only; NULL: from any. */
	const struct m0_lnet_ni *wnt_ni;
	/** To ask the peer about itself: prefer its first NID to an idle one. */
	bool wnt_ask;
	/** Not by a gateway that is this peer, which the message came from;
	 * NULL: by any. */
	const struct m0_lnet_peer *wnt_not_by;
	/** Only by the gateway that has this NID; NULL: by any. */
	const struct m0_lnet_nid *wnt_by;
	/** Every path that was compared is noted here; NULL: none is. */
	struct m0_lnet__trials *wnt_trials;
};

/** Property that a criterion of rules compares, see m0/lnet_udsp.h. */
enum m0_lnet__merit {
	/** The criterion does not depend on rules. */
	M0_LNET__MERIT_NONE,
	/** The priorities of the network of the next NID, and of that NID. */
	M0_LNET__MERIT_HOP_NET,
	M0_LNET__MERIT_HOP,
	/** The priorities of the interface. */
	M0_LNET__MERIT_NI,
	/** The priorities of the destination behind a router. */
	M0_LNET__MERIT_DEST,
	M0_LNET__MERIT_PREFERS_NI,
	M0_LNET__MERIT_PREFERS_GATEWAY
};

/** A path that a selection has looked at. */
struct m0_lnet__trial {
	struct m0_lnet__path trl_path;
	/** The criterion by which it lost, in words; NULL: it has won. */
	const char *trl_lost_by;
	/** Property that this criterion compares, and the path that was better. */
	enum m0_lnet__merit  trl_merit;
	struct m0_lnet__path trl_lost_to;
	/** The path lost only because the other one was found first. */
	bool trl_is_tie;
};

/** Paths that a selection has looked at, in the order in which it did. */
struct m0_lnet__trials {
	struct m0_lnet__trial *tls_trials;
	unsigned               tls_max;
	/** Number of paths; those beyond tls_max are not kept. */
	unsigned tls_nr;
	/** Compare by states, rules and routes only, and not by credits, queues,
	 * turns, and the order of NIDs. */
	bool tls_is_still;
};

/** The request of a message of this node for a path. */
struct m0_lnet__request {
	/** The NID that the operation names. */
	struct m0_lnet_lpni *prq_lpni;
	/** The NI that it names; ANY: any. */
	const struct m0_lnet_nid *prq_self;
	/** As wnt_by and wnt_trials. */
	const struct m0_lnet_nid *prq_by;
	struct m0_lnet__trials   *prq_trials;
};

/**
 * Finds the path of a request; changes nothing.
 * @param ret  pth_ni is NULL if no path is there.
 * @retval -EINVAL    no NI has the NID that the request names.
 * @retval -ENETDOWN  this NI is not usable.
 */
int m0_lnet__path_find(const struct m0_lnet_engine   *eng,
		       const struct m0_lnet__request *req,
		       struct m0_lnet__path          *ret);

/** Returns the best path; its pth_ni is NULL if there is none. pth_lpni is NULL
 * with wnt_nid, unless there is a route. */
struct m0_lnet__path m0_lnet__select(const struct m0_lnet_engine *eng,
				     const struct m0_lnet__want  *want);
/** Returns the best NI to reach a NID, directly or by a route; NULL: none
 * does. */
struct m0_lnet_ni *m0_lnet__ni_for(const struct m0_lnet_engine *eng,
				   const struct m0_lnet_nid    *nid);

/** Returns a path for a message that is forwarded, by no gateway that is the peer
 * that it came `from`; pth_lpni is NULL if the header's destination is the next hop. */
struct m0_lnet__path m0_lnet__forward_select(const struct m0_lnet_engine *eng,
					     const struct m0_lnet_hdr    *hdr,
					     const struct m0_lnet_peer   *from);

#endif /* M0_SRC_LNET_SELECT_H */
