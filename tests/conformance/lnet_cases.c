/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cases for the LNet transport alone: m0/xlnet.h.
 * [r.M0.net.xprt.lnet.transport-variable] [r.M0.net.xprt.lnet.user]
 * [r.M0.net.xprt.lnet.address-assignment]
 */
#include <poll.h>
#include <pthread.h>

#include "base/probes.h"
#include "sim/net/sim_raw.h"

#include "m0/lnet.h"
#include "m0/xlnet.h"

#include "cf.h"
#include "lnet_ahead.h"
#include "lnet_rows.h"

enum {
	LARGE = 16 << 20
};

static const char *addr_of(struct cf_tm *t, const char *addr)
{
	CF_EQ(m0_net_tm_start(&t->ct_tm, addr), 0, "start at %s", addr);
	cf_wait_state(t, M0_NET_TM_STARTED);
	snprintf(t->ct_addr, sizeof t->ct_addr, "%s",
		 t->ct_tm.ntm_ep->nep_addr);
	return t->ct_addr;
}

/* `*`: from 4095 downward, and a number that has become free is taken again. */
static void numbers_descend(void)
{
	static const char *const want[] = { "127.0.0.1@tcp:12345:41:4095",
					    "127.0.0.1@tcp:12345:41:4094",
					    "127.0.0.1@tcp:12345:41:4093" };
	struct cf_tm            *t[4];
	int                      i;

	for (i = 0; i < 4; ++i) {
		t[i] = cf_tm_new(0);
		if (i == 3)
			cf_stop_wait(t[1], true);
		CF_TRUE(strcmp(addr_of(t[i], "127.0.0.1@tcp:12345:41:*"),
			       want[i == 3 ? 1 : i]) == 0,
			"got %s, expected %s", t[i]->ct_addr,
			want[i == 3 ? 1 : i]);
	}
	cf_exchange(t[0], t[3]);
	cf_exchange(t[3], t[2]);
}

/* A portal beyond the last is an address: start takes it, and fails. */
static void portal_beyond_fails(void)
{
	static const char        addr[] = "127.0.0.1@tcp:12345:64:1";
	struct cf_tm            *t = cf_tm_new(0);
	struct cf_tm            *other = cf_up(0);
	struct m0_net_end_point *ep;

	CF_EQ(m0_net_tm_start(&t->ct_tm, addr), 0, "start at %s", addr);
	cf_wait_state(t, M0_NET_TM_FAILED);
	CF_EQ(t->ct_failed_status, -EINVAL, "status of the FAILED event");
	CF_EQ(m0_net_end_point_create(&ep, &other->ct_tm, addr), -EINVAL,
	      "end point");
}

/* NULL: the first NID, the default portal. */
static void null_is_a_default(void)
{
	struct cf_tm *t = cf_tm_new(0);

	CF_TRUE(strcmp(addr_of(t, NULL), "127.0.0.1@tcp:12345:40:4095") == 0,
		"picked %s", t->ct_addr);
}

/* A NID that no node of ours has: an address, but not one to start at. */
static void foreign_nid_fails(void)
{
	struct cf_tm *t = cf_tm_new(0);

	CF_EQ(m0_net_tm_start(&t->ct_tm, "10.9.8.7@tcp:12345:40:1"), 0,
	      "an address");
	cf_wait_state(t, M0_NET_TM_FAILED);
	CF_EQ(t->ct_failed_status, -EADDRNOTAVAIL, "why");
}

/* 0@lo is an address, too: of and for this process. */
static void loopback_reaches_us(void)
{
	struct cf_tm *a = cf_tm_new(0);
	struct cf_tm *b = cf_tm_new(1);

	(void)addr_of(a, "0@lo:12345:42:*");
	(void)addr_of(b, "0@lo:12345:42:*");
	cf_exchange(a, b);
	cf_exchange(b, a);
}

/* Portal and number are a node's, whatever the NID. */
static void number_is_taken_on_all_nids(void)
{
	struct cf_tm *a = cf_tm_new(0);
	struct cf_tm *b = cf_tm_new(1);

	(void)addr_of(a, "127.0.0.1@tcp:12345:43:5");
	CF_EQ(m0_net_tm_start(&b->ct_tm, "0@lo:12345:43:5"), 0, "an address");
	cf_wait_state(b, M0_NET_TM_FAILED);
	CF_EQ(b->ct_failed_status, -EADDRINUSE, "why");
}

