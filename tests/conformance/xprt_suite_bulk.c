/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bulk in all directions. [r.M0.net.rdma] [r.rpccore.efficient.bulk]
 */
#include "xprt_suite.h"

/* Passive receive is filled by an active send, passive send is read. */
static enum m0_net_queue_type passive_of(bool put)
{
	return put ? M0_NET_QT_PASSIVE_BULK_RECV : M0_NET_QT_PASSIVE_BULK_SEND;
}

static enum m0_net_queue_type active_of(bool put)
{
	return put ? M0_NET_QT_ACTIVE_BULK_SEND : M0_NET_QT_ACTIVE_BULK_RECV;
}

/* `nr` bytes at offset `off` of the sender, `spare` bytes more at the other. */
static void move(struct cf_tm *active, struct cf_tm *passive, bool put,
		 m0_bcount_t nr, m0_bindex_t off, m0_bcount_t spare)
{
	struct cf_tm  *from = put ? active : passive;
	struct cf_tm  *to = put ? passive : active;
	struct cf_buf *s = cf_buf_random(from->ct_dom, nr + off);
	struct cf_buf *r = cf_buf_random(to->ct_dom, nr + spare);
	struct cf_buf *p = put ? r : s;
	struct cf_buf *a = put ? s : r;

	cf_fill(s, off, nr, nr);
	s->cb_nb.nb_length = nr;
	s->cb_nb.nb_offset = off;
	cf_add_ok(p, passive, passive_of(put));
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &a->cb_nb.nb_desc), 0,
	      "copy");
	cf_add_ok(a, active, active_of(put));
	cf_done_is(a, 0, "active side");
	cf_done_is(p, 0, "passive side");
	CF_EQ(r->cb_last.ce_length, nr, "nbe_length at the receiving side");
	CF_EQ(r->cb_last.ce_offset, 0, "nbe_offset");
	cf_check(r, 0, nr, nr);
	cf_check_blank(r, nr, spare);
	cf_check(s, off, nr, nr);
	cf_buf_free(s);
	cf_buf_free(r);
}

static void sizes(bool put)
{
	static const m0_bcount_t at[] = {
		1, 3, 100, 4095, 4096, 4097, 65536, 1000003, 1 << 20, 3 << 20,
	};
	struct cf_tm *a = cf_up(0);
	struct cf_tm *p = cf_up(1);
	unsigned      i;

	for (i = 0; i < ARRAY_SIZE(at); ++i)
		move(a, p, put, at[i], 0, i % 2 ? 77 : 0);
	move(a, p, put, m0_net_domain_get_max_buffer_size(cf_dom(0)), 0, 0);
}

static void put_sizes(void)
{
	sizes(true);
}

static void get_sizes(void)
{
	sizes(false);
}

static void shapes(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *p = cf_up(1);
	int           i;

	for (i = 0; i < 60; ++i)
		move(i % 3 ? a : p, i % 3 ? p : a, i & 1,
		     1 + cf_rand(i % 4 == 0 ? 90000 : 500), cf_rand(300),
		     cf_rand(100));
}

/* Many at once, both directions, between several machines. */
static void many_at_once(void)
{
	enum {
		NR = 48
	};
	struct cf_tm  *t[4] = { cf_up(0), cf_up(1), cf_up(0), cf_up(1) };
	struct cf_buf *p[NR], *a[NR];
	m0_bcount_t    nr[NR];
	unsigned       i;

	for (i = 0; i < NR; ++i) {
		nr[i] = 1 + cf_rand(20000);
		p[i] = cf_passive(t[i % 4], passive_of(i & 4), nr[i], NULL);
	}
	for (i = 0; i < NR; ++i)
		a[i] = cf_active(t[(i + 1) % 4], active_of(i & 4), nr[i],
				 &p[i]->cb_nb.nb_desc);
	for (i = 0; i < NR; ++i) {
		cf_done_is(a[i], 0, "active");
		cf_done_is(p[i], 0, "passive");
		cf_check(i & 4 ? p[i] : a[i], 0, nr[i], nr[i]);
	}
}

/* nb_ep names who may: that one can. */
static void initiator_permitted(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *p = cf_passive(b, M0_NET_QT_PASSIVE_BULK_SEND, 100, a);
	struct cf_buf *g = cf_active(a, M0_NET_QT_ACTIVE_BULK_RECV, 100,
				     &p->cb_nb.nb_desc);

	cf_done_is(g, 0, "the permitted initiator");
	cf_done_is(p, 0, "passive");
	cf_check(g, 0, 100, 100);
}

