/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages of the engine, from ldo_xmit to a queue. */
#include "lnd/o2ib/o2ib_internal.h"

static void tx_is(struct m0_lnd_tx *tx, enum m0_o2ib__tx_kind kind, void *what)
{
	tx->ltx_word[0] = kind;
	tx->ltx_priv[1] = what;
}

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
	msg = m0_o2ib__msg_get(ni->oni_drv, M0_O2IB_PUT_REQ);
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

static void source_begin(struct m0_o2ib__ni *ni, struct m0_o2ib__xfer *xfer,
			 struct m0_lnd_tx *tx)
{
	int rc;

	M0_PRE(xfer->oxf_tx == NULL && xfer->oxf_ni == ni);
	M0_PRE(tx->ltx_payload.lpy_bytes > 0);
	xfer->oxf_tx = tx;
	xfer->oxf_payload = tx->ltx_payload;
	xfer->oxf_deadline = min64u(tx->ltx_deadline,
				    m0_time_add(m0_o2ib__now(ni->oni_drv),
						ni->oni_cfg.obn_timeout_ns));
	tx_is(tx, M0_O2IB__TX_XFER, xfer);
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
	msg->oms_deadline = min64u(tx->ltx_deadline,
				   m0_time_add(m0_o2ib__now(ni->oni_drv),
					       ni->oni_cfg.obn_timeout_ns));
	tx_is(tx, M0_O2IB__TX_MSG, msg);
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
	else
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
	else if (tx->ltx_word[0] == M0_O2IB__TX_MSG)
		hurry(ni, &msg->oms_deadline);
	else if (xfer->oxf_req != NULL)
		msg_take(xfer->oxf_req);
	else if (xfer->oxf_state == M0_O2IB__NO_MEMORY)
		m0_o2ib__source_fail(xfer, -ECANCELED);
	else {
		xfer->oxf_is_cancelled = true;
		hurry(ni, &xfer->oxf_deadline);
	}
}
