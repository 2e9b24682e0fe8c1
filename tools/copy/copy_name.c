/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Names of files that a stranger gives: below one directory, come what may. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "copy_file.h"
#include "../base/text.h"

static int refuse(struct tool_fail *fail, const char *name, const char *why)
{
	return tool_fail_set(fail, TOOL_FAILED, "'%s' %s", name, why);
}

/* One part of a name. */
static bool part_ok(const char *part, size_t nr)
{
	return nr > 0 && nr <= NAME_MAX && !(nr == 1 && part[0] == '.') &&
	       !(nr == 2 && part[0] == '.' && part[1] == '.');
}

static int name_check(const char *name, const char *base,
		      struct tool_fail *fail)
{
	const char *part = name;

	if (!text_is_printable(name) || !text_is_printable(base))
		return refuse(fail, name,
			      "is not accepted: it has control characters");
	if (!part_ok(base, strlen(base)) || strchr(base, '/') != NULL)
		return refuse(fail, base, "is no name of a file");
	if (name[0] == '/')
		return refuse(fail, name,
			      "is absolute; accepted: a name below the "
			      "receiver's directory");
	while (part[0] != '\0') {
		size_t nr = strcspn(part, "/");

		if (!part_ok(part, nr))
			return refuse(fail, name,
				      "is not accepted: no part of a name may "
				      "be empty, '.', '..' or longer than 255 "
				      "bytes");
		part += nr + (part[nr] == '/');
	}
	return 0;
}

/* Goes one directory down. Links are not followed: they may lead anywhere. */
static int step_down(struct dst_file *dst, const char *part, size_t nr,
		     struct tool_fail *fail)
{
	char name[NAME_MAX + 1];
	int  fd;

	memcpy(name, part, nr);
	name[nr] = '\0';
	fd = openat(dst->df_dir_fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "'%s': directory '%s': %s", dst->df_path,
				     name,
				     errno == ENOTDIR
					     ? "not a directory (nor is a link "
					       "to one)"
					     : tool_errtext(errno));
	(void)close(dst->df_dir_fd);
	dst->df_dir_fd = fd;
	return 0;
}

/* An existing file may be replaced; a directory is entered. */
static int last_check(struct dst_file *dst, const char *base,
		      struct tool_fail *fail)
{
	struct stat st;
	size_t      len = strlen(dst->df_path);
	bool        deep;
	int         rc;

	if (fstatat(dst->df_dir_fd, dst->df_name, &st, AT_SYMLINK_NOFOLLOW) !=
	    0)
		return errno == ENOENT ? 0
				       : refuse(fail, dst->df_path,
						tool_errtext(errno));
	if (S_ISREG(st.st_mode))
		return 0;
	deep = dst->df_name + strlen(base) + len >= dst->df_path + PATH_MAX;
	if (!S_ISDIR(st.st_mode) || base[0] == '\0' || deep)
		return refuse(fail, dst->df_path,
			      "exists and is not a regular file");
	rc = step_down(dst, dst->df_name, strlen(dst->df_name), fail);
	if (rc != 0)
		return rc;
	dst->df_path[len] = '/';
	dst->df_name = &dst->df_path[len + 1];
	strcpy(dst->df_name, base);
	return last_check(dst, "", fail);
}

static int walk(struct dst_file *dst, struct tool_fail *fail)
{
	char *slash;
	int   rc = 0;

	dst->df_name = dst->df_path;
	while (rc == 0 && (slash = strchr(dst->df_name, '/')) != NULL) {
		rc = step_down(dst, dst->df_name,
			       (size_t)(slash - dst->df_name), fail);
		dst->df_name = slash + 1;
	}
	return rc;
}

int dst_file_open_below(struct dst_file *dst, int dir_fd, const char *name,
			const char *base, struct tool_fail *fail)
{
	size_t len = strlen(name);
	bool   dir = len == 0 || name[len - 1] == '/';
	int    rc = name_check(name, base, fail);

	M0_SET0(dst);
	dst->df_fd = -1;
	dst->df_dir_fd = -1;
	if (rc != 0)
		return rc;
	if (len + strlen(base) + 2 > sizeof dst->df_path)
		return refuse(fail, name, "is too long a name");
	snprintf(dst->df_path, sizeof dst->df_path, "%s%s", name,
		 dir ? base : "");
	dst->df_dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	rc = dst->df_dir_fd < 0 ? refuse(fail, name, tool_errtext(errno))
				: walk(dst, fail);
	if (rc == 0)
		rc = last_check(dst, dir ? "" : base, fail);
	if (rc == 0)
		rc = dst_file_make(dst, fail);
	if (rc != 0)
		dst_file_close(dst);
	return rc;
}
