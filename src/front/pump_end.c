/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The end of an attachment: the server is gone, has closed, or breaks the rules. What is
 * outstanding ends with events that the pump makes, each once.
 */
#include "front/pump_internal.h"
#include "m0/log.h"

/* For pump_again.c. */
static void again_begin(struct m0_pump *pump)
{
	M0_PRE(!m0_pump__is_open(pump));
	/* A daemon that breaks the rules is not looked for. */
	if (pump->pmp_why.shy_field != NULL)
		M0_FRONT_SET(pump->pmp_again.pag_gives_up, true);
	pump->pmp_again.pag_at = 0;
	m0_mutex_lock(&pump->pmp_lnet->fro_lock);
	pump->pmp_lnet->fro_embed.emb_renews = false;
	m0_mutex_unlock(&pump->pmp_lnet->fro_lock);
}

/* Nothing is copied for the server any more. */
static void copies_end(struct m0_pump *pump)
{
	uint32_t i;

	pump->pmp_copy.pcp_nr = 0;
	for (i = 0; i < pump->pmp_side->shs_cfg.shc_regions_max; ++i)
		pump->pmp_regions[i].prg_is_there = false;
}

void m0_pump__end(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	char            text[128];
	unsigned        i;

	M0_PRE(m0_pump__is_open(pump));
	__atomic_store_n(&pump->pmp_state, M0_PUMP_ENDED, __ATOMIC_RELEASE);
	pump->pmp_has_ends = true;
	copies_end(pump);
	again_begin(pump);
	m0_mutex_lock(&lnet->fro_lock);
	lnet->fro_shut = true;
	m0_mutex_unlock(&lnet->fro_lock);
	if (pump->pmp_why.shy_field != NULL)
		m0_log(M0_LOG_ERROR,
		       "the node that this process is attached to breaks the "
		       "rules, so the attachment ends: %s",
		       m0_shared_why_print(&pump->pmp_why, text, sizeof text));
	for (i = 0; i < pump->pmp_others_max && pump->pmp_others_nr > 0; ++i)
		if (pump->pmp_others[i].pot_opcode != 0)
			m0_pump__other_end(pump, i, -ESHUTDOWN);
	if (pump->pmp_hooks != NULL)
		pump->pmp_hooks->phk_end(pump);
	if (pump->pmp_host->puh_ended != NULL)
		pump->pmp_host->puh_ended(pump->pmp_arg, &pump->pmp_why);
	m0_front__runners_wake(lnet);
}

/* Has an event to come, not only DONE? */
static bool op_has_event(const struct m0_pump_op *op)
{
	return !op->pop_had_send ||
	       (op->pop_is_answered && !op->pop_had_answer);
}

static bool op_md_is_live(const struct m0_pump    *pump,
			  const struct m0_pump_op *op)
{
	return pump->pmp_mds[op->pop_md].pmd_gen == op->pop_md_gen;
}

/* Counts the operations of each MD that have an event to come. */
static void ops_count(struct m0_pump *pump)
{
	struct m0_pump_op *op;
	uint32_t           nr;

	M0_PRE_EX(!m0_pump__is_open(pump));
	for (nr = 0; nr < pump->pmp_lnet->fro_mds.fss_nr; ++nr)
		pump->pmp_mds[nr].pmd_ops_nr = 0;
	for (nr = 0; nr < pump->pmp_lnet->fro_ops.fss_nr; ++nr) {
		op = &pump->pmp_ops[nr];
		if (op->pop_gen != 0 && op_has_event(op))
			++pump->pmp_mds[op->pop_md].pmd_ops_nr;
	}
}

/* The last event of an operation; with the last one of its MD that ends, too. */
static void op_end(struct m0_pump *pump, uint32_t nr, struct m0_pump_op *op)
{
	struct m0_ring_op    *record = m0_front__op_record(pump->pmp_lnet, nr);
	bool                  second = op->pop_had_send;
	struct m0_ring_event *ev = &record->rop_event[second];
	bool ends = --pump->pmp_mds[op->pop_md].pmd_ops_nr == 0 &&
		    op_md_is_live(pump, op);

	M0_PRE(op_has_event(op));
	*ev = (struct m0_ring_event){
		.rev_type = !second          ? M0_LNET_EV_SEND
			    : op->pop_is_get ? M0_LNET_EV_REPLY
					     : M0_LNET_EV_ACK,
		.rev_status = -ESHUTDOWN,
		.rev_unlinked = ends,
		.rev_target = record->rop_target,
		.rev_portal = record->rop_portal,
		.rev_match_bits = record->rop_match_bits,
		.rev_hdr_data = record->rop_hdr_data,
		.rev_is_get = op->pop_is_get,
	};
	m0_pump__event_name(pump, ev, op->pop_md, op->pop_md_gen, record);
	if (ends)
		m0_pump__md_end(pump, op->pop_md);
	m0_pump__post(pump, second ? M0_RING_EV_RESPONSE : M0_RING_EV_SEND, nr,
		      0, true);
}

