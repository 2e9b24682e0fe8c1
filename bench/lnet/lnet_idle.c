/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cost of idle peers. A node with a thread of its own, in its default
 * configuration, is in this process; another process has many nodes without
 * threads, each with an address of its own in 127.0.0.0/8, that have pinged it
 * and then exchange keepalives only.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "lnet_duo.h"
#include "m0/lnet.h"

enum {
	SETUP_S = 75,
	/** Seconds after which the effects of connecting are over. */
	CALM_S = 10,
	EVENTS_MAX = 64,
	PEERS_MAX = 16 << 10,
	/** Pings under way: no more than the node lets come at a time. */
	PINGS_MAX = 16
};

/** One peer, in the other process. */
struct peer {
	struct m0_lnet      *p_lnet;
	struct m0_lnet_probe p_probe;
	bool                 p_done;
};

struct peers {
	struct peer *ps_peers;
	unsigned     ps_nr;
	unsigned     ps_begun;
	unsigned     ps_done;
	int          ps_epoll;
	/** Between one that connects and the next, so that signs of life
	 * come evenly. */
	double ps_gap_s;
};

/** Resources that the process has used. */
struct used {
	double   u_rss;
	double   u_heap;
	double   u_cpu_s;
	double   u_now_s;
	uint64_t u_wakes;
};

/** Port of the nodes of both processes. */
static uint16_t port;

static void must(bool ok, const char *what)
{
	if (!ok)
		bench_die("idle: %s: %s", what, strerror(errno));
}

static void cfg_make(struct m0_lnet_cfg *cfg, const char *addr,
		     uint64_t keepalive_ms)
{
	char why[M0_LNET_WHY_BYTES];
	char text[64];

	m0_lnet_cfg_default(cfg);
	snprintf(text, sizeof(text), "tcp(%s)", addr);
	if (m0_lnet_cfg_networks(cfg, text, why) != 0)
		bench_die("idle: %s", why);
	cfg->lc_port = port;
	cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	cfg->lc_src_port_max = 0;
	cfg->lc_src_port_min = 0;
	cfg->lc_keepalive_ms = keepalive_ms;
}

static struct m0_lnet *lnet_open(const struct m0_lnet_cfg *cfg)
{
	struct m0_lnet *lnet;
	char            why[M0_LNET_WHY_BYTES] = "";

	if (m0_lnet_open(&lnet, cfg, why) != 0)
		bench_die("idle: %s", why);
	return lnet;
}

/* ------------------------------------------------------------- the peers -- */

static void probe_done(struct m0_lnet_probe *probe)
{
	struct peers *ps = probe->pr_user;

	if (probe->pr_status != 0)
		bench_die("idle: ping: %s", m0_errname(probe->pr_status));
	ps->ps_done++;
}

static void peer_open(struct peers *ps, unsigned i, uint64_t keepalive_ms)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
	struct m0_lnet_cfg cfg;
	char               addr[32];

	snprintf(addr, sizeof(addr), "127.64.%u.%u", i / 250, i % 250 + 1);
	cfg_make(&cfg, addr, keepalive_ms);
	cfg.lc_inline = true;
	ps->ps_peers[i].p_lnet = lnet_open(&cfg);
	must(epoll_ctl(ps->ps_epoll, EPOLL_CTL_ADD,
		       m0_lnet_fd(ps->ps_peers[i].p_lnet), &event) == 0,
	     "epoll_ctl");
}

static void peer_ping(struct peers *ps, struct peer *p)
{
	p->p_probe.pr_kind = M0_LNET_PING;
	must(m0_lnet_nid_parse(&p->p_probe.pr_nid, "127.0.0.1@tcp") == 0,
	     "nid");
	p->p_probe.pr_self = m0_lnet_nid_any;
	p->p_probe.pr_done = &probe_done;
	p->p_probe.pr_user = ps;
	must(m0_lnet_probe(p->p_lnet, &p->p_probe) == 0, "ping");
}

/** Until the other process is gone, which ends this one, too. */
static void peers_run(struct peers *ps, int ready)
{
	struct epoll_event events[EVENTS_MAX];
	double             since = bench_now_s();
	bool               told = false;
	int                nr;

	for (;;) {
		while (ps->ps_begun < ps->ps_nr &&
		       ps->ps_begun < ps->ps_done + PINGS_MAX &&
		       bench_now_s() >= since + ps->ps_gap_s * ps->ps_begun)
			peer_ping(ps, &ps->ps_peers[ps->ps_begun++]);
		if (ps->ps_done == ps->ps_nr && !told) {
			told = true;
			must(write(ready, "r", 1) == 1, "write");
		}
		nr = epoll_wait(ps->ps_epoll, events, EVENTS_MAX,
				told ? -1 : 1);
		for (int i = 0; i < nr; i++)
			(void)m0_lnet_progress(
				ps->ps_peers[events[i].data.u32].p_lnet);
	}
}

