/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Streams between nodes of one host: bytes and offers, pauses and ends, the fall back to
 * TCP, and a hostile neighbour.
 */
#include "near_rig.h"

static void bytes_arrive_both_ways(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	ours = fake_pair(&theirs);
	assert_true(is_near(ours) && is_near(theirs));
	assert_false(ours->fc_stream->stm_fell_back);
	assert_int_equal(theirs->fc_remote.sa_port, 1023);
	assert_memory_equal(theirs->fc_remote.sa_bytes,
			    fake.fs_listener.slr_addr.sa_bytes, 4);
	fake_send(ours, 100);
	fake_send(theirs, 3 * MIB);
	fake_until(theirs->fc_in == 100 && ours->fc_in == 3 * MIB);
	assert_int_equal(theirs->fc_counts.stc_ring_bytes, 100);
	/* Large pieces were copied from where they lay, once. */
	assert_int_equal(ours->fc_counts.stc_offer_bytes, 3 * MIB);
	assert_int_equal(ours->fc_copied, 0);
	fake_until(theirs->fc_out == 3 * MIB);
	assert_int_equal(fake.fs_io->sts_ops->sto_unsent(fake.fs_io,
							 theirs->fc_stream),
			 0);
	fake_close();
	fake_free(ours);
}

static void ip6_works(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("::1", &near_cfg);
	ours = fake_pair(&theirs);
	assert_true(is_near(ours) && is_near(theirs));
	fake_close();
	fake_free(ours);
}

/* Small pieces fill the ring more than once; places are small, and bytes are read
 * ahead of them. */
static void full_ring_loses_nothing(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	fake.fs_model.fc_out_seg = 1000;
	fake.fs_model.fc_in_seg = 777;
	fake.fs_model.fc_in_segs = 5;
	fake.fs_model.fc_ahead = 60000;
	ours = fake_pair(&theirs);
	fake_in_max(theirs, 0);
	fake_send(ours, 2 * MIB);
	fake_until(ours->fc_out == M0_PIPE_RING_BYTES);
	(void)fake_step();
	assert_int_equal(fake.fs_io->sts_ops->sto_unsent(fake.fs_io,
							 ours->fc_stream),
			 M0_PIPE_RING_BYTES);
	fake_in_max(theirs, 10000);
	fake_until(theirs->fc_in == 10000);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == 2 * MIB);
	assert_int_equal(ours->fc_out, 2 * MIB);
	assert_int_equal(theirs->fc_counts.stc_offer_bytes, 0);
	fake_close();
	fake_free(ours);
}

/* Nothing else leaves until an offer is taken, so what is small goes through the ring:
 * a piece of few bytes, and pieces that are few bytes in all. */
static void only_much_is_offered(void **state)
{
	static const struct {
		size_t bytes;
		size_t seg;
		bool   is_offered;
	} sends[] = {
		{ 128 << 10, MIB, false }, { 160 << 10, 40 << 10, false },
		{ 256 << 10, MIB, true },  { 256 << 10, 64 << 10, true },
		{ MIB, 16 << 10, false },
	};
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	size_t               i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sends); ++i) {
		fake_open("127.0.0.1", &near_cfg);
		fake.fs_model.fc_out_seg = sends[i].seg;
		ours = fake_pair(&theirs);
		fake_send(theirs, sends[i].bytes);
		fake_until(ours->fc_in == sends[i].bytes);
		assert_int_equal(ours->fc_counts.stc_offer_bytes,
				 sends[i].is_offered ? sends[i].bytes : 0);
		fake_close();
		fake_free(ours);
	}
}

/* A sender is done with an offer when the reader has taken it. */
static void paused_offer_waits(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	ours = fake_pair(&theirs);
	fake_in_max(theirs, 1000);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == 1000);
	assert_int_equal(ours->fc_out, 0);
	assert_int_equal(fake.fs_io->sts_ops->sto_unsent(fake.fs_io,
							 ours->fc_stream),
			 MIB);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(ours->fc_out == MIB);
	assert_int_equal(theirs->fc_in, MIB);
	fake_close();
	fake_free(ours);
}

