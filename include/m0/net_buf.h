/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Buffers, their events, and descriptors. m0/net.h includes this file; its
 * opening comment applies.
 *
 * An application registers a buffer with a domain once, then adds it to a queue
 * of one of the domain's TMs as often as it likes. From a successful
 * m0_net_buffer_add() until the event whose callback finds QUEUED clear, the
 * buffer belongs to the layer: the application must not change its fields or
 * its memory, and on the three receive queues must not read its memory.
 *
 * [r.M0.net.xprt.lnet.buffer-registration]
 * [r.M0.net.xprt.lnet.multiple-messages-in-buffer]
 */
/*
 * This include comes first, and outside the guard, because net.h orders its
 * parts.
 */
#include "m0/net.h"

#ifndef M0_NET_BUF_H
#define M0_NET_BUF_H

#ifdef __cplusplus
extern "C" {
#endif

enum m0_net_buf_flags {
	M0_NET_BUF_REGISTERED = 1 << 0,
	/**
	 * m0_net_buffer_add() sets it; the library clears it before the
	 * callback of the final event.
	 */
	M0_NET_BUF_QUEUED = 1 << 1,
	/**
	 * The transport has started the operation; a cancel may come too late.
	 */
	M0_NET_BUF_IN_USE = 1 << 2,
	M0_NET_BUF_CANCELLED = 1 << 3,
	M0_NET_BUF_TIMED_OUT = 1 << 4,
	/**
	 * A transport sets it for one event to say that the event is not the
	 * final one.
	 */
	M0_NET_BUF_RETAIN = 1 << 5,
	/** The library sets it while m0_net_buffer_add_again() runs. (Ours.) */
	M0_NET_BUF_AGAIN = 1 << 6
};

/**
 * Names a passive buffer to peers: opaque bytes that the application sends to
 * one of them. They are portable between hosts, versioned and checksummed, and
 * at most m0_net_domain_get_max_buffer_desc_size() long. m0/desc.x defines the
 * format.
 */
struct m0_net_buf_desc {
	uint32_t nbd_len;
	uint8_t *nbd_data;
};

/** A descriptor, and the number of bytes of the buffer that are in use. */
struct m0_net_buf_desc_data {
	struct m0_net_buf_desc bdd_desc;
	uint64_t               bdd_used;
};

/** Completion of an operation on a buffer; valid only during the callback. */
struct m0_net_buffer_event {
	struct m0_net_buffer *nbe_buffer;
	m0_time_t             nbe_time;
	/**
	 * 0, or the reason for the failure: -ECANCELED by del or stop,
	 * -ETIMEDOUT by nb_timeout, or the transport's own error.
	 */
	int32_t nbe_status;
	/**
	 * Bytes received, on the three receive queues with status 0. With
	 * -EMSGSIZE on MSG_RECV: length of the message that did not fit.
	 */
	m0_bcount_t nbe_length;
	/**
	 * Offset of these bytes in the buffer, on the three receive queues: 0
	 * unless a MSG_RECV buffer takes several messages.
	 */
	m0_bindex_t nbe_offset;
	/**
	 * MSG_RECV with status 0: the sender. The layer owns the reference and
	 * drops it after the callback; to keep the end point, call
	 * m0_net_end_point_get(). In other events the field has no meaning and
	 * carries no reference.
	 */
	struct m0_net_end_point *nbe_ep;
};

/**
 * The library calls it with no lock held. It may add the buffer again, or free
 * it.
 */
typedef void (*m0_net_buffer_cb_proc_t)(const struct m0_net_buffer_event *ev);

struct m0_net_buffer_callbacks {
	m0_net_buffer_cb_proc_t nbc_cb[M0_NET_QT_NR];
};

struct m0_net_buffer {
	/**
	 * Memory. The application sets it before register and does not change
	 * it while the buffer is registered. (Ours: a buffer used for MSG_SEND
	 * alone may get other segments between its final event and its next
	 * add, within the domain's limits.)
	 */
	struct m0_bufvec nb_buffer;
	/**
	 * *_SEND queues: bytes to send. Other queues ignore it. The library
	 * never sets it.
	 */
	m0_bcount_t nb_length;
	/** *_SEND queues: offset in nb_buffer of the bytes to send. */
	m0_bindex_t           nb_offset;
	struct m0_net_domain *nb_dom;
	/** TM of the last add. */
	struct m0_net_transfer_mc *nb_tm;
	void                      *nb_xprt_private;
	/**
	 * The application sets it before add; it must have an entry for
	 * nb_qtype. The library never changes it.
	 */
	const struct m0_net_buffer_callbacks *nb_callbacks;
	/** Bits of enum m0_net_buf_flags. */
	uint64_t nb_flags;
	/**
	 * Absolute time at which the operation times out, kept to the
	 * millisecond on every queue. The library sets it to M0_TIME_NEVER at
	 * register and before every final event.
	 */
	m0_time_t nb_timeout;
	m0_time_t nb_add_time;
	/**
	 * MSG_SEND: the destination. PASSIVE_*: the only end point that may
	 * move data, NULL for any. The layer takes a reference at add and drops
	 * it after the final callback. Other queues: NULL.
	 */
	struct m0_net_end_point *nb_ep;
	/**
	 * PASSIVE_*: m0_net_buffer_add() sets it, and overwrites the old value
	 * without freeing it, so the application calls m0_net_desc_free()
	 * before the next passive add. ACTIVE_*: the application sets it before
	 * add to a copy of the peer's descriptor, and frees it too.
	 */
	struct m0_net_buf_desc nb_desc;
	uint64_t               nb_magic;
	/** Link in a queue of a TM, or in the list of a pool's colour. */
	struct m0_tlink nb_tm_linkage;
	/** The queue; the application sets it before add. */
	enum m0_net_queue_type nb_qtype;
	/** MSG_RECV: messages delivered since add. */
	uint32_t nb_msgs_received;
	/**
	 * MSG_RECV: the buffer stays queued after a message while at least this
	 * many bytes are left, and fewer than nb_max_receive_msgs messages are
	 * in it.
	 */
	m0_bcount_t nb_min_receive_size;
	/** MSG_RECV: most messages in the buffer; 1: one message. */
	uint32_t nb_max_receive_msgs;
	uint32_t nb_colour;
	/** For the application's use. */
	void *nb_app_private;
	/** For the application's use. */
	struct m0_tlink nb_extern_linkage;
	/** Pool from which the application last got the buffer. */
	struct m0_net_buffer_pool *nb_pool;
	/**
	 * In a pool: link in nbp_lru, ordered by time of put. This field and
	 * the following ones are private.
	 */
	struct m0_tlink     nb_lru;
	struct m0_list_link nb_return_linkage;
	m0_time_t           nb_put_time;
	struct m0_list_link nb_dom_linkage;
	/** Number of the buffer within its domain, for traces. */
	uint64_t nb_nr;
};

M0_TL_DESCR_DECLARE(m0_net_tm, M0_EXTERN);
M0_TL_DECLARE(m0_net_tm, M0_EXTERN, struct m0_net_buffer);

enum {
	/**
	 * Most messages that one receive buffer takes, even if
	 * nb_max_receive_msgs is larger, because the library reserves their
	 * events at add.
	 */
	M0_NET_RECV_MSGS_MAX = 4096
};

/**
 * Registers a buffer with a domain and sets nb_timeout to M0_TIME_NEVER. Pre:
 * nb_dom NULL, nb_flags 0, nb_buffer has segments.
 * @retval -EFBIG   more segments, a longer segment or more bytes than the
 *                  domain's limits.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_buffer_register(struct m0_net_buffer *buf,
				     struct m0_net_domain *dom);
/**
 * Undoes m0_net_buffer_register(). Pre: registered with `dom`.
 * @retval -EBUSY  a flag other than REGISTERED is set; nothing has changed.
 */
M0_EXTERN int m0_net_buffer_deregister(struct m0_net_buffer *buf,
				       struct m0_net_domain *dom);
/**
 * Adds a buffer to the queue nb_qtype of a TM. If add returns 0, QUEUED is set
 * and exactly one final event follows, on another thread or in deliver_all,
 * perhaps before the call returns. Any thread may call it, also a callback; it
 * never blocks. For passive queues nb_desc is set when it returns.
 *
 * A buffer is ready when this call returns: if a peer learns, by any means,
 * that the call has returned and starts a message or a transfer because of
 * that, the peer finds the buffer. This is so in all modes and from any thread.
 * A buffer that waits for STARTED is ready from that event on.
 *
 * Pre: registered with the TM's domain and not in use; nb_callbacks has an
 * entry; MSG_RECV: nb_ep NULL, 0 < nb_min_receive_size <= size,
 * nb_max_receive_msgs > 0; *_SEND: nb_length > 0 and offset + length within the
 * buffer; MSG_SEND: nb_ep an end point of this TM; PASSIVE_*: nb_ep NULL or an
 * end point of this TM; ACTIVE_*: nb_desc not empty.
 * @retval -ESHUTDOWN  the TM is failing, or FAILED after STARTED.
 * @retval -EPERM   the TM is not STARTED. A MSG_RECV buffer may also be added
 *                  when INITIALIZED or STARTING, and waits for STARTED.
 * @retval -ETIME   nb_timeout has passed.
 * @retval -ENOMEM
 * @retval <0       the transport's error, as its header says.
 */
M0_EXTERN int m0_net_buffer_add(struct m0_net_buffer      *buf,
				struct m0_net_transfer_mc *tm);
/**
 * Adds a passive buffer once more under the descriptor of its last add on the
 * same queue, so that a peer that lost the outcome can move the data again. The
 * transport may take data still in flight for the last add as data for the new
 * one, so use this only while both move the same bytes. nb_desc is set to a new
 * copy of the descriptor. A transport that is not built on the kit may give
 * another descriptor. Otherwise the call works as m0_net_buffer_add(). (Ours.)
 * Pre: a passive queue; the buffer was on it before, since it was registered.
 */
M0_EXTERN int m0_net_buffer_add_again(struct m0_net_buffer      *buf,
				      struct m0_net_transfer_mc *tm);
/**
 * Requests the cancellation of a buffer. The event follows in any case: with
 * -ECANCELED, or with the natural outcome if the operation completed first.
 * Pre: nb_tm is NULL or `tm`.
 * @return  true if the buffer was queued.
 */
M0_EXTERN bool m0_net_buffer_del(struct m0_net_buffer      *buf,
				 struct m0_net_transfer_mc *tm);

/**
 * Makes a deep copy. Pre: from->nbd_len > 0.
 * @retval -ENOMEM  `to` is unchanged.
 */
M0_EXTERN int m0_net_desc_copy(const struct m0_net_buf_desc *from,
			       struct m0_net_buf_desc       *to);
/** Frees the bytes and clears the descriptor, which may be empty. */
M0_EXTERN void m0_net_desc_free(struct m0_net_buf_desc *desc);

/* -------------------------------------------------- for transports -- */

/**
 * Delivers an event of a queued buffer: takes the buffer off its queue (unless
 * RETAIN is set), updates statistics, provisions, calls the application's
 * callback, drops references, broadcasts ntm_chan. The calling thread holds no
 * lock and is not inside a call of the application. The library does not touch
 * the buffer after the callback of its final event.
 */
M0_EXTERN void m0_net_buffer_event_post(const struct m0_net_buffer_event *ev);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_BUF_H */
