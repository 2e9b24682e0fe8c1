/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/rand.h"

static uint64_t rotl(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

/* splitmix64: any seed will do, 0 included. */
uint64_t m0_rnd64(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* High half of the product: even enough for a `max` far below 2^64. */
static uint64_t scale(uint64_t x, uint64_t max)
{
	return (uint64_t)((__extension__(unsigned __int128) x * max) >> 64);
}

uint64_t m0_rnd(uint64_t max, uint64_t *seed)
{
	M0_PRE(max > 0);
	return scale(m0_rnd64(seed), max);
}

void m0_rand_init(struct m0_rand *rand, uint64_t seed)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rand->ra_state); ++i)
		rand->ra_state[i] = m0_rnd64(&seed);
}

uint64_t m0_rand_next(struct m0_rand *rand)
{
	uint64_t *s = rand->ra_state;
	uint64_t  result = rotl(s[1] * 5, 7) * 9;
	uint64_t  t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint64_t m0_rand_below(struct m0_rand *rand, uint64_t max)
{
	M0_PRE(max > 0);
	return scale(m0_rand_next(rand), max);
}

uint64_t m0_rand_in(struct m0_rand *rand, uint64_t lo, uint64_t hi)
{
	M0_PRE(lo <= hi);
	return lo == 0 && hi == UINT64_MAX
		       ? m0_rand_next(rand)
		       : lo + m0_rand_below(rand, hi - lo + 1);
}

bool m0_rand_chance(struct m0_rand *rand, unsigned permille)
{
	return m0_rand_below(rand, 1000) < permille;
}

void m0_rand_fill(struct m0_rand *rand, void *ret_bytes, size_t nr)
{
	uint8_t *at = ret_bytes;

	while (nr > 0) {
		uint64_t x = m0_rand_next(rand);
		size_t   step = min64u(nr, sizeof x);

		memcpy(at, &x, step);
		at += step;
		nr -= step;
	}
}
