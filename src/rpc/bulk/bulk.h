/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Between bulk.c, which moves a list of buffers, and bulk_add.c, which makes
 * them and writes their descriptors into bodies.
 */
#ifndef M0_SRC_RPC_BULK_H
#define M0_SRC_RPC_BULK_H

#include "m0/rpc_bulk.h"
#include "rpc/rpc_internal.h"

enum {
	M0_RPC__BULK_MAGIC = 0x72756c6b,
	M0_RPC__BULK_BUF_MAGIC = 0x72626266,
	M0_RPC__BULK_LIST_MAGIC = 0x72626c73
};

/** rb_flags. */
enum m0_rpc__bulk_flags {
	/** Stored or loaded, and the list is not empty. */
	M0_RPC__BULK_BUSY = 1,
	/** The store has failed: rb_done is not called. */
	M0_RPC__BULK_QUIET = 2,
	/** The list was cancelled: start nothing again. */
	M0_RPC__BULK_STOPS = 4,
	/** Keep moved buffers offered until rb_item has ended. */
	M0_RPC__BULK_HOLDS = 8,
	/** Start failed buffers again; holds a reference to rb_item. */
	M0_RPC__BULK_ANEW = 16,
	/** m0_rpc__bulk_know() was called. */
	M0_RPC__BULK_KNOWN = 32
};

/** bb_flags, beside those of m0/rpc_bulk.h. */
enum m0_rpc__bulk_buf_flags {
	/** Offered: it was moved, bb_expected bytes, and is offered again. */
	M0_RPC__BULK_BUF_MOVED = 1 << 8,
	/** Moved: it has failed, and waits to be begun anew; it is its turn. */
	M0_RPC__BULK_BUF_PAUSED = 1 << 9,
	M0_RPC__BULK_BUF_DUE = 1 << 10
};

/** A buffer ends, in no queue any more. With rb_mutex; the machine's thread.
 * True: it was the last; rb_mutex is released, and rb may be gone. */
bool m0_rpc__bulk_over(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		       int rc);
/** The turn of all that are paused has come. With rb_mutex. */
void m0_rpc__bulk_paused_due(struct m0_rpc_bulk *rb);
/** Takes one whose turn has come; NULL: none. With rb_mutex. */
struct m0_rpc_bulk_buf *m0_rpc__bulk_due(struct m0_rpc_bulk *rb);
/** Takes a buffer into the list, at its end. */
void m0_rpc__bulk_link(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf);
/** Frees the last of the list. */
void m0_rpc__bulk_unlink_last(struct m0_rpc_bulk *rb);

static inline bool m0_rpc__bulk_is_send(enum m0_net_queue_type q)
{
	return q == M0_NET_QT_PASSIVE_BULK_SEND ||
	       q == M0_NET_QT_ACTIVE_BULK_SEND;
}

/* ---------------------------------------------------------- bulk_wire.c -- */

/** One of the ways in a descriptor: m0_rpc__at() of the server's address, and
 * the transport's descriptor. */
struct m0_rpc__bulk_way {
	uint64_t               bwy_at;
	struct m0_net_buf_desc bwy_desc;
};

/** Makes one descriptor of several. @retval -ENOMEM */
int m0_rpc__bulk_desc_join(const struct m0_rpc__bulk_way *ways, uint32_t nr,
			   struct m0_net_buf_desc *ret);
/**
 * Takes it apart, without copying.
 * @param ret  of M0_RPC_BULK_WAYS_MAX.
 * @return     how many ways; 0: it is a transport's. @retval -EPROTO
 */
int m0_rpc__bulk_desc_part(const struct m0_net_buf_desc *desc, m0_bcount_t max,
			   struct m0_rpc__bulk_way *ret);

/* ---------------------------------------------------------- bulk_ways.c -- */

/** Offers of a buffer besides the first, by bsp_nb; and what became of all. */
struct m0_rpc__bulk_spares {
	uint32_t bsp_nr;
	/** By bit, that are in a queue: 0 is the first, 1 bsp_nb[0]. */
	uint32_t bsp_queued;
	/** The buffer was moved over one of the offers, with so many bytes. */
	bool                 bsp_moved;
	m0_bcount_t          bsp_moved_bytes;
	int32_t              bsp_rc;
	struct m0_net_buffer bsp_nb[M0_RPC_BULK_WAYS_MAX - 1];
};

