/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Events on their way: their references, and events of the engine's own MDs. */
#include "unit/lnet/story.h"

static unsigned             own_nr;
static struct m0_lnet_event own_last;

static void own_done(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		     const struct m0_lnet_event *ev)
{
	(void)eng;
	(void)md;
	++own_nr;
	own_last = *ev;
}

static struct m0_lnet_md own_md(int32_t threshold)
{
	own_nr = 0;
	return (struct m0_lnet_md){
		.md_attr = { .mda_threshold = threshold,
			     .mda_auto_unlink = true },
		.md_done = own_done,
	};
}

/* The owner has a copy of an event: the message is the owner's again before the
 * application has had its events. */
static void event_holds_no_message(void **state)
{
	(void)state;
	(void)sink(one, BITS, -1, 0);
	one->pno_keep = true;
	stranger_put(BITS, 4, 0);
	assert_int_equal(one->pno_msgs_nr, 0);
	assert_true(one->pno_posted->pev_has_msg);
	assert_null(one->pno_posted->pev_ended);
	one->pno_keep = false;
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
}

/* An operation has two events, and one message until the second. */
static void operation_has_one_message(void **state)
{
	(void)state;
	(void)sink(two, BITS, -1, 0);
	one->pno_keep = true;
	pair_put(one, pair_md_bind(one, bytes_out, 8, 2, 0), "10.0.0.2@tcp",
		 PORTAL, BITS, true);
	assert_int_equal(one->pno_msgs_nr, 1);
	pair_settle(pair);
	assert_int_equal(one->pno_msgs_nr, 0);
	one->pno_keep = false;
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 2);
}

/* The event that ends an idle MD is about no message. */
static void last_event_names_its_md(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, -1, 0);

	(void)state;
	one->pno_keep = true;
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	assert_ptr_equal(one->pno_posted->pev_ended, md);
	assert_int_equal(one->pno_posted->pev_eq, PAIR_EQ);
	assert_false(one->pno_posted->pev_has_msg);
	one->pno_keep = false;
	pair_settle(pair);
}

/* The engine's own MDs: told at once, the owner hears nothing, nothing of theirs
 * is counted as the application's. */
static void own_md_is_told_at_once(void **state)
{
	struct m0_lnet_md md = own_md(2);

	(void)state;
	m0_lnet_engine_md_bind(one->pno_engine, &md);
	assert_true(m0_lnet_engine_is_quiet(one->pno_engine));
	pair->pai_hook = all_lost;
	pair_put(one, &md, STRANGER, PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(own_nr, 1);
	assert_int_equal(own_last.ev_type, M0_LNET_EV_SEND);
	assert_false(own_last.ev_unlinked);
	assert_int_equal(one->pno_events_nr, 0);
	assert_true(m0_lnet_engine_is_quiet(one->pno_engine));
	m0_lnet_engine_md_unlink(one->pno_engine, &md);
	assert_int_equal(own_nr, 2);
	assert_int_equal(own_last.ev_type, M0_LNET_EV_ACK);
	assert_int_equal(own_last.ev_status, -ETIMEDOUT);
	assert_true(own_last.ev_unlinked);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* A shutdown does not end the engine's own MDs, and they work during it. */
static void own_md_outlives_shutdown(void **state)
{
	struct m0_lnet_md md = own_md(M0_LNET_MD_THRESHOLD_INF);

	(void)state;
	m0_lnet_engine_md_bind(one->pno_engine, &md);
	m0_lnet_engine_shutdown(one->pno_engine, pair->pai_now);
	assert_int_equal(own_nr, 0);
	pair->pai_hook = all_lost;
	pair_put(one, &md, STRANGER, PORTAL, BITS, false);
	pair_settle(pair);
	assert_int_equal(own_nr, 1);
	assert_int_equal(own_last.ev_status, 0);
	m0_lnet_engine_md_unlink(one->pno_engine, &md);
	assert_int_equal(own_last.ev_type, M0_LNET_EV_UNLINK);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY(event_holds_no_message),
		STORY(operation_has_one_message),
		STORY(last_event_names_its_md),
		STORY(own_md_is_told_at_once),
		STORY(own_md_outlives_shutdown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
