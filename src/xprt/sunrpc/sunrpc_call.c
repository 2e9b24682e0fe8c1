/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Messages sent, and the active side of bulk: one call, or one for each piece.
 *
 * A call has the identity of its buffer. When the buffer is given up, the call goes on
 * without it: the server answers what has left, and the call ignores the answer.
 */
#include "xprt/sunrpc/sunrpc_internal.h"

static struct sr_node *const node = &m0_sunrpc__node;

/* ---------------------------------------------------------------- memory -- */

static struct sr_call *call_new(void)
{
	struct sr_call *call;

	m0_mutex_lock(&node->sn_lock);
	call = node->sn_free;
	if (call != NULL) {
		node->sn_free = call->sca_next;
		--node->sn_free_nr;
	}
	m0_mutex_unlock(&node->sn_lock);
	if (call == NULL) {
		M0_ALLOC_PTR(call);
		if (call == NULL)
			return NULL;
		m0_list_link_init(&call->sca_out.sro_link);
	}
	call->sca_next = NULL;
	call->sca_done = 0;
	call->sca_retried = false;
	call->sca_left = NULL;
	call->sca_out.sro_kind = SR_OUT_CALL;
	return call;
}

static void call_free(struct sr_call *call)
{
	m0_net_kit_machine_put(call->sca_out.sro_machine->sm_machine);
	m0_mutex_lock(&node->sn_lock);
	if (node->sn_free_nr < SR_FREE_MAX) {
		call->sca_next = node->sn_free;
		node->sn_free = call;
		++node->sn_free_nr;
		call = NULL;
	}
	m0_mutex_unlock(&node->sn_lock);
	if (call != NULL) {
		m0_list_link_fini(&call->sca_out.sro_link);
		m0_free(call);
	}
}

void m0_sunrpc__calls_drain(void)
{
	struct sr_call *call;

	while ((call = node->sn_free) != NULL) {
		node->sn_free = call->sca_next;
		m0_list_link_fini(&call->sca_out.sro_link);
		m0_free(call);
	}
	node->sn_free_nr = 0;
}

/* -------------------------------------------------------------- machines -- */

/* For the thread; ntm_mutex is held, or the buffer's machine runs. */
static void call_post(struct sr_call *call)
{
	m0_mutex_lock(&node->sn_lock);
	if (node->sn_posted_last != NULL)
		node->sn_posted_last->sca_next = call;
	else
		__atomic_store_n(&node->sn_posted, call, __ATOMIC_RELAXED);
	node->sn_posted_last = call;
	m0_mutex_unlock(&node->sn_lock);
	m0_sunrpc__node_wake();
}

static void call_fill(struct sr_call *call, struct m0_net_kit_buf *kb,
		      enum sr_proc proc)
{
	struct sr_machine *sm = m0_net_kit_machine_pvt(kb->nkb_machine);

	m0_net_kit_machine_get(kb->nkb_machine);
	call->sca_dom = m0_sunrpc__dom(m0_net_kit_machine_dom(kb->nkb_machine));
	call->sca_head.sch_proc = proc;
	call->sca_base = proc == SR_GET ? 0 : kb->nkb_buffer->nb_offset;
	call->sca_size = (uint32_t)kb->nkb_size;
	call->sca_total = (uint32_t)kb->nkb_send_nr;
	call->sca_out.sro_machine = sm;
	call->sca_out.sro_id = m0_net_kit_buf_id(kb);
	call->sca_out.sro_qtype = kb->nkb_buffer->nb_qtype;
}

uint32_t m0_sunrpc__call_times(const struct sr_call *call)
{
	return call->sca_head.sch_proc == SR_MSG
		       ? 1
		       : 2 + call->sca_total / SR_PIECE_MAX;
}

/* Then the buffer ends, whatever the peer does. */
static void deadline_set(struct m0_net_kit_buf *kb, const struct sr_call *call)
{
	uint32_t ms = __atomic_load_n(&call->sca_dom->sdm_timeout_ms,
				      __ATOMIC_RELAXED);

	m0_net_kit_deadline(kb,
			    m0_time_add(m0_time_cached(),
					(m0_time_t)ms *
						m0_sunrpc__call_times(call) *
						M0_TIME_ONE_MSEC),
			    -ETIMEDOUT);
}

void m0_sunrpc__send(struct m0_net_kit_buf *kb)
{
	struct sr_buf  *sb = m0_net_kit_buf_pvt(kb);
	struct sr_call *call;

	if (kb->nkb_send_nr > M0_NET_BULK_SUNRPC_MESSAGE_MAX) {
		m0_net_kit_done(kb, -EMSGSIZE, 0);
		return;
	}
	call = call_new();
	if (call == NULL) {
		m0_net_kit_done(kb, -ENOMEM, 0);
		return;
	}
	call_fill(call, kb, SR_MSG);
	(void)m0_sunrpc__ep(&call->sca_head.sch_from,
			    m0_net_kit_machine_addr(kb->nkb_machine));
	(void)m0_sunrpc__ep(&call->sca_head.sch_to,
			    m0_net_kit_ep_addr(kb->nkb_ep));
	sb->sb_waits = m0_net_kit_buf_id(kb);
	deadline_set(kb, call);
	call_post(call);
}

