/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Riders: a layer above that is stepped where the machine delivers. In the mode
 * of the run, but for the last cases, which deliver by hand in both.
 */
#include "xprt_suite.h"

#include "m0/sync.h"

static struct rider {
	struct m0_net_tm_rider r_rider;
	struct cf_tm          *r_tm;
	/** Steps made; one runs. */
	int r_steps;
	int r_inside;
	/** Asked for by wakers, and what the last step has seen of it. */
	int r_asked;
	int r_seen;
	/** Steps still to be asked for by steps. */
	int r_chain;
	/** The next deadline, after a step. */
	m0_time_t r_after_ns;
	m0_time_t r_due;
	int       r_early;
	/** The next step sends a message to this machine. */
	struct cf_tm *r_to;
	/** Steps at the last buffer event. */
	int r_at_event;
} rd;

static m0_time_t step(struct m0_net_tm_rider *rider, m0_time_t now)
{
	struct cf_tm *to = rd.r_to;

	CF_TRUE(rider == &rd.r_rider, "the rider that was set");
	CF_EQ(__atomic_fetch_add(&rd.r_inside, 1, __ATOMIC_SEQ_CST), 0,
	      "steps do not overlap");
	CF_EQ(m0_mutex_held_nr(), 0, "no lock is held in a step");
	CF_TRUE(M0_IN(cf_state(rd.r_tm),
		      (M0_NET_TM_STARTED, M0_NET_TM_STOPPING)),
		"a step in state %d", cf_state(rd.r_tm));
	CF_EQ(rd.r_tm->ct_states[M0_NET_TM_STOPPED], 0, "not after STOPPED");
	if (rd.r_tm->ct_tm.ntm_bev_auto_deliver == false)
		CF_TRUE(rd.r_tm->ct_delivering, "inside deliver_all");
	__atomic_store_n(&rd.r_seen, cf_get(&rd.r_asked), __ATOMIC_RELEASE);
	if (rd.r_due != 0 && now < rd.r_due)
		++rd.r_early;
	rd.r_due = 0;
	if (rd.r_chain > 0) {
		--rd.r_chain;
		m0_net_tm_rider_wake(rider);
	}
	rd.r_to = NULL;
	if (to != NULL)
		cf_send(rd.r_tm, to, 64, 1);
	if (rd.r_after_ns != 0)
		rd.r_due = now + rd.r_after_ns;
	rd.r_after_ns = 0;
	__atomic_fetch_sub(&rd.r_inside, 1, __ATOMIC_SEQ_CST);
	cf_inc(&rd.r_steps);
	cf_wake();
	return rd.r_due != 0 ? rd.r_due : M0_TIME_NEVER;
}

static void ride(struct cf_tm *t)
{
	M0_SET0(&rd);
	rd.r_tm = t;
	rd.r_rider.ntr_step = step;
	CF_EQ(m0_net_tm_ride(&t->ct_tm, &rd.r_rider), 0, "ride");
}

static struct cf_tm *up_mode(enum cf_mode mode)
{
	struct cf_tm *t = cf_tm_new_mode(0, mode);

	ride(t);
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	return t;
}

static struct cf_tm *pair_up(void)
{
	struct cf_tm *t = up_mode(cf.c_mode);

	cf_wait_count(&rd.r_steps, 1, "a step after STARTED");
	return t;
}

static void wake(void)
{
	cf_inc(&rd.r_asked);
	m0_net_tm_rider_wake(&rd.r_rider);
}

static bool all_seen(void *arg)
{
	(void)arg;
	return cf_get(&rd.r_seen) == cf_get(&rd.r_asked);
}

static void wait_seen(const char *what)
{
	cf_wait(all_seen, NULL, what);
}

