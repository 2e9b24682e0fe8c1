/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory: the kernel's allocators. No other process can map any of it. */
#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kern/os/kern_os.h"

static atomic_long_t allocs_nr;

/* Powers of two are aligned to their size, as far as the kernel has them in one piece. */
static void *large_alloc(size_t size, unsigned shift)
{
	size_t room;

	if (shift >= 32 || size > KMALLOC_MAX_SIZE)
		return NULL;
	room = roundup_pow_of_two(max64u(size, (size_t)1 << shift));
	return room > KMALLOC_MAX_SIZE
		       ? NULL
		       : kzalloc(room, GFP_KERNEL | __GFP_NOWARN);
}

/* More than a page is aligned to a page, wherever it comes from. */
static void *small_alloc(size_t size, unsigned shift)
{
	size_t align = (size_t)1 << shift;
	size_t room = max64u(max64u(size, 1), align);

	if (size > INT_MAX)
		return NULL;
	if (room < PAGE_SIZE && align > ARCH_KMALLOC_MINALIGN)
		room = roundup_pow_of_two(room);
	return kvzalloc(room, GFP_KERNEL | __GFP_NOWARN);
}

void *kern_alloc(size_t size, unsigned shift)
{
	void *data = shift > PAGE_SHIFT ? large_alloc(size, shift)
					: small_alloc(size, shift);

	if (data != NULL)
		atomic_long_inc(&allocs_nr);
	return data;
}

void kern_free(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	if (data != NULL)
		atomic_long_dec(&allocs_nr);
	kvfree(data);
}

long kern_allocs_nr(void)
{
	return atomic_long_read(&allocs_nr);
}

void *m0_os_region_alloc(size_t bytes)
{
	return vzalloc(max64u(bytes, 1));
}

void m0_os_region_free(void *region, size_t bytes)
{
	(void)bytes;
	vfree(region);
}

bool m0_os_region_of(const void *addr, void **ret_base, size_t *ret_bytes)
{
	(void)addr;
	(void)ret_base;
	(void)ret_bytes;
	return false;
}

void m0_os_regions_share(enum m0_os_share share)
{
	(void)share;
}

int m0_os_region_fd(const void *base)
{
	(void)base;
	return -1;
}

bool m0_os_region_read(const void *addr, struct m0_os_region *ret)
{
	(void)addr;
	(void)ret;
	return false;
}

bool m0_os_region_is(const struct m0_os_region *region)
{
	(void)region;
	return false;
}

uint64_t m0_os_regions_gone(void)
{
	return 0;
}

void m0_os_regions_watch(struct m0_os_region_watch *watch)
{
	(void)watch;
}

void m0_os_regions_unwatch(struct m0_os_region_watch *watch)
{
	(void)watch;
}

void m0_os_dump_set(void *addr, size_t bytes, bool dump)
{
	(void)addr;
	(void)bytes;
	(void)dump;
}
