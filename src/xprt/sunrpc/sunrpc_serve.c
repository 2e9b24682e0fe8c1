/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Calls of others: messages for machines, pieces for and of passive buffers.
 *
 * A passive buffer is for one connection from the first piece to the last, in
 * order, so that what two peers write to it does not mix. Another may begin anew
 * when that one has gone, or has not moved a byte of it for a while; it writes
 * no more then.
 */
#include "xprt/sunrpc/sunrpc_internal.h"

static struct sr_node *const node = &m0_sunrpc__node;

/* --------------------------------------------------------------- replies -- */

static struct sr_reply *reply_new(const struct sr_conn *conn)
{
	struct m0_list_link *link = m0_list_first(&node->sn_replies_free);
	struct sr_reply     *reply;

	if (link != NULL) {
		m0_list_del(link);
		--node->sn_replies_free_nr;
		reply = container_of(link, struct sr_reply, srr_out.sro_link);
	} else {
		M0_ALLOC_PTR(reply);
		if (reply == NULL)
			return NULL;
		m0_list_link_init(&reply->srr_out.sro_link);
	}
	reply->srr_out.sro_kind = SR_OUT_REPLY;
	reply->srr_out.sro_machine = NULL;
	reply->srr_out.sro_data_nr = 0;
	reply->srr_out.sro_data_sent = 0;
	reply->srr_out.sro_begun = false;
	reply->srr_out.sro_cut = false;
	reply->srr_ends = false;
	reply->srr_head = (struct sr_reply_head){
		.srh_xid = conn->sc_in.sri_call.sch_xid,
		.srh_proc = (enum sr_proc)conn->sc_in.sri_call.sch_proc,
		.srh_verdict = conn->sc_in.sri_verdict
	};
	return reply;
}

static void machine_drop(struct sr_reply *reply)
{
	if (reply->srr_out.sro_machine != NULL)
		m0_net_kit_machine_put(reply->srr_out.sro_machine->sm_machine);
	reply->srr_out.sro_machine = NULL;
}

void m0_sunrpc__reply_free(struct sr_reply *reply)
{
	machine_drop(reply);
	if (node->sn_replies_free_nr < SR_FREE_MAX) {
		++node->sn_replies_free_nr;
		m0_list_add(&node->sn_replies_free, &reply->srr_out.sro_link);
	} else {
		m0_list_link_fini(&reply->srr_out.sro_link);
		m0_free(reply);
	}
}

void m0_sunrpc__replies_drain(void)
{
	struct sr_reply *reply;
	struct sr_reply *next;

	m0_list_for_each_entry_safe(&node->sn_replies_free, reply, next,
				    struct sr_reply, srr_out.sro_link) {
		m0_list_del(&reply->srr_out.sro_link);
		m0_list_link_fini(&reply->srr_out.sro_link);
		m0_free(reply);
	}
	node->sn_replies_free_nr = 0;
}

static void reply_encode(struct sr_reply *reply)
{
	reply->srr_out.sro_head_nr = m0_sunrpc__reply_encode(
		reply->srr_out.sro_head + 4, &reply->srr_head);
}

static void reply_queue(struct sr_conn *conn, struct sr_reply *reply,
			m0_time_t now)
{
	sr_count(reply->srr_head.srh_verdict == SR_SUCCESS
			 ? &node->sn_stats.nss_calls_served_nr
			 : &node->sn_stats.nss_calls_refused_nr,
		 1);
	reply_encode(reply);
	reply->srr_since = now;
	++conn->sc_replies_nr;
	m0_sunrpc__conn_put(conn, &reply->srr_out);
}

void m0_sunrpc__reply_lost(struct sr_reply *reply)
{
	machine_drop(reply);
	reply->srr_ends = false;
	reply->srr_out.sro_data_nr = 0;
	reply->srr_head.srh_rc = ENOENT;
	reply->srr_head.srh_eof = 0;
	reply->srr_head.srh_data_nr = 0;
	reply_encode(reply);
}

