/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Foes: see hostile.h. */
#include "hostile.h"
#include "conformance/cf_internal.h"
#include "m0/rpc_bulk.h"

enum {
	/** Upper half of the numbers of a foe's own pings. */
	PING_MARK = 0x466f65
};

struct rt_machine *s;
struct rt_machine *m;
struct rt_client  *good;
struct foe        *foe;
int                foe_executed;
int                foe_held_nr;

static struct m0_rpc_item *held[RT_HELD];
static struct foe         *foes[4];
static unsigned            foes_nr;

/* ---------------------------------------------------------------- types -- */

static void echo_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	struct m0_rpc_raw *reply =
		m0_rpc_raw_new(rt_type(RT_REPLY), raw->rr_data, raw->rr_nr);

	(void)machine;
	cf_inc(&foe_executed);
	m0_rpc_reply_post(item, &reply->rr_item);
}

static void hold_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	CF_TRUE(foe_held_nr < RT_HELD, "bounded");
	held[foe_held_nr] = item;
	cf_inc(&foe_executed);
	cf_inc(&foe_held_nr);
}

static void pool_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	(void)item;
	cf_inc(&foe_executed);
}

struct load {
	struct m0_rpc_bulk  ld_bulk;
	struct m0_rpc_item *ld_item;
	uint8_t             ld_mem[4096];
};

static void load_done(struct m0_rpc_bulk *rb)
{
	struct load *ld = container_of(rb, struct load, ld_bulk);

	m0_rpc_reply_rc(ld->ld_item, rb->rb_rc != 0 ? rb->rb_rc : -EALREADY);
	m0_rpc_bulk_fini(rb);
	free(ld);
}

/* As an honest handler is written: every check is the library's. */
static void bulk_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	struct m0_rpc_raw          *raw = m0_rpc_raw_of(item);
	struct m0_net_domain       *dom = machine->rm_tm.ntm_dom;
	struct m0_net_buf_desc_data desc;
	struct load                *ld;
	void                       *base;
	m0_bcount_t                 count = sizeof ld->ld_mem;
	struct m0_bufvec mem = { .ov_vec = { 1, &count }, .ov_buf = &base };
	int64_t nr = m0_rpc_bulk_desc_get(raw->rr_data, raw->rr_nr, &desc);
	int     rc;

	cf_inc(&foe_executed);
	if (nr < 0) {
		m0_rpc_reply_rc(item, (int)nr);
		return;
	}
	ld = calloc(1, sizeof *ld);
	base = ld->ld_mem;
	ld->ld_item = item;
	m0_rpc_bulk_init(&ld->ld_bulk);
	ld->ld_bulk.rb_done = load_done;
	ld->ld_bulk.rb_timeout_ns = M0_TIME_ONE_SECOND / 5;
	rc = m0_rpc_bulk_add_as(&ld->ld_bulk, &mem, dom, &desc, 1);
	if (rc >= 0) {
		m0_rpc_bulk_qtype(&ld->ld_bulk, M0_NET_QT_ACTIVE_BULK_RECV);
		rc = m0_rpc_bulk_load(&ld->ld_bulk, machine, &desc);
		if (rc == 0)
			return;
	}
	m0_rpc_reply_rc(item, rc);
	m0_rpc_bulk_fini(&ld->ld_bulk);
	free(ld);
}

static struct m0_rpc_item_type_ops ops[FOE_NOBODY - FOE_ECHO];

