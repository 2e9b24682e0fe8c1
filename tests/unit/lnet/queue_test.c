/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Entries that are queues: many MDs, in the order in which they came. */
#include "unit/lnet/story.h"

static struct m0_lnet_md *md_of(struct m0_lnet_me *me, size_t nr,
				int32_t threshold, unsigned options)
{
	return pair_md_attach(one, me, bytes_in, nr, threshold, options, true);
}

static struct m0_lnet_md *on(struct m0_lnet_me *me, int32_t threshold)
{
	return md_of(me, 4096, threshold, M0_LNET_MD_OP_PUT);
}

static struct m0_lnet_me *queue(uint64_t bits, uint64_t ignore)
{
	return pair_me(one, PORTAL, bits, ignore, M0_LNET_ME_QUEUE);
}

static void assert_put_to(uint64_t bits, uint32_t bytes,
			  struct m0_lnet_handle handle)
{
	const struct m0_lnet_event *ev;

	stranger_put(bits, bytes, 0);
	ev = last_event(one);
	assert_int_equal(ev->ev_type, M0_LNET_EV_PUT);
	assert_int_equal(ev->ev_md.lh_slot, handle.lh_slot);
	assert_int_equal(ev->ev_md.lh_gen, handle.lh_gen);
}

/* Each until it is used up; then nobody, until there is another one. */
static void queue_uses_its_mds_in_order(void **state)
{
	static const int32_t  uses[] = { 1, 3, 1, 2 };
	struct m0_lnet_handle h[ARRAY_SIZE(uses)];
	struct m0_lnet_me    *me;
	uint64_t              ignore;
	unsigned              i;
	int32_t               k;

	(void)state;
	for (ignore = 0; ignore < 4; ignore += 3) {
		me = queue(BITS + 16 * ignore, ignore);
		for (i = 0; i < ARRAY_SIZE(uses); ++i)
			h[i] = on(me, uses[i])->md_handle;
		for (i = 0; i < ARRAY_SIZE(uses); ++i) {
			for (k = 1; k <= uses[i]; ++k) {
				assert_put_to(BITS + 16 * ignore, 8, h[i]);
				assert_int_equal(last_event(one)->ev_unlinked,
						 k == uses[i]);
			}
		}
		one->pno_events_nr = 0;
		stranger_put(BITS + 16 * ignore, 8, 0);
		assert_int_equal(one->pno_events_nr, 0);
		h[0] = on(me, 1)->md_handle;
		assert_put_to(BITS + 16 * ignore, 8, h[0]);
	}
	assert_int_equal(stats_of(one)->ls_drop_no_match, 2);
	assert_int_equal(one->pno_mds_nr, 0);
	assert_int_equal(one->pno_mes_nr, 2);
}

/* One that is for GETs, or has too little room, lets the next one have it. */
static void queue_passes_on_what_an_md_does_not_want(void **state)
{
	struct m0_lnet_me    *me = queue(BITS, 0);
	struct m0_lnet_handle small;
	struct m0_lnet_handle large;

	(void)state;
	(void)md_of(me, 4096, 1, M0_LNET_MD_OP_GET);
	small = md_of(me, 10, 1, M0_LNET_MD_OP_PUT | M0_LNET_MD_IF_FITS)
			->md_handle;
	large = on(me, 2)->md_handle;
	assert_put_to(BITS, 11, large);
	assert_put_to(BITS, 10, small);
	assert_put_to(BITS, 10, large);
	assert_int_equal(one->pno_mds_nr, 1);
}

/* An MD that is unlinked leaves those before and behind it where they are. */
static void queue_goes_on_without_one_of_its_mds(void **state)
{
	struct m0_lnet_me    *me = queue(BITS, 0);
	struct m0_lnet_md    *md[3];
	struct m0_lnet_handle h[3];
	unsigned              i;

	(void)state;
	for (i = 0; i < 3; ++i) {
		md[i] = on(me, 1);
		h[i] = md[i]->md_handle;
	}
	m0_lnet_engine_md_unlink(one->pno_engine, md[1]);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(last_event(one)->ev_md.lh_gen, h[1].lh_gen);
	assert_put_to(BITS, 8, h[0]);
	assert_put_to(BITS, 8, h[2]);
	stranger_put(BITS, 8, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* A queue keeps its order among other entries, also while it has no MD. */
static void queue_keeps_its_place_while_empty(void **state)
{
	struct m0_lnet_handle last;
	struct m0_lnet_handle other;
	struct m0_lnet_handle h;
	struct m0_lnet_me    *me;

	(void)state;
	last = on(pair_me(one, PORTAL, BITS, 0, M0_LNET_ME_LAST), -1)
		       ->md_handle;
	me = queue(BITS, 0);
	h = on(me, 1)->md_handle;
	other = on(pair_me(one, PORTAL, BITS, 0, 0), 2)->md_handle;
	assert_put_to(BITS, 8, h);
	assert_put_to(BITS, 8, other);
	h = on(me, 1)->md_handle;
	assert_put_to(BITS, 8, h);
	assert_put_to(BITS, 8, other);
	assert_put_to(BITS, 8, last);
	h = on(me, 1)->md_handle;
	assert_put_to(BITS, 8, h);
}

/* The sender of a message is checked once for all MDs of a queue. */
static void queue_is_for_its_senders(void **state)
{
	struct m0_lnet_me *me = queue(BITS, 0);

	(void)state;
	me->me_attr.mea_id.lp_pid = 77;
	(void)on(me, 1);
	(void)on(me, 1);
	stranger_put(BITS, 8, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	assert_int_equal(one->pno_mds_nr, 2);
}

/* All of them end with it; one that is used up has left it, and ends when it is
 * filled. */
static void queue_unlinked_ends_its_mds(void **state)
{
	struct m0_lnet_me *me = queue(BITS, 0);
	unsigned           i;

	(void)state;
	for (i = 0; i < 4; ++i)
		(void)on(me, 1);
	one->pno_rx_hold = true;
	stranger_put(BITS, 8, 0);
	m0_lnet_engine_me_unlink(one->pno_engine, me);
	pair_settle(pair);
	assert_int_equal(one->pno_mes_nr, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_UNLINK), 3);
	assert_int_equal(one->pno_mds_nr, 1);
	one->pno_rx_hold = false;
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(one->pno_mds_nr, 0);
	stranger_put(BITS, 8, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* As for any entry: the wrong kind for its portal, or a node that closes. */
static void queue_refuses_mds_as_entries_do(void **state)
{
	struct m0_lnet_me *me;

	(void)state;
	(void)queue(BITS, 0);
	me = queue(BITS, 0);
	me->me_state = M0_LNET_ME_BARRED;
	(void)on(me, 1);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(last_event(one)->ev_status, -EPERM);
	me = queue(BITS, 0);
	(void)on(me, 1);
	(void)on(me, 1);
	m0_lnet_engine_shutdown(one->pno_engine, pair->pai_now);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_UNLINK), 3);
	assert_int_equal(one->pno_mes_nr, 0);
	assert_int_equal(one->pno_mds_nr, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY(queue_uses_its_mds_in_order),
		STORY(queue_passes_on_what_an_md_does_not_want),
		STORY(queue_goes_on_without_one_of_its_mds),
		STORY(queue_keeps_its_place_while_empty),
		STORY(queue_is_for_its_senders),
		STORY(queue_unlinked_ends_its_mds),
		STORY(queue_refuses_mds_as_entries_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
