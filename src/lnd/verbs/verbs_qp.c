/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "lnd/verbs/verbs_internal.h"

enum {
	SLAB_SHIFT = 12
};
M0_BASSERT(M0_O2IB_RBUF_BYTES == 1 << SLAB_SHIFT);

static size_t slab_bytes(const struct m0_verbs_qp *qp)
{
	return (size_t)qp->vqp_cfg.oqc_recvs_nr << SLAB_SHIFT;
}

void m0_verbs__qp_free(struct m0_verbs_qp *qp)
{
	struct m0_verbs_dev *dev = qp->vqp_dev;

	if (qp->vqp_id != NULL)
		(void)rdma_destroy_id(qp->vqp_id);
	if (qp->vqp_slab_mr != NULL)
		(void)ibv_dereg_mr(qp->vqp_slab_mr);
	if (m0_list_link_is_in(&qp->vqp_link))
		m0_list_del(&qp->vqp_link);
	m0_list_del(&qp->vqp_all);
	--dev->vdv_qps_nr;
	--qp->vqp_hca->vhc_qps_nr;
	qp->vqp_hca->vhc_used_nr -= qp->vqp_cqes_nr;
	m0_free_aligned(qp->vqp_slab, slab_bytes(qp), SLAB_SHIFT);
	m0_free(qp->vqp_rbufs);
	m0_free(qp->vqp_ids);
	m0_free(qp);
}

static void rbufs_init(struct m0_verbs_qp *qp)
{
	struct m0_verbs_rbuf *rbuf;
	uint8_t              *bytes = qp->vqp_slab;
	unsigned              i;

	for (i = 0; i < qp->vqp_cfg.oqc_recvs_nr; ++i) {
		rbuf = &qp->vqp_rbufs[i];
		rbuf->vrb_qp = qp;
		rbuf->vrb_rbuf.orb_bytes = bytes;
		rbuf->vrb_sge.addr = (uintptr_t)bytes;
		rbuf->vrb_sge.length = M0_O2IB_RBUF_BYTES;
		rbuf->vrb_sge.lkey = qp->vqp_slab_mr->lkey;
		rbuf->vrb_wr.wr_id = (uintptr_t)rbuf;
		rbuf->vrb_wr.sg_list = &rbuf->vrb_sge;
		rbuf->vrb_wr.num_sge = 1;
		bytes += M0_O2IB_RBUF_BYTES;
		m0_verbs__repost(&qp->vqp_qp, &rbuf->vrb_rbuf);
	}
}

/* Makes all that a connection has, but for its id and its QP. */
static int parts_make(struct m0_verbs_qp *qp)
{
	struct m0_verbs_hca *hca = qp->vqp_hca;
	unsigned             recvs = qp->vqp_cfg.oqc_recvs_nr;
	unsigned             cqes = recvs + qp->vqp_qp.oqp_sends_nr;
	int                  rc;

	M0_PRE(qp->vqp_qp.oqp_sends_nr > 0);
	M0_ALLOC_ARR(qp->vqp_rbufs, recvs);
	M0_ALLOC_ARR(qp->vqp_ids, qp->vqp_qp.oqp_sends_nr);
	qp->vqp_slab = m0_alloc_aligned(slab_bytes(qp), SLAB_SHIFT);
	if (qp->vqp_rbufs == NULL || qp->vqp_ids == NULL ||
	    qp->vqp_slab == NULL)
		return -ENOMEM;
	qp->vqp_slab_mr = ibv_reg_mr(hca->vhc_pd, qp->vqp_slab, slab_bytes(qp),
				     IBV_ACCESS_LOCAL_WRITE);
	if (qp->vqp_slab_mr == NULL)
		return -ENOMEM;
	rc = m0_verbs__hca_reserve(hca, cqes);
	if (rc != 0)
		return rc;
	qp->vqp_cqes_nr = cqes;
	rbufs_init(qp);
	return 0;
}

