/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The suite of stores: every case runs on every row. Rows differ in the traits
 * below and in nothing else.
 */
#ifndef M0_TESTS_STORE_SS_H
#define M0_TESTS_STORE_SS_H

#include "m0/rpc_store.h"

struct ss_row {
	const char *row_name;
	/** Keeps what was committed when its server dies. */
	bool row_durable;
	/** May be used by several threads. */
	bool row_threads;
	/** Bytes that the store counts against its bound beyond keys and
	 * values. */
	m0_bcount_t row_overhead;
	/** @param bytes_max  0: plenty. */
	struct m0_rpc_store *(*row_up)(m0_bcount_t bytes_max);
	void (*row_down)(void);
	/** The server dies and another comes; NULL: all would be forgotten. */
	struct m0_rpc_store *(*row_restart)(void);
};

extern const struct ss_row ss_rows[];

#endif /* M0_TESTS_STORE_SS_H */
