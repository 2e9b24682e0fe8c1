/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Packets that come. A receive buffer takes several; bodies are left in it, and
 * items that point there count in nb_app_private, beside the receive queue,
 * which counts one. The thread that puts the last reference gives the buffer back to
 * the pool. When too many buffers are held by items alone, packets are copied.
 *
 * While a buffer is queued no other reference is the last, and the machine's thread,
 * which gets all of them and puts most, counts apart, without atomics. When the buffer
 * leaves the queue, this count is added to that of all threads.
 */
#include "rpc/item/rbuf.h"

enum {
	/** Bytes of a receive buffer, in packets of the largest size. */
	BUFFER_PACKETS = 2
};

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The queue's own. */
static void rbuf_give_up(struct m0_rpc__machine *m, uintptr_t rbuf)
{
	struct m0_rpc__rbuf_count *count = m0_rpc__rbuf_count_of(rbuf);
	uint32_t                   own = count->rbc_own;

	M0_PRE_EX(m0_rpc__is_here(m));
	count->rbc_own = M0_RPC__RBUF_GIVEN_UP;
	m0_rpc__rbuf_less(m, rbuf, M0_RPC__RBUF_QUEUED - own);
}

static void queue_put(struct m0_rpc__machine *m, struct m0_net_buffer *nb,
		      int32_t status)
{
	M0_PRE(m0_rpc__is_here(m));
	/* The machine stops, and items are in it still: it is not put back
	 * for us. */
	if (status == -ECANCELED) {
		m0_net_buffer_pool_lock(m->rml_receiver.rrv_pool);
		m0_net_buffer_pool_keep(m->rml_receiver.rrv_pool, nb);
		m0_net_buffer_pool_unlock(m->rml_receiver.rrv_pool);
	}
	__atomic_add_fetch(&m->rml_receiver.rrv_held_nr, 1, __ATOMIC_RELAXED);
	rbuf_give_up(m, (uintptr_t)nb);
}

/* ------------------------------------------------------------- packets -- */

/* Where the bytes are in one piece; NULL: they are not. */
static const uint8_t *piece_of(const struct m0_bufvec *bv, m0_bindex_t at,
			       m0_bcount_t nr)
{
	uint32_t i;

	for (i = 0; i < bv->ov_vec.v_nr; ++i) {
		if (at < bv->ov_vec.v_count[i])
			return nr <= bv->ov_vec.v_count[i] - at
				       ? (const uint8_t *)bv->ov_buf[i] + at
				       : NULL;
		at -= bv->ov_vec.v_count[i];
	}
	return NULL;
}

static void copy_out(const struct m0_bufvec *bv, m0_bindex_t at, uint8_t *to,
		     m0_bcount_t nr)
{
	m0_bcount_t part;
	uint32_t    i;

	for (i = 0; i < bv->ov_vec.v_nr && nr > 0; ++i) {
		if (at >= bv->ov_vec.v_count[i]) {
			at -= bv->ov_vec.v_count[i];
			continue;
		}
		part = min64u(nr, bv->ov_vec.v_count[i] - at);
		memcpy(to, (const uint8_t *)bv->ov_buf[i] + at, part);
		to += part;
		nr -= part;
		at = 0;
	}
}

/*
 * Stop waits for what is being executed, so nothing more may be begun: once it
 * has run out of time, or it might never end; and once all is quiet, though the
 * transfer machine goes on to deliver until it has stopped as well.
 */
static bool is_refused(const struct m0_rpc__machine *m,
		       const struct m0_rpc__came    *came)
{
	return m->rml_phase == M0_RPC__QUIET ||
	       (m->rml_aborts &&
		!(came->rca_item.rwi_flags & M0_RPC_WIRE_REPLY));
}

/* The library's own items are, but for words about requests and streams. */
static bool is_handshake(const struct m0_rpc_wire_item *w)
{
	return w->rwi_opcode < M0_RPC_OP_USER &&
	       !M0_IN(w->rwi_opcode,
		      (M0_RPC_OP_CANCEL, M0_RPC_OP_ACK, M0_RPC_OP_SKIP));
}

