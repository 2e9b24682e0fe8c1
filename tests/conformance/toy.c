/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A transport of packets that may get lost, doubled, late or out of order.
 * A message is one packet, and its sending is done when the packet has left.
 * Bulk: GET and PUT go to the passive machine, DATA and ACK come back; each
 * names buffers by identity, so what comes twice or too late finds nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "toy_wire.h"

static int addr_parse(const char *text, struct m0_net_kit_addr *ret)
{
	unsigned long nr;
	char         *end;

	if (strncmp(text, "toy:", 4) != 0 || text[4] < '0' || text[4] > '9')
		return -EINVAL;
	nr = strtoul(text + 4, &end, 10);
	if (*end != 0 || nr == 0 || nr >= TOY_NR)
		return -EINVAL;
	*ret = toy_addr((unsigned)nr);
	return 0;
}

static void addr_print(const struct m0_net_kit_addr *addr, char *ret)
{
	snprintf(ret, M0_NET_KIT_ADDR_TEXT, "toy:%u", toy_number(addr));
}

static void message(struct m0_net_kit_buf *kb)
{
	struct toy_pkt *p = toy_pkt(kb->nkb_machine, MSG, 0, kb);

	if (m0_net_kit_claim(kb))
		toy_wire_send(p, m0_net_kit_ep_addr(kb->nkb_ep));
	else
		free(p);
	m0_net_kit_done(kb, 0, 0);
}

static void bulk(struct m0_net_kit_buf *kb, const struct m0_net_kit_desc *desc)
{
	struct m0_net_kit_machine *m = kb->nkb_machine;
	struct m0_mutex           *lock = &m0_net_kit_machine_tm(m)->ntm_mutex;
	bool put = desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_RECV;
	bool ours = desc->nks_incarnation == m0_net_kit_incarnation();
	struct toy_pkt *p =
		toy_pkt(m, put ? PUT : GET, desc->nks_id, put ? kb : NULL);

	p->p_qt = desc->nks_qtype;
	p->p_reply_id = m0_net_kit_buf_id(kb);
	p->p_reply_qt = put ? M0_NET_QT_ACTIVE_BULK_SEND
			    : M0_NET_QT_ACTIVE_BULK_RECV;
	p->p_room = kb->nkb_size;
	m0_mutex_lock(lock);
	if (m0_net_kit_wait(kb, m0_time_cached() + toy_timeout, -ETIMEDOUT) &&
	    ours)
		toy_wire_send(p, &desc->nks_passive);
	else
		free(p);
	m0_mutex_unlock(lock);
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
	answer->p_qt = p->p_reply_qt;
	if (fits && put)
		toy_unpack(p, kb);
	m0_net_kit_done(kb, answer->p_status, fits && put ? p->p_data_nr : 0);
	toy_wire_send(answer, &p->p_from);
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
	struct m0_net_kit_buf *kb;

	if (p->p_type == MSG) {
		if (m0_net_kit_msg_must_wait(machine))
			return false;
		message_in(machine, p);
	} else if (m0_net_kit_claim_id(p->p_id, p->p_qt, &kb) != 0) {
		; /* Too late, or twice. */
	} else if (p->p_type == GET || p->p_type == PUT) {
		if (m0_net_kit_admits(kb, &p->p_from))
			serve(machine, p, kb);
		else
			m0_net_kit_unclaim(kb);
	} else {
		if (p->p_type == DATA)
			toy_unpack(p, kb);
		m0_net_kit_done(kb, p->p_status, p->p_data_nr);
	}
	toy_wire_drop(work);
	return true;
}

static const struct m0_net_kit_copy_ops copy_ops = {
	.nkc_work = work,
	.nkc_refuse = toy_wire_drop,
};

static const struct m0_net_kit_ops kit_ops = {
	.nko_copy = &copy_ops,
	.nko_buffer_max = 16 << 20,
	.nko_segment_max = 1 << 20,
	.nko_segments_max = 16,
	.nko_addr_parse = addr_parse,
	.nko_addr_print = addr_print,
	.nko_start = toy_wire_attach,
	.nko_leave = toy_wire_detach,
	.nko_send = message,
	.nko_bulk = bulk,
};

static int dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom)
{
	(void)xprt;
	return m0_net_kit_dom_init(dom, &kit_ops);
}

static const struct m0_net_xprt_ops ops = {
	M0_NET_KIT_XPRT_OPS,
	.xo_dom_init = dom_init,
};

const struct m0_net_xprt toy_xprt = { .nx_name = "toy", .nx_ops = &ops };
