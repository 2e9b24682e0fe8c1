/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef M0_TESTS_LIB_LNET_PAIR_INTERNAL_H
#define M0_TESTS_LIB_LNET_PAIR_INTERNAL_H

#include "lib/lnet_pair.h"

/** An MD with its memory. */
struct pair_md {
	struct m0_lnet_md pmd_md;
	struct m0_bufvec  pmd_vec;
	void             *pmd_addr;
	m0_bcount_t       pmd_bytes;
};

/** A message of the pool; NULL: pno_msgs_max are in use. */
struct m0_lnet_msg                   *pair__msg_get(void *owner);
extern const struct m0_lnet_owner_ops pair__owner_ops;
/** Keeps the events that MDs have posted. @return there was one. */
bool pair__events_take(struct pair_node *node);

#endif /* M0_TESTS_LIB_LNET_PAIR_INTERNAL_H */
