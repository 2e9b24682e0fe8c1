/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The volatile store, against an array that cannot be wrong; and what handlers
 * see of any store. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "m0/sync.h"
#include "base/rand.h"
#include "m0/rpc_store.h"
#include "sim/sched/heap.h"

enum {
	KEYS = 40,
	VALUE_MAX = 24,
	ROUNDS = 3000,
	THREADS = 3,
	JOBS = 500
};

static struct m0_rpc_slice slice(const void *data, m0_bcount_t nr)
{
	return (struct m0_rpc_slice){ data, nr };
}

/** Keys of different lengths, ordered as their numbers are; none is of the
 * library's. */
static struct m0_rpc_slice key_of(unsigned nr, uint8_t *space)
{
	space[0] = (uint8_t)(1 + nr / 4);
	memset(space + 1, 0, 3);
	return slice(space, 1 + nr % 4);
}

struct model {
	bool        mo_has;
	m0_bcount_t mo_nr;
	uint8_t     mo_byte;
};

static void model_compare(struct m0_rpc_tx *tx, const struct model *model)
{
	struct m0_rpc_slice key = { NULL, 0 };
	struct m0_rpc_slice want;
	struct m0_rpc_slice value;
	uint8_t             space[4];
	unsigned            i;

	for (i = 0; i < KEYS; ++i) {
		want = key_of(i, space);
		assert_int_equal(m0_rpc_tx_get(tx, want, &value),
				 model[i].mo_has ? 0 : -ENOENT);
		if (!model[i].mo_has)
			continue;
		assert_int_equal(value.sl_nr, model[i].mo_nr);
		if (value.sl_nr > 0)
			assert_int_equal(*(const uint8_t *)value.sl_data,
					 model[i].mo_byte);
		assert_int_equal(m0_rpc_tx_next(tx, key, &key, &value), 0);
		assert_int_equal(key.sl_nr, want.sl_nr);
		assert_memory_equal(key.sl_data, want.sl_data, want.sl_nr);
	}
	assert_int_equal(m0_rpc_tx_next(tx, key, &key, &value), -ENOENT);
}

static void change_random(struct m0_rand *rand, struct m0_rpc_tx *tx,
			  struct model *model)
{
	unsigned            nr = (unsigned)m0_rand_below(rand, KEYS);
	struct model       *mo = &model[nr];
	uint8_t             space[4];
	uint8_t             value[VALUE_MAX];
	struct m0_rpc_slice key = key_of(nr, space);

	if (m0_rand_chance(rand, 400)) {
		assert_int_equal(m0_rpc_tx_del(tx, key),
				 mo->mo_has ? 0 : -ENOENT);
		mo->mo_has = false;
		return;
	}
	mo->mo_has = true;
	mo->mo_nr = m0_rand_below(rand, VALUE_MAX + 1);
	mo->mo_byte = (uint8_t)m0_rand_next(rand);
	memset(value, mo->mo_byte, sizeof value);
	assert_int_equal(m0_rpc_tx_put(tx, key, slice(value, mo->mo_nr)), 0);
}

/* Random changes in transactions, some of which are taken back: the store has
 * what the array has, in order, inside each and after. */
static void transactions_random_match_an_array(void **state)
{
	struct m0_rpc_store store;
	struct m0_rpc_tx    tx;
	struct m0_rand      rand;
	struct model        model[KEYS] = { { 0 } };
	struct model        saved[KEYS];
	unsigned            round;
	unsigned            i;

	(void)state;
	m0_rand_init(&rand, 5);
	assert_int_equal(m0_rpc_store_volatile_init(&store, 1 << 16), 0);
	for (round = 0; round < ROUNDS; ++round) {
		memcpy(saved, model, sizeof model);
		assert_int_equal(store.rst_ops->rso_begin(&store, &tx), 0);
		for (i = (unsigned)m0_rand_below(&rand, 8); i > 0; --i)
			change_random(&rand, &tx, model);
		model_compare(&tx, model);
		if (m0_rand_chance(&rand, 300)) {
			store.rst_ops->rso_abort(&tx);
			memcpy(model, saved, sizeof model);
		} else {
			assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
		}
	}
	m0_rpc_store_volatile_fini(&store);
}

/* The bound counts keys and values as they are now: taken back, deleted and
 * replaced ones do not count, one byte more is refused and changes nothing. */
