/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An LMDB file: transactions of one tree of keys beside the mark.
 *
 * At most one transaction is open at a time and there is no reader, so LMDB's
 * own locks are off. Nested transactions are LMDB's; aborting one takes back
 * only its own changes.
 */
#include "store_internal.h"

#include <lmdb.h>

#include "os/os.h"

enum {
	/** Depth of nesting: a batch, and one job in it. */
	DEPTH = 2,
	/** Pages that only deletes may take, so that a full store can be
	 * emptied, plus one for each RESERVE_PART pages. The library's own
	 * keys may use half of them. */
	RESERVE = 32,
	RESERVE_PART = 64,
	/** Upper bound of the pages from the root of a tree to a leaf. */
	PATH = 6,
	/** LMDB's tree of free pages, and its pages outside of trees. */
	FREE_TREE = 0,
	META_PAGES = 2,
	/** A value is small if this many fit into a page. */
	SMALL_PART = 4,
	/** Bytes of memory for values that stay from put to put. */
	SCRATCH_KEPT = 1 << 20
};

struct m0_store__txn {
	struct m0_store__env *stx_env;
	struct m0_store__txn *stx_within;
	MDB_txn              *stx_txn;
	/** For next; opened by the first. */
	MDB_cursor *stx_cursor;
	bool        stx_wrote;
	bool        stx_reads_only;
	/** Pages that are left, as an estimate, and those of them kept for
	 * deletes. */
	uint64_t stx_left;
	uint64_t stx_reserve;
	/** Bytes that deletes in this transaction freed and no put has used
	 * yet. */
	uint64_t stx_freed;
	/** The first failed change; it ended the transaction. */
	int stx_rc;
	/** Snapshots: in ste_snapshots. */
	struct m0_list_link stx_link;
};

struct m0_store__env {
	MDB_env *ste_env;
	/** Guards the snapshots that are open, the oldest first. */
	struct m0_mutex ste_lock;
	struct m0_list  ste_snapshots;
	uint32_t        ste_snapshots_nr;
	MDB_dbi         ste_main;
	MDB_dbi         ste_tree;
	unsigned        ste_depth;
	/** State of the last commit; any thread reads it. */
	uint64_t    ste_keys_nr;
	m0_bcount_t ste_bytes;
	m0_bcount_t ste_used_bytes;
	size_t      ste_page_bytes;
	uint8_t    *ste_scratch;
	size_t      ste_scratch_nr;

	struct m0_store__txn ste_txn[DEPTH];
};

static int rc_of(int rc)
{
	switch (rc) {
	case MDB_SUCCESS:
		return 0;
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_MAP_FULL:
	case MDB_TXN_FULL:
	case EDQUOT:
	case EFBIG:
		return -ENOSPC;
	case MDB_READERS_FULL:
		return -EAGAIN;
	case MDB_BAD_VALSIZE:
		return -EMSGSIZE;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_CURSOR_FULL:
		return -EUCLEAN;
	case MDB_INVALID:
		return -EMEDIUMTYPE;
	case MDB_VERSION_MISMATCH:
		return -EPROTONOSUPPORT;
	default:
		return rc > 0 ? -rc : -EIO;
	}
}

static MDB_val val_of(struct m0_rpc_slice slice)
{
	return (MDB_val){ slice.sl_nr, (void *)(uintptr_t)slice.sl_data };
}

/* ----------------------------------------------------------------- room -- */

/** Pages that were freed by this transaction or a later one cannot be reused: a
 * snapshot may see them. */
static uint64_t oldest_of(struct m0_store__env *env)
{
	const struct m0_list_link *link;
	uint64_t                   ret = UINT64_MAX;

	m0_mutex_lock(&env->ste_lock);
	link = m0_list_first(&env->ste_snapshots);
	if (link != NULL)
		ret = mdb_txn_id(
			container_of(link, const struct m0_store__txn, stx_link)
				->stx_txn);
	m0_mutex_unlock(&env->ste_lock);
	return ret;
}

