/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The durable store. Its thread takes all queued jobs and runs them in one
 * transaction, each in a nested transaction, so that a job that fails takes
 * back only its own changes. A job alone in its batch needs no nested
 * transaction.
 *
 * Transactions of the thread and those begun by other threads take turns, in
 * the order in which they asked.
 */
#include "store_internal.h"
#include "store_hook.h"

#include <stdio.h>
#include <unistd.h>

#include "os/os.h"

struct lmdb_store {
	struct m0_store__env        *lst_env;
	struct m0_rpc_store_lmdb_cfg lst_cfg;
	int                          lst_lock_fd;
	struct m0_thread             lst_thread;

	/** Guards the fields below. */
	struct m0_mutex           lst_mutex;
	struct m0_cond            lst_given;
	struct m0_cond            lst_turn;
	struct m0_rpc_store_job  *lst_jobs;
	struct m0_rpc_store_job **lst_jobs_end;
	bool                      lst_closing;
	/** True while the thread waits for a job. */
	bool lst_idle;
	/** Number of threads that are about to wake the store's thread. The
	 * thread that queued the last job may still be in its call when that
	 * job is done and the store is to be closed. */
	uint32_t lst_wakers_nr;
	/** Turns: the next ticket, and the ticket whose turn it is now. */
	uint64_t                       lst_ticket;
	uint64_t                       lst_now;
	struct m0_rpc_store_lmdb_stats lst_stats;

	/** The last commit of the job whose turn it is failed. */
	bool lst_failing;

	/** Jobs that the thread has taken and not begun; the thread alone
	 * uses it. */
	struct m0_rpc_store_job *lst_taken;
};

/** Jobs that share a commit. */
struct batch {
	struct m0_rpc_store_job  *bat_jobs;
	struct m0_rpc_store_job **bat_end;
	uint32_t                  bat_nr;
	m0_time_t                 bat_begin;
};

static struct lmdb_store *store_of(const struct m0_rpc_store *store)
{
	return store->rst_private;
}

static struct m0_store__txn *txn_of(const struct m0_rpc_tx *tx)
{
	return tx->tx_store_private;
}

/* ---------------------------------------------------------------- turns -- */

static void turn_take(struct lmdb_store *st)
{
	uint64_t ticket;

	m0_mutex_lock(&st->lst_mutex);
	ticket = st->lst_ticket++;
	while (st->lst_now != ticket)
		m0_cond_wait(&st->lst_turn);
	m0_mutex_unlock(&st->lst_mutex);
}

static void turn_leave(struct lmdb_store *st)
{
	m0_mutex_lock(&st->lst_mutex);
	++st->lst_now;
	m0_cond_broadcast(&st->lst_turn);
	m0_mutex_unlock(&st->lst_mutex);
}

/** Log once when commits begin to fail, and once when they succeed again. */
static void commit_log(struct lmdb_store *st, int rc)
{
	if (rc != 0 && !st->lst_failing)
		m0_log(M0_LOG_ERROR, "store: a commit failed: %s%s",
		       m0_errname(rc),
		       rc == -ENOSPC
			       ? "; what was asked for is refused until there "
				 "is room again"
			       : "");
	else if (rc == 0 && st->lst_failing)
		m0_log(M0_LOG_NOTICE, "store: commits succeed again");
	st->lst_failing = rc != 0;
}

static int commit(struct lmdb_store *st, struct m0_store__txn *txn)
{
	m0_time_t begin = m0_time_now();
	bool      wrote;
	int       rc = m0_store__txn_commit(txn, &wrote);
	m0_time_t end = m0_time_now();

	/* LMDB reports a short write as a failed one. */
	if (rc == -EIO && m0_store__is_full(st->lst_lock_fd))
		rc = -ENOSPC;

	if (!wrote && rc == 0)
		return 0;
	commit_log(st, rc);
	m0_mutex_lock(&st->lst_mutex);
	if (rc == 0) {
		++st->lst_stats.rls_commits_nr;
		m0_hist_record(&st->lst_stats.rls_commit_ns, end - begin);
	} else {
		++st->lst_stats.rls_commits_failed_nr;
	}
	m0_mutex_unlock(&st->lst_mutex);
	return rc;
}