static void end_comes_after_the_bytes(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	ours = fake_pair(&theirs);
	fake_send(ours, 500);
	fake_until(ours->fc_out == 500);
	fake_end(ours);
	fake_until(theirs->fc_broken_nr == 1);
	assert_int_equal(theirs->fc_in, 500);
	assert_int_equal(theirs->fc_status, 0);
	fake_close();
	fake_free(ours);
}

static void ends_within_the_stream_are_told(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	int                  i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		fake_open("127.0.0.1", &near_cfg);
		ours = fake_pair(&theirs);
		fake_in_max(theirs, 1000);
		if (i == 0)
			fake_send(ours, MIB);
		fake_until(i == 1 || theirs->fc_in == 1000);
		i == 0 ? fake_end(ours) : fake_hangup(ours);
		fake_in_max(theirs, SIZE_MAX);
		fake_until(theirs->fc_broken_nr == 1);
		/* Nothing of the offer was accepted. */
		assert_int_equal(theirs->fc_status, i == 0 ? 0 : -ECONNRESET);
		assert_int_equal(theirs->fc_in, i == 0 ? 1000 : 0);
		fake_close();
		fake_free(ours);
	}
}

static void hangup_within_a_call_is_safe(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	ours = fake_pair(&theirs);
	theirs->fc_hangup_at = 1000;
	fake_send(ours, 5000);
	fake_until(ours->fc_broken_nr == 1);
	assert_int_equal(ours->fc_status, -ECONNRESET);
	fake_close();
	fake_free(ours);
}

/* A node that is awake makes no system call for what a peer sends. */
static void polling_makes_no_call(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint64_t             calls_nr;
	unsigned             i;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	ours = fake_pair(&theirs);
	(void)fake_step();
	calls_nr = ours->fc_counts.stc_writes_nr +
		   theirs->fc_counts.stc_reads_nr;
	for (i = 1; i <= 500; ++i) {
		fake_send(ours, 200);
		(void)fake_step();
		(void)fake_step();
		assert_int_equal(theirs->fc_in, i * 200);
	}
	assert_int_equal(ours->fc_counts.stc_writes_nr +
				 theirs->fc_counts.stc_reads_nr,
			 calls_nr);
	fake_close();
	fake_free(ours);
}

/* More pipes than one pass looks at: none is forgotten. */
static void many_pipes_are_looked_at_in_turns(void **state)
{
	enum {
		PAIRS = 3 * M0_NEAR_LOOKS_MAX / 2
	};
	struct m0_sock_conn *ours[PAIRS];
	struct m0_sock_conn *theirs[PAIRS];
	int                  round;
	int                  i;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	for (i = 0; i < PAIRS; ++i)
		ours[i] = fake_pair(&theirs[i]);
	assert_int_equal(m0_tcp__io(fake.fs_io)->tci_nears_nr, 2 * PAIRS);
	for (round = 1; round <= 3; ++round) {
		for (i = 0; i < PAIRS; ++i)
			fake_send(ours[i], 100);
		for (i = 0; i < PAIRS; ++i)
			fake_until(theirs[i]->fc_in == (size_t)round * 100);
	}
	fake_close();
	for (i = 0; i < PAIRS; ++i)
		fake_free(ours[i]);
}

/* -- TCP instead ----------------------------------------------------------- */

static void switch_turns_it_off(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	fake_open("127.0.0.1", NULL);
	ours = fake_pair(&theirs);
	assert_false(is_near(ours) || is_near(theirs));
	assert_false(ours->fc_stream->stm_fell_back);
	fake_close();
	fake_free(ours);
}

/* No node of this host has its Unix socket there. */
static void peer_without_it_is_dialled_over_tcp(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	struct m0_tcp_io    *io;

	(void)state;
	fake_open("127.0.0.1", NULL);
	io = m0_tcp__io(fake.fs_io);
	io->tci_cfg.sic_same_host = true;
	ours = fake_pair(&theirs);
	assert_false(is_near(ours));
	assert_true(ours->fc_stream->stm_fell_back);
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == MIB);
	fake_close();
	fake_free(ours);
}

