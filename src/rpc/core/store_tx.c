/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transactions as handlers see them: all keys but the library's. */
#include "m0/rpc_store.h"

#include <errno.h>

/** After every key of the library's, before any other. */
static const uint8_t last_own[] = { 0, 0xff };

static bool is_theirs(struct m0_rpc_slice key)
{
	return key.sl_nr > 0 && key.sl_nr <= M0_RPC_STORE_KEY_MAX &&
	       *(const uint8_t *)key.sl_data != 0;
}

int m0_rpc_tx_get(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		  struct m0_rpc_slice *ret_value)
{
	if (!is_theirs(key))
		return -EINVAL;
	return tx->tx_store->rst_ops->rso_get(tx, key, ret_value);
}

int m0_rpc_tx_put(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		  struct m0_rpc_slice value)
{
	if (!is_theirs(key))
		return -EINVAL;
	return tx->tx_store->rst_ops->rso_put(tx, key, value);
}

int m0_rpc_tx_del(struct m0_rpc_tx *tx, struct m0_rpc_slice key)
{
	if (!is_theirs(key))
		return -EINVAL;
	return tx->tx_store->rst_ops->rso_del(tx, key);
}

int m0_rpc_tx_next(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		   struct m0_rpc_slice *ret_key, struct m0_rpc_slice *ret_value)
{
	if (key.sl_nr == 0) {
		key.sl_data = last_own;
		key.sl_nr = sizeof last_own;
	} else if (!is_theirs(key)) {
		return -EINVAL;
	}
	return tx->tx_store->rst_ops->rso_next(tx, key, ret_key, ret_value);
}

int m0_rpc_snapshot_begin(struct m0_rpc_store *store, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_store_ops *ops = store->rst_ops;

	return ops->rso_snapshot_begin != NULL
		       ? ops->rso_snapshot_begin(store, tx)
		       : ops->rso_begin(store, tx);
}

void m0_rpc_snapshot_end(struct m0_rpc_tx *tx)
{
	const struct m0_rpc_store_ops *ops = tx->tx_store->rst_ops;

	if (ops->rso_snapshot_begin != NULL)
		ops->rso_snapshot_end(tx);
	else
		ops->rso_abort(tx);
}
