/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Faults for LD_PRELOAD: of the disk, the clock and the scheduler of
 * `colibri serve', of the memory of its clients, and of the end of
 * `colibri copy --listen'. Files in $SERVICE_SHIM_DIR choose them at any time:
 *
 *	create	a thread that makes a file waits as long as it is there, and
 *		makes `creates'
 *	fsync	fsync() fails with EIO
 *	hang	fsync() waits as long as it is there, and makes `hangs'
 *	late	fdatasync() takes a third of a second
 *	clock	holds seconds that the wall clock is ahead
 *	slow	the store's thread sleeps whenever it frees memory
 *	walk	readdir() has no memory
 *	lock	flock() waits as long as it is there, and makes `locks'
 *	named	the process is killed when a file has got its name
 *	page	what is written to memory finds no room there
 *	nopage	there is not even memory for writing to it
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* In place of the C library's. */
#define SHIM __attribute__((visibility("default")))

void __libc_free(void *at);

static int said_open(const char *name, int flags)
{
	const char *dir = getenv("SERVICE_SHIM_DIR");
	char        path[4096];

	if (dir == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return open(path, flags | O_CLOEXEC, 0600);
}

/* Opens one of the files; -1: it is not there. */
static int said(const char *name)
{
	return said_open(name, O_RDONLY);
}

static int is_said(const char *name)
{
	int saved = errno;
	int fd = said(name);

	if (fd >= 0)
		(void)close(fd);
	errno = saved;
	return fd >= 0;
}

/* Says that it waits, too. */
static void wait_while(const char *name, const char *waits)
{
	const struct timespec nap = { .tv_nsec = 10000000 };

	for (; is_said(name); (void)nanosleep(&nap, NULL))
		(void)close(said_open(waits, O_WRONLY | O_CREAT));
}

SHIM int openat(int dir, const char *path, int flags, ...)
{
	va_list more;
	mode_t  mode = 0;

	if (flags & O_CREAT) {
		va_start(more, flags);
		mode = va_arg(more, mode_t);
		va_end(more);
		wait_while("create", "creates");
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

SHIM int fsync(int fd)
{
	wait_while("hang", "hangs");
	if (is_said("fsync")) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

SHIM int fdatasync(int fd)
{
	const struct timespec nap = { .tv_nsec = 333000000 };

	if (is_said("late"))
		(void)nanosleep(&nap, NULL);
	return (int)syscall(SYS_fdatasync, fd);
}

static int named(int rc)
{
	if (rc == 0 && is_said("named"))
		(void)raise(SIGKILL);
	return rc;
}

SHIM int linkat(int from_dir, const char *from, int to_dir, const char *to,
		int flags)
{
	return named(
		(int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags));
}

SHIM int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return named(
		(int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0));
}

SHIM int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int  rc = (int)syscall(SYS_clock_gettime, clock, ret);
	int  fd = clock == CLOCK_REALTIME ? said("clock") : -1;
	char text[32] = "";

	if (fd >= 0) {
		if (read(fd, text, sizeof text - 1) > 0)
			ret->tv_sec += atol(text);
		(void)close(fd);
	}
	return rc;
}

/* No header names it here: <dirent.h> gives it the name of readdir. */
SHIM void *readdir64(void *dir);

SHIM void *readdir64(void *dir)
{
	void *(*next)(void *dir);

	if (is_said("walk")) {
		errno = ENOMEM;
		return NULL;
	}
	*(void **)&next = dlsym(RTLD_NEXT, "readdir64");
	return next(dir);
}

SHIM int flock(int fd, int operation)
{
	wait_while("lock", "locks");
	return (int)syscall(SYS_flock, fd, operation);
}

SHIM FILE *open_memstream(char **text, size_t *nr)
{
	FILE *(*next)(char **text, size_t *nr);

	if (is_said("nopage")) {
		errno = ENOMEM;
		return NULL;
	}
	if (is_said("page"))
		return fopen("/dev/full", "w");
	*(void **)&next = dlsym(RTLD_NEXT, "open_memstream");
	return next(text, nr);
}

SHIM void free(void *at)
{
	const struct timespec nap = { .tv_nsec = 500000000 };
	char                  name[16] = "";

	(void)prctl(PR_GET_NAME, name);
	if (strcmp(name, "m0-store") == 0 && is_said("slow"))
		(void)nanosleep(&nap, NULL);
	__libc_free(at);
}
