/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two volatile stores: one that transactions work in, one that is kept. What a
 * transaction changes is written down as well, and applied to the second when
 * its group commits.
 */
#include "lib/store_crash.h"

#include <errno.h>

/** A change to be applied; no value: deleted. */
struct change {
	struct m0_list_link chg_link;
	bool                chg_has_value;
	m0_bcount_t         chg_key_nr;
	m0_bcount_t         chg_value_nr;
	uint8_t             chg_bytes[];
};

/** Changes that are committed together. */
struct store_crash_group {
	struct m0_list_link      scg_link;
	m0_time_t                scg_due;
	bool                     scg_committed;
	unsigned                 scg_nr;
	int                      scg_rc;
	struct m0_list           scg_changes;
	struct m0_rpc_store_job *scg_jobs;
	/** Transaction that does not belong to a job. */
	struct m0_rpc_tx scg_tx;
};

static struct store_crash *store_of(const struct m0_rpc_tx *tx)
{
	return container_of(tx->tx_store, struct store_crash, stc_store);
}

static struct m0_rpc_tx *work_tx(const struct m0_rpc_tx *tx)
{
	return tx->tx_store_private;
}

static int fault(struct store_crash *store, enum store_crash_point point)
{
	int rc = store->stc_fault == NULL || store->stc_dead
			 ? 0
			 : store->stc_fault(store, point);

	if (rc != STORE_CRASH_DIES)
		return rc;
	store->stc_dead = true;
	return 0;
}

static m0_time_t clock_of(struct store_crash *store)
{
	return store->stc_clock == NULL ? 0 : store->stc_clock(store);
}

/* ------------------------------------------------------------ groups -- */

static struct store_crash_group *group_new(void)
{
	struct store_crash_group *group;

	M0_ALLOC_PTR(group);
	M0_ASSERT(group != NULL);
	m0_list_link_init(&group->scg_link);
	m0_list_init(&group->scg_changes);
	return group;
}

static void changes_cut(struct store_crash_group *group,
			struct m0_list_link      *behind)
{
	struct m0_list_link *link;

	while ((link = m0_list_last(&group->scg_changes)) != behind) {
		m0_list_del(link);
		m0_free(m0_list_entry(link, struct change, chg_link));
	}
}

static void group_free(struct store_crash_group *group)
{
	changes_cut(group, NULL);
	m0_list_del(&group->scg_link);
	m0_free(group);
}

static void change_add(struct store_crash *store, struct m0_rpc_slice key,
		       const struct m0_rpc_slice *value)
{
	m0_bcount_t    nr = value == NULL ? 0 : value->sl_nr;
	struct change *change = m0_alloc(sizeof *change + key.sl_nr + nr);

	M0_ASSERT(change != NULL);
	m0_list_link_init(&change->chg_link);
	change->chg_has_value = value != NULL;
	change->chg_key_nr = key.sl_nr;
	change->chg_value_nr = nr;
	memcpy(change->chg_bytes, key.sl_data, key.sl_nr);
	if (nr > 0)
		memcpy(change->chg_bytes + key.sl_nr, value->sl_data, nr);
	m0_list_add_tail(&store->stc_tx_group->scg_changes, &change->chg_link);
}

static int change_apply(struct m0_rpc_tx *tx, const struct change *change)
{
	const struct m0_rpc_store_ops *ops = tx->tx_store->rst_ops;
	struct m0_rpc_slice key = { change->chg_bytes, change->chg_key_nr };
	struct m0_rpc_slice value = { change->chg_bytes + change->chg_key_nr,
				      change->chg_value_nr };
	int                 rc;

	if (change->chg_has_value)
		return ops->rso_put(tx, key, value);
	rc = ops->rso_del(tx, key);
	return rc == -ENOENT ? 0 : rc;
}

/** Makes it durable, or dies. */
static void group_keep(struct store_crash       *store,
		       struct store_crash_group *group)
{
	const struct m0_rpc_store_ops *ops = store->stc_kept.rst_ops;
	struct m0_list_link           *link;
	struct m0_rpc_tx               tx;
	int                            rc;

