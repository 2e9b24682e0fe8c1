/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages that leave: queues, credits, chains of work requests. All that a
 * connection may send in a step becomes one chain, with one doorbell.
 */
#include "lnd/o2ib/o2ib_internal.h"

/** A chain that is being built in odr_wrs. */
struct chain {
	struct m0_o2ib__conn *och_conn;
	unsigned              och_nr;
};

void m0_o2ib__conn_dirty(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__drv *drv = m0_o2ib__drv(conn);

	/* In the list, it has roused the driver. */
	if (m0_list_link_is_in(&conn->ocn_dirty))
		return;
	m0_list_add_tail(&drv->odr_dirty, &conn->ocn_dirty);
	m0_o2ib__rouse(drv);
}

bool m0_o2ib__is_queueing(const struct m0_o2ib__conn *conn)
{
	return !m0_list_is_empty(&conn->ocn_reserve) ||
	       !m0_list_is_empty(&conn->ocn_credit) ||
	       !m0_list_is_empty(&conn->ocn_free);
}

static bool is_request(const struct m0_o2ib__msg *msg)
{
	return msg->oms_type == M0_O2IB_PUT_REQ ||
	       msg->oms_type == M0_O2IB_GET_REQ;
}

void m0_o2ib__msg_queue(struct m0_o2ib__conn *conn, struct m0_o2ib__msg *msg)
{
	struct m0_list *list = is_request(msg) ? &conn->ocn_reserve
			       : msg->oms_type == M0_O2IB_IMMEDIATE
				       ? &conn->ocn_credit
				       : &conn->ocn_free;

	M0_PRE(conn->ocn_state == M0_O2IB__UP);
	if (!m0_o2ib__is_queueing(conn))
		conn->ocn_progress_at = m0_o2ib__now(m0_o2ib__drv(conn));
	msg->oms_place = M0_O2IB__QUEUED;
	msg->oms_conn = conn;
	msg->oms_has_slot = false;
	m0_list_add_tail(list, &msg->oms_link);
	m0_o2ib__scan_by(conn->ocn_ni,
			 m0_time_add(conn->ocn_progress_at,
				     conn->ocn_ni->oni_cfg.obn_timeout_ns));
	m0_o2ib__conn_dirty(conn);
}

bool m0_o2ib__answer(struct m0_o2ib__conn *conn, uint8_t type,
		     struct m0_o2ib__xfer *xfer, uint64_t cookie,
		     int32_t status)
{
	struct m0_o2ib__msg *msg;

	/* The engine may end connections while it is offered a message. */
	if (conn->ocn_state != M0_O2IB__UP)
		return false;
	msg = m0_o2ib__msg_get(m0_o2ib__drv(conn), type);
	if (msg == NULL) {
		m0_o2ib__conn_break(conn, -ENOMEM);
		return false;
	}
	msg->oms_xfer = xfer;
	msg->oms_cookie = cookie;
	msg->oms_status = status;
	m0_o2ib__msg_queue(conn, msg);
	return true;
}

void m0_o2ib__source_fail(struct m0_o2ib__xfer *xfer, int status)
{
	if (xfer->oxf_is_get && xfer->oxf_conn->ocn_state == M0_O2IB__UP)
		(void)m0_o2ib__answer(xfer->oxf_conn, M0_O2IB_GET_DONE, NULL,
				      xfer->oxf_peer_cookie, status);
	m0_o2ib__source_end(xfer, status, m0_o2ib__health(status, false));
}

/* -- chains ------------------------------------------------------------------- */

/** The last of a chain is signalled if a message of it must be known to have left,
 * or if many would be unknown, or if the queue of the device is full. */
static void chain_sign(struct chain *chain)
{
	struct m0_o2ib__conn *conn = chain->och_conn;
	unsigned              all = conn->ocn_qp->oqp_sends_nr;
	uint64_t used = conn->ocn_staged_nr - conn->ocn_completed_nr;

	if (!conn->ocn_wants_signal && conn->ocn_unsignalled_nr < all / 4 &&
	    used < all)
		return;
	m0_o2ib__drv(conn)->odr_wrs[chain->och_nr - 1].owr_is_signalled = true;
	conn->ocn_wants_signal = false;
	conn->ocn_unsignalled_nr = 0;
}