/** How a buffer may be moved. */
struct m0_rpc__bulk_ways {
	uint32_t bws_nr;
	/** By bit: that were tried. */
	uint32_t bws_tried;
	uint32_t bws_now;
	/** m0_rpc__at() of the address to prefer among the ways not tried. */
	uint64_t bws_want;
	/** The first error. */
	int32_t                 bws_rc;
	struct m0_rpc__bulk_way bws_way[M0_RPC_BULK_WAYS_MAX];
	uint8_t                 bws_bytes[];
};

/** Makes spares of a buffer that is registered and otherwise ready, for `nr`
 * offers: as many as there is memory for. */
void m0_rpc__bulk_spares_make(struct m0_rpc_bulk_buf *rbuf, uint32_t nr);
/** Offers it and them; the first must succeed. @retval <0  nothing is. */
int m0_rpc__bulk_spares_add(struct m0_rpc_bulk_buf   *rbuf,
			    const struct m0_rpc__way *ways, m0_time_t expires);
/** One of its offers has ended, with *rc and *nr bytes. True: the last, and these
 * are what it comes to. */
bool m0_rpc__bulk_spare_ended(struct m0_rpc_bulk         *rb,
			      struct m0_rpc_bulk_buf     *rbuf,
			      const struct m0_net_buffer *nb, int *rc,
			      m0_bcount_t *nr);
void m0_rpc__bulk_spares_del(struct m0_rpc_bulk_buf *rbuf);
/** One of its offers was moved. True: it is offered again, as its request has not
 * ended, and the peer may not know of it. */
bool m0_rpc__bulk_offer_again(struct m0_rpc_bulk           *rb,
			      const struct m0_rpc_bulk_buf *rbuf,
			      struct m0_net_buffer         *nb);
/** The descriptor of all offers; the first's if there is no memory. */
void m0_rpc__bulk_spares_desc(struct m0_rpc_bulk_buf   *rbuf,
			      const struct m0_rpc__way *ways,
			      struct m0_net_buf_desc   *ret);
void m0_rpc__bulk_spares_free(struct m0_rpc_bulk_buf *rbuf);

/** Take the ways of a descriptor; bb_ways stays NULL if a transport made it.
 * @retval -EPROTO, -ENOMEM */
int m0_rpc__bulk_ways_get(struct m0_rpc_bulk_buf       *rbuf,
			  const struct m0_net_buf_desc *desc, m0_bcount_t max);
/** Begins it over the best way not tried yet; `tm` is for those that lead to no
 * address of the machine. @retval <0  there is none; the first error. */
int m0_rpc__bulk_way_begin(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
			   struct m0_net_transfer_mc *tm);
/** The buffer has failed with this error. True: it was started over another
 * way. */
bool m0_rpc__bulk_way_failed(struct m0_rpc_bulk     *rb,
			     struct m0_rpc_bulk_buf *rbuf, int *rc);

/** True: a better way to that address has not been tried, and is the next. */
bool m0_rpc__bulk_way_turns(struct m0_rpc__bulk_ways *ways, uint64_t at);

/** Begins a buffer anew, over all of its ways. @retval <0  of the add. */
int m0_rpc__bulk_again(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		       struct m0_net_transfer_mc *tm);

/* ---------------------------------------------------------- bulk_anew.c -- */

/** A request of a stream: what fails of its bulk is begun anew until the
 * deadline of the request. With rb_mutex; rb_item is set. */
void m0_rpc__bulk_anew_allow(struct m0_rpc_bulk *rb);
/** A buffer has failed. True: it will be begun anew. With rb_mutex. */
bool m0_rpc__bulk_anew(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		       int rc);
/** A buffer of a list that has rb_again was moved: the next pause is the shortest.
 * With rb_mutex. */
void m0_rpc__bulk_anew_moved(struct m0_rpc_bulk *rb);
/** The list is empty: what the above has made goes. @return the reference to be
 * put when rb_mutex is released; NULL. */
const struct m0_rpc_item *m0_rpc__bulk_anew_end(struct m0_rpc_bulk *rb);
/** Might it be well another time, or over another way? */
bool m0_rpc__bulk_rc_passes(int rc);

/** Register the list with its item. With rb_mutex. */
void m0_rpc__bulk_know(struct m0_rpc_bulk *rb);
/** Remove a list that ends. */
void m0_rpc__bulk_forget(struct m0_rpc_bulk *rb);

#endif /* M0_SRC_RPC_BULK_H */
