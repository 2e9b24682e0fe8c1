/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The id of a work request in verbs is a pointer: to the receive buffer, or to the
 * connection, with a low bit that says whether the completion is the user's.
 */
#include <errno.h>

#include "lnd/verbs/verbs_internal.h"

enum {
	TAG_SIGNALLED = 1,
	TAG_SILENT = 2,
	TAGS = 3
};

static struct m0_verbs_rbuf *rbuf_of(struct m0_o2ib_rbuf *rbuf)
{
	return container_of(rbuf, struct m0_verbs_rbuf, vrb_rbuf);
}

void m0_verbs__repost(struct m0_o2ib_qp *oqp, struct m0_o2ib_rbuf *orb)
{
	struct m0_verbs_qp   *qp = m0_verbs__qp(oqp);
	struct m0_verbs_rbuf *rbuf = rbuf_of(orb);

	if (qp->vqp_state >= M0_VERBS_ENDING)
		return;
	rbuf->vrb_wr.next = NULL;
	*qp->vqp_last = &rbuf->vrb_wr;
	qp->vqp_last = &rbuf->vrb_wr.next;
	if (!m0_list_link_is_in(&qp->vqp_repost))
		m0_list_add_tail(&qp->vqp_dev->vdv_reposts, &qp->vqp_repost);
}

int m0_verbs__reposts_flush(struct m0_verbs_qp *qp)
{
	struct m0_o2ib_dev_counts *counts = &qp->vqp_dev->vdv_dev.odv_counts;
	struct ibv_recv_wr        *first = qp->vqp_first;
	struct ibv_recv_wr        *bad;
	int                        rc;

	M0_PRE(qp->vqp_state < M0_VERBS_ENDING);
	if (m0_list_link_is_in(&qp->vqp_repost))
		m0_list_del(&qp->vqp_repost);
	if (first == NULL || qp->vqp_id == NULL || qp->vqp_id->qp == NULL)
		return 0;
	qp->vqp_first = NULL;
	qp->vqp_last = &qp->vqp_first;
	++counts->odc_recv_bells_nr;
	rc = -ibv_post_recv(qp->vqp_id->qp, first, &bad);
	/* Without receives the peer would wait for ever. */
	if (rc != 0)
		m0_verbs__qp_part(qp, -EIO);
	return rc;
}

static void sges_set(struct ibv_sge *sges, const struct m0_o2ib_wr *wr)
{
	unsigned i;

	for (i = 0; i < wr->owr_segs_nr; ++i) {
		sges[i].addr = (uintptr_t)wr->owr_segs[i].osg_addr;
		sges[i].length = wr->owr_segs[i].osg_bytes;
		sges[i].lkey = wr->owr_segs[i].osg_lkey;
	}
}

static void write_count(struct m0_o2ib_dev_counts *counts,
			const struct m0_o2ib_wr   *wr)
{
	unsigned i;

	++counts->odc_writes_nr;
	for (i = 0; i < wr->owr_segs_nr; ++i)
		counts->odc_write_bytes += wr->owr_segs[i].osg_bytes;
}

static void wr_set(struct m0_verbs_qp *qp, struct ibv_send_wr *ibv,
		   struct ibv_sge *sges, const struct m0_o2ib_wr *wr)
{
	struct m0_o2ib_dev_counts *counts = &qp->vqp_dev->vdv_dev.odv_counts;
	unsigned                   sends = qp->vqp_qp.oqp_sends_nr;

	M0_PRE(wr->owr_segs_nr >= 1);
	M0_PRE(wr->owr_segs_nr <= qp->vqp_qp.oqp_sges_max);
	sges_set(sges, wr);
	ibv->wr_id = (uintptr_t)qp |
		     (wr->owr_is_signalled ? TAG_SIGNALLED : TAG_SILENT);
	ibv->sg_list = sges;
	ibv->num_sge = wr->owr_segs_nr;
	ibv->send_flags =
		(wr->owr_is_signalled ? (unsigned)IBV_SEND_SIGNALED : 0) |
		(wr->owr_is_inline ? (unsigned)IBV_SEND_INLINE : 0);
	if (wr->owr_op == M0_O2IB_OP_WRITE) {
		ibv->opcode = IBV_WR_RDMA_WRITE;
		ibv->wr.rdma.remote_addr = wr->owr_raddr;
		ibv->wr.rdma.rkey = wr->owr_rkey;
		write_count(counts, wr);
	} else {
		ibv->opcode = IBV_WR_SEND;
		++counts->odc_sends_nr;
	}
	if (wr->owr_is_signalled) {
		M0_ASSERT(qp->vqp_ids_nr < sends);
		qp->vqp_ids[(qp->vqp_id_at + qp->vqp_ids_nr++) % sends] =
			wr->owr_id;
	}
}

