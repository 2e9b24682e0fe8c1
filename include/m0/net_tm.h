/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Transfer machines: states, modes of delivery, queues, statistics.
 * Included by m0/net.h, whose opening comment applies.
 *
 * States. UNDEFINED -init-> INITIALIZED -start-> STARTING -event-> STARTED;
 * INITIALIZED, STARTING, STARTED -stop-> STOPPING -event-> STOPPED; any of
 * these -event-> FAILED; INITIALIZED, STOPPED, FAILED -fini-> UNDEFINED.
 * State changes marked "event" are delivered by ntc_event_cb, on a thread that
 * is not the caller's of start or stop.
 *
 * Modes, chosen between init and start and kept until fini:
 *  - asynchronous (default): a thread of the library delivers everything;
 *  - synchronous, m0_net_buffer_event_deliver_synchronously(): a thread of the
 *    library moves bytes and delivers state events, every buffer event is
 *    delivered inside m0_net_buffer_event_deliver_all() on its caller's thread;
 *  - inline, m0_net_tm_inline(): no thread delivers for the machine; the
 *    caller's own calls of pending and deliver_all make progress and deliver
 *    everything. Only while a notify is outstanding, or a start or stop runs,
 *    a helper thread makes progress and delivers state events, never buffer
 *    events.
 * [r.M0.net.buffer-event-delivery-control]
 * [r.M0.net.synchronous-buffer-event-delivery]
 */
/* First, and outside the guard: net.h puts its parts in order. */
#include "m0/net.h"

#ifndef M0_NET_TM_H
#define M0_NET_TM_H

