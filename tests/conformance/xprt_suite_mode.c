/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Synchronous and inline delivery. The machine under test is delivered by the
 * case itself, in both modes whatever the mode of the run; its peer is one of
 * the run. [r.M0.net.buffer-event-delivery-control]
 * [r.M0.net.synchronous-buffer-event-delivery]
 */
#include "xprt_suite.h"

static struct cf_tm *t;
static struct cf_tm *peer;

static void pair_up(enum cf_mode mode)
{
	peer = cf_up(1);
	t = cf_tm_new_mode(0, mode);
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	t->ct_manual = true;
}

/* Runs the case in both modes. */
static void both(void (*fn)(void))
{
	pair_up(CF_SYNC);
	fn();
	pair_up(CF_INLINE);
	fn();
}

static bool is_pending(void *arg)
{
	(void)arg;
	return m0_net_buffer_event_pending(&t->ct_tm);
}

static void wait_pending(void)
{
	cf_wait(is_pending, NULL, "something is pending");
}

/* All of them have been delivered; a busy machine's strand may have been late
 * with some, the simulator's has not. */
static void deliver_until_done(struct cf_buf *const *b, int nr)
{
	int turns = 0;
	int i;

	CF_TRUE(!cf.c_sim || is_pending(NULL), "they are pending");
	for (i = 0; i < nr; ++i) {
		while (cf_get(&b[i]->cb_done) == 0) {
			wait_pending();
			cf_deliver(t);
			++turns;
		}
	}
	CF_TRUE(!cf.c_sim || turns == 1, "one deliver_all for all");
}

static bool poll_only(void *arg)
{
	(void)is_pending(arg);
	return false;
}

/* Lets messages come in, without delivering any. */
static void poll_ms(unsigned ms)
{
	(void)cf_wait_ns(poll_only, NULL, ms * M0_TIME_ONE_MSEC);
}

static int four_done(struct cf_buf *const r[4])
{
	int nr = 0;
	int i;

	for (i = 0; i < 4; ++i)
		nr += cf_get(&r[i]->cb_done);
	return nr;
}

/* @retval false  some were later than `ms`, and came afterwards. */
static bool four_came_in(unsigned ms)
{
	struct cf_buf *r[4];
	bool           in_time;
	int            i;

	for (i = 0; i < 4; ++i)
		r[i] = cf_recv(t, 64);
	for (i = 0; i < 4; ++i)
		cf_send(peer, t, 64, 1);
	wait_pending();
	poll_ms(ms);
	for (i = 0; i < 4; ++i)
		CF_EQ(cf_get(&r[i]->cb_events), 0, "nothing is delivered yet");
	CF_TRUE(is_pending(NULL), "pending stays true until deliver_all");
	cf_deliver(t);
	in_time = four_done(r) == 4;
	while (four_done(r) < 4) {
		wait_pending();
		cf_deliver(t);
	}
	CF_TRUE(!is_pending(NULL), "nothing is pending any more");
	cf_deliver(t);
	return in_time;
}

/* Four messages wait; one deliver_all delivers them, on this thread. */
static void four_at_once_do(void)
{
	unsigned ms = 6;

	while (!four_came_in(ms)) {
		CF_TRUE(!cf.c_sim && ms < 10000, "one deliver_all for all");
		ms *= 4;
	}
}

static void four_at_once(void)
{
	both(four_at_once_do);
}

static int chain;

static void chain_cb(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)ev;
	++chain;
	if (chain % 100 < 5) {
		cf_add_ok(b, t, M0_NET_QT_MSG_RECV);
		CF_TRUE(cf_del(b), "just added");
	}
}

/* Events that callbacks cause are left to the next deliver_all. */
static void at_most_what_was_pending_do(void)
{
	struct cf_buf *b = cf_recv(t, 64);
	int            i;

	chain = 0;
	b->cb_hook = chain_cb;
	CF_TRUE(cf_del(b), "queued");
	for (i = 1; i <= 5; ++i) {
		wait_pending();
		cf_deliver(t);
		CF_EQ(chain, i, "one event of a chain each time");
	}
	CF_TRUE(!is_pending(NULL), "the chain has ended");
}

