/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Several messages in one receive buffer.
 * [r.M0.net.xprt.lnet.multiple-messages-in-buffer]
 */
#include "xprt_suite.h"

/* A receive buffer that takes messages until `min` bytes or `max` of them. */
static struct cf_buf *multi(struct cf_tm *t, m0_bcount_t size, m0_bcount_t min,
			    uint32_t max)
{
	struct cf_buf *r = cf_buf_random(t->ct_dom, size);

	r->cb_nb.nb_min_receive_size = min;
	r->cb_nb.nb_max_receive_msgs = max;
	r->cb_nb.nb_msgs_received = 999;
	return r;
}

/* Messages of the given sizes, one after the other. */
static void send_all(struct cf_tm *a, struct cf_tm *b, int nr,
		     const m0_bcount_t *len)
{
	int i;

	for (i = 0; i < nr; ++i)
		cf_done_is(cf_send(a, b, len[i], (uint64_t)i), 0, "send");
}

/* Each event's data is where it says; offsets rise; all but the last of
 * `nr` events were retained. */
static void check_all(struct cf_buf *r, int nr, const m0_bcount_t *len)
{
	m0_bindex_t end = 0;
	int         i;

	for (i = 0; i < nr; ++i) {
		const struct cf_ev *e = &r->cb_ev[i];

		CF_EQ(e->ce_status, 0, "message %d", i);
		CF_EQ(e->ce_length, len[i], "length of message %d", i);
		CF_TRUE(e->ce_offset >= end,
			"message %d starts at %llu, expected not before %llu",
			i, (unsigned long long)e->ce_offset,
			(unsigned long long)end);
		end = e->ce_offset + e->ce_length;
		CF_TRUE(end <= r->cb_size, "message %d is in the buffer", i);
		cf_check(r, e->ce_offset, e->ce_length, (uint64_t)i);
	}
}

/* Ends by the number of messages; every event but the last is retained. */
static void ends_by_count(void)
{
	static const m0_bcount_t len[] = { 10, 1, 200, 33, 5 };
	struct cf_tm            *a = cf_up(0);
	struct cf_tm            *b = cf_up(1);
	struct cf_buf           *r = multi(b, 4000, 100, 5);
	struct m0_net_qstats     qs;
	int                      i;

	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	CF_EQ(r->cb_nb.nb_msgs_received, 0, "reset by add");
	send_all(a, b, 5, len);
	cf_wait_buf(r);
	CF_EQ(r->cb_events, 5, "events of five messages");
	for (i = 0; i < 5; ++i)
		CF_EQ(r->cb_ev[i].ce_final, i == 4, "event %d is final", i);
	check_all(r, 5, len);
	CF_EQ(r->cb_nb.nb_msgs_received, 5, "nb_msgs_received");
	qs = cf_stats(b, M0_NET_QT_MSG_RECV);
	CF_EQ(qs.nqs_num_adds, 1, "adds");
	CF_EQ(qs.nqs_num_s_events, 5, "s_events");
	CF_EQ(qs.nqs_total_bytes, 249, "total_bytes");
	CF_EQ(qs.nqs_max_bytes, 200, "max_bytes");
}

/* Ends when less than nb_min_receive_size is left. */
static void ends_by_size(void)
{
	static const m0_bcount_t len[] = { 300, 300, 201 };
	struct cf_tm            *a = cf_up(0);
	struct cf_tm            *b = cf_up(1);
	struct cf_buf           *r = multi(b, 1000, 200, 100);

	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	send_all(a, b, 3, len);
	cf_wait_buf(r);
	CF_EQ(r->cb_events, 3, "three messages");
	check_all(r, 3, len);
	CF_TRUE(r->cb_last.ce_final, "199 bytes left end it");
}

/* Exactly nb_min_receive_size left: it goes on. */
static void exact_minimum_goes_on(void)
{
	static const m0_bcount_t len[] = { 800, 200 };
	struct cf_tm            *a = cf_up(0);
	struct cf_tm            *b = cf_up(1);
	struct cf_buf           *r = multi(b, 1000, 200, 100);

	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	cf_done_is(cf_send(a, b, len[0], 0), 0, "send");
	cf_wait_events(r, 1);
	CF_EQ(cf_get(&r->cb_done), 0, "200 bytes left are enough");
	CF_TRUE(r->cb_nb.nb_flags & M0_NET_BUF_QUEUED, "still queued");
	cf_done_is(cf_send(a, b, len[1], 1), 0, "send");
	cf_wait_buf(r);
	check_all(r, 2, len);
}

/* One message: nb_max_receive_msgs 1 ends it whatever the room. */
static void one_message(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = multi(b, 1000, 1, 1);

	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	cf_send(a, b, 10, 0);
	cf_done_is(r, 0, "first message");
	CF_EQ(r->cb_events, 1, "events");
}

/* Cancelled after some messages: one more event, final, -ECANCELED. */
static void cancel_in_the_middle(void)
{
	static const m0_bcount_t len[] = { 10, 20, 30 };
	struct cf_tm            *a = cf_up(0);
	struct cf_tm            *b = cf_up(1);
	struct cf_buf           *r = multi(b, 4000, 100, 50);

	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	send_all(a, b, 3, len);
	cf_wait_events(r, 3);
	CF_TRUE(cf_del(r), "it is queued");
	cf_done_is(r, -ECANCELED, "cancelled");
	CF_EQ(r->cb_events, 4, "three messages and the end");
	check_all(r, 3, len);
	CF_EQ(r->cb_nb.nb_msgs_received, 3, "nb_msgs_received");
	CF_EQ(cf_stats(b, M0_NET_QT_MSG_RECV).nqs_num_f_events, 1, "f_events");
}

