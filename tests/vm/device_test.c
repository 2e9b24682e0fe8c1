/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The device of colibri.ko in a virtual machine: processes that do what no library does
 * suffer alone, and leave nothing behind. The device has mode 0666 and the default
 * number of processes. Environment: M0_SEED.
 * [r.M0.net.xprt.lnet.efficient-user-to-kernel-comm]
 * [r.M0.net.xprt.lnet.cleanup-on-process-termination]
 * [r.M0.lib.atomic.interoperable-kernel-user-support]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/attach.h"
#include "base/rand.h"
#include "device_calls.h"
#include "ring/shared_entry.h"

enum {
	PAGE = 4096,
	SESSIONS_OF_UID = 128,
	LIARS_NR = 40,
	KILLS_NR = 5,
	KILLED_PAGES = 4096,
	CHANGES_NR = 100,
	USER = 1000,
	PATIENCE_MS = 60000
};

static const char path[] = "/dev/colibri";

static m0_time_t soon(void)
{
	return m0_time_from_now(60, 0);
}

static int raw_open(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void attach(struct m0_attach *att)
{
	char why[M0_ATTACH_WHY_BYTES] = "";
	int  rc = m0_attach_open(att, path, NULL, soon(), why);

	if (rc != 0)
		fail_msg("%s", why);
}

static int give(struct m0_attach *att, uint32_t nr, void *addr, uint64_t bytes)
{
	char why[M0_ATTACH_WHY_BYTES];

	return m0_attach_region_give(att, nr, addr, -1, bytes, soon(), why);
}

static void *pages_map(size_t nr)
{
	void *at = mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* Pages of this process that are pinned, in KiB. */
static long pinned(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char  line[256];
	long  ret = -1;

	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL)
		(void)sscanf(line, "VmPin: %ld", &ret);
	(void)fclose(file);
	return ret;
}

/* The device's thread lets go of memory in its own time. */
static void nothing_pinned(void)
{
	unsigned i;

	for (i = 0; i < PATIENCE_MS / 10 && pinned() != 0; ++i)
		(void)poll(NULL, 0, 10);
	assert_int_equal(pinned(), 0);
}

static void hello_fill(struct m0_attach_hello *hello)
{
	memset(hello, 0, sizeof *hello);
	m0_attach__head(&hello->ahl_head, M0_ATTACH_HELLO, sizeof *hello);
}

/* Returns the error of a word that is read. */
static int word_get(int fd, enum m0_attach_type type)
{
	union m0_attach_msg msg;

	assert_int_equal(read(fd, &msg, sizeof msg), sizeof msg.amg_word);
	assert_int_equal(msg.amg_head.ahd_type, type);
	return msg.amg_word.awd_rc;
}

static int write_rc(int fd, const void *bytes, size_t nr)
{
	return write(fd, bytes, nr) < 0 ? -errno : 0;
}

static void is_over(int fd)
{
	struct pollfd poller = { fd, POLLIN | POLLRDHUP, 0 };

	do {
		assert_int_equal(poll(&poller, 1, PATIENCE_MS), 1);
		(void)ioctl(fd, M0_ATTACH_DEVICE_CALM);
	} while ((poller.revents & POLLHUP) == 0);
	assert_int_equal(poller.revents, POLLIN | POLLRDHUP | POLLHUP);
	assert_int_equal(ioctl(fd, M0_ATTACH_DEVICE_RING), -1);
	assert_int_equal(errno, EPIPE);
}

static void garbage_is_refused(void **state)
{
	struct m0_attach_hello  hello;
	struct m0_attach_region region;
	char                    bytes[512] = { 0 };
	char                   *gone = pages_map(1);
	int                     fd = raw_open();

	(void)state;
	(void)munmap(gone, PAGE);
	assert_int_equal(write_rc(fd, bytes, sizeof bytes), -EMSGSIZE);
	assert_int_equal(write_rc(fd, bytes, 0), -EPROTO);
	assert_int_equal(write_rc(fd, bytes, 128), -EPROTO);
	assert_int_equal(write_rc(fd, gone, 128), -EFAULT);
	assert_int_equal(read(fd, bytes, 8), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(read(fd, bytes, sizeof bytes), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ioctl(fd, 0x6d04), -1);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(ioctl(fd, M0_ATTACH_DEVICE_RING), -1);
	assert_int_equal(errno, EPIPE);
	hello_fill(&hello);
	hello.ahl_reserved[63] = 1;
	assert_int_equal(write_rc(fd, &hello, sizeof hello), -EPROTO);
	hello.ahl_reserved[63] = 0;
	assert_int_equal(write_rc(fd, &hello, sizeof hello - 8), -EPROTO);
	memset(&region, 0, sizeof region);
	m0_attach__head(&region.aer_head, M0_ATTACH_REGION, sizeof region);
	assert_int_equal(write_rc(fd, &region, sizeof region), -EPROTO);
	/* A version of another time gets a reason. */
	hello.ahl_head.ahd_version = M0_ATTACH_VERSION + 1;
	assert_int_equal(write_rc(fd, &hello, sizeof hello), 0);
	assert_int_equal(word_get(fd, M0_ATTACH_REFUSE), -EPROTONOSUPPORT);
	is_over(fd);
	(void)close(fd);
}

/* Tells how many processes are attached, with room for one. */
static int attached(int fd, struct m0_attach_proc *proc)
{
	struct m0_attach_procs procs = { .aes_to = (uintptr_t)proc,
					 .aes_max = 1 };

	return ioctl(fd, M0_ATTACH_DEVICE_PROCS, &procs) == 0
		       ? (int)procs.aes_nr
		       : -errno;
}

static void processes_are_told(void **state)
{
	struct m0_attach_procs procs = { .aes_max = 4097 };
	struct m0_attach_proc  proc;
	struct m0_attach       att;
	char                  *gone = pages_map(1);
	int                    fd = raw_open();

	(void)state;
	assert_int_equal(mprotect(gone, PAGE, PROT_NONE), 0);
	assert_int_equal(attached(fd, &proc), 0);
	attach(&att);
	assert_int_equal(give(&att, 1, pages_map(3), 3 * PAGE), 0);
	assert_int_equal(attached(fd, &proc), 1);
	assert_int_equal(proc.aep_pid, getpid());
	assert_int_equal(proc.aep_regions_nr, 1);
	assert_int_equal(proc.aep_bytes, 3 * PAGE);
	assert_int_equal(attached(fd, (void *)gone), -EFAULT);
	assert_int_equal(ioctl(fd, M0_ATTACH_DEVICE_PROCS, gone), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(ioctl(fd, M0_ATTACH_DEVICE_PROCS, &procs), -1);
	assert_int_equal(errno, EINVAL);
	m0_attach_close(&att);
	nothing_pinned();
	(void)close(fd);
}

static void messages_out_of_turn_end_it(void **state)
{
	struct m0_attach_hello hello;
	union m0_attach_msg    msg;
	int                    fd = raw_open();

	(void)state;
	hello_fill(&hello);
	assert_int_equal(write_rc(fd, &hello, sizeof hello), 0);
	assert_int_equal(write_rc(fd, &hello, sizeof hello), -EBUSY);
	assert_int_equal(read(fd, &msg, sizeof msg), sizeof msg.amg_welcome);
	assert_int_equal(msg.amg_head.ahd_type, M0_ATTACH_WELCOME);
	assert_int_equal(write_rc(fd, &hello, sizeof hello), 0);
	assert_int_equal(word_get(fd, M0_ATTACH_REFUSE), -EPROTO);
	is_over(fd);
	assert_int_equal(word_get(fd, M0_ATTACH_ENDED), 0);
	assert_int_equal(read(fd, &msg, sizeof msg), 0);
	assert_int_equal(write_rc(fd, &hello, sizeof hello), -EPIPE);
	(void)close(fd);
}

static void *map_try(int fd, size_t bytes, int flags, off_t at)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, at);
}

static void area_alone_is_mapped(void **state)
{
	struct m0_attach att;
	size_t           bytes;
	int              fd = raw_open();
	void            *again;

	(void)state;
	assert_ptr_equal(map_try(fd, PAGE, MAP_SHARED, 0), MAP_FAILED);
	(void)close(fd);
	attach(&att);
	bytes = m0_align(att.att_area_bytes, PAGE);
	fd = att.att_sock;
	assert_ptr_equal(map_try(fd, bytes + PAGE, MAP_SHARED, 0), MAP_FAILED);
	assert_ptr_equal(map_try(fd, PAGE, MAP_SHARED, PAGE), MAP_FAILED);
	assert_ptr_equal(map_try(fd, bytes, MAP_PRIVATE, 0), MAP_FAILED);
	again = map_try(fd, bytes, MAP_SHARED, 0);
	assert_ptr_not_equal(again, MAP_FAILED);
	m0_attach_close(&att);
	/* The mapping alone keeps the area. */
	assert_int_equal(*(volatile uint8_t *)again, 'c');
	(void)munmap(again, bytes);
}

static void memory_is_checked(void **state)
{
	struct m0_attach att;
	char            *at = pages_map(4);
	void            *fixed;

	(void)state;
	attach(&att);
	assert_int_equal(give(&att, 1, at + 100, 2 * PAGE), 0);
	assert_int_equal(pinned(), 12);
	assert_int_equal(give(&att, 1, at, PAGE), -EEXIST);
	assert_int_equal(give(&att, 0, at, PAGE), -EINVAL);
	assert_int_equal(give(&att, 4097, at, PAGE), -EINVAL);
	assert_int_equal(give(&att, 2, NULL, PAGE), -EFAULT);
	assert_int_equal(give(&att, 2, at, 0), -EFAULT);
	assert_int_equal(give(&att, 2, (void *)-PAGE, PAGE), -EFAULT);
	assert_int_equal(give(&att, 2, (void *)-PAGE, 2 * PAGE), -EFAULT);
	assert_int_equal(give(&att, 2, at, UINT64_MAX), -EDQUOT);
	assert_int_equal(give(&att, 2, at, (UINT64_C(1) << 30)), -EDQUOT);
	/* The page behind them is not there. */
	assert_int_equal(munmap(at + 3 * PAGE, PAGE), 0);
	assert_int_equal(give(&att, 2, at, 4 * PAGE), -EFAULT);
	fixed = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(give(&att, 2, fixed, PAGE), -EFAULT);
	assert_int_equal(pinned(), 12);
	assert_int_equal(give(&att, 2, at, PAGE), 0);
	/* Memory that the process gives up, or has elsewhere, stays pinned until the end. */
	assert_ptr_not_equal(mremap(at, PAGE, 2 * PAGE, MREMAP_MAYMOVE),
			     MAP_FAILED);
	(void)munmap(at + PAGE, 2 * PAGE);
	assert_int_equal(pinned(), 16);
	m0_attach_close(&att);
	nothing_pinned();
}

/* Runs in a process of its own, whose status is 0 if it passes. */
static void apart(void (*run)(void))
{
	int   status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* For a process without cmocka. */
static void need(bool holds, int line)
{
	if (!holds) {
		(void)fprintf(stderr, "line %d: errno %d\n", line, errno);
		_exit(1);
	}
}
#define NEED(holds) need((holds), __LINE__)

static void limited_run(void)
{
	struct rlimit    limit = { 16 * PAGE, 16 * PAGE };
	char             why[M0_ATTACH_WHY_BYTES] = "";
	struct m0_attach att;
	char            *at = pages_map(64);

	NEED(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	NEED(setgid(USER) == 0 && setuid(USER) == 0);
	NEED(m0_attach_open(&att, path, NULL, soon(), why) == 0);
	NEED(m0_attach_region_give(&att, 1, at, -1, 17 * PAGE, soon(), why) ==
	     -EDQUOT);
	NEED(strstr(why, "may have 16 locked, and has 0") != NULL);
	NEED(give(&att, 1, at, 10 * PAGE) == 0);
	NEED(give(&att, 2, at, 7 * PAGE) == -EDQUOT);
	NEED(give(&att, 2, at, 6 * PAGE) == 0);
	m0_attach_close(&att);
}

static void locked_memory_is_limited(void **state)
{
	(void)state;
	apart(limited_run);
}

static void sessions_are_limited(void **state)
{
	int      fds[SESSIONS_OF_UID];
	unsigned i;
	int      fd;

	(void)state;
	for (i = 0; i < SESSIONS_OF_UID; ++i)
		fds[i] = raw_open();
	assert_int_equal(open(path, O_RDWR), -1);
	assert_int_equal(errno, EUSERS);
	/* Others have sessions of their own. */
	apart(limited_run);
	for (i = 0; i < SESSIONS_OF_UID; ++i)
		(void)close(fds[i]);
	for (i = 0; i < PATIENCE_MS / 10; ++i) {
		fd = open(path, O_RDWR);
		if (fd >= 0)
			break;
		(void)poll(NULL, 0, 10);
	}
	assert_true(fd >= 0);
	(void)close(fd);
}

/* Reads the reason that the server gives for a violation. */
static void is_detached(struct m0_attach *att, const char *word)
{
	char why[M0_ATTACH_WHY_BYTES] = "";

	is_over(att->att_sock);
	assert_true(m0_attach_is_dead(att));
	assert_int_equal(m0_attach_reason(att, why), -EPROTO);
	if (strstr(why, word) == NULL)
		fail_msg("'%s' is not in '%s'", word, why);
	m0_attach_close(att);
}

static void lying_index_ends_it(void **state)
{
	struct m0_attach        other;
	struct m0_attach        att;
	struct m0_shared_words *words;

	(void)state;
	attach(&other);
	attach(&att);
	words = att.att_side.shs_words;
	__atomic_store_n(&words->shw_down_put.shl_word, 257, __ATOMIC_SEQ_CST);
	m0_attach__device_ring(&att);
	is_detached(&att, "put 257");
	attach(&att);
	words = att.att_side.shs_words;
	__atomic_store_n(&words->shw_up_taken.shl_word, 7, __ATOMIC_SEQ_CST);
	/* An operation whose event the server has to put. */
	assert_true(m0_shared_claim(&att.att_side, 1));
	assert_int_equal(m0_shared_reserve(&att.att_side, 1, NULL), 0);
	memset(m0_shared_slot(&att.att_side, 0), 0, M0_SHARED_DOWN_BYTES);
	*(uint16_t *)m0_shared_slot(&att.att_side, 0) = M0_SHARED_BARRIER;
	m0_shared_commit(&att.att_side, 1);
	m0_attach__device_ring(&att);
	is_detached(&att, "taken");
	assert_false(m0_attach_is_dead(&other));
	m0_attach_close(&other);
}

/* Entries of random bytes, most of which have an opcode; indices and memory likewise. */
static void liar(struct m0_rand *rand, char *at)
{
	struct m0_shared_words *words;
	struct m0_attach        att;
	unsigned                i;
	unsigned                nr = 1 + (unsigned)m0_rand_below(rand, 64);

	attach(&att);
	words = att.att_side.shs_words;
	if (m0_rand_below(rand, 2) == 0)
		(void)give(&att, 1 + (uint32_t)m0_rand_below(rand, 4), at,
			   PAGE);
	for (i = 0; i < nr; ++i) {
		uint64_t *entry;
		unsigned  k;

		if (m0_shared_reserve(&att.att_side, 1, NULL) != 0)
			break;
		entry = m0_shared_slot(&att.att_side, 0);
		for (k = 0; k < M0_SHARED_DOWN_BYTES / sizeof *entry; ++k)
			entry[k] = m0_rand_below(rand, 2) == 0
					   ? m0_rand_below(rand, 4)
					   : m0_rand_next(rand);
		if (m0_rand_below(rand, 8) != 0)
			*entry = (1 + m0_rand_below(rand, 22)) |
				 m0_rand_below(rand, 4) << 32;
		m0_shared_commit(&att.att_side, 1);
		if (m0_rand_below(rand, 4) == 0)
			m0_attach__device_ring(&att);
	}
	if (m0_rand_below(rand, 4) == 0)
		words->shw_up_taken.shl_word = (uint32_t)m0_rand_next(rand);
	if (m0_rand_below(rand, 4) == 0)
		words->shw_down_put.shl_word = (uint32_t)m0_rand_next(rand);
	m0_attach__device_ring(&att);
	if (m0_rand_below(rand, 2) == 0)
		(void)poll(NULL, 0, (int)m0_rand_below(rand, 3));
	m0_attach_close(&att);
}

static void random_entries_end_alone(void **state)
{
	const char      *text = getenv("M0_SEED");
	struct m0_rand   rand;
	struct m0_attach other;
	char            *at = pages_map(1);
	unsigned         i;

	(void)state;
	m0_rand_init(&rand, text == NULL ? 1 : strtoull(text, NULL, 10));
	attach(&other);
	for (i = 0; i < LIARS_NR; ++i)
		liar(&rand, at);
	assert_false(m0_attach_is_dead(&other));
	assert_int_equal(give(&other, 1, at, PAGE), 0);
	m0_attach_close(&other);
	nothing_pinned();
}

/* A child has the device still when the process that has opened it ends. */
static void parent_ends_run(void)
{
	struct pollfd    poller = { -1, POLLIN | POLLRDHUP, 0 };
	char             why[M0_ATTACH_WHY_BYTES];
	struct m0_attach att;
	int              ends[2];
	char             byte = 0;
	int              status;
	pid_t            pid;

	NEED(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		NEED(m0_attach_open(&att, path, NULL, soon(), why) == 0);
		NEED(give(&att, 1, pages_map(16), 16 * PAGE) == 0);
		if (fork() != 0)
			_exit(0);
		poller.fd = att.att_sock;
		/* The server rings first. */
		do {
			NEED(poll(&poller, 1, PATIENCE_MS) == 1);
			(void)ioctl(att.att_sock, M0_ATTACH_DEVICE_CALM);
		} while ((poller.revents & POLLHUP) == 0);
		NEED(write(ends[1], &byte, 1) == 1);
		_exit(0);
	}
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	(void)close(ends[1]);
	NEED(read(ends[0], &byte, 1) == 1);
}

static void end_of_the_process_ends_it(void **state)
{
	(void)state;
	apart(parent_ends_run);
}

/* A child does not have the area, what it writes to the device is harmless, and its own memory
 * is not registered. */
static void child_run(struct m0_attach *att, char *at)
{
	struct m0_attach_hello hello;
	unsigned char          resident;

	NEED(mincore(att->att_area, PAGE, &resident) == -1 && errno == ENOMEM);
	hello_fill(&hello);
	hello.ahl_head.ahd_type = M0_ATTACH_ENDED + 1;
	NEED(write_rc(att->att_sock, &hello, sizeof hello) == -EPROTO);
	NEED(ioctl(att->att_sock, M0_ATTACH_DEVICE_RING) == 0);
	NEED(give(att, 1, at, PAGE) == -EPERM);
	NEED(pinned() == 0);
	_exit(0);
}

static void child_does_no_harm(void **state)
{
	struct m0_attach att;
	int              status = -1;
	char            *at = pages_map(1);
	pid_t            pid;

	(void)state;
	attach(&att);
	pid = fork();
	if (pid == 0)
		child_run(&att, at);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(m0_attach_is_dead(&att));
	assert_int_equal(give(&att, 1, at, PAGE), 0);
	m0_attach_close(&att);
	nothing_pinned();
}

/* Everything of a process that is killed is released within a second, for which an
 * emulated machine of a busy host has several tries. */
static void killed_process_is_gone_soon(void **state)
{
	struct m0_attach_proc proc;
	struct m0_attach      att;
	m0_time_t             best = M0_TIME_NEVER;
	m0_time_t             began;
	unsigned              i;
	int                   ends[2];
	int                   fd = raw_open();
	char                  why[M0_ATTACH_WHY_BYTES];
	char                  byte = 0;
	pid_t                 pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (i = 0; i < KILLS_NR && best > M0_TIME_ONE_SECOND; ++i) {
		pid = fork();
		if (pid == 0) {
			NEED(m0_attach_open(&att, path, NULL, soon(), why) ==
			     0);
			NEED(give(&att, 1, pages_map(KILLED_PAGES),
				  KILLED_PAGES * PAGE) == 0);
			NEED(write(ends[1], &byte, 1) == 1);
			(void)pause();
		}
		assert_int_equal(read(ends[0], &byte, 1), 1);
		assert_int_equal(attached(fd, &proc), 1);
		began = m0_time_now();
		(void)kill(pid, SIGKILL);
		while (attached(fd, &proc) != 0 &&
		       m0_time_now() < began + 60 * M0_TIME_ONE_SECOND)
			(void)poll(NULL, 0, 1);
		best = min_check(best, m0_time_now() - began);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	print_message("killed: all is released after %u ms\n",
		      (unsigned)(best / M0_TIME_ONE_MSEC));
	assert_true(best <= M0_TIME_ONE_SECOND);
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)close(fd);
}

/* The file that was duplicated is the session's as long as one descriptor is open. */
static void session_ends_with_the_last_descriptor(void **state)
{
	struct m0_attach_proc proc;
	struct m0_attach      att;
	unsigned              i;
	int                   fd = raw_open();
	int                   again;

	(void)state;
	attach(&att);
	again = dup(att.att_sock);
	assert_true(again >= 0);
	(void)close(att.att_bell);
	(void)close(att.att_sock);
	att.att_sock = again;
	assert_int_equal(give(&att, 1, pages_map(1), PAGE), 0);
	assert_int_equal(attached(fd, &proc), 1);
	/* The area that is mapped keeps the file, not the session's end. */
	(void)munmap(att.att_area, m0_align(att.att_area_bytes, PAGE));
	(void)close(again);
	for (i = 0; i < PATIENCE_MS / 10 && attached(fd, &proc) != 0; ++i)
		(void)poll(NULL, 0, 10);
	assert_int_equal(attached(fd, &proc), 0);
	nothing_pinned();
	(void)close(fd);
}

/* Asks for a change of the node. @return rqc_rc; -EPROTO: it was detached. */
static int ask(struct m0_attach *att, uint32_t verb, uint32_t *gen)
{
	struct m0_shared_side   *side = &att->att_side;
	struct m0_ring_control  *record = m0_shared_control(side, 0);
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_CONTROL,
					 .srq_gen = ++*gen,
					 .srq_number = verb };
	struct m0_shared_report  rep;
	int                      rc;

	record->rqc_verb = verb;
	NEED(m0_shared_claim(side, 1));
	NEED(m0_shared_reserve(side, 1, NULL) == 0);
	m0_shared_commit(side, m0_shared_request_put(side, &req));
	m0_shared_bell(side);
	while ((rc = m0_shared_report_get(side, &rep, NULL)) == 0) {
		if (m0_attach_is_dead(att))
			return -EPROTO;
		(void)m0_shared_sleep(side, M0_SHARED_ENTRIES, soon());
	}
	NEED(rc > 0 && rep.shp_kind == M0_SHARED_ANSWER);
	m0_shared_release(side, 1, false);
	m0_shared_unclaim(side, 1);
	return record->rqc_rc;
}

static void user_run(void)
{
	static const uint32_t verbs[] = { M0_RING_NET_ADD, M0_RING_NET_DEL,
					  M0_RING_TUNE, M0_RING_UDSP_DEL };
	char                  why[M0_ATTACH_WHY_BYTES];
	struct m0_attach      att;
	uint32_t              gen = 0;
	unsigned              i;

	NEED(setgid(USER) == 0 && setuid(USER) == 0);
	NEED(m0_attach_open(&att, path, NULL, soon(), why) == 0);
	for (i = 0; i < ARRAY_SIZE(verbs); ++i)
		NEED(ask(&att, verbs[i], &gen) == -EPERM);
	NEED(ask(&att, M0_RING_NIDS_GET, &gen) > 0);
	m0_attach_close(&att);
}

static void users_change_nothing(void **state)
{
	(void)state;
	apart(user_run);
}

/* @return as ask(). */
static int random_ask(struct m0_rand *rand, struct m0_attach *att,
		      uint32_t *gen)
{
	struct m0_ring_control *record = m0_shared_control(&att->att_side, 0);
	uint32_t               *words = (uint32_t *)(void *)record->rqc_piece;
	unsigned                nr = (unsigned)m0_rand_below(rand, 64);
	uint32_t                verb;

	memset(record, 0, sizeof *record);
	while (nr-- > 0)
		words[m0_rand_below(rand, nr > 32 ? 16 : 512)] =
			(uint32_t)(m0_rand_below(rand, 2) == 0
					   ? m0_rand_below(rand, 4)
					   : m0_rand_next(rand));
	do {
		verb = (uint32_t)m0_rand_below(rand, M0_RING_VERBS_NR);
	} while (m0_shared_verb_right(verb) != M0_SHARED_RIGHT_ADMIN);
	return ask(att, verb, gen);
}

/* Root's requests may change the node, and break nothing. */
static void random_changes_do_no_harm(void **state)
{
	const char      *text = getenv("M0_SEED");
	struct m0_rand   rand;
	struct m0_attach att;
	uint32_t         gen = 0;
	unsigned         accepted = 0;
	unsigned         i;

	(void)state;
	m0_rand_init(&rand, text == NULL ? 1 : strtoull(text, NULL, 10));
	attach(&att);
	for (i = 0; i < CHANGES_NR; ++i) {
		accepted += random_ask(&rand, &att, &gen) >= 0;
		if (m0_attach_is_dead(&att)) {
			m0_attach_close(&att);
			attach(&att);
		}
	}
	print_message("changes: %u of %d were accepted\n", accepted,
		      (int)CHANGES_NR);
	assert_true(accepted > 0);
	/* The node answers still. */
	assert_true(ask(&att, M0_RING_NIDS_GET, &gen) > 0);
	m0_attach_close(&att);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(processes_are_told),
		cmocka_unit_test(messages_out_of_turn_end_it),
		cmocka_unit_test(area_alone_is_mapped),
		cmocka_unit_test(memory_is_checked),
		cmocka_unit_test(locked_memory_is_limited),
		cmocka_unit_test(sessions_are_limited),
		cmocka_unit_test(lying_index_ends_it),
		cmocka_unit_test(random_entries_end_alone),
		cmocka_unit_test(end_of_the_process_ends_it),
		cmocka_unit_test(child_does_no_harm),
		cmocka_unit_test(killed_process_is_gone_soon),
		cmocka_unit_test(session_ends_with_the_last_descriptor),
		cmocka_unit_test(users_change_nothing),
		cmocka_unit_test(operations_need_few_calls),
		cmocka_unit_test(memory_goes_while_data_move),
		cmocka_unit_test(random_changes_do_no_harm),
	};

	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
