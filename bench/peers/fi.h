/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** libfabric, for the programs that measure it. */
#ifndef M0_BENCH_PEERS_FI_H
#define M0_BENCH_PEERS_FI_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#endif /* M0_BENCH_PEERS_FI_H */
