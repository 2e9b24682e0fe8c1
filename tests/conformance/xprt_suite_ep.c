/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* End points: found, counted, released. */
#include "xprt_suite.h"

static int64_t refs(const struct m0_net_end_point *ep)
{
	return m0_ref_read(&ep->nep_ref);
}

static size_t eps_nr(struct cf_tm *t)
{
	size_t nr;

	m0_mutex_lock(&t->ct_tm.ntm_mutex);
	nr = m0_nep_tlist_length(&t->ct_tm.ntm_end_points);
	m0_mutex_unlock(&t->ct_tm.ntm_mutex);
	return nr;
}

static void create_get_put(void)
{
	struct cf_tm            *t = cf_up(0);
	char                     addr[CF_ADDR_MAX];
	struct m0_net_end_point *ep, *again;

	cf.c_row->r_addr(addr, 99);
	CF_EQ(m0_net_end_point_create(&ep, &t->ct_tm, addr), 0, "create");
	CF_EQ(refs(ep), 1, "references of a new end point");
	CF_TRUE(ep->nep_tm == &t->ct_tm, "nep_tm");
	CF_TRUE(strcmp(ep->nep_addr, addr) == 0, "address is %s, expected %s",
		ep->nep_addr, addr);
	CF_EQ(eps_nr(t), 2, "own and new");
	CF_EQ(m0_net_end_point_create(&again, &t->ct_tm, addr), 0, "again");
	CF_TRUE(again == ep, "the same end point");
	CF_EQ(refs(ep), 2, "one reference more");
	CF_EQ(m0_net_end_point_get(ep), 0, "get");
	CF_EQ(refs(ep), 3, "one reference more");
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
	CF_EQ(refs(ep), 1, "the first reference");
	CF_EQ(m0_net_end_point_put(ep), 0, "the last put");
	CF_EQ(eps_nr(t), 1, "released");
}

/* Two spellings of one address are one end point. */
static void canonical(void)
{
	struct cf_tm            *t = cf_up(0);
	char                     a[CF_ADDR_MAX], b[CF_ADDR_MAX];
	struct m0_net_end_point *e1, *e2, *e3;

	cf.c_row->r_addr(a, 90);
	cf.c_row->r_spelling(b, 90);
	CF_EQ(m0_net_end_point_create(&e1, &t->ct_tm, b), 0, "%s", b);
	CF_EQ(m0_net_end_point_create(&e2, &t->ct_tm, a), 0, "%s", a);
	CF_TRUE(e1 == e2, "%s and %s are one end point", a, b);
	CF_TRUE(strcmp(e1->nep_addr, a) == 0, "its text is %s, expected %s",
		e1->nep_addr, a);
	cf.c_row->r_addr(a, 91);
	CF_EQ(m0_net_end_point_create(&e3, &t->ct_tm, a), 0, "%s", a);
	CF_TRUE(e3 != e1, "another address is another end point");
	m0_net_end_point_put(e1);
	m0_net_end_point_put(e2);
	m0_net_end_point_put(e3);
}

static void own_address(void)
{
	struct cf_tm            *t = cf_up(0);
	struct m0_net_end_point *ep;

	CF_EQ(m0_net_end_point_create(&ep, &t->ct_tm, t->ct_addr), 0, "own");
	CF_TRUE(ep == t->ct_tm.ntm_ep, "own address gives ntm_ep");
	CF_EQ(refs(ep), 2, "with count 2");
	m0_net_end_point_put(ep);
	CF_EQ(refs(t->ct_tm.ntm_ep), 1, "and back to 1");
}

static void bad_addresses(void)
{
	struct cf_tm            *t = cf_up(0);
	const char *const       *bad;
	struct m0_net_end_point *ep = t->ct_tm.ntm_ep;

	for (bad = cf.c_row->r_bad; *bad != NULL; ++bad) {
		ep = t->ct_tm.ntm_ep;
		CF_EQ(m0_net_end_point_create(&ep, &t->ct_tm, *bad), -EINVAL,
		      "end point of \"%s\"", *bad);
		CF_TRUE(ep == NULL, "NULL on failure");
	}
	ep = t->ct_tm.ntm_ep;
	CF_EQ(m0_net_end_point_create(&ep, &t->ct_tm, NULL), -ENOSYS,
	      "end point of NULL");
	CF_TRUE(ep == NULL, "NULL on failure");
	CF_EQ(eps_nr(t), 1, "nothing was made");
}

/* The address is copied: the caller's text may change. */
static void text_is_copied(void)
{
	struct cf_tm            *t = cf_up(0);
	char                     a[CF_ADDR_MAX], keep[CF_ADDR_MAX];
	struct m0_net_end_point *ep;

	cf.c_row->r_addr(a, 80);
	snprintf(keep, sizeof keep, "%s", a);
	CF_EQ(m0_net_end_point_create(&ep, &t->ct_tm, a), 0, "create");
	memset(a, 'x', 6);
	CF_TRUE(strcmp(ep->nep_addr, keep) == 0, "the text is %s, expected %s",
		ep->nep_addr, keep);
	m0_net_end_point_put(ep);
}

static int64_t seen_refs;

static void look_at_refs(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)ev;
	__atomic_store_n(&seen_refs, refs(b->cb_nb.nb_ep), __ATOMIC_RELAXED);
}

static bool ref_is_one(void *arg)
{
	return refs(arg) == 1;
}

