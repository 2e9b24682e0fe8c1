/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A node as a router: which messages it forwards, by which buffers, and what ends
 * one that it cannot. The steps of "router message processing" have their names
 * here.
 */
#include "unit/lnet/routed.h"

enum {
	/** How long a router that stops forwards what still comes, at least and
	 * at most; and how long a message waits for a buffer. */
	STOP_MIN_MS = 2000,
	STOP_MAX_MS = 10000,
	HELD_MS = 10000
};

static struct m0_lnet_engine_cfg cfg_few(uint32_t tiny, uint32_t small,
					 uint32_t large)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	cfg.lec_route.lrc_buffers[M0_LNET_POOL_TINY] = tiny;
	cfg.lec_route.lrc_buffers[M0_LNET_POOL_SMALL] = small;
	cfg.lec_route.lrc_buffers[M0_LNET_POOL_LARGE] = large;
	return cfg;
}

static const struct m0_lnet_pool_info *pool_of(unsigned i, enum m0_lnet_pool nr)
{
	static struct m0_lnet_routing_info info;

	info = routing_info(i);
	return &info.lgi_pools[nr];
}

/** The router's messages stay with its driver. */
static enum pair_act router_holds(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_node == 1 ? PAIR_HOLD : PAIR_PASS;
}

static void release(void)
{
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
}

/* -- what is forwarded ----------------------------------------------------- */

/* "If the NID is not its own, then it knows it needs to route that message." The
 * header is unchanged. */
static void header_is_forwarded_unchanged(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	const struct pair_frame  *in;
	const struct pair_frame  *out;

	(void)state;
	line_open(&cfg);
	sink_post(node(2));
	pair_put(one, pair_md_bind(one, bytes_out, 300, 2, 0), "10.1.0.3@tcp1",
		 PORTAL, BITS, true);
	pair_settle(pair);
	in = pair_frame(pair, 0, M0_LNET_PUT, 0);
	out = pair_frame(pair, 1, M0_LNET_PUT, 0);
	assert_non_null(in);
	assert_non_null(out);
	assert_memory_equal(&in->pfr_hdr, &out->pfr_hdr, sizeof in->pfr_hdr);
	assert_nid(&out->pfr_ni, "10.1.0.2@tcp1");
	assert_nid(&out->pfr_hop, "10.1.0.3@tcp1");
	in = pair_frame(pair, 2, M0_LNET_ACK, 0);
	out = pair_frame(pair, 1, M0_LNET_ACK, 0);
	assert_memory_equal(&in->pfr_hdr, &out->pfr_hdr, sizeof in->pfr_hdr);
	assert_nid(&out->pfr_hop, "10.0.0.1@tcp");
	assert_int_equal(stats_of(two)->ls_route_count, 2);
	assert_int_equal(stats_of(two)->ls_route_length, 300);
	assert_int_equal(stats_of(two)->ls_recv_count, 2);
}

/* "looks at the size of data in this message and pulls out an appropriately sized
 * buffer (max 1MB)." */
static void buffer_is_of_the_size_of_the_message(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 0);
	put_to(one, "10.1.0.3@tcp1", 1);
	put_to(one, "10.1.0.3@tcp1", 4096);
	put_to(one, "10.1.0.3@tcp1", 4097);
	put_to(one, "10.1.0.3@tcp1", M0_LNET_MTU);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_TINY)->lbi_used_nr, 1);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 2);
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_used_nr, 2);
	release();
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_used_nr, 0);
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_nr, 2);
	assert_int_equal(routing_info(1).lgi_bytes, 2 * 4096 + 2 * M0_LNET_MTU);
	assert_int_equal(forwarded(1), 5);
}

