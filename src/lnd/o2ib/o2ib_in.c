/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages that arrive. Nothing that a peer sends is asserted on: it ends the connection
 * or fails one message. */
#include "lnd/o2ib/o2ib_internal.h"

static void repost(struct m0_o2ib__conn *conn, struct m0_o2ib_rbuf *rbuf)
{
	m0_o2ib__drv(conn)->odr_ops->odo_repost(conn->ocn_qp, rbuf);
}

/** The buffer of a message is free, and the peer will learn that. */
static void repost_as(struct m0_o2ib__conn *conn, struct m0_o2ib_rbuf *rbuf,
		      uint8_t type)
{
	repost(conn, rbuf);
	m0_o2ib__credits_repost(&conn->ocn_credits, type, false);
	m0_o2ib__conn_dirty(conn);
}

static void rx_done(struct m0_o2ib__rx *rx, int status,
		    enum m0_lnd_health health)
{
	rx->orx_ni->oni_drv->odr_spoke = true;
	rx->orx_rx.lr_offered = false;
	rx->orx_ni->oni_ni->ldn_ops->lu_rx_done(&rx->orx_rx, status, health);
}

/* -- sinks --------------------------------------------------------------------- */

static void sink_end(struct m0_o2ib__xfer *xfer, int status,
		     enum m0_lnd_health health)
{
	struct m0_o2ib__rx *rx = xfer->oxf_rx;

	M0_PRE(xfer->oxf_is_sink && rx != NULL);
	xfer->oxf_rx = NULL;
	m0_o2ib__xfer_put(xfer);
	rx_done(rx, status, health);
	m0_o2ib__rx_put(rx);
}

void m0_o2ib__sink_refuse(struct m0_o2ib__xfer *xfer, int status)
{
	struct m0_o2ib__conn *conn = xfer->oxf_conn;

	if (conn->ocn_state == M0_O2IB__UP) {
		m0_o2ib__credits_repost(&conn->ocn_credits, M0_O2IB_PUT_REQ,
					false);
		(void)m0_o2ib__answer(conn, M0_O2IB_PUT_NAK, NULL,
				      xfer->oxf_peer_cookie, status);
	}
	sink_end(xfer, status, M0_LND_LOCAL_ERROR);
}

void m0_o2ib__sink_offer(struct m0_o2ib__xfer *xfer)
{
	struct m0_o2ib__conn *conn = xfer->oxf_conn;
	struct m0_o2ib__drv  *drv = m0_o2ib__drv(conn);

	M0_PRE(xfer->oxf_is_mapped && xfer->oxf_state == M0_O2IB__READY);
	if (conn->ocn_state != M0_O2IB__UP) {
		sink_end(xfer, -ECONNRESET, M0_LND_REMOTE_DROPPED);
		return;
	}
	xfer->oxf_cookie = conn->ocn_cookie++;
	xfer->oxf_state = M0_O2IB__OFFERED;
	xfer->oxf_deadline = m0_time_add(m0_o2ib__now(drv),
					 conn->ocn_ni->oni_cfg.obn_timeout_ns);
	xfer->oxf_rx->orx_rx.lr_offered = xfer->oxf_bounce == NULL;
	m0_list_add_tail(&conn->ocn_sinks, &xfer->oxf_link);
	m0_list_add_tail(&drv->odr_offered, &xfer->oxf_offered);
	m0_o2ib__credits_repost(&conn->ocn_credits, M0_O2IB_PUT_REQ, true);
	(void)m0_o2ib__answer(conn, M0_O2IB_PUT_ACK, xfer,
			      xfer->oxf_peer_cookie, 0);
	m0_o2ib__scan_by(conn->ocn_ni, xfer->oxf_deadline);
}

