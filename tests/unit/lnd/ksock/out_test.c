/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transmit half: what is written, in which order, and how a message ends. */
#include <stdlib.h>

#include "rig.h"

static struct rig    rig;
static struct rig_tx txs[40];
static uint8_t      *payload;

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

static void send_one(unsigned i, size_t nr)
{
	rig_tx_init(&txs[i], payload, nr, (uint8_t)(i + 1));
	rig_xmit(&rig, &txs[i]);
}

/** The next message on a stream is this one, whole. */
static struct m0_sock_frame see(struct rig_stream *stream, unsigned i,
				size_t nr)
{
	struct m0_sock_frame frame = rig_see_frame(&rig, stream);

	assert_int_equal(frame.sfr_type, M0_SOCK_FRAME_LNET);
	assert_int_equal(frame.sfr_cookie[0], 0);
	assert_int_equal(rig_see(&rig, stream, 72)[0], i + 1);
	assert_memory_equal(rig_see(&rig, stream, nr), payload, nr);
	assert_int_equal(txs[i].rt_done, 1);
	assert_int_equal(txs[i].rt_status, 0);
	return frame;
}

/* -- which connection: 3.7 ------------------------------------------------- */

enum {
	SMALL = 1024 - RIG_HEAD_V3 - 1,
	BULK = SMALL + 1
};

/** Types that are open (bit by type), and where a message goes; -1: nowhere. */
static const struct {
	uint32_t ch_version;
	unsigned ch_open;
	int      ch_small;
	int      ch_bulk;
} choices[] = {
#define ANY M0_SOCK_ANY
#define CTL M0_SOCK_CONTROL
#define IN  M0_SOCK_BULK_IN
#define OUT M0_SOCK_BULK_OUT
	{ M0_SOCK_V3, M0_BITS(CTL), CTL, CTL },
	{ M0_SOCK_V3, M0_BITS(CTL, OUT), CTL, OUT },
	{ M0_SOCK_V3, M0_BITS(CTL, IN), CTL, CTL },
	{ M0_SOCK_V3, M0_BITS(CTL, IN, OUT), CTL, OUT },
	{ M0_SOCK_V3, M0_BITS(OUT), OUT, OUT },
	{ M0_SOCK_V3, M0_BITS(OUT, ANY), OUT, OUT },
	{ M0_SOCK_V3, M0_BITS(IN), -1, -1 },
	{ M0_SOCK_V3, M0_BITS(ANY), -1, -1 },
	{ M0_SOCK_V4, M0_BITS(CTL, IN, OUT, ANY), CTL, OUT },
	{ M0_SOCK_V4, M0_BITS(ANY, IN), -1, -1 },
	{ M0_SOCK_V2, M0_BITS(ANY), ANY, ANY },
	{ M0_SOCK_V2, M0_BITS(CTL), CTL, CTL },
	{ M0_SOCK_V2, M0_BITS(IN), IN, IN },
	{ M0_SOCK_V2, M0_BITS(OUT, IN), -2, OUT },
	{ M0_SOCK_V2, M0_BITS(CTL, OUT, IN), CTL, OUT },
	{ M0_SOCK_V2, M0_BITS(ANY, IN), ANY, ANY },
};

static void choice_check(struct rig_stream **his, int want, unsigned i)
{
	int type;

	for (type = 0; type < 4; ++type) {
		if (his[type] == NULL)
			continue;
		if (want == -2 || (int)type == want)
			continue;
		if (rig_unseen(his[type]) != 0)
			fail_msg("row %u: on %d, not on %d", i, type, want);
	}
	if (want >= 0)
		assert_true(rig_unseen(his[want]) > 0);
	assert_int_equal(rig_dial(&rig) != NULL, want == -1);
}

