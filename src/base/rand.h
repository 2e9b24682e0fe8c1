/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Pseudo-random numbers that a seed fixes: for tests, the simulator, and
 * spreading load. xoshiro256** by Blackman and Vigna, seeded by splitmix64
 * (both public domain).
 */
#ifndef M0_SRC_BASE_RAND_H
#define M0_SRC_BASE_RAND_H

#include "m0/base.h"

struct m0_rand {
	uint64_t ra_state[4];
};

void     m0_rand_init(struct m0_rand *rand, uint64_t seed);
uint64_t m0_rand_next(struct m0_rand *rand);
/** Evenly in [0, max). Pre: max > 0. */
uint64_t m0_rand_below(struct m0_rand *rand, uint64_t max);
/** Evenly in [lo, hi]. Pre: lo <= hi. */
uint64_t m0_rand_in(struct m0_rand *rand, uint64_t lo, uint64_t hi);
/** True `permille` times out of 1000. */
bool m0_rand_chance(struct m0_rand *rand, unsigned permille);
void m0_rand_fill(struct m0_rand *rand, void *ret_bytes, size_t nr);

#endif /* M0_SRC_BASE_RAND_H */
