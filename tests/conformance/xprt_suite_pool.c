/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Provisioning of receive queues. The domain's own strand fills deficits, so
 * what it is to do is waited for. [r.M0.net.network-buffer-pool]
 * [r.M0.net.xprt.auto-provisioned-receive-buffer-pool]
 * [r.M0.net.xprt.support-for-auto-provisioned-receive-queue]
 */
#include "xprt_suite.h"

struct want {
	struct cf_tm *t;
	size_t        len;
	int64_t       deficit;
};

static int64_t deficit(struct cf_tm *t)
{
	return m0_atomic64_get(&t->ct_tm.ntm_recv_queue_deficit);
}

static bool want_is(void *arg)
{
	struct want *w = arg;

	return cf_queue_len(w->t, M0_NET_QT_MSG_RECV) == w->len &&
	       deficit(w->t) == w->deficit;
}

static void provisioned(struct cf_tm *t, size_t len, int64_t lacks)
{
	struct want w = { t, len, lacks };
	char        what[80];

	snprintf(what, sizeof what, "receive queue of %zu, deficit %lld", len,
		 (long long)lacks);
	cf_wait(want_is, &w, what);
}

static struct cf_tm *attached(struct cf_pool *p, uint32_t colour,
			      m0_bcount_t min_size, uint32_t max_msgs,
			      uint32_t len)
{
	struct cf_tm *t = cf_tm_new(p->cp_dom);

	t->ct_stats_off = true;
	m0_net_tm_colour_set(&t->ct_tm, colour);
	CF_EQ(m0_net_tm_pool_attach(&t->ct_tm, &p->cp_pool, &cf_pool_cbs,
				    min_size, max_msgs, len),
	      0, "attach");
	return t;
}

static void start(struct cf_tm *t)
{
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
}

static void provision(struct cf_pool *p, uint32_t nr)
{
	int made;

	m0_net_buffer_pool_lock(&p->cp_pool);
	made = m0_net_buffer_pool_provision(&p->cp_pool, nr);
	m0_net_buffer_pool_unlock(&p->cp_pool);
	CF_EQ(made, nr, "buffers made");
}

static void queue_is_empty(struct cf_tm *t, const struct m0_net_tm_event *ev)
{
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE &&
	    ev->nte_next_state == M0_NET_TM_STARTED)
		CF_EQ(cf_queue_len(t, M0_NET_QT_MSG_RECV), 0,
		      "receive queue inside the STARTED callback");
}

/* Length by length, as pool and two machines fill and lack. */
static void numbers(void)
{
	struct cf_pool *p = cf_pool(0, 8, 512, 5);
	struct cf_tm   *t1 = attached(p, 1, 256, 1, 2);
	struct cf_tm   *t2 = attached(p, 2, 256, 1, 2);
	int             fired;

	t1->ct_hook = queue_is_empty;
	start(t1);
	provisioned(t1, 2, 0);
	CF_EQ(cf_pool_free_nr(p), 6, "free after the start");
	CF_EQ(m0_net_tm_pool_length_set(&t1->ct_tm, 4), 0, "length 4");
	provisioned(t1, 4, 0);
	CF_EQ(cf_pool_free_nr(p), 4, "free");
	CF_EQ(m0_net_tm_pool_length_set(&t1->ct_tm, 10), 0, "length 10");
	provisioned(t1, 8, 2);
	CF_EQ(cf_pool_free_nr(p), 0, "free");
	CF_EQ(cf_stats(t1, M0_NET_QT_MSG_RECV).nqs_num_f_events, 2,
	      "growth of the deficit counts as f_events");
	fired = cf_get(&p->cp_not_empty);
	provision(p, 2);
	CF_TRUE(cf_get(&p->cp_not_empty) > fired, "not_empty fires");
	provisioned(t1, 10, 0);
	start(t2);
	provisioned(t2, 0, 2);
	CF_EQ(m0_net_tm_pool_length_set(&t1->ct_tm, 13), 0, "length 13");
	provisioned(t1, 10, 3);
	provision(p, 6);
	provisioned(t1, 13, 0);
	provisioned(t2, 2, 0);
	cf_pool_wait_free(p, 1);
	CF_EQ(m0_net_tm_pool_length_set(&t2->ct_tm, 15), 0, "length 15");
	provisioned(t2, 3, 12);
	cf_stop_wait(t1, true);
	provisioned(t2, 15, 0);
	cf_pool_wait_free(p, 1);
	CF_EQ(deficit(t1), 0, "deficit of a stopped machine");
	cf_stop_wait(t2, false);
	cf_pool_wait_free(p, 16);
}

