/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cases that every store passes, on the row that the argument names.
 *   store_suite ROW
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ss_tx.h"

const struct ss_row *row;
struct m0_rpc_store *store;

static int up(void **state)
{
	(void)state;
	store = row->row_up(0);
	return 0;
}

static int up_small(void **state)
{
	(void)state;
	store = row->row_up((1 << 20) + row->row_overhead);
	return 0;
}

static int down(void **state)
{
	(void)state;
	row->row_down();
	return 0;
}

/* ------------------------------------------------------------------ jobs -- */

struct job {
	struct m0_rpc_store_job job_store;
	unsigned                job_nr;
	int                     job_rc;
	int                     job_runs;
	int                     job_done;
	int                     job_result;
	unsigned                job_run_at;
	unsigned                job_done_at;
	/** Given when this one is done. */
	struct job *job_then;
};

static unsigned            runs_nr;
static unsigned            dones_nr;
static struct m0_semaphore done_sem;

/* Puts its number; fails afterwards if it is to. */
static int job_run(struct m0_rpc_store_job *store_job, struct m0_rpc_tx *tx)
{
	struct job *job = container_of(store_job, struct job, job_store);
	char        key[16];

	snprintf(key, sizeof key, "j%05u", job->job_nr);
	++job->job_runs;
	job->job_run_at = runs_nr++;
	put(tx, key, "x");
	put(tx, "last", key);
	return job->job_rc;
}

static void job_done(struct m0_rpc_store_job *store_job, int rc)
{
	struct job *job = container_of(store_job, struct job, job_store);

	++job->job_done;
	job->job_result = rc;
	job->job_done_at = dones_nr++;
	if (job->job_then != NULL)
		ops()->rso_exec(store, &job->job_then->job_store);
	m0_semaphore_up(&done_sem);
}

static struct job *jobs_make(unsigned nr)
{
	struct job *jobs = calloc(nr, sizeof *jobs);
	unsigned    i;

	runs_nr = 0;
	dones_nr = 0;
	(void)m0_semaphore_init(&done_sem, 0);
	for (i = 0; i < nr; ++i) {
		jobs[i].job_store.sj_run = job_run;
		jobs[i].job_store.sj_done = job_done;
		jobs[i].job_nr = i;
	}
	return jobs;
}

static void jobs_wait(unsigned nr)
{
	while (nr-- > 0) {
		if (ops()->rso_step != NULL)
			ops()->rso_step(store);
		assert_true(m0_semaphore_timeddown(
			&done_sem,
			m0_time_add(m0_time_now(), 30 * M0_TIME_ONE_SECOND)));
	}
	m0_semaphore_fini(&done_sem);
}

/* ----------------------------------------------------------------- cases -- */

/* A get returns the value of a put, in the transaction and after it. */
static void keys_put_are_got_until_deleted(void **state)
{
	struct m0_rpc_tx tx = begin();

	(void)state;
	has(&tx, "a", NULL);
	put(&tx, "a", "1");
	put(&tx, "b", "");
	has(&tx, "a", "1");
	commit(&tx);
	tx = begin();
	has(&tx, "a", "1");
	has(&tx, "b", "");
	put(&tx, "a", "a longer one");
	has(&tx, "a", "a longer one");
	del(&tx, "b");
	has(&tx, "b", NULL);
	assert_int_equal(ops()->rso_del(&tx, text("b")), -ENOENT);
	assert_int_equal(ops()->rso_del(&tx, text("c")), -ENOENT);
	commit(&tx);
	tx = begin();
	has(&tx, "a", "a longer one");
	has(&tx, "b", NULL);
	assert_int_equal(keys_nr(&tx), 1);
	ops()->rso_abort(&tx);
}

/* An abort leaves nothing of adding, replacing and deleting. */
static void abort_takes_all_back(void **state)
{
	struct m0_rpc_tx tx = begin();

	(void)state;
	put(&tx, "stays", "1");
	put(&tx, "goes", "2");
	commit(&tx);
	tx = begin();
	put(&tx, "fresh", "3");
	put(&tx, "stays", "4");
	put(&tx, "stays", "5");
	del(&tx, "goes");
	put(&tx, "short", "6");
	del(&tx, "short");
	ops()->rso_abort(&tx);
	tx = begin();
	has(&tx, "fresh", NULL);
	has(&tx, "stays", "1");
	has(&tx, "goes", "2");
	assert_int_equal(keys_nr(&tx), 2);
	ops()->rso_abort(&tx);
}

