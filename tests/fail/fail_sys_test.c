/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Failure loops over system calls: two nodes communicate over sockets; each call of
 * each kind fails in turn with each of its errors. After each failure every operation
 * completes, a retry succeeds within a bound, and neither memory nor descriptors leak.
 * FAIL_CALL=name runs one kind alone.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "fail/sys.h"
#include "m0/lnet.h"
#include "sim/sched/heap.h"

enum {
	PORTAL = 30,
	BITS = 7,
	BYTES = 100000,
	/** Calls of a kind, the one after the other; then the 3rd, 4th... after
	 * that: those of the bulk are all alike. FAIL_ALL=1: every one. */
	EACH_NR = 12,
	POLL_MS = 5
};

#define PATIENCE_NS (20 * M0_TIME_ONE_SECOND)

static const char *now_name;
static unsigned    now_nth;
static int         now_err;

#define COMPLAIN(what, rc)                                                     \
	fail_msg("%s, call %u, %s: %s: %d", now_name, now_nth,                 \
		 now_err == SYS_SHORT ? "short" : m0_errname(now_err), (what), \
		 (rc))

/* -- two nodes ------------------------------------------------------------- */

static struct m0_lnet       *nodes[2];
static struct m0_lnet_nid    nids[2];
static struct m0_lnet_eq     eqs[2];
static uint8_t               from[BYTES];
static uint8_t               to[BYTES];
static struct m0_lnet_handle window;

/* Waits for either only as long as a pass that was told falsely is to blame. */
static void turn(void)
{
	struct pollfd fds[2] = {
		{ .fd = m0_lnet_fd(nodes[0]), .events = POLLIN },
		{ .fd = m0_lnet_fd(nodes[1]), .events = POLLIN },
	};
	bool did = m0_lnet_progress(nodes[0]);

	did = m0_lnet_progress(nodes[1]) || did;
	if (!did)
		(void)poll(fds, 2, POLL_MS);
}

static void open_node(unsigned i)
{
	static struct m0_lnet_cfg cfg;
	struct m0_lnet_process_id id;
	char                      why[M0_LNET_WHY_BYTES] = "";
	char                      text[64];
	int                       rc;

	m0_lnet_cfg_default(&cfg);
	snprintf(text, sizeof text, "tcp(127.0.0.%u)", 81 + i);
	assert_int_equal(m0_lnet_cfg_networks(&cfg, text, NULL), 0);
	cfg.lc_inline = true;
	cfg.lc_port = (uint16_t)(20000 + (unsigned)getpid() % 12000);
	cfg.lc_accept = M0_LNET_ACCEPT_ALL;
	cfg.lc_src_port_max = 0;
	cfg.lc_src_port_min = 0;
	cfg.lc_transaction_timeout_ms = 100;
	cfg.lc_timeout_ms = 200;
	cfg.lc_accept_timeout_ms = 200;
	cfg.lc_reconnect_min_ms = 1;
	cfg.lc_reconnect_max_ms = 2;
	rc = m0_lnet_open(&nodes[i], &cfg, why);
	if (rc != 0) {
		/* A failed open says why. */
		if (why[0] == '\0' || rc > 0)
			COMPLAIN("an open that fails without a word", rc);
		rc = m0_lnet_open(&nodes[i], &cfg, why);
	}
	if (rc != 0)
		COMPLAIN(why, rc);
	assert_int_equal(m0_lnet_get_id(nodes[i], 1, &id), 0);
	nids[i] = id.lp_nid;
	m0_lnet_eq_init(&eqs[i], nodes[i], NULL, 0);
}

static void close_node(unsigned i)
{
	struct m0_lnet_event ev;

	m0_lnet_close(nodes[i]);
	while (m0_lnet_eq_get(&eqs[i], &ev) == 0)
		;
	m0_lnet_eq_fini(&eqs[i]);
}

static struct m0_bufvec *flat(unsigned i)
{
	static void            *addrs[2] = { from, to };
	static m0_bcount_t      counts[2] = { BYTES, BYTES };
	static struct m0_bufvec vecs[2];

	vecs[i] = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&addrs[i], &counts[i]);
	return &vecs[i];
}

static void window_open(void)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = BITS,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = flat(1),
		.mda_length = BYTES,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			       M0_LNET_MD_MANAGE_REMOTE,
		.mda_eq = &eqs[1],
	};
	struct m0_lnet_handle handle;

	assert_int_equal(m0_lnet_me_attach(nodes[1], &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(nodes[1], handle, &md, &window), 0);
}

