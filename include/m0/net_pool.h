/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Pools of registered buffers, with colours.
 *
 * A pool holds buffers of one shape, registered with one domain. The
 * application puts a buffer back with a colour, one for each TM or group of
 * processors. The next get of that colour prefers this buffer, because its
 * memory is still in that processor's cache: get prefers the most recently put
 * buffer of its own colour, then a buffer without a colour, then the least
 * recently put buffer of another colour. A buffer loses its colour when it has
 * been in the pool for nbp_colour_lapse. All operations take constant time
 * (plus constant time for each buffer that loses its colour).
 *
 * The caller of a function marked "locked" holds the pool's lock; these
 * functions do not block. The pool calls both callbacks under its lock.
 * [r.M0.net.network-buffer-pool] [r.messaging.efficient.buffer-use]
 */
#ifndef M0_NET_POOL_H
#define M0_NET_POOL_H

#include "m0/net.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	M0_NET_BUFFER_POOL_THRESHOLD = 2
};

struct m0_net_buffer_pool_ops {
	/**
	 * The pool was empty and has a free buffer now. Use
	 * m0_net_domain_buffer_pool_not_empty(), or call it.
	 */
	void (*nbpo_not_empty)(struct m0_net_buffer_pool *pool);
	/**
	 * Fewer than nbp_threshold buffers are free. The callback may
	 * provision.
	 */
	void (*nbpo_below_threshold)(struct m0_net_buffer_pool *pool);
};

struct m0_net_buffer_pool {
	/** Free buffers, which are in the pool. */
	uint32_t nbp_free;
	uint32_t nbp_threshold;
	uint32_t nbp_seg_nr;
	/** All buffers of the pool, free or in use. */
	uint32_t              nbp_buf_nr;
	m0_bcount_t           nbp_seg_size;
	struct m0_mutex       nbp_mutex;
	struct m0_net_domain *nbp_ndom;
	/**
	 * The application may set it before or after init. The pool does not
	 * call NULL members.
	 */
	const struct m0_net_buffer_pool_ops *nbp_ops;
	uint32_t                             nbp_colours_nr;
	/**
	 * Lists of the nbp_colours_nr colours, most recently put first. They
	 * have the list descriptor m0_net_tm, so m0_net_tm_tlist_head() and its
	 * siblings work on them.
	 */
	struct m0_tl *nbp_colours;
	/** log2 of the alignment of segments. */
	unsigned nbp_align;
	bool     nbp_dont_dump;
	/** All free buffers, least recently put first. */
	struct m0_tl nbp_lru;
	/** Free buffers without a colour, least recently put first. */
	struct m0_tl nbp_uncoloured;
	/**
	 * Nanoseconds until a buffer loses its colour; default 1 s,
	 * M0_TIME_NEVER: colours stay.
	 */
	m0_time_t nbp_colour_lapse;
	/** Links the pool to its domain's provisioner. Private. */
	struct m0_list_link   nbp_prov_linkage;
	struct m0_net_buffer *nbp_lapse_next;
};

M0_TL_DESCR_DECLARE(m0_net_pool, M0_EXTERN);
M0_TL_DECLARE(m0_net_pool, M0_EXTERN, struct m0_net_buffer);

/**
 * Initialises an empty pool. Pre: 0 < seg_nr, within the domain's limit, and 0
 * < seg_size. If other limits of the domain are exceeded, provision() creates
 * no buffers.
 * @param threshold  the pool calls nbpo_below_threshold when fewer buffers than
 *                   this are free.
 * @param seg_size   bytes of each of the `seg_nr` segments of a buffer.
 * @param colours    colours are 0 .. colours-1; 0: only M0_BUFFER_ANY_COLOUR.
 * @param shift      log2 of the alignment of segments, 0: none.
 * @param dont_dump  keep the memory out of core dumps.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_buffer_pool_init(struct m0_net_buffer_pool *pool,
				      struct m0_net_domain      *ndom,
				      uint32_t threshold, uint32_t seg_nr,
				      m0_bcount_t seg_size, uint32_t colours,
				      unsigned shift, bool dont_dump);
/**
 * Frees all buffers. Pre: no TM is attached to the pool.
 * @retval -EBUSY  a buffer is not in the pool; nothing has changed.
 */
M0_EXTERN int m0_net_buffer_pool_fini(struct m0_net_buffer_pool *pool);
/**
 * Creates up to buf_nr buffers and puts them into the pool. Returns how many.
 * Locked.
 */
M0_EXTERN int m0_net_buffer_pool_provision(struct m0_net_buffer_pool *pool,
					   uint32_t                   buf_nr);
/**
 * Takes a buffer from the pool and sets its nb_pool. Returns NULL if the pool
 * is empty. Locked.
 */
M0_EXTERN struct m0_net_buffer *m0_net_buffer_pool_get(
	struct m0_net_buffer_pool *pool, uint32_t colour);
/**
 * Puts a buffer back. Locked. Pre: registered with the pool's domain, not
 * queued, nb_ep NULL, in no pool; colour valid or M0_BUFFER_ANY_COLOUR.
 */
M0_EXTERN void m0_net_buffer_pool_put(struct m0_net_buffer_pool *pool,
				      struct m0_net_buffer      *buf,
				      uint32_t                   colour);
/**
 * Keeps the library from putting a buffer back. The callback of a receive
 * buffer that was cancelled because its TM stops calls this if the application
 * still uses messages in the buffer; the application then puts the buffer back
 * itself. Locked.
 */
M0_EXTERN void m0_net_buffer_pool_keep(struct m0_net_buffer_pool *pool,
				       struct m0_net_buffer      *buf);
/**
 * Frees the least recently put buffer if more than nbp_threshold are free.
 * Returns true if it freed one. Locked.
 */
M0_EXTERN bool m0_net_buffer_pool_prune(struct m0_net_buffer_pool *pool);

M0_EXTERN void m0_net_buffer_pool_lock(struct m0_net_buffer_pool *pool);
M0_EXTERN void m0_net_buffer_pool_unlock(struct m0_net_buffer_pool *pool);
/** True if the calling thread holds the pool's lock. */
M0_EXTERN bool m0_net_buffer_pool_is_locked(
	const struct m0_net_buffer_pool *pool);
M0_EXTERN bool m0_net_buffer_pool_is_not_locked(
	const struct m0_net_buffer_pool *pool);
/** Takes O(nbp_free) time. Locked. */
M0_EXTERN bool m0_net_buffer_pool_invariant(
	const struct m0_net_buffer_pool *pool);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_POOL_H */
