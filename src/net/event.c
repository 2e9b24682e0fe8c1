/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Events: the one way off a queue, and the one way a machine's state changes
 * without the application's doing.
 *
 * The two functions that do it are called with ntm_mutex held and release it
 * for the callback; the callback counter keeps the machine alive meanwhile.
 */
#include "net/net_internal.h"
#include "base/probes.h"

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
	       _0C(ergo(buf->nb_qtype == M0_NET_QT_MSG_RECV,
			(ev->nbe_status == 0) == (ev->nbe_ep != NULL)));
}

static void stats_update(struct m0_net_qstats             *qs,
			 const struct m0_net_buffer_event *ev, bool retain)
{
	const struct m0_net_buffer *buf = ev->nbe_buffer;
	m0_bcount_t                 nr;

	if (!retain && ev->nbe_time > buf->nb_add_time)
		qs->nqs_time_in_queue += ev->nbe_time - buf->nb_add_time;
	if (ev->nbe_status != 0) {
		++qs->nqs_num_f_events;
		return;
	}
	++qs->nqs_num_s_events;
	nr = m0_net__qt_is_recv(buf->nb_qtype) ? ev->nbe_length
					       : buf->nb_length;
	qs->nqs_total_bytes += nr;
	if (nr > qs->nqs_max_bytes)
		qs->nqs_max_bytes = nr;
}

static void buffer_leave(struct m0_net_buffer *buf)
{
	net_q_tlist_del(buf);
	buf->nb_flags &= ~(uint64_t)(M0_NET_BUF_QUEUED | M0_NET_BUF_CANCELLED |
				     M0_NET_BUF_IN_USE | M0_NET_BUF_TIMED_OUT);
	buf->nb_timeout = M0_TIME_NEVER;
}

/*
 * A receive buffer has left the queue of a machine with a pool: replaces it,
 * before the application hears of it. A buffer that a stop cancelled is noted,
 * in case its callback does not put it back. No machine lock held.
 */
static void pool_serve(struct m0_net_transfer_mc *tm, struct m0_net_buffer *buf,
		       int32_t status)
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

static void callback_begin(struct m0_net_transfer_mc *tm)
{
	++tm->ntm_callback_counter;
	m0_mutex_unlock(&tm->ntm_mutex);
}

static void callback_end(struct m0_net_transfer_mc *tm)
{
	M0_ASSERT(tm->ntm_callback_counter > 0);
	--tm->ntm_callback_counter;
	m0_chan_broadcast(&tm->ntm_chan);
}

void m0_net__buffer_event(struct m0_net_transfer_mc        *tm,
			  const struct m0_net_buffer_event *ev,
			  m0_net__called_t                  called)
{
	struct m0_net_buffer    *buf = ev->nbe_buffer;
	enum m0_net_queue_type   qt = buf->nb_qtype;
	m0_net_buffer_cb_proc_t  cb = buf->nb_callbacks->nbc_cb[qt];
	bool                     retain = buf->nb_flags & M0_NET_BUF_RETAIN;
	struct m0_net_end_point *ep = ev->nbe_ep;

	M0_PRE_EX(m0_mutex_is_locked(&tm->ntm_mutex));
	M0_PRE(buf->nb_tm == tm && (buf->nb_flags & M0_NET_BUF_QUEUED) != 0);

	if (!retain && (qt == M0_NET_QT_MSG_SEND || m0_net__qt_is_passive(qt)))
		ep = buf->nb_ep;
	if (retain)
		buf->nb_flags &= ~(uint64_t)M0_NET_BUF_RETAIN;
	else
		buffer_leave(buf);
	stats_update(&tm->ntm_qstats[qt], ev, retain);
	if (qt == M0_NET_QT_MSG_RECV && ev->nbe_status == 0)
		++buf->nb_msgs_received;
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		m0_probe_buf_event(m0_net__tm_name(tm), buf->nb_nr,
				   m0_net__qt_name(qt),
				   m0_errname(ev->nbe_status), ev->nbe_length,
				   ev->nbe_offset);
	callback_begin(tm);
	if (!retain && qt == M0_NET_QT_MSG_RECV && tm->ntm_recv_pool != NULL)
		pool_serve(tm, buf, ev->nbe_status);
	cb(ev);
	/* The buffer may be gone now. */
	if (called != NULL)
		called(tm);
	m0_mutex_lock(&tm->ntm_mutex);
	if (ep != NULL)
		m0_net__ep_put(ep);
	callback_end(tm);
}

void m0_net_buffer_event_post(const struct m0_net_buffer_event *ev)
{
	struct m0_net_transfer_mc *tm = ev->nbe_buffer->nb_tm;

	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));
	m0_mutex_lock(&tm->ntm_mutex);
	/* What transports of others promise; the kit keeps it by design. */
	M0_PRE(event_invariant(ev));
	m0_net__buffer_event(tm, ev, NULL);
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
	callback_begin(tm);
	tm->ntm_callbacks->ntc_event_cb(ev);
	if (is_state && ev->nte_next_state == M0_NET_TM_STARTED)
		m0_net__provision_unlocked(tm);
	m0_mutex_lock(&tm->ntm_mutex);
	callback_end(tm);
}

void m0_net_tm_event_post(const struct m0_net_tm_event *ev)
{
	struct m0_net_transfer_mc *tm = ev->nte_tm;

	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));
	m0_mutex_lock(&tm->ntm_mutex);
	m0_net__tm_event(ev);
	m0_mutex_unlock(&tm->ntm_mutex);
}
