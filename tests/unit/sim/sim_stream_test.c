/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Streams of bytes of the simulator. */
#include "m0/sim_stream.h"
#include "unit/sim/worker.h"

enum {
	SEED = 7,
	BYTES_NR = 200000,
	WINDOW = 10000
};

static struct m0_sim        sim;
static struct m0_sim_stream tube;
static unsigned             notices_nr[2];
static uint8_t              out[BYTES_NR];
static uint8_t              in[BYTES_NR + 1];

static void notice(struct m0_sim_stream *stream, int end)
{
	assert_ptr_equal(stream, &tube);
	++notices_nr[end];
}

static void up(const struct m0_sim_stream_cfg *cfg)
{
	size_t i;

	for (i = 0; i < BYTES_NR; ++i)
		out[i] = (uint8_t)(i * 7 + i / 256);
	memset(in, 0, sizeof in);
	memset(notices_nr, 0, sizeof notices_nr);
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_sim_stream_init(&tube, &sim, "tube", cfg, notice);
}

static void down(void)
{
	m0_sim_stream_fini(&tube);
	m0_sim_fini(&sim);
}

static ssize_t put(int end, size_t at, size_t nr)
{
	/* In three segments, one of them empty. */
	struct iovec iov[] = {
		{ .iov_base = out + at, .iov_len = nr / 3 },
		{ .iov_base = NULL, .iov_len = 0 },
		{ .iov_base = out + at + nr / 3, .iov_len = nr - nr / 3 },
	};

	return m0_sim_stream_write(&tube, end, iov, ARRAY_SIZE(iov));
}

static ssize_t get(int end, size_t at, size_t nr)
{
	return m0_sim_stream_read(&tube, end, in + at, nr);
}

/* Bytes take their time on the wire plus the latency, and not more. */
static void bytes_take_rate_and_latency(void **state)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_rate_bytes = 1000000, /* 1 us a byte */
		.ssc_latency_ns = 500000,
	};

	(void)state;
	up(&cfg);
	assert_int_equal(put(0, 0, 1000), 1000);
	assert_int_equal(m0_sim_stream_unsent(&tube, 0), 1000);
	assert_int_equal(get(1, 0, 10), -EAGAIN);
	assert_false(m0_sim_stream_is_readable(&tube, 1));
	m0_sim_run_ms(&sim, 1);
	/* The first of two segments has left after 333 us. */
	assert_true(m0_sim_stream_is_readable(&tube, 1));
	assert_int_equal(get(1, 0, 2000), 333);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(notices_nr[1], 2);
	assert_int_equal(get(1, 333, 2000), 667);
	assert_memory_equal(in, out, 1000);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(m0_sim_stream_unsent(&tube, 0), 0);
	down();
}

/* Much comes in small pieces, all of it, in order, through a small window. */
static void bytes_in_pieces_keep_order(void **state)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 1000,
		.ssc_jitter_ns = 100000,
		.ssc_window_bytes = WINDOW,
		.ssc_piece_bytes_max = 700,
	};
	size_t   sent = 0;
	size_t   come = 0;
	unsigned small_nr = 0;
	ssize_t  rc;

	(void)state;
	up(&cfg);
	while (come < BYTES_NR) {
		rc = put(0, sent, BYTES_NR - sent);
		assert_true(rc >= 0);
		sent += (size_t)rc;
		assert_true(sent - come <= WINDOW);
		assert_true(m0_sim_step(&sim));
		rc = get(1, come, BYTES_NR + 1 - come);
		assert_true(rc > 0 || rc == -EAGAIN);
		if (rc > 0) {
			come += (size_t)rc;
			small_nr += rc < 700;
		}
	}
	assert_int_equal(come, BYTES_NR);
	assert_memory_equal(in, out, BYTES_NR);
	assert_true(small_nr > 100);
	down();
}

/* A full window stops the writer; what the reader takes lets him go on. */
static void window_full_stops_writer(void **state)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 1000,
		.ssc_window_bytes = WINDOW,
	};

	(void)state;
	up(&cfg);
	assert_int_equal(m0_sim_stream_room(&tube, 0), WINDOW);
	assert_int_equal(put(0, 0, WINDOW + 1), WINDOW);
	assert_int_equal(put(0, 0, 1), 0);
	/* The other direction has a window of its own. */
	assert_int_equal(put(1, 0, 1), 1);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(put(0, 0, 1), 0);
	/* All of it has arrived, though nobody has read it. */
	assert_int_equal(m0_sim_stream_unsent(&tube, 0), 0);
	assert_int_equal(notices_nr[0], 1);
	assert_int_equal(get(1, 0, 100), 100);
	assert_int_equal(put(0, 0, 1), 0);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(notices_nr[0], 2);
	assert_int_equal(m0_sim_stream_room(&tube, 0), 100);
	down();
}

