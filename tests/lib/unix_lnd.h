/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A second driver, to prove the contract of drivers: messages between nodes of
 * one process over Unix sockets, on networks efa.
 */
#ifndef M0_TESTS_LIB_UNIX_LND_H
#define M0_TESTS_LIB_UNIX_LND_H

#include "lnd/lnd_row.h"

extern const struct m0_lnd_row unix_lnd_row;

/** Counts of all instances. Written by nodes, so a test reads them when the nodes
 * are idle or closed. */
struct unix_lnd_counts {
	unsigned mems_added_nr;
	unsigned mems_deleted_nr;
	/** The region that was added or deleted last. */
	struct m0_lnd_mem mem_last;
	/** GETs that were kept; REPLYs that named one; GETs released. */
	unsigned kept_nr;
	unsigned answers_nr;
	unsigned released_nr;
	/** GETs that named the memory of their REPLY. */
	unsigned sinks_nr;
	/** The option "packets" of the interface that started last: packets that
	 * it reads in a pass. */
	unsigned packets_max;
};
extern struct unix_lnd_counts unix_lnd_counts;

#endif /* M0_TESTS_LIB_UNIX_LND_H */
