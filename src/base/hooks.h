/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Functions that this room, being pure, cannot have. The os room installs its
 * own when the library is loaded; until then there is no memory, the log is
 * lost and a failing assertion ends in a trap.
 */
#ifndef M0_SRC_BASE_HOOKS_H
#define M0_SRC_BASE_HOOKS_H

#include "m0/base.h"

struct m0_base_hooks {
	void (*bh_abort)(void);
	/** The default sink of the log. */
	m0_log_sink_t              bh_log;
	const struct m0_alloc_ops *bh_alloc;
};

void m0_base_hooks_set(const struct m0_base_hooks *hooks);
/** Never NULL, nor is any member. */
const struct m0_base_hooks *m0_base__hooks(void);

#endif /* M0_SRC_BASE_HOOKS_H */
