/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Explanation of the path of a message. */
#include "unit/lnet/routed.h"

static struct m0_lnet_explain *told;

static int explain_try(const char *dest, const char *from)
{
	struct m0_lnet_nid to = pair_nid(dest);
	struct m0_lnet_nid by = from == NULL ? m0_lnet_nid_any : pair_nid(from);

	m0_free(told);
	told = NULL;
	return m0_lnet_engine_explain(one->pno_engine, &to, &by, &told);
}

static void explain(const char *dest)
{
	assert_int_equal(explain_try(dest, NULL), 0);
}

/** The i-th path, which leaves by these NIDs. */
static const struct m0_lnet_path_info *path_at(unsigned i, const char *ni,
					       const char *hop)
{
	assert_true(i < told->lex_paths_nr);
	if (ni == NULL)
		assert_true(m0_lnet_nid_is_any(&told->lex_paths[i].lpa_ni));
	else
		assert_nid(&told->lex_paths[i].lpa_ni, ni);
	assert_nid(&told->lex_paths[i].lpa_hop, hop);
	return &told->lex_paths[i];
}

static void won(unsigned i, const char *ni, const char *hop)
{
	assert_true(path_at(i, ni, hop)->lpa_won);
	assert_true(told->lex_paths[i].lpa_compared);
	assert_string_equal(told->lex_paths[i].lpa_lost_by, "");
}

static void lost(unsigned i, const char *ni, const char *hop, const char *by)
{
	assert_false(path_at(i, ni, hop)->lpa_won);
	assert_true(told->lex_paths[i].lpa_compared);
	assert_string_equal(told->lex_paths[i].lpa_lost_by, by);
}

static void unused(unsigned i, const char *ni, const char *hop, const char *by)
{
	assert_false(path_at(i, ni, hop)->lpa_won);
	assert_false(told->lex_paths[i].lpa_compared);
	assert_string_equal(told->lex_paths[i].lpa_lost_by, by);
}

static void teardown_told(void)
{
	m0_free(told);
	told = NULL;
}

static void routes_stand_with_the_criterion(void **state)
{
	(void)state;
	diamond_route(3, 1, 2, 0);
	explain("10.1.0.4@tcp1");
	assert_int_equal(told->lex_status, 0);
	assert_int_equal(told->lex_paths_nr, 2);
	lost(0, "10.0.0.1@tcp", "10.0.0.2@tcp",
	     "the priority of the route is worse");
	won(1, "10.0.0.1@tcp", "10.0.0.3@tcp");
	assert_true(told->lex_paths[0].lpa_is_routed);
	assert_int_equal(told->lex_paths[0].lpa_route.lra_hops, 3);
	assert_int_equal(told->lex_paths[0].lpa_route.lra_priority, 1);
	assert_nid(&told->lex_paths[1].lpa_dest, "10.1.0.4@tcp1");
	assert_int_equal(told->lex_paths[1].lpa_hop_credits, 8);
	assert_int_equal(told->lex_paths[1].lpa_hop_health, M0_LNET_HEALTH_MAX);
	teardown_told();
}

static void route_that_is_down_stands_with_its_reason(void **state)
{
	(void)state;
	diamond_open(NULL);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(0, "tcp1", "10.0.0.3@tcp");
	pair_settle(pair);
	routing(1, false);
	pair_settle(pair);
	explain("10.1.0.4@tcp1");
	assert_int_equal(told->lex_paths_nr, 2);
	won(0, "10.0.0.1@tcp", "10.0.0.3@tcp");
	unused(1, NULL, "10.0.0.2@tcp",
	       m0_lnet_route_why_text(M0_LNET_ROUTE_NOT_ROUTING));
	routing(2, false);
	pair_settle(pair);
	explain("10.1.0.4@tcp1");
	assert_int_equal(told->lex_status, -EHOSTUNREACH);
	assert_int_equal(told->lex_paths_nr, 2);
	assert_string_equal(told->lex_note, "no route to the network of the "
					    "destination can be used");
	teardown_told();
}

static void net_without_a_route_is_said(void **state)
{
	(void)state;
	diamond_route(0, 0, 0, 0);
	explain("10.7.0.4@tcp7");
	assert_int_equal(told->lex_status, -EHOSTUNREACH);
	assert_int_equal(told->lex_paths_nr, 1);
	unused(0, NULL, "10.7.0.4@tcp7",
	       "no interface is on its network, and there is no route to it");
	assert_false(told->lex_known);
	teardown_told();
}

