/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Between frm.c, the cache, and pack.c, what leaves it. */
#ifndef M0_SRC_RPC_CORE_FRM_INTERNAL_H
#define M0_SRC_RPC_CORE_FRM_INTERNAL_H

#include "rpc/core/frm.h"

enum m0_frm_kind {
	FRM_HELD,
	FRM_WAITING,
	FRM_URGENT
};

static inline struct m0_rpc_frm_item *m0_rpc__frm_item_of(
	const struct m0_order_node *node)
{
	return container_of(node, struct m0_rpc_frm_item, fi_node);
}

/** Does it fit beside so many bytes and segments? */
bool m0_rpc__frm_fits(const struct m0_rpc_frm      *frm,
		      const struct m0_rpc_frm_item *item, m0_bcount_t bytes,
		      uint64_t segs_nr);
/** m0_rpc__frm_remove(), but that fi_link stays in f_age: it is moved from there.
 * Pre: cached. */
void m0_rpc__frm_leave(struct m0_rpc_frm_item *item);
/** Its timer has. */
void m0_rpc__frm_item_expired(struct m0_rpc_frm_item *item, m0_time_t now);

#endif /* M0_SRC_RPC_CORE_FRM_INTERNAL_H */