static void three_hops_are_forwarded(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	routed_open(4, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.1.0.3@tcp1 10.2.0.3@tcp2");
	nids(3, "10.2.0.4@tcp2");
	routing(1, true);
	routing(2, true);
	assert_int_equal(route_try_add(0, "tcp2", "10.0.0.2@tcp", 2, 0), 0);
	route(1, "tcp2", "10.1.0.3@tcp1");
	route(2, "tcp", "10.1.0.2@tcp1");
	assert_int_equal(route_try_add(3, "tcp", "10.2.0.3@tcp2", 2, 0), 0);
	pair_settle(pair);
	sink_post(node(3));
	pair_put(one, pair_md_bind(one, bytes_out, 3000, 2, 0), "10.2.0.4@tcp2",
		 PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_status, 0);
	assert_memory_equal(bytes_in, bytes_out, 3000);
	assert_int_equal(forwarded(1), 2);
	assert_int_equal(forwarded(2), 2);
}

static void nid_that_the_header_cannot_hold_is_dropped(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	routed_open(3, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 2001:db8::2@tcp1");
	nids(2, "2001:db8::3@tcp1");
	routing(1, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(2, "tcp", "2001:db8::2@tcp1");
	pair_settle(pair);
	sink_post(node(2));
	pair_put(node(2), pair_md_bind(node(2), bytes_out, 100, 2, 0),
		 "10.0.0.1@tcp", PORTAL, BITS, true);
	pair_settle(pair);
	/* A header of 72 bytes has no room for such a source: the driver says
	 * so. (That of sockets has headers of 96 bytes for that.) */
	assert_int_equal(send_status(node(2), 0), 0);
	assert_int_equal(forwarded(1), 0);
	assert_int_equal(stats_of(two)->ls_drop_count, 1);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 0);
}

/* -- what is dropped ------------------------------------------------------- */

static void message_to_an_unknown_net_is_dropped(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 400);

	(void)state;
	line_open(NULL);
	hdr.lhd_dest_nid = pair_nid("10.7.0.1@tcp7");
	pair_inject(two, 1, "10.0.0.1@tcp", &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(stats_of(two)->ls_drop_not_ours, 1);
	assert_int_equal(routing_info(1).lgi_no_route_nr, 1);
	assert_int_equal(two->pno_proto_errors_nr, 0);
}

static void message_is_not_forwarded_back(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	/* The two point at each other. */
	routed_open(2, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp");
	routing(1, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(1, "tcp1", "10.0.0.1@tcp");
	pair_settle(pair);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(routing_info(1).lgi_no_route_nr, 1);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_PUT), 0);
}

/* The better route is by the router that the message came from. */
static void message_goes_by_the_route_that_does_not_lead_back(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_hdr        hdr = hdr_of(M0_LNET_PUT, 8);

	(void)state;
	routed_open(3, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp");
	nids(2, "10.0.0.3@tcp");
	routing(0, true);
	routing(1, true);
	routing(2, true);
	assert_int_equal(route_try_add(1, "tcp9", "10.0.0.1@tcp", 0, 0), 0);
	assert_int_equal(route_try_add(1, "tcp9", "10.0.0.3@tcp", 0, 1), 0);
	pair_settle(pair);
	hdr.lhd_dest_nid = pair_nid("10.9.0.1@tcp9");
	pair_inject(two, 1, "10.0.0.1@tcp", &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(forwarded(1), 1);
	assert_nid(&pair_frame(pair, 1, M0_LNET_PUT, 0)->pfr_hop,
		   "10.0.0.3@tcp");
}

static void message_to_who_is_not_there_ends(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	put_to(one, "10.1.0.77@tcp1", 100);
	pair_settle(pair);
	assert_int_equal(two->pno_nobody_nr, 1);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 0);
	assert_int_equal(forwarded(1), 0);
}

static void payload_cut_off_frees_the_buffer(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	two->pno_rx_hold = true;
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 1);
	m0_lnet_engine_ni_del(two->pno_engine, two->pno_ni[1]);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 0);
	assert_int_equal(stats_of(two)->ls_drop_count, 1);
}

static void messages_of_a_removed_net_end(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	for (i = 0; i < 8; ++i)
		put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 8);
	m0_lnet_engine_ni_del(two->pno_engine, two->pno_ni[2]);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 0);
	assert_int_equal(stats_of(two)->ls_drop_count, 8);
	pair->pai_hook = NULL;
}

