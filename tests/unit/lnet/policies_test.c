/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The list of the rules of selection, and what they say of interfaces, gateways and
 * peer NIs, whichever of these appears or goes, and when.
 */
#include "unit/lnet/policed.h"
#include "base/rand.h"
#include "lib/slow.h"

#include <time.h>

static unsigned rules_nr(void)
{
	return m0_lnet_engine_udsp_get(one->pno_engine, 0, NULL, 0);
}

static struct m0_lnet_udsp rule_at(unsigned i)
{
	struct m0_lnet_udsp udsp = { .lud_idx = -2 };

	assert_true(i < m0_lnet_engine_udsp_get(one->pno_engine, i, &udsp, 1));
	assert_int_equal(udsp.lud_idx, i);
	return udsp;
}

static void assert_rule(unsigned i, const char *dst)
{
	struct m0_lnet_udsp udsp = rule_at(i);
	char                said[M0_LNET_NID_RANGE_BYTES];

	assert_string_equal(
		m0_lnet_nid_range_print(&udsp.lud_dst, said, sizeof said), dst);
}

static struct m0_lnet_ni *ni_of(const char *text)
{
	struct m0_lnet_nid nid = pair_nid(text);
	struct m0_lnet_ni *ni = m0_lnet__ni_find(one->pno_engine, &nid);

	assert_non_null(ni);
	return ni;
}

static void assert_ni(const char *text, uint32_t net, uint32_t own)
{
	assert_int_equal(ni_of(text)->lni_policy.nip_priority >> 32, net);
	assert_int_equal((uint32_t)ni_of(text)->lni_policy.nip_priority, own);
}

/** Makes the peer NI if it is not there. */
static const struct m0_lnet__lpni_policy *policy_of(const char *text)
{
	struct m0_lnet_nid   nid = pair_nid(text);
	struct m0_lnet_lpni *lpni = m0_lnet__lpni_get(one->pno_engine, &nid);

	assert_non_null(lpni);
	m0_lnet__lpni_put(one->pno_engine, lpni);
	return &lpni->lpn_policy;
}

static void assert_lpni(const char *text, uint32_t net, uint32_t own)
{
	assert_int_equal(policy_of(text)->lpp_net_priority, net);
	assert_int_equal(policy_of(text)->lpp_priority, own);
}

static bool prefers(const char *peer, const char *ni)
{
	return m0_lnet__prefers_ni(policy_of(peer), &ni_of(ni)->lni_policy);
}

static const struct m0_lnet_gateway *gateway_of(const char *text)
{
	struct m0_lnet_nid      nid = pair_nid(text);
	struct m0_lnet_gateway *gw;

	m0_list_for_each_entry(&m0_lnet__routes(one->pno_engine)->lrs_gateways,
			       gw, struct m0_lnet_gateway, gw_link)
		if (m0_lnet_nid_eq(&gw->gw_lpni->lpn_nid, &nid))
			return gw;
	return NULL;
}

static bool prefers_gateway(const char *peer, const char *gateway)
{
	assert_non_null(gateway_of(gateway));
	return m0_lnet__prefers_gateway(policy_of(peer),
					gateway_of(gateway)->gw_slot);
}

/* -- list ------------------------------------------------------------------ */

static void rules_are_in_the_order_of_their_index(void **state)
{
	(void)state;
	rule(NULL, "1.0.0.1@tcp", NULL, "1", NULL);
	rule(NULL, "1.0.0.2@tcp", NULL, "1", "-1");
	rule(NULL, "1.0.0.3@tcp", NULL, "1", "0");
	rule(NULL, "1.0.0.4@tcp", NULL, "1", "1");
	rule(NULL, "1.0.0.5@tcp", NULL, "1", "99");
	assert_int_equal(rules_nr(), 5);
	assert_rule(0, "1.0.0.3@tcp");
	assert_rule(1, "1.0.0.4@tcp");
	assert_rule(2, "1.0.0.1@tcp");
	assert_rule(3, "1.0.0.2@tcp");
	assert_rule(4, "1.0.0.5@tcp");
	rule_del(1);
	assert_rule(1, "1.0.0.1@tcp");
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, 4), -ENOENT);
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, -2), -ENOENT);
	assert_int_equal(rules_nr(), 4);
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, -1), 4);
	assert_int_equal(rules_nr(), 0);
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, -1), 0);
}

