/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "world.h"

static struct op *op_of(struct m0_rpc_citem *item)
{
	return container_of(item, struct op, op_item);
}

static void op_end(struct op *op, enum end end)
{
	assert_int_equal(op->op_end, PENDING);
	op->op_end = end;
	op->op_formed = false;
}

static void handshake(struct world *w)
{
	struct client *c = &w->w_client;
	struct msg     msg = { .ms_incarnation = c->c_incarnation };

	if (c->c_phase == ACTIVE)
		return;
	msg.ms_kind = c->c_phase == CONNECTING ? CONN : SESS;
	msg.ms_epoch = c->c_epoch;
	msg.ms_session = c->c_session;
	msg.ms_flag = !c->c_made;
	c->c_again = w->w_now + 50 * MS;
	world_put(w, &msg);
}

static void reconnect(struct world *w)
{
	struct client *c = &w->w_client;
	unsigned       i;

	c->c_phase = CONNECTING;
	for (i = 0; i < STREAMS; ++i)
		m0_rpc_cstream_suspend(&c->c_stream[i]);
	handshake(w);
}

static void stream_step(struct world *w, unsigned stream)
{
	struct client       *c = &w->w_client;
	struct m0_rpc_citem *item;
	enum m0_rpc_ctodo    todo;

	while ((todo = m0_rpc_cstream_step(&c->c_stream[stream], w->w_now,
					   &item)) != M0_RPC_CT_NONE) {
		switch (todo) {
		case M0_RPC_CT_FORM:
		case M0_RPC_CT_RESEND:
			assert_false(op_of(item)->op_formed);
			op_of(item)->op_formed = true;
			break;
		case M0_RPC_CT_UNFORM:
			op_of(item)->op_formed = false;
			break;
		case M0_RPC_CT_CONTROL:
			c->c_control[stream] = true;
			break;
		case M0_RPC_CT_GIVE_UP:
			saw(w, SEEN_GIVE_UP);
			op_end(op_of(item), UNKNOWN);
			break;
		default:
			assert_int_equal(todo, M0_RPC_CT_STALE);
			saw(w, SEEN_STALE);
			op_end(op_of(item), UNKNOWN);
		}
	}
}

void client_step(struct world *w)
{
	unsigned i;

	for (i = 0; i < STREAMS; ++i)
		stream_step(w, i);
	if (w->w_client.c_again <= w->w_now)
		handshake(w);
}

static void request_put(struct world *w, unsigned stream,
			const struct m0_rpc_cmark *mark, unsigned op)
{
	struct msg msg = { .ms_kind = REQ,
			   .ms_epoch = w->w_client.c_epoch,
			   .ms_incarnation = w->w_client.c_incarnation,
			   .ms_session = w->w_client.c_session,
			   .ms_stream = stream,
			   .ms_xid = mark->rck_xid,
			   .ms_ack = mark->rck_ack,
			   .ms_skip = mark->rck_skip,
			   .ms_op = op };

	world_put(w, &msg);
}

void client_form(struct world *w)
{
	struct client      *c = &w->w_client;
	unsigned            stream = below(w, STREAMS);
	unsigned            start = below(w, OPS_MAX);
	struct op          *op = NULL;
	struct op          *o;
	struct m0_rpc_cmark mark;
	unsigned            i;

	if (c->c_phase != ACTIVE)
		return;
	if (c->c_control[stream]) {
		c->c_control[stream] = false;
		m0_rpc_cstream_control(&c->c_stream[stream], w->w_now, &mark);
		if (!mark.rck_skip)
			saw(w, SEEN_ACK_ALONE);
		request_put(w, stream, &mark, 0);
		return;
	}
	for (i = 0; i < w->w_ops; ++i) {
		o = &w->w_op[i];
		if (!o->op_formed || o->op_stream != stream)
			continue;
		if (op == NULL || (o->op_item.rci_xid != 0 && i > start))
			op = o;
	}
	if (op == NULL)
		return;
	op->op_formed = false;
	m0_rpc_cstream_take(&c->c_stream[stream], &op->op_item, w->w_now,
			    &mark);
	request_put(w, stream, &mark, op->op_nr);
}

static void conn_replied(struct world *w, const struct msg *msg)
{
	struct client *c = &w->w_client;

	if (c->c_phase != CONNECTING || msg->ms_incarnation != c->c_incarnation)
		return;
	assert_int_equal(msg->ms_rc, 0);
	c->c_epoch = msg->ms_epoch;
	c->c_phase = JOINING;
	handshake(w);
}

static void session_forgotten(struct world *w)
{
	struct client *c = &w->w_client;

	c->c_session++;
	c->c_made = false;
	handshake(w);
}

