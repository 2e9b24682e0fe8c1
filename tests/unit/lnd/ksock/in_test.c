/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Receive half: frames, headers, payload, in whatever pieces they come. */
#include "rig.h"

static struct rig rig;

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

/** A dialogue of messages of many sizes with NOOPs between. */
static size_t dialogue_make(uint8_t *buf, bool large, unsigned *ret_msgs)
{
	static const uint32_t sizes[] = { 0,  64,   1,    0, 4096, 3,
					  17, 2000, 1024, 0, 5000, 80000 };
	size_t                nr = 0;
	unsigned              i;

	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		if (i % 3 == 1)
			nr += rig_put_frame(buf + nr, M0_SOCK_FRAME_NOOP, 0, 1);
		if (i % 6 == 1)
			nr += rig_put_frame(buf + nr, M0_SOCK_FRAME_NOOP, 0, 0);
		nr += rig_put_message(buf + nr, large, i % 2 ? i + 2 : 0,
				      sizes[i]);
		rig_payload_fill(buf + nr, sizes[i], i);
		rig_said_at[i] = nr;
		nr += sizes[i];
	}
	*ret_msgs = ARRAY_SIZE(sizes);
	return nr;
}

/** Bytes that the engine guesses for each message of the dialogue. */
static size_t dialogue_guess;

static void dialogue_run(uint32_t version, enum rig_mode mode, size_t piece,
			 size_t want, size_t segs, m0_bcount_t offset)
{
	bool               large = version == M0_SOCK_V4;
	unsigned           msgs;
	size_t             nr = dialogue_make(rig_said, large, &msgs);
	struct rig_stream *his;
	unsigned           i;

	rig_again(&rig);
	his = rig_accept(&rig, version,
			 dialogue_guess > 0 ? M0_SOCK_BULK_OUT
					    : M0_SOCK_CONTROL);
	rig.rg_guess_bytes = dialogue_guess;
	rig.rg_mode = mode;
	rig.rg_piece = piece;
	rig.rg_want = want;
	rig.rg_seg_bytes = segs;
	rig.rg_offset = offset;
	rig.rg_on_rx_done = rig_payload_check;
	assert_int_equal(rig_feed(&rig, his, rig_said, nr), nr);
	assert_int_equal(rig.rg_msgs_nr, msgs);
	for (i = 0; i < msgs; ++i) {
		const struct rig_msg *msg = rig_msg_at(&rig, i);

		assert_true(m0_lnet_nid_eq(&msg->rm_nid, &rig_b));
		assert_int_equal(msg->rm_pid, 12345);
		assert_int_equal(msg->rm_large, large);
	}
	rig_run(&rig);
	assert_false(his->rs_hung);
}

/* However the bytes are cut and wherever they are put, the same messages come
 * out of them. */
static void bytes_any_split_gives_same_messages(void **state)
{
	static const size_t pieces[] = { SIZE_MAX, 1,  0,  23, 24,
					 25,       95, 96, 97, 4096 };
	static const size_t wants[] = { SIZE_MAX, 0, 10, 1024 };
	unsigned            mode;
	unsigned            i;
	unsigned            j;

	(void)state;
	for (mode = RIG_DIRECT; mode <= RIG_BOTH; ++mode)
		for (i = 0; i < ARRAY_SIZE(pieces); ++i) {
			dialogue_run(M0_SOCK_V3, mode, pieces[i], SIZE_MAX,
				     SIZE_MAX, 0);
			dialogue_run(M0_SOCK_V4, mode, pieces[i], SIZE_MAX, 100,
				     3);
			for (j = 0; j < ARRAY_SIZE(wants); ++j)
				dialogue_run(M0_SOCK_V3, mode, pieces[i],
					     wants[j], 1000, 1500);
		}
}

/* A few hundred random cuts give the same messages. */
static void bytes_random_split_gives_same_messages(void **state)
{
	struct m0_rand rand;
	unsigned       i;

	(void)state;
	m0_rand_init(&rand, 42);
	for (i = 0; i < 300; ++i)
		dialogue_run(
			m0_rand_chance(&rand, 300) ? M0_SOCK_V4 : M0_SOCK_V3,
			(enum rig_mode)m0_rand_below(&rand, 3), 0,
			m0_rand_below(&rand, 6000), m0_rand_in(&rand, 1, 3000),
			m0_rand_below(&rand, 4000));
}

