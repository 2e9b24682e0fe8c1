/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The transport kit. It has the part that is the same in every transport, so
 * that a transport supplies addresses, sending, receiving and bulk:
 *  - machines: their inbox, passes, workers, the three modes, start and stop;
 *  - end points: found by hash, canonical text, kept for re-use when idle;
 *  - receive buffers: which one takes the next message, several messages in
 *    one, the ERROR event when there is none;
 *  - descriptors, and passive buffers found by the identity in them;
 *  - deadlines, cancellation, and the races of both with completion.
 *
 * Words. A *pass* is one run of a machine, or one call from outside that may
 * post: the clock is read once, and what it posts to other machines leaves at
 * its end, with one lock and at most one wake-up for each of them. *Work* is
 * an item posted to a machine's inbox, handled by that machine's pass. A buffer
 * is *armed* from its add until someone *claims* it (one compare-and-swap
 * decides between data, cancel and time-out); who claimed it must end it by
 * m0_net_kit_done().
 *
 * A transport's table is completed by M0_NET_KIT_XPRT_OPS; its xo_dom_init
 * calls m0_net_kit_dom_init(). tests/conformance/toy.c is a small
 * transport with packets of its own.
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
	/** Bound of an encoded descriptor. */
	M0_NET_KIT_DESC_MAX = 192
};

/** An address in the transport's canonical binary form: equal iff same. */
struct m0_net_kit_addr {
	uint32_t nka_len;
	uint8_t  nka_bytes[M0_NET_KIT_ADDR_MAX];
};

M0_EXTERN bool m0_net_kit_addr_eq(const struct m0_net_kit_addr *a,
				  const struct m0_net_kit_addr *b);

/** An item for a machine's inbox, embedded in what it is about. */
struct m0_net_kit_work {
	struct m0_net_kit_work *nkw_next;
	struct m0_net_kit_work *nkw_prev;
	/** The machine whose inbox or hands it is in. */
	struct m0_net_kit_machine *nkw_dest;
	/** Kit's kind, or M0_NET_KIT_WORK_XPRT + the transport's own. */
	uint16_t nkw_op;
	/** Not wanted any more: refused when it would enter an inbox. */
	uint8_t nkw_unwanted;
	/** The inbox's at the time: only then m0_net_kit_unpost() gets it. */
	uint64_t nkw_epoch;
	union {
		/** Handled not before this time; 0: at once. */
		m0_time_t nkw_due;
		/** Refused by an inbox: whose it is to refuse. The kit's. */
		const struct m0_net_kit_ops *nkw_refuser;
	};
};

enum {
	M0_NET_KIT_WORK_DONE = 1,
	M0_NET_KIT_WORK_XPRT = 16
};

/** What the kit and a transport share of a registered buffer. */
struct m0_net_kit_buf {
	/** Generation, queue type and state; atomic. */
	uint64_t               nkb_word;
	struct m0_net_kit_work nkb_work;
	/** Machine of the present add. */
	struct m0_net_kit_machine *nkb_machine;
	struct m0_net_buffer      *nkb_buffer;
	/** Set by m0_net_kit_done(). */
	int32_t nkb_status;
	/** Identifies the buffer: low bits of every id. */
	uint32_t    nkb_index;
	m0_bcount_t nkb_length;
	/** Bytes to send; the size of nb_buffer; both as of the add. */
	m0_bcount_t nkb_send_nr;
	m0_bcount_t nkb_size;
	/** MSG_SEND: the destination. PASSIVE_*: the initiator or NULL. */
	struct m0_net_end_point *nkb_ep;
};

/** Somebody else's thread that runs a machine: see nko_runner. */
struct m0_net_kit_runner {
	/** Have m0_net_kit_machine_run() called soon. Any thread, locks may be
	 * held; must not block. */
	void (*nkr_wake)(struct m0_net_kit_machine *machine);
	/** The machine goes: returns when it is not run any more. */
	void (*nkr_stop)(struct m0_net_kit_machine *machine);
};

