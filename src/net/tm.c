/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Transfer machines: life, statistics, settings, modes of delivery.
 */
#include "net/net_internal.h"
#include "os/os.h"

static void tm_fields_init(struct m0_net_transfer_mc *tm,
			   struct m0_net_domain      *dom)
{
	int i;

	tm->ntm_dom = dom;
	tm->ntm_callback_counter = 0;
	tm->ntm_pin_counter = 0;
	tm->ntm_ep = NULL;
	tm->ntm_xprt_private = NULL;
	tm->ntm_bev_auto_deliver = true;
	tm->ntm_bev_inline = false;
	tm->ntm_is_failing = false;
	tm->ntm_recv_pool = NULL;
	tm->ntm_recv_pool_callbacks = NULL;
	tm->ntm_recv_queue_min_length = M0_NET_TM_RECV_QUEUE_DEF_LEN;
	m0_atomic64_set(&tm->ntm_recv_queue_deficit, 0);
	tm->ntm_recv_queue_min_recv_size = 0;
	tm->ntm_recv_queue_max_recv_msgs = 0;
	tm->ntm_pool_colour = M0_BUFFER_ANY_COLOUR;
	tm->ntm_drain_limit = M0_NET_TM_DRAIN_DEF;
	tm->ntm_spin = m0_os_spin_ns_default();
	tm->ntm_recv_spent_nr = 0;
	tm->ntm_recv_waiting_nr = 0;
	m0_sm_group_init(&tm->ntm_group);
	m0_chan_init(&tm->ntm_chan, &tm->ntm_mutex);
	m0_nep_tlist_init(&tm->ntm_end_points);
	m0_list_init(&tm->ntm_pool_returns);
	m0_list_link_init(&tm->ntm_dom_linkage);
	for (i = 0; i < M0_NET_QT_NR; ++i) {
		net_q_tlist_init(&tm->ntm_q[i]);
		M0_SET0(&tm->ntm_qstats[i]);
	}
}

static void tm_fields_fini(struct m0_net_transfer_mc *tm)
{
	int i;

	for (i = 0; i < M0_NET_QT_NR; ++i)
		net_q_tlist_fini(&tm->ntm_q[i]);
	m0_list_fini(&tm->ntm_pool_returns);
	m0_nep_tlist_fini(&tm->ntm_end_points);
	m0_chan_fini_lock(&tm->ntm_chan);
	m0_sm_group_fini(&tm->ntm_group);
}

int m0_net_tm_init(struct m0_net_transfer_mc *tm, struct m0_net_domain *dom)
{
	int rc;

	M0_PRE(tm->ntm_state == M0_NET_TM_UNDEFINED);
	M0_PRE(tm->ntm_callbacks != NULL &&
	       tm->ntm_callbacks->ntc_event_cb != NULL);
	M0_PRE(m0_net__domain_invariant(dom));

	m0_mutex_lock(&dom->nd_mutex);
	tm_fields_init(tm, dom);
	rc = m0_net__ops(dom)->xo_tm_init(tm);
	if (rc == 0) {
		m0_list_add_tail(&dom->nd_tms, &tm->ntm_dom_linkage);
		m0_net__tm_state_set(tm, M0_NET_TM_INITIALIZED);
	} else {
		tm_fields_fini(tm);
		tm->ntm_dom = NULL;
	}
	m0_mutex_unlock(&dom->nd_mutex);
	return rc;
}

static bool is_entered(const struct m0_net_transfer_mc *tm)
{
	return tm->ntm_callback_counter > 0 || tm->ntm_pin_counter > 0;
}

