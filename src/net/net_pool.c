/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Pools of buffers.
 *
 * A free buffer is in nbp_lru, ordered by the time it was put, and in one more
 * list: its colour's, most recently put first, or nbp_uncoloured. That list uses
 * nb_tm_linkage, as a buffer in a pool is in no queue. Every choice
 * of get is the head of one of the three. Colours lapse in the order of
 * nbp_lru: nbp_lapse_next is the first buffer in it that still has one.
 */
#include "net/net_internal.h"
#include "base/probes.h"
#include "os/os.h"

M0_TL_DESCR_DEFINE(m0_net_pool, "pool", , struct m0_net_buffer, nb_lru,
		   nb_magic, M0_NET_BUFFER_MAGIC, M0_NET_BUFFER_HEAD_MAGIC);
M0_TL_DEFINE(m0_net_pool, , struct m0_net_buffer);

enum {
	/** log2 of the size of a page. */
	PAGE_SHIFT = 12
};

/* One second. */
static const m0_time_t COLOUR_LAPSE_DEF_NS = 1000000000;

static bool colour_is_valid(const struct m0_net_buffer_pool *pool,
			    uint32_t                         colour)
{
	return colour == M0_BUFFER_ANY_COLOUR || colour < pool->nbp_colours_nr;
}

bool m0_net_buffer_pool_invariant(const struct m0_net_buffer_pool *pool)
{
	size_t   coloured = 0;
	uint32_t i;

	for (i = 0; i < pool->nbp_colours_nr; ++i)
		coloured += net_q_tlist_length(&pool->nbp_colours[i]);
	return _0C(m0_mutex_is_locked(&pool->nbp_mutex)) &&
	       _0C(pool->nbp_ndom != NULL) &&
	       _0C(pool->nbp_free <= pool->nbp_buf_nr) &&
	       _0C(m0_net_pool_tlist_length(&pool->nbp_lru) ==
		   pool->nbp_free) &&
	       _0C(net_q_tlist_length(&pool->nbp_uncoloured) + coloured ==
		   pool->nbp_free);
}

int m0_net_buffer_pool_init(struct m0_net_buffer_pool *pool,
			    struct m0_net_domain *ndom, uint32_t threshold,
			    uint32_t seg_nr, m0_bcount_t seg_size,
			    uint32_t colours, unsigned shift, bool dont_dump)
{
	uint32_t i;

	M0_PRE(m0_net__domain_invariant(ndom));
	M0_PRE(seg_nr > 0 && seg_nr <= ndom->nd_get_max_buffer_segments);
	M0_PRE(seg_size > 0);

	if (m0_net__provisioner_get(ndom) != 0)
		return -ENOMEM;
	if (colours == 0) {
		pool->nbp_colours = NULL;
	} else {
		M0_ALLOC_ARR(pool->nbp_colours, colours);
		if (pool->nbp_colours == NULL)
			return -ENOMEM;
	}
	pool->nbp_free = 0;
	pool->nbp_buf_nr = 0;
	pool->nbp_threshold = threshold;
	pool->nbp_seg_nr = seg_nr;
	pool->nbp_seg_size = seg_size;
	pool->nbp_ndom = ndom;
	pool->nbp_colours_nr = colours;
	pool->nbp_align = shift;
	pool->nbp_dont_dump = dont_dump;
	pool->nbp_colour_lapse = COLOUR_LAPSE_DEF_NS;
	pool->nbp_lapse_next = NULL;
	m0_mutex_init(&pool->nbp_mutex);
	m0_list_link_init(&pool->nbp_prov_linkage);
	m0_net_pool_tlist_init(&pool->nbp_lru);
	net_q_tlist_init(&pool->nbp_uncoloured);
	for (i = 0; i < colours; ++i)
		net_q_tlist_init(&pool->nbp_colours[i]);
	m0_mutex_lock(&ndom->nd_mutex);
	++ndom->nd_pools_nr;
	m0_mutex_unlock(&ndom->nd_mutex);
	return 0;
}

/* ------------------------------------------------- memory of a buffer -- */

static unsigned pool_shift(const struct m0_net_buffer_pool *pool)
{
	/*
	 * Memory of whole pages comes out of the regions that drivers register,
	 * and memory kept out of dumps is given and taken by whole pages.
	 */
	bool pages = pool->nbp_dont_dump ||
		     pool->nbp_seg_size >= (m0_bcount_t)1 << PAGE_SHIFT;

	return pages && pool->nbp_align < PAGE_SHIFT ? PAGE_SHIFT
						     : pool->nbp_align;
}

static void memory_dump_set(struct m0_bufvec *bv, bool dump)
{
	uint32_t i;

	for (i = 0; i < bv->ov_vec.v_nr; ++i)
		m0_os_dump_set(bv->ov_buf[i], bv->ov_vec.v_count[i], dump);
}

