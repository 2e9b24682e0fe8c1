/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Routes that lead back to this node: how a message that comes back takes its route
 * down, and which messages prove nothing.
 */
#include "unit/lnet/routed.h"

/** Sends a PUT with ACK to a node of tcp9. */
static void put_far(struct pair_node *from)
{
	pair_put(from, pair_md_bind(from, bytes_out, 8, 2, 0), "10.9.0.1@tcp9",
		 PORTAL, BITS, true);
}

static void loop_takes_its_route_down(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	/* tcp9 is behind the next one in a ring of three. */
	routed_open(3, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.1.0.3@tcp1 10.2.0.3@tcp2");
	nids(0, "10.2.0.1@tcp2");
	routing(0, true);
	routing(1, true);
	routing(2, true);
	route(0, "tcp9", "10.0.0.2@tcp");
	route(1, "tcp9", "10.1.0.3@tcp1");
	route(2, "tcp9", "10.2.0.1@tcp2");
	/* Checks are at 60 s, 120 s and so on. */
	pair_run(pair, 30000);
	put_far(one);
	pair_settle(pair);
	assert_int_equal(routing_info(0).lgi_loops_nr, 1);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_LOOP);
	put_far(one);
	pair_settle(pair);
	assert_int_equal(send_status(one, 1), -EHOSTUNREACH);
	/* The loop may have been mended: a ping an interval finds out. */
	pair_run(pair, 31000);
	assert_int_equal(routing_info(0).lgi_loops_nr, 2);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_LOOP);
	assert_int_equal(m0_lnet_engine_route_del(node(2)->pno_engine,
						  M0_LNET_NET_ANY,
						  &m0_lnet_nid_any),
			 1);
	pair_run(pair, 61000);
	assert_int_equal(routing_info(0).lgi_loops_nr, 2);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

/* Messages of others go in a circle, of which the routers are told by nobody. */
static void loop_of_routers_is_found_in_an_interval(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_hdr        hdr = hdr_of(M0_LNET_PUT, 8);
	unsigned                  nr;

	(void)state;
	routed_open(4, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.1.0.3@tcp1 10.2.0.3@tcp2");
	nids(3, "10.2.0.4@tcp2 10.3.0.4@tcp3");
	nids(1, "10.3.0.2@tcp3");
	for (nr = 1; nr < 4; ++nr)
		routing(nr, true);
	route(1, "tcp9", "10.1.0.3@tcp1");
	route(2, "tcp9", "10.2.0.4@tcp2");
	route(3, "tcp9", "10.3.0.2@tcp3");
	hdr.lhd_src_nid = pair_nid("10.0.0.1@tcp");
	hdr.lhd_dest_nid = pair_nid("10.9.0.1@tcp9");
	pair_run(pair, 50000);
	pair_inject(two, 1, "10.0.0.1@tcp", &hdr, bytes_out);
	pair_pass(pair, 30);
	assert_true(pair_frames_nr(pair, 1, M0_LNET_PUT) > 3);
	assert_int_equal(route_why(1, 0), M0_LNET_ROUTE_UP);
	/* Time does not pass while a message goes round. */
	for (nr = 0; nr < 12; ++nr) {
		pair->pai_now += M0_TIME_ONE_SECOND;
		pair_pass(pair, 10);
	}
	pair_run(pair, 1000);
	assert_int_equal(route_why(1, 0), M0_LNET_ROUTE_LOOP);
	nr = pair_frames_nr(pair, 1, M0_LNET_PUT);
	pair_run(pair, 30000);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_PUT), nr);
}

/**
 * Opens a client with two routes to tcp9: the first router sends everything back, the
 * second drops it, and its route has this priority.
 */
static void fork_open(uint32_t priority)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	routed_open(3, &cfg);
	nids(0, "10.0.0.1@tcp 10.1.0.1@tcp1");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.0.0.3@tcp");
	routing(0, true);
	routing(1, true);
	routing(2, true);
	route(0, "tcp9", "10.0.0.2@tcp");
	assert_int_equal(route_try_add(0, "tcp9", "10.0.0.3@tcp", 0, priority),
			 0);
	route(1, "tcp9", "10.1.0.1@tcp1");
	pair_run(pair, 30000);
}

/* By turn, the next message would take the other route. */
static void loop_takes_down_the_route_that_the_message_took(void **state)
{
	unsigned i;

	(void)state;
	fork_open(0);
	for (i = 0; i < 2; ++i) {
		put_far(one);
		pair_settle(pair);
	}
	assert_int_equal(routing_info(0).lgi_loops_nr, 1);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_LOOP);
	assert_int_equal(route_why(0, 1), M0_LNET_ROUTE_UP);
}

/* Anyone can send a header with a source of the router. */
static void message_that_only_claims_to_have_come_back_is_dropped(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 8);

	(void)state;
	fork_open(0);
	hdr.lhd_src_nid = pair_nid("10.0.0.1@tcp");
	hdr.lhd_dest_nid = pair_nid("10.9.0.1@tcp9");
	hdr.lhd_wmd = (struct m0_lnet_wmd){ { 1, 2 } };
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	hdr.lhd_wmd = m0_lnet__wmd_none;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_not_ours, 2);
	assert_int_equal(routing_info(0).lgi_loops_nr, 0);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	assert_int_equal(route_why(0, 1), M0_LNET_ROUTE_UP);
}

/* Both routes have been used; each check asks by the route that it is about. */
static void each_route_is_asked_for_its_own_loop(void **state)
{
	unsigned nr[2] = { 0, 0 };
	unsigned i;

	(void)state;
	fork_open(1);
	put_far(one);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_LOOP);
	for (i = 0; i < 3; ++i) {
		put_far(one);
		pair_settle(pair);
	}
	assert_int_equal(route_why(0, 1), M0_LNET_ROUTE_UP);
	pair->pai_frames_nr = 0;
	pair_run(pair, 62000);
	for (i = 0; i < pair->pai_frames_nr; ++i) {
		const struct pair_frame *frame = &pair->pai_frames[i];
		struct m0_lnet_nid       far = pair_nid("10.9.0.1@tcp9");
		struct m0_lnet_nid       self = pair_nid("10.0.0.1@tcp");
		struct m0_lnet_nid       by = pair_nid("10.0.0.2@tcp");

		if (m0_lnet_nid_eq(&frame->pfr_hdr.lhd_src_nid, &self) &&
		    frame->pfr_node == 0 &&
		    m0_lnet_nid_eq(&frame->pfr_hdr.lhd_dest_nid, &far))
			++nr[m0_lnet_nid_eq(&frame->pfr_hop, &by) ? 0 : 1];
	}
	assert_int_equal(nr[0], 1);
	assert_int_equal(nr[1], 1);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_LOOP);
	assert_int_equal(route_why(0, 1), M0_LNET_ROUTE_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(loop_takes_its_route_down),
		STORY_BARE(loop_of_routers_is_found_in_an_interval),
		STORY_BARE(loop_takes_down_the_route_that_the_message_took),
		STORY_BARE(
			message_that_only_claims_to_have_come_back_is_dropped),
		STORY_BARE(each_route_is_asked_for_its_own_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
