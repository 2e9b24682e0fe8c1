/* SPDX-License-Identifier: Apache-2.0 */
/* Where the control socket is, and that nobody else can have put it there. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

/* A directory of ours that only we write to. */
static int dir_check(const char *dir, mode_t foreign, struct tool_fail *fail)
{
	struct stat st;

	if (lstat(dir, &st) != 0)
		/* Nobody is there, and connecting will say so. */
		return errno == ENOENT ? 0
				       : tool_fail_set(fail, TOOL_FAILED,
						       "directory %s: %s", dir,
						       tool_errtext(errno));
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
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

int ctl_path(char ret[CTL_PATH_BYTES], bool make, struct tool_fail *fail)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool        root = geteuid() == 0;
	char        dir[CTL_PATH_BYTES - 16];
	int         rc = 0;

	if (!root && runtime != NULL && runtime[0] == '/' &&
	    snprintf(ret, CTL_PATH_BYTES, "%s/colibri-node.sock", runtime) <
		    CTL_PATH_BYTES)
		return 0;

	if (root)
		snprintf(dir, sizeof dir, "/run/colibri");
	else
		snprintf(dir, sizeof dir, "/tmp/colibri-%u",
			 (unsigned)geteuid());
	snprintf(ret, CTL_PATH_BYTES, "%s/node.sock", dir);
	if (make)
		rc = dir_make(dir, root ? 0755 : 0700, fail);
	if (rc == 0)
		rc = dir_check(dir, root ? 022 : 077, fail);
	return rc;
}