/* --------------------------------------------------------- transactions -- */

static int lmdb_begin(struct m0_rpc_store *store, struct m0_rpc_tx *tx)
{
	struct lmdb_store    *st = store_of(store);
	struct m0_store__txn *txn;
	int                   rc;

	turn_take(st);
	rc = m0_store__txn_begin(st->lst_env, NULL, &txn);
	if (rc != 0) {
		turn_leave(st);
		return rc;
	}
	tx->tx_store = store;
	tx->tx_store_private = txn;
	return 0;
}

static int lmdb_commit(struct m0_rpc_tx *tx)
{
	struct lmdb_store *st = store_of(tx->tx_store);
	int                rc = commit(st, txn_of(tx));

	turn_leave(st);
	return rc;
}

static void lmdb_abort(struct m0_rpc_tx *tx)
{
	m0_store__txn_abort(txn_of(tx));
	turn_leave(store_of(tx->tx_store));
}

static int lmdb_snapshot_begin(struct m0_rpc_store *store, struct m0_rpc_tx *tx)
{
	struct m0_store__txn *txn;
	int rc = m0_store__snapshot_begin(store_of(store)->lst_env, &txn);

	tx->tx_store = store;
	tx->tx_store_private = rc == 0 ? txn : NULL;
	return rc;
}

static void lmdb_snapshot_end(struct m0_rpc_tx *tx)
{
	m0_store__snapshot_end(txn_of(tx));
}

static int lmdb_get(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		    struct m0_rpc_slice *ret_value)
{
	return m0_store__get(txn_of(tx), key, ret_value);
}

static int lmdb_put(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		    struct m0_rpc_slice value)
{
	return m0_store__put(txn_of(tx), key, value);
}

static int lmdb_del(struct m0_rpc_tx *tx, struct m0_rpc_slice key)
{
	return m0_store__del(txn_of(tx), key);
}

static int lmdb_next(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		     struct m0_rpc_slice *ret_key,
		     struct m0_rpc_slice *ret_value)
{
	return m0_store__next(txn_of(tx), key, ret_key, ret_value);
}

/* ----------------------------------------------------------------- jobs -- */

/* Wake the thread when all jobs are there, and without the lock, on which it
 * would soon sleep. */
static void lmdb_exec_all(struct m0_rpc_store     *store,
			  struct m0_rpc_store_job *jobs)
{
	struct lmdb_store       *st = store_of(store);
	struct m0_rpc_store_job *last = jobs;
	bool                     wakes;

	while (last->sj_next != NULL)
		last = last->sj_next;
	m0_mutex_lock(&st->lst_mutex);
	wakes = st->lst_idle && st->lst_jobs == NULL;
	if (wakes)
		(void)__atomic_add_fetch(&st->lst_wakers_nr, 1,
					 __ATOMIC_RELAXED);
	*st->lst_jobs_end = jobs;
	st->lst_jobs_end = &last->sj_next;
	m0_mutex_unlock(&st->lst_mutex);
	if (!wakes)
		return;
	m0_cond_signal(&st->lst_given);
	(void)__atomic_sub_fetch(&st->lst_wakers_nr, 1, __ATOMIC_RELEASE);
}

static void lmdb_exec(struct m0_rpc_store *store, struct m0_rpc_store_job *job)
{
	job->sj_next = NULL;
	lmdb_exec_all(store, job);
}

/** Waits for a job until `deadline`. Under the lock. */
static void job_wait(struct lmdb_store *st, m0_time_t deadline)
{
	st->lst_idle = true;
	while (st->lst_jobs == NULL && !st->lst_closing)
		if (deadline == M0_TIME_NEVER)
			m0_cond_wait(&st->lst_given);
		else if (!m0_cond_timedwait(&st->lst_given, deadline))
			break;
	st->lst_idle = false;
}

/** Take all queued jobs; if there are none, wait until `deadline`. 0: do not
 * wait. */