/* A descriptor of another transport may have a good checksum. */
static bool desc_take(struct sr_call *call, const struct m0_net_kit_buf *kb,
		      const struct m0_net_kit_desc *desc)
{
	struct sr_desc *sd = &call->sca_head.sch_desc;

	if (!m0_sunrpc__ep(&sd->sd_passive, &desc->nks_passive) ||
	    desc->nks_size > M0_NET_BULK_SUNRPC_BUFFER_MAX)
		return false;
	(void)m0_sunrpc__ep(&sd->sd_active,
			    m0_net_kit_machine_addr(kb->nkb_machine));
	/* So that one of an earlier process at its address finds nothing. */
	sd->sd_id = desc->nks_id ^ desc->nks_incarnation;
	sd->sd_qtype = desc->nks_qtype;
	if (call->sca_head.sch_proc == SR_PUT) {
		sd->sd_total = call->sca_total;
		/* A payload that is too large is announced, not sent. */
		if (call->sca_total > desc->nks_size)
			call->sca_size = 0;
	} else {
		sd->sd_total = call->sca_size;
		call->sca_total = (uint32_t)desc->nks_size;
	}
	return true;
}

void m0_sunrpc__bulk(struct m0_net_kit_buf        *kb,
		     const struct m0_net_kit_desc *desc)
{
	struct sr_buf   *sb = m0_net_kit_buf_pvt(kb);
	struct m0_mutex *lock =
		&m0_net_kit_machine_tm(kb->nkb_machine)->ntm_mutex;
	struct sr_call *call = call_new();

	if (call == NULL) {
		m0_net_kit_done(kb, -ENOMEM, 0);
		return;
	}
	call_fill(call, kb,
		  desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_RECV ? SR_PUT
								 : SR_GET);
	if (!desc_take(call, kb, desc)) {
		call_free(call);
		m0_net_kit_done(kb, -EINVAL, 0);
		return;
	}
	m0_mutex_lock(lock);
	if (m0_net_kit_claim(kb)) {
		sb->sb_waits = m0_net_kit_buf_id(kb);
		m0_net_kit_unclaim(kb);
		deadline_set(kb, call);
		call_post(call);
		call = NULL;
	} else {
		m0_net_kit_done(kb, 0, 0);
	}
	m0_mutex_unlock(lock);
	if (call != NULL)
		call_free(call);
}

/* ------------------------------------------------------------ the thread -- */

/* The buffer if it still waits, claimed. */
static struct m0_net_kit_buf *call_claim(struct sr_call *call)
{
	struct m0_net_kit_buf *kb = call->sca_left;

	if (kb == NULL &&
	    m0_net_kit_claim_id(call->sca_out.sro_id, call->sca_out.sro_qtype,
				&kb) != 0)
		return NULL;
	return kb;
}

/* The call first: its callback may make the next one at once. */
void m0_sunrpc__call_end(struct sr_call *call, int rc, uint32_t nr)
{
	struct sr_machine     *sm = call->sca_out.sro_machine;
	struct m0_net_kit_buf *kb;
	struct sr_buf         *sb;

	if (!m0_sunrpc__hold(sm)) {
		call_free(call);
		return;
	}
	kb = call_claim(call);
	call_free(call);
	if (kb != NULL) {
		sb = m0_net_kit_buf_pvt(kb);
		sb->sb_waits = 0;
		m0_net_kit_done(kb, rc, nr);
	}
	m0_sunrpc__release(sm);
}

/* The next piece, or the message. */
static void piece_make(struct sr_call *call)
{
	struct sr_call_head *head = &call->sca_head;
	struct sr_out       *out = &call->sca_out;
	uint32_t             left = call->sca_total - call->sca_done;

	head->sch_xid = ++node->sn_xid;
	head->sch_offset = call->sca_done;
	head->sch_data_nr = 0;
	if (head->sch_proc == SR_MSG)
		head->sch_data_nr = left;
	else if (head->sch_proc == SR_PUT && call->sca_size > 0)
		head->sch_data_nr = (uint32_t)min64u(left, SR_PIECE_MAX);
	out->sro_head_nr = m0_sunrpc__call_encode(out->sro_head + 4, head);
	out->sro_offset = call->sca_base + call->sca_done;
	out->sro_data_nr = head->sch_data_nr;
	out->sro_data_sent = 0;
	out->sro_begun = false;
	out->sro_cut = false;
}

