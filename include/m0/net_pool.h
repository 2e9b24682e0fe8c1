/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pools of registered buffers, with colours.
 *
 * A pool holds buffers of one shape, registered with one domain. A buffer that
 * is put back with a colour (one for each machine, or group of processors) is
 * preferred by the next get of that colour, because its memory is still in that
 * processor's cache: get prefers the most recently put of its own colour, then
 * a buffer of no colour, then the least recently put of another. A colour
 * lapses when the buffer has lain in the pool for nbp_colour_lapse. All
 * operations take constant time (a lapse: constant for each lapsed buffer).
 *
 * Functions marked "locked" need the pool's lock; they are non-blocking. Both
 * callbacks run under it.
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
	/** A free buffer is there again; m0_net_domain_buffer_pool_not_empty. */
	void (*nbpo_not_empty)(struct m0_net_buffer_pool *pool);
	/** Fewer than nbp_threshold are free; may provision. */
	void (*nbpo_below_threshold)(struct m0_net_buffer_pool *pool);
};

struct m0_net_buffer_pool {
	/** Buffers in the pool. */
	uint32_t nbp_free;
	uint32_t nbp_threshold;
	uint32_t nbp_seg_nr;
	/** Buffers of the pool, in it and out. */
	uint32_t              nbp_buf_nr;
	m0_bcount_t           nbp_seg_size;
	struct m0_mutex       nbp_mutex;
	struct m0_net_domain *nbp_ndom;
	/** Set before or after init; NULL members are not called. */
	const struct m0_net_buffer_pool_ops *nbp_ops;
	uint32_t                             nbp_colours_nr;
	/**
	 * nbp_colours_nr lists, most recently put first. They are of the type
	 * m0_net_tm: m0_net_tm_tlist_head() and the others work on them.
	 */
	struct m0_tl *nbp_colours;
	/** log2 of the alignment of segments. */
	unsigned nbp_align;
	bool     nbp_dont_dump;
	/** All free buffers, least recently put first. */
	struct m0_tl nbp_lru;
	/** Those of no colour, least recently put first. */
	struct m0_tl nbp_uncoloured;
	/** Nanoseconds until a colour lapses; default 1 s, NEVER: not. */
	m0_time_t nbp_colour_lapse;
	/** Links the pool to its domain's provisioner; private. */
	struct m0_list_link   nbp_prov_linkage;
	struct m0_net_buffer *nbp_lapse_next;
};

M0_TL_DESCR_DECLARE(m0_net_pool, M0_EXTERN);
M0_TL_DECLARE(m0_net_pool, M0_EXTERN, struct m0_net_buffer);

/**
 * Initialises an empty pool. Pre: 0 < seg_nr, within the domain's
 * limit, and 0 < seg_size; where that breaks another limit, provision() makes
 * no buffers.
 * @param threshold  below this many free buffers nbpo_below_threshold is called.
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
 * Frees all buffers. Pre: all are in the pool; no machine is attached to it.
 * @retval -EBUSY  a buffer is out; nothing has changed.
 */
M0_EXTERN int m0_net_buffer_pool_fini(struct m0_net_buffer_pool *pool);
/** Makes and puts up to buf_nr buffers; returns how many. Locked. */
M0_EXTERN int m0_net_buffer_pool_provision(struct m0_net_buffer_pool *pool,
					   uint32_t                   buf_nr);
/** A buffer, nb_pool set; NULL if there is none. Locked. */
M0_EXTERN struct m0_net_buffer *m0_net_buffer_pool_get(
	struct m0_net_buffer_pool *pool, uint32_t colour);
/**
 * Puts a buffer back. Locked. Pre: registered with the pool's domain, not
 * queued, nb_ep NULL, in no pool; colour valid or ANY.
 */
M0_EXTERN void m0_net_buffer_pool_put(struct m0_net_buffer_pool *pool,
				      struct m0_net_buffer      *buf,
				      uint32_t                   colour);
/**
 * For the callback of a receive buffer that was cancelled because its machine
 * stops: it is not put back then by the library; the application will, when it
 * is done with what came before. Locked.
 */
M0_EXTERN void m0_net_buffer_pool_keep(struct m0_net_buffer_pool *pool,
				       struct m0_net_buffer      *buf);
/** Frees the least recently put if more than the threshold are free. Locked. */
M0_EXTERN bool m0_net_buffer_pool_prune(struct m0_net_buffer_pool *pool);

M0_EXTERN void m0_net_buffer_pool_lock(struct m0_net_buffer_pool *pool);
M0_EXTERN void m0_net_buffer_pool_unlock(struct m0_net_buffer_pool *pool);
/** By this thread. */
M0_EXTERN bool m0_net_buffer_pool_is_locked(
	const struct m0_net_buffer_pool *pool);
M0_EXTERN bool m0_net_buffer_pool_is_not_locked(
	const struct m0_net_buffer_pool *pool);
/** O(free). Locked. */
M0_EXTERN bool m0_net_buffer_pool_invariant(
	const struct m0_net_buffer_pool *pool);

#ifdef __cplusplus
}
#endif
#endif /* M0_NET_POOL_H */
