/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/hist.h"

enum {
	SUB_NR = 1 << M0_HIST_SUB_BITS
};

void m0_hist_init(struct m0_hist *hist)
{
	M0_SET0(hist);
	hist->hi_min = UINT64_MAX;
}

/*
 * Values of one power of two share a row of SUB_NR buckets: which one, the bits
 * after the leading one say. Rows 0 and 1 are the values themselves.
 */
static size_t bucket_of(uint64_t value)
{
	unsigned shift;

	if (value >> M0_HIST_VALUE_BITS != 0)
		return M0_HIST_BUCKETS_NR - 1;
	if (value < SUB_NR)
		return value;
	shift = 63 - (unsigned)__builtin_clzll(value) - M0_HIST_SUB_BITS;
	return (((size_t)shift + 1) << M0_HIST_SUB_BITS) +
	       (size_t)((value >> shift) - SUB_NR);
}

/* The greatest value of a bucket. */
static uint64_t bucket_top(size_t bucket)
{
	size_t shift;

	if (bucket < SUB_NR)
		return bucket;
	shift = (bucket >> M0_HIST_SUB_BITS) - 1;
	return (((uint64_t)(bucket & (SUB_NR - 1)) + SUB_NR + 1) << shift) - 1;
}

void m0_hist_record(struct m0_hist *hist, uint64_t value)
{
	++hist->hi_nr;
	hist->hi_sum += value;
	hist->hi_min = min64u(hist->hi_min, value);
	hist->hi_max = max64u(hist->hi_max, value);
	++hist->hi_bucket[bucket_of(value)];
}

void m0_hist_merge(struct m0_hist *hist, const struct m0_hist *from)
{
	size_t i;

	hist->hi_nr += from->hi_nr;
	hist->hi_sum += from->hi_sum;
	hist->hi_min = min64u(hist->hi_min, from->hi_min);
	hist->hi_max = max64u(hist->hi_max, from->hi_max);
	for (i = 0; i < M0_HIST_BUCKETS_NR; ++i)
		hist->hi_bucket[i] += from->hi_bucket[i];
}

uint64_t m0_hist_percentile(const struct m0_hist *hist, unsigned permyriad)
{
	uint64_t want = hist->hi_nr / 10000 * permyriad +
			(hist->hi_nr % 10000 * permyriad + 9999) / 10000;
	uint64_t seen = 0;
	size_t   i;

	M0_PRE(permyriad <= 10000);
	if (hist->hi_nr == 0)
		return 0;
	want = max64u(want, 1);
	for (i = 0; i < M0_HIST_BUCKETS_NR - 1; ++i) {
		seen += hist->hi_bucket[i];
		if (seen >= want)
			return clip64u(hist->hi_min, hist->hi_max,
				       bucket_top(i));
	}
	return hist->hi_max;
}

uint64_t m0_hist_rank(const struct m0_hist *hist, uint64_t value)
{
	size_t   last = bucket_of(value);
	uint64_t nr = 0;
	size_t   i;

	for (i = 0; i <= last; ++i)
		nr += hist->hi_bucket[i];
	return nr;
}
