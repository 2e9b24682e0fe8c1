/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory by whole pages out of regions (m0_os_region_alloc()), for buffers: few
 * large areas, which a driver can register and the processor can map with large
 * pages.
 *
 * A region of 2 MiB holds runs of pages, found by a first fit in the map of its
 * pages; a longer request gets a region of its own. Regions with free pages come
 * first in the list. An empty region goes back to the system.
 */
#include <stdlib.h>
#include <unistd.h>

#include "os/os_internal.h"

enum {
	PAGE_SHIFT = 12,
	REGION_SHIFT = 21,
	PAGES_NR = 1 << (REGION_SHIFT - PAGE_SHIFT),
	WORD_BITS = 64
};
#define PAGE_BYTES   ((size_t)1 << PAGE_SHIFT)
#define REGION_BYTES ((size_t)1 << REGION_SHIFT)

struct arena_region {
	struct m0_list_link ar_link;
	char               *ar_base;
	size_t              ar_bytes;
	/** Descriptor of memory that others can map; -1. */
	int              ar_fd;
	enum m0_os_share ar_share;
	uint64_t         ar_id;
	uint32_t         ar_free_nr;
	uint64_t         ar_used[PAGES_NR / WORD_BITS];
	/** Pages of the run that begins here. */
	uint16_t ar_run[PAGES_NR];
};

/* arena_lock protects the whole table. */
static struct m0_mutex       arena_lock = M0_MUTEX_SINIT(&arena_lock);
static struct m0_list        regions;
static struct arena_region **by_base;
static size_t                regions_nr;
static size_t                regions_max;
/* Rights of others to the regions that are made. */
static enum m0_os_share regions_share;
static uint64_t         regions_made;
static uint64_t         regions_gone;
static struct m0_list   watches;

static bool is_used(const struct arena_region *re, uint32_t page)
{
	return re->ar_used[page / WORD_BITS] >> page % WORD_BITS & 1;
}

static void used_set(struct arena_region *re, uint32_t first, uint32_t nr,
		     bool used)
{
	uint32_t i;

	for (i = first; i < first + nr; ++i) {
		M0_ASSERT(is_used(re, i) != used);
		re->ar_used[i / WORD_BITS] ^= (uint64_t)1 << i % WORD_BITS;
	}
}

/* First run of `nr` free pages at a multiple of `align`; PAGES_NR: none. */
static uint32_t run_find(const struct arena_region *re, uint32_t nr,
			 uint32_t align)
{
	uint32_t first;
	uint32_t i;

	for (first = 0; first + nr <= PAGES_NR;
	     first = (uint32_t)m0_align(first + i + 1, align)) {
		for (i = 0; i < nr && !is_used(re, first + i); ++i)
			;
		if (i == nr)
			return first;
	}
	return PAGES_NR;
}

static void *run_take(struct arena_region *re, uint32_t first, uint32_t nr)
{
	used_set(re, first, nr, true);
	re->ar_run[first] = (uint16_t)nr;
	re->ar_free_nr -= nr;
	if (re->ar_free_nr == 0)
		m0_list_move_tail(&regions, &re->ar_link);
	return re->ar_base + ((size_t)first << PAGE_SHIFT);
}