	rc = ops->rso_begin(&store->stc_kept, &tx);
	M0_ASSERT(rc == 0);
	m0_list_for_each(&group->scg_changes, link) {
		rc = change_apply(&tx,
				  m0_list_entry(link, struct change, chg_link));
		M0_ASSERT(rc == 0);
		(void)fault(store, STORE_CRASH_COMMIT_PART);
	}
	if (store->stc_dead) {
		ops->rso_abort(&tx);
		return;
	}
	rc = ops->rso_commit(&tx);
	M0_ASSERT(rc == 0);
	group->scg_committed = true;
	store->stc_commits_nr++;
	(void)fault(store, STORE_CRASH_COMMIT_DONE);
}

/** Makes stc_work equal to stc_kept again. */
static void work_reset(struct store_crash *store)
{
	const struct m0_rpc_store_ops *ops = store->stc_kept.rst_ops;
	struct m0_rpc_tx               from;
	struct m0_rpc_tx               to;
	struct m0_rpc_slice            key = { NULL, 0 };
	struct m0_rpc_slice            value;
	struct m0_rpc_slice            none = { "", 0 };
	int                            rc;

	(void)ops->rso_begin(&store->stc_work, &to);
	while (ops->rso_next(&to, none, &key, &value) == 0) {
		uint8_t copy[M0_RPC_STORE_KEY_MAX];

		memcpy(copy, key.sl_data, key.sl_nr);
		key.sl_data = copy;
		rc = ops->rso_del(&to, key);
		M0_ASSERT(rc == 0);
	}
	(void)ops->rso_begin(&store->stc_kept, &from);
	key = none;
	while (ops->rso_next(&from, key, &key, &value) == 0) {
		rc = ops->rso_put(&to, key, value);
		M0_ASSERT(rc == 0);
	}
	ops->rso_abort(&from);
	(void)ops->rso_commit(&to);
}

/** A commit has failed: it and all behind it are lost. */
static void groups_fail(struct store_crash *store, int rc)
{
	struct store_crash_group *group;

	m0_list_for_each_entry(&store->stc_groups, group,
			       struct store_crash_group, scg_link)
		if (!group->scg_committed) {
			group->scg_committed = true;
			group->scg_rc = rc;
		}
	work_reset(store);
}

static void groups_commit(struct store_crash *store, m0_time_t now)
{
	struct store_crash_group *group;
	int                       rc;

	m0_list_for_each_entry(&store->stc_groups, group,
			       struct store_crash_group, scg_link) {
		if (group->scg_committed)
			continue;
		if (group->scg_due > now)
			return;
		rc = fault(store, STORE_CRASH_COMMIT);
		if (rc != 0) {
			groups_fail(store, rc);
			return;
		}
		if (!store->stc_dead)
			group_keep(store, group);
		if (store->stc_dead)
			return;
	}
}

/** Completes the jobs of all groups that have been committed. */
static void groups_done(struct store_crash *store)
{
	struct store_crash_group *group;
	struct m0_rpc_store_job  *job;
	struct m0_rpc_store_job  *next;
	struct m0_list_link      *link;
	int                       rc;

	while ((link = m0_list_first(&store->stc_groups)) != NULL) {
		group = m0_list_entry(link, struct store_crash_group, scg_link);
		if (!group->scg_committed)
			return;
		job = group->scg_jobs;
		rc = group->scg_rc;
		group_free(group);
		for (; job != NULL; job = next) {
			next = job->sj_next;
			job->sj_done(job, job->sj_rc != 0 ? job->sj_rc : rc);
		}
	}
}

/* ------------------------------------------------------ transactions -- */

static int crash_begin(struct m0_rpc_store *store, struct m0_rpc_tx *tx)
{
	struct store_crash *st =
		container_of(store, struct store_crash, stc_store);
	int rc = fault(st, STORE_CRASH_BEGIN);

	if (rc != 0)
		return rc;
	M0_PRE(st->stc_tx_group == NULL);
	st->stc_tx_group = group_new();
	tx->tx_store = store;
	tx->tx_store_private = &st->stc_tx_group->scg_tx;
	return st->stc_work.rst_ops->rso_begin(&st->stc_work, work_tx(tx));
}

