/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Streams: many messages in one call, both ways.
 * [r.M0.net.xprt.lnet.user.min-syscalls]
 */
#include "unit/lnd/tcp/fake_sock.h"

#include "sim/sched/heap.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <limits.h>
#include <unistd.h>

enum {
	MIB = 1 << 20
};

static const char *const loopbacks[] = { "127.0.0.1", "::1" };

/* A stream carries bytes both ways, over either kind of address. */
static void stream_bytes_arrive_both_ways(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	size_t               i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(loopbacks); ++i) {
		fake_open(loopbacks[i], NULL);
		ours = fake_pair(&theirs);
		fake_send(ours, 100);
		fake_send(theirs, 3 * MIB);
		fake_until(theirs->fc_in == 100 && ours->fc_in == 3 * MIB);
		assert_int_equal(ours->fc_copied, 0);
		fake_close();
		fake_free(ours);
	}
}

/* Tiny buffers of the kernel: writes are taken in parts, none is lost. */
static void stream_small_buffers_carry_all(void **state)
{
	static const struct m0_streams_cfg cfg = { .sic_sndbuf_bytes = 4096,
						   .sic_rcvbuf_bytes = 4096 };
	struct m0_sock_conn               *ours;
	struct m0_sock_conn               *theirs;

	(void)state;
	fake_open("127.0.0.1", &cfg);
	fake.fs_model.fc_out_seg = 1000;
	fake.fs_model.fc_in_seg = 777;
	fake.fs_model.fc_in_segs = 5;
	ours = fake_pair(&theirs);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == MIB);
	assert_int_equal(ours->fc_out, MIB);
	assert_true(ours->fc_counts.stc_writes_nr > 10);
	fake_close();
	fake_free(ours);
}

/* Small pieces are joined for the call, and may all the same be taken in parts:
 * none is lost, none comes twice. */
static void stream_joined_pieces_leave_in_parts(void **state)
{
	static const struct m0_streams_cfg cfg = { .sic_sndbuf_bytes = 4096,
						   .sic_rcvbuf_bytes = 4096 };
	struct m0_sock_conn               *ours;
	struct m0_sock_conn               *theirs;

	(void)state;
	fake_open("127.0.0.1", &cfg);
	fake.fs_model.fc_out_seg = 113;
	fake.fs_model.fc_in_seg = 777;
	ours = fake_pair(&theirs);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == MIB);
	assert_int_equal(ours->fc_out, MIB);
	assert_true(ours->fc_counts.stc_writes_nr > 10);
	fake_close();
	fake_free(ours);
}

/* Many messages that wait are one read: straight, or ahead of a small place. */
static void stream_many_messages_are_one_read(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint64_t             reads_nr;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fake.fs_model.fc_in_seg = 96;
	fake.fs_model.fc_ahead = 60000;
	fake.fs_model.fc_out_seg = 160;
	ours = fake_pair(&theirs);
	fake_in_max(theirs, 0);
	(void)fake_step();
	reads_nr = theirs->fc_counts.stc_reads_nr;
	/* More segments than one call takes; still two calls at most. */
	fake_send(ours, 300 * 160);
	fake_until(ours->fc_out == 300 * 160);
	assert_int_equal(ours->fc_counts.stc_writes_nr, 2);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == 300 * 160);
	assert_int_equal(theirs->fc_counts.stc_reads_nr - reads_nr, 1);
	assert_int_equal(theirs->fc_direct, 0);
	fake_close();
	fake_free(ours);
}

/* A large place is read into straight; what lies behind it is read ahead, but
 * not what is behind more segments than one call takes. */
static void stream_large_place_is_filled_straight(void **state)
{
	static const unsigned segs[] = { 16, M0_TCP_IN_SEGS_MAX * 4 };
	struct m0_sock_conn  *ours;
	struct m0_sock_conn  *theirs;
	size_t                i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(segs); ++i) {
		fake_open("127.0.0.1", NULL);
		fake.fs_model.fc_in_seg = 4096;
		fake.fs_model.fc_in_segs = segs[i];
		ours = fake_pair(&theirs);
		theirs->fc_ahead = 16384;
		fake_send(ours, 3 * MIB);
		fake_until(theirs->fc_in == 3 * MIB);
		assert_int_equal(theirs->fc_direct + theirs->fc_copied,
				 3 * MIB);
		assert_true(theirs->fc_direct > 2 * MIB);
		if (segs[i] > M0_TCP_IN_SEGS_MAX)
			assert_int_equal(theirs->fc_copied, 0);
		fake_close();
		fake_free(ours);
	}
}

