/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The run of a TM, and visits of a transport's own thread.
 *
 * A step of a strand, and the application's pending and deliver_all, all call
 * kit_run(); flags say how much of the run each of them makes.
 */
#include "kit/kit.h"

static void deferred_add(struct m0_net_kit_machine *m,
			 struct m0_net_kit_work    *work)
{
	struct m0_net_kit_work *after = m->nkm_deferred.wl_tail;

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(work->nkw_due > 0);
	while (after != NULL && after->nkw_due > work->nkw_due)
		after = after->nkw_prev;
	work->nkw_prev = after;
	work->nkw_next = after == NULL ? m->nkm_deferred.wl_head
				       : after->nkw_next;
	if (work->nkw_next != NULL)
		work->nkw_next->nkw_prev = work;
	else
		m->nkm_deferred.wl_tail = work;
	if (after != NULL)
		after->nkw_next = work;
	else
		m->nkm_deferred.wl_head = work;
}

/* False: to be seen again after events were delivered. */
static bool work_handle(struct m0_net_kit_machine *m,
			struct m0_net_kit_work *work, m0_time_t now)
{
	if (work->nkw_op == M0_NET_KIT_WORK_DONE) {
		kit_work_done(m, work);
		return true;
	}
	if (M0_UNLIKELY(work->nkw_op == M0_NET_KIT_WORK_FAIL)) {
		kit_fail_begin(m);
		return true;
	}
	/* After its end nobody would look at what is put off. */
	if (work->nkw_due > now && !m->nkm_life.kli_ended) {
		deferred_add(m, work);
		return true;
	}
	M0_ASSERT(m->nkm_copy != NULL && m->nkm_copy->nkc_work != NULL);
	return m->nkm_copy->nkc_work(m, work);
}

static void inbox_run(struct m0_net_kit_machine *m, m0_time_t now)
{
	struct kit_work_list    list;
	struct m0_net_kit_work *work;
	uint32_t                nr = 0;

	M0_PRE_EX(kit_is_locked(m));
	while (m->nkm_deferred.wl_head != NULL &&
	       m->nkm_deferred.wl_head->nkw_due <= now) {
		work = kit_work_pop(&m->nkm_deferred);
		if (!work_handle(m, work, now)) {
			deferred_add(m, work);
			return;
		}
	}
	if (kit_inbox_is_empty(m))
		return;
	kit_inbox_take(m, &list);
	while ((work = kit_work_pop(&list)) != NULL) {
		/* Post for waiting threads before a long pass ends. */
		if (++nr % KIT_PUSH_NR == 0)
			kit_pass_push();
		/* Not of NULL: no page is there, which is looked for in vain. */
		if (list.wl_head != NULL && list.wl_head->nkw_next != NULL)
			__builtin_prefetch(list.wl_head->nkw_next);
		if (!work_handle(m, work, now)) {
			work->nkw_prev = NULL;
			work->nkw_next = list.wl_head;
			if (list.wl_head != NULL)
				list.wl_head->nkw_prev = work;
			else
				list.wl_tail = work;
			list.wl_head = work;
			kit_inbox_return(m, &list);
			return;
		}
	}
}

static bool stop_is_owed(const struct m0_net_kit_machine *m)
{
	return m->nkm_tm->ntm_state == M0_NET_TM_STOPPING &&
	       !m->nkm_life.kli_left;
}

static void progress(struct m0_net_kit_machine *m, m0_time_t now)
{
	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(m->nkm_stepping);
	if (m->nkm_life.kli_start_wanted)
		kit_start_do(m);
	if (stop_is_owed(m))
		kit_stop_do(m);
	if (m->nkm_timerq.tq_nr > 0)
		kit_timers_expire(m, now);
	/* No message before STARTED. */
	if (m->nkm_tm->ntm_state >= M0_NET_TM_STARTED)
		inbox_run(m, now);
}

