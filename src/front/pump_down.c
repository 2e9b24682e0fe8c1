/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Entries that the front has posted, as operations for the server. An entry that finds
 * no room in the shared queue waits, and so do those behind it. When the attachment has
 * ended, entries still begin the MDs and operations that they name, and pump_end.c ends
 * these at once.
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
static int request_send(struct m0_pump *pump)
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

static void req_set(struct m0_pump *pump, enum m0_shared_opcode opcode,
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
static bool other_may(struct m0_pump *pump)
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
static int other_send(struct m0_pump *pump)
{
	unsigned i = 0;
	int      rc;

	M0_PRE_EX(m0_shared_events_nr(&pump->pmp_req) == 1);
	if (!m0_pump__is_open(pump))
		return 0;
	if (!other_may(pump))
		return -EAGAIN;
	rc = request_send(pump);
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
static void nid_tidy(struct m0_lnet_nid *nid)
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
	req_set(pump, M0_SHARED_EQ_ADD, eq - 1, 0);
	pump->pmp_req.srq_eq_add = (struct m0_shared_eq_add){
		.sqa_max = record->req_is_bounded ? record->req_max : 0,
		.sqa_is_polled = record->req_is_bounded,
	};
	__atomic_store_n(&pump->pmp_side->shs_eqs[eq - 1].seq_taken_nr, 0,
			 __ATOMIC_RELAXED);
	/* Counts of an attachment before, if any. */
	peq->peq_before_nr = record->req_accepted_nr;
	peq->peq_dropped_nr = record->req_dropped_nr;
	rc = other_send(pump);
	if (rc != 0)
		return rc;
	peq->peq_gen = gen;
	peq->peq_had_nr = 0;
	pump->pmp_eqs_end = max_check(pump->pmp_eqs_end, eq);
	return 0;
}

/* The last thing that the front posts of a queue. */
static int barrier_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	struct m0_pump_eq *peq = &pump->pmp_eqs[entry->rqe_nr];
	int                rc = 0;

	M0_PRE(entry->rqe_nr < pump->pmp_lnet->fro_eq_slots.fss_nr);
	req_set(pump, M0_SHARED_BARRIER, entry->rqe_nr, 0);
	if (!peq->peq_passes)
		rc = other_send(pump);
	if (rc != 0)
		return rc;
	peq->peq_passes = true;
	if (peq->peq_gen == 0 || !m0_pump__is_open(pump))
		return 0;
	req_set(pump, M0_SHARED_EQ_DEL, entry->rqe_nr, 0);
	rc = other_send(pump);
	if (rc == 0)
		peq->peq_gen = 0;
	return rc;
}

/* ---------------------------------------------------------------- ME, MD -- */

static void me_fill(struct m0_pump *pump, uint32_t nr)
{
	struct m0_ring_me *me = &pump->pmp_req.srq_me;

	*me = *m0_front__me_record(pump->pmp_lnet, nr);
	nid_tidy(&me->rme_id.lp_nid);
}

static int me_attach_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	int rc;

	M0_PRE_EX(pump->pmp_mes[entry->rqe_nr] == 0);
	req_set(pump, M0_SHARED_ME_ATTACH, entry->rqe_nr, entry->rqe_gen);
	me_fill(pump, entry->rqe_nr);
	rc = request_send(pump);
	if (rc == 0)
		pump->pmp_mes[entry->rqe_nr] = entry->rqe_gen;
	return rc;
}

static int me_unlink_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	req_set(pump, M0_SHARED_ME_UNLINK, entry->rqe_nr, entry->rqe_gen);
	return pump->pmp_mes[entry->rqe_nr] == entry->rqe_gen
		       ? request_send(pump)
		       : 0;
}

/* The MD of a request. @retval -EAGAIN  its queue has to wait. */
static int md_fill(struct m0_pump *pump, uint32_t nr, uint32_t gen)
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

