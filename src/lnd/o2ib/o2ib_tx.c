/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages of the engine, from ldo_xmit to a queue. */
#include "lnd/o2ib/o2ib_internal.h"

/* -- sources ----------------------------------------------------------------- */

/** The REPLY to a GET_REQ has its memory. */
static void get_ready(struct m0_o2ib__xfer *xfer)
{
	struct m0_o2ib__conn *conn = xfer->oxf_conn;
	int32_t               status = (int32_t)xfer->oxf_payload.lpy_bytes;
	int                   rc = m0_o2ib__xfer_begin(xfer);

	M0_PRE(xfer->oxf_is_get && xfer->oxf_state == M0_O2IB__READY);
	if (conn->ocn_state != M0_O2IB__UP) {
		m0_o2ib__source_fail(xfer, -ECONNRESET);
		return;
	}
	xfer->oxf_state = M0_O2IB__DONE;
	m0_list_add_tail(&conn->ocn_asked, &xfer->oxf_link);
	(void)m0_o2ib__answer(conn, M0_O2IB_GET_DONE, xfer,
			      xfer->oxf_peer_cookie, rc == 0 ? status : rc);
}

void m0_o2ib__source_ready(struct m0_o2ib__xfer *xfer)
{
	struct m0_o2ib__ni   *ni = xfer->oxf_ni;
	struct m0_o2ib__peer *peer;
	struct m0_o2ib__msg  *msg;

	M0_PRE(xfer->oxf_is_mapped && xfer->oxf_tx != NULL);
	if (xfer->oxf_is_get) {
		get_ready(xfer);
		return;
	}
	msg = m0_o2ib__msg_get(ni->oni_drv, xfer->oxf_is_fetch
						    ? M0_O2IB_GET_REQ
						    : M0_O2IB_PUT_REQ);
	peer = msg == NULL
		       ? NULL
		       : m0_o2ib__peer_get(
				 ni, m0_lnet_nid_to4(&xfer->oxf_tx->ltx_nid));
	if (peer == NULL) {
		if (msg != NULL)
			m0_o2ib__msg_put(ni->oni_drv, msg);
		m0_o2ib__source_fail(xfer, -ENOMEM);
		return;
	}
	msg->oms_xfer = xfer;
	msg->oms_deadline = xfer->oxf_deadline;
	xfer->oxf_req = msg;
	m0_o2ib__peer_send(peer, msg);
}

/** Until it has left. */
static m0_time_t tx_deadline(const struct m0_o2ib__ni *ni,
			     const struct m0_lnd_tx   *tx)
{
	return min64u(tx->ltx_deadline,
		      m0_time_add(m0_o2ib__now(ni->oni_drv),
				  ni->oni_cfg.obn_timeout_ns));
}

static void source_begin(struct m0_o2ib__ni *ni, struct m0_o2ib__xfer *xfer,
			 struct m0_lnd_tx *tx)
{
	int rc;

	M0_PRE(xfer->oxf_tx == NULL && xfer->oxf_ni == ni);
	M0_PRE(tx->ltx_payload.lpy_bytes > 0);
	xfer->oxf_tx = tx;
	xfer->oxf_payload = tx->ltx_payload;
	xfer->oxf_deadline = tx_deadline(ni, tx);
	m0_o2ib__tx_is(tx, M0_O2IB__TX_XFER, xfer);
	rc = m0_o2ib__xfer_map(xfer, M0_O2IB_MAP_SEGS_MAX);
	if (rc == 0)
		m0_o2ib__source_ready(xfer);
	else if (rc != -EAGAIN)
		m0_o2ib__source_fail(xfer, rc);
}

/** The REPLY to a GET_REQ: goes to the memory that the peer has named. */
static void get_answer(struct m0_o2ib__ni *ni, struct m0_lnd_tx *tx,
		       struct m0_o2ib__rx *rx)
{
	struct m0_o2ib__xfer *xfer = rx->orx_xfer;
	struct m0_o2ib__conn *conn = rx->orx_conn;

	rx->orx_xfer = NULL;
	if (tx->ltx_payload.lpy_bytes > 0) {
		source_begin(ni, xfer, tx);
		return;
	}
	if (conn->ocn_state == M0_O2IB__UP)
		(void)m0_o2ib__answer(conn, M0_O2IB_GET_DONE, NULL,
				      xfer->oxf_peer_cookie, 0);
	m0_o2ib__xfer_put(xfer);
	m0_o2ib__tx_end(tx, 0, M0_LND_OK);
}

