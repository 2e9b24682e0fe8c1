/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnet/foreign.h"

/* -- the good way ---------------------------------------------------------- */

/* As kernels do it: GET, REPLY, push, ACK, push back, ACK; then the message. */
static void discovery_first_put_pings_and_pushes_both_ways(void **state)
{
	const struct pair_frame *frame;

	(void)state;
	story_open(2, NULL);
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);

	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	frame = pair_frame(pair, 0, M0_LNET_GET, 0);
	assert_int_equal(frame->pfr_hdr.lhd_portal, 0);
	assert_true(frame->pfr_hdr.lhd_match_bits == UINT64_C(1) << 63);
	assert_int_equal(frame->pfr_hdr.lhd_length, 272);
	assert_int_equal(frame->pfr_hdr.lhd_dest_pid, M0_LNET_PID_LUSTRE);
	assert_nid(&frame->pfr_hdr.lhd_src_nid, "10.0.0.1@tcp");
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_REPLY), 1);
	frame = pair_frame(pair, 1, M0_LNET_REPLY, 0);
	assert_int_equal(frame->pfr_bytes, 48);

	/* A push and the message; an ACK of the other's push. */
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 2);
	frame = pair_frame(pair, 0, M0_LNET_PUT, 0);
	assert_int_equal(frame->pfr_hdr.lhd_portal, 0);
	assert_false(m0_lnet__wmd_is_none(&frame->pfr_hdr.lhd_wmd));
	assert_int_equal(frame->pfr_bytes, 48);
	assert_int_equal(
		pair_frame(pair, 0, M0_LNET_PUT, 1)->pfr_hdr.lhd_portal,
		PORTAL);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_PUT), 1);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 1);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_ACK), 1);
	/* First the other's is acknowledged, then ours is pushed. */
	assert_true(pair_frame(pair, 1, M0_LNET_ACK, 0) <
		    pair_frame(pair, 1, M0_LNET_PUT, 0));
	assert_int_equal(peer_of(one, "10.0.0.2@tcp")->lpe_state,
			 M0_LNET_PEER_MULTI_RAIL | M0_LNET_PEER_DISCOVERED |
				 M0_LNET_PEER_NIDS_UPTODATE);
	assert_int_equal(peer_of(two, "10.0.0.1@tcp")->lpe_state,
			 peer_of(one, "10.0.0.2@tcp")->lpe_state);

	/* Once is enough. */
	put_to(one, "10.0.0.2@tcp", 64);
	put_to(two, "10.0.0.1@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_GET), 0);
}

/* Both begin at the same time, and neither waits for the other for ever. */
static void discovery_from_both_sides_ends_well(void **state)
{
	(void)state;
	story_open(2, NULL);
	sink_post(one);
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 64);
	put_to(two, "10.0.0.1@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(send_status(two, 0), 0);
	assert_true(pair_frames_nr(pair, 0, M0_LNET_PUT) <= 3);
	assert_true(pair_frames_nr(pair, 1, M0_LNET_PUT) <= 3);
}

/* Many messages wait for one discovery, and leave in their order. */
static void discovery_many_wait_leave_in_order(void **state)
{
	const struct pair_frame *frame;
	unsigned                 i;

	(void)state;
	story_open(2, NULL);
	sink_post(two);
	pair->pai_hook = all_held;
	for (i = 0; i < 20; ++i)
		put_to(one, "10.0.0.2@tcp", i);
	pair_run(pair, 10);
	assert_int_equal(
		m0_list_length(&peer_of(one, "10.0.0.2@tcp")->lpe_waiting), 20);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_run(pair, 10);
	for (i = 0; i < 20; ++i) {
		frame = pair_frame(pair, 0, M0_LNET_PUT, 1 + i);
		assert_int_equal(frame->pfr_bytes, i);
		assert_int_equal(send_status(one, i), 0);
	}
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
}

/*
 * A change of the NIs is pushed to the peers that know this node: the sequence
 * number rises.
 */
