/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Counters and latencies of a machine, and the watches of an application. Part
 * of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_STATS_H
#define M0_SRC_RPC_STATS_H

/** Latencies of a type. */
struct m0_rpc__hist {
	/** Its rit_index. */
	uint32_t       rhi_index;
	struct m0_hist rhi_hist;
};

struct m0_rpc__counts {
	/** The machine's thread writes, any thread reads: M0_RPC__COUNT(). */
	struct m0_rpc_stats rco_stats;
	/** Values at the last reset. Under the lock. */
	struct m0_rpc_stats rco_base;
	struct m0_mutex     rco_lock;
	/** By m0_rpc__type_place(); NULL: no item has been answered. */
	struct m0_rpc__hist **rco_hist;
	/** By mw_link. */
	struct m0_list rco_watches;
};

void m0_rpc__counts_init(struct m0_rpc__counts *counts);
void m0_rpc__counts_fini(struct m0_rpc__counts *counts);

/** Counters have one writer and are read by any thread. */
#define M0_RPC__COUNT(m, field, nr)                              \
	__atomic_store_n(&(m)->rml_counts.rco_stats.field,       \
			 (m)->rml_counts.rco_stats.field + (nr), \
			 __ATOMIC_RELAXED)

/** From post to reply. */
void m0_rpc__latency(struct m0_rpc__machine        *m,
		     const struct m0_rpc_item_type *type, m0_time_t ns);
void m0_rpc__watch_conn(struct m0_rpc__machine *m, struct m0_rpc_conn *conn);
void m0_rpc__watch_session(struct m0_rpc__machine *m,
			   struct m0_rpc_session  *session);
void m0_rpc__watch_end(struct m0_rpc__machine *m);

#endif /* M0_SRC_RPC_STATS_H */