static void item_came(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	M0_PRE_EX(m0_rpc__is_here(m));
	if (M0_UNLIKELY(is_refused(m, came))) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		return;
	}
	M0_RPC__COUNT(m, rs_nr_rcvd_items, 1);
	if (came->rca_item.rwi_flags & M0_RPC_WIRE_REPLY)
		m0_rpc__came_reply(m, came);
	else if (is_handshake(&came->rca_item))
		m0_rpc__came_handshake(m, came);
	else
		m0_rpc__came_request(m, came);
}

static void packet_came(struct m0_rpc__machine *m, struct m0_net_end_point *ep,
			const uint8_t *bytes, m0_bcount_t nr, uintptr_t rbuf)
{
	struct m0_rpc__came   came;
	struct m0_rpc_wire_in in;
	int                   rc;

	M0_PRE_EX(rbuf != 0);
	/* The headers are the decoder's to fill. */
	came.rca_body = NULL;
	came.rca_ep = ep;
	came.rca_target = NULL;
	came.rca_client = NULL;
	came.rca_rbuf = rbuf;
	came.rca_packet_max = 0;
	came.rca_nr = (uint32_t)nr;
	rc = m0_rpc__wire_open(&in, &came.rca_packet, bytes, nr,
			       &m->rml_sender.rsn_sum);
	if (rc == 0) {
		M0_RPC__COUNT(m, rs_nr_rcvd_packets, 1);
		M0_RPC__COUNT(m, rs_nr_rcvd_bytes, nr);
		came.rca_refs_nr = came.rca_packet.rwp_items_nr;
		m0_rpc__rbuf_get(rbuf, came.rca_refs_nr);
		while ((rc = m0_rpc__wire_next(&in, &came.rca_item,
					       &came.rca_body)) == 1)
			item_came(m, &came);
		m0_rpc__rbuf_unget(rbuf, came.rca_refs_nr);
	} else if (rc == -EPROTONOSUPPORT) {
		m0_rpc__refusal_send(m, ep);
	} else if (rc == -EOPNOTSUPP) {
		m0_rpc__conns_refused(m, ep);
	}
	if (rc < 0)
		M0_RPC__COUNT(m, rs_nr_bad_packets, 1);
	if (came.rca_target != NULL)
		m0_rpc__target_put(came.rca_target);
}

static void message_came(struct m0_rpc__machine           *m,
			 const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	const uint8_t        *bytes =
		piece_of(&nb->nb_buffer, ev->nbe_offset, ev->nbe_length);
	struct m0_rpc__copy *copy;

	if (M0_LIKELY(bytes != NULL && (uintptr_t)bytes % 8 == 0 &&
		      __atomic_load_n(&m->rml_receiver.rrv_held_nr,
				      __ATOMIC_RELAXED) <
			      m->rml_receiver.rrv_held_max)) {
		packet_came(m, ev->nbe_ep, bytes, ev->nbe_length,
			    (uintptr_t)nb);
		return;
	}
	copy = m0_alloc(sizeof *copy + ev->nbe_length);
	if (copy == NULL) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		return;
	}
	copy->cpy_nr = sizeof *copy + ev->nbe_length;
	__atomic_add_fetch(&m->rml_receiver.rrv_copies_bytes, copy->cpy_nr,
			   __ATOMIC_RELAXED);
	m0_rpc__rbuf_begin((uintptr_t)copy | M0_RPC__RBUF_ON_HEAP);
	copy_out(&nb->nb_buffer, ev->nbe_offset, copy->cpy_bytes,
		 ev->nbe_length);
	packet_came(m, ev->nbe_ep, copy->cpy_bytes, ev->nbe_length,
		    (uintptr_t)copy | M0_RPC__RBUF_ON_HEAP);
	rbuf_give_up(m, (uintptr_t)copy | M0_RPC__RBUF_ON_HEAP);
}

static void recv_cb(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer   *nb = ev->nbe_buffer;
	struct m0_rpc__machine *m = m0_rpc__machine_of(nb->nb_tm);
	struct m0_rpc__machine *before = m0_rpc__enter(m);
	/* Asked now: items may put it meanwhile, and it is queued again. */
	bool is_final = !(nb->nb_flags & M0_NET_BUF_QUEUED);

	M0_PRE_EX(m0_rpc__receiver_invariant(&m->rml_receiver));
	m->rml_now = m0_time_cached();
	m0_rpc__rbuf_begin((uintptr_t)nb);
	if (ev->nbe_status == 0)
		message_came(m, ev);
	if (is_final)
		queue_put(m, nb, ev->nbe_status);
	m0_rpc__leave(before);
}

