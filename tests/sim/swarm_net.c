/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Buffers of all six queues, and what must be true of each. */
#include "swarm.h"

enum {
	HEAD_BYTES = 16,
	SIZE_MAX_LOG = 17,
	SEG_BYTES = 8192,
	MEET_MS = 60 * 1000
};

struct head {
	uint32_t h_nr;
	uint32_t h_pad;
	uint64_t h_length;
};

static void op_add(struct sw_op *op);

/* -- data ------------------------------------------------------------------ */

static uint8_t *at(struct sw_op *op, m0_bindex_t i)
{
	return (uint8_t *)op->o_nb.nb_buffer.ov_buf[i / SEG_BYTES] +
	       i % SEG_BYTES;
}

static uint8_t byte_of(unsigned nr, m0_bindex_t i)
{
	return (uint8_t)(nr * 37 + i * 13 + (i >> 8) * 7 + (i >> 16));
}

static void fill(struct sw_op *op)
{
	struct head head = { .h_nr = op->o_nr, .h_length = op->o_length };
	m0_bindex_t i;

	for (i = HEAD_BYTES; i < op->o_length; ++i)
		*at(op, i) = byte_of(op->o_nr, i);
	memcpy(at(op, 0), &head, sizeof head);
}

/* Returns the sender of the bytes at `offset`; fails if they are not as
 * sent. */
static struct sw_op *source_of(struct sw_op *op, m0_bindex_t offset,
			       m0_bcount_t length)
{
	struct head head;
	m0_bindex_t i;

	SW_TRUE(length >= HEAD_BYTES, "buffer %u: %lu bytes came", op->o_nr,
		(unsigned long)length);
	for (i = 0; i < HEAD_BYTES; ++i)
		((uint8_t *)&head)[i] = *at(op, offset + i);
	SW_TRUE(head.h_nr < sw.w_ops_nr && head.h_length == length,
		"buffer %u: %lu bytes, said to be %lu, from %u", op->o_nr,
		(unsigned long)length, (unsigned long)head.h_length, head.h_nr);
	for (i = HEAD_BYTES; i < length; ++i)
		SW_TRUE(*at(op, offset + i) == byte_of(head.h_nr, i),
			"buffer %u: byte %lu is wrong", op->o_nr,
			(unsigned long)i);
	return sw.w_op[head.h_nr];
}

/* -- events ------------------------------------------------------------------ */

static void look_message(struct sw_op *op, const struct m0_net_buffer_event *ev)
{
	struct sw_op *from = source_of(op, ev->nbe_offset, ev->nbe_length);

	SW_TRUE(from->o_qtype == M0_NET_QT_MSG_SEND && from->o_to == op->o_node,
		"message %u came to %s", from->o_nr, op->o_node->n_name);
	++from->o_came_nr;
	SW_TRUE(from->o_came_nr == 1 || sw.w_faults & SW_RULE_DUPLICATE,
		"message %u came twice", from->o_nr);
	SW_TRUE(strcmp(ev->nbe_ep->nep_addr, from->o_node->n_addr) == 0,
		"message %u comes from %s", from->o_nr, ev->nbe_ep->nep_addr);
}

static void look_data(struct sw_op *op, const struct m0_net_buffer_event *ev)
{
	struct sw_op *from;

	switch (op->o_qtype) {
	case M0_NET_QT_MSG_RECV:
		look_message(op, ev);
		break;
	case M0_NET_QT_PASSIVE_BULK_RECV:
		from = source_of(op, ev->nbe_offset, ev->nbe_length);
		SW_TRUE(from->o_qtype == M0_NET_QT_ACTIVE_BULK_SEND &&
				from->o_of == op,
			"buffer %u was written to by %u", op->o_nr, from->o_nr);
		break;
	case M0_NET_QT_ACTIVE_BULK_RECV:
		from = source_of(op, ev->nbe_offset, ev->nbe_length);
		SW_TRUE(from == op->o_of, "buffer %u has read %u", op->o_nr,
			from->o_nr);
		break;
	default:
		break;
	}
}

/*
 * An end that was asked for, or due, comes soon; if bytes of it are on their way
 * to a peer who does not take them, when he is given up.
 */
