/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Passes and inboxes.
 *
 * Each thread has one pass. The thread lists what it posts during the pass, and
 * kit_pass_post() delivers the list: consecutive items for one TM with one lock
 * of its inbox, and one wake-up if the inbox was empty. A call from outside
 * (m0_net_buffer_add() and the like) posts the same way; the generic layer then
 * calls xo_flush, after it has released its locks.
 */
#include "kit/kit.h"

M0_TLS(struct kit_pass, kit_pass);

/* ---------------------------------------------------------------- passes -- */

struct kit_pass *kit_pass_open(m0_time_t now)
{
	struct kit_pass *pass = kit_pass();

	/* Post the work of an outer pass, which must not wait for the inner. */
	if (pass->kp_depth++ > 0) {
		kit_pass_flush(pass);
	} else {
		pass->kp_now = now;
		m0_time_pass_begin(now);
		m0_net__desc_pass_begin();
	}
	return pass;
}

/* Others peek at the head without the lock. */
static void inbox_head_set(struct m0_net_kit_machine *m,
			   struct m0_net_kit_work    *work)
{
	__atomic_store_n(&m->nkm_inbox.kin_list.wl_head, work,
			 __ATOMIC_RELEASE);
}

/*
 * An item is in the inbox if its epoch is the inbox's: so all of them are taken
 * by a new epoch, without a touch. An epoch is the number of the machine above
 * the number of takings, so that one from elsewhere, or from long ago, is not
 * mistaken.
 */
#define EPOCH_MASK (((uint64_t)1 << KIT_EPOCH_BITS) - 1)

static void epoch_set(struct m0_net_kit_work *work, uint64_t epoch)
{
	__atomic_store_n(&work->nkw_epoch, epoch, __ATOMIC_RELEASE);
}

static void inbox_add(struct m0_net_kit_machine *m,
		      struct m0_net_kit_work    *work)
{
	M0_PRE_EX(m0_mutex_is_locked(&m->nkm_inbox.kin_lock));
	epoch_set(work, m->nkm_inbox.kin_epoch);
	work->nkw_next = NULL;
	work->nkw_prev = m->nkm_inbox.kin_list.wl_tail;
	if (m->nkm_inbox.kin_list.wl_tail != NULL)
		m->nkm_inbox.kin_list.wl_tail->nkw_next = work;
	m->nkm_inbox.kin_list.wl_tail = work;
	if (work->nkw_prev == NULL)
		inbox_head_set(m, work);
}

/* Returns true if the work was unposted. A completion cannot be: it is delivered. */
static bool work_is_unwanted(const struct m0_net_kit_work *work)
{
	return __atomic_load_n(&work->nkw_unwanted, __ATOMIC_RELAXED) &&
	       work->nkw_op >= M0_NET_KIT_WORK_XPRT;
}

static void inbox_del(struct m0_net_kit_machine *m,
		      struct m0_net_kit_work    *work)
{
	M0_PRE_EX(m0_mutex_is_locked(&m->nkm_inbox.kin_lock));
	epoch_set(work, 0);
	if (work == m->nkm_inbox.kin_list.wl_head)
		inbox_head_set(m, work->nkw_next);
	else
		work->nkw_prev->nkw_next = work->nkw_next;
	if (work == m->nkm_inbox.kin_list.wl_tail)
		m->nkm_inbox.kin_list.wl_tail = work->nkw_prev;
	else
		work->nkw_next->nkw_prev = work->nkw_prev;
}

void kit_strands_wake(struct m0_net_kit_machine *m)
{
	size_t i;

	if (!__atomic_load_n(&m->nkm_strands.kst_running, __ATOMIC_ACQUIRE))
		return;
	if (m->nkm_strands.kst_runner != NULL) {
		m->nkm_strands.kst_runner->nkr_wake(m);
		return;
	}
	/* A worker that sleeps, if the first is busy with a callback. */
	for (i = 1; i < m->nkm_strands.kst_nr &&
		    !m0_strand_sleeps(&m->nkm_strands.kst_workers[0].kw_strand);
	     ++i) {
		if (m0_strand_sleeps(
			    &m->nkm_strands.kst_workers[i].kw_strand)) {
			m0_strand_wake(
				&m->nkm_strands.kst_workers[i].kw_strand);
			break;
		}
	}
	m0_strand_wake(&m->nkm_strands.kst_workers[0].kw_strand);
}

/* Completions need no refusal: the end of the TM waits for them. */
static void refuse(const struct m0_net_kit_ops *ops,
		   struct m0_net_kit_work      *work)
{
	if (work->nkw_op >= M0_NET_KIT_WORK_XPRT && ops->nko_copy != NULL &&
	    ops->nko_copy->nkc_refuse != NULL)
		ops->nko_copy->nkc_refuse(work);
}

/*
 * Its destination may be gone when it is handled: what is needed of it then is
 * kept in place of its time, and unposting finds nothing.
 */
