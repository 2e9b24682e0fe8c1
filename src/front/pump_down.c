/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Entries that the front has posted, as operations for the server. An entry that finds
 * no room in the shared queue waits, and so do those behind it. When the attachment has
 * ended, entries still begin the MDs and operations that they name, and pump_end.c ends
 * these at once.
 */
#include "front/pump_internal.h"

/* ----------------------------------------------------------- event queues -- */

/* The last thing that the front posts of a queue. */
static int barrier_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	struct m0_pump_eq *peq = &pump->pmp_eqs[entry->rqe_nr];
	int                rc = 0;

	M0_PRE(entry->rqe_nr < pump->pmp_lnet->fro_eq_slots.fss_nr);
	m0_pump__req_set(pump, M0_SHARED_BARRIER, entry->rqe_nr, 0);
	if (!peq->peq_passes)
		rc = m0_pump__other_send(pump);
	if (rc != 0)
		return rc;
	peq->peq_passes = true;
	if (peq->peq_gen == 0 || !m0_pump__is_open(pump))
		return 0;
	m0_pump__req_set(pump, M0_SHARED_EQ_DEL, entry->rqe_nr, 0);
	rc = m0_pump__other_send(pump);
	if (rc == 0)
		peq->peq_gen = 0;
	return rc;
}

/* ---------------------------------------------------------------- ME, MD -- */

static void me_fill(struct m0_pump *pump, uint32_t nr)
{
	struct m0_ring_me *me = &pump->pmp_req.srq_me;

	*me = *m0_front__me_record(pump->pmp_lnet, nr);
	m0_pump__nid_tidy(&me->rme_id.lp_nid);
}

static int me_attach_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	int rc;

	M0_PRE_EX(pump->pmp_mes[entry->rqe_nr] == 0);
	m0_pump__req_set(pump, M0_SHARED_ME_ATTACH, entry->rqe_nr,
			 entry->rqe_gen);
	me_fill(pump, entry->rqe_nr);
	rc = m0_pump__request_send(pump);
	if (rc != 0)
		return rc;
	pump->pmp_mes[entry->rqe_nr] = entry->rqe_gen;
	m0_pump__queue_begin(pump, entry->rqe_nr, entry->rqe_gen);
	return 0;
}

static int me_unlink_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	int rc;

	if (pump->pmp_mes[entry->rqe_nr] != entry->rqe_gen)
		return 0;
	rc = m0_pump__queue_end(pump, entry->rqe_nr, entry->rqe_gen);
	if (rc != 0)
		return rc;
	m0_pump__req_set(pump, M0_SHARED_ME_UNLINK, entry->rqe_nr,
			 entry->rqe_gen);
	return m0_pump__request_send(pump);
}

static int md_attach_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	int rc = m0_pump__md_fill(pump, entry->rqe_nr, entry->rqe_gen);

	if (rc != 0)
		return rc;
	m0_pump__req_set(pump, (enum m0_shared_opcode)entry->rqe_opcode,
			 entry->rqe_nr, entry->rqe_gen);
	rc = m0_pump__request_send(pump);
	if (rc == 0)
		m0_pump__md_begin(pump);
	return rc;
}

static int queue_attach_do(struct m0_pump             *pump,
			   const struct m0_ring_entry *entry)
{
	int rc;

	if (pump->pmp_direct == NULL || !m0_pump__is_open(pump))
		return md_attach_do(pump, entry);
	if (m0_pump__hold(pump, entry->rqe_nr, entry->rqe_gen))
		return 0;
	rc = md_attach_do(pump, entry);
	if (rc == 0 && m0_pump__is_open(pump))
		m0_pump__there(pump, entry->rqe_nr);
	return rc;
}

static int entry_attach_do(struct m0_pump             *pump,
			   const struct m0_ring_entry *entry)
{
	struct m0_shared_request *req = &pump->pmp_req;
	int rc = m0_pump__md_fill(pump, entry->rqe_nr, entry->rqe_gen);

	if (rc != 0)
		return rc;
	me_fill(pump, req->srq_md.rmd_me);
	m0_pump__req_set(pump, M0_SHARED_ENTRY_ATTACH, req->srq_md.rmd_me,
			 req->srq_md.rmd_me_gen);
	rc = m0_pump__request_send(pump);
	if (rc != 0)
		return rc;
	pump->pmp_mes[req->srq_nr] = req->srq_gen;
	m0_pump__md_begin(pump);
	return 0;
}

static int md_unlink_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	const struct m0_pump_md *md = &pump->pmp_mds[entry->rqe_nr];

	if (md->pmd_gen != entry->rqe_gen)
		return 0;
	if (md->pmd_is_held)
		return m0_pump__held_end(pump, entry->rqe_nr);
	if (md->pmd_op != 0)
		return m0_pump__send_cancel(pump, entry->rqe_nr);
	m0_pump__req_set(pump, M0_SHARED_MD_UNLINK, entry->rqe_nr,
			 entry->rqe_gen);
	return m0_pump__request_send(pump);
}

