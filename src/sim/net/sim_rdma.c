/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* RDMA of the simulator: the provider. */
#include <stdlib.h>

#include "sim/net/sim_rdma_internal.h"

enum {
	DEPTH_MAX = 255,
	INLINE_BYTES = 256,
	SGES_NR = 4,
	/** Memory of several segments that is registered for one sink. */
	ENCLOSED_MAX = 64 << 20,
	EVENTS_MAX = M0_O2IB_EVENTS_MAX,
	SHIFT_STEP = 4096,
	SHIFTS = 1 << 20
};

struct rdm *rdm_it;

static struct rdm_dev *dev_of(struct m0_o2ib_dev *dev)
{
	return container_of(dev, struct rdm_dev, rdd_dev);
}

static struct rdm_qp *qp_of(struct m0_o2ib_qp *qp)
{
	return container_of(qp, struct rdm_qp, rdq_qp);
}

static struct rdm_port *port_of(const struct m0_o2ib_port *port)
{
	return port->ort_priv;
}

static uint64_t draw(uint64_t max)
{
	return m0_sim__rand_in(&rdm_it->rdm_rand, 0, max);
}

/* -- calls up --------------------------------------------------------------------- */

struct rdm_event *rdm_event_add(struct rdm_dev *dev, enum rdm_event_kind kind,
				struct rdm_qp *qp)
{
	struct rdm_event *ev = m0_sim__realloc(NULL, 1, sizeof *ev);

	*ev = (struct rdm_event){ .rde_kind = kind, .rde_qp = qp };
	m0_list_link_init(&ev->rde_link);
	m0_list_add_tail(&dev->rdd_events, &ev->rde_link);
	m0_sim__reactor_wake(dev->rdd_reactor);
	return ev;
}

static void event_free(struct rdm_event *ev)
{
	m0_list_del(&ev->rde_link);
	free(ev);
}

void rdm_events_drop(struct rdm_qp *qp)
{
	struct rdm_event *ev;
	struct rdm_event *after;

	m0_list_for_each_entry_safe(&qp->rdq_dev->rdd_events, ev, after,
				    struct rdm_event, rde_link)
		if (ev->rde_qp == qp)
			event_free(ev);
}

static void request_up(const struct rdm_dev *dev, struct rdm_event *ev)
{
	struct m0_o2ib_request request = { .rdn_event = ev };
	struct rdm_qp         *asker = ev->rde_asker;

	/* The peer may have gone on. */
	if (asker == NULL)
		return;
	dev->rdd_dev.odv_up->odu_request(ev->rde_port->rdo_port, &request,
					 &asker->rdq_from, ev->rde_private,
					 ev->rde_private_nr);
	M0_ASSERT_INFO(request.rdn_is_answered, "a request has no answer");
}

static void sent_up(const struct m0_o2ib_dev_up *calls, struct rdm_event *ev)
{
	struct rdm_qp *qp = ev->rde_qp;

	qp->rdq_completed_nr = ev->rde_nr;
	calls->odu_sent(qp->rdq_qp.oqp_user, ev->rde_id, ev->rde_status);
}

static void event_deliver(const struct rdm_dev *dev, struct rdm_event *ev)
{
	const struct m0_o2ib_dev_up *calls = dev->rdd_dev.odv_up;
	struct rdm_qp               *qp = ev->rde_qp;
	void *user = qp == NULL ? NULL : qp->rdq_qp.oqp_user;

	switch (ev->rde_kind) {
	case RDM_EV_REQUEST:
		request_up(dev, ev);
		break;
	case RDM_EV_UP:
		calls->odu_up(user, ev->rde_private, ev->rde_private_nr);
		break;
	case RDM_EV_REFUSED:
		calls->odu_refused(user, ev->rde_private, ev->rde_private_nr);
		break;
	case RDM_EV_FAILED:
		calls->odu_failed(user, ev->rde_status);
		break;
	case RDM_EV_RECEIVED:
		calls->odu_received(user, &ev->rde_rbuf->rdr_rbuf);
		break;
	case RDM_EV_SENT:
		sent_up(calls, ev);
		break;
	case RDM_EV_BROKEN:
		calls->odu_broken(user, ev->rde_status);
		break;
	case RDM_EV_OVER:
		qp->rdq_state = RDM_ENDED;
		rdm_qp_forget(qp);
		calls->odu_over(user);
		break;
	case RDM_EV_PORT:
		calls->odu_port(ev->rde_port->rdo_port);
	}
}

