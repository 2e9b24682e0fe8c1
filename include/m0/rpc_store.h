/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The store behind update streams: keys and values in transactions. The library
 * commits the changes of a handler and the answer that it gives together, so
 * that a server that dies has done both or neither. Included by m0/rpc.h, whose
 * opening comment applies.
 *
 * Keys of the library begin with the byte 0, those of handlers with any other.
 */
/* Include this first, outside the guard: rpc.h includes its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_STORE_H
#define M0_RPC_STORE_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
	M0_RPC_STORE_KEY_MAX = 256,
	/** Snapshots of a durable store that may be open at once. */
	M0_RPC_SNAPSHOTS_MAX = 1024
};

struct m0_rpc_store;

/** Bytes, by reference. */
struct m0_rpc_slice {
	const void *sl_data;
	m0_bcount_t sl_nr;
};

/** A transaction, from begin to commit or abort; one thread uses it. */
struct m0_rpc_tx {
	struct m0_rpc_store *tx_store;
	void                *tx_store_private;
};

/**
 * Work inside a transaction, for rso_exec. The store calls sj_run once, in a
 * transaction, unless it cannot begin one. Then it calls sj_done once: with 0
 * if the transaction was committed; with the error of sj_run if it was aborted
 * because sj_run failed; with the store's error if it was lost.
 */
struct m0_rpc_store_job {
	/** Returns 0 to commit, <0 to undo the changes of this job. */
	int (*sj_run)(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx);
	/** Called by any thread; never on the stack of rso_exec. Must not
	 * block. */
	void (*sj_done)(struct m0_rpc_store_job *job, int rc);
	/** For the store, from rso_exec to sj_done. */
	struct m0_rpc_store_job *sj_next;
	int32_t                  sj_rc;
};

struct m0_rpc_store_ops {
	const char *rso_name;
	/** Committed data survives the death of the process. */
	bool rso_durable;
	/**
	 * Begins a transaction. Only one is open at a time; the call blocks
	 * until it is possible.
	 * @retval <0  there is no transaction.
	 */
	int (*rso_begin)(struct m0_rpc_store *store, struct m0_rpc_tx *tx);
	/**
	 * Ends the transaction. 0: its changes are kept. <0: none of them is.
	 */
	int (*rso_commit)(struct m0_rpc_tx *tx);
	void (*rso_abort)(struct m0_rpc_tx *tx);
	/**
	 * Executes a job in a transaction, in the order of calls; several jobs
	 * may share one commit. Any thread. Does not block: the store's own
	 * thread runs the job, or the thread that calls rso_step.
	 */
	void (*rso_exec)(struct m0_rpc_store     *store,
			 struct m0_rpc_store_job *job);
	/** Optional: rso_exec for several jobs at once, linked by sj_next in
	 * their order, so that they can share a commit. NULL: the library calls
	 * rso_exec for each. */
	void (*rso_exec_all)(struct m0_rpc_store     *store,
			     struct m0_rpc_store_job *jobs);
	/** Optional, for stores without a thread: executes the jobs given to
	 * rso_exec. The RPC machine calls it at the end of its pass. */
	void (*rso_step)(struct m0_rpc_store *store);
	/**
	 * The value is valid until the next change in the transaction, or its
	 * end.
	 * @retval -ENOENT
	 */
	int (*rso_get)(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		       struct m0_rpc_slice *ret_value);
	/**
	 * Adds or replaces a value.
	 * @retval -ENOSPC, -EIO, -EMSGSIZE
	 */
	int (*rso_put)(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		       struct m0_rpc_slice value);
	/** @retval -ENOENT */
	int (*rso_del)(struct m0_rpc_tx *tx, struct m0_rpc_slice key);
	/**
	 * Returns the first key after `key`, in the order of bytes, with its
	 * value.
	 * @retval -ENOENT  no key follows.
	 */
	int (*rso_next)(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			struct m0_rpc_slice *ret_key,
			struct m0_rpc_slice *ret_value);
	/**
	 * Optional, for m0_rpc_snapshot_begin(): begins a transaction that only
	 * reads, beside those that change, and ends it. rso_get and rso_next
	 * accept it. NULL: the library uses rso_begin and rso_abort.
	 */
	int (*rso_snapshot_begin)(struct m0_rpc_store *store,
				  struct m0_rpc_tx    *tx);
	void (*rso_snapshot_end)(struct m0_rpc_tx *tx);
};

struct m0_rpc_store {
	const struct m0_rpc_store_ops *rst_ops;
	void                          *rst_private;
};

/* For handlers, inside the function of m0_rpc_update_post() or a job. Keys have
 * 1 to M0_RPC_STORE_KEY_MAX bytes, and the first is not 0 (-EINVAL). */
M0_EXTERN int m0_rpc_tx_get(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			    struct m0_rpc_slice *ret_value);
M0_EXTERN int m0_rpc_tx_put(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			    struct m0_rpc_slice value);
M0_EXTERN int m0_rpc_tx_del(struct m0_rpc_tx *tx, struct m0_rpc_slice key);
/** For iteration. Start with an empty key; it never returns keys of the
 * library. */
M0_EXTERN int m0_rpc_tx_next(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			     struct m0_rpc_slice *ret_key,
			     struct m0_rpc_slice *ret_value);

/**
 * Begins a transaction that only reads. The durable store shows it what was
 * committed before, and goes on to commit meanwhile; values stay valid until
 * the end, on any thread. The space of what is deleted is used again when no
 * older snapshot is open, so end it soon. A store without snapshots (the
 * volatile one) lets no other transaction begin before the end. Changes fail
 * with -EACCES, or are undone at the end. May block: for application threads
 * and handlers in a pool.
 * @retval -EAGAIN  the durable store has M0_RPC_SNAPSHOTS_MAX open.
 * @retval -ENOMEM, -EIO
 */
M0_EXTERN int m0_rpc_snapshot_begin(struct m0_rpc_store *store,
				    struct m0_rpc_tx    *tx);
/** Ends it. Any thread, but not two at once. */
M0_EXTERN void m0_rpc_snapshot_end(struct m0_rpc_tx *tx);

/**
 * A store in memory: requests are executed exactly once while the process
 * lives; its data is lost when the process ends.
 * @param bytes_max  bound of keys and values; beyond it puts fail with -ENOSPC.
 */
M0_EXTERN int  m0_rpc_store_volatile_init(struct m0_rpc_store *store,
					  m0_bcount_t          bytes_max);
M0_EXTERN void m0_rpc_store_volatile_fini(struct m0_rpc_store *store);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_STORE_H */
