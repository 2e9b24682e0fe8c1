/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The driver of `0@lo`, and of messages to this node's own NIDs: what is sent
 * comes in, copied from memory to memory at the next step.
 */
#ifndef M0_SRC_LND_LO_LO_H
#define M0_SRC_LND_LO_LO_H

#include "lnd/lnd_row.h"

/** @param copier  as lev_copier. @retval -ENOMEM */
int m0_lo_create(struct m0_lnd **ret, struct m0_copier *const *copier);

extern const struct m0_lnd_row m0_lo_row;

#endif /* M0_SRC_LND_LO_LO_H */
