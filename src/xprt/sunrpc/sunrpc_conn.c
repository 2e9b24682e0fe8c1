/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Connections: made, taken in, closed, watched; and what they send.
 *
 * What is sent is a list of heads, each with bytes of a buffer behind it. One
 * system call takes as many of them as fit. A payload goes in fragments: those
 * bytes of a fragment that the socket does not take are copied, so that from
 * fragment to fragment the buffer may go away; the record is then ended short,
 * which its receiver sees.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xprt/sunrpc/sunrpc_internal.h"

static struct sr_node *const node = &m0_sunrpc__node;

/* ------------------------------------------------------------------ life -- */

void m0_sunrpc__conn_ready(struct sr_conn *conn)
{
	if (conn->sc_is_ready)
		return;
	conn->sc_is_ready = true;
	m0_list_add_tail(&node->sn_ready, &conn->sc_ready_link);
}

static void conn_event(struct m0_loop_fd *fd, unsigned events)
{
	struct sr_conn *conn = container_of(fd, struct sr_conn, sc_fd);

	if (events & (M0_LOOP_IN | M0_LOOP_END))
		conn->sc_can_read = true;
	if (events & (M0_LOOP_OUT | M0_LOOP_END))
		conn->sc_can_write = true;
	if (events & M0_LOOP_END)
		conn->sc_ended = true;
	m0_sunrpc__conn_ready(conn);
}

struct sr_conn *m0_sunrpc__conn_new(int fd, struct sr_dom *dom, m0_time_t now)
{
	struct sr_conn *conn;
	int             one = 1;

	M0_ALLOC_PTR(conn);
	if (conn == NULL)
		return NULL;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	conn->sc_fd.lof_fd = fd;
	conn->sc_fd.lof_handler = conn_event;
	conn->sc_nr = ++node->sn_conns_nr;
	conn->sc_dom = dom;
	conn->sc_moved = now;
	m0_list_link_init(&conn->sc_link);
	m0_list_link_init(&conn->sc_ready_link);
	m0_list_init(&conn->sc_out);
	m0_list_init(&conn->sc_waiting);
	m0_timer_init(&conn->sc_timer);
	if (m0_loop_add(&node->sn_loop, &conn->sc_fd) != 0) {
		m0_free(conn);
		return NULL;
	}
	return conn;
}

/*
 * A call of which nothing has left may go another way, once; but not a piece
 * after the first, which has to come as that did.
 */
static bool is_unsent(const struct sr_conn *conn, const struct sr_call *call,
		      int rc)
{
	return rc == -ECONNRESET && !conn->sc_connecting &&
	       !call->sca_out.sro_begun && call->sca_done == 0 &&
	       !call->sca_retried;
}

static void outs_end(struct sr_conn *conn, struct m0_list *outs, int rc)
{
	struct sr_call *call;
	struct sr_out  *out;
	struct sr_out  *next;

	m0_list_for_each_entry_safe(outs, out, next, struct sr_out, sro_link) {
		m0_list_del(&out->sro_link);
		if (out->sro_kind == SR_OUT_REPLY) {
			m0_sunrpc__reply_free(
				container_of(out, struct sr_reply, srr_out));
			continue;
		}
		call = container_of(out, struct sr_call, sca_out);
		if (!is_unsent(conn, call, rc)) {
			m0_sunrpc__call_end(call, rc, 0);
			continue;
		}
		call->sca_retried = true;
		m0_sunrpc__call_begin(call, conn->sc_moved);
	}
}

void m0_sunrpc__conn_close(struct sr_conn *conn, int rc)
{
	struct m0_list outs;
	struct m0_list waiting;

	m0_loop_del(&node->sn_loop, &conn->sc_fd);
	(void)close(conn->sc_fd.lof_fd);
	m0_timerq_cancel(&node->sn_timerq, &conn->sc_timer);
	m0_list_del(&conn->sc_link);
	if (conn->sc_is_ready)
		m0_list_del(&conn->sc_ready_link);
	sr_count(conn->sc_dom != NULL ? &node->sn_stats.nss_conns_out_nr
				      : &node->sn_stats.nss_conns_in_nr,
		 -1);
	m0_sunrpc__in_drop(&conn->sc_in);
	/* Completing these may make another connection to the same peer. */
	m0_list_init(&outs);
	m0_list_init(&waiting);
	m0_list_splice_tail(&outs, &conn->sc_out);
	m0_list_splice_tail(&waiting, &conn->sc_waiting);
	outs_end(conn, &waiting, rc);
	outs_end(conn, &outs, rc);
	m0_list_fini(&outs);
	m0_list_fini(&waiting);
	m0_list_fini(&conn->sc_out);
	m0_list_fini(&conn->sc_waiting);
	m0_list_link_fini(&conn->sc_link);
	m0_list_link_fini(&conn->sc_ready_link);
	m0_timer_fini(&conn->sc_timer);
	m0_free(conn->sc_rest);
	m0_free(conn);
}

