/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transmit half: what is said beside messages, and their checksums. */
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

static void cancel(unsigned i)
{
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &txs[i].rt_tx);
}

/* -- acknowledgements ------------------------------------------------------ */

/** B sends messages with these cookies on `his`. */
static void ask_acks(struct rig_stream *his, const uint64_t *cookies,
		     unsigned nr)
{
	uint8_t  buf[RIG_HEAD_V3 + 4] = { 0 };
	unsigned i;

	for (i = 0; i < nr; ++i) {
		(void)rig_put_message(buf, false, cookies[i], 4);
		assert_int_equal(rig_feed(&rig, his, buf, sizeof buf),
				 sizeof buf);
	}
}

/** The next frame on `his` is a NOOP of these. */
static void see_noop(struct rig_stream *his, uint64_t first, uint64_t last)
{
	struct m0_sock_frame frame = rig_see_frame(&rig, his);

	assert_int_equal(frame.sfr_type, M0_SOCK_FRAME_NOOP);
	assert_int_equal(frame.sfr_csum, 0);
	assert_int_equal(frame.sfr_cookie[0], first);
	assert_int_equal(frame.sfr_cookie[1], last);
}

#define ASK(his, ...)                                      \
	ask_acks((his), (const uint64_t[]){ __VA_ARGS__ }, \
		 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* One by one, in ranges, in pairs; on the channel for it. */
static void acks_are_told_in_few_frames(void **state)
{
	struct rig_stream *ctl = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct rig_stream *in = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);

	(void)state;
	ASK(in, 2);
	see_noop(in, 0, 2);
	ASK(in, 5, 6, 7, 8, 9);
	see_noop(in, 5, 9);
	ASK(in, 20, 10);
	see_noop(in, 20, 10);
	ASK(in, 31, 30, 32, 34);
	see_noop(in, 34, 30);
	see_noop(in, 31, 32);
	/* Asked for on another: told on this one all the same. */
	ASK(ctl, 40);
	see_noop(in, 0, 40);
	assert_int_equal(rig_unseen(ctl), 0);
	/* The largest numbers there are. */
	ASK(in, UINT64_MAX, UINT64_MAX - 1);
	see_noop(in, UINT64_MAX - 1, UINT64_MAX);
	/* Twice before it was told: told once. */
	ASK(in, 50, 50);
	see_noop(in, 0, 50);
	ASK(in, 50);
	see_noop(in, 0, 50);
	assert_int_equal(rig_unseen(in), 0);
}

/* On whatever connection there is. */
static void acks_need_no_special_connection(void **state)
{
	uint32_t type;

	(void)state;
	for (type = M0_SOCK_ANY; type <= M0_SOCK_BULK_OUT; ++type) {
		struct rig_stream *his;

		rig_again(&rig);
		his = rig_accept(&rig, M0_SOCK_V3, type);
		ASK(his, 3);
		see_noop(his, 0, 3);
	}
}

/* V2 knows neither ranges nor pairs. */
static void acks_of_v2_are_single(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V2, M0_SOCK_ANY);

	(void)state;
	ASK(his, 2, 3, 9);
	see_noop(his, 0, 9);
	see_noop(his, 0, 2);
	see_noop(his, 0, 3);
	assert_int_equal(rig_unseen(his), 0);
}

static void reply_at_once(struct rig *unused)
{
	(void)unused;
	send_one(0, 16);
}

/* A message that goes the other way takes one along. */
static void acks_ride_on_messages(void **state)
{
	struct rig_stream *ctl = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct rig_stream *in = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);

	(void)state;
	rig.rg_on_rx_done = reply_at_once;
	ASK(in, 2);
	assert_int_equal(see(ctl, 0, 16).sfr_cookie[1], 2);
	assert_int_equal(rig_unseen(in), 0);
	/* Nothing is left that would have to go. */
	rig_pass(&rig, RIG_SECONDS(1000));
	assert_false(in->rs_hung);
}

/* A message with an acknowledgement in it is cancelled before it leaves: the
 * acknowledgement is not lost. */
static void acks_survive_a_cancel(void **state)
{
	struct rig_stream *ctl = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct rig_stream *in = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);

	(void)state;
	ctl->rs_room = 0;
	rig.rg_on_rx_done = reply_at_once;
	ASK(in, 2);
	rig_run(&rig);
	assert_int_equal(rig_unseen(in), 0);
	cancel(0);
	see_noop(in, 0, 2);
	assert_int_equal(txs[0].rt_status, -ECANCELED);
}

/* Acknowledgements due on a lost connection are dropped: to the connections
 * after it they would be unknown. */
