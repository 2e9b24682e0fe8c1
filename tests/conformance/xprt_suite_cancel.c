/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cancel, its races with completion, and what a callback may do.
 */
#include "xprt_suite.h"

/* The three queues where a buffer waits: always -ECANCELED. */
static void waiting_queues(void)
{
	static const enum m0_net_queue_type qt[] = {
		M0_NET_QT_MSG_RECV, M0_NET_QT_PASSIVE_BULK_RECV,
		M0_NET_QT_PASSIVE_BULK_SEND
	};
	struct cf_tm        *t = cf_up(0);
	struct m0_net_qstats qs;
	unsigned             i;

	for (i = 0; i < 3; ++i) {
		struct cf_buf *b = cf_buf(0, 64);

		b->cb_nb.nb_length = 64;
		cf_add_ok(b, t, qt[i]);
		CF_TRUE(cf_del(b), "del of a queued buffer is true");
		cf_done_is(b, -ECANCELED, "cancelled");
		CF_EQ(b->cb_events, 1, "events");
		qs = cf_stats(t, qt[i]);
		CF_EQ(qs.nqs_num_dels, 1, "dels");
		CF_EQ(qs.nqs_num_f_events, 1, "f_events");
		CF_TRUE(!cf_del(b), "del after the event is false");
		CF_EQ(cf_stats(t, qt[i]).nqs_num_dels, 1, "and not counted");
	}
}

/* Not queued, never queued: false and nothing happens. */
static void not_queued(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b = cf_buf(0, 64);

	CF_TRUE(!m0_net_buffer_del(&b->cb_nb, &t->ct_tm), "never added");
	cf_run_ms(2);
	CF_EQ(b->cb_events, 0, "no event");
}

/* Twice: one event. */
static void twice(void)
{
	struct cf_tm *t = cf_up(0);
	int           i;

	for (i = 0; i < 10; ++i) {
		struct cf_buf *b = cf_recv(t, 64);

		CF_TRUE(cf_del(b), "first del");
		(void)cf_del(b);
		cf_done_is(b, -ECANCELED, "cancelled");
	}
	cf_run_ms(2);
}

static void outcome_is_0_or_cancelled(struct cf_buf *b)
{
	cf_wait_buf(b);
	CF_TRUE(b->cb_last.ce_status == 0 || b->cb_last.ce_status == -ECANCELED,
		"%s, expected success or ECANCELED",
		m0_errname(b->cb_last.ce_status));
	CF_EQ(b->cb_events, 1, "exactly one event");
}

static void received(struct cf_buf *r)
{
	outcome_is_0_or_cancelled(r);
	if (r->cb_last.ce_status == 0)
		cf_check(r, 0, r->cb_last.ce_length, r->cb_last.ce_length);
}

/*
 * A message is on its way; sender or receiver, or both, cancel. Where sending
 * ends with the departure a message may arrive in a later round.
 */
static void races_message(void)
{
	enum {
		LARGE = 60000
	};
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	int           i;

	for (i = 0; i < 60; ++i) {
		m0_bcount_t    nr = i % 4 ? 64 : LARGE;
		struct cf_buf *r = cf_recv(b, LARGE);
		struct cf_buf *spare = cf_recv(b, LARGE);
		struct cf_buf *s = cf_send(a, b, nr, nr);
		unsigned       who = (unsigned)cf_rand(3);

		cf_yield();
		if (who != 0)
			cf_del(s);
		if (who != 1)
			cf_del(r);
		cf_yield();
		cf_wait_buf(s);
		cf_del(spare);
		cf_del(r);
		received(r);
		received(spare);
		if (s->cb_last.ce_status == -ECANCELED &&
		    cf.c_row->r_nobody != 0)
			CF_TRUE(r->cb_last.ce_status != 0 &&
					spare->cb_last.ce_status != 0,
				"a cancelled message does not arrive");
		cf_buf_free(r);
		cf_buf_free(spare);
		cf_buf_free(s);
	}
}

struct race {
	bool           put;
	m0_bcount_t    nr;
	struct cf_buf *passive;
	struct cf_buf *active;
};

static struct race race_begin(struct cf_tm *a, struct cf_tm *b, bool put)
{
	struct race r = { .put = put, .nr = cf_rand(3) ? 200 : 100000 };
	unsigned    who = (unsigned)cf_rand(3);