/* A message's buffer is replaced before its callback runs. */
static void replaced_before_callback(void)
{
	struct cf_pool *p = cf_pool(0, 8, 512, 0);
	struct cf_tm   *t = attached(p, M0_BUFFER_ANY_COLOUR, 0, 0, 0);
	struct cf_tm   *peer = cf_up(1);
	int             i;

	start(t);
	provisioned(t, 2, 0);
	p->cp_hold = true;
	for (i = 1; i <= 5; ++i) {
		cf_done_is(cf_send(peer, t, 100, 1), 0, "send");
		cf_wait_count(&p->cp_msgs, i, "messages in pool buffers");
		CF_EQ(p->cp_queue_seen, 2, "length seen in the callback");
	}
	CF_EQ(cf_get(&p->cp_held_nr), 5, "each took a buffer");
	CF_EQ(cf_pool_free_nr(p), 1, "free");
}

/* All buffers are out: no buffer; when some come back it goes on. */
static void exhaustion_and_recovery(void)
{
	struct cf_pool *p = cf_pool(0, 3, 512, 0);
	struct cf_tm   *t = attached(p, M0_BUFFER_ANY_COLOUR, 0, 0, 2);
	struct cf_tm   *peer = cf_up(1);
	int             i;

	start(t);
	p->cp_hold = true;
	for (i = 1; i <= 3; ++i) {
		cf_done_is(cf_send(peer, t, 10, 1), 0, "send");
		cf_wait_count(&p->cp_msgs, i, "messages");
	}
	provisioned(t, 0, 2);
	cf_done_is(cf_send(peer, t, 10, 1),
		   cf.c_row->r_nobuf == CF_BOTH ? -ENOBUFS : 0,
		   "send when the pool is exhausted");
	cf_wait_count(&t->ct_errors, 1, "ERROR event");
	CF_TRUE(cf_get(&p->cp_below) > 0, "below_threshold was called");
	p->cp_hold = false;
	cf_pool_release(p);
	provisioned(t, 2, 0);
	cf_done_is(cf_send(peer, t, 10, 1), 0, "send after recovery");
	cf_wait_count(&p->cp_msgs, 4, "messages");
}

/* A burst that is larger than the queue finds buffers in the pool. */
static void burst(void)
{
	enum {
		NR = 60
	};
	struct cf_pool *p = cf_pool(0, 80, 512, 0);
	struct cf_tm   *t = attached(p, M0_BUFFER_ANY_COLOUR, 0, 0, 2);
	struct cf_tm   *peer = cf_up(1);
	struct cf_buf  *s[NR];
	int             i;

	start(t);
	provisioned(t, 2, 0);
	for (i = 0; i < NR; ++i)
		s[i] = cf_send(peer, t, 50, 1);
	for (i = 0; i < NR; ++i)
		cf_done_is(s[i], 0, "send in a burst");
	cf_wait_count(&p->cp_msgs, NR, "messages");
	CF_EQ(cf_get(&t->ct_errors), 0, "none was without a buffer");
}

/* Several messages in one pool buffer, by the limits given at attach. */
static void multi_messages(void)
{
	struct cf_pool *p = cf_pool(0, 4, 1024, 0);
	struct cf_tm   *t = attached(p, M0_BUFFER_ANY_COLOUR, 300, 3, 1);
	struct cf_tm   *peer = cf_up(1);
	int             i;

	start(t);
	provisioned(t, 1, 0);
	p->cp_hold = true;
	for (i = 1; i <= 9; ++i) {
		cf_done_is(cf_send(peer, t, 100, 1), 0, "send");
		cf_wait_count(&p->cp_msgs, i, "messages");
	}
	CF_EQ(cf_get(&p->cp_held_nr), 3, "three messages a buffer");
}