/** A payload comes by RDMA: memory for it. */
static void sink_begin(struct m0_o2ib__rx *rx)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;
	struct m0_o2ib__xfer *xfer = m0_o2ib__xfer_get(conn->ocn_ni);
	int                   rc;

	M0_PRE(rx->orx_rbuf == NULL && rx->orx_rx.lr_payload.lpy_bytes > 0);
	if (xfer == NULL) {
		m0_o2ib__credits_repost(&conn->ocn_credits, M0_O2IB_PUT_REQ,
					false);
		(void)m0_o2ib__answer(conn, M0_O2IB_PUT_NAK, NULL,
				      rx->orx_cookie, -ENOMEM);
		rx_done(rx, -ENOMEM, M0_LND_LOCAL_ERROR);
		m0_o2ib__rx_put(rx);
		return;
	}
	xfer->oxf_is_sink = true;
	xfer->oxf_rx = rx;
	xfer->oxf_conn = conn;
	xfer->oxf_peer_cookie = rx->orx_cookie;
	xfer->oxf_payload = rx->orx_rx.lr_payload;
	xfer->oxf_deadline = m0_time_add(m0_o2ib__now(m0_o2ib__drv(conn)),
					 conn->ocn_ni->oni_cfg.obn_timeout_ns);
	rc = m0_o2ib__xfer_map(xfer, conn->ocn_params.ibp_frags_max);
	if (rc == 0)
		m0_o2ib__sink_offer(xfer);
	else if (rc != -EAGAIN)
		m0_o2ib__sink_refuse(xfer, rc);
}

/* -- requests of peers ----------------------------------------------------------- */

/** A request for RDMA, decoded. */
struct incoming {
	const uint8_t        *oin_lnet_hdr;
	struct m0_o2ib_req    oin_req;
	struct m0_o2ib__xfer *oin_xfer;
};

/** Copies the payload of an IMMEDIATE. */
static void payload_take(struct m0_o2ib__rx             *rx,
			 const struct m0_o2ib_immediate *imm)
{
	const struct m0_lnd_payload *pl = &rx->orx_rx.lr_payload;
	const struct m0_bufvec      *vec = pl->lpy_vec;
	m0_bcount_t                  nr = pl->lpy_bytes;
	void                        *from = (void *)imm->ibm_payload;
	struct m0_bufvec             flat = M0_BUFVEC_INIT_BUF(&from, &nr);

	if (nr == 0 || rx->orx_rx.lr_cancelled)
		return;
	if (M0_LIKELY(pl->lpy_offset + nr <= vec->ov_vec.v_count[0]))
		memcpy((char *)vec->ov_buf[0] + pl->lpy_offset, from, nr);
	else
		m0_bufvec_copy_at(vec, pl->lpy_offset, &flat, 0, nr);
	rx->orx_ni->oni_info.ldi_copied_bytes += nr;
}

static void immediate_in(struct m0_o2ib__rx             *rx,
			 const struct m0_o2ib_immediate *imm)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;
	struct m0_o2ib_rbuf  *rbuf = rx->orx_rbuf;
	m0_bcount_t           all = rx->orx_rx.lr_payload.lpy_bytes +
			  rx->orx_rx.lr_discard_bytes;

	M0_PRE_EX(rbuf != NULL && rx->orx_type == M0_O2IB_IMMEDIATE);
	rx->orx_rbuf = NULL;
	if (all > imm->ibm_payload_bytes) {
		++conn->ocn_ni->oni_info.ldi_bad_peers_nr;
		rx_done(rx, -EPROTO, M0_LND_REMOTE_ERROR);
	} else {
		payload_take(rx, imm);
		rx_done(rx, 0, M0_LND_OK);
	}
	repost_as(conn, rbuf, M0_O2IB_IMMEDIATE);
	m0_o2ib__rx_keep(rx);
}

static void put_req_in(struct m0_o2ib__rx *rx)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;

	repost(conn, rx->orx_rbuf);
	rx->orx_rbuf = NULL;
	if (rx->orx_rx.lr_payload.lpy_bytes > 0) {
		sink_begin(rx);
		return;
	}
	m0_o2ib__credits_repost(&conn->ocn_credits, M0_O2IB_PUT_REQ, false);
	(void)m0_o2ib__answer(conn, M0_O2IB_PUT_NAK, NULL, rx->orx_cookie, 0);
	rx_done(rx, 0, M0_LND_OK);
	m0_o2ib__rx_put(rx);
}