/* Another process has the name, and answers with garbage or hangs up. */
static void wrong_answers_end_in_tcp(void **state)
{
	struct sockaddr_un   sa;
	struct m0_sock_conn *ours;
	char                 garbage[HELLO_BYTES] = "garbage";
	int                  i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int peer;

		fake_open("127.0.0.1", NULL);
		assert_int_equal(
			bind(fd, (struct sockaddr *)&sa,
			     name_of(&sa, fake.fs_listener.slr_addr.sa_port)),
			0);
		assert_int_equal(listen(fd, 1), 0);
		m0_tcp__io(fake.fs_io)->tci_cfg.sic_same_host = true;
		ours = fake_dial();
		peer = accept(fd, NULL, NULL);
		assert_true(peer >= 0);
		if (i == 0)
			assert_int_equal(send(peer, garbage, sizeof garbage, 0),
					 sizeof garbage);
		else
			(void)close(peer);
		fake_until(ours->fc_is_dialled && fake.fs_accepted_nr == 1);
		assert_false(is_near(ours));
		assert_true(ours->fc_stream->stm_fell_back);
		fake_send(ours, MIB);
		fake_until(fake.fs_accepted[0]->fc_in == MIB);
		if (i == 0)
			(void)close(peer);
		(void)close(fd);
		fake_close();
		fake_free(ours);
	}
}

/* Credentials are those of the time of listen() and connect(). */
static void user_set(uid_t uid)
{
	if (getuid() == 0)
		assert_int_equal(seteuid(uid), 0);
}

/* Another user has taken the name: nothing is sent to it. */
static void other_users_name_is_not_used(void **state)
{
	struct sockaddr_un   sa;
	struct m0_sock_conn *ours;
	char                 byte;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int peer;

	(void)state;
	if (getuid() != 0)
		skip();
	fake_open("127.0.0.1", NULL);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa,
			      name_of(&sa, fake.fs_listener.slr_addr.sa_port)),
			 0);
	user_set(NOBODY);
	assert_int_equal(listen(fd, 1), 0);
	user_set(0);
	m0_tcp__io(fake.fs_io)->tci_cfg.sic_same_host = true;
	ours = fake_dial();
	fake_until(ours->fc_is_dialled);
	assert_true(ours->fc_stream->stm_fell_back);
	peer = accept(fd, NULL, NULL);
	assert_int_equal(recv(peer, &byte, 1, 0), 0);
	(void)close(peer);
	(void)close(fd);
	fake_close();
	fake_free(ours);
}

/* The socket is a file of a directory, and no name of the network namespace. A file of a
 * process that was killed is replaced, and the file goes with the listener. */
static void directory_has_the_socket(void **state)
{
	struct m0_streams_cfg     cfg = near_cfg;
	struct m0_stream_listener other = { 0 };
	struct sockaddr_un        sa = { .sun_family = AF_UNIX };
	struct m0_sock_conn      *ours;
	struct m0_sock_conn      *theirs;
	struct stat               st;
	char                      dir[] = "/tmp/colibri-near-XXXXXX";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_non_null(mkdtemp(dir));
	strcpy(cfg.sic_same_host_dir, dir);
	fake_open("127.0.0.1", &cfg);
	ours = fake_pair(&theirs);
	assert_true(is_near(ours) && is_near(theirs));
	fake_send(ours, MIB);
	fake_until(theirs->fc_in == MIB);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&sa,
			name_of(&sa, fake.fs_listener.slr_addr.sa_port)),
		-1);
	/* One that is left over, one that is in use. */
	M0_SET0(&sa);
	sa.sun_family = AF_UNIX;
	snprintf(sa.sun_path, sizeof sa.sun_path, "%s/%u-127.0.0.1-18778", dir,
		 (unsigned)geteuid());
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	other.slr_addr = fake_addr("127.0.0.1", 18778);
	fake.fs_other = &other;
	assert_int_equal(fake.fs_io->sts_ops->sto_listen(fake.fs_io, &other,
							 fake.fs_why),
			 0);
	(void)close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	(void)close(fd);
	fake.fs_io->sts_ops->sto_unlisten(fake.fs_io, &other);
	assert_int_equal(stat(sa.sun_path, &st), -1);
	fake_close();
	fake_free(ours);
	/* Nothing is left in it. */
	assert_int_equal(rmdir(dir), 0);
}

