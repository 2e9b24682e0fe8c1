/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Requests outside of streams that are being executed, so that a resend of one
 * is not begun beside it. One for each client. A table is small at first and grows
 * with them; if there is no memory for that it is slower.
 */
#ifndef M0_SRC_RPC_CORE_DUPS_H
#define M0_SRC_RPC_CORE_DUPS_H

#include "m0/base.h"

/** Embedded in a request. */
struct m0_rpc_dup {
	struct m0_rpc_dup *rdu_next;
	uint64_t           rdu_session;
	uint64_t           rdu_xid;
};

struct m0_rpc_dups {
	struct m0_rpc_dup **rdp_bucket;
	uint32_t            rdp_mask;
	uint32_t            rdp_nr;
	uint32_t            rdp_max;
};

/** @param max  requests at once. @retval -ENOMEM */
int m0_rpc_dups_init(struct m0_rpc_dups *dups, uint32_t max);
/** Pre: empty. */
void m0_rpc_dups_fini(struct m0_rpc_dups *dups);
/**
 * @retval -EEXIST  it is being executed: drop this one.
 * @retval -EBUSY   too many are: drop it, the client sends it again.
 */
int  m0_rpc_dups_add(struct m0_rpc_dups *dups, struct m0_rpc_dup *dup,
		     uint64_t session, uint64_t xid);
void m0_rpc_dups_del(struct m0_rpc_dups *dups, struct m0_rpc_dup *dup);
/** For a cancel; NULL: not there. */
struct m0_rpc_dup *m0_rpc_dups_find(const struct m0_rpc_dups *dups,
				    uint64_t session, uint64_t xid);

#endif /* M0_SRC_RPC_CORE_DUPS_H */
