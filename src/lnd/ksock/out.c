/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Transmit half: a queue of messages and of the connection's own words, whose
 * first bytes are gathered for each write and taken off when they have left.
 * The head of a message (frame and header) is made when it is first gathered.
 */
#include <sys/uio.h>

#include "lnd/ksock/sock_internal.h"

/* -- the queue ------------------------------------------------------------- */

/** Something is at the end of the queue. */
static void announce(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	sock->sk_ops->sto_out(sock->sk_streams, conn->cn_stream);
}

/**
 * Called before the queue gets something. A call from above does not know the
 * time: it counts from when the queue is looked at, and the alarm, if early,
 * is set anew.
 */
static void queue_begins(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (!m0_list_is_empty(&conn->cn_queue.qu_list))
		return;
	conn->cn_queue.qu_is_new = true;
	if (conn->cn_state == M0_SOCK__OPEN)
		m0_sock__alarm_by(
			sock, &conn->cn_alarm,
			m0_time_add(sock->sk_reactor->rtr_now,
				    m0_sock__conn_cfg(conn)->son_timeout_ns));
}

m0_time_t m0_sock__out_since(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_queue.qu_is_new) {
		conn->cn_queue.qu_is_new = false;
		conn->cn_queue.qu_since = conn->cn_sock->sk_reactor->rtr_now;
	}
	return conn->cn_queue.qu_since;
}

void m0_sock__out_add(struct m0_sock_conn *conn, struct m0_lnd_tx *tx)
{
	struct m0_sock *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	queue_begins(conn);
	tx->ltx_priv[1] = conn;
	tx->ltx_word[0] = 0;
	tx->ltx_word[1] = conn->cn_head_bytes + tx->ltx_payload.lpy_bytes;
	M0_PRE_EX(tx->ltx_there <= tx->ltx_payload.lpy_bytes);
	conn->cn_queue.qu_bytes += tx->ltx_word[1];
	conn->cn_used = ++sock->sk_used;
	m0_list_add_tail(&conn->cn_queue.qu_list, &tx->ltx_link);
	if (M0_UNLIKELY(tx->ltx_deadline < conn->cn_alarm.al_timer.ti_deadline))
		m0_sock__alarm_by(sock, &conn->cn_alarm, tx->ltx_deadline);
	announce(conn);
}

void m0_sock__out_own(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (!m0_list_link_is_in(&conn->cn_own.ow_link)) {
		queue_begins(conn);
		m0_list_add_tail(&conn->cn_queue.qu_list,
				 &conn->cn_own.ow_link);
	}
	announce(conn);
}

/** Bytes of a message, or of the connection's own words as far as they are made. */
static m0_bcount_t entry_bytes(const struct m0_sock_conn *conn,
			       struct m0_list_link       *link)
{
	return link == &conn->cn_own.ow_link
		       ? conn->cn_own.ow_bytes
		       : m0_sock__tx_of(link)->ltx_word[1];
}

/** The first of which nothing has left or was passed; NULL: there is none. */
static struct m0_list_link *unbegun_first(const struct m0_sock_conn *conn)
{
	const struct m0_list *list = &conn->cn_queue.qu_list;
	m0_bcount_t gone = conn->cn_queue.qu_at + conn->cn_queue.qu_passed;
	struct m0_list_link *link = m0_list_first(list);

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	for (; gone > 0; link = m0_list_next(list, link))
		gone -= min64u(gone, entry_bytes(conn, link));
	return link;
}

/** Is it gone in part, was it passed, or may a lane be writing it? */
static bool has_begun(const struct m0_sock_conn *conn,
		      const struct m0_lnd_tx    *tx)
{
	struct m0_list_link *link = m0_list_first(&conn->cn_queue.qu_list);
	struct m0_list_link *end = unbegun_first(conn);

	while (link != end && link != &tx->ltx_link)
		link = m0_list_next(&conn->cn_queue.qu_list, link);
	return link != end ||
	       (conn->cn_queue.qu_is_lent && tx->ltx_word[0] != 0);
}

/** Takes it out of the queue; what its head says is to be said elsewhere. */
static void unqueue(struct m0_sock_conn *conn, struct m0_lnd_tx *tx)
{
	struct m0_sock_frame frame;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	m0_list_del(&tx->ltx_link);
	conn->cn_queue.qu_bytes -= tx->ltx_word[1];
	tx->ltx_priv[1] = NULL;
	if (tx->ltx_word[0] == 0)
		return;
	(void)m0_sock__frame_decode(&frame, false, tx->ltx_head);
	/* If there is no room for it, the peer will miss it and report that. */
	if (frame.sfr_cookie[1] != 0)
		(void)m0_sock__peer_owe(conn->cn_peer, frame.sfr_cookie[1]);
}

