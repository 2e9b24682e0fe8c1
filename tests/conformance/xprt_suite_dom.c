/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Domains and registration.
 * [r.M0.net.xprt.lnet.buffer-registration] [r.messaging.efficient.buffer-use]
 */
#include "xprt_suite.h"

/* The limits are the row's, and a descriptor has a bound. */
static void limits(void)
{
	struct m0_net_domain *d = cf_dom(0);

	CF_EQ(m0_net_domain_get_max_buffer_size(d), cf.c_row->r_buf_max,
	      "largest buffer");
	CF_EQ(m0_net_domain_get_max_buffer_segment_size(d), cf.c_row->r_seg_max,
	      "largest segment");
	CF_EQ(m0_net_domain_get_max_buffer_segments(d), cf.c_row->r_segs_max,
	      "most segments");
	CF_TRUE(m0_net_domain_get_max_buffer_desc_size(d) > 0,
		"a descriptor has a bound");
	CF_TRUE(m0_is_po2(m0_net_domain_get_buffer_alignment(d)),
		"the alignment is a power of two");
}

/* Several domains of one transport live side by side; fini and init again. */
static void several_and_again(void)
{
	struct m0_net_domain *d = cf_dom(0);

	(void)cf_dom(1);
	(void)cf_dom(2);
	CF_EQ(m0_net_domain_fini(d), 0, "fini of an empty domain");
	CF_TRUE(d->nd_xprt == NULL, "nd_xprt is NULL after fini");
	CF_EQ(m0_net_domain_init(d, cf.c_row->r_xprt), 0, "init again");
	CF_TRUE(d->nd_xprt == cf.c_row->r_xprt, "nd_xprt is the transport");
}

static void refused(uint32_t nr, const m0_bcount_t *len, const char *why)
{
	struct cf_buf *b = cf_buf_raw(nr, len);

	CF_EQ(m0_net_buffer_register(&b->cb_nb, cf_dom(0)), -EFBIG, "%s", why);
	CF_TRUE(b->cb_nb.nb_dom == NULL, "a refused buffer has no domain");
	CF_EQ(b->cb_nb.nb_flags, 0, "a refused buffer has no flags");
	cf_buf_free(b);
}

/* A buffer at a limit registers, a buffer one over it does not. */
static void register_limits(void)
{
	struct m0_net_domain *d = cf_dom(0);
	uint32_t     segs = (uint32_t)m0_net_domain_get_max_buffer_segments(d);
	m0_bcount_t  seg = m0_net_domain_get_max_buffer_segment_size(d);
	m0_bcount_t  size = m0_net_domain_get_max_buffer_size(d);
	m0_bcount_t *len = calloc(segs + 1, sizeof *len);
	uint32_t     i;

	len[0] = seg;
	cf_buf_free(cf_buf_segs(0, 1, len));
	len[0] = seg + 1;
	refused(1, len, "a segment one byte over the limit");
	for (i = 0; i <= segs; ++i)
		len[i] = 1;
	cf_buf_free(cf_buf_segs(0, segs, len));
	refused(segs + 1, len, "one segment too many");
	cf_buf_free(cf_buf(0, size));
	if ((size + 1 + seg - 1) / seg <= segs) {
		for (i = 0; i < segs; ++i)
			len[i] = (size + segs) / segs;
		refused(segs, len, "a buffer over the limit");
	}
	free(len);
}

/* Flags and links of a registered buffer. */
static void register_sets_fields(void)
{
	m0_bcount_t           len = 100;
	struct cf_buf        *b = cf_buf_raw(1, &len);
	struct m0_net_domain *d = cf_dom(0);

	b->cb_nb.nb_timeout = 0;
	CF_EQ(m0_net_buffer_register(&b->cb_nb, d), 0, "register");
	CF_EQ(b->cb_nb.nb_flags, M0_NET_BUF_REGISTERED, "flags");
	CF_TRUE(b->cb_nb.nb_dom == d, "nb_dom");
	CF_TRUE(b->cb_nb.nb_timeout == M0_TIME_NEVER, "nb_timeout is NEVER");
	CF_EQ(m0_list_length(&d->nd_registered_bufs), 1, "in the domain");
	CF_EQ(m0_net_domain_fini(d), -EBUSY, "a registered buffer is left");
	cf_buf_free(b);
	CF_TRUE(m0_list_is_empty(&d->nd_registered_bufs), "gone from it");
}