/* A message is one message of LNet. */
static void message_above_limit(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = cf_recv(b, 2 << 20);

	cf_done_is(cf_send(a, b, M0_NET_LNET_MESSAGE_MAX + 1, 1), -EMSGSIZE,
		   "a message above 1 MiB");
	cf_done_is(cf_send(a, b, M0_NET_LNET_MESSAGE_MAX, 1), 0, "of 1 MiB");
	cf_done_is(r, 0, "which arrives");
}

/* Acknowledged: 0 means that somebody has it. */
static void send_acked(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *r = cf_recv(b, 100);

	m0_net_lnet_send_acked(cf_dom(0), true);
	cf_done_is(cf_send(a, b, 100, 1), 0, "taken");
	cf_done_is(r, 0, "message");
	cf_done_is(cf_send(a, b, 100, 1), -ETIMEDOUT, "no buffer");
	m0_net_lnet_send_acked(cf_dom(0), false);
	cf_done_is(cf_send(a, b, 100, 1), 0, "it has left");
}

/* The nodes' NIDs, 0@lo once, NULL at the end. */
static void ifaces_are_listed(void)
{
	struct m0_net_domain *d = cf_dom(0);
	char                **addrs;

	CF_EQ(m0_net_lnet_ifaces_get(d, &addrs), 0, "get");
	CF_TRUE(strcmp(addrs[0], "0@lo") == 0, "first: %s", addrs[0]);
	CF_TRUE(strcmp(addrs[1], "127.0.0.1@tcp") == 0, "then: %s", addrs[1]);
	CF_TRUE(strcmp(addrs[2], "127.0.0.2@tcp") == 0, "then: %s", addrs[2]);
	CF_TRUE(addrs[3] == NULL, "no more");
	m0_net_lnet_ifaces_put(d, &addrs);
	CF_TRUE(addrs == NULL, "cleared");
}

/* A node in use is not let go of. */
static void node_in_use_is_busy(void)
{
	(void)cf_up(0);
	CF_EQ(m0_net_lnet_unuse(lnet_node(0)), -EBUSY, "a machine is on it");
	CF_EQ(m0_net_lnet_use(lnet_node(0)), -EEXIST, "known");
}

static pthread_barrier_t use_barrier;

static void *node_use(void *arg)
{
	int *rc = arg;

	pthread_barrier_wait(&use_barrier);
	*rc = m0_net_lnet_use(lnet_node(0));
	return NULL;
}

/* Two want to be the one who gives the same node. */
static void node_is_used_once(void)
{
	pthread_t threads[2];
	int       rc[2];
	int       i;
	int       k;

	CF_EQ(pthread_barrier_init(&use_barrier, NULL, 2), 0, "barrier");
	for (i = 0; i < (cf.c_sim ? 0 : 500); ++i) {
		CF_EQ(m0_net_lnet_unuse(lnet_node(0)), 0, "unuse");
		for (k = 0; k < 2; ++k)
			CF_EQ(pthread_create(&threads[k], NULL, node_use,
					     &rc[k]),
			      0, "thread");
		for (k = 0; k < 2; ++k)
			CF_EQ(pthread_join(threads[k], NULL), 0, "join");
		CF_EQ(rc[0] + rc[1], -EEXIST, "one of them");
	}
	pthread_barrier_destroy(&use_barrier);
}

/* Machines that have failed, or stopped, are asked when their node is gone. */
static void node_may_go_first(void)
{
	struct cf_tm *stopped = cf_tm_new_mode(0, CF_INLINE);
	struct cf_tm *failed = cf_tm_new_mode(0, CF_INLINE);
	const char   *addr = addr_of(stopped, stopped->ct_addr);

	CF_EQ(m0_net_tm_start(&failed->ct_tm, addr), 0, "start");
	cf_wait_state(failed, M0_NET_TM_FAILED);
	cf_stop_wait(stopped, true);
	CF_EQ(m0_net_lnet_unuse(lnet_node(0)), 0, "no machine is on it");
	cf_deliver(failed);
	CF_TRUE(!m0_net_buffer_event_pending(&failed->ct_tm), "nothing comes");
	CF_TRUE(m0_net_tm_fd(&failed->ct_tm) >= 0, "a descriptor");
	CF_TRUE(m0_net_tm_fd(&stopped->ct_tm) >= 0, "a descriptor");
	CF_EQ(m0_net_lnet_use(lnet_node(0)), 0, "use");
}

