/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport of packets that may get lost, doubled, late or out of order.
 * A message is one packet, and its sending is done when the packet has left.
 * Bulk: GET and PUT go to the passive machine, DATA and ACK come back; each
 * names buffers by identity, so what comes twice or too late finds nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "toy_wire.h"

static unsigned number(const struct m0_net_kit_addr *addr)
{
	return (unsigned)addr->nka_bytes[0] << 8 | addr->nka_bytes[1];
}

static int addr_parse(const char *text, struct m0_net_kit_addr *ret)
{
	unsigned long nr;
	char         *end;

	if (strncmp(text, "toy:", 4) != 0 || text[4] < '0' || text[4] > '9')
		return -EINVAL;
	nr = strtoul(text + 4, &end, 10);
	if (*end != 0 || nr == 0 || nr > UINT16_MAX)
		return -EINVAL;
	*ret = (struct m0_net_kit_addr){ 2,
					 { (uint8_t)(nr >> 8), (uint8_t)nr } };
	return 0;
}

static void addr_print(const struct m0_net_kit_addr *addr, char *ret)
{
	snprintf(ret, M0_NET_KIT_ADDR_TEXT, "toy:%u", number(addr));
}

static int start(struct m0_net_kit_machine    *machine,
		 const struct m0_net_kit_addr *wanted,
		 struct m0_net_kit_addr       *ret_own)
{
	int nr = toy_wire_attach(machine, wanted == NULL ? 0 : number(wanted));

	if (nr > 0)
		*ret_own = (struct m0_net_kit_addr){
			2, { (uint8_t)(nr >> 8), (uint8_t)nr }
		};
	return nr < 0 ? nr : 0;
}

/* Answers still come in: only messages are refused, by is_open(). */
static void stop(struct m0_net_kit_machine *machine)
{
	(void)machine;
}

static void leave(struct m0_net_kit_machine *machine)
{
	toy_wire_detach(number(m0_net_kit_machine_addr(machine)));
}

static void message(struct m0_net_kit_buf *kb)
{
	struct toy_pkt *p = toy_pkt(kb->nkb_machine, MSG, 0, kb);

	if (m0_net_kit_claim(kb))
		toy_wire_send(p, number(m0_net_kit_ep_addr(kb->nkb_ep)));
	else
		free(p);
	m0_net_kit_done(kb, 0, 0);
}

/* Only packets, by identity, refer to the buffer any more. */
static bool *waits(struct m0_net_kit_buf *kb)
{
	return m0_net_kit_buf_pvt(kb);
}

static void bulk(struct m0_net_kit_buf *kb, const struct m0_net_kit_desc *desc)
{
	struct m0_net_kit_machine *m = kb->nkb_machine;
	struct m0_mutex           *lock = &m0_net_kit_machine_tm(m)->ntm_mutex;
	bool put = desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_RECV;
	bool ours = desc->nks_incarnation == m0_net_kit_incarnation();
	struct toy_pkt *p =
		toy_pkt(m, put ? PUT : GET, desc->nks_id, put ? kb : NULL);

	p->p_reply_id = m0_net_kit_buf_id(kb);
	p->p_reply_qt = put ? M0_NET_QT_ACTIVE_BULK_SEND
			    : M0_NET_QT_ACTIVE_BULK_RECV;
	p->p_room = kb->nkb_size;
	m0_mutex_lock(lock);
	if (m0_net_kit_claim(kb)) {
		*waits(kb) = true;
		m0_net_kit_unclaim(kb);
		m0_net_kit_deadline(kb, m0_time_cached() + toy_timeout,
				    -ETIMEDOUT);
	} else {
		m0_net_kit_done(kb, 0, 0);
		ours = false;
	}
	if (ours)
		toy_wire_send(p, number(&desc->nks_passive));
	else
		free(p);
	m0_mutex_unlock(lock);
}

static bool cancel(struct m0_net_kit_buf *kb)
{
	bool yes = *waits(kb);

	*waits(kb) = false;
	return yes;
}

