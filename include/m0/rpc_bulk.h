/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Bulk data of RPCs (seed 002, "Bulk"): the body of a request has descriptors
 * of memory of its sender. The server moves the data when it is ready for it,
 * directly between that memory and its own, and answers after that.
 *
 * Requester: m0_rpc_bulk_init(); add buffers; m0_rpc_bulk_qtype(PASSIVE_*);
 * m0_rpc_bulk_store() writes the descriptors into the body; post the request.
 * When the reply is there (or will not come), call m0_rpc_bulk_store_del() and
 * wait until the list is empty.
 * Server: the handler takes the descriptors from the body, adds buffers that
 * fit them (as m0_rpc_bulk_add_as() does), calls m0_rpc_bulk_qtype(ACTIVE_*)
 * and m0_rpc_bulk_load(). When the library calls rb_done, or signals rb_chan
 * and the list is empty, rb_rc is the outcome; then the server answers.
 *
 * Parts. The server moves a buffer as a whole, from the first byte that its
 * owner offered: at most the bytes offered, fewer if the sending side has
 * fewer. The requester may offer any part of its memory, as any number of
 * buffers. A server may load any run of descriptors, and others later or never;
 * m0_net has no offset into the buffer of a peer.
 *
 * Ownership. The caller owns the memory; the network uses it from store or load
 * until the buffer has left the list. The library owns net buffers that it made
 * in m0_rpc_bulk_buf_add(), and frees them when they leave the list. A net
 * buffer that the caller provided is the caller's again then, registered as it
 * was before; meanwhile the library uses its nb_callbacks, nb_app_private and
 * nb_desc. The caller owns the rbulk, which must live until its list is empty
 * and, if rb_done is set, the library has called it.
 *
 * Links. If the connection has several links (m0/rpc_link.h), the requester
 * offers a buffer on each, on at most M0_RPC_BULK_WAYS_MAX of them, and its
 * descriptor names all these paths. The server uses the path by which the
 * request came. If that fails, or the request comes again over another link
 * because its own is dead, the server restarts that buffer over the other path;
 * it tries each path once. So bulk survives the death of a link as its request
 * does; the two need not use the same link. The network uses the memory until
 * all paths of a buffer are closed. They close when the buffer has been moved
 * over one of them; with m0_rpc_bulk_store_for() only when the request has
 * ended, too, as bytes that were sent may have been lost with their link.
 *
 * Streams. The server executes a request of a stream once, so its bulk must
 * survive whatever the request survives. If the requester offered it by
 * m0_rpc_bulk_store_for() and the server moves it by m0_rpc_bulk_load_for(),
 * the server restarts a buffer that fails because a connection was reset or a
 * message was lost, from its first byte, until the deadline of the request or
 * rb_timeout_ns, whichever is first. The offer stays until the request has
 * ended. The errors below that report a wrong descriptor or a wrong size end
 * the list at once. If the offer was withdrawn, the attempts end after about
 * one second.
 *
 * Failures, in rb_rc: those of m0_net for the transport (-EINVAL: not a
 * descriptor, or one of another transport; -EPERM: made for the other
 * direction; -ENETUNREACH; -ENOENT or -ETIMEDOUT: the peer's buffer is no
 * longer there), and -EPROTO: the number of bytes moved differs from the
 * descriptor's.
 *
 * Any thread may make the calls below, one at a time for one rbulk; only
 * m0_rpc_bulk_store_del(), _wait() and _is_empty() may run concurrently with
 * others.
 */
#ifndef M0_RPC_BULK_H
#define M0_RPC_BULK_H

#include "m0/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_rpc_bulk_buf_flags {
	M0_RPC_BULK_NETBUF_ALLOCATED = 1,
	M0_RPC_BULK_NETBUF_REGISTERED = 2,
	M0_RPC_BULK_NETBUF_QUEUED = 4
};

enum {
	/** Most paths of a buffer, over links. */
	M0_RPC_BULK_WAYS_MAX = 4,
	/** Default time-out of a buffer, see rb_timeout_ns. */
	M0_RPC_BULK_TIMEOUT_S = 60
};

struct m0_rpc_bulk;
struct m0_rpc__bulk_again;
struct m0_rpc__bulk_spares;
struct m0_rpc__bulk_ways;

struct m0_rpc_bulk_buf {
	struct m0_net_buffer *bb_nbuf;
	struct m0_rpc_bulk   *bb_rbulk;
	struct m0_tlink       bb_link;
	uint64_t              bb_flags;
	/** Segments that have memory, and most segments. */
	uint32_t bb_segs_nr;
	uint32_t bb_segs_max;
	/** Capacity in bytes; bytes that have memory; (load) bytes that the
	 * descriptor states. */
	m0_bcount_t bb_length;
	m0_bcount_t bb_filled;
	m0_bcount_t bb_expected;
	/* For the library: its other offers; its possible paths. */
	struct m0_rpc__bulk_spares *bb_spares;
	struct m0_rpc__bulk_ways   *bb_ways;
	uint64_t                    bb_magic;
};