/**
 * Number of free pages that LMDB can reuse; only a reader can list them.
 */
static uint64_t free_nr(struct m0_store__env *env)
{
	MDB_txn    *txn;
	MDB_cursor *cursor;
	MDB_val     key;
	MDB_val     value;
	size_t      pages;
	size_t      by;
	uint64_t    oldest = oldest_of(env);
	uint64_t    nr = 0;

	if (mdb_txn_begin(env->ste_env, NULL, MDB_RDONLY, &txn) != 0)
		return 0;
	if (mdb_cursor_open(txn, FREE_TREE, &cursor) == 0) {
		while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
			memcpy(&by, key.mv_data, sizeof by);
			memcpy(&pages, value.mv_data, sizeof pages);
			if (by >= oldest)
				break;
			nr += pages;
		}
		mdb_cursor_close(cursor);
	}
	mdb_txn_abort(txn);
	return nr;
}

/** Pages that are held are counted only when it matters. */
static uint64_t pages_left(struct m0_store__env *env, uint64_t *ret_reserve)
{
	MDB_envinfo info;
	uint64_t    all;
	uint64_t    left;

	(void)mdb_env_info(env->ste_env, &info);
	all = info.me_mapsize / env->ste_page_bytes;
	*ret_reserve = RESERVE + all / RESERVE_PART;
	left = all > info.me_last_pgno ? all - info.me_last_pgno - 1 : 0;
	if (left < 2 * *ret_reserve)
		left += free_nr(env);
	return left;
}

/** Bytes of a key and its value; 0 if the key is absent. */
static uint64_t has_bytes(struct m0_store__txn *txn, struct m0_rpc_slice key)
{
	MDB_val k = val_of(key);
	MDB_val v;

	return mdb_get(txn->stx_txn, txn->stx_env->ste_tree, &k, &v) == 0
		       ? key.sl_nr + v.mv_size
		       : 0;
}

/** Is the change small, and within the space that was given back? A full
 * store keeps that much, so that an operation that empties it can be
 * recorded. */
static bool is_paid(struct m0_store__txn *txn, struct m0_rpc_slice key,
		    size_t nr)
{
	uint64_t has = txn->stx_freed + has_bytes(txn, key);

	if (nr > txn->stx_env->ste_page_bytes / SMALL_PART ||
	    has < key.sl_nr + nr)
		return false;
	txn->stx_freed = has - key.sl_nr - nr;
	return true;
}

/* The layer above, whose keys begin with 0, may take half of the reserve: a
 * full store then still accepts the peer that will empty it, and can be
 * emptied. */
static bool has_room(struct m0_store__txn *txn, struct m0_rpc_slice key,
		     size_t nr)
{
	uint64_t pages = nr / txn->stx_env->ste_page_bytes;
	uint64_t keep = *(const uint8_t *)key.sl_data == 0
				? txn->stx_reserve / 2
				: txn->stx_reserve;

	if (txn->stx_left < keep + PATH + pages)
		return is_paid(txn, key, nr);
	txn->stx_left -= 1 + pages;
	return true;
}

/* --------------------------------------------------------- transactions -- */

int m0_store__txn_begin(struct m0_store__env *env, struct m0_store__txn *within,
			struct m0_store__txn **ret)
{
	struct m0_store__txn *txn = &env->ste_txn[env->ste_depth];
	uint64_t              left;
	uint64_t              reserve;
	int                   rc;

	M0_PRE(env->ste_depth == (within == NULL ? 0 : 1));
	if (within == NULL) {
		left = pages_left(env, &reserve);
	} else {
		left = within->stx_left;
		reserve = within->stx_reserve;
	}
	*txn = (struct m0_store__txn){ .stx_env = env, .stx_within = within };
	rc = mdb_txn_begin(env->ste_env,
			   within == NULL ? NULL : within->stx_txn, 0,
			   &txn->stx_txn);
	if (rc != 0)
		return rc_of(rc);
	++env->ste_depth;
	txn->stx_left = left;
	txn->stx_reserve = reserve;
	*ret = txn;
	return 0;
}

