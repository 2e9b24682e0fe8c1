/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The bulk that a machine knows by its request: what has several ways, or is
 * offered until its request ends. When the request ends, or comes again by another
 * address, the lists of that request are called through m0_rpc__bulk_ops.
 */
#include "rpc/bulk/bulk.h"

void m0_rpc__bulks_init(struct m0_rpc__bulks          *bulks,
			const struct m0_rpc__bulk_ops *ops)
{
	unsigned i;

	M0_PRE(ops->bko_settle != NULL && ops->bko_move != NULL);
	bulks->bks_ops = ops;
	m0_mutex_init(&bulks->bks_lock);
	for (i = 0; i < ARRAY_SIZE(bulks->bks_bucket); ++i)
		m0_list_init(&bulks->bks_bucket[i]);
}

void m0_rpc__bulks_fini(struct m0_rpc__bulks *bulks)
{
	unsigned i;

	M0_PRE(bulks->bks_nr == 0);
	M0_PRE(bulks->bks_paused_nr == 0);
	for (i = 0; i < ARRAY_SIZE(bulks->bks_bucket); ++i)
		m0_list_fini(&bulks->bks_bucket[i]);
	m0_mutex_fini(&bulks->bks_lock);
}

static uint32_t bucket_of(const struct m0_rpc_item *item)
{
	uint64_t n = (uintptr_t)item / sizeof(uint64_t);

	return (uint32_t)(n * 0x9e3779b97f4a7c15 >> 32) % M0_RPC__BULKS_BUCKETS;
}

void m0_rpc__bulk_know(struct m0_rpc_bulk *rb)
{
	struct m0_rpc__bulks *bulks = &rb->rb_machine->rm_lib->rml_bulks;

	M0_PRE(rb->rb_item != NULL);
	M0_PRE(!(rb->rb_flags & M0_RPC__BULK_KNOWN));
	rb->rb_flags |= M0_RPC__BULK_KNOWN;
	m0_list_link_init(&rb->rb_link);
	m0_mutex_lock(&bulks->bks_lock);
	m0_list_add_tail(&bulks->bks_bucket[bucket_of(rb->rb_item)],
			 &rb->rb_link);
	__atomic_add_fetch(&bulks->bks_nr, 1, __ATOMIC_RELEASE);
	m0_mutex_unlock(&bulks->bks_lock);
}

void m0_rpc__bulk_forget(struct m0_rpc_bulk *rb)
{
	struct m0_rpc__bulks *bulks = &rb->rb_machine->rm_lib->rml_bulks;

	M0_PRE(rb->rb_flags & M0_RPC__BULK_KNOWN);
	m0_mutex_lock(&bulks->bks_lock);
	m0_list_del(&rb->rb_link);
	__atomic_sub_fetch(&bulks->bks_nr, 1, __ATOMIC_RELEASE);
	m0_mutex_unlock(&bulks->bks_lock);
}

/* Return the next list of the item; NULL: there is none. Only the machine's
 * thread removes lists, so the list that was found stays. */
static struct m0_rpc_bulk *bulk_next(const struct m0_rpc__machine *m,
				     const struct m0_rpc_item     *item,
				     const struct m0_rpc_bulk     *after)
{
	struct m0_rpc__bulks *bulks =
		(struct m0_rpc__bulks *)(uintptr_t)&m->rml_bulks;
	const struct m0_list *bucket = &bulks->bks_bucket[bucket_of(item)];
	struct m0_list_link  *link;
	struct m0_rpc_bulk   *found = NULL;

	m0_mutex_lock(&bulks->bks_lock);
	link = after != NULL ? m0_list_next(bucket, &after->rb_link)
			     : m0_list_first(bucket);
	for (; link != NULL && found == NULL; link = m0_list_next(bucket, link))
		if (container_of(link, struct m0_rpc_bulk, rb_link)->rb_item ==
		    item)
			found = container_of(link, struct m0_rpc_bulk, rb_link);
	m0_mutex_unlock(&bulks->bks_lock);
	return found;
}

void m0_rpc__bulks_ended(struct m0_rpc__machine   *m,
			 const struct m0_rpc_item *request)
{
	struct m0_rpc_bulk *rb = NULL;

	M0_PRE(m0_rpc__is_here(m));
	while ((rb = bulk_next(m, request, rb)) != NULL)
		m->rml_bulks.bks_ops->bko_settle(rb);
}

void m0_rpc__bulks_moved(struct m0_rpc__machine          *m,
			 const struct m0_rpc_item        *request,
			 const struct m0_net_transfer_mc *tm)
{
	uint64_t            at = m0_rpc__at(tm->ntm_ep->nep_addr);
	struct m0_rpc_bulk *rb = NULL;

	M0_PRE(m0_rpc__is_here(m));
	while ((rb = bulk_next(m, request, rb)) != NULL)
		m->rml_bulks.bks_ops->bko_move(rb, at);
}

m0_bcount_t m0_rpc__bulks_bytes(const struct m0_rpc__machine *m,
				const struct m0_rpc_item     *request)
{
	const struct m0_rpc_bulk *rb = NULL;
	m0_bcount_t               nr = 0;

	M0_PRE(m0_rpc__is_here(m));
	while ((rb = bulk_next(m, request, rb)) != NULL)
		nr += __atomic_load_n(&rb->rb_bytes, __ATOMIC_RELAXED);
	return nr;
}