/* The payload has moved, so the buffer may be added again. */
static void passive_free(struct m0_net_kit_buf *kb)
{
	struct sr_buf *sb = m0_net_kit_buf_pvt(kb);

	sb->sb_passive.srp_until = 0;
}

void m0_sunrpc__reply_sent(struct sr_conn *conn, struct sr_reply *reply,
			   struct m0_net_kit_buf *kb)
{
	--conn->sc_replies_nr;
	if (kb != NULL) {
		if (reply->srr_ends) {
			passive_free(kb);
			m0_net_kit_done(kb, 0, 0);
		} else {
			m0_net_kit_unclaim(kb);
		}
		m0_sunrpc__release(reply->srr_out.sro_machine);
	}
	m0_sunrpc__reply_free(reply);
}

/* --------------------------------------------------------------- passive -- */

static bool conn_lives(uint64_t nr)
{
	struct sr_conn *conn;

	m0_list_for_each_entry(&node->sn_conns_in, conn, struct sr_conn,
			       sc_link) {
		if (conn->sc_nr == nr)
			return true;
	}
	return false;
}

static m0_time_t passive_until(m0_time_t now)
{
	return m0_time_add(now,
			   M0_NET_BULK_SUNRPC_TIMEOUT_MS * M0_TIME_ONE_MSEC);
}

/* Is it this connection's turn, at this offset? Then it is from now on. */
static bool passive_reserve(struct sr_passive *sp, const struct sr_conn *conn,
			    uint64_t id, uint32_t offset, m0_time_t now)
{
	bool mine = sp->srp_id == id && sp->srp_conn == conn->sc_nr &&
		    sp->srp_offset == offset;

	if (!mine && sp->srp_id == id && sp->srp_until > now &&
	    conn_lives(sp->srp_conn))
		return false;
	if (!mine && offset != 0)
		return false;
	sp->srp_id = id;
	sp->srp_conn = conn->sc_nr;
	sp->srp_offset = offset;
	sp->srp_until = passive_until(now);
	return true;
}

/* Keeps the state on which a call relies until the call ends. */
bool m0_sunrpc__passive_keep(const struct sr_conn  *conn,
			     struct m0_net_kit_buf *kb, m0_time_t now)
{
	struct sr_buf     *sb = m0_net_kit_buf_pvt(kb);
	struct sr_passive *sp = &sb->sb_passive;

	if (sp->srp_id != conn->sc_in.sri_id || sp->srp_conn != conn->sc_nr)
		return false;
	sp->srp_until = passive_until(now);
	return true;
}

/* Whether a claimed buffer may be used as a call asks. */
static int passive_check(const struct sr_machine *sm,
			 const struct sr_conn *conn, struct m0_net_kit_buf *kb,
			 uint64_t id, m0_time_t now)
{
	const struct sr_call_head *call = &conn->sc_in.sri_call;
	const struct sr_desc      *desc = &call->sch_desc;
	struct sr_buf             *sb = m0_net_kit_buf_pvt(kb);
	struct m0_net_kit_addr     active;

	if (kb->nkb_machine != sm->sm_machine)
		return -ENOENT;
	m0_sunrpc__addr(&active, &desc->sd_active);
	if (!m0_net_kit_admits(kb, &active))
		return -EACCES;
	if (!passive_reserve(&sb->sb_passive, conn, id, call->sch_offset, now))
		return -ENOENT;
	if (call->sch_proc == SR_GET)
		return desc->sd_total < kb->nkb_send_nr ? -EFBIG : 0;
	if (desc->sd_total > kb->nkb_size)
		return -EFBIG;
	if (call->sch_data_nr == 0 || call->sch_offset > desc->sd_total ||
	    call->sch_data_nr > desc->sd_total - call->sch_offset)
		return -EINVAL;
	return 0;
}

/*
 * Finds the buffer of a get or put and claims it; its machine is held then.
 * What ends it with an error has been done.
 */