static void rule_that_is_there_is_updated_or_refused(void **state)
{
	(void)state;
	rule(NULL, "1.0.0.1@tcp", NULL, "1", NULL);
	rule(NULL, "1.0.0.2@tcp", NULL, "1", NULL);
	assert_int_equal(rule_try(0, NULL, "1.0.0.1@tcp", NULL, "1", NULL),
			 -EALREADY);
	/* The rule stays where it is. */
	rule(NULL, "1.0.0.1@tcp", NULL, "7", "1");
	assert_int_equal(rules_nr(), 2);
	assert_rule(0, "1.0.0.1@tcp");
	assert_int_equal(rule_at(0).lud_priority, 7);
	assert_lpni("1.0.0.1@tcp", NONE, 7);
	rule("tcp", "1.0.0.1@tcp", NULL, NULL, NULL);
	assert_int_equal(rule_try(0, "tcp", "1.0.0.1@tcp", NULL, NULL, "0"),
			 -EALREADY);
	assert_int_equal(rules_nr(), 3);
}

static void malformed_rule_is_not_added(void **state)
{
	struct m0_lnet_udsp udsp = { .lud_action = M0_LNET_UDSP_PRIORITY };

	(void)state;
	assert_int_equal(m0_lnet_engine_udsp_add(one->pno_engine, &udsp),
			 -EINVAL);
	assert_int_equal(rules_nr(), 0);
}

/* -- objects --------------------------------------------------------------- */

static void rule_gives_interfaces_and_networks_their_priority(void **state)
{
	(void)state;
	(void)pair_ni(one, "10.1.0.1@tcp1");
	assert_ni("10.0.0.1@tcp", NONE, NONE);
	rule("tcp", NULL, NULL, "3", NULL);
	assert_ni("10.0.0.1@tcp", 3, NONE);
	assert_ni("10.1.0.1@tcp1", NONE, NONE);
	rule("10.*.0.1@tcp*", NULL, NULL, "4", NULL);
	assert_ni("10.0.0.1@tcp", 3, 4);
	assert_ni("10.1.0.1@tcp1", NONE, 4);
	/* One that comes later has its own from the first. */
	(void)pair_ni(one, "10.2.0.1@tcp");
	assert_ni("10.2.0.1@tcp", 3, 4);
	/* The lower index counts, not the better number. */
	rule("10.2.0.1@tcp", NULL, NULL, "9", "0");
	assert_ni("10.2.0.1@tcp", 3, 9);
	rule("tcp[0-7]", NULL, NULL, "0", NULL);
	assert_ni("10.0.0.1@tcp", 3, 4);
	assert_ni("10.1.0.1@tcp1", 0, 4);
}

static void rule_gives_peers_their_priority(void **state)
{
	(void)state;
	assert_lpni("1.0.0.1@tcp", NONE, NONE);
	rule(NULL, "1.0.0.[1-2]@tcp", NULL, "3", NULL);
	rule(NULL, "tcp1", NULL, "4", NULL);
	assert_lpni("1.0.0.1@tcp", NONE, 3);
	assert_lpni("1.0.0.2@tcp", NONE, 3);
	assert_lpni("1.0.0.3@tcp", NONE, NONE);
	assert_lpni("1.0.0.1@tcp1", 4, NONE);
	rule(NULL, "1.0.0.2@tcp", NULL, "9", "0");
	assert_lpni("1.0.0.1@tcp", NONE, 3);
	assert_lpni("1.0.0.2@tcp", NONE, 9);
	rule(NULL, "2001:db8::/32@tcp", NULL, "5", NULL);
	assert_lpni("2001:db8::1@tcp", NONE, 5);
	assert_lpni("2001:db9::1@tcp", NONE, NONE);
}

