/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A process of the device moves messages to itself: it counts its system calls, and takes
 * memory away under way. It is inline and polls, so that both sides are busy.
 * [r.M0.net.xprt.lnet.efficient-user-to-kernel-comm]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "device_calls.h"
#include "m0/lnet.h"

enum {
	PORTAL = 33,
	/** Messages under way. */
	DEPTH = 64,
	OPS_NR = 4096,
	/** One system call for so many operations is accepted. */
	OPS_OF_CALL = 50,
	/** System calls that the count itself needs. */
	OWN_CALLS = 16,
	/** How often a process that polls looks for the end of the server. */
	LOOK_MS = 10,
	TRIES_NR = 5,
	TARGET_BYTES = 1 << 20,
	PIECE_BYTES = 64 << 10,
	MOVES_NR = 64
};

static const char tracing[] = "/sys/kernel/tracing";
static const char enter[] = "/sys/kernel/tracing/events/raw_syscalls/sys_enter";

static struct m0_lnet       *lnet;
static struct m0_lnet_eq     eq;
static struct m0_lnet_handle target_me;
static struct m0_lnet_handle target_md;
static struct m0_lnet_handle source_md;
/** Events of SEND and PUT, operations that were begun, and MDs that have ended. */
static unsigned sent_nr;
static unsigned put_nr;
static unsigned begun_nr;
static unsigned ended_nr;

static void called(struct m0_lnet_eq *from, const struct m0_lnet_event *ev)
{
	(void)from;
	ended_nr += ev->ev_unlinked;
	if (ev->ev_status != 0 || ev->ev_type == M0_LNET_EV_UNLINK)
		return;
	sent_nr += ev->ev_type == M0_LNET_EV_SEND;
	put_nr += ev->ev_type == M0_LNET_EV_PUT;
}

static void *pages(size_t bytes, void *at)
{
	void *ret =
		mmap(at, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | (at == NULL ? 0 : MAP_FIXED),
		     -1, 0);

	assert_ptr_not_equal(ret, MAP_FAILED);
	return ret;
}

static void front_open(void)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "/dev/colibri");
	cfg.lc_inline = true;
	if (m0_lnet_open(&lnet, &cfg, why) != 0)
		fail_msg("%s", why);
	m0_lnet_eq_init(&eq, lnet, called, 0);
	sent_nr = put_nr = begun_nr = ended_nr = 0;
}

/* An ME with an MD over `target`, and an MD over `source`. */
static void mds_make(struct m0_bufvec *target, struct m0_bufvec *source,
		     size_t bytes)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = target,
		.mda_length = bytes,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
		.mda_eq = &eq,
	};

	assert_int_equal(m0_lnet_me_attach(lnet, &me, &target_me), 0);
	assert_int_equal(m0_lnet_md_attach(lnet, target_me, &md, &target_md),
			 0);
	md.mda_vec = source;
	md.mda_options = 0;
	assert_int_equal(m0_lnet_md_bind(lnet, &md, &source_md), 0);
}

static void put(m0_bcount_t at, m0_bcount_t bytes)
{
	const struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_offset = (uint32_t)at,
		.lo_md_offset = at,
		.lo_bytes = bytes,
	};

	assert_int_equal(m0_lnet_put(lnet, source_md, &op), 0);
	++begun_nr;
}

static void until(const unsigned *nr, unsigned wanted)
{
	m0_time_t end = m0_time_from_now(60, 0);

	while (*nr < wanted) {
		assert_true(m0_time_now() < end);
		(void)m0_lnet_progress(lnet);
	}
}

static void front_close(void)
{
	assert_int_equal(m0_lnet_me_unlink(lnet, target_me), 0);
	assert_int_equal(m0_lnet_md_unlink(lnet, source_md), 0);
	until(&ended_nr, 2);
}

/* ------------------------------------------------------------------- calls -- */

static void text_write(const char *name, const char *text)
{
	char    path[256];
	ssize_t nr = (ssize_t)strlen(text);
	int     fd;

	(void)snprintf(path, sizeof path, "%s/%s", enter, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, (size_t)nr), nr);
	(void)close(fd);
}

/* The kernel counts system calls of this thread from now on. */
static void count_begin(void)
{
	char text[128];

	if (access(enter, F_OK) != 0)
		assert_int_equal(mount("tracefs", tracing, "tracefs", 0, NULL),
				 0);
	(void)snprintf(text, sizeof text,
		       "hist:keys=common_pid if common_pid == %d",
		       (int)getpid());
	text_write("trigger", text);
}

