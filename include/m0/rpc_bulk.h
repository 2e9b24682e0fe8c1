/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bulk data of RPCs (seed 002, "Bulk"): a request names memory of its sender
 * by descriptors in its body; the server moves the data when it is ready for
 * it, straight between that memory and its own, and answers after.
 *
 * Requester: m0_rpc_bulk_init(), add buffers, m0_rpc_bulk_qtype(PASSIVE_*),
 * m0_rpc_bulk_store() writes descriptors into the body; post; when the reply
 * is there (or will not come) m0_rpc_bulk_store_del() and wait until empty.
 * Server: the handler takes the descriptors from the body, adds buffers that
 * fit them (m0_rpc_bulk_add_as() does), qtype(ACTIVE_*), m0_rpc_bulk_load();
 * when rb_done is called, or rb_chan is signalled and the list is empty, rb_rc
 * is the outcome; then it answers.
 *
 * Parts. A buffer moves whole, from the first byte that its owner offered:
 * at most what it offers, fewer bytes if the sending side has fewer. Any part
 * of the caller's memory may be offered, as any number of buffers, and a
 * server may load any run of descriptors, others later or never; m0_net knows
 * no offset into another's buffer.
 *
 * Ownership. Memory is the caller's, and the network's from store or load until
 * the buffer has left the list; net buffers made by m0_rpc_bulk_buf_add() are
 * the library's and go with their place in the list, those given to it are
 * the caller's again then (nb_callbacks, nb_app_private and nb_desc are used
 * meanwhile), registered as they were. The rbulk is the caller's; it must live
 * until its list is empty and, if it has an rb_done, that was called.
 *
 * Links. Over a connection with several (m0/rpc_link.h) a buffer is offered on
 * each, on M0_RPC_BULK_WAYS_MAX of them at most, and its descriptor names all
 * these ways. The server takes the way by which the request came, and when that
 * ends in an error, or the request comes again over another link because its own
 * is dead, it begins that buffer anew over the other; each way is tried once.
 * So bulk outlives a link as its request does; the two need not be on the same.
 * Memory is the network's until all ways of a buffer are closed, which happens
 * when it has been moved over one - with m0_rpc_bulk_store_for() when the request
 * has ended, too: what we believe to have sent may have been lost with its link.
 *
 * Streams. A request of a stream is executed once, so its bulk survives what the
 * request survives: if it was offered by m0_rpc_bulk_store_for() and is moved by
 * m0_rpc_bulk_load_for(), a buffer that fails because a connection was reset or
 * a message was lost is moved anew, from its first byte, until the deadline of the
 * request or rb_timeout_ns, whichever is first. Its offer stays until the request
 * has ended. The errors below that name a wrong descriptor or a wrong size end
 * the list at once. If the offer was withdrawn, it ends after about one second.
 *
 * Failures, in rb_rc: those of m0_net for the transport (-EINVAL not a
 * descriptor or one of another transport, -EPERM made for the other direction,
 * -ENETUNREACH, -ENOENT or -ETIMEDOUT its buffer is no longer there), -EPROTO:
 * other than the descriptor's bytes were moved.
 *
 * Any thread may make the calls below, one at a time for one rbulk but for
 * m0_rpc_bulk_store_del(), _wait() and _is_empty().
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
	/** Ways of a buffer, over links. */
	M0_RPC_BULK_WAYS_MAX = 4,
	/** A buffer's time-out, 60 s, unless rb_timeout_ns says another. */
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
	/** Segments filled of those asked for. */
	uint32_t bb_segs_nr;
	uint32_t bb_segs_max;
	/** Bytes to be filled, filled, and (load) said by the descriptor. */
	m0_bcount_t bb_length;
	m0_bcount_t bb_filled;
	m0_bcount_t bb_expected;
	/* The library's: its other offers; how it may be moved. */
	struct m0_rpc__bulk_spares *bb_spares;
	struct m0_rpc__bulk_ways   *bb_ways;
	uint64_t                    bb_magic;
};

