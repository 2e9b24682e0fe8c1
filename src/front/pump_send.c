/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages to neighbours: PUTs without ACK for the queue of a transfer machine. The server
 * names the neighbour; until there is a pipe, and if there is none, messages go to the server.
 *
 * Messages to one queue keep their order when the way changes: those behind the change wait
 * until the server has sent those before it, or the neighbour has taken them. A message is
 * done when the neighbour has taken it. If the neighbour hangs up, it has shown before what it
 * took, and the rest goes to the server; so each message is taken once.
 */
#include "front/pump_direct.h"
#include "m0/log.h"

enum {
	/** Time between two questions for a neighbour, at first, and at most. */
	AGAIN_NS_MIN = 2 * 1000 * 1000,
	AGAIN_NS_MAX = 1000 * 1000 * 1000,
	/** The end of a chain. */
	NO_OP = 0
};

/* ---------------------------------------------------------------- chains -- */

static void chain_add(struct m0_pump *pump, struct m0_pump_chain *chain,
		      uint32_t nr)
{
	pump->pmp_ops[nr].pop_next = NO_OP;
	if (chain->pch_last == NO_OP)
		chain->pch_first = nr + 1;
	else
		pump->pmp_ops[chain->pch_last - 1].pop_next = nr + 1;
	chain->pch_last = nr + 1;
}

static void chain_del(struct m0_pump *pump, struct m0_pump_chain *chain,
		      uint32_t nr)
{
	uint32_t *at = &chain->pch_first;
	uint32_t  before = NO_OP;

	while (*at != nr + 1) {
		M0_ASSERT(*at != NO_OP);
		before = *at;
		at = &pump->pmp_ops[before - 1].pop_next;
	}
	*at = pump->pmp_ops[nr].pop_next;
	if (chain->pch_last == nr + 1)
		chain->pch_last = before;
}

static bool is_empty(const struct m0_pump_chain *chain)
{
	return chain->pch_first == NO_OP;
}

/* --------------------------------------------------------------- messages -- */

static uint64_t op_bytes(const struct m0_pump *pump, uint32_t nr)
{
	const struct m0_ring_op *record =
		m0_front__op_record(pump->pmp_lnet, nr);

	return record->rop_bytes != 0
		       ? record->rop_bytes
		       : m0_front__md_record(pump->pmp_lnet, record->rop_md)
					 ->rmd_length -
				 record->rop_md_offset;
}

static bool is_small(const struct m0_pump *pump, uint32_t nr)
{
	uint64_t bytes = op_bytes(pump, nr);

	return bytes > 0 && bytes <= M0_PUMP_DIRECT_BYTES_MAX;
}

/* A PUT for the queue of a process of this node. */
static bool is_for_queue(const struct m0_pump *pump, uint32_t nr)
{
	const struct m0_ring_op *op = m0_front__op_record(pump->pmp_lnet, nr);

	return op->rop_portal < M0_SHARED_TM_PORTALS_MAX &&
	       op->rop_match_bits << (64 - M0_SHARED_TMID_SHIFT) == 0 &&
	       op->rop_target.lp_pid == M0_LNET_PID_LUSTRE &&
	       m0_pump__nid_is_ours(pump, &op->rop_target.lp_nid);
}

/* May it go by a pipe? Its MD begins and ends with it. */
static bool op_may(const struct m0_pump *pump, uint32_t nr)
{
	const struct m0_ring_op *op = m0_front__op_record(pump->pmp_lnet, nr);
	const struct m0_ring_md *md =
		m0_front__md_record(pump->pmp_lnet, op->rop_md);

	return op->rop_ack == 0 && md->rmd_threshold == 1 &&
	       md->rmd_auto_unlink != 0 && !m0_lnet_nid_is_any(&op->rop_self);
}

