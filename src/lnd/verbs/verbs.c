/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A pass takes completions without a system call. Descriptors (connection and device
 * events, and completions while the node sleeps) are read by the loop, which a node
 * that is polled runs once in ASK_NS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "lnd/verbs/verbs_internal.h"

#define ASK_NS (1 * M0_TIME_ONE_MSEC)

static struct m0_verbs_dev *dev_of(const struct m0_reactor_source *src)
{
	return container_of(src, struct m0_verbs_dev, vdv_source);
}

static bool has_work(const struct m0_verbs_dev *dev)
{
	const struct m0_verbs_hca *hca;
	unsigned                   i;

	for (i = 0; i < dev->vdv_hcas_nr; ++i) {
		hca = dev->vdv_hcas[i];
		if (hca->vhc_wcs_at < hca->vhc_wcs_nr || hca->vhc_comp_due ||
		    hca->vhc_async_due)
			return true;
	}
	return dev->vdv_cm_due || !m0_list_is_empty(&dev->vdv_ending) ||
	       !m0_list_is_empty(&dev->vdv_reposts);
}

/* Nobody has asked the loop for long, who makes passes without ever waiting. */
static void ask(struct m0_verbs_dev *dev, m0_time_t now)
{
	struct m0_loop_reactor *lre = dev->vdv_reactor;

	if (dev->vdv_asks_nr != lre->lre_asks_nr) {
		dev->vdv_asks_nr = lre->lre_asks_nr;
		dev->vdv_asked_at = now;
	} else if (!lre->lre_reactor.rtr_looked &&
		   now >= dev->vdv_asked_at + ASK_NS) {
		(void)m0_loop_reactor_ask(lre, M0_TIME_IMMEDIATELY);
		dev->vdv_asks_nr = lre->lre_asks_nr;
		dev->vdv_asked_at = now;
	}
}

static bool verbs_pass(struct m0_reactor_source *src, m0_time_t now)
{
	struct m0_verbs_dev *dev = dev_of(src);
	unsigned             i;

	ask(dev, now);
	for (i = 0; i < dev->vdv_hcas_nr; ++i)
		m0_verbs__hca_turn(dev->vdv_hcas[i]);
	if (dev->vdv_cm_due)
		m0_verbs__cm_turn(dev);
	for (i = 0; i < dev->vdv_hcas_nr; ++i)
		m0_verbs__hca_async(dev->vdv_hcas[i]);
	m0_verbs__qps_end(dev, now);
	return has_work(dev);
}

static void verbs_flush(struct m0_reactor_source *src)
{
	struct m0_verbs_dev *dev = dev_of(src);
	struct m0_list_link *link;

	while ((link = m0_list_first(&dev->vdv_reposts)) != NULL)
		(void)m0_verbs__reposts_flush(
			m0_list_entry(link, struct m0_verbs_qp, vqp_repost));
	m0_loop_reactor_show(dev->vdv_reactor, has_work(dev));
}

static bool verbs_has_work(const struct m0_reactor_source *src)
{
	return has_work(dev_of(src));
}

static m0_time_t verbs_wait(struct m0_reactor_source *src, m0_time_t deadline)
{
	struct m0_verbs_dev *dev = dev_of(src);
	struct m0_list_link *link = m0_list_first(&dev->vdv_lingering);
	bool                 sleeps = deadline != M0_TIME_IMMEDIATELY;
	unsigned             i;

	for (i = 0; i < dev->vdv_hcas_nr; ++i) {
		/* A completion since the last look made no event. */
		if (sleeps)
			m0_verbs__hca_arm(dev->vdv_hcas[i]);
		(void)m0_verbs__hca_look(dev->vdv_hcas[i]);
	}
	if (link != NULL)
		deadline =
			min64u(deadline,
			       m0_list_entry(link, struct m0_verbs_qp, vqp_link)
				       ->vqp_linger_until);
	return deadline;
}

static const struct m0_reactor_source_ops source_ops = {
	.rtso_pass = verbs_pass,
	.rtso_flush = verbs_flush,
	.rtso_has_work = verbs_has_work,
	.rtso_wait = verbs_wait,
};

static void cm_ready(struct m0_loop_fd *fd, unsigned events)
{
	(void)events;
	container_of(fd, struct m0_verbs_dev, vdv_cm_fd)->vdv_cm_due = true;
}