/* Bytes that went to a wrong place are delivered again, with those read behind
 * them; bytes that nobody wants yet wait. */
static void stream_wrong_place_is_given_again(void **state)
{
	const size_t         max = M0_STREAM_AGAIN_BYTES_MAX;
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fake.fs_model.fc_in_seg = 4096;
	fake.fs_model.fc_in_segs = 4;
	ours = fake_pair(&theirs);
	theirs->fc_again_nr = UINT_MAX;
	theirs->fc_ahead = 60000;
	fake_send(ours, 3 * MIB);
	fake_until(theirs->fc_in == 3 * MIB);
	assert_int_equal(theirs->fc_direct, 0);
	assert_int_equal(theirs->fc_copied, 3 * MIB);
	/* As much as there may be, and more ahead than is allowed. */
	theirs->fc_again_nr = UINT_MAX;
	theirs->fc_ahead = MIB;
	theirs->fc_in_seg = max / 16;
	theirs->fc_in_segs = 16;
	fake_send(ours, 3 * MIB);
	fake_until(theirs->fc_in == 6 * MIB);
	assert_int_equal(theirs->fc_copied, 6 * MIB);
	fake_in_max(theirs, 6 * MIB + 1000);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == 6 * MIB + 1000);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == 7 * MIB);
	fake_close();
	fake_free(ours);
}

/* A short read says that nothing is left: no call is made to hear it. */
static void stream_short_read_is_the_last(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint64_t             reads_nr;
	unsigned             i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	/* Not by trying the last one again. */
	m0_tcp__io(fake.fs_io)->tci_hot = NULL;
	reads_nr = theirs->fc_counts.stc_reads_nr;
	for (i = 1; i <= 20; ++i) {
		fake_send(ours, 160);
		fake_until(theirs->fc_in == i * 160);
		m0_tcp__io(fake.fs_io)->tci_hot = NULL;
		assert_int_equal(theirs->fc_counts.stc_reads_nr - reads_nr, i);
		assert_int_equal(ours->fc_counts.stc_writes_nr, i);
	}
	fake_close();
	fake_free(ours);
}

static int inside(const struct m0_sock_conn *conn)
{
	const struct m0_tcp_stream *stream = m0_tcp__stream(conn->fc_stream);
	int                         nr = -1;

	assert_int_equal(ioctl(stream->tcs_fd.lof_fd, FIONREAD, &nr), 0);
	return nr;
}

/* A pair, one end of which gets little again and again and writes nothing. */
static struct m0_sock_conn *one_way(struct m0_sock_conn **theirs)
{
	struct m0_sock_conn *ours;
	unsigned             i;

	fake_open("127.0.0.1", NULL);
	fake.fs_model.fc_in_seg = 96;
	fake.fs_model.fc_ahead = 60000;
	ours = fake_pair(theirs);
	for (i = 1; i <= 20; ++i) {
		assert_int_equal(inside(*theirs), i > 5 ? 96 : 0);
		fake_send(ours, 96);
		fake_until((*theirs)->fc_in == i * 96);
	}
	assert_int_equal(inside(*theirs), 96);
	return ours;
}

/* A stream without output delivers a few bytes at once, but takes them from the
 * socket, which acknowledges them, only before the next look. */
static void stream_one_way_little_is_taken_late(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	ours = one_way(&theirs);
	fake.fs_reactor->rtr_looked = true;
	(void)fake_step();
	assert_int_equal(inside(theirs), 96);
	fake.fs_reactor->rtr_looked = false;
	(void)fake_step();
	assert_int_equal(inside(theirs), 0);
	assert_int_equal(theirs->fc_in, 20 * 96);
	fake_close();
	fake_free(ours);
}

/* A sleep takes them from the socket, too. */
static void stream_one_way_little_is_taken_before_sleep(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	ours = one_way(&theirs);
	fake.fs_reactor->rtr_ops->rtro_sleep(fake.fs_reactor, m0_time_now());
	assert_int_equal(inside(theirs), 0);
	fake_close();
	fake_free(ours);
}

