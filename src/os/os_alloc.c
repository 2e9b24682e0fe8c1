/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "os/os_internal.h"

/* 2^4 is what malloc() gives anyway. */
enum {
	MALLOC_SHIFT = 4
};

static void *os_alloc(size_t size, unsigned shift)
{
	void *data;

	/* Size 0 is memory, too. */
	if (size == 0)
		size = 1;
	if (shift <= MALLOC_SHIFT)
		return calloc(1, size);
	if (shift >= 8 * sizeof size ||
	    posix_memalign(&data, (size_t)1 << shift, size) != 0)
		return NULL;
	return memset(data, 0, size);
}

static void os_free(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	free(data);
}

const struct m0_alloc_ops m0_os__alloc_ops = {
	.ao_alloc = os_alloc,
	.ao_free = os_free,
};