/* "These are only allocated when you turn on the routing feature." */
static void nothing_is_allocated_while_routing_is_off(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	assert_int_equal(routing_info(1).lgi_bytes, 0);
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	assert_int_equal(routing_info(1).lgi_bytes, 4096);
	routing(1, false);
	pair_run(pair, STOP_MIN_MS + 500);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_OFF);
	assert_int_equal(routing_info(1).lgi_bytes, 0);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_nr, 0);
}

/* -- buffers --------------------------------------------------------------- */

/* "If there are no available buffers then the message is queued until a buffer
 * becomes available." */
static void message_waits_for_a_buffer(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(8, 8, 2);

	(void)state;
	line_open(&cfg);
	sink_post(node(2));
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 5000);
	put_to(one, "10.1.0.3@tcp1", 5001);
	pair_settle(pair);
	/* Half of the pool is for other next hops. */
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_used_nr, 1);
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_credits, 1);
	assert_true(two->pno_again_nr > 0);
	release();
	pair_run(pair, 200);
	assert_int_equal(forwarded(1), 2);
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_credits_low, 1);
}

static void message_to_another_hop_finds_a_buffer(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(8, 2, 2);

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 100);
	put_to(node(2), "10.0.0.1@tcp", 100);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 2);
	release();
	assert_int_equal(forwarded(1), 2);
}

static void nids_of_a_peer_share_half_of_a_pool(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(8, 4, 2);
	unsigned                  i;

	(void)state;
	cfg.lec_discovery = true;
	line_open(&cfg);
	nids(2, "10.1.0.33@tcp1");
	put_to(two, "10.1.0.3@tcp1", 8);
	put_from(one, "10.0.0.1@tcp", "10.1.0.3@tcp1");
	pair_settle(pair);
	assert_int_equal(nids_nr(peer_of(two, "10.1.0.3@tcp1")), 2);
	pair->pai_hook = router_holds;
	for (i = 0; i < 2; ++i) {
		put_from(one, "10.0.0.1@tcp", "10.1.0.3@tcp1");
		put_from(one, "10.0.0.1@tcp", "10.1.0.33@tcp1");
	}
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 2);
	release();
	pair_run(pair, 200);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 0);
}

static void pool_has_a_half_for_others(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(1, 1, 1);

	(void)state;
	line_open(&cfg);
	assert_int_equal(pool_of(1, M0_LNET_POOL_TINY)->lbi_max, 2);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_max, 2);
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_max, 2);
}

static void message_waits_ten_seconds_for_a_buffer(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(8, 2, 2);

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 100);
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	pair_run(pair, HELD_MS - 1000);
	assert_int_equal(routing_info(1).lgi_no_buffer_nr, 0);
	pair_run(pair, 2000);
	assert_int_equal(routing_info(1).lgi_no_buffer_nr, 1);
	assert_int_equal(stats_of(two)->ls_drop_count, 1);
	release();
	assert_int_equal(forwarded(1), 1);
}

static void message_that_waits_is_no_sign_of_life(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(8, 2, 2);
	m0_time_t                 at;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 100);
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	at = lpni_of(two, "10.0.0.1@tcp")->lpn_alive_at;
	pair_run(pair, 2000);
	assert_true(two->pno_again_nr > 1);
	assert_int_equal(lpni_of(two, "10.0.0.1@tcp")->lpn_alive_at, at);
	release();
}

static void pings_of_the_router_are_answered_without_buffers(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(1, 1, 1);
	struct m0_lnet_probe      probe;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	put_to(node(2), "10.0.0.1@tcp", 100);
	put_to(node(2), "10.0.0.1@tcp", 100);
	pair_settle(pair);
	pair->pai_hook = NULL;
	M0_SET0(&probe);
	probe.pr_kind = M0_LNET_PING;
	probe.pr_nid = pair_nid("10.0.0.2@tcp");
	probe.pr_self = m0_lnet_nid_any;
	probe.pr_timeout_ms = 1000;
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_settle(pair);
	assert_int_equal(one->pno_probes_done_nr, 1);
	assert_int_equal(probe.pr_status, 0);
	release();
}

