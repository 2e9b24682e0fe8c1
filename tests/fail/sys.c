/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fail/sys.h"

enum {
	FDS_MAX = 4096
};

const struct sys_kind sys_kinds[] = {
	{ "recv",
	  SYS_RECV,
	  { EINTR, EAGAIN, SYS_SHORT, ECONNRESET, ETIMEDOUT, ENOMEM } },
	{ "readv",
	  SYS_READV,
	  { EINTR, EAGAIN, SYS_SHORT, ECONNRESET, ETIMEDOUT, ENOMEM } },
	{ "send",
	  SYS_SEND,
	  { EINTR, EAGAIN, SYS_SHORT, ECONNRESET, EPIPE, ENOBUFS, ENOMEM } },
	{ "sendmsg",
	  SYS_SENDMSG,
	  { EINTR, EAGAIN, SYS_SHORT, ECONNRESET, EPIPE, ENOBUFS, ENOMEM } },
	{ "accept4",
	  SYS_ACCEPT4,
	  { EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, ECONNABORTED, EPROTO } },
	{ "connect",
	  SYS_CONNECT,
	  { ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL, EADDRINUSE, EAGAIN,
	    ETIMEDOUT, ENOBUFS } },
	{ "socket", SYS_SOCKET, { EMFILE, ENFILE, ENOBUFS, ENOMEM } },
	{ "bind", SYS_BIND, { EADDRINUSE, EACCES, EADDRNOTAVAIL } },
	{ "listen", SYS_LISTEN, { EADDRINUSE, ENOBUFS } },
	{ "setsockopt", SYS_SETSOCKOPT, { ENOBUFS, ENOMEM } },
	{ "getsockname", SYS_GETSOCKNAME, { ENOBUFS } },
	{ "epoll_create1", SYS_EPOLL_CREATE1, { EMFILE, ENOMEM } },
	{ "epoll_ctl", SYS_EPOLL_CTL, { ENOMEM, ENOSPC } },
	{ "epoll_wait", SYS_EPOLL_WAIT, { EINTR } },
	{ "epoll_pwait2", SYS_EPOLL_PWAIT2, { EINTR, ENOSYS, EPERM } },
	{ "timerfd_create", SYS_TIMERFD_CREATE, { EMFILE, ENOMEM } },
	{ "timerfd_settime", SYS_TIMERFD_SETTIME, { ENOMEM } },
	{ "eventfd", SYS_EVENTFD, { EMFILE, ENOMEM } },
	{ "getifaddrs", SYS_GETIFADDRS, { ENOMEM, EMFILE } },
	{ "pthread_create", SYS_PTHREAD_CREATE, { EAGAIN } },
	{ .sk_name = NULL },
};

static enum sys_call the_call;
static int           the_err;
/* Threads of the library count, too. */
static unsigned countdown;
static bool     failed;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* How each descriptor is watched: a caller that is told falsely that nothing is there
 * is woken for it again, as the kernel would. */
static struct {
	int                epfd;
	struct epoll_event event;
} watched[FDS_MAX];

void sys_fail_at(enum sys_call call, unsigned nth, int err)
{
	(void)pthread_mutex_lock(&lock);
	the_call = call;
	the_err = err;
	countdown = nth;
	failed = false;
	(void)pthread_mutex_unlock(&lock);
}

bool sys_failed(void)
{
	bool was = sys_has_failed();

	sys_fail_at(SYS_CALLS_NR, 0, 0);
	return was;
}

bool sys_has_failed(void)
{
	bool has;

	(void)pthread_mutex_lock(&lock);
	has = failed;
	(void)pthread_mutex_unlock(&lock);
	return has;
}

unsigned sys_fds_nr(void)
{
	DIR     *dir = opendir("/proc/self/fd");
	unsigned nr = 0;

	while (dir != NULL && readdir(dir) != NULL)
		++nr;
	if (dir != NULL)
		(void)closedir(dir);
	return nr;
}

static bool is_due(enum sys_call call)
{
	bool due;

	(void)pthread_mutex_lock(&lock);
	due = call == the_call && countdown > 0 && --countdown == 0;
	failed = failed || due;
	(void)pthread_mutex_unlock(&lock);
	return due;
}

/* @return -1, errno set. */
static int fail(void)
{
	errno = the_err;
	return -1;
}

int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);

static void edge_again(int fd)
{
	(void)pthread_mutex_lock(&lock);
	if (fd < FDS_MAX && watched[fd].epfd > 0)
		(void)__real_epoll_ctl(watched[fd].epfd, EPOLL_CTL_MOD, fd,
				       &watched[fd].event);
	(void)pthread_mutex_unlock(&lock);
}

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (op != EPOLL_CTL_DEL && is_due(SYS_EPOLL_CTL))
		return fail();
	(void)pthread_mutex_lock(&lock);
	if (fd < FDS_MAX) {
		watched[fd].epfd = op == EPOLL_CTL_DEL ? 0 : epfd;
		if (op != EPOLL_CTL_DEL)
			watched[fd].event = *event;
	}
	(void)pthread_mutex_unlock(&lock);
	return __real_epoll_ctl(epfd, op, fd, event);
}

/* -- bytes ----------------------------------------------------------------- */

ssize_t __real_recv(int fd, void *buf, size_t nr, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t nr, int flags);
ssize_t __real_readv(int fd, const struct iovec *iov, int nr);
ssize_t __wrap_readv(int fd, const struct iovec *iov, int nr);
ssize_t __real_send(int fd, const void *buf, size_t nr, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t nr, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);