/* The last event of an operation that the server does not have. Pre: there is room. */
static void op_end(struct m0_pump *pump, uint32_t nr, int status)
{
	struct m0_pump_op    *op = &pump->pmp_ops[nr];
	struct m0_ring_op    *record = m0_front__op_record(pump->pmp_lnet, nr);
	struct m0_ring_event *ev = &record->rop_event[0];
	uint64_t              bytes = op_bytes(pump, nr);

	M0_PRE(op->pop_way != M0_PUMP_BY_SERVER);
	*ev = (struct m0_ring_event){
		.rev_type = M0_LNET_EV_SEND,
		.rev_status = status,
		.rev_unlinked = 1,
		.rev_target = record->rop_target,
		.rev_initiator = { m0_lnet_nid_any, M0_LNET_PID_LUSTRE },
		.rev_source = { m0_lnet_nid_any, M0_LNET_PID_LUSTRE },
		.rev_sender = m0_lnet_nid_any,
		.rev_portal = record->rop_portal,
		.rev_match_bits = record->rop_match_bits,
		.rev_hdr_data = record->rop_hdr_data,
		.rev_rlength = bytes,
		.rev_mlength = bytes,
		.rev_offset = record->rop_offset,
	};
	m0_pump__event_name(pump, ev, op->pop_md, op->pop_md_gen, record);
	pump->pmp_mds[op->pop_md].pmd_op = 0;
	m0_pump__md_end(pump, op->pop_md);
	op->pop_gen = 0;
	op->pop_out = 0;
	op->pop_way = M0_PUMP_BY_SERVER;
	m0_pump__post(pump, M0_RING_EV_SEND, nr, 0, true);
}

/* Puts head and payload. @return false: they do not fit now. */
static bool pipe_put(struct m0_pump *pump, struct m0_pump_out *out, uint32_t nr)
{
	const struct m0_ring_op *record =
		m0_front__op_record(pump->pmp_lnet, nr);
	struct m0_pipe     *pipe = &out->pou_conn->pnc_pipe;
	struct m0_pump_op  *op = &pump->pmp_ops[nr];
	struct m0_pump_head head = {
		.phd_bytes = (uint32_t)op_bytes(pump, nr),
		.phd_target = record->rop_target,
		.phd_source = { record->rop_self, M0_LNET_PID_LUSTRE },
		.phd_hdr_data = record->rop_hdr_data,
	};

	M0_PRE(out->pou_state == M0_PUMP_OUT_OPEN && out->pou_there_nr == 0);
	if (!m0_pipe_has_space(pipe, sizeof head + head.phd_bytes))
		return false;
	(void)m0_pipe_put(pipe, &head, sizeof head);
	m0_pump__md_copy(pump, pipe, record->rop_md, record->rop_md_offset,
			 head.phd_bytes, true);
	if (is_empty(&out->pou_sent))
		out->pou_since = m0_time_now();
	op->pop_end = pipe->pip_put;
	op->pop_way = M0_PUMP_BY_PIPE;
	chain_add(pump, &out->pou_sent, nr);
	out->pou_is_dirty = true;
	++pump->pmp_direct->pdr_sent_nr;
	return true;
}

/* ------------------------------------------------------------- neighbours -- */

static void out_close(struct m0_pump *pump, struct m0_pump_out *out, bool reset)
{
	struct m0_pump_direct *direct = pump->pmp_direct;

	if (out->pou_conn != NULL)
		direct->pdr_ops->pne_close(pump->pmp_arg, out->pou_conn, reset);
	out->pou_conn = NULL;
	out->pou_is_dirty = false;
	out->pou_state = M0_PUMP_OUT_AWAY;
	out->pou_again_ns = max64u(AGAIN_NS_MIN,
				   min64u(2 * out->pou_again_ns, AGAIN_NS_MAX));
	out->pou_again_at = m0_time_add(m0_time_now(), out->pou_again_ns);
}