static void chain_post(struct chain *chain)
{
	struct m0_o2ib__conn *conn = chain->och_conn;
	struct m0_o2ib__drv  *drv = m0_o2ib__drv(conn);

	M0_PRE(chain->och_nr <= M0_O2IB_CHAIN_MAX);
	if (chain->och_nr == 0)
		return;
	chain_sign(chain);
	conn->ocn_sent_at = m0_o2ib__now(drv);
	/* On failure the provider reports the connection broken. */
	(void)drv->odr_ops->odo_post(conn->ocn_qp, drv->odr_wrs, chain->och_nr);
	chain->och_nr = 0;
}

/** Makes room for one work request. @return NULL: the device has none. */
static struct m0_o2ib_wr *chain_room(struct chain *chain)
{
	struct m0_o2ib__conn *conn = chain->och_conn;

	if (conn->ocn_staged_nr - conn->ocn_completed_nr >=
	    conn->ocn_qp->oqp_sends_nr)
		return NULL;
	if (chain->och_nr == M0_O2IB_CHAIN_MAX)
		chain_post(chain);
	return &m0_o2ib__drv(conn)->odr_wrs[chain->och_nr];
}

static void chain_add(struct chain *chain)
{
	struct m0_o2ib__conn *conn = chain->och_conn;
	struct m0_o2ib_wr *wr = &m0_o2ib__drv(conn)->odr_wrs[chain->och_nr++];

	wr->owr_id = conn->ocn_staged_nr++;
	++conn->ocn_unsignalled_nr;
	M0_POST(conn->ocn_staged_nr - conn->ocn_completed_nr <=
		conn->ocn_qp->oqp_sends_nr);
}

/* -- messages ------------------------------------------------------------------ */

static size_t msg_bytes(const struct m0_o2ib__msg *msg)
{
	switch (msg->oms_type) {
	case M0_O2IB_NOOP:
		return M0_O2IB_HDR_BYTES;
	case M0_O2IB_IMMEDIATE:
		return M0_O2IB_IMMEDIATE_BYTES +
		       (size_t)msg->oms_tx->ltx_payload.lpy_bytes;
	case M0_O2IB_PUT_REQ:
		return M0_O2IB_PUT_REQ_BYTES;
	case M0_O2IB_GET_REQ:
		return M0_O2IB_GET_REQ_BYTES +
		       (size_t)msg->oms_xfer->oxf_segs_nr * M0_O2IB_FRAG_BYTES;
	case M0_O2IB_PUT_ACK:
		return M0_O2IB_PUT_ACK_BYTES +
		       (size_t)msg->oms_xfer->oxf_segs_nr * M0_O2IB_FRAG_BYTES;
	default:
		return M0_O2IB_DONE_BYTES;
	}
}

static void immediate_put(const struct m0_o2ib__msg *msg,
			  const struct m0_o2ib_hdr  *hdr,
			  const uint8_t *lnet_hdr, uint8_t *buf, size_t bytes)
{
	const struct m0_lnd_payload *pl = &msg->oms_tx->ltx_payload;
	m0_bcount_t                  nr = pl->lpy_bytes;
	void                        *at = buf + M0_O2IB_IMMEDIATE_BYTES;
	struct m0_bufvec             flat = M0_BUFVEC_INIT_BUF(&at, &nr);

	(void)m0_o2ib__immediate_encode(
		hdr,
		&(struct m0_o2ib_immediate){
			.ibm_lnet_hdr = lnet_hdr,
			.ibm_payload_bytes = (uint32_t)nr },
		buf, bytes);
	if (nr > 0)
		m0_bufvec_copy_at(&flat, 0, pl->lpy_vec, pl->lpy_offset, nr);
}

/** The memory that a peer may write, by its key. */
static struct m0_o2ib_desc desc_of(struct m0_o2ib__xfer *xfer)
{
	unsigned i;

