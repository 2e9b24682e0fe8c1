/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The volatile store: a treap of keys. A transaction changes it in place; what
 * it has changed first hangs on a list with the value of before, for an abort.
 * A key deleted inside a transaction stays as a ghost without a value until
 * the end.
 *
 * No lock of the system's: jobs come by a lock-free stack; the thread that steps takes
 * the store if it is free, and if it is not, the thread that has it does the work. Only
 * begin waits for its turn, by spinning: transactions are short.
 */
#include "m0/rpc_store.h"

#include <errno.h>

struct value {
	m0_bcount_t smv_nr;
	uint8_t     smv_bytes[];
};

struct node {
	struct node  *smn_left;
	struct node  *smn_right;
	struct value *smn_value;
	/** Changed by the transaction: before it, and the next such node. */
	struct value *smn_before;
	struct node  *smn_undo;
	bool          smn_changed;
	uint32_t      smn_prio;
	uint32_t      smn_key_nr;
	uint8_t       smn_key[];
};

struct store {
	struct node *sms_root;
	struct node *sms_undo;
	uint64_t     sms_rand;
	m0_bcount_t  sms_bytes;
	m0_bcount_t  sms_bytes_before;
	m0_bcount_t  sms_bytes_max;
	/** Thread that is inside a transaction or a step. */
	uint32_t sms_busy;
	/** Last given first. */
	struct m0_rpc_store_job *sms_jobs;
};

static struct store *store_of(const struct m0_rpc_tx *tx)
{
	return tx->tx_store->rst_private;
}

/* ------------------------------------------------------------- treap -- */

static int key_cmp(const struct node *node, struct m0_rpc_slice key)
{
	m0_bcount_t nr = min64u(node->smn_key_nr, key.sl_nr);
	int         cmp = nr == 0 ? 0 : memcmp(node->smn_key, key.sl_data, nr);

	if (cmp != 0)
		return cmp;
	return node->smn_key_nr < key.sl_nr ? -1 : node->smn_key_nr > key.sl_nr;
}

static struct node *find(const struct store *store, struct m0_rpc_slice key)
{
	struct node *node = store->sms_root;
	int          cmp;

	while (node != NULL) {
		cmp = key_cmp(node, key);
		if (cmp == 0)
			return node;
		node = cmp < 0 ? node->smn_right : node->smn_left;
	}
	return NULL;
}

/** The first behind `key`. */
static struct node *find_behind(const struct store *store,
				struct m0_rpc_slice key)
{
	struct node *node = store->sms_root;
	struct node *best = NULL;

	while (node != NULL) {
		if (key_cmp(node, key) > 0) {
			best = node;
			node = node->smn_left;
		} else {
			node = node->smn_right;
		}
	}
	return best;
}

/** Cuts a tree in two: below and above `key`, which is not in it. */
static void split(struct node *tree, struct m0_rpc_slice key,
		  struct node **below, struct node **above)
{
	while (tree != NULL) {
		if (key_cmp(tree, key) < 0) {
			*below = tree;
			below = &tree->smn_right;
			tree = tree->smn_right;
		} else {
			*above = tree;
			above = &tree->smn_left;
			tree = tree->smn_left;
		}
	}
	*below = NULL;
	*above = NULL;
}

static uint32_t prio_next(struct store *store)
{
	store->sms_rand = store->sms_rand * 6364136223846793005ULL +
			  1442695040888963407ULL;
	return (uint32_t)(store->sms_rand >> 32);
}

static void node_add(struct store *store, struct node *node)
{
	struct m0_rpc_slice key = { node->smn_key, node->smn_key_nr };
	struct node       **at = &store->sms_root;

	while (*at != NULL && (*at)->smn_prio >= node->smn_prio)
		at = key_cmp(*at, key) < 0 ? &(*at)->smn_right
					   : &(*at)->smn_left;
	split(*at, key, &node->smn_left, &node->smn_right);
	*at = node;
}

static void node_del(struct store *store, struct node *node)
{
	struct m0_rpc_slice key = { node->smn_key, node->smn_key_nr };
	struct node       **at = &store->sms_root;
	struct node        *left = node->smn_left;
	struct node        *right = node->smn_right;

	while (*at != node)
		at = key_cmp(*at, key) < 0 ? &(*at)->smn_right
					   : &(*at)->smn_left;
	while (left != NULL && right != NULL) {
		if (left->smn_prio >= right->smn_prio) {
			*at = left;
			at = &left->smn_right;
			left = left->smn_right;
		} else {
			*at = right;
			at = &right->smn_left;
			right = right->smn_left;
		}
	}
	*at = left != NULL ? left : right;
	m0_free(node);
}

