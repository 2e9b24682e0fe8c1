/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hash table of things that embed a link: uthash behind functions, with memory
 * from m0_alloc. Not locked.
 */
#ifndef M0_SRC_BASE_HASH_H
#define M0_SRC_BASE_HASH_H

#include "m0/base.h"

struct m0_hash {
	void    *ha_head;
	unsigned ha_nr;
};

/** Embedded in what is found; use M0_AMB or container_of on it. */
struct m0_hash_link {
	uint64_t hl_space[8];
};

void m0_hash_init(struct m0_hash *hash);
/** Pre: empty. */
void m0_hash_fini(struct m0_hash *hash);
/**
 * @param key  kept by pointer, and unchanged while it is in the table; no other
 *             entry has it.
 * @retval -ENOMEM  nothing was added.
 */
int  m0_hash_add(struct m0_hash *hash, struct m0_hash_link *link,
		 const void *key, unsigned key_bytes);
void m0_hash_del(struct m0_hash *hash, struct m0_hash_link *link);
/** NULL: not there. */
struct m0_hash_link   *m0_hash_find(const struct m0_hash *hash, const void *key,
				    unsigned key_bytes);
static inline unsigned m0_hash_nr(const struct m0_hash *hash)
{
	return hash->ha_nr;
}
/** In the order of adding; NULL: no (more). */
struct m0_hash_link *m0_hash_first(const struct m0_hash *hash);
struct m0_hash_link *m0_hash_next(const struct m0_hash_link *link);

#endif /* M0_SRC_BASE_HASH_H */