	M0_PRE(xfer->oxf_is_mapped && xfer->oxf_segs_nr >= 1);
	M0_PRE(xfer->oxf_segs_nr <= M0_O2IB_FRAGS_SENT_MAX);
	for (i = 0; i < xfer->oxf_segs_nr; ++i)
		xfer->oxf_frags[i] = (struct m0_o2ib_frag){
			.ibf_bytes = xfer->oxf_segs[i].osg_bytes,
			.ibf_addr = (uintptr_t)xfer->oxf_segs[i].osg_addr +
				    xfer->oxf_map.omp_shift
		};
	return (struct m0_o2ib_desc){ .ibd_key = xfer->oxf_map.omp_rkey,
				      .ibd_frags_nr = xfer->oxf_segs_nr,
				      .ibd_frags = xfer->oxf_frags };
}

static void ack_put(const struct m0_o2ib__msg *msg,
		    const struct m0_o2ib_hdr *hdr, uint8_t *buf, size_t bytes)
{
	struct m0_o2ib_put_ack ack = {
		.ibk_src_cookie = msg->oms_xfer->oxf_peer_cookie,
		.ibk_dst_cookie = msg->oms_xfer->oxf_cookie,
		.ibk_sink = desc_of(msg->oms_xfer)
	};

	(void)m0_o2ib__put_ack_encode(hdr, &ack, buf, bytes);
}

static void get_req_put(const struct m0_o2ib__msg *msg,
			const struct m0_o2ib_hdr *hdr, uint8_t *buf,
			size_t bytes)
{
	struct m0_o2ib_req req = { .ibq_lnet_hdr = msg->oms_xfer->oxf_get_hdr,
				   .ibq_cookie = msg->oms_xfer->oxf_cookie,
				   .ibq_sink = desc_of(msg->oms_xfer) };

	(void)m0_o2ib__get_req_encode(hdr, &req, buf, bytes);
}

static void done_put(const struct m0_o2ib__msg *msg,
		     const struct m0_o2ib_hdr *hdr, uint8_t *buf, size_t bytes)
{
	uint64_t sink =
		msg->oms_xfer == NULL ? 0 : msg->oms_xfer->oxf_desc.ibd_bytes;

	(void)m0_o2ib__done_encode(
		hdr,
		&(struct m0_o2ib_done){ .ibe_cookie = msg->oms_cookie,
					.ibe_status = msg->oms_status },
		sink, buf, bytes);
}

/** Encodes a message that leaves now. */
static void msg_encode(struct m0_o2ib__msg *msg, const uint8_t *lnet_hdr,
		       uint8_t *buf, size_t bytes)
{
	struct m0_o2ib__conn *conn = msg->oms_conn;
	struct m0_o2ib_hdr    hdr = {
		   .ibh_type = msg->oms_type,
		   .ibh_src_nid4 = conn->ocn_ni->oni_self.ibs_nid4,
		   .ibh_src_stamp = conn->ocn_ni->oni_self.ibs_stamp,
		   .ibh_dst_nid4 = conn->ocn_peer->ope_wire.ibo_nid4,
		   .ibh_dst_stamp = conn->ocn_stamp
	};

	hdr.ibh_credits =
		m0_o2ib__credits_send(&conn->ocn_credits, msg->oms_type);
	switch (msg->oms_type) {
	case M0_O2IB_NOOP:
		(void)m0_o2ib__noop_encode(&hdr, buf, bytes);
		break;
	case M0_O2IB_IMMEDIATE:
		immediate_put(msg, &hdr, lnet_hdr, buf, bytes);
		break;
	case M0_O2IB_PUT_REQ:
		(void)m0_o2ib__put_req_encode(
			&hdr,
			&(struct m0_o2ib_req){
				.ibq_lnet_hdr = lnet_hdr,
				.ibq_cookie = msg->oms_xfer->oxf_cookie },
			buf, bytes);
		break;
	case M0_O2IB_GET_REQ:
		get_req_put(msg, &hdr, buf, bytes);
		break;
	case M0_O2IB_PUT_ACK:
		ack_put(msg, &hdr, buf, bytes);
		break;
	default:
		done_put(msg, &hdr, buf, bytes);
	}
}

