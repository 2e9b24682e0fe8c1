/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sessions and batches: what a console asks of a node. */
#include <string.h>

#include "selftest/st_internal.h"

static uint32_t ms_since(m0_time_t begin)
{
	return (uint32_t)(m0_time_sub(m0_time_cached(), begin) /
			  M0_TIME_ONE_MSEC);
}

static bool sid_is_any(const struct m0_st_sid *sid)
{
	return sid->sid_nid4 == M0_LNET_NID4_ANY;
}

struct st_session *m0_st__session_of(struct m0_st           *st,
				     const struct m0_st_msg *msg, uint32_t none,
				     uint32_t *ret_status)
{
	struct st_session *session = st->slf_session;

	if (session == NULL ||
	    !m0_st_sid_eq(&session->sse_sid, &msg->smg_sid)) {
		*ret_status = none;
		return NULL;
	}
	if (msg->smg_feats != session->sse_feats) {
		*ret_status = EPROTO;
		return NULL;
	}
	*ret_status = 0;
	return session;
}

/* -- the end --------------------------------------------------------------- */

static void batch_stop(struct st_batch *batch, bool force)
{
	struct m0_list_link *link;
	struct m0_list_link *next;

	for (link = m0_list_first(&batch->sbh_tests); link != NULL;
	     link = next) {
		next = m0_list_next(&batch->sbh_tests, link);
		m0_st__test_stop(container_of(link, struct st_test, stk_link),
				 force);
	}
}

void m0_st__session_end(struct m0_st *st)
{
	struct st_session   *session = st->slf_session;
	struct m0_list_link *link;

	if (session == NULL)
		return;
	st->slf_session = NULL;
	/* Requests on their way come to their end, so that peers need not wait. */
	for (link = m0_list_first(&session->sse_batches); link != NULL;
	     link = m0_list_next(&session->sse_batches, link))
		batch_stop(container_of(link, struct st_batch, sbh_link),
			   st->slf_closing);
	m0_list_add_tail(&st->slf_zombies, &session->sse_link);
	++st->slf_zombies_nr;
	m0_st__wake(st, M0_TIME_IMMEDIATELY);
}

static bool session_is_active(const struct st_session *session)
{
	const struct m0_list_link *link;

	for (link = m0_list_first(&session->sse_batches); link != NULL;
	     link = m0_list_next(&session->sse_batches, link))
		if (container_of(link, struct st_batch, sbh_link)
			    ->sbh_active_nr > 0)
			return true;
	return false;
}

static void session_free(struct st_session *session)
{
	struct m0_list_link *link;
	struct m0_list_link *test;

	while ((link = m0_list_first(&session->sse_batches)) != NULL) {
		struct st_batch *batch =
			container_of(link, struct st_batch, sbh_link);

		while ((test = m0_list_first(&batch->sbh_tests)) != NULL) {
			m0_list_del(test);
			m0_st__test_free(
				container_of(test, struct st_test, stk_link));
		}
		m0_list_del(link);
		m0_free(batch);
	}
	m0_free(session);
}

void m0_st__session_reap(struct m0_st *st)
{
	struct m0_list_link *link;
	struct m0_list_link *next;

	for (link = m0_list_first(&st->slf_zombies); link != NULL;
	     link = next) {
		struct st_session *session =
			container_of(link, struct st_session, sse_link);

		next = m0_list_next(&st->slf_zombies, link);
		if (session_is_active(session))
			continue;
		m0_list_del(link);
		--st->slf_zombies_nr;
		session_free(session);
	}
}

/* -- MKSN, RMSN, DEBUG, STAT ----------------------------------------------- */

static uint32_t session_new(struct m0_st *st, const struct m0_st_msg *msg)
{
	struct st_session *session;

	if (M0_ALLOC_PTR(session) == NULL)
		return ENOMEM;
	session->sse_st = st;
	session->sse_sid = msg->smg_sid;
	session->sse_feats = msg->smg_feats;
	session->sse_refs = 1;
	session->sse_begin = m0_time_cached();
	session->sse_heard = session->sse_begin;
	memcpy(session->sse_name, msg->smg_name, sizeof session->sse_name);
	m0_list_link_init(&session->sse_link);
	m0_list_init(&session->sse_batches);
	st->slf_session = session;
	memset(&st->slf_counts, 0, sizeof st->slf_counts);
	st->slf_counts.sct_rpc_rcvd = 1;
	m0_st__wake(st, m0_time_add(session->sse_heard,
				    st->slf_cfg.scf_session_timeout *
					    M0_TIME_ONE_SECOND));
	return 0;
}

