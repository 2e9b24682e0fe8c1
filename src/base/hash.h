/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Hash table of things that embed a link: uthash behind functions, with memory
 * from m0_alloc. Not locked.
 */
#ifndef M0_SRC_BASE_HASH_H
#define M0_SRC_BASE_HASH_H

#include "m0/base.h"

/** Embedded in what is found; container_of on it. */
struct m0_hash_link {
	uint64_t hl_space[8];
};

struct m0_hash {
	void    *ha_head;
	unsigned ha_nr;
	/** In the table if m0_hash_keep() was called. */
	bool                ha_kept;
	struct m0_hash_link ha_keeper;
};

void m0_hash_init(struct m0_hash *hash);
/** Pre: empty. */
void m0_hash_fini(struct m0_hash *hash);
/**
 * From now on the table stays allocated when it gets empty, so that a small one
 * that fills and empties all the time allocates nothing. May be called again.
 * @retval -ENOMEM  nothing has changed.
 */
int m0_hash_keep(struct m0_hash *hash);
/**
 * @param key  kept by pointer, and unchanged while it is in the table; not
 *             empty; no other entry has it.
 * @retval -ENOMEM  nothing was added.
 */
int  m0_hash_add(struct m0_hash *hash, struct m0_hash_link *link,
		 const void *key, unsigned key_bytes);
void m0_hash_del(struct m0_hash *hash, struct m0_hash_link *link);
/**
 * Puts `link` in the place of `old`, which is out of the table then. Never
 * fails.
 * @param key  the same bytes, kept by pointer as by m0_hash_add().
 */
void m0_hash_replace(struct m0_hash *hash, struct m0_hash_link *old,
		     struct m0_hash_link *link, const void *key);
/** NULL: not there. */
struct m0_hash_link *m0_hash_find(const struct m0_hash *hash, const void *key,
				  unsigned key_bytes);
/** Finds an entry of a table all of whose keys are of the type uint64_t. */
struct m0_hash_link   *m0_hash_find64(const struct m0_hash *hash, uint64_t key);
static inline unsigned m0_hash_nr(const struct m0_hash *hash)
{
	return hash->ha_nr;
}
/** In the order of adding; NULL: no (more). */
struct m0_hash_link *m0_hash_first(const struct m0_hash *hash);
struct m0_hash_link *m0_hash_next(const struct m0_hash_link *link);

#endif /* M0_SRC_BASE_HASH_H */
