/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the files of room `net` share: the generic layer's own calls that expect
 * a lock to be held, and typed lists that are inlined.
 */
#ifndef M0_SRC_NET_NET_INTERNAL_H
#define M0_SRC_NET_NET_INTERNAL_H

#include "m0/net.h"
#include "m0/net_pool.h"
#include "m0/net_xprt.h"

enum {
	M0_NET_BUFFER_MAGIC = 0x6e65742062756621, /* net buf! */
	/** Queues and lists of pools: m0_net_tm and m0_net_pool take each other's. */
	M0_NET_BUFFER_HEAD_MAGIC = 0x6e657420746d2071,
	M0_NET_EP_MAGIC = 0x6e65742065702021,
	M0_NET_EP_HEAD_MAGIC = 0x6e65742065702071,
	M0_NET_DOM_MAGIC = 0x6e657420646f6d21
};

/* The exported lists again, with a descriptor the compiler can fold. */
M0_TL_DESCR_DEFINE(net_q, "tm queue", static, struct m0_net_buffer,
		   nb_tm_linkage, nb_magic, M0_NET_BUFFER_MAGIC,
		   M0_NET_BUFFER_HEAD_MAGIC);
M0_TL_DEFINE(net_q, static inline, struct m0_net_buffer);

/** Domains between init and fini, under m0_net_mutex. */
extern uint32_t m0_net__domains_nr;

/** Domains of one transport. m0_net_mutex held. */
uint32_t m0_net__xprt_domains_nr(const struct m0_net_xprt *xprt);

static inline const struct m0_net_xprt_ops *m0_net__ops(
	const struct m0_net_domain *dom)
{
	return dom->nd_xprt->nx_ops;
}

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

/** Other threads look at the state of a machine without its lock. */
static inline enum m0_net_tm_state m0_net__tm_state(
	const struct m0_net_transfer_mc *tm)
{
	return __atomic_load_n(&tm->ntm_state, __ATOMIC_ACQUIRE);
}

void m0_net__tm_state_set(struct m0_net_transfer_mc *tm,
			  enum m0_net_tm_state       state);
/** For traces: the machine's address, "-" while it has none. */
static inline const char *m0_net__tm_name(const struct m0_net_transfer_mc *tm)
{
	return tm->ntm_ep == NULL ? "-" : tm->ntm_ep->nep_addr;
}

const char *m0_net__tm_state_name(enum m0_net_tm_state state);
const char *m0_net__qt_name(enum m0_net_queue_type qt);

/**
 * References to end points change under ntm_mutex alone, so that a load and a
 * store do; they are looked at without.
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

bool m0_net__tm_invariant(const struct m0_net_transfer_mc *tm);
bool m0_net__buffer_invariant(const struct m0_net_buffer *buf);
bool m0_net__domain_invariant(const struct m0_net_domain *dom);

/** All six queues. ntm_mutex held. */
bool m0_net__tm_queues_are_empty(const struct m0_net_transfer_mc *tm);

/** m0_net_buffer_add() with ntm_mutex held and without the flush. */
int m0_net__buffer_add(struct m0_net_buffer      *buf,
		       struct m0_net_transfer_mc *tm);
/** m0_net_buffer_del() with ntm_mutex held and without the flush. */
bool m0_net__buffer_del(struct m0_net_buffer      *buf,
			struct m0_net_transfer_mc *tm);
/** m0_net_tm_event_post() with ntm_mutex held, except during callbacks. */
void m0_net__tm_event(const struct m0_net_tm_event *ev);
/** A call from outside is over: lets the transport push on. No lock held. */
void m0_net__flush(struct m0_net_transfer_mc *tm);

/**
 * Fills the receive queue from the pool, updates the deficit, broadcasts
 * ntm_chan if anything changed. The pool's lock is held, ntm_mutex is not.
 * Returns the number of buffers added.
 */
uint32_t m0_net__provision(struct m0_net_transfer_mc *tm);
/**
 * A receive buffer has left the queue of a machine with a pool: replaces it,
 * before the application hears of it. No lock held.
 */
void m0_net__pool_serve(struct m0_net_transfer_mc *tm,
			struct m0_net_buffer *buf, int32_t status);
/** m0_net__provision() with no lock held. */
void m0_net__provision_unlocked(struct m0_net_transfer_mc *tm);
void m0_net__deficit_set(struct m0_net_transfer_mc *tm, uint32_t deficit);

int  m0_net__provisioner_get(struct m0_net_domain *dom);
void m0_net__provisioner_fini(struct m0_net_domain *dom);
/** The provisioner forgets the pool. No lock held; waits for its step. */
void m0_net__provisioner_forget(struct m0_net_buffer_pool *pool);

/** Puts back what callbacks of a stopping machine did not. No lock held. */
void m0_net__pool_returns(struct m0_net_transfer_mc *tm);
/** Is the buffer in its pool? The pool's lock is held. */
bool m0_net__pool_has(const struct m0_net_buffer *buf);
/** `nr` bytes for a descriptor from the recycled slab; NULL: no memory. */
uint8_t *m0_net__desc_bytes_get(uint32_t nr);
void     m0_net__desc_slab_fini(void);
/** A pass of this thread is over: gives back what it has kept. */
void m0_net__desc_pass_end(void);

#endif /* M0_SRC_NET_NET_INTERNAL_H */
