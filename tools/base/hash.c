/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
/* By what the processor can do: four times as fast. */
#include <xxh_x86dispatch.h>
#endif

#include "m0/base.h"
#include "hash.h"

struct hash {
	XXH3_state_t *h_state;
};

struct hash *hash_alloc(void)
{
	struct hash *hash;

	M0_ALLOC_PTR(hash);
	if (hash == NULL)
		return NULL;
	hash->h_state = XXH3_createState();
	if (hash->h_state == NULL) {
		m0_free(hash);
		return NULL;
	}
	(void)XXH3_128bits_reset(hash->h_state);
	return hash;
}

void hash_free(struct hash *hash)
{
	if (hash != NULL)
		(void)XXH3_freeState(hash->h_state);
	m0_free(hash);
}

void hash_update(struct hash *hash, const void *bytes, size_t nr)
{
	(void)XXH3_128bits_update(hash->h_state, bytes, nr);
}

void hash_value(const struct hash *hash, uint8_t ret[HASH_BYTES])
{
	XXH128_canonical_t form;

	XXH128_canonicalFromHash(&form, XXH3_128bits_digest(hash->h_state));
	M0_BASSERT(sizeof form == HASH_BYTES);
	memcpy(ret, &form, HASH_BYTES);
}

void hash_bytes(const void *bytes, size_t nr, uint8_t ret[HASH_BYTES])
{
	XXH128_canonical_t form;

	XXH128_canonicalFromHash(&form, XXH3_128bits(bytes, nr));
	memcpy(ret, &form, HASH_BYTES);
}