/* Without a node of the application's, a domain opens one as the environment
 * says; the last domain closes it. */
static void default_node(void)
{
	struct cf_tm *a, *b;
	unsigned      i;

	for (i = 0; i < 2; ++i)
		CF_EQ(m0_net_lnet_unuse(lnet_node(i)), 0, "unuse");
	if (cf.c_sim)
		m0_sim_host_use(lnet_host(0));
	setenv("M0_LNET", "tcp7(127.0.0.1)", 1);
	setenv("M0_LNET_PORT", "34567", 1);
	setenv("M0_LNET_ACCEPT", "none", 1);
	setenv("M0_LNET_TIMEOUT_MS", "700", 1);
	a = cf_tm_new(0);
	b = cf_tm_new(1);
	CF_TRUE(strcmp(addr_of(a, NULL), "127.0.0.1@tcp7:12345:40:4095") == 0,
		"picked %s", a->ct_addr);
	(void)addr_of(b, "127.0.0.1@tcp7:12345:40:*");
	cf_exchange(a, b);
	cf_exchange(b, a);
	for (i = 0; i < 2; ++i)
		CF_EQ(m0_net_lnet_use(lnet_node(i)), 0, "use");
	unsetenv("M0_LNET");
	unsetenv("M0_LNET_PORT");
	unsetenv("M0_LNET_ACCEPT");
	unsetenv("M0_LNET_TIMEOUT_MS");
}

/* A node that has room for a few MDs. */
static struct m0_lnet *small_node(void)
{
	struct m0_lnet_cfg *cfg = calloc(1, sizeof *cfg);
	char                why[M0_LNET_WHY_BYTES] = "";
	struct m0_lnet     *ret;

	if (cf.c_sim)
		m0_sim_host_use(lnet_host(0));
	m0_lnet_cfg_default(cfg);
	CF_EQ(m0_lnet_cfg_networks(cfg, "tcp8(127.0.0.1)", why), 0, "%s", why);
	cfg->lc_inline = true;
	cfg->lc_accept = M0_LNET_ACCEPT_NONE;
	cfg->lc_mds_max = 16;
	CF_EQ(m0_lnet_open(&ret, cfg, why), 0, "%s", why);
	free(cfg);
	return ret;
}

/* A buffer that was refused for want of MDs is as one that was never added. */
static void refused_then_added(void)
{
	struct cf_buf  *bufs[17];
	struct m0_lnet *node = small_node();
	struct cf_tm   *t;
	unsigned        nr;
	unsigned        i;
	int             rc = 0;

	for (i = 0; i < 2; ++i)
		CF_EQ(m0_net_lnet_unuse(lnet_node(i)), 0, "unuse");
	CF_EQ(m0_net_lnet_use(node), 0, "use");
	t = cf_tm_new_mode(0, CF_INLINE);
	(void)addr_of(t, "127.0.0.1@tcp8:12345:40:*");
	for (nr = 0; nr < ARRAY_SIZE(bufs); ++nr) {
		bufs[nr] = cf_buf(0, 64);
		rc = cf_add(bufs[nr], t, M0_NET_QT_MSG_RECV);
		if (rc != 0)
			break;
	}
	CF_EQ(rc, -ENOSPC, "buffer %u", nr);
	CF_TRUE(nr > 0, "there is room");
	CF_TRUE(cf_del(bufs[0]), "del");
	cf_done_is(bufs[0], -ECANCELED, "room for another");
	CF_EQ(cf_add(bufs[nr], t, M0_NET_QT_MSG_RECV), 0, "added again");
	cf_stop_wait(t, true);
	CF_EQ(m0_net_lnet_unuse(node), 0, "unuse");
	m0_lnet_close(node);
	for (i = 0; i < 2; ++i)
		CF_EQ(m0_net_lnet_use(lnet_node(i)), 0, "use");
}

static enum m0_net_queue_type passive_of(bool put)
{
	return put ? M0_NET_QT_PASSIVE_BULK_RECV : M0_NET_QT_PASSIVE_BULK_SEND;
}