#define TYPE(op, flags)                                                 \
	[FOE_##op - FOE_ECHO] = { .rit_opcode = FOE_##op,               \
				  .rit_ops = &ops[FOE_##op - FOE_ECHO], \
				  .rit_name = #op,                      \
				  .rit_flags = M0_RPC_ITEM_TYPE_##flags }

static struct m0_rpc_item_type types[] = {
	TYPE(ECHO, REQUEST),
	TYPE(HOLD, REQUEST),
	TYPE(BULK, REQUEST),
	TYPE(POOL, ONEWAY),
};

static void types_up(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(types); ++i)
		ops[i] = m0_rpc_raw_ops;
	ops[FOE_ECHO - FOE_ECHO].rito_deliver = echo_deliver;
	ops[FOE_HOLD - FOE_ECHO].rito_deliver = hold_deliver;
	ops[FOE_BULK - FOE_ECHO].rito_deliver = bulk_deliver;
	ops[FOE_POOL - FOE_ECHO].rito_deliver = pool_deliver;
	for (i = 0; i < ARRAY_SIZE(types); ++i)
		CF_EQ(m0_rpc_item_type_register(&types[i]), 0, "register");
}

void foe_release(void)
{
	int i;

	for (i = 0; i < foe_held_nr; ++i)
		m0_rpc_reply_rc(held[i], -EALREADY);
	foe_held_nr = 0;
}

/* ------------------------------------------------------------ its machine -- */

static void item_came(struct foe *f, const struct foe_item *it,
		      struct m0_net_end_point *from)
{
	void (*hook)(struct foe * f, const struct foe_item *it,
		     struct m0_net_end_point *from);

	if (it->fit_item.rwi_opcode == M0_RPC_OP_PING_REPLY) {
		/* A forged one may have any number. */
		if (it->fit_item.rwi_xid >> 32 == PING_MARK)
			__atomic_store_n(&f->foe_pong, it->fit_item.rwi_xid,
					 __ATOMIC_RELEASE);
		return;
	}
	f->foe_came[cf_get(&f->foe_came_nr) % FOE_CAME_MAX] = *it;
	cf_inc(&f->foe_came_nr);
	hook = __atomic_load_n(&f->foe_hook, __ATOMIC_ACQUIRE);
	if (hook != NULL)
		hook(f, it, from);
}

static const struct m0_rpc_wire_sum sum = { m0_os_crc32c };

static void packet_came(struct foe *f, const uint8_t *bytes, m0_bcount_t nr,
			struct m0_net_end_point *from)
{
	struct foe_item       it;
	struct m0_rpc_wire_in in;
	const void           *body;
	int rc = m0_rpc__wire_open(&in, &it.fit_packet, bytes, nr, &sum);

	if (rc == -EOPNOTSUPP) {
		cf_inc(&f->foe_refusals);
		return;
	}
	CF_EQ(rc, 0, "what a machine of ours sends");
	while ((rc = m0_rpc__wire_next(&in, &it.fit_item, &body)) == 1) {
		memcpy(it.fit_body, body,
		       min64u(it.fit_item.rwi_size, sizeof it.fit_body));
		item_came(f, &it, from);
	}
	CF_EQ(rc, 0, "what a machine of ours sends");
}

static void recv_add(struct foe *f, struct m0_net_buffer *nb)
{
	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_min_receive_size = FOE_PACKET_MAX;
	nb->nb_max_receive_msgs = 64;
	(void)m0_net_buffer_add(nb, &f->foe_tm->ct_tm);
}

static void recv_cb(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct foe           *f = nb->nb_app_private;

	if (ev->nbe_status == 0)
		packet_came(f,
			    (uint8_t *)nb->nb_buffer.ov_buf[0] + ev->nbe_offset,
			    ev->nbe_length, ev->nbe_ep);
	if (!(nb->nb_flags & M0_NET_BUF_QUEUED) &&
	    f->foe_tm->ct_tm.ntm_state == M0_NET_TM_STARTED &&
	    ev->nbe_status != -ECANCELED)
		recv_add(f, nb);
	cf_wake();
}

static void send_cb(const struct m0_net_buffer_event *ev)
{
	struct foe_send *send =
		container_of(ev->nbe_buffer, struct foe_send, fsd_nb);
	struct foe *f = ev->nbe_buffer->nb_app_private;
	void (*sent)(struct foe * f) =
		__atomic_load_n(&f->foe_sent, __ATOMIC_ACQUIRE);

	__atomic_store_n(&send->fsd_busy, 0, __ATOMIC_RELEASE);
	if (sent != NULL)
		sent(f);
	cf_wake();
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = recv_cb,
		    [M0_NET_QT_MSG_SEND] = send_cb }
};

