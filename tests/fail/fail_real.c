/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stories of fail.h in real time: threads of the library, sockets, files. */
#include <poll.h>
#include <unistd.h>

#include "fail/fail.h"
#include "fail/fail_ends.h"
#include "fail/fail_real.h"
#include "m0/lnet_daemon.h"
#include "m0/sunrpc.h"

enum {
	POLL_MS = 1,
	PORT_MIN = 20000,
	PORTS_NR = 12000,
	SUNRPC_MS = 300,
	/** Reports in a story with one failure. */
	TOLD_MAX = 40
};

#define PATIENCE_NS (30 * M0_TIME_ONE_SECOND)

static struct m0_heap heap;
static char           what_fails[80];
static unsigned       told_nr;
static void (*the_pump)(void);
static uint32_t lanes_nr;
static bool     is_near;
/** Nodes of daemons, if processes are attached to them. */
static bool                   is_shared;
static struct m0_lnet        *shared[2];
static struct m0_lnet_daemon *daemons[2];

void fail_real_nodes(uint32_t lanes, bool near)
{
	lanes_nr = lanes;
	is_near = near;
}

void fail_real_share(bool on)
{
	is_shared = on;
}

/* -- fail.h ---------------------------------------------------------------- */

bool fail_came(void)
{
	return m0_heap_failed_nr(&heap) > 0 || sys_has_failed();
}

void fail_told(int rc, const char *what)
{
	if (rc > 0 || !fail_came() || ++told_nr > TOLD_MAX)
		fail_msg("%s: %s: %d for no reason", what_fails, what, rc);
	(void)poll(NULL, 0, POLL_MS);
}

void fail_untold(int rc, const char *what)
{
	fail_msg("after %s: %s: %d", what_fails, what, rc);
}

void fail_pump_set(void (*pump)(void))
{
	the_pump = pump;
}

bool fail_until(bool (*cond)(void *arg), void *arg)
{
	m0_time_t end = m0_time_add(m0_time_now(), PATIENCE_NS);

	while (!cond(arg)) {
		if (m0_time_now() > end)
			return false;
		if (the_pump != NULL)
			the_pump();
		(void)poll(NULL, 0, POLL_MS);
	}
	return true;
}

/* -- places ------------------------------------------------------------------ */

static unsigned port(void)
{
	return PORT_MIN + (unsigned)getpid() % PORTS_NR;
}

void fail_addr(char *ret, size_t size, const struct m0_net_xprt *xprt,
	       unsigned i)
{
	if (xprt == &m0_net_lnet_xprt)
		snprintf(ret, size, "127.0.0.%u@tcp:12345:40:7", 83 + i);
	else
		snprintf(ret, size, "127.0.0.1:%u:%u", port(), 1 + i);
}

void fail_tm_set(struct fail_end *end)
{
	struct m0_net_bulk_sunrpc_stats stats;

	if (end->fen_dom.nd_xprt != &m0_net_bulk_sunrpc_xprt)
		return;
	m0_net_bulk_sunrpc_dom_timeout_set(&end->fen_dom, SUNRPC_MS);
	m0_net_bulk_sunrpc_dom_idle_set(&end->fen_dom, SUNRPC_MS);
	m0_net_bulk_sunrpc_tm_set_num_threads(&end->fen_tm, FAIL_WORKERS);
	assert_int_equal(m0_net_bulk_sunrpc_tm_get_num_threads(&end->fen_tm),
			 FAIL_WORKERS);
	m0_net_bulk_sunrpc_stats_get(&stats);
}

/* A front of this process that is attached to the node, as one of another process is. */
static void node_share(struct m0_lnet **node, struct m0_lnet_cfg *cfg,
		       unsigned i)
{
	(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach,
		       "/tmp/fail_real.%d.%u", (int)getpid(), i);
	shared[i] = *node;
	FAIL_TRY(m0_lnet_daemon_start(&daemons[i], shared[i], NULL,
				      cfg->lc_attach, NULL));
	FAIL_TRY(m0_lnet_open(node, cfg, NULL));
}

static void node_unshare(unsigned i)
{
	char lock[64];

	FAIL_TRY(m0_lnet_daemon_stop(daemons[i],
				     m0_time_add(m0_time_now(), PATIENCE_NS)));
	m0_lnet_close(shared[i]);
	(void)snprintf(lock, sizeof lock, "/tmp/fail_real.%d.%u.lock",
		       (int)getpid(), i);
	(void)unlink(lock);
}

