/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Bulk: a list of net buffers that are offered, or moved, together.
 *
 * Everything is under rb_mutex, which is outside of all locks of m0_net. Buffers
 * are added to queues under it as well, so the callback of one that has ended
 * already waits until the last is added, and the list cannot seem empty before.
 * The thread that takes the last buffer off does not touch the rbulk after the unlock,
 * but for rb_done, which may finalise it. bulk_add.c makes the buffers; what
 * there is to several links is in bulk_ways.c.
 */
#include "rpc/bulk/bulk.h"

enum {
	/** Inline: looks before a nap. */
	WAIT_LOOKS = 256,
	WAIT_NAP_NS = 50000
};

M0_TL_DESCR_DEFINE(bulk, "bulk buffers", static, struct m0_rpc_bulk_buf,
		   bb_link, bb_magic, M0_RPC__BULK_BUF_MAGIC,
		   M0_RPC__BULK_LIST_MAGIC);
M0_TL_DEFINE(bulk, static, struct m0_rpc_bulk_buf);

static void bulk_event(const struct m0_net_buffer_event *ev);

static const struct m0_net_buffer_callbacks bulk_callbacks = {
	.nbc_cb = { [M0_NET_QT_PASSIVE_BULK_RECV] = bulk_event,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = bulk_event,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = bulk_event,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = bulk_event }
};

static bool is_ours(const struct m0_rpc_bulk *rb)
{
	return rb->rb_magic == M0_RPC__BULK_MAGIC;
}

static bool is_passive(enum m0_net_queue_type q)
{
	return q == M0_NET_QT_PASSIVE_BULK_SEND ||
	       q == M0_NET_QT_PASSIVE_BULK_RECV;
}

static bool is_active(enum m0_net_queue_type q)
{
	return q == M0_NET_QT_ACTIVE_BULK_SEND ||
	       q == M0_NET_QT_ACTIVE_BULK_RECV;
}

void m0_rpc_bulk_init(struct m0_rpc_bulk *rb)
{
	M0_SET0(rb);
	bulk_tlist_init(&rb->rb_buflist);
	m0_mutex_init(&rb->rb_mutex);
	m0_chan_init(&rb->rb_chan, &rb->rb_mutex);
	rb->rb_timeout_ns = (m0_time_t)M0_RPC_BULK_TIMEOUT_S * 1000000000;
	rb->rb_magic = M0_RPC__BULK_MAGIC;
}

void m0_rpc_bulk_fini(struct m0_rpc_bulk *rb)
{
	M0_PRE(is_ours(rb));
	m0_mutex_lock(&rb->rb_mutex);
	M0_PRE(bulk_tlist_is_empty(&rb->rb_buflist));
	m0_mutex_unlock(&rb->rb_mutex);
	m0_chan_fini_lock(&rb->rb_chan);
	m0_mutex_fini(&rb->rb_mutex);
	bulk_tlist_fini(&rb->rb_buflist);
	rb->rb_magic = 0;
}

void m0_rpc__bulk_link(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf)
{
	m0_mutex_lock(&rb->rb_mutex);
	M0_PRE(is_ours(rb));
	M0_PRE((rb->rb_flags & M0_RPC__BULK_BUSY) == 0);
	rbuf->bb_rbulk = rb;
	bulk_tlink_init_at_tail(rbuf, &rb->rb_buflist);
	rb->rb_bytes += rbuf->bb_length;
	m0_mutex_unlock(&rb->rb_mutex);
}

/* Off the list, and what is the library's of it is freed. */
static void drop(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf)
{
	struct m0_net_buffer *nb = rbuf->bb_nbuf;
	int                   rc = 0;

	M0_PRE(rbuf->bb_rbulk == rb);
	M0_PRE(m0_mutex_is_locked(&rb->rb_mutex));
	bulk_tlink_del_fini(rbuf);
	rb->rb_bytes -= rbuf->bb_length;
	rbuf->bb_magic = 0;
	m0_rpc__bulk_spares_free(rbuf);
	m0_free(rbuf->bb_ways);
	m0_net_desc_free(&nb->nb_desc);
	if (rbuf->bb_flags & M0_RPC_BULK_NETBUF_REGISTERED)
		rc = m0_net_buffer_deregister(nb, nb->nb_dom);
	M0_ASSERT(rc == 0);
	rbuf->bb_rbulk = NULL;
	/* A net buffer of the library's is in the same piece of memory. */
	if (rbuf != &rb->rb_one)
		m0_free(rbuf);
}

