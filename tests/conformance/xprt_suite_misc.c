/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Statistics, processors, idleness, allocation.
 * [r.M0.net.xprt.lnet.processor-affinity] [r.messaging.processor_affinity]
 */
#include <sched.h>

#include "lib/threads.h"
#include "xprt_suite.h"

/* Counts, bytes and times of every queue; reset; after STOPPED. */
static void statistics(void)
{
	struct cf_tm        *a = cf_up(0);
	struct cf_tm        *b = cf_up(1);
	struct m0_net_qstats qs, all[M0_NET_QT_NR];
	struct cf_buf       *r, *s;
	m0_bcount_t          sum = 0;
	int                  i, q;

	for (i = 1; i <= 10; ++i) {
		r = cf_recv(b, 1000);
		cf_run_ms(1);
		s = cf_send(a, b, (m0_bcount_t)i * 10, 1);
		cf_done_is(s, 0, "send");
		cf_done_is(r, 0, "receive");
		sum += (m0_bcount_t)i * 10;
	}
	qs = cf_stats(b, M0_NET_QT_MSG_RECV);
	CF_EQ(qs.nqs_num_adds, 10, "adds");
	CF_EQ(qs.nqs_num_s_events, 10, "s_events");
	CF_EQ(qs.nqs_num_f_events, 0, "f_events");
	CF_EQ(qs.nqs_num_dels, 0, "dels");
	CF_EQ(qs.nqs_total_bytes, sum, "bytes received");
	CF_EQ(qs.nqs_max_bytes, 100, "largest");
	CF_TRUE(qs.nqs_time_in_queue >= 10 * M0_TIME_ONE_MSEC,
		"each waited 1 ms at least: %llu ns",
		(unsigned long long)qs.nqs_time_in_queue);
	qs = cf_stats(a, M0_NET_QT_MSG_SEND);
	CF_EQ(qs.nqs_total_bytes, sum, "bytes sent");
	CF_EQ(qs.nqs_max_bytes, 100, "largest");
	CF_EQ(m0_net_tm_stats_get(&b->ct_tm, M0_NET_QT_NR, all, true), 0,
	      "all, with reset");
	CF_EQ(all[M0_NET_QT_MSG_RECV].nqs_num_adds, 10, "what was before");
	b->ct_stats_off = true;
	cf_stop_wait(b, true);
	CF_EQ(m0_net_tm_stats_get(&b->ct_tm, M0_NET_QT_NR, all, false), 0,
	      "after STOPPED");
	for (q = 0; q < M0_NET_QT_NR; ++q)
		CF_EQ(all[q].nqs_num_adds + all[q].nqs_num_s_events +
			      all[q].nqs_total_bytes + all[q].nqs_max_bytes +
			      all[q].nqs_time_in_queue,
		      0, "queue %d is reset", q);
	CF_EQ(m0_net_tm_stats_get(&a->ct_tm, M0_NET_QT_MSG_SEND, NULL, true), 0,
	      "NULL with reset");
	a->ct_stats_off = true;
	CF_EQ(cf_stats(a, M0_NET_QT_MSG_SEND).nqs_num_adds, 0, "reset");
}

/* Bulk: bytes on the receiving sides are nbe_length, else nb_length. */
static void statistics_bulk(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *p =
		cf_passive(b, M0_NET_QT_PASSIVE_BULK_SEND, 3000, NULL);
	struct cf_buf       *x = cf_active(a, M0_NET_QT_ACTIVE_BULK_RECV, 4000,
					   &p->cb_nb.nb_desc);
	struct m0_net_qstats qs;

	cf_done_is(x, 0, "get");
	cf_done_is(p, 0, "passive");
	qs = cf_stats(a, M0_NET_QT_ACTIVE_BULK_RECV);
	CF_EQ(qs.nqs_total_bytes, 3000, "received");
	qs = cf_stats(b, M0_NET_QT_PASSIVE_BULK_SEND);
	CF_EQ(qs.nqs_total_bytes, 3000, "sent");
	CF_EQ(qs.nqs_max_bytes, 3000, "largest");
	p = cf_passive(b, M0_NET_QT_PASSIVE_BULK_RECV, 10, NULL);
	CF_TRUE(cf_del(p), "queued");
	cf_wait_buf(p);
	qs = cf_stats(b, M0_NET_QT_PASSIVE_BULK_RECV);
	CF_EQ(qs.nqs_total_bytes, 0, "a failure moves no bytes");
	CF_EQ(qs.nqs_num_f_events, 1, "f_events");
}

static int cpu_seen = -1;

static void look_at_cpu(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)b;
	(void)ev;
	__atomic_store_n(&cpu_seen, sched_getcpu(), __ATOMIC_RELAXED);
}

