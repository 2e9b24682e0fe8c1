/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <sys/resource.h>

#include "unit/lnet/story.h"

enum {
	LONG_QUEUE_NR = 4000,
	LITTLE_STACK_BYTES = 256 << 10
};

static struct m0_lnet_ni *ni_of(const struct pair_node *node, unsigned i)
{
	return container_of(node->pno_ni[i], struct m0_lnet_ni, lni_lnd);
}

/** The i-th PUT that left `one` went by this way. */
static void assert_way(unsigned i, const char *from, const char *to)
{
	const struct pair_frame *frame = pair_frame(pair, 0, M0_LNET_PUT, i);

	assert_non_null(frame);
	assert_nid(&frame->pfr_ni, from);
	assert_nid(&frame->pfr_hop, to);
	assert_false(frame->pfr_is_answer);
	assert_nid(&frame->pfr_hdr.lhd_src_nid, from);
	assert_nid(&frame->pfr_hdr.lhd_dest_nid, to);
}

/* -- credits --------------------------------------------------------------- */

/* So many at a time to one peer; the others queue in order, and the counter
 * says how many. */
static void credits_of_peer_make_a_queue(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_lpni      *lpni;
	unsigned                  i;

	(void)state;
	story_open(2, &cfg);
	sink_post(two);
	pair->pai_hook = all_slow;
	for (i = 0; i < 12; ++i)
		put_to(one, "10.0.0.2@tcp", 100 + i);
	pair_run(pair, 10);
	lpni = lpni_of(one, "10.0.0.2@tcp");
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 8);
	assert_int_equal(lpni->lpn_credits, -4);
	assert_int_equal(lpni->lpn_credits_low, -4);
	assert_int_equal(lpni->lpn_queued_bytes, 108 + 109 + 110 + 111);
	assert_int_equal(lpni->lpn_refs_nr, 12);
	assert_int_equal(ni_of(one, 1)->lni_credits, 256 - 8);
	pair_release(pair);
	pair_run(pair, 10);
	assert_int_equal(lpni->lpn_credits, 4);
	pair_release(pair);
	pair_run(pair, 10);
	for (i = 0; i < 12; ++i) {
		assert_int_equal(pair_frame(pair, 0, M0_LNET_PUT, i)->pfr_bytes,
				 100 + i);
		assert_int_equal(send_status(one, i), 0);
	}
	assert_int_equal(lpni->lpn_credits, 8);
	assert_int_equal(lpni->lpn_credits_low, -4);
	assert_int_equal(lpni->lpn_queued_bytes, 0);
	assert_int_equal(lpni->lpn_refs_nr, 0);
	assert_int_equal(ni_of(one, 1)->lni_credits, 256);
	assert_int_equal(ni_of(one, 1)->lni_msgs_nr, 0);
}

/* The NI's credits are shared by its peers, first come, first served. */
static void credits_of_ni_are_shared_in_order(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	cfg.lec_credits = 4;
	cfg.lec_peer_credits = 8;
	story_open(3, &cfg);
	/* No more for a peer than for the NI. */
	assert_int_equal(one->pno_ni[1]->ldn_peer_credits, 4);
	pair->pai_hook = all_slow;
	for (i = 0; i < 4; ++i)
		put_to(one, "10.0.0.2@tcp", 10 + i);
	for (i = 0; i < 3; ++i)
		put_to(one, "10.0.0.3@tcp", 20 + i);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 4);
	assert_int_equal(ni_of(one, 1)->lni_credits, -3);
	assert_int_equal(ni_of(one, 1)->lni_credits_low, -3);
	assert_int_equal(lpni_of(one, "10.0.0.3@tcp")->lpn_credits, 1);
	put_to(one, "10.0.0.2@tcp", 14);
	pair_release(pair);
	pair_run(pair, 10);
	for (i = 0; i < 3; ++i)
		assert_int_equal(
			pair_frame(pair, 0, M0_LNET_PUT, 4 + i)->pfr_bytes,
			20 + i);
	assert_int_equal(pair_frame(pair, 0, M0_LNET_PUT, 7)->pfr_bytes, 14);
	pair_release(pair);
	pair_run(pair, 10);
	assert_int_equal(ni_of(one, 1)->lni_credits, 4);
}

/*
 * A message that has not left by its deadline fails where it waits; those that
 * wait behind it continue.
 */
