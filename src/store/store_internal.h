/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Declarations of the durable store. env.c knows LMDB, file.c the directory and
 * the conditions under which a file is opened, store.c the thread and the
 * turns.
 */
#ifndef M0_SRC_STORE_STORE_INTERNAL_H
#define M0_SRC_STORE_STORE_INTERNAL_H

#include "m0/rpc_store_lmdb.h"

enum {
	/** Version of the format; a file of a newer one is refused. */
	M0_STORE__VERSION = 1,
	/** Before every value: CRC-32C of key and value, and zeroes. */
	M0_STORE__VALUE_HEAD = 8,
	/** magic 8, version 4, CRC-32C 4, transaction 8, zeroes 8. */
	M0_STORE__MARK_BYTES = 32
};

/* In the main tree of the file: the mark, and the tree of keys. */
#define M0_STORE__MARK_KEY   "colibri"
#define M0_STORE__MARK_MAGIC "m0store"
#define M0_STORE__TREE       "kv"

/**
 * Every transaction puts the mark with its own number, which distinguishes a tree
 * from an older one.
 */
struct m0_store__mark {
	uint32_t smk_version;
	uint64_t smk_tx;
};

void m0_store__mark_encode(uint8_t bytes[], const struct m0_store__mark *mark);
/** @retval -EMEDIUMTYPE  no mark. -EUCLEAN  a damaged one. */
int m0_store__mark_decode(const void *bytes, size_t nr,
			  struct m0_store__mark *ret);

/* file.c */

/** Logs why a store is refused, and what to do, as an error. @return rc. */
int m0_store__refuse(int rc, const char *path, const char *what,
		     const char *advice);

/**
 * Makes the directory if it is missing and takes its lock.
 * @return descriptor, to be closed when the store is. -EBUSY
 */
int m0_store__lock(const char *dir);

/** Does the file exist? @return 0, -ENOENT, or the error found in it. */
int m0_store__check(const char *path);

/** Is the file system of the file almost full? */
bool m0_store__is_full(int fd);

/** Makes the names in a directory durable (fsync). */
int m0_store__dir_sync(const char *dir);

/* env.c: one file. Not locked: one transaction at a time; snapshots beside it. */

struct m0_store__env;
struct m0_store__txn;

/** An existing file, or with `create` an empty one. */
int  m0_store__env_open(struct m0_store__env **ret, const char *path,
			const struct m0_rpc_store_lmdb_cfg *cfg, bool create);
void m0_store__env_close(struct m0_store__env *env);
/** Statistics as of the last commit. */
void m0_store__env_size(struct m0_store__env *env, uint64_t *ret_keys_nr,
			m0_bcount_t *ret_bytes, m0_bcount_t *ret_used_bytes);

/** @param within  NULL, or the transaction that this is a part of. */
int m0_store__txn_begin(struct m0_store__env *env, struct m0_store__txn *within,
			struct m0_store__txn **ret);
/** @param ret_wrote  optional: were there changes? */
int  m0_store__txn_commit(struct m0_store__txn *txn, bool *ret_wrote);
void m0_store__txn_abort(struct m0_store__txn *txn);

/**
 * Begins what only reads, beside a transaction; any number up to
 * M0_RPC_SNAPSHOTS_MAX, on any threads. Changes fail with -EACCES.
 * @retval -EAGAIN, -ENOMEM
 */
int  m0_store__snapshot_begin(struct m0_store__env  *env,
			      struct m0_store__txn **ret);
void m0_store__snapshot_end(struct m0_store__txn *txn);

int m0_store__get(struct m0_store__txn *txn, struct m0_rpc_slice key,
		  struct m0_rpc_slice *ret_value);
int m0_store__put(struct m0_store__txn *txn, struct m0_rpc_slice key,
		  struct m0_rpc_slice value);
int m0_store__del(struct m0_store__txn *txn, struct m0_rpc_slice key);
int m0_store__next(struct m0_store__txn *txn, struct m0_rpc_slice key,
		   struct m0_rpc_slice *ret_key,
		   struct m0_rpc_slice *ret_value);

#endif /* M0_SRC_STORE_STORE_INTERNAL_H */