static struct m0_rpc_store_job *jobs_take(struct lmdb_store *st,
					  m0_time_t          deadline)
{
	struct m0_rpc_store_job *jobs;

	m0_mutex_lock(&st->lst_mutex);
	if (st->lst_jobs == NULL && deadline != 0)
		job_wait(st, deadline);
	jobs = st->lst_jobs;
	st->lst_jobs = NULL;
	st->lst_jobs_end = &st->lst_jobs;
	m0_mutex_unlock(&st->lst_mutex);
	return jobs;
}

/** The next job of the batch; NULL: it is complete. */
static struct m0_rpc_store_job *job_take(struct lmdb_store *st,
					 struct batch *batch, m0_time_t company,
					 bool *alone)
{
	struct m0_rpc_store_job *job;

	if (batch->bat_nr == st->lst_cfg.rlc_batch_max)
		return NULL;
	if (batch->bat_nr > 0 &&
	    m0_time_now() >= batch->bat_begin + st->lst_cfg.rlc_batch_ns)
		return NULL;
	if (st->lst_taken == NULL)
		st->lst_taken = jobs_take(st, company);
	job = st->lst_taken;
	if (job == NULL)
		return NULL;
	st->lst_taken = job->sj_next;
	job->sj_next = NULL;
	*batch->bat_end = job;
	batch->bat_end = &job->sj_next;
	++batch->bat_nr;
	*alone = batch->bat_nr == 1 &&
		 (st->lst_cfg.rlc_batch_max == 1 ||
		  (st->lst_taken == NULL && st->lst_cfg.rlc_company_ns == 0));
	return job;
}

static int job_run(struct m0_rpc_store *store, struct m0_rpc_store_job *job,
		   struct m0_store__txn *txn)
{
	struct m0_rpc_tx tx = { .tx_store = store, .tx_store_private = txn };

	return job->sj_run(job, &tx);
}

/** Run a job in a transaction nested in the batch's. */
static int job_run_within(struct m0_rpc_store     *store,
			  struct m0_rpc_store_job *job,
			  struct m0_store__txn    *txn)
{
	struct m0_store__txn *own;
	int rc = m0_store__txn_begin(store_of(store)->lst_env, txn, &own);

	if (rc != 0)
		return rc;
	rc = job_run(store, job, own);
	if (rc == 0)
		return m0_store__txn_commit(own, NULL);
	m0_store__txn_abort(own);
	return rc;
}

/**
 * Runs jobs in a transaction and commits it. @param alone  the batch has one
 * job, which runs without a nested transaction.
 */
static int batch_run(struct m0_rpc_store *store, struct batch *batch,
		     struct m0_rpc_store_job *job, bool alone)
{
	struct lmdb_store    *st = store_of(store);
	m0_time_t             company = 0;
	struct m0_store__txn *txn;
	int                   rc = m0_store__txn_begin(st->lst_env, NULL, &txn);

	job->sj_rc = rc; /* it may have been given before */
	if (rc != 0)
		return rc;
	if (alone) {
		job->sj_rc = job_run(store, job, txn);
		if (job->sj_rc == 0)
			return commit(st, txn);
		m0_store__txn_abort(txn);
		return 0;
	}
	if (st->lst_cfg.rlc_company_ns != 0)
		company = m0_time_add(batch->bat_begin,
				      st->lst_cfg.rlc_company_ns);
	do
		job->sj_rc = job_run_within(store, job, txn);
	while ((job = job_take(st, batch, company, &alone)) != NULL);
	return commit(st, txn);
}

static void batch_done(struct lmdb_store *st, struct batch *batch, int rc)
{
	struct m0_rpc_store_job *job;
	struct m0_rpc_store_job *next;
	uint64_t                 failed = 0;

	for (job = batch->bat_jobs; job != NULL; job = job->sj_next)
		failed += rc != 0 || job->sj_rc != 0;
	m0_mutex_lock(&st->lst_mutex);
	st->lst_stats.rls_jobs_nr += batch->bat_nr;
	st->lst_stats.rls_jobs_failed_nr += failed;
	m0_hist_record(&st->lst_stats.rls_batch, batch->bat_nr);
	m0_mutex_unlock(&st->lst_mutex);
	for (job = batch->bat_jobs; job != NULL; job = next) {
		next = job->sj_next;
		job->sj_done(job, job->sj_rc != 0 ? job->sj_rc : rc);
	}
}

