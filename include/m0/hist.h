/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A histogram of latencies or sizes. It is exact below 64 and within 1/32
 * above, up to 2^44 (in nanoseconds: five hours), where it saturates. Recording
 * takes a few instructions. A histogram has one writer, or the owner's lock
 * protects it.
 */
#ifndef M0_HIST_H
#define M0_HIST_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Buckets per power of two, as a power of two. */
	M0_HIST_SUB_BITS = 5,
	M0_HIST_VALUE_BITS = 44,
	M0_HIST_BUCKETS_NR = (M0_HIST_VALUE_BITS - M0_HIST_SUB_BITS + 1)
			     << M0_HIST_SUB_BITS
};

struct m0_hist {
	uint64_t hi_nr;
	uint64_t hi_sum;
	uint64_t hi_min;
	uint64_t hi_max;
	uint64_t hi_bucket[M0_HIST_BUCKETS_NR];
};

M0_EXTERN void m0_hist_init(struct m0_hist *hist);
M0_EXTERN void m0_hist_record(struct m0_hist *hist, uint64_t value);
/** Adds all of `from` to `hist`. */
M0_EXTERN void m0_hist_merge(struct m0_hist *hist, const struct m0_hist *from);
/**
 * Returns the least value that `permyriad` of 10000 recorded values do not
 * exceed (9990: the 99.9th percentile), rounded up by at most 1/32, but never
 * above the maximum. Returns 0 if nothing was recorded.
 */
M0_EXTERN uint64_t m0_hist_percentile(const struct m0_hist *hist,
				      unsigned              permyriad);
/**
 * Returns how many recorded values are at most `value`, rounded up to the end of
 * its bucket: values above by at most 1/32 may count, too.
 */
M0_EXTERN uint64_t m0_hist_rank(const struct m0_hist *hist, uint64_t value);

static inline uint64_t m0_hist_nr(const struct m0_hist *hist)
{
	return hist->hi_nr;
}

/** Returns the exact minimum; 0 if nothing was recorded. */
static inline uint64_t m0_hist_min(const struct m0_hist *hist)
{
	return hist->hi_nr == 0 ? 0 : hist->hi_min;
}

static inline uint64_t m0_hist_max(const struct m0_hist *hist)
{
	return hist->hi_max;
}

static inline uint64_t m0_hist_mean(const struct m0_hist *hist)
{
	return hist->hi_nr == 0 ? 0 : hist->hi_sum / hist->hi_nr;
}

#ifdef __cplusplus
}
#endif
#endif /* M0_HIST_H */
