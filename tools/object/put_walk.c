/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "m0/base.h"

#include "put_walk.h"

struct put_dir {
	DIR            *pwd_dir;
	struct put_dir *pwd_up;
	/** Length of its path. */
	size_t pwd_path_nr;
};

void put_walk_init(struct put_walk *walk, char *const *roots, bool recursive)
{
	M0_SET0(walk);
	walk->pwk_next = roots;
	walk->pwk_recursive = recursive;
}

static void dir_leave(struct put_walk *walk)
{
	struct put_dir *dir = walk->pwk_dir;

	walk->pwk_dir = dir->pwd_up;
	(void)closedir(dir->pwd_dir);
	m0_free(dir);
}

void put_walk_fini(struct put_walk *walk)
{
	while (walk->pwk_dir != NULL)
		dir_leave(walk);
}

bool put_walk_at_root(const struct put_walk *walk)
{
	return walk->pwk_dir_fd == AT_FDCWD;
}

static int no_follow(const struct put_walk *walk)
{
	return put_walk_at_root(walk) ? 0 : O_NOFOLLOW;
}

/* Opens the directory that was found, and goes on in it. */
static int dir_enter(struct put_walk *walk)
{
	struct put_dir *dir;
	int             fd = openat(walk->pwk_dir_fd, walk->pwk_base,
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_follow(walk));
	int             rc = fd < 0 ? -errno : 0;

	if (rc != 0)
		return rc;
	M0_ALLOC_PTR(dir);
	if (dir != NULL)
		dir->pwd_dir = fdopendir(fd);
	if (dir == NULL || dir->pwd_dir == NULL) {
		(void)close(fd);
		m0_free(dir);
		return -ENOMEM;
	}
	dir->pwd_path_nr = strlen(walk->pwk_path);
	dir->pwd_up = walk->pwk_dir;
	walk->pwk_dir = dir;
	return 0;
}

/* The next name in the directory that is read; NULL: there is none, or errno
 * says why. */
static const char *name_next(struct put_walk *walk)
{
	struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(walk->pwk_dir->pwd_dir);
	} while (entry != NULL && (strcmp(entry->d_name, ".") == 0 ||
				   strcmp(entry->d_name, "..") == 0));
	return entry == NULL ? NULL : entry->d_name;
}

/* Makes pwk_path that of a name in the directory. */
static int path_set(struct put_walk *walk, const char *name)
{
	size_t nr = walk->pwk_dir->pwd_path_nr;
	char  *at = walk->pwk_path + nr;
	size_t room = sizeof walk->pwk_path - nr;
	bool   slash = nr > 0 && walk->pwk_path[nr - 1] == '/';
	int    need = snprintf(at, room, "%s%s", slash ? "" : "/", name);

	return need < 0 || (size_t)need >= room ? -ENAMETOOLONG : 0;
}

/* Looks at pwk_base. @return false: a directory, which is read now. */
static bool look(struct put_walk *walk, enum put_found *ret)
{
	bool root = put_walk_at_root(walk);

	*ret = PUT_FOUND_ERROR;
	walk->pwk_rc = 0;
	if (fstatat(walk->pwk_dir_fd, walk->pwk_base, &walk->pwk_stat,
		    root ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
		walk->pwk_rc = -errno;
	} else if (S_ISREG(walk->pwk_stat.st_mode)) {
		*ret = PUT_FOUND_FILE;
	} else if (!S_ISDIR(walk->pwk_stat.st_mode)) {
		*ret = PUT_FOUND_OTHER;
	} else if (root && !walk->pwk_recursive) {
		*ret = PUT_FOUND_DIR;
	} else {
		walk->pwk_rc = dir_enter(walk);
		/* No directory any more, but a link, say. */
		if (!root &&
		    (walk->pwk_rc == -ENOTDIR || walk->pwk_rc == -ELOOP))
			*ret = PUT_FOUND_OTHER;
		return walk->pwk_rc != 0;
	}
	return true;
}

static void root_take(struct put_walk *walk)
{
	walk->pwk_root = *walk->pwk_next++;
	walk->pwk_dir_fd = AT_FDCWD;
	walk->pwk_base = walk->pwk_root;
	(void)snprintf(walk->pwk_path, sizeof walk->pwk_path, "%s",
		       walk->pwk_root);
}

bool put_walk_next(struct put_walk *walk, enum put_found *ret)
{
	const char *name;

	while (walk->pwk_dir != NULL || *walk->pwk_next != NULL) {
		if (walk->pwk_dir == NULL) {
			root_take(walk);
			if (look(walk, ret))
				return true;
			continue;
		}
		name = name_next(walk);
		walk->pwk_rc = -errno;
		if (name != NULL) {
			walk->pwk_rc = path_set(walk, name);
			walk->pwk_dir_fd = dirfd(walk->pwk_dir->pwd_dir);
			walk->pwk_base = name;
			*ret = PUT_FOUND_ERROR;
			if (walk->pwk_rc != 0 || look(walk, ret))
				return true;
			continue;
		}
		walk->pwk_path[walk->pwk_dir->pwd_path_nr] = '\0';
		dir_leave(walk);
		*ret = PUT_FOUND_LESS;
		if (walk->pwk_rc != 0)
			return true;
	}
	return false;
}

int put_walk_open(const struct put_walk *walk)
{
	/* Not blocking, so that a pipe is refused and not waited for. */
	int fd = openat(walk->pwk_dir_fd, walk->pwk_base,
			O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
				no_follow(walk));

	return fd < 0 ? -errno : fd;
}