static void store_thread(struct m0_rpc_store *store)
{
	struct lmdb_store       *st = store_of(store);
	struct m0_rpc_store_job *job;
	struct batch             batch;
	bool                     alone = false;
	int                      rc;

	for (;;) {
		batch = (struct batch){ .bat_jobs = NULL };
		batch.bat_end = &batch.bat_jobs;
		job = job_take(st, &batch, M0_TIME_NEVER, &alone);
		if (job == NULL)
			return;
		turn_take(st);
		batch.bat_begin = m0_time_now();
		rc = batch_run(store, &batch, job, alone);
		turn_leave(st);
		batch_done(st, &batch, rc);
	}
}

/* ------------------------------------------------------- open and close -- */

const struct m0_store_hook *m0_store__hook;

static const struct m0_rpc_store_ops lmdb_ops = {
	.rso_name = "lmdb",
	.rso_durable = true,
	.rso_begin = lmdb_begin,
	.rso_commit = lmdb_commit,
	.rso_abort = lmdb_abort,
	.rso_exec = lmdb_exec,
	.rso_exec_all = lmdb_exec_all,
	.rso_get = lmdb_get,
	.rso_put = lmdb_put,
	.rso_del = lmdb_del,
	.rso_next = lmdb_next,
	.rso_snapshot_begin = lmdb_snapshot_begin,
	.rso_snapshot_end = lmdb_snapshot_end,
};

void m0_rpc_store_lmdb_cfg_init(struct m0_rpc_store_lmdb_cfg *cfg)
{
	*cfg = (struct m0_rpc_store_lmdb_cfg){
		.rlc_bytes_max = UINT64_C(4) << 30,
		.rlc_sync = M0_RPC_STORE_SYNC_COMMIT,
		.rlc_batch_max = 256,
		.rlc_batch_ns = 10 * M0_TIME_ONE_MSEC,
	};
}

static bool cfg_is_good(const struct m0_rpc_store_lmdb_cfg *cfg)
{
	return cfg->rlc_bytes_max >= 1 << 20 &&
	       cfg->rlc_bytes_max <= UINT64_C(1) << 44 &&
	       cfg->rlc_batch_max > 0 &&
	       cfg->rlc_company_ns <= 10 * M0_TIME_ONE_SECOND &&
	       (cfg->rlc_sync == M0_RPC_STORE_SYNC_COMMIT ||
		cfg->rlc_sync == M0_RPC_STORE_SYNC_NEVER);
}

/** Write the file under another name until it is complete. */
static int file_make(const char *dir, const char *path,
		     const struct m0_rpc_store_lmdb_cfg *cfg)
{
	struct m0_rpc_store_lmdb_cfg synced = *cfg;
	struct m0_store__env        *env;
	char                         fresh[4096 + 4];
	char                         lock[4096 + 9];
	int                          rc;

	(void)snprintf(fresh, sizeof fresh, "%s.new", path);
	(void)snprintf(lock, sizeof lock, "%s.new-lock", path);
	if (unlink(fresh) != 0 && errno != ENOENT)
		return -errno;
	synced.rlc_sync = M0_RPC_STORE_SYNC_COMMIT;
	rc = m0_store__env_open(&env, fresh, &synced, true);
	if (rc == 0)
		m0_store__env_close(env);
	(void)unlink(lock);
	if (rc == 0) {
		rc = rename(fresh, path) == 0 ? m0_store__dir_sync(dir)
					      : -errno;
	}
	if (rc != 0) {
		(void)unlink(fresh);
		return m0_store__refuse(rc, path, "cannot be made",
					"The directory must be writable and "
					"have room.");
	}
	return 0;
}

