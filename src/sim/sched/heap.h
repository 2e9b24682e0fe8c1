/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A heap that counts, and fails when configured to: it stands between m0_alloc() and
 * the previous source of memory. Several may be stacked; each sees all calls.
 *
 * No two allocations touch, whatever the source below: segments that touch
 * become one (m0_bufvec_iovec()), and a simulated run must not depend on where
 * the C library puts them.
 */
#ifndef M0_SRC_SIM_HEAP_H
#define M0_SRC_SIM_HEAP_H

#include "m0/base.h"

struct m0_heap {
	/** Calls since m0_heap_init. */
	uint64_t hp_allocs_nr;
	uint64_t hp_frees_nr;
	/** Allocations left until the one to fail; 0: none fails. */
	uint64_t hp_countdown;
	/** Allocations that were failed. */
	uint64_t        hp_failed_nr;
	struct m0_heap *hp_outer;
};

/** Start counting. No other thread may be in the library. */
void m0_heap_init(struct m0_heap *heap);
/** Pre: the last one that was initialised. */
void m0_heap_fini(struct m0_heap *heap);
/** Drop all heaps. Their memory is gone: a failed test has jumped out. */
void m0_heap_forget(void);
/** Allocations so far; any thread. Equal at two points: none in between. */
uint64_t m0_heap_allocs_nr(const struct m0_heap *heap);
/** Allocations minus frees since init. Failed allocations do not count. */
int64_t m0_heap_live_nr(const struct m0_heap *heap);
/** Fails the `nth` allocation from now, from 1, once; 0: none. */
void m0_heap_fail_at(struct m0_heap *heap, uint64_t nth);
/** How many were failed since init. */
uint64_t m0_heap_failed_nr(const struct m0_heap *heap);
/**
 * Calls fn(arg) again and again, failing its first allocation, then its second,
 * until it runs through without a failure, and then it must return 0. A run
 * whose allocation failed may return 0 or -ENOMEM; each run must leave as much
 * memory allocated as it found, so fn undoes what it did.
 * @return how many runs failed an allocation.
 * @retval <0  a run returned another number, or leaked (-EBADF); stops there.
 */
int m0_heap_fail_each(int (*fn)(void *arg), void *arg);

#endif /* M0_SRC_SIM_HEAP_H */
