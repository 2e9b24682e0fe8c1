/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Reports of the server, as events in the records of the front. The codec has checked
 * each field; whether an event may come is checked here: a server that runs wild must
 * not let the front use a slot that it has given back.
 */
#include "front/pump_internal.h"

/* ------------------------------------------------------------- PUT and GET -- */

/* The operation of a report; NULL: there is none. */
static struct m0_pump_op *op_find(struct m0_pump                *pump,
				  const struct m0_shared_report *rep)
{
	struct m0_pump_op *op;

	if (rep->shp_nr >= pump->pmp_lnet->fro_ops.fss_max)
		return NULL;
	op = &pump->pmp_ops[rep->shp_nr];
	return op->pop_gen != 0 && op->pop_gen == rep->shp_gen &&
			       op->pop_way == 0
		       ? op
		       : NULL;
}

static bool md_is_live(const struct m0_pump *pump, uint32_t nr, uint32_t gen)
{
	return nr < pump->pmp_lnet->fro_mds.fss_max && gen != 0 &&
	       pump->pmp_mds[nr].pmd_gen == gen &&
	       !pump->pmp_mds[nr].pmd_is_held && pump->pmp_mds[nr].pmd_op == 0;
}

/* The operation is done. */
static void op_done(struct m0_pump *pump, struct m0_pump_op *op)
{
	op->pop_gen = 0;
	if (M0_UNLIKELY(op->pop_out != 0))
		pump->pmp_hooks->phk_op_left(pump, op);
}

/* May the operation have this event? */
static int op_event_check(struct m0_pump *pump, const struct m0_pump_op *op,
			  const struct m0_shared_report *rep)
{
	const struct m0_ring_event *ev = &rep->shp_event;

	M0_PRE_EX(op->pop_gen == rep->shp_gen && op->pop_claims_nr > 0);
	if (rep->shp_kind == M0_SHARED_EV_SEND
		    ? op->pop_had_send
		    : !op->pop_is_answered || op->pop_had_answer)
		return m0_pump__broken(pump, "kind", rep->shp_kind,
				       "an event that the operation may have");
	if (ev->rev_md_nr != op->pop_md || ev->rev_md_gen != op->pop_md_gen)
		return m0_pump__broken(pump, "ev_md", ev->rev_md_nr,
				       "the MD of the operation");
	/* An operation may come too late for its MD, which has ended. */
	if (ev->rev_unlinked && !md_is_live(pump, op->pop_md, op->pop_md_gen))
		return m0_pump__broken(pump, "ev_unlinked", 1,
				       "0 of an MD that has ended");
	if (!rep->shp_is_last && op->pop_claims_nr < 2)
		return m0_pump__broken(pump, "ev_is_last", 0,
				       "1 of the last reserved event");
	return 0;
}

/* @return number of reserved events that are free, or -EPROTO */
static int op_event_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	bool                  second = rep->shp_kind == M0_SHARED_EV_RESPONSE;
	struct m0_pump_op    *op = op_find(pump, rep);
	struct m0_ring_op    *record;
	struct m0_ring_event *ev;
	int                   free_nr = 1;
	int                   rc;

	if (op == NULL)
		return m0_pump__broken(pump, "op", rep->shp_nr,
				       "an operation that is not done");
	rc = op_event_check(pump, op, rep);
	if (rc != 0)
		return rc;
	record = m0_front__op_record(pump->pmp_lnet, rep->shp_nr);
	ev = &record->rop_event[second];
	*ev = rep->shp_event;
	m0_pump__event_name(pump, ev, op->pop_md, op->pop_md_gen, record);
	if (second && op->pop_is_get && ev->rev_status == 0)
		m0_pump__shadow_copy(pump, op->pop_md, record->rop_md_offset,
				     ev->rev_mlength, false);
	op->pop_had_send |= !second;
	op->pop_had_answer |= second;
	if (rep->shp_is_last) {
		free_nr = op->pop_claims_nr;
		op_done(pump, op);
	} else {
		--op->pop_claims_nr;
	}
	if (ev->rev_unlinked) {
		m0_pump__md_end(pump, op->pop_md);
		++free_nr;
	}
	m0_pump__post(pump, rep->shp_kind, rep->shp_nr, 0, rep->shp_is_last);
	return free_nr;
}

static int done_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	struct m0_pump_op *op = op_find(pump, rep);

	if (op == NULL)
		return m0_pump__broken(pump, "op", rep->shp_nr,
				       "an operation that is not done");
	op_done(pump, op);
	m0_pump__post(pump, M0_RING_DONE, rep->shp_nr, 0, false);
	return op->pop_claims_nr;
}

/* -------------------------------------------------------- incoming messages -- */

/* Messages that the application has taken, of those that the server has put. */
static uint32_t taken_nr(const struct m0_pump_eq *peq,
			 const struct m0_ring_eq *record)
{
	uint32_t nr = __atomic_load_n(&record->req_taken_nr, __ATOMIC_RELAXED) -
		      peq->peq_before_nr;

	/* Some of an attachment before may be left. */
	return (int32_t)nr < 0 ? 0 : nr;
}

