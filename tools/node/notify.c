/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "notify.h"
#include "../base/text.h"

enum {
	NOTIFY_BYTES = 512,
	/** A service manager that does not read is not waited for any longer. */
	SEND_TIME_S = 1,
	/** Signs of life in the time in which the manager wants one. */
	ALIVE_NR = 3
};

/* @return the value, which the caller frees; NULL: there is none. */
static char *env_take(const char *name)
{
	const char *value = getenv(name);
	char       *ret = value == NULL ? NULL : strdup(value);

	(void)unsetenv(name);
	return ret;
}

static int socket_open(struct notify *notify, const char *path,
		       struct tool_fail *fail)
{
	const struct timeval wait = { .tv_sec = SEND_TIME_S };
	struct sockaddr_un  *sa = &notify->nfy_addr;
	size_t               bytes = strlen(path);

	if ((path[0] != '/' && path[0] != '@') || bytes < 2 ||
	    bytes >= sizeof sa->sun_path)
		return tool_fail_set(fail, TOOL_USAGE,
				     "NOTIFY_SOCKET '%s' is not accepted; "
				     "accepted: a path, or @ and a name, of at "
				     "most %zu bytes",
				     path, sizeof sa->sun_path - 1);
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path, path, bytes);
	/* An abstract name has no NUL at its end, but one at its begin. */
	if (path[0] == '@')
		sa->sun_path[0] = '\0';
	notify->nfy_addr_bytes =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes +
			    (path[0] == '@' ? 0 : 1));
	notify->nfy_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify->nfy_fd < 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "no descriptors are left: %s",
				     tool_errtext(errno));
	(void)setsockopt(notify->nfy_fd, SOL_SOCKET, SO_SNDTIMEO, &wait,
			 sizeof wait);
	return TOOL_OK;
}

static int watchdog_set(struct notify *notify, const char *usec,
			const char *pid, struct tool_fail *fail)
{
	uint64_t nr = 0;
	uint64_t whose = 0;

	if (text_number_parse(usec, &nr) != 0 || nr == 0 ||
	    nr > UINT64_MAX / M0_TIME_ONE_USEC)
		return tool_fail_set(fail, TOOL_USAGE,
				     "WATCHDOG_USEC '%s' is not accepted; "
				     "accepted: a number of microseconds",
				     usec);
	/* Without the process the sign is this one's to give. */
	if (pid != NULL && (text_number_parse(pid, &whose) != 0 ||
			    whose != (uint64_t)getpid()))
		return TOOL_OK;
	notify->nfy_period = nr * M0_TIME_ONE_USEC / ALIVE_NR;
	notify->nfy_due = M0_TIME_IMMEDIATELY;
	return TOOL_OK;
}

int notify_init(struct notify *notify, struct tool_fail *fail)
{
	char *path = env_take("NOTIFY_SOCKET");
	char *usec = env_take("WATCHDOG_USEC");
	char *pid = env_take("WATCHDOG_PID");
	int   code = TOOL_OK;

	M0_SET0(notify);
	notify->nfy_fd = -1;
	notify->nfy_due = M0_TIME_NEVER;
	if (path != NULL)
		code = socket_open(notify, path, fail);
	if (code == TOOL_OK && path != NULL && usec != NULL)
		code = watchdog_set(notify, usec, pid, fail);
	free(path);
	free(usec);
	free(pid);
	return code;
}

void notify_fini(struct notify *notify)
{
	if (notify->nfy_fd >= 0)
		(void)close(notify->nfy_fd);
	notify->nfy_fd = -1;
}

static void say(struct notify *notify, const char *fmt, ...) M0_PRINTF(2, 3);

static void say(struct notify *notify, const char *fmt, ...)
{
	char    text[NOTIFY_BYTES];
	va_list args;

	if (notify->nfy_fd < 0)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	/* The manager may be gone; the service is not the worse for it. */
	(void)sendto(notify->nfy_fd, text, strlen(text), MSG_NOSIGNAL,
		     (const struct sockaddr *)&notify->nfy_addr,
		     notify->nfy_addr_bytes);
}

void notify_ready(struct notify *notify, const char *status)
{
	say(notify, "READY=1\nMAINPID=%d\nSTATUS=%s", (int)getpid(), status);
}

void notify_reloading(struct notify *notify)
{
	struct timespec now;

	/* The manager compares the time with its own clock, which is this one. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	say(notify, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
	    (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void notify_stopping(struct notify *notify, const char *status)
{
	say(notify, "STOPPING=1\nSTATUS=%s", status);
}

void notify_status(struct notify *notify, const char *status)
{
	say(notify, "STATUS=%s", status);
}

void notify_alive(struct notify *notify, m0_time_t now)
{
	notify->nfy_due = m0_time_add(now, notify->nfy_period);
	say(notify, "WATCHDOG=1");
}
