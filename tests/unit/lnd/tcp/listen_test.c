/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnd/tcp/fake_sock.h"

#include "sim/sched/heap.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* A client of the machine's own: connects, and says nothing. */
static int client(const char *addr)
{
	struct m0_host_addr to =
		fake_addr(addr, fake.fs_listener.slr_addr.sa_port);
	struct sockaddr_storage sa;
	socklen_t               len = m0_host_addr_to(&to, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

/* Many come at once: a pass takes a bounded part of them, then all are in. */
static void listen_storm_is_taken_in_turns(void **state)
{
	enum {
		STORM = 200
	};
	int      fds[STORM];
	unsigned before;
	unsigned passes_nr = 0;
	int      i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	for (i = 0; i < STORM; ++i)
		fds[i] = client("127.0.0.1");
	while (fake.fs_accepted_nr < STORM) {
		before = fake.fs_accepted_nr;
		(void)fake_step();
		assert_true(fake.fs_accepted_nr - before <= M0_TCP_ACCEPTS_MAX);
		assert_true(++passes_nr < 10 * STORM);
	}
	assert_true(passes_nr >= STORM / M0_TCP_ACCEPTS_MAX);
	for (i = 0; i < STORM; ++i)
		assert_int_equal(close(fds[i]), 0);
	for (i = 0; i < STORM; ++i)
		fake_until(fake.fs_accepted[i]->fc_status == 0);
	fake_close();
}

/* A caller that is not wanted sees the end of the stream. */
static void listen_refused_caller_sees_end(void **state)
{
	char byte;
	int  fd;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fake.fs_refuses = true;
	fd = client("127.0.0.1");
	fake_until(fake.fs_refused_nr == 1);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	assert_int_equal(close(fd), 0);
	fake_close();
}

/* Both ends of an accepted connection are told, for any address as well. */
static void listen_tells_local_and_remote(void **state)
{
	static const char *const at[] = { "127.0.0.1", "0.0.0.0", "::1", "::" };
	static const char *const by[] = { "127.0.0.1", "127.0.0.1", "::1",
					  "::1" };
	struct sockaddr_storage  sa;
	struct m0_host_addr      own;
	struct m0_sock_conn     *conn;
	socklen_t                len;
	size_t                   i;
	int                      fd;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(at); ++i) {
		fake_open(at[i], NULL);
		fd = client(by[i]);
		fake_until(fake.fs_accepted_nr == 1);
		conn = fake.fs_accepted[0];
		len = sizeof sa;
		assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len),
				 0);
		assert_true(m0_host_addr_from((struct sockaddr *)&sa, &own));
		assert_memory_equal(&conn->fc_remote, &own, sizeof own);
		own = fake_addr(by[i], fake.fs_listener.slr_addr.sa_port);
		assert_memory_equal(&conn->fc_local, &own, sizeof own);
		assert_int_equal(close(fd), 0);
		fake_close();
	}
}

/* One port at two addresses; not twice at one. */
static void listen_address_is_used_once(void **state)
{
	struct m0_stream_listener second;
	char                      why[M0_LND_WHY_BYTES];

	(void)state;
	fake_open("127.0.0.1", NULL);
	second.slr_addr = fake.fs_listener.slr_addr;
	assert_int_equal(m0_tcp__listen(fake.fs_io, &second, why), -EADDRINUSE);
	assert_non_null(strstr(why, "EADDRINUSE"));
	second.slr_addr.sa_bytes[3] = 2;
	assert_int_equal(m0_tcp__listen(fake.fs_io, &second, why), 0);
	m0_tcp__unlisten(fake.fs_io, &second);
	second.slr_addr = fake_addr("::1", second.slr_addr.sa_port);
	assert_int_equal(m0_tcp__listen(fake.fs_io, &second, why), 0);
	fake_close();
}

