/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Buffers: registration, and their way onto the queues. Their way off them is
 * in net_event.c.
 */
#include "net/net_internal.h"
#include "base/probes.h"
#include "os/pass.h"

static int limits_check(const struct m0_net_domain *dom,
			const struct m0_bufvec     *bv)
{
	m0_bcount_t sum = 0;
	uint32_t    i;

	if (bv->ov_vec.v_nr > dom->nd_get_max_buffer_segments)
		return -EFBIG;
	for (i = 0; i < bv->ov_vec.v_nr; ++i) {
		if (bv->ov_vec.v_count[i] > dom->nd_get_max_buffer_segment_size)
			return -EFBIG;
		sum += bv->ov_vec.v_count[i];
	}
	return sum > dom->nd_get_max_buffer_size ? -EFBIG : 0;
}

int m0_net_buffer_register(struct m0_net_buffer *buf, struct m0_net_domain *dom)
{
	int rc;

	M0_PRE(m0_net__domain_invariant(dom));
	M0_PRE(buf->nb_dom == NULL && buf->nb_flags == 0);
	M0_PRE(buf->nb_buffer.ov_vec.v_nr > 0);
	M0_PRE(buf->nb_buffer.ov_buf != NULL &&
	       buf->nb_buffer.ov_vec.v_count != NULL);

	m0_mutex_lock(&dom->nd_mutex);
	buf->nb_dom = dom;
	buf->nb_xprt_private = NULL;
	buf->nb_timeout = M0_TIME_NEVER;
	buf->nb_magic = M0_NET_BUFFER_MAGIC;
	buf->nb_tm = NULL;
	net_q_tlink_init(buf);
	m0_list_link_init(&buf->nb_dom_linkage);
	m0_list_link_init(&buf->nb_lru.t_link);
	m0_list_link_init(&buf->nb_return_linkage);
	rc = limits_check(dom, &buf->nb_buffer)
		     ?: m0_net__ops(dom)->xo_buf_register(buf);
	if (rc == 0) {
		buf->nb_flags = M0_NET_BUF_REGISTERED;
		buf->nb_nr = ++dom->nd_bufs_seen_nr;
		m0_list_add_tail(&dom->nd_registered_bufs,
				 &buf->nb_dom_linkage);
	} else {
		buf->nb_dom = NULL;
	}
	m0_mutex_unlock(&dom->nd_mutex);
	return rc;
}

int m0_net_buffer_deregister(struct m0_net_buffer *buf,
			     struct m0_net_domain *dom)
{
	M0_PRE(buf->nb_dom == dom && m0_net__domain_invariant(dom));
	M0_PRE((buf->nb_flags & M0_NET_BUF_REGISTERED) != 0);

	if (buf->nb_flags != M0_NET_BUF_REGISTERED)
		return -EBUSY;
	m0_mutex_lock(&dom->nd_mutex);
	M0_ASSERT(m0_net__buffer_invariant(buf));
	m0_net__ops(dom)->xo_buf_deregister(buf);
	m0_list_del(&buf->nb_dom_linkage);
	buf->nb_flags = 0;
	buf->nb_dom = NULL;
	buf->nb_xprt_private = NULL;
	m0_mutex_unlock(&dom->nd_mutex);
	return 0;
}

/* ------------------------------------------------------------------ add -- */

static bool state_allows_add(const struct m0_net_transfer_mc *tm,
			     enum m0_net_queue_type           qt)
{
	return tm->ntm_state == M0_NET_TM_STARTED ||
	       (qt == M0_NET_QT_MSG_RECV &&
		M0_IN(tm->ntm_state,
		      (M0_NET_TM_INITIALIZED, M0_NET_TM_STARTING)));
}

static inline bool send_fits(const struct m0_net_buffer *buf)
{
	m0_bcount_t size = m0_vec_count(&buf->nb_buffer.ov_vec);

	return buf->nb_length > 0 && buf->nb_offset <= size &&
	       buf->nb_length <= size - buf->nb_offset;
}

/* In line, as what calls it: both look at the same fields. */
static inline __attribute__((always_inline)) void add_pre(
	const struct m0_net_buffer *buf, const struct m0_net_transfer_mc *tm,
	enum m0_net_queue_type qt)
{
	M0_PRE_EX(m0_net__buffer_invariant(buf));
	M0_PRE(buf->nb_magic == M0_NET_BUFFER_MAGIC);
	M0_PRE(buf->nb_dom == tm->ntm_dom);
	M0_PRE(buf->nb_flags == M0_NET_BUF_REGISTERED);
	M0_PRE((size_t)qt < M0_NET_QT_NR);
	M0_PRE(buf->nb_callbacks != NULL &&
	       buf->nb_callbacks->nbc_cb[qt] != NULL);
	switch (qt) {
	case M0_NET_QT_MSG_RECV:
		M0_PRE(buf->nb_ep == NULL);
		M0_PRE(buf->nb_min_receive_size > 0 &&
		       buf->nb_min_receive_size <=
			       m0_vec_count(&buf->nb_buffer.ov_vec));
		M0_PRE(buf->nb_max_receive_msgs > 0);
		break;
	case M0_NET_QT_MSG_SEND:
		M0_PRE(send_fits(buf));
		M0_PRE(buf->nb_ep != NULL && buf->nb_ep->nep_tm == tm);
		break;
	case M0_NET_QT_PASSIVE_BULK_SEND:
		M0_PRE(send_fits(buf));
		__attribute__((__fallthrough__));
	case M0_NET_QT_PASSIVE_BULK_RECV:
		M0_PRE(buf->nb_ep == NULL || buf->nb_ep->nep_tm == tm);
		break;
	case M0_NET_QT_ACTIVE_BULK_SEND:
		M0_PRE(send_fits(buf));
		__attribute__((__fallthrough__));
	default:
		M0_PRE(buf->nb_desc.nbd_len > 0 &&
		       buf->nb_desc.nbd_data != NULL);
	}
}

