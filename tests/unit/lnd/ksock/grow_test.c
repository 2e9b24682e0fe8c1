/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages of which a part is there: those that leave, and reports of those that
 * arrive. */
#include <stdlib.h>

#include "rig.h"

enum {
	BYTES = 100000,
	HALF = BYTES / 2
};

static struct rig         rig;
static struct rig_tx      txs[8];
static uint8_t           *payload;
static struct rig_stream *set[3];

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

static void send_one(unsigned i, size_t nr, size_t there)
{
	rig_tx_init(&txs[i], payload, nr, (uint8_t)(i + 1));
	rig.rg_reactor.rtr_now = rig.rg_now;
	txs[i].rt_tx.ltx_there = there;
	rig.rg_lnd->ld_ops->ldo_xmit(&rig.rg_ni, &txs[i].rt_tx);
	rig_run(&rig);
}

static void more(unsigned i, size_t there)
{
	rig.rg_reactor.rtr_now = rig.rg_now;
	txs[i].rt_tx.ltx_there = there;
	rig.rg_lnd->ld_ops->ldo_tx_more(&rig.rg_ni, &txs[i].rt_tx);
	rig_run(&rig);
}

static void abort_(unsigned i)
{
	rig.rg_reactor.rtr_now = rig.rg_now;
	rig.rg_lnd->ld_ops->ldo_tx_abort(&rig.rg_ni, &txs[i].rt_tx,
					 -ECONNABORTED);
	assert_int_equal(txs[i].rt_done, 0);
	rig_run(&rig);
}

/** Skips the head of a message. */
static void see_head(struct rig_stream *stream, unsigned i)
{
	assert_int_equal(rig_see_frame(&rig, stream).sfr_type,
			 M0_SOCK_FRAME_LNET);
	assert_int_equal(rig_see(&rig, stream, 72)[0], i + 1);
}

/** The set that this side makes: CONTROL, BULK_IN, BULK_OUT. */
static struct rig_stream *open_set(void)
{
	rig_tx_init(&txs[7], payload, 0, 8);
	rig_xmit(&rig, &txs[7]);
	rig_run(&rig);
	rig_open_set(&rig, set);
	rig_run(&rig);
	see_head(set[0], 7);
	assert_int_equal(txs[7].rt_done, 1);
	return set[2];
}

/* -- messages that leave --------------------------------------------------- */

static void bytes_leave_as_far_as_they_are_there(void **state)
{
	struct rig_stream *out = open_set();

	(void)state;
	send_one(0, BYTES, HALF);
	send_one(1, 2000, 2000);
	see_head(out, 0);
	assert_memory_equal(rig_see(&rig, out, HALF), payload, HALF);
	assert_int_equal(rig_unseen(out), 0);
	more(0, HALF + 1);
	assert_memory_equal(rig_see(&rig, out, 1), payload + HALF, 1);
	assert_int_equal(rig_unseen(out), 0);
	assert_int_equal(txs[0].rt_done, 0);
	more(0, BYTES);
	assert_memory_equal(rig_see(&rig, out, HALF - 1), payload + HALF + 1,
			    HALF - 1);
	assert_int_equal(txs[0].rt_status, 0);
	assert_int_equal(txs[0].rt_done, 1);
	see_head(out, 1);
	assert_int_equal(txs[1].rt_done, 1);
}

/* A peer is not late with bytes that are not there, and has its time for those
 * that come. */
static void peer_is_not_late_with_what_is_not_there(void **state)
{
	struct rig_stream *out = open_set();

	(void)state;
	send_one(0, BYTES, HALF);
	rig_pass(&rig, RIG_SECONDS(120));
	assert_false(out->rs_hung);
	out->rs_room = 0;
	more(0, BYTES);
	/* The end of this one makes the driver look. */
	rig_tx_init(&txs[1], payload, 2000, 2);
	txs[1].rt_tx.ltx_deadline = rig.rg_now + RIG_SECONDS(20);
	rig_xmit(&rig, &txs[1]);
	rig_pass(&rig, RIG_SECONDS(49));
	assert_false(out->rs_hung);
	rig_pass(&rig, RIG_SECONDS(2));
	assert_true(out->rs_hung);
	assert_int_equal(txs[0].rt_status, -ETIMEDOUT);
}

