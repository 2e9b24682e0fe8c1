/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages that are sent again: table 6.3 of the reference, row by row, and what
 * forbids it. */
#include "unit/lnet/rails.h"

/* -- table 6.3 ------------------------------------------------------------- */

static void each_class_of_failure_has_its_reaction(void **state)
{
	static const struct {
		enum m0_lnd_health health;
		bool               local;
		bool               remote;
		bool               again;
	} rows[] = {
		{ M0_LND_LOCAL_INTERRUPT, true, false, true },
		{ M0_LND_LOCAL_DROPPED, true, false, true },
		{ M0_LND_LOCAL_ABORTED, true, false, true },
		{ M0_LND_LOCAL_NO_ROUTE, true, false, true },
		{ M0_LND_LOCAL_ERROR, true, false, false },
		{ M0_LND_LOCAL_TIMEOUT, true, false, true },
		{ M0_LND_REMOTE_ERROR, false, true, false },
		{ M0_LND_REMOTE_DROPPED, false, true, true },
		{ M0_LND_REMOTE_TIMEOUT, false, true, false },
		{ M0_LND_NETWORK_TIMEOUT, true, true, false },
	};
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		open_two(NULL);
		sink_post(two);
		fail_next(1, rows[i].health);
		put_to(one, SERVER1, 8);
		pair_settle(pair);
		assert_int_equal(failures_left, 0);
		assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
		assert_int_equal(send_status(one, 0), rows[i].again ? 0 : -EIO);
		assert_int_equal(events_nr(two, M0_LNET_EV_PUT), rows[i].again);
		/* A message that leaves raises the other NI, which is full. */
		assert_int_equal(lost_here(), rows[i].local ? 100 : 0);
		assert_int_equal(lost_there(), rows[i].remote ? 100 : 0);
		assert_int_equal(stats_of(one)->ls_resend_count, rows[i].again);
		assert_int_equal(stats_of(one)->ls_successful_resends,
				 rows[i].again);
		(void)story_end(state);
	}
}

static void message_is_sent_again_retry_count_times(void **state)
{
	(void)state;
	open_two(NULL);
	sink_post(two);
	fail_next(3, M0_LND_REMOTE_DROPPED);
	put_to(one, SERVER1, 8);
	pair_settle(pair);
	/* The second try follows the first after a second. */
	assert_int_equal(failures_left, 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 0);
	pair_run(pair, 1100);
	assert_int_equal(failures_left, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	assert_int_equal(send_status(one, 0), -EIO);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 0);
	assert_int_equal(stats_of(one)->ls_resend_count, 2);
	assert_int_equal(stats_of(one)->ls_failed_resends, 1);
}

static void message_is_not_sent_again_if_so_configured(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	unsigned                  i;

	for (i = 0; i < 2; ++i) {
		cfg = pair_cfg();
		if (i == 0)
			cfg.lec_health.lhe_retries = 0;
		else
			cfg.lec_health.lhe_sensitivity = 0;
		open_two(&cfg);
		fail_next(1, M0_LND_LOCAL_DROPPED);
		put_to(one, SERVER1, 8);
		pair_settle(pair);
		assert_int_equal(send_status(one, 0), -EIO);
		assert_int_equal(lost_here(), i == 0 ? 100 : 0);
		(void)story_end(state);
	}
}

static void message_is_not_sent_again_after_its_deadline(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_transaction_timeout_ns = M0_TIME_ONE_SECOND / 2;
	open_two(&cfg);
	fail_next(2, M0_LND_LOCAL_DROPPED);
	put_to(one, SERVER1, 8);
	pair_run(pair, 600);
	assert_int_equal(failures_left, 0);
	assert_int_equal(send_status(one, 0), -EIO);
	assert_int_equal(stats_of(one)->ls_resend_count, 1);
}

/* With one NI, or one NID, there is no other path. */
static void message_without_another_path_is_not_sent_again(void **state)
{
	static const enum m0_lnd_health classes[] = { M0_LND_LOCAL_DROPPED,
						      M0_LND_REMOTE_DROPPED };
	unsigned                        i;

	for (i = 0; i < ARRAY_SIZE(classes); ++i) {
		rails_open(NULL, CLIENT1, SERVER1);
		fail_next(1, classes[i]);
		put_to(one, SERVER1, 8);
		pair_settle(pair);
		assert_int_equal(send_status(one, 0), -EIO);
		assert_int_equal(nid_health(SERVER1), M0_LNET_HEALTH_MAX);
		assert_int_equal(ni_health(CLIENT1),
				 i == 0 ? 900 : M0_LNET_HEALTH_MAX);
		(void)story_end(state);
	}
}

