/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The memory of slots is never freed, so a thread with a void handle may look
 * at its slot; the generation differs. A slot whose generations are used up stays
 * out of use: a handle is never used twice.
 */
#include "front/front_internal.h"

const struct m0_lnet_handle m0_lnet_handle_none;

static struct m0_front_slot *slot_at(const struct m0_front_slots *slots,
				     uint32_t                     index)
{
	char *chunk = slots->fss_chunks[index / M0_FRONT_CHUNK_NR];

	return (struct m0_front_slot *)(void *)(chunk +
						index % M0_FRONT_CHUNK_NR *
							slots->fss_slot_bytes);
}

int m0_front__slots_init(struct m0_front_slots *slots, size_t slot_bytes,
			 size_t spoilt_bytes, uint32_t max)
{
	uint32_t chunks_nr = (max + M0_FRONT_CHUNK_NR - 1) / M0_FRONT_CHUNK_NR;

	M0_PRE(max > 0 && slot_bytes >= sizeof(struct m0_front_slot));
	M0_SET0(slots);
	M0_ALLOC_ARR(slots->fss_chunks, chunks_nr);
	if (slots->fss_chunks == NULL)
		return -ENOMEM;
	slots->fss_slot_bytes = slot_bytes;
	slots->fss_spoilt_bytes = spoilt_bytes;
	slots->fss_max = max;
	M0_POST(slots->fss_nr == 0 && slots->fss_free == NULL);
	return 0;
}

static size_t chunk_bytes(const struct m0_front_slots *slots)
{
	return slots->fss_slot_bytes * M0_FRONT_CHUNK_NR;
}

void m0_front__slots_fini(struct m0_front_slots *slots)
{
	uint32_t i;

	for (i = 0; i < slots->fss_nr; i += M0_FRONT_CHUNK_NR)
		m0_free_aligned(slots->fss_chunks[i / M0_FRONT_CHUNK_NR],
				chunk_bytes(slots), 6);
	m0_free0(&slots->fss_chunks);
	slots->fss_nr = 0;
}

void *m0_front__slots_chunk(const struct m0_front_slots *slots)
{
	/* Zeroed: no slot has an entry that waits. */
	return m0_alloc_aligned(chunk_bytes(slots), 6);
}

static void free_add(struct m0_front_slots *slots, struct m0_front_slot *slot)
{
	slot->fsl_next = slots->fss_free;
	slots->fss_free = slot;
}

/* Debug: code that relies on members that were not set is to fail. */
static void spoil(const struct m0_front_slots *slots,
		  struct m0_front_slot        *slot)
{
#ifdef M0_DEBUG_CHECKS
	memset(slot + 1, 0xa5, slots->fss_spoilt_bytes - sizeof(*slot));
#else
	(void)slots;
	(void)slot;
#endif
}

void m0_front__slots_chunk_free(const struct m0_front_slots *slots, void *chunk)
{
	m0_free_aligned(chunk, chunk_bytes(slots), 6);
}

void m0_front__slots_grow(struct m0_front_slots *slots, void *chunk)
{
	uint32_t nr = (uint32_t)min64u(slots->fss_max - slots->fss_nr,
				       M0_FRONT_CHUNK_NR);
	uint32_t i;

	M0_PRE(nr > 0 && chunk != NULL);
	M0_ASSERT(slots->fss_nr % M0_FRONT_CHUNK_NR == 0);
	slots->fss_chunks[slots->fss_nr / M0_FRONT_CHUNK_NR] = chunk;
	slots->fss_nr += nr;
	/* The first one on top. */
	for (i = 1; i <= nr; ++i) {
		struct m0_front_slot *slot = slot_at(slots, slots->fss_nr - i);

		slot->fsl_index = slots->fss_nr - i;
		spoil(slots, slot);
		free_add(slots, slot);
	}
}

struct m0_front_slot *m0_front__slot_get(struct m0_front_slots *slots)
{
	struct m0_front_slot *slot = slots->fss_free;

	if (slot == NULL)
		return NULL;
	if (M0_UNLIKELY(slots->fss_budget != NULL)) {
		if (*slots->fss_budget < slots->fss_events_nr)
			return NULL;
		*slots->fss_budget -= slots->fss_events_nr;
	}
	M0_ASSERT_EX(!slot->fsl_used && slot->fsl_gen < UINT32_MAX);
	M0_ASSERT_EX(slots->fss_used_nr < slots->fss_max);
	slots->fss_free = slot->fsl_next;
	++slots->fss_used_nr;
	++slot->fsl_gen;
	slot->fsl_used = true;
	return slot;
}

void m0_front__slot_put(struct m0_front_slots *slots,
			struct m0_front_slot  *slot)
{
	M0_PRE(slot->fsl_used);
	slot->fsl_used = false;
	M0_PRE_EX(slot->fsl_index < slots->fss_nr);
	M0_ASSERT_EX(slots->fss_used_nr > 0);
	if (M0_UNLIKELY(slots->fss_budget != NULL))
		*slots->fss_budget += slots->fss_events_nr;
	if (slot->fsl_gen == UINT32_MAX)
		return;
	--slots->fss_used_nr;
	spoil(slots, slot);
	free_add(slots, slot);
}

struct m0_front_slot *m0_front__slot_find(const struct m0_front_slots *slots,
					  struct m0_lnet_handle        handle)
{
	struct m0_front_slot *slot;

	M0_PRE_EX(slots->fss_nr <= slots->fss_max);
	if (handle.lh_slot >= slots->fss_nr)
		return NULL;
	slot = slot_at(slots, handle.lh_slot);
	return slot->fsl_used && slot->fsl_gen == handle.lh_gen ? slot : NULL;
}
