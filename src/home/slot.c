/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots are never given back, so whoever holds a handle that is void may look
 * at its slot; the generation tells. A slot whose generations are used up stays
 * out of use: a handle is never used twice.
 */
#include "home/home_internal.h"

inline struct m0_home_slot *m0_home__slot_at(const struct m0_home_slots *slots,
					     uint32_t                    index)
{
	char *chunk = slots->hss_chunks[index / M0_HOME_CHUNK_NR];

	return (struct m0_home_slot *)(void *)(chunk +
					       index % M0_HOME_CHUNK_NR *
						       slots->hss_slot_bytes);
}

int m0_home__slots_init(struct m0_home_slots *slots, size_t slot_bytes,
			uint32_t max)
{
	uint32_t chunks_nr = (max + M0_HOME_CHUNK_NR - 1) / M0_HOME_CHUNK_NR;

	M0_PRE(max > 0 && slot_bytes >= sizeof(struct m0_home_slot));
	M0_SET0(slots);
	M0_ALLOC_ARR(slots->hss_chunks, chunks_nr);
	if (slots->hss_chunks == NULL)
		return -ENOMEM;
	slots->hss_slot_bytes = m0_align(slot_bytes, 64);
	slots->hss_max = max;
	return 0;
}

static size_t chunk_bytes(const struct m0_home_slots *slots)
{
	return slots->hss_slot_bytes * M0_HOME_CHUNK_NR;
}

void m0_home__slots_fini(struct m0_home_slots *slots)
{
	uint32_t i;

	for (i = 0; i < slots->hss_nr; i += M0_HOME_CHUNK_NR)
		m0_free_aligned(slots->hss_chunks[i / M0_HOME_CHUNK_NR],
				chunk_bytes(slots), 6);
	m0_free0(&slots->hss_chunks);
	slots->hss_nr = 0;
}

void *m0_home__slots_chunk(const struct m0_home_slots *slots)
{
	return m0_alloc_aligned(chunk_bytes(slots), 6);
}

static void free_add(struct m0_home_slots *slots, struct m0_home_slot *slot)
{
	slot->hsl_next = slots->hss_free;
	slots->hss_free = slot;
}

void m0_home__slot_spoil(const struct m0_home_slots *slots,
			 struct m0_home_slot        *slot)
{
#ifdef M0_DEBUG_CHECKS
	memset(slot + 1, 0xa5, slots->hss_slot_bytes - sizeof(*slot));
#else
	(void)slots;
	(void)slot;
#endif
}

bool m0_home__slots_grow(struct m0_home_slots *slots, void *chunk)
{
	uint32_t nr = (uint32_t)min64u(slots->hss_max - slots->hss_nr,
				       M0_HOME_CHUNK_NR);
	uint32_t i;

	if (nr == 0) {
		m0_free_aligned(chunk, chunk_bytes(slots), 6);
		return false;
	}
	M0_ASSERT(slots->hss_nr % M0_HOME_CHUNK_NR == 0);
	slots->hss_chunks[slots->hss_nr / M0_HOME_CHUNK_NR] = chunk;
	slots->hss_nr += nr;
	/* The first one on top. */
	for (i = 1; i <= nr; ++i) {
		struct m0_home_slot *slot =
			m0_home__slot_at(slots, slots->hss_nr - i);

		slot->hsl_index = slots->hss_nr - i;
		m0_home__slot_spoil(slots, slot);
		free_add(slots, slot);
	}
	return true;
}

struct m0_home_slot *m0_home__slot_get(struct m0_home_slots *slots)
{
	struct m0_home_slot *slot = slots->hss_free;

	if (slot == NULL)
		return NULL;
	M0_ASSERT_EX(!slot->hsl_used && slot->hsl_gen < UINT32_MAX);
	M0_ASSERT_EX(slots->hss_used_nr < slots->hss_max);
	slots->hss_free = slot->hsl_next;
	++slots->hss_used_nr;
	++slot->hsl_gen;
	slot->hsl_used = true;
	return slot;
}

void m0_home__slot_put(struct m0_home_slots *slots, struct m0_home_slot *slot)
{
	M0_PRE(slot->hsl_used);
	slot->hsl_used = false;
	M0_PRE_EX(slot->hsl_index < slots->hss_nr);
	M0_ASSERT_EX(slots->hss_used_nr > 0);
	if (slot->hsl_gen == UINT32_MAX)
		return;
	--slots->hss_used_nr;
	m0_home__slot_spoil(slots, slot);
	free_add(slots, slot);
}

struct m0_home_slot *m0_home__slot_find(const struct m0_home_slots *slots,
					struct m0_lnet_handle       handle)
{
	struct m0_home_slot *slot;

	if (handle.lh_slot >= slots->hss_nr)
		return NULL;
	slot = m0_home__slot_at(slots, handle.lh_slot);
	return slot->hsl_used && slot->hsl_gen == handle.lh_gen ? slot : NULL;
}

int m0_home__grow(struct m0_lnet *lnet, struct m0_home_slots *slots)
{
	void *chunk;

	m0_mutex_unlock(&lnet->hm_lock);
	chunk = m0_home__slots_chunk(slots);
	m0_mutex_lock(&lnet->hm_lock);
	if (chunk == NULL)
		return -ENOMEM;
	(void)m0_home__slots_grow(slots, chunk);
	return 0;
}
