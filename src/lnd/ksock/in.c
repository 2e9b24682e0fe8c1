/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Receive half. Bytes come either to where in_where said (m0_sock_in_arrived)
 * or from elsewhere (m0_sock_in_bytes); both do the same with them. A frame
 * with its header is taken apart where it lies if it came in one piece, else
 * it is put together in cn_stage.
 */
#include "lnd/ksock/sock_internal.h"

/** Keeps what is rare from making dear what is not. */
#define RARE __attribute__((__noinline__, __cold__))

/* -- a message ends -------------------------------------------------------- */

/** The next frame. */
static void frame_next(struct m0_sock_conn *conn)
{
	conn->cn_in = M0_SOCK__IN_FRAME;
	conn->cn_want = M0_SOCK_FRAME_BYTES;
}

void m0_sock__in_open(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_rx.lr_nid = conn->cn_peer->sp_nid;
	conn->cn_rx.lr_pid = conn->cn_peer->sp_pid;
	conn->cn_large = conn->cn_version == M0_SOCK_V4;
	conn->cn_head_bytes = M0_SOCK_FRAME_BYTES +
			      (conn->cn_large ? M0_SOCK__HDR_LARGE_BYTES
					      : M0_SOCK__HDR_SMALL_BYTES);
	conn->cn_staged = 0;
	frame_next(conn);
}

/** All of a message is there. @retval <0  the connection was ended. */
static int message_end(struct m0_sock_conn *conn)
{
	bool good = !conn->cn_sum.su_is_on ||
		    conn->cn_sum.su_now == conn->cn_sum.su_want;
	int status = good ? 0 : -EIO;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	frame_next(conn);
	conn->cn_in_rx = false;
	if (M0_UNLIKELY(conn->cn_cookie != 0) && good) {
		int rc = m0_sock__peer_owe(conn->cn_peer, conn->cn_cookie);

		if (rc != 0)
			(void)m0_sock__conn_fail(conn, rc);
	}
	conn->cn_ni->sni_ni->ldn_ops->lu_rx_done(
		&conn->cn_rx, status, good ? M0_LND_OK : M0_LND_LOCAL_ERROR);
	if (!good)
		return m0_sock__conn_fail(conn, -EIO);
	return conn->cn_state == M0_SOCK__DEAD ? -ENOBUFS : 0;
}

/* -- payload --------------------------------------------------------------- */

/** Discards the next `nr` bytes. */
static int discard_begin(struct m0_sock_conn *conn, uint64_t nr)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_rest.rem_left = nr;
	if (nr == 0)
		return message_end(conn);
	/* Discarded bytes cannot be checked. */
	conn->cn_sum.su_is_on = false;
	conn->cn_in = M0_SOCK__IN_DISCARD;
	return 0;
}

/** Goes to the segment that has the place. */
static void seg_settle(struct m0_sock_conn *conn, const struct m0_bufvec *vec)
{
	const m0_bcount_t *count = vec->ov_vec.v_count;

	while (conn->cn_rest.rem_seg_at >= count[conn->cn_rest.rem_seg]) {
		conn->cn_rest.rem_seg_at -= count[conn->cn_rest.rem_seg++];
		M0_ASSERT(conn->cn_rest.rem_seg < vec->ov_vec.v_nr);
	}
}

/** The engine has taken the message. */
static int payload_begin(struct m0_sock_conn *conn)
{
	const struct m0_lnd_payload *payload = &conn->cn_rx.lr_payload;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_in_rx = true;
	conn->cn_rest.rem_left = payload->lpy_bytes;
	conn->cn_in_small = payload->lpy_bytes < M0_SOCK__LARGE_BYTES;
	if (conn->cn_rest.rem_left == 0 || conn->cn_rx.lr_cancelled)
		return discard_begin(conn,
				     conn->cn_rest.rem_left +
					     conn->cn_rx.lr_discard_bytes);
	conn->cn_rest.rem_seg = 0;
	conn->cn_rest.rem_seg_at = payload->lpy_offset;
	seg_settle(conn, payload->lpy_vec);
	conn->cn_in = M0_SOCK__IN_PAYLOAD;
	return 0;
}

