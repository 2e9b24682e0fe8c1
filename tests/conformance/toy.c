/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport of packets that may get lost, doubled, late or out of order.
 * A message is one packet, and its sending is done when the packet has left.
 * Bulk: GET and PUT go to the passive machine, DATA and ACK come back; each
 * names buffers by identity, so what comes twice or too late finds nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "m0/net_xprt.h"
#include "toy.h"

enum { TOY_NR = 65536 };
enum pkt_type { MSG, GET, PUT, DATA, ACK };

struct pkt {
	struct m0_net_kit_work p_work;
	enum pkt_type          p_type;
	struct m0_net_kit_addr p_from;
	/** Whom it is for, and who answers are for. */
	uint64_t               p_id;
	uint64_t               p_reply_id;
	int32_t                p_status;
	/** GET: room at the reader. Others: bytes here. */
	m0_bcount_t            p_nr;
	uint8_t                p_data[];
};

static struct m0_mutex            toy_lock = M0_MUTEX_SINIT;
static struct m0_net_kit_machine *machines[TOY_NR];
static struct toy_faults          faults;
static m0_time_t                  timeout = 200 * M0_TIME_ONE_MSEC;

static unsigned number(const struct m0_net_kit_addr *addr)
{
	return (unsigned)addr->nka_bytes[0] << 8 | addr->nka_bytes[1];
}

static void number_set(struct m0_net_kit_addr *addr, unsigned nr)
{
	*addr = (struct m0_net_kit_addr){ .nka_len = 2,
		.nka_bytes = { (uint8_t)(nr >> 8), (uint8_t)nr } };
}

static int addr_parse(const char *text, struct m0_net_kit_addr *ret)
{
	char *end;
	unsigned long nr;

	if (strncmp(text, "toy:", 4) != 0 || text[4] < '0' || text[4] > '9')
		return -EINVAL;
	nr = strtoul(text + 4, &end, 10);
	if (*end != 0 || nr == 0 || nr >= TOY_NR)
		return -EINVAL;
	number_set(ret, (unsigned)nr);
	return 0;
}

static void addr_print(const struct m0_net_kit_addr *addr, char *ret)
{
	snprintf(ret, M0_NET_KIT_ADDR_TEXT, "toy:%u", number(addr));
}

static int start(struct m0_net_kit_machine *machine,
		 const struct m0_net_kit_addr *wanted,
		 struct m0_net_kit_addr *ret_own)
{
	unsigned nr = wanted == NULL ? TOY_NR - 1 : number(wanted);
	int rc = -EADDRINUSE;

	m0_mutex_lock(&toy_lock);
	while (wanted == NULL && machines[nr] != NULL && nr > 1)
		--nr;
	if (machines[nr] == NULL) {
		machines[nr] = machine;
		number_set(ret_own, nr);
		rc = 0;
	}
	m0_mutex_unlock(&toy_lock);
	return rc;
}

/* Answers still come in: only messages are refused, by is_open(). */
static void stop(struct m0_net_kit_machine *machine)
{
	(void)machine;
}

static void leave(struct m0_net_kit_machine *machine)
{
	m0_mutex_lock(&toy_lock);
	machines[number(m0_net_kit_machine_addr(machine))] = NULL;
	m0_mutex_unlock(&toy_lock);
}

/* ------------------------------------------------------------- packets -- */

static struct pkt *pkt(struct m0_net_kit_machine *from, enum pkt_type type,
		       uint64_t id, const struct m0_net_kit_buf *kb)
{
	m0_bcount_t nr = kb == NULL ? 0 : kb->nkb_send_nr;
	struct pkt *p = calloc(1, sizeof *p + nr);
	void *data = p->p_data;
	struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&data, &nr);

	p->p_from = *m0_net_kit_machine_addr(from);
	p->p_type = type;
	p->p_id = id;
	p->p_nr = nr;
	if (nr > 0)
		m0_bufvec_copy_at(&flat, 0, &kb->nkb_buffer->nb_buffer,
				  kb->nkb_buffer->nb_offset, nr);
	return p;
}

static void xmit(struct pkt *p, const struct m0_net_kit_addr *to)
{
	struct m0_net_kit_machine *m;
	bool late;

	m0_mutex_lock(&toy_lock);
	late = m0_rnd(100, &faults.tf_seed) < faults.tf_delay_pct;
	if (late)
		p->p_work.nkw_due = m0_time_cached() +
			m0_rnd(faults.tf_delay_ns, &faults.tf_seed);
	m = machines[number(to)];
	if (m0_rnd(100, &faults.tf_seed) < faults.tf_drop_pct)
		m = NULL;
	if (m != NULL)
		m0_net_kit_machine_get(m);
	m0_mutex_unlock(&toy_lock);
	p->p_work.nkw_op = M0_NET_KIT_WORK_XPRT;
	if (m != NULL)
		m0_net_kit_post(m, &p->p_work);
	else
		free(p);
}

/* The packet kept its machine's memory alive. */
static void drop(struct m0_net_kit_work *work)
{
	struct m0_net_kit_machine *m = work->nkw_dest;

	free(container_of(work, struct pkt, p_work));
	m0_net_kit_machine_put(m);
}

static void send_twice(struct pkt *p, const struct m0_net_kit_addr *to)
{
	size_t nr = sizeof *p + (p->p_type == GET ? 0 : p->p_nr);
	struct pkt *twin = NULL;

	m0_mutex_lock(&toy_lock);
	if (m0_rnd(100, &faults.tf_seed) < faults.tf_duplicate_pct)
		twin = memcpy(malloc(nr), p, nr);
	m0_mutex_unlock(&toy_lock);
	xmit(p, to);
	if (twin != NULL)
		xmit(twin, to);
}

