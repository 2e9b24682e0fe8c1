/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "lnd/ksock/ksock_wire.h"

/** By the book: one bit a step. */
static uint32_t csum_slow(uint32_t csum, const uint8_t *bytes, size_t nr)
{
	int bit;

	for (; nr > 0; --nr) {
		csum ^= *bytes++;
		for (bit = 0; bit < 8; ++bit)
			csum = csum >> 1 ^
			       ((csum & 1) != 0 ? UINT32_C(0xedb88320) : 0);
	}
	return csum;
}

/* A.10 of the protocol: the usual vector, without the final inversion. */
static void csum_of_vector_is_as_written(void **state)
{
	(void)state;
	assert_true(m0_sock__csum(M0_SOCK_CSUM_INIT, "123456789", 9) ==
		    UINT32_C(0x340bc6d9));
	assert_true(m0_sock__csum(M0_SOCK_CSUM_INIT, NULL, 0) ==
		    M0_SOCK_CSUM_INIT);
}

/* Every length and alignment, and so every byte of every table. */
static void csum_is_that_of_single_bits(void **state)
{
	uint64_t seed = 10;
	uint8_t  bytes[4096];
	size_t   i;

	(void)state;
	for (i = 0; i < sizeof bytes; ++i)
		bytes[i] = (uint8_t)m0_rnd(256, &seed);
	for (i = 0; i < 64; ++i)
		assert_int_equal(m0_sock__csum((uint32_t)i, bytes + i % 8, i),
				 csum_slow((uint32_t)i, bytes + i % 8, i));
	assert_int_equal(m0_sock__csum(M0_SOCK_CSUM_INIT, bytes, sizeof bytes),
			 csum_slow(M0_SOCK_CSUM_INIT, bytes, sizeof bytes));
}

/* Bytes may come in pieces, cut anywhere. */
static void csum_is_continued_across_pieces(void **state)
{
	static const char text[] = "a header, and what follows it";
	uint32_t          whole;
	uint32_t          csum;
	size_t            cut;

	(void)state;
	whole = m0_sock__csum(M0_SOCK_CSUM_INIT, text, sizeof text);
	for (cut = 0; cut <= sizeof text; ++cut) {
		csum = m0_sock__csum(M0_SOCK_CSUM_INIT, text, cut);
		csum = m0_sock__csum(csum, text + cut, sizeof text - cut);
		assert_int_equal(csum, whole);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(csum_of_vector_is_as_written),
		cmocka_unit_test(csum_is_that_of_single_bits),
		cmocka_unit_test(csum_is_continued_across_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
