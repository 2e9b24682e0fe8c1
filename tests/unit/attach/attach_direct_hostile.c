/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A neighbour by hand that breaks the rules of pipes between processes.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "os/shm.h"

#include "attach_direct.h"

/** A neighbour by hand. */
struct foe {
	int                       fo_fd;
	struct m0_pipe_mem       *fo_own;
	const struct m0_pipe_mem *fo_other;
	struct m0_pipe            fo_pipe;
};

enum {
	SILENT_NR = 20
};

#define MEM_BYTES m0_align(sizeof(struct m0_pipe_mem), 4096)

static int foe_connect(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int                nr = snprintf(
			       sa.sun_path + 1, sizeof sa.sun_path - 1, "colibri/near/%016llx",
			       (unsigned long long)direct_of(&two)->pdr_queues[0].pqu_name);

	assert_int_equal(
		connect(fd, (struct sockaddr *)&sa,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)nr)),
		0);
	return fd;
}

static struct m0_attach_near_hello foe_hello(void)
{
	return (struct m0_attach_near_hello){
		.nhe_magic = 0x646e306d,
		.nhe_version = 1,
		.nhe_type = 1,
		.nhe_mem_bytes = MEM_BYTES,
		.nhe_bits = (uint64_t)two.en_tmid << TMID_SHIFT,
		.nhe_portal = FIX_PORTAL,
	};
}

static void two_turn(unsigned ms)
{
	m0_time_t until = m0_time_add(m0_time_now(), ms * M0_TIME_ONE_MSEC);

	while (m0_time_now() < until) {
		turn(&one, &two);
		recvs_fill(&two);
	}
}

/* The process leaves its listener out from now on, or not any more. */
static void looks_again(bool does)
{
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);

	while (direct_of(&two)->pdr_looks_again != does &&
	       m0_time_now() < until)
		two_turn(5);
	assert_int_equal(direct_of(&two)->pdr_looks_again, does);
}

/* Has the process hung up? */
static bool foe_is_out(int fd)
{
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);
	char      byte;
	int64_t   got;

	do {
		two_turn(5);
		got = recv(fd, &byte, 1, MSG_DONTWAIT);
	} while (got != 0 && !(got < 0 && errno == ECONNRESET) &&
		 m0_time_now() < until);
	return got == 0 || (got < 0 && errno == ECONNRESET);
}

static bool foe_open(struct foe *foe)
{
	struct m0_attach_near_hello hello = foe_hello();
	struct m0_os_fds            fds;
	m0_time_t                   until = m0_time_from_now(PATIENCE_S, 0);
	void                       *mem;
	char                        why[160];
	int64_t                     nr;
	int                         fd;

	foe->fo_fd = foe_connect();
	fd = m0_os_shm_make("foe", MEM_BYTES, M0_OS_SHM_OWN, &mem);
	assert_true(fd >= 0);
	foe->fo_own = mem;
	assert_int_equal(m0_os_fds_send(foe->fo_fd, &hello, sizeof hello, &fd,
					1, 0),
			 sizeof hello);
	(void)close(fd);
	do {
		two_turn(1);
		nr = m0_os_fds_recv(foe->fo_fd, &hello, sizeof hello, &fds,
				    MSG_DONTWAIT);
	} while (nr == -EAGAIN && m0_time_now() < until);
	if (nr != sizeof hello)
		return false;
	assert_int_equal(fds.ofs_nr, 1);
	/* The foe can read what it maps, and do nothing else. */
	assert_int_not_equal(m0_os_shm_map(fds.ofs_fds[0], MEM_BYTES, true,
					   &mem, why, sizeof why),
			     0);
	assert_int_equal(m0_os_shm_map(fds.ofs_fds[0], MEM_BYTES, false, &mem,
				       why, sizeof why),
			 0);
	m0_os_fds_drop(&fds);
	foe->fo_other = mem;
	m0_pipe_init(&foe->fo_pipe, foe->fo_own, foe->fo_other);
	return true;
}

static void foe_close(struct foe *foe)
{
	(void)close(foe->fo_fd);
	m0_os_shm_unmap(foe->fo_own, MEM_BYTES);
	m0_os_shm_unmap((void *)(uintptr_t)foe->fo_other, MEM_BYTES);
}

