/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both halves of update streams, joined by a network that loses, repeats and
 * reorders, with clients and servers that crash: random schedules in virtual
 * time, and after each a checker of what the store has.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/rand.h"
#include "rpc/core/cstream.h"
#include "rpc/core/record.h"
#include "rpc/core/sstream.h"
#include "lib/store_crash.h"

enum {
	STREAMS = 2,
	WINDOW_MAX = 6,
	OPS_MAX = 48,
	MSGS_MAX = 96,
	HELD_MAX = 5,
	MS = 1000000,
	FAIR_STEPS_MAX = 40000,
	SEEDS = 3000
};

/** How an operation has ended for who posted it. */
enum end {
	PENDING = 0,
	/** Its reply says it was done; not done. */
	DONE,
	REFUSED,
	/** Nobody was told; never sent. */
	UNKNOWN,
	UNSENT
};

struct op {
	struct m0_rpc_citem op_item;
	unsigned            op_nr;
	unsigned            op_stream;
	enum end            op_end;
	bool                op_formed;
	/** Its handler wants it undone. */
	bool op_fails;
	/** Commits that held it, in all lives. */
	unsigned op_done_nr;
};

enum kind {
	CONN,
	CONN_REP,
	SESS,
	SESS_REP,
	STALE_EPOCH,
	REQ,
	REP
};

struct msg {
	enum kind ms_kind;
	uint64_t  ms_epoch;
	uint64_t  ms_incarnation;
	uint64_t  ms_session;
	unsigned  ms_stream;
	uint64_t  ms_xid;
	uint64_t  ms_ack;
	bool      ms_skip;
	/** SESS: make it. SESS_REP: it is unknown. */
	bool     ms_flag;
	unsigned ms_op;
	int      ms_rc;
	uint32_t ms_window;
	uint64_t ms_last[STREAMS];
};

enum phase {
	CONNECTING,
	JOINING,
	ACTIVE
};

struct client {
	uint64_t              c_incarnation;
	uint64_t              c_session;
	uint64_t              c_epoch;
	bool                  c_made;
	enum phase            c_phase;
	m0_time_t             c_again;
	struct m0_rpc_cstream c_stream[STREAMS];
	/** Their control items are in the formation. */
	bool c_control[STREAMS];
};

struct world;

/** The job of an update, or of a handshake. */
struct job {
	struct m0_rpc_store_job j_job;
	struct world           *j_world;
	/** Of this life of the server and client; else nobody is told. */
	uint64_t   j_epoch;
	unsigned   j_stream;
	uint64_t   j_xid;
	unsigned   j_op;
	struct msg j_msg;
	bool       j_busy;
};

struct server {
	uint64_t              s_epoch;
	uint64_t              s_client;
	uint64_t              s_session;
	uint64_t              s_session_top;
	bool                  s_has;
	bool                  s_pending;
	struct m0_rpc_sstream s_stream[STREAMS];
	struct m0_rpc_sbudget s_budget;
};

struct world {
	struct m0_rand     w_rand;
	m0_time_t          w_now;
	bool               w_fair;
	bool               w_volatile;
	bool               w_faulty;
	uint32_t           w_window;
	uint64_t           w_epochs;
	struct client      w_client;
	struct server      w_server;
	struct store_crash w_store;
	struct op          w_op[OPS_MAX];
	unsigned           w_ops;
	struct msg         w_msg[MSGS_MAX];
	unsigned           w_msgs;
	struct job         w_job[OPS_MAX * 4];
	/** Replies and bodies that the server keeps. */
	int w_kept;
	int w_kept_max;
	/** What schedules have reached, over all. */
	unsigned *w_seen;
};

/** Schedules are worth something only if they meet these. */
enum seen {
	SEEN_REPLAY,
	SEEN_HOLD,
	SEEN_IGNORE,
	SEEN_BUSY,
	SEEN_SKIPPED,
	SEEN_GIVE_UP,
	SEEN_STALE,
	SEEN_RESUME,
	SEEN_FAILED_COMMIT,
	SEEN_RESTORED,
	SEEN_FENCED,
	SEEN_ACK_ALONE,
	SEEN_DONE,
	SEEN_NR
};

static struct world           *the_world;
static const struct m0_uint128 uuid = { .u_hi = 7, .u_lo = 9 };

static bool chance(struct world *w, unsigned permille)
{
	return m0_rand_chance(&w->w_rand, permille);
}