/* More than a little, or something written: what comes is taken at once. */
static void stream_both_ways_is_taken_at_once(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	ours = one_way(&theirs);
	fake_send(theirs, 10);
	fake_until(ours->fc_in == 10);
	fake_send(ours, 96);
	fake_until(theirs->fc_in == 21 * 96);
	assert_int_equal(inside(theirs), 0);
	fake_send(ours, 50000 - 21 * 96);
	fake_until(theirs->fc_in == 50000);
	fake_send(ours, 96);
	fake_until(theirs->fc_in == 50096);
	assert_int_equal(inside(theirs), 0);
	fake_close();
	fake_free(ours);
}

/* More that comes behind what was only looked at comes once, and in order; so
 * does the end. */
static void stream_rest_comes_after_what_was_seen(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	ours = one_way(&theirs);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == 20 * 96 + MIB);
	fake_send(ours, 96);
	fake_until(theirs->fc_in == 21 * 96 + MIB);
	fake_close();
	fake_free(ours);
	ours = one_way(&theirs);
	fake_in_max(theirs, 20 * 96 + 30);
	fake_send(ours, 96);
	fake_until(theirs->fc_in == 20 * 96 + 30);
	fake_hangup(ours);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_status != FAKE_OPEN);
	assert_int_equal(theirs->fc_in, 21 * 96);
	assert_int_equal(theirs->fc_broken_nr, 1);
	fake_close();
	fake_free(ours);
}

/* A stream that ends leaves nothing behind of what was looked at. */
static void stream_seen_ends_with_stream(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	ours = one_way(&theirs);
	fake_hangup(theirs);
	assert_true(m0_list_is_empty(&m0_tcp__io(fake.fs_io)->tci_seen));
	fake_until(ours->fc_status != FAKE_OPEN);
	fake_close();
	fake_free(ours);
}

/* Bytes that were read ahead wait while the connection does, and come first. The
 * first stream that waits allocates nothing. */
static void stream_pause_keeps_what_was_read(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	struct m0_heap       heap;
	uint64_t             reads_nr;
	size_t               at;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fake.fs_model.fc_in_seg = 100;
	fake.fs_model.fc_ahead = 60000;
	ours = fake_pair(&theirs);
	fake_in_max(theirs, 1000);
	m0_heap_init(&heap);
	fake_send(ours, 10000);
	fake_until(theirs->fc_in == 1000);
	assert_int_equal(m0_heap_allocs_nr(&heap), 0);
	m0_heap_fini(&heap);
	reads_nr = theirs->fc_counts.stc_reads_nr;
	fake_send(ours, 10000);
	(void)fake_step();
	(void)fake_step();
	assert_int_equal(theirs->fc_counts.stc_reads_nr, reads_nr);
	for (at = 1001; at < 10000; at += 1777) {
		fake_in_max(theirs, at);
		(void)fake_step();
		assert_int_equal(theirs->fc_in, at);
		assert_int_equal(theirs->fc_counts.stc_reads_nr, reads_nr);
	}
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == 20000);
	fake_close();
	fake_free(ours);
}

/* No memory to keep what was read ahead, for the second stream that waits: it
 * ends, and says so. */
static void stream_pause_without_memory_ends(void **state)
{
	struct m0_sock_conn *ours[2];
	struct m0_sock_conn *theirs[2];
	struct m0_heap       heap;
	unsigned             i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fake.fs_model.fc_in_seg = 100;
	fake.fs_model.fc_ahead = 60000;
	for (i = 0; i < ARRAY_SIZE(ours); ++i) {
		ours[i] = fake_pair(&theirs[i]);
		fake_in_max(theirs[i], 1000);
	}
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 1);
	fake_send(ours[0], 10000);
	fake_until(theirs[0]->fc_in == 1000);
	fake_send(ours[1], 10000);
	fake_until(theirs[1]->fc_status != FAKE_OPEN);
	assert_int_equal(theirs[0]->fc_status, FAKE_OPEN);
	assert_int_equal(theirs[1]->fc_status, -ENOMEM);
	assert_int_equal(theirs[1]->fc_broken_nr, 1);
	assert_int_equal(m0_heap_failed_nr(&heap), 1);
	m0_heap_fini(&heap);
	fake_close();
	for (i = 0; i < ARRAY_SIZE(ours); ++i)
		fake_free(ours[i]);
}

/* A connection that pauses before it has read anything is told nothing. */
static void stream_pause_without_bytes_reads_nothing(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fake.fs_model.fc_in_max = 0;
	ours = fake_pair(&theirs);
	fake_send(ours, 500);
	fake_until(theirs->fc_where_nr == 1);
	(void)fake_step();
	assert_int_equal(theirs->fc_counts.stc_reads_nr, 0);
	fake_in_max(theirs, 200);
	fake_until(theirs->fc_in == 200);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == 500);
	fake_close();
	fake_free(ours);
}

