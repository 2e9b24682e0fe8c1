/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lnd/verbs/verbs_internal.h"

/*
 * All nodes of a process have one context for a device, as librdmacm opens it, so
 * that any of them may take an event that is another's. Connections do without:
 * they learn of errors by their completions. Of ports, this counter tells the others.
 */
static uint64_t port_events_nr;

struct m0_verbs_mark m0_verbs__mark(const struct m0_verbs_hca *hca)
{
	struct m0_verbs_mark mark = hca->vhc_mark;

	mark.vmk_taken_nr += hca->vhc_wcs_nr - hca->vhc_wcs_at;
	mark.vmk_taken_nr += (unsigned)hca->vhc_cq->cqe;
	return mark;
}

bool m0_verbs__mark_is_past(const struct m0_verbs_hca  *hca,
			    const struct m0_verbs_mark *mark)
{
	return hca->vhc_mark.vmk_empties_nr > mark->vmk_empties_nr ||
	       hca->vhc_mark.vmk_taken_nr >= mark->vmk_taken_nr;
}

bool m0_verbs__hca_look(struct m0_verbs_hca *hca)
{
	int nr;

	if (hca->vhc_wcs_at < hca->vhc_wcs_nr)
		return true;
	hca->vhc_wcs_at = 0;
	nr = ibv_poll_cq(hca->vhc_cq, M0_VERBS_WCS_MAX, hca->vhc_wcs);
	/* A queue that is broken says so by an event of the device. */
	hca->vhc_wcs_nr = nr > 0 ? (unsigned)nr : 0;
	if (nr <= 0)
		++hca->vhc_mark.vmk_empties_nr;
	return nr > 0;
}

void m0_verbs__hca_turn(struct m0_verbs_hca *hca)
{
	struct ibv_wc wc;
	unsigned      nr;

	if (hca->vhc_qps_nr == 0 && !hca->vhc_comp_due)
		return;
	hca->vhc_comp_due = false;
	for (nr = 0; nr < M0_O2IB_EVENTS_MAX && m0_verbs__hca_look(hca); ++nr) {
		wc = hca->vhc_wcs[hca->vhc_wcs_at++];
		++hca->vhc_mark.vmk_taken_nr;
		m0_verbs__wc(hca, &wc);
	}
	if (nr == M0_O2IB_EVENTS_MAX)
		hca->vhc_comp_due = true;
}

void m0_verbs__hca_arm(struct m0_verbs_hca *hca)
{
	if (hca->vhc_is_armed || hca->vhc_qps_nr == 0)
		return;
	++hca->vhc_dev->vdv_dev.odv_counts.odc_calls_nr;
	hca->vhc_is_armed = ibv_req_notify_cq(hca->vhc_cq, 0) == 0;
}

static void comp_ready(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_verbs_hca *hca =
		container_of(fd, struct m0_verbs_hca, vhc_comp_fd);
	struct ibv_cq *cq;
	void          *context;
	unsigned       nr = 0;

	(void)events;
	while (ibv_get_cq_event(hca->vhc_channel, &cq, &context) == 0)
		++nr;
	if (nr > 0)
		ibv_ack_cq_events(hca->vhc_cq, nr);
	hca->vhc_dev->vdv_dev.odv_counts.odc_calls_nr += nr + 1;
	hca->vhc_is_armed = hca->vhc_is_armed && nr == 0;
	hca->vhc_comp_due = true;
}

static void async_ready(struct m0_loop_fd *fd, unsigned events)
{
	(void)events;
	container_of(fd, struct m0_verbs_hca, vhc_async_fd)->vhc_async_due =
		true;
}

/* The connection of a QP; NULL if it is none of this node's. */
static struct m0_verbs_qp *qp_find(struct m0_verbs_hca *hca,
				   const struct ibv_qp *ibv)
{
	struct m0_verbs_qp *qp;

	m0_list_for_each_entry(&hca->vhc_dev->vdv_qps, qp, struct m0_verbs_qp,
			       vqp_all) {
		if (qp->vqp_id->qp == ibv)
			return qp;
	}
	return NULL;
}

static void qp_event(struct m0_verbs_hca *hca, const struct ibv_qp *ibv,
		     enum ibv_event_type type)
{
	struct m0_verbs_qp *qp = qp_find(hca, ibv);

	if (qp == NULL)
		return;
	if (type == IBV_EVENT_COMM_EST)
		/* Fails if the manager knows it, which is as well. */
		(void)rdma_notify(qp->vqp_id, IBV_EVENT_COMM_EST);
	else
		m0_verbs__qp_part(qp, -EIO);
}

static void qps_part(struct m0_verbs_hca *hca, int status)
{
	struct m0_verbs_qp *qp;

	m0_list_for_each_entry(&hca->vhc_dev->vdv_qps, qp, struct m0_verbs_qp,
			       vqp_all) {
		if (qp->vqp_hca == hca)
			m0_verbs__qp_part(qp, status);
	}
}

static void events_take(struct m0_verbs_hca *hca)
{
	struct ibv_async_event event;
	const struct ibv_qp   *qp;

	while (ibv_get_async_event(hca->vhc_context, &event) == 0) {
		qp = event.element.qp;
		ibv_ack_async_event(&event);
		switch (event.event_type) {
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_COMM_EST:
			qp_event(hca, qp, event.event_type);
			break;
		case IBV_EVENT_CQ_ERR:
			qps_part(hca, -EIO);
			break;
		case IBV_EVENT_DEVICE_FATAL:
			qps_part(hca, -ENODEV);
			m0_verbs__ports_gone(hca);
			break;
		case IBV_EVENT_PORT_ACTIVE:
		case IBV_EVENT_PORT_ERR:
			(void)__atomic_add_fetch(&port_events_nr, 1,
						 __ATOMIC_RELAXED);
			break;
		default:
			break;
		}
	}
	hca->vhc_async_due = false;
}

