/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages: sizes, shapes, directions, and the three ways they fail.
 * [r.messaging.oneway] [r.rpccore.efficient]
 */
#include "xprt_suite.h"

/* One message of `nr` bytes at `off` between random shapes. */
static void one(struct cf_tm *a, struct cf_tm *b, m0_bcount_t nr,
		m0_bindex_t off, m0_bcount_t spare)
{
	struct cf_buf *s = cf_buf_random(a->ct_dom, off + nr);
	struct cf_buf *r = cf_buf_random(b->ct_dom, nr + spare);

	cf_fill(s, off, nr, nr + off);
	s->cb_nb.nb_length = nr;
	s->cb_nb.nb_offset = off;
	s->cb_nb.nb_ep = cf_ep(a, b);
	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	cf_add_ok(s, a, M0_NET_QT_MSG_SEND);
	m0_net_end_point_put(s->cb_nb.nb_ep);
	cf_done_is(s, 0, "send");
	cf_done_is(r, 0, "receive");
	CF_EQ(r->cb_last.ce_length, nr, "nbe_length");
	CF_EQ(r->cb_last.ce_offset, 0, "nbe_offset");
	CF_TRUE(strcmp(r->cb_last.ce_ep, a->ct_addr) == 0,
		"the sender is %s, expected %s", r->cb_last.ce_ep, a->ct_addr);
	cf_check(r, 0, nr, nr + off);
	cf_check_blank(r, nr, spare);
	cf_check(s, off, nr, nr + off);
	CF_EQ(r->cb_nb.nb_length, 0, "nb_length is never set on receive");
	CF_EQ(r->cb_nb.nb_msgs_received, 1, "nb_msgs_received");
	cf_buf_free(s);
	cf_buf_free(r);
}

/* Sizes of all magnitudes up to the limit, any shape on both sides. */
static void sizes(void)
{
	static const m0_bcount_t at[] = {
		1,    2,    7,     64,    255,     4095,
		4096, 4097, 65535, 65537, 1 << 20, (1 << 20) + 1,
	};
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	m0_bcount_t   max = m0_net_domain_get_max_buffer_size(cf_dom(0));
	unsigned      i;

	max = min64u(max, cf.c_row->r_msg_max);
	for (i = 0; i < ARRAY_SIZE(at) && at[i] <= max; ++i)
		one(a, b, at[i], 0, i % 2 ? 100 : 0);
	one(a, b, max, 0, 0);
}

static void shapes_and_offsets(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	int           i;

	for (i = 0; i < 60; ++i)
		one(a, b, 1 + cf_rand(i % 4 == 0 ? 30000 : 300), cf_rand(700),
		    cf_rand(100));
}

/* Every message arrives once, whatever their number. */
static void many(void)
{
	enum {
		NR = 200
	};
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *s[NR], *r[NR];
	bool           seen[NR] = { false };
	unsigned       i;

	for (i = 0; i < NR; ++i)
		r[i] = cf_recv(b, NR + 1);
	for (i = 0; i < NR; ++i)
		s[i] = cf_send(a, b, i + 1, i + 1);
	for (i = 0; i < NR; ++i) {
		m0_bcount_t nr;

		cf_done_is(s[i], 0, "send");
		cf_done_is(r[i], 0, "receive");
		nr = r[i]->cb_last.ce_length;
		CF_TRUE(nr >= 1 && nr <= NR && !seen[nr - 1],
			"each message comes once: length %llu",
			(unsigned long long)nr);
		seen[nr - 1] = true;
		cf_check(r[i], 0, nr, nr);
	}
}

enum {
	ROUNDS = 100
};

struct pingpong {
	struct cf_tm *pp_self;
	/** One for each: in synchronous mode a send may end late. */
	struct cf_buf *pp_answer[ROUNDS];
	int            pp_got;
};

/* The receive buffer goes back first, then the answer leaves. */
static void answer(struct cf_buf *r, const struct m0_net_buffer_event *ev)
{
	struct pingpong *p = r->cb_arg;
	struct cf_buf   *s;
	int              at;

	if (ev->nbe_status != 0)
		return;
	at = __atomic_fetch_add(&p->pp_got, 1, __ATOMIC_ACQ_REL);
	cf_add_ok(r, p->pp_self, M0_NET_QT_MSG_RECV);
	if (at >= ROUNDS)
		return;
	s = p->pp_answer[at];
	s->cb_nb.nb_ep = ev->nbe_ep;
	cf_add_ok(s, p->pp_self, M0_NET_QT_MSG_SEND);
}

static void ping_pong(void)
{
	struct cf_tm *t[2] = { cf_up(0), cf_up(1) };
	/* A hook may return after its message was counted. */
	static struct pingpong p[2];
	int                    i, k;

	for (i = 0; i < 2; ++i) {
		p[i] = (struct pingpong){ .pp_self = t[i] };
		for (k = 0; k < ROUNDS; ++k) {
			p[i].pp_answer[k] = cf_buf(t[i]->ct_dom, 64);
			p[i].pp_answer[k]->cb_nb.nb_length = 64;
		}
		/* Two buffers, so that one is there at any time. */
		for (k = 0; k < 2; ++k) {
			struct cf_buf *r = cf_buf(t[i]->ct_dom, 64);

			r->cb_hook = answer;
			r->cb_arg = &p[i];
			cf_add_ok(r, t[i], M0_NET_QT_MSG_RECV);
		}
	}
	cf_send(t[0], t[1], 64, 1);
	cf_wait_count(&p[0].pp_got, ROUNDS, "messages of one side");
	/* The first came without a question. */
	cf_wait_count(&p[1].pp_got, ROUNDS + 1, "messages of the other");
}