/** Two nodes with two NIDs each on one network, which know each other. */
static void rails_open(const struct m0_lnet_engine_cfg *cfg)
{
	routed_open(2, cfg);
	nids(0, "10.0.0.1@tcp 10.0.0.11@tcp");
	nids(1, "10.0.0.2@tcp 10.0.0.22@tcp");
	put_to(one, "10.0.0.2@tcp", 8);
	pair_settle(pair);
}

static void pairs_of_rails_are_compared(void **state)
{
	(void)state;
	rails_open(NULL);
	explain("10.0.0.22@tcp");
	assert_true(told->lex_known && told->lex_multi_rail);
	assert_false(told->lex_discovers);
	assert_nid(&told->lex_primary, "10.0.0.2@tcp");
	assert_int_equal(told->lex_paths_nr, 4);
	teardown_told();
}

static void interface_that_the_sender_names_is_said(void **state)
{
	(void)state;
	rails_open(NULL);
	assert_int_equal(explain_try("10.0.0.2@tcp", "10.0.0.11@tcp"), 0);
	won(0, "10.0.0.11@tcp", "10.0.0.2@tcp");
	unused(1, "10.0.0.1@tcp", "10.0.0.2@tcp",
	       "the sender names another interface");
	assert_string_equal(told->lex_note, "the sender names the interface");
	assert_int_equal(explain_try("10.0.0.2@tcp", "10.0.0.99@tcp"), -EINVAL);
	assert_int_equal(explain_try("10.0.0.99@tcp", "10.0.0.99@tcp"),
			 -EINVAL);
	teardown_told();
}

/* Another interface reaches the destination, which the node knows, or not. */
static void interface_that_reaches_nothing_is_said(void **state)
{
	struct m0_lnet_nid nid = pair_nid("10.0.0.1@tcp");
	struct m0_lnet_ni *ni;
	unsigned           i;

	(void)state;
	routed_open(2, NULL);
	nids(0, "10.0.0.1@tcp 10.3.0.1@tcp3");
	nids(1, "10.0.0.2@tcp");
	for (i = 0; i < 2; ++i) {
		assert_int_equal(explain_try("10.0.0.2@tcp", "10.3.0.1@tcp3"),
				 0);
		assert_int_equal(told->lex_known, i);
		assert_int_equal(told->lex_status, -EHOSTUNREACH);
		assert_string_equal(told->lex_note,
				    "the interface that the sender names does "
				    "not reach the destination; another one "
				    "does");
		unused(0, "10.0.0.1@tcp", "10.0.0.2@tcp",
		       "the sender names another interface");
		put_to(one, "10.0.0.2@tcp", 8);
		pair_settle(pair);
	}
	assert_int_equal(explain_try("10.7.0.2@tcp7", "10.3.0.1@tcp3"), 0);
	assert_string_equal(told->lex_note,
			    "no interface is on the network of the "
			    "destination, and there is no route to it");
	ni = m0_lnet__ni_find(one->pno_engine, &nid);
	ni->lni_stopping = true;
	explain("10.0.0.3@tcp");
	ni->lni_stopping = false;
	assert_string_equal(told->lex_note,
			    "no interface on the network of the destination "
			    "can be used");
	unused(0, "10.0.0.1@tcp", "10.0.0.3@tcp",
	       "the interface is starting or stopping");
	teardown_told();
}

static void kept_interface_of_a_plain_peer_is_said(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	rails_open(&cfg);
	explain("10.0.0.2@tcp");
	assert_true(told->lex_known);
	assert_false(told->lex_multi_rail);
	assert_int_equal(told->lex_paths_nr, 2);
	won(0, "10.0.0.1@tcp", "10.0.0.2@tcp");
	unused(1, "10.0.0.11@tcp", "10.0.0.2@tcp",
	       "the peer is not Multi-Rail, and knows this node by another "
	       "interface");
	teardown_told();
}

