/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How messages of the engine end. */
#include "lnd/o2ib/o2ib_internal.h"

static struct m0_o2ib__ni *ni_of(const struct m0_lnd_tx *tx)
{
	return tx->ltx_priv[0];
}

enum m0_lnd_health m0_o2ib__health(int status, bool has_left)
{
	switch (status) {
	case 0:
		return M0_LND_OK;
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
		return M0_LND_NETWORK_TIMEOUT;
	case -ECANCELED:
	case -ENETDOWN:
		return M0_LND_LOCAL_INTERRUPT;
	case -ECONNABORTED:
		/* By our doing, so that what has left has most likely arrived: nobody is to
		 * send it again. */
		return has_left ? M0_LND_LOCAL_ERROR : M0_LND_LOCAL_ABORTED;
	case -ENOMEM:
	case -ENODEV:
	case -EMSGSIZE:
	case -EAFNOSUPPORT:
		return M0_LND_LOCAL_ERROR;
	default:
		return has_left || status == -ECONNREFUSED
			       ? M0_LND_REMOTE_DROPPED
			       : M0_LND_LOCAL_DROPPED;
	}
}

void m0_o2ib__tx_end(struct m0_lnd_tx *tx, int status,
		     enum m0_lnd_health health)
{
	struct m0_o2ib__drv *drv = ni_of(tx)->oni_drv;

	M0_PRE(status <= 0);
	tx->ltx_priv[1] = (void *)(intptr_t)status;
	tx->ltx_word[0] = M0_O2IB__TX_ENDED;
	tx->ltx_word[1] = health;
	m0_list_link_init(&tx->ltx_link);
	m0_list_add_tail(&drv->odr_ended, &tx->ltx_link);
	m0_o2ib__rouse(drv);
}

void m0_o2ib__txs_tell(struct m0_o2ib__drv *drv)
{
	struct m0_list       list;
	struct m0_list_link *link;

	m0_list_init(&list);
	m0_list_splice_tail(&list, &drv->odr_ended);
	while ((link = m0_list_first(&list)) != NULL) {
		struct m0_lnd_tx *tx =
			m0_list_entry(link, struct m0_lnd_tx, ltx_link);

		m0_list_del(link);
		drv->odr_spoke = true;
		ni_of(tx)->oni_ni->ldn_ops->lu_tx_done(
			tx, (int)(intptr_t)tx->ltx_priv[1],
			(enum m0_lnd_health)tx->ltx_word[1]);
	}
}

void m0_o2ib__msg_fail(struct m0_o2ib__msg *msg, int status,
		       enum m0_lnd_health health)
{
	struct m0_lnd_tx     *tx = msg->oms_tx;
	struct m0_o2ib__xfer *xfer = msg->oms_xfer;
	struct m0_o2ib__drv  *drv = msg->oms_peer->ope_ni->oni_drv;

	M0_PRE(msg->oms_place != M0_O2IB__POSTED);
	m0_o2ib__msg_put(drv, msg);
	if (xfer != NULL)
		m0_o2ib__source_end(xfer, status, health);
	else
		m0_o2ib__tx_end(tx, status, health);
}

void m0_o2ib__source_end(struct m0_o2ib__xfer *xfer, int status,
			 enum m0_lnd_health health)
{
	struct m0_lnd_tx *tx = xfer->oxf_tx;

	M0_PRE(!xfer->oxf_is_sink && tx != NULL);
	xfer->oxf_tx = NULL;
	m0_o2ib__xfer_put(xfer);
	m0_o2ib__tx_end(tx, status, health);
}
