/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * States and invariants that all files of the layer ask for: the table of a
 * TM's states with its one setter, names for traces, and the lists by type.
 */
#include "net/net_internal.h"
#include "base/probes.h"

M0_TL_DESCR_DEFINE(m0_nep, "end points", , struct m0_net_end_point,
		   nep_tm_linkage, nep_magix, M0_NET_EP_MAGIC,
		   M0_NET_EP_HEAD_MAGIC);
M0_TL_DEFINE(m0_nep, , struct m0_net_end_point);

M0_TL_DESCR_DEFINE(m0_net_tm, "tm queue", , struct m0_net_buffer, nb_tm_linkage,
		   nb_magic, M0_NET_BUFFER_MAGIC, M0_NET_BUFFER_HEAD_MAGIC);
M0_TL_DEFINE(m0_net_tm, , struct m0_net_buffer);

/* Name, and the states that may come next. */
static const struct tm_state_row {
	const char *ts_name;
	uint32_t    ts_next;
} tm_states[] = {
	[M0_NET_TM_UNDEFINED] = { "undefined", M0_BITS(M0_NET_TM_INITIALIZED) },
	[M0_NET_TM_INITIALIZED] = { "initialized",
				    M0_BITS(M0_NET_TM_STARTING,
					    M0_NET_TM_STOPPING,
					    M0_NET_TM_FAILED,
					    M0_NET_TM_UNDEFINED) },
	[M0_NET_TM_STARTING] = { "starting",
				 M0_BITS(M0_NET_TM_STARTED, M0_NET_TM_STOPPING,
					 M0_NET_TM_FAILED) },
	[M0_NET_TM_STARTED] = { "started",
				M0_BITS(M0_NET_TM_STOPPING, M0_NET_TM_FAILED) },
	/* Back to one of the three if the transport refuses to stop. */
	[M0_NET_TM_STOPPING] = { "stopping",
				 M0_BITS(M0_NET_TM_STOPPED, M0_NET_TM_FAILED,
					 M0_NET_TM_INITIALIZED,
					 M0_NET_TM_STARTING,
					 M0_NET_TM_STARTED) },
	[M0_NET_TM_STOPPED] = { "stopped", M0_BITS(M0_NET_TM_UNDEFINED) },
	[M0_NET_TM_FAILED] = { "failed", M0_BITS(M0_NET_TM_UNDEFINED) }
};

const char *m0_net__tm_state_name(enum m0_net_tm_state state)
{
	return (size_t)state < ARRAY_SIZE(tm_states) ? tm_states[state].ts_name
						     : "?";
}

const char *m0_net__qt_name(enum m0_net_queue_type qt)
{
	static const char *const names[] = { "msg-recv",     "msg-send",
					     "passive-recv", "passive-send",
					     "active-recv",  "active-send" };

	return (size_t)qt < ARRAY_SIZE(names) ? names[qt] : "?";
}

void m0_net__tm_state_set(struct m0_net_transfer_mc *tm,
			  enum m0_net_tm_state       state)
{
	M0_PRE((tm_states[tm->ntm_state].ts_next >> state) & 1);
	m0_probe_tm_state(m0_net__tm_name(tm),
			  m0_net__tm_state_name(tm->ntm_state),
			  m0_net__tm_state_name(state));
	__atomic_store_n(&tm->ntm_state, state, __ATOMIC_RELEASE);
}

bool m0_net__tm_has_failed(const struct m0_net_transfer_mc *tm)
{
	return tm->ntm_is_failing || tm->ntm_state == M0_NET_TM_FAILED;
}

void m0_net__tm_failing(struct m0_net_transfer_mc *tm)
{
	M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
	M0_PRE(tm->ntm_state == M0_NET_TM_STARTED && !tm->ntm_is_failing);
	tm->ntm_is_failing = true;
	m0_atomic64_set(&tm->ntm_recv_queue_deficit, 0);
	m0_net__tm_state_set(tm, M0_NET_TM_STOPPING);
}

bool m0_net__tm_queues_are_empty(const struct m0_net_transfer_mc *tm)
{
	return m0_forall(i, M0_NET_QT_NR, net_q_tlist_is_empty(&tm->ntm_q[i]));
}

bool m0_net__tm_invariant(const struct m0_net_transfer_mc *tm)
{
	return _0C(tm->ntm_callbacks != NULL) &&
	       _0C(tm->ntm_callbacks->ntc_event_cb != NULL) &&
	       _0C(tm->ntm_dom != NULL) &&
	       _0C(ergo(tm->ntm_state == M0_NET_TM_STARTED,
			tm->ntm_ep != NULL)) &&
	       _0C(ergo(tm->ntm_recv_pool != NULL,
			tm->ntm_recv_pool->nbp_ndom == tm->ntm_dom)) &&
	       _0C(ergo(!M0_IN(tm->ntm_state, (M0_NET_TM_STARTED)),
			m0_atomic64_get(&tm->ntm_recv_queue_deficit) == 0))
#ifdef M0_DEBUG_CHECKS
	       &&
	       _0C(ergo(!M0_IN(tm->ntm_state,
			       (M0_NET_TM_STARTED, M0_NET_TM_STOPPING)),
			m0_forall(i, M0_NET_QT_NR,
				  i == M0_NET_QT_MSG_RECV ||
					  net_q_tlist_is_empty(&tm->ntm_q[i]))))
#endif
		;
}

bool m0_net__domain_invariant(const struct m0_net_domain *dom)
{
	return _0C(dom != NULL) && _0C(dom->nd_xprt != NULL) &&
	       _0C(dom->nd_magix == M0_NET_DOM_MAGIC);
}

bool m0_net__buffer_invariant(const struct m0_net_buffer *buf)
{
	return _0C(buf != NULL) && _0C(buf->nb_dom != NULL) &&
	       _0C(buf->nb_magic == M0_NET_BUFFER_MAGIC) &&
	       _0C((buf->nb_flags & M0_NET_BUF_REGISTERED) != 0) &&
	       _0C(ergo(buf->nb_flags & M0_NET_BUF_QUEUED,
			buf->nb_tm != NULL && buf->nb_callbacks != NULL &&
				(size_t)buf->nb_qtype < M0_NET_QT_NR &&
				buf->nb_tm->ntm_dom == buf->nb_dom));
}

void m0_net__flush(struct m0_net_transfer_mc *tm)
{
	const struct m0_net_xprt_ops *ops = m0_net__ops(tm->ntm_dom);

	if (ops->xo_flush != NULL)
		ops->xo_flush(tm);
}