bool kit_is_pending(const struct m0_net_kit_machine *m)
{
	M0_PRE_EX(kit_is_locked(m));
	return m->nkm_ready.kre_events_nr > 0 || kit_states_pending(m);
}

static void notify_signal(struct m0_net_kit_machine *m)
{
	struct m0_chan *chan = m->nkm_notify.kno_chan;

	M0_PRE_EX(kit_is_locked(m));
	if (chan == NULL ||
	    (m->nkm_ready.kre_events_nr == 0 && !kit_rider_is_due(m)))
		return;
	m->nkm_notify.kno_chan = NULL;
	kit_wakes_update(m);
	/* As a callback: fini waits for it. */
	++m->nkm_tm->ntm_callback_counter;
	__atomic_add_fetch(&m->nkm_notify.kno_signals_nr, 1, __ATOMIC_SEQ_CST);
	m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
	m0_chan_signal_lock(chan);
	__atomic_sub_fetch(&m->nkm_notify.kno_signals_nr, 1, __ATOMIC_SEQ_CST);
	m0_mutex_lock(&m->nkm_tm->ntm_mutex);
	--m->nkm_tm->ntm_callback_counter;
	m0_chan_broadcast(&m->nkm_tm->ntm_chan);
}

static m0_time_t deadline_next(const struct m0_net_kit_machine *m)
{
	m0_time_t next = m->nkm_timerq.tq_nr > 0
				 ? m0_timerq_next(&m->nkm_timerq)
				 : M0_TIME_NEVER;

	if (m->nkm_deferred.wl_head != NULL)
		next = min64u(next, m->nkm_deferred.wl_head->nkw_due);
	return next;
}

/*
 * A state to be reached. While one thread steps, all others that were woken for
 * it go back to sleep: it is up to that one.
 */
static bool has_state(const struct m0_net_kit_machine *m)
{
	return !m->nkm_stepping &&
	       (m->nkm_life.kli_start_wanted || stop_is_owed(m));
}

/* Returns true if the next run of the machine has work that not only polls see. */
static bool has_work(const struct m0_net_kit_machine *m)
{
	return (!kit_inbox_is_empty(m) && !m->nkm_stepping &&
		m->nkm_tm->ntm_state >= M0_NET_TM_STARTED) ||
	       m->nkm_bulk.kbl_list.wl_head != NULL;
}

/* Returns true if a deadline has passed since the pass read the clock. */
static bool has_passed(m0_time_t next)
{
	return next != M0_TIME_NEVER && kit_now() < next &&
	       next <= m0_time_now();
}

/* Sets the descriptor to what a poll would find. */
static void fd_update(struct m0_net_kit_machine *m)
{
	m0_time_t next = M0_TIME_NEVER;

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(m->nkm_inbox.kin_fd_open);
	if (m->nkm_sync)
		next = kit_rider_fd_arm(m, m->nkm_inline ? deadline_next(m)
							 : M0_TIME_NEVER);
	if (m->nkm_ready.kre_events_nr > 0 ||
	    (m->nkm_sync && kit_rider_is_due(m)) ||
	    (m->nkm_inline && (kit_states_pending(m) || has_work(m)))) {
		m0_os_fd_signal(&m->nkm_fd.kfd_fd);
	} else {
		m0_os_fd_clear(&m->nkm_fd.kfd_fd);
		/* A post, or the deadline, between the look and the clearing. */
		if ((m->nkm_inline && !kit_inbox_is_empty(m)) ||
		    (m->nkm_sync && kit_rider_is_due(m)) || has_passed(next))
			m0_os_fd_signal(&m->nkm_fd.kfd_fd);
	}
}

/*
 * kit_kick() clears the time for anything that is added except to the inbox, and
 * for an earlier deadline. `next` is the deadline of the TM itself.
 */
