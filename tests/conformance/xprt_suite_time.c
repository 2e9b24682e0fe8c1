/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * nb_timeout on every queue: never early, late by 2 ms at most where time is
 * exact, one -ETIMEDOUT event, no del counted.
 */
#include "xprt_suite.h"

/* Virtual time is exact but for what the simulator's slow strands add. */
static void on_time(const struct cf_buf *b, m0_time_t due)
{
	m0_time_t late_max = (cf.c_sim ? 2 : 10000) * M0_TIME_ONE_MSEC;

	CF_EQ(b->cb_last.ce_status, -ETIMEDOUT, "status of a time-out");
	CF_TRUE(b->cb_last.ce_time >= due, "timed out %llu ns early",
		(unsigned long long)(due - b->cb_last.ce_time));
	CF_TRUE(b->cb_last.ce_time - due <= late_max + cf.c_pause_ns,
		"timed out %llu ns late, expected at most %llu",
		(unsigned long long)(b->cb_last.ce_time - due),
		(unsigned long long)late_max);
}

static void no_dels(struct cf_tm *t)
{
	int q;

	for (q = 0; q < M0_NET_QT_NR; ++q)
		CF_EQ(cf_stats(t, (enum m0_net_queue_type)q).nqs_num_dels, 0,
		      "a time-out is no del, queue %d", q);
}

/* The three queues where a buffer waits for a peer. */
static void waiting_queues(void)
{
	static const enum m0_net_queue_type qt[] = {
		M0_NET_QT_MSG_RECV, M0_NET_QT_PASSIVE_BULK_RECV,
		M0_NET_QT_PASSIVE_BULK_SEND
	};
	enum {
		NR = 30
	};
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b[NR];
	m0_time_t      due[NR];
	unsigned       i;

	for (i = 0; i < NR; ++i) {
		b[i] = cf_buf(0, 64);
		b[i]->cb_nb.nb_length = 64;
		due[i] = cf_add_within(b[i], t, qt[i % 3],
				       M0_TIME_ONE_MSEC +
					       cf_rand(150 * M0_TIME_ONE_MSEC));
	}
	for (i = 0; i < NR; ++i) {
		cf_wait_buf(b[i]);
		on_time(b[i], due[i]);
	}
	no_dels(t);
}

/* Sends and active bulk: done, or timed out in time, never forgotten. */
static void moving_queues(void)
{
	struct cf_tm *t = cf_up(0);
	struct cf_tm *peer = cf_up(1);
	int           i;

	for (i = 0; i < 30; ++i) {
		bool           msg = i % 3 == 0;
		bool           put = i % 3 == 1;
		struct cf_buf *p = cf_passive(peer,
					      put ? M0_NET_QT_PASSIVE_BULK_RECV
						  : M0_NET_QT_PASSIVE_BULK_SEND,
					      64, NULL);
		struct cf_buf *b = cf_msg(t, peer, 64, 1);
		m0_time_t      due = m0_time_now() + 1 + cf_rand(200000);
		int            rc;

		if (msg)
			cf_recv(peer, 64);
		b->cb_nb.nb_timeout = due;
		CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &b->cb_nb.nb_desc), 0,
		      "copy");
		rc = cf_add(b, t,
			    msg   ? M0_NET_QT_MSG_SEND
			    : put ? M0_NET_QT_ACTIVE_BULK_SEND
				  : M0_NET_QT_ACTIVE_BULK_RECV);
		CF_EQ(m0_net_end_point_put(b->cb_nb.nb_ep), 0, "put");
		if (rc == -ETIME)
			continue;
		CF_EQ(rc, 0, "add with a short time-out");
		cf_wait_buf(b);
		if (b->cb_last.ce_status != 0)
			on_time(b, due);
		else
			CF_TRUE(b->cb_nb.nb_timeout == M0_TIME_NEVER, "reset");
	}
	no_dels(t);
}

/* An active operation that finds no answer gives up at its own time-out; one
 * that is told that there is none need not wait for that. */
static void active_unanswered(void)
{
	bool           told = cf.c_row->r_stale != -ETIMEDOUT;
	struct cf_tm  *t = cf_up(0);
	struct cf_tm  *peer = cf_up(1);
	struct cf_buf *p =
		cf_passive(peer, M0_NET_QT_PASSIVE_BULK_SEND, 64, NULL);
	struct cf_buf *b = cf_buf(0, 64);
	m0_time_t      due;

	CF_TRUE(cf_del(p), "queued");
	cf_wait_buf(p);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &b->cb_nb.nb_desc), 0,
	      "copy of a descriptor");
	due = cf_add_within(b, t, M0_NET_QT_ACTIVE_BULK_RECV,
			    told ? 60 * M0_TIME_ONE_SECOND
				 : 20 * M0_TIME_ONE_MSEC);
	cf_wait_buf(b);
	if (told)
		CF_EQ(b->cb_last.ce_status, cf.c_row->r_stale, "stale");
	else
		on_time(b, due);
}

