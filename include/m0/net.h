/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The network layer: asynchronous messages and bulk transfer.
 *
 * Five nouns.
 *  - A *domain* (struct m0_net_domain) is what one transport is used through:
 *    it owns registered buffers and transfer machines.
 *  - A *transfer machine* (struct m0_net_transfer_mc, "TM", net_tm.h) has one
 *    address and six queues; buffers are added to a queue and each addition
 *    ends in exactly one final event.
 *  - An *end point* (struct m0_net_end_point) is an address as one machine
 *    sees it; counted by reference.
 *  - A *buffer* (struct m0_net_buffer, net_buf.h) is registered memory.
 *  - A *descriptor* (struct m0_net_buf_desc) names a passive buffer, so that a
 *    peer that was sent the descriptor may move bulk data into or out of it.
 *
 * Messages go from a buffer on one machine's MSG_SEND queue to the next free
 * buffer on another's MSG_RECV queue. Bulk data moves between a buffer on a
 * PASSIVE_BULK_* queue and the buffer that a peer adds to its ACTIVE_BULK_*
 * queue with the passive one's descriptor. Any number of buffers may be queued
 * at a time; bulk is not copied on its way but where the transport has to.
 *
 * A first program:
 * @code
 *	m0_net_init();
 *	m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt);
 *	tm.ntm_callbacks = &tm_callbacks;
 *	m0_net_tm_init(&tm, &dom);
 *	m0_net_tm_start(&tm, "127.0.0.1:7000");    ... event: STARTED
 *	m0_net_buffer_register(&buf, &dom);
 *	buf.nb_qtype = M0_NET_QT_MSG_RECV;          ... and sizes, callbacks
 *	m0_net_buffer_add(&buf, &tm);               ... event: a message
 *	m0_net_tm_stop(&tm, true);                  ... events, then STOPPED
 *	m0_net_tm_fini(&tm);
 * @endcode
 *
 * Promise: everything queued completes exactly once and in bounded time: at
 * its completion, its own time-out, its cancellation, the machine's stop, or
 * the loss of the peer it depends on. A buffer that waits for a peer to speak
 * first, without a time-out, waits.
 *
 * Locks, outermost first; never two of one kind:
 *   m0_net_mutex (domain init and fini, registry) > pool (nbp_mutex) >
 *   domain (nd_mutex) > machine (ntm_mutex) > a machine's inbox (not public).
 * Callbacks are made with none of them held and never on the stack of the call
 * that caused them. From a callback every function may be called but
 * m0_net_tm_fini() of the same machine and waits of m0/sync.h.
 *
 * Errors: 0 or a negative errno. A call that returns an error changed nothing
 * and is followed by no event. Breaking a precondition ("Pre:") is a
 * programming error and aborts with a message.
 *
 * [r.rpccore.flexible] [r.rpccore.efficient] [r.rpccore.efficient.bulk]
 * [r.messaging.oneway] [r.messaging.efficient.buffer-use]
 */
#ifndef M0_NET_H
#define M0_NET_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_net_xprt;
struct m0_net_xprt_ops;
struct m0_net_domain;
struct m0_net_transfer_mc;
struct m0_net_end_point;
struct m0_net_buffer;
struct m0_net_buffer_pool;
struct m0_net_provisioner;

/* ------------------------------------------------------------ start-up -- */

/**
 * Prepares the layer. Once in a process before anything else of it; further
 * calls count and return 0.
 */
M0_EXTERN int m0_net_init(void);
/**
 * Undoes one m0_net_init().
 * @retval -EBUSY  the last call, but a domain is still initialised.
 */
M0_EXTERN int m0_net_fini(void);

/* ---------------------------------------------------------- transports -- */

/**
 * A transport. There is one constant of this type for each, in a header of its
 * own (m0/mem.h: m0_net_bulk_mem_xprt).
 */
struct m0_net_xprt {
	const char                   *nx_name;
	const struct m0_net_xprt_ops *nx_ops;
};

enum {
	/** Transports that the registry holds. */
	M0_NET_XPRT_MAX = 16
};

/**
 * Adds a transport to the registry; it does not become the default.
 * Registration serves look-up by name; a domain may use any transport.
 * Pre: not registered, and fewer than M0_NET_XPRT_MAX are.
 */
M0_EXTERN void m0_net_xprt_register(const struct m0_net_xprt *xprt);
/**
 * Removes a transport; later entries move down; if it was the default there is
 * none. Pre: registered.
 */
M0_EXTERN void m0_net_xprt_deregister(const struct m0_net_xprt *xprt);
M0_EXTERN void m0_net_xprt_default_set(const struct m0_net_xprt *xprt);
/** NULL if none was set. */
M0_EXTERN const struct m0_net_xprt *m0_net_xprt_default_get(void);
/** The table, m0_net_xprt_nr() long; valid until the next (de)registration. */
M0_EXTERN struct m0_net_xprt **m0_net_all_xprt_get(void);
M0_EXTERN int                  m0_net_xprt_nr(void);
M0_EXTERN bool m0_net_check_xprt(const struct m0_net_xprt *xprt);
/** NULL if no transport of that name is registered. */
M0_EXTERN const struct m0_net_xprt *m0_net_xprt_find(const char *name);
/** Logs the registered transports, level info. */
M0_EXTERN void m0_net_print_xprt(void);

