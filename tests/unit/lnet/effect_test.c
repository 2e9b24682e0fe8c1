/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Effects of changes of the rules, and that finding them changes nothing. */
#include "unit/lnet/policed.h"

#include <time.h>

#include "sim/sched/heap.h"
#include "lib/slow.h"
#include "lnet/health/health.h"

#define A1  "10.0.0.1@tcp"
#define A2  "10.0.0.101@tcp"
#define B1  "10.0.0.2@tcp"
#define B2  "10.0.0.102@tcp"
#define FAR "10.1.0.4@tcp1"
#define GW1 "10.0.0.2@tcp"
#define GW2 "10.0.0.3@tcp"

static struct m0_lnet_effect *effect;

static void effect_drop(void)
{
	m0_free(effect);
	effect = NULL;
}

static struct m0_lnet_udsp rule_of(const char *src, const char *dst,
				   const char *rte, const char *priority,
				   const char *idx)
{
	const struct m0_lnet_udsp_text text = { src, dst, rte, priority, idx };
	struct m0_lnet_udsp            udsp;

	assert_int_equal(m0_lnet_udsp_parse(&udsp, &text, NULL), 0);
	return udsp;
}

static int effect_try(const struct m0_lnet_udsp *add, int32_t del)
{
	effect_drop();
	return m0_lnet_engine_effect(one->pno_engine, add, del, NULL, &effect);
}

/** Finds the effect of a rule on all peers, of which there are few. */
static void add_would(const char *src, const char *dst, const char *rte,
		      const char *priority, const char *idx)
{
	struct m0_lnet_udsp udsp = rule_of(src, dst, rte, priority, idx);

	assert_int_equal(effect_try(&udsp, 0), 0);
	assert_true(effect->lef_is_whole);
}

static void del_would(int32_t idx)
{
	assert_int_equal(effect_try(NULL, idx), 0);
	assert_true(effect->lef_is_whole);
}

static void no_shift(void)
{
	assert_int_equal(effect->lef_shifts_nr, 0);
}

