/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <sys/mman.h>

#include "os/os_internal.h"

/* malloc() aligns to 2^4 anyway. */
enum {
	MALLOC_SHIFT = 4,
	/** Whole pages come out of regions. */
	REGION_SHIFT_MIN = 12,
	/** Such memory is mapped by itself: its pages come when they are used. */
	MAPPED_MIN = 128 << 10
};

/* Let a sanitizer see the bounds of each buffer. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
static const bool uses_regions = false;
#else
static const bool uses_regions = true;
#endif

/* Memory that is to be shared comes out of regions in any case. */
static bool is_of_region(unsigned shift)
{
	return shift >= REGION_SHIFT_MIN &&
	       (uses_regions || m0_os__regions_share() != M0_OS_SHARE_NONE);
}

/* Aligned memory that is mapped by itself; malloc() does the same for itself. */
static bool is_mapped(size_t size, unsigned shift)
{
	return uses_regions && size >= MAPPED_MIN && shift > MALLOC_SHIFT &&
	       shift < REGION_SHIFT_MIN;
}

static void *mapped_alloc(size_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return data == MAP_FAILED ? NULL : data;
}

static void *os_alloc(size_t size, unsigned shift)
{
	void *data;

	/* Size 0 is memory, too. */
	if (size == 0)
		size = 1;
	if (shift <= MALLOC_SHIFT)
		return calloc(1, size);
	if (is_mapped(size, shift))
		return mapped_alloc(size);
	data = is_of_region(shift) ? m0_os__arena_alloc(size, shift) : NULL;
	if (data != NULL)
		return data;
	if (shift >= 8 * sizeof size ||
	    posix_memalign(&data, (size_t)1 << shift, size) != 0)
		return NULL;
	return memset(data, 0, size);
}

static void os_free(void *data, size_t size, unsigned shift)
{
	if (is_mapped(size, shift))
		(void)munmap(data, size);
	else if (!is_of_region(shift) || !m0_os__arena_free(data))
		free(data);
}

const struct m0_alloc_ops m0_os__alloc_ops = {
	.ao_alloc = os_alloc,
	.ao_free = os_free,
};
