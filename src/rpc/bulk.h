/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Between bulk.c, which moves a list of buffers, and bulk_add.c, which makes
 * them and writes their descriptors into bodies.
 */
#ifndef M0_SRC_RPC_BULK_H
#define M0_SRC_RPC_BULK_H

#include "m0/rpc_bulk.h"

enum {
	M0_RPC__BULK_MAGIC = 0x72756c6b,
	M0_RPC__BULK_BUF_MAGIC = 0x72626266,
	M0_RPC__BULK_LIST_MAGIC = 0x72626c73
};

/** rb_flags. */
enum m0_rpc__bulk_flags {
	/** Stored or loaded, and the list is not empty. */
	M0_RPC__BULK_BUSY = 1,
	/** The store has failed: rb_done is not called. */
	M0_RPC__BULK_QUIET = 2
};

/** Takes a buffer into the list, at its end. */
void m0_rpc__bulk_link(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf);
/** Frees the last of the list. */
void m0_rpc__bulk_unlink_last(struct m0_rpc_bulk *rb);

#endif /* M0_SRC_RPC_BULK_H */
