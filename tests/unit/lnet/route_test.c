/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Routes of an end node: adding and removing, and which one a message takes. The
 * steps of "active sending" have their names here.
 */
#include "unit/lnet/routed.h"

/* -- adding and removing --------------------------------------------------- */

static void route_with_a_wrong_field_is_refused(void **state)
{
	(void)state;
	routed_open(1, NULL);
	nids(0, "10.0.0.1@tcp");
	assert_int_equal(route_try_add(0, "tcp", "10.0.0.9@tcp", 0, 0),
			 -EINVAL);
	assert_int_equal(route_try_add(0, "tcp1", "0@lo", 0, 0), -EINVAL);
	assert_int_equal(route_try_add(0, "lo", "10.0.0.9@tcp", 0, 0), -EINVAL);
	assert_int_equal(route_try_add(0, "tcp1", "10.0.0.9@tcp", 256, 0),
			 -EINVAL);
	assert_int_equal(route_try_add(0, "tcp1", "10.2.0.9@tcp2", 0, 0),
			 -EHOSTUNREACH);
	assert_int_equal(route_try_add(0, "tcp1", "10.0.0.1@tcp", 0, 0),
			 -EHOSTUNREACH);
	assert_int_equal(m0_lnet_engine_route_get(one->pno_engine,
						  &(uint64_t){ 0 }, NULL, 0),
			 0);
}

static void route_exists_once(void **state)
{
	(void)state;
	routed_open(1, NULL);
	nids(0, "10.0.0.1@tcp 10.1.0.1@tcp1");
	assert_int_equal(route_try_add(0, "tcp1", "10.0.0.9@tcp", 0, 0),
			 -EEXIST);
	assert_int_equal(route_try_add(0, "tcp2", "10.0.0.9@tcp", 255, 7), 0);
	assert_int_equal(route_try_add(0, "tcp2", "10.0.0.9@tcp", 0, 0),
			 -EEXIST);
	assert_int_equal(route_info(0, 0).lri_attr.lra_hops, 255);
	assert_int_equal(route_info(0, 0).lri_attr.lra_priority, 7);
}

static void route_by_another_nid_of_the_gateway_exists(void **state)
{
	(void)state;
	routed_open(2, NULL);
	nids(0, "10.0.0.1@tcp 10.2.0.1@tcp2");
	nids(1, "10.0.0.2@tcp 10.2.0.2@tcp2");
	route(0, "tcp1", "10.0.0.2@tcp");
	pair_settle(pair);
	assert_int_equal(route_try_add(0, "tcp1", "10.2.0.2@tcp2", 0, 0),
			 -EEXIST);
}

static unsigned deleted(const char *net, const char *gateway)
{
	struct m0_lnet_nid nid = gateway == NULL ? m0_lnet_nid_any
						 : pair_nid(gateway);
	uint32_t           nr = M0_LNET_NET_ANY;

	if (net != NULL)
		assert_int_equal(m0_lnet_net_parse(&nr, net), 0);
	return m0_lnet_engine_route_del(one->pno_engine, nr, &nid);
}

static void routes_are_removed_by_net_and_gateway(void **state)
{
	(void)state;
	routed_open(1, NULL);
	nids(0, "10.0.0.1@tcp");
	route(0, "tcp1", "10.0.0.8@tcp");
	route(0, "tcp1", "10.0.0.9@tcp");
	route(0, "tcp2", "10.0.0.9@tcp");
	route(0, "tcp3", "10.0.0.8@tcp");
	assert_int_equal(deleted("tcp4", NULL), 0);
	assert_int_equal(deleted("tcp1", "10.0.0.8@tcp"), 1);
	assert_int_equal(deleted(NULL, "10.0.0.9@tcp"), 2);
	assert_int_equal(deleted(NULL, NULL), 1);
	assert_int_equal(lpni_of(one, "10.0.0.8@tcp")->lpn_refs_nr, 0);
}

static void routes_have_a_bound(void **state)
{
	char     net[16];
	unsigned i;

	(void)state;
	routed_open(1, NULL);
	nids(0, "10.0.0.1@tcp");
	for (i = 0; i < M0_LNET_ROUTES_MAX; ++i) {
		(void)snprintf(net, sizeof net, "tcp%u", i + 1);
		route(0, net, "10.0.0.9@tcp");
	}
	assert_int_equal(route_try_add(0, "tcp9999", "10.0.0.9@tcp", 0, 0),
			 -ENOSPC);
}

