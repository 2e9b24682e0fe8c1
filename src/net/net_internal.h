/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Calls of the generic layer that only the files of room `net` make. Most of
 * them expect that the caller holds a lock.
 */
#ifndef M0_SRC_NET_NET_INTERNAL_H
#define M0_SRC_NET_NET_INTERNAL_H

#include "m0/net_pool.h"
#include "net/net_edge.h"

enum {
	M0_NET_EP_MAGIC = 0x6e65742065702021,
	M0_NET_EP_HEAD_MAGIC = 0x6e65742065702071,
	M0_NET_DOM_MAGIC = 0x6e657420646f6d21
};

/** Count the domains of a transport, which keep it. m0_net_mutex held. */
void m0_net__xprt_use(const struct m0_net_xprt *xprt);
void m0_net__xprt_unuse(const struct m0_net_xprt *xprt);

static inline const struct m0_net_xprt_ops *m0_net__ops(
	const struct m0_net_domain *dom)
{
	return dom->nd_xprt->nx_ops;
}

void        m0_net__tm_state_set(struct m0_net_transfer_mc *tm,
				 enum m0_net_tm_state       state);
const char *m0_net__tm_state_name(enum m0_net_tm_state state);

/** Is the TM failing, or FAILED? ntm_mutex held. */
bool m0_net__tm_has_failed(const struct m0_net_transfer_mc *tm);

bool m0_net__tm_invariant(const struct m0_net_transfer_mc *tm);
bool m0_net__domain_invariant(const struct m0_net_domain *dom);

/** m0_net_buffer_add() with ntm_mutex held and without the flush. */
int m0_net__buffer_add(struct m0_net_buffer      *buf,
		       struct m0_net_transfer_mc *tm);
/** m0_net_buffer_del() with ntm_mutex held and without the flush. */
bool m0_net__buffer_del(struct m0_net_buffer      *buf,
			struct m0_net_transfer_mc *tm);
/** A call from outside is over: lets the transport push on. No lock held. */
void m0_net__flush(struct m0_net_transfer_mc *tm);

/**
 * Fills the receive queue from the pool, updates the deficit, broadcasts
 * ntm_chan if anything changed. The pool's lock is held, ntm_mutex is not.
 * Returns the number of buffers added.
 */
uint32_t m0_net__provision(struct m0_net_transfer_mc *tm);
void     m0_net__deficit_set(struct m0_net_transfer_mc *tm, uint32_t deficit);

int  m0_net__provisioner_get(struct m0_net_domain *dom);
void m0_net__provisioner_fini(struct m0_net_domain *dom);
/** The provisioner forgets the pool. No lock held; waits for its step. */
void m0_net__provisioner_forget(struct m0_net_buffer_pool *pool);

/** Puts back what callbacks of a stopping machine did not. No lock held. */
void m0_net__pool_returns(struct m0_net_transfer_mc *tm);
/** Is the buffer in its pool? The pool's lock is held. */
bool m0_net__pool_has(const struct m0_net_buffer *buf);

#endif /* M0_SRC_NET_NET_INTERNAL_H */
