/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Keys of the library leave alone the space that a full store keeps for
 * deletions. */
#include "m0/rpc_store_lmdb.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char                dir[32];
static struct m0_rpc_store store;

static int up(void **state)
{
	struct m0_rpc_store_lmdb_cfg cfg;

	(void)state;
	snprintf(dir, sizeof dir, "lmdb_reserve.XXXXXX");
	assert_non_null(mkdtemp(dir));
	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = 1 << 20;
	cfg.rlc_sync = M0_RPC_STORE_SYNC_NEVER;
	return m0_rpc_store_lmdb_open(&store, dir, &cfg);
}

static int down(void **state)
{
	char command[64];

	(void)state;
	m0_rpc_store_lmdb_close(&store);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static int end(struct m0_rpc_tx *tx, int rc)
{
	if (rc == 0)
		return store.rst_ops->rso_commit(tx);
	store.rst_ops->rso_abort(tx);
	return rc;
}

static struct m0_rpc_tx begin(void)
{
	struct m0_rpc_tx tx;

	assert_int_equal(store.rst_ops->rso_begin(&store, &tx), 0);
	return tx;
}

/* The store is filled with keys that begin with 0; it refuses at last, by its own
 * account and not by the map's end, and can be emptied, a key at a time. */
static void library_keys_leave_a_reserve(void **state)
{
	static const uint8_t bytes[1000];
	struct m0_rpc_slice  value = { bytes, sizeof bytes };
	uint8_t              name[6] = { 0, 'r' };
	struct m0_rpc_slice  key = { name, sizeof name };
	struct m0_rpc_tx     tx;
	uint32_t             nr;
	int                  rc = 0;

	(void)state;
	for (nr = 0; rc == 0; ++nr) {
		memcpy(name + 2, &nr, sizeof nr);
		tx = begin();
		rc = end(&tx, store.rst_ops->rso_put(&tx, key, value));
	}
	assert_int_equal(rc, -ENOSPC);
	assert_in_range(nr, 300, 1000);
	for (--nr; nr-- > 0;) {
		memcpy(name + 2, &nr, sizeof nr);
		tx = begin();
		assert_int_equal(end(&tx, store.rst_ops->rso_del(&tx, key)), 0);
	}
}

/* The file stays as large as it was; what deletes have freed does not count as used. */
static void pages_of_deleted_keys_are_not_used(void **state)
{
	enum {
		KEYS = 100
	};
	static const uint8_t           bytes[3000];
	struct m0_rpc_slice            value = { bytes, sizeof bytes };
	struct m0_rpc_slice            key;
	struct m0_rpc_store_lmdb_stats full;
	struct m0_rpc_store_lmdb_stats stats;
	struct m0_rpc_tx               tx = begin();
	uint8_t                        i;

	(void)state;
	key = (struct m0_rpc_slice){ &i, 1 };
	for (i = 1; i <= KEYS; ++i)
		assert_int_equal(store.rst_ops->rso_put(&tx, key, value), 0);
	assert_int_equal(end(&tx, 0), 0);
	m0_rpc_store_lmdb_stats(&store, &full, false);
	assert_int_equal(full.rls_keys_nr, KEYS);
	assert_in_range(full.rls_used_bytes, KEYS * sizeof bytes,
			full.rls_bytes);
	for (i = 1; i <= KEYS; ++i) {
		tx = begin();
		assert_int_equal(end(&tx, store.rst_ops->rso_del(&tx, key)), 0);
	}
	m0_rpc_store_lmdb_stats(&store, &stats, false);
	assert_int_equal(stats.rls_keys_nr, 0);
	assert_true(stats.rls_bytes >= full.rls_bytes);
	assert_in_range(stats.rls_used_bytes, 1, full.rls_used_bytes / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(library_keys_leave_a_reserve,
						up, down),
		cmocka_unit_test_setup_teardown(
			pages_of_deleted_keys_are_not_used, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
