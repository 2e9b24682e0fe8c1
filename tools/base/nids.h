/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** NIDs as operands of commands. */
#ifndef M0_TOOLS_NIDS_H
#define M0_TOOLS_NIDS_H

#include "m0/lnet.h"

/** Takes a NID. @return 0, or an error that ends the expansion. */
typedef int nids_add_t(void *arg, const struct m0_lnet_nid *nid);

/**
 * Calls `add` for each NID of "10.0.0.[1-4]@tcp", in order, or for one NID.
 * @retval -EINVAL  it is neither.
 * @return the error of `add`, otherwise 0.
 */
int nids_expand(const char *word, nids_add_t *add, void *arg);

#endif /* M0_TOOLS_NIDS_H */