/* Messages behind one that waits for its rest have their deadline. */
static void message_behind_times_out(void **state)
{
	struct rig_stream *out = open_set();

	(void)state;
	send_one(0, BYTES, HALF);
	rig_tx_init(&txs[1], payload, 2000, 2);
	txs[1].rt_tx.ltx_deadline = rig.rg_now + RIG_SECONDS(60);
	rig_xmit(&rig, &txs[1]);
	rig_pass(&rig, RIG_SECONDS(59));
	assert_int_equal(txs[1].rt_done, 0);
	rig_pass(&rig, RIG_SECONDS(2));
	assert_int_equal(txs[1].rt_done, 1);
	assert_int_equal(txs[1].rt_status, -ETIMEDOUT);
	assert_false(out->rs_hung);
	more(0, BYTES);
	assert_int_equal(txs[0].rt_status, 0);
	assert_int_equal(txs[0].rt_done, 1);
}

/* One connection ends, in order; messages behind it take another one, and this side
 * makes a new one. */
static void abort_ends_one_connection(void **state)
{
	struct rig_stream *out = open_set();
	struct rig_stream *again;

	(void)state;
	send_one(0, BYTES, HALF);
	send_one(1, 2000, 2000);
	abort_(0);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(txs[0].rt_status, -ECONNABORTED);
	assert_true(out->rs_hung);
	assert_false(out->rs_reset);
	assert_false(set[0]->rs_hung);
	assert_false(set[1]->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 0);
	/* CONTROL takes bulk while there is no other. */
	see_head(set[0], 1);
	assert_int_equal(txs[1].rt_status, 0);
	again = rig_open_next(&rig);
	rig_run(&rig);
	send_one(2, 2000, 2000);
	see_head(again, 2);
}

/* The last connection of the peer: the peer is lost. */
static void abort_ends_the_only_connection(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	send_one(0, BYTES, HALF);
	send_one(1, 2000, 2000);
	abort_(0);
	assert_true(his->rs_hung);
	assert_int_equal(txs[0].rt_status, -ECONNABORTED);
	assert_int_equal(txs[1].rt_status, -ECONNABORTED);
	assert_int_equal(rig.rg_downs_nr, 1);
}

static void abort_before_the_beginning_ends_nothing(void **state)
{
	struct rig_stream *out = open_set();

	(void)state;
	out->rs_room = 0;
	send_one(0, BYTES, HALF);
	abort_(0);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(txs[0].rt_status, -ECONNABORTED);
	assert_false(out->rs_hung);
	assert_int_equal(rig_unseen(out), 0);
}

/* A message that waits for a connection is none that has left. */
static void abort_without_connection_ends_message(void **state)
{
	(void)state;
	send_one(0, BYTES, HALF);
	more(0, HALF + 1);
	abort_(0);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(txs[0].rt_status, -ECONNABORTED);
}

/* The checksum of a message leaves before its payload. */
static void checksums_let_no_message_grow(void **state)
{
	(void)state;
	assert_true(rig.rg_ni.ldn_grows);
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_csum = true;
	rig_start(&rig, &rig_a);
	assert_false(rig.rg_ni.ldn_grows);
}

/* -- messages that arrive -------------------------------------------------- */

static uint8_t bytes_in[RIG_HEAD_V3 + BYTES];

/** The peer says the head of a message, and `nr` bytes of its payload. */
static void feed_part(struct rig_stream *his, uint64_t cookie, size_t nr)
{
	(void)rig_put_message(bytes_in, false, cookie, BYTES);
	assert_int_equal(rig_feed(&rig, his, bytes_in, RIG_HEAD_V3 + nr),
			 RIG_HEAD_V3 + nr);
}

static void feed_rest(struct rig_stream *his, size_t from, size_t nr)
{
	assert_int_equal(rig_feed(&rig, his, bytes_in + RIG_HEAD_V3 + from, nr),
			 nr);
}