	r.passive = cf_passive(b,
			       put ? M0_NET_QT_PASSIVE_BULK_RECV
				   : M0_NET_QT_PASSIVE_BULK_SEND,
			       r.nr, NULL);
	r.active = cf_active(a,
			     put ? M0_NET_QT_ACTIVE_BULK_SEND
				 : M0_NET_QT_ACTIVE_BULK_RECV,
			     r.nr, &r.passive->cb_nb.nb_desc);
	cf_yield();
	if (who != 0)
		cf_del(r.active);
	if (who != 1)
		cf_del(r.passive);
	return r;
}

static void race_end(struct race *r)
{
	struct cf_buf *p = r->passive;
	struct cf_buf *x = r->active;
	int32_t        st;

	cf_wait_buf(x);
	st = x->cb_last.ce_status;
	CF_TRUE(st == 0 || st == -ECANCELED || st == cf.c_row->r_stale,
		"active: %s", m0_errname(st));
	if (cf_get(&p->cb_done) == 0 && st != 0)
		cf_del(p);
	outcome_is_0_or_cancelled(p);
	if (st == 0) {
		CF_EQ(p->cb_last.ce_status, 0, "the passive side");
		cf_check(r->put ? p : x, 0, r->nr, r->nr);
	}
	cf_buf_free(p);
	cf_buf_free(x);
}

/* Some at once: where nobody answers, each takes the transport's time-out. */
static void races_bulk(void)
{
	enum {
		AT_ONCE = 10
	};
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	struct race   r[AT_ONCE];
	int           i, k;

	for (i = 0; i < 50; i += AT_ONCE) {
		for (k = 0; k < AT_ONCE; ++k)
			r[k] = race_begin(k % 5 ? a : b, k % 5 ? b : a, k & 1);
		for (k = 0; k < AT_ONCE; ++k)
			race_end(&r[k]);
	}
}

/* The time of the row, and how late a busy host may be. */
static m0_time_t cancel_limit(void)
{
	return cf.c_row->r_cancel_ns + (cf.c_sim ? 0 : 10 * M0_TIME_ONE_SECOND);
}

/* A transfer that is cancelled, early or late, ends within the time of the row. */
static void bound(void)
{
	static const m0_bcount_t nr[] = { 200, 100000, 1 << 18 };
	struct cf_tm            *a = cf_up(0);
	struct cf_tm            *b = cf_up(1);
	unsigned                 i;

	for (i = 0; i < 12; ++i) {
		bool           put = i & 1;
		struct cf_buf *p = cf_passive(b,
					      put ? M0_NET_QT_PASSIVE_BULK_RECV
						  : M0_NET_QT_PASSIVE_BULK_SEND,
					      nr[i % ARRAY_SIZE(nr)], NULL);
		struct cf_buf *x = cf_active(a,
					     put ? M0_NET_QT_ACTIVE_BULK_SEND
						 : M0_NET_QT_ACTIVE_BULK_RECV,
					     nr[i % ARRAY_SIZE(nr)],
					     &p->cb_nb.nb_desc);
		uint64_t       turns = cf_rand(20);
		m0_time_t      begin;

		while (turns-- > 0)
			cf_yield();
		begin = m0_time_now();
		if (cf_del(x)) {
			outcome_is_0_or_cancelled(x);
			CF_TRUE(x->cb_last.ce_time <= begin + cancel_limit(),
				"%s of %llu bytes, cancelled, ends after %llu ns",
				put ? "a put" : "a get",
				(unsigned long long)nr[i % ARRAY_SIZE(nr)],
				(unsigned long long)(x->cb_last.ce_time -
						     begin));
		}
		cf_wait_buf(x);
		cf_del(p);
		cf_wait_buf(p);
		cf_buf_free(p);
		cf_buf_free(x);
	}
}

/* In a callback: del of itself is nothing, del of another works. */
static void del_in_callback_cb(struct cf_buf                    *b,
			       const struct m0_net_buffer_event *ev)
{
	struct cf_buf *other = b->cb_arg;

	(void)ev;
	CF_TRUE(!cf_del(b), "del of the buffer in its own final callback");
	CF_TRUE(cf_del(other), "del of another, queued");
}

static void del_in_callback(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *other = cf_recv(t, 64);
	struct cf_buf *b = cf_recv(t, 64);

	b->cb_arg = other;
	b->cb_hook = del_in_callback_cb;
	CF_TRUE(cf_del(b), "queued");
	cf_done_is(other, -ECANCELED, "cancelled from a callback");
	cf_done_is(b, -ECANCELED, "cancelled");
}