static unsigned below(struct world *w, unsigned max)
{
	return (unsigned)m0_rand_below(&w->w_rand, max);
}

static void saw(struct world *w, enum seen what)
{
	w->w_seen[what]++;
}

/* ----------------------------------------------------------- network -- */

static void put(struct world *w, const struct msg *msg)
{
	unsigned copies = w->w_fair        ? 1
			  : chance(w, 150) ? 0
			  : chance(w, 150) ? 2
					   : 1;

	for (; copies > 0 && w->w_msgs < MSGS_MAX; --copies)
		w->w_msg[w->w_msgs++] = *msg;
}

static bool take(struct world *w, struct msg *ret)
{
	unsigned at;

	if (w->w_msgs == 0)
		return false;
	at = below(w, w->w_msgs);
	*ret = w->w_msg[at];
	w->w_msg[at] = w->w_msg[--w->w_msgs];
	return true;
}

/* ------------------------------------------------------------ client -- */

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
	put(w, &msg);
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

static void client_step(struct world *w)
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

	put(w, &msg);
}

/** One item of the formation leaves: of first ones the oldest, else any. */
static void form(struct world *w)
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

static void client_got(struct world *w, const struct msg *msg)
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

static void client_start(struct world *w)
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

static void client_stop(struct world *w)
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

static void post(struct world *w)
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

static void cancel(struct world *w)
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

/* ------------------------------------------------------------ server -- */

/** Bodies and replies are an operation's number and one, so not NULL. */
static void *handle_of(unsigned op)
{
	return (void *)(uintptr_t)(op + 1);
}

static unsigned op_of_handle(const void *handle)
{
	return (unsigned)((uintptr_t)handle - 1);
}

static void dropped(struct m0_rpc_sstream *stream, void *handle)
{
	(void)stream;
	assert_non_null(handle);
	the_world->w_kept--;
}

static const struct m0_rpc_sstream_ops server_ops = {
	.sso_body_drop = dropped,
	.sso_reply_drop = dropped,
};

static struct job *job_new(struct world *w)
{
	unsigned i;

	for (i = 0; w->w_job[i].j_busy; ++i)
		assert_true(i + 1 < ARRAY_SIZE(w->w_job));
	M0_SET0(&w->w_job[i]);
	w->w_job[i].j_busy = true;
	w->w_job[i].j_world = w;
	w->w_job[i].j_epoch = w->w_server.s_epoch;
	return &w->w_job[i];
}

static void answer(struct world *w, unsigned stream, uint64_t xid, unsigned op,
		   int rc)
{
	struct msg msg = { .ms_kind = REP,
			   .ms_epoch = w->w_server.s_epoch,
			   .ms_session = w->w_server.s_session,
			   .ms_stream = stream,
			   .ms_xid = xid,
			   .ms_op = op,
			   .ms_rc = rc };

	put(w, &msg);
}

/** Appends the operation's number to its stream's log. */
static int log_append(struct m0_rpc_tx *tx, unsigned stream, unsigned op)
{
	uint8_t             key[3] = { 1, (uint8_t)stream, 0 };
	struct m0_rpc_slice k = { key, sizeof key };
	struct m0_rpc_slice v;
	uint8_t             value = (uint8_t)op;

	while (m0_rpc_tx_get(tx, k, &v) == 0)
		key[2]++;
	v = (struct m0_rpc_slice){ &value, 1 };
	return m0_rpc_tx_put(tx, k, v);
}

static int update_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct job                *j = container_of(job, struct job, j_job);
	struct server             *s = &j->j_world->w_server;
	struct m0_rpc_record_reply rec = {
		.rrr_session = s->s_session,
		.rrr_stream = j->j_stream,
		.rrr_window = s->s_stream[j->j_stream].rss_window,
		.rrr_xid = j->j_xid,
		.rrr_ack = s->s_stream[j->j_stream].rss_ack
	};
	uint8_t value[M0_RPC_RECORD_HEAD + 1];
	int     rc = log_append(tx, j->j_stream, j->j_op);

	if (rc != 0)
		return rc;
	if (j->j_world->w_op[j->j_op].op_fails)
		return -EDOM;
	value[M0_RPC_RECORD_HEAD] = (uint8_t)j->j_op;
	/* It may be acknowledged already, after a restart. */
	rec.rrr_ack = min64u(rec.rrr_ack, rec.rrr_xid);
	return m0_rpc_record_reply_put(tx, uuid, &rec, value, sizeof value);
}

static void server_next(struct world *w, unsigned stream);