static int file_open(struct lmdb_store *st, const char *dir)
{
	char path[4096];
	int  rc;

	if (snprintf(path, sizeof path, "%s/store.mdb", dir) >=
	    (int)sizeof path)
		return -ENAMETOOLONG;
	rc = m0_store__check(path);
	if (rc == -ENOENT)
		rc = file_make(dir, path, &st->lst_cfg);
	if (rc != 0)
		return rc;
	rc = m0_store__env_open(&st->lst_env, path, &st->lst_cfg, false);
	return rc == 0 ? 0
		       : m0_store__refuse(rc, path, "cannot be opened",
					  "See what the system says of the "
					  "file and its disk.");
}

static int thread_start(struct m0_rpc_store *store)
{
	struct lmdb_store *st = store_of(store);

	return M0_THREAD_INIT(&st->lst_thread, struct m0_rpc_store *, NULL,
			      store_thread, store, "m0-store");
}

static void stats_init(struct m0_rpc_store_lmdb_stats *stats)
{
	M0_SET0(stats);
	m0_hist_init(&stats->rls_batch);
	m0_hist_init(&stats->rls_commit_ns);
}

static void store_free(struct lmdb_store *st)
{
	if (st->lst_env != NULL)
		m0_store__env_close(st->lst_env);
	if (st->lst_lock_fd >= 0)
		(void)close(st->lst_lock_fd);
	m0_cond_fini(&st->lst_turn);
	m0_cond_fini(&st->lst_given);
	m0_mutex_fini(&st->lst_mutex);
	m0_free(st);
}

int m0_rpc_store_lmdb_open(struct m0_rpc_store *store, const char *dir,
			   const struct m0_rpc_store_lmdb_cfg *cfg)
{
	struct lmdb_store *st;
	int                rc = 0;

	if (m0_store__hook != NULL)
		return m0_store__hook->sth_open(store, dir);
	if (M0_ALLOC_PTR(st) == NULL)
		return -ENOMEM;
	m0_rpc_store_lmdb_cfg_init(&st->lst_cfg);
	if (cfg != NULL)
		st->lst_cfg = *cfg;
	st->lst_jobs_end = &st->lst_jobs;
	stats_init(&st->lst_stats);
	m0_mutex_init(&st->lst_mutex);
	m0_cond_init(&st->lst_given, &st->lst_mutex);
	m0_cond_init(&st->lst_turn, &st->lst_mutex);
	st->lst_lock_fd = -1;
	store->rst_ops = &lmdb_ops;
	store->rst_private = st;
	if (!cfg_is_good(&st->lst_cfg))
		rc = -EINVAL;
	if (rc == 0) {
		st->lst_lock_fd = m0_store__lock(dir);
		rc = st->lst_lock_fd < 0 ? st->lst_lock_fd : 0;
	}
	rc = rc ?: file_open(st, dir) ?: thread_start(store);
	if (rc != 0) {
		store->rst_private = NULL;
		store_free(st);
	}
	return rc;
}

void m0_rpc_store_lmdb_close(struct m0_rpc_store *store)
{
	struct lmdb_store *st = store_of(store);

	if (store->rst_ops != &lmdb_ops) {
		m0_store__hook->sth_close(store);
		return;
	}
	m0_mutex_lock(&st->lst_mutex);
	st->lst_closing = true;
	m0_cond_signal(&st->lst_given);
	m0_mutex_unlock(&st->lst_mutex);
	(void)m0_thread_join(&st->lst_thread);
	m0_thread_fini(&st->lst_thread);
	m0_os_zero_wait(&st->lst_wakers_nr);
	M0_PRE(st->lst_jobs == NULL && st->lst_ticket == st->lst_now);
	store->rst_private = NULL;
	store_free(st);
}

void m0_rpc_store_lmdb_stats(struct m0_rpc_store            *store,
			     struct m0_rpc_store_lmdb_stats *ret, bool reset)
{
	struct lmdb_store *st = store_of(store);

	m0_mutex_lock(&st->lst_mutex);
	*ret = st->lst_stats;
	if (reset)
		stats_init(&st->lst_stats);
	m0_mutex_unlock(&st->lst_mutex);
	m0_store__env_size(st->lst_env, &ret->rls_keys_nr, &ret->rls_bytes,
			   &ret->rls_used_bytes);
	ret->rls_bytes_max = st->lst_cfg.rlc_bytes_max;
}
