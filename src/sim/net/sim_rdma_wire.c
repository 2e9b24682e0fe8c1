/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Packets between queue pairs. */
#include <stdlib.h>

#include "sim/net/sim_rdma_internal.h"

enum {
	/** Between tries of what is cut off. */
	RETRIES = 6
};
#define RNR_SLOW_NS (655 * M0_TIME_ONE_MSEC)
#define RNR_FAST_NS (640 * M0_TIME_ONE_USEC)

static void packet_fire(struct m0_sim_timer *timer);

static m0_time_t now(void)
{
	return m0_sim_now(rdm_it->rdm_sim);
}

static m0_time_t draw(m0_time_t max)
{
	return max == 0 ? 0 : m0_sim__rand_in(&rdm_it->rdm_rand, 0, max);
}

static void packet_free(struct rdm_packet *packet)
{
	m0_sim_timer_cancel(rdm_it->rdm_sim, &packet->rdt_timer);
	m0_list_del(&packet->rdt_link);
	if (m0_list_link_is_in(&packet->rdt_inbox))
		m0_list_del(&packet->rdt_inbox);
	free(packet);
}

struct rdm_packet *rdm_packet_make(enum rdm_kind kind, struct rdm_qp *src,
				   struct rdm_qp *dst, size_t room)
{
	struct rdm_packet *packet =
		m0_sim__realloc(NULL, 1, sizeof *packet + room);

	*packet = (struct rdm_packet){ .rdt_kind = kind,
				       .rdt_src = src,
				       .rdt_dst = dst,
				       .rdt_timer.simt_data = packet };
	m0_list_link_init(&packet->rdt_link);
	m0_list_link_init(&packet->rdt_inbox);
	m0_list_add_tail(&rdm_it->rdm_packets, &packet->rdt_link);
	return packet;
}

void rdm_private_set(struct rdm_packet *packet, const void *bytes, size_t nr)
{
	M0_ASSERT(nr <= sizeof packet->rdt_private);
	memcpy(packet->rdt_private, bytes, nr);
	packet->rdt_private_nr = nr;
}

/** Messages keep their order; what sets up and ends connections has none. */
static bool is_ordered(const struct rdm_packet *packet)
{
	return packet->rdt_kind >= RDM_SEND;
}

void rdm_packet_go(struct rdm_packet *packet, size_t bytes_nr)
{
	const struct m0_sim_rdma_cfg *cfg = &rdm_it->rdm_cfg;
	struct rdm_qp                *src = packet->rdt_src;
	m0_time_t way = cfg->srd_latency_ns + draw(cfg->srd_jitter_ns);
	m0_time_t at = now() + way;

	if (cfg->srd_rate_bytes > 0)
		at += bytes_nr * M0_TIME_ONE_SECOND / cfg->srd_rate_bytes;
	if (is_ordered(packet)) {
		at = max64u(at, src->rdq_arrival + 1);
		src->rdq_arrival = at;
	}
	packet->rdt_since = now();
	m0_sim_timer_arm(rdm_it->rdm_sim, &packet->rdt_timer, at, packet_fire);
}

/* -- errors --------------------------------------------------------------------- */

static void over_fire(struct m0_sim_timer *timer)
{
	struct rdm_qp *qp = timer->simt_data;

	(void)rdm_event_add(qp->rdq_dev, RDM_EV_OVER, qp);
}

/** Packets of a QP vanish; those to it find nobody. */
void rdm_qp_forget(struct rdm_qp *qp)
{
	struct rdm_packet *packet;
	struct rdm_packet *after;

	m0_list_for_each_entry_safe(&rdm_it->rdm_packets, packet, after,
				    struct rdm_packet, rdt_link) {
		if (packet->rdt_src == qp && packet->rdt_kind != RDM_DREQ &&
		    packet->rdt_kind != RDM_REJ && packet->rdt_kind != RDM_REP)
			packet_free(packet);
		else if (packet->rdt_src == qp)
			packet->rdt_src = NULL;
		else if (packet->rdt_dst == qp)
			packet->rdt_dst = NULL;
	}
}