bool m0_sock__out_take(struct m0_lnd_tx *tx)
{
	struct m0_sock_conn *conn = tx->ltx_priv[1];

	if (has_begun(conn, tx))
		return false;
	unqueue(conn, tx);
	return true;
}

bool m0_sock__out_is_starved(const struct m0_sock_conn *conn)
{
	struct m0_list_link    *link = m0_list_first(&conn->cn_queue.qu_list);
	const struct m0_lnd_tx *tx;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (link == NULL || link == &conn->cn_own.ow_link)
		return false;
	tx = m0_sock__tx_of(link);
	return tx->ltx_there < tx->ltx_payload.lpy_bytes &&
	       conn->cn_queue.qu_at > 0 &&
	       conn->cn_queue.qu_at == tx->ltx_word[0] + tx->ltx_there;
}

void m0_sock__out_more(struct m0_lnd_tx *tx)
{
	struct m0_sock_conn *conn = tx->ltx_priv[1];
	struct m0_sock      *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (m0_list_first(&conn->cn_queue.qu_list) != &tx->ltx_link &&
	    conn->cn_queue.qu_passed == 0)
		return;
	/* The peer is not late with what was not there. */
	conn->cn_queue.qu_is_new = true;
	m0_sock__alarm_by(sock, &conn->cn_alarm,
			  m0_time_add(sock->sk_reactor->rtr_now,
				      m0_sock__conn_cfg(conn)->son_timeout_ns));
	announce(conn);
}

void m0_sock__out_move(struct m0_sock_conn *conn, struct m0_list *to)
{
	struct m0_list_link *link = unbegun_first(conn);
	struct m0_list_link *after;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	for (; link != NULL; link = after) {
		after = m0_list_next(&conn->cn_queue.qu_list, link);
		if (link == &conn->cn_own.ow_link)
			continue;
		unqueue(conn, m0_sock__tx_of(link));
		m0_list_add_tail(to, link);
	}
}

void m0_sock__out_hurry(struct m0_lnd_tx *tx)
{
	struct m0_sock_conn *conn = tx->ltx_priv[1];
	struct m0_sock      *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_queue.qu_hurried = &tx->ltx_link;
	if (conn->cn_queue.qu_by != 0)
		return;
	conn->cn_queue.qu_by =
		m0_time_add(sock->sk_reactor->rtr_now,
			    m0_sock__conn_cfg(conn)->son_timeout_ns);
	m0_sock__alarm_by(sock, &conn->cn_alarm, conn->cn_queue.qu_by);
}

m0_time_t m0_sock__out_expire(struct m0_sock_conn *conn)
{
	m0_time_t            now = conn->cn_sock->sk_reactor->rtr_now;
	m0_time_t            next = M0_TIME_NEVER;
	struct m0_list_link *link = unbegun_first(conn);
	struct m0_list_link *after;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	for (; link != NULL; link = after) {
		struct m0_lnd_tx *tx = m0_sock__tx_of(link);

		after = m0_list_next(&conn->cn_queue.qu_list, link);
		if (link == &conn->cn_own.ow_link)
			continue;
		if (tx->ltx_deadline > now) {
			next = min64u(next, tx->ltx_deadline);
			continue;
		}
		unqueue(conn, tx);
		m0_sock__tx_end(tx, -ETIMEDOUT, M0_LND_LOCAL_TIMEOUT);
	}
	return next;
}

/** Ends the first message, of which the peer may have received a part: it is not sent
 * again. */
static void begun_end(struct m0_sock_conn *conn, struct m0_list_link *link,
		      int status)
{
	M0_PRE(link != &conn->cn_own.ow_link);
	m0_list_del(link);
	m0_sock__tx_end(m0_sock__tx_of(link), status,
			status == -ETIMEDOUT ? M0_LND_REMOTE_TIMEOUT
					     : M0_LND_LOCAL_ERROR);
}

