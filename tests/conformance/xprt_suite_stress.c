/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Several threads of the application on the same machines, and a heap that
 * runs dry. [r.rpccore.efficient]
 */
#include <sched.h>

#include "xprt_suite.h"

enum {
	THREADS = 4,
	ROUNDS = 60
};

struct user {
	struct m0_thread us_thread;
	struct cf_tm    *us_tm[2];
	uint64_t         us_rnd;
	int             *us_done;
};

/* Only the test's own thread delivers; others look. */
static void user_wait(struct cf_buf *b)
{
	if (cf_tid() == cf.c_main_tid) {
		cf_wait_buf(b);
		return;
	}
	while (cf_get(&b->cb_done) == 0)
		sched_yield();
}

static void user_message(struct user *us, struct cf_tm *from, struct cf_tm *to)
{
	struct cf_buf *r = cf_recv(to, 3000);
	struct cf_buf *s = cf_send(from, to, 1 + m0_rnd(3000, &us->us_rnd), 3);
	struct m0_net_end_point *ep = cf_ep(to, from);

	if (m0_rnd(3, &us->us_rnd) == 0)
		cf_del(s);
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
	user_wait(s);
	/* Another's message may have taken it, or none may come. */
	cf_del(r);
	user_wait(r);
	if (r->cb_last.ce_status == 0)
		cf_check(r, 0, r->cb_last.ce_length, 3);
	cf_buf_free(r);
	cf_buf_free(s);
}

static void user_bulk(struct user *us, struct cf_tm *from, struct cf_tm *to)
{
	m0_bcount_t    nr = 1 + m0_rnd(9000, &us->us_rnd);
	bool           put = m0_rnd(2, &us->us_rnd);
	struct cf_buf *p = cf_passive(to,
				      put ? M0_NET_QT_PASSIVE_BULK_RECV
					  : M0_NET_QT_PASSIVE_BULK_SEND,
				      nr, from);
	struct cf_buf *a = cf_active(from,
				     put ? M0_NET_QT_ACTIVE_BULK_SEND
					 : M0_NET_QT_ACTIVE_BULK_RECV,
				     nr, &p->cb_nb.nb_desc);

	user_wait(a);
	CF_EQ(a->cb_last.ce_status, 0, "active");
	user_wait(p);
	CF_EQ(p->cb_last.ce_status, 0, "passive");
	cf_check(put ? p : a, 0, nr, nr);
	cf_buf_free(p);
	cf_buf_free(a);
}

static void user_run(struct user *us)
{
	int i;

	for (i = 0; i < ROUNDS; ++i) {
		unsigned from = (unsigned)m0_rnd(2, &us->us_rnd);

		if (m0_rnd(2, &us->us_rnd) == 0)
			user_message(us, us->us_tm[from], us->us_tm[!from]);
		else
			user_bulk(us, us->us_tm[from], us->us_tm[!from]);
	}
	cf_inc(us->us_done);
	cf_wake();
}

/* In the simulator there is one thread: the users come one by one. */
static void several_threads(void)
{
	struct user us[THREADS];
	int         done = 0;
	int         i;

	memset(us, 0, sizeof us);
	for (i = 0; i < THREADS; ++i) {
		us[i].us_tm[0] = i == 0 ? cf_up(0) : us[0].us_tm[0];
		us[i].us_tm[1] = i == 0 ? cf_up(1) : us[0].us_tm[1];
		us[i].us_rnd = cf.c_seed * 100 + (uint64_t)i;
		us[i].us_done = &done;
	}
	for (i = 0; i < THREADS; ++i) {
		if (cf.c_sim)
			user_run(&us[i]);
		else
			CF_EQ(M0_THREAD_INIT(&us[i].us_thread, struct user *,
					     NULL, user_run, &us[i], "user"),
			      0, "thread");
	}
	cf_wait_count(&done, THREADS, "all users have ended");
	for (i = 0; i < THREADS && !cf.c_sim; ++i) {
		m0_thread_join(&us[i].us_thread);
		m0_thread_fini(&us[i].us_thread);
	}
}

/* ------------------------------------------------------------ no memory -- */

static bool fine(int rc, const char *what)
{
	CF_TRUE(rc == 0 || rc == -ENOMEM, "%s is %s, expected 0 or ENOMEM",
		what, m0_errname(rc));
	return rc == 0;
}

static bool has_ended(void *arg)
{
	struct cf_tm *t = arg;

	return cf_get(&t->ct_states[M0_NET_TM_STARTED]) +
		       cf_get(&t->ct_states[M0_NET_TM_FAILED]) >
	       0;
}

static void poor_bufs(struct cf_tm *t)
{
	m0_bcount_t              len = 100;
	struct cf_buf           *b = cf_buf_raw(1, &len);
	struct m0_net_end_point *ep;
	char                     addr[CF_ADDR_MAX];
	int                      q;

	cf.c_row->r_addr(addr, 333);
	if (fine(m0_net_end_point_create(&ep, &t->ct_tm, addr), "end point"))
		CF_EQ(m0_net_end_point_put(ep), 0, "put");
	if (!fine(m0_net_buffer_register(&b->cb_nb, t->ct_tm.ntm_dom),
		  "register")) {
		cf_buf_free(b);
		return;
	}
	b->cb_nb.nb_length = 100;
	for (q = M0_NET_QT_MSG_RECV; q <= M0_NET_QT_PASSIVE_BULK_SEND; ++q) {
		b->cb_nb.nb_min_receive_size = 1;
		b->cb_nb.nb_max_receive_msgs = 50;
		if (q == M0_NET_QT_MSG_SEND ||
		    !fine(cf_add(b, t, (enum m0_net_queue_type)q), "add"))
			continue;
		cf_del(b);
		cf_done_is(b, -ECANCELED, "del");
		m0_net_desc_free(&b->cb_nb.nb_desc);
	}
	cf_buf_free(b);
}

/* One allocation after the other fails, in all that a machine's life needs. */
static void no_memory(void)
{
	struct cf_tm *t = cf_tm_new(0);
	uint64_t      nth;

	cf_tm_end(t);
	for (nth = 1;; ++nth) {
		CF_TRUE(nth < 500, "it works with memory for 500 things");
		cf_alloc_fail_at(nth);
		if (fine(m0_net_tm_init(&t->ct_tm, cf_dom(0)), "tm init")) {
			memset(t->ct_states, 0, sizeof t->ct_states);
			memset(t->ct_ledger, 0, sizeof t->ct_ledger);
			t->ct_inited = true;
			if (fine(m0_net_tm_start(&t->ct_tm, t->ct_addr),
				 "start")) {
				cf_wait(has_ended, t, "STARTED or FAILED");
				if (cf_state(t) == M0_NET_TM_STARTED)
					poor_bufs(t);
				else
					CF_EQ(t->ct_failed_status, -ENOMEM,
					      "why it FAILED");
			}
			cf_tm_end(t);
		}
		if (cf_alloc_fail_at(0))
			break;
	}
	CF_TRUE(nth > 3, "some allocations were failed");
}

const struct cf_case xprt_suite_stress[] = {
	{ "several threads of the application", several_threads },
	{ "no memory", no_memory },
	{ NULL, NULL },
};