/* A pool of another domain is refused, and nothing is attached. */
static void other_domain(void)
{
	struct cf_pool *p = cf_pool(1, 2, 512, 0);
	struct cf_tm   *t = cf_tm_new(0);

	CF_EQ(m0_net_tm_pool_attach(&t->ct_tm, &p->cp_pool, &cf_pool_cbs, 0, 0,
				    0),
	      -EINVAL, "pool of another domain");
	CF_TRUE(t->ct_tm.ntm_recv_pool == NULL, "nothing is attached");
	start(t);
	cf_run_ms(3);
	CF_EQ(cf_queue_len(t, M0_NET_QT_MSG_RECV), 0, "nothing provisioned");
}

/* A machine that the application has helped itself keeps none from another. */
static void helped_machine(void)
{
	struct cf_pool *p = cf_pool(0, 2, 512, 0);
	struct cf_tm   *t1 = attached(p, M0_BUFFER_ANY_COLOUR, 0, 0, 3);
	struct cf_tm   *t2 = attached(p, M0_BUFFER_ANY_COLOUR, 0, 0, 2);

	start(t1);
	provisioned(t1, 2, 1);
	start(t2);
	provisioned(t2, 0, 2);
	cf_recv(t1, 512);
	provision(p, 2);
	provisioned(t2, 2, 0);
	provisioned(t1, 3, 0);
}

/* Any length from 1 on; a shorter one drains by use. */
static void length_set(void)
{
	struct cf_pool *p = cf_pool(0, 8, 512, 0);
	struct cf_tm   *t = attached(p, M0_BUFFER_ANY_COLOUR, 0, 0, 5);
	struct cf_tm   *peer = cf_up(1);
	int             i;

	CF_EQ(t->ct_tm.ntm_recv_queue_min_length, 5, "as attached");
	CF_EQ(m0_net_tm_pool_length_set(&t->ct_tm, 0), -EINVAL, "length 0");
	start(t);
	provisioned(t, 5, 0);
	CF_EQ(m0_net_tm_pool_length_set(&t->ct_tm, 1), 0, "length 1");
	CF_EQ(cf_queue_len(t, M0_NET_QT_MSG_RECV), 5, "none is taken off");
	for (i = 1; i <= 6; ++i) {
		cf_done_is(cf_send(peer, t, 10, 1), 0, "send");
		cf_wait_count(&p->cp_msgs, i, "messages");
		provisioned(t, i < 4 ? (size_t)(5 - i) : 1, 0);
	}
}

static struct m0_net_buffer *got[3];
static struct m0_net_buffer *tail_seen;
static int                   got_nr;

static void coloured_msg(const struct m0_net_buffer_event *ev)
{
	struct m0_net_transfer_mc *tm = ev->nbe_buffer->nb_tm;

	cf_cb_enter(tm, true);
	if (ev->nbe_status == 0 && got_nr < 3) {
		m0_mutex_lock(&tm->ntm_mutex);
		tail_seen =
			m0_net_tm_tlist_tail(&tm->ntm_q[M0_NET_QT_MSG_RECV]);
		m0_mutex_unlock(&tm->ntm_mutex);
		got[got_nr] = ev->nbe_buffer;
	}
	m0_net_buffer_pool_lock(ev->nbe_buffer->nb_pool);
	m0_net_buffer_pool_put(ev->nbe_buffer->nb_pool, ev->nbe_buffer,
			       m0_net_tm_colour_get(tm));
	m0_net_buffer_pool_unlock(ev->nbe_buffer->nb_pool);
	if (ev->nbe_status == 0)
		cf_inc(&got_nr);
	cf_wake();
}

static const struct m0_net_buffer_callbacks coloured_cbs = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = coloured_msg }
};

