/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Events: the one way off a queue, and the one way a machine's state changes
 * without the application's doing. What the events of buffers have in common
 * with those of the kit is in net_event.h.
 */
#include "net/net_event.h"
#include "net/net_internal.h"

static bool event_invariant(const struct m0_net_buffer_event *ev)
{
	const struct m0_net_buffer *buf = ev->nbe_buffer;

	return _0C(m0_net__buffer_invariant(buf)) &&
	       _0C((buf->nb_flags & M0_NET_BUF_QUEUED) != 0) &&
	       _0C(ergo(buf->nb_flags & M0_NET_BUF_CANCELLED,
			ev->nbe_status == -ECANCELED)) &&
	       _0C(ergo(buf->nb_flags & M0_NET_BUF_TIMED_OUT,
			ev->nbe_status == -ETIMEDOUT)) &&
	       _0C(ergo(buf->nb_flags & M0_NET_BUF_RETAIN,
			ev->nbe_status == 0)) &&
	       _0C(ergo(buf->nb_qtype == M0_NET_QT_MSG_RECV &&
				ev->nbe_status == 0,
			ev->nbe_ep != NULL));
}

/* A buffer that a stop cancelled is noted: its callback may not put it back. */
void m0_net__pool_serve(struct m0_net_transfer_mc *tm,
			struct m0_net_buffer *buf, int32_t status)
{
	struct m0_net_buffer_pool *pool = tm->ntm_recv_pool;

	m0_net_buffer_pool_lock(pool);
	m0_mutex_lock(&tm->ntm_mutex);
	if (status == -ECANCELED && buf->nb_pool == pool &&
	    tm->ntm_state != M0_NET_TM_STARTED)
		m0_list_add_tail(&tm->ntm_pool_returns,
				 &buf->nb_return_linkage);
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__provision(tm);
	m0_net_buffer_pool_unlock(pool);
}

void m0_net_buffer_event_post(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer      *buf = ev->nbe_buffer;
	struct m0_net_transfer_mc *tm = buf->nb_tm;
	enum m0_net_queue_type     qt = buf->nb_qtype;
	struct m0_net_end_point   *ep;
	bool                       final;

	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));
	m0_mutex_lock(&tm->ntm_mutex);
	/* Foreign transports must ensure this; the kit does by design. */
	M0_PRE(event_invariant(ev));
	final = (buf->nb_flags & M0_NET_BUF_RETAIN) == 0;
	buf->nb_flags &= ~(uint64_t)M0_NET_BUF_RETAIN;
	ep = m0_net__event_begin(tm, ev, qt, final);
	m0_net__event_call(ev, qt);
	/* The buffer may be gone now. */
	m0_net__event_end(tm, ep);
	m0_mutex_unlock(&tm->ntm_mutex);
}

static void state_change(const struct m0_net_tm_event *ev)
{
	struct m0_net_transfer_mc *tm = ev->nte_tm;
	bool                       ends = M0_IN(ev->nte_next_state,
						(M0_NET_TM_STOPPED, M0_NET_TM_FAILED));

	if (ends) {
		m0_atomic64_set(&tm->ntm_recv_queue_deficit, 0);
		M0_ASSERT(m0_net__tm_queues_are_empty(tm));
		if (tm->ntm_recv_pool != NULL) {
			m0_mutex_unlock(&tm->ntm_mutex);
			m0_net__pool_returns(tm);
			m0_mutex_lock(&tm->ntm_mutex);
		}
	}
	if (ev->nte_next_state == M0_NET_TM_STARTED) {
		M0_PRE(ev->nte_ep != NULL);
		tm->ntm_ep = ev->nte_ep;
	}
	m0_net__tm_state_set(tm, ev->nte_next_state);
}

void m0_net__tm_event(const struct m0_net_tm_event *ev)
{
	struct m0_net_transfer_mc *tm = ev->nte_tm;
	bool is_state = ev->nte_type == M0_NET_TEV_STATE_CHANGE;

	M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
	if (is_state)
		state_change(ev);
	else
		m0_probe_tm_event(m0_net__tm_name(tm),
				  ev->nte_type == M0_NET_TEV_ERROR
					  ? "error"
					  : "diagnostic",
				  m0_errname(ev->nte_status));
	m0_net__callback_begin(tm);
	tm->ntm_callbacks->ntc_event_cb(ev);
	if (is_state && ev->nte_next_state == M0_NET_TM_STARTED)
		m0_net__provision_unlocked(tm);
	m0_mutex_lock(&tm->ntm_mutex);
	m0_net__callback_end(tm);
}

void m0_net_tm_event_post(const struct m0_net_tm_event *ev)
{
	struct m0_net_transfer_mc *tm = ev->nte_tm;

	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));
	m0_mutex_lock(&tm->ntm_mutex);
	m0_net__tm_event(ev);
	m0_mutex_unlock(&tm->ntm_mutex);
}
