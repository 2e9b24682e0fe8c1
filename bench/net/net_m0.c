/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "m0/lnet_run.h"
#include "m0/xlnet.h"
#include "../lib/older.h"
#include "net_m0.h"

enum {
	LANES_NR = 2,
	TEXT_BYTES = 80,
	SPIN_MAX_NS = 1000000000,
	PEER_CREDITS = 64,
	HUGE_SHIFT = 21,
	END_S = 10
};

static void must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s", what, m0_errname(rc));
}

static void address(const struct net_m0 *m, int side, char *ret)
{
	if (strcmp(m->m_xprt, "mem") == 0)
		snprintf(ret, TEXT_BYTES, "127.0.0.1:%d", 7001 + side);
	else if (net_m0_is_pair(m))
		snprintf(ret, TEXT_BYTES, "127.0.0.1@tcp:%d:%d:%d",
			 M0_NET_LNET_PID, M0_NET_LNET_PORTAL, 1 + side);
	else
		snprintf(ret, TEXT_BYTES, "127.0.0.%d@tcp:%d:%d:1", 1 + side,
			 M0_NET_LNET_PID, M0_NET_LNET_PORTAL);
}

/** A node without a thread, unless its machines need one: on the address of a side, or
 * attached to the daemon that has it. */
static struct m0_lnet *lnet_open(const struct net_m0 *m, int side, bool attach)
{
	struct m0_lnet    *ret;
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES] = "";
	char               text[TEXT_BYTES];

	m0_lnet_cfg_default(&cfg);
	if (attach) {
		BENCH_LNET_TEXT(&cfg, lc_attach, m->m_path);
	} else {
		snprintf(text, sizeof(text), "tcp(127.0.0.%d)", 1 + side);
		must(m0_lnet_cfg_networks(&cfg, text, why), why);
	}
	cfg.lc_port = (uint16_t)m->m_port;
	cfg.lc_accept = M0_LNET_ACCEPT_ALL;
	cfg.lc_src_port_max = 0;
	cfg.lc_src_port_min = 0;
	/* As many as an application may have queued: a window of the sender. */
	cfg.lc_peer_credits = PEER_CREDITS;
	cfg.lc_inline = m->m_polled;
	BENCH_LNET_SET(&cfg, lc_same_host,
		       net_m0_is_near(m) || net_m0_is_direct(m));
	BENCH_LNET_SET(&cfg, lc_lanes,
		       strcmp(m->m_xprt, "lanes") == 0 ? LANES_NR : 0);
	cfg.lc_spin_ns = (int64_t)(bench_opt.o_spin_ns < SPIN_MAX_NS
					   ? bench_opt.o_spin_ns
					   : SPIN_MAX_NS);
	must(m0_lnet_open(&ret, &cfg, why), why);
	return ret;
}

/** Side 1 of attached: the node of side 0, and its daemon. */
static void host_open(struct net_m0 *m)
{
	char why[M0_LNET_WHY_BYTES] = "";

	m->m_host = lnet_open(m, 0, false);
	must(m0_lnet_daemon_start(&m->m_daemon, m->m_host, NULL, m->m_path,
				  why),
	     why);
}

