/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The event of a buffer in two halves: what comes before its callback and what
 * comes after. In line, so that a caller with a constant queue pays for that alone.
 */
#ifndef M0_SRC_NET_EVENT_H
#define M0_SRC_NET_EVENT_H

#include "net/net_edge.h"
#include "base/probes.h"

/**
 * The lock is released for a callback; the counter keeps the machine alive
 * meanwhile. ntm_mutex held, and held again.
 */
static inline void m0_net__callback_begin(struct m0_net_transfer_mc *tm)
{
	++tm->ntm_callback_counter;
	m0_mutex_unlock(&tm->ntm_mutex);
}

static inline void m0_net__callback_end(struct m0_net_transfer_mc *tm)
{
	M0_PRE_EX(m0_mutex_is_locked(&tm->ntm_mutex));
	M0_ASSERT_EX(tm->ntm_callback_counter > 0);
	--tm->ntm_callback_counter;
	m0_chan_broadcast(&tm->ntm_chan);
}

static inline void m0_net__stats_update(struct m0_net_qstats             *qs,
					const struct m0_net_buffer_event *ev,
					enum m0_net_queue_type qt, bool final)
{
	const struct m0_net_buffer *buf = ev->nbe_buffer;
	m0_bcount_t                 nr;

	if (final && ev->nbe_time > buf->nb_add_time)
		qs->nqs_time_in_queue += ev->nbe_time - buf->nb_add_time;
	if (ev->nbe_status != 0) {
		++qs->nqs_num_f_events;
		return;
	}
	++qs->nqs_num_s_events;
	nr = m0_net__qt_is_recv(qt) ? ev->nbe_length : buf->nb_length;
	qs->nqs_total_bytes += nr;
	if (nr > qs->nqs_max_bytes)
		qs->nqs_max_bytes = nr;
}

static inline void m0_net__buffer_leave(struct m0_net_buffer *buf)
{
	M0_PRE_EX(m0_net__buffer_invariant(buf));
	m0_list_del(&buf->nb_tm_linkage.t_link);
	buf->nb_flags &= ~(uint64_t)(M0_NET_BUF_QUEUED | M0_NET_BUF_CANCELLED |
				     M0_NET_BUF_IN_USE | M0_NET_BUF_TIMED_OUT);
	buf->nb_timeout = M0_TIME_NEVER;
}

/**
 * The buffer leaves its queue if the event is its last; counts, provisions, and
 * releases ntm_mutex. The callback follows, and m0_net__event_end().
 * @param qt  the buffer's.
 * @return    the end point whose reference goes with the event, or NULL.
 */
static inline __attribute__((always_inline)) struct m0_net_end_point *
m0_net__event_begin(struct m0_net_transfer_mc        *tm,
		    const struct m0_net_buffer_event *ev,
		    enum m0_net_queue_type qt, bool final)
{
	struct m0_net_buffer    *buf = ev->nbe_buffer;
	struct m0_net_end_point *ep = NULL;

	M0_PRE_EX(m0_mutex_is_locked(&tm->ntm_mutex));
	M0_PRE_EX(buf->nb_tm == tm && buf->nb_qtype == qt &&
		  (buf->nb_flags & M0_NET_BUF_QUEUED) != 0);
	/* Elsewhere nbe_ep has no meaning, and no reference comes with it. */
	if (qt == M0_NET_QT_MSG_RECV && ev->nbe_status == 0)
		ep = ev->nbe_ep;
	if (final && (qt == M0_NET_QT_MSG_SEND || m0_net__qt_is_passive(qt)))
		ep = buf->nb_ep;
	if (final)
		m0_net__buffer_leave(buf);
	m0_net__stats_update(&tm->ntm_qstats[qt], ev, qt, final);
	if (qt == M0_NET_QT_MSG_RECV && ev->nbe_status == 0)
		++buf->nb_msgs_received;
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		m0_probe_buf_event(m0_net__tm_name(tm), buf->nb_nr,
				   m0_net__qt_name(qt),
				   m0_errname(ev->nbe_status), ev->nbe_length,
				   ev->nbe_offset);
	m0_net__callback_begin(tm);
	if (final && qt == M0_NET_QT_MSG_RECV && tm->ntm_recv_pool != NULL)
		m0_net__pool_serve(tm, buf, ev->nbe_status);
	return ep;
}

/** The callback has returned. Takes ntm_mutex again. */
static inline void m0_net__event_end(struct m0_net_transfer_mc *tm,
				     struct m0_net_end_point   *ep)
{
	m0_mutex_lock(&tm->ntm_mutex);
	if (ep != NULL)
		m0_net__ep_put(ep);
	m0_net__callback_end(tm);
}

static inline void m0_net__event_call(const struct m0_net_buffer_event *ev,
				      enum m0_net_queue_type            qt)
{
	ev->nbe_buffer->nb_callbacks->nbc_cb[qt](ev);
}

#endif /* M0_SRC_NET_EVENT_H */
