/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Bulk over several links. The passive side offers a buffer once for each link, over
 * the same memory: by a first net buffer, which is that of a bulk without links, and by
 * spares. The active side has one net buffer, which it moves from way to way.
 *
 * A buffer does not end when its bytes have been moved: bytes of ours may have been lost
 * after they left, and a peer whose bytes have arrived may not have seen that. The peer
 * then asks again over another way, and finds the buffer as long as the request has not
 * ended.
 */
#include "rpc/bulk/bulk.h"

/* ------------------------------------------------------------- passive -- */

static struct m0_net_buffer *offer_at(const struct m0_rpc_bulk_buf *rbuf,
				      uint32_t                      i)
{
	M0_PRE(i == 0 || i <= rbuf->bb_spares->bsp_nr);
	return i == 0 ? rbuf->bb_nbuf : &rbuf->bb_spares->bsp_nb[i - 1];
}

/* Offer the same memory with the attributes of the first buffer. */
static int spare_make(struct m0_net_buffer       *nb,
		      const struct m0_net_buffer *first)
{
	int rc;

	nb->nb_buffer = first->nb_buffer;
	rc = m0_net_buffer_register(nb, first->nb_dom);
	if (rc != 0)
		return rc;
	nb->nb_length = first->nb_length;
	nb->nb_offset = first->nb_offset;
	nb->nb_qtype = first->nb_qtype;
	nb->nb_callbacks = first->nb_callbacks;
	nb->nb_app_private = first->nb_app_private;
	return 0;
}

void m0_rpc__bulk_spares_make(struct m0_rpc_bulk_buf *rbuf, uint32_t nr)
{
	struct m0_rpc__bulk_spares *spares;

	M0_PRE(rbuf->bb_spares == NULL);
	M0_PRE(nr > 1 && nr <= M0_RPC_BULK_WAYS_MAX);
	M0_ALLOC_PTR(spares);
	rbuf->bb_spares = spares;
	if (spares == NULL)
		return;
	while (spares->bsp_nr < nr - 1 &&
	       spare_make(&spares->bsp_nb[spares->bsp_nr], rbuf->bb_nbuf) == 0)
		++spares->bsp_nr;
}

int m0_rpc__bulk_spares_add(struct m0_rpc_bulk_buf   *rbuf,
			    const struct m0_rpc__way *ways, m0_time_t expires)
{
	struct m0_rpc__bulk_spares *spares = rbuf->bb_spares;
	uint32_t                    i;
	int                         rc = 0;

	M0_PRE(spares != NULL && spares->bsp_queued == 0);
	for (i = 0; i <= spares->bsp_nr; ++i) {
		offer_at(rbuf, i)->nb_timeout = expires;
		rc = m0_net_buffer_add(offer_at(rbuf, i), ways[i].way_tm);
		if (rc == 0)
			spares->bsp_queued |= 1U << i;
		else if (i == 0)
			return rc;
	}
	return 0;
}

void m0_rpc__bulk_spares_del(struct m0_rpc_bulk_buf *rbuf)
{
	const struct m0_rpc__bulk_spares *spares = rbuf->bb_spares;
	struct m0_net_buffer             *nb;
	uint32_t                          i;

	M0_PRE(spares->bsp_nr < M0_RPC_BULK_WAYS_MAX);
	for (i = 0; i <= spares->bsp_nr; ++i) {
		nb = offer_at(rbuf, i);
		if (spares->bsp_queued & 1U << i)
			(void)m0_net_buffer_del(nb, nb->nb_tm);
	}
}

bool m0_rpc__bulk_offer_again(struct m0_rpc_bulk           *rb,
			      const struct m0_rpc_bulk_buf *rbuf,
			      struct m0_net_buffer         *nb)
{
	if (!(rb->rb_flags & M0_RPC__BULK_HOLDS))
		return false;
	m0_net_desc_free(&nb->nb_desc);
	nb->nb_length = rbuf->bb_filled;
	nb->nb_timeout = rb->rb_expires;
	return m0_net_buffer_add_again(nb, nb->nb_tm) == 0;
}

