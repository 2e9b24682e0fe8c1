/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Buffers of a bulk: memory cut to the limits of a transport. What is added one
 * by one and what is cut by the library is the same thing in the end: a net
 * buffer over the caller's memory.
 */
#include "rpc/bulk/bulk.h"

/** A buffer whose net buffer is the library's; arrays of segments follow. */
struct bulk_own {
	struct m0_rpc_bulk_buf bo_rbuf;
	struct m0_net_buffer   bo_nbuf;
};

static struct m0_rpc_bulk_buf *own_new(uint32_t segs_nr)
{
	struct bulk_own  *own;
	size_t            per_seg = sizeof(m0_bcount_t) + sizeof(void *);
	struct m0_bufvec *bufvec;

	own = m0_alloc(sizeof *own + segs_nr * per_seg);
	if (own == NULL)
		return NULL;
	bufvec = &own->bo_nbuf.nb_buffer;
	bufvec->ov_vec.v_count = (m0_bcount_t *)(own + 1);
	bufvec->ov_buf = (void **)(bufvec->ov_vec.v_count + segs_nr);
	own->bo_rbuf.bb_nbuf = &own->bo_nbuf;
	own->bo_rbuf.bb_segs_max = segs_nr;
	own->bo_rbuf.bb_flags = M0_RPC_BULK_NETBUF_ALLOCATED;
	return &own->bo_rbuf;
}

static struct m0_rpc_bulk_buf *lent_get(struct m0_rpc_bulk *rb)
{
	if (rb->rb_one.bb_rbulk != NULL)
		return m0_alloc(sizeof rb->rb_one);
	M0_SET0(&rb->rb_one);
	return &rb->rb_one;
}

/* Around a buffer of the caller's: there is nothing left to be filled. */
static struct m0_rpc_bulk_buf *lent_new(struct m0_rpc_bulk   *rb,
					struct m0_net_buffer *nb,
					m0_bcount_t           length)
{
	struct m0_rpc_bulk_buf *rbuf = lent_get(rb);

	M0_PRE(nb != NULL);
	if (rbuf != NULL) {
		rbuf->bb_nbuf = nb;
		rbuf->bb_segs_nr = nb->nb_buffer.ov_vec.v_nr;
		rbuf->bb_segs_max = rbuf->bb_segs_nr;
		rbuf->bb_filled = length;
	}
	return rbuf;
}

static bool lent_fits(const struct m0_net_buffer *nb, m0_bcount_t length)
{
	m0_bcount_t size = m0_vec_count(&nb->nb_buffer.ov_vec);

	return nb->nb_offset <= size && length <= size - nb->nb_offset;
}

int m0_rpc_bulk_buf_add(struct m0_rpc_bulk *rb, uint32_t segs_nr,
			m0_bcount_t length, struct m0_net_domain *netdom,
			struct m0_net_buffer    *nb,
			struct m0_rpc_bulk_buf **ret_buf)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(rb->rb_magic == M0_RPC__BULK_MAGIC);
	if (length == 0 || length > netdom->nd_get_max_buffer_size)
		return -EMSGSIZE;
	if (nb == NULL &&
	    (segs_nr == 0 || segs_nr > netdom->nd_get_max_buffer_segments))
		return -EMSGSIZE;
	if (nb != NULL && !lent_fits(nb, length))
		return -EMSGSIZE;
	rbuf = nb == NULL ? own_new(segs_nr) : lent_new(rb, nb, length);
	if (rbuf == NULL)
		return -ENOMEM;
	rbuf->bb_length = length;
	m0_rpc__bulk_link(rb, rbuf);
	if (ret_buf != NULL)
		*ret_buf = rbuf;
	return 0;
}

int m0_rpc_bulk_buf_databuf_add(struct m0_rpc_bulk_buf *rbuf, void *buf,
				m0_bcount_t count, m0_bindex_t index,
				struct m0_net_domain *netdom)
{
	struct m0_bufvec *bufvec = &rbuf->bb_nbuf->nb_buffer;

	M0_PRE(rbuf->bb_rbulk != NULL);
	(void)index;
	if (rbuf->bb_segs_nr == rbuf->bb_segs_max ||
	    count > netdom->nd_get_max_buffer_segment_size ||
	    count > rbuf->bb_length - rbuf->bb_filled)
		return -EMSGSIZE;
	bufvec->ov_buf[rbuf->bb_segs_nr] = buf;
	bufvec->ov_vec.v_count[rbuf->bb_segs_nr] = count;
	++rbuf->bb_segs_nr;
	rbuf->bb_filled += count;
	return 0;
}

/* -------------------------------------------------------------- cutting -- */

/* Bytes from the cursor on that make one piece, of `max` at most. */
static m0_bcount_t piece(const struct m0_bufvec_cursor *cur, m0_bcount_t max,
			 const struct m0_net_domain *dom)
{
	return min64u(min64u(max, m0_bufvec_cursor_step(cur)),
		      dom->nd_get_max_buffer_segment_size);
}