/* Router buffers are not among the messages of the owner, of which a peer may have a
 * share. */
static void pings_of_the_router_are_answered_while_it_forwards(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_hdr        hdr = hdr_of(M0_LNET_GET, 0);
	unsigned                  i;

	(void)state;
	cfg.lec_msgs_max = 12;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	for (i = 0; i < 8; ++i)
		put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 8);
	assert_int_equal(stats_of(two)->ls_msgs_alloc, 0);
	/* Three pings of one peer, whose answers wait. */
	hdr.lhd_dest_nid = pair_nid("10.0.0.2@tcp");
	hdr.lhd_portal = M0_LNET_PORTAL_RESERVED;
	hdr.lhd_match_bits = M0_LNET__PING_BITS;
	hdr.lhd_length = M0_LNET_PING_SINK_BYTES;
	for (i = 0; i < 3; ++i)
		pair_inject(two, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(two->pno_again_nr, 0);
	assert_int_equal(stats_of(two)->ls_msgs_alloc, 3);
	release();
}

/* Order of taking: peer router credit, then pool credit. */
static void peer_takes_its_router_credits_only(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 32;
	line_open(&cfg);
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 3);
	pair->pai_hook = router_holds;
	for (i = 0; i < 8; ++i)
		put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 3);
	/* Without such a setting, as many as it has credits. */
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 0);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 8);
	release();
	assert_int_equal(forwarded(1), 8);
}

static void memory_bounds_the_pools(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_route.lrc_bytes = 8 << 20;
	line_open(&cfg);
	assert_int_equal(pool_of(1, M0_LNET_POOL_TINY)->lbi_max, 512);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_max, 512);
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_max, 6);
}

static void pools_are_changed_while_in_use(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	const uint32_t            less[M0_LNET_POOLS_NR] = { 0, 2, 0 };
	unsigned                  i;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	for (i = 0; i < 6; ++i)
		put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	m0_lnet_engine_pools_set(two->pno_engine, less);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_nr, 6);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_credits, 0);
	assert_int_equal(pool_of(1, M0_LNET_POOL_TINY)->lbi_max, 512);
	release();
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_nr, 2);
	assert_int_equal(forwarded(1), 6);
}

static int offer_again(struct m0_lnd_rx *rx, const struct m0_lnet_hdr *hdr)
{
	struct m0_lnd_ni *ni = one->pno_ni[1];
	uint8_t           buf[M0_LNET_HDR_LARGE_BYTES];

	(void)m0_lnet__hdr_encode(hdr, false, buf);
	return ni->ldn_ops->lu_rx_begin(ni, rx, buf, false);
}

/* A message that comes later does not take the buffer that another one waits for,
 * unless that is offered no more. */
static void message_that_waits_comes_first(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_few(8, 2, 2);
	struct m0_lnet_hdr        hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnd_rx          rx[2];
	struct m0_lnd_rx          early;
	struct m0_lnd_rx          late;

	(void)state;
	line_open(&cfg);
	one = node(1);
	hdr.lhd_dest_nid = pair_nid("10.1.0.3@tcp1");
	assert_int_equal(rx_begin(&rx[0], &hdr), 0);
	hdr.lhd_dest_nid = pair_nid("10.1.0.4@tcp1");
	assert_int_equal(rx_begin(&rx[1], &hdr), 0);
	assert_int_equal(rx_begin(&early, &hdr), -EAGAIN);
	rx_done(&rx[0], -ECONNRESET);
	assert_int_equal(rx_begin(&late, &hdr), -EAGAIN);
	assert_int_equal(offer_again(&early, &hdr), 0);
	rx_done(&early, -ECONNRESET);
	/* Its connection has ended. */
	assert_int_equal(rx_begin(&early, &hdr), -EAGAIN);
	pair_run(pair, 200);
	assert_int_equal(rx_begin(&late, &hdr), 0);
	rx_done(&late, -ECONNRESET);
	rx_done(&rx[1], -ECONNRESET);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 0);
}

