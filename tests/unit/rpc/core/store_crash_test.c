/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tests' own store: what a crash leaves, late and shared commits, faults. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lib/store_crash.h"

enum {
	JOBS = 4
};

struct job {
	struct m0_rpc_store_job jo_job;
	uint8_t                 jo_key;
	int                     jo_want;
	bool                    jo_done;
	int                     jo_rc;
};

struct story {
	struct store_crash     st_store;
	struct job             st_job[JOBS];
	m0_time_t              st_now;
	enum store_crash_point st_point;
	int                    st_rc;
};

static m0_time_t clock_of(struct store_crash *store)
{
	return ((struct story *)store->stc_arg)->st_now;
}

/** Fails once. */
static int fault(struct store_crash *store, enum store_crash_point point)
{
	struct story *st = store->stc_arg;
	int           rc = point == st->st_point ? st->st_rc : 0;

	if (rc != 0)
		st->st_rc = 0;
	return rc;
}

static int job_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct job               *jo = container_of(job, struct job, jo_job);
	const struct m0_rpc_slice key = { &jo->jo_key, 1 };
	int                       rc = m0_rpc_tx_put(tx, key, key);

	return rc != 0 ? rc : jo->jo_want;
}

static void job_done(struct m0_rpc_store_job *job, int rc)
{
	struct job *jo = container_of(job, struct job, jo_job);

	assert_false(jo->jo_done);
	jo->jo_done = true;
	jo->jo_rc = rc;
}

static void step(struct story *st)
{
	st->st_store.stc_store.rst_ops->rso_step(&st->st_store.stc_store);
}

static void begin(struct story *st)
{
	M0_SET0(st);
	store_crash_init(&st->st_store, 1 << 16);
	st->st_store.stc_arg = st;
	st->st_store.stc_clock = clock_of;
	st->st_store.stc_fault = fault;
	st->st_now = 1;
}

/** Gives jobs `from` to `to` - 1; number i puts key i + 1. */
static void give(struct story *st, unsigned from, unsigned to)
{
	struct m0_rpc_store *store = &st->st_store.stc_store;

	for (; from < to; ++from) {
		st->st_job[from].jo_job.sj_run = job_run;
		st->st_job[from].jo_job.sj_done = job_done;
		st->st_job[from].jo_key = (uint8_t)(from + 1);
		store->rst_ops->rso_exec(store, &st->st_job[from].jo_job);
	}
}

/** Bit i: key i + 1 is there. */
static unsigned keys(struct story *st)
{
	struct m0_rpc_store *store = &st->st_store.stc_store;
	struct m0_rpc_slice  value;
	struct m0_rpc_tx     tx;
	unsigned             ret = 0;
	uint8_t              key;

	assert_int_equal(store->rst_ops->rso_begin(store, &tx), 0);
	for (key = 1; key <= JOBS; ++key)
		if (m0_rpc_tx_get(&tx, (struct m0_rpc_slice){ &key, 1 },
				  &value) == 0)
			ret |= 1u << (key - 1);
	store->rst_ops->rso_abort(&tx);
	return ret;
}

/* A crash takes what is not committed, and tells nobody; what is committed
 * stays, also if nobody was told. */
static void crash_leaves_what_was_committed(void **state)
{
	struct story st;

	(void)state;
	begin(&st);
	st.st_store.stc_commit_ns = 10;
	give(&st, 0, 1);
	step(&st);
	st.st_now += 5;
	give(&st, 1, 2);
	step(&st);
	assert_int_equal(keys(&st), 3);
	assert_int_equal(store_crash_due(&st.st_store), 11);
	st.st_now = 11;
	st.st_store.stc_done_late = true;
	step(&st);
	assert_false(st.st_job[0].jo_done);
	give(&st, 2, 3);
	store_crash_crash(&st.st_store);
	assert_int_equal(keys(&st), 1);
	step(&st);
	assert_false(st.st_job[0].jo_done || st.st_job[1].jo_done ||
		     st.st_job[2].jo_done);
	assert_true(store_crash_due(&st.st_store) == M0_TIME_NEVER);
	store_crash_forget(&st.st_store);
	assert_int_equal(keys(&st), 0);
	store_crash_fini(&st.st_store);
}