static bool rdm_pass(struct m0_reactor_source *src, m0_time_t when)
{
	struct rdm_dev *dev = container_of(src, struct rdm_dev, rdd_source);
	unsigned        nr;

	(void)when;
	for (nr = 0; nr < EVENTS_MAX && !m0_list_is_empty(&dev->rdd_events);
	     ++nr) {
		struct rdm_event *ev =
			m0_list_entry(m0_list_first(&dev->rdd_events),
				      struct rdm_event, rde_link);

		m0_list_del(&ev->rde_link);
		src->rts_reactor->rtr_called = true;
		event_deliver(dev, ev);
		free(ev);
	}
	return !m0_list_is_empty(&dev->rdd_events);
}

static void given_post(struct rdm_qp *qp)
{
	if (m0_list_is_empty(&qp->rdq_given))
		return;
	++qp->rdq_dev->rdd_dev.odv_counts.odc_recv_bells_nr;
	m0_list_splice_tail(&qp->rdq_posted, &qp->rdq_given);
}

static void rdm_flush(struct m0_reactor_source *src)
{
	struct rdm_dev *dev = container_of(src, struct rdm_dev, rdd_source);
	struct rdm_qp  *qp;

	m0_list_for_each_entry(&dev->rdd_qps, qp, struct rdm_qp, rdq_link)
		given_post(qp);
}

static bool rdm_has_work(const struct m0_reactor_source *src)
{
	const struct rdm_dev *dev =
		container_of(src, const struct rdm_dev, rdd_source);
	const struct rdm_qp *qp;

	m0_list_for_each_entry(&dev->rdd_qps, qp, struct rdm_qp, rdq_link)
		if (!m0_list_is_empty(&qp->rdq_given))
			return true;
	return !m0_list_is_empty(&dev->rdd_events);
}

static const struct m0_reactor_source_ops source_ops = {
	.rtso_pass = rdm_pass,
	.rtso_flush = rdm_flush,
	.rtso_has_work = rdm_has_work,
};

/* -- ports ------------------------------------------------------------------------ */

static int rdm_port_open(struct m0_o2ib_dev *base, struct m0_o2ib_port *port,
			 char *why)
{
	struct rdm_dev     *dev = dev_of(base);
	struct m0_sim_host *host = m0_sim__host_at(&port->ort_addr);
	struct rdm_port    *rp;

	if (host == NULL || (dev->rdd_host != NULL && dev->rdd_host != host)) {
		(void)snprintf(why, M0_LND_WHY_BYTES,
			       "no device of this host has the address");
		return -EADDRNOTAVAIL;
	}
	dev->rdd_host = host;
	rp = m0_sim__realloc(NULL, 1, sizeof *rp);
	*rp = (struct rdm_port){ .rdo_port = port,
				 .rdo_dev = dev,
				 .rdo_listens = port->ort_listens };
	m0_list_link_init(&rp->rdo_link);
	m0_list_add_tail(&dev->rdd_ports, &rp->rdo_link);
	port->ort_priv = rp;
	port->ort_is_up = m0_sim__link_is_up(&port->ort_addr);
	port->ort_is_gone = false;
	port->ort_depth_max = DEPTH_MAX;
	port->ort_sges_max = dev->rdd_sges_max;
	port->ort_inline_max = dev->rdd_inline_max;
	(void)snprintf(port->ort_device, sizeof port->ort_device, "sim0");
	return 0;
}

