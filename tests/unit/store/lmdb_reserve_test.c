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

static char                dir[] = "lmdb_reserve.XXXXXX";
static struct m0_rpc_store store;

static int up(void **state)
{
	struct m0_rpc_store_lmdb_cfg cfg;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(library_keys_leave_a_reserve,
						up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
