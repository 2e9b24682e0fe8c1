/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Events go to the application at the end of a pass: by callback, or into their
 * polled queue. There they stay in the record that they were posted in, which is
 * kept for them: so a thread that takes one needs nothing but fro_lock, even when the node
 * is closed.
 */
#include "front/front_internal.h"

static const unsigned eq_max_default = 1024;

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
	m0_mutex_lock(&lnet->fro_lock);
	M0_PRE(!lnet->fro_dead);
	m0_front__eq_number_take(lnet, eq);
	m0_list_add_tail(&lnet->fro_eqs, &eq->eq_link);
	m0_mutex_unlock(&lnet->fro_lock);
}

void m0_lnet_eq_told_set(struct m0_lnet_eq *eq,
			 void (*batch_end)(struct m0_lnet_eq *eq))
{
	M0_PRE(eq->eq_callback != NULL && eq->eq_users_nr == 0);
	eq->eq_told = batch_end;
}

int m0_lnet_eq_bound_set(struct m0_lnet_eq *eq, unsigned max,
			 const struct m0_lnet_eq *all,
			 void (*full)(struct m0_lnet_eq *eq))
{
	struct m0_lnet    *lnet = eq->eq_lnet;
	struct m0_ring_eq *record;
	int                rc = 0;

	M0_PRE(eq->eq_callback != NULL && max > 0);
	M0_PRE(all == NULL || (all->eq_lnet == lnet && all->eq_number != 0));
	if (eq->eq_number == 0)
		rc = m0_front__eq_number_make(lnet, eq);
	if (rc != 0)
		return rc;
	m0_mutex_lock(&lnet->fro_lock);
	M0_PRE(eq->eq_users_nr == 0);
	eq->eq_full = full;
	record = m0_front__eq_record(lnet, eq->eq_number - 1);
	*record = (struct m0_ring_eq){
		.req_max = max,
		.req_is_bounded = 1,
		.req_all = all == NULL ? 0 : all->eq_number,
	};
	m0_mutex_unlock(&lnet->fro_lock);
	return 0;
}

