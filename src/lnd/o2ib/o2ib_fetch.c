/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Answers to GET_REQs of ours. The peer has written to the memory of the GET, and
 * there is no REPLY: the engine is offered one that the GET_DONE stands for. The GET
 * itself ends then, so that its memory is ours until the peer is done with it.
 */
#include "lnd/o2ib/o2ib_internal.h"

/** The engine has taken the REPLY: its payload is there already, if it is for the
 * memory of the GET. */
static void reply_end(struct m0_o2ib__rx *rx)
{
	struct m0_o2ib__xfer        *xfer = rx->orx_xfer;
	struct m0_o2ib__ni          *ni = rx->orx_ni;
	const struct m0_lnd_payload *to = &rx->orx_rx.lr_payload;
	bool                         is_there;

	M0_PRE(xfer->oxf_is_fetch && xfer->oxf_state == M0_O2IB__DONE);
	is_there = to->lpy_bytes == 0 ||
		   (to->lpy_vec == xfer->oxf_payload.lpy_vec &&
		    to->lpy_offset == xfer->oxf_payload.lpy_offset &&
		    to->lpy_bytes <= xfer->oxf_left);
	ni->oni_info.ldi_direct_bytes += to->lpy_bytes;
	rx->orx_xfer = NULL;
	/* Its keys go before the application hears of its end. */
	m0_o2ib__source_end(xfer, 0, M0_LND_OK);
	ni->oni_drv->odr_spoke = true;
	ni->oni_ni->ldn_ops->lu_rx_done(&rx->orx_rx, is_there ? 0 : -EPROTO,
					is_there ? M0_LND_OK
						 : M0_LND_REMOTE_ERROR);
	/* The engine keeps what a fault rule has made a GET of. */
	m0_o2ib__rx_keep(rx);
}

/** @retval -EAGAIN  the engine puts it off. */
static int reply_offer(struct m0_o2ib__rx *rx)
{
	struct m0_lnd_ni *lnd_ni = rx->orx_ni->oni_ni;
	uint8_t           hdr[M0_O2IB_LNET_HDR_BYTES];
	int               rc;

	m0_o2ib__lnet_reply(rx->orx_xfer->oxf_get_hdr,
			    (uint32_t)rx->orx_xfer->oxf_left, hdr);
	rc = lnd_ni->ldn_ops->lu_rx_begin(lnd_ni, &rx->orx_rx, hdr, false);
	if (rc == 0)
		reply_end(rx);
	return rc;
}

/** The GET ends with its connection. */
static void reply_drop(struct m0_o2ib__rx *rx)
{
	rx->orx_xfer = NULL;
	m0_o2ib__rx_put(rx);
}

/** @return 0, or what is wrong with the REPLY. */
static int reply_take(struct m0_o2ib__rx *rx)
{
	struct m0_o2ib__conn *conn = rx->orx_conn;
	struct m0_o2ib__drv  *drv = m0_o2ib__drv(conn);
	int                   rc;

	M0_PRE(rx->orx_rbuf == NULL && rx->orx_xfer->oxf_conn == conn);
	rc = reply_offer(rx);
	if (rc == -EAGAIN && conn->ocn_state == M0_O2IB__UP) {
		m0_list_add(&conn->ocn_replies, &rx->orx_link);
		if (!m0_list_link_is_in(&conn->ocn_pausing))
			m0_list_add_tail(&drv->odr_paused, &conn->ocn_pausing);
	} else if (rc != 0) {
		reply_drop(rx);
	}
	return rc == -EAGAIN ? 0 : rc;
}

int m0_o2ib__fetch_done(struct m0_o2ib__conn *conn, struct m0_o2ib__xfer *xfer,
			int32_t status, struct m0_o2ib_why *why)
{
	struct m0_o2ib__rx *rx;

	M0_PRE(xfer->oxf_is_fetch && xfer->oxf_state == M0_O2IB__OFFERED);
	/*
	 * A peer that finds nothing drops the GET, as any other: no REPLY comes, and
	 * the operation ends by its time-out, over each driver alike.
	 */
	if (status < 0) {
		m0_o2ib__source_end(xfer, status == -ENODATA ? 0 : -EREMOTEIO,
				    status == -ENODATA ? M0_LND_OK
						       : M0_LND_REMOTE_ERROR);
		return 0;
	}
	if ((uint64_t)status > xfer->oxf_payload.lpy_bytes)
		return m0_o2ib__refuse(
			why, M0_O2IB_FIELD_STATUS,
			"GET_DONE: %d bytes to memory of %llu", status,
			(unsigned long long)xfer->oxf_payload.lpy_bytes);
	rx = m0_o2ib__rx_get(conn->ocn_ni);
	if (rx == NULL)
		return -ENOMEM;
	xfer->oxf_state = M0_O2IB__DONE;
	xfer->oxf_left = (uint64_t)status;
	rx->orx_conn = conn;
	rx->orx_type = M0_O2IB_GET_DONE;
	rx->orx_xfer = xfer;
	rx->orx_rx.lr_nid = conn->ocn_peer->ope_nid;
	return reply_take(rx);
}

int m0_o2ib__replies_retry(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__rx *rx;
	struct m0_list      list;
	int                 rc = 0;

	m0_list_init(&list);
	m0_list_splice_tail(&list, &conn->ocn_replies);
	while (rc == 0 && (rx = m0_o2ib__rx_first(&list)) != NULL) {
		m0_list_del(&rx->orx_link);
		rc = reply_take(rx);
	}
	m0_list_splice_tail(&conn->ocn_replies, &list);
	if (conn->ocn_state != M0_O2IB__UP)
		m0_o2ib__replies_drop(conn);
	return rc;
}

void m0_o2ib__replies_drop(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__rx *rx;

	while ((rx = m0_o2ib__rx_first(&conn->ocn_replies)) != NULL) {
		m0_list_del(&rx->orx_link);
		reply_drop(rx);
	}
}