/* --------------------------------------------------------- those we make -- */

static int conn_dial(const struct sr_ep *to, bool *connecting)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)to->se_port),
				    .sin_addr.s_addr = htonl(to->se_host) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
		rc = -errno;
	*connecting = rc == -EINPROGRESS;
	if (rc == 0 || *connecting)
		return fd;
	(void)close(fd);
	return rc;
}

static int conn_make(struct sr_dom *dom, const struct sr_ep *to, bool bulk,
		     m0_time_t now, struct sr_conn **ret)
{
	struct sr_conn *conn;
	bool            connecting = false;
	int             fd = conn_dial(to, &connecting);

	if (fd < 0)
		return fd;
	conn = m0_sunrpc__conn_new(fd, dom, now);
	if (conn == NULL) {
		(void)close(fd);
		return -ENOMEM;
	}
	conn->sc_host = to->se_host;
	conn->sc_port = to->se_port;
	conn->sc_bulk = bulk;
	conn->sc_connecting = connecting;
	conn->sc_can_write = !connecting;
	m0_list_add(&node->sn_conns_out, &conn->sc_link);
	sr_count(&node->sn_stats.nss_conns_out_nr, 1);
	sr_count(&node->sn_stats.nss_conns_made_nr, 1);
	*ret = conn;
	return 0;
}

int m0_sunrpc__conn_find(struct sr_dom *dom, const struct sr_ep *to, bool bulk,
			 m0_time_t now, struct sr_conn **ret)
{
	struct sr_conn *conn;

	m0_list_for_each_entry(&node->sn_conns_out, conn, struct sr_conn,
			       sc_link) {
		if (conn->sc_port == to->se_port && conn->sc_dom == dom &&
		    conn->sc_host == to->se_host && conn->sc_bulk == bulk &&
		    !conn->sc_ended) {
			m0_list_move(&node->sn_conns_out, &conn->sc_link);
			*ret = conn;
			return 0;
		}
	}
	return conn_make(dom, to, bulk, now, ret);
}

/* ------------------------------------------------------------------ time -- */

/* A record has begun to come, be it of fragments of no bytes. */
static bool in_record(const struct sr_conn *conn)
{
	return conn->sc_in.sri_mark_nr > 0 || conn->sc_in.sri_frags_nr > 0;
}

static bool is_sending(const struct sr_conn *conn)
{
	return conn->sc_rest_nr > 0 || !m0_list_is_empty(&conn->sc_out);
}

bool m0_sunrpc__conn_is_idle(const struct sr_conn *conn)
{
	return !conn->sc_connecting && !is_sending(conn) && !in_record(conn) &&
	       m0_list_is_empty(&conn->sc_waiting);
}

static m0_time_t after_ms(m0_time_t since, uint64_t ms)
{
	return m0_time_add(since, ms * M0_TIME_ONE_MSEC);
}

/* Since when the reply waits whose turn it is. Pre: is_sending(). */
static m0_time_t reply_since(const struct sr_conn *conn)
{
	if (conn->sc_rest_nr > 0)
		return conn->sc_reply_since;
	return container_of(m0_list_first(&conn->sc_out), const struct sr_reply,
			    srr_out.sro_link)
		->srr_since;
}

/*
 * A caller that keeps bytes coming does not keep the replies it does not read,
 * nor a record that never ends.
 */
static m0_time_t caller_limit(const struct sr_conn *conn)
{
	m0_time_t limit = M0_TIME_NEVER;

	if (m0_sunrpc__conn_is_idle(conn))
		return after_ms(conn->sc_moved,
				M0_NET_BULK_SUNRPC_SERVER_IDLE_MS);
	if (in_record(conn))
		limit = min64u(after_ms(conn->sc_moved,
					M0_NET_BULK_SUNRPC_TIMEOUT_MS),
			       after_ms(conn->sc_in.sri_since,
					M0_NET_BULK_SUNRPC_RECORD_MS));
	if (is_sending(conn))
		limit = min64u(limit, after_ms(max64u(conn->sc_sent,
						      reply_since(conn)),
					       M0_NET_BULK_SUNRPC_TIMEOUT_MS));
	return limit;
}

