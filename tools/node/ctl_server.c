/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl_server.h"

enum {
	BACKLOG = 64,
	HEAD_BYTES = 96
};

#define READ_TIME  (5 * M0_TIME_ONE_SECOND)
#define WRITE_TIME (20 * M0_TIME_ONE_SECOND)

/* ----------------------------------------------------------- coming, going */

static pid_t peer_of(int fd, uid_t *ret_uid)
{
	struct ucred cred = { .pid = 0, .uid = (uid_t)-1 };
	socklen_t    size = sizeof cred;

	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size);
	*ret_uid = cred.uid;
	return cred.pid;
}

/* Is there somebody, or something that is no socket? */
int ctl_server_probe(const char *path, struct tool_fail *fail)
{
	struct stat st;
	uid_t       uid;
	int         fd;

	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return tool_fail_set(fail, TOOL_FAILED,
				     "%s is there and is no socket; name "
				     "another path: --ctl PATH",
				     path);
	fd = ctl_connect(path);
	if (fd >= 0) {
		tool_fail_set(fail, TOOL_FAILED,
			      "a node (process %d) answers at %s already; stop "
			      "it, or give this one a control socket of its "
			      "own: --ctl PATH",
			      (int)peer_of(fd, &uid), path);
		(void)close(fd);
	} else if (!M0_IN(fd, (-ENOENT, -ECONNREFUSED))) {
		tool_fail_set(fail, TOOL_FAILED,
			      "control socket %s: %s; name another: --ctl PATH",
			      path, tool_errtext(fd));
	}
	return fail->tf_exit;
}

static int listen_at(struct ctl_server *server)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat        st;

	memcpy(sa.sun_path, server->csv_path, sizeof sa.sun_path);
	(void)unlink(server->csv_path);
	/* The socket is this user's alone until it has its group. */
	if (fchmod(server->csv_fd, 0600) != 0 ||
	    bind(server->csv_fd, (struct sockaddr *)&sa, sizeof sa) != 0)
		return -errno;
	if (server->csv_group != (gid_t)-1 &&
	    lchown(server->csv_path, (uid_t)-1, server->csv_group) != 0)
		return -errno;
	if (chmod(server->csv_path, server->csv_mode) != 0 ||
	    lstat(server->csv_path, &st) != 0 ||
	    listen(server->csv_fd, BACKLOG) != 0)
		return -errno;
	server->csv_dev = st.st_dev;
	server->csv_ino = st.st_ino;
	return 0;
}

static int open_fail(const struct ctl_server *server, const char *path, int rc,
		     struct tool_fail *fail)
{
	if (rc == -EPERM && server->csv_group != (gid_t)-1)
		return tool_fail_set(
			fail, TOOL_FAILED,
			"control socket %s cannot be given to group %u: %s; "
			"--ctl-group accepts a group that this user is in",
			path, (unsigned)server->csv_group, tool_errtext(rc));
	return tool_fail_set(fail, TOOL_FAILED,
			     "control socket %s cannot be made: %s; name "
			     "another: --ctl PATH",
			     path, tool_errtext(rc));
}

int ctl_server_open(struct ctl_server *server, const char *path, mode_t mode,
		    gid_t group, struct tool_fail *fail)
{
	size_t i;
	int    rc;

	if (ctl_server_probe(path, fail) != 0)
		return fail->tf_exit;
	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		server->csv_clients[i].cc_server = server;
		server->csv_clients[i].cc_state = CTL_FREE;
		server->csv_clients[i].cc_fd = -1;
	}
	snprintf(server->csv_path, sizeof server->csv_path, "%s", path);
	server->csv_mode = mode;
	server->csv_group = group;
	server->csv_fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = server->csv_fd < 0 ? -errno : listen_at(server);
	if (rc == 0)
		return 0;
	if (server->csv_fd >= 0)
		(void)close(server->csv_fd);
	server->csv_fd = -1;
	if (rc == -EPERM)
		(void)unlink(path);
	return open_fail(server, path, rc, fail);
}

void ctl_server_close(struct ctl_server *server)
{
	struct stat st;

	if (server->csv_fd < 0)
		return;
	(void)close(server->csv_fd);
	server->csv_fd = -1;
	if (lstat(server->csv_path, &st) == 0 && st.st_dev == server->csv_dev &&
	    st.st_ino == server->csv_ino)
		(void)unlink(server->csv_path);
}

static void client_hang_up(struct ctl_client *client)
{
	if (client->cc_fd >= 0)
		(void)close(client->cc_fd);
	client->cc_fd = -1;
	if (client->cc_state == CTL_WORKING)
		return;
	free(client->cc_body);
	client->cc_body = NULL;
	free(client->cc_answer);
	client->cc_answer = NULL;
	client->cc_state = CTL_FREE;
}