/* Messages that the neighbour has not taken go to the server, before those that wait. */
static void out_fall_back(struct m0_pump *pump, struct m0_pump_out *out,
			  bool reset)
{
	uint32_t at;

	M0_PRE(out->pou_conn != NULL);
	for (at = out->pou_sent.pch_first; at != NO_OP;
	     at = pump->pmp_ops[at - 1].pop_next)
		pump->pmp_ops[at - 1].pop_way = M0_PUMP_WAITS;
	if (!is_empty(&out->pou_sent)) {
		pump->pmp_ops[out->pou_sent.pch_last - 1].pop_next =
			out->pou_waiting.pch_first;
		out->pou_waiting.pch_first = out->pou_sent.pch_first;
		if (out->pou_waiting.pch_last == NO_OP)
			out->pou_waiting.pch_last = out->pou_sent.pch_last;
		M0_SET0(&out->pou_sent);
	}
	out_close(pump, out, reset);
}

static bool is_idle(const struct m0_pump_out *out)
{
	return out->pou_state == M0_PUMP_OUT_AWAY && out->pou_there_nr == 0 &&
	       is_empty(&out->pou_waiting);
}

/* A place for a neighbour. Where messages go to the server anyhow, one is as good as
 * another. */
static struct m0_pump_out *out_new(struct m0_pump_direct *direct)
{
	unsigned i = 0;

	while (i < direct->pdr_outs_end &&
	       direct->pdr_outs[i].pou_state != M0_PUMP_OUT_NONE)
		++i;
	if (i == M0_PUMP_OUTS_MAX)
		for (i = 0;
		     i < M0_PUMP_OUTS_MAX && !is_idle(&direct->pdr_outs[i]);
		     ++i)
			;
	if (i == M0_PUMP_OUTS_MAX)
		return NULL;
	direct->pdr_outs_end = max_check(direct->pdr_outs_end, i + 1);
	return &direct->pdr_outs[i];
}

static bool is_of(const struct m0_pump_out *out, const struct m0_ring_op *op)
{
	return out->pou_state != M0_PUMP_OUT_NONE &&
	       out->pou_bits == op->rop_match_bits &&
	       out->pou_portal == op->rop_portal;
}

/* The neighbour of an operation; NULL: it is not known. */
static struct m0_pump_out *out_find(struct m0_pump_direct   *direct,
				    const struct m0_ring_op *op)
{
	struct m0_pump_out *out = &direct->pdr_outs[direct->pdr_recent];
	unsigned            i;

	if (M0_LIKELY(is_of(out, op)))
		return out;
	for (i = 0; i < direct->pdr_outs_end; ++i) {
		if (is_of(&direct->pdr_outs[i], op)) {
			direct->pdr_recent = i;
			return &direct->pdr_outs[i];
		}
	}
	return NULL;
}

/* NULL: there are too many. */
static struct m0_pump_out *out_for(struct m0_pump_direct   *direct,
				   const struct m0_ring_op *op)
{
	struct m0_pump_out *out = out_find(direct, op);

	if (M0_LIKELY(out != NULL))
		return out;
	out = out_new(direct);
	if (out != NULL)
		*out = (struct m0_pump_out){ .pou_state = M0_PUMP_OUT_ASKS,
					     .pou_portal = op->rop_portal,
					     .pou_bits = op->rop_match_bits };
	return out;
}

/* Asks the server for the name. Others wait for their turn. */
static void out_ask(struct m0_pump *pump, struct m0_pump_out *out)
{
	struct m0_pump_direct *direct = pump->pmp_direct;

	if (direct->pdr_asked != NULL)
		return;
	m0_pump__req_set(pump, M0_SHARED_TM_FIND, 0, 0);
	pump->pmp_req.srq_tm = (struct m0_shared_tm){
		.stn_portal = out->pou_portal,
		.stn_tmid = (uint32_t)(out->pou_bits >> M0_SHARED_TMID_SHIFT),
	};
	if (m0_pump__other_send(pump) != 0 || !m0_pump__is_open(pump))
		return;
	direct->pdr_asked = out;
	out->pou_state = M0_PUMP_OUT_ASKED;
}

