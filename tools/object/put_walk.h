/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A walk over files and directories for `colibri put`: each directory is opened
 * below the one that names it, and a symbolic link is never followed but as an
 * operand. A process that replaces a name while the walk goes on cannot lead it
 * elsewhere.
 */
#ifndef M0_TOOLS_PUT_WALK_H
#define M0_TOOLS_PUT_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

enum put_found {
	PUT_FOUND_FILE,
	/** An operand, and directories are not asked for. */
	PUT_FOUND_DIR,
	/** Something else. */
	PUT_FOUND_OTHER,
	/** pwk_rc has the error that prevents reading. */
	PUT_FOUND_ERROR,
	/** The rest of a directory cannot be read. */
	PUT_FOUND_LESS
};

struct put_dir;

struct put_walk {
	/** The next operand; NULL ends them. */
	char *const *pwk_next;
	bool         pwk_recursive;
	/** The last find: its operand, its path, which begins with the
	 * operand, and where to open it. */
	const char *pwk_root;
	char        pwk_path[PATH_MAX];
	int         pwk_dir_fd;
	const char *pwk_base;
	struct stat pwk_stat;
	int         pwk_rc;
	/** The directory that is read. */
	struct put_dir *pwk_dir;
};

void put_walk_init(struct put_walk *walk, char *const *roots, bool recursive);
void put_walk_fini(struct put_walk *walk);
/** Finds the next one. @return false: there is none. */
bool put_walk_next(struct put_walk *walk, enum put_found *ret);
/** Opens the file that was found last, for reading. @return descriptor or <0;
 * -ELOOP: it has become a symbolic link. */
int put_walk_open(const struct put_walk *walk);
/** Was it an operand? */
bool put_walk_at_root(const struct put_walk *walk);

#endif /* M0_TOOLS_PUT_WALK_H */