/** A request has left: its answer is waited for. */
static void request_left(struct m0_o2ib__msg *msg)
{
	struct m0_o2ib__xfer *xfer = msg->oms_xfer;
	struct m0_o2ib__conn *conn = msg->oms_conn;

	M0_PRE(xfer->oxf_req == msg && xfer->oxf_is_mapped);
	xfer->oxf_req = NULL;
	xfer->oxf_conn = conn;
	xfer->oxf_state = M0_O2IB__OFFERED;
	xfer->oxf_deadline = m0_time_add(m0_o2ib__now(m0_o2ib__drv(conn)),
					 conn->ocn_ni->oni_cfg.obn_timeout_ns);
	m0_list_add_tail(&conn->ocn_asked, &xfer->oxf_link);
	msg->oms_xfer = NULL;
	m0_o2ib__scan_by(conn->ocn_ni, xfer->oxf_deadline);
}

/** Has the engine encode its header. @return false: it cannot; the message has
 * ended. */
static bool lnet_hdr_get(struct m0_o2ib__msg *msg,
			 uint8_t              hdr[M0_LND_HDR_BYTES_MAX])
{
	struct m0_lnd_tx *tx = msg->oms_type == M0_O2IB_PUT_REQ
				       ? msg->oms_xfer->oxf_tx
				       : msg->oms_tx;

	if (tx == NULL || msg->oms_conn->ocn_ni->oni_ni->ldn_ops->lu_tx_header(
				  tx, false, hdr) == M0_O2IB_LNET_HDR_BYTES)
		return true;
	m0_list_del(&msg->oms_link);
	if (msg->oms_has_slot)
		m0_o2ib__credits_unreserve(&msg->oms_conn->ocn_credits);
	m0_o2ib__msg_fail(msg, -EAFNOSUPPORT, M0_LND_LOCAL_ERROR);
	return false;
}

static bool wants_signal(const struct m0_o2ib__msg *msg)
{
	return msg->oms_type == M0_O2IB_NOOP || msg->oms_tx != NULL ||
	       (msg->oms_xfer != NULL && msg->oms_type != M0_O2IB_PUT_ACK);
}

static void msg_left(struct chain *chain, struct m0_o2ib__msg *msg)
{
	struct m0_o2ib__conn *conn = chain->och_conn;

	if (is_request(msg))
		request_left(msg);
	conn->ocn_wants_signal |= wants_signal(msg);
	if (msg->oms_type == M0_O2IB_PUT_ACK)
		msg->oms_xfer = NULL;
	/* Payloads have deadlines of their own. */
	msg->oms_deadline =
		msg->oms_type != M0_O2IB_IMMEDIATE
			? M0_TIME_NEVER
			: m0_time_add(m0_o2ib__now(m0_o2ib__drv(conn)),
				      conn->ocn_ni->oni_cfg.obn_timeout_ns);
	m0_o2ib__scan_by(conn->ocn_ni, msg->oms_deadline);
	msg->oms_place = M0_O2IB__POSTED;
	msg->oms_seq = conn->ocn_staged_nr;
	m0_list_move_tail(&conn->ocn_posted, &msg->oms_link);
	chain_add(chain);
}

/** Chooses the memory from which a message is sent. @return NULL: there is none. */
static uint8_t *msg_buf(struct chain *chain, struct m0_o2ib__msg *msg,
			size_t bytes, struct m0_o2ib_seg *seg, bool *ret_inline)
{
	struct m0_o2ib__conn *conn = chain->och_conn;

	*ret_inline = bytes <= M0_O2IB__SCRATCH_BYTES &&
		      bytes <= conn->ocn_qp->oqp_inline_max;
	*seg = (struct m0_o2ib_seg){ .osg_bytes = (uint32_t)bytes };
	if (*ret_inline)
		return seg->osg_addr =
			       m0_o2ib__drv(conn)->odr_scratch[chain->och_nr];
	msg->oms_sbuf = m0_o2ib__sbuf_get(conn->ocn_ni);
	if (msg->oms_sbuf == NULL)
		return NULL;
	seg->osg_lkey = msg->oms_sbuf->osb_lkey;
	return seg->osg_addr = msg->oms_sbuf->osb_addr;
}