/* Any guess and any cut give the same messages; the driver moves the bytes of a
 * wrong guess before it calls anybody. */
static void guess_any_gives_same_messages(void **state)
{
	static const size_t guesses[] = { 1, 17, 4096, 5000, 80000, 1 << 20 };
	static const size_t pieces[] = { SIZE_MAX, 1, 0, 96, 97, 1000, 70000 };
	unsigned            i;
	unsigned            j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(guesses); ++i)
		for (j = 0; j < ARRAY_SIZE(pieces); ++j) {
			dialogue_guess = guesses[i];
			dialogue_run(M0_SOCK_V3, RIG_DIRECT, pieces[j],
				     SIZE_MAX, SIZE_MAX, 0);
			dialogue_run(M0_SOCK_V4, RIG_BOTH, pieces[j], SIZE_MAX,
				     1000, 1500);
			dialogue_run(M0_SOCK_V3, RIG_BOTH, pieces[j], SIZE_MAX,
				     7000, 3);
			dialogue_run(M0_SOCK_V3, RIG_BOTH, pieces[j], 0,
				     SIZE_MAX, 0);
		}
	dialogue_guess = 0;
}

/* A large payload goes where it belongs. */
static void payload_large_goes_directly(void **state)
{
	const uint32_t        size = 256 << 10;
	struct rig_stream    *his;
	struct m0_lnd_ni_info info;
	size_t                nr;

	(void)state;
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	nr = rig_put_message(rig_said, false, 0, size);
	rig_payload_fill(rig_said + nr, size, 1);
	rig_said_at[0] = nr;
	rig.rg_on_rx_done = rig_payload_check;
	assert_int_equal(rig_feed(&rig, his, rig_said, nr + size), nr + size);
	assert_int_equal(rig.rg_msgs_nr, 1);
	rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &info);
	assert_int_equal(info.ldi_direct_bytes, size);
	assert_int_equal(info.ldi_copied_bytes, 0);
}

/* Gives the connection a message of `size` bytes. @return what was copied. */
static uint64_t message_copied(struct rig_stream *his, uint32_t size)
{
	struct m0_lnd_ni_info before;
	struct m0_lnd_ni_info after;
	size_t                nr = rig_put_message(rig_said, false, 0, size);

	rig_payload_fill(rig_said + nr, size, 1);
	rig_said_at[rig.rg_msgs_nr] = nr;
	rig.rg_on_rx_done = rig_payload_check;
	rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &before);
	assert_int_equal(rig_feed(&rig, his, rig_said, nr + size), nr + size);
	rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &after);
	return after.ldi_copied_bytes - before.ldi_copied_bytes;
}

/* The driver copies no byte of large messages. After a small one more small
 * ones may follow, so it copies a part of the next large one. */
static void large_is_not_copied_unless_behind_small(void **state)
{
	struct rig_stream *his;

	(void)state;
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	rig.rg_mode = RIG_BOTH;
	assert_int_equal(message_copied(his, 64 << 10), 0);
	assert_int_equal(message_copied(his, 64 << 10), 0);
	assert_int_equal(message_copied(his, 100), 0);
	assert_int_equal(message_copied(his, 100), 100);
	assert_in_range(message_copied(his, 128 << 10), 1, 64 << 10);
	assert_int_equal(message_copied(his, 128 << 10), 0);
	assert_int_equal(rig.rg_msgs_nr, 6);
}

/* Read-ahead is as large as is said; of bulk it is the head alone at first. */
static void ahead_is_smaller_on_bulk(void **state)
{
	struct rig_stream *his;
	struct iovec       iov[4];
	size_t             ahead;

	(void)state;
	rig.rg_io.sts_up->stu_in_where(
		rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL)->rs_conn, iov, 4,
		&ahead);
	assert_int_equal(ahead, 64 << 10);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	rig.rg_io.sts_up->stu_in_where(his->rs_conn, iov, 4, &ahead);
	assert_int_equal(ahead, 0);
	(void)message_copied(his, 100);
	rig.rg_io.sts_up->stu_in_where(his->rs_conn, iov, 4, &ahead);
	assert_int_equal(ahead, 64 << 10);
}