static void message_takes_connection_by_type_and_size(void **state)
{
	unsigned i;
	unsigned bulk;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(choices); ++i) {
		for (bulk = 0; bulk < 2; ++bulk) {
			struct rig_stream *his[4] = { NULL };
			uint32_t           type;
			size_t             nr = bulk ? BULK : SMALL;

			rig_again(&rig);
			if (choices[i].ch_version == M0_SOCK_V4)
				nr -= 24;
			for (type = 0; type < 4; ++type)
				if (choices[i].ch_open & 1u << type)
					his[type] = rig_accept(
						&rig, choices[i].ch_version,
						m0_sock__ctype_invert(type));
			send_one(0, nr);
			rig_run(&rig);
			choice_check(his,
				     bulk ? choices[i].ch_bulk
					  : choices[i].ch_small,
				     i);
		}
	}
}

/* A message takes the connection with the fewest bytes to send, and of equal
 * ones the one used longest ago. */
static void message_takes_idlest_connection(void **state)
{
	struct rig_stream *his[3];
	unsigned           i;

	(void)state;
	for (i = 0; i < 3; ++i)
		his[i] = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	/* In turns while all are idle. */
	for (i = 0; i < 6; ++i) {
		send_one(i, 5000);
		rig_run(&rig);
		(void)see(his[i % 3], i, 5000);
	}
	his[0]->rs_unsent = 100;
	his[1]->rs_unsent = 50;
	his[2]->rs_unsent = 70;
	send_one(6, 5000);
	(void)see(his[1], 6, 5000);
	/* Queued bytes count like bytes that are not acknowledged. */
	his[1]->rs_room = 0;
	his[2]->rs_room = 0;
	send_one(7, 5000);
	send_one(8, 5000);
	send_one(9, 5000);
	(void)see(his[0], 9, 5000);
	his[1]->rs_room = his[2]->rs_room = SIZE_MAX;
	his[1]->rs_out = his[2]->rs_out = true;
	rig_run(&rig);
	(void)see(his[1], 7, 5000);
	(void)see(his[2], 8, 5000);
}

/* -- how it is written ----------------------------------------------------- */

/* The worked bytes of the frame; the header is the engine's. */
static void message_is_framed(void **state)
{
	static const uint8_t head[24] = { 0xc1 };
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	send_one(0, 48);
	assert_memory_equal(rig_see(&rig, his, 24), head, 24);
	assert_int_equal(rig_see(&rig, his, 72)[71], 1);
	assert_memory_equal(rig_see(&rig, his, 48), payload, 48);
}

/* V4 has the large header. */
static void message_v4_has_large_header(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V4, M0_SOCK_CONTROL);

	(void)state;
	send_one(0, 0);
	rig_run(&rig);
	assert_int_equal(rig_unseen(his), RIG_HEAD_V4);
}

/* All that is queued goes in one write, as far as there are segments. */
static void messages_are_gathered(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct iovec       iov[64];
	unsigned           i;

	(void)state;
	for (i = 0; i < 40; ++i)
		send_one(i, i % 2 * 64);
	assert_int_equal(rig.rg_io.sts_up->stu_out_what(his->rs_conn, iov, 64),
			 60);
	assert_int_equal(rig.rg_io.sts_up->stu_out_what(his->rs_conn, iov, 7),
			 7);
	assert_int_equal(rig.rg_io.sts_up->stu_out_what(his->rs_conn, iov, 1),
			 1);
	rig_run(&rig);
	for (i = 0; i < 40; ++i)
		(void)see(his, i, i % 2 * 64);
}

/* One write is bounded in bytes. */
static void gathering_is_bounded(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	struct iovec       iov[64];
	unsigned           nr;
	unsigned           i;
	size_t             sum = 0;

	(void)state;
	for (i = 0; i < 8; ++i)
		send_one(i, 300000);
	nr = rig.rg_io.sts_up->stu_out_what(his->rs_conn, iov, 64);
	for (i = 0; i < nr; ++i)
		sum += iov[i].iov_len;
	assert_true(sum >= 1 << 20);
	assert_true(sum < (1 << 20) + 300000 + RIG_HEAD_V3);
	rig_run(&rig);
	for (i = 0; i < 8; ++i)
		(void)see(his, i, 300000);
}

