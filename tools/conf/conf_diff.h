/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The changes that make a node what a configuration says. */
#ifndef M0_TOOLS_CONF_DIFF_H
#define M0_TOOLS_CONF_DIFF_H

#include "conf_model.h"

enum conf_change_kind {
	CONF_CHANGE_NET,
	CONF_CHANGE_SET,
	CONF_CHANGE_ROUTE,
	CONF_CHANGE_PEER,
	CONF_CHANGE_UDSP
};

struct conf_change {
	enum conf_change_kind ccg_kind;
	/** False: the change removes something. Unused for a set. */
	bool ccg_add;
	/** Place in the file; line 0: none. */
	struct conf_place ccg_place;
	/** Interfaces, or a network with all of them and its tunables. */
	struct m0_lnet_net_cfg *ccg_net;
	/** Set: which, as an index of cmo_sets, from what to what. */
	unsigned                  ccg_set;
	uint64_t                  ccg_old;
	uint64_t                  ccg_new;
	struct m0_lnet_route_attr ccg_route;
	/** Peer: the whole of it with its NIDs, or NIDs of one that stays. */
	bool                ccg_whole;
	bool                ccg_multi_rail;
	struct m0_lnet_nid  ccg_primary;
	struct m0_lnet_nid *ccg_nids;
	unsigned            ccg_nids_nr;
	/** With the index that it has then. */
	struct m0_lnet_udsp *ccg_udsp;
};

/** Changes, in the order in which they are made. */
struct conf_plan {
	struct conf_change *cpn_changes;
	unsigned            cpn_nr;
};

/**
 * Plans the changes of a node.
 * @param running  what it has.
 * @param want     what it shall have, or have as well.
 * @param prev     what is removed unless `want` has it; `running`: everything in the
 *                 sections that `want` has; NULL: nothing.
 * @retval -EINVAL  `want` does not fit the node; `fail` has the place.
 * @retval -ENOMEM
 */
int conf_plan_make(struct conf_plan *plan, const struct conf_model *running,
		   const struct conf_model *want, const struct conf_model *prev,
		   struct conf_fail *fail);
/** Parts of conf_plan_make(): adds an empty change; NULL: no memory. */
struct conf_change *conf_plan_add(struct conf_plan     *plan,
				  enum conf_change_kind kind, bool add,
				  const struct conf_place *place);
/** @param removes  what `prev` has, and `want` does not have, goes. */
int conf_udsps_diff(struct conf_plan *plan, const struct conf_model *running,
		    const struct conf_model *want,
		    const struct conf_model *prev, bool removes,
		    struct conf_fail *fail);
/** Does the interface of a file name this one of the node? One without a name is every
 * one of its network. */
bool conf_ni_is(const struct conf_ni *want, const struct conf_ni *ni);
/** Have the rules the same ranges, so that a node has one of them? */
bool conf_udsp_is(const struct m0_lnet_udsp *left,
		  const struct m0_lnet_udsp *right);

/**
 * Leaves in `running` only what `want` names, whatever its values are.
 * @param missing  the place of the first part that is not there, and what it is; its
 *                 line is 0 if all are there.
 * @return number of parts of `want` that are not there.
 */
unsigned conf_keep(struct conf_model *running, const struct conf_model *want,
		   struct conf_fail *missing);

void conf_plan_fini(struct conf_plan *plan);
/** Makes `ret` the change that undoes `change`, whose memory it uses. */
void conf_change_invert(struct conf_change       *ret,
			const struct conf_change *change);

enum {
	CONF_CHANGE_BYTES = 512
};

/** The change in words: "+ route tcp2 by 10.0.0.1@tcp". */
void conf_change_print(const struct conf_change *change,
		       char                      ret[CONF_CHANGE_BYTES]);
/** The section of lnet.conf that the change is of. */
const char *conf_change_section(const struct conf_change *change);

#endif /* M0_TOOLS_CONF_DIFF_H */
