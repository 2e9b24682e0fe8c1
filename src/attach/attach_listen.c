/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The listening socket. A daemon that makes one at a path holds a lock on the file beside it, so
 * that of two daemons that start at once one sees the other. A socket that a service manager
 * has made outlives the daemon, with the processes that wait in its queue.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach/server_internal.h"

enum {
	BACKLOG = 128
};

static void addr_fill(const struct m0_attach_server *server,
		      struct sockaddr_un            *sa)
{
	M0_SET0(sa);
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path, server->asv_path, sizeof sa->sun_path);
}

/* Connects to the path: fails if a process listens there, or if it is no socket. */
static int probe(const struct m0_attach_server *server,
		 char                           why[M0_ATTACH_WHY_BYTES])
{
	struct sockaddr_un     sa;
	struct stat            st;
	struct m0_shared_creds creds;
	int                    rc = 0;
	int                    fd;

	if (lstat(server->asv_path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return m0_attach__why(why, -EEXIST,
				      "%s is there and is no socket; name "
				      "another path",
				      server->asv_path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return m0_attach__why(why, -errno, "no descriptor is left: %s",
				      m0_errname(errno));
	addr_fill(server, &sa);
	rc = connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0 ? 0 : -errno;
	(void)m0_attach__creds(fd, &creds, NULL, 0);
	(void)close(fd);
	if (M0_IN(rc, (-ENOENT, -ECONNREFUSED)))
		return 0;
	if (rc == 0)
		return m0_attach__why(why, -EADDRINUSE,
				      "process %u listens at %s already; stop "
				      "it, or name another path",
				      creds.scr_pid, server->asv_path);
	if (M0_IN(rc, (-EAGAIN, -EPROTOTYPE)))
		return m0_attach__why(why, -EADDRINUSE,
				      "another program listens at %s already; "
				      "stop it, or name another path",
				      server->asv_path);
	return m0_attach__why(why, rc, "%s: %s; name another path",
			      server->asv_path, m0_errname(rc));
}

static int lock_take(struct m0_attach_server *server,
		     char                     why[M0_ATTACH_WHY_BYTES])
{
	char path[M0_ATTACH_PATH_BYTES + 8];
	int  rc;

	(void)snprintf(path, sizeof path, "%s.lock", server->asv_path);
	server->asv_lock_fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (server->asv_lock_fd >= 0 &&
	    flock(server->asv_lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	rc = -errno;
	if (rc == -EWOULDBLOCK)
		return m0_attach__why(why, -EADDRINUSE,
				      "another daemon starts at %s; name "
				      "another path",
				      server->asv_path);
	return m0_attach__why(why, rc, "%s: %s; name another path", path,
			      m0_errname(rc));
}

/* The socket is this user's alone until it has its group. */
static int sock_bind(struct m0_attach_server *server)
{
	const struct m0_attach_policy *policy = &server->asv_policy;
	struct sockaddr_un             sa;
	struct stat                    st;
	int                            fd = server->asv_listen.lof_fd;

	addr_fill(server, &sa);
	(void)unlink(server->asv_path);
	if (fchmod(fd, 0600) != 0 ||
	    bind(fd, (struct sockaddr *)&sa, sizeof sa) != 0)
		return -errno;
	if (policy->apo_group != (uint32_t)-1 &&
	    lchown(server->asv_path, (uid_t)-1, policy->apo_group) != 0)
		return -errno;
	if (chmod(server->asv_path, policy->apo_mode) != 0 ||
	    lstat(server->asv_path, &st) != 0 || listen(fd, BACKLOG) != 0)
		return -errno;
	server->asv_dev = st.st_dev;
	server->asv_ino = st.st_ino;
	return 0;
}

static int option_get(int fd, int name)
{
	int       value = 0;
	socklen_t bytes = sizeof value;

	return getsockopt(fd, SOL_SOCKET, name, &value, &bytes) == 0 ? value
								     : -errno;
}

/* Takes a socket that listens already. */
static int given_take(struct m0_attach_server *server,
		      char                     why[M0_ATTACH_WHY_BYTES])
{
	int given = server->asv_policy.apo_listen_fd;
	int domain = option_get(given, SO_DOMAIN);
	int rc;

	if (domain < 0)
		return m0_attach__why(why, domain,
				      "descriptor %d is no socket: %s", given,
				      m0_errname(domain));
	if (domain != AF_UNIX || option_get(given, SO_TYPE) != SOCK_SEQPACKET ||
	    option_get(given, SO_ACCEPTCONN) != 1)
		return m0_attach__why(
			why, -EPROTOTYPE,
			"descriptor %d is not accepted; accepted: a Unix "
			"socket of type SOCK_SEQPACKET that listens "
			"(ListenSequentialPacket= of systemd)",
			given);
	server->asv_listen.lof_fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
	if (server->asv_listen.lof_fd >= 0 &&
	    fcntl(server->asv_listen.lof_fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0)
		return 0;
	rc = -errno;
	return m0_attach__why(why, rc, "descriptor %d: %s", given,
			      m0_errname(rc));
}

int m0_attach__listen(struct m0_attach_server *server,
		      char                     why[M0_ATTACH_WHY_BYTES])
{
	int rc;

	if (server->asv_is_given)
		return given_take(server, why);
	rc = probe(server, why);
	if (rc == 0)
		rc = lock_take(server, why);
	/* Another one may have come and gone meanwhile. */
	if (rc == 0)
		rc = probe(server, why);
	if (rc != 0)
		return rc;
	server->asv_listen.lof_fd = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = server->asv_listen.lof_fd < 0 ? -errno : sock_bind(server);
	return rc == 0 ? 0
		       : m0_attach__why(why, rc,
					"socket %s cannot be made: %s; name "
					"another path",
					server->asv_path, m0_errname(rc));
}

void m0_attach__listen_end(struct m0_attach_server *server)
{
	struct stat st;

	if (server->asv_listen.lof_fd >= 0) {
		(void)close(server->asv_listen.lof_fd);
		server->asv_listen.lof_fd = -1;
		if (!server->asv_is_given &&
		    lstat(server->asv_path, &st) == 0 &&
		    st.st_dev == server->asv_dev &&
		    st.st_ino == server->asv_ino)
			(void)unlink(server->asv_path);
	}
	if (server->asv_lock_fd >= 0)
		(void)close(server->asv_lock_fd);
	server->asv_lock_fd = -1;
}