/** A cancelled message wants no more bytes. */
static void cancelled_look(struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_in == M0_SOCK__IN_PAYLOAD && conn->cn_rx.lr_cancelled)
		(void)discard_begin(conn, conn->cn_rest.rem_left +
						  conn->cn_rx.lr_discard_bytes);
}

/** So many bytes of the message have come. */
static void progress(struct m0_sock_conn *conn, uint64_t nr)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_pace.pac_run += nr;
	if (conn->cn_pace.pac_run < M0_SOCK__PROGRESS_BYTES)
		return;
	conn->cn_pace.pac_run = 0;
	conn->cn_pace.pac_since = conn->cn_sock->sk_reactor->rtr_now;
}

/** Goes through the segments that `nr` bytes of payload fill. */
static RARE void segs_fill(struct m0_sock_conn *conn, const uint8_t *from,
			   size_t nr)
{
	const struct m0_bufvec *vec = conn->cn_rx.lr_payload.lpy_vec;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	while (nr > 0) {
		char *at = (char *)vec->ov_buf[conn->cn_rest.rem_seg] +
			   conn->cn_rest.rem_seg_at;
		size_t room =
			(size_t)(vec->ov_vec.v_count[conn->cn_rest.rem_seg] -
				 conn->cn_rest.rem_seg_at);
		size_t part = room < nr ? room : nr;

		if (from != NULL) {
			memcpy(at, from, part);
			from += part;
		}
		if (M0_UNLIKELY(conn->cn_sum.su_is_on))
			conn->cn_sum.su_now =
				m0_sock__csum(conn->cn_sum.su_now, at, part);
		nr -= part;
		conn->cn_rest.rem_seg_at += part;
		if (nr > 0 || conn->cn_rest.rem_left > 0)
			seg_settle(conn, vec);
	}
}

/**
 * Reports that a part of the payload has arrived, unless it is checked at its end.
 * @retval <0  the connection was ended.
 */
static RARE int report(struct m0_sock_conn *conn)
{
	struct m0_lnd_rx *rx = &conn->cn_rx;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (!conn->cn_sum.su_is_on)
		conn->cn_ni->sni_ni->ldn_ops->lu_rx_more(
			rx, rx->lr_payload.lpy_bytes - conn->cn_rest.rem_left);
	return conn->cn_state == M0_SOCK__DEAD ? -ENOBUFS : 0;
}

/**
 * `nr` (at most cn_rest.rem_left) bytes of payload are in place, or if `from` is given
 * to be put there.
 */
static inline int payload_come(struct m0_sock_conn *conn, const uint8_t *from,
			       size_t nr)
{
	const struct m0_bufvec *vec = conn->cn_rx.lr_payload.lpy_vec;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_rest.rem_left -= nr;
	/* A small payload is one piece, in one segment. */
	if (M0_LIKELY(from != NULL && conn->cn_rest.rem_left == 0 &&
		      !conn->cn_sum.su_is_on &&
		      nr <= vec->ov_vec.v_count[conn->cn_rest.rem_seg] -
				      conn->cn_rest.rem_seg_at))
		memcpy((char *)vec->ov_buf[conn->cn_rest.rem_seg] +
			       conn->cn_rest.rem_seg_at,
		       from, nr);
	else
		segs_fill(conn, from, nr);
	if (conn->cn_rest.rem_left == 0)
		return discard_begin(conn, conn->cn_rx.lr_discard_bytes);
	progress(conn, nr);
	return M0_UNLIKELY(conn->cn_rx.lr_reports) ? report(conn) : 0;
}

static int discard_come(struct m0_sock_conn *conn, size_t nr)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_rest.rem_left -= nr;
	progress(conn, nr);
	return conn->cn_rest.rem_left == 0 ? message_end(conn) : 0;
}

/* -- frames ---------------------------------------------------------------- */

