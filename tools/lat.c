/* SPDX-License-Identifier: Apache-2.0 */
#include "m0/base.h"

#include "lat.h"

enum {
	SUB_NR = 1 << LAT_SUB_BITS
};

/* Twice SUB_NR buckets of width 1, then SUB_NR for each power of two. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned log;

	if (ns < 2 * SUB_NR)
		return (unsigned)ns;
	log = 63 - (unsigned)__builtin_clzll(ns);
	if (log >= LAT_VALUE_BITS)
		return LAT_BUCKETS_NR - 1;
	return (log - LAT_SUB_BITS) * SUB_NR +
	       (unsigned)(ns >> (log - LAT_SUB_BITS));
}

/* The greatest time that belongs to a bucket. */
static uint64_t bucket_top(unsigned bucket)
{
	unsigned shift;

	if (bucket < 2 * SUB_NR)
		return bucket;
	shift = bucket / SUB_NR - 1;
	return (((uint64_t)bucket % SUB_NR + SUB_NR + 1) << shift) - 1;
}

void lat_clear(struct lat *lat)
{
	M0_SET0(lat);
}

void lat_add(struct lat *lat, uint64_t ns)
{
	++lat->la_nr;
	lat->la_sum += ns;
	lat->la_max = max64u(lat->la_max, ns);
	++lat->la_bucket[bucket_of(ns)];
}

uint64_t lat_percentile(const struct lat *lat, unsigned permyriad)
{
	uint64_t rank = (uint64_t)((double)lat->la_nr * permyriad / 10000);
	uint64_t seen = 0;
	unsigned i;

	M0_PRE(permyriad <= 10000);
	for (i = 0; i < LAT_BUCKETS_NR; ++i) {
		seen += lat->la_bucket[i];
		if (seen > 0 && seen >= rank)
			return min64u(bucket_top(i), lat->la_max);
	}
	return lat->la_max;
}

uint64_t lat_mean(const struct lat *lat)
{
	return lat->la_nr == 0 ? 0 : lat->la_sum / lat->la_nr;
}
