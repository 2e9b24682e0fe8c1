/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The transport kit. It contains the part that is the same in every transport,
 * so that a transport supplies only addresses, sending, receiving and bulk. The
 * kit implements:
 *  - TMs: their inbox, passes, workers, the three modes, start and stop;
 *  - end points: look-up by hash, canonical text, re-use of idle ones;
 *  - receive buffers: which one takes the next message, several messages in one
 *    buffer, the ERROR event if there is none;
 *  - descriptors, and the look-up of passive buffers by the identity in them;
 *  - deadlines, cancellation, and the races of both with completion.
 *
 * Terms. struct m0_net_kit_machine is the kit's part of a transfer machine
 * (TM). A *pass* is one run of a TM, or one call from outside that may post
 * work: the kit reads the clock once, and delivers what the pass posts to other
 * TMs at its end, with one lock and at most one wake-up for each of them.
 * *Work* is an item posted to the inbox of a TM and handled by a pass of that
 * TM. A buffer is *armed* from its add until a thread *claims* it. One
 * compare-and-swap decides between data, cancel and time-out. The thread that
 * has claimed a buffer must complete it with m0_net_kit_done().
 *
 * M0_NET_KIT_XPRT_OPS completes a transport's table; its xo_dom_init calls
 * m0_net_kit_dom_init(). tests/conformance/toy.c is a small transport with
 * packets of its own.
 */
#ifndef M0_NET_KIT_H
#define M0_NET_KIT_H

#include "m0/net_xprt.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_net_kit_machine;
struct m0_net_kit_buf;

enum {
	M0_NET_KIT_ADDR_MAX = 64,
	M0_NET_KIT_ADDR_TEXT = 96,
	/** Largest size of an encoded descriptor. */
	M0_NET_KIT_DESC_MAX = 192
};

/**
 * An address in the transport's canonical binary form: two addresses are the
 * same if and only if their bytes are equal.
 */
struct m0_net_kit_addr {
	uint32_t nka_len;
	uint8_t  nka_bytes[M0_NET_KIT_ADDR_MAX];
};

M0_EXTERN bool m0_net_kit_addr_eq(const struct m0_net_kit_addr *a,
				  const struct m0_net_kit_addr *b);

/** An item for a TM's inbox, embedded in the object that it concerns. */
struct m0_net_kit_work {
	struct m0_net_kit_work *nkw_next;
	struct m0_net_kit_work *nkw_prev;
	/** TM whose inbox has the item, or that handles it. */
	struct m0_net_kit_machine *nkw_dest;
	/**
	 * One of the kit's kinds, or M0_NET_KIT_WORK_XPRT + the transport's
	 * own.
	 */
	uint16_t nkw_op;
	/** Set if the item is not wanted any more: an inbox then refuses it. */
	uint8_t nkw_unwanted;
	/**
	 * Epoch of the inbox when it took the item. m0_net_kit_unpost() can
	 * take the item back only in the same epoch.
	 */
	uint64_t nkw_epoch;
	union {
		/** Earliest time at which to handle the item; 0: at once. */
		m0_time_t nkw_due;
		/**
		 * After an inbox has refused the item: operations of the
		 * transport that handle the refusal. Private to the kit.
		 */
		const struct m0_net_kit_ops *nkw_refuser;
	};
};

enum {
	M0_NET_KIT_WORK_DONE = 1,
	M0_NET_KIT_WORK_FAIL = 2,
	M0_NET_KIT_WORK_XPRT = 16
};

/** The part of a registered buffer that the kit and a transport share. */
struct m0_net_kit_buf {
	/** Generation, queue type and state; atomic. */
	uint64_t               nkb_word;
	struct m0_net_kit_work nkb_work;
	/** TM of the current add. */
	struct m0_net_kit_machine *nkb_machine;
	struct m0_net_buffer      *nkb_buffer;
	/** Status; m0_net_kit_done() sets it. */
	int32_t nkb_status;
	/** Identifies the buffer; these are the low bits of every id. */
	uint32_t    nkb_index;
	m0_bcount_t nkb_length;
	/**
	 * Bytes to send, and the size of nb_buffer, both at the time of the
	 * add.
	 */
	m0_bcount_t nkb_send_nr;
	m0_bcount_t nkb_size;
	/**
	 * MSG_SEND: the destination. PASSIVE_*: the permitted initiator, or
	 * NULL.
	 */
	struct m0_net_end_point *nkb_ep;
};

