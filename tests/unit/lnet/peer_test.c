/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnet/story.h"

#define RAILS                                                 \
	(M0_LNET_FEAT_NI_STATUS | M0_LNET_FEAT_RTE_DISABLED | \
	 M0_LNET_FEAT_MULTI_RAIL | M0_LNET_FEAT_DISCOVERY)
#define PLAIN (M0_LNET_FEAT_NI_STATUS | M0_LNET_FEAT_RTE_DISABLED)

enum {
	NIS_MAX = 200
};

static struct m0_lnet_ping_ni   nis[NIS_MAX];
static struct m0_lnet_ping_info info;

/** Begins information of a node; its NIDs follow. */
static void tells(uint32_t features, uint32_t seq)
{
	info = (struct m0_lnet_ping_info){
		.lpi_features = features,
		.lpi_pid = M0_LNET_PID_LUSTRE,
		.lpi_seq = seq,
		.lpi_nis = nis,
		.lpi_nis_max = NIS_MAX,
	};
}

static void tells_nid(const char *nid, bool up)
{
	nis[info.lpi_nis_nr].lpg_nid = pair_nid(nid);
	nis[info.lpi_nis_nr++].lpg_up = up;
}

/** Something comes from `nid` by `hop`. */
static struct m0_lnet_nid heard(const char *nid, const char *hop)
{
	struct m0_lnet_nid from = pair_nid(nid);
	struct m0_lnet_nid by = pair_nid(hop);
	struct m0_lnet_nid primary;

	(void)m0_lnet__peer_received(one->pno_engine, &from, &by, &primary);
	return primary;
}

/** `nid` tells `info` of itself. */
static void learn(const char *nid)
{
	(void)heard(nid, nid);
	assert_int_equal(m0_lnet__peer_learn(one->pno_engine, lpni_of(one, nid),
					     &info),
			 0);
}

static bool same(const char *left, const char *right)
{
	struct m0_lnet_nid a = pair_nid(left);
	struct m0_lnet_nid b = pair_nid(right);

	return m0_lnet__peer_same(one->pno_engine, &a, &b);
}

static unsigned peers_nr(void)
{
	assert_int_equal(m0_list_length(&one->pno_engine->le_peers),
			 one->pno_engine->le_peers_nr);
	return one->pno_engine->le_peers_nr;
}

/* -- hearing --------------------------------------------------------------- */

/*
 * A sender becomes a peer; this node does not, and neither does a sender behind
 * a router.
 */
static void heard_makes_a_peer_of_the_hop_only(void **state)
{
	struct m0_lnet_nid primary;

	(void)state;
	story_open(1, NULL);
	primary = heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	assert_nid(&primary, "10.0.0.9@tcp");
	assert_int_equal(peers_nr(), 1);
	assert_true(lpni_of(one, "10.0.0.9@tcp")->lpn_known_up);
	primary = heard("10.5.5.5@tcp5", "10.0.0.8@tcp");
	assert_nid(&primary, "10.5.5.5@tcp5");
	assert_int_equal(peers_nr(), 2);
	assert_null(lpni_of(one, "10.5.5.5@tcp5"));
	/* Ours, by mistake or malice. */
	primary = heard("10.0.0.1@tcp", "10.0.0.1@tcp");
	assert_nid(&primary, "10.0.0.1@tcp");
	primary = heard("10.0.0.1@tcp", "0@lo");
	assert_nid(&primary, "10.0.0.1@tcp");
	assert_int_equal(peers_nr(), 2);
	assert_true(same("10.0.0.1@tcp", "10.0.0.1@tcp"));
	assert_false(same("10.0.0.9@tcp", "10.0.0.8@tcp"));
	assert_false(same("10.0.0.9@tcp", "10.0.0.77@tcp"));
}

static bool is_down(const char *nid)
{
	return m0_lnet__lpni_is_down(one->pno_engine, lpni_of(one, nid));
}

