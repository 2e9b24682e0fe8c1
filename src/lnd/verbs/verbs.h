/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Driver: connections of net o2ib on RDMA devices of this host, over libibverbs
 * and librdmacm. It implements the contract of lnd/o2ib/o2ib_dev.h.
 * [r.M0.net.rdma] [r.M0.net.ib]
 *
 * Each device that one of our addresses needs has one protection domain and one
 * completion queue, which all connections of the node on it share.
 */
#ifndef M0_SRC_LND_VERBS_VERBS_H
#define M0_SRC_LND_VERBS_VERBS_H

#include "lnd/o2ib/o2ib_dev.h"

/** Needs a reactor of room loop. */
extern const struct m0_o2ib_provider m0_verbs_provider;

/** Makes it the provider of nodes; run at start. */
void m0_verbs__install(void);

#endif /* M0_SRC_LND_VERBS_VERBS_H */