/*
 * A peer that keeps bytes moving may still owe an answer. Only the oldest call
 * that has left is checked: later ones wait a little longer.
 */
static m0_time_t answer_limit(const struct sr_conn *conn, uint32_t ms)
{
	const struct m0_list_link *link = m0_list_first(&conn->sc_waiting);
	const struct sr_call      *call;

	if (link == NULL)
		return M0_TIME_NEVER;
	call = container_of(link, const struct sr_call, sca_out.sro_link);
	return after_ms(call->sca_since,
			(uint64_t)ms * m0_sunrpc__call_times(call));
}

/* When it has stood still for too long. */
static m0_time_t conn_limit(const struct sr_conn *conn)
{
	const struct sr_dom *sd = conn->sc_dom;
	uint32_t             ms;

	if (sd == NULL)
		return caller_limit(conn);
	ms = __atomic_load_n(m0_sunrpc__conn_is_idle(conn)
				     ? &sd->sdm_idle_ms
				     : &sd->sdm_timeout_ms,
			     __ATOMIC_RELAXED);
	return min64u(after_ms(conn->sc_moved, ms), answer_limit(conn, ms));
}

/* A timer that is too early is set right when it has expired. */
void m0_sunrpc__conn_watch(struct sr_conn *conn)
{
	m0_time_t at = conn_limit(conn);

	if (!m0_timer_is_armed(&conn->sc_timer) ||
	    m0_timer_deadline(&conn->sc_timer) > at)
		m0_timerq_arm(&node->sn_timerq, &conn->sc_timer, at);
}

void m0_sunrpc__conn_expired(struct sr_conn *conn, m0_time_t now)
{
	if (conn_limit(conn) > now) {
		m0_sunrpc__conn_watch(conn);
	} else if (m0_sunrpc__conn_is_idle(conn)) {
		m0_sunrpc__conn_close(conn, -ECONNRESET);
	} else {
		sr_count(&node->sn_stats.nss_conns_stalled_nr, 1);
		m0_sunrpc__conn_close(conn, -ETIMEDOUT);
	}
}

/* ------------------------------------------------------ those taken in -- */

/* A record, or a reply, takes longer than one that does not move may. */
static bool is_slow(const struct sr_conn *conn, m0_time_t now)
{
	m0_time_t since = M0_TIME_NEVER;

	if (in_record(conn))
		since = conn->sc_in.sri_since;
	if (is_sending(conn))
		since = min64u(since, reply_since(conn));
	return after_ms(since, M0_NET_BULK_SUNRPC_TIMEOUT_MS) <= now;
}

/* The highest makes place first, 0: not at all. */
static unsigned evict_rank(const struct sr_conn *conn, m0_time_t now)
{
	if (conn->sc_records_nr == 0)
		return 3;
	if (is_slow(conn, now))
		return 2;
	return m0_sunrpc__conn_is_idle(conn) ? 1 : 0;
}

static void evict(struct sr_conn *conn)
{
	sr_count(&node->sn_stats.nss_conns_evicted_nr, 1);
	m0_sunrpc__conn_close(conn, -ECONNRESET);
}

/* Makes place; of the same rank goes what did not move for longest. */
static bool conn_evict(m0_time_t now)
{
	struct sr_conn *conn;
	struct sr_conn *worst = NULL;
	unsigned        rank = 0;
	unsigned        its;

	m0_list_for_each_entry(&node->sn_conns_in, conn, struct sr_conn,
			       sc_link) {
		its = evict_rank(conn, now);
		if (its > rank || (its == rank && worst != NULL &&
				   conn->sc_moved < worst->sc_moved)) {
			worst = conn;
			rank = its;
		}
	}
	if (worst != NULL)
		evict(worst);
	return worst != NULL;
}

bool m0_sunrpc__conn_relieve(const struct sr_conn *wanting, m0_time_t now)
{
	struct sr_conn *conn;

	m0_list_for_each_entry(&node->sn_conns_in, conn, struct sr_conn,
			       sc_link) {
		if (conn != wanting && conn->sc_in.sri_memory_nr > 0 &&
		    is_slow(conn, now)) {
			evict(conn);
			return true;
		}
	}
	return false;
}

