/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "m0/base.h"

#include "cmd.h"
#include "stop.h"

static volatile sig_atomic_t stop_nr;
static volatile sig_atomic_t stop_fd = -1;
static volatile sig_atomic_t hangup;
static volatile sig_atomic_t hangup_fd = -1;
static bool                  stop_mute;

static void on_signal(int number)
{
	const uint64_t one = 1;
	int            saved = errno;

	if (stop_nr != 0)
		_exit(TOOL_FAILED);
	stop_nr = number;
	if (write(stop_fd, &one, sizeof one) < 0)
		errno = 0;
	errno = saved;
}

bool stop_hangup_is_ignored(void)
{
	struct sigaction action;

	return sigaction(SIGHUP, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

void stop_hangup_ignore(void)
{
	(void)signal(SIGHUP, SIG_IGN);
}

static void on_hangup(int number)
{
	const uint64_t one = 1;
	int            saved = errno;

	(void)number;
	hangup = 1;
	if (write(hangup_fd, &one, sizeof one) < 0)
		errno = 0;
	errno = saved;
}

void stop_hangup_watch(int fd)
{
	struct sigaction action = { .sa_handler = on_hangup };

	hangup_fd = fd;
	(void)sigaction(SIGHUP, &action, NULL);
}

bool stop_hangup_take(void)
{
	bool ret = hangup != 0;

	hangup = 0;
	return ret;
}

int stop_init(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };
	size_t           i;
	int              fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	stop_fd = fd;
	/* Not SA_RESTART: a call that waits returns, and its caller looks here. */
	for (i = 0; i < ARRAY_SIZE(numbers); ++i) {
		if (numbers[i] != SIGHUP || !stop_hangup_is_ignored())
			(void)sigaction(numbers[i], &action, NULL);
	}
	return fd;
}

int stop_signal(void)
{
	return stop_nr;
}

bool stop_out_waits(FILE *file, int fd)
{
	struct pollfd fds[] = {
		{ .fd = fileno(file), .events = POLLOUT },
		{ .fd = fd, .events = POLLIN },
	};

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
		;
	return fds[0].revents != 0;
}

FILE *stop_page_open(struct stop_page *page)
{
	page->spg_text = NULL;
	page->spg_nr = 0;
	page->spg_file = open_memstream(&page->spg_text, &page->spg_nr);
	return page->spg_file;
}

int stop_page_say(struct stop_page *page, FILE *file, int fd)
{
	size_t at = 0;
	size_t part;
	int    rc = 0;

	if (fclose(page->spg_file) != 0 || page->spg_text == NULL)
		rc = -ENOMEM;
	for (; rc == 0 && at < page->spg_nr && !ferror(file); at += part) {
		part = min64u(page->spg_nr - at, PIPE_BUF);
		if (stop_out_waits(file, fd)) {
			(void)fwrite(page->spg_text + at, 1, part, file);
			(void)fflush(file);
		} else {
			rc = -EINTR;
		}
	}
	free(page->spg_text);
	return rc;
}

bool stop_lets_say(FILE *file)
{
	if (stop_fd < 0 || stop_out_waits(file, stop_fd))
		return true;
	stop_mute = true;
	return false;
}

void stop_mute_check(struct tool_fail *fail)
{
	if (stop_mute)
		tool_fail_set(fail, TOOL_FAILED,
			      "interrupted; the output was full, and not all "
			      "was said");
}
