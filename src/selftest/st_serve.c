/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests that are served: ping and brw here, the framework's in st_session.c. */
#include <string.h>

#include "selftest/st_internal.h"

/** Moves data by a buffer of the request's own, once there is one. */
static void buf_start(struct st_rpc *rpc)
{
	const struct m0_st_msg *msg = &rpc->sqr_msg;
	bool                    writes = msg->smg_rw == M0_ST_WRITE;

	rpc->sqr_buf = m0_st__buf_get(rpc->sqr_st);
	if (rpc->sqr_buf == NULL) {
		m0_list_add_tail(&rpc->sqr_st->slf_waiting,
				 &rpc->sqr_wait_link);
		return;
	}
	m0_st_pattern_fill(rpc->sqr_buf, msg->smg_bytes, 0, msg->smg_check,
			   writes ? M0_ST_POISON : M0_ST_PATTERN);
	m0_st__rpc_bulk(rpc, rpc->sqr_buf, msg->smg_bytes, writes);
}

void m0_st__serve_next(struct m0_st *st)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&st->slf_waiting)) != NULL) {
		struct st_rpc *rpc =
			container_of(link, struct st_rpc, sqr_wait_link);

		m0_list_del(link);
		buf_start(rpc);
		if (rpc->sqr_buf != NULL)
			continue;
		/* The request stays the first. */
		m0_list_move(&st->slf_waiting, link);
		return;
	}
}

static void brw_serve(struct st_rpc *rpc, const struct st_session *session)
{
	const struct m0_st_msg *msg = &rpc->sqr_msg;
	uint8_t                *source;
	int                     rc = m0_st_brw_check(msg, session->sse_feats);

	if (rc != 0) {
		rpc->sqr_rep.smg_status = (uint32_t)rc;
		m0_st__rpc_reply(rpc);
		return;
	}
	/* The end of SIMPLE depends on the length. */
	if (msg->smg_rw == M0_ST_WRITE ||
	    (msg->smg_check == M0_ST_CHECK_SIMPLE &&
	     msg->smg_bytes % M0_ST_PAGE_BYTES != 0)) {
		buf_start(rpc);
		return;
	}
	source = m0_st__source(rpc->sqr_st, msg->smg_check);
	if (source == NULL) {
		rpc->sqr_rep.smg_status = ENOMEM;
		m0_st__rpc_reply(rpc);
		return;
	}
	m0_st__rpc_bulk(rpc, source, msg->smg_bytes, false);
}

/** Fetches the destinations of a test that this node is to run. */
static void dests_start(struct st_rpc *rpc)
{
	const struct m0_st_msg *msg = &rpc->sqr_msg;
	uint32_t                nr = msg->smg_test.tsr_dests_nr;

	if (nr == 0 || nr > m0_st_dests_max(msg->smg_feats)) {
		rpc->sqr_rep.smg_status = EINVAL;
		m0_st__rpc_reply(rpc);
		return;
	}
	rpc->sqr_buf = m0_st__buf_get(rpc->sqr_st);
	if (rpc->sqr_buf == NULL) {
		rpc->sqr_rep.smg_status = ENOMEM;
		m0_st__rpc_reply(rpc);
		return;
	}
	m0_st__rpc_bulk(rpc, rpc->sqr_buf,
			m0_st_dests_bytes(nr, msg->smg_feats), true);
}

static void write_finish(struct st_rpc *rpc)
{
	struct m0_st           *st = rpc->sqr_st;
	const struct m0_st_msg *msg = &rpc->sqr_msg;

	if (m0_st_pattern_is(rpc->sqr_buf, msg->smg_bytes, 0, msg->smg_check,
			     msg->smg_swapped))
		return;
	rpc->sqr_rep.smg_status = EBADMSG;
	if (st->slf_session != NULL)
		++st->slf_session->sse_brw_errors;
}

