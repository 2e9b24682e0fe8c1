/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cursor.h"
#include "lnd/ksock/ksock_wire.h"

enum {
	STEP_BYTES = 8
};

/*
 * Table k has what a byte becomes when k bytes of zero follow it. It is linear:
 * the entry of a number is the sum (exclusive or) of those of its bits, so that
 * eight numbers of each table say all of it.
 */
#define CRC_BIT(n, b, of) (((n) >> (b)&1) != 0 ? UINT32_C(of) : 0)
#define ENTRY(n, b0, b1, b2, b3, b4, b5, b6, b7)                     \
	(CRC_BIT(n, 0, b0) ^ CRC_BIT(n, 1, b1) ^ CRC_BIT(n, 2, b2) ^ \
	 CRC_BIT(n, 3, b3) ^ CRC_BIT(n, 4, b4) ^ CRC_BIT(n, 5, b5) ^ \
	 CRC_BIT(n, 6, b6) ^ CRC_BIT(n, 7, b7))
#define ENTRIES4(n, ...)                                      \
	ENTRY((n), __VA_ARGS__), ENTRY((n) + 1, __VA_ARGS__), \
		ENTRY((n) + 2, __VA_ARGS__), ENTRY((n) + 3, __VA_ARGS__)
#define ENTRIES16(n, ...)                                         \
	ENTRIES4(n, __VA_ARGS__), ENTRIES4((n) + 4, __VA_ARGS__), \
		ENTRIES4((n) + 8, __VA_ARGS__),                   \
		ENTRIES4((n) + 12, __VA_ARGS__)
#define ENTRIES64(n, ...)                                            \
	ENTRIES16(n, __VA_ARGS__), ENTRIES16((n) + 16, __VA_ARGS__), \
		ENTRIES16((n) + 32, __VA_ARGS__),                    \
		ENTRIES16((n) + 48, __VA_ARGS__)
#define TABLE(...)                                                     \
	{                                                              \
		ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__), \
			ENTRIES64(128, __VA_ARGS__),                   \
			ENTRIES64(192, __VA_ARGS__)                    \
	}

/* clang-format off */
static const uint32_t table[STEP_BYTES][256] = {
	TABLE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832,
	      0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
	TABLE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08,
	      0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
	TABLE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8,
	      0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
	TABLE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef,
	      0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
	TABLE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1,
	      0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
	TABLE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d,
	      0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
	TABLE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67,
	      0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
	TABLE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5,
	      0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da),
};
/* clang-format on */

static uint32_t byte_add(uint32_t csum, uint8_t byte)
{
	return csum >> 8 ^ table[0][(csum ^ byte) & 0xff];
}

static uint32_t step_add(uint32_t csum, uint32_t low, uint32_t high)
{
	low ^= csum;
	return table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^
	       table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
	       table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
	       table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
}

uint32_t m0_sock__csum(uint32_t csum, const void *bytes, size_t nr)
{
	struct m0_cursor cur;
	uint32_t         low;

	m0_cursor_init_const(&cur, bytes, nr);
	for (; nr >= STEP_BYTES; nr -= STEP_BYTES) {
		low = m0_cursor_get_le32(&cur);
		csum = step_add(csum, low, m0_cursor_get_le32(&cur));
	}
	for (; nr > 0; --nr)
		csum = byte_add(csum, m0_cursor_get_u8(&cur));
	return csum;
}