static void verbs_fini(struct m0_o2ib_dev *odv)
{
	struct m0_verbs_dev *dev = m0_verbs__dev(odv);
	struct m0_list_link *link;

	M0_PRE(m0_list_is_empty(&dev->vdv_ports) && dev->vdv_mems_nr == 0);
	while ((link = m0_list_first(&dev->vdv_lingering)) != NULL)
		m0_verbs__qp_free(
			m0_list_entry(link, struct m0_verbs_qp, vqp_link));
	M0_ASSERT(m0_list_is_empty(&dev->vdv_qps));
	while (dev->vdv_hcas_nr > 0)
		m0_verbs__hca_free(dev->vdv_hcas[--dev->vdv_hcas_nr]);
	m0_loop_del(&dev->vdv_reactor->lre_loop, &dev->vdv_cm_fd);
	rdma_destroy_event_channel(dev->vdv_channel);
	m0_reactor_del(&dev->vdv_source);
	m0_free(dev->vdv_mems);
	m0_free(dev);
}

static const struct m0_o2ib_dev_ops verbs_ops = {
	.odo_fini = verbs_fini,
	.odo_port_open = m0_verbs__port_open,
	.odo_port_close = m0_verbs__port_close,
	.odo_port_deaf = m0_verbs__port_deaf,
	.odo_mem_add = m0_verbs__mem_add,
	.odo_mem_del = m0_verbs__mem_del,
	.odo_map = m0_verbs__map,
	.odo_unmap = m0_verbs__unmap,
	.odo_connect = m0_verbs__connect,
	.odo_accept = m0_verbs__accept,
	.odo_reject = m0_verbs__reject,
	.odo_break = m0_verbs__break,
	.odo_destroy = m0_verbs__destroy,
	.odo_post = m0_verbs__post,
	.odo_repost = m0_verbs__repost,
};

int m0_verbs__channel_why(char *why, int rc)
{
	const char *text =
		rc == -EACCES || rc == -EPERM
			? "no permission to read and write /dev/infiniband/rdma_cm and "
			  "uverbs*; a container needs --device=/dev/infiniband"
			: "no RDMA device, or not the kernel's module rdma_ucm; "
			  "ibv_devices lists devices, and for soft-RoCE: rdma link add "
			  "rxe0 type rxe netdev DEVICE";

	(void)snprintf(why, M0_LND_WHY_BYTES,
		       "net o2ib cannot be used (%s): %s", m0_errname(rc),
		       text);
	return rc == -ENOENT ? -ENODEV : rc;
}

/* @retval <0  `why` says why. */
static int channel_open(struct m0_verbs_dev *dev, char *why)
{
	int rc;

	dev->vdv_channel = rdma_create_event_channel();
	if (dev->vdv_channel == NULL) {
		rc = errno != 0 ? -errno : -ENODEV;
		return m0_verbs__channel_why(why, rc);
	}
	dev->vdv_cm_fd.lof_fd = dev->vdv_channel->fd;
	dev->vdv_cm_fd.lof_handler = cm_ready;
	rc = fcntl(dev->vdv_channel->fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
	if (rc == 0)
		rc = m0_loop_add(&dev->vdv_reactor->lre_loop, &dev->vdv_cm_fd);
	if (rc != 0) {
		rdma_destroy_event_channel(dev->vdv_channel);
		m0_verbs__why(why, "the channel of connection events", 0, rc);
	}
	return rc;
}

static int verbs_create(struct m0_o2ib_dev **ret, struct m0_reactor *reactor,
			const struct m0_o2ib_dev_cfg *cfg, char *why)
{
	struct m0_verbs_dev *dev;
	int                  rc;

	M0_ALLOC_PTR(dev);
	if (dev == NULL) {
		m0_verbs__why(why, "the driver", sizeof *dev, -ENOMEM);
		return -ENOMEM;
	}
	dev->vdv_cfg = *cfg;
	dev->vdv_dev.odv_ops = &verbs_ops;
	dev->vdv_dev.odv_reactor = reactor;
	dev->vdv_reactor = m0_loop_reactor_of(reactor);
	m0_list_init(&dev->vdv_ports);
	m0_list_init(&dev->vdv_qps);
	m0_list_init(&dev->vdv_ending);
	m0_list_init(&dev->vdv_lingering);
	m0_list_init(&dev->vdv_reposts);
	rc = channel_open(dev, why);
	if (rc != 0) {
		m0_free(dev);
		return rc;
	}
	dev->vdv_source.rts_ops = &source_ops;
	m0_reactor_add(reactor, &dev->vdv_source);
	*ret = &dev->vdv_dev;
	return 0;
}

const struct m0_o2ib_provider m0_verbs_provider = {
	.opr_name = "verbs",
	.opr_create = verbs_create,
};

void m0_verbs__install(void)
{
	m0_o2ib_provider_set(&m0_verbs_provider);
}

/* A static link is told to take m0_verbs__install() (meson.build). */
__attribute__((__constructor__)) static void verbs_start(void)
{
	m0_verbs__install();
}