static unsigned long count_get(void)
{
	char          path[256];
	char          line[256];
	unsigned long ret = 0;
	FILE         *file;

	(void)snprintf(path, sizeof path, "%s/hist", enter);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL)
		(void)sscanf(line, " Hits: %lu", &ret);
	(void)fclose(file);
	return ret;
}

static void count_end(void)
{
	char text[128];

	(void)snprintf(text, sizeof text,
		       "!hist:keys=common_pid if common_pid == %d",
		       (int)getpid());
	text_write("trigger", text);
}

/* @return system calls, but for those that the time alone asks for. */
static long ops_do(void)
{
	unsigned      sent = sent_nr + OPS_NR;
	m0_time_t     began = m0_time_now();
	unsigned long before = count_get();
	long          looks;
	long          ret;

	while (sent_nr < sent) {
		while (begun_nr < sent && begun_nr - sent_nr < DEPTH)
			put(0, 64);
		(void)m0_lnet_progress(lnet);
	}
	until(&put_nr, sent);
	looks = (long)((m0_time_now() - began) / M0_TIME_ONE_MSEC / LOOK_MS);
	ret = (long)(count_get() - before);
	print_message("%d operations, %d under way: %ld system calls in %ld "
		      "ms\n",
		      (int)OPS_NR, (int)DEPTH, ret, looks * LOOK_MS);
	return ret - looks;
}

/* At most 0.02 system calls an operation, in the best of some tries: the node's thread may
 * have no processor for a while, and sleeps when it finds nothing to do. */
void operations_need_few_calls(void **state)
{
	void            *at = m0_alloc_aligned(TARGET_BYTES, 12);
	m0_bcount_t      bytes = TARGET_BYTES;
	struct m0_bufvec vec = { .ov_vec = { .v_nr = 1, .v_count = &bytes },
				 .ov_buf = &at };
	long             best = LONG_MAX;
	unsigned         i;

	(void)state;
	assert_non_null(at);
	/* The kernel of --debug counts none, and is too slow to poll. */
	if (getenv("VM_debug") != NULL) {
		m0_free_aligned(at, TARGET_BYTES, 12);
		skip();
	}
	front_open();
	assert_int_equal(m0_lnet_mem_register(lnet, at, TARGET_BYTES), 0);
	mds_make(&vec, &vec, TARGET_BYTES);
	count_begin();
	for (i = 0; i < TRIES_NR && best > OPS_NR / OPS_OF_CALL + OWN_CALLS;
	     ++i)
		best = min_check(best, ops_do());
	count_end();
	front_close();
	m0_lnet_mem_deregister(lnet, at, TARGET_BYTES);
	m0_lnet_close(lnet);
	m0_lnet_eq_fini(&eq);
	m0_free_aligned(at, TARGET_BYTES, 12);
	assert_true(best <= OPS_NR / OPS_OF_CALL + OWN_CALLS);
}

/* ------------------------------------------------------------------ memory -- */

static bool is_zero(const char *at, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; ++i)
		if (at[i] != 0)
			return false;
	return true;
}

/* Data go to the pages that were registered, not to what has their place now. */
void memory_goes_while_data_move(void **state)
{
	char            *to = pages(TARGET_BYTES, NULL);
	char            *from = pages(TARGET_BYTES, NULL);
	m0_bcount_t      bytes = TARGET_BYTES;
	struct m0_bufvec target = { .ov_vec = { .v_nr = 1, .v_count = &bytes },
				    .ov_buf = (void **)&to };
	struct m0_bufvec source = { .ov_vec = { .v_nr = 1, .v_count = &bytes },
				    .ov_buf = (void **)&from };
	unsigned         i;

	(void)state;
	memset(from, 'x', TARGET_BYTES);
	front_open();
	assert_int_equal(m0_lnet_mem_register(lnet, to, TARGET_BYTES), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, from, TARGET_BYTES), 0);
	mds_make(&target, &source, TARGET_BYTES);
	for (i = 0; i < MOVES_NR; ++i) {
		if (i == MOVES_NR / 4)
			(void)pages(TARGET_BYTES, to);
		if (i == MOVES_NR / 2)
			assert_int_equal(munmap(from, TARGET_BYTES), 0);
		put(i % 16 * PIECE_BYTES, PIECE_BYTES);
	}
	until(&put_nr, MOVES_NR);
	until(&sent_nr, MOVES_NR);
	assert_true(is_zero(to, TARGET_BYTES));
	front_close();
	m0_lnet_mem_deregister(lnet, to, TARGET_BYTES);
	m0_lnet_mem_deregister(lnet, from, TARGET_BYTES);
	m0_lnet_close(lnet);
	m0_lnet_eq_fini(&eq);
	(void)munmap(to, TARGET_BYTES);
}
