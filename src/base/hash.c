/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The one file that sees uthash.
 */
#include "base/hash.h"

static uint32_t key_hash(const void *key, unsigned nr);
static int      key_cmp(const void *left, const void *right, unsigned nr);

static void *table_alloc(size_t size)
{
	return m0_alloc(size);
}

#define uthash_malloc(size)               table_alloc(size)
#define uthash_free(ptr, size)            m0_free(ptr)
#define HASH_NONFATAL_OOM                 1
#define uthash_nonfatal_oom(el)           ((void)(el))
#define HASH_FUNCTION(keyptr, nr, result) (result) = key_hash(keyptr, nr)
#define HASH_KEYCMP(left, right, nr)      key_cmp(left, right, nr)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <uthash.h>
/* A step down a chain is a miss of the cache; a bucket is 16 bytes. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 4U

/* The entry in the opaque words of the public link. */
struct entry {
	UT_hash_handle hh;
};

static inline struct entry *link_entry(const struct m0_hash_link *link)
{
	M0_BASSERT(sizeof(struct entry) <= sizeof *link);
	return (struct entry *)(uintptr_t)link;
}

static inline uint64_t word(const uint8_t *at, unsigned nr)
{
	uint64_t value = 0;

	__builtin_memcpy(&value, at, nr);
	return value;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* All bits of the key reach all bits of the result, which uthash masks. */
static uint32_t key_hash(const void *key, unsigned nr)
{
	const uint8_t *at = key;
	uint64_t       sum = UINT64_C(0x9e3779b97f4a7c15) + nr;

	for (; nr > 8; nr -= 8, at += 8)
		sum = mix(sum ^ word(at, 8), UINT64_C(0xd6e8feb86659fd93));
	/* Constants become one instruction; a NID leaves 4. */
	if (M0_LIKELY(nr == 8))
		sum ^= word(at, 8);
	else if (nr == 4)
		sum ^= word(at, 4);
	else
		sum ^= word(at, nr);
	sum = mix(sum, UINT64_C(0xa0761d6478bd642f));
	return (uint32_t)(sum ^ sum >> 32);
}

static int key_cmp(const void *left, const void *right, unsigned nr)
{
	if (M0_LIKELY(nr == 8))
		return word(left, 8) != word(right, 8);
	return memcmp(left, right, nr);
}

void m0_hash_init(struct m0_hash *hash)
{
	hash->ha_head = NULL;
	hash->ha_nr = 0;
	hash->ha_kept = false;
}

void m0_hash_fini(struct m0_hash *hash)
{
	M0_PRE(hash->ha_nr == 0);
	if (hash->ha_kept) {
		hash->ha_nr = 1;
		m0_hash_del(hash, &hash->ha_keeper);
		hash->ha_kept = false;
	}
	M0_POST(hash->ha_head == NULL);
}

int m0_hash_keep(struct m0_hash *hash)
{
	int rc;

	if (hash->ha_kept)
		return 0;
	/* Its empty key differs from every other key. */
	rc = m0_hash_add(hash, &hash->ha_keeper, "", 0);
	if (rc == 0) {
		hash->ha_kept = true;
		--hash->ha_nr;
	}
	return rc;
}

int m0_hash_add(struct m0_hash *hash, struct m0_hash_link *link,
		const void *key, unsigned key_bytes)
{
	struct entry *head = hash->ha_head;
	struct entry *entry = link_entry(link);

	HASH_ADD_KEYPTR(hh, head, key, key_bytes, entry);
	hash->ha_head = head;
	/* Out of memory: the entry was not added. */
	if (entry->hh.tbl == NULL)
		return -ENOMEM;
	++hash->ha_nr;
	return 0;
}

void m0_hash_del(struct m0_hash *hash, struct m0_hash_link *link)
{
	struct entry *head = hash->ha_head;
	struct entry *entry = link_entry(link);

	M0_PRE(head != NULL && entry->hh.tbl == head->hh.tbl);
	HASH_DELETE(hh, head, entry);
	hash->ha_head = head;
	--hash->ha_nr;
}

void m0_hash_replace(struct m0_hash *hash, struct m0_hash_link *old,
		     struct m0_hash_link *link, const void *key)
{
	UT_hash_handle *from = &link_entry(old)->hh;
	struct entry   *entry = link_entry(link);
	UT_hash_handle *to = &entry->hh;
	UT_hash_table  *table = from->tbl;
	unsigned        bucket;

	*to = *from;
	to->key = key;
	if (to->prev != NULL)
		((struct entry *)to->prev)->hh.next = entry;
	else
		hash->ha_head = entry;
	if (to->next != NULL)
		((struct entry *)to->next)->hh.prev = entry;
	else
		table->tail = to;
	HASH_TO_BKT(to->hashv, table->num_buckets, bucket);
	if (to->hh_prev != NULL)
		to->hh_prev->hh_next = to;
	else
		table->buckets[bucket].hh_head = to;
	if (to->hh_next != NULL)
		to->hh_next->hh_prev = to;
}

struct m0_hash_link *m0_hash_find(const struct m0_hash *hash, const void *key,
				  unsigned key_bytes)
{
	struct entry *head = hash->ha_head;
	struct entry *found;

	HASH_FIND(hh, head, key, key_bytes, found);
	return (struct m0_hash_link *)(void *)found;
}

struct m0_hash_link *m0_hash_find64(const struct m0_hash *hash, uint64_t key)
{
	struct entry *head = hash->ha_head;
	struct entry *found;

	HASH_FIND(hh, head, &key, sizeof key, found);
	return (struct m0_hash_link *)(void *)found;
}
#pragma GCC diagnostic pop

/* Hide the keeper from the caller. */
static struct m0_hash_link *seen(struct entry *entry)
{
	if (entry != NULL && entry->hh.keylen == 0)
		entry = entry->hh.next;
	return (struct m0_hash_link *)(void *)entry;
}

struct m0_hash_link *m0_hash_first(const struct m0_hash *hash)
{
	return seen(hash->ha_head);
}

struct m0_hash_link *m0_hash_next(const struct m0_hash_link *link)
{
	return seen(link_entry(link)->hh.next);
}
