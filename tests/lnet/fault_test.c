/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fault rules in whole nodes, in virtual time: what they do to messages, and
 * that all that was begun ends once, on time, with all credits back.
 */
#include <stdlib.h>

#include "lnet/node.h"
#include "m0/lnet_fault.h"

enum {
	BITS = 7,
	BYTES = 70000,
	OPS_NR = 40,
	LATENCY_MS = 300,
	TRANSACTION_MS = 5000,
	LND_MS = 2000
};

static struct m0_sim sim;
static struct node   a;
static struct node   b;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_piece_bytes_max = 9000,
};

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_transaction_timeout_ms = TRANSACTION_MS;
	cfg->lc_timeout_ms = LND_MS;
	cfg->lc_reconnect_min_ms = 50;
	cfg->lc_reconnect_max_ms = 100;
}

static int up(void **state)
{
	(void)state;
	/* A fatal complaint of a peer is what some rules are for. */
	m0_log_level_set(M0_LOG_FATAL);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	node_init(&a, &sim, "a", "10.0.0.1", tune);
	node_init(&b, &sim, "b", "10.0.0.2", tune);
	return 0;
}

/* Nothing is left on its way. */
static void is_at_rest(struct node *node)
{
	struct m0_lnet_info *info;
	unsigned             i;
	unsigned             k;

	assert_int_equal(m0_lnet_info_get(node->n_lnet, &info), 0);
	assert_int_equal(info->li_stats.ls_msgs_alloc, 0);
	assert_int_equal(info->li_stats.ls_rst_alloc, 0);
	for (i = 0; i < info->li_nis_nr; ++i)
		assert_int_equal(info->li_nis[i].nii_credits_free,
				 (int)info->li_nis[i].nii_credits);
	for (i = 0; i < info->li_peers_nr; ++i) {
		const struct m0_lnet_peer_info *peer = &info->li_peers[i];

		for (k = 0; k < peer->pei_nis_nr; ++k)
			assert_int_equal(peer->pei_nis[k].pni_credits_free,
					 (int)peer->pei_nis[k].pni_credits_max);
	}
	m0_lnet_info_free(info);
}

static int down(void **state)
{
	(void)state;
	is_at_rest(&a);
	is_at_rest(&b);
	node_fini(&a);
	node_fini(&b);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
	return 0;
}

static void rule_add(struct node *node, enum m0_lnet_fault_kind kind,
		     uint64_t rate, uint64_t latency_ms)
{
	struct m0_lnet_fault_attr attr;
	char                      why[M0_LNET_WHY_BYTES] = "";

	m0_lnet_fault_attr_init(&attr, kind);
	attr.lfa_rate = rate;
	attr.lfa_latency_ms = latency_ms;
	if (m0_lnet_fault_add(node->n_lnet, &attr, why) != 0)
		fail_msg("%s", why);
}

static void rules_del(struct node *node)
{
	assert_true(m0_lnet_fault_del(node->n_lnet, M0_LNET_FAULT_ANY, NULL,
				      NULL) > 0);
}

static uint64_t hits_of(struct node *node)
{
	struct m0_lnet_fault fault[4];
	uint64_t             nr = 0;
	int                  rules;
	int                  i;

	rules = m0_lnet_fault_get(node->n_lnet, M0_LNET_FAULT_ANY, fault, 4);
	assert_in_range(rules, 1, 4);
	for (i = 0; i < rules; ++i)
		nr += fault[i].lft_hits_nr;
	return nr;
}

/*
 * PUTs with ACK and GETs, all at once; each must end once, in time, and those
 * that are well must have their bytes.
 * @return how many were not well.
 */
static unsigned traffic(uint64_t within_ms)
{
	struct node_window window;
	struct node_op     op[OPS_NR];
	unsigned           failed = 0;
	unsigned           i;

	node_window_init(&window, &b, BITS, BYTES, -1);
	for (i = 0; i < OPS_NR; ++i) {
		if (i % 2 == 0)
			node_put(&op[i], &a, &b.n_nid, BITS, 0, i * 37 % BYTES,
				 (uint8_t)i, true);
		else
			node_get(&op[i], &a, &b.n_nid, BITS, 0,
				 i * 1001 % BYTES);
	}
	for (i = 0; i < OPS_NR; ++i) {
		node_op_wait(&op[i], within_ms);
		failed += node_op_result(&op[i]) != 0;
		node_op_fini(&op[i]);
	}
	m0_sim_run_ms(&sim, LND_MS);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 2 * LND_MS);
	node_window_fini(&window);
	return failed;
}