struct m0_rpc_bulk {
	struct m0_tl    rb_buflist;
	struct m0_mutex rb_mutex;
	/** Signalled under rb_mutex when the list has become empty. */
	struct m0_chan rb_chan;
	/** Bytes in all buffers. */
	m0_bcount_t rb_bytes;
	/** Bytes moved, of buffers that succeeded. */
	m0_bcount_t rb_moved;
	/**
	 * The first error of a buffer; -ECANCELED only if there is no other.
	 */
	int32_t rb_rc;
	/* For the library. */
	uint32_t rb_flags;
	/**
	 * Time-out of each buffer, counted from store or load. Default: 60 s.
	 */
	m0_time_t rb_timeout_ns;
	/**
	 * Optional: the library calls this once for every store and load that
	 * returned 0, when the list has become empty, on the RPC machine's
	 * thread, with no lock held. It does not use the rbulk after that, so
	 * the callback may finalise it.
	 */
	void (*rb_done)(struct m0_rpc_bulk *rb);
	/* For the library. */
	struct m0_rpc_machine     *rb_machine;
	const struct m0_rpc_item  *rb_item;
	struct m0_rpc__bulk_again *rb_again;
	struct m0_list_link        rb_link;
	m0_time_t                  rb_expires;
	uint64_t                   rb_magic;
	/** Used for the caller's own net buffer; in use if bb_rbulk is set. */
	struct m0_rpc_bulk_buf rb_one;
};

M0_EXTERN void m0_rpc_bulk_init(struct m0_rpc_bulk *rb);
/** Finalises an rbulk. Pre: the list is empty. */
M0_EXTERN void m0_rpc_bulk_fini(struct m0_rpc_bulk *rb);
/**
 * Adds a buffer with space for `segs_nr` segments, `length` bytes in all.
 * @param nb  the caller's net buffer, its memory set, registered or not. Then
 *            `segs_nr` is not used, no memory is added to it, and `length`
 *            bytes from its nb_offset are offered or moved. NULL: the library
 *            makes one.
 * @retval -EMSGSIZE  above a limit of the domain.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_bulk_buf_add(struct m0_rpc_bulk *rb, uint32_t segs_nr,
				  m0_bcount_t              length,
				  struct m0_net_domain    *netdom,
				  struct m0_net_buffer    *nb,
				  struct m0_rpc_bulk_buf **ret_buf);
/**
 * Appends memory of the caller to a buffer. Store and load use the memory
 * appended until then, which may be less than `length`.
 * @param index  position of the memory, for the caller; the library ignores it.
 * @retval -EMSGSIZE  larger than a segment may be, more than the buffer's
 *                    length, or no segment left.
 */
M0_EXTERN int m0_rpc_bulk_buf_databuf_add(struct m0_rpc_bulk_buf *rbuf,
					  void *buf, m0_bcount_t count,
					  m0_bindex_t           index,
					  struct m0_net_domain *netdom);
/**
 * Extension: splits memory of the caller into as many buffers as the
 * transport's limits require, and adds them: buf_add and databuf_add in one.
 * @return number of buffers added, or <0 and none was added.
 */
M0_EXTERN int m0_rpc_bulk_add(struct m0_rpc_bulk     *rb,
			      const struct m0_bufvec *memory,
			      struct m0_net_domain   *netdom);
/**
 * m0_rpc_bulk_add() for the server: adds one buffer for each descriptor, of the
 * size that the descriptor states, and made of the next bytes of `memory`,
 * which may have more.
 * @retval -EMSGSIZE  `memory` is smaller than all descriptors together, or one
 *                    of them is above a limit of the domain.
 * @retval -EPROTO  a descriptor is empty.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_bulk_add_as(struct m0_rpc_bulk                *rb,
				 const struct m0_bufvec            *memory,
				 struct m0_net_domain              *netdom,
				 const struct m0_net_buf_desc_data *desc,
				 uint32_t                           nr);
/** Most buffers that m0_rpc_bulk_add() makes of `nr` bytes in `segs_nr`
 * segments, to size a body; the exact number for one segment. */
M0_EXTERN uint32_t m0_rpc_bulk_bufs_nr(struct m0_net_domain *netdom,
				       uint32_t segs_nr, m0_bcount_t nr);
M0_EXTERN void     m0_rpc_bulk_qtype(struct m0_rpc_bulk    *rb,
				     enum m0_net_queue_type q);
/**
 * Requester: registers the buffers and offers them, at the address from which
 * the connection sends at present, or on all links. Writes one descriptor for
 * each buffer, in order; the caller frees them with m0_net_desc_free(). After
 * an error there are no descriptors, the library releases the list and does not
 * call rb_done. The list is empty at once, unless the error came after the
 * first buffers had been offered; then use m0_rpc_bulk_wait() or rb_chan. Pre:
 * not empty.
 * @retval -EBADR  the queue type is not a passive one; nothing has changed.
 * @retval -EMSGSIZE  a buffer has no bytes.
 * @retval <0  from m0_net_buffer_register() or m0_net_buffer_add().
 */
