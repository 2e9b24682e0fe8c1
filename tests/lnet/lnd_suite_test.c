/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The contract of drivers (m0/lnd.h): each case runs with each driver, between two
 * fakes of the engine: sockets over TCP, the same through shared memory, sockets over
 * simulated streams, messages of a node to itself, and the second driver of the tests.
 */
#include "lib/unix_lnd.h"
#include "lnet/lnd_suite.h"

/* -- cases ----------------------------------------------------------------- */

static void messages_arrive(void **state)
{
	static const size_t sizes[] = { 0,      1,         64, 4096, SEG_BYTES,
					300001, BYTES_MAX, 0,  64 };
	unsigned            i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		send_(msg_make(sizes[i]));
		UNTIL(has_arrived(&msgs[i]));
		check(&msgs[i]);
	}
}

static void many_messages_arrive_at_once(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 200; ++i)
		send_(msg_make(i * 97));
	for (i = 0; i < 200; ++i) {
		UNTIL(has_arrived(&msgs[i]));
		check(&msgs[i]);
	}
}

static void unwanted_bytes_are_discarded(void **state)
{
	static const size_t wants[] = { 0, 1, 999, SEG_BYTES };
	unsigned            i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wants); ++i) {
		msg_make(250000)->ms_want = wants[i];
		send_(&msgs[i]);
	}
	send_(msg_make(64));
	for (i = 0; i < msgs_nr; ++i) {
		UNTIL(has_arrived(&msgs[i]));
		check(&msgs[i]);
	}
}

static void cancelled_payload_is_discarded(void **state)
{
	(void)state;
	msg_make(250000)->ms_cancels = true;
	send_(&msgs[0]);
	send_(msg_make(64));
	UNTIL(has_arrived(&msgs[0]) && has_arrived(&msgs[1]));
	check(&msgs[1]);
}

static void message_put_off_is_offered_again(void **state)
{
	(void)state;
	msg_make(5000)->ms_puts_off_nr = 5;
	send_(&msgs[0]);
	send_(msg_make(64));
	UNTIL(has_arrived(&msgs[0]) && has_arrived(&msgs[1]));
	assert_int_equal(msgs[0].ms_offers_nr, 5);
	check(&msgs[0]);
	check(&msgs[1]);
}

static void refused_message_has_no_end(void **state)
{
	(void)state;
	msg_make(5000)->ms_rc = -EPROTO;
	send_(&msgs[0]);
	UNTIL(msgs[0].ms_done_nr == 1);
	assert_int_equal(msgs[0].ms_ended_nr, 0);
}

static void message_cancelled_at_once_does_not_leave(void **state)
{
	(void)state;
	send_(msg_make(5000));
	sides[0].sd_lnd->ld_ops->ldo_tx_cancel(&sides[0].sd_ni, &msgs[0].ms_tx);
	send_(msg_make(64));
	UNTIL(msgs[0].ms_done_nr == 1 && has_arrived(&msgs[1]));
	assert_int_equal(msgs[0].ms_status, -ECANCELED);
	assert_int_equal(msgs[0].ms_begun_nr, 0);
}

static void late_message_times_out(void **state)
{
	(void)state;
	msg_make(64)->ms_tx.ltx_deadline = m0_time_now();
	send_(&msgs[0]);
	UNTIL(msgs[0].ms_done_nr == 1);
	assert_int_equal(msgs[0].ms_status, -ETIMEDOUT);
	assert_int_equal(msgs[0].ms_begun_nr, 0);
}

/* A NI that stops completes what it has, then says so once. */
static void stop_completes_messages(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 20; ++i)
		send_(msg_make(20000));
	stop(&sides[0]);
	UNTIL(sides[0].sd_stopped_nr == 1);
	for (i = 0; i < 20; ++i)
		assert_int_equal(msgs[i].ms_done_nr, 1);
}