/* -- active sending -------------------------------------------------------- */

/* "Lustre requests a message send to a destination NID. Node looks at the net of
 * the NID and discovers that it is a remote net." The header names both ends, the
 * next hop is the gateway. */
static void message_to_a_remote_net_goes_to_the_gateway(void **state)
{
	const struct pair_frame *frame;
	unsigned                 nr;

	(void)state;
	line_open(NULL);
	sink_post(node(2));
	nr = pair_frames_nr(pair, 0, M0_LNET_PUT);
	pair_put(one, pair_md_bind(one, bytes_out, 3000, 2, 0), "10.1.0.3@tcp1",
		 PORTAL, BITS, true);
	pair_settle(pair);
	/* Discovery comes first, through the router; a push is a PUT, too. */
	frame = pair_frame(pair, 0, M0_LNET_PUT, nr + 1);
	assert_non_null(frame);
	assert_nid(&frame->pfr_hop, "10.0.0.2@tcp");
	assert_int_equal(frame->pfr_hop_pid, M0_LNET_PID_LUSTRE);
	assert_nid(&frame->pfr_hdr.lhd_src_nid, "10.0.0.1@tcp");
	assert_nid(&frame->pfr_hdr.lhd_dest_nid, "10.1.0.3@tcp1");
	assert_int_equal(frame->pfr_hdr.lhd_portal, PORTAL);
	assert_memory_equal(bytes_in, bytes_out, 3000);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_status, 0);
	assert_nid(&pair_event(node(2), M0_LNET_EV_PUT, 0)->ev_source.lp_nid,
		   "10.0.0.1@tcp");
	assert_nid(&pair_event(node(2), M0_LNET_EV_PUT, 0)->ev_sender,
		   "10.1.0.2@tcp1");
}

static void get_from_a_remote_net_is_answered(void **state)
{
	(void)state;
	line_open(NULL);
	sink_post(node(2));
	memcpy(bytes_in, bytes_out, SINK_BYTES);
	memset(bytes_out, 0, SINK_BYTES);
	pair_get(one, pair_md_bind(one, bytes_out, SINK_BYTES, 2, 0),
		 "10.1.0.3@tcp1", PORTAL, BITS);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_REPLY, 0)->ev_status, 0);
	assert_memory_equal(bytes_in, bytes_out, SINK_BYTES);
}

/* "If remote net is not found then destination NID is not reachable." */
static void unknown_net_is_not_reachable(void **state)
{
	(void)state;
	line_open(NULL);
	put_to(one, "10.2.0.3@tcp2", 8);
	pair_settle(pair);
	assert_int_equal(send_status(one, 0), -EHOSTUNREACH);
	assert_null(lpni_of(one, "10.2.0.3@tcp2"));
}

/* "If there are multiple routes then one is selected based on priority," */
static void route_of_the_best_priority_is_taken(void **state)
{
	(void)state;
	diamond_route(1, 1, 5, 0);
	sends(6);
	assert_int_equal(forwarded(1), 0);
	assert_int_equal(forwarded(2), 6);
}

/* "number of hops" */
static void route_of_the_fewest_hops_is_taken(void **state)
{
	(void)state;
	diamond_route(0, 3, 2, 3);
	sends(6);
	assert_int_equal(forwarded(1), 6);
	assert_int_equal(forwarded(2), 0);
}

/* "or in round robin." */
static void equal_routes_take_turns(void **state)
{
	(void)state;
	diamond_route(1, 3, 0, 3);
	sends(6);
	assert_int_equal(forwarded(1), 3);
	assert_int_equal(forwarded(2), 3);
	assert_int_equal(route_info(0, 0).lri_sent_nr, 3);
}

/* The turn is that of the routes, whatever else the gateways are used for. */
static void turn_is_that_of_the_routes(void **state)
{
	unsigned i;

	(void)state;
	diamond_route(0, 0, 0, 0);
	for (i = 0; i < 3; ++i)
		put_to(one, "10.0.0.3@tcp", 8);
	pair_settle(pair);
	sends(4);
	assert_int_equal(forwarded(1), 2);
	assert_int_equal(forwarded(2), 2);
}

