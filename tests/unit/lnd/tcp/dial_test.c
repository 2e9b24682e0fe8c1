/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnd/tcp/fake_sock.h"

#include "sim/sched/heap.h"

#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* A range of unprivileged ports that nobody else is likely to use. */
enum {
	PORT_MIN = 18211,
	PORT_MAX = 18214
};

static int dial(struct m0_sock_conn *conn, const struct m0_host_addr *from,
		uint16_t port_min, uint16_t port_max,
		const struct m0_host_addr *to)
{
	int rc = fake.fs_io->sts_ops->sto_dial(fake.fs_io, conn, from, port_min,
					       port_max, to, &conn->fc_stream,
					       fake.fs_why);

	if (rc == 0)
		conn->fc_stream->stm_counts = &conn->fc_counts;
	return rc;
}

static int dial_self(struct m0_sock_conn *conn, uint16_t port_min,
		     uint16_t port_max)
{
	struct m0_host_addr from = fake.fs_listener.slr_addr;

	return dial(conn, &from, port_min, port_max,
		    &fake.fs_listener.slr_addr);
}

/* Ports are taken from the top; the next dial goes on where one left off. */
static void dial_ports_go_downward(void **state)
{
	struct m0_sock_conn *conn[3];
	int                  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	for (i = 0; i < 3; ++i) {
		conn[i] = fake_conn();
		assert_int_equal(dial_self(conn[i], PORT_MIN, PORT_MAX), 0);
		fake_until(conn[i]->fc_is_dialled);
		assert_int_equal(conn[i]->fc_local.sa_port, PORT_MAX - i);
	}
	fake_close();
	for (i = 0; i < 3; ++i)
		fake_free(conn[i]);
}

/* When all are taken, that is said; a port that is free again is found. */
static void dial_exhausted_range_is_eaddrinuse(void **state)
{
	struct m0_sock_conn *conn[5];
	int                  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	for (i = 0; i < 5; ++i)
		conn[i] = fake_conn();
	for (i = 0; i < 4; ++i)
		assert_int_equal(dial_self(conn[i], PORT_MIN, PORT_MAX), 0);
	assert_int_equal(dial_self(conn[4], PORT_MIN, PORT_MAX), -EADDRINUSE);
	assert_non_null(strstr(fake.fs_why, "18211-18214"));
	assert_non_null(strstr(fake.fs_why, "EADDRINUSE"));
	fake_until(conn[2]->fc_is_dialled && fake.fs_accepted_nr == 4);
	fake_hangup(conn[2]);
	fake_until(fake.fs_accepted[2]->fc_status != FAKE_OPEN);
	assert_int_equal(dial_self(conn[4], PORT_MIN, PORT_MAX), 0);
	fake_until(conn[4]->fc_is_dialled);
	assert_int_equal(conn[4]->fc_local.sa_port, PORT_MAX - 2);
	fake_close();
	for (i = 0; i < 5; ++i)
		fake_free(conn[i]);
}

/* One source port serves two peers. */
static void dial_port_is_shared_by_peers(void **state)
{
	struct m0_stream_listener other = { .slr_addr =
						    fake_addr("127.0.0.1", 0) };
	struct m0_sock_conn      *conn[2];
	struct m0_host_addr       from = fake_addr("127.0.0.1", 0);

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn[0] = fake_conn();
	conn[1] = fake_conn();
	assert_int_equal(m0_tcp__listen(fake.fs_io, &other, fake.fs_why), 0);
	fake.fs_other = &other;
	assert_int_equal(dial_self(conn[0], PORT_MAX, PORT_MAX), 0);
	assert_int_equal(
		dial(conn[1], &from, PORT_MAX, PORT_MAX, &other.slr_addr), 0);
	fake_until(conn[0]->fc_is_dialled && conn[1]->fc_is_dialled);
	assert_int_equal(conn[1]->fc_local.sa_port, PORT_MAX);
	fake_close();
	fake_free(conn[0]);
	fake_free(conn[1]);
}

/* The port that peers listen on is not used to connect from. */
static void dial_skips_port_of_listeners(void **state)
{
	struct m0_host_addr  from = fake_addr("127.0.0.1", 0);
	struct m0_host_addr  to = fake_addr("127.0.0.1", PORT_MAX);
	struct m0_sock_conn *conn;

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn = fake_conn();
	assert_int_equal(dial(conn, &from, PORT_MIN, PORT_MAX, &to), 0);
	fake_until(conn->fc_status != FAKE_OPEN);
	assert_int_equal(conn->fc_status, -ECONNREFUSED);
	assert_int_equal(m0_tcp__io(fake.fs_io)->tci_ports.hpo_next,
			 PORT_MAX - 2);
	fake_close();
	fake_free(conn);
}