void m0_rpc__bulk_unlink_last(struct m0_rpc_bulk *rb)
{
	m0_mutex_lock(&rb->rb_mutex);
	drop(rb, bulk_tlist_tail(&rb->rb_buflist));
	m0_mutex_unlock(&rb->rb_mutex);
}

/* Drop the buffers that are in no queue. */
static void drop_idle(struct m0_rpc_bulk *rb)
{
	struct m0_rpc_bulk_buf *rbuf = bulk_tlist_head(&rb->rb_buflist);
	struct m0_rpc_bulk_buf *next;

	M0_PRE(m0_mutex_is_locked(&rb->rb_mutex));
	for (; rbuf != NULL; rbuf = next) {
		next = bulk_tlist_next(&rb->rb_buflist, rbuf);
		if ((rbuf->bb_flags & M0_RPC_BULK_NETBUF_QUEUED) == 0)
			drop(rb, rbuf);
	}
}

/* One whose event is on its way is in no queue any more. */
static void buf_cancel(struct m0_rpc_bulk_buf *rbuf)
{
	struct m0_net_buffer *nb = rbuf->bb_nbuf;

	if (rbuf->bb_spares != NULL)
		m0_rpc__bulk_spares_del(rbuf);
	else if (rbuf->bb_flags & M0_RPC_BULK_NETBUF_QUEUED)
		(void)m0_net_buffer_del(nb, nb->nb_tm);
}

static void cancel(struct m0_rpc_bulk *rb)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(m0_mutex_is_locked(&rb->rb_mutex));
	rb->rb_flags |= M0_RPC__BULK_STOPS;
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		buf_cancel(rbuf);
	}
	m0_tl_endfor;
}

static void bulk_settle(struct m0_rpc_bulk *rb)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(is_ours(rb));
	m0_mutex_lock(&rb->rb_mutex);
	rb->rb_flags &= ~(uint32_t)M0_RPC__BULK_HOLDS;
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		if (rbuf->bb_spares != NULL
			    ? rbuf->bb_spares->bsp_moved
			    : rbuf->bb_flags & M0_RPC__BULK_BUF_MOVED)
			buf_cancel(rbuf);
	}
	m0_tl_endfor;
	m0_mutex_unlock(&rb->rb_mutex);
}

static void bulk_move(struct m0_rpc_bulk *rb, uint64_t at)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(is_ours(rb));
	M0_PRE(at != 0);
	m0_mutex_lock(&rb->rb_mutex);
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		if (rbuf->bb_ways != NULL &&
		    m0_rpc__bulk_way_turns(rbuf->bb_ways, at))
			buf_cancel(rbuf);
	}
	m0_tl_endfor;
	m0_mutex_unlock(&rb->rb_mutex);
}

const struct m0_rpc__bulk_ops m0_rpc__bulk_ops = { .bko_settle = bulk_settle,
						   .bko_move = bulk_move };

static void rc_note(struct m0_rpc_bulk *rb, int rc)
{
	if (rc != 0 && (rb->rb_rc == 0 || rb->rb_rc == -ECANCELED))
		rb->rb_rc = rc;
}

/* Return the status of an event, and the bytes that were moved. */
static int outcome(const struct m0_rpc_bulk_buf     *rbuf,
		   const struct m0_net_buffer_event *ev, m0_bcount_t *ret_nr)
{
	enum m0_net_queue_type q = rbuf->bb_nbuf->nb_qtype;

	*ret_nr = m0_rpc__bulk_is_send(q) ? rbuf->bb_filled : ev->nbe_length;
	if (ev->nbe_status != 0)
		return ev->nbe_status;
	if (q == M0_NET_QT_ACTIVE_BULK_RECV && *ret_nr != rbuf->bb_expected)
		return -EPROTO;
	return 0;
}

