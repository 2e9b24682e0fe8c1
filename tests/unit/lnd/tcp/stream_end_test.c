/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Streams: how they end, and what is left of them. */
#include "unit/lnd/tcp/fake_sock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <stdio.h>
#include <unistd.h>

/* The peer's reset is told once; bytes before it are not lost. */
static void stream_reset_by_peer_is_told_once(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fake_send(ours, 5000);
	m0_reactor_flush(fake.fs_reactor);
	fake_hangup(ours);
	fake_until(theirs->fc_status != FAKE_OPEN);
	assert_int_equal(theirs->fc_in, 5000);
	assert_int_equal(theirs->fc_status, -ECONNRESET);
	(void)fake_step();
	assert_int_equal(theirs->fc_broken_nr, 1);
	fake_close();
	fake_free(ours);
}

/* The peer's orderly end is told as 0, after the last byte. */
static void stream_end_of_peer_is_status_0(void **state)
{
	struct m0_sock_conn  *ours;
	struct m0_sock_conn  *theirs;
	struct m0_tcp_stream *stream;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fake_send(ours, 5000);
	(void)fake_step();
	stream = m0_tcp__stream(ours->fc_stream);
	assert_int_equal(shutdown(stream->tcs_fd.lof_fd, SHUT_WR), 0);
	fake_until(theirs->fc_status != FAKE_OPEN);
	assert_int_equal(theirs->fc_in, 5000);
	assert_int_equal(theirs->fc_status, 0);
	fake_close();
	fake_free(ours);
}

/* A peer ends both its streams. What it sent by the second is read before the end of
 * the first is reported. */
static void stream_end_waits_for_the_other_streams(void **state)
{
	struct m0_sock_conn *ours[2];
	struct m0_sock_conn *theirs[2];
	int                  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	for (i = 0; i < 2; ++i)
		ours[i] = fake_pair(&theirs[i]);
	theirs[0]->fc_other = theirs[1];
	/* The stream that was read last is tried first. */
	fake_send(ours[0], 5000);
	fake_until(theirs[0]->fc_in == 5000);
	(void)fake_step();
	fake_send(ours[1], 5000);
	m0_reactor_flush(fake.fs_reactor);
	for (i = 0; i < 2; ++i)
		fake_end(ours[i]);
	fake_until(theirs[0]->fc_status != FAKE_OPEN &&
		   theirs[1]->fc_status != FAKE_OPEN);
	assert_int_equal(theirs[0]->fc_other_in, 5000);
	fake_close();
	for (i = 0; i < 2; ++i)
		fake_free(ours[i]);
}

/* Returns true if the system keeps anything of a connection between two ports. Whether
 * one can be bound would also depend on other processes. */
static bool is_kept(uint16_t left, uint16_t right)
{
	FILE    *file = fopen("/proc/net/tcp", "r");
	char     line[256];
	unsigned local;
	unsigned remote;
	bool     kept = false;

	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, " %*u: %*x:%x %*x:%x", &local, &remote) == 2)
			kept |= (local == left && remote == right) ||
				(local == right && remote == left);
	(void)fclose(file);
	return kept;
}

/*
 * Our end is an orderly one, though bytes of the peer are unread and on their
 * way: it has ours, and the end of the stream; and no port stays behind.
 */
static void stream_end_of_ours_is_orderly(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint16_t             local;
	uint16_t             remote;
	int                  i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		fake_open("127.0.0.1", NULL);
		ours = fake_pair(&theirs);
		local = ours->fc_local.sa_port;
		remote = theirs->fc_local.sa_port;
		assert_true(is_kept(local, remote));
		fake_send(ours, 5000);
		fake_in_max(ours, 100);
		fake_send(theirs, 70000);
		while (ours->fc_in < 100)
			(void)fake_step();
		/* The first bytes are unread in our socket now. */
		fake_end(i == 0 ? ours : theirs);
		if (i == 0) {
			fake_until(theirs->fc_status != FAKE_OPEN);
			assert_int_equal(theirs->fc_in, 5000);
			assert_int_equal(theirs->fc_status, 0);
		} else {
			fake_in_max(ours, SIZE_MAX);
			fake_until(ours->fc_status != FAKE_OPEN);
			assert_int_equal(ours->fc_in, 70000);
			assert_int_equal(ours->fc_status, 0);
		}
		fake_close();
		fake_free(ours);
		assert_false(is_kept(local, remote));
	}
}

/* A dialled connection; the listening side, *ret_peer, has a small buffer. */
static int dialled_pair(int *ret_peer, struct sockaddr_in *ret_local)
{
	static const int   small = 4096;
	static const int   no_wait = -1;
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_in local = sa;
	socklen_t          len = sizeof sa;
	int                listener = socket(AF_INET, SOCK_STREAM, 0);
	int                fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(listener >= 0 && fd >= 0);
	assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small,
				    sizeof small),
			 0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_LINGER2, &no_wait,
				    sizeof no_wait),
			 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&local, len), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &len),
			 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	*ret_peer = accept(listener, NULL, NULL);
	assert_true(*ret_peer >= 0);
	assert_int_equal(close(listener), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret_local, &len),
			 0);
	return fd;
}

