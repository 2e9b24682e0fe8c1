/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Processes that send what no client sends: they alone suffer.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach_fix.h"

static int raw_connect(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(sa.sun_path, fix.fx_path, sizeof sa.sun_path);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	return fd;
}

/* The next message; 0: the server has hung up. */
static int raw_get(int fd, struct m0_attach_in *in)
{
	struct pollfd poller = { fd, POLLIN, 0 };
	int           rc;

	assert_int_equal(poll(&poller, 1, 5000), 1);
	rc = m0_attach__recv(fd, in, MSG_DONTWAIT);
	/* Something of ours was not read. */
	if (rc == -ECONNRESET)
		rc = m0_attach__recv(fd, in, MSG_DONTWAIT);
	assert_true(rc >= 0);
	return rc;
}

/* The process gets a reason, and the server hangs up. */
static void is_refused(int fd, enum m0_attach_type type, int rc,
		       const char *word)
{
	struct m0_attach_in in;

	assert_int_equal(raw_get(fd, &in), 1);
	assert_int_equal(in.aim_u.amg_head.ahd_type, type);
	assert_int_equal(in.aim_u.amg_word.awd_rc, rc);
	if (strstr(in.aim_u.amg_word.awd_why, word) == NULL)
		fail_msg("'%s' is not in '%s'", word,
			 in.aim_u.amg_word.awd_why);
	assert_int_equal(raw_get(fd, &in), 0);
	(void)close(fd);
}

static void hello_fill(struct m0_attach_hello *hello)
{
	memset(hello, 0, sizeof *hello);
	m0_attach__head(&hello->ahl_head, M0_ATTACH_HELLO, sizeof *hello);
}

/* Sends what was made of a HELLO. */
static void hello_refused(const struct m0_attach_hello *hello, size_t bytes,
			  int rc, const char *word)
{
	int fd = raw_connect();

	assert_int_equal(send(fd, hello, bytes, MSG_NOSIGNAL), bytes);
	is_refused(fd, M0_ATTACH_REFUSE, rc, word);
}

static void garbage_is_refused(void **state)
{
	struct m0_attach_hello hello;
	struct m0_attach_in    in;
	int                    fd;

	(void)state;
	hello_fill(&hello);
	hello_refused(&hello, 1, -EPROTO, "1 bytes");
	hello_refused(&hello, sizeof hello - 8, -EPROTO, "120 bytes");
	hello.ahl_head.ahd_bytes = 64;
	hello_refused(&hello, sizeof hello, -EPROTO, "says 64");
	hello_fill(&hello);
	hello.ahl_head.ahd_magic ^= 1;
	hello_refused(&hello, sizeof hello, -EPROTO, "no message");
	hello_fill(&hello);
	hello.ahl_head.ahd_version = 1;
	hello_refused(&hello, sizeof hello, -EPROTONOSUPPORT,
		      "version 1 of the protocol: 2 is accepted");
	hello_fill(&hello);
	hello.ahl_head.ahd_type = 0;
	hello_refused(&hello, sizeof hello, -EPROTO, "type 0");
	hello.ahl_head.ahd_type = M0_ATTACH_ENDED + 1;
	hello_refused(&hello, sizeof hello, -EPROTO, "type 7");
	hello_fill(&hello);
	hello.ahl_head.ahd_reserved = 1;
	hello_refused(&hello, sizeof hello, -EPROTO, "reserved");
	hello_fill(&hello);
	hello.ahl_reserved[63] = 1;
	hello_refused(&hello, sizeof hello, -EPROTO, "reserved");
	/* Nothing but its end. */
	fd = raw_connect();
	assert_int_equal(send(fd, "", 0, MSG_NOSIGNAL), 0);
	assert_int_equal(raw_get(fd, &in), 0);
	(void)close(fd);
	fix_all_gone();
}

static void long_message_is_refused(void **state)
{
	union {
		struct m0_attach_hello u_hello;
		char                   u_bytes[4096];
	} msg;
	int fd = raw_connect();

	(void)state;
	memset(&msg, 0, sizeof msg);
	hello_fill(&msg.u_hello);
	assert_int_equal(send(fd, &msg, sizeof msg, MSG_NOSIGNAL), sizeof msg);
	is_refused(fd, M0_ATTACH_REFUSE, -EPROTO, "256 bytes");
	fix_all_gone();
}

