/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How a message is sent by a router, and how a router processes it, sentence by
 * sentence of the seed on routing. Other sentences have their names in route_test.c
 * and router_test.c. The seed describes the driver o2iblnd; the driver here is that
 * of lnet_pair.
 */
#include "unit/lnet/routed.h"

enum {
	SMALL_BYTES = 4096,
	/** Time-outs of pair_cfg() for messages that are forwarded. */
	FORWARD_MS = 50000
};

#define SERVER "10.1.0.3@tcp1"

/* -- the driver, one message at a time ------------------------------------- */

/** Node 0, the client, has its PUTs held by its driver. */
static enum pair_act client_holds(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_node == 0 && frame->pfr_hdr.lhd_type == M0_LNET_PUT
		       ? PAIR_HOLD
		       : PAIR_PASS;
}

/** The client's PUTs arrive, and are not done. */
static enum pair_act client_is_slow(struct pair *p, struct pair_frame *frame)
{
	return client_holds(p, frame) == PAIR_HOLD ? PAIR_SLOW : PAIR_PASS;
}

/** Node 1, the router, has its PUTs held by its driver. */
static enum pair_act router_holds(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_node == 1 && frame->pfr_hdr.lhd_type == M0_LNET_PUT
		       ? PAIR_HOLD
		       : PAIR_PASS;
}

static unsigned held_nr(unsigned i)
{
	return (unsigned)m0_list_length(&node(i)->pno_held);
}

/** Returns the n-th message that the driver of a node holds. */
static struct m0_lnd_tx *held(unsigned i, unsigned n)
{
	struct m0_lnd_tx *tx;

	m0_list_for_each_entry(&node(i)->pno_held, tx, struct m0_lnd_tx,
			       ltx_link)
		if (n-- == 0)
			return tx;
	fail_msg("the driver of node %u does not hold so many", i);
	return NULL;
}

/** Completes one message that the driver of a node holds. */
static void held_done(unsigned i, int status)
{
	struct m0_lnd_tx *tx = held(i, 0);
	struct m0_lnd_ni *ni = tx->ltx_priv[0];

	m0_list_del(&tx->ltx_link);
	ni->ldn_ops->lu_tx_done(tx, status,
				status == 0 ? M0_LND_OK : M0_LND_LOCAL_TIMEOUT);
	pair_settle(pair);
}

/** As a driver does: fails the messages that it has not begun to send by their
 * deadline. */
static void held_expire(unsigned i)
{
	while (held_nr(i) > 0 && held(i, 0)->ltx_deadline <= pair->pai_now)
		held_done(i, -ETIMEDOUT);
}

static void release(void)
{
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
}

static void puts_of(unsigned first_bytes, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; ++i)
		put_to(one, SERVER, first_bytes + i);
	pair_settle(pair);
}

static uint32_t used_nr(unsigned i, enum m0_lnet_pool pool)
{
	return routing_info(i).lgi_pools[pool].lbi_used_nr;
}

/* -- active sending -------------------------------------------------------- */

/* "Node looks up the remote net and finds all the list of routes to that remote
 * net": each of them is a candidate, and no route to another network is. */
static void all_routes_to_the_net_are_found(void **state)
{
	struct m0_lnet_engine_cfg  cfg = cfg_plain();
	struct m0_lnet_nid         nid = pair_nid("10.1.0.4@tcp1");
	struct m0_lnet__trial      trial[8];
	struct m0_lnet__trials     trials = { .tls_trials = trial,
					      .tls_max = ARRAY_SIZE(trial) };
	const struct m0_lnet_lpni *hop[2];
	struct m0_lnet__path       path;

	(void)state;
	diamond_open(&cfg);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(0, "tcp2", "10.0.0.2@tcp");
	route(0, "tcp1", "10.0.0.3@tcp");
	route(0, "tcp3", "10.0.0.3@tcp");
	pair_settle(pair);
	path = m0_lnet__select(
		one->pno_engine,
		&(struct m0_lnet__want){ .wnt_nid = &nid,
					 .wnt_trials = &trials });
	assert_non_null(path.pth_route);
	assert_int_equal(trials.tls_nr, 2);
	hop[0] = trial[0].trl_path.pth_lpni;
	hop[1] = trial[1].trl_path.pth_lpni;
	assert_nid(&hop[0]->lpn_nid, "10.0.0.2@tcp");
	assert_nid(&hop[1]->lpn_nid, "10.0.0.3@tcp");
	assert_true(trial[0].trl_path.pth_route->lrt_attr.lra_net ==
		    m0_lnet_nid_net(&nid));
	assert_true(trial[1].trl_path.pth_route->lrt_attr.lra_net ==
		    m0_lnet_nid_net(&nid));
}

