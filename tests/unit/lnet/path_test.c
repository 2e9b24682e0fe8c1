/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A request goes where the one before it went without a search, while nothing
 * that this depends on has changed: each change is noticed by the next request.
 */
#include "unit/lnet/story.h"

/** Which leaves. */
static void sends(const char *self, const char *nid)
{
	put_from(one, self, nid);
	pair_run(pair, 10);
}

/** The last PUT to PORTAL that left went by this way. */
static void assert_way(const char *from, const char *to)
{
	unsigned                 nr = pair_frames_nr(pair, 0, M0_LNET_PUT);
	const struct pair_frame *frame =
		pair_frame(pair, 0, M0_LNET_PUT, nr - 1);

	assert_non_null(frame);
	assert_int_equal(frame->pfr_hdr.lhd_portal, PORTAL);
	assert_nid(&frame->pfr_ni, from);
	assert_nid(&frame->pfr_hop, to);
	assert_nid(&frame->pfr_hdr.lhd_src_nid, from);
	assert_nid(&frame->pfr_hdr.lhd_dest_nid, to);
}

/** The path that is cached; NULLs: none. */
static const struct m0_lnet__path *kept(void)
{
	return &m0_lnet__cache_fresh(one->pno_engine)->lch_path;
}

static bool is_kept(const char *from, const char *to)
{
	const struct m0_lnet__path *path = kept();
	struct m0_lnet_nid          self = pair_nid(from);
	struct m0_lnet_nid          nid = pair_nid(to);

	return path->pth_lpni != NULL &&
	       m0_lnet_nid_eq(&path->pth_lpni->lpn_nid, &nid) &&
	       m0_lnet_nid_eq(&path->pth_ni->lni_lnd.ldn_nid, &self);
}

/* A cached path counts like one that was searched for. */
static void path_kept_is_counted_as_one_found(void **state)
{
	struct m0_lnet_engine_cfg  cfg = cfg_plain();
	const struct m0_lnet_lpni *lpni;
	const struct m0_lnet_ni   *ni;
	unsigned                   i;

	(void)state;
	story_open(2, &cfg);
	for (i = 1; i < 4; ++i) {
		sends("10.0.0.1@tcp", "10.0.0.2@tcp");
		assert_way("10.0.0.1@tcp", "10.0.0.2@tcp");
		assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
		lpni = kept()->pth_lpni;
		ni = kept()->pth_ni;
		assert_int_equal(one->pno_engine->le_used_nr, i);
		assert_int_equal(ni->lni_used_nr, i);
		assert_int_equal(ni->lni_msgs_nr, 0);
		assert_int_equal(ni->lni_traffic.lt_sent.lmc_put, i);
		assert_int_equal(lpni->lpn_used_nr, i);
		assert_int_equal(lpni->lpn_refs_nr, 0);
		assert_int_equal(lpni->lpn_credits, 8);
		assert_int_equal(lpni->lpn_credits_low, 7);
		assert_int_equal(lpni->lpn_traffic.lt_sent.lmc_put, i);
	}
}

static void path_is_of_both_its_ends(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(3, &cfg);
	(void)pair_ni(one, "10.0.0.101@tcp");
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	sends("10.0.0.1@tcp", "10.0.0.3@tcp");
	assert_way("10.0.0.1@tcp", "10.0.0.3@tcp");
	sends("10.0.0.101@tcp", "10.0.0.3@tcp");
	assert_way("10.0.0.101@tcp", "10.0.0.3@tcp");
	sends("10.0.0.101@tcp", "10.0.0.2@tcp");
	assert_way("10.0.0.101@tcp", "10.0.0.2@tcp");
	/* Without a source it is a choice, and another one. */
	put_to(one, "10.0.0.3@tcp", 8);
	pair_run(pair, 10);
	assert_way("10.0.0.1@tcp", "10.0.0.3@tcp");
	assert_true(is_kept("10.0.0.101@tcp", "10.0.0.2@tcp"));
}

static void path_ends_with_our_ni(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(2, &cfg);
	(void)pair_ni(one, "10.0.0.101@tcp");
	sends("10.0.0.101@tcp", "10.0.0.2@tcp");
	assert_int_equal(send_status(one, 0), 0);
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	/* The NI is there still, but not used; then it is gone. */
	assert_false(is_kept("10.0.0.101@tcp", "10.0.0.2@tcp"));
	sends("10.0.0.101@tcp", "10.0.0.2@tcp");
	assert_int_equal(send_status(one, 1), -ENETDOWN);
	assert_null(kept()->pth_lpni);
	sends("10.0.0.101@tcp", "10.0.0.2@tcp");
	assert_int_equal(send_status(one, 2), -EINVAL);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_way("10.0.0.1@tcp", "10.0.0.2@tcp");
}

/* The NID of a peer is ours from now on. */
static void path_to_what_is_ours_now_is_lo(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(2, &cfg);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
	(void)pair_ni(one, "10.0.0.2@tcp");
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(one->pno_engine->le_lo->lni_traffic.lt_sent.lmc_put,
			 1);
}

static void path_ends_with_the_peer(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_peers_max = 1;
	story_open(2, &cfg);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
	/* The peer makes room. */
	put_to(one, "10.0.0.7@tcp", 8);
	assert_null(lpni_of(one, "10.0.0.2@tcp"));
	assert_null(kept()->pth_lpni);
	pair_run(pair, 10);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_way("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(
		lpni_of(one, "10.0.0.2@tcp")->lpn_traffic.lt_sent.lmc_put, 1);
}

