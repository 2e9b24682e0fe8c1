/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stop: from every state, both ways, with queued and busy buffers. */
#include "xprt_suite.h"

static void stop_initialized(void)
{
	struct cf_tm  *t = cf_tm_new(0);
	struct cf_buf *r = cf_recv(t, 64);

	CF_EQ(cf_stop(t, cf_rand(2)), 0, "stop in INITIALIZED");
	cf_wait_state(t, M0_NET_TM_STOPPED);
	CF_EQ(cf_get(&r->cb_done), 1, "the buffer's event is before STOPPED");
	CF_EQ(r->cb_last.ce_status, -ECANCELED, "its status");
	CF_EQ(t->ct_states[M0_NET_TM_STARTED], 0, "no STARTED event");
}

/* Wherever the start has got to, STOPPED is last and STARTED at most once. */
static void start_stop_race(void)
{
	int i;

	for (i = 0; i < 20; ++i) {
		struct cf_tm  *t = cf_tm_new((unsigned)i % 2);
		struct cf_buf *r = NULL;

		if (cf_rand(2) == 0)
			r = cf_recv(t, 64);
		cf_tm_begin_start(t);
		if (cf_rand(2) == 0)
			cf_yield();
		CF_EQ(cf_stop(t, cf_rand(2)), 0, "stop in STARTING");
		cf_wait_state(t, M0_NET_TM_STOPPED);
		CF_TRUE(t->ct_states[M0_NET_TM_STARTED] <= 1, "STARTED once");
		if (r != NULL)
			CF_EQ(r->cb_last.ce_status, -ECANCELED, "its event");
		cf_tm_end(t);
	}
}

/* STARTED after STOPPING began is seen by its callback as no surprise. */
static void started_not_after_stopped(struct cf_tm                 *t,
				      const struct m0_net_tm_event *ev)
{
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE &&
	    ev->nte_next_state == M0_NET_TM_STARTED)
		CF_EQ(t->ct_states[M0_NET_TM_STOPPED], 0,
		      "STARTED comes before STOPPED or not at all");
}

static void stop_order(void)
{
	struct cf_tm *t = cf_tm_new(0);

	t->ct_hook = started_not_after_stopped;
	cf_tm_begin_start(t);
	CF_EQ(cf_stop(t, true), 0, "stop at once");
	cf_wait_state(t, M0_NET_TM_STOPPED);
	cf_run_ms(3);
	CF_EQ(t->ct_states[M0_NET_TM_STOPPED], 1, "STOPPED events");
}

/* An address is free again when STOPPED was seen. */
static void restart_same_address(void)
{
	struct cf_tm *b = cf_up(1);
	struct cf_tm *old = cf_up(0);
	struct cf_tm *new;

	cf_exchange(old, b);
	cf_stop_wait(old, false);
	new = cf_tm_new(0);
	snprintf(new->ct_addr, CF_ADDR_MAX, "%s", old->ct_addr);
	cf_tm_begin_start(new);
	cf_wait_state(new, M0_NET_TM_STARTED);
	cf_exchange(new, b);
	cf_exchange(b, new);
}