/* The first step comes after STARTED without a wake; none before. */
static void after_start(void)
{
	struct cf_tm *t = cf_tm_new(0);
	int           nr;

	ride(t);
	m0_net_tm_rider_wake(&rd.r_rider);
	cf_run_ms(3);
	CF_EQ(cf_get(&rd.r_steps), 0, "no step before start");
	cf_tm_begin_start(t);
	cf_wait_count(&rd.r_steps, 1, "a step after STARTED");
	cf_run_ms(2);
	nr = cf_get(&rd.r_steps);
	cf_run_ms(5);
	CF_EQ(cf_get(&rd.r_steps), nr, "no step that nothing asks for");
}

/* Every wake is followed by a step that sees what was done before it. */
static void after_wake(void)
{
	int i;

	pair_up();
	for (i = 0; i < 50; ++i) {
		wake();
		if (i % 3 == 0)
			wake();
		wait_seen("a step after a wake");
	}
}

static void waker_main(int *nr)
{
	int i;

	for (i = 0; i < 300; ++i)
		wake();
	cf_inc(nr);
	cf_wake();
}

/* Wakes of several threads at once: the last one is not lost. */
static void wake_threads(void)
{
	struct m0_thread th[3] = {};
	int              done = 0;
	int              i;

	pair_up();
	/* The simulator has one thread. */
	if (cf.c_sim) {
		for (i = 0; i < 3; ++i)
			waker_main(&done);
		wait_seen("a step after the last wake");
		return;
	}
	for (i = 0; i < 3; ++i)
		CF_EQ(M0_THREAD_INIT(&th[i], int *, NULL, waker_main, &done,
				     "waker%d", i),
		      0, "thread");
	cf_wait_count(&done, 3, "all have woken");
	wait_seen("a step after the last wake");
	for (i = 0; i < 3; ++i) {
		CF_EQ(m0_thread_join(&th[i]), 0, "join");
		m0_thread_fini(&th[i]);
	}
}

static void event_cb(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)b;
	(void)ev;
	__atomic_store_n(&rd.r_at_event, cf_get(&rd.r_steps), __ATOMIC_RELEASE);
}

static void event_wakes_cb(struct cf_buf                    *b,
			   const struct m0_net_buffer_event *ev)
{
	event_cb(b, ev);
	wake();
}

/* A delivered event is followed by a step, unasked. */
static void after_event(void)
{
	struct cf_tm  *peer = cf_up(1);
	struct cf_tm  *t = pair_up();
	struct cf_buf *r;
	int            i;

	for (i = 0; i < 8; ++i) {
		r = cf_recv(t, 64);
		r->cb_hook = i % 2 == 0 ? event_cb : event_wakes_cb;
		cf_send(peer, t, 64, 1);
		cf_wait_buf(r);
		cf_wait_count(&rd.r_steps, rd.r_at_event + 1,
			      "a step after an event");
	}
	wait_seen("a wake by a callback");
}

/* A step that wakes its rider is followed by another, and the run ends. */
static void wake_self(void)
{
	int nr;

	pair_up();
	nr = cf_get(&rd.r_steps);
	rd.r_chain = 20;
	wake();
	cf_wait_count(&rd.r_steps, nr + 21, "twenty more steps");
	wait_seen("steps");
}

/* The step comes when its deadline has, not before, and nobody wakes it. */
static void at_deadline(void)
{
	int nr;
	int i;

	pair_up();
	for (i = 1; i <= 3; ++i) {
		wait_seen("idle");
		rd.r_after_ns = (m0_time_t)i * 3 * M0_TIME_ONE_MSEC;
		nr = cf_get(&rd.r_steps);
		wake();
		cf_wait_count(&rd.r_steps, nr + 2, "one more at the deadline");
		CF_EQ(rd.r_early, 0, "not before it");
	}
}

/* A buffer that a step adds leaves without further calls. */
static void step_sends(void)
{
	struct cf_tm  *peer = cf_up(1);
	struct cf_buf *r = cf_recv(peer, 64);

	pair_up();
	rd.r_to = peer;
	wake();
	cf_wait_buf(r);
	cf_done_is(r, 0, "a message that a step has sent");
}

