/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnd/tcp/fake_sock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

struct m0_sock fake;

static const struct m0_streams_up fake_up;

static uint8_t pattern[FAKE_BUF_BYTES + FAKE_PERIOD];

const uint8_t *fake_pattern;

void fake_pattern_fill(uint8_t *bytes)
{
	size_t i;

	for (i = 0; i < sizeof pattern; ++i)
		bytes[i] = fake_byte(i);
}

static uint8_t *out_from(size_t at)
{
	return (uint8_t *)(uintptr_t)(fake_pattern != NULL ? fake_pattern
							   : pattern) +
	       at % FAKE_PERIOD;
}

uint8_t fake_byte(size_t at)
{
	return (uint8_t)(at % FAKE_PERIOD);
}

struct m0_host_addr fake_addr(const char *text, uint16_t port)
{
	struct m0_host_addr addr = { .sa_port = port, .sa_bytes_nr = 4 };

	if (inet_pton(AF_INET, text, addr.sa_bytes) == 1)
		return addr;
	addr.sa_bytes_nr = 16;
	assert_int_equal(inet_pton(AF_INET6, text, addr.sa_bytes), 1);
	return addr;
}

struct m0_sock_conn *fake_conn(void)
{
	struct m0_sock_conn *conn = calloc(1, sizeof *conn);

	assert_non_null(conn);
	*conn = fake.fs_model;
	conn->fc_sock = &fake;
	conn->fc_buf = malloc(FAKE_BUF_BYTES);
	assert_non_null(conn->fc_buf);
	return conn;
}

void fake_free(struct m0_sock_conn *conn)
{
	free(conn->fc_buf);
	free(conn);
}

int fake_streams_create(struct m0_streams          **ret,
			const struct m0_streams_cfg *cfg)
{
	struct m0_reactor *reactor;
	int                rc = m0_tcp__host_ops.hso_reactor_create(&reactor);

	if (rc != 0)
		return rc;
	rc = m0_tcp__host_ops.hso_streams_create(ret, reactor, cfg);
	if (rc != 0)
		reactor->rtr_ops->rtro_destroy(reactor);
	return rc;
}

void fake_streams_destroy(struct m0_streams *io)
{
	struct m0_reactor *reactor = io->sts_reactor;

	io->sts_ops->sto_destroy(io);
	reactor->rtr_ops->rtro_destroy(reactor);
}

void fake_open(const char *addr, const struct m0_streams_cfg *cfg)
{
	static const struct m0_streams_cfg none;

	fake_pattern_fill(pattern);
	M0_SET0(&fake);
	fake.fs_model.fc_status = FAKE_OPEN;
	fake.fs_model.fc_in_seg = 1 << 20;
	fake.fs_model.fc_in_segs = 1;
	fake.fs_model.fc_in_max = SIZE_MAX;
	fake.fs_model.fc_hangup_at = SIZE_MAX;
	fake.fs_model.fc_out_seg = 1 << 20;
	assert_int_equal(
		fake_streams_create(&fake.fs_io, cfg != NULL ? cfg : &none), 0);
	fake.fs_reactor = fake.fs_io->sts_reactor;
	fake.fs_io->sts_owner = &fake;
	fake.fs_io->sts_up = &fake_up;
	fake.fs_listener.slr_addr = fake_addr(addr, 0);
	assert_int_equal(fake.fs_io->sts_ops->sto_listen(
				 fake.fs_io, &fake.fs_listener, fake.fs_why),
			 0);
}

void fake_close(void)
{
	unsigned i;

	fake_streams_destroy(fake.fs_io);
	for (i = 0; i < fake.fs_accepted_nr; ++i)
		fake_free(fake.fs_accepted[i]);
}

