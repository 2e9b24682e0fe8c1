/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * When a route is up: the checks of gateways, what they report, and what becomes of
 * messages when one is lost.
 */
#include "unit/lnet/routed.h"
#include "lnet/health/health.h"

static void gateway_is_discovered_at_once(void **state)
{
	(void)state;
	line_open(NULL);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	assert_int_equal(route_info(0, 0).lri_answered_ms, 0);
	assert_false(route_info(0, 0).lri_multi_hop);
	assert_int_equal(peer_of(one, "10.0.0.2@tcp")->lpe_state,
			 M0_LNET_PEER_MULTI_RAIL | M0_LNET_PEER_ROUTER_ENABLED |
				 M0_LNET_PEER_DISCOVERED |
				 M0_LNET_PEER_NIDS_UPTODATE);
	routing(1, false);
	pair_settle(pair);
	assert_int_equal(peer_of(one, "10.0.0.2@tcp")->lpe_state &
				 M0_LNET_PEER_ROUTER_ENABLED,
			 0);
}

static void gateway_is_checked_in_each_interval(void **state)
{
	unsigned gets;
	unsigned puts;

	(void)state;
	line_open(NULL);
	gets = pair_frames_nr(pair, 0, M0_LNET_GET);
	puts = pair_frames_nr(pair, 0, M0_LNET_PUT);
	pair_run(pair, 59000);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), gets);
	pair_run(pair, 2000);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), gets + 1);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), puts + 1);
}

/* The loss of one gateway does not put off the check of another. */
static void gateway_is_checked_in_time_when_another_is_lost(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	unsigned                  gets;

	(void)state;
	diamond_open(&cfg);
	route(0, "tcp1", "10.0.0.2@tcp");
	pair_settle(pair);
	pair_run(pair, 5000);
	route(0, "tcp1", "10.0.0.3@tcp");
	pair_settle(pair);
	pair_run(pair, 52000);
	gets = pair_frames_nr(pair, 0, M0_LNET_GET);
	/* The first is due in 3 s, the second in 8 s, now in 10 s at most. */
	pair_peer_down(one, "10.0.0.3@tcp", -ECONNRESET);
	pair_run(pair, 4000);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), gets + 1);
}

