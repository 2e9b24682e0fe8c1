/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The table of drivers. A driver joins by one row: a configuration may then name
 * networks of the row's types, and a node makes the driver when one is named.
 */
#ifndef M0_SRC_LND_TABLE_LND_TABLE_H
#define M0_SRC_LND_TABLE_LND_TABLE_H

#include "lnd/lnd_row.h"

enum {
	M0_LND_ROWS_MAX = 16
};

/** A row by its position, from 0; NULL: there are no more. */
const struct m0_lnd_row *m0_lnd_row_at(unsigned i);
/** The row that serves networks of this type; NULL: none. */
const struct m0_lnd_row *m0_lnd_row_of(uint8_t type);
/** Returns true if the row serves networks of this type. */
bool m0_lnd_row_has(const struct m0_lnd_row *row, uint8_t type);
/**
 * Adds a row, for the life of the process. To be called before the first node is
 * opened, by one thread at a time. Pre: there is space, and no row has one of its
 * types.
 */
void m0_lnd_row_add(const struct m0_lnd_row *row);

#endif /* M0_SRC_LND_TABLE_LND_TABLE_H */
