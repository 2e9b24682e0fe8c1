/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Checksums of files. hash.c is the one file that sees xxHash. */
#ifndef M0_TOOLS_HASH_H
#define M0_TOOLS_HASH_H

#include <stddef.h>
#include <stdint.h>

enum {
	HASH_BYTES = 16
};
#define HASH_NAME "xxh3-128"

/** XXH3 of 128 bits over a stream of bytes. */
struct hash;

/** NULL if there is no memory. */
struct hash *hash_alloc(void);
void         hash_free(struct hash *hash);
void         hash_update(struct hash *hash, const void *bytes, size_t nr);
/** The checksum of all so far, in the canonical (big-endian) form. */
void hash_value(const struct hash *hash, uint8_t ret[HASH_BYTES]);

/** The checksum of bytes that lie together. */
void hash_bytes(const void *bytes, size_t nr, uint8_t ret[HASH_BYTES]);

#endif /* M0_TOOLS_HASH_H */
