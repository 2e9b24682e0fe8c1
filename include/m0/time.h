/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Time: nanoseconds of a clock that never goes back and has no known origin.
 * Points in time and durations have the same type; every time-out of the
 * library is a point in time (absolute).
 */
#ifndef M0_TIME_H
#define M0_TIME_H

#include "m0/macro.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t m0_time_t;

#define M0_TIME_ONE_SECOND ((m0_time_t)1000000000)
#define M0_TIME_ONE_MSEC   ((m0_time_t)1000000)
#define M0_TIME_ONE_USEC   ((m0_time_t)1000)
/** Later than every other point in time. */
#define M0_TIME_NEVER (~(m0_time_t)0)
/** A point in time that has always passed. */
#define M0_TIME_IMMEDIATELY ((m0_time_t)0)
/** Constant form of m0_time(). */
#define M0_MKTIME(secs, ns) \
	((m0_time_t)(secs)*M0_TIME_ONE_SECOND + (m0_time_t)(ns))

/** Reads the clock. Any thread may call it. */
M0_EXTERN m0_time_t m0_time_now(void);
/**
 * Returns the time at which the pass that this thread is in read the clock
 * (everything in one pass has the same time); outside a pass, m0_time_now().
 */
M0_EXTERN m0_time_t m0_time_cached(void);
/**
 * Blocks the calling thread of the application for the duration `req`.
 * @param rem  set to the time not slept, always 0 here; may be NULL.
 * @return 0.
 */
M0_EXTERN int m0_nanosleep(m0_time_t req, m0_time_t *rem);
/** Blocks the calling thread of the application until `deadline`. */
M0_EXTERN void m0_time_sleep(m0_time_t deadline);

/**
 * Returns the sum; M0_TIME_NEVER if either is, or if the sum would overflow.
 */
static inline m0_time_t m0_time_add(m0_time_t a, m0_time_t b)
{
	m0_time_t sum;

	return __builtin_add_overflow(a, b, &sum) ? M0_TIME_NEVER : sum;
}

/**
 * Returns the difference, never below 0. M0_TIME_NEVER minus any time is
 * M0_TIME_NEVER.
 */
static inline m0_time_t m0_time_sub(m0_time_t a, m0_time_t b)
{
	return a == M0_TIME_NEVER ? a : a > b ? a - b : 0;
}

/**
 * Returns `secs` seconds plus `ns` nanoseconds; `ns` may be negative, or more
 * than a second.
 */
static inline m0_time_t m0_time(uint64_t secs, long ns)
{
	m0_time_t whole;

	if (__builtin_mul_overflow(secs, M0_TIME_ONE_SECOND, &whole))
		return M0_TIME_NEVER;
	return ns >= 0 ? m0_time_add(whole, (m0_time_t)ns)
		       : m0_time_sub(whole, 0 - (m0_time_t)ns);
}

/** Returns the point in time that lies `secs` and `ns` after now. */
static inline m0_time_t m0_time_from_now(uint64_t secs, long ns)
{
	return m0_time_add(m0_time_now(), m0_time(secs, ns));
}

/** Returns the whole seconds. */
static inline uint64_t m0_time_seconds(m0_time_t time)
{
	return time / M0_TIME_ONE_SECOND;
}

/** Returns the nanoseconds beyond the whole seconds. */
static inline uint64_t m0_time_nanoseconds(m0_time_t time)
{
	return time % M0_TIME_ONE_SECOND;
}

/** True if the point in time has passed; M0_TIME_NEVER never has. */
static inline bool m0_time_is_in_past(m0_time_t time)
{
	return time != M0_TIME_NEVER && time < m0_time_now();
}

#ifdef __cplusplus
}
#endif
#endif /* M0_TIME_H */