void m0_sock__out_kill(struct m0_sock_conn *conn, int status)
{
	struct m0_list_link *end = unbegun_first(conn);
	struct m0_list_link *link;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (end == &conn->cn_own.ow_link)
		end = m0_list_next(&conn->cn_queue.qu_list, end);
	m0_list_del(&conn->cn_own.ow_link);
	while ((link = m0_list_first(&conn->cn_queue.qu_list)) != end)
		begun_end(conn, link, status);
	/* A lane may be writing those of which the head is made. */
	while (conn->cn_queue.qu_is_lent &&
	       (link = m0_list_first(&conn->cn_queue.qu_list)) != NULL &&
	       m0_sock__tx_of(link)->ltx_word[0] != 0)
		begun_end(conn, link, status);
	conn->cn_queue.qu_at = 0;
	conn->cn_queue.qu_passed = 0;
	conn->cn_queue.qu_is_lent = false;
	m0_sock__tx_end_all(&conn->cn_queue.qu_list, status);
}

/* -- heads ----------------------------------------------------------------- */

static bool are_acks_due(const struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	return conn->cn_state == M0_SOCK__OPEN &&
	       conn->cn_peer->sp_acks.ack_nr > 0;
}

/** Sets the checksum of what is in `head` and the payload. */
static void csum_put(struct m0_sock_frame *frame, uint8_t *head, size_t nr,
		     const struct m0_lnd_payload *payload)
{
	struct iovec iov[16];
	m0_bcount_t  at = 0;
	m0_bcount_t  part;
	uint32_t     csum = m0_sock__csum(M0_SOCK_CSUM_INIT, head, nr);
	uint32_t     i;
	uint32_t     iov_nr;

	while (payload != NULL && at < payload->lpy_bytes) {
		iov_nr = m0_bufvec_iovec(payload->lpy_vec,
					 payload->lpy_offset + at,
					 payload->lpy_bytes - at, iov,
					 ARRAY_SIZE(iov), &part);
		for (i = 0; i < iov_nr; ++i)
			csum = m0_sock__csum(csum, iov[i].iov_base,
					     iov[i].iov_len);
		at += part;
	}
	frame->sfr_csum = csum;
	m0_sock__frame_encode(frame, head);
}

static bool csum_is_on(const struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	return conn->cn_sock->sk_cfg.soc_csum && conn->cn_version == M0_SOCK_V2;
}

/** Makes all of a payload memory, for a connection that takes no pipes. */
static bool pipe_flush(const struct m0_sock_conn *conn, struct m0_lnd_tx *tx)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	return (!csum_is_on(conn) && !conn->cn_stream->stm_is_near) ||
	       tx->ltx_pipe->lnp_ops->lpx_flush(tx->ltx_pipe,
						&tx->ltx_payload) == 0;
}

/** @return false: the message cannot be sent on this connection. */
static bool head_make(struct m0_sock_conn *conn, struct m0_lnd_tx *tx)
{
	const struct m0_lnd_up_ops *ops = conn->cn_ni->sni_ni->ldn_ops;
	struct m0_sock_frame        frame = { .sfr_type = M0_SOCK_FRAME_LNET };
	size_t                      nr;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	nr = ops->lu_tx_header(tx, conn->cn_large,
			       tx->ltx_head + M0_SOCK_FRAME_BYTES);
	if (M0_UNLIKELY(nr == 0))
		return false;
	if (M0_UNLIKELY(tx->ltx_pipe != NULL) && !pipe_flush(conn, tx))
		return false;
	M0_ASSERT(M0_SOCK_FRAME_BYTES + nr == conn->cn_head_bytes);
	if (M0_UNLIKELY(are_acks_due(conn)))
		frame.sfr_cookie[1] =
			m0_sock__acks_take(&conn->cn_peer->sp_acks);
	m0_sock__frame_encode(&frame, tx->ltx_head);
	tx->ltx_word[0] = conn->cn_head_bytes;
	if (M0_UNLIKELY(csum_is_on(conn)))
		csum_put(&frame, tx->ltx_head, conn->cn_head_bytes,
			 &tx->ltx_payload);
	return true;
}

/** Puts NOOPs that are due into the connection's own words. */
static void noops_make(struct m0_sock_conn *conn)
{
	struct m0_sock_frame frame = { .sfr_type = M0_SOCK_FRAME_NOOP };
	unsigned             nr;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	for (nr = 0; nr < M0_SOCK__NOOPS_MAX; ++nr) {
		uint8_t *at = conn->cn_own.ow_buf + conn->cn_own.ow_bytes;

		if (conn->cn_own.ow_keepalive) {
			conn->cn_own.ow_keepalive = false;
			frame.sfr_cookie[0] = 0;
			frame.sfr_cookie[1] = 1;
		} else if (are_acks_due(conn)) {
			m0_sock__acks_take_noop(&conn->cn_peer->sp_acks,
						conn->cn_version >= M0_SOCK_V3,
						frame.sfr_cookie);
		} else {
			break;
		}
		frame.sfr_csum = 0;
		m0_sock__frame_encode(&frame, at);
		if (csum_is_on(conn))
			csum_put(&frame, at, M0_SOCK_FRAME_BYTES, NULL);
		conn->cn_own.ow_bytes += M0_SOCK_FRAME_BYTES;
	}
}