static enum m0_net_queue_type active_of(bool put)
{
	return put ? M0_NET_QT_ACTIVE_BULK_SEND : M0_NET_QT_ACTIVE_BULK_RECV;
}

/* Another transfer with p's descriptor; false if nobody has answered it. */
static bool begun_anew(struct cf_tm *a, struct cf_buf *p, bool put)
{
	struct cf_buf *y =
		cf_active(a, active_of(put), LARGE, &p->cb_nb.nb_desc);
	bool done;

	cf_wait_buf(y);
	done = y->cb_last.ce_status == 0;
	if (!done)
		CF_EQ(y->cb_last.ce_status, -ETIMEDOUT, "nobody answers");
	else if (!put)
		cf_check(y, 0, LARGE, LARGE);
	cf_buf_free(y);
	return done;
}

/*
 * An initiator gives up in the middle; another one, or the same, begins anew
 * with the same descriptor: the buffer ends with that one's data.
 *
 * Who gives up between the last piece and the word of its arrival cannot know
 * that all of it has come. Then the passive buffer ends with that, and nobody
 * answers the new one. What it never sees is the giving up.
 */
static void abandoned_then_done(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	int           put, i;

	for (i = 0; i < 6; ++i) {
		struct cf_buf *p, *x;

		put = i % 2;
		p = cf_passive(b, passive_of(put), LARGE, NULL);
		x = cf_active(a, active_of(put), LARGE, &p->cb_nb.nb_desc);
		cf_run_ms((unsigned)cf_rand(3));
		cf_del(x);
		cf_wait_buf(x);
		if (x->cb_last.ce_status != 0) {
			CF_EQ(x->cb_last.ce_status, -ECANCELED, "given up");
			while (!begun_anew(a, p, put) && !cf_get(&p->cb_done))
				;
		}
		cf_done_is(p, 0, "passive");
		if (put)
			cf_check(p, 0, LARGE, LARGE);
		cf_buf_free(x);
		cf_buf_free(p);
	}
}

static bool both_done(void *arg)
{
	struct cf_buf **b = arg;

	return cf_get(&b[0]->cb_done) && cf_get(&b[1]->cb_done);
}

/* The connections break under a copy: all ends in time, and again it works. */
static void cut_under_bulk(void)
{
	struct cf_tm *t[2] = { cf_up(0), cf_up(1) };
	int           i;

	if (!cf.c_sim)
		return;
	for (i = 0; i < 10; ++i) {
		bool           put = i % 2;
		struct cf_buf *b[2], *s;

		b[1] = cf_passive(t[1], passive_of(put), LARGE, NULL);
		b[1]->cb_nb.nb_timeout = M0_TIME_NEVER;
		b[0] = cf_active(t[0], active_of(put), LARGE,
				 &b[1]->cb_nb.nb_desc);
		s = cf_send(t[0], t[1], 100, 1);
		cf_run_ms((unsigned)cf_rand(4));
		m0_sim_host_reset(lnet_host((unsigned)i % 2));
		cf_wait_buf(b[0]);
		cf_wait_buf(s);
		if (b[0]->cb_last.ce_status != 0)
			cf_del(b[1]);
		cf_wait(both_done, b, "both sides have ended");
		if (b[0]->cb_last.ce_status == 0)
			CF_EQ(b[1]->cb_last.ce_status, 0,
			      "who is told of success tells the truth");
		cf_buf_free(b[0]);
		cf_buf_free(b[1]);
		cf_buf_free(s);
		cf_run_ms(150);
	}
	cf_exchange(t[0], t[1]);
	cf_exchange(t[1], t[0]);
}

/*
 * A connection of before a silence may break only now, and by LNet's rule takes
 * those made since with it: a message may be lost to that, but not all.
 */
static void exchange_at_last(struct cf_tm *from, struct cf_tm *to)
{
	struct cf_buf *r = cf_recv(to, 512);
	int            i;

	for (i = 0; i < 4 && !cf_get(&r->cb_done); ++i) {
		struct cf_buf *s = cf_send(from, to, 200, 77);

		cf_wait_buf(s);
		if (s->cb_last.ce_status != 0)
			CF_EQ(s->cb_last.ce_status, -ECONNRESET, "as lost");
		cf_buf_free(s);
		cf_run_ms(500);
	}
	cf_done_is(r, 0, "a message is received");
	cf_check(r, 0, 200, 77);
	cf_buf_free(r);
}