bool m0_rpc__bulk_spare_ended(struct m0_rpc_bulk         *rb,
			      struct m0_rpc_bulk_buf     *rbuf,
			      const struct m0_net_buffer *nb, int *rc,
			      m0_bcount_t *nr)
{
	struct m0_rpc__bulk_spares *spares = rbuf->bb_spares;
	uint32_t                    i = 0;

	while (offer_at(rbuf, i) != nb)
		++i;
	spares->bsp_queued &= ~(1U << i);
	if (*rc != 0 && (spares->bsp_rc == 0 || spares->bsp_rc == -ECANCELED))
		spares->bsp_rc = *rc;
	if (*rc == 0 && !spares->bsp_moved) {
		spares->bsp_moved = true;
		spares->bsp_moved_bytes = *nr;
	}
	if (*rc == 0 && m0_rpc__bulk_offer_again(rb, rbuf, offer_at(rbuf, i)))
		spares->bsp_queued |= 1U << i;
	if (spares->bsp_moved && !(rb->rb_flags & M0_RPC__BULK_HOLDS))
		m0_rpc__bulk_spares_del(rbuf);
	*rc = spares->bsp_moved ? 0 : spares->bsp_rc;
	*nr = spares->bsp_moved_bytes;
	return spares->bsp_queued == 0;
}

void m0_rpc__bulk_spares_desc(struct m0_rpc_bulk_buf   *rbuf,
			      const struct m0_rpc__way *ways,
			      struct m0_net_buf_desc   *ret)
{
	struct m0_rpc__bulk_way all[M0_RPC_BULK_WAYS_MAX];
	struct m0_net_buf_desc *first = &rbuf->bb_nbuf->nb_desc;
	uint32_t                nr = 0;
	uint32_t                i;

	for (i = 0; i <= rbuf->bb_spares->bsp_nr; ++i) {
		if (!(rbuf->bb_spares->bsp_queued & 1U << i))
			continue;
		all[nr].bwy_at = ways[i].way_at;
		all[nr++].bwy_desc = offer_at(rbuf, i)->nb_desc;
	}
	if (nr > 1 && m0_rpc__bulk_desc_join(all, nr, ret) == 0)
		return;
	*ret = *first;
	M0_SET0(first);
}

void m0_rpc__bulk_spares_free(struct m0_rpc_bulk_buf *rbuf)
{
	struct m0_rpc__bulk_spares *spares = rbuf->bb_spares;
	uint32_t                    i;
	int                         rc;

	M0_PRE(spares == NULL || spares->bsp_queued == 0);
	if (spares == NULL)
		return;
	for (i = 0; i < spares->bsp_nr; ++i) {
		m0_net_desc_free(&spares->bsp_nb[i].nb_desc);
		rc = m0_net_buffer_deregister(&spares->bsp_nb[i],
					      spares->bsp_nb[i].nb_dom);
		M0_ASSERT(rc == 0);
	}
	m0_free(spares);
	rbuf->bb_spares = NULL;
}

/* -------------------------------------------------------------- active -- */

int m0_rpc__bulk_ways_get(struct m0_rpc_bulk_buf       *rbuf,
			  const struct m0_net_buf_desc *desc, m0_bcount_t max)
{
	struct m0_rpc__bulk_way   way[M0_RPC_BULK_WAYS_MAX];
	struct m0_rpc__bulk_ways *ways;
	int                       nr = m0_rpc__bulk_desc_part(desc, max, way);

	M0_PRE(rbuf->bb_ways == NULL);
	if (nr <= 0)
		return nr;
	ways = m0_alloc(sizeof *ways + desc->nbd_len);
	if (ways == NULL)
		return -ENOMEM;
	memcpy(ways->bws_bytes, desc->nbd_data, desc->nbd_len);
	ways->bws_nr = (uint32_t)nr;
	while (nr-- > 0) {
		ways->bws_way[nr] = way[nr];
		ways->bws_way[nr].bwy_desc.nbd_data =
			ways->bws_bytes +
			(way[nr].bwy_desc.nbd_data - desc->nbd_data);
	}
	rbuf->bb_ways = ways;
	return 0;
}

