/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The eventfd and the timerfd are watched edge-triggered like all the rest, so
 * neither is ever read: each write, each expiry is an event of its own.
 *
 * lop_roused is set by a thread before it writes to the eventfd, and
 * cleared after a wait. While it is set a write was begun after the last clear,
 * so the next wait ends; and a thread that finds it set has left its work before the
 * clear that follows, after which the waiter looks for work. A write that comes
 * late ends one wait more than needed.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "loop/loop.h"

/* Waits shorter than this do not use the timer. */
#define ARM_MIN_NS (500 * M0_TIME_ONE_USEC)

static void loop_clear(struct m0_loop *loop)
{
	M0_SET0(loop);
	loop->lop_fd = -1;
	loop->lop_event = -1;
	loop->lop_timer = -1;
	loop->lop_armed = M0_TIME_NEVER;
}

static int loop_do(struct m0_loop *loop, int op, int fd, uint32_t events,
		   void *ptr)
{
	struct epoll_event event = { .events = events | EPOLLET,
				     .data.ptr = ptr };

	return epoll_ctl(loop->lop_fd, op, fd, &event) == 0 ? 0 : -errno;
}

static int loop_ctl(struct m0_loop *loop, int fd, uint32_t events, void *ptr)
{
	return loop_do(loop, EPOLL_CTL_ADD, fd, events, ptr);
}

static int loop_open(struct m0_loop *loop)
{
	loop->lop_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->lop_fd < 0)
		return -errno;
	loop->lop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->lop_event < 0)
		return -errno;
	return loop_ctl(loop, loop->lop_event, EPOLLIN, NULL);
}

int m0_loop_init(struct m0_loop *loop)
{
	int rc;

	loop_clear(loop);
	rc = loop_open(loop);
	if (rc != 0)
		m0_loop_fini(loop);
	return rc;
}

static void fd_close(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

void m0_loop_fini(struct m0_loop *loop)
{
	fd_close(loop->lop_timer);
	fd_close(loop->lop_event);
	fd_close(loop->lop_fd);
	loop_clear(loop);
}

int m0_loop_add(struct m0_loop *loop, struct m0_loop_fd *fd)
{
	M0_PRE(fd->lof_handler != NULL);
	return loop_ctl(loop, fd->lof_fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP, fd);
}

static uint32_t epoll_of(unsigned events)
{
	return (events & M0_LOOP_IN ? (uint32_t)(EPOLLIN | EPOLLRDHUP) : 0U) |
	       (events & M0_LOOP_OUT ? (uint32_t)EPOLLOUT : 0U);
}

int m0_loop_add_for(struct m0_loop *loop, struct m0_loop_fd *fd,
		    unsigned events)
{
	M0_PRE(fd->lof_handler != NULL);
	return loop_ctl(loop, fd->lof_fd, epoll_of(events), fd);
}

int m0_loop_mask(struct m0_loop *loop, struct m0_loop_fd *fd, unsigned events)
{
	return loop_do(loop, EPOLL_CTL_MOD, fd->lof_fd, epoll_of(events), fd);
}

void m0_loop_del(struct m0_loop *loop, struct m0_loop_fd *fd)
{
	unsigned i;

	(void)epoll_ctl(loop->lop_fd, EPOLL_CTL_DEL, fd->lof_fd, NULL);
	for (i = 0; i < loop->lop_found_nr; ++i) {
		if (loop->lop_found[i] == fd)
			loop->lop_found[i] = NULL;
	}
}

static int wait_ms(struct m0_loop *loop, struct epoll_event *events,
		   m0_time_t rest)
{
	m0_time_t ms = (rest + M0_TIME_ONE_MSEC - 1) / M0_TIME_ONE_MSEC;

	return epoll_wait(loop->lop_fd, events, M0_LOOP_EVENTS_MAX,
			  (int)min64u(ms, 1000000));
}

/* The call that takes nanoseconds may be missing, or forbidden. */
static int wait_ns(struct m0_loop *loop, struct epoll_event *events,
		   m0_time_t rest)
{
	struct timespec ts = { .tv_sec = (time_t)m0_time_seconds(rest),
			       .tv_nsec = (long)m0_time_nanoseconds(rest) };
	int nr = epoll_pwait2(loop->lop_fd, events, M0_LOOP_EVENTS_MAX, &ts,
			      NULL);

	if (nr < 0 && M0_IN(errno, (ENOSYS, EPERM)))
		nr = wait_ms(loop, events, rest);
	return nr;
}

/*
 * A wait with a time of its own costs more than one without. Deadlines mostly
 * move away from wait to wait, so the timer is left at an early one: it ends one
 * wait for nothing, and all those before it had no time to set.
 */
static bool is_armed_by(struct m0_loop *loop, m0_time_t deadline,
			m0_time_t rest)
{
	return rest >= ARM_MIN_NS && m0_loop_arm(loop, deadline) == 0;
}

static int wait_any(struct m0_loop *loop, struct epoll_event *events,
		    m0_time_t deadline)
{
	m0_time_t rest = 0;
	int       ms = -1;

	if (deadline < loop->lop_armed) {
		if (deadline > 0)
			rest = m0_time_sub(deadline, m0_time_now());
		if (rest == 0)
			ms = 0;
		else if (!is_armed_by(loop, deadline, rest))
			return wait_ns(loop, events, rest);
	}
	return epoll_wait(loop->lop_fd, events, M0_LOOP_EVENTS_MAX, ms);
}

static unsigned event_of(uint32_t events)
{
	return (events & EPOLLIN ? M0_LOOP_IN : 0U) |
	       (events & EPOLLOUT ? M0_LOOP_OUT : 0U) |
	       (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR) ? M0_LOOP_END : 0U);
}

