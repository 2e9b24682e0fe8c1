/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events go to the application at the end of a pass: by callback, or into their
 * polled queue. There they stay in the memory they were posted in, which is kept
 * for them after the engine has done with it: so whoever takes one needs nothing
 * but hm_lock, even when the node is closed.
 */
#include "home/home_internal.h"
#include "m0/lnet_run.h"

static const unsigned eq_max_default = 1024;

enum {
	/** Events told by callback whose memory is kept, to go together. */
	TOLD_MAX = 32
};

void m0_lnet_eq_init(struct m0_lnet_eq *eq, struct m0_lnet *lnet,
		     void (*callback)(struct m0_lnet_eq          *eq,
				      const struct m0_lnet_event *ev),
		     unsigned max)
{
	M0_SET0(eq);
	eq->eq_lnet = lnet;
	eq->eq_callback = callback;
	eq->eq_max = max == 0 ? eq_max_default : max;
	m0_list_link_init(&eq->eq_link);
	(void)m0_semaphore_init(&eq->eq_sem, 0);
	m0_mutex_lock(&lnet->hm_lock);
	M0_PRE(!lnet->hm_dead);
	m0_home__eq_number_take(lnet, eq);
	m0_list_add_tail(&lnet->hm_eqs, &eq->eq_link);
	m0_mutex_unlock(&lnet->hm_lock);
}

void m0_lnet_eq_told_set(struct m0_lnet_eq *eq,
			 void (*told)(struct m0_lnet_eq *eq))
{
	M0_PRE(eq->eq_callback != NULL && eq->eq_users_nr == 0);
	eq->eq_told = told;
}

/* -------------------------------------------------------------- telling -- */

static void event_call(struct m0_lnet *lnet, struct m0_lnet_eq *eq,
		       struct m0_home_event *node)
{
	if (eq != NULL)
		eq->eq_callback(eq, &node->hev_event);
	node->hev_next = lnet->hm_told;
	lnet->hm_told = node;
	if (++lnet->hm_told_nr >= TOLD_MAX)
		m0_home__told_end(lnet);
}

/* They go to polled queues, which count from now on; hm_lock is held. */
static void events_keep(struct m0_lnet *lnet, struct m0_home_event *node)
{
	for (; node != NULL; node = node->hev_next) {
		if (node->hev_msg != NULL) {
			++node->hev_msg->hms_users_nr;
			m0_home__msg_event_done(lnet, node->hev_msg);
		}
	}
}

/* hm_lock is held. @return true: somebody waits for it. */
static bool eq_push(struct m0_lnet_eq *eq, struct m0_home_event *node)
{
	bool waits = eq->eq_waits;

	M0_PRE(eq->eq_callback == NULL);
	M0_ASSERT((eq->eq_first == NULL) == (eq->eq_last == NULL));
	node->hev_next = NULL;
	if (eq->eq_first == NULL)
		eq->eq_first = node;
	else
		eq->eq_last->hev_next = node;
	eq->eq_last = node;
	eq->eq_waits = false;
	return waits;
}

static void events_push(struct m0_lnet *lnet, struct m0_home_event *node)
{
	struct m0_home_event *next;
	struct m0_lnet_eq    *eq;

	if (node == NULL)
		return;
	m0_mutex_lock(&lnet->hm_lock);
	events_keep(lnet, node);
	for (; node != NULL; node = next) {
		next = node->hev_next;
		eq = m0_home__eq_of(lnet, node->hev_eq);
		if (eq_push(eq, node)) {
			/* The waiting thread may continue; m0_lnet_eq_fini()
			 * waits for us. */
			m0_mutex_unlock(&lnet->hm_lock);
			m0_semaphore_up(&eq->eq_sem);
			m0_mutex_lock(&lnet->hm_lock);
		}
	}
	m0_mutex_unlock(&lnet->hm_lock);
}

/* Calls eq_told of the queue whose events were delivered last. A queue
 * without eq_told may be gone by now. */
static void told(struct m0_lnet_eq **last, struct m0_lnet_eq *next)
{
	if (*last != NULL && *last != next)
		(*last)->eq_told(*last);
	*last = next != NULL && next->eq_told != NULL ? next : NULL;
}

void m0_home__events_tell(struct m0_lnet *lnet)
{
	struct m0_home_event  *node = lnet->hm_up.huq_first;
	struct m0_home_event  *next;
	struct m0_home_event  *polled = NULL;
	struct m0_home_event **polled_tail = &polled;
	struct m0_lnet_eq     *last = NULL;
	struct m0_lnet_eq     *eq = NULL;
	uint32_t               number = 0;

	lnet->hm_up.huq_first = NULL;
	lnet->hm_up.huq_tail = &lnet->hm_up.huq_first;
	for (; node != NULL; node = next) {
		next = node->hev_next;
		/* Its queue will look there; with many MDs it is cold. */
		if (next != NULL)
			__builtin_prefetch(next->hev_event.ev_md_user, 1);
		/* Events of one queue often come one after the other. */
		if (node->hev_eq != number) {
			number = node->hev_eq;
			eq = m0_home__eq_of(lnet, number);
		}
		if (eq == NULL || eq->eq_callback != NULL) {
			told(&last, eq);
			event_call(lnet, eq, node);
		} else {
			node->hev_next = NULL;
			*polled_tail = node;
			polled_tail = &node->hev_next;
		}
	}
	told(&last, NULL);
	events_push(lnet, polled);
}

/* --------------------------------------------------------------- taking -- */

