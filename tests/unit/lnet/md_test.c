/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Lives of MDs: each ends in exactly one event, and when. */
#include "unit/lnet/story.h"

static unsigned unlinked_nr(const struct pair_node *node)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < node->pno_events_nr; ++i)
		nr += node->pno_events[i].ev_unlinked;
	return nr;
}

static void unlink_settle(struct m0_lnet_md *md)
{
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	pair_settle(pair);
}

/* Nothing under way: UNLINK, status 0, at once. */
static void unlink_idle_tells_unlink(void **state)
{
	struct m0_lnet_md    *md = sink(one, BITS, -1, 0);
	struct m0_lnet_handle handle = md->md_handle;
	void                 *user = md->md_attr.mda_user;

	(void)state;
	unlink_settle(md);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(last_event(one)->ev_status, 0);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(last_event(one)->ev_md.lh_gen, handle.lh_gen);
	assert_ptr_equal(last_event(one)->ev_md_user, user);
	assert_int_equal(one->pno_mds_nr, 0);
	assert_int_equal(one->pno_mes_nr, 1);
	stranger_put(BITS, 1, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* The entry goes with it if it was to. */
static void unlink_takes_entry_that_was_to_end(void **state)
{
	struct m0_lnet_me *me =
		pair_me(one, PORTAL, BITS, 0, M0_LNET_ME_UNLINK);

	(void)state;
	unlink_settle(pair_md_attach(one, me, bytes_in, 1, -1,
				     M0_LNET_MD_OP_PUT, false));
	assert_int_equal(one->pno_mes_nr, 0);
	assert_int_equal(unlinked_nr(one), 1);
}

/* A second time, before the event was taken, nothing happens. */
static void unlink_twice_tells_once(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, -1, 0);

	(void)state;
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
}

/* Nor if it has ended by itself meanwhile. */
static void unlink_of_ended_md_tells_nothing(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 1, 0);

	(void)state;
	one->pno_keep = true;
	pair->pai_hook = all_lost;
	pair_put(one, md, STRANGER, PORTAL, BITS, false);
	pair_settle(pair);
	unlink_settle(md);
	one->pno_keep = false;
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_status, 0);
	assert_true(last_event(one)->ev_unlinked);
}

/* A message that waits to be sent is cancelled, and that is the last event. */
static void unlink_cancels_what_waits_to_be_sent(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	pair->pai_hook = all_held;
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 0);
	unlink_settle(md);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_SEND);
	assert_int_equal(last_event(one)->ev_status, -ECANCELED);
	assert_true(last_event(one)->ev_unlinked);
}

/* A message that is leaving continues; its success is reported as the abort. */
static void unlink_waits_for_what_is_leaving(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	pair->pai_hook = all_slow;
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_settle(pair);
	unlink_settle(md);
	assert_int_equal(one->pno_events_nr, 0);
	assert_int_equal(one->pno_mds_nr, 1);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_SEND);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(stats_of(one)->ls_response_timeout_count, 0);
}

/* Also if the response was overdue already: there is nothing more to tell. */
static void unlink_of_overdue_tells_send_alone(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	pair->pai_hook = all_slow;
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_run(pair, 151000);
	assert_int_equal(one->pno_events_nr, 0);
	unlink_settle(md);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_SEND);
	assert_true(last_event(one)->ev_unlinked);
}

/* Payload that is coming in is cut off: the event is there at once, the memory
 * is the application's again, the driver is told, and no ACK goes out. */
static void unlink_cuts_payload_that_comes(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, -1, 0);
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnd_rx   rx;

	(void)state;
	pair->pai_hook = all_lost;
	memset(&hdr.lhd_wmd, 7, sizeof hdr.lhd_wmd);
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	assert_int_equal(rx.lr_payload.lpy_bytes, 100);
	assert_false(rx.lr_cancelled);
	unlink_settle(md);
	assert_true(rx.lr_cancelled);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(one->pno_mds_nr, 0);
	assert_int_equal(one->pno_msgs_nr, 0);
	rx_done(&rx, 0);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 0);
}

/* A peer may write to the memory: the event waits for the driver. If all of the
 * payload has come by then, the event fails all the same, and no ACK goes out. */
static void unlink_waits_for_offered_memory(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, -1, 0);
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnd_rx   rx;

	(void)state;
	pair->pai_hook = all_lost;
	memset(&hdr.lhd_wmd, 7, sizeof hdr.lhd_wmd);
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	rx.lr_offered = true;
	unlink_settle(md);
	assert_true(rx.lr_cancelled);
	assert_int_equal(one->pno_events_nr, 0);
	rx_done(&rx, 0);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 0);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* Each of several messages has its event, and only the last one ends the MD. */
static void unlink_busy_ends_with_the_last(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, -1, 0);
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnd_rx   rx[3];
	unsigned           i;

	(void)state;
	for (i = 0; i < 3; ++i)
		assert_int_equal(rx_begin(&rx[i], &hdr), 0);
	unlink_settle(md);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 3);
	assert_int_equal(unlinked_nr(one), 1);
	assert_true(last_event(one)->ev_unlinked);
	for (i = 0; i < 3; ++i)
		rx_done(&rx[i], -ECONNRESET);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 3);
}