static void update_done(struct m0_rpc_store_job *job, int rc)
{
	struct job    *j = container_of(job, struct job, j_job);
	struct world  *w = j->j_world;
	struct server *s = &w->w_server;

	j->j_busy = false;
	if (rc != 0)
		saw(w, SEEN_FAILED_COMMIT);
	if (j->j_epoch != s->s_epoch)
		return;
	if (rc == 0)
		w->w_kept++;
	m0_rpc_sstream_executed(&s->s_stream[j->j_stream], j->j_xid,
				rc == 0 ? handle_of(j->j_op) : NULL, 1, rc);
	answer(w, j->j_stream, j->j_xid, j->j_op, rc);
	server_next(w, j->j_stream);
}

static void execute(struct world *w, unsigned stream,
		    const struct m0_rpc_sanswer *ans)
{
	struct job *j = job_new(w);

	w->w_kept--;
	j->j_stream = stream;
	j->j_xid = ans->rsa_xid;
	j->j_op = op_of_handle(ans->rsa_body);
	j->j_job.sj_run = update_run;
	j->j_job.sj_done = update_done;
	w->w_store.stc_store.rst_ops->rso_exec(&w->w_store.stc_store,
					       &j->j_job);
}

static void server_do(struct world *w, unsigned stream,
		      enum m0_rpc_saction          action,
		      const struct m0_rpc_sanswer *ans)
{
	switch (action) {
	case M0_RPC_SA_EXECUTE:
		execute(w, stream, ans);
		return;
	case M0_RPC_SA_SKIPPED:
		saw(w, SEEN_SKIPPED);
		answer(w, stream, ans->rsa_xid, 0, ans->rsa_rc);
		return;
	case M0_RPC_SA_HOLD:
		saw(w, SEEN_HOLD);
		return;
	case M0_RPC_SA_REPLAY:
		saw(w, SEEN_REPLAY);
		if (ans->rsa_reply != NULL)
			answer(w, stream, ans->rsa_xid,
			       op_of_handle(ans->rsa_reply), 0);
		else
			answer(w, stream, ans->rsa_xid, 0, ans->rsa_rc);
		return;
	case M0_RPC_SA_BUSY:
		saw(w, SEEN_BUSY);
		return;
	default:
		/* This client never oversteps. */
		assert_int_equal(action, M0_RPC_SA_IGNORE);
		saw(w, SEEN_IGNORE);
	}
}

static void server_next(struct world *w, unsigned stream)
{
	struct m0_rpc_sanswer ans;
	enum m0_rpc_saction   action;

	while ((action = m0_rpc_sstream_next(&w->w_server.s_stream[stream],
					     &ans)) != M0_RPC_SA_NONE)
		server_do(w, stream, action, &ans);
	w->w_kept_max = w->w_kept > w->w_kept_max ? w->w_kept : w->w_kept_max;
}

static void request_got(struct world *w, const struct msg *msg)
{
	struct m0_rpc_sstream *stream = &w->w_server.s_stream[msg->ms_stream];
	struct m0_rpc_sanswer  ans;
	enum m0_rpc_saction    action;

	if (!w->w_server.s_has || msg->ms_session != w->w_server.s_session)
		return;
	if (msg->ms_xid == 0) {
		m0_rpc_sstream_ack(stream, msg->ms_ack);
	} else {
		w->w_kept += !msg->ms_skip;
		action = m0_rpc_sstream_accept(
			stream, msg->ms_xid, msg->ms_ack, msg->ms_skip,
			msg->ms_skip ? NULL : handle_of(msg->ms_op), &ans);
		if (action != M0_RPC_SA_EXECUTE && action != M0_RPC_SA_HOLD)
			w->w_kept -= !msg->ms_skip;
		server_do(w, msg->ms_stream, action, &ans);
	}
	server_next(w, msg->ms_stream);
}

static void server_forget_session(struct world *w)
{
	struct server *s = &w->w_server;
	unsigned       i;

	for (i = 0; s->s_has && i < STREAMS; ++i) {
		/* Its job, if there is one, finds that nobody waits. */
		s->s_stream[i].rss_running = 0;
		m0_rpc_sstream_fini(&s->s_stream[i]);
	}
	s->s_has = false;
}

static int conn_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct job *j = container_of(job, struct job, j_job);
	int         rc = m0_rpc_record_client_del(tx, uuid);

	if (rc != 0)
		return rc;
	return m0_rpc_record_client_put(tx, uuid, j->j_msg.ms_incarnation);
}

