/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Start of machines, states, events, what may be done in which state.
 * [r.rpccore.flexible] [r.M0.net.xprt.lnet.dynamic-address-assignment]
 */
#include "xprt_suite.h"

static void init_fini_init(void)
{
	struct cf_tm              *t = cf_tm_new(0);
	struct m0_net_transfer_mc *tm = &t->ct_tm;

	CF_EQ(cf_state(t), M0_NET_TM_INITIALIZED, "after init");
	CF_TRUE(tm->ntm_ep == NULL, "no end point before STARTED");
	CF_EQ(tm->ntm_recv_queue_min_length, M0_NET_TM_RECV_QUEUE_DEF_LEN,
	      "default length of the provisioned queue");
	CF_EQ(m0_net_tm_colour_get(tm), M0_BUFFER_ANY_COLOUR, "colour");
	CF_EQ(m0_net_tm_fini(tm), 0, "fini of an INITIALIZED machine");
	CF_EQ(tm->ntm_state, M0_NET_TM_UNDEFINED, "after fini");
	CF_EQ(m0_net_tm_init(tm, cf_dom(0)), 0, "init again");
	CF_TRUE(tm->ntm_bev_auto_deliver, "asynchronous after init");
	CF_EQ(m0_net_tm_fini(tm), 0, "fini again");
	t->ct_inited = false;
}

/* One STARTED event, with the machine's own end point. */
static void start_one_started_event(void)
{
	struct cf_tm *t = cf_up(0);

	cf_run_ms(5);
	CF_EQ(t->ct_states[M0_NET_TM_STARTED], 1, "STARTED events");
	CF_EQ(cf_state(t), M0_NET_TM_STARTED, "state");
	CF_TRUE(t->ct_tm.ntm_ep->nep_tm == &t->ct_tm, "nep_tm");
	CF_EQ(m0_ref_read(&t->ct_tm.ntm_ep->nep_ref), 1, "own reference");
	cf_stop_wait(t, false);
	cf_run_ms(5);
	CF_EQ(t->ct_states[M0_NET_TM_STOPPED], 1, "STOPPED events");
}

/* Start refuses every text that is no address, and then there is no event. */
static void start_bad_address(void)
{
	const char *const *bad;

	for (bad = cf.c_row->r_bad; *bad != NULL; ++bad) {
		struct cf_tm *t = cf_tm_new(0);

		CF_EQ(m0_net_tm_start(&t->ct_tm, *bad), -EINVAL,
		      "start at \"%s\"", *bad);
		CF_EQ(cf_state(t), M0_NET_TM_FAILED, "after a refused start");
		cf_yield();
		CF_EQ(t->ct_states[M0_NET_TM_FAILED], 0, "no event follows");
		cf_tm_end(t);
	}
}

/* NULL: machines find different addresses by which they are reached. */
static void start_null_picks(void)
{
	struct cf_tm *t[3];
	int           i;

	if (!cf.c_row->r_dynamic) {
		t[0] = cf_tm_new(0);
		CF_EQ(m0_net_tm_start(&t[0]->ct_tm, NULL), -ENOSYS,
		      "no dynamic addresses");
		return;
	}
	for (i = 0; i < 3; ++i) {
		t[i] = cf_tm_new((unsigned)i % 2);
		CF_EQ(m0_net_tm_start(&t[i]->ct_tm, NULL), 0, "start(NULL)");
		cf_wait_state(t[i], M0_NET_TM_STARTED);
		snprintf(t[i]->ct_addr, CF_ADDR_MAX, "%s",
			 t[i]->ct_tm.ntm_ep->nep_addr);
	}
	CF_TRUE(strcmp(t[0]->ct_addr, t[1]->ct_addr) != 0 &&
			strcmp(t[0]->ct_addr, t[2]->ct_addr) != 0 &&
			strcmp(t[1]->ct_addr, t[2]->ct_addr) != 0,
		"three addresses, all different");
	cf_exchange(t[0], t[1]);
	cf_exchange(t[1], t[2]);
}

