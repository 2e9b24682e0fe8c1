/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Buffers, their events, and descriptors. Included by m0/net.h, whose opening
 * comment applies.
 *
 * A buffer is registered with a domain once, then added to a queue of one of
 * the domain's machines as often as wanted. From a successful
 * m0_net_buffer_add() until the event whose callback finds QUEUED clear, the
 * buffer belongs to the layer: neither its fields nor its memory may be
 * changed, and on the three receive queues its memory not be read.
 *
 * [r.M0.net.xprt.lnet.buffer-registration]
 * [r.M0.net.xprt.lnet.multiple-messages-in-buffer]
 */
/* First, and outside the guard: net.h puts its parts in order. */
#include "m0/net.h"

#ifndef M0_NET_BUF_H
#define M0_NET_BUF_H

#ifdef __cplusplus
extern "C" {
#endif

enum m0_net_buf_flags {
	M0_NET_BUF_REGISTERED = 1 << 0,
	/** Set by add, cleared before the callback of the final event. */
	M0_NET_BUF_QUEUED = 1 << 1,
	/** The transport has begun; a cancel may come too late. */
	M0_NET_BUF_IN_USE = 1 << 2,
	M0_NET_BUF_CANCELLED = 1 << 3,
	M0_NET_BUF_TIMED_OUT = 1 << 4,
	/** Set by a transport for one event: not the final one. */
	M0_NET_BUF_RETAIN = 1 << 5,
	/** (Ours) Set while m0_net_buffer_add_again() runs. */
	M0_NET_BUF_AGAIN = 1 << 6
};

/**
 * Names a passive buffer to peers: opaque bytes that the application sends to
 * one. Portable between machines, versioned, checksummed; at most
 * m0_net_domain_get_max_buffer_desc_size() long. The form is in net/desc.x.
 */
struct m0_net_buf_desc {
	uint32_t nbd_len;
	uint8_t *nbd_data;
};

/** A descriptor, and how many bytes of the buffer are in use. */
struct m0_net_buf_desc_data {
	struct m0_net_buf_desc bdd_desc;
	uint64_t               bdd_used;
};

/** Completion of an operation on a buffer; valid only in the callback. */
struct m0_net_buffer_event {
	struct m0_net_buffer *nbe_buffer;
	m0_time_t             nbe_time;
	/**
	 * 0, or why it failed: -ECANCELED by del or stop, -ETIMEDOUT by
	 * nb_timeout, or the transport's reason.
	 */
	int32_t nbe_status;
	/**
	 * Bytes received, on the three receive queues with status 0; with
	 * -EMSGSIZE on MSG_RECV the length of the message that did not fit.
	 */
	m0_bcount_t nbe_length;
	/**
	 * Where they start in the buffer, on the three receive queues: 0 unless
	 * a MSG_RECV buffer takes several messages.
	 */
	m0_bindex_t nbe_offset;
	/**
	 * MSG_RECV with status 0: the sender. The reference is the layer's and
	 * dropped after the callback; to keep it, m0_net_end_point_get().
	 * Other events: no meaning, and no reference.
	 */
	struct m0_net_end_point *nbe_ep;
};

/** Called with no lock held; may add the buffer again, or free it. */
typedef void (*m0_net_buffer_cb_proc_t)(const struct m0_net_buffer_event *ev);

struct m0_net_buffer_callbacks {
	m0_net_buffer_cb_proc_t nbc_cb[M0_NET_QT_NR];
};

struct m0_net_buffer {
	/**
	 * Memory. Set before register; not changed while registered. (Ours:
	 * a buffer used for MSG_SEND alone may be given other segments between
	 * its final event and its next add, within the domain's limits.)
	 */
	struct m0_bufvec nb_buffer;
	/** *_SEND queues: bytes to send. Otherwise ignored, never set. */
	m0_bcount_t nb_length;
	/** *_SEND queues: where they start in nb_buffer. */
	m0_bindex_t           nb_offset;
	struct m0_net_domain *nb_dom;
	/** Machine of the last add. */
	struct m0_net_transfer_mc *nb_tm;
	void                      *nb_xprt_private;
	/** Set before add; needs an entry for nb_qtype. Never changed. */
	const struct m0_net_buffer_callbacks *nb_callbacks;
	/** enum m0_net_buf_flags. */
	uint64_t nb_flags;
	/**
	 * When to give up, absolute; M0_TIME_NEVER after register and after
	 * every final event. Kept to the millisecond on every queue.
	 */
	m0_time_t nb_timeout;
	m0_time_t nb_add_time;
	/**
	 * MSG_SEND: the destination. PASSIVE_*: the only end point that may
	 * move data, NULL for any. The layer takes a reference at add and
	 * drops it after the final callback. Others: NULL.
	 */
	struct m0_net_end_point *nb_ep;
	/**
	 * PASSIVE_*: set by add; overwritten without being freed, so
	 * m0_net_desc_free() it before the next passive add. ACTIVE_*: set
	 * before add to a copy of the peer's; also the application's to free.
	 */
	struct m0_net_buf_desc nb_desc;
	uint64_t               nb_magic;
	/** In a queue of a transfer machine, or in the list of a pool's colour. */
	struct m0_tlink nb_tm_linkage;
	/** Set before add: the queue. */
	enum m0_net_queue_type nb_qtype;
	/** MSG_RECV: messages delivered since add. */
	uint32_t nb_msgs_received;
	/**
	 * MSG_RECV: the buffer stays queued after a message while this many
	 * bytes are left ...
	 */
	m0_bcount_t nb_min_receive_size;
	/** ... and fewer than this many messages are in it; 1: one message. */
	uint32_t nb_max_receive_msgs;
	uint32_t nb_colour;
	/** Free for the application. */
	void *nb_app_private;
	/** Free for the application. */
	struct m0_tlink nb_extern_linkage;
	/** The pool it was last got from. */
	struct m0_net_buffer_pool *nb_pool;
	/** In a pool: by time of put. This and what follows is private. */
	struct m0_tlink     nb_lru;
	struct m0_list_link nb_return_linkage;
	m0_time_t           nb_put_time;
	struct m0_list_link nb_dom_linkage;
	/** Numbers the buffer within its domain, for traces. */
	uint64_t nb_nr;
};

M0_TL_DESCR_DECLARE(m0_net_tm, M0_EXTERN);
M0_TL_DECLARE(m0_net_tm, M0_EXTERN, struct m0_net_buffer);

enum {
	/**
	 * Messages that one receive buffer takes at most, whatever
	 * nb_max_receive_msgs says: their events are reserved at add.
	 */
	M0_NET_RECV_MSGS_MAX = 4096
};

/**
 * Registers a buffer with a domain, sets nb_timeout to NEVER. Pre: nb_dom NULL,
 * nb_flags 0, nb_buffer has segments.
 * @retval -EFBIG   more segments, a longer segment or more bytes than the
 *                  domain's limits.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_buffer_register(struct m0_net_buffer *buf,
				     struct m0_net_domain *dom);
/**
 * @retval -EBUSY  a flag other than REGISTERED is set; nothing has changed.
 * Pre: registered with `dom`.
 */
M0_EXTERN int m0_net_buffer_deregister(struct m0_net_buffer *buf,
				       struct m0_net_domain *dom);
/**
 * Adds a buffer to the queue nb_qtype of a machine. 0: QUEUED is set, and
 * exactly one final event follows, on another thread or in deliver_all,
 * perhaps before the call returns. Any thread, callbacks included; never
 * blocks. Passive queues: nb_desc is set when it returns.
 *
 * What was added is there: a message or a transfer that a peer begins because
 * it has heard, by whatever way, that this call has returned finds the buffer.
 * In all modes and from any thread; for a buffer that waits for STARTED, from
 * that event on.
 *
 * Pre: registered with the machine's domain and not in use; nb_callbacks has an
 * entry; MSG_RECV: nb_ep NULL, 0 < nb_min_receive_size <= size,
 * nb_max_receive_msgs > 0; *_SEND: nb_length > 0 and offset + length within
 * the buffer; MSG_SEND: nb_ep an end point of this machine; PASSIVE_*: nb_ep
 * NULL or such; ACTIVE_*: nb_desc not empty.
 * @retval -EPERM   the machine is not STARTED (MSG_RECV: nor INITIALIZED or
 *                  STARTING); the buffer waits for STARTED then.
 * @retval -ETIME   nb_timeout has passed.
 * @retval -ENOMEM
 * @retval <0       the transport's, as its header says.
 */
M0_EXTERN int m0_net_buffer_add(struct m0_net_buffer      *buf,
				struct m0_net_transfer_mc *tm);
/**
 * (Ours) Adds a passive buffer once more under the descriptor that its last stay
 * on the same queue had, so that a peer which lost the outcome of that stay can
 * move the data again. What is still on its way from the last stay may be taken
 * for the new one: to be used only while both move the same bytes. nb_desc is set
 * to a new copy of the descriptor. A transport that is not made with the kit may
 * give another descriptor. The rest is as m0_net_buffer_add().
 * Pre: a passive queue; the buffer was on it before, since it was registered.
 */
M0_EXTERN int m0_net_buffer_add_again(struct m0_net_buffer      *buf,
				      struct m0_net_transfer_mc *tm);
/**
 * Asks to cancel. The event follows in any case: -ECANCELED, or the natural
 * outcome if that was first. Pre: nb_tm is NULL or `tm`.
 * @return  was it queued?
 */
M0_EXTERN bool m0_net_buffer_del(struct m0_net_buffer      *buf,
				 struct m0_net_transfer_mc *tm);

/**
 * Deep copy. Pre: from->nbd_len > 0.
 * @retval -ENOMEM  `to` is unchanged.
 */
M0_EXTERN int m0_net_desc_copy(const struct m0_net_buf_desc *from,
			       struct m0_net_buf_desc       *to);
/** Frees the bytes and clears; an empty descriptor is allowed. */
M0_EXTERN void m0_net_desc_free(struct m0_net_buf_desc *desc);

/* -------------------------------------------------- for transports -- */

/**
 * Delivers an event of a queued buffer: takes it off its queue (unless RETAIN
 * is set), updates statistics, provisions, calls back, drops references,
 * broadcasts ntm_chan. The calling thread holds no lock and is not inside a
 * call of the application. Nothing touches the buffer after the callback of
 * its final event.
 */
M0_EXTERN void m0_net_buffer_event_post(const struct m0_net_buffer_event *ev);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_BUF_H */