static void session_replied(struct world *w, const struct msg *msg)
{
	struct client *c = &w->w_client;
	unsigned       i;
	bool           fresh = !c->c_made;
	int            rc;

	if (c->c_phase != JOINING || msg->ms_epoch != c->c_epoch ||
	    msg->ms_session != c->c_session)
		return;
	if (msg->ms_flag) {
		session_forgotten(w);
		return;
	}
	c->c_made = true;
	c->c_phase = ACTIVE;
	c->c_again = M0_TIME_NEVER;
	for (i = 0; i < STREAMS; ++i) {
		rc = fresh ? m0_rpc_cstream_reset(&c->c_stream[i],
						  msg->ms_window, w->w_now)
			   : m0_rpc_cstream_resume(&c->c_stream[i],
						   msg->ms_last[i],
						   msg->ms_window, w->w_now);
		assert_int_equal(rc, 0);
		stream_step(w, i);
	}
	if (!fresh)
		saw(w, SEEN_RESUME);
}

static void replied(struct world *w, const struct msg *msg)
{
	struct client       *c = &w->w_client;
	struct m0_rpc_citem *item;
	enum m0_rpc_creply   what;

	if (msg->ms_epoch != c->c_epoch || msg->ms_session != c->c_session)
		return;
	what = m0_rpc_cstream_replied(&c->c_stream[msg->ms_stream], msg->ms_xid,
				      w->w_now, &item);
	if (what == M0_RPC_CR_ITEM) {
		if (msg->ms_rc == 0)
			assert_int_equal(op_of(item)->op_nr, msg->ms_op);
		saw(w, SEEN_DONE);
		op_end(op_of(item), msg->ms_rc == 0 ? DONE : REFUSED);
	}
	stream_step(w, msg->ms_stream);
}

void client_got(struct world *w, const struct msg *msg)
{
	switch (msg->ms_kind) {
	case CONN_REP:
		conn_replied(w, msg);
		break;
	case SESS_REP:
		session_replied(w, msg);
		break;
	case STALE_EPOCH:
		if (msg->ms_epoch == w->w_client.c_epoch &&
		    w->w_client.c_phase != CONNECTING)
			reconnect(w);
		break;
	default:
		replied(w, msg);
	}
}

void client_start(struct world *w)
{
	struct client                  *c = &w->w_client;
	const struct m0_rpc_cstream_cfg cfg = { .scc_window_max = WINDOW_MAX,
						.scc_resend_max_ns = 80 * MS,
						.scc_skip_ns = 10 * MS,
						.scc_ack_ns = 15 * MS };
	uint64_t                        incarnation = c->c_incarnation + 1;
	unsigned                        i;

	M0_SET0(c);
	c->c_incarnation = incarnation;
	c->c_session = 1;
	for (i = 0; i < STREAMS; ++i)
		assert_int_equal(m0_rpc_cstream_init(&c->c_stream[i], &cfg), 0);
	handshake(w);
}

void client_stop(struct world *w)
{
	struct m0_rpc_citem *item;
	unsigned             i;

	for (i = 0; i < STREAMS; ++i) {
		while ((item = m0_rpc_cstream_pop(&w->w_client.c_stream[i])) !=
		       NULL)
			op_end(op_of(item),
			       item->rci_xid == 0 ? UNSENT : UNKNOWN);
		m0_rpc_cstream_fini(&w->w_client.c_stream[i]);
	}
}

void client_post(struct world *w)
{
	struct op *op;

	if (w->w_ops == OPS_MAX)
		return;
	op = &w->w_op[w->w_ops];
	m0_rpc_citem_init(&op->op_item);
	op->op_nr = w->w_ops++;
	op->op_stream = below(w, STREAMS);
	op->op_fails = chance(w, 50);
	op->op_item.rci_resend_ns = 5 * MS;
	op->op_item.rci_sent_max = chance(w, 100) ? 1 + below(w, 3) : ~0ULL;
	m0_rpc_cstream_post(&w->w_client.c_stream[op->op_stream], &op->op_item,
			    w->w_now);
	stream_step(w, op->op_stream);
}

void client_cancel(struct world *w)
{
	struct op *op = &w->w_op[below(w, w->w_ops + 1)];

	if (op == &w->w_op[w->w_ops] || op->op_end != PENDING)
		return;
	op_end(op,
	       m0_rpc_cstream_drop(&w->w_client.c_stream[op->op_stream],
				   &op->op_item, w->w_now) == M0_RPC_CD_UNSENT
		       ? UNSENT
		       : UNKNOWN);
	stream_step(w, op->op_stream);
}
