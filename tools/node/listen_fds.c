/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listen_fds.h"
#include "../base/text.h"

enum {
	/** Descriptor of the first one. */
	FDS_BEGIN = 3,
	FDS_MAX = 64,
	NAME_BYTES = 64
};

/* Cuts a name from a list that colons separate. */
static const char *name_next(const char *names, char ret[NAME_BYTES])
{
	size_t bytes = strcspn(names, ":");

	(void)snprintf(ret, NAME_BYTES, "%.*s", (int)bytes, names);
	return names[bytes] == ':' ? names + bytes + 1 : names + bytes;
}

static int fds_take(unsigned nr, const char *names, int *ret,
		    struct tool_fail *fail)
{
	char     name[NAME_BYTES] = "attach";
	int      found = -1;
	unsigned i;

	for (i = 0; i < nr; ++i) {
		int fd = FDS_BEGIN + (int)i;

		if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
			return tool_fail_set(fail, TOOL_USAGE,
					     "LISTEN_FDS %u is not accepted: "
					     "descriptor %d is not open",
					     nr, fd);
		if (names != NULL)
			names = name_next(names, name);
		if (strcmp(name, "attach") != 0 || found >= 0)
			return tool_fail_set(
				fail, TOOL_USAGE,
				"socket '%s', descriptor %d, of the service "
				"manager is not accepted; accepted: one "
				"socket, with FileDescriptorName=attach",
				name, fd);
		found = fd;
	}
	*ret = found;
	return TOOL_OK;
}

int listen_fds_take(int *ret, struct tool_fail *fail)
{
	const char *pid = getenv("LISTEN_PID");
	const char *fds = getenv("LISTEN_FDS");
	uint64_t    whose = 0;
	uint64_t    nr = 0;
	int         code = TOOL_OK;

	/* Ignore the sockets of another process. */
	if (pid != NULL && fds != NULL && text_number_parse(pid, &whose) == 0 &&
	    whose == (uint64_t)getpid()) {
		if (text_number_parse(fds, &nr) != 0 || nr > FDS_MAX)
			code = tool_fail_set(fail, TOOL_USAGE,
					     "LISTEN_FDS '%s' is not accepted; "
					     "accepted: a number from 0 to %d",
					     fds, FDS_MAX);
		else if (nr > 0)
			code = fds_take((unsigned)nr, getenv("LISTEN_FDNAMES"),
					ret, fail);
	}
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return code;
}