/** A decoded descriptor. */
struct m0_net_kit_desc {
	/** Of the passive buffer: M0_NET_QT_PASSIVE_BULK_*. */
	uint32_t nks_qtype;
	uint64_t nks_id;
	uint64_t nks_size;
	/** Drawn at random by each process: tells foreign descriptors. */
	uint64_t               nks_incarnation;
	struct m0_net_kit_addr nks_passive;
	/** The permitted initiator; nka_len 0: any. */
	struct m0_net_kit_addr nks_active;
};

/** What a transport supplies. */
struct m0_net_kit_ops {
	/** Bytes of the transport's own in each machine, end point, buffer. */
	size_t nko_machine_size;
	size_t nko_ep_size;
	size_t nko_buf_size;
	/** Limits: bytes of a buffer and of each segment; segments. > 0. */
	m0_bcount_t nko_buffer_max;
	m0_bcount_t nko_segment_max;
	int32_t     nko_segments_max;

	/** @retval -EINVAL  Any context. */
	int (*nko_addr_parse)(const char *text, struct m0_net_kit_addr *ret);
	/**
	 * Optional: what start takes, if that is more than an address.
	 * @retval -EINVAL  Any context.
	 */
	int (*nko_wanted_parse)(const char *text, struct m0_net_kit_addr *ret);
	/** Canonical text, at most M0_NET_KIT_ADDR_TEXT with its 0. */
	void (*nko_addr_print)(const struct m0_net_kit_addr *addr, char *ret);

	/**
	 * Puts the machine on the network. No lock, on the machine's strand.
	 * @param wanted   NULL: pick one.
	 * @retval <0  becomes the status of the FAILED event.
	 */
	int (*nko_start)(struct m0_net_kit_machine    *machine,
			 const struct m0_net_kit_addr *wanted,
			 struct m0_net_kit_addr       *ret_own);
	/**
	 * Optional: stop has begun: no new messages, m0_net_kit_machine_is_open()
	 * is false when it returns. What belongs to buffers still queued goes on. No
	 * lock, on a thread that runs the machine; once after a successful
	 * nko_start.
	 */
	void (*nko_stop)(struct m0_net_kit_machine *machine);
	/**
	 * Optional: the last buffer has ended; the address is free from here
	 * on. After nko_stop, in the same context.
	 */
	void (*nko_leave)(struct m0_net_kit_machine *machine);

	/**
	 * Begins to send a message. ntm_mutex is held, a pass is open; must not
	 * block. Ends, at once or later, in m0_net_kit_done().
	 */
	void (*nko_send)(struct m0_net_kit_buf *kb);
	/**
	 * Begins an active bulk operation. No lock, on a worker of the machine;
	 * `desc` is decoded, its direction fits and this machine may use it.
	 * Ends, at once or later, in m0_net_kit_done().
	 */
	void (*nko_bulk)(struct m0_net_kit_buf        *kb,
			 const struct m0_net_kit_desc *desc);
	/**
	 * nko_bulk ends its buffer, or gives it to m0_net_kit_move(), before it
	 * returns: then the buffer is claimed when it is called, for less.
	 */
	bool nko_bulk_is_short;
	/**
	 * The kit has claimed a buffer that nko_send or nko_bulk began, to end
	 * it. True: nothing refers to it any more, the kit ends it. False: who
	 * has it in hand will fail to claim it and call m0_net_kit_done().
	 * ntm_mutex is held. NULL: always false.
	 */
	bool (*nko_cancel)(struct m0_net_kit_buf *kb);
	/**
	 * Handles work of the transport's own (op >= M0_NET_KIT_WORK_XPRT) and
	 * returns true; or returns false to see it again after events were
	 * delivered, if m0_net_kit_msg_must_wait(). ntm_mutex is held; may be
	 * released and taken again.
	 */
	bool (*nko_work)(struct m0_net_kit_machine *machine,
			 struct m0_net_kit_work    *work);
	/**
	 * Work that will not be handled: its machine has gone (nkw_dest is NULL
	 * by now), or it was unposted too late. Any thread, no lock of a
	 * machine.
	 */
	void (*nko_refuse)(struct m0_net_kit_work *work);
	/**
	 * Optional: a buffer of the message send queue has ended, nothing of it
	 * is on its way any more. ntm_mutex held.
	 */
	void (*nko_ended)(struct m0_net_kit_buf *kb);
	/** Optional: an end point's own part is about to go. ntm_mutex held. */
	void (*nko_ep_fini)(struct m0_net_end_point *ep);

