/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests for the server: how they are made of what the front has posted, and put.
 */
#include "front/pump_internal.h"

/* ----------------------------------------------------------------- sending -- */

/* The server reads what the operation sends, or peers fetch from its MD, from shadows. */
static void shadow_out(struct m0_pump *pump)
{
	const struct m0_shared_request *req = &pump->pmp_req;
	const struct m0_ring_op        *op = &req->srq_op;

	switch (req->srq_opcode) {
	case M0_SHARED_PUT:
	case M0_SHARED_BIND_PUT:
		m0_pump__shadow_copy(
			pump, op->rop_md, op->rop_md_offset,
			op->rop_bytes == 0 ? UINT64_MAX : op->rop_bytes, true);
		break;
	case M0_SHARED_MD_ATTACH:
	case M0_SHARED_QUEUE_ATTACH:
	case M0_SHARED_ENTRY_ATTACH:
		if ((req->srq_md.rmd_options & M0_LNET_MD_OP_GET) != 0)
			m0_pump__shadow_copy(pump, req->srq_md_nr, 0,
					     UINT64_MAX, true);
		break;
	default:
		break;
	}
}

/* Puts pmp_req. @retval -EAGAIN  there is no room. */
int m0_pump__request_send(struct m0_pump *pump)
{
	struct m0_shared_side          *side = pump->pmp_side;
	const struct m0_shared_request *req = &pump->pmp_req;
	int                             rc;

	M0_PRE(req->srq_opcode != 0);
	if (!m0_pump__is_open(pump))
		return 0;
	rc = m0_shared_reserve(side, m0_shared_request_entries(req),
			       &pump->pmp_why);
	if (rc == -EAGAIN) {
		pump->pmp_waits_room = true;
		return rc;
	}
	if (rc != 0) {
		/* The object of the entry is ended with all others. */
		m0_pump__end(pump);
		return 0;
	}
	if (!m0_shared_claim(side, m0_shared_events_nr(req)))
		return -EAGAIN;
	shadow_out(pump);
	m0_shared_commit(side, m0_shared_request_put(side, req));
	return 0;
}

void m0_pump__req_set(struct m0_pump *pump, enum m0_shared_opcode opcode,
		      uint32_t nr, uint32_t gen)
{
	pump->pmp_req.srq_opcode = opcode;
	pump->pmp_req.srq_nr = nr;
	pump->pmp_req.srq_gen = gen;
}

/*
 * May a request about an event queue or a region be put? All that was posted behind it
 * would wait, too, so there is only the bound of the reserved events.
 */
bool m0_pump__other_may(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;

	M0_PRE(pump->pmp_others_nr <= pump->pmp_others_max);
	if (pump->pmp_others_nr < M0_PUMP_OTHERS_NR || pump->pmp_has_extra)
		return true;
	if (pump->pmp_others_nr == pump->pmp_others_max)
		return false;
	m0_mutex_lock(&lnet->fro_lock);
	pump->pmp_has_extra = pump->pmp_budget > 0;
	pump->pmp_budget -= pump->pmp_has_extra;
	m0_mutex_unlock(&lnet->fro_lock);
	return pump->pmp_has_extra;
}

/* A request that has an answer soon, and no slot. */
int m0_pump__other_send(struct m0_pump *pump)
{
	unsigned i = 0;
	int      rc;

	M0_PRE_EX(m0_shared_events_nr(&pump->pmp_req) == 1);
	if (!m0_pump__is_open(pump))
		return 0;
	if (!m0_pump__other_may(pump))
		return -EAGAIN;
	rc = m0_pump__request_send(pump);
	if (rc != 0 || !m0_pump__is_open(pump)) {
		m0_pump__extra_put(pump, pump->pmp_has_extra);
		pump->pmp_has_extra = false;
		return rc;
	}
	while (pump->pmp_others[i].pot_opcode != 0)
		++i;
	pump->pmp_others[i] = (struct m0_pump_other){
		.pot_opcode = (uint32_t)pump->pmp_req.srq_opcode,
		.pot_nr = pump->pmp_req.srq_nr,
		.pot_is_extra = pump->pmp_has_extra,
	};
	pump->pmp_has_extra = false;
	++pump->pmp_others_nr;
	return 0;
}

/* The server accepts no bytes behind those that a NID has. */
void m0_pump__nid_tidy(struct m0_lnet_nid *nid)
{
	size_t bytes;

	if (nid->ln_size > M0_LNET_NID_SIZE_IPV6)
		nid->ln_size = M0_LNET_NID_SIZE_IPV6;
	bytes = 4 + (size_t)nid->ln_size;
	memset(nid->ln_addr + bytes, 0, sizeof nid->ln_addr - bytes);
}

/* ------------------------------------------------------------ event queues -- */