static int slice_cmp(const void *va, const void *vb)
{
	const struct m0_rpc_slice *a = va;
	const struct m0_rpc_slice *b = vb;
	int cmp = memcmp(a->sl_data, b->sl_data, min64u(a->sl_nr, b->sl_nr));

	return cmp != 0 ? cmp : (a->sl_nr > b->sl_nr) - (a->sl_nr < b->sl_nr);
}

/* Keys of all lengths and bytes, prefixes of each other among them. */
static void next_gives_keys_in_order_of_bytes(void **state)
{
	enum {
		NR = 300
	};
	static uint8_t      bytes[NR][M0_RPC_STORE_KEY_MAX];
	struct m0_rpc_slice want[NR];
	struct m0_rpc_slice key = { "", 0 };
	struct m0_rpc_slice value;
	uint64_t            seed = 7;
	struct m0_rpc_tx    tx = begin();
	unsigned            i;
	unsigned            j;

	(void)state;
	for (i = 0; i < NR; ++i) {
		want[i] = slice(bytes[i], 1 + i % M0_RPC_STORE_KEY_MAX);
		for (j = 0; j < want[i].sl_nr; ++j) {
			seed = seed * 6364136223846793005ULL + 1;
			bytes[i][j] = j < 3 ? (uint8_t)(seed >> 62)
					    : (uint8_t)(seed >> 56);
		}
		bytes[i][want[i].sl_nr - 1] = (uint8_t)i;
		assert_int_equal(ops()->rso_put(&tx, want[i], want[i]), 0);
	}
	qsort(want, NR, sizeof want[0], slice_cmp);
	for (i = 0, j = 0; i < NR; ++i)
		if (i == 0 || slice_cmp(&want[j - 1], &want[i]) != 0)
			want[j++] = want[i];
	for (i = 0; i < j; ++i) {
		assert_int_equal(ops()->rso_next(&tx, key, &key, &value), 0);
		assert_int_equal(slice_cmp(&key, &want[i]), 0);
		assert_int_equal(slice_cmp(&value, &want[i]), 0);
	}
	assert_int_equal(ops()->rso_next(&tx, key, &key, &value), -ENOENT);
	commit(&tx);
}

/* A key need not be there to be started from; what was deleted is passed. */
static void next_sees_the_transactions_own_changes(void **state)
{
	struct m0_rpc_tx    tx = begin();
	struct m0_rpc_slice key;
	struct m0_rpc_slice value;

	(void)state;
	put(&tx, "a", "1");
	put(&tx, "c", "3");
	put(&tx, "e", "5");
	commit(&tx);
	tx = begin();
	del(&tx, "c");
	put(&tx, "d", "4");
	assert_int_equal(ops()->rso_next(&tx, text("b"), &key, &value), 0);
	assert_memory_equal(key.sl_data, "d", 1);
	assert_memory_equal(value.sl_data, "4", 1);
	del(&tx, "d");
	assert_int_equal(ops()->rso_next(&tx, text("b"), &key, &value), 0);
	assert_memory_equal(key.sl_data, "e", 1);
	assert_int_equal(ops()->rso_next(&tx, text("e"), &key, &value),
			 -ENOENT);
	ops()->rso_abort(&tx);
}

