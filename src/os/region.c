/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "m0/log.h"
#include "os/os_internal.h"
#include "os/shm.h"

#define REGION_ALIGN ((size_t)2 << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Atomic. */
static struct m0_os_huge huge;

static void touch(char *region, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t at;

	/* Kernels before 5.14 do not know the call. */
	if (madvise(region, bytes, MADV_POPULATE_WRITE) == 0)
		return;
	for (at = 0; at < bytes; at += page)
		*(volatile char *)(region + at) = 0;
}

/* Maps `fd`, or memory of the process alone if it is -1. */
static void *region_map(size_t bytes, int fd)
{
	size_t size = m0_align(max64u(bytes, 1), REGION_ALIGN);
	size_t head;
	char  *at;

	if (size < bytes || size + REGION_ALIGN < size)
		return NULL;
	at = mmap(NULL, size + REGION_ALIGN, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	/* Gives back what lies before and behind the aligned part. */
	head = m0_align((uintptr_t)at, REGION_ALIGN) - (uintptr_t)at;
	if (head > 0)
		(void)munmap(at, head);
	at += head;
	(void)munmap(at + size, REGION_ALIGN - head);
	if (fd >= 0 && mmap(at, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		(void)munmap(at, size);
		return NULL;
	}
	(void)madvise(at, size, MADV_HUGEPAGE);
	touch(at, size);
	return at;
}

/*
 * A memfd of pages of huge sizes (MFD_HUGETLB) would not do: another process that maps it gets
 * SIGBUS where its owner has punched a hole and no page is left. Here such a hole gets
 * small pages, and the system needs no setting.
 */
static void huge_ask(void *region, size_t bytes)
{
	const char *text = m0_os_env("M0_HUGE_PAGES");
	bool        first;
	int         rc;

	if (text == NULL || strcmp(text, "1") != 0)
		return;
	first = __atomic_fetch_add(&huge.ohu_asked, bytes, __ATOMIC_RELAXED) ==
		0;
	rc = madvise(region, bytes, MADV_COLLAPSE) == 0 ? 0 : -errno;
	if (rc == 0)
		__atomic_fetch_add(&huge.ohu_got, bytes, __ATOMIC_RELAXED);
	else if (first)
		m0_log(M0_LOG_WARN,
		       "M0_HUGE_PAGES is 1, and the system gives a region no "
		       "huge pages: %s",
		       m0_errname(rc));
}

void m0_os_huge_get(struct m0_os_huge *ret)
{
	ret->ohu_asked = __atomic_load_n(&huge.ohu_asked, __ATOMIC_RELAXED);
	ret->ohu_got = __atomic_load_n(&huge.ohu_got, __ATOMIC_RELAXED);
}

void *m0_os_region_alloc(size_t bytes)
{
	return region_map(bytes, -1);
}

void *m0_os__region_alloc_shared(size_t bytes, bool writable, int *ret_fd)
{
	size_t size = m0_align(max64u(bytes, 1), REGION_ALIGN);
	int    fd = m0_os_shm_open("colibri-region", size);
	void  *at = fd < 0 ? NULL : region_map(bytes, fd);

	if (at != NULL)
		huge_ask(at, size);
	if (at != NULL && !writable && m0_os_shm_own(fd) != 0) {
		m0_os_region_free(at, bytes);
		at = NULL;
	}
	if (at == NULL && fd >= 0)
		(void)close(fd);
	*ret_fd = at == NULL ? -1 : fd;
	return at;
}

void m0_os_region_free(void *region, size_t bytes)
{
	if (region != NULL)
		(void)munmap(region, m0_align(max64u(bytes, 1), REGION_ALIGN));
}

void m0_os_dump_set(void *addr, size_t bytes, bool dump)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = m0_align((uintptr_t)addr, page);
	uintptr_t to = ((uintptr_t)addr + bytes) & ~(page - 1);

	if (from < to)
		(void)madvise((void *)from, to - from,
			      dump ? MADV_DODUMP : MADV_DONTDUMP);
}
