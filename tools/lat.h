/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Histogram of lengths of time, nanoseconds: exact below 64, within 1/32 above,
 * up to half an hour, where it saturates. One writer.
 */
#ifndef M0_TOOLS_LAT_H
#define M0_TOOLS_LAT_H

#include <stdint.h>

enum {
	/** Buckets per power of two, as a power of two. */
	LAT_SUB_BITS = 5,
	LAT_VALUE_BITS = 41,
	LAT_BUCKETS_NR = (LAT_VALUE_BITS - LAT_SUB_BITS + 1) << LAT_SUB_BITS
};

struct lat {
	uint64_t la_nr;
	uint64_t la_sum;
	uint64_t la_max;
	uint64_t la_bucket[LAT_BUCKETS_NR];
};

void lat_clear(struct lat *lat);
void lat_add(struct lat *lat, uint64_t ns);
/**
 * Least time that `permyriad` of 10000 recorded ones do not exceed (9990: the
 * 99.9th percentile), rounded up by at most 1/32, never above the greatest.
 */
uint64_t lat_percentile(const struct lat *lat, unsigned permyriad);
uint64_t lat_mean(const struct lat *lat);

#endif /* M0_TOOLS_LAT_H */