struct m0_rpc_bulk {
	struct m0_tl    rb_buflist;
	struct m0_mutex rb_mutex;
	/** Under rb_mutex; signalled when the list has become empty. */
	struct m0_chan rb_chan;
	/** Bytes in all its buffers. */
	m0_bcount_t rb_bytes;
	/** Bytes that were moved, of buffers that have ended well. */
	m0_bcount_t rb_moved;
	/** The first error of its buffers; -ECANCELED only without another. */
	int32_t rb_rc;
	/* The library's. */
	uint32_t rb_flags;
	/** Of each buffer, from store or load. Default: 60 s. */
	m0_time_t rb_timeout_ns;
	/** Optional: called once for every store and load that returned 0,
	 * when the list has become empty, on the thread of the machine, no
	 * lock held, last of all: the rbulk may be finalised in it. */
	void (*rb_done)(struct m0_rpc_bulk *rb);
	/* The library's. */
	struct m0_rpc_machine     *rb_machine;
	const struct m0_rpc_item  *rb_item;
	struct m0_rpc__bulk_again *rb_again;
	struct m0_list_link        rb_link;
	m0_time_t                  rb_expires;
	uint64_t                   rb_magic;
	/** In use if it has a bb_rbulk: for the caller's own net buffer. */
	struct m0_rpc_bulk_buf rb_one;
};

M0_EXTERN void m0_rpc_bulk_init(struct m0_rpc_bulk *rb);
/** Pre: the list is empty. */
M0_EXTERN void m0_rpc_bulk_fini(struct m0_rpc_bulk *rb);
/**
 * Adds a buffer of `segs_nr` segments to come, `length` bytes in all.
 * @param nb  the caller's net buffer, its memory set, registered or not; then
 *            `segs_nr` is not used, no memory is added to it, and `length`
 *            bytes from its nb_offset are offered or moved. NULL: the library
 *            makes one.
 * @retval -EMSGSIZE  above a limit of the domain. @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_bulk_buf_add(struct m0_rpc_bulk *rb, uint32_t segs_nr,
				  m0_bcount_t              length,
				  struct m0_net_domain    *netdom,
				  struct m0_net_buffer    *nb,
				  struct m0_rpc_bulk_buf **ret_buf);
/**
 * Appends memory of the caller to a buffer. What is filled when it is stored
 * or loaded counts, and may be less than `length`.
 * @param index  where the memory belongs, for the caller's use; not looked at.
 * @retval -EMSGSIZE  larger than a segment may be, more than the buffer's
 *                    length, or no segment left.
 */
M0_EXTERN int m0_rpc_bulk_buf_databuf_add(struct m0_rpc_bulk_buf *rbuf,
					  void *buf, m0_bcount_t count,
					  m0_bindex_t           index,
					  struct m0_net_domain *netdom);
/**
 * Splits memory of the caller into as many buffers as the transport's limits
 * ask for and adds them: buf_add and databuf_add in one. (Ours.)
 * @return number of buffers added, or <0 and none was.
 */
M0_EXTERN int m0_rpc_bulk_add(struct m0_rpc_bulk     *rb,
			      const struct m0_bufvec *memory,
			      struct m0_net_domain   *netdom);
/**
 * The same on the server: one buffer for each descriptor, as large as it says
 * and made of the next bytes of `memory`, which may have more.
 * @retval -EMSGSIZE  memory is smaller than they are together, or one of them
 *                    is above a limit of the domain. @retval -EPROTO  one is
 *                    empty. @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_bulk_add_as(struct m0_rpc_bulk                *rb,
				 const struct m0_bufvec            *memory,
				 struct m0_net_domain              *netdom,
				 const struct m0_net_buf_desc_data *desc,
				 uint32_t                           nr);
/** Buffers that m0_rpc_bulk_add() will make of `nr` bytes in `segs_nr`
 * segments, so that a body can be sized: at most; exactly of one segment. */
M0_EXTERN uint32_t m0_rpc_bulk_bufs_nr(struct m0_net_domain *netdom,
				       uint32_t segs_nr, m0_bcount_t nr);
M0_EXTERN void     m0_rpc_bulk_qtype(struct m0_rpc_bulk    *rb,
				     enum m0_net_queue_type q);