static void mksn(struct m0_st *st, const struct m0_st_msg *msg,
		 struct m0_st_msg *rep)
{
	struct st_session *session = st->slf_session;

	rep->smg_timeout = st->slf_cfg.scf_session_timeout;
	if (sid_is_any(&msg->smg_sid)) {
		rep->smg_status = EINVAL;
	} else if ((msg->smg_feats & ~(uint32_t)M0_ST_FEATS) != 0) {
		rep->smg_status = EPROTO;
	} else if (session != NULL &&
		   m0_st_sid_eq(&session->sse_sid, &msg->smg_sid)) {
		++session->sse_refs;
	} else if (session != NULL && msg->smg_force == 0) {
		rep->smg_status = EBUSY;
		memcpy(rep->smg_name, session->sse_name, sizeof rep->smg_name);
	} else {
		/* A console that always forces does not pile up what ends. */
		m0_st__session_end(st);
		rep->smg_status = st->slf_zombies_nr > ST_BATCHES_MAX
					  ? EBUSY
					  : session_new(st, msg);
	}
	if (st->slf_session != NULL)
		rep->smg_feats = st->slf_session->sse_feats;
}

static void rmsn(struct m0_st *st, const struct m0_st_msg *msg,
		 struct m0_st_msg *rep)
{
	struct st_session *session = st->slf_session;

	if (sid_is_any(&msg->smg_sid))
		rep->smg_status = EINVAL;
	else if (session == NULL)
		rep->smg_status = ESRCH;
	else if (!m0_st_sid_eq(&session->sse_sid, &msg->smg_sid))
		rep->smg_status = EBUSY;
	else if (msg->smg_feats != session->sse_feats)
		rep->smg_status = EPROTO;
	else if (--session->sse_refs == 0)
		m0_st__session_end(st);
}

static void debug(struct m0_st *st, struct m0_st_msg *rep)
{
	const struct st_session *session = st->slf_session;

	if (session == NULL) {
		rep->smg_status = ESRCH;
		return;
	}
	rep->smg_timeout = st->slf_cfg.scf_session_timeout;
	rep->smg_batches_nr = session->sse_batches_nr;
	memcpy(rep->smg_name, session->sse_name, sizeof rep->smg_name);
}

void m0_st__stats_fill(struct m0_st *st, struct m0_st_stats *ret)
{
	const struct st_session   *session = st->slf_session;
	struct m0_lnet_stats       lnet;
	const struct m0_list_link *link;

	*ret = st->slf_counts;
	ret->sct_zombies = st->slf_zombies_nr;
	m0_lnet_stats_get(st->slf_lnet, &lnet);
	ret->sct_msgs_alloc = (uint32_t)lnet.ls_msgs_alloc;
	ret->sct_msgs_max = (uint32_t)lnet.ls_msgs_max;
	ret->sct_errors = (uint32_t)lnet.ls_errors;
	ret->sct_send_count = (uint32_t)lnet.ls_send_count;
	ret->sct_recv_count = (uint32_t)lnet.ls_recv_count;
	ret->sct_route_count = (uint32_t)lnet.ls_route_count;
	ret->sct_drop_count = (uint32_t)lnet.ls_drop_count;
	ret->sct_send_length = lnet.ls_send_length;
	ret->sct_recv_length = lnet.ls_recv_length;
	ret->sct_route_length = lnet.ls_route_length;
	ret->sct_drop_length = lnet.ls_drop_length;
	if (session == NULL)
		return;
	ret->sct_running_ms = ms_since(session->sse_begin);
	ret->sct_brw_errors = session->sse_brw_errors;
	ret->sct_ping_errors = session->sse_ping_errors;
	for (link = m0_list_first(&session->sse_batches); link != NULL;
	     link = m0_list_next(&session->sse_batches, link))
		if (container_of(link, struct st_batch, sbh_link)
			    ->sbh_active_nr > 0)
			++ret->sct_active_batches;
}

static void stat_serve(struct m0_st *st, const struct m0_st_msg *msg,
		       struct m0_st_msg *rep)
{
	if (m0_st__session_of(st, msg, ESRCH, &rep->smg_status) != NULL)
		m0_st__stats_fill(st, &rep->smg_stats);
}

/* -- BATCH ----------------------------------------------------------------- */

struct st_batch *m0_st__batch_find(struct st_session *session, uint64_t id)
{
	struct m0_list_link *link;

	for (link = m0_list_first(&session->sse_batches); link != NULL;
	     link = m0_list_next(&session->sse_batches, link)) {
		struct st_batch *batch =
			container_of(link, struct st_batch, sbh_link);

		if (batch->sbh_id == id)
			return batch;
	}
	return NULL;
}

