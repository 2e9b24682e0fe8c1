/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnd/tcp/fake_sock.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

static m0_time_t soon(void)
{
	return m0_time_from_now(20, 0);
}

static bool is_readable(void)
{
	struct pollfd fd = { .fd = fake.fs_reactor->rtr_ops->rtro_fd(
				     fake.fs_reactor),
			     .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* Until nothing is left to do. */
static void settle(void)
{
	int i;

	for (i = 0; i < 200; ++i)
		(void)fake_step();
	assert_false(fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor));
}

/* The clock of a pass goes to the driver before anything else. */
static void tcp_pass_sets_clock(void **state)
{
	(void)state;
	fake_open("127.0.0.1", NULL);
	(void)m0_reactor_pass(fake.fs_reactor, 12345);
	assert_int_equal(fake.fs_reactor->rtr_now, 12345);
	fake_close();
}

/* A sleep is ended by bytes, by a rouse before it, and by its deadline. */
static void tcp_sleep_ends_by_bytes_rouse_deadline(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	m0_time_t            deadline;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	settle();
	fake_send(ours, 100);
	m0_reactor_flush(fake.fs_reactor);
	fake.fs_reactor->rtr_ops->rtro_sleep(fake.fs_reactor, soon());
	(void)fake_step();
	assert_int_equal(theirs->fc_in, 100);
	settle();
	fake.fs_reactor->rtr_ops->rtro_rouse(fake.fs_reactor);
	fake.fs_reactor->rtr_ops->rtro_rouse(fake.fs_reactor);
	fake.fs_reactor->rtr_ops->rtro_sleep(fake.fs_reactor, soon());
	/* The thread that roused may have left work: one more step. */
	assert_true(fake_step());
	assert_false(fake_step());
	deadline = m0_time_from_now(0, 3000000);
	fake.fs_reactor->rtr_ops->rtro_sleep(fake.fs_reactor, deadline);
	assert_true(m0_time_now() >= deadline);
	fake_close();
	fake_free(ours);
}

/* Room to write for one who has nothing to write ends no sleep. */
static void tcp_sleep_is_not_ended_by_room(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	m0_time_t            deadline;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fake_send(ours, 100);
	fake_until(theirs->fc_in == 100);
	deadline = m0_time_from_now(0, 3000000);
	fake.fs_reactor->rtr_ops->rtro_sleep(fake.fs_reactor, deadline);
	assert_true(m0_time_now() >= deadline);
	fake_close();
	fake_free(ours);
}

/* Is there something? is answered without a pass, and takes nothing away. */
static void tcp_ready_sees_bytes(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	settle();
	fake_send(ours, 100);
	m0_reactor_flush(fake.fs_reactor);
	while (!fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor))
		;
	assert_true(fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor));
	(void)fake_step();
	assert_int_equal(theirs->fc_in, 100);
	/* Output that was announced is something, too. */
	settle();
	fake_send(ours, 100);
	assert_true(fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor));
	fake.fs_reactor->rtr_ops->rtro_rouse(fake.fs_reactor);
	fake_until(theirs->fc_in == 200);
	fake_close();
	fake_free(ours);
}

/* For other loops: bytes, a rouse, a deadline, and what a pass has left. */
static void tcp_fd_shows_work(void **state)
{
	struct pollfd        fd = { .events = POLLIN };
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	m0_time_t            deadline;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fd.fd = fake.fs_reactor->rtr_ops->rtro_fd(fake.fs_reactor);
	fake.fs_reactor->rtr_ops->rtro_rouse(fake.fs_reactor);
	assert_true(is_readable());
	fake.fs_reactor->rtr_ops->rtro_arm(fake.fs_reactor, M0_TIME_NEVER);
	settle();
	assert_false(is_readable());
	fake_send(ours, 4 * M0_TCP_TURN_BYTES);
	m0_reactor_flush(fake.fs_reactor);
	/* With nothing but this descriptor all is moved. */
	while (theirs->fc_in < 4 * M0_TCP_TURN_BYTES) {
		assert_int_equal(poll(&fd, 1, 20000), 1);
		(void)fake_step();
	}
	settle();
	assert_false(is_readable());
	fake.fs_reactor->rtr_ops->rtro_rouse(fake.fs_reactor);
	assert_true(is_readable());
	settle();
	deadline = m0_time_from_now(0, 3000000);
	fake.fs_reactor->rtr_ops->rtro_arm(fake.fs_reactor, deadline);
	assert_int_equal(poll(&fd, 1, 20000), 1);
	assert_true(m0_time_now() >= deadline);
	settle();
	assert_false(is_readable());
	fake_close();
	fake_free(ours);
}