static void inbox_drop(struct rdm_qp *qp)
{
	struct m0_list_link *link;

	m0_sim_timer_cancel(rdm_it->rdm_sim, &qp->rdq_rnr_timer);
	while ((link = m0_list_first(&qp->rdq_inbox)) != NULL) {
		struct rdm_packet *packet =
			m0_list_entry(link, struct rdm_packet, rdt_inbox);

		/* Its sender tries again, and gives up. */
		m0_list_del(link);
		m0_sim_timer_arm(rdm_it->rdm_sim, &packet->rdt_timer,
				 now() + rdm_it->rdm_cfg.srd_retry_ns / RETRIES,
				 packet_fire);
	}
}

void rdm_qp_error(struct rdm_qp *qp, int status, bool notify)
{
	if (qp->rdq_state >= RDM_ERROR)
		return;
	inbox_drop(qp);
	qp->rdq_state = RDM_ERROR;
	if (notify)
		rdm_event_add(qp->rdq_dev, RDM_EV_BROKEN, qp)->rde_status =
			status;
	qp->rdq_over_timer.simt_data = qp;
	m0_sim_timer_arm(rdm_it->rdm_sim, &qp->rdq_over_timer,
			 now() + draw(rdm_it->rdm_cfg.srd_jitter_ns),
			 over_fire);
}

/** A work request of `qp` has failed. */
static void wr_fail(struct rdm_qp *qp, const struct rdm_packet *packet,
		    int status)
{
	struct rdm_event *ev;

	if (qp->rdq_state != RDM_UP)
		return;
	ev = rdm_event_add(qp->rdq_dev, RDM_EV_SENT, qp);
	ev->rde_id = packet->rdt_id;
	ev->rde_nr = packet->rdt_nr;
	ev->rde_status = status;
	rdm_qp_error(qp, status, true);
}

/* -- messages --------------------------------------------------------------------- */

static void ack_go(const struct rdm_packet *packet, struct rdm_qp *dst)
{
	struct rdm_packet *ack;

	if (!packet->rdt_is_signalled)
		return;
	ack = rdm_packet_make(RDM_ACK, dst, packet->rdt_src, 0);
	ack->rdt_id = packet->rdt_id;
	ack->rdt_nr = packet->rdt_nr;
	rdm_packet_go(ack, 0);
}

static void bytes_gather(const struct rdm_packet *packet, uint8_t *to)
{
	unsigned i;

	if (packet->rdt_is_inline) {
		memcpy(to, packet->rdt_bytes, packet->rdt_bytes_nr);
		return;
	}
	for (i = 0; i < packet->rdt_segs_nr; ++i) {
		memcpy(to, packet->rdt_segs[i].osg_addr,
		       packet->rdt_segs[i].osg_bytes);
		to += packet->rdt_segs[i].osg_bytes;
	}
}

/** @return false: no receive is posted. */
static bool send_arrive(struct rdm_packet *packet)
{
	struct rdm_qp       *qp = packet->rdt_dst;
	struct m0_list_link *link = m0_list_first(&qp->rdq_posted);
	struct rdm_rbuf     *rbuf;

	if (link == NULL)
		return false;
	m0_list_del(link);
	rbuf = m0_list_entry(link, struct rdm_rbuf, rdr_link);
	M0_ASSERT(packet->rdt_bytes_nr <= sizeof rbuf->rdr_bytes);
	bytes_gather(packet, rbuf->rdr_bytes);
	rbuf->rdr_rbuf.orb_nr = (uint32_t)packet->rdt_bytes_nr;
	rdm_event_add(qp->rdq_dev, RDM_EV_RECEIVED, qp)->rde_rbuf = rbuf;
	ack_go(packet, qp);
	return true;
}

static struct rdm_key *key_of(const struct rdm_dev *dev, uint32_t key)
{
	struct rdm_key *it = dev->rdd_keys;