/** The SEND of a message. @return false: not now. */
static bool msg_stage(struct chain *chain, struct m0_o2ib__msg *msg)
{
	uint8_t              lnet_hdr[M0_LND_HDR_BYTES_MAX];
	struct m0_o2ib__drv *drv = m0_o2ib__drv(chain->och_conn);
	struct m0_o2ib_wr   *wr = chain_room(chain);
	size_t               bytes = msg_bytes(msg);
	struct m0_o2ib_seg  *seg = drv->odr_segs[chain->och_nr];
	bool                 is_inline;
	uint8_t             *buf;

	if (wr == NULL)
		return false;
	if ((msg->oms_tx != NULL || msg->oms_type == M0_O2IB_PUT_REQ) &&
	    !lnet_hdr_get(msg, lnet_hdr))
		return true;
	buf = msg_buf(chain, msg, bytes, seg, &is_inline);
	if (buf == NULL) {
		m0_o2ib__scan_by(chain->och_conn->ocn_ni,
				 m0_time_add(m0_o2ib__now(drv),
					     M0_O2IB__RETRY_NS));
		return false;
	}
	if (is_request(msg))
		msg->oms_xfer->oxf_cookie = chain->och_conn->ocn_cookie++;
	msg_encode(msg, lnet_hdr, buf, bytes);
	*wr = (struct m0_o2ib_wr){ .owr_op = M0_O2IB_OP_SEND,
				   .owr_is_inline = is_inline,
				   .owr_segs = seg,
				   .owr_segs_nr = 1 };
	msg_left(chain, msg);
	return true;
}

/** Half of what the connection may have asked for is for PUT_REQs. */
static bool fetch_fits(const struct m0_o2ib__msg *msg)
{
	const struct m0_o2ib_params *granted = &msg->oms_conn->ocn_params;

	return msg->oms_xfer->oxf_segs_nr <= granted->ibp_frags_max &&
	       msg->oms_peer->ope_fetches_nr <= granted->ibp_queue_depth / 2;
}

/** A GET_REQ that does not fit is an IMMEDIATE. */
static void fetch_fit(struct m0_o2ib__msg *msg)
{
	struct m0_o2ib__xfer *xfer = msg->oms_xfer;
	struct m0_lnd_tx     *tx = xfer->oxf_tx;

	M0_PRE(msg->oms_has_slot);
	M0_PRE(xfer->oxf_is_fetch && xfer->oxf_req == msg);
	if (fetch_fits(msg))
		return;
	m0_o2ib__credits_unreserve(&msg->oms_conn->ocn_credits);
	msg->oms_has_slot = false;
	msg->oms_type = M0_O2IB_IMMEDIATE;
	msg->oms_xfer = NULL;
	msg->oms_tx = tx;
	xfer->oxf_tx = NULL;
	m0_o2ib__xfer_put(xfer);
	m0_o2ib__tx_is(tx, M0_O2IB__TX_MSG, msg);
}

/** The writes of a DONE come before it. @return false: not all of them now. */
static bool writes_stage(struct chain *chain, struct m0_o2ib__msg *msg)
{
	struct m0_o2ib__xfer *xfer = msg->oms_xfer;
	struct m0_o2ib__drv  *drv = m0_o2ib__drv(chain->och_conn);
	unsigned sges = (unsigned)min64u(chain->och_conn->ocn_qp->oqp_sges_max,
					 M0_O2IB__SGES_MAX);

	while (xfer->oxf_left > 0) {
		struct m0_o2ib_wr *wr = chain_room(chain);

		if (wr == NULL)
			return false;
		m0_o2ib__xfer_next(xfer, sges, drv->odr_segs[chain->och_nr],
				   wr);
		chain_add(chain);
	}
	return true;
}

/* -- queues --------------------------------------------------------------------- */

static struct m0_o2ib__msg *first(const struct m0_list *list)
{
	struct m0_list_link *link = m0_list_first(list);

	return link == NULL
		       ? NULL
		       : m0_list_entry(link, struct m0_o2ib__msg, oms_link);
}

/** Requests get a slot for their answer, and wait for a credit then. */
static void slots_take(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__msg *msg;

	while ((msg = first(&conn->ocn_reserve)) != NULL &&
	       m0_o2ib__credits_reserve(&conn->ocn_credits)) {
		msg->oms_has_slot = true;
		m0_list_move_tail(&conn->ocn_credit, &msg->oms_link);
	}
}

