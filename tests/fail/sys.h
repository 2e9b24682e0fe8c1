/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * System calls of the socket driver and its loop that fail as a test sets it. The
 * program is linked with --wrap for each of them.
 */
#ifndef M0_TESTS_FAIL_SYS_H
#define M0_TESTS_FAIL_SYS_H

#include <stdbool.h>

enum sys_call {
	SYS_RECV,
	SYS_READV,
	SYS_SEND,
	SYS_SENDMSG,
	SYS_ACCEPT4,
	SYS_CONNECT,
	SYS_SOCKET,
	SYS_BIND,
	SYS_LISTEN,
	SYS_SETSOCKOPT,
	SYS_GETSOCKNAME,
	SYS_EPOLL_CREATE1,
	SYS_EPOLL_CTL,
	SYS_EPOLL_WAIT,
	SYS_EPOLL_PWAIT2,
	SYS_TIMERFD_CREATE,
	SYS_TIMERFD_SETTIME,
	SYS_EVENTFD,
	SYS_GETIFADDRS,
	SYS_PTHREAD_CREATE,
	SYS_CALLS_NR
};

enum {
	/** In place of an errno: one byte is moved. */
	SYS_SHORT = -1
};

/** A kind of call, and what may become of it. */
struct sys_kind {
	const char   *sk_name;
	enum sys_call sk_call;
	/** Errors, or SYS_SHORT; 0 at the end. */
	int sk_errs[8];
};

/** The last is without a name. */
extern const struct sys_kind sys_kinds[];

/** Fails the `nth` call of this kind from now, from 1, with `err`. */
void sys_fail_at(enum sys_call call, unsigned nth, int err);
/** Has it been failed? Nothing fails any more. */
bool sys_failed(void);
/** Returns true if a call has failed; calls that are to fail still do. */
bool sys_has_failed(void);
/** Open descriptors of this process. */
unsigned sys_fds_nr(void);

#endif /* M0_TESTS_FAIL_SYS_H */