enum {
	OTHER_NETS_NR = 32
};

/* The cost is that of the candidates: no list of routes to another network, of all
 * routes or of all gateways is followed, so these may be anything meanwhile. */
static void routes_to_other_nets_cost_nothing(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_routes    *all;
	struct m0_list            saved[2 + OTHER_NETS_NR];
	struct m0_list           *lists[2 + OTHER_NETS_NR];
	char                      net[16];
	unsigned                  i;

	(void)state;
	diamond_open(&cfg);
	route(0, "tcp1", "10.0.0.2@tcp");
	all = m0_lnet__routes(one->pno_engine);
	lists[0] = &all->lrs_routes;
	lists[1] = &all->lrs_gateways;
	for (i = 0; i < OTHER_NETS_NR; ++i) {
		(void)snprintf(net, sizeof net, "tcp%u", 10 + i);
		route(0, net, i % 2 == 0 ? "10.0.0.2@tcp" : "10.0.0.3@tcp");
		lists[2 + i] =
			&m0_lnet__far_find(one->pno_engine,
					   m0_lnet_net(M0_LNET_TYPE_TCP,
						       (uint16_t)(10 + i)))
				 ->far_routes;
	}
	pair_settle(pair);
	for (i = 0; i < ARRAY_SIZE(lists); ++i) {
		saved[i] = *lists[i];
		memset(lists[i], 0, sizeof *lists[i]);
	}
	/* A search, one that makes a memo, and one by the memo. */
	for (i = 0; i < 3; ++i)
		put_to(one, "10.1.0.4@tcp1", 8);
	for (i = 0; i < ARRAY_SIZE(lists); ++i)
		*lists[i] = saved[i];
	pair_settle(pair);
	assert_int_equal(forwarded(1), 3);
}

/* "Node starts the message sending process [...] Assuming everything works then the
 * message is sent to the router." */
static void message_is_sent_to_the_router(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	pair->pai_hook = client_holds;
	puts_of(8, 1);
	/* The message is on its way to the driver, and has not left. */
	assert_int_equal(stats_of(one)->ls_msgs_alloc, 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 0);
	assert_nid(&held(0, 0)->ltx_nid, "10.0.0.2@tcp");
	release();
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(stats_of(one)->ls_msgs_alloc, 0);
	assert_int_equal(forwarded(1), 1);
}

/* "If there a enough credits available (determined by peer_credits) then the message
 * is sent to the LND for processing." */
static void driver_gets_as_many_as_the_gateway_has_credits(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_peer_credits = 3;
	line_open(&cfg);
	pair->pai_hook = client_holds;
	puts_of(8, 2);
	assert_int_equal(held_nr(0), 2);
	puts_of(10, 3);
	assert_int_equal(held_nr(0), 3);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, -2);
	release();
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 5);
}

/* "the message is queued internally until another active send message is finalized
 * and a credit is returned. Messages are then popped out in FIFO order": each
 * message that is done lets exactly one go. */
static void credit_that_returns_lets_one_message_go(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 3;
	line_open(&cfg);
	pair->pai_hook = client_holds;
	puts_of(100, 7);
	for (i = 0; i < 4; ++i) {
		assert_int_equal(held_nr(0), 3);
		assert_int_equal(held(0, 2)->ltx_payload.lpy_bytes, 102 + i);
		held_done(0, 0);
		assert_int_equal(events_nr(one, M0_LNET_EV_SEND), i + 1);
		assert_int_equal(held_nr(0), 3);
		assert_int_equal(held(0, 2)->ltx_payload.lpy_bytes, 103 + i);
	}
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 0);
	held_done(0, 0);
	assert_int_equal(held_nr(0), 2);
	release();
}

/* "o2iblnd will deal with each of a PUT/GET/ACK/REPLY in slightly different way":
 * each of the four crosses the router, by the driver's one way here. */