/** Says why a connection ends. */
static RARE int broke(struct m0_sock_conn *conn, const char *what)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	++conn->cn_ni->sni_info.ldi_bad_peers_nr;
	M0_SOCK__SAY(conn->cn_sock, M0_LOG_WARN,
		     "sock: %s: %s: its connections are closed",
		     m0_lnet_nid_print(&conn->cn_peer->sp_nid, nid, sizeof nid),
		     what);
	return m0_sock__conn_fail(conn, -EPROTO);
}

/** Adds the parts that the frame's own checksum covers, except the payload. */
static RARE void csum_begin(struct m0_sock_conn        *conn,
			    const struct m0_sock_frame *frame,
			    const uint8_t *head, size_t nr)
{
	static const uint8_t none[sizeof frame->sfr_csum];
	uint32_t             csum = M0_SOCK_CSUM_INIT;
	const size_t         at = sizeof frame->sfr_type;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	csum = m0_sock__csum(csum, head, at);
	csum = m0_sock__csum(csum, none, sizeof none);
	csum = m0_sock__csum(csum, head + at + sizeof none,
			     nr - at - sizeof none);
	conn->cn_sum.su_is_on = true;
	conn->cn_sum.su_now = csum;
	conn->cn_sum.su_want = frame->sfr_csum;
}

/** NULL, or what is wrong with a frame: nothing of ours is outstanding. */
static RARE const char *frame_flaw(const struct m0_sock_conn  *conn,
				   const struct m0_sock_frame *frame)
{
	uint64_t ranges[2][2];
	int      nr;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (frame->sfr_csum != 0 && conn->cn_version != M0_SOCK_V2)
		return "a checksum in a protocol that has none";
	nr = m0_sock__frame_acks(frame, ranges);
	if (nr < 0)
		return "the cookie of a keep-alive in another place";
	if (nr > 0)
		return "an acknowledgement that was not asked for";
	if (frame->sfr_type == M0_SOCK_FRAME_LNET && frame->sfr_cookie[0] == 1)
		return "a message with the cookie of a keep-alive";
	return NULL;
}

static int noop_come(struct m0_sock_conn        *conn,
		     const struct m0_sock_frame *frame, const uint8_t *head)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (frame->sfr_csum == 0)
		return 0;
	csum_begin(conn, frame, head, M0_SOCK_FRAME_BYTES);
	return conn->cn_sum.su_now == conn->cn_sum.su_want
		       ? 0
		       : broke(conn, "a wrong checksum");
}

/** Offers a header to the engine. @retval -EAGAIN  not now. */
static inline int header_offer(struct m0_sock_conn *conn, const uint8_t *header)
{
	struct m0_lnd_rx *rx = &conn->cn_rx;
	struct m0_lnd_ni *ni = conn->cn_ni->sni_ni;
	int               rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	rx->lr_payload.lpy_vec = NULL;
	rx->lr_payload.lpy_bytes = 0;
	rx->lr_discard_bytes = 0;
	rx->lr_cancelled = false;
	rx->lr_pipe = NULL;
	rx->lr_reports = false;
	rc = ni->ldn_ops->lu_rx_begin(ni, rx, header, conn->cn_large);
	if (M0_LIKELY(rc == 0))
		return payload_begin(conn);
	if (rc == -EAGAIN)
		return rc;
	++conn->cn_ni->sni_info.ldi_bad_peers_nr;
	return m0_sock__conn_fail(conn, -EPROTO);
}

/** The message whose head is at `head`, not in cn_stage, has to wait. */
static RARE void pause_here(struct m0_sock_conn *conn, const uint8_t *head)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (head != conn->cn_stage)
		memcpy(conn->cn_stage, head, conn->cn_head_bytes);
	conn->cn_staged = conn->cn_head_bytes;
	conn->cn_in = M0_SOCK__IN_PAUSED;
	conn->cn_retry_round = conn->cn_sock->sk_retry_round;
	m0_list_add_tail(&conn->cn_sock->sk_paused, &conn->cn_paused);
}