static void callbacks_wait(struct m0_net_transfer_mc *tm)
{
	struct m0_clink wait;

	m0_clink_init(&wait, NULL);
	m0_mutex_lock(&tm->ntm_mutex);
	if (is_entered(tm)) {
		m0_clink_add(&tm->ntm_chan, &wait);
		while (is_entered(tm)) {
			m0_mutex_unlock(&tm->ntm_mutex);
			m0_chan_wait(&wait);
			m0_mutex_lock(&tm->ntm_mutex);
		}
		m0_clink_del(&wait);
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_clink_fini(&wait);
}

/* Only the machine's own end point is left, and only its own reference. */
static bool end_points_are_free(const struct m0_net_transfer_mc *tm)
{
	struct m0_net_end_point *ep;

	for (ep = m0_nep_tlist_head(&tm->ntm_end_points); ep != NULL;
	     ep = m0_nep_tlist_next(&tm->ntm_end_points, ep)) {
		if (ep != tm->ntm_ep || m0_ref_read(&ep->nep_ref) != 1)
			return false;
	}
	return true;
}

int m0_net_tm_fini(struct m0_net_transfer_mc *tm)
{
	struct m0_net_domain *dom = tm->ntm_dom;
	bool                  busy;

	M0_PRE(M0_IN(m0_net__tm_state(tm),
		     (M0_NET_TM_INITIALIZED, M0_NET_TM_STOPPED,
		      M0_NET_TM_FAILED)));
	M0_PRE(m0_strand_current() == NULL);

	callbacks_wait(tm);
	m0_mutex_lock(&dom->nd_mutex);
	m0_mutex_lock(&tm->ntm_mutex);
	busy = !m0_net__tm_queues_are_empty(tm) || !end_points_are_free(tm);
	if (!busy && tm->ntm_ep != NULL) {
		m0_net__ep_put(tm->ntm_ep);
		tm->ntm_ep = NULL;
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	if (!busy) {
		m0_net__ops(dom)->xo_tm_fini(tm);
		m0_list_del(&tm->ntm_dom_linkage);
		m0_net__tm_state_set(tm, M0_NET_TM_UNDEFINED);
		tm_fields_fini(tm);
		tm->ntm_dom = NULL;
	}
	m0_mutex_unlock(&dom->nd_mutex);
	return busy ? -EBUSY : 0;
}

/* Cancels buffers added before a start that failed at once. */
static void recv_queue_cancel(struct m0_net_transfer_mc *tm)
{
	struct m0_net_buffer *buf;

	for (buf = net_q_tlist_head(&tm->ntm_q[M0_NET_QT_MSG_RECV]);
	     buf != NULL;
	     buf = net_q_tlist_next(&tm->ntm_q[M0_NET_QT_MSG_RECV], buf))
		m0_net__ops(tm->ntm_dom)->xo_buf_del(buf);
}

int m0_net_tm_start(struct m0_net_transfer_mc *tm, const char *addr)
{
	int rc;

	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(m0_net__tm_invariant(tm));
	M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
	m0_net__tm_state_set(tm, M0_NET_TM_STARTING);
	rc = m0_net__ops(tm->ntm_dom)->xo_tm_start(tm, addr);
	if (rc != 0) {
		m0_net__tm_state_set(tm, M0_NET_TM_FAILED);
		recv_queue_cancel(tm);
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__flush(tm);
	return rc;
}

/* A machine that failed gets its last event without being stopped. */
static int failed_stop(struct m0_net_transfer_mc *tm)
{
	int rc = 0;

	M0_PRE(m0_net__tm_has_failed(tm));
	if (tm->ntm_state == M0_NET_TM_FAILED) {
		tm->ntm_is_failing = false;
		rc = -ESHUTDOWN;
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	return rc;
}

static bool may_change(const struct m0_net_transfer_mc *tm)
{
	return M0_IN(tm->ntm_state, (M0_NET_TM_INITIALIZED, M0_NET_TM_STARTING,
				     M0_NET_TM_STARTED)) ||
	       m0_net__tm_has_failed(tm);
}

int m0_net_tm_stop(struct m0_net_transfer_mc *tm, bool abort)
{
	enum m0_net_tm_state old;
	int64_t              deficit;
	int                  rc;

	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(m0_net__tm_invariant(tm));
	M0_PRE(may_change(tm));
	if (M0_UNLIKELY(m0_net__tm_has_failed(tm)))
		return failed_stop(tm);
	old = tm->ntm_state;
	deficit = m0_atomic64_get(&tm->ntm_recv_queue_deficit);
	/* The deficit first: other states than STARTED have none. */
	m0_atomic64_set(&tm->ntm_recv_queue_deficit, 0);
	m0_net__tm_state_set(tm, M0_NET_TM_STOPPING);
	rc = m0_net__ops(tm->ntm_dom)->xo_tm_stop(tm, abort);
	if (rc != 0) {
		m0_net__tm_state_set(tm, old);
		m0_atomic64_set(&tm->ntm_recv_queue_deficit, deficit);
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	/* Buffers may have come to the pool meanwhile. */
	if (rc != 0)
		m0_net__provision_unlocked(tm);
	m0_net__flush(tm);
	return rc;
}

void m0_net_tm_drain_limit_set(struct m0_net_transfer_mc *tm,
			       m0_time_t                  limit_ns)
{
	m0_mutex_lock(&tm->ntm_mutex);
	tm->ntm_drain_limit = limit_ns;
	m0_mutex_unlock(&tm->ntm_mutex);
}

int m0_net_tm_stats_get(struct m0_net_transfer_mc *tm,
			enum m0_net_queue_type qtype, struct m0_net_qstats *qs,
			bool reset)
{
	size_t first = qtype == M0_NET_QT_NR ? 0 : (size_t)qtype;
	size_t nr = qtype == M0_NET_QT_NR ? M0_NET_QT_NR : 1;

	M0_PRE((size_t)qtype <= M0_NET_QT_NR);
	M0_PRE(qs != NULL || reset);
	M0_PRE(m0_net__tm_state(tm) >= M0_NET_TM_INITIALIZED);

	m0_mutex_lock(&tm->ntm_mutex);
	if (qs != NULL)
		memcpy(qs, &tm->ntm_qstats[first], nr * sizeof *qs);
	if (reset)
		memset(&tm->ntm_qstats[first], 0, nr * sizeof *qs);
	m0_mutex_unlock(&tm->ntm_mutex);
	return 0;
}

int m0_net_tm_confine(struct m0_net_transfer_mc *tm,
		      const struct m0_bitmap    *processors)
{
	const struct m0_net_xprt_ops *ops = m0_net__ops(tm->ntm_dom);
	int                           rc = -ENOSYS;

	M0_PRE(processors != NULL);
	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
	if (ops->xo_tm_confine != NULL)
		rc = ops->xo_tm_confine(tm, processors);
	m0_mutex_unlock(&tm->ntm_mutex);
	return rc;
}

void m0_net_tm_spin_set(struct m0_net_transfer_mc *tm, m0_time_t spin_ns)
{
	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
	tm->ntm_spin = spin_ns;
	m0_mutex_unlock(&tm->ntm_mutex);
}

void m0_net_tm_colour_set(struct m0_net_transfer_mc *tm, uint32_t colour)
{
	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(may_change(tm));
	tm->ntm_pool_colour = colour;
	m0_mutex_unlock(&tm->ntm_mutex);
}

uint32_t m0_net_tm_colour_get(struct m0_net_transfer_mc *tm)
{
	uint32_t colour;

	m0_mutex_lock(&tm->ntm_mutex);
	colour = tm->ntm_pool_colour;
	m0_mutex_unlock(&tm->ntm_mutex);
	return colour;
}

/* ------------------------------------------------- modes of delivery -- */

static bool can_poll(const struct m0_net_xprt_ops *ops)
{
	return ops->xo_bev_deliver_all != NULL && ops->xo_bev_pending != NULL &&
	       ops->xo_bev_notify != NULL;
}

static int mode_set(struct m0_net_transfer_mc *tm,
		    int (*op)(struct m0_net_transfer_mc *tm), bool is_inline)
{
	int rc = -ENOSYS;

	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
	M0_PRE(is_inline || tm->ntm_bev_auto_deliver);
	if (op != NULL && can_poll(m0_net__ops(tm->ntm_dom)))
		rc = op(tm);
	if (rc == 0) {
		tm->ntm_bev_auto_deliver = false;
		tm->ntm_bev_inline = is_inline;
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	return rc;
}

int m0_net_buffer_event_deliver_synchronously(struct m0_net_transfer_mc *tm)
{
	return mode_set(tm, m0_net__ops(tm->ntm_dom)->xo_bev_deliver_sync,
			false);
}

int m0_net_tm_inline(struct m0_net_transfer_mc *tm)
{
	return mode_set(tm, m0_net__ops(tm->ntm_dom)->xo_tm_inline, true);
}

/* Is there anything to ask the transport for? */
static bool may_poll(const struct m0_net_transfer_mc *tm)
{
	enum m0_net_tm_state state = m0_net__tm_state(tm);

	M0_PRE(!tm->ntm_bev_auto_deliver);
	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));
	M0_PRE(state != M0_NET_TM_UNDEFINED);
	return state != M0_NET_TM_STOPPED;
}

bool m0_net_buffer_event_pending(struct m0_net_transfer_mc *tm)
{
	return may_poll(tm) && m0_net__ops(tm->ntm_dom)->xo_bev_pending(tm);
}

void m0_net_buffer_event_notify(struct m0_net_transfer_mc *tm,
				struct m0_chan            *chan)
{
	if (!may_poll(tm))
		return;
	m0_mutex_lock(&tm->ntm_mutex);
	m0_net__ops(tm->ntm_dom)->xo_bev_notify(tm, chan);
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__flush(tm);
}

void m0_net_buffer_event_deliver_all(struct m0_net_transfer_mc *tm)
{
	if (may_poll(tm))
		m0_net__ops(tm->ntm_dom)->xo_bev_deliver_all(tm);
}

int m0_net_tm_fd(struct m0_net_transfer_mc *tm)
{
	const struct m0_net_xprt_ops *ops = m0_net__ops(tm->ntm_dom);

	return ops->xo_tm_fd == NULL ? -ENOSYS : ops->xo_tm_fd(tm);
}

/* -------------------------------------------------------------- riders -- */

int m0_net_tm_ride(struct m0_net_transfer_mc *tm, struct m0_net_tm_rider *rider)
{
	const struct m0_net_xprt_ops *ops = m0_net__ops(tm->ntm_dom);
	int                           rc = -ENOSYS;

	M0_PRE(rider->ntr_step != NULL);
	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
	rider->ntr_tm = tm;
	if (ops->xo_tm_ride != NULL)
		rc = ops->xo_tm_ride(tm, rider);
	m0_mutex_unlock(&tm->ntm_mutex);
	return rc;
}

void m0_net_tm_rider_wake(struct m0_net_tm_rider *rider)
{
	struct m0_net_transfer_mc *tm = rider->ntr_tm;

	/* An exchange: what its caller has done is seen by the step. */
	if (__atomic_exchange_n(&rider->ntr_woken, 1, __ATOMIC_SEQ_CST) == 0)
		m0_net__ops(tm->ntm_dom)->xo_rider_wake(tm);
}