/* A second machine at an address in use fails by an event. */
static void start_address_in_use(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_tm_new(1);

	snprintf(b->ct_addr, CF_ADDR_MAX, "%s", a->ct_addr);
	cf_tm_begin_start(b);
	cf_wait_state(b, M0_NET_TM_FAILED);
	CF_EQ(b->ct_failed_status, -EADDRINUSE, "status of the FAILED event");
	CF_EQ(b->ct_states[M0_NET_TM_STARTED], 0, "no STARTED event");
	CF_TRUE(b->ct_tm.ntm_ep == NULL, "a FAILED machine has no end point");
	cf_tm_end(b);
	cf_tm_end(a);
	b = cf_tm_new(1);
	snprintf(b->ct_addr, CF_ADDR_MAX, "%s", a->ct_addr);
	cf_tm_begin_start(b);
	cf_wait_state(b, M0_NET_TM_STARTED);
}

/* Receive buffers of a machine that fails to start get their event. */
static void start_failed_returns_buffers(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_tm_new(1);
	struct cf_buf *r = cf_recv(b, 64);

	snprintf(b->ct_addr, CF_ADDR_MAX, "%s", a->ct_addr);
	cf_tm_begin_start(b);
	cf_wait_state(b, M0_NET_TM_FAILED);
	CF_EQ(cf_get(&r->cb_done), 1,
	      "a queued buffer's event comes before FAILED");
	CF_EQ(r->cb_last.ce_status, -ECANCELED, "its status");
}

static void recv_before_start_hook(struct cf_tm                 *t,
				   const struct m0_net_tm_event *ev)
{
	const struct cf_buf *r = t->ct_arg;

	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE &&
	    ev->nte_next_state == M0_NET_TM_STARTED)
		CF_EQ(cf_get(&r->cb_events), 0, "no message before STARTED");
}

/* MSG_RECV may be added early; what comes is delivered after STARTED. */
static void recv_added_before_start(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_tm_new(1);
	struct cf_buf *r1 = cf_recv(b, 300);
	struct cf_buf *r2, *s1, *s2;

	CF_EQ(cf_state(b), M0_NET_TM_INITIALIZED, "added in INITIALIZED");
	CF_EQ(cf_queue_len(b, M0_NET_QT_MSG_RECV), 1, "it is queued");
	b->ct_hook = recv_before_start_hook;
	b->ct_arg = r1;
	cf_tm_begin_start(b);
	r2 = cf_recv(b, 300);
	cf_wait_state(b, M0_NET_TM_STARTED);
	s1 = cf_send(a, b, 100, 1);
	s2 = cf_send(a, b, 101, 2);
	cf_done_is(s1, 0, "send");
	cf_done_is(s2, 0, "send");
	cf_done_is(r1, 0, "buffer added in INITIALIZED");
	cf_done_is(r2, 0, "buffer added in STARTING");
	CF_EQ(r1->cb_last.ce_length + r2->cb_last.ce_length, 201, "lengths");
}

/* A buffer added before start can be cancelled, and times out. */
static void recv_before_start_del(void)
{
	struct cf_tm  *t = cf_tm_new(0);
	struct cf_buf *r = cf_recv(t, 64);

	CF_TRUE(cf_del(r), "it was queued");
	if (cf_mode_of(t) == CF_ASYNC)
		cf_done_is(r, -ECANCELED, "cancelled in INITIALIZED");
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	cf_done_is(r, -ECANCELED, "cancelled before the start");
}

static void refused(struct cf_tm *t, struct cf_buf **b, bool recv_too)
{
	int q;

	for (q = recv_too ? 0 : 1; q < M0_NET_QT_NR; ++q)
		CF_EQ(cf_add(b[q], t, (enum m0_net_queue_type)q), -EPERM,
		      "add to queue %d in state %d", q, cf_state(t));
}