void m0_pump__found(struct m0_pump *pump, int status, uint64_t name)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	struct m0_pump_out    *out = direct == NULL ? NULL : direct->pdr_asked;
	struct m0_pump_hello   hello;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (out == NULL)
		return;
	direct->pdr_asked = NULL;
	hello = (struct m0_pump_hello){ out->pou_bits, out->pou_portal };
	if (status == 0)
		out->pou_conn =
			direct->pdr_ops->pne_dial(pump->pmp_arg, name, &hello);
	if (out->pou_conn != NULL)
		out->pou_state = M0_PUMP_OUT_DIALS;
	else
		out_close(pump, out, false);
}

/* ------------------------------------------------------------------ begin -- */

/* Is it for a pipe, now or later? Else the server gets it. */
static bool is_for_pipe(const struct m0_pump     *pump,
			const struct m0_pump_out *out, uint32_t nr)
{
	if (!is_empty(&out->pou_waiting))
		return true;
	if (out->pou_state != M0_PUMP_OUT_OPEN)
		return false;
	return is_small(pump, nr) || !is_empty(&out->pou_sent);
}

static void op_take(struct m0_pump *pump, struct m0_pump_out *out, uint32_t nr,
		    uint32_t gen)
{
	const struct m0_ring_op *record =
		m0_front__op_record(pump->pmp_lnet, nr);
	const struct m0_ring_md *md =
		m0_front__md_record(pump->pmp_lnet, record->rop_md);

	pump->pmp_mds[record->rop_md] = (struct m0_pump_md){
		.pmd_gen = record->rop_md_gen,
		.pmd_eq = md->rmd_eq,
		.pmd_op = nr + 1,
	};
	pump->pmp_ops[nr] = (struct m0_pump_op){
		.pop_gen = gen,
		.pop_md = record->rop_md,
		.pop_md_gen = record->rop_md_gen,
		.pop_way = M0_PUMP_WAITS,
		.pop_out = (uint8_t)(out - pump->pmp_direct->pdr_outs + 1),
	};
	if (!is_empty(&out->pou_waiting) || out->pou_there_nr > 0 ||
	    !is_small(pump, nr) || !pipe_put(pump, out, nr))
		chain_add(pump, &out->pou_waiting, nr);
}

bool m0_pump__send_takes(struct m0_pump *pump, uint32_t nr, uint32_t gen,
			 bool is_bind, uint8_t *ret_out)
{
	const struct m0_ring_op *record =
		m0_front__op_record(pump->pmp_lnet, nr);
	struct m0_pump_direct *direct = pump->pmp_direct;
	struct m0_pump_out    *out;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	*ret_out = 0;
	if (!m0_pump__is_open(pump) || !is_for_queue(pump, nr))
		return false;
	if (!is_bind || !op_may(pump, nr)) {
		/* Later ones that may use a pipe wait for it. */
		out = out_find(direct, record);
		if (out != NULL)
			*ret_out = (uint8_t)(out - direct->pdr_outs + 1);
		return false;
	}
	out = out_for(direct, record);
	if (out == NULL)
		return false;
	if (out->pou_state == M0_PUMP_OUT_AWAY &&
	    m0_time_now() >= out->pou_again_at)
		out->pou_state = M0_PUMP_OUT_ASKS;
	if (is_for_pipe(pump, out, nr)) {
		op_take(pump, out, nr, gen);
		return true;
	}
	*ret_out = (uint8_t)(out - direct->pdr_outs + 1);
	if (out->pou_state == M0_PUMP_OUT_ASKS)
		out_ask(pump, out);
	return false;
}

void m0_pump__send_there(struct m0_pump *pump, uint32_t nr, uint8_t out)
{
	pump->pmp_ops[nr].pop_out = out;
	if (out != 0)
		++pump->pmp_direct->pdr_outs[out - 1].pou_there_nr;
}