/* -- deadlines ------------------------------------------------------------- */

static void message_that_cannot_leave_is_dropped_in_time(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 4;
	line_open(&cfg);
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 8);
	pair->pai_hook = router_holds;
	for (i = 0; i < 6; ++i)
		put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 6);
	/* Four are with the driver, which has a time-out of its own. */
	pair_run(pair, 51000);
	assert_int_equal(routing_info(1).lgi_late_nr, 2);
	assert_int_equal(pool_of(1, M0_LNET_POOL_SMALL)->lbi_used_nr, 4);
	release();
	assert_int_equal(forwarded(1), 4);
}

/* -- on and off ------------------------------------------------------------ */

static void router_that_stops_forwards_what_still_comes(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 8);

	(void)state;
	line_open(NULL);
	sink_post(node(2));
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	routing(1, false);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_STOPPING);
	/* A peer that has not read the push yet. */
	pair_run(pair, STOP_MIN_MS - 500);
	hdr.lhd_dest_nid = pair_nid("10.1.0.3@tcp1");
	pair_inject(two, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 2);
	/* Its answer may come. */
	pair_run(pair, 1000);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_STOPPING);
	pair_run(pair, 500);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_OFF);
}

static void router_that_stops_ends_what_does_not_leave(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	routing(1, false);
	pair_run(pair, STOP_MAX_MS - 1000);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_STOPPING);
	pair_run(pair, 2000);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_OFF);
	pair->pai_hook = NULL;
	pair_settle(pair);
	assert_int_equal(routing_info(1).lgi_bytes, 0);
	assert_int_equal(forwarded(1), 0);
}

static void routing_may_return_while_it_stops(void **state)
{
	(void)state;
	line_open(NULL);
	routing(1, false);
	pair_run(pair, 100);
	routing(1, true);
	pair_run(pair, STOP_MAX_MS + 1000);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_ON);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

static void router_that_closes_ends_everything(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	two->pno_rx_hold = true;
	put_to(one, "10.1.0.3@tcp1", 5000);
	pair_settle(pair);
	assert_int_equal(pool_of(1, M0_LNET_POOL_LARGE)->lbi_used_nr, 1);
	pair->pai_hook = NULL;
	pair_stop(pair, 1);
}

/* -- its interfaces -------------------------------------------------------- */

