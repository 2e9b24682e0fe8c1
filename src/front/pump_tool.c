/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Functions that operations and events of the pump share.
 */
#include "front/pump_internal.h"

int m0_pump__broken(struct m0_pump *pump, const char *field, uint64_t value,
		    const char *words)
{
	return m0_shared_refuse_as(&pump->pmp_why, -EPROTO, field, value,
				   words);
}

void m0_pump__post(struct m0_pump *pump, uint32_t kind, uint32_t nr,
		   uint32_t gen, bool is_last)
{
	struct m0_ring_entry entry = { .rqe_opcode = kind,
				       .rqe_nr = nr,
				       .rqe_gen = gen,
				       .rqe_is_last = is_last };

	M0_PRE(m0_ring_has_room(&pump->pmp_up));
	m0_ring_put(&pump->pmp_up, &entry);
}

void m0_pump__event_name(struct m0_pump *pump, struct m0_ring_event *ev,
			 uint32_t md, uint32_t md_gen,
			 const struct m0_ring_op *op)
{
	ev->rev_md_nr = md;
	ev->rev_md_gen = md_gen;
	ev->rev_md_user = m0_front__md_record(pump->pmp_lnet, md)->rmd_user;
	ev->rev_op_user = op == NULL ? 0 : op->rop_user;
}

/* Before the front can know of the event, and use the record again. */
void m0_pump__md_end(struct m0_pump *pump, uint32_t nr)
{
	if (M0_UNLIKELY(pump->pmp_mds[nr].pmd_queue != 0))
		pump->pmp_hooks->phk_md_left(pump, nr);
	__atomic_store_n(&m0_front__md_record(pump->pmp_lnet, nr)->rmd_ended, 1,
			 __ATOMIC_RELEASE);
	pump->pmp_mds[nr].pmd_gen = 0;
}

void m0_pump__extra_put(struct m0_pump *pump, bool is_extra)
{
	if (!is_extra)
		return;
	M0_PRE(pump->pmp_budget < pump->pmp_side->shs_cfg.shc_reserved_nr);
	m0_mutex_lock(&pump->pmp_lnet->fro_lock);
	++pump->pmp_budget;
	m0_mutex_unlock(&pump->pmp_lnet->fro_lock);
}

/* The server answers in the order of the requests. */
void m0_pump__tm_end(struct m0_pump *pump, bool is_claim, int status)
{
	struct m0_front_tm *tm;

	m0_list_for_each_entry(&pump->pmp_tms, tm, struct m0_front_tm,
			       ftm_link) {
		if (tm->ftm_is_claim != is_claim)
			continue;
		m0_list_del(&tm->ftm_link);
		m0_front__tm_result(pump->pmp_lnet, tm, status,
				    (uint32_t)pump->pmp_value);
		return;
	}
	M0_IMPOSSIBLE("each request has its entry in the list");
}

void m0_pump__other_end(struct m0_pump *pump, unsigned i, int status)
{
	struct m0_pump_other other = pump->pmp_others[i];

	M0_PRE(i < pump->pmp_others_max && other.pot_opcode != 0);
	pump->pmp_others[i].pot_opcode = 0;
	--pump->pmp_others_nr;
	m0_pump__extra_put(pump, other.pot_is_extra);
	switch (other.pot_opcode) {
	case M0_SHARED_EQ_ADD:
		/* MDs on it are refused; a later one tries again. */
		if (status != 0)
			pump->pmp_eqs[other.pot_nr].peq_gen = 0;
		break;
	case M0_SHARED_REGION_ADD:
	case M0_SHARED_REGION_DEL:
		m0_pump__region_result(pump, other.pot_nr,
				       other.pot_opcode == M0_SHARED_REGION_ADD,
				       status);
		break;
	case M0_SHARED_TM_CLAIM:
	case M0_SHARED_TM_RELEASE:
		m0_pump__tm_end(pump, other.pot_opcode == M0_SHARED_TM_CLAIM,
				status);
		break;
	case M0_SHARED_TM_FIND:
		pump->pmp_hooks->phk_found(pump, status, pump->pmp_value);
		break;
	default:
		break;
	}
}

/* ------------------------------------------------- records of messages -- */

/* Makes a chunk of records, and a list of them. */
static bool incomings_make(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	uint32_t        first = lnet->fro_embed.emb_incoming_chunks_nr *
			 M0_RING_CHUNK_NR;
	uint32_t i;

	M0_PRE(pump->pmp_free == 0);
	if (!m0_front__incomings_grow(lnet))
		return false;
	for (i = M0_RING_CHUNK_NR; i > 0; --i) {
		M0_RING_RECORD(&lnet->fro_records[M0_RING_INCOMINGS],
			       struct m0_ring_incoming, first + i - 1)
			->rin_next = pump->pmp_free;
		pump->pmp_free = first + i;
	}
	return true;
}

/* A record for a message; NULL: the application has them all. */
struct m0_ring_incoming *m0_pump__incoming_get(struct m0_pump *pump,
					       uint32_t       *nr)
{
	struct m0_ring          *ring = pump->pmp_lnet->fro_ring;
	struct m0_ring_incoming *record;

	M0_PRE_EX(m0_pump__is_open(pump));
	if (pump->pmp_free == 0)
		pump->pmp_free = __atomic_exchange_n(&ring->rng_returned, 0,
						     __ATOMIC_ACQUIRE);
	if (pump->pmp_free == 0 && !incomings_make(pump)) {
		__atomic_store_n(&ring->rng_starved, 1, __ATOMIC_SEQ_CST);
		pump->pmp_free = __atomic_exchange_n(&ring->rng_returned, 0,
						     __ATOMIC_SEQ_CST);
		if (pump->pmp_free == 0)
			return NULL;
	}
	if (M0_UNLIKELY(ring->rng_starved))
		__atomic_store_n(&ring->rng_starved, 0, __ATOMIC_SEQ_CST);
	*nr = pump->pmp_free - 1;
	record = M0_RING_RECORD(&pump->pmp_lnet->fro_records[M0_RING_INCOMINGS],
				struct m0_ring_incoming, *nr);
	pump->pmp_free = record->rin_next;
	return record;
}