/** A thread outside the kit that runs a TM; see nko_runner. */
struct m0_net_kit_runner {
	/**
	 * Makes the runner call m0_net_kit_machine_run() soon. The kit may call
	 * it on any thread and with locks held; it must not block.
	 */
	void (*nkr_wake)(struct m0_net_kit_machine *machine);
	/**
	 * The kit is about to finalise the TM. Returns when the runner does not
	 * run the TM any more.
	 */
	void (*nkr_stop)(struct m0_net_kit_machine *machine);
};

/** A decoded descriptor. */
struct m0_net_kit_desc {
	/** Queue of the passive buffer: M0_NET_QT_PASSIVE_BULK_*. */
	uint32_t nks_qtype;
	uint64_t nks_id;
	uint64_t nks_size;
	/**
	 * Random number of the process, by which it recognises descriptors of
	 * other processes.
	 */
	uint64_t               nks_incarnation;
	struct m0_net_kit_addr nks_passive;
	/** The permitted initiator; nka_len 0: any. */
	struct m0_net_kit_addr nks_active;
};

/**
 * Operations of a transport that copies data into buffers, as in memory or over
 * ONC RPC: its TMs exchange work, and the kit finds the buffer of a message
 * (m0_net_kit_msg_in()). nkc_work and nkc_refuse are NULL if TMs exchange no work.
 */
struct m0_net_kit_copy_ops {
	/**
	 * True if nko_bulk always completes its buffer, or passes it to
	 * m0_net_kit_move(), before it returns. The kit then claims the buffer
	 * before the call, which is cheaper.
	 */
	bool nkc_bulk_is_short;
	/**
	 * Handles the transport's own work (op >= M0_NET_KIT_WORK_XPRT) and
	 * returns true. It may return false if m0_net_kit_msg_must_wait(); the
	 * kit then calls it again after it has delivered events. ntm_mutex is
	 * held; the function may release it and take it again.
	 */
	bool (*nkc_work)(struct m0_net_kit_machine *machine,
			 struct m0_net_kit_work    *work);
	/**
	 * Takes work that will not be handled, because its TM has gone
	 * (nkw_dest is NULL then) or m0_net_kit_unpost() came too late. Any
	 * thread; no lock of a TM is held.
	 */
	void (*nkc_refuse)(struct m0_net_kit_work *work);
};

/**
 * Operations of a transport whose driver writes into buffers before the kit
 * knows of it, as LNet does. All are needed.
 */
struct m0_net_kit_place_ops {
	/**
	 * Prepares the memory of a buffer for the driver. nd_mutex held.
	 * @retval <0  the registration of the buffer fails.
	 */
	int (*nkp_register)(struct m0_net_kit_buf *kb);
	/** Ends what nkp_register began. The buffer is on no queue. nd_mutex
	 * held. */
	void (*nkp_deregister)(struct m0_net_kit_buf *kb);
	/**
	 * Makes a receive buffer ready for messages. The transport reports each
	 * message with m0_net_kit_recv_placed(), and the last with
	 * m0_net_kit_recv_ended(). The first m0_net_kit_recv_used() bytes are
	 * in use already. If a peer sends because it knows that this call has
	 * returned, its message finds the buffer. The TM is STARTED; ntm_mutex
	 * held.
	 * @retval <0  the buffer completes with this status, or its add fails.
	 */
	int (*nkp_recv)(struct m0_net_kit_buf *kb);
	/**
	 * Ends the use of a receive buffer: the transport places no more
	 * messages in it, and calls m0_net_kit_recv_ended(). ntm_mutex held.
	 */
	void (*nkp_recv_cancel)(struct m0_net_kit_buf *kb);
	/**
	 * Returns the identity for the descriptor of a passive buffer.
	 * ntm_mutex held.
	 */
	uint64_t (*nkp_passive_id)(struct m0_net_kit_buf *kb);
	/**
	 * Makes a passive buffer ready: an operation that a peer starts after
	 * this call has returned finds it. The transport completes the buffer
	 * with m0_net_kit_done(); the kit may call nko_cancel to complete it
	 * sooner. ntm_mutex held.
	 * @retval <0  the add of the buffer fails.
	 */
	int (*nkp_passive)(struct m0_net_kit_buf        *kb,
			   const struct m0_net_kit_desc *desc);
};