/* Nobody tells that the last stream has bytes again: it is tried. */
static void tcp_last_stream_is_tried_first(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint64_t             reads_nr;
	int                  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fake_send(ours, 100);
	fake_until(theirs->fc_in == 100);
	/* A while, then it is left to epoll. */
	for (i = 0; i < 1000; ++i)
		(void)fake_step();
	reads_nr = theirs->fc_counts.stc_reads_nr;
	assert_in_range(reads_nr, 3, 100);
	for (i = 0; i < 1000; ++i)
		(void)fake_step();
	assert_int_equal(theirs->fc_counts.stc_reads_nr, reads_nr);
	fake_send(ours, 100);
	fake_until(theirs->fc_in == 200);
	fake_close();
	fake_free(ours);
}

/* Passes alone, while messages come, until epoll does not watch the stream. */
static struct m0_tcp_stream *unwatch(struct m0_sock_conn *from,
				     struct m0_sock_conn *to)
{
	struct m0_tcp_stream *stream = m0_tcp__stream(to->fc_stream);
	m0_time_t             end = m0_time_from_now(20, 0);
	size_t                want;

	do {
		assert_true(m0_time_now() < end);
		want = to->fc_in + 100;
		fake_send(from, 100);
		while (to->fc_in < want)
			(void)fake_step();
		(void)fake_step();
	} while (!stream->tcs_unwatched);
	return stream;
}

/* A stream that each step tries is not watched. A thread that waits, in either
 * way, still learns of its input. */
static void tcp_tried_stream_is_watched_for_others(void **state)
{
	struct m0_tcp_stream *stream;
	struct m0_sock_conn  *ours;
	struct m0_sock_conn  *theirs;
	size_t                in;
	int                   i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	stream = unwatch(ours, theirs);
	in = theirs->fc_in;
	fake_send(ours, 100);
	m0_reactor_flush(fake.fs_reactor);
	fake.fs_reactor->rtr_ops->rtro_sleep(fake.fs_reactor, soon());
	assert_false(stream->tcs_unwatched);
	(void)fake_step();
	assert_int_equal(theirs->fc_in, in + 100);
	(void)unwatch(ours, theirs);
	in = theirs->fc_in;
	fake_send(ours, 100);
	m0_reactor_flush(fake.fs_reactor);
	while (!fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor))
		;
	(void)fake_step();
	assert_int_equal(theirs->fc_in, in + 100);
	/* A quiet stream is watched again after some steps. */
	(void)unwatch(ours, theirs);
	for (i = 0; i < 1000; ++i)
		(void)fake_step();
	assert_false(stream->tcs_unwatched);
	(void)unwatch(ours, theirs);
	in = theirs->fc_in;
	/* Room to write is told as well, once. */
	(void)is_readable();
	settle();
	assert_false(is_readable());
	fake_send(ours, 100);
	m0_reactor_flush(fake.fs_reactor);
	fake_until(is_readable());
	fake_until(theirs->fc_in == in + 100);
	fake_close();
	fake_free(ours);
}

/* A stream that is not watched ends by the end of its peer, by the pass that
 * tries it; a pause, or the end of room to write, has it watched. */
static void tcp_tried_stream_ends_and_pauses(void **state)
{
	struct m0_tcp_stream *stream;
	struct m0_sock_conn  *ours;
	struct m0_sock_conn  *theirs;
	size_t                in;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	stream = unwatch(ours, theirs);
	in = theirs->fc_in;
	fake_in_max(theirs, in + 50);
	fake_send(ours, 100);
	while (!stream->tcs_in_paused || stream->tcs_unwatched)
		(void)fake_step();
	assert_int_equal(theirs->fc_in, in + 50);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == in + 100);
	(void)unwatch(ours, theirs);
	fake_in_max(ours, 0);
	fake_send(theirs, 64 << 20);
	while (!stream->tcs_out_full)
		(void)fake_step();
	assert_false(stream->tcs_unwatched);
	fake_in_max(ours, SIZE_MAX);
	fake_until(ours->fc_in == 64 << 20);
	(void)unwatch(ours, theirs);
	fake_hangup(ours);
	while (theirs->fc_broken_nr == 0)
		(void)fake_step();
	fake_close();
	fake_free(ours);
}