static void reject_go(struct rdm_event *ev, const void *bytes, size_t nr,
		      int status)
{
	struct rdm_packet *packet;

	if (ev->rde_asker == NULL)
		return;
	packet = rdm_packet_make(RDM_REJ, NULL, ev->rde_asker, 0);
	if (nr > 0)
		rdm_private_set(packet, bytes, nr);
	packet->rdt_status = status;
	rdm_packet_go(packet, 0);
}

static void rdm_port_deaf(struct m0_o2ib_dev *base, struct m0_o2ib_port *port)
{
	(void)base;
	port_of(port)->rdo_listens = false;
}

static void rdm_port_close(struct m0_o2ib_dev *base, struct m0_o2ib_port *port)
{
	struct rdm_dev   *dev = dev_of(base);
	struct rdm_port  *rp = port_of(port);
	struct rdm_event *ev;
	struct rdm_event *after;
	struct rdm_qp    *qp;

	m0_list_for_each_entry(&dev->rdd_qps, qp, struct rdm_qp, rdq_link)
		M0_PRE(qp->rdq_qp.oqp_port != port);
	m0_list_for_each_entry_safe(&dev->rdd_events, ev, after,
				    struct rdm_event, rde_link) {
		if (ev->rde_port != rp)
			continue;
		if (ev->rde_kind == RDM_EV_REQUEST)
			reject_go(ev, NULL, 0, -ECONNREFUSED);
		event_free(ev);
	}
	m0_list_del(&rp->rdo_link);
	free(rp);
	port->ort_priv = NULL;
}

/* -- memory ----------------------------------------------------------------------- */

static struct rdm_key *key_add(struct rdm_dev           *dev,
			       const struct m0_o2ib_mem *mem, void *addr,
			       uint64_t bytes)
{
	struct rdm_key *key = m0_sim__realloc(NULL, 1, sizeof *key);

	*key = (struct rdm_key){ .rdk_mem = mem,
				 .rdk_next = dev->rdd_keys,
				 .rdk_key = ++dev->rdd_key * 0x101,
				 .rdk_addr = addr,
				 .rdk_bytes = bytes,
				 .rdk_shift = draw(SHIFTS) * SHIFT_STEP };
	dev->rdd_keys = key;
	return key;
}

static void key_del(struct rdm_dev *dev, struct rdm_key *key)
{
	struct rdm_key **at = &dev->rdd_keys;

	while (*at != key) {
		M0_ASSERT(*at != NULL);
		at = &(*at)->rdk_next;
	}
	*at = key->rdk_next;
	/* Transfers that have it are refused from now on. */
	if (key->rdk_maps_nr > 0)
		key->rdk_is_gone = true;
	else
		free(key);
}

/* Finds the smallest: the driver's own may be within one of the application, which leaves. */
struct rdm_key *rdm_key_find(struct rdm_dev *dev, const void *addr,
			     uint64_t bytes)
{
	const char     *from = addr;
	struct rdm_key *best = NULL;
	struct rdm_key *key;

	for (key = dev->rdd_keys; key != NULL; key = key->rdk_next)
		if (key->rdk_mem != NULL && !key->rdk_mem->ome_is_left &&
		    from >= key->rdk_addr &&
		    (uint64_t)(from - key->rdk_addr) <= key->rdk_bytes &&
		    bytes <=
			    key->rdk_bytes - (uint64_t)(from - key->rdk_addr) &&
		    (best == NULL || key->rdk_bytes < best->rdk_bytes))
			best = key;
	return best;
}

static int rdm_mem_add(struct m0_o2ib_dev *base, struct m0_o2ib_mem *mem)
{
	mem->ome_priv =
		key_add(dev_of(base), mem, mem->ome_addr, mem->ome_bytes);
	return 0;
}