/* A lost request or answer ends with the transaction time-out, once. */
static void lost_messages_end_in_timeouts(void **state)
{
	unsigned failed;

	(void)state;
	assert_int_equal(traffic(1000), 0);
	rule_add(&b, M0_LNET_FAULT_DROP, 5, 0);
	rule_add(&a, M0_LNET_FAULT_DROP, 5, 0);
	failed = traffic(TRANSACTION_MS + 100);
	assert_in_range(failed, 2 * OPS_NR / 5 - 2, 2 * OPS_NR / 5 + 2);
	assert_int_equal(hits_of(&a) + hits_of(&b), failed);
	assert_true(node_stats(&b).ls_drop_fault == hits_of(&b));
	rules_del(&a);
	rules_del(&b);
	assert_int_equal(traffic(1000), 0);
}

/* Delays hold to the clock, and nothing is lost by them. */
static void delays_hold_on_the_clock(void **state)
{
	m0_time_t begin;
	m0_time_t took;

	(void)state;
	assert_int_equal(traffic(1000), 0);
	rule_add(&a, M0_LNET_FAULT_DELAY, 1, LATENCY_MS);
	begin = m0_sim_now(&sim);
	assert_int_equal(node_ping(&a, &b.n_nid, 5000), 0);
	took = m0_sim_now(&sim) - begin;
	/* GET when it leaves, REPLY when it comes in. */
	assert_in_range(took / M0_TIME_ONE_MSEC, 2 * LATENCY_MS,
			2 * LATENCY_MS + 10);
	rules_del(&a);
	rule_add(&b, M0_LNET_FAULT_DELAY, 1, LATENCY_MS);
	begin = m0_sim_now(&sim);
	assert_int_equal(node_ping(&a, &b.n_nid, 5000), 0);
	took = m0_sim_now(&sim) - begin;
	assert_in_range(took / M0_TIME_ONE_MSEC, 2 * LATENCY_MS,
			2 * LATENCY_MS + 10);
	rules_del(&b);
	/* More than the connections hold at a time, in both directions. */
	rule_add(&a, M0_LNET_FAULT_DELAY, 7, LATENCY_MS);
	rule_add(&b, M0_LNET_FAULT_DELAY, 7, LATENCY_MS);
	assert_int_equal(traffic(TRANSACTION_MS), 0);
	rules_del(&a);
	rules_del(&b);
}

/* Held up longer than anything may take: ends on time all the same. */
static void delays_without_end_are_bounded(void **state)
{
	(void)state;
	rule_add(&a, M0_LNET_FAULT_DELAY, 3, 100 * TRANSACTION_MS);
	assert_true(traffic(TRANSACTION_MS + LND_MS) > 0);
	rules_del(&a);
	rule_add(&b, M0_LNET_FAULT_DELAY, 3, 100 * TRANSACTION_MS);
	assert_true(traffic(TRANSACTION_MS + LND_MS) > 0);
	rules_del(&b);
	m0_sim_run_ms(&sim, 2 * LND_MS);
	assert_int_equal(traffic(1000), 0);
}

/* Everything twice: told once, and the same bytes. */
static void doubled_messages_are_told_once(void **state)
{
	(void)state;
	rule_add(&a, M0_LNET_FAULT_DUPLICATE, 1, 0);
	rule_add(&b, M0_LNET_FAULT_DUPLICATE, 1, 0);
	assert_int_equal(traffic(1000), 0);
	assert_true(hits_of(&b) >= hits_of(&a));
	rules_del(&a);
	rules_del(&b);
}

/* Damaged headers and payloads, and connections cut in the midst of things:
 * whatever it is, all ends on time, and goes well again after it. */