/* A buffer put back with the machine's colour is the next it gets. */
static void colour_comes_back(void)
{
	struct cf_pool *p = cf_pool(0, 8, 512, 5);
	struct cf_tm   *t = cf_tm_new(0);
	struct cf_tm   *peer = cf_up(1);

	got_nr = 0;
	t->ct_stats_off = true;
	m0_net_tm_colour_set(&t->ct_tm, 3);
	CF_EQ(m0_net_tm_colour_get(&t->ct_tm), 3, "colour");
	CF_EQ(m0_net_tm_pool_attach(&t->ct_tm, &p->cp_pool, &coloured_cbs, 0, 0,
				    2),
	      0, "attach");
	start(t);
	provisioned(t, 2, 0);
	cf_done_is(cf_send(peer, t, 10, 1), 0, "send");
	cf_wait_count(&got_nr, 1, "first message");
	cf_pool_wait_free(p, 6);
	CF_EQ(got[0]->nb_colour, 3, "colour of the buffer put back");
	cf_done_is(cf_send(peer, t, 10, 1), 0, "send");
	cf_wait_count(&got_nr, 2, "second message");
	CF_TRUE(tail_seen == got[0],
		"the buffer put back first is at the queue's tail");
}

static int lazy_nr;

static void lazy_msg(const struct m0_net_buffer_event *ev)
{
	cf_cb_enter(ev->nbe_buffer->nb_tm, true);
	CF_EQ(ev->nbe_status, -ECANCELED, "status at the stop");
	cf_inc(&lazy_nr);
}

static const struct m0_net_buffer_callbacks lazy_cbs = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = lazy_msg }
};

static void all_back(struct cf_tm *t, const struct m0_net_tm_event *ev)
{
	struct cf_pool *p = t->ct_arg;

	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE &&
	    ev->nte_next_state == M0_NET_TM_STOPPED)
		CF_EQ(cf_pool_free_nr(p), 6,
		      "all are back when STOPPED is delivered");
}

/* The callback forgets to put back: the layer does, before STOPPED. */
static void returned_at_stop(void)
{
	struct cf_pool *p = cf_pool(0, 6, 512, 0);
	struct cf_tm   *t = cf_tm_new(0);

	lazy_nr = 0;
	t->ct_stats_off = true;
	t->ct_arg = p;
	t->ct_hook = all_back;
	CF_EQ(m0_net_tm_pool_attach(&t->ct_tm, &p->cp_pool, &lazy_cbs, 0, 0, 4),
	      0, "attach");
	start(t);
	provisioned(t, 4, 0);
	cf_stop_wait(t, cf_rand(2));
	CF_EQ(lazy_nr, 4, "callbacks");
	CF_EQ(cf_pool_free_nr(p), 6, "free");
}

/* Two machines, one pool, all of it moving. */
static void shared_under_load(void)
{
	struct cf_pool *p = cf_pool(0, 20, 512, 2);
	struct cf_tm   *t[2] = { attached(p, 0, 100, 4, 3),
				 attached(p, 1, 100, 4, 3) };
	struct cf_tm   *peer = cf_up(1);
	struct cf_buf  *s[80];
	int             i, sent = 0;

	start(t[0]);
	start(t[1]);
	for (i = 0; i < 80; ++i) {
		s[i] = cf_send(peer, t[i % 2], 1 + cf_rand(200), 1);
		if (i % 5 == 4)
			cf_wait_buf(s[i]);
	}
	for (i = 0; i < 80; ++i) {
		cf_wait_buf(s[i]);
		sent += s[i]->cb_last.ce_status == 0;
	}
	if (cf.c_row->r_nobuf == CF_BOTH)
		cf_wait_count(&p->cp_msgs, sent, "messages that were sent");
	cf_stop_wait(t[0], true);
	cf_stop_wait(t[1], false);
	cf_pool_wait_free(p, 20);
}

const struct cf_case xprt_suite_pool[] = {
	{ "numbers", numbers },
	{ "replaced before the callback", replaced_before_callback },
	{ "exhaustion and recovery", exhaustion_and_recovery },
	{ "burst", burst },
	{ "several messages a buffer", multi_messages },
	{ "pool of another domain", other_domain },
	{ "length_set", length_set },
	{ "machine helped by the application", helped_machine },
	{ "colour comes back", colour_comes_back },
	{ "returned at stop", returned_at_stop },
	{ "shared under load", shared_under_load },
	{ NULL, NULL }
};
