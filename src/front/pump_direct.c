/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages between neighbours: life, sleep, and what both sides need.
 */
#include "front/pump_direct.h"

enum {
	/** Time between two looks at the connections, by a thread that polls. */
	LOOK_NS = 10 * 1000 * 1000
};

static void direct_end(struct m0_pump *pump);

static const struct m0_pump_hooks hooks = {
	.phk_end = direct_end,
	.phk_md_left = m0_pump__left,
	.phk_op_left = m0_pump__send_left,
	.phk_me_end = m0_pump__queue_end,
	.phk_found = m0_pump__found,
};

int m0_pump__direct_make(struct m0_pump *pump)
{
	M0_PRE(pump->pmp_direct == NULL);
	if (pump->pmp_host->puh_near == NULL)
		return 0;
	M0_ALLOC_PTR(pump->pmp_direct);
	if (pump->pmp_direct == NULL)
		return -ENOMEM;
	pump->pmp_direct->pdr_ops = pump->pmp_host->puh_near;
	pump->pmp_direct->pdr_patience = M0_TIME_ONE_MSEC;
	pump->pmp_hooks = &hooks;
	return 0;
}

void m0_pump__direct_free(struct m0_pump *pump)
{
	m0_free0(&pump->pmp_direct);
}

/* Operations and MDs end with all others. */
static void direct_end(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;
	uint32_t               nr;

	M0_PRE(!m0_pump__is_open(pump));
	for (i = 0; i < direct->pdr_ins_end; ++i)
		if (direct->pdr_ins[i].pin_conn != NULL)
			m0_pump__in_close(pump, &direct->pdr_ins[i], false);
	for (i = 0; i < direct->pdr_outs_end; ++i)
		if (direct->pdr_outs[i].pou_conn != NULL)
			direct->pdr_ops->pne_close(pump->pmp_arg,
						   direct->pdr_outs[i].pou_conn,
						   false);
	for (nr = 0; nr < pump->pmp_lnet->fro_mds.fss_nr; ++nr) {
		pump->pmp_mds[nr].pmd_queue = 0;
		pump->pmp_mds[nr].pmd_op = 0;
		pump->pmp_mds[nr].pmd_is_held = false;
	}
	for (nr = 0; nr < pump->pmp_lnet->fro_ops.fss_nr; ++nr) {
		pump->pmp_ops[nr].pop_way = M0_PUMP_BY_SERVER;
		pump->pmp_ops[nr].pop_out = 0;
	}
	M0_SET_ARR0(direct->pdr_queues);
	M0_SET_ARR0(direct->pdr_ins);
	M0_SET_ARR0(direct->pdr_outs);
	direct->pdr_ins_end = 0;
	direct->pdr_outs_end = 0;
	direct->pdr_recent = 0;
	direct->pdr_asked = NULL;
	direct->pdr_held_nr = 0;
	direct->pdr_gives_back = false;
	direct->pdr_recalls_nr = 0;
	direct->pdr_sleeps = false;
	direct->pdr_waits_room = false;
	direct->pdr_looks_again = false;
}

/* ------------------------------------------------------------------ step -- */

void m0_pump__direct_look(struct m0_pump *pump, m0_time_t now)
{
	struct m0_pump_direct *direct = pump->pmp_direct;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (M0_LIKELY(direct == NULL || now < direct->pdr_look_at))
		return;
	direct->pdr_look_at = m0_time_add(now, LOOK_NS);
	if (!m0_pump__is_open(pump))
		return;
	direct->pdr_looks_again = direct->pdr_ops->pne_look(pump->pmp_arg);
	m0_pump__ins_step(pump);
	m0_pump__outs_look(pump, now);
}

void m0_pump__direct_before(struct m0_pump *pump)
{
	if (M0_UNLIKELY(pump->pmp_direct != NULL))
		m0_pump__ins_look(pump);
}

bool m0_pump__direct_after(struct m0_pump *pump)
{
	bool waited = pump->pmp_waits_room;
	bool any = false;

	if (M0_LIKELY(pump->pmp_direct == NULL) || !m0_pump__is_open(pump))
		return false;
	pump->pmp_waits_room = false;
	any |= m0_pump__hold_step(pump);
	any |= m0_pump__ins_take(pump);
	any |= m0_pump__outs_step(pump);
	/* Apart: m0_pump__down() begins anew with the entries of the front. */
	pump->pmp_direct->pdr_waits_room = pump->pmp_waits_room;
	pump->pmp_waits_room |= waited;
	return any;
}