/** A frame and the header after it are there. */
static int message_come(struct m0_sock_conn        *conn,
			const struct m0_sock_frame *frame, const uint8_t *head)
{
	int rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	conn->cn_cookie = frame->sfr_cookie[0];
	conn->cn_sum.su_is_on = false;
	conn->cn_pace.pac_since = conn->cn_sock->sk_reactor->rtr_now;
	conn->cn_pace.pac_run = 0;
	if (M0_UNLIKELY(frame->sfr_csum != 0))
		csum_begin(conn, frame, head, conn->cn_head_bytes);
	rc = header_offer(conn, head + M0_SOCK_FRAME_BYTES);
	if (M0_LIKELY(rc != -EAGAIN))
		return rc;
	pause_here(conn, head);
	return 0;
}

/**
 * Takes apart what is at the beginning of `nr` bytes of frames.
 * @return bytes taken; 0: there must be more. @retval <0  ended.
 */
static int frame_take(struct m0_sock_conn *conn, const uint8_t *bytes,
		      size_t nr)
{
	struct m0_sock_frame frame;
	const char          *flaw = NULL;
	int                  rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (nr < M0_SOCK_FRAME_BYTES)
		return 0;
	if (m0_sock__frame_decode(&frame, conn->cn_swapped, bytes) != 0)
		return broke(conn, "a frame of unknown type");
	if (M0_UNLIKELY((frame.sfr_csum | frame.sfr_cookie[0] |
			 frame.sfr_cookie[1]) != 0))
		flaw = frame_flaw(conn, &frame);
	if (M0_UNLIKELY(flaw != NULL))
		return broke(conn, flaw);
	if (frame.sfr_type == M0_SOCK_FRAME_NOOP) {
		rc = noop_come(conn, &frame, bytes);
		return rc < 0 ? rc : M0_SOCK_FRAME_BYTES;
	}
	if (nr < conn->cn_head_bytes)
		return 0;
	rc = message_come(conn, &frame, bytes);
	return M0_UNLIKELY(rc < 0) ? rc : (int)conn->cn_head_bytes;
}

/* -- put together in the stage --------------------------------------------- */

/** Up to where the stage is to be filled before it is looked at. */
static unsigned stage_goal(const struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_in != M0_SOCK__IN_FRAME)
		return conn->cn_want;
	return conn->cn_staged < M0_SOCK_FRAME_BYTES ? M0_SOCK_FRAME_BYTES
						     : conn->cn_head_bytes;
}

/** Does what can be done with what is staged. */
static RARE int stage_use(struct m0_sock_conn *conn)
{
	int rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_in < M0_SOCK__IN_FRAME)
		return conn->cn_staged == conn->cn_want
			       ? conn->cn_sock->sk_hello_staged(conn)
			       : 0;
	while (conn->cn_in == M0_SOCK__IN_FRAME && conn->cn_staged > 0) {
		rc = frame_take(conn, conn->cn_stage, conn->cn_staged);
		if (rc <= 0)
			return rc;
		if (conn->cn_in == M0_SOCK__IN_PAUSED)
			break;
		conn->cn_staged -= (unsigned)rc;
		memmove(conn->cn_stage, conn->cn_stage + rc, conn->cn_staged);
	}
	return 0;
}

/* -- any bytes ------------------------------------------------------------- */

/** Takes some of what is not whole, or not wanted. */
static __attribute__((__noinline__)) ssize_t other_take(
	struct m0_sock_conn *conn, const uint8_t *bytes, size_t nr)
{
	size_t part = nr;
	int    rc = 0;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	switch (conn->cn_in) {
	case M0_SOCK__IN_PAUSED:
		return 0;
	case M0_SOCK__IN_SINK:
		break;
	case M0_SOCK__IN_DISCARD:
		part = (size_t)min64u(nr, conn->cn_rest.rem_left);
		rc = discard_come(conn, part);
		break;
	default:
		part = min64u(nr, stage_goal(conn) - conn->cn_staged);
		memcpy(conn->cn_stage + conn->cn_staged, bytes, part);
		conn->cn_staged += (unsigned)part;
		rc = stage_use(conn);
	}
	return rc < 0 ? rc : (ssize_t)part;
}

