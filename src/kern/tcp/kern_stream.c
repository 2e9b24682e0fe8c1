/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The two ways of a stream. A read that brings less than there was room for has
 * emptied the socket, and the next byte is reported; likewise a write that is not
 * taken whole.
 *
 * A call up may hang up this stream, or others. Code that makes one keeps the stream
 * in knt_current, and has lost it if it is not there afterwards.
 */
#include <linux/sched.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#include "kern/tcp/kern_tcp.h"
#include "stream/segs.h"

enum {
	/** Peers of a namespace that ends have so long to acknowledge the end. */
	LAST_S = 2,
	/** Streams that have ended and are not over. */
	ORPHANS_MAX = 1024
};

/** A stream that has ended may take so long to be over, and is looked at so often. */
#define ORPHAN_NS      (5 * M0_TIME_ONE_SECOND)
#define ORPHAN_LOOK_NS (200 * M0_TIME_ONE_MSEC)

static const struct m0_streams_up *calls_of(const struct kern_stream *stream)
{
	return stream->knm_tcp->knt_streams.sts_up;
}

static void *user(const struct kern_stream *stream)
{
	return stream->knm_stream.stm_user;
}

void kern_stream_in_add(struct kern_stream *stream)
{
	if (!stream->knm_in_paused && !m0_list_link_is_in(&stream->knm_ready))
		m0_list_add_tail(&stream->knm_tcp->knt_ready,
				 &stream->knm_ready);
}

void kern_stream_out_add(struct kern_stream *stream)
{
	if (!stream->knm_out_full && !stream->knm_dials &&
	    !m0_list_link_is_in(&stream->knm_out))
		m0_list_add_tail(&stream->knm_tcp->knt_out, &stream->knm_out);
}

static void stream_told(struct kern_sock *sock, unsigned events)
{
	struct kern_stream *stream =
		container_of(sock, struct kern_stream, knm_sock);

	if ((events & KERN_OUT) && stream->knm_out_full &&
	    stream->knm_out_rc == 0) {
		stream->knm_out_full = false;
		kern_stream_out_add(stream);
	}
	if (stream->knm_dials || (events & (KERN_IN | KERN_STATE)))
		kern_stream_in_add(stream);
}

struct kern_stream *kern_stream_new(struct kern_tcp *tcp, struct socket *sock,
				    bool dials, const struct kern_sock *from)
{
	struct kern_stream *stream;

	M0_ALLOC_PTR(stream);
	if (stream == NULL)
		return NULL;
	stream->knm_sock.kns_sock = sock;
	stream->knm_sock.kns_reactor = tcp->knt_reactor;
	stream->knm_sock.kns_handler = stream_told;
	stream->knm_tcp = tcp;
	stream->knm_stream.stm_counts = &tcp->knt_streams.sts_counts;
	stream->knm_dials = dials;
	m0_list_link_init(&stream->knm_all);
	m0_list_link_init(&stream->knm_ready);
	m0_list_link_init(&stream->knm_out);
	sock->sk->sk_allocation = GFP_NOFS;
	kern_sock_hook(&stream->knm_sock, from);
	m0_list_add_tail(&tcp->knt_all, &stream->knm_all);
	return stream;
}

static void orphan_free(struct kern_stream *stream, bool left)
{
	struct kern_tcp *tcp = stream->knm_tcp;

	kern_orphan_forget(stream->knm_orphan, left);
	m0_list_del(&stream->knm_all);
	--tcp->knt_orphans_nr;
	m0_free(stream);
}

static struct kern_stream *orphan_first(const struct kern_tcp *tcp)
{
	return m0_list_entry(m0_list_first(&tcp->knt_orphans),
			     struct kern_stream, knm_all);
}

static void orphan_add(struct kern_stream *stream, struct sock *sk)
{
	struct kern_tcp *tcp = stream->knm_tcp;

	if (tcp->knt_orphans_nr == ORPHANS_MAX)
		orphan_free(orphan_first(tcp), false);
	stream->knm_orphan = sk;
	stream->knm_until = m0_time_add(m0_time_now(), ORPHAN_NS);
	if (tcp->knt_orphans_nr++ == 0)
		tcp->knt_orphans_at =
			m0_time_add(m0_time_now(), ORPHAN_LOOK_NS);
	m0_list_add_tail(&tcp->knt_orphans, &stream->knm_all);
	if (kern_orphan_is_over(sk))
		orphan_free(stream, false);
}