static void quiet_update(struct m0_net_kit_machine *m, m0_time_t next)
{
	bool quiet = m->nkm_inline && m->nkm_ready.kre_events_nr == 0 &&
		     m->nkm_bulk.kbl_list.wl_head == NULL && !m->nkm_stepping &&
		     m->nkm_enobufs_nr == 0 &&
		     m->nkm_tm->ntm_state == M0_NET_TM_STARTED;

	M0_PRE_EX(kit_is_locked(m));
	__atomic_store_n(&m->nkm_quiet_until, quiet ? next : 0,
			 __ATOMIC_RELEASE);
}

/* A signal may come after the run that has seen its reason: another clears it. */
static bool fd_is_clear(const struct m0_net_kit_machine *m)
{
	return !__atomic_load_n(&m->nkm_inbox.kin_fd_open, __ATOMIC_ACQUIRE) ||
	       m0_os_fd_is_clear(&m->nkm_fd.kfd_fd);
}

bool kit_is_quiet(const struct m0_net_kit_machine *m, m0_time_t now)
{
	m0_time_t until =
		__atomic_load_n(&m->nkm_quiet_until, __ATOMIC_ACQUIRE);

	if (until == 0 || !kit_inbox_is_empty(m) || !fd_is_clear(m))
		return false;
	if (m->nkm_ride.krd_rider != NULL)
		until = min64u(until, kit_rider_quiet_until(m));
	if (until == M0_TIME_NEVER)
		return true;
	return (now > 0 ? now : m0_time_now()) < until;
}

static m0_time_t run_next(struct m0_net_kit_machine *m, uint32_t flags,
			  m0_time_t next)
{
	M0_PRE_EX(kit_is_locked(m));
	if ((flags & KIT_RUN_BUFFERS) && m->nkm_ready.kre_head != NULL &&
	    !m->nkm_visitor_delivers)
		return M0_TIME_IMMEDIATELY;
	if ((flags & KIT_RUN_PROGRESS) && (has_work(m) || has_state(m)))
		return M0_TIME_IMMEDIATELY;
	/* Become due while this thread delivered the one before. */
	if ((flags & KIT_RUN_STATES) && kit_states_pending(m))
		return M0_TIME_IMMEDIATELY;
	/* Otherwise a thread that polls steps the rider. */
	if (M0_UNLIKELY(m->nkm_ride.krd_rider != NULL) &&
	    ((flags & KIT_RUN_BUFFERS) || m->nkm_notify.kno_chan != NULL)) {
		m->nkm_ride.krd_returned = kit_rider_next(m);
		next = min64u(next, m->nkm_ride.krd_returned);
	}
	return next;
}

/* There is more to do than one thread can at a time. */
static void helpers_wake(struct m0_net_kit_machine *m)
{
	uint32_t nr = m->nkm_bulk.kbl_nr +
		      (m->nkm_sync ? 0 : m->nkm_ready.kre_events_nr);
	size_t i;

	M0_PRE_EX(kit_is_locked(m));
	for (i = 0; i < m->nkm_strands.kst_nr && nr > 1; ++i) {
		if (m0_strand_sleeps(
			    &m->nkm_strands.kst_workers[i].kw_strand)) {
			m0_strand_wake(
				&m->nkm_strands.kst_workers[i].kw_strand);
			--nr;
		}
	}
}

/*
 * Requests of callbacks did not wake the strand that is to signal, because the
 * poll was to handle them. The poll has ended: wake the strand for the rest.
 */
static void notifier_wake(struct m0_net_kit_machine *m, uint32_t flags)
{
	M0_PRE_EX(kit_is_locked(m));
	if ((flags & (KIT_RUN_PROGRESS | KIT_RUN_NOTIFY)) == KIT_RUN_PROGRESS &&
	    (kit_is_pending(m) || has_work(m) ||
	     deadline_next(m) != M0_TIME_NEVER))
		kit_kick(m);
}