static bool at_end(const struct m0_bufvec_cursor *cur)
{
	/* A move by nothing leaves empty segments. */
	struct m0_bufvec_cursor copy = *cur;

	return m0_bufvec_cursor_move(&copy, 0);
}

/* How many of the next `max` bytes fit into one buffer, in how many pieces. */
static m0_bcount_t measure(struct m0_bufvec_cursor cur, m0_bcount_t max,
			   const struct m0_net_domain *dom, uint32_t *ret_segs)
{
	m0_bcount_t nr = 0;
	m0_bcount_t step;

	*ret_segs = 0;
	while (nr < max && *ret_segs < dom->nd_get_max_buffer_segments &&
	       !at_end(&cur)) {
		step = piece(&cur, max - nr, dom);
		(void)m0_bufvec_cursor_move(&cur, step);
		nr += step;
		++*ret_segs;
	}
	return nr;
}

/* One buffer of the next `nr` bytes. */
static int cut(struct m0_rpc_bulk *rb, struct m0_bufvec_cursor *cur,
	       m0_bcount_t nr, uint32_t segs_nr, struct m0_net_domain *dom)
{
	struct m0_rpc_bulk_buf *rbuf;
	m0_bcount_t             step;
	int rc = m0_rpc_bulk_buf_add(rb, segs_nr, nr, dom, NULL, &rbuf);

	M0_PRE(nr > 0);
	for (; rc == 0 && nr > 0; nr -= step) {
		step = piece(cur, nr, dom);
		rc = m0_rpc_bulk_buf_databuf_add(
			rbuf, m0_bufvec_cursor_addr(cur), step, 0, dom);
		(void)m0_bufvec_cursor_move(cur, step);
	}
	M0_ASSERT(rc == 0 || rc == -ENOMEM);
	return rc;
}

int m0_rpc_bulk_add(struct m0_rpc_bulk *rb, const struct m0_bufvec *memory,
		    struct m0_net_domain *netdom)
{
	struct m0_bufvec_cursor cur;
	m0_bcount_t             nr;
	uint32_t                segs_nr;
	int                     bufs_nr = 0;
	int                     rc = 0;

	M0_PRE(rb->rb_magic == M0_RPC__BULK_MAGIC);
	m0_bufvec_cursor_init(&cur, memory);
	while (rc == 0 && !at_end(&cur)) {
		nr = measure(cur, netdom->nd_get_max_buffer_size, netdom,
			     &segs_nr);
		rc = cut(rb, &cur, nr, segs_nr, netdom);
		if (rc == 0)
			++bufs_nr;
	}
	for (; rc != 0 && bufs_nr > 0; --bufs_nr)
		m0_rpc__bulk_unlink_last(rb);
	return rc ?: bufs_nr;
}

/* The next buffer, as a descriptor says. */
static int cut_as(struct m0_rpc_bulk *rb, struct m0_bufvec_cursor *cur,
		  m0_bcount_t nr, struct m0_net_domain *dom)
{
	uint32_t segs_nr;

	if (nr == 0)
		return -EPROTO;
	if (nr > dom->nd_get_max_buffer_size ||
	    measure(*cur, nr, dom, &segs_nr) != nr)
		return -EMSGSIZE;
	return cut(rb, cur, nr, segs_nr, dom);
}

int m0_rpc_bulk_add_as(struct m0_rpc_bulk *rb, const struct m0_bufvec *memory,
		       struct m0_net_domain              *netdom,
		       const struct m0_net_buf_desc_data *desc, uint32_t nr)
{
	struct m0_bufvec_cursor cur;
	uint32_t                i;
	int                     rc = 0;

	M0_PRE(desc != NULL || nr == 0);
	m0_bufvec_cursor_init(&cur, memory);
	for (i = 0; i < nr; ++i) {
		rc = cut_as(rb, &cur, desc[i].bdd_used, netdom);
		if (rc != 0)
			break;
	}
	for (; rc != 0 && i > 0; --i)
		m0_rpc__bulk_unlink_last(rb);
	return rc;
}

uint32_t m0_rpc_bulk_bufs_nr(struct m0_net_domain *netdom, uint32_t segs_nr,
			     m0_bcount_t nr)
{
	m0_bcount_t seg_max = netdom->nd_get_max_buffer_segment_size;
	uint64_t    segs_max = netdom->nd_get_max_buffer_segments;
	m0_bcount_t size =
		min64u(netdom->nd_get_max_buffer_size, seg_max * segs_max);
	uint64_t full = nr / size;

	if (nr == 0)
		return 0;
	if (segs_nr <= 1)
		return (uint32_t)((nr + size - 1) / size);
	/* A segment too long makes a piece more for each seg_max bytes, and so
	 * does the end of a full buffer; and they are never all full. */
	return (uint32_t)(full + (segs_nr + nr / seg_max + full) / segs_max +
			  1);
}
