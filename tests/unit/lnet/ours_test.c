/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Flags of entries and MDs that Lustre does not have. */
#include "unit/lnet/story.h"

static struct m0_lnet_handle put_md(struct m0_lnet_me *me, size_t nr,
				    unsigned options)
{
	return pair_md_attach(one, me, bytes_in, nr, -1,
			      M0_LNET_MD_OP_PUT | options, false)
		->md_handle;
}

static void assert_taken_by(struct m0_lnet_handle handle)
{
	const struct m0_lnet_event *ev = last_event(one);

	assert_int_equal(ev->ev_type, M0_LNET_EV_PUT);
	assert_int_equal(ev->ev_md.lh_gen, handle.lh_gen);
}

/* LAST comes after all that come later; with BEFORE just before those. */
static void last_entry_stays_behind_later_ones(void **state)
{
	struct m0_lnet_handle last;
	struct m0_lnet_handle stage;
	struct m0_lnet_me    *me;

	(void)state;
	last = put_md(pair_me(one, PORTAL, BITS, 0, M0_LNET_ME_LAST), 4096, 0);
	stage = put_md(pair_me(one, PORTAL, BITS, 0,
			       M0_LNET_ME_LAST | M0_LNET_ME_BEFORE),
		       64, M0_LNET_MD_IF_FITS);
	stranger_put(BITS, 8, 0);
	assert_taken_by(stage);
	stranger_put(BITS, 65, 0);
	assert_taken_by(last);
	me = pair_me(one, PORTAL, BITS, 0, 0);
	{
		struct m0_lnet_handle later = put_md(me, 4096, 0);

		stranger_put(BITS, 8, 0);
		assert_taken_by(later);
	}
	m0_lnet_engine_me_unlink(one->pno_engine, me);
	stranger_put(BITS, 8, 0);
	assert_taken_by(stage);
}

/* IF_FITS passes on what is too long for what is left of it. */
static void if_fits_asks_the_next_entry(void **state)
{
	struct m0_lnet_handle small;
	struct m0_lnet_handle large;

	(void)state;
	small = put_md(pair_me(one, PORTAL, BITS, 0, 0), 100,
		       M0_LNET_MD_IF_FITS);
	large = put_md(pair_me(one, PORTAL, BITS, 0, 0), 4096, 0);
	stranger_put(BITS, 101, 0);
	assert_taken_by(large);
	stranger_put(BITS, 60, 0);
	assert_taken_by(small);
	stranger_put(BITS, 41, 0);
	assert_taken_by(large);
	stranger_put(BITS, 40, 0);
	assert_taken_by(small);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 0);
}

/* If nobody has room it is a message without a match, not one too long. */
static void if_fits_alone_matches_nothing(void **state)
{
	(void)state;
	(void)put_md(pair_me(one, PORTAL, BITS, 0, 0), 100, M0_LNET_MD_IF_FITS);
	stranger_put(BITS, 101, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 0);
}

/* MIN_ROOM ends as MAX_SIZE does, but bounds no message. */
static void min_room_takes_longer_messages(void **state)
{
	struct m0_lnet_md *md;

	(void)state;
	md = pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_in,
			    1000, -1, M0_LNET_MD_OP_PUT | M0_LNET_MD_MIN_ROOM,
			    true);
	md->md_attr.mda_max_size = 200;
	stranger_put(BITS, 500, 0);
	assert_false(last_event(one)->ev_unlinked);
	stranger_put(BITS, 300, 0);
	assert_int_equal(last_event(one)->ev_offset, 500);
	assert_false(last_event(one)->ev_unlinked);
	stranger_put(BITS, 1, 0);
	assert_int_equal(last_event(one)->ev_offset, 800);
	assert_true(last_event(one)->ev_unlinked);
}

/* An MD that begins within its vector touches nothing before that. */
static void vec_offset_is_where_the_md_begins(void **state)
{
	struct m0_lnet_md *md;
	uint8_t            zero[100] = { 0 };

	(void)state;
	md = pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_in,
			    4096, -1, M0_LNET_MD_OP_PUT, true);
	md->md_attr.mda_vec_offset = 100;
	md->md_attr.mda_length = 50;
	stranger_put(BITS, 51, 0);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 1);
	stranger_put(BITS, 50, 0);
	assert_int_equal(last_event(one)->ev_offset, 0);
	assert_memory_equal(bytes_in, zero, 100);
	assert_memory_equal(bytes_in + 100, bytes_out, 50);
	assert_int_equal(bytes_in[150], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(last_entry_stays_behind_later_ones),
		STORY(if_fits_asks_the_next_entry),
		STORY(if_fits_alone_matches_nothing),
		STORY(min_room_takes_longer_messages),
		STORY(vec_offset_is_where_the_md_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