/* -- not now --------------------------------------------------------------- */

/* Told "not now", the connection is not read until the engine takes it; what
 * follows waits behind it. */
static void pause_and_resume_lose_nothing(void **state)
{
	unsigned mode;
	size_t   piece;

	(void)state;
	for (mode = RIG_DIRECT; mode <= RIG_BOTH; ++mode) {
		for (piece = 0; piece < 2; ++piece) {
			struct rig_stream *his;
			struct iovec       iov[4];
			size_t             ahead;
			size_t             nr;
			ssize_t            fed;

			rig_again(&rig);
			his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
			rig.rg_mode = mode;
			rig.rg_piece = piece == 0 ? SIZE_MAX : 1;
			nr = rig_put_message(rig_said, false, 7, 100);
			rig_payload_fill(rig_said + nr, 100, 3);
			rig_said_at[0] = nr;
			nr += 100;
			nr += rig_put_message(rig_said + nr, false, 0, 5);
			rig_payload_fill(rig_said + nr, 5, 4);
			rig_said_at[1] = nr;
			nr += 5;
			rig.rg_on_rx_done = rig_payload_check;
			rig.rg_begin_rc = -EAGAIN;
			fed = rig_feed(&rig, his, rig_said, nr);
			assert_int_equal(fed, RIG_HEAD_V3);
			assert_int_equal(rig.rg_io.sts_up->stu_in_where(
						 his->rs_conn, iov, 4, &ahead),
					 0);
			assert_int_equal(rig.rg_io.sts_up->stu_in_bytes(
						 his->rs_conn, "x", 1),
					 0);
			/* The engine may take longer than any time-out. */
			rig_pass(&rig, RIG_SECONDS(100));
			assert_int_equal(his->rs_in_nr, 0);
			assert_true(rig.rg_begun_nr > 1);
			assert_false(his->rs_hung);
			rig.rg_begin_rc = 0;
			rig_run(&rig);
			assert_int_equal(his->rs_in_nr, 1);
			assert_int_equal(rig_feed(&rig, his, rig_said + fed,
						  nr - (size_t)fed),
					 nr - (size_t)fed);
			assert_int_equal(rig.rg_msgs_nr, 2);
			rig_run(&rig);
			assert_int_equal(rig_see_frame(&rig, his).sfr_cookie[1],
					 7);
		}
	}
}

/* A message without payload that was put off is complete when it is taken. */
static void pause_of_empty_message_ends_at_retry(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	uint8_t            buf[RIG_HEAD_V3];

	(void)state;
	(void)rig_put_message(buf, false, 0, 0);
	rig.rg_begin_rc = -EAGAIN;
	assert_int_equal(rig_feed(&rig, his, buf, sizeof buf), sizeof buf);
	rig_run(&rig);
	assert_int_equal(rig.rg_msgs_nr, 0);
	rig.rg_begin_rc = 0;
	rig_run(&rig);
	assert_int_equal(rig.rg_msgs_nr, 1);
	assert_int_equal(rig_feed(&rig, his, buf, sizeof buf), sizeof buf);
	assert_int_equal(rig.rg_msgs_nr, 2);
}

/* Taken back as a breach of rules when it is offered again: closed. */
static void pause_then_refused_closes(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	uint8_t            buf[RIG_HEAD_V3];

	(void)state;
	(void)rig_put_message(buf, false, 0, 0);
	rig.rg_begin_rc = -EAGAIN;
	assert_int_equal(rig_feed(&rig, his, buf, sizeof buf), sizeof buf);
	rig.rg_begin_rc = -EPROTO;
	rig_run(&rig);
	assert_true(his->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 1);
}

