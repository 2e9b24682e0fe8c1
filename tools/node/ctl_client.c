/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl.h"

enum {
	HEAD_MAX = 128,
	/** Attempts to connect, for a second, and the time between two. */
	TRIES_MAX = 100,
	TRY_TICK_MS = 10,
	/** More than any node has to tell. */
	PART_MAX = 1 << 28
};

int ctl_connect(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	unsigned           tries_nr = 0;
	int                fd;
	int                rc;

	if (strlen(path) >= sizeof sa.sun_path)
		return -ENAMETOOLONG;
	memcpy(sa.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: others wait to be let in, as many as may. */
	while ((rc = connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0
			     ? 0
			     : -errno) == -EAGAIN &&
	       tries_nr++ < TRIES_MAX)
		(void)poll(NULL, 0, TRY_TICK_MS);
	if (rc == 0)
		return fd;
	(void)close(fd);
	return rc;
}

void ctl_nobody(const char *path, int rc, struct tool_fail *fail)
{
	if (M0_IN(rc, (-ENOENT, -ECONNREFUSED)))
		tool_fail_set(fail, TOOL_FAILED,
			      "no node answers at %s; start one with `colibri "
			      "node', or name the socket of one: --ctl PATH",
			      path);
	else
		tool_fail_set(fail, TOOL_FAILED,
			      "the node's control socket %s: %s%s", path,
			      tool_errtext(rc),
			      rc == -EACCES
				      ? "; it is another user's: --ctl-group "
					"and --ctl-mode of `colibri node' let "
					"others read"
				      : "");
}

struct asked {
	int               ak_fd;
	int               ak_stop_fd;
	m0_time_t         ak_deadline;
	struct tool_fail *ak_fail;
	/** Where standard output and standard error of the answer go. */
	FILE *ak_out;
	FILE *ak_err;
};

/* Waits until the socket is ready for `events`. */
static int asked_wait(struct asked *asked, short events)
{
	struct pollfd fds[] = { { asked->ak_fd, events, 0 },
				{ asked->ak_stop_fd, POLLIN, 0 } };
	m0_time_t     now = m0_time_now();
	int           nr = 0;

	if (now < asked->ak_deadline)
		nr = poll(fds, ARRAY_SIZE(fds),
			  (int)((asked->ak_deadline - now) / M0_TIME_ONE_MSEC) +
				  1);
	if (nr < 0 && errno != EINTR)
		return tool_fail_set(asked->ak_fail, TOOL_FAILED, "poll: %s",
				     tool_errtext(errno));
	if (nr > 0 && fds[1].revents != 0)
		return tool_fail_set(asked->ak_fail, TOOL_FAILED,
				     "interrupted");
	if (nr == 0)
		return tool_fail_set(asked->ak_fail, TOOL_FAILED,
				     "the node does not answer");
	return 0;
}

static int asked_send(struct asked *asked, const char *buf, size_t nr)
{
	while (nr > 0) {
		ssize_t put = send(asked->ak_fd, buf, nr, MSG_NOSIGNAL);

		if (put >= 0) {
			buf += put;
			nr -= (size_t)put;
		} else if (M0_IN(errno, (EPIPE, ECONNRESET))) {
			/* The node may have answered before it hung up. */
			return 0;
		} else if (errno != EAGAIN && errno != EINTR) {
			return tool_fail_set(asked->ak_fail, TOOL_FAILED,
					     "the node has hung up: %s",
					     tool_errtext(errno));
		} else if (asked_wait(asked, POLLOUT) != 0) {
			return asked->ak_fail->tf_exit;
		}
	}
	return 0;
}

/* Reads exactly `nr` bytes, or up to a newline if there is one earlier. */
static int asked_read(struct asked *asked, char *buf, size_t nr, bool line)
{
	while (nr > 0) {
		ssize_t got = recv(asked->ak_fd, buf, line ? 1 : nr, 0);

		if (got > 0) {
			buf += got;
			nr -= (size_t)got;
			if (line && buf[-1] == '\n')
				return 0;
		} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
			return tool_fail_set(asked->ak_fail, TOOL_FAILED,
					     "the node has hung up before it "
					     "answered");
		} else if (asked_wait(asked, POLLIN) != 0) {
			return asked->ak_fail->tf_exit;
		}
	}
	return 0;
}

/* Copies `nr` bytes of the answer to `file`. */
static int asked_copy(struct asked *asked, size_t nr, FILE *file)
{
	char buf[4096];
	int  rc = 0;

	while (nr > 0 && rc == 0) {
		size_t part = nr < sizeof buf ? nr : sizeof buf;

		rc = asked_read(asked, buf, part, false);
		if (rc == 0)
			(void)fwrite(buf, 1, part, file);
		nr -= part;
	}
	return rc;
}