/* A thread that watches a time-out is there already: that is said. */
static void confine_too_late(void)
{
	struct cf_tm    *t = cf_tm_new_mode(0, CF_ASYNC);
	struct cf_buf   *b = cf_buf(0, 64);
	struct m0_bitmap map;

	CF_EQ(m0_bitmap_init(&map, 4096), 0, "bitmap");
	m0_bitmap_set(&map, (size_t)threads_cpu(), true);
	CF_EQ(m0_net_tm_confine(&t->ct_tm, &map), 0, "in time");
	cf_add_within(b, t, M0_NET_QT_MSG_RECV, 60 * M0_TIME_ONE_SECOND);
	CF_EQ(m0_net_tm_confine(&t->ct_tm, &map), -EBUSY, "too late");
	m0_bitmap_fini(&map);
	CF_TRUE(cf_del(b), "queued");
	cf_done_is(b, -ECANCELED, "del");
}

/* A confined machine calls back on its processors; none such: -EINVAL. */
static void confine(void)
{
	struct cf_tm    *t = cf_tm_new_mode(0, CF_ASYNC);
	struct cf_tm    *peer = cf_up(1);
	struct m0_bitmap map;
	int              cpu = threads_cpu();
	int              i;

	CF_EQ(m0_bitmap_init(&map, 4096), 0, "bitmap");
	CF_EQ(m0_net_tm_confine(&t->ct_tm, &map), -EINVAL, "no processor");
	m0_bitmap_set(&map, 4000, true);
	CF_EQ(m0_net_tm_confine(&t->ct_tm, &map), -EINVAL, "no such processor");
	m0_bitmap_set(&map, 4000, false);
	m0_bitmap_set(&map, (size_t)cpu, true);
	CF_EQ(m0_net_tm_confine(&t->ct_tm, &map), 0, "processor %d", cpu);
	m0_bitmap_fini(&map);
	m0_net_tm_spin_set(&t->ct_tm, 0);
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	for (i = 0; i < 20; ++i) {
		struct cf_buf *r = cf_recv(t, 64);

		r->cb_hook = look_at_cpu;
		cpu_seen = -1;
		cf_send(peer, t, 10, 1);
		cf_done_is(r, 0, "message");
		cf_run_ms(1);
		/* In the simulator no strand has a processor of its own. */
		if (!cf.c_sim)
			CF_EQ(__atomic_load_n(&cpu_seen, __ATOMIC_RELAXED), cpu,
			      "processor of a callback");
	}
}

static void tm_confine(struct cf_tm *t)
{
	struct m0_bitmap map;

	CF_EQ(m0_bitmap_init(&map, 4096), 0, "bitmap");
	m0_bitmap_set(&map, (size_t)threads_cpu(), true);
	CF_EQ(m0_net_tm_confine(&t->ct_tm, &map), 0, "confine");
	m0_bitmap_fini(&map);
}

/* In every mode each of its threads is on the machine's processors. */
static void confine_all_threads(void)
{
	enum {
		WORKERS = 3
	};
	int cpu = threads_cpu();
	int mode;

	/* In the simulator, or with one processor, there is nothing to see. */
	if (cf.c_sim || threads_cpus_nr() == 1)
		return;
	for (mode = CF_ASYNC; mode <= CF_INLINE; ++mode) {
		struct cf_tm *t = cf_tm_new_mode(0, (enum cf_mode)mode);
		int           nr = 1;

		if (cf.c_row->r_workers_set != NULL && mode != CF_INLINE) {
			cf.c_row->r_workers_set(&t->ct_tm, WORKERS);
			nr = WORKERS;
		}
		tm_confine(t);
		cf_tm_begin_start(t);
		cf_wait_state(t, M0_NET_TM_STARTED);
		CF_EQ(threads_on("net-tm", cpu), nr, "threads in mode %d",
		      mode);
		cf_tm_end(t);
	}
}

/* The name of the thread that moves bytes for all machines; NULL: there is none. */
static const char *mover(void)
{
	if (strstr(cf.c_row->r_name, "lnet") != NULL)
		return "m0-lnet";
	return strcmp(cf.c_row->r_name, "sunrpc") == 0 ? "net-sunrpc" : NULL;
}

/* The transport's thread follows a confined TM only while that is alone. */
static void confine_alone(void)
{
	int           cpu = threads_cpu();
	struct cf_tm *t = cf_tm_new_mode(0, CF_ASYNC);
	struct cf_tm *others[2];
	size_t        i;

	tm_confine(t);
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	if (cf.c_sim || threads_cpus_nr() == 1 || mover() == NULL)
		return;
	CF_EQ(threads_on(mover(), cpu), 1, "alone: the thread follows");
	/* One of them is on the same node. */
	for (i = 0; i < ARRAY_SIZE(others); ++i) {
		others[i] = cf_tm_new_mode(0, CF_ASYNC);
		cf_tm_begin_start(others[i]);
		cf_wait_state(others[i], M0_NET_TM_STARTED);
	}
	CF_EQ(threads_on(mover(), cpu), 0, "not for two");
	for (i = 0; i < ARRAY_SIZE(others); ++i)
		cf_tm_end(others[i]);
	CF_EQ(threads_on(mover(), cpu), 1, "alone again");
	cf_tm_end(t);
	CF_EQ(threads_on(mover(), cpu), 0, "there is none");
}