const struct m0_net_buffer_callbacks m0_rpc__recv_callbacks = {
	.nbc_cb[M0_NET_QT_MSG_RECV] = recv_cb
};

/* --------------------------------------------------------------- pools -- */

static const struct m0_net_buffer_pool_ops pool_ops = {
	.nbpo_not_empty = m0_net_domain_buffer_pool_not_empty
};

int m0_rpc__recv_init(struct m0_rpc__machine    *m,
		      struct m0_net_buffer_pool *pool)
{
	struct m0_net_domain *dom = m->rml_dom;
	m0_bcount_t           max = min64u(dom->nd_get_max_buffer_size,
					   dom->nd_get_max_buffer_segment_size);
	uint32_t              nr = 2 * m->rml_receiver.rrv_queue_len;
	int                   rc;

	M0_PRE(m->rml_receiver.rrv_queue_len > 0);
	M0_PRE(m->rml_sender.rsn_msg_size > 0);
	if (pool != NULL) {
		uint32_t share = larger(pool->nbp_colours_nr, 1);

		m->rml_receiver.rrv_pool = pool;
		m->rml_receiver.rrv_held_max = larger(
			pool->nbp_buf_nr / share > m->rml_receiver.rrv_queue_len
				? pool->nbp_buf_nr / share -
					  m->rml_receiver.rrv_queue_len
				: 0,
			1);
		return 0;
	}
	m->rml_receiver.rrv_colour = M0_BUFFER_ANY_COLOUR;
	rc = m0_net_buffer_pool_init(
		&m->rml_receiver.rrv_pool_own, dom, 0, 1,
		min64u(max, BUFFER_PACKETS * m->rml_sender.rsn_msg_size), 0, 12,
		false);
	if (rc != 0)
		return rc;
	m->rml_receiver.rrv_pool = &m->rml_receiver.rrv_pool_own;
	m->rml_receiver.rrv_pool_own.nbp_ops = &pool_ops;
	m->rml_receiver.rrv_held_max = m->rml_receiver.rrv_queue_len;
	m0_net_buffer_pool_lock(m->rml_receiver.rrv_pool);
	rc = m0_net_buffer_pool_provision(m->rml_receiver.rrv_pool, nr) <
			     (int)nr
		     ? -ENOMEM
		     : 0;
	m0_net_buffer_pool_unlock(m->rml_receiver.rrv_pool);
	return rc;
}

void m0_rpc__recv_fini(struct m0_rpc__machine *m)
{
	int rc = 0;

	if (m->rml_receiver.rrv_pool == &m->rml_receiver.rrv_pool_own)
		rc = m0_net_buffer_pool_fini(m->rml_receiver.rrv_pool);
	M0_ASSERT_INFO(rc == 0, "items that came here are still referred to");
}

uint32_t m0_rpc_bufs_nr(uint32_t len, uint32_t tms_nr)
{
	return len + larger(tms_nr / 4, 1) + 2;
}

int m0_rpc_net_buffer_pool_setup(struct m0_net_domain      *dom,
				 struct m0_net_buffer_pool *pool,
				 uint32_t bufs_nr, uint32_t tm_nr)
{
	m0_bcount_t max = min64u(dom->nd_get_max_buffer_size,
				 dom->nd_get_max_buffer_segment_size);
	int         rc;

	rc = m0_net_buffer_pool_init(
		pool, dom, M0_NET_BUFFER_POOL_THRESHOLD, 1,
		min64u(max, BUFFER_PACKETS * M0_RPC_DEF_MAX_RPC_MSG_SIZE),
		tm_nr, 12, false);
	if (rc != 0)
		return rc;
	pool->nbp_ops = &pool_ops;
	m0_net_buffer_pool_lock(pool);
	rc = m0_net_buffer_pool_provision(pool, bufs_nr);
	m0_net_buffer_pool_unlock(pool);
	if (rc < (int)bufs_nr) {
		(void)m0_net_buffer_pool_fini(pool);
		return -ENOMEM;
	}
	return 0;
}

void m0_rpc_net_buffer_pool_cleanup(struct m0_net_buffer_pool *pool)
{
	int rc = m0_net_buffer_pool_fini(pool);

	M0_ASSERT_INFO(rc == 0, "a buffer of the pool is in use");
}