m0_time_t kit_run(struct m0_net_kit_machine *m, uint32_t flags)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;
	struct kit_pass           *pass = kit_pass();
	struct m0_net_kit_machine *outer = pass->kp_machine;
	struct kit_work_list       outer_done = pass->kp_done;
	struct m0_net_kit_machine *outer_rides = pass->kp_rides;
	bool                       outer_bulk = pass->kp_bulk;
	bool                       rides = flags & KIT_RUN_BUFFERS;
	bool                       delivers;
	m0_time_t                  next;

	rides = rides && m->nkm_ride.krd_rider != NULL;
	if (M0_UNLIKELY(rides))
		pass->kp_rides = m;
	pass->kp_done = (struct kit_work_list){ NULL, NULL };
	m0_mutex_lock(&tm->ntm_mutex);
	if (flags & KIT_RUN_PROGRESS) {
		pass->kp_machine = m;
		if (!m->nkm_stepping) {
			m->nkm_stepping = true;
			m->nkm_delivers = flags & KIT_RUN_BUFFERS;
			progress(m, kit_now());
			m->nkm_stepping = false;
		}
		if (M0_UNLIKELY(m->nkm_strands.kst_nr > 1))
			helpers_wake(m);
		if (m->nkm_bulk.kbl_list.wl_head != NULL)
			kit_bulk_run(m);
	}
	delivers = m->nkm_ready.kre_events_nr > 0;
	if ((flags & KIT_RUN_BUFFERS) && !m->nkm_visitor_delivers)
		kit_deliver(m);
	if ((flags & KIT_RUN_STATES) && kit_states_pending(m))
		kit_states_deliver(m);
	if (M0_UNLIKELY(rides))
		kit_rider_step(m, delivers);
	/*
	 * The push that follows sends what callbacks have asked for. Without a
	 * push the transport would move the bulk here, and delay other threads.
	 */
	if ((flags & KIT_RUN_PROGRESS) &&
	    m->nkm_bulk.kbl_list.wl_head != NULL &&
	    m->nkm_ops->nko_push != NULL)
		kit_bulk_run(m);
	/* Their events count as pending for the signal. */
	kit_done_drain(pass, m);
	if (flags & KIT_RUN_NOTIFY) {
		/* A thread that is signalled must find pending true. */
		quiet_update(m, deadline_next(m));
		notify_signal(m);
	}
	if (m->nkm_inbox.kin_fd_open)
		fd_update(m);
	/* The strand waits for the last event to deliver STOPPED. */
	if (m->nkm_sync && !(flags & KIT_RUN_STATES) &&
	    tm->ntm_state != M0_NET_TM_STARTED)
		kit_kick(m);
	if (M0_UNLIKELY(m->nkm_notify.kno_chan != NULL))
		notifier_wake(m, flags);
	next = deadline_next(m);
	quiet_update(m, next);
	next = run_next(m, flags, next);
	pass->kp_machine = outer;
	pass->kp_rides = outer_rides;
	pass->kp_done = outer_done;
	pass->kp_bulk = outer_bulk;
	m0_mutex_unlock(&tm->ntm_mutex);
	return next;
}

/* --------------------------------------------------------------- visits -- */

void m0_net_kit_enter(struct m0_net_kit_machine *m,
		      struct m0_net_kit_visit   *visit)
{
	struct kit_pass *pass = kit_pass_open(m0_time_cached());

	visit->nkv_outer = pass->kp_machine;
	visit->nkv_done[0] = pass->kp_done.wl_head;
	visit->nkv_done[1] = pass->kp_done.wl_tail;
	pass->kp_done = (struct kit_work_list){ NULL, NULL };
	m0_mutex_lock(&m->nkm_tm->ntm_mutex);
	pass->kp_machine = m;
	pass->kp_visits = true;
}

/*
 * A runner's TM has no thread of its own: it is not inline, not confined, and
 * has one worker. So the visitor, a thread of the transport like the runner,
 * delivers the events itself, unless the application delivers them or another
 * thread is in a callback of the TM.
 */
static bool visitor_delivers(const struct m0_net_kit_machine *m)
{
	return m->nkm_strands.kst_runner != NULL && !m->nkm_sync &&
	       m->nkm_ready.kre_events_nr > 0 &&
	       m->nkm_tm->ntm_callback_counter == 0;
}