static void gateway_that_does_not_route_is_not_used(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	line_open(&cfg);
	routing(1, false);
	pair_settle(pair);
	/* The gateway has said so itself. */
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_NOT_ROUTING);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(send_status(one, 0), -EHOSTUNREACH);
	routing(1, true);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void gateway_that_is_silent_is_not_used(void **state)
{
	(void)state;
	line_open(NULL);
	pair->pai_hook = all_lost;
	pair_run(pair, 61000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	pair_run(pair, 50000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_SILENT);
	assert_int_equal(route_info(0, 0).lri_status, -ETIMEDOUT);
	pair->pai_hook = NULL;
	/* A gateway that failed is asked more often. */
	pair_run(pair, 61000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	assert_int_equal(route_info(0, 0).lri_status, 0);
}

static void gateway_lost_by_the_driver_is_not_used(void **state)
{
	(void)state;
	line_open(NULL);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_LOST);
	assert_int_equal(route_info(0, 0).lri_status, -ECONNRESET);
	/* Any message of it proves it alive. */
	pair_run(pair, 10);
	put_to(two, "10.0.0.1@tcp", 8);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

/* The log has one line a second for a route, and the last change is in it. */
static void last_change_of_a_route_is_logged(void **state)
{
	const struct m0_lnet_route *route;

	(void)state;
	line_open(NULL);
	route = m0_list_entry(
		m0_list_first(&m0_lnet__routes(one->pno_engine)->lrs_routes),
		struct m0_lnet_route, lrt_link);
	pair_run(pair, 5000);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	assert_int_equal(route->lrt_reported, M0_LNET_ROUTE_LOST);
	pair_run(pair, 400);
	m0_lnet__routes_checked(one->pno_engine, peer_of(one, "10.0.0.2@tcp"),
				0);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	pair_run(pair, 500);
	assert_int_equal(route_info(0, 0).lri_since_ms, 500);
	assert_int_not_equal(route->lrt_report_at, 0);
	pair_run(pair, 200);
	/* The line was logged at 1 s, and the next may follow at 2 s. */
	assert_int_equal(route->lrt_reported, M0_LNET_ROUTE_UP);
	assert_true(route->lrt_report_at > pair->pai_now);
	assert_int_equal(route_info(0, 0).lri_since_ms, 700);
}

static void gateway_lost_by_the_driver_is_asked_again(void **state)
{
	(void)state;
	line_open(NULL);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	pair_run(pair, 11000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

/** Messages of the client to the first router fail. */
static enum pair_act first_is_cut_off(struct pair *p, struct pair_frame *frame)
{
	struct m0_lnet_nid first = pair_nid("10.0.0.2@tcp");

	(void)p;
	return frame->pfr_node == 0 && m0_lnet_nid_eq(&frame->pfr_hop, &first)
		       ? PAIR_FAIL
		       : PAIR_PASS;
}

/* Its far NID answers by the other router. */
static void gateway_is_not_checked_by_another_gateway(void **state)
{
	struct m0_lnet_probe probe = { .pr_kind = M0_LNET_DISCOVER,
				       .pr_nid = pair_nid("10.1.0.2@tcp1"),
				       .pr_self = m0_lnet_nid_any,
				       .pr_force = true,
				       .pr_timeout_ms = 1000 };

	(void)state;
	diamond_open(NULL);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(0, "tcp1", "10.0.0.3@tcp");
	pair_settle(pair);
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.2@tcp")), 2);
	pair->pai_hook = first_is_cut_off;
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	pair_run(pair, 61000);
	assert_int_not_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	assert_int_equal(route_why(0, 1), M0_LNET_ROUTE_UP);
	/* The user may ask that NID. */
	m0_list_link_init(&probe.pr_link);
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_settle(pair);
	assert_int_equal(probe.pr_status, 0);
	assert_int_not_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	pair->pai_hook = NULL;
	pair_run(pair, 11000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void gateway_that_failed_is_asked_again_without_checks(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_route.lrc_check_ns = 0;
	routed_open(2, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	routing(1, true);
	pair->pai_hook = all_lost;
	route(0, "tcp1", "10.0.0.2@tcp");
	pair_run(pair, 51000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_SILENT);
	pair->pai_hook = NULL;
	pair_run(pair, 71000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	pair_run(pair, 60000);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_LOST);
	pair_run(pair, 11000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void far_interface_down_takes_the_route_down(void **state)
{
	struct m0_lnd_ni *far;

	(void)state;
	line_open(NULL);
	far = node(1)->pno_ni[2];
	far->ldn_up = false;
	far->ldn_ops->lu_ni_status(far);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_FAR_DOWN);
	far->ldn_up = true;
	far->ldn_ops->lu_ni_status(far);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void far_interface_does_not_matter_if_so_configured(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	struct m0_lnd_ni         *far;

	(void)state;
	cfg.lec_route.lrc_avoid_asym = false;
	line_open(&cfg);
	far = node(1)->pno_ni[2];
	far->ldn_up = false;
	far->ldn_ops->lu_ni_status(far);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void near_interface_down_takes_the_route_down(void **state)
{
	const struct pair_frame *frame;
	struct m0_lnd_ni        *near;

	(void)state;
	routed_open(2, NULL);
	nids(0, "10.0.0.1@tcp 10.2.0.1@tcp2");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1 10.2.0.2@tcp2");
	routing(1, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	pair_settle(pair);
	near = two->pno_ni[1];
	near->ldn_up = false;
	near->ldn_ops->lu_ni_status(near);
	pair_settle(pair);
	/* The gateway is reached by its other NID. */
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	put_to(one, "10.1.0.9@tcp1", 8);
	pair_settle(pair);
	frame = pair_frame(pair, 0, M0_LNET_GET,
			   pair_frames_nr(pair, 0, M0_LNET_GET) - 1);
	assert_nid(&frame->pfr_hdr.lhd_dest_nid, "10.1.0.9@tcp1");
	assert_nid(&frame->pfr_hop, "10.2.0.2@tcp2");
	near = two->pno_ni[3];
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_NEAR_DOWN);
}

/* A router reports an interface down that is sick, and still sends by it. */
static void message_does_not_refute_the_report_of_a_gateway(void **state)
{
	const struct m0_lnet_nid near = pair_nid("10.0.0.2@tcp");
	struct m0_lnet_ni       *ni;

	(void)state;
	line_open(NULL);
	ni = m0_lnet__ni_find(two->pno_engine, &near);
	m0_lnet__health_ni_set(ni, 0);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_NEAR_DOWN);
	put_to(two, "10.0.0.1@tcp", 8);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_NEAR_DOWN);
	m0_lnet__health_ni_set(ni, M0_LNET_HEALTH_MAX);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void route_without_an_interface_is_down(void **state)
{
	(void)state;
	line_open(NULL);
	one->pno_ni[1]->ldn_up = false;
	one->pno_ni[1]->ldn_ops->lu_ni_status(one->pno_ni[1]);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_NO_NI);
}

/* The gateway reports more interfaces than this node keeps. */
static void far_interface_that_is_not_kept_is_unknown(void **state)
{
	struct m0_lnet_ping_ni   kept = { .lpg_nid = pair_nid("10.0.0.2@tcp"),
					  .lpg_up = true };
	struct m0_lnet_ping_info info = { .lpi_nis = &kept,
					  .lpi_nis_nr = 2,
					  .lpi_nis_max = 1 };

	(void)state;
	line_open(NULL);
	m0_lnet__routes_learn(one->pno_engine, peer_of(one, "10.0.0.2@tcp"),
			      &info);
	assert_false(route_info(0, 0).lri_multi_hop);
}

/* Any node may push information with the NID of a gateway in it. */
static void gateway_is_not_taken_over(void **state)
{
	struct m0_lnet_ping_ni nis[] = {
		{ .lpg_nid = pair_nid("10.0.0.2@tcp"), .lpg_up = true },
		{ .lpg_nid = pair_nid(STRANGER), .lpg_up = true }
	};
	struct m0_lnet_ping_info info = {
		.lpi_nis = nis,
		.lpi_nis_nr = 2,
		.lpi_nis_max = 2,
		.lpi_features = M0_LNET_FEAT_MULTI_RAIL | M0_LNET_FEAT_DISCOVERY
	};
	struct m0_lnet_nid   stranger = pair_nid(STRANGER);
	struct m0_lnet_lpni *lpni;

	(void)state;
	line_open(NULL);
	lpni = m0_lnet__lpni_get(one->pno_engine, &stranger);
	assert_int_equal(m0_lnet__peer_learn(one->pno_engine, lpni, &info), 0);
	assert_ptr_not_equal(peer_of(one, "10.0.0.2@tcp"), lpni->lpn_peer);
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.2@tcp")), 2);
	/* The gateway itself may say that this NID is its own. */
	assert_int_equal(m0_lnet__peer_learn(one->pno_engine,
					     lpni_of(one, "10.0.0.2@tcp"),
					     &info),
			 0);
	assert_ptr_equal(peer_of(one, "10.0.0.2@tcp"), lpni->lpn_peer);
	m0_lnet__lpni_put(one->pno_engine, lpni);
}

/* A router takes a message for another interface than the one that it comes by for
 * a violation. */
static void far_nid_of_a_gateway_is_reached_by_its_near_one(void **state)
{
	struct m0_lnet_probe probe = { .pr_kind = M0_LNET_PING,
				       .pr_nid = pair_nid("10.1.0.2@tcp1"),
				       .pr_self = m0_lnet_nid_any,
				       .pr_timeout_ms = 1000 };
	unsigned             i;

	(void)state;
	routed_open(3, NULL);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.1.0.3@tcp1 10.2.0.3@tcp2");
	routing(1, true);
	routing(2, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(0, "tcp2", "10.0.0.2@tcp");
	route(1, "tcp2", "10.1.0.3@tcp1");
	route(2, "tcp", "10.1.0.2@tcp1");
	pair_settle(pair);
	for (i = 0; i < 2; ++i) {
		m0_list_link_init(&probe.pr_link);
		m0_lnet_engine_probe(one->pno_engine, &probe);
		pair_run(pair, 1100);
		assert_int_equal(probe.pr_status, 0);
		assert_int_equal(two->pno_proto_errors_nr, 0);
		assert_int_equal(node(2)->pno_proto_errors_nr, 0);
		/* And that of the next router. */
		probe.pr_nid = pair_nid("10.2.0.3@tcp2");
	}
}

/* Without discovery the node does not know that both NIDs are of one peer, unless the
 * user says so. */
static void far_nid_is_reached_without_discovery_if_it_was_added(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_nid        near = pair_nid("10.0.0.2@tcp");
	struct m0_lnet_probe      probe = { .pr_kind = M0_LNET_PING,
					    .pr_nid = pair_nid("10.1.0.2@tcp1"),
					    .pr_self = m0_lnet_nid_any,
					    .pr_timeout_ms = 1000 };

	(void)state;
	assert_false(cfg.lec_discovery);
	line_open(&cfg);
	assert_int_equal(m0_lnet_engine_peer_add(one->pno_engine, &near,
						 &probe.pr_nid, 1, true),
			 0);
	m0_list_link_init(&probe.pr_link);
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_run(pair, 1100);
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(two->pno_proto_errors_nr, 0);
}

static void hops_of_one_demand_the_far_interface(void **state)
{
	(void)state;
	routed_open(2, NULL);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp");
	routing(1, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	assert_int_equal(route_try_add(0, "tcp2", "10.0.0.2@tcp", 1, 0), 0);
	pair_settle(pair);
	/* By default a gateway without such an interface has another router. */
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	assert_true(route_info(0, 0).lri_multi_hop);
	assert_int_equal(route_why(0, 1), M0_LNET_ROUTE_FAR_DOWN);
	assert_false(route_info(0, 1).lri_multi_hop);
}

static void second_route_by_a_gateway_is_checked_at_once(void **state)
{
	(void)state;
	line_open(NULL);
	assert_int_equal(route_try_add(0, "tcp2", "10.0.0.2@tcp", 1, 0), 0);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	assert_int_equal(route_why(0, 1), M0_LNET_ROUTE_FAR_DOWN);
}

static void route_is_checked_before_use_if_so_configured(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_route.lrc_check_first = true;
	routed_open(2, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	routing(1, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UNCHECKED);
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void routes_that_are_down_are_used_if_so_configured(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_route.lrc_use_down = true;
	line_open(&cfg);
	routing(1, false);
	pair_run(pair, 61000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_NOT_ROUTING);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(send_status(one, 0), 0);
}

static void messages_go_by_the_other_route_and_return(void **state)
{
	(void)state;
	diamond_route(0, 0, 0, 1);
	sends(3);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	sends(3);
	assert_int_equal(forwarded(1), 3);
	assert_int_equal(forwarded(2), 3);
	pair_run(pair, 11000);
	sends(3);
	assert_int_equal(forwarded(1), 6);
}

/* The answer takes the hop of the request, unless that was lost meanwhile. */
static void answer_takes_another_route_if_the_router_is_lost(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 8);
	unsigned           i;

	(void)state;
	diamond_route(0, 0, 0, 0);
	one = node(3);
	route(3, "tcp", "10.1.0.2@tcp1");
	route(3, "tcp", "10.1.0.3@tcp1");
	pair_settle(pair);
	sink_post(one);
	hdr.lhd_src_nid = pair_nid("10.0.0.1@tcp");
	hdr.lhd_dest_nid = pair_nid("10.1.0.4@tcp1");
	memset(&hdr.lhd_wmd, 7, sizeof hdr.lhd_wmd);
	one->pno_rx_hold = true;
	for (i = 0; i < 2; ++i) {
		pair_inject(one, 1, "10.1.0.2@tcp1", &hdr, bytes_out);
		pair_settle(pair);
		if (i == 1)
			pair_peer_down(one, "10.1.0.2@tcp1", -ECONNRESET);
		one->pno_rx_hold = false;
		pair_settle(pair);
		one->pno_rx_hold = true;
	}
	assert_nid(&pair_frame(pair, 3, M0_LNET_ACK, 0)->pfr_hop,
		   "10.1.0.2@tcp1");
	assert_nid(&pair_frame(pair, 3, M0_LNET_ACK, 1)->pfr_hop,
		   "10.1.0.3@tcp1");
	one->pno_rx_hold = false;
}

static void sender_behind_a_router_is_told_of_changes(void **state)
{
	struct m0_lnet_nid nid;

	(void)state;
	line_open(NULL);
	nid = pair_nid("10.0.0.1@tcp");
	sink_post(node(2));
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_non_null(m0_lnet__lpni_find(node(2)->pno_engine, &nid));
	nids(2, "10.1.0.33@tcp1");
	pair_settle(pair);
	assert_int_equal(nids_nr(peer_of(one, "10.1.0.3@tcp1")), 2);
}

static void message_by_an_asymmetric_route_is_dropped(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_route.lrc_drop_asym = true;
	line_open(&cfg);
	sink_post(node(2));
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	assert_int_equal(m0_lnet_engine_route_del(node(2)->pno_engine,
						  M0_LNET_NET_ANY,
						  &m0_lnet_nid_any),
			 1);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	assert_int_equal(stats_of(node(2))->ls_drop_not_ours, 1);
}

static void message_to_itself_is_not_asymmetric(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_route.lrc_drop_asym = true;
	line_open(&cfg);
	sink_post(one);
	put_to(one, "10.0.0.1@tcp", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(gateway_is_discovered_at_once),
		STORY_BARE(gateway_is_checked_in_each_interval),
		STORY_BARE(gateway_is_checked_in_time_when_another_is_lost),
		STORY_BARE(gateway_that_does_not_route_is_not_used),
		STORY_BARE(gateway_that_is_silent_is_not_used),
		STORY_BARE(gateway_lost_by_the_driver_is_not_used),
		STORY_BARE(last_change_of_a_route_is_logged),
		STORY_BARE(gateway_lost_by_the_driver_is_asked_again),
		STORY_BARE(gateway_is_not_checked_by_another_gateway),
		STORY_BARE(gateway_that_failed_is_asked_again_without_checks),
		STORY_BARE(far_interface_down_takes_the_route_down),
		STORY_BARE(far_interface_does_not_matter_if_so_configured),
		STORY_BARE(near_interface_down_takes_the_route_down),
		STORY_BARE(message_does_not_refute_the_report_of_a_gateway),
		STORY_BARE(route_without_an_interface_is_down),
		STORY_BARE(far_interface_that_is_not_kept_is_unknown),
		STORY_BARE(gateway_is_not_taken_over),
		STORY_BARE(far_nid_of_a_gateway_is_reached_by_its_near_one),
		STORY_BARE(
			far_nid_is_reached_without_discovery_if_it_was_added),
		STORY_BARE(hops_of_one_demand_the_far_interface),
		STORY_BARE(second_route_by_a_gateway_is_checked_at_once),
		STORY_BARE(route_is_checked_before_use_if_so_configured),
		STORY_BARE(routes_that_are_down_are_used_if_so_configured),
		STORY_BARE(messages_go_by_the_other_route_and_return),
		STORY_BARE(answer_takes_another_route_if_the_router_is_lost),
		STORY_BARE(sender_behind_a_router_is_told_of_changes),
		STORY_BARE(message_by_an_asymmetric_route_is_dropped),
		STORY_BARE(message_to_itself_is_not_asymmetric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