void ctl_server_fini(struct ctl_server *server)
{
	size_t i;

	M0_PRE(server->csv_fd < 0);
	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		struct ctl_client *client = &server->csv_clients[i];

		if (client->cc_state == CTL_FREE)
			continue;
		client->cc_state = CTL_WRITING;
		client_hang_up(client);
	}
}

/* ----------------------------------------------------------------- answers */

static void client_write(struct ctl_client *client)
{
	while (client->cc_nr < client->cc_answer_nr) {
		ssize_t put = send(client->cc_fd,
				   client->cc_answer + client->cc_nr,
				   client->cc_answer_nr - client->cc_nr,
				   MSG_NOSIGNAL | MSG_DONTWAIT);

		if (put < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (put < 0)
			break;
		client->cc_nr += (size_t)put;
	}
	client_hang_up(client);
}

void ctl_answer(struct ctl_client *client, int code, char *out, size_t out_nr,
		char *err, size_t err_nr)
{
	bool  whole = out != NULL && err != NULL;
	char *all;
	int   head;

	M0_PRE(client->cc_state == CTL_WORKING);
	client->cc_state = CTL_WRITING;
	client->cc_deadline = m0_time_add(m0_time_now(), WRITE_TIME);
	client->cc_nr = 0;
	all = whole ? malloc(HEAD_BYTES + out_nr + err_nr) : NULL;
	if (all != NULL) {
		head = snprintf(all, HEAD_BYTES, "status %d %zu %zu\n", code,
				out_nr, err_nr);
		memcpy(all + head, out, out_nr);
		memcpy(all + head + out_nr, err, err_nr);
		client->cc_answer_nr = (size_t)head + out_nr + err_nr;
	}
	client->cc_answer = all;
	free(out);
	free(err);
	if (all == NULL || client->cc_fd < 0)
		client_hang_up(client);
	else
		client_write(client);
}

void ctl_client_leave(struct ctl_client *client)
{
	M0_PRE(client->cc_state == CTL_WORKING && client->cc_answer == NULL);
	client->cc_fd = -1;
	client->cc_state = CTL_FREE;
}

static void client_refuse(struct ctl_client *client, const char *fmt, ...)
	M0_PRINTF(2, 3);

static void client_refuse(struct ctl_client *client, const char *fmt, ...)
{
	char   *err = NULL;
	size_t  nr = 0;
	FILE   *file = open_memstream(&err, &nr);
	va_list args;

	client->cc_state = CTL_WORKING;
	if (file != NULL) {
		fputs("colibri: " CTL_REFUSES, file);
		va_start(args, fmt);
		(void)vfprintf(file, fmt, args);
		va_end(args);
		(void)fputc('\n', file);
		(void)fclose(file);
	}
	ctl_answer(client, TOOL_FAILED, strdup(""), 0, err, nr);
}

/* ---------------------------------------------------------------- requests */

/* All bytes of the body are here. */
static void body_serve(struct ctl_client *client)
{
	char *body = client->cc_body;

	client->cc_state = CTL_WORKING;
	client->cc_body = NULL;
	client->cc_req.cq_body = body;
	client->cc_server->csv_serve(client->cc_server, client,
				     &client->cc_req);
	/* Requests with a body are answered at once. */
	free(body);
}

static void body_read(struct ctl_client *client)
{
	size_t  left = client->cc_req.cq_body_nr - client->cc_body_nr;
	ssize_t got = recv(client->cc_fd, client->cc_body + client->cc_body_nr,
			   left, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		client_hang_up(client);
		return;
	}
	client->cc_body_nr += (size_t)got;
	if (client->cc_body_nr == client->cc_req.cq_body_nr)
		body_serve(client);
}

/* @param more  bytes behind the line: the beginning of the body. */
static void body_begin(struct ctl_client *client, const struct ctl_request *req,
		       const char *more, size_t nr)
{
	client->cc_body = malloc(req->cq_body_nr);
	if (client->cc_body == NULL) {
		client_refuse(client, "there is no memory for it");
		return;
	}
	client->cc_req = *req;
	client->cc_body_nr = min64u(nr, req->cq_body_nr);
	memcpy(client->cc_body, more, client->cc_body_nr);
	client->cc_state = CTL_READING;
	client->cc_deadline = m0_time_add(m0_time_now(), READ_TIME);
	if (client->cc_body_nr == req->cq_body_nr)
		body_serve(client);
}

static void client_serve(struct ctl_client *client, const char *more, size_t nr)
{
	struct ctl_request req;
	const char        *why;

	client->cc_state = CTL_WORKING;
	if (ctl_request_parse(&req, client->cc_line, &why) != 0)
		client_refuse(client, "%s", why);
	else if (ctl_verb_right(req.cq_verb) != CTL_RIGHT_LOOK &&
		 !client->cc_may_change)
		client_refuse(client,
			      "%s" CTL_REFUSES_CHANGE
			      " (uid %u) and root may do; others may read and "
			      "ping",
			      ctl_verb_name(req.cq_verb), (unsigned)geteuid());
	else if (req.cq_body_nr > 0)
		body_begin(client, &req, more, nr);
	else
		client->cc_server->csv_serve(client->cc_server, client, &req);
}

static void client_read(struct ctl_client *client)
{
	char   *at = client->cc_line + client->cc_nr;
	size_t  room = sizeof client->cc_line - 1 - client->cc_nr;
	ssize_t got;
	char   *end;

	if (client->cc_body != NULL) {
		body_read(client);
		return;
	}
	got = recv(client->cc_fd, at, room, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		client_hang_up(client);
		return;
	}
	client->cc_nr += (size_t)got;
	end = memchr(at, '\n', (size_t)got);
	if (end != NULL) {
		*end = '\0';
		client_serve(client, end + 1, (size_t)(at + got - (end + 1)));
	} else if ((size_t)got == room) {
		client_refuse(client, "the request is too long");
	}
}

/* Only the user of the node and root may change it. */
static bool may_change(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* May no other client of this user, which may only read, be connected? */
static bool is_full_of_readers(const struct ctl_server *server, uid_t uid)
{
	unsigned nr = 0;
	unsigned user_nr = 0;
	size_t   i;

	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		const struct ctl_client *client = &server->csv_clients[i];

		if (client->cc_state == CTL_FREE || client->cc_may_change)
			continue;
		++nr;
		user_nr += client->cc_uid == uid ? 1 : 0;
	}
	return nr >= CTL_READERS_MAX || user_nr >= CTL_READERS_OF_USER_MAX;
}

static struct ctl_client *client_free(struct ctl_server *server)
{
	size_t i;

	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		if (server->csv_clients[i].cc_state == CTL_FREE)
			return &server->csv_clients[i];
	}
	return NULL;
}