static int answer_print(struct asked *asked)
{
	char     head[HEAD_MAX] = "";
	unsigned code;
	size_t   out;
	size_t   err;
	char     end;
	int      rc = asked_read(asked, head, sizeof head - 1, true);

	if (rc != 0)
		return rc;
	if (sscanf(head, "status %u %zu %zu%c", &code, &out, &err, &end) != 4 ||
	    end != '\n' || code > TOOL_USAGE || out > PART_MAX ||
	    err > PART_MAX)
		return tool_fail_set(
			asked->ak_fail, TOOL_FAILED,
			"the answer is not that of a node: is this "
			"its control socket?");
	rc = asked_copy(asked, out, asked->ak_out);
	(void)fflush(asked->ak_out);
	if (rc == 0)
		rc = asked_copy(asked, err, asked->ak_err);
	return rc == 0 ? (int)code : rc;
}

static int ask(int fd, const struct ctl_request *req, uint64_t timeout_ms,
	       int stop_fd, FILE *out, FILE *errors, struct tool_fail *fail)
{
	struct asked asked = {
		.ak_fd = fd,
		.ak_stop_fd = stop_fd,
		.ak_deadline = m0_time_add(m0_time_now(),
					   timeout_ms * M0_TIME_ONE_MSEC),
		.ak_fail = fail,
		.ak_out = out,
		.ak_err = errors,
	};
	char   line[CTL_LINE_BYTES];
	size_t nr = ctl_request_print(req, line);
	int    rc = asked_send(&asked, line, nr);

	if (rc == 0 && req->cq_body_nr > 0)
		rc = asked_send(&asked, req->cq_body, req->cq_body_nr);
	if (rc == 0)
		rc = answer_print(&asked);
	(void)close(fd);
	return rc;
}

int ctl_ask(int fd, const struct ctl_request *req, uint64_t timeout_ms,
	    int stop_fd, struct tool_fail *fail)
{
	return ask(fd, req, timeout_ms, stop_fd, stdout, stderr, fail);
}

int ctl_ask_at(const char *path, const struct ctl_request *req,
	       uint64_t timeout_ms, struct tool_fail *fail)
{
	return ctl_ask_at_to(path, req, timeout_ms, -1, stdout, stderr, fail);
}

int ctl_ask_at_to(const char *path, const struct ctl_request *req,
		  uint64_t timeout_ms, int stop_fd, FILE *out, FILE *errors,
		  struct tool_fail *fail)
{
	struct ctl_request own = *req;
	char               where[CTL_WHERE_BYTES];
	int                fd;

	if (path != NULL && ctl_is_device(path))
		return ctl_ask_device(path, req, out, errors, fail);
	if (path == NULL) {
		own.cq_netns = ctl_netns();
		fd = ctl_connect_default(where, fail);
		path = where;
	} else {
		fd = ctl_connect(path);
	}
	if (fd >= 0)
		return ask(fd, &own, timeout_ms, stop_fd, out, errors, fail);
	if (fail->tf_exit == TOOL_OK)
		ctl_nobody(path, fd, fail);
	return fail->tf_exit;
}

int ctl_ask_text(const char *path, const struct ctl_request *req,
		 uint64_t timeout_ms, int stop_fd, char **ret_out,
		 char **ret_err, struct tool_fail *fail)
{
	size_t out_nr = 0;
	size_t err_nr = 0;
	FILE  *out;
	FILE  *err;
	int    code = TOOL_OK;
	bool   whole;

	*ret_out = NULL;
	if (ret_err != NULL)
		*ret_err = NULL;
	out = open_memstream(ret_out, &out_nr);
	err = ret_err == NULL ? out : open_memstream(ret_err, &err_nr);
	whole = out != NULL && err != NULL;
	if (whole)
		code = ctl_ask_at_to(path, req, timeout_ms, stop_fd, out, err,
				     fail);
	if (err != NULL && err != out)
		whole &= fclose(err) == 0;
	if (out != NULL)
		whole &= fclose(out) == 0;
	return whole ? code
		     : tool_fail_set(fail, TOOL_FAILED, "%s",
				     tool_errtext(ENOMEM));
}

const char *ctl_why(char *err)
{
	static const char prefix[] = "colibri: ";

	if (err == NULL)
		return "";
	err[strcspn(err, "\n")] = '\0';
	return strncmp(err, prefix, sizeof prefix - 1) == 0
		       ? err + sizeof prefix - 1
		       : err;
}