/* No stream moves more than its share while others wait. */
static void stream_turns_are_bounded(void **state)
{
	struct m0_sock_conn *ours[3];
	struct m0_sock_conn *theirs[3];
	size_t               before[3];
	int                  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fake.fs_model.fc_in_seg = 16384;
	for (i = 0; i < 3; ++i) {
		ours[i] = fake_pair(&theirs[i]);
		fake_send(ours[i], 16 * MIB);
	}
	while (theirs[0]->fc_in < 16 * MIB) {
		for (i = 0; i < 3; ++i)
			before[i] = theirs[i]->fc_in;
		(void)fake_step();
		for (i = 0; i < 3; ++i)
			assert_true(theirs[i]->fc_in - before[i] <=
				    M0_TCP_TURN_BYTES + 16384);
	}
	fake_until(theirs[1]->fc_in == 16 * MIB &&
		   theirs[2]->fc_in == 16 * MIB);
	fake_close();
	for (i = 0; i < 3; ++i)
		fake_free(ours[i]);
}

static bool has_congestion(const char *name)
{
	int  fd = socket(AF_INET, SOCK_STREAM, 0);
	bool has = setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
			      (socklen_t)strlen(name)) == 0;

	close(fd);
	return has;
}

/*
 * Send several times as much as one call writes with bbr, from the end that
 * dialled or from the other one. @return bytes of the longest write.
 */
static size_t longest_write(const char *congestion, bool is_dialler)
{
	struct m0_streams_cfg cfg = { 0 };
	struct m0_sock_conn  *ends[2];
	struct m0_sock_conn  *from;
	size_t                most;

	strcpy(cfg.sic_congestion, congestion);
	fake_open("127.0.0.1", &cfg);
	/* The bound is inside a piece of the first write. */
	fake.fs_model.fc_out_seg = M0_TCP_CALL_BYTES / 4 * 3;
	ends[0] = fake_pair(&ends[1]);
	from = ends[is_dialler ? 0 : 1];
	fake_send(from, 6 * M0_TCP_CALL_BYTES);
	fake_until(ends[is_dialler ? 1 : 0]->fc_in == 6 * M0_TCP_CALL_BYTES);
	most = from->fc_out_most;
	fake_close();
	fake_free(ends[0]);
	return most;
}

/* With bbr no call writes more than the bound, however much there is. */
static void stream_writes_are_bounded_with_bbr(void **state)
{
	(void)state;
	if (!has_congestion("bbr"))
		skip();
	assert_true(longest_write("bbr", true) <= M0_TCP_CALL_BYTES);
	assert_true(longest_write("bbr", false) <= M0_TCP_CALL_BYTES);
}

/* With another congestion control one call writes what the socket takes. */
static void stream_writes_are_whole_without_bbr(void **state)
{
	(void)state;
	assert_true(longest_write("reno", true) > M0_TCP_CALL_BYTES);
	assert_true(longest_write("reno", false) > M0_TCP_CALL_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_bytes_arrive_both_ways),
		cmocka_unit_test(stream_small_buffers_carry_all),
		cmocka_unit_test(stream_joined_pieces_leave_in_parts),
		cmocka_unit_test(stream_many_messages_are_one_read),
		cmocka_unit_test(stream_large_place_is_filled_straight),
		cmocka_unit_test(stream_short_read_is_the_last),
		cmocka_unit_test(stream_wrong_place_is_given_again),
		cmocka_unit_test(stream_one_way_little_is_taken_late),
		cmocka_unit_test(stream_one_way_little_is_taken_before_sleep),
		cmocka_unit_test(stream_both_ways_is_taken_at_once),
		cmocka_unit_test(stream_rest_comes_after_what_was_seen),
		cmocka_unit_test(stream_seen_ends_with_stream),
		cmocka_unit_test(stream_pause_keeps_what_was_read),
		cmocka_unit_test(stream_pause_without_memory_ends),
		cmocka_unit_test(stream_pause_without_bytes_reads_nothing),
		cmocka_unit_test(stream_turns_are_bounded),
		cmocka_unit_test(stream_writes_are_bounded_with_bbr),
		cmocka_unit_test(stream_writes_are_whole_without_bbr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