/* Values from nothing to a MiB, each way of growing and shrinking. */
static void values_of_all_sizes_come_back(void **state)
{
	static const size_t sizes[] = { 0,    1,    7,     2000,   4096,
					4097, 8192, 65536, 1 << 20 };
	uint8_t            *bytes = malloc(1 << 20);
	struct m0_rpc_slice got;
	struct m0_rpc_tx    tx;
	unsigned            from;
	unsigned            to;

	(void)state;
	for (from = 0; from < 1 << 20; ++from)
		bytes[from] = (uint8_t)(from * 31 + from / 257);
	for (from = 0; from < ARRAY_SIZE(sizes); ++from)
		for (to = 0; to < ARRAY_SIZE(sizes); ++to) {
			tx = begin();
			assert_int_equal(
				ops()->rso_put(&tx, text("k"),
					       slice(bytes, sizes[from])),
				0);
			assert_int_equal(
				ops()->rso_put(&tx, text("k"),
					       slice(bytes + 1 - (to == 8),
						     sizes[to])),
				0);
			assert_int_equal(ops()->rso_get(&tx, text("k"), &got),
					 0);
			assert_int_equal(got.sl_nr, sizes[to]);
			assert_memory_equal(got.sl_data, bytes + 1 - (to == 8),
					    sizes[to]);
			if ((from + to) % 4 == 0)
				commit(&tx);
			else
				ops()->rso_abort(&tx);
		}
	free(bytes);
}

/* A key at the limit is one; beyond it and below are refused, harmlessly. */
static void keys_beyond_the_limits_are_refused(void **state)
{
	char                key[M0_RPC_STORE_KEY_MAX + 1];
	struct m0_rpc_tx    tx = begin();
	struct m0_rpc_slice got;

	(void)state;
	memset(key, 'k', sizeof key);
	assert_int_equal(ops()->rso_put(&tx, slice(key, sizeof key), text("x")),
			 -EMSGSIZE);
	assert_int_equal(ops()->rso_put(&tx, slice(key, 0), text("x")),
			 -EMSGSIZE);
	assert_int_equal(
		ops()->rso_put(&tx, slice(key, sizeof key - 1), text("x")), 0);
	assert_int_equal(ops()->rso_get(&tx, slice(key, sizeof key - 1), &got),
			 0);
	assert_int_equal(ops()->rso_get(&tx, slice(key, sizeof key), &got),
			 -ENOENT);
	assert_int_equal(ops()->rso_get(&tx, slice(key, 0), &got), -ENOENT);
	commit(&tx);
	tx = begin();
	assert_int_equal(keys_nr(&tx), 1);
	ops()->rso_abort(&tx);
}

/* A value that a get returned may be given to the next change: a rename without
 * a copy. */
static void value_got_can_be_put_elsewhere(void **state)
{
	struct m0_rpc_tx    tx = begin();
	struct m0_rpc_slice got;
	struct m0_rpc_slice key;
	char                name[16];
	unsigned            i;

	(void)state;
	for (i = 0; i < 200; ++i) {
		snprintf(name, sizeof name, "old%03u", i);
		put(&tx, name, name);
	}
	commit(&tx);
	tx = begin();
	for (i = 0; i < 200; ++i) {
		assert_int_equal(ops()->rso_next(&tx, text("ole"), &key, &got),
				 i == 0 ? -ENOENT : 0);
		assert_int_equal(ops()->rso_next(&tx, text("old"), &key, &got),
				 0);
		snprintf(name, sizeof name, "sold%03u", i);
		assert_int_equal(ops()->rso_put(&tx, text(name), got), 0);
		assert_int_equal(ops()->rso_del(&tx, text(name + 1)), 0);
	}
	commit(&tx);
	tx = begin();
	assert_int_equal(keys_nr(&tx), 200);
	has(&tx, "sold000", "old000");
	has(&tx, "sold199", "old199");
	ops()->rso_abort(&tx);
}

/* Each once, in the order in which they were given, and told in that order. */
static void jobs_run_and_end_in_order(void **state)
{
	enum {
		NR = 1000
	};
	struct job      *jobs = jobs_make(NR);
	struct m0_rpc_tx tx;
	unsigned         i;

	(void)state;
	for (i = 0; i < NR; ++i)
		ops()->rso_exec(store, &jobs[i].job_store);
	jobs_wait(NR);
	for (i = 0; i < NR; ++i) {
		assert_int_equal(jobs[i].job_runs, 1);
		assert_int_equal(jobs[i].job_done, 1);
		assert_int_equal(jobs[i].job_result, 0);
		assert_int_equal(jobs[i].job_run_at, i);
		assert_int_equal(jobs[i].job_done_at, i);
	}
	tx = begin();
	assert_int_equal(keys_nr(&tx), NR + 1);
	has(&tx, "last", "j00999");
	ops()->rso_abort(&tx);
	free(jobs);
}