/* A send holds a reference from its add until its callback has returned. */
static void send_holds_reference(void)
{
	struct cf_tm            *a = cf_up(0);
	struct cf_tm            *b = cf_up(1);
	struct cf_buf           *s = cf_msg(a, b, 50, 1);
	struct m0_net_end_point *ep = s->cb_nb.nb_ep;

	cf_recv(b, 100);
	s->cb_hook = look_at_refs;
	CF_EQ(refs(ep), 1, "before the add");
	cf_add_ok(s, a, M0_NET_QT_MSG_SEND);
	cf_done_is(s, 0, "send");
	cf_wait(ref_is_one, ep, "the reference is dropped after the callback");
	CF_EQ(__atomic_load_n(&seen_refs, __ATOMIC_RELAXED), 2,
	      "references seen in the callback");
	m0_net_end_point_put(ep);
}

/* A passive buffer holds its permitted initiator. */
static void passive_holds_reference(void)
{
	struct cf_tm            *a = cf_up(0);
	struct cf_tm            *b = cf_up(1);
	struct m0_net_end_point *ep = cf_ep(a, b);
	struct cf_buf *p = cf_passive(a, M0_NET_QT_PASSIVE_BULK_SEND, 50, b);

	CF_EQ(refs(ep), 2, "ours and the passive buffer's");
	CF_TRUE(cf_del(p), "queued");
	cf_done_is(p, -ECANCELED, "cancelled");
	cf_wait(ref_is_one, ep, "the reference is dropped after the callback");
	m0_net_end_point_put(ep);
}

static struct m0_net_end_point *kept;

static void keep_ep(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)b;
	CF_EQ(m0_net_end_point_get(ev->nbe_ep), 0, "get in a callback");
	__atomic_store_n(&kept, ev->nbe_ep, __ATOMIC_RELEASE);
}

static bool kept_is_set(void *arg)
{
	(void)arg;
	return __atomic_load_n(&kept, __ATOMIC_ACQUIRE) != NULL;
}

/* nbe_ep is the layer's; who takes a reference may answer later. */
static void receive_keeps_sender(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = cf_recv(b, 100);
	struct cf_buf *answer = cf_buf(1, 30);
	struct cf_buf *back = cf_recv(a, 100);

	__atomic_store_n(&kept, NULL, __ATOMIC_RELAXED);
	r->cb_hook = keep_ep;
	cf_send(a, b, 50, 1);
	cf_wait(kept_is_set, NULL, "a message");
	cf_wait(ref_is_one, kept, "only the reference taken is left");
	CF_TRUE(strcmp(kept->nep_addr, a->ct_addr) == 0, "the sender");
	cf_fill(answer, 0, 30, 4);
	answer->cb_nb.nb_length = 30;
	answer->cb_nb.nb_ep = kept;
	cf_add_ok(answer, b, M0_NET_QT_MSG_SEND);
	m0_net_end_point_put(kept);
	cf_done_is(answer, 0, "answer to a kept end point");
	cf_done_is(back, 0, "answer arrives");
	cf_check(back, 0, 30, 4);
}

/* Releases race arrivals of the same sender: nobody sees a dead one. */
static void release_races_receive(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r[8], *s[64];
	unsigned       i;

	for (i = 0; i < 64; ++i) {
		struct m0_net_end_point *ep;

		if (i % 8 == 0) {
			unsigned k;

			for (k = 0; k < 8; ++k)
				r[k] = cf_recv(b, 64);
		}
		s[i] = cf_send(a, b, 16, i);
		ep = cf_ep(b, a);
		cf_yield();
		m0_net_end_point_put(ep);
		if (i % 8 == 7) {
			unsigned k;

			for (k = 0; k < 8; ++k)
				cf_done_is(r[k], 0, "message");
		}
	}
	for (i = 0; i < 64; ++i)
		cf_done_is(s[i], 0, "send");
}

/* Many end points: each is found again, none is left. */
static void many(void)
{
	struct cf_tm            *t = cf_up(0);
	struct m0_net_end_point *ep[300], *again;
	char                     addr[CF_ADDR_MAX];
	unsigned                 i;

	for (i = 0; i < 300; ++i) {
		cf.c_row->r_addr(addr, 1000 + i);
		CF_EQ(m0_net_end_point_create(&ep[i], &t->ct_tm, addr), 0, "%s",
		      addr);
	}
	for (i = 0; i < 300; ++i) {
		cf.c_row->r_addr(addr, 1000 + i);
		CF_EQ(m0_net_end_point_create(&again, &t->ct_tm, addr), 0, "%s",
		      addr);
		CF_TRUE(again == ep[i], "%s is found", addr);
		m0_net_end_point_put(again);
	}
	CF_EQ(eps_nr(t), 301, "end points");
	for (i = 0; i < 300; ++i)
		m0_net_end_point_put(ep[i]);
	CF_EQ(eps_nr(t), 1, "all released");
}

const struct cf_case xprt_suite_ep[] = {
	{ "create, get, put", create_get_put },
	{ "canonical equality", canonical },
	{ "own address is ntm_ep", own_address },
	{ "bad addresses and NULL", bad_addresses },
	{ "the text is copied", text_is_copied },
	{ "send holds a reference", send_holds_reference },
	{ "passive holds a reference", passive_holds_reference },
	{ "receiver keeps the sender", receive_keeps_sender },
	{ "release races receive", release_races_receive },
	{ "many end points", many },
	{ NULL, NULL }
};