/* Silence, and no reset: the transaction's time is the bound. */
static void silence_under_bulk(void)
{
	struct cf_tm *t[2] = { cf_up(0), cf_up(1) };
	int           i;

	if (!cf.c_sim)
		return;
	cf_exchange(t[0], t[1]);
	for (i = 0; i < 4; ++i) {
		bool           put = i % 2;
		struct cf_buf *b[2];
		m0_time_t      begin;

		b[1] = cf_passive(t[1], passive_of(put), LARGE, NULL);
		b[0] = cf_active(t[0], active_of(put), LARGE,
				 &b[1]->cb_nb.nb_desc);
		cf_run_ms(1 + (unsigned)cf_rand(2));
		m0_sim_host_cut(lnet_host(1), true);
		begin = m0_time_now();
		cf_wait_buf(b[0]);
		CF_TRUE(m0_time_now() - begin < 3 * M0_TIME_ONE_SECOND,
			"within the time-outs");
		m0_sim_host_cut(lnet_host(1), false);
		if (b[0]->cb_last.ce_status != 0)
			cf_del(b[1]);
		cf_wait(both_done, b, "both sides have ended");
		cf_buf_free(b[0]);
		cf_buf_free(b[1]);
		cf_run_ms(2000);
	}
	exchange_at_last(t[0], t[1]);
}

static struct cf_buf *refused;

/* No lock is held where this is told. */
static void refused_cancel(void *arg, const char *name, const char *text)
{
	struct cf_buf *b = refused;

	(void)arg;
	(void)text;
	if (b == NULL || strcmp(name, "desc_refused") != 0)
		return;
	refused = NULL;
	CF_TRUE(cf_del(b), "queued still");
}

/* A buffer is cancelled while its descriptor is found to be none: the next
 * operation of that buffer knows nothing of it. */
static void cancelled_while_refused(void)
{
	struct cf_tm  *a, *b;
	struct cf_buf *p, *x;

	if (cf.c_sim)
		return;
	m0_probe_sink_set(refused_cancel, NULL);
	a = cf_up(0);
	b = cf_up(1);
	p = cf_passive(b, M0_NET_QT_PASSIVE_BULK_SEND, 4096, NULL);
	x = cf_buf(0, 4096);
	refused = x;
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &x->cb_nb.nb_desc), 0,
	      "copy");
	x->cb_nb.nb_desc.nbd_data[x->cb_nb.nb_desc.nbd_len / 2] ^= 1;
	cf_add_ok(x, a, M0_NET_QT_ACTIVE_BULK_RECV);
	cf_done_is(x, -ECANCELED, "it was");
	m0_net_desc_free(&x->cb_nb.nb_desc);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &x->cb_nb.nb_desc), 0,
	      "copy");
	cf_add_ok(x, a, M0_NET_QT_ACTIVE_BULK_RECV);
	cf_done_is(x, 0, "nobody has cancelled that");
	cf_done_is(p, 0, "passive");
	cf_check(x, 0, 4096, 4096);
}

static int      watched_fd;
static unsigned readable_nr;
static bool     watch_ends;

/* Counts how often a descriptor is readable. */
static void *watch(void *unused)
{
	struct pollfd pfd = { .fd = watched_fd, .events = POLLIN };

	while (!__atomic_load_n(&watch_ends, __ATOMIC_ACQUIRE))
		readable_nr += poll(&pfd, 1, 10) == 1;
	return unused;
}

static void exchange_unpolled(struct cf_tm *from, struct cf_tm *to)
{
	struct cf_buf *r = cf_recv(to, 64);
	struct cf_buf *s = cf_send(from, to, 8, 1);

	while (cf_get(&r->cb_done) == 0 || cf_get(&s->cb_done) == 0)
		m0_time_sleep(m0_time_from_now(0, 100 * M0_TIME_ONE_USEC));
}

/* A node gets a thread for a second machine on it. From then on the descriptor
 * of the first, which is polled, says nothing of what that thread has to do. */
