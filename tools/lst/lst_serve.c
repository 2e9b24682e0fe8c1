/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A session in the background. The command `new_session' starts a process that
 * opens a node and listens on a socket; the other commands send their words there.
 * Answers are frames: a letter (o: standard output, e: standard error, x: the exit
 * code), a length, the bytes.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lst_serve.h"
#include "../base/log_pipe.h"
#include "../base/stop.h"
#include "../node/ctl.h"

enum {
	CLIENTS_MAX = 16,
	TICK_MS = 500,
	/** Between two looks for nodes that have been silent. */
	KEEPALIVE_MS = 8000,
	READ_TIMEOUT_S = 5,
	WORDS_MAX = 128
};

struct frame_head {
	uint32_t fhd_kind;
	uint32_t fhd_bytes;
};

static struct {
	struct lst_session session;
	/** Under lsn_lock. */
	m0_time_t   last_at;
	unsigned    clients_nr;
	const char *path;
} server;

int lst_path(char ret[LST_PATH_BYTES], const char *key, bool make,
	     struct tool_fail *fail)
{
	char  node[CTL_PATH_BYTES];
	char *slash;

	if (key[0] == '\0' || strlen(key) >= LST_KEY_BYTES ||
	    strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			"0123456789_-") != strlen(key))
		return tool_fail_set(
			fail, TOOL_USAGE,
			"$LST_SESSION '%.40s' is not accepted; "
			"accepted: 1 to %d letters, digits, - or _",
			key, LST_KEY_BYTES - 1);
	if (ctl_path(node, make, fail) != 0)
		return fail->tf_exit;
	slash = strrchr(node, '/');
	M0_ASSERT(slash != NULL);
	slash[1] = '\0';
	if (snprintf(ret, LST_PATH_BYTES, "%scolibri-lst-%s.sock", node, key) >=
	    LST_PATH_BYTES)
		return tool_fail_set(fail, TOOL_FAILED,
				     "the path of the socket is too long: %s",
				     node);
	return 0;
}

static int address_of(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(addr->sun_path, sizeof addr->sun_path, "%s", path);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int lst_connect(const char *path)
{
	struct sockaddr_un addr;
	int                fd = address_of(path, &addr);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const void *)&addr, sizeof addr) == 0)
		return fd;
	(void)close(fd);
	return -ENOENT;
}

/* -- frames ---------------------------------------------------------------- */

static bool all_send(int fd, const void *bytes, size_t nr)
{
	ssize_t part;

	for (; nr > 0; bytes = (const char *)bytes + part, nr -= (size_t)part) {
		part = send(fd, bytes, nr, MSG_NOSIGNAL);
		if (part <= 0)
			return false;
	}
	return true;
}

static bool all_recv(int fd, void *bytes, size_t nr)
{
	ssize_t part;

	for (; nr > 0; bytes = (char *)bytes + part, nr -= (size_t)part) {
		part = recv(fd, bytes, nr, 0);
		if (part <= 0)
			return false;
	}
	return true;
}

static bool frame_send(int fd, char kind, const void *bytes, size_t nr)
{
	struct frame_head head = { (uint32_t)kind, (uint32_t)nr };

	return all_send(fd, &head, sizeof head) && all_send(fd, bytes, nr);
}

/** Target of a FILE that a verb prints to. */
struct sink {
	int  snk_fd;
	char snk_kind;
};

static ssize_t sink_write(void *cookie, const char *bytes, size_t nr)
{
	struct sink *sink = cookie;

	nr = min_check(nr, (size_t)LST_COMMAND_BYTES);
	return frame_send(sink->snk_fd, sink->snk_kind, bytes, nr) ? (ssize_t)nr
								   : -1;
}

static FILE *sink_open(struct sink *sink, int fd, char kind)
{
	*sink = (struct sink){ fd, kind };
	return fopencookie(sink, "w",
			   (cookie_io_functions_t){ .write = sink_write });
}

/* The client has gone, or this process is to end. */
static bool is_stopped(const struct lst_out *out)
{
	struct pollfd fd = { out->lso_fd, POLLIN | POLLRDHUP, 0 };

	return stop_signal() != 0 || (poll(&fd, 1, 0) > 0 && fd.revents != 0);
}

/* -- a command ------------------------------------------------------------- */

/** Makes words of a command's bytes; each ends with a NUL. */
static int words_of(char *bytes, size_t nr, char *words[WORDS_MAX])
{
	int    words_nr = 0;
	size_t at;

	if (nr == 0 || bytes[nr - 1] != '\0')
		return 0;
	for (at = 0; at < nr && words_nr < WORDS_MAX - 1;
	     at += strlen(bytes + at) + 1)
		words[words_nr++] = bytes + at;
	words[words_nr] = NULL;
	return at == nr ? words_nr : 0;
}

static int command_run(int fd, char *bytes, size_t nr)
{
	char           *words[WORDS_MAX];
	int             words_nr = words_of(bytes, nr, words);
	struct sink     sinks[2];
	struct lst_args args;
	struct lst_out  out = {
		 .lso_out = sink_open(&sinks[0], fd, 'o'),
		 .lso_err = sink_open(&sinks[1], fd, 'e'),
		 .lso_stopped = is_stopped,
		 .lso_fd = fd,
	};
	int code = TOOL_FAILED;

	if (out.lso_out != NULL && out.lso_err != NULL && words_nr > 1) {
		m0_mutex_lock(&server.session.lsn_lock);
		/* The client has parsed the words without an error. */
		code = lst_args_parse(&args, words_nr, words);
		if (code == 0)
			code = lst_verb_run(&server.session, &args, &out);
		server.last_at = m0_time_now();
		/* A session that begins now makes its own. */
		if (server.session.lsn_ended && server.path != NULL) {
			(void)unlink(server.path);
			server.path = NULL;
		}
		m0_mutex_unlock(&server.session.lsn_lock);
	}
	if (out.lso_out != NULL)
		(void)fclose(out.lso_out);
	if (out.lso_err != NULL)
		(void)fclose(out.lso_err);
	return code;
}

static void *client_run(void *arg)
{
	int      fd = (int)(intptr_t)arg;
	uint32_t nr = 0;
	uint32_t code = TOOL_FAILED;
	bool     ended;
	char    *bytes;

	if (all_recv(fd, &nr, sizeof nr) && nr <= LST_COMMAND_BYTES &&
	    (bytes = malloc(nr + 1)) != NULL) {
		if (all_recv(fd, bytes, nr)) {
			code = (uint32_t)command_run(fd, bytes, nr);
			(void)frame_send(fd, 'x', &code, sizeof code);
		}
		free(bytes);
	}
	m0_mutex_lock(&server.session.lsn_lock);
	--server.clients_nr;
	ended = server.session.lsn_ended;
	m0_mutex_unlock(&server.session.lsn_lock);
	/* The end of the process closes it, which end_session waits for. */
	if (!ended)
		(void)close(fd);
	return NULL;
}

/* Only the user of this process and root may command. */
static bool is_ours(int fd)
{
	struct ucred cred;
	socklen_t    nr = sizeof cred;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &nr) == 0 &&
	       (cred.uid == geteuid() || cred.uid == 0);
}

static void client_accept(int listen_fd)
{
	struct timeval wait = { .tv_sec = READ_TIMEOUT_S };
	pthread_attr_t attr;
	pthread_t      thread;
	bool           full;
	int            fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	m0_mutex_lock(&server.session.lsn_lock);
	full = server.clients_nr >= CLIENTS_MAX || !is_ours(fd);
	server.clients_nr += !full;
	m0_mutex_unlock(&server.session.lsn_lock);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (!full && pthread_create(&thread, &attr, client_run,
				    (void *)(intptr_t)fd) == 0)
		return;
	(void)close(fd);
	m0_mutex_lock(&server.session.lsn_lock);
	server.clients_nr -= !full;
	m0_mutex_unlock(&server.session.lsn_lock);
}

/* -- the process ----------------------------------------------------------- */

/** @return true if the session is over. */
static bool session_tick(m0_time_t *keepalive_at)
{
	struct lst_session *s = &server.session;
	m0_time_t           now = m0_time_now();
	bool                over;

	m0_mutex_lock(&s->lsn_lock);
	if (server.clients_nr > 0)
		server.last_at = now;
	if (now >= *keepalive_at && !s->lsn_ended) {
		lst_keepalive(s);
		*keepalive_at =
			m0_time_add(now, KEEPALIVE_MS * M0_TIME_ONE_MSEC);
	}
	over = s->lsn_ended || stop_signal() != 0 ||
	       (s->lsn_timeout > 0 &&
		m0_time_sub(now, server.last_at) >
			s->lsn_timeout * M0_TIME_ONE_SECOND);
	m0_mutex_unlock(&s->lsn_lock);
	return over;
}

static unsigned clients_nr(void)
{
	unsigned nr;

	m0_mutex_lock(&server.session.lsn_lock);
	nr = server.clients_nr;
	m0_mutex_unlock(&server.session.lsn_lock);
	return nr;
}

static bool never(const struct lst_out *out)
{
	(void)out;
	return false;
}

static void serve(int fd)
{
	struct pollfd   poll_fd = { fd, POLLIN, 0 };
	struct lst_args args = { .lsa_timeout = 0 };
	struct lst_out  out = { stdout, stderr, never, -1 };
	m0_time_t       keepalive_at = 0;

	server.last_at = m0_time_now();
	while (!session_tick(&keepalive_at))
		if (poll(&poll_fd, 1, TICK_MS) > 0)
			client_accept(fd);
	m0_mutex_lock(&server.session.lsn_lock);
	if (server.path != NULL)
		(void)unlink(server.path);
	server.path = NULL;
	m0_mutex_unlock(&server.session.lsn_lock);
	(void)close(fd);
	if (!server.session.lsn_ended) {
		m0_mutex_lock(&server.session.lsn_lock);
		(void)lst_end_session(&server.session, &args, &out);
		m0_mutex_unlock(&server.session.lsn_lock);
	}
	while (clients_nr() > 0)
		(void)poll(NULL, 0, 1);
	lst_session_close(&server.session);
}

static int socket_open(const char *path, struct tool_fail *fail)
{
	struct sockaddr_un addr;
	int                fd = address_of(path, &addr);
	mode_t             mask = umask(0177);
	int                rc;

	/* Nobody answered there: it is of a process that has died. */
	(void)unlink(path);
	rc = fd < 0 || bind(fd, (const void *)&addr, sizeof addr) != 0 ||
			     listen(fd, CLIENTS_MAX) != 0
		     ? errno
		     : 0;
	(void)umask(mask);
	if (rc == 0)
		return fd;
	(void)tool_fail_set(fail, TOOL_FAILED, "socket %s: %s", path,
			    tool_errtext(rc));
	return -1;
}

/* Report of the process in the background to its parent. */
struct report {
	int  rpo_code;
	char rpo_text[1280];
};

static void background(struct lst_args *args, const char *key, const char *path,
		       int fd)
{
	struct tool_fail *fail = &args->lsa_fail;
	struct report     report = { 0 };
	int               listen_fd = -1;
	int               null = open("/dev/null", O_RDWR);

	(void)setsid();
	(void)chdir("/");
	(void)stop_init();
	(void)log_pipe_init(M0_LOG_ERROR);
	if (lst_session_open(&server.session, args, key) == 0) {
		listen_fd = socket_open(path, fail);
		if (listen_fd < 0)
			lst_session_close(&server.session);
	}
	report.rpo_code = fail->tf_exit;
	snprintf(report.rpo_text, sizeof report.rpo_text, "%s", fail->tf_text);
	(void)!write(fd, &report, sizeof report);
	(void)close(fd);
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	server.path = path;
	if (listen_fd >= 0)
		serve(listen_fd);
	_exit(0);
}

int lst_serve_start(struct lst_args *args, const char *key, const char *path)
{
	struct report report = { .rpo_code = TOOL_FAILED };
	int           fds[2];
	ssize_t       nr;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return tool_fail_set(&args->lsa_fail, TOOL_FAILED, "%s",
				     tool_errtext(errno));
	switch (fork()) {
	case 0:
		(void)close(fds[0]);
		background(args, key, path, fds[1]);
		break;
	case -1:
		(void)close(fds[1]);
		break;
	default:
		(void)close(fds[1]);
	}
	do
		nr = read(fds[0], &report, sizeof report);
	while (nr < 0 && errno == EINTR);
	(void)close(fds[0]);
	if (nr != sizeof report)
		return tool_fail_set(&args->lsa_fail, TOOL_FAILED,
				     "the process of the session has died");
	if (report.rpo_code != 0)
		(void)tool_fail_set(&args->lsa_fail,
				    (enum tool_exit)report.rpo_code, "%s",
				    report.rpo_text);
	return report.rpo_code;
}

int lst_ask(int fd, int argc, char **argv, bool waits)
{
	static char       bytes[LST_COMMAND_BYTES];
	struct frame_head head;
	uint32_t          code = TOOL_FAILED;
	uint32_t          nr = 0;
	int               i;

	for (i = 0; i < argc; ++i) {
		size_t len = strlen(argv[i]) + 1;

		if (nr + len > sizeof bytes || i == WORDS_MAX - 1)
			return -E2BIG;
		memcpy(bytes + nr, argv[i], len);
		nr += (uint32_t)len;
	}
	if (!all_send(fd, &nr, sizeof nr) || !all_send(fd, bytes, nr))
		return -EPIPE;
	while (all_recv(fd, &head, sizeof head) &&
	       head.fhd_bytes <= sizeof bytes &&
	       all_recv(fd, bytes, head.fhd_bytes)) {
		if (head.fhd_kind == 'x' && head.fhd_bytes == sizeof code) {
			memcpy(&code, bytes, sizeof code);
			(void)all_recv(fd, &head, waits ? sizeof head : 0);
			return (int)code;
		}
		(void)fwrite(bytes, 1, head.fhd_bytes,
			     head.fhd_kind == 'o' ? stdout : stderr);
		(void)fflush(stdout);
	}
	return -EPIPE;
}