/** pair, direct: the process of the daemon, which ends with this one. */
static void pair_host(struct net_m0 *m)
{
	char byte;
	int  ready[2];

	if (pipe(ready) != 0)
		bench_die("no descriptor is left");
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		must(m0_net_init(), "init");
		m->m_polled = false;
		host_open(m);
		if (write(ready[1], "", 1) != 1)
			bench_die("the pipe of the daemon");
		for (;;)
			(void)pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		bench_die("the daemon has not started");
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void host_close(struct net_m0 *m)
{
	m0_time_t until = m0_time_from_now(END_S, 0);
	int       rc;

	do {
		net_m0_host_poll(m);
		rc = m0_lnet_daemon_stop(m->m_daemon, m0_time_now());
	} while (rc == -ETIMEDOUT && m0_time_now() < until);
	must(rc, "daemon's end");
	m0_lnet_close(m->m_host);
	m->m_host = NULL;
}

void net_m0_host_poll(struct net_m0 *m)
{
	(void)m0_lnet_progress(m->m_host);
}

static void side_idle(void *arg)
{
	net_m0_host_poll(arg);
}

static void node_open(struct net_m0 *m, int side)
{
	bool attached = net_m0_is_attached(m);

	if (attached && side == 1)
		host_open(m);
	m->m_lnet[side] = lnet_open(
		m, side, net_m0_is_pair(m) || (attached && side == 0));
	must(m0_net_lnet_use(m->m_lnet[side]), "use");
}

static void sides_prepare(void *arg)
{
	struct net_m0 *m = arg;

	m->m_port = world_port();
	snprintf(m->m_path, sizeof(m->m_path), "/tmp/colibri-bench-%d",
		 (int)getpid());
	if (net_m0_is_pair(m))
		pair_host(m);
}

static void side_open(void *arg, int side)
{
	const struct m0_net_xprt *xprt = &m0_net_bulk_mem_xprt;
	struct net_m0            *m = arg;
	struct bench_side        *s;
	char                      text[TEXT_BYTES];

	s = aligned_alloc(128, sizeof(*s));
	if (s == NULL)
		bench_die("no memory");
	memset(s, 0, sizeof(*s));
	must(m0_net_init(), "init");
	if (strcmp(m->m_xprt, "mem") != 0) {
		node_open(m, side);
		xprt = &m0_lnet_xprt;
	}
	address(m, side, text);
	/* The caller is on its processor already; a thread made by it, too. */
	bench_side_start(s, xprt, text, -1,
			 m->m_polled ? BENCH_INLINE : BENCH_ASYNC);
	address(m, 1 - side, text);
	bench_side_meet(s, text);
	m->m_side[side] = s;
}

bool net_m0_is_near(const struct net_m0 *m)
{
	return strcmp(m->m_xprt, "near") == 0;
}

bool net_m0_is_attached(const struct net_m0 *m)
{
	return strcmp(m->m_xprt, "attached") == 0;
}

bool net_m0_is_direct(const struct net_m0 *m)
{
	return strcmp(m->m_xprt, "direct") == 0;
}

bool net_m0_is_pair(const struct net_m0 *m)
{
	return strcmp(m->m_xprt, "pair") == 0 || net_m0_is_direct(m);
}

void *net_m0_memory(const struct net_m0 *m, int side, size_t bytes)
{
	void *ret;

	if (!net_m0_is_near(m) && !net_m0_is_pair(m) &&
	    !(net_m0_is_attached(m) && side == 0))
		return bench_huge(bytes);
	ret = m0_alloc_aligned(bytes, HUGE_SHIFT);
	if (ret == NULL)
		bench_die("no memory: %zu bytes", bytes);
	memset(ret, 0, bytes);
	return ret;
}

void net_m0_stop(struct net_m0 *m, int side)
{
	if (!m->m_stopped[side])
		bench_side_stop(m->m_side[side]);
	m->m_stopped[side] = true;
}

static void side_close(void *arg, int side)
{
	struct net_m0 *m = arg;

	net_m0_stop(m, side);
	must(m0_net_domain_fini(&m->m_side[side]->s_dom), "domain's end");
	if (m->m_lnet[side] != NULL) {
		must(m0_net_lnet_unuse(m->m_lnet[side]), "unuse");
		m0_lnet_close(m->m_lnet[side]);
	}
	if (m->m_host != NULL)
		host_close(m);
	must(m0_net_fini(), "end");
	free(m->m_side[side]);
}

struct world_play net_m0_play(struct net_m0 *m)
{
	return (struct world_play){
		.wp_prepare = &sides_prepare,
		.wp_open = &side_open,
		.wp_close = &side_close,
		.wp_idle = net_m0_is_attached(m) ? &side_idle : NULL,
		.wp_arg = m,
	};
}