void kern_orphans_look(struct kern_tcp *tcp, m0_time_t now)
{
	unsigned             nr = tcp->knt_orphans_nr;
	struct m0_list_link *link;
	struct kern_stream  *stream;

	tcp->knt_orphans_at = m0_time_add(now, ORPHAN_LOOK_NS);
	/* Each goes to the end of the list, so that they stay in order. */
	while (nr-- > 0) {
		link = m0_list_first(&tcp->knt_orphans);
		stream = m0_list_entry(link, struct kern_stream, knm_all);
		if (kern_orphan_is_over(stream->knm_orphan) ||
		    now >= stream->knm_until)
			orphan_free(stream, false);
		else
			m0_list_move_tail(&tcp->knt_orphans, link);
	}
}

static void stream_end(struct kern_stream *stream)
{
	struct sock *sk = kern_socket_end(stream->knm_sock.kns_sock);

	if (sk == NULL)
		m0_list_add_tail(&stream->knm_tcp->knt_last, &stream->knm_all);
	else
		orphan_add(stream, sk);
}

void kern_stream_free(struct kern_stream *stream, bool reset)
{
	struct kern_tcp *tcp = stream->knm_tcp;

	if (tcp->knt_current == stream)
		tcp->knt_current = NULL;
	kern_sock_unhook(&stream->knm_sock);
	m0_list_del(&stream->knm_all);
	m0_list_del(&stream->knm_ready);
	m0_list_del(&stream->knm_out);
	m0_free(stream->knm_kept);
	stream->knm_kept = NULL;
	if (!reset) {
		stream_end(stream);
		return;
	}
	kern_socket_reset(stream->knm_sock.kns_sock);
	m0_free(stream);
}

/* The kernel sends what the peer has not acknowledged, for a bounded time if that is the end
 * alone. */
static void orphans_forget(struct kern_tcp *tcp, m0_time_t until)
{
	while (tcp->knt_orphans_nr > 0) {
		struct kern_stream *stream = orphan_first(tcp);
		const struct sock  *sk = stream->knm_orphan;

		while (!kern_orphan_is_over(sk) &&
		       !kern_orphan_is_written(sk) && m0_time_now() < until)
			schedule_timeout_uninterruptible(1);
		orphan_free(stream, kern_orphan_is_written(sk));
	}
}

void kern_streams_forget(struct kern_tcp *tcp)
{
	m0_time_t            until = m0_time_from_now(LAST_S, 0);
	struct m0_list_link *link;

	orphans_forget(tcp, until);
	while ((link = m0_list_first(&tcp->knt_last)) != NULL) {
		struct kern_stream *stream =
			m0_list_entry(link, struct kern_stream, knm_all);
		struct socket *sock = stream->knm_sock.kns_sock;

		while (!kern_orphan_is_over(sock->sk) && m0_time_now() < until)
			schedule_timeout_uninterruptible(1);
		kern_socket_forget(sock);
		m0_list_del(&stream->knm_all);
		m0_free(stream);
	}
}

void kern_stream_broken(struct kern_stream *stream, int status)
{
	const struct m0_streams_up *calls = calls_of(stream);
	void                       *of = user(stream);

	kern_stream_free(stream, false);
	/* The peer's reset came after its end of the stream. */
	calls->stu_broken(of, status == -EPIPE ? -ECONNRESET : status);
}

/* -- in ------------------------------------------------------------------------ */

/* The user wants nothing for now, unless it has changed its mind meanwhile. */
static void in_pause(struct kern_stream *stream)
{
	if (!m0_list_link_is_in(&stream->knm_ready))
		stream->knm_in_paused = true;
}

/* False: the stream is gone. */
static bool keep(struct kern_stream *stream, const uint8_t *bytes, size_t nr)
{
	M0_PRE(stream->knm_kept == NULL);
	stream->knm_kept = m0_alloc(max64u(nr, KERN_KEPT_BYTES_MIN));
	if (stream->knm_kept == NULL) {
		kern_stream_broken(stream, -ENOMEM);
		return false;
	}
	memcpy(stream->knm_kept, bytes, nr);
	stream->knm_kept_at = 0;
	stream->knm_kept_nr = nr;
	return true;
}