static void at_most_what_was_pending(void)
{
	both(at_most_what_was_pending_do);
}

/* Cancel and time-out are events like others: only inside deliver_all. */
static void cancel_and_timeout_do(void)
{
	struct cf_buf *b[2] = { cf_recv(t, 64), cf_buf(0, 64) };
	struct cf_buf *c = b[0];
	struct cf_buf *o = b[1];

	CF_TRUE(cf_del(c), "queued");
	cf_add_within(o, t, M0_NET_QT_PASSIVE_BULK_RECV, 3 * M0_TIME_ONE_MSEC);
	poll_ms(10);
	CF_EQ(cf_get(&c->cb_events), 0, "a cancel is not delivered by itself");
	CF_EQ(cf_get(&o->cb_events), 0, "nor is a time-out");
	deliver_until_done(b, 2);
	CF_EQ(c->cb_last.ce_status, -ECANCELED, "cancelled");
	CF_EQ(o->cb_last.ce_status, -ETIMEDOUT, "timed out");
	CF_EQ(c->cb_events + o->cb_events, 2, "events");
}

static void cancel_and_timeout(void)
{
	both(cancel_and_timeout_do);
}

/* STOPPED comes once deliver_all has delivered the last buffer event. */
static void stop_waits_for_delivery_do(void)
{
	struct cf_buf *r[3];
	int            i;

	for (i = 0; i < 3; ++i)
		r[i] = cf_recv(t, 64);
	CF_EQ(cf_stop(t, true), 0, "stop");
	poll_ms(10);
	CF_EQ(cf_get(&t->ct_states[M0_NET_TM_STOPPED]), 0,
	      "not STOPPED before the events are delivered");
	CF_EQ(cf_get(&r[0]->cb_events), 0, "no event by itself");
	deliver_until_done(r, 3);
	for (i = 0; i < 3; ++i)
		CF_EQ(r[i]->cb_last.ce_status, -ECANCELED, "cancelled");
	t->ct_manual = true;
	cf_wait_state(t, M0_NET_TM_STOPPED);
	CF_TRUE(!is_pending(NULL), "false after STOPPED");
}

static void stop_waits_for_delivery(void)
{
	both(stop_waits_for_delivery_do);
}

/* -------------------------------------------------------------- notify -- */

static struct m0_mutex lock;
static struct m0_chan  chan;
static struct m0_clink link_;
static int             signals;

static bool signalled(struct m0_clink *l)
{
	(void)l;
	CF_TRUE(m0_chan_is_locked(&chan), "the guard is held");
	cf_inc(&signals);
	cf_wake();
	return true;
}

static void chan_up(void)
{
	m0_mutex_init(&lock);
	m0_chan_init(&chan, &lock);
	m0_clink_init(&link_, signalled);
	m0_clink_add_lock(&chan, &link_);
	signals = 0;
}

static void chan_down(void)
{
	m0_clink_del_lock(&link_);
	m0_clink_fini(&link_);
	m0_chan_fini_lock(&chan);
	m0_mutex_fini(&lock);
}

/* Once for the next event, then forgotten, then asked for again. */
static void notify_once_do(void)
{
	int i;

	chan_up();
	for (i = 0; i < 4; ++i)
		cf_recv(t, 64);
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	cf_run_ms(3);
	CF_EQ(cf_get(&signals), 0, "nothing is pending: no signal");
	cf_send(peer, t, 8, 1);
	cf_send(peer, t, 8, 1);
	cf_wait_count(&signals, 1, "a signal for the next event");
	CF_TRUE(is_pending(NULL), "which is pending");
	cf_run_ms(3);
	CF_EQ(cf_get(&signals), 1, "one signal, whatever has come");
	poll_ms(5);
	cf_deliver(t);
	cf_send(peer, t, 8, 1);
	wait_pending();
	CF_EQ(cf_get(&signals), 1, "the request is forgotten");
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	cf_wait_count(&signals, 2, "at once, for something is pending");
	cf_deliver(t);
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	cf_send(peer, t, 8, 1);
	cf_wait_count(&signals, 3, "a second notify works again");
	cf_deliver(t);
	t->ct_manual = false;
	cf_tm_end(t);
	chan_down();
}