static void noop_add(struct m0_o2ib__conn *conn)
{
	m0_time_t              keep = conn->ocn_ni->oni_cfg.obn_keepalive_ns;
	m0_time_t              now = m0_o2ib__now(m0_o2ib__drv(conn));
	struct m0_o2ib_waiting waiting = {
		.ibx_free = !m0_list_is_empty(&conn->ocn_free),
		.ibx_credit = !m0_list_is_empty(&conn->ocn_credit),
		.ibx_silent = keep != 0 &&
			      now >= m0_time_add(conn->ocn_sent_at, keep)
	};

	if (m0_o2ib__credits_needs_noop(&conn->ocn_credits, &waiting))
		(void)m0_o2ib__answer(conn, M0_O2IB_NOOP, NULL, 0, 0);
}

/** The message that may leave next. */
static struct m0_o2ib__msg *next(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__msg *msg = first(&conn->ocn_free);

	if (msg == NULL)
		msg = first(&conn->ocn_credit);
	return msg != NULL && m0_o2ib__credits_may_send(&conn->ocn_credits,
							msg->oms_type)
		       ? msg
		       : NULL;
}

void m0_o2ib__conn_flush(struct m0_o2ib__conn *conn)
{
	struct chain         chain = { .och_conn = conn };
	struct m0_o2ib__msg *msg;

	M0_PRE(m0_o2ib__conn_invariant(conn));
	if (conn->ocn_state != M0_O2IB__UP)
		return;
	slots_take(conn);
	noop_add(conn);
	while (conn->ocn_state == M0_O2IB__UP && (msg = next(conn)) != NULL) {
		if (msg->oms_xfer != NULL && msg->oms_type != M0_O2IB_PUT_ACK &&
		    !is_request(msg) && !writes_stage(&chain, msg))
			break;
		if (M0_UNLIKELY(msg->oms_type == M0_O2IB_GET_REQ))
			fetch_fit(msg);
		if (!msg_stage(&chain, msg))
			break;
	}
	if (conn->ocn_state == M0_O2IB__UP)
		chain_post(&chain);
}

/* -- completions ----------------------------------------------------------------- */

static void msg_sent(struct m0_o2ib__msg *msg)
{
	struct m0_o2ib__conn *conn = msg->oms_conn;

	M0_PRE(msg->oms_place == M0_O2IB__POSTED);
	m0_list_del(&msg->oms_link);
	m0_o2ib__sbuf_put(conn->ocn_ni, msg->oms_sbuf);
	msg->oms_sbuf = NULL;
	if (msg->oms_type == M0_O2IB_NOOP)
		m0_o2ib__credits_noop_sent(&conn->ocn_credits);
	if (msg->oms_tx != NULL)
		m0_o2ib__tx_end(msg->oms_tx, 0, M0_LND_OK);
	if (msg->oms_xfer != NULL)
		m0_o2ib__source_end(msg->oms_xfer,
				    msg->oms_status < 0 ? msg->oms_status : 0,
				    msg->oms_status < 0 ? M0_LND_LOCAL_ERROR
							: M0_LND_OK);
	m0_o2ib__msg_put(m0_o2ib__drv(conn), msg);
}

void m0_o2ib__sent(void *user, uint64_t id, int status)
{
	struct m0_o2ib__conn *conn = user;
	struct m0_o2ib__msg  *msg;

	if (conn->ocn_state != M0_O2IB__UP)
		return;
	if (status != 0) {
		conn->ocn_status = status;
		return;
	}
	M0_PRE(m0_o2ib__conn_invariant(conn));
	M0_ASSERT(id >= conn->ocn_completed_nr && id < conn->ocn_staged_nr);
	conn->ocn_completed_nr = id + 1;
	conn->ocn_progress_at = m0_o2ib__now(m0_o2ib__drv(conn));
	while ((msg = first(&conn->ocn_posted)) != NULL && msg->oms_seq <= id)
		msg_sent(msg);
	if (!m0_list_is_empty(&conn->ocn_free) ||
	    !m0_list_is_empty(&conn->ocn_credit))
		m0_o2ib__conn_dirty(conn);
}

/* -- the end ---------------------------------------------------------------------- */