/* -- gathered -------------------------------------------------------------- */

/** Collects the data of one write. */
struct gather {
	/** The next free one, and behind the last. */
	struct iovec *ga_iov;
	struct iovec *ga_end;
	uint64_t      ga_bytes;
};

static void gather_bytes(struct gather *gather, uint8_t *bytes, uint64_t nr)
{
	struct iovec *iov = gather->ga_iov++;

	iov->iov_base = bytes;
	iov->iov_len = nr;
	gather->ga_bytes += nr;
}

/** Payload from byte `at` to `there`. True if that is in. */
static bool gather_payload(struct gather *gather, const struct m0_lnd_tx *tx,
			   m0_bcount_t at, m0_bcount_t there)
{
	const struct m0_lnd_payload *payload = &tx->ltx_payload;
	const struct m0_bufvec      *vec = payload->lpy_vec;
	m0_bcount_t                  left = there - at;
	m0_bcount_t                  part = 0;

	if (left == 0)
		return true;
	if (gather->ga_iov == gather->ga_end)
		return false;
	at += payload->lpy_offset;
	if (M0_LIKELY(at < vec->ov_vec.v_count[0] &&
		      left <= vec->ov_vec.v_count[0] - at)) {
		gather_bytes(gather, (uint8_t *)vec->ov_buf[0] + at, left);
		return true;
	}
	gather->ga_iov += m0_bufvec_iovec(
		vec, at, left, gather->ga_iov,
		(uint32_t)(gather->ga_end - gather->ga_iov), &part);
	gather->ga_bytes += part;
	return part == left;
}

/** Payload of which a part is in a pipe. False: no more fits, or the pipe is next. */
static __attribute__((__noinline__, __cold__)) bool gather_piped(
	struct gather *gather, const struct m0_sock_conn *conn,
	const struct m0_lnd_tx *tx, m0_bcount_t at)
{
	struct m0_lnd_pipe *pipe = tx->ltx_pipe;
	m0_bcount_t         there = tx->ltx_there;
	m0_bcount_t         end = pipe->lnp_at + pipe->lnp_bytes;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (pipe->lnp_bytes == 0 || at >= end)
		return gather_payload(gather, tx, at, there) &&
		       there == tx->ltx_payload.lpy_bytes;
	if (at < pipe->lnp_at) {
		if (!gather_payload(gather, tx, at,
				    min64u(pipe->lnp_at, there)))
			return false;
		at = pipe->lnp_at;
	}
	M0_ASSERT(at == pipe->lnp_at + pipe->lnp_gone);
	end = min64u(end, there);
	if (at < end) {
		conn->cn_stream->stm_out_pipe = pipe;
		conn->cn_stream->stm_out_nr = end - at;
	}
	return false;
}

/** A message, but for its first `at` bytes. False: no more fits. */
static bool gather_tx(struct gather *gather, const struct m0_sock_conn *conn,
		      struct m0_lnd_tx *tx, m0_bcount_t at)
{
	m0_bcount_t head = tx->ltx_word[0];

	if (at < head) {
		gather_bytes(gather, tx->ltx_head + at, head - at);
		at = head;
	}
	if (M0_UNLIKELY(tx->ltx_pipe != NULL))
		return gather_piped(gather, conn, tx, at - head);
	return gather_payload(gather, tx, at - head, tx->ltx_there) &&
	       tx->ltx_there == tx->ltx_payload.lpy_bytes;
}

/** The connection's own words. False: there are none, and no place for them. */
static bool gather_own(struct gather *gather, struct m0_sock_conn *conn,
		       m0_bcount_t at)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_own.ow_bytes == 0)
		noops_make(conn);
	if (conn->cn_own.ow_bytes == 0)
		return false;
	gather_bytes(gather, conn->cn_own.ow_buf + at,
		     conn->cn_own.ow_bytes - at);
	return true;
}

/** A message with a NID that the protocol of the peer does not know. */
static void unsendable(struct m0_sock_conn *conn, struct m0_lnd_tx *tx)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_sock->sk_reactor->rtr_called = true;
	unqueue(conn, tx);
	m0_sock__tx_end(tx, -EAFNOSUPPORT, M0_LND_LOCAL_ERROR);
}