static void queue_deadline_fails_where_it_waits(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_lpni      *lpni;
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 1;
	story_open(2, &cfg);
	pair->pai_hook = all_slow;
	for (i = 0; i < 3; ++i)
		put_to(one, "10.0.0.2@tcp", 10 + i);
	pair_run(pair, TTO_MS / 2);
	put_to(one, "10.0.0.2@tcp", 13);
	lpni = lpni_of(one, "10.0.0.2@tcp");
	pair_run(pair, TTO_MS / 2 - 10);
	assert_int_equal(lpni->lpn_credits, -3);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 0);
	pair_run(pair, 20);
	assert_int_equal(send_status(one, 0), -ETIMEDOUT);
	assert_int_equal(send_status(one, 1), -ETIMEDOUT);
	assert_int_equal(lpni->lpn_credits, -1);
	assert_int_equal(lpni->lpn_queued_bytes, 13);
	assert_int_equal(stats_of(one)->ls_failures.lf_local_timeout, 2);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 2);
	assert_int_equal(pair_frame(pair, 0, M0_LNET_PUT, 1)->pfr_bytes, 13);
	assert_int_equal(lpni->lpn_credits, 1);
}

/*
 * A message that is cancelled in the queue of the NI has a credit of its peer.
 * The next message for the peer gets that at once, not when another message has
 * left.
 */
static void queue_cancel_lets_the_next_on(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_md        *md;
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 2;
	cfg.lec_credits = 2;
	story_open(3, &cfg);
	pair->pai_hook = all_held;
	put_to(one, "10.0.0.2@tcp", 10);
	put_to(one, "10.0.0.2@tcp", 11);
	md = pair_md_bind(one, bytes_out, 12, 1, 0);
	pair_put(one, md, "10.0.0.3@tcp", PORTAL, BITS, false);
	for (i = 13; i < 15; ++i)
		put_to(one, "10.0.0.3@tcp", i);
	pair_run(pair, 10);
	assert_int_equal(lpni_of(one, "10.0.0.3@tcp")->lpn_credits, -1);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	assert_int_equal(lpni_of(one, "10.0.0.3@tcp")->lpn_credits, 0);
	assert_true(m0_list_is_empty(&lpni_of(one, "10.0.0.3@tcp")->lpn_queue));
	assert_int_equal(ni_of(one, 1)->lni_credits, -2);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_run(pair, 10);
	for (i = 0; i < 2; ++i)
		assert_int_equal(
			pair_frame(pair, 0, M0_LNET_PUT, 2 + i)->pfr_bytes,
			13 + i);
	assert_int_equal(ni_of(one, 1)->lni_credits, 2);
}

/* Unlinked, it leaves each queue; and the driver is told. */
static void queue_cancel_gives_the_place_back(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_md        *md[4];
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 2;
	cfg.lec_credits = 2;
	story_open(3, &cfg);
	pair->pai_hook = all_held;
	/* 0 and 1: the driver's. 2: the NI's queue. 3: the peer's. */
	for (i = 0; i < 4; ++i) {
		md[i] = pair_md_bind(one, bytes_out, i, 1, 0);
		pair_put(one, md[i], i < 2 ? "10.0.0.2@tcp" : "10.0.0.3@tcp",
			 PORTAL, BITS, false);
		if (i == 2)
			put_to(one, "10.0.0.3@tcp", 50);
	}
	pair_run(pair, 10);
	assert_int_equal(ni_of(one, 1)->lni_credits, -2);
	assert_int_equal(lpni_of(one, "10.0.0.3@tcp")->lpn_credits, -1);
	m0_lnet_engine_md_unlink(one->pno_engine, md[3]);
	m0_lnet_engine_md_unlink(one->pno_engine, md[2]);
	m0_lnet_engine_md_unlink(one->pno_engine, md[0]);
	pair_run(pair, 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 3);
	for (i = 0; i < 3; ++i)
		assert_int_equal(send_status(one, i), -ECANCELED);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 2);
	assert_int_equal(ni_of(one, 1)->lni_credits, 2);
	assert_int_equal(lpni_of(one, "10.0.0.3@tcp")->lpn_credits, 2);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 2);
}