static void each_type_of_message_crosses_the_router(void **state)
{
	static const uint32_t types[] = { M0_LNET_PUT, M0_LNET_ACK, M0_LNET_GET,
					  M0_LNET_REPLY };
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	static uint8_t            got[300];
	unsigned                  before[ARRAY_SIZE(types)];
	unsigned                  i;

	(void)state;
	memset(got, 0, sizeof got);
	line_open(&cfg);
	sink_post(node(2));
	/* The router has answered checks itself. */
	for (i = 0; i < ARRAY_SIZE(types); ++i)
		before[i] = pair_frames_nr(pair, 1, types[i]);
	pair_put(one, pair_md_bind(one, bytes_out, sizeof got, 2, 0), SERVER,
		 PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_status, 0);
	pair_get(one, pair_md_bind(one, got, sizeof got, 2, 0), SERVER, PORTAL,
		 BITS);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_REPLY, 0)->ev_status, 0);
	assert_memory_equal(got, bytes_out, sizeof got);
	for (i = 0; i < ARRAY_SIZE(types); ++i)
		assert_int_equal(pair_frames_nr(pair, 1, types[i]),
				 before[i] + 1);
	assert_int_equal(forwarded(1), 4);
}

/* "o2iblnd has its own set of connection credits. If the credits on the connection
 * are depleted then the message is queued until there are credits available, then the
 * message is posted": the credits of the interface, which two gateways share. */
static void credits_of_the_interface_are_waited_for(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	const struct m0_lnet_ni  *ni;
	unsigned                  i;

	(void)state;
	cfg.lec_credits = 4;
	cfg.lec_peer_credits = 4;
	diamond_open(&cfg);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(0, "tcp1", "10.0.0.3@tcp");
	pair_settle(pair);
	pair->pai_hook = client_holds;
	for (i = 0; i < 7; ++i)
		put_to(one, "10.1.0.4@tcp1", 100 + i);
	pair_settle(pair);
	/* Both gateways have credits left, at most four of each are taken. */
	ni = container_of(one->pno_ni[1], struct m0_lnet_ni, lni_lnd);
	assert_true(lpni_of(one, "10.0.0.2@tcp")->lpn_credits >= 0);
	assert_true(lpni_of(one, "10.0.0.3@tcp")->lpn_credits >= 0);
	assert_int_equal(ni->lni_credits, -3);
	for (i = 0; i < 3; ++i) {
		assert_int_equal(held_nr(0), 4);
		held_done(0, 0);
		assert_int_equal(held_nr(0), 4);
		assert_int_equal(held(0, 3)->ltx_payload.lpy_bytes, 104 + i);
	}
	assert_int_equal(ni->lni_credits, 0);
	release();
}

/* "o2iblnd will then place the transmit in the active transmit state and wait for the
 * transmit to complete as reported by the OFED layer": until the driver reports it,
 * the message keeps its credit, even if it has arrived. */
static void credit_is_kept_until_the_transmit_completes(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	sink_post(node(2));
	pair->pai_hook = client_is_slow;
	puts_of(8, 1);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 0);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 7);
	pair_run(pair, 1000);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 7);
	release();
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 8);
}

/* "Each message has a deadline, based on the lnet_transaction_timeout [...] If the
 * deadline is reached while the message is [...] in the transmit state, then the
 * transmit expires and the message is finalized." */
static void message_expires_in_the_transmit_state(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_health.lhe_retries = 0;
	line_open(&cfg);
	pair->pai_hook = client_holds;
	puts_of(8, 1);
	assert_true(held(0, 0)->ltx_deadline ==
		    pair->pai_now + TTO_MS * M0_TIME_ONE_MSEC);
	pair_run(pair, TTO_MS - 1);
	held_expire(0);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 0);
	pair_run(pair, 1);
	held_expire(0);
	assert_int_equal(send_status(one, 0), -ETIMEDOUT);
	assert_int_equal(stats_of(one)->ls_msgs_alloc, 0);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 8);
	pair->pai_hook = NULL;
}

/* "or thelnd timeout configuration parameters": that is the deadline of a message
 * that a router forwards, whose buffer is then free. */
static void forwarded_message_expires_in_the_transmit_state(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	puts_of(8, 1);
	assert_true(held(1, 0)->ltx_deadline ==
		    pair->pai_now + FORWARD_MS * M0_TIME_ONE_MSEC);
	pair_run(pair, FORWARD_MS);
	assert_int_equal(used_nr(1, M0_LNET_POOL_SMALL), 1);
	held_expire(1);
	assert_int_equal(used_nr(1, M0_LNET_POOL_SMALL), 0);
	assert_int_equal(routing_info(1).lgi_late_nr, 1);
	assert_int_equal(lpni_of(two, SERVER)->lpn_credits, 8);
	pair->pai_hook = NULL;
}

/* -- router message processing --------------------------------------------- */

/* "In fact lustre doesn't even have to be loaded at all on the gateways. Therefore, a
 * gateway needs to allocate buffers to accept the RDMAed data into": it has neither
 * entries nor, before the first header of a message to be forwarded, buffers. */