/* Jobs share commits up to the bound; one that wants nothing leaves nothing
 * and does not hurt the others. */
static void jobs_share_commits(void **state)
{
	struct story st;

	(void)state;
	begin(&st);
	st.st_store.stc_group_max = 3;
	st.st_job[1].jo_want = -EDOM;
	give(&st, 0, 4);
	step(&st);
	assert_int_equal(st.st_store.stc_commits_nr, 2);
	assert_int_equal(st.st_store.stc_jobs_nr, 4);
	assert_int_equal(st.st_job[0].jo_rc, 0);
	assert_int_equal(st.st_job[1].jo_rc, -EDOM);
	assert_true(st.st_job[3].jo_done);
	store_crash_crash(&st.st_store);
	assert_int_equal(keys(&st), 13);
	store_crash_fini(&st.st_store);
}

/* A commit that fails takes those behind it with it; what comes then is fine
 * again. */
static void commit_failed_takes_later_ones_along(void **state)
{
	struct story st;

	(void)state;
	begin(&st);
	st.st_store.stc_commit_ns = 10;
	give(&st, 0, 1);
	step(&st);
	st.st_now += 10;
	step(&st);
	give(&st, 1, 3);
	step(&st);
	st.st_now += 10;
	st.st_point = STORE_CRASH_COMMIT;
	st.st_rc = -EIO;
	step(&st);
	assert_int_equal(st.st_job[0].jo_rc, 0);
	assert_int_equal(st.st_job[1].jo_rc, -EIO);
	assert_int_equal(st.st_job[2].jo_rc, -EIO);
	assert_int_equal(keys(&st), 1);
	give(&st, 3, 4);
	step(&st);
	st.st_now += 10;
	step(&st);
	assert_int_equal(st.st_job[3].jo_rc, 0);
	store_crash_crash(&st.st_store);
	assert_int_equal(keys(&st), 9);
	store_crash_fini(&st.st_store);
}

/* A change, or a beginning, that fails is the job's own affair. */
static void put_or_begin_failed_is_told(void **state)
{
	static const struct {
		enum store_crash_point point;
		int                    rc;
	} rows[] = { { STORE_CRASH_PUT, -ENOSPC },
		     { STORE_CRASH_BEGIN, -EIO } };
	struct story st;
	unsigned     i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		begin(&st);
		st.st_point = rows[i].point;
		st.st_rc = rows[i].rc;
		give(&st, 0, 2);
		step(&st);
		assert_int_equal(st.st_job[0].jo_rc, rows[i].rc);
		assert_int_equal(st.st_job[1].jo_rc, 0);
		assert_int_equal(keys(&st), 2);
		store_crash_fini(&st.st_store);
	}
}

/* A transaction of the caller's own is kept at once, with all before it. */
static void commit_of_own_keeps_what_went_before(void **state)
{
	struct m0_rpc_store *store;
	struct m0_rpc_tx     tx;
	struct story         st;
	const uint8_t        key = 4;

	(void)state;
	begin(&st);
	store = &st.st_store.stc_store;
	st.st_store.stc_commit_ns = 10;
	give(&st, 0, 1);
	step(&st);
	assert_int_equal(store->rst_ops->rso_begin(store, &tx), 0);
	assert_int_equal(m0_rpc_tx_put(&tx, (struct m0_rpc_slice){ &key, 1 },
				       (struct m0_rpc_slice){ "", 0 }),
			 0);
	assert_int_equal(m0_rpc_tx_del(&tx, (struct m0_rpc_slice){ "x", 1 }),
			 -ENOENT);
	assert_int_equal(store->rst_ops->rso_commit(&tx), 0);
	store_crash_crash(&st.st_store);
	assert_int_equal(keys(&st), 9);
	store_crash_fini(&st.st_store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crash_leaves_what_was_committed),
		cmocka_unit_test(jobs_share_commits),
		cmocka_unit_test(commit_failed_takes_later_ones_along),
		cmocka_unit_test(put_or_begin_failed_is_told),
		cmocka_unit_test(commit_of_own_keeps_what_went_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
