/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ZeroMQ: a pair of PAIR sockets. */
#include <errno.h>
#include <string.h>

#include "peer.h"
#include "zmq_ck.h"

static void *context;

void peer_init(void)
{
	context = zmq_ctx_new();
	if (context == NULL)
		bench_die("zmq_ctx_new");
}

void peer_fini(void)
{
	zmq_ctx_term(context);
}

/* a socket is all there is to this peer */
struct peer *peer_open(bool listens, int depth)
{
	void *s = zmq_socket(context, ZMQ_PAIR);
	int   zero = 0;

	if (s == NULL)
		bench_die("zmq_socket");
	ck(zmq_setsockopt(s, ZMQ_SNDHWM, &depth, sizeof(depth)), "SNDHWM");
	ck(zmq_setsockopt(s, ZMQ_RCVHWM, &depth, sizeof(depth)), "RCVHWM");
	ck(zmq_setsockopt(s, ZMQ_LINGER, &zero, sizeof(zero)), "LINGER");
	if (listens)
		ck(zmq_bind(s, peer_where), "zmq_bind");
	else
		ck(zmq_connect(s, peer_where), "zmq_connect");
	return s;
}

void peer_close(struct peer *p)
{
	zmq_close(p);
}

void peer_send(struct peer *p, const void *bytes, size_t nr)
{
	ck(zmq_send(p, bytes, nr, 0), "zmq_send");
}

static void take(struct peer *p, zmq_msg_t *m)
{
	int flags = bench_opt.o_poll ? ZMQ_DONTWAIT : 0;

	zmq_msg_init(m);
	while (zmq_msg_recv(m, p, flags) < 0)
		if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
			ck(-1, "zmq_msg_recv");
}

size_t peer_recv(struct peer *p, uint64_t *ret_word)
{
	zmq_msg_t m;
	size_t    len;

	take(p, &m);
	len = zmq_msg_size(&m);
	memcpy(ret_word, zmq_msg_data(&m), len < 8 ? len : 8);
	zmq_msg_close(&m);
	return len;
}

size_t peer_echo(struct peer *p)
{
	zmq_msg_t m;
	size_t    len;

	take(p, &m);
	len = zmq_msg_size(&m);
	ck(zmq_msg_send(&m, p, 0), "zmq_msg_send");
	return len;
}