static void bytes_beyond_bound_are_refused(void **state)
{
	struct m0_rpc_store store;
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	uint8_t             bytes[16] = { 0 };
	unsigned            i;

	(void)state;
	assert_int_equal(m0_rpc_store_volatile_init(&store, 20), 0);
	for (i = 0; i < 3; ++i) {
		(void)store.rst_ops->rso_begin(&store, &tx);
		assert_int_equal(m0_rpc_tx_put(&tx, slice("abcd", 4),
					       slice(bytes, 16)),
				 0);
		assert_int_equal(m0_rpc_tx_put(&tx, slice("e", 1),
					       slice(bytes, 0)),
				 -ENOSPC);
		assert_int_equal(m0_rpc_tx_get(&tx, slice("e", 1), &value),
				 -ENOENT);
		if (i == 0)
			store.rst_ops->rso_abort(&tx);
		else
			(void)store.rst_ops->rso_commit(&tx);
	}
	(void)store.rst_ops->rso_begin(&store, &tx);
	assert_int_equal(m0_rpc_tx_del(&tx, slice("abcd", 4)), 0);
	assert_int_equal(m0_rpc_tx_put(&tx, slice("ef", 2), slice(bytes, 16)),
			 0);
	assert_int_equal(m0_rpc_tx_put(&tx, slice("ef", 2), slice(bytes, 15)),
			 0);
	assert_int_equal(m0_rpc_tx_put(&tx, slice("ghi", 3), slice(bytes, 0)),
			 0);
	(void)store.rst_ops->rso_commit(&tx);
	m0_rpc_store_volatile_fini(&store);
}

/* Handlers have all keys but those that begin with 0, which they neither
 * change nor see. */
static void keys_of_library_are_hidden(void **state)
{
	static const uint8_t own[] = { 0, 'r', 1 };
	uint8_t              longest[M0_RPC_STORE_KEY_MAX + 1];
	struct m0_rpc_store  store;
	struct m0_rpc_slice  key = { NULL, 0 };
	struct m0_rpc_slice  value;
	struct m0_rpc_tx     tx;

	(void)state;
	memset(longest, 0xff, sizeof longest);
	assert_int_equal(m0_rpc_store_volatile_init(&store, 1 << 16), 0);
	(void)store.rst_ops->rso_begin(&store, &tx);
	assert_int_equal(
		store.rst_ops->rso_put(&tx, slice(own, 3), slice(own, 3)), 0);
	assert_int_equal(m0_rpc_tx_next(&tx, key, &key, &value), -ENOENT);
	assert_int_equal(m0_rpc_tx_get(&tx, slice(own, 3), &value), -EINVAL);
	assert_int_equal(m0_rpc_tx_put(&tx, slice(own, 3), slice("", 0)),
			 -EINVAL);
	assert_int_equal(m0_rpc_tx_del(&tx, slice(own, 3)), -EINVAL);
	assert_int_equal(m0_rpc_tx_next(&tx, slice(own, 3), &key, &value),
			 -EINVAL);
	assert_int_equal(m0_rpc_tx_put(&tx, slice("", 0), slice("", 0)),
			 -EINVAL);
	assert_int_equal(m0_rpc_tx_put(&tx, slice(longest, sizeof longest),
				       slice("", 0)),
			 -EINVAL);
	assert_int_equal(store.rst_ops->rso_put(&tx,
						slice(longest, sizeof longest),
						slice("", 0)),
			 -EMSGSIZE);
	assert_int_equal(m0_rpc_tx_put(&tx,
				       slice(longest, M0_RPC_STORE_KEY_MAX),
				       slice("", 0)),
			 0);
	key = slice(NULL, 0);
	assert_int_equal(m0_rpc_tx_next(&tx, key, &key, &value), 0);
	assert_int_equal(key.sl_nr, M0_RPC_STORE_KEY_MAX);
	(void)store.rst_ops->rso_commit(&tx);
	m0_rpc_store_volatile_fini(&store);
}

/* -------------------------------------------------------------- jobs -- */

struct job {
	struct m0_rpc_store_job jo_job;
	struct m0_rpc_store    *jo_store;
	uint8_t                 jo_key;
	int                     jo_want;
	/** Counts ends of all jobs. */
	uint32_t *jo_done;
	uint32_t  jo_at;
	int       jo_rc;
};

static int job_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct job *jo = container_of(job, struct job, jo_job);
	int         rc =
		m0_rpc_tx_put(tx, slice(&jo->jo_key, 1), slice(&jo->jo_key, 1));

	assert_int_equal(rc, 0);
	return jo->jo_want;
}