/* A time-out that has passed: -ETIME at add, on each queue, no event. */
static void passed_at_add(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_tm  *peer = cf_up(1);
	struct cf_buf *p =
		cf_passive(peer, M0_NET_QT_PASSIVE_BULK_SEND, 64, NULL);
	struct cf_buf *b = cf_msg(t, peer, 64, 1);
	int            q;

	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &b->cb_nb.nb_desc), 0,
	      "copy of a descriptor");
	cf_run_ms(2);
	for (q = 0; q < M0_NET_QT_NR; ++q) {
		struct m0_net_end_point *ep = b->cb_nb.nb_ep;
		struct m0_net_buf_desc   desc = b->cb_nb.nb_desc;

		if (q == M0_NET_QT_MSG_RECV)
			b->cb_nb.nb_ep = NULL;
		b->cb_nb.nb_timeout = q % 2 ? M0_TIME_IMMEDIATELY
					    : m0_time_now() - M0_TIME_ONE_MSEC;
		CF_EQ(cf_add(b, t, (enum m0_net_queue_type)q), -ETIME,
		      "add to queue %d with a time-out that has passed", q);
		CF_EQ(cf_stats(t, (enum m0_net_queue_type)q).nqs_num_adds, 0,
		      "it is not counted");
		b->cb_nb.nb_ep = ep;
		b->cb_nb.nb_desc = desc;
	}
	CF_EQ(m0_ref_read(&b->cb_nb.nb_ep->nep_ref), 1,
	      "a refused add took no reference");
	CF_EQ(m0_net_end_point_put(b->cb_nb.nb_ep), 0, "put");
	b->cb_nb.nb_timeout = M0_TIME_NEVER;
}

/* nb_timeout is NEVER again: an add without a new one waits. */
static void never_again(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b = cf_buf(0, 64);

	cf_add_within(b, t, M0_NET_QT_MSG_RECV, 3 * M0_TIME_ONE_MSEC);
	cf_done_is(b, -ETIMEDOUT, "time-out");
	cf_add_ok(b, t, M0_NET_QT_MSG_RECV);
	cf_run_ms(10);
	CF_EQ(cf_get(&b->cb_done), 0, "no second time-out");
	CF_TRUE(cf_del(b), "it waits");
	cf_done_is(b, -ECANCELED, "del");
}

/* A buffer that completes before its time-out does not time out later. */
static void completes_first(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = cf_buf(1, 64);

	r->cb_nb.nb_timeout = m0_time_from_now(5, 0);
	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	cf_send(a, b, 64, 1);
	cf_done_is(r, 0, "message");
	cf_add_ok(r, b, M0_NET_QT_MSG_RECV);
	if (cf.c_sim) {
		cf.c_pause_ns = 10 * M0_TIME_ONE_MSEC;
		cf_run_ms(6000);
	}
	CF_EQ(cf_get(&r->cb_done), 0, "the old time-out is forgotten");
}

/* Time-out against message, at random moments: one of both, never both. */
static void races_message(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	int           i;

	for (i = 0; i < 40; ++i) {
		struct cf_buf *r = cf_buf(1, 64);
		struct cf_buf *s;
		m0_time_t      due = m0_time_now() + 1 + cf_rand(300000);

		r->cb_nb.nb_timeout = due;
		if (cf_add(r, b, M0_NET_QT_MSG_RECV) != 0)
			continue;
		cf_yield();
		s = cf_send(a, b, 64, 9);
		cf_wait_buf(r);
		cf_wait_buf(s);
		if (r->cb_last.ce_status == 0)
			cf_check(r, 0, 64, 9);
		else
			on_time(r, due);
	}
}

enum {
	MANY_NR = 100
};

/* @retval false  the moment had come before all were added. */
static bool many_in(struct cf_tm *t, struct cf_buf *const b[MANY_NR],
		    unsigned ms)
{
	m0_time_t due = m0_time_from_now(0, ms * M0_TIME_ONE_MSEC);
	int       nr;
	int       rc;
	int       i;

	for (nr = 0; nr < MANY_NR; ++nr) {
		b[nr]->cb_nb.nb_timeout = due;
		rc = cf_add(b[nr], t,
			    nr % 2 ? M0_NET_QT_MSG_RECV
				   : M0_NET_QT_PASSIVE_BULK_RECV);
		if (rc == -ETIME && !cf.c_sim)
			break;
		CF_EQ(rc, 0, "add");
	}
	for (i = 0; i < nr; ++i) {
		cf_wait_buf(b[i]);
		on_time(b[i], due);
	}
	return nr == MANY_NR;
}

/* Many time-outs at one moment: each gets its own event. */
static void all_at_once(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b[MANY_NR];
	unsigned       ms = cf.c_sim ? 30 : 400;
	int            i;

	for (i = 0; i < MANY_NR; ++i)
		b[i] = cf_buf(0, 8);
	/* Later, on a slow machine. */
	while (!many_in(t, b, ms))
		ms *= 2;
}

const struct cf_case xprt_suite_time[] = {
	{ "queues that wait for a peer", waiting_queues },
	{ "queues that move data", moving_queues },
	{ "active bulk without an answer", active_unanswered },
	{ "passed at add is -ETIME", passed_at_add },
	{ "NEVER after the event", never_again },
	{ "completion forgets the time-out", completes_first },
	{ "time-out races a message", races_message },
	{ "many at one moment", all_at_once },
	{ NULL, NULL }
};