/* However little the stream takes at a time, the bytes are the same, and a
 * message has left when its last byte has. */
static void partial_writes_lose_nothing(void **state)
{
	static const size_t rooms[] = { 1, 7, 96, 97, 500 };
	unsigned            r;
	unsigned            i;

	(void)state;
	for (r = 0; r < ARRAY_SIZE(rooms); ++r) {
		struct rig_stream *his;
		size_t             sum = 0;

		rig_again(&rig);
		his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
		his->rs_room = 0;
		for (i = 0; i < 6; ++i) {
			send_one(i, i * 37);
			sum += RIG_HEAD_V3 + i * 37;
		}
		/* Segments that are empty, and payload from within one. */
		txs[5].rt_vec.ov_vec.v_nr = 4;
		txs[5].rt_count[0] = 0;
		txs[5].rt_count[1] = 60;
		txs[5].rt_count[2] = 0;
		txs[5].rt_count[3] = 200;
		txs[5].rt_buf[1] = payload - 10 + 4096;
		txs[5].rt_buf[3] = payload + 50 + 4096;
		txs[5].rt_tx.ltx_payload.lpy_offset = 10;
		while (rig_unseen(his) < sum) {
			size_t before = rig_unseen(his);

			his->rs_room = rooms[r];
			his->rs_out = true;
			rig_run(&rig);
			assert_true(rig_unseen(his) > before);
			for (i = 0; i + 1 < 6; ++i)
				assert_true(txs[i].rt_done >=
					    txs[i + 1].rt_done);
		}
		his->rs_room = SIZE_MAX;
		assert_memory_equal(his->rs_wrote + his->rs_wrote_nr - 185,
				    payload + 4096, 185);
		for (i = 0; i < 5; ++i)
			(void)see(his, i, i * 37);
	}
}

/* A NID that does not fit the peer's protocol. */
static void message_without_header_fails(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	send_one(0, 0);
	send_one(1, 0);
	send_one(2, 0);
	txs[1].rt_no_header = true;
	rig_run(&rig);
	assert_int_equal(txs[1].rt_done, 1);
	assert_int_equal(txs[1].rt_status, -EAFNOSUPPORT);
	assert_int_equal(txs[1].rt_health, M0_LND_LOCAL_ERROR);
	(void)see(his, 0, 0);
	(void)see(his, 2, 0);
	assert_int_equal(rig_unseen(his), 0);
}

/* -- how it ends ----------------------------------------------------------- */

static void cancel(unsigned i)
{
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &txs[i].rt_tx);
}

/* A cancelled message completes at once unless its first bytes have left. */
static void cancel_ends_what_has_not_begun(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	his->rs_room = 10;
	send_one(0, 0);
	send_one(1, 0);
	send_one(2, 0);
	rig_run(&rig);
	cancel(0);
	cancel(1);
	cancel(1);
	/* Not on the caller's stack. */
	assert_int_equal(txs[1].rt_done, 0);
	rig_run(&rig);
	cancel(1);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_done, 0);
	assert_int_equal(txs[1].rt_done, 1);
	assert_int_equal(txs[1].rt_status, -ECANCELED);
	his->rs_room = SIZE_MAX;
	his->rs_out = true;
	(void)see(his, 0, 0);
	(void)see(his, 2, 0);
	cancel(2);
	rig_run(&rig);
}

/* A peer that takes a byte now and then keeps what is cancelled no longer than
 * one that takes none. */
static void cancel_of_what_has_begun_is_bounded(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	unsigned           i;

	(void)state;
	his->rs_room = 10;
	send_one(0, 0);
	rig_run(&rig);
	for (i = 1; i <= 6; ++i) {
		assert_int_equal(txs[0].rt_done, 0);
		his->rs_room = 1;
		his->rs_out = true;
		rig_pass(&rig, RIG_SECONDS(20));
		/* At 60 s: at 110 the time-out is over. */
		if (i == 3)
			cancel(0);
	}
	assert_true(his->rs_hung);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(txs[0].rt_status, -ETIMEDOUT);
}