static void cursor_close(struct m0_store__txn *txn)
{
	if (txn->stx_cursor != NULL)
		mdb_cursor_close(txn->stx_cursor);
	txn->stx_cursor = NULL;
}

void m0_store__txn_abort(struct m0_store__txn *txn)
{
	cursor_close(txn);
	mdb_txn_abort(txn->stx_txn);
	--txn->stx_env->ste_depth;
}

int m0_store__snapshot_begin(struct m0_store__env  *env,
			     struct m0_store__txn **ret)
{
	struct m0_store__txn *txn;
	int                   rc = MDB_READERS_FULL;

	if (M0_ALLOC_PTR(txn) == NULL)
		return -ENOMEM;
	txn->stx_env = env;
	txn->stx_reads_only = true;
	m0_list_link_init(&txn->stx_link);
	m0_mutex_lock(&env->ste_lock);
	if (env->ste_snapshots_nr < M0_RPC_SNAPSHOTS_MAX)
		rc = mdb_txn_begin(env->ste_env, NULL, MDB_RDONLY,
				   &txn->stx_txn);
	if (rc == 0) {
		++env->ste_snapshots_nr;
		m0_list_add_tail(&env->ste_snapshots, &txn->stx_link);
	}
	m0_mutex_unlock(&env->ste_lock);
	if (rc != 0) {
		m0_list_link_fini(&txn->stx_link);
		m0_free(txn);
		return rc_of(rc);
	}
	*ret = txn;
	return 0;
}

void m0_store__snapshot_end(struct m0_store__txn *txn)
{
	struct m0_store__env *env = txn->stx_env;

	cursor_close(txn);
	m0_mutex_lock(&env->ste_lock);
	m0_list_del(&txn->stx_link);
	--env->ste_snapshots_nr;
	mdb_txn_abort(txn->stx_txn);
	m0_mutex_unlock(&env->ste_lock);
	m0_list_link_fini(&txn->stx_link);
	m0_free(txn);
}

static int mark_put(struct m0_store__env *env, MDB_txn *txn)
{
	struct m0_store__mark mark = { .smk_version = M0_STORE__VERSION,
				       .smk_tx = mdb_txn_id(txn) };
	uint8_t               bytes[M0_STORE__MARK_BYTES];
	MDB_val key = { sizeof M0_STORE__MARK_KEY - 1, M0_STORE__MARK_KEY };
	MDB_val value = { sizeof bytes, bytes };

	m0_store__mark_encode(bytes, &mark);
	return mdb_put(txn, env->ste_main, &key, &value, 0);
}

/** A transaction that is about to be committed: what its trees have. */
struct trees {
	uint64_t tsz_keys_nr;
	uint64_t tsz_pages_nr;
};

static void size_look(struct m0_store__env *env, const struct trees *trees)
{
	MDB_envinfo info;
	MDB_stat    stat;

	(void)mdb_env_info(env->ste_env, &info);
	(void)mdb_env_stat(env->ste_env, &stat);
	env->ste_page_bytes = stat.ms_psize;
	__atomic_store_n(&env->ste_keys_nr, trees->tsz_keys_nr,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&env->ste_bytes,
			 (info.me_last_pgno + 1) * (m0_bcount_t)stat.ms_psize,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&env->ste_used_bytes,
			 trees->tsz_pages_nr * (m0_bcount_t)stat.ms_psize,
			 __ATOMIC_RELAXED);
}

static struct trees trees_of(struct m0_store__env *env, MDB_txn *txn)
{
	const MDB_dbi dbis[] = { FREE_TREE, env->ste_main, env->ste_tree };
	struct trees  ret = { .tsz_pages_nr = META_PAGES };
	MDB_stat      stat;
	size_t        i;