static void md_begin(struct m0_pump *pump)
{
	const struct m0_shared_request *req = &pump->pmp_req;

	M0_PRE_EX(pump->pmp_mds[req->srq_md_nr].pmd_gen == 0);
	pump->pmp_mds[req->srq_md_nr] = (struct m0_pump_md){
		.pmd_gen = req->srq_md_gen,
		.pmd_eq = req->srq_md.rmd_eq,
	};
}

static int md_attach_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	int rc = md_fill(pump, entry->rqe_nr, entry->rqe_gen);

	if (rc != 0)
		return rc;
	req_set(pump, (enum m0_shared_opcode)entry->rqe_opcode, entry->rqe_nr,
		entry->rqe_gen);
	rc = request_send(pump);
	if (rc == 0)
		md_begin(pump);
	return rc;
}

static int entry_attach_do(struct m0_pump             *pump,
			   const struct m0_ring_entry *entry)
{
	struct m0_shared_request *req = &pump->pmp_req;
	int rc = md_fill(pump, entry->rqe_nr, entry->rqe_gen);

	if (rc != 0)
		return rc;
	me_fill(pump, req->srq_md.rmd_me);
	req_set(pump, M0_SHARED_ENTRY_ATTACH, req->srq_md.rmd_me,
		req->srq_md.rmd_me_gen);
	rc = request_send(pump);
	if (rc != 0)
		return rc;
	pump->pmp_mes[req->srq_nr] = req->srq_gen;
	md_begin(pump);
	return 0;
}

static int md_unlink_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	req_set(pump, M0_SHARED_MD_UNLINK, entry->rqe_nr, entry->rqe_gen);
	return pump->pmp_mds[entry->rqe_nr].pmd_gen == entry->rqe_gen
		       ? request_send(pump)
		       : 0;
}

/* ---------------------------------------------------------- PUT and GET -- */

static bool is_get(uint32_t opcode)
{
	return opcode == M0_RING_GET || opcode == M0_RING_BIND_GET;
}

static int move_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	struct m0_ring_op *op = &pump->pmp_req.srq_op;
	bool               binds = entry->rqe_opcode == M0_RING_BIND_PUT ||
		     entry->rqe_opcode == M0_RING_BIND_GET;
	int rc = 0;

	M0_PRE_EX(pump->pmp_ops[entry->rqe_nr].pop_gen == 0);
	memcpy(op, m0_front__op_record(pump->pmp_lnet, entry->rqe_nr),
	       offsetof(struct m0_ring_op, rop_event));
	if (binds)
		rc = md_fill(pump, op->rop_md, op->rop_md_gen);
	if (rc != 0)
		return rc;
	nid_tidy(&op->rop_self);
	nid_tidy(&op->rop_target.lp_nid);
	req_set(pump, (enum m0_shared_opcode)entry->rqe_opcode, entry->rqe_nr,
		entry->rqe_gen);
	rc = request_send(pump);
	if (rc != 0)
		return rc;
	if (binds)
		md_begin(pump);
	pump->pmp_ops[entry->rqe_nr] = (struct m0_pump_op){
		.pop_gen = entry->rqe_gen,
		.pop_md = op->rop_md,
		.pop_md_gen = op->rop_md_gen,
		/* Less its MD's. */
		.pop_claims_nr =
			(uint8_t)(m0_shared_events_nr(&pump->pmp_req) - binds),
		.pop_is_get = is_get(entry->rqe_opcode),
		.pop_is_answered = is_get(entry->rqe_opcode) || op->rop_ack,
	};
	return 0;
}

/* ----------------------------------------------------------------- others -- */

int m0_pump__lazy_send(struct m0_pump *pump, uint32_t portal, uint32_t bits)
{
	req_set(pump, M0_SHARED_LAZY, portal, 0);
	pump->pmp_req.srq_number = bits;
	pump->pmp_lazy[portal] = (bits & M0_SHARED_LAZY_WANTED) != 0;
	return request_send(pump);
}

