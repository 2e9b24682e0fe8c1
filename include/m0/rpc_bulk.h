/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bulk data of RPCs (seed 002, "Bulk"): a request names memory of its sender
 * by descriptors in its body; the server moves the data when it is ready for
 * it, straight between that memory and its own, and answers after.
 *
 * Requester: m0_rpc_bulk_init(), add buffers, m0_rpc_bulk_qtype(PASSIVE_*),
 * m0_rpc_bulk_store() writes descriptors into the body; post; when the reply
 * is there (or will not come) m0_rpc_bulk_store_del() and wait until empty.
 * Server: the handler takes the descriptors from the body, adds buffers of the
 * same lengths, qtype(ACTIVE_*), m0_rpc_bulk_load(); when rb_chan is signalled
 * and the list is empty, rb_rc is the outcome; then it answers.
 *
 * Ownership. Memory is the caller's, and the network's from store or load until
 * the buffer has left the list; net buffers made by m0_rpc_bulk_buf_add() are
 * the library's and go with their place in the list. The rbulk is the
 * caller's; it must live until its list is empty.
 */
#ifndef M0_RPC_BULK_H
#define M0_RPC_BULK_H

#include "m0/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_rpc_bulk_buf_flags {
	M0_RPC_BULK_NETBUF_ALLOCATED  = 1,
	M0_RPC_BULK_NETBUF_REGISTERED = 2,
	M0_RPC_BULK_NETBUF_QUEUED     = 4
};

enum {
	/** A buffer's time-out, 60 s, unless rb_timeout_ns says another. */
	M0_RPC_BULK_TIMEOUT_S = 60
};

struct m0_rpc_bulk {
	struct m0_tl    rb_buflist;
	struct m0_mutex rb_mutex;
	/** Under rb_mutex; signalled when the list has become empty. */
	struct m0_chan rb_chan;
	/** Bytes in all its buffers. */
	m0_bcount_t rb_bytes;
	/** The first error but -ECANCELED of its buffers. */
	int32_t   rb_rc;
	m0_time_t rb_timeout_ns;
	/** Optional, called once the list has become empty, on the thread of
	 * the machine, no lock held; before rb_chan is signalled. */
	void (*rb_done)(struct m0_rpc_bulk *rb);
	uint64_t rb_magic;
};

struct m0_rpc_bulk_buf {
	struct m0_net_buffer *bb_nbuf;
	struct m0_rpc_bulk   *bb_rbulk;
	struct m0_tlink       bb_link;
	uint64_t              bb_flags;
	/** Segments filled of those asked for. */
	uint32_t bb_segs_nr;
	uint64_t bb_magic;
};

M0_EXTERN void m0_rpc_bulk_init(struct m0_rpc_bulk *rb);
/** Pre: the list is empty. */
M0_EXTERN void m0_rpc_bulk_fini(struct m0_rpc_bulk *rb);
/**
 * Adds a buffer of `segs_nr` segments to come, `length` bytes in all.
 * @param nb  the caller's net buffer, or NULL: the library makes one.
 * @retval -EMSGSIZE  above a limit of the domain. @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_bulk_buf_add(struct m0_rpc_bulk *rb, uint32_t segs_nr,
				  m0_bcount_t           length,
				  struct m0_net_domain *netdom,
				  struct m0_net_buffer *nb,
				  struct m0_rpc_bulk_buf **ret_buf);
/**
 * Appends memory of the caller to a buffer.
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
/** Buffers that m0_rpc_bulk_add() will make of `nr` bytes in `segs_nr`
 * segments, so that a body can be sized. */
M0_EXTERN uint32_t m0_rpc_bulk_bufs_nr(struct m0_net_domain *netdom,
				       uint32_t segs_nr, m0_bcount_t nr);
M0_EXTERN void m0_rpc_bulk_qtype(struct m0_rpc_bulk    *rb,
				 enum m0_net_queue_type q);
/**
 * Requester: registers and offers the buffers; writes one descriptor for each,
 * in order, which the caller frees with m0_net_desc_free(). With an error none
 * is offered. Any thread.
 * @retval -EBADR  the queue type is not a passive one.
 */
M0_EXTERN int m0_rpc_bulk_store(struct m0_rpc_bulk          *rb,
				const struct m0_rpc_conn    *conn,
				struct m0_net_buf_desc_data *to_desc);
/**
 * Server: moves the data: buffer i of the list with descriptor i. `machine` is
 * the handler's. Partial failure cancels the rest; the outcome is rb_rc when
 * the list is empty, also if this returns an error.
 * @retval -EBADR  not an active queue type.
 * @retval -EMSGSIZE  a buffer is smaller than what its descriptor says it must
 *                    take; nothing was moved.
 */
M0_EXTERN int m0_rpc_bulk_load(struct m0_rpc_bulk                *rb,
			       struct m0_rpc_machine             *machine,
			       const struct m0_net_buf_desc_data *from_desc);
/** Withdraws offered buffers; the list is empty soon after. Any thread. */
M0_EXTERN void m0_rpc_bulk_store_del(struct m0_rpc_bulk *rb);
/** Blocks until the list is empty; rb_rc. Not from a callback. */
M0_EXTERN int m0_rpc_bulk_wait(struct m0_rpc_bulk *rb);
/** Frees buffers never offered. */
M0_EXTERN void        m0_rpc_bulk_buflist_empty(struct m0_rpc_bulk *rb);
M0_EXTERN bool        m0_rpc_bulk_is_empty(struct m0_rpc_bulk *rb);
M0_EXTERN m0_bcount_t m0_rpc_bulk_buf_length(struct m0_rpc_bulk *rb);

/** Encodes a descriptor with its length at a body's place; see
 * m0_rpc_bulk_desc_size(). @return bytes written. */
M0_EXTERN m0_bcount_t m0_rpc_bulk_desc_put(
	void *bytes, const struct m0_net_buf_desc_data *desc);
M0_EXTERN m0_bcount_t m0_rpc_bulk_desc_size(
	const struct m0_net_buf_desc_data *desc);
/** Takes one from a body; the descriptor points into it.
 * @return bytes read. @retval -EPROTO  not one. */
M0_EXTERN int64_t m0_rpc_bulk_desc_get(const void *bytes, m0_bcount_t nr,
				       struct m0_net_buf_desc_data *ret_desc);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_BULK_H */
