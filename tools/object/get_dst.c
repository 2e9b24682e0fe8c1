/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cmd.h"
#include "get_dst.h"

/* A directory below another. */
static int below(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH |
					   RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof how);

	return fd < 0 ? -errno : (int)fd;
}

const char *get_dst_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* `nr` bytes of `path`, and what is above them. */
static int dir_make(int root_fd, const char *path, size_t nr)
{
	char   head[PATH_MAX];
	size_t part = nr;
	int    up;
	int    rc;

	snprintf(head, sizeof head, "%.*s", (int)nr, path);
	rc = below(root_fd, nr == 0 ? "." : head);
	if (rc != -ENOENT || nr == 0)
		return rc;
	while (part > 0 && path[part - 1] != '/')
		--part;
	up = dir_make(root_fd, path, part == 0 ? 0 : part - 1);
	if (up < 0)
		return up;
	rc = mkdirat(up, head + part, 0777) != 0 && errno != EEXIST ? -errno
								    : 0;
	(void)close(up);
	return rc != 0 ? rc : below(root_fd, head);
}

int get_dst_dir(int root_fd, const char *path)
{
	size_t nr = (size_t)(get_dst_base(path) - path);

	if (nr >= PATH_MAX)
		return -ENAMETOOLONG;
	return dir_make(root_fd, path, nr == 0 ? 0 : nr - 1);
}

bool get_dst_can_make(const char *path)
{
	char        up[PATH_MAX];
	struct stat st;

	snprintf(up, sizeof up, "%s", path);
	if (path[0] == '\0' || lstat(path, &st) == 0)
		errno = ENOENT; /* a link to nothing */
	else if (errno == ENOENT)
		return faccessat(AT_FDCWD, dirname(up), W_OK | X_OK,
				 AT_EACCESS) == 0;
	return false;
}

/* Does it lead to what a process has open, and not to a name? */
static bool is_magic(int dir_fd, const char *base)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, dir_fd, base, &how, sizeof how);

	if (fd < 0)
		return errno == ELOOP;
	(void)close((int)fd);
	return false;
}

int get_dst_check(int dir_fd, const char *base)
{
	struct stat st;

	/* Follow a link, since a rename would replace the link itself, and
	 * /dev/stdout is a link even where it leads to a file. */
	if (fstatat(dir_fd, base, &st, 0) != 0)
		return 0;
	if (S_ISREG(st.st_mode))
		return is_magic(dir_fd, base) ? -EMEDIUMTYPE : 0;
	return S_ISDIR(st.st_mode) ? -EISDIR : -EMEDIUMTYPE;
}

const char *get_dst_errtext(int rc)
{
	switch (rc) {
	case -EMEDIUMTYPE:
		return "the path exists and is not a regular file";
	case -EBUSY:
		return "its part files, .colibri-*.part beside it, are in use "
		       "or not of this user's making; remove them";
	default:
		return tool_errtext(rc);
	}
}

int get_dst_write(int fd, const void *bytes, uint64_t nr, uint64_t off)
{
	const char *at = bytes;
	ssize_t     part;

	while (nr > 0) {
		part = pwrite(fd, at, nr, (off_t)off);
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return part < 0 ? -errno : -EIO;
		at += part;
		off += (uint64_t)part;
		nr -= (uint64_t)part;
	}
	return 0;
}
