/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * For transports and tests that were written for the reference: its global
 * mutex, and its assertions about its structures. The library has invariants of
 * its own.
 */
#ifndef M0_COMPAT_NET_NET_INTERNAL_H
#define M0_COMPAT_NET_NET_INTERNAL_H

#include "m0/compat/helpers.h"
#include "m0/net.h"
#include "m0/net_pool.h"
#include "m0/net_xprt.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline bool m0_net__domain_invariant(const struct m0_net_domain *dom)
{
	return _0C(dom != NULL) && _0C(dom->nd_xprt != NULL);
}

static inline bool m0_net__qtype_is_valid(enum m0_net_queue_type qt)
{
	return (unsigned)qt < M0_NET_QT_NR;
}

/**
 * Invariant of an end point.
 * @param under_tm_mutex  the caller holds ntm_mutex: checks the TM's list, too.
 */
static inline bool m0_net__ep_invariant(struct m0_net_end_point   *ep,
					struct m0_net_transfer_mc *tm,
					bool under_tm_mutex)
{
	return _0C(ep != NULL) && _0C(m0_ref_read(&ep->nep_ref) > 0) &&
	       _0C(ep->nep_tm == tm) && _0C(ep->nep_addr != NULL) &&
	       _0C(ergo(under_tm_mutex,
			m0_nep_tlist_contains(&tm->ntm_end_points, ep)));
}

static inline bool m0_net__buffer_invariant(const struct m0_net_buffer *buf)
{
	return _0C(buf != NULL) &&
	       _0C((buf->nb_flags & M0_NET_BUF_REGISTERED) != 0) &&
	       _0C(m0_net__domain_invariant(buf->nb_dom)) &&
	       _0C(ergo(buf->nb_flags & M0_NET_BUF_QUEUED,
			m0_net__qtype_is_valid(buf->nb_qtype) &&
				buf->nb_tm != NULL &&
				buf->nb_tm->ntm_dom == buf->nb_dom &&
				buf->nb_callbacks != NULL &&
				buf->nb_callbacks->nbc_cb[buf->nb_qtype] !=
					NULL));
}

static inline bool m0_net__buffer_event_invariant(
	const struct m0_net_buffer_event *ev)
{
	return _0C(ev->nbe_status <= 0) && _0C(ev->nbe_buffer != NULL) &&
	       _0C(ergo(ev->nbe_status == 0 &&
				ev->nbe_buffer->nb_qtype == M0_NET_QT_MSG_RECV,
			ev->nbe_ep != NULL));
}

static inline bool m0_net__tm_event_invariant(const struct m0_net_tm_event *ev)
{
	return _0C(ev->nte_tm != NULL) &&
	       _0C(M0_IN(ev->nte_type,
			 (M0_NET_TEV_ERROR, M0_NET_TEV_STATE_CHANGE,
			  M0_NET_TEV_DIAGNOSTIC))) &&
	       _0C(ergo(ev->nte_type == M0_NET_TEV_STATE_CHANGE &&
				ev->nte_next_state == M0_NET_TM_STARTED,
			ev->nte_ep != NULL));
}

/**
 * Invariant of a TM. Queues may be non-empty only in some states; here receive
 * queues may be non-empty before STARTED, too.
 */
static inline bool m0_net__tm_invariant(const struct m0_net_transfer_mc *tm)
{
	bool before = M0_IN(tm->ntm_state,
			    (M0_NET_TM_INITIALIZED, M0_NET_TM_STARTING));
	bool runs =
		M0_IN(tm->ntm_state, (M0_NET_TM_STARTED, M0_NET_TM_STOPPING));

	return _0C(tm->ntm_callbacks != NULL &&
		   tm->ntm_callbacks->ntc_event_cb != NULL) &&
	       _0C(m0_net__domain_invariant(tm->ntm_dom)) &&
	       _0C(tm->ntm_state > M0_NET_TM_UNDEFINED &&
		   tm->ntm_state <= M0_NET_TM_FAILED) &&
	       _0C(ergo(tm->ntm_state == M0_NET_TM_STARTED,
			tm->ntm_ep != NULL)) &&
	       _0C(m0_forall(i, M0_NET_QT_NR,
			     runs || (before && i == M0_NET_QT_MSG_RECV) ||
				     m0_net_tm_tlist_is_empty(&tm->ntm_q[i])));
}

#ifdef __cplusplus
}
#endif
#endif /* M0_COMPAT_NET_NET_INTERNAL_H */
