/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The fixture: checks, waiting, the life of a case. */
#include <stdarg.h>
#include <unistd.h>

#include "cf.h"
#include "cf_internal.h"

struct cf cf;

/* Bound of every wait: virtual time costs nothing, so it is the same. */
enum {
	CF_LIMIT_S = 40
};

static bool is_errno(long long v)
{
	return v < 0 && v > -200;
}

static void print_number(long long v)
{
	if (is_errno(v))
		fprintf(stderr, "%lld (-%s)", v, m0_errname((int)v));
	else
		fprintf(stderr, "%lld", v);
}

static void say_where(const char *file, int line)
{
	const char *base = strrchr(file, '/');

	fprintf(stderr, "# %s [%s, %s", cf.c_case, cf.c_row->r_name,
		cf__mode_name(cf.c_mode));
	if (cf.c_sim)
		fprintf(stderr, ", M0_SEED=%llu",
			(unsigned long long)cf.c_seed);
	fprintf(stderr, "] %s:%d: ", base == NULL ? file : base + 1, line);
}

static void end_process(void)
{
	fflush(NULL);
	if (cf.c_sim)
		cf__env_report();
	if (getenv("CF_ABORT") != NULL)
		abort();
	_exit(1);
}

void cf_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	say_where(file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	end_process();
	abort();
}