/* -- GETs that name their memory -------------------------------------------------- */

/** Is it for the next hop itself, and of this interface? Stores its header. */
static bool get_is_near(const struct m0_o2ib__ni *ni, struct m0_lnd_tx *tx,
			uint8_t hdr[M0_LND_HDR_BYTES_MAX])
{
	return ni->oni_ni->ldn_ops->lu_tx_header(tx, false, hdr) ==
		       M0_O2IB_LNET_HDR_BYTES &&
	       m0_o2ib__lnet_dest(hdr) == m0_lnet_nid_to4(&tx->ltx_nid) &&
	       m0_o2ib__lnet_src(hdr) == ni->oni_self.ibs_nid4;
}

/** A GET keeps its credits of LNet until it is answered, and its slot of the connection. Half
 * of them are for other messages: REPLYs among them, for which a peer may wait that keeps its
 * own. */
static bool fetch_may(const struct m0_o2ib__ni   *ni,
		      const struct m0_o2ib__peer *peer)
{
	return peer->ope_fetches_nr < ni->oni_ni->ldn_peer_credits / 2 &&
	       peer->ope_fetches_nr <
		       peer->ope_wire.ibo_ask.ibp_queue_depth / 2 &&
	       ni->oni_fetches_nr < ni->oni_ni->ldn_credits / 2;
}

static struct m0_o2ib__xfer *fetch_get(struct m0_o2ib__ni   *ni,
				       struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__xfer *xfer = m0_o2ib__xfer_get(ni);

	if (xfer == NULL)
		return NULL;
	M0_PRE(fetch_may(ni, peer));
	xfer->oxf_is_fetch = true;
	xfer->oxf_peer = peer;
	++peer->ope_fetches_nr;
	++ni->oni_fetches_nr;
	return xfer;
}

/** @return false: the GET is to leave as an IMMEDIATE, and its REPLY finds memory
 * then. */
static bool fetch_begin(struct m0_o2ib__ni *ni, struct m0_lnd_tx *tx)
{
	const struct m0_lnd_payload *sink = tx->ltx_sink;
	uint8_t                      hdr[M0_LND_HDR_BYTES_MAX];
	struct m0_o2ib__peer        *peer;
	struct m0_o2ib__xfer        *xfer;

	if (sink->lpy_region != 0 ||
	    sink->lpy_bytes <= M0_O2IB_PAYLOAD_BYTES_MAX ||
	    !get_is_near(ni, tx, hdr))
		return false;
	peer = m0_o2ib__peer_get(ni, m0_lnet_nid_to4(&tx->ltx_nid));
	xfer = peer != NULL && fetch_may(ni, peer) ? fetch_get(ni, peer) : NULL;
	if (xfer == NULL)
		return false;
	xfer->oxf_payload = *sink;
	if (m0_o2ib__xfer_name(xfer) != 0) {
		m0_o2ib__xfer_put(xfer);
		return false;
	}
	memcpy(xfer->oxf_get_hdr, hdr, sizeof xfer->oxf_get_hdr);
	xfer->oxf_tx = tx;
	xfer->oxf_deadline = tx_deadline(ni, tx);
	m0_o2ib__tx_is(tx, M0_O2IB__TX_XFER, xfer);
	m0_o2ib__source_ready(xfer);
	return true;
}

/* -- the calls of the engine -------------------------------------------------- */

static void large_send(struct m0_o2ib__ni *ni, struct m0_lnd_tx *tx)
{
	struct m0_o2ib__xfer *xfer = m0_o2ib__xfer_get(ni);

	M0_PRE(tx->ltx_payload.lpy_bytes > M0_O2IB_PAYLOAD_BYTES_MAX);
	if (xfer == NULL)
		m0_o2ib__tx_end(tx, -ENOMEM, M0_LND_LOCAL_ERROR);
	else
		source_begin(ni, xfer, tx);
}