/* One that fails takes back what is its own, and its error is its own. */
static void job_that_fails_touches_no_other(void **state)
{
	enum {
		NR = 100
	};
	struct job      *jobs = jobs_make(NR);
	struct m0_rpc_tx tx;
	char             key[16];
	unsigned         i;

	(void)state;
	for (i = 0; i < NR; ++i) {
		jobs[i].job_rc = i % 3 == 1 ? -EDOM : 0;
		ops()->rso_exec(store, &jobs[i].job_store);
	}
	jobs_wait(NR);
	tx = begin();
	for (i = 0; i < NR; ++i) {
		snprintf(key, sizeof key, "j%05u", i);
		assert_int_equal(jobs[i].job_result, jobs[i].job_rc);
		has(&tx, key, jobs[i].job_rc == 0 ? "x" : NULL);
	}
	has(&tx, "last", "j00099");
	ops()->rso_abort(&tx);
	free(jobs);
}

/* A lone job that fails leaves nothing, either: no other job shares its
 * transaction. */
static void lone_job_that_fails_leaves_nothing(void **state)
{
	struct job      *jobs = jobs_make(1);
	struct m0_rpc_tx tx;

	(void)state;
	jobs[0].job_rc = -EDOM;
	ops()->rso_exec(store, &jobs[0].job_store);
	jobs_wait(1);
	assert_int_equal(jobs[0].job_result, -EDOM);
	tx = begin();
	assert_int_equal(keys_nr(&tx), 0);
	ops()->rso_abort(&tx);
	free(jobs);
}

/* sj_done may give the next job. */
static void job_can_be_given_when_one_is_done(void **state)
{
	enum {
		NR = 50
	};
	struct job *jobs = jobs_make(NR);
	unsigned    i;

	(void)state;
	for (i = 0; i + 1 < NR; ++i)
		jobs[i].job_then = &jobs[i + 1];
	ops()->rso_exec(store, &jobs[0].job_store);
	jobs_wait(NR);
	for (i = 0; i < NR; ++i)
		assert_int_equal(jobs[i].job_result, 0);
	free(jobs);
}

struct giver {
	struct m0_thread giv_thread;
	struct job      *giv_jobs;
	unsigned         giv_nr;
};

static void give(struct giver *giver)
{
	struct m0_rpc_tx tx;
	unsigned         i;

	for (i = 0; i < giver->giv_nr; ++i) {
		ops()->rso_exec(store, &giver->giv_jobs[i].job_store);
		if (i % 50 != 0)
			continue;
		if (ops()->rso_begin(store, &tx) != 0)
			continue;
		(void)ops()->rso_put(&tx, text("begun"), text("x"));
		(void)ops()->rso_commit(&tx);
	}
}

/* From several threads, with transactions between. */
static void threads_share_a_store(void **state)
{
	enum {
		THREADS = 3,
		NR = 100
	};
	struct job  *jobs;
	struct giver giver[THREADS] = {};
	unsigned     i;

	(void)state;
	if (!row->row_threads)
		skip();
	jobs = jobs_make(THREADS * NR);
	for (i = 0; i < THREADS; ++i) {
		giver[i].giv_jobs = &jobs[i * NR];
		giver[i].giv_nr = NR;
		assert_int_equal(M0_THREAD_INIT(&giver[i].giv_thread,
						struct giver *, NULL, give,
						&giver[i], "give%u", i),
				 0);
	}
	for (i = 0; i < THREADS; ++i) {
		(void)m0_thread_join(&giver[i].giv_thread);
		m0_thread_fini(&giver[i].giv_thread);
	}
	jobs_wait(THREADS * NR);
	for (i = 0; i < THREADS * NR; ++i) {
		assert_int_equal(jobs[i].job_result, 0);
		/* In the order of their thread. */
		assert_true(i % NR == 0 ||
			    jobs[i].job_run_at > jobs[i - 1].job_run_at);
	}
	free(jobs);
}

