/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** UCX's own header. */
#ifndef M0_BENCH_PEERS_UCX_H
#define M0_BENCH_PEERS_UCX_H

#include <ucp/api/ucp.h>

#endif /* M0_BENCH_PEERS_UCX_H */
