/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Paths that the rules of selection prefer, and what they fall back to. */
#include "unit/lnet/policed.h"

#include "lnet/health/health.h"

#define A1 "10.0.0.1@tcp"
#define A2 "10.0.0.101@tcp"
#define B1 "10.0.0.2@tcp"
#define B2 "10.0.0.102@tcp"

/** Both nodes have two NIDs, of one network; they know each other. */
static void square_open(bool multi_rail)
{
	struct m0_lnet_engine_cfg cfg = multi_rail ? pair_cfg() : cfg_plain();

	routed_open(2, &cfg);
	nids(0, A1 " " A2);
	nids(1, B1 " " B2);
	put_to(one, B1, 8);
	pair_settle(pair);
}

static void without_rules_all_paths_take_turns(void **state)
{
	(void)state;
	square_open(true);
	assert_int_equal(went(8, B1, A1, NULL), 4);
	assert_int_equal(went(8, B1, NULL, B1), 4);
}

static void interface_of_the_best_priority_is_taken(void **state)
{
	(void)state;
	square_open(true);
	rule(A1, NULL, NULL, "5", NULL);
	assert_int_equal(went(8, B1, A1, NULL), 8);
	assert_int_equal(went(8, B1, NULL, B1), 4);
	rule(A2, NULL, NULL, "4", NULL);
	assert_int_equal(went(8, B1, A2, NULL), 8);
	rule_del(1);
	assert_int_equal(went(8, B1, A1, NULL), 8);
	rule_del(0);
	assert_int_equal(went(8, B1, A1, NULL), 4);
}

/* Health counts before rules: the other one is taken, and then again this. */
static void interface_that_is_sick_or_down_is_not_preferred(void **state)
{
	struct m0_lnet_nid nid = pair_nid(A1);

	(void)state;
	square_open(true);
	rule(A1, NULL, NULL, "0", NULL);
	assert_int_equal(went(4, B1, A1, NULL), 4);
	m0_lnet_engine_health_set(one->pno_engine, M0_LNET_HEALTH_OF_NIS, &nid,
				  M0_LNET_HEALTH_MAX - 1);
	assert_int_equal(went(4, B1, A2, NULL), 4);
	m0_lnet_engine_health_set(one->pno_engine, M0_LNET_HEALTH_OF_NIS, &nid,
				  M0_LNET_HEALTH_MAX);
	assert_int_equal(went(4, B1, A1, NULL), 4);
	one->pno_ni[1]->ldn_up = false;
	m0_lnet__up_ops.lu_ni_status(one->pno_ni[1]);
	assert_int_equal(went(4, B1, A2, NULL), 4);
	one->pno_ni[1]->ldn_up = true;
	m0_lnet__up_ops.lu_ni_status(one->pno_ni[1]);
	pair_settle(pair);
	assert_int_equal(went(4, B1, A1, NULL), 4);
}

static void nid_of_the_best_priority_is_taken(void **state)
{
	(void)state;
	square_open(true);
	rule(NULL, B2, NULL, NULL, NULL);
	assert_int_equal(went(8, B1, NULL, B2), 8);
	assert_int_equal(went(8, B1, A1, NULL), 4);
	/* Lower indices count first. */
	rule(NULL, "10.0.0.[2,102]@tcp", NULL, "3", "0");
	assert_int_equal(went(8, B1, NULL, B2), 4);
	pair_peer_down(one, B2, -ECONNRESET);
	rule(NULL, B2, NULL, "1", "0");
	assert_int_equal(went(2, B1, NULL, B1), 2);
}

static void source_is_preferred_for_the_nids_of_its_rule(void **state)
{
	(void)state;
	square_open(true);
	rule(A2, B1, NULL, NULL, NULL);
	rule(A1, B2, NULL, NULL, NULL);
	assert_int_equal(went(8, B1, A2, B1) + went(8, B1, A1, B2), 8);
	assert_int_equal(went(8, B1, A1, B1) + went(8, B1, A2, B2), 0);
}

/* A peer that knows this node by one NID gets the preferred one, as soon as there
 * is the rule. */
static void source_is_preferred_for_a_single_rail(void **state)
{
	(void)state;
	square_open(false);
	assert_int_equal(went(4, B1, A1, B1), 4);
	rule(A2, B1, NULL, NULL, NULL);
	assert_int_equal(went(4, B1, A2, B1), 4);
	rule_del(0);
	assert_int_equal(went(4, B1, NULL, B1), 4);
}

static void priority_of_an_interface_counts_for_a_single_rail(void **state)
{
	(void)state;
	square_open(false);
	assert_int_equal(went(4, B1, A1, B1), 4);
	rule(A2, NULL, NULL, "0", NULL);
	assert_int_equal(went(4, B1, A2, B1), 4);
	rule(A1, NULL, NULL, "0", "0");
	rule_del(1);
	assert_int_equal(went(4, B1, A1, B1), 4);
}

