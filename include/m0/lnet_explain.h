/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Why a message of a node takes the path that it takes: each path that the
 * selection compares for a destination, in its order, and the criterion by which
 * it lost.
 */
#ifndef M0_LNET_EXPLAIN_H
#define M0_LNET_EXPLAIN_H

#include "m0/lnet.h"
#include "m0/lnet_cfg.h"
#include "m0/lnet_udsp.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Paths of a set that are listed. */
	M0_LNET_PATH_SET_MAX = 4,
	/** Size of lpa_lost_by and lex_note, with a NUL. */
	M0_LNET_EXPLAIN_TEXT_BYTES = 160
};

/** A path: an interface of the node, and the NID that the message goes to next. */
struct m0_lnet_path_info {
	/** The interface; ANY: none reaches the next NID. */
	struct m0_lnet_nid lpa_ni;
	/** The NID of the peer, or of a gateway. */
	struct m0_lnet_nid lpa_hop;
	/** The NID of the peer that the header names. */
	struct m0_lnet_nid lpa_dest;
	/** The path is a route, lpa_route. */
	bool                      lpa_is_routed;
	struct m0_lnet_route_attr lpa_route;
	/** The node has a record of the next NID; else its health, credits and
	 * queue below are 0. */
	bool lpa_hop_known;
	/** Health of the interface and of the next NID, 0 to
	 * M0_LNET_HEALTH_MAX. */
	unsigned lpa_ni_health;
	unsigned lpa_hop_health;
	/** Credits that are free, and bytes that wait for the next NID. Negative
	 * credits: as many messages wait. */
	int      lpa_ni_credits;
	int      lpa_hop_credits;
	uint64_t lpa_hop_queued_bytes;
	/** The path is the one that a message would take. */
	bool lpa_won;
	/** The path was compared with others; false: it could not be used, and
	 * lpa_lost_by is the reason. */
	bool lpa_compared;
	/** In words, why another path is preferred; empty if the path has won. */
	char lpa_lost_by[M0_LNET_EXPLAIN_TEXT_BYTES];
	/**
	 * If a rule of m0/lnet_udsp.h is the reason: the index of the rule that
	 * gives the other path its rank, and of the one that gives this path a
	 * worse rank. -1: there is none. Indices are those of
	 * m0_lnet_udsp_get().
	 */
	int32_t lpa_rule;
	int32_t lpa_own_rule;
};

/** The paths to a destination. */
struct m0_lnet_explain {
	/** The NID that was asked for, and the primary NID of its peer. */
	struct m0_lnet_nid lex_dest;
	struct m0_lnet_nid lex_primary;
	/** The node has a record of the peer. */
	bool lex_known;
	bool lex_multi_rail;
	/** A message would wait first for the discovery of the peer, which may
	 * make other NIDs known. */
	bool lex_discovers;
	/** 0, or the error that the message would end with: -EHOSTUNREACH, or
	 * those of m0_lnet_explain() on the interface. */
	int lex_status;
	/** The limit of the choice, in words, or why there is no path; or
	 * empty. */
	char lex_note[M0_LNET_EXPLAIN_TEXT_BYTES];
	/** The paths that were compared, in order; then those that could not be
	 * used. */
	unsigned                 lex_paths_nr;
	struct m0_lnet_path_info lex_paths[];
};

/**
 * Explains the choice for a message that would be sent now. The node is not changed:
 * the next message takes the path that has won unless something happens before.
 * Blocks until the node has answered: not from callbacks.
 * @param from  the interface to send from; NULL, or ANY: chosen.
 * @param ret   free it by m0_lnet_explain_free().
 * @retval -EINVAL     the destination is ANY, or no interface has the NID `from`.
 * @retval -ENETDOWN   the interface `from` is not usable.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int  m0_lnet_explain(struct m0_lnet           *lnet,
			       const struct m0_lnet_nid *dest,
			       const struct m0_lnet_nid *from,
			       struct m0_lnet_explain  **ret);
M0_EXTERN void m0_lnet_explain_free(struct m0_lnet_explain *explain);

/* -- effects of rules ------------------------------------------------------ */

/** A path: the interface, the NID that the message goes to next, and the NID that
 * its header names. */
struct m0_lnet_path_nids {
	struct m0_lnet_nid lpd_ni;
	struct m0_lnet_nid lpd_hop;
	struct m0_lnet_nid lpd_dest;
	/** The next NID is one of a gateway. */
	bool lpd_is_routed;
};

/** Paths among which messages take turns, and by their credits. */
struct m0_lnet_path_set {
	/** Number of paths; the first M0_LNET_PATH_SET_MAX are listed. */
	unsigned                 lps_nr;
	struct m0_lnet_path_nids lps_paths[M0_LNET_PATH_SET_MAX];
};

/** A peer to which messages would take other paths. */
struct m0_lnet_shift {
	struct m0_lnet_nid lsf_primary;
	/** The NID of the peer, of which each has paths of its own if the peer is
	 * not Multi-Rail. */
	struct m0_lnet_nid      lsf_nid;
	struct m0_lnet_path_set lsf_now;
	struct m0_lnet_path_set lsf_then;
};

/** The effect that a change of the rules would have. */
struct m0_lnet_effect {
	/** Number of peers that were compared; one that is not Multi-Rail counts
	 * once for each NID. */
	unsigned lef_peers_nr;
	/** Private: the state of a comparison that is not whole. */
	struct m0_lnet_nid lef_last;
	uint64_t           lef_changes_nr;
	bool               lef_is_whole;
	/** Peers to which messages would take other paths. */
	unsigned             lef_shifts_nr;
	struct m0_lnet_shift lef_shifts[];
};

/**
 * Finds the effect that m0_lnet_udsp_add() of a rule would have, without adding it:
 * compares for each peer that the node knows the paths that are preferred now and
 * those that would be. States of interfaces, NIDs and routes, rules, and priorities
 * and hops of routes count; credits, queues and turns do not, so that the result
 * depends on nothing that changes with each message. The interface that a peer
 * without Multi-Rail keeps does not count either, because a change of the rules has
 * it chosen anew. Blocks as m0_lnet_explain(); the node compares some peers at a
 * time, between messages.
 * @param why  as for m0_lnet_udsp_add().
 * @param ret  free it by m0_lnet_effect_free().
 * @retval -EAGAIN  rules or peers change all the time.
 * @return else as m0_lnet_udsp_add().
 */
M0_EXTERN int m0_lnet_udsp_add_effect(struct m0_lnet            *lnet,
				      const struct m0_lnet_udsp *udsp,
				      char *why, struct m0_lnet_effect **ret);
/**
 * Finds the effect that m0_lnet_udsp_del() would have, as m0_lnet_udsp_add_effect().
 * @retval -EAGAIN  rules or peers change all the time.
 * @retval -ENOENT, -ENOMEM, -ESHUTDOWN  as for m0_lnet_udsp_del().
 */
M0_EXTERN int  m0_lnet_udsp_del_effect(struct m0_lnet *lnet, int32_t idx,
				       struct m0_lnet_effect **ret);
M0_EXTERN void m0_lnet_effect_free(struct m0_lnet_effect *effect);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_EXPLAIN_H */
