/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

static bool option_is(int fd, int option, int want)
{
	int       value = -1;
	socklen_t bytes = sizeof value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 &&
	       value == want;
}

static bool listens_for_peers(int fd)
{
	return option_is(fd, SO_ACCEPTCONN, 1) &&
	       option_is(fd, SO_TYPE, SOCK_STREAM) &&
	       (option_is(fd, SO_DOMAIN, AF_INET) ||
		option_is(fd, SO_DOMAIN, AF_INET6));
}

static int fd_take(int fd, const char *name, struct listen_fds *ret,
		   struct tool_fail *fail)
{
	if (strcmp(name, "attach") == 0 && ret->lfs_attach < 0) {
		ret->lfs_attach = fd;
		return TOOL_OK;
	}
	if (strcmp(name, "lnet") != 0 ||
	    ret->lfs_peers.lfd_nr == ARRAY_SIZE(ret->lfs_peers.lfd_fds))
		return tool_fail_set(
			fail, TOOL_USAGE,
			"socket '%s', descriptor %d, of the service manager "
			"is not accepted; accepted: one socket with "
			"FileDescriptorName=attach, and up to %zu with "
			"FileDescriptorName=lnet",
			name, fd, ARRAY_SIZE(ret->lfs_peers.lfd_fds));
	if (!listens_for_peers(fd))
		return tool_fail_set(
			fail, TOOL_USAGE,
			"socket 'lnet', descriptor %d, of the service manager "
			"is not accepted; accepted: ListenStream=ADDRESS:PORT",
			fd);
	ret->lfs_peers.lfd_fds[ret->lfs_peers.lfd_nr++] = fd;
	return TOOL_OK;
}

static int fds_take(unsigned nr, const char *names, struct listen_fds *ret,
		    struct tool_fail *fail)
{
	char     name[NAME_BYTES] = "attach";
	int      code;
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
		code = fd_take(fd, name, ret, fail);
		if (code != TOOL_OK)
			return code;
	}
	return TOOL_OK;
}

int listen_fds_take(struct listen_fds *ret, struct tool_fail *fail)
{
	const char *pid = getenv("LISTEN_PID");
	const char *fds = getenv("LISTEN_FDS");
	uint64_t    whose = 0;
	uint64_t    nr = 0;
	int         code = TOOL_OK;

	M0_SET0(ret);
	ret->lfs_attach = -1;
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
