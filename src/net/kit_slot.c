/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The table of all registered buffers of the kit's transports, by index.
 *
 * A peer's descriptor names a buffer by index and generation. To look it up
 * without a lock, its struct kit_buf must stay readable whatever its owner
 * does: so it is never freed, only used again for another buffer, until the
 * last domain goes and nobody is left to look.
 */
#include "net/kit_internal.h"

enum {
	CHUNK_SLOTS = 1024,
	CHUNKS_MAX = (1 << KB_INDEX_BITS) / CHUNK_SLOTS
};

static struct m0_mutex  slots_lock = M0_MUTEX_SINIT;
static struct kit_buf **slots[CHUNKS_MAX];
static uint32_t         slots_nr;
static uint32_t         slots_users_nr;
/* Not in use; different transports' have different sizes. */
static struct kit_buf *slots_free;

static struct kit_buf *free_take(size_t bytes)
{
	struct kit_buf **at;
	struct kit_buf  *kb;

	for (at = &slots_free; (kb = *at) != NULL; at = &kb->kb_free_next) {
		if (kb->kb_bytes == bytes) {
			*at = kb->kb_free_next;
			memset(kb->kb_pvt, 0, bytes);
			return kb;
		}
	}
	return NULL;
}

static struct kit_buf *slot_make(size_t bytes)
{
	struct kit_buf **chunk;
	struct kit_buf  *kb;

	if (slots_nr == (uint32_t)CHUNKS_MAX * CHUNK_SLOTS)
		return NULL;
	chunk = slots[slots_nr / CHUNK_SLOTS];
	if (chunk == NULL) {
		M0_ALLOC_ARR(chunk, CHUNK_SLOTS);
		if (chunk == NULL)
			return NULL;
		__atomic_store_n(&slots[slots_nr / CHUNK_SLOTS], chunk,
				 __ATOMIC_RELEASE);
	}
	kb = m0_alloc_aligned(sizeof *kb + bytes, 6);
	if (kb == NULL)
		return NULL;
	kb->kb_bytes = bytes;
	kb->kb_pub.nkb_index = slots_nr;
	__atomic_store_n(&chunk[slots_nr % CHUNK_SLOTS], kb, __ATOMIC_RELEASE);
	++slots_nr;
	return kb;
}

struct kit_buf *kit_slot_get(size_t pvt_bytes)
{
	struct kit_buf *kb;

	m0_mutex_lock(&slots_lock);
	kb = free_take(pvt_bytes) ?: slot_make(pvt_bytes);
	m0_mutex_unlock(&slots_lock);
	return kb;
}

void kit_slot_put(struct kit_buf *kb)
{
	m0_mutex_lock(&slots_lock);
	kb->kb_free_next = slots_free;
	slots_free = kb;
	m0_mutex_unlock(&slots_lock);
}

struct kit_buf *kit_slot_find(uint32_t index)
{
	struct kit_buf **chunk;

	if (index >= (uint32_t)CHUNKS_MAX * CHUNK_SLOTS)
		return NULL;
	chunk = __atomic_load_n(&slots[index / CHUNK_SLOTS], __ATOMIC_ACQUIRE);
	return chunk == NULL ? NULL
			     : __atomic_load_n(&chunk[index % CHUNK_SLOTS],
					       __ATOMIC_ACQUIRE);
}

int kit_slots_get(void)
{
	m0_mutex_lock(&slots_lock);
	++slots_users_nr;
	m0_mutex_unlock(&slots_lock);
	return 0;
}

void kit_slots_put(void)
{
	uint32_t i;

	m0_mutex_lock(&slots_lock);
	M0_PRE(slots_users_nr > 0);
	if (--slots_users_nr == 0) {
		for (i = 0; i < slots_nr; ++i) {
			struct kit_buf *kb = kit_slot_find(i);

			m0_free_aligned(kb, sizeof *kb + kb->kb_bytes, 6);
		}
		for (i = 0; i < slots_nr; i += CHUNK_SLOTS)
			m0_free0(&slots[i / CHUNK_SLOTS]);
		slots_nr = 0;
		slots_free = NULL;
	}
	m0_mutex_unlock(&slots_lock);
}