static bool loop_handle(struct m0_loop *loop, unsigned at, uint32_t events)
{
	struct m0_loop_fd *fd = loop->lop_found[at];

	if (fd == NULL)
		return false;
	fd->lof_handler(fd, event_of(events));
	return true;
}

unsigned m0_loop_wait(struct m0_loop *loop, m0_time_t deadline)
{
	struct epoll_event events[M0_LOOP_EVENTS_MAX];
	unsigned           found = 0;
	unsigned           nr;
	unsigned           i;

	/* An error is a signal: the caller looks again. */
	nr = (unsigned)max64(wait_any(loop, events, deadline), 0);
	for (i = 0; i < nr; ++i) {
		loop->lop_found[i] = events[i].data.ptr;
		if (events[i].data.ptr == &loop->lop_timer)
			loop->lop_armed = M0_TIME_NEVER;
		if (events[i].data.ptr == &loop->lop_timer)
			loop->lop_found[i] = NULL;
	}
	loop->lop_found_nr = nr;
	for (i = 0; i < nr; ++i) {
		if (loop_handle(loop, i, events[i].events))
			found |= M0_LOOP_FD;
	}
	loop->lop_found_nr = 0;
	if (__atomic_load_n(&loop->lop_roused, __ATOMIC_SEQ_CST) != 0 &&
	    __atomic_exchange_n(&loop->lop_roused, 0, __ATOMIC_SEQ_CST) != 0)
		found |= M0_LOOP_ROUSED;
	return found;
}

void m0_loop_rouse(struct m0_loop *loop)
{
	static const uint64_t one = 1;

	if (__atomic_exchange_n(&loop->lop_roused, 1, __ATOMIC_SEQ_CST) != 0)
		return;
	/* Cannot fail: the counter is far from its end. */
	if (write(loop->lop_event, &one, sizeof one) < 0)
		M0_IMPOSSIBLE("eventfd");
}

int m0_loop_pollable(const struct m0_loop *loop)
{
	return loop->lop_fd;
}

static int timer_open(struct m0_loop *loop)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int rc;

	if (fd < 0)
		return -errno;
	rc = loop_ctl(loop, fd, EPOLLIN, &loop->lop_timer);
	if (rc == 0)
		loop->lop_timer = fd;
	else
		(void)close(fd);
	return rc;
}

int m0_loop_arm(struct m0_loop *loop, m0_time_t deadline)
{
	struct itimerspec spec = { { 0, 0 }, { 0, 0 } };
	int               rc = 0;

	if (deadline >= loop->lop_armed)
		return 0;
	if (loop->lop_timer < 0)
		rc = timer_open(loop);
	if (rc != 0)
		return rc;
	/* 0 would disarm. */
	spec.it_value.tv_sec = (time_t)m0_time_seconds(deadline);
	spec.it_value.tv_nsec = (long)max64u(m0_time_nanoseconds(deadline), 1);
	if (timerfd_settime(loop->lop_timer, TFD_TIMER_ABSTIME, &spec, NULL) !=
	    0)
		return -errno;
	loop->lop_armed = deadline;
	return 0;
}