void fake_congestion(const struct m0_sock_conn *conn, char name[16])
{
	struct m0_tcp_stream *stream =
		conn == NULL ? NULL : m0_tcp__stream(conn->fc_stream);
	socklen_t len = 16;
	int       fd = stream == NULL ? socket(AF_INET, SOCK_STREAM, 0)
				      : stream->tcs_fd.lof_fd;

	memset(name, 0, 16);
	assert_int_equal(
		getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
	if (stream == NULL)
		close(fd);
}

static void hangup(struct m0_sock_conn *conn, bool reset)
{
	conn->fc_status = -ECANCELED;
	fake.fs_io->sts_ops->sto_hangup(fake.fs_io, conn->fc_stream, reset);
}

void fake_hangup(struct m0_sock_conn *conn)
{
	hangup(conn, true);
}

void fake_end(struct m0_sock_conn *conn)
{
	hangup(conn, false);
}

struct m0_sock_conn *fake_dial(void)
{
	struct m0_sock_conn      *conn = fake_conn();
	const struct m0_host_addr from = fake.fs_listener.slr_addr;

	assert_int_equal(
		fake.fs_io->sts_ops->sto_dial(fake.fs_io, conn, &from, 0, 0,
					      &fake.fs_listener.slr_addr,
					      &conn->fc_stream, fake.fs_why),
		0);
	conn->fc_stream->stm_counts = &conn->fc_counts;
	return conn;
}

struct m0_sock_conn *fake_pair(struct m0_sock_conn **ret_accepted)
{
	unsigned             before = fake.fs_accepted_nr;
	struct m0_sock_conn *conn = fake_dial();

	fake_until(conn->fc_is_dialled && fake.fs_accepted_nr > before);
	*ret_accepted = fake.fs_accepted[before];
	assert_int_equal((*ret_accepted)->fc_status, FAKE_OPEN);
	assert_int_equal(conn->fc_local.sa_port,
			 (*ret_accepted)->fc_remote.sa_port);
	return conn;
}

void fake_send(struct m0_sock_conn *conn, size_t nr)
{
	conn->fc_out_all += nr;
	fake.fs_io->sts_ops->sto_out(fake.fs_io, conn->fc_stream);
}

void fake_in_max(struct m0_sock_conn *conn, size_t max)
{
	conn->fc_in_max = max;
	fake.fs_io->sts_ops->sto_in(fake.fs_io, conn->fc_stream);
}

bool fake_step(void)
{
	bool more = m0_reactor_pass(fake.fs_reactor, m0_time_now());

	m0_reactor_flush(fake.fs_reactor);
	return more;
}

void fake_sleep(void)
{
	if (!fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor))
		fake.fs_reactor->rtr_ops->rtro_sleep(
			fake.fs_reactor,
			m0_time_from_now(0, 10 * (long)M0_TIME_ONE_MSEC));
}

/* -- calls up --------------------------------------------------------------- */

static void *fake_accepted(void *owner, struct m0_stream_listener *listener,
			   const struct m0_host_addr *local,
			   const struct m0_host_addr *remote,
			   struct m0_stream          *stream)
{
	struct m0_sock      *sock = owner;
	struct m0_sock_conn *conn;

	assert_true(listener == &sock->fs_listener ||
		    listener == sock->fs_other);
	if (sock->fs_refuses || sock->fs_accepted_nr == FAKE_CONNS_MAX) {
		++sock->fs_refused_nr;
		return NULL;
	}
	conn = fake_conn();
	conn->fc_stream = stream;
	stream->stm_counts = &conn->fc_counts;
	conn->fc_local = *local;
	conn->fc_remote = *remote;
	sock->fs_accepted[sock->fs_accepted_nr++] = conn;
	return conn;
}

static void fake_dialled(void *user, const struct m0_host_addr *local)
{
	struct m0_sock_conn *conn = user;

	assert_false(conn->fc_is_dialled);
	conn->fc_is_dialled = true;
	conn->fc_local = *local;
}

static void fake_broken(void *user, int status)
{
	struct m0_sock_conn *conn = user;

	assert_int_equal(conn->fc_status, FAKE_OPEN);
	conn->fc_status = status;
	++conn->fc_broken_nr;
	if (conn->fc_other != NULL)
		conn->fc_other_in = conn->fc_other->fc_in;
}

static unsigned fake_in_where(void *user, struct iovec *iov, unsigned max,
			      size_t *ret_ahead)
{
	struct m0_sock_conn *conn = user;
	size_t               left = conn->fc_in_max - conn->fc_in;
	size_t               at = 0;
	unsigned             nr = 0;

	assert_int_equal(conn->fc_status, FAKE_OPEN);
	assert_true(max >= 1);
	++conn->fc_where_nr;
	*ret_ahead = 0;
	for (; nr < conn->fc_in_segs && nr < max && left > 0; ++nr) {
		iov[nr].iov_base = conn->fc_buf + at;
		iov[nr].iov_len = min64u(left, conn->fc_in_seg);
		at += iov[nr].iov_len;
		left -= iov[nr].iov_len;
		assert_true(at <= FAKE_BUF_BYTES);
	}
	if (nr > 0)
		*ret_ahead = conn->fc_ahead;
	return nr;
}

