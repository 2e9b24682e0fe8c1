/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The durable store: keys and values in one file of LMDB, below a directory of
 * its own. One thread of the store executes jobs in the order in which they
 * came: it takes what is there, runs it in one transaction, commits once and
 * then tells all of them (group commit). A server that comes back with the
 * same directory finds the answers it gave and what handlers put.
 *
 *     store.mdb    the data
 *     store.lock   locked while the store is open: one process, one opening
 *
 * What is damaged, not a store or of a newer format is refused, with a line in
 * the log (m0/log.h) that says what to do. Every value carries a checksum of
 * it and its key: one that does not match is -EUCLEAN, never data.
 *
 * A put or del that failed with other than -ENOENT and -EMSGSIZE may end its
 * transaction: every further call gives the same error and so does the commit.
 * Such a transaction, or job, is to be taken back. Values are aligned to 2.
 *
 * Memory: what a transaction changes (4 KiB a page, at most 512 MiB), and the
 * page cache's, which the kernel takes back. Address space: rlc_bytes_max.
 */
#ifndef M0_RPC_STORE_LMDB_H
#define M0_RPC_STORE_LMDB_H

#include "m0/hist.h"
#include "m0/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_rpc_store_sync {
	/** A commit returns when the disk has it: survives a loss of power. */
	M0_RPC_STORE_SYNC_COMMIT,
	/** Never waits for the disk: survives the death of the process, but
	 * not of the machine, after which the file may be damaged. */
	M0_RPC_STORE_SYNC_NEVER
};

struct m0_rpc_store_lmdb_cfg {
	/** The file never grows beyond; -ENOSPC then. 4 GiB, at least 1 MiB. It
	 * may be another with every opening, but no less than the file has. A
	 * little of it is kept for deleting, and half of that for the library's
	 * own keys: a full store can be emptied, and a
	 * transaction may put small values (1 KiB) in place of what it has
	 * deleted or replaces, of as many bytes. */
	m0_bcount_t            rlc_bytes_max;
	enum m0_rpc_store_sync rlc_sync;
	/** Jobs that share a commit, at most; 1: each has its own. 256. */
	uint32_t rlc_batch_max;
	/** When jobs of a batch have run for so long no more are begun. 10 ms.
	 */
	m0_time_t rlc_batch_ns;
	/** Before a commit that has room left, wait so long for more jobs. 0:
	 * does not wait, and takes those that came meanwhile. */
	m0_time_t rlc_company_ns;
};

/** Since the opening, or the last reset. */
struct m0_rpc_store_lmdb_stats {
	/** Transactions that were kept, and had changed something. */
	uint64_t rls_commits_nr;
	/** Those whose commit failed. */
	uint64_t rls_commits_failed_nr;
	uint64_t rls_jobs_nr;
	/** Taken back, or lost. */
	uint64_t rls_jobs_failed_nr;
	/** Jobs of each batch. */
	struct m0_hist rls_batch;
	/** How long commits took, in nanoseconds. */
	struct m0_hist rls_commit_ns;
	/** Now: keys, bytes of the file, and its bound. */
	uint64_t    rls_keys_nr;
	m0_bcount_t rls_bytes;
	m0_bcount_t rls_bytes_max;
};

M0_EXTERN void m0_rpc_store_lmdb_cfg_init(struct m0_rpc_store_lmdb_cfg *cfg);

/**
 * Opens the store in `dir`, made if it is missing (its parent must be there),
 * as is the store. Blocks, as it looks through the file; for a large one at the
 * speed of the disk.
 *
 * @param cfg  NULL: the default.
 * @retval -EINVAL           the configuration.
 * @retval -EBUSY            another has it open, here or in another process.
 * @retval -EUCLEAN          it is damaged.
 * @retval -EMEDIUMTYPE      store.mdb is no store.
 * @retval -EPROTONOSUPPORT  it is of a newer format.
 * @retval -EROFS, -EACCES, -ENOSPC, -EIO, ...  of the file system.
 */
M0_EXTERN int m0_rpc_store_lmdb_open(struct m0_rpc_store                *store,
				     const char                         *dir,
				     const struct m0_rpc_store_lmdb_cfg *cfg);

/** Pre: no transaction is open, all jobs are done. */
M0_EXTERN void m0_rpc_store_lmdb_close(struct m0_rpc_store *store);

M0_EXTERN void m0_rpc_store_lmdb_stats(struct m0_rpc_store            *store,
				       struct m0_rpc_store_lmdb_stats *ret,
				       bool                            reset);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_STORE_LMDB_H */