static void job_done(struct m0_rpc_store_job *job, int rc)
{
	struct job *jo = container_of(job, struct job, jo_job);

	jo->jo_at = __atomic_add_fetch(jo->jo_done, 1, __ATOMIC_RELAXED);
	jo->jo_rc = rc;
}

static void job_init(struct job *jo, struct m0_rpc_store *store, uint8_t key,
		     int want, uint32_t *done)
{
	M0_SET0(jo);
	jo->jo_job.sj_run = job_run;
	jo->jo_job.sj_done = job_done;
	jo->jo_store = store;
	jo->jo_key = key;
	jo->jo_want = want;
	jo->jo_done = done;
}

/* Jobs run when the store is stepped, in the order in which they were given;
 * one that fails leaves nothing and is told so. */
static void jobs_run_in_order_and_failed_ones_leave_nothing(void **state)
{
	struct m0_rpc_store store;
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	struct job          job[4];
	uint32_t            done = 0;
	uint8_t             i;

	(void)state;
	assert_int_equal(m0_rpc_store_volatile_init(&store, 1 << 16), 0);
	for (i = 0; i < ARRAY_SIZE(job); ++i) {
		job_init(&job[i], &store, (uint8_t)(1 + i), i == 2 ? -EDOM : 0,
			 &done);
		store.rst_ops->rso_exec(&store, &job[i].jo_job);
	}
	assert_int_equal(done, 0);
	store.rst_ops->rso_step(&store);
	(void)store.rst_ops->rso_begin(&store, &tx);
	for (i = 0; i < ARRAY_SIZE(job); ++i) {
		assert_int_equal(job[i].jo_at, i + 1);
		assert_int_equal(job[i].jo_rc, job[i].jo_want);
		assert_int_equal(m0_rpc_tx_get(&tx, slice(&job[i].jo_key, 1),
					       &value),
				 i == 2 ? -ENOENT : 0);
	}
	store.rst_ops->rso_abort(&tx);
	m0_rpc_store_volatile_fini(&store);
}

/** A job whose end asks the store, and gives it the next. */
static void job_again(struct m0_rpc_store_job *job, int rc)
{
	struct job      *jo = container_of(job, struct job, jo_job);
	struct m0_rpc_tx tx;

	assert_int_equal(rc, 0);
	assert_int_equal(jo->jo_store->rst_ops->rso_begin(jo->jo_store, &tx),
			 0);
	jo->jo_store->rst_ops->rso_abort(&tx);
	if (++*jo->jo_done < 3)
		jo->jo_store->rst_ops->rso_exec(jo->jo_store, job);
}

/* The end of a job may use the store; what it gives is done in the same
 * step. */
static void jobs_given_by_ends_are_done_in_the_step(void **state)
{
	struct m0_rpc_store store;
	struct job          job;
	uint32_t            done = 0;

	(void)state;
	assert_int_equal(m0_rpc_store_volatile_init(&store, 1 << 16), 0);
	job_init(&job, &store, 1, 0, &done);
	job.jo_job.sj_done = job_again;
	store.rst_ops->rso_exec(&store, &job.jo_job);
	store.rst_ops->rso_step(&store);
	assert_int_equal(done, 3);
	m0_rpc_store_volatile_fini(&store);
}

struct crowd {
	struct m0_rpc_store *cr_store;
	struct job          *cr_job;
	uint32_t            *cr_done;
};

static void crowd_run(struct crowd *cr)
{
	struct m0_rpc_store *store = cr->cr_store;
	struct m0_rpc_tx     tx;
	unsigned             i;

	for (i = 0; i < JOBS; ++i) {
		job_init(&cr->cr_job[i], store, (uint8_t)(1 + i % 255), 0,
			 cr->cr_done);
		store->rst_ops->rso_exec(store, &cr->cr_job[i].jo_job);
		store->rst_ops->rso_step(store);
		if (i % 16 == 0) {
			(void)store->rst_ops->rso_begin(store, &tx);
			store->rst_ops->rso_abort(&tx);
		}
	}
	/* The thread that held the store while this one stepped did the job, or
	 * does. */
	store->rst_ops->rso_step(store);
}