/* Nobody on tcp1 has a route, so nobody there pings the router. */
static void network_that_is_silent_is_reported_down(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	routed_open(3, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.1.0.3@tcp1");
	routing(1, true);
	route(0, "tcp1", "10.0.0.2@tcp");
	pair_run(pair, 109000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	pair_run(pair, 2000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_FAR_DOWN);
	/* A node there that has a route checks the router. */
	route(2, "tcp", "10.1.0.2@tcp1");
	pair_settle(pair);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
	pair_run(pair, 600000);
	assert_int_equal(route_why(0, 0), M0_LNET_ROUTE_UP);
}

/* The router's own pings say nothing about the network. */
static void pings_of_the_router_itself_are_no_sign_of_life(void **state)
{
	struct m0_lnet_probe probe;

	(void)state;
	routed_open(1, NULL);
	nids(0, "10.0.0.1@tcp");
	routing(0, true);
	pair_run(pair, 100000);
	M0_SET0(&probe);
	probe.pr_kind = M0_LNET_PING;
	probe.pr_nid = pair_nid("10.0.0.1@tcp");
	probe.pr_self = m0_lnet_nid_any;
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_settle(pair);
	assert_int_equal(probe.pr_status, 0);
	assert_true(probe.pr_nids_up[0]);
	pair_run(pair, 12000);
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_settle(pair);
	assert_false(probe.pr_nids_up[0]);
}

static void node_that_does_not_route_reports_no_silence(void **state)
{
	struct m0_lnet_probe probe;

	(void)state;
	routed_open(2, NULL);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp");
	pair_run(pair, 300000);
	M0_SET0(&probe);
	probe.pr_kind = M0_LNET_PING;
	probe.pr_nid = pair_nid("10.0.0.2@tcp");
	probe.pr_self = m0_lnet_nid_any;
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_settle(pair);
	assert_true(probe.pr_nids_up[0]);
}

/* The destination has a NID that the router knows to be lost, and another. */
static void message_goes_to_another_nid_of_the_destination(void **state)
{
	const struct pair_frame *frame;
	unsigned                 nr;

	(void)state;
	line_open(NULL);
	nids(2, "10.1.0.33@tcp1");
	sink_post(node(2));
	pair_settle(pair);
	/* The router knows both ends. */
	put_to(two, "10.1.0.3@tcp1", 8);
	put_to(two, "10.0.0.1@tcp", 8);
	put_from(one, "10.0.0.1@tcp", "10.1.0.3@tcp1");
	pair_settle(pair);
	pair_peer_down(two, "10.1.0.3@tcp1", -ECONNRESET);
	nr = pair_frames_nr(pair, 1, M0_LNET_PUT);
	put_from(one, "10.0.0.1@tcp", "10.1.0.3@tcp1");
	pair_settle(pair);
	frame = pair_frame(pair, 1, M0_LNET_PUT, nr);
	assert_non_null(frame);
	assert_nid(&frame->pfr_hop, "10.1.0.33@tcp1");
	assert_nid(&frame->pfr_hdr.lhd_dest_nid, "10.1.0.33@tcp1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(header_is_forwarded_unchanged),
		STORY_BARE(buffer_is_of_the_size_of_the_message),
		STORY_BARE(three_hops_are_forwarded),
		STORY_BARE(nid_that_the_header_cannot_hold_is_dropped),
		STORY_BARE(message_to_an_unknown_net_is_dropped),
		STORY_BARE(message_is_not_forwarded_back),
		STORY_BARE(message_goes_by_the_route_that_does_not_lead_back),
		STORY_BARE(message_to_who_is_not_there_ends),
		STORY_BARE(payload_cut_off_frees_the_buffer),
		STORY_BARE(messages_of_a_removed_net_end),
		STORY_BARE(nothing_is_allocated_while_routing_is_off),
		STORY_BARE(message_waits_for_a_buffer),
		STORY_BARE(message_to_another_hop_finds_a_buffer),
		STORY_BARE(nids_of_a_peer_share_half_of_a_pool),
		STORY_BARE(pool_has_a_half_for_others),
		STORY_BARE(message_waits_ten_seconds_for_a_buffer),
		STORY_BARE(message_that_waits_is_no_sign_of_life),
		STORY_BARE(pings_of_the_router_are_answered_without_buffers),
		STORY_BARE(pings_of_the_router_are_answered_while_it_forwards),
		STORY_BARE(peer_takes_its_router_credits_only),
		STORY_BARE(memory_bounds_the_pools),
		STORY_BARE(pools_are_changed_while_in_use),
		STORY_BARE(message_that_waits_comes_first),
		STORY_BARE(message_that_cannot_leave_is_dropped_in_time),
		STORY_BARE(router_that_stops_forwards_what_still_comes),
		STORY_BARE(router_that_stops_ends_what_does_not_leave),
		STORY_BARE(routing_may_return_while_it_stops),
		STORY_BARE(router_that_closes_ends_everything),
		STORY_BARE(network_that_is_silent_is_reported_down),
		STORY_BARE(pings_of_the_router_itself_are_no_sign_of_life),
		STORY_BARE(node_that_does_not_route_reports_no_silence),
		STORY_BARE(message_goes_to_another_nid_of_the_destination),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