/* Returns true if the rider is due before the runner comes by itself. */
static bool rider_is_early(const struct m0_net_kit_machine *m)
{
	return M0_UNLIKELY(m->nkm_ride.krd_rider != NULL) &&
	       kit_rider_next(m) < m->nkm_ride.krd_returned;
}

static void visitor_deliver(struct m0_net_kit_machine *m)
{
	struct kit_pass           *pass = kit_pass();
	struct m0_net_kit_machine *outer_rides = pass->kp_rides;
	bool rides = M0_UNLIKELY(m->nkm_ride.krd_rider != NULL);

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(!m->nkm_visitor_delivers);
	m->nkm_visitor_delivers = true;
	if (rides)
		pass->kp_rides = m;
	kit_deliver(m);
	if (rides)
		kit_rider_step(m, true);
	pass->kp_rides = outer_rides;
	m->nkm_visitor_delivers = false;
	kit_done_drain(pass, m);
}

void m0_net_kit_leave(struct m0_net_kit_machine *m,
		      struct m0_net_kit_visit   *visit)
{
	struct kit_pass *pass = kit_pass();

	kit_done_drain(pass, m);
	if (visitor_delivers(m))
		visitor_deliver(m);
	if (kit_is_pending(m) || m->nkm_bulk.kbl_list.wl_head != NULL ||
	    rider_is_early(m))
		kit_kick(m);
	pass->kp_visits = false;
	pass->kp_machine = visit->nkv_outer;
	pass->kp_done.wl_head = visit->nkv_done[0];
	pass->kp_done.wl_tail = visit->nkv_done[1];
	m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
	kit_pass_close(pass);
}

void m0_net_kit_pin(struct m0_net_kit_machine *m)
{
	M0_PRE(m0_mutex_is_locked(&m->nkm_tm->ntm_mutex));
	++m->nkm_pins_nr;
}

void m0_net_kit_unpin(struct m0_net_kit_machine *m)
{
	M0_PRE(m0_mutex_is_locked(&m->nkm_tm->ntm_mutex));
	M0_PRE(m->nkm_pins_nr > 0);
	if (--m->nkm_pins_nr == 0)
		kit_kick(m);
}

/* -------------------------------------------------------------- strands -- */

m0_time_t m0_net_kit_machine_run(struct m0_net_kit_machine *m, m0_time_t now)
{
	uint32_t flags = KIT_RUN_PROGRESS | KIT_RUN_STATES | KIT_RUN_NOTIFY;
	struct kit_pass *pass;
	m0_time_t        next;
	bool             wakes;
	bool             polls;

	m0_mutex_lock(&m->nkm_inbox.kin_lock);
	wakes = m->nkm_inbox.kin_wakes;
	m0_mutex_unlock(&m->nkm_inbox.kin_lock);
	/* The strand of an inline machine that nobody needs. */
	if (!wakes)
		return M0_TIME_NEVER;
	if (!m->nkm_sync)
		flags |= KIT_RUN_BUFFERS;
	polls = kit_helper_poll(m);
	pass = kit_pass_open(now);
	next = kit_run(m, flags);
	kit_pass_close(pass);
	/* Nobody else may look meanwhile. */
	return polls ? min64u(next, m0_time_add(now, KIT_POLL_NS)) : next;
}

static m0_time_t worker_step(struct m0_strand *strand, m0_time_t now)
{
	struct kit_worker *w =
		container_of(strand, struct kit_worker, kw_strand);

	return m0_net_kit_machine_run(w->kw_machine, now);
}

static bool worker_ready(const struct m0_strand *strand)
{
	const struct m0_net_kit_machine *m =
		container_of(strand, struct kit_worker, kw_strand)->kw_machine;

	return !m->nkm_inline && !kit_inbox_is_empty(m);
}

const struct m0_strand_ops kit_worker_ops = { .so_step = worker_step,
					      .so_ready = worker_ready };