/* A peer that is lost: what waits for it fails, what waits for others not. */
static void queue_of_lost_peer_fails(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	cfg.lec_credits = 2;
	cfg.lec_peer_credits = 1;
	story_open(4, &cfg);
	pair->pai_hook = all_slow;
	for (i = 0; i < 3; ++i)
		put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.3@tcp", 8);
	put_to(one, "10.0.0.4@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 2);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	pair_run(pair, 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 2);
	assert_int_equal(send_status(one, 0), -ECONNRESET);
	assert_int_equal(send_status(one, 1), -ECONNRESET);
	assert_true(lpni_of(one, "10.0.0.2@tcp")->lpn_known_down);
	/* Also one that waits for the NI. */
	pair_peer_down(one, "10.0.0.4@tcp", -EHOSTUNREACH);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 2), -EHOSTUNREACH);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_run(pair, 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 5);
	assert_int_equal(ni_of(one, 1)->lni_credits, 2);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 1);
	assert_int_equal(lpni_of(one, "10.0.0.4@tcp")->lpn_credits, 1);
}

/** A PUT of 8 bytes to a process. */
static void put_to_pid(struct pair_node *node, const char *nid, uint32_t pid)
{
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { .lp_nid = pair_nid(nid), .lp_pid = pid },
		.lo_portal = PORTAL,
		.lo_match_bits = BITS,
	};

	pair_op(node, pair_md_bind(node, bytes_out, 8, 1, 0), &op, false);
}

/* A process that is not there is not the node: what waits for that goes on, and
 * so it is known to be there. */
static void queue_of_lost_pid_is_its_own(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_nid        nid = pair_nid("10.0.0.2@tcp");

	(void)state;
	cfg.lec_credits = 2;
	cfg.lec_peer_credits = 2;
	story_open(3, &cfg);
	pair->pai_hook = all_slow;
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.3@tcp", 8);
	/* For the NI, then for the peer. */
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.2@tcp", 8);
	put_to_pid(one, "10.0.0.2@tcp", 7);
	pair_run(pair, 10);
	lpni_of(one, "10.0.0.2@tcp")->lpn_known_up = true;
	one->pno_ni[1]->ldn_ops->lu_peer_down(one->pno_ni[1], &nid, 7, -EPROTO);
	pair_run(pair, 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	assert_int_equal(send_status(one, 0), -EPROTO);
	assert_true(lpni_of(one, "10.0.0.2@tcp")->lpn_known_up);
	assert_false(lpni_of(one, "10.0.0.2@tcp")->lpn_known_down);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_run(pair, 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 5);
	assert_int_equal(send_status(one, 4), 0);
	assert_int_equal(ni_of(one, 1)->lni_credits, 2);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 2);
}

/* An interface that goes takes what waits to leave by it with it. */
static void queue_of_removed_ni_fails(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	cfg.lec_credits = 2;
	cfg.lec_peer_credits = 1;
	story_open(4, &cfg);
	pair->pai_hook = all_held;
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.3@tcp", 8);
	put_to(one, "10.0.0.4@tcp", 8);
	pair_run(pair, 10);
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[1]);
	pair_run(pair, 10);
	for (i = 0; i < 4; ++i)
		assert_int_equal(send_status(one, i), -ENETDOWN);
	assert_int_equal(m0_lnet_engine_nis_nr(one->pno_engine), 1);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 4), -EHOSTUNREACH);
}

/* Each that a rule has fail gives its credits to the next one of the queue, which
 * fails, too: however long that is, a little stack will do. */
static void queue_that_is_dropped_takes_no_stack(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = M0_LNET_FAULT_DROP,
		.lfa_src = m0_lnet_nid_any,
		.lfa_dst = m0_lnet_nid_any,
		.lfa_local = m0_lnet_nid_any,
		.lfa_all = true,
		.lfa_health = 1 << M0_LND_LOCAL_ERROR,
	};
	struct rlimit all;
	struct rlimit little;
	unsigned      i;

	(void)state;
	story_open(2, &cfg);
	one->pno_msgs_max = LONG_QUEUE_NR;
	pair->pai_hook = all_slow;
	for (i = 0; i < LONG_QUEUE_NR; ++i)
		put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(m0_lnet_engine_fault_add(one->pno_engine, &attr), 0);
	assert_int_equal(getrlimit(RLIMIT_STACK, &all), 0);
	little = (struct rlimit){ LITTLE_STACK_BYTES, all.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_STACK, &little), 0);
	pair_release(pair);
	pair_run(pair, 10);
	assert_int_equal(setrlimit(RLIMIT_STACK, &all), 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), LONG_QUEUE_NR);
	assert_int_equal(stats_of(one)->ls_failures.lf_local_error,
			 LONG_QUEUE_NR - 8);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 8);
	assert_int_equal(ni_of(one, 1)->lni_credits, 256);
}