/* hm_lock is held. @return true: wake the strand. */
static bool event_take(struct m0_lnet *lnet, struct m0_lnet_eq *eq,
		       struct m0_lnet_event *event)
{
	struct m0_home_event *node = eq->eq_first;
	struct m0_home_msg   *hms = node->hev_msg;
	struct m0_home_md    *hmd = node->hev_md;
	struct m0_home_eq    *heq;

	eq->eq_first = node->hev_next;
	if (eq->eq_first == NULL)
		eq->eq_last = NULL;
	if (node->hev_incoming) {
		heq = m0_home__eq_at(lnet, eq->eq_number);
		__atomic_store_n(&heq->heq_taken_nr, heq->heq_taken_nr + 1,
				 __ATOMIC_RELAXED);
	}
	*event = node->hev_event;
	if (hmd != NULL)
		m0_home__md_put(lnet, hmd);
	return hms != NULL && m0_home__msg_put(lnet, hms);
}

/* @param wait  nobody has to be told so far; this thread will wait. */
static int eq_take(struct m0_lnet_eq *eq, struct m0_lnet_event *event,
		   bool wait)
{
	struct m0_lnet *lnet = eq->eq_lnet;
	bool            wake = false;
	int             rc = 0;

	m0_mutex_lock(&lnet->hm_lock);
	if (eq->eq_first != NULL)
		wake = event_take(lnet, eq, event);
	else
		rc = -EAGAIN;
	/* A look without waiting leaves the mark of a thread that waits. */
	if (wait && rc != 0)
		eq->eq_waits = true;
	/* Awake, the strand must find a reason to look again. */
	if (wake && !lnet->hm_dead)
		m0_home__posted_unlock(lnet);
	else
		m0_mutex_unlock(&lnet->hm_lock);
	return rc;
}

int m0_lnet_eq_get(struct m0_lnet_eq *eq, struct m0_lnet_event *event)
{
	struct m0_lnet *lnet = eq->eq_lnet;

	M0_PRE(eq->eq_callback == NULL);
	if (M0_HOME_GET(lnet->hm_inline) && !M0_HOME_GET(lnet->hm_dead))
		(void)m0_lnet_progress(lnet);
	return eq_take(eq, event, false);
}

int m0_lnet_eq_wait(struct m0_lnet_eq *eq, struct m0_lnet_event *event,
		    m0_time_t deadline)
{
	struct m0_lnet *lnet = eq->eq_lnet;
	bool            in_time = true;

	M0_PRE(eq->eq_callback == NULL);
	/* Once more after the deadline: it may have come with it. */
	while (eq_take(eq, event, in_time) != 0) {
		if (!in_time)
			return -ETIMEDOUT;
		if (M0_HOME_GET(lnet->hm_dead))
			in_time = m0_semaphore_timeddown(&eq->eq_sem, deadline);
		else
			in_time = m0_home__wait(lnet, &eq->eq_sem, deadline);
	}
	return 0;
}

/* ------------------------------------------------------------------ end -- */

struct home_barrier {
	struct m0_home_call hb_call;
	struct m0_semaphore hb_sem;
};

void m0_home__barrier_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_call *call =
		container_of(op, struct m0_home_call, ca_op);

	m0_list_add_tail(&lnet->hm_barriers, &call->ca_link);
}

void m0_home__barriers_tell(struct m0_lnet *lnet)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&lnet->hm_barriers)) != NULL) {
		m0_list_del(link);
		m0_semaphore_up(&container_of(link, struct home_barrier,
					      hb_call.ca_link)
					 ->hb_sem);
	}
}

/* Waits until what was posted has been told, and nobody is in a callback. */
static void barrier_wait(struct m0_lnet *lnet)
{
	struct home_barrier barrier;

	M0_PRE(!m0_home__is_inside(lnet));
	(void)m0_semaphore_init(&barrier.hb_sem, 0);
	m0_mutex_lock(&lnet->hm_lock);
	m0_home__call_unlock(lnet, M0_HOME_OP_BARRIER, &barrier.hb_call);
	(void)m0_home__wait(lnet, &barrier.hb_sem, M0_TIME_NEVER);
	m0_semaphore_fini(&barrier.hb_sem);
}

void m0_lnet_eq_fini(struct m0_lnet_eq *eq)
{
	struct m0_lnet *lnet = eq->eq_lnet;
	bool            last;

	/* Its node was closed, and it was called back. */
	if (lnet == NULL)
		return;
	if (!M0_HOME_GET(lnet->hm_dead))
		barrier_wait(lnet);
	m0_mutex_lock(&lnet->hm_lock);
	M0_PRE(eq->eq_users_nr == 0 && eq->eq_first == NULL);
	m0_home__eq_number_put(lnet, eq);
	m0_list_del(&eq->eq_link);
	eq->eq_lnet = NULL;
	m0_semaphore_fini(&eq->eq_sem);
	last = lnet->hm_dead && m0_list_is_empty(&lnet->hm_eqs);
	m0_mutex_unlock(&lnet->hm_lock);
	if (last)
		m0_home__free(lnet);
}

void m0_home__eqs_leave(struct m0_lnet *lnet)
{
	struct m0_lnet_eq *eq;
	struct m0_lnet_eq *next;

	m0_list_for_each_entry_safe(&lnet->hm_eqs, eq, next, struct m0_lnet_eq,
				    eq_link) {
		if (eq->eq_callback == NULL)
			continue;
		m0_list_del(&eq->eq_link);
		eq->eq_lnet = NULL;
	}
}
