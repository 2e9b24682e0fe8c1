/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <string.h>

#include "selftest/st_pattern.h"

/** Bytes from `at` to the end of its page or of the data. */
static size_t fragment(size_t at, size_t nr, size_t offset)
{
	size_t left = M0_ST_PAGE_BYTES - (at + offset) % M0_ST_PAGE_BYTES;

	return min_check(left, nr - at);
}

static void word_put(uint8_t *to, uint64_t word)
{
	memcpy(to, &word, sizeof word);
}

static bool word_is(const uint8_t *from, uint64_t word)
{
	return memcmp(from, &word, sizeof word) == 0;
}

void m0_st_pattern_fill(uint8_t *bytes, size_t nr, size_t offset,
			enum m0_st_check check, uint64_t word)
{
	size_t at;
	size_t part;
	size_t i;

	if (check != M0_ST_CHECK_SIMPLE && check != M0_ST_CHECK_FULL)
		return;
	for (at = 0; at < nr; at += part) {
		part = fragment(at, nr, offset);
		if (part < sizeof word)
			continue;
		word_put(bytes + at, word);
		word_put(bytes + at + part - sizeof word, word);
		for (i = 0;
		     check == M0_ST_CHECK_FULL && i + sizeof word <= part;
		     i += sizeof word)
			word_put(bytes + at + i, word);
	}
}

bool m0_st_pattern_is(const uint8_t *bytes, size_t nr, size_t offset,
		      enum m0_st_check check, bool swapped)
{
	uint64_t word = swapped ? __builtin_bswap64(M0_ST_PATTERN)
				: M0_ST_PATTERN;
	size_t   at;
	size_t   part;
	size_t   i;

	if (check != M0_ST_CHECK_SIMPLE && check != M0_ST_CHECK_FULL)
		return true;
	for (at = 0; at < nr; at += part) {
		part = fragment(at, nr, offset);
		if (part < sizeof word)
			continue;
		for (i = 0;
		     check == M0_ST_CHECK_FULL && i + sizeof word <= part;
		     i += sizeof word) {
			if (!word_is(bytes + at + i, word))
				return false;
		}
		if (check == M0_ST_CHECK_SIMPLE &&
		    (!word_is(bytes + at, word) ||
		     !word_is(bytes + at + part - sizeof word, word)))
			return false;
	}
	return true;
}