static void job_done(struct m0_rpc_store_job *job, int rc)
{
	struct job    *j = container_of(job, struct job, j_job);
	struct world  *w = j->j_world;
	struct server *s = &w->w_server;

	j->j_busy = false;
	if (j->j_epoch != s->s_epoch)
		return;
	s->s_pending = false;
	if (rc == 0) {
		put(w, &j->j_msg);
	} else if (j->j_msg.ms_kind == SESS_REP) {
		server_forget_session(w);
	} else {
		s->s_client = 0;
	}
}

static void job_start(struct world *w, const struct msg *reply,
		      int (*run)(struct m0_rpc_store_job *job,
				 struct m0_rpc_tx        *tx))
{
	struct job *j = job_new(w);

	w->w_server.s_pending = true;
	j->j_msg = *reply;
	j->j_job.sj_run = run;
	j->j_job.sj_done = job_done;
	w->w_store.stc_store.rst_ops->rso_exec(&w->w_store.stc_store,
					       &j->j_job);
}

static void conn_got(struct world *w, const struct msg *msg)
{
	struct server *s = &w->w_server;
	struct msg     reply = *msg;

	if (msg->ms_incarnation < s->s_client) {
		saw(w, SEEN_FENCED);
		return;
	}
	reply.ms_kind = CONN_REP;
	if (msg->ms_incarnation > s->s_client) {
		server_forget_session(w);
		s->s_client = msg->ms_incarnation;
		s->s_session_top = 0;
		s->s_epoch = ++w->w_epochs;
		reply.ms_epoch = s->s_epoch;
		job_start(w, &reply, conn_run);
		return;
	}
	reply.ms_epoch = s->s_epoch;
	if (!s->s_pending)
		put(w, &reply);
}

static int session_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct job *j = container_of(job, struct job, j_job);
	const struct m0_rpc_record_session rec = {
		.rrs_session = j->j_msg.ms_session,
		.rrs_incarnation = j->j_msg.ms_incarnation,
		.rrs_streams = STREAMS,
		.rrs_window = j->j_msg.ms_window
	};

	return m0_rpc_record_session_put(tx, uuid, &rec);
}

static void streams_init(struct world *w, uint64_t session, uint32_t window)
{
	struct server *s = &w->w_server;
	unsigned       i;

	for (i = 0; i < STREAMS; ++i) {
		assert_int_equal(m0_rpc_sstream_init(&s->s_stream[i],
						     &server_ops, window,
						     &s->s_budget),
				 0);
	}
	s->s_session = session;
	s->s_session_top = max64u(s->s_session_top, session);
	s->s_has = true;
}

static int reply_found(const struct m0_rpc_record_reply *rec, void *arg)
{
	struct world *w = arg;

	w->w_kept++;
	saw(w, SEEN_RESTORED);
	assert_int_equal(rec->rrr_reply.sl_nr, 1);
	return m0_rpc_sstream_restore(
		&w->w_server.s_stream[rec->rrr_stream], rec->rrr_xid,
		rec->rrr_ack,
		handle_of(*(const uint8_t *)rec->rrr_reply.sl_data), 1,
		rec->rrr_rc);
}

/** After a restart: is the session in the store? */
static bool session_restore(struct world *w, uint64_t session)
{
	struct m0_rpc_store         *store = &w->w_store.stc_store;
	struct m0_rpc_record_session rec;
	struct m0_rpc_tx             tx;
	unsigned                     i;
	int                          rc;

	if (store->rst_ops->rso_begin(store, &tx) != 0)
		return false;
	rc = m0_rpc_record_session_get(&tx, uuid, session, &rec);
	if (rc == 0) {
		assert_int_equal(rec.rrs_incarnation, w->w_server.s_client);
		streams_init(w, session, rec.rrs_window);
		rc = m0_rpc_record_replies(&tx, uuid, session, reply_found, w);
		assert_int_equal(rc, 0);
		for (i = 0; i < STREAMS; ++i)
			m0_rpc_sstream_restored(&w->w_server.s_stream[i]);
	}
	store->rst_ops->rso_abort(&tx);
	return rc == 0;
}