/* -- ways ------------------------------------------------------------------ */

/* To ourselves: by 0@lo, and the header says what was asked for. */
static void way_to_own_nids_is_lo(void **state)
{
	const struct m0_lnet_event *ev;

	(void)state;
	story_open(1, NULL);
	sink_post(one);
	put_to(one, "0@lo", 8);
	put_to(one, "10.0.0.1@tcp", 8);
	put_from(one, "10.0.0.1@tcp", "0@lo");
	pair_run(pair, 10);
	ev = pair_event(one, M0_LNET_EV_PUT, 0);
	assert_nid(&ev->ev_source.lp_nid, "0@lo");
	assert_nid(&ev->ev_target.lp_nid, "0@lo");
	ev = pair_event(one, M0_LNET_EV_PUT, 1);
	assert_nid(&ev->ev_source.lp_nid, "10.0.0.1@tcp");
	assert_nid(&ev->ev_target.lp_nid, "10.0.0.1@tcp");
	assert_nid(&ev->ev_sender, "0@lo");
	ev = pair_event(one, M0_LNET_EV_PUT, 2);
	assert_nid(&ev->ev_source.lp_nid, "10.0.0.1@tcp");
	assert_nid(&ev->ev_target.lp_nid, "0@lo");
	/* No peer, no credits; answers come back the same way. */
	assert_int_equal(one->pno_engine->le_peers_nr, 0);
	pair_put(one, pair_md_bind(one, bytes_out, 8, 2, 0), "10.0.0.1@tcp",
		 PORTAL, BITS, true);
	pair_get(one, pair_md_bind(one, bytes_in + 2048, 8, 2, 0), "0@lo",
		 PORTAL, BITS);
	pair_run(pair, 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_status, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
	assert_int_equal(pair_event(one, M0_LNET_EV_REPLY, 0)->ev_status, 0);
	assert_int_equal(ni_of(one, 0)->lni_traffic.lt_sent.lmc_put, 4);
}

/* Where no way leads, it fails at once, and nothing is remembered. */
static void way_to_other_nets_is_none(void **state)
{
	(void)state;
	story_open(1, NULL);
	put_to(one, "10.0.0.9@tcp1", 8);
	put_to(one, "fd77::9@tcp", 8);
	put_from(one, "10.0.0.7@tcp", "10.0.0.9@tcp");
	put_from(one, "10.0.0.1@tcp", "10.0.0.9@tcp1");
	/* Never within the call. */
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 0);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), -EHOSTUNREACH);
	assert_int_equal(send_status(one, 1), -EHOSTUNREACH);
	assert_int_equal(send_status(one, 3), -EHOSTUNREACH);
	assert_true(send_status(one, 2) < 0);
	assert_null(lpni_of(one, "10.0.0.9@tcp1"));
	assert_null(lpni_of(one, "fd77::9@tcp"));
}

/* A source is kept to; without one a plain peer hears from one NI always. */
static void way_to_plain_peer_keeps_its_ni(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	story_open(2, &cfg);
	(void)pair_ni(one, "10.0.0.101@tcp");
	put_from(one, "10.0.0.101@tcp", "10.0.0.2@tcp");
	pair_run(pair, 1);
	assert_way(0, "10.0.0.101@tcp", "10.0.0.2@tcp");
	for (i = 0; i < 6; ++i)
		put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	for (i = 1; i < 7; ++i)
		assert_way(i, "10.0.0.1@tcp", "10.0.0.2@tcp");
	/* Until it goes. */
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[1]);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_way(7, "10.0.0.101@tcp", "10.0.0.2@tcp");
}