/* An offer that has no spares: as spare_ended() for those that have. */
static bool offer_ended(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
			int *rc, m0_bcount_t *nr)
{
	if (*rc == 0) {
		rbuf->bb_flags |= M0_RPC__BULK_BUF_MOVED;
		rbuf->bb_expected = *nr;
		return !m0_rpc__bulk_offer_again(rb, rbuf, rbuf->bb_nbuf);
	}
	if (rbuf->bb_flags & M0_RPC__BULK_BUF_MOVED) {
		*rc = 0;
		*nr = rbuf->bb_expected;
	}
	return true;
}

/* Returns true if a buffer is in no queue and not started elsewhere. */
static bool buf_ends(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		     const struct m0_net_buffer_event *ev, int *ret_rc)
{
	m0_bcount_t nr;

	*ret_rc = outcome(rbuf, ev, &nr);
	if (rbuf->bb_spares != NULL) {
		if (!m0_rpc__bulk_spare_ended(rb, rbuf, ev->nbe_buffer, ret_rc,
					      &nr))
			return false;
	} else if (is_passive(ev->nbe_buffer->nb_qtype)) {
		if (!offer_ended(rb, rbuf, ret_rc, &nr))
			return false;
	} else if (*ret_rc != 0) {
		if ((rbuf->bb_ways != NULL &&
		     m0_rpc__bulk_way_failed(rb, rbuf, ret_rc)) ||
		    m0_rpc__bulk_anew(rb, rbuf, *ret_rc))
			return false;
	}
	if (*ret_rc == 0) {
		rb->rb_moved += nr;
		if (rb->rb_again != NULL)
			m0_rpc__bulk_anew_moved(rb);
	}
	return true;
}

/* The list is empty; rb_mutex is held, and released. */
static void list_end(struct m0_rpc_bulk *rb)
{
	const struct m0_rpc_item *item = m0_rpc__bulk_anew_end(rb);
	void (*done)(struct m0_rpc_bulk * rb) = NULL;

	M0_PRE(bulk_tlist_is_empty(&rb->rb_buflist));
	M0_PRE(rb->rb_flags & M0_RPC__BULK_BUSY);
	if ((rb->rb_flags & M0_RPC__BULK_QUIET) == 0)
		done = rb->rb_done;
	if (rb->rb_flags & M0_RPC__BULK_KNOWN)
		m0_rpc__bulk_forget(rb);
	rb->rb_flags = 0;
	rb->rb_item = NULL;
	m0_chan_broadcast(&rb->rb_chan);
	m0_mutex_unlock(&rb->rb_mutex);
	if (item != NULL)
		m0_rpc_item_put((struct m0_rpc_item *)(uintptr_t)item);
	if (done != NULL)
		done(rb);
}

bool m0_rpc__bulk_over(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		       int rc)
{
	M0_PRE(is_ours(rb));
	M0_PRE(rbuf->bb_rbulk == rb);
	rc_note(rb, rc);
	if (rc != 0 && is_active(rbuf->bb_nbuf->nb_qtype))
		cancel(rb);
	drop(rb, rbuf);
	if (!bulk_tlist_is_empty(&rb->rb_buflist))
		return false;
	list_end(rb);
	return true;
}

void m0_rpc__bulk_paused_due(struct m0_rpc_bulk *rb)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(m0_mutex_is_locked(&rb->rb_mutex));
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		if (!(rbuf->bb_flags & M0_RPC__BULK_BUF_PAUSED))
			continue;
		rbuf->bb_flags &= ~(uint64_t)M0_RPC__BULK_BUF_PAUSED;
		rbuf->bb_flags |= M0_RPC__BULK_BUF_DUE;
	}
	m0_tl_endfor;
}