static void polled_beside_a_thread(void)
{
	struct cf_tm *polled;
	struct cf_tm *a;
	struct cf_tm *b;
	pthread_t     watcher;
	int           i;

	if (cf.c_sim)
		return;
	polled = cf_tm_new_mode(0, CF_INLINE);
	cf_tm_begin_start(polled);
	cf_wait_state(polled, M0_NET_TM_STARTED);
	watched_fd = m0_net_tm_fd(&polled->ct_tm);
	CF_TRUE(watched_fd >= 0, "a descriptor");
	a = cf_tm_new_mode(0, CF_ASYNC);
	b = cf_tm_new_mode(1, CF_ASYNC);
	cf_tm_begin_start(a);
	cf_wait_state(a, M0_NET_TM_STARTED);
	cf_tm_begin_start(b);
	cf_wait_state(b, M0_NET_TM_STARTED);
	cf_deliver(polled);
	CF_EQ(pthread_create(&watcher, NULL, watch, NULL), 0, "a thread");
	for (i = 0; i < 300; ++i)
		exchange_unpolled(a, b);
	__atomic_store_n(&watch_ends, true, __ATOMIC_RELEASE);
	CF_EQ(pthread_join(watcher, NULL), 0, "join");
	CF_EQ(readable_nr, 0, "nothing was for it");
}

static void probe_done(struct m0_lnet_probe *probe)
{
	cf_inc(probe->pr_user);
}

static void probe_is(enum m0_lnet_probe_kind kind, const char *nid, int status)
{
	struct m0_lnet_probe probe;
	int                  done = 0;

	memset(&probe, 0, sizeof probe);
	probe.pr_kind = kind;
	probe.pr_self = m0_lnet_nid_any;
	probe.pr_timeout_ms = 2000;
	probe.pr_done = probe_done;
	probe.pr_user = &done;
	CF_EQ(m0_lnet_nid_parse(&probe.pr_nid, nid), 0, "a NID");
	CF_EQ(m0_lnet_probe(lnet_node(0), &probe), 0, "probe");
	cf_wait_count(&done, 1, "the probe has ended");
	CF_EQ(probe.pr_status, status, "its outcome");
	if (status != 0)
		return;
	CF_EQ(probe.pr_nids_nr, 1, "NIDs of the other node");
	CF_TRUE(m0_lnet_nid_eq(&probe.pr_nids[0], &probe.pr_nid),
		"the NID that was asked");
	/* A discovery of a peer that is up to date sends nothing. */
	CF_TRUE(kind == M0_LNET_DISCOVER ||
			!m0_lnet_nid_is_any(&probe.pr_source),
		"the NID that asked");
}

/* Ping and discovery of the other node, and of one that is not there. */
static void probes(void)
{
	(void)cf_up(0);
	(void)cf_up(1);
	probe_is(M0_LNET_PING, "127.0.0.2@tcp", 0);
	probe_is(M0_LNET_DISCOVER, "127.0.0.2@tcp", 0);
	probe_is(M0_LNET_DISCOVER, "127.0.0.2@tcp", 0);
	probe_is(M0_LNET_PING, "10.0.0.9@tcp7", -EHOSTUNREACH);
}

static const struct cf_case cases[] = {
	{ "numbers descend", numbers_descend },
	{ "NULL is a default", null_is_a_default },
	{ "portal beyond the last fails", portal_beyond_fails },
	{ "foreign NID fails", foreign_nid_fails },
	{ "0@lo reaches us", loopback_reaches_us },
	{ "a number is taken on all NIDs", number_is_taken_on_all_nids },
	{ "message above the limit", message_above_limit },
	{ "send, acknowledged", send_acked },
	{ "interfaces are listed", ifaces_are_listed },
	{ "node in use is busy", node_in_use_is_busy },
	{ "node is used once", node_is_used_once },
	{ "node may go first", node_may_go_first },
	{ "default node", default_node },
	{ "refused, then added", refused_then_added },
	{ "abandoned, then done", abandoned_then_done },
	{ "cut under bulk", cut_under_bulk },
	{ "silence under bulk", silence_under_bulk },
	{ "cancelled while refused", cancelled_while_refused },
	{ "polled beside a thread", polled_beside_a_thread },
	{ "added before it was sent", lnet_added_before_it_was_sent },
	{ "begins with its poll", lnet_begins_with_its_poll },
	{ "probes", probes },
	{ NULL, NULL }
};

static const struct cf_suite suites[] = { { "lnet", cases }, { NULL, NULL } };

int main(int argc, char **argv)
{
	lnet_ahead_begin();
	return cf_main(argc, argv, suites);
}
