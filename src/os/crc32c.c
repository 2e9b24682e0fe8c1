/* SPDX-License-Identifier: Apache-2.0 */
#include <isa-l/crc.h>

#include "os/os_internal.h"

/* The library counts bytes in an int. */
enum {
	PIECE_MAX = 1 << 30
};

uint32_t m0_os_crc32c(uint32_t crc, const void *bytes, size_t nr)
{
	unsigned char *at = (unsigned char *)(uintptr_t)bytes;

	crc = ~crc;
	while (nr > 0) {
		int piece = (int)min64u(nr, PIECE_MAX);

		crc = crc32_iscsi(at, piece, crc);
		at += piece;
		nr -= (size_t)piece;
	}
	return ~crc;
}