static void damage_and_cuts_are_survived(void **state)
{
	struct m0_lnet_fault_attr attr;
	unsigned                  i;

	(void)state;
	for (i = 0; i < 20; ++i) {
		m0_lnet_fault_attr_init(&attr, i % 2 == 0
						       ? M0_LNET_FAULT_CORRUPT
						       : M0_LNET_FAULT_CUT);
		attr.lfa_header = i % 4 == 0;
		attr.lfa_rate = 4 + i;
		attr.lfa_seed = 1 + i;
		assert_int_equal(m0_lnet_fault_add(a.n_lnet, &attr, NULL), 0);
		assert_int_equal(m0_lnet_fault_add(b.n_lnet, &attr, NULL), 0);
		(void)traffic(TRANSACTION_MS + LND_MS);
		rules_del(&a);
		rules_del(&b);
		m0_sim_run_ms(&sim, LND_MS);
		assert_int_equal(traffic(1000), 0);
	}
}

/* -- calls ----------------------------------------------------------------- */

struct called {
	struct m0_lnet_probe cal_probe;
	int                  cal_added;
	int                  cal_got;
	int                  cal_reset;
	int                  cal_removed;
};

static void probe_done(struct m0_lnet_probe *probe)
{
	struct called *called = container_of(probe, struct called, cal_probe);
	struct m0_lnet_fault_attr attr;
	struct m0_lnet_fault      fault;

	m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_CUT);
	attr.lfa_random = true;
	called->cal_added = m0_lnet_fault_add(a.n_lnet, &attr, NULL);
	called->cal_got =
		m0_lnet_fault_get(a.n_lnet, M0_LNET_FAULT_CUT, &fault, 1);
	called->cal_reset = m0_lnet_fault_reset(a.n_lnet, M0_LNET_FAULT_ANY);
	called->cal_removed = m0_lnet_fault_del(a.n_lnet, M0_LNET_FAULT_ANY,
						&a.n_nid, &m0_lnet_nid_any);
	called->cal_removed +=
		m0_lnet_fault_del(a.n_lnet, M0_LNET_FAULT_ANY, NULL, NULL);
}

/* In a callback they are done at once. */
static void calls_in_a_callback_do_not_wait(void **state)
{
	struct called called = { .cal_probe = { .pr_kind = M0_LNET_PING,
						.pr_nid = b.n_nid,
						.pr_self = m0_lnet_nid_any,
						.pr_done = probe_done } };

	(void)state;
	assert_int_equal(m0_lnet_probe(a.n_lnet, &called.cal_probe), 0);
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(called.cal_probe.pr_status, 0);
	assert_int_equal(called.cal_added, 0);
	assert_int_equal(called.cal_got, 1);
	assert_int_equal(called.cal_reset, 1);
	assert_int_equal(called.cal_removed, 1);
}

struct timed {
	struct m0_lnet_probe tim_probe;
	m0_time_t            tim_ended;
};

static void timed_done(struct m0_lnet_probe *probe)
{
	struct timed *timed = container_of(probe, struct timed, tim_probe);

	timed->tim_ended = m0_sim_now(&sim);
}

/* A message that a rule delays goes on when the rule is removed, though others
 * stay. */
static void delay_removed_lets_go(void **state)
{
	struct timed timed = { .tim_probe = { .pr_kind = M0_LNET_PING,
					      .pr_nid = b.n_nid,
					      .pr_self = m0_lnet_nid_any,
					      .pr_done = timed_done } };
	m0_time_t    begin = m0_sim_now(&sim);

	(void)state;
	rule_add(&b, M0_LNET_FAULT_DELAY, 1, LATENCY_MS * 100);
	rule_add(&b, M0_LNET_FAULT_DUPLICATE, 1000, 0);
	assert_int_equal(m0_lnet_probe(a.n_lnet, &timed.tim_probe), 0);
	m0_sim_run_ms(&sim, 500);
	assert_int_equal(timed.tim_ended, 0);
	assert_int_equal(m0_lnet_fault_del(b.n_lnet, M0_LNET_FAULT_DELAY, NULL,
					   NULL),
			 1);
	m0_sim_run_ms(&sim, LATENCY_MS * 300);
	assert_int_equal(timed.tim_probe.pr_status, 0);
	assert_in_range((timed.tim_ended - begin) / M0_TIME_ONE_MSEC, 500, 510);
	rules_del(&b);
}