/* A peer that dies while his message waits is forgotten. */
static void pause_then_broken_is_clean(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	uint8_t            buf[RIG_HEAD_V3];

	(void)state;
	(void)rig_put_message(buf, false, 0, 0);
	rig.rg_begin_rc = -EAGAIN;
	assert_int_equal(rig_feed(&rig, his, buf, sizeof buf), sizeof buf);
	rig.rg_io.sts_up->stu_broken(his->rs_conn, 0);
	his->rs_hung = true;
	rig.rg_begin_rc = 0;
	rig_run(&rig);
	assert_int_equal(rig.rg_msgs_nr, 0);
	assert_int_equal(rig.rg_downs_nr, 1);
}

enum {
	/** More than a step offers again. */
	PAUSED_NR = 250
};

static struct m0_lnet_nid nid_of(unsigned i)
{
	struct m0_lnet_nid nid = rig_b;

	nid.ln_addr[2] = 9;
	nid.ln_addr[3] = (uint8_t)(1 + i);
	return nid;
}

static void many_pause(void)
{
	uint8_t  buf[RIG_HEAD_V3];
	unsigned i;

	(void)rig_put_message(buf, false, 0, 0);
	rig.rg_begin_rc = -EAGAIN;
	for (i = 0; i < PAUSED_NR; ++i) {
		struct m0_lnet_nid nid = nid_of(i);
		struct rig_stream *his = rig_accept_from(&rig, &nid, M0_SOCK_V3,
							 M0_SOCK_CONTROL, 1);

		assert_int_equal(rig_feed(&rig, his, buf, sizeof buf),
				 sizeof buf);
	}
	rig_run(&rig);
}

/* Thousands that wait do not make each step dear, nor sleep short: once all
 * have been offered again, it takes something to happen. */
static void pause_of_many_costs_a_step_little(void **state)
{
	unsigned before;

	(void)state;
	many_pause();
	before = rig.rg_begun_nr;
	(void)rig_step(&rig);
	assert_in_range(rig.rg_begun_nr - before, 1, 64);
	rig_pass(&rig, RIG_SECONDS(1));
	before = rig.rg_begun_nr;
	rig_pass(&rig, RIG_SECONDS(10));
	assert_in_range(rig.rg_begun_nr - before, 1, 20000);
}

/* The one whose time has come is found among many, wherever he is. */
static void pause_of_many_ends_soon_for_each(void **state)
{
	struct m0_lnet_nid nid;
	unsigned           i;

	(void)state;
	many_pause();
	for (i = 0; i < PAUSED_NR; ++i) {
		/* Idle for long, and then something happens. */
		rig.rg_begin_nid = NULL;
		rig_pass(&rig, RIG_SECONDS(1) + i * 1000);
		nid = nid_of((i + PAUSED_NR * 7 / 10) % PAUSED_NR);
		rig.rg_begin_nid = &nid;
		rig_pass(&rig, 5 * M0_TIME_ONE_MSEC);
		assert_int_equal(rig.rg_msgs_nr, i + 1);
	}
}

/* When there is room for all, all are taken at once. */
static void pause_of_many_ends_for_all(void **state)
{
	(void)state;
	many_pause();
	assert_int_equal(rig.rg_msgs_nr, 0);
	rig.rg_begin_rc = 0;
	rig_run(&rig);
	assert_int_equal(rig.rg_msgs_nr, PAUSED_NR);
}

/* -- cancelled ------------------------------------------------------------- */

/* From the cancel on no byte more gets to the memory; the message is read to
 * its end, acknowledged, and done. */
static void cancel_during_payload_discards_rest(void **state)
{
	unsigned mode;
	size_t   at;

	(void)state;
	for (mode = RIG_DIRECT; mode <= RIG_BOTH; ++mode) {
		for (at = 0; at <= 100; at += 25) {
			struct rig_stream *his;
			size_t             nr;
			size_t             i;

			rig_again(&rig);
			his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
			rig.rg_mode = mode;
			rig.rg_want = 100;
			nr = rig_put_message(rig_said, false, 9, 150);
			rig_payload_fill(rig_said + nr, 150, 1);
			assert_int_equal(rig_feed(&rig, his, rig_said, nr + at),
					 nr + at);
			assert_non_null(rig.rg_rx);
			rig.rg_rx->lr_cancelled = true;
			assert_int_equal(rig_feed(&rig, his, rig_said + nr + at,
						  150 - at),
					 150 - at);
			for (i = at; i < 100; ++i)
				assert_int_equal(rig.rg_memory[i], 0);
			assert_int_equal(rig.rg_msgs_nr, 1);
			assert_int_equal(rig_see_frame(&rig, his).sfr_cookie[1],
					 9);
			/* And the next one is none the worse for it. */
			nr = rig_put_message(rig_said, false, 0, 0);
			assert_int_equal(rig_feed(&rig, his, rig_said, nr), nr);
			assert_int_equal(rig.rg_msgs_nr, 2);
		}
	}
}

