/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Objects of one size, taken and given back in a few instructions, last given
 * first taken. Memory is had only by m0_slab_grow(): what an operation may need
 * is reserved when the operation is accepted. Not locked.
 */
#ifndef M0_SRC_BASE_SLAB_H
#define M0_SRC_BASE_SLAB_H

#include "m0/base.h"

/** Where chunks come from. */
struct m0_slab_ops {
	/** Aligned to 64 bytes at least; need not be zeroed; NULL: none. */
	void *(*so_alloc)(void *arg, size_t size);
	void (*so_free)(void *arg, void *chunk, size_t size);
};

struct m0_slab_free;
struct m0_slab_chunk;

struct m0_slab {
	struct m0_slab_free  *sl_free;
	struct m0_slab_chunk *sl_chunks;
	size_t                sl_size;
	/** Objects there are. */
	size_t sl_nr;
	/** Objects that are free. */
	size_t                    sl_free_nr;
	const struct m0_slab_ops *sl_ops;
	void                     *sl_arg;
};

/**
 * Allocates nothing.
 * @param size  of an object; rounded up to a multiple of 16, so is alignment.
 * @param ops   NULL: m0_alloc_aligned().
 */
void m0_slab_init(struct m0_slab *slab, size_t size,
		  const struct m0_slab_ops *ops, void *arg);
/** Pre: all objects are back. */
void m0_slab_fini(struct m0_slab *slab);
/**
 * Adds `nr` free objects.
 * @retval -ENOMEM  and nothing changed.
 */
int m0_slab_grow(struct m0_slab *slab, size_t nr);

/* How a free object looks. */
struct m0_slab_free {
	struct m0_slab_free *sf_next;
};

/** An object with undefined contents; NULL if none is free. */
static inline void *m0_slab_get(struct m0_slab *slab)
{
	struct m0_slab_free *obj = slab->sl_free;

	if (M0_LIKELY(obj != NULL)) {
		slab->sl_free = obj->sf_next;
		--slab->sl_free_nr;
	}
	return obj;
}

static inline void m0_slab_put(struct m0_slab *slab, void *data)
{
	struct m0_slab_free *obj = data;

	M0_PRE(slab->sl_free_nr < slab->sl_nr);
	obj->sf_next = slab->sl_free;
	slab->sl_free = obj;
	++slab->sl_free_nr;
}

#endif /* M0_SRC_BASE_SLAB_H */
