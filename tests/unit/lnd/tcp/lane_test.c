/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Threads that move payloads: jobs alone, and what streams lend to them. */
#include "unit/lnd/tcp/fake_sock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lnd/tcp/lane.h"

enum {
	MIB = 1 << 20,
	PAIRS_NR = 8
};

static const struct m0_streams_cfg lane_cfg = { .sic_lanes_nr = 2 };

/* -- jobs ------------------------------------------------------------------ */

static int roused_nr;

static void rouse(void *arg)
{
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

static struct m0_lanes *lanes_new(unsigned nr)
{
	struct m0_lanes *lanes;

	roused_nr = 0;
	assert_int_equal(m0_lanes_create(&lanes, nr, NULL, rouse, &roused_nr),
			 0);
	return lanes;
}

static void sockets(int fds[2])
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
}

static void sockets_close(int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

static struct m0_lane_job *job_new(struct m0_lanes *lanes, int fd, bool is_out,
				   void *bytes, size_t nr)
{
	struct m0_lane_job *job = m0_lanes_get(lanes);

	assert_non_null(job);
	job->ljb_fd = fd;
	job->ljb_is_out = is_out;
	job->ljb_nr = 1;
	job->ljb_iov[0].iov_base = bytes;
	job->ljb_iov[0].iov_len = nr;
	return job;
}

static struct m0_lane_job *job_await(struct m0_lanes *lanes)
{
	m0_time_t           end = m0_time_from_now(20, 0);
	struct m0_lane_job *job;

	while ((job = m0_lanes_back(lanes)) == NULL) {
		assert_true(m0_time_now() < end);
		m0_os_yield();
	}
	return job;
}

/* Bytes move through two lanes, more than a socket keeps, and both jobs come back. */
static void lane_moves_both_ways(void **state)
{
	struct m0_lanes    *lanes = lanes_new(2);
	uint8_t            *from = malloc(4 * MIB);
	uint8_t            *to = calloc(1, 4 * MIB);
	struct m0_lane_job *out;
	struct m0_lane_job *in;
	struct m0_lane_job *job;
	int                 ended_nr = 0;
	size_t              i;
	int                 fds[2];

	(void)state;
	for (i = 0; i < 4 * MIB; ++i)
		from[i] = fake_byte(i);
	sockets(fds);
	out = job_new(lanes, fds[0], true, from, 4 * MIB);
	in = job_new(lanes, fds[1], false, to, 4 * MIB);
	assert_int_not_equal(m0_lanes_give(lanes, out, 0),
			     m0_lanes_give(lanes, in, 0));
	while (ended_nr < 2) {
		job = job_await(lanes);
		assert_int_equal(job->ljb_rc, 0);
		assert_false(job->ljb_is_end);
		/* A slow machine: it has waited for too long. */
		if (job->ljb_at < job->ljb_nr)
			(void)m0_lanes_give(lanes, job, 0);
		else
			++ended_nr;
	}
	assert_memory_equal(from, to, 4 * MIB);
	assert_int_equal(in->ljb_moved + out->ljb_moved, 8 * MIB);
	assert_int_equal(m0_lanes_away_nr(lanes), 0);
	m0_lanes_put(lanes, in);
	m0_lanes_put(lanes, out);
	m0_lanes_destroy(lanes);
	assert_true(roused_nr >= 2);
	sockets_close(fds);
	free(from);
	free(to);
}

/* A job that waits for its descriptor comes back with what it has. */
static void lane_gives_back_what_waits(void **state)
{
	struct m0_lanes    *lanes = lanes_new(1);
	m0_time_t           before = m0_time_now();
	uint8_t             bytes[100];
	struct m0_lane_job *job;
	int                 fds[2];

	(void)state;
	sockets(fds);
	assert_int_equal(write(fds[0], "0123456789", 10), 10);
	(void)m0_lanes_give(
		lanes, job_new(lanes, fds[1], false, bytes, sizeof bytes), 0);
	job = job_await(lanes);
	assert_true(m0_time_now() - before >= M0_LANE_WAIT_NS);
	assert_int_equal(job->ljb_moved, 10);
	assert_int_equal(job->ljb_rc, 0);
	assert_false(job->ljb_is_end);
	assert_memory_equal(bytes, "0123456789", 10);
	m0_lanes_put(lanes, job);
	m0_lanes_destroy(lanes);
	sockets_close(fds);
}

/* The end of a stream, and an error. */
static void lane_reports_ends(void **state)
{
	struct m0_lanes    *lanes = lanes_new(1);
	uint8_t             bytes[100] = { 0 };
	struct m0_lane_job *job;
	int                 fds[2];

	(void)state;
	sockets(fds);
	close(fds[0]);
	(void)m0_lanes_give(
		lanes, job_new(lanes, fds[1], false, bytes, sizeof bytes), 0);
	job = job_await(lanes);
	assert_true(job->ljb_is_end && job->ljb_rc == 0 && job->ljb_moved == 0);
	m0_lanes_put(lanes, job);
	(void)m0_lanes_give(
		lanes, job_new(lanes, fds[1], true, bytes, sizeof bytes), 0);
	job = job_await(lanes);
	assert_int_equal(job->ljb_rc, -EPIPE);
	assert_false(job->ljb_is_end);
	m0_lanes_put(lanes, job);
	m0_lanes_destroy(lanes);
	close(fds[1]);
}

/* A job is recalled while it waits, when it is back already, and at any time between;
 * then its memory is not written any more. */
static void lane_recalls(void **state)
{
	struct m0_lanes    *lanes = lanes_new(2);
	uint8_t             bytes[4096];
	uint8_t             was[4096] = { 0 };
	struct m0_lane_job *job;
	struct m0_lane_job *other;
	int                 fds[2];
	int                 i;

	(void)state;
	sockets(fds);
	for (i = 0; i < 300; ++i) {
		job = job_new(lanes, fds[1], false, bytes, sizeof bytes);
		(void)m0_lanes_give(lanes, job, 0);
		if (i % 3 == 0)
			assert_int_equal(write(fds[0], was, (size_t)i + 1),
					 i + 1);
		while (i % 5 == 0 && i % 3 == 0 && !m0_lanes_has_back(lanes) &&
		       i < 10)
			m0_os_yield();
		m0_lanes_recall(lanes, job);
		assert_null(m0_lanes_back(lanes));
		assert_int_equal(m0_lanes_away_nr(lanes), 0);
		memcpy(was, bytes, sizeof was);
		(void)write(fds[0], "x", 1);
		assert_memory_equal(was, bytes, sizeof was);
		m0_lanes_put(lanes, job);
		while (read(fds[1], bytes, sizeof bytes) > 0)
			;
	}
	/* Another one that has come back meanwhile is not lost. */
	job = job_new(lanes, fds[1], false, bytes, sizeof bytes);
	other = job_new(lanes, fds[0], true, was, 10);
	(void)m0_lanes_give(lanes, other, 0);
	while (!m0_lanes_has_back(lanes))
		m0_os_yield();
	(void)m0_lanes_give(lanes, job, 0);
	m0_lanes_recall(lanes, job);
	assert_ptr_equal(m0_lanes_back(lanes), other);
	m0_lanes_put(lanes, job);
	m0_lanes_put(lanes, other);
	m0_lanes_destroy(lanes);
	sockets_close(fds);
}

/* There are as many jobs as were made at the start, and they are spread. */
static void lane_jobs_are_bounded(void **state)
{
	static uint8_t      byte;
	struct m0_lanes    *lanes = lanes_new(2);
	struct m0_lane_job *jobs[2 * M0_LANE_JOBS_NR];
	unsigned            nr[2] = { 0, 0 };
	int                 fds[2];
	unsigned            i;

	(void)state;
	sockets(fds);
	for (i = 0; i < ARRAY_SIZE(jobs); ++i)
		jobs[i] = job_new(lanes, dup(fds[0]), false, &byte, 1);
	assert_null(m0_lanes_get(lanes));
	for (i = 0; i < 10; ++i)
		++nr[m0_lanes_give(lanes, jobs[i], 1)];
	for (i = 0; i < 10; ++i)
		m0_lanes_recall(lanes, jobs[i]);
	assert_true(nr[0] > 0 && nr[1] > 0);
	for (i = 0; i < ARRAY_SIZE(jobs); ++i) {
		close(jobs[i]->ljb_fd);
		m0_lanes_put(lanes, jobs[i]);
	}
	m0_lanes_destroy(lanes);
	sockets_close(fds);
}

/* -- streams --------------------------------------------------------------- */

static struct m0_tcp_io *io(void)
{
	return m0_tcp__io(fake.fs_io);
}

static struct m0_sock_conn *pair(struct m0_sock_conn **theirs)
{
	struct m0_sock_conn *ours = fake_pair(theirs);

	ours->fc_lends = true;
	(*theirs)->fc_lends = true;
	return ours;
}

/* Payloads in both directions of one connection, and of several, are whole. */
static void stream_lends_both_ways(void **state)
{
	struct m0_sock_conn *ours[PAIRS_NR];
	struct m0_sock_conn *theirs[PAIRS_NR];
	const size_t         all = 8 * MIB + 77;
	int                  i;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	for (i = 0; i < PAIRS_NR; ++i) {
		ours[i] = pair(&theirs[i]);
		fake_send(ours[i], all);
		fake_send(theirs[i], all);
	}
	for (i = 0; i < PAIRS_NR; ++i) {
		fake_until(ours[i]->fc_in == all && theirs[i]->fc_in == all &&
			   ours[i]->fc_out == all && theirs[i]->fc_out == all);
		assert_true(ours[i]->fc_in_lent_nr > 0);
		assert_true(ours[i]->fc_counts.stc_lane_bytes >= all);
	}
	fake_close();
	for (i = 0; i < PAIRS_NR; ++i)
		fake_free(ours[i]);
}

/* The strand moves small payloads, and those that their user does not lend. */
static void stream_lends_only_what_it_may(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	struct m0_sock_conn *mute;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	ours = pair(&theirs);
	theirs->fc_in_seg = 4096;
	fake_send(ours, 1000);
	fake_until(theirs->fc_in == 1000);
	assert_int_equal(ours->fc_counts.stc_lane_bytes, 0);
	assert_int_equal(theirs->fc_counts.stc_lane_bytes, 0);
	mute = fake_pair(&theirs);
	fake_send(mute, MIB);
	fake_until(theirs->fc_in == MIB);
	assert_int_equal(theirs->fc_counts.stc_lane_bytes, 0);
	fake_close();
	fake_free(ours);
	fake_free(mute);
}

/* A payload that the call up about a small write announces is lent once. */
static void stream_lends_once(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	ours = pair(&theirs);
	ours->fc_out_more = 8 * MIB;
	fake_send(ours, 1000);
	fake_until(theirs->fc_in == 8 * MIB + 1000);
	fake_close();
	fake_free(ours);
}

/* After a payload, what is small arrives without a lane, also when the node sleeps. */
static void stream_is_watched_again(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	int                  i;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	ours = pair(&theirs);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == MIB);
	theirs->fc_lends = false;
	ours->fc_lends = false;
	for (i = 1; i <= 200; ++i) {
		fake_send(i % 2 ? ours : theirs, 10);
		fake_until(theirs->fc_in + ours->fc_in == MIB + 10 * (size_t)i);
	}
	fake_until(m0_lanes_away_nr(io()->tci_crew.tcw_lanes) == 0);
	fake_close();
	fake_free(ours);
}