	while (it != NULL && it->rdk_key != key)
		it = it->rdk_next;
	return it;
}

static void write_arrive(struct rdm_packet *packet)
{
	struct rdm_qp        *qp = packet->rdt_dst;
	const struct rdm_key *key = key_of(qp->rdq_dev, packet->rdt_rkey);
	uint64_t              addr;

	addr = key == NULL ? 0 : packet->rdt_raddr - key->rdk_shift;
	if (key == NULL || addr < (uintptr_t)key->rdk_addr ||
	    addr - (uintptr_t)key->rdk_addr > key->rdk_bytes ||
	    packet->rdt_bytes_nr >
		    key->rdk_bytes - (addr - (uintptr_t)key->rdk_addr)) {
		wr_fail(packet->rdt_src, packet, -EREMOTEIO);
		rdm_qp_error(qp, -EIO, true);
		return;
	}
	bytes_gather(packet, (uint8_t *)(uintptr_t)addr);
	ack_go(packet, qp);
}

static void rnr_fire(struct m0_sim_timer *timer)
{
	rdm_inbox_go(timer->simt_data);
}

/** The head of the inbox finds no receive. */
static void rnr_wait(struct rdm_qp *qp, struct rdm_packet *packet)
{
	struct rdm_qp *src = packet->rdt_src;
	m0_time_t      wait = qp->rdq_cfg.oqc_rnr_timer != 0 &&
                                         qp->rdq_state == RDM_UP
				      ? RNR_FAST_NS
				      : RNR_SLOW_NS;

	++rdm_it->rdm_rnr_nr;
	if (qp->rdq_cfg.oqc_rnr_retry_nr < 7 &&
	    qp->rdq_rnr_nr++ >= qp->rdq_cfg.oqc_rnr_retry_nr) {
		wr_fail(src, packet, -ENOBUFS);
		return;
	}
	qp->rdq_rnr_timer.simt_data = qp;
	m0_sim_timer_arm(rdm_it->rdm_sim, &qp->rdq_rnr_timer, now() + wait,
			 rnr_fire);
}

void rdm_inbox_go(struct rdm_qp *qp)
{
	struct m0_list_link *link;

	while (qp->rdq_state <= RDM_UP &&
	       (link = m0_list_first(&qp->rdq_inbox)) != NULL) {
		struct rdm_packet *packet =
			m0_list_entry(link, struct rdm_packet, rdt_inbox);

		if (packet->rdt_kind == RDM_SEND && !send_arrive(packet)) {
			rnr_wait(qp, packet);
			return;
		}
		if (packet->rdt_kind == RDM_WRITE)
			write_arrive(packet);
		qp->rdq_rnr_nr = 0;
		packet_free(packet);
	}
}

/** Nobody takes a message there: its sender gives up after some time. */
static void message_lost(struct rdm_packet *packet)
{
	m0_time_t by = packet->rdt_since + rdm_it->rdm_cfg.srd_retry_ns;

	if (now() < by) {
		m0_sim_timer_arm(rdm_it->rdm_sim, &packet->rdt_timer,
				 now() + rdm_it->rdm_cfg.srd_retry_ns / RETRIES,
				 packet_fire);
		return;
	}
	if (packet->rdt_kind != RDM_ACK)
		wr_fail(packet->rdt_src, packet, -ETIMEDOUT);
	else if (packet->rdt_dst != NULL)
		wr_fail(packet->rdt_dst, packet, -ETIMEDOUT);
	packet_free(packet);
}

static bool can_pass(const struct rdm_qp *src, const struct rdm_qp *dst)
{
	return !m0_sim__is_cut(src->rdq_dev->rdd_host,
			       dst->rdq_dev->rdd_host) &&
	       m0_sim__link_is_up(&src->rdq_from) &&
	       m0_sim__link_is_up(&src->rdq_to);
}