static void acks_end_with_their_connections(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	ASK(his, 2);
	his->rs_hung = true;
	rig.rg_io.sts_up->stu_broken(his->rs_conn, 0);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig_run(&rig);
	send_one(0, 0);
	assert_int_equal(see(his, 0, 0).sfr_cookie[1], 0);
	ASK(his, 9);
	see_noop(his, 0, 9);
	assert_int_equal(rig_unseen(his), 0);
}

/* No more is owed than is allowed: who asks for that is cut off. */
static void acks_are_bounded(void **state)
{
	struct rig_stream *his;
	uint64_t           cookie;
	uint8_t            buf[RIG_HEAD_V3];
	ssize_t            rc = 0;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_acks_max = 100;
	rig_start(&rig, &rig_a);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	his->rs_room = 0;
	for (cookie = 2; cookie < 1000 && rc >= 0; cookie += 2) {
		(void)rig_put_message(buf, false, cookie, 0);
		rc = rig_feed(&rig, his, buf, sizeof buf);
	}
	assert_true(rc < 0);
	assert_int_equal(cookie, 2 + 2 * 101);
	assert_true(his->rs_hung);
	rig_run(&rig);
	assert_int_equal(rig.rg_downs_nr, 1);
}

/* Many that are no ranges fill several frames, and all get there. */
static void acks_of_many_frames_all_leave(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	uint8_t            told[200] = { 0 };
	uint64_t           cookie;
	unsigned           nr = 0;

	(void)state;
	for (cookie = 2; cookie < 180; cookie += 2)
		ASK(his, cookie);
	while (nr < 89) {
		struct m0_sock_frame frame = rig_see_frame(&rig, his);
		uint64_t             ranges[2][2];
		int                  i = m0_sock__frame_acks(&frame, ranges);

		for (; i > 0; --i, ++nr) {
			assert_int_equal(ranges[i - 1][0], ranges[i - 1][1]);
			assert_int_equal(told[ranges[i - 1][0]]++, 0);
		}
	}
	assert_int_equal(rig_unseen(his), 0);
}

/* -- keep-alive: 3.11 ------------------------------------------------------ */

/* After 30 seconds of silence, on the channel for it; not again for as long as
 * the peer's system acknowledges it, else every 10 seconds. */
static void keepalive_is_sent_after_silence(void **state)
{
	struct rig_stream *in = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	struct rig_stream *ctl = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	rig_pass(&rig, RIG_SECONDS(30) - 1);
	assert_int_equal(rig_unseen(in), 0);
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	see_noop(in, 0, 1);
	/* The peer's system has acknowledged the keep-alive. */
	rig_pass(&rig, RIG_SECONDS(29));
	assert_int_equal(rig_unseen(in), 0);
	rig_pass(&rig, RIG_SECONDS(2));
	see_noop(in, 0, 1);
	/* Heard of on any connection. */
	rig_pass(&rig, RIG_SECONDS(20));
	ASK(ctl, 0);
	rig_pass(&rig, RIG_SECONDS(29));
	assert_int_equal(rig_unseen(in), 0);
	rig_pass(&rig, RIG_SECONDS(2));
	see_noop(in, 0, 1);
	/* Not acknowledged. */
	in->rs_unsent = 24;
	rig_pass(&rig, RIG_SECONDS(11));
	see_noop(in, 0, 1);
	rig_pass(&rig, RIG_SECONDS(7));
	assert_int_equal(rig_unseen(in), 0);
	assert_int_equal(rig_unseen(ctl), 0);
}

/* However short the silence that is configured, and whatever makes us look in
 * between: 10 seconds from one to the next. */
static void keepalive_keeps_its_distance(void **state)
{
	struct rig_stream *in;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_net.son_keepalive_ns = RIG_SECONDS(2);
	rig_start(&rig, &rig_a);
	in = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	rig_pass(&rig, RIG_SECONDS(2) + M0_TIME_ONE_MSEC);
	see_noop(in, 0, 1);
	rig_pass(&rig, RIG_SECONDS(1));
	/* Heard of: silent again from now on. */
	(void)rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig_pass(&rig, RIG_SECONDS(8));
	assert_int_equal(rig_unseen(in), 0);
	rig_pass(&rig, RIG_SECONDS(2) + M0_TIME_ONE_MSEC);
	see_noop(in, 0, 1);
}