/**
 * The seed's pair: registers if it is not yet, deregisters if it is.
 * @retval -ENOSPC  init: the registry is full.
 * @retval -EBUSY   fini: a domain of this transport is initialised.
 */
M0_EXTERN int m0_net_xprt_init(const struct m0_net_xprt *xprt);
M0_EXTERN int m0_net_xprt_fini(const struct m0_net_xprt *xprt);

/* -------------------------------------------------------------- domain -- */

struct m0_net_domain {
	/** Registration, machines' init and fini. */
	struct m0_mutex nd_mutex;
	/** Registered buffers, by nb_dom_linkage. */
	struct m0_list nd_registered_bufs;
	/** Machines between init and fini, by ntm_dom_linkage. */
	struct m0_list            nd_tms;
	void                     *nd_xprt_private;
	const struct m0_net_xprt *nd_xprt;
	/** Free for the application. */
	struct m0_tlink nd_app_linkage;
	/** Limits, read once from the transport at init. */
	uint32_t    nd_get_max_buffer_segments;
	m0_bcount_t nd_get_max_buffer_segment_size;
	m0_bcount_t nd_get_max_buffer_size;
	m0_bcount_t nd_get_max_buffer_desc_size;
	uint32_t    nd_get_buffer_alignment;
	/** Refills receive queues when a pool is no longer empty; private. */
	struct m0_net_provisioner *nd_provisioner;
	/** Buffers registered so far, and still to be. */
	uint64_t nd_bufs_seen_nr;
	/** Pools between init and fini. */
	uint32_t nd_pools_nr;
	uint64_t nd_magix;
};

/**
 * Initialises a domain of a transport. Several domains of one transport may
 * exist. Pre: dom->nd_xprt == NULL (clear the structure first).
 * @retval <0  the transport's error; `dom` is as before.
 */
M0_EXTERN int m0_net_domain_init(struct m0_net_domain     *dom,
				 const struct m0_net_xprt *xprt);
/**
 * Undoes m0_net_domain_init(); the structure may be initialised again.
 * @retval -EBUSY  a machine, a registered buffer or a pool remains; nothing
 *                 has changed.
 */
M0_EXTERN int m0_net_domain_fini(struct m0_net_domain *dom);

/** Largest sum of a buffer's segments, bytes. Any time after init. */
M0_EXTERN m0_bcount_t
m0_net_domain_get_max_buffer_size(struct m0_net_domain *dom);
M0_EXTERN m0_bcount_t
m0_net_domain_get_max_buffer_segment_size(struct m0_net_domain *dom);
M0_EXTERN int32_t
m0_net_domain_get_max_buffer_segments(struct m0_net_domain *dom);
/** Bound of nbd_len of every descriptor of this domain. */
M0_EXTERN m0_bcount_t
m0_net_domain_get_max_buffer_desc_size(struct m0_net_domain *dom);
/**
 * Alignment in bytes, a power of two, at which the transport moves segments
 * fastest; 1: it does not matter. Never required. (Memory alignment
 * negotiation of seed 000.)
 */
M0_EXTERN uint32_t
m0_net_domain_get_buffer_alignment(struct m0_net_domain *dom);

/* ---------------------------------------------------------- end points -- */

/**
 * An address as one transfer machine sees it. Made by transports only.
 */
struct m0_net_end_point {
	uint64_t nep_magix;
	/** Changes under ntm_mutex, by get and put; may be read without. */
	struct m0_ref              nep_ref;
	struct m0_net_transfer_mc *nep_tm;
	/** In ntm_end_points, list descriptor m0_nep. */
	struct m0_tlink nep_tm_linkage;
	/** Canonical printable address; valid while a reference is held. */
	const char *nep_addr;
	void       *nep_xprt_pvt;
};

M0_TL_DESCR_DECLARE(m0_nep, M0_EXTERN);
M0_TL_DECLARE(m0_nep, M0_EXTERN, struct m0_net_end_point);

/**
 * Finds or makes the end point of an address, with one reference for the
 * caller. `addr` is copied; two spellings of one address give one end point;
 * the machine's own address gives tm->ntm_ep. Pre: the machine is STARTED.
 * @param epp      set to NULL on failure.
 * @retval -EINVAL  not an address of this transport.
 * @retval -ENOSYS  addr == NULL and the transport has no dynamic end points.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_end_point_create(struct m0_net_end_point  **epp,
				      struct m0_net_transfer_mc *tm,
				      const char                *addr);
/**
 * One more reference. Pre: the caller holds one; he need not hold ntm_mutex,
 * under which nep_ref changes, and may. Returns 0.
 */
M0_EXTERN int m0_net_end_point_get(struct m0_net_end_point *ep);
/**
 * Drops a reference; the last one releases the end point. Takes ntm_mutex,
 * which the caller must not hold. Returns 0.
 */
M0_EXTERN int m0_net_end_point_put(struct m0_net_end_point *ep);
/**
 * Is this the text of an LNet end point, `NID:PID:portal:tmid`, with NID
 * 0@lo or dotted quad at tcp or o2ib, and PID 12345? Says nothing of other
 * transports' addresses. NULL: false.
 */
M0_EXTERN bool m0_net_endpoint_is_valid(const char *ep);

#ifdef __cplusplus
}
#endif

#include "m0/net_tm.h"
#include "m0/net_buf.h"

#endif /* M0_NET_H */