static void buffer_up(struct foe *f, struct m0_net_buffer *nb, unsigned i)
{
	f->foe_base[i] = f->foe_mem[i];
	f->foe_count[i] = sizeof f->foe_mem[i];
	nb->nb_buffer.ov_vec.v_nr = 1;
	nb->nb_buffer.ov_vec.v_count = &f->foe_count[i];
	nb->nb_buffer.ov_buf = &f->foe_base[i];
	nb->nb_callbacks = &callbacks;
	nb->nb_app_private = f;
	CF_EQ(m0_net_buffer_register(nb, cf_dom(f->foe_tm->ct_dom)), 0,
	      "register");
}

struct foe *foe_up(unsigned dom, const char *to)
{
	struct foe *f = calloc(1, sizeof *f);
	unsigned    i;

	CF_TRUE(foes_nr < ARRAY_SIZE(foes), "too many foes");
	foes[foes_nr++] = f;
	f->foe_tm = cf_up(dom);
	f->foe_tm->ct_stats_off = true;
	f->foe_uuid = M0_UINT128(0xf0e, 1 + cf_rand(1u << 30));
	f->foe_incarnation = 1000;
	f->foe_ping = (uint64_t)PING_MARK << 32;
	if (to != NULL)
		strcpy(f->foe_to, to);
	for (i = 0; i < FOE_SENDS; ++i)
		buffer_up(f, &f->foe_send[i].fsd_nb, i);
	for (i = 0; i < FOE_RECVS; ++i) {
		buffer_up(f, &f->foe_recv[i], FOE_SENDS + i);
		recv_add(f, &f->foe_recv[i]);
	}
	return f;
}

static void foe_down(struct foe *f)
{
	unsigned i;

	cf_stop_wait(f->foe_tm, true);
	for (i = 0; i < FOE_SENDS; ++i)
		CF_EQ(m0_net_buffer_deregister(&f->foe_send[i].fsd_nb,
					       cf_dom(f->foe_tm->ct_dom)),
		      0, "deregister");
	for (i = 0; i < FOE_RECVS; ++i)
		CF_EQ(m0_net_buffer_deregister(&f->foe_recv[i],
					       cf_dom(f->foe_tm->ct_dom)),
		      0, "deregister");
	free(f);
}

/* --------------------------------------------------------------- waiting -- */

bool foe_wait_ms(bool (*cond)(void *arg), void *arg, unsigned ms)
{
	m0_time_t end = m0_time_from_now(0, 0) + ms * M0_TIME_ONE_MSEC;

	while (!cond(arg)) {
		/* The time ends also what goes on for ever. */
		bool did = rt_pump();

		if (m0_time_now() >= end)
			return cond(arg);
		if (did)
			continue;
		(void)m0_semaphore_timeddown(
			&cf.c_sem,
			min64u(end, m0_time_now() + M0_TIME_ONE_MSEC / 4));
	}
	return true;
}

int64_t foe_heap(void)
{
	return cf_live();
}

/* ---------------------------------------------------------------- saying -- */

static struct foe_send *send_get(struct foe *f)
{
	unsigned i;
	int      free = 0;