/* The kernel forgets what other rules say of what the deleted one named. */
static void deleted_rule_leaves_what_the_others_say(void **state)
{
	(void)state;
	(void)pair_ni(one, "10.1.0.1@tcp");
	rule(NULL, "1.0.0.1@tcp", NULL, "1", NULL);
	rule(NULL, "1.0.0.[1-9]@tcp", NULL, "2", NULL);
	rule(NULL, "*@tcp", NULL, "3", NULL);
	rule("10.0.0.1@tcp", NULL, NULL, "1", NULL);
	rule("*@tcp", NULL, NULL, "2", NULL);
	rule("10.0.0.1@tcp", "1.0.0.1@tcp", NULL, NULL, NULL);
	rule("10.0.0.[1-2]@tcp", "1.0.0.*@tcp", NULL, NULL, NULL);
	assert_lpni("1.0.0.1@tcp", NONE, 1);
	assert_ni("10.0.0.1@tcp", NONE, 1);
	rule_del(3);
	assert_ni("10.0.0.1@tcp", NONE, 2);
	rule_del(0);
	assert_lpni("1.0.0.1@tcp", NONE, 2);
	assert_lpni("1.0.0.10@tcp", NONE, 3);
	rule_del(1);
	assert_lpni("1.0.0.1@tcp", NONE, 2);
	assert_lpni("1.0.0.10@tcp", NONE, NONE);
	assert_true(prefers("1.0.0.1@tcp", "10.0.0.1@tcp"));
	rule_del(2);
	assert_true(prefers("1.0.0.1@tcp", "10.0.0.1@tcp"));
	assert_true(prefers("1.0.0.2@tcp", "10.0.0.1@tcp"));
	rule_del(2);
	assert_false(prefers("1.0.0.1@tcp", "10.0.0.1@tcp"));
	assert_false(prefers("1.0.0.2@tcp", "10.0.0.1@tcp"));
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, -1), 2);
	rules_settle();
	assert_lpni("1.0.0.1@tcp", NONE, NONE);
	assert_ni("10.0.0.1@tcp", NONE, NONE);
	assert_ni("10.1.0.1@tcp", NONE, NONE);
}

static void preferred_sources_add_up_and_follow_interfaces(void **state)
{
	(void)state;
	rule("10.1.0.*@tcp", "1.0.0.1@tcp", NULL, NULL, NULL);
	rule("10.0.0.*@tcp", "1.0.0.[1-2]@tcp", NULL, NULL, NULL);
	assert_true(prefers("1.0.0.1@tcp", "10.0.0.1@tcp"));
	assert_true(prefers("1.0.0.2@tcp", "10.0.0.1@tcp"));
	(void)pair_ni(one, "10.1.0.1@tcp");
	rules_settle();
	assert_true(prefers("1.0.0.1@tcp", "10.1.0.1@tcp"));
	assert_false(prefers("1.0.0.2@tcp", "10.1.0.1@tcp"));
	/* The next interface may have the number of the one that is gone. */
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	pair_settle(pair);
	(void)pair_ni(one, "10.2.0.1@tcp");
	assert_false(prefers("1.0.0.1@tcp", "10.2.0.1@tcp"));
	rules_settle();
	assert_false(prefers("1.0.0.1@tcp", "10.2.0.1@tcp"));
	assert_true(prefers("1.0.0.1@tcp", "10.0.0.1@tcp"));
	/* Each NID of a network that dst names. */
	rule("10.2.0.1@tcp", "tcp", NULL, NULL, NULL);
	assert_true(prefers("1.0.0.7@tcp", "10.2.0.1@tcp"));
}