static void client_begin(struct ctl_server *server, struct ctl_client *client,
			 int fd)
{
	bool full;

	(void)peer_of(fd, &client->cc_uid);
	full = is_full_of_readers(server, client->cc_uid);
	client->cc_may_change = may_change(client->cc_uid);
	/* A second fence: a socket for its user alone stays that. */
	if (!client->cc_may_change && (server->csv_mode & 077) == 0) {
		(void)close(fd);
		return;
	}
	client->cc_fd = fd;
	client->cc_state = CTL_READING;
	client->cc_nr = 0;
	/* The step may have begun long ago: requests are served in it. */
	client->cc_deadline = m0_time_add(m0_time_now(), READ_TIME);
	if (!client->cc_may_change && full)
		client_refuse(
			client,
			"too many clients that may only read are "
			"connected; accepted: %d of a user, and %d of all; "
			"try again later",
			(int)CTL_READERS_OF_USER_MAX, (int)CTL_READERS_MAX);
	else
		client_read(client);
}

static void clients_accept(struct ctl_server *server)
{
	struct ctl_client *client;
	int                fd;

	while (server->csv_fd >= 0 && (client = client_free(server)) != NULL) {
		fd = accept4(server->csv_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		client_begin(server, client, fd);
	}
}

/* -------------------------------------------------------------- the loop's */

unsigned ctl_server_poll(struct ctl_server *server,
			 struct pollfd      fds[CTL_POLLFDS_MAX])
{
	unsigned nr = 0;
	size_t   i;

	if (server->csv_fd >= 0 && client_free(server) != NULL)
		fds[nr++] = (struct pollfd){ server->csv_fd, POLLIN, 0 };
	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		const struct ctl_client *client = &server->csv_clients[i];

		if (client->cc_state == CTL_READING)
			fds[nr++] = (struct pollfd){ client->cc_fd, POLLIN, 0 };
		else if (client->cc_state == CTL_WRITING)
			fds[nr++] =
				(struct pollfd){ client->cc_fd, POLLOUT, 0 };
	}
	return nr;
}

m0_time_t ctl_server_deadline(const struct ctl_server *server)
{
	m0_time_t ret = M0_TIME_NEVER;
	size_t    i;

	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		const struct ctl_client *client = &server->csv_clients[i];

		if (M0_IN(client->cc_state, (CTL_READING, CTL_WRITING)))
			ret = min_check(ret, client->cc_deadline);
	}
	return ret;
}

void ctl_server_step(struct ctl_server *server, m0_time_t now)
{
	size_t i;

	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		struct ctl_client *client = &server->csv_clients[i];

		if (client->cc_state == CTL_READING)
			client_read(client);
		else if (client->cc_state == CTL_WRITING)
			client_write(client);
		if (M0_IN(client->cc_state, (CTL_READING, CTL_WRITING)) &&
		    now >= client->cc_deadline)
			client_hang_up(client);
	}
	clients_accept(server);
}

bool ctl_server_is_busy(const struct ctl_server *server)
{
	size_t i;

	for (i = 0; i < CTL_CLIENTS_MAX; ++i) {
		if (M0_IN(server->csv_clients[i].cc_state,
			  (CTL_WORKING, CTL_WRITING)))
			return true;
	}
	return false;
}