static void discovery_our_change_is_pushed_again(void **state)
{
	const struct pair_frame *frame;

	(void)state;
	story_open(2, NULL);
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 2);
	(void)pair_ni(one, "10.0.1.1@tcp");
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 3);
	frame = pair_frame(pair, 0, M0_LNET_PUT, 2);
	assert_int_equal(frame->pfr_bytes, 64);
	assert_int_equal(peer_of(two, "10.0.0.1@tcp")->lpe_seq_received, 3);
	assert_int_equal(nids_nr(peer_of(two, "10.0.0.1@tcp")), 2);
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	pair_run(pair, 10);
	assert_int_equal(nids_nr(peer_of(two, "10.0.0.1@tcp")), 1);
	assert_null(lpni_of(two, "10.0.1.1@tcp"));
	assert_int_equal(peer_of(two, "10.0.0.1@tcp")->lpe_seq_received, 4);
}

/* A push from an NID never seen makes one peer of it and the one known. */
static void discovery_push_from_new_nid_merges(void **state)
{
	static const char *const nids[4] = { "10.0.0.9@tcp", "10.0.1.9@tcp" };
	uint8_t                  buf[256];
	uint32_t                 nr;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	nr = info_of(buf, sizeof buf, FEATURES, 2,
		     (const char *const[4]){ "10.0.0.9@tcp" });
	push(one, "10.0.0.9@tcp", buf, nr);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 1);
	/* Our push back. */
	acknowledge(0, "10.0.0.9@tcp");
	assert_true((peer_of(one, "10.0.0.9@tcp")->lpe_state &
		     M0_LNET_PEER_NIDS_UPTODATE) != 0);
	nr = info_of(buf, sizeof buf, FEATURES, 3, nids);
	push(one, "10.0.1.9@tcp", buf, nr);
	assert_ptr_equal(peer_of(one, "10.0.0.9@tcp"),
			 peer_of(one, "10.0.1.9@tcp"));
	assert_nid(&peer_of(one, "10.0.1.9@tcp")->lpe_primary, "10.0.0.9@tcp");
	assert_int_equal(one->pno_engine->le_peers_nr, 1);
	/* The peer has the information already. */
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 1);
}

/* A node that says no to discovery is asked once, told nothing, and stays one
 * NID. */
static void discovery_of_one_without_it_ends_after_ping(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(2, NULL);
	pair_restart(pair, 1, &cfg);
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 64);
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 1), 0);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 2);
	assert_int_equal(peer_of(one, "10.0.0.2@tcp")->lpe_state,
			 M0_LNET_PEER_NO_DISCOVERY | M0_LNET_PEER_DISCOVERED |
				 M0_LNET_PEER_NIDS_UPTODATE);
	/* And it does not ask by itself. */
	put_to(two, "10.0.0.1@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_GET), 0);
}

/* Mixed NIDs: both sorts are told, and the peer is one. */
static void discovery_of_ipv4_and_ipv6_makes_one_peer(void **state)
{
	const struct m0_lnet_peer *peer;

	(void)state;
	story_open(2, NULL);
	(void)pair_ni(one, "fd77::1@tcp");
	(void)pair_ni(two, "fd77::2@tcp");
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	peer = peer_of(one, "10.0.0.2@tcp");
	assert_ptr_equal(peer, peer_of(one, "fd77::2@tcp"));
	assert_nid(&peer->lpe_primary, "10.0.0.2@tcp");
	assert_int_equal(peer->lpe_features, 0x4000003e);
	assert_int_equal(nids_nr(peer), 2);
	assert_int_equal(pair_frame(pair, 1, M0_LNET_REPLY, 0)->pfr_bytes, 72);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
	/* Told primary: the same by whatever it came. */
	put_to(one, "fd77::2@tcp", 64);
	put_to(one, "fd77::2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 3);
	assert_nid(&pair_event(two, M0_LNET_EV_PUT, 2)->ev_initiator.lp_nid,
		   "10.0.0.1@tcp");
}

/* Too little room for the answer: once more with enough. */
static void discovery_long_answer_gets_more_room_once(void **state)
{
	struct m0_lnet_ping_ni   nis[20];
	struct m0_lnet_ping_info info = {
		.lpi_features = FEATURES,
		.lpi_pid = M0_LNET_PID_LUSTRE,
		.lpi_seq = 2,
		.lpi_nis = nis,
		.lpi_nis_nr = 20,
	};
	char     nid[M0_LNET_NIDSTR_SIZE];
	uint8_t  buf[1024];
	uint32_t nr;
	unsigned i;

	(void)state;
	for (i = 0; i < 20; ++i) {
		(void)snprintf(nid, sizeof nid, "10.0.%u.9@tcp", i);
		nis[i].lpg_nid = pair_nid(nid);
		nis[i].lpg_up = true;
	}
	nr = (uint32_t)m0_lnet__ping_encode(&info, buf, sizeof buf);
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	put_to(one, STRANGER, 64);
	pair_settle(pair);
	answer(one, 0, STRANGER, buf, 272);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 2);
	assert_int_equal(
		pair_frame(pair, 0, M0_LNET_GET, 1)->pfr_hdr.lhd_length, nr);
	answer(one, 1, STRANGER, buf, nr);
	acknowledge(0, STRANGER);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(nids_nr(peer_of(one, STRANGER)), 20);
	assert_int_equal(one->pno_engine->le_peers_nr, 1);
}

