/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Health: what it loses and gains, what selection does with it, and recovery. */
#include "unit/lnet/rails.h"

/* -- values ---------------------------------------------------------------- */

static void sensitivity_is_what_health_loses_and_gains(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_health.lhe_sensitivity = 300;
	cfg.lec_health.lhe_retries = 0;
	rails_open(&cfg, CLIENT1, SERVER1 " " SERVER2);
	(void)route_try_add(0, "tcp7", SERVER1, 0, 0);
	pair_settle(pair);
	sink_post(two);
	fail_next(5, M0_LND_NETWORK_TIMEOUT);
	put_to(one, SERVER1, 8);
	put_to(one, SERVER1, 8);
	assert_int_equal(ni_health(CLIENT1), 1000);
	pair_pass(pair, 1);
	assert_int_equal(ni_health(CLIENT1), 400);
	assert_int_equal(nid_health(SERVER1), 400);
	fail_next(0, M0_LND_OK);
	/* A message that leaves raises the NI, not the NID. */
	pair->pai_hook = all_lost;
	put_to(one, SERVER1, 8);
	pair_pass(pair, 1);
	assert_int_equal(ni_health(CLIENT1), 700);
	assert_int_equal(nid_health(SERVER1), 400);
	pair->pai_hook = NULL;
	/* A message that comes raises both; a gateway to the maximum. */
	pair_put(two, pair_md_bind(two, bytes_out, 8, 1, 0), CLIENT1, PORTAL,
		 BITS, false);
	pair_settle(pair);
	assert_int_equal(ni_health(CLIENT1), 1000);
	assert_int_equal(nid_health(SERVER1), 1000);
}

static void health_stays_between_its_bounds(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	unsigned                  i;

	(void)state;
	cfg.lec_health.lhe_sensitivity = 400;
	open_two(&cfg);
	fail_next(UINT32_MAX, M0_LND_NETWORK_TIMEOUT);
	for (i = 0; i < 12; ++i) {
		put_to(one, SERVER1, 8);
		pair_settle(pair);
	}
	assert_int_equal(lost_here(), 2000);
	assert_int_equal(lost_there(), 2000);
}

static void answer_that_never_comes_costs_the_next_hop(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_transaction_timeout_ns = M0_TIME_ONE_SECOND;
	open_two(&cfg);
	pair->pai_hook = all_lost;
	pair_get(one, pair_md_bind(one, bytes_in, 8, 2, 0), SERVER1, PORTAL,
		 BITS);
	pair_settle(pair);
	assert_int_equal(lost_there(), 0);
	pair_run(pair, 1010);
	assert_int_equal(stats_of(one)->ls_response_timeout_count, 1);
	assert_int_equal(lost_there(), 100);
}

static enum pair_act pings_are_lost(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_hdr.lhd_portal == M0_LNET_PORTAL_RESERVED ? PAIR_DROP
								    : PAIR_PASS;
}

/* The memory of the message may name the NID that another message went to. */
static void operation_without_a_hop_costs_none(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	struct m0_list_link      *first;

	(void)state;
	cfg.lec_transaction_timeout_ns = 2 * M0_TIME_ONE_SECOND;
	open_two(&cfg);
	pair->pai_hook = pings_are_lost;
	m0_lnet__peer_outdate(one->pno_engine, peer_of(one, SERVER1));
	pair_put(one, pair_md_bind(one, bytes_out, 8, 2, 0), SERVER1, PORTAL,
		 BITS, true);
	pair_settle(pair);
	first = m0_list_first(&peer_of(one, SERVER1)->lpe_waiting);
	assert_non_null(first);
	assert_true(m0_lnet_nid_is_any(
		&m0_list_entry(first, struct m0_lnet_msg, msg_tx.mtx_link)
			 ->msg_tx.mtx_lnd.ltx_nid));
	pair_run(pair, 2010);
	assert_int_equal(stats_of(one)->ls_response_timeout_count, 1);
	assert_int_equal(lost_there(), 0);
}

static void interface_without_health_is_reported_down(void **state)
{
	struct m0_lnet_info *info;
	struct m0_lnet_nid   nid = pair_nid(CLIENT2);
	struct m0_lnet_ni   *ni;

	(void)state;
	open_two(NULL);
	ni = m0_lnet__ni_find(one->pno_engine, &nid);
	m0_lnet__health_ni_set(ni, 0);
	pair_settle(pair);
	assert_int_equal(m0_lnet_engine_info(one->pno_engine, &info), 0);
	assert_true(info->li_nis[1].nii_up);
	assert_false(info->li_nis[2].nii_up);
	/* Its link is as it was. */
	assert_true(info->li_nis[2].nii_link_up);
	m0_free(info);
	/* The server was told. */
	assert_true(lpni_of(two, CLIENT2)->lpn_reported_down);
	/* The NI is well again only at the maximum. */
	m0_lnet__health_ni_set(ni, 999);
	pair_settle(pair);
	assert_true(ni->lni_is_sick);
	m0_lnet__health_ni_set(ni, M0_LNET_HEALTH_MAX);
	pair_settle(pair);
	assert_false(ni->lni_is_sick);
	assert_int_equal(one->pno_engine->le_sick.lsk_nr, 0);
}

