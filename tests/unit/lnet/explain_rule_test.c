/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Explanation of paths: the rules of selection that decide. */
#include "unit/lnet/policed.h"

#define A1  "10.0.0.1@tcp"
#define A2  "10.0.0.101@tcp"
#define B1  "10.0.0.2@tcp"
#define B2  "10.0.0.102@tcp"
#define FAR "10.1.0.4@tcp1"

/** Both nodes have two NIDs, of one network; they know each other. */
static void square_open(void)
{
	routed_open(2, NULL);
	nids(0, A1 " " A2);
	nids(1, B1 " " B2);
	put_to(one, B1, 8);
	pair_settle(pair);
}

static struct m0_lnet_explain *told;

/** Asserts which rules decide about the path by `ni` and `hop` to the NID `last`
 * of the peer, NULL: any; -1: none. */
static void decided_of(const char *dest, const char *ni, const char *hop,
		       const char *last, int32_t rule, int32_t own_rule)
{
	const struct m0_lnet_nid to = pair_nid(dest);
	const struct m0_lnet_nid from = pair_nid(ni);
	const struct m0_lnet_nid by = pair_nid(hop);
	const struct m0_lnet_nid end = pair_nid(last == NULL ? dest : last);
	unsigned                 found = 0;
	unsigned                 i;

	assert_int_equal(m0_lnet_engine_explain(one->pno_engine, &to,
						&m0_lnet_nid_any, &told),
			 0);
	for (i = 0; i < told->lex_paths_nr; ++i) {
		const struct m0_lnet_path_info *info = &told->lex_paths[i];

		if (!m0_lnet_nid_eq(&info->lpa_ni, &from) ||
		    !m0_lnet_nid_eq(&info->lpa_hop, &by) ||
		    (last != NULL && !m0_lnet_nid_eq(&info->lpa_dest, &end)))
			continue;
		++found;
		assert_int_equal(info->lpa_rule, rule);
		assert_int_equal(info->lpa_own_rule, own_rule);
	}
	assert_int_equal(found, 1);
	m0_free(told);
}

static void decided(const char *dest, const char *ni, const char *hop,
		    int32_t rule, int32_t own_rule)
{
	decided_of(dest, ni, hop, NULL, rule, own_rule);
}

static void path_without_a_rule_names_none(void **state)
{
	(void)state;
	square_open();
	decided(B1, A1, B1, -1, -1);
	decided(B1, A2, B2, -1, -1);
	/* There are rules, and none decides. */
	rule("tcp7", NULL, NULL, "1", NULL);
	decided(B1, A2, B2, -1, -1);
}

static void rule_of_an_interface_is_named(void **state)
{
	(void)state;
	square_open();
	/* Further rules of other kinds and NIDs stand before it. */
	rule(NULL, "tcp7", NULL, "0", NULL);
	rule("10.9.0.1@tcp", NULL, NULL, "0", NULL);
	rule(A1, NULL, NULL, "5", NULL);
	decided(B1, A2, B1, 2, -1);
	decided(B1, A1, B1, -1, -1);
	rule(A2, NULL, NULL, "3", NULL);
	decided(B1, A1, B1, 3, 2);
	/* The first rule that names it counts. */
	rule("10.0.0.*@tcp", NULL, NULL, "1", "0");
	decided(B1, A1, B2, -1, -1);
}

static void rule_of_a_network_is_named_before_that_of_an_interface(void **state)
{
	(void)state;
	routed_open(2, NULL);
	nids(0, A1 " 10.1.0.1@tcp1");
	nids(1, B1 " 10.1.0.2@tcp1");
	put_to(one, B1, 8);
	pair_settle(pair);
	rule(A1, NULL, NULL, "0", NULL);
	rule("tcp", NULL, NULL, "4", NULL);
	rule("tcp1", NULL, NULL, "2", NULL);
	decided(B1, A1, B1, 2, 1);
	/* The network of the peer counts first. */
	rule(NULL, "tcp", NULL, "2", NULL);
	decided(B1, "10.1.0.1@tcp1", "10.1.0.2@tcp1", 3, -1);
	rule(NULL, "tcp1", NULL, "1", NULL);
	decided(B1, A1, B1, 4, 3);
}