void m0_verbs__hca_async(struct m0_verbs_hca *hca)
{
	uint64_t nr;

	if (hca->vhc_async_due)
		events_take(hca);
	nr = __atomic_load_n(&port_events_nr, __ATOMIC_RELAXED);
	if (nr != hca->vhc_port_events_nr) {
		hca->vhc_port_events_nr = nr;
		m0_verbs__ports_look(hca);
	}
}

int m0_verbs__hca_reserve(struct m0_verbs_hca *hca, unsigned nr)
{
	unsigned need = hca->vhc_used_nr + nr;
	unsigned size = (unsigned)hca->vhc_cq->cqe;
	unsigned size_max = (unsigned)hca->vhc_attr.max_cqe;

	M0_PRE(hca->vhc_cq != NULL);
	if (need > size) {
		if (need > size_max)
			return -ENOMEM;
		while (size < need)
			size = size * 2 < size_max ? size * 2 : size_max;
		if (ibv_resize_cq(hca->vhc_cq, (int)size) != 0)
			return -ENOMEM;
	}
	hca->vhc_used_nr = need;
	return 0;
}

static int queue_open(struct m0_verbs_hca *hca)
{
	int cqe = hca->vhc_attr.max_cqe;

	hca->vhc_pd = ibv_alloc_pd(hca->vhc_context);
	if (hca->vhc_pd == NULL)
		return -errno;
	hca->vhc_channel = ibv_create_comp_channel(hca->vhc_context);
	if (hca->vhc_channel == NULL)
		return -errno;
	hca->vhc_cq = ibv_create_cq(
		hca->vhc_context, cqe < M0_VERBS_CQ_MIN ? cqe : M0_VERBS_CQ_MIN,
		hca, hca->vhc_channel, 0);
	return hca->vhc_cq == NULL ? -errno : 0;
}

static int fd_watch(struct m0_verbs_hca *hca, struct m0_loop_fd *fd, int nr,
		    void (*handler)(struct m0_loop_fd *fd, unsigned events))
{
	int rc;

	fd->lof_fd = nr;
	fd->lof_handler = handler;
	rc = fcntl(nr, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
	if (rc == 0)
		rc = m0_loop_add(&hca->vhc_dev->vdv_reactor->lre_loop, fd);
	if (rc != 0)
		fd->lof_handler = NULL;
	return rc;
}

static void fd_forget(struct m0_verbs_hca *hca, struct m0_loop_fd *fd)
{
	if (fd->lof_handler != NULL)
		m0_loop_del(&hca->vhc_dev->vdv_reactor->lre_loop, fd);
}

void m0_verbs__hca_free(struct m0_verbs_hca *hca)
{
	M0_PRE(hca->vhc_qps_nr == 0);
	m0_verbs__mem_hca_del(hca);
	fd_forget(hca, &hca->vhc_comp_fd);
	fd_forget(hca, &hca->vhc_async_fd);
	if (hca->vhc_async_fd.lof_fd > 0)
		(void)close(hca->vhc_async_fd.lof_fd);
	if (hca->vhc_cq != NULL)
		(void)ibv_destroy_cq(hca->vhc_cq);
	if (hca->vhc_channel != NULL)
		(void)ibv_destroy_comp_channel(hca->vhc_channel);
	if (hca->vhc_pd != NULL)
		(void)ibv_dealloc_pd(hca->vhc_pd);
	m0_free(hca);
}

/* By a descriptor of our own, as another node may be in the same loop. */
static int async_watch(struct m0_verbs_hca *hca)
{
	int fd = fcntl(hca->vhc_context->async_fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno
		      : fd_watch(hca, &hca->vhc_async_fd, fd, async_ready);
}

static int hca_open(struct m0_verbs_hca *hca)
{
	int rc;

	rc = -ibv_query_device(hca->vhc_context, &hca->vhc_attr);
	if (rc == 0)
		rc = queue_open(hca);
	if (rc == 0)
		rc = fd_watch(hca, &hca->vhc_comp_fd, hca->vhc_channel->fd,
			      comp_ready);
	return rc == 0 ? async_watch(hca) : rc;
}

struct m0_verbs_hca *m0_verbs__hca_get(struct m0_verbs_dev *dev,
				       struct ibv_context *context, char *why)
{
	struct m0_verbs_hca *hca;
	unsigned             i;
	int                  rc;

	for (i = 0; i < dev->vdv_hcas_nr; ++i)
		if (dev->vdv_hcas[i]->vhc_context == context)
			return dev->vdv_hcas[i];
	M0_ALLOC_PTR(hca);
	if (hca == NULL || i == M0_VERBS_HCAS_MAX) {
		m0_free(hca);
		m0_verbs__why(why, "one more RDMA device", 0, -ENOMEM);
		return NULL;
	}
	hca->vhc_dev = dev;
	hca->vhc_context = context;
	hca->vhc_index = i;
	rc = hca_open(hca);
	if (rc != 0) {
		m0_verbs__hca_free(hca);
		m0_verbs__why(why, "the queue of completions",
			      M0_VERBS_CQ_MIN * sizeof(struct ibv_wc), rc);
		return NULL;
	}
	dev->vdv_hcas[dev->vdv_hcas_nr++] = hca;
	m0_verbs__mem_hca_add(hca);
	return hca;
}