/* ------------------------------------------------------ transactions -- */

static bool take(struct store *store)
{
	return __atomic_exchange_n(&store->sms_busy, 1, __ATOMIC_SEQ_CST) == 0;
}

static void leave(struct store *store)
{
	__atomic_store_n(&store->sms_busy, 0, __ATOMIC_SEQ_CST);
}

static void tx_begin(struct m0_rpc_store *store, struct m0_rpc_tx *tx)
{
	struct store *st = store->rst_private;

	tx->tx_store = store;
	tx->tx_store_private = NULL;
	st->sms_bytes_before = st->sms_bytes;
}

static int mem_begin(struct m0_rpc_store *store, struct m0_rpc_tx *tx)
{
	struct store *st = store->rst_private;

	while (!take(st))
		while (__atomic_load_n(&st->sms_busy, __ATOMIC_RELAXED) != 0)
			;
	tx_begin(store, tx);
	return 0;
}

/** Remembers what the node is before the transaction's first change. */
static void changed(struct store *store, struct node *node)
{
	if (node->smn_changed) {
		m0_free(node->smn_value);
	} else {
		node->smn_changed = true;
		node->smn_before = node->smn_value;
		node->smn_undo = store->sms_undo;
		store->sms_undo = node;
	}
	node->smn_value = NULL;
}

/** Ends the transaction: keeps what it did or what was before. */
static void tx_end(struct store *store, bool commit)
{
	struct node *node;

	while ((node = store->sms_undo) != NULL) {
		store->sms_undo = node->smn_undo;
		node->smn_changed = false;
		if (commit) {
			m0_free(node->smn_before);
		} else {
			m0_free(node->smn_value);
			node->smn_value = node->smn_before;
		}
		node->smn_before = NULL;
		if (node->smn_value == NULL)
			node_del(store, node);
	}
	if (!commit)
		store->sms_bytes = store->sms_bytes_before;
}

static void mem_step(struct m0_rpc_store *store);

/* Jobs that came meanwhile found the store taken: nobody else runs them. */
static int mem_commit(struct m0_rpc_tx *tx)
{
	tx_end(store_of(tx), true);
	leave(store_of(tx));
	mem_step(tx->tx_store);
	return 0;
}

static void mem_abort(struct m0_rpc_tx *tx)
{
	tx_end(store_of(tx), false);
	leave(store_of(tx));
	mem_step(tx->tx_store);
}

static int mem_get(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		   struct m0_rpc_slice *ret_value)
{
	const struct node *node = find(store_of(tx), key);

	if (node == NULL || node->smn_value == NULL)
		return -ENOENT;
	ret_value->sl_data = node->smn_value->smv_bytes;
	ret_value->sl_nr = node->smn_value->smv_nr;
	return 0;
}

/** Bytes that a node counts for now. */
static m0_bcount_t node_bytes(const struct node *node)
{
	return node == NULL || node->smn_value == NULL
		       ? 0
		       : node->smn_key_nr + node->smn_value->smv_nr;
}

static struct node *node_new(struct store *store, struct m0_rpc_slice key)
{
	struct node *node = m0_alloc(sizeof *node + key.sl_nr);

	if (node == NULL)
		return NULL;
	node->smn_prio = prio_next(store);
	node->smn_key_nr = (uint32_t)key.sl_nr;
	memcpy(node->smn_key, key.sl_data, key.sl_nr);
	node_add(store, node);
	return node;
}

static int mem_put(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		   struct m0_rpc_slice value)
{
	struct store *store = store_of(tx);
	struct node  *node;
	struct value *copy;
	m0_bcount_t   bytes;

	if (key.sl_nr == 0 || key.sl_nr > M0_RPC_STORE_KEY_MAX ||
	    value.sl_nr > UINT32_MAX)
		return -EMSGSIZE;
	node = find(store, key);
	bytes = store->sms_bytes - node_bytes(node) + key.sl_nr + value.sl_nr;
	if (bytes > store->sms_bytes_max)
		return -ENOSPC;
	copy = m0_alloc(sizeof *copy + value.sl_nr);
	if (copy != NULL && node == NULL)
		node = node_new(store, key);
	if (node == NULL || copy == NULL) {
		m0_free(copy);
		return -ENOSPC;
	}
	copy->smv_nr = value.sl_nr;
	if (value.sl_nr > 0)
		memcpy(copy->smv_bytes, value.sl_data, value.sl_nr);
	changed(store, node);
	node->smn_value = copy;
	store->sms_bytes = bytes;
	return 0;
}