static void notify_once(void)
{
	both(notify_once_do);
}

/* A new request replaces the one outstanding: one signal, on the new. */
static void notify_replaced_do(void)
{
	struct cf_buf *r = cf_recv(t, 64);

	chan_up();
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	m0_net_buffer_event_notify(&t->ct_tm, &t->ct_chan);
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	CF_TRUE(cf_del(r), "queued");
	cf_wait_count(&signals, 1, "a signal");
	cf_run_ms(3);
	CF_EQ(cf_get(&signals), 1, "one request, one signal");
	cf_deliver(t);
	t->ct_manual = false;
	cf_tm_end(t);
	chan_down();
}

static void notify_replaced(void)
{
	both(notify_replaced_do);
}

/* Withdrawn: no signal comes, and the channel may go. */
static void notify_withdrawn_do(void)
{
	struct cf_buf *r = cf_recv(t, 64);
	int            i;

	m0_net_buffer_event_notify(&t->ct_tm, NULL);
	chan_up();
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	m0_net_buffer_event_notify(&t->ct_tm, NULL);
	chan_down();
	memset(&chan, 0xff, sizeof chan);
	CF_TRUE(cf_del(r), "queued");
	poll_ms(5);
	wait_pending();
	CF_EQ(signals, 0, "no signal");
	cf_deliver(t);
	/* While events come, so that a signal is on its way now and then. */
	for (i = 0; i < 50; ++i) {
		cf_add_ok(r, t, M0_NET_QT_MSG_RECV);
		chan_up();
		m0_net_buffer_event_notify(&t->ct_tm, &chan);
		CF_TRUE(cf_del(r), "queued");
		m0_net_buffer_event_notify(&t->ct_tm, NULL);
		CF_TRUE(signals <= 1, "at most one signal");
		chan_down();
		memset(&chan, 0xff, sizeof chan);
		wait_pending();
		cf_deliver(t);
	}
	t->ct_manual = false;
	cf_tm_end(t);
}

static void notify_withdrawn(void)
{
	both(notify_withdrawn_do);
}

/* A time-out signals, too; also when nobody polls. */
static void notify_timeout_do(void)
{
	struct cf_buf *b = cf_buf(0, 64);

	chan_up();
	cf_add_within(b, t, M0_NET_QT_MSG_RECV, 5 * M0_TIME_ONE_MSEC);
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	cf_wait_count(&signals, 1, "a signal for a time-out");
	CF_EQ(cf_get(&b->cb_events), 0, "not delivered");
	cf_deliver(t);
	CF_EQ(b->cb_last.ce_status, -ETIMEDOUT, "delivered");
	t->ct_manual = false;
	cf_tm_end(t);
	chan_down();
}

static void notify_timeout(void)
{
	both(notify_timeout_do);
}

static struct cf_buf *later;

/* Somebody may look in between, and find nothing. */
static void notify_hook(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)b;
	(void)ev;
	m0_net_buffer_event_notify(&t->ct_tm, &chan);
	cf_sleep_ms(3);
	later->cb_nb.nb_timeout = m0_time_from_now(0, 20 * M0_TIME_ONE_MSEC);
	cf_add_ok(later, t, M0_NET_QT_MSG_RECV);
}

/* Asked for by a callback, for what that same callback adds then. */
static void notify_in_callback_do(void)
{
	struct cf_buf *b = cf_recv(t, 64);

	chan_up();
	later = cf_buf(0, 64);
	b->cb_hook = notify_hook;
	CF_TRUE(cf_del(b), "queued");
	wait_pending();
	cf_deliver(t);
	cf_wait_count(&signals, 1, "a signal for a time-out");
	CF_EQ(cf_get(&later->cb_events), 0, "not delivered");
	cf_deliver(t);
	CF_EQ(later->cb_last.ce_status, -ETIMEDOUT, "delivered");
	t->ct_manual = false;
	cf_tm_end(t);
	chan_down();
}