static void message_that_is_cancelled_is_not_sent_again(void **state)
{
	struct m0_lnet_md *md;

	(void)state;
	open_two(NULL);
	fail_next(9, M0_LND_REMOTE_DROPPED);
	md = pair_md_bind(one, bytes_out, 8, 1, 0);
	pair_put(one, md, SERVER1, PORTAL, BITS, false);
	pair_settle(pair);
	assert_int_equal(failures_left, 7);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	pair_run(pair, 3000);
	assert_int_equal(failures_left, 7);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	assert_int_equal(send_status(one, 0), -ECANCELED);
}

static void get_that_is_sent_again_has_one_reply(void **state)
{
	(void)state;
	open_two(NULL);
	sink_post(two);
	fail_next(1, M0_LND_LOCAL_TIMEOUT);
	pair_get(one, pair_md_bind(one, bytes_in, 8, 2, 0), SERVER1, PORTAL,
		 BITS);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
	assert_int_equal(events_nr(two, M0_LNET_EV_GET), 1);
}

static void message_goes_again_by_the_other_path(void **state)
{
	const struct pair_frame *frame;

	(void)state;
	open_two(NULL);
	sink_post(two);
	failures_of = SERVER1;
	fail_next(UINT32_MAX, M0_LND_REMOTE_DROPPED);

	put_to(one, SERVER1, 8);
	put_to(one, SERVER1, 8);
	pair_settle(pair);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 2);
	frame = pair_frame(pair, 0, M0_LNET_PUT,
			   pair_frames_nr(pair, 0, M0_LNET_PUT) - 1);
	assert_nid(&frame->pfr_hop, SERVER2);
	assert_int_equal(nid_health(SERVER1), 900);
}

/* A gateway has one NID, but there is another route. */
static void message_goes_again_by_another_route(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	failures_reset();
	diamond_open(&cfg);
	route(0, "tcp1", "10.0.0.2@tcp");
	route(0, "tcp1", "10.0.0.3@tcp");
	route(3, "tcp", "10.1.0.2@tcp1");
	pair_settle(pair);
	sink_post(node(3));
	failures_of = "10.0.0.2@tcp";
	fail_next(UINT32_MAX, M0_LND_REMOTE_DROPPED);
	pair->pai_hook = failing;
	sends(4);
	assert_int_equal(events_nr(node(3), M0_LNET_EV_PUT), 4);
	assert_int_equal(send_status(one, 3), 0);
	assert_int_equal(stats_of(one)->ls_resend_count, 1);
	/* Selection prefers the healthier gateway. */
	assert_int_equal(nid_health("10.0.0.2@tcp"), 900);
}

/* Messages that wait for a credit of a lost gateway take the other route. */
static void queued_messages_take_another_route(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	diamond_open(&cfg);
	route(0, "tcp1", "10.0.0.2@tcp");
	assert_int_equal(route_try_add(0, "tcp1", "10.0.0.3@tcp", 0, 1), 0);
	route(3, "tcp", "10.1.0.2@tcp1");
	pair_settle(pair);
	sink_post(node(3));
	pair->pai_hook = all_held;
	for (i = 0; i < 12; ++i)
		put_to(one, "10.1.0.4@tcp1", 8);
	pair_settle(pair);
	pair->pai_hook = NULL;
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	pair_settle(pair);
	assert_int_equal(route_info(0, 1).lri_sent_nr, 4);
	assert_int_equal(events_nr(node(3), M0_LNET_EV_PUT), 4);
	pair_release(pair);
	pair_settle(pair);
}

static void message_with_one_route_is_not_sent_again(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	failures_reset();
	line_open(&cfg);
	pair->pai_hook = failing;
	fail_next(1, M0_LND_REMOTE_DROPPED);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(send_status(one, 0), -EIO);
	assert_int_equal(stats_of(one)->ls_resend_count, 0);
	/* The health of a gateway is kept, though it has one NID. */
	assert_int_equal(nid_health("10.0.0.2@tcp"), 900);
}