/** Asserts the paths of a set, "NI>HOP" separated by blanks. */
static void assert_set(const struct m0_lnet_path_set *set, const char *want)
{
	char     text[512] = "";
	char     ni[M0_LNET_NIDSTR_SIZE];
	char     hop[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	for (i = 0; i < set->lps_nr && i < M0_LNET_PATH_SET_MAX; ++i) {
		const struct m0_lnet_path_nids *path = &set->lps_paths[i];
		size_t                          at = strlen(text);

		(void)snprintf(text + at, sizeof text - at, "%s%s>%s",
			       i == 0 ? "" : " ",
			       m0_lnet_nid_print(&path->lpd_ni, ni, sizeof ni),
			       m0_lnet_nid_print(&path->lpd_hop, hop,
						 sizeof hop));
	}
	assert_string_equal(text, want);
}

/** Asserts that one peer would change its paths, and how. */
static void shift(const char *primary, const char *now, const char *then)
{
	assert_int_equal(effect->lef_shifts_nr, 1);
	assert_nid(&effect->lef_shifts[0].lsf_primary, primary);
	assert_set(&effect->lef_shifts[0].lsf_now, now);
	assert_set(&effect->lef_shifts[0].lsf_then, then);
}

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

#define A1B1 A1 ">" B1
#define A2B1 A2 ">" B1
#define A1B2 A1 ">" B2
#define A2B2 A2 ">" B2
#define ALL  A1B1 " " A2B1 " " A1B2 " " A2B2

static void rule_of_interfaces_has_its_effect(void **state)
{
	(void)state;
	square_open(true);
	add_would(A2, NULL, NULL, "3", NULL);
	assert_int_equal(effect->lef_peers_nr, 1);
	shift(B1, ALL, A2B1 " " A2B2);
	/* A rule about all of them, and one about none. */
	add_would("tcp", NULL, NULL, "3", NULL);
	no_shift();
	add_would("tcp3", NULL, NULL, "3", NULL);
	no_shift();
	rule(A2, NULL, NULL, "3", NULL);
	add_would(A1, NULL, NULL, "4", NULL);
	no_shift();
	add_would(A1, NULL, NULL, "3", NULL);
	shift(B1, A2B1 " " A2B2, ALL);
	/* The rule with these ranges would get another priority. */
	rule(A1, NULL, NULL, "5", NULL);
	add_would(A1, NULL, NULL, "2", NULL);
	shift(B1, A2B1 " " A2B2, A1B1 " " A1B2);
	del_would(0);
	shift(B1, A2B1 " " A2B2, A1B1 " " A1B2);
	del_would(1);
	no_shift();
	del_would(M0_LNET_UDSP_LAST);
	shift(B1, A2B1 " " A2B2, ALL);
	effect_drop();
}

static void rule_of_nids_has_its_effect(void **state)
{
	(void)state;
	square_open(true);
	add_would(NULL, B2, NULL, "3", NULL);
	shift(B1, ALL, A1B2 " " A2B2);
	add_would(NULL, "tcp", NULL, "3", NULL);
	no_shift();
	rule(NULL, B2, NULL, "3", NULL);
	/* Behind it, and before it. */
	add_would(NULL, "10.0.0.*@tcp", NULL, "1", NULL);
	shift(B1, A1B2 " " A2B2, A1B1 " " A2B1);
	add_would(NULL, "10.0.0.*@tcp", NULL, "1", "0");
	shift(B1, A1B2 " " A2B2, ALL);
	effect_drop();
}

static void rule_that_prefers_has_its_effect(void **state)
{
	(void)state;
	square_open(true);
	add_would(A2, B1, NULL, NULL, NULL);
	shift(B1, ALL, A2B1);
	rule(A2, B1, NULL, NULL, NULL);
	add_would(A1, B1, NULL, NULL, NULL);
	shift(B1, A2B1, A1B1 " " A2B1);
	add_would("10.9.0.9@tcp", B1, NULL, NULL, NULL);
	no_shift();
	del_would(0);
	shift(B1, A2B1, ALL);
	effect_drop();
}

/* The interface that it keeps does not count: a rule has it chosen anew. */
static void single_rail_has_its_paths(void **state)
{
	(void)state;
	square_open(false);
	add_would(A1, B1, NULL, NULL, NULL);
	shift(B1, A1B1 " " A2B1, A1B1);
	rule(A2, B1, NULL, NULL, NULL);
	del_would(0);
	shift(B1, A2B1, A1B1 " " A2B1);
	add_would(NULL, B1, NULL, "1", NULL);
	no_shift();
	effect_drop();
}

static void gateways_are_compared(void **state)
{
	(void)state;
	diamond_route(0, 0, 0, 0);
	put_to(one, FAR, 8);
	pair_settle(pair);
	add_would(NULL, FAR, GW2, NULL, NULL);
	shift(FAR, A1 ">" GW1 " " A1 ">" GW2, A1 ">" GW2);
	assert_true(effect->lef_shifts[0].lsf_now.lps_paths[0].lpd_is_routed);
	assert_nid(&effect->lef_shifts[0].lsf_then.lps_paths[0].lpd_dest, FAR);
	/* A rule about the NID of a gateway. */
	add_would(NULL, GW1, NULL, "1", NULL);
	shift(FAR, A1 ">" GW1 " " A1 ">" GW2, A1 ">" GW1);
	rule(NULL, FAR, GW2, NULL, NULL);
	add_would(NULL, GW1, NULL, "1", NULL);
	no_shift();
	effect_drop();
}

/* Numbers that each message changes do not count; interfaces and NIDs that are down or
 * less healthy do. */
static void states_count_and_turns_do_not(void **state)
{
	struct m0_lnet_nid   nid = pair_nid(A2);
	struct m0_lnet_lpni *lpni;
	unsigned             i;

	(void)state;
	square_open(true);
	for (i = 0; i < 3; ++i) {
		put_to(one, B1, 8);
		add_would(NULL, B2, NULL, "3", NULL);
		shift(B1, ALL, A1B2 " " A2B2);
		lpni = lpni_of(one, B1);
		lpni->lpn_credits -= 1;
		lpni->lpn_credits_low =
			min_check(lpni->lpn_credits_low, lpni->lpn_credits);
	}
	lpni_of(one, B1)->lpn_credits += 3;
	m0_lnet_engine_health_set(one->pno_engine, M0_LNET_HEALTH_OF_NIS, &nid,
				  M0_LNET_HEALTH_MAX - 1);
	add_would(A2, NULL, NULL, "3", NULL);
	no_shift();
	m0_lnet_engine_health_set(one->pno_engine, M0_LNET_HEALTH_OF_NIS, &nid,
				  M0_LNET_HEALTH_MAX);
	pair_settle(pair);
	effect_drop();
}

/** Asserts that the verdicts of the node are as if it had no rule. */
static void no_verdict(uint64_t changes_nr)
{
	const struct m0_lnet__lpni_policy *lpp = &lpni_of(one, B1)->lpn_policy;
	const struct m0_lnet_ni           *ni;

	assert_int_equal(lpp->lpp_priority, NONE);
	assert_int_equal(lpp->lpp_net_priority, NONE);
	assert_null(lpp->lpp_prefer);
	m0_list_for_each_entry(&one->pno_engine->le_nis, ni, struct m0_lnet_ni,
			       lni_link)
		assert_int_equal(ni->lni_policy.nip_priority, UINT64_MAX);
	assert_int_equal(one->pno_engine->le_policies->lpc_nr, 0);
	assert_int_equal(one->pno_engine->le_policies->lpc_changes_nr,
			 changes_nr);
}

static void nothing_changes(void **state)
{
	uint64_t generation;
	uint64_t changes_nr;

	(void)state;
	square_open(true);
	changes_nr = one->pno_engine->le_policies->lpc_changes_nr;
	generation = one->pno_engine->le_generation;
	add_would(A2, NULL, NULL, "3", NULL);
	add_would(NULL, "tcp", NULL, "3", NULL);
	add_would(NULL, B1, NULL, "3", NULL);
	add_would(A2, B1, NULL, NULL, NULL);
	del_would(M0_LNET_UDSP_LAST);
	no_verdict(changes_nr);
	assert_true(one->pno_engine->le_generation == generation);
	effect_drop();
}

static void nothing_changes_without_memory(void **state)
{
	struct m0_lnet_udsp udsp = rule_of(A2, B1, NULL, NULL, NULL);
	struct m0_heap      heap;
	unsigned            at;
	uint64_t            changes_nr;
	int                 rc = -ENOMEM;

	(void)state;
	square_open(true);
	changes_nr = one->pno_engine->le_policies->lpc_changes_nr;
	for (at = 1; rc != 0; ++at) {
		m0_heap_init(&heap);
		m0_heap_fail_at(&heap, at);
		rc = effect_try(&udsp, 0);
		if (rc == 0)
			effect_drop();
		m0_heap_fini(&heap);
		assert_true(M0_IN(rc, (0, -ENOMEM)));
		no_verdict(changes_nr);
	}
	assert_true(at > 6);
}

static void errors_are_those_of_the_change(void **state)
{
	struct m0_lnet_udsp udsp = rule_of(A2, NULL, NULL, "3", NULL);
	struct m0_lnet_udsp wrong = udsp;

	(void)state;
	square_open(true);
	assert_int_equal(effect_try(NULL, 0), -ENOENT);
	rule(A2, NULL, NULL, "3", NULL);
	assert_int_equal(effect_try(&udsp, 0), -EALREADY);
	assert_int_equal(effect_try(NULL, 1), -ENOENT);
	assert_int_equal(effect_try(NULL, -2), -ENOENT);
	wrong.lud_action = 7;
	assert_int_equal(effect_try(&wrong, 0), -EINVAL);
}

/* -- many peers ------------------------------------------------------------ */

enum {
	PEERS_NR = 1000,
	RULES_NR = 10000
};

static double ms_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/** Makes peers 10.1.<i / 250>.<i % 250>@tcp without Multi-Rail. */
static void crowd_open(void)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	char                      text[M0_LNET_NIDSTR_SIZE];
	unsigned                  i;

	cfg.lec_peers_max = 2 * PEERS_NR;
	routed_open(1, &cfg);
	nids(0, A1 " " A2);
	for (i = 0; i < PEERS_NR; ++i) {
		struct m0_lnet_nid nid;

		(void)snprintf(text, sizeof text, "10.1.%u.%u@tcp", i / 250,
			       i % 250);
		nid = pair_nid(text);
		assert_int_equal(m0_lnet_engine_peer_add(one->pno_engine, &nid,
							 NULL, 0, false),
				 0);
	}
}

