/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "m0/base.h"
#include "file_save.h"

enum {
	/** Names that are tried for the temporary file. */
	NAMES_NR = 100,
	FD_PATH_BYTES = 32,
	MODE_NEW = 0666,
	MODE_BITS = 07777
};

/** The file that gets a new content. */
struct target {
	/** Its name without links. */
	char *tgt_path;
	/** The temporary file beside it, and whether it has its name yet: it is
	 * not there then when the command is killed. */
	char *tgt_tmp;
	bool  tgt_named;
	int   tgt_fd;
	/** Signals that were blocked before. */
	sigset_t tgt_signals;
};

static int text_write(int fd, const char *text, size_t nr)
{
	while (nr > 0) {
		ssize_t put = write(fd, text, nr);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		text += put;
		nr -= (size_t)put;
	}
	return 0;
}

/* Writes to what is there: a device, a FIFO, a file in a directory of others. */
static int straight(const char *path, mode_t mode, const char *text, size_t nr)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	int rc;

	if (fd < 0)
		return -errno;
	rc = text_write(fd, text, nr);
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

static bool mode_set(int fd, mode_t mode)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	return fchmod(fd, mode & ~mask) == 0;
}

/* Gives the temporary file the mode and the owner of the file that it replaces. */
static bool owner_take(int fd, const struct stat *old)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return false;
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid) != 0)
		return false;
	return fchmod(fd, old->st_mode & MODE_BITS) == 0;
}

/* Signals that end the command wait while the temporary file has a name. */
static void signals_block(struct target *target)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, &target->tgt_signals);
	target->tgt_named = true;
}

static void target_fini(struct target *target)
{
	if (target->tgt_fd >= 0) {
		(void)close(target->tgt_fd);
		if (target->tgt_named)
			(void)unlink(target->tgt_tmp);
	}
	if (target->tgt_named)
		(void)sigprocmask(SIG_SETMASK, &target->tgt_signals, NULL);
	free(target->tgt_tmp);
	free(target->tgt_path);
}

static char *fd_path(int fd, char ret[FD_PATH_BYTES])
{
	snprintf(ret, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
	return ret;
}

/* Makes a temporary file without a name, or with one where there is no such. */
static void target_open(struct target *target)
{
	char *slash = strrchr(target->tgt_tmp, '/');
	char  path[FD_PATH_BYTES];

	if (slash != NULL)
		*slash = '\0';
	target->tgt_fd = open(slash == NULL              ? "."
			      : slash == target->tgt_tmp ? "/"
							 : target->tgt_tmp,
			      O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (slash != NULL)
		*slash = '/';
	if (target->tgt_fd >= 0 &&
	    access(fd_path(target->tgt_fd, path), F_OK) == 0)
		return;
	if (target->tgt_fd >= 0)
		(void)close(target->tgt_fd);
	signals_block(target);
	target->tgt_fd = mkostemp(target->tgt_tmp, O_CLOEXEC);
}

/* Gives the temporary file a name. */
static int target_name(struct target *target)
{
	char    *end = strchr(target->tgt_tmp, '\0') - strlen("XXXXXX");
	unsigned number = (unsigned)getpid();
	char     path[FD_PATH_BYTES];
	unsigned i;
	int      rc = -EEXIST;

	if (target->tgt_named)
		return 0;
	signals_block(target);
	for (i = 0; i < NAMES_NR && rc == -EEXIST; ++i) {
		snprintf(end, sizeof "XXXXXX", "%06u", (number + i) % 1000000);
		rc = linkat(AT_FDCWD, fd_path(target->tgt_fd, path), AT_FDCWD,
			    target->tgt_tmp, AT_SYMLINK_FOLLOW) == 0
			     ? 0
			     : -errno;
	}
	if (rc != 0) {
		/* The name may be another file's. */
		(void)close(target->tgt_fd);
		target->tgt_fd = -1;
	}
	return rc;
}

/* @return can the file be replaced? */
static bool target_init(struct target *target, const char *path, mode_t mode)
{
	struct stat st;
	bool        is_there = stat(path, &st) == 0;

	*target = (struct target){ .tgt_fd = -1 };
	/* A name there may be that of a descriptor which others write to. */
	if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
		return false;
	if (is_there && S_ISREG(st.st_mode))
		target->tgt_path = realpath(path, NULL);
	else if (!is_there && lstat(path, &st) != 0)
		target->tgt_path = strdup(path);
	if (target->tgt_path == NULL ||
	    (is_there && access(target->tgt_path, W_OK) != 0) ||
	    asprintf(&target->tgt_tmp, "%s.XXXXXX", target->tgt_path) < 0) {
		target->tgt_tmp = NULL;
		return false;
	}
	target_open(target);
	if (target->tgt_fd < 0)
		return false;
	return mode == 0 && is_there
		       ? owner_take(target->tgt_fd, &st)
		       : mode_set(target->tgt_fd, mode ?: MODE_NEW);
}

static int target_write(struct target *target, const char *text, size_t nr)
{
	int rc = text_write(target->tgt_fd, text, nr);

	if (rc == 0 && fsync(target->tgt_fd) != 0)
		rc = -errno;
	if (rc == 0)
		rc = target_name(target);
	if (rc == 0 && rename(target->tgt_tmp, target->tgt_path) != 0)
		rc = -errno;
	if (rc == 0) {
		(void)close(target->tgt_fd);
		target->tgt_fd = -1;
	}
	return rc;
}

int file_save(const char *path, mode_t mode, const char *text, size_t nr)
{
	struct target target;
	bool          replaces = target_init(&target, path, mode);
	int           rc = replaces ? target_write(&target, text, nr) : 0;

	target_fini(&target);
	return replaces ? rc : straight(path, mode ?: MODE_NEW, text, nr);
}