static void add_or_event(struct cf_tm *t, bool put, m0_bcount_t size,
			 const struct m0_net_buf_desc *desc, int want,
			 const char *why)
{
	struct cf_buf *b = cf_buf(t->ct_dom, size);

	b->cb_nb.nb_length = put ? size : 0;
	CF_EQ(m0_net_desc_copy(desc, &b->cb_nb.nb_desc), 0, "copy");
	if (cf.c_row->r_desc_at_add) {
		CF_EQ(cf_add(b, t, active_of(put)), want, "%s", why);
	} else {
		cf_add_ok(b, t, active_of(put));
		cf_done_is(b, want, why);
	}
	cf_buf_free(b);
}

static void unharmed(struct cf_tm *t, struct cf_tm *may, struct cf_buf *p,
		     bool put)
{
	struct cf_buf *a;

	CF_EQ(cf_get(&p->cb_events), 0, "the passive buffer sees nothing");
	CF_TRUE(p->cb_nb.nb_flags & M0_NET_BUF_QUEUED, "it stays queued");
	CF_EQ(t->ct_errors, 0, "and its machine has no ERROR event");
	a = cf_active(may, active_of(put), p->cb_size, &p->cb_nb.nb_desc);
	cf_done_is(a, 0, "and it still works");
	cf_done_is(p, 0, "passive");
}

/* Others cannot, and the passive side sees nothing of it. */
static void initiator_refused(void)
{
	struct cf_tm *may = cf_up(0);
	struct cf_tm *other = cf_up(0);
	struct cf_tm *t = cf_up(1);
	int           put;

	for (put = 0; put < 2; ++put) {
		struct cf_buf *p = cf_passive(t, passive_of(put), 100, may);

		add_or_event(other, put, 100, &p->cb_nb.nb_desc, -EACCES,
			     "not the permitted initiator");
		unharmed(t, may, p, put);
	}
}

/* Active receive needs passive send, active send passive receive. */
static void direction_mismatch(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *t = cf_up(1);
	int           put;

	for (put = 0; put < 2; ++put) {
		struct cf_buf *p = cf_passive(t, passive_of(put), 100, NULL);

		add_or_event(a, !put, 100, &p->cb_nb.nb_desc, -EPERM,
			     "wrong direction");
		unharmed(t, a, p, put);
	}
}

/* Too small for its active side, which knows; the passive one may learn. */
static void passive_too_small(struct cf_buf *p)
{
	if (cf.c_row->r_efbig_alone) {
		CF_EQ(cf_get(&p->cb_events), 0,
		      "the passive side hears nothing");
		CF_TRUE(cf_del(p), "it is queued");
		cf_done_is(p, -ECANCELED, "passive side");
	} else {
		cf_done_is(p, -EFBIG, "passive side");
	}
}

/* The receiving buffer is too small: both sides learn. */
static void too_small(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *t = cf_up(1);
	int           put;

	for (put = 0; put < 2; ++put) {
		struct cf_buf *p =
			cf_passive(t, passive_of(put), put ? 99 : 100, NULL);
		struct cf_buf *b = cf_active(a, active_of(put), put ? 100 : 99,
					     &p->cb_nb.nb_desc);

		cf_done_is(b, -EFBIG, "active side");
		passive_too_small(p);
		cf_check_blank(put ? p : b, 0, 99);
	}
}

/* Begun together, some fail and some move: each pair learns its own end. */
static void many_mixed(void)
{
	enum {
		NR = 24
	};
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *t = cf_up(1);
	struct cf_buf *p[NR], *b[NR];
	unsigned       i;

	for (i = 0; i < NR; ++i)
		p[i] = cf_passive(t, passive_of(i & 1),
				  i % 3 == 1 && i & 1 ? 99 : 100 + i, NULL);
	for (i = 0; i < NR; ++i)
		b[i] = cf_active(a, active_of(i & 1),
				 i % 3 == 1 && !(i & 1) ? 99 : 100 + i,
				 &p[i]->cb_nb.nb_desc);
	for (i = 0; i < NR; ++i) {
		cf_done_is(b[i], i % 3 == 1 ? -EFBIG : 0, "active side");
		if (i % 3 == 1)
			passive_too_small(p[i]);
		else
			cf_done_is(p[i], 0, "passive side");
		if (i % 3 == 1)
			cf_check_blank(i & 1 ? p[i] : b[i], 0, 99);
		else
			cf_check(i & 1 ? p[i] : b[i], 0, 100 + i, 100 + i);
	}
}