	for (i = 0; i < ARRAY_SIZE(dbis); ++i) {
		if (mdb_stat(txn, dbis[i], &stat) != 0)
			continue;
		ret.tsz_pages_nr += stat.ms_branch_pages + stat.ms_leaf_pages +
				    stat.ms_overflow_pages;
		if (dbis[i] == env->ste_tree)
			ret.tsz_keys_nr = stat.ms_entries;
	}
	return ret;
}

int m0_store__txn_commit(struct m0_store__txn *txn, bool *ret_wrote)
{
	struct m0_store__env *env = txn->stx_env;
	struct trees          trees = { .tsz_keys_nr = 0 };
	int                   rc = txn->stx_rc;

	if (ret_wrote != NULL)
		*ret_wrote = txn->stx_wrote;
	if (rc == 0 && txn->stx_within == NULL && txn->stx_wrote) {
		rc = rc_of(mark_put(env, txn->stx_txn));
		trees = trees_of(env, txn->stx_txn);
	}
	if (rc != 0 || !txn->stx_wrote) {
		m0_store__txn_abort(txn);
		return rc;
	}
	cursor_close(txn);
	rc = rc_of(mdb_txn_commit(txn->stx_txn));
	--env->ste_depth;
	if (txn->stx_within != NULL && rc == 0) {
		txn->stx_within->stx_wrote = true;
		txn->stx_within->stx_left = txn->stx_left;
	} else if (rc == 0) {
		size_look(env, &trees);
	}
	return rc;
}

/* --------------------------------------------------------------- values -- */

static uint32_t sum_of(struct m0_rpc_slice key, const void *value, size_t nr)
{
	return m0_os_crc32c(m0_os_crc32c(0, key.sl_data, key.sl_nr), value, nr);
}

static int value_open(struct m0_rpc_slice key, const MDB_val *val,
		      struct m0_rpc_slice *ret)
{
	uint32_t sum;

	if (val->mv_size < M0_STORE__VALUE_HEAD)
		return -EUCLEAN;
	memcpy(&sum, val->mv_data, sizeof sum);
	ret->sl_data = (const uint8_t *)val->mv_data + M0_STORE__VALUE_HEAD;
	ret->sl_nr = val->mv_size - M0_STORE__VALUE_HEAD;
	return sum == sum_of(key, ret->sl_data, ret->sl_nr) ? 0 : -EUCLEAN;
}

static bool is_key(struct m0_rpc_slice key)
{
	return key.sl_nr > 0 && key.sl_nr <= M0_RPC_STORE_KEY_MAX;
}

int m0_store__get(struct m0_store__txn *txn, struct m0_rpc_slice key,
		  struct m0_rpc_slice *ret_value)
{
	MDB_val k = val_of(key);
	MDB_val v;
	int     rc = txn->stx_rc;

	if (rc == 0)
		rc = !is_key(key)
			     ? -ENOENT
			     : rc_of(mdb_get(txn->stx_txn,
					     txn->stx_env->ste_tree, &k, &v));
	return rc ?: value_open(key, &v, ret_value);
}

static int scratch_size(struct m0_store__env *env, size_t nr)
{
	uint8_t *bytes;

	if (nr <= env->ste_scratch_nr)
		return 0;
	bytes = m0_alloc(nr);
	if (bytes == NULL)
		return -ENOMEM;
	m0_free(env->ste_scratch);
	env->ste_scratch = bytes;
	env->ste_scratch_nr = nr;
	return 0;
}

/** The memory of a large value is not kept for the next one. */
static void scratch_trim(struct m0_store__env *env)
{
	if (env->ste_scratch_nr <= SCRATCH_KEPT)
		return;
	m0_free0(&env->ste_scratch);
	env->ste_scratch_nr = 0;
}

/** After a failure the transaction can only be aborted; LMDB would report a
 * less helpful error. */
static int changed(struct m0_store__txn *txn, int rc)
{
	rc = rc_of(rc);
	if (rc == 0)
		txn->stx_wrote = true;
	else if (rc != -ENOENT && rc != -EMSGSIZE)
		txn->stx_rc = rc;
	return rc;
}

