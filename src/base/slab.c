/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slab.h"

enum {
	OBJ_ALIGN = 16,
	CHUNK_ALIGN_SHIFT = 6
};

/* Before the objects of a chunk. */
struct m0_slab_chunk {
	struct m0_slab_chunk *sk_next;
	size_t                sk_size;
	/* Keeps the objects on lines of the cache. */
	char sk_pad[64 - 2 * sizeof(size_t)];
};

static void *default_alloc(void *arg, size_t size)
{
	(void)arg;
	return m0_alloc_aligned(size, CHUNK_ALIGN_SHIFT);
}

static void default_free(void *arg, void *chunk, size_t size)
{
	(void)arg;
	m0_free_aligned(chunk, size, CHUNK_ALIGN_SHIFT);
}

static const struct m0_slab_ops default_ops = {
	.so_alloc = default_alloc,
	.so_free = default_free,
};

void m0_slab_init(struct m0_slab *slab, size_t size,
		  const struct m0_slab_ops *ops, void *arg)
{
	M0_PRE(size > 0);
	M0_SET0(slab);
	slab->sl_size = m0_align(size, OBJ_ALIGN);
	slab->sl_ops = ops != NULL ? ops : &default_ops;
	slab->sl_arg = arg;
}

void m0_slab_fini(struct m0_slab *slab)
{
	struct m0_slab_chunk *chunk;

	M0_PRE(slab->sl_free_nr == slab->sl_nr);
	while ((chunk = slab->sl_chunks) != NULL) {
		slab->sl_chunks = chunk->sk_next;
		slab->sl_ops->so_free(slab->sl_arg, chunk, chunk->sk_size);
	}
	slab->sl_free = NULL;
	slab->sl_nr = 0;
	slab->sl_free_nr = 0;
}

int m0_slab_grow(struct m0_slab *slab, size_t nr)
{
	struct m0_slab_chunk *chunk;
	size_t                size;

	if (nr == 0)
		return 0;
	if (__builtin_mul_overflow(nr, slab->sl_size, &size) ||
	    __builtin_add_overflow(size, sizeof *chunk, &size))
		return -ENOMEM;
	chunk = slab->sl_ops->so_alloc(slab->sl_arg, size);
	if (chunk == NULL)
		return -ENOMEM;
	chunk->sk_next = slab->sl_chunks;
	chunk->sk_size = size;
	slab->sl_chunks = chunk;
	slab->sl_nr += nr;
	/* Backwards: the first object is the first to be taken. */
	while (nr-- > 0)
		m0_slab_put(slab, (char *)(chunk + 1) + nr * slab->sl_size);
	return 0;
}
