/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The inbox of a machine, and waiting for what it does.
 *
 * The inbox is a stack: a push exchanges its head; the machine takes the whole
 * stack and reverses it. Only a push to an empty inbox wakes the machine. Calls
 * that the machine's thread pushes go into a list of their own, without an atomic.
 */
#include "rpc/rpc_internal.h"

/* Rounds of a step, for what callbacks push; then the pass has to end. */
enum {
	ROUNDS_NR = 16
};

/* Polls of a thread that waits for an inline machine, before it sleeps. */
enum {
	POLLS_NR = 100
};

M0_TLS(struct m0_rpc__machine *, m0_rpc__here);

/* The head of an inbox that takes no more. */
static struct m0_rpc__call closed;

/** Count the thread before the machine can see its call: the call may be the
 * last, and the thread is still inside the wake when the machine ends. */
static bool push_try(struct m0_rpc__machine *m, struct m0_rpc__call *call,
		     struct m0_rpc__call **head)
{
	bool wakes = *head == NULL;
	bool done;

	M0_PRE_EX(call->rcl_run != NULL);
	if (wakes)
		(void)__atomic_add_fetch(&m->rml_inbox.rib_wakers_nr, 1,
					 __ATOMIC_SEQ_CST);
	call->rcl_next = *head;
	done = __atomic_compare_exchange_n(&m->rml_inbox.rib_head, head, call,
					   true, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
	if (done && wakes)
		m0_net_tm_rider_wake(&m->rml_rider);
	if (wakes)
		(void)__atomic_sub_fetch(&m->rml_inbox.rib_wakers_nr, 1,
					 __ATOMIC_RELEASE);
	return done;
}

int m0_rpc__inbox_push(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__call *head =
		__atomic_load_n(&m->rml_inbox.rib_head, __ATOMIC_RELAXED);

	while (head != &closed)
		if (push_try(m, call, &head))
			return 0;
	return -ESHUTDOWN;
}

void m0_rpc__wakers_wait(const struct m0_rpc__machine *m)
{
	m0_os_zero_wait(&m->rml_inbox.rib_wakers_nr);
}

void m0_rpc__inbox_init(struct m0_rpc__inbox *inbox,
			void (*rest)(struct m0_rpc__machine *m))
{
	M0_PRE(rest != NULL);
	inbox->rib_rest = rest;
	m0_mutex_init(&inbox->rib_waiters_lock);
	m0_list_init(&inbox->rib_waiters);
	m0_mutex_init(&inbox->rib_ended_lock);
	m0_mutex_init(&inbox->rib_notice_lock);
	m0_chan_init(&inbox->rib_notice, &inbox->rib_notice_lock);
}

void m0_rpc__inbox_fini(struct m0_rpc__inbox *inbox)
{
	M0_PRE(inbox->rib_own_head == NULL);
	M0_PRE(m0_list_is_empty(&inbox->rib_waiters));
	m0_chan_fini_lock(&inbox->rib_notice);
	m0_mutex_fini(&inbox->rib_notice_lock);
	m0_mutex_fini(&inbox->rib_ended_lock);
	m0_list_fini(&inbox->rib_waiters);
	m0_mutex_fini(&inbox->rib_waiters_lock);
}

bool m0_rpc__calls_wait(const struct m0_rpc__machine *m)
{
	struct m0_rpc__call *head =
		__atomic_load_n(&m->rml_inbox.rib_head, __ATOMIC_SEQ_CST);

	return m->rml_inbox.rib_own_head != NULL ||
	       (head != NULL && head != &closed);
}

static void list_run(struct m0_rpc__machine *m, struct m0_rpc__call *stack)
{
	struct m0_rpc__call *list = NULL;
	struct m0_rpc__call *next;

	for (; stack != NULL; stack = next) {
		next = stack->rcl_next;
		stack->rcl_next = list;
		list = stack;
	}
	for (; list != NULL; list = next) {
		next = list->rcl_next;
		list->rcl_run(m, list);
	}
}

void m0_rpc__own_run(struct m0_rpc__machine *m)
{
	struct m0_rpc__call *list = m->rml_inbox.rib_own_head;
	struct m0_rpc__call *next;

	M0_PRE_EX(m0_rpc__is_here(m));
	m->rml_inbox.rib_own_head = NULL;
	m->rml_inbox.rib_own_tail = NULL;
	for (; list != NULL; list = next) {
		next = list->rcl_next;
		list->rcl_run(m, list);
	}
}

void m0_rpc__calls_run(struct m0_rpc__machine *m)
{
	int i;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__inbox_invariant(&m->rml_inbox));
	for (i = 0; i < ROUNDS_NR && m0_rpc__calls_wait(m); ++i) {
		/* Closed only when nobody steps it any more. */
		if (__atomic_load_n(&m->rml_inbox.rib_head, __ATOMIC_RELAXED) !=
		    NULL)
			list_run(m,
				 __atomic_exchange_n(&m->rml_inbox.rib_head,
						     NULL, __ATOMIC_SEQ_CST));
		m0_rpc__own_run(m);
	}
}

