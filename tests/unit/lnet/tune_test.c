/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Tunables that change while the node runs, health that is set, configured peers. */
#include "unit/lnet/rails.h"

static int tune(enum m0_lnet_tunable tunable, uint64_t value)
{
	return m0_lnet_engine_tune(one->pno_engine, tunable, value);
}

static uint64_t tuned(enum m0_lnet_tunable tunable)
{
	uint64_t values[M0_LNET_TUNABLES_NR];

	m0_lnet_engine_tunables(one->pno_engine, values);
	return values[tunable];
}

static void each_tunable_has_its_name_and_range(void **state)
{
	static const struct {
		const char *name;
		uint64_t    start;
		uint64_t    min;
		uint64_t    max;
	} rows[M0_LNET_TUNABLES_NR] = {
		[M0_LNET_TUNE_DISCOVERY] = { "discovery", 1, 0, 1 },
		[M0_LNET_TUNE_DROP_ASYM_ROUTE] = { "drop_asym_route", 0, 0, 1 },
		[M0_LNET_TUNE_RETRY_COUNT] = { "retry_count", 2, 0, 255 },
		[M0_LNET_TUNE_TRANSACTION_TIMEOUT] = { "transaction_timeout",
						       150, 1, 86400 },
		[M0_LNET_TUNE_HEALTH_SENSITIVITY] = { "health_sensitivity", 100,
						      0, 1000 },
		[M0_LNET_TUNE_CUT_THROUGH] = { "cut_through", 0, 0, 1 },
		[M0_LNET_TUNE_SPLICE] = { "splice", 0, 0, 1 },
		[M0_LNET_TUNE_RECOVERY_LIMIT] = { "recovery_limit", 0, 0,
						  86400 },
		[M0_LNET_TUNE_MAX_RECOVERY_PING_INTERVAL] = { "max_recovery_ping_interval",
							      900, 1, 86400 },
	};
	unsigned i;

	(void)state;
	open_two(NULL);
	for (i = 0; i < M0_LNET_TUNABLES_NR; ++i) {
		enum m0_lnet_tunable tunable = (enum m0_lnet_tunable)i;

		assert_string_equal(m0_lnet_tunable_name(tunable),
				    rows[i].name);
		assert_int_equal(tuned(tunable), rows[i].start);
		assert_int_equal(tune(tunable, rows[i].max + 1), -EINVAL);
		if (rows[i].min > 0)
			assert_int_equal(tune(tunable, rows[i].min - 1),
					 -EINVAL);
		assert_int_equal(tuned(tunable), rows[i].start);
	}
	assert_int_equal(tune(M0_LNET_TUNABLES_NR, 0), -EINVAL);
	assert_int_equal(tune(M0_LNET_TUNE_TRANSACTION_TIMEOUT, 86400), 0);
	for (i = 0; i < M0_LNET_TUNABLES_NR; ++i) {
		assert_int_equal(tune((enum m0_lnet_tunable)i, rows[i].max), 0);
		assert_int_equal(tuned((enum m0_lnet_tunable)i), rows[i].max);
	}
}

/* Section 6.1: what retry count, time-out and sensitivity demand of each other. */
static void tunables_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	open_two(NULL);
	assert_int_equal(tune(M0_LNET_TUNE_TRANSACTION_TIMEOUT, 2), -EINVAL);
	assert_int_equal(tune(M0_LNET_TUNE_TRANSACTION_TIMEOUT, 3), 0);
	assert_int_equal(tune(M0_LNET_TUNE_RETRY_COUNT, 3), -EINVAL);
	assert_int_equal(tune(M0_LNET_TUNE_HEALTH_SENSITIVITY, 0), 0);
	assert_int_equal(tuned(M0_LNET_TUNE_RETRY_COUNT), 0);
	assert_int_equal(tune(M0_LNET_TUNE_RETRY_COUNT, 1), -EINVAL);
	assert_int_equal(tune(M0_LNET_TUNE_RETRY_COUNT, 0), 0);
}