/* A message that waits for a connection can be cancelled, too. */
static void cancel_while_connecting(void **state)
{
	(void)state;
	send_one(0, 0);
	assert_non_null(rig_dial(&rig));
	cancel(0);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_status, -ECANCELED);
	assert_int_equal(txs[0].rt_done, 1);
	assert_non_null(rig_dial(&rig));
}

static void cancel_second(struct rig *unused, struct rig_tx *tx)
{
	(void)unused;
	if (tx == &txs[0]) {
		cancel(1);
		cancel(2);
	}
}

/* Cancelled while the end of another is told, of the same write: it has left,
 * and is not ended twice. */
static void cancel_of_what_has_left_does_nothing(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	his->rs_room = 2 * RIG_HEAD_V3;
	send_one(0, 0);
	send_one(1, 0);
	send_one(2, 0);
	rig.rg_on_tx_done = cancel_second;
	rig_run(&rig);
	(void)see(his, 0, 0);
	(void)see(his, 1, 0);
	assert_int_equal(txs[2].rt_status, -ECANCELED);
	assert_int_equal(rig_unseen(his), 0);
}

/* A message has to begin by its deadline; what has begun is not given up. */
static void deadline_ends_what_has_not_begun(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	unsigned           i;

	(void)state;
	his->rs_room = 1;
	for (i = 0; i < 3; ++i) {
		rig_tx_init(&txs[i], NULL, 0, (uint8_t)(i + 1));
		txs[i].rt_tx.ltx_deadline = rig.rg_now + RIG_SECONDS(5 - i);
		rig_xmit(&rig, &txs[i]);
	}
	rig_pass(&rig, RIG_SECONDS(3) - 1);
	assert_int_equal(txs[2].rt_done, 0);
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	assert_int_equal(txs[2].rt_done, 1);
	assert_int_equal(txs[2].rt_status, -ETIMEDOUT);
	assert_int_equal(txs[2].rt_health, M0_LND_LOCAL_TIMEOUT);
	assert_int_equal(txs[1].rt_done, 0);
	rig_pass(&rig, RIG_SECONDS(10));
	assert_int_equal(txs[1].rt_status, -ETIMEDOUT);
	assert_int_equal(txs[0].rt_done, 0);
	his->rs_room = SIZE_MAX;
	his->rs_out = true;
	(void)see(his, 0, 0);
	assert_false(his->rs_hung);
}

/* A deadline also ends a message that waits for a connection. */
static void deadline_ends_what_waits(void **state)
{
	(void)state;
	rig_tx_init(&txs[0], NULL, 0, 1);
	txs[0].rt_tx.ltx_deadline = rig.rg_now + RIG_SECONDS(5);
	rig_xmit(&rig, &txs[0]);
	assert_non_null(rig_dial(&rig));
	rig_pass(&rig, RIG_SECONDS(5) - 1);
	assert_int_equal(txs[0].rt_done, 0);
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	assert_int_equal(txs[0].rt_status, -ETIMEDOUT);
	assert_int_equal(txs[0].rt_health, M0_LND_LOCAL_TIMEOUT);
}

/* A peer that does not read: all its connections end in time. What was begun may
 * have arrived; another path may take the rest. */
static void peer_not_reading_times_out(void **state)
{
	struct rig_stream *his[2] = {
		rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL),
		rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT)
	};

	(void)state;
	rig_pass(&rig, RIG_SECONDS(300));
	his[0]->rs_room = 10;
	send_one(0, 0);
	send_one(1, 0);
	rig_pass(&rig, RIG_SECONDS(20));
	his[0]->rs_room = 10;
	his[0]->rs_out = true;
	rig_pass(&rig, RIG_SECONDS(50) - 1);
	assert_false(his[0]->rs_hung);
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	assert_true(his[0]->rs_hung && his[1]->rs_hung);
	assert_int_equal(txs[0].rt_status, -ETIMEDOUT);
	assert_int_equal(txs[0].rt_health, M0_LND_REMOTE_TIMEOUT);
	assert_int_equal(txs[1].rt_status, -ETIMEDOUT);
	assert_int_equal(txs[1].rt_health, M0_LND_REMOTE_DROPPED);
	assert_int_equal(rig.rg_down_status, -ETIMEDOUT);
}

