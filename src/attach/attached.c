/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * m0_lnet_open() with lc_attach: a front with a pump, over an attachment. Memory of the
 * library's allocator is handed over as it is, by whole regions.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/direct.h"
#include "front/apart.h"
#include "front/pump.h"
#include "m0/lnet_cfg.h"
#include "m0/log.h"

/** Time for the daemon to answer a message of the socket. */
#define ANSWER_NS (5 * M0_TIME_ONE_SECOND)

struct attached {
	struct m0_attach atd_att;
	/** For loops of others: all that ends a wait, and a timer; -1: not asked for. */
	int       atd_epoll;
	int       atd_timer;
	m0_time_t atd_timer_at;
	/** For another daemon after the end of this one: the path, and the attachment that
	 * is under way until a time, 0: none. */
	char             atd_path[sizeof((struct m0_lnet_cfg *)0)->lc_attach];
	struct m0_attach atd_next;
	m0_time_t        atd_next_until;
	/** The process wants to copy, and others to copy from it; and so of messages. */
	bool                  atd_copies;
	struct m0_attach_near atd_near;
};

static m0_time_t answer_until(void)
{
	return m0_time_add(m0_time_now(), ANSWER_NS);
}

static int share(void *arg, uint32_t nr, void *addr, uint64_t bytes)
{
	struct attached *atd = arg;
	char             why[M0_ATTACH_WHY_BYTES];
	int              rc;

	rc = m0_attach_region_give(
		&atd->atd_att, nr, addr,
		atd->atd_att.att_is_device ? -1 : m0_os_region_fd(addr), bytes,
		answer_until(), why);
	if (rc == 0)
		return 0;
	m0_log(M0_LOG_WARN, "memory for the node's daemon: %s", why);
	return rc == -EPIPE ? -ESHUTDOWN : rc;
}

static int copy(void *arg, const struct m0_shared_copy *body, void *const *to)
{
	const struct attached *atd = arg;

	return m0_attach_copy(&atd->atd_att, body, to);
}

/* ------------------------------------------------------------ neighbours -- */

/* As for copies, since the daemon names the neighbours. */
static uint64_t near_name(void *arg)
{
	struct attached *atd = arg;

	return atd->atd_att.att_copies ? m0_attach_near_name(&atd->atd_near)
				       : 0;
}

static struct m0_pump_conn *near_dial(void *arg, uint64_t name,
				      const struct m0_pump_hello *hello)
{
	struct attached     *atd = arg;
	struct m0_pump_conn *conn;

	if (!atd->atd_att.att_copies)
		return NULL;
	conn = m0_attach_near_dial(&atd->atd_near, name, hello);
	/* Another thread may wait, without the new descriptor. */
	if (conn != NULL)
		m0_attach_rouse(&atd->atd_att);
	return conn;
}

static struct m0_pump_conn *near_accept(void *arg, struct m0_pump_hello *ret)
{
	struct attached *atd = arg;

	return m0_attach_near_accept(&atd->atd_near, ret);
}

static int near_welcome(void *arg, struct m0_pump_conn *conn)
{
	struct attached *atd = arg;

	return m0_attach_near_welcome(&atd->atd_near, conn);
}

static bool near_look(void *arg)
{
	struct attached *atd = arg;

	return m0_attach_near_look(&atd->atd_near);
}

static void near_ring(void *arg, struct m0_pump_conn *conn)
{
	struct attached *atd = arg;

	m0_attach_near_ring(&atd->atd_near, conn);
}

static void near_close(void *arg, struct m0_pump_conn *conn, bool reset)
{
	struct attached *atd = arg;

	m0_attach_near_close(&atd->atd_near, conn, reset);
}

static const struct m0_pump_near_ops near_ops = {
	.pne_name = near_name,
	.pne_dial = near_dial,
	.pne_accept = near_accept,
	.pne_welcome = near_welcome,
	.pne_look = near_look,
	.pne_ring = near_ring,
	.pne_close = near_close,
};

static void rouse(void *arg)
{
	struct attached *atd = arg;

	m0_attach_rouse(&atd->atd_att);
}

/* --------------------------------------------------------- a descriptor -- */

