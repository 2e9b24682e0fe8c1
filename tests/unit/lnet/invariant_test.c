/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Invariants of the engine hold at rest and after traffic, and each of them
 * notices a broken object. A message changes its state only as it may.
 */
#include "unit/lnet/story.h"

static void invariants_hold_and_notice(void **state)
{
	struct m0_lnet_engine *eng;
	struct m0_lnet_ni     *ni;
	struct m0_lnet_lpni   *lpni;
	struct m0_lnet_peer   *peer;

	(void)state;
	story_open(2, NULL);
	sink_post(two);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	eng = one->pno_engine;
	lpni = lpni_of(one, "10.0.0.2@tcp");
	peer = lpni->lpn_peer;
	ni = container_of(one->pno_ni[1], struct m0_lnet_ni, lni_lnd);
	assert_true(m0_lnet__engine_invariant(eng));
	assert_true(m0_lnet__ni_invariant(ni));
	assert_true(m0_lnet__lpni_invariant(lpni));
	assert_true(m0_lnet__peer_invariant(peer));
	++ni->lni_credits;
	assert_false(m0_lnet__ni_invariant(ni));
	--ni->lni_credits;
	lpni->lpn_answers_nr = lpni->lpn_refs_nr + 1;
	assert_false(m0_lnet__lpni_invariant(lpni));
	lpni->lpn_answers_nr = 0;
	peer->lpe_primary = m0_lnet_nid_any;
	assert_false(m0_lnet__peer_invariant(peer));
	peer->lpe_primary = lpni->lpn_nid;
	++eng->le_stats.ls_rst_alloc;
	assert_false(m0_lnet__engine_invariant(eng));
	--eng->le_stats.ls_rst_alloc;
}

static void md_and_message_invariants_notice(void **state)
{
	struct m0_lnet_engine *eng;
	struct m0_lnet_md     *md;
	struct m0_lnet_msg    *msg;

	(void)state;
	story_open(1, NULL);
	eng = one->pno_engine;
	md = pair_md_bind(one, bytes_out, 8, 1, 0);
	assert_true(m0_lnet__md_invariant(md));
	md->md_aborted = true;
	assert_false(m0_lnet__md_invariant(md));
	md->md_aborted = false;
	msg = m0_lnet__msg_new(eng);
	assert_non_null(msg);
	assert_true(m0_lnet__msg_invariant(msg));
	msg->msg_op.mop_waits = true;
	assert_false(m0_lnet__msg_invariant(msg));
	msg->msg_op.mop_waits = false;
	m0_lnet__msg_put(msg);
	m0_lnet_engine_md_unlink(eng, md);
}

/* Each state has states that follow it; debug builds check that no other state
 * is reached. */
static void message_state_follows_the_table(void **state)
{
	struct m0_lnet_msg *msg;

	(void)state;
	story_open(1, NULL);
	msg = m0_lnet__msg_new(one->pno_engine);
	assert_non_null(msg);
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_COMING);
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_PEER_QUEUE);
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_NI_QUEUE);
#ifdef M0_DEBUG_CHECKS
	assert_panics((m0_lnet__msg_state_set(msg, M0_LNET_MSG_PEER_QUEUE), 0));
	assert_panics((m0_lnet__msg_state_set(msg, M0_LNET_MSG_COMING), 0));
#endif
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_LEAVING);
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_SENT);
#ifdef M0_DEBUG_CHECKS
	assert_panics((m0_lnet__msg_state_set(msg, M0_LNET_MSG_LEAVING), 0));
	assert_panics((m0_lnet__msg_state_set(msg, M0_LNET_MSG_FREE), 0));
#endif
	m0_lnet__msg_put(msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(invariants_hold_and_notice),
		STORY_BARE(md_and_message_invariants_notice),
		STORY_BARE(message_state_follows_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