/* A peer that accepts, ends the stream and then resets it has reset it, also if
 * all of that comes before the dial is looked at. */
static void dial_reset_after_end_is_a_reset(void **state)
{
	static const struct linger linger = { .l_onoff = 1, .l_linger = 0 };
	struct m0_host_addr        from = fake_addr("127.0.0.1", 0);
	struct m0_host_addr        to = fake_addr("127.0.0.1", 0);
	struct sockaddr_storage    sa;
	struct m0_sock_conn       *conn;
	socklen_t                  len = m0_host_addr_to(&to, &sa);
	int                        at = socket(AF_INET, SOCK_STREAM, 0);
	int                        fd;

	(void)state;
	assert_int_equal(bind(at, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(at, 1), 0);
	assert_int_equal(m0_tcp__addr_bound(at, &to), 0);
	fake_open("127.0.0.1", NULL);
	conn = fake_conn();
	assert_int_equal(dial(conn, &from, 0, 0, &to), 0);
	fd = accept(at, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
				    sizeof linger),
			 0);
	assert_int_equal(close(fd), 0);
	fake_until(conn->fc_status != FAKE_OPEN);
	assert_int_equal(conn->fc_status, -ECONNRESET);
	assert_int_equal(close(at), 0);
	fake_close();
	fake_free(conn);
}

/* A refused dial is told once, later, not by the call. */
static void dial_refused_is_broken(void **state)
{
	static const char *const addrs[] = { "127.0.0.1", "::1" };
	struct m0_sock_conn     *conn;
	struct m0_host_addr      to;
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(addrs); ++i) {
		fake_open(addrs[i], NULL);
		to = fake.fs_listener.slr_addr;
		m0_tcp__unlisten(fake.fs_io, &fake.fs_listener);
		conn = fake_conn();
		assert_int_equal(dial(conn, &to, PORT_MIN, PORT_MAX, &to), 0);
		assert_int_equal(conn->fc_status, FAKE_OPEN);
		fake_until(conn->fc_status != FAKE_OPEN);
		assert_int_equal(conn->fc_status, -ECONNREFUSED);
		assert_int_equal(conn->fc_broken_nr, 1);
		assert_false(conn->fc_is_dialled);
		fake_close();
		fake_free(conn);
	}
}

/* An address that is not ours: what ours are is said. */
static void dial_from_foreign_address_fails(void **state)
{
	struct m0_host_addr  from = fake_addr("192.0.2.77", 0);
	struct m0_sock_conn *conn;

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn = fake_conn();
	assert_int_equal(dial(conn, &from, PORT_MIN, PORT_MAX,
			      &fake.fs_listener.slr_addr),
			 -EADDRNOTAVAIL);
	assert_non_null(strstr(fake.fs_why, "127.0.0.1 (lo)"));
	assert_int_equal(dial(conn, &from, 0, 0, &fake.fs_listener.slr_addr),
			 -EADDRNOTAVAIL);
	fake_close();
	fake_free(conn);
}

/* A dial may be given up before it has ended. */
static void dial_hangup_before_end_is_silent(void **state)
{
	struct m0_sock_conn *conn;
	int                  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn = fake_dial();
	fake_hangup(conn);
	for (i = 0; i < 20; ++i)
		(void)fake_step();
	assert_false(conn->fc_is_dialled);
	assert_int_equal(conn->fc_broken_nr, 0);
	fake_close();
	fake_free(conn);
}

/* Output announced before the end of the dial leaves after it. */
static void dial_output_waits_for_end(void **state)
{
	struct m0_sock_conn *conn;

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn = fake_dial();
	fake_send(conn, 5000);
	m0_reactor_flush(fake.fs_reactor);
	assert_int_equal(conn->fc_counts.stc_writes_nr, 0);
	fake_until(fake.fs_accepted_nr == 1 &&
		   fake.fs_accepted[0]->fc_in == 5000);
	fake_close();
	fake_free(conn);
}

