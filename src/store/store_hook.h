/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Another maker of durable stores: the simulator's disks, on which the stores of
 * a simulated host are.
 */
#ifndef M0_SRC_STORE_STORE_HOOK_H
#define M0_SRC_STORE_STORE_HOOK_H

#include "m0/rpc_store_lmdb.h"

struct m0_store_hook {
	/** In place of m0_rpc_store_lmdb_open() and _close(). */
	int (*sth_open)(struct m0_rpc_store *store, const char *dir);
	void (*sth_close)(struct m0_rpc_store *store);
};

/** NULL: none. Set it while no store is open. */
extern const struct m0_store_hook *m0_store__hook;

#endif /* M0_SRC_STORE_STORE_HOOK_H */
