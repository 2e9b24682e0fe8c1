/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Passes, and the table of the host. */
#include "kern/tcp/kern_tcp.h"

static struct kern_tcp *tcp_of(struct m0_reactor_source *src)
{
	return container_of(src, struct kern_tcp, knt_source);
}

static bool has_input(const struct kern_tcp *tcp)
{
	return !m0_list_is_empty(&tcp->knt_ready) ||
	       !m0_list_is_empty(&tcp->knt_ended) ||
	       (tcp->knt_pause_until == 0 &&
		!m0_list_is_empty(&tcp->knt_callers));
}

static void stream_turn(struct kern_stream *stream)
{
	if (stream->knm_dials && !kern_dial_end(stream))
		return;
	if (kern_stream_in(stream))
		kern_stream_in_add(stream);
}

static void in_turn(struct kern_tcp *tcp)
{
	struct m0_list       turn;
	struct m0_list_link *link;

	m0_list_init(&turn);
	m0_list_splice_tail(&turn, &tcp->knt_ready);
	while ((link = m0_list_first(&turn)) != NULL) {
		m0_list_del(link);
		stream_turn(m0_list_entry(link, struct kern_stream, knm_ready));
	}
}

/*
 * Reports the streams that have ended. A peer that ends closes all its streams, and the
 * end of one has the connection give up the others; what came on those before is read
 * first.
 */
static void ended_report(struct kern_tcp *tcp)
{
	struct m0_list       ended;
	struct m0_list_link *link;
	struct kern_stream  *stream;

	m0_list_init(&ended);
	m0_list_splice_tail(&ended, &tcp->knt_ended);
	kern_reactor_take(tcp->knt_reactor);
	in_turn(tcp);
	while ((link = m0_list_first(&ended)) != NULL) {
		stream = m0_list_entry(link, struct kern_stream, knm_ready);
		kern_stream_broken(stream, stream->knm_in_rc);
	}
}

static bool tcp_pass(struct m0_reactor_source *src, m0_time_t now)
{
	struct kern_tcp *tcp = tcp_of(src);

	tcp->knt_now = now;
	kern_reactor_take(tcp->knt_reactor);
	if (!m0_list_is_empty(&tcp->knt_callers))
		kern_accept_all(tcp);
	in_turn(tcp);
	if (M0_UNLIKELY(!m0_list_is_empty(&tcp->knt_ended)))
		ended_report(tcp);
	if (M0_UNLIKELY(tcp->knt_orphans_nr > 0 && now >= tcp->knt_orphans_at))
		kern_orphans_look(tcp, now);
	return has_input(tcp);
}

static void tcp_flush(struct m0_reactor_source *src)
{
	struct kern_tcp     *tcp = tcp_of(src);
	struct m0_list       turn;
	struct m0_list_link *link;
	struct kern_stream  *stream;

	m0_list_init(&turn);
	m0_list_splice_tail(&turn, &tcp->knt_out);
	while ((link = m0_list_first(&turn)) != NULL) {
		stream = m0_list_entry(link, struct kern_stream, knm_out);
		m0_list_del(link);
		if (kern_stream_out(stream))
			kern_stream_out_add(stream);
	}
}

static bool tcp_has_work(const struct m0_reactor_source *src)
{
	const struct kern_tcp *tcp =
		container_of(src, struct kern_tcp, knt_source);

	return has_input(tcp) || !m0_list_is_empty(&tcp->knt_out);
}

static m0_time_t tcp_wait(struct m0_reactor_source *src, m0_time_t deadline)
{
	const struct kern_tcp *tcp = tcp_of(src);

	if (tcp->knt_pause_until != 0)
		deadline = min64u(deadline, tcp->knt_pause_until);
	if (tcp->knt_orphans_nr > 0)
		deadline = min64u(deadline, tcp->knt_orphans_at);
	return deadline;
}

static const struct m0_reactor_source_ops source_ops = {
	.rtso_pass = tcp_pass,
	.rtso_flush = tcp_flush,
	.rtso_has_work = tcp_has_work,
	.rtso_wait = tcp_wait,
};

static void tcp_out(struct m0_streams *streams, struct m0_stream *stream)
{
	(void)streams;
	kern_stream_out_add(kern_stream_of(stream));
}

static void tcp_in(struct m0_streams *streams, struct m0_stream *ref)
{
	struct kern_stream *stream = kern_stream_of(ref);

	(void)streams;
	stream->knm_in_paused = false;
	if (!stream->knm_dials)
		kern_stream_in_add(stream);
}

static void tcp_hangup(struct m0_streams *streams, struct m0_stream *stream,
		       bool reset)
{
	(void)streams;
	kern_stream_free(kern_stream_of(stream), reset);
}

static void tcp_destroy(struct m0_streams *streams)
{
	struct kern_tcp     *tcp = kern_tcp_of(streams);
	struct m0_list_link *link;

	while ((link = m0_list_first(&tcp->knt_all)) != NULL)
		kern_stream_free(m0_list_entry(link, struct kern_stream,
					       knm_all),
				 false);
	while ((link = m0_list_first(&tcp->knt_listeners)) != NULL)
		kern_unlisten(streams,
			      m0_list_entry(link, struct kern_listener, knl_all)
				      ->knl_listener);
	kern_streams_forget(tcp);
	m0_reactor_del(&tcp->knt_source);
	m0_free(tcp);
}

static const struct m0_streams_ops streams_ops = {
	.sto_destroy = tcp_destroy,
	.sto_listen = kern_listen,
	.sto_unlisten = kern_unlisten,
	.sto_dial = kern_dial,
	.sto_out = tcp_out,
	.sto_in = tcp_in,
	.sto_hangup = tcp_hangup,
	.sto_unsent = kern_unsent,
};

static int tcp_create(struct m0_streams **ret, struct m0_reactor *reactor,
		      const struct m0_streams_cfg *cfg)
{
	struct kern_tcp *tcp;

	M0_ALLOC_PTR(tcp);
	if (tcp == NULL)
		return -ENOMEM;
	tcp->knt_cfg = *cfg;
	tcp->knt_reactor = kern_reactor_of(reactor);
	tcp->knt_streams.sts_ops = &streams_ops;
	tcp->knt_streams.sts_reactor = reactor;
	m0_list_init(&tcp->knt_ready);
	m0_list_init(&tcp->knt_ended);
	m0_list_init(&tcp->knt_out);
	m0_list_init(&tcp->knt_all);
	m0_list_init(&tcp->knt_last);
	m0_list_init(&tcp->knt_orphans);
	m0_list_init(&tcp->knt_listeners);
	m0_list_init(&tcp->knt_callers);
	tcp->knt_source.rts_ops = &source_ops;
	m0_reactor_add(reactor, &tcp->knt_source);
	*ret = &tcp->knt_streams;
	return 0;
}

const struct m0_host_ops kern_host_ops = {
	.hso_reactor_create = kern_reactor_create,
	.hso_streams_create = tcp_create,
	.hso_ifaces = kern_ifaces,
};
