/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Rules of selection, sentence by sentence of the seed on user-defined selection
 * policies. docs/requirements.md lists all sentences; other cases are in
 * policies_test.c, policies_path_test.c and udsp_text_test.c.
 */
#include "unit/lnet/policed.h"

#define A1     "10.0.0.1@tcp"
#define A2     "10.0.0.101@tcp"
#define A3     "10.0.0.201@tcp"
#define B1     "10.0.0.2@tcp"
#define B2     "10.0.0.102@tcp"
#define A_TCP1 "10.1.0.1@tcp1"
#define B_TCP1 "10.1.0.2@tcp1"
#define FAR    "10.1.0.4@tcp1"
#define GW1    "10.0.0.2@tcp"
#define GW2    "10.0.0.3@tcp"

/** Two nodes with these NIDs, which know each other. */
static void both_open(const char *ours, const char *theirs)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	routed_open(2, &cfg);
	nids(0, ours);
	nids(1, theirs);
	put_to(one, B1, 8);
	pair_settle(pair);
}

/* -- a rule ---------------------------------------------------------------- */

/* "src: defines the local NID range for the rule", "dst: defines the peer NID range
 * for the rule": each is compared with objects of its kind, also where the range has
 * NIDs of both. */
static void range_is_compared_with_its_own_kind(void **state)
{
	struct m0_lnet_nid         nid = pair_nid(B2);
	const struct m0_lnet_lpni *lpni;

	(void)state;
	both_open(A1 " " A2, B1 " " B2);
	rule("10.0.0.[101,102]@tcp", NULL, NULL, "0", NULL);
	assert_int_equal(went(4, B1, A2, NULL), 4);
	lpni = m0_lnet__lpni_find(one->pno_engine, &nid);
	assert_int_equal(lpni->lpn_policy.lpp_priority, NONE);
	rule_del(0);
	rule(NULL, "10.0.0.[101,102]@tcp", NULL, "0", NULL);
	assert_int_equal(went(4, B1, NULL, B2), 4);
	assert_int_equal(went(4, B1, A1, NULL), 2);
}

/* "rte: defines the router NID range for the rule": a range that has no router is
 * without effect, whatever peers it has. */
static void rte_is_compared_with_routers(void **state)
{
	(void)state;
	diamond_route(1, 0, 1, 1);
	rule(NULL, FAR, "10.0.0.[4-9]@tcp", NULL, NULL);
	assert_int_equal(went(4, FAR, NULL, GW1), 4);
	rule(NULL, FAR, "10.0.0.[3-9]@tcp", NULL, NULL);
	assert_int_equal(went(4, FAR, NULL, GW2), 4);
}

/* "An action union defines the action to take when the rule is matched": a rule has
 * one action, and the one of its form. */
static void rule_has_the_action_of_its_form(void **state)
{
	static const struct {
		struct m0_lnet_udsp_text row_text;
		uint32_t                 row_action;
	} rows[] = {
		{ { "tcp", NULL, NULL, "1", NULL }, M0_LNET_UDSP_PRIORITY },
		{ { NULL, "tcp", NULL, "1", NULL }, M0_LNET_UDSP_PRIORITY },
		{ { "tcp", "tcp", NULL, NULL, NULL }, M0_LNET_UDSP_PREFER },
		{ { NULL, "tcp1", GW1, NULL, NULL }, M0_LNET_UDSP_PREFER },
	};
	struct m0_lnet_udsp udsp;
	unsigned            i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		assert_int_equal(
			m0_lnet_udsp_parse(&udsp, &rows[i].row_text, NULL), 0);
		assert_int_equal(udsp.lud_action, rows[i].row_action);
		assert_int_equal(m0_lnet_udsp_check(&udsp, NULL), 0);
		udsp.lud_action = 3 - udsp.lud_action;
		assert_int_equal(m0_lnet_udsp_check(&udsp, NULL), -EINVAL);
	}
}

/* -- "The rules are flattened in the LNet structures" ---------------------- */

/* "defines the relative priority of this net compared to others in the system": the
 * order of the numbers counts, not their distance. */
static void net_has_a_priority_relative_to_others(void **state)
{
	(void)state;
	both_open(A1 " " A_TCP1, B1 " " B_TCP1);
	rule("tcp", NULL, NULL, "4000000001", NULL);
	rule("tcp1", NULL, NULL, "4000000000", NULL);
	assert_int_equal(went(4, B1, A_TCP1, NULL), 4);
	rule("tcp", NULL, NULL, "3999999999", NULL);
	assert_int_equal(went(4, B1, A1, NULL), 4);
}

/* "the relative priority of this NI compared to other NIs in the net": its own number
 * does not lift it over an interface of a better network. */
