/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * For authors of transports: the table of operations, and the transport kit
 * (net_kit.h), from which a transport is best built.
 *
 * The library holds these locks when it calls an operation:
 *  - m0_net_mutex: xo_dom_init, xo_dom_fini;
 *  - nd_mutex: xo_tm_init, xo_tm_fini, xo_buf_register, xo_buf_deregister;
 *  - ntm_mutex: xo_tm_confine, xo_tm_inline, xo_tm_ride, xo_tm_start,
 *    xo_tm_stop, xo_end_point_create, xo_buf_add, xo_buf_del,
 *    xo_bev_deliver_sync, xo_bev_notify;
 *  - none or any: xo_rider_wake;
 *  - none: xo_bev_pending, xo_bev_deliver_all, xo_tm_fd, xo_get_*, xo_rpc_*.
 *
 * No operation may block, call back into the application, or post an event on
 * its caller's stack (xo_bev_deliver_all delivers by design).
 */
#ifndef M0_NET_XPRT_H
#define M0_NET_XPRT_H

#include "m0/net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_net_xprt_ops {
	/**
	 * Ours, optional: acquires what all domains of the transport share. The
	 * library calls xo_share before xo_dom_init, and xo_unshare after
	 * xo_dom_fini or after xo_dom_init failed. No lock is held; both may
	 * block.
	 * @retval <0  the domain is not initialised.
	 */
	int (*xo_share)(const struct m0_net_xprt *xprt);
	void (*xo_unshare)(const struct m0_net_xprt *xprt);
	/**
	 * Attaches the transport to a domain. nd_xprt_private is for the
	 * transport's use.
	 * @retval <0  the domain is not initialised.
	 */
	int (*xo_dom_init)(const struct m0_net_xprt *xprt,
			   struct m0_net_domain     *dom);
	/**
	 * Detaches the transport. The domain has no TM and no buffer any more.
	 */
	void (*xo_dom_fini)(struct m0_net_domain *dom);

	int (*xo_tm_init)(struct m0_net_transfer_mc *tm);
	/** Optional: absent means -ENOSYS. */
	int (*xo_tm_confine)(struct m0_net_transfer_mc *tm,
			     const struct m0_bitmap    *processors);
	/**
	 * Starts a TM. If it returns 0, the transport posts a STARTED or FAILED
	 * event from another thread. STARTED carries the TM's end point with
	 * one reference. If `addr` is NULL, the transport picks an address or
	 * returns -ENOSYS.
	 */
	int (*xo_tm_start)(struct m0_net_transfer_mc *tm, const char *addr);
	/**
	 * Stops a TM, whose state is STOPPING already. If it returns 0, the
	 * transport completes every queued buffer and then posts STOPPED, from
	 * another thread.
	 */
	int (*xo_tm_stop)(struct m0_net_transfer_mc *tm, bool cancel);
	void (*xo_tm_fini)(struct m0_net_transfer_mc *tm);

	/**
	 * Finds or creates an end point and takes a reference. The transport
	 * links a new one to ntm_end_points. Its nep_ref.release unlinks and
	 * frees it, and runs with ntm_mutex held.
	 */
	int (*xo_end_point_create)(struct m0_net_end_point  **epp,
				   struct m0_net_transfer_mc *tm,
				   const char                *addr);

	/**
	 * Validates the buffer against the limits. nb_xprt_private is for the
	 * transport's use.
	 */
	int (*xo_buf_register)(struct m0_net_buffer *buf);
	void (*xo_buf_deregister)(struct m0_net_buffer *buf);
	/**
	 * Starts the operation of queue nb_qtype. QUEUED is set and the buffer
	 * linked already. PASSIVE_*: sets nb_desc. If it returns 0, the
	 * transport posts one final event.
	 */
	int (*xo_buf_add)(struct m0_net_buffer *buf);
	/** Tries to cancel a queued buffer. Its event follows in any case. */
	void (*xo_buf_del)(struct m0_net_buffer *buf);

	/** Optional, all four or none: absent means -ENOSYS. */
	int (*xo_bev_deliver_sync)(struct m0_net_transfer_mc *tm);
	void (*xo_bev_deliver_all)(struct m0_net_transfer_mc *tm);
	bool (*xo_bev_pending)(struct m0_net_transfer_mc *tm);
	/**
	 * If `chan` is NULL, withdraws the request. The operation may release
	 * ntm_mutex for a while.
	 */
	void (*xo_bev_notify)(struct m0_net_transfer_mc *tm,
			      struct m0_chan            *chan);

	/** Limits. m0_net_domain_init() reads them once, at its end. */
	m0_bcount_t (*xo_get_max_buffer_size)(const struct m0_net_domain *dom);
	m0_bcount_t (*xo_get_max_buffer_segment_size)(
		const struct m0_net_domain *dom);
	int32_t (*xo_get_max_buffer_segments)(const struct m0_net_domain *dom);
	m0_bcount_t (*xo_get_max_buffer_desc_size)(
		const struct m0_net_domain *dom);

	/** Hints for a layer of remote procedure calls; all optional. */
	m0_bcount_t (*xo_rpc_max_seg_size)(struct m0_net_domain *dom);
	uint32_t (*xo_rpc_max_segs_nr)(struct m0_net_domain *dom);
	m0_bcount_t (*xo_rpc_max_msg_size)(struct m0_net_domain *dom,
					   m0_bcount_t           rpc_size);
	uint32_t (*xo_rpc_max_recv_msgs)(struct m0_net_domain *dom,
					 m0_bcount_t           rpc_size);

	/** Ours, optional: absent means 1. */
	uint32_t (*xo_get_buffer_alignment)(const struct m0_net_domain *dom);
	/** Ours, optional: inline mode; absent means -ENOSYS. */
	int (*xo_tm_inline)(struct m0_net_transfer_mc *tm);
	/** Ours, optional: absent means -ENOSYS. */
	int (*xo_tm_fd)(struct m0_net_transfer_mc *tm);
	/**
	 * Ours, optional: the library calls it when a call of the application
	 * has released its locks, so that the transport can continue operations
	 * which that call started.
	 */
	void (*xo_flush)(struct m0_net_transfer_mc *tm);
	/**
	 * Ours, optional, both or none: m0_net_tm_ride(); absent means -ENOSYS.
	 * The library calls xo_rider_wake for the first wake since the last
	 * step, on any thread and possibly with locks held. The transport
	 * clears ntr_woken before a step.
	 */
	int (*xo_tm_ride)(struct m0_net_transfer_mc *tm,
			  struct m0_net_tm_rider    *rider);
	void (*xo_rider_wake)(struct m0_net_transfer_mc *tm);
};

/**
 * Serialises domain init and fini, and the registry of transports. The library
 * holds it in xo_dom_init and xo_dom_fini. It is the outermost lock.
 */
M0_EXTERN struct m0_mutex m0_net_mutex;

/**
 * Default hints: 128 KiB; 1; `rpc_size` raised to 4 KiB and cut to the largest
 * buffer, which 0 also gives; 1.
 */
M0_EXTERN m0_bcount_t default_xo_rpc_max_seg_size(struct m0_net_domain *dom);
M0_EXTERN uint32_t    default_xo_rpc_max_segs_nr(struct m0_net_domain *dom);
M0_EXTERN m0_bcount_t default_xo_rpc_max_msg_size(struct m0_net_domain *dom,
						  m0_bcount_t rpc_size);
M0_EXTERN uint32_t    default_xo_rpc_max_recv_msgs(struct m0_net_domain *dom,
						   m0_bcount_t           rpc_size);

#ifdef __cplusplus
}
#endif

#include "m0/net_kit.h"

#endif /* M0_NET_XPRT_H */