static void rule_of_a_nid_is_named(void **state)
{
	(void)state;
	square_open();
	rule(NULL, B1, NULL, "7", NULL);
	rule(NULL, B2, NULL, "6", NULL);
	decided(B1, A1, B1, 1, 0);
}

static void rule_that_prefers_an_interface_is_named(void **state)
{
	(void)state;
	square_open();
	rule("10.9.0.1@tcp", B1, NULL, NULL, NULL);
	rule(A1, B2, NULL, NULL, NULL);
	rule(A2, B1, NULL, NULL, NULL);
	rule("10.0.0.*@tcp", B1, NULL, NULL, NULL);
	rule_del(3);
	decided(B1, A1, B1, 2, -1);
	pair_peer_down(one, B1, -ECONNRESET);
	decided(B1, A2, B2, 1, -1);
}

static void rule_that_prefers_a_gateway_is_named(void **state)
{
	(void)state;
	diamond_route(0, 0, 0, 0);
	put_to(one, FAR, 8);
	pair_settle(pair);
	rule(NULL, "10.1.0.9@tcp1", "10.0.0.3@tcp", NULL, NULL);
	rule(NULL, FAR, "10.0.0.3@tcp", NULL, NULL);
	decided(FAR, A1, "10.0.0.2@tcp", 1, -1);
	decided(FAR, A1, "10.0.0.3@tcp", -1, -1);
}

static void rule_of_a_destination_behind_a_router_is_named(void **state)
{
	const char        *gateway = "10.0.0.2@tcp";
	struct m0_lnet_nid first = pair_nid("10.1.0.8@tcp1");
	struct m0_lnet_nid others[] = { pair_nid("10.1.0.9@tcp1"),
					pair_nid("10.2.0.8@tcp2") };

	(void)state;
	diamond_open(NULL);
	route(0, "tcp1", gateway);
	route(0, "tcp2", gateway);
	assert_int_equal(m0_lnet_engine_peer_add(one->pno_engine, &first,
						 others, 2, true),
			 0);
	rule(NULL, "10.1.0.9@tcp1", NULL, "1", NULL);
	rule(NULL, "10.1.0.8@tcp1", NULL, "2", NULL);
	decided_of("10.1.0.8@tcp1", A1, gateway, "10.1.0.8@tcp1", 0, 1);
	decided_of("10.1.0.8@tcp1", A1, gateway, "10.2.0.8@tcp2", 0, -1);
	rule(NULL, "tcp2", NULL, "1", "0");
	decided_of("10.1.0.8@tcp1", A1, gateway, "10.1.0.9@tcp1", 0, -1);
}

/* Rules also apply to a NID that the node does not know yet. */
static void rules_about_an_unknown_nid_decide(void **state)
{
	(void)state;
	routed_open(1, NULL);
	nids(0, A1 " " A2);
	decided(B1, A1, B1, -1, -1);
	rule(A2, B1, NULL, NULL, NULL);
	decided(B1, A1, B1, 0, -1);
	decided(B2, A2, B2, -1, -1);
	assert_null(lpni_of(one, B1));
}

static void rules_about_an_unknown_nid_prefer_a_gateway(void **state)
{
	(void)state;
	diamond_route(0, 0, 0, 0);
	rule(NULL, FAR, "10.0.0.3@tcp", NULL, NULL);
	assert_null(lpni_of(one, FAR));
	decided(FAR, A1, "10.0.0.2@tcp", 0, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(path_without_a_rule_names_none),
		STORY_BARE(rule_of_an_interface_is_named),
		STORY_BARE(
			rule_of_a_network_is_named_before_that_of_an_interface),
		STORY_BARE(rule_of_a_nid_is_named),
		STORY_BARE(rule_that_prefers_an_interface_is_named),
		STORY_BARE(rule_that_prefers_a_gateway_is_named),
		STORY_BARE(rule_of_a_destination_behind_a_router_is_named),
		STORY_BARE(rules_about_an_unknown_nid_decide),
		STORY_BARE(rules_about_an_unknown_nid_prefer_a_gateway),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
