/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The fixture: machines, their events, and promise 1 at their end. */
#include "cf.h"
#include "cf_internal.h"

/*
 * Checks what holds in every callback. A buffer event of a TM in synchronous or
 * inline mode comes inside deliver_all on the test's thread; any event of an
 * asynchronous one comes on a thread of the library.
 */
void cf_cb_enter(struct m0_net_transfer_mc *tm, bool buffer_event)
{
	struct cf_tm *t = container_of(tm, struct cf_tm, ct_tm);
	bool          own = cf_tid() == cf.c_main_tid;

	CF_EQ(m0_mutex_held_nr(), cf_here()->cth_own_held_nr,
	      "no lock is held in a callback");
	CF_EQ(cf_here()->cth_in_call, 0,
	      "a callback is never on the stack of a call of the application");
	if (tm->ntm_bev_auto_deliver) {
		CF_TRUE(cf.c_sim || !own,
			"asynchronous: callbacks on the library's threads");
	} else if (buffer_event) {
		CF_TRUE(own && t->ct_delivering,
			"synchronous: buffer events inside deliver_all only");
	} else if (!tm->ntm_bev_inline) {
		CF_TRUE(cf.c_sim ? !t->ct_delivering : !own,
			"synchronous: state events on the library's threads");
	}
}

static void state_event(struct cf_tm *t, const struct m0_net_tm_event *ev)
{
	enum m0_net_tm_state next = ev->nte_next_state;
	enum m0_net_tm_state now = cf_state(t);

	if (next == M0_NET_TM_STARTED) {
		CF_TRUE(now == M0_NET_TM_STARTED || now == M0_NET_TM_STOPPING,
			"STARTED event: state is %d, expected STARTED", now);
		CF_TRUE(ev->nte_ep != NULL && ev->nte_ep == t->ct_tm.ntm_ep,
			"STARTED event carries the machine's own end point");
	} else {
		CF_EQ(now, next, "the state in a state event is applied");
	}
	if (next == M0_NET_TM_FAILED)
		t->ct_failed_status = ev->nte_status;
	if (next == M0_NET_TM_STOPPED || next == M0_NET_TM_FAILED) {
		int q;

		for (q = 0; q < M0_NET_QT_NR; ++q)
			CF_EQ(cf_queue_len(t, (enum m0_net_queue_type)q), 0,
			      "queue %d is empty before STOPPED or FAILED", q);
	}
}

static void tm_cb(const struct m0_net_tm_event *ev)
{
	struct cf_tm *t = container_of(ev->nte_tm, struct cf_tm, ct_tm);

	cf_cb_enter(ev->nte_tm, false);
	switch (ev->nte_type) {
	case M0_NET_TEV_STATE_CHANGE:
		state_event(t, ev);
		if (t->ct_hook != NULL)
			t->ct_hook(t, ev);
		cf_inc(&t->ct_states[ev->nte_next_state]);
		break;
	case M0_NET_TEV_ERROR:
		__atomic_store_n(&t->ct_error_status, ev->nte_status,
				 __ATOMIC_RELAXED);
		if (t->ct_hook != NULL)
			t->ct_hook(t, ev);
		cf_inc(&t->ct_errors);
		break;
	default:
		break;
	}
	cf_wake();
}

const struct m0_net_tm_callbacks cf_tm_cbs = { .ntc_event_cb = tm_cb };

static bool notice(struct m0_clink *link)
{
	(void)link;
	cf_wake();
	return true;
}

enum cf_mode cf_mode_of(const struct cf_tm *t)
{
	return t->ct_tm.ntm_bev_inline         ? CF_INLINE
	       : t->ct_tm.ntm_bev_auto_deliver ? CF_ASYNC
					       : CF_SYNC;
}

struct cf_tm *cf_tm_new_mode(unsigned dom, enum cf_mode mode)
{
	struct cf_tm *t = calloc(1, sizeof *t);