static void notify_in_callback(void)
{
	both(notify_in_callback_do);
}

/* ------------------------------------------------------- state events -- */

/* Nobody polls: start and stop come to their ends all the same. */
static void start_stop_unattended(void)
{
	int m;

	for (m = CF_SYNC; m <= CF_INLINE; ++m) {
		t = cf_tm_new_mode(0, (enum cf_mode)m);
		t->ct_manual = true;
		cf_tm_begin_start(t);
		cf_wait_state(t, M0_NET_TM_STARTED);
		CF_EQ(cf_stop(t, cf_rand(2)), 0, "stop");
		cf_wait_state(t, M0_NET_TM_STOPPED);
	}
}

/* Nothing pending: no error, in any state it is allowed in. */
static void deliver_nothing_do(void)
{
	CF_TRUE(!is_pending(NULL), "nothing is pending");
	cf_deliver(t);
	cf_deliver(t);
	CF_EQ(cf_stop(t, true), 0, "stop");
	(void)is_pending(NULL);
	cf_deliver(t);
	cf_wait_state(t, M0_NET_TM_STOPPED);
}

static void deliver_nothing(void)
{
	both(deliver_nothing_do);
}

/*
 * A mutex of the application's may be held by the thread that delivers, and that
 * waits: the mode of one whose callbacks are guarded by it.
 */
static void under_mutex_do(void)
{
	struct m0_mutex mine = M0_MUTEX_SINIT(&mine);
	struct cf_buf  *r[2] = { cf_recv(t, 64), cf_recv(t, 64) };

	m0_mutex_lock(&mine);
	cf_here()->cth_own_held_nr = 1;
	cf_send(peer, t, 8, 1);
	CF_TRUE(cf_del(r[1]), "queued");
	while (cf_get(&r[0]->cb_done) == 0 || cf_get(&r[1]->cb_done) == 0) {
		wait_pending();
		cf_deliver(t);
	}
	cf_here()->cth_own_held_nr = 0;
	m0_mutex_unlock(&mine);
	m0_mutex_fini(&mine);
}

static void under_mutex(void)
{
	both(under_mutex_do);
}

/* Machines of all modes speak to each other. */
static void mixed_modes(void)
{
	struct cf_tm *m[6];
	int           i, k;

	for (i = 0; i < 6; ++i) {
		m[i] = cf_tm_new_mode(i < 3 ? 0 : 1, (enum cf_mode)(i % 3));
		cf_tm_begin_start(m[i]);
		cf_wait_state(m[i], M0_NET_TM_STARTED);
	}
	for (i = 0; i < 3; ++i) {
		for (k = 3; k < 6; ++k) {
			struct cf_buf *p = cf_passive(
				m[i], M0_NET_QT_PASSIVE_BULK_SEND, 500, m[k]);
			struct cf_buf *a = cf_active(m[k],
						     M0_NET_QT_ACTIVE_BULK_RECV,
						     500, &p->cb_nb.nb_desc);

			cf_exchange(m[i], m[k]);
			cf_exchange(m[k], m[i]);
			cf_done_is(a, 0, "active");
			cf_done_is(p, 0, "passive");
		}
	}
}

/* ----------------------------------------------------------------- fd -- */

static void drain(void)
{
	while (is_pending(NULL))
		cf_deliver(t);
}

static bool fd_is_silent(void *arg)
{
	return !cf_fd_ready(*(int *)arg);
}

/* A library thread may be about to look whether something is pending. */
static void fd_silent(int fd, const char *what)
{
	cf_wait(fd_is_silent, &fd, what);
}

struct fd_until {
	int       fu_fd;
	m0_time_t fu_due;
};

static bool fd_is_silent_until(void *arg)
{
	struct fd_until *fu = arg;

	return fd_is_silent(&fu->fu_fd) || m0_time_now() >= fu->fu_due;
}

