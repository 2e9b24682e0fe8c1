/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stdlib.h for tests inside the kernel. */
#ifndef COLIBRI_KERNEL_STDLIB_H
#define COLIBRI_KERNEL_STDLIB_H

#include <linux/slab.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/sort.h>

#define malloc(size)                   kvmalloc(size, GFP_KERNEL)
#define calloc(nr, size)               kvcalloc(nr, size, GFP_KERNEL)
#define free(data)                     kvfree(data)
#define getenv(name)                   ((char *)NULL)
#define strtoul(text, end, base)       simple_strtoul(text, end, base)
#define strtoull(text, end, base)      simple_strtoull(text, end, base)
#define abort()                        panic("colibri: abort\n")
#define atoi(text)                     ((int)simple_strtol(text, NULL, 10))
#define strdup(text)                   kstrdup(text, GFP_KERNEL)
#define qsort(base, nr, size, compare) sort(base, nr, size, compare, NULL)

/* A power of two is aligned to its size. */
static inline int posix_memalign(void **ret, size_t align, size_t size)
{
	*ret = kvmalloc(roundup_pow_of_two(max(size, align)), GFP_KERNEL);
	return *ret == NULL ? -ENOMEM : 0;
}

static inline void *aligned_alloc(size_t align, size_t size)
{
	void *ret;

	return posix_memalign(&ret, align, size) == 0 ? ret : NULL;
}

#endif