/* Also if it is cancelled as soon as it begins. */
static void cancel_at_begin_discards_all(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	size_t             nr = rig_put_message(rig_said, false, 0, 300000);

	(void)state;
	rig_payload_fill(rig_said + nr, 300000, 1);
	rig.rg_cancel_at_begin = true;
	assert_int_equal(rig_feed(&rig, his, rig_said, nr + 300000),
			 nr + 300000);
	assert_int_equal(rig.rg_msgs_nr, 1);
	assert_int_equal(rig.rg_memory[0], 0);
}

/* -- what a peer must not do ----------------------------------------------- */

/** Frames that end all connections. */
static const struct {
	const char *fb_what;
	uint32_t    fb_type;
	uint32_t    fb_csum;
	uint64_t    fb_cookie[2];
	bool        fb_good;
} frames[] = {
	{ "nothing", M0_SOCK_FRAME_NOOP, 0, { 0, 0 }, true },
	{ "keep-alive", M0_SOCK_FRAME_NOOP, 0, { 0, 1 }, true },
	{ "message", M0_SOCK_FRAME_LNET, 0, { 0, 0 }, true },
	{ "message, to be acknowledged",
	  M0_SOCK_FRAME_LNET,
	  0,
	  { 2, 0 },
	  true },
	{ "unknown type", 0xc2, 0, { 0, 0 }, false },
	{ "type 0", 0, 0, { 0, 0 }, false },
	{ "type in the other order", 0xc1000000, 0, { 0, 0 }, false },
	{ "unknown ack", M0_SOCK_FRAME_NOOP, 0, { 0, 2 }, false },
	{ "unknown acks", M0_SOCK_FRAME_NOOP, 0, { 9, 2 }, false },
	{ "unknown range", M0_SOCK_FRAME_NOOP, 0, { 2, UINT64_MAX }, false },
	{ "keep-alive in the wrong place",
	  M0_SOCK_FRAME_NOOP,
	  0,
	  { 1, 0 },
	  false },
	{ "keep-alive twice", M0_SOCK_FRAME_NOOP, 0, { 1, 1 }, false },
	{ "unknown ack on message", M0_SOCK_FRAME_LNET, 0, { 0, 5 }, false },
	{ "keep-alive on message", M0_SOCK_FRAME_LNET, 0, { 0, 1 }, false },
	{ "message with that cookie", M0_SOCK_FRAME_LNET, 0, { 1, 0 }, false },
	{ "checksum", M0_SOCK_FRAME_LNET, 1, { 0, 0 }, false },
	{ "checksum of NOOP", M0_SOCK_FRAME_NOOP, 1, { 0, 1 }, false },
};

static void frame_forbidden_closes_all(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frames); ++i) {
		struct m0_sock_frame frame = {
			.sfr_type = frames[i].fb_type,
			.sfr_csum = frames[i].fb_csum,
			.sfr_cookie = { frames[i].fb_cookie[0],
					frames[i].fb_cookie[1] }
		};
		struct rig_stream    *his[2];
		struct m0_lnd_ni_info info;
		uint8_t               buf[RIG_HEAD_V3];
		size_t                nr = rig_put_message(buf, false, 0, 0);
		ssize_t               rc;

		rig_again(&rig);
		his[0] = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
		his[1] = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
		m0_sock__frame_encode(&frame, buf);
		if (frames[i].fb_type == M0_SOCK_FRAME_NOOP)
			nr = 24;
		rc = rig_feed(&rig, his[0], buf, nr);
		rig_run(&rig);
		if ((rc > 0) != frames[i].fb_good)
			fail_msg("%s", frames[i].fb_what);
		assert_int_equal(his[0]->rs_hung, !frames[i].fb_good);
		assert_int_equal(his[1]->rs_hung, !frames[i].fb_good);
		assert_int_equal(rig.rg_downs_nr, !frames[i].fb_good);
		rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &info);
		assert_int_equal(info.ldi_bad_peers_nr, !frames[i].fb_good);
	}
}