static uint32_t batch_run(struct st_batch *batch)
{
	struct m0_list_link *link;

	if (batch->sbh_active_nr > 0)
		return EPERM;
	for (link = m0_list_first(&batch->sbh_tests); link != NULL;
	     link = m0_list_next(&batch->sbh_tests, link))
		m0_st__test_run(container_of(link, struct st_test, stk_link));
	return 0;
}

/** Active tests of the batch, or active streams of one test. */
static uint32_t batch_query(const struct st_batch *batch, uint32_t nr,
			    uint32_t *ret_active)
{
	const struct m0_list_link *link;

	if (nr == 0) {
		*ret_active = batch->sbh_active_nr;
		return 0;
	}
	for (link = m0_list_first(&batch->sbh_tests); link != NULL;
	     link = m0_list_next(&batch->sbh_tests, link)) {
		const struct st_test *test =
			container_of(link, struct st_test, stk_link);

		if (test->stk_nr == nr) {
			*ret_active = test->stk_active_nr;
			return 0;
		}
	}
	return ENOENT;
}

static void batch_serve(struct m0_st *st, const struct m0_st_msg *msg,
			struct m0_st_msg *rep)
{
	struct st_session *session =
		m0_st__session_of(st, msg, ESRCH, &rep->smg_status);
	struct st_batch *batch;

	if (session == NULL)
		return;
	batch = m0_st__batch_find(session, msg->smg_batch);
	if (batch == NULL) {
		rep->smg_status = ENOENT;
		return;
	}
	switch (msg->smg_opc) {
	case M0_ST_RUN:
		rep->smg_status = batch_run(batch);
		break;
	case M0_ST_STOP:
		batch_stop(batch, msg->smg_arg != 0);
		break;
	case M0_ST_QUERY:
		rep->smg_status =
			batch_query(batch, msg->smg_test_nr, &rep->smg_active);
		break;
	default:
		rep->smg_status = EINVAL;
	}
}

/* -- TEST ------------------------------------------------------------------ */

static struct st_batch *batch_new(struct st_session *session, uint64_t id)
{
	struct st_batch *batch;

	if (session->sse_batches_nr >= ST_BATCHES_MAX ||
	    M0_ALLOC_PTR(batch) == NULL)
		return NULL;
	batch->sbh_session = session;
	batch->sbh_id = id;
	m0_list_init(&batch->sbh_tests);
	m0_list_link_init(&batch->sbh_link);
	m0_list_add_tail(&session->sse_batches, &batch->sbh_link);
	++session->sse_batches_nr;
	return batch;
}

static uint32_t test_serve(struct st_rpc *rpc)
{
	const struct m0_st_msg *msg = &rpc->sqr_msg;
	struct st_session      *session;
	struct st_batch        *batch;
	uint32_t                status;

	if (sid_is_any(&msg->smg_sid) ||
	    m0_st_test_check(&msg->smg_test, msg->smg_feats) != 0)
		return EINVAL;
	session = m0_st__session_of(rpc->sqr_st, msg, ENOENT, &status);
	if (session == NULL)
		return status;
	batch = m0_st__batch_find(session, msg->smg_test.tsr_batch);
	if (batch != NULL && batch->sbh_active_nr > 0)
		return EBUSY;
	if (session->sse_tests_nr >= ST_TESTS_MAX)
		return ENOSPC;
	if (batch == NULL &&
	    batch_new(session, msg->smg_test.tsr_batch) == NULL)
		return ENOMEM;
	return m0_st__test_add(session, msg, rpc->sqr_buf);
}

void m0_st__session_serve(struct st_rpc *rpc)
{
	struct m0_st           *st = rpc->sqr_st;
	const struct m0_st_msg *msg = &rpc->sqr_msg;
	struct m0_st_msg       *rep = &rpc->sqr_rep;

	switch (msg->smg_type) {
	case M0_ST_MKSN:
		mksn(st, msg, rep);
		break;
	case M0_ST_RMSN:
		rmsn(st, msg, rep);
		break;
	case M0_ST_DEBUG:
		debug(st, rep);
		break;
	case M0_ST_STAT:
		stat_serve(st, msg, rep);
		break;
	case M0_ST_BATCH:
		batch_serve(st, msg, rep);
		break;
	default:
		rep->smg_status = test_serve(rpc);
	}
	rep->smg_sid = st->slf_session != NULL ? st->slf_session->sse_sid
					       : M0_ST_SID_NONE;
	/* Only its console keeps a session alive. */
	if (st->slf_session != NULL &&
	    m0_st_sid_eq(&st->slf_session->sse_sid, &msg->smg_sid))
		st->slf_session->sse_heard = m0_time_cached();
}