static void fd_silent_until(int fd, m0_time_t due, const char *what)
{
	struct fd_until fu = { fd, due };

	cf_wait(fd_is_silent_until, &fu, what);
	CF_TRUE(!cf.c_sim || m0_time_now() < due, "before it is due");
}

static bool is_readable(void *arg)
{
	return cf_fd_ready(*(int *)arg);
}

/* An inline peer sends when it is polled, and may have to connect before. */
static void message_wait(int *fd)
{
	cf_wait(is_readable, fd, "readable, a message has come");
	cf_fd_wait(*fd, "a message has come");
}

/* Readable while something is pending, without arming. */
static void fd_message_do(void)
{
	int            fd = m0_net_tm_fd(&t->ct_tm);
	struct cf_buf *r = cf_recv(t, 64);
	int            i;

	CF_TRUE(fd >= 0, "a descriptor");
	CF_EQ(m0_net_tm_fd(&t->ct_tm), fd, "the same descriptor again");
	drain();
	fd_silent(fd, "not readable: nothing is pending");
	for (i = 0; i < 3; ++i) {
		cf_send(peer, t, 8, 1);
		message_wait(&fd);
		wait_pending();
		CF_TRUE(cf_fd_ready(fd), "readable until it is delivered");
		drain();
		CF_TRUE(cf_get(&r->cb_done), "delivered");
		fd_silent(fd, "not readable after deliver_all");
		cf_add_ok(r, t, M0_NET_QT_MSG_RECV);
		drain();
		fd_silent(fd, "an add alone is nothing to read");
	}
	CF_TRUE(cf_del(r), "queued");
	cf_fd_wait(fd, "a cancel is pending");
	wait_pending();
	drain();
	CF_EQ(r->cb_last.ce_status, -ECANCELED, "delivered");
}

static void fd_message(void)
{
	if (!cf_fd_none())
		both(fd_message_do);
}

/* Readable when a deadline has expired; nobody polls meanwhile. */
static void fd_deadline_do(void)
{
	int            fd = m0_net_tm_fd(&t->ct_tm);
	struct cf_buf *b = cf_buf(0, 64);
	m0_time_t      due;
	int            looks = 0;

	drain();
	fd_silent(fd, "not readable: nothing is pending");
	do {
		m0_net_desc_free(&b->cb_nb.nb_desc);
		due = cf_add_within(b, t, M0_NET_QT_PASSIVE_BULK_RECV,
				    20 * M0_TIME_ONE_MSEC);
		drain();
		/* Slow machines are late already: once more. */
	} while (!cf.c_sim && cf_get(&b->cb_done) != 0);
	fd_silent_until(fd, due, "not readable before the deadline");
	/* A poll that makes progress is asked to look as timers of some
	 * coarseness come near, at the deadline, and when the transport has
	 * let go. Where threads run, those of the transport may be stopped
	 * anywhere in between: then it is only no storm. */
	do {
		cf_fd_wait(fd, "a deadline has expired");
		CF_TRUE(++looks <= (cf.c_sim ? 5 : 1000),
			"readable %d times, nothing pending", looks);
	} while (!is_pending(NULL));
	CF_TRUE(m0_time_now() >= due, "pending before the deadline");
	drain();
	CF_EQ(b->cb_last.ce_status, -ETIMEDOUT, "delivered");
	fd_silent(fd, "and then not readable");
}

static void fd_deadline(void)
{
	if (!cf_fd_none())
		both(fd_deadline_do);
}

/* The tick at which what is due at `ns` is looked for. */
static m0_time_t tick_of(m0_time_t ns)
{
	const m0_time_t tick = 1 << 19;

	return (ns + tick - 1) / tick * tick;
}

/*
 * The deadline comes while a poll is looking, which does not see it any more:
 * the descriptor tells of it all the same.
 */