	CF_TRUE(t != NULL && cf.c_tm_nr < CF_TMS, "memory for the test");
	cf.c_tm[cf.c_tm_nr++] = t;
	t->ct_dom = dom;
	t->ct_tm.ntm_callbacks = &cf_tm_cbs;
	CF_EQ(m0_net_tm_init(&t->ct_tm, cf_dom(dom)), 0, "tm init");
	t->ct_inited = true;
	if (mode == CF_SYNC)
		CF_EQ(m0_net_buffer_event_deliver_synchronously(&t->ct_tm), 0,
		      "synchronous mode");
	else if (mode == CF_INLINE)
		CF_EQ(m0_net_tm_inline(&t->ct_tm), 0, "inline mode");
	if (cf.c_workers > 1 && cf.c_row->r_workers_set != NULL)
		cf.c_row->r_workers_set(&t->ct_tm, cf.c_workers);
	m0_mutex_init(&t->ct_lock);
	m0_chan_init(&t->ct_chan, &t->ct_lock);
	m0_clink_init(&t->ct_clink, notice);
	m0_clink_add_lock(&t->ct_chan, &t->ct_clink);
	t->ct_clink_on = true;
	cf.c_row->r_addr(t->ct_addr, ++cf.c_addr_nr);
	return t;
}

struct cf_tm *cf_tm_new(unsigned dom)
{
	return cf_tm_new_mode(dom, cf.c_mode);
}

void cf_tm_begin_start(struct cf_tm *t)
{
	CF_EQ(CF_CALL(m0_net_tm_start(&t->ct_tm, t->ct_addr)), 0,
	      "tm start at %s", t->ct_addr);
}

struct cf_tm *cf_up(unsigned dom)
{
	struct cf_tm *t = cf_tm_new(dom);

	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	CF_TRUE(strcmp(t->ct_tm.ntm_ep->nep_addr, t->ct_addr) == 0,
		"own address is %s, expected %s", t->ct_tm.ntm_ep->nep_addr,
		t->ct_addr);
	return t;
}

enum m0_net_tm_state cf_state(struct cf_tm *t)
{
	enum m0_net_tm_state state;

	m0_mutex_lock(&t->ct_tm.ntm_mutex);
	state = t->ct_tm.ntm_state;
	m0_mutex_unlock(&t->ct_tm.ntm_mutex);
	return state;
}

int cf_stop(struct cf_tm *t, bool abort_now)
{
	return CF_CALL(m0_net_tm_stop(&t->ct_tm, abort_now));
}

void cf_stop_wait(struct cf_tm *t, bool abort_now)
{
	CF_EQ(cf_stop(t, abort_now), 0, "tm stop");
	cf_wait_state(t, M0_NET_TM_STOPPED);
}

struct m0_net_end_point *cf_ep(struct cf_tm *from, struct cf_tm *to)
{
	struct m0_net_end_point *ep;

	CF_EQ(m0_net_end_point_create(&ep, &from->ct_tm, to->ct_addr), 0,
	      "end point of %s", to->ct_addr);
	return ep;
}

size_t cf_queue_len(struct cf_tm *t, enum m0_net_queue_type qt)
{
	size_t nr;

	m0_mutex_lock(&t->ct_tm.ntm_mutex);
	nr = m0_net_tm_tlist_length(&t->ct_tm.ntm_q[qt]);
	m0_mutex_unlock(&t->ct_tm.ntm_mutex);
	return nr;
}

struct m0_net_qstats cf_stats(struct cf_tm *t, enum m0_net_queue_type qt)
{
	struct m0_net_qstats qs;

	CF_EQ(m0_net_tm_stats_get(&t->ct_tm, qt, &qs, false), 0, "stats");
	return qs;
}

void cf_deliver(struct cf_tm *t)
{
	t->ct_delivering = true;
	m0_net_buffer_event_deliver_all(&t->ct_tm);
	t->ct_delivering = false;
}

/* --------------------------------------------------- the end of a machine -- */