/* Copy the key and the value: both may lie in pages that are about to move. */
int m0_store__put(struct m0_store__txn *txn, struct m0_rpc_slice key,
		  struct m0_rpc_slice value)
{
	struct m0_store__env *env = txn->stx_env;
	size_t                nr = M0_STORE__VALUE_HEAD + value.sl_nr;
	uint8_t               copy[M0_RPC_STORE_KEY_MAX];
	MDB_val               k = { key.sl_nr, copy };
	MDB_val               v;
	uint32_t              sum;
	int                   rc = txn->stx_rc;

	if (rc != 0)
		return rc;
	if (txn->stx_reads_only)
		return -EACCES;
	if (!is_key(key) || value.sl_nr > UINT32_MAX - 4096)
		return -EMSGSIZE;
	if (!has_room(txn, key, nr))
		return -ENOSPC;
	rc = scratch_size(env, nr);
	if (rc != 0)
		return changed(txn, -rc);
	memcpy(copy, key.sl_data, key.sl_nr);
	memset(env->ste_scratch, 0, M0_STORE__VALUE_HEAD);
	sum = sum_of(key, value.sl_data, value.sl_nr);
	memcpy(env->ste_scratch, &sum, sizeof sum);
	if (value.sl_nr > 0)
		memcpy(env->ste_scratch + M0_STORE__VALUE_HEAD, value.sl_data,
		       value.sl_nr);
	v = (MDB_val){ nr, env->ste_scratch };
	rc = changed(txn, mdb_put(txn->stx_txn, env->ste_tree, &k, &v, 0));
	scratch_trim(env);
	return rc;
}

/** Looks the key up once. */
static int del_at(MDB_cursor *cursor, struct m0_rpc_slice key,
		  uint64_t *ret_bytes)
{
	MDB_val k = val_of(key);
	MDB_val v;
	int     rc = mdb_cursor_get(cursor, &k, &v, MDB_SET);

	if (rc != 0)
		return rc;
	/* The key may lie in the page that changes. */
	*ret_bytes = key.sl_nr + v.mv_size;
	return mdb_cursor_del(cursor, 0);
}

int m0_store__del(struct m0_store__txn *txn, struct m0_rpc_slice key)
{
	MDB_cursor *cursor;
	uint64_t    bytes = 0;
	int         rc;

	if (txn->stx_rc != 0)
		return txn->stx_rc;
	if (txn->stx_reads_only)
		return -EACCES;
	if (!is_key(key))
		return -ENOENT;
	rc = mdb_cursor_open(txn->stx_txn, txn->stx_env->ste_tree, &cursor);
	if (rc == 0) {
		rc = del_at(cursor, key, &bytes);
		mdb_cursor_close(cursor);
	}
	rc = changed(txn, rc);
	if (rc == 0)
		txn->stx_freed += bytes;
	return rc;
}

/*
 * Move the cursor behind `key`. The cursor most often stands at `key`, where
 * the last call left it.
 */
static int seek_behind(MDB_cursor *cursor, struct m0_rpc_slice key, MDB_val *k,
		       MDB_val *v)
{
	int rc;

	if (key.sl_nr == 0)
		return mdb_cursor_get(cursor, k, v, MDB_FIRST);
	*k = val_of(key);
	rc = mdb_cursor_get(cursor, k, v, MDB_SET_RANGE);
	if (rc == 0 && k->mv_size == key.sl_nr &&
	    memcmp(k->mv_data, key.sl_data, key.sl_nr) == 0)
		rc = mdb_cursor_get(cursor, k, v, MDB_NEXT);
	return rc;
}

int m0_store__next(struct m0_store__txn *txn, struct m0_rpc_slice key,
		   struct m0_rpc_slice *ret_key, struct m0_rpc_slice *ret_value)
{
	uint8_t copy[M0_RPC_STORE_KEY_MAX];
	MDB_val k;
	MDB_val v;
	int     rc = txn->stx_rc;

