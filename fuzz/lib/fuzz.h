/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the fuzz targets. A target is one file of fuzz/: libFuzzer calls it
 * with random bytes; in the ordinary builds lib/replay.c calls it with those of
 * fuzz/corpus/<target>. A target aborts if a decoder reads beyond its bytes
 * (the sanitizer sees that), or accepts bytes that its encoder would not
 * produce.
 */
#ifndef M0_FUZZ_LIB_FUZZ_H
#define M0_FUZZ_LIB_FUZZ_H

#include <stdlib.h>

#include "m0/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A copy on a heap of its own, so that whoever reads beyond it is seen. */
static inline void *fuzz_copy(const void *data, size_t size)
{
	void *copy = calloc(1, size > 0 ? size : 1);

	M0_ASSERT(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

/** Copies bytes with a NUL behind them, for texts. */
static inline char *fuzz_text(const void *data, size_t size)
{
	char *copy = malloc(size + 1);

	M0_ASSERT(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	copy[size] = 0;
	return copy;
}

/** Numbers and choices taken from the input, byte by byte; 0 at its end. */
struct fuzz_in {
	const uint8_t *fi_at;
	size_t         fi_left;
};

static inline uint8_t fuzz_byte(struct fuzz_in *in)
{
	if (in->fi_left == 0)
		return 0;
	--in->fi_left;
	return *in->fi_at++;
}

static inline uint64_t fuzz_number(struct fuzz_in *in, unsigned bytes)
{
	uint64_t number = 0;

	while (bytes-- > 0)
		number = number << 8 | fuzz_byte(in);
	return number;
}

#endif /* M0_FUZZ_LIB_FUZZ_H */