/* --------------------------------------------------------------- bounds -- */

/** Puts pieces of that size until there is no room; how many there are. */
static unsigned fill(size_t size)
{
	static const char bytes[4096];
	struct m0_rpc_tx  tx;
	char              key[16];
	unsigned          nr;
	int               rc = 0;

	for (nr = 0; rc == 0 && nr < 1000; ++nr) {
		tx = begin();
		snprintf(key, sizeof key, "f%05u", nr);
		rc = ops()->rso_put(&tx, text(key), slice(bytes, size));
		if (rc == 0)
			rc = ops()->rso_commit(&tx);
		else
			ops()->rso_abort(&tx);
	}
	assert_int_equal(rc, -ENOSPC);
	return nr - 1;
}

static void clear(unsigned nr)
{
	struct m0_rpc_tx tx;
	char             key[16];

	while (nr-- > 0) {
		tx = begin();
		snprintf(key, sizeof key, "f%05u", nr);
		del(&tx, key);
		commit(&tx);
	}
}

/* A full store refuses, keeps what it has, and can be emptied. */
static void full_store_refuses_and_can_be_emptied(void **state)
{
	unsigned         round;
	unsigned         nr = 0;
	struct m0_rpc_tx tx;

	(void)state;
	for (round = 0; round < 3; ++round) {
		nr = fill(4096);
		assert_in_range(nr, 100, 300);
		tx = begin();
		assert_int_equal(keys_nr(&tx), nr);
		ops()->rso_abort(&tx);
		clear(nr);
	}
	tx = begin();
	assert_int_equal(keys_nr(&tx), 0);
	ops()->rso_abort(&tx);
}

/* A caller that empties a full store puts a note in place of each key it
 * deletes. */
static void full_store_takes_what_is_given_back(void **state)
{
	static const char bytes[2000];
	const unsigned    nr = fill(sizeof bytes);
	struct m0_rpc_tx  tx;
	char              key[16];
	unsigned          i;

	(void)state;
	for (i = 0; i < 50; ++i) {
		tx = begin();
		snprintf(key, sizeof key, "g%05u", i);
		if (i == 0)
			assert_int_equal(
				ops()->rso_put(&tx, text(key),
					       slice(bytes, sizeof bytes)),
				-ENOSPC);
		*key = 'f';
		del(&tx, key);
		*key = 'g';
		put(&tx, key, "noted");
		put(&tx, "f", "");
		commit(&tx);
	}
	tx = begin();
	assert_int_equal(keys_nr(&tx), nr + 1);
	ops()->rso_abort(&tx);
}

static int big_run(struct m0_rpc_store_job *store_job, struct m0_rpc_tx *tx)
{
	struct job *job = container_of(store_job, struct job, job_store);
	struct m0_rpc_slice big = { calloc(1, 4 << 20), 4 << 20 };
	int                 rc = job_run(store_job, tx);

	if (rc == 0)
		rc = ops()->rso_put(tx, text("big"), big);
	free((void *)(uintptr_t)big.sl_data);
	job->job_rc = rc;
	return rc;
}

/* A job that needs more than there is fails; its neighbours do not. */
static void job_without_room_touches_no_other(void **state)
{
	enum {
		NR = 30
	};
	struct job      *jobs = jobs_make(NR);
	struct m0_rpc_tx tx;
	char             key[16];
	unsigned         i;

	(void)state;
	for (i = 0; i < NR; ++i)
		if (i % 5 == 2)
			jobs[i].job_store.sj_run = big_run;
	for (i = 0; i < NR; ++i)
		ops()->rso_exec(store, &jobs[i].job_store);
	jobs_wait(NR);
	tx = begin();
	for (i = 0; i < NR; ++i) {
		snprintf(key, sizeof key, "j%05u", i);
		assert_int_equal(jobs[i].job_result, i % 5 == 2 ? -ENOSPC : 0);
		has(&tx, key, i % 5 == 2 ? NULL : "x");
	}
	has(&tx, "big", NULL);
	ops()->rso_abort(&tx);
	free(jobs);
}