static enum pair_act hold_to_two(struct pair *p, struct pair_frame *frame)
{
	struct m0_lnet_nid nid = pair_nid("10.0.0.2@tcp");

	(void)p;
	return frame->pfr_node == 0 && m0_lnet_nid_eq(&frame->pfr_hop, &nid)
		       ? PAIR_HOLD
		       : PAIR_PASS;
}

/* Routes are equal: the gateway with more credits is taken. */
static void gateway_with_more_credits_is_preferred(void **state)
{
	(void)state;
	diamond_route(0, 0, 0, 0);
	pair->pai_hook = hold_to_two;
	sends(7);
	assert_int_equal(route_info(0, 0).lri_sent_nr, 1);
	assert_int_equal(forwarded(2), 6);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
}

static enum pair_act hold_of_client(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_node == 0 ? PAIR_HOLD : PAIR_PASS;
}

/* Both have a queue: the bytes in it count before the messages. */
static void gateway_with_fewer_bytes_queued_is_preferred(void **state)
{
	unsigned i;

	(void)state;
	diamond_route(0, 0, 0, 0);
	pair->pai_hook = hold_of_client;
	for (i = 0; i < 10; ++i)
		put_to(one, "10.0.0.2@tcp", 8);
	for (i = 0; i < 9; ++i)
		put_to(one, "10.0.0.3@tcp", 4000);
	put_to(one, "10.1.0.4@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(route_info(0, 0).lri_sent_nr, 1);
	assert_int_equal(route_info(0, 1).lri_sent_nr, 0);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
}

/** The server is Multi-Rail, with two NIDs behind one router. */
static void rails_open(void)
{
	line_open(NULL);
	nids(2, "10.1.0.33@tcp1");
	pair_settle(pair);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(nids_nr(peer_of(one, "10.1.0.3@tcp1")), 2);
}

/** Puts of the client to the server's first NID, as headers that left. */
static unsigned puts_to(unsigned first, const char *nid)
{
	struct m0_lnet_nid       dest = pair_nid(nid);
	const struct pair_frame *frame;
	unsigned                 nr = 0;

	for (; (frame = pair_frame(pair, 0, M0_LNET_PUT, first)) != NULL;
	     ++first)
		nr += frame->pfr_hdr.lhd_portal == PORTAL &&
		      m0_lnet_nid_eq(&frame->pfr_hdr.lhd_dest_nid, &dest);
	return nr;
}

static void nids_behind_a_router_take_turns(void **state)
{
	unsigned first;
	unsigned i;

	(void)state;
	rails_open();
	first = pair_frames_nr(pair, 0, M0_LNET_PUT);
	for (i = 0; i < 6; ++i) {
		put_to(one, "10.1.0.3@tcp1", 8);
		pair_settle(pair);
	}
	assert_int_equal(puts_to(first, "10.1.0.3@tcp1"), 3);
	assert_int_equal(puts_to(first, "10.1.0.33@tcp1"), 3);
}

static void nid_behind_a_router_that_is_down_is_not_used(void **state)
{
	struct m0_lnd_ni *ni;
	unsigned          first;
	unsigned          i;

	(void)state;
	rails_open();
	ni = node(2)->pno_ni[1];
	ni->ldn_up = false;
	ni->ldn_ops->lu_ni_status(ni);
	pair_settle(pair);
	first = pair_frames_nr(pair, 0, M0_LNET_PUT);
	for (i = 0; i < 4; ++i) {
		put_to(one, "10.1.0.3@tcp1", 8);
		pair_settle(pair);
	}
	assert_int_equal(puts_to(first, "10.1.0.33@tcp1"), 4);
}

/* "Node looks at the number of credits available for the gateway peer. If there
 * aren't enough credits available, then the message is queued internally [...]
 * Messages are then popped out in FIFO order." */
static void credits_of_the_gateway_are_waited_for(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = hold_to_two;
	for (i = 0; i < 10; ++i)
		put_to(one, "10.1.0.3@tcp1", 8 + i);
	pair_settle(pair);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, -2);
	assert_int_equal(lpni_of(one, "10.1.0.3@tcp1")->lpn_credits, 8);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 0);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 10);
	for (i = 0; i < 10; ++i)
		assert_int_equal(
			pair_event(one, M0_LNET_EV_SEND, i)->ev_rlength, 8 + i);
}