/** Finds the effect part by part; adds up shifts and peers. */
static int parts(const struct m0_lnet_udsp *udsp, unsigned *shifts,
		 unsigned *peers, double *worst)
{
	struct m0_lnet_effect *part = NULL;
	unsigned               nr = 0;
	double                 sum = 0;

	*shifts = *peers = 0;
	*worst = 0;
	do {
		double began = ms_now();
		double took;
		int rc = m0_lnet_engine_effect(one->pno_engine, udsp, 0, effect,
					       &part);

		took = ms_now() - began;
		*worst = took > *worst ? took : *worst;
		sum += took;
		effect_drop();
		if (rc != 0)
			return rc;
		effect = part;
		*shifts += effect->lef_shifts_nr;
		*peers += effect->lef_peers_nr;
		++nr;
	} while (!effect->lef_is_whole);
	print_message("%.2f ms in %u parts, the longest %.3f ms\n", sum, nr,
		      *worst);
	effect_drop();
	return 0;
}

static void many_peers_are_compared_in_parts(void **state)
{
	struct m0_lnet_udsp udsp =
		rule_of(A2, "10.1.*.[0-99]@tcp", NULL, NULL, NULL);
	unsigned shifts;
	unsigned peers;
	double   worst;

	(void)state;
	crowd_open();
	assert_int_equal(parts(&udsp, &shifts, &peers, &worst), 0);
	assert_int_equal(peers, PEERS_NR);
	assert_int_equal(shifts, PEERS_NR * 100 / 250);
}