/*
 * @retval false  the messages were later than the time-out, and some are in the
 *                buffer behind.
 */
static bool timed_out_in_the_middle(struct cf_tm *a, struct cf_tm *b,
				    m0_time_t ns)
{
	static const m0_bcount_t len[] = { 10, 20 };
	struct cf_buf           *r = multi(b, 4000, 100, 50);
	struct cf_buf           *behind = multi(b, 4000, 100, 50);
	bool                     in_time;

	cf_add_within(r, b, M0_NET_QT_MSG_RECV, ns);
	cf_add_ok(behind, b, M0_NET_QT_MSG_RECV);
	send_all(a, b, 2, len);
	cf_done_is(r, -ETIMEDOUT, "timed out");
	in_time = r->cb_events == 3;
	if (in_time)
		check_all(r, 2, len);
	else
		cf_wait_events(behind, 3 - r->cb_events);
	CF_TRUE(cf_del(behind), "queued");
	cf_done_is(behind, -ECANCELED, "cancelled");
	return in_time;
}

/* The time-out of a buffer that has taken messages already. */
static void timeout_in_the_middle(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	m0_time_t     ns = 50 * M0_TIME_ONE_MSEC;

	while (!timed_out_in_the_middle(a, b, ns)) {
		CF_TRUE(!cf.c_sim && ns < 20 * M0_TIME_ONE_SECOND,
			"two messages and the end");
		ns *= 4;
	}
}

/* A message that does not fit the rest goes to the next buffer. */
static void rest_too_small(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r1 = multi(b, 1000, 100, 50);
	struct cf_buf *r2 = multi(b, 1000, 100, 50);

	cf_add_ok(r1, b, M0_NET_QT_MSG_RECV);
	cf_add_ok(r2, b, M0_NET_QT_MSG_RECV);
	cf_send(a, b, 800, 1);
	cf_wait_events(r1, 1);
	cf_send(a, b, 500, 2);
	cf_wait_events(r2, 1);
	CF_EQ(r2->cb_ev[0].ce_length, 500, "length");
	cf_check(r2, r2->cb_ev[0].ce_offset, 500, 2);
}

struct serial {
	int inside;
	int bad;
};

static void serial_cb(struct cf_buf *r, const struct m0_net_buffer_event *ev)
{
	struct serial *s = r->cb_arg;

	(void)ev;
	if (__atomic_fetch_add(&s->inside, 1, __ATOMIC_ACQ_REL) != 0)
		cf_inc(&s->bad);
	cf_yield();
	__atomic_fetch_sub(&s->inside, 1, __ATOMIC_ACQ_REL);
}

/* Events of one buffer come one after the other, in the order of offsets. */
static void serial_and_ordered(void)
{
	enum {
		NR = 60
	};
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = multi(b, 60000, 1, NR);
	/* The hook may return after its event was seen. */
	static struct serial s;
	int                  i;

	r->cb_hook = cf.c_sim ? NULL : serial_cb;
	r->cb_arg = &s;
	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	for (i = 0; i < NR; ++i)
		cf_send(a, b, 1 + cf_rand(900), 5);
	cf_wait_buf(r);
	CF_EQ(s.bad, 0, "events of one buffer that overlapped");
	CF_EQ(r->cb_events, NR, "events");
	for (i = 1; i < NR; ++i)
		CF_TRUE(r->cb_ev[i].ce_offset >=
				r->cb_ev[i - 1].ce_offset +
					r->cb_ev[i - 1].ce_length,
			"offset of event %d", i);
	for (i = 0; i < NR; ++i)
		cf_check(r, r->cb_ev[i].ce_offset, r->cb_ev[i].ce_length, 5);
	CF_EQ(cf_get(&b->ct_errors), 0, "no message was without room");
}

/* Many senders into few buffers, added again by the final callback. */
static void add_again(struct cf_buf *r, const struct m0_net_buffer_event *ev)
{
	int *got = r->cb_arg;

	if (ev->nbe_status != 0)
		return;
	if (!(r->cb_nb.nb_flags & M0_NET_BUF_QUEUED))
		cf_add_ok(r, r->cb_tm, M0_NET_QT_MSG_RECV);
	cf_inc(got);
}

static void added_again(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r;
	int            got = 0;
	int            i;

	for (i = 0; i < 4; ++i) {
		r = multi(b, 2000, 300, 7);
		r->cb_hook = add_again;
		r->cb_arg = &got;
		cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	}
	for (i = 0; i < 200; ++i) {
		cf_done_is(cf_send(a, b, 1 + cf_rand(300), 1), 0, "send");
		cf_wait_count(&got, i + 1, "messages");
	}
	CF_EQ(cf_get(&b->ct_errors), 0, "a buffer was always there");
}

const struct cf_case xprt_suite_multi[] = {
	{ "ends by the number", ends_by_count },
	{ "ends by the room left", ends_by_size },
	{ "exactly the minimum goes on", exact_minimum_goes_on },
	{ "one message only", one_message },
	{ "cancel in the middle", cancel_in_the_middle },
	{ "time-out in the middle", timeout_in_the_middle },
	{ "rest too small", rest_too_small },
	{ "serial and in order", serial_and_ordered },
	{ "added again by the callback", added_again },
	{ NULL, NULL }
};