/* An NI that is up is taken before one that is not, if there is a choice. */
static void way_prefers_ni_that_is_up(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(3, &cfg);
	(void)pair_ni(one, "10.0.0.101@tcp");
	one->pno_ni[1]->ldn_up = false;
	one->pno_ni[1]->ldn_ops->lu_ni_status(one->pno_ni[1]);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_way(0, "10.0.0.101@tcp", "10.0.0.2@tcp");
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	put_to(one, "10.0.0.3@tcp", 8);
	pair_run(pair, 10);
	assert_way(1, "10.0.0.1@tcp", "10.0.0.3@tcp");
}

/* Multi-Rail: in turn by each pair of NIDs of one sort and net, down ones last.
 */
static void way_to_rails_goes_round(void **state)
{
	unsigned by[4] = { 0 };
	unsigned i;

	(void)state;
	story_open(2, NULL);
	(void)pair_ni(one, "10.0.1.1@tcp1");
	(void)pair_ni(two, "10.0.1.2@tcp1");
	(void)pair_ni(two, "fd77::2@tcp");
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	for (i = 0; i < 10; ++i) {
		put_to(one, "10.0.0.2@tcp", 8);
		pair_run(pair, 1);
	}
	/* 0 was the push, 1 the message that waited. */
	for (i = 2; i < 12; ++i) {
		const struct pair_frame *f =
			pair_frame(pair, 0, M0_LNET_PUT, i);

		assert_true(
			m0_lnet_nid_eq(&f->pfr_hdr.lhd_dest_nid, &f->pfr_hop));
		++by[m0_lnet_nid_net(&f->pfr_hop) ==
		     m0_lnet_net(M0_LNET_TYPE_TCP, 1)];
	}
	assert_int_equal(by[0], 5);
	assert_int_equal(by[1], 5);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 11);
	/* To an NID that we cannot reach as such: by another of the peer's. */
	put_to(one, "fd77::2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 11), 0);
	/* A source restricts the choice. */
	put_from(one, "10.0.1.1@tcp1", "10.0.0.2@tcp");
	pair_run(pair, 10);
	assert_way(13, "10.0.1.1@tcp1", "10.0.1.2@tcp1");
	/* Told down: not used while another is up. */
	two->pno_ni[1]->ldn_up = false;
	two->pno_ni[1]->ldn_ops->lu_ni_status(two->pno_ni[1]);
	two->pno_ni[1]->ldn_up = true;
	pair_run(pair, 10);
	assert_true(lpni_of(one, "10.0.0.2@tcp")->lpn_known_down);
	for (i = 0; i < 4; ++i) {
		put_to(one, "10.0.0.2@tcp", 8);
		pair_run(pair, 1);
		assert_way(14 + i, "10.0.1.1@tcp1", "10.0.1.2@tcp1");
	}
}

/* The rail with more credits is used, even if it was used last. */
static void way_prefers_rail_with_credits(void **state)
{
	unsigned sent;
	unsigned i;

	(void)state;
	story_open(2, NULL);
	(void)pair_ni(one, "10.0.1.1@tcp1");
	(void)pair_ni(two, "10.0.1.2@tcp1");
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	pair->pai_hook = all_slow;
	for (i = 0; i < 3; ++i)
		put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	pair_run(pair, 10);
	pair->pai_hook = NULL;
	put_from(one, "10.0.1.1@tcp1", "10.0.0.2@tcp");
	pair_run(pair, 10);
	assert_true(lpni_of(one, "10.0.0.2@tcp")->lpn_used_nr <
		    lpni_of(one, "10.0.1.2@tcp1")->lpn_used_nr);
	sent = pair_frames_nr(pair, 0, M0_LNET_PUT);
	for (i = 0; i < 2; ++i) {
		put_to(one, "10.0.0.2@tcp", 8);
		pair_run(pair, 10);
		assert_way(sent + i, "10.0.1.1@tcp1", "10.0.1.2@tcp1");
	}
	pair_release(pair);
	pair_run(pair, 10);
}

/* This holds for two NIs of this node on one net. */
static void way_prefers_ni_with_credits(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	story_open(3, &cfg);
	(void)pair_ni(one, "10.0.0.101@tcp");
	pair->pai_hook = all_slow;
	for (i = 0; i < 3; ++i)
		put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	pair_run(pair, 10);
	pair->pai_hook = NULL;
	put_from(one, "10.0.0.101@tcp", "10.0.0.2@tcp");
	pair_run(pair, 10);
	assert_true(ni_of(one, 1)->lni_used_nr < ni_of(one, 2)->lni_used_nr);
	put_to(one, "10.0.0.3@tcp", 8);
	pair_run(pair, 10);
	assert_way(4, "10.0.0.101@tcp", "10.0.0.3@tcp");
	pair_release(pair);
	pair_run(pair, 10);
}