static void part_after_a_change_is_refused(void **state)
{
	struct m0_lnet_udsp    udsp = rule_of(A2, NULL, NULL, "0", NULL);
	struct m0_lnet_effect *part;

	(void)state;
	crowd_open();
	assert_int_equal(effect_try(&udsp, 0), 0);
	assert_false(effect->lef_is_whole);
	assert_int_equal(m0_lnet_engine_peer_del(one->pno_engine,
						 &effect->lef_last, NULL, 0),
			 0);
	assert_int_equal(m0_lnet_engine_effect(one->pno_engine, &udsp, 0,
					       effect, &part),
			 -ESTALE);
	assert_int_equal(effect_try(&udsp, 0), 0);
	rule("tcp7", NULL, NULL, NULL, NULL);
	assert_int_equal(m0_lnet_engine_effect(one->pno_engine, &udsp, 0,
					       effect, &part),
			 -ESTALE);
	effect_drop();
}

static void rules_that_are_being_applied_are_waited_for(void **state)
{
	struct m0_lnet_udsp udsp = rule_of(A2, NULL, NULL, "0", NULL);
	char                range[64];
	unsigned            i;

	(void)state;
	crowd_open();
	rule(NULL, "*@tcp", NULL, "3", "0");
	for (i = 0; i < 200; ++i) {
		(void)snprintf(range, sizeof range, "10.200.1.%u@tcp", i);
		assert_int_equal(rule_try(0, NULL, range, NULL, "1", NULL), 0);
	}
	/* The rule named all peers. */
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, 0), 1);
	assert_int_equal(effect_try(&udsp, 0), -EAGAIN);
	rules_settle();
	assert_int_equal(effect_try(&udsp, 0), 0);
	effect_drop();
}

/* The time is printed; the test of the bench is elsewhere. */
static void part_with_many_rules_is_short(void **state)
{
	struct m0_lnet_udsp udsp =
		rule_of(NULL, "10.1.*.*@tcp", NULL, "7", NULL);
	char     range[64];
	unsigned shifts;
	unsigned peers;
	double   worst;
	unsigned i;

	(void)state;
	if (IS_SLOW)
		skip();
	crowd_open();
	for (i = 0; i < RULES_NR; ++i) {
		(void)snprintf(range, sizeof range, "10.%u.%u.*@tcp",
			       100 + i / 100, i % 100);
		assert_int_equal(rule_try(0, NULL, range, NULL, "1", NULL), 0);
	}
	rules_settle();
	assert_int_equal(parts(&udsp, &shifts, &peers, &worst), 0);
	assert_int_equal(peers, PEERS_NR);
	assert_int_equal(shifts, 0);
}

/** Adds rules of interfaces, the most but one, each of which has to be looked at for
 * each NI 10.9.*.*@tcp. */
