/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The priorities that the interfaces would have after a change of the rules. With
 * many rules and interfaces it takes several calls to find them; the node keeps what
 * the calls before have found, for one change at a time.
 */
#ifndef M0_SRC_LNET_EFFECT_NIS_H
#define M0_SRC_LNET_EFFECT_NIS_H

#include "lnet/policy/suppose.h"

enum {
	/** Cost of a call for an effect, in rows of rules that a search looks at:
	 * about half a millisecond. */
	M0_LNET__EFFECT_COST = 49152
};

/** The change, as m0_lnet_engine_effect() has it. */
struct m0_lnet__question {
	const struct m0_lnet_udsp *que_add;
	int32_t                    que_del;
};

/**
 * Finds the priorities of all NIs after the supposed change.
 * @param cost  increased by what it costs.
 * @param ret   priorities in the order of le_nis, valid until another event; the
 *              caller may change them for a time. NULL: they stay as they are.
 * @retval -EAGAIN  not all have been found yet, or those for another change are
 *                  being found.
 * @retval -ENOMEM
 */
int m0_lnet__effect_nis(struct m0_lnet_engine          *eng,
			const struct m0_lnet__supposed *sps,
			const struct m0_lnet__question *question,
			unsigned *cost, uint64_t **ret);

#endif /* M0_SRC_LNET_EFFECT_NIS_H */