void fail_nodes_init(struct m0_lnet *node[2])
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];
	char                      text[32];
	unsigned                  i;

	for (i = 0; i < 2; ++i) {
		m0_lnet_cfg_default(&cfg);
		snprintf(text, sizeof text, "tcp(127.0.0.%u)", 83 + i);
		assert_int_equal(m0_lnet_cfg_networks(&cfg, text, why), 0);
		cfg.lc_port = (uint16_t)port();
		cfg.lc_accept = M0_LNET_ACCEPT_ALL;
		cfg.lc_src_port_max = 0;
		cfg.lc_src_port_min = 0;
		cfg.lc_transaction_timeout_ms = 300;
		cfg.lc_timeout_ms = 300;
		cfg.lc_reconnect_min_ms = 1;
		cfg.lc_reconnect_max_ms = 2;
		cfg.lc_lanes = lanes_nr;
		cfg.lc_same_host = is_near;
		FAIL_TRY(m0_lnet_open(&node[i], &cfg, why));
		if (is_shared)
			node_share(&node[i], &cfg, i);
	}
}

void fail_nodes_fini(struct m0_lnet *node[2])
{
	unsigned i;

	for (i = 0; i < 2; ++i) {
		m0_lnet_close(node[i]);
		if (is_shared)
			node_unshare(i);
	}
}

/* -- runs -------------------------------------------------------------------- */

/* @return what was to fail has. */
static bool tell(void (*story)(void), const char *name)
{
	unsigned fds = sys_fds_nr();
	bool     came;

	told_nr = 0;
	story();
	came = fail_came();
	(void)sys_failed();
	if (m0_heap_live_nr(&heap) != 0)
		fail_msg("%s, %s: %d allocations are live", name, what_fails,
			 (int)m0_heap_live_nr(&heap));
	if (sys_fds_nr() != fds)
		fail_msg("%s, %s: %d descriptors are open", name, what_fails,
			 (int)(sys_fds_nr() - fds));
	m0_heap_fini(&heap);
	return came;
}

void fail_real_allocs(void (*story)(void), const char *name)
{
	unsigned nth = 0;
	bool     came;

	snprintf(what_fails, sizeof what_fails, "nothing");
	story();
	do {
		++nth;
		snprintf(what_fails, sizeof what_fails, "allocation %u", nth);
		m0_heap_init(&heap);
		m0_heap_fail_at(&heap, nth);
		came = tell(story, name);
	} while (came);
	if (nth == 1)
		fail_msg("%s: no allocation fails", name);
	print_message("%s: %u allocations\n", name, nth - 1);
}

static unsigned next_nth(unsigned nth)
{
	return nth < 6 ? nth + 1 : nth + nth / 2;
}

static unsigned kind_fails(void (*story)(void), const char *name,
			   const struct sys_kind *kind, int err,
			   unsigned *failed_nr)
{
	unsigned nth = 1;
	unsigned nr = 0;
	bool     came;

	do {
		snprintf(what_fails, sizeof what_fails, "%s %u, %s",
			 kind->sk_name, nth,
			 err == SYS_SHORT ? "short" : m0_errname(err));
		m0_heap_init(&heap);
		sys_fail_at(kind->sk_call, nth, err);
		came = tell(story, name);
		nth = next_nth(nth);
		++nr;
	} while (came);
	*failed_nr += nr - 1;
	return nr;
}

void fail_real_calls(void (*story)(void), const char *name)
{
	const char            *only = getenv("FAIL_CALL");
	const struct sys_kind *kind;
	unsigned               failed_nr = 0;
	unsigned               nr;
	unsigned               k;

	snprintf(what_fails, sizeof what_fails, "nothing");
	story();
	for (kind = sys_kinds; kind->sk_name != NULL; ++kind) {
		if (only != NULL && strcmp(only, kind->sk_name) != 0)
			continue;
		nr = 0;
		for (k = 0;
		     k < ARRAY_SIZE(kind->sk_errs) && kind->sk_errs[k] != 0;
		     ++k)
			nr += kind_fails(story, name, kind, kind->sk_errs[k],
					 &failed_nr);
		print_message("%s, %s: %u runs\n", name, kind->sk_name, nr);
	}
	if (failed_nr == 0 && only == NULL)
		fail_msg("%s: no call fails", name);
}
