/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "os/os_internal.h"

void m0_chan_init(struct m0_chan *chan, struct m0_mutex *ch_guard)
{
	M0_PRE(ch_guard != NULL);
	chan->ch_guard = ch_guard;
	m0_list_init(&chan->ch_links);
	chan->ch_waiters = 0;
	chan->ch_is_telling = false;
	chan->ch_one_nr = 0;
	chan->ch_all_nr = 0;
}

void m0_chan_fini(struct m0_chan *chan)
{
	M0_PRE(m0_chan_is_locked(chan));
	M0_PRE(chan->ch_waiters == 0);
	m0_list_fini(&chan->ch_links);
}

void m0_chan_fini_lock(struct m0_chan *chan)
{
	struct m0_mutex *guard = chan->ch_guard;

	m0_mutex_lock(guard);
	m0_chan_fini(chan);
	m0_mutex_unlock(guard);
}

void m0_clink_signal(struct m0_clink *link)
{
	struct m0_clink *group = link->cl_group;

	if (link->cl_is_oneshot && m0_clink_is_armed(link))
		m0_clink_del(link);
	/* The callback may finalise the link, but must then return true. */
	if (link->cl_cb == NULL || !link->cl_cb(link))
		m0_semaphore_up(&group->cl_wait);
}

static void chan_notify(struct m0_chan *chan, uint32_t nr)
{
	struct m0_list_link  end;
	struct m0_list_link *link;

	/*
	 * Callbacks may add and delete clinks, their own and others. Clinks
	 * that were there before lie before `end`, new ones behind it.
	 */
	m0_list_link_init(&end);
	m0_list_add_tail(&chan->ch_links, &end);
	for (; nr > 0; --nr) {
		link = m0_list_first(&chan->ch_links);
		if (link == &end)
			break;
		m0_list_move_tail(&chan->ch_links, link);
		m0_clink_signal(
			container_of(link, struct m0_clink, cl_linkage));
	}
	m0_list_del(&end);
}

/*
 * Signals run one after the other: a nested one would meet the `end` link of
 * the outer one.
 */
void m0_chan_signal_nr(struct m0_chan *chan, uint32_t nr)
{
	M0_PRE(m0_chan_is_locked(chan));
	++*(nr == 1 ? &chan->ch_one_nr : &chan->ch_all_nr);
	if (chan->ch_is_telling)
		return;
	chan->ch_is_telling = true;
	while (chan->ch_one_nr + chan->ch_all_nr > 0) {
		nr = chan->ch_all_nr > 0 ? UINT32_MAX : 1;
		--*(nr == 1 ? &chan->ch_one_nr : &chan->ch_all_nr);
		chan_notify(chan, nr);
	}
	chan->ch_is_telling = false;
}

void m0_chan_signal_lock(struct m0_chan *chan)
{
	m0_chan_lock(chan);
	m0_chan_signal(chan);
	m0_chan_unlock(chan);
}

void m0_chan_broadcast_lock(struct m0_chan *chan)
{
	m0_chan_lock(chan);
	m0_chan_broadcast(chan);
	m0_chan_unlock(chan);
}

void m0_clink_init(struct m0_clink *link, m0_chan_cb_t cb)
{
	int rc;

	link->cl_chan = NULL;
	link->cl_cb = cb;
	link->cl_group = link;
	m0_list_link_init(&link->cl_linkage);
	rc = m0_semaphore_init(&link->cl_wait, 0);
	M0_ASSERT(rc == 0);
	link->cl_is_oneshot = false;
}

void m0_clink_fini(struct m0_clink *link)
{
	M0_PRE(!m0_clink_is_armed(link));
	m0_list_link_fini(&link->cl_linkage);
	m0_semaphore_fini(&link->cl_wait);
}

void m0_clink_attach(struct m0_clink *link, struct m0_clink *group,
		     m0_chan_cb_t cb)
{
	M0_PRE(group->cl_group == group);
	m0_clink_init(link, cb);
	link->cl_group = group;
}

static struct m0_chan *clink_chan(const struct m0_clink *link)
{
	return __atomic_load_n(&link->cl_chan, __ATOMIC_ACQUIRE);
}

static void clink_chan_set(struct m0_clink *link, struct m0_chan *chan)
{
	__atomic_store_n(&link->cl_chan, chan, __ATOMIC_RELEASE);
}

bool m0_clink_is_armed(const struct m0_clink *link)
{
	return clink_chan(link) != NULL;
}

/* Written under the guard; m0_chan_has_waiters() looks without it. */
static void waiters_set(struct m0_chan *chan, uint32_t nr)
{
	__atomic_store_n(&chan->ch_waiters, nr, __ATOMIC_RELAXED);
}

void m0_clink_add(struct m0_chan *chan, struct m0_clink *link)
{
	M0_PRE(m0_chan_is_locked(chan));
	M0_PRE(!m0_clink_is_armed(link));
	/* Events of an earlier wait do not count for this one. */
	if (link->cl_group == link)
		m0_os__semaphore_zero(&link->cl_wait);
	clink_chan_set(link, chan);
	waiters_set(chan, chan->ch_waiters + 1);
	m0_list_add_tail(&chan->ch_links, &link->cl_linkage);
}

void m0_clink_add_lock(struct m0_chan *chan, struct m0_clink *link)
{
	m0_chan_lock(chan);
	m0_clink_add(chan, link);
	m0_chan_unlock(chan);
}

void m0_clink_del(struct m0_clink *link)
{
	struct m0_chan *chan = clink_chan(link);

	M0_PRE(chan != NULL);
	M0_PRE(m0_chan_is_locked(chan));
	M0_ASSERT(chan->ch_waiters > 0);
	waiters_set(chan, chan->ch_waiters - 1);
	m0_list_del(&link->cl_linkage);
	clink_chan_set(link, NULL);
}

void m0_clink_del_lock(struct m0_clink *link)
{
	struct m0_mutex *guard;

	M0_PRE(m0_clink_is_armed(link));
	guard = clink_chan(link)->ch_guard;
	m0_mutex_lock(guard);
	m0_clink_del(link);
	m0_mutex_unlock(guard);
}

void m0_clink_cleanup_locked(struct m0_clink *link)
{
	if (m0_clink_is_armed(link))
		m0_clink_del(link);
}

void m0_clink_cleanup(struct m0_clink *link)
{
	struct m0_chan *chan = clink_chan(link);

	/* A oneshot link may leave while the guard is waited for. */
	if (chan != NULL) {
		m0_chan_lock(chan);
		m0_clink_cleanup_locked(link);
		m0_chan_unlock(chan);
	}
}

bool m0_chan_trywait(struct m0_clink *link)
{
	return m0_semaphore_trydown(&link->cl_group->cl_wait);
}

void m0_chan_wait(struct m0_clink *link)
{
	m0_semaphore_down(&link->cl_group->cl_wait);
}

bool m0_chan_timedwait(struct m0_clink *link, m0_time_t deadline)
{
	return m0_semaphore_timeddown(&link->cl_group->cl_wait, deadline);
}