static void refused(const struct m0_lnet_fault_attr *attr, const char *field)
{
	char why[M0_LNET_WHY_BYTES] = "";

	assert_int_equal(m0_lnet_fault_add(a.n_lnet, attr, why), -EINVAL);
	if (strstr(why, field) == NULL)
		fail_msg("'%s' does not name %s", why, field);
	assert_int_equal(
		m0_lnet_fault_get(a.n_lnet, M0_LNET_FAULT_ANY, NULL, 0), 0);
}

/* A wrong attribute is refused with its field and value, and adds no rule. */
static void attributes_are_checked(void **state)
{
	struct m0_lnet_fault_attr attr;

	(void)state;
	m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_ANY);
	refused(&attr, "lfa_kind is 5");
	attr.lfa_kind = M0_LNET_FAULT_DROP;
	refused(&attr, "lfa_rate");
	attr.lfa_rate = 4;
	attr.lfa_interval_ms = 5;
	refused(&attr, "lfa_rate is 4");
	attr.lfa_interval_ms = 0;
	attr.lfa_rate = UINT64_C(1) << 32;
	refused(&attr, "lfa_rate is 4294967296");
	attr.lfa_rate = 0;
	attr.lfa_interval_ms = 86400001;
	refused(&attr, "lfa_interval_ms is 86400001");
	attr.lfa_interval_ms = 86400000;
	attr.lfa_msgs = 0x10;
	refused(&attr, "lfa_msgs is 0x10");
	attr.lfa_msgs = 0;
	attr.lfa_latency_ms = 3;
	refused(&attr, "lfa_latency_ms is 3");
	attr.lfa_kind = M0_LNET_FAULT_DELAY;
	attr.lfa_latency_ms = 0;
	refused(&attr, "lfa_latency_ms is 0");
	attr.lfa_latency_ms = 3;
	attr.lfa_health = 2;
	refused(&attr, "lfa_health is 0x2");
	attr.lfa_kind = M0_LNET_FAULT_DROP;
	attr.lfa_latency_ms = 0;
	attr.lfa_health = 1;
	refused(&attr, "lfa_health is 0x1");
	attr.lfa_health = 0x800;
	refused(&attr, "lfa_health is 0x800");
	attr.lfa_health = 0;
	attr.lfa_header = true;
	refused(&attr, "lfa_header");
	attr.lfa_header = false;
	assert_int_equal(m0_lnet_fault_attr_check(&attr, NULL), 0);
}

/* Rules judge a message that a lazy portal of the sender keeps once, however
 * often the engine is asked about it. */
static void waiting_for_oneself_is_judged_once(void **state)
{
	struct m0_lnet_fault fault;
	struct node_window   window;
	struct node_op       op;
	int                  i;

	(void)state;
	assert_int_equal(m0_lnet_lazy_set(a.n_lnet, NODE_PORTAL, true), 0);
	rule_add(&a, M0_LNET_FAULT_DROP, 1000, 0);
	node_put(&op, &a, &a.n_nid, BITS, 0, 100, 1, false);
	for (i = 0; i < 5; ++i)
		assert_int_equal(node_ping(&b, &a.n_nid, 1000), 0);
	assert_int_equal(
		m0_lnet_fault_get(a.n_lnet, M0_LNET_FAULT_DROP, &fault, 1), 1);
	assert_int_equal(fault.lft_seen.lmc_put, 1);
	rules_del(&a);
	node_window_init(&window, &a, BITS, 100, -1);
	node_op_wait(&op, 100);
	assert_int_equal(node_op_result(&op), 0);
	node_op_fini(&op);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, LND_MS);
	assert_int_equal(window.nw_puts_nr, 1);
	node_window_fini(&window);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)
	const struct CMUnitTest tests[] = {
		CASE(lost_messages_end_in_timeouts),
		CASE(delays_hold_on_the_clock),
		CASE(delays_without_end_are_bounded),
		CASE(doubled_messages_are_told_once),
		CASE(damage_and_cuts_are_survived),
		CASE(calls_in_a_callback_do_not_wait),
		CASE(delay_removed_lets_go),
		CASE(waiting_for_oneself_is_judged_once),
		CASE(attributes_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