/* Each returns false if the queue to the front is full. */

static bool ops_end(struct m0_pump *pump)
{
	struct m0_pump_op *op;
	uint32_t           nr;

	for (nr = 0; nr < pump->pmp_lnet->fro_ops.fss_nr; ++nr) {
		op = &pump->pmp_ops[nr];
		if (op->pop_gen == 0)
			continue;
		if (!m0_ring_has_room(&pump->pmp_up))
			return false;
		if (op_has_event(op))
			op_end(pump, nr, op);
		else
			m0_pump__post(pump, M0_RING_DONE, nr, 0, false);
		op->pop_gen = 0;
	}
	return true;
}

static bool mds_end(struct m0_pump *pump)
{
	struct m0_ring_event *ev;
	uint32_t              nr;
	uint32_t              gen;

	for (nr = 0; nr < pump->pmp_lnet->fro_mds.fss_nr; ++nr) {
		gen = pump->pmp_mds[nr].pmd_gen;
		if (gen == 0)
			continue;
		if (!m0_ring_has_room(&pump->pmp_up))
			return false;
		ev = &m0_front__md_record(pump->pmp_lnet, nr)->rmd_last;
		*ev = (struct m0_ring_event){ .rev_type = M0_LNET_EV_UNLINK,
					      .rev_status = -ESHUTDOWN,
					      .rev_unlinked = 1 };
		m0_pump__event_name(pump, ev, nr, gen, NULL);
		m0_pump__md_end(pump, nr);
		m0_pump__post(pump, M0_RING_EV_UNLINK, nr, gen, false);
	}
	return true;
}

static bool mes_end(struct m0_pump *pump)
{
	uint32_t nr;

	for (nr = 0; nr < pump->pmp_lnet->fro_mes.fss_nr; ++nr) {
		uint32_t gen = pump->pmp_mes[nr];

		if (gen == 0)
			continue;
		if (!m0_ring_has_room(&pump->pmp_up))
			return false;
		pump->pmp_mes[nr] = 0;
		__atomic_store_n(
			&m0_front__me_record(pump->pmp_lnet, nr)->rme_gone, 1,
			__ATOMIC_RELEASE);
		m0_pump__post(pump, M0_RING_ME_GONE, nr, gen, false);
	}
	return true;
}

static bool controls_end(struct m0_pump *pump)
{
	const struct m0_ring_view *view =
		&pump->pmp_lnet->fro_records[M0_RING_CONTROLS];
	uint32_t nr;

	for (nr = 0; nr < pump->pmp_lnet->fro_controls.fss_nr; ++nr) {
		if (pump->pmp_controls[nr].pct_gen == 0)
			continue;
		if (!m0_ring_has_room(&pump->pmp_up))
			return false;
		pump->pmp_controls[nr].pct_gen = 0;
		M0_RING_RECORD(view, struct m0_ring_control, nr)->rqc_rc =
			-ESHUTDOWN;
		m0_pump__post(pump, M0_RING_ANSWER, nr, 0, false);
	}
	return true;
}

/* Behind all events. */
static bool barriers_end(struct m0_pump *pump)
{
	uint32_t nr;

	for (nr = 0; nr < pump->pmp_lnet->fro_eq_slots.fss_nr; ++nr) {
		if (!pump->pmp_eqs[nr].peq_passes)
			continue;
		if (!m0_ring_has_room(&pump->pmp_up))
			return false;
		pump->pmp_eqs[nr].peq_passes = false;
		m0_pump__post(pump, M0_RING_PASSED, nr, 0, false);
	}
	return true;
}

bool m0_pump__ends_post(struct m0_pump *pump)
{
	uint32_t put_nr = pump->pmp_up.rou_put_nr;

	M0_PRE(pump->pmp_others_nr == 0);
	M0_PRE(!m0_pump__is_open(pump));
	ops_count(pump);
	pump->pmp_has_ends = !(ops_end(pump) && mds_end(pump) &&
			       mes_end(pump) && controls_end(pump) &&
			       barriers_end(pump));
	return pump->pmp_up.rou_put_nr != put_nr;
}