static void small_send(struct m0_o2ib__ni *ni, struct m0_lnd_tx *tx)
{
	struct m0_o2ib__peer *peer =
		m0_o2ib__peer_get(ni, m0_lnet_nid_to4(&tx->ltx_nid));
	struct m0_o2ib__msg *msg;

	msg = peer == NULL ? NULL
			   : m0_o2ib__msg_get(ni->oni_drv, M0_O2IB_IMMEDIATE);
	if (msg == NULL) {
		m0_o2ib__tx_end(tx, -ENOMEM, M0_LND_LOCAL_ERROR);
		return;
	}
	msg->oms_tx = tx;
	msg->oms_deadline = tx_deadline(ni, tx);
	m0_o2ib__tx_is(tx, M0_O2IB__TX_MSG, msg);
	m0_o2ib__peer_send(peer, msg);
}

void m0_o2ib__xmit(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx)
{
	struct m0_o2ib__ni *ni = lnd_ni->ldn_priv;
	struct m0_o2ib__rx *rx;

	M0_PRE(tx->ltx_payload.lpy_bytes == 0 ||
	       tx->ltx_payload.lpy_region == 0);
	tx->ltx_priv[0] = ni;
	rx = tx->ltx_answers == NULL ? NULL
				     : container_of(tx->ltx_answers,
						    struct m0_o2ib__rx, orx_rx);
	if (ni->oni_is_stopping)
		m0_o2ib__tx_end(tx, -ENETDOWN, M0_LND_LOCAL_INTERRUPT);
	else if (rx != NULL && rx->orx_type == M0_O2IB_GET_REQ &&
		 rx->orx_xfer == NULL)
		m0_o2ib__tx_end(tx, -ECONNRESET, M0_LND_REMOTE_DROPPED);
	else if (rx != NULL && rx->orx_type == M0_O2IB_GET_REQ)
		get_answer(ni, tx, rx);
	else if (!m0_lnet_nid_is_nid4(&tx->ltx_nid))
		m0_o2ib__tx_end(tx, -EAFNOSUPPORT, M0_LND_LOCAL_ERROR);
	else if (tx->ltx_payload.lpy_bytes > M0_O2IB_PAYLOAD_BYTES_MAX)
		large_send(ni, tx);
	else if (!ni->oni_cfg.obn_get_req || tx->ltx_sink == NULL ||
		 !fetch_begin(ni, tx))
		small_send(ni, tx);
	m0_o2ib__scan_by(ni, tx->ltx_deadline);
}

/** Takes back a message that has not been posted. */
static void msg_take(struct m0_o2ib__msg *msg)
{
	M0_PRE(msg->oms_place != M0_O2IB__POSTED);
	m0_list_del(&msg->oms_link);
	if (msg->oms_has_slot)
		m0_o2ib__credits_unreserve(&msg->oms_conn->ocn_credits);
	m0_o2ib__msg_fail(msg, -ECANCELED, M0_LND_LOCAL_INTERRUPT);
}

/** Sets when the connection of a message ends that was cancelled. */
static void hurry(struct m0_o2ib__ni *ni, m0_time_t *deadline)
{
	m0_time_t by = m0_time_add(m0_o2ib__now(ni->oni_drv),
				   ni->oni_cfg.obn_cancel_grace_ns);

	*deadline = min64u(*deadline, by);
	m0_o2ib__scan_by(ni, *deadline);
}

void m0_o2ib__tx_cancel(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx)
{
	struct m0_o2ib__ni   *ni = lnd_ni->ldn_priv;
	struct m0_o2ib__msg  *msg = tx->ltx_priv[1];
	struct m0_o2ib__xfer *xfer = tx->ltx_priv[1];

	if (tx->ltx_word[0] == M0_O2IB__TX_ENDED)
		return;
	if (tx->ltx_word[0] == M0_O2IB__TX_MSG &&
	    msg->oms_place != M0_O2IB__POSTED)
		msg_take(msg);
	else if (tx->ltx_word[0] == M0_O2IB__TX_MSG) {
		msg->oms_is_cancelled = true;
		hurry(ni, &msg->oms_deadline);
	} else if (xfer->oxf_req != NULL)
		msg_take(xfer->oxf_req);
	else if (xfer->oxf_state == M0_O2IB__NO_MEMORY)
		m0_o2ib__source_fail(xfer, -ECANCELED);
	else {
		xfer->oxf_is_cancelled = true;
		hurry(ni, &xfer->oxf_deadline);
	}
}
