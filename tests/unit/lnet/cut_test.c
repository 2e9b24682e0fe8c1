/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cut-through: a router sends a message on while its payload arrives. Which messages,
 * when, and what ends one whose rest does not arrive, at either side.
 */
#include "unit/lnet/routed.h"

enum {
	BYTES = M0_LNET_MTU,
	HALF = BYTES / 2,
	/** Time that the rest of a message has. */
	CUT_MS = 5000
};

static uint8_t sink_bytes[M0_LNET_MTU];
/** Messages that the router forwarded before the case began: discovery. */
static uint64_t before;

/** A line, with discovery: the router knows that the server is a Colibri node. The
 * server has a buffer, and payloads stop at the router. */
static void cut_open(bool on)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	cfg.lec_route.lrc_cut_through = on;
	line_open(&cfg);
	pair_run(pair, 10);
	memset(sink_bytes, 0, sizeof sink_bytes);
	(void)pair_md_attach(node(2), pair_me(node(2), PORTAL, BITS, 0, 0),
			     sink_bytes, sizeof sink_bytes,
			     M0_LNET_MD_THRESHOLD_INF,
			     M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
			     false);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	node(2)->pno_events_nr = 0;
	before = forwarded(1);
	two->pno_rx_hold = true;
}

/** Messages that the router has forwarded since. */
static uint64_t since(void)
{
	return forwarded(1) - before;
}

/** The client sends; what comes of it to the router stops behind the header. */
static void put(m0_bcount_t nr)
{
	put_to(one, "10.1.0.3@tcp1", nr);
	pair_settle(pair);
}

/** `bytes` are there. @return number of messages that have begun to leave. */
static unsigned there(m0_bcount_t bytes)
{
	(void)pair_report(two, bytes);
	pair_settle(pair);
	return two->pno_parts_nr;
}

/** The rest arrives. */
static void rest(void)
{
	two->pno_rx_hold = false;
	pair_settle(pair);
}

static struct m0_lnet_peer *server(void)
{
	return peer_of(two, "10.1.0.3@tcp1");
}

/** The router has no message in hand. */
static void assert_idle(void)
{
	assert_int_equal(
		routing_info(1).lgi_pools[M0_LNET_POOL_LARGE].lbi_used_nr, 0);
	assert_int_equal(server()->lpe_features & M0_LNET_FEAT_COLIBRI,
			 M0_LNET_FEAT_COLIBRI);
}

/** A message after it arrives as if nothing had been. */
static void assert_works(void)
{
	unsigned nr = events_nr(node(2), M0_LNET_EV_PUT);

	two->pno_rx_hold = false;
	memset(sink_bytes, 0, sizeof sink_bytes);
	put(BYTES);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), nr + 1);
	assert_int_equal(last_event(node(2))->ev_status, 0);
	assert_memory_equal(sink_bytes, bytes_out, BYTES);
	assert_idle();
}

/* -- which messages -------------------------------------------------------- */

static void message_leaves_while_it_arrives(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	assert_int_equal(there(HALF + 1000), 1);
	assert_int_equal(there(BYTES - 1), 1);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 0);
	assert_int_equal(since(), 0);
	rest();
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	assert_memory_equal(sink_bytes, bytes_out, BYTES);
	assert_int_equal(routing_info(1).lgi_cuts_nr, 1);
	assert_int_equal(routing_info(1).lgi_cuts_broken_nr, 0);
	assert_int_equal(since(), 1);
	assert_idle();
}

/* "only once half the payload is here". */
static void half_of_the_payload_is_awaited(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(1), 0);
	assert_int_equal(there(HALF - 1), 0);
	assert_int_equal(there(HALF), 1);
	rest();
	assert_works();
}

static void cut_through_is_off_by_default(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	assert_false(cfg.lec_route.lrc_cut_through);
	cut_open(false);
	assert_false(routing_info(1).lgi_cut_through);
	put(BYTES);
	assert_int_equal(pair_report(two, HALF), 0);
	rest();
	assert_int_equal(routing_info(1).lgi_cuts_nr, 0);
	assert_memory_equal(sink_bytes, bytes_out, BYTES);
	/* The switch takes effect with the next message. */
	assert_int_equal(m0_lnet_engine_tune(two->pno_engine,
					     M0_LNET_TUNE_CUT_THROUGH, 1),
			 0);
	assert_true(routing_info(1).lgi_cut_through);
	two->pno_rx_hold = true;
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	rest();
	assert_works();
}