static void tunables_take_effect(void **state)
{
	(void)state;
	open_two(NULL);
	assert_int_equal(tune(M0_LNET_TUNE_HEALTH_SENSITIVITY, 30), 0);
	assert_int_equal(tune(M0_LNET_TUNE_RETRY_COUNT, 0), 0);
	fail_next(1, M0_LND_LOCAL_DROPPED);
	put_to(one, SERVER1, 8);
	pair_settle(pair);
	assert_int_equal(lost_here(), 30);
	assert_int_equal(send_status(one, 0), -EIO);
	assert_int_equal(tune(M0_LNET_TUNE_TRANSACTION_TIMEOUT, 7), 0);
	pair->pai_hook = all_lost;
	pair_get(one, pair_md_bind(one, bytes_in, 8, 2, 0), SERVER1, PORTAL,
		 BITS);
	pair_run(pair, 6900);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 0);
	pair_run(pair, 200);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
}

static void peers_are_told_that_discovery_is_off(void **state)
{
	(void)state;
	open_two(NULL);
	assert_int_equal(tune(M0_LNET_TUNE_DISCOVERY, 0), 0);
	pair_settle(pair);
	assert_int_equal(m0_lnet__ping_features(one->pno_engine) &
				 M0_LNET_FEAT_DISCOVERY,
			 0);
	assert_int_equal(tuned(M0_LNET_TUNE_DISCOVERY), 0);
}

static unsigned health(enum m0_lnet_health_of of, const char *nid, unsigned to)
{
	struct m0_lnet_nid want = nid == NULL ? m0_lnet_nid_any : pair_nid(nid);

	return m0_lnet_engine_health_set(one->pno_engine, of, &want, to);
}

static void health_is_set_of_one_and_of_all(void **state)
{
	(void)state;
	open_two(NULL);
	assert_int_equal(health(M0_LNET_HEALTH_OF_NIS, CLIENT2, 10), 1);
	assert_int_equal(ni_health(CLIENT1), M0_LNET_HEALTH_MAX);
	assert_int_equal(ni_health(CLIENT2), 10);
	assert_int_equal(health(M0_LNET_HEALTH_OF_NIS, NULL, 20), 2);
	assert_int_equal(lost_here(), 1960);
	assert_int_equal(health(M0_LNET_HEALTH_OF_NIS, SERVER1, 30), 0);
	assert_int_equal(health(M0_LNET_HEALTH_OF_PEERS, SERVER1, 30), 1);
	assert_int_equal(lost_there(), 970);
	assert_int_equal(health(M0_LNET_HEALTH_OF_PEERS, NULL, 1000), 2);
	assert_int_equal(lost_there(), 0);
}

/* -- peers ----------------------------------------------------------------- */

static int peer_add(const char *primary, const char *first, const char *second,
		    bool multi_rail)
{
	struct m0_lnet_nid nid = pair_nid(primary);
	struct m0_lnet_nid more[2];
	unsigned           nr = 0;

	if (first != NULL)
		more[nr++] = pair_nid(first);
	if (second != NULL)
		more[nr++] = pair_nid(second);
	return m0_lnet_engine_peer_add(one->pno_engine, &nid, more, nr,
				       multi_rail);
}

static int peer_del(const char *primary, const char *first)
{
	struct m0_lnet_nid nid = pair_nid(primary);
	struct m0_lnet_nid more = first == NULL ? m0_lnet_nid_any
						: pair_nid(first);

	return m0_lnet_engine_peer_del(one->pno_engine, &nid, &more,
				       first != NULL);
}

static void plain_open(void)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	failures_reset();
	routed_open(2, &cfg);
	nids(0, CLIENT1 " " CLIENT2);
	nids(1, SERVER1 " " SERVER2);
}

static void peer_that_is_told_of_has_its_nids(void **state)
{
	struct m0_lnet_peer *peer;
	unsigned             i;

	(void)state;
	plain_open();
	assert_int_equal(peer_add(SERVER2, SERVER1, NULL, true), 0);
	peer = peer_of(one, SERVER1);
	assert_nid(&peer->lpe_primary, SERVER2);
	assert_int_equal(nids_nr(peer), 2);
	assert_int_equal(peer->lpe_state,
			 M0_LNET_PEER_MULTI_RAIL | M0_LNET_PEER_CONFIGURED);
	/* Both NIDs are used. */
	sink_post(two);
	for (i = 0; i < 4; ++i)
		put_to(one, SERVER2, 8);
	pair_settle(pair);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 4);
	assert_int_equal(lpni_of(one, SERVER1)->lpn_traffic.lt_sent.lmc_put, 2);
}

