/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The network layer: asynchronous messages and bulk transfer.
 *
 * The interface has five kinds of objects:
 *  - A *domain* (struct m0_net_domain) is one use of one transport. It owns
 *    registered buffers and transfer machines.
 *  - A *transfer machine* (struct m0_net_transfer_mc, "TM", net_tm.h) has one
 *    address and six queues. The application adds buffers to a queue, and each
 *    addition ends in exactly one final event.
 *  - An *end point* (struct m0_net_end_point) is an address as seen by one TM.
 *    It is counted by reference.
 *  - A *buffer* (struct m0_net_buffer, net_buf.h) is registered memory.
 *  - A *descriptor* (struct m0_net_buf_desc) names a passive buffer. A peer
 *    that has received the descriptor may move bulk data into or out of that
 *    buffer.
 *
 * A message goes from a buffer on the MSG_SEND queue of one TM to the next free
 * buffer on the MSG_RECV queue of another. Bulk data moves between a buffer on
 * a PASSIVE_BULK_* queue and the buffer that a peer adds, with the descriptor
 * of the passive one, to its ACTIVE_BULK_* queue. Any number of buffers may be
 * queued at a time. A transport copies bulk data only where it cannot avoid a
 * copy.
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
 * Guarantee: every queued buffer completes exactly once and in bounded time:
 * when its operation completes, when its own time-out expires, when it is
 * cancelled, when the TM stops, or when the peer it depends on is lost. Only a
 * buffer that has no time-out and waits for a peer to start the exchange may
 * wait without bound.
 *
 * Locks, outermost first (a thread never holds two of one kind):
 *   m0_net_mutex (domain init and fini, registry) > pool (nbp_mutex) >
 *   domain (nd_mutex) > TM (ntm_mutex) > the inbox of a TM (not public).
 * The library makes callbacks with none of these locks held, and never on the
 * stack of the call that caused them. A callback may call every function except
 * m0_net_tm_fini() of its own TM and the waits of m0/sync.h.
 *
 * Errors: a call returns 0 or a negative errno. A call that returns an error
 * has changed nothing, and no event follows it. A broken precondition ("Pre:")
 * is a programming error: the process aborts with a message.
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
 * Prepares the layer. A process calls this before any other function of the
 * layer. Further calls are counted and return 0.
 */
M0_EXTERN int m0_net_init(void);
/**
 * Undoes one m0_net_init().
 * @retval -EBUSY  this would be the last one, but a domain is still
 *                 initialised.
 */
M0_EXTERN int m0_net_fini(void);

/* ---------------------------------------------------------- transports -- */

/**
 * A transport. Each transport has one constant of this type, declared in the
 * transport's header (m0/mem.h: m0_net_bulk_mem_xprt).
 */
struct m0_net_xprt {
	const char                   *nx_name;
	const struct m0_net_xprt_ops *nx_ops;
};

enum {
	/** Largest number of transports in the registry. */
	M0_NET_XPRT_MAX = 16
};

/**
 * Adds a transport to the registry. It does not become the default.
 * Registration is needed only for look-up by name: a domain may use any
 * transport. Pre: `xprt` is not registered, and fewer than M0_NET_XPRT_MAX
 * transports are.
 */
M0_EXTERN void m0_net_xprt_register(const struct m0_net_xprt *xprt);
/**
 * Removes a transport from the registry. Later entries move down. If it was the
 * default, there is no default any more. Pre: registered.
 */
M0_EXTERN void m0_net_xprt_deregister(const struct m0_net_xprt *xprt);
M0_EXTERN void m0_net_xprt_default_set(const struct m0_net_xprt *xprt);
/** Returns the default transport, or NULL if there is none. */
M0_EXTERN const struct m0_net_xprt *m0_net_xprt_default_get(void);
/**
 * Returns the registry as an array of m0_net_xprt_nr() entries. It is valid
 * until a transport is registered or deregistered.
 */
M0_EXTERN struct m0_net_xprt **m0_net_all_xprt_get(void);
M0_EXTERN int                  m0_net_xprt_nr(void);
M0_EXTERN bool m0_net_check_xprt(const struct m0_net_xprt *xprt);
/** Returns the transport of that name, or NULL if none is registered. */
M0_EXTERN const struct m0_net_xprt *m0_net_xprt_find(const char *name);
/** Logs the registered transports at level info. */
M0_EXTERN void m0_net_print_xprt(void);

/**
 * Register and deregister a transport, as the seed document defines them. A
 * transport that is registered already, or is not any more, is no error.
 * @retval -ENOSPC  init: the registry is full.
 * @retval -EBUSY   fini: a domain of this transport is initialised.
 */
M0_EXTERN int m0_net_xprt_init(const struct m0_net_xprt *xprt);
M0_EXTERN int m0_net_xprt_fini(const struct m0_net_xprt *xprt);