/* Number of regions whose base is not above an address. */
static size_t rank_of(const void *addr)
{
	size_t low = 0;
	size_t high = regions_nr;
	size_t mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if ((uintptr_t)by_base[mid]->ar_base <= (uintptr_t)addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The region that has an address; NULL: none. */
static struct arena_region *region_of(const void *addr)
{
	size_t               rank = rank_of(addr);
	struct arena_region *re = rank == 0 ? NULL : by_base[rank - 1];

	return re != NULL && (uintptr_t)addr - (uintptr_t)re->ar_base <
				       re->ar_bytes
		       ? re
		       : NULL;
}

static bool region_enter(struct arena_region *re)
{
	size_t                max = regions_max == 0 ? 16 : 2 * regions_max;
	struct arena_region **table;
	size_t                rank;

	if (regions_nr == regions_max) {
		table = realloc(by_base, max * sizeof *table);
		if (table == NULL)
			return false;
		by_base = table;
		regions_max = max;
	}
	if (regions_nr == 0)
		m0_list_init(&regions);
	rank = rank_of(re->ar_base);
	memmove(&by_base[rank + 1], &by_base[rank],
		(regions_nr - rank) * sizeof *by_base);
	by_base[rank] = re;
	++regions_nr;
	m0_list_link_init(&re->ar_link);
	m0_list_add(&regions, &re->ar_link);
	return true;
}

static void memory_free(struct arena_region *re)
{
	m0_os_region_free(re->ar_base, re->ar_bytes);
	if (re->ar_fd >= 0)
		(void)close(re->ar_fd);
}

static struct arena_region *region_make(size_t bytes)
{
	struct arena_region *re = calloc(1, sizeof *re);

	if (re == NULL)
		return NULL;
	re->ar_bytes = m0_align(bytes, REGION_BYTES);
	re->ar_fd = -1;
	re->ar_share = m0_os__regions_share();
	re->ar_id = ++regions_made;
	re->ar_base = re->ar_share == M0_OS_SHARE_NONE
			      ? m0_os_region_alloc(re->ar_bytes)
			      : m0_os__region_alloc_shared(
					re->ar_bytes,
					re->ar_share == M0_OS_SHARE_WRITE,
					&re->ar_fd);
	if (re->ar_base == NULL || !region_enter(re)) {
		memory_free(re);
		free(re);
		return NULL;
	}
	return re;
}

/* The list is empty until the first watch. */
static void gone_notify(void)
{
	struct m0_list_link *link;

	__atomic_add_fetch(&regions_gone, 1, __ATOMIC_SEQ_CST);
	if (watches.l_head.ll_next == NULL)
		return;
	m0_list_for_each(&watches, link) {
		struct m0_os_region_watch *watch =
			container_of(link, struct m0_os_region_watch, orw_link);

		watch->orw_gone(watch);
	}
}

static void region_free(struct arena_region *re)
{
	size_t rank = rank_of(re->ar_base);

	M0_ASSERT(by_base[rank - 1] == re);
	memmove(&by_base[rank - 1], &by_base[rank],
		(regions_nr - rank) * sizeof *by_base);
	m0_list_del(&re->ar_link);
	m0_list_link_fini(&re->ar_link);
	memory_free(re);
	free(re);
	gone_notify();
	/* Free the table with the last region. */
	if (--regions_nr == 0) {
		free(by_base);
		by_base = NULL;
		regions_max = 0;
	}
}

/* Memory that others cannot map is given to nobody any more once it is to be shared. */
static bool is_usable(const struct arena_region *re)
{
	return re->ar_share >= m0_os__regions_share();
}

/* Take a run from a region that has one, else from a new region. */
static void *run_alloc(uint32_t nr, uint32_t align)
{
	struct m0_list_link *link;
	struct arena_region *re;
	uint32_t             first;

	for (link = regions_nr == 0 ? NULL : m0_list_first(&regions);
	     link != NULL; link = m0_list_next(&regions, link)) {
		re = container_of(link, struct arena_region, ar_link);
		if (re->ar_free_nr == 0)
			break;
		first = re->ar_free_nr < nr || !is_usable(re)
				? PAGES_NR
				: run_find(re, nr, align);
		if (first < PAGES_NR)
			return run_take(re, first, nr);
	}
	re = region_make(REGION_BYTES);
	if (re == NULL)
		return NULL;
	re->ar_free_nr = PAGES_NR;
	return run_take(re, 0, nr);
}

static void *large_alloc(size_t size)
{
	struct arena_region *re = region_make(size);

	if (re == NULL)
		return NULL;
	/* The region is full, and full regions are last. */
	m0_list_move_tail(&regions, &re->ar_link);
	return re->ar_base;
}

void *m0_os__arena_alloc(size_t size, unsigned shift)
{
	void *data = NULL;

	M0_PRE(size > 0 && shift >= PAGE_SHIFT);
	if (shift > REGION_SHIFT)
		return NULL;
	m0_mutex_lock(&arena_lock);
	if (size > REGION_BYTES)
		data = large_alloc(size);
	else
		data = run_alloc((uint32_t)(m0_align(size, PAGE_BYTES) >>
					    PAGE_SHIFT),
				 (uint32_t)1 << (shift - PAGE_SHIFT));
	m0_mutex_unlock(&arena_lock);
	/* Clear the bytes that an earlier user left. */
	return data == NULL ? NULL : memset(data, 0, size);
}

bool m0_os__arena_free(void *data)
{
	struct arena_region *re;
	uint32_t             first;
	uint32_t             nr;

	m0_mutex_lock(&arena_lock);
	re = region_of(data);
	if (re != NULL && re->ar_bytes > REGION_BYTES) {
		M0_PRE(data == re->ar_base);
		region_free(re);
	} else if (re != NULL) {
		first = (uint32_t)((size_t)((char *)data - re->ar_base) >>
				   PAGE_SHIFT);
		nr = re->ar_run[first];
		M0_PRE(nr > 0);
		re->ar_run[first] = 0;
		used_set(re, first, nr, false);
		re->ar_free_nr += nr;
		if (re->ar_free_nr == PAGES_NR)
			region_free(re);
		else
			m0_list_move(&regions, &re->ar_link);
	}
	m0_mutex_unlock(&arena_lock);
	return re != NULL;
}

bool m0_os_region_of(const void *addr, void **ret_base, size_t *ret_bytes)
{
	struct arena_region *re;

	m0_mutex_lock(&arena_lock);
	re = region_of(addr);
	if (re != NULL) {
		*ret_base = re->ar_base;
		*ret_bytes = re->ar_bytes;
	}
	m0_mutex_unlock(&arena_lock);
	return re != NULL;
}

void m0_os_regions_share(enum m0_os_share share)
{
	m0_mutex_lock(&arena_lock);
	if (share > regions_share)
		__atomic_store_n(&regions_share, share, __ATOMIC_RELEASE);
	m0_mutex_unlock(&arena_lock);
}

enum m0_os_share m0_os__regions_share(void)
{
	return __atomic_load_n(&regions_share, __ATOMIC_ACQUIRE);
}

int m0_os_region_fd(const void *base)
{
	struct arena_region *re;
	int                  fd;

	m0_mutex_lock(&arena_lock);
	re = region_of(base);
	fd = re == NULL || re->ar_base != base ||
			     re->ar_share != M0_OS_SHARE_WRITE
		     ? -1
		     : re->ar_fd;
	m0_mutex_unlock(&arena_lock);
	return fd;
}

bool m0_os_region_read(const void *addr, struct m0_os_region *ret)
{
	struct arena_region *re;
	bool                 found;

	m0_mutex_lock(&arena_lock);
	re = region_of(addr);
	found = re != NULL && re->ar_share == M0_OS_SHARE_READ;
	if (found)
		*ret = (struct m0_os_region){ .org_base = re->ar_base,
					      .org_bytes = re->ar_bytes,
					      .org_id = re->ar_id,
					      .org_fd = re->ar_fd };
	m0_mutex_unlock(&arena_lock);
	return found;
}

bool m0_os_region_is(const struct m0_os_region *region)
{
	struct arena_region *re;
	bool                 is;

	m0_mutex_lock(&arena_lock);
	re = region_of(region->org_base);
	is = re != NULL && re->ar_id == region->org_id;
	m0_mutex_unlock(&arena_lock);
	return is;
}

uint64_t m0_os_regions_gone(void)
{
	return __atomic_load_n(&regions_gone, __ATOMIC_SEQ_CST);
}

void m0_os_regions_watch(struct m0_os_region_watch *watch)
{
	m0_list_link_init(&watch->orw_link);
	m0_mutex_lock(&arena_lock);
	if (watches.l_head.ll_next == NULL)
		m0_list_init(&watches);
	m0_list_add_tail(&watches, &watch->orw_link);
	m0_mutex_unlock(&arena_lock);
}

void m0_os_regions_unwatch(struct m0_os_region_watch *watch)
{
	m0_mutex_lock(&arena_lock);
	m0_list_del(&watch->orw_link);
	m0_mutex_unlock(&arena_lock);
}
