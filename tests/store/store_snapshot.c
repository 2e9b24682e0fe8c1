/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Snapshots, which every store has, if only by letting nobody change it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ss_tx.h"

static struct m0_rpc_tx snapshot(void)
{
	struct m0_rpc_tx tx;

	assert_int_equal(m0_rpc_snapshot_begin(store, &tx), 0);
	return tx;
}

static void changed_beside(struct m0_rpc_tx *old, struct m0_rpc_slice value)
{
	struct m0_rpc_tx tx = begin();
	struct m0_rpc_tx now;

	put(&tx, "a", "2");
	put(&tx, "b", "2");
	commit(&tx);
	has(old, "a", "1");
	has(old, "b", NULL);
	assert_memory_equal(value.sl_data, "1", 1);
	assert_int_equal(keys_nr(old), 1);
	now = snapshot();
	has(&now, "a", "2");
	m0_rpc_snapshot_end(&now);
	assert_int_equal(m0_rpc_tx_put(old, text("c"), text("3")), -EACCES);
	assert_int_equal(m0_rpc_tx_del(old, text("a")), -EACCES);
}

void snapshot_shows_what_was_committed_before(void **state)
{
	struct m0_rpc_tx    tx = begin();
	struct m0_rpc_slice value;

	(void)state;
	put(&tx, "a", "1");
	commit(&tx);
	tx = snapshot();
	has(&tx, "a", "1");
	assert_int_equal(m0_rpc_tx_get(&tx, text("a"), &value), 0);
	if (ops()->rso_snapshot_begin != NULL)
		changed_beside(&tx, value);
	m0_rpc_snapshot_end(&tx);
	tx = snapshot();
	has(&tx, "c", NULL);
	assert_int_equal(keys_nr(&tx), ops()->rso_snapshot_begin ? 2 : 1);
	m0_rpc_snapshot_end(&tx);
}

void snapshots_are_bounded(void **state)
{
	struct m0_rpc_tx *tx;
	unsigned          nr;

	(void)state;
	if (ops()->rso_snapshot_begin == NULL)
		return;
	tx = calloc(M0_RPC_SNAPSHOTS_MAX + 8, sizeof *tx);
	for (nr = 0; nr < M0_RPC_SNAPSHOTS_MAX + 8; ++nr)
		if (m0_rpc_snapshot_begin(store, &tx[nr]) != 0)
			break;
	assert_in_range(nr, M0_RPC_SNAPSHOTS_MAX, M0_RPC_SNAPSHOTS_MAX + 7);
	assert_int_equal(m0_rpc_snapshot_begin(store, &tx[nr]), -EAGAIN);
	while (nr > 0)
		m0_rpc_snapshot_end(&tx[--nr]);
	tx[0] = snapshot();
	m0_rpc_snapshot_end(&tx[0]);
	free(tx);
}