/* Result of the call that is due: an error, or one byte. */
static ssize_t bytes_fail(int fd, void *get, const void *put, int flags)
{
	ssize_t rc = -1;

	if (the_err == SYS_SHORT)
		rc = get != NULL ? __real_recv(fd, get, 1, flags)
				 : __real_send(fd, put, 1, flags);
	edge_again(fd);
	if (the_err != SYS_SHORT)
		errno = the_err;
	return rc;
}

ssize_t __wrap_recv(int fd, void *buf, size_t nr, int flags)
{
	return is_due(SYS_RECV) ? bytes_fail(fd, buf, NULL, flags)
				: __real_recv(fd, buf, nr, flags);
}

ssize_t __wrap_readv(int fd, const struct iovec *iov, int nr)
{
	return is_due(SYS_READV) ? bytes_fail(fd, iov[0].iov_base, NULL, 0)
				 : __real_readv(fd, iov, nr);
}

ssize_t __wrap_send(int fd, const void *buf, size_t nr, int flags)
{
	return is_due(SYS_SEND) ? bytes_fail(fd, NULL, buf, flags)
				: __real_send(fd, buf, nr, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return is_due(SYS_SENDMSG)
		       ? bytes_fail(fd, NULL, msg->msg_iov[0].iov_base, flags)
		       : __real_sendmsg(fd, msg, flags);
}

/* -- sockets --------------------------------------------------------------- */

int __real_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __real_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __real_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __real_setsockopt(int fd, int level, int name, const void *val,
		      socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *val,
		      socklen_t len);
int __real_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
int __real_getifaddrs(struct ifaddrs **ret);
int __wrap_getifaddrs(struct ifaddrs **ret);

int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	int caller;

	if (!is_due(SYS_ACCEPT4))
		return __real_accept4(fd, sa, len, flags);
	/* The kernel takes an aborted connection off the queue. */
	if (the_err == ECONNABORTED) {
		caller = __real_accept4(fd, sa, len, flags);
		if (caller >= 0)
			(void)close(caller);
	}
	return fail();
}

int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return is_due(SYS_CONNECT) ? fail() : __real_connect(fd, sa, len);
}

int __wrap_socket(int domain, int type, int protocol)
{
	return is_due(SYS_SOCKET) ? fail()
				  : __real_socket(domain, type, protocol);
}

int __wrap_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return is_due(SYS_BIND) ? fail() : __real_bind(fd, sa, len);
}

int __wrap_listen(int fd, int backlog)
{
	return is_due(SYS_LISTEN) ? fail() : __real_listen(fd, backlog);
}

int __wrap_setsockopt(int fd, int level, int name, const void *val,
		      socklen_t len)
{
	return is_due(SYS_SETSOCKOPT)
		       ? fail()
		       : __real_setsockopt(fd, level, name, val, len);
}

int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	return is_due(SYS_GETSOCKNAME) ? fail()
				       : __real_getsockname(fd, sa, len);
}

int __wrap_getifaddrs(struct ifaddrs **ret)
{
	return is_due(SYS_GETIFADDRS) ? fail() : __real_getifaddrs(ret);
}

/* -- the loop -------------------------------------------------------------- */

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __real_epoll_wait(int epfd, struct epoll_event *events, int nr, int ms);
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int nr, int ms);
int __real_epoll_pwait2(int epfd, struct epoll_event *events, int nr,
			const struct timespec *ts, const sigset_t *mask);
int __wrap_epoll_pwait2(int epfd, struct epoll_event *events, int nr,
			const struct timespec *ts, const sigset_t *mask);
int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *to,
			   struct itimerspec *was);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to,
			   struct itimerspec *was);
int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);

int __wrap_epoll_create1(int flags)
{
	return is_due(SYS_EPOLL_CREATE1) ? fail() : __real_epoll_create1(flags);
}

int __wrap_epoll_wait(int epfd, struct epoll_event *events, int nr, int ms)
{
	return is_due(SYS_EPOLL_WAIT) ? fail()
				      : __real_epoll_wait(epfd, events, nr, ms);
}

int __wrap_epoll_pwait2(int epfd, struct epoll_event *events, int nr,
			const struct timespec *ts, const sigset_t *mask)
{
	return is_due(SYS_EPOLL_PWAIT2)
		       ? fail()
		       : __real_epoll_pwait2(epfd, events, nr, ts, mask);
}

int __wrap_timerfd_create(int clock, int flags)
{
	return is_due(SYS_TIMERFD_CREATE) ? fail()
					  : __real_timerfd_create(clock, flags);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to,
			   struct itimerspec *was)
{
	return is_due(SYS_TIMERFD_SETTIME)
		       ? fail()
		       : __real_timerfd_settime(fd, flags, to, was);
}

int __wrap_eventfd(unsigned value, int flags)
{
	return is_due(SYS_EVENTFD) ? fail() : __real_eventfd(value, flags);
}

/* -- threads --------------------------------------------------------------- */

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*main)(void *arg), void       *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*main)(void *arg), void       *arg);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*main)(void *arg), void       *arg)
{
	return is_due(SYS_PTHREAD_CREATE)
		       ? the_err
		       : __real_pthread_create(ret, attr, main, arg);
}