/* The best one that was not tried; bws_nr: all were. */
static uint32_t way_next(const struct m0_rpc__bulk_ways *ways)
{
	uint32_t best = ways->bws_nr;
	uint32_t i;

	for (i = ways->bws_nr; i-- > 0;) {
		if (ways->bws_tried & 1U << i)
			continue;
		if (best == ways->bws_nr ||
		    ways->bws_way[best].bwy_at != ways->bws_want)
			best = i;
	}
	return best;
}

static void way_rc_note(struct m0_rpc__bulk_ways *ways, int rc)
{
	if (ways->bws_rc == 0 || ways->bws_rc == -ECANCELED)
		ways->bws_rc = rc;
}

static int way_add(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		   const struct m0_net_buf_desc *desc,
		   struct m0_net_transfer_mc    *tm)
{
	struct m0_net_buffer *nb = rbuf->bb_nbuf;
	int                   rc;

	m0_net_desc_free(&nb->nb_desc);
	rc = m0_net_desc_copy(desc, &nb->nb_desc);
	if (rc != 0)
		return rc;
	nb->nb_length = rbuf->bb_filled;
	nb->nb_ep = NULL;
	nb->nb_timeout = rb->rb_expires;
	return m0_net_buffer_add(nb, tm);
}

int m0_rpc__bulk_way_begin(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
			   struct m0_net_transfer_mc *tm)
{
	struct m0_rpc__bulk_ways *ways = rbuf->bb_ways;
	uint32_t                  i;
	int                       rc;

	M0_PRE(ways != NULL);
	while ((i = way_next(ways)) < ways->bws_nr) {
		ways->bws_tried |= 1U << i;
		ways->bws_now = i;
		rc = way_add(rb, rbuf, &ways->bws_way[i].bwy_desc,
			     m0_rpc__at_find(rb->rb_machine->rm_lib,
					     ways->bws_way[i].bwy_at)
				     ?: tm);
		if (rc == 0)
			return 0;
		way_rc_note(ways, rc);
	}
	return ways->bws_rc;
}

int m0_rpc__bulk_again(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		       struct m0_net_transfer_mc *tm)
{
	struct m0_net_buffer *nb = rbuf->bb_nbuf;

	if (rbuf->bb_ways != NULL) {
		rbuf->bb_ways->bws_tried = 0;
		rbuf->bb_ways->bws_rc = 0;
		rbuf->bb_ways->bws_want = m0_rpc__at(tm->ntm_ep->nep_addr);
		return m0_rpc__bulk_way_begin(rb, rbuf, tm);
	}
	nb->nb_length = rbuf->bb_filled;
	nb->nb_ep = NULL;
	nb->nb_timeout = rb->rb_expires;
	return m0_net_buffer_add(nb, tm);
}

bool m0_rpc__bulk_way_failed(struct m0_rpc_bulk     *rb,
			     struct m0_rpc_bulk_buf *rbuf, int *rc)
{
	struct m0_rpc__bulk_ways *ways = rbuf->bb_ways;

	M0_PRE(ways != NULL);
	if (!m0_rpc__bulk_rc_passes(*rc))
		return false;
	way_rc_note(ways, *rc);
	if (!(rb->rb_flags & M0_RPC__BULK_STOPS) &&
	    m0_rpc__bulk_way_begin(rb, rbuf, &rb->rb_machine->rm_tm) == 0) {
		M0_RPC__COUNT(rb->rb_machine->rm_lib, rs_nr_moved_bulk, 1);
		return true;
	}
	*rc = ways->bws_rc;
	return false;
}

bool m0_rpc__bulk_way_turns(struct m0_rpc__bulk_ways *ways, uint64_t at)
{
	uint32_t next;

	M0_PRE(ways->bws_now < ways->bws_nr);
	if (ways->bws_way[ways->bws_now].bwy_at == at)
		return false;
	ways->bws_want = at;
	next = way_next(ways);
	return next < ways->bws_nr && ways->bws_way[next].bwy_at == at;
}