struct m0_rpc_bulk_buf *m0_rpc__bulk_due(struct m0_rpc_bulk *rb)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(m0_mutex_is_locked(&rb->rb_mutex));
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		if (rbuf->bb_flags & M0_RPC__BULK_BUF_DUE) {
			rbuf->bb_flags &= ~(uint64_t)M0_RPC__BULK_BUF_DUE;
			return rbuf;
		}
	}
	m0_tl_endfor;
	return NULL;
}

static void bulk_event(const struct m0_net_buffer_event *ev)
{
	struct m0_rpc_bulk_buf *rbuf = ev->nbe_buffer->nb_app_private;
	struct m0_rpc_bulk     *rb = rbuf->bb_rbulk;
	int                     rc;

	M0_PRE(is_ours(rb));
	m0_mutex_lock(&rb->rb_mutex);
	if (!buf_ends(rb, rbuf, ev, &rc) || !m0_rpc__bulk_over(rb, rbuf, rc))
		m0_mutex_unlock(&rb->rb_mutex);
}

/* ------------------------------------------------------- store and load -- */

/* Registers what is not, and checks what its owner has filled. */
static int prepare(struct m0_rpc_bulk *rb, struct m0_net_domain *dom)
{
	struct m0_rpc_bulk_buf *rbuf;
	int                     rc = 0;

	M0_PRE(dom != NULL);
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		struct m0_net_buffer *nb = rbuf->bb_nbuf;

		if (rbuf->bb_filled == 0)
			return -EMSGSIZE;
		nb->nb_length = rbuf->bb_filled;
		nb->nb_app_private = rbuf;
		nb->nb_callbacks = &bulk_callbacks;
		nb->nb_ep = NULL;
		if (nb->nb_flags & M0_NET_BUF_REGISTERED)
			continue;
		if (rbuf->bb_flags & M0_RPC_BULK_NETBUF_ALLOCATED)
			nb->nb_buffer.ov_vec.v_nr = rbuf->bb_segs_nr;
		rc = m0_net_buffer_register(nb, dom);
		if (rc != 0)
			return rc;
		rbuf->bb_flags |= M0_RPC_BULK_NETBUF_REGISTERED;
	}
	m0_tl_endfor;
	return 0;
}

/* Add the buffer over ways[0]; an offer, over all ways. */
static int add_one(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		   const struct m0_rpc__way *ways)
{
	int rc;

	M0_PRE(!(rbuf->bb_flags & M0_RPC_BULK_NETBUF_QUEUED));
	if (rbuf->bb_spares != NULL) {
		rc = m0_rpc__bulk_spares_add(rbuf, ways, rb->rb_expires);
	} else if (rbuf->bb_ways != NULL) {
		rbuf->bb_ways->bws_want = ways[0].way_at;
		rc = m0_rpc__bulk_way_begin(rb, rbuf, ways[0].way_tm);
	} else {
		rbuf->bb_nbuf->nb_timeout = rb->rb_expires;
		rc = m0_net_buffer_add(rbuf->bb_nbuf, ways[0].way_tm);
	}
	if (rc == 0)
		rbuf->bb_flags |= M0_RPC_BULK_NETBUF_QUEUED;
	return rc;
}

/* Adds all, or with an error withdraws those that were. */
static int add_all(struct m0_rpc_bulk *rb, struct m0_rpc_machine *machine,
		   const struct m0_rpc__way *ways)
{
	struct m0_rpc_bulk_buf *rbuf;
	int                     rc = 0;

	M0_PRE(!(rb->rb_flags & M0_RPC__BULK_BUSY));
	rb->rb_flags |= M0_RPC__BULK_BUSY;
	rb->rb_machine = machine;
	rb->rb_expires = m0_time_add(m0_time_now(), rb->rb_timeout_ns);
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		rc = add_one(rb, rbuf, ways);
		if (rc != 0)
			break;
	}
	m0_tl_endfor;
	return rc;
}

/* Withdraw the buffers in queues, and drop the others. */
static void give_up(struct m0_rpc_bulk *rb, int rc)
{
	rc_note(rb, rc);
	drop_idle(rb);
	cancel(rb);
	if (bulk_tlist_is_empty(&rb->rb_buflist)) {
		rb->rb_flags = 0;
		m0_chan_broadcast(&rb->rb_chan);
	}
}