int m0_verbs__post(struct m0_o2ib_qp *oqp, const struct m0_o2ib_wr *wrs,
		   unsigned nr)
{
	struct m0_verbs_qp  *qp = m0_verbs__qp(oqp);
	struct m0_verbs_dev *dev = qp->vqp_dev;
	struct ibv_send_wr  *bad;
	unsigned             i;
	int                  rc;

	M0_PRE(nr >= 1 && nr <= M0_O2IB_CHAIN_MAX);
	if (qp->vqp_state != M0_VERBS_UP || m0_verbs__reposts_flush(qp) != 0)
		return -ENOTCONN;
	for (i = 0; i < nr; ++i) {
		wr_set(qp, &dev->vdv_wrs[i], dev->vdv_sges[i], &wrs[i]);
		dev->vdv_wrs[i].next = i + 1 < nr ? &dev->vdv_wrs[i + 1] : NULL;
	}
	++dev->vdv_dev.odv_counts.odc_send_bells_nr;
	rc = -ibv_post_send(qp->vqp_id->qp, dev->vdv_wrs, &bad);
	if (rc == 0)
		return 0;
	/* Some may be posted: none is any more when this returns. */
	m0_verbs__qp_part(qp, -EIO);
	m0_verbs__qp_kill(qp);
	return rc;
}

static uint64_t id_take(struct m0_verbs_qp *qp)
{
	uint64_t id;

	M0_PRE(qp->vqp_ids_nr > 0);
	id = qp->vqp_ids[qp->vqp_id_at];
	qp->vqp_id_at = (qp->vqp_id_at + 1) % qp->vqp_qp.oqp_sends_nr;
	--qp->vqp_ids_nr;
	return id;
}

static int wc_status(const struct ibv_wc *wc)
{
	switch (wc->status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_RETRY_EXC_ERR:
		return -ETIMEDOUT;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return -ENOBUFS;
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return -EREMOTEIO;
	default:
		return -EIO;
	}
}

static void received(struct m0_verbs_qp *qp, struct m0_verbs_rbuf *rbuf,
		     const struct ibv_wc *wc)
{
	struct m0_verbs_dev *dev = qp->vqp_dev;

	M0_PRE(qp->vqp_state < M0_VERBS_ENDING && rbuf->vrb_qp == qp);
	if (wc->status != IBV_WC_SUCCESS) {
		m0_verbs__qp_part(qp, -EIO);
		return;
	}
	++dev->vdv_dev.odv_counts.odc_recvs_nr;
	rbuf->vrb_rbuf.orb_nr = wc->byte_len;
	m0_verbs__up(dev)->odu_received(qp->vqp_qp.oqp_user, &rbuf->vrb_rbuf);
}

static void sent(struct m0_verbs_qp *qp, bool is_signalled,
		 const struct ibv_wc *wc)
{
	struct m0_verbs_dev *dev = qp->vqp_dev;
	int                  status = wc_status(wc);

	M0_PRE(qp->vqp_state < M0_VERBS_ENDING);
	++dev->vdv_dev.odv_counts.odc_signalled_nr;
	/* A request that was flushed has not failed by itself. */
	if (is_signalled && wc->status != IBV_WC_WR_FLUSH_ERR)
		m0_verbs__up(dev)->odu_sent(qp->vqp_qp.oqp_user, id_take(qp),
					    status);
	if (status != 0)
		m0_verbs__qp_part(qp, status);
}

void m0_verbs__wc(struct m0_verbs_hca *hca, const struct ibv_wc *wc)
{
	uintptr_t             tag = wc->wr_id & TAGS;
	void                 *at = (void *)(uintptr_t)(wc->wr_id - tag);
	struct m0_verbs_rbuf *rbuf = tag == 0 ? at : NULL;
	struct m0_verbs_qp   *qp = tag == 0 ? rbuf->vrb_qp : at;

	M0_PRE(qp->vqp_hca == hca);
	if (qp->vqp_state >= M0_VERBS_ENDING)
		return;
	if (rbuf != NULL)
		received(qp, rbuf, wc);
	else
		sent(qp, tag == TAG_SIGNALLED, wc);
}