/* A transaction with a failed change can be aborted, which is all that a store
 * must support then. */
static void change_that_failed_can_be_taken_back(void **state)
{
	struct m0_rpc_slice big = { calloc(1, 4 << 20), 4 << 20 };
	struct m0_rpc_tx    tx = begin();

	(void)state;
	put(&tx, "a", "1");
	assert_int_equal(ops()->rso_put(&tx, text("big"), big), -ENOSPC);
	ops()->rso_abort(&tx);
	tx = begin();
	has(&tx, "a", NULL);
	put(&tx, "b", "2");
	commit(&tx);
	tx = begin();
	has(&tx, "b", "2");
	ops()->rso_abort(&tx);
	free((void *)(uintptr_t)big.sl_data);
}

/* -------------------------------------------------------------- restarts -- */

/* Committed: there. Aborted, failed: not. */
static void restart_finds_what_was_committed(void **state)
{
	struct job      *jobs = jobs_make(20);
	struct m0_rpc_tx tx = begin();
	unsigned         i;

	(void)state;
	assert_int_equal(ops()->rso_durable, row->row_durable);
	put(&tx, "kept", "1");
	put(&tx, "changed", "2");
	commit(&tx);
	for (i = 0; i < 20; ++i) {
		jobs[i].job_rc = i == 7 ? -EDOM : 0;
		ops()->rso_exec(store, &jobs[i].job_store);
	}
	jobs_wait(20);
	tx = begin();
	put(&tx, "changed", "3");
	ops()->rso_abort(&tx);
	if (row->row_restart != NULL)
		store = row->row_restart();
	tx = begin();
	has(&tx, "kept", "1");
	has(&tx, "changed", "2");
	has(&tx, "j00006", "x");
	has(&tx, "j00007", NULL);
	assert_int_equal(keys_nr(&tx), 22);
	ops()->rso_abort(&tx);
	free(jobs);
}

/* Again and again, with changes between. */
static void restarts_in_a_row_add_up(void **state)
{
	struct m0_rpc_tx tx;
	char             key[16];
	unsigned         i;

	(void)state;
	for (i = 0; i < 20; ++i) {
		tx = begin();
		assert_int_equal(keys_nr(&tx), i);
		snprintf(key, sizeof key, "%u", 100 + i);
		put(&tx, key, key);
		commit(&tx);
		if (row->row_restart != NULL)
			store = row->row_restart();
	}
}

#define CASE(name)       cmocka_unit_test_setup_teardown(name, up, down)
#define CASE_SMALL(name) cmocka_unit_test_setup_teardown(name, up_small, down)

static const struct CMUnitTest cases[] = {
	CASE(keys_put_are_got_until_deleted),
	CASE(abort_takes_all_back),
	CASE(next_gives_keys_in_order_of_bytes),
	CASE(next_sees_the_transactions_own_changes),
	CASE(values_of_all_sizes_come_back),
	CASE(keys_beyond_the_limits_are_refused),
	CASE(value_got_can_be_put_elsewhere),
	CASE(jobs_run_and_end_in_order),
	CASE(job_that_fails_touches_no_other),
	CASE(lone_job_that_fails_leaves_nothing),
	CASE(job_can_be_given_when_one_is_done),
	CASE(threads_share_a_store),
	CASE_SMALL(full_store_refuses_and_can_be_emptied),
	CASE_SMALL(full_store_takes_what_is_given_back),
	CASE_SMALL(job_without_room_touches_no_other),
	CASE_SMALL(change_that_failed_can_be_taken_back),
	CASE(restart_finds_what_was_committed),
	CASE(restarts_in_a_row_add_up),
	CASE(snapshot_shows_what_was_committed_before),
	CASE(snapshots_are_bounded),
};

int main(int argc, char **argv)
{
	for (row = ss_rows; row->row_name != NULL; ++row)
		if (argc == 2 && strcmp(argv[1], row->row_name) == 0)
			return cmocka_run_group_tests_name(row->row_name, cases,
							   NULL, NULL);
	fprintf(stderr, "usage: store_suite ROW\n");
	return 2;
}
