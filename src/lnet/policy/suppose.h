/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The rules of a node as they would be after a change. They are in the place of its
 * own for a time in which nothing else happens, and are applied to nothing.
 */
#ifndef M0_SRC_LNET_SUPPOSE_H
#define M0_SRC_LNET_SUPPOSE_H

#include "lnet/policy/rows.h"

enum m0_lnet__suppose_what {
	M0_LNET__SUPPOSE_NOTHING,
	M0_LNET__SUPPOSE_ADD,
	/** A rule gets another priority. */
	M0_LNET__SUPPOSE_REPLACE,
	M0_LNET__SUPPOSE_DEL,
	M0_LNET__SUPPOSE_DEL_ALL
};

/** A change of the rules, and how to undo it. */
struct m0_lnet__supposed {
	struct m0_lnet__policies  *sps_rules;
	enum m0_lnet__suppose_what sps_what;
	/** The rule that is changed; NULL: all are. */
	const struct m0_lnet_udsp *sps_about;
	/** Index of the row that was added, replaced or removed, and the one
	 * that was removed. */
	unsigned            sps_at;
	struct m0_lnet__row sps_row;
	/** The rule that was replaced. */
	struct rule *sps_old;
	/** Number of rows that there were. */
	unsigned sps_rows_nr;
};

/**
 * Makes the change. The caller calls m0_lnet__suppose_end() before anything else
 * happens, also after a failure.
 * @param add  NULL: the rule at `del` is deleted, with M0_LNET_UDSP_LAST all rules.
 * @return as m0_lnet_engine_udsp_add() and m0_lnet_engine_udsp_del(), without the
 *         number.
 */
int m0_lnet__suppose(const struct m0_lnet_engine *eng,
		     const struct m0_lnet_udsp *add, int32_t del,
		     struct m0_lnet__supposed *ret);
/** Undoes the change. */
void m0_lnet__suppose_end(struct m0_lnet__supposed *sps);
/** Returns true if the change may concern the priority of interfaces. */
bool m0_lnet__supposed_nis(const struct m0_lnet__supposed *sps);
/** Returns true if the change, which may concern the priority of interfaces, may
 * concern that of an interface with this NID. */
bool m0_lnet__supposed_source(const struct m0_lnet__supposed *sps,
			      const struct m0_lnet_nid       *nid);
/** Returns true if the change may concern this NID of a peer. */
bool m0_lnet__supposed_nid(const struct m0_lnet__supposed *sps,
			   const struct m0_lnet_nid       *nid);

#endif /* M0_SRC_LNET_SUPPOSE_H */
