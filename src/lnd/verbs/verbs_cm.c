/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "lnd/verbs/verbs_internal.h"

/* Reasons of rejections, by the InfiniBand architecture. */
enum {
	REASON_NO_LISTENER = 8,
	REASON_STALE = 10,
	REASON_CONSUMER = 28
};

/* A copy of what matters, since the id waits for the event to be given back. */
struct event {
	enum rdma_cm_event_type vev_type;
	int                     vev_status;
	struct rdma_cm_id      *vev_id;
	struct rdma_cm_id      *vev_listener;
	uint8_t                 vev_bytes[M0_O2IB_PRIVATE_BYTES_MAX];
	size_t                  vev_nr;
};

/* @return false if there is none. */
static bool event_take(struct m0_verbs_dev *dev, struct event *ret)
{
	const struct rdma_conn_param *param;
	struct rdma_cm_event         *event;

	if (rdma_get_cm_event(dev->vdv_channel, &event) != 0)
		return false;
	param = &event->param.conn;
	ret->vev_type = event->event;
	ret->vev_status = event->status;
	ret->vev_id = event->id;
	ret->vev_listener = event->listen_id;
	ret->vev_nr = 0;
	if (M0_IN(event->event,
		  (RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_ESTABLISHED,
		   RDMA_CM_EVENT_REJECTED)) &&
	    param->private_data != NULL) {
		ret->vev_nr =
			min64u(param->private_data_len, sizeof ret->vev_bytes);
		memcpy(ret->vev_bytes, param->private_data, ret->vev_nr);
	}
	(void)rdma_ack_cm_event(event);
	return true;
}

static void request(struct m0_verbs_dev *dev, const struct event *event)
{
	struct m0_verbs_request request = {
		.vrq_port = event->vev_listener->context,
		.vrq_id = event->vev_id,
	};
	struct m0_o2ib_request   *ret = (struct m0_o2ib_request *)&request;
	const struct sockaddr_in *peer =
		(const struct sockaddr_in *)rdma_get_peer_addr(event->vev_id);
	struct m0_host_addr from = {
		.sa_bytes_nr = sizeof peer->sin_addr,
		.sa_port = ntohs(peer->sin_port),
	};

	memcpy(from.sa_bytes, &peer->sin_addr, sizeof peer->sin_addr);
	m0_verbs__up(dev)->odu_request(request.vrq_port->vbp_port, ret, &from,
				       event->vev_bytes, event->vev_nr);
	if (!request.vrq_is_answered)
		m0_verbs__reject(ret, NULL, 0);
}

/* There is no connection: the user is told when the QP is no more. */
static void failed(struct m0_verbs_qp *qp, int status)
{
	m0_verbs__qp_part(qp, status);
}

static void refused(struct m0_verbs_qp *qp, const struct event *event)
{
	struct m0_verbs_dev *dev = qp->vqp_dev;

	switch (event->vev_status) {
	case REASON_CONSUMER:
		if (qp->vqp_state >= M0_VERBS_ACCEPTED) {
			failed(qp, -ECONNREFUSED);
			break;
		}
		m0_verbs__qp_kill(qp);
		qp->vqp_state = M0_VERBS_ENDED;
		m0_verbs__up(dev)->odu_refused(qp->vqp_qp.oqp_user,
					       event->vev_bytes, event->vev_nr);
		break;
	case REASON_NO_LISTENER:
		failed(qp, -EHOSTUNREACH);
		break;
	case REASON_STALE:
		failed(qp, -ESTALE);
		break;
	default:
		m0_verbs__way_log(qp, event->vev_status);
		failed(qp, -ECONNREFUSED);
		break;
	}
}

static void established(struct m0_verbs_qp *qp, const struct event *event)
{
	bool               asked = qp->vqp_state == M0_VERBS_ASKED;
	struct ibv_qp_attr attr = { .min_rnr_timer =
					    qp->vqp_cfg.oqc_rnr_timer };

	M0_PRE(M0_IN(qp->vqp_state, (M0_VERBS_ASKED, M0_VERBS_ACCEPTED)));
	/* iWARP has no such timer. */
	(void)ibv_modify_qp(qp->vqp_id->qp, &attr, IBV_QP_MIN_RNR_TIMER);
	qp->vqp_state = M0_VERBS_UP;
	m0_verbs__up(qp->vqp_dev)
		->odu_up(qp->vqp_qp.oqp_user, event->vev_bytes,
			 asked ? event->vev_nr : 0);
}

static int event_errno(const struct event *event, int otherwise)
{
	return event->vev_status == -ETIMEDOUT ? -ETIMEDOUT : otherwise;
}

/* Steps of a connection that is being made. */
static void qp_event(struct m0_verbs_qp *qp, const struct event *event)
{
	int ms = (int)qp->vqp_cfg.oqc_resolve_ms;
	int rc;

	switch (event->vev_type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		qp->vqp_state = M0_VERBS_ROUTE;
		if (rdma_resolve_route(qp->vqp_id, ms) != 0)
			failed(qp, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rc = m0_verbs__qp_ask(qp);
		if (rc != 0)
			failed(qp,
			       M0_IN(rc, (-ENODEV, -ENOMEM)) ? rc : -ENOMEM);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(qp, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		refused(qp, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		if (event->vev_type == RDMA_CM_EVENT_UNREACHABLE)
			m0_verbs__way_log(qp, 0);
		failed(qp, event_errno(event, -EHOSTUNREACH));
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		failed(qp, event_errno(event, -ECONNREFUSED));
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		failed(qp, 0);
		break;
	default:
		break;
	}
}

static void removal(struct m0_verbs_dev *dev, const struct rdma_cm_id *id)
{
	struct m0_verbs_qp *qp;
	unsigned            i;

	for (i = 0; i < dev->vdv_hcas_nr; ++i)
		if (dev->vdv_hcas[i]->vhc_context == id->verbs)
			m0_verbs__ports_gone(dev->vdv_hcas[i]);
	m0_list_for_each_entry(&dev->vdv_qps, qp, struct m0_verbs_qp, vqp_all) {
		if (qp->vqp_hca->vhc_context == id->verbs)
			m0_verbs__qp_part(qp, -ENODEV);
	}
}

static bool is_listener(const struct m0_verbs_dev *dev,
			const struct rdma_cm_id   *id)
{
	struct m0_verbs_port *vbp;

	m0_list_for_each_entry(&dev->vdv_ports, vbp, struct m0_verbs_port,
			       vbp_link) {
		if (vbp->vbp_id == id)
			return true;
	}
	return false;
}

static void dispatch(struct m0_verbs_dev *dev, const struct event *event)
{
	struct m0_verbs_qp *qp;

	if (event->vev_type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		request(dev, event);
		return;
	}
	if (event->vev_type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		removal(dev, event->vev_id);
		return;
	}
	if (is_listener(dev, event->vev_id))
		return;
	qp = event->vev_id->context;
	if (event->vev_type == RDMA_CM_EVENT_DISCONNECTED)
		qp->vqp_is_parted = true;
	if (qp->vqp_state < M0_VERBS_PARTING)
		qp_event(qp, event);
}

void m0_verbs__cm_turn(struct m0_verbs_dev *dev)
{
	struct event event;
	unsigned     nr = 0;

	while (nr++ < M0_O2IB_EVENTS_MAX) {
		if (!event_take(dev, &event)) {
			dev->vdv_cm_due = false;
			break;
		}
		dispatch(dev, &event);
	}
}