/* A peer whose system does not acknowledge what it was sent: in time, too. */
static void peer_mute_times_out(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	his->rs_unsent = 96;
	send_one(0, 0);
	(void)see(his, 0, 0);
	rig_pass(&rig, RIG_SECONDS(49));
	assert_false(his->rs_hung);
	rig_pass(&rig, RIG_SECONDS(52));
	assert_true(his->rs_hung);
	assert_int_equal(rig.rg_down_status, -ETIMEDOUT);
}

/* One who acknowledges late, but does, is not mute: at each look the same
 * number of bytes is on its way, but not the same bytes. */
static void peer_late_is_not_mute(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	unsigned           i;

	(void)state;
	his->rs_unsent = 96;
	for (i = 0; i < 400; ++i) {
		send_one(0, 0);
		(void)see(his, 0, 0);
		rig_pass(&rig, RIG_SECONDS(1));
	}
	assert_false(his->rs_hung);
}

/* One whose system acknowledges a little now and then of what it was sent long
 * ago is not mute; when that stops, it is. */
static void peer_slow_to_acknowledge_is_not_mute(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	send_one(0, 10000);
	(void)see(his, 0, 10000);
	for (his->rs_unsent = 10000; his->rs_unsent > 1000;
	     his->rs_unsent -= 1000)
		rig_pass(&rig, RIG_SECONDS(40));
	assert_false(his->rs_hung);
	rig_pass(&rig, RIG_SECONDS(101));
	assert_true(his->rs_hung);
}

/* Messages that are sent after a long idle time have their time. */
static void message_after_idle_time_is_not_late(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	/* No pass in between: the driver's clock stands still. */
	rig.rg_now += RIG_SECONDS(1000);
	his->rs_room = 0;
	rig_tx_init(&txs[0], NULL, 0, 1);
	rig.rg_lnd->ld_ops->ldo_xmit(&rig.rg_ni, &txs[0].rt_tx);
	rig_run(&rig);
	assert_false(his->rs_hung);
	rig_pass(&rig, RIG_SECONDS(49));
	assert_false(his->rs_hung);
	rig_pass(&rig, RIG_SECONDS(2));
	assert_true(his->rs_hung);
}