static void refused_add(struct kit_work_list        *refused,
			struct m0_net_kit_work      *work,
			const struct m0_net_kit_ops *ops)
{
	__atomic_store_n(&work->nkw_dest, (struct m0_net_kit_machine *)NULL,
			 __ATOMIC_RELEASE);
	work->nkw_refuser = ops;
	kit_work_add_tail(refused, work);
}

/*
 * Moves the items at the head of `out` that are for one machine into its
 * inbox; those it does not take into `refused`.
 */
static void inbox_deliver(struct kit_work_list *out,
			  struct kit_work_list *refused)
{
	struct m0_net_kit_machine *m = out->wl_head->nkw_dest;
	struct m0_net_kit_work    *work;
	bool                       was_empty;
	bool                       wakes;
	bool                       signals;

	M0_PRE_EX(out->wl_head != NULL);
	m0_mutex_lock(&m->nkm_inbox.kin_lock);
	was_empty = m->nkm_inbox.kin_list.wl_head == NULL;
	while (out->wl_head != NULL && out->wl_head->nkw_dest == m) {
		work = kit_work_pop(out);
		if (m->nkm_inbox.kin_closed || work_is_unwanted(work))
			refused_add(refused, work, m->nkm_ops);
		else
			inbox_add(m, work);
	}
	was_empty = was_empty && m->nkm_inbox.kin_list.wl_head != NULL;
	wakes = was_empty && m->nkm_inbox.kin_wakes;
	/* Otherwise its strand signals when there is an event to deliver. */
	signals = was_empty && m->nkm_inbox.kin_fd_open && m->nkm_inline;
	/* Once the lock is released the machine may go, but for this. */
	if (wakes || signals)
		__atomic_add_fetch(&m->nkm_inbox.kin_wakers_nr, 1,
				   __ATOMIC_RELAXED);
	m0_mutex_unlock(&m->nkm_inbox.kin_lock);
	/* Without the lock: a thread that wakes on this processor would wait for it. */
	if (wakes)
		kit_strands_wake(m);
	if (signals)
		m0_os_fd_signal(&m->nkm_fd.kfd_fd);
	if (wakes || signals)
		__atomic_sub_fetch(&m->nkm_inbox.kin_wakers_nr, 1,
				   __ATOMIC_RELEASE);
}

/* Not by the pass: the machine need not live until its end. */
void m0_net_kit_machine_fail(struct m0_net_kit_machine *m, int32_t status)
{
	struct kit_work_list out = { NULL, NULL };
	struct kit_work_list refused = { NULL, NULL };

	M0_PRE(status < 0);
	if (__atomic_exchange_n(&m->nkm_fail_posted, true, __ATOMIC_SEQ_CST))
		return;
	m->nkm_fail_status = status;
	m->nkm_fail_work.nkw_op = M0_NET_KIT_WORK_FAIL;
	m->nkm_fail_work.nkw_dest = m;
	kit_work_add_tail(&out, &m->nkm_fail_work);
	/* A machine that has ended refuses it. */
	inbox_deliver(&out, &refused);
}

void kit_wakers_wait(struct m0_net_kit_machine *m)
{
	M0_PRE(m->nkm_inbox.kin_closed);
	/* A system call of another thread's is all that is waited for. */
	m0_os_zero_wait(&m->nkm_inbox.kin_wakers_nr);
}

void kit_pass_push(void)
{
	struct kit_pass *pass = kit_pass();

	while (pass->kp_out.wl_head != NULL)
		inbox_deliver(&pass->kp_out, &pass->kp_refused);
}

void kit_pass_post(void)
{
	struct kit_pass             *pass = kit_pass();
	const struct m0_net_kit_ops *ops;
	struct m0_net_kit_work      *work;

	kit_pass_push();
	/* Refusing posts again: to the machine of the item's buffer. */
	while ((work = kit_work_pop(&pass->kp_refused)) != NULL) {
		ops = work->nkw_refuser;
		work->nkw_due = 0;
		refuse(ops, work);
		kit_pass_push();
	}
}

void m0_net_kit_flush(struct m0_net_transfer_mc *tm)
{
	const struct kit_pass *pass = kit_pass();

	(void)tm;
	if (pass->kp_depth == 0)
		kit_pass_flush(pass);
}

/* ----------------------------------------------------------------- work -- */

void m0_net_kit_post(struct m0_net_kit_machine *machine,
		     struct m0_net_kit_work    *work)
{
	struct kit_pass *pass = kit_pass();

	/* Read without its inbox's lock by m0_net_kit_unpost(). */
	__atomic_store_n(&work->nkw_unwanted, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&work->nkw_dest, machine, __ATOMIC_RELEASE);
	kit_work_add_tail(&pass->kp_out, work);
	/* A foreign thread: nobody would flush. */
	if (pass->kp_depth == 0 && m0_mutex_held_nr() == 0)
		kit_pass_flush(pass);
}

