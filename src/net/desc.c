/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Buffer descriptors: their bytes (m0/desc.x), and where the bytes live.
 *
 * Bytes come from slots of one size, cut from chunks that are kept until the
 * layer is finalised, so that making and freeing descriptors allocates nothing
 * once as many slots exist as descriptors do. m0_net_desc_free() knows a slot
 * by its address; other memory, which an application may have filled in
 * itself, came from m0_alloc().
 */
#include "kit/kit.h"
#include "base/cursor.h"
#include "os/os.h"

enum {
	DESC_VERSION = 0x4d300001,
	/** Slots of the first chunk; each further one doubles them all. */
	CHUNK_SLOTS = 256,
	CHUNKS_MAX = 16
};

struct desc_slot {
	uint8_t ds_bytes[M0_NET_KIT_DESC_MAX];
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

/*
 * Who frees a descriptor in a callback often makes the next one there: a pass
 * keeps the slot meanwhile.
 */
static bool slot_keep(struct desc_slot *slot)
{
	if (kit_pass.kp_depth == 0 || kit_pass.kp_desc != NULL)
		return false;
	kit_pass.kp_desc = slot;
	return true;
}

static struct desc_slot *kept_take(void)
{
	struct desc_slot *slot = kit_pass.kp_desc;

	kit_pass.kp_desc = NULL;
	return slot;
}

void m0_net__desc_pass_end(void)
{
	slot_push(kept_take());
}

uint8_t *m0_net__desc_bytes_get(uint32_t nr)
{
	struct desc_slot *slot;

	M0_PRE(nr > 0);
	if (nr > M0_NET_KIT_DESC_MAX)
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

/* ------------------------------------------------------------ the bytes -- */

/* Version, queue, identity, size, incarnation. */
enum {
	HEAD_LEN = 32,
	CRC_LEN = 4
};

static void head_put(struct m0_cursor *cur, const struct m0_net_kit_desc *desc)
{
	/* Two numbers in one: the checksum reads them as one. */
	m0_cursor_put_be64(cur, (uint64_t)DESC_VERSION << 32 | desc->nks_qtype);
	m0_cursor_put_be64(cur, desc->nks_id);
	m0_cursor_put_be64(cur, desc->nks_size);
	m0_cursor_put_be64(cur, desc->nks_incarnation);
}

static void addr_put(struct m0_cursor *cur, const struct m0_net_kit_addr *addr)
{
	m0_cursor_put_opaque(cur, addr->nka_bytes, addr->nka_len);
}

/* The checksum, and whose the bytes are from here on. */
static void desc_end(struct m0_cursor *cur, struct m0_net_buf_desc *ret)
{
	uint8_t *bytes = cur->cu_start;

	m0_cursor_put_be32(cur, m0_os_crc32c(0, bytes, m0_cursor_pos(cur)));
	M0_POST(m0_cursor_is_ok(cur));
	ret->nbd_len = (uint32_t)m0_cursor_pos(cur);
	ret->nbd_data = bytes;
}

int m0_net_kit_desc_encode(const struct m0_net_kit_desc *desc,
			   struct m0_net_buf_desc       *ret)
{
	uint8_t         *bytes = m0_net__desc_bytes_get(M0_NET_KIT_DESC_MAX);
	struct m0_cursor cur;

	if (bytes == NULL)
		return -ENOMEM;
	m0_cursor_init(&cur, bytes, M0_NET_KIT_DESC_MAX);
	head_put(&cur, desc);
	addr_put(&cur, &desc->nks_passive);
	addr_put(&cur, &desc->nks_active);
	desc_end(&cur, ret);
	return 0;
}

void kit_desc_tail_make(struct kit_desc_tail         *ret,
			const struct m0_net_kit_addr *passive)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, ret->dt_bytes, sizeof ret->dt_bytes);
	addr_put(&cur, passive);
	m0_cursor_put_be32(&cur, 0);
	M0_POST(m0_cursor_is_ok(&cur));
	ret->dt_len = (uint32_t)m0_cursor_pos(&cur);
}

int kit_desc_encode_any(const struct m0_net_kit_desc *desc,
			const struct kit_desc_tail   *tail,
			struct m0_net_buf_desc       *ret)
{
	uint8_t         *bytes = m0_net__desc_bytes_get(M0_NET_KIT_DESC_MAX);
	struct m0_cursor cur;
	uint32_t         i;

	M0_BASSERT(HEAD_LEN + sizeof tail->dt_bytes + CRC_LEN <=
		   M0_NET_KIT_DESC_MAX);
	if (bytes == NULL)
		return -ENOMEM;
	m0_cursor_init(&cur, bytes, M0_NET_KIT_DESC_MAX);
	head_put(&cur, desc);
	/* What is copied beyond the end is room for the checksum, or free. */
	for (i = 0; i < tail->dt_len; i += KIT_DESC_TAIL_STEP)
		memcpy(bytes + HEAD_LEN + i, tail->dt_bytes + i,
		       KIT_DESC_TAIL_STEP);
	(void)m0_cursor_skip(&cur, tail->dt_len);
	desc_end(&cur, ret);
	return 0;
}

static void addr_get(struct m0_cursor *cur, struct m0_net_kit_addr *ret)
{
	const uint8_t *bytes =
		m0_cursor_get_opaque(cur, M0_NET_KIT_ADDR_MAX, &ret->nka_len);
	uint32_t i;

	/* With what fills the last word: a call would take longer. */
	for (i = 0; i < ret->nka_len; i += sizeof(uint32_t))
		memcpy(ret->nka_bytes + i, bytes + i, sizeof(uint32_t));
}

/* False: of another version. */
static bool head_get(const uint8_t *head, struct m0_net_kit_desc *ret)
{
	struct m0_cursor cur;
	uint32_t         version;

	m0_cursor_init_const(&cur, head, HEAD_LEN);
	version = m0_cursor_get_be32(&cur);
	ret->nks_qtype = m0_cursor_get_be32(&cur);
	ret->nks_id = m0_cursor_get_be64(&cur);
	ret->nks_size = m0_cursor_get_be64(&cur);
	ret->nks_incarnation = m0_cursor_get_be64(&cur);
	return version == DESC_VERSION;
}

int m0_net_kit_desc_decode(const struct m0_net_buf_desc *bytes,
			   struct m0_net_kit_desc       *ret)
{
	struct m0_cursor cur;
	const uint8_t   *head;
	uint32_t         crc;

	m0_cursor_init_const(&cur, bytes->nbd_data, bytes->nbd_len);
	head = m0_cursor_skip(&cur, HEAD_LEN);
	if (head == NULL || !head_get(head, ret))
		return -EINVAL;
	addr_get(&cur, &ret->nks_passive);
	addr_get(&cur, &ret->nks_active);
	if (!m0_cursor_is_ok(&cur))
		return -EINVAL;
	crc = m0_os_crc32c(0, bytes->nbd_data, m0_cursor_pos(&cur));
	if (m0_cursor_get_be32(&cur) != crc || !m0_cursor_is_ok(&cur) ||
	    m0_cursor_left(&cur) > 0)
		return -EINVAL;
	if (!m0_net__qt_is_passive(ret->nks_qtype) || ret->nks_size == 0 ||
	    ret->nks_passive.nka_len == 0)
		return -EINVAL;
	return 0;
}

m0_bcount_t m0_net_kit_get_max_buffer_desc_size(const struct m0_net_domain *dom)
{
	(void)dom;
	return M0_NET_KIT_DESC_MAX;
}