/* Only the first pass of a step looks at descriptors; the next step looks
 * again. */
static void tcp_passes_of_one_step_look_once(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	m0_time_t            now;
	uint64_t             reads_nr;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fake_send(ours, 100);
	fake_until(theirs->fc_in == 100);
	now = m0_time_now();
	(void)m0_reactor_pass(fake.fs_reactor, now);
	reads_nr = theirs->fc_counts.stc_reads_nr;
	fake.fs_reactor->rtr_looked = true;
	(void)m0_reactor_pass(fake.fs_reactor, now);
	(void)m0_reactor_pass(fake.fs_reactor, now + 1);
	assert_int_equal(theirs->fc_counts.stc_reads_nr, reads_nr);
	fake_send(ours, 100);
	m0_reactor_flush(fake.fs_reactor);
	fake.fs_reactor->rtr_looked = false;
	(void)m0_reactor_pass(fake.fs_reactor, now + 1);
	assert_int_equal(theirs->fc_counts.stc_reads_nr, reads_nr + 1);
	assert_int_equal(theirs->fc_in, 200);
	fake_close();
	fake_free(ours);
}

/* While one stream always has work, others are heard. */
static void tcp_busy_stream_starves_nobody(void **state)
{
	struct m0_sock_conn *ours[2];
	struct m0_sock_conn *theirs[2];
	unsigned             passes_nr = 0;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours[0] = fake_pair(&theirs[0]);
	ours[1] = fake_pair(&theirs[1]);
	while (theirs[1]->fc_in == 0) {
		fake_send(ours[0], 1000);
		if (passes_nr == 20)
			fake_send(ours[1], 100);
		(void)fake_step();
		assert_true(++passes_nr < 60);
	}
	fake_close();
	fake_free(ours[0]);
	fake_free(ours[1]);
}

/* Passes until a message has come that the kernel has already. */
static unsigned passes_until_in(struct m0_sock_conn *from,
				struct m0_sock_conn *to)
{
	const struct m0_tcp_stream *stream = m0_tcp__stream(to->fc_stream);
	struct pollfd fd = { .fd = stream->tcs_fd.lof_fd, .events = POLLIN };
	size_t        want = to->fc_in + 100;
	unsigned      nr = 0;

	fake_send(from, 100);
	m0_reactor_flush(fake.fs_reactor);
	assert_int_equal(poll(&fd, 1, 20000), 1);
	while (to->fc_in < want) {
		(void)fake_step();
		assert_true(++nr < 1000);
	}
	return nr;
}

/*
 * If two streams have input in turns, the last one is always the wrong one to
 * try. The reactor notices that, the sooner the less it has waited. It tries a
 * stream alone that was the only one for long, and still finds the other one.
 */
static void tcp_another_stream_is_found_soon(void **state)
{
	static const unsigned waits[] = { 0, 1, 6, 13, 30, 3 };
	struct m0_sock_conn  *ours[2];
	struct m0_sock_conn  *theirs[2];
	unsigned              w;
	unsigned              i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours[0] = fake_pair(&theirs[0]);
	ours[1] = fake_pair(&theirs[1]);
	settle();
	for (i = 0; i < 10 * ARRAY_SIZE(waits); ++i) {
		for (w = 0; w < waits[i % ARRAY_SIZE(waits)]; ++w)
			(void)fake_step();
		assert_in_range(passes_until_in(ours[i % 2], theirs[i % 2]), 1,
				max64u(w, 4));
	}
	for (i = 0; i < 1000; ++i)
		assert_in_range(passes_until_in(ours[0], theirs[0]), 1, 2);
	assert_in_range(passes_until_in(ours[1], theirs[1]), 1, 64);
	assert_in_range(passes_until_in(ours[0], theirs[0]), 1, 4);
	fake_close();
	fake_free(ours[0]);
	fake_free(ours[1]);
}

static int rouser_step;