static int mem_del(struct m0_rpc_tx *tx, struct m0_rpc_slice key)
{
	struct store *store = store_of(tx);
	struct node  *node = find(store, key);

	if (node == NULL || node->smn_value == NULL)
		return -ENOENT;
	store->sms_bytes -= node_bytes(node);
	changed(store, node);
	return 0;
}

static int mem_next(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		    struct m0_rpc_slice *ret_key,
		    struct m0_rpc_slice *ret_value)
{
	const struct store *store = store_of(tx);
	const struct node  *node = find_behind(store, key);

	while (node != NULL && node->smn_value == NULL) {
		key = (struct m0_rpc_slice){ node->smn_key, node->smn_key_nr };
		node = find_behind(store, key);
	}
	if (node == NULL)
		return -ENOENT;
	*ret_key = (struct m0_rpc_slice){ node->smn_key, node->smn_key_nr };
	*ret_value = (struct m0_rpc_slice){ node->smn_value->smv_bytes,
					    node->smn_value->smv_nr };
	return 0;
}

/* -------------------------------------------------------------- jobs -- */

static void mem_exec(struct m0_rpc_store *store, struct m0_rpc_store_job *job)
{
	struct store            *st = store->rst_private;
	struct m0_rpc_store_job *top =
		__atomic_load_n(&st->sms_jobs, __ATOMIC_RELAXED);

	do
		job->sj_next = top;
	while (!__atomic_compare_exchange_n(&st->sms_jobs, &top, job, true,
					    __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
}

/** All that were given, the first one first. */
static struct m0_rpc_store_job *jobs_take(struct store *store)
{
	struct m0_rpc_store_job *job =
		__atomic_exchange_n(&store->sms_jobs, NULL, __ATOMIC_SEQ_CST);
	struct m0_rpc_store_job *ret = NULL;
	struct m0_rpc_store_job *next;

	for (; job != NULL; job = next) {
		next = job->sj_next;
		job->sj_next = ret;
		ret = job;
	}
	return ret;
}

static void jobs_done(struct m0_rpc_store_job *job)
{
	struct m0_rpc_store_job *next;

	for (; job != NULL; job = next) {
		next = job->sj_next;
		job->sj_done(job, job->sj_rc);
	}
}

static void mem_step(struct m0_rpc_store *store)
{
	struct store            *st = store->rst_private;
	struct m0_rpc_store_job *jobs;
	struct m0_rpc_store_job *job;
	struct m0_rpc_tx         tx;

	while (__atomic_load_n(&st->sms_jobs, __ATOMIC_SEQ_CST) != NULL &&
	       take(st)) {
		jobs = jobs_take(st);
		for (job = jobs; job != NULL; job = job->sj_next) {
			tx_begin(store, &tx);
			job->sj_rc = job->sj_run(job, &tx);
			tx_end(st, job->sj_rc == 0);
		}
		leave(st);
		/* Outside, so that they may begin transactions. */
		jobs_done(jobs);
	}
}

static const struct m0_rpc_store_ops mem_ops = {
	.rso_name = "volatile",
	.rso_durable = false,
	.rso_begin = mem_begin,
	.rso_commit = mem_commit,
	.rso_abort = mem_abort,
	.rso_exec = mem_exec,
	.rso_step = mem_step,
	.rso_get = mem_get,
	.rso_put = mem_put,
	.rso_del = mem_del,
	.rso_next = mem_next,
};

int m0_rpc_store_volatile_init(struct m0_rpc_store *store,
			       m0_bcount_t          bytes_max)
{
	struct store *st;

	if (M0_ALLOC_PTR(st) == NULL)
		return -ENOMEM;
	st->sms_bytes_max = bytes_max;
	store->rst_ops = &mem_ops;
	store->rst_private = st;
	return 0;
}

void m0_rpc_store_volatile_fini(struct m0_rpc_store *store)
{
	struct store *st = store->rst_private;

	M0_PRE(st->sms_busy == 0 && st->sms_jobs == NULL);
	while (st->sms_root != NULL) {
		m0_free(st->sms_root->smn_value);
		node_del(st, st->sms_root);
	}
	m0_free(st);
	store->rst_private = NULL;
}