static void peer_that_is_told_of_takes_over_what_was_known(void **state)
{
	(void)state;
	plain_open();
	put_to(one, SERVER1, 8);
	put_to(one, SERVER2, 8);
	pair_settle(pair);
	assert_true(peer_of(one, SERVER1) != peer_of(one, SERVER2));
	assert_int_equal(peer_add(SERVER1, NULL, NULL, false), 0);
	assert_int_equal(peer_add(SERVER1, SERVER2, NULL, true), 0);
	assert_ptr_equal(peer_of(one, SERVER1), peer_of(one, SERVER2));
	assert_nid(&peer_of(one, SERVER2)->lpe_primary, SERVER1);
}

static void peers_that_cannot_be_are_refused(void **state)
{
	(void)state;
	plain_open();
	assert_int_equal(peer_add(CLIENT1, NULL, NULL, true), -EINVAL);
	assert_int_equal(peer_add("0@lo", NULL, NULL, true), -EINVAL);
	assert_int_equal(peer_add(SERVER1, CLIENT2, NULL, true), -EINVAL);
	assert_null(lpni_of(one, SERVER1));
	assert_int_equal(peer_add(SERVER1, SERVER2, NULL, true), 0);
	assert_int_equal(peer_add(STRANGER, SERVER2, NULL, true), -EEXIST);
	assert_int_equal(peer_add(SERVER2, NULL, NULL, true), -EEXIST);
	assert_null(lpni_of(one, STRANGER));
}

static void peer_or_a_nid_of_it_is_forgotten(void **state)
{
	(void)state;
	plain_open();
	assert_int_equal(peer_del(SERVER1, NULL), -ENOENT);
	assert_int_equal(peer_add(SERVER1, SERVER2, STRANGER, true), 0);
	assert_int_equal(peer_del(SERVER2, NULL), -ENOENT);
	assert_int_equal(peer_del(SERVER1, SERVER1), -EINVAL);
	assert_int_equal(peer_del(SERVER1, "10.0.0.77@tcp"), -ENOENT);
	assert_int_equal(peer_del(SERVER1, SERVER2), 0);
	assert_int_equal(nids_nr(peer_of(one, SERVER1)), 2);
	assert_null(lpni_of(one, SERVER2));
	assert_int_equal(peer_del(SERVER1, NULL), 0);
	assert_null(lpni_of(one, SERVER1));
	assert_null(lpni_of(one, STRANGER));
}

static void peer_in_use_is_not_forgotten(void **state)
{
	(void)state;
	plain_open();
	assert_int_equal(peer_add(SERVER1, SERVER2, NULL, true), 0);
	route(0, "tcp7", SERVER2);
	assert_int_equal(peer_del(SERVER1, SERVER2), -EBUSY);
	assert_int_equal(peer_del(SERVER1, NULL), -EBUSY);
	assert_int_equal(peer_of(one, SERVER1)->lpe_state &
				 M0_LNET_PEER_CONFIGURED,
			 M0_LNET_PEER_CONFIGURED);
}

static void discovery_leaves_the_nids_of_such_a_peer(void **state)
{
	(void)state;
	failures_reset();
	routed_open(2, NULL);
	nids(0, CLIENT1 " " CLIENT2);
	nids(1, SERVER1 " " SERVER2);
	assert_int_equal(peer_add(SERVER1, STRANGER, NULL, true), 0);
	put_to(one, SERVER1, 8);
	pair_settle(pair);
	assert_int_equal(nids_nr(peer_of(one, SERVER1)), 2);
	assert_ptr_equal(peer_of(one, STRANGER), peer_of(one, SERVER1));
	assert_true(peer_of(one, SERVER2) != peer_of(one, SERVER1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(each_tunable_has_its_name_and_range),
		STORY_BARE(tunables_that_do_not_fit_are_refused),
		STORY_BARE(tunables_take_effect),
		STORY_BARE(peers_are_told_that_discovery_is_off),
		STORY_BARE(health_is_set_of_one_and_of_all),
		STORY_BARE(peer_that_is_told_of_has_its_nids),
		STORY_BARE(peer_that_is_told_of_takes_over_what_was_known),
		STORY_BARE(peers_that_cannot_be_are_refused),
		STORY_BARE(peer_or_a_nid_of_it_is_forgotten),
		STORY_BARE(peer_in_use_is_not_forgotten),
		STORY_BARE(discovery_leaves_the_nids_of_such_a_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
