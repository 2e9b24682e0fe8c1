/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The durable store: keys and values in one file of LMDB, in a directory of its
 * own. One thread of the store executes jobs in the order in which they came.
 * It takes the jobs that are queued, runs them in one transaction, commits
 * once, and then completes all of them (group commit). A server that restarts
 * with the same directory finds the answers that it gave and the values that
 * handlers put.
 *
 *     store.mdb    the data
 *     store.lock   locked while the store is open: one process, one opening
 *     store.mdb-lock   LMDB's table of the snapshots that are open
 *
 * The store refuses a file that is damaged, not a store, or of a newer format,
 * and logs what to do (m0/log.h). Every value carries a checksum of the value
 * and its key; if that does not match, a read fails with -EUCLEAN instead of
 * returning data.
 *
 * A put or del that failed with an error other than -ENOENT and -EMSGSIZE may
 * end its transaction: then every further call and the commit fail with the
 * same error. The caller must abort such a transaction, or fail such a job.
 * Values are aligned to 2.
 *
 * Memory: the pages that a transaction changes (4 KiB each, at most 512 MiB in
 * all), and the page cache, which the kernel reclaims. Address space:
 * rlc_bytes_max.
 */
#ifndef M0_RPC_STORE_LMDB_H
#define M0_RPC_STORE_LMDB_H

#include "m0/hist.h"
#include "m0/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_rpc_store_sync {
	/** A commit returns when the data is on the disk; it survives a loss of
	 * power. */
	M0_RPC_STORE_SYNC_COMMIT,
	/** A commit does not wait for the disk; it survives the death of the
	 * process, but not of the host, after which the file may be damaged. */
	M0_RPC_STORE_SYNC_NEVER
};

struct m0_rpc_store_lmdb_cfg {
	/**
	 * Largest size of the file; beyond it puts fail with -ENOSPC. 4 GiB, at
	 * least 1 MiB. It may differ at every opening, but must not be less
	 * than the present size of the file. The store reserves a little of it
	 * for deletes, and half of that for keys of the library. So a full
	 * store can be emptied, and a transaction may replace values that it
	 * has deleted or overwritten by small ones (1 KiB) of as many bytes.
	 */
	m0_bcount_t            rlc_bytes_max;
	enum m0_rpc_store_sync rlc_sync;
	/** Most jobs that share a commit; 1: each has its own. 256. */
	uint32_t rlc_batch_max;
	/** When the jobs of a batch have run for this long, the store starts no
	 * more of them. 10 ms. */
	m0_time_t rlc_batch_ns;
	/** Time to wait for more jobs before a commit that has fewer than
	 * rlc_batch_max. 0: the store does not wait, and takes the jobs that
	 * came meanwhile. */
	m0_time_t rlc_company_ns;
};

/** Counters since the opening, or the last reset. */
struct m0_rpc_store_lmdb_stats {
	/** Committed transactions that had changed something. */
	uint64_t rls_commits_nr;
	/** Transactions whose commit failed. */
	uint64_t rls_commits_failed_nr;
	uint64_t rls_jobs_nr;
	/** Jobs that were undone, or lost. */
	uint64_t rls_jobs_failed_nr;
	/** Jobs of each batch. */
	struct m0_hist rls_batch;
	/** Durations of commits, in nanoseconds. */
	struct m0_hist rls_commit_ns;
	/** At present: keys, bytes of the file, and its largest size. The file
	 * never becomes smaller. */
	uint64_t    rls_keys_nr;
	m0_bcount_t rls_bytes;
	m0_bcount_t rls_bytes_max;
	/** At present: those bytes of the file that are in use. The store uses
	 * the others again. */
	m0_bcount_t rls_used_bytes;
};

M0_EXTERN void m0_rpc_store_lmdb_cfg_init(struct m0_rpc_store_lmdb_cfg *cfg);

/**
 * Opens the store in `dir`. Creates the directory and the store if they are
 * missing; the parent directory must exist. Blocks while it reads through the
 * file, for a large one at the speed of the disk.
 *
 * @param cfg  NULL: the default.
 * @retval -EINVAL           the configuration is invalid.
 * @retval -EBUSY            it is open already, in this or another process.
 * @retval -EUCLEAN          it is damaged.
 * @retval -EMEDIUMTYPE      store.mdb is not a store.
 * @retval -EPROTONOSUPPORT  it is of a newer format.
 * @retval -EROFS, -EACCES, -ENOSPC, -EIO, ...  errors of the file system.
 */
M0_EXTERN int m0_rpc_store_lmdb_open(struct m0_rpc_store                *store,
				     const char                         *dir,
				     const struct m0_rpc_store_lmdb_cfg *cfg);

/** Closes the store. Pre: no transaction is open, and all jobs are done. */
M0_EXTERN void m0_rpc_store_lmdb_close(struct m0_rpc_store *store);

M0_EXTERN void m0_rpc_store_lmdb_stats(struct m0_rpc_store            *store,
				       struct m0_rpc_store_lmdb_stats *ret,
				       bool                            reset);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_STORE_LMDB_H */