static void buffer_is_allocated_for_the_first_message(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	sink_post(node(2));
	two->pno_rx_hold = true;
	put_to(one, "10.0.0.2@tcp", 8);
	pair_settle(pair);
	assert_int_equal(two->pno_mes_nr, 0);
	assert_int_equal(two->pno_mds_nr, 0);
	assert_int_equal(routing_info(1).lgi_bytes, 0);
	two->pno_rx_hold = false;
	pair_settle(pair);
	two->pno_rx_hold = true;
	puts_of(300, 1);
	assert_int_equal(routing_info(1).lgi_bytes, SMALL_BYTES);
	assert_int_equal(used_nr(1, M0_LNET_POOL_SMALL), 1);
	two->pno_rx_hold = false;
	pair_settle(pair);
	assert_memory_equal(bytes_in, bytes_out, 300);
}

/* The router "receives the RDMAed data into that buffer, then turns around and
 * forwards it to the next hop": nothing leaves before all of the payload is there. */
static void message_leaves_when_all_of_it_has_come(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	const struct pair_frame  *frame;

	(void)state;
	line_open(&cfg);
	two->pno_rx_hold = true;
	puts_of(5000, 1);
	pair_run(pair, 1000);
	assert_int_equal(used_nr(1, M0_LNET_POOL_LARGE), 1);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_PUT), 0);
	assert_true(m0_list_is_empty(&two->pno_txs));
	two->pno_rx_hold = false;
	pair_settle(pair);
	frame = pair_frame(pair, 1, M0_LNET_PUT, 0);
	assert_non_null(frame);
	assert_int_equal(frame->pfr_bytes, 5000);
	assert_memory_equal(frame->pfr_payload, bytes_out, PAIR_FRAME_BYTES);
}

/* "(max 1MB)": a message of another node that has more ends its connection, and takes
 * no buffer. */
static void message_above_the_largest_buffer_is_refused(void **state)
{
	static uint8_t            big[M0_LNET_MTU + 1];
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_hdr        hdr = hdr_of(M0_LNET_PUT, sizeof big);

	(void)state;
	line_open(&cfg);
	hdr.lhd_src_nid = pair_nid("10.0.0.1@tcp");
	hdr.lhd_dest_nid = pair_nid(SERVER);
	pair_inject(two, 1, "10.0.0.1@tcp", &hdr, big);
	pair_settle(pair);
	assert_int_equal(two->pno_proto_errors_nr, 1);
	assert_int_equal(routing_info(1).lgi_bytes, 0);
	/* One byte less is forwarded. */
	hdr.lhd_payload_bytes = M0_LNET_MTU;
	pair_inject(two, 1, "10.0.0.1@tcp", &hdr, big);
	pair_settle(pair);
	assert_int_equal(two->pno_proto_errors_nr, 1);
	assert_int_equal(forwarded(1), 1);
	assert_int_equal(used_nr(1, M0_LNET_POOL_LARGE), 0);
}

/* "The router receives the message and looks at the destination NID": a message that
 * is for the router itself is not forwarded. */
static void message_for_the_router_is_not_forwarded(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	line_open(&cfg);
	sink_post(two);
	/* By either of its NIDs. */
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(node(2), "10.1.0.2@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 2);
	assert_int_equal(forwarded(1), 0);
	assert_int_equal(routing_info(1).lgi_bytes, 0);
}

/* "There are 3 router buffer pools, tiny, small and large [...] The router pulls a
 * router buffer from the appropriate pool depending on the size of the message." */
static void buffer_is_of_one_of_three_pools(void **state)
{
	static const struct {
		uint32_t bytes;
		uint32_t room;
	} pools[M0_LNET_POOLS_NR] = { { 0, 0 },
				      { 300, SMALL_BYTES },
				      { 5000, M0_LNET_MTU } };
	struct m0_lnet_engine_cfg   cfg = cfg_plain();
	struct m0_lnet_routing_info info;
	unsigned                    i;
	unsigned                    k;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	for (i = 0; i < M0_LNET_POOLS_NR; ++i) {
		puts_of(pools[i].bytes, 1);
		info = routing_info(1);
		assert_int_equal(info.lgi_pools[i].lbi_bytes, pools[i].room);
		for (k = 0; k < M0_LNET_POOLS_NR; ++k)
			assert_int_equal(info.lgi_pools[k].lbi_used_nr, k <= i);
	}
	release();
}

/* "Once a buffer becomes available then the message is received into that buffer":
 * a message that has waited has its own bytes. */
static void message_that_waited_is_received_whole(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	/* One of the two is for other next hops. */
	cfg.lec_route.lrc_buffers[M0_LNET_POOL_SMALL] = 2;
	line_open(&cfg);
	(void)sink(node(2), BITS, M0_LNET_MD_THRESHOLD_INF, 0);
	pair->pai_hook = router_holds;
	puts_of(1000, 1);
	pair_put(one, pair_md_bind(one, bytes_out + 2000, 900, 1, 0), SERVER,
		 PORTAL, BITS, false);
	pair_settle(pair);
	assert_int_equal(used_nr(1, M0_LNET_POOL_SMALL), 1);
	assert_true(two->pno_again_nr > 0);
	release();
	pair_run(pair, 200);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 2);
	assert_int_equal(pair_event(node(2), M0_LNET_EV_PUT, 1)->ev_mlength,
			 900);
	assert_memory_equal(bytes_in, bytes_out, 1000);
	assert_memory_equal(bytes_in + 1000, bytes_out + 2000, 900);
	/* The one buffer was used twice. */
	assert_int_equal(routing_info(1).lgi_pools[M0_LNET_POOL_SMALL].lbi_nr,
			 1);
}