/**
 * Constants and functions that a transport supplies, with one of the two tables
 * above.
 */
struct m0_net_kit_ops {
	/** One of both is NULL. */
	const struct m0_net_kit_copy_ops  *nko_copy;
	const struct m0_net_kit_place_ops *nko_place;
	/**
	 * Size in bytes of the transport's own part of each TM, end point and
	 * buffer.
	 */
	size_t nko_machine_size;
	size_t nko_ep_size;
	size_t nko_buf_size;
	/**
	 * Limits: bytes of a buffer, bytes of a segment, number of segments.
	 * All > 0.
	 */
	m0_bcount_t nko_buffer_max;
	m0_bcount_t nko_segment_max;
	int32_t     nko_segments_max;

	/**
	 * Parses an address. Any context.
	 * @retval -EINVAL
	 */
	int (*nko_addr_parse)(const char *text, struct m0_net_kit_addr *ret);
	/**
	 * Optional: parses the address that start gets, if start accepts more
	 * than an address. Any context.
	 * @retval -EINVAL
	 */
	int (*nko_wanted_parse)(const char *text, struct m0_net_kit_addr *ret);
	/**
	 * Prints the canonical text, at most M0_NET_KIT_ADDR_TEXT bytes with
	 * its 0.
	 */
	void (*nko_addr_print)(const struct m0_net_kit_addr *addr, char *ret);

	/**
	 * Puts the TM on the network. The kit calls it on the TM's strand with
	 * no lock held.
	 * @param wanted   NULL: pick an address.
	 * @retval <0  becomes the status of the FAILED event.
	 */
	int (*nko_start)(struct m0_net_kit_machine    *machine,
			 const struct m0_net_kit_addr *wanted,
			 struct m0_net_kit_addr       *ret_own);
	/**
	 * Optional: stop has begun. The transport accepts no new messages, and
	 * m0_net_kit_machine_is_open() is false once this returns. Operations
	 * of buffers that are still queued continue. The kit calls it once
	 * after a successful nko_start, on a thread that runs the TM, with no
	 * lock held.
	 */
	void (*nko_stop)(struct m0_net_kit_machine *machine);
	/**
	 * Optional: the last buffer has completed. The address is free from
	 * here on. The kit calls it after nko_stop, in the same context.
	 */
	void (*nko_leave)(struct m0_net_kit_machine *machine);

	/**
	 * Starts to send a message. It is called with ntm_mutex held and inside
	 * a pass, and must not block. The transport calls m0_net_kit_done() at
	 * once or later.
	 */
	void (*nko_send)(struct m0_net_kit_buf *kb);
	/**
	 * Starts an active bulk operation. A worker of the TM calls it with no
	 * lock held. `desc` is decoded, its direction fits, and this TM may use
	 * it. The transport calls m0_net_kit_done() at once or later.
	 */
	void (*nko_bulk)(struct m0_net_kit_buf        *kb,
			 const struct m0_net_kit_desc *desc);
	/**
	 * A buffer that nko_send, nko_bulk or nkp_passive started was cancelled
	 * or has timed out. True: nothing of the transport refers to the buffer
	 * any more, and the kit completes it. False: the thread that still
	 * works on it will fail to claim it and then calls m0_net_kit_done().
	 * ntm_mutex is held. NULL: as if it always returned false.
	 */
	bool (*nko_cancel)(struct m0_net_kit_buf *kb);
	/**
	 * Optional: a buffer of the MSG_SEND queue has completed, and none of
	 * its data is in flight any more. ntm_mutex held.
	 */
	void (*nko_ended)(struct m0_net_kit_buf *kb);
	/**
	 * Optional: the kit is about to free the transport's part of an end
	 * point. ntm_mutex held.
	 */
	void (*nko_ep_fini)(struct m0_net_end_point *ep);