/* -------------------------------------------------------------- domain -- */

struct m0_net_domain {
	/** Serialises buffer registration, and the init and fini of TMs. */
	struct m0_mutex nd_mutex;
	/** Registered buffers, by nb_dom_linkage. */
	struct m0_list nd_registered_bufs;
	/** TMs between init and fini, by ntm_dom_linkage. */
	struct m0_list            nd_tms;
	void                     *nd_xprt_private;
	const struct m0_net_xprt *nd_xprt;
	/** Free for the application. */
	struct m0_tlink nd_app_linkage;
	/** Limits that m0_net_domain_init() reads from the transport. */
	uint32_t    nd_get_max_buffer_segments;
	m0_bcount_t nd_get_max_buffer_segment_size;
	m0_bcount_t nd_get_max_buffer_size;
	m0_bcount_t nd_get_max_buffer_desc_size;
	uint32_t    nd_get_buffer_alignment;
	/** Refills receive queues when a pool is no longer empty. Private. */
	struct m0_net_provisioner *nd_provisioner;
	/**
	 * Buffers registered so far. The next one gets the next number (nb_nr).
	 */
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
 * Undoes m0_net_domain_init(). The structure may be initialised again.
 * @retval -EBUSY  a TM, a registered buffer or a pool remains; nothing has
 *                 changed.
 */
M0_EXTERN int m0_net_domain_fini(struct m0_net_domain *dom);

/**
 * Returns the largest size of a buffer (the sum of its segments) in bytes. This
 * getter and the next ones may be called at any time after init.
 */
M0_EXTERN m0_bcount_t
m0_net_domain_get_max_buffer_size(struct m0_net_domain *dom);
M0_EXTERN m0_bcount_t
m0_net_domain_get_max_buffer_segment_size(struct m0_net_domain *dom);
M0_EXTERN int32_t
m0_net_domain_get_max_buffer_segments(struct m0_net_domain *dom);
/** Returns the upper bound of nbd_len in every descriptor of this domain. */
M0_EXTERN m0_bcount_t
m0_net_domain_get_max_buffer_desc_size(struct m0_net_domain *dom);
/**
 * Returns the alignment in bytes, a power of two, at which the transport moves
 * segments fastest; 1 if alignment does not matter. The transport never
 * requires it. (Memory alignment negotiation of seed 000.)
 */
M0_EXTERN uint32_t
m0_net_domain_get_buffer_alignment(struct m0_net_domain *dom);

/* ---------------------------------------------------------- end points -- */

/** An address as seen by one TM. Only transports create end points. */
struct m0_net_end_point {
	uint64_t nep_magix;
	/**
	 * Get and put change it under ntm_mutex. It may be read without the
	 * lock.
	 */
	struct m0_ref              nep_ref;
	struct m0_net_transfer_mc *nep_tm;
	/** Link in ntm_end_points (list descriptor m0_nep). */
	struct m0_tlink nep_tm_linkage;
	/** Canonical printable address, valid while a reference is held. */
	const char *nep_addr;
	void       *nep_xprt_pvt;
};

M0_TL_DESCR_DECLARE(m0_nep, M0_EXTERN);
M0_TL_DECLARE(m0_nep, M0_EXTERN, struct m0_net_end_point);

/**
 * Finds or creates the end point of an address and takes one reference for the
 * caller. `addr` is copied. Two spellings of one address give one end point,
 * and the TM's own address gives tm->ntm_ep. Pre: the TM is STARTED, failing or
 * FAILED.
 * @param epp      set to NULL on failure.
 * @retval -ESHUTDOWN  the TM is failing or FAILED.
 * @retval -EINVAL  `addr` is not an address of this transport.
 * @retval -ENOSYS  addr == NULL and the transport has no dynamic end points.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_end_point_create(struct m0_net_end_point  **epp,
				      struct m0_net_transfer_mc *tm,
				      const char                *addr);
/**
 * Takes another reference. The caller may hold ntm_mutex; if it does not, the
 * function takes it. Returns 0. Pre: the caller holds a reference.
 */
M0_EXTERN int m0_net_end_point_get(struct m0_net_end_point *ep);
/**
 * Drops a reference. The last one releases the end point. The function takes
 * ntm_mutex, so the caller must not hold it. Returns 0.
 */
M0_EXTERN int m0_net_end_point_put(struct m0_net_end_point *ep);
/**
 * Returns true if `ep` is the text of an LNet end point: `NID:PID:portal:tmid`,
 * where the NID is 0@lo or a dotted quad at tcp or o2ib, and the PID is 12345.
 * Addresses of other transports, and NULL, give false.
 */
M0_EXTERN bool m0_net_endpoint_is_valid(const char *ep);

#ifdef __cplusplus
}
#endif

#include "m0/net_tm.h"
#include "m0/net_buf.h"

#endif /* M0_NET_H */