static void get_req_in(struct m0_o2ib__rx *rx)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;
	struct m0_o2ib_rbuf  *rbuf = rx->orx_rbuf;
	struct m0_o2ib__xfer *xfer = rx->orx_xfer;

	rx->orx_rbuf = NULL;
	repost_as(conn, rbuf, M0_O2IB_GET_REQ);
	if (rx->orx_rx.lr_kept) {
		m0_list_add_tail(&conn->ocn_gets, &rx->orx_link);
	} else {
		/* Nothing matches. */
		rx->orx_xfer = NULL;
		m0_o2ib__xfer_put(xfer);
		(void)m0_o2ib__answer(conn, M0_O2IB_GET_DONE, NULL,
				      rx->orx_cookie, -ENODATA);
	}
	rx_done(rx, 0, M0_LND_OK);
	m0_o2ib__rx_keep(rx);
}

/** A GET_REQ names memory of its own. */
static int get_req_decode(const struct m0_o2ib__rx *rx,
			  const struct m0_o2ib_hdr *hdr, struct incoming *in,
			  struct m0_o2ib_why *why)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;
	struct m0_o2ib__xfer *xfer = m0_o2ib__xfer_get(conn->ocn_ni);
	int                   rc;

	if (xfer == NULL)
		return -ENOMEM;
	in->oin_req.ibq_sink = xfer->oxf_desc;
	rc = m0_o2ib__get_req_decode(hdr, rx->orx_rbuf->orb_bytes, &in->oin_req,
				     why);
	xfer->oxf_desc = in->oin_req.ibq_sink;
	xfer->oxf_is_get = true;
	xfer->oxf_conn = conn;
	xfer->oxf_peer_cookie = in->oin_req.ibq_cookie;
	if (rc == 0 && m0_o2ib__lnet_dest(in->oin_req.ibq_lnet_hdr) !=
			       conn->ocn_ni->oni_self.ibs_nid4)
		rc = m0_o2ib__refuse(why, M0_O2IB_FIELD_DST_NID,
				     "GET_REQ: its target is not this node");
	if (rc == 0)
		in->oin_xfer = xfer;
	else
		m0_o2ib__xfer_put(xfer);
	return rc;
}

/** The kind of message of LNet must fit the request. */
static int kind_check(uint8_t type, const uint8_t *lnet_hdr,
		      struct m0_o2ib_why *why)
{
	enum m0_o2ib_lnet kind = m0_o2ib__lnet_kind(lnet_hdr);

	if ((type == M0_O2IB_GET_REQ && kind == M0_O2IB_LNET_GET) ||
	    (type == M0_O2IB_PUT_REQ &&
	     (kind == M0_O2IB_LNET_PUT || kind == M0_O2IB_LNET_REPLY)))
		return 0;
	return m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE,
			       "%s with LNet's message type %u",
			       m0_o2ib__type_name(type), kind);
}

static int decode(const struct m0_o2ib__rx *rx, const struct m0_o2ib_hdr *hdr,
		  struct incoming *in, struct m0_o2ib_why *why)
{
	const uint8_t *bytes = rx->orx_rbuf->orb_bytes;
	int            rc;

	*in = (struct incoming){};
	rc = rx->orx_type == M0_O2IB_PUT_REQ
		     ? m0_o2ib__put_req_decode(hdr, bytes, &in->oin_req, why)
		     : get_req_decode(rx, hdr, in, why);
	if (rc != 0)
		return rc;
	in->oin_lnet_hdr = in->oin_req.ibq_lnet_hdr;
	rc = kind_check(rx->orx_type, in->oin_lnet_hdr, why);
	if (rc != 0 && in->oin_xfer != NULL)
		m0_o2ib__xfer_put(in->oin_xfer);
	return rc;
}

/** Most messages are small: in few steps. */
static int immediate_offer(struct m0_o2ib__rx       *rx,
			   const struct m0_o2ib_hdr *hdr)
{
	struct m0_lnd_ni        *lnd_ni = rx->orx_ni->oni_ni;
	struct m0_o2ib_immediate imm;
	int                      rc;

	m0_o2ib__immediate_decode(hdr, rx->orx_rbuf->orb_bytes, &imm);
	rc = lnd_ni->ldn_ops->lu_rx_begin(lnd_ni, &rx->orx_rx, imm.ibm_lnet_hdr,
					  false);
	if (M0_LIKELY(rc == 0))
		immediate_in(rx, &imm);
	return rc;
}