	/**
	 * Optional: returns the runner of a TM that is about to start; NULL:
	 * the TM gets a thread of its own. The kit does not call it for TMs
	 * that are inline, confined, have several workers, or have a thread
	 * already. ntm_mutex held.
	 */
	const struct m0_net_kit_runner *(*nko_runner)(
		struct m0_net_kit_machine    *machine,
		const struct m0_net_kit_addr *wanted);
	/**
	 * Optional: the application polls an inline TM; the transport makes all
	 * progress that it can. No lock is held. The clock was just read into
	 * m0_time_cached().
	 * @param unattended  a notify is outstanding: from now on the transport
	 *                    shall make progress without polls, if it can.
	 * @return true  if the TM progresses only when polled; false if it
	 *               never needs polling again. The kit then does not look
	 *               at nko_poll_fd any more either.
	 */
	bool (*nko_poll)(struct m0_net_kit_machine *machine, bool unattended);
	/**
	 * Optional, with nko_poll: starts the operations that were requested
	 * since the last poll, and looks for nothing else. No lock is held.
	 */
	void (*nko_push)(struct m0_net_kit_machine *machine);
	/**
	 * Optional: returns a file descriptor that polls readable when nko_poll
	 * has something to do; < 0: none. No lock is held.
	 */
	int (*nko_poll_fd)(struct m0_net_kit_machine *machine);
};

/* ---------------------------------------------- operations for the table -- */

M0_EXTERN int  m0_net_kit_dom_init(struct m0_net_domain        *dom,
				   const struct m0_net_kit_ops *ops);
M0_EXTERN void m0_net_kit_dom_fini(struct m0_net_domain *dom);
M0_EXTERN int  m0_net_kit_tm_init(struct m0_net_transfer_mc *tm);
M0_EXTERN int  m0_net_kit_tm_confine(struct m0_net_transfer_mc *tm,
				     const struct m0_bitmap    *processors);
M0_EXTERN int  m0_net_kit_tm_start(struct m0_net_transfer_mc *tm,
				   const char                *addr);
M0_EXTERN int  m0_net_kit_tm_stop(struct m0_net_transfer_mc *tm, bool cancel);
M0_EXTERN void m0_net_kit_tm_fini(struct m0_net_transfer_mc *tm);
M0_EXTERN int  m0_net_kit_end_point_create(struct m0_net_end_point  **epp,
					   struct m0_net_transfer_mc *tm,
					   const char                *addr);
M0_EXTERN int  m0_net_kit_buf_register(struct m0_net_buffer *buf);
M0_EXTERN void m0_net_kit_buf_deregister(struct m0_net_buffer *buf);
M0_EXTERN int  m0_net_kit_buf_add(struct m0_net_buffer *buf);
M0_EXTERN void m0_net_kit_buf_del(struct m0_net_buffer *buf);
M0_EXTERN int  m0_net_kit_bev_deliver_sync(struct m0_net_transfer_mc *tm);
M0_EXTERN void m0_net_kit_bev_deliver_all(struct m0_net_transfer_mc *tm);
M0_EXTERN bool m0_net_kit_bev_pending(struct m0_net_transfer_mc *tm);
M0_EXTERN void m0_net_kit_bev_notify(struct m0_net_transfer_mc *tm,
				     struct m0_chan            *chan);
M0_EXTERN int  m0_net_kit_tm_inline(struct m0_net_transfer_mc *tm);
M0_EXTERN int  m0_net_kit_tm_fd(struct m0_net_transfer_mc *tm);
M0_EXTERN void m0_net_kit_flush(struct m0_net_transfer_mc *tm);
M0_EXTERN int  m0_net_kit_tm_ride(struct m0_net_transfer_mc *tm,
				  struct m0_net_tm_rider    *rider);
M0_EXTERN void m0_net_kit_rider_wake(struct m0_net_transfer_mc *tm);
M0_EXTERN m0_bcount_t
m0_net_kit_get_max_buffer_size(const struct m0_net_domain *dom);
M0_EXTERN m0_bcount_t
m0_net_kit_get_max_buffer_segment_size(const struct m0_net_domain *dom);
M0_EXTERN int32_t
m0_net_kit_get_max_buffer_segments(const struct m0_net_domain *dom);
M0_EXTERN m0_bcount_t
m0_net_kit_get_max_buffer_desc_size(const struct m0_net_domain *dom);