/* One buffer in each of the six queues; the active ones find no answer. */
static void fill_queues(struct cf_tm *t, struct cf_tm *peer,
			struct cf_buf *b[M0_NET_QT_NR])
{
	struct cf_buf *ps =
		cf_passive(peer, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	struct cf_buf *pr =
		cf_passive(peer, M0_NET_QT_PASSIVE_BULK_RECV, 100, NULL);

	cf_recv(peer, 200);
	b[M0_NET_QT_MSG_RECV] = cf_recv(t, 100);
	b[M0_NET_QT_PASSIVE_BULK_RECV] =
		cf_passive(t, M0_NET_QT_PASSIVE_BULK_RECV, 100, NULL);
	b[M0_NET_QT_PASSIVE_BULK_SEND] =
		cf_passive(t, M0_NET_QT_PASSIVE_BULK_SEND, 100, peer);
	b[M0_NET_QT_MSG_SEND] = cf_send(t, peer, 100, 9);
	b[M0_NET_QT_ACTIVE_BULK_RECV] = cf_active(t, M0_NET_QT_ACTIVE_BULK_RECV,
						  100, &ps->cb_nb.nb_desc);
	b[M0_NET_QT_ACTIVE_BULK_SEND] = cf_active(t, M0_NET_QT_ACTIVE_BULK_SEND,
						  100, &pr->cb_nb.nb_desc);
}

static void dels_check(struct cf_tm *t, const uint64_t *dels)
{
	int q;

	for (q = 0; q < M0_NET_QT_NR; ++q) {
		struct m0_net_qstats qs =
			cf_stats(t, (enum m0_net_queue_type)q);

		CF_EQ(qs.nqs_num_dels, dels[q], "num_dels of queue %d", q);
	}
}

/* abort: all six queues are empty before STOPPED, waiting ones cancelled. */
static void stop_abort_six_queues(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_tm  *peer = cf_up(1);
	struct cf_buf *b[M0_NET_QT_NR];
	int            q;

	fill_queues(t, peer, b);
	cf_yield();
	cf_stop_wait(t, true);
	for (q = 0; q < M0_NET_QT_NR; ++q) {
		CF_EQ(cf_get(&b[q]->cb_done), 1,
		      "queue %d: its event came before STOPPED", q);
		CF_TRUE(b[q]->cb_last.ce_status == -ECANCELED ||
				(b[q]->cb_last.ce_status == 0 &&
				 q != M0_NET_QT_MSG_RECV &&
				 q != M0_NET_QT_PASSIVE_BULK_RECV &&
				 q != M0_NET_QT_PASSIVE_BULK_SEND),
			"queue %d: status is %d, expected -ECANCELED, or 0 "
			"of a send or active buffer",
			q, b[q]->cb_last.ce_status);
	}
}

/* Cancels by stop(abort) are counted as dels. */
static void stop_abort_counts_dels(void)
{
	static const uint64_t dels[M0_NET_QT_NR] = {
		[M0_NET_QT_MSG_RECV] = 2,
		[M0_NET_QT_PASSIVE_BULK_RECV] = 1,
	};
	struct cf_tm *t = cf_up(0);

	cf_recv(t, 10);
	cf_recv(t, 10);
	cf_passive(t, M0_NET_QT_PASSIVE_BULK_RECV, 10, NULL);
	cf_stop_wait(t, true);
	dels_check(t, dels);
}

/* Not abort: idle receive buffers are cancelled and do not hold it up. */
static void stop_finish_idle_recv(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *r[5];
	m0_time_t      begin = m0_time_now();
	int            i;

	for (i = 0; i < 5; ++i)
		r[i] = cf_recv(t, 100);
	cf_stop_wait(t, false);
	for (i = 0; i < 5; ++i)
		CF_EQ(r[i]->cb_last.ce_status, -ECANCELED,
		      "idle receive buffer");
	CF_TRUE(m0_time_now() - begin < 5 * M0_TIME_ONE_SECOND,
		"idle receive buffers do not wait for the drain limit");
}

/* Not abort: sends and active bulk are carried out. */
static void stop_finish_drains(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_tm  *peer = cf_up(1);
	struct cf_buf *s[8], *r[8];
	struct cf_buf *p =
		cf_passive(peer, M0_NET_QT_PASSIVE_BULK_RECV, 100000, NULL);
	struct cf_buf *a;
	unsigned       i;

	for (i = 0; i < 8; ++i)
		r[i] = cf_recv(peer, 100);
	for (i = 0; i < 8; ++i)
		s[i] = cf_send(t, peer, 100, i);
	a = cf_active(t, M0_NET_QT_ACTIVE_BULK_SEND, 100000, &p->cb_nb.nb_desc);
	cf_stop_wait(t, false);
	for (i = 0; i < 8; ++i)
		CF_EQ(s[i]->cb_last.ce_status, 0, "send %u is drained", i);
	CF_EQ(a->cb_last.ce_status, 0, "active bulk is drained");
	cf_done_is(p, 0, "its passive side");
	cf_check(p, 0, 100000, 100000);
	for (i = 0; i < 8; ++i)
		cf_done_is(r[i], 0, "message of a stopping sender");
}

/* Not abort: a passive buffer may still be served while STOPPING. */
static void stop_finish_passive_served(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_tm  *peer = cf_up(1);
	struct cf_buf *p =
		cf_passive(t, M0_NET_QT_PASSIVE_BULK_SEND, 5000, NULL);
	struct cf_buf *a;

	CF_EQ(cf_stop(t, false), 0, "stop");
	cf_run_ms(5);
	CF_EQ(cf_state(t), M0_NET_TM_STOPPING, "a passive buffer waits");
	a = cf_active(peer, M0_NET_QT_ACTIVE_BULK_RECV, 5000,
		      &p->cb_nb.nb_desc);
	cf_done_is(a, 0, "transfer from a STOPPING machine");
	cf_check(a, 0, 5000, 5000);
	cf_wait_state(t, M0_NET_TM_STOPPED);
	CF_EQ(p->cb_last.ce_status, 0, "its passive side");
}

/* Buffers that do not drain are cancelled at the drain limit, no earlier. */
static void stop_finish_drain_limit(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *p =
		cf_passive(t, M0_NET_QT_PASSIVE_BULK_SEND, 500, NULL);
	struct cf_buf *q = cf_buf(0, 100);
	m0_time_t      begin, took;

	cf_add_within(q, t, M0_NET_QT_PASSIVE_BULK_RECV, 30 * M0_TIME_ONE_MSEC);
	m0_net_tm_drain_limit_set(&t->ct_tm, 120 * M0_TIME_ONE_MSEC);
	begin = m0_time_now();
	cf_stop_wait(t, false);
	took = m0_time_now() - begin;
	CF_EQ(p->cb_last.ce_status, -ECANCELED, "at the drain limit");
	CF_EQ(q->cb_last.ce_status, -ETIMEDOUT, "at its own time-out");
	CF_TRUE(took >= 120 * M0_TIME_ONE_MSEC,
		"stopped after %llu ns, expected at least 120 ms",
		(unsigned long long)took);
	CF_TRUE(p->cb_last.ce_time - begin <=
			(cf.c_sim ? 123u : 5000u) * M0_TIME_ONE_MSEC,
		"the drain limit is kept");
}

/* A failing send does not hold up the stop of the sender. */
static void stop_finish_send_to_nobody(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_tm  *gone = cf_up(1);
	struct cf_buf *s = cf_msg(t, gone, 10, 1);

	cf_stop_wait(gone, true);
	cf_add_ok(s, t, M0_NET_QT_MSG_SEND);
	CF_EQ(m0_net_end_point_put(s->cb_nb.nb_ep), 0, "put");
	cf_stop_wait(t, false);
	CF_EQ(s->cb_last.ce_status, cf.c_row->r_nobody, "send to nobody");
}

static bool state_is_stopped(void *arg)
{
	return cf_state(arg) == M0_NET_TM_STOPPED;
}

/* A caller that sees the state STOPPED may finalise at once: fini waits. */
static void fini_right_after_stopped(void)
{
	int i;

	for (i = 0; i < 10; ++i) {
		struct cf_tm *t = cf_up(0);

		cf_recv(t, 10);
		CF_EQ(cf_stop(t, true), 0, "stop");
		cf_wait(state_is_stopped, t, "state STOPPED");
		CF_EQ(m0_net_tm_fini(&t->ct_tm), 0, "fini at once");
		CF_EQ(t->ct_states[M0_NET_TM_STOPPED], 1,
		      "fini waited for the callback");
		t->ct_inited = false;
		m0_clink_del_lock(&t->ct_clink);
	}
}

/* An end point that the application holds keeps the machine. */
static void fini_with_end_point_busy(void)
{
	struct cf_tm            *t = cf_up(0);
	struct cf_tm            *peer = cf_up(1);
	struct m0_net_end_point *ep = cf_ep(t, peer);

	cf_stop_wait(t, true);
	CF_EQ(m0_net_tm_fini(&t->ct_tm), -EBUSY, "an end point is held");
	CF_EQ(cf_state(t), M0_NET_TM_STOPPED, "nothing has changed");
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
}

/* A buffer queued before start keeps the machine. */
static void fini_with_buffer_busy(void)
{
	struct cf_tm  *t = cf_tm_new(0);
	struct cf_buf *r = cf_recv(t, 10);

	CF_EQ(m0_net_tm_fini(&t->ct_tm), -EBUSY, "a buffer is queued");
	CF_EQ(cf_state(t), M0_NET_TM_INITIALIZED, "nothing has changed");
	cf_stop_wait(t, true);
	CF_EQ(r->cb_last.ce_status, -ECANCELED, "its event");
}

/* Peers of a machine that stops in the middle of traffic get outcomes. */
static void stop_under_load(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *s[40];
	unsigned       i;

	for (i = 0; i < 20; ++i)
		cf_recv(b, 128);
	for (i = 0; i < 40; ++i) {
		s[i] = cf_send(a, b, 1 + cf_rand(128), i);
		if (i == 20)
			CF_EQ(cf_stop(b, cf_rand(2)), 0, "stop under load");
		if (cf_rand(4) == 0)
			cf_yield();
	}
	for (i = 0; i < 40; ++i)
		cf_wait_buf(s[i]);
	cf_wait_state(b, M0_NET_TM_STOPPED);
}

const struct cf_case xprt_suite_stop[] = {
	{ "stop in INITIALIZED", stop_initialized },
	{ "start and stop race", start_stop_race },
	{ "STARTED never after STOPPED", stop_order },
	{ "address is free after STOPPED", restart_same_address },
	{ "abort, six queues", stop_abort_six_queues },
	{ "abort counts dels", stop_abort_counts_dels },
	{ "finish, idle receive buffers", stop_finish_idle_recv },
	{ "finish drains sends and bulk", stop_finish_drains },
	{ "finish, passive buffer served", stop_finish_passive_served },
	{ "finish, drain limit", stop_finish_drain_limit },
	{ "finish, send to nobody", stop_finish_send_to_nobody },
	{ "fini right after STOPPED", fini_right_after_stopped },
	{ "fini with end point is busy", fini_with_end_point_busy },
	{ "fini with buffer is busy", fini_with_buffer_busy },
	{ "stop under load", stop_under_load },
	{ NULL, NULL }
};