/* Two networks that reach the peer. */
static void network_of_the_best_priority_is_taken(void **state)
{
	(void)state;
	routed_open(2, NULL);
	nids(0, A1 " 10.1.0.1@tcp1");
	nids(1, B1 " 10.1.0.2@tcp1");
	put_to(one, B1, 8);
	pair_settle(pair);
	assert_int_equal(went(8, B1, A1, NULL), 4);
	rule("tcp1", NULL, NULL, "1", NULL);
	assert_int_equal(went(8, B1, "10.1.0.1@tcp1", NULL), 8);
	rule("tcp", NULL, NULL, "0", NULL);
	assert_int_equal(went(8, B1, A1, NULL), 8);
	/* The network of the peer counts first. */
	rule(NULL, "tcp1", NULL, NULL, NULL);
	assert_int_equal(went(8, B1, "10.1.0.1@tcp1", NULL), 8);
	rule_del(2);
	/* The interface counts after its network. */
	rule("10.1.0.1@tcp1", NULL, NULL, "0", "0");
	assert_int_equal(went(8, B1, A1, NULL), 8);
}

static void gateway_is_preferred_over_the_priority_of_routes(void **state)
{
	(void)state;
	diamond_route(1, 1, 5, 7);
	assert_int_equal(went(4, "10.1.0.4@tcp1", NULL, "10.0.0.2@tcp"), 4);
	rule(NULL, "10.1.0.4@tcp1", "10.0.0.3@tcp", NULL, NULL);
	assert_int_equal(went(4, "10.1.0.4@tcp1", NULL, "10.0.0.3@tcp"), 4);
	/* The gateway is lost, and returns. */
	pair_peer_down(one, "10.0.0.3@tcp", -ECONNRESET);
	assert_int_equal(went(4, "10.1.0.4@tcp1", NULL, "10.0.0.2@tcp"), 4);
	pair_run(pair, 61000);
	assert_int_equal(went(4, "10.1.0.4@tcp1", NULL, "10.0.0.3@tcp"), 4);
	rule_del(0);
	assert_int_equal(went(4, "10.1.0.4@tcp1", NULL, "10.0.0.2@tcp"), 4);
}

/* -- words ----------------------------------------------------------------- */

static const char *lost_by(const char *nid, const char *ni, const char *hop)
{
	struct m0_lnet__trial  list[16];
	struct m0_lnet__trials trials = { .tls_trials = list,
					  .tls_max = ARRAY_SIZE(list) };
	struct m0_lnet_nid     from = pair_nid(ni);
	struct m0_lnet_nid     to = pair_nid(hop);
	unsigned               i;

	(void)m0_lnet__select(
		one->pno_engine,
		&(struct m0_lnet__want){ .wnt_peer = peer_of(one, nid),
					 .wnt_trials = &trials });
	for (i = 0; i < trials.tls_nr; ++i)
		if (m0_lnet_nid_eq(&list[i].trl_path.pth_ni->lni_lnd.ldn_nid,
				   &from) &&
		    m0_lnet_nid_eq(&list[i].trl_path.pth_lpni->lpn_nid, &to))
			return list[i].trl_lost_by != NULL ? list[i].trl_lost_by
							   : "won";
	return "not tried";
}

static void path_that_lost_by_a_rule_says_so(void **state)
{
	(void)state;
	square_open(true);
	rule(A2, B1, NULL, NULL, NULL);
	assert_string_equal(lost_by(B1, A2, B1), "won");
	assert_string_equal(lost_by(B1, A1, B1),
			    "a rule prefers another interface for the NID");
	rule(A1, NULL, NULL, "0", NULL);
	assert_string_equal(lost_by(B1, A2, B1),
			    "a rule gives another interface or its network a "
			    "better priority");
	rule(NULL, B2, NULL, "0", NULL);
	assert_string_equal(lost_by(B1, A1, B1),
			    "a rule gives another NID a better priority");
	assert_string_equal(lost_by(B1, A1, B2), "won");
}

static void gateway_that_lost_by_a_rule_says_so(void **state)
{
	(void)state;
	diamond_route(0, 0, 0, 0);
	put_to(one, "10.1.0.4@tcp1", 8);
	pair_settle(pair);
	rule(NULL, "10.1.0.4@tcp1", "10.0.0.3@tcp", NULL, NULL);
	assert_string_equal(
		lost_by("10.1.0.4@tcp1", A1, "10.0.0.2@tcp"),
		"a rule prefers another gateway for the destination");
	assert_string_equal(lost_by("10.1.0.4@tcp1", A1, "10.0.0.3@tcp"),
			    "won");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(without_rules_all_paths_take_turns),
		STORY_BARE(interface_of_the_best_priority_is_taken),
		STORY_BARE(interface_that_is_sick_or_down_is_not_preferred),
		STORY_BARE(nid_of_the_best_priority_is_taken),
		STORY_BARE(source_is_preferred_for_the_nids_of_its_rule),
		STORY_BARE(source_is_preferred_for_a_single_rail),
		STORY_BARE(priority_of_an_interface_counts_for_a_single_rail),
		STORY_BARE(network_of_the_best_priority_is_taken),
		STORY_BARE(gateway_is_preferred_over_the_priority_of_routes),
		STORY_BARE(path_that_lost_by_a_rule_says_so),
		STORY_BARE(gateway_that_lost_by_a_rule_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