enum lie {
	LIE_MAGIC,
	LIE_VERSION,
	LIE_TYPE,
	LIE_BYTES,
	LIE_RESERVED,
	LIE_BITS,
	LIE_PORTAL,
	LIE_NO_MEMORY,
	LIE_SHRINKS,
	LIE_SHORT,
	LIES_NR
};

static void foe_lie(enum lie lie)
{
	struct m0_attach_near_hello hello = foe_hello();
	int                         fd = lie == LIE_SHRINKS
						 ? memfd_create("foe", 0)
						 : m0_os_shm_open("foe",
                                          lie == LIE_SHORT ? 4096 : MEM_BYTES);
	int                         sock = foe_connect();

	assert_true(fd >= 0);
	if (lie == LIE_SHRINKS)
		assert_int_equal(ftruncate(fd, (off_t)MEM_BYTES), 0);
	hello.nhe_magic ^= lie == LIE_MAGIC;
	hello.nhe_version ^= lie == LIE_VERSION;
	hello.nhe_type ^= lie == LIE_TYPE;
	hello.nhe_mem_bytes += lie == LIE_BYTES;
	hello.nhe_reserved[35] = lie == LIE_RESERVED;
	hello.nhe_bits += lie == LIE_BITS;
	hello.nhe_portal += lie == LIE_PORTAL;
	(void)m0_os_fds_send(sock, &hello, sizeof hello, &fd,
			     lie != LIE_NO_MEMORY, 0);
	(void)close(fd);
	if (!foe_is_out(sock))
		fail_msg("lie %u is accepted", (unsigned)lie);
	(void)close(sock);
}

static void foe_message(struct foe *foe, unsigned kind)
{
	char                bytes[SMALL_BYTES] = "";
	struct m0_pump_head head = {
		.phd_bytes = SMALL_BYTES,
		.phd_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.phd_source = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
	};

	if (kind == 0)
		head.phd_bytes = 0;
	if (kind == 1)
		head.phd_bytes = M0_PUMP_DIRECT_BYTES_MAX + 1;
	if (kind == 2)
		++head.phd_bytes;
	if (kind == 3)
		head.phd_reserved = 1;
	if (kind == 4)
		head.phd_source.lp_nid.ln_addr[3] ^= 1;
	if (kind == 5)
		++head.phd_source.lp_pid;
	if (kind == 6)
		head.phd_target.lp_nid.ln_num = 7;
	if (kind == 7)
		foe->fo_own->pim_put = M0_PIPE_RING_BYTES + 1;
	if (kind == 8)
		foe->fo_own->pim_put = (uint64_t)-1;
	if (kind == 9)
		foe->fo_own->pim_state = 9;
	if (kind == 10)
		(void)m0_pipe_offer_put(&foe->fo_pipe, 0, (uintptr_t)bytes, 64);
	if (kind < 7) {
		(void)m0_pipe_put(&foe->fo_pipe, &head, sizeof head);
		(void)m0_pipe_put(&foe->fo_pipe, bytes, sizeof bytes);
	}
	if (kind == 11)
		(void)m0_pipe_put(&foe->fo_pipe, &head, sizeof head / 2);
	/* An offer for a position that never comes. */
	if (kind == 12) {
		foe->fo_pipe.pip_put += 64;
		(void)m0_pipe_offer_put(&foe->fo_pipe, 0, (uintptr_t)bytes, 64);
		foe->fo_pipe.pip_put -= 64;
	}
	if (kind < 7 || kind > 9)
		m0_pipe_commit(&foe->fo_pipe);
}

