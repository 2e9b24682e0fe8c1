/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request goes where the one before it went without a search, while nothing
 * that this depends on has changed: each change is noticed by the next request.
 */
#include "unit/lnet/way.h"

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

static bool is_kept(const char *from, const char *to)
{
	const struct m0_lnet_engine *eng = one->pno_engine;
	struct m0_lnet_nid           self = pair_nid(from);
	struct m0_lnet_nid           nid = pair_nid(to);

	return eng->le_path_lpni != NULL &&
	       m0_lnet_nid_eq(&eng->le_path_lpni->lpn_nid, &nid) &&
	       m0_lnet_nid_eq(&eng->le_path_ni->lni_lnd.ldn_nid, &self);
}

/* It counts like any other. */
static void path_kept_is_counted_as_one_found(void **state)
{
	struct m0_lnet_engine_cfg  cfg = cfg_plain();
	const struct m0_lnet_lpni *lpni;
	const struct m0_lnet_ni   *ni;
	unsigned                   i;

	(void)state;
	way_open(2, &cfg);
	for (i = 1; i < 4; ++i) {
		sends("10.0.0.1@tcp", "10.0.0.2@tcp");
		assert_way("10.0.0.1@tcp", "10.0.0.2@tcp");
		assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
		lpni = one->pno_engine->le_path_lpni;
		ni = one->pno_engine->le_path_ni;
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
	way_open(3, &cfg);
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
	way_open(2, &cfg);
	(void)pair_ni(one, "10.0.0.101@tcp");
	sends("10.0.0.101@tcp", "10.0.0.2@tcp");
	assert_int_equal(send_status(one, 0), 0);
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	/* It is there still, but not used; then it is gone. */
	assert_true(is_kept("10.0.0.101@tcp", "10.0.0.2@tcp"));
	sends("10.0.0.101@tcp", "10.0.0.2@tcp");
	assert_int_equal(send_status(one, 1), -ENETDOWN);
	assert_null(one->pno_engine->le_path_lpni);
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
	way_open(2, &cfg);
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
	way_open(2, &cfg);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
	/* It makes room. */
	put_to(one, "10.0.0.7@tcp", 8);
	assert_null(lpni_of(one, "10.0.0.2@tcp"));
	assert_null(one->pno_engine->le_path_lpni);
	pair_run(pair, 10);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_way("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(
		lpni_of(one, "10.0.0.2@tcp")->lpn_traffic.lt_sent.lmc_put, 1);
}

/* Of whom not all is known any more, it is asked first. */
static void path_waits_for_discovery(void **state)
{
	(void)state;
	way_open(2, NULL);
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_true(is_kept("10.0.0.1@tcp", "10.0.0.2@tcp"));
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	peer_of(one, "10.0.0.2@tcp")->lpe_state &=
		~(uint32_t)M0_LNET_PEER_NIDS_UPTODATE;
	sends("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 2);
	assert_way("10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_int_equal(send_status(one, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WAY(path_kept_is_counted_as_one_found),
		WAY(path_is_of_both_its_ends),
		WAY(path_ends_with_our_ni),
		WAY(path_to_what_is_ours_now_is_lo),
		WAY(path_ends_with_the_peer),
		WAY(path_waits_for_discovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