static void payload_is_reported_while_it_arrives(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	feed_part(his, 0, HALF);
	assert_int_equal(rig.rg_reports_nr, 0);
	feed_rest(his, HALF, HALF);
	rig.rg_reports = true;
	feed_part(his, 0, HALF);
	assert_int_equal(rig.rg_reported, HALF);
	feed_rest(his, HALF, HALF - 1);
	assert_int_equal(rig.rg_reported, BYTES - 1);
	feed_rest(his, BYTES - 1, 1);
	assert_int_equal(rig.rg_reported, BYTES - 1);
	assert_true(rig_msg_at(&rig, 1)->rm_done);
}

/* "a zero-copy acknowledgement only after full receipt": the sender may use its
 * memory again then. */
static void acknowledgement_waits_for_the_last_byte(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	rig.rg_reports = true;
	feed_part(his, 7, BYTES - 1);
	rig_run(&rig);
	assert_int_equal(rig.rg_reported, BYTES - 1);
	assert_int_equal(rig_unseen(his), 0);
	feed_rest(his, BYTES - 1, 1);
	rig_run(&rig);
	assert_int_equal(rig_see_frame(&rig, his).sfr_cookie[1], 7);
}

/* Bytes that have a checksum are good when the last one has arrived. */
static void checked_payload_is_not_reported(void **state)
{
	struct rig_stream   *his = rig_accept(&rig, M0_SOCK_V2, M0_SOCK_ANY);
	struct m0_sock_frame frame = { .sfr_type = M0_SOCK_FRAME_LNET,
				       .sfr_csum = 1 };

	(void)state;
	rig.rg_reports = true;
	(void)rig_put_message(bytes_in, false, 0, BYTES);
	m0_sock__frame_encode(&frame, bytes_in);
	assert_int_equal(rig_feed(&rig, his, bytes_in, RIG_HEAD_V3 + HALF),
			 RIG_HEAD_V3 + HALF);
	assert_int_equal(rig.rg_rxs_nr, 1);
	assert_int_equal(rig.rg_reports_nr, 0);
}

/** The peer ends this connection. */
static void end(struct rig_stream *his, int status)
{
	his->rs_hung = true;
	rig.rg_io.sts_up->stu_broken(his->rs_conn, status);
	rig_run(&rig);
}

/* A router that cannot send the rest of a message ends that connection. */
static void connection_cut_off_ends_alone(void **state)
{
	(void)state;
	(void)open_set();
	feed_part(set[1], 0, HALF);
	assert_int_equal(rig.rg_rxs_nr, 1);
	end(set[1], 0);
	assert_int_equal(rig.rg_rxs_nr, 0);
	assert_int_equal(rig_msg_at(&rig, 0)->rm_status, -ECONNRESET);
	assert_false(set[0]->rs_hung);
	assert_false(set[2]->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 0);
	/* This side made it, and makes it anew. */
	(void)rig_open_next(&rig);
}

/* Between messages, or by a reset, the peer itself is gone. */
static void other_ends_are_those_of_the_peer(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		(void)open_set();
		if (i == 1)
			feed_part(set[1], 0, HALF);
		end(set[1], i == 1 ? -ECONNRESET : 0);
		assert_true(set[0]->rs_hung);
		assert_true(set[2]->rs_hung);
		assert_int_equal(rig.rg_downs_nr, 1);
		rig_again(&rig);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		CASE(bytes_leave_as_far_as_they_are_there),
		CASE(peer_is_not_late_with_what_is_not_there),
		CASE(message_behind_times_out),
		CASE(abort_ends_one_connection),
		CASE(abort_ends_the_only_connection),
		CASE(abort_before_the_beginning_ends_nothing),
		CASE(abort_without_connection_ends_message),
		CASE(checksums_let_no_message_grow),
		CASE(payload_is_reported_while_it_arrives),
		CASE(acknowledgement_waits_for_the_last_byte),
		CASE(checked_payload_is_not_reported),
		CASE(connection_cut_off_ends_alone),
		CASE(other_ends_are_those_of_the_peer),
	};
	int rc;

	payload = malloc(BYTES);
	rig_payload_fill(payload, BYTES, 3);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	free(payload);
	return rc;
}