/** Takes some of the bytes. @return how many; 0: pause; <0: ended. */
static ssize_t some_take(struct m0_sock_conn *conn, const uint8_t *bytes,
			 size_t nr)
{
	size_t part;
	int    rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_in == M0_SOCK__IN_PAYLOAD) {
		part = (size_t)min64u(nr, conn->cn_rest.rem_left);
		conn->cn_ni->sni_info.ldi_copied_bytes += part;
		rc = payload_come(conn, bytes, part);
		return M0_UNLIKELY(rc < 0) ? rc : (ssize_t)part;
	}
	if (M0_LIKELY(conn->cn_in == M0_SOCK__IN_FRAME &&
		      conn->cn_staged == 0)) {
		rc = frame_take(conn, bytes, nr);
		if (M0_LIKELY(rc != 0))
			return rc;
	}
	return other_take(conn, bytes, nr);
}

/** Before bytes are looked at. */
static void batch_begin(struct m0_sock_conn *conn)
{
	m0_time_t now = conn->cn_sock->sk_reactor->rtr_now;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (M0_UNLIKELY(conn->cn_state != M0_SOCK__OPEN))
		return;
	conn->cn_peer->sp_received = now;
	if (conn->cn_in == M0_SOCK__IN_FRAME && conn->cn_staged == 0)
		conn->cn_pace.pac_since = now;
	cancelled_look(conn);
}

/** After them: what has begun must come to its end in time. */
static void batch_end(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_state == M0_SOCK__OPEN && m0_sock__in_is_partial(conn))
		m0_sock__alarm_by(
			sock, &conn->cn_alarm,
			m0_time_add(sock->sk_reactor->rtr_now,
				    m0_sock__conn_cfg(conn)->son_timeout_ns));
}

ssize_t m0_sock__in_bytes(void *user, const void *bytes, size_t nr)
{
	struct m0_sock_conn *conn = user;
	const uint8_t       *from = bytes;
	size_t               at = 0;
	ssize_t              rc;

	conn->cn_sock->sk_reactor->rtr_called = true;
	if (M0_UNLIKELY(conn->cn_state == M0_SOCK__DEAD))
		return -ECONNRESET;
	batch_begin(conn);
	while (at < nr) {
		rc = some_take(conn, from + at, nr - at);
		if (M0_UNLIKELY(rc <= 0)) {
			if (rc < 0)
				return rc;
			break;
		}
		at += (size_t)rc;
	}
	batch_end(conn);
	return (ssize_t)at;
}

/**
 * Completes a guess: a header is in cn_stage, and `nr` bytes are at cn_guess. After any
 * call of the engine but the first, the memory may belong to another message: if the
 * bytes have to be moved, this moves them first.
 * @retval >0  they have to be.
 */
static int guess_come(struct m0_sock_conn *conn, size_t nr)
{
	const struct m0_lnd_payload *payload = &conn->cn_rx.lr_payload;
	struct m0_lnd_ni            *ni = conn->cn_ni->sni_ni;
	struct m0_sock_frame         frame;
	int                          rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (m0_sock__frame_decode(&frame, conn->cn_swapped, conn->cn_stage) !=
		    0 ||
	    frame.sfr_type != M0_SOCK_FRAME_LNET ||
	    !ni->ldn_ops->lu_guess->lgu_guessed(
		    ni, conn->cn_stage + M0_SOCK_FRAME_BYTES, conn->cn_large))
		return 1;
	batch_begin(conn);
	conn->cn_staged = conn->cn_head_bytes;
	rc = stage_use(conn);
	if (rc < 0)
		return rc;
	if (conn->cn_in == M0_SOCK__IN_DISCARD)
		return discard_come(conn, nr);
	M0_ASSERT(conn->cn_in == M0_SOCK__IN_PAYLOAD &&
		  payload->lpy_vec == conn->cn_guess.lpy_vec &&
		  payload->lpy_offset == conn->cn_guess.lpy_offset);
	conn->cn_ni->sni_info.ldi_direct_bytes += nr;
	return payload_come(conn, NULL, nr);
}