	if (rc == 0 && key.sl_nr > M0_RPC_STORE_KEY_MAX)
		rc = -EMSGSIZE;
	if (rc == 0 && txn->stx_cursor == NULL)
		rc = rc_of(mdb_cursor_open(txn->stx_txn, txn->stx_env->ste_tree,
					   &txn->stx_cursor));
	if (rc != 0)
		return rc;
	if (key.sl_nr > 0)
		memcpy(copy, key.sl_data, key.sl_nr);
	key.sl_data = copy;
	rc = rc_of(seek_behind(txn->stx_cursor, key, &k, &v));
	if (rc != 0)
		return rc;
	*ret_key = (struct m0_rpc_slice){ k.mv_data, k.mv_size };
	return value_open(*ret_key, &v, ret_value);
}

/* -------------------------------------------------------- the file's life -- */

static int trees_open(struct m0_store__env *env, bool create)
{
	MDB_txn     *txn;
	struct trees trees;
	int          rc = mdb_txn_begin(env->ste_env, NULL, 0, &txn);

	if (rc != 0)
		return rc;
	rc = mdb_dbi_open(txn, NULL, 0, &env->ste_main);
	if (rc == 0)
		rc = mdb_dbi_open(txn, M0_STORE__TREE, create ? MDB_CREATE : 0,
				  &env->ste_tree);
	if (rc == 0 && create)
		rc = mark_put(env, txn);
	if (rc != 0) {
		mdb_txn_abort(txn);
		return rc;
	}
	trees = trees_of(env, txn);
	rc = mdb_txn_commit(txn);
	if (rc == 0)
		size_look(env, &trees);
	return rc;
}

int m0_store__env_open(struct m0_store__env **ret, const char *path,
		       const struct m0_rpc_store_lmdb_cfg *cfg, bool create)
{
	unsigned flags =
		MDB_NOSUBDIR | MDB_NOTLS |
		(cfg->rlc_sync == M0_RPC_STORE_SYNC_NEVER ? MDB_NOSYNC : 0);
	struct m0_store__env *env;
	int                   rc;

	if (M0_ALLOC_PTR(env) == NULL)
		return -ENOMEM;
	rc = mdb_env_create(&env->ste_env);
	if (rc != 0) {
		m0_free(env);
		return rc_of(rc);
	}
	m0_mutex_init(&env->ste_lock);
	m0_list_init(&env->ste_snapshots);
	rc = mdb_env_set_maxdbs(env->ste_env, 1)
		     ?: mdb_env_set_maxreaders(env->ste_env,
					       M0_RPC_SNAPSHOTS_MAX + 2)
		     ?: mdb_env_set_mapsize(env->ste_env, cfg->rlc_bytes_max)
		     ?: mdb_env_open(env->ste_env, path, flags, 0600)
		     ?: trees_open(env, create);
	if (rc != 0) {
		m0_store__env_close(env);
		/* The file lacks the trees of a store. */
		return rc == MDB_NOTFOUND ? -EUCLEAN : rc_of(rc);
	}
	*ret = env;
	return 0;
}

void m0_store__env_close(struct m0_store__env *env)
{
	M0_PRE(env->ste_depth == 0);
	M0_PRE(env->ste_snapshots_nr == 0);
	mdb_env_close(env->ste_env);
	m0_list_fini(&env->ste_snapshots);
	m0_mutex_fini(&env->ste_lock);
	m0_free(env->ste_scratch);
	m0_free(env);
}

void m0_store__env_size(struct m0_store__env *env, uint64_t *ret_keys_nr,
			m0_bcount_t *ret_bytes, m0_bcount_t *ret_used_bytes)
{
	*ret_keys_nr = __atomic_load_n(&env->ste_keys_nr, __ATOMIC_RELAXED);
	*ret_bytes = __atomic_load_n(&env->ste_bytes, __ATOMIC_RELAXED);
	*ret_used_bytes =
		__atomic_load_n(&env->ste_used_bytes, __ATOMIC_RELAXED);
}