	/**
	 * Optional: who shall run a machine that is about to start, instead of
	 * a thread of its own; NULL: nobody. Not asked for inline and confined
	 * machines, nor for one that has a thread already. ntm_mutex held.
	 */
	const struct m0_net_kit_runner *(*nko_runner)(
		struct m0_net_kit_machine    *machine,
		const struct m0_net_kit_addr *wanted);
	/**
	 * Optional: an inline machine is polled: moves what there is to move.
	 * No lock. It is m0_time_cached(), just read.
	 * @param unattended  a notify is outstanding: it shall move by itself
	 *                    from now on, if it can.
	 * @return true  without polls nothing moves; false: never again will
	 *               polls be needed, nor is nko_poll_fd looked at.
	 */
	bool (*nko_poll)(struct m0_net_kit_machine *machine, bool unattended);
	/** Optional, with nko_poll: what was asked for meanwhile begins to
	 * move; nothing else is looked for. No lock. */
	void (*nko_push)(struct m0_net_kit_machine *machine);
	/** Optional: a descriptor that polls readable when nko_poll has
	 * something to do; < 0: none. No lock. */
	int (*nko_poll_fd)(struct m0_net_kit_machine *machine);

	/*
	 * Transports that place data in buffers before the kit knows of it.
	 */

	/**
	 * A receive buffer takes messages from now on: told by
	 * m0_net_kit_recv_placed(), its end by m0_net_kit_recv_ended().
	 * m0_net_kit_recv_used() bytes of it are taken. What a peer sends
	 * because it has heard that this has returned finds the buffer. The
	 * machine is STARTED; ntm_mutex held.
	 * @retval <0  the buffer ends with this, or its add fails.
	 */
	int (*nko_recv)(struct m0_net_kit_buf *kb);
	/** It shall take no more: m0_net_kit_recv_ended() follows. ntm_mutex
	 * held. With nko_recv. */
	void (*nko_recv_cancel)(struct m0_net_kit_buf *kb);
	/** Identity for the descriptor of a passive buffer. ntm_mutex held. */
	uint64_t (*nko_passive_id)(struct m0_net_kit_buf *kb);
	/**
	 * A passive buffer waits from now on, for what a peer begins after this
	 * has returned at the latest. Its end is m0_net_kit_done(), of
	 * which nko_cancel may be called to be sooner. ntm_mutex held; with
	 * nko_passive_id. @retval <0  its add fails.
	 */
	int (*nko_passive)(struct m0_net_kit_buf        *kb,
			   const struct m0_net_kit_desc *desc);
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

/** A word of the transport's own in each domain; 0 at first. Atomic access. */
M0_EXTERN uint64_t *m0_net_kit_dom_word(const struct m0_net_domain *dom);

/** All but xo_dom_init. */
#define M0_NET_KIT_XPRT_OPS \
	.xo_dom_fini = m0_net_kit_dom_fini, M0_NET_KIT_XPRT_OPS_BUT_DOM

/** All but these and xo_dom_fini: of a transport's own, which calls the kit's. */
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

/** Embedded in what is found by address. */
struct m0_net_kit_addr_node {
	struct m0_net_kit_addr nan_addr;
	uint64_t               nan_handle[8];
};

/** Zeroed memory is an empty table. Not locked. */
struct m0_net_kit_addr_table {
	struct m0_net_kit_addr_node *nat_first;
};

/** NULL if there is none. */
M0_EXTERN struct m0_net_kit_addr_node *m0_net_kit_addr_find(
	const struct m0_net_kit_addr_table *table,
	const struct m0_net_kit_addr       *addr);
/** Pre: nan_addr is set and not in the table. @retval -ENOMEM */
M0_EXTERN int  m0_net_kit_addr_add(struct m0_net_kit_addr_table *table,
				   struct m0_net_kit_addr_node  *node);
M0_EXTERN void m0_net_kit_addr_del(struct m0_net_kit_addr_table *table,
				   struct m0_net_kit_addr_node  *node);

/* ------------------------------------------------------------ machines -- */

/** The transport's own part, nko_machine_size bytes, zero at init. */
M0_EXTERN void *m0_net_kit_machine_pvt(struct m0_net_kit_machine *machine);
M0_EXTERN struct m0_net_kit_machine *m0_net_kit_machine_of(
	const struct m0_net_transfer_mc *tm);
/** NULL once the machine is finalised. */
M0_EXTERN struct m0_net_transfer_mc *m0_net_kit_machine_tm(
	const struct m0_net_kit_machine *machine);
M0_EXTERN struct m0_net_domain *m0_net_kit_machine_dom(
	const struct m0_net_kit_machine *machine);
/** Own address, from a successful nko_start on. */
M0_EXTERN const struct m0_net_kit_addr *m0_net_kit_machine_addr(
	const struct m0_net_kit_machine *machine);
/** References keep the memory, not the machine, alive. Any context. */
M0_EXTERN void m0_net_kit_machine_get(struct m0_net_kit_machine *machine);
M0_EXTERN void m0_net_kit_machine_put(struct m0_net_kit_machine *machine);
/** The set of m0_net_tm_confine(), which no longer changes; NULL: none. Pre:
 * started. */
M0_EXTERN const struct m0_bitmap *m0_net_kit_machine_cpus(
	const struct m0_net_kit_machine *machine);
/** Threads that work for the machine. Pre: INITIALIZED, 1 <= nr <= 64. */
M0_EXTERN void m0_net_kit_machine_workers_set(struct m0_net_transfer_mc *tm,
					      size_t                     nr);
M0_EXTERN size_t
m0_net_kit_machine_workers_get(const struct m0_net_transfer_mc *tm);

/**
 * For a transport's own thread that has news for a machine: takes ntm_mutex
 * and opens a pass; m0_net_kit_leave() ends both. In between m0_net_kit_done()
 * and the like take effect at once. No lock held before.
 */
struct m0_net_kit_visit {
	struct m0_net_kit_machine *nkv_outer;
	struct m0_net_kit_work    *nkv_done[2];
};
M0_EXTERN void m0_net_kit_enter(struct m0_net_kit_machine *machine,
				struct m0_net_kit_visit   *visit);
M0_EXTERN void m0_net_kit_leave(struct m0_net_kit_machine *machine,
				struct m0_net_kit_visit   *visit);
/**
 * One run of a machine by its runner; no lock held.
 * @return when to run it again.
 */
M0_EXTERN m0_time_t m0_net_kit_machine_run(struct m0_net_kit_machine *machine,
					   m0_time_t                  now);
/** The machine is not STOPPED before it is unpinned. ntm_mutex held. */
M0_EXTERN void m0_net_kit_pin(struct m0_net_kit_machine *machine);
M0_EXTERN void m0_net_kit_unpin(struct m0_net_kit_machine *machine);

/* ---------------------------------------------------------------- work -- */

/**
 * Posts work to a machine; inside a pass it leaves at the pass's end. `work` is
 * not in use; the caller sees to it that `machine` lives until it is handled or
 * refused. One of both follows.
 */
M0_EXTERN void m0_net_kit_post(struct m0_net_kit_machine *machine,
			       struct m0_net_kit_work    *work);
/**
 * Takes work back. False: it is in some thread's hands, which will handle or
 * refuse it in bounded time, or has.
 */
M0_EXTERN bool m0_net_kit_unpost(struct m0_net_kit_work *work);
/** Is the machine on the network (from nko_start to nko_stop)? */
M0_EXTERN bool m0_net_kit_machine_is_open(
	const struct m0_net_kit_machine *machine);

/* ---------------------------------------------------------- end points -- */

/** The transport's own part, nko_ep_size bytes, zero when the ep is made. */
M0_EXTERN void *m0_net_kit_ep_pvt(struct m0_net_end_point *ep);
M0_EXTERN const struct m0_net_kit_addr *m0_net_kit_ep_addr(
	const struct m0_net_end_point *ep);
/**
 * The end point of an address, made if there is none, with a reference.
 * ntm_mutex held. NULL: no memory.
 */
M0_EXTERN struct m0_net_end_point *m0_net_kit_ep_get(
	struct m0_net_kit_machine *machine, const struct m0_net_kit_addr *addr);
/**
 * The one that was found last, without a reference: of a sender there are often
 * many messages in a row. ntm_mutex held. NULL: none.
 */
M0_EXTERN struct m0_net_end_point *m0_net_kit_ep_recent(
	const struct m0_net_kit_machine *machine);
/** A reference to it. ntm_mutex held since it was found. */
M0_EXTERN void m0_net_kit_ep_take(struct m0_net_end_point *ep);

/* ------------------------------------------------------------- buffers -- */

M0_EXTERN struct m0_net_kit_buf *m0_net_kit_buf_of(
	const struct m0_net_buffer *buf);
/** The transport's own part, nko_buf_size bytes, zero at register. */
M0_EXTERN void *m0_net_kit_buf_pvt(struct m0_net_kit_buf *kb);
/**
 * A passive buffer may be used from `initiator`, whatever a descriptor says. It
 * is claimed.
 */
M0_EXTERN bool m0_net_kit_admits(const struct m0_net_kit_buf  *kb,
				 const struct m0_net_kit_addr *initiator);
/** Identity of the present add: never the same again. */
M0_EXTERN uint64_t m0_net_kit_buf_id(const struct m0_net_kit_buf *kb);
/**
 * Claims an armed buffer. False: it was cancelled or timed out meanwhile; the
 * caller, who has it in hand, ends it by m0_net_kit_done(), the status given
 * there is ignored.
 */
M0_EXTERN bool m0_net_kit_claim(struct m0_net_kit_buf *kb);
/**
 * Claims the buffer of an identity if it is still armed and on queue `qtype`.
 * Any thread; at no time is memory of the application touched.
 * @retval -EPERM   it is armed, on another queue.
 * @retval -ENOENT  it is not armed any more, or never was.
 */
M0_EXTERN int m0_net_kit_claim_id(uint64_t id, enum m0_net_queue_type qtype,
				  struct m0_net_kit_buf **ret);
/**
 * Copies nkb_send_nr bytes between two claimed buffers of this process, and
 * ends both. From nko_bulk only, and once by each call: the copy comes when
 * the machine has begun what else it takes at a time.
 * Pre: they fit nkb_size of `to`.
 */
M0_EXTERN void m0_net_kit_move(struct m0_net_kit_buf *from,
			       struct m0_net_kit_buf *to);
/**
 * What nko_bulk has begun will be ended by who finds the buffer by its identity,
 * m0_net_kit_claim_id(); nothing else refers to it. If nobody does so until
 * `deadline` it ends with `status`, and when it is cancelled at once: nko_cancel
 * is not asked. ntm_mutex held. False: it was given up before, and has ended.
 */
M0_EXTERN bool m0_net_kit_wait(struct m0_net_kit_buf *kb, m0_time_t deadline,
			       int32_t status);
/** Gives a claimed buffer back unharmed; a cancel meanwhile takes effect. */
M0_EXTERN void m0_net_kit_unclaim(struct m0_net_kit_buf *kb);
/**
 * Ends a buffer: its event will be delivered by its machine. Any thread,
 * ntm_mutex of its machine held or not, no other ntm_mutex.
 * @param length  bytes received, on receive queues.
 */
M0_EXTERN void m0_net_kit_done(struct m0_net_kit_buf *kb, int32_t status,
			       m0_bcount_t length);
/**
 * Ends a buffer with 0, also one that was given up meanwhile: what it was queued
 * for has been done. ntm_mutex held.
 */
M0_EXTERN void m0_net_kit_succeeded(struct m0_net_kit_buf *kb,
				    m0_bcount_t            length);
/**
 * Gives up an armed buffer at `deadline` with `status`, unless nb_timeout comes
 * first. ntm_mutex held.
 */
M0_EXTERN void m0_net_kit_deadline(struct m0_net_kit_buf *kb,
				   m0_time_t deadline, int32_t status);

/**
 * True if a message would find no receive buffer now but may after events were
 * delivered that wait for this very pass. ntm_mutex held.
 */
M0_EXTERN bool m0_net_kit_msg_must_wait(
	const struct m0_net_kit_machine *machine);
/**
 * A message has come in: finds it a receive buffer, copies it, and queues the
 * event; or queues the ERROR event. ntm_mutex held; released meanwhile if the
 * copy is long. `data` stays unchanged meanwhile.
 * @retval -ENOBUFS   no receive buffer is free (ERROR event here).
 * @retval -EMSGSIZE  it fits no free buffer; the first gets an event.
 * @retval -ENOMEM    no memory for the sender's end point.
 */
M0_EXTERN int m0_net_kit_msg_in(struct m0_net_kit_machine    *machine,
				const struct m0_net_kit_addr *from,
				const struct m0_bufvec       *data,
				m0_bindex_t offset, m0_bcount_t nr);

/**
 * A message lies in a buffer of nko_recv: `nr` bytes at `offset`, where the one
 * before it ended. May come out of that order; the events do not. ntm_mutex
 * held.
 * @param from    of the sender; the reference goes with the event. NULL if it
 *                was lost.
 * @param status  < 0: the place was given to a message that was lost.
 */
M0_EXTERN void m0_net_kit_recv_placed(struct m0_net_kit_buf   *kb,
				      struct m0_net_end_point *from,
				      m0_bindex_t offset, m0_bcount_t nr,
				      int32_t status);
/** After the last of them. ntm_mutex held. */
M0_EXTERN void m0_net_kit_recv_ended(struct m0_net_kit_buf *kb, int32_t status);
/**
 * As m0_net_kit_msg_refused(), but there is a copy of the message: a buffer
 * that the machine's pool gives for it takes that. ntm_mutex held, released
 * meanwhile. @retval 0  it was taken.
 */
M0_EXTERN int m0_net_kit_msg_staged(struct m0_net_kit_machine    *machine,
				    const struct m0_net_kit_addr *from,
				    const struct m0_bufvec       *data,
				    m0_bindex_t offset, m0_bcount_t nr);
/** Bytes of a receive buffer that are taken, when nko_recv is called. */
M0_EXTERN m0_bcount_t m0_net_kit_recv_used(const struct m0_net_kit_buf *kb);
/** How many messages more a receive buffer can take. */
M0_EXTERN uint32_t m0_net_kit_recv_max(const struct m0_net_kit_buf *kb);
/**
 * A message has come that no buffer of nko_recv has taken. ntm_mutex held.
 * @retval -ENOBUFS   no receive buffer is there (ERROR event here).
 * @retval -EMSGSIZE  the first one gets an event.
 */
M0_EXTERN int m0_net_kit_msg_refused(struct m0_net_kit_machine *machine,
				     m0_bcount_t                nr);

/* --------------------------------------------------------- descriptors -- */

/**
 * Encodes. Bytes come from a recycled slab; m0_net_desc_free() returns them.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_kit_desc_encode(const struct m0_net_kit_desc *desc,
				     struct m0_net_buf_desc       *ret);
/** @retval -EINVAL  length, version, checksum or a field is wrong. */
M0_EXTERN int m0_net_kit_desc_decode(const struct m0_net_buf_desc *bytes,
				     struct m0_net_kit_desc       *ret);
/** The nks_incarnation of this process. */
M0_EXTERN uint64_t m0_net_kit_incarnation(void);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_KIT_H */