/** Offers a request for RDMA to the engine. A call of its own: an IMMEDIATE saves fewer registers. */
static __attribute__((__noinline__)) int rdma_offer(
	struct m0_o2ib__rx *rx, const struct m0_o2ib_hdr *hdr,
	struct m0_o2ib_why *why)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;
	struct m0_lnd_ni     *lnd_ni = conn->ocn_ni->oni_ni;
	struct incoming       in;
	int                   rc;

	rc = decode(rx, hdr, &in, why);
	if (rc != 0)
		return rc;
	rx->orx_cookie = in.oin_req.ibq_cookie;
	/* The engine may send its REPLY from within the call. */
	rx->orx_xfer = in.oin_xfer;
	rc = lnd_ni->ldn_ops->lu_rx_begin(lnd_ni, &rx->orx_rx, in.oin_lnet_hdr,
					  false);
	if (rc != 0) {
		rx->orx_xfer = NULL;
		if (in.oin_xfer != NULL)
			m0_o2ib__xfer_put(in.oin_xfer);
		return rc;
	}
	if (rx->orx_type == M0_O2IB_PUT_REQ)
		put_req_in(rx);
	else
		get_req_in(rx);
	return 0;
}

/** Offers a request to the engine. @retval -EAGAIN  it puts the request off. */
static int rx_offer(struct m0_o2ib__rx *rx, const struct m0_o2ib_hdr *hdr,
		    struct m0_o2ib_why *why)
{
	return M0_LIKELY(rx->orx_type == M0_O2IB_IMMEDIATE)
		       ? immediate_offer(rx, hdr)
		       : rdma_offer(rx, hdr, why);
}

/** Likewise, of one that was put off. */
static int rx_offer_again(struct m0_o2ib__rx *rx, struct m0_o2ib_why *why)
{
	struct m0_o2ib_hdr hdr;
	int                rc;

	rc = m0_o2ib__hdr_decode(&hdr, rx->orx_rbuf->orb_bytes,
				 rx->orx_rbuf->orb_nr, why);
	M0_ASSERT(rc == 0);
	return rx_offer(rx, &hdr, why);
}

static void pause_on(struct m0_o2ib__rx *rx)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;
	struct m0_o2ib__drv  *drv = m0_o2ib__drv(conn);

	m0_list_add_tail(&conn->ocn_paused, &rx->orx_link);
	if (!m0_list_link_is_in(&conn->ocn_pausing))
		m0_list_add_tail(&drv->odr_paused, &conn->ocn_pausing);
}

static void rx_drop(struct m0_o2ib__rx *rx)
{
	repost(rx->orx_conn, rx->orx_rbuf);
	rx->orx_rbuf = NULL;
	m0_o2ib__rx_put(rx);
}

static int request_in(struct m0_o2ib__conn *conn, struct m0_o2ib_rbuf *rbuf,
		      const struct m0_o2ib_hdr *hdr, struct m0_o2ib_why *why)
{
	struct m0_o2ib__rx *rx = m0_o2ib__rx_get(conn->ocn_ni);
	int                 rc;

	if (rx == NULL)
		return -ENOMEM;
	rx->orx_conn = conn;
	rx->orx_rbuf = rbuf;
	rx->orx_type = hdr->ibh_type;
	rx->orx_rx.lr_nid = conn->ocn_peer->ope_nid;
	rc = m0_list_is_empty(&conn->ocn_paused) ? rx_offer(rx, hdr, why)
						 : -EAGAIN;
	if (rc == -EAGAIN) {
		if (conn->ocn_state == M0_O2IB__UP)
			pause_on(rx);
		else
			rx_drop(rx);
		return 0;
	}
	if (rc != 0) {
		rx->orx_rbuf = NULL;
		m0_o2ib__rx_put(rx);
	}
	return rc;
}

/* -- answers of peers ------------------------------------------------------------ */