static void ack_arrive(struct rdm_packet *packet)
{
	struct rdm_qp    *qp = packet->rdt_dst;
	struct rdm_event *ev;

	if (qp->rdq_state == RDM_UP) {
		ev = rdm_event_add(qp->rdq_dev, RDM_EV_SENT, qp);
		ev->rde_id = packet->rdt_id;
		ev->rde_nr = packet->rdt_nr;
	}
	packet_free(packet);
}

/** One that left before is still tried: nothing overtakes it. */
static bool is_ahead(const struct rdm_packet *packet)
{
	const struct rdm_packet *other;

	m0_list_for_each_entry(&rdm_it->rdm_packets, other, struct rdm_packet,
			       rdt_link) {
		if (other == packet)
			break;
		if (other->rdt_src == packet->rdt_src && is_ordered(other) &&
		    (other->rdt_kind == RDM_ACK) ==
			    (packet->rdt_kind == RDM_ACK) &&
		    !m0_list_link_is_in(&other->rdt_inbox))
			return true;
	}
	return false;
}

static void message_arrive(struct rdm_packet *packet)
{
	struct rdm_qp *dst = packet->rdt_dst;

	if (packet->rdt_src == NULL) {
		packet_free(packet);
		return;
	}
	if (dst == NULL || dst->rdq_state >= RDM_ERROR || is_ahead(packet) ||
	    !can_pass(packet->rdt_src, dst)) {
		message_lost(packet);
		return;
	}
	if (packet->rdt_kind == RDM_ACK) {
		ack_arrive(packet);
		return;
	}
	m0_list_add_tail(&dst->rdq_inbox, &packet->rdt_inbox);
	if (dst->rdq_rnr_timer.simt_at == 0)
		rdm_inbox_go(dst);
}

/* -- set-up ------------------------------------------------------------------------ */

static struct rdm_port *listener_at(const struct m0_host_addr *addr)
{
	struct rdm_dev  *dev;
	struct rdm_port *port;

	m0_list_for_each_entry(&rdm_it->rdm_devs, dev, struct rdm_dev, rdd_link)
		m0_list_for_each_entry(&dev->rdd_ports, port, struct rdm_port,
				       rdo_link)
			if (port->rdo_listens && !dev->rdd_is_gone &&
			    m0_sim__addr_eq(&port->rdo_port->ort_addr, addr,
					    true))
				return port;
	return NULL;
}

/** There will be no connection. */
static void connect_fail(struct rdm_qp *qp, int status)
{
	if (qp->rdq_state != RDM_CONNECTING)
		return;
	qp->rdq_state = RDM_ENDED;
	rdm_event_add(qp->rdq_dev, RDM_EV_FAILED, qp)->rde_status = status;
}

static void req_arrive(struct rdm_packet *packet)
{
	struct rdm_qp      *src = packet->rdt_src;
	struct m0_sim_host *host = m0_sim__host_at(&src->rdq_to);
	struct rdm_port    *port = listener_at(&src->rdq_to);
	struct rdm_event   *ev;

	if (host == NULL || host->smh_unreachable ||
	    m0_sim__is_cut(src->rdq_dev->rdd_host, host) ||
	    m0_sim__is_cut(host, src->rdq_dev->rdd_host) ||
	    !m0_sim__link_is_up(&src->rdq_to) ||
	    !m0_sim__link_is_up(&src->rdq_from)) {
		/* The address is not resolved. */
		if (now() < packet->rdt_since + src->rdq_cfg.oqc_resolve_ms *
							M0_TIME_ONE_MSEC) {
			m0_sim_timer_arm(rdm_it->rdm_sim, &packet->rdt_timer,
					 now() + M0_TIME_ONE_MSEC +
						 rdm_it->rdm_cfg.srd_retry_ns /
							 RETRIES,
					 packet_fire);
			return;
		}
		connect_fail(src, -EHOSTUNREACH);
		packet_free(packet);
		return;
	}
	if (port == NULL) {
		connect_fail(src, -EHOSTUNREACH);
	} else {
		ev = rdm_event_add(port->rdo_dev, RDM_EV_REQUEST, NULL);
		ev->rde_port = port;
		ev->rde_asker = src;
		memcpy(ev->rde_private, packet->rdt_private,
		       packet->rdt_private_nr);
		ev->rde_private_nr = packet->rdt_private_nr;
	}
	packet_free(packet);
}

