/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "m0/log.h"
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

static unsigned gone_nr;

static void gone(struct m0_os_region_watch *watch)
{
	(void)watch;
	++gone_nr;
}

/* Other processes can map regions that are made from now on, to read them. */
static void regions_can_be_read(void **state)
{
	struct m0_os_region_watch watch = { .orw_gone = gone };
	struct m0_os_region       region;
	struct m0_os_region       again;
	char                     *before = m0_alloc_aligned(4096, 12);
	char                     *after;
	char                     *other;
	uint64_t                  gone_before;

	(void)state;
	assert_false(m0_os_region_read(before, &region));
	m0_os_regions_share(M0_OS_SHARE_READ);
	after = m0_alloc_aligned(4096, 12);
	assert_non_null(after);
	assert_true(m0_os_region_read(after, &region));
	assert_true(m0_os_region_is(&region));
	assert_true(after >= region.org_base &&
		    after + 4096 <= region.org_base + region.org_bytes);
	assert_int_equal(m0_os_region_fd(region.org_base), -1);
	other = mmap(NULL, region.org_bytes, PROT_READ, MAP_SHARED,
		     region.org_fd, 0);
	assert_ptr_not_equal(other, MAP_FAILED);
	after[17] = 'x';
	assert_int_equal(other[after - region.org_base + 17], 'x');
	assert_int_equal(
		mprotect(other, region.org_bytes, PROT_READ | PROT_WRITE), -1);
	assert_ptr_equal(mmap(NULL, region.org_bytes, PROT_WRITE, MAP_SHARED,
			      region.org_fd, 0),
			 MAP_FAILED);
	assert_int_equal(ftruncate(region.org_fd, 0), -1);
	assert_int_equal(munmap(other, region.org_bytes), 0);
	/* Another region at the address of one that is gone is not that region. */
	m0_os_regions_watch(&watch);
	gone_before = m0_os_regions_gone();
	m0_free_aligned(after, 4096, 12);
	assert_int_equal(gone_nr, 1);
	assert_int_equal(m0_os_regions_gone(), gone_before + 1);
	assert_false(m0_os_region_is(&region));
	after = m0_alloc_aligned(4096, 12);
	assert_true(m0_os_region_read(after, &again));
	assert_int_not_equal(again.org_id, region.org_id);
	assert_false(m0_os_region_is(&region));
	m0_os_regions_unwatch(&watch);
	m0_os_regions_unwatch(&watch);
	m0_free_aligned(after, 4096, 12);
	assert_int_equal(gone_nr, 1);
	m0_free_aligned(before, 4096, 12);
}

/* Regions that are made from now on can be mapped once more, and do not shrink. */
static void regions_are_shared(void **state)
{
	char  *before = m0_alloc_aligned(4096, 12);
	void  *base;
	size_t bytes;
	char  *after;
	char  *other;
	int    fd;

	struct m0_os_region region;

	(void)state;
	assert_non_null(before);
	/* A sanitizer sees single buffers. */
	if (m0_os_region_of(before, &base, &bytes))
		assert_int_equal(m0_os_region_fd(base), -1);
	m0_os_regions_share(M0_OS_SHARE_WRITE);
	/* The most rights count. */
	m0_os_regions_share(M0_OS_SHARE_READ);
	after = m0_alloc_aligned(4096, 12);
	assert_non_null(after);
	assert_true(m0_os_region_of(after, &base, &bytes));
	assert_false(m0_os_region_read(after, &region));
	fd = m0_os_region_fd(base);
	assert_true(fd >= 0);
	/* Only the base names a region. */
	assert_int_equal(m0_os_region_fd((char *)base + 4096), -1);
	other = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(other, MAP_FAILED);
	after[17] = 'x';
	assert_int_equal(other[after - (char *)base + 17], 'x');
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(munmap(other, bytes), 0);
	m0_free_aligned(after, 4096, 12);
	assert_int_equal(m0_os_region_fd(base), -1);
	m0_free_aligned(before, 4096, 12);
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
	/* The region has 2048 pages; a few faults are of the measuring itself. */
	assert_in_range(faults_nr() - before, 0, 40);
	m0_os_region_free((void *)region, 8 * MIB);
}

