/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Declarations that the search for a path (select.c), its criteria (criteria.c) and
 * its memos (select_memo.c) share. */
#ifndef M0_SRC_LNET_FLOW_SEARCH_H
#define M0_SRC_LNET_FLOW_SEARCH_H

#include "lnet/flow/memo.h"
#include "lnet/flow/select.h"

/** Returns > 0 if `left` is better, < 0 if `right` is; 0: another criterion
 * decides. */
typedef int (*m0_lnet__compare_t)(const struct m0_lnet_engine *eng,
				  const struct m0_lnet__path  *left,
				  const struct m0_lnet__path  *right);

struct m0_lnet__criterion {
	/** NULL ends a chain. */
	m0_lnet__compare_t cri_compare;
	/** Why the other path has lost. */
	const char *cri_words;
};

/** Part of a path; each is chosen before the next. */
enum m0_lnet__part {
	M0_LNET__PART_DEST,
	M0_LNET__PART_HOP,
	M0_LNET__PART_NI
};

/** Chains of criteria: without a router, with one, and of its way alone. */
enum m0_lnet__chain {
	M0_LNET__CHAIN_NEAR,
	M0_LNET__CHAIN_FAR,
	M0_LNET__CHAIN_HOP
};

/** A selection in progress. */
struct m0_lnet__search {
	const struct m0_lnet_engine     *sea_eng;
	const struct m0_lnet__want      *sea_want;
	const struct m0_lnet__criterion *sea_chain;
	/** The peer NI of wnt_nid, if rules may speak of it; NULL: they do not. */
	struct m0_lnet_lpni *sea_dest;
	struct m0_lnet__path sea_best;
	/** Number of paths that were tried. */
	unsigned sea_tried_nr;
	/** Index of the best path in wnt_trials. */
	unsigned sea_best_at;
	/** The memo that is being made; NULL: this is a selection. Its pairs, and
	 * whether one could not be noted. */
	struct m0_lnet__memo *sea_memo;
	unsigned              sea_pairs_nr;
	bool                  sea_failed;
	/** Time until when what was found holds. */
	m0_time_t sea_until;
};

static inline bool m0_lnet__is_ruled(const struct m0_lnet_engine *eng)
{
	return M0_UNLIKELY(eng->le_policies->lpc_nr > 0);
}

/** Returns true if only what stays the same from one message to the next
 * counts. */
static inline bool m0_lnet__is_still(const struct m0_lnet__want *want)
{
	return M0_UNLIKELY(want->wnt_trials != NULL) &&
	       want->wnt_trials->tls_is_still;
}

/** Returns the peer NI of wnt_nid if rules may speak of it; NULL: there are none, or
 * the NID has no record. */
static inline struct m0_lnet_lpni *m0_lnet__dest_of(
	const struct m0_lnet_engine *eng, const struct m0_lnet__want *want)
{
	if (want->wnt_nid == NULL ||
	    (!m0_lnet__is_ruled(eng) && !m0_lnet__is_still(want)))
		return NULL;
	return want->wnt_lpni != NULL ? want->wnt_lpni
				      : m0_lnet__lpni_find(eng, want->wnt_nid);
}

/** @param ask  to ask a peer, see wnt_ask. */
const struct m0_lnet__criterion *m0_lnet__chain_of(
	const struct m0_lnet_engine *eng, enum m0_lnet__chain chain, bool ask);
/** Without what changes with each message. */
const struct m0_lnet__criterion *m0_lnet__chain_still(
	enum m0_lnet__chain chain);
/** Returns what a criterion of rules compares. */
enum m0_lnet__merit m0_lnet__merit_of(const struct m0_lnet__criterion *cri);
/** Returns the criterion that decides, and *ret: > 0 if `left` is better. */
const struct m0_lnet__criterion *m0_lnet__decide(
	const struct m0_lnet_engine     *eng,
	const struct m0_lnet__criterion *chain,
	const struct m0_lnet__path *left, const struct m0_lnet__path *right,
	int *ret);
/** Compares by the criteria of a chain up to the first that changes with
 * messages. */
int m0_lnet__fixed_cmp(const struct m0_lnet_engine     *eng,
		       const struct m0_lnet__criterion *chain,
		       const struct m0_lnet__path      *left,
		       const struct m0_lnet__path      *right);
/** Binds a candidate to what the criteria of its part compare. */
void m0_lnet__entry_bind(struct m0_lnet__entry           *entry,
			 const struct m0_lnet__criterion *chain,
			 enum m0_lnet__part               part);
/** Tries the paths without a router. */
void m0_lnet__near_try(struct m0_lnet__search *search);
/** Tries the paths by routes to a NID. */
void m0_lnet__far_try(struct m0_lnet__search   *search,
		      const struct m0_lnet_nid *nid, struct m0_lnet_lpni *dest);
/** Selects by memos. @return false: there is none, or it does not do. */
bool m0_lnet__select_memo(const struct m0_lnet_engine *eng,
			  const struct m0_lnet__want  *want,
			  struct m0_lnet__path        *ret);

#endif /* M0_SRC_LNET_FLOW_SEARCH_H */