/* Takes bytes; hangs up if that was asked for. */
static int fake_take(struct m0_sock_conn *conn, const uint8_t *bytes, size_t nr)
{
	struct m0_sock_conn *victim = conn->fc_victim != NULL ? conn->fc_victim
							      : conn;

	assert_int_equal(conn->fc_status, FAKE_OPEN);
	assert_true(nr > 0 && nr <= conn->fc_in_max - conn->fc_in);
	assert_memory_equal(bytes, pattern + conn->fc_in % FAKE_PERIOD, nr);
	conn->fc_in += nr;
	if (conn->fc_in < conn->fc_hangup_at)
		return 0;
	conn->fc_hangup_at = SIZE_MAX;
	fake_hangup(victim);
	return victim == conn ? -1 : 0;
}

static int fake_in_arrived(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;

	if (conn->fc_again_nr > 0) {
		--conn->fc_again_nr;
		return (int)nr;
	}
	conn->fc_direct += nr;
	return fake_take(conn, conn->fc_buf, nr);
}

static ssize_t fake_in_bytes(void *user, const void *bytes, size_t nr)
{
	struct m0_sock_conn *conn = user;
	size_t               taken = min64u(nr, conn->fc_in_max - conn->fc_in);

	conn->fc_copied += taken;
	if (taken > 0 && fake_take(conn, bytes, taken) < 0)
		return -1;
	return (ssize_t)taken;
}

static unsigned fake_out_what(void *user, struct iovec *iov, unsigned max)
{
	struct m0_sock_conn *conn = user;
	size_t               at = conn->fc_out + conn->fc_passed;
	unsigned             nr;

	assert_int_equal(conn->fc_status, FAKE_OPEN);
	assert_false(conn->fc_out_is_lent);
	for (nr = 0; nr < max && at < conn->fc_out_all; ++nr) {
		iov[nr].iov_base = out_from(at);
		iov[nr].iov_len =
			min64u(conn->fc_out_all - at, conn->fc_out_seg);
		at += iov[nr].iov_len;
	}
	return nr;
}

static int fake_out_left(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;

	assert_int_equal(conn->fc_status, FAKE_OPEN);
	assert_false(conn->fc_out_is_lent);
	conn->fc_out += nr;
	conn->fc_passed -= min64u(nr, conn->fc_passed);
	conn->fc_out_most = max64u(conn->fc_out_most, nr);
	assert_true(conn->fc_out <= conn->fc_out_all);
	if (conn->fc_out_more > 0) {
		nr = conn->fc_out_more;
		conn->fc_out_more = 0;
		fake_send(conn, nr);
	}
	return 0;
}

static void fake_out_passed(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;

	assert_int_equal(conn->fc_status, FAKE_OPEN);
	conn->fc_passed += nr;
	assert_true(conn->fc_out + conn->fc_passed <= conn->fc_out_all);
}

static bool fake_in_lend(void *user)
{
	struct m0_sock_conn *conn = user;

	conn->fc_in_lent_nr += conn->fc_lends;
	return conn->fc_lends;
}

static void fake_out_lend(void *user, bool lends)
{
	struct m0_sock_conn *conn = user;

	assert_true(lends != conn->fc_out_is_lent);
	conn->fc_out_is_lent = lends;
}

static const struct m0_streams_up fake_up = {
	.stu_accepted = fake_accepted,
	.stu_dialled = fake_dialled,
	.stu_broken = fake_broken,
	.stu_in_where = fake_in_where,
	.stu_in_arrived = fake_in_arrived,
	.stu_in_bytes = fake_in_bytes,
	.stu_out_what = fake_out_what,
	.stu_out_left = fake_out_left,
	.stu_out_passed = fake_out_passed,
	.stu_in_lend = fake_in_lend,
	.stu_out_lend = fake_out_lend,
};