/* A rail that was lost is left alone for a minute, whatever the peer tells of
 * it, unless it is heard from. */
static void way_avoids_lost_rail_for_a_while(void **state)
{
	unsigned i;

	(void)state;
	story_open(2, NULL);
	(void)pair_ni(one, "10.1.0.1@tcp1");
	(void)pair_ni(two, "10.1.0.2@tcp1");
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	pair_peer_down(one, "10.1.0.2@tcp1", -ECONNRESET);
	pair_run(pair, 10);
	i = pair_frames_nr(pair, 0, M0_LNET_PUT);
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	/* A push, for it may have forgotten us. */
	assert_way(i + 1, "10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_way(i + 2, "10.0.0.1@tcp", "10.0.0.2@tcp");
	pair_run(pair, 60000);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_way(i + 3, "10.1.0.1@tcp1", "10.1.0.2@tcp1");
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), i + 4);
}

/* The sender's primary NID stands for all of its NIDs. */
static void way_by_other_rail_tells_primary(void **state)
{
	(void)state;
	story_open(2, NULL);
	(void)pair_ni(one, "10.0.1.1@tcp1");
	(void)pair_ni(two, "10.0.1.2@tcp1");
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	put_from(one, "10.0.1.1@tcp1", "10.0.1.2@tcp1");
	pair_run(pair, 10);
	assert_nid(&pair_event(two, M0_LNET_EV_PUT, 1)->ev_source.lp_nid,
		   "10.0.1.1@tcp1");
	assert_nid(&pair_event(two, M0_LNET_EV_PUT, 1)->ev_initiator.lp_nid,
		   "10.0.0.1@tcp");
}

/* A request that came through a router is answered through it. */
static void way_of_answer_is_that_of_request(void **state)
{
	struct m0_lnet_hdr hdr = {
		.lhd_type = M0_LNET_PUT,
		.lhd_payload_bytes = 8,
		.lhd_portal = PORTAL,
		.lhd_match_bits = BITS,
		.lhd_wmd = { { 3 } },
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = 77,
	};
	const struct pair_frame *frame;

	(void)state;
	story_open(1, NULL);
	sink_post(one);
	pair->pai_hook = all_lost;
	hdr.lhd_dest_nid = pair_nid("10.0.0.1@tcp");
	hdr.lhd_src_nid = pair_nid("10.7.7.7@tcp7");
	pair_inject(one, 1, "10.0.0.9@tcp", &hdr, bytes_out);
	hdr.lhd_src_nid = pair_nid("10.0.0.8@tcp");
	pair_inject(one, 1, "10.0.0.8@tcp", &hdr, bytes_out);
	pair_run(pair, 10);
	frame = pair_frame(pair, 0, M0_LNET_ACK, 0);
	assert_nid(&frame->pfr_hop, "10.0.0.9@tcp");
	/* The pid is his who asked, and the router has the usual one. */
	assert_int_equal(frame->pfr_hop_pid, M0_LNET_PID_LUSTRE);
	assert_true(frame->pfr_is_answer);
	assert_nid(&frame->pfr_hdr.lhd_dest_nid, "10.7.7.7@tcp7");
	assert_nid(&frame->pfr_hdr.lhd_src_nid, "10.0.0.1@tcp");
	assert_int_equal(frame->pfr_hdr.lhd_dest_pid, 77);
	assert_int_equal(frame->pfr_hdr.lhd_wmd.wm_bytes[0], 3);
	frame = pair_frame(pair, 0, M0_LNET_ACK, 1);
	assert_nid(&frame->pfr_hop, "10.0.0.8@tcp");
	assert_int_equal(frame->pfr_hop_pid, 77);
	assert_nid(&frame->pfr_hdr.lhd_dest_nid, "10.0.0.8@tcp");
	/* A sender behind the router gets no record. */
	assert_null(lpni_of(one, "10.7.7.7@tcp7"));
}