static void sources_add(void)
{
	char     range[64];
	unsigned i;

	for (i = 1; i < M0_LNET_UDSPS_MAX; ++i) {
		(void)snprintf(range, sizeof range,
			       "10.[8,10].[0-255].[0,255]@tcp[0,%u,%u]",
			       i / 250 + 1, i % 250 + 100);
		assert_int_equal(rule_try(0, range, NULL, NULL, "1", NULL), 0);
	}
	rules_settle();
}

/* The search of the rules for the interfaces costs more than a part may. */
static void interfaces_are_judged_in_parts(void **state)
{
	struct m0_lnet_udsp udsp = rule_of("tcp7", NULL, NULL, "7", NULL);
	struct m0_lnet_udsp other = rule_of("*@tcp7", NULL, NULL, "7", NULL);
	unsigned            tries = 0;
	unsigned            others = 0;
	unsigned            shifts;
	unsigned            peers;
	double              worst;
	int                 rc = -EAGAIN;

	(void)state;
	if (IS_SLOW)
		skip();
	square_open(false);
	nids(0, "10.9.0.1@tcp7 10.9.0.2@tcp7 10.9.0.3@tcp7 10.9.0.4@tcp7");
	put_to(one, B2, 8);
	pair_settle(pair);
	sources_add();
	while (rc == -EAGAIN && ++tries < 100) {
		/* Another question waits, and does not disturb the first one. */
		others += tries > 1 && effect_try(&other, 0) == -EAGAIN;
		rc = effect_try(&udsp, 0);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(tries, 4);
	assert_int_equal(others, 3);
	/* Each part has a peer nevertheless. */
	assert_int_equal(effect->lef_peers_nr, 1);
	assert_false(effect->lef_is_whole);
	effect_drop();
	assert_int_equal(parts(&udsp, &shifts, &peers, &worst), 0);
	assert_int_equal(peers, 2);
	assert_int_equal(shifts, 0);
}

/** Asks again while the interfaces are judged. @return the number of calls. */
static unsigned effect_wait(const struct m0_lnet_udsp *add)
{
	unsigned tries = 1;

	while (effect_try(add, 0) == -EAGAIN && tries < 100)
		++tries;
	assert_non_null(effect);
	return tries;
}

/* The priorities are kept for one change, while rules and interfaces are the same. */
static void interfaces_are_judged_anew(void **state)
{
	struct m0_lnet_udsp udsp = rule_of("tcp7", NULL, NULL, "7", NULL);
	struct m0_lnet_udsp other = rule_of("*@tcp7", NULL, NULL, "7", NULL);
	unsigned            tries;

	(void)state;
	if (IS_SLOW)
		skip();
	square_open(false);
	nids(0, "10.9.0.1@tcp7 10.9.0.2@tcp7 10.9.0.3@tcp7 10.9.0.4@tcp7");
	put_to(one, B2, 8);
	pair_settle(pair);
	sources_add();
	tries = effect_wait(&udsp);
	assert_true(tries > 1);
	assert_int_equal(effect_wait(&udsp), 1);
	assert_int_equal(effect_wait(&other), tries);
	nids(0, "10.9.0.5@tcp7");
	assert_int_equal(effect_wait(&other), tries + 1);
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, 0), 1);
	rules_settle();
	assert_int_equal(effect_wait(&other), tries + 1);
	/* The first question is abandoned after a second. */
	assert_int_equal(effect_try(&udsp, 0), -EAGAIN);
	assert_int_equal(effect_try(&other, 0), -EAGAIN);
	pair_run(pair, 1001);
	assert_int_equal(effect_try(&other, 0), -EAGAIN);
	assert_int_equal(effect_wait(&other), tries);
	effect_drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(rule_of_interfaces_has_its_effect),
		STORY_BARE(rule_of_nids_has_its_effect),
		STORY_BARE(rule_that_prefers_has_its_effect),
		STORY_BARE(single_rail_has_its_paths),
		STORY_BARE(gateways_are_compared),
		STORY_BARE(states_count_and_turns_do_not),
		STORY_BARE(nothing_changes),
		STORY_BARE(nothing_changes_without_memory),
		STORY_BARE(errors_are_those_of_the_change),
		STORY_BARE(many_peers_are_compared_in_parts),
		STORY_BARE(part_after_a_change_is_refused),
		STORY_BARE(rules_that_are_being_applied_are_waited_for),
		STORY_BARE(part_with_many_rules_is_short),
		STORY_BARE(interfaces_are_judged_in_parts),
		STORY_BARE(interfaces_are_judged_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