/* A peer whose answer is longer than it says each time is not asked forever. */
static void discovery_truncated_twice_is_nonsense(void **state)
{
	static const char *const nids[4] = { STRANGER, "10.0.1.9@tcp" };
	uint8_t                  buf[256];

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	(void)info_of(buf, sizeof buf, FEATURES, 2, nids);
	put_to(one, STRANGER, 64);
	pair_settle(pair);
	answer(one, 0, STRANGER, buf, 48);
	answer(one, 1, STRANGER, buf, 48);
	assert_int_equal(send_status(one, 0), -EPROTO);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 2);
}

/* -- peers that fail ------------------------------------------------------- */

/* A mute peer: what waited fails in time, then it is spoken to all the same,
 * and asked again only now and then. */
static void discovery_of_mute_peer_fails_once_then_lets_through(void **state)
{
	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	put_to(one, STRANGER, 64);
	pair_run(pair, TTO_MS - 10);
	assert_int_equal(send_status(one, 0), 1);
	pair_run(pair, 20);
	assert_int_equal(send_status(one, 0), -ETIMEDOUT);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);

	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 1), 0);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	/* After the pause it is asked, and nobody waits. */
	pair_run(pair, 60000);
	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 2), 0);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 2);
}

static void discovery_of_nonsense_ends_with_a_pause(void **state)
{
	uint8_t  buf[64] = { 0x70, 0x69, 0x6e, 0x68 };
	unsigned i;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	put_to(one, STRANGER, 64);
	pair_settle(pair);
	answer(one, 0, STRANGER, buf, sizeof buf);
	assert_int_equal(send_status(one, 0), -EPROTO);
	for (i = 0; i < 10; ++i) {
		put_to(one, STRANGER, 64);
		pair_run(pair, 100);
		assert_int_equal(send_status(one, 1 + i), 0);
	}
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
}

/* A push that is never acknowledged fails those that wait, in time. */
static void discovery_push_without_ack_times_out(void **state)
{
	static const char *const nids[4] = { STRANGER };
	uint8_t                  buf[256];
	uint32_t                 nr;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	nr = info_of(buf, sizeof buf, FEATURES, 2, nids);
	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	answer(one, 0, STRANGER, buf, nr);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 1);
	pair_run(pair, TTO_MS);
	assert_int_equal(send_status(one, 0), -ETIMEDOUT);
	pair_run(pair, 1000);
	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 1), 0);
}

/* Nobody there: the error of the network, at once, each time anew. */
static void discovery_of_nobody_fails_with_the_networks_error(void **state)
{
	(void)state;
	story_open(1, NULL);
	put_to(one, STRANGER, 64);
	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), -EHOSTUNREACH);
	assert_int_equal(send_status(one, 1), -EHOSTUNREACH);
	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 2), -EHOSTUNREACH);
	assert_int_equal(one->pno_nobody_nr, 2);
}