/* A descriptor may lie about who is permitted; the buffer does not. */
static bool may_serve(const struct toy_pkt *p, const struct m0_net_kit_buf *kb)
{
	return kb->nkb_ep == NULL ||
	       m0_net_kit_addr_eq(m0_net_kit_ep_addr(kb->nkb_ep), &p->p_from);
}

/* The passive side of GET (kb is read) and PUT (kb is written). */
static void serve(struct m0_net_kit_machine *machine, struct toy_pkt *p,
		  struct m0_net_kit_buf *kb)
{
	bool            put = p->p_type == PUT;
	bool            fits = put ? p->p_data_nr <= kb->nkb_size
				   : p->p_room >= kb->nkb_send_nr;
	bool            data = fits && !put;
	struct toy_pkt *answer = toy_pkt(machine, data ? DATA : ACK,
					 p->p_reply_id, data ? kb : NULL);

	answer->p_status = fits ? 0 : -EFBIG;
	answer->p_reply_qt = p->p_reply_qt;
	if (fits && put)
		toy_unpack(p, kb);
	m0_net_kit_done(kb, answer->p_status, fits && put ? p->p_data_nr : 0);
	toy_wire_send(answer, number(&p->p_from));
}

static void message_in(struct m0_net_kit_machine *machine, struct toy_pkt *p)
{
	void            *data = p->p_data;
	struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&data, &p->p_data_nr);

	if (m0_net_kit_machine_is_open(machine))
		(void)m0_net_kit_msg_in(machine, &p->p_from, &flat, 0,
					p->p_data_nr);
}

static bool work(struct m0_net_kit_machine *machine,
		 struct m0_net_kit_work    *work)
{
	struct toy_pkt        *p = container_of(work, struct toy_pkt, p_work);
	enum m0_net_queue_type qt = p->p_type == GET
					    ? M0_NET_QT_PASSIVE_BULK_SEND
				    : p->p_type == PUT
					    ? M0_NET_QT_PASSIVE_BULK_RECV
					    : p->p_reply_qt;
	struct m0_net_kit_buf *kb;

	if (p->p_type == MSG) {
		if (m0_net_kit_msg_must_wait(machine))
			return false;
		message_in(machine, p);
	} else if (m0_net_kit_claim_id(p->p_id, qt, &kb) != 0) {
		; /* Too late, or twice. */
	} else if (p->p_type == GET || p->p_type == PUT) {
		if (may_serve(p, kb))
			serve(machine, p, kb);
		else
			m0_net_kit_unclaim(kb);
	} else {
		if (p->p_type == DATA)
			toy_unpack(p, kb);
		*waits(kb) = false;
		m0_net_kit_done(kb, p->p_status, p->p_data_nr);
	}
	toy_wire_drop(work);
	return true;
}

static const struct m0_net_kit_ops kit_ops = {
	.nko_buf_size = sizeof(bool),
	.nko_addr_parse = addr_parse,
	.nko_addr_print = addr_print,
	.nko_start = start,
	.nko_stop = stop,
	.nko_leave = leave,
	.nko_send = message,
	.nko_bulk = bulk,
	.nko_cancel = cancel,
	.nko_work = work,
	.nko_refuse = toy_wire_drop,
};

static int dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom)
{
	(void)xprt;
	return m0_net_kit_dom_init(dom, &kit_ops);
}

#define LIMIT(name, type, value)                          \
	static type name(const struct m0_net_domain *dom) \
	{                                                 \
		(void)dom;                                \
		return value;                             \
	}
LIMIT(size_max, m0_bcount_t, 16 << 20)
LIMIT(segment_max, m0_bcount_t, 1 << 20)
LIMIT(segments_max, int32_t, 16)

static const struct m0_net_xprt_ops ops = {
	M0_NET_KIT_XPRT_OPS,
	.xo_dom_init = dom_init,
	.xo_get_max_buffer_size = size_max,
	.xo_get_max_buffer_segment_size = segment_max,
	.xo_get_max_buffer_segments = segments_max,
};

const struct m0_net_xprt toy_xprt = { .nx_name = "toy", .nx_ops = &ops };