static struct m0_o2ib__xfer *offered_find(const struct m0_list *list,
					  uint64_t cookie, bool is_fetch)
{
	struct m0_o2ib__xfer *xfer;

	m0_list_for_each_entry(list, xfer, struct m0_o2ib__xfer, oxf_link)
		if (xfer->oxf_state == M0_O2IB__OFFERED &&
		    xfer->oxf_cookie == cookie &&
		    xfer->oxf_is_fetch == is_fetch)
			return xfer;
	return NULL;
}

static int unknown(uint8_t type, uint64_t cookie, struct m0_o2ib_why *why)
{
	return m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE, "%s: cookie %#llx",
			       m0_o2ib__type_name(type),
			       (unsigned long long)cookie);
}

static int put_ack_in(struct m0_o2ib__conn *conn, const struct m0_o2ib_hdr *hdr,
		      const uint8_t *bytes, struct m0_o2ib_why *why)
{
	struct m0_o2ib_put_ack ack = {};
	struct m0_o2ib__xfer  *xfer;
	int                    rc;

	xfer = offered_find(&conn->ocn_asked,
			    m0_o2ib__cookie(bytes + M0_O2IB_HDR_BYTES), false);
	if (xfer == NULL)
		return unknown(hdr->ibh_type,
			       m0_o2ib__cookie(bytes + M0_O2IB_HDR_BYTES), why);
	ack.ibk_sink = xfer->oxf_desc;
	rc = m0_o2ib__put_ack_decode(hdr, bytes, &ack, why);
	if (rc != 0)
		return rc;
	xfer->oxf_desc = ack.ibk_sink;
	xfer->oxf_peer_cookie = ack.ibk_dst_cookie;
	rc = m0_o2ib__xfer_begin(xfer);
	xfer->oxf_state = M0_O2IB__DONE;
	if (!xfer->oxf_is_cancelled)
		xfer->oxf_deadline =
			m0_time_add(m0_o2ib__now(m0_o2ib__drv(conn)),
				    conn->ocn_ni->oni_cfg.obn_timeout_ns);
	(void)m0_o2ib__answer(conn, M0_O2IB_PUT_DONE, xfer,
			      xfer->oxf_peer_cookie,
			      rc == 0 ? (int32_t)xfer->oxf_desc.ibd_bytes : rc);
	return 0;
}

static int nak_in(struct m0_o2ib__conn *conn, const struct m0_o2ib_done *done,
		  struct m0_o2ib_why *why)
{
	struct m0_o2ib__xfer *xfer =
		offered_find(&conn->ocn_asked, done->ibe_cookie, false);

	if (xfer == NULL)
		return unknown(M0_O2IB_PUT_NAK, done->ibe_cookie, why);
	m0_o2ib__source_end(xfer, done->ibe_status < 0 ? -EREMOTEIO : 0,
			    done->ibe_status < 0 ? M0_LND_REMOTE_ERROR
						 : M0_LND_OK);
	return 0;
}

static int put_done_in(struct m0_o2ib__conn      *conn,
		       const struct m0_o2ib_done *done, struct m0_o2ib_why *why)
{
	struct m0_o2ib__xfer *xfer =
		offered_find(&conn->ocn_sinks, done->ibe_cookie, false);

	if (xfer == NULL)
		return unknown(M0_O2IB_PUT_DONE, done->ibe_cookie, why);
	if (done->ibe_status >= 0 &&
	    (uint64_t)done->ibe_status == xfer->oxf_payload.lpy_bytes) {
		m0_o2ib__xfer_arrived(xfer);
		sink_end(xfer, 0, M0_LND_OK);
	} else {
		sink_end(xfer, -EREMOTEIO, M0_LND_REMOTE_ERROR);
	}
	return 0;
}

static int get_done_in(struct m0_o2ib__conn      *conn,
		       const struct m0_o2ib_done *done, struct m0_o2ib_why *why)
{
	struct m0_o2ib__xfer *xfer =
		offered_find(&conn->ocn_asked, done->ibe_cookie, true);

	return xfer == NULL
		       ? unknown(M0_O2IB_GET_DONE, done->ibe_cookie, why)
		       : m0_o2ib__fetch_done(conn, xfer, done->ibe_status, why);
}