/* Adds the first so many of what ends a wait. */
static int epoll_add(struct attached *atd, size_t nr)
{
	const struct m0_attach *att = &atd->atd_att;
	const int      fds[] = { att->att_bell, att->att_sock, att->att_rouse,
				 atd->atd_timer };
	const uint32_t bits[] = { EPOLLIN, EPOLLRDHUP, EPOLLIN, EPOLLIN };
	size_t         i;

	M0_PRE(nr <= ARRAY_SIZE(fds));
	for (i = 0; i < nr; ++i) {
		struct epoll_event ev = { .events = bits[i] };

		if (epoll_ctl(atd->atd_epoll, EPOLL_CTL_ADD, fds[i], &ev) != 0)
			return -errno;
	}
	return 0;
}

static int epoll_make(struct attached *atd)
{
	int rc;

	atd->atd_epoll = epoll_create1(EPOLL_CLOEXEC);
	rc = atd->atd_epoll < 0 ? -errno : epoll_add(atd, 4);
	if (rc == 0)
		m0_attach_near_epoll_set(&atd->atd_near, atd->atd_epoll);
	return rc;
}

static int fd_get(void *arg)
{
	struct attached *atd = arg;
	int              rc;

	if (atd->atd_epoll >= 0)
		return atd->atd_epoll;
	atd->atd_timer =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	atd->atd_timer_at = M0_TIME_NEVER;
	rc = atd->atd_timer < 0 ? -errno : epoll_make(atd);
	if (rc == 0)
		return atd->atd_epoll;
	m0_attach__close(&atd->atd_epoll);
	m0_attach__close(&atd->atd_timer);
	return rc;
}