void m0_sunrpc__conn_take(int fd, uint64_t epoch, m0_time_t now)
{
	struct sr_conn *conn = NULL;

	if (node->sn_stats.nss_conns_in_nr < M0_NET_BULK_SUNRPC_CONNS_MAX ||
	    conn_evict(now))
		conn = m0_sunrpc__conn_new(fd, NULL, now);
	if (conn == NULL) {
		(void)close(fd);
		return;
	}
	conn->sc_epoch = epoch;
	m0_list_add_tail(&node->sn_conns_in, &conn->sc_link);
	sr_count(&node->sn_stats.nss_conns_in_nr, 1);
	m0_sunrpc__conn_watch(conn);
}

/* --------------------------------------------------------------- sending -- */

/* One fragment of one record. */
struct part {
	struct sr_out         *pa_out;
	struct m0_net_kit_buf *pa_kb;
	uint32_t               pa_nr;
	uint32_t               pa_data_nr;
	int                    pa_iov;
	int                    pa_iov_nr;
	bool                   pa_last;
	uint8_t                pa_mark[4];
};

struct batch {
	struct iovec ba_iov[SR_IOV_MAX];
	int          ba_iov_nr;
	struct part  ba_part[SR_BATCH_MAX];
	int          ba_nr;
	uint32_t     ba_bytes;
};

static const uint8_t zeros[4];

static void mark_put(uint8_t *to, uint32_t nr, bool last)
{
	to[0] = (uint8_t)((nr >> 24) | (last ? 0x80 : 0));
	to[1] = (uint8_t)(nr >> 16);
	to[2] = (uint8_t)(nr >> 8);
	to[3] = (uint8_t)nr;
}

static void iov_put(struct batch *b, const void *bytes, size_t nr)
{
	b->ba_iov[b->ba_iov_nr++] =
		(struct iovec){ .iov_base = (void *)(uintptr_t)bytes,
				.iov_len = nr };
}

int m0_sunrpc__iov(const struct m0_bufvec *bv, m0_bindex_t offset,
		   m0_bcount_t nr, struct iovec *iov, int iov_nr,
		   m0_bcount_t *ret_nr)
{
	m0_bcount_t seg;
	uint32_t    i;
	int         used = 0;

	*ret_nr = 0;
	for (i = 0; i < bv->ov_vec.v_nr && nr > 0 && used < iov_nr; ++i) {
		seg = bv->ov_vec.v_count[i];
		if (offset >= seg) {
			offset -= seg;
			continue;
		}
		seg = min64u(seg - offset, nr);
		iov[used].iov_base = (char *)bv->ov_buf[i] + offset;
		iov[used].iov_len = seg;
		++used;
		offset = 0;
		nr -= seg;
		*ret_nr += seg;
	}
	return used;
}

/* Claims the buffer of what is sent; its machine is held until part_end(). */
static bool out_claim(struct sr_out *out, struct m0_net_kit_buf **ret)
{
	if (!m0_sunrpc__hold(out->sro_machine))
		return false;
	if (m0_net_kit_claim_id(out->sro_id, out->sro_qtype, ret) == 0)
		return true;
	m0_sunrpc__release(out->sro_machine);
	return false;
}

static void part_release(struct part *p)
{
	if (p->pa_kb == NULL)
		return;
	m0_net_kit_unclaim(p->pa_kb);
	m0_sunrpc__release(p->pa_out->sro_machine);
	p->pa_kb = NULL;
}

static void part_fill(struct batch *b, struct part *p)
{
	struct sr_out *out = p->pa_out;
	m0_bcount_t    data_nr = 0;
	uint32_t       left = out->sro_data_nr - out->sro_data_sent;
	uint8_t       *mark = p->pa_mark;
	uint32_t       pad = 0;

	M0_PRE(p->pa_kb != NULL || left == 0 || out->sro_cut);
	p->pa_nr = 0;
	p->pa_iov = b->ba_iov_nr;
	if (!out->sro_begun) {
		mark = out->sro_head;
		p->pa_nr = out->sro_head_nr;
	}
	iov_put(b, mark, p->pa_nr + 4);
	if (left > 0 && !out->sro_cut)
		b->ba_iov_nr += m0_sunrpc__iov(
			&p->pa_kb->nkb_buffer->nb_buffer,
			out->sro_offset + out->sro_data_sent,
			min64u(left, SR_FRAGMENT), &b->ba_iov[b->ba_iov_nr],
			SR_IOV_MAX - b->ba_iov_nr - 1, &data_nr);
	p->pa_data_nr = (uint32_t)data_nr;
	p->pa_last = out->sro_cut || data_nr == left;
	if (p->pa_last && !out->sro_cut)
		pad = -out->sro_data_nr & 3;
	if (pad > 0)
		iov_put(b, zeros, pad);
	p->pa_nr += p->pa_data_nr + pad;
	mark_put(mark, p->pa_nr, p->pa_last);
	p->pa_nr += 4;
	p->pa_iov_nr = b->ba_iov_nr - p->pa_iov;
	b->ba_bytes += p->pa_nr;
	++b->ba_nr;
}

