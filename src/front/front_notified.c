/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The end of slots: an ME or MD is free when nothing refers to it, an operation when
 * it is done and the application has had its events.
 */
#include "front/front_internal.h"

/* The node waits for a message: is it to look again? fro_lock is held. */
static bool is_starved(const struct m0_lnet *lnet)
{
	return M0_FRONT_GET(lnet->fro_ring->rng_starved) != 0;
}

/* This is a step of the node's host: its end looks again. */
void m0_front__look_again(struct m0_lnet *lnet)
{
	M0_FRONT_SET(lnet->fro_ring->rng_down.rqu_bell, 1);
	if (lnet->fro_node != NULL)
		lnet->fro_node->nod_again = true;
}

void m0_front__me_put(struct m0_lnet *lnet, struct m0_front_me *fme)
{
	M0_PRE(fme->fme_users_nr > 0);
	M0_PRE_EX(m0_front__me_invariant(fme));
	if (--fme->fme_users_nr > 0)
		return;
	if (M0_LIKELY(!fme->fme_unlink.rgp_waits)) {
		m0_front__slot_put(&lnet->fro_mes, &fme->fme_slot);
		return;
	}
	fme->fme_slot.fsl_next = lnet->fro_parked_mes;
	lnet->fro_parked_mes = &fme->fme_slot;
}

void m0_front__md_put(struct m0_lnet *lnet, struct m0_front_md *fmd)
{
	M0_PRE(fmd->fmd_users_nr > 0);
	M0_PRE_EX(m0_front__md_invariant(fmd));
	if (--fmd->fmd_users_nr > 0)
		return;
	if (fmd->fmd_eq != NULL) {
		M0_ASSERT(fmd->fmd_eq->eq_users_nr > 0);
		--fmd->fmd_eq->eq_users_nr;
	}
	if (fmd->fmd_segs != NULL)
		m0_front__slot_put(&lnet->fro_segs, fmd->fmd_segs);
	if (fmd->fmd_queued)
		m0_front__me_put(lnet, fmd->fmd_me);
	if (M0_LIKELY(!fmd->fmd_unlink.rgp_waits)) {
		m0_front__slot_put(&lnet->fro_mds, &fmd->fmd_slot);
		return;
	}
	fmd->fmd_slot.fsl_next = lnet->fro_parked_mds;
	lnet->fro_parked_mds = &fmd->fmd_slot;
}

bool m0_front__op_put(struct m0_lnet *lnet, struct m0_front_op *fop)
{
	M0_PRE(fop->fop_users_nr > 0);
	M0_PRE_EX(m0_front__op_invariant(fop));
	if (--fop->fop_users_nr > 0)
		return false;
	if (fop->fop_md != NULL)
		m0_front__md_put(lnet, fop->fop_md);
	m0_front__slot_put(&lnet->fro_ops, &fop->fop_slot);
	__atomic_store_n(&lnet->fro_ring->rng_ops_nr, lnet->fro_ops.fss_used_nr,
			 __ATOMIC_RELAXED);
	return is_starved(lnet);
}

static struct m0_ring_incoming *incoming_at(const struct m0_lnet *lnet,
					    uint32_t              nr)
{
	M0_PRE_EX(nr / M0_RING_CHUNK_NR < lnet->fro_incomings.rvi_chunks_max);
	return M0_RING_RECORD(&lnet->fro_records[M0_RING_INCOMINGS],
			      struct m0_ring_incoming, nr);
}

/* Returns records that are linked by rin_next, from number `first` to `last`. */
static bool incomings_put(struct m0_lnet *lnet, uint32_t first,
			  struct m0_ring_incoming *last)
{
	uint32_t *head = &lnet->fro_ring->rng_returned;

	last->rin_next = __atomic_load_n(head, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(head, &last->rin_next, first + 1,
					    true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return is_starved(lnet);
}

bool m0_front__incoming_put(struct m0_lnet *lnet, uint32_t nr)
{
	++lnet->fro_had.had_returned_nr;
	return incomings_put(lnet, nr, incoming_at(lnet, nr));
}

static bool entry_end(struct m0_lnet *lnet, const struct m0_ring_entry *entry)
{
	switch (entry->rqe_opcode) {
	case M0_RING_DONE:
		return m0_front__op_put(lnet,
					m0_front__op_at(lnet, entry->rqe_nr));
	case M0_RING_EV_UNLINK:
		m0_front__md_put(lnet, m0_front__md_at(lnet, entry->rqe_nr));
		return false;
	default:
		M0_ASSERT(entry->rqe_opcode == M0_RING_ME_GONE);
		m0_front__me_put(lnet, m0_front__me_at(lnet, entry->rqe_nr));
		return false;
	}
}

/* fro_lock is held. */
static bool notified_take(struct m0_lnet *lnet)
{
	struct m0_front_had *had = &lnet->fro_had;
	bool                 starved = false;
	unsigned             i;

	M0_PRE_EX(lnet->fro_notified_nr <= ARRAY_SIZE(lnet->fro_notified));
	if (!m0_front__has_notified(lnet))
		return false;
	for (i = 0; i < lnet->fro_notified_nr; ++i)
		starved |= entry_end(lnet, &lnet->fro_notified[i]);
	lnet->fro_notified_nr = 0;
	/* All of them go back at once. */
	if (had->had_nr > 0) {
		had->had_returned_nr += had->had_nr;
		starved |= incomings_put(lnet, had->had_first, had->had_last);
		had->had_nr = 0;
	}
	if (M0_UNLIKELY(starved))
		m0_front__look_again(lnet);
	return true;
}

bool m0_front__notified_take(struct m0_lnet *lnet)
{
	bool any;

	if (m0_front__is_inside(lnet))
		return notified_take(lnet);
	if (!M0_FRONT_GET(lnet->fro_inline) ||
	    __atomic_exchange_n(&lnet->fro_stepping, true, __ATOMIC_ACQUIRE))
		return false;
	any = notified_take(lnet);
	M0_FRONT_SET(lnet->fro_stepping, false);
	return any;
}

/* fro_lock, once for many. */
void m0_front__notified_give(struct m0_lnet *lnet)
{
	m0_mutex_lock(&lnet->fro_lock);
	(void)notified_take(lnet);
	m0_mutex_unlock(&lnet->fro_lock);
}