void m0_sunrpc__call_begin(struct sr_call *call, m0_time_t now)
{
	const struct sr_call_head *head = &call->sca_head;
	bool                       bulk = head->sch_proc != SR_MSG;
	struct sr_conn            *conn;
	int                        rc;

	rc = m0_sunrpc__conn_find(call->sca_dom,
				  bulk ? &head->sch_desc.sd_passive
				       : &head->sch_to,
				  bulk, now, &conn);
	if (rc != 0) {
		m0_sunrpc__call_end(call, rc, 0);
		return;
	}
	if (m0_sunrpc__conn_is_idle(conn))
		conn->sc_moved = now;
	piece_make(call);
	m0_sunrpc__conn_put(conn, &call->sca_out);
	m0_sunrpc__conn_watch(conn);
}

/*
 * Notes that a message has left: the server may have taken it. A message that is given
 * up after this completes with its answer; one that was cut short has no effect.
 */
void m0_sunrpc__call_sent(struct sr_conn *conn, struct sr_call *call,
			  struct m0_net_kit_buf *kb, m0_time_t now)
{
	struct sr_machine *sm = call->sca_out.sro_machine;

	call->sca_since = now;
	if (kb != NULL && call->sca_head.sch_proc == SR_MSG)
		call->sca_left = kb;
	else if (kb != NULL)
		m0_net_kit_unclaim(kb);
	if (kb != NULL)
		m0_sunrpc__release(sm);
	m0_list_add_tail(&conn->sc_waiting, &call->sca_out.sro_link);
}

struct sr_call *m0_sunrpc__call_of(struct sr_conn *conn, const uint8_t *xid)
{
	struct sr_call *call;

	m0_list_for_each_entry(&conn->sc_waiting, call, struct sr_call,
			       sca_out.sro_link) {
		if (memcmp(call->sca_out.sro_head + 4, xid, 4) == 0)
			return call;
	}
	return NULL;
}

/* A piece has begun to come. */
static bool piece_is_good(const struct sr_call       *call,
			  const struct sr_reply_head *reply)
{
	uint32_t nr = reply->srh_data_nr;
	uint32_t left = call->sca_total - call->sca_done;

	return nr > 0 && nr <= left && call->sca_total <= call->sca_size &&
	       (reply->srh_eof != 0) == (nr == left);
}

void m0_sunrpc__reply_head(struct sr_conn *conn)
{
	struct sr_in   *in = &conn->sc_in;
	struct sr_call *call = in->sri_of;

	if (in->sri_reply.srh_proc != SR_GET || in->sri_reply.srh_rc != 0)
		return;
	if (!piece_is_good(call, &in->sri_reply)) {
		in->sri_rc = -EPROTO;
		return;
	}
	in->sri_machine = call->sca_out.sro_machine;
	m0_net_kit_machine_get(in->sri_machine->sm_machine);
	in->sri_id = call->sca_out.sro_id;
	in->sri_qtype = M0_NET_QT_ACTIVE_BULK_RECV;
	in->sri_at = call->sca_done;
	in->sri_sink = SR_SINK_BUFFER;
}

/* A status of m0/sunrpc.x; peers must not use those of this end. */
static bool status_is_known(enum sr_proc proc, uint32_t rc)
{
	if (M0_IN(rc, (ENETUNREACH, EINVAL)))
		return true;
	if (proc == SR_MSG)
		return M0_IN(rc, (ENOBUFS, EMSGSIZE));
	return M0_IN(rc, (ENOENT, EPERM, EACCES, EFBIG));
}

static int reply_rc(const struct sr_in *in, bool whole)
{
	uint32_t rc = in->sri_reply.srh_rc;

	if (in->sri_verdict != SR_SUCCESS || !whole)
		return -EPROTO;
	if (rc == 0)
		return in->sri_rc;
	return status_is_known(in->sri_reply.srh_proc, rc) ? -(int)rc : -EPROTO;
}

int m0_sunrpc__reply_end(struct sr_conn *conn, bool whole)
{
	struct sr_in   *in = &conn->sc_in;
	struct sr_call *call = in->sri_of;
	int             rc;

	/* To nothing that was asked: it counts as one that is not wanted. */
	if (call == NULL)
		return 0;
	rc = reply_rc(in, whole);
	m0_list_del(&call->sca_out.sro_link);
	if (call->sca_head.sch_proc == SR_PUT)
		call->sca_done += call->sca_head.sch_data_nr;
	else if (call->sca_head.sch_proc == SR_GET)
		call->sca_done += in->sri_data_nr;
	else
		call->sca_done = call->sca_total;
	if (rc != 0 || call->sca_done == call->sca_total) {
		m0_sunrpc__call_end(
			call, rc,
			call->sca_head.sch_proc == SR_GET ? call->sca_done : 0);
		return 0;
	}
	/* A piece of no bytes that was taken: the peer has not understood. */
	if (call->sca_head.sch_proc == SR_PUT &&
	    call->sca_head.sch_data_nr == 0) {
		m0_sunrpc__call_end(call, -EPROTO, 0);
		return 0;
	}
	piece_make(call);
	m0_sunrpc__conn_put(conn, &call->sca_out);
	return 0;
}