M0_EXTERN int m0_rpc_bulk_store(struct m0_rpc_bulk          *rb,
				const struct m0_rpc_conn    *conn,
				struct m0_net_buf_desc_data *to_desc);
/**
 * m0_rpc_bulk_store() for a request of a session (ri_session is set). The offer
 * stays until the buffer was moved and the request has ended, so that the
 * server may fetch it again after a connection was lost, or over another link.
 * Its bytes count among those of the link that the request uses. The request
 * must be initialised, and must not be posted before this returns.
 */
M0_EXTERN int m0_rpc_bulk_store_for(struct m0_rpc_bulk          *rb,
				    const struct m0_rpc_item    *request,
				    struct m0_net_buf_desc_data *to_desc);
/**
 * Server: offers memory to the sender of a request, at the address of the RPC
 * machine by which the request came. So a reply can name data of any size,
 * which the requester fetches by m0_rpc_bulk_load(). The offer ends when each
 * buffer was fetched, or rb_timeout_ns after this call. Call it before the
 * request is answered; otherwise as m0_rpc_bulk_store(). The sender takes
 * m0_rpc_bulk_load_reply().
 */
M0_EXTERN int m0_rpc_bulk_store_reply(struct m0_rpc_bulk          *rb,
				      const struct m0_rpc_item    *request,
				      struct m0_net_buf_desc_data *to_desc);
/**
 * Server: moves the data, buffer i of the list with descriptor i, which the
 * library copies. `machine` is the handler's. If it returns 0, the transfer is
 * in progress; its outcome is rb_rc when the list is empty, and the first
 * failure cancels the rest. After an error nothing was moved, the list is
 * empty, and the library does not call rb_done. Pre: not empty.
 * @retval -EBADR  not an active queue type; nothing has changed.
 * @retval -EMSGSIZE  a buffer is smaller than its descriptor requires, or
 *                    (ACTIVE_BULK_SEND) has more bytes than the peer's buffer.
 * @retval -EPROTO  a descriptor is empty, or longer than any of this domain.
 * @retval <0  from m0_net_buffer_register() or m0_net_buffer_add().
 */
M0_EXTERN int m0_rpc_bulk_load(struct m0_rpc_bulk                *rb,
			       struct m0_rpc_machine             *machine,
			       const struct m0_net_buf_desc_data *from_desc);
/**
 * m0_rpc_bulk_load() for the requester: moves what a reply offers, over the
 * address of the RPC machine by which the reply came. Call it while the reply is
 * there.
 */
M0_EXTERN int m0_rpc_bulk_load_reply(
	struct m0_rpc_bulk *rb, const struct m0_rpc_item *reply,
	const struct m0_net_buf_desc_data *from_desc);
/**
 * m0_rpc_bulk_load() for a request in execution, over the address of the RPC
 * machine by which the request came (m0/rpc_link.h), as its sender knows that
 * path to work. If the request comes again over another path, the library moves
 * the transfer there. If the request is of a stream, the library restarts
 * buffers that fail (see "Streams" above). Call it before the request is
 * answered; the library restarts nothing after that.
 */
M0_EXTERN int m0_rpc_bulk_load_for(
	struct m0_rpc_bulk *rb, const struct m0_rpc_item *request,
	const struct m0_net_buf_desc_data *from_desc);
/** Withdraws the offers and cancels transfers in progress, as far as possible.
 * The list is empty soon after; at once if nothing was stored or loaded. */
M0_EXTERN void m0_rpc_bulk_store_del(struct m0_rpc_bulk *rb);
/** Blocks until the list is empty, and returns rb_rc; makes progress if the RPC
 * machine is inline. Not from a callback. */
M0_EXTERN int m0_rpc_bulk_wait(struct m0_rpc_bulk *rb);
/** Removes and frees buffers that were never stored or loaded. */
M0_EXTERN void        m0_rpc_bulk_buflist_empty(struct m0_rpc_bulk *rb);
M0_EXTERN bool        m0_rpc_bulk_is_empty(struct m0_rpc_bulk *rb);
M0_EXTERN m0_bcount_t m0_rpc_bulk_buf_length(struct m0_rpc_bulk *rb);

/**
 * Encodes a descriptor with its length into a body; see
 * m0_rpc_bulk_desc_size().
 * @return bytes written.
 */
M0_EXTERN m0_bcount_t
m0_rpc_bulk_desc_put(void *bytes, const struct m0_net_buf_desc_data *desc);
M0_EXTERN m0_bcount_t
m0_rpc_bulk_desc_size(const struct m0_net_buf_desc_data *desc);
/**
 * Decodes a descriptor from a body; the result points into it.
 * @return bytes read.
 * @retval -EPROTO  not a descriptor that m0_rpc_bulk_desc_put() makes.
 */
M0_EXTERN int64_t m0_rpc_bulk_desc_get(const void *bytes, m0_bcount_t nr,
				       struct m0_net_buf_desc_data *ret_desc);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_BULK_H */