/* A switch that is turned off leaves messages that have begun alone. */
static void switch_turned_off_ends_no_message(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	assert_int_equal(m0_lnet_engine_tune(two->pno_engine,
					     M0_LNET_TUNE_CUT_THROUGH, 0),
			 0);
	rest();
	assert_int_equal(since(), 2);
	assert_int_equal(routing_info(1).lgi_cuts_nr, 1);
	assert_works();
}

/* One that has not begun is forwarded whole. */
static void switch_turned_off_holds_back_messages(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF - 1), 0);
	assert_int_equal(m0_lnet_engine_tune(two->pno_engine,
					     M0_LNET_TUNE_CUT_THROUGH, 0),
			 0);
	assert_int_equal(there(HALF), 0);
	rest();
	assert_int_equal(since(), 1);
}

static void small_message_is_forwarded_whole(void **state)
{
	(void)state;
	cut_open(true);
	put(4096);
	assert_int_equal(pair_report(two, 2048), 0);
	rest();
	put(4097);
	assert_int_equal(routing_info(1).lgi_cuts_nr, 0);
	assert_int_equal(since(), 2);
}

/* A node of Lustre closes all connections of this node when one breaks within a
 * message. It does not set the bit. */
static void message_to_lustre_is_forwarded_whole(void **state)
{
	(void)state;
	cut_open(true);
	server()->lpe_features = 0x1e;
	put(BYTES);
	assert_int_equal(there(BYTES - 1), 0);
	rest();
	assert_memory_equal(sink_bytes, bytes_out, BYTES);
	assert_int_equal(routing_info(1).lgi_cuts_nr, 0);
	assert_int_equal(since(), 1);
}

static void driver_that_cannot_gets_whole_messages(void **state)
{
	(void)state;
	cut_open(true);
	two->pno_ni[2]->ldn_grows = false;
	put(BYTES);
	assert_int_equal(there(HALF), 0);
	/* The decision is kept: no reports are wanted, no path is chosen again. */
	assert_int_equal(pair_report(two, BYTES - 1), 0);
	rest();
	assert_int_equal(routing_info(1).lgi_cuts_nr, 0);
	two->pno_ni[2]->ldn_grows = true;
	assert_works();
}

/* A message that has to wait waits until it is whole. */
static void message_without_credit_is_forwarded_whole(void **state)
{
	struct m0_lnet_lpni *lpni;

	(void)state;
	cut_open(true);
	lpni = lpni_of(two, "10.1.0.3@tcp1");
	put(BYTES);
	lpni->lpn_credits -= 8;
	lpni->lpn_credits_low = lpni->lpn_credits;
	assert_int_equal(there(HALF), 0);
	lpni->lpn_credits += 8;
	assert_int_equal(there(HALF + 1), 1);
	rest();
	assert_works();
}

static void fault_rules_let_no_message_leave_early(void **state)
{
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = M0_LNET_FAULT_DROP,
		.lfa_src = pair_nid("10.9.9.9@tcp"),
		.lfa_dst = pair_nid("10.9.9.9@tcp"),
		.lfa_rate = 1000,
	};

	(void)state;
	cut_open(true);
	assert_int_equal(m0_lnet_engine_fault_add(two->pno_engine, &attr), 0);
	put(BYTES);
	assert_int_equal(there(HALF), 0);
	rest();
	assert_int_equal(since(), 1);
	assert_int_equal(routing_info(1).lgi_cuts_nr, 0);
}

/* -- what breaks ----------------------------------------------------------- */

static void broken_sender_aborts_the_message(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	pair_rx_fail(two, -ECONNRESET);
	pair_settle(pair);
	assert_int_equal(two->pno_aborts_nr, 1);
	assert_int_equal(routing_info(1).lgi_cuts_broken_nr, 1);
	assert_int_equal(since(), 0);
	assert_int_equal(stats_of(two)->ls_drop_count, 1);
	/* Neither the interface nor the next hop is to blame. */
	assert_int_equal(two->pno_engine->le_sick.lsk_nr, 0);
	assert_works();
}

/* Before half of it was there it is dropped alone. */
static void sender_broken_early_aborts_nothing(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF - 1), 0);
	pair_rx_fail(two, -ECONNRESET);
	pair_settle(pair);
	assert_int_equal(two->pno_aborts_nr, 0);
	assert_int_equal(routing_info(1).lgi_cuts_broken_nr, 0);
	assert_works();
}