static int qp_new(struct m0_verbs_port *vbp, void *user,
		  const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		  size_t nr, struct m0_verbs_qp **ret)
{
	struct m0_verbs_dev *dev = vbp->vbp_dev;
	struct m0_verbs_hca *hca = vbp->vbp_hca;
	struct m0_verbs_qp  *qp;
	int                  rc;

	M0_PRE(nr <= M0_O2IB_PRIVATE_BYTES_MAX && cfg->oqc_recvs_nr > 0 &&
	       cfg->oqc_sends_nr > 0);
	if (dev->vdv_cfg.odg_qps_max > 0 &&
	    dev->vdv_qps_nr >= dev->vdv_cfg.odg_qps_max)
		return -ENOMEM;
	M0_ALLOC_PTR(qp);
	if (qp == NULL)
		return -ENOMEM;
	qp->vqp_dev = dev;
	qp->vqp_hca = hca;
	qp->vqp_cfg = *cfg;
	memcpy(qp->vqp_private, bytes, nr);
	qp->vqp_private_nr = (uint8_t)nr;
	qp->vqp_qp.oqp_user = user;
	qp->vqp_qp.oqp_port = vbp->vbp_port;
	qp->vqp_qp.oqp_sends_nr = (uint16_t)min64u(
		cfg->oqc_sends_nr, (unsigned)hca->vhc_attr.max_qp_wr);
	qp->vqp_last = &qp->vqp_first;
	m0_list_link_init(&qp->vqp_all);
	m0_list_link_init(&qp->vqp_link);
	m0_list_link_init(&qp->vqp_repost);
	m0_list_add_tail(&dev->vdv_qps, &qp->vqp_all);
	++dev->vdv_qps_nr;
	++hca->vhc_qps_nr;
	rc = parts_make(qp);
	if (rc != 0)
		m0_verbs__qp_free(qp);
	else
		*ret = qp;
	return rc;
}

/* Frees a connection that nobody knows, when its completions are taken. */
static void qp_drop(struct m0_verbs_qp *qp)
{
	m0_verbs__qp_kill(qp);
	qp->vqp_state = M0_VERBS_ENDED;
	m0_verbs__destroy(&qp->vqp_qp);
}