/* Gives bytes that were read ahead. True: the user wants more. */
static bool staged_give(struct kern_stream *stream, const uint8_t *bytes,
			size_t nr)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	ssize_t taken = calls_of(stream)->stu_in_bytes(user(stream), bytes, nr);

	if (taken < 0 || tcp->knt_current != stream)
		return false;
	M0_ASSERT((size_t)taken <= nr);
	if ((size_t)taken == nr)
		return true;
	if (keep(stream, bytes + taken, nr - (size_t)taken))
		in_pause(stream);
	return false;
}

/* Gives what was kept. True: the user wants more. */
static bool kept_give(struct kern_stream *stream)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	size_t           nr = stream->knm_kept_nr - stream->knm_kept_at;
	ssize_t          taken = calls_of(stream)->stu_in_bytes(
			 user(stream), stream->knm_kept + stream->knm_kept_at, nr);

	if (taken < 0 || tcp->knt_current != stream)
		return false;
	M0_ASSERT((size_t)taken <= nr);
	stream->knm_kept_at += (size_t)taken;
	if ((size_t)taken < nr) {
		in_pause(stream);
		return false;
	}
	m0_free(stream->knm_kept);
	stream->knm_kept = NULL;
	return true;
}

/* The plan of one call that reads; its segments are knt_in. */
struct kern_plan {
	unsigned knp_nr;
	/** Bytes that go where the user said; behind them, ahead. */
	size_t knp_direct;
	size_t knp_all;
};

/* False: the user wants nothing now. */
static bool in_plan(struct kern_stream *stream, struct kern_plan *plan)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	struct iovec    *iov = tcp->knt_in;
	size_t           ahead = 0;

	plan->knp_nr = calls_of(stream)->stu_in_where(user(stream), iov,
						      KERN_IN_SEGS_MAX, &ahead);
	/* There are no pipes here. */
	stream->knm_stream.stm_in_pipe = NULL;
	if (plan->knp_nr == 0) {
		in_pause(stream);
		return false;
	}
	plan->knp_direct = m0_stream_segs_bytes(iov, plan->knp_nr);
	plan->knp_all = plan->knp_direct;
	/* As many segments as there are places: more may follow. */
	if (ahead == 0 || plan->knp_nr == KERN_IN_SEGS_MAX)
		return true;
	plan->knp_all = m0_stream_segs_ahead(iov, &plan->knp_nr,
					     &plan->knp_direct, ahead,
					     tcp->knt_staging,
					     KERN_STAGING_BYTES);
	return true;
}

static ssize_t in_read(struct kern_stream *stream, const struct kern_plan *plan)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };

	M0_BASSERT(sizeof(struct kvec) == sizeof(struct iovec));
	++stream->knm_stream.stm_counts->stc_reads_nr;
	return kernel_recvmsg(stream->knm_sock.kns_sock, &msg,
			      (struct kvec *)stream->knm_tcp->knt_in,
			      plan->knp_nr, plan->knp_all, MSG_DONTWAIT);
}

/* True: the user wants more. */
static bool in_give(struct kern_stream *stream, const struct kern_plan *plan,
		    size_t nr)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	size_t           direct = min64u(nr, plan->knp_direct);
	int              rc = 0;

	if (direct > 0)
		rc = calls_of(stream)->stu_in_arrived(user(stream), direct);
	if (rc < 0 || tcp->knt_current != stream)
		return false;
	if (rc > 0) {
		M0_ASSERT(direct <= M0_STREAM_AGAIN_BYTES_MAX);
		m0_stream_segs_gather(tcp->knt_in, direct, tcp->knt_staging,
				      nr);
		direct = 0;
	}
	return nr == direct ||
	       staged_give(stream, tcp->knt_staging, nr - direct);
}

static void in_ended(struct kern_stream *stream, ssize_t nr)
{
	if (nr == -EAGAIN && stream->knm_out_rc == 0)
		return;
	stream->knm_in_rc = stream->knm_out_rc != 0 ? stream->knm_out_rc
						    : (int)nr;
	m0_list_del(&stream->knm_ready);
	m0_list_add_tail(&stream->knm_tcp->knt_ended, &stream->knm_ready);
}

