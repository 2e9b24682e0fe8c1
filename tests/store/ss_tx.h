/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Helpers of the cases, on the store of the row. Include it after cmocka.h. */
#ifndef M0_TESTS_STORE_SS_TX_H
#define M0_TESTS_STORE_SS_TX_H

#include <string.h>

#include "ss.h"

extern const struct ss_row *row;
extern struct m0_rpc_store *store;

void snapshot_shows_what_was_committed_before(void **state);
void snapshots_are_bounded(void **state);

static inline const struct m0_rpc_store_ops *ops(void)
{
	return store->rst_ops;
}

static inline struct m0_rpc_slice slice(const void *data, size_t nr)
{
	return (struct m0_rpc_slice){ data, nr };
}

static inline struct m0_rpc_slice text(const char *str)
{
	return slice(str, strlen(str));
}

static inline struct m0_rpc_tx begin(void)
{
	struct m0_rpc_tx tx;

	assert_int_equal(ops()->rso_begin(store, &tx), 0);
	return tx;
}

static inline void commit(struct m0_rpc_tx *tx)
{
	assert_int_equal(ops()->rso_commit(tx), 0);
}

static inline void put(struct m0_rpc_tx *tx, const char *key, const char *value)
{
	assert_int_equal(ops()->rso_put(tx, text(key), text(value)), 0);
}

static inline void del(struct m0_rpc_tx *tx, const char *key)
{
	assert_int_equal(ops()->rso_del(tx, text(key)), 0);
}

/** @param value  NULL: there is none. */
static inline void has(struct m0_rpc_tx *tx, const char *key, const char *value)
{
	struct m0_rpc_slice got;
	int                 rc = ops()->rso_get(tx, text(key), &got);

	if (value == NULL) {
		assert_int_equal(rc, -ENOENT);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(got.sl_nr, strlen(value));
	assert_memory_equal(got.sl_data, value, got.sl_nr);
}

static inline unsigned keys_nr(struct m0_rpc_tx *tx)
{
	struct m0_rpc_slice key = { "", 0 };
	struct m0_rpc_slice value;
	unsigned            nr = 0;

	while (ops()->rso_next(tx, key, &key, &value) == 0)
		++nr;
	return nr;
}

#endif /* M0_TESTS_STORE_SS_TX_H */