static void ni_has_a_priority_within_its_net(void **state)
{
	(void)state;
	both_open(A1 " " A2 " " A_TCP1, B1 " " B_TCP1);
	rule(A2, NULL, NULL, "7", NULL);
	rule(A1, NULL, NULL, "8", NULL);
	rule("tcp", NULL, NULL, "5", NULL);
	rule(A_TCP1, NULL, NULL, "0", NULL);
	assert_int_equal(went(4, B1, A2, NULL), 4);
}

/* "the relative priority of this peer net compared to others in the system" */
static void peer_net_has_a_priority_relative_to_others(void **state)
{
	(void)state;
	both_open(A1 " " A_TCP1, B1 " " B_TCP1);
	rule(NULL, "tcp1", NULL, "1", NULL);
	assert_int_equal(went(4, B1, NULL, B_TCP1), 4);
	rule(NULL, "tcp", NULL, "0", NULL);
	assert_int_equal(went(4, B1, NULL, B1), 4);
}

/* "the relative peer_ni priority compared to other peer_nis in the peer": a number of
 * another peer is without effect. */
static void peer_ni_has_a_priority_within_its_peer(void **state)
{
	(void)state;
	both_open(A1, B1 " " B2);
	rule(NULL, "10.0.0.9@tcp", NULL, "0", NULL);
	assert_int_equal(went(4, B1, NULL, B1), 2);
	rule(NULL, B2, NULL, "9", NULL);
	assert_int_equal(went(4, B1, NULL, B2), 4);
}

/* "the list of local NID(s) (>=1) which should be used as the source": those of the
 * list take turns, and another one is not used. */
static void local_nids_of_the_list_are_the_source(void **state)
{
	(void)state;
	both_open(A1 " " A2 " " A3, B1);
	rule(A2, "10.0.0.*@tcp", NULL, NULL, NULL);
	assert_int_equal(went(4, B1, A2, NULL), 4);
	rule(A3, B1, NULL, NULL, NULL);
	assert_int_equal(went(8, B1, A1, NULL), 0);
	assert_int_equal(went(8, B1, A2, NULL), 4);
}

/* "the list of router NID(s) to be used when sending to this peer NI if the peer NI is
 * remote": those of the list take turns; a peer NI that is near is not sent to by
 * them. */
static void router_nids_of_the_list_are_used_if_remote(void **state)
{
	(void)state;
	diamond_route(1, 0, 1, 1);
	rule(NULL, FAR, GW2, NULL, NULL);
	assert_int_equal(went(4, FAR, NULL, GW2), 4);
	rule(NULL, "10.1.0.*@tcp1", GW1, NULL, NULL);
	/* Both are in the list, so the priority of the routes counts. */
	assert_int_equal(went(4, FAR, NULL, GW1), 4);
	rule(NULL, GW1, GW2, NULL, NULL);
	assert_int_equal(went(4, GW1, NULL, GW1), 4);
}

/* -- marshalled rules ------------------------------------------------------ */

static uint32_t marshalled(const char *src, const char *dst, const char *rte,
			   uint8_t *bulk)
{
	const struct m0_lnet_udsp_text text = { src, dst, rte, NULL, NULL };
	struct m0_lnet_udsp            udsp;
	uint32_t                       bytes = M0_LNET_UDSP_BYTES_MAX;

	assert_int_equal(m0_lnet_udsp_parse(&udsp, &text, NULL), 0);
	assert_int_equal(m0_lnet_udsp_marshal(&udsp, &bytes, bulk), 0);
	return bytes;
}

static uint32_t word(const uint8_t *bulk, uint32_t at)
{
	uint32_t ret;

	memcpy(&ret, bulk + at, sizeof ret);
	return ret;
}

/** Returns the offset of a descriptor: 32 is that of the first. */
static uint32_t tag_at(const uint8_t *bulk, uint32_t bytes, const char *tag)
{
	uint32_t at;

	for (at = 32; at < bytes; at += 4)
		if (memcmp(bulk + at, tag, 4) == 0)
			return at;
	fail_msg("no %s", tag);
	return 0;
}

/* "The corresponding [...] count is set to the number of expressions describing the
 * address", "For IP address there are 4 of these [...] gemini will only have one":
 * and none where there is only a network, or nothing. */
static void count_is_that_of_the_expressions(void **state)
{
	uint8_t  bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t bytes;

	(void)state;
	bytes = marshalled("[1-9/2]@gni", "10.0.0.[1-4]@tcp", NULL, bulk);
	assert_int_equal(word(bulk, tag_at(bulk, bytes, "SRC") + 4), 1);
	assert_int_equal(word(bulk, tag_at(bulk, bytes, "DST") + 4), 4);
	assert_int_equal(word(bulk, tag_at(bulk, bytes, "RTE") + 4), 0);
	bytes = marshalled("tcp", NULL, NULL, bulk);
	assert_int_equal(word(bulk, tag_at(bulk, bytes, "SRC") + 4), 0);
}