void m0_st__serve_bulk(struct st_rpc *rpc, int rc)
{
	struct m0_st           *st = rpc->sqr_st;
	const struct m0_st_msg *msg = &rpc->sqr_msg;

	if (rc != 0) {
		m0_st__rpc_end(rpc, rc);
		return;
	}
	if (rpc->sqr_wants_bulk)
		st->slf_counts.sct_bulk_get +=
			rpc->sqr_parts[ST_BULK].spt_bytes;
	else
		st->slf_counts.sct_bulk_put +=
			rpc->sqr_parts[ST_BULK].spt_bytes;
	if (msg->smg_type == M0_ST_BRW && msg->smg_rw == M0_ST_WRITE)
		write_finish(rpc);
	else if (msg->smg_type == M0_ST_TEST)
		m0_st__session_serve(rpc);
	m0_st__rpc_reply(rpc);
}

static void test_rpc_serve(struct st_rpc *rpc)
{
	struct m0_st     *st = rpc->sqr_st;
	struct m0_st_msg *rep = &rpc->sqr_rep;

	if (st->slf_session == NULL) {
		rep->smg_status = ESRCH;
	} else if (rpc->sqr_msg.smg_type == M0_ST_BRW) {
		brw_serve(rpc, st->slf_session);
		return;
	} else if (rpc->sqr_msg.smg_ping_magic != M0_ST_PING_MAGIC) {
		rep->smg_status = EPROTO;
	} else {
		rep->smg_ping_magic = rpc->sqr_msg.smg_ping_magic;
		rep->smg_seq = rpc->sqr_msg.smg_seq;
	}
	m0_st__rpc_reply(rpc);
}

static void rpc_serve(struct st_rpc *rpc, bool is_admitted)
{
	const struct m0_st_msg  *msg = &rpc->sqr_msg;
	struct m0_st_msg        *rep = &rpc->sqr_rep;
	const struct st_session *session = rpc->sqr_st->slf_session;

	rep->smg_version = M0_ST_VERSION;
	rep->smg_type = msg->smg_type + 1;
	rep->smg_feats = session != NULL ? session->sse_feats : msg->smg_feats;
	rep->smg_feats &= M0_ST_FEATS;
	if (!is_admitted)
		rep->smg_status = EACCES;
	else if (msg->smg_version != M0_ST_VERSION)
		rep->smg_status = EPROTO;
	if (rep->smg_status != 0) {
		rep->smg_sid = M0_ST_SID_NONE;
		m0_st__rpc_reply(rpc);
	} else if (msg->smg_type >= M0_ST_BRW) {
		test_rpc_serve(rpc);
	} else if (msg->smg_type == M0_ST_TEST &&
		   msg->smg_test.tsr_is_client != 0 &&
		   msg->smg_test.tsr_dests_nr > 0) {
		dests_start(rpc);
	} else {
		m0_st__session_serve(rpc);
		m0_st__rpc_reply(rpc);
	}
}

static bool is_admitted(struct m0_st *st, const struct m0_lnet_event *event)
{
	if (st->slf_cfg.scf_admits == NULL ||
	    m0_lnet_nid_is_lo(&event->ev_source.lp_nid) ||
	    m0_lnet_nid_eq(&event->ev_source.lp_nid, &event->ev_target.lp_nid))
		return true;
	return st->slf_cfg.scf_admits(st->slf_cfg.scf_arg,
				      &event->ev_source.lp_nid);
}

void m0_st__serve(struct st_service *service, const struct m0_lnet_event *event,
		  const uint8_t *bytes)
{
	struct m0_st    *st = service->svc_st;
	struct m0_st_msg msg;
	struct st_rpc   *rpc;
	bool             admitted = is_admitted(st, event);

	if (!admitted)
		++st->slf_refused_nr;
	if (m0_st_decode(&msg, bytes, event->ev_mlength) != 0 ||
	    msg.smg_type != service->svc_type || st->slf_closing) {
		++st->slf_counts.sct_rpc_dropped;
		return;
	}
	rpc = m0_st__rpc_alloc(st, false, st->slf_cfg.scf_rpc_timeout_ms);
	if (rpc == NULL) {
		++st->slf_counts.sct_rpc_dropped;
		return;
	}
	++st->slf_counts.sct_rpc_rcvd;
	rpc->sqr_msg = msg;
	rpc->sqr_peer = event->ev_source;
	rpc->sqr_self = event->ev_target.lp_nid;
	rpc_serve(rpc, admitted);
}