/* Descriptors that nobody asked for are closed. */
static void descriptors_are_closed(void **state)
{
	static const unsigned  numbers[] = { 1, 3, 4 };
	const int              fds[M0_ATTACH_FDS_MAX] = { 0, 0, 0, 0 };
	struct m0_attach_hello hello;
	unsigned               i;
	int                    fd;

	(void)state;
	hello_fill(&hello);
	for (i = 0; i < ARRAY_SIZE(numbers); ++i) {
		fd = raw_connect();
		assert_int_equal(m0_attach__send(fd, &hello.ahl_head, fds,
						 numbers[i], 0),
				 0);
		is_refused(fd, M0_ATTACH_REFUSE, -EPROTO, "descriptors");
		fix_all_gone();
	}
}

/* More than the receiver has room for. */
static void many_descriptors_are_closed(void **state)
{
	enum {
		FDS_NR = 100
	};
	union {
		char           u_bytes[CMSG_SPACE(sizeof(int) * FDS_NR)];
		struct cmsghdr u_align;
	} room = { { 0 } };
	struct m0_attach_hello hello;
	struct iovec           iov = { &hello, sizeof hello };
	struct msghdr          msg = { .msg_iov = &iov,
				       .msg_iovlen = 1,
				       .msg_control = room.u_bytes,
				       .msg_controllen = sizeof room.u_bytes };
	struct cmsghdr        *cmsg = CMSG_FIRSTHDR(&msg);
	int                    fd = raw_connect();

	(void)state;
	hello_fill(&hello);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	/* All of them are 0, standard input. */
	cmsg->cmsg_len = CMSG_LEN(sizeof(int) * FDS_NR);
	assert_int_equal(sendmsg(fd, &msg, MSG_NOSIGNAL), sizeof hello);
	is_refused(fd, M0_ATTACH_REFUSE, -EPROTO, "4 or more descriptors");
	fix_all_gone();
}

static void messages_out_of_turn_end_it(void **state)
{
	struct m0_attach_hello  hello;
	struct m0_attach_region region;
	struct m0_attach_in     in;
	int                     zero = 0;
	int                     fd = raw_connect();

	(void)state;
	memset(&region, 0, sizeof region);
	m0_attach__head(&region.aer_head, M0_ATTACH_REGION, sizeof region);
	assert_int_equal(m0_attach__send(fd, &region.aer_head, &zero, 1, 0), 0);
	is_refused(fd, M0_ATTACH_REFUSE, -EPROTO, "HELLO is accepted");
	fd = raw_connect();
	hello_fill(&hello);
	assert_int_equal(m0_attach__send(fd, &hello.ahl_head, NULL, 0, 0), 0);
	assert_int_equal(raw_get(fd, &in), 1);
	assert_int_equal(in.aim_u.amg_head.ahd_type, M0_ATTACH_WELCOME);
	m0_attach__drop(&in);
	assert_int_equal(m0_attach__send(fd, &hello.ahl_head, NULL, 0, 0), 0);
	is_refused(fd, M0_ATTACH_ENDED, -EPROTO, "REGION is accepted");
	fix_all_gone();
}