/* Errors, and what they say about whom. */
static void broken_ends_messages_with_reason(void **state)
{
	static const struct {
		int                br_status;
		int                br_told;
		enum m0_lnd_health br_begun;
		enum m0_lnd_health br_queued;
	} rows[] = {
		{ 0, -ECONNRESET, M0_LND_LOCAL_ERROR, M0_LND_REMOTE_DROPPED },
		{ -ECONNRESET, -ECONNRESET, M0_LND_LOCAL_ERROR,
		  M0_LND_REMOTE_DROPPED },
		{ -ETIMEDOUT, -ETIMEDOUT, M0_LND_REMOTE_TIMEOUT,
		  M0_LND_REMOTE_DROPPED },
		{ -EHOSTUNREACH, -EHOSTUNREACH, M0_LND_LOCAL_ERROR,
		  M0_LND_REMOTE_DROPPED },
		{ -ENETUNREACH, -ENETUNREACH, M0_LND_LOCAL_ERROR,
		  M0_LND_REMOTE_DROPPED },
		{ -ENETDOWN, -ENETDOWN, M0_LND_LOCAL_ERROR,
		  M0_LND_REMOTE_DROPPED },
		{ -ECONNREFUSED, -ECONNREFUSED, M0_LND_LOCAL_ERROR,
		  M0_LND_REMOTE_DROPPED },
		{ -EPIPE, -EPIPE, M0_LND_LOCAL_ERROR, M0_LND_REMOTE_DROPPED },
		{ -EPROTO, -EPROTO, M0_LND_LOCAL_ERROR, M0_LND_REMOTE_DROPPED },
		{ -ENOBUFS, -ENOBUFS, M0_LND_LOCAL_ERROR,
		  M0_LND_LOCAL_DROPPED },
		{ -EIO, -EIO, M0_LND_LOCAL_ERROR, M0_LND_LOCAL_ERROR },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		struct rig_stream *his;

		rig_again(&rig);
		his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
		his->rs_room = 5;
		send_one(0, 0);
		send_one(1, 0);
		rig_run(&rig);
		his->rs_hung = true;
		rig.rg_io.sts_up->stu_broken(his->rs_conn, rows[i].br_status);
		rig_run(&rig);
		assert_int_equal(txs[0].rt_status, rows[i].br_told);
		assert_int_equal(txs[0].rt_health, rows[i].br_begun);
		assert_int_equal(txs[1].rt_status, rows[i].br_told);
		assert_int_equal(txs[1].rt_health, rows[i].br_queued);
	}
}

/* An interface that stops ends everything, and says so when it is over. */
static void ni_stop_ends_all(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct rig_stream *half = rig_connect(&rig, "10.0.0.7", 1000);
	uint8_t            buf[M0_LND_WHY_BYTES];
	size_t             nr = rig_put_request(buf, &rig_a);

	(void)state;
	assert_int_equal(rig_feed(&rig, half, buf, nr), nr);
	his->rs_room = 5;
	send_one(0, 0);
	send_one(1, 0);
	rig_run(&rig);
	nr = rig_put_message(buf, false, 0, 100);
	assert_int_equal(rig_feed(&rig, his, buf, nr), nr);
	rig_tx_init(&txs[2], NULL, 0, 3);
	txs[2].rt_tx.ltx_nid = rig_low;
	rig_xmit(&rig, &txs[2]);
	assert_non_null(rig_dial(&rig));
	rig.rg_lnd->ld_ops->ldo_ni_stop(&rig.rg_ni);
	assert_int_equal(rig.rg_stopped_nr, 0);
	/* Too late. */
	send_one(3, 0);
	rig_run(&rig);
	assert_int_equal(rig.rg_stopped_nr, 1);
	assert_int_equal(rig.rg_listeners_nr, 0);
	assert_true(his->rs_hung && half->rs_hung);
	assert_int_equal(txs[0].rt_done + txs[1].rt_done + txs[2].rt_done +
				 txs[3].rt_done,
			 4);
	assert_int_equal(txs[2].rt_status, -ECANCELED);
	assert_int_equal(txs[3].rt_status, -ENETDOWN);
	assert_int_equal(rig.rg_msgs[0].rm_status, -ENETDOWN);
	/* The NI can start again. */
	rig.rg_stopped_nr = 0;
	assert_int_equal(rig.rg_lnd->ld_ops->ldo_ni_start(
				 rig.rg_lnd, &rig.rg_ni, (char *)buf),
			 0);
	assert_int_equal(rig.rg_listeners_nr, 1);
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
}

static int group_setup(void **state)
{
	size_t i;

	(void)state;
	payload = malloc(1 << 20);
	for (i = 0; i < 1 << 20; ++i)
		payload[i] = (uint8_t)(i * 13 + i / 256);
	return 0;
}

/* Messages that were passed have begun: they are done in order when they have left, and
 * are cancelled no more. */
