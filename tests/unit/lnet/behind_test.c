/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A message that is faster than its entry: the owner has the entry, and has not given
 * it to the engine yet. */
#include "unit/lnet/story.h"

/* Sets whether the owner has entries that the engine has not received. */
static void behind(bool behind)
{
	one->pno_behind = behind;
	if (!behind)
		++one->pno_takes_nr;
}

static void stranger_get(uint64_t bits, uint32_t nr)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);

	hdr.lhd_match_bits = bits;
	hdr.lhd_length = nr;
	memset(&hdr.lhd_wmd, 7, sizeof hdr.lhd_wmd);
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
}

/* A PUT finds what was attached before it came. */
static void put_awaits_the_entry(void **state)
{
	(void)state;
	behind(true);
	stranger_put(BITS, 8, 0);
	assert_int_equal(one->pno_events_nr, 0);
	assert_int_equal(stats_of(one)->ls_drop_count, 0);
	(void)sink(one, BITS, -1, 0);
	behind(false);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
	assert_int_equal(last_event(one)->ev_mlength, 8);
	assert_memory_equal(bytes_in, bytes_out, 8);
	assert_int_equal(stats_of(one)->ls_drop_count, 0);
}

/* And so does a GET. */
static void get_awaits_the_entry(void **state)
{
	(void)state;
	behind(true);
	stranger_get(BITS, 8);
	assert_int_equal(stats_of(one)->ls_drop_count, 0);
	(void)pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_out,
			     64, -1, M0_LNET_MD_OP_GET, false);
	behind(false);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_GET);
	assert_int_equal(stats_of(one)->ls_drop_count, 0);
}

/* An entry for what no other takes does not take what another is coming for. */
static void last_entry_leaves_it_to_one_that_comes(void **state)
{
	struct m0_lnet_handle handle;

	(void)state;
	(void)pair_md_attach(one,
			     pair_me(one, PORTAL, BITS, 0, M0_LNET_ME_LAST),
			     bytes_in, 64, -1, M0_LNET_MD_OP_PUT, false);
	behind(true);
	stranger_put(BITS, 8, 0);
	assert_int_equal(one->pno_events_nr, 0);
	handle = sink(one, BITS, 1, 0)->md_handle;
	behind(false);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_md.lh_gen, handle.lh_gen);
	/* None is coming: the next is for the last entry, and again waits. */
	stranger_put(BITS, 8, 0);
	assert_int_equal(one->pno_events_nr, 2);
	behind(true);
	stranger_put(BITS, 8, 0);
	assert_int_equal(one->pno_events_nr, 2);
	behind(false);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 3);
	assert_int_not_equal(last_event(one)->ev_md.lh_gen, handle.lh_gen);
}

/* A message that finds its entry does not wait for others. */
static void match_waits_for_nothing(void **state)
{
	(void)state;
	(void)sink(one, BITS, -1, 0);
	behind(true);
	stranger_put(BITS, 8, 0);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
	assert_int_equal(one->pno_again_nr, 0);
	behind(false);
}

/* No entry comes: it is dropped, after one pass, though the owner is behind
 * again; and so is the next, for which there is another pass. */
static void message_for_nobody_is_dropped_in_the_next_pass(void **state)
{
	unsigned i;

	(void)state;
	one->pno_behind = true;
	for (i = 1; i <= 3; ++i) {
		stranger_put(BITS, 8, 0);
		assert_int_equal(stats_of(one)->ls_drop_no_match, i - 1);
		++one->pno_takes_nr;
		pair_settle(pair);
		assert_int_equal(stats_of(one)->ls_drop_no_match, i);
		assert_int_equal(stats_of(one)->ls_drop_count, i);
	}
	assert_int_equal(one->pno_msgs_nr, 0);
	behind(false);
	stranger_put(BITS, 8, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 4);
}

/* Messages for our own portal are not put off. Those of this node to itself are: another process of it
 * may have attached their entry. */
static void no_entry_comes_for_the_own_portal(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 8);

	(void)state;
	behind(true);
	hdr.lhd_portal = M0_LNET_PORTAL_RESERVED;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	assert_int_equal(one->pno_again_nr, 0);
	pair_put(one, pair_md_bind(one, bytes_out, 8, 1, 0), "0@lo", PORTAL,
		 BITS, false);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	behind(false);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY(put_awaits_the_entry),
		STORY(get_awaits_the_entry),
		STORY(last_entry_leaves_it_to_one_that_comes),
		STORY(match_waits_for_nothing),
		STORY(message_for_nobody_is_dropped_in_the_next_pass),
		STORY(no_entry_comes_for_the_own_portal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