/* The buffer is not there any more. True: there is something to send yet. */
static bool out_lost(struct sr_out *out)
{
	if (out->sro_begun) {
		out->sro_cut = true;
		return true;
	}
	if (out->sro_kind == SR_OUT_REPLY) {
		m0_sunrpc__reply_lost(
			container_of(out, struct sr_reply, srr_out));
		return true;
	}
	m0_list_del(&out->sro_link);
	m0_sunrpc__call_end(container_of(out, struct sr_call, sca_out),
			    -ECANCELED, 0);
	return false;
}

static void batch_make(struct sr_conn *conn, struct batch *b)
{
	struct sr_out *out;
	struct sr_out *next;
	struct part   *p;

	b->ba_iov_nr = 0;
	b->ba_nr = 0;
	b->ba_bytes = 0;
	m0_list_for_each_entry_safe(&conn->sc_out, out, next, struct sr_out,
				    sro_link) {
		if (b->ba_nr == SR_BATCH_MAX || b->ba_iov_nr + 4 > SR_IOV_MAX ||
		    b->ba_bytes >= SR_TURN_BYTES)
			break;
		p = &b->ba_part[b->ba_nr];
		p->pa_out = out;
		p->pa_kb = NULL;
		if (out->sro_machine != NULL && !out->sro_cut &&
		    !out_claim(out, &p->pa_kb) && !out_lost(out))
			continue;
		part_fill(b, p);
		if (!p->pa_last)
			break;
	}
}

/* Keeps what the socket has not taken of a fragment. */
static int rest_keep(struct sr_conn *conn, struct batch *b, struct part *p,
		     uint32_t took)
{
	const struct iovec *iov = &b->ba_iov[p->pa_iov];
	int                 i;

	if (conn->sc_rest == NULL)
		conn->sc_rest = m0_alloc(SR_FRAGMENT + SR_OUT_HEAD_MAX + 4);
	if (conn->sc_rest == NULL)
		return -ENOMEM;
	conn->sc_rest_at = 0;
	for (i = 0; i < p->pa_iov_nr; ++i) {
		size_t skip = min64u(took, iov[i].iov_len);

		memcpy(conn->sc_rest + conn->sc_rest_nr,
		       (const char *)iov[i].iov_base + skip,
		       iov[i].iov_len - skip);
		conn->sc_rest_nr += (uint32_t)(iov[i].iov_len - skip);
		took -= (uint32_t)skip;
	}
	return 0;
}

/* A fragment has left, or what has not is kept. */
static void part_sent(struct sr_conn *conn, struct part *p, m0_time_t now)
{
	struct sr_out *out = p->pa_out;

	out->sro_begun = true;
	out->sro_data_sent += p->pa_data_nr;
	if (out->sro_kind == SR_OUT_REPLY)
		conn->sc_reply_since =
			container_of(out, struct sr_reply, srr_out)->srr_since;
	if (!p->pa_last) {
		part_release(p);
		return;
	}
	m0_list_del(&out->sro_link);
	if (out->sro_kind == SR_OUT_CALL) {
		m0_sunrpc__call_sent(conn,
				     container_of(out, struct sr_call, sca_out),
				     p->pa_kb, now);
	} else {
		m0_sunrpc__reply_sent(
			conn, container_of(out, struct sr_reply, srr_out),
			p->pa_kb);
	}
}

static int batch_account(struct sr_conn *conn, struct batch *b, size_t nr,
			 m0_time_t now)
{
	struct part *p;
	int          rc = 0;
	int          i;

	for (i = 0; i < b->ba_nr; ++i) {
		p = &b->ba_part[i];
		if (nr == 0 || rc != 0) {
			part_release(p);
			continue;
		}
		if (nr < p->pa_nr)
			rc = rest_keep(conn, b, p, (uint32_t)nr);
		nr -= min64u(nr, p->pa_nr);
		if (rc == 0)
			part_sent(conn, p, now);
		else
			part_release(p);
	}
	return rc;
}