	for (i = 0; i < FOE_SENDS; ++i, free = 0)
		if (__atomic_compare_exchange_n(&f->foe_send[i].fsd_busy, &free,
						1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return &f->foe_send[i];
	return NULL;
}

static bool is_one_free(void *arg)
{
	struct foe *f = arg;
	unsigned    i;

	for (i = 0; i < FOE_SENDS; ++i)
		if (cf_get(&f->foe_send[i].fsd_busy) == 0)
			return true;
	return false;
}

static void send_to(struct foe *f, struct foe_send *send,
		    struct m0_net_end_point *to, const void *bytes,
		    m0_bcount_t nr)
{
	struct m0_net_buffer *nb = &send->fsd_nb;

	CF_TRUE(nr <= sizeof f->foe_mem[0], "it fits");
	memcpy(nb->nb_buffer.ov_buf[0], bytes, nr);
	nb->nb_qtype = M0_NET_QT_MSG_SEND;
	nb->nb_length = nr;
	nb->nb_offset = 0;
	nb->nb_ep = to;
	if (m0_net_buffer_add(nb, &f->foe_tm->ct_tm) != 0)
		__atomic_store_n(&send->fsd_busy, 0, __ATOMIC_RELEASE);
}

void foe_answer(struct foe *f, struct m0_net_end_point *to, const void *bytes,
		m0_bcount_t nr)
{
	struct foe_send *send = send_get(f);

	if (send != NULL)
		send_to(f, send, to, bytes, nr);
}

void foe_say(struct foe *f, const void *bytes, m0_bcount_t nr)
{
	struct m0_net_end_point *ep;
	struct foe_send         *send;

	while ((send = send_get(f)) == NULL)
		rt_wait(is_one_free, f, "a send buffer");
	CF_EQ(m0_net_end_point_create(&ep, &f->foe_tm->ct_tm, f->foe_to), 0,
	      "end point");
	send_to(f, send, ep, bytes, nr);
	(void)m0_net_end_point_put(ep);
}

void pk_begin(struct pkt *p, const struct foe *f)
{
	p->pk_head = (struct m0_rpc_wire_packet){
		.rwp_life = f->foe_epoch,
		.rwp_sender = f->foe_uuid,
		.rwp_incarnation = f->foe_incarnation,
	};
	p->pk_nr = M0_RPC_WIRE_PACKET_BYTES;
}

void pk_item(struct pkt *p, const struct m0_rpc_wire_item *item,
	     const void *body, uint32_t nr)
{
	struct m0_rpc_wire_item w = *item;
	uint8_t                *at = p->pk_bytes + p->pk_nr;

	w.rwi_size = nr;
	CF_TRUE(p->pk_nr + m0_rpc__wire_item_size(nr) <= sizeof p->pk_bytes,
		"the packet is full");
	m0_rpc__wire_item_put(at, &w);
	at += M0_RPC_WIRE_ITEM_BYTES;
	if (body != NULL)
		memcpy(at, body, nr);
	else
		memset(at, 7, nr);
	(void)m0_rpc__wire_pad_put(at + nr, nr);
	p->pk_nr += (uint32_t)m0_rpc__wire_item_size(nr);
	++p->pk_head.rwp_items_nr;
}

void pk_seal(struct pkt *p)
{
	struct m0_rpc_wire_seg seg = { p->pk_bytes, p->pk_nr };

	(void)m0_rpc__wire_seal(&p->pk_head, &seg, 1, &sum);
}

void pk_sum(struct pkt *p)
{
	uint32_t crc = m0_os_crc32c(0, p->pk_bytes + 8, p->pk_nr - 8);

	memcpy(p->pk_bytes + 4, &crc, sizeof crc);
}

void foe_say_pk(struct foe *f, const struct pkt *p)
{
	foe_say(f, p->pk_bytes, p->pk_nr);
}

void foe_say_item(struct foe *f, const struct m0_rpc_wire_item *item,
		  const void *body, uint32_t nr)
{
	static struct pkt p;

	pk_begin(&p, f);
	pk_item(&p, item, body, nr);
	pk_seal(&p);
	foe_say_pk(f, &p);
}

static bool has_pong(void *arg)
{
	struct foe *f = arg;

	return __atomic_load_n(&f->foe_pong, __ATOMIC_ACQUIRE) >= f->foe_ping;
}

void foe_ping(struct foe *f)
{
	struct m0_rpc_wire_item ping = {
		.rwi_opcode = M0_RPC_OP_PING,
		.rwi_flags = M0_RPC_WIRE_REQUEST,
		.rwi_xid = ++f->foe_ping,
	};
	unsigned i;

	cf.c_waiting = "a pong";
	for (i = 0; i < 1000; ++i) {
		foe_say_item(f, &ping, &f->foe_ping, sizeof f->foe_ping);
		if (foe_wait_ms(has_pong, f, 20))
			return;
	}
	cf_fail(__FILE__, __LINE__, "the machine answers no ping");
}

struct m0_rpc_wire_item foe_request(const struct foe *f, uint32_t op,
				    uint32_t stream, uint64_t xid)
{
	return (struct m0_rpc_wire_item){
		.rwi_opcode = op,
		.rwi_flags = M0_RPC_WIRE_REQUEST,
		.rwi_session = f->foe_session,
		.rwi_stream = stream,
		.rwi_xid = xid,
		.rwi_ack = stream != 0,
	};
}

void foe_forget(struct foe *f)
{
	foe_ping(f);
	/* More may come meanwhile: not to be counted on. */
	cf_set(&f->foe_came_nr, 0);
	cf_set(&f->foe_refusals, 0);
}

const struct foe_item *foe_last(const struct foe *f, uint32_t op)
{
	int i = cf_get(&f->foe_came_nr);

	CF_TRUE(i <= FOE_CAME_MAX, "more came than is kept");
	while (i-- > 0)
		if (f->foe_came[i].fit_item.rwi_opcode == op)
			return &f->foe_came[i];
	return NULL;
}

void foe_told(struct foe *f, uint32_t op, int32_t status, const char *why)
{
	const struct foe_item *it;

	foe_ping(f);
	it = foe_last(f, op);
	CF_TRUE(it != NULL, "no answer %d: %s; %d others, last %d", (int)op,
		why, cf_get(&f->foe_came_nr),
		(int)f->foe_came[(cf_get(&f->foe_came_nr) + FOE_CAME_MAX - 1) %
				 FOE_CAME_MAX]
			.fit_item.rwi_opcode);
	CF_EQ(it->fit_item.rwi_status, status, "%s", why);
	foe_forget(f);
}

void foe_join(struct foe *f, uint64_t id, uint32_t streams, uint32_t window)
{
	struct m0_rpc_conn_est    est = { .rce_conn = 1,
					  .rce_packet_max = FOE_PACKET_MAX };
	struct m0_rpc_session_est ses = { .rse_conn = 1,
					  .rse_streams_nr = streams,
					  .rse_window = window };
	struct m0_rpc_wire_item   w =
		foe_request(f, M0_RPC_OP_CONN_ESTABLISH, 0, 1);
	static uint8_t         body[M0_RPC_WIRE_BODY_MAX];
	struct m0_rpc_conn_rep rep;
	const struct foe_item *it;

	w.rwi_session = 0;
	foe_say_item(f, &w, body, (uint32_t)m0_rpc__conn_est_put(body, &est));
	foe_ping(f);
	it = foe_last(f, M0_RPC_OP_CONN_ESTABLISH_REPLY);
	CF_TRUE(it != NULL, "the foe is a client");
	CF_EQ(m0_rpc__conn_rep_get(&rep, it->fit_body, it->fit_item.rwi_size),
	      0, "answer");
	f->foe_epoch = rep.rcr_life;
	f->foe_session = id;
	w = foe_request(f, M0_RPC_OP_SESSION_ESTABLISH, 0, 1);
	foe_say_item(f, &w, body,
		     (uint32_t)m0_rpc__session_est_put(body, &ses));
	foe_told(f, M0_RPC_OP_SESSION_ESTABLISH_REPLY, 0, "it has a session");
}

/* ------------------------------------------------------------------ life -- */

void foe_world(const struct m0_rpc_cfg *cfg)
{
	s = rt_up(0, cfg);
	m = rt_up(1, NULL);
	good = rt_client(m, s);
	foe = foe_up(2, s->rtm_addr);
}

void good_check(void)
{
	struct rt_item *i[6];
	unsigned        k;

	for (k = 0; k < ARRAY_SIZE(i); ++k)
		i[k] = rt_ask(good, k % 2 == 0 ? RT_ECHO : RT_APPEND, k % 2, k);
	for (k = 0; k < ARRAY_SIZE(i); ++k)
		rt_ends(i[k], 0, "the good client is served");
	cf.c_waiting = NULL;
	rt.rt_log_nr = 0;
}

void foe_begin(void)
{
	types_up();
	foes_nr = 0;
	foe_executed = 0;
	foe_held_nr = 0;
}

void foe_end(void)
{
	unsigned i;

	foe_release();
	rt_end();
	for (i = 0; i < foes_nr; ++i)
		foe_down(foes[i]);
	for (i = 0; i < ARRAY_SIZE(types); ++i)
		m0_rpc_item_type_deregister(&types[i]);
}