/**
 * Returns a word for the transport's own use in each domain, 0 at first. Access
 * it atomically.
 */
M0_EXTERN uint64_t *m0_net_kit_dom_word(const struct m0_net_domain *dom);

/** All operations of the table but xo_dom_init. */
#define M0_NET_KIT_XPRT_OPS \
	.xo_dom_fini = m0_net_kit_dom_fini, M0_NET_KIT_XPRT_OPS_BUT_DOM

/**
 * All operations but xo_dom_init and xo_dom_fini, for a transport whose own
 * xo_dom_fini calls the kit's.
 */
#define M0_NET_KIT_XPRT_OPS_BUT_DOM                                           \
	.xo_tm_init = m0_net_kit_tm_init,                                     \
	.xo_tm_confine = m0_net_kit_tm_confine,                               \
	.xo_tm_start = m0_net_kit_tm_start, .xo_tm_stop = m0_net_kit_tm_stop, \
	.xo_tm_fini = m0_net_kit_tm_fini,                                     \
	.xo_end_point_create = m0_net_kit_end_point_create,                   \
	.xo_buf_register = m0_net_kit_buf_register,                           \
	.xo_buf_deregister = m0_net_kit_buf_deregister,                       \
	.xo_buf_add = m0_net_kit_buf_add, .xo_buf_del = m0_net_kit_buf_del,   \
	.xo_bev_deliver_sync = m0_net_kit_bev_deliver_sync,                   \
	.xo_bev_deliver_all = m0_net_kit_bev_deliver_all,                     \
	.xo_bev_pending = m0_net_kit_bev_pending,                             \
	.xo_bev_notify = m0_net_kit_bev_notify,                               \
	.xo_tm_inline = m0_net_kit_tm_inline, .xo_tm_fd = m0_net_kit_tm_fd,   \
	.xo_flush = m0_net_kit_flush, .xo_tm_ride = m0_net_kit_tm_ride,       \
	.xo_rider_wake = m0_net_kit_rider_wake,                               \
	.xo_get_max_buffer_size = m0_net_kit_get_max_buffer_size,             \
	.xo_get_max_buffer_segment_size =                                     \
		m0_net_kit_get_max_buffer_segment_size,                       \
	.xo_get_max_buffer_segments = m0_net_kit_get_max_buffer_segments,     \
	.xo_get_max_buffer_desc_size = m0_net_kit_get_max_buffer_desc_size

/* --------------------------------------------------- tables by address -- */

/** Embedded in an object that is found by its address. */
struct m0_net_kit_addr_node {
	struct m0_net_kit_addr nan_addr;
	uint64_t               nan_handle[8];
};

/**
 * A table of objects by address. Zeroed memory is an empty table. The table has
 * no lock of its own.
 */
struct m0_net_kit_addr_table {
	struct m0_net_kit_addr_node *nat_first;
};

/** Returns NULL if the table has no node of that address. */
M0_EXTERN struct m0_net_kit_addr_node *m0_net_kit_addr_find(
	const struct m0_net_kit_addr_table *table,
	const struct m0_net_kit_addr       *addr);
/**
 * Adds a node. Pre: nan_addr is set and not in the table.
 * @retval -ENOMEM
 */
M0_EXTERN int  m0_net_kit_addr_add(struct m0_net_kit_addr_table *table,
				   struct m0_net_kit_addr_node  *node);
M0_EXTERN void m0_net_kit_addr_del(struct m0_net_kit_addr_table *table,
				   struct m0_net_kit_addr_node  *node);

/* ------------------------------------------------------------ machines -- */

/** Returns the transport's own part, nko_machine_size bytes, zero at init. */
M0_EXTERN void *m0_net_kit_machine_pvt(struct m0_net_kit_machine *machine);
M0_EXTERN struct m0_net_kit_machine *m0_net_kit_machine_of(
	const struct m0_net_transfer_mc *tm);
/** Returns NULL once the TM is finalised. */
M0_EXTERN struct m0_net_transfer_mc *m0_net_kit_machine_tm(
	const struct m0_net_kit_machine *machine);
M0_EXTERN struct m0_net_domain *m0_net_kit_machine_dom(
	const struct m0_net_kit_machine *machine);