static void preferred_gateways_follow_the_routes(void **state)
{
	(void)state;
	route(0, "tcp1", "10.0.0.2@tcp");
	rule(NULL, "1.0.0.1@tcp1", "10.0.0.[2-3]@tcp", NULL, NULL);
	assert_true(prefers_gateway("1.0.0.1@tcp1", "10.0.0.2@tcp"));
	assert_false(prefers_gateway("1.0.0.2@tcp1", "10.0.0.2@tcp"));
	route(0, "tcp1", "10.0.0.3@tcp");
	route(0, "tcp1", "10.0.0.4@tcp");
	rules_settle();
	assert_true(prefers_gateway("1.0.0.1@tcp1", "10.0.0.3@tcp"));
	assert_false(prefers_gateway("1.0.0.1@tcp1", "10.0.0.4@tcp"));
	assert_int_equal(m0_lnet_engine_route_del(one->pno_engine,
						  M0_LNET_NET_ANY,
						  &m0_lnet_nid_any),
			 3);
	route(0, "tcp1", "10.0.0.7@tcp");
	assert_false(prefers_gateway("1.0.0.1@tcp1", "10.0.0.7@tcp"));
	rules_settle();
	assert_false(prefers_gateway("1.0.0.1@tcp1", "10.0.0.7@tcp"));
}

/* A rule may name any gateway by its primary NID, which discovery finds. */
static void gateway_is_known_by_its_primary_nid(void **state)
{
	(void)state;
	line_open(NULL);
	assert_true(m0_lnet__peer_is_multi_rail(peer_of(one, "10.0.0.2@tcp")));
	m0_lnet_engine_ni_del(node(1)->pno_engine, node(1)->pno_ni[1]);
	pair_settle(pair);
	rule(NULL, "10.1.0.*@tcp1", "10.1.0.2@tcp1", NULL, NULL);
	assert_false(prefers_gateway("10.1.0.3@tcp1", "10.0.0.2@tcp"));
	nids(1, "10.0.0.2@tcp");
	/* Its first NID is now the other one. */
	pair_run(pair, 61000);
	assert_nid(&peer_of(one, "10.0.0.2@tcp")->lpe_primary, "10.1.0.2@tcp1");
	rules_settle();
	assert_true(prefers_gateway("10.1.0.3@tcp1", "10.0.0.2@tcp"));
}

static const struct m0_lnet_peer_ni_info *shown(const struct m0_lnet_info *info,
						const char                *text)
{
	struct m0_lnet_nid nid = pair_nid(text);
	unsigned           i;
	unsigned           j;

	for (i = 0; i < info->li_peers_nr; ++i)
		for (j = 0; j < info->li_peers[i].pei_nis_nr; ++j)
			if (m0_lnet_nid_eq(
				    &info->li_peers[i].pei_nis[j].pni_nid,
				    &nid))
				return &info->li_peers[i].pei_nis[j];
	fail_msg("%s is not shown", text);
	return NULL;
}

/* The information about the node has the priorities, and the NIDs that are preferred
 * for each peer NI. */
static void information_has_what_the_rules_say(void **state)
{
	const struct m0_lnet_peer_ni_info *ni;
	struct m0_lnet_info               *info;

	(void)state;
	(void)pair_ni(one, "10.1.0.1@tcp");
	route(0, "tcp1", "10.0.0.2@tcp");
	route(0, "tcp1", "10.0.0.3@tcp");
	rule("tcp", NULL, NULL, "3", NULL);
	rule("10.1.0.1@tcp", NULL, NULL, "4", NULL);
	rule(NULL, "tcp1", NULL, "5", NULL);
	rule(NULL, "1.0.0.1@tcp1", NULL, "6", NULL);
	rule("10.1.0.1@tcp", "1.0.0.1@tcp1", NULL, NULL, NULL);
	rule(NULL, "1.0.0.[1-2]@tcp1", "10.0.0.3@tcp", NULL, NULL);
	(void)policy_of("1.0.0.1@tcp1");
	(void)policy_of("1.0.0.2@tcp1");
	(void)policy_of("1.0.0.3@tcp");
	assert_int_equal(m0_lnet_engine_info(one->pno_engine, &info), 0);
	assert_nid(&info->li_nis[0].nii_nid, "0@lo");
	assert_int_equal(info->li_nis[0].nii_net_priority, NONE);
	assert_int_equal(info->li_nis[0].nii_priority, NONE);
	assert_int_equal(info->li_nis[1].nii_net_priority, 3);
	assert_int_equal(info->li_nis[1].nii_priority, NONE);
	assert_int_equal(info->li_nis[2].nii_net_priority, 3);
	assert_int_equal(info->li_nis[2].nii_priority, 4);
	ni = shown(info, "1.0.0.1@tcp1");
	assert_int_equal(ni->pni_net_priority, 5);
	assert_int_equal(ni->pni_priority, 6);
	assert_int_equal(ni->pni_sources_nr, 1);
	assert_int_equal(ni->pni_gateways_nr, 1);
	assert_nid(&ni->pni_preferred[0], "10.1.0.1@tcp");
	assert_nid(&ni->pni_preferred[1], "10.0.0.3@tcp");
	ni = shown(info, "1.0.0.2@tcp1");
	assert_int_equal(ni->pni_priority, NONE);
	assert_int_equal(ni->pni_sources_nr, 0);
	assert_int_equal(ni->pni_gateways_nr, 1);
	assert_nid(&ni->pni_preferred[0], "10.0.0.3@tcp");
	ni = shown(info, "1.0.0.3@tcp");
	assert_int_equal(ni->pni_net_priority, NONE);
	assert_int_equal(ni->pni_sources_nr + ni->pni_gateways_nr, 0);
	m0_free(info);
}