static void passed_messages_have_begun(void **state)
{
	const size_t       bytes = BULK + RIG_HEAD_V3;
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	unsigned           i;

	(void)state;
	his->rs_passes = true;
	his->rs_room = 2 * bytes + 500;
	for (i = 0; i < 4; ++i)
		send_one(i, BULK);
	rig_run(&rig);
	assert_int_equal(his->rs_passed, 2 * bytes + 500);
	for (i = 1; i < 4; ++i)
		rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &txs[i].rt_tx);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_done + txs[1].rt_done + txs[2].rt_done, 0);
	assert_int_equal(txs[3].rt_status, -ECANCELED);
	/* The first has left, the second in part. */
	his->rs_passed -= bytes + 10;
	(void)rig.rg_io.sts_up->stu_out_left(his->rs_conn, bytes + 10);
	see(his, 0, BULK);
	assert_int_equal(txs[1].rt_done, 0);
	his->rs_room = SIZE_MAX;
	his->rs_passes = false;
	rig_run(&rig);
	see(his, 1, BULK);
	see(his, 2, BULK);
	assert_int_equal(rig_unseen(his), 0);
}

/* A cancelled message that was passed leaves in time, whatever leaves before it. */
static void cancel_of_what_was_passed_is_bounded(void **state)
{
	const size_t       bytes = BULK + RIG_HEAD_V3;
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	unsigned           i;

	(void)state;
	his->rs_passes = true;
	for (i = 0; i < 4; ++i)
		send_one(i, BULK);
	rig_run(&rig);
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &txs[3].rt_tx);
	for (i = 0; i < 2; ++i) {
		rig_pass(&rig, RIG_SECONDS(20));
		assert_false(his->rs_hung);
		(void)rig.rg_io.sts_up->stu_out_left(his->rs_conn, bytes);
	}
	rig_pass(&rig, RIG_SECONDS(20));
	assert_true(his->rs_hung);
	rig_run(&rig);
	assert_int_equal(txs[1].rt_status, 0);
	assert_int_equal(txs[3].rt_status, -ETIMEDOUT);
}

/* The peer may have received them, so no other path takes them. */
static void passed_messages_end_with_their_stream(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	unsigned           i;

	(void)state;
	his->rs_passes = true;
	his->rs_room = 2 * (BULK + RIG_HEAD_V3);
	for (i = 0; i < 3; ++i)
		send_one(i, BULK);
	rig_run(&rig);
	his->rs_hung = true;
	rig.rg_io.sts_up->stu_broken(his->rs_conn, -ECONNRESET);
	rig_run(&rig);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(txs[i].rt_done, 1);
		assert_int_equal(txs[i].rt_status, -ECONNRESET);
		assert_int_equal(txs[i].rt_health, M0_LND_LOCAL_ERROR);
	}
	assert_true(txs[2].rt_done == 0 ||
		    txs[2].rt_health == M0_LND_REMOTE_DROPPED);
}

static int group_teardown(void **state)
{
	(void)state;
	free(payload);
	return 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(message_takes_connection_by_type_and_size),
		CASE(message_takes_idlest_connection),
		CASE(message_is_framed),
		CASE(message_v4_has_large_header),
		CASE(messages_are_gathered),
		CASE(gathering_is_bounded),
		CASE(partial_writes_lose_nothing),
		CASE(message_without_header_fails),
		CASE(cancel_ends_what_has_not_begun),
		CASE(cancel_of_what_has_begun_is_bounded),
		CASE(cancel_while_connecting),
		CASE(cancel_of_what_has_left_does_nothing),
		CASE(deadline_ends_what_has_not_begun),
		CASE(deadline_ends_what_waits),
		CASE(peer_not_reading_times_out),
		CASE(peer_mute_times_out),
		CASE(peer_late_is_not_mute),
		CASE(peer_slow_to_acknowledge_is_not_mute),
		CASE(message_after_idle_time_is_not_late),
		CASE(broken_ends_messages_with_reason),
		CASE(ni_stop_ends_all),
		CASE(passed_messages_have_begun),
		CASE(cancel_of_what_was_passed_is_bounded),
		CASE(passed_messages_end_with_their_stream),
	};

	return cmocka_run_group_tests(cases, group_setup, group_teardown);
}
