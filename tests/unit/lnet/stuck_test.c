/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A router with a next hop that takes no messages, and with others that do. */
#include "unit/lnet/routed.h"

/** The router's messages to the third node stay with its driver. */
static enum pair_act one_server_is_dead(struct pair       *p,
					struct pair_frame *frame)
{
	struct m0_lnet_nid dead = pair_nid("10.1.0.3@tcp1");

	(void)p;
	return frame->pfr_node == 1 && m0_lnet_nid_eq(&frame->pfr_hop, &dead)
		       ? PAIR_HOLD
		       : PAIR_PASS;
}

/* Both servers are behind one connection. */
static void server_that_is_dead_does_not_stop_the_others(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_probe      probe = { .pr_kind = M0_LNET_PING,
					    .pr_nid = pair_nid("10.0.0.2@tcp"),
					    .pr_self = m0_lnet_nid_any,
					    .pr_timeout_ms = 20000 };
	unsigned                  i;

	(void)state;
	line_open(&cfg);
	nids(2, "10.1.0.4@tcp1");
	sink_post(node(2));
	pair->pai_hook = one_server_is_dead;
	for (i = 0; i < 8; ++i)
		put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	put_to(one, "10.1.0.4@tcp1", 8);
	m0_list_link_init(&probe.pr_link);
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_run(pair, 9000);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 0);
	pair_run(pair, 3000);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	assert_int_equal(probe.pr_status, 0);
	for (i = 0; i < 20; ++i) {
		put_to(one, "10.1.0.3@tcp1", 8);
		put_to(one, "10.1.0.4@tcp1", 8);
		pair_settle(pair);
	}
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 21);
	assert_int_equal(routing_info(1).lgi_no_buffer_nr, 20);
	/* The server reads again. */
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 30);
	assert_int_equal(lpni_of(two, "10.0.0.1@tcp")->lpn_fwds_nr, 0);
}

/* A message that is not whole says nothing about the next hop. */
static void sender_that_is_slow_does_not_block_the_next_hop(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	sink_post(node(2));
	two->pno_rx_hold = true;
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_run(pair, 20000);
	two->pno_rx_hold = false;
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 2);
}

/** Takes as many small buffers as messages to this next hop may have. */
static unsigned buffers_take(const char *hop, struct m0_lnet_fwd **fwds)
{
	struct m0_lnet_lpni *lpni = lpni_of(two, hop);
	unsigned             nr = 0;

	while (!m0_lnet__pool_is_shared_out(two->pno_engine, M0_LNET_POOL_SMALL,
					    lpni)) {
		fwds[nr] = m0_lnet__fwd_get(two->pno_engine, M0_LNET_POOL_SMALL,
					    false);
		assert_non_null(fwds[nr++]);
		++lpni->lpn_fwds_to[M0_LNET_POOL_SMALL];
	}
	return nr;
}

static void buffers_put(const char *hop, struct m0_lnet_fwd **fwds, unsigned nr)
{
	for (; nr > 0; --nr) {
		--lpni_of(two, hop)->lpn_fwds_to[M0_LNET_POOL_SMALL];
		m0_lnet__fwd_put(two->pno_engine, *fwds++);
	}
}

/* "Pool exhaustion": servers that never read, one after another, take half of what
 * the others have left, and never all of it. */
static void stuck_peers_leave_buffers_to_others(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_fwd       *fwds[3][16];

	(void)state;
	cfg.lec_route.lrc_buffers[M0_LNET_POOL_SMALL] = 16;
	line_open(&cfg);
	nids(2, "10.1.0.4@tcp1 10.1.0.5@tcp1");
	put_to(two, "10.1.0.3@tcp1", 8);
	put_to(two, "10.1.0.4@tcp1", 8);
	put_to(two, "10.1.0.5@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(buffers_take("10.1.0.3@tcp1", fwds[0]), 8);
	assert_int_equal(buffers_take("10.1.0.4@tcp1", fwds[1]), 4);
	assert_int_equal(buffers_take("10.1.0.5@tcp1", fwds[2]), 2);
	/* One that has more than its share by now gets its share. */
	buffers_put("10.1.0.3@tcp1", fwds[0], 8);
	assert_int_equal(buffers_take("10.1.0.3@tcp1", fwds[0]), 5);
	buffers_put("10.1.0.3@tcp1", fwds[0], 5);
	buffers_put("10.1.0.4@tcp1", fwds[1], 4);
	buffers_put("10.1.0.5@tcp1", fwds[2], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(server_that_is_dead_does_not_stop_the_others),
		STORY_BARE(stuck_peers_leave_buffers_to_others),
		STORY_BARE(sender_that_is_slow_does_not_block_the_next_hop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
