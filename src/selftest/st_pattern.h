/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The pattern in data of brw, by which a receiver finds corruption. */
#ifndef M0_SRC_SELFTEST_ST_PATTERN_H
#define M0_SRC_SELFTEST_ST_PATTERN_H

#include "selftest/st_wire.h"

#define M0_ST_PATTERN UINT64_C(0xeeb0eeb1eeb2eeb3)
#define M0_ST_POISON  UINT64_C(0xbeefbeefbeefbeef)

/**
 * Writes the pattern of a check: FULL in all words, SIMPLE in the first and the
 * last word of each page, NONE and DISCARD nowhere.
 * @param offset  of the first byte in its page.
 */
void m0_st_pattern_fill(uint8_t *bytes, size_t nr, size_t offset,
			enum m0_st_check check, uint64_t word);
/** True if the data has the pattern. */
bool m0_st_pattern_is(const uint8_t *bytes, size_t nr, size_t offset,
		      enum m0_st_check check, bool swapped);

#endif /* M0_SRC_SELFTEST_ST_PATTERN_H */