static int lazy_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	uint32_t *word = &pump->pmp_lnet->fro_ring->rng_lazy[entry->rqe_nr];
	uint32_t  bits;
	uint32_t  number = 0;
	int       rc;

	M0_PRE(entry->rqe_nr < pump->pmp_side->shs_cfg.shc_portals_nr);
	if (m0_pump__is_open(pump)) {
		rc = m0_shared_reserve(pump->pmp_side, 1, NULL);
		if (rc == -EAGAIN) {
			pump->pmp_waits_room = true;
			return rc;
		}
	}
	/* From here on the entry goes. */
	bits = __atomic_exchange_n(word, 0, __ATOMIC_ACQUIRE);
	if ((bits & M0_RING_LAZY_CLEARED) != 0)
		number |= M0_SHARED_LAZY_CLEARED;
	if ((bits & M0_RING_LAZY_WANTED) != 0)
		number |= M0_SHARED_LAZY_WANTED;
	return m0_pump__lazy_send(pump, entry->rqe_nr, number);
}

static int reset_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	int rc;

	(void)entry;
	req_set(pump, M0_SHARED_STATS_RESET, 0, 0);
	rc = request_send(pump);
	if (rc == 0)
		__atomic_store_n(&pump->pmp_lnet->fro_ring->rng_reset, 0,
				 __ATOMIC_RELAXED);
	return rc;
}

/* Puts answers to COPY, as far as there is room. @return true if any. */
static bool copies_answer(struct m0_pump *pump)
{
	struct m0_pump_copy *copy = &pump->pmp_copy;
	unsigned             i;

	for (i = 0; i < copy->pcp_nr; ++i) {
		req_set(pump, M0_SHARED_COPY_DONE, copy->pcp_done[i].pcd_nr,
			copy->pcp_done[i].pcd_gen);
		pump->pmp_req.srq_number = copy->pcp_done[i].pcd_errno;
		if (request_send(pump) != 0)
			break;
	}
	/* The end of the attachment has dropped them all. */
	if (i < copy->pcp_nr)
		memmove(copy->pcp_done, &copy->pcp_done[i],
			(copy->pcp_nr - i) * sizeof copy->pcp_done[0]);
	copy->pcp_nr -= min_check(i, copy->pcp_nr);
	return i > 0;
}

static int close_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	(void)entry;
	req_set(pump, M0_SHARED_CLOSE, 0, 0);
	return request_send(pump);
}

static int control_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	const struct m0_ring_control *record =
		M0_RING_RECORD(&pump->pmp_lnet->fro_records[M0_RING_CONTROLS],
			       struct m0_ring_control, entry->rqe_nr);
	int rc;

	M0_PRE(pump->pmp_controls[entry->rqe_nr].pct_gen == 0);
	req_set(pump, M0_SHARED_CONTROL, entry->rqe_nr, entry->rqe_gen);
	pump->pmp_req.srq_number = record->rqc_verb;
	if (m0_pump__is_open(pump))
		memcpy(m0_shared_control(pump->pmp_side, entry->rqe_nr), record,
		       sizeof *record);
	rc = request_send(pump);
	if (rc == 0)
		pump->pmp_controls[entry->rqe_nr] =
			(struct m0_pump_control){ entry->rqe_gen,
						  record->rqc_verb };
	return rc;
}

/* A call of the front, which puts one request about a region at most. */
static int call_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	(void)entry;
	if (m0_pump__is_open(pump)) {
		if (!other_may(pump))
			return -EAGAIN;
		if (m0_shared_reserve(pump->pmp_side, 1, NULL) == -EAGAIN) {
			pump->pmp_waits_room = true;
			return -EAGAIN;
		}
	}
	m0_front__host.nho_call(pump->pmp_lnet);
	/* The call has put nothing. */
	m0_pump__extra_put(pump, pump->pmp_has_extra);
	pump->pmp_has_extra = false;
	return 0;
}