/** Returns the TM's own address; valid from a successful nko_start on. */
M0_EXTERN const struct m0_net_kit_addr *m0_net_kit_machine_addr(
	const struct m0_net_kit_machine *machine);
/**
 * Take and drop a reference to the kit's part of a TM. References keep its
 * memory alive, but not the TM. Any context.
 */
M0_EXTERN void m0_net_kit_machine_get(struct m0_net_kit_machine *machine);
M0_EXTERN void m0_net_kit_machine_put(struct m0_net_kit_machine *machine);
/**
 * Returns the set of m0_net_tm_confine(), which no longer changes; NULL: none.
 * Pre: started.
 */
M0_EXTERN const struct m0_bitmap *m0_net_kit_machine_cpus(
	const struct m0_net_kit_machine *machine);
/**
 * Sets the number of threads that work for the TM. Pre: INITIALIZED, 1 <= nr <=
 * 64.
 */
M0_EXTERN void m0_net_kit_machine_workers_set(struct m0_net_transfer_mc *tm,
					      size_t                     nr);
M0_EXTERN size_t
m0_net_kit_machine_workers_get(const struct m0_net_transfer_mc *tm);

/**
 * A visit: a transport's own thread that has work for a TM takes ntm_mutex and
 * opens a pass with m0_net_kit_enter(), and ends both with m0_net_kit_leave().
 * In between, m0_net_kit_done() and similar calls take effect at once. Pre: the
 * thread holds no lock.
 */
struct m0_net_kit_visit {
	struct m0_net_kit_machine *nkv_outer;
	struct m0_net_kit_work    *nkv_done[2];
};
M0_EXTERN void m0_net_kit_enter(struct m0_net_kit_machine *machine,
				struct m0_net_kit_visit   *visit);
/**
 * Ends a visit. If a runner runs the TM, the TM is asynchronous, and no other
 * thread is in one of its callbacks, this call delivers the events of the TM;
 * otherwise it wakes a thread that does.
 */
M0_EXTERN void m0_net_kit_leave(struct m0_net_kit_machine *machine,
				struct m0_net_kit_visit   *visit);
/**
 * Runs a TM once; its runner calls this with no lock held.
 * @return when to run it again.
 */
M0_EXTERN m0_time_t m0_net_kit_machine_run(struct m0_net_kit_machine *machine,
					   m0_time_t                  now);
/**
 * The network of the TM has gone for good: if the TM is STARTED, its buffers end with
 * `status`, unless they end otherwise first, then nko_stop and nko_leave are called and
 * the event FAILED with `status` is delivered. A TM that is being stopped is STOPPED as
 * always. Any thread, locks of the transport may be held; a further call does nothing.
 * The caller ensures that nko_leave has not returned.
 */
M0_EXTERN void m0_net_kit_machine_fail(struct m0_net_kit_machine *machine,
				       int32_t                    status);
/** Keeps the TM from becoming STOPPED until it is unpinned. ntm_mutex held. */
M0_EXTERN void m0_net_kit_pin(struct m0_net_kit_machine *machine);
M0_EXTERN void m0_net_kit_unpin(struct m0_net_kit_machine *machine);

/* ---------------------------------------------------------------- work -- */

/**
 * Posts work to a TM; inside a pass the kit delivers it at the end of the pass.
 * The kit then handles or refuses `work`, exactly one of both. The caller
 * ensures that `machine` lives until then. Pre: `work` is not in use.
 */
M0_EXTERN void m0_net_kit_post(struct m0_net_kit_machine *machine,
			       struct m0_net_kit_work    *work);
/**
 * Takes work back. Returns false if a thread has taken it already: that thread
 * handles or refuses it in bounded time, or has done so.
 */
M0_EXTERN bool m0_net_kit_unpost(struct m0_net_kit_work *work);
/** Returns true while the TM is on the network (from nko_start to nko_stop). */
M0_EXTERN bool m0_net_kit_machine_is_open(
	const struct m0_net_kit_machine *machine);

/* ---------------------------------------------------------- end points -- */

/**
 * Returns the transport's own part, nko_ep_size bytes, zero when the kit
 * creates the end point.
 */
