/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/base/panics.h"

#include <sys/resource.h>

#include "os/os.h"

#if defined(__SANITIZE_ADDRESS__) || defined(M0_SYNC_TSAN)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#define MIB ((size_t)1 << 20)

static long faults_nr(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_minflt;
}

/* Aligned, zero, writable to the last byte. */
static void region_is_aligned_and_usable(void **state)
{
	static const size_t sizes[] = { 1, 4096, 2 * MIB, 5 * MIB + 3 };
	size_t              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		char *region = m0_os_region_alloc(sizes[i]);

		assert_non_null(region);
		assert_true(m0_is_aligned((uintptr_t)region, 2 * MIB));
		assert_int_equal(region[0] | region[sizes[i] - 1], 0);
		region[sizes[i] - 1] = 1;
		m0_os_region_free(region, sizes[i]);
	}
	m0_os_region_free(NULL, 1);
}

/* Pages are there before the data path comes. */
static void region_use_does_not_fault(void **state)
{
	volatile char *region;
	long           before;
	size_t         at;

	(void)state;
#ifdef SANITIZED
	/* Its own memory about ours faults. */
	skip();
#endif
	region = m0_os_region_alloc(8 * MIB);
	assert_non_null(region);
	before = faults_nr();
	for (at = 0; at < 8 * MIB; at += 4096)
		region[at] = 1;
	/* Of 2048 pages; a few are for the measuring itself. */
	assert_in_range(faults_nr() - before, 0, 40);
	m0_os_region_free((void *)region, 8 * MIB);
}

/* What cannot be had is refused. */
static void region_absurd_size_is_null(void **state)
{
	(void)state;
	assert_null(m0_os_region_alloc(SIZE_MAX));
	assert_null(m0_os_region_alloc(SIZE_MAX - 3 * MIB));
	assert_null(m0_os_region_alloc((size_t)1 << 60));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(region_is_aligned_and_usable),
		cmocka_unit_test(region_use_does_not_fault),
		cmocka_unit_test(region_absurd_size_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
