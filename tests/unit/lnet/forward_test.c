/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A router and single messages: their deadlines, and rules of faults. */
#include "unit/lnet/routed.h"

enum {
	LATENCY_MS = 40
};

static enum pair_act router_holds(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_node == 1 ? PAIR_HOLD : PAIR_PASS;
}

static void line_plain_open(unsigned peer_credits)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	if (peer_credits != 0)
		cfg.lec_peer_credits = peer_credits;
	line_open(&cfg);
	sink_post(node(2));
}

static void release(void)
{
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
}

/* The time-out of the driver there, not of the node. */
static void forwarded_message_has_the_deadline_of_its_network(void **state)
{
	unsigned i;

	(void)state;
	line_plain_open(4);
	two->pno_ni[1]->ldn_timeout_ns = 9 * M0_TIME_ONE_SECOND;
	two->pno_ni[2]->ldn_timeout_ns = 7 * M0_TIME_ONE_SECOND;
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 8);
	pair->pai_hook = router_holds;
	for (i = 0; i < 6; ++i)
		put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	/* Four are with the driver, which has the time-out itself. */
	pair_run(pair, 6900);
	assert_int_equal(routing_info(1).lgi_late_nr, 0);
	pair_run(pair, 200);
	assert_int_equal(routing_info(1).lgi_late_nr, 2);
	release();
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 4);
}

/* -- rules of faults ------------------------------------------------------- */

static void rule_add(enum m0_lnet_fault_kind kind, unsigned rate)
{
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = kind,
		.lfa_src = m0_lnet_nid_any,
		.lfa_dst = m0_lnet_nid_any,
		.lfa_local = m0_lnet_nid_any,
		.lfa_msgs = M0_LNET_FAULT_PUT,
		.lfa_rate = rate,
		.lfa_seed = 1,
		.lfa_latency_ms = kind == M0_LNET_FAULT_DELAY ? LATENCY_MS : 0,
	};

	assert_int_equal(m0_lnet_engine_fault_add(two->pno_engine, &attr), 0);
}

static void puts_run(unsigned nr)
{
	for (; nr > 0; --nr) {
		put_to(one, "10.1.0.3@tcp1", 100);
		pair_settle(pair);
	}
}

static void router_drops_what_comes_in(void **state)
{
	(void)state;
	line_plain_open(0);
	rule_add(M0_LNET_FAULT_DROP, 4);
	puts_run(40);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 30);
	assert_int_equal(stats_of(two)->ls_drop_fault, 10);
	assert_int_equal(routing_info(1).lgi_forwarded_nr, 30);
	assert_int_equal(routing_info(1).lgi_pools[1].lbi_used_nr, 0);
	assert_int_equal(lpni_of(two, "10.0.0.1@tcp")->lpn_fwds_nr, 0);
}

/* The connection waits where the message comes in; the message where it leaves. */
static void router_delays_what_comes_in_and_what_leaves(void **state)
{
	(void)state;
	line_plain_open(0);
	rule_add(M0_LNET_FAULT_DELAY, 1);
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_run(pair, LATENCY_MS - 5);
	assert_int_equal(routing_info(1).lgi_pools[1].lbi_used_nr, 0);
	pair_run(pair, LATENCY_MS);
	assert_int_equal(routing_info(1).lgi_pools[1].lbi_used_nr, 1);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 0);
	pair_run(pair, LATENCY_MS);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
}

static void router_corrupts_what_comes_in(void **state)
{
	unsigned i;
	unsigned wrong = 0;

	(void)state;
	line_plain_open(0);
	rule_add(M0_LNET_FAULT_CORRUPT, 1);
	puts_run(1);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	for (i = 0; i < 100; ++i)
		wrong += (unsigned)__builtin_popcount(bytes_out[i] ^
						      bytes_in[i]);
	assert_int_equal(wrong, 1);
}

/* A message that is put off for want of a buffer is judged once. */
static void message_that_waits_is_judged_once(void **state)
{
	(void)state;
	line_plain_open(0);
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 1);
	rule_add(M0_LNET_FAULT_DROP, 2);
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 100);
	put_to(one, "10.1.0.3@tcp1", 100);
	put_to(one, "10.1.0.3@tcp1", 100);
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_run(pair, 500);
	release();
	pair_run(pair, 500);
	assert_int_equal(stats_of(two)->ls_drop_fault, 2);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(forwarded_message_has_the_deadline_of_its_network),
		STORY_BARE(router_drops_what_comes_in),
		STORY_BARE(router_delays_what_comes_in_and_what_leaves),
		STORY_BARE(router_corrupts_what_comes_in),
		STORY_BARE(message_that_waits_is_judged_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