/* "They matching expressions need to follow this exact order: SRC, DST, RTE." */
static void descriptors_follow_in_their_order(void **state)
{
	uint8_t             bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t            bytes = marshalled(NULL, FAR, GW1, bulk);
	uint32_t            dst = tag_at(bulk, bytes, "DST");
	uint32_t            rte = tag_at(bulk, bytes, "RTE");
	uint8_t             other[M0_LNET_UDSP_BYTES_MAX];
	struct m0_lnet_udsp udsp;
	char                why[M0_LNET_WHY_BYTES];

	(void)state;
	assert_int_equal(tag_at(bulk, bytes, "SRC"), 32);
	assert_true(32 < dst && dst < rte);
	/* RTE before DST. */
	memcpy(other, bulk, bytes);
	memcpy(other + dst, bulk + rte, bytes - rte);
	memcpy(other + dst + bytes - rte, bulk + dst, rte - dst);
	assert_int_equal(m0_lnet_udsp_unmarshal(other, bytes, &udsp, why),
			 -EPROTO);
	assert_non_null(strstr(why, "the tag is not DST"));
}

/* "Using a 4 byte value that contains ascii letters, which serve as magic values, can
 * be help in rebuilding a system's information in case of corruption": a rule is found
 * in memory of which nothing else is known. */
static void rule_is_found_by_its_magic(void **state)
{
	uint8_t  memory[4096];
	uint8_t  bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t bytes = marshalled(A1, "10.0.0.[2-9/2]@tcp", NULL, bulk);
	uint32_t found = 0;
	uint32_t at;
	uint32_t i;
	struct m0_lnet_udsp udsp;

	(void)state;
	for (i = 0; i < sizeof memory; ++i)
		memory[i] = (uint8_t)(i * 37 + i / 256);
	memcpy(memory + 1001, bulk, bytes);
	for (at = 32; at + 4 <= sizeof memory; ++at) {
		if (memcmp(memory + at, "SRC", 4) != 0)
			continue;
		assert_int_equal(m0_lnet_udsp_unmarshal(memory + at - 32,
							word(memory, at - 32),
							&udsp, NULL),
				 0);
		++found;
	}
	assert_int_equal(found, 1);
	assert_int_equal(udsp.lud_dst.lnr_ranges[3].lrg_stride, 2);
}

/* "Given the UDSP return the size needed to store the marshalled UDSP", "Given a bulk
 * containing a single UDSP, demarshal and populate the udsp structure provided": with
 * a byte less or more there is no rule, and the structure may have held anything. */
static void size_is_exact_and_the_structure_is_filled(void **state)
{
	uint8_t             bulk[M0_LNET_UDSP_BYTES_MAX + 1] = {};
	uint32_t            bytes = marshalled("tcp[1-3]", NULL, NULL, bulk);
	struct m0_lnet_udsp udsp;
	struct m0_lnet_udsp again;

	(void)state;
	memset(&udsp, 0xa5, sizeof udsp);
	memset(&again, 0, sizeof again);
	assert_int_equal(m0_lnet_udsp_unmarshal(bulk, bytes, &udsp, NULL), 0);
	assert_int_equal(m0_lnet_udsp_size(&udsp), bytes);
	assert_int_equal(m0_lnet_udsp_unmarshal(bulk, bytes, &again, NULL), 0);
	assert_memory_equal(&udsp, &again, sizeof udsp);
	assert_int_equal(m0_lnet_udsp_unmarshal(bulk, bytes - 1, &udsp, NULL),
			 -EPROTO);
	assert_int_equal(m0_lnet_udsp_unmarshal(bulk, bytes + 1, &udsp, NULL),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(range_is_compared_with_its_own_kind),
		STORY_BARE(rte_is_compared_with_routers),
		cmocka_unit_test(rule_has_the_action_of_its_form),
		STORY_BARE(net_has_a_priority_relative_to_others),
		STORY_BARE(ni_has_a_priority_within_its_net),
		STORY_BARE(peer_net_has_a_priority_relative_to_others),
		STORY_BARE(peer_ni_has_a_priority_within_its_peer),
		STORY_BARE(local_nids_of_the_list_are_the_source),
		STORY_BARE(router_nids_of_the_list_are_used_if_remote),
		cmocka_unit_test(count_is_that_of_the_expressions),
		cmocka_unit_test(descriptors_follow_in_their_order),
		cmocka_unit_test(rule_is_found_by_its_magic),
		cmocka_unit_test(size_is_exact_and_the_structure_is_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
