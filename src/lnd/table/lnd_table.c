/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnd/table/lnd_table.h"
#include "lnd/ksock/ksock_row.h"
#include "lnd/lo/lo.h"
#include "lnd/o2ib/o2ib.h"

/* In the order in which drivers make their steps. */
static const struct m0_lnd_row *rows[M0_LND_ROWS_MAX] = { &m0_ksock_row,
							  &m0_lo_row,
							  &m0_o2ib_row };

const struct m0_lnd_row *m0_lnd_row_at(unsigned i)
{
	return i < M0_LND_ROWS_MAX ? rows[i] : NULL;
}

bool m0_lnd_row_has(const struct m0_lnd_row *row, uint8_t type)
{
	unsigned i;

	for (i = 0; i < M0_LND_ROW_TYPES_MAX && row->lrw_types[i] != 0; ++i)
		if (row->lrw_types[i] == type)
			return true;
	return false;
}

const struct m0_lnd_row *m0_lnd_row_of(uint8_t type)
{
	unsigned i;

	for (i = 0; m0_lnd_row_at(i) != NULL; ++i)
		if (m0_lnd_row_has(rows[i], type))
			return rows[i];
	return NULL;
}

void m0_lnd_row_add(const struct m0_lnd_row *row)
{
	unsigned i;

	for (i = 0; i < M0_LND_ROW_TYPES_MAX && row->lrw_types[i] != 0; ++i)
		M0_PRE(m0_lnd_row_of(row->lrw_types[i]) == NULL);
	for (i = 0; m0_lnd_row_at(i) != NULL; ++i)
		;
	M0_PRE(i < M0_LND_ROWS_MAX);
	rows[i] = row;
}