/* -- changes of one rule --------------------------------------------------- */

enum {
	CHANGES_NR = 400,
	NAMED_NR = 6
};

/* The verdict about a peer NI is that of all rules. */
static void assert_verdict(const char *text)
{
	const struct m0_lnet__lpni_policy *got = policy_of(text);
	struct m0_lnet__lpni_policy        want = {};
	struct m0_lnet_nid                 nid = pair_nid(text);
	unsigned                           cost = 0;

	assert_int_equal(m0_lnet__rules_apply(one->pno_engine->le_policies,
					      &nid, &want, &cost),
			 0);
	assert_int_equal(got->lpp_net_priority, want.lpp_net_priority);
	assert_int_equal(got->lpp_priority, want.lpp_priority);
	assert_int_equal(got->lpp_prefer != NULL, want.lpp_prefer != NULL);
	if (want.lpp_prefer != NULL)
		assert_memory_equal(got->lpp_prefer, want.lpp_prefer,
				    sizeof *want.lpp_prefer);
	m0_lnet__verdict_forget(&want);
}

/* Adds, replaces or deletes a rule by chance. */
static void rule_change(struct m0_rand *rand)
{
	static const char *const dsts[] = {
		"*@tcp",        "10.0.0.*@tcp", "10.0.0.[2,4]@tcp",
		"10.0.0.3@tcp", "tcp",          "tcp1"
	};
	char        priority[12];
	char        idx[12];
	unsigned    nr = rules_nr();
	const char *dst = dsts[m0_rand_below(rand, 6)];

	(void)snprintf(priority, sizeof priority, "%u",
		       (unsigned)m0_rand_below(rand, 5));
	(void)snprintf(idx, sizeof idx, "%u",
		       (unsigned)m0_rand_below(rand, nr + 1));
	if (nr > 0 && m0_rand_below(rand, 3) == 0)
		(void)m0_lnet_engine_udsp_del(one->pno_engine,
					      (int32_t)m0_rand_below(rand, nr));
	else if (m0_rand_below(rand, 3) == 0)
		(void)rule_try(0, "10.0.0.1@tcp", dst, NULL, NULL, idx);
	else
		(void)rule_try(0, NULL, dst, NULL, priority,
			       m0_rand_below(rand, 2) == 0 ? idx : NULL);
}

/* A rule that comes or goes changes the peer NIs that it names, and leaves them as if
 * all rules had been applied. */
static void change_of_a_rule_is_as_all_rules(void **state)
{
	static const char *const nids[NAMED_NR] = {
		"10.0.0.2@tcp", "10.0.0.3@tcp",  "10.0.0.4@tcp",
		"10.1.0.2@tcp", "10.0.0.2@tcp1", "10.0.0.9@tcp1"
	};
	struct m0_rand rand;
	unsigned       i;
	unsigned       k;

	(void)state;
	m0_rand_init(&rand, 28);
	for (k = 0; k < NAMED_NR; ++k)
		(void)policy_of(nids[k]);
	for (i = 0; i < CHANGES_NR; ++i) {
		rule_change(&rand);
		rules_settle();
		for (k = 0; k < NAMED_NR; ++k)
			assert_verdict(nids[k]);
	}
}