/* An MD that was used up by a message still coming in can be cut off too. */
static void unlink_of_used_up_md_cuts(void **state)
{
	struct m0_lnet_md *md;
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnd_rx   rx;

	(void)state;
	md = pair_md_attach(one,
			    pair_me(one, PORTAL, BITS, 0, M0_LNET_ME_UNLINK),
			    bytes_in, 100, 1, M0_LNET_MD_OP_PUT, true);
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	unlink_settle(md);
	assert_int_equal(unlinked_nr(one), 1);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	rx_done(&rx, 0);
}

/* An ACK is not waited for any more, nor is it missed when it comes. */
static void unlink_ends_wait_for_ack(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);
	struct m0_lnet_hdr ack = hdr_of(M0_LNET_ACK, 0);

	(void)state;
	pair->pai_hook = all_lost;
	pair_put(one, md, STRANGER, PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	ack.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_PUT, 0));
	unlink_settle(md);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_ACK);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_true(last_event(one)->ev_unlinked);
	pair_inject(one, 1, STRANGER, &ack, NULL);
	pair_run(pair, 200000);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(stats_of(one)->ls_drop_stale, 1);
}

/* A REPLY that is coming in is cut off like a PUT. */
static void unlink_cuts_reply_that_comes(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_hdr reply = hdr_of(M0_LNET_REPLY, 64);
	struct m0_lnd_rx   rx;

	(void)state;
	pair->pai_hook = all_lost;
	pair_get(one, md, STRANGER, PORTAL, BITS);
	pair_settle(pair);
	reply.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_GET, 0));
	assert_int_equal(rx_begin(&rx, &reply), 0);
	unlink_settle(md);
	assert_true(rx.lr_cancelled);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_REPLY);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_true(last_event(one)->ev_unlinked);
	rx_done(&rx, 0);
	assert_int_equal(unlinked_nr(one), 1);
}

/* While the driver still has the GET, the end of the GET ends the MD. */
static void unlink_cuts_reply_before_send(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_hdr reply = hdr_of(M0_LNET_REPLY, 64);
	struct m0_lnd_rx   rx;

	(void)state;
	pair->pai_hook = all_slow;
	(void)pair_ni(two, STRANGER);
	pair_get(one, md, STRANGER, PORTAL, BITS);
	pair_settle(pair);
	reply.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_GET, 0));
	assert_int_equal(rx_begin(&rx, &reply), 0);
	unlink_settle(md);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_REPLY);
	assert_false(last_event(one)->ev_unlinked);
	rx_done(&rx, 0);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_SEND);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_true(last_event(one)->ev_unlinked);
}

/* A REPLY of ours that waits to be sent is cancelled with the MD it is from. */
static void unlink_cancels_reply_that_leaves(void **state)
{
	struct m0_lnet_md *md;
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);

	(void)state;
	md = pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_out,
			    64, -1, M0_LNET_MD_OP_GET, false);
	hdr.lhd_length = 64;
	pair->pai_hook = all_held;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 0);
	unlink_settle(md);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_GET);
	assert_int_equal(last_event(one)->ev_status, -ECANCELED);
	assert_true(last_event(one)->ev_unlinked);
}

/* A bound MD without auto-unlink stays when it is used up. */
static void md_used_up_stays_until_unlinked(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 1, 0);

	(void)state;
	md->md_attr.mda_auto_unlink = false;
	pair->pai_hook = all_lost;
	pair_put(one, md, STRANGER, PORTAL, BITS, false);
	pair_settle(pair);
	assert_false(last_event(one)->ev_unlinked);
	pair_put(one, md, STRANGER, PORTAL, BITS, false);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_status, -ENOENT);
	assert_false(last_event(one)->ev_unlinked);
	unlink_settle(md);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(last_event(one)->ev_status, 0);
}

/* Two that leave: the MD ends with the second, whichever that is. */
static void md_used_up_ends_with_the_last_send(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	pair->pai_hook = all_held;
	pair_put(one, md, STRANGER, PORTAL, BITS, false);
	pair_put(one, md, STRANGER, PORTAL, BITS + 1, false);
	pair_settle(pair);
	pair->pai_hook = all_lost;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 2);
	assert_false(one->pno_events[0].ev_unlinked);
	assert_true(one->pno_events[1].ev_unlinked);
	assert_int_equal(one->pno_events[1].ev_status, 0);
}

/* An MD without a queue ends all the same. */
static void md_without_queue_ends(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, 1, 0);

	(void)state;
	md->md_eq = 0;
	one->pno_eq_full = true;
	stranger_put(BITS, 4, 0);
	unlink_settle(md);
	assert_int_equal(one->pno_mds_nr, 0);
	assert_int_equal(unlinked_nr(one), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY(unlink_idle_tells_unlink),
		STORY(unlink_takes_entry_that_was_to_end),
		STORY(unlink_twice_tells_once),
		STORY(unlink_of_ended_md_tells_nothing),
		STORY(unlink_cancels_what_waits_to_be_sent),
		STORY(unlink_waits_for_what_is_leaving),
		STORY(unlink_of_overdue_tells_send_alone),
		STORY(unlink_cuts_payload_that_comes),
		STORY(unlink_waits_for_offered_memory),
		STORY(unlink_busy_ends_with_the_last),
		STORY(unlink_of_used_up_md_cuts),
		STORY(unlink_ends_wait_for_ack),
		STORY(unlink_cuts_reply_that_comes),
		STORY(unlink_cuts_reply_before_send),
		STORY(unlink_cancels_reply_that_leaves),
		STORY(md_used_up_stays_until_unlinked),
		STORY(md_used_up_ends_with_the_last_send),
		STORY(md_without_queue_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