/* ---------------------------------------------------------- PUT and GET -- */

static int move_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	uint8_t out = 0;
	int     rc;

	M0_PRE_EX(pump->pmp_ops[entry->rqe_nr].pop_gen == 0);
	if (M0_UNLIKELY(pump->pmp_direct != NULL) &&
	    (entry->rqe_opcode == M0_RING_BIND_PUT ||
	     entry->rqe_opcode == M0_RING_PUT) &&
	    m0_pump__send_takes(pump, entry->rqe_nr, entry->rqe_gen,
				entry->rqe_opcode == M0_RING_BIND_PUT, &out))
		return 0;
	rc = m0_pump__move_send(pump, entry->rqe_opcode, entry->rqe_nr,
				entry->rqe_gen);
	if (rc == 0 && out != 0 && m0_pump__is_open(pump))
		m0_pump__send_there(pump, entry->rqe_nr, out);
	return rc;
}

/* ----------------------------------------------------------------- others -- */

int m0_pump__lazy_send(struct m0_pump *pump, uint32_t portal, uint32_t bits)
{
	m0_pump__req_set(pump, M0_SHARED_LAZY, portal, 0);
	pump->pmp_req.srq_number = bits;
	pump->pmp_lazy[portal] = (bits & M0_SHARED_LAZY_WANTED) != 0;
	return m0_pump__request_send(pump);
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
	m0_pump__req_set(pump, M0_SHARED_STATS_RESET, 0, 0);
	rc = m0_pump__request_send(pump);
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
		m0_pump__req_set(pump, M0_SHARED_COPY_DONE,
				 copy->pcp_done[i].pcd_nr,
				 copy->pcp_done[i].pcd_gen);
		pump->pmp_req.srq_number = copy->pcp_done[i].pcd_errno;
		if (m0_pump__request_send(pump) != 0)
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
	m0_pump__req_set(pump, M0_SHARED_CLOSE, 0, 0);
	return m0_pump__request_send(pump);
}

static int control_do(struct m0_pump *pump, const struct m0_ring_entry *entry)
{
	const struct m0_ring_control *record =
		M0_RING_RECORD(&pump->pmp_lnet->fro_records[M0_RING_CONTROLS],
			       struct m0_ring_control, entry->rqe_nr);
	int rc;

	M0_PRE(pump->pmp_controls[entry->rqe_nr].pct_gen == 0);
	m0_pump__req_set(pump, M0_SHARED_CONTROL, entry->rqe_nr,
			 entry->rqe_gen);
	pump->pmp_req.srq_number = record->rqc_verb;
	if (m0_pump__is_open(pump))
		memcpy(m0_shared_control(pump->pmp_side, entry->rqe_nr), record,
		       sizeof *record);
	rc = m0_pump__request_send(pump);
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
		if (!m0_pump__other_may(pump))
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
	m0_pump__req_set(pump,
			 is_add ? M0_SHARED_REGION_ADD : M0_SHARED_REGION_DEL,
			 nr, pump->pmp_regions[nr - 1].prg_gen);
	pump->pmp_req.srq_number = bytes;
	rc = m0_pump__other_send(pump);
	/* call_do() has looked for room. */
	M0_ASSERT(rc == 0);
	if (!m0_pump__is_open(pump))
		m0_pump__region_result(pump, nr, is_add, -ESHUTDOWN);
}

void m0_pump__tm_do(struct m0_pump *pump, struct m0_front_tm *tm)
{
	int rc;

	M0_PRE(pump->pmp_others_nr < pump->pmp_others_max);
	m0_pump__req_set(pump,
			 tm->ftm_is_claim ? M0_SHARED_TM_CLAIM
					  : M0_SHARED_TM_RELEASE,
			 0, 0);
	pump->pmp_req.srq_tm = (struct m0_shared_tm){
		.stn_portal = tm->ftm_portal,
		.stn_tmid = tm->ftm_nr,
	};
	m0_list_add_tail(&pump->pmp_tms, &tm->ftm_link);
	rc = m0_pump__other_send(pump);
	/* call_do() has looked for room. */
	M0_ASSERT(rc == 0);
	if (!m0_pump__is_open(pump))
		m0_pump__tm_end(pump, tm->ftm_is_claim, -ESHUTDOWN);
}

static int (*const does[M0_RING_OPCODES_NR])(
	struct m0_pump *pump, const struct m0_ring_entry *entry) = {
	[M0_RING_ME_ATTACH] = me_attach_do,
	[M0_RING_ME_UNLINK] = me_unlink_do,
	[M0_RING_MD_ATTACH] = md_attach_do,
	[M0_RING_MD_UNLINK] = md_unlink_do,
	[M0_RING_QUEUE_ATTACH] = queue_attach_do,
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
	if (m0_pump__is_open(pump)) {
		m0_shared_bell(pump->pmp_side);
		m0_pump__direct_flush(pump);
	}
	return any || nr != from;
}