/** An answer to a request. */
static void answer_arrive(struct rdm_packet *packet)
{
	struct rdm_qp    *qp = packet->rdt_dst;
	struct rdm_qp    *src = packet->rdt_src;
	struct rdm_event *ev;

	if (qp == NULL || qp->rdq_state != RDM_CONNECTING) {
		if (src != NULL && packet->rdt_kind == RDM_REP)
			rdm_qp_error(src, -ECONNRESET, true);
		packet_free(packet);
		return;
	}
	if (packet->rdt_kind == RDM_REP && src == NULL) {
		connect_fail(qp, -ECONNREFUSED);
	} else if (packet->rdt_status != 0) {
		connect_fail(qp, packet->rdt_status);
	} else {
		ev = rdm_event_add(qp->rdq_dev,
				   packet->rdt_kind == RDM_REP ? RDM_EV_UP
							       : RDM_EV_REFUSED,
				   qp);
		memcpy(ev->rde_private, packet->rdt_private,
		       packet->rdt_private_nr);
		ev->rde_private_nr = packet->rdt_private_nr;
		qp->rdq_state = packet->rdt_kind == RDM_REP ? RDM_UP
							    : RDM_ENDED;
		qp->rdq_peer = src;
		if (packet->rdt_kind == RDM_REP)
			rdm_packet_go(rdm_packet_make(RDM_RTU, qp, src, 0), 0);
	}
	packet_free(packet);
}

static void rtu_arrive(struct rdm_packet *packet)
{
	struct rdm_qp *qp = packet->rdt_dst;

	if (qp != NULL && qp->rdq_state == RDM_ACCEPTED) {
		qp->rdq_state = RDM_UP;
		(void)rdm_event_add(qp->rdq_dev, RDM_EV_UP, qp);
	}
	packet_free(packet);
}

static void dreq_arrive(struct rdm_packet *packet)
{
	struct rdm_qp *qp = packet->rdt_dst;

	if (qp != NULL && qp->rdq_state != RDM_CONNECTING)
		rdm_qp_error(qp, 0, true);
	packet_free(packet);
}

static void packet_fire(struct m0_sim_timer *timer)
{
	struct rdm_packet *packet = timer->simt_data;

	if (packet->rdt_src == NULL && packet->rdt_kind == RDM_REQ) {
		packet_free(packet);
		return;
	}
	switch (packet->rdt_kind) {
	case RDM_REQ:
		req_arrive(packet);
		break;
	case RDM_REP:
	case RDM_REJ:
		answer_arrive(packet);
		break;
	case RDM_RTU:
		rtu_arrive(packet);
		break;
	case RDM_DREQ:
		dreq_arrive(packet);
		break;
	default:
		message_arrive(packet);
	}
}

void m0_sim_rdma_counts(struct m0_o2ib_dev_counts *ret)
{
	struct rdm_dev *dev;

	*ret = (struct m0_o2ib_dev_counts){};
	m0_list_for_each_entry(&rdm_it->rdm_devs, dev, struct rdm_dev,
			       rdd_link) {
		const struct m0_o2ib_dev_counts *more =
			&dev->rdd_dev.odv_counts;

		ret->odc_sends_nr += more->odc_sends_nr;
		ret->odc_writes_nr += more->odc_writes_nr;
		ret->odc_write_bytes += more->odc_write_bytes;
		ret->odc_send_bells_nr += more->odc_send_bells_nr;
		ret->odc_recv_bells_nr += more->odc_recv_bells_nr;
		ret->odc_recvs_nr += more->odc_recvs_nr;
		ret->odc_signalled_nr += more->odc_signalled_nr;
		ret->odc_regs_nr += more->odc_regs_nr;
	}
}