/* One more message for the queue of an MD. */
static int eq_count(struct m0_pump *pump, uint32_t eq)
{
	struct m0_pump_eq *peq;
	struct m0_ring_eq *record;

	M0_PRE(eq <= pump->pmp_eqs_end);
	if (eq == 0)
		return 0;
	peq = &pump->pmp_eqs[eq - 1];
	record = m0_front__eq_record(pump->pmp_lnet, eq - 1);
	if (record->req_is_bounded &&
	    peq->peq_had_nr - taken_nr(peq, record) >= record->req_max)
		return m0_pump__broken(pump, "eq", eq - 1,
				       "an event queue that has room");
	++peq->peq_had_nr;
	__atomic_store_n(&record->req_accepted_nr,
			 peq->peq_before_nr + peq->peq_had_nr,
			 __ATOMIC_RELAXED);
	return 0;
}

/* @return as op_event_do(), -EAGAIN: there is no record. */
static int incoming_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	uint32_t                 md = rep->shp_event.rev_md_nr;
	uint32_t                 gen = rep->shp_event.rev_md_gen;
	bool                     ends = rep->shp_event.rev_unlinked;
	struct m0_ring_incoming *record;
	uint32_t                 nr;
	int                      rc;

	if (!md_is_live(pump, md, gen))
		return m0_pump__broken(pump, "ev_md", md,
				       "an MD that has not ended");
	record = m0_pump__incoming_get(pump, &nr);
	if (record == NULL)
		return -EAGAIN;
	rc = eq_count(pump, pump->pmp_mds[md].pmd_eq);
	if (rc != 0)
		return rc;
	record->rin_event = rep->shp_event;
	record->rin_event.rev_offset += pump->pmp_mds[md].pmd_used;
	if (rep->shp_event.rev_type == M0_LNET_EV_PUT &&
	    rep->shp_event.rev_status == 0)
		m0_pump__shadow_copy(pump, md, record->rin_event.rev_offset,
				     rep->shp_event.rev_mlength, false);
	m0_pump__event_name(pump, &record->rin_event, md, gen, NULL);
	if (ends)
		m0_pump__md_end(pump, md);
	m0_pump__post(pump, M0_RING_EV_INCOMING, nr, 0, false);
	return ends;
}

void m0_pump__eqs_copy(struct m0_pump *pump)
{
	struct m0_ring_eq   *record;
	struct m0_shared_eq *shared;
	uint32_t             taken;
	uint32_t             nr;

	for (nr = 0; nr < pump->pmp_eqs_end; ++nr) {
		const struct m0_pump_eq *peq = &pump->pmp_eqs[nr];

		if (peq->peq_gen == 0)
			continue;
		record = m0_front__eq_record(pump->pmp_lnet, nr);
		shared = &pump->pmp_side->shs_eqs[nr];
		/* The front has had all events of a queue without a bound. */
		taken = record->req_is_bounded ? taken_nr(peq, record)
					       : peq->peq_had_nr;
		__atomic_store_n(&shared->seq_taken_nr, taken,
				 __ATOMIC_RELAXED);
		__atomic_store_n(
			&record->req_dropped_nr,
			peq->peq_dropped_nr +
				__atomic_load_n(&shared->seq_dropped_nr,
						__ATOMIC_RELAXED),
			__ATOMIC_RELAXED);
	}
}

/* ------------------------------------------------------------------ ends -- */

static int unlink_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	struct m0_ring_event *ev;

	if (!md_is_live(pump, rep->shp_nr, rep->shp_gen))
		return m0_pump__broken(pump, "md", rep->shp_nr,
				       "an MD that has not ended");
	if (rep->shp_event.rev_md_nr != rep->shp_nr ||
	    rep->shp_event.rev_md_gen != rep->shp_gen)
		return m0_pump__broken(pump, "ev_md", rep->shp_event.rev_md_nr,
				       "the MD of the tag");
	ev = &m0_front__md_record(pump->pmp_lnet, rep->shp_nr)->rmd_last;
	*ev = rep->shp_event;
	m0_pump__event_name(pump, ev, rep->shp_nr, rep->shp_gen, NULL);
	m0_pump__md_end(pump, rep->shp_nr);
	m0_pump__post(pump, M0_RING_EV_UNLINK, rep->shp_nr, rep->shp_gen,
		      false);
	return 1;
}