/* -- reach ----------------------------------------------------------------- */

enum {
	RULES_NR = IS_SLOW ? 1000 : 10000,
	PEERS_NR = IS_SLOW ? 100 : 1000
};

static double ms_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/** Ends the application of the rules. Prints how long that and its slices took. */
static void reach_settle(const char *what, double began)
{
	double   slice = ms_now() - began;
	double   worst = slice;
	double   sum = slice;
	unsigned nr = 1;

	while (!m0_lnet_engine_udsp_is_settled(one->pno_engine)) {
		pair->pai_now += 1000000;
		began = ms_now();
		(void)m0_lnet_engine_step(one->pno_engine, pair->pai_now);
		slice = ms_now() - began;
		worst = slice > worst ? slice : worst;
		sum += slice;
		++nr;
	}
	print_message("%s: %.2f ms in %u slices, the longest %.3f ms\n", what,
		      sum, nr, worst);
}

static void reach(const char *name, const char *fmt)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	char                      text[300];
	double                    began;
	unsigned                  i;

	cfg.lec_peers_max = 2 * PEERS_NR;
	story_open(1, &cfg);
	print_message("%s\n", name);
	for (i = 0; i < PEERS_NR; ++i) {
		(void)snprintf(text, sizeof text, "10.9.%u.%u@tcp", i / 250,
			       i % 250);
		(void)policy_of(text);
	}
	for (i = 0; i < RULES_NR; ++i) {
		(void)snprintf(text, sizeof text, fmt, i / 250, i % 250);
		assert_int_equal(rule_try(0, NULL, text, NULL, "1", NULL), 0);
	}
	reach_settle("all rules", ms_now());
	began = ms_now();
	(void)policy_of("10.9.9.8@tcp");
	print_message("new peer: %.3f ms\n", ms_now() - began);
	assert_int_equal(rules_nr(), RULES_NR);
	began = ms_now();
	assert_int_equal(rule_try(0, NULL, "*@tcp", NULL, "2", "0"), 0);
	reach_settle("insert", began);
	assert_lpni("10.9.0.1@tcp", NONE, 2);
	began = ms_now();
	assert_lpni("10.9.9.9@tcp", NONE, 2);
	print_message("new peer: %.3f ms\n", ms_now() - began);
	began = ms_now();
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, 0), 1);
	reach_settle("delete", began);
	assert_lpni("10.9.9.9@tcp", NONE,
		    strstr(fmt, "10.9.*") != NULL ? 1 : NONE);
}

/* How long it takes is printed; a busy machine does not fail the case. */
static void many_rules_are_applied_in_slices(void **state)
{
	(void)state;
	reach("other addresses", "10.1.%u.%u@tcp");
	(void)story_end(NULL);
	reach("other networks", "10.9.*.*@tcp[%u,%u]");
	(void)story_end(NULL);
	/* Each rule must be looked at. */
	reach("lists", "10.[8,10].%u.%u@tcp");
	(void)story_end(NULL);
	reach("long lists",
	      "10.[0-20/2,0-20/4,0-20/5,0-20/7,1-20/3,1-20/5,1-20/6,1-20/7,"
	      "2-20/2,2-20/3,2-20/4,2-20/5,2-20/6,3-20/4,3-20/5,3-20/7,4-20/2,"
	      "4-20/3,4-20/4,4-20/6,0-20/8,0-20/6,0-20/10,0-20/11]"
	      ".[0-255].[0,255]@tcp[0,%u,%u]");
	(void)story_end(NULL);
	reach("numbers",
	      "10.[1,3,5,7,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,"
	      "45,47].[0-255].[0,255]@tcp[0,%u,%u]");
	(void)story_end(NULL);
	reach("within bounds", "10.[8,10].[0-255].[0,255]@tcp[0,%u,%u]");
}