static void rdm_mem_del(struct m0_o2ib_dev *base, struct m0_o2ib_mem *mem)
{
	key_del(dev_of(base), mem->ome_priv);
}

/** The memory from the first to the last segment. */
static void enclose(const struct m0_o2ib_seg *segs, unsigned nr, char **ret,
		    uint64_t *ret_bytes)
{
	char    *from = segs[0].osg_addr;
	char    *to = from + segs[0].osg_bytes;
	unsigned i;

	for (i = 1; i < nr; ++i) {
		char *addr = segs[i].osg_addr;

		from = addr < from ? addr : from;
		to = addr + segs[i].osg_bytes > to ? addr + segs[i].osg_bytes
						   : to;
	}
	*ret = from;
	*ret_bytes = (uint64_t)(to - from);
}

static int sink_map(struct rdm_dev *dev, const struct m0_o2ib_seg *segs,
		    unsigned nr, struct m0_o2ib_map *ret)
{
	struct rdm_key *key;
	char           *addr;
	uint64_t        bytes;

	enclose(segs, nr, &addr, &bytes);
	key = rdm_key_find(dev, addr, bytes);
	if (key == NULL && (!dev->rdd_foreign || bytes > ENCLOSED_MAX))
		return nr > 1 ? -EXDEV : -EFAULT;
	if (key == NULL) {
		key = key_add(dev, NULL, addr, bytes);
		ret->omp_priv[1] = key;
		++dev->rdd_dev.odv_counts.odc_regs_nr;
	} else {
		++key->rdk_maps_nr;
		ret->omp_priv[0] = key;
	}
	ret->omp_rkey = key->rdk_key;
	ret->omp_shift = key->rdk_shift;
	return 0;
}

static int source_map(struct rdm_dev *dev, struct m0_o2ib_seg *segs,
		      unsigned nr, struct m0_o2ib_map *ret)
{
	unsigned i;

	for (i = 0; i < nr; ++i) {
		struct rdm_key *key =
			rdm_key_find(dev, segs[i].osg_addr, segs[i].osg_bytes);

		if (key == NULL && !dev->rdd_foreign)
			return -EFAULT;
		segs[i].osg_lkey = key == NULL ? 0 : key->rdk_key;
	}
	(void)ret;
	return 0;
}

static int rdm_map(struct m0_o2ib_port *port, struct m0_o2ib_seg *segs,
		   unsigned nr, enum m0_o2ib_map_kind kind,
		   struct m0_o2ib_map *ret)
{
	struct rdm_dev *dev = port_of(port)->rdo_dev;

	M0_PRE(nr >= 1 && nr <= M0_O2IB_MAP_SEGS_MAX);
	*ret = (struct m0_o2ib_map){};
	return kind == M0_O2IB_MAP_SINK ? sink_map(dev, segs, nr, ret)
					: source_map(dev, segs, nr, ret);
}

static void rdm_unmap(struct m0_o2ib_port *port, struct m0_o2ib_map *map)
{
	struct rdm_key *key = map->omp_priv[0];

	if (key != NULL && --key->rdk_maps_nr == 0 && key->rdk_is_gone)
		free(key);
	if (map->omp_priv[1] != NULL)
		key_del(port_of(port)->rdo_dev, map->omp_priv[1]);
}

/* -- queue pairs ------------------------------------------------------------------- */