/* A hang-up while lanes read and write: their memory is free at once. */
static void stream_hangs_up_under_lanes(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	unsigned             i;
	int                  round;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	for (round = 0; round < 60; ++round) {
		ours = pair(&theirs);
		fake_send(ours, 64 * MIB);
		fake_send(theirs, 64 * MIB);
		for (i = 0; i < (unsigned)round; ++i)
			(void)fake_step();
		if (round % 2)
			fake_hangup(theirs);
		else
			fake_end(theirs);
		memset(theirs->fc_buf, 0x55, MIB);
		fake_until(ours->fc_status != FAKE_OPEN);
		assert_int_equal(ours->fc_broken_nr, 1);
		for (i = 0; i < MIB; ++i)
			assert_int_equal(theirs->fc_buf[i], 0x55);
		fake_free(ours);
	}
	assert_int_equal(m0_lanes_away_nr(io()->tci_crew.tcw_lanes), 0);
	fake_close();
}

/* A user takes back the memory that it has lent: nothing writes to it any more, and what
 * has come is reported by a pass. */
static void stream_recalls_what_is_read(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	size_t               in;
	unsigned             i;
	int                  round;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	ours = pair(&theirs);
	for (round = 0; round < 60; ++round) {
		fake_send(ours, 3 * MIB);
		for (i = 0; i < (unsigned)round % 7; ++i)
			(void)fake_step();
		in = theirs->fc_in;
		fake.fs_io->sts_ops->sto_in_recall(fake.fs_io,
						   theirs->fc_stream);
		assert_int_equal(theirs->fc_in, in);
		for (i = 0; i < MIB; ++i)
			theirs->fc_buf[i] ^= 0xff;
		for (i = 0; i < MIB; ++i)
			theirs->fc_buf[i] ^= 0xff;
		fake_until(theirs->fc_in == (size_t)(round + 1) * 3 * MIB);
	}
	fake_close();
	fake_free(ours);
}