void m0_pump__send_left(struct m0_pump *pump, struct m0_pump_op *op)
{
	struct m0_pump_out *out = &pump->pmp_direct->pdr_outs[op->pop_out - 1];

	M0_PRE(op->pop_way == M0_PUMP_BY_SERVER && out->pou_there_nr > 0);
	--out->pou_there_nr;
	op->pop_out = 0;
}

int m0_pump__send_cancel(struct m0_pump *pump, uint32_t md)
{
	uint32_t            nr = pump->pmp_mds[md].pmd_op - 1;
	struct m0_pump_op  *op = &pump->pmp_ops[nr];
	struct m0_pump_out *out = &pump->pmp_direct->pdr_outs[op->pop_out - 1];

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (!m0_ring_has_room(&pump->pmp_up))
		return -EAGAIN;
	chain_del(pump,
		  op->pop_way == M0_PUMP_BY_PIPE ? &out->pou_sent
						 : &out->pou_waiting,
		  nr);
	/* As of the engine. One that is in the pipe may arrive. */
	op_end(pump, nr, -ETIMEDOUT);
	pump->pmp_direct->pdr_is_posted = true;
	return 0;
}

/* ------------------------------------------------------------------- step -- */

bool m0_pump__out_is_due(const struct m0_pump     *pump,
			 const struct m0_pump_out *out)
{
	return !is_empty(&out->pou_sent) &&
	       (int64_t)(out->pou_conn->pnc_pipe.pip_out_taken -
			 pump->pmp_ops[out->pou_sent.pch_first - 1].pop_end) >=
		       0;
}

/* Ends what the neighbour has taken. */
static bool sent_end(struct m0_pump *pump, struct m0_pump_out *out)
{
	struct m0_pipe *pipe = &out->pou_conn->pnc_pipe;
	bool            any = false;

	M0_PRE(out->pou_state == M0_PUMP_OUT_OPEN);
	/* Also of messages that were cancelled: it is no news after that. */
	if (m0_pipe_unsent(pipe) < 0)
		return false;
	while (m0_pump__out_is_due(pump, out) &&
	       m0_ring_has_room(&pump->pmp_up)) {
		uint32_t nr = out->pou_sent.pch_first - 1;

		chain_del(pump, &out->pou_sent, nr);
		op_end(pump, nr, 0);
		any = true;
	}
	if (any) {
		out->pou_since = 0;
		out->pou_again_ns = 0;
	}
	return any;
}

/* The server gets an operation that waited. @retval -EAGAIN */
static int op_give(struct m0_pump *pump, struct m0_pump_out *out, uint32_t nr)
{
	struct m0_pump_op *op = &pump->pmp_ops[nr];
	struct m0_pump_md *md = &pump->pmp_mds[op->pop_md];
	uint32_t           next = op->pop_next;
	uint32_t           gen = md->pmd_gen;

	M0_PRE(md->pmd_op == nr + 1 && is_empty(&out->pou_sent));
	/* The operation begins anew, with its MD. */
	md->pmd_gen = 0;
	if (m0_pump__move_send(pump, M0_RING_BIND_PUT, nr, op->pop_gen) != 0) {
		md->pmd_gen = gen;
		return -EAGAIN;
	}
	if (!m0_pump__is_open(pump))
		return -EAGAIN;
	out->pou_waiting.pch_first = next;
	if (next == NO_OP)
		out->pou_waiting.pch_last = NO_OP;
	m0_pump__send_there(pump, nr,
			    (uint8_t)(out - pump->pmp_direct->pdr_outs + 1));
	return 0;
}

