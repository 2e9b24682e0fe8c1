/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The store behind update streams: keys and values in transactions. What a
 * handler changes and the answer it gives are committed together, so that a
 * server that dies has done both or neither. Included by m0/rpc.h, whose
 * opening comment applies.
 *
 * The library's keys begin with the byte 0, those of handlers with any other.
 */
/* First, and outside the guard: rpc.h puts its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_STORE_H
#define M0_RPC_STORE_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
	M0_RPC_STORE_KEY_MAX = 256
};

struct m0_rpc_store;

/** Bytes by reference. */
struct m0_rpc_slice {
	const void *sl_data;
	m0_bcount_t sl_nr;
};

/** A transaction: between begin and commit or abort, on one thread. */
struct m0_rpc_tx {
	struct m0_rpc_store *tx_store;
	void                *tx_store_private;
};

/**
 * Work inside a transaction: given to rso_exec, which calls sj_run once, in a
 * transaction, unless none can be begun, and then sj_done once, when that was
 * committed (0), aborted because sj_run said so (its error), or lost (the
 * store's error).
 */
struct m0_rpc_store_job {
	/** 0: commit. <0: what this job has changed is taken back. */
	int (*sj_run)(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx);
	/** Any thread; never on the stack of rso_exec. Must not block. */
	void (*sj_done)(struct m0_rpc_store_job *job, int rc);
	/** The store's, from exec to done. */
	struct m0_rpc_store_job *sj_next;
	int32_t                  sj_rc;
};

struct m0_rpc_store_ops {
	const char *rso_name;
	/** Does it keep what was committed when the process dies? */
	bool rso_durable;
	/** @retval <0 no transaction. One at a time, blocks for its turn. */
	int (*rso_begin)(struct m0_rpc_store *store, struct m0_rpc_tx *tx);
	/** 0: it is kept. <0: nothing of it is; the transaction has ended. */
	int (*rso_commit)(struct m0_rpc_tx *tx);
	void (*rso_abort)(struct m0_rpc_tx *tx);
	/**
	 * Executes a job in a transaction, in the order of calls; several may
	 * share one commit. Any thread, does not block: the store's own thread
	 * runs it, or whoever calls rso_step.
	 */
	void (*rso_exec)(struct m0_rpc_store     *store,
			 struct m0_rpc_store_job *job);
	/** Optional: the same for several at once, linked by sj_next in their
	 * order, so that they share a commit if they can. NULL: rso_exec is
	 * called for each. */
	void (*rso_exec_all)(struct m0_rpc_store     *store,
			     struct m0_rpc_store_job *jobs);
	/** Optional, for stores without a thread: does what exec was given;
	 * called by the machine at the end of its pass. */
	void (*rso_step)(struct m0_rpc_store *store);
	/** The value lives until the transaction's next change or end.
	 * @retval -ENOENT */
	int (*rso_get)(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		       struct m0_rpc_slice *ret_value);
	/** Adds or replaces. @retval -ENOSPC, -EIO, -EMSGSIZE */
	int (*rso_put)(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		       struct m0_rpc_slice value);
	/** @retval -ENOENT */
	int (*rso_del)(struct m0_rpc_tx *tx, struct m0_rpc_slice key);
	/** The first key after `key` (in the order of bytes), with its value.
	 * @retval -ENOENT  there is none. */
	int (*rso_next)(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			struct m0_rpc_slice *ret_key,
			struct m0_rpc_slice *ret_value);
};

struct m0_rpc_store {
	const struct m0_rpc_store_ops *rst_ops;
	void                          *rst_private;
};

/* For handlers, inside m0_rpc_update_post()'s function or a job. Keys: 1 to
 * M0_RPC_STORE_KEY_MAX bytes, the first not 0 (-EINVAL). */
M0_EXTERN int m0_rpc_tx_get(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			    struct m0_rpc_slice *ret_value);
M0_EXTERN int m0_rpc_tx_put(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			    struct m0_rpc_slice value);
M0_EXTERN int m0_rpc_tx_del(struct m0_rpc_tx *tx, struct m0_rpc_slice key);
/** For iteration: begin with an empty key; never gives the library's. */
M0_EXTERN int m0_rpc_tx_next(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			     struct m0_rpc_slice *ret_key,
			     struct m0_rpc_slice *ret_value);

/**
 * A store in memory: exactly once while the process lives, forgotten when it
 * ends. @param bytes_max  bound of keys and values; -ENOSPC beyond.
 */
M0_EXTERN int  m0_rpc_store_volatile_init(struct m0_rpc_store *store,
					  m0_bcount_t          bytes_max);
M0_EXTERN void m0_rpc_store_volatile_fini(struct m0_rpc_store *store);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_STORE_H */