/* ---------------------------------------------------------- operations -- */

static void toy_send(struct m0_net_kit_buf *kb)
{
	struct pkt *p = pkt(kb->nkb_machine, MSG, 0, kb);

	if (m0_net_kit_claim(kb))
		send_twice(p, m0_net_kit_ep_addr(kb->nkb_ep));
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
	struct m0_mutex *lock = &m0_net_kit_machine_tm(m)->ntm_mutex;
	bool put = desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_RECV;
	struct pkt *p = pkt(m, put ? PUT : GET, desc->nks_id, put ? kb : NULL);

	p->p_reply_id = m0_net_kit_buf_id(kb);
	if (!put)
		p->p_nr = kb->nkb_size;
	m0_mutex_lock(lock);
	if (!m0_net_kit_claim(kb)) {
		m0_net_kit_done(kb, 0, 0);
		free(p);
	} else {
		*waits(kb) = true;
		m0_net_kit_unclaim(kb);
		m0_net_kit_deadline(kb, m0_time_cached() + timeout,
				    -ETIMEDOUT);
		if (desc->nks_incarnation == m0_net_kit_incarnation())
			send_twice(p, &desc->nks_passive);
		else
			free(p);
	}
	m0_mutex_unlock(lock);
}

static bool cancel(struct m0_net_kit_buf *kb)
{
	bool ours = *waits(kb);

	*waits(kb) = false;
	return ours;
}

/* The passive side of GET (kb is read) and PUT (kb is written). */
static struct pkt *serve(struct m0_net_kit_machine *machine, struct pkt *p,
			 struct m0_net_kit_buf *kb)
{
	bool put = p->p_type == PUT;
	bool fits = put ? p->p_nr <= kb->nkb_size : p->p_nr >= kb->nkb_send_nr;
	struct pkt *answer = pkt(machine, fits && !put ? DATA : ACK,
				 p->p_reply_id, fits && !put ? kb : NULL);
	void *data = p->p_data;
	struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&data, &p->p_nr);

	answer->p_status = fits ? 0 : -EFBIG;
	answer->p_reply_id = put ? M0_NET_QT_ACTIVE_BULK_SEND
				 : M0_NET_QT_ACTIVE_BULK_RECV;
	if (fits && put)
		m0_bufvec_copy_at(&kb->nkb_buffer->nb_buffer, 0, &flat, 0,
				  p->p_nr);
	m0_net_kit_done(kb, answer->p_status, fits && put ? p->p_nr : 0);
	return answer;
}

/* The active side: DATA is written, ACK has but the status. */
static void finish(struct pkt *p, struct m0_net_kit_buf *kb)
{
	void *data = p->p_data;
	struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&data, &p->p_nr);

	if (p->p_type == DATA)
		m0_bufvec_copy_at(&kb->nkb_buffer->nb_buffer, 0, &flat, 0,
				  p->p_nr);
	*waits(kb) = false;
	m0_net_kit_done(kb, p->p_status, p->p_nr);
}

static bool work(struct m0_net_kit_machine *machine,
		 struct m0_net_kit_work *work)
{
	struct pkt *p = container_of(work, struct pkt, p_work);
	void *data = p->p_data;
	struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&data, &p->p_nr);
	enum m0_net_queue_type qt = p->p_type == GET ?
		M0_NET_QT_PASSIVE_BULK_SEND : p->p_type == PUT ?
		M0_NET_QT_PASSIVE_BULK_RECV :
		(enum m0_net_queue_type)p->p_reply_id;
	struct m0_net_kit_buf *kb;

	if (p->p_type == MSG && !m0_net_kit_machine_is_open(machine))
		;
	else if (p->p_type == MSG && m0_net_kit_msg_must_wait(machine))
		return false;
	else if (p->p_type == MSG)
		(void)m0_net_kit_msg_in(machine, &p->p_from, &flat, 0, p->p_nr);
	else if (m0_net_kit_claim_id(p->p_id, qt, &kb) != 0)
		;
	else if (p->p_type == GET || p->p_type == PUT)
		send_twice(serve(machine, p, kb), &p->p_from);
	else
		finish(p, kb);
	drop(work);
	return true;
}

static const struct m0_net_kit_ops kit_ops = {
	.nko_buf_size = sizeof(bool), .nko_addr_parse = addr_parse,
	.nko_addr_print = addr_print, .nko_start = start, .nko_stop = stop,
	.nko_leave = leave,
	.nko_send = toy_send, .nko_bulk = bulk, .nko_cancel = cancel,
	.nko_work = work, .nko_refuse = drop,
};

static int dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom)
{
	(void)xprt;
	return m0_net_kit_dom_init(dom, &kit_ops);
}

static m0_bcount_t buffer_max(const struct m0_net_domain *dom)
{
	(void)dom;
	return 16 << 20;
}

static m0_bcount_t segment_max(const struct m0_net_domain *dom)
{
	(void)dom;
	return 1 << 20;
}

static int32_t segments_max(const struct m0_net_domain *dom)
{
	(void)dom;
	return 16;
}

static const struct m0_net_xprt_ops ops = {
	M0_NET_KIT_XPRT_OPS,
	.xo_dom_init = dom_init,
	.xo_get_max_buffer_size = buffer_max,
	.xo_get_max_buffer_segment_size = segment_max,
	.xo_get_max_buffer_segments = segments_max,
};

const struct m0_net_xprt toy_xprt = { .nx_name = "toy", .nx_ops = &ops };

void toy_faults_set(const struct toy_faults *new)
{
	faults = *new;
}

void toy_timeout_set(m0_time_t timeout_ns)
{
	timeout = timeout_ns;
}