/* The end of a stream is reported once: it is looked for after each read. */
static bool is_ending(const struct kern_stream *stream)
{
	const struct sock *sk = stream->knm_sock.kns_sock->sk;

	return stream->knm_out_rc != 0 || READ_ONCE(sk->sk_err) != 0 ||
	       (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) != 0;
}

static bool stream_in(struct kern_stream *stream)
{
	struct kern_plan plan;
	size_t           left = KERN_TURN_BYTES;
	ssize_t          nr;

	if (stream->knm_in_paused ||
	    (stream->knm_kept != NULL && !kept_give(stream)))
		return false;
	do {
		if (!in_plan(stream, &plan))
			return false;
		nr = in_read(stream, &plan);
		if (nr <= 0) {
			in_ended(stream, nr);
			return false;
		}
		if (!in_give(stream, &plan, (size_t)nr))
			return false;
		if ((size_t)nr < plan.knp_all && !is_ending(stream))
			return false;
		left -= min64u(left, (size_t)nr);
	} while (left > 0);
	return true;
}

bool kern_stream_in(struct kern_stream *stream)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	bool             more;

	tcp->knt_current = stream;
	more = stream_in(stream);
	/* Paused, with nobody to hear of it: no use to wait for the rest. */
	if (tcp->knt_current == stream && stream->knm_in_paused &&
	    stream->knm_out_rc != 0)
		kern_stream_broken(stream, stream->knm_out_rc);
	more = more && tcp->knt_current == stream;
	tcp->knt_current = NULL;
	return more;
}

/* -- out ----------------------------------------------------------------------- */

/* Read first: bytes that the peer sent before it closed may say why. */
static void out_failed(struct kern_stream *stream, int rc)
{
	stream->knm_out_rc = rc;
	stream->knm_out_full = true;
	if (!m0_list_link_is_in(&stream->knm_ready))
		m0_list_add_tail(&stream->knm_tcp->knt_ready,
				 &stream->knm_ready);
}

/* The kernel reports space only where it was told that it is waited for. */
static void out_full(struct kern_stream *stream)
{
	struct socket *sock = stream->knm_sock.kns_sock;

	stream->knm_out_full = true;
	set_bit(SOCK_NOSPACE, &sock->flags);
	smp_mb__after_atomic();
	if (sk_stream_is_writeable(sock->sk)) {
		stream->knm_out_full = false;
		kern_stream_out_add(stream);
	}
}

/* True: all of it was taken, so there may be more. */
static bool out_once(struct kern_stream *stream, size_t *left)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	struct msghdr    msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	size_t           all;
	ssize_t          nr;
	unsigned         segs;

	segs = calls_of(stream)->stu_out_what(user(stream), tcp->knt_out_iov,
					      ARRAY_SIZE(tcp->knt_out_iov));
	if (tcp->knt_current != stream || segs == 0)
		return false;
	all = m0_stream_segs_bytes(tcp->knt_out_iov, segs);
	++stream->knm_stream.stm_counts->stc_writes_nr;
	nr = kernel_sendmsg(stream->knm_sock.kns_sock, &msg,
			    (struct kvec *)tcp->knt_out_iov, segs, all);
	if (nr < 0 && nr != -EAGAIN) {
		out_failed(stream, (int)nr);
		return false;
	}
	nr = max64(nr, 0);
	if ((size_t)nr < all)
		out_full(stream);
	*left -= min64u(*left, (size_t)nr);
	return (nr == 0 || (calls_of(stream)->stu_out_left(user(stream),
							   (size_t)nr) >= 0 &&
			    tcp->knt_current == stream)) &&
	       (size_t)nr == all;
}

bool kern_stream_out(struct kern_stream *stream)
{
	struct kern_tcp *tcp = stream->knm_tcp;
	size_t           left = KERN_TURN_BYTES;
	bool             more = true;

	tcp->knt_current = stream;
	while (more && left > 0)
		more = out_once(stream, &left);
	tcp->knt_current = NULL;
	return more;
}

size_t kern_unsent(struct m0_streams *streams, struct m0_stream *ref)
{
	const struct sock     *sk = kern_stream_of(ref)->knm_sock.kns_sock->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	(void)streams;
	return READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
}