/* End of file comes after the bytes; the other direction goes on. */
static void shut_ends_one_direction(void **state)
{
	static const struct m0_sim_stream_cfg cfg = { .ssc_latency_ns = 1000 };

	(void)state;
	up(&cfg);
	assert_int_equal(put(0, 0, 10), 10);
	m0_sim_stream_shut(&tube, 0);
	m0_sim_stream_shut(&tube, 0);
	assert_int_equal(put(0, 0, 10), -EPIPE);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(1, 0, 100), 10);
	assert_int_equal(get(1, 0, 100), 0);
	assert_int_equal(get(1, 0, 100), 0);
	assert_int_equal(put(1, 0, 20), 20);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(0, 0, 100), 20);
	assert_int_equal(get(0, 0, 100), -EAGAIN);
	down();
}

/* A reset comes after what has left, and takes along what has not. */
static void reset_drops_unsent(void **state)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_rate_bytes = 1000000,
		.ssc_latency_ns = 1000,
		.ssc_piece_bytes_max = 10,
	};
	size_t  come = 0;
	ssize_t rc;

	(void)state;
	up(&cfg);
	assert_int_equal(put(0, 0, 10000), 10000);
	assert_int_equal(put(1, 0, 5000), 5000);
	m0_sim_run_ms(&sim, 5);
	m0_sim_stream_reset(&tube, 0);
	m0_sim_stream_reset(&tube, 0);
	m0_sim_run_ms(&sim, 20);
	while ((rc = get(1, come, 100)) > 0)
		come += (size_t)rc;
	assert_int_equal(rc, -ECONNRESET);
	assert_in_range(come, 4900, 5000);
	assert_memory_equal(in, out, come);
	assert_int_equal(put(1, 0, 1), -ECONNRESET);
	down();
}

/* An end that ignores resets reads nothing, and hears of it when it writes. */
static void ignored_reset_fails_write(void **state)
{
	static const struct m0_sim_stream_cfg cfg = { .ssc_latency_ns = 1000 };
	unsigned                              nr;

	(void)state;
	up(&cfg);
	m0_sim_stream_ignore_reset(&tube, 1, true);
	assert_int_equal(put(0, 0, 10), 10);
	m0_sim_run_ms(&sim, 1);
	nr = notices_nr[1];
	m0_sim_stream_reset(&tube, 0);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(notices_nr[1], nr);
	assert_int_equal(get(1, 0, 100), 10);
	assert_false(m0_sim_stream_is_readable(&tube, 1));
	assert_int_equal(get(1, 0, 100), -EAGAIN);
	assert_int_equal(put(1, 0, 10), -ECONNRESET);
	down();

	/* The end of file before it is noticed. */
	up(&cfg);
	m0_sim_stream_ignore_reset(&tube, 1, true);
	assert_int_equal(put(1, 0, 10), 10);
	m0_sim_run_ms(&sim, 1);
	m0_sim_stream_discard(&tube, 0);
	m0_sim_stream_close(&tube, 0);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(1, 0, 100), 0);
	assert_int_equal(put(1, 0, 10), 10);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(1, 0, 100), 0);
	assert_int_equal(put(1, 0, 10), -ECONNRESET);
	down();
}

/* A close with unread bytes resets the peer; a clean close resets it when it
 * writes. */
static void close_depends_on_unread(void **state)
{
	static const struct m0_sim_stream_cfg cfg = { .ssc_latency_ns = 1000 };

	(void)state;
	up(&cfg);
	assert_int_equal(put(0, 0, 10), 10);
	m0_sim_run_ms(&sim, 1);
	m0_sim_stream_close(&tube, 1);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(0, 0, 10), -ECONNRESET);
	down();

	up(&cfg);
	m0_sim_stream_close(&tube, 1);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(0, 0, 10), 0);
	assert_int_equal(put(0, 0, 10), 10);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(0, 0, 10), -ECONNRESET);
	assert_int_equal(put(0, 0, 10), -ECONNRESET);
	/* The end that has closed gets no notice. */
	assert_int_equal(notices_nr[1], 0);
	down();
}

/* Cut: both ends are told at once. */
static void cut_resets_both(void **state)
{
	static const struct m0_sim_stream_cfg cfg = { .ssc_latency_ns = 1000 };

	(void)state;
	up(&cfg);
	assert_int_equal(put(0, 0, 10), 10);
	m0_sim_stream_cut(&tube);
	assert_int_equal(notices_nr[0], 1);
	assert_int_equal(notices_nr[1], 1);
	assert_int_equal(get(0, 0, 10), -ECONNRESET);
	assert_int_equal(get(1, 0, 10), -ECONNRESET);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(notices_nr[1], 1);
	down();
}

