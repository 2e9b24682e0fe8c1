/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/hooks.h"

/* Enough for every scalar type. */
enum {
	SHIFT_ANY = 4
};

static const struct m0_alloc_ops *alloc_ops;

static const struct m0_alloc_ops *ops(void)
{
	return alloc_ops != NULL ? alloc_ops : m0_base__hooks()->bh_alloc;
}

const struct m0_alloc_ops *m0_alloc_hook_set(const struct m0_alloc_ops *new_ops)
{
	const struct m0_alloc_ops *before = alloc_ops;

	alloc_ops = new_ops;
	return before;
}

void *m0_alloc(size_t size)
{
	return ops()->ao_alloc(size, SHIFT_ANY);
}

void *m0_alloc_arr(size_t nr, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(nr, size, &bytes) ? NULL
							: m0_alloc(bytes);
}

void m0_free(void *data)
{
	if (data != NULL)
		ops()->ao_free(data, 0, SHIFT_ANY);
}

void *m0_alloc_aligned(size_t size, unsigned shift)
{
	return ops()->ao_alloc(size, shift);
}

void m0_free_aligned(void *data, size_t size, unsigned shift)
{
	if (data != NULL)
		ops()->ao_free(data, size, shift);
}