/** Returns the number of NIs of the first node that have this priority. */
static unsigned nis_with(uint32_t net)
{
	const struct m0_lnet_ni *ni;
	unsigned                 nr = 0;

	m0_list_for_each_entry(&one->pno_engine->le_nis, ni, struct m0_lnet_ni,
			       lni_link)
		nr += ni->lni_policy.nip_priority >> 32 == net;
	return nr;
}

/** Applies the rules slice by slice. @return the number of slices, in none of which
 * more than one NI got its priority. */
static unsigned slices_run(uint32_t net)
{
	unsigned had = nis_with(net);
	unsigned nr = 1;

	assert_true(had <= 1);
	for (; !m0_lnet_engine_udsp_is_settled(one->pno_engine); ++nr) {
		pair->pai_now += 1000000;
		(void)m0_lnet_engine_step(one->pno_engine, pair->pai_now);
		assert_true(nis_with(net) <= had + 1);
		had = nis_with(net);
	}
	return nr;
}

/* Each rule must be looked at for each of the NIs, so that one NI is a slice. */
static void rule_is_applied_to_interfaces_in_slices(void **state)
{
	struct m0_lnet_nid nid = pair_nid("10.9.0.7@tcp7");
	struct m0_lnd_ni  *lnd_ni;
	char               text[64];
	unsigned           i;

	(void)state;
	if (IS_SLOW)
		skip();
	story_open(1, NULL);
	for (i = 1; i <= 6; ++i) {
		(void)snprintf(text, sizeof text, "10.9.0.%u@tcp7", i);
		(void)pair_ni(one, text);
	}
	for (i = 2; i < M0_LNET_UDSPS_MAX; ++i) {
		(void)snprintf(text, sizeof text,
			       "10.[8,10].[0-255].[0,255]@tcp[0,%u,%u]",
			       i / 250 + 1, i % 250 + 100);
		assert_int_equal(rule_try(0, text, NULL, NULL, "1", NULL), 0);
	}
	rules_settle();
	assert_int_equal(rule_try(0, "tcp7", NULL, NULL, "2", "0"), 0);
	assert_int_equal(slices_run(2), 6);
	assert_int_equal(nis_with(2), 6);
	assert_int_equal(rule_try(0, "tcp7", NULL, NULL, "3", "0"), 0);
	assert_int_equal(slices_run(3), 6);
	assert_int_equal(nis_with(3), 6);
	/* One that goes before its turn. */
	assert_int_equal(m0_lnet_engine_ni_add(one->pno_engine, &nid, NULL, 1,
					       NULL, &lnd_ni),
			 0);
	assert_int_equal(rule_try(0, "tcp7", NULL, NULL, "4", "0"), 0);
	m0_lnet_engine_ni_del(one->pno_engine, lnd_ni);
	assert_int_equal(slices_run(4), 6);
	assert_int_equal(nis_with(4), 6);
	/* A rule of other interfaces needs no look at these. */
	assert_int_equal(rule_try(0, "tcp8", NULL, NULL, "5", "0"), 0);
	assert_int_equal(slices_run(5), 1);
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine,
						 M0_LNET_UDSP_LAST),
			 M0_LNET_UDSPS_MAX);
	rules_settle();
	assert_int_equal(nis_with(4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(rules_are_in_the_order_of_their_index),
		STORY(rule_that_is_there_is_updated_or_refused),
		STORY(malformed_rule_is_not_added),
		STORY(rule_gives_interfaces_and_networks_their_priority),
		STORY(rule_gives_peers_their_priority),
		STORY(deleted_rule_leaves_what_the_others_say),
		STORY(preferred_sources_add_up_and_follow_interfaces),
		STORY(preferred_gateways_follow_the_routes),
		STORY_BARE(gateway_is_known_by_its_primary_nid),
		STORY(information_has_what_the_rules_say),
		STORY(change_of_a_rule_is_as_all_rules),
		STORY_BARE(many_rules_are_applied_in_slices),
		STORY_BARE(rule_is_applied_to_interfaces_in_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
