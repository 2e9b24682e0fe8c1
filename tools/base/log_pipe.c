/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "log_pipe.h"

static int                pipe_fds[2] = { -1, -1 };
static struct m0_atomic64 dropped_nr;

/* A packet each: the pipe keeps lines of several threads apart. */
static void sink(void *arg, enum m0_log_level level, const char *text)
{
	unsigned char byte = (unsigned char)level;
	size_t len = min_check(strlen(text), (size_t)LOG_PIPE_TEXT_BYTES - 1);
	struct iovec iov[] = { { &byte, 1 }, { (char *)(uintptr_t)text, len } };
	int          saved = errno;

	(void)arg;
	if (writev(pipe_fds[1], iov, 2) < 0)
		m0_atomic64_add(&dropped_nr, 1);
	errno = saved;
}

int log_pipe_init(enum m0_log_level max)
{
	M0_PRE(pipe_fds[0] < 0);
	if (pipe2(pipe_fds, O_DIRECT | O_NONBLOCK | O_CLOEXEC) != 0)
		return -errno;
	m0_log_set(sink, NULL);
	m0_log_level_set(max);
	return pipe_fds[0];
}

bool log_pipe_get(enum m0_log_level *level, char text[LOG_PIPE_TEXT_BYTES])
{
	char    packet[LOG_PIPE_TEXT_BYTES];
	ssize_t nr = read(pipe_fds[0], packet, sizeof packet);

	if (nr < 1)
		return false;
	*level = (enum m0_log_level)packet[0];
	memcpy(text, packet + 1, (size_t)nr - 1);
	text[nr - 1] = '\0';
	return true;
}

uint64_t log_pipe_dropped_nr(void)
{
	return (uint64_t)m0_atomic64_get(&dropped_nr);
}