static struct rdm_qp *qp_make(struct m0_o2ib_port *port, void *user,
			      const struct m0_o2ib_qp_cfg *cfg)
{
	struct rdm_dev *dev = port_of(port)->rdo_dev;
	struct rdm_qp  *qp = m0_sim__realloc(NULL, 1, sizeof *qp);
	unsigned        i;

	*qp = (struct rdm_qp){ .rdq_qp = { .oqp_user = user,
					   .oqp_port = port,
					   .oqp_sends_nr = cfg->oqc_sends_nr,
					   .oqp_sges_max = dev->rdd_sges_max,
					   .oqp_inline_max =
						   dev->rdd_inline_max },
			       .rdq_dev = dev,
			       .rdq_cfg = *cfg };
	m0_list_init(&qp->rdq_posted);
	m0_list_init(&qp->rdq_given);
	m0_list_init(&qp->rdq_inbox);
	m0_list_link_init(&qp->rdq_link);
	qp->rdq_rbufs =
		m0_sim__realloc(NULL, cfg->oqc_recvs_nr, sizeof *qp->rdq_rbufs);
	for (i = 0; i < cfg->oqc_recvs_nr; ++i) {
		struct rdm_rbuf *rbuf = &qp->rdq_rbufs[i];

		rbuf->rdr_rbuf.orb_bytes = rbuf->rdr_bytes;
		m0_list_link_init(&rbuf->rdr_rbuf.orb_link);
		m0_list_link_init(&rbuf->rdr_link);
		m0_list_add_tail(&qp->rdq_posted, &rbuf->rdr_link);
	}
	m0_list_add_tail(&dev->rdd_qps, &qp->rdq_link);
	return qp;
}

static int rdm_connect(struct m0_o2ib_port *port, void *user,
		       const struct m0_host_addr *to, uint16_t src_port,
		       const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		       size_t nr, struct m0_o2ib_qp **ret)
{
	struct rdm_dev    *dev = port_of(port)->rdo_dev;
	struct rdm_packet *packet;
	struct rdm_qp     *qp;

	if (dev->rdd_is_gone)
		return -ENODEV;
	qp = qp_make(port, user, cfg);
	qp->rdq_state = RDM_CONNECTING;
	qp->rdq_from = port->ort_addr;
	qp->rdq_from.sa_port = src_port != 0 ? src_port : 40000;
	qp->rdq_to = *to;
	packet = rdm_packet_make(RDM_REQ, qp, NULL, 0);
	rdm_private_set(packet, bytes, nr);
	rdm_packet_go(packet, 0);
	*ret = &qp->rdq_qp;
	return 0;
}

static int rdm_accept(struct m0_o2ib_request *request, void *user,
		      const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		      size_t nr, struct m0_o2ib_qp **ret)
{
	struct rdm_event  *ev = request->rdn_event;
	struct rdm_qp     *asker = ev->rde_asker;
	struct rdm_packet *packet;
	struct rdm_qp     *qp;

	M0_PRE(!request->rdn_is_answered);
	request->rdn_is_answered = true;
	qp = qp_make(ev->rde_port->rdo_port, user, cfg);
	qp->rdq_state = RDM_ACCEPTED;
	qp->rdq_peer = asker;
	qp->rdq_from = asker->rdq_to;
	qp->rdq_to = asker->rdq_from;
	packet = rdm_packet_make(RDM_REP, qp, asker, 0);
	rdm_private_set(packet, bytes, nr);
	rdm_packet_go(packet, 0);
	*ret = &qp->rdq_qp;
	return 0;
}

static void rdm_reject(struct m0_o2ib_request *request, const void *bytes,
		       size_t nr)
{
	M0_PRE(!request->rdn_is_answered);
	request->rdn_is_answered = true;
	reject_go(request->rdn_event, bytes, nr, 0);
}

/** Notifies the peer, unless the connection between the hosts is cut. */
static void disconnect(struct rdm_qp *qp)
{
	struct rdm_qp *peer = qp->rdq_peer;

	if (peer != NULL &&
	    !m0_sim__is_cut(qp->rdq_dev->rdd_host, peer->rdq_dev->rdd_host))
		rdm_packet_go(rdm_packet_make(RDM_DREQ, qp, peer, 0), 0);
}