/* One PUT or GET, to the last event. @return the first failure. */
static int operation(bool get)
{
	struct m0_lnet_md_attr attr = {
		.mda_vec = flat(0),
		.mda_length = BYTES,
		.mda_threshold = 2,
		.mda_auto_unlink = true,
		.mda_eq = &eqs[0],
	};
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { nids[1], M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = BITS,
		.lo_ack = true,
	};
	struct m0_lnet_handle md;
	struct m0_lnet_event  ev = { .ev_status = 0 };
	m0_time_t             end = m0_time_add(m0_time_now(), PATIENCE_NS);
	bool                  unlinked = false;
	int                   rc = 0;

	assert_int_equal(m0_lnet_md_bind(nodes[0], &attr, &md), 0);
	assert_int_equal(get ? m0_lnet_get(nodes[0], md, &op)
			     : m0_lnet_put(nodes[0], md, &op),
			 0);
	while (!ev.ev_unlinked) {
		if (m0_time_now() > end)
			COMPLAIN("an operation does not end", -ETIME);
		if (m0_lnet_eq_get(&eqs[0], &ev) != 0) {
			ev.ev_unlinked = false;
			turn();
			continue;
		}
		if (rc == 0)
			rc = ev.ev_status;
		if (ev.ev_status != 0 && !ev.ev_unlinked && !unlinked) {
			(void)m0_lnet_md_unlink(nodes[0], md);
			unlinked = true;
		}
	}
	return rc;
}

/* Until it goes well: one failure cannot be to blame for long. */
static void operate(bool get)
{
	m0_time_t end = m0_time_add(m0_time_now(), PATIENCE_NS);
	int       rc;

	do {
		memset(from, get ? 0 : 0x5a, sizeof from);
		memset(to, get ? 0xa5 : 0, sizeof to);
		rc = operation(get);
		if (m0_time_now() > end)
			COMPLAIN(get ? "GET" : "PUT", rc);
	} while (rc != 0);
	assert_memory_equal(from, to, sizeof to);
}

static void story(void)
{
	struct m0_heap heap;
	unsigned       fds = sys_fds_nr();

	m0_heap_init(&heap);
	open_node(0);
	open_node(1);
	window_open();
	operate(false);
	operate(true);
	close_node(0);
	close_node(1);
	if (m0_heap_live_nr(&heap) != 0)
		COMPLAIN("memory leaks", (int)m0_heap_live_nr(&heap));
	if (sys_fds_nr() != fds)
		COMPLAIN("descriptors leak", (int)(sys_fds_nr() - fds));
	m0_heap_fini(&heap);
}

static unsigned next_nth(unsigned nth)
{
	static int all = -1;

	if (all < 0)
		all = getenv("FAIL_ALL") != NULL;
	return all || nth < EACH_NR ? nth + 1 : nth + nth / 3;
}

static void each_call_fails(const struct sys_kind *kind, int err)
{
	m0_time_t begin = m0_time_now();
	unsigned  runs_nr = 0;
	bool      failed;

	now_name = kind->sk_name;
	now_err = err;
	now_nth = 1;
	do {
		sys_fail_at(kind->sk_call, now_nth, err);
		story();
		failed = sys_failed();
		now_nth = next_nth(now_nth);
		++runs_nr;
	} while (failed);
	/* The test itself waits for an inline node, so that call may never
	 * occur. */
	if (runs_nr == 1 && kind->sk_call != SYS_EPOLL_PWAIT2)
		COMPLAIN("no call fails", 0);
	print_message("%s, %s: %u runs, %u ms\n", now_name,
		      err == SYS_SHORT ? "short" : m0_errname(err), runs_nr,
		      (unsigned)((m0_time_now() - begin) / 1000000));
}

/* Every system call of two nodes that speak, with every error it may have. */
static void nodes_with_failing_calls(void **state)
{
	const char            *only = getenv("FAIL_CALL");
	size_t                 k;
	const struct sys_kind *kind;

	(void)state;
	story();
	for (kind = sys_kinds; kind->sk_name != NULL; ++kind) {
		/* Inline nodes have no threads. */
		if (kind->sk_call == SYS_PTHREAD_CREATE ||
		    (only != NULL && strcmp(only, kind->sk_name) != 0))
			continue;
		for (k = 0;
		     k < ARRAY_SIZE(kind->sk_errs) && kind->sk_errs[k] != 0;
		     ++k)
			each_call_fails(kind, kind->sk_errs[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_with_failing_calls),
	};

	m0_log_level_set(M0_LOG_FATAL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