/* "Message is then forwarded to the destination NID and the data is RDMAed from the
 * router buffer which has the data": the driver gets the address of the buffer. */
static void payload_leaves_from_the_router_buffer(void **state)
{
	struct m0_lnet_engine_cfg    cfg = cfg_plain();
	const struct m0_lnet_fwd    *fwd;
	const struct m0_lnd_payload *payload;

	(void)state;
	line_open(&cfg);
	pair->pai_hook = router_holds;
	puts_of(5000, 1);
	fwd = container_of(
		m0_list_first(&m0_lnet__router(two->pno_engine)->lrr_used),
		const struct m0_lnet_fwd, fwd_link);
	payload = &held(1, 0)->ltx_payload;
	assert_nid(&held(1, 0)->ltx_nid, SERVER);
	assert_int_equal(payload->lpy_bytes, 5000);
	assert_int_equal(payload->lpy_offset, 0);
	assert_ptr_equal(payload->lpy_vec->ov_buf[0], fwd->fwd_addr);
	assert_memory_equal(fwd->fwd_addr, bytes_out, 5000);
	release();
}

/* "The send processing described above is followed": a message that is forwarded
 * takes credits of the next hop and of the interface, and waits in a queue. */
static void forwarded_messages_take_credits_in_order(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	const struct m0_lnet_ni  *ni;
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 3;
	line_open(&cfg);
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 8);
	ni = container_of(two->pno_ni[2], struct m0_lnet_ni, lni_lnd);
	pair->pai_hook = router_holds;
	puts_of(100, 6);
	assert_int_equal(used_nr(1, M0_LNET_POOL_SMALL), 6);
	assert_int_equal(lpni_of(two, SERVER)->lpn_credits, -3);
	assert_int_equal(ni->lni_credits, 256 - 3);
	for (i = 0; i < 3; ++i) {
		assert_int_equal(held_nr(1), 3);
		held_done(1, 0);
		assert_int_equal(held_nr(1), 3);
		assert_int_equal(held(1, 2)->ltx_payload.lpy_bytes, 103 + i);
	}
	release();
	assert_int_equal(forwarded(1), 6);
	assert_int_equal(lpni_of(two, SERVER)->lpn_credits, 3);
	assert_int_equal(ni->lni_credits, 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(all_routes_to_the_net_are_found),
		STORY_BARE(routes_to_other_nets_cost_nothing),
		STORY_BARE(message_is_sent_to_the_router),
		STORY_BARE(driver_gets_as_many_as_the_gateway_has_credits),
		STORY_BARE(credit_that_returns_lets_one_message_go),
		STORY_BARE(each_type_of_message_crosses_the_router),
		STORY_BARE(credits_of_the_interface_are_waited_for),
		STORY_BARE(credit_is_kept_until_the_transmit_completes),
		STORY_BARE(message_expires_in_the_transmit_state),
		STORY_BARE(forwarded_message_expires_in_the_transmit_state),
		STORY_BARE(buffer_is_allocated_for_the_first_message),
		STORY_BARE(message_leaves_when_all_of_it_has_come),
		STORY_BARE(message_above_the_largest_buffer_is_refused),
		STORY_BARE(message_for_the_router_is_not_forwarded),
		STORY_BARE(buffer_is_of_one_of_three_pools),
		STORY_BARE(message_that_waited_is_received_whole),
		STORY_BARE(payload_leaves_from_the_router_buffer),
		STORY_BARE(forwarded_messages_take_credits_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