static void peer_that_is_not_known_is_discovered(void **state)
{
	(void)state;
	routed_open(2, NULL);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp");
	explain("10.0.0.2@tcp");
	assert_false(told->lex_known);
	assert_true(told->lex_discovers);
	assert_int_equal(told->lex_paths_nr, 1);
	won(0, "10.0.0.1@tcp", "10.0.0.2@tcp");
	assert_null(lpni_of(one, "10.0.0.2@tcp"));
	/* Nothing is invented for the record that there is not. */
	assert_false(told->lex_paths[0].lpa_hop_known);
	assert_int_equal(told->lex_paths[0].lpa_hop_health, 0);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_settle(pair);
	explain("10.0.0.2@tcp");
	assert_true(told->lex_paths[0].lpa_hop_known);
	assert_int_equal(told->lex_paths[0].lpa_hop_health, M0_LNET_HEALTH_MAX);
	assert_int_equal(told->lex_paths[0].lpa_hop_credits, 8);
	teardown_told();
}

/* As a message would: with a record of the peer, and without. */
static void sender_on_an_interface_that_stops_is_refused(void **state)
{
	struct m0_lnet_nid nid = pair_nid("10.0.0.11@tcp");
	struct m0_lnet_ni *ni;
	unsigned           i;

	(void)state;
	routed_open(2, NULL);
	nids(0, "10.0.0.1@tcp 10.0.0.11@tcp");
	nids(1, "10.0.0.2@tcp");
	for (i = 0; i < 2; ++i) {
		ni = m0_lnet__ni_find(one->pno_engine, &nid);
		ni->lni_stopping = true;
		assert_int_equal(explain_try("10.0.0.2@tcp", "10.0.0.11@tcp"),
				 -ENETDOWN);
		ni->lni_stopping = false;
		put_to(one, "10.0.0.2@tcp", 8);
		pair_settle(pair);
	}
	teardown_told();
}

static void node_reaches_itself(void **state)
{
	(void)state;
	rails_open(NULL);
	explain("10.0.0.11@tcp");
	assert_string_equal(told->lex_note,
			    "the destination is this node itself");
	assert_int_equal(explain_try("*", NULL), -EINVAL);
	teardown_told();
}

/** Index of the path that has won. */
static const struct m0_lnet_path_info *winner(void)
{
	unsigned i;

	for (i = 0; i < told->lex_paths_nr; ++i)
		if (told->lex_paths[i].lpa_won)
			return &told->lex_paths[i];
	fail();
	return NULL;
}

/** Sends a message, and compares its path with the one that was explained. */
static void put_as_explained(const char *dest)
{
	unsigned                 nr = pair_frames_nr(pair, 0, M0_LNET_PUT);
	const struct pair_frame *frame;
	const struct m0_lnet_path_info *path;

	explain(dest);
	path = winner();
	put_to(one, dest, 8);
	pair_settle(pair);
	frame = pair_frame(pair, 0, M0_LNET_PUT, nr);
	assert_non_null(frame);
	assert_true(m0_lnet_nid_eq(&frame->pfr_hop, &path->lpa_hop));
	assert_true(m0_lnet_nid_eq(&frame->pfr_hdr.lhd_src_nid, &path->lpa_ni));
	assert_true(
		m0_lnet_nid_eq(&frame->pfr_hdr.lhd_dest_nid, &path->lpa_dest));
}

static void message_takes_the_path_that_was_explained(void **state)
{
	unsigned i;

	(void)state;
	diamond_route(0, 0, 0, 0);
	for (i = 0; i < 5; ++i)
		put_as_explained("10.1.0.4@tcp1");
	pair_close(pair);
	rails_open(NULL);
	for (i = 0; i < 9; ++i)
		put_as_explained("10.0.0.2@tcp");
	teardown_told();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(routes_stand_with_the_criterion),
		STORY_BARE(route_that_is_down_stands_with_its_reason),
		STORY_BARE(net_without_a_route_is_said),
		STORY_BARE(pairs_of_rails_are_compared),
		STORY_BARE(interface_that_the_sender_names_is_said),
		STORY_BARE(interface_that_reaches_nothing_is_said),
		STORY_BARE(kept_interface_of_a_plain_peer_is_said),
		STORY_BARE(peer_that_is_not_known_is_discovered),
		STORY_BARE(sender_on_an_interface_that_stops_is_refused),
		STORY_BARE(node_reaches_itself),
		STORY_BARE(message_takes_the_path_that_was_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