/* Pre: not empty. All buffers have the same type. */
static enum m0_net_queue_type type_of(const struct m0_rpc_bulk *rb)
{
	M0_PRE(is_ours(rb));
	M0_PRE((rb->rb_flags & M0_RPC__BULK_BUSY) == 0);
	M0_PRE(!bulk_tlist_is_empty(&rb->rb_buflist));
	return bulk_tlist_head(&rb->rb_buflist)->bb_nbuf->nb_qtype;
}

/* The descriptors become the caller's: they are moved, not copied. */
static void descs_take(struct m0_rpc_bulk *rb, const struct m0_rpc__way *ways,
		       struct m0_net_buf_desc_data *to_desc)
{
	struct m0_rpc_bulk_buf *rbuf;

	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		to_desc->bdd_used = rbuf->bb_filled;
		if (rbuf->bb_spares != NULL) {
			m0_rpc__bulk_spares_desc(rbuf, ways,
						 &to_desc->bdd_desc);
		} else {
			to_desc->bdd_desc = rbuf->bb_nbuf->nb_desc;
			M0_SET0(&rbuf->bb_nbuf->nb_desc);
		}
		++to_desc;
	}
	m0_tl_endfor;
}

static void spares_make(struct m0_rpc_bulk *rb, uint32_t nr)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(nr > 1);
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		m0_rpc__bulk_spares_make(rbuf, nr);
	}
	m0_tl_endfor;
}

/* Offers over `nr` ways. @param item  a request that the offer outlasts. */
static int offer(struct m0_rpc_bulk *rb, struct m0_rpc_machine *machine,
		 const struct m0_rpc__way *ways, uint32_t nr,
		 const struct m0_rpc_item    *item,
		 struct m0_net_buf_desc_data *to_desc)
{
	int rc;

	M0_PRE(to_desc != NULL);
	m0_mutex_lock(&rb->rb_mutex);
	if (!is_passive(type_of(rb))) {
		m0_mutex_unlock(&rb->rb_mutex);
		return -EBADR;
	}
	rb->rb_rc = 0;
	rc = prepare(rb, machine->rm_tm.ntm_dom);
	if (rc == 0 && nr > 1)
		spares_make(rb, nr);
	if (item != NULL)
		rb->rb_flags = M0_RPC__BULK_HOLDS;
	rc = rc ?: add_all(rb, machine, ways);
	if (rc == 0) {
		descs_take(rb, ways, to_desc);
		rb->rb_item = item;
		if (item != NULL)
			m0_rpc__bulk_know(rb);
	} else {
		rb->rb_flags |= M0_RPC__BULK_QUIET;
		give_up(rb, rc);
	}
	m0_mutex_unlock(&rb->rb_mutex);
	return rc;
}

static int store(struct m0_rpc_bulk *rb, const struct m0_rpc_conn *conn,
		 const struct m0_rpc_item    *item,
		 struct m0_net_buf_desc_data *to_desc)
{
	struct m0_rpc__way ways[M0_RPC_BULK_WAYS_MAX];
	uint32_t           nr;

	nr = m0_rpc__conn_ways(conn, ways, ARRAY_SIZE(ways));
	return offer(rb, conn->c_rpc_machine, ways, nr, item, to_desc);
}

int m0_rpc_bulk_store(struct m0_rpc_bulk *rb, const struct m0_rpc_conn *conn,
		      struct m0_net_buf_desc_data *to_desc)
{
	return store(rb, conn, NULL, to_desc);
}

int m0_rpc_bulk_store_for(struct m0_rpc_bulk          *rb,
			  const struct m0_rpc_item    *request,
			  struct m0_net_buf_desc_data *to_desc)
{
	return store(rb, request->ri_session->s_conn, request, to_desc);
}