/* On an ended machine there is no step: the caller makes one. */
static void ended_do(struct m0_rpc__machine *m,
		     void (*fn)(struct m0_rpc__machine *m, void *arg),
		     void *arg)
{
	struct m0_rpc__machine *before;

	M0_PRE(fn != NULL);
	M0_PRE(!m0_rpc__is_here(m));
	m0_mutex_lock(&m->rml_inbox.rib_ended_lock);
	before = m0_rpc__enter(m);
	m->rml_now = m0_time_now();
	fn(m, arg);
	m->rml_inbox.rib_rest(m);
	m0_rpc__leave(before);
	m0_mutex_unlock(&m->rml_inbox.rib_ended_lock);
	m0_rpc__waiters_wake(m);
}

static void stack_run(struct m0_rpc__machine *m, void *arg)
{
	list_run(m, arg);
}

void m0_rpc__calls_close(struct m0_rpc__machine *m)
{
	struct m0_rpc__call *stack = __atomic_exchange_n(
		&m->rml_inbox.rib_head, &closed, __ATOMIC_SEQ_CST);

	if (stack != &closed)
		ended_do(m, stack_run, stack);
}

/* ----------------------------------------------------------------- do -- */

struct doing {
	struct m0_rpc__call dng_call;
	void (*dng_fn)(struct m0_rpc__machine *m, void *arg);
	void    *dng_arg;
	uint32_t dng_done;
};

static void doing_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct doing *d = container_of(call, struct doing, dng_call);

	M0_PRE(m0_rpc__is_here(m));
	d->dng_fn(m, d->dng_arg);
	__atomic_store_n(&d->dng_done, 1, __ATOMIC_RELEASE);
	m0_rpc__changed(m);
}

static bool doing_is_done(void *arg)
{
	struct doing *d = arg;

	return __atomic_load_n(&d->dng_done, __ATOMIC_ACQUIRE) != 0;
}

void m0_rpc__do(struct m0_rpc__machine *m,
		void (*fn)(struct m0_rpc__machine *m, void *arg), void *arg)
{
	struct doing d = { .dng_call.rcl_run = doing_run,
			   .dng_fn = fn,
			   .dng_arg = arg };

	M0_PRE(fn != NULL);
	if (m0_rpc__is_here(m))
		fn(m, arg);
	else if (m0_rpc__call_push(m, &d.dng_call) != 0)
		ended_do(m, fn, arg);
	else
		(void)m0_rpc__wait(m, doing_is_done, &d, M0_TIME_NEVER);
}

/* --------------------------------------------------------------- wait -- */

struct waiter {
	struct m0_list_link wtr_link;
	bool (*wtr_cond)(void *arg);
	void               *wtr_arg;
	struct m0_semaphore wtr_sem;
};