static void rdm_break(struct m0_o2ib_qp *base)
{
	struct rdm_qp *qp = qp_of(base);
	bool           is_flushed;

	if (qp->rdq_is_reported)
		return;
	qp->rdq_is_reported = true;
	disconnect(qp);
	is_flushed = qp->rdq_state == RDM_ERROR &&
		     qp->rdq_over_timer.simt_at == 0;
	rdm_events_drop(qp);
	if (is_flushed)
		(void)rdm_event_add(qp->rdq_dev, RDM_EV_OVER, qp);
	/* An end that the user does not know of becomes this one. */
	if (qp->rdq_state == RDM_ENDED)
		qp->rdq_state = RDM_CONNECTING;
	rdm_qp_error(qp, 0, false);
}

static void rdm_destroy(struct m0_o2ib_qp *base)
{
	struct rdm_qp    *qp = qp_of(base);
	struct rdm_dev   *dev;
	struct rdm_event *ev;
	struct rdm_qp    *other;

	M0_PRE(qp->rdq_state == RDM_ENDED);
	rdm_events_drop(qp);
	rdm_qp_forget(qp);
	m0_sim_timer_cancel(rdm_it->rdm_sim, &qp->rdq_over_timer);
	m0_sim_timer_cancel(rdm_it->rdm_sim, &qp->rdq_rnr_timer);
	m0_list_for_each_entry(&rdm_it->rdm_devs, dev, struct rdm_dev,
			       rdd_link) {
		m0_list_for_each_entry(&dev->rdd_events, ev, struct rdm_event,
				       rde_link)
			if (ev->rde_asker == qp)
				ev->rde_asker = NULL;
		m0_list_for_each_entry(&dev->rdd_qps, other, struct rdm_qp,
				       rdq_link)
			if (other->rdq_peer == qp)
				other->rdq_peer = NULL;
	}
	m0_list_del(&qp->rdq_link);
	free(qp->rdq_rbufs);
	free(qp);
}

/* -- the data path ------------------------------------------------------------------ */

static size_t segs_bytes(const struct m0_o2ib_wr *wr)
{
	size_t   nr = 0;
	unsigned i;

	for (i = 0; i < wr->owr_segs_nr; ++i)
		nr += wr->owr_segs[i].osg_bytes;
	return nr;
}

static void segs_take(struct rdm_packet *packet, const struct m0_o2ib_wr *wr)
{
	uint8_t *at = packet->rdt_bytes;
	unsigned i;

	packet->rdt_segs_nr = wr->owr_segs_nr;
	for (i = 0; i < wr->owr_segs_nr; ++i) {
		packet->rdt_segs[i] = wr->owr_segs[i];
		if (!wr->owr_is_inline)
			continue;
		memcpy(at, wr->owr_segs[i].osg_addr, wr->owr_segs[i].osg_bytes);
		at += wr->owr_segs[i].osg_bytes;
	}
}

static void wr_go(struct rdm_qp *qp, const struct m0_o2ib_wr *wr)
{
	struct m0_o2ib_dev_counts *counts = &qp->rdq_dev->rdd_dev.odv_counts;
	size_t                     bytes = segs_bytes(wr);
	struct rdm_packet         *packet;

	M0_PRE(wr->owr_segs_nr >= 1 &&
	       wr->owr_segs_nr <= qp->rdq_qp.oqp_sges_max);
	M0_PRE(bytes > 0);
	M0_PRE(ergo(wr->owr_is_inline, bytes <= qp->rdq_qp.oqp_inline_max));
	packet = rdm_packet_make(
		wr->owr_op == M0_O2IB_OP_SEND ? RDM_SEND : RDM_WRITE, qp,
		qp->rdq_peer, wr->owr_is_inline ? bytes : 0);
	packet->rdt_is_signalled = wr->owr_is_signalled;
	packet->rdt_is_inline = wr->owr_is_inline;
	packet->rdt_id = wr->owr_id;
	packet->rdt_nr = ++qp->rdq_posted_nr;
	packet->rdt_raddr = wr->owr_raddr;
	packet->rdt_rkey = wr->owr_rkey;
	packet->rdt_bytes_nr = bytes;
	segs_take(packet, wr);
	counts->odc_signalled_nr += wr->owr_is_signalled;
	if (wr->owr_op == M0_O2IB_OP_SEND) {
		++counts->odc_sends_nr;
	} else {
		++counts->odc_writes_nr;
		counts->odc_write_bytes += bytes;
	}
	rdm_packet_go(packet, bytes);
}