/* Spin times of 0 and much work the same. */
static void spin(void)
{
	static const m0_time_t ns[] = { 0, 1000, 2000000 };
	unsigned               i;

	for (i = 0; i < ARRAY_SIZE(ns); ++i) {
		struct cf_tm *a = cf_tm_new(0);
		struct cf_tm *b = cf_tm_new(1);

		m0_net_tm_spin_set(&a->ct_tm, ns[i]);
		m0_net_tm_spin_set(&b->ct_tm, ns[i]);
		cf_tm_begin_start(a);
		cf_tm_begin_start(b);
		cf_wait_state(a, M0_NET_TM_STARTED);
		cf_wait_state(b, M0_NET_TM_STARTED);
		cf_exchange(a, b);
		cf_exchange(b, a);
		cf_tm_end(a);
		cf_tm_end(b);
	}
}

/* A hundred idle machines wake no thread. */
static void idle(void)
{
	int      tries = cf.c_sim ? 1 : 10;
	uint64_t woken = 0;
	uint64_t before;
	int      i;

	for (i = 0; i < 100; ++i) {
		struct cf_tm *t = cf_up((unsigned)i % 4);

		cf_recv(t, 64);
	}
	cf_exchange(cf.c_tm[0], cf.c_tm[1]);
	/*
	 * Threads that still spin, or were delayed by a busy processor, come to
	 * rest; those that wake by a clock do not.
	 */
	cf_sleep_ms(30);
	for (i = 0; i < tries; ++i) {
		before = cf_activity();
		cf_sleep_ms(200);
		woken = cf_activity() - before;
		if (woken == 0)
			break;
	}
	CF_EQ(woken, 0, "wake-ups in 200 ms of 100 idle machines");
}

/* A put into `into`. */
static void traffic_put(struct cf_tm *a, struct cf_tm *b, struct cf_buf *into,
			struct cf_buf *from)
{
	cf_add_ok(into, b, M0_NET_QT_PASSIVE_BULK_RECV);
	CF_EQ(m0_net_desc_copy(&into->cb_nb.nb_desc, &from->cb_nb.nb_desc), 0,
	      "copy");
	cf_add_ok(from, a, M0_NET_QT_ACTIVE_BULK_SEND);
	cf_done_is(from, 0, "put");
	cf_done_is(into, 0, "passive");
	m0_net_desc_free(&into->cb_nb.nb_desc);
	m0_net_desc_free(&from->cb_nb.nb_desc);
}

static void traffic(struct cf_tm *a, struct cf_tm *b, struct cf_buf **x)
{
	int i;

	for (i = 0; i < 20; ++i) {
		cf_add_ok(x[0], b, M0_NET_QT_MSG_RECV);
		cf_add_ok(x[1], a, M0_NET_QT_MSG_SEND);
		cf_done_is(x[1], 0, "send");
		cf_done_is(x[0], 0, "receive");
		cf_add_ok(x[2], b, M0_NET_QT_PASSIVE_BULK_SEND);
		CF_EQ(m0_net_desc_copy(&x[2]->cb_nb.nb_desc,
				       &x[3]->cb_nb.nb_desc),
		      0, "copy");
		cf_add_ok(x[3], a, M0_NET_QT_ACTIVE_BULK_RECV);
		cf_done_is(x[3], 0, "get");
		cf_done_is(x[2], 0, "passive");
		m0_net_desc_free(&x[2]->cb_nb.nb_desc);
		m0_net_desc_free(&x[3]->cb_nb.nb_desc);
		traffic_put(a, b, x[2], x[3]);
		cf_add_within(x[0], b, M0_NET_QT_MSG_RECV, M0_TIME_ONE_MSEC);
		cf_del(x[0]);
		cf_wait_buf(x[0]);
	}
}

/* After a warm-up messages, bulk and descriptors allocate nothing. */
static void no_allocation(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *x[4];
	uint64_t       before;
	int            i;

	for (i = 0; i < 4; ++i) {
		x[i] = cf_buf(i % 2 ? 0 : 1, 8000);
		x[i]->cb_nb.nb_length = 8000;
	}
	x[1]->cb_nb.nb_ep = cf_ep(a, b);
	traffic(a, b, x);
	before = cf_allocs();
	traffic(a, b, x);
	CF_EQ(cf_allocs() - before, 0, "allocations on the data path");
	CF_EQ(m0_net_end_point_put(x[1]->cb_nb.nb_ep), 0, "put");
}

const struct cf_case xprt_suite_misc[] = {
	{ "statistics", statistics },
	{ "statistics of bulk", statistics_bulk },
	{ "confine", confine },
	{ "confine, too late", confine_too_late },
	{ "confine, all threads", confine_all_threads },
	{ "confine, alone", confine_alone },
	{ "spin", spin },
	{ "idle", idle },
	{ "no allocation", no_allocation },
	{ NULL, NULL }
};