M0_EXTERN void *m0_net_kit_ep_pvt(struct m0_net_end_point *ep);
M0_EXTERN const struct m0_net_kit_addr *m0_net_kit_ep_addr(
	const struct m0_net_end_point *ep);
/**
 * Finds or creates the end point of an address, and takes a reference.
 * ntm_mutex held. Returns NULL if there is no memory.
 */
M0_EXTERN struct m0_net_end_point *m0_net_kit_ep_get(
	struct m0_net_kit_machine *machine, const struct m0_net_kit_addr *addr);
/**
 * Returns the end point that was found last, without a reference; NULL: none.
 * It saves look-ups, because a sender often sends many messages in a row.
 * ntm_mutex held.
 */
M0_EXTERN struct m0_net_end_point *m0_net_kit_ep_recent(
	const struct m0_net_kit_machine *machine);
/**
 * Takes a reference to an end point that the caller found since it took
 * ntm_mutex.
 */
M0_EXTERN void m0_net_kit_ep_take(struct m0_net_end_point *ep);

/* ------------------------------------------------------------- buffers -- */

M0_EXTERN struct m0_net_kit_buf *m0_net_kit_buf_of(
	const struct m0_net_buffer *buf);
/** Returns the transport's own part, nko_buf_size bytes, zero at register. */
M0_EXTERN void *m0_net_kit_buf_pvt(struct m0_net_kit_buf *kb);
/**
 * Returns true if `initiator` may use a passive buffer, whatever a descriptor
 * says. Pre: the buffer is claimed.
 */
M0_EXTERN bool m0_net_kit_admits(const struct m0_net_kit_buf  *kb,
				 const struct m0_net_kit_addr *initiator);
/** Returns the identity of the current add, which no other add gets. */
M0_EXTERN uint64_t m0_net_kit_buf_id(const struct m0_net_kit_buf *kb);
/**
 * Claims an armed buffer. Returns false if the buffer was cancelled or has
 * timed out meanwhile; the caller, which still works on it, then completes it
 * with m0_net_kit_done(), which ignores the given status.
 */
M0_EXTERN bool m0_net_kit_claim(struct m0_net_kit_buf *kb);
/**
 * Claims the buffer of an identity if it is still armed and on queue `qtype`.
 * Any thread may call it; the kit does not touch memory of the application.
 * @retval -EPERM   the buffer is armed, but on another queue.
 * @retval -ENOENT  the buffer is not armed any more, or never was.
 */
M0_EXTERN int m0_net_kit_claim_id(uint64_t id, enum m0_net_queue_type qtype,
				  struct m0_net_kit_buf **ret);
/**
 * Copies nkb_send_nr bytes between two claimed buffers of this process, and
 * completes both. Only nko_bulk calls it, and at most once in each call: the
 * kit makes the copies after it has started all operations of a batch. Pre: the
 * bytes fit nkb_size of `to`.
 */
M0_EXTERN void m0_net_kit_move(struct m0_net_kit_buf *from,
			       struct m0_net_kit_buf *to);
/**
 * Leaves the operation that nko_bulk started to whichever thread claims the
 * buffer with m0_net_kit_claim_id(); nothing else refers to it. If no thread
 * claims it before `deadline`, it completes with `status`. A cancel completes
 * it at once, without nko_cancel. ntm_mutex held. Returns false if the buffer
 * was cancelled or had timed out before; it has completed then.
 */
M0_EXTERN bool m0_net_kit_wait(struct m0_net_kit_buf *kb, m0_time_t deadline,
			       int32_t status);
/**
 * Undoes a claim: the buffer is armed again. If it was cancelled or timed out
 * meanwhile, that takes effect now.
 */
M0_EXTERN void m0_net_kit_unclaim(struct m0_net_kit_buf *kb);
/**
 * Completes a buffer: its TM will deliver the event. Any thread may call it,
 * with ntm_mutex of the TM held or not, but no other ntm_mutex.
 * @param length  bytes received, on receive queues.
 */
M0_EXTERN void m0_net_kit_done(struct m0_net_kit_buf *kb, int32_t status,
			       m0_bcount_t length);
/**
 * Completes a buffer with 0, even if it was cancelled or has timed out
 * meanwhile, because its operation has succeeded. ntm_mutex held.
 */