void cf_eq(long long got, long long want, const char *expr, const char *file,
	   int line, const char *fmt, ...)
{
	va_list args;

	if (M0_LIKELY(got == want))
		return;
	say_where(file, line);
	fprintf(stderr, "%s is ", expr);
	print_number(got);
	fprintf(stderr, ", expected ");
	print_number(want);
	fprintf(stderr, ": ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	end_process();
}

/* ---------------------------------------------------- time and waiting -- */

uint64_t cf_rand(uint64_t below)
{
	return m0_rnd(below, &cf.c_rnd);
}

void cf_wake(void)
{
	m0_semaphore_up(&cf.c_sem);
}

void cf_yield(void)
{
	cf__env_yield();
}

static bool pumpable(struct cf_tm *t)
{
	enum m0_net_tm_state state = cf_state(t);

	return !t->ct_manual && !t->ct_tm.ntm_bev_auto_deliver &&
	       state >= M0_NET_TM_INITIALIZED && state <= M0_NET_TM_STOPPING;
}

bool cf_pump(void)
{
	bool     did = false;
	unsigned i;

	if (cf.c_row->r_turn != NULL)
		cf.c_row->r_turn();
	for (i = 0; i < cf.c_tm_nr; ++i) {
		struct cf_tm *t = cf.c_tm[i];

		if (t == NULL || !t->ct_inited || !pumpable(t))
			continue;
		if (m0_net_buffer_event_pending(&t->ct_tm)) {
			cf_deliver(t);
			did = true;
		}
	}
	return did;
}

/* Half of the looks in these modes end in a notify, the others in a poll. */
static void ask_for_notice(void)
{
	unsigned i;

	if (cf_rand(2) == 0)
		return;
	for (i = 0; i < cf.c_tm_nr; ++i) {
		struct cf_tm *t = cf.c_tm[i];

		if (t != NULL && t->ct_inited && pumpable(t) &&
		    cf_state(t) == M0_NET_TM_STARTED)
			m0_net_buffer_event_notify(&t->ct_tm, &t->ct_chan);
	}
}

bool cf_wait_ns(bool (*cond)(void *arg), void *arg, m0_time_t limit_ns)
{
	m0_time_t end = m0_time_add(m0_time_now(), limit_ns);
	m0_time_t now;

	while (!cond(arg)) {
		if (cf_pump())
			continue;
		now = m0_time_now();
		if (now >= end)
			return cond(arg);
		ask_for_notice();
		(void)m0_semaphore_timeddown(&cf.c_sem,
					     min64u(end, now + cf.c_pause_ns));
	}
	return true;
}

void cf_wait(bool (*cond)(void *arg), void *arg, const char *what)
{
	cf.c_waiting = what;
	if (!cf_wait_ns(cond, arg, CF_LIMIT_S * M0_TIME_ONE_SECOND))
		cf_fail(__FILE__, __LINE__,
			"expected within %d s, and did not happen: %s",
			CF_LIMIT_S, what);
	cf.c_waiting = NULL;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void cf_run_ms(unsigned ms)
{
	(void)cf_wait_ns(never, NULL, ms * M0_TIME_ONE_MSEC);
}

struct count {
	const int *counter;
	int        want;
};

static bool count_is(void *arg)
{
	const struct count *c = arg;

	return cf_get(c->counter) >= c->want;
}

void cf_wait_count(const int *counter, int want, const char *what)
{
	struct count c = { counter, want };

	cf_wait(count_is, &c, what);
}

static bool buf_done(void *arg)
{
	const struct cf_buf *b = arg;

	return cf_get(&b->cb_done) > 0 && cf_get(&cf.c_inside) == 0;
}

static const char *const qt_names[M0_NET_QT_NR] = {
	"final event of a MSG_RECV buffer",
	"final event of a MSG_SEND buffer",
	"final event of a PASSIVE_BULK_RECV buffer",
	"final event of a PASSIVE_BULK_SEND buffer",
	"final event of an ACTIVE_BULK_RECV buffer",
	"final event of an ACTIVE_BULK_SEND buffer",
};

void cf_wait_buf(struct cf_buf *b)
{
	cf_wait(buf_done, b, qt_names[b->cb_nb.nb_qtype]);
}

void cf_wait_events(struct cf_buf *b, int nr)
{
	cf_wait_count(&b->cb_events, nr, "events of a buffer");
}

void cf_wait_state(struct cf_tm *t, enum m0_net_tm_state state)
{
	static const char *const names[] = {
		[M0_NET_TM_STARTED] = "STARTED event",
		[M0_NET_TM_STOPPED] = "STOPPED event",
		[M0_NET_TM_FAILED] = "FAILED event",
	};

	cf_wait_count(&t->ct_states[state], 1, names[state]);
}

/* ----------------------------------------------------------- case life -- */

struct m0_net_domain *cf_dom(unsigned nr)
{
	struct m0_net_domain *dom = &cf.c_dom[nr];

	if (dom->nd_xprt == NULL)
		CF_EQ(m0_net_domain_init(dom, cf.c_row->r_xprt), 0,
		      "domain init");
	return dom;
}

void cf_begin(void)
{
	m0_semaphore_init(&cf.c_sem, 0);
	cf.c_rnd = cf.c_seed * 2654435761u + 1;
	cf.c_main_tid = cf_tid();
	cf.c_tm_nr = 0;
	cf.c_inside = 0;
	cf.c_bufs = NULL;
	cf.c_addr_nr = 0;
	/* Inline machines move only when polled: look often, virtually. */
	cf.c_pause_ns = cf.c_sim ? 100 * M0_TIME_ONE_USEC : M0_TIME_ONE_MSEC;
	memset(cf.c_dom, 0, sizeof cf.c_dom);
	memset(cf.c_tm, 0, sizeof cf.c_tm);
	if (cf.c_row->r_begin != NULL)
		cf.c_row->r_begin();
	CF_EQ(m0_net_init(), 0, "net init");
}

static void buf_end(struct cf_buf *b)
{
	CF_EQ(b->cb_finals, b->cb_adds,
	      "promise 1: one final event for each add of a buffer");
	cf_buf_free(b);
}

void cf_end(void)
{
	unsigned i;

	for (i = 0; i < cf.c_tm_nr; ++i)
		if (cf.c_tm[i] != NULL)
			cf_tm_end(cf.c_tm[i]);
	while (cf.c_bufs != NULL)
		buf_end(cf.c_bufs);
	cf__pools_end();
	for (i = 0; i < CF_DOMS; ++i) {
		if (cf.c_dom[i].nd_xprt == NULL)
			continue;
		CF_EQ(m0_net_domain_fini(&cf.c_dom[i]), 0,
		      "domain fini when everything is gone");
	}
	for (i = 0; i < cf.c_tm_nr; ++i)
		free(cf.c_tm[i]);
	CF_EQ(m0_net_fini(), 0, "net fini");
	if (cf.c_row->r_end != NULL)
		cf.c_row->r_end();
	m0_semaphore_fini(&cf.c_sem);
}