static void rouser(int nr)
{
	int i;

	for (i = 1; i <= nr; ++i) {
		__atomic_store_n(&rouser_step, i, __ATOMIC_SEQ_CST);
		fake.fs_reactor->rtr_ops->rtro_rouse(fake.fs_reactor);
	}
}

/* Rouses of another thread are not lost, whoever takes them: pass or sleep. */
static void tcp_rouse_by_thread_is_never_lost(void **state)
{
	struct m0_thread thread;
	m0_time_t        end = m0_time_from_now(60, 0);

	(void)state;
	fake_open("127.0.0.1", NULL);
	rouser_step = 0;
	assert_int_equal(
		M0_THREAD_INIT(&thread, int, NULL, rouser, 20000, "rouser"), 0);
	while (__atomic_load_n(&rouser_step, __ATOMIC_SEQ_CST) < 20000) {
		if (!m0_reactor_pass(fake.fs_reactor, 1) &&
		    __atomic_load_n(&rouser_step, __ATOMIC_SEQ_CST) < 20000)
			fake.fs_reactor->rtr_ops->rtro_sleep(fake.fs_reactor,
							     end);
		assert_true(m0_time_now() < end);
	}
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	fake_close();
}

static void fd_asker(int *fd)
{
	int i;

	for (i = 0; i < 1000; ++i)
		*fd = fake.fs_reactor->rtr_ops->rtro_fd(fake.fs_reactor);
}

/* One thread may ask for the descriptor while another one steps. */
static void tcp_fd_is_any_threads(void **state)
{
	struct m0_thread     thread;
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	int                  fd = -1;
	int                  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	assert_int_equal(M0_THREAD_INIT(&thread, int *, NULL, fd_asker, &fd,
					"fd_asker"),
			 0);
	for (i = 1; i <= 100; ++i) {
		fake_send(ours, 100);
		fake_until(theirs->fc_in == 100 * (size_t)i);
	}
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	assert_int_equal(fd,
			 fake.fs_reactor->rtr_ops->rtro_fd(fake.fs_reactor));
	fake_close();
	fake_free(ours);
}

/* Without a driver it is made and ended; listeners and streams go with it. */
static void tcp_destroy_frees_all(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	struct m0_sock_conn *dialling;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	dialling = fake_dial();
	fake_in_max(theirs, 100);
	theirs->fc_in_seg = 50;
	theirs->fc_ahead = 1000;
	fake_send(ours, 5000);
	fake_until(theirs->fc_in == 100);
	fake_close();
	assert_int_equal(ours->fc_broken_nr, 0);
	fake_free(ours);
	fake_free(dialling);
}

/* Some of the files that may be open are left to others, however few. */
static void tcp_leaves_files_to_others(void **state)
{
	static const struct {
		rlim_t   files;
		unsigned max;
	} rows[] = { { 1024, 768 }, { 300, 225 }, { 20, 15 } };
	static const struct m0_streams_cfg cfg;
	struct rlimit                      all;
	struct rlimit                      few;
	struct m0_streams                 *io;
	size_t                             i;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		few = (struct rlimit){ rows[i].files, all.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(fake_streams_create(&io, &cfg), 0);
		assert_int_equal(io->sts_max, rows[i].max);
		fake_streams_destroy(io);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_pass_sets_clock),
		cmocka_unit_test(tcp_leaves_files_to_others),
		cmocka_unit_test(tcp_sleep_ends_by_bytes_rouse_deadline),
		cmocka_unit_test(tcp_sleep_is_not_ended_by_room),
		cmocka_unit_test(tcp_ready_sees_bytes),
		cmocka_unit_test(tcp_fd_shows_work),
		cmocka_unit_test(tcp_last_stream_is_tried_first),
		cmocka_unit_test(tcp_tried_stream_is_watched_for_others),
		cmocka_unit_test(tcp_tried_stream_ends_and_pauses),
		cmocka_unit_test(tcp_passes_of_one_step_look_once),
		cmocka_unit_test(tcp_busy_stream_starves_nobody),
		cmocka_unit_test(tcp_another_stream_is_found_soon),
		cmocka_unit_test(tcp_rouse_by_thread_is_never_lost),
		cmocka_unit_test(tcp_fd_is_any_threads),
		cmocka_unit_test(tcp_destroy_frees_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