/** When each of `nr` peers gets its next one. @return at how many times. */
static unsigned keepalives_see(struct rig_stream **his, m0_time_t *at,
			       unsigned nr)
{
	m0_time_t last = 0;
	unsigned  times = 0;
	unsigned  told = 0;
	unsigned  i;

	while (told < nr) {
		rig_pass(&rig, 50 * M0_TIME_ONE_MSEC);
		for (i = 0; i < nr; ++i) {
			if (rig_unseen(his[i]) == 0)
				continue;
			see_noop(his[i], 0, 1);
			++told;
			times += last != rig.rg_now;
			last = rig.rg_now;
			at[i] = rig.rg_now - at[i];
			assert_true(at[i] >= RIG_SECONDS(26));
			assert_true(at[i] <=
				    RIG_SECONDS(30) + 60 * M0_TIME_ONE_MSEC);
			at[i] = rig.rg_now;
		}
	}
	return times;
}

/* To many peers it goes a little early, and then to many at once: the node
 * wakes up a few times in a period, not once for each. */
static void keepalive_to_many_is_sent_in_groups(void **state)
{
	enum {
		PEERS = 100
	};
	struct rig_stream *his[PEERS];
	m0_time_t          at[PEERS];
	struct m0_lnet_nid nid = rig_b;
	unsigned           i;

	(void)state;
	for (i = 0; i < PEERS; ++i) {
		nid.ln_addr[3] = (uint8_t)(i + 10);
		his[i] = rig_accept_from(&rig, &nid, M0_SOCK_V3,
					 M0_SOCK_BULK_OUT, 1);
		(void)rig_see_hello(&rig, his[i]);
		at[i] = rig.rg_now;
		rig_pass(&rig, RIG_SECONDS(25) / PEERS);
	}
	(void)keepalives_see(his, at, PEERS);
	assert_true(keepalives_see(his, at, PEERS) <= 9);
	assert_true(keepalives_see(his, at, PEERS) <= 9);
}

/* Never on V2, where it would be an acknowledgement; nor without the channel,
 * nor if it is not wanted. */
static void keepalive_is_not_sent_where_it_must_not(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V2, M0_SOCK_BULK_OUT);

	(void)state;
	rig_pass(&rig, RIG_SECONDS(200));
	assert_int_equal(rig_unseen(his), 0);
	rig_again(&rig);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig_pass(&rig, RIG_SECONDS(200));
	assert_int_equal(rig_unseen(his), 0);
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_net.son_keepalive_ns = 0;
	rig_start(&rig, &rig_a);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	rig_pass(&rig, RIG_SECONDS(200));
	assert_int_equal(rig_unseen(his), 0);
}

/* -- checksums ------------------------------------------------------------- */

/* If configured, on V2 and nowhere else. */
static void csum_is_sent_on_v2_only(void **state)
{
	struct rig_stream *his;
	uint8_t            bytes[RIG_HEAD_V3 + 1000];
	uint32_t           csum;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_csum = true;
	rig_start(&rig, &rig_a);
	his = rig_accept(&rig, M0_SOCK_V2, M0_SOCK_ANY);
	send_one(0, 1000);
	memcpy(bytes, rig_see(&rig, his, sizeof bytes), sizeof bytes);
	memcpy(&csum, bytes + 4, 4);
	memset(bytes + 4, 0, 4);
	assert_int_equal(csum,
			 m0_sock__csum(M0_SOCK_CSUM_INIT, bytes, sizeof bytes));
	ASK(his, 4);
	memcpy(bytes, rig_see(&rig, his, 24), 24);
	memcpy(&csum, bytes + 4, 4);
	memset(bytes + 4, 0, 4);
	assert_int_equal(csum, m0_sock__csum(M0_SOCK_CSUM_INIT, bytes, 24));
	his = rig_accept_from(&rig, &rig_low, M0_SOCK_V3, M0_SOCK_CONTROL, 1);
	(void)rig_see_hello(&rig, his);
	rig_tx_init(&txs[1], payload, 10, 2);
	txs[1].rt_tx.ltx_nid = rig_low;
	rig_xmit(&rig, &txs[1]);
	assert_int_equal(rig_see_frame(&rig, his).sfr_csum, 0);
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
		CASE(acks_are_told_in_few_frames),
		CASE(acks_need_no_special_connection),
		CASE(acks_of_v2_are_single),
		CASE(acks_ride_on_messages),
		CASE(acks_survive_a_cancel),
		CASE(acks_end_with_their_connections),
		CASE(acks_are_bounded),
		CASE(acks_of_many_frames_all_leave),
		CASE(keepalive_is_sent_after_silence),
		CASE(keepalive_keeps_its_distance),
		CASE(keepalive_to_many_is_sent_in_groups),
		CASE(keepalive_is_not_sent_where_it_must_not),
		CASE(csum_is_sent_on_v2_only),
	};

	return cmocka_run_group_tests(cases, group_setup, group_teardown);
}