/**
 * Requester: registers and offers the buffers, at the machine's address from
 * which the connection speaks at present, or on all links; writes one descriptor for each,
 * in order, which the caller frees with m0_net_desc_free(). With an error there
 * are no descriptors, the list is given up, and rb_done is not called; the list
 * is empty at once, unless an error came after the first buffers had been
 * offered: m0_rpc_bulk_wait(), or rb_chan. Pre: not empty.
 * @retval -EBADR  the queue type is not a passive one; nothing has changed.
 * @retval -EMSGSIZE  a buffer has no bytes.
 * @retval <0  of m0_net_buffer_register(), m0_net_buffer_add().
 */
M0_EXTERN int m0_rpc_bulk_store(struct m0_rpc_bulk          *rb,
				const struct m0_rpc_conn    *conn,
				struct m0_net_buf_desc_data *to_desc);
/**
 * The same for a request that is to be posted, of a session: ri_session is set.
 * What was offered stays until it was moved and the request has ended, so that
 * the server may ask for it again after a connection was lost, or over another
 * link; and it counts among the bytes of the link that the request goes over. The request must be initialised,
 * and not posted before this returns.
 */
M0_EXTERN int m0_rpc_bulk_store_for(struct m0_rpc_bulk          *rb,
				    const struct m0_rpc_item    *request,
				    struct m0_net_buf_desc_data *to_desc);
/**
 * Server: moves the data: buffer i of the list with descriptor i, which is
 * copied. `machine` is the handler's. 0: something is under way; the outcome is
 * rb_rc when the list is empty, and the first failure cancels the rest. With an
 * error nothing was moved, the list was emptied, and rb_done is not called.
 * Pre: not empty.
 * @retval -EBADR  not an active queue type; nothing has changed.
 * @retval -EMSGSIZE  a buffer is smaller than what its descriptor says it must
 *                    take, or (ACTIVE_BULK_SEND) has more than there is room.
 * @retval -EPROTO  a descriptor is empty, or longer than any of this domain.
 * @retval <0  of m0_net_buffer_register(), m0_net_buffer_add().
 */
M0_EXTERN int m0_rpc_bulk_load(struct m0_rpc_bulk                *rb,
			       struct m0_rpc_machine             *machine,
			       const struct m0_net_buf_desc_data *from_desc);
/**
 * The same for a request that is being handled, over the address of the machine
 * by which it came (m0/rpc_link.h): the way that its sender knows to be good. If
 * it comes again over another one, what is under way is moved there. If the
 * request is of a stream, what fails is begun anew (see "Streams" above). To be
 * called before the request is answered; nothing is begun anew after that.
 */
M0_EXTERN int m0_rpc_bulk_load_for(
	struct m0_rpc_bulk *rb, const struct m0_rpc_item *request,
	const struct m0_net_buf_desc_data *from_desc);
/** Withdraws what was offered and stops what is under way, as far as it can be;
 * the list is empty soon after, at once if nothing was stored or loaded. */
M0_EXTERN void m0_rpc_bulk_store_del(struct m0_rpc_bulk *rb);
/** Blocks until the list is empty, makes progress if the machine is inline;
 * rb_rc. Not from a callback. */
M0_EXTERN int m0_rpc_bulk_wait(struct m0_rpc_bulk *rb);
/** Frees buffers never stored or loaded. */
M0_EXTERN void        m0_rpc_bulk_buflist_empty(struct m0_rpc_bulk *rb);
M0_EXTERN bool        m0_rpc_bulk_is_empty(struct m0_rpc_bulk *rb);
M0_EXTERN m0_bcount_t m0_rpc_bulk_buf_length(struct m0_rpc_bulk *rb);

/** Encodes a descriptor with its length at a body's place; see
 * m0_rpc_bulk_desc_size(). @return bytes written. */
M0_EXTERN m0_bcount_t
m0_rpc_bulk_desc_put(void *bytes, const struct m0_net_buf_desc_data *desc);
M0_EXTERN m0_bcount_t
m0_rpc_bulk_desc_size(const struct m0_net_buf_desc_data *desc);
/** Takes one from a body; the descriptor points into it.
 * @return bytes read. @retval -EPROTO  not one that desc_put() makes. */
M0_EXTERN int64_t m0_rpc_bulk_desc_get(const void *bytes, m0_bcount_t nr,
				       struct m0_net_buf_desc_data *ret_desc);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_BULK_H */
