/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <isa-l/crc.h>

#include "os/os_internal.h"

enum {
	/** The library counts bytes in an int. */
	PIECE_MAX = 1 << 30,
	/** Up to here the processor's own instruction is faster. */
	SHORT_MAX = 256
};

#if defined(__x86_64__)
/* A descriptor's: the library's folding would be most of the work. */
__attribute__((target("sse4.2"))) static uint32_t crc_short(uint32_t    crc,
							    const void *bytes,
							    size_t      nr)
{
	const uint8_t *at = bytes;
	uint64_t       sum = crc;
	uint64_t       word;

	for (; nr >= sizeof word; nr -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		sum = __builtin_ia32_crc32di(sum, word);
	}
	for (crc = (uint32_t)sum; nr > 0; --nr)
		crc = __builtin_ia32_crc32qi(crc, *at++);
	return crc;
}

static bool is_short(size_t nr)
{
	return nr <= SHORT_MAX && __builtin_cpu_supports("sse4.2");
}
#else
static uint32_t crc_short(uint32_t crc, const void *bytes, size_t nr)
{
	(void)bytes;
	(void)nr;
	return crc;
}

static bool is_short(size_t nr)
{
	return nr == 0;
}
#endif

uint32_t m0_os_crc32c(uint32_t crc, const void *bytes, size_t nr)
{
	unsigned char *at = (unsigned char *)(uintptr_t)bytes;

	crc = ~crc;
	if (is_short(nr))
		return ~crc_short(crc, bytes, nr);
	while (nr > 0) {
		int piece = (int)min64u(nr, PIECE_MAX);

		crc = crc32_iscsi(at, piece, crc);
		at += piece;
		nr -= (size_t)piece;
	}
	return ~crc;
}