void m0_o2ib__queues_return(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__peer *peer = conn->ocn_peer;
	struct m0_list        back;
	struct m0_o2ib__msg  *msg;

	m0_list_init(&back);
	m0_list_splice_tail(&back, &conn->ocn_credit);
	m0_list_splice_tail(&back, &conn->ocn_reserve);
	m0_list_splice_tail(&back, &peer->ope_waiting);
	m0_list_splice_tail(&peer->ope_waiting, &back);
	m0_list_for_each_entry(&peer->ope_waiting, msg, struct m0_o2ib__msg,
			       oms_link) {
		msg->oms_place = M0_O2IB__WAITING;
		msg->oms_has_slot = false;
		msg->oms_conn = NULL;
	}
	/* Answers are of this connection; their payloads end with it. */
	while ((msg = first(&conn->ocn_free)) != NULL) {
		m0_list_del(&msg->oms_link);
		m0_o2ib__msg_put(m0_o2ib__drv(conn), msg);
	}
}

/** A GET_REQ may have arrived, and must not be sent again. */
static enum m0_lnd_health asked_health(const struct m0_o2ib__xfer *xfer,
				       int                         status)
{
	enum m0_lnd_health health = m0_o2ib__health(status, true);

	if (status == -ETIMEDOUT && xfer->oxf_state == M0_O2IB__OFFERED)
		return M0_LND_REMOTE_TIMEOUT;
	return xfer->oxf_is_fetch && health == M0_LND_REMOTE_DROPPED
		       ? M0_LND_REMOTE_ERROR
		       : health;
}

/**
 * We have ended the connection of a source for another's sake: its request is sent again by the
 * next one, if the peer cannot have executed it. It executes a PUT at the PUT_DONE, which does not
 * leave before its PUT_ACK has come; a GET, and a message that carries its payload, at once. A PUT
 * of which the match takes no bytes may be executed twice (docs/o2ib.md, section 8).
 * @return false: it must not be sent again.
 */
static bool source_again(struct m0_o2ib__xfer *xfer)
{
	struct m0_o2ib__ni   *ni = xfer->oxf_ni;
	struct m0_o2ib__drv  *drv = ni->oni_drv;
	struct m0_o2ib__peer *peer = xfer->oxf_conn->ocn_peer;
	struct m0_o2ib__msg  *msg;

	M0_PRE(!xfer->oxf_is_sink && xfer->oxf_is_mapped);
	if (xfer->oxf_state != M0_O2IB__OFFERED || xfer->oxf_is_fetch ||
	    xfer->oxf_is_cancelled || ni->oni_is_stopping)
		return false;
	msg = m0_o2ib__msg_get(drv, M0_O2IB_PUT_REQ);
	if (msg == NULL)
		return false;
	m0_list_del(&xfer->oxf_link);
	xfer->oxf_state = M0_O2IB__READY;
	xfer->oxf_deadline = min64u(xfer->oxf_tx->ltx_deadline,
				    m0_time_add(m0_o2ib__now(drv),
						ni->oni_cfg.obn_timeout_ns));
	msg->oms_xfer = xfer;
	msg->oms_deadline = xfer->oxf_deadline;
	xfer->oxf_req = msg;
	m0_o2ib__scan_by(ni, xfer->oxf_deadline);
	xfer->oxf_conn = NULL;
	m0_o2ib__peer_send(peer, msg);
	return true;
}

void m0_o2ib__posted_end(struct m0_o2ib__conn *conn)
{
	enum m0_lnd_health   health = m0_o2ib__health(conn->ocn_status, true);
	struct m0_o2ib__msg *msg;

	while ((msg = first(&conn->ocn_posted)) != NULL) {
		m0_list_del(&msg->oms_link);
		m0_o2ib__sbuf_put(conn->ocn_ni, msg->oms_sbuf);
		msg->oms_sbuf = NULL;
		if (msg->oms_tx != NULL)
			m0_o2ib__tx_end(msg->oms_tx, conn->ocn_status, health);
		m0_o2ib__msg_put(m0_o2ib__drv(conn), msg);
	}
	while (!m0_list_is_empty(&conn->ocn_asked)) {
		struct m0_o2ib__xfer *xfer =
			m0_list_entry(m0_list_first(&conn->ocn_asked),
				      struct m0_o2ib__xfer, oxf_link);

		if (conn->ocn_status != -ECONNABORTED || !source_again(xfer))
			m0_o2ib__source_end(xfer, conn->ocn_status,
					    asked_health(xfer,
							 conn->ocn_status));
	}
}