/* The name is taken: the node works over TCP. */
static void taken_name_is_no_error(void **state)
{
	struct m0_stream_listener other = { 0 };
	struct sockaddr_un        sa;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	(void)close(tcp);
	fake_open("127.0.0.1", &near_cfg);
	other.slr_addr = fake_addr("127.0.0.1", 18777);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, name_of(&sa, 18777)),
			 0);
	assert_int_equal(fake.fs_io->sts_ops->sto_listen(fake.fs_io, &other,
							 fake.fs_why),
			 0);
	fake.fs_io->sts_ops->sto_unlisten(fake.fs_io, &other);
	(void)close(fd);
	fake_close();
}

/* -- a hostile neighbour --------------------------------------------------- */

/* A neighbour can read what is offered to it, and change nothing. */
static void neighbour_cannot_write(void **state)
{
	struct foe foe;
	char       path[64];
	void      *seen;
	char       why[128];
	int        again;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	fake_send(foe.f_conn, 100);
	(void)fake_step();
	assert_int_equal(foe.f_other->pim_put, 100);
	assert_int_equal(foe.f_other->pim_ring[99], 99);
	assert_int_equal(m0_os_shm_map(foe.f_other_mem, MEM_BYTES, true, &seen,
				       why, sizeof why),
			 -EPERM);
	assert_int_equal(pwrite(foe.f_other_mem, "x", 1, 960), -1);
	assert_int_equal(ftruncate(foe.f_other_mem, 0), -1);
	snprintf(path, sizeof path, "/proc/self/fd/%d", foe.f_other_mem);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again >= 0) {
		assert_int_equal(pwrite(again, "x", 1, 960), -1);
		assert_ptr_equal(mmap(NULL, MEM_BYTES, PROT_WRITE, MAP_SHARED,
				      again, 0),
				 MAP_FAILED);
		(void)close(again);
	}
	assert_int_equal(foe.f_other->pim_ring[0], 0);
	foe_leave(&foe);
	fake_until(foe.f_conn->fc_broken_nr == 1);
	fake_close();
}

static void hello_is_refused(const struct hello *hello, int mem)
{
	struct foe foe;
	char       byte;

	foe_call(&foe);
	foe_hello(&foe, hello, mem);
	for (;;) {
		ssize_t nr = recv(foe.f_sock, &byte, 1, MSG_DONTWAIT);

		if (nr == 0 || (nr < 0 && errno == ECONNRESET))
			break;
		assert_true(nr < 0 && errno == EAGAIN);
		(void)fake_step();
		fake_sleep();
	}
	assert_int_equal(fake.fs_accepted_nr, 0);
	foe_leave(&foe);
}