/* Several threads give jobs and step: each is done once, none is left. */
static void jobs_of_threads_are_each_done_once(void **state)
{
	static struct job   job[THREADS][JOBS];
	struct crowd        crowd[THREADS];
	struct m0_thread    thread[THREADS];
	struct m0_rpc_store store;
	uint32_t            done = 0;
	unsigned            i;

	(void)state;
	assert_int_equal(m0_rpc_store_volatile_init(&store, 1 << 20), 0);
	for (i = 0; i < THREADS; ++i) {
		crowd[i] = (struct crowd){ &store, job[i], &done };
		M0_SET0(&thread[i]);
		assert_int_equal(M0_THREAD_INIT(&thread[i], struct crowd *,
						NULL, crowd_run, &crowd[i],
						"crowd"),
				 0);
	}
	for (i = 0; i < THREADS; ++i) {
		assert_int_equal(m0_thread_join(&thread[i]), 0);
		m0_thread_fini(&thread[i]);
	}
	store.rst_ops->rso_step(&store);
	assert_int_equal(done, THREADS * JOBS);
	m0_rpc_store_volatile_fini(&store);
}

/* ------------------------------------------------------------ memory -- */

static int store_live(void *arg)
{
	struct m0_rpc_store store;
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	int                 rc = m0_rpc_store_volatile_init(&store, 1 << 16);

	(void)arg;
	if (rc != 0)
		return rc;
	(void)store.rst_ops->rso_begin(&store, &tx);
	rc = m0_rpc_tx_put(&tx, slice("a", 1), slice("b", 1));
	if (rc == 0)
		rc = m0_rpc_tx_put(&tx, slice("a", 1), slice("cc", 2));
	if (rc != 0)
		store.rst_ops->rso_abort(&tx);
	else
		(void)store.rst_ops->rso_commit(&tx);
	(void)store.rst_ops->rso_begin(&store, &tx);
	assert_int_equal(m0_rpc_tx_get(&tx, slice("a", 1), &value),
			 rc == 0 ? 0 : -ENOENT);
	store.rst_ops->rso_abort(&tx);
	m0_rpc_store_volatile_fini(&store);
	return rc == -ENOSPC ? -ENOMEM : rc;
}

/* Without memory a change is refused as one too many; the rest is whole. */
static void put_without_memory_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(m0_heap_fail_each(store_live, NULL), 4);
}

/* Memory of what was replaced, deleted or taken back is free when its
 * transaction has ended. */
static void transactions_ended_hold_no_memory(void **state)
{
	struct m0_rpc_store store;
	struct m0_rpc_tx    tx;
	struct m0_heap      heap;
	unsigned            i;

	(void)state;
	assert_int_equal(m0_rpc_store_volatile_init(&store, 1 << 16), 0);
	m0_heap_init(&heap);
	for (i = 0; i < 8; ++i) {
		(void)store.rst_ops->rso_begin(&store, &tx);
		(void)m0_rpc_tx_put(&tx, slice("kept", 4), slice("x", 1));
		(void)m0_rpc_tx_put(&tx, slice("kept", 4), slice("y", 1));
		(void)m0_rpc_tx_put(&tx, slice("gone", 4), slice("x", 1));
		if (i % 2 == 0) {
			(void)m0_rpc_tx_del(&tx, slice("gone", 4));
			(void)store.rst_ops->rso_commit(&tx);
		} else {
			(void)m0_rpc_tx_del(&tx, slice("kept", 4));
			store.rst_ops->rso_abort(&tx);
		}
		/* The node of what is kept, and its value. */
		assert_int_equal(m0_heap_live_nr(&heap), 2);
	}
	(void)store.rst_ops->rso_begin(&store, &tx);
	(void)m0_rpc_tx_del(&tx, slice("kept", 4));
	(void)store.rst_ops->rso_commit(&tx);
	assert_int_equal(m0_heap_live_nr(&heap), 0);
	m0_heap_fini(&heap);
	m0_rpc_store_volatile_fini(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transactions_random_match_an_array),
		cmocka_unit_test(bytes_beyond_bound_are_refused),
		cmocka_unit_test(keys_of_library_are_hidden),
		cmocka_unit_test(
			jobs_run_in_order_and_failed_ones_leave_nothing),
		cmocka_unit_test(jobs_given_by_ends_are_done_in_the_step),
		cmocka_unit_test(jobs_of_threads_are_each_done_once),
		cmocka_unit_test(put_without_memory_changes_nothing),
		cmocka_unit_test(transactions_ended_hold_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
