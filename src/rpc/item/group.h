/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Groups of items, and sources of items that ride along. Part of
 * rpc_internal.h.
 */
#ifndef M0_SRC_RPC_GROUP_H
#define M0_SRC_RPC_GROUP_H

static inline struct m0_rpc_frm_group *m0_rpc__group_frm(
	struct m0_rpc_group *group)
{
	return (struct m0_rpc_frm_group *)(void *)group->rg_lib;
}

/** An item of the group was posted. Any thread. */
static inline void m0_rpc__group_posted(struct m0_rpc_group *group)
{
	__atomic_add_fetch(&group->rg_posted_nr, 1, __ATOMIC_RELAXED);
}

/** An item of the group has ended. */
static inline void m0_rpc__group_ended(struct m0_rpc_group *group)
{
	__atomic_add_fetch(&group->rg_ended_nr, 1, __ATOMIC_RELEASE);
}

/** Formation has room for one more. */
struct m0_rpc_frm_item *m0_rpc__source_ask(struct m0_rpc__target *target,
					   m0_bcount_t            bytes);
void                    m0_rpc__sources_end(struct m0_rpc__conn *conn);

#endif /* M0_SRC_RPC_GROUP_H */
