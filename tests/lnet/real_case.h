/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Cases of two real nodes, `re`: set-up, teardown, and a table's lines that run a
 * case in each mode. `*state` is the mode.
 */
#ifndef M0_TESTS_LNET_REAL_CASE_H
#define M0_TESTS_LNET_REAL_CASE_H

#include "lnet/real.h"

static struct real    re;
static enum real_mode real_modes[REAL_MODES_NR] = {
	[REAL_THREADS] = REAL_THREADS,
	[REAL_INLINE] = REAL_INLINE,
	[REAL_MIXED] = REAL_MIXED,
};

static inline enum real_mode real_mode_of(void **state)
{
	return *(enum real_mode *)*state;
}

static inline int real_setup(void **state)
{
	real_open(&re, real_mode_of(state), NULL);
	return 0;
}

static inline int real_teardown(void **state)
{
	(void)state;
	real_close(&re);
	return 0;
}

#define REAL_IN(name, begin, end, mode)                                \
	cmocka_unit_test_prestate_setup_teardown(name, (begin), (end), \
						 &real_modes[mode])
/** With threads, and inline. */
#define REAL_TWO(name, begin, end)               \
	REAL_IN(name, begin, end, REAL_THREADS), \
		REAL_IN(name, begin, end, REAL_INLINE)
/** In every mode. */
#define REAL_ALL(name, begin, end) \
	REAL_TWO(name, begin, end), REAL_IN(name, begin, end, REAL_MIXED)

#endif /* M0_TESTS_LNET_REAL_CASE_H */