/* The peer was lost after it was asked, so its answer is not awaited. */
static void discovery_of_lost_peer_fails_at_once(void **state)
{
	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	pair_peer_down(one, STRANGER, -ECONNRESET);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), -ECONNRESET);
}

/* So it is if it came again at once, as another most likely: that has not been
 * asked, and what waits says so, not at the end of its time. */
static void discovery_of_peer_that_is_another_fails_at_once(void **state)
{
	(void)state;
	story_open(2, NULL);
	pair->pai_hook = all_lost;
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	pair_peer_down(one, "10.0.0.2@tcp", 0);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), -ECONNRESET);
	assert_false(lpni_of(one, "10.0.0.2@tcp")->lpn_known_down);
	pair->pai_hook = NULL;
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 1), 0);
	/* And it is told ours again. */
	pair_peer_down(one, "10.0.0.2@tcp", 0);
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 2), 0);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 3);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 4);
}

/* The driver has waited in vain for the first NID to take a connection. */
static enum pair_act first_takes_no_call(struct pair       *p,
					 struct pair_frame *frame)
{
	struct m0_lnet_nid nid = pair_nid("10.0.0.2@tcp");

	(void)p;
	if (!m0_lnet_nid_eq(&frame->pfr_hop, &nid))
		return PAIR_PASS;
	frame->pfr_status = -ETIMEDOUT;
	frame->pfr_health = M0_LND_NETWORK_TIMEOUT;
	return PAIR_FAIL;
}

/*
 * A peer that is not reached by one NID is asked by the next one. That includes
 * a time-out, if the path is silent and not the peer.
 */
static void discovery_by_mute_rail_goes_on_by_next(void **state)
{
	(void)state;
	story_open(2, NULL);
	(void)pair_ni(one, "10.1.0.1@tcp1");
	(void)pair_ni(two, "10.1.0.2@tcp1");
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.2@tcp")), 2);
	/* Lost, and so long ago that it may be back. */
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	pair_run(pair, 61000);
	pair->pai_hook = first_takes_no_call;
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 2);
	assert_nid(&pair_frame(pair, 0, M0_LNET_GET, 1)->pfr_hop,
		   "10.1.0.2@tcp1");
	assert_true((peer_of(one, "10.0.0.2@tcp")->lpe_state &
		     M0_LNET_PEER_NIDS_UPTODATE) != 0);
}

/* Restarted with other NIDs and a lower sequence number: learned anew, and it
 * is told ours again. */
static void discovery_of_restarted_peer_begins_anew(void **state)
{
	(void)state;
	story_open(2, NULL);
	(void)pair_ni(two, "10.0.1.2@tcp");
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.2@tcp")), 2);
	m0_lnet_engine_ni_del(two->pno_engine, two->pno_ni[2]);
	pair->pai_hook = all_lost;
	pair_run(pair, 10);
	pair_restart(pair, 1, NULL);
	pair->pai_hook = NULL;
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 64);
	pair_run(pair, 10);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.2@tcp")), 1);
	assert_int_equal(peer_of(one, "10.0.0.2@tcp")->lpe_seq_received, 2);
	assert_int_equal(peer_of(two, "10.0.0.1@tcp")->lpe_state &
				 M0_LNET_PEER_MULTI_RAIL,
			 M0_LNET_PEER_MULTI_RAIL);
}

/* -- pushes of others ------------------------------------------------------ */

/* Pushes that make no sense are acknowledged, cost one ping, and no more. */
static void discovery_bad_push_asks_back_once(void **state)
{
	uint8_t  buf[48] = { 1, 2, 3 };
	unsigned i;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	for (i = 0; i < 10; ++i)
		push(one, STRANGER, buf, sizeof buf);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	answer(one, 0, STRANGER, buf, sizeof buf);
	for (i = 0; i < 10; ++i)
		push(one, STRANGER, buf, sizeof buf);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
}