/* Each of several machines in two domains to each of the other domain. */
static void all_directions(void)
{
	struct cf_tm *t[6];
	unsigned      i, k;

	for (i = 0; i < 6; ++i)
		t[i] = cf_up(i % 2);
	for (i = 0; i < 6; ++i)
		for (k = 0; k < 6; ++k)
			if (i % 2 != k % 2)
				cf_exchange(t[i], t[k]);
}

/* Two spellings of a peer lead to the same machine. */
static void nobody(void)
{
	struct cf_tm        *a = cf_up(0);
	struct cf_buf       *s = cf_buf(0, 10);
	char                 addr[CF_ADDR_MAX];
	struct m0_net_qstats qs;

	cf.c_row->r_addr(addr, 77);
	s->cb_nb.nb_length = 10;
	CF_EQ(m0_net_end_point_create(&s->cb_nb.nb_ep, &a->ct_tm, addr), 0,
	      "an end point where nobody is");
	cf_add_ok(s, a, M0_NET_QT_MSG_SEND);
	cf_done_is(s, cf.c_row->r_nobody, "message to nobody");
	m0_net_end_point_put(s->cb_nb.nb_ep);
	qs = cf_stats(a, M0_NET_QT_MSG_SEND);
	CF_EQ(qs.nqs_num_f_events, cf.c_row->r_nobody != 0, "f_events");
}

/* No receive buffer: the ERROR event, the count, and as the trait says. */
static void no_buffer(void)
{
	struct cf_tm        *a = cf_up(0);
	struct cf_tm        *b = cf_up(1);
	struct cf_buf       *s = cf_send(a, b, 10, 1);
	struct m0_net_qstats qs;

	cf_done_is(s, cf.c_row->r_nobuf == CF_BOTH ? -ENOBUFS : 0,
		   "sender, when the receiver has no buffer");
	cf_wait_count(&b->ct_errors, 1, "ERROR event of the receiver");
	CF_EQ(b->ct_error_status, -ENOBUFS, "status of the ERROR event");
	qs = cf_stats(b, M0_NET_QT_MSG_RECV);
	CF_EQ(qs.nqs_num_f_events, 1, "MSG_RECV f_events of the receiver");
	cf_exchange(a, b);
	CF_EQ(b->ct_errors, 1, "no ERROR event more");
}

/* Too large: who learns of it is the trait; then things work again. */
static void too_large(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = cf_recv(b, 99);
	struct cf_buf *s = cf_send(a, b, 100, 1);

	cf_done_is(s, cf.c_row->r_toobig == CF_BOTH ? -EMSGSIZE : 0,
		   "sender of a message that is too large");
	if (cf.c_row->r_toobig == CF_SILENT) {
		cf_run_ms(5);
		CF_EQ(cf_get(&r->cb_events), 0, "the receiver sees nothing");
		CF_TRUE(cf_del(r), "its buffer waits");
		cf_wait_buf(r);
	} else {
		cf_done_is(r, -EMSGSIZE, "receive buffer too small");
		CF_EQ(r->cb_last.ce_length, 100, "nbe_length: what was wanted");
	}
	cf_check_blank(r, 0, 99);
	cf_exchange(a, b);
}

/* A message goes to a buffer that it fits, also past one that it does not. */
static void larger_buffer_behind(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *small = cf_recv(b, 10);
	struct cf_buf *large = cf_recv(b, 1000);
	struct cf_buf *s = cf_send(a, b, 500, 3);

	cf_wait_buf(s);
	if (s->cb_last.ce_status == 0)
		cf_done_is(large, 0, "the buffer it fits");
	else
		cf_done_is(small, -EMSGSIZE, "the first buffer");
}

/* Both directions at once, with buffers added from callbacks. */
static void flood(void)
{
	struct cf_tm  *t[2] = { cf_up(0), cf_up(1) };
	struct cf_buf *s[2][50];
	unsigned       i, d;

	for (i = 0; i < 50; ++i)
		for (d = 0; d < 2; ++d)
			cf_recv(t[d], 2000);
	for (i = 0; i < 50; ++i)
		for (d = 0; d < 2; ++d)
			s[d][i] = cf_send(t[d], t[!d], 1 + cf_rand(2000), i);
	for (i = 0; i < 50; ++i)
		for (d = 0; d < 2; ++d)
			cf_done_is(s[d][i], 0, "send");
	CF_EQ(cf_get(&t[0]->ct_errors) + cf_get(&t[1]->ct_errors), 0,
	      "no message was without a buffer");
}

const struct cf_case xprt_suite_msg[] = {
	{ "sizes", sizes },
	{ "shapes and offsets", shapes_and_offsets },
	{ "many messages", many },
	{ "ping-pong", ping_pong },
	{ "all directions", all_directions },
	{ "message to nobody", nobody },
	{ "no receive buffer", no_buffer },
	{ "message too large", too_large },
	{ "larger buffer behind a small one", larger_buffer_behind },
	{ "both directions at once", flood },
	{ NULL, NULL }
};