M0_EXTERN void m0_net_kit_succeeded(struct m0_net_kit_buf *kb,
				    m0_bcount_t            length);
/**
 * Sets a deadline for an armed buffer: it times out at `deadline` with
 * `status`, unless nb_timeout is earlier. ntm_mutex held.
 */
M0_EXTERN void m0_net_kit_deadline(struct m0_net_kit_buf *kb,
				   m0_time_t deadline, int32_t status);

/**
 * Returns true if a message would find no receive buffer now, but may find one
 * after this pass has delivered the events that are waiting. ntm_mutex held.
 */
M0_EXTERN bool m0_net_kit_msg_must_wait(
	const struct m0_net_kit_machine *machine);
/**
 * Takes a message that has arrived: finds a receive buffer, copies the message,
 * and queues the event; or queues the ERROR event. ntm_mutex held; the kit
 * releases it during a long copy. `data` must not change meanwhile.
 * @retval -ENOBUFS   no receive buffer is free (ERROR event here).
 * @retval -EMSGSIZE  the message fits no free buffer; the first buffer gets an
 *                    event.
 * @retval -ENOMEM    no memory for the sender's end point.
 */
M0_EXTERN int m0_net_kit_msg_in(struct m0_net_kit_machine    *machine,
				const struct m0_net_kit_addr *from,
				const struct m0_bufvec       *data,
				m0_bindex_t offset, m0_bcount_t nr);

/**
 * Reports a message in a buffer of nkp_recv: `nr` bytes at `offset`, where the
 * previous message ended. The transport may report messages out of order; the
 * kit delivers their events in order. ntm_mutex held.
 * @param from    end point of the sender; the reference passes to the event.
 *                NULL if the message was lost.
 * @param status  < 0: these bytes were assigned to a message that was lost.
 */
M0_EXTERN void m0_net_kit_recv_placed(struct m0_net_kit_buf   *kb,
				      struct m0_net_end_point *from,
				      m0_bindex_t offset, m0_bcount_t nr,
				      int32_t status);
/**
 * Reports that no more messages follow in a buffer of nkp_recv. ntm_mutex held.
 */
M0_EXTERN void m0_net_kit_recv_ended(struct m0_net_kit_buf *kb, int32_t status);
/**
 * As m0_net_kit_msg_refused(), but the transport has a copy of the message: if
 * the TM's pool provides a buffer for it, that buffer takes the copy. ntm_mutex
 * held; the kit releases it meanwhile.
 * @retval 0  a buffer took the message.
 */
M0_EXTERN int m0_net_kit_msg_staged(struct m0_net_kit_machine    *machine,
				    const struct m0_net_kit_addr *from,
				    const struct m0_bufvec       *data,
				    m0_bindex_t offset, m0_bcount_t nr);
/**
 * Returns the number of bytes of a receive buffer that are in use when the kit
 * calls nkp_recv.
 */
M0_EXTERN m0_bcount_t m0_net_kit_recv_used(const struct m0_net_kit_buf *kb);
/** Returns how many more messages a receive buffer can take. */
M0_EXTERN uint32_t m0_net_kit_recv_max(const struct m0_net_kit_buf *kb);
/**
 * Reports a message that no buffer of nkp_recv has taken. ntm_mutex held.
 * @retval -ENOBUFS   no receive buffer is there (ERROR event here).
 * @retval -EMSGSIZE  the first buffer gets an event.
 */
M0_EXTERN int m0_net_kit_msg_refused(struct m0_net_kit_machine *machine,
				     m0_bcount_t                nr);

/* --------------------------------------------------------- descriptors -- */

/**
 * Encodes a descriptor. The bytes come from a recycled slab; m0_net_desc_free()
 * returns them.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_kit_desc_encode(const struct m0_net_kit_desc *desc,
				     struct m0_net_buf_desc       *ret);
/**
 * Decodes a descriptor.
 * @retval -EINVAL  length, version, checksum or a field is wrong.
 */
M0_EXTERN int m0_net_kit_desc_decode(const struct m0_net_buf_desc *bytes,
				     struct m0_net_kit_desc       *ret);
/** Returns the nks_incarnation of this process. */
M0_EXTERN uint64_t m0_net_kit_incarnation(void);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_KIT_H */