static void session_got(struct world *w, const struct msg *msg)
{
	struct server *s = &w->w_server;
	struct msg     reply = *msg;
	unsigned       i;

	reply.ms_kind = SESS_REP;
	reply.ms_flag = false;
	if (s->s_has && s->s_session == msg->ms_session) {
		reply.ms_window = s->s_stream[0].rss_window;
	} else if (msg->ms_flag && msg->ms_session > s->s_session_top) {
		server_forget_session(w);
		streams_init(w, msg->ms_session, w->w_window);
		reply.ms_window = w->w_window;
		job_start(w, &reply, session_run);
		return;
	} else if (!s->s_has && !msg->ms_flag &&
		   session_restore(w, msg->ms_session)) {
		reply.ms_window = s->s_stream[0].rss_window;
	} else {
		reply.ms_flag = true;
	}
	for (i = 0; !reply.ms_flag && i < STREAMS; ++i)
		reply.ms_last[i] = s->s_stream[i].rss_last;
	if (!s->s_pending)
		put(w, &reply);
}

static void server_got(struct world *w, const struct msg *msg)
{
	struct msg stale = { .ms_kind = STALE_EPOCH,
			     .ms_epoch = msg->ms_epoch };

	if (msg->ms_kind == CONN)
		conn_got(w, msg);
	else if (w->w_server.s_client == 0 ||
		 msg->ms_epoch != w->w_server.s_epoch)
		put(w, &stale);
	else if (msg->ms_kind == SESS)
		session_got(w, msg);
	else
		request_got(w, msg);
}

static void server_start(struct world *w)
{
	struct m0_rpc_tx tx;

	M0_SET0(&w->w_server);
	w->w_server.s_budget.rsb_bytes_max = 2 * WINDOW_MAX - 4;
	w->w_server.s_budget.rsb_held_max = HELD_MAX;
	w->w_server.s_epoch = ++w->w_epochs;
	M0_SET_ARR0(w->w_job);
	(void)w->w_store.stc_work.rst_ops->rso_begin(&w->w_store.stc_work, &tx);
	(void)m0_rpc_record_client_get(&tx, uuid, &w->w_server.s_client);
	w->w_store.stc_work.rst_ops->rso_abort(&tx);
}

/* ------------------------------------------------------------- world -- */

/** Notes what the store has, which is about to be lost, or at the end. */
static void harvest(struct world *w, int last[STREAMS])
{
	struct m0_rpc_store *kept = &w->w_store.stc_kept;
	struct m0_rpc_slice  key = { NULL, 0 };
	struct m0_rpc_slice  value;
	struct m0_rpc_tx     tx;
	unsigned             stream;
	unsigned             op;

	(void)kept->rst_ops->rso_begin(kept, &tx);
	while (m0_rpc_tx_next(&tx, key, &key, &value) == 0) {
		stream = ((const uint8_t *)key.sl_data)[1];
		op = *(const uint8_t *)value.sl_data;
		/* In order, hence each once. */
		assert_true((int)op > last[stream]);
		last[stream] = (int)op;
		assert_int_equal(w->w_op[op].op_stream, stream);
		w->w_op[op].op_done_nr++;
	}
	kept->rst_ops->rso_abort(&tx);
}

static void server_crash(struct world *w, int last[STREAMS])
{
	server_forget_session(w);
	assert_int_equal(w->w_kept, 0);
	store_crash_crash(&w->w_store);
	if (w->w_volatile) {
		harvest(w, last);
		store_crash_forget(&w->w_store);
	}
	server_start(w);
}

static int fault(struct store_crash *store, enum store_crash_point point)
{
	struct world *w = store->stc_arg;

	if (w->w_fair || !w->w_faulty)
		return 0;
	return !chance(w, 30) ? 0 : point == STORE_CRASH_PUT ? -ENOSPC : -EIO;
}

static m0_time_t clock_of(struct store_crash *store)
{
	return ((struct world *)store->stc_arg)->w_now;
}

static void deliver(struct world *w)
{
	struct msg msg;

	if (!take(w, &msg))
		return;
	if (M0_IN(msg.ms_kind, (CONN, SESS, REQ)))
		server_got(w, &msg);
	else
		client_got(w, &msg);
}

static m0_time_t due(struct world *w)
{
	m0_time_t ret = w->w_client.c_again;
	unsigned  i;

	for (i = 0; i < STREAMS; ++i)
		ret = min64u(ret, m0_rpc_cstream_due(&w->w_client.c_stream[i]));
	return min64u(ret, store_crash_due(&w->w_store));
}

static void pass_time(struct world *w)
{
	m0_time_t next = due(w);

	if (chance(w, 300) && next != M0_TIME_NEVER && next > w->w_now)
		w->w_now = next;
	else
		w->w_now += below(w, 2 * MS);
}