static int done_in(struct m0_o2ib__conn *conn, const struct m0_o2ib_hdr *hdr,
		   const uint8_t *bytes, struct m0_o2ib_why *why)
{
	struct m0_o2ib_done done;
	int                 rc = m0_o2ib__done_decode(hdr, bytes, &done, why);

	if (rc != 0)
		return rc;
	if (hdr->ibh_type == M0_O2IB_PUT_NAK)
		return nak_in(conn, &done, why);
	if (hdr->ibh_type == M0_O2IB_PUT_DONE)
		return put_done_in(conn, &done, why);
	return get_done_in(conn, &done, why);
}

/* -- messages ---------------------------------------------------------------------- */

static bool is_request(uint8_t type)
{
	return type == M0_O2IB_IMMEDIATE || type == M0_O2IB_PUT_REQ ||
	       type == M0_O2IB_GET_REQ;
}

static int answer_in(struct m0_o2ib__conn *conn, struct m0_o2ib_rbuf *rbuf,
		     const struct m0_o2ib_hdr *hdr, struct m0_o2ib_why *why)
{
	/* The answer may need the slot, or the buffer, of this one. */
	m0_o2ib__credits_repost(&conn->ocn_credits, hdr->ibh_type, false);
	m0_o2ib__conn_dirty(conn);
	switch (hdr->ibh_type) {
	case M0_O2IB_NOOP:
		return 0;
	case M0_O2IB_PUT_ACK:
		return put_ack_in(conn, hdr, rbuf->orb_bytes, why);
	default:
		return done_in(conn, hdr, rbuf->orb_bytes, why);
	}
}

/** Not inline, because the headers of few messages are not known. */
static __attribute__((__noinline__)) int hdr_in(
	const struct m0_o2ib__conn *conn, const struct m0_o2ib_rbuf *rbuf,
	struct m0_o2ib_hdr *hdr, struct m0_o2ib_why *why)
{
	int rc = m0_o2ib__hdr_decode(hdr, rbuf->orb_bytes, rbuf->orb_nr, why);

	return rc == 0 ? m0_o2ib__conn_check(&conn->ocn_ni->oni_self,
					     &conn->ocn_peer->ope_wire, hdr,
					     why)
		       : rc;
}

static int message_in(struct m0_o2ib__conn *conn, struct m0_o2ib_rbuf *rbuf,
		      struct m0_o2ib_why *why)
{
	struct m0_o2ib_hdr hdr;
	int                rc = 0;

	if (!m0_o2ib__hdr_decode_known(&hdr, rbuf->orb_bytes, rbuf->orb_nr,
				       conn->ocn_ids))
		rc = hdr_in(conn, rbuf, &hdr, why);
	if (rc == 0)
		rc = m0_o2ib__credits_receive(&conn->ocn_credits, &hdr, why);
	if (rc != 0)
		return rc;
	conn->ocn_progress_at = m0_o2ib__now(m0_o2ib__drv(conn));
	if (is_request(hdr.ibh_type))
		return request_in(conn, rbuf, &hdr, why);
	rc = answer_in(conn, rbuf, &hdr, why);
	if (rc == 0)
		repost(conn, rbuf);
	return rc;
}

static void bad(struct m0_o2ib__conn *conn, int rc,
		const struct m0_o2ib_why *why)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	++conn->ocn_ni->oni_info.ldi_bad_peers_nr;
	m0_log(M0_LOG_WARN, "o2ib: a connection to %s ends: %s",
	       m0_lnet_nid_print(&conn->ocn_peer->ope_nid, nid, sizeof nid),
	       why->ibw_field != M0_O2IB_FIELD_NONE ? why->ibw_text
						    : m0_errname(rc));
	m0_o2ib__conn_break(conn, rc == -ENOMEM ? rc : -EPROTO);
}

static void take(struct m0_o2ib__conn *conn, struct m0_o2ib_rbuf *rbuf)
{
	struct m0_o2ib_why why;
	int                rc;

	why.ibw_field = M0_O2IB_FIELD_NONE;
	rc = message_in(conn, rbuf, &why);
	if (rc == 0)
		return;
	repost(conn, rbuf);
	bad(conn, rc, &why);
}