void m0_rpc__waiters_wake(struct m0_rpc__machine *m)
{
	struct m0_list_link *link;
	struct waiter       *w;

	m->rml_inbox.rib_changed = false;
	/* These threads poll, and look by themselves. */
	if (m->rml_cfg.rc_inline)
		return;
	/* Either a thread that begins to wait sees the change, or this code
	 * sees the thread. ThreadSanitizer does not know fences, so there is
	 * none. */
	if (__atomic_fetch_add(&m->rml_inbox.rib_waiters_nr, 0,
			       __ATOMIC_SEQ_CST) == 0)
		return;
	m0_mutex_lock(&m->rml_inbox.rib_waiters_lock);
	m0_list_for_each(&m->rml_inbox.rib_waiters, link) {
		w = container_of(link, struct waiter, wtr_link);
		if (w->wtr_cond(w->wtr_arg))
			m0_semaphore_up(&w->wtr_sem);
	}
	m0_mutex_unlock(&m->rml_inbox.rib_waiters_lock);
}

/* Moves the machine; sleeps when there is nothing to move for long. */
static bool inline_wait(struct m0_rpc__machine *m, struct waiter *w,
			m0_time_t deadline)
{
	struct m0_net_transfer_mc *tm = &m->rml_machine->rm_tm;
	struct m0_clink            link;
	int                        i;

	m0_clink_init(&link, NULL);
	m0_clink_add_lock(&m->rml_inbox.rib_notice, &link);
	for (i = 0; !w->wtr_cond(w->wtr_arg); ++i) {
		if (m0_net_buffer_event_pending(tm)) {
			m0_net_buffer_event_deliver_all(tm);
			i = 0;
		} else if (m0_time_now() >= deadline) {
			break;
		} else if (i >= POLLS_NR) {
			m0_net_buffer_event_notify(tm,
						   &m->rml_inbox.rib_notice);
			(void)m0_chan_timedwait(
				&link, min64u(deadline,
					      m0_time_from_now(0, 10000000)));
		}
	}
	m0_clink_del_lock(&link);
	m0_clink_fini(&link);
	return w->wtr_cond(w->wtr_arg);
}

static bool async_wait(struct waiter *w, m0_time_t deadline)
{
	while (!w->wtr_cond(w->wtr_arg))
		if (!m0_semaphore_timeddown(&w->wtr_sem, deadline))
			return w->wtr_cond(w->wtr_arg);
	return true;
}

int m0_rpc__wait(struct m0_rpc__machine *m, bool (*cond)(void *arg), void *arg,
		 m0_time_t abs_timeout)
{
	struct waiter w = { .wtr_cond = cond, .wtr_arg = arg };
	bool          is;

	M0_PRE(cond != NULL);
	M0_PRE(!m0_rpc__is_here(m));
	m0_list_link_init(&w.wtr_link);
	m0_semaphore_init(&w.wtr_sem, 0);
	m0_mutex_lock(&m->rml_inbox.rib_waiters_lock);
	m0_list_add_tail(&m->rml_inbox.rib_waiters, &w.wtr_link);
	__atomic_add_fetch(&m->rml_inbox.rib_waiters_nr, 1, __ATOMIC_SEQ_CST);
	m0_mutex_unlock(&m->rml_inbox.rib_waiters_lock);
	if (m->rml_cfg.rc_inline)
		is = inline_wait(m, &w, abs_timeout);
	else
		is = async_wait(&w, abs_timeout);
	m0_mutex_lock(&m->rml_inbox.rib_waiters_lock);
	m0_list_del(&w.wtr_link);
	__atomic_sub_fetch(&m->rml_inbox.rib_waiters_nr, 1, __ATOMIC_SEQ_CST);
	m0_mutex_unlock(&m->rml_inbox.rib_waiters_lock);
	m0_semaphore_fini(&w.wtr_sem);
	return is ? 0 : -ETIMEDOUT;
}
