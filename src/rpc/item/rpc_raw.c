/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Items whose body is bytes as they are. Those that come are used again: a
 * machine keeps some of what was put on its thread, where the next are decoded.
 */
#include "rpc/rpc_internal.h"

enum {
	RAWS_MAX = 256
};

struct m0_rpc_raw *m0_rpc_raw_of(struct m0_rpc_item *item)
{
	return container_of(item, struct m0_rpc_raw, rr_item);
}

static const struct m0_rpc_raw *raw_of(const struct m0_rpc_item *item)
{
	return container_of(item, struct m0_rpc_raw, rr_item);
}

static m0_bcount_t raw_size(const struct m0_rpc_item *item)
{
	return raw_of(item)->rr_nr;
}

static int raw_encode(const struct m0_rpc_item *item, void *bytes,
		      m0_bcount_t nr)
{
	memcpy(bytes, raw_of(item)->rr_data, nr);
	return 0;
}

static uint32_t raw_gather(const struct m0_rpc_item *item, void *ret_base[],
			   m0_bcount_t ret_nr[], uint32_t max)
{
	if (max == 0 || raw_of(item)->rr_nr < M0_RPC__GATHER_MIN)
		return 0;
	ret_base[0] = (void *)(uintptr_t)raw_of(item)->rr_data;
	ret_nr[0] = raw_of(item)->rr_nr;
	return 1;
}

static void raw_free(struct m0_rpc_raw *raw)
{
	m0_free(raw);
}

static void raw_release(struct m0_ref *ref)
{
	struct m0_rpc_raw *raw = container_of(ref, struct m0_rpc_raw, rr_ref);

	m0_rpc_item_fini(&raw->rr_item);
	if (raw->rr_free != NULL)
		raw->rr_free(raw);
}

void m0_rpc_raw_init(struct m0_rpc_raw             *raw,
		     const struct m0_rpc_item_type *type, const void *data,
		     m0_bcount_t nr, void (*free)(struct m0_rpc_raw *raw))
{
	M0_PRE_EX(raw != NULL && type != NULL);
	m0_rpc_item_init(&raw->rr_item, type);
	raw->rr_data = data;
	raw->rr_nr = nr;
	raw->rr_free = free;
	m0_ref_init(&raw->rr_ref, 1, raw_release);
}

/* One that is kept; NULL: there is none. */
static inline struct m0_rpc_raw *raw_take(void)
{
	struct m0_rpc__machine *m = *m0_rpc__here();
	struct m0_rpc_raw      *raw = m == NULL ? NULL : m->rml_kept.rkp_raws;

	if (raw == NULL)
		return NULL;
	m->rml_kept.rkp_raws = (struct m0_rpc_raw *)(uintptr_t)raw->rr_data;
	--m->rml_kept.rkp_raws_nr;
	return raw;
}

static void raw_keep(struct m0_rpc_raw *raw)
{
	struct m0_rpc__machine *m = *m0_rpc__here();

	M0_PRE_EX(m0_ref_read(&raw->rr_ref) == 0);
	if (m == NULL || m->rml_kept.rkp_raws_nr == RAWS_MAX) {
		m0_free(raw);
		return;
	}
	raw->rr_data = m->rml_kept.rkp_raws;
	m->rml_kept.rkp_raws = raw;
	++m->rml_kept.rkp_raws_nr;
}

void m0_rpc__raws_free(struct m0_rpc__machine *m)
{
	struct m0_rpc_raw *raw;

	while ((raw = m->rml_kept.rkp_raws) != NULL) {
		m->rml_kept.rkp_raws =
			(struct m0_rpc_raw *)(uintptr_t)raw->rr_data;
		m0_free(raw);
	}
}

/* A function of its own: taking a kept item needs no stack frame. */
static __attribute__((__noinline__)) int raw_decode_new(
	const struct m0_rpc_item_type *type, struct m0_rpc_item **ret_item,
	const void *bytes, m0_bcount_t nr)
{
	struct m0_rpc_raw *raw = m0_alloc(sizeof *raw);

	if (raw == NULL)
		return -ENOMEM;
	m0_rpc_raw_init(raw, type, bytes, nr, raw_keep);
	*ret_item = &raw->rr_item;
	return 0;
}

static int raw_decode(const struct m0_rpc_item_type *type,
		      struct m0_rpc_item **ret_item, const void *bytes,
		      m0_bcount_t nr)
{
	struct m0_rpc_raw *raw = raw_take();

	if (M0_UNLIKELY(raw == NULL))
		return raw_decode_new(type, ret_item, bytes, nr);
	m0_rpc_raw_init(raw, type, bytes, nr, raw_keep);
	*ret_item = &raw->rr_item;
	return 0;
}

static void raw_get(struct m0_rpc_item *item)
{
	m0_ref_get(&m0_rpc_raw_of(item)->rr_ref);
}

static void raw_put(struct m0_rpc_item *item)
{
	struct m0_ref *ref = &m0_rpc_raw_of(item)->rr_ref;

	if (m0_ref_read(ref) != 1) {
		m0_ref_put(ref);
		return;
	}
	/* The only thread: there is no race to decide. */
	m0_atomic64_set(&ref->ref_cnt, 0);
	raw_release(ref);
}

const struct m0_rpc_item_type_ops m0_rpc_raw_ops = {
	.rito_payload_size = raw_size,
	.rito_encode = raw_encode,
	.rito_gather = raw_gather,
	.rito_decode = raw_decode,
	.rito_item_get = raw_get,
	.rito_item_put = raw_put,
};

struct m0_rpc_raw *m0_rpc_raw_new(const struct m0_rpc_item_type *type,
				  const void *data, m0_bcount_t nr)
{
	struct m0_rpc_raw *raw = m0_alloc(sizeof *raw + nr);

	M0_PRE_EX(type != NULL);
	if (raw == NULL)
		return NULL;
	if (nr > 0)
		memcpy(raw + 1, data, nr);
	m0_rpc_raw_init(raw, type, raw + 1, nr, raw_free);
	return raw;
}