/* More peers at once than there may be: refused and counted. */
static void way_to_too_many_peers_is_refused(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_peers_max = 2;
	story_open(1, &cfg);
	pair->pai_hook = all_held;
	put_to(one, "10.0.0.7@tcp", 8);
	put_to(one, "10.0.0.8@tcp", 8);
	put_to(one, "10.0.0.9@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	assert_int_equal(send_status(one, 0), -ENOBUFS);
	assert_int_equal(stats_of(one)->ls_drop_no_room, 1);
	assert_int_equal(one->pno_engine->le_peers_nr, 2);
	pair->pai_hook = all_lost;
	pair_release(pair);
	pair_run(pair, 10);
	put_to(one, "10.0.0.9@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 3), 0);
}

/* -- what is counted ------------------------------------------------------- */

static enum pair_act fails(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	frame->pfr_status = -ECONNRESET;
	frame->pfr_health = M0_LND_NETWORK_TIMEOUT;
	return PAIR_FAIL;
}

static void sends_are_counted_by_outcome(void **state)
{
	struct m0_lnet_engine_cfg  cfg = cfg_plain();
	const struct m0_lnet_lpni *lpni;

	(void)state;
	story_open(2, &cfg);
	put_to(one, "10.0.0.2@tcp", 100);
	put_to(one, "10.0.0.2@tcp", 23);
	pair_run(pair, 10);
	pair->pai_hook = fails;
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 2), -ECONNRESET);
	assert_int_equal(stats_of(one)->ls_send_count, 2);
	assert_int_equal(stats_of(one)->ls_send_length, 123);
	assert_int_equal(stats_of(one)->ls_errors, 1);
	assert_int_equal(stats_of(one)->ls_failures.lf_network_timeout, 1);
	lpni = lpni_of(one, "10.0.0.2@tcp");
	assert_int_equal(lpni->lpn_traffic.lt_sent.lmc_put, 2);
	assert_int_equal(lpni->lpn_traffic.lt_dropped.lmc_put, 1);
	assert_int_equal(lpni->lpn_failures.lf_network_timeout, 1);
	assert_int_equal(ni_of(one, 1)->lni_traffic.lt_sent.lmc_put, 2);
	assert_int_equal(ni_of(one, 1)->lni_failures.lf_network_timeout, 1);
	assert_int_equal(
		lpni_of(two, "10.0.0.1@tcp")->lpn_traffic.lt_dropped.lmc_put,
		2);
}

/* With queues of every sort full, the end leaves nothing. */
static void shutdown_with_full_queues_leaves_nothing(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	cfg.lec_credits = 3;
	cfg.lec_peer_credits = 2;
	story_open(3, &cfg);
	pair->pai_hook = all_held;
	for (i = 0; i < 10; ++i) {
		put_to(one, "10.0.0.2@tcp", 8);
		put_to(one, "10.0.0.3@tcp", 8);
		pair_put(one, pair_md_bind(one, bytes_out, 8, 2, 0),
			 "10.0.0.3@tcp", PORTAL, BITS, true);
	}
	pair_run(pair, 10);
	pair_stop(pair, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(credits_of_peer_make_a_queue),
		STORY_BARE(credits_of_ni_are_shared_in_order),
		STORY_BARE(queue_deadline_fails_where_it_waits),
		STORY_BARE(queue_cancel_lets_the_next_on),
		STORY_BARE(queue_cancel_gives_the_place_back),
		STORY_BARE(queue_of_lost_peer_fails),
		STORY_BARE(queue_of_lost_pid_is_its_own),
		STORY_BARE(queue_of_removed_ni_fails),
		STORY_BARE(queue_that_is_dropped_takes_no_stack),
		STORY_BARE(way_to_own_nids_is_lo),
		STORY_BARE(way_to_other_nets_is_none),
		STORY_BARE(way_to_plain_peer_keeps_its_ni),
		STORY_BARE(way_prefers_ni_that_is_up),
		STORY_BARE(way_to_rails_goes_round),
		STORY_BARE(way_prefers_rail_with_credits),
		STORY_BARE(way_prefers_ni_with_credits),
		STORY_BARE(way_avoids_lost_rail_for_a_while),
		STORY_BARE(way_by_other_rail_tells_primary),
		STORY_BARE(way_of_answer_is_that_of_request),
		STORY_BARE(way_to_too_many_peers_is_refused),
		STORY_BARE(sends_are_counted_by_outcome),
		STORY_BARE(shutdown_with_full_queues_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