/* A push without Multi-Rail means nothing; one that is cut is asked for. */
static void discovery_push_of_plain_or_cut_is_not_learned(void **state)
{
	static const char *const nids[4] = { STRANGER, "10.0.1.9@tcp" };
	uint8_t                  buf[256];
	uint32_t                 nr;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	nr = info_of(buf, sizeof buf, 0x06, 2, nids);
	push(one, STRANGER, buf, nr);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 0);
	assert_int_equal(nids_nr(peer_of(one, STRANGER)), 1);
	nr = info_of(buf, sizeof buf, FEATURES, 2, nids);
	push(one, STRANGER, buf, nr - 16);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	assert_int_equal(nids_nr(peer_of(one, STRANGER)), 1);
}

/* So many at a time; those that take long make room, so that who answers does
 * not wait for who does not. */
static void discovery_of_many_queues_behind_quick_ones(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	char                      nid[M0_LNET_NIDSTR_SIZE];
	unsigned                  i;

	(void)state;
	cfg.lec_peers_max = 200;
	story_open(1, &cfg);
	pair->pai_hook = all_lost;
	for (i = 0; i < 150; ++i) {
		(void)snprintf(nid, sizeof nid, "10.0.3.%u@tcp", i + 1);
		put_to(one, nid, 8);
	}
	pair_run(pair, 500);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 64);
	pair_run(pair, 1000);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 128);
	pair_run(pair, 1000);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 150);
	pair_run(pair, TTO_MS + 10);
	for (i = 0; i < 150; ++i)
		assert_int_equal(send_status(one, i), -ETIMEDOUT);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* Pushes in the names of many have each of them asked; whom we want to speak to
 * ourselves comes before those that wait for that. */
static void discovery_that_is_wanted_comes_first(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	char                      nid[M0_LNET_NIDSTR_SIZE];
	uint8_t                   buf[8] = { 1, 2, 3 };
	unsigned                  i;

	(void)state;
	cfg.lec_peers_max = 500;
	story_open(1, &cfg);
	pair->pai_hook = all_lost;
	for (i = 0; i < 2 * 250; ++i) {
		(void)snprintf(nid, sizeof nid, "10.0.3.%u@tcp", i % 250 + 1);
		push(one, nid, buf, sizeof buf);
	}
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 64);
	/* Not asked so far; and one that waits to be asked already. */
	put_to(one, STRANGER, 8);
	put_to(one, "10.0.3.250@tcp", 8);
	pair_run(pair, 1100);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 128);
	assert_nid(&pair_frame(pair, 0, M0_LNET_GET, 64)->pfr_hop,
		   "10.0.3.250@tcp");
	assert_nid(&pair_frame(pair, 0, M0_LNET_GET, 65)->pfr_hop, STRANGER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(discovery_first_put_pings_and_pushes_both_ways),
		STORY_BARE(discovery_from_both_sides_ends_well),
		STORY_BARE(discovery_many_wait_leave_in_order),
		STORY_BARE(discovery_our_change_is_pushed_again),
		STORY_BARE(discovery_push_from_new_nid_merges),
		STORY_BARE(discovery_of_one_without_it_ends_after_ping),
		STORY_BARE(discovery_of_ipv4_and_ipv6_makes_one_peer),
		STORY_BARE(discovery_long_answer_gets_more_room_once),
		STORY_BARE(discovery_truncated_twice_is_nonsense),
		STORY_BARE(discovery_of_mute_peer_fails_once_then_lets_through),
		STORY_BARE(discovery_of_nonsense_ends_with_a_pause),
		STORY_BARE(discovery_push_without_ack_times_out),
		STORY_BARE(discovery_of_nobody_fails_with_the_networks_error),
		STORY_BARE(discovery_of_lost_peer_fails_at_once),
		STORY_BARE(discovery_of_peer_that_is_another_fails_at_once),
		STORY_BARE(discovery_by_mute_rail_goes_on_by_next),
		STORY_BARE(discovery_of_restarted_peer_begins_anew),
		STORY_BARE(discovery_bad_push_asks_back_once),
		STORY_BARE(discovery_push_of_plain_or_cut_is_not_learned),
		STORY_BARE(discovery_of_many_queues_behind_quick_ones),
		STORY_BARE(discovery_that_is_wanted_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