/* Down by the driver's word, up again when it speaks. */
static void heard_again_is_up_again(void **state)
{
	(void)state;
	story_open(1, NULL);
	(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	pair_peer_down(one, "10.0.0.9@tcp", -ECONNRESET);
	assert_true(lpni_of(one, "10.0.0.9@tcp")->lpn_known_down);
	(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	assert_false(lpni_of(one, "10.0.0.9@tcp")->lpn_known_down);
	/* One that the peer reports down is, until the peer reports it up. */
	tells(RAILS, 2);
	tells_nid("10.0.0.9@tcp", false);
	assert_int_equal(m0_lnet__peer_learn(one->pno_engine,
					     lpni_of(one, "10.0.0.9@tcp"),
					     &info),
			 0);
	assert_true(is_down("10.0.0.9@tcp"));
	(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	assert_true(is_down("10.0.0.9@tcp"));
	tells(RAILS, 2);
	tells_nid("10.0.0.9@tcp", true);
	assert_int_equal(m0_lnet__peer_learn(one->pno_engine,
					     lpni_of(one, "10.0.0.9@tcp"),
					     &info),
			 0);
	assert_false(is_down("10.0.0.9@tcp"));
	/* Closed in order is neither. */
	pair_peer_down(one, "10.0.0.9@tcp", 0);
	assert_false(lpni_of(one, "10.0.0.9@tcp")->lpn_known_down);
	assert_false(lpni_of(one, "10.0.0.9@tcp")->lpn_known_up);
	/* Nothing is recorded about a peer that is not known. */
	pair_peer_down(one, "10.0.0.10@tcp", -ECONNRESET);
	assert_int_equal(peers_nr(), 1);
}

/* -- bounds ---------------------------------------------------------------- */

/* Any number of strangers, and no more peers than there may be: the one not
 * heard of longest makes room. */
static void strangers_evict_the_oldest(void **state)
{
	char     nid[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	(void)state;
	story_open(1, NULL);
	(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	for (i = 0; i < 1000; ++i) {
		(void)snprintf(nid, sizeof nid, "10.1.%u.%u@tcp", i / 250,
			       i % 250);
		(void)heard(nid, nid);
		if (i < 500)
			(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
		if (i == 499)
			assert_non_null(lpni_of(one, "10.0.0.9@tcp"));
	}
	assert_int_equal(peers_nr(), 64);
	assert_int_equal(m0_hash_nr(&one->pno_engine->le_lpnis), 64);
	assert_null(lpni_of(one, "10.0.0.9@tcp"));
	assert_non_null(lpni_of(one, "10.1.3.249@tcp"));
	assert_int_equal(one->pno_engine->le_stats.ls_drop_no_room, 0);
}

/*
 * Peers in use stay. If all are in use, a stranger gets no record, but its
 * messages are taken.
 */
static void strangers_do_not_evict_who_is_in_use(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	struct m0_lnet_nid        nid = pair_nid("10.0.0.7@tcp");
	struct m0_lnet_nid        other = pair_nid("10.0.0.8@tcp");
	struct m0_lnet_nid        primary;
	struct m0_lnet_lpni      *lpni[2];

	(void)state;
	cfg.lec_peers_max = 2;
	story_open(1, &cfg);
	lpni[0] = m0_lnet__lpni_get(one->pno_engine, &nid);
	lpni[1] = m0_lnet__lpni_get(one->pno_engine, &other);
	primary = heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	assert_nid(&primary, "10.0.0.9@tcp");
	assert_null(lpni_of(one, "10.0.0.9@tcp"));
	assert_int_equal(one->pno_engine->le_stats.ls_drop_no_room, 1);
	m0_lnet__lpni_put(one->pno_engine, lpni[0]);
	(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	assert_non_null(lpni_of(one, "10.0.0.9@tcp"));
	assert_null(lpni_of(one, "10.0.0.7@tcp"));
	assert_non_null(lpni_of(one, "10.0.0.8@tcp"));
	m0_lnet__lpni_put(one->pno_engine, lpni[1]);
}

/* A peer that was sent to a moment ago makes room after those that were not. */
static void peer_sent_to_is_evicted_last(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	struct m0_lnet_lpni      *lpni;

	(void)state;
	cfg.lec_peers_max = 2;
	story_open(1, &cfg);
	(void)heard("10.0.0.7@tcp", "10.0.0.7@tcp");
	(void)heard("10.0.0.8@tcp", "10.0.0.8@tcp");
	lpni = lpni_of(one, "10.0.0.7@tcp");
	m0_lnet__lpni_hold(one->pno_engine, lpni);
	m0_lnet__lpni_put(one->pno_engine, lpni);
	(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	assert_non_null(lpni_of(one, "10.0.0.7@tcp"));
	assert_null(lpni_of(one, "10.0.0.8@tcp"));
}

/* One that tells thousands of NIDs gets no more than its share. */
static void nids_of_a_peer_are_bounded(void **state)
{
	char     nid[M0_LNET_NIDSTR_SIZE];
	unsigned i;
	unsigned k;

	(void)state;
	story_open(1, NULL);
	for (k = 0; k < 10; ++k) {
		tells(RAILS, 2);
		for (i = 0; i < NIS_MAX; ++i) {
			(void)snprintf(nid, sizeof nid, "10.%u.0.%u@tcp", k + 1,
				       i + 1);
			tells_nid(nid, true);
		}
		(void)snprintf(nid, sizeof nid, "10.%u.0.1@tcp", k + 1);
		learn(nid);
		if (k == 0)
			assert_int_equal(nids_nr(peer_of(one, nid)), 64);
	}
	assert_true(m0_hash_nr(&one->pno_engine->le_lpnis) <= 4 * 64);
}

/* -- learning -------------------------------------------------------------- */

/* NIDs that were peers of their own are one; its primary NID is as told. */
static void learned_nids_become_one_peer(void **state)
{
	struct m0_lnet_nid primary;

	(void)state;
	story_open(1, NULL);
	(void)heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	(void)heard("10.0.1.9@tcp", "10.0.1.9@tcp");
	tells(RAILS, 2);
	tells_nid("10.0.0.9@tcp", true);
	tells_nid("10.0.1.9@tcp", false);
	tells_nid("fd77::9@tcp", true);
	/* By another than the primary one. */
	learn("10.0.1.9@tcp");
	assert_int_equal(peers_nr(), 1);
	assert_int_equal(nids_nr(peer_of(one, "fd77::9@tcp")), 3);
	assert_ptr_equal(m0_list_first(&peer_of(one, "fd77::9@tcp")->lpe_lpnis),
			 &lpni_of(one, "10.0.0.9@tcp")->lpn_link);
	assert_true(same("10.0.0.9@tcp", "fd77::9@tcp"));
	assert_true(lpni_of(one, "10.0.1.9@tcp")->lpn_known_down);
	primary = heard("fd77::9@tcp", "fd77::9@tcp");
	assert_nid(&primary, "10.0.0.9@tcp");
	/* Renamed. */
	tells(RAILS, 3);
	tells_nid("fd77::9@tcp", true);
	tells_nid("10.0.0.9@tcp", true);
	learn("10.0.0.9@tcp");
	assert_int_equal(peers_nr(), 1);
	assert_null(lpni_of(one, "10.0.1.9@tcp"));
	primary = heard("10.0.0.9@tcp", "10.0.0.9@tcp");
	assert_nid(&primary, "fd77::9@tcp");
}

/* An NID that it has no more, but that is being sent to, is on its own. */
static void learned_loss_of_nid_in_use_splits_it_off(void **state)
{
	struct m0_lnet_nid   nid = pair_nid("10.0.1.9@tcp");
	struct m0_lnet_lpni *lpni;

	(void)state;
	story_open(1, NULL);
	tells(RAILS, 2);
	tells_nid("10.0.0.9@tcp", true);
	tells_nid("10.0.1.9@tcp", true);
	learn("10.0.0.9@tcp");
	lpni = m0_lnet__lpni_get(one->pno_engine, &nid);
	tells(RAILS, 3);
	tells_nid("10.0.0.9@tcp", true);
	learn("10.0.0.9@tcp");
	assert_int_equal(peers_nr(), 2);
	assert_ptr_equal(lpni_of(one, "10.0.1.9@tcp"), lpni);
	assert_nid(&lpni->lpn_peer->lpe_primary, "10.0.1.9@tcp");
	m0_lnet__lpni_put(one->pno_engine, lpni);
}

/* Not Multi-Rail, or not with discovery, or not its own NID told: one NID. */
static void learned_from_plain_node_changes_nothing(void **state)
{
	static const uint32_t features[] = {
		PLAIN,
		PLAIN | M0_LNET_FEAT_MULTI_RAIL,
		PLAIN | M0_LNET_FEAT_DISCOVERY,
	};
	unsigned i;

	(void)state;
	story_open(1, NULL);
	for (i = 0; i < ARRAY_SIZE(features); ++i) {
		tells(features[i], 2);
		tells_nid("10.0.0.9@tcp", true);
		tells_nid("10.0.1.9@tcp", true);
		learn("10.0.0.9@tcp");
		assert_int_equal(nids_nr(peer_of(one, "10.0.0.9@tcp")), 1);
		assert_null(lpni_of(one, "10.0.1.9@tcp"));
	}
	assert_int_equal(peer_of(one, "10.0.0.9@tcp")->lpe_state, 0);
	/* Pinged by an NID that it does not tell. */
	tells(RAILS, 2);
	tells_nid("10.0.2.9@tcp", true);
	tells_nid("10.0.1.9@tcp", true);
	learn("10.0.0.9@tcp");
	assert_int_equal(peers_nr(), 1);
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.9@tcp")), 1);
	/* With discovery off here, too. */
	(void)story_end(NULL);
	{
		struct m0_lnet_engine_cfg cfg = cfg_plain();

		story_open(1, &cfg);
		tells(RAILS, 2);
		tells_nid("10.0.0.9@tcp", false);
		tells_nid("10.0.1.9@tcp", true);
		learn("10.0.0.9@tcp");
		assert_int_equal(peers_nr(), 1);
		assert_null(lpni_of(one, "10.0.1.9@tcp"));
		assert_true(lpni_of(one, "10.0.0.9@tcp")->lpn_known_down);
	}
}

/* Was Multi-Rail, is not any more: each NID for itself. */
static void learned_end_of_rails_splits_the_peer(void **state)
{
	(void)state;
	story_open(1, NULL);
	tells(RAILS, 2);
	tells_nid("10.0.0.9@tcp", true);
	tells_nid("10.0.1.9@tcp", true);
	learn("10.0.0.9@tcp");
	tells(PLAIN, 3);
	tells_nid("10.0.0.9@tcp", true);
	tells_nid("10.0.1.9@tcp", true);
	learn("10.0.1.9@tcp");
	assert_int_equal(nids_nr(peer_of(one, "10.0.1.9@tcp")), 1);
	assert_null(lpni_of(one, "10.0.0.9@tcp"));
	assert_nid(&peer_of(one, "10.0.1.9@tcp")->lpe_primary, "10.0.1.9@tcp");
	assert_int_equal(peer_of(one, "10.0.1.9@tcp")->lpe_state,
			 M0_LNET_PEER_NO_DISCOVERY);
}

/* NIDs of ours, and of peers that are known to have them, cannot be taken. */
static void learned_nids_of_others_are_not_taken(void **state)
{
	(void)state;
	story_open(1, NULL);
	tells(RAILS, 2);
	tells_nid("10.0.0.8@tcp", true);
	tells_nid("10.0.1.8@tcp", true);
	learn("10.0.0.8@tcp");
	peer_of(one, "10.0.0.8@tcp")->lpe_state |= M0_LNET_PEER_NIDS_UPTODATE;
	tells(RAILS, 2);
	tells_nid("10.0.0.9@tcp", true);
	tells_nid("10.0.1.8@tcp", true);
	tells_nid("10.0.0.1@tcp", true);
	learn("10.0.0.9@tcp");
	assert_false(same("10.0.0.9@tcp", "10.0.1.8@tcp"));
	assert_null(lpni_of(one, "10.0.0.1@tcp"));
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.9@tcp")), 1);
	/* Ours as the primary one: neither. */
	tells(RAILS, 3);
	tells_nid("10.0.0.1@tcp", true);
	tells_nid("10.0.0.9@tcp", true);
	learn("10.0.0.9@tcp");
	assert_nid(&peer_of(one, "10.0.0.9@tcp")->lpe_primary, "10.0.0.9@tcp");
	/* When the other is not known to be as it was, they can. */
	peer_of(one, "10.0.0.8@tcp")->lpe_state &=
		~(uint32_t)M0_LNET_PEER_NIDS_UPTODATE;
	tells(RAILS, 4);
	tells_nid("10.0.0.9@tcp", true);
	tells_nid("10.0.1.8@tcp", true);
	learn("10.0.0.9@tcp");
	assert_true(same("10.0.0.9@tcp", "10.0.1.8@tcp"));
	assert_int_equal(nids_nr(peer_of(one, "10.0.0.8@tcp")), 1);
}

/* A lower sequence number is that of another life, which knows nothing. */
static void learned_lower_sequence_forgets_what_was_told(void **state)
{
	(void)state;
	story_open(1, NULL);
	tells(RAILS, 9);
	tells_nid("10.0.0.9@tcp", true);
	learn("10.0.0.9@tcp");
	peer_of(one, "10.0.0.9@tcp")->lpe_seq_pushed = 2;
	tells(RAILS, 10);
	tells_nid("10.0.0.9@tcp", true);
	learn("10.0.0.9@tcp");
	assert_int_equal(peer_of(one, "10.0.0.9@tcp")->lpe_seq_pushed, 2);
	tells(RAILS, 2);
	tells_nid("10.0.0.9@tcp", true);
	learn("10.0.0.9@tcp");
	assert_int_equal(peer_of(one, "10.0.0.9@tcp")->lpe_seq_pushed, 0);
}

/* Peers with messages and probes waiting are merged, and those go on. */
static void merged_peers_messages_and_probes_go_on(void **state)
{
	struct m0_lnet_probe probe = {
		.pr_kind = M0_LNET_DISCOVER,
		.pr_nid = pair_nid("10.0.1.9@tcp"),
		.pr_self = m0_lnet_nid_any,
		.pr_force = false,
		.pr_timeout_ms = 1000,
	};

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	put_to(one, "10.0.1.9@tcp", 8);
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), 1);
	tells(RAILS, 2);
	tells_nid("10.0.1.9@tcp", true);
	tells_nid("10.0.0.9@tcp", true);
	learn("10.0.0.9@tcp");
	pair_run(pair, 10);
	assert_int_equal(peers_nr(), 1);
	assert_int_equal(send_status(one, 0), 0);
	/* The probe joined the discovery of whom it is now. */
	assert_int_equal(one->pno_probes_done_nr, 0);
	pair_run(pair, 1000);
	assert_int_equal(one->pno_probes_done_nr, 1);
	assert_int_equal(probe.pr_status, -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(heard_makes_a_peer_of_the_hop_only),
		STORY_BARE(heard_again_is_up_again),
		STORY_BARE(strangers_evict_the_oldest),
		STORY_BARE(strangers_do_not_evict_who_is_in_use),
		STORY_BARE(peer_sent_to_is_evicted_last),
		STORY_BARE(nids_of_a_peer_are_bounded),
		STORY_BARE(learned_nids_become_one_peer),
		STORY_BARE(learned_loss_of_nid_in_use_splits_it_off),
		STORY_BARE(learned_from_plain_node_changes_nothing),
		STORY_BARE(learned_end_of_rails_splits_the_peer),
		STORY_BARE(learned_nids_of_others_are_not_taken),
		STORY_BARE(learned_lower_sequence_forgets_what_was_told),
		STORY_BARE(merged_peers_messages_and_probes_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