/* The end point that the layer holds while the buffer is queued. */
static bool holds_ep(const struct m0_net_buffer *buf, enum m0_net_queue_type qt)
{
	/* A receive buffer has none: NULL. */
	return buf->nb_ep != NULL && !m0_net__qt_is_active(qt);
}

/* The transport does not take it. */
static __attribute__((__noinline__)) void add_undo(struct m0_net_buffer *buf)
{
	if (holds_ep(buf, buf->nb_qtype))
		m0_net__ep_put(buf->nb_ep);
	net_q_tlist_del(buf);
	buf->nb_flags &= ~(uint64_t)M0_NET_BUF_QUEUED;
}

/* In line: for each message it is called, and calls many. */
static inline __attribute__((always_inline)) int buffer_add(
	struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm,
	enum m0_net_queue_type qt, uint64_t again)
{
	m0_time_t now = m0_time_pass_now();
	int       rc;

	M0_PRE_EX(m0_mutex_is_locked(&tm->ntm_mutex));
	M0_PRE_EX(m0_net__tm_invariant(tm));
	add_pre(buf, tm, qt);

	if (!state_allows_add(tm, qt))
		return tm->ntm_is_failing ? -ESHUTDOWN : -EPERM;
	if (buf->nb_timeout <= now)
		return -ETIME;
	if (m0_net__qt_is_passive(qt))
		M0_SET0(&buf->nb_desc);
	buf->nb_flags |= M0_NET_BUF_QUEUED | again;
	buf->nb_add_time = now;
	buf->nb_msgs_received = 0;
	buf->nb_tm = tm;
	/* Its magic number was looked at above. */
	m0_list_add_tail(&tm->ntm_q[qt].td_head, &buf->nb_tm_linkage.t_link);
	/* Before the operation: it may be over before the call returns. */
	if (holds_ep(buf, qt))
		m0_net__ep_get(buf->nb_ep);
	/* Asked here, so that nb_nr is not looked at for nothing. */
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		m0_probe_buf_add(m0_net__tm_name(tm), buf->nb_nr,
				 m0_net__qt_name(qt), buf->nb_length);
	rc = m0_net__ops(tm->ntm_dom)->xo_buf_add(buf);
	if (again != 0)
		buf->nb_flags &= ~again;
	if (M0_UNLIKELY(rc != 0)) {
		add_undo(buf);
		return rc;
	}
	++tm->ntm_qstats[qt].nqs_num_adds;
	M0_POST(ergo(m0_net__qt_is_passive(qt), buf->nb_desc.nbd_len > 0));
	return 0;
}

int m0_net__buffer_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
	return buffer_add(buf, tm, buf->nb_qtype, 0);
}

/*
 * A buffer that was not used for a while is cold in all its parts: asks for
 * them together, instead of waiting for one after the other.
 */
static void buffer_prefetch(const struct m0_net_buffer *buf)
{
	__builtin_prefetch(&buf->nb_flags, 1);
	__builtin_prefetch(&buf->nb_tm_linkage, 1);
	__builtin_prefetch(buf->nb_buffer.ov_vec.v_count);
	__builtin_prefetch(buf->nb_buffer.ov_buf);
	__builtin_prefetch(buf->nb_xprt_private, 1);
	/* A number, for it may be NULL. */
	__builtin_prefetch((const void *)((uintptr_t)buf->nb_xprt_private + 64),
			   1);
}

int m0_net_buffer_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
	int rc;

	buffer_prefetch(buf);
	m0_mutex_lock(&tm->ntm_mutex);
	/* Messages are many: nothing is looked at that is of other queues. */
	if (buf->nb_qtype == M0_NET_QT_MSG_RECV)
		rc = buffer_add(buf, tm, M0_NET_QT_MSG_RECV, 0);
	else if (buf->nb_qtype == M0_NET_QT_MSG_SEND)
		rc = buffer_add(buf, tm, M0_NET_QT_MSG_SEND, 0);
	else
		rc = m0_net__buffer_add(buf, tm);
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__flush(tm);
	return rc;
}

int m0_net_buffer_add_again(struct m0_net_buffer      *buf,
			    struct m0_net_transfer_mc *tm)
{
	int rc;

	M0_PRE(m0_net__qt_is_passive(buf->nb_qtype));
	m0_mutex_lock(&tm->ntm_mutex);
	rc = buffer_add(buf, tm, buf->nb_qtype, M0_NET_BUF_AGAIN);
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__flush(tm);
	return rc;
}

bool m0_net__buffer_del(struct m0_net_buffer      *buf,
			struct m0_net_transfer_mc *tm)
{
	M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
	M0_PRE(buf->nb_tm == NULL || buf->nb_tm == tm);

	if ((buf->nb_flags & M0_NET_BUF_QUEUED) == 0)
		return false;
	m0_probe_buf_del(m0_net__tm_name(tm), buf->nb_nr,
			 m0_net__qt_name(buf->nb_qtype));
	++tm->ntm_qstats[buf->nb_qtype].nqs_num_dels;
	m0_net__ops(tm->ntm_dom)->xo_buf_del(buf);
	return true;
}

bool m0_net_buffer_del(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
	bool was_queued;

	m0_mutex_lock(&tm->ntm_mutex);
	was_queued = m0_net__buffer_del(buf, tm);
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__flush(tm);
	return was_queued;
}