/* No step after STOPPED, whichever thread wakes. */
static void not_after_stopped(void)
{
	struct cf_tm *t = pair_up();
	int           nr;

	rd.r_after_ns = 3 * M0_TIME_ONE_MSEC;
	wake();
	wait_seen("a step");
	cf_stop_wait(t, cf_rand(2));
	nr = cf_get(&rd.r_steps);
	m0_net_tm_rider_wake(&rd.r_rider);
	cf_run_ms(6);
	CF_EQ(cf_get(&rd.r_steps), nr, "steps after STOPPED");
}

/* A wake while the machine stops harms nobody. */
static void wake_and_stop(void)
{
	int i;

	for (i = 0; i < 8; ++i) {
		struct cf_tm *t = pair_up();

		wake();
		CF_EQ(cf_stop(t, cf_rand(2)), 0, "stop");
		wake();
		cf_wait_state(t, M0_NET_TM_STOPPED);
		m0_net_tm_rider_wake(&rd.r_rider);
		cf_tm_end(t);
	}
}

/* ---------------------------------------------------- delivered by hand -- */

static struct cf_tm *hand;

static bool is_pending(void *arg)
{
	(void)arg;
	return m0_net_buffer_event_pending(&hand->ct_tm);
}

static void hand_up(enum cf_mode mode)
{
	hand = cf_tm_new_mode(0, mode);
	ride(hand);
	hand->ct_manual = true;
	cf_tm_begin_start(hand);
	while (cf_state(hand) != M0_NET_TM_STARTED || rd.r_steps == 0) {
		cf_wait(is_pending, NULL, "STARTED, and then a step");
		cf_deliver(hand);
	}
	CF_EQ(rd.r_steps, 1, "one step after STARTED");
}

/* A wake and a deadline are something pending. */
static void pending_both(void)
{
	int mode;

	for (mode = CF_SYNC; mode <= CF_INLINE; ++mode) {
		hand_up((enum cf_mode)mode);
		CF_TRUE(!is_pending(NULL), "nothing is pending");
		wake();
		CF_TRUE(is_pending(NULL), "a wake is pending");
		rd.r_after_ns = 4 * M0_TIME_ONE_MSEC;
		cf_deliver(hand);
		CF_EQ(rd.r_steps, 2, "stepped inside deliver_all");
		cf_wait(is_pending, NULL, "a deadline is pending");
		cf_deliver(hand);
		CF_EQ(rd.r_steps, 3, "stepped inside deliver_all");
		CF_EQ(rd.r_early, 0, "not before the deadline");
		CF_TRUE(!is_pending(NULL), "nothing is pending any more");
		cf_deliver(hand);
		CF_EQ(rd.r_steps, 3, "no step for nothing");
		hand->ct_manual = false;
		cf_tm_end(hand);
	}
}

static bool fd_is_silent(void *arg)
{
	return !cf_fd_ready(*(int *)arg);
}

/* The descriptor is readable by a wake, and when a deadline has come. */
static void fd_both(void)
{
	int mode;

	if (cf_fd_none())
		return;
	for (mode = CF_SYNC; mode <= CF_INLINE; ++mode) {
		int fd;

		hand_up((enum cf_mode)mode);
		fd = m0_net_tm_fd(&hand->ct_tm);
		CF_TRUE(fd >= 0, "a descriptor");
		while (is_pending(NULL))
			cf_deliver(hand);
		cf_wait(fd_is_silent, &fd, "nothing to read");
		wake();
		cf_fd_wait(fd, "a wake");
		rd.r_after_ns = 4 * M0_TIME_ONE_MSEC;
		CF_TRUE(is_pending(NULL), "a wake is pending");
		/* Not while it is: the deadline may be there already. */
		while (rd.r_steps < 2)
			cf_deliver(hand);
		do {
			cf_fd_wait(fd, "a deadline");
			cf_deliver(hand);
		} while (rd.r_steps < 3);
		CF_EQ(rd.r_early, 0, "not before the deadline");
		while (is_pending(NULL))
			cf_deliver(hand);
		cf_wait(fd_is_silent, &fd, "and then nothing to read");
		hand->ct_manual = false;
		cf_tm_end(hand);
	}
}

