/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * RDMA of the simulator: a provider for net o2ib, on the hosts of the simulated
 * network.
 *
 * A connection is a pair of queue pairs. Work requests travel in order, each for a
 * latency; a message that finds no receive posted waits for the timer of the
 * receiver, and what follows it waits with it; a write outside registered memory
 * ends both; what is cut off is retried, and ends in a time-out. Memory that is
 * written from is read when the bytes arrive, and not after odu_over, so that a
 * payload that was given back too early shows. Requests for a connection, and the
 * last part of its set-up, overtake nothing but may be overtaken by messages.
 */
#ifndef M0_SRC_SIM_RDMA_H
#define M0_SRC_SIM_RDMA_H

#include "m0/sim_net.h"

struct m0_sim_rdma_cfg {
	m0_time_t srd_latency_ns;
	m0_time_t srd_jitter_ns;
	/** Bytes per second; 0: no limit. */
	uint64_t srd_rate_bytes;
	/** How long a sender retries before it gives up. */
	m0_time_t srd_retry_ns;
	/** Draw for each node whether foreign memory can be registered, how much is
	 * sent inline, and how many segments a request has; else: it can, 256, 4. */
	bool srd_draws;
};

/** Nodes that are opened from now on have RDMA. Pre: m0_sim_net_init(). */
void m0_sim_rdma_init(const struct m0_sim_rdma_cfg *cfg);
/** Fails the case if a node has left something open. */
void m0_sim_rdma_fini(void);
/** Messages that found no receive posted, since m0_sim_rdma_init(). */
unsigned m0_sim_rdma_rnr_nr(void);
/** Ends all connections of a host, as a faulty link does. */
void m0_sim_rdma_break(struct m0_sim_host *host);
/** Removes the device of a host: all its connections and ports end. */
void m0_sim_rdma_remove(struct m0_sim_host *host);
/** Sum of the counters of all nodes that are open. */
struct m0_o2ib_dev_counts;
void m0_sim_rdma_counts(struct m0_o2ib_dev_counts *ret);

#endif /* M0_SRC_SIM_RDMA_H */