int m0_rpc_bulk_store_reply(struct m0_rpc_bulk          *rb,
			    const struct m0_rpc_item    *request,
			    struct m0_net_buf_desc_data *to_desc)
{
	struct m0_rpc__way way = { m0_rpc__request_tm(request), 0 };

	return offer(rb, request->ri_rmachine, &way, 1, NULL, to_desc);
}

/* Returns true if the buffer may be moved in the direction of its descriptor. */
static int desc_fits(const struct m0_rpc_bulk_buf      *rbuf,
		     const struct m0_net_buf_desc_data *desc)
{
	if (m0_rpc__bulk_is_send(rbuf->bb_nbuf->nb_qtype))
		return rbuf->bb_filled > desc->bdd_used ? -EMSGSIZE : 0;
	if (desc->bdd_used == 0)
		return -EPROTO;
	return rbuf->bb_filled < desc->bdd_used ? -EMSGSIZE : 0;
}

/* A transport's, or one of ways. */
static int desc_give(struct m0_rpc_bulk_buf       *rbuf,
		     const struct m0_net_domain   *dom,
		     const struct m0_net_buf_desc *desc)
{
	m0_bcount_t max = dom->nd_get_max_buffer_desc_size;
	int         rc;

	if (desc->nbd_len == 0 || desc->nbd_data == NULL)
		return -EPROTO;
	rc = m0_rpc__bulk_ways_get(rbuf, desc, max);
	if (rc != 0 || rbuf->bb_ways != NULL)
		return rc;
	return desc->nbd_len > max
		       ? -EPROTO
		       : m0_net_desc_copy(desc, &rbuf->bb_nbuf->nb_desc);
}

static int descs_give(struct m0_rpc_bulk *rb, const struct m0_net_domain *dom,
		      const struct m0_net_buf_desc_data *from_desc)
{
	struct m0_rpc_bulk_buf *rbuf;
	int                     rc = 0;

	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		rc = desc_fits(rbuf, from_desc)
			     ?: desc_give(rbuf, dom, &from_desc->bdd_desc);
		if (rc != 0)
			break;
		rbuf->bb_expected = from_desc->bdd_used;
		++from_desc;
	}
	m0_tl_endfor;
	return rc;
}

static bool has_ways(const struct m0_rpc_bulk *rb)
{
	return bulk_tlist_head(&rb->rb_buflist)->bb_ways != NULL;
}

static int load(struct m0_rpc_bulk *rb, struct m0_rpc_machine *machine,
		struct m0_net_transfer_mc *tm, const struct m0_rpc_item *item,
		const struct m0_net_buf_desc_data *from_desc)
{
	struct m0_net_domain *dom = machine->rm_tm.ntm_dom;
	struct m0_rpc__way    way = { tm, 0 };
	int                   rc = 0;

	M0_PRE(tm != NULL && from_desc != NULL);
	m0_mutex_lock(&rb->rb_mutex);
	if (!is_active(type_of(rb))) {
		m0_mutex_unlock(&rb->rb_mutex);
		return -EBADR;
	}
	rb->rb_rc = 0;
	rc = descs_give(rb, dom, from_desc) ?: prepare(rb, dom);
	if (rc == 0 && has_ways(rb))
		way.way_at = m0_rpc__at(tm->ntm_ep->nep_addr);
	rc = rc ?: add_all(rb, machine, &way);
	if (rc != 0) {
		give_up(rb, rc);
		/* The buffers that are under way report the outcome when they
		 * end. */
		if (!bulk_tlist_is_empty(&rb->rb_buflist))
			rc = 0;
	} else if (item != NULL) {
		rb->rb_item = item;
		if (has_ways(rb))
			m0_rpc__bulk_know(rb);
		if (item->ri_stream != 0)
			m0_rpc__bulk_anew_allow(rb);
	}
	m0_mutex_unlock(&rb->rb_mutex);
	return rc;
}

int m0_rpc_bulk_load(struct m0_rpc_bulk *rb, struct m0_rpc_machine *machine,
		     const struct m0_net_buf_desc_data *from_desc)
{
	return load(rb, machine, &machine->rm_tm, NULL, from_desc);
}