static void ledger_check(struct cf_tm *t)
{
	struct m0_net_qstats qs[M0_NET_QT_NR];
	int                  q;

	CF_EQ(m0_net_tm_stats_get(&t->ct_tm, M0_NET_QT_NR, qs, false), 0,
	      "statistics of a machine that has stopped");
	for (q = 0; q < M0_NET_QT_NR; ++q) {
		const struct cf_ledger *l = &t->ct_ledger[q];
		int64_t extra = q == M0_NET_QT_MSG_RECV ? t->ct_errors : 0;

		CF_EQ(l->cl_finals, l->cl_adds,
		      "promise 1, queue %d: added == completed", q);
		if (t->ct_stats_off)
			continue;
		CF_EQ(qs[q].nqs_num_adds, l->cl_adds, "queue %d: nqs_num_adds",
		      q);
		CF_EQ(qs[q].nqs_num_s_events, l->cl_s,
		      "queue %d: nqs_num_s_events", q);
		CF_EQ(qs[q].nqs_num_f_events, l->cl_f + extra,
		      "queue %d: nqs_num_f_events", q);
		CF_EQ(qs[q].nqs_num_s_events + qs[q].nqs_num_f_events,
		      l->cl_adds + l->cl_retained + extra,
		      "queue %d: events == adds + retained", q);
	}
}

static void ep_check(struct cf_tm *t)
{
	struct m0_net_transfer_mc *tm = &t->ct_tm;
	size_t                     nr;

	m0_mutex_lock(&tm->ntm_mutex);
	nr = m0_nep_tlist_length(&tm->ntm_end_points);
	m0_mutex_unlock(&tm->ntm_mutex);
	CF_EQ(nr, tm->ntm_ep == NULL ? 0 : 1,
	      "no end point is left but the machine's own");
	if (tm->ntm_ep != NULL)
		CF_EQ(m0_ref_read(&tm->ntm_ep->nep_ref), 1,
		      "references of the machine's own end point");
}

static bool settled(void *arg)
{
	struct cf_tm *t = arg;
	bool          yes;

	m0_mutex_lock(&t->ct_tm.ntm_mutex);
	yes = t->ct_tm.ntm_callback_counter == 0;
	m0_mutex_unlock(&t->ct_tm.ntm_mutex);
	return yes;
}

void cf_tm_end(struct cf_tm *t)
{
	enum m0_net_tm_state state;

	if (!t->ct_inited)
		return;
	state = cf_state(t);
	t->ct_manual = false;
	if (state == M0_NET_TM_STARTING || state == M0_NET_TM_STARTED ||
	    (state == M0_NET_TM_INITIALIZED &&
	     cf_queue_len(t, M0_NET_QT_MSG_RECV) > 0))
		CF_EQ(cf_stop(t, true), 0, "tm stop at the case's end");
	state = cf_state(t);
	if (state == M0_NET_TM_STOPPING || state == M0_NET_TM_STOPPED)
		cf_wait_state(t, M0_NET_TM_STOPPED);
	cf_wait(settled, t, "callbacks of a stopped machine return");
	CF_TRUE(t->ct_states[M0_NET_TM_STARTED] <= 1,
		"at most one STARTED event");
	CF_TRUE(t->ct_states[M0_NET_TM_STOPPED] +
				t->ct_states[M0_NET_TM_FAILED] <=
			1,
		"at most one STOPPED or FAILED event");
	ledger_check(t);
	ep_check(t);
	CF_EQ(m0_net_tm_fini(&t->ct_tm), 0, "tm fini");
	CF_EQ(t->ct_tm.ntm_state, M0_NET_TM_UNDEFINED, "state after fini");
	t->ct_inited = false;
	if (t->ct_clink_on) {
		m0_clink_del_lock(&t->ct_clink);
		m0_clink_fini(&t->ct_clink);
		m0_chan_fini_lock(&t->ct_chan);
		m0_mutex_fini(&t->ct_lock);
		t->ct_clink_on = false;
	}
}
