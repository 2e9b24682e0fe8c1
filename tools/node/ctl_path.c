/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Where the control socket is, and that nobody else can have put it there. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

/** Directory and socket of a node that runs as a service of the system. */
#define SYSTEM_DIR  "/run/colibri"
#define SYSTEM_PATH SYSTEM_DIR "/node.sock"

#define ANY_OWNER ((uid_t)-1)

/* A directory of `owner`; the classes of users in `foreign` must not write to it. */
static int dir_check(const char *dir, uid_t owner, mode_t foreign,
		     struct tool_fail *fail)
{
	struct stat st;

	if (lstat(dir, &st) != 0)
		/* Nobody is there, and connecting will say so. */
		return errno == ENOENT ? 0
				       : tool_fail_set(fail, TOOL_FAILED,
						       "directory %s: %s", dir,
						       tool_errtext(errno));
	if (S_ISDIR(st.st_mode) && (owner == ANY_OWNER || st.st_uid == owner) &&
	    (st.st_mode & foreign) == 0)
		return 0;
	return tool_fail_set(fail, TOOL_FAILED,
			     "directory %s is not ours alone; remove it, or "
			     "name a control socket elsewhere: --ctl PATH",
			     dir);
}

static int dir_make(const char *dir, mode_t mode, struct tool_fail *fail)
{
	if (mkdir(dir, mode) == 0 || errno == EEXIST)
		return 0;
	return tool_fail_set(fail, TOOL_FAILED,
			     "directory %s cannot be made: %s; name a control "
			     "socket elsewhere: --ctl PATH",
			     dir, tool_errtext(errno));
}

/*
 * The directory that a service manager has made for the service: the first of
 * those in the variable, which a colon separates.
 */
static bool runtime_dir(char *ret, size_t size)
{
	const char *dirs = getenv("RUNTIME_DIRECTORY");
	size_t      nr;

	if (dirs == NULL || dirs[0] != '/')
		return false;
	nr = strcspn(dirs, ":");
	if (nr >= size)
		return false;
	snprintf(ret, size, "%.*s", (int)nr, dirs);
	return true;
}

const char *ctl_path_option(struct tool_fail *fail, const char *path)
{
	if (path[0] != 0 && strlen(path) < CTL_PATH_BYTES)
		return path;
	tool_fail_set(
		fail, TOOL_USAGE,
		"--ctl '%.120s' is not accepted; accepted: a path of 1 to "
		"%d characters",
		path, CTL_PATH_BYTES - 1);
	return NULL;
}

int ctl_path(char ret[CTL_PATH_BYTES], bool make, struct tool_fail *fail)
{
	const char *user_dir = getenv("XDG_RUNTIME_DIR");
	bool        root = geteuid() == 0;
	char        dir[CTL_PATH_BYTES - 16];
	mode_t      foreign = root ? 022 : 077;
	int         rc = 0;

	if (runtime_dir(dir, sizeof dir)) {
		snprintf(ret, CTL_PATH_BYTES, "%s/node.sock", dir);
		/* Its group may be one that the administrator lets write. */
		return dir_check(dir, geteuid(), 002, fail);
	}
	if (!root && user_dir != NULL && user_dir[0] == '/' &&
	    snprintf(ret, CTL_PATH_BYTES, "%s/colibri-node.sock", user_dir) <
		    CTL_PATH_BYTES)
		return 0;

	if (root)
		snprintf(dir, sizeof dir, SYSTEM_DIR);
	else
		snprintf(dir, sizeof dir, "/tmp/colibri-%u",
			 (unsigned)geteuid());
	snprintf(ret, CTL_PATH_BYTES, "%s/node.sock", dir);
	if (make)
		rc = dir_make(dir, root ? 0755 : 0700, fail);
	/* Only root makes that of the system, for whichever user it is. */
	if (rc == 0)
		rc = dir_check(dir, root && !make ? ANY_OWNER : geteuid(),
			       foreign, fail);
	return rc;
}

int ctl_connect_default(char ret_where[CTL_WHERE_BYTES], struct tool_fail *fail)
{
	struct tool_fail untrusted = { .tf_exit = TOOL_OK };
	char             path[CTL_PATH_BYTES];
	int              rc;
	int              fd;

	rc = ctl_path(path, false, fail) == 0 ? ctl_connect(path) : -EPERM;
	snprintf(ret_where, CTL_WHERE_BYTES, "%s", path);
	if (!M0_IN(rc, (-ENOENT, -ECONNREFUSED, -EPERM)) ||
	    strcmp(path, SYSTEM_PATH) == 0 ||
	    dir_check(SYSTEM_DIR, ANY_OWNER, 022, &untrusted) != 0)
		return rc;
	/* The system's node, if it has one, serves its readers. */
	fd = ctl_connect(SYSTEM_PATH);
	if (M0_IN(fd, (-ENOENT, -ECONNREFUSED))) {
		snprintf(ret_where, CTL_WHERE_BYTES, "%s or %s", path,
			 SYSTEM_PATH);
		return rc;
	}
	/* A directory that another user has made does not hide it. */
	fail->tf_exit = TOOL_OK;
	snprintf(ret_where, CTL_WHERE_BYTES, "%s", SYSTEM_PATH);
	return fd;
}

uint64_t ctl_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) == 0 ? st.st_ino : 0;
}