/* @retval -EAGAIN  the socket takes no more. */
static int took(struct sr_conn *conn, ssize_t nr, size_t want, m0_time_t now)
{
	int rc = 0;

	if (nr < 0)
		rc = errno == EINTR ? 0 : -errno;
	if (nr > 0)
		conn->sc_moved = conn->sc_sent = now;
	if (rc == 0 && nr >= 0 && (size_t)nr < want)
		rc = -EAGAIN;
	if (rc == -EAGAIN)
		conn->sc_can_write = false;
	return rc;
}

static int rest_send(struct sr_conn *conn, m0_time_t now)
{
	ssize_t nr = send(conn->sc_fd.lof_fd, conn->sc_rest + conn->sc_rest_at,
			  conn->sc_rest_nr, MSG_NOSIGNAL);
	int     rc = took(conn, nr, conn->sc_rest_nr, now);

	if (nr > 0) {
		conn->sc_rest_at += (uint32_t)nr;
		conn->sc_rest_nr -= (uint32_t)nr;
	}
	return rc;
}

static int batch_send(struct sr_conn *conn, m0_time_t now)
{
	struct msghdr msg = { .msg_iov = NULL };
	struct batch  b;
	ssize_t       nr;
	int           rc;
	int           rc2;

	batch_make(conn, &b);
	if (b.ba_nr == 0)
		return 0;
	msg.msg_iov = b.ba_iov;
	msg.msg_iovlen = (size_t)b.ba_iov_nr;
	nr = sendmsg(conn->sc_fd.lof_fd, &msg, MSG_NOSIGNAL);
	rc = took(conn, nr, b.ba_bytes, now);
	rc2 = batch_account(conn, &b, (size_t)max64(nr, 0), now);
	return rc2 ?: rc;
}

/* Sends what there is, as far as the socket takes it. */
static int conn_flush(struct sr_conn *conn, m0_time_t now)
{
	uint32_t turns = 0;
	int      rc = 0;

	while (rc == 0 && conn->sc_can_write && turns++ < 8) {
		if (conn->sc_rest_nr > 0)
			rc = rest_send(conn, now);
		else if (!m0_list_is_empty(&conn->sc_out))
			rc = batch_send(conn, now);
		else
			break;
	}
	return rc == -EAGAIN ? 0 : rc;
}

void m0_sunrpc__conn_put(struct sr_conn *conn, struct sr_out *out)
{
	m0_list_add_tail(&conn->sc_out, &out->sro_link);
	m0_sunrpc__conn_ready(conn);
}

/* ------------------------------------------------------------------ turn -- */

static int connect_end(struct sr_conn *conn, m0_time_t now)
{
	socklen_t len = sizeof(int);
	int       rc = 0;

	if (!conn->sc_can_write)
		return -EAGAIN;
	if (getsockopt(conn->sc_fd.lof_fd, SOL_SOCKET, SO_ERROR, &rc, &len) !=
	    0)
		rc = errno;
	if (rc == 0) {
		conn->sc_connecting = false;
		conn->sc_moved = now;
	}
	return -rc;
}

static bool may_read(const struct sr_conn *conn)
{
	return conn->sc_can_read && conn->sc_replies_nr < SR_REPLIES_MAX;
}

void m0_sunrpc__conn_turn(struct sr_conn *conn, m0_time_t now)
{
	int rc = 0;
	int rc2;

	if (conn->sc_connecting)
		rc = connect_end(conn, now);
	if (rc == -EAGAIN) {
		m0_sunrpc__conn_watch(conn);
		return;
	}
	if (rc == 0 && may_read(conn))
		rc = m0_sunrpc__conn_read(conn, now);
	/* Also after its end: what was asked before it may be answered. */
	rc2 = conn->sc_connecting ? 0 : conn_flush(conn, now);
	rc = rc ?: rc2;
	if (rc != 0) {
		if (M0_IN(rc, (-EPROTO, -EMSGSIZE)))
			sr_count(&node->sn_stats.nss_conns_garbled_nr, 1);
		m0_sunrpc__conn_close(conn, rc == -EPIPE ? -ECONNRESET : rc);
		return;
	}
	/* Nobody is slow while we do not read; what is held meanwhile counts. */
	if (conn->sc_replies_nr >= SR_REPLIES_MAX &&
	    conn->sc_in.sri_memory_nr == 0)
		conn->sc_in.sri_since = now;
	if (may_read(conn) || (conn->sc_can_write && is_sending(conn)))
		m0_sunrpc__conn_ready(conn);
	m0_sunrpc__conn_watch(conn);
}