static void message_to_itself_is_not_sent_again(void **state)
{
	(void)state;
	open_two(NULL);
	fail_next(1, M0_LND_LOCAL_DROPPED);
	put_to(one, CLIENT2, 8);
	pair_settle(pair);
	assert_int_equal(failures_left, 0);
	assert_int_equal(send_status(one, 0), -EIO);
	assert_int_equal(stats_of(one)->ls_resend_count, 0);
}

static void message_that_is_forwarded_is_not_sent_again(void **state)
{
	(void)state;
	failures_reset();
	line_open(NULL);
	pair->pai_hook = failing;
	failures_node = 1;
	fail_next(1, M0_LND_LOCAL_DROPPED);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(failures_left, 0);
	assert_int_equal(stats_of(node(1))->ls_resend_count, 0);
}

static void message_cancelled_at_the_driver_costs_no_health(void **state)
{
	struct m0_lnet_md *md;

	(void)state;
	open_two(NULL);
	sink_post(two);
	pair->pai_hook = holding;
	md = pair_md_bind(one, bytes_out, 8, 1, 0);
	pair_put(one, md, SERVER1, PORTAL, BITS, false);
	pair_settle(pair);
	pair->pai_hook = NULL;
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	pair_run(pair, 1100);
	assert_int_equal(send_status(one, 0), -ECANCELED);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 0);
	assert_int_equal(stats_of(one)->ls_resend_count, 0);
	assert_int_equal(lost_here() + lost_there(), 0);
}

static void message_that_was_answered_is_not_sent_again(void **state)
{
	struct m0_lnet_hdr hdr = { .lhd_dest_nid = pair_nid(CLIENT1),
				   .lhd_src_nid = pair_nid(SERVER1),
				   .lhd_dest_pid = M0_LNET_PID_LUSTRE,
				   .lhd_src_pid = M0_LNET_PID_LUSTRE,
				   .lhd_type = M0_LNET_ACK };

	(void)state;
	open_two(NULL);
	pair->pai_hook = holding;
	pair_put(one, pair_md_bind(one, bytes_out, 8, 2, 0), SERVER1, PORTAL,
		 BITS, true);
	pair_settle(pair);
	hdr.lhd_wmd = last_wmd;
	pair_inject(one, 1, SERVER1, &hdr, NULL);
	pair_settle(pair);
	pair->pai_hook = failing;
	fail_next(1, M0_LND_LOCAL_DROPPED);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(failures_left, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(stats_of(one)->ls_resend_count, 0);
}

static void message_answered_in_the_pause_is_not_sent_again(void **state)
{
	struct m0_lnet_hdr hdr = { .lhd_dest_nid = pair_nid(CLIENT1),
				   .lhd_src_nid = pair_nid(SERVER1),
				   .lhd_dest_pid = M0_LNET_PID_LUSTRE,
				   .lhd_src_pid = M0_LNET_PID_LUSTRE,
				   .lhd_type = M0_LNET_ACK };

	(void)state;
	open_two(NULL);
	pair->pai_hook = holding;
	pair_put(one, pair_md_bind(one, bytes_out, 8, 2, 0), SERVER1, PORTAL,
		 BITS, true);
	pair_settle(pair);
	hdr.lhd_wmd = last_wmd;
	pair->pai_hook = failing;
	fail_next(2, M0_LND_REMOTE_DROPPED);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(failures_left, 0);
	assert_int_equal(stats_of(one)->ls_resend_count, 1);
	pair_inject(one, 1, SERVER1, &hdr, NULL);
	pair_run(pair, 1100);
	assert_int_equal(stats_of(one)->ls_resend_count, 1);
	assert_int_equal(stats_of(one)->ls_successful_resends, 1);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	assert_int_equal(send_status(one, 0), 0);
}

static void ping_is_not_sent_again_by_the_engine(void **state)
{
	const struct m0_lnet_nid server = pair_nid(SERVER2);

	(void)state;
	open_two(NULL);
	failures_portal = M0_LNET_PORTAL_RESERVED;
	fail_next(1, M0_LND_LOCAL_DROPPED);
	m0_lnet__health_lpni_set(one->pno_engine, lpni_of(one, SERVER2), 500);
	pair_run(pair, 1100);
	assert_int_equal(failures_left, 0);
	assert_true(m0_lnet_nid_eq(&last_hop, &server));
	assert_int_equal(stats_of(one)->ls_resend_count, 0);
}

/** A GET whose REPLY the driver of the server holds. */
static void reply_hold(void)
{
	open_two(NULL);
	sink_post(two);
	pair->pai_hook = holding;
	pair_get(one, pair_md_bind(one, bytes_in, 8, 2, 0), SERVER1, PORTAL,
		 BITS);
	pair_settle(pair);
	pair_release(pair);
	pair_settle(pair);
	failures_node = 1;
	fail_next(1, M0_LND_LOCAL_DROPPED);
}

/** The NI of the server that the GET came by. */
static struct m0_lnd_ni *asked_ni(void)
{
	const struct pair_frame *frame = pair_frame(
		pair, 0, M0_LNET_GET, pair_frames_nr(pair, 0, M0_LNET_GET) - 1);
	const struct m0_lnet_nid first = pair_nid(SERVER1);

	return two->pno_ni[m0_lnet_nid_eq(&frame->pfr_hop, &first) ? 1 : 2];
}

static void answer_is_sent_again_by_its_interface(void **state)
{
	(void)state;
	reply_hold();
	pair->pai_hook = failing;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(failures_left, 0);
	assert_int_equal(stats_of(two)->ls_resend_count, 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
}

static void answer_is_not_sent_again_by_an_interface_that_goes(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		reply_hold();
		if (i == 0)
			m0_lnet_engine_ni_del(two->pno_engine, asked_ni());
		pair->pai_hook = failing;
		fail_next(i == 0 ? 1 : 3, M0_LND_LOCAL_DROPPED);
		pair_release(pair);
		pair_settle(pair);
		/* The REPLY waits for its second try. */
		if (i == 1)
			m0_lnet_engine_ni_del(two->pno_engine, asked_ni());
		pair_run(pair, 1100);
		assert_int_equal(stats_of(two)->ls_resend_count, i);
		assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 0);
		pair->pai_hook = NULL;
		(void)story_end(state);
	}
}