/*
 * The peer takes nothing while our connection ends, and goes on sending: it still
 * gets all bytes and the end of the stream, and the port is free at once.
 */
static void stream_end_awaits_peer_that_sends(void **state)
{
	static char        bytes[100000];
	struct sockaddr_in local;
	size_t             sent = 0;
	ssize_t            nr;
	int                peer;
	int                fd = dialled_pair(&peer, &local);

	(void)state;
	while ((nr = send(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		sent += (size_t)nr;
	m0_tcp__fd_end(fd, false);
	assert_int_equal(send(peer, bytes, 1000, 0), 1000);
	while ((nr = recv(peer, bytes, sizeof bytes, 0)) > 0)
		sent -= (size_t)nr;
	assert_int_equal(nr, 0);
	assert_int_equal(sent, 0);
	assert_int_equal(close(peer), 0);
	/* Without SO_REUSEADDR a port in TIME_WAIT could not be had. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&local, sizeof local), 0);
	assert_int_equal(close(fd), 0);
}

/* A write that fails does not lose what the peer had said before. */
static void stream_failed_write_reads_rest_first(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fake_send(ours, 700);
	m0_reactor_flush(fake.fs_reactor);
	fake_hangup(ours);
	/* Before any pass has read: the write meets the reset. */
	fake_send(theirs, 100);
	m0_reactor_flush(fake.fs_reactor);
	assert_int_equal(theirs->fc_status, FAKE_OPEN);
	fake_until(theirs->fc_status != FAKE_OPEN);
	assert_int_equal(theirs->fc_in, 700);
	assert_int_equal(theirs->fc_status, -ECONNRESET);
	assert_int_equal(theirs->fc_broken_nr, 1);
	fake_close();
	fake_free(ours);
}

/* A paused connection whose write fails is not waited for; a pass tells it. */
static void stream_failed_write_ends_pause(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	fake_in_max(theirs, 100);
	fake_send(ours, 700);
	fake_until(theirs->fc_in == 100);
	fake_hangup(ours);
	fake_send(theirs, 100);
	m0_reactor_flush(fake.fs_reactor);
	assert_int_equal(theirs->fc_status, FAKE_OPEN);
	assert_true(fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor));
	(void)fake_step();
	assert_int_not_equal(theirs->fc_status, FAKE_OPEN);
	assert_int_equal(theirs->fc_in, 100);
	fake_close();
	fake_free(ours);
}

/* A connection may hang up itself, or another, in any call up. */
static void stream_hangup_in_call_up_is_safe(void **state)
{
	struct m0_sock_conn *ours[2];
	struct m0_sock_conn *theirs[2];
	size_t               ahead;
	int                  other;
	int                  i;

	(void)state;
	for (ahead = 0; ahead <= 60000; ahead += 60000) {
		for (other = 0; other < 2; ++other) {
			fake_open("127.0.0.1", NULL);
			fake.fs_model.fc_in_seg = 100;
			fake.fs_model.fc_ahead = ahead;
			for (i = 0; i < 2; ++i) {
				ours[i] = fake_pair(&theirs[i]);
				fake_send(ours[i], 1000);
			}
			theirs[0]->fc_victim = theirs[other];
			theirs[0]->fc_hangup_at = 300;
			theirs[1]->fc_victim = theirs[1 - other];
			theirs[1]->fc_hangup_at = 300;
			fake_until(ours[0]->fc_status != FAKE_OPEN ||
				   ours[1]->fc_status != FAKE_OPEN);
			fake_close();
			fake_free(ours[0]);
			fake_free(ours[1]);
		}
	}
}

/* Bytes nobody has acknowledged are counted while the peer does not read. */
static void stream_unsent_counts_bytes(void **state)
{
	static const struct m0_streams_cfg cfg = { .sic_rcvbuf_bytes = 4096 };
	struct m0_sock_conn               *ours;
	struct m0_sock_conn               *theirs;

	(void)state;
	fake_open("127.0.0.1", &cfg);
	ours = fake_pair(&theirs);
	assert_int_equal(fake.fs_io->sts_ops->sto_unsent(fake.fs_io,
							 ours->fc_stream),
			 0);
	fake_in_max(theirs, 0);
	fake_send(ours, 3 << 20);
	(void)fake_step();
	(void)fake_step();
	assert_true(fake.fs_io->sts_ops->sto_unsent(fake.fs_io,
						    ours->fc_stream) > 0);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == 3 << 20);
	fake_close();
	fake_free(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_reset_by_peer_is_told_once),
		cmocka_unit_test(stream_end_of_peer_is_status_0),
		cmocka_unit_test(stream_end_waits_for_the_other_streams),
		cmocka_unit_test(stream_end_of_ours_is_orderly),
		cmocka_unit_test(stream_end_awaits_peer_that_sends),
		cmocka_unit_test(stream_failed_write_reads_rest_first),
		cmocka_unit_test(stream_failed_write_ends_pause),
		cmocka_unit_test(stream_hangup_in_call_up_is_safe),
		cmocka_unit_test(stream_unsent_counts_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