/* The receiver stops, at any moment: nothing hangs. */
static void stop_of_receiver_completes_messages(void **state)
{
	unsigned i;

	(void)state;
	send_(msg_make(64));
	UNTIL(has_arrived(&msgs[0]));
	for (i = 0; i < 20; ++i)
		send_(msg_make(100000));
	turn();
	stop(other());
	for (i = 1; i <= 20; ++i)
		UNTIL(msgs[i].ms_done_nr == 1);
}

/* No NI has the NID, or (lo) it is ours by definition. */
static void unknown_peer_is_given_up(void **state)
{
	(void)state;
	msg_make(64);
	if (other() != &sides[0])
		msgs[0].ms_tx.ltx_nid.ln_addr[3] = 77;
	send_(&msgs[0]);
	UNTIL(msgs[0].ms_done_nr == 1);
	assert_true((msgs[0].ms_status == 0) == (other() == &sides[0]));
}

/* -- messages whose payload grows ------------------------------------------ */

/* A message of which the first `there` bytes are there, if the driver takes such;
 * the others are not what they will be. */
static struct msg *part_make(size_t bytes, size_t there)
{
	struct msg *msg = msg_make(bytes);
	size_t      i;

	msg->ms_reports = true;
	if (!grows())
		return msg;
	msg->ms_tx.ltx_there = there;
	for (i = there; i < bytes; ++i)
		*byte_at(&msg->ms_vec, i) = (uint8_t)~pattern(msg, i);
	return msg;
}

static void more(struct msg *msg, size_t there)
{
	size_t i;

	if (!grows())
		return;
	for (i = msg->ms_tx.ltx_there; i < there; ++i)
		*byte_at(&msg->ms_vec, i) = pattern(msg, i);
	msg->ms_tx.ltx_there = there;
	sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni, &msg->ms_tx);
}

static void abort_(struct msg *msg)
{
	sides[0].sd_lnd->ld_ops->ldo_tx_abort(&sides[0].sd_ni, &msg->ms_tx,
					      -ECONNABORTED);
}

static void growing_message_arrives(void **state)
{
	static const size_t steps[] = {
		1,      2,      SEG_BYTES,     SEG_BYTES + 1,
		600000, 600000, BYTES_MAX - 1, BYTES_MAX
	};
	struct msg *msg;
	struct msg *next;
	unsigned    i;

	(void)state;
	warm_up();
	msg = send_(part_make(BYTES_MAX, 0));
	next = send_(msg_make(70000));
	for (i = 0; i < ARRAY_SIZE(steps); ++i) {
		if (grows() && i > 0)
			UNTIL(msg->ms_reported == steps[i - 1]);
		if (grows()) {
			turn();
			/* Nothing behind it, and no end before its time. */
			assert_false(has_arrived(msg));
			assert_false(has_arrived(next));
		}
		more(msg, steps[i]);
	}
	UNTIL(has_arrived(msg) && has_arrived(next));
	check(msg);
	check(next);
	assert_true(!grows() || msg->ms_reports_nr >= ARRAY_SIZE(steps) - 2);
}

/* The rest is there before the driver has begun, or comes while it writes. */
static void growing_messages_arrive_at_once(void **state)
{
	unsigned i;
	size_t   at;

	(void)state;
	for (i = 0; i < 8; ++i)
		send_(part_make(300000, 150000));
	for (at = 200000; at < 300000; at += 10000) {
		for (i = 0; i < 8; ++i)
			more(&msgs[i], at);
		turn();
	}
	for (i = 0; i < 8; ++i)
		more(&msgs[i], 300000);
	for (i = 0; i < 8; ++i) {
		UNTIL(has_arrived(&msgs[i]));
		check(&msgs[i]);
	}
}

/* A part of the message has left: the receiver is told that the rest will not
 * come, and messages behind it arrive. */