static void peers_main(unsigned nr, uint64_t keepalive_ms, int begin, int ready)
{
	struct peers ps = { .ps_nr = nr,
			    .ps_gap_s = (double)keepalive_ms / 1e3 / nr };
	char         c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(bench_opt.o_cpu[1]);
	ps.ps_peers = calloc(nr, sizeof(*ps.ps_peers));
	ps.ps_epoll = epoll_create1(EPOLL_CLOEXEC);
	must(ps.ps_peers != NULL && ps.ps_epoll >= 0, "peers");
	for (unsigned i = 0; i < nr; i++)
		peer_open(&ps, i, keepalive_ms);
	must(read(begin, &c, 1) == 1, "read");
	peers_run(&ps, ready);
}

/* -------------------------------------------------------------- the node -- */

static void used_get(struct used *u)
{
	struct mallinfo2 heap = mallinfo2();
	FILE            *f = fopen("/proc/self/statm", "r");
	unsigned long    all = 0;
	unsigned long    rss = 0;
	struct rusage    r;

	must(f != NULL && fscanf(f, "%lu %lu", &all, &rss) == 2, "statm");
	fclose(f);
	getrusage(RUSAGE_SELF, &r);
	u->u_rss = (double)rss * (double)sysconf(_SC_PAGESIZE);
	u->u_heap = (double)(heap.uordblks + heap.hblkhd);
	u->u_cpu_s = bench_cpu_s();
	u->u_now_s = bench_now_s();
	u->u_wakes = (uint64_t)r.ru_nvcsw;
}

static uint64_t conns_nr(struct m0_lnet *lnet)
{
	struct m0_lnet_info *info;
	uint64_t             nr = 0;

	must(m0_lnet_info_get(lnet, &info) == 0, "info");
	for (unsigned i = 0; i < info->li_nis_nr; i++)
		nr += info->li_nis[i].nii_lnd.ldi_connections_nr;
	m0_lnet_info_free(info);
	return nr;
}

/** The last connections may come after the answer to the ping. */
static uint64_t conns_settle(struct m0_lnet *lnet)
{
	uint64_t before = 0;
	uint64_t now = conns_nr(lnet);

	while (now != before) {
		before = now;
		usleep(500000);
		now = conns_nr(lnet);
	}
	return now;
}

static void report(const struct used *a, const struct used *b, unsigned nr,
		   uint64_t conns)
{
	bench_line("conns", (double)conns / nr, "per_peer");
	bench_line("rss", (b->u_rss - a->u_rss) / nr, "bytes_per_peer");
	bench_line("heap", (b->u_heap - a->u_heap) / nr, "bytes_per_peer");
	bench_line("rss.before", a->u_rss, "bytes");
}

static void idle(struct m0_lnet *lnet, unsigned nr, double seconds)
{
	struct used a, b;

	(void)conns_nr(lnet);
	used_get(&a);
	while (bench_now_s() < a.u_now_s + seconds)
		usleep((unsigned)(1e6 * (a.u_now_s + seconds - bench_now_s())) +
		       1);
	used_get(&b);
	bench_line("cpu",
		   100 * (b.u_cpu_s - a.u_cpu_s) / (b.u_now_s - a.u_now_s),
		   "percent");
	bench_line("window", b.u_now_s - a.u_now_s, "s");
	bench_line("wakes",
		   (double)(b.u_wakes - a.u_wakes) / (b.u_now_s - a.u_now_s),
		   "per_s");
	bench_line("lost", (double)(3 * nr) - (double)conns_nr(lnet), "conns");
}

void bench_idle(unsigned nr, double seconds, uint64_t keepalive_ms)
{
	struct rlimit      lim;
	struct m0_lnet_cfg cfg;
	struct m0_lnet    *lnet;
	struct used        a, b;
	int                begin[2], ready[2];
	char               c;
	pid_t              child;

	port = (uint16_t)(20000 + getpid() % 12000);
	alarm(SETUP_S + (unsigned)seconds);
	must(getrlimit(RLIMIT_NOFILE, &lim) == 0, "limit");
	lim.rlim_cur = lim.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &lim) == 0, "limit");
	must(nr <= PEERS_MAX && pipe(begin) == 0 && pipe(ready) == 0, "pipe");
	child = fork();
	must(child >= 0, "fork");
	if (child == 0)
		peers_main(nr, keepalive_ms, begin[0], ready[1]);
	close(ready[1]);
	cfg_make(&cfg, "127.0.0.1", keepalive_ms);
	lnet = lnet_open(&cfg);
	usleep(100000);
	used_get(&a);
	must(write(begin[1], "b", 1) == 1, "write");
	must(read(ready[0], &c, 1) == 1, "peers");
	(void)conns_settle(lnet);
	sleep(CALM_S);
	used_get(&b);
	report(&a, &b, nr, conns_nr(lnet));
	idle(lnet, nr, seconds);
	kill(child, SIGKILL);
	m0_lnet_close(lnet);
}
