/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Memory of buffer descriptors.
 *
 * Bytes come from slots of one size, cut from chunks that are kept until the
 * layer is finalised, so that making and freeing descriptors allocates nothing
 * once as many slots exist as descriptors do. m0_net_desc_free() knows a slot
 * by its address; other memory, which an application may have filled in
 * itself, came from m0_alloc().
 */
#include "net/net_desc.h"
#include "os/os.h"

enum {
	/** Slots of the first chunk; each further one doubles them all. */
	CHUNK_SLOTS = 256,
	CHUNKS_MAX = 16
};

struct desc_slot {
	uint8_t ds_bytes[M0_NET__DESC_SLOT_BYTES];
	/** Next free slot, as in slab_head; atomic. */
	uint32_t ds_next;
	uint32_t ds_index;
};

/* Makes chunks; the rest is lock free. */
static struct m0_mutex   slab_lock = M0_MUTEX_SINIT(&slab_lock);
static struct desc_slot *slab_chunks[CHUNKS_MAX];
static uint32_t          slab_chunks_nr;
/*
 * Free slots: index + 1 of the first, below a tag that changes with every
 * change, so that an exchange fails whatever happened to the list meanwhile.
 */
static uint64_t slab_head;

static size_t chunk_slots_nr(uint32_t chunk)
{
	/* 256, 256, 512, 1024 ...: all before it together, again. */
	return chunk == 0 ? CHUNK_SLOTS : (size_t)CHUNK_SLOTS << (chunk - 1);
}

static struct desc_slot *slot_at(uint32_t index)
{
	uint32_t chunk = 0;
	uint32_t first = 0;

	if (index >= CHUNK_SLOTS) {
		chunk = 32 - (uint32_t)__builtin_clz(index / CHUNK_SLOTS);
		first = (uint32_t)CHUNK_SLOTS << (chunk - 1);
	}
	return &slab_chunks[chunk][index - first];
}

static void slot_push(struct desc_slot *slot)
{
	uint64_t old = __atomic_load_n(&slab_head, __ATOMIC_RELAXED);
	uint64_t new;

	do {
		__atomic_store_n(&slot->ds_next, (uint32_t)old,
				 __ATOMIC_RELAXED);
		new = ((old >> 32) + 1) << 32 | (slot->ds_index + 1);
	} while (!__atomic_compare_exchange_n(&slab_head, &old, new, true,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static struct desc_slot *slot_pop(void)
{
	uint64_t          old = __atomic_load_n(&slab_head, __ATOMIC_ACQUIRE);
	struct desc_slot *slot;
	uint64_t new;

	do {
		if ((uint32_t)old == 0)
			return NULL;
		slot = slot_at((uint32_t)old - 1);
		new = ((old >> 32) + 1) << 32 |
		      __atomic_load_n(&slot->ds_next, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&slab_head, &old, new, true,
					      __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return slot;
}

/* Another thread may have made one meanwhile. */
static struct desc_slot *slot_pop_or_make(void)
{
	struct desc_slot *slots;
	struct desc_slot *slot;
	size_t            nr;
	size_t            i;

	m0_mutex_lock(&slab_lock);
	slot = slot_pop();
	if (slot == NULL && slab_chunks_nr < CHUNKS_MAX) {
		nr = chunk_slots_nr(slab_chunks_nr);
		M0_ALLOC_ARR(slots, nr);
		if (slots != NULL) {
			slab_chunks[slab_chunks_nr] = slots;
			/* Readers look at the table without the lock. */
			__atomic_store_n(&slab_chunks_nr, slab_chunks_nr + 1,
					 __ATOMIC_RELEASE);
			for (i = nr; i-- > 0;) {
				slots[i].ds_index =
					(uint32_t)(i + (slab_chunks_nr == 1
								? 0
								: nr));
				if (i > 0)
					slot_push(&slots[i]);
			}
			slot = &slots[0];
		}
	}
	m0_mutex_unlock(&slab_lock);
	return slot;
}

M0_TLS(struct m0_net__desc_pass, m0_net__desc_pass);

/*
 * Keeps a slot for the next descriptor of this pass, because a callback that
 * frees one often makes another. Returns false if the thread is in no pass, or
 * keeps a slot already.
 */
static bool slot_keep(struct desc_slot *slot)
{
	if (!m0_net__desc_pass()->dp_open ||
	    m0_net__desc_pass()->dp_kept != NULL)
		return false;
	m0_net__desc_pass()->dp_kept = slot;
	return true;
}

static struct desc_slot *kept_take(void)
{
	struct desc_slot *slot = m0_net__desc_pass()->dp_kept;

	m0_net__desc_pass()->dp_kept = NULL;
	return slot;
}

void m0_net__desc_kept_return(void)
{
	M0_PRE(m0_net__desc_pass()->dp_kept != NULL);
	slot_push(kept_take());
}

uint8_t *m0_net__desc_bytes_get(uint32_t nr)
{
	struct desc_slot *slot;

	M0_PRE(nr > 0);
	if (nr > M0_NET__DESC_SLOT_BYTES)
		return m0_alloc(nr);
	slot = kept_take() ?: slot_pop() ?: slot_pop_or_make();
	return slot == NULL ? NULL : slot->ds_bytes;
}

static bool is_slot(const uint8_t *data)
{
	uint32_t nr = __atomic_load_n(&slab_chunks_nr, __ATOMIC_ACQUIRE);
	uint32_t i;

	for (i = 0; i < nr; ++i) {
		uintptr_t first = (uintptr_t)slab_chunks[i];

		if ((uintptr_t)data - first <
		    chunk_slots_nr(i) * sizeof(struct desc_slot))
			return true;
	}
	return false;
}

static void slot_put(struct desc_slot *slot)
{
	if (!slot_keep(slot))
		slot_push(slot);
}

void m0_net_desc_free(struct m0_net_buf_desc *desc)
{
	if (desc->nbd_data == NULL)
		;
	else if (is_slot(desc->nbd_data))
		slot_put(container_of(desc->nbd_data, struct desc_slot,
				      ds_bytes[0]));
	else
		m0_free(desc->nbd_data);
	desc->nbd_data = NULL;
	desc->nbd_len = 0;
}

void m0_net__desc_slab_fini(void)
{
	m0_mutex_lock(&slab_lock);
	while (slab_chunks_nr > 0)
		m0_free(slab_chunks[--slab_chunks_nr]);
	slab_head = 0;
	m0_mutex_unlock(&slab_lock);
}

int m0_net_desc_copy(const struct m0_net_buf_desc *from,
		     struct m0_net_buf_desc       *to)
{
	uint8_t *bytes;

	M0_PRE(from->nbd_len > 0 && from->nbd_data != NULL);
	bytes = m0_net__desc_bytes_get(from->nbd_len);
	if (bytes == NULL)
		return -ENOMEM;
	memcpy(bytes, from->nbd_data, from->nbd_len);
	to->nbd_len = from->nbd_len;
	to->nbd_data = bytes;
	return 0;
}