/* The data path shall not meet a page for the first time. */
static void memory_touch(struct m0_bufvec *bv)
{
	uint32_t i;

	for (i = 0; i < bv->ov_vec.v_nr; ++i)
		memset(bv->ov_buf[i], 0, bv->ov_vec.v_count[i]);
}

static void buffer_free(struct m0_net_buffer_pool *pool,
			struct m0_net_buffer      *buf)
{
	if (pool->nbp_dont_dump)
		memory_dump_set(&buf->nb_buffer, true);
	m0_bufvec_free_aligned(&buf->nb_buffer, pool_shift(pool));
	m0_free(buf);
}

/* NULL: no memory, or the domain refuses buffers of this shape. */
static struct m0_net_buffer *buffer_make(struct m0_net_buffer_pool *pool)
{
	struct m0_net_buffer *buf;
	int                   rc;

	M0_ALLOC_PTR(buf);
	if (buf == NULL)
		return NULL;
	rc = m0_bufvec_alloc_aligned(&buf->nb_buffer, pool->nbp_seg_nr,
				     pool->nbp_seg_size, pool_shift(pool));
	if (rc != 0) {
		m0_free(buf);
		return NULL;
	}
	memory_touch(&buf->nb_buffer);
	if (pool->nbp_dont_dump)
		memory_dump_set(&buf->nb_buffer, false);
	rc = m0_net_buffer_register(buf, pool->nbp_ndom);
	if (rc != 0) {
		m0_log(M0_LOG_WARN,
		       "net: pool: buffer of %u segments of %" PRIu64
		       " bytes refused: %s",
		       pool->nbp_seg_nr, pool->nbp_seg_size, m0_errname(rc));
		buffer_free(pool, buf);
		return NULL;
	}
	return buf;
}

/* ------------------------------------------------------------ in, out -- */

/* First buffer from `buf` on that has a colour. */
static struct m0_net_buffer *coloured_from(struct m0_net_buffer_pool *pool,
					   struct m0_net_buffer      *buf)
{
	while (buf != NULL && buf->nb_colour == M0_BUFFER_ANY_COLOUR)
		buf = m0_net_pool_tlist_next(&pool->nbp_lru, buf);
	return buf;
}

static void buffer_take(struct m0_net_buffer_pool *pool,
			struct m0_net_buffer      *buf)
{
	if (pool->nbp_lapse_next == buf)
		pool->nbp_lapse_next = coloured_from(
			pool, m0_net_pool_tlist_next(&pool->nbp_lru, buf));
	m0_net_pool_tlist_del(buf);
	net_q_tlist_del(buf);
	--pool->nbp_free;
}

/* Each buffer loses its colour at most once for each put. */
static void colours_lapse(struct m0_net_buffer_pool *pool)
{
	struct m0_net_buffer *buf = pool->nbp_lapse_next;
	m0_time_t             now;

	if (buf == NULL || pool->nbp_colour_lapse == M0_TIME_NEVER)
		return;
	now = m0_time_cached();
	while (buf != NULL &&
	       m0_time_add(buf->nb_put_time, pool->nbp_colour_lapse) <= now) {
		buf->nb_colour = M0_BUFFER_ANY_COLOUR;
		net_q_tlist_move_tail(&pool->nbp_uncoloured, buf);
		buf = coloured_from(pool, buf);
	}
	pool->nbp_lapse_next = buf;
}

struct m0_net_buffer *m0_net_buffer_pool_get(struct m0_net_buffer_pool *pool,
					     uint32_t                   colour)
{
	struct m0_net_buffer *buf = NULL;

	M0_PRE(m0_mutex_is_locked(&pool->nbp_mutex));
	M0_PRE(colour_is_valid(pool, colour));

	colours_lapse(pool);
	if (pool->nbp_free > 0) {
		if (colour != M0_BUFFER_ANY_COLOUR)
			buf = net_q_tlist_head(&pool->nbp_colours[colour]);
		buf = buf ?: net_q_tlist_head(&pool->nbp_uncoloured) ?:
		      m0_net_pool_tlist_head(&pool->nbp_lru);
		buffer_take(pool, buf);
		buf->nb_pool = pool;
	}
	if (pool->nbp_free < pool->nbp_threshold) {
		m0_probe_pool_low(pool->nbp_free);
		if (pool->nbp_ops != NULL &&
		    pool->nbp_ops->nbpo_below_threshold != NULL)
			pool->nbp_ops->nbpo_below_threshold(pool);
	}
	return buf;
}

void m0_net_buffer_pool_put(struct m0_net_buffer_pool *pool,
			    struct m0_net_buffer *buf, uint32_t colour)
{
	M0_PRE(m0_mutex_is_locked(&pool->nbp_mutex));
	M0_PRE(colour_is_valid(pool, colour));
	M0_PRE(buf->nb_dom == pool->nbp_ndom && buf->nb_ep == NULL);
	M0_PRE(buf->nb_flags == M0_NET_BUF_REGISTERED);
	M0_PRE(!m0_net__pool_has(buf));