int m0_sock__in_arrived(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;
	int                  rc;

	conn->cn_sock->sk_reactor->rtr_called = true;
	if (M0_UNLIKELY(conn->cn_state == M0_SOCK__DEAD))
		return -ECONNRESET;
	if (nr == 0)
		return 0;
	/* A payload may be cancelled only while a lane reads it, because no other
	 * call comes between. */
	if (M0_UNLIKELY(conn->cn_rx.lr_cancelled))
		cancelled_look(conn);
	switch (conn->cn_in) {
	case M0_SOCK__IN_PAYLOAD:
		M0_PRE(nr <= conn->cn_rest.rem_left);
		conn->cn_peer->sp_received = conn->cn_sock->sk_reactor->rtr_now;
		conn->cn_ni->sni_info.ldi_direct_bytes += nr;
		rc = payload_come(conn, NULL, nr);
		break;
	case M0_SOCK__IN_DISCARD:
		M0_PRE(nr <= conn->cn_rest.rem_left);
		conn->cn_peer->sp_received = conn->cn_sock->sk_reactor->rtr_now;
		rc = discard_come(conn, nr);
		break;
	case M0_SOCK__IN_SINK:
		return 0;
	case M0_SOCK__IN_FRAME:
		if (conn->cn_guess.lpy_bytes > 0 && nr > conn->cn_head_bytes) {
			rc = guess_come(conn, nr - conn->cn_head_bytes);
			if (rc > 0)
				return (int)nr;
			break;
		}
		__attribute__((__fallthrough__));
	default:
		batch_begin(conn);
		conn->cn_staged += (unsigned)nr;
		M0_PRE(conn->cn_staged <= sizeof conn->cn_stage);
		rc = stage_use(conn);
	}
	if (rc < 0)
		return rc;
	batch_end(conn);
	return 0;
}

/* -- where they go --------------------------------------------------------- */

static unsigned where_stage(struct m0_sock_conn *conn, struct iovec *iov)
{
	unsigned goal = conn->cn_in == M0_SOCK__IN_FRAME ? conn->cn_head_bytes
							 : conn->cn_want;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	iov->iov_base = conn->cn_stage + conn->cn_staged;
	iov->iov_len = goal - conn->cn_staged;
	return 1;
}

static unsigned where_sink(struct m0_sock *sock, struct iovec *iov,
			   unsigned max, uint64_t left)
{
	unsigned nr;

	for (nr = 0; nr < max && left > 0; ++nr) {
		iov[nr].iov_base = sock->sk_sink;
		iov[nr].iov_len = (size_t)min64u(left, sizeof sock->sk_sink);
		left -= iov[nr].iov_len;
	}
	return nr;
}

/** `left` bytes of `vec`, from byte `at` of segment `seg` or of later ones. */
static unsigned where_vec(const struct m0_bufvec *vec, uint32_t seg,
			  m0_bcount_t at, uint64_t left, struct iovec *iov,
			  unsigned max)
{
	unsigned nr = 0;

	for (; nr < max && left > 0; ++seg) {
		m0_bcount_t count = vec->ov_vec.v_count[seg];

		if (at >= count) {
			at -= count;
			continue;
		}
		iov[nr].iov_base = (char *)vec->ov_buf[seg] + at;
		iov[nr].iov_len = (size_t)min64u(count - at, left);
		left -= iov[nr++].iov_len;
		at = 0;
	}
	return nr;
}

/** Payload that arrives next may go to the pipe, if what went there has no gap. */
static RARE void where_pipe(struct m0_sock_conn *conn)
{
	struct m0_lnd_pipe *pipe = conn->cn_rx.lr_pipe;
	m0_bcount_t         there = conn->cn_rx.lr_payload.lpy_bytes -
			    conn->cn_rest.rem_left;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (pipe->lnp_closed || conn->cn_sum.su_is_on)
		return;
	if (pipe->lnp_bytes == 0)
		pipe->lnp_at = there;
	if (pipe->lnp_at + pipe->lnp_bytes == there)
		conn->cn_stream->stm_in_pipe = pipe;
}

/**
 * A header begins. What follows on a bulk connection, and is most likely the
 * answer that is waited for, is read to its place at once.
 */