/* The area has its seals: neither side can change its size, or seal it further. */
static void area_is_sealed(void **state)
{
	struct m0_attach_hello hello;
	struct m0_attach_in    in;
	int                    fd = raw_connect();

	(void)state;
	hello_fill(&hello);
	assert_int_equal(m0_attach__send(fd, &hello.ahl_head, NULL, 0, 0), 0);
	assert_int_equal(raw_get(fd, &in), 1);
	assert_int_equal(in.aim_fds_nr, 3);
	assert_int_equal(fcntl(in.aim_fds[0], F_GET_SEALS) &
				 (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL |
				  F_SEAL_WRITE),
			 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	assert_int_equal(ftruncate(in.aim_fds[0], 0), -1);
	assert_int_equal(ftruncate(in.aim_fds[0], 1 << 30), -1);
	assert_true(fcntl(in.aim_fds[0], F_GETFD) & FD_CLOEXEC);
	m0_attach__drop(&in);
	(void)close(fd);
	fix_all_gone();
}

/* A process that takes no answers ends; another one does not notice. */
static void flood_ends(void **state)
{
	struct m0_attach_region region;
	struct fix_proc         proc;
	int                     rc;

	(void)state;
	assert_int_equal(fix_attach(&proc), 0);
	memset(&region, 0, sizeof region);
	m0_attach__head(&region.aer_head, M0_ATTACH_REGION, sizeof region);
	do {
		rc = m0_attach__send(proc.fp_att.att_sock, &region.aer_head,
				     &proc.fp_region_fd, 1, 0);
	} while (rc == 0);
	assert_true(M0_IN(rc, (-EPIPE, -ECONNRESET, -ETOOMANYREFS)));
	while (!m0_attach_is_dead(&proc.fp_att))
		(void)m0_nanosleep(1 * M0_TIME_ONE_MSEC, NULL);
	fix_detach(&proc);
	fix_all_gone();
}

/* A PUT of a process that says that it sleeps, and never takes what wakes it. */
static void move_asleep(struct fix_proc *proc)
{
	struct m0_shared_side  *side = &proc->fp_att.att_side;
	struct m0_shared_report rep;
	m0_time_t               until = fix_soon();

	__atomic_store_n(side->shs_sleeps, M0_SHARED_ENTRIES | M0_SHARED_ROOM,
			 __ATOMIC_SEQ_CST);
	assert_true(fix_move(proc, 50, 1, 0));
	while (m0_shared_report_get(side, &rep, NULL) == 0)
		assert_true(m0_time_now() < until);
	m0_shared_release(side, 1, 0);
	m0_shared_unclaim(side, 3);
}

/*
 * A process makes all that it shares with the daemon block, and fills it. The daemon serves
 * others, and ends it when it goes.
 */
static void nothing_blocks_the_daemon(void **state)
{
	static const uint64_t   most = UINT64_MAX - 1;
	struct fix_proc         hostile;
	struct fix_proc         honest;
	struct m0_shared_report rep;
	uint64_t                value;
	unsigned                i;

	(void)state;
	assert_int_equal(fix_attach(&hostile), 0);
	assert_int_equal(fix_attach(&honest), 0);
	assert_int_equal(fcntl(hostile.fp_att.att_server_bell, F_SETFL, 0), 0);
	assert_int_equal(fcntl(hostile.fp_att.att_bell, F_SETFL, 0), 0);
	assert_int_equal(fcntl(hostile.fp_att.att_sock, F_SETFL, 0), 0);
	for (i = 0; i < 1000; ++i)
		move_asleep(&hostile);
	/* Empty, then full: whether read or written, it blocks. */
	(void)!read(hostile.fp_att.att_server_bell, &value, sizeof value);
	(void)m0_nanosleep(10 * M0_TIME_ONE_MSEC, NULL);
	assert_int_equal(write(hostile.fp_att.att_server_bell, &most,
			       sizeof most),
			 sizeof most);
	for (i = 0; i < 100; ++i) {
		assert_true(fix_move(&honest, 50, 1, 0));
		assert_true(fix_get(&honest, &rep));
		m0_shared_unclaim(&honest.fp_att.att_side, 3);
	}
	fix_detach(&honest);
	fix_detach(&hostile);
	fix_all_gone();
}

/* A process that connects and sends nothing is refused after a while. */
static void silence_ends(void **state)
{
	struct fix_proc     proc;
	struct m0_attach_in in;
	int                 fd = raw_connect();
	struct pollfd       poller = { fd, POLLIN, 0 };

	(void)state;
	assert_int_equal(fix_attach(&proc), 0);
	fix_detach(&proc);
	assert_int_equal(poll(&poller, 1, 10000), 1);
	assert_int_equal(raw_get(fd, &in), 1);
	assert_int_equal(in.aim_u.amg_word.awd_rc, -ETIMEDOUT);
	(void)close(fd);
	fix_all_gone();
}

/* While no descriptor is left nobody is accepted, and then those who wait are. */
static void want_of_descriptors_passes(void **state)
{
	struct sockaddr_un     sa = { .sun_family = AF_UNIX };
	struct m0_attach_hello hello;
	struct m0_attach_in    in;
	struct rlimit          limit;
	struct rlimit          none;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	/* The lowest free number was taken. */
	none.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	memcpy(sa.sun_path, fix.fx_path, sizeof sa.sun_path);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	hello_fill(&hello);
	assert_int_equal(m0_attach__send(fd, &hello.ahl_head, NULL, 0, 0), 0);
	(void)m0_nanosleep(250 * M0_TIME_ONE_MSEC, NULL);
	assert_int_equal(m0_attach__recv(fd, &in, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(raw_get(fd, &in), 1);
	assert_int_equal(in.aim_u.amg_head.ahd_type, M0_ATTACH_WELCOME);
	m0_attach__drop(&in);
	(void)close(fd);
	fix_all_gone();
}

int fix_hostile(void)
{
#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, fix_setup, fix_teardown)
	const struct CMUnitTest cases[] = {
		CASE(garbage_is_refused),
		CASE(long_message_is_refused),
		CASE(descriptors_are_closed),
		CASE(many_descriptors_are_closed),
		CASE(messages_out_of_turn_end_it),
		CASE(area_is_sealed),
		CASE(flood_ends),
		CASE(nothing_blocks_the_daemon),
		CASE(silence_ends),
		CASE(want_of_descriptors_passes),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