/* The engine says that a header breaks the rules: closed, without an end of a
 * message that did not begin. */
static void header_forbidden_closes_all(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	uint8_t            buf[RIG_HEAD_V3];

	(void)state;
	(void)rig_put_message(buf, false, 4, (1 << 20) + 1);
	assert_true(rig_feed(&rig, his, buf, sizeof buf) < 0);
	rig_run(&rig);
	assert_true(his->rs_hung);
	assert_int_equal(rig.rg_msgs_nr, 0);
}

/* -- lost ------------------------------------------------------------------ */

/* The stream ends within a message: its receiver is told. */
static void broken_within_message_ends_it(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	size_t             nr = rig_put_message(rig_said, false, 0, 1000);

	(void)state;
	assert_int_equal(rig_feed(&rig, his, rig_said, nr + 10), nr + 10);
	rig.rg_io.sts_up->stu_broken(his->rs_conn, 0);
	his->rs_hung = true;
	rig_run(&rig);
	assert_int_equal(rig.rg_msgs_nr, 1);
	assert_int_equal(rig_msg_at(&rig, 0)->rm_status, -ECONNRESET);
	assert_int_equal(rig.rg_downs_nr, 1);
	assert_int_equal(rig.rg_down_status, -ECONNRESET);
}

/* A message that stops coming ends its connections in time, wherever it stops.
 */
static void message_partial_times_out(void **state)
{
	static const size_t stops[] = { 1, 23, 24, 50, 95, 96, 97, 195 };
	unsigned            i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(stops); ++i) {
		struct rig_stream *his;

		rig_again(&rig);
		his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
		rig_pass(&rig, RIG_SECONDS(200));
		(void)rig_put_message(rig_said, false, 0, 100);
		assert_int_equal(rig_feed(&rig, his, rig_said, stops[i]),
				 stops[i]);
		rig_pass(&rig, RIG_SECONDS(50) - 1);
		assert_false(his->rs_hung);
		rig_pass(&rig, M0_TIME_ONE_MSEC);
		assert_true(his->rs_hung);
		if (stops[i] < RIG_HEAD_V3) {
			assert_int_equal(rig.rg_msgs_nr, 0);
		} else {
			assert_int_equal(rig_msg_at(&rig, 0)->rm_status,
					 -ETIMEDOUT);
		}
		assert_int_equal(rig.rg_down_status, -ETIMEDOUT);
	}
}

/* A byte now and then does not keep a message alive; 64 KiB do. */
static void message_dripping_times_out(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	size_t             nr = rig_put_message(rig_said, false, 0, 1 << 20);
	unsigned           i;

	(void)state;
	assert_int_equal(rig_feed(&rig, his, rig_said, nr), nr);
	for (i = 0; i < 10; ++i) {
		rig_pass(&rig, RIG_SECONDS(40));
		assert_int_equal(rig_feed(&rig, his, rig_said, 65536), 65536);
	}
	assert_false(his->rs_hung);
	for (i = 0; i < 51 && !his->rs_hung; ++i) {
		assert_int_equal(rig_feed(&rig, his, rig_said, 1), 1);
		rig_pass(&rig, RIG_SECONDS(1));
	}
	assert_true(his->rs_hung);
	assert_int_equal(rig_msg_at(&rig, 0)->rm_status, -ETIMEDOUT);
}

/* An idle connection is never closed. */
static void connection_idle_stays(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	size_t             nr = rig_put_message(rig_said, false, 0, 8);

	(void)state;
	assert_int_equal(rig_feed(&rig, his, rig_said, nr + 8), nr + 8);
	rig_pass(&rig, RIG_SECONDS(100000));
	assert_false(his->rs_hung);
	assert_int_equal(rig_feed(&rig, his, rig_said, nr + 8), nr + 8);
	assert_int_equal(rig.rg_msgs_nr, 2);
}

