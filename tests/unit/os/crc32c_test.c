/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <sys/mman.h>

#include "base/rand.h"
#include "os/os.h"

/* The check value of the algorithm, and others that RFC 3720 publishes. */
static void crc32c_matches_published_values(void **state)
{
	uint8_t bytes[32];
	size_t  i;

	(void)state;
	assert_true(m0_os_crc32c(0, "123456789", 9) == 0xe3069283);
	memset(bytes, 0, sizeof bytes);
	assert_true(m0_os_crc32c(0, bytes, sizeof bytes) == 0x8a9136aa);
	memset(bytes, 0xff, sizeof bytes);
	assert_true(m0_os_crc32c(0, bytes, sizeof bytes) == 0x62a8ab43);
	for (i = 0; i < sizeof bytes; ++i)
		bytes[i] = (uint8_t)i;
	assert_true(m0_os_crc32c(0, bytes, sizeof bytes) == 0x46dd794e);
	assert_int_equal(m0_os_crc32c(0, bytes, 0), 0);
}

/* Any cut into pieces gives the sum of the whole. */
static void crc32c_pieces_continue(void **state)
{
	uint8_t        bytes[300];
	struct m0_rand rand;
	uint32_t       whole;
	size_t         cut;

	(void)state;
	m0_rand_init(&rand, 8);
	m0_rand_fill(&rand, bytes, sizeof bytes);
	whole = m0_os_crc32c(0, bytes, sizeof bytes);
	for (cut = 0; cut <= sizeof bytes; ++cut) {
		uint32_t head = m0_os_crc32c(0, bytes, cut);

		assert_true(m0_os_crc32c(head, bytes + cut,
					 sizeof bytes - cut) == whole);
	}
}

/* More bytes than the library below takes in one call, by one and by none: nothing
 * is left out. The pages are those of zeros, and take no memory. */
static void crc32c_of_many_bytes_is_whole(void **state)
{
	const size_t   many = (size_t)1 << 30;
	const uint8_t *bytes = mmap(NULL, many + 1, PROT_READ,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				    -1, 0);
	uint32_t       sum;

	(void)state;
	assert_true(bytes != MAP_FAILED);
	sum = m0_os_crc32c(0, bytes, many);
	assert_true(m0_os_crc32c(m0_os_crc32c(0, bytes, many / 2), bytes,
				 many / 2) == sum);
	assert_true(m0_os_crc32c(0, bytes, many + 1) ==
		    m0_os_crc32c(sum, bytes, 1));
	(void)munmap((void *)(uintptr_t)bytes, many + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c_matches_published_values),
		cmocka_unit_test(crc32c_pieces_continue),
		cmocka_unit_test(crc32c_of_many_bytes_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