/* Bytes of address space that the process has. */
static size_t space(void)
{
	FILE         *file = fopen("/proc/self/statm", "r");
	unsigned long pages;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	(void)fclose(file);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A region returns the address space that its alignment took, and its own. */
static void region_leaves_no_space_behind(void **state)
{
	size_t before;
	int    i;

	(void)state;
	m0_os_region_free(m0_os_region_alloc(4096), 4096);
	before = space();
	for (i = 0; i < 100; ++i)
		m0_os_region_free(m0_os_region_alloc(4096), 4096);
	assert_in_range(space() - before, 0, 20 * MIB);
}

/* Returns true if the flags of the mapping of `at` lack "dd". */
static bool is_dumped(const char *at)
{
	FILE         *file = fopen("/proc/self/smaps", "r");
	bool          ours = false;
	char          line[512];
	unsigned long from;
	unsigned long to;

	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			ours = (uintptr_t)at >= from && (uintptr_t)at < to;
		if (ours && strncmp(line, "VmFlags:", 8) == 0)
			break;
	}
	(void)fclose(file);
	assert_int_equal(strncmp(line, "VmFlags:", 8), 0);
	return strstr(line, " dd") == NULL;
}

/* Pages that are partly another's stay in dumps. */
static void region_dump_is_of_whole_pages(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char  *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(at != MAP_FAILED);
	m0_os_dump_set(at + 1, 2 * page, false);
	assert_int_equal(is_dumped(at), true);
	assert_int_equal(is_dumped(at + page), false);
	assert_int_equal(is_dumped(at + 2 * page), true);
	m0_os_dump_set(at + 1, 2 * page, true);
	assert_int_equal(is_dumped(at + page), true);
	assert_int_equal(munmap(at, 3 * page), 0);
}

/* An allocation that no address space can hold returns NULL. */
static void region_absurd_size_is_null(void **state)
{
	(void)state;
	assert_null(m0_os_region_alloc(SIZE_MAX));
	assert_null(m0_os_region_alloc(SIZE_MAX - 3 * MIB));
	assert_null(m0_os_region_alloc((size_t)1 << 60));
}

/* ------------------------------------------ memory aligned to whole pages -- */

static void must_be_in_region(const void *addr, char **ret_base,
			      size_t *ret_bytes)
{
	void *base;

	assert_true(m0_os_region_of(addr, &base, ret_bytes));
	*ret_base = base;
	assert_true(m0_is_aligned((uintptr_t)base, 2 * MIB));
}

/* Users of few pages share a region, which goes with the last of them. */
static void aligned_memory_shares_a_region(void **state)
{
	char  *a = m0_alloc_aligned(5000, 12);
	char  *b = m0_alloc_aligned(4096, 14);
	void  *heap = m0_alloc(4096);
	char  *base[2];
	size_t bytes[2];
	void  *any;

	(void)state;
#ifdef SANITIZED
	m0_free_aligned(a, 5000, 12);
	m0_free_aligned(b, 4096, 14);
	m0_free(heap);
	skip();
#endif
	must_be_in_region(a, &base[0], &bytes[0]);
	must_be_in_region(b, &base[1], &bytes[1]);
	assert_ptr_equal(base[0], base[1]);
	assert_int_equal(bytes[0], 2 * MIB);
	assert_true(m0_is_aligned((uintptr_t)b, (size_t)1 << 14));
	assert_true(b >= a + 8192 || a >= b + 4096);
	assert_false(m0_os_region_of(heap, &any, &bytes[0]));
	m0_free_aligned(a, 5000, 12);
	must_be_in_region(b, &base[1], &bytes[1]);
	m0_free_aligned(b, 4096, 14);
	assert_false(m0_os_region_of(b, &any, &bytes[0]));
	m0_free(heap);
}

/* Pages that were used before are zero in their next use. */
static void pages_used_again_are_zero(void **state)
{
	char *keep = m0_alloc_aligned(4096, 12);
	char *a = m0_alloc_aligned(8192, 12);
	char *b;

	(void)state;
	memset(a, 0x5a, 8192);
	m0_free_aligned(a, 8192, 12);
	b = m0_alloc_aligned(8192, 12);
#ifndef SANITIZED
	assert_ptr_equal(a, b);
#endif
	assert_int_equal(b[0] | b[4095] | b[8191], 0);
	m0_free_aligned(b, 8192, 12);
	m0_free_aligned(keep, 4096, 12);
}

