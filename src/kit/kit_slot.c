/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The table of all registered buffers of the kit's transports, by index.
 *
 * A peer's descriptor names a buffer by index and generation. To look it up
 * without a lock, its struct kit_buf must stay readable whatever its owner
 * does: so it is never freed, only used again for another buffer, until the
 * last domain goes and nobody is left to look.
 */
#include "kit/kit.h"

enum {
	CHUNK_SLOTS = 1024,
	CHUNKS_MAX = (1 << KB_INDEX_BITS) / CHUNK_SLOTS,
	/** Slots made at a time while there are few; then, a region of them. */
	BLOCK_FEW = 64,
	BLOCK_BYTES = 2 << 20
};

/** Memory of several slots, made together. */
struct block {
	struct block *bl_next;
	void         *bl_memory;
	size_t        bl_bytes;
	bool          bl_is_region;
};

static struct m0_mutex  slots_lock = M0_MUTEX_SINIT(&slots_lock);
static struct kit_buf **slots[CHUNKS_MAX];
static uint32_t         slots_nr;
static uint32_t         slots_users_nr;
static struct block    *slots_blocks;
/* Not in use; different transports' have different sizes. */
static struct kit_buf *slots_free;

static struct kit_buf *free_take(size_t bytes)
{
	struct kit_buf **at;
	struct kit_buf  *kb;

	M0_PRE_EX(m0_mutex_is_locked(&slots_lock));
	for (at = &slots_free; (kb = *at) != NULL; at = &kb->kb_free_next) {
		if (kb->kb_bytes == bytes) {
			*at = kb->kb_free_next;
			memset(kb->kb_pvt, 0, bytes);
			return kb;
		}
	}
	return NULL;
}

/*
 * Many buffers are seldom all in the cache: then their slots lie on large
 * pages, whose addresses stay known to the processor.
 */
static struct block *block_make(size_t slot_bytes)
{
	bool          few = slots_nr < CHUNK_SLOTS;
	struct block *block;

	M0_ALLOC_PTR(block);
	if (block == NULL)
		return NULL;
	block->bl_is_region = !few;
	block->bl_bytes = few ? BLOCK_FEW * slot_bytes : BLOCK_BYTES;
	block->bl_memory = few ? m0_alloc_aligned(block->bl_bytes, 6)
			       : m0_os_region_alloc(block->bl_bytes);
	if (block->bl_memory == NULL)
		m0_free0(&block);
	return block;
}

static void block_free(struct block *block)
{
	if (block->bl_is_region)
		m0_os_region_free(block->bl_memory, block->bl_bytes);
	else
		m0_free_aligned(block->bl_memory, block->bl_bytes, 6);
	m0_free(block);
}

/* Gives a slot an index and puts it on the free list. */
static bool slot_enter(struct kit_buf *kb, size_t pvt_bytes)
{
	struct kit_buf **chunk;

	M0_PRE_EX(m0_mutex_is_locked(&slots_lock));
	if (slots_nr == (uint32_t)CHUNKS_MAX * CHUNK_SLOTS)
		return false;
	chunk = slots[slots_nr / CHUNK_SLOTS];
	if (chunk == NULL) {
		M0_ALLOC_ARR(chunk, CHUNK_SLOTS);
		if (chunk == NULL)
			return false;
		__atomic_store_n(&slots[slots_nr / CHUNK_SLOTS], chunk,
				 __ATOMIC_RELEASE);
	}
	kb->kb_bytes = pvt_bytes;
	kb->kb_pub.nkb_index = slots_nr;
	__atomic_store_n(&chunk[slots_nr % CHUNK_SLOTS], kb, __ATOMIC_RELEASE);
	++slots_nr;
	kb->kb_free_next = slots_free;
	slots_free = kb;
	return true;
}

static struct kit_buf *slots_make(size_t pvt_bytes)
{
	size_t        size = kit_slot_size(pvt_bytes);
	struct block *block = block_make(size);
	size_t        nr;
	char         *at;

	M0_PRE_EX(m0_mutex_is_locked(&slots_lock));
	if (block == NULL)
		return NULL;
	block->bl_next = slots_blocks;
	slots_blocks = block;
	/* From the last on, so that they are taken from the first on. */
	for (nr = block->bl_bytes / size; nr > 0; --nr) {
		at = (char *)block->bl_memory + (nr - 1) * size;
		if (!slot_enter((struct kit_buf *)(void *)at, pvt_bytes))
			break;
	}
	return free_take(pvt_bytes);
}

struct kit_buf *kit_slot_get(size_t pvt_bytes)
{
	struct kit_buf *kb;

	m0_mutex_lock(&slots_lock);
	kb = free_take(pvt_bytes) ?: slots_make(pvt_bytes);
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
	struct block *block;
	uint32_t      i;

	m0_mutex_lock(&slots_lock);
	M0_PRE(slots_users_nr > 0);
	if (--slots_users_nr == 0) {
		while ((block = slots_blocks) != NULL) {
			slots_blocks = block->bl_next;
			block_free(block);
		}
		for (i = 0; i < slots_nr; i += CHUNK_SLOTS)
			m0_free0(&slots[i / CHUNK_SLOTS]);
		slots_nr = 0;
		slots_free = NULL;
	}
	m0_mutex_unlock(&slots_lock);
}
