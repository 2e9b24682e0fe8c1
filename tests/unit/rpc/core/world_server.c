/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "world.h"

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

	world_put(w, &msg);
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
	/* The reply may be acknowledged already, after a restart. */
	rec.rrr_ack = min64u(rec.rrr_ack, rec.rrr_xid);
	return m0_rpc_record_reply_put(tx, client_uuid, &rec, value,
				       sizeof value);
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

void server_forget(struct world *w)
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
	int         rc = m0_rpc_record_client_del(tx, client_uuid);

	if (rc != 0)
		return rc;
	return m0_rpc_record_client_put(
		tx, &(struct m0_rpc_record_client){
			    .rrc_uuid = client_uuid,
			    .rrc_incarnation = j->j_msg.ms_incarnation,
		    });
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
		world_put(w, &j->j_msg);
	} else if (j->j_msg.ms_kind == SESS_REP) {
		server_forget(w);
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
		server_forget(w);
		s->s_client = msg->ms_incarnation;
		s->s_session_top = 0;
		s->s_epoch = ++w->w_epochs;
		reply.ms_epoch = s->s_epoch;
		job_start(w, &reply, conn_run);
		return;
	}
	reply.ms_epoch = s->s_epoch;
	if (!s->s_pending)
		world_put(w, &reply);
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

	return m0_rpc_record_session_put(tx, client_uuid, &rec);
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
	rc = m0_rpc_record_session_get(&tx, client_uuid, session, &rec);
	if (rc == 0) {
		assert_int_equal(rec.rrs_incarnation, w->w_server.s_client);
		streams_init(w, session, rec.rrs_window);
		rc = m0_rpc_record_replies(&tx, client_uuid, session,
					   reply_found, w);
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
		server_forget(w);
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
		world_put(w, &reply);
}

void server_got(struct world *w, const struct msg *msg)
{
	struct msg stale = { .ms_kind = STALE_EPOCH,
			     .ms_epoch = msg->ms_epoch };

	if (msg->ms_kind == CONN)
		conn_got(w, msg);
	else if (w->w_server.s_client == 0 ||
		 msg->ms_epoch != w->w_server.s_epoch)
		world_put(w, &stale);
	else if (msg->ms_kind == SESS)
		session_got(w, msg);
	else
		request_got(w, msg);
}

void server_start(struct world *w)
{
	struct m0_rpc_record_client rec;
	struct m0_rpc_tx            tx;

	M0_SET0(&w->w_server);
	w->w_server.s_budget.rsb_bytes_max = 2 * WINDOW_MAX - 4;
	w->w_server.s_budget.rsb_held_max = HELD_MAX;
	w->w_server.s_epoch = ++w->w_epochs;
	M0_SET_ARR0(w->w_job);
	(void)w->w_store.stc_work.rst_ops->rso_begin(&w->w_store.stc_work, &tx);
	if (m0_rpc_record_client_get(&tx, client_uuid, &rec) == 0)
		w->w_server.s_client = rec.rrc_incarnation;
	w->w_store.stc_work.rst_ops->rso_abort(&tx);
}