static void look_time(const struct sw_op *op)
{
	m0_time_t now = m0_sim_now(sw.w_sim);
	m0_time_t slack = SW_SLACK_MS * M0_TIME_ONE_MSEC + sw.w_late_ns_max +
			  sw.w_delay_ns_max;

	if (op->o_node->n_sync)
		return;
	if (!M0_IN(op->o_qtype,
		   (M0_NET_QT_MSG_RECV, M0_NET_QT_PASSIVE_BULK_RECV)))
		slack += sw.w_timeout_ms * M0_TIME_ONE_MSEC;
	SW_TRUE(op->o_timeout == M0_TIME_NEVER || now <= op->o_timeout + slack,
		"buffer %u on queue %u ends %lu ms after its time", op->o_nr,
		op->o_qtype,
		(unsigned long)((now - op->o_timeout) / M0_TIME_ONE_MSEC));
	SW_TRUE(op->o_cancelled_at == 0 || now <= op->o_cancelled_at + slack,
		"buffer %u on queue %u ends %lu ms after its cancel", op->o_nr,
		op->o_qtype,
		(unsigned long)((now - op->o_cancelled_at) / M0_TIME_ONE_MSEC));
}

static void event(const struct m0_net_buffer_event *ev)
{
	struct sw_op *op = ev->nbe_buffer->nb_app_private;

	SW_TRUE(op->o_is_added && op->o_dones == 0,
		"buffer %u has an event and is not queued", op->o_nr);
	if (ev->nbe_status == 0)
		look_data(op, ev);
	if (ev->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED)
		return;
	look_time(op);
	++op->o_dones;
	op->o_status = ev->nbe_status;
	++op->o_node->n_dones[op->o_qtype];
	if (ev->nbe_status == 0)
		++sw_sums.s_good_nr[op->o_qtype];
	else
		++sw_sums.s_failed_nr[op->o_qtype];
	if (op->o_again_nr > 0 && ev->nbe_status == 0) {
		--op->o_again_nr;
		op_add(op);
	}
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { event, event, event, event, event, event }
};

static void state_event(const struct m0_net_tm_event *ev)
{
	(void)ev;
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 state_event };

/* -- machines ---------------------------------------------------------------- */

static bool is_started(void *arg)
{
	struct sw_node *node = arg;

	return node->n_tm.ntm_state == M0_NET_TM_STARTED;
}

static bool is_stopped(void *arg)
{
	struct sw_node *node = arg;

	return node->n_tm.ntm_state == M0_NET_TM_STOPPED;
}

void sw_net_up(struct sw_node *node)
{
	struct m0_net_transfer_mc *tm = &node->n_tm;

	memset(tm, 0, sizeof *tm);
	memset(node->n_adds, 0, sizeof node->n_adds);
	memset(node->n_dones, 0, sizeof node->n_dones);
	tm->ntm_callbacks = &tm_callbacks;
	SW_TRUE(m0_net_tm_init(tm, &node->n_dom) == 0, "tm init");
	if (node->n_sync)
		SW_TRUE(m0_net_buffer_event_deliver_synchronously(tm) == 0,
			"synchronous");
	SW_TRUE(m0_net_tm_start(tm, node->n_addr) == 0, "tm start");
	sw_must_ms(is_started, node, 1000, "a machine starts");
	node->n_stopped = false;
}

static void op_free(struct sw_op *op)
{
	if (!op->o_is_there)
		return;
	op->o_is_there = false;
	SW_TRUE(m0_net_buffer_deregister(&op->o_nb, &op->o_node->n_dom) == 0,
		"buffer %u is not deregistered", op->o_nr);
	m0_net_desc_free(&op->o_nb.nb_desc);
	m0_bufvec_free(&op->o_nb.nb_buffer);
}

void sw_net_down(struct sw_node *node, bool abort)
{
	struct m0_net_qstats qs;
	unsigned             i;
	unsigned             qt;

	m0_net_tm_drain_limit_set(&node->n_tm, M0_TIME_ONE_SECOND);
	SW_TRUE(m0_net_tm_stop(&node->n_tm, abort) == 0, "tm stop");
	sw_must_ms(is_stopped, node, 1000 + sw.w_timeout_ms + SW_SLACK_MS,
		   "a machine stops");
	for (qt = 0; qt < M0_NET_QT_NR; ++qt) {
		(void)m0_net_tm_stats_get(
			&node->n_tm, (enum m0_net_queue_type)qt, &qs, false);
		SW_TRUE(qs.nqs_num_adds == node->n_adds[qt] &&
				node->n_dones[qt] == node->n_adds[qt],
			"%s, queue %u: %lu adds, %lu counted, %lu ended",
			node->n_name, qt, (unsigned long)node->n_adds[qt],
			(unsigned long)qs.nqs_num_adds,
			(unsigned long)node->n_dones[qt]);
	}
	SW_TRUE(m0_net_tm_fini(&node->n_tm) == 0, "tm fini");
	for (i = 0; i < sw.w_ops_nr; ++i)
		if (sw.w_op[i]->o_node == node)
			op_free(sw.w_op[i]);
}

/* -- buffers ----------------------------------------------------------------- */