static void step(struct world *w)
{
	unsigned what = below(w, 100);

	if (what < 30)
		deliver(w);
	else if (what < 60)
		form(w);
	else if (what < 65 && !w->w_fair)
		post(w);
	else if (what < 68 && !w->w_fair)
		cancel(w);
	else if (what < 85)
		w->w_store.stc_store.rst_ops->rso_step(&w->w_store.stc_store);
	else
		pass_time(w);
	client_step(w);
}

static bool is_over(struct world *w)
{
	unsigned i;

	for (i = 0; i < w->w_ops; ++i)
		if (w->w_op[i].op_end == PENDING)
			return false;
	for (i = 0; i < STREAMS; ++i)
		if (!m0_rpc_cstream_is_idle(&w->w_client.c_stream[i]))
			return false;
	return w->w_client.c_phase == ACTIVE;
}

static void check(struct world *w, int last[STREAMS])
{
	unsigned i;

	harvest(w, last);
	for (i = 0; i < w->w_ops; ++i) {
		assert_true(w->w_op[i].op_done_nr <= 1);
		if (w->w_op[i].op_end == DONE)
			assert_int_equal(w->w_op[i].op_done_nr, 1);
		if (w->w_op[i].op_fails ||
		    M0_IN(w->w_op[i].op_end, (REFUSED, UNSENT)))
			assert_int_equal(w->w_op[i].op_done_nr, 0);
	}
	assert_true(w->w_kept_max <= STREAMS * WINDOW_MAX);
}

static void world_init(struct world *w, uint64_t seed, unsigned *seen)
{
	M0_SET0(w);
	the_world = w;
	m0_rand_init(&w->w_rand, seed);
	w->w_seen = seen;
	w->w_now = 1;
	w->w_volatile = chance(w, 300);
	w->w_faulty = chance(w, 500);
	w->w_window = 1 + below(w, WINDOW_MAX);
	store_crash_init(&w->w_store, 1 << 16);
	w->w_store.stc_arg = w;
	w->w_store.stc_clock = clock_of;
	w->w_store.stc_fault = fault;
	w->w_store.stc_group_max = 1 + below(w, 3);
	w->w_store.stc_commit_ns = below(w, 3) * MS;
	w->w_store.stc_done_late = chance(w, 500);
	server_start(w);
	client_start(w);
}

static void schedule_run(uint64_t seed, unsigned *seen)
{
	static struct world w;
	int                 last[STREAMS] = { -1, -1 };
	unsigned            crash;
	unsigned            steps;

	world_init(&w, seed, seen);
	crash = below(&w, 8);
	for (steps = 0; steps < 700; ++steps) {
		step(&w);
		if (chance(&w, crash))
			server_crash(&w, last);
		if (chance(&w, crash / 2)) {
			client_stop(&w);
			client_start(&w);
		}
	}
	w.w_fair = true;
	for (steps = 0; !is_over(&w); ++steps) {
		assert_true(steps < FAIR_STEPS_MAX);
		step(&w);
	}
	server_forget_session(&w);
	assert_int_equal(w.w_kept, 0);
	check(&w, last);
	client_stop(&w);
	store_crash_fini(&w.w_store);
}

/* Each acknowledged update is in the store once and in order, one that was
 * refused or never sent is not, none is twice; all of it ends. */
static void schedules_random_are_executed_once_in_order(void **state)
{
	static const char *const names[SEEN_NR] = {
		"replay",  "hold",      "ignore", "busy",          "skipped",
		"gave up", "stale",     "resume", "failed commit", "restored",
		"fenced",  "ack alone", "done"
	};
	const char *one = getenv("M0_SEED");
	unsigned    seen[SEEN_NR] = { 0 };
	uint64_t    seed;
	unsigned    i;

	(void)state;
	if (one != NULL) {
		the_seed = strtoull(one, NULL, 0);
		schedule_run(the_seed, seen);
		return;
	}
	for (seed = 1; seed <= SEEDS; ++seed) {
		the_seed = seed;
		schedule_run(seed, seen);
	}
	for (i = 0; i < SEEN_NR; ++i) {
		print_message("%s: %u\n", names[i], seen[i]);
		assert_true(seen[i] > 0);
	}
}

static int seed_tell(void **state)
{
	(void)state;
	print_message("last seed: %u\n", (unsigned)the_seed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedules_random_are_executed_once_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, seed_tell);
}
