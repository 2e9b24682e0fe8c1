/* SPDX-License-Identifier: Apache-2.0 */
#include "lnd/sock/wire.h"

/** CRC-32, eight bytes a step. */
uint32_t m0_sock__csum(uint32_t csum, const void *bytes, size_t nr)
{
	const uint8_t *at = bytes;
	int            bit;

	while (nr-- > 0) {
		csum ^= *at++;
		for (bit = 0; bit < 8; ++bit)
			csum = csum >> 1 ^ (UINT32_C(0xedb88320) & -(csum & 1));
	}
	return csum;
}