static void aborted_message_ends_at_both_sides(void **state)
{
	struct msg *msg;
	struct msg *next;
	unsigned    i;

	(void)state;
	warm_up();
	msg = send_(part_make(BYTES_MAX, 500000));
	next = send_(msg_make(200000));
	if (!grows()) {
		UNTIL(has_arrived(msg) && has_arrived(next));
		return;
	}
	UNTIL(msg->ms_reported == 500000);
	assert_int_equal(next->ms_begun_nr, 0);
	abort_(msg);
	assert_int_equal(msg->ms_done_nr, 0);
	UNTIL(has_arrived(msg) && has_arrived(next));
	assert_int_equal(msg->ms_status, -ECONNABORTED);
	assert_true(msg->ms_rx_status < 0);
	check(next);
	for (i = 0; i < 3; ++i) {
		next = send_(msg_make(100000));
		UNTIL(has_arrived(next));
		check(next);
	}
}

static void message_aborted_at_once_does_not_leave(void **state)
{
	struct msg *msg;
	struct msg *next;

	(void)state;
	warm_up();
	msg = send_(part_make(BYTES_MAX, 500000));
	if (grows())
		abort_(msg);
	next = send_(msg_make(200000));
	UNTIL(msg->ms_done_nr == 1 && has_arrived(next));
	check(next);
	if (!grows())
		UNTIL(has_arrived(msg));
	else
		assert_int_equal(msg->ms_begun_nr, 0);
	assert_int_equal(msg->ms_status, grows() ? -ECONNABORTED : 0);
}

/* The NI stops while the rest is awaited. */
static void stop_completes_growing_message(void **state)
{
	struct msg *msg;

	(void)state;
	warm_up();
	msg = send_(part_make(BYTES_MAX, 500000));
	if (grows())
		UNTIL(msg->ms_reported == 500000);
	stop(&sides[0]);
	UNTIL(sides[0].sd_stopped_nr == 1);
	assert_int_equal(msg->ms_done_nr, 1);
}

int main(void)
{
	static struct kind kinds[] = {
		{ .kd_name = "sock over tcp",
		  .kd_row = &m0_ksock_row,
		  .kd_nid = { "127.8.0.1@tcp", "127.8.0.2@tcp" } },
		{ .kd_name = "sock over simulated streams",
		  .kd_row = &m0_ksock_row,
		  .kd_nid = { "10.0.0.1@tcp", "10.0.0.2@tcp" },
		  .kd_is_sim = true },
		{ .kd_name = "sock over shared memory",
		  .kd_row = &m0_ksock_row,
		  .kd_nid = { "127.8.0.3@tcp", "127.8.0.4@tcp" },
		  .kd_is_near = true },
		{ .kd_name = "lo",
		  .kd_row = &m0_lo_row,
		  .kd_nid = { "0@lo", "0@lo" } },
		{ .kd_name = "unix",
		  .kd_row = &unix_lnd_row,
		  .kd_nid = { "127.0.0.1@efa", "127.0.0.2@efa" } },
	};
#define CASE(name)                                            \
	{                                                     \
#name, name, case_open, case_close, &kinds[i] \
	}
	unsigned i;
	int      rc = 0;

	for (i = 0; i < ARRAY_SIZE(kinds); ++i) {
		const struct CMUnitTest tests[] = {
			CASE(messages_arrive),
			CASE(many_messages_arrive_at_once),
			CASE(unwanted_bytes_are_discarded),
			CASE(cancelled_payload_is_discarded),
			CASE(message_put_off_is_offered_again),
			CASE(refused_message_has_no_end),
			CASE(message_cancelled_at_once_does_not_leave),
			CASE(late_message_times_out),
			CASE(stop_completes_messages),
			CASE(stop_of_receiver_completes_messages),
			CASE(unknown_peer_is_given_up),
			CASE(growing_message_arrives),
			CASE(growing_messages_arrive_at_once),
			CASE(aborted_message_ends_at_both_sides),
			CASE(message_aborted_at_once_does_not_leave),
			CASE(stop_completes_growing_message),
		};

		rc |= cmocka_run_group_tests_name(kinds[i].kd_name, tests, NULL,
						  NULL);
	}
	return rc + pipe_cases(kinds, ARRAY_SIZE(kinds));
}