void m0_pump__region_do(struct m0_pump *pump, bool is_add, uint32_t nr,
			uint64_t bytes)
{
	int rc;

	M0_PRE(nr > 0 && nr <= pump->pmp_side->shs_cfg.shc_regions_max);
	pump->pmp_regions[nr - 1].prg_is_there &= is_add;
	req_set(pump, is_add ? M0_SHARED_REGION_ADD : M0_SHARED_REGION_DEL, nr,
		pump->pmp_regions[nr - 1].prg_gen);
	pump->pmp_req.srq_number = bytes;
	rc = other_send(pump);
	/* call_do() has looked for room. */
	M0_ASSERT(rc == 0);
	if (!m0_pump__is_open(pump))
		m0_pump__region_result(pump, nr, is_add, -ESHUTDOWN);
}

void m0_pump__tm_do(struct m0_pump *pump, struct m0_front_tm *tm)
{
	int rc;

	M0_PRE(pump->pmp_others_nr < pump->pmp_others_max);
	req_set(pump,
		tm->ftm_is_claim ? M0_SHARED_TM_CLAIM : M0_SHARED_TM_RELEASE, 0,
		0);
	pump->pmp_req.srq_tm = (struct m0_shared_tm){
		.stn_portal = tm->ftm_portal,
		.stn_tmid = tm->ftm_nr,
	};
	m0_list_add_tail(&pump->pmp_tms, &tm->ftm_link);
	rc = other_send(pump);
	/* call_do() has looked for room. */
	M0_ASSERT(rc == 0);
	if (!m0_pump__is_open(pump))
		m0_pump__tm_end(pump, tm->ftm_is_claim, -ESHUTDOWN);
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
				    pump->pmp_tm_nr);
		return;
	}
	M0_IMPOSSIBLE("each request has its entry in the list");
}

static int (*const does[M0_RING_OPCODES_NR])(
	struct m0_pump *pump, const struct m0_ring_entry *entry) = {
	[M0_RING_ME_ATTACH] = me_attach_do,
	[M0_RING_ME_UNLINK] = me_unlink_do,
	[M0_RING_MD_ATTACH] = md_attach_do,
	[M0_RING_MD_UNLINK] = md_unlink_do,
	[M0_RING_QUEUE_ATTACH] = md_attach_do,
	[M0_RING_ENTRY_ATTACH] = entry_attach_do,
	[M0_RING_PUT] = move_do,
	[M0_RING_GET] = move_do,
	[M0_RING_BIND_PUT] = move_do,
	[M0_RING_BIND_GET] = move_do,
	[M0_RING_LAZY] = lazy_do,
	[M0_RING_STATS_RESET] = reset_do,
	[M0_RING_CLOSE] = close_do,
	[M0_RING_BARRIER] = barrier_do,
	[M0_RING_CONTROL] = control_do,
	[M0_RING_CALL] = call_do,
};

bool m0_pump__down(struct m0_pump *pump)
{
	struct m0_lnet    *lnet = pump->pmp_lnet;
	struct m0_ring_in *down = &pump->pmp_down;
	uint32_t           from = down->rie_taken_nr;
	uint32_t           end;
	uint32_t           nr;
	bool               any = false;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (m0_front__is_posted(lnet))
		m0_front__bell_clear(lnet);
	pump->pmp_waits_room = false;
	if (pump->pmp_copy.pcp_nr > 0)
		any = copies_answer(pump);
	end = m0_ring_put_nr(down);
	for (nr = from; nr != end; ++nr) {
		struct m0_ring_entry entry = *m0_ring_at(down, nr);

		if (does[entry.rqe_opcode](pump, &entry) != 0)
			break;
	}
	if (nr != from) {
		m0_ring_take(down, nr);
		/* An entry may have begun what is to be ended. */
		if (!m0_pump__is_open(pump))
			pump->pmp_has_ends = true;
	}
	if (M0_UNLIKELY(lnet->fro_ring->rng_down.rqu_waits))
		m0_front__refill(lnet);
	if (m0_pump__is_open(pump))
		m0_shared_bell(pump->pmp_side);
	return any || nr != from;
}