void m0_lnet_eq_taken(struct m0_lnet_eq *eq, uint32_t nr)
{
	struct m0_ring_eq *record =
		m0_front__eq_record(eq->eq_lnet, eq->eq_number - 1);

	M0_PRE_EX(record->req_is_bounded);
	M0_PRE_EX(nr <= record->req_accepted_nr - record->req_taken_nr);
	__atomic_store_n(&record->req_taken_nr, record->req_taken_nr + nr,
			 __ATOMIC_RELAXED);
	eq->eq_dropped_nr =
		__atomic_load_n(&record->req_dropped_nr, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------- delivery -- */

/** Entries that go to polled queues, with fro_lock once for many. */
struct polled {
	struct m0_ring_entry po_entry[M0_FRONT_NOTIFIED_MAX];
	unsigned             po_nr;
};

static bool is_event(const struct m0_ring_entry *entry)
{
	return entry->rqe_opcode <= M0_RING_EV_UNLINK;
}

/* The event of an entry. */
static struct m0_ring_event *event_of(const struct m0_lnet *lnet, uint32_t kind,
				      uint32_t nr)
{
	if (M0_LIKELY(kind == M0_RING_EV_INCOMING))
		return &M0_RING_RECORD(&lnet->fro_records[M0_RING_INCOMINGS],
				       struct m0_ring_incoming, nr)
				->rin_event;
	switch (kind) {
	case M0_RING_EV_SEND:
		return &m0_front__op_record(lnet, nr)->rop_event[0];
	case M0_RING_EV_RESPONSE:
		return &m0_front__op_record(lnet, nr)->rop_event[1];
	default:
		M0_ASSERT_EX(kind == M0_RING_EV_UNLINK);
		return &m0_front__md_record(lnet, nr)->rmd_last;
	}
}

/* Returns the event as the application sees it. */
static const struct m0_lnet_event *seen(const struct m0_ring_event *event)
{
	return (const struct m0_lnet_event *)(const void *)event;
}

/* The queue of an entry; NULL: its MD has none. */
static struct m0_lnet_eq *eq_of(const struct m0_lnet       *lnet,
				const struct m0_ring_entry *entry,
				const struct m0_ring_event *event)
{
	if (entry->rqe_opcode == M0_RING_DONE)
		return m0_front__op_at(lnet, entry->rqe_nr)->fop_md->fmd_eq;
	return event == NULL ? NULL
			     : m0_front__md_at(lnet, event->rev_md_nr)->fmd_eq;
}

static void notified_add(struct m0_lnet *lnet, enum m0_ring_kind kind,
			 uint32_t nr)
{
	lnet->fro_notified[lnet->fro_notified_nr++] =
		(struct m0_ring_entry){ .rqe_opcode = kind, .rqe_nr = nr };
	if (lnet->fro_notified_nr == ARRAY_SIZE(lnet->fro_notified))
		m0_front__notified_end(lnet);
}

/* Adds an incoming message whose event the callback has had. */
static void had_add(struct m0_front_had *had, uint32_t nr,
		    struct m0_ring_event *event)
{
	struct m0_ring_incoming *record =
		container_of(event, struct m0_ring_incoming, rin_event);

	if (had->had_nr++ == 0)
		had->had_last = record;
	record->rin_next = had->had_first + 1;
	had->had_first = nr;
}

static void event_call(struct m0_lnet *lnet, struct m0_lnet_eq *eq,
		       const struct m0_ring_entry *entry,
		       struct m0_ring_event       *event)
{
	bool     unlinked = event->rev_unlinked;
	uint32_t md = event->rev_md_nr;

	M0_PRE_EX(eq == NULL || eq->eq_callback != NULL);
	M0_PRE_EX(ergo(entry->rqe_opcode == M0_RING_EV_UNLINK, unlinked));
	if (eq != NULL)
		eq->eq_callback(eq, seen(event));
	if (entry->rqe_opcode == M0_RING_EV_INCOMING)
		had_add(&lnet->fro_had, entry->rqe_nr, event);
	if (unlinked)
		notified_add(lnet, M0_RING_EV_UNLINK, md);
	if (entry->rqe_is_last)
		notified_add(lnet, M0_RING_DONE, entry->rqe_nr);
}

static struct m0_front_event *queued_of(struct m0_lnet             *lnet,
					const struct m0_ring_entry *entry)
{
	struct m0_front_op *fop;

	switch (entry->rqe_opcode) {
	case M0_RING_EV_INCOMING:
		return &M0_RING_RECORD(&lnet->fro_incomings,
				       struct m0_front_incoming, entry->rqe_nr)
				->fin_event;
	case M0_RING_EV_UNLINK:
		return &m0_front__md_at(lnet, entry->rqe_nr)->fmd_event;
	default:
		fop = m0_front__op_at(lnet, entry->rqe_nr);
		/* With the last event goes the use of the operation itself. */
		fop->fop_users_nr += !entry->rqe_is_last;
		return &fop->fop_event[entry->rqe_opcode ==
				       M0_RING_EV_RESPONSE];
	}
}

/* Appends an event to a polled queue. fro_lock is held. @return true: a thread waits. */
static bool eq_push(struct m0_lnet *lnet, struct m0_lnet_eq *eq,
		    const struct m0_ring_entry *entry)
{
	struct m0_front_event *queued = queued_of(lnet, entry);
	bool                   waits = eq->eq_waits;

	M0_PRE(eq->eq_callback == NULL);
	M0_ASSERT((eq->eq_first == NULL) == (eq->eq_last == NULL));
	queued->fev_kind = entry->rqe_opcode;
	queued->fev_nr = entry->rqe_nr;
	queued->fev_next = NULL;
	if (eq->eq_first == NULL)
		eq->eq_first = queued;
	else
		eq->eq_last->fev_next = queued;
	eq->eq_last = queued;
	eq->eq_waits = false;
	return waits;
}

static void polled_push(struct m0_lnet *lnet, struct polled *polled)
{
	struct m0_lnet_eq *eq;
	unsigned           i;

	M0_PRE_EX(polled->po_nr <= ARRAY_SIZE(polled->po_entry));
	if (polled->po_nr == 0)
		return;
	m0_mutex_lock(&lnet->fro_lock);
	for (i = 0; i < polled->po_nr; ++i) {
		const struct m0_ring_entry *entry = &polled->po_entry[i];

		if (entry->rqe_opcode == M0_RING_DONE) {
			if (m0_front__op_put(
				    lnet, m0_front__op_at(lnet, entry->rqe_nr)))
				m0_front__look_again(lnet);
			continue;
		}
		eq = eq_of(lnet, entry,
			   event_of(lnet, entry->rqe_opcode, entry->rqe_nr));
		if (eq_push(lnet, eq, entry)) {
			/* The waiting thread may continue; m0_lnet_eq_fini()
			 * waits for us. */
			m0_mutex_unlock(&lnet->fro_lock);
			m0_semaphore_up(&eq->eq_sem);
			m0_mutex_lock(&lnet->fro_lock);
		}
	}
	m0_mutex_unlock(&lnet->fro_lock);
	polled->po_nr = 0;
}

/* Calls eq_told of the queue whose events were delivered last. A queue
 * without eq_told may be gone by now. */
static void batch_end(struct m0_lnet_eq **last, struct m0_lnet_eq *next)
{
	if (*last != NULL && *last != next)
		(*last)->eq_told(*last);
	*last = next != NULL && next->eq_told != NULL ? next : NULL;
}

/* Completes a barrier: the events of all that was posted before it are delivered. */
static void passed(struct m0_lnet *lnet, uint32_t eq)
{
	struct m0_semaphore *sem;

	m0_mutex_lock(&lnet->fro_lock);
	sem = m0_front__eq_at(lnet, eq)->feq_passed;
	M0_ASSERT(sem != NULL);
	m0_mutex_unlock(&lnet->fro_lock);
	m0_semaphore_up(sem);
}

/* The event of entry `nr`, if it is one and not the end. The queue will look at the
 * user's word; with many MDs it is cold. */
static struct m0_ring_event *event_ahead(const struct m0_lnet *lnet,
					 uint32_t nr, uint32_t end)
{
	const struct m0_ring_entry *entry = m0_ring_at(&lnet->fro_up, nr);
	struct m0_ring_event       *event;

	if (nr == end || !is_event(entry))
		return NULL;
	event = event_of(lnet, entry->rqe_opcode, entry->rqe_nr);
	__builtin_prefetch((const void *)(uintptr_t)event->rev_md_user, 1);
	return event;
}

/* Other entries than events: they follow those of the same queue. */
static void other_deliver(struct m0_lnet *lnet, struct m0_lnet_eq **last,
			  struct polled              *polled,
			  const struct m0_ring_entry *entry)
{
	if (entry->rqe_opcode < M0_RING_PASSED) {
		notified_add(lnet, (enum m0_ring_kind)entry->rqe_opcode,
			     entry->rqe_nr);
		return;
	}
	batch_end(last, NULL);
	polled_push(lnet, polled);
	/* The queue's MDs are free when its owner goes on. */
	m0_front__notified_end(lnet);
	if (entry->rqe_opcode == M0_RING_PASSED)
		passed(lnet, entry->rqe_nr);
	else
		m0_front__answered(lnet, entry->rqe_nr);
}

static void entry_deliver(struct m0_lnet *lnet, struct m0_lnet_eq **last,
			  struct polled              *polled,
			  const struct m0_ring_entry *entry,
			  struct m0_ring_event       *event)
{
	struct m0_lnet_eq *eq = eq_of(lnet, entry, event);

	if (eq != NULL && eq->eq_callback == NULL) {
		polled->po_entry[polled->po_nr++] = *entry;
		if (polled->po_nr == ARRAY_SIZE(polled->po_entry))
			polled_push(lnet, polled);
	} else if (event != NULL) {
		batch_end(last, eq);
		event_call(lnet, eq, entry, event);
	} else {
		other_deliver(lnet, last, polled, entry);
	}
}

bool m0_front__deliver(struct m0_lnet *lnet)
{
	struct m0_lnet_eq    *last = NULL;
	struct m0_ring_event *event;
	struct m0_ring_event *next;
	struct polled         polled;
	uint32_t              end = m0_ring_put_nr(&lnet->fro_up);
	uint32_t              nr;
	bool                  any = false;

	polled.po_nr = 0;
	M0_PRE_EX(m0_front__invariant(lnet));
	event = event_ahead(lnet, lnet->fro_up.rie_taken_nr, end);
	for (nr = lnet->fro_up.rie_taken_nr; nr != end; ++nr, event = next) {
		next = event_ahead(lnet, nr + 1, end);
		any |= event != NULL ||
		       m0_ring_at(&lnet->fro_up, nr)->rqe_opcode ==
			       M0_RING_ANSWER;
		entry_deliver(lnet, &last, &polled,
			      m0_ring_at(&lnet->fro_up, nr), event);
	}
	m0_ring_take(&lnet->fro_up, end);
	batch_end(&last, NULL);
	polled_push(lnet, &polled);
	return any;
}

/* --------------------------------------------------------------- taking -- */

/* fro_lock is held. @return true: wake the node. */
static bool event_take(struct m0_lnet *lnet, struct m0_lnet_eq *eq,
		       struct m0_lnet_event *ret)
{
	struct m0_front_event *queued = eq->eq_first;
	uint32_t               nr = queued->fev_nr;
	struct m0_ring_event  *event = event_of(lnet, queued->fev_kind, nr);
	struct m0_ring_eq     *record;
	bool                   wake = false;

	M0_PRE(eq->eq_number != 0);
	record = m0_front__eq_record(lnet, eq->eq_number - 1);
	eq->eq_first = queued->fev_next;
	if (eq->eq_first == NULL)
		eq->eq_last = NULL;
	*ret = *seen(event);
	if (queued->fev_kind == M0_RING_EV_INCOMING) {
		__atomic_store_n(&record->req_taken_nr,
				 record->req_taken_nr + 1, __ATOMIC_RELAXED);
		wake = m0_front__incoming_put(lnet, nr);
	} else if (queued->fev_kind != M0_RING_EV_UNLINK) {
		wake = m0_front__op_put(lnet, m0_front__op_at(lnet, nr));
	}
	if (ret->ev_unlinked)
		m0_front__md_put(lnet,
				 m0_front__md_at(lnet, ret->ev_md.lh_slot));
	return wake;
}

/* fro_lock is held. */
static void dropped_copy(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	if (eq->eq_number != 0)
		eq->eq_dropped_nr = __atomic_load_n(
			&m0_front__eq_record(lnet, eq->eq_number - 1)
				 ->req_dropped_nr,
			__ATOMIC_RELAXED);
}

/* @param wait  the calling thread waits if there is no event: mark the queue. */
static int eq_take(struct m0_lnet_eq *eq, struct m0_lnet_event *event,
		   bool wait)
{
	struct m0_lnet *lnet = eq->eq_lnet;
	bool            wake = false;
	int             rc = 0;

	m0_mutex_lock(&lnet->fro_lock);
	dropped_copy(lnet, eq);
	if (eq->eq_first != NULL)
		wake = event_take(lnet, eq, event);
	else
		rc = -EAGAIN;
	/* A look without waiting leaves the mark of a thread that waits. */
	if (wait && rc != 0)
		eq->eq_waits = true;
	/* Awake, the strand must find a reason to look again. */
	if (wake && !lnet->fro_dead)
		m0_front__posted_unlock(lnet);
	else
		m0_mutex_unlock(&lnet->fro_lock);
	return rc;
}

int m0_lnet_eq_get(struct m0_lnet_eq *eq, struct m0_lnet_event *event)
{
	struct m0_lnet *lnet = eq->eq_lnet;

	M0_PRE(eq->eq_callback == NULL);
	if (M0_FRONT_GET(lnet->fro_inline) && !M0_FRONT_GET(lnet->fro_dead))
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
		if (M0_FRONT_GET(lnet->fro_dead))
			in_time = m0_semaphore_timeddown(&eq->eq_sem, deadline);
		else
			in_time = m0_front__wait(lnet, &eq->eq_sem, deadline);
	}
	return 0;
}

/* ------------------------------------------------------------------ end -- */

/* Waits until the events of all that was posted are delivered and no callback runs. A
 * queue without a number never had an MD. */
static void barrier_wait(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	struct m0_lnet_handle about = { .lh_slot = eq->eq_number - 1 };
	struct m0_semaphore   sem;
	struct m0_front_eq   *feq;

	M0_PRE(!m0_front__is_inside(lnet));
	if (eq->eq_number == 0)
		return;
	(void)m0_semaphore_init(&sem, 0);
	m0_mutex_lock(&lnet->fro_lock);
	feq = m0_front__eq_at(lnet, about.lh_slot);
	M0_ASSERT(feq->feq_eq == eq && feq->feq_passed == NULL);
	feq->feq_passed = &sem;
	m0_front__post_unlock(lnet, M0_RING_BARRIER, about, &feq->feq_barrier);
	(void)m0_front__wait(lnet, &sem, M0_TIME_NEVER);
	m0_semaphore_fini(&sem);
}

void m0_lnet_eq_fini(struct m0_lnet_eq *eq)
{
	struct m0_lnet *lnet = eq->eq_lnet;
	bool            last;

	/* Its node was closed, and it was called back. */
	if (lnet == NULL)
		return;
	if (!M0_FRONT_GET(lnet->fro_dead))
		barrier_wait(lnet, eq);
	m0_mutex_lock(&lnet->fro_lock);
	M0_PRE(eq->eq_users_nr == 0 && eq->eq_first == NULL);
	m0_front__eq_number_put(lnet, eq);
	m0_list_del(&eq->eq_link);
	eq->eq_lnet = NULL;
	m0_semaphore_fini(&eq->eq_sem);
	last = lnet->fro_dead && m0_list_is_empty(&lnet->fro_eqs);
	m0_mutex_unlock(&lnet->fro_lock);
	if (last)
		m0_front__free(lnet);
}

void m0_front__eqs_leave(struct m0_lnet *lnet)
{
	struct m0_lnet_eq *eq;
	struct m0_lnet_eq *next;

	m0_list_for_each_entry_safe(&lnet->fro_eqs, eq, next, struct m0_lnet_eq,
				    eq_link) {
		if (eq->eq_callback == NULL)
			continue;
		m0_list_del(&eq->eq_link);
		eq->eq_lnet = NULL;
	}
}
