/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Memory of packets that came, and the items that refer to it. A receive buffer
 * takes several packets; bodies are left in it, and items that point there count in
 * nb_app_private, beside the receive queue, which counts one. The thread that puts
 * the last count gives the buffer back to the pool.
 */
#include "rpc/item/rbuf.h"

static void buffer_put(struct m0_rpc__machine *m, struct m0_net_buffer *nb)
{
	struct m0_net_buffer_pool *pool = m->rml_receiver.rrv_pool;

	memset(&nb->nb_app_private, 0, sizeof nb->nb_app_private);
	m0_net_buffer_pool_lock(pool);
	m0_net_buffer_pool_put(pool, nb, m->rml_receiver.rrv_colour);
	m0_net_buffer_pool_unlock(pool);
}

static void copy_free(struct m0_rpc__machine *m, struct m0_rpc__copy *copy)
{
	__atomic_sub_fetch(&m->rml_receiver.rrv_copies_bytes, copy->cpy_nr,
			   __ATOMIC_RELAXED);
	m0_free(copy);
}

/* A function of its own: the machine's thread mostly counts for itself, and
 * needs no stack frame. */
void m0_rpc__rbuf_less(struct m0_rpc__machine *m, uintptr_t rbuf, uint32_t nr)
{
	M0_PRE_EX(nr > 0);
	if (__atomic_sub_fetch(&m0_rpc__rbuf_count_of(rbuf)->rbc_all, nr,
			       __ATOMIC_ACQ_REL) > 0)
		return;
	if (rbuf & M0_RPC__RBUF_ON_HEAP) {
		copy_free(m,
			  (struct m0_rpc__copy
				   *)(rbuf & ~(uintptr_t)M0_RPC__RBUF_ON_HEAP));
		return;
	}
	__atomic_sub_fetch(&m->rml_receiver.rrv_held_nr, 1, __ATOMIC_RELAXED);
	buffer_put(m, (struct m0_net_buffer *)rbuf);
}

void m0_rpc__rbuf_put(struct m0_rpc__machine *m, uintptr_t rbuf)
{
	struct m0_rpc__rbuf_count *count = m0_rpc__rbuf_count_of(rbuf);

	M0_PRE_EX(rbuf != 0);
	if (m0_rpc__is_here(m) && count->rbc_own != M0_RPC__RBUF_GIVEN_UP)
		--count->rbc_own;
	else
		m0_rpc__rbuf_less(m, rbuf, 1);
}

int m0_rpc__came_decode(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			const struct m0_rpc_item_type *type,
			struct m0_rpc_item           **ret)
{
	struct m0_rpc_item *item = NULL;
	int                 rc;

	M0_PRE(came->rca_refs_nr > 0);
	rc = type->rit_ops->rito_decode(type, &item, came->rca_body,
					came->rca_item.rwi_size);
	if (rc < 0)
		return rc;
	M0_ASSERT(item != NULL && item->ri_state == M0_RPC_ITEM_INITIALISED);
	/* serve.c sets further fields of items that are executed. */
	m0_rpc__il(item)->ril_flags = 0;
	m0_rpc__il(item)->ril_gate = 0;
	m0_rpc__il(item)->ril_tm = NULL;
	M0_ASSERT(came->rca_refs_nr > 0);
	--came->rca_refs_nr;
	m0_rpc__il(item)->ril_rbuf = came->rca_rbuf;
	item->ri_rmachine = m->rml_machine;
	item->ri_prio = (enum m0_rpc_item_priority)came->rca_item.rwi_prio;
	item->ri_stream = came->rca_item.rwi_stream;
	item->ri_dup = came->rca_item.rwi_flags & M0_RPC_WIRE_DUP;
	item->ri_epoch = came->rca_packet.rwp_epoch;
	item->ri_size = m0_rpc__wire_item_size(came->rca_item.rwi_size);
	item->ri_remote_expires =
		came->rca_item.rwi_remaining_ms == 0
			? M0_TIME_NEVER
			: m0_time_add(m->rml_now,
				      came->rca_item.rwi_remaining_ms *
					      M0_TIME_ONE_MSEC);
	*ret = item;
	return 0;
}