/* After the last socket there is a pause; who waits is taken after it. */
static void listen_without_sockets_pauses(void **state)
{
	struct rlimit limit;
	struct rlimit low;
	int           fds[2];
	int           top;

	(void)state;
	fake_open("127.0.0.1", NULL);
	m0_log_level_set(M0_LOG_ERROR);
	fds[0] = client("127.0.0.1");
	fds[1] = client("127.0.0.1");
	/* The next descriptor to be given is above the limit. */
	top = dup(fds[0]);
	assert_true(top >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)top;
	assert_int_equal(close(top), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	fake_until(m0_tcp__io(fake.fs_io)->tci_pause_until != 0);
	assert_int_equal(fake.fs_accepted_nr, 0);
	/* The reactor does not spin meanwhile. */
	assert_false(m0_reactor_pass(fake.fs_reactor, 1));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	fake_until(fake.fs_accepted_nr == 2);
	assert_int_equal(m0_tcp__io(fake.fs_io)->tci_pause_ns, 0);
	m0_log_level_set(M0_LOG_WARN);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
	fake_close();
}

static int open_and_close(void *arg)
{
	struct m0_streams_cfg     cfg = {};
	struct m0_stream_listener listener = { .slr_addr = fake_addr(
						       "127.0.0.1", 0) };
	struct m0_streams        *io;
	char                      why[M0_LND_WHY_BYTES];
	int                       rc;

	(void)arg;
	rc = fake_streams_create(&io, &cfg);
	if (rc != 0)
		return rc;
	rc = m0_tcp__listen(io, &listener, why);
	fake_streams_destroy(io);
	return rc;
}

/* Creation and listening leave nothing behind, whichever allocation fails. */
static void listen_without_memory_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(m0_heap_fail_each(open_and_close, NULL), 4);
}

/* A caller for which there is no memory sees the end; the next one is taken. */
static void listen_caller_without_memory_sees_end(void **state)
{
	struct m0_heap heap;
	char           byte;
	int            fds[2];

	(void)state;
	fake_open("127.0.0.1", NULL);
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 1);
	fds[0] = client("127.0.0.1");
	fake_until(m0_heap_failed_nr(&heap) == 1);
	assert_int_equal(recv(fds[0], &byte, 1, 0), 0);
	m0_heap_fini(&heap);
	fds[1] = client("127.0.0.1");
	fake_until(fake.fs_accepted_nr == 1);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
	fake_close();
}

/* A listener that is gone takes nobody, though somebody waited. */
static void listen_ended_takes_nobody(void **state)
{
	char byte;
	int  fd;
	int  i;

	(void)state;
	fake_open("127.0.0.1", NULL);
	fd = client("127.0.0.1");
	m0_tcp__unlisten(fake.fs_io, &fake.fs_listener);
	for (i = 0; i < 20; ++i)
		(void)fake_step();
	assert_int_equal(fake.fs_accepted_nr, 0);
	/* A caller that waited sees the end of the stream, not a reset. */
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	assert_int_equal(close(fd), 0);
	fake_close();
}

/* Opens a socket that listens at a port of the system's choice. */
static int handed_open(const char *addr, uint16_t *port)
{
	struct m0_host_addr     at = fake_addr(addr, 0);
	struct sockaddr_storage sa;
	socklen_t               len = m0_host_addr_to(&at, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(m0_tcp__addr_bound(fd, &at), 0);
	*port = at.sa_port;
	return fd;
}

/* Listens at that port with the sockets of `cfg`, and accepts one that comes. */
static void handed_accepts(const struct m0_streams_cfg *cfg, uint16_t port,
			   int fd)
{
	fake_open("127.0.0.1", cfg);
	m0_tcp__unlisten(fake.fs_io, &fake.fs_listener);
	fake.fs_listener.slr_addr = fake_addr("127.0.0.1", port);
	assert_int_equal(
		m0_tcp__listen(fake.fs_io, &fake.fs_listener, fake.fs_why), 0);
	if (fd < 0)
		fd = client("127.0.0.1");
	fake_until(fake.fs_accepted_nr == 1);
	assert_int_equal(close(fd), 0);
	fake_until(fake.fs_accepted[0]->fc_status == 0);
}

/* A socket that was handed over is used, and who waits there waits for the next one. */
static void listen_handed_socket_outlives_us(void **state)
{
	struct m0_streams_cfg cfg = { .sic_listen_fds_nr = 2 };
	uint16_t              port;
	uint16_t              other;
	int                   fd;

	(void)state;
	cfg.sic_listen_fds[0] = handed_open("127.0.0.2", &other);
	cfg.sic_listen_fds[1] = handed_open("127.0.0.1", &port);
	handed_accepts(&cfg, port, -1);
	fd = client("127.0.0.1");
	fake_close();
	handed_accepts(&cfg, port, fd);
	fake_close();
	/* The sockets are still the caller's. */
	assert_int_equal(close(cfg.sic_listen_fds[0]), 0);
	assert_int_equal(close(cfg.sic_listen_fds[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listen_storm_is_taken_in_turns),
		cmocka_unit_test(listen_refused_caller_sees_end),
		cmocka_unit_test(listen_tells_local_and_remote),
		cmocka_unit_test(listen_address_is_used_once),
		cmocka_unit_test(listen_without_sockets_pauses),
		cmocka_unit_test(listen_without_memory_leaves_nothing),
		cmocka_unit_test(listen_caller_without_memory_sees_end),
		cmocka_unit_test(listen_ended_takes_nobody),
		cmocka_unit_test(listen_handed_socket_outlives_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