/* The room ends with lanes at work. */
static void streams_end_under_lanes(void **state)
{
	struct m0_sock_conn *ours[PAIRS_NR];
	struct m0_sock_conn *theirs;
	int                  i;
	int                  round;

	(void)state;
	for (round = 0; round < 10; ++round) {
		fake_open("127.0.0.1", &lane_cfg);
		for (i = 0; i < PAIRS_NR; ++i) {
			ours[i] = pair(&theirs);
			fake_send(ours[i], 16 * MIB);
			fake_send(theirs, 16 * MIB);
		}
		for (i = 0; i < round; ++i)
			(void)fake_step();
		fake_close();
		for (i = 0; i < PAIRS_NR; ++i)
			fake_free(ours[i]);
	}
}

/* A connection that hangs up in the call that a lane's bytes cause. */
static void stream_hangs_up_in_arrived(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	ours = pair(&theirs);
	theirs->fc_hangup_at = 3 * MIB;
	fake_send(ours, 16 * MIB);
	fake_send(theirs, 16 * MIB);
	fake_until(theirs->fc_status != FAKE_OPEN &&
		   ours->fc_status != FAKE_OPEN);
	assert_true(theirs->fc_in >= 3 * MIB);
	fake_close();
	fake_free(ours);
}

/* A node that polls never sleeps, and one that others poll shows what lanes have
 * done. */