static int me_gone_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	if (rep->shp_nr >= pump->pmp_lnet->fro_mes.fss_max ||
	    rep->shp_gen == 0 || pump->pmp_mes[rep->shp_nr] != rep->shp_gen)
		return m0_pump__broken(pump, "me", rep->shp_nr,
				       "an ME that has not ended");
	if (pump->pmp_hooks != NULL &&
	    pump->pmp_hooks->phk_me_end(pump, rep->shp_nr, rep->shp_gen) != 0)
		return -EAGAIN;
	pump->pmp_mes[rep->shp_nr] = 0;
	__atomic_store_n(
		&m0_front__me_record(pump->pmp_lnet, rep->shp_nr)->rme_gone, 1,
		__ATOMIC_RELEASE);
	m0_pump__post(pump, M0_RING_ME_GONE, rep->shp_nr, rep->shp_gen, false);
	return 1;
}

/* ---------------------------------------------------------------- answers -- */

/* The request that is answered; pmp_others_max: there is none. */
static unsigned other_find(const struct m0_pump *pump, uint32_t opcode,
			   uint32_t nr)
{
	unsigned i = 0;

	while (i < pump->pmp_others_max &&
	       (pump->pmp_others[i].pot_opcode != opcode ||
		pump->pmp_others[i].pot_nr != nr))
		++i;
	return i;
}

static int passed_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	unsigned i = other_find(pump, M0_SHARED_BARRIER, rep->shp_nr);

	M0_PRE_EX(rep->shp_kind == M0_SHARED_PASSED);
	if (i == pump->pmp_others_max)
		return m0_pump__broken(pump, "eq", rep->shp_nr,
				       "an event queue with a barrier");
	m0_pump__other_end(pump, i, 0);
	pump->pmp_eqs[rep->shp_nr].peq_passes = false;
	m0_pump__post(pump, M0_RING_PASSED, rep->shp_nr, 0, false);
	return 1;
}

static int result_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	unsigned i = other_find(pump, rep->shp_result.srt_opcode, rep->shp_nr);

	if (i == pump->pmp_others_max)
		return m0_pump__broken(
			pump, "result_opcode", rep->shp_result.srt_opcode,
			"the opcode of a request that has no answer");
	pump->pmp_value = rep->shp_result.srt_value;
	m0_pump__other_end(pump, i, rep->shp_result.srt_status);
	return 1;
}

static int answer_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	struct m0_pump_control *pct;
	struct m0_ring_control *answer = &pump->pmp_answer;
	int                     rc;

	if (rep->shp_nr >= pump->pmp_lnet->fro_controls.fss_max ||
	    rep->shp_gen == 0 ||
	    pump->pmp_controls[rep->shp_nr].pct_gen != rep->shp_gen)
		return m0_pump__broken(pump, "control", rep->shp_nr,
				       "a request without an answer");
	pct = &pump->pmp_controls[rep->shp_nr];
	m0_shared_copy(answer, m0_shared_control(pump->pmp_side, rep->shp_nr),
		       sizeof *answer);
	rc = m0_pump__answer_check(pump, pct->pct_verb, answer);
	if (rc != 0)
		return rc;
	*M0_RING_RECORD(&pump->pmp_lnet->fro_records[M0_RING_CONTROLS],
			struct m0_ring_control, rep->shp_nr) = *answer;
	pct->pct_gen = 0;
	m0_pump__post(pump, M0_RING_ANSWER, rep->shp_nr, 0, false);
	return 1;
}

static int (*const does[M0_SHARED_KINDS_NR])(
	struct m0_pump *pump, const struct m0_shared_report *rep) = {
	[M0_SHARED_EV_SEND] = op_event_do,
	[M0_SHARED_EV_RESPONSE] = op_event_do,
	[M0_SHARED_EV_INCOMING] = incoming_do,
	[M0_SHARED_EV_UNLINK] = unlink_do,
	[M0_SHARED_DONE] = done_do,
	[M0_SHARED_ME_GONE] = me_gone_do,
	[M0_SHARED_PASSED] = passed_do,
	[M0_SHARED_ANSWER] = answer_do,
	[M0_SHARED_RESULT] = result_do,
	[M0_SHARED_COPY] = m0_pump__copy_do,
};

bool m0_pump__up(struct m0_pump *pump)
{
	struct m0_shared_side  *side = pump->pmp_side;
	struct m0_shared_report rep;
	bool                    any = false;
	int                     rc = 0;

	M0_PRE(m0_pump__is_open(pump));
	pump->pmp_copy.pcp_bytes = 0;
	while (m0_ring_has_room(&pump->pmp_up)) {
		rc = m0_shared_report_get(side, &rep, &pump->pmp_why);
		if (rc > 0 && m0_pump__copy_waits(pump, &rep))
			break;
		if (rc > 0)
			rc = does[rep.shp_kind](pump, &rep);
		else if (rc == 0)
			break;
		if (rc < 0)
			break;
		m0_shared_release(side, 1,
				  rep.shp_kind == M0_SHARED_EV_INCOMING ||
					  rep.shp_kind == M0_SHARED_COPY);
		m0_shared_unclaim(side, (uint32_t)rc);
		any = true;
	}
	if (rc < 0 && rc != -EAGAIN)
		m0_pump__end(pump);
	return any;
}
