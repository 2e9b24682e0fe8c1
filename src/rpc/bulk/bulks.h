/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Registry of bulk that has several ways, by request: bulks.c. Part of
 * rpc_internal.h. */
#ifndef M0_SRC_RPC_BULKS_H
#define M0_SRC_RPC_BULKS_H

#include "m0/rpc.h"

struct m0_rpc__machine;
struct m0_rpc_bulk;

enum {
	M0_RPC__BULKS_BUCKETS = 64
};

/** Functions that the registry calls for a list. The owner is bulk.c. */
struct m0_rpc__bulk_ops {
	/** The request has ended: what was moved is offered no more. The
	 * machine's thread, without locks. */
	void (*bko_settle)(struct m0_rpc_bulk *rb);
	/** The request has come again, by the address of this m0_rpc__at(). */
	void (*bko_move)(struct m0_rpc_bulk *rb, uint64_t at);
};
extern const struct m0_rpc__bulk_ops m0_rpc__bulk_ops;

/** Bulk with several ways, by its request. Any thread adds; only the machine's thread
 * looks up and removes. */
struct m0_rpc__bulks {
	const struct m0_rpc__bulk_ops *bks_ops;
	struct m0_mutex                bks_lock;
	/** Atomic. */
	uint32_t bks_nr;
	/** Lists with buffers that wait to be begun anew. The machine's
	 * thread's. */
	uint32_t bks_paused_nr;
	/** By rb_link. */
	struct m0_list bks_bucket[M0_RPC__BULKS_BUCKETS];
};

void m0_rpc__bulks_init(struct m0_rpc__bulks          *bulks,
			const struct m0_rpc__bulk_ops *ops);
void m0_rpc__bulks_fini(struct m0_rpc__bulks *bulks);
/** A request that was posted here has ended. */
void m0_rpc__bulks_ended(struct m0_rpc__machine   *m,
			 const struct m0_rpc_item *request);
/** A request that is being handled has come again, by this one. */
void m0_rpc__bulks_moved(struct m0_rpc__machine          *m,
			 const struct m0_rpc_item        *request,
			 const struct m0_net_transfer_mc *tm);
/** Bytes that a request offers. */
m0_bcount_t        m0_rpc__bulks_bytes(const struct m0_rpc__machine *m,
				       const struct m0_rpc_item     *request);
static inline bool m0_rpc__bulks_are(const struct m0_rpc__bulks *bulks)
{
	return __atomic_load_n(&bulks->bks_nr, __ATOMIC_ACQUIRE) != 0;
}

#endif /* M0_SRC_RPC_BULKS_H */
