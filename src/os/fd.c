/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Signals and clears may meet in any order. Bit 0 of of_signalled says whether
 * the descriptor shall be readable by signal; the rest counts writes to the
 * eventfd that were begun and not read back: a write that comes late leaves the
 * descriptor readable once for nothing, and the next clear takes it out.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "os/os_internal.h"

enum {
	SIGNALLED = 1,
	WRITE = 2
};

static int poll_add(int poll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int fd_check(int fd)
{
	return fd >= 0 ? 0 : -errno;
}

static void fd_clear_all(struct m0_os_fd *fd)
{
	M0_SET0(fd);
	fd->of_fd = -1;
	fd->of_event = -1;
	fd->of_timer = -1;
	fd->of_deadline = M0_TIME_NEVER;
}

static void fd_close_one(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

int m0_os__fd_open(struct m0_os_fd *fd)
{
	int rc;

	fd->of_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = fd_check(fd->of_event);
	if (rc == 0) {
		fd->of_timer = timerfd_create(CLOCK_MONOTONIC,
					      TFD_CLOEXEC | TFD_NONBLOCK);
		rc = fd_check(fd->of_timer);
	}
	if (rc == 0) {
		fd->of_fd = epoll_create1(EPOLL_CLOEXEC);
		rc = fd_check(fd->of_fd);
	}
	if (rc == 0)
		rc = poll_add(fd->of_fd, fd->of_event);
	if (rc == 0)
		rc = poll_add(fd->of_fd, fd->of_timer);
	if (rc != 0)
		m0_os__fd_close(fd);
	return rc;
}

void m0_os__fd_close(struct m0_os_fd *fd)
{
	fd_close_one(fd->of_fd);
	fd_close_one(fd->of_event);
	fd_close_one(fd->of_timer);
	fd_clear_all(fd);
}

void m0_os__fd_arm(struct m0_os_fd *fd, m0_time_t deadline)
{
	struct itimerspec spec = { { 0, 0 }, { 0, 0 } };
	int               rc;

	if (deadline != M0_TIME_NEVER) {
		/* 0 would disarm. */
		deadline = max64u(deadline, 1);
		spec.it_value.tv_sec = (time_t)m0_time_seconds(deadline);
		spec.it_value.tv_nsec = (long)m0_time_nanoseconds(deadline);
	}
	rc = timerfd_settime(fd->of_timer, TFD_TIMER_ABSTIME, &spec, NULL);
	M0_ASSERT(rc == 0);
}

int m0_os_fd_open(struct m0_os_fd *fd)
{
	fd_clear_all(fd);
	return m0_os_get()->oo_fd_open(fd);
}

int m0_os_fd_join(struct m0_os_fd *fd, int other)
{
	return poll_add(fd->of_fd, other);
}

void m0_os_fd_leave(struct m0_os_fd *fd, int other)
{
	/* The call fails if the descriptor is closed, and has thus left the
	 * epoll set. */
	(void)epoll_ctl(fd->of_fd, EPOLL_CTL_DEL, other, NULL);
}

void m0_os_fd_close(struct m0_os_fd *fd)
{
	m0_os_get()->oo_fd_close(fd);
}

void m0_os_fd_arm(struct m0_os_fd *fd, m0_time_t deadline)
{
	if (deadline == fd->of_deadline)
		return;
	fd->of_deadline = deadline;
	fd->of_armed = deadline != M0_TIME_NEVER;
	m0_os_get()->oo_fd_arm(fd, deadline);
}

void m0_os_fd_signal(struct m0_os_fd *fd)
{
	uint32_t old = __atomic_load_n(&fd->of_signalled, __ATOMIC_SEQ_CST);
	uint64_t one = 1;

	do {
		if (old & SIGNALLED)
			return;
	} while (!__atomic_compare_exchange_n(
		&fd->of_signalled, &old,
		(old | SIGNALLED) + (fd->of_event >= 0 ? WRITE : 0), false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	/* Cannot fail: the counter is far from its end. */
	if (fd->of_event >= 0 && write(fd->of_event, &one, sizeof one) < 0)
		M0_IMPOSSIBLE("eventfd");
}

static bool fd_has_expired(const struct m0_os_fd *fd)
{
	return fd->of_armed && m0_time_now() >= fd->of_deadline;
}

bool m0_os_fd_is_readable(const struct m0_os_fd *fd)
{
	uint32_t word = __atomic_load_n(&fd->of_signalled, __ATOMIC_SEQ_CST);

	return (word & SIGNALLED) || fd_has_expired(fd);
}

void m0_os_fd_clear(struct m0_os_fd *fd)
{
	uint32_t word = __atomic_load_n(&fd->of_signalled, __ATOMIC_SEQ_CST);
	uint64_t nr;

	/*
	 * First read, then clear the bit: the other way round, the write of a
	 * signal between the two would be read away and its bit stay. A signal
	 * between the two as they are finds the bit set and does nothing, and
	 * the thread that clears it looks for work after it.
	 */
	if (word / WRITE > 0 &&
	    read(fd->of_event, &nr, sizeof nr) == (ssize_t)sizeof nr)
		__atomic_sub_fetch(&fd->of_signalled, (uint32_t)nr * WRITE,
				   __ATOMIC_SEQ_CST);
	__atomic_fetch_and(&fd->of_signalled, ~(uint32_t)SIGNALLED,
			   __ATOMIC_SEQ_CST);
	if (fd_has_expired(fd))
		m0_os_fd_arm(fd, M0_TIME_NEVER);
}