unsigned m0_sock__out_what(void *user, struct iovec *iov, unsigned max)
{
	struct m0_sock_conn *conn = user;
	struct gather        gather = { .ga_iov = iov, .ga_end = iov + max };
	m0_bcount_t at = conn->cn_queue.qu_at + conn->cn_queue.qu_passed;
	struct m0_list_link *link;
	struct m0_list_link *after;

	(void)m0_sock__out_since(conn);
	m0_list_for_each_safe(&conn->cn_queue.qu_list, link, after) {
		struct m0_lnd_tx *tx = m0_sock__tx_of(link);

		if (M0_UNLIKELY(at > 0 && at >= entry_bytes(conn, link))) {
			at -= entry_bytes(conn, link);
			continue;
		}
		if (gather.ga_iov == gather.ga_end ||
		    gather.ga_bytes >= M0_SOCK__GATHER_BYTES_MAX)
			break;
		if (link == &conn->cn_own.ow_link) {
			if (!gather_own(&gather, conn, at))
				m0_list_del(link);
		} else if (M0_UNLIKELY(tx->ltx_word[0] == 0 &&
				       !head_make(conn, tx))) {
			unsendable(conn, tx);
		} else if (!gather_tx(&gather, conn, tx, at)) {
			break;
		}
		at = 0;
	}
	return (unsigned)(gather.ga_iov - iov);
}

/* -- gone ------------------------------------------------------------------ */

/** The connection's own words have left. */
static void own_left(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	m0_list_del(&conn->cn_own.ow_link);
	conn->cn_own.ow_bytes = 0;
	if (conn->cn_own.ow_keepalive || are_acks_due(conn))
		m0_sock__out_own(conn);
}

/**
 * Takes what has left off the queue.
 * @return the messages, from one to the next by ll_next; NULL: none.
 */
static struct m0_list_link *queue_advance(struct m0_sock_conn *conn,
					  uint64_t             nr)
{
	struct m0_list_link  *gone = NULL;
	struct m0_list_link **tail = &gone;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_queue.qu_passed -= min64u(nr, conn->cn_queue.qu_passed);
	while (nr > 0) {
		struct m0_list_link *link =
			m0_list_first(&conn->cn_queue.qu_list);
		struct m0_lnd_tx *tx = m0_sock__tx_of(link);
		uint64_t          left;

		M0_ASSERT(link != NULL);
		left = (link == &conn->cn_own.ow_link ? conn->cn_own.ow_bytes
						      : tx->ltx_word[1]) -
		       conn->cn_queue.qu_at;
		if (nr < left) {
			conn->cn_queue.qu_at += nr;
			break;
		}
		nr -= left;
		conn->cn_queue.qu_at = 0;
		if (M0_UNLIKELY(link == conn->cn_queue.qu_hurried)) {
			conn->cn_queue.qu_by = 0;
			conn->cn_queue.qu_hurried = NULL;
		}
		if (link == &conn->cn_own.ow_link) {
			own_left(conn);
			continue;
		}
		m0_list_del(link);
		conn->cn_queue.qu_bytes -= tx->ltx_word[1];
		tx->ltx_priv[1] = NULL;
		*tail = link;
		tail = &link->ll_next;
	}
	*tail = NULL;
	return gone;
}

int m0_sock__out_left(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;
	struct m0_list_link *link;
	struct m0_list_link *next;

	conn->cn_sock->sk_reactor->rtr_called = true;
	if (M0_UNLIKELY(conn->cn_state == M0_SOCK__DEAD))
		return -ECONNRESET;
	conn->cn_queue.qu_since = conn->cn_sock->sk_reactor->rtr_now;
	for (link = queue_advance(conn, nr); link != NULL; link = next) {
		next = link->ll_next;
		conn->cn_ni->sni_ni->ldn_ops->lu_tx_done(m0_sock__tx_of(link),
							 0, M0_LND_OK);
	}
	/* A message that has left makes room for one that waits on a connection,
	 * and this may be the last that this wake does. */
	if (M0_UNLIKELY(!m0_list_is_empty(&conn->cn_sock->sk_paused)))
		m0_sock__rouse(conn->cn_sock);
	return 0;
}

void m0_sock__out_passed(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_sock->sk_reactor->rtr_called = true;
	conn->cn_queue.qu_passed += nr;
}

void m0_sock__out_lend(void *user, bool lends)
{
	struct m0_sock_conn *conn = user;

	conn->cn_queue.qu_is_lent = lends;
}