bool m0_net_kit_unpost(struct m0_net_kit_work *work)
{
	struct m0_net_kit_machine *m =
		__atomic_load_n(&work->nkw_dest, __ATOMIC_ACQUIRE);
	bool in_inbox;
	bool mine;

	if (m == NULL)
		return false;
	m0_mutex_lock(&m->nkm_inbox.kin_lock);
	in_inbox = __atomic_load_n(&work->nkw_epoch, __ATOMIC_ACQUIRE) ==
		   m->nkm_inbox.kin_epoch;
	mine = __atomic_load_n(&work->nkw_dest, __ATOMIC_ACQUIRE) == m;
	if (in_inbox)
		inbox_del(m, work);
	else if (mine)
		__atomic_store_n(&work->nkw_unwanted, 1, __ATOMIC_RELAXED);
	m0_mutex_unlock(&m->nkm_inbox.kin_lock);
	return in_inbox;
}

void kit_inbox_take(struct m0_net_kit_machine *m, struct kit_work_list *ret)
{
	m0_mutex_lock(&m->nkm_inbox.kin_lock);
	*ret = m->nkm_inbox.kin_list;
	inbox_head_set(m, NULL);
	m->nkm_inbox.kin_list.wl_tail = NULL;
	/* Within its bits: below them is nobody, above them the machine. */
	m->nkm_inbox.kin_epoch = (m->nkm_inbox.kin_epoch & ~EPOCH_MASK) |
				 ((m->nkm_inbox.kin_epoch + 1) & EPOCH_MASK);
	m0_mutex_unlock(&m->nkm_inbox.kin_lock);
}

/* Puts back, before all others, what was taken and not handled. */
void kit_inbox_return(struct m0_net_kit_machine *m, struct kit_work_list *list)
{
	struct kit_work_list    refused = { NULL, NULL };
	struct m0_net_kit_work *work;

	M0_PRE(list->wl_tail != NULL);
	m0_mutex_lock(&m->nkm_inbox.kin_lock);
	while ((work = list->wl_tail) != NULL) {
		kit_work_del(list, work);
		if (work_is_unwanted(work)) {
			kit_work_add_tail(&refused, work);
			continue;
		}
		epoch_set(work, m->nkm_inbox.kin_epoch);
		work->nkw_next = m->nkm_inbox.kin_list.wl_head;
		if (work->nkw_next != NULL)
			work->nkw_next->nkw_prev = work;
		else
			m->nkm_inbox.kin_list.wl_tail = work;
		inbox_head_set(m, work);
	}
	m0_mutex_unlock(&m->nkm_inbox.kin_lock);
	while ((work = kit_work_pop(&refused)) != NULL)
		refuse(m->nkm_ops, work);
}

void kit_inbox_close(struct m0_net_kit_machine *m)
{
	struct kit_work_list    list;
	struct kit_work_list    deferred;
	struct m0_net_kit_work *work;

	M0_PRE_EX(m0_mutex_is_not_locked(&m->nkm_tm->ntm_mutex));
	m0_mutex_lock(&m->nkm_inbox.kin_lock);
	m->nkm_inbox.kin_closed = true;
	m0_mutex_unlock(&m->nkm_inbox.kin_lock);
	kit_inbox_take(m, &list);
	/* Other workers may be in a run still. */
	m0_mutex_lock(&m->nkm_tm->ntm_mutex);
	deferred = m->nkm_deferred;
	m->nkm_deferred = (struct kit_work_list){ NULL, NULL };
	m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
	while ((work = kit_work_pop(&list)) != NULL ||
	       (work = kit_work_pop(&deferred)) != NULL)
		refuse(m->nkm_ops, work);
}

static __attribute__((__noinline__)) void kick_waiters(
	struct m0_net_kit_machine *m)
{
	if (m->nkm_inbox.kin_wakes)
		kit_strands_wake(m);
	if (m->nkm_inbox.kin_fd_open && kit_polls_have_work(m))
		m0_os_fd_signal(&m->nkm_fd.kfd_fd);
}

void kit_kick(struct m0_net_kit_machine *m)
{
	M0_PRE(m0_mutex_is_locked(&m->nkm_tm->ntm_mutex));
	__atomic_store_n(&m->nkm_quiet_until, 0, __ATOMIC_RELEASE);
	/* Changed with both locks held, so that either suffices to read. */
	if (m->nkm_inbox.kin_wakes || m->nkm_inbox.kin_fd_open)
		kick_waiters(m);
}

void kit_wakes_update(struct m0_net_kit_machine *m)
{
	enum m0_net_tm_state state = m->nkm_tm->ntm_state;
	bool wakes = !m->nkm_inline || m->nkm_notify.kno_chan != NULL ||
		     state == M0_NET_TM_STARTING || state == M0_NET_TM_STOPPING;

	M0_PRE_EX(kit_is_locked(m));
	m0_mutex_lock(&m->nkm_inbox.kin_lock);
	__atomic_store_n(&m->nkm_inbox.kin_wakes, wakes, __ATOMIC_RELEASE);
	m0_mutex_unlock(&m->nkm_inbox.kin_lock);
}