static void healthier_interface_and_nid_are_taken(void **state)
{
	unsigned i;

	(void)state;
	open_two(NULL);
	sink_post(two);
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER1), 999);
	for (i = 0; i < 4; ++i) {
		put_to(one, SERVER1, 8);
		pair_settle(pair);
		assert_nid(&pair_frame(pair, 0, M0_LNET_PUT,
				       pair_frames_nr(pair, 0, M0_LNET_PUT) - 1)
				    ->pfr_hop,
			   SERVER2);
	}
}

/* The health of the networks of the peer comes before that of the interfaces. */
static void nid_that_is_lost_is_avoided_by_a_sick_interface(void **state)
{
	const struct m0_lnet_nid first = pair_nid(CLIENT1);
	const struct pair_frame *frame;

	(void)state;
	open_two(NULL);
	pair_peer_down(one, SERVER2, -ECONNRESET);
	/* The peer is discovered again. */
	put_to(one, SERVER1, 8);
	pair_settle(pair);
	assert_true(
		m0_lnet__lpni_is_down(one->pno_engine, lpni_of(one, SERVER2)));
	m0_lnet__health_ni_set(m0_lnet__ni_find(one->pno_engine, &first), 900);
	put_to(one, SERVER1, 8);
	pair_settle(pair);
	frame = pair_frame(pair, 0, M0_LNET_PUT,
			   pair_frames_nr(pair, 0, M0_LNET_PUT) - 1);
	assert_nid(&frame->pfr_hop, SERVER1);
}

static void each_message_that_comes_raises_health(void **state)
{
	unsigned i;

	(void)state;
	open_two(NULL);
	sink_post(one);
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER1), 500);
	lpni_of(one, SERVER1)->lpn_tries_nr = 9;
	for (i = 1; i <= 3; ++i) {
		put_from(two, SERVER1, CLIENT1);
		pair_settle(pair);
		assert_int_equal(nid_health(SERVER1), 500 + i * 100);
	}
	assert_int_equal(lpni_of(one, SERVER1)->lpn_tries_nr, 0);
}

/* At the maximum there is no next try. */
static void recovery_is_shown_until_it_ends(void **state)
{
	struct m0_lnet_info *info;
	unsigned             i;

	(void)state;
	open_two(NULL);
	for (i = 0; i < 2; ++i) {
		unsigned health = i == 0 ? 999 : M0_LNET_HEALTH_MAX;

		m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2),
					 health);
		m0_lnet__health_ni_set(container_of(one->pno_ni[1],
						    struct m0_lnet_ni, lni_lnd),
				       health);
		assert_int_equal(m0_lnet_engine_info(one->pno_engine, &info),
				 0);
		assert_int_equal(info->li_nis[1].nii_try_in_ms,
				 i == 0 ? 1000 : 0);
		assert_int_equal(info->li_peers[0].pei_nis[1].pni_try_in_ms,
				 i == 0 ? 1000 : 0);
		m0_free(info);
	}
}

/* A NID that was given up is tried again once it was heard. */
static void nid_that_is_heard_again_is_tried_again(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_health.lhe_limit_ns = 5 * M0_TIME_ONE_SECOND;
	open_two(&cfg);
	sink_post(one);
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2), 100);
	pair->pai_hook = all_lost;
	pair_run(pair, 60000);
	pair->pai_hook = NULL;
	put_from(two, SERVER2, CLIENT2);
	pair_run(pair, 3000);
	assert_true(nid_health(SERVER2) >= 300);
}

/* A router takes whom it hears for well at once. */
static void message_to_be_forwarded_makes_its_hop_well(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_lpni      *lpni;

	(void)state;
	line_open(&cfg);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	lpni = lpni_of(node(1), "10.0.0.1@tcp");
	m0_lnet__health_lpni_set(node(1)->pno_engine, lpni, 500);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(lpni->lpn_health, M0_LNET_HEALTH_MAX);
}

static void loopback_is_always_well(void **state)
{
	(void)state;
	open_two(NULL);
	m0_lnet__health_failed(one->pno_engine->le_lo, NULL,
			       M0_LND_LOCAL_ERROR);
	assert_int_equal(one->pno_engine->le_lo->lni_health,
			 M0_LNET_HEALTH_MAX);
}

/* -- recovery -------------------------------------------------------------- */

static unsigned gets_nr(void)
{
	return pair_frames_nr(pair, 0, M0_LNET_GET);
}