m0_time_t m0_pump__direct_next(const struct m0_pump *pump)
{
	const struct m0_pump_direct *direct = pump->pmp_direct;
	const m0_time_t ns = pump->pmp_lnet->fro_cfg.lc_transaction_timeout_ms *
			     M0_TIME_ONE_MSEC;
	m0_time_t next = M0_TIME_NEVER;
	unsigned  i;

	if (M0_UNLIKELY(direct != NULL && direct->pdr_looks_again))
		return direct->pdr_look_at;
	for (i = 0; direct != NULL && i < direct->pdr_outs_end; ++i) {
		if (direct->pdr_outs[i].pou_sent.pch_first != 0)
			return direct->pdr_look_at;
		/* Other threads may send, and do not wake this one for it: it is
		 * there in time for the time-out of what they have sent. */
		if (direct->pdr_outs[i].pou_state == M0_PUMP_OUT_OPEN)
			next = m0_time_add(direct->pdr_look_at, ns);
	}
	return next;
}

bool m0_pump__direct_posted(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	bool                   posted = direct != NULL && direct->pdr_is_posted;

	if (posted)
		direct->pdr_is_posted = false;
	return posted;
}

bool m0_pump__direct_waits_room(const struct m0_pump *pump)
{
	return pump->pmp_direct != NULL && pump->pmp_direct->pdr_waits_room;
}

void m0_pump__direct_flush(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	for (i = 0; direct != NULL && i < direct->pdr_outs_end; ++i) {
		struct m0_pump_out *out = &direct->pdr_outs[i];

		if (!out->pou_is_dirty)
			continue;
		out->pou_is_dirty = false;
		m0_pump__counts_show(pump);
		m0_pipe_commit(&out->pou_conn->pnc_pipe);
		if (m0_pipe_bell(&out->pou_conn->pnc_pipe))
			direct->pdr_ops->pne_ring(pump->pmp_arg, out->pou_conn);
	}
}

/* ----------------------------------------------------------------- sleep -- */

bool m0_pump__direct_has_work(const struct m0_pump *pump)
{
	const struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned                     i;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (M0_LIKELY(direct == NULL))
		return false;
	if (!direct->pdr_waits_room &&
	    (direct->pdr_gives_back || m0_pump__is_recalled(pump)))
		return true;
	for (i = 0; i < direct->pdr_ins_end; ++i) {
		const struct m0_pump_in *in = &direct->pdr_ins[i];

		if (m0_pump__in_is_open(in) &&
		    (in->pin_has_head ||
		     m0_pipe_has(&in->pin_conn->pnc_pipe, M0_PIPE_INPUT)))
			return true;
	}
	for (i = 0; i < direct->pdr_outs_end; ++i) {
		const struct m0_pump_out *out = &direct->pdr_outs[i];

		if (out->pou_state == M0_PUMP_OUT_OPEN &&
		    (m0_pump__out_is_due(pump, out) ||
		     m0_pipe_has(&out->pou_conn->pnc_pipe, M0_PIPE_SPACE) ||
		     m0_pipe_is_ended(&out->pou_conn->pnc_pipe)))
			return true;
	}
	return false;
}

/* Neighbours are to ring, in both directions. */
static bool words_set(struct m0_pump_direct *direct)
{
	unsigned i;

	for (i = 0; i < direct->pdr_ins_end; ++i)
		if (m0_pump__in_is_open(&direct->pdr_ins[i]) &&
		    !m0_pipe_sleep(&direct->pdr_ins[i].pin_conn->pnc_pipe,
				   M0_PIPE_INPUT))
			return false;
	for (i = 0; i < direct->pdr_outs_end; ++i)
		if (direct->pdr_outs[i].pou_state == M0_PUMP_OUT_OPEN &&
		    !m0_pipe_sleep(&direct->pdr_outs[i].pou_conn->pnc_pipe,
				   M0_PIPE_SPACE))
			return false;
	return true;
}

void m0_pump__direct_wake(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (M0_LIKELY(direct == NULL || !direct->pdr_sleeps))
		return;
	direct->pdr_sleeps = false;
	/* Something may have come by the sockets. */
	direct->pdr_look_at = 0;
	for (i = 0; i < direct->pdr_ins_end; ++i)
		if (m0_pump__in_is_open(&direct->pdr_ins[i]))
			m0_pipe_wake(&direct->pdr_ins[i].pin_conn->pnc_pipe);
	for (i = 0; i < direct->pdr_outs_end; ++i)
		if (direct->pdr_outs[i].pou_state == M0_PUMP_OUT_OPEN)
			m0_pipe_wake(&direct->pdr_outs[i].pou_conn->pnc_pipe);
}

bool m0_pump__direct_sleep(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	bool                   ok;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (M0_LIKELY(direct == NULL) || !m0_pump__is_open(pump))
		return true;
	direct->pdr_sleeps = true;
	ok = words_set(direct) && !m0_pump__direct_has_work(pump);
	if (!ok)
		m0_pump__direct_wake(pump);
	return ok;
}