/* "If the deadline is reached while the message is queued or in the transmit state,
 * then the transmit expires and the message is finalized." */
static void message_that_waits_for_the_gateway_expires(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = hold_to_two;
	for (i = 0; i < 9; ++i)
		put_to(one, "10.1.0.3@tcp1", 8);
	pair_run(pair, TTO_MS + 1000);
	assert_int_equal(send_status(one, 0), -ETIMEDOUT);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 9);
}

static void source_nid_restricts_the_route(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	const struct pair_frame  *frame;

	(void)state;
	line_open(&cfg);
	nids(0, "10.0.0.11@tcp 10.2.0.1@tcp2");
	put_from(one, "10.0.0.11@tcp", "10.1.0.3@tcp1");
	pair_settle(pair);
	frame = pair_frame(pair, 0, M0_LNET_PUT, 0);
	assert_nid(&frame->pfr_hdr.lhd_src_nid, "10.0.0.11@tcp");
	assert_nid(&frame->pfr_hop, "10.0.0.2@tcp");
	/* No gateway is on the network of this one. */
	put_from(one, "10.2.0.1@tcp2", "10.1.0.3@tcp1");
	pair_settle(pair);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(send_status(one, 1), -EHOSTUNREACH);
}

static void distance_counts_hops(void **state)
{
	struct m0_lnet_nid dst = { 0 };
	struct m0_lnet_nid src;
	uint32_t           order;

	(void)state;
	diamond_route(3, 0, 7, 1);
	dst = pair_nid("10.1.0.4@tcp1");
	assert_int_equal(
		m0_lnet_engine_dist(one->pno_engine, &dst, &src, &order), 4);
	assert_nid(&src, "10.0.0.1@tcp");
	dst = pair_nid("10.5.0.4@tcp5");
	assert_int_equal(m0_lnet_engine_dist(one->pno_engine, &dst, NULL, NULL),
			 -EHOSTUNREACH);
}

/* -- candidates ------------------------------------------------------------ */

static void selection_says_why_the_others_lost(void **state)
{
	struct m0_lnet_nid     dst = { 0 };
	struct m0_lnet__trial  trials[8];
	struct m0_lnet__trials list = { .tls_trials = trials,
					.tls_max = ARRAY_SIZE(trials) };
	struct m0_lnet__path   path;

	(void)state;
	diamond_route(0, 1, 0, 0);
	dst = pair_nid("10.1.0.4@tcp1");
	path = m0_lnet__select(one->pno_engine,
			       &(struct m0_lnet__want){ .wnt_nid = &dst,
							.wnt_trials = &list });
	assert_nid(&path.pth_lpni->lpn_nid, "10.0.0.3@tcp");
	assert_int_equal(list.tls_nr, 2);
	assert_string_equal(trials[0].trl_lost_by,
			    "the priority of the route is worse");
	assert_null(trials[1].trl_lost_by);
	assert_ptr_equal(trials[1].trl_path.pth_route, path.pth_route);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(route_with_a_wrong_field_is_refused),
		STORY_BARE(route_exists_once),
		STORY_BARE(route_by_another_nid_of_the_gateway_exists),
		STORY_BARE(routes_are_removed_by_net_and_gateway),
		STORY_BARE(routes_have_a_bound),
		STORY_BARE(message_to_a_remote_net_goes_to_the_gateway),
		STORY_BARE(get_from_a_remote_net_is_answered),
		STORY_BARE(unknown_net_is_not_reachable),
		STORY_BARE(route_of_the_best_priority_is_taken),
		STORY_BARE(route_of_the_fewest_hops_is_taken),
		STORY_BARE(equal_routes_take_turns),
		STORY_BARE(gateway_with_more_credits_is_preferred),
		STORY_BARE(turn_is_that_of_the_routes),
		STORY_BARE(gateway_with_fewer_bytes_queued_is_preferred),
		STORY_BARE(nids_behind_a_router_take_turns),
		STORY_BARE(nid_behind_a_router_that_is_down_is_not_used),
		STORY_BARE(credits_of_the_gateway_are_waited_for),
		STORY_BARE(message_that_waits_for_the_gateway_expires),
		STORY_BARE(source_nid_restricts_the_route),
		STORY_BARE(distance_counts_hops),
		STORY_BARE(selection_says_why_the_others_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