#ifdef __cplusplus
extern "C" {
#endif

struct m0_net_buffer_callbacks;

/** Queues of a machine; see net_buf.h for what each does with a buffer. */
enum m0_net_queue_type {
	M0_NET_QT_MSG_RECV = 0,
	M0_NET_QT_MSG_SEND,
	/** Waits to be filled by a peer's ACTIVE_BULK_SEND. */
	M0_NET_QT_PASSIVE_BULK_RECV,
	/** Waits to be read by a peer's ACTIVE_BULK_RECV. */
	M0_NET_QT_PASSIVE_BULK_SEND,
	M0_NET_QT_ACTIVE_BULK_RECV,
	M0_NET_QT_ACTIVE_BULK_SEND,
	M0_NET_QT_NR
};

enum m0_net_tm_state {
	M0_NET_TM_UNDEFINED = 0,
	M0_NET_TM_INITIALIZED,
	M0_NET_TM_STARTING,
	M0_NET_TM_STARTED,
	M0_NET_TM_STOPPING,
	M0_NET_TM_STOPPED,
	M0_NET_TM_FAILED
};

enum m0_net_tm_ev_type {
	/** nte_status: -ENOBUFS, a message came and found no receive buffer. */
	M0_NET_TEV_ERROR = 0,
	M0_NET_TEV_STATE_CHANGE,
	/** nte_payload is the transport's. */
	M0_NET_TEV_DIAGNOSTIC,
	M0_NET_TEV_NR
};

/** What happened to a machine; valid only during the callback. */
struct m0_net_tm_event {
	enum m0_net_tm_ev_type     nte_type;
	struct m0_net_transfer_mc *nte_tm;
	m0_time_t                  nte_time;
	/** 0, or why the machine FAILED, or what the ERROR is. */
	int32_t nte_status;
	/** STATE_CHANGE: the state, already in ntm_state. */
	enum m0_net_tm_state nte_next_state;
	/** STARTED: the machine's own end point, already in ntm_ep. */
	struct m0_net_end_point *nte_ep;
	void                    *nte_payload;
};

struct m0_net_tm_callbacks {
	/**
	 * Any event of the machine. No lock is held. May be called from several
	 * threads at once if the machine has several.
	 */
	void (*ntc_event_cb)(const struct m0_net_tm_event *ev);
};

/** Statistics of one queue. */
struct m0_net_qstats {
	/** Successful m0_net_buffer_add(). */
	uint64_t nqs_num_adds;
	/** m0_net_buffer_del() that returned true, and cancels by stop(abort). */
	uint64_t nqs_num_dels;
	/** Events with status 0. */
	uint64_t nqs_num_s_events;
	/**
	 * Events with another status; on MSG_RECV also messages that found no
	 * buffer, and every growth of the provisioning deficit.
	 */
	uint64_t nqs_num_f_events;
	/** Sum of (final event's time - time of add), nanoseconds. */
	m0_time_t nqs_time_in_queue;
	/** Bytes of successful events: received, or nb_length when sending. */
	uint64_t nqs_total_bytes;
	uint64_t nqs_max_bytes;
};

enum {
	M0_NET_TM_RECV_QUEUE_DEF_LEN = 2
};
/** Any colour, or none: ntm_pool_colour's default. */
#define M0_BUFFER_ANY_COLOUR (~(uint32_t)0)

/** The machine's lock. */
#define ntm_mutex ntm_group.s_lock

struct m0_net_transfer_mc {
	/** Set by the application before init. */
	const struct m0_net_tm_callbacks *ntm_callbacks;
	enum m0_net_tm_state              ntm_state;
	struct m0_sm_group                ntm_group;
	/** Callbacks now running; fini waits until it is 0. */
	uint32_t ntm_callback_counter;
	/** Threads of the library in the machine; fini waits for them, too. */
	uint32_t              ntm_pin_counter;
	struct m0_net_domain *ntm_dom;
	/** End points with references, list descriptor m0_nep. */
	struct m0_tl ntm_end_points;
	/** The machine's own end point from STARTED to fini, else NULL. */
	struct m0_net_end_point *ntm_ep;
	/**
	 * Guarded by ntm_mutex; broadcast after every callback returned and
	 * after the receive queue was provisioned. Waiters test a condition
	 * again: one broadcast may stand for several events.
	 */
	struct m0_chan ntm_chan;
	/** Buffers queued, oldest first, list descriptor m0_net_tm. */
	struct m0_tl         ntm_q[M0_NET_QT_NR];
	struct m0_net_qstats ntm_qstats[M0_NET_QT_NR];
	struct m0_list_link  ntm_dom_linkage;
	void                *ntm_xprt_private;
	/** False in synchronous and inline mode. */
	bool                                  ntm_bev_auto_deliver;
	bool                                  ntm_bev_inline;
	struct m0_net_buffer_pool            *ntm_recv_pool;
	const struct m0_net_buffer_callbacks *ntm_recv_pool_callbacks;
	uint32_t                              ntm_recv_queue_min_length;
	/**
	 * Buffers that the receive queue lacks and the pool could not give.
	 * (Seed 001 also calls it ntm_recv_pool_deficit; this is the name.)
	 */
	struct m0_atomic64 ntm_recv_queue_deficit;
	m0_bcount_t        ntm_recv_queue_min_recv_size;
	uint32_t           ntm_recv_queue_max_recv_msgs;
	uint32_t           ntm_pool_colour;
	/** Nanoseconds that stop(abort == false) lets operations drain. */
	m0_time_t ntm_drain_limit;
	/** Nanoseconds its threads spin before they sleep. */
	m0_time_t ntm_spin;
	/**
	 * MSG_RECV buffers that take no more and whose last event is not
	 * delivered yet: queued, but of no use to provisioning. Kept by the
	 * transport kit.
	 */
	uint32_t ntm_recv_spent_nr;
	/** Messages that wait for a buffer of the pool. */
	uint32_t ntm_recv_waiting_nr;
	/** Cancelled pool buffers whose return is awaited; under pool's lock. */
	struct m0_list ntm_pool_returns;
};

/**
 * Initialises a machine in a domain. Pre: state UNDEFINED (0), ntm_callbacks
 * and its ntc_event_cb set.
 * @retval <0  the transport's error; the state is UNDEFINED.
 */
M0_EXTERN int m0_net_tm_init(struct m0_net_transfer_mc *tm,
			     struct m0_net_domain      *dom);
/**
 * Finalises a machine. Waits for callbacks that still run, so it may follow at
 * once when another thread saw STOPPED; not from a callback of the machine.
 * Pre: state INITIALIZED, STOPPED or FAILED.
 * @retval -EBUSY  a queue is not empty, or the application holds end points;
 *                 nothing has changed.
 */
M0_EXTERN int m0_net_tm_fini(struct m0_net_transfer_mc *tm);
/**
 * Starts a machine at an address. 0: a STARTED or FAILED event follows, perhaps
 * before the call returns. Error: the state is FAILED and no such event
 * follows; buffers added before get their -ECANCELED events; finalise the
 * machine. Pre: INITIALIZED.
 * @param addr  NULL: the transport picks a free address, found in ntm_ep
 *              when STARTED; -ENOSYS if it cannot.
 * @retval -EINVAL  not an address of this transport.
 */
M0_EXTERN int m0_net_tm_start(struct m0_net_transfer_mc *tm, const char *addr);
/**
 * Stops a machine. 0: every queued buffer gets its event, then STOPPED follows
 * (in synchronous and inline mode: once deliver_all has delivered the last
 * buffer event). New additions are refused at once. Pool buffers are back in
 * their pool and the deficit is 0 when STOPPED is delivered.
 * Pre: INITIALIZED, STARTING or STARTED.
 * @param abort  true: every queued buffer is cancelled. False: idle receive
 *               buffers are cancelled; sends and bulk may finish, until their
 *               own time-outs or the drain limit, then they are cancelled.
 * @retval <0  the transport's error; the state is as before.
 */
M0_EXTERN int m0_net_tm_stop(struct m0_net_transfer_mc *tm, bool abort);
/** Drain limit of stop(false), default M0_NET_TM_DRAIN_DEF. Before stop. */
M0_EXTERN void m0_net_tm_drain_limit_set(struct m0_net_transfer_mc *tm,
					 m0_time_t                  limit_ns);
/** 10 seconds. */
#define M0_NET_TM_DRAIN_DEF (10ULL * 1000 * 1000 * 1000)

/**
 * Copies statistics, and with `reset` clears them in the same critical
 * section. Any state from INITIALIZED on. Returns 0.
 * @param qtype  a queue, or M0_NET_QT_NR for all.
 * @param qs     one structure, or an array of M0_NET_QT_NR for all; NULL only
 *               with reset.
 */
M0_EXTERN int m0_net_tm_stats_get(struct m0_net_transfer_mc *tm,
				  enum m0_net_queue_type     qtype,
				  struct m0_net_qstats *qs, bool reset);

/**
 * Runs the machine's threads, hence all callbacks that the library makes for
 * it, on these processors only. Pre: INITIALIZED. Seed 001, "Specifying
 * processor affinity". A transport may have a thread that moves the bytes of
 * several machines (lnet: of a node; sunrpc: of the process). It follows a confined
 * machine while that is alone there; it has a set of its own as well
 * (m0_lnet_confine(), m0_net_bulk_sunrpc_confine()), which then counts. [r.M0.net.xprt.lnet.processor-affinity]
 * [r.messaging.processor_affinity]
 * @retval -ENOSYS  the transport cannot.
 * @retval -EINVAL  no such processor.
 * @retval -EBUSY   they run already, for a buffer that was added with a
 *                  time-out, or cancelled.
 */
M0_EXTERN int m0_net_tm_confine(struct m0_net_transfer_mc *tm,
				const struct m0_bitmap    *processors);
/**
 * How long the machine's threads look for work before they sleep, nanoseconds;
 * 0: not at all. Others who want the processor get it meanwhile. Default: 50 us,
 * or $M0_SPIN_NS. Pre: INITIALIZED. (Ours.)
 */
M0_EXTERN void m0_net_tm_spin_set(struct m0_net_transfer_mc *tm,
				  m0_time_t                  spin_ns);

/**
 * Colour given to the pool when the receive queue is provisioned: a buffer
 * goes back where it was last used. Pre: INITIALIZED, STARTING or STARTED.
 */
M0_EXTERN void     m0_net_tm_colour_set(struct m0_net_transfer_mc *tm,
					uint32_t                   colour);
M0_EXTERN uint32_t m0_net_tm_colour_get(struct m0_net_transfer_mc *tm);

/**
 * Provisions the machine's MSG_RECV queue from a pool, from STARTED on.
 * Several machines may share a pool; the pool must outlive them. Pre:
 * INITIALIZED; `callbacks` has an entry for MSG_RECV.
 * [r.M0.net.xprt.auto-provisioned-receive-buffer-pool]
 * [r.M0.net.xprt.support-for-auto-provisioned-receive-queue]
 * @param min_recv_size  nb_min_receive_size of the buffers; 0: keep each
 *                       buffer's own, or if that is 0 its whole size.
 * @param max_recv_msgs  nb_max_receive_msgs; 0: keep each buffer's own, or 1.
 * @param min_recv_queue_len  buffers to keep queued; 0: 2.
 * @retval -EINVAL  the pool is of another domain; nothing attached.
 */
M0_EXTERN int m0_net_tm_pool_attach(
	struct m0_net_transfer_mc *tm, struct m0_net_buffer_pool *bufpool,
	const struct m0_net_buffer_callbacks *callbacks,
	m0_bcount_t min_recv_size, uint32_t max_recv_msgs,
	uint32_t min_recv_queue_len);
/**
 * Sets how many buffers provisioning keeps queued, and provisions at once if
 * STARTED. A shorter length lets the queue drain. Takes the pool's lock.
 * Pre: a pool is attached; INITIALIZED, STARTING or STARTED.
 * @retval -EINVAL  len == 0.
 */
M0_EXTERN int m0_net_tm_pool_length_set(struct m0_net_transfer_mc *tm,
					uint32_t                   len);
/**
 * To be, or to be called by, the not-empty callback of a pool that machines
 * are attached to. Wakes the domain's own thread, which fills deficits; does
 * nothing else. Called with the pool's lock held.
 */
M0_EXTERN void m0_net_domain_buffer_pool_not_empty(
	struct m0_net_buffer_pool *pool);

/* ---------------------------------------- delivery of buffer events -- */

/**
 * Puts the machine into synchronous mode. Pre: INITIALIZED, asynchronous.
 * @retval -ENOSYS  the transport cannot.
 */
M0_EXTERN int m0_net_buffer_event_deliver_synchronously(
	struct m0_net_transfer_mc *tm);
/**
 * Puts the machine into inline mode, which implies synchronous. Pre:
 * INITIALIZED. (Ours.)
 * @retval -ENOSYS  the transport cannot.
 */
M0_EXTERN int m0_net_tm_inline(struct m0_net_transfer_mc *tm);
/**
 * Would deliver_all deliver something now? Makes progress in inline mode.
 * Never blocks. Pre: synchronous or inline. False when STOPPED.
 */
M0_EXTERN bool m0_net_buffer_event_pending(struct m0_net_transfer_mc *tm);
/**
 * Signals `chan` once, from a thread of the library: when the next buffer event
 * becomes pending, or at once if one is. Then the request is forgotten; a new
 * request replaces one outstanding. Never blocks. `chan` must live until it was
 * signalled or the machine is STOPPED, or until the request is withdrawn.
 *
 * @param chan  NULL withdraws the request. When the call returns, no thread of
 *              the library uses the channel any more, unless the caller holds a
 *              lock: then once the caller has released the channel's guard.
 * Pre: as pending.
 */
M0_EXTERN void m0_net_buffer_event_notify(struct m0_net_transfer_mc *tm,
					  struct m0_chan            *chan);
/**
 * Delivers on this thread what is pending when it is called, at most. It is no
 * error if nothing is. Callbacks run under the mutexes that the caller holds, if
 * any. Pre: as pending; no lock of the library held.
 */
M0_EXTERN void m0_net_buffer_event_deliver_all(struct m0_net_transfer_mc *tm);
/**
 * A descriptor for poll(): readable while something is pending, without an
 * arming step; in inline mode also when there is progress to make, and a
 * little before a time-out, so that a poll may find nothing. Made on first use,
 * closed by fini; not to be read or written. Any state between init and fini.
 * (Ours.)
 * @retval -ENOSYS  the transport cannot.
 * @retval <0       no descriptor to be had.
 */
M0_EXTERN int m0_net_tm_fd(struct m0_net_transfer_mc *tm);

/* -------------------------------------------------- for layers above -- */

/**
 * A layer above m0_net that moves where the machine moves: on the thread that
 * delivers its events, so that what a message leads to costs no wake-up of
 * another thread. (Ours.)
 *
 * Its step is called with no lock held, never two at once, nor beside a
 * callback of the machine if that has one thread: soon after m0_net_tm_start()
 * has brought the machine to STARTED, after each pass that delivered an event,
 * after each wake, and when the deadline that it returned last has come. In
 * synchronous and inline mode it is called inside deliver_all; a wake or a
 * deadline counts as something pending. What the step adds to queues leaves at
 * the end of the pass. It is not called any more when STOPPED or FAILED is
 * delivered.
 */
struct m0_net_tm_rider {
	/** @return when to be called again; M0_TIME_NEVER: when woken. */
	m0_time_t (*ntr_step)(struct m0_net_tm_rider *rider, m0_time_t now);
	/* The library's. */
	struct m0_net_transfer_mc *ntr_tm;
	m0_time_t                  ntr_at;
	uint32_t                   ntr_woken;
};

/**
 * Pre: INITIALIZED, no rider set, ntr_step set. The rider must live until the
 * machine is finalised.
 * @retval -ENOSYS  the transport cannot.
 */
M0_EXTERN int m0_net_tm_ride(struct m0_net_transfer_mc *tm,
			     struct m0_net_tm_rider    *rider);
/**
 * Has the step called soon. Any thread, locks of the caller may be held, never
 * blocks, lock free if it is woken already; a system call only if the machine's
 * thread sleeps, none from the step itself or callbacks of the machine. No-op
 * outside STARTED and STOPPING.
 */
M0_EXTERN void m0_net_tm_rider_wake(struct m0_net_tm_rider *rider);

/* -------------------------------------------------- for transports -- */

/**
 * Delivers an event of a machine to the application: applies a state change,
 * calls back, broadcasts ntm_chan. The calling thread holds no lock and is not
 * inside a call of the application. Before STOPPED or FAILED is delivered the
 * queues must be empty; pool buffers not put back by their callbacks are.
 */
M0_EXTERN void m0_net_tm_event_post(const struct m0_net_tm_event *ev);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_TM_H */