	if (m0_list_link_is_in(&buf->nb_return_linkage))
		m0_list_del(&buf->nb_return_linkage);
	colours_lapse(pool);
	buf->nb_put_time = m0_time_cached();
	buf->nb_colour = colour;
	m0_net_pool_tlist_add_tail(&pool->nbp_lru, buf);
	if (colour == M0_BUFFER_ANY_COLOUR) {
		net_q_tlist_add_tail(&pool->nbp_uncoloured, buf);
	} else {
		net_q_tlist_add(&pool->nbp_colours[colour], buf);
		if (pool->nbp_lapse_next == NULL)
			pool->nbp_lapse_next = buf;
	}
	++pool->nbp_free;
	if (pool->nbp_free == 1 && pool->nbp_ops != NULL &&
	    pool->nbp_ops->nbpo_not_empty != NULL)
		pool->nbp_ops->nbpo_not_empty(pool);
}

void m0_net_buffer_pool_keep(struct m0_net_buffer_pool *pool,
			     struct m0_net_buffer      *buf)
{
	M0_PRE(m0_net_buffer_pool_is_locked(pool));
	if (m0_list_link_is_in(&buf->nb_return_linkage))
		m0_list_del(&buf->nb_return_linkage);
}

bool m0_net__pool_has(const struct m0_net_buffer *buf)
{
	return m0_net_pool_tlink_is_in(buf);
}

int m0_net_buffer_pool_provision(struct m0_net_buffer_pool *pool,
				 uint32_t                   buf_nr)
{
	struct m0_net_buffer *buf;
	uint32_t              nr = 0;

	M0_PRE(m0_mutex_is_locked(&pool->nbp_mutex));
	while (nr < buf_nr && (buf = buffer_make(pool)) != NULL) {
		++pool->nbp_buf_nr;
		++nr;
		m0_net_buffer_pool_put(pool, buf, M0_BUFFER_ANY_COLOUR);
	}
	return (int)nr;
}

static void head_free(struct m0_net_buffer_pool *pool)
{
	struct m0_net_buffer *buf = m0_net_pool_tlist_head(&pool->nbp_lru);
	int                   rc;

	buffer_take(pool, buf);
	--pool->nbp_buf_nr;
	rc = m0_net_buffer_deregister(buf, pool->nbp_ndom);
	M0_ASSERT(rc == 0);
	buffer_free(pool, buf);
}

bool m0_net_buffer_pool_prune(struct m0_net_buffer_pool *pool)
{
	M0_PRE(m0_mutex_is_locked(&pool->nbp_mutex));
	if (pool->nbp_free <= pool->nbp_threshold)
		return false;
	head_free(pool);
	return true;
}

int m0_net_buffer_pool_fini(struct m0_net_buffer_pool *pool)
{
	struct m0_net_domain *dom = pool->nbp_ndom;
	uint32_t              i;
	bool                  busy;

	M0_PRE(m0_mutex_is_not_locked(&pool->nbp_mutex));
	m0_net__provisioner_forget(pool);
	m0_mutex_lock(&pool->nbp_mutex);
	busy = pool->nbp_free != pool->nbp_buf_nr;
	while (!busy && pool->nbp_free > 0)
		head_free(pool);
	/* The pool lives on, with the buffers that it has. */
	if (pool->nbp_free > 0)
		m0_net_domain_buffer_pool_not_empty(pool);
	m0_mutex_unlock(&pool->nbp_mutex);
	if (busy)
		return -EBUSY;
	for (i = 0; i < pool->nbp_colours_nr; ++i)
		net_q_tlist_fini(&pool->nbp_colours[i]);
	m0_free0(&pool->nbp_colours);
	net_q_tlist_fini(&pool->nbp_uncoloured);
	m0_net_pool_tlist_fini(&pool->nbp_lru);
	m0_mutex_fini(&pool->nbp_mutex);
	m0_mutex_lock(&dom->nd_mutex);
	--dom->nd_pools_nr;
	m0_mutex_unlock(&dom->nd_mutex);
	return 0;
}

void m0_net_buffer_pool_lock(struct m0_net_buffer_pool *pool)
{
	m0_mutex_lock(&pool->nbp_mutex);
}

void m0_net_buffer_pool_unlock(struct m0_net_buffer_pool *pool)
{
	m0_mutex_unlock(&pool->nbp_mutex);
}

bool m0_net_buffer_pool_is_locked(const struct m0_net_buffer_pool *pool)
{
	return m0_mutex_is_locked(&pool->nbp_mutex);
}

bool m0_net_buffer_pool_is_not_locked(const struct m0_net_buffer_pool *pool)
{
	return m0_mutex_is_not_locked(&pool->nbp_mutex);
}