static unsigned where_guess(struct m0_sock_conn *conn, struct iovec *iov,
			    unsigned max, size_t *ret_ahead)
{
	struct m0_lnd_payload *guess = &conn->cn_guess;
	struct m0_lnd_ni      *ni;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_in != M0_SOCK__IN_FRAME || conn->cn_staged > 0 ||
	    !m0_sock_conn_is_bulk(conn))
		return 0;
	ni = conn->cn_ni->sni_ni;
	if (ni->ldn_ops->lu_guess == NULL)
		return 0;
	ni->ldn_ops->lu_guess->lgu_guess(ni, &conn->cn_rx, guess);
	if (guess->lpy_bytes == 0)
		return 0;
	/* The rest of a longer payload has a better place than the reader's
	 * buffer. */
	if (guess->lpy_bytes > M0_SOCK__GUESS_BYTES)
		*ret_ahead = 0;
	return where_vec(guess->lpy_vec, 0, guess->lpy_offset,
			 min64u(guess->lpy_bytes, M0_SOCK__GUESS_BYTES), iov,
			 max);
}

/**
 * Payload that is read ahead has to be copied, which costs less than a call for
 * each message if they are small. Bulk may be large unless the last one was not:
 * of that no more than the head is read.
 */
static size_t where_ahead(const struct m0_sock_conn *conn)
{
	M0_PRE_EX(m0_sock__conn_invariant(conn));
	if (conn->cn_in_small || !m0_sock_conn_is_bulk(conn))
		return M0_SOCK__AHEAD_BYTES;
	return conn->cn_in == M0_SOCK__IN_FRAME ? 0 : conn->cn_head_bytes;
}

unsigned m0_sock__in_where(void *user, struct iovec *iov, unsigned max,
			   size_t *ret_ahead)
{
	struct m0_sock_conn *conn = user;

	*ret_ahead = where_ahead(conn);
	conn->cn_guess.lpy_bytes = 0;
	cancelled_look(conn);
	switch (conn->cn_in) {
	case M0_SOCK__IN_PAYLOAD:
		if (M0_UNLIKELY(conn->cn_rx.lr_pipe != NULL))
			where_pipe(conn);
		return where_vec(conn->cn_rx.lr_payload.lpy_vec,
				 conn->cn_rest.rem_seg,
				 conn->cn_rest.rem_seg_at,
				 conn->cn_rest.rem_left, iov, max);
	case M0_SOCK__IN_DISCARD:
		return where_sink(conn->cn_sock, iov, max,
				  conn->cn_rest.rem_left);
	case M0_SOCK__IN_SINK:
		*ret_ahead = 0;
		return where_sink(conn->cn_sock, iov, 1, M0_SOCK__SINK_BYTES);
	case M0_SOCK__IN_PAUSED:
		*ret_ahead = 0;
		return 0;
	default:
		if (conn->cn_state == M0_SOCK__DIALLING ||
		    conn->cn_state == M0_SOCK__DEAD)
			return 0;
		(void)where_stage(conn, iov);
		return 1 + where_guess(conn, iov + 1, max - 1, ret_ahead);
	}
}

bool m0_sock__in_lend(void *user)
{
	const struct m0_sock_conn *conn = user;

	/* Memory of a guess may be given to somebody else, and a message that is
	 * forwarded goes on piece by piece. */
	return conn->cn_in == M0_SOCK__IN_PAYLOAD && !conn->cn_rx.lr_reports;
}

/* -- put off --------------------------------------------------------------- */

void m0_sock__in_retry(struct m0_sock_conn *conn)
{
	struct m0_sock *sock = conn->cn_sock;
	int             rc;

	M0_PRE_EX(m0_sock__conn_invariant(conn));
	rc = header_offer(conn, conn->cn_stage + M0_SOCK_FRAME_BYTES);
	if (rc == -EAGAIN)
		return;
	sock->sk_spoke = true;
	if (rc < 0)
		return;
	m0_list_del(&conn->cn_paused);
	conn->cn_staged = 0;
	conn->cn_pace.pac_since = sock->sk_reactor->rtr_now;
	sock->sk_ops->sto_in(sock->sk_streams, conn->cn_stream);
	batch_end(conn);
}