void m0_o2ib__received(void *user, struct m0_o2ib_rbuf *rbuf)
{
	struct m0_o2ib__conn *conn = user;

	if (conn->ocn_state == M0_O2IB__UP)
		take(conn, rbuf);
	else if (conn->ocn_state == M0_O2IB__BREAKING)
		repost(conn, rbuf);
	else
		m0_list_add_tail(&conn->ocn_early, &rbuf->orb_link);
}

void m0_o2ib__early_take(struct m0_o2ib__conn *conn)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&conn->ocn_early)) != NULL) {
		m0_list_del(link);
		m0_o2ib__received(conn, m0_list_entry(link, struct m0_o2ib_rbuf,
						      orb_link));
	}
}

void m0_o2ib__paused_retry(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib_why  why = {};
	struct m0_o2ib__rx *rx;
	int                 rc = 0;

	while (conn->ocn_state == M0_O2IB__UP && rc == 0 &&
	       (rx = m0_o2ib__rx_first(&conn->ocn_paused)) != NULL) {
		m0_list_del(&rx->orx_link);
		rc = rx_offer_again(rx, &why);
		if (rc == -EAGAIN && conn->ocn_state != M0_O2IB__UP) {
			rx_drop(rx);
		} else if (rc == -EAGAIN) {
			m0_list_add(&conn->ocn_paused, &rx->orx_link);
		} else if (rc != 0) {
			rx_drop(rx);
			bad(conn, rc, &why);
		}
	}
	rc = m0_o2ib__replies_retry(conn);
	if (rc != 0)
		bad(conn, rc, &why);
	if (!m0_list_is_empty(&conn->ocn_paused) &&
	    !m0_list_link_is_in(&conn->ocn_pausing))
		m0_list_add_tail(&m0_o2ib__drv(conn)->odr_paused,
				 &conn->ocn_pausing);
}

void m0_o2ib__paused_drop(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__rx *rx;

	while ((rx = m0_o2ib__rx_first(&conn->ocn_paused)) != NULL) {
		m0_list_del(&rx->orx_link);
		rx_drop(rx);
	}
}

void m0_o2ib__rxs_end(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__xfer *xfer;
	struct m0_o2ib__rx   *rx;

	while ((rx = m0_o2ib__rx_first(&conn->ocn_gets)) != NULL) {
		m0_list_del(&rx->orx_link);
		rx->orx_conn = NULL;
		if (rx->orx_xfer != NULL)
			m0_o2ib__xfer_put(rx->orx_xfer);
		rx->orx_xfer = NULL;
	}
	while (!m0_list_is_empty(&conn->ocn_sinks)) {
		xfer = m0_list_entry(m0_list_first(&conn->ocn_sinks),
				     struct m0_o2ib__xfer, oxf_link);
		sink_end(xfer, conn->ocn_status,
			 m0_o2ib__health(conn->ocn_status, true));
	}
}

void m0_o2ib__rx_release(struct m0_lnd_ni *lnd_ni, struct m0_lnd_rx *lnd_rx)
{
	struct m0_o2ib__rx *rx =
		container_of(lnd_rx, struct m0_o2ib__rx, orx_rx);
	struct m0_o2ib__conn *conn = rx->orx_conn;

	M0_PRE(rx->orx_is_kept);
	if (rx->orx_xfer != NULL) {
		if (conn->ocn_state == M0_O2IB__UP)
			(void)m0_o2ib__answer(conn, M0_O2IB_GET_DONE, NULL,
					      rx->orx_cookie, -ENODATA);
		m0_o2ib__xfer_put(rx->orx_xfer);
		rx->orx_xfer = NULL;
	}
	if (m0_list_link_is_in(&rx->orx_link))
		m0_list_del(&rx->orx_link);
	--rx->orx_ni->oni_kept_nr;
	rx->orx_is_kept = false;
	m0_o2ib__rx_put(rx);
	m0_o2ib__rouse(((struct m0_o2ib__ni *)lnd_ni->ldn_priv)->oni_drv);
}