static int passive_claim(struct sr_conn *conn, m0_time_t now,
			 struct sr_machine **sm, uint64_t *id,
			 struct m0_net_kit_buf **kb)
{
	const struct sr_call_head *call = &conn->sc_in.sri_call;
	enum m0_net_queue_type     qt = call->sch_proc == SR_GET
						? M0_NET_QT_PASSIVE_BULK_SEND
						: M0_NET_QT_PASSIVE_BULK_RECV;
	int                        rc;

	if (call->sch_desc.sd_qtype != qt || call->sch_desc.sd_total == 0 ||
	    !m0_sunrpc__ep_is_valid(&call->sch_desc.sd_active))
		return -EINVAL;
	*sm = m0_sunrpc__find(&call->sch_desc.sd_passive);
	if (*sm == NULL)
		return -ENETUNREACH;
	*id = call->sch_desc.sd_id ^ m0_net_kit_incarnation();
	rc = m0_net_kit_claim_id(*id, qt, kb);
	if (rc == 0) {
		rc = passive_check(*sm, conn, *kb, *id, now);
		if (rc == -EFBIG)
			m0_net_kit_done(*kb, rc, 0);
		else if (rc != 0)
			m0_net_kit_unclaim(*kb);
	}
	if (rc != 0)
		m0_sunrpc__release(*sm);
	return rc;
}

static void put_head(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in          *in = &conn->sc_in;
	struct m0_net_kit_buf *kb;
	struct sr_machine     *sm;

	in->sri_rc = passive_claim(conn, now, &sm, &in->sri_id, &kb);
	if (in->sri_rc != 0)
		return;
	m0_net_kit_unclaim(kb);
	m0_net_kit_machine_get(sm->sm_machine);
	m0_sunrpc__release(sm);
	in->sri_machine = sm;
	in->sri_qtype = M0_NET_QT_PASSIVE_BULK_RECV;
	in->sri_at = in->sri_call.sch_offset;
	in->sri_sink = SR_SINK_BUFFER;
}

/* The buffer is claimed. */
static int put_take(struct sr_conn *conn, struct m0_net_kit_buf *kb,
		    m0_time_t now)
{
	const struct sr_call_head *call = &conn->sc_in.sri_call;
	uint32_t                   end = call->sch_offset + call->sch_data_nr;
	struct sr_buf             *sb = m0_net_kit_buf_pvt(kb);
	int                        rc = 0;

	if (!m0_sunrpc__passive_keep(conn, kb, now))
		rc = -ENOENT;
	else
		sb->sb_passive.srp_offset = end;
	if (rc == 0 && end == call->sch_desc.sd_total) {
		passive_free(kb);
		m0_net_kit_done(kb, 0, end);
	} else {
		m0_net_kit_unclaim(kb);
	}
	return rc;
}

static int put_end(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in          *in = &conn->sc_in;
	struct m0_net_kit_buf *kb;
	int                    rc = -ENOENT;

	if (in->sri_rc != 0)
		return in->sri_rc;
	if (!m0_sunrpc__hold(in->sri_machine))
		return -ENETUNREACH;
	if (m0_net_kit_claim_id(in->sri_id, in->sri_qtype, &kb) == 0)
		rc = put_take(conn, kb, now);
	m0_sunrpc__release(in->sri_machine);
	return rc;
}