/* Which queues take buffers in which state. */
static void add_refused_by_state(void)
{
	struct cf_tm  *peer = cf_up(1);
	struct cf_tm  *t = cf_tm_new(0);
	struct cf_buf *p =
		cf_passive(peer, M0_NET_QT_PASSIVE_BULK_SEND, 64, NULL);
	struct cf_buf *b[M0_NET_QT_NR];
	int            q;

	for (q = 0; q < M0_NET_QT_NR; ++q) {
		b[q] = cf_buf(0, 64);
		b[q]->cb_nb.nb_length = 64;
		b[q]->cb_nb.nb_ep = NULL;
		if (q >= M0_NET_QT_ACTIVE_BULK_RECV)
			m0_net_desc_copy(&p->cb_nb.nb_desc,
					 &b[q]->cb_nb.nb_desc);
	}
	b[M0_NET_QT_MSG_SEND]->cb_nb.nb_ep = peer->ct_tm.ntm_ep;
	b[M0_NET_QT_MSG_SEND]->cb_nb.nb_qtype = M0_NET_QT_MSG_SEND;
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	b[M0_NET_QT_MSG_SEND]->cb_nb.nb_ep = cf_ep(t, peer);
	CF_EQ(cf_stop(t, false), 0, "stop");
	refused(t, b, true);
	cf_wait_state(t, M0_NET_TM_STOPPED);
	refused(t, b, true);
	CF_EQ(m0_net_end_point_put(b[M0_NET_QT_MSG_SEND]->cb_nb.nb_ep), 0,
	      "put in STOPPED");
}

/* The five queues besides MSG_RECV are closed before STARTED. */
static void add_refused_before_start(void)
{
	struct cf_tm  *t = cf_tm_new(0);
	struct cf_buf *b = cf_buf(0, 64);

	b->cb_nb.nb_length = 64;
	CF_EQ(cf_add(b, t, M0_NET_QT_PASSIVE_BULK_RECV), -EPERM,
	      "passive receive in INITIALIZED");
	CF_EQ(cf_add(b, t, M0_NET_QT_PASSIVE_BULK_SEND), -EPERM,
	      "passive send in INITIALIZED");
	cf_add_ok(b, t, M0_NET_QT_MSG_RECV);
}

static bool chan_seen(struct m0_clink *link)
{
	(void)link;
	return false;
}

static bool clink_fired(void *arg)
{
	return m0_chan_trywait(arg);
}

/* ntm_chan is broadcast after callbacks: a clink on it wakes. */
static void chan_broadcast(void)
{
	struct cf_tm   *a = cf_tm_new(0);
	struct cf_tm   *b = cf_up(1);
	struct m0_clink link;
	struct cf_buf  *s;

	m0_clink_init(&link, chan_seen);
	m0_clink_add_lock(&a->ct_tm.ntm_chan, &link);
	cf_tm_begin_start(a);
	cf_wait(clink_fired, &link, "ntm_chan after the STARTED callback");
	cf_wait_state(a, M0_NET_TM_STARTED);
	cf_run_ms(2);
	while (m0_chan_trywait(&link))
		;
	cf_recv(b, 64);
	s = cf_send(a, b, 64, 1);
	cf_wait(clink_fired, &link, "ntm_chan after a buffer's callback");
	cf_wait_buf(s);
	m0_clink_del_lock(&link);
	m0_clink_fini(&link);
}

/* Callbacks of the events of one machine see each other's order. */
static void many_machines(void)
{
	struct cf_tm *t[12];
	unsigned      i;

	for (i = 0; i < ARRAY_SIZE(t); ++i) {
		t[i] = cf_tm_new(i % 3);
		cf_tm_begin_start(t[i]);
		cf_yield();
	}
	for (i = 0; i < ARRAY_SIZE(t); ++i)
		cf_wait_state(t[i], M0_NET_TM_STARTED);
	for (i = 0; i < ARRAY_SIZE(t); ++i)
		cf_exchange(t[i], t[(i + 1) % ARRAY_SIZE(t)]);
}

const struct cf_case xprt_suite_tm[] = {
	{ "init, fini, init", init_fini_init },
	{ "one STARTED event", start_one_started_event },
	{ "start at a bad address", start_bad_address },
	{ "start(NULL) picks an address", start_null_picks },
	{ "start at an address in use", start_address_in_use },
	{ "failed start returns buffers", start_failed_returns_buffers },
	{ "receive buffer before start", recv_added_before_start },
	{ "cancel before start", recv_before_start_del },
	{ "add refused by state", add_refused_by_state },
	{ "add refused before start", add_refused_before_start },
	{ "ntm_chan is broadcast", chan_broadcast },
	{ "many machines", many_machines },
	{ NULL, NULL }
};