static void crash_abort(struct m0_rpc_tx *tx)
{
	struct store_crash *store = store_of(tx);

	store->stc_work.rst_ops->rso_abort(work_tx(tx));
	group_free(store->stc_tx_group);
	store->stc_tx_group = NULL;
}

/** Committed at once, and all that went before with it. */
static int crash_commit(struct m0_rpc_tx *tx)
{
	struct store_crash       *store = store_of(tx);
	struct store_crash_group *group = store->stc_tx_group;
	int                       rc;

	(void)store->stc_work.rst_ops->rso_commit(work_tx(tx));
	store->stc_tx_group = NULL;
	m0_list_add_tail(&store->stc_groups, &group->scg_link);
	groups_commit(store, M0_TIME_NEVER);
	rc = group->scg_committed ? group->scg_rc : -EIO;
	/* The group has no job to notify. */
	group_free(group);
	return rc;
}

static int crash_get(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		     struct m0_rpc_slice *ret_value)
{
	return store_of(tx)->stc_work.rst_ops->rso_get(work_tx(tx), key,
						       ret_value);
}

static int crash_put(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		     struct m0_rpc_slice value)
{
	struct store_crash *store = store_of(tx);
	int                 rc = fault(store, STORE_CRASH_PUT);

	if (rc == 0)
		rc = store->stc_work.rst_ops->rso_put(work_tx(tx), key, value);
	if (rc == 0) {
		change_add(store, key, &value);
		(void)fault(store, STORE_CRASH_PUT_DONE);
	}
	return rc;
}

static int crash_del(struct m0_rpc_tx *tx, struct m0_rpc_slice key)
{
	struct store_crash *store = store_of(tx);
	struct change      *last;
	int                 rc = fault(store, STORE_CRASH_PUT);

	if (rc != 0)
		return rc;
	/* First, as the key may be the store's own. */
	change_add(store, key, NULL);
	rc = store->stc_work.rst_ops->rso_del(work_tx(tx), key);
	if (rc != 0) {
		last = m0_list_entry(
			m0_list_last(&store->stc_tx_group->scg_changes),
			struct change, chg_link);
		m0_list_del(&last->chg_link);
		m0_free(last);
	}
	return rc;
}

static int crash_next(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		      struct m0_rpc_slice *ret_key,
		      struct m0_rpc_slice *ret_value)
{
	return store_of(tx)->stc_work.rst_ops->rso_next(work_tx(tx), key,
							ret_key, ret_value);
}

/* -------------------------------------------------------------- jobs -- */

static void crash_exec(struct m0_rpc_store *store, struct m0_rpc_store_job *job)
{
	struct store_crash *st =
		container_of(store, struct store_crash, stc_store);

	job->sj_next = NULL;
	*st->stc_jobs_end = job;
	st->stc_jobs_end = &job->sj_next;
}

static struct m0_rpc_store_job *job_take(struct store_crash *store)
{
	struct m0_rpc_store_job *job = store->stc_jobs;

	store->stc_jobs = job->sj_next;
	if (store->stc_jobs == NULL)
		store->stc_jobs_end = &store->stc_jobs;
	job->sj_next = NULL;
	return job;
}

/** Runs a job inside a group. What it takes back leaves no change. */
static void job_run(struct store_crash *store, struct store_crash_group *group,
		    struct m0_rpc_store_job *job)
{
	struct m0_list_link *before = m0_list_last(&group->scg_changes);
	struct m0_rpc_tx     inner;
	struct m0_rpc_tx     tx = { .tx_store = &store->stc_store,
				    .tx_store_private = &inner };