/* Garbage of any kind ends the connection with its sender, and no other. */
void hostile_neighbour_harms_nobody(void **state)
{
	struct foe foe;
	unsigned   i;
	uint32_t   seq;
	int        fds[SILENT_NR];

	(void)state;
	m0_log_level_set(M0_LOG_FATAL);
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	for (i = 0; i < LIES_NR; ++i)
		foe_lie((enum lie)i);
	for (i = 0; i < 13; ++i) {
		uint64_t taken_nr = direct_of(&two)->pdr_taken_nr;

		assert_true(foe_open(&foe));
		foe_message(&foe, i);
		if (!foe_is_out(foe.fo_fd))
			fail_msg("message %u is accepted", i);
		assert_int_equal(direct_of(&two)->pdr_taken_nr, taken_nr);
		foe_close(&foe);
		seq = one.en_seq;
		while (one.en_seq == seq)
			(void)msg_send(&one, &two, 0, SMALL_BYTES);
		all_come(&one, &two, 0);
	}
	/* More of them than may wait, which say nothing. */
	for (i = 0; i < SILENT_NR; ++i)
		fds[i] = foe_connect();
	looks_again(true);
	for (i = 0; i < SILENT_NR; ++i)
		(void)close(fds[i]);
	looks_again(false);
	/* The foe rings without end. */
	assert_true(foe_open(&foe));
	for (i = 0; i < 3000; ++i)
		(void)!write(foe.fo_fd, "garbage", 7);
	two_turn(30);
	(void)msg_send(&one, &two, 0, SMALL_BYTES);
	all_come(&one, &two, 0);
	foe_close(&foe);
	two_turn(20);
	two_close();
}

/* Each message of the one ends. */
static void liar_close(void)
{
	unsigned i;

	(void)m0_lnet_me_unlink(two.en_lnet, two.en_me);
	(void)m0_lnet_lazy_set(two.en_lnet, FIX_PORTAL, false);
	for (i = 0; i < 2000 && one.en_sent_nr != one.en_seq; ++i) {
		(void)m0_lnet_progress(one.en_lnet);
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	}
	assert_int_equal(one.en_sent_nr, one.en_seq);
	end_close(&one);
	end_close(&two);
	fix_all_gone();
}

/* One that takes messages, and lies about it, harms itself: each message of the other ends. */
void hostile_taker_harms_itself(void **state)
{
	struct m0_pipe_mem *mem;
	unsigned            i;

	(void)state;
	m0_log_level_set(M0_LOG_FATAL);
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	mem = direct_of(&two)->pdr_ins[0].pin_conn->pnc_pipe.pip_own;
	for (i = 0; i < 4; ++i)
		(void)msg_send(&one, &two, 0, SMALL_BYTES);
	/* Beyond what was put. */
	__atomic_store_n(&mem->pim_taken, mem->pim_taken + M0_PIPE_RING_BYTES,
			 __ATOMIC_SEQ_CST);
	(void)m0_lnet_progress(one.en_lnet);
	assert_int_equal(direct_of(&one)->pdr_outs[0].pou_state,
			 M0_PUMP_OUT_AWAY);
	two.en_has_gaps = true;
	liar_close();
}

/* A message that finds no space finds the lie, and a shorter one comes before the next pass. */
void lie_is_found_between_passes(void **state)
{
	const m0_bcount_t   bytes = M0_PUMP_DIRECT_BYTES_MAX;
	struct m0_pipe_mem *mem;
	struct slot        *last = NULL;
	unsigned            i;

	(void)state;
	m0_log_level_set(M0_LOG_FATAL);
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	two.en_has_gaps = true;
	mem = direct_of(&two)->pdr_ins[0].pin_conn->pnc_pipe.pip_own;
	for (i = 0; i < M0_PIPE_RING_BYTES / bytes - 1; ++i)
		assert_true(msg_send(&one, &two, 0, bytes));
	__atomic_store_n(&mem->pim_taken,
			 mem->pim_taken + 2 * M0_PIPE_RING_BYTES,
			 __ATOMIC_SEQ_CST);
	assert_true(msg_send(&one, &two, 0, bytes));
	for (i = 0; i < SENDS_NR; ++i)
		if (one.en_sends[i].sl_is_used &&
		    one.en_sends[i].sl_seq == one.en_seq - 1)
			last = &one.en_sends[i];
	assert_non_null(last);
	assert_int_equal(m0_lnet_md_unlink(one.en_lnet, last->sl_md), 0);
	assert_true(msg_send(&one, &two, 0, SMALL_BYTES));
	(void)m0_lnet_progress(one.en_lnet);
	assert_int_equal(direct_of(&one)->pdr_outs[0].pou_state,
			 M0_PUMP_OUT_AWAY);
	liar_close();
}