/* Several machines of one address space: data goes to the right one. */
static void restricted_many(void)
{
	struct cf_tm  *t[4] = { cf_up(0), cf_up(1), cf_up(0), cf_up(1) };
	struct cf_buf *p[12], *a[12];
	unsigned       i;

	for (i = 0; i < 12; ++i)
		p[i] = cf_passive(t[i % 4], M0_NET_QT_PASSIVE_BULK_SEND,
				  100 + i, t[(i + 1) % 4]);
	for (i = 0; i < 12; ++i)
		a[i] = cf_active(t[(i + 1) % 4], M0_NET_QT_ACTIVE_BULK_RECV,
				 100 + i, &p[i]->cb_nb.nb_desc);
	for (i = 0; i < 12; ++i) {
		cf_done_is(a[i], 0, "active");
		cf_done_is(p[i], 0, "passive");
		cf_check(a[i], 0, 100 + i, 100 + i);
	}
}

/* Buffers are used over and over: a transport may begin with either end. */
static void used_again(void)
{
	enum {
		NR = 11,
		ROUNDS = 5,
		SIZE = 5000
	};
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *t = cf_up(1);
	struct cf_buf *p[NR], *b[NR];
	unsigned       i, r;

	for (i = 0; i < NR; ++i) {
		p[i] = cf_buf(t->ct_dom, SIZE);
		b[i] = cf_buf(a->ct_dom, SIZE);
		b[i]->cb_nb.nb_length = SIZE;
	}
	for (r = 0; r < ROUNDS; ++r) {
		for (i = 0; i < NR; ++i) {
			cf_fill(b[i], 0, SIZE, r * NR + i);
			cf_add_ok(p[i], t, M0_NET_QT_PASSIVE_BULK_RECV);
			CF_EQ(m0_net_desc_copy(&p[i]->cb_nb.nb_desc,
					       &b[i]->cb_nb.nb_desc),
			      0, "copy");
			cf_add_ok(b[i], a, M0_NET_QT_ACTIVE_BULK_SEND);
		}
		for (i = 0; i < NR; ++i) {
			cf_done_is(b[i], 0, "active");
			cf_done_is(p[i], 0, "passive");
			CF_EQ(p[i]->cb_last.ce_length, SIZE, "length");
			cf_check(p[i], 0, SIZE, r * NR + i);
			m0_net_desc_free(&p[i]->cb_nb.nb_desc);
			m0_net_desc_free(&b[i]->cb_nb.nb_desc);
		}
	}
}

static void one_descriptor(bool put)
{
	enum {
		SIZE = 300000,
		ROUNDS = 4
	};
	struct cf_tm          *a = cf_up(0);
	struct cf_tm          *t = cf_up(1);
	struct cf_buf         *p = cf_passive(t, passive_of(put), SIZE, NULL);
	struct m0_net_buf_desc desc;
	struct cf_buf         *b;
	unsigned               r;

	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &desc), 0, "copy");
	p->cb_again = true;
	for (r = 0; r < ROUNDS; ++r) {
		b = cf_active(a, active_of(put), SIZE, &desc);
		cf_done_is(b, 0, "active");
		cf_done_is(p, 0, "passive");
		cf_check(put ? p : b, 0, SIZE, SIZE);
		m0_net_desc_free(&p->cb_nb.nb_desc);
		cf_add_ok(p, t, passive_of(put));
		CF_TRUE(p->cb_nb.nb_desc.nbd_len == desc.nbd_len &&
				memcmp(p->cb_nb.nb_desc.nbd_data, desc.nbd_data,
				       desc.nbd_len) == 0,
			"the descriptor is the same");
	}
	m0_net_desc_free(&desc);
}

/* A passive buffer that is added again keeps the descriptor that peers have. */
static void added_again(void)
{
	one_descriptor(true);
	one_descriptor(false);
}

const struct cf_case xprt_suite_bulk[] = {
	{ "put, all sizes", put_sizes },
	{ "get, all sizes", get_sizes },
	{ "shapes and offsets", shapes },
	{ "many at once", many_at_once },
	{ "permitted initiator", initiator_permitted },
	{ "other initiator is refused", initiator_refused },
	{ "direction mismatch", direction_mismatch },
	{ "receiving buffer too small", too_small },
	{ "some too small among many", many_mixed },
	{ "several initiators", restricted_many },
	{ "the same buffers again", used_again },
	{ "added again under its descriptor", added_again },
	{ NULL, NULL }
};