/* Silence: nothing comes and nobody is told; mended, all of it comes. */
static void silence_holds_bytes(void **state)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 1000,
		.ssc_window_bytes = WINDOW,
	};

	(void)state;
	up(&cfg);
	m0_sim_stream_silence(&tube, 0, true);
	assert_int_equal(put(0, 0, WINDOW + 5), WINDOW);
	assert_int_equal(put(1, 0, 10), 10);
	m0_sim_run_ms(&sim, 100000);
	assert_int_equal(get(1, 0, 10), -EAGAIN);
	assert_int_equal(m0_sim_stream_unsent(&tube, 0), WINDOW);
	/* The other way works, but its acknowledgement does not come back. */
	assert_int_equal(get(0, 0, 100), 10);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(m0_sim_stream_unsent(&tube, 1), 10);
	memset(in, 0, sizeof in);
	m0_sim_stream_silence(&tube, 0, false);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(m0_sim_stream_unsent(&tube, 0), 0);
	assert_int_equal(m0_sim_stream_unsent(&tube, 1), 0);
	assert_int_equal(get(1, 0, BYTES_NR), WINDOW);
	assert_memory_equal(in, out, WINDOW);
	down();
}

/* A reset that is lost stays lost, until the other end says something. */
static void reset_lost_comes_late(void **state)
{
	static const struct m0_sim_stream_cfg cfg = { .ssc_latency_ns = 1000 };

	(void)state;
	up(&cfg);
	m0_sim_stream_silence(&tube, 0, true);
	m0_sim_stream_reset(&tube, 0);
	m0_sim_stream_silence(&tube, 0, false);
	m0_sim_run_ms(&sim, 100000);
	assert_int_equal(get(1, 0, 10), -EAGAIN);
	assert_int_equal(put(1, 0, 10), 10);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(get(1, 0, 10), -ECONNRESET);
	down();
}

/* A slow reader gets his bytes a second, and is told when he may go on. */
static void reader_slow_takes_his_rate(void **state)
{
	static const struct m0_sim_stream_cfg cfg = { .ssc_latency_ns = 1000 };
	size_t                                come = 0;
	unsigned                              i;
	ssize_t                               rc;

	(void)state;
	up(&cfg);
	m0_sim_stream_slow(&tube, 1, 10000);
	assert_int_equal(put(0, 0, 100000), 100000);
	for (i = 0; i < 5000; ++i) {
		m0_sim_run_ms(&sim, 1);
		rc = get(1, come, BYTES_NR - come);
		if (rc > 0)
			come += (size_t)rc;
		else
			assert_int_equal(rc, -EAGAIN);
	}
	assert_in_range(come, 45000, 52000);
	assert_true(notices_nr[1] > 40);
	m0_sim_stream_slow(&tube, 1, 0);
	assert_int_equal(get(1, come, BYTES_NR - come), 100000 - come);
	assert_memory_equal(in, out, 100000);
	down();
}

/* Signs of life: an idle stream stays; one whose other end is gone, or cannot be
 * heard, is reset after its time. */
static void keepalive_finds_dead_ends(void **state)
{
	static const struct m0_sim_stream_cfg cfg = { .ssc_latency_ns = 1000 };

	(void)state;
	up(&cfg);
	m0_sim_stream_keepalive(&tube, 0, 1000 * M0_TIME_ONE_MSEC,
				100 * M0_TIME_ONE_MSEC, 3);
	m0_sim_run_ms(&sim, 99990);
	assert_int_equal(get(0, 0, 10), -EAGAIN);
	m0_sim_stream_silence(&tube, 1, true);
	m0_sim_run_ms(&sim, 250);
	assert_int_equal(get(0, 0, 10), -EAGAIN);
	m0_sim_stream_silence(&tube, 1, false);
	m0_sim_run_ms(&sim, 1250);
	m0_sim_stream_silence(&tube, 0, true);
	m0_sim_run_ms(&sim, 1400);
	assert_int_equal(get(0, 0, 10), -ETIMEDOUT);
	assert_int_equal(get(1, 0, 10), -EAGAIN);
	down();

	up(&cfg);
	m0_sim_stream_keepalive(&tube, 0, 1000 * M0_TIME_ONE_MSEC,
				100 * M0_TIME_ONE_MSEC, 3);
	m0_sim_stream_silence(&tube, 1, true);
	m0_sim_stream_reset(&tube, 1);
	m0_sim_stream_silence(&tube, 1, false);
	m0_sim_run_ms(&sim, 900);
	assert_int_equal(get(0, 0, 10), -EAGAIN);
	m0_sim_run_ms(&sim, 200);
	assert_int_equal(get(0, 0, 10), -ECONNRESET);
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_take_rate_and_latency),
		cmocka_unit_test(bytes_in_pieces_keep_order),
		cmocka_unit_test(window_full_stops_writer),
		cmocka_unit_test(shut_ends_one_direction),
		cmocka_unit_test(reset_drops_unsent),
		cmocka_unit_test(ignored_reset_fails_write),
		cmocka_unit_test(close_depends_on_unread),
		cmocka_unit_test(cut_resets_both),
		cmocka_unit_test(silence_holds_bytes),
		cmocka_unit_test(reset_lost_comes_late),
		cmocka_unit_test(reader_slow_takes_his_rate),
		cmocka_unit_test(keepalive_finds_dead_ends),
	};

	return cmocka_run_group_tests_name("sim-stream", tests, NULL, NULL);
}
