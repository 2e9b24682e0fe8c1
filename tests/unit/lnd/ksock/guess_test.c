/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Receive half: what comes with a header goes where it may belong, and does so
 * or is moved. */
#include "lib/slow.h"
#include "rig.h"

/* Under sanitizers each seventh place is cut: 7 divides no length here. */
#define CUT_STEP (IS_SLOW ? 7u : 1u)

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

/** A message of `size`, then a small one; the first `cut` bytes come first. */
static struct rig_stream *guess_feed(uint32_t version, size_t guess,
				     uint32_t size, size_t cut)
{
	struct rig_stream *his;
	size_t             nr;

	rig_again(&rig);
	his = rig_accept(&rig, version, M0_SOCK_BULK_OUT);
	nr = rig_put_message(rig_said, version == M0_SOCK_V4, 0, size);
	rig_payload_fill(rig_said + nr, size, 1);
	rig_said_at[0] = nr;
	nr += size;
	nr += rig_put_message(rig_said + nr, version == M0_SOCK_V4, 0, 9);
	rig_payload_fill(rig_said + nr, 9, 2);
	rig_said_at[1] = nr;
	nr += 9;
	rig.rg_guess_bytes = guess;
	rig.rg_on_rx_done = rig_payload_check;
	assert_int_equal(rig_feed(&rig, his, rig_said, cut), cut);
	assert_int_equal(rig_feed(&rig, his, rig_said + cut, nr - cut),
			 nr - cut);
	assert_int_equal(rig.rg_msgs_nr, 2);
	return his;
}

/* An answer as guessed, cut anywhere, is never copied, but for what is there
 * before its header is complete. */
static void guess_right_is_in_place(void **state)
{
	const uint32_t        size = 300;
	struct m0_lnd_ni_info info;
	size_t                cut;

	(void)state;
	for (cut = 0; cut <= RIG_HEAD_V3 + size; cut += CUT_STEP) {
		(void)guess_feed(M0_SOCK_V3, size, size, cut);
		assert_int_equal(rig.rg_guess_right_nr,
				 cut == 0 || cut > RIG_HEAD_V3);
		rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &info);
		if (rig.rg_guess_right_nr > 0)
			assert_int_equal(info.ldi_direct_bytes, size);
	}
}

/* Shorter, longer, or just another: cut anywhere. */
static void guess_wrong_is_moved(void **state)
{
	size_t cut;

	(void)state;
	for (cut = 0; cut <= RIG_HEAD_V4 + 300; cut += CUT_STEP) {
		(void)guess_feed(M0_SOCK_V4, 299, 300, cut);
		assert_true(rig.rg_guess_wrong_nr > 0 ||
			    (cut > 0 && cut <= RIG_HEAD_V4));
		assert_int_equal(rig.rg_guess_right_nr, 0);
		(void)guess_feed(M0_SOCK_V3, 301, 300, cut);
		(void)guess_feed(M0_SOCK_V3, 70000, 300, cut);
	}
}

/* A keep-alive comes first, and what follows it looks like the header that is
 * waited for: it is none. */
static void guess_behind_keep_alive_is_moved(void **state)
{
	const uint32_t     size = 3000;
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	size_t nr = rig_put_frame(rig_said, M0_SOCK_FRAME_NOOP, 0, 0);

	(void)state;
	nr += rig_put_message(rig_said + nr, false, 0, size);
	memcpy(rig_said + M0_SOCK_FRAME_BYTES + 28, &size, sizeof size);
	rig_payload_fill(rig_said + nr, size, 1);
	rig_said_at[0] = nr;
	nr += size;
	rig.rg_guess_bytes = size;
	rig.rg_on_rx_done = rig_payload_check;
	assert_int_equal(rig_feed(&rig, his, rig_said, nr), nr);
	assert_int_equal(rig.rg_msgs_nr, 1);
	assert_int_equal(rig.rg_guess_right_nr, 0);
}

/* More is not read to a place than can be moved away, and nothing behind it. */
static void guess_large_is_bounded(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	struct iovec       iov[4];
	size_t             ahead;

	(void)state;
	rig.rg_guess_bytes = RIG_PAYLOAD_MAX;
	assert_int_equal(rig.rg_io.sts_up->stu_in_where(his->rs_conn, iov, 4,
							&ahead),
			 2);
	assert_int_equal(ahead, 0);
	assert_in_range(iov[0].iov_len + iov[1].iov_len, 64 << 10,
			M0_STREAM_AGAIN_BYTES_MAX);
	rig.rg_guess_bytes = 0;
	assert_int_equal(rig.rg_io.sts_up->stu_in_where(his->rs_conn, iov, 4,
							&ahead),
			 1);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig.rg_guess_bytes = 64 << 10;
	assert_int_equal(rig.rg_io.sts_up->stu_in_where(his->rs_conn, iov, 4,
							&ahead),
			 1);
}

/* The driver discards a message that the engine cancels, and closes a
 * connection whose message the engine rejects. */
static void guess_right_cancelled_or_refused(void **state)
{
	const size_t       all = RIG_HEAD_V3 + 3000;
	struct rig_stream *his;
	unsigned           how;

	(void)state;
	for (how = 0; how < 3; ++how) {
		rig_again(&rig);
		his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
		(void)rig_put_message(rig_said, false, 0, 3000);
		rig.rg_guess_bytes = 3000;
		rig.rg_cancel_at_begin = how == 0;
		rig.rg_begin_rc = how == 1 ? -EPROTO : 0;
		if (how == 1) {
			assert_true(rig_feed(&rig, his, rig_said, all) < 0);
			continue;
		}
		assert_int_equal(rig_feed(&rig, his, rig_said, 1000), 1000);
		rig.rg_rx->lr_cancelled = true;
		assert_int_equal(rig_feed(&rig, his, rig_said + 1000,
					  all - 1000),
				 all - 1000);
		assert_int_equal(rig.rg_msgs_nr, 1);
		assert_int_equal(rig.rg_guess_right_nr, 1);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(guess_right_is_in_place),
		CASE(guess_wrong_is_moved),
		CASE(guess_behind_keep_alive_is_moved),
		CASE(guess_large_is_bounded),
		CASE(guess_right_cancelled_or_refused),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
