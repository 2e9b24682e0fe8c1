/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The edge between the generic layer and the kit: the functions of the layer
 * that the kit calls, and what both ask of a queue type, a TM and an end point.
 */
#ifndef M0_SRC_NET_NET_EDGE_H
#define M0_SRC_NET_NET_EDGE_H

#include "m0/net.h"
#include "m0/net_xprt.h"

enum {
	M0_NET_BUFFER_MAGIC = 0x6e65742062756621, /* net buf! */
	/** Queues and pools; m0_net_tm and m0_net_pool accept either list. */
	M0_NET_BUFFER_HEAD_MAGIC = 0x6e657420746d2071
};

/* The exported list again, with a descriptor that the compiler can fold. */
M0_TL_DESCR_DEFINE(net_q, "tm queue", static, struct m0_net_buffer,
		   nb_tm_linkage, nb_magic, M0_NET_BUFFER_MAGIC,
		   M0_NET_BUFFER_HEAD_MAGIC);
M0_TL_DEFINE(net_q, static inline, struct m0_net_buffer);

static inline bool m0_net__qt_is_recv(enum m0_net_queue_type qt)
{
	return qt == M0_NET_QT_MSG_RECV || qt == M0_NET_QT_PASSIVE_BULK_RECV ||
	       qt == M0_NET_QT_ACTIVE_BULK_RECV;
}

static inline bool m0_net__qt_is_passive(enum m0_net_queue_type qt)
{
	return qt == M0_NET_QT_PASSIVE_BULK_RECV ||
	       qt == M0_NET_QT_PASSIVE_BULK_SEND;
}

static inline bool m0_net__qt_is_active(enum m0_net_queue_type qt)
{
	return qt == M0_NET_QT_ACTIVE_BULK_RECV ||
	       qt == M0_NET_QT_ACTIVE_BULK_SEND;
}

/** Returns the state of a TM; other threads read it without its lock. */
static inline enum m0_net_tm_state m0_net__tm_state(
	const struct m0_net_transfer_mc *tm)
{
	return __atomic_load_n(&tm->ntm_state, __ATOMIC_ACQUIRE);
}

const char *m0_net__qt_name(enum m0_net_queue_type qt);

/** Returns the address of a TM for traces, "-" while it has none. */
static inline const char *m0_net__tm_name(const struct m0_net_transfer_mc *tm)
{
	return tm->ntm_ep == NULL ? "-" : tm->ntm_ep->nep_addr;
}

/**
 * References to end points change only under ntm_mutex, so a load and a store
 * suffice. Other threads read the count without the lock.
 */
static inline void m0_net__ep_get(struct m0_net_end_point *ep)
{
	struct m0_atomic64 *nr = &ep->nep_ref.ref_cnt;

	M0_PRE_EX(m0_mutex_is_locked(&ep->nep_tm->ntm_mutex));
	m0_atomic64_set(nr, m0_atomic64_get(nr) + 1);
}

static inline void m0_net__ep_put(struct m0_net_end_point *ep)
{
	struct m0_atomic64 *nr = &ep->nep_ref.ref_cnt;
	int64_t             left = m0_atomic64_get(nr) - 1;

	M0_PRE_EX(m0_mutex_is_locked(&ep->nep_tm->ntm_mutex));
	M0_ASSERT(left >= 0);
	m0_atomic64_set(nr, left);
	if (left == 0 && ep->nep_ref.release != NULL)
		ep->nep_ref.release(&ep->nep_ref);
}

bool m0_net__buffer_invariant(const struct m0_net_buffer *buf);

/** Returns true if all six queues are empty. ntm_mutex held. */
bool m0_net__tm_queues_are_empty(const struct m0_net_transfer_mc *tm);

/** The network of a STARTED TM has gone: sets ntm_is_failing, and the state to STOPPING.
 * ntm_mutex held. */
void m0_net__tm_failing(struct m0_net_transfer_mc *tm);

/** m0_net_tm_event_post() with ntm_mutex held; released for callbacks. */
void m0_net__tm_event(const struct m0_net_tm_event *ev);

/**
 * Replaces a receive buffer that has left the queue of a TM with a pool, before
 * the application gets its event. No lock held.
 */
void m0_net__pool_serve(struct m0_net_transfer_mc *tm,
			struct m0_net_buffer *buf, int32_t status);
/** Fills the receive queue from the pool of the TM. No lock held. */
void m0_net__provision_unlocked(struct m0_net_transfer_mc *tm);

#endif /* M0_SRC_NET_NET_EDGE_H */
