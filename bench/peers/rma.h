/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Operations that a packaged library of remote memory access must have for
 * the comparison: one process reaches the other's memory. */
#ifndef BENCH_RMA_H
#define BENCH_RMA_H

#include "../lib/bench.h"

enum {
	RMA_NAME_MAX = 1024,
	RMA_KEY_MAX = 512
};

/** Data that side 0 needs about side 1. */
struct rma_card {
	size_t   rc_name_len;
	char     rc_name[RMA_NAME_MAX];
	size_t   rc_key_len;
	char     rc_key[RMA_KEY_MAX];
	uint64_t rc_base;
};

/** A variant of the library, "tcp" say. Before the processes part. */
void rma_init(const char *variant);
/** Side 1: memory to be reached. */
void rma_offer(char *mem, size_t bytes, struct rma_card *card);
/** Side 0: reaches it from memory of its own. */
void rma_reach(char *mem, size_t bytes, const struct rma_card *card);
/**
 * Begins a transfer of slot `slot`, whose end is rma_over(slot).
 * @param delivered  it ends when the bytes lie there, not when the memory here
 *                   may be used again.
 * @return false: later.
 */
bool rma_begin(unsigned slot, bool is_put, size_t offset, size_t bytes,
	       bool delivered);
/** Polls, either side. */
void rma_poll(void);
/** To be called by rma_poll() and rma_begin(). */
void rma_over(unsigned slot);

#endif /* BENCH_RMA_H */