int m0_rpc_bulk_load_reply(struct m0_rpc_bulk                *rb,
			   const struct m0_rpc_item          *reply,
			   const struct m0_net_buf_desc_data *from_desc)
{
	return load(rb, reply->ri_rmachine, m0_rpc__request_tm(reply), NULL,
		    from_desc);
}

int m0_rpc_bulk_load_for(struct m0_rpc_bulk                *rb,
			 const struct m0_rpc_item          *request,
			 const struct m0_net_buf_desc_data *from_desc)
{
	return load(rb, request->ri_rmachine, m0_rpc__request_tm(request),
		    request, from_desc);
}

void m0_rpc_bulk_store_del(struct m0_rpc_bulk *rb)
{
	m0_mutex_lock(&rb->rb_mutex);
	if (rb->rb_flags & M0_RPC__BULK_BUSY)
		cancel(rb);
	else
		drop_idle(rb);
	m0_mutex_unlock(&rb->rb_mutex);
}

/* The machine of a list that is not empty; NULL: it is. */
static struct m0_rpc_machine *busy_machine(struct m0_rpc_bulk *rb)
{
	struct m0_rpc_machine *machine = NULL;

	m0_mutex_lock(&rb->rb_mutex);
	if (!bulk_tlist_is_empty(&rb->rb_buflist)) {
		M0_PRE(rb->rb_flags & M0_RPC__BULK_BUSY);
		machine = rb->rb_machine;
	}
	m0_mutex_unlock(&rb->rb_mutex);
	return machine;
}

int m0_rpc_bulk_wait(struct m0_rpc_bulk *rb)
{
	struct m0_rpc_machine *machine;
	struct m0_clink        clink;
	uint32_t               looks = 0;
	int                    rc;

	M0_PRE(is_ours(rb));
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&rb->rb_chan, &clink);
	while ((machine = busy_machine(rb)) != NULL) {
		if (machine->rm_tm.ntm_bev_auto_deliver) {
			m0_chan_wait(&clink);
			continue;
		}
		m0_net_buffer_event_deliver_all(&machine->rm_tm);
		if (++looks % WAIT_LOOKS == 0)
			(void)m0_chan_timedwait(&clink,
						m0_time_add(m0_time_now(),
							    WAIT_NAP_NS));
	}
	m0_mutex_lock(&rb->rb_mutex);
	m0_clink_del(&clink);
	rc = rb->rb_rc;
	m0_mutex_unlock(&rb->rb_mutex);
	m0_clink_fini(&clink);
	return rc;
}

void m0_rpc_bulk_buflist_empty(struct m0_rpc_bulk *rb)
{
	m0_mutex_lock(&rb->rb_mutex);
	drop_idle(rb);
	m0_mutex_unlock(&rb->rb_mutex);
}

bool m0_rpc_bulk_is_empty(struct m0_rpc_bulk *rb)
{
	bool empty;

	m0_mutex_lock(&rb->rb_mutex);
	empty = bulk_tlist_is_empty(&rb->rb_buflist);
	m0_mutex_unlock(&rb->rb_mutex);
	return empty;
}

m0_bcount_t m0_rpc_bulk_buf_length(struct m0_rpc_bulk *rb)
{
	m0_bcount_t nr;

	m0_mutex_lock(&rb->rb_mutex);
	nr = rb->rb_bytes;
	m0_mutex_unlock(&rb->rb_mutex);
	return nr;
}

void m0_rpc_bulk_qtype(struct m0_rpc_bulk *rb, enum m0_net_queue_type q)
{
	struct m0_rpc_bulk_buf *rbuf;

	M0_PRE(is_passive(q) || is_active(q));
	m0_mutex_lock(&rb->rb_mutex);
	M0_PRE((rb->rb_flags & M0_RPC__BULK_BUSY) == 0);
	m0_tl_for(bulk, &rb->rb_buflist, rbuf) {
		rbuf->bb_nbuf->nb_qtype = q;
	}
	m0_tl_endfor;
	m0_mutex_unlock(&rb->rb_mutex);
}