/* A peer that must be discovered again is asked first. */
static void path_waits_for_discovery(void **state)
{
	(void)state;
	story_open(2, NULL);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	m0_lnet__peer_outdate(one->pno_engine, peer_of(one, "10.0.0.2@tcp"));
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 2);
	assert_way("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(send_status(one, 2), 0);
}

/* So is one that was not, because this node took no part in discovery. */
static void path_waits_for_discovery_that_is_switched_on(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_discovery = false;
	story_open(2, &cfg);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 0);
	assert_int_equal(m0_lnet_engine_tune(one->pno_engine,
					     M0_LNET_TUNE_DISCOVERY, 1),
			 0);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
}

/* -- generations ----------------------------------------------------------- */

static struct m0_lnd_ni *ni_new;

static void ni_comes(void)
{
	struct m0_lnet_nid nid = pair_nid("10.0.0.50@tcp");

	assert_int_equal(m0_lnet_engine_ni_add(one->pno_engine, &nid, NULL, 1,
					       NULL, &ni_new),
			 0);
}

static void ni_goes_up(void)
{
	m0_lnet_engine_ni_up(one->pno_engine, ni_new);
}

static void ni_stops(void)
{
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
}

static void ni_changes_state(void)
{
	struct m0_lnd_ni *ni = one->pno_ni[2];

	ni->ldn_up = false;
	ni->ldn_ops->lu_ni_status(ni);
}

static void peer_is_lost(void)
{
	struct m0_lnd_ni  *ni = one->pno_ni[1];
	struct m0_lnet_nid nid = pair_nid("10.0.0.2@tcp");

	ni->ldn_ops->lu_peer_down(ni, &nid, M0_LNET_PID_LUSTRE, -ECONNRESET);
}

static void peer_is_evicted(void)
{
	put_to(one, "10.0.0.7@tcp", 8);
	put_to(one, "10.0.0.8@tcp", 8);
}

/** The peer says that 10.0.0.8, known as a peer of its own, is its NID, too;
 * or (seq 3) that it is not any more. */
static void peer_says(uint32_t seq, unsigned nids_nr)
{
	struct m0_lnet_ping_ni nis[] = {
		{ .lpg_nid = pair_nid("10.0.0.2@tcp"), .lpg_up = true },
		{ .lpg_nid = pair_nid("10.0.0.8@tcp"), .lpg_up = true },
	};
	struct m0_lnet_ping_info info = {
		.lpi_features = M0_LNET_FEAT_MULTI_RAIL |
				M0_LNET_FEAT_DISCOVERY,
		.lpi_seq = seq,
		.lpi_nis_nr = nids_nr,
		.lpi_nis_max = 2,
		.lpi_nis = nis,
	};

	assert_int_equal(m0_lnet__peer_learn(one->pno_engine,
					     lpni_of(one, "10.0.0.2@tcp"),
					     &info),
			 0);
}

static void peer_gets_nid(void)
{
	struct m0_lnet_nid nid = pair_nid("10.0.0.8@tcp");

	m0_lnet__lpni_put(one->pno_engine,
			  m0_lnet__lpni_get(one->pno_engine, &nid));
	m0_lnet__cache_fresh(one->pno_engine);
	peer_says(2, 2);
}

static void peer_loses_nid(void)
{
	struct m0_lnet_lpni *lpni = lpni_of(one, "10.0.0.8@tcp");

	assert_non_null(lpni);
	/* In use: it becomes a peer of its own. */
	m0_lnet__lpni_hold(one->pno_engine, lpni);
	peer_says(3, 1);
	m0_lnet__lpni_put(one->pno_engine, lpni);
}

/**
 * After a change of topology the cache is empty: each change counts as a
 * generation.
 */
static void topology_change_empties_the_cache(void **state)
{
	static const struct {
		const char *name;
		void (*change)(void);
	} changes[] = {
		{ "an NI is added", ni_comes },
		{ "an NI goes up", ni_goes_up },
		{ "an NI changes its state", ni_changes_state },
		{ "a peer gets another NID", peer_gets_nid },
		{ "a peer loses a NID", peer_loses_nid },
		{ "a peer is lost", peer_is_lost },
		{ "a peer is evicted", peer_is_evicted },
		{ "an NI stops", ni_stops },
	};
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	struct m0_lnet_engine    *eng;
	struct m0_lnet__path      path;
	unsigned                  i;

	(void)state;
	cfg.lec_peers_max = 2;
	story_open(2, &cfg);
	(void)pair_ni(one, "10.0.0.101@tcp");
	eng = one->pno_engine;
	for (i = 0; i < ARRAY_SIZE(changes); ++i) {
		sends("10.0.0.1@tcp", "10.0.0.2@tcp");
		path = eng->le_cache.lch_path;
		m0_lnet__cache_fresh(eng)->lch_sender = path.pth_lpni;
		assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
		changes[i].change();
		if (m0_lnet__cache_sender(eng) != NULL ||
		    kept()->pth_lpni != NULL)
			fail_msg("%s, and the cache is used", changes[i].name);
		pair_run(pair, 10);
	}
	m0_lnet_engine_ni_del(eng, ni_new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(path_kept_is_counted_as_one_found),
		STORY_BARE(path_is_of_both_its_ends),
		STORY_BARE(path_ends_with_our_ni),
		STORY_BARE(path_to_what_is_ours_now_is_lo),
		STORY_BARE(path_ends_with_the_peer),
		STORY_BARE(path_waits_for_discovery),
		STORY_BARE(path_waits_for_discovery_that_is_switched_on),
		STORY_BARE(topology_change_empties_the_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