static void fd_deadline_in_poll_do(void)
{
	int            fd = m0_net_tm_fd(&t->ct_tm);
	struct cf_buf *b = cf_buf(0, 64);
	m0_time_t      tick;
	bool           crossed;
	int            nr = 0;
	int            i;

	for (i = 0; i < 100; ++i) {
		tick = tick_of(cf_add_within(b, t, M0_NET_QT_MSG_RECV,
					     M0_TIME_ONE_MSEC / 4));
		do {
			crossed = m0_time_now() < tick;
			if (is_pending(NULL))
				break;
			crossed = crossed && m0_time_now() >= tick;
			nr += crossed;
			if (crossed)
				cf_fd_wait(fd, "a deadline came in a poll");
			else if (cf.c_sim)
				cf_yield();
		} while (true);
		drain();
		CF_EQ(b->cb_last.ce_status, -ETIMEDOUT, "delivered");
	}
	CF_TRUE(!cf.c_sim || nr > 0, "it has come so");
}

static void fd_deadline_in_poll(void)
{
	if (!cf_fd_none())
		both(fd_deadline_in_poll_do);
}

/* Asked for before start, and with something pending already. */
static void fd_before_start(void)
{
	int m;

	if (cf_fd_none())
		return;
	for (m = CF_SYNC; m <= CF_INLINE; ++m) {
		int fd;

		peer = cf_up(1);
		t = cf_tm_new_mode(0, (enum cf_mode)m);
		fd = m0_net_tm_fd(&t->ct_tm);
		CF_TRUE(fd >= 0, "a descriptor in INITIALIZED");
		cf_tm_begin_start(t);
		cf_wait_state(t, M0_NET_TM_STARTED);
		t->ct_manual = true;
		cf_recv(t, 64);
		cf_send(peer, t, 8, 1);
		message_wait(&fd);
		wait_pending();
		drain();
	}
}

/* The send is not wanted any more when the poll of another machine posts it. */
static void fd_hook(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	struct cf_tm *other = b->cb_arg;

	(void)ev;
	cf_add_ok(later, t, M0_NET_QT_MSG_SEND);
	CF_TRUE(cf_del(later), "queued");
	(void)m0_net_buffer_event_pending(&other->ct_tm);
}

/* An event that occurs during a callback makes the descriptor readable, too. */
static void fd_of_refused(void)
{
	struct cf_tm  *other;
	struct cf_buf *b;
	int            fd;

	if (cf_fd_none())
		return;
	other = cf_tm_new_mode(0, CF_INLINE);
	pair_up(CF_INLINE);
	cf_tm_begin_start(other);
	cf_wait_state(other, M0_NET_TM_STARTED);
	fd = m0_net_tm_fd(&t->ct_tm);
	later = cf_msg(t, peer, 8, 1);
	b = cf_recv(t, 64);
	b->cb_hook = fd_hook;
	b->cb_arg = other;
	CF_TRUE(cf_del(b), "queued");
	wait_pending();
	cf_deliver(t);
	while (cf_get(&later->cb_done) == 0) {
		cf_fd_wait(fd, "the cancelled send is pending");
		cf_deliver(t);
	}
	CF_EQ(m0_net_end_point_put(later->cb_nb.nb_ep), 0, "put");
}

const struct cf_case xprt_suite_mode[] = {
	{ "four messages, one deliver_all", four_at_once },
	{ "at most what was pending", at_most_what_was_pending },
	{ "cancel and time-out", cancel_and_timeout },
	{ "STOPPED after the last delivery", stop_waits_for_delivery },
	{ "notify, once", notify_once },
	{ "notify, replaced", notify_replaced },
	{ "notify, withdrawn", notify_withdrawn },
	{ "notify of a time-out", notify_timeout },
	{ "notify, asked for in a callback", notify_in_callback },
	{ "start and stop unattended", start_stop_unattended },
	{ "deliver nothing", deliver_nothing },
	{ "deliver with a mutex held", under_mutex },
	{ "mixed modes", mixed_modes },
	{ "fd: message and cancel", fd_message },
	{ "fd: deadline", fd_deadline },
	{ "fd: deadline in a poll", fd_deadline_in_poll },
	{ "fd: before start", fd_before_start },
	{ "descriptor and a send that was refused", fd_of_refused },
	{ NULL, NULL }
};