/* -- checksums ------------------------------------------------------------- */

/** A message of V2 with its checksum, as good as `good`. */
static size_t csum_message(uint8_t *buf, uint32_t payload, bool good)
{
	size_t   nr = rig_put_message(buf, false, 6, payload);
	uint32_t csum;

	rig_payload_fill(buf + nr, payload, 5);
	nr += payload;
	csum = m0_sock__csum(M0_SOCK_CSUM_INIT, buf, nr) ^ !good;
	memcpy(buf + 4, &csum, sizeof csum);
	return nr;
}

/* V2 only: a good one passes, a bad one ends message and connection; what was
 * discarded is not checked. */
static void csum_v2_is_verified(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 100, 70000 };
	unsigned              mode;
	unsigned              i;
	unsigned              good;

	(void)state;
	for (mode = RIG_DIRECT; mode <= RIG_BOTH; ++mode)
		for (i = 0; i < ARRAY_SIZE(sizes); ++i)
			for (good = 0; good < 2; ++good) {
				struct rig_stream *his;
				size_t             nr;
				ssize_t            rc;

				rig_again(&rig);
				his = rig_accept(&rig, M0_SOCK_V2,
						 mode == RIG_BOTH
							 ? M0_SOCK_BULK_OUT
							 : M0_SOCK_ANY);
				rig.rg_mode = mode;
				rig.rg_seg_bytes = 999;
				if (mode == RIG_BOTH)
					rig.rg_guess_bytes = sizes[i];
				nr = csum_message(rig_said, sizes[i], good);
				rc = rig_feed(&rig, his, rig_said, nr);
				assert_int_equal(rc > 0, good);
				assert_int_equal(rig.rg_msgs_nr, 1);
				assert_int_equal(rig_msg_at(&rig, 0)->rm_status,
						 good ? 0 : -EIO);
				rig_run(&rig);
				assert_int_equal(his->rs_hung, !good);
			}
	rig_again(&rig);
	{
		struct rig_stream *his =
			rig_accept(&rig, M0_SOCK_V2, M0_SOCK_ANY);
		size_t nr = csum_message(rig_said, 100, false);

		rig.rg_want = 99;
		assert_int_equal(rig_feed(&rig, his, rig_said, nr), nr);
	}
}

/* NOOPs, too. */
static void csum_v2_noop_is_verified(void **state)
{
	uint8_t            buf[24];
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V2, M0_SOCK_ANY);
	uint32_t           csum;

	(void)state;
	(void)rig_put_frame(buf, M0_SOCK_FRAME_NOOP, 0, 0);
	csum = m0_sock__csum(M0_SOCK_CSUM_INIT, buf, sizeof buf);
	memcpy(buf + 4, &csum, 4);
	assert_int_equal(rig_feed(&rig, his, buf, 24), 24);
	buf[5] ^= 1;
	assert_true(rig_feed(&rig, his, buf, 24) < 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(bytes_any_split_gives_same_messages),
		CASE(bytes_random_split_gives_same_messages),
		CASE(guess_any_gives_same_messages),
		CASE(payload_large_goes_directly),
		CASE(large_is_not_copied_unless_behind_small),
		CASE(ahead_is_smaller_on_bulk),
		CASE(pause_and_resume_lose_nothing),
		CASE(pause_of_empty_message_ends_at_retry),
		CASE(pause_then_refused_closes),
		CASE(pause_then_broken_is_clean),
		CASE(pause_of_many_costs_a_step_little),
		CASE(pause_of_many_ends_soon_for_each),
		CASE(pause_of_many_ends_for_all),
		CASE(cancel_during_payload_discards_rest),
		CASE(cancel_at_begin_discards_all),
		CASE(frame_forbidden_closes_all),
		CASE(header_forbidden_closes_all),
		CASE(broken_within_message_ends_it),
		CASE(message_partial_times_out),
		CASE(message_dripping_times_out),
		CASE(connection_idle_stays),
		CASE(csum_v2_is_verified),
		CASE(csum_v2_noop_is_verified),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