	job->sj_rc = fault(store, STORE_CRASH_BEGIN);
	if (job->sj_rc != 0)
		return;
	(void)store->stc_work.rst_ops->rso_begin(&store->stc_work, &inner);
	store->stc_tx_group = group;
	job->sj_rc = job->sj_run(job, &tx);
	store->stc_tx_group = NULL;
	if (job->sj_rc == 0) {
		(void)store->stc_work.rst_ops->rso_commit(&inner);
		return;
	}
	store->stc_work.rst_ops->rso_abort(&inner);
	changes_cut(group, before);
}

static void group_run(struct store_crash *store, m0_time_t now)
{
	struct store_crash_group *group = group_new();
	struct m0_rpc_store_job **end = &group->scg_jobs;

	while (store->stc_jobs != NULL && !store->stc_dead &&
	       group->scg_nr < store->stc_group_max) {
		*end = job_take(store);
		job_run(store, group, *end);
		end = &(*end)->sj_next;
		group->scg_nr++;
		store->stc_jobs_nr++;
	}
	group->scg_due = now + store->stc_commit_ns;
	m0_list_add_tail(&store->stc_groups, &group->scg_link);
}

static void crash_step(struct m0_rpc_store *store)
{
	struct store_crash *st =
		container_of(store, struct store_crash, stc_store);
	m0_time_t now = clock_of(st);

	if (st->stc_done_late && !st->stc_dead)
		groups_done(st);
	while (st->stc_jobs != NULL && !st->stc_dead)
		group_run(st, now);
	if (!st->stc_dead)
		groups_commit(st, now);
	if (!st->stc_done_late && !st->stc_dead)
		groups_done(st);
}

static const struct m0_rpc_store_ops crash_ops = {
	.rso_name = "crash",
	.rso_durable = true,
	.rso_begin = crash_begin,
	.rso_commit = crash_commit,
	.rso_abort = crash_abort,
	.rso_exec = crash_exec,
	.rso_step = crash_step,
	.rso_get = crash_get,
	.rso_put = crash_put,
	.rso_del = crash_del,
	.rso_next = crash_next,
};

void store_crash_init(struct store_crash *store, m0_bcount_t bytes_max)
{
	int rc;

	M0_SET0(store);
	rc = m0_rpc_store_volatile_init(&store->stc_work, bytes_max);
	M0_ASSERT(rc == 0);
	rc = m0_rpc_store_volatile_init(&store->stc_kept, ~0ULL);
	M0_ASSERT(rc == 0);
	store->stc_store.rst_ops = &crash_ops;
	store->stc_store.rst_private = store;
	store->stc_group_max = 1;
	store->stc_jobs_end = &store->stc_jobs;
	m0_list_init(&store->stc_groups);
}

/** Drops all commits and jobs under way. */
static void under_way_drop(struct store_crash *store)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&store->stc_groups)) != NULL)
		group_free(m0_list_entry(link, struct store_crash_group,
					 scg_link));
	store->stc_jobs = NULL;
	store->stc_jobs_end = &store->stc_jobs;
}

void store_crash_fini(struct store_crash *store)
{
	M0_PRE(store->stc_tx_group == NULL);
	under_way_drop(store);
	m0_rpc_store_volatile_fini(&store->stc_work);
	m0_rpc_store_volatile_fini(&store->stc_kept);
}

void store_crash_crash(struct store_crash *store)
{
	M0_PRE(store->stc_tx_group == NULL);
	under_way_drop(store);
	work_reset(store);
	store->stc_dead = false;
}

void store_crash_forget(struct store_crash *store)
{
	int rc;

	under_way_drop(store);
	m0_rpc_store_volatile_fini(&store->stc_kept);
	rc = m0_rpc_store_volatile_init(&store->stc_kept, ~0ULL);
	M0_ASSERT(rc == 0);
	work_reset(store);
}

m0_time_t store_crash_due(const struct store_crash *store)
{
	const struct store_crash_group *group;

	if (store->stc_dead)
		return M0_TIME_NEVER;
	if (store->stc_jobs != NULL)
		return 0;
	m0_list_for_each_entry(&store->stc_groups, group,
			       const struct store_crash_group, scg_link) {
		if (group->scg_committed)
			return 0;
		return group->scg_due;
	}
	return M0_TIME_NEVER;
}