/* More than fits has a region of its own, found by each of its addresses. */
static void large_memory_has_its_own_region(void **state)
{
	char  *keep = m0_alloc_aligned(4096, 12);
	char  *a = m0_alloc_aligned(5 * MIB, 12);
	char  *base;
	size_t bytes;

	(void)state;
	assert_non_null(a);
	a[5 * MIB - 1] = 1;
#ifndef SANITIZED
	must_be_in_region(a + 5 * MIB - 1, &base, &bytes);
	assert_ptr_equal(base, a);
	assert_int_equal(bytes, 6 * MIB);
	must_be_in_region(keep, &base, &bytes);
	assert_ptr_not_equal(base, a);
#endif
	(void)base;
	(void)bytes;
	m0_free_aligned(a, 5 * MIB, 12);
	m0_free_aligned(keep, 4096, 12);
}

/* Runs never overlap, whatever comes and goes. */
static void runs_do_not_overlap(void **state)
{
	enum {
		NR = 64,
		STEPS = 4000
	};
	static uint8_t *run[NR];
	static size_t   size[NR];
	uint32_t        seed = 12345;
	size_t          i;
	unsigned        k;

	(void)state;
	for (k = 0; k < STEPS; ++k) {
		seed = seed * 1664525 + 1013904223;
		i = seed >> 8 & (NR - 1);
		if (run[i] != NULL) {
			assert_int_equal(run[i][0], i);
			assert_int_equal(run[i][size[i] - 1], i);
			m0_free_aligned(run[i], size[i], 12);
			run[i] = NULL;
			continue;
		}
		size[i] = 1 + (seed >> 14 & 0x1ffff);
		run[i] = m0_alloc_aligned(size[i], 12 + (seed >> 28 & 3));
		assert_non_null(run[i]);
		assert_int_equal(run[i][0] | run[i][size[i] - 1], 0);
		run[i][0] = (uint8_t)i;
		run[i][size[i] - 1] = (uint8_t)i;
	}
	for (i = 0; i < NR; ++i)
		m0_free_aligned(run[i], size[i], 12);
}

/* KiB of memory that is mapped by huge pages, of the mapping that begins there. */
static long huge_kib(const void *base)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char  line[512];
	char  begin[40];
	long  kib = -1;
	bool  here = false;

	assert_non_null(f);
	snprintf(begin, sizeof begin, "%lx-", (unsigned long)(uintptr_t)base);
	while (kib < 0 && fgets(line, sizeof line, f) != NULL) {
		if (strncmp(line, begin, strlen(begin)) == 0)
			here = true;
		else if (here)
			(void)sscanf(line, "ShmemPmdMapped: %ld kB", &kib);
	}
	fclose(f);
	return kib;
}

/* A region that was asked to have huge pages has them, if the kernel can. */
static void regions_may_have_huge_pages(void **state)
{
	struct m0_os_huge before;
	struct m0_os_huge after;
	uint8_t          *a;
	void             *base;
	size_t            bytes;

	(void)state;
	m0_os_huge_get(&before);
	assert_int_equal(before.ohu_asked, 0);
	m0_log_level_set(M0_LOG_FATAL);
	assert_int_equal(setenv("M0_HUGE_PAGES", "1", 1), 0);
	a = m0_alloc_aligned(5 * MIB, 12);
	assert_int_equal(unsetenv("M0_HUGE_PAGES"), 0);
	m0_log_level_set(M0_LOG_INFO);
	assert_non_null(a);
	assert_int_equal(a[0] | a[5 * MIB - 1], 0);
	assert_true(m0_os_region_of(a, &base, &bytes));
	m0_os_huge_get(&after);
	assert_int_equal(after.ohu_asked, 6 * MIB);
	assert_true(after.ohu_got == 0 || after.ohu_got == 6 * MIB);
	if (after.ohu_got > 0)
		assert_int_equal(huge_kib(base), 6 * 1024);
	assert_true(m0_os_region_fd(base) >= 0);
	m0_free_aligned(a, 5 * MIB, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(region_is_aligned_and_usable),
		cmocka_unit_test(region_use_does_not_fault),
		cmocka_unit_test(aligned_memory_shares_a_region),
		cmocka_unit_test(pages_used_again_are_zero),
		cmocka_unit_test(large_memory_has_its_own_region),
		cmocka_unit_test(runs_do_not_overlap),
		cmocka_unit_test(region_leaves_no_space_behind),
		cmocka_unit_test(region_dump_is_of_whole_pages),
		cmocka_unit_test(region_absurd_size_is_null),
		/* For good, so the last. */
		cmocka_unit_test(regions_can_be_read),
		cmocka_unit_test(regions_are_shared),
		cmocka_unit_test(regions_may_have_huge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