static int rdm_post(struct m0_o2ib_qp *base, const struct m0_o2ib_wr *wrs,
		    unsigned nr)
{
	struct rdm_qp *qp = qp_of(base);
	unsigned       i;

	M0_PRE(nr >= 1 && nr <= M0_O2IB_CHAIN_MAX);
	given_post(qp);
	++qp->rdq_dev->rdd_dev.odv_counts.odc_send_bells_nr;
	M0_ASSERT_INFO(qp->rdq_posted_nr - qp->rdq_completed_nr + nr <=
			       qp->rdq_qp.oqp_sends_nr,
		       "the send queue overflows");
	if (qp->rdq_state != RDM_UP)
		return -EINVAL;
	for (i = 0; i < nr; ++i)
		wr_go(qp, &wrs[i]);
	return 0;
}

static void rdm_repost(struct m0_o2ib_qp *base, struct m0_o2ib_rbuf *rbuf)
{
	struct rdm_qp   *qp = qp_of(base);
	struct rdm_rbuf *rb = container_of(rbuf, struct rdm_rbuf, rdr_rbuf);

	M0_PRE(!m0_list_link_is_in(&rb->rdr_link));
	M0_PRE(!m0_list_link_is_in(&rbuf->orb_link));
	m0_list_add_tail(&qp->rdq_given, &rb->rdr_link);
	++qp->rdq_dev->rdd_dev.odv_counts.odc_recvs_nr;
}

/* -- life ----------------------------------------------------------------------------- */

static void rdm_dev_fini(struct m0_o2ib_dev *base)
{
	struct rdm_dev *dev = dev_of(base);

	if (!m0_list_is_empty(&dev->rdd_qps) ||
	    !m0_list_is_empty(&dev->rdd_ports) || dev->rdd_keys != NULL)
		m0_sim_fail(rdm_it->rdm_sim,
			    "a node leaves RDMA with something open");
	M0_ASSERT(m0_list_is_empty(&dev->rdd_events));
	m0_reactor_del(&dev->rdd_source);
	m0_list_del(&dev->rdd_link);
	free(dev);
}

static const struct m0_o2ib_dev_ops dev_ops = {
	.odo_fini = rdm_dev_fini,
	.odo_port_open = rdm_port_open,
	.odo_port_close = rdm_port_close,
	.odo_port_deaf = rdm_port_deaf,
	.odo_mem_add = rdm_mem_add,
	.odo_mem_del = rdm_mem_del,
	.odo_map = rdm_map,
	.odo_unmap = rdm_unmap,
	.odo_connect = rdm_connect,
	.odo_accept = rdm_accept,
	.odo_reject = rdm_reject,
	.odo_break = rdm_break,
	.odo_destroy = rdm_destroy,
	.odo_post = rdm_post,
	.odo_repost = rdm_repost,
};

