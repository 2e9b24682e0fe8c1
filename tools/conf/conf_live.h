/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The configuration of a node that runs, and its changes. */
#ifndef M0_TOOLS_CONF_LIVE_H
#define M0_TOOLS_CONF_LIVE_H

#include "m0/lnet.h"

#include "conf_diff.h"

enum {
	CONF_UNDO_BYTES = 600
};

/** Reads what the node has: networks, routes, configured peers, parameters. */
int conf_live_get(struct conf_model *ret, struct m0_lnet *lnet);
/** conf_live_get() without the names of devices: of a node that is simulated. */
int conf_live_get_bare(struct conf_model *ret, struct m0_lnet *lnet);
/**
 * Makes the changes, or none of them: if one fails, those before it are undone.
 * @param fail  set if a change fails: the place of it, and why.
 * @return 0, or an error of the node.
 */
int conf_live_apply(struct m0_lnet *lnet, const struct conf_plan *plan,
		    struct conf_fail *fail);
/**
 * Undoes the first `nr` changes, the last one first. What cannot be undone is left,
 * and `ret` names the first of it, the reason, and the number of others. Something to
 * be removed that is not there any more is undone.
 * @return number of changes that could not be undone.
 */
unsigned conf_live_undo(struct m0_lnet *lnet, const struct conf_plan *plan,
			unsigned nr, char ret[CONF_UNDO_BYTES]);

#endif /* M0_TOOLS_CONF_LIVE_H */