static void fd_arm(void *arg, m0_time_t deadline)
{
	struct attached  *atd = arg;
	struct itimerspec at = { 0 };

	if (deadline == M0_TIME_NEVER)
		m0_attach_calm(&atd->atd_att);
	if (deadline == atd->atd_timer_at)
		return;
	atd->atd_timer_at = deadline;
	/* 0 would stop it. */
	if (deadline != M0_TIME_NEVER) {
		deadline = max64u(deadline, 1);
		at.it_value.tv_sec = (time_t)m0_time_seconds(deadline);
		at.it_value.tv_nsec = (long)m0_time_nanoseconds(deadline);
	}
	(void)timerfd_settime(atd->atd_timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* ------------------------------------------------------------------ ends -- */

/* A front that is closed has asked for the end, and gets no error. */
static void ended(void *arg, const struct m0_shared_why *broken)
{
	struct attached *atd = arg;
	char             why[M0_ATTACH_WHY_BYTES] = "";
	int              rc;

	/* The pump has logged it. */
	if (broken->shy_field != NULL)
		return;
	rc = m0_attach_reason(&atd->atd_att, why);
	if (!M0_IN(rc, (0, -ETIMEDOUT)))
		m0_log(M0_LOG_ERROR,
		       "the node's daemon has ended the attachment: %s", why);
}

static void next_drop(struct attached *atd)
{
	if (atd->atd_next_until != 0)
		m0_attach_close(&atd->atd_next);
	atd->atd_next_until = 0;
}

static void attached_free(struct attached *atd)
{
	next_drop(atd);
	m0_attach_near_fini(&atd->atd_near);
	m0_attach__close(&atd->atd_epoll);
	m0_attach__close(&atd->atd_timer);
	m0_attach_close(&atd->atd_att);
	m0_free(atd);
}

/* ----------------------------------------------------------------- again -- */

/* Nothing of this waits, but for a daemon whose queue is full, and that for a moment. */
static int again(void *arg, m0_time_t now)
{
	struct attached            *atd = arg;
	const struct m0_shared_cfg *cfg = &atd->atd_att.att_side.shs_cfg;
	char                        why[M0_ATTACH_WHY_BYTES];
	int                         rc = 0;

	if (atd->atd_next_until == 0) {
		rc = m0_attach_begin(&atd->atd_next,
				     atd->atd_path[0] == 0 ? NULL
							   : atd->atd_path,
				     cfg, now, why);
		if (rc != 0)
			return -EAGAIN;
		atd->atd_next_until = m0_time_add(now, ANSWER_NS);
	}
	rc = m0_attach_finish(&atd->atd_next, M0_TIME_IMMEDIATELY, why);
	if (rc == -ETIMEDOUT && now < atd->atd_next_until)
		return -EINPROGRESS;
	/* Numbers and budgets of the front are those of the first area. */
	if (rc == 0 &&
	    memcmp(&atd->atd_next.att_side.shs_cfg, cfg, sizeof *cfg) != 0)
		rc = -EPROTO;
	else if (rc != 0)
		rc = -EAGAIN;
	if (rc != 0)
		next_drop(atd);
	return rc;
}

/* Another daemon is asked about again. */
static void copies_look(struct attached *atd)
{
	struct m0_attach *att = &atd->atd_att;
	bool              copies = atd->atd_copies && m0_attach_may_copy(att);

	m0_mutex_lock(&att->att_lock);
	att->att_copies = copies;
	m0_mutex_unlock(&att->att_lock);
}

static struct m0_shared_side *swap(void **arg)
{
	struct attached *atd = *arg;

	M0_PRE(atd->atd_next_until != 0);
	m0_attach_swap(&atd->atd_att, &atd->atd_next);
	atd->atd_next_until = 0;
	copies_look(atd);
	/* Descriptors of before have left it as they were closed. */
	if (atd->atd_epoll >= 0 && epoll_add(atd, 2) != 0)
		m0_log(M0_LOG_ERROR,
		       "the descriptor of an attached node does not have its "
		       "new daemon: %s",
		       m0_errname(errno));
	return &atd->atd_att.att_side;
}

static void closed(void *arg)
{
	attached_free(arg);
}

#define PUMP_HOST                                                   \
	.puh_share = share, .puh_copy = copy, .puh_rouse = rouse,   \
	.puh_fd = fd_get, .puh_fd_arm = fd_arm, .puh_ended = ended, \
	.puh_again = again, .puh_swap = swap, .puh_closed = closed

static const struct m0_pump_host daemon_host = { PUMP_HOST };
static const struct m0_pump_host direct_host = { PUMP_HOST,
						 .puh_near = &near_ops };
/* The kernel takes any memory of the process. */
static const struct m0_pump_host device_host = { PUMP_HOST,
						 .puh_takes_any = true };

static void copies_begin(struct attached *atd, const struct m0_lnet_cfg *cfg)
{
	atd->atd_copies = cfg->lc_same_host && !atd->atd_att.att_is_device;
	m0_os_random(atd->atd_att.att_cookie, sizeof atd->atd_att.att_cookie);
	if (atd->atd_copies)
		atd->atd_att.att_near = &atd->atd_near;
	copies_look(atd);
}

static const struct m0_pump_host *host_of(const struct attached *atd)
{
	if (atd->atd_att.att_is_device)
		return &device_host;
	return atd->atd_copies ? &direct_host : &daemon_host;
}

/* Makes the front of an attachment, which closes that with it. */
static int front_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
		      struct attached *atd)
{
	int rc;

	rc = m0_pump_open(ret, cfg, &atd->atd_att.att_side, NULL, 0,
			  host_of(atd), atd);
	if (rc != 0) {
		attached_free(atd);
		return rc;
	}
	rc = m0_pump_nids_get(*ret);
	if (rc != 0)
		m0_lnet_close(*ret);
	return rc;
}

static int open_attached(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
			 const char *path, char *why)
{
	char             text[M0_ATTACH_WHY_BYTES] = "no memory";
	struct attached *atd;
	int              rc = -ENOMEM;

	M0_ALLOC_PTR(atd);
	if (atd != NULL) {
		atd->atd_epoll = -1;
		atd->atd_timer = -1;
		m0_attach_near_init(&atd->atd_near);
		(void)snprintf(atd->atd_path, sizeof atd->atd_path, "%s", path);
		rc = m0_attach_open(&atd->atd_att, *path == 0 ? NULL : path,
				    NULL, answer_until(), text);
		if (rc == 0) {
			if (!atd->atd_att.att_is_device)
				m0_os_regions_share(M0_OS_SHARE_WRITE);
			copies_begin(atd, cfg);
			rc = front_open(ret, cfg, atd);
			if (rc != 0)
				(void)snprintf(text, sizeof text,
					       "the daemon does not serve: %s",
					       m0_errname(rc));
		} else {
			m0_attach_near_fini(&atd->atd_near);
			m0_free(atd);
		}
	}
	if (rc != 0 && why != NULL)
		(void)snprintf(why, M0_LNET_WHY_BYTES, "%s", text);
	return rc;
}

void m0_attach__install(void)
{
	(void)m0_front_attach_open_set(open_attached);
}

/* Linker options pull m0_attach__install() into static links (meson.build). */
__attribute__((__constructor__)) static void attach_start(void)
{
	m0_attach__install();
}