static int rdm_create(struct m0_o2ib_dev **ret, struct m0_reactor *reactor,
		      const struct m0_o2ib_dev_cfg *cfg, char *why)
{
	struct rdm_dev *dev = m0_sim__realloc(NULL, 1, sizeof *dev);
	bool            draws = rdm_it->rdm_cfg.srd_draws;

	(void)cfg;
	(void)why;
	*dev = (struct rdm_dev){
		.rdd_dev = { .odv_ops = &dev_ops, .odv_reactor = reactor },
		.rdd_source.rts_ops = &source_ops,
		.rdd_reactor = m0_sim__reactor_of(reactor),
		.rdd_host = m0_sim__net()->sin_host_used,
		.rdd_foreign = !draws || draw(1) == 1,
		.rdd_inline_max = draws && draw(1) == 1 ? 0 : INLINE_BYTES,
		.rdd_sges_max = draws ? (uint16_t)(1 + draw(SGES_NR - 1))
				      : SGES_NR
	};
	m0_list_init(&dev->rdd_events);
	m0_list_init(&dev->rdd_qps);
	m0_list_init(&dev->rdd_ports);
	m0_list_link_init(&dev->rdd_link);
	m0_list_add_tail(&rdm_it->rdm_devs, &dev->rdd_link);
	m0_reactor_add(reactor, &dev->rdd_source);
	*ret = &dev->rdd_dev;
	return 0;
}

static const struct m0_o2ib_provider rdm_provider = {
	.opr_name = "simulator",
	.opr_create = rdm_create,
};

void m0_sim_rdma_init(const struct m0_sim_rdma_cfg *cfg)
{
	struct sim_net *net = m0_sim__net();

	M0_PRE(rdm_it == NULL);
	rdm_it = m0_sim__realloc(NULL, 1, sizeof *rdm_it);
	*rdm_it = (struct rdm){ .rdm_sim = net->sin_sim, .rdm_cfg = *cfg };
	m0_sim__rand_init(net->sin_sim->sim_core, &rdm_it->rdm_rand);
	m0_list_init(&rdm_it->rdm_devs);
	m0_list_init(&rdm_it->rdm_packets);
	rdm_it->rdm_former = m0_o2ib_provider_get();
	m0_o2ib_provider_set(&rdm_provider);
}

void m0_sim_rdma_fini(void)
{
	struct m0_list_link *link;

	m0_o2ib_provider_set(rdm_it->rdm_former);
	if (!m0_list_is_empty(&rdm_it->rdm_devs))
		m0_sim_fail(rdm_it->rdm_sim, "a node with RDMA is open");
	while ((link = m0_list_first(&rdm_it->rdm_packets)) != NULL) {
		struct rdm_packet *packet =
			m0_list_entry(link, struct rdm_packet, rdt_link);

		m0_sim_timer_cancel(rdm_it->rdm_sim, &packet->rdt_timer);
		m0_list_del(link);
		free(packet);
	}
	free(rdm_it);
	rdm_it = NULL;
}

/* -- faults ----------------------------------------------------------------------------- */

unsigned m0_sim_rdma_rnr_nr(void)
{
	return rdm_it->rdm_rnr_nr;
}

static void host_break(struct m0_sim_host *host, int status)
{
	struct rdm_dev *dev;
	struct rdm_qp  *qp;

	m0_list_for_each_entry(&rdm_it->rdm_devs, dev, struct rdm_dev, rdd_link)
		m0_list_for_each_entry(&dev->rdd_qps, qp, struct rdm_qp,
				       rdq_link)
			if (dev->rdd_host == host &&
			    (qp->rdq_state == RDM_UP ||
			     qp->rdq_state == RDM_ACCEPTED))
				rdm_qp_error(qp, status, true);
}

void m0_sim_rdma_break(struct m0_sim_host *host)
{
	host_break(host, -EIO);
}

void m0_sim_rdma_remove(struct m0_sim_host *host)
{
	struct rdm_dev  *dev;
	struct rdm_port *rp;

	host_break(host, -ENODEV);
	m0_list_for_each_entry(&rdm_it->rdm_devs, dev, struct rdm_dev,
			       rdd_link) {
		if (dev->rdd_host != host)
			continue;
		dev->rdd_is_gone = true;
		m0_list_for_each_entry(&dev->rdd_ports, rp, struct rdm_port,
				       rdo_link) {
			rp->rdo_port->ort_is_up = false;
			rp->rdo_port->ort_is_gone = true;
			rdm_event_add(dev, RDM_EV_PORT, NULL)->rde_port = rp;
		}
	}
}