/* A queued buffer stays registered. */
static void deregister_queued_busy(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b = cf_recv(t, 100);

	CF_EQ(m0_net_buffer_deregister(&b->cb_nb, cf_dom(0)), -EBUSY,
	      "deregister a queued buffer");
	CF_TRUE(b->cb_nb.nb_flags & M0_NET_BUF_REGISTERED, "still registered");
	CF_TRUE(b->cb_nb.nb_flags & M0_NET_BUF_QUEUED, "still queued");
	CF_TRUE(cf_del(b), "del of a queued buffer is true");
	cf_done_is(b, -ECANCELED, "cancelled");
	cf_buf_free(b);
}

/* For held(), which uses no stack of the case. */
static struct {
	struct cf_buf *inner;
	int            entered;
	int            left;
} hold;

/* A callback that deregisters, and one on a thread of the library that does not end before
 * another thread has deregistered. */
static void held(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)b;
	(void)ev;
	cf_buf_free(hold.inner);
	cf_set(&hold.entered, 1);
	while (!cf.c_sim && cf.c_mode == CF_ASYNC && cf_get(&hold.left) == 0)
		cf_yield();
}

static int status_of(const struct cf_buf *b)
{
	return cf_get(&b->cb_done) > 0 ? b->cb_last.ce_status : 0;
}

static bool entered_or_not_sent(void *sent)
{
	return cf_get(&hold.entered) > 0 || status_of(sent) != 0;
}

/* Deregistration waits for nobody: it has the lock of the domain, and who it waited for may be
 * in a callback that wants it. */
static void deregister_waits_for_nobody(void)
{
	enum {
		NR = 4
	};
	struct cf_tm  *from = cf_up(0);
	struct cf_tm  *to = cf_up(1);
	struct cf_buf *recv = cf_recv(to, 100);
	struct cf_buf *bufs[NR];
	struct cf_buf *sent;
	uint64_t       before;
	int            i;

	for (i = 0; i < NR; ++i)
		bufs[i] = cf_buf(1, 10000);
	hold.inner = cf_buf(1, 10000);
	hold.entered = hold.left = 0;
	recv->cb_hook = held;
	sent = cf_send(from, to, 10, 1);
	for (i = 0; i < NR; ++i) {
		if (i == NR / 2) {
			/* The sender may not know before the callback has ended. */
			cf_wait(entered_or_not_sent, sent, "the callback");
			CF_EQ(status_of(sent), 0, "the message is sent");
		}
		before = cf.c_sim ? cf_activity() : 0;
		CF_EQ(m0_net_buffer_deregister(&bufs[i]->cb_nb, cf_dom(1)), 0,
		      "deregister");
		CF_EQ(cf.c_sim ? cf_activity() : 0, before,
		      "nobody has taken a step meanwhile");
		CF_EQ(m0_net_buffer_register(&bufs[i]->cb_nb, cf_dom(1)), 0,
		      "register again");
		cf_buf_free(bufs[i]);
	}
	cf_set(&hold.left, 1);
	cf_wait_buf(recv);
	recv->cb_hook = NULL;
}

/* A machine keeps its domain; after its fini the domain goes. */
static void fini_with_machine_busy(void)
{
	struct cf_tm *t = cf_tm_new(0);

	CF_EQ(m0_net_domain_fini(cf_dom(0)), -EBUSY, "a machine is left");
	CF_EQ(m0_list_length(&cf_dom(0)->nd_tms), 1, "and nothing changed");
	cf_tm_end(t);
	CF_EQ(m0_net_domain_fini(cf_dom(0)), 0, "the machine has gone");
}

/* A pool keeps its domain. */
static void fini_with_pool_busy(void)
{
	struct cf_pool *p = cf_pool(0, 0, 512, 0);

	CF_EQ(m0_net_domain_fini(cf_dom(0)), -EBUSY, "a pool is left");
	CF_EQ(cf_pool_free_nr(p), 0, "an empty pool");
}

/* m0_net_init counts; the last m0_net_fini refuses while a domain lives. */
static void net_init_counts(void)
{
	CF_EQ(m0_net_init(), 0, "second init");
	(void)cf_dom(0);
	CF_EQ(m0_net_fini(), 0, "not the last fini");
	CF_EQ(m0_net_fini(), -EBUSY, "last fini, a domain is initialised");
}

const struct cf_case xprt_suite_dom[] = {
	{ "limits", limits },
	{ "several domains, init again", several_and_again },
	{ "register limits", register_limits },
	{ "register sets fields", register_sets_fields },
	{ "deregister queued is busy", deregister_queued_busy },
	{ "deregister waits for nobody", deregister_waits_for_nobody },
	{ "fini with machine is busy", fini_with_machine_busy },
	{ "fini with pool is busy", fini_with_pool_busy },
	{ "net init counts", net_init_counts },
	{ NULL, NULL }
};