/* The NID that the last try took may be another node's by now. */
static void message_is_sent_again_to_its_target(void **state)
{
	const struct m0_lnet_nid first = pair_nid(SERVER1);
	unsigned                 nr;

	(void)state;
	open_two(NULL);
	sink_post(two);
	fail_next(2, M0_LND_REMOTE_DROPPED);
	put_to(one, SERVER1, 8);
	pair_settle(pair);
	assert_int_equal(failures_left, 0);
	if (m0_lnet_nid_eq(&last_hop, &first)) {
		pair_run(pair, 1100);
		fail_next(2, M0_LND_REMOTE_DROPPED);
		put_to(one, SERVER1, 8);
		pair_settle(pair);
	}
	assert_false(m0_lnet_nid_eq(&last_hop, &first));
	nr = events_nr(two, M0_LNET_EV_PUT);
	m0_lnet_engine_ni_del(two->pno_engine, two->pno_ni[2]);
	pair_settle(pair);
	assert_null(lpni_of(one, SERVER2));
	pair_run(pair, 1100);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), nr + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(each_class_of_failure_has_its_reaction),
		STORY_BARE(message_is_sent_again_retry_count_times),
		STORY_BARE(message_is_not_sent_again_if_so_configured),
		STORY_BARE(message_is_not_sent_again_after_its_deadline),
		STORY_BARE(message_without_another_path_is_not_sent_again),
		STORY_BARE(message_that_is_cancelled_is_not_sent_again),
		STORY_BARE(get_that_is_sent_again_has_one_reply),
		STORY_BARE(message_goes_again_by_the_other_path),
		STORY_BARE(message_goes_again_by_another_route),
		STORY_BARE(queued_messages_take_another_route),
		STORY_BARE(message_with_one_route_is_not_sent_again),
		STORY_BARE(message_to_itself_is_not_sent_again),
		STORY_BARE(message_that_is_forwarded_is_not_sent_again),
		STORY_BARE(message_cancelled_at_the_driver_costs_no_health),
		STORY_BARE(message_that_was_answered_is_not_sent_again),
		STORY_BARE(message_answered_in_the_pause_is_not_sent_again),
		STORY_BARE(ping_is_not_sent_again_by_the_engine),
		STORY_BARE(answer_is_sent_again_by_its_interface),
		STORY_BARE(answer_is_not_sent_again_by_an_interface_that_goes),
		STORY_BARE(message_is_sent_again_to_its_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
