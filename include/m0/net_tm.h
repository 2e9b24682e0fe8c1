/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Transfer machines (TMs): states, modes of delivery, queues, statistics.
 * m0/net.h includes this file; its opening comment applies.
 *
 * States. UNDEFINED -init-> INITIALIZED -start-> STARTING -event-> STARTED;
 * INITIALIZED, STARTING, STARTED -stop-> STOPPING -event-> STOPPED; any of
 * these -event-> FAILED; INITIALIZED, STOPPED, FAILED -fini-> UNDEFINED. The
 * library delivers state changes marked "event" by ntc_event_cb, on another
 * thread than the one that called start or stop.
 *
 * A transport whose network goes for good (lnet: the daemon of an attached process
 * has ended) ends its TMs: STARTED becomes STOPPING, every queued buffer ends with
 * the reason, and the event FAILED with the reason follows, as after
 * m0_net_tm_stop(). An application that has not seen the event yet may go on to
 * call m0_net_tm_stop(), m0_net_buffer_add() and m0_net_end_point_create().
 *
 * Modes. The application chooses one between init and start, and the TM keeps
 * it until fini:
 *  - asynchronous (default): a thread of the library delivers everything;
 *  - synchronous, m0_net_buffer_event_deliver_synchronously(): a thread of the
 *    library moves bytes and delivers state events; every buffer event is
 *    delivered inside m0_net_buffer_event_deliver_all(), on the thread that
 *    calls it;
 *  - inline, m0_net_tm_inline(): no thread of the library works for the TM; the
 *    application's own calls of pending and deliver_all make progress and
 *    deliver everything. Only while a notify is outstanding, or a start or stop
 *    runs, a helper thread makes progress and delivers state events, but never
 *    buffer events.
 * [r.M0.net.buffer-event-delivery-control]
 * [r.M0.net.synchronous-buffer-event-delivery]
 */
/*
 * This include comes first, and outside the guard, because net.h orders its
 * parts.
 */
#include "m0/net.h"

#ifndef M0_NET_TM_H
#define M0_NET_TM_H