/* The server has the queue of an MD, whose number plus 1 is `eq`. */
static int eq_need(struct m0_pump *pump, uint32_t eq)
{
	const struct m0_lnet    *lnet = pump->pmp_lnet;
	const struct m0_ring_eq *record;
	struct m0_pump_eq       *peq;
	uint32_t                 gen;
	int                      rc;

	M0_PRE(eq <= pump->pmp_lnet->fro_eq_slots.fss_max);
	if (eq == 0)
		return 0;
	peq = &pump->pmp_eqs[eq - 1];
	gen = m0_front__eq_at(lnet, eq - 1)->feq_slot.fsl_gen;
	if (M0_LIKELY(peq->peq_gen == gen) || !m0_pump__is_open(pump))
		return 0;
	M0_ASSERT(peq->peq_gen == 0);
	record = m0_front__eq_record(lnet, eq - 1);
	m0_pump__req_set(pump, M0_SHARED_EQ_ADD, eq - 1, 0);
	pump->pmp_req.srq_eq_add = (struct m0_shared_eq_add){
		.sqa_max = record->req_is_bounded ? record->req_max : 0,
		.sqa_is_polled = record->req_is_bounded,
	};
	__atomic_store_n(&pump->pmp_side->shs_eqs[eq - 1].seq_taken_nr, 0,
			 __ATOMIC_RELAXED);
	/* Counts of an attachment before, if any. */
	peq->peq_before_nr = record->req_accepted_nr;
	peq->peq_dropped_nr = record->req_dropped_nr;
	rc = m0_pump__other_send(pump);
	if (rc != 0)
		return rc;
	peq->peq_gen = gen;
	peq->peq_had_nr = 0;
	pump->pmp_eqs_end = max_check(pump->pmp_eqs_end, eq);
	return 0;
}

/* ------------------------------------------------------------------- MDs -- */

/* The MD of a request. @retval -EAGAIN  its queue has to wait. */
int m0_pump__md_fill(struct m0_pump *pump, uint32_t nr, uint32_t gen)
{
	const struct m0_lnet     *lnet = pump->pmp_lnet;
	struct m0_ring_md        *record = m0_front__md_record(lnet, nr);
	struct m0_shared_request *req = &pump->pmp_req;
	int                       rc = eq_need(pump, record->rmd_eq);

	if (rc != 0)
		return rc;
	/* Without what the other side writes. */
	memcpy(&req->srq_md, record, offsetof(struct m0_ring_md, rmd_last));
	req->srq_md_nr = nr;
	req->srq_md_gen = gen;
	req->srq_segs =
		record->rmd_segs_nr > M0_RING_SEGS_NR
			? M0_RING_RECORD(&lnet->fro_records[M0_RING_SEGS],
					 struct m0_ring_segs, record->rmd_long)
				  ->rgl_seg
			: record->rmd_segs;
	return 0;
}

void m0_pump__md_begin(struct m0_pump *pump)
{
	const struct m0_shared_request *req = &pump->pmp_req;

	M0_PRE_EX(pump->pmp_mds[req->srq_md_nr].pmd_gen == 0);
	pump->pmp_mds[req->srq_md_nr] = (struct m0_pump_md){
		.pmd_gen = req->srq_md_gen,
		.pmd_eq = req->srq_md.rmd_eq,
	};
}

/* ------------------------------------------------------------ PUT and GET -- */

static bool is_get(uint32_t opcode)
{
	return opcode == M0_RING_GET || opcode == M0_RING_BIND_GET;
}

int m0_pump__move_send(struct m0_pump *pump, uint32_t opcode, uint32_t nr,
		       uint32_t gen)
{
	struct m0_ring_op *op = &pump->pmp_req.srq_op;
	bool binds = opcode == M0_RING_BIND_PUT || opcode == M0_RING_BIND_GET;
	int  rc = 0;

	memcpy(op, m0_front__op_record(pump->pmp_lnet, nr),
	       offsetof(struct m0_ring_op, rop_event));
	if (binds)
		rc = m0_pump__md_fill(pump, op->rop_md, op->rop_md_gen);
	if (rc != 0)
		return rc;
	m0_pump__nid_tidy(&op->rop_self);
	m0_pump__nid_tidy(&op->rop_target.lp_nid);
	m0_pump__req_set(pump, (enum m0_shared_opcode)opcode, nr, gen);
	rc = m0_pump__request_send(pump);
	if (rc != 0)
		return rc;
	if (binds)
		m0_pump__md_begin(pump);
	pump->pmp_ops[nr] = (struct m0_pump_op){
		.pop_gen = gen,
		.pop_md = op->rop_md,
		.pop_md_gen = op->rop_md_gen,
		/* Less its MD's. */
		.pop_claims_nr =
			(uint8_t)(m0_shared_events_nr(&pump->pmp_req) - binds),
		.pop_is_get = is_get(opcode),
		.pop_is_answered = is_get(opcode) || op->rop_ack,
	};
	return 0;
}