/* Makes the QP, as wide as the device lets it be, and posts its receives. */
static int qp_make(struct m0_verbs_qp *qp)
{
	struct m0_verbs_hca    *hca = qp->vqp_hca;
	struct ibv_qp_init_attr attr = {
		.send_cq = hca->vhc_cq,
		.recv_cq = hca->vhc_cq,
		.cap = { .max_send_wr = qp->vqp_qp.oqp_sends_nr,
			 .max_recv_wr = qp->vqp_cfg.oqc_recvs_nr,
			 .max_send_sge = (uint32_t)min64u(
				 M0_VERBS_SGES_MAX,
				 (unsigned)hca->vhc_attr.max_sge),
			 .max_recv_sge = 1,
			 .max_inline_data = M0_VERBS_INLINE_BYTES },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_init_attr plain = attr;

	M0_PRE(qp->vqp_id != NULL && qp->vqp_id->qp == NULL);
	if (qp->vqp_id->verbs != hca->vhc_context)
		return -ENODEV;
	if (rdma_create_qp(qp->vqp_id, hca->vhc_pd, &attr) != 0) {
		plain.cap.max_inline_data = 0;
		if (rdma_create_qp(qp->vqp_id, hca->vhc_pd, &plain) != 0)
			return errno == ENOMEM ? -ENOMEM : -errno;
		attr = plain;
	}
	qp->vqp_qp.oqp_sges_max =
		(uint16_t)min64u(M0_VERBS_SGES_MAX, attr.cap.max_send_sge);
	qp->vqp_qp.oqp_inline_max =
		(uint16_t)min64u(UINT16_MAX, attr.cap.max_inline_data);
	return m0_verbs__reposts_flush(qp);
}

static struct rdma_conn_param conn_param(const struct m0_verbs_qp *qp)
{
	return (struct rdma_conn_param){
		.private_data = qp->vqp_private,
		.private_data_len = qp->vqp_private_nr,
		.flow_control = 1,
		.retry_count = qp->vqp_cfg.oqc_retry_nr,
		.rnr_retry_count = qp->vqp_cfg.oqc_rnr_retry_nr,
	};
}

/* A device or a kernel that does not take the time-out has its own. */
static void ack_timeout_set(struct m0_verbs_qp *qp)
{
	uint8_t exponent = qp->vqp_cfg.oqc_ack_timeout;

	if (exponent != 0)
		(void)rdma_set_option(qp->vqp_id, RDMA_OPTION_ID,
				      RDMA_OPTION_ID_ACK_TIMEOUT, &exponent,
				      sizeof exponent);
}

int m0_verbs__qp_ask(struct m0_verbs_qp *qp)
{
	struct rdma_conn_param param = conn_param(qp);
	int                    rc;

	M0_PRE(qp->vqp_state == M0_VERBS_ROUTE);
	ack_timeout_set(qp);
	rc = qp_make(qp);
	if (rc != 0)
		return rc;
	qp->vqp_state = M0_VERBS_ASKED;
	return rdma_connect(qp->vqp_id, &param) == 0 ? 0 : -errno;
}

/* Binds the id to the address of the port, and the highest source port that is
 * free. Several connections may have one, as each has a peer of its own. */
static int source_bind(struct m0_verbs_qp *qp, struct sockaddr_in *from,
		       const struct m0_o2ib_port *port, uint16_t src_port)
{
	int reuse = 1;
	int rc = 0;

	m0_verbs__sockaddr(&port->ort_addr, 0, from);
	if (src_port == 0)
		return 0;
	(void)rdma_set_option(qp->vqp_id, RDMA_OPTION_ID,
			      RDMA_OPTION_ID_REUSEADDR, &reuse, sizeof reuse);
	for (; src_port > 0; --src_port) {
		from->sin_port = htons(src_port);
		rc = rdma_bind_addr(qp->vqp_id, (struct sockaddr *)from) == 0
			     ? 0
			     : -errno;
		if (rc != -EADDRINUSE && rc != -EADDRNOTAVAIL)
			break;
	}
	return rc;
}

static int resolve(struct m0_verbs_qp *qp, const struct m0_host_addr *to,
		   uint16_t src_port)
{
	struct sockaddr_in from;
	struct sockaddr_in dst;
	uint8_t            tos = (uint8_t)qp->vqp_cfg.oqc_tos;
	int                rc;

	m0_verbs__sockaddr(to, to->sa_port, &dst);
	if (rdma_create_id(qp->vqp_dev->vdv_channel, &qp->vqp_id, qp,
			   RDMA_PS_TCP) != 0)
		return -errno;
	rc = source_bind(qp, &from, qp->vqp_qp.oqp_port, src_port);
	if (rc == 0 && qp->vqp_cfg.oqc_tos >= 0 &&
	    rdma_set_option(qp->vqp_id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
			    &tos, sizeof tos) != 0)
		rc = -errno;
	if (rc == 0 &&
	    rdma_resolve_addr(qp->vqp_id,
			      src_port == 0 ? (struct sockaddr *)&from : NULL,
			      (struct sockaddr *)&dst,
			      (int)qp->vqp_cfg.oqc_resolve_ms) != 0)
		rc = -errno;
	return rc;
}

int m0_verbs__connect(struct m0_o2ib_port *port, void *user,
		      const struct m0_host_addr *to, uint16_t src_port,
		      const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		      size_t nr, struct m0_o2ib_qp **ret)
{
	struct m0_verbs_port *vbp = port->ort_priv;
	struct m0_verbs_qp   *qp;
	int                   rc;

	M0_PRE(vbp != NULL && nr <= M0_O2IB_PRIVATE_BYTES_MAX);
	if (port->ort_is_gone)
		return -ENODEV;
	rc = qp_new(vbp, user, cfg, bytes, nr, &qp);
	if (rc != 0)
		return rc;
	qp->vqp_state = M0_VERBS_ADDR;
	rc = resolve(qp, to, src_port);
	if (rc != 0) {
		qp_drop(qp);
		return rc;
	}
	*ret = &qp->vqp_qp;
	return 0;
}

int m0_verbs__accept(struct m0_o2ib_request *request, void *user,
		     const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		     size_t nr, struct m0_o2ib_qp **ret)
{
	struct m0_verbs_request *vrq = (struct m0_verbs_request *)request;
	struct rdma_conn_param   param;
	struct m0_verbs_qp      *qp;
	int                      rc;

	M0_PRE(!vrq->vrq_is_answered);
	rc = qp_new(vrq->vrq_port, user, cfg, bytes, nr, &qp);
	if (rc != 0)
		return rc;
	qp->vqp_state = M0_VERBS_ACCEPTED;
	qp->vqp_id = vrq->vrq_id;
	ack_timeout_set(qp);
	param = conn_param(qp);
	rc = qp_make(qp);
	if (rc == 0 && rdma_accept(qp->vqp_id, &param) != 0)
		rc = -errno;
	if (rc != 0) {
		/* The id stays, for another answer. */
		if (qp->vqp_id->qp != NULL)
			rdma_destroy_qp(qp->vqp_id);
		qp->vqp_id = NULL;
		qp_drop(qp);
		return rc;
	}
	qp->vqp_id->context = qp;
	vrq->vrq_is_answered = true;
	*ret = &qp->vqp_qp;
	return 0;
}

void m0_verbs__reject(struct m0_o2ib_request *request, const void *bytes,
		      size_t nr)
{
	struct m0_verbs_request *vrq = (struct m0_verbs_request *)request;

	M0_PRE(nr <= M0_O2IB_PRIVATE_BYTES_MAX && !vrq->vrq_is_answered);
	(void)rdma_reject(vrq->vrq_id, bytes, (uint8_t)nr);
	(void)rdma_destroy_id(vrq->vrq_id);
	vrq->vrq_is_answered = true;
}

void m0_verbs__qp_kill(struct m0_verbs_qp *qp)
{
	bool was_up = M0_IN(qp->vqp_state, (M0_VERBS_UP, M0_VERBS_PARTING));

	if (m0_list_link_is_in(&qp->vqp_repost))
		m0_list_del(&qp->vqp_repost);
	if (qp->vqp_id != NULL) {
		if (was_up && qp->vqp_id->qp != NULL)
			(void)rdma_disconnect(qp->vqp_id);
		if (qp->vqp_id->qp != NULL)
			rdma_destroy_qp(qp->vqp_id);
		/* A connection that is being made is dropped. */
		if (!was_up) {
			(void)rdma_destroy_id(qp->vqp_id);
			qp->vqp_id = NULL;
		}
	}
	qp->vqp_mark = m0_verbs__mark(qp->vqp_hca);
}

static void ending_add(struct m0_verbs_qp *qp, enum m0_verbs_state state)
{
	qp->vqp_state = state;
	qp->vqp_mark = m0_verbs__mark(qp->vqp_hca);
	if (!m0_list_link_is_in(&qp->vqp_link))
		m0_list_add_tail(&qp->vqp_dev->vdv_ending, &qp->vqp_link);
}

void m0_verbs__qp_part(struct m0_verbs_qp *qp, int status)
{
	if (qp->vqp_state >= M0_VERBS_PARTING)
		return;
	qp->vqp_status = status;
	qp->vqp_fails = qp->vqp_state < M0_VERBS_ACCEPTED;
	ending_add(qp, M0_VERBS_PARTING);
}

void m0_verbs__break(struct m0_o2ib_qp *oqp)
{
	struct m0_verbs_qp *qp = m0_verbs__qp(oqp);

	if (qp->vqp_state >= M0_VERBS_ENDING)
		return;
	m0_verbs__qp_kill(qp);
	ending_add(qp, M0_VERBS_ENDING);
}

void m0_verbs__destroy(struct m0_o2ib_qp *oqp)
{
	struct m0_verbs_qp *qp = m0_verbs__qp(oqp);

	M0_PRE(qp->vqp_state == M0_VERBS_ENDED && !qp->vqp_is_destroyed);
	qp->vqp_is_destroyed = true;
	qp->vqp_linger_until = m0_time_now() + M0_VERBS_LINGER_NS;
	m0_list_add_tail(&qp->vqp_dev->vdv_lingering, &qp->vqp_link);
}

/* The completions before its end are taken. */
static void qp_end(struct m0_verbs_qp *qp)
{
	const struct m0_o2ib_dev_up *up = m0_verbs__up(qp->vqp_dev);
	void                        *user = qp->vqp_qp.oqp_user;

	M0_PRE(M0_IN(qp->vqp_state, (M0_VERBS_PARTING, M0_VERBS_ENDING)));
	if (qp->vqp_state == M0_VERBS_PARTING && !qp->vqp_fails) {
		m0_verbs__qp_kill(qp);
		ending_add(qp, M0_VERBS_ENDING);
		up->odu_broken(user, qp->vqp_status);
		return;
	}
	m0_list_del(&qp->vqp_link);
	if (qp->vqp_state == M0_VERBS_PARTING) {
		m0_verbs__qp_kill(qp);
		qp->vqp_state = M0_VERBS_ENDED;
		up->odu_failed(user, qp->vqp_status);
	} else {
		qp->vqp_state = M0_VERBS_ENDED;
		up->odu_over(user);
	}
}

void m0_verbs__qps_end(struct m0_verbs_dev *dev, m0_time_t now)
{
	struct m0_list       turn;
	struct m0_list_link *link;
	struct m0_verbs_qp  *qp;

	m0_list_init(&turn);
	m0_list_splice_tail(&turn, &dev->vdv_ending);
	while ((link = m0_list_first(&turn)) != NULL) {
		qp = m0_list_entry(link, struct m0_verbs_qp, vqp_link);
		m0_list_move_tail(&dev->vdv_ending, link);
		if (m0_verbs__mark_is_past(qp->vqp_hca, &qp->vqp_mark))
			qp_end(qp);
	}
	while ((link = m0_list_first(&dev->vdv_lingering)) != NULL) {
		qp = m0_list_entry(link, struct m0_verbs_qp, vqp_link);
		if (!m0_verbs__mark_is_past(qp->vqp_hca, &qp->vqp_mark) ||
		    (qp->vqp_id != NULL && !qp->vqp_is_parted &&
		     now < qp->vqp_linger_until))
			break;
		m0_verbs__qp_free(qp);
	}
}
