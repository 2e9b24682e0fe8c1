/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Has the kernel refuse the first, second, third ... allocation of an operation, until the
 * operation makes fewer and succeeds: before, it fails with one of a few errors, or does
 * without. For a kernel with fault injection (tests/vm/run --debug).
 *
 *     fail_test load MODULE PARAMETERS    loads it; rmmod
 *     fail_test attach DEVICE             open, hello, a region, a bell, close
 *     fail_test file PATH                 writes and reads
 *
 * M0_SHARE=N: one allocation of so many, drawn from M0_SEED.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/attach.h"
#include "base/rand.h"

enum {
	BYTES = 256 << 10,
	/* No operation has so many allocations. */
	NTH_MAX = 20000,
	PATIENCE_S = 60
};

/* One operation, in full, without the traces of an earlier one. Returns 0 or an errno. */
typedef int (*op_t)(void);

static const char    *arg_path;
static const char    *arg_params = "";
static void          *memory;
static int            nth_fd;
static unsigned       share = 1;
static struct m0_rand rand_of_nth;

static void fail(const char *what, int line)
{
	(void)fprintf(stderr, "fail_test: line %d: %s: %s\n", line, what,
		      strerror(errno));
	exit(1);
}
#define NEED(holds)                             \
	do {                                    \
		if (!(holds))                   \
			fail(#holds, __LINE__); \
	} while (0)

/* The allocation that fails next, or 0. */
static unsigned nth_get(void)
{
	char    text[32] = "";
	ssize_t nr = pread(nth_fd, text, sizeof text - 1, 0);

	NEED(nr > 0);
	return (unsigned)strtoul(text, NULL, 0);
}

static void nth_set(unsigned nth)
{
	char text[32];
	int  nr = snprintf(text, sizeof text, "%u", nth);

	NEED(pwrite(nth_fd, text, (size_t)nr, 0) == nr);
}

/* One of `share` in the mean. */
static unsigned nth_next(unsigned nth)
{
	return nth + 1 + (unsigned)m0_rand_below(&rand_of_nth, 2 * share - 1);
}

static unsigned of_env(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text == NULL ? otherwise : (unsigned)strtoul(text, NULL, 0);
}

/* ------------------------------------------------------------ operations -- */

static int module_load(void)
{
	int fd = open(arg_path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return errno;
	rc = syscall(SYS_finit_module, fd, arg_params, 0) == 0 ? 0 : errno;
	(void)close(fd);
	return rc;
}

/* Without failures: what was loaded is unloaded. */
static void module_undo(void)
{
	char  name[64];
	char *end;

	(void)snprintf(name, sizeof name, "%s", strrchr(arg_path, '/') + 1);
	end = strchr(name, '.');
	if (end != NULL)
		*end = 0;
	NEED(syscall(SYS_delete_module, name, 0) == 0);
}

static int process_attach(void)
{
	char             why[M0_ATTACH_WHY_BYTES] = "";
	struct m0_attach att;
	m0_time_t        end = m0_time_from_now(PATIENCE_S, 0);
	int              rc = m0_attach_open(&att, arg_path, NULL, end, why);

	if (rc != 0)
		return -rc;
	rc = m0_attach_region_give(&att, 1, memory, -1, BYTES, end, why);
	if (rc == 0)
		rc = ioctl(att.att_sock, M0_ATTACH_DEVICE_RING) == 0 ? 0
								     : -errno;
	m0_attach_close(&att);
	return -rc;
}

static void process_undo(void)
{
}

static int file_use(void)
{
	int rc = 0;
	int fd = open(arg_path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno;
	if (pwrite(fd, memory, BYTES, 0) != BYTES ||
	    pread(fd, memory, BYTES, 0) != BYTES)
		rc = errno == 0 ? EIO : errno;
	(void)close(fd);
	return rc;
}

/* ------------------------------------------------------------------ main -- */

static bool is_clean(int rc)
{
	static const int clean[] = { 0,      ENOMEM, ENOBUFS, EAGAIN,
				     EFAULT, EIO,    ENOSPC };
	size_t           i;

	for (i = 0; i < sizeof clean / sizeof clean[0]; ++i)
		if (rc == clean[i])
			return true;
	return false;
}

static void series(op_t op, void (*undo)(void))
{
	unsigned failed_nr = 0;
	unsigned tried_nr = 0;
	unsigned nth;

	for (nth = nth_next(0); nth < NTH_MAX; nth = nth_next(nth)) {
		unsigned left;
		int      rc;

		errno = 0;
		nth_set(nth);
		rc = op();
		left = nth_get();
		nth_set(0);
		if (rc == 0)
			undo();
		if (left != 0) {
			errno = rc;
			NEED(rc == 0);
			break;
		}
		/* Leftovers of an earlier failure would show here. */
		errno = rc;
		NEED(is_clean(rc));
		failed_nr += rc != 0;
		++tried_nr;
	}
	NEED(nth < NTH_MAX);
	(void)printf("fail_test: fewer than %u allocations, of which %u were "
		     "tried; it failed without %u\n",
		     nth, tried_nr, failed_nr);
}

int main(int argc, char **argv)
{
	NEED(argc >= 3);
	share = of_env("M0_SHARE", 1);
	NEED(share > 0);
	m0_rand_init(&rand_of_nth, of_env("M0_SEED", 1));
	arg_path = argv[2];
	if (argc > 3)
		arg_params = argv[3];
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	NEED(memory != MAP_FAILED);
	nth_fd = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	NEED(nth_fd >= 0);
	if (strcmp(argv[1], "load") == 0)
		series(module_load, module_undo);
	else if (strcmp(argv[1], "attach") == 0)
		series(process_attach, process_undo);
	else
		series(file_use, process_undo);
	return 0;
}