#ifdef __cplusplus
extern "C" {
#endif

struct m0_net_buffer_callbacks;

/** Queues of a TM; net_buf.h says what each queue does with a buffer. */
enum m0_net_queue_type {
	M0_NET_QT_MSG_RECV = 0,
	M0_NET_QT_MSG_SEND,
	/** Buffers that wait for a peer's ACTIVE_BULK_SEND to fill them. */
	M0_NET_QT_PASSIVE_BULK_RECV,
	/** Buffers that wait for a peer's ACTIVE_BULK_RECV to read them. */
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
	/**
	 * A message arrived and found no receive buffer: nte_status is
	 * -ENOBUFS.
	 */
	M0_NET_TEV_ERROR = 0,
	M0_NET_TEV_STATE_CHANGE,
	/** The transport defines nte_payload. */
	M0_NET_TEV_DIAGNOSTIC,
	M0_NET_TEV_NR
};

/** An event of a TM; valid only during the callback. */
struct m0_net_tm_event {
	enum m0_net_tm_ev_type     nte_type;
	struct m0_net_transfer_mc *nte_tm;
	m0_time_t                  nte_time;
	/** 0, the reason why the TM FAILED, or the kind of ERROR. */
	int32_t nte_status;
	/** STATE_CHANGE: the new state; ntm_state has it already. */
	enum m0_net_tm_state nte_next_state;
	/** STARTED: the TM's own end point; ntm_ep has it already. */
	struct m0_net_end_point *nte_ep;
	void                    *nte_payload;
};

struct m0_net_tm_callbacks {
	/**
	 * The library calls it for every event of the TM, with no lock held. If
	 * the TM has several threads, they may call it at the same time.
	 */
	void (*ntc_event_cb)(const struct m0_net_tm_event *ev);
};

/** Statistics of one queue. */
struct m0_net_qstats {
	/** Successful calls of m0_net_buffer_add(). */
	uint64_t nqs_num_adds;
	/**
	 * Calls of m0_net_buffer_del() that returned true, and buffers that
	 * stop(abort) cancelled.
	 */
	uint64_t nqs_num_dels;
	/** Events with status 0. */
	uint64_t nqs_num_s_events;
	/**
	 * Events with another status. On MSG_RECV also messages that found no
	 * buffer, and every growth of the provisioning deficit.
	 */
	uint64_t nqs_num_f_events;
	/** Sum of (time of the final event - time of add), in nanoseconds. */
	m0_time_t nqs_time_in_queue;
	/**
	 * Bytes of successful events: bytes received, or nb_length when
	 * sending.
	 */
	uint64_t nqs_total_bytes;
	uint64_t nqs_max_bytes;
};

enum {
	M0_NET_TM_RECV_QUEUE_DEF_LEN = 2
};
/** Any colour, or none; the default of ntm_pool_colour. */
#define M0_BUFFER_ANY_COLOUR (~(uint32_t)0)

/** The lock of the TM. */
#define ntm_mutex ntm_group.s_lock

struct m0_net_transfer_mc {
	/** The application sets this before init. */
	const struct m0_net_tm_callbacks *ntm_callbacks;
	enum m0_net_tm_state              ntm_state;
	struct m0_sm_group                ntm_group;
	/** Callbacks that run now; fini waits until it is 0. */
	uint32_t ntm_callback_counter;
	/**
	 * Threads of the library that use the TM now; fini waits for them, too.
	 */
	uint32_t              ntm_pin_counter;
	struct m0_net_domain *ntm_dom;
	/** End points of the TM (list descriptor m0_nep). */
	struct m0_tl ntm_end_points;
	/** The TM's own end point from STARTED to fini, otherwise NULL. */
	struct m0_net_end_point *ntm_ep;
	/**
	 * Guarded by ntm_mutex. The library broadcasts it after every callback
	 * has returned and after it has provisioned the receive queue. A waiter
	 * must test its condition again: one broadcast may stand for several
	 * events.
	 */
	struct m0_chan ntm_chan;
	/** Queued buffers, oldest first (list descriptor m0_net_tm). */
	struct m0_tl         ntm_q[M0_NET_QT_NR];
	struct m0_net_qstats ntm_qstats[M0_NET_QT_NR];
	struct m0_list_link  ntm_dom_linkage;
	void                *ntm_xprt_private;
	/** False in synchronous and inline mode. */
	bool ntm_bev_auto_deliver;
	bool ntm_bev_inline;
	/**
	 * The network has gone: the TM goes from STARTED to STOPPING by itself, and then to
	 * FAILED. The library sets it, and m0_net_tm_stop() clears it in FAILED.
	 */
	bool                                  ntm_is_failing;
	struct m0_net_buffer_pool            *ntm_recv_pool;
	const struct m0_net_buffer_callbacks *ntm_recv_pool_callbacks;
	uint32_t                              ntm_recv_queue_min_length;
	/**
	 * Buffers that the receive queue lacks because the pool had none. (Seed
	 * 001 also uses the name ntm_recv_pool_deficit for it.)
	 */
	struct m0_atomic64 ntm_recv_queue_deficit;
	m0_bcount_t        ntm_recv_queue_min_recv_size;
	uint32_t           ntm_recv_queue_max_recv_msgs;
	uint32_t           ntm_pool_colour;
	/**
	 * Nanoseconds that stop(abort == false) gives operations to complete.
	 */
	m0_time_t ntm_drain_limit;
	/** Nanoseconds that the TM's threads spin before they sleep. */
	m0_time_t ntm_spin;
	/**
	 * MSG_RECV buffers that take no more messages but whose last event is
	 * not delivered yet. They are still queued, so provisioning subtracts
	 * them. The transport kit maintains the number.
	 */
	uint32_t ntm_recv_spent_nr;
	/** Messages that wait for a buffer of the pool. */
	uint32_t ntm_recv_waiting_nr;
	/**
	 * Cancelled pool buffers that are not back in the pool yet. Guarded by
	 * the pool's lock.
	 */
	struct m0_list ntm_pool_returns;
};

/**
 * Initialises a TM in a domain. Pre: state UNDEFINED (0), ntm_callbacks and its
 * ntc_event_cb set.
 * @retval <0  the transport's error; the state is UNDEFINED.
 */
M0_EXTERN int m0_net_tm_init(struct m0_net_transfer_mc *tm,
			     struct m0_net_domain      *dom);
/**
 * Finalises a TM. The function waits for callbacks that still run, so the
 * application may call it as soon as another thread has seen STOPPED, but not
 * from a callback of the TM. Pre: state INITIALIZED, STOPPED or FAILED.
 * @retval -EBUSY  a queue is not empty, or the application holds end points;
 *                 nothing has changed.
 */
M0_EXTERN int m0_net_tm_fini(struct m0_net_transfer_mc *tm);
/**
 * Starts a TM at an address. If start returns 0, a STARTED or FAILED event
 * follows, perhaps before the call returns. If it returns an error, the state
 * is FAILED and no such event follows; buffers added before get their
 * -ECANCELED events, and the application finalises the TM. Pre: INITIALIZED.
 * @param addr  NULL: the transport picks a free address, which ntm_ep has when
 *              STARTED; -ENOSYS if the transport cannot.
 * @retval -EINVAL  `addr` is not an address of this transport.
 */
M0_EXTERN int m0_net_tm_start(struct m0_net_transfer_mc *tm, const char *addr);
/**
 * Stops a TM. If stop returns 0, every queued buffer gets its event, then
 * STOPPED follows (in synchronous and inline mode: once deliver_all has
 * delivered the last buffer event). From the call on, m0_net_buffer_add()
 * fails. When STOPPED is delivered, pool buffers are back in their pool and the
 * deficit is 0. If the TM is failing, FAILED follows instead. Pre: INITIALIZED,
 * STARTING, STARTED, failing or FAILED.
 * @param abort  true: every queued buffer is cancelled. False: idle receive
 *               buffers are cancelled; sends and bulk may finish until their
 *               own time-outs or the drain limit, and are cancelled then.
 * @retval -ESHUTDOWN  the TM is FAILED, and no event follows.
 * @retval <0  the transport's error; the state is as before.
 */
M0_EXTERN int m0_net_tm_stop(struct m0_net_transfer_mc *tm, bool abort);
/**
 * Sets the drain limit of stop(false), M0_NET_TM_DRAIN_DEF by default. Call it
 * before stop.
 */
M0_EXTERN void m0_net_tm_drain_limit_set(struct m0_net_transfer_mc *tm,
					 m0_time_t                  limit_ns);
/** The default drain limit, 10 seconds. */
#define M0_NET_TM_DRAIN_DEF (10ULL * 1000 * 1000 * 1000)

/**
 * Copies statistics, and with `reset` clears them in the same critical section.
 * Any state from INITIALIZED on. Returns 0.
 * @param qtype  a queue, or M0_NET_QT_NR for all.
 * @param qs     one structure, or an array of M0_NET_QT_NR for all; NULL only
 *               with reset.
 */
M0_EXTERN int m0_net_tm_stats_get(struct m0_net_transfer_mc *tm,
				  enum m0_net_queue_type     qtype,
				  struct m0_net_qstats *qs, bool reset);

/**
 * Confines the TM's threads, and so all callbacks that the library makes for
 * the TM, to these processors. Pre: INITIALIZED. Seed 001, "Specifying
 * processor affinity".
 *
 * A transport may have a thread that moves the bytes of several TMs (lnet: of
 * one node; sunrpc: of the process). Such a thread runs on the processors of a
 * confined TM while that TM is the only one it serves. If the application has
 * given the thread a set of its own (m0_lnet_confine(),
 * m0_net_bulk_sunrpc_confine()), that set counts instead.
 * [r.M0.net.xprt.lnet.processor-affinity] [r.messaging.processor_affinity]
 * @retval -ENOSYS  the transport cannot.
 * @retval -EINVAL  the set names no processor of this host.
 * @retval -EBUSY   the threads run already, because a buffer was added with a
 *                  time-out or was cancelled.
 */
M0_EXTERN int m0_net_tm_confine(struct m0_net_transfer_mc *tm,
				const struct m0_bitmap    *processors);
/**
 * Sets how long the TM's threads look for work before they sleep, in
 * nanoseconds; with 0 they sleep at once. Meanwhile they yield to other threads
 * that want the processor. Default: 50 us, or $M0_SPIN_NS. Pre: INITIALIZED.
 * (Ours.)
 */
M0_EXTERN void m0_net_tm_spin_set(struct m0_net_transfer_mc *tm,
				  m0_time_t                  spin_ns);

/**
 * Sets the colour that the library gives to the pool when it provisions the
 * receive queue, so that a buffer returns to the processor that used it last.
 * Pre: INITIALIZED, STARTING, STARTED, failing or FAILED.
 */
M0_EXTERN void     m0_net_tm_colour_set(struct m0_net_transfer_mc *tm,
					uint32_t                   colour);
M0_EXTERN uint32_t m0_net_tm_colour_get(struct m0_net_transfer_mc *tm);

/**
 * Provisions the TM's MSG_RECV queue from a pool, from STARTED on. Several TMs
 * may share a pool; the pool must outlive them. Pre: INITIALIZED; `callbacks`
 * has an entry for MSG_RECV.
 * [r.M0.net.xprt.auto-provisioned-receive-buffer-pool]
 * [r.M0.net.xprt.support-for-auto-provisioned-receive-queue]
 * @param min_recv_size  nb_min_receive_size of the buffers; 0: each buffer
 *                       keeps its own value, or gets its whole size if that is
 *                       0.
 * @param max_recv_msgs  nb_max_receive_msgs; 0: each buffer keeps its own
 *                       value, or gets 1 if that is 0.
 * @param min_recv_queue_len  number of buffers to keep queued; 0: 2.
 * @retval -EINVAL  the pool belongs to another domain; nothing is attached.
 */
M0_EXTERN int m0_net_tm_pool_attach(
	struct m0_net_transfer_mc *tm, struct m0_net_buffer_pool *bufpool,
	const struct m0_net_buffer_callbacks *callbacks,
	m0_bcount_t min_recv_size, uint32_t max_recv_msgs,
	uint32_t min_recv_queue_len);
/**
 * Sets how many buffers provisioning keeps queued, and provisions at once if
 * the TM is STARTED. If the new length is shorter, the queue drains to it. The
 * function takes the pool's lock. Pre: a pool is attached; INITIALIZED,
 * STARTING, STARTED, failing or FAILED.
 * @retval -EINVAL  len == 0.
 */
M0_EXTERN int m0_net_tm_pool_length_set(struct m0_net_transfer_mc *tm,
					uint32_t                   len);
/**
 * The not-empty callback of a pool that TMs are attached to; a callback of the
 * application's own must call it. It only wakes the domain's own thread, which
 * fills deficits. The pool calls it with the pool's lock held.
 */
M0_EXTERN void m0_net_domain_buffer_pool_not_empty(
	struct m0_net_buffer_pool *pool);

/* ---------------------------------------- delivery of buffer events -- */

/**
 * Puts the TM into synchronous mode. Pre: INITIALIZED, asynchronous.
 * @retval -ENOSYS  the transport cannot.
 */
M0_EXTERN int m0_net_buffer_event_deliver_synchronously(
	struct m0_net_transfer_mc *tm);
/**
 * Puts the TM into inline mode, which includes synchronous delivery. Pre:
 * INITIALIZED. (Ours.)
 * @retval -ENOSYS  the transport cannot.
 */
M0_EXTERN int m0_net_tm_inline(struct m0_net_transfer_mc *tm);
/**
 * Returns true if deliver_all would deliver something now; false when STOPPED.
 * In inline mode the call makes progress. It never blocks. Pre: synchronous or
 * inline.
 */
M0_EXTERN bool m0_net_buffer_event_pending(struct m0_net_transfer_mc *tm);
/**
 * Requests one signal of `chan`: a thread of the library signals it when the
 * next buffer event becomes pending, or at once if one is pending, and then
 * drops the request. A new request replaces an outstanding one. The call never
 * blocks. `chan` must live until it was signalled, until the TM is STOPPED, or
 * until the request is withdrawn. Pre: as for pending.
 *
 * @param chan  NULL withdraws the request. When the call returns, no thread of
 *              the library uses the channel any more. If the caller holds
 *              locks, this is true only once the caller has released the
 *              channel's guard.
 */
M0_EXTERN void m0_net_buffer_event_notify(struct m0_net_transfer_mc *tm,
					  struct m0_chan            *chan);
/**
 * Delivers, on the calling thread, at most the events that are pending at the
 * time of the call. It is no error if none are. Callbacks run under the mutexes
 * that the caller holds, if any. Pre: as for pending; the caller holds no lock
 * of the library.
 */
M0_EXTERN void m0_net_buffer_event_deliver_all(struct m0_net_transfer_mc *tm);
/**
 * Returns a file descriptor for poll(). It is readable while something is
 * pending, without an arming step. In inline mode it is also readable when
 * there is progress to make, and a little before a time-out, so that a poll may
 * find nothing. The library makes it on first use and closes it in fini; the
 * application must not read or write it. Any state between init and fini.
 * (Ours.)
 * @retval -ENOSYS  the transport cannot.
 * @retval <0       the system has no descriptor left.
 */
M0_EXTERN int m0_net_tm_fd(struct m0_net_transfer_mc *tm);

/* -------------------------------------------------- for layers above -- */

/**
 * A rider: a layer above m0_net that runs on the thread which delivers the
 * events of a TM, so that its reaction to a message does not cost the wake-up
 * of another thread. (Ours.)
 *
 * The library calls ntr_step with no lock held, and never two calls at once. If
 * the TM has one thread, the step never runs beside a callback of the TM
 * either. The library calls it soon after m0_net_tm_start() has brought the TM
 * to STARTED, after each pass that delivered an event, after each wake, and
 * when the deadline that the step returned last has passed. In synchronous and
 * inline mode deliver_all calls it, and a wake or a deadline counts as
 * something pending. Buffers that the step adds to queues leave at the end of
 * the pass. The library does not call the step any more once STOPPED is delivered,
 * or FAILED after start. After FAILED of a TM that was STARTED it goes on to call the
 * step, so that the layer above may end its work, until m0_net_tm_stop().
 */
struct m0_net_tm_rider {
	/** @return the time of the next call; M0_TIME_NEVER: when woken. */
	m0_time_t (*ntr_step)(struct m0_net_tm_rider *rider, m0_time_t now);
	/* Private to the library. */
	struct m0_net_transfer_mc *ntr_tm;
	m0_time_t                  ntr_at;
	uint32_t                   ntr_woken;
};

/**
 * Sets the rider of a TM. The rider must live until the TM is finalised. Pre:
 * INITIALIZED, no rider set, ntr_step set.
 * @retval -ENOSYS  the transport cannot.
 */
M0_EXTERN int m0_net_tm_ride(struct m0_net_transfer_mc *tm,
			     struct m0_net_tm_rider    *rider);
/**
 * Makes the library call the step soon. Any thread may call it, with locks
 * held. It never blocks, and takes no lock if the rider is woken already. It
 * makes a system call only if the TM's thread sleeps, and none when called from
 * the step itself or from a callback of the TM. It does nothing while the library does
 * not call the step.
 */
M0_EXTERN void m0_net_tm_rider_wake(struct m0_net_tm_rider *rider);

/* -------------------------------------------------- for transports -- */

/**
 * Delivers an event of a TM to the application: applies a state change, calls
 * ntc_event_cb, broadcasts ntm_chan. The calling thread holds no lock and is
 * not inside a call of the application. Pre: the queues are empty if the event
 * is STOPPED or FAILED. Before the function delivers one of these, it puts back
 * the pool buffers that their callbacks have not put back.
 */
M0_EXTERN void m0_net_tm_event_post(const struct m0_net_tm_event *ev);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_TM_H */