/* The piece goes with the reply, read from the buffer when that is sent. */
static void get_end(struct sr_conn *conn, struct sr_reply *reply, m0_time_t now)
{
	uint32_t               offset = conn->sc_in.sri_call.sch_offset;
	struct m0_net_kit_buf *kb;
	struct sr_machine     *sm;
	struct sr_buf         *sb;
	uint32_t               left;
	uint64_t               id;
	int                    rc = passive_claim(conn, now, &sm, &id, &kb);

	reply->srr_head.srh_rc = (uint32_t)-rc;
	if (rc != 0)
		return;
	sb = m0_net_kit_buf_pvt(kb);
	left = (uint32_t)kb->nkb_send_nr - offset;
	reply->srr_out.sro_machine = sm;
	reply->srr_out.sro_id = id;
	reply->srr_out.sro_qtype = M0_NET_QT_PASSIVE_BULK_SEND;
	reply->srr_out.sro_offset = kb->nkb_buffer->nb_offset + offset;
	reply->srr_out.sro_data_nr = (uint32_t)min64u(left, SR_PIECE_MAX);
	reply->srr_ends = left == reply->srr_out.sro_data_nr;
	reply->srr_head.srh_eof = reply->srr_ends;
	reply->srr_head.srh_data_nr = reply->srr_out.sro_data_nr;
	sb->sb_passive.srp_offset = offset + reply->srr_out.sro_data_nr;
	m0_net_kit_machine_get(sm->sm_machine);
	m0_net_kit_unclaim(kb);
	m0_sunrpc__release(sm);
}

/* -------------------------------------------------------------- messages -- */

static int msg_take(struct sr_machine *sm, const struct sr_in *in)
{
	struct m0_net_kit_machine *machine = sm->sm_machine;
	const uint8_t             *bytes = in->sri_flat != NULL ? in->sri_flat
								: in->sri_memory;
	void                      *data = (void *)(uintptr_t)bytes;
	m0_bcount_t                nr = in->sri_data_nr;
	struct m0_bufvec           flat = M0_BUFVEC_INIT_BUF(&data, &nr);
	struct m0_net_kit_addr     from;
	struct m0_net_kit_visit    visit;
	int                        rc = -ENETUNREACH;

	m0_sunrpc__addr(&from, &in->sri_call.sch_from);
	m0_net_kit_enter(machine, &visit);
	if (m0_net_kit_machine_tm(machine)->ntm_state == M0_NET_TM_STARTED)
		rc = m0_net_kit_msg_in(machine, &from, &flat, 0, nr);
	m0_net_kit_leave(machine, &visit);
	/* m0/sunrpc.x has one word for both. */
	return rc == -ENOMEM ? -ENOBUFS : rc;
}

static int msg_end(struct sr_in *in)
{
	struct sr_machine *sm;
	int                rc;

	if (in->sri_rc != 0)
		return in->sri_rc;
	if (!m0_sunrpc__ep_is_valid(&in->sri_call.sch_from))
		return -EINVAL;
	sm = m0_sunrpc__find(&in->sri_call.sch_to);
	if (sm == NULL)
		return -ENETUNREACH;
	rc = msg_take(sm, in);
	m0_sunrpc__release(sm);
	return rc;
}

/* ----------------------------------------------------------------- calls -- */

void m0_sunrpc__serve_head(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;

	if (in->sri_call.sch_proc == SR_MSG)
		in->sri_sink = SR_SINK_MEMORY;
	else if (in->sri_call.sch_proc == SR_PUT)
		put_head(conn, now);
}

int m0_sunrpc__serve_end(struct sr_conn *conn, bool whole, m0_time_t now)
{
	struct sr_in    *in = &conn->sc_in;
	struct sr_reply *reply = reply_new(conn);

	if (reply == NULL)
		return -ENOMEM;
	if (in->sri_verdict == SR_SUCCESS && in->sri_call.sch_proc != SR_NULL &&
	    !whole)
		reply->srr_head.srh_verdict = SR_GARBAGE;
	else if (in->sri_verdict != SR_SUCCESS)
		;
	else if (in->sri_call.sch_proc == SR_MSG)
		reply->srr_head.srh_rc = (uint32_t)-msg_end(in);
	else if (in->sri_call.sch_proc == SR_PUT)
		reply->srr_head.srh_rc = (uint32_t)-put_end(conn, now);
	else if (in->sri_call.sch_proc == SR_GET)
		get_end(conn, reply, now);
	reply_queue(conn, reply, now);
	return 0;
}