static struct sw_op *op_new(struct sw_node *node, enum m0_net_queue_type qtype,
			    m0_bcount_t size)
{
	struct sw_op *op;

	if (sw.w_ops_nr == SW_OPS - (sw.w_is_healed ? 0 : SW_OPS_KEPT))
		return NULL;
	op = calloc(1, sizeof *op);
	op->o_nr = sw.w_ops_nr;
	sw.w_op[sw.w_ops_nr++] = op;
	op->o_node = node;
	op->o_qtype = qtype;
	op->o_size = size;
	op->o_timeout = M0_TIME_NEVER;
	SW_TRUE(m0_bufvec_alloc(&op->o_nb.nb_buffer,
				(uint32_t)((size + SEG_BYTES - 1) / SEG_BYTES),
				SEG_BYTES) == 0,
		"memory");
	SW_TRUE(m0_net_buffer_register(&op->o_nb, &node->n_dom) == 0,
		"register");
	op->o_is_there = true;
	op->o_nb.nb_app_private = op;
	op->o_nb.nb_callbacks = &callbacks;
	op->o_nb.nb_qtype = qtype;
	if (sw_one_in(2) && !sw.w_is_healed)
		op->o_timeout = m0_sim_now(sw.w_sim) +
				(1 + sw_rand(5000)) * M0_TIME_ONE_MSEC;
	++sw_sums.s_ops_nr;
	return op;
}

static void op_add(struct sw_op *op)
{
	int rc;

	op->o_nb.nb_timeout = op->o_timeout;
	op->o_dones = 0;
	op->o_is_added = true;
	++op->o_node->n_adds[op->o_qtype];
	rc = m0_net_buffer_add(&op->o_nb, &op->o_node->n_tm);
	if (rc != 0) {
		/* Time goes by, and a machine stops, between two calls. */
		SW_TRUE(rc == -ETIME || rc == -EPERM, "add of %u: %d", op->o_nr,
			rc);
		--op->o_node->n_adds[op->o_qtype];
		op->o_is_added = false;
	}
}

static m0_bcount_t any_size(void)
{
	return HEAD_BYTES + sw_rand(1ULL << sw_rand(SIZE_MAX_LOG));
}

static bool op_is_queued(const struct sw_op *op)
{
	return op->o_is_added && op->o_dones == 0;
}

void sw_recv(struct sw_node *node)
{
	struct sw_op *op =
		op_new(node, M0_NET_QT_MSG_RECV,
		       sw_one_in(3) ? any_size() : 1 << SIZE_MAX_LOG);

	if (op == NULL)
		return;
	op->o_nb.nb_min_receive_size = 1 + sw_rand(op->o_size);
	op->o_nb.nb_max_receive_msgs = 1 + (uint32_t)sw_rand(4);
	op->o_again_nr = (unsigned)sw_rand(4);
	op_add(op);
}

static void ep_put(struct m0_net_end_point *ep)
{
	SW_TRUE(m0_net_end_point_put(ep) == 0, "ep put");
}

static struct m0_net_end_point *ep_of(struct sw_node *from, struct sw_node *to)
{
	struct m0_net_end_point *ep;

	SW_TRUE(m0_net_end_point_create(&ep, &from->n_tm, to->n_addr) == 0,
		"end point");
	return ep;
}

void sw_send(struct sw_node *from, struct sw_node *to)
{
	m0_bcount_t   size = any_size();
	struct sw_op *op = op_new(from, M0_NET_QT_MSG_SEND, size);

	if (op == NULL)
		return;
	op->o_to = to;
	op->o_length = size;
	fill(op);
	op->o_nb.nb_length = size;
	op->o_nb.nb_ep = ep_of(from, to);
	op_add(op);
	ep_put(op->o_nb.nb_ep);
}

void sw_passive(struct sw_node *node)
{
	bool          sends = sw_one_in(2);
	m0_bcount_t   size = any_size();
	struct sw_op *op = op_new(node,
				  sends ? M0_NET_QT_PASSIVE_BULK_SEND
					: M0_NET_QT_PASSIVE_BULK_RECV,
				  size);

	if (op == NULL)
		return;
	if (sends) {
		op->o_length = size;
		fill(op);
		op->o_nb.nb_length = size;
	}
	op_add(op);
	if (op->o_is_added)
		SW_TRUE(m0_net_desc_copy(&op->o_nb.nb_desc, &op->o_desc) == 0,
			"descriptor");
}