static void sick_nid_is_pinged_until_it_is_well(void **state)
{
	unsigned gets;

	(void)state;
	open_two(NULL);
	gets = gets_nr();
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2), 750);
	pair_run(pair, 900);
	assert_int_equal(gets_nr(), gets);
	pair_run(pair, 200);
	assert_int_equal(gets_nr(), gets + 1);
	/* The ping goes to that NID, not to another of the peer. */
	assert_nid(&pair_frame(pair, 0, M0_LNET_GET, gets)->pfr_hop, SERVER2);
	assert_int_equal(nid_health(SERVER2), 850);
	pair_run(pair, 20000);
	assert_int_equal(nid_health(SERVER2), M0_LNET_HEALTH_MAX);
	assert_int_equal(gets_nr(), gets + 3);
	assert_int_equal(one->pno_engine->le_sick.lsk_nr, 0);
}

static void pings_of_a_silent_nid_become_rare(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	unsigned                  gets;

	(void)state;
	cfg.lec_health.lhe_ping_max_ns = 8 * M0_TIME_ONE_SECOND;
	open_two(&cfg);
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2), 500);
	pair->pai_hook = all_lost;
	/* After 1, 3, 7, 15 seconds, and then every 8. */
	pair_run(pair, 15500);
	assert_int_equal(lpni_of(one, SERVER2)->lpn_tries_nr, 4);
	gets = 4;
	pair_run(pair, 24000);
	assert_int_equal(lpni_of(one, SERVER2)->lpn_tries_nr, gets + 3);
}

static void nid_that_was_never_heard_is_not_pinged(void **state)
{
	(void)state;
	open_two(NULL);
	lpni_of(one, SERVER2)->lpn_alive_at = 0;
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2), 500);
	pair_run(pair, 20000);
	assert_int_equal(lpni_of(one, SERVER2)->lpn_tries_nr, 0);
}

static void recovery_limit_ends_the_pings(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_health.lhe_limit_ns = 5 * M0_TIME_ONE_SECOND;
	open_two(&cfg);
	lpni_of(one, SERVER2)->lpn_alive_at = pair->pai_now;
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2), 500);
	pair->pai_hook = all_lost;
	pair_run(pair, 60000);
	assert_int_equal(lpni_of(one, SERVER2)->lpn_tries_nr, 2);
}

static void interface_recovers_while_its_driver_says_it_is_up(void **state)
{
	struct m0_lnet_nid nid = pair_nid(CLIENT2);
	struct m0_lnet_ni *ni;

	(void)state;
	open_two(NULL);
	ni = m0_lnet__ni_find(one->pno_engine, &nid);
	m0_lnet__health_ni_set(ni, 700);
	ni->lni_lnd.ldn_up = false;
	pair_run(pair, 10000);
	assert_int_equal(ni->lni_health, 700);
	assert_true(ni->lni_tries_nr >= 3);
	ni->lni_lnd.ldn_up = true;
	pair_run(pair, 5500);
	assert_int_equal(ni->lni_health, 800);
	assert_int_equal(ni->lni_tries_nr, 0);
	pair_run(pair, 2000);
	assert_int_equal(ni->lni_health, M0_LNET_HEALTH_MAX);
}

static void node_closes_in_the_middle_of_a_recovery(void **state)
{
	(void)state;
	open_two(NULL);
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2), 500);
	pair->pai_hook = all_held;
	pair_run(pair, 1100);
	assert_non_null(lpni_of(one, SERVER2)->lpn_try);
	pair->pai_hook = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(nid_that_is_lost_is_avoided_by_a_sick_interface),
		STORY_BARE(each_message_that_comes_raises_health),
		STORY_BARE(recovery_is_shown_until_it_ends),
		STORY_BARE(nid_that_is_heard_again_is_tried_again),
		STORY_BARE(message_to_be_forwarded_makes_its_hop_well),
		STORY_BARE(loopback_is_always_well),
		STORY_BARE(sensitivity_is_what_health_loses_and_gains),
		STORY_BARE(health_stays_between_its_bounds),
		STORY_BARE(answer_that_never_comes_costs_the_next_hop),
		STORY_BARE(operation_without_a_hop_costs_none),
		STORY_BARE(interface_without_health_is_reported_down),
		STORY_BARE(healthier_interface_and_nid_are_taken),
		STORY_BARE(sick_nid_is_pinged_until_it_is_well),
		STORY_BARE(pings_of_a_silent_nid_become_rare),
		STORY_BARE(nid_that_was_never_heard_is_not_pinged),
		STORY_BARE(recovery_limit_ends_the_pings),
		STORY_BARE(interface_recovers_while_its_driver_says_it_is_up),
		STORY_BARE(node_closes_in_the_middle_of_a_recovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
