/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_file.h"

enum {
	MODE_NEW = 0666,
	MODE_BITS = 07777
};

/** The file that gets a new content. */
struct target {
	/** Its name without links. */
	char *tgt_path;
	/** The temporary file beside it. */
	char *tgt_tmp;
	int   tgt_fd;
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
static int straight(const char *path, const char *text, size_t nr)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, MODE_NEW);
	int rc;

	if (fd < 0)
		return -errno;
	rc = text_write(fd, text, nr);
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

/* Gives the temporary file the mode and the owner of the file that it replaces. */
static bool owner_take(int fd, const struct stat *old)
{
	struct stat st;
	mode_t      mask;

	if (old == NULL) {
		mask = umask(0);
		(void)umask(mask);
		return fchmod(fd, MODE_NEW & ~mask) == 0;
	}
	if (fstat(fd, &st) != 0)
		return false;
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid) != 0)
		return false;
	return fchmod(fd, old->st_mode & MODE_BITS) == 0;
}

static void target_fini(struct target *target)
{
	if (target->tgt_fd >= 0) {
		(void)close(target->tgt_fd);
		(void)unlink(target->tgt_tmp);
	}
	free(target->tgt_tmp);
	free(target->tgt_path);
}

/* @return can the file be replaced? */
static bool target_init(struct target *target, const char *path)
{
	struct stat st;
	bool        is_there = stat(path, &st) == 0;

	*target = (struct target){ NULL, NULL, -1 };
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
	target->tgt_fd = mkostemp(target->tgt_tmp, O_CLOEXEC);
	return target->tgt_fd >= 0 &&
	       owner_take(target->tgt_fd, is_there ? &st : NULL);
}

static int target_write(struct target *target, const char *text, size_t nr)
{
	int rc = text_write(target->tgt_fd, text, nr);

	if (rc == 0 && fsync(target->tgt_fd) != 0)
		rc = -errno;
	if (rc == 0 && rename(target->tgt_tmp, target->tgt_path) != 0)
		rc = -errno;
	if (rc == 0) {
		(void)close(target->tgt_fd);
		target->tgt_fd = -1;
	}
	return rc;
}

int conf_save(const char *path, const char *text, size_t nr)
{
	struct target target;
	bool          replaces = target_init(&target, path);
	int           rc = replaces ? target_write(&target, text, nr) : 0;

	target_fini(&target);
	return replaces ? rc : straight(path, text, nr);
}