/** The next hop breaks: the driver completes what it has. */
static void hop_breaks(void)
{
	struct m0_lnd_tx *tx;

	assert_false(m0_list_is_empty(&two->pno_held));
	tx = m0_list_entry(m0_list_first(&two->pno_held), struct m0_lnd_tx,
			   ltx_link);
	m0_list_del(&tx->ltx_link);
	two->pno_ni[2]->ldn_ops->lu_tx_done(tx, -ECONNRESET,
					    M0_LND_LOCAL_ERROR);
}

static void broken_next_hop_ends_the_message(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	hop_breaks();
	pair_settle(pair);
	assert_idle();
	/* The driver discards what still arrives. */
	assert_int_equal(pair_report(two, HALF + 5), 0);
	assert_int_equal(two->pno_aborts_nr, 0);
	assert_int_equal(stats_of(two)->ls_drop_count, 1);
	assert_works();
}

static void rest_that_does_not_arrive_is_not_awaited(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	pair_run(pair, CUT_MS - 100);
	assert_int_equal(two->pno_aborts_nr, 0);
	pair_run(pair, 200);
	assert_int_equal(two->pno_aborts_nr, 1);
	assert_int_equal(routing_info(1).lgi_cuts_broken_nr, 1);
	assert_works();
}

/* A slow next hop keeps a message that is whole for the time of the driver. */
static void slow_next_hop_is_awaited(void **state)
{
	(void)state;
	cut_open(true);
	pair->pai_hook = all_held;
	put(BYTES);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(there(HALF), 1);
	pair->pai_hook = all_held;
	rest();
	pair_run(pair, CUT_MS + 1000);
	assert_int_equal(two->pno_aborts_nr, 0);
	assert_int_equal(since(), 0);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(since(), 1);
	assert_works();
}

/* The end of routing, and of the node, end what has begun. */
static void routing_that_ends_aborts_the_message(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	routing(1, false);
	pair_run(pair, 60000);
	assert_int_equal(two->pno_aborts_nr, 1);
	assert_int_equal(routing_info(1).lgi_bytes, 0);
}

static void node_that_ends_aborts_the_message(void **state)
{
	(void)state;
	cut_open(true);
	put(BYTES);
	assert_int_equal(there(HALF), 1);
	two->pno_rx_hold = true;
	pair_stop(pair, 1);
	assert_int_equal(two->pno_aborts_nr, 1);
}

/* -- the sign of a Colibri node -------------------------------------------- */

static void ping_has_the_bit_of_colibri_nodes(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	line_open(&cfg);
	pair_run(pair, 10);
	assert_int_equal(m0_lnet__ping_features(two->pno_engine),
			 M0_LNET_FEAT_COLIBRI | M0_LNET_FEAT_NI_STATUS |
				 M0_LNET_FEAT_MULTI_RAIL |
				 M0_LNET_FEAT_DISCOVERY);
	/* Lustre knows the eight lowest bits. */
	assert_true(M0_LNET_FEAT_COLIBRI > 0xff);
	assert_int_equal(server()->lpe_features & M0_LNET_FEAT_COLIBRI,
			 M0_LNET_FEAT_COLIBRI);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY_BARE(message_leaves_while_it_arrives),
		STORY_BARE(half_of_the_payload_is_awaited),
		STORY_BARE(cut_through_is_off_by_default),
		STORY_BARE(switch_turned_off_ends_no_message),
		STORY_BARE(switch_turned_off_holds_back_messages),
		STORY_BARE(small_message_is_forwarded_whole),
		STORY_BARE(message_to_lustre_is_forwarded_whole),
		STORY_BARE(driver_that_cannot_gets_whole_messages),
		STORY_BARE(message_without_credit_is_forwarded_whole),
		STORY_BARE(fault_rules_let_no_message_leave_early),
		STORY_BARE(broken_sender_aborts_the_message),
		STORY_BARE(sender_broken_early_aborts_nothing),
		STORY_BARE(broken_next_hop_ends_the_message),
		STORY_BARE(rest_that_does_not_arrive_is_not_awaited),
		STORY_BARE(slow_next_hop_is_awaited),
		STORY_BARE(routing_that_ends_aborts_the_message),
		STORY_BARE(node_that_ends_aborts_the_message),
		STORY_BARE(ping_has_the_bit_of_colibri_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