/* A dial without memory fails, and leaves no socket. */
static void dial_without_memory_leaves_nothing(void **state)
{
	struct m0_sock_conn *conn;
	struct m0_heap       heap;
	int                  next;

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn = fake_conn();
	next = dup(0);
	assert_int_equal(close(next), 0);
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 1);
	assert_int_equal(dial_self(conn, 0, 0), -ENOMEM);
	assert_non_null(strstr(fake.fs_why, "ENOMEM"));
	m0_heap_fini(&heap);
	assert_int_equal(dup(0), next);
	assert_int_equal(close(next), 0);
	fake_close();
	fake_free(conn);
}

/* No more files: the call fails and names the limit. */
static void dial_without_files_names_limit(void **state)
{
	struct m0_sock_conn *conn;
	struct rlimit        limit;
	struct rlimit        low;

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn = fake_conn();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)dup(0);
	assert_int_equal(close((int)low.rlim_cur), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(dial_self(conn, 0, 0), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_non_null(strstr(fake.fs_why, "ulimit -n"));
	fake_close();
	fake_free(conn);
}

static int option_of(const struct m0_sock_conn *conn, int level, int name)
{
	struct m0_tcp_stream *stream = m0_tcp__stream(conn->fc_stream);
	int                   val = -1;
	socklen_t             len = sizeof val;

	assert_int_equal(
		getsockopt(stream->tcs_fd.lof_fd, level, name, &val, &len), 0);
	return val;
}

/* Options of both ends: what is accepted has those of its listener. */
static void dial_and_accept_set_options(void **state)
{
	static const struct m0_streams_cfg cfg = { .sic_sndbuf_bytes = 50000,
						   .sic_congestion = "reno" };
	struct m0_sock_conn               *ends[2];
	char                               name[16];
	int                                i;

	(void)state;
	fake_open("127.0.0.1", &cfg);
	ends[0] = fake_pair(&ends[1]);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(option_of(ends[i], IPPROTO_TCP, TCP_NODELAY),
				 1);
		assert_int_equal(option_of(ends[i], SOL_SOCKET, SO_KEEPALIVE),
				 1);
		assert_int_equal(option_of(ends[i], IPPROTO_TCP, TCP_KEEPIDLE),
				 30);
		assert_int_equal(option_of(ends[i], IPPROTO_TCP, TCP_KEEPINTVL),
				 5);
		assert_int_equal(option_of(ends[i], IPPROTO_TCP, TCP_KEEPCNT),
				 5);
		assert_int_equal(option_of(ends[i], SOL_SOCKET, SO_SNDBUF),
				 100000);
		assert_int_equal(option_of(ends[i], IPPROTO_TCP, TCP_LINGER2),
				 -1);
		fake_congestion(ends[i], name);
		assert_string_equal(name, "reno");
	}
	fake_close();
	fake_free(ends[0]);
}

/* A stream within the host has the cheapest congestion control, unless the
 * configuration names the system's. */
static void near_has_reno_unless_asked(void **state)
{
	struct m0_streams_cfg cfg = { 0 };
	struct m0_sock_conn  *ends[2];
	char                  name[16];
	int                   i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ends[0] = fake_pair(&ends[1]);
	for (i = 0; i < 2; ++i) {
		fake_congestion(ends[i], name);
		assert_string_equal(name, "reno");
	}
	fake_close();
	fake_free(ends[0]);
	fake_congestion(NULL, cfg.sic_congestion);
	fake_open("127.0.0.1", &cfg);
	ends[0] = fake_pair(&ends[1]);
	for (i = 0; i < 2; ++i) {
		fake_congestion(ends[i], name);
		assert_string_equal(name, cfg.sic_congestion);
	}
	fake_close();
	fake_free(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dial_ports_go_downward),
		cmocka_unit_test(dial_exhausted_range_is_eaddrinuse),
		cmocka_unit_test(dial_port_is_shared_by_peers),
		cmocka_unit_test(dial_skips_port_of_listeners),
		cmocka_unit_test(dial_reset_after_end_is_a_reset),
		cmocka_unit_test(dial_refused_is_broken),
		cmocka_unit_test(dial_from_foreign_address_fails),
		cmocka_unit_test(dial_hangup_before_end_is_silent),
		cmocka_unit_test(dial_output_waits_for_end),
		cmocka_unit_test(dial_without_memory_leaves_nothing),
		cmocka_unit_test(dial_without_files_names_limit),
		cmocka_unit_test(dial_and_accept_set_options),
		cmocka_unit_test(near_has_reno_unless_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