static bool waiting_send(struct m0_pump *pump, struct m0_pump_out *out)
{
	bool any = false;

	while (!is_empty(&out->pou_waiting)) {
		uint32_t nr = out->pou_waiting.pch_first - 1;
		uint32_t next = pump->pmp_ops[nr].pop_next;

		if (out->pou_state == M0_PUMP_OUT_OPEN && is_small(pump, nr)) {
			if (out->pou_there_nr > 0 || !pipe_put(pump, out, nr))
				break;
			out->pou_waiting.pch_first = next;
			if (next == NO_OP)
				out->pou_waiting.pch_last = NO_OP;
		} else if (!is_empty(&out->pou_sent) ||
			   op_give(pump, out, nr) != 0) {
			break;
		}
		any = true;
	}
	return any;
}

static bool out_is_ended(struct m0_pump_out *out)
{
	return out->pou_conn->pnc_is_dead ||
	       m0_pipe_is_ended(&out->pou_conn->pnc_pipe);
}

static bool out_step(struct m0_pump *pump, struct m0_pump_out *out)
{
	char text[M0_PIPE_WHY_BYTES];
	bool any = false;

	if (out->pou_state == M0_PUMP_OUT_OPEN) {
		/* Before the look: what it has taken before its end is found. */
		bool ended = out_is_ended(out);
		bool is_flawed;

		any = sent_end(pump, out);
		is_flawed = out->pou_conn->pnc_pipe.pip_flaw != NULL;
		if (is_flawed)
			m0_log(M0_LOG_WARN,
			       "a process of this host that takes messages "
			       "breaks the rules, and is disconnected: %s",
			       m0_pipe_why(&out->pou_conn->pnc_pipe, text));
		/* Without room for events more may be there to be ended. */
		if (is_flawed || (ended && m0_ring_has_room(&pump->pmp_up))) {
			out_fall_back(pump, out, is_flawed);
			any = true;
		}
	}
	if (!is_empty(&out->pou_waiting))
		any |= waiting_send(pump, out);
	return any;
}

bool m0_pump__outs_step(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;
	bool                   any = false;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	for (i = 0; i < direct->pdr_outs_end && m0_pump__is_open(pump); ++i)
		any |= out_step(pump, &direct->pdr_outs[i]);
	return any;
}

/* ------------------------------------------------------------------- look -- */

/* The neighbour may still take what is in the pipe, so nobody else gets that. */
static void sent_abandon(struct m0_pump *pump, struct m0_pump_out *out)
{
	while (!is_empty(&out->pou_sent) && m0_ring_has_room(&pump->pmp_up)) {
		uint32_t nr = out->pou_sent.pch_first - 1;

		chain_del(pump, &out->pou_sent, nr);
		op_end(pump, nr, -ETIMEDOUT);
	}
	if (is_empty(&out->pou_sent))
		out_close(pump, out, false);
}

static void out_look(struct m0_pump *pump, struct m0_pump_out *out,
		     m0_time_t now)
{
	m0_time_t ns = pump->pmp_lnet->fro_cfg.lc_transaction_timeout_ms *
		       M0_TIME_ONE_MSEC;

	switch (out->pou_state) {
	case M0_PUMP_OUT_ASKS:
		out_ask(pump, out);
		break;
	case M0_PUMP_OUT_DIALS:
		if (out->pou_conn->pnc_is_open)
			out->pou_state = M0_PUMP_OUT_OPEN;
		else if (out->pou_conn->pnc_is_dead)
			out_close(pump, out, false);
		break;
	case M0_PUMP_OUT_OPEN:
		if (is_empty(&out->pou_sent))
			break;
		if (out->pou_since == 0)
			out->pou_since = now;
		else if (now >= m0_time_add(out->pou_since, ns))
			sent_abandon(pump, out);
		break;
	default:
		break;
	}
}

void m0_pump__outs_look(struct m0_pump *pump, m0_time_t now)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	for (i = 0; i < direct->pdr_outs_end && m0_pump__is_open(pump); ++i)
		out_look(pump, &direct->pdr_outs[i], now);
}