enum {
	/** Wakes that meet a poll. */
	TURNS = 1000
};

static void waker_in_turn(int *turn)
{
	int i;

	for (i = 1; i <= TURNS; ++i) {
		while (cf_get(turn) < i)
			cf_yield();
		wake();
	}
}

static bool fd_comes_to_rest(void *arg)
{
	cf_deliver(hand);
	return fd_is_silent(arg);
}

/* A poll has seen the wake before its waker is done with the descriptor, which
 * comes to rest all the same; it is asked for while wakes come. */
static void fd_wake_meets_poll(enum cf_mode mode)
{
	struct m0_thread th = {};
	int              turn = 1;
	int              fd;
	int              i;

	hand_up(mode);
	CF_EQ(M0_THREAD_INIT(&th, int *, NULL, waker_in_turn, &turn, "waker"),
	      0, "thread");
	fd = m0_net_tm_fd(&hand->ct_tm);
	CF_TRUE(fd >= 0, "a descriptor");
	for (i = 1; i <= TURNS; ++i) {
		cf_set(&turn, i);
		while (cf_get(&rd.r_seen) < i)
			cf_deliver(hand);
		cf_wait(fd_comes_to_rest, &fd, "nothing to read any more");
	}
	CF_EQ(m0_thread_join(&th), 0, "join");
	m0_thread_fini(&th);
	hand->ct_manual = false;
	cf_tm_end(hand);
}

static void fd_wake_thread(void)
{
	/* The simulator has one thread. */
	if (cf.c_sim || cf_fd_none())
		return;
	fd_wake_meets_poll(CF_SYNC);
	fd_wake_meets_poll(CF_INLINE);
}

static int signals;

static bool signalled(struct m0_clink *link)
{
	(void)link;
	cf_inc(&signals);
	cf_wake();
	return true;
}

/* A requested notice arrives for a wake, and for a deadline. */
static void notify_both(void)
{
	struct m0_mutex lock;
	struct m0_chan  chan;
	struct m0_clink link;
	int             mode;

	for (mode = CF_SYNC; mode <= CF_INLINE; ++mode) {
		hand_up((enum cf_mode)mode);
		m0_mutex_init(&lock);
		m0_chan_init(&chan, &lock);
		m0_clink_init(&link, signalled);
		m0_clink_add_lock(&chan, &link);
		signals = 0;
		m0_net_buffer_event_notify(&hand->ct_tm, &chan);
		wake();
		cf_wait_count(&signals, 1, "a notice of a wake");
		rd.r_after_ns = 4 * M0_TIME_ONE_MSEC;
		cf_deliver(hand);
		CF_EQ(rd.r_steps, 2, "stepped");
		m0_net_buffer_event_notify(&hand->ct_tm, &chan);
		cf_wait_count(&signals, 2, "a notice of a deadline");
		cf_deliver(hand);
		CF_EQ(rd.r_steps, 3, "stepped");
		hand->ct_manual = false;
		cf_tm_end(hand);
		m0_clink_del_lock(&link);
		m0_clink_fini(&link);
		m0_chan_fini_lock(&chan);
		m0_mutex_fini(&lock);
	}
}

const struct cf_case xprt_suite_ride[] = {
	{ "step after start", after_start },
	{ "step after each wake", after_wake },
	{ "wakes of several threads", wake_threads },
	{ "step after an event", after_event },
	{ "wake from the step itself", wake_self },
	{ "step at its deadline", at_deadline },
	{ "a step sends", step_sends },
	{ "no step after STOPPED", not_after_stopped },
	{ "wake and stop", wake_and_stop },
	{ "pending: wake and deadline", pending_both },
	{ "fd: wake and deadline", fd_both },
	{ "fd: wake of another thread", fd_wake_thread },
	{ "notify: wake and deadline", notify_both },
	{ NULL, NULL }
};
