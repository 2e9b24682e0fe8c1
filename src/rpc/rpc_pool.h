/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Between the server and pools of threads. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_RPC_POOL_H
#define M0_SRC_RPC_RPC_POOL_H

/**
 * rpc_pool.c's: has rito_deliver(machine, item) called on a thread of the pool. On
 * the machine's thread; one reference goes along. @retval <0  it will not be.
 */
int m0_rpc__pool_hand(struct m0_rpc_pool *pool, struct m0_rpc_machine *machine,
		      struct m0_rpc_item *item);
/** rito_deliver has returned there: has the machine put the reference. Any
 * thread, and the last that it does with the item, and the machine. */
void m0_rpc__handed_back(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item);
/**
 * Asked before rito_deliver() is called there: false: it has expired or was
 * cancelled, and has been answered; rito_deliver must not be called, handed_back
 * must. Any thread.
 */
bool m0_rpc__begins(struct m0_rpc_machine *machine, struct m0_rpc_item *item);

#endif /* M0_SRC_RPC_RPC_POOL_H */
