/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Cases with bulk: one operation is one transfer. */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include "../lib/pair.h"

/**
 * Two inline machines on one thread. A transfer is: a buffer is added to a
 * passive queue, its descriptor is copied to the other side's, which is added
 * to an active queue, both completions are delivered, the descriptor is freed.
 */
struct bench_bulk;

/**
 * `area` bytes on each side, in buffers of `bytes`: all used in turn, `flight`
 * transfers at a time; a passive completion begins the next one.
 */
struct bench_bulk *bench_bulk_start(size_t bytes, size_t area, int flight);
void               bench_bulk_stop(struct bench_bulk *k);
/** A copy of the same memory, without the library. */
struct bench_case bench_bulk_copy(struct bench_bulk *k);
/** The active side sends. */
struct bench_case bench_bulk_put(struct bench_bulk *k);
/** The active side receives. */
struct bench_case bench_bulk_get(struct bench_bulk *k);

#endif /* BENCH_BULK_H */