static void stream_back_shows_in_fd(void **state)
{
	struct pollfd        fd = { .events = POLLIN };
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &lane_cfg);
	ours = pair(&theirs);
	fd.fd = fake.fs_reactor->rtr_ops->rtro_fd(fake.fs_reactor);
	fake.fs_reactor->rtr_ops->rtro_arm(fake.fs_reactor, M0_TIME_NEVER);
	fake_send(ours, 16 * MIB);
	m0_reactor_flush(fake.fs_reactor);
	while (theirs->fc_in < 16 * MIB) {
		assert_int_equal(poll(&fd, 1, 20000), 1);
		(void)fake_step();
		fake.fs_reactor->rtr_ops->rtro_arm(fake.fs_reactor,
						   M0_TIME_NEVER);
	}
	fake_close();
	fake_free(ours);
}

/* Processors that there are not, and lanes that are none. */
static void lanes_are_checked(void **state)
{
	struct m0_streams_cfg cfg = { .sic_lanes_nr = 2,
				      .sic_lane_cpus = "1023" };
	struct m0_streams    *streams;
	struct m0_sock_conn  *ours;
	struct m0_sock_conn  *theirs;

	(void)state;
	assert_int_equal(fake_streams_create(&streams, &cfg), -EINVAL);
	cfg.sic_lanes_nr = 1;
	fake_open("127.0.0.1", &cfg);
	assert_null(io()->tci_crew.tcw_lanes);
	ours = pair(&theirs);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == MIB);
	assert_int_equal(theirs->fc_counts.stc_lane_bytes, 0);
	fake_close();
	fake_free(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lane_moves_both_ways),
		cmocka_unit_test(lane_gives_back_what_waits),
		cmocka_unit_test(lane_reports_ends),
		cmocka_unit_test(lane_recalls),
		cmocka_unit_test(lane_jobs_are_bounded),
		cmocka_unit_test(stream_lends_both_ways),
		cmocka_unit_test(stream_lends_only_what_it_may),
		cmocka_unit_test(stream_lends_once),
		cmocka_unit_test(stream_is_watched_again),
		cmocka_unit_test(stream_hangs_up_under_lanes),
		cmocka_unit_test(stream_recalls_what_is_read),
		cmocka_unit_test(streams_end_under_lanes),
		cmocka_unit_test(stream_hangs_up_in_arrived),
		cmocka_unit_test(stream_back_shows_in_fd),
		cmocka_unit_test(lanes_are_checked),
	};

	return cmocka_run_group_tests_name("lnd-tcp-lane", tests, NULL, NULL);
}