static void wrong_introductions_are_refused(void **state)
{
	struct hello hello;
	void        *own;
	int          mem;
	int          unsealed;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	mem = m0_os_shm_make("foe", MEM_BYTES, M0_OS_SHM_OWN, &own);
	assert_true(mem >= 0);
#define REFUSED(field, value, fd)               \
	do {                                    \
		hello = hello_good();           \
		hello.field = (value);          \
		hello_is_refused(&hello, (fd)); \
	} while (0)
	REFUSED(h_magic, 1, mem);
	REFUSED(h_version, M0_PIPE_VERSION + 1, mem);
	REFUSED(h_type, 2, mem);
	REFUSED(h_mem_bytes, MEM_BYTES - 4096, mem);
	REFUSED(h_addr_bytes, 5, mem);
	REFUSED(h_rest[0], 1, mem);
	REFUSED(h_rest[38], 1, mem);
	REFUSED(h_type, 1, -1);
	/* Memory that could shrink, or is too short. */
	unsealed = memfd_create("foe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(unsealed, MEM_BYTES), 0);
	REFUSED(h_type, 1, unsealed);
	(void)close(unsealed);
	m0_os_shm_unmap(own, MEM_BYTES);
	(void)close(mem);
	mem = m0_os_shm_make("foe", 4096, M0_OS_SHM_OWN, &own);
	REFUSED(h_type, 1, mem);
	m0_os_shm_unmap(own, 4096);
	(void)close(mem);
	assert_int_equal(m0_tcp__io(fake.fs_io)->tci_greeting_nr, 0);
	fake_close();
}

/* A process of another user gets no answer. */
static void other_user_is_refused(void **state)
{
	struct hello hello = hello_good();
	struct foe   foe;
	char         byte;
	void        *own;

	(void)state;
	if (getuid() != 0)
		skip();
	fake_open("127.0.0.1", &near_cfg);
	foe.f_mem = m0_os_shm_make("foe", MEM_BYTES, M0_OS_SHM_OWN, &own);
	foe.f_sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	{
		struct sockaddr_un sa;
		socklen_t len = name_of(&sa, fake.fs_listener.slr_addr.sa_port);

		user_set(NOBODY);
		assert_int_equal(
			connect(foe.f_sock, (struct sockaddr *)&sa, len), 0);
		user_set(0);
	}
	foe_hello(&foe, &hello, foe.f_mem);
	while (recv(foe.f_sock, &byte, 1, MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN) {
		(void)fake_step();
		fake_sleep();
	}
	assert_int_equal(fake.fs_accepted_nr, 0);
	assert_int_equal(m0_tcp__io(fake.fs_io)->tci_greeting_nr, 0);
	(void)close(foe.f_sock);
	(void)close(foe.f_mem);
	m0_os_shm_unmap(own, MEM_BYTES);
	fake_close();
}

/* Neighbours that say nothing do not keep others out. */
static void silent_neighbours_are_bounded(void **state)
{
	struct foe           foes[M0_NEAR_GREETING_MAX + 2];
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	size_t               i;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	for (i = 0; i < ARRAY_SIZE(foes); ++i) {
		foe_call(&foes[i]);
		(void)fake_step();
		fake_sleep();
	}
	fake_until(m0_tcp__io(fake.fs_io)->tci_greeting_nr ==
		   M0_NEAR_GREETING_MAX);
	ours = fake_pair(&theirs);
	assert_true(ours->fc_stream->stm_fell_back);
	for (i = 0; i < ARRAY_SIZE(foes); ++i)
		foe_leave(&foes[i]);
	fake_until(m0_tcp__io(fake.fs_io)->tci_greeting_nr == 0);
	fake_close();
	fake_free(ours);
}

/* Neighbours that introduce themselves in time stay; a node that sleeps wakes for the
 * others. */
static void silent_neighbours_are_dropped_in_time(void **state)
{
	const struct m0_streams_cfg cfg = { .sic_same_host = true,
					    .sic_accept_timeout_ns =
						    50 * M0_TIME_ONE_MSEC };
	struct m0_tcp_io           *io;
	struct foe                  honest;
	struct foe                  foes[M0_NEAR_GREETING_MAX];
	struct pollfd               fd = { .events = POLLIN };
	m0_time_t                   began;
	size_t                      i;

	(void)state;
	fake_open("127.0.0.1", &cfg);
	io = m0_tcp__io(fake.fs_io);
	foe_open(&honest);
	began = m0_time_now();
	for (i = 0; i < ARRAY_SIZE(foes); ++i)
		foe_call(&foes[i]);
	fake_until(io->tci_greeting_nr == M0_NEAR_GREETING_MAX);
	assert_true(io->tci_source.rts_ops->rtso_wait(&io->tci_source,
						      M0_TIME_NEVER) <=
		    m0_time_add(m0_time_now(), cfg.sic_accept_timeout_ns));
	fake_until(io->tci_greeting_nr == 0);
	assert_true(m0_time_sub(m0_time_now(), began) >=
		    cfg.sic_accept_timeout_ns);
	for (i = 0; i < ARRAY_SIZE(foes); ++i) {
		fd.fd = foes[i].f_sock;
		assert_int_equal(poll(&fd, 1, 0), 1);
		foe_leave(&foes[i]);
	}
	assert_int_equal(honest.f_conn->fc_status, FAKE_OPEN);
	foe_leave(&honest);
	fake_until(honest.f_conn->fc_broken_nr == 1);
	fake_close();
}

static void garbage_ends_the_stream(void **state)
{
	struct foe foe;
	int        i;

	(void)state;
	for (i = 0; i < 6; ++i) {
		fake_open("127.0.0.1", &near_cfg);
		foe_open(&foe);
		switch (i) {
		case 0:
			foe.f_own->pim_put = M0_PIPE_RING_BYTES + 1;
			break;
		case 1:
			foe.f_own->pim_taken = UINT64_C(1) << 40;
			fake_send(foe.f_conn, 4 * MIB);
			foe.f_conn->fc_out_seg = 1000;
			break;
		case 2:
			foe.f_own->pim_state = 3;
			break;
		case 3:
			/* Memory that it did not say that it has. */
			foe.f_own->pim_offers[0].pof_bytes = 10;
			foe.f_own->pim_offers_put = 1;
			break;
		case 4:
			foe.f_own->pim_offers[0].pof_bytes = 10;
			foe.f_own->pim_offers[0].pof_region = 7;
			foe.f_own->pim_offers_put = 1;
			break;
		default:
			foe.f_own->pim_copies = 1;
			fake_send(foe.f_conn, MIB);
			(void)fake_step();
			foe.f_own->pim_offers_taken = 2;
		}
		fake_until(foe.f_conn->fc_broken_nr == 1);
		assert_int_equal(foe.f_conn->fc_status, -EPROTO);
		foe_leave(&foe);
		fake_close();
	}
}

/* Wake-ups without end, and sleep that never ends, harm nobody else. */
static void flood_of_bells_is_harmless(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	struct foe           foe;
	char                 bells[4096] = { 0 };
	int                  i;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	ours = fake_dial();
	fake_until(ours->fc_is_dialled && fake.fs_accepted_nr == 2);
	theirs = fake.fs_accepted[1];
	for (i = 0; i < 100; ++i) {
		(void)send(foe.f_sock, bells, sizeof bells, MSG_DONTWAIT);
		foe.f_own->pim_sleeps += 5;
		fake_send(ours, 100);
		fake_send(foe.f_conn, 10);
		fake_until(theirs->fc_in == (size_t)(i + 1) * 100);
	}
	assert_int_equal(foe.f_conn->fc_status, FAKE_OPEN);
	foe_leave(&foe);
	fake_until(foe.f_conn->fc_broken_nr == 1);
	fake_close();
	fake_free(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_arrive_both_ways),
		cmocka_unit_test(ip6_works),
		cmocka_unit_test(full_ring_loses_nothing),
		cmocka_unit_test(only_much_is_offered),
		cmocka_unit_test(paused_offer_waits),
		cmocka_unit_test(end_comes_after_the_bytes),
		cmocka_unit_test(ends_within_the_stream_are_told),
		cmocka_unit_test(hangup_within_a_call_is_safe),
		cmocka_unit_test(polling_makes_no_call),
		cmocka_unit_test(many_pipes_are_looked_at_in_turns),
		cmocka_unit_test(switch_turns_it_off),
		cmocka_unit_test(peer_without_it_is_dialled_over_tcp),
		cmocka_unit_test(wrong_answers_end_in_tcp),
		cmocka_unit_test(other_users_name_is_not_used),
		cmocka_unit_test(taken_name_is_no_error),
		cmocka_unit_test(directory_has_the_socket),
		cmocka_unit_test(neighbour_cannot_write),
		cmocka_unit_test(wrong_introductions_are_refused),
		cmocka_unit_test(other_user_is_refused),
		cmocka_unit_test(silent_neighbours_are_bounded),
		cmocka_unit_test(silent_neighbours_are_dropped_in_time),
		cmocka_unit_test(garbage_ends_the_stream),
		cmocka_unit_test(flood_of_bells_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