static void active_for(struct sw_node *node, struct sw_op *of)
{
	bool          sends = of->o_qtype == M0_NET_QT_PASSIVE_BULK_RECV;
	struct sw_op *op;

	op = op_new(node,
		    sends ? M0_NET_QT_ACTIVE_BULK_SEND
			  : M0_NET_QT_ACTIVE_BULK_RECV,
		    of->o_size);
	if (op == NULL)
		return;
	op->o_of = of;
	if (sends) {
		op->o_length = HEAD_BYTES +
			       sw_rand(of->o_size - HEAD_BYTES + 1);
		fill(op);
		op->o_nb.nb_length = op->o_length;
	}
	SW_TRUE(m0_net_desc_copy(&of->o_desc, &op->o_nb.nb_desc) == 0,
		"descriptor");
	op_add(op);
}

void sw_active(struct sw_node *node)
{
	struct sw_op *of = NULL;
	unsigned      i;

	/* The youngest that nobody has taken; at times any. */
	for (i = sw.w_ops_nr; i-- > 0;) {
		of = sw.w_op[i];
		if (of->o_desc.nbd_len > 0 &&
		    (op_is_queued(of) || sw_one_in(8)))
			break;
		of = NULL;
	}
	if (of != NULL)
		active_for(node, of);
	else
		sw_passive(node);
}

static void op_cancel(struct sw_op *op)
{
	op->o_again_nr = 0;
	if (op_is_queued(op) && op->o_node->n_up && op->o_is_there) {
		if (op->o_cancelled_at == 0)
			op->o_cancelled_at = m0_sim_now(sw.w_sim);
		(void)m0_net_buffer_del(&op->o_nb, &op->o_node->n_tm);
	}
}

void sw_cancel(void)
{
	if (sw.w_ops_nr > 0)
		op_cancel(sw.w_op[sw_rand(sw.w_ops_nr)]);
}

void sw_ops_cancel_all(void)
{
	unsigned i;

	for (i = 0; i < sw.w_ops_nr; ++i)
		op_cancel(sw.w_op[i]);
}

/* -- ends -------------------------------------------------------------------- */

/* One that waits for a peer to speak first may wait for ever. */
static bool waits_for_peer(const struct sw_op *op)
{
	return op->o_timeout == M0_TIME_NEVER && op->o_cancelled_at == 0 &&
	       M0_IN(op->o_qtype,
		     (M0_NET_QT_MSG_RECV, M0_NET_QT_PASSIVE_BULK_RECV,
		      M0_NET_QT_PASSIVE_BULK_SEND));
}

bool sw_ops_are_over(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < sw.w_ops_nr; ++i)
		if (op_is_queued(sw.w_op[i]) && !waits_for_peer(sw.w_op[i]))
			return false;
	return true;
}

void sw_ops_check(void)
{
	unsigned i;

	for (i = 0; i < sw.w_ops_nr; ++i)
		SW_TRUE(!op_is_queued(sw.w_op[i]), "buffer %u has not ended",
			i);
}

void sw_ops_free(void)
{
	unsigned i;

	for (i = 0; i < sw.w_ops_nr; ++i) {
		m0_net_desc_free(&sw.w_op[i]->o_desc);
		free(sw.w_op[i]);
		sw.w_op[i] = NULL;
	}
	sw.w_ops_nr = 0;
}

static bool op_is_over(void *arg)
{
	const struct sw_op *op = arg;

	return !op_is_queued(op);
}

static bool message_came(void *arg)
{
	const struct sw_op *op = arg;

	return op->o_came_nr > 0;
}

/* Room for the op, even if the run has used all. */
static bool is_full(void)
{
	return sw.w_ops_nr + 8 > SW_OPS;
}

void sw_ops_meet(struct sw_node *a, struct sw_node *b)
{
	m0_time_t     end = m0_sim_now(sw.w_sim) + MEET_MS * M0_TIME_ONE_MSEC;
	struct sw_op *op;
	struct sw_op *of;
	bool          came = false;

	while (!came && !is_full()) {
		SW_TRUE(m0_sim_now(sw.w_sim) < end,
			"no message from %s to %s after faults", a->n_name,
			b->n_name);
		sw_recv(b);
		sw_recv(b);
		sw_send(a, b);
		op = sw.w_op[sw.w_ops_nr - 1];
		came = sw_wait_ms(message_came, op, 2000);
	}
	while (!is_full()) {
		SW_TRUE(m0_sim_now(sw.w_sim) < end,
			"no data from %s to %s after faults", a->n_name,
			b->n_name);
		sw_passive(b);
		of = sw.w_op[sw.w_ops_nr - 1];
		active_for(a, of);
		op = sw.w_op[sw.w_ops_nr - 1];
		(void)sw_wait_ms(op_is_over, op,
				 2 * sw.w_timeout_ms + SW_SLACK_MS);
		if (op_is_over(op) && op->o_status == 0)
			break;
	}
}