static int chain_left;
static int chain_ended;

static void again(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)ev;
	if (__atomic_sub_fetch(&chain_left, 1, __ATOMIC_ACQ_REL) < 0) {
		cf_inc(&chain_ended);
		return;
	}
	/* The descriptor of the add before is ours to free. */
	m0_net_desc_free(&b->cb_nb.nb_desc);
	cf_add_ok(b, b->cb_tm, M0_NET_QT_PASSIVE_BULK_RECV);
	CF_TRUE(cf_del(b), "just added");
}

/* Added again, and cancelled again, from the callback. */
static void add_again_in_callback(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b = cf_buf(0, 64);

	chain_left = 50;
	chain_ended = 0;
	b->cb_hook = again;
	cf_add_ok(b, t, M0_NET_QT_PASSIVE_BULK_RECV);
	CF_TRUE(cf_del(b), "queued");
	cf_wait_count(&chain_ended, 1, "the end of a chain of callbacks");
	CF_EQ(b->cb_finals, 51, "events");
}

static int freed;

static void free_it(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)ev;
	cf_buf_free(b);
	cf_inc(&freed);
}

/* Deregistered and freed in the callback: nothing touches it afterwards. */
static void free_in_callback(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	int           i;

	freed = 0;
	for (i = 0; i < 20; ++i) {
		struct cf_buf           *r = cf_buf(1, 64);
		struct cf_buf           *s = cf_msg(a, b, 64, 1);
		struct m0_net_end_point *ep = s->cb_nb.nb_ep;

		r->cb_hook = free_it;
		s->cb_hook = free_it;
		cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
		CF_EQ(cf_add(s, a, M0_NET_QT_MSG_SEND), 0, "send");
		CF_EQ(m0_net_end_point_put(ep), 0, "put");
	}
	cf_wait_count(&freed, 40, "buffers freed in their callbacks");
}

/* A callback may stop its machine. */
static void stop_it(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	if (ev->nbe_status == 0)
		CF_EQ(m0_net_tm_stop(&b->cb_tm->ct_tm, true), 0,
		      "stop from a callback");
}

static void stop_in_callback(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = cf_recv(b, 64);
	struct cf_buf *other = cf_recv(b, 64);

	r->cb_hook = stop_it;
	cf_send(a, b, 10, 1);
	cf_wait_state(b, M0_NET_TM_STOPPED);
	CF_EQ(other->cb_last.ce_status, -ECANCELED, "queued buffer");
}

struct storm {
	int left;
	int ended;
};

static void storm_cb(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	struct storm *s = b->cb_arg;

	(void)ev;
	if (__atomic_sub_fetch(&s->left, 1, __ATOMIC_ACQ_REL) >= 0 &&
	    cf_state(b->cb_tm) == M0_NET_TM_STARTED &&
	    cf_add(b, b->cb_tm, M0_NET_QT_MSG_RECV) == 0)
		return;
	cf_inc(&s->ended);
}

/* Buffers that are added again for ever, cancels at random, then a stop. */
static void storm(void)
{
	enum {
		NR = 12
	};
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r[NR];
	struct storm   s = { .left = 400 };
	int            i;

	for (i = 0; i < NR; ++i) {
		r[i] = cf_buf(1, 64);
		r[i]->cb_hook = storm_cb;
		r[i]->cb_arg = &s;
		cf_add_ok(r[i], b, M0_NET_QT_MSG_RECV);
	}
	for (i = 0; i < 150; ++i) {
		cf_send(a, b, 1 + cf_rand(64), 1);
		if (cf_rand(2) == 0)
			cf_yield();
		m0_net_buffer_del(&r[cf_rand(NR)]->cb_nb, &b->ct_tm);
		if (cf_rand(10) == 0)
			cf_pump();
	}
	cf_stop_wait(b, cf_rand(2));
	cf_wait_count(&s.ended, NR, "buffers that came to rest");
}

const struct cf_case xprt_suite_cancel[] = {
	{ "queues that wait", waiting_queues },
	{ "not queued", not_queued },
	{ "twice", twice },
	{ "races a message", races_message },
	{ "races bulk", races_bulk },
	{ "cancel bound", bound },
	{ "del in a callback", del_in_callback },
	{ "add again in a callback", add_again_in_callback },
	{ "free in a callback", free_in_callback },
	{ "stop in a callback", stop_in_callback },
	{ "storm", storm },
	{ NULL, NULL }
};
